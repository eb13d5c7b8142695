/*
 * view_inside.c - what chose a token: where it was looked at, layer by layer
 * what was preferred, and what hiding each part changes.
 *
 * Left: the parts of the prompt, with the share that was looked at, and what
 * the margin to the best alternative becomes when the part is hidden.  Right:
 * the layers, each with its best token, the ranks of the two that are compared,
 * and what the layer wrote into their margin.  Below, where a tool was chosen:
 * why this tool.
 *
 * Looked at is not a cause; hiding is.  Early layers are read badly.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/safe_text.h"
#include "tui/lab/lab.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/study/influence/parts.h"
#include "tui/study/inside/inside_task.h"
#include "tui/view/kit/moves.h"
#include "tui/view/kit/pane.h"
#include "tui/view/kit/shades.h"
#include "tui/widget/list.h"

enum {
    WHOLE = 1u << CF_PART_MESSAGE | 1u << CF_PART_TOOL,
    PIECES = 1u << CF_PART_PIECE,
    SENTENCES = 1u << CF_PART_SENTENCE
};

typedef struct state {
    cf_inside_work *work; /* NULL: none yet */
    bool is_running;
    cf_uuid turn; /* asked about, */
    int64_t off;  /* and the byte of it */
    uint32_t kinds;
    cf_list list;
    cf_shade_map shades;
    bool wants; /* the cursor goes to the part with this byte of the prompt */
    size_t byte;
} state;

static state *state_of(cf_app *app)
{
    return app->state[CF_VIEW_INSIDE];
}

static void inside_close(cf_app *app)
{
    state *s = state_of(app);
    if (s->is_running) {
        cf_lab_end_task(app->lab, NULL);
    }
    cf_inside_work_free(s->work);
}

static const cf_inside_work *done(cf_app *app)
{
    const cf_inside_work *w = state_of(app)->work;
    return w != NULL && w->is_done ? w : NULL;
}

/* ---- asking ------------------------------------------------------------- */

static size_t part_with(const cf_inside_work *w, size_t byte)
{
    for (size_t i = 0; i < w->c.n_part; i++) {
        if (cf_parts_has_byte(&w->c.prompt, &w->c.part[i].part, byte)) {
            return i;
        }
    }
    return 0;
}

static void on_end(void *ud, cf_inside_work *work)
{
    cf_app *app = ud;
    state *s = state_of(app);
    s->is_running = false;
    app->is_dirty = true;
    if (!work->is_done && s->work != NULL && s->work->is_done) {
        cf_inside_work_free(work); /* what is there stays */
        return;
    }
    cf_inside_work_free(s->work);
    s->work = work;
    s->shades = (cf_shade_map){0};
    s->list.cursor = s->list.top = 0;
    if (s->wants && work->is_done) {
        s->list.cursor = part_with(work, s->byte);
    }
    s->wants = false;
}

static void ask(cf_app *app, uint32_t kinds)
{
    state *s = state_of(app);
    cf_error err;
    if (cf_inside_start(app->lab, app->store, s->turn, s->off, kinds, on_end, app, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    s->kinds = kinds;
    s->is_running = true;
    if (cf_app_view(app) != CF_VIEW_INSIDE) {
        cf_app_open_view(app, CF_VIEW_INSIDE);
    }
}

static void inside_show(cf_app *app, const cf_target *target)
{
    state *s = state_of(app);
    bool is_part = target->kind == CF_TARGET_PART;
    s->turn = is_part ? (cf_uuid){{0}} : target->id;
    s->off = is_part || target->from == target->to ? CF_INSIDE_FROM_CALL : (int64_t)target->from;
    s->wants = is_part;
    s->byte = target->from;
    ask(app, is_part && target->is_piece ? PIECES : WHOLE);
}

/* ---- drawing ------------------------------------------------------------ */

static void put_token(cf_buf *out, const cf_inside_work *w, cf_token id)
{
    if (id == CF_TOKEN_NONE) {
        cf_buf_adds(out, "nothing");
    } else {
        cf_inside_token_text(out, w->c.engine.tok, id);
    }
}

static int draw_buf(cf_grid *g, cf_rect r, int x, cf_buf *text, cf_style style)
{
    int n = x < r.w ? cf_grid_put(g, r.x + x, r.y, r.w - x, cf_buf_str(text), style) : 0;
    cf_buf_restart(text);
    return n;
}

/* "12.3%  -4.21 flips  tool get_time" */
static void draw_part(cf_grid *g, cf_rect r, const cf_inside_work *w, size_t i, bool is_on)
{
    cf_style plain = is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
    const cf_inside_answer *a = &w->without[i];
    bool flips = a->top[0] != w->plain.top[0];
    cf_buf text = CF_BUF_INIT;
    cf_grid_fill(g, r, ' ', plain);
    cf_buf_addf(&text, "%6.1f%% %+8.2f ", 100 * w->look.part[i].share,
                a->margin - w->plain.margin + 0.0);
    int x = draw_buf(g, r, 0, &text, plain);
    if (flips) {
        cf_buf_adds(&text, "flips ");
    } else {
        cf_buf_adds(&text, "      ");
    }
    x += draw_buf(g, r, x, &text, is_on ? plain : CF_STYLE_ERROR);
    cf_safe_line(&text, w->c.part[i].label.p, w->c.part[i].label.n);
    x += draw_buf(g, r, x, &text, plain);
    if (flips) {
        cf_buf_adds(&text, "  to ");
        put_token(&text, w, a->top[0]);
        draw_buf(g, r, x, &text, is_on ? plain : CF_STYLE_DIM);
    }
    cf_buf_deinit(&text);
}

static void draw_parts(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_inside_work *w = done(app);
    cf_grid_puts(g, r.x, r.y, r.w, "looked at  if hidden", CF_STYLE_DIM);
    r.y++;
    r.h--;
    cf_rows rows = cf_rows_begin(g, r, &state_of(app)->list, w->c.n_part, true);
    while (cf_rows_next(&rows, 0)) {
        draw_part(g, rows.at, w, rows.i, rows.is_on);
    }
}

/* What layer l - 1 wrote into the margin. */
static double written(const cf_inside_work *w, uint32_t l)
{
    if (l == 0) {
        return w->margin.embedding;
    }
    const cf_layer_share *s = &w->margin.layer[l - 1];
    return s->attention + s->recurrent + s->mlp + s->other;
}

/* The layers from the last one up, as many as there is room for. */
static void draw_layers(const cf_inside_work *w, cf_grid *g, cf_rect r)
{
    const cf_inside_layers *v = &w->layers;
    cf_buf text = CF_BUF_INIT;
    put_token(&text, w, w->c.a);
    cf_buf_adds(&text, " against ");
    put_token(&text, w, w->c.against);
    cf_buf_addf(&text, ": %+.2f", w->margin.margin);
    draw_buf(g, r, 0, &text, CF_STYLE_NORMAL);
    cf_rect row = {r.x, r.y + 1, r.w, 1};
    cf_grid_puts(g, row.x, row.y, row.w, "layer   wrote  ranks      best", CF_STYLE_DIM);
    for (uint32_t l = v->n_layer + 1; l-- > 0 && ++row.y < r.y + r.h;) {
        cf_buf_addf(&text, "%5u %+7.2f  %-4u %-4u  ", l, written(w, l) + 0.0,
                    v->rival[0].rank[l] + 1, v->n_rival > 1 ? v->rival[1].rank[l] + 1 : 0);
        put_token(&text, w, v->top[l]);
        cf_buf_addf(&text, " %.0f%%", 100 * v->p[l]);
        draw_buf(g, row, 0, &text, v->top[l] == w->c.a ? CF_STYLE_NORMAL : CF_STYLE_DIM);
    }
    cf_buf_deinit(&text);
}

/* ---- why this tool ------------------------------------------------------ */

/* The part of a tool; n_part: none in sight. */
static size_t part_of_tool(const cf_inside_work *w, cf_str name)
{
    for (size_t i = 0; i < w->c.n_part; i++) {
        const cf_part *p = &w->c.part[i].part;
        if (p->kind == CF_PART_TOOL && cf_str_eq(p->text, name)) {
            return i;
        }
    }
    return w->c.n_part;
}

static const cf_inside_rival *rival_of(const cf_inside_work *w, cf_token id)
{
    for (size_t i = 0; i < w->layers.n_rival; i++) {
        if (w->layers.rival[i].id == id) {
            return &w->layers.rival[i];
        }
    }
    return NULL;
}

/* A digit a layer: 1 is the best, 9 the ninth, '.' further down. */
static void put_plot(cf_buf *out, const cf_inside_work *w, const cf_inside_rival *r)
{
    for (uint32_t l = 0; l <= w->layers.n_layer; l++) {
        cf_buf_addc(out, r->rank[l] < 9 ? (char)('1' + (int)r->rank[l]) : '.');
    }
}

/* One tool: how long its declaration is, looked at, its rank layer by layer, and its margin
 * to the one that was called; of that whether hiding it flips the choice. */
static void put_tool(cf_buf *out, const cf_inside_work *w, const cf_inside_tool *t)
{
    size_t part = part_of_tool(w, t->name);
    const cf_inside_rival *r = t->at == w->c.at ? rival_of(w, t->id) : NULL;
    const cf_inside_choice *choice = &w->choice[t - w->c.tool];
    cf_buf name = CF_BUF_INIT;
    cf_safe_line(&name, t->name.p, t->name.n);
    cf_buf_addf(out, "%c %-22.22s ", t->is_called ? '>' : ' ', cf_buf_cstr(&name));
    cf_buf_deinit(&name);
    if (part == w->c.n_part) {
        cf_buf_adds(out, "not in sight");
        return;
    }
    cf_buf_addf(out, "%4zu tokens %5.1f%%  ", w->c.part[part].n, 100 * w->look.part[part].share);
    if (r != NULL) {
        put_plot(out, w, r);
    } else {
        cf_buf_adds(out, "same first token");
    }
    if (t->is_called) {
        cf_buf_adds(out, choice->flips ? "  hiding it flips the call"
                                       : "  hiding it does not flip the call");
    } else {
        cf_buf_addf(out, "  %+.2f", -choice->margin + 0.0);
    }
}

/* What would have begun a reply without a call. */
static void put_no_call(cf_buf *out, const cf_inside_work *w)
{
    const cf_inside_choice *choice = &w->choice[w->c.n_tool];
    cf_buf_addf(out, "  %-22s ", "no call");
    put_token(out, w, choice->id);
    cf_buf_addf(out, "  %+.2f", -choice->margin + 0.0);
}

static void draw_tools(const cf_inside_work *w, cf_grid *g, cf_rect r)
{
    cf_buf text = CF_BUF_INIT;
    cf_rect row = {r.x, r.y, r.w, 1};
    for (size_t i = 0; i < w->c.n_tool && row.y < r.y + r.h; i++, row.y++) {
        put_tool(&text, w, &w->c.tool[i]);
        draw_buf(g, row, 0, &text, w->c.tool[i].is_called ? CF_STYLE_NORMAL : CF_STYLE_DIM);
    }
    if (row.y < r.y + r.h && cf_inside_case_has_call(&w->c)) {
        put_no_call(&text, w);
        draw_buf(g, row, 0, &text, CF_STYLE_DIM);
    }
    cf_buf_deinit(&text);
}

static void draw_none(cf_app *app, cf_grid *g, cf_rect r)
{
    const state *s = state_of(app);
    const char *text = s->is_running     ? "looking inside ..."
                       : s->work != NULL ? s->work->err.text
                                         : "gh on a token, a call or a part looks inside";
    cf_grid_puts(g, r.x + 1, r.y + 1, r.w - 2, text, CF_STYLE_DIM);
}

static void inside_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_inside_work *w = done(app);
    if (w == NULL) {
        draw_none(app, g, r);
        return;
    }
    int below = w->c.n_tool > 0 ? (int)w->c.n_tool + 2 : 0;
    below += below > 0 && cf_inside_case_has_call(&w->c);
    below = below > r.h / 2 ? r.h / 2 : below;
    int left = cf_app_is_narrow(app) ? r.w : r.w / 2;
    cf_rect parts = {r.x, r.y, left, r.h - below};
    cf_rect layers = {r.x + left, r.y, r.w - left, r.h - below};
    cf_rect tools = {r.x, r.y + r.h - below, r.w, below};
    draw_parts(app, g, cf_pane(g, parts, "Looked at (not a cause), and hidden", true));
    if (!cf_app_is_narrow(app)) {
        draw_layers(w, g, cf_pane(g, layers, "Layers (early ones are read badly)", false));
    }
    if (below > 0) {
        bool has_call = cf_inside_case_has_call(&w->c);
        draw_tools(w, g,
                   cf_pane(g, tools,
                           has_call ? "Why this tool: rank by layer, margin"
                                    : "Why no tool: rank of a call by layer, margin",
                           false));
    }
}

/* ---- shades over the Prompt view ---------------------------------------- */

static int inside_shade(cf_app *app, const cf_prompt *prompt, size_t off)
{
    const cf_inside_work *w = done(app);
    if (w == NULL) {
        return CF_SHADES_NONE;
    }
    const cf_shaded of = {w->c.prompt.text, &w->c.tokens, w->shade};
    return cf_shade_at(app, &state_of(app)->shades, &of, prompt, off);
}

/* ---- commands ----------------------------------------------------------- */

static void inside_move(cf_app *app, int move)
{
    cf_list_move(&state_of(app)->list, (cf_move)move);
}

static void inside_click(cf_app *app, int what, size_t value)
{
    (void)what;
    cf_list_go(&state_of(app)->list, value);
}

static void cmd_finer(cf_app *app)
{
    if (done(app) != NULL) {
        ask(app, SENTENCES | 1u << CF_PART_TOOL);
    }
}

static void cmd_coarser(cf_app *app)
{
    if (done(app) != NULL) {
        ask(app, WHOLE);
    }
}

static void cmd_template(cf_app *app)
{
    if (done(app) != NULL) {
        ask(app, PIECES);
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

static bool inside_text(cf_app *app, cf_buf *out)
{
    const cf_inside_work *w = done(app);
    for (size_t i = 0; w != NULL && i < w->c.n_part; i++) {
        cf_buf_addf(out, "%6.1f%% %+8.2f  ", 100 * w->look.part[i].share,
                    w->without[i].margin - w->plain.margin);
        cf_safe_line(out, w->c.part[i].label.p, w->c.part[i].label.n);
        cf_buf_addc(out, '\n');
    }
    for (size_t i = 0; w != NULL && i < w->c.n_tool; i++) {
        put_tool(out, w, &w->c.tool[i]);
        cf_buf_addc(out, '\n');
    }
    if (w != NULL && cf_inside_case_has_call(&w->c)) {
        put_no_call(out, w);
        cf_buf_addc(out, '\n');
    }
    return w != NULL;
}

#define HERE CF_IN(CF_VIEW_INSIDE)

static const cf_command inside_commands[] = {
    {"finer", HERE, "<Enter>", "", "split messages into sentences", CF_RUN(cmd_finer)},
    {"coarser", HERE, "h <Left>", "", "back to whole messages and tools", CF_RUN(cmd_coarser)},
    {"pieces", HERE, "t", "", "what the template writes, piece by piece", CF_RUN(cmd_template)},
    {"stop", HERE, "<Esc>", "", "stop, or go back", CF_RUN(cmd_stop)},
    CF_MOVE_ROWS(inside_move, HERE),
    {0},
};

const cf_view_ops cf_view_inside = {
    .name = "inside",
    .title = "Inside",
    .commands = inside_commands,
    .footer = "finer coarser pieces back",
    .state_size = sizeof(state),
    .close = inside_close,
    .draw = inside_draw,
    .click = inside_click,
    .show = inside_show,
    .shade = inside_shade,
    .text = inside_text,
};
