/*
 * inside_tools.c - why a tool was called or not: a line a declared tool, and the
 * ways that flip it: a part hidden, the declaration moved, its token steered to.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/safe_text.h"
#include "tui/app/editor.h"
#include "tui/lab/lab.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/tools/lab_tools.h"
#include "tui/lab/tools/tool_servers.h"
#include "tui/view/inside/inside_view.h"

enum { WAYS = 3, PLOT_W = 16, NAME_W = 20 };

static const cf_inside_flip ways[WAYS] = {CF_FLIP_HIDE, CF_FLIP_MOVE, CF_FLIP_STEER};

static size_t n_choice(const cf_inside_work *w)
{
    return w != NULL && w->choice != NULL ? cf_inside_n_choice(&w->c) : 0;
}

size_t cf_inside__n_tool_row(cf_app *app)
{
    size_t n = n_choice(cf_inside__done(app));
    return n + (cf_inside__state(app)->opened < n ? WAYS : 0);
}

/* The choice of row i; *way: SIZE_MAX, or which of its ways. */
static size_t choice_of(cf_app *app, size_t i, size_t *way)
{
    size_t opened = cf_inside__state(app)->opened;
    *way = SIZE_MAX;
    if (opened == SIZE_MAX || i <= opened) {
        return i;
    }
    if (i > opened + WAYS) {
        return i - WAYS;
    }
    *way = i - opened - 1;
    return opened;
}

/* ---- lines -------------------------------------------------------------- */

/* The part of a tool; n_part: none in sight. */
static size_t part_of(const cf_inside_work *w, size_t index)
{
    size_t i = 0;
    while (i < w->c.n_part &&
           (w->c.part[i].part.kind != CF_PART_TOOL || w->c.part[i].part.index != index)) {
        i++;
    }
    return i;
}

/* A digit a layer, or every second, third ...: 1 is the best, 9 the ninth, '.'
 * further down. */
static void put_plot(cf_buf *out, const cf_inside_work *w, const cf_inside_choice *v)
{
    const cf_inside_rival *r = NULL;
    uint32_t n = w->layers.n_layer, step = n / PLOT_W + 1;
    char plot[PLOT_W + 1] = "";
    size_t k = 0;
    for (size_t i = 0; v->at == w->c.at && i < w->layers.n_rival; i++) {
        r = w->layers.rival[i].id == v->id ? &w->layers.rival[i] : r;
    }
    for (uint32_t l = n % step; r != NULL && l <= n && k < PLOT_W; l += step) {
        plot[k++] = r->rank[l] < 9 ? (char)('1' + (int)r->rank[l]) : '.';
    }
    plot[k] = '\0';
    cf_buf_addf(out, "%-*s", PLOT_W, r != NULL ? plot : v->is_no_call ? "" : "parts elsewhere");
}

/* Tool, what was written of it, looked at, its rank layer by layer, the margin to
 * what was written, what flips it. */
static void put_choice(cf_buf *out, const cf_inside_work *w, size_t i)
{
    const cf_inside_choice *v = &w->choice[i];
    cf_str name = v->is_no_call ? cf_str_from("no call") : w->c.tool[i].name;
    size_t part = part_of(w, v->index);
    char written[24] = "not";
    cf_buf safe = CF_BUF_INIT;
    cf_safe_line(&safe, name.p, name.n);
    if (v->is_written) {
        snprintf(written, sizeof written, "%zu tokens", w->c.n - w->choice[w->c.n_tool].at - 1);
    }
    cf_buf_addf(out, "%c %-*.*s  %-9s ", v->is_written ? '>' : ' ', NAME_W, NAME_W,
                cf_buf_cstr(&safe), written);
    cf_buf_deinit(&safe);
    if (part < w->c.n_part) {
        cf_buf_addf(out, "%7.1f%%  ", 100 * w->share[part]);
    } else {
        cf_buf_addf(out, "%8s  ", v->is_no_call ? "" : "hidden");
    }
    put_plot(out, w, v);
    cf_buf_addf(out, " %+7.2f  ", v->margin + 0.0);
    if (v->is_no_call) {
        cf_inside__put_token(out, w, v->id);
        cf_buf_adds(out, ": ");
    }
    cf_inside_flip_text(out, &w->c, v, v->least);
}

void cf_inside__put_tool_row(cf_app *app, cf_buf *out, size_t i)
{
    const cf_inside_work *w = cf_inside__done(app);
    size_t way, k = choice_of(app, i, &way);
    if (way == SIZE_MAX) {
        put_choice(out, w, k);
        return;
    }
    static const char *const names[WAYS] = {"hide", "move", "steer"};
    cf_buf_addf(out, "    %-6s ", names[way]);
    cf_inside_flip_text(out, &w->c, &w->choice[k], ways[way]);
}

void cf_inside__draw_tools(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_inside_work *w = cf_inside__done(app);
    cf_inside_view *s = cf_inside__state(app);
    bool has_focus = s->focus == CF_INSIDE_ON_TOOLS;
    cf_buf text = CF_BUF_INIT;
    cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_DIM, "  %-*s  %-9s %8s  %-*s %7s  %s", NAME_W, "tool",
                 "written", "looked at", PLOT_W - 1, "rank by layer", "margin", "what flips it");
    r.y++;
    r.h--;
    cf_rows rows =
        cf_rows_begin(g, r, &s->list[CF_INSIDE_ON_TOOLS], cf_inside__n_tool_row(app), has_focus);
    while (cf_rows_next(&rows, CF_INSIDE_ON_TOOLS)) {
        size_t way, i = choice_of(app, rows.i, &way);
        bool is_bright = way != SIZE_MAX || w->choice[i].is_written;
        cf_style style = rows.is_on && has_focus ? CF_STYLE_SELECTED
                         : is_bright             ? CF_STYLE_NORMAL
                                                 : CF_STYLE_DIM;
        cf_inside__put_tool_row(app, &text, rows.i);
        cf_grid_fill(g, rows.at, ' ', style);
        cf_grid_put(g, rows.at.x, rows.at.y, rows.at.w, cf_buf_str(&text), style);
        cf_buf_restart(&text);
    }
    cf_buf_deinit(&text);
}

/* ---- other declarations ------------------------------------------------- */

/* Declares these from now on. */
static bool declare(cf_app *app, const json_t *tools)
{
    cf_error err;
    if (app->servers != NULL && cf_tool_servers_n(app->servers) > 0) {
        cf_app_say(app, CF_STYLE_WARNING,
                   "declarations beside those of tool servers stay as "
                   "they are");
        return false;
    }
    if (cf_lab_set_tools(app->lab, tools, &err) != CF_OK) {
        cf_app_error(app, &err);
        return false;
    }
    if (app->servers != NULL) {
        cf_tool_servers_set_others(app->servers, tools);
    }
    return true;
}

static void retry(cf_app *app, const char *what)
{
    cf_error err;
    cf_uuid turn = cf_inside__done(app)->c.c.turn;
    if (cf_lab_retry(app->lab, turn, &err) != CF_OK) {
        cf_app_error(app, &err);
    } else {
        cf_app_say(app, CF_STYLE_OK, "%s: another reply beside this one", what);
    }
}

static void move_tool(cf_app *app, const cf_inside_choice *v)
{
    json_t *tools = v->place != SIZE_MAX
                        ? cf_inside_moved(cf_inside__done(app)->c.c.tools, v->index, v->place)
                        : NULL;
    if (tools != NULL && declare(app, tools)) {
        retry(app, v->place == 0 ? "declared first" : "declared last");
    } else if (v->place == SIZE_MAX) {
        cf_app_say(app, CF_STYLE_DIM, "moving it does not flip the choice");
    }
    json_decref(tools);
}

/* A reply that goes on from the token that steering leads to. */
static void steer_to(cf_app *app, const cf_inside_choice *v)
{
    const cf_inside_case *c = &cf_inside__done(app)->c;
    size_t i = v->at + (size_t)1 - c->n_prompt;
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    if (v->k == 0 || v->is_written || i >= c->n_reply) {
        cf_app_say(app, CF_STYLE_DIM, "there is no token to steer to");
        return;
    }
    cf_buf_add(&text, c->c.reply.p, c->reply[i].off);
    cf_tokenizer_piece(&text, c->engine.tok, v->id, true);
    cf_status st = cf_buf_check(&text, &err);
    CF_THEN(st, cf_lab_continue(app->lab, c->c.turn, cf_buf_str(&text), &err));
    if (st != CF_OK) {
        cf_app_error(app, &err);
    } else {
        cf_app_say(app, CF_STYLE_OK, "another reply, which goes on from this token");
    }
    cf_buf_deinit(&text);
}

static void go_part(cf_app *app, const cf_inside_choice *v)
{
    cf_inside_view *s = cf_inside__state(app);
    if (v->hide < cf_inside__done(app)->c.n_part) {
        s->focus = CF_INSIDE_ON_PARTS;
        cf_list_go(&s->list[CF_INSIDE_ON_PARTS], v->hide);
    } else {
        cf_app_say(app, CF_STYLE_DIM, "no part alone flips it; Enter on a part splits messages");
    }
}

void cf_inside__open_tool(cf_app *app)
{
    const cf_inside_work *w = cf_inside__done(app);
    cf_inside_view *s = cf_inside__state(app);
    size_t row = s->list[CF_INSIDE_ON_TOOLS].cursor, way, i = choice_of(app, row, &way);
    if (i >= n_choice(w)) {
        return;
    }
    const cf_inside_choice *v = &w->choice[i];
    if (way != SIZE_MAX) {
        (ways[way] == CF_FLIP_HIDE   ? go_part
         : ways[way] == CF_FLIP_MOVE ? move_tool
                                     : steer_to)(app, v);
        return;
    }
    s->opened = s->opened == i ? SIZE_MAX : i;
    s->list[CF_INSIDE_ON_TOOLS].cursor = i;
    size_t k = 0;
    while (k < w->c.n_watch && (w->c.watch[k] != v->id || v->at != w->c.at)) {
        k++;
    }
    if (s->opened == SIZE_MAX || v->is_no_call) {
        return;
    }
    if (v->is_written || (k < w->c.n_watch && v->is_moved)) {
        s->a = 0;
        s->b = k < w->c.n_watch && k > 0 ? k : 1;
    } else {
        cf_inside_question q = s->q;
        q.tool = i;
        cf_inside__ask(app, &q);
    }
}

/* ---- editing ------------------------------------------------------------ */

/* The declaration under the cursor; SIZE_MAX: none. */
static size_t tool_here(cf_app *app)
{
    const cf_inside_work *w = cf_inside__done(app);
    const cf_inside_view *s = cf_inside__state(app);
    size_t way, i = s->list[s->focus].cursor;
    if (s->focus == CF_INSIDE_ON_TOOLS) {
        i = choice_of(app, i, &way);
        return i < w->c.n_tool && w->choice != NULL ? w->c.tool[i].index : SIZE_MAX;
    }
    if (s->focus != CF_INSIDE_ON_PARTS || i >= w->c.n_part) {
        return SIZE_MAX;
    }
    const cf_part *p = &w->c.part[i].part;
    return p->kind == CF_PART_TOOL || p->kind == CF_PART_FIELD ? p->index : SIZE_MAX;
}

static int add_text(const char *p, size_t n, void *ud)
{
    cf_buf_add(ud, p, n);
    return 0;
}

void cf_inside__edit_tool(cf_app *app)
{
    const cf_inside_work *w = cf_inside__done(app);
    size_t i = w != NULL ? tool_here(app) : SIZE_MAX;
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    json_t *one = NULL, *tools = NULL;
    if (i == SIZE_MAX) {
        cf_app_say(app, CF_STYLE_DIM, "no declaration is under the cursor");
        return;
    }
    int bad = json_dump_callback(json_array_get(w->c.c.tools, i), add_text, &text, JSON_INDENT(2));
    cf_status st = bad == 0 ? cf_buf_check(&text, &err) : cf_oom(&err);
    CF_THEN(st, cf_editor_run(app, ".json", &text, &err));
    CF_THEN(st, cf_json_read(&one, text.p, text.n, &err));
    if (st == CF_OK && json_equal(one, json_array_get(w->c.c.tools, i))) {
        cf_app_say(app, CF_STYLE_DIM, "nothing changed");
    } else if (st == CF_OK) {
        tools = cf_json_copy(w->c.c.tools);
        st = tools != NULL && json_array_set(tools, i, one) == 0 ? CF_OK : cf_oom(&err);
    }
    if (st != CF_OK) {
        cf_app_error(app, &err);
    } else if (tools != NULL && declare(app, tools)) {
        cf_app_say(app, CF_STYLE_OK, "declared so from now on; r asks again, 2 shows the prompt");
    }
    json_decref(tools);
    json_decref(one);
    cf_buf_deinit(&text);
}
