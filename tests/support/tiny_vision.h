/*
 * tiny_vision.h - a small random projector file of Gemma 3's kind.
 */
#ifndef CF_TESTS_SUPPORT_TINY_VISION_H
#define CF_TESTS_SUPPORT_TINY_VISION_H

#include "tests/support/tiny_gguf.h"

enum { CF_TINY_VISION_ROWS = 4, CF_TINY_VISION_TENSORS = 16 };

/* The file, for a text model of width n_out.  Tensor `skip` is left out
 * (CF_TINY_VISION_TENSORS: none); `heads` heads.  Free with cf_tiny_free(). */
cf_tiny_buf cf_tiny_vision(const char *projector, size_t skip, uint32_t heads, uint32_t n_out);

/* The name of a tensor. */
const char *cf_tiny_vision_tensor(size_t i);

#endif
