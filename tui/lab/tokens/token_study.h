/*
 * token_study.h - more about the tokens of a reply: what its constraint allowed
 * before each of them, and what would have followed other choices.
 *
 * Both are computed by a task on copies, so the reply may be dropped meanwhile;
 * both give way when something is sent.
 *
 * Threads:  the interface thread calls; results come on it as well.
 */
#ifndef CF_TUI_LAB_TOKENS_TOKEN_STUDY_H
#define CF_TUI_LAB_TOKENS_TOKEN_STUDY_H

#include "core/base/arena.h"
#include "tui/lab/reply/lab_reply.h"
#include "tui/lab/state/lab_state.h"

/* ---- the constraint ----------------------------------------------------- */

enum { CF_PLACE_LISTED = 8 };

/* The state of the constraint before a token. */
typedef struct cf_token_place {
    bool is_asked; /* false: thinking, which is free; all else is empty */
    cf_str path, rule, stack;
    cf_str next; /* the bytes that could come, as ranges */
    cf_str must; /* the text that had to come; empty: there was a choice */
    bool may_end;
    uint32_t n_allowed;
    cf_token allowed[CF_PLACE_LISTED]; /* [n_listed] of them, likely first */
    size_t n_listed;
    cf_token refused; /* the most likely one that was not; CF_TOKEN_NONE */
    float p_refused;
    size_t refused_at; /* its byte that could not be taken */
} cf_token_place;

typedef struct cf_token_study {
    cf_uuid turn;
    cf_arena arena;
    cf_token_place *place; /* [n] by token of the reply */
    size_t n;
    uint32_t n_vocab;
} cf_token_study;

/* Gets the study, now the callee's, or NULL and why not. */
typedef void (*cf_token_study_fn)(void *ud, cf_token_study *study, const cf_error *err);

/*
 * Walks the constraint along a reply that was written under one.  CF_EBUSY;
 * CF_ENOTFOUND for a reply without a constraint or tokens.  `done` is called
 * once, later; cf_lab_make_way() has it called at once.
 */
CF_MUST_USE cf_status cf_lab_study(cf_lab *lab, const cf_reply *reply, cf_token_study_fn done,
                                   void *ud, cf_error *err);
void cf_token_study_free(cf_token_study *study);

/* ---- the tree ----------------------------------------------------------- */

enum { CF_TREE_WIDTH_MAX = 8, CF_TREE_DEPTH_MAX = 64 };

typedef struct cf_tree_node {
    cf_token id;
    float p; /* given the tokens before it, by the raw distribution */
} cf_tree_node;

/* The best alternatives at a token, each with the tokens that the model finds
 * most likely after it. */
typedef struct cf_token_tree {
    cf_uuid turn;
    size_t token; /* of the reply: where the branches begin */
    uint32_t width, depth;
    cf_tree_node node[CF_TREE_WIDTH_MAX][CF_TREE_DEPTH_MAX];
    uint32_t n[CF_TREE_WIDTH_MAX]; /* nodes of each branch so far */
    uint32_t n_branch;
    uint64_t n_done, n_total; /* of the prefill */
    bool is_running;
    cf_error why; /* how it ended; code CF_OK: whole */
} cf_token_tree;

/*
 * Expands a tree at `token` of a reply into *tree, which fills while the task
 * runs and stays where it is; cf_lab_make_way() ends the task.  A reply's
 * constraint holds its tree.
 * CF_EINVAL for a width or depth outside 1 to the greatest; CF_EUNSUPPORTED
 * where the engine has no cache to fork; CF_EBUSY, CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_lab_grow_tree(cf_lab *lab, cf_token_tree *tree, const cf_reply *reply,
                                       size_t token, uint32_t width, uint32_t depth, cf_error *err);

/* The product of the branch's probabilities up to `depth`, itself included. */
double cf_token_tree_joint(const cf_token_tree *tree, size_t branch, size_t depth);

#endif
