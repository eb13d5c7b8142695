/*
 * view_influence.c - what made a reply so: the parts of its prompt by how much
 * they mattered, the prompt in shades, and the reply token by token for the
 * part under the cursor.
 *
 * Left: parts, those that made the reply most likely first.  Right: the prompt
 * from the part under the cursor on; the gutter has the shade as a number, 3
 * the strongest.  Below: the reply's tokens, shaded by what the part under the
 * cursor gave each of them.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/safe_text.h"
#include "core/base/utf8.h"
#include "templates/prompt_part.h"
#include "tui/lab/lab.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/state/lab_marks.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/study/influence/influence_task.h"
#include "tui/view/kit/moves.h"
#include "tui/view/kit/pane.h"
#include "tui/view/kit/shades.h"
#include "tui/widget/list.h"

typedef struct state {
    cf_influence_study *study; /* NULL: none yet */
    bool is_running;
    cf_uuid turn; /* asked about */
    cf_list list;
    cf_buf target; /* the name of what is asked about; empty: the reply */
    bool wants;    /* the cursor goes to the part with this byte of the prompt */
    size_t byte;
    cf_shade_map shades;
} state;

static state *state_of(cf_app *app)
{
    return app->state[CF_VIEW_INFLUENCE];
}

static void influence_close(cf_app *app)
{
    state *s = state_of(app);
    if (s->is_running) {
        cf_lab_end_task(app->lab, NULL);
    }
    cf_influence_study_free(s->study);
    cf_buf_deinit(&s->target);
}

/* ---- asking ------------------------------------------------------------- */

/* The first of the rows, as they are sorted, that has byte `byte`. */
static size_t row_with(const cf_influence_study *study, size_t byte)
{
    const cf_influence *v = &study->result;
    for (size_t i = 0; i < v->n_row; i++) {
        if (cf_parts_has_byte(&v->prompt, &v->row[study->order[i]].part, byte)) {
            return v->n_group + i;
        }
    }
    return v->n_group;
}

static void on_end(void *ud, cf_influence_study *study)
{
    cf_app *app = ud;
    state *s = state_of(app);
    s->is_running = false;
    app->is_dirty = true;
    if (!study->is_done && s->study != NULL && s->study->is_done) {
        cf_influence_study_free(study); /* what is there stays */
        return;
    }
    cf_influence_study_free(s->study);
    s->study = study;
    s->shades = (cf_shade_map){0};
    s->list.top = 0;
    s->list.cursor = study->result.n_group; /* the first row: groups come before the rows */
    if (s->wants && study->is_done) {
        s->list.cursor = row_with(study, s->byte);
    }
    s->wants = false;
}

static void ask_with(cf_app *app, cf_uuid turn, cf_uuid with, const cf_influence_options *o)
{
    state *s = state_of(app);
    cf_error err;
    if (cf_influence_start(app->lab, app->store, turn, with, o, on_end, app, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    s->turn = turn;
    s->is_running = true;
    if (cf_app_view(app) != CF_VIEW_INFLUENCE) {
        cf_app_open_view(app, CF_VIEW_INFLUENCE);
    }
}

/* With the conversation that was swapped in before, if one was. */
static void ask(cf_app *app, cf_uuid turn, const cf_influence_options *o)
{
    const cf_influence_study *before = state_of(app)->study;
    ask_with(app, turn, before != NULL ? before->with : (cf_uuid){{0}}, o);
}

static void name_target(cf_app *app, const char *name)
{
    state *s = state_of(app);
    cf_buf_restart(&s->target);
    cf_buf_adds(&s->target, name);
    s->wants = false;
}

/* About a reply, or with to > from about these of its bytes; `instead` in place
 * of them, NULL: nothing. */
static void ask_bytes(cf_app *app, cf_uuid turn, size_t from, size_t to, const char *instead)
{
    const cf_influence_options o = {.message = SIZE_MAX,
                                    .tool = SIZE_MAX,
                                    .has_span = to > from,
                                    .span_from = from,
                                    .span_to = to,
                                    .instead = instead};
    ask(app, turn, &o);
}

/* With the cursor on the part that wrote byte `byte` of the prompt. */
static void ask_part(cf_app *app, size_t byte, bool is_piece)
{
    state *s = state_of(app);
    const cf_influence_options o = {
        .message = SIZE_MAX, .tool = SIZE_MAX, .kinds = is_piece ? 1u << CF_PART_PIECE : 0};
    name_target(app, "");
    s->wants = true;
    s->byte = byte;
    ask(app, (cf_uuid){{0}}, &o);
}

static void influence_show(cf_app *app, const cf_target *target)
{
    if (target->kind == CF_TARGET_PART) {
        ask_part(app, target->from, target->is_piece);
        return;
    }
    name_target(app, target->name);
    ask_bytes(app, target->id, target->from, target->to, target->text.p);
}

/* ---- drawing ------------------------------------------------------------ */

static const cf_influence_study *done(cf_app *app)
{
    const cf_influence_study *study = state_of(app)->study;
    return study != NULL && study->is_done ? study : NULL;
}

static const cf_influence_row *current(cf_app *app)
{
    const cf_influence_study *study = done(app);
    size_t at = state_of(app)->list.cursor;
    size_t n = study != NULL ? study->result.n_group : 0; /* they come first */
    return study != NULL && at >= n && at - n < study->result.n_row
               ? &study->result.row[study->order[at - n]]
               : NULL;
}

static cf_style heat(unsigned shade)
{
    return (cf_style)(CF_STYLE_HEAT_0 + shade);
}

static double most_of(const cf_influence_study *s)
{
    const cf_influence_row *first = s->result.n_row > 0 ? &s->result.row[s->order[0]] : NULL;
    return first != NULL && first->has_delta ? first->delta : 0;
}

static void draw_part(cf_grid *g, cf_rect r, const cf_influence_study *s,
                      const cf_influence_row *row, bool is_on)
{
    cf_style plain = is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
    cf_buf label = CF_BUF_INIT;
    cf_grid_fill(g, r, ' ', plain);
    int x = r.x;
    if (row->has_delta) {
        unsigned shade = cf_influence_shade(row->delta, most_of(s));
        double shown = row->delta > -0.005 && row->delta < 0.005 ? 0 : row->delta;
        x += cf_grid_putf(g, x, r.y, r.w, is_on ? plain : heat(shade), "%9.2f", shown);
    } else {
        x += cf_grid_puts(g, x, r.y, r.w, "        ?", plain);
    }
    x += cf_grid_puts(g, x, r.y, r.x + r.w - x, "  ", plain);
    cf_part_label(&row->part, &s->c, &label);
    x += cf_grid_put(g, x, r.y, r.x + r.w - x, cf_buf_str(&label), is_on ? plain : CF_STYLE_NORMAL);
    cf_buf_deinit(&label);
    cf_str text = row->has_delta ? row->part.text : cf_str_from(row->why);
    if (row->part.kind != CF_PART_TOOL && x + 3 < r.x + r.w) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end != NULL ? (size_t)(end - text.p) : text.n;
        cf_grid_put(g, x + 2, r.y, r.x + r.w - x - 2, cf_str_make(text.p, n),
                    is_on ? plain : CF_STYLE_DIM);
    }
}

static void draw_group(cf_grid *g, cf_rect r, const cf_influence_study *s,
                       const cf_influence_group *group, bool is_on)
{
    cf_style style =
        is_on ? CF_STYLE_SELECTED : heat(cf_influence_shade(group->of.delta, most_of(s)));
    cf_buf label = CF_BUF_INIT;
    cf_grid_fill(g, r, ' ', is_on ? style : CF_STYLE_NORMAL);
    cf_buf_addf(&label, "%9.2f  ", group->of.delta);
    cf_influence_group_label(&s->result, group, &s->c, &label);
    cf_grid_put(g, r.x, r.y, r.w, cf_buf_str(&label), style);
    cf_buf_deinit(&label);
}

static void draw_list(cf_app *app, cf_grid *g, cf_rect r)
{
    state *s = state_of(app);
    const cf_influence_study *study = done(app);
    const cf_influence *v = &study->result;
    cf_rows rows = cf_rows_begin(g, r, &s->list, v->n_group + v->n_row, true);
    while (cf_rows_next(&rows, 0)) {
        if (rows.i < v->n_group) {
            draw_group(g, rows.at, study, &v->group[rows.i], rows.is_on);
        } else {
            draw_part(g, rows.at, study, &v->row[study->order[rows.i - v->n_group]], rows.is_on);
        }
    }
}

/* A place where tokens are put one after the other, in rows; the gutter has
 * the strongest shade of each row. */
typedef struct pen {
    cf_grid *g;
    cf_rect r;
    int x, y; /* within r */
    unsigned shade;
} pen;

static void new_row(pen *p)
{
    p->x = 0;
    p->y++;
    p->shade = 0;
}

static void put_token(pen *p, cf_str text, cf_style style, unsigned shade)
{
    cf_cluster c;
    for (size_t at = 0; cf_cluster_next(&c, text.p, text.n, &at, 0, CF_SPACE_VISIBLE);) {
        if (p->x + c.width > p->r.w - 2) {
            new_row(p);
        }
        if (p->y >= p->r.h) {
            return;
        }
        if (shade > p->shade) {
            p->shade = shade;
            cf_grid_putf(p->g, p->r.x, p->r.y + p->y, 1, CF_STYLE_DIM, "%u", shade);
        }
        p->x += cf_grid_put_cluster(p->g, p->r.x + 2 + p->x, p->r.y + p->y, p->r.w - 2 - p->x, &c,
                                    style);
    }
    if (text.n > 0 && text.p[text.n - 1] == '\n') {
        new_row(p);
    }
}

/* The first token of the row of text in which the part begins. */
static size_t first_token(const cf_influence_study *s, const cf_part *part)
{
    const cf_influence *v = &s->result;
    size_t at = 0;
    while (at < v->tokens.n && !cf_parts_has_byte(&v->prompt, part, v->tokens.v[at].off)) {
        at++;
    }
    at = at < v->tokens.n ? at : 0;
    while (at > 0) {
        const cf_token_span *before = &v->tokens.v[at - 1];
        if (before->len > 0 && v->prompt.text.p[before->off + before->len - 1] == '\n') {
            break;
        }
        at--;
    }
    return at;
}

static void draw_prompt(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_influence_study *s = done(app);
    const cf_influence_row *row = current(app);
    const cf_influence *v = &s->result;
    pen p = {.g = g, .r = r};
    size_t i = row != NULL ? first_token(s, &row->part) : 0;
    for (; i < v->tokens.n && p.y < r.h; i++) {
        const cf_token_span *t = &v->tokens.v[i];
        bool is_part =
            row != NULL && t->len > 0 && cf_parts_has_byte(&v->prompt, &row->part, t->off);
        cf_style style = heat(s->shade[i]);
        put_token(&p, cf_str_make(v->prompt.text.p + t->off, t->len),
                  is_part ? style | CF_UNDERLINE : style, s->shade[i]);
    }
}

static void draw_reply(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_influence_study *s = done(app);
    const cf_influence_row *row = current(app);
    const cf_influence *v = &s->result;
    pen p = {.g = g, .r = r};
    double most = 0;
    if (row == NULL || !row->has_delta) {
        return;
    }
    for (size_t i = 0; i < v->n_target; i++) {
        double d = (double)row->log_p[i] - (double)v->target[i].log_p;
        most = d < most ? d : most;
    }
    for (size_t i = 0; i < v->n_target && p.y < r.h; i++) {
        const cf_influence_token *t = &v->target[i];
        double d = (double)row->log_p[i] - (double)t->log_p;
        unsigned shade = most < -0.01 ? cf_influence_shade(d, most) : 0;
        size_t end = t->off + t->len < s->c.reply.n ? t->off + t->len : s->c.reply.n;
        cf_str text =
            t->off < end ? cf_str_make(s->c.reply.p + t->off, end - t->off) : cf_str_make("", 0);
        put_token(&p, text, heat(shade), shade);
    }
}

static void draw_none(cf_app *app, cf_grid *g, cf_rect r)
{
    const state *s = state_of(app);
    const char *text = s->is_running      ? "scoring the reply without each part ..."
                       : s->study != NULL ? s->study->err.text
                                          : "gi on a reply, a token or a call asks what made it so";
    cf_grid_puts(g, r.x + 1, r.y + 1, r.w - 2, text, CF_STYLE_DIM);
}

static const char *change_name(const cf_influence_options *o)
{
    return o->change == CF_CHANGE_SWAP      ? "Swapped"
           : o->change == CF_CHANGE_HIDE    ? "Hidden"
           : o->change == CF_CHANGE_NEUTRAL ? "Neutral instead"
           : o->keeps_positions             ? "Without it, gap kept"
                                            : "Without it";
}

static void influence_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_influence_study *s = done(app);
    char title[120], instead[24];
    if (s == NULL) {
        draw_none(app, g, r);
        return;
    }
    const cf_buf *target = &state_of(app)->target;
    (void)cf_utf8_copy(instead, sizeof instead, s->result.instead);
    snprintf(title, sizeof title, "%s, nats  (%.24s%s%zu token%s%s%s: %.2f)",
             change_name(&s->options), target->n > 0 ? target->p : "", target->n > 0 ? ", " : "",
             s->result.n_target, s->result.n_target == 1 ? "" : "s",
             s->result.instead.n > 0 ? ", not " : "", instead, s->result.with);
    bool narrow = cf_app_is_narrow(app);
    int below = r.h / 4 > 3 ? r.h / 4 : 3;
    int left = narrow ? r.w : r.w / 2;
    cf_rect list = {r.x, r.y, left, r.h - below};
    cf_rect prompt = {r.x + left, r.y, r.w - left, r.h - below};
    cf_rect reply = {r.x, r.y + r.h - below, r.w, below};
    cf_pane(g, list, title, true);
    draw_list(app, g, cf_inside(list));
    if (!narrow) {
        cf_pane(g, prompt, "Prompt  (3: mattered most, 1: a little)", false);
        draw_prompt(app, g, cf_inside(prompt));
    }
    cf_pane(g, reply, "Reply: where this part mattered (3: most)", false);
    draw_reply(app, g, cf_inside(reply));
}

/* ---- shades over the Prompt view ---------------------------------------- */

static int influence_shade(cf_app *app, const cf_prompt *prompt, size_t off)
{
    const cf_influence_study *study = done(app);
    if (study == NULL) {
        return CF_SHADES_NONE;
    }
    const cf_influence *v = &study->result;
    const cf_shaded of = {v->prompt.text, &v->tokens, study->shade};
    return cf_shade_at(app, &state_of(app)->shades, &of, prompt, off);
}

/* ---- commands ----------------------------------------------------------- */

static void influence_move(cf_app *app, int move)
{
    cf_list_move(&state_of(app)->list, (cf_move)move);
}

static void influence_click(cf_app *app, int what, size_t value)
{
    (void)what;
    cf_list_go(&state_of(app)->list, value);
}

/* A message by its sentences, a sentence by its words, a tool by its fields. */
static void cmd_finer(cf_app *app)
{
    const cf_influence_row *row = current(app);
    if (row == NULL) {
        return;
    }
    cf_influence_options o = done(app)->options;
    switch (row->part.kind) {
    case CF_PART_MESSAGE:
        o.kinds = 1u << CF_PART_SENTENCE;
        o.message = row->part.index;
        break;
    case CF_PART_SENTENCE:
        o.kinds = 1u << CF_PART_WORD;
        o.message = row->part.message;
        break;
    case CF_PART_TOOL:
        o.kinds = 1u << CF_PART_FIELD;
        o.tool = row->part.index;
        break;
    default:
        cf_app_say(app, CF_STYLE_DIM, "nothing finer than this");
        return;
    }
    ask(app, state_of(app)->turn, &o);
}

static void ask_for(cf_app *app, uint32_t kinds)
{
    const cf_influence_study *s = done(app);
    if (s != NULL) {
        cf_influence_options o = s->options;
        o.kinds = kinds;
        o.message = o.tool = SIZE_MAX;
        ask(app, state_of(app)->turn, &o);
    }
}

static void cmd_coarser(cf_app *app)
{
    ask_for(app, 0);
}

static void cmd_template(cf_app *app)
{
    ask_for(app, 1u << CF_PART_PIECE);
}

/* From the whole reply to its first call, the arguments of that, the next
 * call, and to the whole again. */
static void cmd_target(cf_app *app)
{
    const cf_influence_study *study = done(app);
    state *s = state_of(app);
    cf_arena arena;
    cf_influence_target *v;
    cf_error err;
    size_t n, at = 0;
    if (study == NULL) {
        return;
    }
    cf_arena_init(&arena, 0);
    if (cf_influence_targets(&study->c, cf_lab_engine_of(app->lab)->family, &arena, &v, &n, &err) !=
        CF_OK) {
        cf_app_error(app, &err);
        n = 0;
    } else if (n == 0) {
        cf_app_say(app, CF_STYLE_DIM, "the reply has no calls");
    }
    while (at < n && !cf_str_eq(v[at].name, cf_buf_str(&s->target))) {
        at++;
    }
    at = at < n ? at + 1 : 0; /* n: the whole */
    if (n > 0) {
        cf_influence_options o = study->options;
        o.instead = NULL; /* that was for another place */
        o.has_span = at < n;
        o.span_from = at < n ? v[at].from : 0;
        o.span_to = at < n ? v[at].to : 0;
        name_target(app, at < n ? v[at].name.p : "");
        ask(app, s->turn, &o);
    }
    cf_arena_deinit(&arena);
}

/* Why this and not that, in the place that is asked about. */
static void cmd_instead(cf_app *app, const char *arg)
{
    const cf_influence_study *s = done(app);
    if (s != NULL) {
        cf_influence_options o = s->options;
        o.instead = arg[0] != '\0' ? arg : NULL;
        ask(app, state_of(app)->turn, &o);
    }
}

/* Left out, left out with a gap, as many neutral tokens in its place, hidden
 * from the reply; after a swap left out again. */
static void cmd_change(cf_app *app)
{
    const cf_influence_study *s = done(app);
    if (s == NULL) {
        return;
    }
    cf_influence_options o = s->options;
    const char *now = "parts are left out";
    bool keeps = false;
    if (o.keeps_positions) {
        o.change = CF_CHANGE_NEUTRAL;
        now = "parts become as many neutral tokens";
    } else if (o.change == CF_CHANGE_NEUTRAL) {
        o.change = CF_CHANGE_HIDE;
        now = "parts are hidden from the reply, and nothing moves";
    } else {
        keeps = o.change == CF_CHANGE_LEAVE_OUT;
        o.change = CF_CHANGE_LEAVE_OUT;
        now = keeps ? "parts are left out, and what follows keeps its positions" : now;
    }
    o.keeps_positions = keeps;
    ask(app, state_of(app)->turn, &o);
    cf_app_say(app, CF_STYLE_DIM, "%s", now);
}

/* The same parts of another conversation in their place: the first ticked one,
 * or the one that the argument names. */
static void cmd_swap(cf_app *app, const char *arg)
{
    const cf_influence_study *s = done(app);
    size_t n;
    const cf_uuid *ticked = cf_lab_ticked(app->lab, &n);
    cf_uuid with = n > 0 ? ticked[0] : (cf_uuid){{0}};
    if (s == NULL) {
        cf_app_say(app, CF_STYLE_DIM, "no influence was computed yet: gi computes it");
        return;
    }
    if (arg[0] != '\0' && !cf_uuid_parse(&with, arg, strlen(arg))) {
        cf_app_say(app, CF_STYLE_ERROR, "'%.60s' is not a UUID", arg);
        return;
    }
    if (cf_uuid_is_nil(with)) {
        cf_app_say(app, CF_STYLE_DIM,
                   "which conversation? tick one in Library (Space), or :swap "
                   "UUID");
        return;
    }
    cf_influence_options o = s->options;
    o.change = CF_CHANGE_SWAP;
    o.keeps_positions = false;
    ask_with(app, state_of(app)->turn, with, &o);
    cf_app_say(app, CF_STYLE_DIM, "parts become the same parts of the other conversation");
}

/* The same layer by layer: which layers and parts carry the difference. */
static void cmd_map(cf_app *app)
{
    const cf_influence_study *s = done(app);
    const cf_influence_options *o = s != NULL ? &s->options : NULL;
    cf_uuid nil = {{0}};
    if (s != NULL) {
        cf_app_show(app, CF_VIEW_INSIDE,
                    &(cf_target){.kind = CF_TARGET_REPLY,
                                 .id = state_of(app)->turn,
                                 .from = o->has_span ? o->span_from : 0,
                                 .to = o->has_span ? o->span_to : 0,
                                 .with = o->change == CF_CHANGE_SWAP ? s->with : nil});
    }
}

static void cmd_stop(cf_app *app)
{
    if (state_of(app)->is_running) {
        cf_lab_stop(app->lab);
    } else {
        cf_app_back(app);
    }
}

static bool influence_text(cf_app *app, cf_buf *out)
{
    const cf_influence_study *s = done(app);
    for (size_t i = 0; s != NULL && i < s->result.n_row; i++) {
        const cf_influence_row *row = &s->result.row[s->order[i]];
        if (row->has_delta) {
            cf_buf_addf(out, "%9.2f  ", row->delta);
            cf_part_label(&row->part, &s->c, out);
            cf_buf_addc(out, '\n');
        }
    }
    return s != NULL;
}

#define HERE CF_IN(CF_VIEW_INFLUENCE)

static const cf_command influence_commands[] = {
    {"finer", HERE, "<Enter>", "",
     "split a message into sentences, a sentence into words, a tool into fields",
     CF_RUN(cmd_finer)},
    {"coarser", HERE, "h <Left>", "", "back to whole messages and tools", CF_RUN(cmd_coarser)},
    {"pieces", HERE, "t", "", "what the template writes, piece by piece", CF_RUN(cmd_template)},
    {"change", HERE, "s", "", "remove parts, keep positions, insert neutral tokens, or hide parts",
     CF_RUN(cmd_change)},
    {"swap", HERE, "z", "[UUID]", "replace parts by those of the ticked conversation, or of UUID",
     CF_WITH(cmd_swap)},
    {"inside", HERE, "gh", "",
     "the same inside the model; after a swap, the layers and parts that carry the difference",
     CF_RUN(cmd_map)},
    {"instead", HERE, "=", "TEXT", "why not this in its place: a text, end, or no call",
     CF_WITH(cmd_instead)},
    {"target", HERE, "v", "", "choose the reply, a call, or its arguments", CF_RUN(cmd_target)},
    {"stop", HERE, "<Esc>", "", "stop, or go back", CF_RUN(cmd_stop)},
    CF_MOVE_ROWS(influence_move, HERE),
    {0},
};

static const cf_turn *influence_turn(cf_app *app)
{
    return cf_conversation_find(cf_lab_conv(app->lab), state_of(app)->turn);
}

const cf_view_ops cf_view_influence = {
    .name = "influence",
    .title = "Influence",
    .commands = influence_commands,
    .footer = "finer coarser pieces change swap target back",
    .state_size = sizeof(state),
    .close = influence_close,
    .draw = influence_draw,
    .click = influence_click,
    .show = influence_show,
    .shade = influence_shade,
    .turn = influence_turn,
    .text = influence_text,
};
