/*
 * page.c - a page is made.
 */
#include "tui/page/page.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/alloc.h"

void cf_page_deinit(cf_page *p)
{
    cf_free(p->v);
    cf_buf_deinit(&p->text);
    *p = (cf_page){.v = NULL};
}

cf_status cf_page_check(const cf_page *p, cf_error *err)
{
    return cf_buf_check(&p->text, err);
}

static void add(cf_page *p, cf_page_item it, cf_str title)
{
    it.title = p->text.n;
    cf_buf_add(&p->text, title.p, title.n);
    it.n_title = p->text.n - it.title;
    it.note = p->text.n;
    if (cf_grow(&p->v, &p->cap, p->n + 1, sizeof *p->v)) {
        p->v[p->n++] = it;
    } else {
        p->text.failed = true;
    }
}

void cf_page_begin(cf_page *p, cf_page_kind kind, cf_look look, cf_str title)
{
    add(p, (cf_page_item){.kind = (uint8_t)kind, .look = (uint8_t)look}, title);
}

void cf_page_end(cf_page *p, cf_page_kind kind)
{
    add(p, (cf_page_item){.kind = (uint8_t)kind, .is_end = true}, cf_str_make("", 0));
}

void cf_page_run(cf_page *p, cf_look look, cf_str text)
{
    cf_page_begin(p, CF_PAGE_RUN, look, text);
}

void cf_page_runf(cf_page *p, cf_look look, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    cf_page_run(p, look, cf_str_from(text));
}

void cf_page_say(cf_page *p, cf_page_kind kind, cf_look look, cf_str text)
{
    cf_page_begin(p, kind, look, cf_str_make("", 0));
    cf_page_run(p, look, text);
    cf_page_end(p, kind);
}

void cf_page_add_note(cf_page *p, cf_str text)
{
    cf_buf_add(&p->text, text.p, text.n);
    if (p->n > 0) {
        p->v[p->n - 1].n_note = p->text.n - p->v[p->n - 1].note;
    }
}

void cf_page_note(cf_page *p, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    cf_page_add_note(p, cf_str_from(text));
}

void cf_page_share(cf_page *p, double share)
{
    if (p->n > 0) {
        p->v[p->n - 1].share = (float)share;
    }
}

void cf_page_flags(cf_page *p, int flags)
{
    if (p->n > 0) {
        p->v[p->n - 1].flags = (uint8_t)flags;
    }
}
