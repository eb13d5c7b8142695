/*
 * page_form.c - fills a form with what a block has.
 */
#include "tui/page/page_form.h"

#include <string.h>

void cf_page__fill(cf_buf *out, const char *form, const cf_page *p, const cf_page_item *it,
                   const char *const *looks, cf_page_escape escape)
{
    const char *next;
    for (; (next = strchr(form, '$')) != NULL; form = next + 2) {
        cf_buf_add(out, form, (size_t)(next - form));
        switch (next[1]) {
        case 't':
            escape(out, cf_page_title(p, it));
            break;
        case 'n':
            escape(out, cf_page_tip(p, it));
            break;
        case 'l':
            cf_buf_adds(out, looks != NULL && looks[it->look] != NULL ? looks[it->look] : "");
            break;
        case 'w':
            cf_buf_addf(out, "%.1f", 100 * (double)(it->share < 0 ? -it->share : it->share));
            break;
        case '(':
            if (it->n_note == 0) {
                next = strstr(next, "$)");
            }
            break;
        default: /* $) */
            break;
        }
    }
    cf_buf_adds(out, form);
}

size_t cf_page__end_of(const cf_page *p, size_t i)
{
    size_t depth = 0;
    for (; i < p->n; i++) {
        if (p->v[i].kind != CF_PAGE_RUN) {
            depth += p->v[i].is_end ? (size_t)-1 : 1;
        }
        if (depth == 0) {
            break;
        }
    }
    return i;
}
