/*
 * buf.c - grows by half, always with room for the closing NUL.
 */
#include "core/base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

#ifdef CF_TIGHT
enum { FIRST_CAP = 1 };
#else
enum { FIRST_CAP = 64 };
#endif

void cf_buf_init(cf_buf *b)
{
    *b = (cf_buf)CF_BUF_INIT;
}

void cf_buf_deinit(cf_buf *b)
{
    cf_free(b->p);
    cf_buf_init(b);
}

void cf_buf_reset(cf_buf *b)
{
    b->n = 0;
    if (b->p != NULL) {
        b->p[0] = '\0';
    }
}

void cf_buf_rewind(cf_buf *b, size_t n)
{
    b->n = n;
    b->failed = false;
    if (b->p != NULL) {
        b->p[n] = '\0';
    }
}

void cf_buf_restart(cf_buf *b)
{
    cf_buf_rewind(b, 0);
}

char *cf_buf_reserve(cf_buf *b, size_t n)
{
    if (b->failed || n > SIZE_MAX / 4 || b->n > SIZE_MAX / 4) {
        b->failed = true;
        return NULL;
    }
    size_t need = b->n + n + 1;
    if (need > b->cap) {
        size_t cap = b->cap < FIRST_CAP ? FIRST_CAP : b->cap + b->cap / 2;
        if (cap < need) {
            cap = need;
        }
        char *p = cf_realloc(b->p, cap, 1);
        if (p == NULL) {
            b->failed = true;
            return NULL;
        }
        b->p = p;
        b->cap = cap;
    }
    return b->p + b->n;
}

void cf_buf_add(cf_buf *b, const void *p, size_t n)
{
    char *to = cf_buf_reserve(b, n);
    if (to != NULL) {
        if (n != 0) {
            memcpy(to, p, n);
        }
        to[n] = '\0';
        b->n += n;
    }
}

void cf_buf_adds(cf_buf *b, const char *s)
{
    cf_buf_add(b, s, strlen(s));
}

void cf_buf_addc(cf_buf *b, char c)
{
    cf_buf_add(b, &c, 1);
}

void cf_buf_addf(cf_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0) {
        b->failed = true;
        return;
    }
    char *to = cf_buf_reserve(b, (size_t)n);
    if (to != NULL) {
        va_start(ap, fmt);
        vsnprintf(to, (size_t)n + 1, fmt, ap);
        va_end(ap);
        b->n += (size_t)n;
    }
}

const char *cf_buf_cstr(const cf_buf *b)
{
    return b->p != NULL ? b->p : "";
}

char *cf_buf_take(cf_buf *b)
{
    cf_buf_add(b, "", 0);
    char *p = NULL;
    if (b->failed) {
        cf_free(b->p);
    } else {
        p = b->p;
    }
    cf_buf_init(b);
    return p;
}

cf_status cf_buf_check(const cf_buf *b, cf_error *err)
{
    return b->failed ? cf_oom(err) : CF_OK;
}
