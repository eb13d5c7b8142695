/*
 * trail_tree.h - records that name their parents: the path to the last one,
 * and the side branches.
 *
 * Threads:  one thread at a time.
 * Memory:   nodes end with the reader; their strings belong to the trail.
 */
#ifndef CF_STORAGE_TRAIL_TRAIL_TREE_H
#define CF_STORAGE_TRAIL_TRAIL_TREE_H

#include "storage/trail/trail_build.h"

typedef struct trail_node {
    cf_str id, parent;
    uint64_t line;
    size_t up;                    /* the parent's place; TRAIL_NONE: none is known */
    size_t below;                 /* on the path: all nodes after this place are, up to it */
    size_t root;                  /* of a branch: its topmost node; TRAIL_NONE: on the path */
    size_t after;                 /* the next node of the same branch or of the path */
    size_t first, tail;           /* of a root: the branch's nodes in file order */
    void *data;                   /* the format's */
    cf_trail_message *last;       /* the last message it gave; NULL: none */
    bool is_message, is_boundary; /* boundary: its parent may be written later or again */
    bool is_on_path;
} trail_node;

typedef struct trail_tree {
    trail_node *v; /* [n], in file order */
    size_t n;
    trail_index ids;
    size_t first, tail; /* of the path; TRAIL_NONE: none */
} trail_tree;

/* Puts what the node at a place holds into a lane. */
typedef void (*trail_put_fn)(void *reader, trail_lane *lane, trail_tree *t, size_t at);

/* A new node; NULL without memory, and where the id is empty or came before (said). */
trail_node *trail_tree_add(trail_reader *r, trail_tree *t, cf_str id, cf_str parent, uint64_t line);
/* Marks the path to the last message and what follows that without being one,
 * then finds the branches' roots. */
void trail_tree_walk(trail_reader *r, trail_tree *t);
/* After nodes were put on the path by other reasons. */
void trail_tree_roots(trail_tree *t);
/* The path into a lane; then each branch into one of its own. */
void trail_tree_put_path(trail_tree *t, trail_lane *lane, trail_put_fn put, void *reader);
void trail_tree_put_branches(trail_reader *r, trail_tree *t, cf_str agent, trail_put_fn put,
                             void *reader);
/* All of it for a session without sub-agents. */
void trail_tree_put(trail_reader *r, trail_tree *t, trail_put_fn put, void *reader);

#endif
