/*
 * trail.h - what a coding agent did in one session, in one form for all agents.
 *
 * Place in the flow:  an agent's session file --> [trail] --> findings, steps,
 *                     the store, views, JSON.
 * Knows: the files of Claude Code, Codex, opencode, Gemini CLI, Qwen Code and
 * pi, and OpenTelemetry's GenAI spans.  Does not know: engines, templates, screens.
 *
 * docs/sessions.md says what each format holds and how it becomes events.
 * Files are hostile: a record that cannot be read is left out with a reason,
 * every walk through parents ends, and memory is bounded by the file's size.
 *
 * Threads:  a trail never changes after it was read; one thread at a time.
 * Memory:   a trail owns everything it points to, in one arena.
 */
#ifndef CF_STORAGE_TRAIL_H
#define CF_STORAGE_TRAIL_H

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/cancel.h"
#include "core/base/decls.h"
#include "core/base/status.h"
#include "core/base/str.h"

CF_BEGIN_DECLS

typedef enum cf_trail_role {
    CF_TRAIL_SYSTEM,
    CF_TRAIL_USER,
    CF_TRAIL_ASSISTANT,
    CF_TRAIL_TOOL
} cf_trail_role;

/* "system", "user", "assistant", "tool". */
const char *cf_trail_role_name(cf_trail_role role);

typedef struct cf_trail_call {
    cf_str id, name;
    cf_str arguments; /* JSON; a string where the model's text was not JSON */
} cf_trail_call;

typedef struct cf_trail_message {
    size_t n; /* from 1, through the whole session */
    cf_trail_role role;
    cf_str text, thinking;
    const cf_trail_call *calls; /* [n_calls] */
    size_t n_calls;
    cf_str call_id; /* of a tool message */
    cf_str model;   /* of a reply; empty: unknown */
    unsigned n_images;
    bool is_error, is_meta; /* meta: the harness wrote it in the user's name */
    int64_t time_ms;        /* 0: unknown */
} cf_trail_message;

/* Tokens: input + cache_read + cache_creation is the whole prompt, output is
 * everything generated, reasoning a part of it. */
typedef struct cf_trail_usage {
    int64_t input, cache_read, cache_creation, output, reasoning;
} cf_trail_usage;

static inline int64_t cf_trail_prompt(const cf_trail_usage *u)
{
    return u->input + u->cache_read + u->cache_creation;
}

/* What was found about a request when it was recorded. */
typedef struct cf_trail_note {
    cf_str kind, text;
    const cf_trail_message *message; /* that it is about; NULL: none */
    int64_t had, kept;               /* tokens, of a lost cache */
} cf_trail_note;

/* One request. */
typedef struct cf_trail_step {
    size_t n;                  /* from 1 */
    cf_trail_message *message; /* the reply; NULL: the file has none */
    cf_trail_usage used;
    cf_str stop, model;              /* empty: unknown */
    cf_trail_message **not_returned; /* [n_not_returned], replies whose reasoning it lacks */
    size_t n_not_returned;
    const cf_trail_note *notes; /* [n_notes] */
    size_t n_notes;
} cf_trail_step;

typedef struct cf_trail_agent {
    cf_str id, parent_call, title; /* parent_call empty: unknown */
} cf_trail_agent;

typedef struct cf_trail_compaction {
    size_t before;      /* n of the message before it; 0: none */
    const cf_str *kept; /* [n_kept], texts that stay as they are */
    size_t n_kept;
    cf_str summary;
    bool is_automatic;
} cf_trail_compaction;

typedef enum cf_trail_kind {
    CF_TRAIL_MESSAGE,
    CF_TRAIL_STEP,
    CF_TRAIL_AGENT,
    CF_TRAIL_COMPACTION,
    CF_TRAIL_ABORTED
} cf_trail_kind;

typedef struct cf_trail_event {
    cf_trail_kind kind;
    cf_str agent;   /* "": the main one */
    bool is_branch; /* off the path that the session took in the end */
    size_t branch;  /* n of the message it leaves from; 0: none */
    size_t next;    /* the place of the same agent's next event; SIZE_MAX: none */
    union {
        cf_trail_message *message;
        cf_trail_step *step;
        cf_trail_agent *agent;
        cf_trail_compaction *compaction;
        size_t aborted; /* n of the last message before the user stopped it */
    } as;
} cf_trail_event;

typedef struct cf_trail_left_out {
    uint64_t line; /* 1-based; of a document, the message's place in it */
    cf_str why;
    cf_str file; /* of a sub-agent; empty: the session's own */
} cf_trail_left_out;

typedef struct cf_trail {
    cf_arena arena;
    const char *format; /* as in the event `session`: "claude-code", "proxy" ... */
    cf_str path, id, title, folder, version;
    int64_t started_ms, ended_ms; /* 0: unknown */
    const cf_str *models;         /* [n_models], in order of first use */
    size_t n_models;
    cf_trail_event *events; /* [n_events] */
    size_t n_events;
    size_t n_messages, n_calls, n_steps;
    cf_trail_left_out *left_out; /* [n_left_out] */
    size_t n_left_out;
    const cf_str *parts; /* [n_parts], of traffic: ids of the main path's conversations */
    size_t n_parts;
} cf_trail;

typedef struct cf_trails {
    cf_trail **v; /* [n], heap */
    size_t n, cap;
} cf_trails;

typedef struct cf_trail_options {
    size_t max_bytes;  /* read of a file, whole lines; 0: all */
    const char *id;    /* of a history: the conversation whose session is read; NULL, "": all */
    cf_cancel *cancel; /* ends with CF_ECANCELLED; may be NULL */
    /* Called with how much of a file has been read; may be NULL. */
    void (*progress)(void *ud, uint64_t done, uint64_t all);
    void *ud;
} cf_trail_options;

/* Reads the sessions of a file, of a folder (files by path), or of a history's
 * traffic (of its 1,000 newest conversations).  CF_EFORMAT where
 * nothing is a session, CF_ENOTFOUND, CF_EIO, CF_ENOMEM, CF_ECANCELLED; `out`
 * is empty then. */
CF_MUST_USE cf_status cf_trails_read(cf_trails *out, const char *path, const cf_trail_options *opts,
                                     cf_error *err);
/* The same from text of the one format that comes over a network. */
CF_MUST_USE cf_status cf_trails_read_otel(cf_trails *out, cf_str text, cf_error *err);
void cf_trails_deinit(cf_trails *t);

/* The format of a file by its content, or NULL. */
const char *cf_trail_sniff(const char *path);

/* The first text that the user wrote, which names a session without a title, cut
 * to one line.  Borrowed. */
cf_str cf_trail_first_text(const cf_trail *t);
/* Its title, or that text, at most 80 bytes of it and cut between characters. */
cf_str cf_trail_name(const cf_trail *t);

/* ---- findings ------------------------------------------------------------ */

typedef enum cf_trail_finding_kind {
    CF_TRAIL_COMPACTED,
    CF_TRAIL_REPEATED,
    CF_TRAIL_INVALID_CALL,
    CF_TRAIL_NO_RESULT,
    CF_TRAIL_NO_CALL,
    CF_TRAIL_ERROR_IGNORED,
    CF_TRAIL_CACHE_LOST,
    CF_TRAIL_NEARLY_FULL,
    CF_TRAIL_CUT_REPLY,
    CF_TRAIL_REASONING_NOT_RETURNED,
    CF_TRAIL_AGENT_UNUSED,
    CF_TRAIL_RECORDED /* by the proxy; its name is that of the finding */
} cf_trail_finding_kind;

typedef struct cf_trail_finding {
    cf_trail_finding_kind kind;
    size_t at;            /* place in the trail's events that it belongs to */
    size_t message, step; /* n; the fields that its kind has */
    cf_str name, agent;
    const char *why;
    const cf_str *lost; /* [n_lost], sentences */
    size_t n_lost;
    const size_t *messages; /* [n_messages] */
    size_t n_messages;
    int64_t tokens, limit; /* had and kept; tokens and window */
    cf_str text;           /* a sentence */
} cf_trail_finding;

typedef struct cf_trail_findings {
    cf_arena arena;
    cf_trail_finding *v; /* [n], by `at` */
    size_t n;
} cf_trail_findings;

cf_str cf_trail_finding_name(const cf_trail_finding *f);

/* The rules are in docs/sessions.md.  Side branches are not examined.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_trail_find(cf_trail_findings *out, const cf_trail *t, cf_error *err);
void cf_trail_findings_deinit(cf_trail_findings *f);

/* Tokens that a model's context holds, by its name; 0: unknown. */
int64_t cf_trail_window(cf_str model);

/* ---- steps --------------------------------------------------------------- */

/* Tokens and calls that add up. */
typedef struct cf_trail_sum {
    size_t n_steps, n_calls, n_failed; /* failed: calls whose results are errors */
    cf_trail_usage used;
    int64_t ms;
    double cost; /* in the money of the price list; 0 without one */
} cf_trail_sum;

/* One request as a row. */
typedef struct cf_trail_row {
    size_t at;    /* place of its event */
    size_t agent; /* place in `agents` */
    cf_trail_sum sum;
    int64_t window;    /* tokens of its model's context; 0: unknown */
    size_t n_findings; /* of its reply and of itself */
} cf_trail_row;

typedef struct cf_trail_group {
    cf_str name;       /* an agent's id, or a tool's name */
    cf_str title;      /* of an agent */
    size_t parent;     /* of an agent: the one whose call began it, by place; SIZE_MAX: none */
    size_t parent_row; /* and the row of that call; SIZE_MAX: none */
    size_t at;         /* and the place of its event */
    cf_trail_sum sum;
} cf_trail_group;

typedef struct cf_trail_steps {
    cf_arena arena;
    cf_trail_row *rows; /* [n_rows], sub-agents after what began them */
    size_t n_rows;
    cf_trail_group *agents, *tools; /* the first agent is the main one */
    size_t n_agents, n_tools;
    cf_trail_sum sum;
} cf_trail_steps;

/* Prices for a million tokens, by the first part that a model's name holds. */
typedef struct cf_trail_prices {
    cf_arena arena;
    struct cf_trail_price {
        cf_str model;
        double input, output, cache_read, cache_creation;
    } * v; /* [n], in the arena */
    size_t n;
} cf_trail_prices;

/* {"PART OF A NAME":{"input":3,"output":15,"cache_read":0.3,
 * "cache_creation":3.75},..}; cache prices that are not given are that of the
 * input.  CF_EFORMAT, CF_EIO, CF_ENOMEM. */
CF_MUST_USE cf_status cf_trail_prices_read(cf_trail_prices *out, const char *path, cf_error *err);
void cf_trail_prices_deinit(cf_trail_prices *p);

/* `found` and `prices` may be NULL.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_trail_steps_make(cf_trail_steps *out, const cf_trail *t,
                                          const cf_trail_findings *found,
                                          const cf_trail_prices *prices, cf_error *err);
void cf_trail_steps_deinit(cf_trail_steps *s);

/* What a request's model read, as far as the file knows: messages, and
 * summaries in place of those that a compaction took out. */
typedef struct cf_trail_item {
    const cf_trail_message *message; /* NULL: a summary */
    const cf_trail_compaction *summary;
} cf_trail_item;

typedef struct cf_trail_context {
    cf_arena arena;
    cf_trail_item *v; /* [n] */
    size_t n;
} cf_trail_context;

/* Of the step whose event is at a place.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_trail_context_make(cf_trail_context *out, const cf_trail *t, size_t at,
                                            cf_error *err);
void cf_trail_context_deinit(cf_trail_context *c);
cf_str cf_trail_item_text(const cf_trail_item *item);
/* The place of the event of step `n`; SIZE_MAX: there is none. */
size_t cf_trail_step_at(const cf_trail *t, size_t n);

typedef enum cf_trail_change {
    CF_TRAIL_SAME,
    CF_TRAIL_LEFT,    /* only before */
    CF_TRAIL_ENTERED, /* only after */
    CF_TRAIL_CHANGED  /* the same place in the conversation with another text */
} cf_trail_change;

typedef struct cf_trail_diff_row {
    cf_trail_change change;
    cf_trail_item before, after; /* of SAME both are set */
    size_t place;                /* in the context after; of LEFT in the one before */
    size_t same_bytes;           /* of CHANGED: how many bytes both begin with */
} cf_trail_diff_row;

typedef struct cf_trail_diff {
    cf_arena arena;
    cf_trail_diff_row *v; /* [n] */
    size_t n;
} cf_trail_diff;

CF_MUST_USE cf_status cf_trail_diff_make(cf_trail_diff *out, const cf_trail_context *before,
                                         const cf_trail_context *after, cf_error *err);
void cf_trail_diff_deinit(cf_trail_diff *d);
const char *cf_trail_change_name(cf_trail_change change);

/* What became of the sentences that the user wrote before a compaction. */
typedef enum cf_trail_fate { CF_TRAIL_GONE, CF_TRAIL_REWRITTEN, CF_TRAIL_KEPT } cf_trail_fate;

typedef struct cf_trail_sentence {
    cf_str text;
    size_t message;     /* n of the message it is of */
    cf_trail_fate fate; /* REWRITTEN: the summary has it */
} cf_trail_sentence;

typedef struct cf_trail_sentences {
    cf_arena arena;
    cf_trail_sentence *v; /* [n] */
    size_t n;
} cf_trail_sentences;

/* `at`: the compaction's event.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_trail_fates(cf_trail_sentences *out, const cf_trail *t, size_t at,
                                     cf_error *err);
void cf_trail_sentences_deinit(cf_trail_sentences *s);
const char *cf_trail_fate_name(cf_trail_fate fate);

/* ---- JSON ---------------------------------------------------------------- */

/* Appends the events of docs/sessions.md, one a line; findings (NULL: none)
 * before `end`. */
void cf_trail_write(cf_buf *out, const cf_trail *t, const cf_trail_findings *findings);
void cf_trail_write_finding(cf_buf *out, const cf_trail_finding *f);

CF_END_DECLS

#endif
