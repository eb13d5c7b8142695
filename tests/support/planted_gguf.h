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
 * CF_PLANT_PAIRS   two different triggers of one set anywhere in the context make
 *                  the set's answer likely, and one alone does not: the first
 *                  layer writes down which triggers there are, the second looks
 *                  for others of their sets.
 *
 * All other weights are small noise of a seed.
 *
 * Memory: from the C library; the caller frees it with cf_tiny_free().
 */
#ifndef CF_TESTS_SUPPORT_PLANTED_GGUF_H
#define CF_TESTS_SUPPORT_PLANTED_GGUF_H

#include <stddef.h>
#include <stdint.h>

typedef enum cf_plant { CF_PLANT_COPY, CF_PLANT_LOOKUP, CF_PLANT_PAIRS } cf_plant;

/* Triggers of CF_PLANT_LOOKUP, and the answer to each at the same index. */
#define CF_PLANT_TRIGGERS "!#$%&*+@^~"
#define CF_PLANT_ANSWERS  "BDFGHJKMQZ"

/* Of CF_PLANT_PAIRS: three sets of three triggers, and the answer of each set. */
#define CF_PLANT_SETS        "!#$%&*+@^"
#define CF_PLANT_SET_ANSWERS "BDF"

void *cf_planted_gguf(cf_plant plant, uint64_t seed, const char *chat_template, size_t *n);

#endif
