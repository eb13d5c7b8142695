/*
 * diff_steps.h - the steps of a comparison; template_diff.h says what they
 * make.
 */
#ifndef CF_TEMPLATES_DIFF_DIFF_STEPS_H
#define CF_TEMPLATES_DIFF_DIFF_STEPS_H

#include "templates/diff/match.h"
#include "templates/template_diff.h"

/* One comparison on its way.  pair[i] is the unit of b that faces unit i of
 * a, or CF_MATCH_NONE; the numbers rise. */
typedef struct cf_differ {
    cf_diff_side a, b;
    uint32_t *pair;    /* [a.n] */
    bool *by_source;   /* [a.n] */
    bool has_tokens;   /* units are tokens and are equal if their ids are */
    bool is_apart;     /* a and b render different messages */
    uint32_t max_cost; /* of cf_diff__match() */
    cf_arena *tmp;
} cf_differ;

/* Units of a text; of a prompt with their sources (prompt NULL: none). */
CF_MUST_USE cf_status cf_diff__lines(cf_diff_side *out, cf_str text, const cf_prompt *prompt,
                                     cf_arena *arena, cf_error *err);
CF_MUST_USE cf_status cf_diff__tokens(cf_diff_side *out, const cf_prompt *prompt,
                                      const cf_token_list *tokens, cf_arena *arena, cf_error *err);

/* Pairs units that show the same bytes of a message or tool. */
CF_MUST_USE cf_status cf_diff__pair_sources(cf_differ *d, const cf_prompt *a, const cf_prompt *b,
                                            cf_error *err);

/* Pairs equal units between those paired before, then similar lines. */
CF_MUST_USE cf_status cf_diff__pair_text(cf_differ *d, cf_error *err);

/* Whether unit i of a and unit j of b are the same. */
bool cf_diff__is_same(const cf_differ *d, uint32_t i, uint32_t j);

/* A growing list of marks. */
typedef struct cf_diff_marks {
    cf_diff_mark *v;
    size_t n, cap;
} cf_diff_marks;

/* Appends the changed bytes of two lines: a's marks, then b's.  The list is
 * a heap block. */
CF_MUST_USE cf_status cf_diff__words(cf_diff_marks *out, cf_str a, cf_str b, uint32_t *n_a,
                                     uint32_t *n_b, cf_arena *tmp, cf_error *err);

#endif
