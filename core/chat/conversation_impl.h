/*
 * conversation_impl.h - the conversation's inside, for sending.
 */
#ifndef CF_CORE_CHAT_CONVERSATION_IMPL_H
#define CF_CORE_CHAT_CONVERSATION_IMPL_H

#include "core/api/conversation.h"
#include "core/backend/backend_impl.h"

/* A turn and what it owns. */
typedef struct cf_conversation__node {
    cf_turn turn;
    json_t *message;
    char *raw;
} cf_conversation__node;

/* A named place. */
typedef struct cf_conversation__mark {
    char name[64];
    cf_uuid turn;
} cf_conversation__mark;

struct cf_conversation {
    cf_preface preface; /* references held */
    cf_tool_set *tools; /* the preface's */
    cf_role_map roles;
    cf_thinking thinking;
    cf_conversation__node **v; /* [n], nodes do not move */
    size_t n, cap;
    cf_uuid head;
    cf_conversation__mark *mark; /* [n_marks] */
    size_t n_marks, cap_marks;
    const cf_grammar *grammar; /* borrowed; NULL: replies are free */
    const cf_constraint_vocab *vocab;
};

/* A request made for a send, and what it owns. */
typedef struct cf_conversation__request {
    cf_chat_request request;
    cf_chat_options options;
    json_t *messages, *extra_context;
} cf_conversation__request;

/* `leaf` is the turn to follow; `more` (may be NULL) messages that are not
 * in the tree. */
CF_MUST_USE cf_status cf_conversation__request_init(cf_conversation__request *out,
                                                    const cf_conversation *conv, cf_uuid leaf,
                                                    const json_t *more, const cf_send *send,
                                                    cf_error *err);
void cf_conversation__request_deinit(cf_conversation__request *r);

/* Whether the path's own system prompt replaces this message of the preface. */
bool cf_conversation__is_replaced(const json_t *message, const cf_turn *const *path, size_t n);
/* Whether the turn is an empty system prompt, of which nothing is sent. */
bool cf_conversation__is_silent(const cf_turn *turn);

cf_status cf_conversation__copy_marks(cf_conversation *to, const cf_conversation *from,
                                      cf_error *err);

/* Finds what a send adds to the tree, and after which turn: its messages as a
 * list (a new reference).  A message that is appended to the one before
 * replaces it, as a sibling.  CF_EINVAL, CF_ENOMEM. */
CF_MUST_USE cf_status cf_conversation__plan(json_t **list, cf_uuid *parent,
                                            const cf_conversation *conv, const cf_send *send,
                                            cf_error *err);

#endif
