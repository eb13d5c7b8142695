/*
 * inside.h - looks into a model: what a position looked at, which token each
 * layer preferred, what wrote the difference between two logits, and what
 * becomes of it when something is hidden, replaced or steered.
 *
 * Place in the flow:  a session, ids --> [inside] --> numbers.
 * Knows: layers, heads, experts, positions, logits.  Does not know: text,
 * messages, tools: the caller sums positions up to parts.
 *
 * Words.  x_0 is the residual stream that enters layer 0 (embeddings after
 * their scale), x_l, l = 1 .. L, what leaves layer l - 1, after everything that
 * belongs to it.  A part is what a layer adds to the stream: attention or a
 * recurrent mixer (or both), mlp (dense block, experts, shared expert), and
 * other: a layer's own embeddings (gemma3n, gemma4) and LAuReL (gemma3n).
 * gemma3n's x_l is all of its streams, one after the other.  Positions, layers,
 * heads and experts count from 0; a range holds `first` up to `end` - 1.
 * Logits are final ones, after logit scale and soft cap.
 *
 * Attention weights say where a head looked.  They are not a cause; for that,
 * see cf_inside_run() with a part hidden.  Reading early layers through the
 * model's own head (the lens, nostalgebraist 2020) is a rough guide, since they
 * were not trained for it.
 *
 * The given session is used as a cache: it may be moved to another timeline,
 * keeps its adapters and steering, and is not affected by the changes.  A run
 * computes only the positions that its changes can reach.  Without changes the
 * logits are the session's own, bit for bit.
 *
 * Threads:  as a session.
 * Memory:   results are in the caller's arena, or in memory that it gives.
 */
#ifndef CF_CORE_API_INSIDE_H
#define CF_CORE_API_INSIDE_H

#include "core/api/session.h"
#include "core/base/arena.h"

CF_BEGIN_DECLS

typedef struct cf_position_range {
    uint32_t first, end;
} cf_position_range;

typedef enum cf_inside_change_kind {
    CF_CHANGE_LOOK,      /* queries at `from` and later do not see the keys of
                            `at`, in layers `layer` .. `last_layer`; the softmax is over what
                            is left.  Where a query has nothing left, a head with a sink
                            gives 0, another one looks at the query's own position */
    CF_CHANGE_HEAD,      /* head `index` of a layer gives 0 */
    CF_CHANGE_ATTENTION, /* this part of a layer adds 0; it is computed first, */
    CF_CHANGE_RECURRENT, /* so that keys, values and states stay */
    CF_CHANGE_MLP,
    CF_CHANGE_LAYER, /* all parts of a layer add 0 */
    CF_CHANGE_EXPERT /* expert `index` has the weight 0 after routing; the
                        others keep theirs */
} cf_inside_change_kind;

typedef struct cf_inside_change {
    cf_inside_change_kind kind;
    uint32_t layer, last_layer; /* the latter of a look, included */
    uint32_t index;
    uint32_t from;        /* of a look */
    cf_position_range at; /* hidden keys; or the positions that are changed */
} cf_inside_change;

/* x_l at `pos` is replaced before anything reads it. */
typedef struct cf_patch {
    uint32_t layer, pos;
    const float *x; /* [cf_inside_width()] */
} cf_patch;

/* x_l += scale * v at these positions, before anything reads it; of gemma3n,
 * each of the streams. */
typedef struct cf_push {
    uint32_t layer;
    float scale;
    const float *v; /* [n_embd] */
    cf_position_range at;
} cf_push;

/* All at once; patches come before pushes. */
typedef struct cf_changes {
    const cf_inside_change *v;
    size_t n;
    const cf_patch *patch;
    size_t n_patch;
    const cf_push *push;
    size_t n_push;
} cf_changes;

enum { CF_CHANGES_MAX = 4096 }; /* of one kind */

/* The question: what is at position `at` of a timeline, under some changes. */
typedef struct cf_inside_ask {
    const cf_token *ids; /* [n] */
    const cf_input *in;  /* [n] in place of ids, or NULL */
    size_t n;
    uint32_t at;               /* < n */
    const cf_changes *changes; /* NULL: none */
    cf_cancel *cancel;         /* or NULL */
} cf_inside_ask;

/* CF_EINVAL for positions, layers, heads or experts that are not there, heads
 * and attention of a layer without attention, a recurrent part of one without
 * it, experts of a dense one; CF_ELIMIT for more than CF_CHANGES_MAX. */
CF_MUST_USE cf_status cf_changes_check(const cf_engine *e, const cf_changes *c, size_t n,
                                       cf_error *err);

/*
 * logits[n_vocab] after position `at`, computed under the changes.
 *
 * This and all that follow:  CF_EINVAL as cf_changes_check() and for `at` or an
 * id outside, CF_ELIMIT for more than the context holds, CF_ECANCELLED,
 * CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_inside_run(cf_session *s, const cf_inside_ask *ask, float *logits,
                                    cf_error *err);

/* The logits before each of ids[first .. at], in order, for the caller to read:
 * fn(ud, pos, logits); positions before those may come first.  CF_EINVAL for
 * first = 0, first > at, and inputs. */
CF_MUST_USE cf_status cf_inside_logits(cf_session *s, const cf_inside_ask *ask, size_t first,
                                       void (*fn)(void *ud, uint32_t pos, const float *logits),
                                       void *ud, cf_error *err);

/* Floats of one x_l. */
size_t cf_inside_width(const cf_engine *e);

/* out[n, width]: x_l, l = layer, at positions pos[0..n), each at most ask->at. */
CF_MUST_USE cf_status cf_inside_stream(cf_session *s, const cf_inside_ask *ask, uint32_t layer,
                                       const uint32_t *pos, size_t n, float *out, cf_error *err);

/* out[n_layer, n_embd]: x_1 to x_L at `at`; of an engine plug-in too, where `at` is not
 * 0 and the ask has ids and no changes.  CF_EUNSUPPORTED for a model with several streams,
 * and where the plug-in does not disclose them. */
CF_MUST_USE cf_status cf_inside_after_layers(cf_session *s, const cf_inside_ask *ask, float *out,
                                             cf_error *err);

/* The lens: for l = 0 .. L the logits[n_vocab] that the model's own head makes
 * of x_l at `at`; those of L are the model's answer.  Valid during the call. */
CF_MUST_USE cf_status cf_inside_lens(cf_session *s, const cf_inside_ask *ask,
                                     void (*layer)(void *ud, uint32_t l, const float *logits),
                                     void *ud, cf_error *err);

/* Attention weights of a layer's heads. */
typedef struct cf_inside_looks {
    uint32_t n_head; /* 0: the layer has no attention */
    bool is_recurrent;
    float *w; /* [n_head, at + 1]; what `at` gives to each position.  A row sums
                 to 1; with a sink (gpt-oss), to less */
} cf_inside_looks;

/* (*out)[L] */
CF_MUST_USE cf_status cf_inside_attention(cf_session *s, const cf_inside_ask *ask,
                                          cf_inside_looks **out, cf_arena *arena, cf_error *err);

typedef struct cf_expert_share {
    uint32_t expert;
    double v;
} cf_expert_share;

/* The contribution of a layer, in units of the logit. */
typedef struct cf_layer_share {
    bool has_attention, has_recurrent, has_other;
    double attention, recurrent, mlp, other;
    double *head; /* [n_head]; less than `attention` where the output matrix has
                     a bias, which belongs to no head */
    uint32_t n_head, n_expert;
    cf_expert_share *expert; /* [n_expert] that were chosen; a shared expert and
                                a dense block beside them are in mlp only */
} cf_layer_share;

typedef struct cf_margin {
    double margin; /* logit(a) - logit(b), after the logit scale, before the
                      soft cap */
    double embedding, bias;
    cf_layer_share *layer; /* [n_layer] */
    uint32_t n_layer;
} cf_margin;

/*
 * Takes the margin apart:  margin = embedding + bias + the sum over all layers
 * of attention + recurrent + mlp + other.
 *
 * A norm counts as multiplication by weight / rms, with the rms of the vector
 * that it met; everything else between a part and the logits is linear, and
 * shares go through all of it: later layers' scales, residual multiplier, logit
 * scale; of gemma3n, prediction, correction and merging with the coefficients
 * that they had.  `against` CF_TOKEN_NONE: logit(a) alone.
 */
CF_MUST_USE cf_status cf_inside_margin(cf_session *s, const cf_inside_ask *ask, cf_token a,
                                       cf_token against, cf_margin *out, cf_arena *arena,
                                       cf_error *err);

CF_END_DECLS

#endif
