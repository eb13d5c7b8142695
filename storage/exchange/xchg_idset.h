/*
 * xchg_idset.h - how often an id came, in 16 bytes for each.
 *
 * Only 64 mixed bits of an id are kept: two ids of a file are taken for one
 * about once in 10^10 files of a million.
 */
#ifndef CF_STORAGE_EXCHANGE_XCHG_IDSET_H
#define CF_STORAGE_EXCHANGE_XCHG_IDSET_H

#include "core/base/status.h"
#include "core/base/uuid.h"

typedef struct cf_idset {
    struct cf_idset_cell {
        uint64_t key; /* 0: empty */
        uint32_t n;
    } * cells; /* [size], heap; size is a power of two or 0 */
    size_t size, used;
} cf_idset;

/* Counts one more of `id`; *n is how often it has come now.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_idset__count(cf_idset *s, cf_uuid id, uint32_t *n, cf_error *err);
void cf_idset__free(cf_idset *s);

#endif
