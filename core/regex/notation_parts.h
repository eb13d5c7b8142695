/*
 * notation_parts.h - grammars written as text, whatever the notation: rules
 * whose bodies are trees of parts, and their way into the automaton.
 *
 * notation.c reads confab's notation and gbnf.c llama.cpp's; both fill the same
 * reader.  All failures are the builder's.  Room-internal; one thread at a time.
 */
#ifndef CF_CORE_REGEX_NOTATION_PARTS_H
#define CF_CORE_REGEX_NOTATION_PARTS_H

#include "core/base/arena.h"
#include "core/regex/regex.h"

enum {
    CF_NOTATION_DEPTH_MAX = 100,   /* groups inside groups */
    CF_NOTATION_COUNTS_MAX = 10,   /* counts behind one item */
    CF_NOTATION_COUNT_MAX = 10000, /* repetitions */
};

typedef enum cf_part_kind {
    CF_PART_TEXT,
    CF_PART_REGEX,
    CF_PART_SET,
    CF_PART_RULE,
    CF_PART_SEQUENCE,
    CF_PART_CHOICE,
    CF_PART_REPEAT
} cf_part_kind;

typedef struct cf_part {
    cf_part_kind kind;
    cf_str text;           /* TEXT: its bytes; REGEX: pattern; RULE: name */
    size_t at;             /* offset in the source */
    struct cf_part *first; /* SEQUENCE, CHOICE, REPEAT: children */
    struct cf_part *next;  /* sibling */
    uint32_t min, max;     /* REPEAT; CF_RX_INF: no limit */
    cf_rx set;             /* SET: characters */
} cf_part;

typedef struct cf_rule {
    cf_str name;
    cf_part *body;
    uint32_t id;
    struct cf_rule *next;
    struct cf_rule *chain; /* of its bucket */
} cf_rule;

typedef struct cf_notation {
    cf_gbuild *b;
    cf_rx_pool *rx;
    cf_arena arena;
    cf_str s; /* the source */
    size_t i; /* offset of the next byte */
    unsigned depth;
    cf_rule *rules, *last;
    cf_rule **bucket; /* by name; in the arena */
} cf_notation;

/* Fails at the byte `at` of the source, with line and column; the first
 * failure stays. */
void cf_notation_fail(cf_notation *r, cf_status code, size_t at, const char *what);
bool cf_notation_is_ok(const cf_notation *r);

/* NULL when memory ran out, which the builder then knows. */
cf_part *cf_notation_part(cf_notation *r, cf_part_kind kind, size_t at);
/* A part that repeats `p`; NULL as above. */
cf_part *cf_notation_repeat(cf_notation *r, cf_part *p, uint32_t min, uint32_t max);

/* A decimal number of at most CF_NOTATION_COUNT_MAX; false when there is none. */
bool cf_notation_number(cf_notation *r, uint32_t *out);

/* NULL: no rule of that name. */
cf_rule *cf_notation_find(const cf_notation *r, cf_str name);
/* A new rule without a body; NULL on failure, a second one of a name too. */
cf_rule *cf_notation_rule(cf_notation *r, cf_str name, size_t at);

/* The readers: they append rules until the source ends or fails. */
void cf_notation_read(cf_notation *r);
void cf_gbnf_read(cf_notation *r);

/* Whether the first rule is defined with "::=". */
bool cf_gbnf_is(cf_str text);

#endif
