/*
 * nextn.h - a draft layer of the model's own file, which guesses the token
 * after next from the state after a token and the next token.
 *
 *   row i of the layer:  z_i = join (norm(embedding of token i + 1), norm(g_i))
 *
 * with g_i the state that the model's logits after token i are made of.  The
 * layer attends to its earlier rows; its output, normalised, gives the logits
 * for token i + 2, and stands for g to go on guessing (DeepSeek-AI 2024, arXiv
 * 2412.19437, section 2.2).
 *
 * The layer is run as a model of one layer that reads rows of embeddings: an
 * engine that shares file and tokenizer with the model's, and is part of it.
 *
 * States reach a guesser from the model's passes; it keeps those of the last
 * few hundred positions.  Where one is missing, its rows begin after it: it then
 * guesses from less, and nothing else changes.
 *
 * Threads:  an engine as any; a guesser belongs to one thread at a time.
 * Memory:   a guesser owns a session of the layer and the states.
 *
 * Private to core/infer.
 */
#ifndef CF_CORE_INFER_NEXTN_H
#define CF_CORE_INFER_NEXTN_H

#include "core/infer/session_impl.h"

/* Sets e->nextn where the file has a draft layer that can be run; CF_ENOMEM. */
CF_MUST_USE cf_status cf_nextn_open(cf_engine *e, cf_error *err);
void cf_nextn_close(cf_engine *nextn);

typedef struct cf_nextn cf_nextn;

/* For timelines of up to n_ctx tokens on an engine with a draft layer.
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_nextn_new(cf_nextn **out, const cf_engine *e, uint32_t n_ctx,
                                   cf_error *err);
void cf_nextn_free(cf_nextn *x);

/* The state after the token at pos, [n_embd], copied. */
void cf_nextn_hidden(cf_nextn *x, uint32_t pos, const float *hidden);

/* Forgets all states, as another timeline may follow; rows stay. */
void cf_nextn_forget(cf_nextn *x);

/* Fills out[0..cap) with guesses after ids[0..n), all but the last of which
 * the model has computed: how many. */
size_t cf_nextn_ask(cf_nextn *x, const cf_token *ids, size_t n, cf_token *out, size_t cap);

#endif
