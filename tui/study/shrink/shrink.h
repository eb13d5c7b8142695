/*
 * shrink.h - reduces a context to a minimal one for which a predicate holds.
 *
 * Place in the flow:  a context that fails --> [shrink] --> a smaller one that
 *                     fails in the same way and can be read at a glance.
 * Delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating
 * Failure-Inducing Input", IEEE TSE 28(2), 2002), level by level as in
 * hierarchical delta debugging (Misherghi and Su, ICSE 2006): members of the
 * context, messages and tools, their contents, sentences, and lines of the
 * template.  The result is minimal in the sense that no single unit of the
 * levels that were tried can be removed.
 *
 * Every question and its answer is kept as a line of a file; running again reads
 * the answers from there and resumes where it ended.
 *
 * Threads:  one thread at a time; the asker's cancel may be set from any.
 * Memory:   owns the context and the template.
 */
#ifndef CF_TUI_STUDY_SHRINK_SHRINK_H
#define CF_TUI_STUDY_SHRINK_SHRINK_H

#include <stdio.h>

#include "core/base/hash.h"
#include "tui/study/ask/asker.h"

enum {
    CF_SHRINK_CONTEXT = 1u << 0,   /* messages, tools and their contents */
    CF_SHRINK_SENTENCES = 1u << 1, /* of messages */
    CF_SHRINK_TEMPLATE = 1u << 2   /* lines of the template */
};

enum { CF_SHRINK_RUNS_MAX = 1000 }; /* questions, by default */

typedef struct cf_shrink_answer {
    char key[CF_HASH_TEXT + 1];
    bool holds;
} cf_shrink_answer;

typedef struct cf_shrink {
    cf_asker *asker; /* borrowed */
    json_t *context; /* the smallest so far */
    cf_buf source;   /* of the template, likewise */
    uint32_t parts;  /* CF_SHRINK_* */
    size_t max_runs; /* 0: CF_SHRINK_RUNS_MAX */
    char model[200]; /* what answers, for the keys of answers */

    size_t n_runs;   /* questions asked, but for the last one about the result */
    size_t n_reused; /* answers that were known */
    bool is_cut;     /* max_runs was reached */
    bool holds;      /* the last answer, about the result */
    cf_buf whole;    /* what was seen of the whole context */

    cf_shrink_answer *answer; /* [n_answer] */
    size_t n_answer, cap_answer;
    FILE *log; /* answers are appended; NULL: not kept */

    /* Called after a unit was removed, with its level and how many are left. */
    void (*step)(void *ud, const struct cf_shrink *s, const char *level, size_t n_left);
    void *ud;
} cf_shrink;

/* `context` is referenced, `source` copied. */
CF_MUST_USE cf_status cf_shrink_init(cf_shrink *s, cf_asker *asker, const json_t *context,
                                     cf_str source, cf_error *err);
void cf_shrink_deinit(cf_shrink *s);

/* Reads the answers of an earlier run from a file and appends new ones to it.
 * A last line that was cut off is left out.  CF_EIO, CF_ENOMEM. */
CF_MUST_USE cf_status cf_shrink_keep(cf_shrink *s, const char *path, cf_error *err);

/*
 * Shrinks, keeping to the failure of the whole context (asker.h), and asks about
 * the result last: `holds` is false where that answer is no, as it may be where
 * answers are random or what a command looks at has changed.
 * CF_EINVAL when the predicate does not hold for the whole context.
 * After CF_ECANCELLED and other failures context and template are the smallest
 * found so far.
 */
CF_MUST_USE cf_status cf_shrink_run(cf_shrink *s, cf_error *err);

#endif
