/*
 * trail_rules.h - the texts and words that the rules of findings look for.
 */
#ifndef CF_STORAGE_TRAIL_TRAIL_RULES_H
#define CF_STORAGE_TRAIL_TRAIL_RULES_H

#include "core/base/hash.h"
#include "storage/trail/trail_build.h"

/* Why a result says that its call was invalid, "unknown tool" or "arguments";
 * NULL: it does not.  Codex has no flag for it, only its texts. */
const char *trail_invalid_why(const cf_trail_message *result, bool is_codex);

/* Whether a reply has a word of failure. */
bool trail_tells_failure(cf_str text);

/* The texts that a compaction left, in small letters, blanks aside. */
typedef struct trail_after {
    cf_buf *kept; /* [n_kept], heap */
    size_t n_kept;
    cf_buf summary;
    bool failed;
} trail_after;

void trail_after_init(trail_after *a, const cf_trail_compaction *c);
void trail_after_deinit(trail_after *a);
/* Appends the sentences of a message with what became of them. */
void trail_sentences_add(cf_trail_sentences *out, trail_after *a, const cf_trail_message *m);

/* Whether what the result at a place says anew is in a later reply of its
 * agent, or it says nothing new. */
bool trail_is_used(const cf_trail *t, size_t result, bool *failed);

#endif
