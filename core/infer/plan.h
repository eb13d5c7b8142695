/*
 * plan.h - what memory a pass and a session need, before it is allocated.
 *
 * The same list of buffers gives the figures that people see, the one block
 * that is allocated for an engine's passes, and the pointers into it.
 *
 * Threads:  a workspace belongs to the holder of the engine's pass lock.
 */
#ifndef CF_CORE_INFER_PLAN_H
#define CF_CORE_INFER_PLAN_H

#include "core/api/engine.h"
#include "core/infer/kv_cache.h"
#include "core/model/weights.h"

enum {
    CF_CTX_DEFAULT = 8192,
    CF_BATCH_DEFAULT = 512,
    CF_BATCH_MIN = 8, /* rows of a workspace, whatever a session asks for */
    CF_BATCH_MAX = 4096,
    CF_LOGIT_ROWS_MAX = 32, /* rows of logits computed together */
    CF_THREADS_MAX = 256,
    /* Where a position's keys and values take no more than this as floats,
     * floats are the default. */
    CF_KV_F32_BYTES = 16 << 10
};

/* The buffers of a pass over n_row rows. */
typedef enum cf_ws_buf {
    CF_WS_X,              /* float [n_row, n_embd]: the residual stream */
    CF_WS_H,              /* float [n_row, n_embd]: normalised x, then a block's
                     output */
    CF_WS_Q,              /* float [n_row, n_head * head_size], with an output gate
                     twice that; or a recurrent layer's inputs */
    CF_WS_K,              /* float [n_row, n_head_kv * head_size]; or its gates */
    CF_WS_V,              /* float [n_row, n_head_kv * head_size_v]; or its factors */
    CF_WS_ATT,            /* float [n_row, n_head * head_size_v]; or its outputs */
    CF_WS_GATE,           /* float [n_row, n_ff]; or its convolution, or heads' outputs */
    CF_WS_UP,             /* float [n_row, n_ff]; or queries, see latent.c */
    CF_WS_ROUTE,          /* scores, weights and slots of experts, see experts.c */
    CF_WS_EXPERT_GATE,    /* float [n_row * n_used, n_ff of an expert] */
    CF_WS_EXPERT_UP,      /* likewise */
    CF_WS_EXPERT_OUT,     /* float [n_row * n_used, n_embd] */
    CF_WS_PER_LAYER,      /* float [n_row, n_layer * n_per_layer] */
    CF_WS_PER_LAYER_EMBD, /* likewise */
    CF_WS_STREAMS,        /* float [n_altup, n_row, n_embd] */
    CF_WS_SIDE,           /* float [n_row, n_embd]: a parallel block, or what a later
                     part reads of the layer's start */
    CF_WS_PACKED,         /* float: an encoder's keys and values, see encoder.h */
    CF_WS_XP,             /* bytes: inputs prepared for a group of matrices */
    CF_WS_ANGLES,         /* float [CF_ROPE_SETS, n_row, n_angle] */
    CF_WS_LOGITS,         /* float [n_logit, n_vocab] */
    CF_WS_THREAD,         /* bytes [n_thread, thread_bytes]: see cf_ws */
    CF_WS_COUNT
} cf_ws_buf;

typedef struct cf_ws_plan {
    uint32_t n_row, n_ctx, n_logit;
    unsigned n_thread;
    size_t off[CF_WS_COUNT], bytes[CF_WS_COUNT];
    size_t thread_bytes; /* of one thread: */
    size_t attn_off;     /* matmul scratch, then attention's scratch, */
    size_t k_off, v_off; /* then block pointers of keys and of values, */
    size_t own_off;      /* then one row prepared for a small matrix */
    size_t n_angle;      /* rotated dimensions at most */
    size_t total;
} cf_ws_plan;

typedef struct cf_ws {
    cf_ws_plan plan;
    unsigned char *p; /* plan.total bytes, 64-byte aligned */
} cf_ws;

/* The quantities that determine the size of the buffers. */
typedef struct cf_ws_model {
    const cf_hparams *hp;
    const cf_weights *w;
    const cf_kernels *k;
    unsigned n_thread;
} cf_ws_model;

/* Bytes of inputs prepared for `n` matrices that read the same activations:
 * where each one's lie (matrices of one class share), and their sum, for
 * `n_row` rows. */
size_t cf_ws_prepared(size_t off[], const cf_kernels *k, const cf_mat *const m[], size_t n,
                      size_t n_row);

/* Sizes for n_row rows and contexts of up to n_ctx. */
void cf_ws_plan_make(cf_ws_plan *out, const cf_ws_model *m, uint32_t n_row, uint32_t n_ctx);

/* Makes the workspace at least that large; its contents are lost.  On
 * CF_ENOMEM (with figures) it is as it was. */
CF_MUST_USE cf_status cf_ws_grow(cf_ws *ws, const cf_ws_model *m, uint32_t n_row, uint32_t n_ctx,
                                 cf_error *err);
void cf_ws_deinit(cf_ws *ws);

/* Whether `bytes` more would fit the machine; CF_ENOMEM with figures. */
CF_MUST_USE cf_status cf_plan_fits(uint64_t bytes, const char *what, cf_error *err);

/* The table that is shown to the user. */
void cf_plan_make(cf_plan *out, const cf_ws_plan *ws, const cf_ws_model *m, const cf_kv_layout *kv,
                  uint32_t n_ctx);

#endif
