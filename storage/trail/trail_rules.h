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

/* Appends the sentences of a message, all as gone. */
void trail_sentences_add(cf_trail_sentences *out, const cf_trail_message *m);
/* Sets what became of all sentences: small letters are the same as capitals, and any
 * blanks as one. */
void trail_sentences_judge(cf_trail_sentences *out, const cf_trail_compaction *c);

/* Words (of four letters, or numbers) that results said to one agent, and where
 * its own messages have them. */
typedef struct trail_word {
    size_t first, last; /* places: of any message (TRAIL_NONE: none), of a reply (0: none) */
} trail_word;

typedef struct trail_words {
    trail_index places; /* in small letters -> place in v */
    trail_word *v;      /* [n] */
    size_t n;
} trail_words;

/* Words lie in the arena, which is always the same. */
void trail_words_want(cf_arena *a, trail_words *w, cf_str text);
void trail_words_see(cf_arena *a, trail_words *w, const cf_trail_message *m, size_t place);
/* Whether what a result at a place says anew is in a later reply, or it says
 * nothing new. */
bool trail_words_used(cf_arena *a, const trail_words *w, cf_str text, size_t place);

#endif
