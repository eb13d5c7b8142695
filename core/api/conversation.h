/*
 * conversation.h - a conversation as a tree of turns, and how the next turn
 * is made.
 *
 * Place in the flow:  the user's message --> [conversation] --> backend -->
 *                     reply turn --> the store and the screen.
 * Knows: turns, parents, the head, the preface.  Does not know: how a backend
 * answers, how turns are stored or shown.
 *
 * A turn is one message with a UUID, a parent and a status.  A conversation
 * is a path from the root to a turn; the head is the turn that the next one
 * follows.  Edits and retries are siblings: nothing is overwritten, and a
 * failed send leaves every turn it made in the tree.
 *
 * The preface (system messages, tools, variables) precedes every path and is
 * not a turn.  A path that begins with a system message of its own has that in
 * place of the preface's.
 *
 * Sending, and what each end leaves:
 *   end              reply turn               head
 *   success, length  ok                       the reply
 *   cancel           stopped, if bytes came   the reply, else unchanged
 *   failure          error, if bytes came     unchanged
 *   parse failure    ok; with fail_on_parse   the reply; else unchanged
 *                    error
 *   pending          none                     the message
 * The turns of the message itself are always kept.  The backend's cache holds
 * what was computed; the next send keeps the common prefix.
 *
 * Threads:  one thread at a time.
 * Memory:   a turn lives as long as its conversation.
 */
#ifndef CF_CORE_API_CONVERSATION_H
#define CF_CORE_API_CONVERSATION_H

#include "core/api/backend.h"
#include "core/api/message.h"
#include "core/base/decls.h"

CF_BEGIN_DECLS

typedef struct cf_conversation cf_conversation;

/* ---- roles -------------------------------------------------------------- */

enum { CF_ROLE_MAP_MAX = 16 };

/* The names of roles in a template, as a list. */
typedef struct cf_role_map {
    struct {
        char from[24], to[24];
    } v[CF_ROLE_MAP_MAX];
    size_t n;
} cf_role_map;

/*
 * The eight roles of ConverseHistory and their kin, for a template with this
 * source: agent to assistant; tool_response, pcp_response, mcp_response and
 * function to tool (or to "tool_response" where only that is known);
 * developer to system unless the template knows developer; assistant to
 * model where the template knows model alone.  An empty source maps for
 * OpenAI's roles.
 */
void cf_role_map_init(cf_role_map *map, cf_str template_source);

/* The mapped name; the role itself where nothing maps it. */
cf_str cf_role_map_get(const cf_role_map *map, cf_str role);

cf_role cf_role_parse(cf_str name);

/* ---- the tree ----------------------------------------------------------- */

/* Each may be NULL; referenced, not copied. */
typedef struct cf_preface {
    const json_t *messages;      /* array */
    const json_t *tools;         /* as cf_tool_set_new() takes them */
    const json_t *extra_context; /* object */
} cf_preface;

typedef struct cf_turn {
    cf_uuid id;
    cf_uuid parent; /* nil: the first */
    int64_t created_ms;
    cf_turn_status status;
    const json_t *message;
    cf_str raw; /* a reply's exact bytes; empty for others */
} cf_turn;

/* CF_EFORMAT for tools that cannot be read, CF_EINVAL for a preface whose
 * messages are not an array or context not an object. */
CF_MUST_USE cf_status cf_conversation_new(cf_conversation **out, const cf_preface *preface,
                                          cf_error *err);
void cf_conversation_free(cf_conversation *conv);

/* A copy with the same turns, UUIDs, head and preface; independent. */
CF_MUST_USE cf_status cf_conversation_clone(cf_conversation **out, const cf_conversation *from,
                                            cf_error *err);

/*
 * Adds a turn; a nil id gets a new UUID, created_ms 0 the present.  The head
 * does not move.  CF_EINVAL if the UUID exists already (turns are
 * identified by UUID, whatever their content), or the message is not an
 * object with a role; CF_ENOTFOUND if the parent does not exist.
 */
CF_MUST_USE cf_status cf_conversation_add(cf_conversation *conv, const cf_turn *turn, cf_uuid *id,
                                          cf_error *err);

/* NULL if there is no such turn. */
const cf_turn *cf_conversation_find(const cf_conversation *conv, cf_uuid id);

/* All turns in the order they were added. */
size_t cf_conversation_n_turns(const cf_conversation *conv);
const cf_turn *cf_conversation_turn(const cf_conversation *conv, size_t i);

/* The i-th turn (0, 1 ...) whose parent is `parent`, in order; NULL past the
 * last. */
const cf_turn *cf_conversation_child(const cf_conversation *conv, cf_uuid parent, size_t i);

/* Nil in an empty conversation. */
cf_uuid cf_conversation_head(const cf_conversation *conv);
/* CF_ENOTFOUND; nil goes back to the start. */
CF_MUST_USE cf_status cf_conversation_set_head(cf_conversation *conv, cf_uuid id, cf_error *err);

/* The turns from the first to `leaf`, in the arena. */
CF_MUST_USE cf_status cf_conversation_path(const cf_conversation *conv, cf_uuid leaf,
                                           cf_arena *arena, const cf_turn ***out, size_t *n,
                                           cf_error *err);

const cf_preface *cf_conversation_preface(const cf_conversation *conv);
/* The preface's tools; borrowed. */
const cf_tool_set *cf_conversation_tools(const cf_conversation *conv);
/* Sets the tools of the preface for later turns; NULL: none.  CF_EFORMAT:
 * they cannot be read, and nothing is changed. */
CF_MUST_USE cf_status cf_conversation_set_tools(cf_conversation *conv, const json_t *tools,
                                                cf_error *err);

/*
 * Where a new message goes when `turn` is shown: `turn`, unless a reply
 * failed there.  After a failed reply, or a user's message whose replies all
 * failed, it is the turn before that one message; nil for the beginning.
 * Messages of the user before it stay in the path.
 */
cf_uuid cf_conversation_resume(const cf_conversation *conv, cf_uuid turn);

/* Whether the reply must stay out of prompts: it ended with an error, or it was
 * stopped before it said anything. */
bool cf_turn_is_failed(const cf_turn *turn);

/* Called for each turn that is added. */
typedef void (*cf_turn_fn)(void *ud, const cf_turn *turn);

/*
 * Adds a message, or an array of messages, after `parent`; the one place
 * where messages become turns.  *last is the last turn, or `parent` when
 * there was nothing to add; *n (may be NULL) counts them; what was added
 * before a failure stays.  CF_EINVAL for a message without a role, CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_conversation_add_messages(cf_conversation *conv, const json_t *messages,
                                                   cf_uuid parent, cf_turn_fn fn, void *ud,
                                                   cf_uuid *last, size_t *n, cf_error *err);

/* ---- the system prompt -------------------------------------------------- */

/* Whether the turn is a system (or developer) message that begins its path.
 * It replaces the system messages of the preface for every path through it;
 * with empty content the path has no system prompt. */
bool cf_turn_is_system(const cf_turn *turn);

/* The system message of the path to `leaf`: its first turn, or the first of
 * the preface; NULL when there is none.  Borrowed. */
const json_t *cf_conversation_system(const cf_conversation *conv, cf_uuid leaf);

/* Called for each turn that is added; `from` is the turn it copies, nil for
 * none. */
typedef void (*cf_turn_copy_fn)(void *ud, const cf_turn *turn, cf_uuid from);

/*
 * Gives the path to the head another system prompt, as a branch: a first turn
 * with `text`, copies of the turns of the path after it (without failed
 * replies and the system prompt they had), and the head on the last copy.
 * Every path that was there stays.  An empty text: no system prompt.  fn may
 * be NULL.  CF_EFORMAT when the text is not UTF-8, CF_ENOMEM; then the head
 * is as before.
 */
CF_MUST_USE cf_status cf_conversation_set_system(cf_conversation *conv, cf_str text,
                                                 cf_turn_copy_fn fn, void *ud, cf_error *err);

/* ---- messages and turns ------------------------------------------------- */

/* One message of a prompt; borrowed. */
typedef struct cf_message_source {
    const json_t *message; /* its role not mapped */
    const cf_turn *turn;   /* NULL: it is of the preface */
} cf_message_source;

/*
 * The messages that a prompt of the path to `leaf` is made of, in order, as
 * a list in the arena.  Failed replies, their questions and an empty system
 * prompt are not among them.
 */
CF_MUST_USE cf_status cf_conversation_sources(const cf_conversation *conv, cf_uuid leaf,
                                              cf_arena *arena, cf_message_source **out, size_t *n,
                                              cf_error *err);

/* Settings that stay until they are changed. */
void cf_conversation_set_roles(cf_conversation *conv, const cf_role_map *map);
void cf_conversation_set_thinking(cf_conversation *conv, cf_thinking thinking);

/*
 * Constrains the replies of all turns that have no constraint of their own
 * and are not is_free; both or neither NULL, borrowed for as long as the
 * conversation sends.  Built-in core only, as in cf_chat_options.
 */
void cf_conversation_set_constraint(cf_conversation *conv, const cf_grammar *grammar,
                                    const cf_constraint_vocab *vocab);

/* ---- checkpoints -------------------------------------------------------- */

/* Names the head; a name that is taken moves there.  CF_EINVAL for an empty
 * name or one of 64 characters or more, CF_ENOMEM. */
CF_MUST_USE cf_status cf_conversation_save(cf_conversation *conv, const char *name, cf_error *err);
/* Moves the head back to the named turn; the turns after it stay in the tree,
 * and the backend keeps the part of its cache that still applies.
 * CF_ENOTFOUND. */
CF_MUST_USE cf_status cf_conversation_rewind(cf_conversation *conv, const char *name,
                                             cf_error *err);
/* Forgets a name, not the turn.  CF_ENOTFOUND. */
CF_MUST_USE cf_status cf_conversation_forget(cf_conversation *conv, const char *name,
                                             cf_error *err);

/* ---- one turn ----------------------------------------------------------- */

/*
 * Options of one turn; none of them outlives it.
 *
 * enable_thinking in the template comes from, first to last: extra_context
 * here, chat.thinking here, cf_conversation_set_thinking(), the preface's
 * extra_context.  Other variables: extra_context here over the preface's,
 * key by key.
 */
typedef struct cf_turn_options {
    cf_chat_options chat;
    const json_t *extra_context; /* object or NULL */
    const cf_tool_set *tools;    /* instead of the preface's; NULL: those */
    bool is_pending;             /* prefill only, no reply */
    bool fail_on_parse_error;
    bool fail_on_length; /* a reply that reaches max_tokens is CF_ELIMIT; its
                            turn has status "error" */
    bool is_free;        /* without the conversation's own constraint */
    /* The message goes on where the last one of its role ended, in the same
     * turn of the prompt; in the tree it is a sibling with both contents.  What
     * is computed of the first stays in the cache.  CF_EINVAL when the turn
     * before has another role. */
    bool is_appending;
} cf_turn_options;

typedef struct cf_send {
    const json_t *message;          /* an object, an array of them, or NULL: reply to
                              the head */
    const cf_turn_options *options; /* NULL: all defaults */
    bool has_parent;                /* follow `parent` (nil: the start), not the head */
    cf_uuid parent;
    cf_uuid reply_id; /* of the reply's turn; nil: a new one */

    /* The reply starts with this; see cf_chat_request. */
    cf_str reply_prefix;
    const cf_token *reply_ids;
    size_t n_reply_ids;

    cf_chat_event_fn fn;
    void *ud;
    cf_cancel *cancel;
} cf_send;

typedef struct cf_sent {
    size_t n_added;  /* turns of the message */
    cf_uuid message; /* the last of them; nil: none */
    cf_uuid reply;   /* nil: no turn was made */
    cf_chat_response response;
    cf_usage usage;    /* of all rounds of a loop together */
    uint32_t n_rounds; /* replies of the loop; 0: a single send */
} cf_sent;

void cf_sent_init(cf_sent *sent);
void cf_sent_deinit(cf_sent *sent);

/* Sends and waits for the end.  `out` is filled in every case, as in the table
 * above. */
CF_MUST_USE cf_status cf_conversation_send(cf_conversation *conv, cf_backend *backend,
                                           const cf_send *send, cf_sent *out, cf_error *err);

/*
 * A send on a thread of its own.  Until cf_send_finish() conversation and
 * backend belong to that thread, and events arrive on it.  Options are copied
 * (what they point to is borrowed until the end), the message is referenced.
 * To cancel, set send->cancel; sends that share one cf_cancel are a group and
 * are cancelled together.
 */
typedef struct cf_send_task cf_send_task;

/* CF_ENOMEM; CF_EIO when no thread can be started. */
CF_MUST_USE cf_status cf_send_start(cf_send_task **out, cf_conversation *conv, cf_backend *backend,
                                    const cf_send *send, cf_error *err);
/* Waits at most timeout_ms (0: looks; UINT32_MAX: for ever); whether it
 * ended. */
bool cf_send_wait(cf_send_task *task, uint32_t timeout_ms);
/* Waits for the end and frees the task.  Returns what cf_conversation_send()
 * would have, and fills *out (made with cf_sent_init(); may be NULL). */
CF_MUST_USE cf_status cf_send_finish(cf_send_task *task, cf_sent *out, cf_error *err);

/* One of several sends that are answered side by side. */
typedef struct cf_send_job {
    cf_conversation *conv; /* the same one for several retries */
    cf_backend *backend;   /* each job has its own, see cf_backend_clone() */
    cf_send send;
    cf_sent sent;     /* the caller's cf_sent_init() and _deinit() */
    cf_status status; /* set: what cf_conversation_send() would return */
    cf_error err;     /* set where status is not CF_OK */
} cf_send_job;

/* Sends them all: requests are made and messages added first, then
 * cf_backend_generate_many() answers, then replies are added, both in the
 * order of the list; the head of a conversation moves with each. */
void cf_conversation_send_many(cf_send_job *jobs, size_t n);

/* The prompt and its tokens that a send would use, sending nothing and
 * changing nothing.  tokens may be NULL; see cf_backend_tokenise(). */
CF_MUST_USE cf_status cf_conversation_preview(const cf_conversation *conv, cf_backend *backend,
                                              const cf_send *send, cf_arena *arena,
                                              cf_prompt *prompt, cf_token_list *tokens,
                                              cf_error *err);

/* Reports everything of a send of which nothing is in `prompt`, which is its
 * preview; see cf_prompt_each_loss(). */
CF_MUST_USE cf_status cf_conversation_losses(const cf_conversation *conv, const cf_send *send,
                                             const cf_prompt *prompt, cf_loss_fn fn, void *ud,
                                             cf_error *err);

/*
 * LiteRT-LM's scheme as a diagnostic: render the conversation without
 * and with the message, and send the difference.  That scheme fails if the
 * second rendering does not start with the first.
 */
typedef struct cf_double_render {
    bool would_fail;
    size_t old_len, new_len; /* bytes of both renders */
    size_t off;              /* first differing byte */
    char was[48], is[48];    /* the text there, made printable */
    uint32_t line;           /* of the template, in the second render */
} cf_double_render;

CF_MUST_USE cf_status cf_conversation_double_render(const cf_conversation *conv,
                                                    cf_backend *backend, const cf_send *send,
                                                    cf_double_render *out, cf_error *err);

/* ---- the tool loop ------------------------------------------------------ */

typedef enum cf_call_verdict {
    CF_CALL_RUN,
    CF_CALL_REFUSE /* the reason goes to the model */
} cf_call_verdict;

/* A call that waits for its result. */
typedef struct cf_pending_call {
    cf_str name, id;
    const json_t *arguments;
    size_t index;   /* in the reply */
    cf_str bad;     /* why it is not valid; empty when it is */
    uint32_t round; /* 1, 2 ... */
} cf_pending_call;

enum { CF_TOOL_LOOP_BYTES = 64 << 20 }; /* replies and results of one loop */

typedef struct cf_tool_loop {
    uint32_t max_rounds; /* 0: 25 */
    bool stops_at_call;  /* the first reply with calls is the last */
    /* Asked before each valid call; NULL refuses all.  May put a reason. */
    cf_call_verdict (*decide)(void *ud, const cf_pending_call *call, cf_buf *reason);
    /* Makes a result: a new reference of any kind.  A failure goes to the
     * model as {"error": text}, except CF_ENOMEM and CF_ECANCELLED. */
    cf_status (*run)(void *ud, const cf_pending_call *call, json_t **result, cf_error *err);
    /* Called for each result, refused ones too; may be NULL. */
    void (*done)(void *ud, const cf_pending_call *call, const json_t *result);
    /* Called before each send of the loop; may change the send, or fail and so
     * end the loop; may be NULL. */
    cf_status (*sending)(void *ud, cf_send *send, cf_error *err);
    /* Called after each send of the loop, whether it succeeded or not; may be
     * NULL. */
    void (*sent)(void *ud, const cf_sent *sent);
    void *ud;
} cf_tool_loop;

/*
 * Sends, and as long as the reply calls tools, answers the calls and sends
 * again, unless the loop stops at the first calls.  An invalid call is answered
 * with its findings.
 * CF_ELIMIT when the model still calls after max_rounds rounds (the last reply
 * is in the tree and is the head), and when replies and results together exceed
 * CF_TOOL_LOOP_BYTES.
 */
CF_MUST_USE cf_status cf_conversation_run(cf_conversation *conv, cf_backend *backend,
                                          const cf_send *send, const cf_tool_loop *loop,
                                          cf_sent *out, cf_error *err);

/* The message with a call's result: its content is a string, JSON text for all
 * but strings and lists of parts with a picture or sound.  NULL: no memory. */
json_t *cf_pending_call_result(const cf_pending_call *call, const json_t *result);

/* ---- results from outside ----------------------------------------------- */

/* A result from canned ones: an object by tool name; "*" matches any
 * other.  CF_ENOTFOUND. */
CF_MUST_USE cf_status cf_tool_canned(const json_t *canned, cf_str name, json_t **result,
                                     cf_error *err);

typedef struct cf_tool_exec {
    const char *command; /* run by /bin/sh -c, in its own process group */
    uint32_t timeout_ms; /* 0: 30 s */
    size_t max_output;   /* bytes; 0: 1 MiB */
    cf_cancel *cancel;   /* may be NULL */
    int *exit_code;      /* set when it ended by itself; may be NULL */
} cf_tool_exec;

/*
 * Runs a command that reads {"name","arguments","id"} on standard input and
 * writes the result to standard output: JSON, or text that becomes a string.
 * The caller has asked for approval.  CF_EIO with the exit status and the
 * last line of standard error, CF_ELIMIT for time and output (all it started
 * is killed), CF_ECANCELLED.
 */
CF_MUST_USE cf_status cf_tool_exec_run(const cf_tool_exec *exec, const cf_pending_call *call,
                                       json_t **result, cf_error *err);

CF_END_DECLS

#endif
