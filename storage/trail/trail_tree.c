/*
 * trail_tree.c - walks through parents that may be missing, cyclic or forward.
 *
 * Every walk marks a node before it goes on, so that it ends after as many
 * steps as there are nodes.
 */
#include "storage/trail/trail_tree.h"

#include "core/base/alloc.h"

trail_node *trail_tree_add(trail_reader *r, trail_tree *t, cf_str id, cf_str parent, uint64_t line)
{
    if (trail_find(&t->ids, id) != TRAIL_NONE) {
        trail_left_out(r, line, "duplicate", cf_str_make("", 0));
        return NULL;
    }
    if (!cf_grow(&t->v, &t->cap, t->n + 1, sizeof *t->v)) {
        r->failed = true;
        return NULL;
    }
    trail_put(r, &t->ids, id, t->n);
    trail_node *node = &t->v[t->n++];
    *node = (trail_node){
        .id = id, .parent = parent, .line = line, .up = TRAIL_NONE, .root = TRAIL_NONE};
    return node;
}

/* The nearest node before `at` that is not on the path. */
static size_t nearest_before(const trail_tree *t, size_t at)
{
    while (at-- > 0) {
        if (!t->v[at].is_on_path) {
            return at;
        }
    }
    return TRAIL_NONE;
}

/* Where the path goes on from a node that is on it now. */
static size_t next_up(trail_reader *r, trail_tree *t, size_t at)
{
    trail_node *node = &t->v[at];
    if (node->parent.n == 0) {
        return TRAIL_NONE;
    }
    size_t up = node->up;
    bool is_taken = up != TRAIL_NONE && t->v[up].is_on_path;
    if (node->is_boundary && (up == TRAIL_NONE || is_taken)) {
        return nearest_before(t, at);
    }
    if (up == TRAIL_NONE) {
        trail_left_out(r, node->line, "unknown parent", cf_str_make("", 0));
        return node->up = nearest_before(t, at);
    }
    if (is_taken) {
        trail_left_out(r, node->line, "cycle of parents", cf_str_make("", 0));
        return TRAIL_NONE;
    }
    return up;
}

void trail_tree_walk(trail_reader *r, trail_tree *t, size_t leaf)
{
    for (size_t i = 0; i < t->n; i++) {
        t->v[i].up = trail_find(&t->ids, t->v[i].parent);
    }
    for (size_t at = leaf; at != TRAIL_NONE;) {
        t->v[at].is_on_path = true;
        at = next_up(r, t, at);
    }
    /* What follows the last message without being one. */
    for (size_t i = leaf == TRAIL_NONE ? t->n : leaf + 1, last = leaf; i < t->n; i++) {
        if (t->v[i].up == last && !t->v[i].is_message && !t->v[i].is_on_path) {
            t->v[i].is_on_path = true;
            last = i;
        }
    }
    trail_tree_roots(t);
}

/* The first node of the branch that `at` is on: its last ancestor off the
 * path, or one whose root is known already. */
static size_t root_of(const trail_tree *t, size_t at)
{
    size_t steps = 0;
    for (;;) {
        size_t up = t->v[at].up;
        if (t->v[at].root != TRAIL_NONE) {
            return t->v[at].root;
        }
        if (up == TRAIL_NONE || t->v[up].is_on_path || ++steps > t->n) {
            return at;
        }
        at = up;
    }
}

/* Gives every node from `at` up to its branch's root that root. */
static void set_root(trail_tree *t, size_t at)
{
    size_t root = root_of(t, at);
    while (at != TRAIL_NONE && !t->v[at].is_on_path && t->v[at].root == TRAIL_NONE) {
        t->v[at].root = root;
        at = t->v[at].up;
    }
}

/* Puts a node at the end of its branch or of the path. */
static void chain(trail_tree *t, size_t at)
{
    size_t root = t->v[at].root;
    size_t *tail = root != TRAIL_NONE ? &t->v[root].tail : &t->tail;
    if (*tail != TRAIL_NONE) {
        t->v[*tail].after = at;
    } else if (root == TRAIL_NONE) {
        t->first = at;
    }
    *tail = at;
}

void trail_tree_roots(trail_tree *t)
{
    t->first = t->tail = TRAIL_NONE;
    for (size_t i = 0; i < t->n; i++) {
        t->v[i].root = t->v[i].after = t->v[i].tail = TRAIL_NONE;
    }
    for (size_t i = 0; i < t->n; i++) {
        if (!t->v[i].is_on_path) {
            set_root(t, i);
        }
    }
    for (size_t i = 0; i < t->n; i++) {
        chain(t, i);
    }
}

void trail_tree_settle(trail_tree *t)
{
    for (size_t i = 0; i < t->n; i++) {
        trail_node *node = &t->v[i];
        if (node->is_on_path && node->last == NULL && node->up != TRAIL_NONE) {
            node->last = t->v[node->up].is_on_path ? t->v[node->up].last : NULL;
        }
    }
}

const cf_trail_message *trail_tree_from(const trail_tree *t, size_t root)
{
    size_t up = t->v[root].up;
    return up != TRAIL_NONE && t->v[up].is_on_path ? t->v[up].last : NULL;
}

void trail_tree_free(trail_tree *t)
{
    cf_free(t->v);
    trail_index_free(&t->ids);
    *t = (trail_tree){0};
}
