/*
 * tensor_finder.h - tensors by name, checked against their shape.
 *
 * Each tensor found is marked, so that unused ones can be named at the end.
 *
 * Private to core/model.
 */
#ifndef CF_CORE_MODEL_TENSOR_FINDER_H
#define CF_CORE_MODEL_TENSOR_FINDER_H

#include "core/model/weights.h"

typedef struct cf_tensor_finder {
    const cf_gguf *g;
    const cf_hparams *hp;
    cf_weights *w;
    bool *used; /* [tensors of the file] */
    cf_error *err;
    char name[96]; /* of the tensor looked for last */
} cf_tensor_finder;

/* Sets the name that the calls below look for; layer i's with the second. */
void cf_tensor__name(cf_tensor_finder *f, const char *name);
void cf_tensor__name_in(cf_tensor_finder *f, uint32_t i, const char *name);

bool cf_tensor__is_there(const cf_tensor_finder *f);

/* The tensor of that name is allowed, but not used. */
void cf_tensor__ignore(cf_tensor_finder *f);

CF_MUST_USE cf_status cf_tensor__missing(cf_tensor_finder *f);

/* The matrix [n_row, n_col]; opt leaves *out where it is absent. */
CF_MUST_USE cf_status cf_tensor__mat(cf_tensor_finder *f, uint32_t n_row, uint32_t n_col,
                                     cf_mat *out);
CF_MUST_USE cf_status cf_tensor__opt_mat(cf_tensor_finder *f, uint32_t n_row, uint32_t n_col,
                                         cf_mat *out);

/* n matrices [n_row, n_col], one after the other. */
CF_MUST_USE cf_status cf_tensor__stack(cf_tensor_finder *f, uint32_t n, uint32_t n_row,
                                       uint32_t n_col, cf_mat_stack *out);

/* Rows row0..row0+n-1 of m. */
cf_mat cf_tensor__slice(const cf_mat *m, uint32_t row0, uint32_t n);

/* Numbers [n_row, n_col] as float32, in whatever dimensions the file puts
 * them as long as rows are n_col or the whole; opt gives NULL where they are
 * absent. */
CF_MUST_USE cf_status cf_tensor__floats(cf_tensor_finder *f, uint32_t n_row, uint32_t n_col,
                                        const float **out);
CF_MUST_USE cf_status cf_tensor__opt_floats(cf_tensor_finder *f, uint32_t n_row, uint32_t n_col,
                                            const float **out);

/* The vector [n]. */
CF_MUST_USE cf_status cf_tensor__vec(cf_tensor_finder *f, uint32_t n, const float **out);
CF_MUST_USE cf_status cf_tensor__opt_vec(cf_tensor_finder *f, uint32_t n, const float **out);

/* The weights [n] of a norm, with its bias after them where the family has one;
 * the name ends in ".weight". */
CF_MUST_USE cf_status cf_tensor__norm(cf_tensor_finder *f, uint32_t n, const float **out);

/* ---- parts of a layer, weights_parts.c ---------------------------------- */

CF_MUST_USE cf_status cf_weights__find_recurrent(cf_tensor_finder *f, uint32_t i,
                                                 cf_layer_weights *w);
/* All of latent attention but its output matrix. */
CF_MUST_USE cf_status cf_weights__find_latent(cf_tensor_finder *f, uint32_t i, cf_layer_weights *w);
CF_MUST_USE cf_status cf_weights__find_experts(cf_tensor_finder *f, uint32_t i,
                                               cf_layer_weights *w);
/* Per-layer embeddings, the layer's scale, alternating updates. */
CF_MUST_USE cf_status cf_weights__find_extras(cf_tensor_finder *f, uint32_t i, cf_layer_weights *w);
CF_MUST_USE cf_status cf_weights__find_outer_extras(cf_tensor_finder *f);

/* What encoders and rankers have around their layers, weights_encoder.c */
CF_MUST_USE cf_status cf_weights__find_ends(cf_tensor_finder *f);

#endif
