/*
 * chat_plot.c - what the prompts of a path cost: for each reply the tokens that
 * were kept, those that were computed, and the time to the first token, as
 * three strips of bars over the same columns.
 *
 * A column is a reply, or several where there are more replies than columns:
 * then the one that computed the most is drawn.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/view/chat/chat.h"
#include "tui/widget/bar.h"

enum {
    LABEL_W = 5, /* of "first" */
    COLUMN_W = 3,
    N_STRIPS = 3
};

void cf_chat__costs_deinit(cf_chat_costs *costs)
{
    cf_free(costs->v);
    *costs = (cf_chat_costs){.n = 0};
}

/* ---- the costs of the path ---------------------------------------------- */

static bool cost_of(const cf_reply *r, cf_chat_cost *out)
{
    uint64_t kept = r->sync.n_kept > r->usage.n_cached ? r->sync.n_kept : r->usage.n_cached;
    uint64_t n_new = r->usage.n_prompt > kept ? r->usage.n_prompt - kept : 0;
    out->n_kept = kept;
    out->n_new = r->sync.n_new > 0 ? r->sync.n_new : n_new;
    out->first_us = r->timings.first_us;
    return !r->is_live && r->usage.is_known && r->usage.n_prompt > 0;
}

static bool stored_cost(const cf_store_turn_cost *v, size_t n, cf_uuid turn, cf_chat_cost *out)
{
    for (size_t i = 0; i < n; i++) {
        if (cf_uuid_eq(v[i].turn, turn)) {
            *out = (cf_chat_cost){
                .n_kept = v[i].n_kept, .n_new = v[i].n_new, .first_us = v[i].first_us};
            return true;
        }
    }
    return false;
}

/* The replies of the path with their figures: those of this session as they
 * are in memory, the others from the history in one query. */
static void collect(cf_app *app, cf_chat_costs *c)
{
    cf_arena arena;
    const cf_store_turn_cost *v = NULL;
    size_t n_stored = 0, n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    cf_arena_init(&arena, 0);
    if (app->store != NULL) {
        /* Where they cannot be read, the plot has those of this session. */
        cf_ignore(
            cf_store_turn_costs(app->store, cf_lab_conv_id(app->lab), &arena, &v, &n_stored, NULL));
    }
    c->n = 0;
    for (size_t i = 0; i < n; i++) {
        const cf_reply *r = cf_lab_reply_here(app->lab, path[i]->id);
        cf_chat_cost cost = {.turn = i};
        bool has = (r != NULL && cost_of(r, &cost)) || stored_cost(v, n_stored, path[i]->id, &cost);
        cost.turn = i;
        if (has && cf_grow(&c->v, &c->cap, c->n + 1, sizeof *c->v)) {
            c->v[c->n++] = cost;
        }
    }
    cf_arena_deinit(&arena);
}

const cf_chat_costs *cf_chat__costs(cf_app *app)
{
    cf_chat_costs *c = &cf_chat__state(app)->costs;
    uint64_t generation = cf_lab_generation(app->lab);
    bool is_busy = cf_lab_is_busy(app->lab);
    if (!c->is_valid || c->generation != generation || c->is_busy != is_busy) {
        collect(app, c);
        c->is_valid = true;
        c->generation = generation;
        c->is_busy = is_busy;
    }
    return c;
}

size_t cf_chat__cost_at(const cf_chat_costs *c, size_t turn)
{
    size_t at = SIZE_MAX;
    for (size_t i = 0; i < c->n && c->v[i].turn <= turn; i++) {
        at = i;
    }
    return at;
}

size_t cf_chat__next_worst(const cf_chat_costs *c, size_t at)
{
    size_t best = SIZE_MAX;
    bool has = at < c->n;
    for (size_t i = 0; i < c->n; i++) {
        /* The order: more computed first, then the earlier one. */
        bool is_after =
            !has || c->v[i].n_new < c->v[at].n_new || (c->v[i].n_new == c->v[at].n_new && i > at);
        if (is_after && (best == SIZE_MAX || c->v[i].n_new > c->v[best].n_new)) {
            best = i;
        }
    }
    return best;
}

/* ---- drawing ------------------------------------------------------------ */

void cf_chat__plot_title(cf_app *app, int width, char out[128])
{
    const cf_chat *s = cf_chat__state(app);
    const cf_chat_costs *c = cf_chat__costs(app);
    size_t at = cf_chat__cost_at(c, s->cursor);
    if (at == SIZE_MAX) {
        snprintf(out, 128, "Cost of the prompts");
        return;
    }
    const cf_chat_cost *v = &c->v[at];
    snprintf(out, 128,
             width >= 56 ? "Cost of turn %02zu  %llu kept  %llu computed  first %.0f ms"
                         : "%02zu  %llu kept  %llu new  %.0f ms",
             v->turn + 1, (unsigned long long)v->n_kept, (unsigned long long)v->n_new,
             (double)v->first_us * 1e-3);
}

/* The three strips, as far as a cost has them. */
static double value_of(const cf_chat_cost *c, int strip)
{
    return strip == 0 ? (double)c->n_kept : strip == 1 ? (double)c->n_new : (double)c->first_us;
}

typedef struct plot {
    const cf_chat_costs *c;
    cf_rect r;    /* of the columns */
    int column_w; /* cells */
    size_t per;   /* replies a column */
    double most[N_STRIPS];
} plot;

static void measure(plot *p)
{
    size_t w = p->r.w > 1 ? (size_t)p->r.w : 1;
    p->per = (p->c->n + w - 1) / w;
    p->per = p->per > 0 ? p->per : 1;
    size_t columns = (p->c->n + p->per - 1) / p->per;
    p->column_w = columns > 0 ? p->r.w / (int)columns : 1;
    p->column_w = p->column_w < 1 ? 1 : p->column_w > COLUMN_W ? COLUMN_W : p->column_w;
    for (size_t i = 0; i < p->c->n; i++) {
        for (int strip = 0; strip < N_STRIPS; strip++) {
            double v = value_of(&p->c->v[i], strip);
            p->most[strip] = v > p->most[strip] ? v : p->most[strip];
        }
    }
    /* Kept and computed are tokens of the same prompts: one scale. */
    double tokens = p->most[0] > p->most[1] ? p->most[0] : p->most[1];
    p->most[0] = p->most[1] = tokens;
}

/* The reply that stands for those from `from` on. */
static size_t shown_of(const plot *p, size_t from)
{
    size_t best = from;
    for (size_t i = from; i < from + p->per && i < p->c->n; i++) {
        best = p->c->v[i].n_new > p->c->v[best].n_new ? i : best;
    }
    return best;
}

static void draw_column(cf_grid *g, const plot *p, size_t from, size_t at)
{
    static const cf_style style[N_STRIPS] = {CF_STYLE_PLOT_0, CF_STYLE_PLOT_2, CF_STYLE_PLOT_1};
    const cf_chat_cost *cost = &p->c->v[shown_of(p, from)];
    bool is_on = at >= from && at < from + p->per;
    int gap = p->column_w > 1;
    int strip_h = (p->r.h - 1) / N_STRIPS;
    int x = p->r.x + (int)(from / p->per) * p->column_w;
    for (int strip = 0; strip < N_STRIPS; strip++) {
        cf_rect bar = {x, p->r.y + strip * strip_h, p->column_w - gap, strip_h};
        double v = value_of(cost, strip);
        if (v > 0 && p->most[strip] > 0) {
            cf_bar_draw(g, bar, v / p->most[strip], style[strip]);
        }
    }
    cf_grid_puts(g, x, p->r.y + N_STRIPS * strip_h, 1, is_on ? "^" : ".",
                 is_on ? CF_STYLE_KEY : CF_STYLE_DIM);
    cf_grid_spot(g, (cf_rect){x, p->r.y, p->column_w, p->r.h}, CF_CHAT_SPOT_GO, cost->turn);
}

void cf_chat__draw_plot(cf_app *app, cf_grid *g, cf_rect r)
{
    static const char *const label[N_STRIPS] = {"kept", "new", "first"};
    const cf_chat_costs *c = cf_chat__costs(app);
    if (r.w < LABEL_W + 8 || r.h < N_STRIPS + 1) {
        return;
    }
    if (c->n == 0) {
        cf_grid_puts(g, r.x, r.y, r.w, "no reply with figures on this path yet", CF_STYLE_DIM);
        return;
    }
    plot p = {.c = c, .r = {r.x + LABEL_W + 1, r.y, r.w - LABEL_W - 1, r.h}};
    int strip_h = (r.h - 1) / N_STRIPS;
    for (int strip = 0; strip < N_STRIPS; strip++) {
        cf_grid_puts(g, r.x, r.y + strip * strip_h + strip_h - 1, LABEL_W, label[strip],
                     CF_STYLE_DIM);
    }
    measure(&p);
    size_t at = cf_chat__cost_at(c, cf_chat__state(app)->cursor);
    for (size_t from = 0; from < c->n; from += p.per) {
        draw_column(g, &p, from, at);
    }
}
