/*
 * wrap.c - greedy line breaking, paragraph by paragraph.
 *
 * Invariant: v[0..n_settled) are the lines of text[0..settled_bytes), which
 * ends with a newline; they never change while the width stays.
 */
#include "tui/grid/wrap.h"

#include <string.h>

#include "core/base/alloc.h"
#include "tui/grid/cluster.h"

void cf_wrapped_deinit(cf_wrapped *w)
{
    cf_free(w->v);
    *w = (cf_wrapped){0};
}

void cf_wrapped_reset(cf_wrapped *w)
{
    w->n = w->n_settled = 0;
    w->n_bytes = w->settled_bytes = 0;
    w->width = 0;
    w->failed = false;
}

static void add_line(cf_wrapped *w, size_t off, size_t end, bool ends)
{
    if (w->failed) {
        return;
    }
    if (w->n == w->cap) {
        size_t cap = w->cap != 0 ? w->cap * 2 : 16;
        cf_line *v = cf_realloc(w->v, cap, sizeof *v);
        if (v == NULL) {
            w->failed = true;
            return;
        }
        w->v = v;
        w->cap = cap;
    }
    w->v[w->n++] = (cf_line){(uint32_t)off, (uint32_t)(end - off), ends};
}

/* Whether the byte at `at` is a character of one cell by itself. */
static bool is_plain(cf_str text, size_t at, size_t end)
{
    const unsigned char *p = (const unsigned char *)text.p;
    return at < end && p[at] > ' ' && p[at] < 0x7F && (at + 1 >= end || p[at + 1] < 0x80);
}

/* Breaks text[start..end), which holds no newline. */
static void wrap_paragraph(cf_wrapped *w, cf_str text, size_t start, size_t end)
{
    size_t line = start;      /* first byte of the current line */
    size_t column = 0;        /* cells used in it */
    size_t space_end = start; /* after the last space: where a break resumes */
    size_t space_off = start; /* before it: where the broken line ends */
    size_t width = (size_t)w->width;
    cf_cluster c;
    for (size_t at = start;;) {
        while (column < width && is_plain(text, at, end)) {
            at++;
            column++;
        }
        if (!cf_cluster_next(&c, text.p, end, &at, column, CF_SPACE_PLAIN)) {
            break;
        }
        if (column + c.width > width && c.off > line) {
            if (c.is_space) { /* the space itself is the break */
                add_line(w, line, c.off, false);
                line = space_end = space_off = at;
                column = 0;
                continue;
            }
            bool at_space = space_end > line;
            size_t resume = at_space ? space_end : c.off;
            add_line(w, line, at_space ? space_off : c.off, false);
            line = space_end = space_off = resume;
            at = resume;
            column = 0;
            continue;
        }
        if (c.is_space) {
            space_off = c.off;
            space_end = at;
        }
        column += c.width;
    }
    add_line(w, line, end, true);
}

cf_status cf_wrapped_update(cf_wrapped *w, cf_str text, int width, cf_error *err)
{
    if (width < 2) {
        width = 2;
    }
    if (w->width != width || text.n < w->n_bytes) {
        cf_wrapped_reset(w);
        w->width = width;
    } else if (text.n == w->n_bytes && w->n != 0) {
        return CF_OK;
    }
    w->n = w->n_settled;
    size_t at = w->settled_bytes;
    for (;;) {
        const char *nl = text.n > at ? memchr(text.p + at, '\n', text.n - at) : NULL;
        size_t end = nl != NULL ? (size_t)(nl - text.p) : text.n;
        wrap_paragraph(w, text, at, end);
        if (nl == NULL) {
            break;
        }
        at = end + 1;
        w->n_settled = w->n;
        w->settled_bytes = at;
    }
    w->n_bytes = text.n;
    if (w->failed) {
        cf_wrapped_reset(w);
        return cf_oom_for(err, "the text's lines");
    }
    return CF_OK;
}

size_t cf_grid_put_wrapped(cf_grid *g, cf_rect r, size_t skip, cf_str text, cf_style style)
{
    cf_wrapped lines = {0};
    if (r.w >= 2 && cf_wrapped_update(&lines, text, r.w, NULL) == CF_OK) {
        for (size_t i = skip; i < lines.n && (int)(i - skip) < r.h; i++) {
            cf_grid_put(g, r.x, r.y + (int)(i - skip), r.w,
                        cf_str_make(text.p + lines.v[i].off, lines.v[i].len), style);
        }
    }
    size_t n = lines.n;
    cf_wrapped_deinit(&lines);
    return n;
}
