/*
 * takeover.h - finds the token of a bad model's reply after which a good model
 * can no longer recover.
 *
 * Place in the flow:  one context, two models --> [takeover] --> a token.
 * The good model is given the first k tokens of the bad one's reply and continues
 * from there; k is found by bisection.  With none of them its reply is good, with
 * all of them bad; if more tokens never make a bad reply good again, there is
 * only one such token.
 *
 * Threads:  one thread at a time.
 * Memory:   owns its texts.
 */
#ifndef CF_TUI_STUDY_SHRINK_TAKEOVER_H
#define CF_TUI_STUDY_SHRINK_TAKEOVER_H

#include "tui/study/ask/asker.h"

typedef struct cf_takeover_side {
    cf_asker *asker; /* borrowed; its engine is the model */
    cf_str source;   /* of its template */
} cf_takeover_side;

typedef struct cf_takeover {
    cf_buf good, bad; /* the replies of both */
    size_t token;     /* of the bad reply, in the good model's tokens */
    size_t n_token;   /* of them */
    size_t off, len;  /* its bytes in the bad reply */
    cf_buf instead;   /* written by the good model in its place */
    size_t n_runs;
} cf_takeover;

void cf_takeover_init(cf_takeover *t);
void cf_takeover_deinit(cf_takeover *t);

/* CF_EINVAL where the good reply is bad, the bad one good, or the good model
 * mends even the whole of it; CF_EUNSUPPORTED for a good model whose tokens are
 * not known, or that cannot go on from a text; errors of the engines. */
CF_MUST_USE cf_status cf_takeover_run(cf_takeover *t, cf_takeover_side good, cf_takeover_side bad,
                                      const json_t *context, cf_error *err);

#endif
