/*
 * diff_lines.c - the rows of a difference broken into the lines of the screen:
 * in two columns or one, with the stretches that are alike folded.
 */
#include <stdio.h>

#include "core/base/alloc.h"
#include "tui/view/diff/view_diff.h"

enum {
    TEXT_GUTTER = 8,   /* five digits, sign, space; one cell of room */
    TOKEN_GUTTER = 19, /* six digits, sign, the id, two blanks */
    FOLD_MIN = 2,      /* rows; a single one is shown */
    LINES_MAX = 1 << 23
};

typedef cf_diff_view diff_view;
typedef cf_diff_line dline;
typedef cf_diff_piece piece;

bool cf_diff_is_tokens(const diff_view *s)
{
    return s->m.level == CF_DIFF_LEVEL_TOKENS;
}

int cf_diff_gutter(const diff_view *s)
{
    return cf_diff_is_tokens(s) ? TOKEN_GUTTER : TEXT_GUTTER;
}

cf_space_mode cf_diff_spaces(const diff_view *s)
{
    return s->shows_white || cf_diff_is_tokens(s) ? CF_SPACE_VISIBLE : CF_SPACE_PLAIN;
}

const cf_diff_side *cf_diff_side_of(const diff_view *s, int i)
{
    return i == 0 ? &s->m.diff.a : &s->m.diff.b;
}

uint32_t cf_diff_unit_of(const cf_diff_row *r, int i)
{
    return i == 0 ? r->a : r->b;
}

/* The end of what fits into `width` cells from `at` on. */
static size_t fit(const diff_view *s, cf_str text, size_t at, int width)
{
    size_t column = 0, end = at;
    cf_cluster c;
    for (size_t next = at; cf_cluster_next(&c, text.p, text.n, &next, column, cf_diff_spaces(s));) {
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
        dline *v = cap <= LINES_MAX ? cf_realloc(s->line, cap, sizeof *v) : NULL;
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
            uint32_t unit = cf_diff_unit_of(r, i);
            if ((sides & (1u << i)) == 0 || unit == CF_DIFF_NONE) {
                continue;
            }
            cf_str text = cf_diff_text_of(cf_diff_side_of(s, i), unit);
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
            l->side[i] = (piece){(uint32_t)at[i], (uint32_t)(end - at[i]), true, is_first};
            at[i] = end > at[i] ? end : text.n;
        }
        if (l == NULL) {
            return true;
        }
        is_first = false;
    }
}

/* How many of the rows [i, end), which are alike, are shown before and after
 * what is folded; false where all are. */
static bool folds(const diff_view *s, size_t i, size_t end, size_t *head, size_t *tail)
{
    size_t context = s->context;
    *head = i == 0 ? 0 : context;
    *tail = end == s->m.diff.n_rows ? 0 : context;
    bool is_equal = i == 0 && end == s->m.diff.n_rows;
    return !is_equal && context != CF_DIFF_ALL && end - i >= *head + *tail + FOLD_MIN;
}

static bool add_rows(diff_view *s, size_t from, size_t to, unsigned sides, int width)
{
    bool is_complete = true;
    for (size_t i = from; is_complete && i < to; i++) {
        is_complete = add_row(s, i, sides, width);
    }
    return is_complete;
}

/* Rows that are alike on both sides. */
static bool add_kept(diff_view *s, size_t from, size_t to, unsigned sides, int width)
{
    size_t head, tail;
    if (!folds(s, from, to, &head, &tail)) {
        return add_rows(s, from, to, sides, width);
    }
    if (!add_rows(s, from, from + head, sides, width)) {
        return false;
    }
    dline *l = add_line(s);
    if (l == NULL) {
        return false;
    }
    l->row = (uint32_t)(from + head);
    l->n_folded = (uint32_t)(to - from - head - tail);
    return add_rows(s, to - tail, to, sides, width);
}

/* All rows; in one column a stretch of changes shows all of A, then all of
 * B. */
static bool add_all(diff_view *s, bool is_unified, int width)
{
    const cf_diff *d = &s->m.diff;
    for (size_t i = 0, end; i < d->n_rows; i = end) {
        bool is_kept = d->rows[i].kind == CF_DIFF_KEPT;
        end = i + 1;
        while (end < d->n_rows && (d->rows[end].kind == CF_DIFF_KEPT) == is_kept) {
            end++;
        }
        bool is_complete = is_kept ? add_kept(s, i, end, is_unified ? 1 : 3, width)
                           : is_unified
                               ? add_rows(s, i, end, 1, width) && add_rows(s, i, end, 2, width)
                               : add_rows(s, i, end, 3, width);
        if (!is_complete) {
            return false;
        }
    }
    return true;
}

/* The last row that a line shows or folds. */
static uint32_t last_row(const dline *l)
{
    return l->row + (l->n_folded != 0 ? l->n_folded - 1 : 0);
}

void cf_diff_lay_out(diff_view *s, int width, bool is_unified)
{
    if (s->width == width && s->was_unified == is_unified) {
        return;
    }
    uint32_t row = s->list.cursor < s->n ? s->line[s->list.cursor].row : 0;
    s->n = 0;
    s->width = width;
    s->was_unified = is_unified;
    bool is_complete = add_all(s, is_unified, width - cf_diff_gutter(s));
    size_t to = 0;
    while (to + 1 < s->n && last_row(&s->line[to]) < row) {
        to++;
    }
    s->list.n = s->n;
    cf_list_go(&s->list, to);
    if (!is_complete) {
        cf_fail(&s->m.err, CF_ELIMIT, "too long to show all of it");
    }
}

static bool is_changed(const diff_view *s, size_t line)
{
    return s->m.diff.rows[s->line[line].row].kind != CF_DIFF_KEPT;
}

bool cf_diff_begins_hunk(const diff_view *s, size_t line)
{
    return is_changed(s, line) && (line == 0 || !is_changed(s, line - 1));
}
