/*
 * buf.h - a byte string that grows.
 *
 * Place in the flow:  whatever builds text --> [buf] --> files, the screen,
 *                     SQLite, JSON readers.
 * Knows: bytes and their number.  Does not know: encodings.
 *
 * Sticky: after a failed growth or an overflow, appends do nothing and
 * `failed` stays set, also over cf_buf_reset, so a builder checks once at its
 * end.  The contents are always followed by a NUL that does not count.
 *
 * Threads:  one thread at a time.
 * Memory:   one heap block; cf_buf_take() hands it to the caller.
 */
#ifndef CF_CORE_BASE_BUF_H
#define CF_CORE_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/decls.h"
#include "core/base/status.h"
#include "core/base/str.h"

CF_BEGIN_DECLS

typedef struct cf_buf {
    char *p;    /* n bytes and a NUL; NULL while nothing was appended */
    size_t n;   /* bytes in use */
    size_t cap; /* bytes allocated */
    bool failed;
} cf_buf;

#define CF_BUF_INIT       \
    {                     \
        NULL, 0, 0, false \
    }

void cf_buf_init(cf_buf *b);
void cf_buf_deinit(cf_buf *b);

/* n = 0.  Keeps the memory and `failed`: a scratch buffer that is reused in a
 * loop is checked once after it. */
void cf_buf_reset(cf_buf *b);

/* n = 0 and not failed; keeps the memory.  For a buffer that outlives its
 * texts, at the start of the next one: a failure of the last was reported, or
 * that text is no longer wanted. */
void cf_buf_restart(cf_buf *b);

/* Back to the first n <= b->n bytes and not failed: takes back an append that
 * failed, which the caller reports. */
void cf_buf_rewind(cf_buf *b, size_t n);

void cf_buf_add(cf_buf *b, const void *p, size_t n);
void cf_buf_adds(cf_buf *b, const char *s);
void cf_buf_addc(cf_buf *b, char c);
void cf_buf_addf(cf_buf *b, const char *fmt, ...) CF_PRINTF(2, 3);

/* Makes room for n more bytes and returns where they go; the caller writes
 * at most n bytes there and adds their number to b->n.  NULL on failure. */
char *cf_buf_reserve(cf_buf *b, size_t n);

/* The contents as a NUL-terminated string, "" when empty; borrowed. */
const char *cf_buf_cstr(const cf_buf *b);

/* The contents with their length; borrowed until the next change. */
static inline cf_str cf_buf_str(const cf_buf *b)
{
    return cf_str_make(cf_buf_cstr(b), b->n);
}

/* The contents become the caller's (cf_free); the buffer is empty after.
 * NULL when it had failed, or memory ran out. */
char *cf_buf_take(cf_buf *b);

/* CF_ENOMEM with a text when the buffer failed, else CF_OK. */
cf_status cf_buf_check(const cf_buf *b, cf_error *err);

CF_END_DECLS

#endif
