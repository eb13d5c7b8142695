/*
 * steer.h - steering: vectors that are added to the residual stream while a
 * model computes.
 *
 * Place in the flow:  control vector file --> [steering] --> session.h.
 * Knows: control vectors in llama.cpp's GGUF form, and how to make them.
 * Does not know: what a vector means.
 *
 * A file's tensor direction.N is added to what leaves layer N (counted from 0)
 * at every position:  x_(N+1) += scale * direction.N, in the words of inside.h.
 * So N is 1 .. L - 1; further ones are left out.  gemma3n: to each stream.
 *
 * The form is llama.cpp's (llama_control_vector_load, which llama-cvector-
 * generator and repeng write for): general.architecture "controlvector",
 * controlvector.model_hint, controlvector.layer_count, and float32 tensors
 * direction.N of the model's width.  The idea: Turner et al. 2023,
 * arXiv 2308.10248; Zou et al. 2023, arXiv 2310.01405.
 *
 * Threads:  constant once a session has it.
 * Memory:   freed after the sessions that use it and before its engine.
 */
#ifndef CF_CORE_API_STEER_H
#define CF_CORE_API_STEER_H

#include "core/api/inside.h"
#include "core/base/hash.h"

CF_BEGIN_DECLS

typedef struct cf_steering cf_steering;

/* Without vectors.  CF_EINVAL for an engine without weights, CF_ENOMEM. */
CF_MUST_USE cf_status cf_steering_new(cf_steering **out, const cf_engine *engine, cf_error *err);
void cf_steering_free(cf_steering *s);

/* A file in use. */
typedef struct cf_steering_use {
    const char *path;            /* borrowed */
    char hash[CF_HASH_TEXT + 1]; /* SHA-256 of the file's vectors with their numbers */
    float scale;
    uint32_t first, last; /* of its directions, both included; 0, 0: all */
} cf_steering_use;

enum { CF_STEERING_MAX = 8 };

/* Adds scale times the directions first..last of a file (0, 0: all of them).
 * CF_ENOTFOUND, CF_EIO; CF_EFORMAT for another file or a vector of another
 * width; CF_EINVAL for a range that is empty; CF_ELIMIT for more than
 * CF_STEERING_MAX files; CF_ENOMEM.  After a failure it is as it was. */
CF_MUST_USE cf_status cf_steering_add_file(cf_steering *s, const char *path, float scale,
                                           uint32_t first, uint32_t last, cf_error *err);

/* Adds scale * v[n_embd] to x_l.  CF_EINVAL for l outside 0 .. L, CF_ENOMEM. */
CF_MUST_USE cf_status cf_steering_add(cf_steering *s, uint32_t l, const float *v, float scale,
                                      cf_error *err);

/* The sum for x_l, [n_embd]; NULL: nothing. */
const float *cf_steering_at(const cf_steering *s, uint32_t l);
/* The files, [*n]. */
const cf_steering_use *cf_steering_uses(const cf_steering *s, size_t *n);

/* Scales each sum that there is to length 1. */
void cf_steering_normalise(cf_steering *s);

/* Adds the difference of what two timelines have at their asked positions, each
 * x_l, l = 2 .. L, times `weight`: the mean over pairs of prompts has 1 / their
 * number (gemma3n: the mean of the streams).  Errors of cf_inside_stream(). */
CF_MUST_USE cf_status cf_steering_add_pair(cf_steering *s, cf_session *session,
                                           const cf_inside_ask *with, const cf_inside_ask *without,
                                           float weight, cf_error *err);

/* Adds the direction in which x_L raises a token's logit most, its row of the
 * output matrix times the weights of the final norm, to each x_l, l = 2 .. L.
 * CF_EINVAL for an id outside. */
CF_MUST_USE cf_status cf_steering_add_row(cf_steering *s, cf_token id, float scale, cf_error *err);

/* Writes x_2 .. x_L as a control vector file, which llama.cpp reads too.
 * CF_EINVAL when there is none, CF_EIO, CF_ENOMEM. */
CF_MUST_USE cf_status cf_steering_write(const cf_steering *s, const char *path, cf_error *err);

/* Steers a session from now on; NULL: no longer.  If that is a change, its
 * timeline is forgotten.  CF_EINVAL for the steering of another engine. */
CF_MUST_USE cf_status cf_session_set_steering(cf_session *session, const cf_steering *s,
                                              cf_error *err);
const cf_steering *cf_session_steering(const cf_session *session); /* NULL: none */

CF_END_DECLS

#endif
