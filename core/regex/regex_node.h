/*
 * regex_node.h - the inside of an expression, for the files that build
 * automata from them.  Room-internal.
 */
#ifndef CF_CORE_REGEX_REGEX_NODE_H
#define CF_CORE_REGEX_REGEX_NODE_H

#include "core/regex/regex.h"

typedef enum rx_kind { RX_NONE, RX_EPS, RX_SET, RX_CAT, RX_ALT, RX_AND, RX_NOT, RX_LOOP } rx_kind;

struct cf_rx_node {
    uint8_t kind;
    bool is_nullable;
    cf_rx a, b;        /* CAT: both; NOT, LOOP: a */
    uint32_t first, n; /* SET: ranges; ALT, AND: children */
    uint32_t min, max; /* LOOP */
    uint32_t hash;
    uint32_t next; /* hash chain */
};

bool cf_rx__set_has(const cf_rx_pool *rx, const cf_rx_node *n, uint32_t cp);

/* The derivative: the rests of the texts of `id` that begin with cp. */
cf_rx cf_rx__derive(cf_rx_pool *rx, cf_rx id, uint32_t cp);

#endif
