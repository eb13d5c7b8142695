/*
 * diff_draw.c - draws the Diff view: the figures of the comparison, the two
 * sides with their differences marked, and the panel below them.
 */
#include <stdio.h>
#include <string.h>

#include "templates/builtin.h"
#include "tui/grid/wrap.h"
#include "tui/lab/talk/lab_template.h"
#include "tui/view/diff/view_diff.h"

typedef cf_diff_piece piece;
typedef cf_diff_line dline;
typedef cf_diff_view diff_view;

const char *const cf_diff_level_names[] = {"text", "tokens", "source"};

static cf_style style_of(cf_diff_kind kind, int side)
{
    return kind == CF_DIFF_KEPT ? CF_STYLE_NORMAL : side == 0 ? CF_STYLE_REMOVED : CF_STYLE_ADDED;
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

static void draw_text(const diff_view *s, cf_grid *g, cf_rect r, const cf_diff_row *row, int side,
                      piece p, cf_style style)
{
    cf_str text = cf_diff_text_of(cf_diff_side_of(s, side), cf_diff_unit_of(row, side));
    const cf_diff_mark *marks = NULL;
    size_t n_marks = 0;
    if (row->kind == CF_DIFF_CHANGED && !cf_diff_is_tokens(s)) {
        marks = s->m.diff.marks + row->mark + (side == 1 ? row->n_mark_a : 0);
        n_marks = side == 0 ? row->n_mark_a : row->n_mark_b;
    }
    int used = 0;
    cf_cluster c;
    for (size_t at = p.off;
         at < p.off + p.len &&
         cf_cluster_next(&c, text.p, text.n, &at, (size_t)used, cf_diff_spaces(s));) {
        bool is_on = is_marked(marks, n_marks, c.off);
        used += cf_grid_put_cluster(g, r.x + used, r.y, r.w - used, &c,
                                    is_on ? (cf_style)(style | CF_REVERSE) : style);
    }
}

static void draw_side(cf_app *app, cf_grid *g, cf_rect r, const dline *l, int side, bool is_on)
{
    diff_view *s = cf_diff_state(app);
    const cf_diff_row *row = &s->m.diff.rows[l->row];
    piece p = l->side[side];
    if (l->n_folded != 0) {
        cf_grid_putf(g, r.x + cf_diff_gutter(s) - 1, r.y, r.w,
                     is_on ? CF_STYLE_SELECTED : CF_STYLE_DIM, ".. %u %s alike",
                     (unsigned)l->n_folded, cf_diff_is_tokens(s) ? "tokens" : "lines");
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
        cf_grid_putf(g, r.x + 8, r.y, 8, number, "%8d", (int)cf_diff_side_of(s, side)->v[unit].id);
    } else {
        if (p.is_first) {
            cf_grid_putf(g, r.x, r.y, 5, number, "%5u", (unsigned)unit + 1);
        }
        cf_grid_putf(g, r.x + 5, r.y, 1, style, "%c", sign);
    }
    int w = cf_diff_gutter(s);
    draw_text(s, g, (cf_rect){r.x + w - 1, r.y, r.w - w + 1, 1}, row, side, p, style);
}

/* Rows r.y ... of one column; `sides`: a bit for each. */
static void draw_column(cf_app *app, cf_grid *g, cf_rect r, unsigned sides)
{
    diff_view *s = cf_diff_state(app);
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
    bool is_file = m->subject != CF_DIFF_MARKS || m->level == CF_DIFF_LEVEL_SOURCE;
    const char *slash = is_file ? strrchr(name, '/') : NULL;
    bool has_tokens = m->has_tokens && m->level != CF_DIFF_LEVEL_SOURCE;
    const char *lora = cf_diff_model_lora_label(m, i);
    snprintf(out, n, "%c  %.120s%s%s  %zu %s", 'A' + i,
             slash != NULL && slash[1] != '\0' ? slash + 1 : name, lora[0] != '\0' ? " + " : "",
             lora, has_tokens ? m->tokens[i].n : cf_diff_side_of(s, i)->n,
             has_tokens ? "tokens" : "lines");
}

static void count_hunks(const diff_view *s, size_t *n, size_t *at)
{
    *n = *at = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (cf_diff_begins_hunk(s, i)) {
            (*n)++;
            *at = i <= s->list.cursor ? *n : *at;
        }
    }
}

static void draw_figures(cf_app *app, cf_grid *g, cf_rect r)
{
    diff_view *s = cf_diff_state(app);
    const cf_diff_model *m = &s->m;
    const cf_diff *d = &m->diff;
    size_t n_hunks, hunk;
    count_hunks(s, &n_hunks, &hunk);
    int x = r.x + 1;
    x += cf_grid_putf(g, x, r.y, r.w - 1, CF_STYLE_TITLE, "%s", cf_diff_level_names[m->level]);
    if (!m->has_diff) {
        return;
    }
    if (cf_diff_is_equal(d)) {
        x += cf_grid_puts(g, x + 2, r.y, r.x + r.w - x - 2, "no difference", CF_STYLE_OK) + 2;
    } else {
        x += 2 + cf_grid_putf(g, x + 2, r.y, r.x + r.w - x - 2, CF_STYLE_NORMAL,
                              "-%zu +%zu ~%zu  hunk %zu of %zu", d->n_of[CF_DIFF_REMOVED],
                              d->n_of[CF_DIFF_ADDED], d->n_of[CF_DIFF_CHANGED], hunk, n_hunks);
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
    cf_grid_put(g, x + 2, r.y, r.x + r.w - x - 2, cf_buf_str(&summary), CF_STYLE_TITLE);
    x += summary.n != 0 ? (int)summary.n + 2 : 0;
    cf_buf_deinit(&summary);
    if (m->subject == CF_DIFF_SAVED) {
        cf_grid_putf(g, x + 2, r.y, r.x + r.w - x - 2, CF_STYLE_DIM, "saved: %s", m->title[0]);
    }
}

/* The hint shown when there is nothing to compare. */
static void draw_why(cf_app *app, cf_grid *g, cf_rect r)
{
    diff_view *s = cf_diff_state(app);
    const cf_diff_model *m = &s->m;
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
            cf_buf_addf(&text, "\n\nFrom the history:%.600s", cf_buf_cstr(&s->kept));
        }
        cf_buf_adds(&text, "\n\nOr mark two conversations in the library (6) "
                           "with A and B, and come back with A.");
    } else {
        cf_buf_adds(&text, m->err.text);
    }
    cf_rect inner = {r.x + 2, r.y + 1, r.w - 4, r.h - 2};
    (void)cf_grid_put_wrapped(g, inner, 0, cf_buf_str(&text),
                              has_none ? CF_STYLE_NORMAL : CF_STYLE_WARNING);
    cf_buf_deinit(&text);
}

/* Once the lines and the room for them are known. */
static void set_list(diff_view *s, size_t h)
{
    cf_list_set(&s->list, s->n, h);
    for (size_t i = 0; s->wants_hunk && i < s->n; i++) {
        if (cf_diff_begins_hunk(s, i)) {
            cf_diff_go_line(s, i);
            s->wants_hunk = false;
        }
    }
    s->wants_hunk = false;
}

static void draw_sides(cf_app *app, cf_grid *g, cf_rect r)
{
    diff_view *s = cf_diff_state(app);
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
        set_list(s, h);
        draw_column(app, g, (cf_rect){r.x + 1, r.y + 1, r.w - 2, (int)h}, 3);
        return;
    }
    int left = r.w / 2;
    int width = left < r.w - left ? left - 2 : r.w - left - 2;
    cf_rect a = {r.x, r.y, left, r.h}, b = {r.x + left, r.y, r.w - left, r.h};
    cf_diff_lay_out(s, width, false);
    set_list(s, h);
    cf_grid_box(g, a, title[0], CF_STYLE_BORDER, head);
    cf_grid_box(g, b, title[1], CF_STYLE_BORDER, head);
    draw_column(app, g, (cf_rect){a.x + 1, a.y + 1, a.w - 2, (int)h}, 1);
    draw_column(app, g, (cf_rect){b.x + 1, b.y + 1, b.w - 2, (int)h}, 2);
}

/* Lines of the panel: more where it has the focus and there is little room. */
static int panel_height(cf_app *app, int h)
{
    const diff_view *s = cf_diff_state(app);
    if (s->panel == CF_PANEL_NONE) {
        return 0;
    }
    if (app->is_maximized) {
        return s->in_panel ? h : 0;
    }
    return s->in_panel && h < 30 ? h * 3 / 5 : h * 2 / 5;
}

void cf_diff_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    diff_view *s = cf_diff_state(app);
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
