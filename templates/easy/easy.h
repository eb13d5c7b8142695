/*
 * easy.h - the insides of a confab handle, shared by the files of this folder.
 *
 * Invariants:
 *  1. `conv` always exists, with `tools` as its preface and the roles of the
 *     template.
 *  2. tool[i] has the function of the i-th declaration in `tools`.
 *  3. A text that a function returned is in the buffer of that function and
 *     changes only in that function.
 *  4. `is_answering` is set while cf_chat() runs; every function of confab.h that
 *     takes a handle asks cf_easy__may() first.
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

    /* The results of the functions of the same names. */
    cf_buf reply, messages, last_reply, inspect, tokens, text, lint;
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

/* A message as JSON.  CF_EFORMAT when the text is not UTF-8. */
cf_status cf_easy__message(json_t **out, const char *role, const char *text, cf_error *err);

#endif
