/*
 * view_inside.c - what chose a token: where it was looked at, layer by layer
 * what was preferred, and what hiding each part changes.
 *
 * Left: the parts of the prompt, with the share that was looked at, and what
 * the margin of two tokens becomes when the part is hidden.  Right: the tokens
 * that could have come, any two of which are compared, and the layers, each with
 * what it wrote into their margin, their ranks and its best token; or a map of
 * what layers and parts carry of the difference to another prompt.  Below, where
 * a tool was chosen: why this tool.
 *
 * Looked at is not a cause; hiding is.  Early layers are read badly.
 */
#include "tui/view/inside/inside_view.h"

#include <stdio.h>
#include <string.h>

#include "core/base/safe_text.h"
#include "templates/prompt_part.h"
#include "tui/lab/lab.h"
#include "tui/lab/state/lab_marks.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/study/influence/influence_task.h"
#include "tui/view/kit/moves.h"

enum {
    PIECES = 1u << CF_PART_PIECE,
    FINE = 1u << CF_PART_SENTENCE | 1u << CF_PART_TOOL | 1u << CF_PART_FIELD
};

cf_inside_view *cf_inside__state(cf_app *app)
{
    return app->state[CF_VIEW_INSIDE];
}

static void inside_open(void *state)
{
    cf_inside_view *s = state;
    s->opened = SIZE_MAX;
}

static void inside_close(cf_app *app)
{
    cf_inside_view *s = cf_inside__state(app);
    if (s->is_running) {
        cf_lab_end_task(app->lab, NULL);
    }
    cf_inside_work_free(s->work);
}

const cf_inside_work *cf_inside__done(cf_app *app)
{
    const cf_inside_work *w = cf_inside__state(app)->work;
    return w != NULL && w->is_done ? w : NULL;
}

/* ---- asking ------------------------------------------------------------- */

/* The part with a byte of the prompt; n_part: none. */
static size_t part_with(const cf_inside_work *w, size_t byte)
{
    size_t i = 0;
    while (i < w->c.n_part && (w->c.part[i].part.kind == CF_PART_FIELD ||
                               !cf_parts_has_byte(&w->c.prompt, &w->c.part[i].part, byte))) {
        i++;
    }
    return i;
}

static void on_end(void *ud, cf_inside_work *work)
{
    cf_app *app = ud;
    cf_inside_view *s = cf_inside__state(app);
    s->is_running = false;
    app->is_dirty = true;
    if (!work->is_done && s->work != NULL && s->work->is_done) {
        cf_inside_work_free(work); /* what is there stays */
        return;
    }
    bool was_opened = s->opened != SIZE_MAX && work->q.tool == s->opened;
    cf_inside_work_free(s->work);
    s->work = work;
    s->shades = (cf_shade_map){0};
    s->a = 0;
    s->b = 1;
    s->opened = was_opened ? s->opened : SIZE_MAX;
    s->list[CF_INSIDE_ON_PARTS] = s->list[CF_INSIDE_ON_LAYERS] = (cf_list){.top = 0};
    if (s->wants && work->is_done) {
        size_t i = part_with(work, s->byte);
        s->list[CF_INSIDE_ON_PARTS].cursor = i < work->c.n_part ? i : 0;
    }
    s->wants = false;
}

void cf_inside__ask(cf_app *app, const cf_inside_question *q)
{
    cf_inside_view *s = cf_inside__state(app);
    cf_error err;
    if (cf_inside_start(app->lab, app->store, s->turn, q, on_end, app, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    s->q = *q;
    s->q.instead = NULL;
    s->is_running = true;
    if (cf_app_view(app) != CF_VIEW_INSIDE && !s->stays) {
        cf_app_open_view(app, CF_VIEW_INSIDE);
    }
    s->stays = false;
}

static void inside_show(cf_app *app, const cf_target *target)
{
    cf_inside_view *s = cf_inside__state(app);
    bool is_part = target->kind == CF_TARGET_PART;
    bool is_whole = is_part || target->from == target->to;
    cf_inside_question q = {.off = is_whole ? CF_INSIDE_FROM_CALL : (int64_t)target->from,
                            .kinds = is_part && target->is_piece ? PIECES : 0,
                            .tool = SIZE_MAX,
                            .has_other = target->has_token,
                            .other = target->token,
                            .with = target->with};
    s->turn = is_part ? (cf_uuid){{0}} : target->id;
    s->wants = is_part;
    s->byte = target->from;
    s->stays = target->stays;
    s->focus = CF_INSIDE_ON_PARTS;
    s->hides_map = false;
    cf_inside__ask(app, &q);
}

/* ---- drawing ------------------------------------------------------------ */

static void draw_none(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_inside_view *s = cf_inside__state(app);
    const char *text = s->is_running     ? "looking inside ..."
                       : s->work != NULL ? s->work->err.text
                                         : "gh on a token, a call or a part looks inside";
    cf_grid_puts(g, r.x + 1, r.y + 1, r.w - 2, text, CF_STYLE_DIM);
}

static bool shows_map(cf_app *app)
{
    return cf_inside__done(app)->has_map && !cf_inside__state(app)->hides_map;
}

static void draw_right(cf_app *app, cf_grid *g, cf_rect r)
{
    bool is_on = cf_inside__state(app)->focus == CF_INSIDE_ON_LAYERS;
    if (shows_map(app)) {
        cf_inside__draw_map(app, g, cf_pane(g, r, "What carries the difference", is_on));
    } else {
        cf_inside__draw_layers(app, g, cf_pane(g, r, "Layers (early ones are read badly)", is_on));
    }
}

static void draw_left(cf_app *app, cf_grid *g, cf_rect r)
{
    bool is_on = cf_inside__state(app)->focus == CF_INSIDE_ON_PARTS;
    cf_inside__draw_parts(app, g, cf_pane(g, r, "Looked at (not a cause), and hidden", is_on));
}

/* On a narrow screen one pane above the tools: the one with the focus. */
static void inside_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_inside_work *w = cf_inside__done(app);
    cf_inside_view *s = cf_inside__state(app);
    if (w == NULL) {
        draw_none(app, g, r);
        return;
    }
    int n = (int)cf_inside__n_tool_row(app);
    int below = n > 0 ? n + 3 : 0;
    below = below > r.h / 2 ? r.h / 2 : below;
    int left = cf_app_is_narrow(app) ? r.w : r.w / 2;
    cf_rect parts = {r.x, r.y, left, r.h - below};
    cf_rect layers = {r.x + left, r.y, r.w - left, r.h - below};
    cf_rect tools = {r.x, r.y + r.h - below, r.w, below};
    if (!cf_app_is_narrow(app)) {
        draw_left(app, g, parts);
        draw_right(app, g, layers);
    } else if (s->focus == CF_INSIDE_ON_LAYERS) {
        draw_right(app, g, parts);
    } else {
        draw_left(app, g, parts);
    }
    if (below > 0) {
        const char *title = cf_inside_case_has_call(&w->c) ? "Why this tool" : "Why no tool";
        cf_inside__draw_tools(app, g, cf_pane(g, tools, title, s->focus == CF_INSIDE_ON_TOOLS));
    }
}

/* ---- over the Prompt view ----------------------------------------------- */

static cf_shaded shaded_of(const cf_inside_work *w)
{
    return (cf_shaded){w->c.prompt.text, &w->c.tokens, w->shade};
}

static int inside_shade(cf_app *app, const cf_prompt *prompt, size_t off)
{
    const cf_inside_work *w = cf_inside__done(app);
    if (w == NULL) {
        return CF_SHADES_NONE;
    }
    const cf_shaded of = shaded_of(w);
    return cf_shade_at(app, &cf_inside__state(app)->shades, &of, prompt, off);
}

static double inside_share(cf_app *app, const cf_prompt *prompt, size_t from, size_t to)
{
    const cf_inside_work *w = cf_inside__done(app);
    double sum = 0;
    for (size_t i = 0; w != NULL && i < w->c.tokens.n; i++) {
        size_t off = w->c.tokens.v[i].off;
        if (off >= from && off < to && inside_shade(app, prompt, off) >= 0) {
            sum += w->given[i];
        }
    }
    return sum;
}

/* "'x' 50%  'y' 20%" */
static void put_best(cf_buf *out, const cf_inside_work *w, const cf_inside_answer *a)
{
    for (size_t k = 0; k < 3 && a->top[k] != CF_TOKEN_NONE; k++) {
        cf_buf_adds(out, "  ");
        cf_inside__put_token(out, w, a->top[k]);
        cf_buf_addf(out, " %.0f%%", 100 * a->p[k]);
    }
    cf_buf_addc(out, '\n');
}

static bool inside_about(cf_app *app, const cf_prompt *prompt, size_t off, cf_buf *out)
{
    const cf_inside_work *w = cf_inside__done(app);
    const cf_inside_view *s = cf_inside__state(app);
    size_t i = w != NULL && inside_shade(app, prompt, off) >= 0 ? part_with(w, off) : SIZE_MAX;
    if (w == NULL) {
        cf_buf_adds(out, s->is_running ? "looking inside ..." : "");
        return s->is_running;
    }
    if (w->heads.is_some) {
        cf_buf_addf(out, "heads %u.%u-%u\n", w->heads.layer, w->heads.first, w->heads.end - 1);
    }
    cf_buf_adds(out, "as it is");
    put_best(out, w, &w->plain);
    if (i < w->c.n_part) {
        cf_safe_line(out, w->c.part[i].label.p, w->c.part[i].label.n);
        cf_buf_addf(out, " looked at %.1f%%; hidden", 100 * w->share[i]);
        put_best(out, w, &w->without[i]);
    }
    return true;
}

/* The heads of the layer `by` further than those shown; all before the first and
 * after the last.  Layers without attention are passed over. */
static void step_heads(cf_inside_work *w, int by)
{
    int n = (int)w->look.n_layer, l = w->heads.is_some ? (int)w->heads.layer : by > 0 ? -1 : n;
    do {
        l += by;
    } while (l >= 0 && l < n && w->look.layer[l].n_head == 0);
    cf_inside_heads heads = {.is_some = l >= 0 && l < n, .layer = (uint32_t)l};
    heads.end = heads.is_some ? w->look.layer[l].n_head : 0;
    cf_inside_work_look(w, &heads);
}

static void inside_heads(cf_app *app, const char *which)
{
    cf_inside_work *w = cf_inside__state(app)->work;
    cf_inside_heads heads;
    cf_error err;
    if (cf_inside__done(app) == NULL) {
        cf_app_say(app, CF_STYLE_DIM, "nothing was looked into yet: gh does");
    } else if (strcmp(which, "+") == 0 || strcmp(which, "-") == 0) {
        step_heads(w, which[0] == '+' ? 1 : -1);
    } else if (cf_inside_heads_read(&heads, &w->look, which[0] != '\0' ? which : "all", &err) ==
               CF_OK) {
        cf_inside_work_look(w, &heads);
    } else {
        cf_app_error(app, &err);
    }
}

/* ---- commands ----------------------------------------------------------- */

static void inside_move(cf_app *app, int move)
{
    cf_inside_view *s = cf_inside__state(app);
    cf_list_move(&s->list[s->focus], (cf_move)move);
}

static void inside_click(cf_app *app, int what, size_t value)
{
    cf_inside_view *s = cf_inside__state(app);
    s->focus = (cf_inside_focus)what;
    cf_list_go(&s->list[s->focus], value);
}

static void go_pane(cf_app *app, int by)
{
    cf_inside_view *s = cf_inside__state(app);
    int n = cf_inside__done(app) != NULL && cf_inside__n_tool_row(app) > 0 ? CF_INSIDE_ON_COUNT
                                                                           : CF_INSIDE_ON_COUNT - 1;
    s->focus = (cf_inside_focus)(((int)s->focus + by + n) % n);
}

static void ask_kinds(cf_app *app, uint32_t kinds)
{
    cf_inside_question q = cf_inside__state(app)->q;
    q.kinds = kinds;
    cf_inside__ask(app, &q);
}

/* A token becomes the one that is compared with; a layer's heads alone are
 * counted. */
static void open_layer(cf_app *app)
{
    cf_inside_view *s = cf_inside__state(app);
    cf_inside_work *w = s->work;
    size_t i = s->list[CF_INSIDE_ON_LAYERS].cursor;
    if (i < w->c.n_watch) {
        s->a = i == s->a ? s->b : s->a;
        s->b = i;
        return;
    }
    uint32_t l = (uint32_t)(cf_inside__n_layer_row(w) - 1 - i);
    l = l <= w->look.n_layer ? l : 0; /* the heading */
    bool was = w->heads.is_some && w->heads.layer + 1 == l;
    cf_inside_heads heads = {.is_some = !was && l > 0 && w->look.layer[l - 1].n_head > 0,
                             .layer = l > 0 ? l - 1 : 0};
    heads.end = heads.is_some ? w->look.layer[l - 1].n_head : 0;
    cf_inside_work_look(w, &heads);
}

static void cmd_finer(cf_app *app)
{
    const cf_inside_view *s = cf_inside__state(app);
    if (cf_inside__done(app) == NULL) {
        return;
    }
    if (s->focus == CF_INSIDE_ON_TOOLS) {
        cf_inside__open_tool(app);
    } else if (s->focus == CF_INSIDE_ON_PARTS) {
        ask_kinds(app, FINE);
    } else if (!shows_map(app)) {
        open_layer(app);
    }
}

static void cmd_kinds(cf_app *app, int kinds)
{
    if (cf_inside__done(app) != NULL) {
        ask_kinds(app, (uint32_t)kinds);
    }
}

static void cmd_swap_sides(cf_app *app)
{
    cf_inside_view *s = cf_inside__state(app);
    size_t a = s->a;
    s->a = s->b;
    s->b = a;
}

static void cmd_instead(cf_app *app, const char *arg)
{
    cf_inside_question q = cf_inside__state(app)->q;
    if (cf_inside__done(app) != NULL) {
        q.tool = SIZE_MAX;
        q.has_other = false;
        q.instead = arg[0] != '\0' ? arg : NULL;
        cf_inside__ask(app, &q);
    }
}

/* Where the difference to a saved conversation is: the ticked one, or the one
 * that is named. */
static void cmd_patch(cf_app *app, const char *arg)
{
    cf_inside_view *s = cf_inside__state(app);
    cf_inside_question q = s->q;
    size_t n;
    const cf_uuid *ticked = cf_lab_ticked(app->lab, &n);
    q.with = n > 0 ? ticked[0] : (cf_uuid){{0}};
    if (cf_inside__done(app) == NULL) {
        cf_app_say(app, CF_STYLE_DIM, "nothing was looked into yet: gh does");
    } else if (arg[0] != '\0' && !cf_uuid_parse(&q.with, arg, strlen(arg))) {
        cf_app_say(app, CF_STYLE_ERROR, "'%.60s' is not a UUID", arg);
    } else if (cf_uuid_is_nil(q.with)) {
        cf_app_say(app, CF_STYLE_DIM,
                   "which conversation? tick one in Library (Space), or :patch UUID");
    } else {
        s->hides_map = false;
        cf_inside__ask(app, &q);
    }
}

static void cmd_map(cf_app *app)
{
    cf_inside_view *s = cf_inside__state(app);
    const cf_inside_work *w = cf_inside__done(app);
    s->hides_map = !s->hides_map;
    s->list[CF_INSIDE_ON_LAYERS] = (cf_list){.top = 0};
    if (w == NULL || !w->has_map) {
        cf_app_say(app, CF_STYLE_DIM, "z makes a map of what differs from another conversation");
    }
}

static void cmd_retry(cf_app *app)
{
    cf_error err;
    const cf_inside_work *w = cf_inside__done(app);
    if (w != NULL && cf_lab_retry(app->lab, w->c.c.turn, &err) != CF_OK) {
        cf_app_error(app, &err);
    } else if (w != NULL) {
        cf_app_say(app, CF_STYLE_DIM, "another reply beside this one; 1 shows it");
    }
}

static void cmd_stop(cf_app *app)
{
    if (cf_inside__state(app)->is_running) {
        cf_lab_stop(app->lab);
    } else {
        cf_app_back(app);
    }
}

static bool inside_text(cf_app *app, cf_buf *out)
{
    const cf_inside_work *w = cf_inside__done(app);
    for (size_t i = 0; w != NULL && i < w->c.n_part; i++) {
        cf_buf_addf(out, "%6.1f%% %+8.2f  ", 100 * w->share[i],
                    cf_inside__margin(app, &w->without[i]) - cf_inside__margin(app, &w->plain));
        cf_safe_line(out, w->c.part[i].label.p, w->c.part[i].label.n);
        cf_buf_addc(out, '\n');
    }
    for (size_t i = 0; w != NULL && i < cf_inside__n_tool_row(app); i++) {
        cf_inside__put_tool_row(app, out, i);
        cf_buf_addc(out, '\n');
    }
    return w != NULL;
}

#define HERE CF_IN(CF_VIEW_INSIDE)

static const cf_command inside_commands[] = {
    {"finer", HERE, "<Enter>", "",
     "split messages and tools; compare with a token, count a layer's heads alone; open a tool, "
     "go the way that flips it",
     CF_RUN(cmd_finer)},
    {"coarser", HERE, "h <Left>", "", "back to whole messages and tools", CF_BY(cmd_kinds, 0)},
    {"pieces", HERE, "t", "", "what the template writes, piece by piece", CF_BY(cmd_kinds, PIECES)},
    {"pane", HERE, "<Tab>", "", "parts, layers, tools", CF_BY(go_pane, 1)},
    {"pane-back", HERE, "<S-Tab>", "", "previous pane", CF_BY(go_pane, -1)},
    {"swap-sides", HERE, "~", "", "swap the two tokens that are compared", CF_RUN(cmd_swap_sides)},
    {"instead", HERE, "=", "TEXT", "compare with the first token of this text",
     CF_WITH(cmd_instead)},
    {"heads", HERE, "", "[all|LAYER[.HEAD[-HEAD]]]", "count what these heads looked at",
     CF_WITH(inside_heads)},
    {"patch", HERE, "z", "[UUID]",
     "which layers and parts carry the difference to the ticked conversation, or to UUID",
     CF_WITH(cmd_patch)},
    {"page", HERE, "p", "", "that map, or the layers", CF_RUN(cmd_map)},
    {"edit", HERE, "e E", "", "edit the declaration under the cursor in $EDITOR",
     CF_RUN(cf_inside__edit_tool)},
    {"retry", HERE, "r", "", "another reply, as a sibling", CF_RUN(cmd_retry)},
    {"stop", HERE, "<Esc>", "", "stop, or go back", CF_RUN(cmd_stop)},
    CF_MOVE_ROWS(inside_move, HERE),
    {0},
};

const cf_view_ops cf_view_inside = {
    .name = "inside",
    .title = "Inside",
    .commands = inside_commands,
    .footer = "finer coarser pieces pane swap-sides patch edit retry back",
    .state_size = sizeof(cf_inside_view),
    .open = inside_open,
    .close = inside_close,
    .draw = inside_draw,
    .click = inside_click,
    .show = inside_show,
    .shade = inside_shade,
    .share = inside_share,
    .about = inside_about,
    .heads = inside_heads,
    .text = inside_text,
};
