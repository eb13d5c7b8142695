/*
 * text_plan.h - the probability of a text after a prompt, under the mask of a
 * constraint: the sum over the ways in which tokens can write it.
 *
 * Place in the flow:  tokens of a reply and the constraint before them -->
 *                     [plan] --> which logits to read at each token -->
 *                     a log-probability for the text and for each token.
 * Knows: constraints, pieces of a vocabulary.  Does not know: sessions,
 * prompts.
 *
 * Without a constraint a text is its tokens, and each counts with its
 * probability.  Under one, a token counts with its share of what the mask lets
 * through, and tokens that were put there count as certain.  All tokens that
 * agree with the text are followed forward over its bytes: where the
 * constraint leaves no other text they come together again with certainty,
 * elsewhere at the next token of the path, in the proportion that the path's
 * own token has.  So a value of an enumeration has its exact probability,
 * however it is cut into tokens.
 *
 * Threads:  constant after it was made.
 * Memory:   lives in the arena given.
 */
#ifndef CF_TEMPLATES_TEXT_PLAN_H
#define CF_TEMPLATES_TEXT_PLAN_H

#include "core/api/constraint.h"
#include "core/base/arena.h"
#include "core/base/hash.h"

/* A token that agrees with the text at a place. */
typedef struct cf_text_way {
    cf_token id;
    uint32_t agrees; /* bytes of the text */
    bool fits;       /* it has no more bytes than these */
} cf_text_way;

/* A token of the path. */
typedef struct cf_text_step {
    size_t off, len;      /* bytes of the text; an end has one behind the last */
    const uint32_t *mask; /* of the vocabulary; NULL: every token may come */
    size_t way, n_way;    /* of plan->way; none: it was put there */
} cf_text_step;

typedef struct cf_text_plan {
    cf_text_step *step; /* [n] */
    size_t n, cap;
    cf_text_way *way; /* [n_way]: one logit is read for each */
    size_t n_way, cap_way;
    cf_buf text;                /* bytes */
    cf_buf certain;             /* a byte for each: 1 where no other may follow */
    size_t n_end;               /* 1: the text ends there */
    size_t n_forced;            /* steps that could not have been otherwise */
    char tag[CF_HASH_TEXT + 1]; /* what is read; "": the steps' own tokens */
} cf_text_plan;

/* The pieces of a vocabulary by their first byte. */
typedef struct cf_text_pieces {
    cf_buf bytes;
    size_t *off;      /* [n_vocab + 1] */
    cf_token *sorted; /* [n_vocab] */
    size_t start[257];
    size_t n_vocab;
    const cf_tokenizer *tok;
} cf_text_pieces;

/* CF_ENOMEM.  `tok` is borrowed. */
CF_MUST_USE cf_status cf_text_pieces_init(cf_text_pieces *p, const cf_tokenizer *tok,
                                          cf_error *err);
void cf_text_pieces_deinit(cf_text_pieces *p);

void cf_text_plan_init(cf_text_plan *p);
void cf_text_plan_deinit(cf_text_plan *p);

/*
 * Adds a token.  `c` is the constraint before it, and takes it; NULL: it was
 * free.  `is_given`: it was put there, not drawn.  Masks live in the arena.
 * CF_EINVAL for a token that the constraint refuses, CF_ELIMIT for too many
 * different masks, CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_text_plan_add(cf_text_plan *p, const cf_text_pieces *pieces,
                                       cf_constraint *c, cf_token id, bool is_given,
                                       cf_arena *arena, cf_error *err);

/* Adds the end of the reply, as any token that ends one. */
CF_MUST_USE cf_status cf_text_plan_add_end(cf_text_plan *p, const cf_text_pieces *pieces,
                                           cf_constraint *c, cf_arena *arena, cf_error *err);

/* After the last token.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_text_plan_finish(cf_text_plan *p, const cf_text_pieces *pieces,
                                          cf_error *err);

/* Reads what step i needs out of logits[n_vocab] into read[p->n_way]. */
void cf_text_plan_read(const cf_text_plan *p, size_t i, const float *logits, size_t n_vocab,
                       float *read);

/* log_p[n]: of each step after those before it.  Their sum is the text's.
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_text_plan_sum(const cf_text_plan *p, const float *read, float *log_p,
                                       cf_error *err);

#endif
