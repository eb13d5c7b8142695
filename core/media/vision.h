/*
 * vision.h - a picture to rows of embeddings: blocks of pixels, a transformer
 * over their patches, a projector to the text model's width.
 *
 * Every projector type has its own file; the transformer is shared.
 *
 * Private to core/media.
 * Memory: a cf_vision borrows from its cf_mmproj.
 */
#ifndef CF_CORE_MEDIA_VISION_H
#define CF_CORE_MEDIA_VISION_H

#include "core/media/dense.h"
#include "core/media/media_marks.h"
#include "core/media/mmproj.h"
#include "core/media/resample.h"

enum { CF_DEEPSTACK_MAX = 8 };

typedef struct cf_norm {
    const float *w, *b; /* [width]; b may be NULL */
} cf_norm;

typedef struct cf_vision_layer {
    cf_norm ln1, ln2;
    cf_linear q, k, v, o;
    cf_linear gate, up, down;               /* gate.w.p may be NULL */
    const float *q_norm, *k_norm;           /* [head size] or NULL */
    const float *post_norm, *ffn_post_norm; /* [width] or NULL */
} cf_vision_layer;

/* A deepstack merger: fc2 gelu(fc1 norm(four patches)). */
typedef struct cf_merger {
    uint32_t layer; /* whose output it reads */
    cf_norm norm;
    cf_linear fc1, fc2;
} cf_merger;

typedef struct cf_vision cf_vision;

/* A square or rectangle of pixels on its way to the model. */
typedef struct cf_vision_block {
    cf_pixels picture;
    uint32_t cols, rows; /* of embedding rows */
} cf_vision_block;

typedef struct cf_vision_blocks {
    cf_vision_block *v;
    size_t n, cap;
    uint32_t tile_cols, tile_rows; /* tiles before the last block; 0: none */
    const cf_stop *stop;           /* while they are made; may be NULL */
} cf_vision_blocks;

/* Which numbers of a head are turned by the place of a patch (rotary angles). */
typedef enum cf_vision_turn {
    CF_VISION_NO_TURN,
    CF_VISION_HALVES,  /* pairs half a head apart; the first half by row */
    CF_VISION_QUARTERS /* pairs a quarter apart; the first two quarters by column */
} cf_vision_turn;

/* One projector type: a file vision_NAME.c that defines cf_vision_NAME, and the
 * name in CF_VISION_FAMILIES.  Zero is the usual value of each trait. */
typedef struct cf_vision_family {
    const char *projector; /* clip.projector_type */
    cf_media_marks marks;
    bool has_mrope;        /* text positions have time, height and width */
    bool sees_both_ways;   /* rows of a block see each other */
    bool has_rms_norm;     /* in the blocks, in place of layer norms */
    bool doubles_pixels;   /* the patch embedding reads 2 * pixel - 1 */
    cf_vision_turn turn;   /* of queries and keys */
    double turn_base;      /* 0: 10000 */
    float attention_scale; /* 0: 1 / sqrt(head size) */
    uint32_t merge;        /* where no key says it; 0: 1 */
    /* What each block has besides the shared tensors; may be NULL. */
    cf_status (*load_layer)(const cf_vision *v, cf_mmproj *m, cf_vision_layer *l,
                            const char *prefix, cf_error *err);
    /* What the family's files have besides the shared keys and tensors. */
    cf_status (*load)(cf_vision *v, cf_mmproj *m, cf_error *err);
    /* Cuts a picture into blocks of pixels (vision_cut.h). */
    cf_status (*cut)(const cf_vision *v, const cf_pixels *p, cf_vision_blocks *to, cf_error *err);
    /* Adds the position of patch i of cols x rows to its row x [width]. */
    void (*place)(const cf_vision *v, float *x, size_t i, uint32_t cols, uint32_t rows);
    /* x [patches, width] to rows [.., n_out]; may overwrite x. */
    cf_status (*project)(const cf_vision *v, const cf_dense *d, float *out, float *x,
                         const cf_vision_block *b, cf_error *err);
} cf_vision_family;

#define CF_VISION_FAMILIES(X) X(gemma3) X(qwen3vl) X(idefics3) X(gemma4) X(lfm2)

#define CF_VISION_DECLARE(name) extern const cf_vision_family cf_vision_##name;
CF_VISION_FAMILIES(CF_VISION_DECLARE)

struct cf_vision {
    const cf_vision_family *family;
    uint32_t width, n_ff, n_head, n_layer, n_out;
    uint32_t image_size, patch, merge, longest;
    uint32_t min_pixels, max_pixels;
    uint32_t min_tiles, max_tiles; /* of a picture too large; 0: never cut */
    float eps, mean[3], std[3];
    cf_act act;
    cf_linear patch_embd, patch_embd_2; /* the second may be absent */
    const float *pos;                   /* [n_pos, width] */
    uint32_t n_pos, pos_side;
    cf_vision_layer *layer; /* [n_layer] */
    cf_norm post_ln;        /* w may be NULL */
    cf_norm out_norm;       /* of the projector */
    const float *out_bias, *out_scale;
    cf_linear fc1, fc2;
    uint32_t n_merger;
    cf_merger merger[CF_DEEPSTACK_MAX];
};

/* CF_EFORMAT, CF_EUNSUPPORTED for other projectors. */
CF_MUST_USE cf_status cf_vision_init(cf_vision *v, cf_mmproj *m, cf_error *err);

/* Patches of the largest block that pictures are cut into. */
uint32_t cf_vision_most_patches(const cf_vision *v);

/* Numbers of a row: n_out for itself, then as many for each deepstack part. */
static inline size_t cf_vision_row_width(const cf_vision *v)
{
    return (size_t)v->n_out * (1 + v->n_merger);
}

/* Cuts a picture into blocks, which must be released even after a failure. */
CF_MUST_USE cf_status cf_vision_cut(const cf_vision *v, const cf_pixels *p, cf_vision_blocks *out,
                                    cf_error *err);
void cf_vision_blocks_deinit(cf_vision_blocks *b);

/* Writes the encoder's input to out [h, w, 3]. CF_ECANCELLED. */
CF_MUST_USE cf_status cf_vision_normalise(const cf_vision *v, float *out, const cf_pixels *p,
                                          const cf_stop *stop, cf_error *err);

/* Encodes one block into out [cols * rows, row width]. */
CF_MUST_USE cf_status cf_vision_encode(const cf_vision *v, const cf_dense *d, float *out,
                                       const cf_vision_block *b, cf_error *err);

/* The patch that stands at place i of the order patches are computed in. */
void cf_vision__patch_at(const cf_vision *v, uint32_t cols, size_t i, uint32_t *col, uint32_t *row);

#endif
