/*
 * page_diff.c - a line of a difference, cut at its marks.
 */
#include "tui/page/page_diff.h"

void cf_page_begin_line(cf_page *p, char sign)
{
    cf_page_begin(p, CF_PAGE_LINE,
                  sign == '-'   ? CF_LOOK_REMOVED
                  : sign == '+' ? CF_LOOK_ADDED
                                : CF_LOOK_PLAIN,
                  cf_str_make(&sign, 1));
}

void cf_page_add_line(cf_page *p, const cf_diff *d, const cf_diff_row *r, char sign)
{
    const bool is_b = sign != '-';
    uint32_t unit = is_b ? r->b : r->a;
    if (unit == CF_DIFF_NONE) {
        return;
    }
    cf_str text = cf_diff_text_of(is_b ? &d->b : &d->a, unit);
    uint32_t n = r->kind != CF_DIFF_CHANGED ? 0 : is_b ? r->n_mark_b : r->n_mark_a;
    size_t at = 0;
    cf_page_begin_line(p, sign);
    for (uint32_t i = 0; i < n; i++) {
        const cf_diff_mark *m = &d->marks[r->mark + (is_b ? r->n_mark_a : 0) + i];
        cf_page_run(p, CF_LOOK_PLAIN, cf_str_make(text.p + at, m->off - at));
        cf_page_run(p, CF_LOOK_MARK, cf_str_make(text.p + m->off, m->len));
        at = (size_t)m->off + m->len;
    }
    cf_page_run(p, CF_LOOK_PLAIN, cf_str_make(text.p + at, text.n - at));
    cf_page_end(p, CF_PAGE_LINE);
}
