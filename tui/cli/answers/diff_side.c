/*
 * diff_side.c - lays out two columns of equal width: number, sign, text.
 *
 * Text goes cluster by cluster, so that columns stay straight and nothing
 * reaches the terminal that would move its cursor.
 */
#include "tui/cli/answers/diff_side.h"

#include "core/base/safe_text.h"
#include "core/base/utf8.h"
#include "tui/grid/cluster.h"
#include "tui/sys/out.h"

enum { GUTTER = 7 }; /* five digits, sign, space */

/* One side of a row, on its way down the lines. */
typedef struct column {
    cf_str text;
    size_t at; /* bytes shown */
    const cf_diff_mark *marks;
    size_t n_marks, mark; /* mark: the first that does not end before `at` */
    uint32_t number;      /* shown on the first line; 0: nothing here */
    char sign;
    const char *color;
} column;

static bool is_marked(column *c, size_t off)
{
    while (c->mark < c->n_marks && c->marks[c->mark].off + c->marks[c->mark].len <= off) {
        c->mark++;
    }
    return c->mark < c->n_marks && off >= c->marks[c->mark].off;
}

static void add_cluster(cf_buf *out, const cf_cluster *k)
{
    for (uint8_t i = 0; i < k->n_glyph; i++) {
        for (size_t j = 0; j < 1 + CF_CELL_MARKS; j++) {
            char bytes[4];
            if (k->glyph[i].cp[j] == 0) {
                break;
            }
            cf_buf_add(out, bytes, cf_utf8_encode(bytes, k->glyph[i].cp[j]));
        }
    }
}

/* As much text as fits; returns the cells it took. */
static size_t add_text(cf_buf *out, column *c, size_t width, bool is_color)
{
    size_t cells = 0;
    bool is_on = false;
    cf_cluster k;
    for (;;) {
        size_t next = c->at;
        if (!cf_cluster_next(&k, c->text.p, c->text.n, &next, cells, CF_SPACE_PLAIN) ||
            cells + k.width > width) {
            break;
        }
        bool marked = is_color && is_marked(c, k.off);
        if (marked != is_on) {
            cf_buf_adds(out, marked ? CF_OUT_REVERSE : CF_OUT_FORWARD);
            is_on = marked;
        }
        add_cluster(out, &k);
        cells += k.width;
        c->at = next;
    }
    if (is_on) {
        cf_buf_adds(out, CF_OUT_FORWARD);
    }
    return cells;
}

static void add_column(cf_buf *out, column *c, size_t width, bool is_first, bool is_last,
                       bool is_color)
{
    bool has_color = is_color && c->color[0] != '\0';
    if (has_color) {
        cf_buf_adds(out, c->color);
    }
    if (is_first && c->number != 0) {
        cf_buf_addf(out, "%5u%c ", (unsigned)(c->number - 1), c->sign);
    } else {
        cf_buf_addf(out, "     %c ", c->number != 0 ? c->sign : ' ');
    }
    size_t cells = add_text(out, c, width, is_color);
    if (has_color) {
        cf_buf_adds(out, CF_OUT_PLAIN);
    }
    for (; !is_last && cells < width; cells++) {
        cf_buf_addc(out, ' ');
    }
}

static column column_of(const cf_diff *d, const cf_diff_row *r, bool is_b,
                        const cf_diff_style *style, cf_buf *scratch)
{
    const cf_diff_side *side = is_b ? &d->b : &d->a;
    uint32_t unit = is_b ? r->b : r->a;
    column c = {.text = {"", 0}, .sign = ' ', .color = ""};
    if (unit == CF_DIFF_NONE) {
        return c;
    }
    c.sign = r->kind == CF_DIFF_KEPT ? ' ' : r->kind == CF_DIFF_CHANGED ? '~' : is_b ? '+' : '-';
    c.color = c.sign == ' ' ? "" : is_b ? CF_OUT_GREEN : CF_OUT_RED;
    if (style->tok != NULL) {
        cf_tokenizer_piece(scratch, style->tok, side->v[unit].id, true);
        cf_buf line = CF_BUF_INIT;
        cf_buf_addf(&line, "%7d  ", (int)side->v[unit].id);
        cf_safe_line(&line, cf_buf_cstr(scratch), scratch->n);
        line.failed = line.failed || scratch->failed;
        cf_buf_deinit(scratch);
        *scratch = line;
        c.text = cf_buf_str(scratch);
        c.number = unit + 1; /* tokens count from 0 */
        return c;
    }
    c.text = cf_diff_text_of(side, unit);
    c.number = unit + 2;
    if (r->kind == CF_DIFF_CHANGED) {
        c.marks = d->marks + r->mark + (is_b ? r->n_mark_a : 0);
        c.n_marks = is_b ? r->n_mark_b : r->n_mark_a;
    }
    return c;
}

void cf_diff_side_row(cf_buf *out, const cf_diff *d, const cf_diff_row *row,
                      const cf_diff_style *style)
{
    uint32_t width = style->width < CF_DIFF_SIDE_MIN ? CF_DIFF_SIDE_MIN : style->width;
    size_t text_width = (width - 3) / 2 - GUTTER;
    cf_buf piece_a = CF_BUF_INIT, piece_b = CF_BUF_INIT;
    column a = column_of(d, row, false, style, &piece_a);
    column b = column_of(d, row, true, style, &piece_b);
    bool is_first = true;
    do {
        add_column(out, &a, text_width, is_first, false, style->is_color);
        cf_buf_adds(out, " | ");
        add_column(out, &b, text_width, is_first, true, style->is_color);
        cf_buf_addc(out, '\n');
        is_first = false;
    } while (!out->failed && (a.at < a.text.n || b.at < b.text.n));
    out->failed = out->failed || piece_a.failed || piece_b.failed;
    cf_buf_deinit(&piece_a);
    cf_buf_deinit(&piece_b);
}
