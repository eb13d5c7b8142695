/*
 * view_tokens.c - a reply token by token: how likely each was, what else
 * could have come, what removed it, what the constraint said, and the ways on
 * from there.  tokens_panes.c draws it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/view/kit/moves.h"
#include "tui/view/kit/pane.h"
#include "tui/view/tokens/tokens.h"
#include "tui/widget/list.h"
#include "tui/widget/note.h"

enum { WIDTH = 3, DEPTH = 8 }; /* of a tree when nothing is said */

cf_tokens *cf_tokens__state(cf_app *app)
{
    return app->state[CF_VIEW_TOKENS];
}

static cf_tokens *state(cf_app *app)
{
    return cf_tokens__state(app);
}

static void forget_study(cf_tokens *s)
{
    cf_token_study_free(s->study);
    s->study = NULL;
    s->studied = (cf_uuid){{0}};
    s->study_err = (cf_error){0};
}

static void tokens_close(cf_app *app)
{
    cf_tokens *s = state(app);
    if (app->lab != NULL) {
        cf_lab_make_way(app->lab); /* what writes into this state */
    }
    forget_study(s);
}

/* The reply of the path that is shown: the one chosen, or the newest that has
 * tokens. */
static const cf_reply *shown(cf_app *app)
{
    cf_tokens *s = state(app);
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    for (size_t i = n; i-- > 0;) {
        if (!cf_uuid_is_nil(s->turn) && !cf_uuid_eq(path[i]->id, s->turn)) {
            continue;
        }
        const cf_reply *r = cf_lab_reply(app->lab, path[i]->id);
        if (r != NULL && r->n_token > 0) {
            s->token = s->token < r->n_token ? s->token : r->n_token - 1;
            return r;
        }
    }
    s->turn = (cf_uuid){{0}}; /* it is not on the path any more */
    return NULL;
}

static bool has_tree(cf_app *app, const cf_reply *reply)
{
    const cf_tokens *s = state(app);
    return s->has_tree && cf_uuid_eq(s->tree.turn, reply->turn);
}

void cf_tokens__enter(cf_app *app)
{
    cf_tokens *s = state(app);
    if (s->stays) { /* back from what the model gets of a picture */
        s->stays = false;
        return;
    }
    s->turn = (cf_uuid){{0}};
    s->medium = 0;
    s->token = s->candidate = s->top_row = 0;
    s->focus = CF_ON_TOKENS;
    s->waits = false;
}

/* ---- the constraint's study --------------------------------------------- */

static void take_study(void *ud, cf_token_study *study, const cf_error *err)
{
    cf_app *app = ud;
    cf_tokens *s = state(app);
    cf_token_study_free(s->study);
    s->study = study;
    s->study_err = study == NULL ? *err : (cf_error){0};
    if (study == NULL && err->code == CF_ECANCELLED) {
        s->studied = (cf_uuid){{0}}; /* it gave way; again later */
    }
    app->is_dirty = true;
}

/* Starts reading the constraint of the reply in sight, once. */
static bool tokens_step(cf_app *app)
{
    cf_tokens *s = state(app);
    if (app->lab == NULL || cf_app_view(app) != CF_VIEW_TOKENS || cf_lab_is_busy(app->lab) ||
        cf_lab_task_name(app->lab) != NULL) {
        return false;
    }
    const cf_reply *r = shown(app);
    if (r == NULL || r->rule == NULL || cf_uuid_eq(s->studied, r->turn)) {
        return false;
    }
    cf_error err;
    forget_study(s);
    s->studied = r->turn;
    if (cf_lab_study(app->lab, r, take_study, app, &err) != CF_OK) {
        s->study_err = err;
    }
    app->is_dirty = true;
    return false;
}

/* ---- drawing ------------------------------------------------------------ */

static void reply_pane(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    const cf_tokens *s = state(app);
    static const char *const overlays[CF_HEAT_COUNT] = {"probability", "entropy", "allowed mass",
                                                        "none"};
    char title[96];
    snprintf(title, sizeof title, "Reply  %zu tokens  (overlay: %s%s)", reply->n_token,
             overlays[s->overlay],
             s->overlay != CF_HEAT_P ? ""
             : s->by_post            ? ", after sampling"
                                     : "");
    cf_pane(g, r, title, s->focus == CF_ON_TOKENS);
    cf_tokens__draw_reply(app, g, cf_inside(r), reply);
}

static void candidates_pane(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    const cf_tokens *s = state(app);
    cf_buf title = CF_BUF_INIT;
    if (s->medium > 0) {
        cf_tokens__medium_pane(app, g, r, reply);
        return;
    }
    cf_buf_addf(&title, "Token %zu  '", s->token + 1);
    cf_token_text(app->lab, reply, s->token, &title);
    cf_buf_adds(&title, s->hides_masked ? "'  (allowed)" : "'");
    cf_pane(g, r, cf_buf_cstr(&title), s->focus == CF_ON_CANDIDATES);
    cf_buf_deinit(&title);
    cf_tokens__draw_candidates(app, g, cf_inside(r), reply);
}

static void path_pane(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    cf_pane(g, r, "Sampler path", false);
    if (state(app)->medium > 0) {
        cf_grid_puts(g, r.x + 2, r.y + 1, r.w - 4, "none: it was given", CF_STYLE_DIM);
        return;
    }
    cf_tokens__draw_path(app, g, (cf_rect){r.x + 2, r.y + 1, r.w - 3, r.h - 2}, reply);
}

static void tree_pane(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_tokens *s = state(app);
    const cf_token_tree *t = &s->tree;
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_branch; i++) {
        n += t->n[i];
    }
    char title[96];
    snprintf(title, sizeof title, "Tree at token %zu  %u x %u: %u of %u tokens", t->token + 1,
             (unsigned)t->width, (unsigned)t->depth, (unsigned)n, (unsigned)(t->width * t->depth));
    cf_pane(g, r, title, s->focus == CF_ON_TREE);
    cf_tokens__draw_tree(app, g, cf_inside(r));
}

static void constraint_pane(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    char title[128];
    snprintf(title, sizeof title, "Constraint  %s", cf_reply_constraint(reply));
    cf_pane(g, r, title, false);
    cf_tokens__draw_constraint(app, g, cf_inside(r), reply);
}

static void state_pane(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    cf_pane(g, r, "State", false);
    cf_tokens__draw_state(app, g, (cf_rect){r.x + 2, r.y + 1, r.w - 3, r.h - 2}, reply);
}

static void plot_pane(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    cf_tokens *s = state(app);
    char title[96];
    s->plot_w = r.w - 2;
    cf_tokens__plot_title(s, reply, s->plot_w, title);
    cf_pane(g, r, title, s->focus == CF_ON_PLOT);
    cf_tokens__draw_plot(app, g, cf_inside(r), reply);
}

static void worst_pane(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    const cf_tokens *s = state(app);
    cf_worst worst;
    char title[128];
    cf_worst_find(&worst, reply, cf_tokens__loss_kind(s));
    cf_tokens__worst_title(&worst, cf_tokens__loss_kind(s), title);
    cf_pane(g, r, title, s->focus == CF_ON_WORST);
    cf_tokens__draw_worst(app, g, cf_inside(r), reply, &worst);
}

/* Rows of the panes on the left, from the top. */
typedef struct heights {
    int reply, plot, worst, tree, constraint;
} heights;

enum { PLOT_H = 6, WORST_MIN_H = 5, WORST_MAX_H = 14 };

/* The reply has what it needs; the plot and the worst tokens have what is
 * left, and the tree as much as its branches may take. */
static heights share_rows(cf_app *app, cf_rect r, const cf_reply *reply)
{
    const cf_tokens *s = state(app);
    heights h = {.constraint = reply->rule == NULL ? 0 : r.h >= 30 ? 9 : 7};
    if (has_tree(app, reply)) {
        h.tree = r.h >= 40 ? 2 * (int)s->tree.width + 3 : r.h >= 30 ? (int)s->tree.width + 4 : 6;
    }
    int left = r.h - h.constraint - h.tree;
    int need = cf_tokens__reply_rows(app, r.w - 2, reply) + 2;
    need = need < left / 2 ? need : left / 2 > 8 ? left / 2 : left;
    bool has_plot = left - need >= PLOT_H || left >= 18;
    h.plot = has_plot || s->focus == CF_ON_PLOT ? PLOT_H : 0;
    int rest = left - need - h.plot;
    cf_worst worst;
    cf_worst_find(&worst, reply, cf_tokens__loss_kind(s));
    int most = worst.n == 0 ? 3 : (int)worst.n + 2;
    most = most < WORST_MAX_H ? most : WORST_MAX_H;
    int least = most < WORST_MIN_H ? most : WORST_MIN_H;
    bool has_worst = rest >= least || s->focus == CF_ON_WORST;
    h.worst = !has_worst ? 0 : rest > most ? most : rest < least ? least : rest;
    h.reply = left - h.plot - h.worst;
    return h;
}

static void draw_left(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    heights h = share_rows(app, r, reply);
    int y = r.y;
    reply_pane(app, g, (cf_rect){r.x, y, r.w, h.reply}, reply);
    y += h.reply;
    if (h.plot > 0) {
        plot_pane(app, g, (cf_rect){r.x, y, r.w, h.plot}, reply);
        y += h.plot;
    }
    if (h.worst > 0) {
        worst_pane(app, g, (cf_rect){r.x, y, r.w, h.worst}, reply);
        y += h.worst;
    }
    if (h.tree > 0) {
        tree_pane(app, g, (cf_rect){r.x, y, r.w, h.tree});
        y += h.tree;
    }
    if (h.constraint > 0) {
        constraint_pane(app, g, (cf_rect){r.x, y, r.w, h.constraint}, reply);
    }
}

/* Reply and what belongs to it on the left, the token on the right. */
static void draw_wide(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    const cf_draw *d = reply->token[state(app)->token].draw;
    bool is_held = reply->rule != NULL;
    int side = r.w >= 150 ? 60 : 48;
    int state_h = !is_held ? 0 : r.h >= 30 ? 7 : 5;
    int path_h = r.h >= 30 ? 10 : r.h / 3 - (is_held ? 1 : 0);
    int steps = d != NULL ? (int)d->n_step + 4 : path_h;
    int list = d != NULL ? (int)d->n_top + 5 : 0;
    /* What the alternatives do not need is the sampler's. */
    if (steps > path_h && r.h - state_h - list > path_h) {
        int spare = r.h - state_h - list;
        path_h = steps < spare ? steps : spare;
    }
    int list_h = r.h - state_h - path_h;
    int x = r.x + r.w - side;
    draw_left(app, g, (cf_rect){r.x, r.y, r.w - side, r.h}, reply);
    candidates_pane(app, g, (cf_rect){x, r.y, side, list_h}, reply);
    path_pane(app, g, (cf_rect){x, r.y + list_h, side, path_h}, reply);
    if (is_held) {
        state_pane(app, g, (cf_rect){x, r.y + list_h + path_h, side, state_h}, reply);
    }
}

/* The pane that has the focus, or below the reply the page that was asked
 * for. */
static void draw_lower(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    const cf_tokens *s = state(app);
    bool is_free = s->focus == CF_ON_TOKENS;
    if (s->focus == CF_ON_TREE && has_tree(app, reply)) {
        tree_pane(app, g, r);
    } else if (s->focus == CF_ON_PLOT || (is_free && s->page == CF_PAGE_PLOT)) {
        plot_pane(app, g, r, reply);
    } else if (s->focus == CF_ON_WORST || (is_free && s->page == CF_PAGE_WORST)) {
        worst_pane(app, g, r, reply);
    } else if (is_free && s->page == CF_PAGE_PATH) {
        path_pane(app, g, r, reply);
    } else if (is_free && s->page == CF_PAGE_CONSTRAINT) {
        constraint_pane(app, g, r, reply);
        if (r.h > 9 && reply->rule != NULL) {
            cf_tokens__draw_state(app, g, (cf_rect){r.x + 1, r.y + 8, r.w - 2, r.h - 9}, reply);
        }
    } else {
        candidates_pane(app, g, r, reply);
    }
}

/* Why there is nothing to see, and what can be done. */
static void draw_none(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_rect in = {r.x + 2, r.y + 1, r.w - 4, r.h - 1};
    if (cf_lab_is_busy(app->lab)) {
        cf_note_puts(g, in, "The tokens are shown when the reply is complete.", CF_STYLE_DIM);
        return;
    }
    in.y += cf_note_puts(g, in, "No reply with tokens here yet.", CF_STYLE_DIM);
    if (cf_tokens__unscored(app) != NULL) {
        cf_note_puts(g, in,
                     "% scores the reply with the model at hand: its tokens, "
                     "their probabilities and alternatives.",
                     CF_STYLE_NORMAL);
    }
}

static void tokens_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_tokens *s = state(app);
    const cf_reply *reply = shown(app);
    if (reply == NULL || (s->waits && cf_lab_is_busy(app->lab))) {
        draw_none(app, g, r);
        return;
    }
    s->waits = false;
    if (s->focus == CF_ON_TREE && !has_tree(app, reply)) {
        s->focus = CF_ON_TOKENS;
    }
    if (app->is_maximized) {
        if (s->focus == CF_ON_TOKENS) {
            reply_pane(app, g, r, reply);
        } else {
            draw_lower(app, g, r, reply);
        }
    } else if (cf_app_is_narrow(app)) {
        int below = r.h / 2;
        reply_pane(app, g, (cf_rect){r.x, r.y, r.w, r.h - below}, reply);
        draw_lower(app, g, (cf_rect){r.x, r.y + r.h - below, r.w, below}, reply);
    } else {
        draw_wide(app, g, r, reply);
    }
}

static void tokens_status(cf_app *app, cf_buf *out)
{
    const cf_reply *r = shown(app);
    if (r != NULL && state(app)->medium > 0) {
        cf_tokens__medium_cost(app, r, out);
    } else if (r != NULL) {
        cf_buf_addf(out, "token %zu of %zu", state(app)->token + 1, r->n_token);
    }
}

/* ---- moving ------------------------------------------------------------- */

static void step(cf_app *app, long by)
{
    cf_tokens *s = state(app);
    const cf_reply *r = shown(app);
    if (r == NULL || cf_tokens__step_medium(app, r, by)) {
        return;
    }
    long to = (long)s->token + by;
    s->token = to < 0 ? 0 : (size_t)to >= r->n_token ? r->n_token - 1 : (size_t)to;
    s->candidate = 0;
}

/* Along a branch of the tree. */
static void step_node(cf_app *app, int by)
{
    cf_tokens *s = state(app);
    size_t n = s->branch < s->tree.n_branch ? s->tree.n[s->branch] : 0;
    if (by < 0) {
        s->node -= s->node > 0;
    } else if (s->node + 1 < n) {
        s->node++;
    }
}

/* To the next column of the plot. */
static void step_column(cf_app *app, const cf_reply *r, int by)
{
    cf_tokens *s = state(app);
    size_t per = cf_tokens__per_column(r, s->plot_w);
    size_t at = s->token / per;
    if (by < 0) {
        s->token = at > 0 ? (at - 1) * per : 0;
    } else if ((at + 1) * per < r->n_token) {
        s->token = (at + 1) * per;
    }
    s->candidate = 0;
}

static void sideways(cf_app *app, int by)
{
    const cf_reply *r = shown(app);
    if (state(app)->focus == CF_ON_TREE) {
        step_node(app, by);
    } else if (state(app)->focus == CF_ON_PLOT && r != NULL) {
        step_column(app, r, by);
    } else {
        step(app, by);
    }
}

/* j, k and their kin in a list of n rows. */
static size_t moved(size_t at, size_t n, cf_move move)
{
    switch (move) {
    case CF_MOVE_FIRST:
        return 0;
    case CF_MOVE_LAST:
        return n > 0 ? n - 1 : 0;
    case CF_MOVE_UP:
        return at > 0 ? at - 1 : 0;
    case CF_MOVE_PAGE_UP:
    case CF_MOVE_HALF_UP:
        return at > 5 ? at - 5 : 0;
    case CF_MOVE_DOWN:
        return at + 1 < n ? at + 1 : at;
    case CF_MOVE_PAGE_DOWN:
    case CF_MOVE_HALF_DOWN:
        return at + 5 < n ? at + 5 : n > 0 ? n - 1 : 0;
    }
    return at;
}

static void move_token(cf_app *app, const cf_reply *r, cf_move move)
{
    switch (move) {
    case CF_MOVE_FIRST:
        step(app, -(long)r->n_token);
        break;
    case CF_MOVE_LAST:
        step(app, (long)r->n_token);
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

/* Row `i` of the worst tokens, and the token of the reply with it. */
static void go_worst(cf_tokens *s, const cf_worst *w, size_t i)
{
    if (i < w->n) {
        s->worst = i;
        s->token = w->at[i];
        s->candidate = 0;
    }
}

static void tokens_move(cf_app *app, int move)
{
    cf_tokens *s = state(app);
    const cf_reply *r = shown(app);
    const cf_candidate *at[CF_TOKENS_LISTED];
    if (r == NULL) {
        return;
    }
    cf_worst worst;
    switch (s->focus) {
    case CF_ON_TOKENS:
    case CF_ON_PLOT:
    case CF_ON_COUNT:
        move_token(app, r, move);
        break;
    case CF_ON_WORST:
        cf_worst_find(&worst, r, cf_tokens__loss_kind(s));
        go_worst(s, &worst, moved(s->worst, worst.n, move));
        break;
    case CF_ON_CANDIDATES:
        s->candidate =
            moved(s->candidate, cf_tokens__visible(s, r->token[s->token].draw, at), move);
        break;
    case CF_ON_TREE:
        s->branch = moved(s->branch, s->tree.n_branch, move);
        s->node = s->branch < s->tree.n_branch && s->node < s->tree.n[s->branch] ? s->node : 0;
        break;
    }
}

/* To the next token that was unlikely, or drawn where much could follow. */
static void surprise(cf_app *app, int by)
{
    cf_tokens *s = state(app);
    const cf_reply *r = shown(app);
    for (size_t k = 1; r != NULL && k < r->n_token; k++) {
        size_t i = by > 0 ? (s->token + k) % r->n_token : (s->token + r->n_token - k) % r->n_token;
        const cf_chat_token *t = &r->token[i];
        float p = t->draw != NULL ? t->draw->chosen.p_raw : t->p;
        bool is_open = t->draw != NULL && t->draw->entropy_bits > 4;
        if ((p >= 0 && p < 0.25f) || is_open) {
            s->token = i;
            s->candidate = 0;
            return;
        }
    }
    cf_app_say(app, CF_STYLE_DIM, "no other surprise in this reply");
}

/* The reply of the path before or after the one shown. */
static void other_reply(cf_app *app, int by)
{
    cf_tokens *s = state(app);
    const cf_reply *now = shown(app);
    size_t n, at = 0;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    while (now != NULL && at < n && !cf_uuid_eq(path[at]->id, now->turn)) {
        at++;
    }
    for (size_t i = at + (size_t)by; now != NULL && i < n; i += (size_t)by) {
        const cf_reply *r = cf_lab_reply(app->lab, path[i]->id);
        if (r != NULL && r->n_token > 0) {
            cf_tokens__enter(app);
            s->turn = path[i]->id;
            return;
        }
    }
    cf_app_say(app, CF_STYLE_DIM, "no other reply with tokens on this path");
}

/* ---- what is shown ------------------------------------------------------ */

static void cmd_focus(cf_app *app)
{
    cf_tokens *s = state(app);
    const cf_reply *r = shown(app);
    bool tree = r != NULL && has_tree(app, r);
    s->focus = (cf_tokens_focus)((s->focus + 1) % CF_ON_COUNT);
    if (s->focus == CF_ON_TREE && !tree) {
        s->focus = CF_ON_PLOT;
    }
    s->candidate = 0;
}

/* The tokens in the order of what they cost; again: the next one of them. */
static void cmd_worst(cf_app *app)
{
    cf_tokens *s = state(app);
    const cf_reply *r = shown(app);
    cf_worst worst;
    if (r == NULL) {
        return;
    }
    cf_worst_find(&worst, r, cf_tokens__loss_kind(s));
    bool goes_on = s->focus == CF_ON_WORST && worst.n > 0;
    s->focus = CF_ON_WORST;
    go_worst(s, &worst, goes_on ? (s->worst + 1) % worst.n : 0);
}

static void cmd_logs(cf_app *app)
{
    cf_tokens *s = state(app);
    s->has_logs = !s->has_logs;
    cf_app_say(app, CF_STYLE_DIM, "%s",
               s->has_logs ? "natural logarithms of probabilities" : "probabilities");
}

static void tokens_click(cf_app *app, int what, size_t value)
{
    cf_tokens *s = state(app);
    const cf_reply *r = shown(app);
    cf_worst worst;
    if (r == NULL) {
        return;
    }
    s->medium = 0;
    if (what == CF_TOKENS_SPOT_MEDIUM) {
        s->focus = CF_ON_TOKENS;
        s->medium = value;
    } else if (what == CF_TOKENS_SPOT_CANDIDATE) {
        s->focus = CF_ON_CANDIDATES;
        s->candidate = value;
    } else if (what == CF_TOKENS_SPOT_BRANCH) {
        s->focus = CF_ON_TREE;
        s->branch = value / CF_TREE_DEPTH_MAX;
        s->node = value % CF_TREE_DEPTH_MAX;
    } else if (what == CF_TOKENS_SPOT_WORST) {
        s->focus = CF_ON_WORST;
        cf_worst_find(&worst, r, cf_tokens__loss_kind(s));
        go_worst(s, &worst, value);
    } else if (value < r->n_token) {
        s->focus = what == CF_TOKENS_SPOT_PLOT ? CF_ON_PLOT : CF_ON_TOKENS;
        s->token = value;
        s->candidate = 0;
    }
}

/* The pane under the wheel takes the focus. */
static bool tokens_wheel(cf_app *app, int what, size_t value, int by)
{
    static const cf_tokens_focus focus[] = {
        [CF_TOKENS_SPOT_TOKEN] = CF_ON_TOKENS, [CF_TOKENS_SPOT_CANDIDATE] = CF_ON_CANDIDATES,
        [CF_TOKENS_SPOT_BRANCH] = CF_ON_TREE,  [CF_TOKENS_SPOT_PLOT] = CF_ON_PLOT,
        [CF_TOKENS_SPOT_WORST] = CF_ON_WORST,  [CF_TOKENS_SPOT_MEDIUM] = CF_ON_TOKENS};
    (void)value;
    (void)by;
    if (what >= 0 && (size_t)what < sizeof focus / sizeof focus[0]) {
        state(app)->focus = focus[what];
    }
    return false;
}

/* The reply under Chat's cursor, or the last one before it. */
static void tokens_follow(cf_app *app, const cf_turn *turn)
{
    cf_tokens *s = state(app);
    size_t n, at = 0;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    while (at < n && !cf_uuid_eq(path[at]->id, turn->id)) {
        at++;
    }
    if (at == n || cf_uuid_eq(s->followed, turn->id)) {
        return;
    }
    s->followed = turn->id;
    for (size_t i = at + 1; i-- > 0;) {
        const cf_reply *r = cf_lab_reply(app->lab, path[i]->id);
        if (r != NULL && r->n_token > 0) {
            if (!cf_uuid_eq(s->turn, path[i]->id)) {
                cf_tokens__enter(app);
            }
            s->turn = path[i]->id;
            return;
        }
    }
}

static void cmd_overlay(cf_app *app)
{
    cf_tokens *s = state(app);
    s->overlay = (cf_tokens_overlay)((s->overlay + 1) % CF_HEAT_COUNT);
}

static void cmd_sampled(cf_app *app)
{
    cf_tokens *s = state(app);
    s->by_post = !s->by_post;
    cf_app_say(app, CF_STYLE_DIM, "colours follow the probabilities %s",
               s->by_post ? "that tokens were drawn with" : "that the model gave");
}

static void cmd_mask(cf_app *app)
{
    cf_tokens *s = state(app);
    s->hides_masked = !s->hides_masked;
    s->candidate = 0;
    cf_app_say(app, CF_STYLE_DIM, "%s",
               s->hides_masked ? "only what the constraint allowed"
                               : "also what the constraint removed");
}

static void cmd_page(cf_app *app)
{
    cf_tokens *s = state(app);
    if (!cf_app_is_narrow(app)) {
        cf_app_say(app, CF_STYLE_DIM, "all panes are visible");
        return;
    }
    s->focus = CF_ON_TOKENS;
    s->page = (cf_tokens_page)((s->page + 1) % CF_PAGE_COUNT);
}

static bool tokens_text(cf_app *app, cf_buf *out)
{
    const cf_reply *r = shown(app);
    for (size_t i = 0; r != NULL && i < r->n_token; i++) {
        cf_token_text(app->lab, r, i, out);
    }
    return r != NULL;
}

static void cmd_yank(cf_app *app)
{
    const cf_reply *r = shown(app);
    cf_buf text = CF_BUF_INIT;
    if (r != NULL) {
        cf_token_text(app->lab, r, state(app)->token, &text);
        cf_app_copy(app, cf_buf_str(&text));
    }
    cf_buf_deinit(&text);
}

static void cmd_yank_ids(cf_app *app)
{
    const cf_reply *r = shown(app);
    cf_buf text = CF_BUF_INIT;
    for (size_t i = 0; r != NULL && i < r->n_token; i++) {
        cf_buf_addf(&text, "%s%d", i > 0 ? " " : "", (int)r->token[i].id);
    }
    if (r != NULL) {
        cf_app_copy(app, cf_buf_str(&text));
    }
    cf_buf_deinit(&text);
}

/* ---- other ways --------------------------------------------------------- */

/* The tokens that take the place of s->token: the candidate's, those of a
 * branch up to the cursor, or the token itself; how many. */
static size_t chosen(cf_app *app, const cf_reply *r, cf_token ids[CF_TREE_DEPTH_MAX])
{
    const cf_tokens *s = state(app);
    const cf_candidate *at[CF_TOKENS_LISTED];
    const cf_draw *d = r->token[s->token].draw;
    if (s->focus == CF_ON_TREE && s->branch < s->tree.n_branch) {
        size_t n = s->node < s->tree.n[s->branch] ? s->node + 1 : 1;
        for (size_t i = 0; i < n; i++) {
            ids[i] = s->tree.node[s->branch][i].id;
        }
        return n;
    }
    ids[0] = r->token[s->token].id;
    if (s->focus == CF_ON_CANDIDATES && s->candidate < cf_tokens__visible(s, d, at)) {
        ids[0] = at[s->candidate]->id;
    }
    return 1;
}

static bool fork_here(cf_app *app, uint32_t max_tokens)
{
    cf_tokens *s = state(app);
    const cf_reply *r = shown(app);
    cf_token ids[CF_TREE_DEPTH_MAX];
    cf_error err;
    if (r == NULL) {
        return false;
    }
    size_t token = s->focus == CF_ON_TREE ? s->tree.token : s->token;
    size_t n = chosen(app, r, ids);
    if (cf_lab_fork(app->lab, r->turn, token, ids, n, max_tokens, &err) != CF_OK) {
        cf_app_error(app, &err);
        return false;
    }
    return true;
}

/* The choice takes the token's place, and the engine goes on. */
static void cmd_fork(cf_app *app)
{
    cf_tokens *s = state(app);
    if (cf_tokens__open_medium(app, shown(app))) {
        return;
    }
    if (s->focus == CF_ON_PLOT || s->focus == CF_ON_WORST || s->focus == CF_ON_TOKENS) {
        s->focus = CF_ON_CANDIDATES;
        s->candidate = 0;
    } else if (fork_here(app, 0)) {
        cf_app_open_view(app, CF_VIEW_CHAT);
    }
}

/* The same, for one token, which is then the one under the cursor: a reply
 * is steered word by word. */
static void cmd_step_one(cf_app *app)
{
    cf_tokens *s = state(app);
    if (fork_here(app, 1)) {
        s->turn = (cf_uuid){{0}};
        s->token = SIZE_MAX; /* its last, when it is there */
        s->candidate = 0;
        s->focus = CF_ON_CANDIDATES;
        s->waits = true;
    }
}

/* "K D": K branches of D tokens. */
static void cmd_tree(cf_app *app, const char *arg)
{
    cf_tokens *s = state(app);
    const cf_reply *r = shown(app);
    char *end = NULL;
    unsigned long width = WIDTH, depth = DEPTH;
    cf_error err;
    if (arg[0] != '\0') {
        width = strtoul(arg, &end, 10);
        depth = *end != '\0' ? strtoul(end, &end, 10) : DEPTH;
        if (*end != '\0' || width > CF_TREE_WIDTH_MAX || depth > CF_TREE_DEPTH_MAX) {
            width = 0; /* the message says what it may be */
        }
    }
    if (r == NULL) {
        return;
    }
    if (cf_lab_grow_tree(app->lab, &s->tree, r, s->token, (uint32_t)width, (uint32_t)depth, &err) !=
        CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    s->has_tree = true;
    s->branch = s->node = 0;
    s->focus = CF_ON_TREE;
}

static void cmd_stop(cf_app *app)
{
    if (cf_lab_is_busy(app->lab) || cf_lab_task_name(app->lab) != NULL) {
        cf_lab_stop(app->lab);
    } else {
        state(app)->focus = CF_ON_TOKENS;
    }
}

bool cf_tokens__is_marked(cf_app *app, cf_uuid turn, size_t token)
{
    const cf_tokens *s = state(app);
    if (cf_uuid_is_nil(s->marked) || !cf_uuid_eq(s->marked, turn)) {
        return false;
    }
    return s->mark < s->token ? token >= s->mark && token <= s->token
                              : token >= s->token && token <= s->mark;
}

static const cf_reply *shown_or_say(cf_app *app)
{
    const cf_reply *r = shown(app);
    if (r == NULL) {
        cf_app_say(app, CF_STYLE_DIM, "no reply with tokens here");
    }
    return r;
}

static void cmd_span(cf_app *app)
{
    cf_tokens *s = state(app);
    const cf_reply *r = shown_or_say(app);
    if (r == NULL) {
        return;
    }
    if (cf_uuid_eq(s->marked, r->turn)) {
        s->marked = (cf_uuid){{0}};
        return;
    }
    s->marked = r->turn;
    s->mark = s->token;
    cf_app_say(app, CF_STYLE_DIM, "the span begins here; gi asks about it, v ends it");
}

/* What made the token under the cursor so, or those of the span, or why the
 * candidate under the cursor did not come in its place. */
static void cmd_influence(cf_app *app)
{
    cf_tokens *s = state(app);
    const cf_reply *r = shown_or_say(app);
    if (r == NULL) {
        return;
    }
    size_t first = s->token, last = s->token;
    if (cf_uuid_eq(s->marked, r->turn) && s->mark < r->n_token) {
        first = s->mark < last ? s->mark : last;
        last = s->mark < last ? last : s->mark;
        s->marked = (cf_uuid){{0}};
    }
    cf_token ids[CF_TREE_DEPTH_MAX];
    cf_buf instead = CF_BUF_INIT;
    const cf_tokenizer *tok = cf_lab_engine_of(app->lab)->tokenizer;
    if (s->focus == CF_ON_CANDIDATES && tok != NULL && chosen(app, r, ids) == 1 &&
        ids[0] != r->token[first].id) {
        bool ends = cf_tokenizer_is_end(tok, ids[0]);
        cf_buf_adds(&instead, ends ? "end" : "text:");
        if (!ends) {
            cf_tokenizer_piece(&instead, tok, ids[0], false);
        }
    }
    cf_app_show(app, CF_VIEW_INFLUENCE,
                &(cf_target){.kind = CF_TARGET_REPLY,
                             .id = r->turn,
                             .from = r->token[first].raw_off,
                             .to = last + 1 < r->n_token ? r->token[last + 1].raw_off : r->raw.n,
                             .text = instead.n > 0 ? cf_buf_str(&instead) : cf_str_make(NULL, 0),
                             .name = first == last ? "the token" : "the span"});
    cf_buf_deinit(&instead);
}

/* The layers of the token under the cursor, compared with the alternative under
 * it. */
static void cmd_inside(cf_app *app)
{
    const cf_tokens *s = state(app);
    const cf_reply *r = shown_or_say(app);
    const cf_candidate *at[CF_TOKENS_LISTED];
    if (r == NULL || s->token >= r->n_token) {
        return;
    }
    const cf_chat_token *t = &r->token[s->token];
    size_t n = s->focus == CF_ON_CANDIDATES ? cf_tokens__visible(s, t->draw, at) : 0;
    bool has_other = s->candidate < n && at[s->candidate]->id != t->id;
    cf_app_show(app, CF_VIEW_INSIDE,
                &(cf_target){.kind = CF_TARGET_REPLY,
                             .id = r->turn,
                             .from = t->raw_off,
                             .to = t->raw_off + 1,
                             .has_token = has_other,
                             .token = has_other ? at[s->candidate]->id : CF_TOKEN_NONE});
}

static void tokens_show(cf_app *app, const cf_target *target)
{
    cf_app_open_view(app, CF_VIEW_TOKENS);
    state(app)->turn = target->id;
    state(app)->token = 0;
}

#define HERE CF_IN(CF_VIEW_TOKENS)

static const cf_command tokens_commands[] = {
    {"left", HERE, "h <Left>", "", "previous token", CF_BY(sideways, -1)},
    {"right", HERE, "l <Right>", "", "next token", CF_BY(sideways, 1)},
    {"surprise", HERE, "w", "", "next surprise", CF_BY(surprise, 1)},
    {"surprise-back", HERE, "b", "", "previous surprise", CF_BY(surprise, -1)},
    {"reply-before", HERE, "[", "", "the previous reply of this path", CF_BY(other_reply, -1)},
    {"reply-after", HERE, "]", "", "the next reply", CF_BY(other_reply, 1)},
    {"focus", HERE, "<Tab>", "", "tokens, alternatives, tree, plot or worst tokens",
     CF_RUN(cmd_focus)},
    {"fork", HERE, "<Enter> f", "", "continue from the chosen token, as a sibling",
     CF_RUN(cmd_fork)},
    {"step-one", HERE, "o", "", "the same for one token only, to steer token by token",
     CF_RUN(cmd_step_one)},
    {"tree", HERE, "t", "[K [D]]", "the K best alternatives with D tokens each (3 8)",
     CF_WITH(cmd_tree)},
    {"overlay", HERE, "H", "", "probability, entropy, allowed mass or none", CF_RUN(cmd_overlay)},
    {"sampled", HERE, "s", "", "colours by the model, or after sampling", CF_RUN(cmd_sampled)},
    {"worst", HERE, "W", "", "list tokens by cost, worst first; the overlay chooses the cost",
     CF_RUN(cmd_worst)},
    {"influence", HERE, "gi", "", "which parts of the prompt led to this token",
     CF_RUN(cmd_influence)},
    {"inside", HERE, "gh", "",
     "what chose this token, or why not the alternative: layers, what was looked at",
     CF_RUN(cmd_inside)},
    {"span", HERE, "v", "", "begin or end a span of tokens for gi", CF_RUN(cmd_span)},
    {"logs", HERE, ".", "", "probabilities, or their natural logarithms", CF_RUN(cmd_logs)},
    {"score", HERE, "%", "", "score an imported reply, or a server's, with this model",
     CF_RUN(cf_tokens__score)},
    {"mask", HERE, "za", "", "hide what the constraint removed", CF_RUN(cmd_mask)},
    {"page", HERE, "p", "",
     "on a narrow screen: alternatives, constraint, sampler, plot or worst tokens",
     CF_RUN(cmd_page)},
    {"yank", HERE, "yy", "", "copy the token's text", CF_RUN(cmd_yank)},
    {"yank-ids", HERE, "yi", "", "copy the ids of the reply", CF_RUN(cmd_yank_ids)},
    {"stop", HERE, "<Esc>", "", "stop what runs, or leave the pane", CF_RUN(cmd_stop)},
    CF_MOVE_ROWS(tokens_move, HERE),
    {0},
};

const cf_view_ops cf_view_tokens = {
    .name = "tokens",
    .title = "Tokens",
    .commands = tokens_commands,
    .footer = "surprise worst focus fork step-one tree overlay sampled score "
              "mask page",
    .state_size = sizeof(cf_tokens),
    .close = tokens_close,
    .enter = cf_tokens__enter,
    .draw = tokens_draw,
    .status = tokens_status,
    .show = tokens_show,
    .text = tokens_text,
    .click = tokens_click,
    .wheel = tokens_wheel,
    .follow = tokens_follow,
    .step = tokens_step,
};
