/*
 * constraint.h - what may come next, as a mask over the vocabulary.
 *
 * A grammar is compiled from a JSON Schema, tool declarations, a regular
 * expression, a choice list or grammar text; it is over bytes and knows no
 * vocabulary.  A vocab holds a tokenizer's pieces as a trie.  A state is one
 * position in a grammar: it advances by bytes or tokens, can be copied, and
 * says which tokens are allowed.
 *
 * Threads:  grammars and vocabs are constant after compile; a state belongs
 *           to one thread at a time.
 */
#ifndef CF_CORE_API_CONSTRAINT_H
#define CF_CORE_API_CONSTRAINT_H

#include "core/api/tokenizer.h"
#include "core/base/json.h"

typedef struct cf_grammar cf_grammar;
typedef struct cf_constraint_vocab cf_constraint_vocab;
typedef struct cf_constraint cf_constraint; /* a state */

#endif
