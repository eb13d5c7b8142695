/*
 * trail_tree.c - walks through parents that may be missing, cyclic or forward.
 *
 * Every walk marks a node before it goes on, so that it ends after as many
 * steps as there are nodes.
 */
#include "storage/trail/trail_tree.h"

trail_node *trail_tree_add(trail_reader *r, trail_tree *t, cf_str id, cf_str parent, uint64_t line)
{
    if (id.n == 0 || trail_find(&t->ids, id) != TRAIL_NONE) {
        trail_left_out(r, line, id.n == 0 ? "no uuid" : "duplicate", cf_str_make(NULL, 0));
        return NULL;
    }
    trail_node *node = trail_push(&r->scratch, &t->v, &t->n, sizeof *node);
    if (r->scratch.failed) {
        return NULL;
    }
    trail_put(&r->scratch, &t->ids, id, t->n - 1);
    *node = (trail_node){.id = id,
                         .parent = parent,
                         .line = line,
                         .up = TRAIL_NONE,
                         .below = t->n - 2, /* TRAIL_NONE before the first */
                         .root = TRAIL_NONE};
    return node;
}

/* The nearest node before `at`, which is on the path, that is not. */
static size_t nearest_before(trail_tree *t, size_t at)
{
    size_t found = at;
    while (found != TRAIL_NONE && t->v[found].is_on_path) {
        found = t->v[found].below;
    }
    while (at != found) { /* so that no run of nodes is walked twice */
        size_t next = t->v[at].below;
        t->v[at].below = found;
        at = next;
    }
    return found;
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
        trail_left_out(r, node->line, "unknown parent", cf_str_make(NULL, 0));
        return node->up = nearest_before(t, at);
    }
    if (is_taken) {
        trail_left_out(r, node->line, "cycle of parents", cf_str_make(NULL, 0));
        return TRAIL_NONE;
    }
    return up;
}

void trail_tree_walk(trail_reader *r, trail_tree *t)
{
    size_t leaf = TRAIL_NONE;
    for (size_t i = 0; i < t->n; i++) {
        t->v[i].up = trail_find(&t->ids, t->v[i].parent);
        leaf = t->v[i].is_message ? i : leaf;
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

/* Gives a node and those above it the root of their branch: the last one off
 * the path, or of a cycle the one whose parent was seen. */
static void set_root(trail_tree *t, size_t at)
{
    trail_node *v = t->v;
    size_t last = at, root = v[at].root;
    if (root != TRAIL_NONE) {
        return;
    }
    for (size_t up;; last = up) {
        v[last].root = at; /* seen in this walk */
        up = v[last].up;
        if (up == TRAIL_NONE || v[up].is_on_path || v[up].root == at) {
            root = last;
            break;
        }
        if (v[up].root != TRAIL_NONE) {
            root = v[up].root;
            break;
        }
    }
    while (at != last) {
        v[at].root = root;
        at = v[at].up;
    }
    v[last].root = root;
}

/* Puts a node at the end of its branch or of the path. */
static void chain(trail_tree *t, size_t at)
{
    size_t root = t->v[at].root;
    size_t *tail = root != TRAIL_NONE ? &t->v[root].tail : &t->tail;
    if (*tail != TRAIL_NONE) {
        t->v[*tail].after = at;
    } else {
        *(root != TRAIL_NONE ? &t->v[root].first : &t->first) = at;
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

static void put_chain(trail_tree *t, trail_lane *lane, size_t first, trail_put_fn put, void *reader)
{
    for (size_t i = first; i != TRAIL_NONE; i = t->v[i].after) {
        put(reader, lane, t, i);
    }
}

/* A node without a message has its parent's as the last one. */
void trail_tree_put_path(trail_tree *t, trail_lane *lane, trail_put_fn put, void *reader)
{
    put_chain(t, lane, t->first, put, reader);
    for (size_t i = 0; i < t->n; i++) {
        trail_node *node = &t->v[i];
        if (node->is_on_path && node->last == NULL && node->up != TRAIL_NONE) {
            node->last = t->v[node->up].is_on_path ? t->v[node->up].last : NULL;
        }
    }
}

void trail_tree_put_branches(trail_reader *r, trail_tree *t, cf_str agent, trail_put_fn put,
                             void *reader)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->v[i].root == i) {
            size_t up = t->v[i].up;
            bool is_from_path = up != TRAIL_NONE && t->v[up].is_on_path;
            put_chain(t, trail_add_branch(r, agent, is_from_path ? t->v[up].last : NULL),
                      t->v[i].first, put, reader);
        }
    }
}

void trail_tree_put(trail_reader *r, trail_tree *t, trail_put_fn put, void *reader)
{
    trail_tree_walk(r, t);
    trail_tree_put_path(t, trail_add_lane(r, cf_str_make("", 0)), put, reader);
    trail_tree_put_branches(r, t, cf_str_make("", 0), put, reader);
}
