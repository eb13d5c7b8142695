/*
 * view_tokens.c - a reply token by token: how likely each was, what else
 * could have come, what removed it, and a fork from there.
 *
 * The marks repeat what colours say: "!" a token below 0.25, "?" below 0.6.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/app.h"
#include "tui/bench.h"
#include "tui/view/moves.h"
#include "tui/widget/list.h"

typedef struct tokens_view {
    cf_uuid turn; /* the reply shown; nil: the newest */
    size_t token;
    size_t candidate;
    bool on_candidates; /* the focus is on the alternatives */
    enum { HEAT_P, HEAT_ENTROPY, HEAT_NONE } overlay;
    size_t top_row;
    int last_width;
} tokens_view;

static tokens_view *state(cf_app *app)
{
    return app->state[CF_VIEW_TOKENS];
}

static cf_status tokens_open(cf_app *app, cf_error *err)
{
    app->state[CF_VIEW_TOKENS] = cf_calloc(1, sizeof(tokens_view));
    return app->state[CF_VIEW_TOKENS] != NULL
               ? CF_OK
               : cf_fail(err, CF_ENOMEM, "out of memory");
}

static void tokens_close(cf_app *app)
{
    cf_free(app->state[CF_VIEW_TOKENS]);
    app->state[CF_VIEW_TOKENS] = NULL;
}

/* The reply shown: the newest of the path that has tokens. */
static const cf_reply *shown(cf_app *app)
{
    tokens_view *s = state(app);
    size_t n;
    const cf_turn *const *path = cf_bench_path(app->bench, &n);
    for (size_t i = n; i-- > 0;) {
        if (!cf_uuid_is_nil(s->turn) && !cf_uuid_eq(path[i]->id, s->turn)) {
            continue;
        }
        const cf_reply *r = cf_bench_reply(app->bench, path[i]->id);
        if (r != NULL && r->n_token > 0) {
            return r;
        }
    }
    return NULL;
}

static void tokens_enter(cf_app *app)
{
    tokens_view *s = state(app);
    *s = (tokens_view){.overlay = s->overlay};
}

static void piece(cf_app *app, cf_token id, cf_buf *out)
{
    const cf_tokenizer *tok = cf_bench_engine_of(app->bench)->tokenizer;
    if (tok != NULL && id != CF_TOKEN_NONE) {
        cf_tokenizer_piece(out, tok, id, true);
    }
}

/* A token's text: the vocabulary's, or the raw bytes up to the next token. */
static void token_text(cf_app *app, const cf_reply *r, size_t i, cf_buf *out)
{
    if (r->token[i].id != CF_TOKEN_NONE) {
        piece(app, r->token[i].id, out);
    }
    if (out->n == 0) {
        size_t from = r->token[i].raw_off;
        size_t to = i + 1 < r->n_token ? r->token[i + 1].raw_off : r->raw.n;
        if (from <= to && to <= r->raw.n) {
            cf_buf_add(out, r->raw.p + from, to - from);
        }
    }
}

static cf_style heat(const cf_reply_token *t, int overlay)
{
    if (overlay == HEAT_NONE) {
        return CF_STYLE_NORMAL;
    }
    if (overlay == HEAT_ENTROPY) {
        float bits = t->draw != NULL ? t->draw->entropy_bits : 0;
        return bits > 4   ? CF_STYLE_HEAT_3
               : bits > 2 ? CF_STYLE_HEAT_2
               : bits > 1 ? CF_STYLE_HEAT_1
                          : CF_STYLE_HEAT_0;
    }
    float p = t->draw != NULL ? t->draw->chosen.p_raw : t->p;
    return p < 0       ? CF_STYLE_DIM
           : p < 0.25f ? CF_STYLE_HEAT_3
           : p < 0.6f  ? CF_STYLE_HEAT_2
           : p < 0.9f  ? CF_STYLE_HEAT_1
                       : CF_STYLE_HEAT_0;
}

static char mark_of(const cf_reply_token *t)
{
    float p = t->draw != NULL ? t->draw->chosen.p_raw : t->p;
    return t->is_forced ? '>'
           : p < 0      ? '|'
           : p < 0.25f  ? '!'
           : p < 0.6f   ? '?'
                        : '|';
}

/* Lays the tokens out in rows; draws those in sight when g is given, and
 * reports the cursor's row. */
static size_t lay_out(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    tokens_view *s = state(app);
    size_t row = 0, cursor_row = 0;
    int x = 0;
    for (size_t i = 0; i < reply->n_token; i++) {
        cf_buf text = CF_BUF_INIT;
        token_text(app, reply, i, &text);
        int w = 1;
        cf_cluster c;
        for (size_t at = 0; cf_cluster_next(&c, cf_buf_cstr(&text), text.n, &at,
                                            (size_t)w, CF_SPACE_VISIBLE);) {
            w += c.width;
        }
        if (x + w > r.w && x > 0) {
            row++;
            x = 0;
        }
        if (i == s->token) {
            cursor_row = row;
        }
        bool is_seen =
            g != NULL && row >= s->top_row && row - s->top_row < (size_t)r.h;
        if (is_seen) {
            int y = r.y + (int)(row - s->top_row);
            cf_style style = heat(&reply->token[i], (int)s->overlay);
            if (i == s->token) {
                style = CF_STYLE_SELECTED | CF_REVERSE;
                g->cursor_x = r.x + x;
                g->cursor_y = y;
            }
            int used = 0;
            for (size_t at = 0;
                 cf_cluster_next(&c, cf_buf_cstr(&text), text.n, &at,
                                 (size_t)used, CF_SPACE_VISIBLE);) {
                used += cf_grid_put_cluster(g, r.x + x + used, y,
                                            r.w - x - used, &c, style);
            }
            cf_grid_putf(g, r.x + x + used, y, 1, CF_STYLE_DIM, "%c",
                         mark_of(&reply->token[i]));
        }
        x += w;
        bool ends_line = text.n != 0 && text.p[text.n - 1] == '\n';
        if (ends_line) {
            row++;
            x = 0;
        }
        cf_buf_deinit(&text);
    }
    return cursor_row;
}

/* Candidates of an engine that shows texts and no ids. */
static void draw_texts(cf_grid *g, cf_rect r, const cf_reply_token *t)
{
    if (t->n_top == 0) {
        cf_grid_puts(g, r.x, r.y, r.w, "no candidates were kept for this token",
                     CF_STYLE_DIM);
        return;
    }
    cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_DIM, " %2s %6s token", "#", "p");
    for (size_t i = 0; i < t->n_top && (int)i + 1 < r.h; i++) {
        int y = r.y + 1 + (int)i;
        int x = r.x + cf_grid_putf(g, r.x, y, r.w, CF_STYLE_NORMAL,
                                   " %2zu %6.3f '", i + 1, (double)t->top[i].p);
        x += cf_grid_put(g, x, y, r.x + r.w - x, t->top[i].text,
                         CF_STYLE_NORMAL);
        cf_grid_puts(g, x, y, 1, "'", CF_STYLE_NORMAL);
    }
}

static void draw_candidates(cf_app *app, cf_grid *g, cf_rect r,
                            const cf_reply *reply)
{
    tokens_view *s = state(app);
    const cf_draw *d = reply->token[s->token].draw;
    if (d == NULL) {
        draw_texts(g, r, &reply->token[s->token]);
        return;
    }
    cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_DIM, " %2s %7s %-14s %6s %6s %s",
                 "#", "id", "token", "raw", "drawn", "kept");
    for (size_t i = 0; i < d->n_top && (int)i + 1 < r.h - 2; i++) {
        const cf_candidate *c = &d->top[i];
        int y = r.y + 1 + (int)i;
        bool is_on = s->on_candidates && i == s->candidate;
        cf_style style = is_on                      ? CF_STYLE_SELECTED
                         : c->removed_by != CF_KEPT ? CF_STYLE_DIM
                                                    : CF_STYLE_NORMAL;
        cf_grid_fill(g, (cf_rect){r.x, y, r.w, 1}, ' ', style);
        int x = r.x + cf_grid_putf(g, r.x, y, r.w, style, "%c%2u %7d ",
                                   c->id == d->id ? '>' : ' ',
                                   (unsigned)c->rank, (int)c->id);
        cf_buf text = CF_BUF_INIT;
        cf_buf_addc(&text, '\'');
        piece(app, c->id, &text);
        cf_buf_addc(&text, '\'');
        cf_grid_put(g, x, y, 14, cf_str_make(cf_buf_cstr(&text), text.n),
                    style);
        cf_buf_deinit(&text);
        cf_grid_putf(g, x + 15, y, r.w - (x + 15 - r.x), style,
                     "%6.3f %6.3f %s", (double)c->p_raw, (double)c->p_post,
                     c->removed_by == CF_KEPT
                         ? "yes"
                         : cf_removed_by_name(c->removed_by));
        if (is_on) {
            g->cursor_x = r.x;
            g->cursor_y = y;
        }
    }
    cf_grid_putf(g, r.x, r.y + r.h - 1, r.w, CF_STYLE_NORMAL,
                 "entropy %.2f bit  r=%.4f  draw %llu", (double)d->entropy_bits,
                 d->r, (unsigned long long)d->n_draw);
}

static void draw_path(cf_grid *g, cf_rect r, const cf_reply *reply, size_t i)
{
    const cf_draw *d = reply->token[i].draw;
    int y = r.y;
    cf_grid_puts(g, r.x, y++, r.w, reply->sampler, CF_STYLE_DIM);
    for (size_t k = 0; d != NULL && k < d->n_step && y < r.y + r.h; k++) {
        cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL, "- %-20s %u left",
                     d->step[k].name, (unsigned)d->step[k].n_left);
    }
    if (d != NULL && d->allowed_mass < 1 && y < r.y + r.h) {
        cf_grid_putf(g, r.x, y, r.w, CF_STYLE_NORMAL,
                     "the constraint kept %.3f of the mass",
                     (double)d->allowed_mass);
    }
}

static void tokens_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    tokens_view *s = state(app);
    const cf_reply *reply = shown(app);
    if (reply == NULL) {
        const char *why = cf_bench_is_busy(app->bench)
                              ? "The tokens are shown when the reply is "
                                "complete."
                              : "No reply with tokens here yet.";
        cf_grid_puts(g, r.x + 2, r.y + 1, r.w - 4, why, CF_STYLE_DIM);
        return;
    }
    if (s->token >= reply->n_token) {
        s->token = reply->n_token - 1;
    }
    int side = cf_app_is_narrow(app) ? 0 : 48;
    int below = side == 0 ? r.h / 2 : 0;
    char title[96];
    static const char *const overlays[] = {"probability", "entropy", "none"};
    snprintf(title, sizeof title, "Reply  %zu tokens  (overlay: %s)",
             reply->n_token, overlays[s->overlay]);
    cf_rect t = {r.x, r.y, r.w - side, r.h - below};
    cf_grid_box(g, t, title, CF_STYLE_BORDER,
                s->on_candidates ? CF_STYLE_TITLE : CF_STYLE_FOCUS);
    cf_rect in = {t.x + 1, t.y + 1, t.w - 2, t.h - 2};
    size_t row = lay_out(app, NULL, in, reply);
    if (row < s->top_row) {
        s->top_row = row;
    } else if (row >= s->top_row + (size_t)in.h) {
        s->top_row = row - (size_t)in.h + 1;
    }
    lay_out(app, g, in, reply);
    cf_rect c = side > 0 ? (cf_rect){t.x + t.w, r.y, side, r.h * 2 / 3}
                         : (cf_rect){r.x, t.y + t.h, r.w, below};
    snprintf(title, sizeof title, "Token %zu", s->token + 1);
    cf_grid_box(g, c, title, CF_STYLE_BORDER,
                s->on_candidates ? CF_STYLE_FOCUS : CF_STYLE_TITLE);
    draw_candidates(app, g, (cf_rect){c.x + 1, c.y + 1, c.w - 2, c.h - 2},
                    reply);
    if (side > 0) {
        cf_rect p = {c.x, c.y + c.h, side, r.h - c.h};
        cf_grid_box(g, p, "Sampler path", CF_STYLE_BORDER, CF_STYLE_TITLE);
        draw_path(g, (cf_rect){p.x + 2, p.y + 1, p.w - 3, p.h - 2}, reply,
                  s->token);
    }
}

static void tokens_status(cf_app *app, cf_buf *out)
{
    const cf_reply *r = shown(app);
    if (r != NULL) {
        cf_buf_addf(out, "token %zu of %zu", state(app)->token + 1, r->n_token);
    }
}

/* ---- commands ------------------------------------------------------------ */

static void step(cf_app *app, long by)
{
    tokens_view *s = state(app);
    const cf_reply *r = shown(app);
    if (r == NULL) {
        return;
    }
    long to = (long)s->token + by;
    s->token = to < 0                     ? 0
               : (size_t)to >= r->n_token ? r->n_token - 1
                                          : (size_t)to;
    s->candidate = 0;
}

static void cmd_left(cf_app *app, const char *arg)
{
    (void)arg;
    step(app, -1);
}

static void cmd_right(cf_app *app, const char *arg)
{
    (void)arg;
    step(app, 1);
}

static void tokens_move(cf_app *app, cf_move move)
{
    tokens_view *s = state(app);
    const cf_reply *r = shown(app);
    if (r == NULL) {
        return;
    }
    if (s->on_candidates) {
        const cf_draw *d = r->token[s->token].draw;
        size_t n = d != NULL ? d->n_top : 0;
        if (move == CF_MOVE_UP || move == CF_MOVE_FIRST) {
            s->candidate -= s->candidate > 0;
        } else if (s->candidate + 1 < n) {
            s->candidate++;
        }
        return;
    }
    switch (move) {
    case CF_MOVE_FIRST:
        s->token = 0;
        break;
    case CF_MOVE_LAST:
        s->token = r->n_token - 1;
        break;
    case CF_MOVE_UP:
        step(app, -10);
        break;
    case CF_MOVE_DOWN:
        step(app, 10);
        break;
    case CF_MOVE_PAGE_UP:
    case CF_MOVE_HALF_UP:
        step(app, -100);
        break;
    case CF_MOVE_PAGE_DOWN:
    case CF_MOVE_HALF_DOWN:
        step(app, 100);
        break;
    }
}

CF_MOVE_COMMANDS(tokens, tokens_move)

/* To the next token that was unlikely, or drawn where much could follow. */
static void surprise(cf_app *app, int by)
{
    tokens_view *s = state(app);
    const cf_reply *r = shown(app);
    for (size_t k = 1; r != NULL && k < r->n_token; k++) {
        size_t i = by > 0 ? (s->token + k) % r->n_token
                          : (s->token + r->n_token - k) % r->n_token;
        const cf_draw *d = r->token[i].draw;
        if (d != NULL && (d->chosen.p_raw < 0.25f || d->entropy_bits > 4)) {
            s->token = i;
            return;
        }
    }
    cf_app_say(app, CF_STYLE_DIM, "no other surprise in this reply");
}

static void cmd_surprise(cf_app *app, const char *arg)
{
    (void)arg;
    surprise(app, 1);
}

static void cmd_surprise_back(cf_app *app, const char *arg)
{
    (void)arg;
    surprise(app, -1);
}

static void cmd_focus(cf_app *app, const char *arg)
{
    (void)arg;
    state(app)->on_candidates = !state(app)->on_candidates;
    state(app)->candidate = 0;
}

static void cmd_overlay(cf_app *app, const char *arg)
{
    (void)arg;
    tokens_view *s = state(app);
    s->overlay = s->overlay == HEAT_P         ? HEAT_ENTROPY
                 : s->overlay == HEAT_ENTROPY ? HEAT_NONE
                                              : HEAT_P;
}

/* The chosen candidate takes the token's place, and the engine goes on. */
static void cmd_fork(cf_app *app, const char *arg)
{
    (void)arg;
    tokens_view *s = state(app);
    const cf_reply *r = shown(app);
    cf_error err;
    if (r == NULL) {
        return;
    }
    const cf_draw *d = r->token[s->token].draw;
    cf_token id = r->token[s->token].id;
    if (s->on_candidates && d != NULL && s->candidate < d->n_top) {
        id = d->top[s->candidate].id;
    } else if (!s->on_candidates) {
        s->on_candidates = true;
        return;
    }
    if (cf_bench_fork(app->bench, r->turn, s->token, id, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    cf_app_open_view(app, CF_VIEW_CHAT);
}

#define HERE CF_IN(CF_VIEW_TOKENS)

static const cf_command tokens_commands[] = {
    {"left", HERE, "h <Left>", "", "token before", cmd_left},
    {"right", HERE, "l <Right>", "", "next token", cmd_right},
    {"surprise", HERE, "u", "", "next surprise", cmd_surprise},
    {"surprise-back", HERE, "U", "", "surprise before", cmd_surprise_back},
    {"focus", HERE, "<Tab>", "", "tokens or alternatives", cmd_focus},
    {"fork", HERE, "<Enter> f", "", "go on from this alternative, as a sibling",
     cmd_fork},
    {"overlay", HERE, "e", "", "probability, entropy or none", cmd_overlay},
    CF_MOVE_ROWS(tokens, HERE),
    {NULL, 0, NULL, NULL, NULL, NULL},
};

const cf_view_ops cf_view_tokens = {
    .name = "tokens",
    .title = "Tokens",
    .commands = tokens_commands,
    .footer = "left right surprise focus fork overlay chat help",
    .open = tokens_open,
    .close = tokens_close,
    .enter = tokens_enter,
    .draw = tokens_draw,
    .status = tokens_status,
};
