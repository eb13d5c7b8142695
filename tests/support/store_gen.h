/*
 * store_gen.h - conversations of every shape, from a seed.
 *
 * Links with the storage room.
 */
#ifndef CF_TESTS_SUPPORT_STORE_GEN_H
#define CF_TESTS_SUPPORT_STORE_GEN_H

#include "storage/store.h"
#include "tests/support/rand.h"

/* A tree of at most max_turns turns in the arena, UUIDs included; some runs
 * name one of the template hashes. */
cf_store_tree store_gen_tree(cf_rand *r, cf_arena *a, size_t max_turns, const cf_str *templates,
                             size_t n_templates);

#endif
