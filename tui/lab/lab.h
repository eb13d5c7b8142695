/*
 * lab.h - what is on the workbench: one conversation, the engine that
 * answers it, the worker that waits for the engine, and what is known about
 * each reply.  Views read it; commands change it.
 *
 * Rules:
 *   1. While a job runs the worker owns the conversation and the backend;
 *      views see the turns as they were when it began, and the live reply.
 *   2. Every turn goes to the store as it happens: the message before the
 *      engine is asked, the reply from its first byte.
 *   3. A failing store never stops a conversation; the app says so once.
 *
 * Threads:  the interface thread; jobs run on the worker's.
 */
#ifndef CF_TUI_LAB_LAB_H
#define CF_TUI_LAB_LAB_H

#include "core/api/conversation.h"
#include "storage/store.h"
#include "storage/trace.h"
#include "templates/template_lint.h"
#include "tui/lab/prompt_model.h"
#include "tui/lab/reply_settings.h"
#include "tui/lab/tool_desk.h"
#include "tui/lab/worker.h"

typedef struct cf_lab cf_lab;
typedef struct cf_template cf_template;

/* What answers; everything is borrowed and outlives the workbench. */
typedef struct cf_lab_engine {
    cf_backend *backend;
    const cf_engine *engine;       /* NULL: not the built-in core */
    const cf_tokenizer *tokenizer; /* NULL: the engine hides its tokens */
    const char *template_name;     /* "" when the engine hides it */
    cf_str template_source;
    const json_t *tools;        /* declarations; NULL: none */
    cf_tool_family family;      /* how the model writes calls */
    cf_session_options session; /* as the backend was opened with */
    cf_sampling sampling;       /* what replies begin with, as the next two */
    bool has_sampling;
    uint32_t asked; /* of the sampling, as in cf_chat_options */
    uint32_t max_tokens;
} cf_lab_engine;

/* A token of a reply, as it was drawn. */
typedef struct cf_reply_token {
    cf_token id;
    float p; /* < 0: unknown */
    bool is_forced;
    bool is_held;           /* the constraint took it */
    uint32_t n_allowed;     /* by the constraint; 0: none, or not known */
    uint32_t raw_off;       /* of its bytes in the raw reply */
    cf_draw *draw;          /* owned; NULL: no candidates with ids */
    cf_text_candidate *top; /* [n_top], one owned block with its texts: what
                               engines without ids show */
    size_t n_top;
} cf_reply_token;

typedef struct cf_lab_rule cf_lab_rule;

/* What is known about one reply. */
typedef struct cf_reply {
    cf_uuid turn;
    cf_lab_rule *rule;    /* held; what it was held to; NULL: nothing */
    cf_token *prompt_ids; /* [n_prompt_ids], owned */
    size_t n_prompt_ids;
    size_t n_start;       /* tokens that it was given, not drawn */
    size_t start_content; /* bytes at the end of theirs that a constraint
                             would take: not thinking */
    cf_buf raw;
    cf_buf chunks; /* uint32_t lengths of the pieces in which raw came; empty
                      when that is not known */
    cf_reply_token *token; /* [n_token], owned */
    size_t n_token, cap_token;
    cf_usage usage;
    cf_timings timings;
    cf_stop stop;
    cf_sync_result sync;
    char cause[160]; /* why the cache was lost; "" when it was not */
    char sampler[160];
    cf_trace_writer steps; /* names of the chain's steps, where the draws came
                              from the store */
    uint32_t n_calls;
} cf_reply;

/* The reply that is being written. */
typedef struct cf_live {
    bool is_on;
    cf_uuid parent; /* the turn it answers */
    cf_buf text, thinking, calls;
    uint64_t n_done, n_total; /* prefill */
    size_t n_tokens;
    uint64_t start_us, first_us; /* monotonic; first_us 0: no token yet */
    char failure[200]; /* why the last one brought no reply; "" when it did */
} cf_live;

CF_MUST_USE cf_status cf_lab_new(cf_lab **out, const cf_lab_engine *engine,
                                 cf_store *store, cf_error *err);
void cf_lab_free(cf_lab *lab);

/* A descriptor that gets a byte when there is news. */
void cf_lab_wake_with(cf_lab *lab, int fd);

/* Takes what the worker has to say; true when something changed.  A failure
 * to tell is put into *err (code CF_OK when there is none). */
bool cf_lab_poll(cf_lab *lab, cf_error *err);

/* Waits until no job runs and everything was taken.  For tests. */
void cf_lab_settle(cf_lab *lab, cf_error *err);

const cf_lab_engine *cf_lab_engine_of(const cf_lab *lab);
cf_backend_info cf_lab_info(const cf_lab *lab);

/* What the replies to come are asked for; changing it changes the next one.
 * Where the prompt may depend on it, cf_lab_prompt_stale() has it made
 * anew. */
cf_reply_settings *cf_lab_settings(cf_lab *lab);
void cf_lab_prompt_stale(cf_lab *lab);

/*
 * Holds the replies to come to a constraint: "schema FILE", "regex PATTERN",
 * "grammar FILE", "choice A|B", "json", "tools [MODE]", or "off".
 * CF_EUNSUPPORTED where the engine cannot; CF_EINVAL, CF_ENOTFOUND,
 * CF_EFORMAT; the constraint before then stays.
 */
CF_MUST_USE cf_status cf_lab_constrain(cf_lab *lab, const char *words,
                                       cf_error *err);
/* "schema weather.json"; "" for none. */
const char *cf_lab_constraint(const cf_lab *lab);
/* The same of a reply. */
const char *cf_reply_constraint(const cf_reply *reply);

/* ---- the conversation --------------------------------------------------- */

bool cf_lab_is_busy(const cf_lab *lab);
const cf_live *cf_lab_live(const cf_lab *lab);

/* The turns from the first to the head, as views show them. */
const cf_turn *const *cf_lab_path(const cf_lab *lab, size_t *n);

/* All turns, in the order they came. */
const cf_turn *const *cf_lab_turns(const cf_lab *lab, size_t *n);

/* Siblings of a turn, itself included; *index is its place among them. */
size_t cf_lab_siblings(const cf_lab *lab, const cf_turn *turn, size_t *index);
/* The sibling `by` places further; NULL past an end. */
const cf_turn *cf_lab_sibling(const cf_lab *lab, const cf_turn *turn, int by);

/* Changes whenever the path, the turns or the template may have changed. */
uint64_t cf_lab_generation(const cf_lab *lab);

/* What the model may call; borrowed. */
const cf_tool_set *cf_lab_tools(const cf_lab *lab);

/* NULL when nothing is known (not a reply, or from elsewhere). */
const cf_reply *cf_lab_reply(cf_lab *lab, cf_uuid turn);
/* Tokens a second while decoding; 0 over fewer than n_least of them, which
 * say nothing. */
double cf_decode_rate(const cf_timings *t, uint32_t n_least);

cf_uuid cf_lab_conv_id(const cf_lab *lab);
const char *cf_lab_title(const cf_lab *lab);

void cf_lab_new_conv(cf_lab *lab);
/* Opens a saved conversation, as saved.h loads it, with `turn` (nil: where it
 * was left) as the head.  After a failure the one that was open stays. */
CF_MUST_USE cf_status cf_lab_open_conv(cf_lab *lab, cf_uuid conv, cf_uuid turn,
                                       cf_error *err);

/* Shows the path to another turn. */
CF_MUST_USE cf_status cf_lab_set_head(cf_lab *lab, cf_uuid turn, cf_error *err);

/* Sends what a person wrote, following `parent`; CF_EBUSY while a job runs. */
CF_MUST_USE cf_status cf_lab_send(cf_lab *lab, cf_str text, cf_uuid parent,
                                  cf_error *err);

/* Adds messages (an array) one behind the other, following `parent`, and with
 * `asks` lets the model answer the last one. */
CF_MUST_USE cf_status cf_lab_add(cf_lab *lab, const json_t *messages,
                                 cf_uuid parent, bool asks, cf_error *err);

/* Another reply to the turn that `reply` answers; to `reply` itself when that
 * is a message. */
CF_MUST_USE cf_status cf_lab_retry(cf_lab *lab, cf_uuid reply, cf_error *err);

/* A reply that starts with `prefix`, beside `reply`. */
CF_MUST_USE cf_status cf_lab_continue(cf_lab *lab, cf_uuid reply, cf_str prefix,
                                      cf_error *err);

/* A reply with the tokens of `reply` up to `token`, then ids[0..n), then as
 * the engine goes on: for max_tokens, or as the settings say (0). */
CF_MUST_USE cf_status cf_lab_fork(cf_lab *lab, cf_uuid reply, size_t token,
                                  const cf_token *ids, size_t n,
                                  uint32_t max_tokens, cf_error *err);

/* A reply that a person made of another one: `message` beside `reply`, with
 * the bytes that stand for it (may be empty).  Nothing is asked. */
CF_MUST_USE cf_status cf_lab_add_reply(cf_lab *lab, cf_uuid reply,
                                       const json_t *message, cf_str raw,
                                       cf_error *err);

void cf_lab_stop(cf_lab *lab);

/* ---- other work --------------------------------------------------------- */

/*
 * Long work on the worker's thread that makes no turn: comparing, scoring.
 * While it runs nothing can be sent; the conversation itself may change, so a
 * task works on copies.
 */
typedef struct cf_lab_task {
    const char *name; /* "comparing"; constant */
    /* On the worker's thread. */
    cf_status (*run)(void *ud, cf_lab *lab, cf_error *err);
    /* On the interface thread: what run() told, in order, then the end, once.
     * An item is the task's from then on. */
    void (*take)(void *ud, void *item);
    void (*end)(void *ud, cf_status status, const cf_error *err);
    /* Appends "3 of 12"; may be NULL. */
    void (*progress)(const void *ud, cf_buf *out);
    void (*free_item)(void *item);
    void *ud;
    bool gives_way; /* ends when a reply or another task is to begin */
} cf_lab_task;

/* CF_EBUSY, saying what, while a reply is written or a task runs that does not
 * give way: whoever copies the engine's state for a task asks this before. */
CF_MUST_USE cf_status cf_lab_need_idle(cf_lab *lab, cf_error *err);

/* CF_EBUSY as above. */
CF_MUST_USE cf_status cf_lab_start_task(cf_lab *lab, const cf_lab_task *task,
                                        cf_error *err);

/* From run(): hands an item over, waiting while the queue is full. */
void cf_lab_tell(cf_lab *lab, void *item);
cf_cancel *cf_lab_cancel_flag(cf_lab *lab);

/* The name of the task that runs; NULL: none. */
const char *cf_lab_task_name(const cf_lab *lab);

/* Appends how far it has come, as far as it tells. */
void cf_lab_task_progress(const cf_lab *lab, cf_buf *out);

/* Stops a task that gives way, if one runs, and waits for its end(). */
void cf_lab_make_way(cf_lab *lab);
/* Stops the task with this `ud` (NULL: any), if it runs, and waits for its
 * end(). */
void cf_lab_end_task(cf_lab *lab, const void *ud);

/* ---- tools -------------------------------------------------------------- */

/* Mocks, commands and policies. */
cf_tool_desk *cf_lab_desk(cf_lab *lab);

/* Other declarations from now on (referenced); NULL: none. */
CF_MUST_USE cf_status cf_lab_set_tools(cf_lab *lab, const json_t *tools,
                                       cf_error *err);

/* Another reply beside `reply`, held to calls of the declared tools where the
 * engine can be held to something. */
CF_MUST_USE cf_status cf_lab_retry_calls(cf_lab *lab, cf_uuid reply,
                                         cf_error *err);

/* What came of a call. */
typedef struct cf_call_note {
    cf_uuid reply;
    size_t n;
    char state[16]; /* "parsed", "typed", "mock", "ran", "failed", "refused" */
    bool is_mocked;
    int64_t started_ms, duration_us, exit_code; /* -1: unknown */
} cf_call_note;

/* NULL when memory ran out, or nothing is known and there is no history; an
 * empty state when nothing is known. */
const cf_call_note *cf_lab_call_note(cf_lab *lab, cf_uuid reply, size_t n);
/* Remembers it, in the history too.  `call` is what is known of a call that
 * the history does not have. */
void cf_lab_note_call(cf_lab *lab, const cf_call_note *note,
                      const cf_store_call *call, cf_str result);

/*
 * The same on a thread of its own, beside whatever the worker does, for
 * queries of the store that take longer than a frame may: run() and end()
 * alone, one at a time.  CF_EBUSY while one runs.
 */
CF_MUST_USE cf_status cf_lab_start_reading(cf_lab *lab, const cf_lab_task *task,
                                           cf_error *err);
/* Waits for the end() of the reading with this `ud` (NULL: any), if it runs. */
void cf_lab_end_reading(cf_lab *lab, const void *ud);

/* ---- the prompt --------------------------------------------------------- */

/* The prompt of the path and a draft, as it would be sent now; NULL when it
 * cannot be shown, see cf_lab_prompt_error.  Made anew only when something
 * changed, and never while a job runs. */
cf_prompt_model *cf_lab_prompt(cf_lab *lab);
void cf_lab_prompt_error(const cf_lab *lab, cf_error *err);
/* The prompt of the path to `leaf` with `messages` (an array) behind it,
 * sending nothing; in the arena.  CF_EBUSY while a reply is written. */
CF_MUST_USE cf_status cf_lab_preview(cf_lab *lab, cf_uuid leaf,
                                     const json_t *messages, cf_arena *arena,
                                     cf_prompt *out, cf_error *err);
/* The text in the composer; copied. */
void cf_lab_set_draft(cf_lab *lab, cf_str draft);

/* The role of a message of the prompt, system messages of the preface
 * included; and the message that a turn of the path is. */
const char *cf_lab_message_role(const cf_lab *lab, size_t message);
size_t cf_lab_message_of(const cf_lab *lab, size_t turn);
bool cf_lab_is_control(const cf_lab *lab, cf_token id);
/* One sentence about where the cache and the prompt part. */
void cf_lab_break_cause(cf_lab *lab, cf_buf *out);
void cf_lab_template_line(const cf_lab *lab, uint32_t line, cf_buf *out);
const char *cf_lab_template_name(const cf_lab *lab);

/*
 * Renders with another template from now on (copied; an empty source is no
 * template).  The cache stays, and so the prompt shows where it breaks.
 * CF_EFORMAT with line and column when it does not compile, CF_EBUSY,
 * CF_EUNSUPPORTED; the old one then stays.
 */
CF_MUST_USE cf_status cf_lab_set_template(cf_lab *lab, const char *name,
                                          cf_str source, cf_error *err);
/* How a model prompted with this template most likely writes calls. */
cf_tool_family cf_lab_tool_family(const cf_lab_engine *engine, cf_str source);
/*
 * Has a backend, the workbench's or a clone of it, speak with another template
 * (NULL: none) and take calls as that writes them; returns the family.  The
 * template must live until the backend is told again.
 */
cf_tool_family cf_lab_use_template(cf_backend *backend,
                                   const cf_lab_engine *engine,
                                   const cf_template *tpl, cf_str source);
/* The template that the workbench began with; borrowed. */
void cf_lab_first_template(const cf_lab *lab, const char **name,
                           cf_str *source);

/* What the doctor says of a template. */
typedef struct cf_lab_lint {
    cf_status status;
    cf_error err;
    cf_lint_report report;                /* when the status is CF_OK */
    const cf_template_variable *variable; /* [n_variables]; none when it does
                                             not compile */
    size_t n_variables;
} cf_lab_lint;

/* Of `source`, for the model in the workbench.  NULL while it is being found out
 * on a thread of its own; then there is news.  Lives until the next call with
 * another source. */
const cf_lab_lint *cf_lab_lint_of(cf_lab *lab, cf_str source);

/* A variable of the prompt: what it is and who set it. */
typedef struct cf_lab_variable {
    cf_str name;
    cf_buf value;       /* JSON in short; "" when it is not set */
    const char *origin; /* "the conversation", ":var" ...; constant */
    uint32_t line;      /* of the template, where it is first used; 0: it is
                           not */
} cf_lab_variable;

/* The variables of the template in use, and those that were set but are not
 * used there; *v is owned by the caller (cf_lab_variables_free).  CF_EBUSY
 * while the template is looked over. */
CF_MUST_USE cf_status cf_lab_variables(cf_lab *lab, cf_lab_variable **v,
                                       size_t *n, cf_error *err);
void cf_lab_variables_free(cf_lab_variable *v, size_t n);

/* "NAME=JSON" sets a template variable, "NAME=" removes it. */
CF_MUST_USE cf_status cf_lab_set_var(cf_lab *lab, const char *text,
                                     cf_error *err);

/* ---- marks and texts ---------------------------------------------------- */

/* Conversations marked A (0) and B (1). */
void cf_lab_mark(cf_lab *lab, int which, cf_uuid conv);
/* 'A', 'B' or ' '. */
char cf_lab_mark_of(const cf_lab *lab, cf_uuid conv);

/* Nil when nothing is marked. */
cf_uuid cf_lab_marked(const cf_lab *lab, int which);

/* Conversations ticked for what is done with several of them, in the order
 * they were; borrowed until the next tick.  Ticking one twice takes it off;
 * false when memory ran out. */
bool cf_lab_tick(cf_lab *lab, cf_uuid conv);
bool cf_lab_is_ticked(const cf_lab *lab, cf_uuid conv);
const cf_uuid *cf_lab_ticked(const cf_lab *lab, size_t *n);
void cf_lab_untick_all(cf_lab *lab);

/* For a comparison: a copy of the conversation (the caller frees it; CF_EBUSY
 * while a job runs), the text in the composer and the template variables
 * (both borrowed). */
CF_MUST_USE cf_status cf_lab_clone_conv(const cf_lab *lab,
                                        cf_conversation **out, cf_error *err);
cf_str cf_lab_draft(const cf_lab *lab);
const json_t *cf_lab_vars(const cf_lab *lab);

/* Appends what a message says, as plain text; the JSON of stored messages
 * and the object. */
void cf_lab_plain_text(cf_buf *out, cf_str message_json);
void cf_lab_message_text(cf_buf *out, const json_t *message);

#endif
