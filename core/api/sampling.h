/*
 * sampling.h - from logits to one token, and the reasons.
 *
 * The chain, in this order: suppressed tokens and logit bias, constraint
 * mask, repetition, presence and frequency penalties, no-repeat n-gram,
 * top-k, top-p, min-p (over the untempered distribution), temperature, draw.
 * Each step is off at its zero value.
 *
 * Threads:  one thread at a time.
 * Memory:   everything is allocated when the sampler is made; a draw
 *           allocates nothing.
 */
#ifndef CF_CORE_API_SAMPLING_H
#define CF_CORE_API_SAMPLING_H

#include "core/api/tokenizer.h"
#include "core/base/status.h"

typedef struct cf_logit_bias {
    cf_token id;
    float bias; /* added to the logit; -INFINITY suppresses */
} cf_logit_bias;

/* Zero is "off" everywhere, so {0} is greedy. */
typedef struct cf_sampling {
    float temperature; /* 0: greedy */
    uint32_t top_k;    /* 0: off */
    float top_p;       /* 0 or >= 1: off */
    float min_p;       /* 0: off */
    uint64_t seed;

    float repetition_penalty;  /* 0 or 1: off; logit/p if > 0, else logit*p
                                  (Keskar et al. 2019) */
    float presence_penalty;    /* subtracted once from what occurred */
    float frequency_penalty;   /* subtracted times the count */
    uint32_t penalty_window;   /* last n tokens looked at; 0: all */
    uint32_t no_repeat_ngram;  /* 0: off; a continuation that would complete
                                  an n-gram seen in the window is refused */
    uint32_t no_repeat_window; /* 0: all; raised to n when smaller */

    const cf_logit_bias *bias; /* [n_bias], copied by cf_sampler_new */
    size_t n_bias;
    const cf_token *suppress; /* [n_suppress], likewise; ids outside the
                                 vocabulary are ignored */
    size_t n_suppress;
} cf_sampling;

/* Why a candidate is no longer there. */
typedef enum cf_removed_by {
    CF_KEPT = 0,
    CF_REMOVED_SUPPRESS,
    CF_REMOVED_CONSTRAINT,
    CF_REMOVED_NGRAM,
    CF_REMOVED_TOP_K,
    CF_REMOVED_TOP_P,
    CF_REMOVED_MIN_P
} cf_removed_by;

/* "kept", "suppress", "constraint" ... */
const char *cf_removed_by_name(cf_removed_by why);

typedef struct cf_candidate {
    cf_token id;
    float logit;      /* as the model gave it */
    float p_raw;      /* softmax over the whole vocabulary, before the chain */
    float logit_post; /* after bias and penalties */
    float p_post;     /* probability it was drawn with; 0 when removed */
    uint32_t rank;    /* 1-based by raw logit; ties by smaller id */
    cf_removed_by removed_by;
} cf_candidate;

/* How many tokens were left after a step of the chain. */
typedef struct cf_chain_step {
    const char *name; /* "top-k" ... */
    uint32_t n_left;
} cf_chain_step;

enum { CF_CHAIN_MAX = 12, CF_TRACE_TOP_MAX = 64 };

/* What one draw looked like; filled only when asked for. */
typedef struct cf_draw {
    cf_token id;
    cf_candidate chosen;
    cf_candidate top[CF_TRACE_TOP_MAX]; /* best by raw logit, in order */
    size_t n_top;
    cf_chain_step step[CF_CHAIN_MAX];
    size_t n_step;
    float entropy_bits; /* of the raw distribution */
    float log_z;        /* log of the raw softmax's denominator */
    float allowed_mass; /* raw probability of what the constraint allows;
                           1 without one */
    double r;           /* the uniform number drawn, 0 for greedy */
    uint64_t n_draw;    /* how many draws came before this one */
} cf_draw;

typedef struct cf_sampler cf_sampler;

/* CF_EINVAL, naming the option, for values that are not numbers or below
 * their range; CF_ENOMEM. */
CF_MUST_USE cf_status cf_sampler_new(cf_sampler **out,
                                     const cf_sampling *options, size_t n_vocab,
                                     cf_error *err);
void cf_sampler_free(cf_sampler *sampler);

/* The options in effect in one readable line ("greedy because top_k=1"). */
void cf_sampler_describe(const cf_sampler *sampler, cf_buf *out);

/* Starts the random sequence over at draw number n_draw. */
void cf_sampler_seek(cf_sampler *sampler, uint64_t n_draw);

/*
 * Chooses the next token.
 *
 *   logits   [n_vocab], not changed
 *   past     the tokens before, for penalties
 *   allowed  NULL, or a bit set of n_vocab bits (bit id%32 of word id/32)
 *   n_top    how many candidates to report in `draw`, at most
 *            CF_TRACE_TOP_MAX; 0 and draw NULL cost nothing
 *
 * CF_ELIMIT when nothing is left to choose from.  The result depends on the
 * options, the logits and the number of draws before, on nothing else.
 */
CF_MUST_USE cf_status cf_sampler_draw(cf_sampler *sampler, const float *logits,
                                      const cf_token *past, size_t n_past,
                                      const uint32_t *allowed, size_t n_top,
                                      cf_token *out, cf_draw *draw,
                                      cf_error *err);

#endif
