/*
 * confab.h - the library in one handle: a model, its template, a conversation,
 * tools, constraints, and the means to inspect all of it.
 *
 * Place in the flow:  a program --> [confab] --> open.h, conversation.h,
 *                     constraint.h, template_lint.h --> text and JSON.
 * Knows: one model and one conversation at a time.  Does not know: histories
 * (store.h), screens.
 *
 *     cf_error err;
 *     confab *c = cf_open("model.gguf", &err);
 *     const char *reply = c != NULL ? cf_chat(c, "Hello", &err) : NULL;
 *     puts(reply != NULL ? reply : err.text);
 *     cf_close(c);
 *
 * Compatibility:  within one SONAME (libconfab.so.0) the functions and types
 *           of this header and cf_error keep their names, meaning and layout;
 *           structures that may grow begin with their size.  The other headers
 *           are the interface that confab itself is built on: compile again
 *           when the version changes.  docs/library.md has the details.
 * Errors:   a function that fails returns NULL or a status other than CF_OK
 *           and fills *err (may be NULL) with one line of text.  A failure
 *           leaves the conversation as it was.
 *           Where this header gives NULL no meaning, a handle or a text that is
 *           NULL gives CF_EINVAL; functions without an error then do nothing.
 * Callbacks: while cf_chat(), cf_score_text(), cf_inside() or cf_influence() runs,
 *           its handle is busy: every other call with it gives CF_EINVAL, also from
 *           a callback, and cf_close(), cf_on_reply() and cf_mask_back() do nothing.
 *           Only cf_interrupt() and functions that return a constant (cf_n_vocab(),
 *           cf_parts()) work.  A callback that needs a model opens a handle of its
 *           own.
 * fork():   a child process has none of the threads that compute, so a handle from
 *           before the fork gives CF_EINVAL there and is not closed; open a new one.
 * Threads:  one thread at a time for a handle and what was made from it;
 *           cf_interrupt() may be called from any thread.  Different handles
 *           are independent.
 * Memory:   texts given are copied.  Texts returned belong to the handle, are
 *           UTF-8 with a NUL at the end, and are valid until the same function
 *           is called again or the handle is closed.
 */
#ifndef CF_TEMPLATES_CONFAB_H
#define CF_TEMPLATES_CONFAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/decls.h"
#include "core/base/status.h"
#include "core/base/version.h"

CF_BEGIN_DECLS

/* The version of the library that is loaded, as CF_VERSION; constant. */
const char *cf_version(void);

/* ---- opening ------------------------------------------------------------ */

/* A model with its template and an empty conversation. */
typedef struct confab confab;

/* With all fields zero except the size, the same as cf_open(). */
typedef struct cf_open_with_options {
    size_t size;               /* sizeof this struct */
    const char *template_name; /* file or built-in name; NULL: the model's */
    const char *family;        /* of tool calls; NULL: detected */
    const char *key;           /* for a server; copied, never printed */
    const char *server_model;  /* for a server; NULL: the first it lists */
    uint32_t n_threads;        /* 0: one a processor */
    uint32_t n_ctx;            /* tokens; 0: the model's, at most 8192 */
} cf_open_with_options;

/*
 * Opens a model: a .gguf file, a folder, "hf:ORG/NAME", "ollama:NAME",
 * "bundled" (also NULL: the small model inside confab), the http(s) address of
 * an OpenAI-compatible server, or "script:FILE" with canned replies.
 * NULL on failure.
 */
confab *cf_open(const char *model, cf_error *err);

/* The same with options; `with` may be NULL. */
confab *cf_open_with(const char *model, const cf_open_with_options *with, cf_error *err);

/* Releases everything; `c` may be NULL.  Nothing happens while it is answering,
 * or in a child process. */
void cf_close(confab *c);

/* ---- a conversation ----------------------------------------------------- */

/*
 * Sends the user's message and waits for the answer, tool calls and their
 * results included.  Returns the text of the last reply, "" when it has none.
 * `message` NULL: the model replies to the conversation as it is.
 * CF_ECANCELLED after cf_interrupt(): what had arrived is kept as a stopped reply.
 */
const char *cf_chat(confab *c, const char *message, cf_error *err);

/* Stops a running cf_chat(), from any thread; otherwise does nothing. */
void cf_interrupt(confab *c);

/* The kinds of pieces that a reply arrives in. */
typedef enum cf_heard {
    CF_HEARD_TEXT,     /* a piece of the answer */
    CF_HEARD_THINKING, /* a piece of the thinking before it */
    CF_HEARD_CALL,     /* a complete call: {"name","arguments","id"} */
    CF_HEARD_RESULT,   /* its result, as a JSON value */
    CF_HEARD_NOTE,     /* a line about the request, such as a lost message */
    CF_HEARD_TOKEN     /* a token, as in cf_alternatives(); before its text, and only where
                          the option "alternatives" is not 0 */
} cf_heard;

/* `text` has n bytes, whole characters only, and is valid during the call. */
typedef void (*cf_heard_fn)(void *user, cf_heard kind, const char *text, size_t n);

/* Sets a function that cf_chat() calls on its thread with each piece as it arrives; NULL
 * removes it. */
void cf_on_reply(confab *c, cf_heard_fn fn, void *user);

/* Sets the system prompt of the conversation; NULL or "": none. */
cf_status cf_set_system(confab *c, const char *text, cf_error *err);

/*
 * Sets an option of later replies by its name: "temperature", "top_k",
 * "top_p", "min_p", "repetition_penalty" and the other numbers that `confab
 * help run` lists, "seed", "max_tokens", "thinking" ("on", "off" or
 * "default"), "thinking_budget", "alternatives" (the number of candidates kept
 * for each token, 0 to 64; default 0).
 * CF_EINVAL names the option and its range.
 */
cf_status cf_set(confab *c, const char *name, const char *value, cf_error *err);

/*
 * Holds later replies to a constraint, NULL: none.  `spec` is JSON:
 * {"schema":S}, {"regex":"R"}, {"grammar":"G"}, {"choices":["A","B"]},
 * {"json":true}, or {"tools":"calls"} for calls of the tools that were added.
 * Models that run in this process only.
 */
cf_status cf_constrain(confab *c, const char *spec, cf_error *err);

/* The messages so far as a JSON array in OpenAI's form, the system prompt
 * first. */
const char *cf_messages(confab *c, cf_error *err);

/* Replaces the conversation by these messages, a JSON array in any form that
 * `confab run` takes. */
cf_status cf_set_messages(confab *c, const char *messages, cf_error *err);

/* Facts about the last reply: {"text","thinking","raw","stop","calls",
 * "findings","usage","timings"}. */
const char *cf_last_reply(confab *c, cf_error *err);

/* ---- tools -------------------------------------------------------------- */

/* Receives the result of a tool. */
typedef struct cf_tool_result cf_tool_result;

/* Called during cf_chat(), on its thread, for each valid call; `arguments` is
 * a JSON object.  If it puts no result, the model gets an error instead. */
typedef void (*cf_tool_fn)(void *user, const char *arguments, cf_tool_result *result);

/* The result, which the model gets as it is written here (NULL: none); usually JSON, with a
 * space after ',' and ':' as models were trained on. */
void cf_tool_return(cf_tool_result *result, const char *text);

/* The call failed; the model gets {"error": why}. */
void cf_tool_fail(cf_tool_result *result, const char *why);

/*
 * Declares a tool: {"name","description","parameters": a JSON Schema}, or one
 * of the other forms that tool.h names.  Calls with arguments that do not fit
 * are answered with their faults, and `fn` is not called.
 * CF_EINVAL for a second tool of that name.
 */
cf_status cf_add_tool(confab *c, const char *declaration, cf_tool_fn fn, void *user, cf_error *err);

/* ---- looking inside ----------------------------------------------------- */

/*
 * The prompt that cf_chat(message) would send, and where each byte of it comes
 * from; nothing is sent.  `message` NULL: the prompt for a reply to the
 * conversation as it is.
 *
 *   {"text": the prompt,
 *    "spans": [{"off","len","source","index","path","line","column"}],
 *    "tokens": [{"id","off","len"}],
 *    "losses": [a line for every message, tool or part that is not in it]}
 *
 * Offsets are bytes of the text.  `source` is "template", "message", "tool",
 * "variable" or "computed", `index` that of the message or tool, `path` the
 * field; line and column are the template's.  CF_EUNSUPPORTED for a server.
 */
const char *cf_inspect(confab *c, const char *message, cf_error *err);

/*
 * The tokens of the last reply, in order, each with its candidates:
 *   [{"id","text","p": with which it was drawn, "p_raw": before the sampler,
 *     "forced": true where it was not drawn,
 *     "top": [{"id","text","p": before the sampler}, the most likely first]}]
 * "top" is empty unless the option "alternatives" was set before the reply.  Tokens of a
 * server have the id -1 and only the fields that it sent.
 */
const char *cf_alternatives(confab *c, cf_error *err);

/*
 * The likelihood of `text` after `context`, both as they are, without a template:
 *   {"sum": the natural logarithm, "tokens": [{"id","off","len","log_p"}]}
 * Offsets are bytes of the context and the text together.
 * CF_EUNSUPPORTED for a server that does not score prompts.
 */
const char *cf_score_text(confab *c, const char *context, const char *text, cf_error *err);

/*
 * Asks about the inside of the model: `request` and the answer are lines of `confab
 * inside --batch` (docs/inside.md), {"op": "lens", "attention", "margin", "without",
 * "patch" or "steer", ...}.  "ids" is by default the prompt and the last reply, and "at"
 * the position at which the reply's first token was chosen.  CF_EUNSUPPORTED for a server.
 */
const char *cf_inside(confab *c, const char *request, cf_error *err);

/*
 * What the last reply depends on: each part of its prompt is left out in turn, and the
 * reply's tokens are scored again:
 *   {"with": the natural logarithm of their likelihood after the whole prompt,
 *    "forced": tokens that the constraint decided; absent for a free reply,
 *    "parts": [{"kind","index","message","path","line","column","without","delta",
 *               "emptied"}],
 *    "groups": [{"kind","need","parts": indices into "parts","delta"}]}
 * delta = without - with: below zero, the part made the reply likelier.  A part that
 * cannot be left out has "why" instead of numbers; "emptied" is true for a message that
 * the template wants, so that only its content was left out.  `by` names the kinds,
 * "message", "tool", "sentence", "word", "field" (of a tool, with its "path") or
 * "template" (what it writes at "line" and "column"), with commas (NULL:
 * "message,tool"); "message" is the index of a sentence's or word's.
 * A group has an effect that its parts do not show alone, and delta is that of all of
 * them together: of "either" each suffices, of "both" all are needed, of "some" `need`.
 * Its parts are either all of the kind "template" or all of other kinds.
 * A reply under a constraint (cf_constrain) is scored under it: a token counts with its
 * share of what was allowed, and one that was not drawn as certain.
 * docs/study.md says where such numbers mislead, and what else `confab influence` does.
 * CF_EINVAL if the conversation does not end with that reply, CF_EUNSUPPORTED for a server.
 */
const char *cf_influence(confab *c, const char *by, cf_error *err);

/* The tokens of a text: [{"id","off","len"}].  `special`: spellings of control
 * tokens become those tokens.  CF_EUNSUPPORTED for a server. */
const char *cf_tokenize(confab *c, const char *text, size_t n, bool special, cf_error *err);

/* The text of ids[0..n), control tokens spelled out; its length is put into
 * *length (may be NULL), since it may have NUL bytes. */
const char *cf_detokenize(confab *c, const int32_t *ids, size_t n, size_t *length, cf_error *err);

/*
 * The faults of the model's chat template:
 *   {"errors","warnings","notes": counts,
 *    "family","known","findings","capabilities","stability": as in the object
 *    of `confab lint --json` (docs/contract.md)}
 * CF_ENOTFOUND where there is no template.
 */
const char *cf_lint(confab *c, cf_error *err);

/* ---- constraints, token by token ---------------------------------------- */

/* A position in a text that a constraint allows. */
typedef struct cf_mask cf_mask;

/* Tokens in the model's vocabulary; 0 for a server. */
size_t cf_n_vocab(const confab *c);

/* Begins a text under `spec` (see cf_constrain).  The mask must be freed before
 * the handle is closed. */
cf_mask *cf_mask_new(confab *c, const char *spec, cf_error *err);
void cf_mask_free(cf_mask *mask);

/* Fills bits[0 .. n_words), n_words = (cf_n_vocab() + 31) / 32: bit id % 32 of
 * word id / 32 is set when the token may come next.  CF_EINVAL for another
 * n_words. */
cf_status cf_mask_fill(cf_mask *mask, uint32_t *bits, size_t n_words, cf_error *err);

/* Advances by one token; CF_EINVAL, and no change, if it is not allowed. */
cf_status cf_mask_take(cf_mask *mask, int32_t id, cf_error *err);

/* Removes the last n tokens. */
void cf_mask_back(cf_mask *mask, size_t n);

/* Whether the text may end here. */
bool cf_mask_may_end(const cf_mask *mask);

/* ---- the parts ---------------------------------------------------------- */

/* What the handle holds, for the functions of open.h, backend.h and
 * conversation.h; borrowed, valid until the next call that changes the
 * handle. */
struct cf_opened;
struct cf_conversation;
const struct cf_opened *cf_parts(const confab *c);
struct cf_conversation *cf_parts_conversation(confab *c);

CF_END_DECLS

#endif
