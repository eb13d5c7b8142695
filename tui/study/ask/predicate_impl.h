/*
 * predicate_impl.h - the inside of a predicate, shared by predicate*.c.
 *
 * Threads:  a predicate is constant once made.
 * Memory:   a predicate owns its parts.
 */
#ifndef CF_TUI_STUDY_ASK_PREDICATE_IMPL_H
#define CF_TUI_STUDY_ASK_PREDICATE_IMPL_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "tui/study/ask/predicate.h"

typedef struct cf_predicate__kind cf_predicate__kind;

struct cf_predicate {
    const cf_predicate__kind *kind;
    bool is_negated;
    char *text, *value; /* as written, NUL-terminated */
    size_t n_text, n_value;
    pcre2_code *code;
    json_t *schema;
    json_t *list; /* texts, or what a reply is equal to */
    cf_token id;
    size_t place;
};

struct cf_predicate__kind {
    const char *name, *form;
    uint32_t needs;
    bool has_value;                                    /* must have one */
    bool takes_value;                                  /* may have one */
    cf_status (*read)(cf_predicate *p, cf_error *err); /* NULL: nothing */
    cf_status (*holds)(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                       cf_error *err);
    /* cf_predicate_put_failure(); NULL: all failures are one */
    void (*failure)(const cf_predicate *p, const cf_sight *s, cf_buf *out);
};

cf_str cf_predicate__value(const cf_predicate *p);

/* The i-th kind that is about the text of a reply (predicate_text.c); NULL past
 * the last. */
const cf_predicate__kind *cf_predicate__text_kind(size_t i);

#endif
