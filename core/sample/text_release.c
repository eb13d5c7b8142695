/*
 * text_release.c - releases text.  The earliest stop string wins; a text that
 * only starts like one is held until it goes on differently.
 */
#include "core/api/text_release.h"

#include <assert.h>
#include <string.h>

#include "core/base/utf8.h"

void cf_text_release_init(cf_text_release *r, const cf_str *stop, size_t n_stop)
{
    *r = (cf_text_release){.stop = stop, .n_stop = n_stop, .stopped_by = n_stop};
    for (size_t i = 0; i < n_stop; i++) {
        assert(stop[i].n > 0);
    }
}

void cf_text_release_deinit(cf_text_release *r)
{
    cf_buf_deinit(&r->text);
}

static bool starts_at(cf_str stop, const char *p, size_t n)
{
    return n >= stop.n && memcmp(p, stop.p, stop.n) == 0;
}

/* Length of the longest end of p[0..n) that a stop string starts with, whole
 * ones left out. */
static size_t longest_start(const cf_text_release *r, const char *p, size_t n)
{
    size_t best = 0;
    for (size_t i = 0; i < r->n_stop; i++) {
        size_t len = r->stop[i].n - 1 < n ? r->stop[i].n - 1 : n;
        for (; len > best; len--) {
            if (memcmp(p + n - len, r->stop[i].p, len) == 0) {
                best = len;
            }
        }
    }
    return best;
}

bool cf_text_release_add(cf_text_release *r, const char *p, size_t n)
{
    cf_buf_add(&r->text, p, n);
    if (r->text.failed || r->n_stop == 0) {
        return false;
    }
    for (size_t at = r->n_searched; at < r->text.n; at++) {
        for (size_t i = 0; i < r->n_stop; i++) {
            if (starts_at(r->stop[i], r->text.p + at, r->text.n - at)) {
                r->text.n = at;
                r->text.p[at] = '\0';
                r->stopped_by = i;
                return true;
            }
        }
    }
    size_t from = r->n_searched;
    r->n_searched = r->text.n - longest_start(r, r->text.p + from, r->text.n - from);
    return false;
}

static cf_str release_to(cf_text_release *r, size_t end)
{
    size_t from = r->n_released;
    if (end <= from) {
        return cf_str_make("", 0);
    }
    r->n_released = end;
    return cf_str_make(r->text.p + from, end - from);
}

cf_str cf_text_release_take(cf_text_release *r)
{
    size_t end = r->n_stop > 0 && r->stopped_by == r->n_stop ? r->n_searched : r->text.n;
    if (end <= r->n_released) {
        return cf_str_make("", 0);
    }
    const char *p = r->text.p + r->n_released;
    end -= cf_utf8_incomplete_tail(p, end - r->n_released);
    return release_to(r, end);
}

cf_str cf_text_release_take_all(cf_text_release *r)
{
    return release_to(r, r->text.n);
}
