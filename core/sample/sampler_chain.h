/*
 * sampler_chain.h - what sampler.c and sampler_trace.c share: the sampler
 * and one walk through its chain.
 */
#ifndef CF_CORE_SAMPLE_SAMPLER_CHAIN_H
#define CF_CORE_SAMPLE_SAMPLER_CHAIN_H

#include "core/api/sampling.h"
#include "core/sample/candidates.h"
#include "core/sample/penalties.h"

struct cf_sampler {
    cf_sampling o; /* bias and suppress point to the copies below */
    cf_logit_bias *bias;
    cf_token *suppress;
    cf_penalties penalties;
    size_t n_vocab;
    uint64_t n_draw;
    bool is_greedy;
    bool has_edits; /* something changes logits before the filters */

    /* Scratch; NULL where the options need none. */
    float *post;      /* [n_vocab] logits after the edits */
    cf_cand *cand;    /* [cap] */
    float *weight;    /* [cap] */
    size_t cap;       /* n_vocab, or top_k where that is less */
    uint32_t *count;  /* [n_vocab], zero between draws */
    uint32_t *banned; /* bit set of n_vocab, zero between draws */
};

/* One draw on its way.  The cuts say where each filter stopped: a candidate
 * worse than the cut went there. */
typedef struct cf_chain {
    const float *raw;  /* [n_vocab] */
    const float *post; /* [n_vocab]; raw itself when nothing was edited */
    const uint32_t *allowed;
    size_t n_left; /* candidates in sampler->cand */
    float best;    /* largest logit in post */
    double sum;    /* of the tempered weights */
    bool has_cut_k, has_cut_p;
    cf_cand cut_k, cut_p;
    float least; /* of min-p; -INFINITY when off */
    cf_token id; /* the choice */
    double r;
    cf_draw *draw; /* NULL when no explanation is wanted */
} cf_chain;

static inline bool cf_top_p_is_on(const cf_sampling *o)
{
    return o->top_p > 0.0f && o->top_p < 1.0f;
}

/* Notes in chain->draw, if there is one, that n tokens are left after step
 * `name`. */
void cf_trace_step(cf_chain *chain, const char *name, size_t n);

/* The same, counting what post and allowed leave. */
void cf_trace_step_count(cf_chain *chain, const cf_sampler *s, const char *name);

/* Fills chain->draw after the choice. */
void cf_trace_finish(const cf_chain *chain, const cf_sampler *s, size_t n_top);

#endif
