/*
 * store_shown.h - what lists show of conversations, packed, so that a filter
 * reads all of it in a few milliseconds.
 *
 * Threads:  as the connection's.
 * Memory:   the caller's buffers.
 */
#ifndef CF_STORAGE_DB_STORE_SHOWN_H
#define CF_STORAGE_DB_STORE_SHOWN_H

#include "storage/db/store_int.h"

/* Puts the title, or preview, of a conversation in place of what was there of
 * it; is_in false: takes it out. */
CF_MUST_USE cf_status cf_shown__put(cf_sql *sql, int64_t conv_id, bool is_in, cf_error *err);
/* Packs what all conversations show. */
CF_MUST_USE cf_status cf_shown__fill(cf_sql *sql, cf_error *err);

/*
 * The rows that pass the terms, as a JSON array of ids in `out`, and how many
 * they are in *n; at more than `max` it ends.  An id may be of a conversation
 * that is no more.
 */
CF_MUST_USE cf_status cf_shown__find(cf_sql *sql, const cf_shown_terms *terms, size_t max,
                                     cf_buf *out, size_t *n, cf_error *err);

/* Conversations whose entry is missing or differs. */
CF_MUST_USE cf_status cf_shown__check(cf_sql *sql, size_t *n_wrong, cf_error *err);

#endif
