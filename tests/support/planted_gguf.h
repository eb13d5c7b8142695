/*
 * planted_gguf.h - a small model whose weights are written down, so that it is
 * known which part of a prompt causes a reply.
 *
 * Two layers of attention with one head, no feed-forward, over the classes of
 * tokens (a printable ASCII character each).  What is planted:
 *
 * CF_PLANT_COPY    an induction head: after a character comes what came after
 *                  it earlier in the context (Elhage et al., "A Mathematical
 *                  Framework for Transformer Circuits", 2021).  The first layer
 *                  writes down each token's predecessor, the second looks for
 *                  the place whose predecessor is the token at hand.
 * CF_PLANT_LOOKUP  a table: a trigger anywhere in the context makes its answer
 *                  likely, whatever else is there.
 *
 * All other weights are small noise of a seed.
 *
 * Memory: from the C library; the caller frees it with cf_tiny_free().
 */
#ifndef CF_TESTS_SUPPORT_PLANTED_GGUF_H
#define CF_TESTS_SUPPORT_PLANTED_GGUF_H

#include <stddef.h>
#include <stdint.h>

typedef enum cf_plant { CF_PLANT_COPY, CF_PLANT_LOOKUP } cf_plant;

/* Triggers of CF_PLANT_LOOKUP, and the answer to each at the same index. */
#define CF_PLANT_TRIGGERS "!#$%&*+@^~"
#define CF_PLANT_ANSWERS  "BDFGHJKMQZ"

void *cf_planted_gguf(cf_plant plant, uint64_t seed, const char *chat_template, size_t *n);

#endif
