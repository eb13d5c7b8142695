/*
 * view_diff.c - two prompts side by side (or, on a narrow screen, one below
 * the other): text, tokens, or the sources of the templates.
 *
 * Rows of the difference are broken into screen lines once for a width; a
 * frame draws the lines in sight.  What takes longer, replies, likelihoods and
 * the comparison of all that is saved, is shown below by diff_panels.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "templates/builtin.h"
#include "tui/lab/kept_template.h"
#include "tui/lab/lab_conversation.h"
#include "tui/lab/lab_prompt.h"
#include "tui/lab/lab_send.h"
#include "tui/lab/lab_template.h"
#include "tui/view/moves.h"
#include "tui/view/view_diff.h"
#include "tui/widget/pager.h"

/* Rows of context, from few to many. */
static const size_t contexts[] = {0, 1, 3, 10, CF_DIFF_ALL};
#define N_CONTEXTS (sizeof contexts / sizeof contexts[0])

typedef cf_diff_piece piece;
typedef cf_diff_line dline;
typedef cf_diff_view diff_view;

cf_diff_view *cf_diff_state(cf_app *app)
{
    return app->state[CF_VIEW_DIFF];
}

static diff_view *state(cf_app *app)
{
    return cf_diff_state(app);
}

static cf_status diff_open(cf_app *app, cf_error *err)
{
    diff_view *s = cf_calloc(1, sizeof *s);
    if (s == NULL) {
        return cf_oom(err);
    }
    s->is_stale = true;
    s->context = CF_DIFF_ALL;
    app->state[CF_VIEW_DIFF] = s;
    return CF_OK;
}

static void diff_close(cf_app *app)
{
    diff_view *s = state(app);
    if (s != NULL) {
        cf_diff_run_deinit(&s->run);
        cf_likely_deinit(&s->likely);
        cf_survey_deinit(&s->survey);
        if (s->m.lab != NULL) {
            cf_diff_model_deinit(&s->m);
        }
        cf_buf_deinit(&s->kept);
        cf_free(s->line);
        cf_free(s);
        app->state[CF_VIEW_DIFF] = NULL;
    }
}

/* The workbench is there only after the view was opened. */
static cf_diff_model *model(cf_app *app)
{
    diff_view *s = state(app);
    if (s->m.lab == NULL) {
        cf_diff_model_init(&s->m, app->lab, app->store);
    }
    return &s->m;
}

static bool has_marks(const cf_app *app)
{
    return !cf_uuid_is_nil(cf_lab_marked(app->lab, 0)) &&
           !cf_uuid_is_nil(cf_lab_marked(app->lab, 1));
}

static void use_subject(cf_app *app, int subject);

static void show_panel(diff_view *s, cf_diff_panel panel, bool has_focus)
{
    s->panel = panel;
    s->in_panel = has_focus && panel != CF_PANEL_NONE;
}

/* Replies and likelihoods belong to what is compared. */
static void forget_answers(diff_view *s)
{
    cf_diff_run_deinit(&s->run);
    cf_likely_deinit(&s->likely);
    if (s->panel != CF_PANEL_SURVEY) {
        show_panel(s, CF_PANEL_NONE, false);
    }
}

static void diff_enter(cf_app *app)
{
    cf_diff_model *m = model(app);
    cf_error err;
    cf_buf_restart(&state(app)->kept); /* offered until side B is chosen */
    if (m->name[0] == '\0' &&
        cf_kept_template_names(&state(app)->kept, app->store, &err) != CF_OK) {
        cf_buf_restart(&state(app)->kept); /* the Library says what is wrong */
    }
    if (m->name[0] == '\0' && m->subject == CF_DIFF_BENCH && has_marks(app)) {
        use_subject(app, CF_DIFF_MARKS);
    }
    state(app)->is_stale = true;
}

/* Brings the comparison up to date with what is in the workbench. */
static void refresh(cf_app *app)
{
    diff_view *s = state(app);
    cf_diff_model *m = model(app);
    bool has_moved = m->generation != cf_lab_generation(app->lab) &&
                     !cf_lab_is_busy(app->lab);
    if (s->is_stale || has_moved) {
        if (has_moved && m->generation != 0 && m->subject == CF_DIFF_BENCH) {
            forget_answers(s); /* they were to what was said before */
        }
        cf_diff_model_update(m);
        s->is_stale = false;
        s->width = 0;
    }
}

/* ---- hunks -------------------------------------------------------------- */

static bool is_changed(const diff_view *s, size_t line)
{
    return s->m.diff.rows[s->line[line].row].kind != CF_DIFF_KEPT;
}

static bool begins_hunk(const diff_view *s, size_t line)
{
    return is_changed(s, line) && (line == 0 || !is_changed(s, line - 1));
}

static void count_hunks(const diff_view *s, size_t *n, size_t *at)
{
    *n = *at = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (begins_hunk(s, i)) {
            (*n)++;
            *at = i <= s->list.cursor ? *n : *at;
        }
    }
}

/* ---- drawing ------------------------------------------------------------ */

static cf_style style_of(cf_diff_kind kind, int side)
{
    return kind == CF_DIFF_KEPT ? CF_STYLE_NORMAL
           : side == 0          ? CF_STYLE_REMOVED
                                : CF_STYLE_ADDED;
}

static bool is_marked(const cf_diff_mark *v, size_t n, uint32_t off)
{
    for (size_t i = 0; i < n; i++) {
        if (off >= v[i].off && off < v[i].off + v[i].len) {
            return true;
        }
    }
    return false;
}

static void draw_text(const diff_view *s, cf_grid *g, cf_rect r,
                      const cf_diff_row *row, int side, piece p, cf_style style)
{
    cf_str text =
        cf_diff_text_of(cf_diff_side_of(s, side), cf_diff_unit_of(row, side));
    const cf_diff_mark *marks = NULL;
    size_t n_marks = 0;
    if (row->kind == CF_DIFF_CHANGED && !cf_diff_is_tokens(s)) {
        marks = s->m.diff.marks + row->mark + (side == 1 ? row->n_mark_a : 0);
        n_marks = side == 0 ? row->n_mark_a : row->n_mark_b;
    }
    int used = 0;
    cf_cluster c;
    for (size_t at = p.off; at < p.off + p.len &&
                            cf_cluster_next(&c, text.p, text.n, &at,
                                            (size_t)used, cf_diff_spaces(s));) {
        bool is_on = is_marked(marks, n_marks, c.off);
        used +=
            cf_grid_put_cluster(g, r.x + used, r.y, r.w - used, &c,
                                is_on ? (cf_style)(style | CF_REVERSE) : style);
    }
}

static void draw_side(cf_app *app, cf_grid *g, cf_rect r, const dline *l,
                      int side, bool is_on)
{
    diff_view *s = state(app);
    const cf_diff_row *row = &s->m.diff.rows[l->row];
    piece p = l->side[side];
    if (l->n_folded != 0) {
        cf_grid_putf(g, r.x + cf_diff_gutter(s) - 1, r.y, r.w,
                     is_on ? CF_STYLE_SELECTED : CF_STYLE_DIM, ".. %u %s alike",
                     (unsigned)l->n_folded,
                     cf_diff_is_tokens(s) ? "tokens" : "lines");
    }
    if (!p.is_there) {
        return;
    }
    char sign = row->kind == CF_DIFF_KEPT                         ? ' '
                : row->kind == CF_DIFF_CHANGED && !s->was_unified ? '~'
                : side == 0                                       ? '-'
                                                                  : '+';
    cf_style style = is_on ? CF_STYLE_SELECTED : style_of(row->kind, side);
    cf_style number = is_on ? style : CF_STYLE_DIM;
    uint32_t unit = cf_diff_unit_of(row, side);
    if (cf_diff_is_tokens(s)) {
        cf_grid_putf(g, r.x, r.y, 6, number, "%6u", (unsigned)unit);
        cf_grid_putf(g, r.x + 6, r.y, 1, style, "%c", sign);
        cf_grid_putf(g, r.x + 8, r.y, 8, number, "%8d",
                     (int)cf_diff_side_of(s, side)->v[unit].id);
    } else {
        if (p.is_first) {
            cf_grid_putf(g, r.x, r.y, 5, number, "%5u", (unsigned)unit + 1);
        }
        cf_grid_putf(g, r.x + 5, r.y, 1, style, "%c", sign);
    }
    int w = cf_diff_gutter(s);
    draw_text(s, g, (cf_rect){r.x + w - 1, r.y, r.w - w + 1, 1}, row, side, p,
              style);
}

/* Rows r.y ... of one column; `sides` as in add_row. */
static void draw_column(cf_app *app, cf_grid *g, cf_rect r, unsigned sides)
{
    diff_view *s = state(app);
    for (int y = 0; y < r.h && s->list.top + (size_t)y < s->n; y++) {
        size_t i = s->list.top + (size_t)y;
        bool is_on = i == s->list.cursor && !s->in_panel;
        cf_rect row = {r.x, r.y + y, r.w, 1};
        cf_grid_spot(g, row, CF_DIFF_SPOT_LINE, i);
        if (is_on) {
            cf_grid_fill(g, row, ' ', CF_STYLE_SELECTED);
            g->cursor_x = sides == 2 ? g->cursor_x : r.x;
            g->cursor_y = row.y;
        }
        for (int side = 0; side < 2; side++) {
            if ((sides & (1u << side)) != 0) {
                draw_side(app, g, row, &s->line[i], side, is_on);
            }
        }
    }
}

/* "A  chatml  74 tokens"; a file without its folders. */
static void side_title(const diff_view *s, int i, char *out, size_t n)
{
    const cf_diff_model *m = &s->m;
    const char *name = cf_diff_model_name(m, i);
    bool is_file =
        m->subject != CF_DIFF_MARKS || m->level == CF_DIFF_LEVEL_SOURCE;
    const char *slash = is_file ? strrchr(name, '/') : NULL;
    bool has_tokens = m->has_tokens && m->level != CF_DIFF_LEVEL_SOURCE;
    const char *lora = cf_diff_model_lora_label(m, i);
    snprintf(out, n, "%c  %.120s%s%s  %zu %s", 'A' + i,
             slash != NULL && slash[1] != '\0' ? slash + 1 : name,
             lora[0] != '\0' ? " + " : "", lora,
             has_tokens ? m->tokens[i].n : cf_diff_side_of(s, i)->n,
             has_tokens ? "tokens" : "lines");
}

static const char *const level_names[] = {"text", "tokens", "source"};

static void draw_figures(cf_app *app, cf_grid *g, cf_rect r)
{
    diff_view *s = state(app);
    const cf_diff_model *m = &s->m;
    const cf_diff *d = &m->diff;
    size_t n_hunks, hunk;
    count_hunks(s, &n_hunks, &hunk);
    int x = r.x + 1;
    x += cf_grid_putf(g, x, r.y, r.w - 1, CF_STYLE_TITLE, "%s",
                      level_names[m->level]);
    if (!m->has_diff) {
        return;
    }
    if (cf_diff_is_equal(d)) {
        x += cf_grid_puts(g, x + 2, r.y, r.x + r.w - x - 2, "no difference",
                          CF_STYLE_OK) +
             2;
    } else {
        x += 2 + cf_grid_putf(g, x + 2, r.y, r.x + r.w - x - 2, CF_STYLE_NORMAL,
                              "-%zu +%zu ~%zu  hunk %zu of %zu",
                              d->n_of[CF_DIFF_REMOVED], d->n_of[CF_DIFF_ADDED],
                              d->n_of[CF_DIFF_CHANGED], hunk, n_hunks);
    }
    if (m->level == CF_DIFF_LEVEL_SOURCE) {
        return;
    }
    size_t all = m->has_tokens ? m->tokens[0].n : m->render.prompt[0].text.n;
    x += 2 + cf_grid_putf(g, x + 2, r.y, r.x + r.w - x - 2, CF_STYLE_NORMAL,
                          "common prefix %zu of %zu %s", m->n_same, all,
                          m->has_tokens ? "tokens" : "bytes");
    cf_buf summary = CF_BUF_INIT;
    cf_diff_panel_summary(s, &summary);
    cf_grid_put(g, x + 2, r.y, r.x + r.w - x - 2, cf_buf_str(&summary),
                CF_STYLE_TITLE);
    x += summary.n != 0 ? (int)summary.n + 2 : 0;
    cf_buf_deinit(&summary);
    if (m->subject == CF_DIFF_SAVED) {
        cf_grid_putf(g, x + 2, r.y, r.x + r.w - x - 2, CF_STYLE_DIM,
                     "saved: %s", m->title[0]);
    }
}

/* The hint shown when there is nothing to compare. */
static void draw_why(cf_app *app, cf_grid *g, cf_rect r)
{
    diff_view *s = state(app);
    const cf_diff_model *m = &s->m;
    cf_wrapped lines = {0};
    cf_buf text = CF_BUF_INIT;
    bool has_none = m->name[0] == '\0' && m->subject != CF_DIFF_MARKS;
    if (has_none) {
        cf_buf_addf(&text,
                    "B is %.100s, the template in use.  Choose A, which it is "
                    "compared with, by \":with NAME\" or \":with FILE\".  "
                    "What only A has is red, what only B has is green."
                    "\n\nNames:",
                    cf_lab_template_name(app->lab));
        for (size_t i = 0; cf_template_builtin_name(i) != NULL; i++) {
            cf_buf_addf(&text, " %s", cf_template_builtin_name(i));
        }
        if (s->kept.n != 0) {
            cf_buf_addf(&text, "\n\nFrom the history:%.600s",
                        cf_buf_cstr(&s->kept));
        }
        cf_buf_adds(&text, "\n\nOr mark two conversations in the library (6) "
                           "with A and B, and come back with A.");
    } else {
        cf_buf_adds(&text, m->err.text);
    }
    cf_str all = cf_buf_str(&text);
    if (cf_wrapped_update(&lines, all, r.w - 4, NULL) == CF_OK) {
        for (size_t i = 0; i < lines.n && (int)i + 1 < r.h; i++) {
            cf_grid_put(g, r.x + 2, r.y + 1 + (int)i, r.w - 4,
                        cf_str_make(all.p + lines.v[i].off, lines.v[i].len),
                        has_none ? CF_STYLE_NORMAL : CF_STYLE_WARNING);
        }
    }
    cf_wrapped_deinit(&lines);
    cf_buf_deinit(&text);
}

static void draw_sides(cf_app *app, cf_grid *g, cf_rect r)
{
    diff_view *s = state(app);
    bool is_unified = cf_app_is_narrow(app) || r.w < 100 || s->wants_unified;
    char title[2][200];
    side_title(s, 0, title[0], sizeof title[0]);
    side_title(s, 1, title[1], sizeof title[1]);
    cf_style head = s->in_panel ? CF_STYLE_TITLE : CF_STYLE_FOCUS;
    size_t h = (size_t)(r.h > 2 ? r.h - 2 : 0);
    if (is_unified) {
        char both[410];
        snprintf(both, sizeof both, "%s   %s", title[0], title[1]);
        cf_grid_box(g, r, both, CF_STYLE_BORDER, head);
        cf_diff_lay_out(s, r.w - 2, true);
        cf_list_set(&s->list, s->n, h);
        draw_column(app, g, (cf_rect){r.x + 1, r.y + 1, r.w - 2, (int)h}, 3);
        return;
    }
    int left = r.w / 2;
    int width = left < r.w - left ? left - 2 : r.w - left - 2;
    cf_rect a = {r.x, r.y, left, r.h}, b = {r.x + left, r.y, r.w - left, r.h};
    cf_diff_lay_out(s, width, false);
    cf_list_set(&s->list, s->n, h);
    cf_grid_box(g, a, title[0], CF_STYLE_BORDER, head);
    cf_grid_box(g, b, title[1], CF_STYLE_BORDER, head);
    draw_column(app, g, (cf_rect){a.x + 1, a.y + 1, a.w - 2, (int)h}, 1);
    draw_column(app, g, (cf_rect){b.x + 1, b.y + 1, b.w - 2, (int)h}, 2);
}

/* Lines of the panel: more where it has the focus and there is little room. */
static int panel_height(cf_app *app, int h)
{
    const diff_view *s = state(app);
    if (s->panel == CF_PANEL_NONE) {
        return 0;
    }
    if (app->is_maximized) {
        return s->in_panel ? h : 0;
    }
    return s->in_panel && h < 30 ? h * 3 / 5 : h * 2 / 5;
}

static void diff_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    diff_view *s = state(app);
    refresh(app);
    int panel_h = panel_height(app, r.h - 1);
    cf_rect d = {r.x, r.y + 1, r.w, r.h - 1 - panel_h};
    if (!s->m.has_diff) {
        s->n = 0;
        s->width = 0;
        draw_why(app, g, d);
    } else if (d.h > 2) {
        draw_sides(app, g, d);
    }
    draw_figures(app, g, (cf_rect){r.x, r.y, r.w, 1});
    if (panel_h > 0) {
        cf_diff_panel_draw(app, g, (cf_rect){r.x, d.y + d.h, r.w, panel_h});
    }
}

/* The origin of the line under the cursor. */
static void diff_status(cf_app *app, cf_buf *out)
{
    const diff_view *s = state(app);
    if (s->m.lab == NULL || !s->m.has_diff || s->list.cursor >= s->n) {
        return;
    }
    const dline *l = &s->line[s->list.cursor];
    int side = l->side[0].is_there ? 0 : 1;
    /* Where there was no room to lay them out, the lines are those of an
     * earlier comparison. */
    size_t n = cf_diff_side_of(s, side)->n;
    size_t unit = l->row < s->m.diff.n_rows
                      ? cf_diff_unit_of(&s->m.diff.rows[l->row], side)
                      : n;
    if (unit >= n) {
        return;
    }
    const cf_diff_unit *u = &cf_diff_side_of(s, side)->v[unit];
    bool is_turn = u->source == CF_SPAN_MESSAGE && cf_diff_shows_bench(&s->m);
    size_t number =
        is_turn ? cf_lab_number_of(app->lab, u->index) : (size_t)u->index + 1;
    if (is_turn && number == 0) {
        cf_buf_adds(out, "system prompt  ");
    } else if (u->source == CF_SPAN_MESSAGE || u->source == CF_SPAN_TOOL) {
        cf_buf_addf(out, "%s %zu  ",
                    is_turn ? "turn" : cf_span_source_name(u->source), number);
    }
    if (u->template_line != 0) {
        cf_buf_addf(out, "template line %u of %c  ", (unsigned)u->template_line,
                    'A' + side);
    }
    cf_buf_addf(out, "line %zu of %zu", s->list.cursor + 1, s->n);
    if (u->cause != NULL) {
        cf_buf_adds(out, "  ");
        cf_prompt_cause_text(out, u->cause);
    }
}

/* ---- commands ----------------------------------------------------------- */

static void diff_move(cf_app *app, int move)
{
    diff_view *s = state(app);
    cf_list_move(s->in_panel ? &s->rows[s->panel] : &s->list, move);
}

static void go_hunk(cf_app *app, int by)
{
    diff_view *s = state(app);
    if (s->in_panel && s->panel == CF_PANEL_REPLIES) {
        cf_diff_panel_to_first(s);
        return;
    }
    for (size_t i = s->list.cursor; by > 0 ? i + 1 < s->n : i > 0;) {
        i = by > 0 ? i + 1 : i - 1;
        if (begins_hunk(s, i)) {
            cf_list_go(&s->list, i);
            return;
        }
    }
    cf_app_say(app, CF_STYLE_DIM,
               by > 0 ? "no difference further down"
                      : "no difference further up");
}

/* Another comparison begins at its top. */
static void go_first(cf_app *app)
{
    diff_view *s = state(app);
    s->is_stale = true;
    s->n = 0;
    s->list = (cf_list){.height = s->list.height};
}

/* Sources are the same whatever is rendered, so that level is left. */
static void use_subject(cf_app *app, int subject)
{
    cf_diff_model *m = model(app);
    m->subject = subject;
    forget_answers(state(app));
    if (m->level == CF_DIFF_LEVEL_SOURCE) {
        m->level = CF_DIFF_LEVEL_TEXT;
    }
    go_first(app);
}

static void cmd_with(cf_app *app, const char *arg)
{
    cf_error err;
    if (arg[0] == '\0') {
        cf_edit_set(&app->command_line, cf_str_from("with "));
        app->mode = CF_MODE_COMMAND;
        return;
    }
    if (cf_diff_model_with(model(app), arg, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    forget_answers(state(app));
    cf_survey_deinit(&state(app)->survey);
    show_panel(state(app), CF_PANEL_NONE, false);
    go_first(app);
}

/* A side with adapters of its own: what they change is in the replies. */
static void cmd_with_lora(cf_app *app, const char *arg)
{
    cf_error err;
    if (arg[0] == '\0') {
        cf_edit_set(&app->command_line, cf_str_from("with-lora "));
        app->mode = CF_MODE_COMMAND;
        return;
    }
    if (cf_app_is_busy(app)) {
        cf_app_say_while_busy(app, "waiting");
        return;
    }
    forget_answers(state(app));
    if (cf_diff_model_lora(model(app), arg, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    cf_survey_deinit(&state(app)->survey);
    go_first(app);
    cf_app_say(app, CF_STYLE_OK, "r asks both sides, %% scores stored replies");
}

static void cmd_level(cf_app *app, const char *arg)
{
    cf_diff_model *m = model(app);
    cf_diff_level to = (cf_diff_level)((m->level + 1) % 3);
    bool has_tokens = cf_lab_engine_of(app->lab)->tokenizer != NULL;
    for (int i = 0; i < 3; i++) {
        to = strcmp(arg, level_names[i]) == 0 ? (cf_diff_level)i : to;
    }
    if (to == CF_DIFF_LEVEL_TOKENS && !has_tokens) {
        if (arg[0] != '\0') {
            cf_app_say(app, CF_STYLE_WARNING, "this engine shows no tokens");
            return;
        }
        to = CF_DIFF_LEVEL_SOURCE;
    }
    if (to == CF_DIFF_LEVEL_SOURCE && m->subject == CF_DIFF_MARKS) {
        to = CF_DIFF_LEVEL_TEXT; /* both sides have one template */
    }
    m->level = to;
    go_first(app);
}

static void cmd_swap(cf_app *app)
{
    cf_diff_model *m = model(app);
    m->is_swapped = !m->is_swapped;
    state(app)->is_stale = true;
}

static void cmd_white(cf_app *app)
{
    diff_view *s = state(app);
    s->shows_white = !s->shows_white;
    s->width = 0;
}

static void cmd_unified(cf_app *app)
{
    diff_view *s = state(app);
    s->wants_unified = !s->wants_unified;
    s->width = 0;
    if (cf_app_is_narrow(app)) {
        cf_app_say(app, CF_STYLE_DIM,
                   "one column while there are less than 100 cells");
    }
}

static void cmd_marks(cf_app *app)
{
    if (!has_marks(app)) {
        cf_app_say(app, CF_STYLE_WARNING,
                   "mark two conversations first: 6, then A and B");
        return;
    }
    use_subject(app, CF_DIFF_MARKS);
}

/* ---- what takes longer -------------------------------------------------- */

/* The number of an argument, 0 when there is none. */
static bool read_number(cf_app *app, const char *arg, uint32_t *out)
{
    char *end = NULL;
    unsigned long v = strtoul(arg, &end, 10);
    *out = (uint32_t)v;
    if (arg[0] == '-' || *end != '\0' || v > 1000000) {
        cf_app_say(app, CF_STYLE_WARNING, "'%s' is not a number of tokens",
                   arg);
        return false;
    }
    return true;
}

static void cmd_run(cf_app *app, const char *arg)
{
    diff_view *s = state(app);
    cf_error err;
    uint32_t max_tokens;
    if (!read_number(app, arg, &max_tokens)) {
        return;
    }
    refresh(app); /* an answer belongs to what is compared now */
    if (cf_diff_run_start(&s->run, model(app), max_tokens, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    s->goes_to_first = true;
    s->rows[CF_PANEL_REPLIES] = (cf_list){0};
    show_panel(s, CF_PANEL_REPLIES, true);
}

static void cmd_likelihood(cf_app *app)
{
    diff_view *s = state(app);
    cf_error err;
    refresh(app);
    if (cf_likely_start(&s->likely, model(app), &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    s->rows[CF_PANEL_LIKELY] = (cf_list){0};
    show_panel(s, CF_PANEL_LIKELY, true);
}

/* Over the ticked conversations, or with "all" or without ticks over all. */
static void start_survey(cf_app *app, const char *arg, bool scores)
{
    diff_view *s = state(app);
    cf_error err;
    cf_survey_options o = {.level = model(app)->level, .scores = scores};
    if (strcmp(arg, "all") != 0) {
        o.id = cf_lab_ticked(app->lab, &o.n_id);
    }
    if (cf_survey_start(&s->survey, model(app), &o, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    s->rows[CF_PANEL_SURVEY] = (cf_list){0};
    show_panel(s, CF_PANEL_SURVEY, true);
}

static void cmd_saved(cf_app *app, const char *arg)
{
    start_survey(app, arg, false);
}

static void cmd_likelihood_saved(cf_app *app, const char *arg)
{
    start_survey(app, arg, true);
}

/* Work of this view. */
static bool is_at_work(const diff_view *s)
{
    return s->run.is_on || s->likely.is_on || s->survey.is_on;
}

/* Stops what runs; idle, it leaves panel, then subject. */
static void cmd_stop(cf_app *app)
{
    diff_view *s = state(app);
    if (cf_app_is_busy(app)) {
        cf_lab_stop(app->lab);
        if (!is_at_work(s)) {
            cf_app_say_while_busy(app, "stopping");
        }
    } else if (s->panel != CF_PANEL_NONE) {
        show_panel(s, CF_PANEL_NONE, false);
    } else if (model(app)->subject != CF_DIFF_BENCH) {
        use_subject(app, CF_DIFF_BENCH);
    }
}

static void cmd_pane(cf_app *app)
{
    diff_view *s = state(app);
    s->in_panel = !s->in_panel && s->panel != CF_PANEL_NONE;
}

/* Replies, likelihood, saved ones, none, as far as there is something. */
static void cmd_panel(cf_app *app)
{
    diff_view *s = state(app);
    cf_diff_panel panel = s->panel;
    do {
        panel = (cf_diff_panel)((panel + 1) % CF_PANEL_COUNT);
    } while (panel != CF_PANEL_NONE && !cf_diff_panel_has(s, panel));
    if (panel == CF_PANEL_NONE && s->panel == CF_PANEL_NONE) {
        cf_app_say(app, CF_STYLE_DIM,
                   "nothing to show yet: r runs both, %% scores, S compares "
                   "what is saved");
    }
    show_panel(s, panel, true);
}

static void set_context(cf_app *app, size_t rows)
{
    diff_view *s = state(app);
    s->context = rows;
    s->width = 0;
    if (rows == CF_DIFF_ALL) {
        cf_app_say(app, CF_STYLE_DIM, "all that is alike is shown");
    } else {
        cf_app_say(app, CF_STYLE_DIM, "%zu %s%s around a difference", rows,
                   cf_diff_is_tokens(s) ? "token" : "line",
                   rows == 1 ? "" : "s");
    }
}

/* One step along contexts. */
static void step_context(cf_app *app, int by)
{
    size_t at = 0;
    while (contexts[at] != state(app)->context) {
        at++;
    }
    if (by < 0 ? at > 0 : at + 1 < N_CONTEXTS) {
        at = by < 0 ? at - 1 : at + 1;
    }
    set_context(app, contexts[at]);
}

/* Compares the saved conversation under the cursor, or unfolds. */
static void cmd_open(cf_app *app)
{
    diff_view *s = state(app);
    if (!s->in_panel && s->list.cursor < s->n &&
        s->line[s->list.cursor].n_folded != 0) {
        set_context(app, CF_DIFF_ALL);
        return;
    }
    const cf_list *rows = &s->rows[CF_PANEL_SURVEY];
    if (s->in_panel && s->panel == CF_PANEL_SURVEY &&
        rows->cursor < s->survey.n_row) {
        cf_diff_show_saved(app, s->survey.row[rows->cursor].id);
    }
}

void cf_diff_show_saved(cf_app *app, cf_uuid id)
{
    model(app)->saved = id;
    use_subject(app, CF_DIFF_SAVED);
    state(app)->in_panel = false;
}

void cf_diff_show_template(cf_app *app, const char *name, cf_str source)
{
    cf_error err;
    cf_diff_model *m = model(app);
    if (cf_diff_model_with_text(m, name, source, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    forget_answers(state(app));
    use_subject(app, CF_DIFF_BENCH);
    m->is_swapped = false; /* the one in use is the newer: B */
    m->level = CF_DIFF_LEVEL_SOURCE;
    cf_app_open_view(app, CF_VIEW_DIFF);
}

void cf_diff_show_server(cf_app *app)
{
    cf_error err;
    cf_diff_model *m = model(app);
    if (cf_diff_model_with(m, "server", &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    forget_answers(state(app));
    m->is_swapped = true; /* ours is A, the server's B */
    use_subject(app, CF_DIFF_BENCH);
    cf_app_open_view(app, CF_VIEW_DIFF);
}

static void cmd_caps(cf_app *app)
{
    diff_view *s = state(app);
    if (!cf_diff_panel_has(s, CF_PANEL_CAPS)) {
        cf_app_say(app, CF_STYLE_DIM, "choose the other template first");
        return;
    }
    show_panel(s, s->panel == CF_PANEL_CAPS ? CF_PANEL_NONE : CF_PANEL_CAPS,
               false);
}

void cf_diff_show_marks(cf_app *app)
{
    model(app);
    use_subject(app, CF_DIFF_MARKS);
    state(app)->in_panel = false;
}

void cf_diff_survey(cf_app *app)
{
    if (model(app)->name[0] != '\0') {
        start_survey(app, "", false);
    }
}

static bool fold_has(const diff_view *s, const dline *l, const char *text)
{
    for (uint32_t i = 0; i < l->n_folded; i++) {
        cf_str unit = cf_diff_text_of(cf_diff_side_of(s, 0),
                                      s->m.diff.rows[l->row + i].a);
        if (cf_find_smart(unit, text) != SIZE_MAX) {
            return true;
        }
    }
    return false;
}

static bool line_has(const diff_view *s, size_t line, const char *text)
{
    const dline *l = &s->line[line];
    if (l->n_folded != 0) {
        return fold_has(s, l, text);
    }
    for (int i = 0; i < 2; i++) {
        if (l->side[i].is_there) {
            cf_str unit =
                cf_diff_text_of(cf_diff_side_of(s, i),
                                cf_diff_unit_of(&s->m.diff.rows[l->row], i));
            cf_str shown = cf_str_make(unit.p + l->side[i].off, l->side[i].len);
            if (cf_find_smart(shown, text) != SIZE_MAX) {
                return true;
            }
        }
    }
    return false;
}

/* SIZE_MAX: the panel, but none of its rows. */
static void diff_click(cf_app *app, int what, size_t value)
{
    diff_view *s = state(app);
    s->in_panel = what == CF_DIFF_SPOT_PANEL;
    if (!s->in_panel) {
        cf_list_go(&s->list, value);
    } else if (value != SIZE_MAX) {
        cf_list_go(&s->rows[s->panel], value);
    }
}

/* The pane under the wheel takes the focus. */
static bool diff_wheel(cf_app *app, int what, size_t value, int by)
{
    (void)value;
    (void)by;
    state(app)->in_panel = what == CF_DIFF_SPOT_PANEL;
    return false;
}

static void diff_search(cf_app *app, const char *text, int direction)
{
    diff_view *s = state(app);
    for (size_t step = direction == 0 ? 0 : 1; s->n > 0 && step <= s->n;
         step++) {
        size_t i = direction < 0 ? (s->list.cursor + s->n - step % s->n) % s->n
                                 : (s->list.cursor + step) % s->n;
        if (line_has(s, i, text)) {
            cf_list_go(&s->list, i);
            return;
        }
    }
    cf_app_say(app, CF_STYLE_WARNING, "'%s' is on neither side", text);
}

/* The rows of the difference as a patch would have them, whole. */
static bool diff_text(cf_app *app, cf_buf *out)
{
    static const char signs[] = "-+";
    const cf_diff_view *s = cf_diff_state(app);
    if (!s->m.has_diff) {
        return false;
    }
    cf_buf_addf(out, "--- %s\n+++ %s\n", cf_diff_model_name(&s->m, 0),
                cf_diff_model_name(&s->m, 1));
    for (size_t i = 0; i < s->m.diff.n_rows; i++) {
        const cf_diff_row *r = &s->m.diff.rows[i];
        int last = r->kind == CF_DIFF_KEPT ? 0 : 1;
        for (int side = 0; side <= last; side++) {
            uint32_t unit = cf_diff_unit_of(r, side);
            const cf_diff_side *d = cf_diff_side_of(s, side);
            if (unit == CF_DIFF_NONE) {
                continue;
            }
            cf_str text =
                cf_str_make(d->text.p + d->v[unit].off, d->v[unit].len);
            cf_buf_addc(out, r->kind == CF_DIFF_KEPT ? ' ' : signs[side]);
            cf_buf_add(out, text.p, text.n);
            cf_buf_addc(out, '\n');
        }
    }
    return true;
}

#define HERE CF_IN(CF_VIEW_DIFF)

static const cf_command diff_commands[] = {
    {"with", HERE, "B", "NAME|FILE",
     "compare with this template, as A; 'model' is the one of the start",
     CF_WITH(cmd_with)},
    {"with-lora", HERE, "", "FILE[=SCALE] ...",
     "have A compute with these LoRA adapters; off: none, same: as B",
     CF_WITH(cmd_with_lora)},
    {"level", HERE, "s", "[text|tokens|source]", "what is compared",
     CF_WITH(cmd_level)},
    {"next-hunk", HERE, "]c", "", "next difference", CF_BY(go_hunk, 1)},
    {"previous-hunk", HERE, "[c", "", "difference before", CF_BY(go_hunk, -1)},
    {"swap", HERE, "~", "", "A becomes B and B becomes A", CF_RUN(cmd_swap)},
    {"white", HERE, "gw", "", "show white space", CF_RUN(cmd_white)},
    {"run", HERE, "r", "[TOKENS]",
     "ask both sides, with the same seed, and show where they part",
     CF_WITH(cmd_run)},
    {"likelihood", HERE, "%", "",
     "how likely the stored replies are under each side",
     CF_RUN(cmd_likelihood)},
    {"saved", HERE, "S", "[all]",
     "compare the ticked or all saved conversations, at this level",
     CF_WITH(cmd_saved)},
    {"likelihood-saved", HERE, "g%", "[all]",
     "the same, with the likelihood of their replies",
     CF_WITH(cmd_likelihood_saved)},
    {"panel", HERE, "p", "", "next of replies, likelihood, saved ones, none",
     CF_RUN(cmd_panel)},
    {"capabilities", HERE, "C", "", "what both templates can do, side by side",
     CF_RUN(cmd_caps)},
    {"unified", HERE, "|", "", "one column, or two", CF_RUN(cmd_unified)},
    {"less-context", HERE, "{", "", "less of what is alike",
     CF_BY(step_context, -1)},
    {"more-context", HERE, "}", "", "more of what is alike",
     CF_BY(step_context, 1)},
    {"compare", HERE, "<Enter>", "",
     "compare the saved one under the cursor, or unfold what is alike",
     CF_RUN(cmd_open)},
    {"pane", HERE, "<Tab>", "", "to the panel below and back",
     CF_RUN(cmd_pane)},
    {"marks", HERE, "A", "", "compare the conversations marked A and B",
     CF_RUN(cmd_marks)},
    {"bench", HERE, "gb", "", "compare the conversation on the bench",
     CF_BY(use_subject, CF_DIFF_BENCH)},
    {"stop", HERE, "<Esc>", "",
     "stop; idle: close the panel, back to the bench", CF_RUN(cmd_stop)},
    CF_MOVE_ROWS(diff_move, HERE),
    {0},
};

const cf_view_ops cf_view_diff = {
    .name = "diff",
    .title = "Diff",
    .commands = diff_commands,
    .footer =
        "with level next-hunk less-context run likelihood saved swap pane "
        "white unified more-context",
    .open = diff_open,
    .close = diff_close,
    .enter = diff_enter,
    .draw = diff_draw,
    .search = diff_search,
    .click = diff_click,
    .wheel = diff_wheel,
    .text = diff_text,
    .status = diff_status,
};
