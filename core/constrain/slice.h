/*
 * slice.h - which slice of the vocabulary a node allows as a whole.
 * Room-internal.
 */
#ifndef CF_CORE_CONSTRAIN_SLICE_H
#define CF_CORE_CONSTRAIN_SLICE_H

#include "core/constrain/token_trie.h"
#include "core/grammar/grammar.h"

/* The greatest slice all of whose tokens keep the automaton going from the
 * node, whatever follows; CF_SLICE_NONE when there is none. */
unsigned cf_constraint__slice(const cf_grammar *g, uint32_t node);

#endif
