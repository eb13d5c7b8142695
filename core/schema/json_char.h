/*
 * json_char.h - one character of a JSON string, as edges over bytes.
 *
 * Knows the builder of grammars only; strings of any content, strings of a
 * counted length and the vocabulary's ready sets are made with it.
 *
 * Threads:  as the builder.  Memory:  the builder's.
 */
#ifndef CF_CORE_SCHEMA_JSON_CHAR_H
#define CF_CORE_SCHEMA_JSON_CHAR_H

#include "core/grammar/grammar.h"

/* Edges over one character inside a JSON string (RFC 8259, section 7), from
 * node `from` to node `to`.  is_key: with the one spelling of each character
 * that cf_json_write_str() writes, so that equal keys are equal bytes. */
void cf_json_char(cf_gbuild *b, uint32_t from, uint32_t to, bool is_key);

/* The body of a rule for a JSON string of any content; of a key (is_key) what
 * follows its opening quote. */
void cf_json_string(cf_gbuild *b, uint32_t rule, bool is_key);

#endif
