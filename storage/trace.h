/*
 * trace.h - the candidates of every token of a reply, packed.
 *
 * Place in the flow:  the sampler's draws --> [trace] --> the store --> token
 *                     views, replay.
 * Knows: draws, bytes.  Does not know: SQLite, conversations.
 *
 * A trace is one record a token, in order; docs/store.md has the bytes.  All
 * numbers come back with the bits that went in.  About 14 bytes a candidate.
 *
 * Threads:  one thread at a time for a writer or a reader.
 * Memory:   a writer appends to its buffer; a reader borrows the bytes.
 */
#ifndef CF_STORAGE_TRACE_H
#define CF_STORAGE_TRACE_H

#include "core/api/sampling.h"
#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/str.h"

CF_BEGIN_DECLS

enum { CF_TRACE_NAMES = 32, CF_TRACE_NAME = 24 };

/* Names of the chain's steps are written out once a trace. */
typedef struct cf_trace_writer {
    char names[CF_TRACE_NAMES][CF_TRACE_NAME];
    size_t n_names;
} cf_trace_writer;

/* Appends the record of token `id`; draw NULL: nothing is known about it. */
void cf_trace_put(cf_trace_writer *w, cf_buf *to, cf_token id, const cf_draw *draw);

typedef struct cf_trace_reader {
    cf_str in;
    size_t at;
    cf_trace_writer names;
} cf_trace_reader;

/* `trace` must outlive the reader. */
void cf_trace_open(cf_trace_reader *r, cf_str trace);

/* The next record: *id, and *draw when *has_draw.  Step names point into the
 * reader.  False at the end, and where the bytes are not a trace. */
bool cf_trace_next(cf_trace_reader *r, cf_token *id, bool *has_draw, cf_draw *draw);

CF_END_DECLS

#endif
