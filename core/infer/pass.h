/*
 * pass.h - what the parts of a forward pass share: buffers, the rule that
 * divides work among threads, and products with matrices.
 *
 * A pass is one pool job with barriers inside.  Every phase is split among the
 * threads by a rule that looks only at counts, and writes only its own share; a
 * barrier comes between two phases where the second reads what another thread
 * wrote in the first.  Phases work on whole rows ("by row"), on rows of a
 * weight matrix ("by output"), on heads, or on channels.
 *
 * Each number is computed by one thread in an order fixed by the model's
 * sizes, so the number of threads and the other rows change no bit.
 *
 * The parts of a layer (cf_attention() and so on) are called by all threads.
 * They read p->h, rows that the calling thread wrote by the rule of
 * cf_pass__rows(), and leave their result there for the next phase by row
 * after a barrier; r0 is the first row whose result is wanted.
 *
 * Private to core/infer.
 */
#ifndef CF_CORE_INFER_PASS_H
#define CF_CORE_INFER_PASS_H

#include "core/infer/forward.h"

typedef struct cf_pass {
    cf_engine *e;
    const cf_row *rows;
    size_t n_row, first_out;
    const cf_cancel *cancel;
    bool is_cancelled; /* written by part 0, read by all after a barrier */
    bool is_probed;    /* some row has a probe */
    uint32_t from, to; /* the halves of layers of the job at hand */

    /* Buffers of the workspace; plan.h has their shapes. */
    float *x, *h, *q, *k, *v, *att, *gate, *up;
    unsigned char *xp;
    float *angles;

    float *lora; /* [CF_GROUP_MAX, n_row, lora_stride]: what adapters made of
                    the inputs of a group; NULL: no row has one */
    size_t lora_stride;

    /* cf_forward_logits() only. */
    const uint32_t *wanted; /* [n_row]: rows of the pass before */
    float *logits;          /* [n_row, n_vocab]: where they go */
    const float *streams;   /* cf_forward_read(): the rows, or NULL */
} cf_pass;

typedef struct cf_range {
    size_t lo, hi;
} cf_range;

/* A thread's share of 0..n-1 in steps of `multiple`: part i of n_part. */
cf_range cf_pass__share(size_t n, size_t multiple, unsigned i, unsigned n_part);

/* Its share of the rows from r0 on. */
cf_range cf_pass__rows(const cf_pass *p, size_t r0, unsigned i, unsigned n);

void cf_pass__init(cf_pass *p, cf_engine *e, const cf_row *rows, size_t n_row, size_t first_out);

static inline void *cf_pass__buf(const cf_pass *p, cf_ws_buf b)
{
    return p->e->ws.p + p->e->ws.plan.off[b];
}

/* Thread i's scratch, at an offset of the plan. */
unsigned char *cf_pass__thread(const cf_pass *p, unsigned i);

static inline void cf_pass__barrier(const cf_pass *p)
{
    cf_pool_barrier(p->e->pool);
}

/* Whether the pass is cancelled.  Any part may then leave out what it has to
 * compute, but no barrier: nothing of the pass is used. */
static inline bool cf_pass__stops(const cf_pass *p)
{
    return p->cancel != NULL && atomic_load_explicit(p->cancel, memory_order_relaxed);
}

/* ---- matrices ----------------------------------------------------------- */

enum { CF_GROUP_MAX = 4 };

/* Matrices that read the same activations; those without p are left out. */
typedef struct cf_group {
    const cf_mat *m[CF_GROUP_MAX];
    const float *bias[CF_GROUP_MAX]; /* [n_row of m] or NULL */
    float *y[CF_GROUP_MAX];          /* [rows of the pass, n_row of m] */
    size_t n;
} cf_group;

void cf_group__add(cf_group *g, const cf_mat *m, const float *bias, float *y);

/* By row: makes in[n_col], the activations of row r, ready for the group. */
void cf_pass__prepare(const cf_pass *p, const cf_group *g, const float *in, size_t r);

/* The same for the thread's rows from r0 on, in[rows of the pass, stride]. */
void cf_pass__prepare_rows(const cf_pass *p, const cf_group *g, const float *in, size_t stride,
                           size_t r0, unsigned i, unsigned n);

/* By output: y[r] = m * (the prepared row r) + bias, for each matrix of
 * the group and rows from r0 on. */
void cf_pass__multiply(const cf_pass *p, const cf_group *g, size_t r0, unsigned i, unsigned n);

/* Multiplies outputs out.lo .. out.hi - 1 of y[n_x], rows `stride` apart, by
 * m->by, where the matrix has it. */
void cf_pass__scale(const cf_mat *m, float *y, size_t stride, size_t n_x, cf_range out);

/* One matrix against n_x prepared rows at xp, into y [n_x, n_row of m]. */
typedef struct cf_product {
    const cf_mat *m;
    const float *bias; /* or NULL */
    float *y;
    const unsigned char *xp;
    size_t n_x;
} cf_product;

void cf_pass__multiply_one(const cf_pass *p, const cf_product *job, unsigned i, unsigned n);

/* By row: out = m * in for a small matrix, by thread i alone. */
void cf_pass__times(const cf_pass *p, const cf_mat *m, const float *in, float *out, unsigned i);

/* ---- by row ------------------------------------------------------------- */

/* out = norm(x) * w, or x itself where the family has no such norm; out may
 * be x. */
void cf_pass__norm(const cf_pass *p, const float *w, const float *x, float *out);
/* The same of rows of n numbers; w is there. */
void cf_pass__norm_n(const cf_pass *p, const float *w, const float *x, float *out, size_t n);

/* gate = act(gate) . up, by the family's activation with the layer's numbers;
 * without `up` where it has none. */
void cf_pass__activate(const cf_pass *p, uint32_t layer, float *gate, const float *up, size_t n);

/* ---- probes -------------------------------------------------------------- */

/* By row, for rows from r0 on: shows the residual streams as x_l, and the part
 * of a layer that is in h, before its norm. */
void cf_pass__show_streams(const cf_pass *p, uint32_t l, size_t r0, unsigned i, unsigned n);
void cf_pass__show_part(const cf_pass *p, uint32_t layer, cf_layer_part kind, size_t r0, unsigned i,
                        unsigned n);

/* ---- parts of a layer --------------------------------------------------- */

/* h = mixer(h): attention.c, latent.c, recurrent.c */
void cf_attention(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n);
void cf_latent_attention(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n);
void cf_recurrent(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n);

/* Of attention: the key and value of one position of one key/value head into
 * the cache, v NULL where the key has it; and by head, att = what queries q of rows from r0 on attend to. */
void cf_attention_store(const cf_pass *p, const cf_row *row, uint32_t layer, uint32_t head,
                        const float *k, const float *v);
void cf_attention_attend(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n);

/* By head: likewise where all rows of the pass see each other. */
void cf_attention_encoder(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n);

/* h = feed_forward(h); the residual stream x is for routers that read it. */
void cf_feed_forward(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n);

/* The two halves of a mixture: before the parallel dense block writes h, and
 * after.  experts.c */
void cf_experts(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n);
void cf_experts_add(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n);

/* per_layer.c: rows of each layer's own embeddings, from x, before the first
 * layer; and what a layer adds from them, h = norm(project(act(gate * in) .
 * row)). */
void cf_per_layer_inputs(const cf_pass *p, unsigned i, unsigned n);
void cf_per_layer(const cf_pass *p, uint32_t layer, const float *in, size_t r0, unsigned i,
                  unsigned n);

/* altup.c: gemma3n's streams, opened from x; a layer on them; and closed into
 * x. */
void cf_altup_open(const cf_pass *p, unsigned i, unsigned n);
void cf_altup_layer(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n);
void cf_altup_close(const cf_pass *p, size_t r0, unsigned i, unsigned n);
/* Stream j of row r, [n_embd]. */
float *cf_altup_stream(const cf_pass *p, size_t j, size_t r);

#endif
