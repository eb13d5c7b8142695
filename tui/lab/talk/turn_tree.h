/*
 * turn_tree.h - the place of each turn in the tree, computed once.
 *
 * Memory:   owns its arrays; a zeroed tree is empty.
 */
#ifndef CF_TUI_LAB_TALK_TURN_TREE_H
#define CF_TUI_LAB_TALK_TURN_TREE_H

#include "tui/lab/state/lab_state.h"
#include "tui/lab/talk/turn_map.h"

typedef struct cf_turn_tree {
    uint32_t *depth; /* [n] forks above it */
    uint32_t *place; /* [n] on the path, from 1; 0: not there */
    uint32_t *below; /* [n] turns that follow it */
    size_t n, cap;   /* all turns, in the workbench's order */
    cf_turn_map map; /* from an id to that order */
    bool is_valid;
    uint64_t generation; /* of the workbench */
} cf_turn_tree;

/* Brings it up to date; false when memory ran out. */
bool cf_turn_tree_update(cf_turn_tree *tree, const cf_lab *lab);
void cf_turn_tree_deinit(cf_turn_tree *tree);

#endif
