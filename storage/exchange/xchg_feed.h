/*
 * xchg_feed.h - the text of an import, a piece at a time.
 *
 * A feed holds the bytes from `at` to the end of the record that is being
 * looked for, and never much more: a file of any size takes the memory of its
 * longest record.  A record longer than the limit is passed over.
 *
 * Threads:  one thread at a time.
 * Memory:   the feed owns its window; slices into it are valid until the next
 *           call.
 */
#ifndef CF_STORAGE_EXCHANGE_XCHG_FEED_H
#define CF_STORAGE_EXCHANGE_XCHG_FEED_H

#include <stdint.h>
#include <stdio.h>

#include "core/api/session.h"
#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/base/str.h"

typedef struct cf_feed {
    int from; /* -1: everything is in the window */
    const char *path;
    char *heap; /* the window of a file */
    size_t cap;
    const char *p; /* [n] the window */
    size_t n, at;
    size_t max;        /* longest record */
    uint64_t line;     /* of `at`, from 1 */
    bool is_end;       /* nothing follows the window */
    cf_cancel *cancel; /* ends the reading: CF_ECANCELLED; may be NULL */
} cf_feed;

void cf_feed__init_bytes(cf_feed *f, const char *p, size_t n, size_t max);
/* path "-": standard input.  CF_EIO, CF_ENOTFOUND. */
CF_MUST_USE cf_status cf_feed__open(cf_feed *f, const char *path, size_t max, cf_error *err);
void cf_feed__close(cf_feed *f);

/* Bytes from `at` that are in the window, at least `want` unless the text
 * ends. */
CF_MUST_USE cf_status cf_feed__ahead(cf_feed *f, size_t want, cf_str *out, cf_error *err);
/* Moves past blanks and comments, and past commas where asked.  *c is the
 * next byte, CF_FEED_END at the end. */
enum { CF_FEED_END = -1 };
CF_MUST_USE cf_status cf_feed__skip(cf_feed *f, bool with_commas, int *c, cf_error *err);
/* The line at `at` without its newline, or the JSON value that begins `off`
 * bytes after it, found by its brackets; nothing is consumed.  *is_long: the
 * record is longer than the limit; it has been consumed and *out is empty. */
CF_MUST_USE cf_status cf_feed__line(cf_feed *f, cf_str *out, bool *is_long, cf_error *err);
CF_MUST_USE cf_status cf_feed__value(cf_feed *f, size_t off, cf_str *out, bool *is_long,
                                     cf_error *err);
/* Consumes n bytes of the window, and counts their lines. */
void cf_feed__consume(cf_feed *f, size_t n);

/* Appends `s` as strict JSON: comments and trailing commas become blanks,
 * bare keys get quotes.  Line breaks keep their places. */
void cf_feed__relax(cf_buf *out, cf_str s);

#endif
