/*
 * pretoken.h - cutting text into the pieces that byte-level BPE merges
 * within: by the patterns that tokenizer.ggml.pre names.
 *
 * A pre-tokenizer is a row of patterns.  The first is applied to the text:
 * what matches is a piece, and so is the text between two matches.  Each
 * further pattern cuts the pieces of the one before, seeing nothing beyond
 * the piece.
 *
 * Threads:  constant after init; a search needs the scratch of the calling
 *           thread (pattern.h).
 */
#ifndef CF_CORE_TOKEN_PRETOKEN_H
#define CF_CORE_TOKEN_PRETOKEN_H

#include "core/token/pattern.h"

enum { CF_PRETOKEN_PATTERNS = 6 };

typedef struct cf_pretoken {
    cf_pattern pattern[CF_PRETOKEN_PATTERNS]; /* [n] */
    size_t n;
    bool ignore_merges; /* a piece that is in the vocabulary as a whole is
                           one token, whatever the merges say */
} cf_pretoken;

/* Gets [from, to) of the text; returns CF_OK to go on. */
typedef cf_status (*cf_pretoken_fn)(void *ud, size_t from, size_t to);

/* Compiles the patterns called `name`; CF_EUNSUPPORTED names it. */
CF_MUST_USE cf_status cf_pretoken__init(cf_pretoken *p, cf_str name, cf_error *err);
void cf_pretoken__deinit(cf_pretoken *p);

/* Calls fn for every piece of `text`, which must be well-formed UTF-8, in
 * order.  CF_ENOMEM, or what fn returned. */
CF_MUST_USE cf_status cf_pretoken__split(const cf_pretoken *p, void *match, cf_str text,
                                         cf_pretoken_fn fn, void *ud, cf_error *err);

#endif
