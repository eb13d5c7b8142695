/*
 * engines.h - finds where two engines part that compute one saved reply.
 *
 * Place in the flow:  one model file, two engines, the tokens of a prompt and its
 *                     reply --> [engines] --> a token, a layer.
 * Both engines read the same tokens, so that nothing is drawn: at each token of the
 * reply the logits before it are compared, and at the first that part the residual
 * stream after each layer, where both disclose it.  What parts is a largest
 * difference over more than a share of the largest value.
 *
 * Threads:  one thread at a time.
 * Memory:   none that outlives the call.
 */
#ifndef CF_TUI_STUDY_SHRINK_ENGINES_H
#define CF_TUI_STUDY_SHRINK_ENGINES_H

#include "core/api/engine.h"
#include "core/api/session.h"

/* Rounding, of weights that are floats and of others. */
#define CF_ENGINES_FLOAT     1e-3
#define CF_ENGINES_QUANTISED 5e-2

typedef struct cf_engines_ask {
    cf_engine *engine[2];
    const cf_token *ids; /* [n]: the prompt, then the reply */
    size_t n, n_prompt;  /* n_prompt > 0 */
    uint32_t n_ctx;      /* as cf_session_options */
    cf_cancel *cancel;
} cf_engines_ask;

typedef struct cf_engines_found {
    bool is_parted;
    double limit;     /* a share, by the weights' type */
    size_t token;     /* of the reply, from 0, that the logits stand before */
    double share;     /* there, else the largest of all */
    cf_token best[2]; /* of both engines there */
    bool has_layers;  /* both disclose them */
    bool has_layer;   /* one of them parts: */
    uint32_t layer;   /* the first, from 0 */
    double layer_share;
} cf_engines_found;

/* CF_EINVAL for tokens outside the vocabulary; errors of sessions and engines. */
CF_MUST_USE cf_status cf_engines_compare(cf_engines_found *out, const cf_engines_ask *ask,
                                         cf_error *err);

#endif
