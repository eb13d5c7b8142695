/*
 * regex.h - regular languages over Unicode code points.
 *
 * An expression is a number in a pool of interned nodes, closed under union,
 * intersection and complement.  Automata come from derivatives (Brzozowski
 * 1964; similarity rules as in Owens, Reppy and Turon 2009), so counted
 * repetition is never expanded.
 *
 * Failures are the builder's: all calls are sticky through cf_gbuild.
 * Room-internal.  One thread at a time.
 */
#ifndef CF_CORE_REGEX_REGEX_H
#define CF_CORE_REGEX_REGEX_H

#include "core/grammar/grammar.h"

typedef uint32_t cf_rx; /* an expression of a pool */

enum { CF_RX_FAIL = 0, CF_RX_NONE = 1, CF_RX_EPS = 2 };

#define CF_RX_INF UINT32_MAX
#define CF_CP_MAX UINT32_C(0x10FFFF)

typedef struct cf_cprange {
    uint32_t lo, hi; /* code points, both ends included */
} cf_cprange;

typedef struct cf_rx_node cf_rx_node;

typedef struct cf_rx_pool {
    cf_gbuild *b;
    cf_rx_node *node;
    size_t n_node, cap_node;
    uint32_t *list; /* children of unions and intersections */
    size_t n_list, cap_list;
    cf_cprange *range; /* of sets */
    size_t n_range, cap_range;
    uint32_t *bucket;
    size_t n_bucket;
    uint32_t *memo, *memo_epoch; /* of one derivation */
    size_t cap_memo, cap_memo_epoch;
    uint32_t epoch;
    unsigned depth;
} cf_rx_pool;

void cf_rx_init(cf_rx_pool *rx, cf_gbuild *b);
void cf_rx_deinit(cf_rx_pool *rx);

/* ranges: any order, may overlap. */
cf_rx cf_rx_set(cf_rx_pool *rx, const cf_cprange *ranges, size_t n);
cf_rx cf_rx_any(cf_rx_pool *rx); /* one code point */
cf_rx cf_rx_all(cf_rx_pool *rx); /* every text */
cf_rx cf_rx_text(cf_rx_pool *rx, cf_str utf8);
cf_rx cf_rx_cat(cf_rx_pool *rx, cf_rx a, cf_rx b);
cf_rx cf_rx_alt(cf_rx_pool *rx, const cf_rx *v, size_t n);
cf_rx cf_rx_or2(cf_rx_pool *rx, cf_rx a, cf_rx b);
cf_rx cf_rx_and2(cf_rx_pool *rx, cf_rx a, cf_rx b);
cf_rx cf_rx_not(cf_rx_pool *rx, cf_rx a);
cf_rx cf_rx_loop(cf_rx_pool *rx, cf_rx a, uint32_t min, uint32_t max);

bool cf_rx_nullable(const cf_rx_pool *rx, cf_rx a);
bool cf_rx_matches(cf_rx_pool *rx, cf_rx a, cf_str utf8);

/* The ECMA-262 pattern as the language of all texts in which it is found
 * (is_search), or that it matches whole.  Fails with CF_EUNSUPPORTED or
 * CF_EFORMAT. */
cf_rx cf_rx_parse(cf_rx_pool *rx, cf_str pattern, bool is_search);

/* ---- automata ----------------------------------------------------------- */

typedef struct cf_dfa_move {
    uint32_t lo, hi; /* code points */
    uint32_t to;
} cf_dfa_move;

typedef struct cf_dfa_state {
    uint32_t first, n; /* into move, sorted, not overlapping */
    bool is_final;
} cf_dfa_state;

/* State 0 starts; every state leads to a final one; no states: empty. */
typedef struct cf_dfa {
    cf_dfa_state *state;
    cf_dfa_move *move;
    size_t n_state, cap_state, n_move, cap_move;
} cf_dfa;

/* The automaton of `a`; a limit on states guards against explosion. */
void cf_rx_dfa(cf_rx_pool *rx, cf_rx a, cf_dfa *out);
void cf_dfa_deinit(cf_dfa *d);

/* Removes states that lead nowhere; the builder takes failures. */
void cf_dfa_trim(cf_gbuild *b, cf_dfa *d);
/* Texts in both; out must be empty. */
void cf_dfa_and(cf_gbuild *b, const cf_dfa *x, const cf_dfa *y, cf_dfa *out);

bool cf_rx_is_empty(cf_rx_pool *rx, cf_rx a);

/*
 * When `a` holds at most max texts: calls fn for each (UTF-8) and returns
 * true; false, and fn may have been called, when there are more.
 */
bool cf_rx_list(cf_rx_pool *rx, cf_rx a, size_t max, void (*fn)(void *ud, cf_str text), void *ud);

typedef enum cf_spelling {
    CF_SPELL_RAW,     /* UTF-8 as it is */
    CF_SPELL_JSON,    /* as the inside of a JSON string, with the escapes that
                         must be and every short form */
    CF_SPELL_KEY,     /* the same, one spelling a character */
    CF_SPELL_PYTHON2, /* inside a Python string in double quotes */
    CF_SPELL_PYTHON1  /* in single quotes */
} cf_spelling;

/* Nodes that spell the automaton's texts from node `from` to node `to`; with
 * closer >= 0 that byte follows each text. */
void cf_dfa_emit(cf_gbuild *b, const cf_dfa *d, cf_spelling how, int closer, uint32_t from,
                 uint32_t to);

/* The same for the texts of min to max characters, counted in the register of
 * the rule that is being made: where the product with the lengths would be
 * too large.  Every node can still be left for the end, but where the
 * automaton has no text of one of the lengths between. */
void cf_dfa_emit_counted(cf_gbuild *b, const cf_dfa *d, cf_spelling how, int closer, uint32_t min,
                         uint32_t max, uint32_t from, uint32_t to);

/* Characters that follow a state until the end of a text: the fewest and the
 * most (CF_RX_INF: no limit), for each state. */
typedef struct cf_dfa_lengths {
    uint32_t *least, *most; /* [n_state] */
} cf_dfa_lengths;

/* False when memory ran out, which the builder knows. */
bool cf_dfa_lengths_make(cf_gbuild *b, const cf_dfa *d, cf_dfa_lengths *out);
void cf_dfa_lengths_deinit(cf_dfa_lengths *l);

#endif
