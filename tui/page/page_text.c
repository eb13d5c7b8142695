/*
 * page_text.c - lines of a page as plain text, for a terminal or a file.
 */
#include "core/base/safe_text.h"
#include "tui/grid/cluster.h"
#include "tui/page/page.h"
#include "tui/sys/out.h"

static void put_run(cf_buf *out, const cf_page *p, const cf_page_item *it, bool is_safe)
{
    cf_str text = cf_page_title(p, it);
    if (is_safe) {
        cf_safe_line(out, text.p, text.n);
    } else {
        cf_buf_add(out, text.p, text.n);
    }
}

/* Carets help where part of a line changed, and cost time in long lines. */
static bool wants_carets(const cf_page *p, size_t from, size_t to)
{
    enum { MARKS_MAX = 64, BYTES_MAX = 4096 };
    size_t n_mark = 0, n_bytes = 0, first = 0;
    for (size_t i = from; i < to; i++) {
        bool is_mark = p->v[i].look == CF_LOOK_MARK;
        first = is_mark && n_mark == 0 ? p->v[i].n_title : first;
        n_mark += is_mark;
        n_bytes += p->v[i].n_title;
    }
    return n_mark > 0 && n_mark <= MARKS_MAX && n_bytes <= BYTES_MAX && first < n_bytes;
}

/* A line with a '^' below every marked cell of the runs before it, which are
 * side by side in the page's text. */
static void put_carets(cf_buf *out, const cf_page *p, size_t from, size_t to)
{
    const size_t start = p->v[from].title;
    const char *text = cf_buf_cstr(&p->text) + start;
    size_t column = 0;
    cf_buf_addc(out, '?');
    for (size_t i = from; i < to; i++) {
        if (p->v[i].look == CF_LOOK_MARK) {
            size_t first = cf_text_width(text, p->v[i].title - start);
            size_t end = cf_text_width(text, p->v[i].title - start + p->v[i].n_title);
            for (; column < end; column++) {
                cf_buf_addc(out, column < first ? ' ' : '^');
            }
        }
    }
    cf_buf_addc(out, '\n');
}

void cf_page_text(cf_buf *out, const cf_page *p, bool is_color, bool is_safe)
{
    for (size_t i = 0; i < p->n; i++) {
        const cf_page_item *line = &p->v[i];
        const char *color = !is_color                       ? ""
                            : line->look == CF_LOOK_REMOVED ? CF_OUT_RED
                            : line->look == CF_LOOK_ADDED   ? CF_OUT_GREEN
                                                            : "";
        size_t from = ++i;
        cf_buf_adds(out, color);
        cf_buf_add(out, cf_page_title(p, line).p, line->n_title);
        for (; i < p->n && !p->v[i].is_end; i++) {
            bool is_mark = color[0] != '\0' && p->v[i].look == CF_LOOK_MARK;
            cf_buf_adds(out, is_mark ? CF_OUT_REVERSE : "");
            put_run(out, p, &p->v[i], is_safe);
            cf_buf_adds(out, is_mark ? CF_OUT_FORWARD : "");
        }
        cf_buf_adds(out, color[0] != '\0' ? CF_OUT_PLAIN "\n" : "\n");
        if (!is_color && wants_carets(p, from, i)) {
            put_carets(out, p, from, i);
        }
    }
}
