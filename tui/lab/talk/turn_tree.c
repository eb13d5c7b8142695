/*
 * turn_tree.c - one walk over the turns; each comes after its parent.
 */
#include "tui/lab/talk/turn_tree.h"
#include "tui/lab/talk/lab_conversation.h"

#include "core/base/alloc.h"

void cf_turn_tree_deinit(cf_turn_tree *tree)
{
    cf_turn_map_deinit(&tree->map);
    cf_free(tree->depth);
    cf_free(tree->place);
    cf_free(tree->below);
    *tree = (cf_turn_tree){0};
}

static bool make_room(cf_turn_tree *t, size_t n)
{
    uint32_t **arrays[3] = {&t->depth, &t->place, &t->below};
    if (n <= t->cap) {
        return true;
    }
    size_t cap = 2 * n;
    for (size_t i = 0; i < 3; i++) {
        uint32_t *v = cf_realloc(*arrays[i], cap, sizeof *v);
        if (v == NULL) {
            return false;
        }
        *arrays[i] = v;
    }
    t->cap = cap;
    return true;
}

bool cf_turn_tree_update(cf_turn_tree *tree, const cf_lab *lab)
{
    size_t n, n_path;
    uint32_t n_roots = 0;
    const cf_turn *const *turns = cf_lab_turns(lab, &n);
    const cf_turn *const *path = cf_lab_path(lab, &n_path);
    uint64_t generation = cf_lab_generation(lab);
    if (tree->is_valid && tree->generation == generation) {
        return true;
    }
    tree->is_valid = false;
    cf_turn_map_clear(&tree->map);
    if (!make_room(tree, n)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t up = cf_turn_map_get(&tree->map, turns[i]->parent);
        bool has_up = up != CF_TURN_MAP_NONE;
        uint32_t *n_before = has_up ? &tree->below[up] : &n_roots;
        tree->depth[i] = (has_up ? tree->depth[up] : 0) + (*n_before > 0);
        (*n_before)++;
        tree->place[i] = tree->below[i] = 0;
        if (!cf_turn_map_put(&tree->map, turns[i]->id, (uint32_t)i)) {
            return false;
        }
    }
    for (size_t i = 0; i < n_path; i++) {
        uint32_t at = cf_turn_map_get(&tree->map, path[i]->id);
        if (at != CF_TURN_MAP_NONE) {
            tree->place[at] = (uint32_t)i + 1;
        }
    }
    tree->n = n;
    tree->generation = generation;
    tree->is_valid = true;
    return true;
}
