/*
 * easy.h - the insides of a confab handle, shared by the files of this folder.
 *
 * Invariants:
 *  1. `conv` always exists, with `tools` as its preface and the roles of the
 *     template.
 *  2. tool[i] has the function of the i-th declaration in `tools`.
 *  3. kept.grammar is `grammar` or a grammar that only the kept reply has.
 *  4. A text that a function returned is in the buffer of that function and
 *     changes only in that function.
 *  5. `is_answering` is set while cf_chat(), cf_score_text(), cf_inside() or
 *     cf_influence() runs; every function of confab.h that takes a handle asks cf_easy__may() first.
 */
#ifndef CF_TEMPLATES_EASY_EASY_H
#define CF_TEMPLATES_EASY_EASY_H

#include <stdatomic.h>
#include <sys/types.h>

#include "core/api/constraint.h"
#include "core/api/conversation.h"
#include "core/base/buf.h"
#include "templates/confab.h"
#include "templates/open.h"

typedef struct cf_easy_tool {
    char *name;
    cf_tool_fn fn;
    void *user;
} cf_easy_tool;

enum {
    CF_TOKEN_HELD = 1, /* drawn under the constraint, or forced by it */
    CF_TOKEN_GIVEN = 2 /* not drawn */
};

/* The tokens of the last reply. */
typedef struct cf_easy_reply {
    cf_buf tokens; /* the members of cf_alternatives()'s array */
    cf_token *ids; /* [n], the prompt's first */
    size_t n, cap, n_prompt;
    cf_buf how;          /* [n - n_prompt] bits of CF_TOKEN_HELD and CF_TOKEN_GIVEN */
    cf_grammar *grammar; /* the constraint of held tokens; NULL: the reply had none */
    bool is_whole;       /* false: memory ran out for one of them */
    cf_uuid at;          /* its turn; nil until it is in the conversation */
} cf_easy_reply;

struct confab {
    cf_opened opened;
    cf_conversation *conv;
    json_t *tools; /* array of declarations */
    cf_easy_tool *tool;
    size_t n_tool, cap_tool;

    cf_chat_options chat;
    cf_grammar *grammar;        /* the constraint's vocabulary, or NULL */
    cf_constraint_vocab *vocab; /* created when first needed */

    cf_cancel cancel;
    atomic_bool is_answering;
    pid_t owner; /* the process that opened it: a child has none of its threads */
    cf_heard_fn heard;
    void *heard_user;
    cf_sent last; /* of the last cf_chat() */
    cf_easy_reply kept;
    cf_session *session; /* of cf_inside() and cf_influence(), or NULL */
    uint32_t n_ctx;      /* as cf_open_with() was asked */

    /* The results of the functions of the same names. */
    cf_buf reply, messages, last_reply, inspect, tokens, text, lint, alternatives, score, inside,
        influence;
};

/* Whether the handle may be used now: CF_EINVAL for NULL, for a handle that is
 * answering, and in a child of the process that opened it. */
CF_MUST_USE cf_status cf_easy__may(const confab *c, cf_error *err);

/* The same with a text that must be there; `what` is its name in the header. */
CF_MUST_USE cf_status cf_easy__may_with(const confab *c, const void *text, const char *what,
                                        cf_error *err);

/* Compiles a constraint's JSON text, and makes the vocabulary for it. */
cf_status cf_easy__grammar(confab *c, const char *spec, cf_grammar **out, cf_error *err);

/* The tokenizer of a model in this process; CF_EUNSUPPORTED names what a server
 * cannot do. */
cf_status cf_easy__tokenizer(const confab *c, const cf_tokenizer **out, cf_error *err);

/* Makes the session that questions are computed on, where there is none yet. */
cf_status cf_easy__session(confab *c, cf_error *err);

/* A message as JSON.  CF_EFORMAT when the text is not UTF-8. */
cf_status cf_easy__message(json_t **out, const char *role, const char *text, cf_error *err);

/* A text that took `st` to make becomes a function's result in place of what was in
 * `to`; NULL, and `to` as it was, where st is a failure. */
const char *cf_easy__finish(cf_buf *made, cf_buf *to, cf_status st);

/* Around work that cf_interrupt() ends. */
void cf_easy__begin(confab *c);
void cf_easy__end(confab *c);

/* Keep what a reply begins with, and its next token, whose JSON is put into *json until
 * the next one comes. */
void cf_easy__begin_reply(confab *c, const cf_chat_event *prompt);
cf_status cf_easy__keep_token(cf_easy_reply *r, const cf_tokenizer *tok, const cf_chat_event *event,
                              cf_str *json);

#endif
