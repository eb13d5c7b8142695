/*
 * view_diff.c - two prompts side by side (or, on a narrow screen, one below
 * the other): text, tokens, or the sources of the templates.
 *
 * Rows of the difference are broken into screen lines once for a width; a
 * frame draws the lines in sight.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "templates/builtin.h"
#include "tui/app.h"
#include "tui/bench.h"
#include "tui/diff_model.h"
#include "tui/view/moves.h"
#include "tui/widget/list.h"
#include "tui/widget/pager.h"

enum {
    TEXT_GUTTER = 8,   /* five digits, sign, space; one cell of room */
    TOKEN_GUTTER = 19, /* six digits, sign, the id, two blanks */
    LINES_MAX = 1 << 23
};

/* What one line of the screen shows of a side. */
typedef struct piece {
    uint32_t off, len; /* of the unit's text */
    bool is_there;
    bool is_first; /* shows number and sign */
} piece;

typedef struct dline {
    uint32_t row; /* of the difference */
    piece side[2];
} dline;

typedef struct diff_view {
    cf_diff_model m;
    bool is_stale; /* the model must be made anew */
    bool shows_white;
    dline *line; /* [n], owned */
    size_t n, cap;
    int width; /* what they were broken for; 0: not yet */
    bool was_unified;
    cf_list list; /* of lines */
    cf_list hits; /* of saved conversations that differ */
    bool in_hits; /* they have the focus */
} diff_view;

static diff_view *state(cf_app *app)
{
    return app->state[CF_VIEW_DIFF];
}

static cf_status diff_open(cf_app *app, cf_error *err)
{
    diff_view *s = cf_calloc(1, sizeof *s);
    if (s == NULL) {
        return cf_fail(err, CF_ENOMEM, "out of memory");
    }
    s->is_stale = true;
    app->state[CF_VIEW_DIFF] = s;
    return CF_OK;
}

static void diff_close(cf_app *app)
{
    diff_view *s = state(app);
    if (s != NULL) {
        if (s->m.bench != NULL) {
            cf_diff_model_deinit(&s->m);
        }
        cf_free(s->line);
        cf_free(s);
        app->state[CF_VIEW_DIFF] = NULL;
    }
}

/* The bench is there only after the view was opened. */
static cf_diff_model *model(cf_app *app)
{
    diff_view *s = state(app);
    if (s->m.bench == NULL) {
        cf_diff_model_init(&s->m, app->bench, app->store);
    }
    return &s->m;
}

static bool has_marks(const cf_app *app)
{
    return !cf_uuid_is_nil(cf_bench_marked(app->bench, 0)) &&
           !cf_uuid_is_nil(cf_bench_marked(app->bench, 1));
}

static void use_subject(cf_app *app, cf_diff_subject subject);

static void diff_enter(cf_app *app)
{
    cf_diff_model *m = model(app);
    if (m->name[0] == '\0' && m->subject == CF_DIFF_BENCH && has_marks(app)) {
        use_subject(app, CF_DIFF_MARKS);
    }
    state(app)->is_stale = true;
}

static void refresh(cf_app *app)
{
    diff_view *s = state(app);
    cf_diff_model *m = model(app);
    if (s->is_stale || (m->generation != cf_bench_generation(app->bench) &&
                        !cf_bench_is_busy(app->bench))) {
        cf_diff_model_update(m);
        s->is_stale = false;
        s->width = 0;
    }
}

/* ---- lines --------------------------------------------------------------- */

static bool is_tokens(const diff_view *s)
{
    return s->m.level == CF_DIFF_LEVEL_TOKENS;
}

static int gutter(const diff_view *s)
{
    return is_tokens(s) ? TOKEN_GUTTER : TEXT_GUTTER;
}

static cf_space_mode spaces(const diff_view *s)
{
    return s->shows_white || is_tokens(s) ? CF_SPACE_VISIBLE : CF_SPACE_PLAIN;
}

static const cf_diff_side *side_of(const diff_view *s, int i)
{
    return i == 0 ? &s->m.diff.a : &s->m.diff.b;
}

static uint32_t unit_of(const cf_diff_row *r, int i)
{
    return i == 0 ? r->a : r->b;
}

/* The end of what fits into `width` cells from `at` on. */
static size_t fit(const diff_view *s, cf_str text, size_t at, int width)
{
    size_t column = 0, end = at;
    cf_cluster c;
    for (size_t next = at;
         cf_cluster_next(&c, text.p, text.n, &next, column, spaces(s));) {
        if (column + c.width > (size_t)width && end > at) {
            break;
        }
        column += c.width;
        end = next;
    }
    return end;
}

static dline *add_line(diff_view *s)
{
    if (s->n == s->cap) {
        size_t cap = s->cap != 0 ? s->cap * 2 : 256;
        dline *v =
            cap <= LINES_MAX ? cf_realloc(s->line, cap, sizeof *v) : NULL;
        if (v == NULL) {
            return NULL;
        }
        s->line = v;
        s->cap = cap;
    }
    dline *l = &s->line[s->n++];
    *l = (dline){0};
    return l;
}

/* The lines of a row; bit i of `sides` means that side i is shown. */
static bool add_row(diff_view *s, size_t row, unsigned sides, int width)
{
    const cf_diff_row *r = &s->m.diff.rows[row];
    size_t at[2] = {0, 0};
    bool is_first = true;
    for (;;) {
        dline *l = NULL;
        for (int i = 0; i < 2; i++) {
            uint32_t unit = unit_of(r, i);
            if ((sides & (1u << i)) == 0 || unit == CF_DIFF_NONE) {
                continue;
            }
            cf_str text = cf_diff_text_of(side_of(s, i), unit);
            if (!is_first && at[i] >= text.n) {
                continue;
            }
            if (l == NULL) {
                l = add_line(s);
                if (l == NULL) {
                    return false;
                }
                l->row = (uint32_t)row;
            }
            size_t end = fit(s, text, at[i], width);
            l->side[i] = (piece){(uint32_t)at[i], (uint32_t)(end - at[i]), true,
                                 is_first};
            at[i] = end > at[i] ? end : text.n;
        }
        if (l == NULL) {
            return true;
        }
        is_first = false;
    }
}

/* In one column a stretch of changes shows all of A, then all of B. */
static bool add_unified(diff_view *s, int width)
{
    const cf_diff *d = &s->m.diff;
    for (size_t i = 0; i < d->n_rows;) {
        if (d->rows[i].kind == CF_DIFF_KEPT) {
            if (!add_row(s, i++, 1, width)) {
                return false;
            }
            continue;
        }
        size_t end = i;
        while (end < d->n_rows && d->rows[end].kind != CF_DIFF_KEPT) {
            end++;
        }
        for (unsigned side = 1; side <= 2; side++) {
            for (size_t k = i; k < end; k++) {
                if (!add_row(s, k, side, width)) {
                    return false;
                }
            }
        }
        i = end;
    }
    return true;
}

/* Breaks the rows into lines for columns of `width` cells. */
static void lay_out(diff_view *s, int width, bool is_unified)
{
    if (s->width == width && s->was_unified == is_unified) {
        return;
    }
    uint32_t row = s->list.cursor < s->n ? s->line[s->list.cursor].row : 0;
    bool is_complete = true;
    s->n = 0;
    s->width = width;
    s->was_unified = is_unified;
    if (is_unified) {
        is_complete = add_unified(s, width - gutter(s));
    } else {
        for (size_t i = 0; is_complete && i < s->m.diff.n_rows; i++) {
            is_complete = add_row(s, i, 3, width - gutter(s));
        }
    }
    size_t to = 0;
    while (to + 1 < s->n && s->line[to].row < row) {
        to++;
    }
    s->list.n = s->n;
    cf_list_go(&s->list, to);
    if (!is_complete) {
        cf_fail(&s->m.err, CF_ELIMIT, "too long to show all of it");
    }
}

/* ---- hunks --------------------------------------------------------------- */

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

/* ---- drawing ------------------------------------------------------------- */

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
    cf_str text = cf_diff_text_of(side_of(s, side), unit_of(row, side));
    const cf_diff_mark *marks = NULL;
    size_t n_marks = 0;
    if (row->kind == CF_DIFF_CHANGED && !is_tokens(s)) {
        marks = s->m.diff.marks + row->mark + (side == 1 ? row->n_mark_a : 0);
        n_marks = side == 0 ? row->n_mark_a : row->n_mark_b;
    }
    int used = 0;
    cf_cluster c;
    for (size_t at = p.off;
         at < p.off + p.len &&
         cf_cluster_next(&c, text.p, text.n, &at, (size_t)used, spaces(s));) {
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
    if (!p.is_there) {
        return;
    }
    char sign = row->kind == CF_DIFF_KEPT                         ? ' '
                : row->kind == CF_DIFF_CHANGED && !s->was_unified ? '~'
                : side == 0                                       ? '-'
                                                                  : '+';
    cf_style style = is_on ? CF_STYLE_SELECTED : style_of(row->kind, side);
    cf_style number = is_on ? style : CF_STYLE_DIM;
    uint32_t unit = unit_of(row, side);
    if (is_tokens(s)) {
        cf_grid_putf(g, r.x, r.y, 6, number, "%6u", (unsigned)unit);
        cf_grid_putf(g, r.x + 6, r.y, 1, style, "%c", sign);
        cf_grid_putf(g, r.x + 8, r.y, 8, number, "%8d",
                     (int)side_of(s, side)->v[unit].id);
    } else {
        if (p.is_first) {
            cf_grid_putf(g, r.x, r.y, 5, number, "%5u", (unsigned)unit + 1);
        }
        cf_grid_putf(g, r.x + 5, r.y, 1, style, "%c", sign);
    }
    int w = gutter(s);
    draw_text(s, g, (cf_rect){r.x + w - 1, r.y, r.w - w + 1, 1}, row, side, p,
              style);
}

/* Rows r.y ... of one column; `sides` as in add_row. */
static void draw_column(cf_app *app, cf_grid *g, cf_rect r, unsigned sides)
{
    diff_view *s = state(app);
    for (int y = 0; y < r.h && s->list.top + (size_t)y < s->n; y++) {
        size_t i = s->list.top + (size_t)y;
        bool is_on = i == s->list.cursor && !s->in_hits;
        cf_rect row = {r.x, r.y + y, r.w, 1};
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

static void side_title(const diff_view *s, int i, char *out, size_t n)
{
    const cf_diff_model *m = &s->m;
    size_t n_units = side_of(s, i)->n;
    if (m->has_tokens && m->level != CF_DIFF_LEVEL_SOURCE) {
        snprintf(out, n, "%c  %.120s  %zu tokens", 'A' + i,
                 cf_diff_model_name(m, i), m->tokens[i].n);
    } else {
        snprintf(out, n, "%c  %.120s  %zu lines", 'A' + i,
                 cf_diff_model_name(m, i), n_units);
    }
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
    cf_grid_putf(g, x + 2, r.y, r.x + r.w - x - 2, CF_STYLE_NORMAL,
                 "common prefix %zu of %zu %s%s", m->n_same, all,
                 m->has_tokens ? "tokens" : "bytes",
                 m->subject == CF_DIFF_BENCH ? "" : "  (saved)");
}

static void draw_hits(cf_app *app, cf_grid *g, cf_rect r)
{
    diff_view *s = state(app);
    const cf_diff_all *a = &s->m.all;
    char title[120];
    snprintf(title, sizeof title,
             a->is_done && a->at == a->n
                 ? "%zu of %zu saved conversations differ"
             : a->is_done ? "%zu of %zu saved conversations differ (stopped)"
                          : "%zu differ; compared %zu of %zu",
             a->n_differ, a->at, a->n);
    cf_grid_box(g, r, title, CF_STYLE_BORDER,
                s->in_hits ? CF_STYLE_FOCUS : CF_STYLE_TITLE);
    cf_rect in = {r.x + 1, r.y + 1, r.w - 2, r.h - 2};
    cf_list_set(&s->hits, a->n_hit, (size_t)(in.h > 0 ? in.h : 0));
    for (int y = 0; y < in.h && s->hits.top + (size_t)y < a->n_hit; y++) {
        size_t i = s->hits.top + (size_t)y;
        const cf_diff_hit *h = &a->hit[i];
        bool is_on = i == s->hits.cursor && s->in_hits;
        cf_style style = is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
        cf_rect row = {in.x, in.y + y, in.w, 1};
        char id[CF_UUID_TEXT + 1];
        cf_uuid_format(id, h->id);
        cf_grid_fill(g, row, ' ', style);
        cf_grid_puts(g, row.x + 1, row.y, 8, id + CF_UUID_TEXT - 8, style);
        int x = row.x + 11;
        if (h->failed) {
            cf_grid_puts(g, x, row.y, row.x + row.w - x, h->why,
                         is_on ? style : CF_STYLE_ERROR);
        } else {
            cf_grid_putf(g, x, row.y, 20, style, "-%zu +%zu ~%zu", h->n_removed,
                         h->n_added, h->n_changed);
            cf_grid_puts(g, x + 21, row.y, row.x + row.w - x - 21, h->title,
                         style);
        }
        if (is_on) {
            g->cursor_x = row.x;
            g->cursor_y = row.y;
        }
    }
}

/* What to do when there is nothing to show. */
static void draw_why(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_diff_model *m = &state(app)->m;
    cf_wrapped lines = {0};
    cf_buf text = CF_BUF_INIT;
    bool has_none = m->name[0] == '\0' && m->subject != CF_DIFF_MARKS;
    if (has_none) {
        cf_buf_addf(&text,
                    "A is %.100s, the template in use.  Choose B with "
                    "\":with NAME\" or \":with FILE\".\n\nNames:",
                    cf_bench_template_name(app->bench));
        for (size_t i = 0; cf_template_builtin_name(i) != NULL; i++) {
            cf_buf_addf(&text, " %s", cf_template_builtin_name(i));
        }
        cf_buf_adds(&text, "\n\nOr mark two conversations in the library (6) "
                           "with A and B, and come back with m.");
    } else {
        cf_buf_adds(&text, m->err.text);
    }
    cf_str all = cf_str_make(cf_buf_cstr(&text), text.n);
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
    bool is_unified = cf_app_is_narrow(app) || r.w < 100;
    char title[2][200];
    side_title(s, 0, title[0], sizeof title[0]);
    side_title(s, 1, title[1], sizeof title[1]);
    cf_style head = s->in_hits ? CF_STYLE_TITLE : CF_STYLE_FOCUS;
    size_t h = (size_t)(r.h > 2 ? r.h - 2 : 0);
    if (is_unified) {
        char both[410];
        snprintf(both, sizeof both, "%.*s   %s", r.w / 2 - 6, title[0],
                 title[1]);
        cf_grid_box(g, r, both, CF_STYLE_BORDER, head);
        lay_out(s, r.w - 2, true);
        cf_list_set(&s->list, s->n, h);
        draw_column(app, g, (cf_rect){r.x + 1, r.y + 1, r.w - 2, (int)h}, 3);
        return;
    }
    int left = r.w / 2;
    int width = left < r.w - left ? left - 2 : r.w - left - 2;
    cf_rect a = {r.x, r.y, left, r.h}, b = {r.x + left, r.y, r.w - left, r.h};
    lay_out(s, width, false);
    cf_list_set(&s->list, s->n, h);
    cf_grid_box(g, a, title[0], CF_STYLE_BORDER, head);
    cf_grid_box(g, b, title[1], CF_STYLE_BORDER, head);
    draw_column(app, g, (cf_rect){a.x + 1, a.y + 1, a.w - 2, (int)h}, 1);
    draw_column(app, g, (cf_rect){b.x + 1, b.y + 1, b.w - 2, (int)h}, 2);
}

static void diff_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    diff_view *s = state(app);
    refresh(app);
    int hits_h = s->m.all.is_on && !app->is_maximized ? r.h / 3 : 0;
    cf_rect d = {r.x, r.y + 1, r.w, r.h - 1 - hits_h};
    if (!s->m.has_diff) {
        s->n = 0;
        s->width = 0;
        draw_why(app, g, d);
    } else {
        draw_sides(app, g, d);
    }
    draw_figures(app, g, (cf_rect){r.x, r.y, r.w, 1});
    if (hits_h > 0) {
        draw_hits(app, g, (cf_rect){r.x, d.y + d.h, r.w, hits_h});
    }
}

/* What the line under the cursor shows, and who wrote it. */
static void diff_status(cf_app *app, cf_buf *out)
{
    const diff_view *s = state(app);
    if (s->m.bench == NULL || !s->m.has_diff || s->list.cursor >= s->n) {
        return;
    }
    const dline *l = &s->line[s->list.cursor];
    int side = l->side[0].is_there ? 0 : 1;
    const cf_diff_unit *u =
        &side_of(s, side)->v[unit_of(&s->m.diff.rows[l->row], side)];
    if (u->source == CF_SPAN_MESSAGE || u->source == CF_SPAN_TOOL) {
        cf_buf_addf(out, "%s %u  ", cf_span_source_name(u->source),
                    (unsigned)u->index);
    }
    if (u->template_line != 0) {
        cf_buf_addf(out, "template line %u of %c  ", (unsigned)u->template_line,
                    'A' + side);
    }
    cf_buf_addf(out, "line %zu of %zu", s->list.cursor + 1, s->n);
}

/* ---- commands ------------------------------------------------------------ */

static void diff_move(cf_app *app, cf_move move)
{
    diff_view *s = state(app);
    cf_list_move(s->in_hits ? &s->hits : &s->list, move);
}

CF_MOVE_COMMANDS(diff, diff_move)

static void go_hunk(cf_app *app, int by)
{
    diff_view *s = state(app);
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

static void cmd_next_hunk(cf_app *app, const char *arg)
{
    (void)arg;
    go_hunk(app, 1);
}

static void cmd_previous_hunk(cf_app *app, const char *arg)
{
    (void)arg;
    go_hunk(app, -1);
}

/* Another comparison begins at its top. */
static void go_first(cf_app *app)
{
    diff_view *s = state(app);
    s->is_stale = true;
    s->in_hits = false;
    s->n = 0;
    s->list = (cf_list){.height = s->list.height};
}

/* Sources are the same whatever is rendered, so that level is left. */
static void use_subject(cf_app *app, cf_diff_subject subject)
{
    cf_diff_model *m = model(app);
    m->subject = subject;
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
    go_first(app);
}

static void cmd_level(cf_app *app, const char *arg)
{
    cf_diff_model *m = model(app);
    cf_diff_level to = (cf_diff_level)((m->level + 1) % 3);
    bool has_tokens = cf_bench_engine_of(app->bench)->tokenizer != NULL;
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

static void cmd_swap(cf_app *app, const char *arg)
{
    (void)arg;
    cf_diff_model *m = model(app);
    m->is_swapped = !m->is_swapped;
    for (size_t i = 0; i < m->all.n_hit; i++) {
        cf_diff_hit *h = &m->all.hit[i];
        size_t n = h->n_added;
        h->n_added = h->n_removed;
        h->n_removed = n;
        if (h->failed && h->why[0] != '\0') {
            h->why[0] = h->why[0] == 'A' ? 'B' : 'A';
        }
    }
    state(app)->is_stale = true;
}

static void cmd_white(cf_app *app, const char *arg)
{
    (void)arg;
    diff_view *s = state(app);
    s->shows_white = !s->shows_white;
    s->width = 0;
}

static void cmd_marks(cf_app *app, const char *arg)
{
    (void)arg;
    if (!has_marks(app)) {
        cf_app_say(app, CF_STYLE_WARNING,
                   "mark two conversations first: 6, then A and B");
        return;
    }
    use_subject(app, CF_DIFF_MARKS);
}

static void cmd_bench(cf_app *app, const char *arg)
{
    (void)arg;
    use_subject(app, CF_DIFF_BENCH);
}

static void cmd_all(cf_app *app, const char *arg)
{
    (void)arg;
    cf_error err;
    if (cf_diff_model_all(model(app), &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    state(app)->hits = (cf_list){0};
    state(app)->in_hits = true;
}

static bool diff_step(cf_app *app)
{
    diff_view *s = state(app);
    if (s->m.bench == NULL || !s->m.all.is_on || s->m.all.is_done) {
        return false;
    }
    app->is_dirty = true;
    return cf_diff_model_step(&s->m);
}

static void cmd_stop(cf_app *app, const char *arg)
{
    (void)arg;
    cf_diff_model *m = model(app);
    if (m->all.is_on && !m->all.is_done) {
        cf_diff_model_stop(m);
    } else if (m->all.is_on) {
        m->all.is_on = false;
        state(app)->in_hits = false;
    } else if (m->subject != CF_DIFF_BENCH) {
        cmd_bench(app, "");
    }
}

static void cmd_pane(cf_app *app, const char *arg)
{
    (void)arg;
    diff_view *s = state(app);
    s->in_hits = !s->in_hits && s->m.all.is_on;
}

/* Compares the saved conversation under the cursor. */
static void cmd_open(cf_app *app, const char *arg)
{
    (void)arg;
    diff_view *s = state(app);
    cf_diff_model *m = model(app);
    if (s->in_hits && s->hits.cursor < m->all.n_hit) {
        m->saved = m->all.hit[s->hits.cursor].id;
        use_subject(app, CF_DIFF_SAVED);
    }
}

static bool line_has(const diff_view *s, size_t line, const char *text)
{
    const dline *l = &s->line[line];
    for (int i = 0; i < 2; i++) {
        if (l->side[i].is_there) {
            cf_str unit = cf_diff_text_of(side_of(s, i),
                                          unit_of(&s->m.diff.rows[l->row], i));
            cf_str shown = cf_str_make(unit.p + l->side[i].off, l->side[i].len);
            if (cf_find_smart(shown, text) != SIZE_MAX) {
                return true;
            }
        }
    }
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

#define HERE CF_IN(CF_VIEW_DIFF)

static const cf_command diff_commands[] = {
    {"with", HERE, "b", "NAME|FILE",
     "compare with this template; 'model' is the one of the start", cmd_with},
    {"level", HERE, "t", "[text|tokens|source]", "what is compared", cmd_level},
    {"next-hunk", HERE, "]c", "", "next difference", cmd_next_hunk},
    {"previous-hunk", HERE, "[c", "", "difference before", cmd_previous_hunk},
    {"swap", HERE, "=", "", "A becomes B and B becomes A", cmd_swap},
    {"white", HERE, "w", "", "show white space", cmd_white},
    {"saved", HERE, "S", "", "compare all saved conversations", cmd_all},
    {"compare", HERE, "<Enter>", "", "show the one under the cursor", cmd_open},
    {"pane", HERE, "<Tab>", "", "to the list of saved ones and back", cmd_pane},
    {"marks", HERE, "m", "", "compare the conversations marked A and B",
     cmd_marks},
    {"bench", HERE, "c", "", "compare the conversation on the bench",
     cmd_bench},
    {"stop", HERE, "<Esc>", "", "stop; then close the list", cmd_stop},
    CF_MOVE_ROWS(diff, HERE),
    {NULL, 0, NULL, NULL, NULL, NULL},
};

const cf_view_ops cf_view_diff = {
    .name = "diff",
    .title = "Diff",
    .commands = diff_commands,
    .footer = "with level next-hunk previous-hunk swap white saved help",
    .open = diff_open,
    .close = diff_close,
    .enter = diff_enter,
    .draw = diff_draw,
    .search = diff_search,
    .status = diff_status,
    .step = diff_step,
};
