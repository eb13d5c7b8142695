/*
 * view_replies.c - siblings side by side: up to four columns where there is
 * room, by words or by tokens.
 *
 * The first column is the oldest sibling, and each has its letter wherever it is
 * shown.  What differs from it is marked in the others, and in it
 * what differs from the second.  Below is where they part: the first token
 * that differs, and what each side gave the other's before its sampler.  Replies
 * of two models, whose tokens are not the same, part at a byte.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/view/kit/moves.h"
#include "tui/view/kit/pane.h"
#include "tui/view/kit/side_text.h"
#include "tui/view/kit/token_text.h"
#include "tui/widget/list.h"
#include "tui/widget/note.h"

enum {
    COLUMNS = 4,
    COLUMN_MIN = 38,
    QUOTE_MAX = 24 /* bytes of a token or of what came before it */
};

typedef struct column {
    cf_uuid turn;
    size_t place;          /* among the siblings, from 1 */
    cf_side_text side;     /* as it is shown */
    const cf_reply *reply; /* borrowed; NULL: its tokens are not known */
    const cf_reply *by;    /* what it was written with; NULL: not known */
} column;

typedef struct replies {
    cf_uuid turn;  /* the first column */
    cf_uuid focus; /* the column that Enter goes on with */
    column c[COLUMNS];
    size_t n, n_all; /* shown, and how many siblings there are */
    size_t first;    /* of the others that is shown: 1 ... */
    bool by_tokens;
    uint64_t generation;
    bool is_valid;
    cf_list list;
} replies;

static replies *state(const cf_app *app)
{
    return app->state[CF_VIEW_REPLIES];
}

static void replies_open(void *state)
{
    replies *s = state;
    s->first = 1;
}

static void clear_columns(replies *s)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        cf_side_text_deinit(&s->c[i].side);
        s->c[i] = (column){.place = 0};
    }
    s->n = 0;
}

static void replies_close(cf_app *app)
{
    replies *s = state(app);
    clear_columns(s);
}

/* ---- columns ------------------------------------------------------------ */

static size_t columns_of(int width)
{
    size_t fit = (size_t)(width / COLUMN_MIN);
    return fit < 2 ? 2 : fit > COLUMNS ? COLUMNS : fit;
}

/* The same letter for a sibling, wherever it is shown. */
static char name_of(const column *c)
{
    return (char)('A' + (c->place - 1) % 26);
}

static void fill(cf_app *app, column *c, const cf_turn *turn, size_t place)
{
    c->turn = turn->id;
    c->place = place;
    c->reply = cf_lab_reply(app->lab, turn->id);
    c->by = c->reply;
    c->reply = c->reply != NULL && c->reply->n_token > 0 && !c->reply->is_foreign ? c->reply : NULL;
    cf_lab_message_text(&c->side.text, turn->message);
}

static const cf_turn *find_turn(const cf_app *app, cf_uuid id)
{
    size_t n;
    const cf_turn *const *all = cf_lab_turns(app->lab, &n);
    for (size_t i = 0; i < n; i++) {
        if (cf_uuid_eq(all[i]->id, id)) {
            return all[i];
        }
    }
    return NULL;
}

/* Fills the columns: the chosen one, then the others from s->first on. */
static void update(cf_app *app, size_t n_columns)
{
    replies *s = state(app);
    size_t n, index = 0;
    const cf_turn *const *all = cf_lab_turns(app->lab, &n);
    const cf_turn *base = find_turn(app, s->turn);
    if (s->is_valid && s->generation == cf_lab_generation(app->lab) &&
        s->n == (n_columns < s->n_all ? n_columns : s->n_all)) {
        return;
    }
    clear_columns(s);
    s->is_valid = true;
    s->generation = cf_lab_generation(app->lab);
    if (base == NULL) {
        s->n_all = 0;
        return;
    }
    s->n_all = cf_lab_siblings(app->lab, base, &index);
    fill(app, &s->c[s->n++], base, index + 1);
    size_t last_first = s->n_all + 1 > n_columns ? s->n_all + 1 - n_columns : 1;
    s->first = s->first > last_first ? last_first : s->first;
    size_t place = 0, other = 0;
    for (size_t i = 0; i < n && s->n < n_columns; i++) {
        if (!cf_uuid_eq(all[i]->parent, base->parent)) {
            continue;
        }
        place++;
        if (all[i] != base && ++other >= s->first) {
            fill(app, &s->c[s->n++], all[i], place);
        }
    }
    for (size_t i = 1; i < s->n; i++) {
        cf_side_text_compare(&s->c[0].side, &s->c[i].side);
    }
}

/* ---- where they part ---------------------------------------------------- */

/* Whether the two were written with tokens of one vocabulary. */
static bool share_tokens(const column *a, const column *b)
{
    return a->reply != NULL && b->reply != NULL && strcmp(a->reply->model, b->reply->model) == 0;
}

/* Tokens at the beginning that two replies share.  A mark at the end has a text in
 * a reply from the history and none in a new one: ids come first. */
static size_t same_tokens(const cf_reply *a, const cf_reply *b)
{
    size_t n = 0;
    for (; n < a->n_token && n < b->n_token; n++) {
        bool is_same = a->token[n].id != CF_TOKEN_NONE && a->token[n].id == b->token[n].id;
        if (!is_same && !cf_str_eq(cf_reply_token_text(a, n), cf_reply_token_text(b, n))) {
            break;
        }
    }
    return n;
}

/* The first token at which a column leaves the first one; of the first column,
 * where the second does. */
static size_t parts_at(const replies *s, size_t i)
{
    const column *a = &s->c[0], *b = &s->c[i == 0 ? 1 : i];
    return share_tokens(a, b) ? same_tokens(a->reply, b->reply) : SIZE_MAX;
}

/* The probability that reply `r` gave, at token i, to a token with the id or
 * text of another reply's; NAN where it is not among what is known. */
static double given(const cf_reply *r, size_t i, cf_token id, cf_str text)
{
    const cf_chat_token *t = &r->token[i];
    for (size_t k = 0; t->draw != NULL && k < t->draw->n_top; k++) {
        if (t->draw->top[k].id == id && id != CF_TOKEN_NONE) {
            return (double)t->draw->top[k].p_raw;
        }
    }
    for (size_t k = 0; k < t->n_top; k++) {
        if (cf_str_eq(t->top[k].text, text)) {
            return (double)t->top[k].p;
        }
    }
    return (double)NAN;
}

/* What the model gave to token i before the sampler, as given() does; as it
 * was drawn where only that is known. */
static double own_p(const cf_reply *r, size_t i)
{
    const cf_chat_token *t = &r->token[i];
    return t->draw != NULL ? (double)t->draw->chosen.p_raw : (double)t->p;
}

static void put_p(cf_buf *out, double p)
{
    if (p >= 0.0005) {
        cf_buf_addf(out, "%.3f", p);
    } else {
        cf_buf_addf(out, "%.0e", p);
    }
}

static void quote(cf_buf *out, cf_str text)
{
    size_t n = text.n < QUOTE_MAX ? text.n : QUOTE_MAX;
    if (text.n == 0) {
        cf_buf_adds(out, "the end");
        return;
    }
    n -= n < text.n ? cf_utf8_incomplete_tail(text.p, n) : 0;
    cf_buf_addc(out, '\'');
    cf_buf_add(out, text.p, n);
    cf_buf_adds(out, n < text.n ? "..'" : "'");
}

static cf_str token_text(const cf_reply *r, size_t i)
{
    return i < r->n_token ? cf_reply_token_text(r, i) : cf_str_make("", 0);
}

/* "; A gave ' rains' 0.34": what one side gave to the token of the other. */
static void put_given(cf_buf *out, char name, const cf_reply *r, size_t i, cf_token id, cf_str text)
{
    const cf_chat_token *t = &r->token[i];
    double p = given(r, i, id, text);
    cf_buf_addf(out, "; %c ", name);
    if (!isnan(p)) {
        cf_buf_adds(out, "gave ");
        quote(out, text);
        cf_buf_addc(out, ' ');
        put_p(out, p);
    } else if (t->n_top == 0 && (t->draw == NULL || t->draw->n_top == 0)) {
        cf_buf_adds(out,
                    t->is_forced ? "did not choose: its token was given" : "has no alternatives");
    } else {
        cf_buf_adds(out, "does not have ");
        quote(out, text);
        cf_buf_adds(out, " among its alternatives");
    }
}

/* Of replies whose tokens cannot be compared: the byte where the texts part. */
static void text_parting(const column *a, const column *b, cf_buf *out)
{
    size_t at = 0;
    char name = name_of(b), base = name_of(a);
    while (at < a->side.text.n && at < b->side.text.n && a->side.text.p[at] == b->side.text.p[at]) {
        at++;
    }
    bool has_models = a->by != NULL && b->by != NULL && a->by->model[0] != '\0' &&
                      b->by->model[0] != '\0' && strcmp(a->by->model, b->by->model) != 0;
    const char *why = has_models ? "the models differ, so texts are compared"
                                 : "the tokens are not known, so texts are compared";
    if (at == a->side.text.n && at == b->side.text.n) {
        cf_buf_addf(out, "%c: the same text as %c; %s", name, base, why);
        return;
    }
    at -= cf_utf8_incomplete_tail(cf_buf_cstr(&b->side.text), at);
    cf_buf_addf(out, "%c first differs at byte %zu: ", name, at + 1);
    quote(out, cf_str_make(cf_buf_cstr(&b->side.text) + at, b->side.text.n - at));
    cf_buf_addf(out, " where %c has ", base);
    quote(out, cf_str_make(cf_buf_cstr(&a->side.text) + at, a->side.text.n - at));
    cf_buf_addf(out, "; %s", why);
}

/* "B parts at token 5: ' rains' 0.21 there, which A gave 0.34 ..." */
static void parting(cf_app *app, size_t i, cf_buf *out)
{
    const replies *s = state(app);
    const cf_reply *a = s->c[0].reply, *b = s->c[i].reply;
    char name = name_of(&s->c[i]), base = name_of(&s->c[0]);
    if (!share_tokens(&s->c[0], &s->c[i])) {
        text_parting(&s->c[0], &s->c[i], out);
        return;
    }
    size_t at = same_tokens(a, b);
    if (at == a->n_token && at == b->n_token) {
        cf_buf_addf(out, "%c: the same %zu tokens as %c", name, at, base);
        return;
    }
    cf_str mine = token_text(b, at), other = token_text(a, at);
    cf_buf_addf(out, "%c first differs at token %zu: ", name, at + 1);
    quote(out, mine);
    if (at < b->n_token && own_p(b, at) >= 0) {
        cf_buf_adds(out, " ");
        put_p(out, own_p(b, at));
    }
    cf_buf_addf(out, " where %c has ", base);
    quote(out, other);
    if (at < a->n_token && own_p(a, at) >= 0) {
        cf_buf_adds(out, " ");
        put_p(out, own_p(a, at));
    }
    if (at < a->n_token && at < b->n_token) {
        put_given(out, base, a, at, b->token[at].id, mine);
        put_given(out, name, b, at, a->token[at].id, other);
    }
}

/* ---- drawing ------------------------------------------------------------ */

static cf_style side_style(size_t i, bool differs)
{
    return !differs ? CF_STYLE_NORMAL : i == 0 ? CF_STYLE_REMOVED : CF_STYLE_ADDED;
}

/* Where the token at which a column parts is in its text; an empty range where
 * it is not there, as in thinking. */
static void part_range(const replies *s, size_t i, size_t *from, size_t *to)
{
    const column *c = &s->c[i];
    size_t at = parts_at(s, i), skip = 0;
    *from = *to = 0;
    if (at == SIZE_MAX || at >= c->reply->n_token) {
        return;
    }
    /* Thinking comes before the text in the raw reply. */
    if (c->reply->raw.n > c->side.text.n) {
        skip = c->reply->raw.n - c->side.text.n;
    }
    size_t off = c->reply->token[at].raw_off;
    cf_str token = cf_reply_token_text(c->reply, at);
    if (off >= skip && off - skip + token.n <= c->side.text.n &&
        memcmp(c->side.text.p + (off - skip), token.p, token.n) == 0) {
        *from = off - skip;
        *to = *from + token.n;
    }
}

/* "  12 ' rains'  0.210" */
static void draw_token(cf_app *app, size_t i, size_t k, cf_grid *g, cf_rect r)
{
    const replies *s = state(app);
    const column *c = &s->c[i];
    size_t at = parts_at(s, i);
    bool differs = at != SIZE_MAX && k >= at;
    cf_style style = side_style(i, differs);
    cf_buf p = CF_BUF_INIT;
    if (k == at) {
        style = (cf_style)(style | CF_REVERSE);
    }
    cf_grid_putf(g, r.x, r.y, 5, CF_STYLE_DIM, "%4zu", k + 1);
    cf_buf text = CF_BUF_INIT;
    cf_token_text(app->lab, c->reply, k, &text);
    int used = 0, room = r.w - 13;
    cf_cluster cl;
    for (size_t o = 0;
         cf_cluster_next(&cl, cf_buf_cstr(&text), text.n, &o, (size_t)used, CF_SPACE_VISIBLE);) {
        used += cf_grid_put_cluster(g, r.x + 5 + used, r.y, room - used, &cl, style);
    }
    cf_buf_deinit(&text);
    if (c->reply->token[k].p >= 0) {
        put_p(&p, (double)c->reply->token[k].p);
    } else if (c->reply->token[k].is_forced) {
        cf_buf_adds(&p, "given");
    }
    cf_grid_put(g, r.x + r.w - 7, r.y, 7, cf_buf_str(&p), CF_STYLE_DIM);
    cf_buf_deinit(&p);
}

static void draw_column(cf_app *app, size_t i, cf_grid *g, cf_rect r)
{
    replies *s = state(app);
    column *c = &s->c[i];
    char title[80];
    snprintf(title, sizeof title, "%c  %zu of %zu%s", name_of(c), c->place, s->n_all,
             c->reply != NULL ? "" : "  (text)");
    if (c->reply != NULL) {
        size_t n = strlen(title);
        snprintf(title + n, sizeof title - n, "  %zu tok", c->reply->n_token);
    }
    cf_rect in = cf_pane(g, r, title, cf_uuid_eq(c->turn, s->focus));
    if (c->by != NULL && in.h > 0) {
        cf_grid_putf(g, in.x, in.y, in.w, CF_STYLE_DIM, "%s  %s  %s", c->by->model,
                     c->by->template_name, c->by->drawn);
    }
    in.y++;
    in.h--;
    bool tokens = s->by_tokens && c->reply != NULL;
    size_t from = 0, to = 0;
    part_range(s, i, &from, &to);
    for (int y = 0; y < in.h; y++) {
        size_t k = s->list.top + (size_t)y;
        cf_rect row = {in.x, in.y + y, in.w, 1};
        if (tokens && k < c->reply->n_token) {
            draw_token(app, i, k, g, row);
        } else if (!tokens) {
            cf_side_text_draw(&c->side, k, g, row, side_style(i, true), from, to);
        }
    }
}

/* Rows of the longest column. */
static size_t measure(replies *s, int width)
{
    size_t most = 0;
    for (size_t i = 0; i < s->n; i++) {
        column *c = &s->c[i];
        size_t n = 0;
        if (s->by_tokens && c->reply != NULL) {
            n = c->reply->n_token;
        } else {
            n = cf_side_text_wrap(&c->side, width);
        }
        most = n > most ? n : most;
    }
    return most;
}

/* The sentences about where they part; returns the rows they take. */
static int draw_partings(cf_app *app, cf_grid *g, cf_rect r)
{
    const replies *s = state(app);
    int y = 0;
    for (size_t i = 1; i < s->n; i++) {
        cf_buf text = CF_BUF_INIT;
        parting(app, i, &text);
        y += cf_note_put(g, (cf_rect){r.x + 1, r.y + y, r.w - 2, r.h - y}, cf_buf_str(&text),
                         CF_STYLE_NORMAL);
        cf_buf_deinit(&text);
    }
    return y;
}

static void replies_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    replies *s = state(app);
    update(app, columns_of(r.w));
    if (s->n < 2) {
        cf_note_puts(g, (cf_rect){r.x + 2, r.y + 1, r.w - 4, r.h - 1},
                     "Nothing to compare: this turn has no sibling.  r in Chat "
                     "asks for another reply.",
                     CF_STYLE_DIM);
        return;
    }
    cf_rect below = {r.x, 0, r.w, r.h / 3};
    below.h = draw_partings(app, NULL, below);
    below.y = r.y + r.h - below.h;
    int h = r.h - below.h, x = r.x;
    int width = r.w / (int)s->n;
    cf_list_set(&s->list, measure(s, width - 2), (size_t)(h > 3 ? h - 3 : 0));
    for (size_t i = 0; i < s->n; i++) {
        int w = i + 1 == s->n ? r.x + r.w - x : width;
        draw_column(app, i, g, (cf_rect){x, r.y, w, h});
        x += w;
    }
    (void)draw_partings(app, g, below);
    g->cursor_x = r.x + 1;
    g->cursor_y = r.y + 2 + (int)(s->list.cursor - s->list.top);
}

static void replies_status(cf_app *app, cf_buf *out)
{
    const replies *s = state(app);
    cf_buf_addf(out, "%zu of %zu siblings, by %s", s->n, s->n_all,
                s->by_tokens ? "tokens" : "words");
}

/* ---- commands ----------------------------------------------------------- */

static void cmd_level(cf_app *app)
{
    replies *s = state(app);
    s->by_tokens = !s->by_tokens;
    s->list.cursor = s->list.top = 0;
}

/* Other siblings in the columns after the first. */
static void step(cf_app *app, int by)
{
    replies *s = state(app);
    size_t last = s->n_all + 1 > s->n ? s->n_all + 1 - s->n : 1;
    if (by > 0 ? s->first < last : s->first > 1) {
        s->first = by > 0 ? s->first + 1 : s->first - 1;
        s->is_valid = false;
    } else {
        cf_app_say(app, CF_STYLE_DIM, "no sibling in that direction");
    }
}

/* To the row where the second column parts from the first. */
static void cmd_first(cf_app *app)
{
    replies *s = state(app);
    size_t at = s->n > 1 ? parts_at(s, 0) : SIZE_MAX;
    if (at == SIZE_MAX) {
        cf_app_say(app, CF_STYLE_DIM, "the first difference is not known");
    } else if (s->by_tokens) {
        cf_list_go(&s->list, at);
    } else {
        size_t from, to, line = 0;
        part_range(s, 0, &from, &to);
        const cf_wrapped *w = &s->c[0].side.lines;
        while (line + 1 < w->n && w->v[line + 1].off <= from) {
            line++;
        }
        cf_list_go(&s->list, line);
    }
}

/* Another column becomes the first. */
static void cmd_swap(cf_app *app)
{
    replies *s = state(app);
    if (s->n > 1) {
        s->turn = s->c[1].turn;
        s->first = 1;
        s->is_valid = false;
    }
}

/* Moves the focus to another column. */
static void go_column(cf_app *app, int by)
{
    replies *s = state(app);
    size_t i = 0;
    while (i < s->n && !cf_uuid_eq(s->c[i].turn, s->focus)) {
        i++;
    }
    i = i < s->n ? (i + s->n + (size_t)by) % s->n : 0;
    if (s->n > 0) {
        s->focus = s->c[i].turn;
    }
}

/* The column with the focus becomes the branch that Chat shows. */
static void cmd_choose(cf_app *app)
{
    cf_error err;
    if (cf_lab_set_head(app->lab, state(app)->focus, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    cf_app_back(app);
}

static void replies_move(cf_app *app, int move)
{
    cf_list_move(&state(app)->list, move);
}

static bool replies_text(cf_app *app, cf_buf *out)
{
    replies *s = state(app);
    for (size_t i = 0; i < s->n; i++) {
        const cf_reply *by = s->c[i].by;
        cf_buf_addf(out, "# %c: %zu of %zu", name_of(&s->c[i]), s->c[i].place, s->n_all);
        if (by != NULL) {
            cf_buf_addf(out, "  %s  %s  %s", by->model, by->template_name, by->drawn);
        }
        cf_buf_adds(out, "\n\n");
        cf_buf_add(out, cf_buf_cstr(&s->c[i].side.text), s->c[i].side.text.n);
        cf_buf_adds(out, "\n\n");
        if (i > 0) {
            parting(app, i, out);
            cf_buf_adds(out, "\n\n");
        }
    }
    return s->n != 0;
}

static void replies_show(cf_app *app, const cf_target *target)
{
    replies *s = state(app);
    const cf_turn *t = find_turn(app, target->id);
    const cf_turn *first = t;
    size_t index = 0, n = t != NULL ? cf_lab_siblings(app->lab, t, &index) : 0;
    if (n > 1) {
        first = cf_lab_sibling(app->lab, t, -(int)index);
    }
    s->turn = first != NULL ? first->id : target->id;
    s->focus = target->id;
    s->first = index > 0 ? index : 1; /* so that the one that was chosen is in sight */
    s->is_valid = false;
    s->list = (cf_list){.height = s->list.height};
    cf_app_open_view(app, CF_VIEW_REPLIES);
}

#define HERE CF_IN(CF_VIEW_REPLIES)

static const cf_command replies_commands[] = {
    {"level", HERE, "s", "", "words, or tokens with probabilities", CF_RUN(cmd_level)},
    {"first-difference", HERE, "n", "", "go to the first difference", CF_RUN(cmd_first)},
    {"swap", HERE, "~", "", "the second reply becomes the first", CF_RUN(cmd_swap)},
    {"next-sibling", HERE, "]", "", "the next sibling", CF_BY(step, 1)},
    {"previous-sibling", HERE, "[", "", "the previous one", CF_BY(step, -1)},
    {"right", HERE, "l <Tab> <Right>", "", "go to the next column", CF_BY(go_column, 1)},
    {"left", HERE, "h <S-Tab> <Left>", "", "go to the previous column", CF_BY(go_column, -1)},
    {"choose", HERE, "<Enter>", "", "continue with this reply in Chat", CF_RUN(cmd_choose)},
    {"close", HERE, "<Esc>", "", "back to Chat", CF_RUN(cf_app_back)},
    CF_MOVE_ROWS(replies_move, HERE),
    {0},
};

const cf_view_ops cf_view_replies = {
    .name = "replies",
    .title = "Replies",
    .commands = replies_commands,
    .footer = "level first-difference swap next-sibling choose close",
    .state_size = sizeof(replies),
    .open = replies_open,
    .close = replies_close,
    .draw = replies_draw,
    .status = replies_status,
    .show = replies_show,
    .text = replies_text,
};
