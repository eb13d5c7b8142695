/*
 * json_hash.h - a number for the value of a JSON text, the same for every
 * text of that value.
 *
 * The machine compares the items of an array with it.  Knows nothing of
 * grammars.
 *
 * Threads:  any.  Memory:  none.
 */
#ifndef CF_CORE_GRAMMAR_JSON_HASH_H
#define CF_CORE_GRAMMAR_JSON_HASH_H

#include <stddef.h>
#include <stdint.h>

/* p[0..n) is one valid JSON text.  Equal values have equal numbers: 1 and
 * 1.0, strings however they are escaped, objects in any order of keys.
 * Different values have different ones but for chance (2^-64).  Below 200
 * levels everything counts as equal. */
uint64_t cf_json_hash(const char *p, size_t n);

#endif
