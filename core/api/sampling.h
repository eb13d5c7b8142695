/*
 * sampling.h - from logits to one token, and the reasons.
 *
 * Place in the flow:  session (logits), constraint (mask) --> [sampling] -->
 *                     token, candidates.
 * Knows: logits by token id, the window of recent tokens.  Does not know:
 * text, engines, why a token is masked.
 *
 * The chain, in this order; each step is off at its zero value:
 *
 *   suppress     suppressed tokens leave; bias is added to logits, and a bias
 *                of -INFINITY makes its token leave
 *   constraint   tokens whose bit is not set leave
 *   penalties    over the tokens of the window: first the repetition penalty,
 *                logit / p if positive, logit * p if negative (Keskar et al.
 *                2019), then presence once and frequency times the count
 *   no-repeat    a token that would complete an n-gram of the window leaves
 *   top-k        the k largest logits stay (Fan et al. 2018)
 *   top-p        the fewest of the most probable whose probabilities sum to
 *                at least p stay (Holtzman et al. 2020)
 *   min-p        at least min_p times the largest probability stays (Nguyen
 *                et al. 2024)
 *   temperature  probabilities are those of logit / temperature
 *   draw         one of them by a uniform number
 *
 * Probabilities within a step are over the tokens still there, and before
 * "temperature" they are untempered: temperature never changes who is in the
 * draw.  Where logits are equal the smaller id wins.  A logit that is not a
 * number is never chosen.  The draw walks the tokens that are left, best first
 * when top-k or top-p put them in order, else by id.  The uniform number is a
 * function of seed and draw number alone (Philox, Salmon et al. 2011), so
 * seeking costs nothing.
 *
 * Greedy (temperature 0, or top-k 1) takes the best token after "no-repeat"
 * and skips the steps after it.
 *
 * Threads:  one thread at a time.
 * Memory:   everything is allocated when the sampler is made; a draw
 *           allocates nothing.
 */
#ifndef CF_CORE_API_SAMPLING_H
#define CF_CORE_API_SAMPLING_H

#include "core/api/tokenizer.h"
#include "core/base/decls.h"
#include "core/base/status.h"

CF_BEGIN_DECLS

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

    float repetition_penalty;  /* below 1 counts as 1, which is off */
    float presence_penalty;    /* subtracted once from what occurred */
    float frequency_penalty;   /* subtracted times the count */
    uint32_t penalty_window;   /* last n tokens looked at; 0: all */
    uint32_t no_repeat_ngram;  /* 0: off; a continuation that would complete
                                  an n-gram seen in the window is refused */
    uint32_t no_repeat_window; /* 0: all; raised to n when smaller */

    const cf_logit_bias *bias; /* [n_bias], copied by cf_sampler_new; an id
                                  outside the vocabulary is CF_EINVAL */
    size_t n_bias;
    const cf_token *suppress; /* [n_suppress], likewise; ids outside the
                                 vocabulary are ignored */
    size_t n_suppress;
} cf_sampling;

/* The defaults of the built-in engine: temperature 0.8, top-k 40, top-p 0.95,
 * min-p 0.05, seed 0. */
cf_sampling cf_sampling_default(void);

/* The step that removed a candidate. */
typedef enum cf_removed_by {
    CF_KEPT = 0,
    CF_REMOVED_SUPPRESS,
    CF_REMOVED_CONSTRAINT,
    CF_REMOVED_NGRAM,
    CF_REMOVED_TOP_K,
    CF_REMOVED_TOP_P,
    CF_REMOVED_MIN_P,
    CF_REMOVED_TEMPERATURE /* temperature 0 leaves the best alone */
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

/* The number of tokens left after a step of the chain. */
typedef struct cf_chain_step {
    const char *name; /* "top-k" ... */
    uint32_t n_left;
} cf_chain_step;

enum { CF_CHAIN_MAX = 12, CF_TRACE_TOP_MAX = 64 };

/* The record of one draw; filled only on request. */
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
    uint64_t n_draw;    /* number of draws before this one */
} cf_draw;

typedef struct cf_sampler cf_sampler;

/* CF_EINVAL, naming the option, for values that are not numbers or outside
 * their range; CF_ENOMEM. */
CF_MUST_USE cf_status cf_sampler_new(cf_sampler **out, const cf_sampling *options, size_t n_vocab,
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
                                      const cf_token *past, size_t n_past, const uint32_t *allowed,
                                      size_t n_top, cf_token *out, cf_draw *draw, cf_error *err);

CF_END_DECLS

#endif
