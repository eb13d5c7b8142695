/*
 * token_walk.h - a reply's tokens copied for a task, and its constraint
 * walked along them.
 *
 * Threads:  made and freed on the interface thread, walked on the worker's.
 */
#ifndef CF_TUI_LAB_TOKENS_TOKEN_WALK_H
#define CF_TUI_LAB_TOKENS_TOKEN_WALK_H

#include "tui/lab/reply/reply_rule.h"
#include "tui/lab/state/lab_state.h"

typedef struct cf_walk_token {
    cf_token id;
    bool is_held;       /* the constraint took it, or takes `content` */
    cf_str content;     /* of a given token: what is not thinking */
    bool is_start;      /* given */
    cf_token likely[8]; /* the best that the constraint allowed */
    size_t n_likely;
    cf_token refused; /* the best that it did not; CF_TOKEN_NONE */
    float p_refused;
} cf_walk_token;

typedef struct cf_walk {
    cf_lab *lab;
    cf_uuid turn;
    cf_lab_rule *rule;    /* held; NULL: no constraint */
    cf_walk_token *token; /* [n] */
    size_t n;
    cf_buf start;     /* bytes that `content` points into */
    cf_constraint *c; /* NULL until it is begun */
} cf_walk;

/* Copies the first n tokens of a reply. */
CF_MUST_USE cf_status cf_walk_init(cf_walk *w, cf_lab *lab, const cf_reply *reply, size_t n,
                                   cf_error *err);
void cf_walk_deinit(cf_walk *w);

/* Compiles what has to be; the walk is then before the first token. */
CF_MUST_USE cf_status cf_walk_begin(cf_walk *w, cf_error *err);

/* Takes token i; CF_EINVAL when the constraint refuses it. */
CF_MUST_USE cf_status cf_walk_step(cf_walk *w, size_t i, cf_error *err);

#endif
