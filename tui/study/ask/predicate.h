/*
 * predicate.h - yes-or-no questions about one answer to one context: whether a
 * call is invalid, a text is in the reply, the template fails, a command ends
 * with status 0.
 *
 * Place in the flow:  a context, its prompt and a reply --> [predicate] -->
 *                     yes or no, with a reason.  Shrinking asks "does it still
 *                     fail", bisecting "is it bad", a sweep "did it pass".
 * Knows: the kinds of questions and how they are written.  Does not know: how
 * a prompt or a reply was made.
 *
 * A predicate is written NAME or NAME:VALUE; not-NAME holds where NAME does
 * not:
 *
 *   call-invalid[:any]
 *                     a call of the reply does not parse or breaks its
 *                     declaration; a search that goes on from one such failure
 *                     keeps to it (cf_predicate_put_failure()), with `any` to none
 *   calls-valid[:F]   there is a call (of the function F), and all are valid
 *   parse-lost        a call is in the reply's bytes, and the parser of the
 *                     model's family does not find it
 *   reply:REGEX       the regular expression (PCRE2) is found in the reply;
 *   regex:REGEX       the same
 *   contains:TEXT     the text is in the reply; icontains: whatever the case
 *   contains-all:LIST all texts of the list are in it, a JSON list or texts
 *                     with commas between; contains-any: one of them is;
 *                     icontains-all, icontains-any: whatever the case
 *   starts-with:TEXT  the reply starts with the text
 *   equals:TEXT       the reply is the text, apart from white space at its
 *                     ends
 *   schema:FILE       the reply is JSON that the JSON Schema in the file
 *                     accepts; the value may also be the schema itself
 *   json              the reply is JSON
 *   json-equals:JSON  the reply is JSON with this value
 *   contains-json[:SCHEMA]
 *                     an object or a list in the reply is JSON (that the
 *                     schema, a file or itself, accepts)
 *   token:ID@PLACE    token number PLACE (from 0) of the reply is ID
 *   cache-lost        an earlier turn's prompt and reply are not the beginning
 *                     of a later turn's prompt
 *   template-error    the template fails
 *   command:CMD       CMD, which gets the context as JSON on standard input,
 *                     ends with status 0
 *
 * Threads:  a predicate is constant once made; any number of threads may ask.
 * Memory:   a predicate owns its parts and borrows the subject.
 */
#ifndef CF_TUI_STUDY_ASK_PREDICATE_H
#define CF_TUI_STUDY_ASK_PREDICATE_H

#include "core/api/backend.h"

/* What a predicate has to be shown. */
enum {
    CF_SEE_RENDER = 1u << 0, /* whether the template fails */
    CF_SEE_REPLY = 1u << 1,  /* a reply to the context */
    CF_SEE_CACHE = 1u << 2,  /* whether earlier prompts stay prefixes */
    CF_SEE_COMMAND = 1u << 3 /* nothing; it runs a program, so ask the user */
};

typedef struct cf_predicate cf_predicate;

/* What is known about one context and its answer.  Fields that the predicate
 * does not need may be left zero. */
typedef struct cf_sight {
    const json_t *context; /* messages, tools, variables */
    cf_status rendered;    /* of the template */
    const char *render_error;
    bool is_cache_lost;
    const char *cache_loss; /* where, in one line; may be NULL */

    /* The reply. */
    bool has_reply;
    cf_str raw;             /* its bytes; empty where they are not known */
    const json_t *message;  /* as a message */
    cf_tool_status calls;   /* CF_TOOL_VALID also without calls */
    const json_t *findings; /* as in cf_chat_response; may be NULL */
    const cf_token *ids;    /* [n_ids], where the engine shows them */
    size_t n_ids;
    cf_tool_family family;
    const cf_tool_set *tools; /* NULL: none */

    cf_cancel *cancel;   /* ends a command; may be NULL */
    uint32_t command_ms; /* the longest time of a command; 0: 60 s */
} cf_sight;

/* Fills the part about the reply from a response, which is borrowed. */
void cf_sight_response(cf_sight *s, const cf_chat_response *r, cf_tool_family family,
                       const cf_tool_set *tools);

/* Reads "NAME" or "NAME:VALUE".  CF_EINVAL names the kinds, or says what the
 * value lacks; CF_EIO and CF_EFORMAT for a schema's file; CF_ENOMEM. */
CF_MUST_USE cf_status cf_predicate_read(cf_predicate **out, cf_str text, cf_error *err);
/* The same with name and value apart. */
CF_MUST_USE cf_status cf_predicate_new(cf_predicate **out, cf_str name, cf_str value,
                                       cf_error *err);
void cf_predicate_free(cf_predicate *p);

/* CF_SEE_* */
uint32_t cf_predicate_needs(const cf_predicate *p);
/* As it was written. */
cf_str cf_predicate_text(const cf_predicate *p);
/* All that its answers depend on: the text, and the bytes of the files that its
 * command names and of its schema. */
void cf_predicate_put_identity(const cf_predicate *p, cf_buf *out);
/* Which of several failures of its kind is seen, so that a search does not slip
 * from one to another: status and path of an invalid call, the error of a
 * template without its numbers, how a call was lost; nothing for other kinds. */
void cf_predicate_put_failure(const cf_predicate *p, const cf_sight *sight, cf_buf *out);
/* The i-th kind with what it takes, "reply:REGEX"; NULL past the last. */
const char *cf_predicate_kind(size_t i);

/*
 * Whether it holds.  `why` (may be NULL) gets one line about what was found.
 * CF_EINVAL when what it needs was not shown, CF_ELIMIT when a regular
 * expression or a command takes too long, CF_ECANCELLED, CF_EIO, CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_predicate_holds(const cf_predicate *p, const cf_sight *sight, bool *holds,
                                         cf_buf *why, cf_error *err);

#endif
