/*
 * store.h - the history: every turn and everything about it, in one SQLite file.
 *
 * Place in the flow:  a running conversation --> [store] --> library, search,
 *                     commands.
 * Knows: conversations as trees of turns, runs, tool calls, templates, tags.
 * Does not know: what a template means, engines, screens.
 *
 * Writing:  one thread of the store owns the one connection that writes.  A
 *           write call hands over a copy and waits until it is committed, so
 *           CF_OK means "on disk".  Writes of a conversation's own content
 *           (cf_store_put_*, cf_store_begin, cf_store_finish) are kept: when
 *           the disk is full, read-only or locked they return CF_EBUSY, stay
 *           in memory in their order, and are written as soon as that is
 *           possible; cf_store_get_state() reports it.  All other writes fail
 *           at once in that case and change nothing.
 * Reading:  from read-only connections, never held up by the writer, results
 *           in the caller's arena.
 * Threads:  a cf_store may be used by any number of threads; a cf_stream by
 *           one at a time.  Several processes may open one file.
 * Memory:   inputs are copied before a call returns; cf_str fields of results
 *           are NUL-terminated and live in the arena given.
 */
#ifndef CF_STORAGE_STORE_H
#define CF_STORAGE_STORE_H

#include "core/api/message.h"
#include "core/api/sampling.h"
#include "core/api/session.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/status.h"
#include "core/base/str.h"
#include "core/base/uuid.h"

CF_BEGIN_DECLS

typedef struct cf_store cf_store;
typedef struct cf_stream cf_stream;

/* ---- opening ------------------------------------------------------------ */

enum {
    CF_STORE_CREATE = 1u << 0,     /* make the file when there is none */
    CF_STORE_READ_ONLY = 1u << 1,  /* no writer; nothing is changed */
    CF_STORE_KEEP_GOING = 1u << 2, /* a file that cannot be opened now is not
                                      an error: writes wait in memory */
    CF_STORE_NO_RECOVERY = 1u << 3 /* leave turns of ended programs alone */
};

typedef struct cf_store_options {
    uint32_t flags;          /* CF_STORE_* */
    uint32_t patience_ms;    /* longest wait of a kept write; 0: 2000 */
    uint32_t busy_ms;        /* longest wait for another program's lock; 0: 5000 */
    uint64_t max_kept_bytes; /* most bytes waiting in memory; 0: 256 MiB */
} cf_store_options;

/*
 * Opens the database `path`, after backing it up and migrating it when it is
 * older, and marks turns whose program has ended as interrupted.  A newer
 * database is opened for reading only (see cf_store_get_state).
 *
 * CF_ENOTFOUND  there is no file and CF_STORE_CREATE is not set
 * CF_EFORMAT    not a confab database, or damaged; nothing was changed
 * CF_EIO, CF_EBUSY, CF_ENOMEM
 */
CF_MUST_USE cf_status cf_store_open(cf_store **out, const char *path, const cf_store_options *opts,
                                    cf_error *err);

/* Writes what is waiting, as far as possible, and closes.  Call
 * cf_store_flush() before to learn whether all of it got there. */
void cf_store_close(cf_store *store);

const char *cf_store_path(const cf_store *store);

typedef struct cf_store_state {
    bool is_read_only; /* writes are refused: newer file, or opened so */
    bool is_failing;   /* the last attempt to write did not succeed */
    size_t n_waiting;  /* writes in memory */
    size_t n_lost;     /* kept writes that were never made */
    cf_error why;      /* reason of the above, "" when all is well */
    cf_error lost_why; /* of the last of n_lost; stays */
} cf_store_state;
void cf_store_get_state(cf_store *store, cf_store_state *out);

/* Counts a write that could not be handed over, so that the state reports it:
 * for callers that have no other way to report a failed cf_store_put_... */
void cf_store_note_lost(cf_store *store, const cf_error *why);

/* Waits at most timeout_ms until everything handed over before is on disk,
 * open streams included.  CF_EBUSY, with the reason, when it is not. */
CF_MUST_USE cf_status cf_store_flush(cf_store *store, uint32_t timeout_ms, cf_error *err);

/* ---- stored objects ----------------------------------------------------- */

typedef enum cf_store_place {
    CF_PLACE_LIVE = 0,
    CF_PLACE_ARCHIVED = 1,
    CF_PLACE_TRASH = 2
} cf_store_place;

/* The inputs needed to run a turn again, and its results.  Absent numbers are
 * -1, absent texts {NULL, 0}. */
typedef struct cf_store_run {
    cf_str engine;          /* "builtin 0.1.0", "openai", "script" */
    cf_str model;           /* name or address, without credentials */
    cf_str model_hash;      /* SHA-256 of the file */
    cf_str template_hash;   /* kept with cf_store_put_template */
    cf_str vars;            /* JSON object: template variables */
    cf_str options;         /* JSON object: sampling and limits */
    cf_str constraint_spec; /* JSON: schema or grammar, family, mode */
    const cf_str *tools;    /* [n_tools] JSON declarations, in order */
    size_t n_tools;
    uint64_t seed;
    bool has_seed;
    int n_threads;
    cf_str isa; /* instruction set of the kernels */
    cf_arithmetic arithmetic;
    cf_str prompt_hash; /* SHA-256 of the rendered bytes */
    int64_t prompt_bytes;
    int64_t n_prompt, n_kept, n_new, n_reply; /* tokens */
    int64_t diverged_at;                      /* first token where the cache differed */
    int64_t load_us, render_us, prefill_us, first_us, decode_us;
    cf_str stop_reason;
    cf_str error;
    const cf_token *prompt_ids; /* [n_prompt_ids] */
    size_t n_prompt_ids;
    const cf_token *reply_ids; /* [n_reply_ids] */
    size_t n_reply_ids;
    cf_str raw;             /* exact reply bytes, before any parsing */
    const uint64_t *chunks; /* [n_chunks] lengths; their sum is raw.n */
    size_t n_chunks;
    const uint64_t *token_us; /* [n_token_us] from one token to the next */
    size_t n_token_us;
    cf_str trace; /* see trace.h */
} cf_store_run;

/* A run with every number absent. */
cf_store_run cf_store_run_none(void);

/* One call that a reply made, from raw bytes to result. */
typedef struct cf_store_call {
    int64_t n; /* 0, 1, ... in the reply */
    cf_str call_id, name;
    cf_str arguments;           /* JSON */
    int64_t byte_from, byte_to; /* in run.raw; -1: unknown */
    int64_t token_from, token_to;
    cf_str status;   /* "VALID", "PARSE_ERROR" ... */
    cf_str findings; /* JSON list of {path, message} */
    cf_str parse_error;
    int64_t error_at;
    cf_str state;        /* "parsed", "running", "done", "refused" ... */
    cf_uuid result_turn; /* the turn that holds the result; nil: none */
    cf_str result;
    int64_t started_ms, duration_us, exit_code; /* -1: unknown */
    bool is_mocked;
} cf_store_call;

cf_store_call cf_store_call_none(void);

typedef struct cf_store_turn {
    cf_uuid id; /* nil when putting: a new one is made */
    cf_uuid conversation;
    cf_uuid parent; /* nil: a first turn */
    cf_str message; /* JSON object in the shape of message.h */
    cf_turn_status status;
    cf_uuid edited_from;        /* the sibling that this one replaces */
    cf_uuid fork_of;            /* the reply that this one leaves at ... */
    int64_t fork_token;         /* ... this token; -1: none */
    const cf_token *forced_ids; /* [n_forced] ids forced from there */
    size_t n_forced;
    int rating; /* 0: none */
    cf_str note;
    int64_t created_ms;         /* 0 when putting: now */
    int64_t finished_ms;        /* -1: not yet, or unknown */
    cf_str source;              /* JSON: the origin of an import */
    const cf_store_run *run;    /* NULL: none, or not asked for */
    const cf_store_call *calls; /* [n_calls] */
    size_t n_calls;

    /* Results only. */
    uint32_t ordinal; /* order of arrival, from 1 */
    cf_str role;
    bool has_run;
} cf_store_turn;

typedef struct cf_store_conv {
    cf_uuid id; /* nil when putting: a new one is made */
    cf_str title;
    int64_t created_ms; /* 0 when putting: now */
    int64_t updated_ms; /* likewise */
    cf_uuid head;       /* the turn shown last; nil: none */
    cf_uuid forked_from;
    cf_store_place place;
    cf_str preface;     /* JSON object: tools, extra_context ... */
    cf_str source;      /* JSON: the origin of an import */
    const cf_str *tags; /* [n_tags] */
    size_t n_tags;

    /* Results only. */
    cf_str preview; /* start of the first user text */
    uint32_t n_turns, n_forks;
    cf_str model, template_hash;     /* of the newest run */
    cf_turn_status status;           /* of the newest turn */
    uint32_t n_good, n_bad, n_notes; /* turns rated and noted; lists only */
} cf_store_conv;

/* A conversation with its turns, parents before children. */
typedef struct cf_store_tree {
    cf_store_conv conv;
    const cf_store_turn *turns; /* [n] in order of arrival */
    size_t n;
} cf_store_tree;

/* ---- writing a conversation (kept) -------------------------------------- */

/* Stores a conversation without turns.  *id (may be NULL) gets its UUID.
 * CF_EINVAL when the UUID is taken; the existing one stays. */
CF_MUST_USE cf_status cf_store_put_conv(cf_store *store, const cf_store_conv *conv, cf_uuid *id,
                                        cf_error *err);

/* Stores a finished turn, with run and calls when given, and makes it the
 * head.  CF_EINVAL when its UUID is taken (the existing turn stays) or the
 * message is not a JSON object with a role; CF_ENOTFOUND for an unknown
 * conversation or parent. */
CF_MUST_USE cf_status cf_store_put_turn(cf_store *store, const cf_store_turn *turn, cf_uuid *id,
                                        cf_error *err);

/* Replaces call number call->n of a turn, or adds it. */
CF_MUST_USE cf_status cf_store_put_call(cf_store *store, cf_uuid turn, const cf_store_call *call,
                                        cf_error *err);

/* Stores a template by the hash of its source, written to `hash` (may be
 * NULL).  A known template keeps its first name. */
CF_MUST_USE cf_status cf_store_put_template(cf_store *store, cf_str name, cf_str source,
                                            cf_str parent_hash, char hash[65], cf_error *err);

/* Removes a kept template, until cf_store_undo() puts it back.  CF_EINVAL when
 * replies were made with it: their prompts need it; CF_ENOTFOUND. */
CF_MUST_USE cf_status cf_store_delete_template(cf_store *store, cf_str hash, cf_error *err);

/*
 * Stores a turn that is about to be written by a model (`turn->message` is
 * what is known of it: role and perhaps a forced beginning; `turn->run` its
 * inputs) with status "streaming".  What cf_stream_append() gets reaches the
 * disk at most 250 ms later, whatever happens to this program.
 * CF_OK or CF_EBUSY (kept in memory): *out is set.
 */
CF_MUST_USE cf_status cf_store_begin(cf_store *store, const cf_store_turn *turn, cf_stream **out,
                                     cf_error *err);

cf_uuid cf_stream_turn(const cf_stream *stream);

/* One piece of reply.  Every field may be empty. */
typedef struct cf_stream_piece {
    cf_str raw;          /* counts as one chunk when not empty */
    const cf_token *ids; /* [n_ids] */
    size_t n_ids;
    uint64_t us;         /* since the piece before */
    const cf_draw *draw; /* candidates of the (one) id; NULL: no trace */
} cf_stream_piece;

/* Never waits for the disk.  CF_ENOMEM: the piece is not recorded. */
CF_MUST_USE cf_status cf_stream_append(cf_stream *stream, const cf_stream_piece *piece,
                                       cf_error *err);

/* The outcome of a streamed turn. */
typedef struct cf_stream_end {
    cf_turn_status status; /* ok, stopped or error */
    cf_str message;        /* the final message; empty: made of the raw bytes */
    /* Counts, timings, stop_reason and error; lists of ids, chunks and raw
     * bytes are the stream's.  NULL: unknown. */
    const cf_store_run *run;
    const cf_store_call *calls; /* [n_calls] */
    size_t n_calls;
} cf_stream_end;

/* Completes the turn and frees the stream, whatever is returned. */
CF_MUST_USE cf_status cf_store_finish(cf_stream *stream, const cf_stream_end *end, cf_error *err);

/* ---- changing (fail at once when the file cannot be written) ------------ */

CF_MUST_USE cf_status cf_store_set_title(cf_store *store, cf_uuid conv, cf_str title,
                                         cf_error *err);
CF_MUST_USE cf_status cf_store_set_head(cf_store *store, cf_uuid turn, cf_error *err);
CF_MUST_USE cf_status cf_store_set_place(cf_store *store, cf_uuid conv, cf_store_place place,
                                         cf_error *err);
/* Adds or removes a tag; doing it twice is not an error. */
CF_MUST_USE cf_status cf_store_set_tag(cf_store *store, cf_uuid conv, cf_str tag, bool is_on,
                                       cf_error *err);
/* The same for many, which one undo takes back together. */
CF_MUST_USE cf_status cf_store_set_places(cf_store *store, const cf_uuid *conv, size_t n,
                                          cf_store_place place, cf_error *err);
CF_MUST_USE cf_status cf_store_set_tags(cf_store *store, const cf_uuid *conv, size_t n, cf_str tag,
                                        bool is_on, cf_error *err);
/* rating 0 removes it; note empty removes it. */
CF_MUST_USE cf_status cf_store_set_rating(cf_store *store, cf_uuid turn, int rating, cf_error *err);
CF_MUST_USE cf_status cf_store_set_note(cf_store *store, cf_uuid turn, cf_str note, cf_error *err);

/* Copies the path from the first turn to `turn` into a new conversation
 * (messages are shared), forked_from = turn. */
CF_MUST_USE cf_status cf_store_fork(cf_store *store, cf_uuid turn, cf_uuid *out, cf_error *err);

/* Removes a conversation permanently, with everything only it used.  Cannot be
 * undone; cf_store_set_place(.., CF_PLACE_TRASH) can. */
CF_MUST_USE cf_status cf_store_purge(cf_store *store, cf_uuid conv, cf_error *err);

/* Stores a value about the file itself under a name, permanently.  CF_EINVAL
 * when the name is taken: the first value stays. */
CF_MUST_USE cf_status cf_store_put_mark(cf_store *store, cf_str name, cf_str value, cf_error *err);
/* CF_ENOTFOUND. */
CF_MUST_USE cf_status cf_store_get_mark(cf_store *store, cf_str name, cf_arena *arena,
                                        cf_str *value, cf_error *err);

/* A message of a tool server's log.  Its direction is "out" or "in"; "stdout"
 * and "stderr" are lines that are not messages, "note" is confab's own. */
typedef struct cf_store_mcp {
    int64_t n; /* place in the conversation's log; given by the store */
    int64_t at_ms;
    cf_str server, direction;
    int64_t call; /* its number; -1: none */
    cf_str message;
} cf_store_mcp;

/* Adds messages at the end of a conversation's log. */
CF_MUST_USE cf_status cf_store_put_mcp(cf_store *store, cf_uuid conv, const cf_store_mcp *v,
                                       size_t n, cf_error *err);
/* At most `max` of them, in order, from number `from` on. */
CF_MUST_USE cf_status cf_store_get_mcp(cf_store *store, cf_uuid conv, int64_t from, size_t max,
                                       cf_arena *arena, const cf_store_mcp **v, size_t *n,
                                       cf_error *err);

/* A tool of a tool server as the user saw it last. */
typedef struct cf_store_mcp_tool {
    cf_str server, tool; /* tool empty: all of the server */
    cf_str definition;   /* JSON as the server lists it */
    cf_str approved_for; /* for which it may run without a question; NULL: nothing */
} cf_store_mcp_tool;

/* Replaces what is stored about it. */
CF_MUST_USE cf_status cf_store_put_mcp_tool(cf_store *store, const cf_store_mcp_tool *tool,
                                            cf_error *err);
/* CF_ENOTFOUND. */
CF_MUST_USE cf_status cf_store_get_mcp_tool(cf_store *store, cf_str server, cf_str tool,
                                            cf_arena *arena, cf_store_mcp_tool *out, cf_error *err);

/* Undoes the newest change of this section, import or deletion of a template
 * that is not undone yet (purges excepted), with everything that was changed
 * together with it.
 * Appends one line about it to `what`, with the title.  CF_ENOTFOUND: nothing
 * is left to undo. */
CF_MUST_USE cf_status cf_store_undo(cf_store *store, cf_buf *what, cf_error *err);

/* Redoes what was undone last, unless something was changed since.
 * CF_ENOTFOUND: nothing to redo; CF_EUNSUPPORTED: an import. */
CF_MUST_USE cf_status cf_store_redo(cf_store *store, cf_buf *what, cf_error *err);

/* Appends a line about each of the newest 100 changes, the newest first: '+', or
 * '-' if it is undone, and what it was. */
CF_MUST_USE cf_status cf_store_list_changes(cf_store *store, cf_buf *out, cf_error *err);

typedef struct cf_store_put_report {
    cf_uuid conversation; /* where the turns went */
    bool is_new;          /* the conversation was not there before */
    size_t n_added;       /* turns */
    size_t n_skipped;     /* turns whose UUID was there already */
    size_t n_tagged;      /* tags that a known conversation did not have */
} cf_store_put_report;

/* Whose trees they are: what undo takes back together. */
typedef struct cf_store_origin {
    cf_uuid id;        /* of this import; a new one each time */
    cf_str name;       /* of the file, for the line that undo shows */
    cf_cancel *cancel; /* ends a call: CF_ECANCELLED, and nothing of it is
                          stored; may be NULL */
} cf_store_origin;

/*
 * Stores whole trees, each all or nothing; trees with turns already known
 * grow by the new ones.  With an origin (may be NULL) cf_store_undo() removes
 * what all calls with its id have added, except turns that were continued
 * since and the turns before them.  A tree without a UUID belongs to the
 * conversation of its known turns.  errs[i] (may be NULL) and reports[i] are
 * about tree i.  Fails only if nothing could be written at all.
 */
CF_MUST_USE cf_status cf_store_put_trees(cf_store *store, const cf_store_tree *const *trees,
                                         size_t n, const cf_store_origin *origin,
                                         cf_store_put_report *reports, cf_error *errs,
                                         cf_error *err);

/* Content that trees refer to by hash, put before them. */
typedef struct cf_store_template {
    cf_str hash, name, source, parent_hash;
    int64_t created_ms;
} cf_store_template;
CF_MUST_USE cf_status cf_store_put_templates(cf_store *store, const cf_store_template *v, size_t n,
                                             cf_error *err);

/* ---- scores ------------------------------------------------------------- */

/* Log-likelihoods of a token sequence under a model. */
typedef struct cf_store_score {
    cf_str key;         /* a hash of all that they depend on */
    const float *log_p; /* [n] */
    size_t n;
} cf_store_score;

/* Keeps scores under their keys; a key that is known stays as it is.  The
 * newest CF_STORE_SCORES_MAX are kept. */
enum { CF_STORE_SCORES_MAX = 100000 };
CF_MUST_USE cf_status cf_store_put_scores(cf_store *store, const cf_store_score *v, size_t n,
                                          cf_error *err);
/* Reads the scores of `key` into log_p[0..n).  CF_ENOTFOUND when there are
 * none, or not n of them. */
CF_MUST_USE cf_status cf_store_get_scores(cf_store *store, cf_str key, float *log_p, size_t n,
                                          cf_error *err);

/* The thinking times of a model's last complete replies. */
typedef struct cf_store_thinking {
    size_t n;    /* replies with thinking, of the last 256 runs of the model */
    size_t most; /* tokens of the longest: its share of the reply's bytes */
} cf_store_thinking;

/* Of the runs of a model file with this hash, among the newest 4,000 turns. */
CF_MUST_USE cf_status cf_store_get_thinking(cf_store *store, cf_str model_hash,
                                            cf_store_thinking *out, cf_error *err);

/* ---- sweeps ------------------------------------------------------------- */

/* Keeps the record (JSON) of a sweep's cell under its key, over an earlier
 * one.  The newest CF_STORE_CELLS_MAX are kept. */
enum { CF_STORE_CELLS_MAX = 1000000 };
CF_MUST_USE cf_status cf_store_put_cell(cf_store *store, cf_str key, cf_str record, cf_error *err);
/* CF_ENOTFOUND. */
CF_MUST_USE cf_status cf_store_get_cell(cf_store *store, cf_str key, cf_arena *arena,
                                        cf_str *record, cf_error *err);

/* ---- unsent text --------------------------------------------------------- */

/* Keeps the text of a message that was not sent, one a conversation; an empty
 * one removes it.  The conversation need not be stored.  Never waits for the
 * disk: a failure to write it is in cf_store_get_state(). */
CF_MUST_USE cf_status cf_store_put_unsent(cf_store *store, cf_uuid conv, cf_str text,
                                          cf_error *err);
/* CF_ENOTFOUND. */
CF_MUST_USE cf_status cf_store_get_unsent(cf_store *store, cf_uuid conv, cf_arena *arena,
                                          cf_str *text, cf_error *err);
/* The newest unsent text of a conversation that was never stored, of a program that
 * has ended.  CF_ENOTFOUND. */
CF_MUST_USE cf_status cf_store_lost_unsent(cf_store *store, cf_arena *arena, cf_uuid *conv,
                                           cf_str *text, cf_error *err);

/* ---- reading ------------------------------------------------------------ */

typedef enum cf_store_sort {
    CF_SORT_UPDATED, /* newest first, as all but the title */
    CF_SORT_CREATED,
    CF_SORT_TITLE,
    CF_SORT_TURNS
} cf_store_sort;

typedef enum cf_store_rating {
    CF_RATED_ANYHOW, /* or not at all */
    CF_RATED,
    CF_RATED_GOOD,
    CF_RATED_BAD
} cf_store_rating;

/* Empty fields do not filter.  Times are in ms since 1970, 0: none. */
typedef struct cf_store_query {
    cf_str text; /* search words and filters, see docs/store.md; for lists
                    the words are parts of the title, or of the preview of a
                    conversation without one, in any ASCII case */
    cf_str tag, model, template_hash, status, role, tool;
    cf_store_rating rating; /* of any turn, or for a search of this one */
    bool has_note;
    int64_t after_ms, before_ms; /* of creation; [after, before) */
    cf_store_place place;
    cf_store_sort sort;
    bool is_reversed;
    size_t offset, limit; /* limit 0: 100 */
    uint32_t max_ms;      /* longest time; 0: 30000 */
    bool is_quick;        /* lists: only what a few milliseconds find, which may be
                      less than there is */
} cf_store_query;

/* rows[0..n) in the order asked for; tags, ratings and notes are filled. */
CF_MUST_USE cf_status cf_store_list(cf_store *store, const cf_store_query *q, cf_arena *arena,
                                    const cf_store_conv **rows, size_t *n, cf_error *err);

typedef enum cf_facet_kind {
    CF_FACET_MODEL,
    CF_FACET_TEMPLATE,
    CF_FACET_TAG,
    CF_FACET_STATUS,
    CF_FACET_YEAR
} cf_facet_kind;

typedef struct cf_store_facet {
    cf_facet_kind kind;
    cf_str value;
    size_t n; /* conversations in `place` */
} cf_store_facet;

/* Counts by kind, most frequent first, at most 50 of a kind; *total counts
 * the conversations. */
CF_MUST_USE cf_status cf_store_facets(cf_store *store, cf_store_place place, cf_arena *arena,
                                      const cf_store_facet **v, size_t *n, size_t *total,
                                      cf_error *err);

typedef struct cf_store_span {
    uint32_t off, len; /* bytes */
} cf_store_span;

typedef struct cf_store_hit {
    cf_uuid conversation;
    cf_uuid turn; /* nil: the title matched */
    uint32_t ordinal;
    cf_str role, title;
    int64_t created_ms;
    cf_str snippet;             /* about 160 bytes around the first match */
    const cf_store_span *marks; /* [n_marks] matches in the snippet */
    size_t n_marks;
} cf_store_hit;

typedef struct cf_store_hits {
    const cf_store_hit *v; /* newest first, titles before turns */
    size_t n;
    bool has_more;
    bool is_cut; /* max_ms was over: there may be more */
} cf_store_hits;

/* CF_EINVAL when q->text cannot be understood. */
CF_MUST_USE cf_status cf_store_search(cf_store *store, const cf_store_query *q, cf_arena *arena,
                                      cf_store_hits *out, cf_error *err);

/* Finds a conversation or a turn by its UUID, or by a unique beginning or end
 * of it (4 characters or more).
 * CF_ENOTFOUND; CF_EINVAL when several fit. */
typedef struct cf_store_ref {
    cf_uuid conversation;
    cf_uuid turn; /* nil when a conversation was named */
} cf_store_ref;
CF_MUST_USE cf_status cf_store_find(cf_store *store, cf_str name, cf_store_ref *out, cf_error *err);

enum {
    CF_TREE_RUNS = 1u << 0, /* with runs, their raw replies, and calls */
    CF_TREE_TRACE = 1u << 1 /* runs with trace and ids */
};

CF_MUST_USE cf_status cf_store_get_tree(cf_store *store, cf_uuid conv, uint32_t flags,
                                        cf_arena *arena, cf_store_tree *out, cf_error *err);
/* The whole run, what has arrived so far when it is streaming. */
CF_MUST_USE cf_status cf_store_get_turn(cf_store *store, cf_uuid turn, cf_arena *arena,
                                        cf_store_turn *out, cf_error *err);
/* The turns of a conversation that are rated or noted, in no order. */
typedef struct cf_store_turn_mark {
    cf_uuid turn;
    int rating; /* 0: none */
    cf_str note;
} cf_store_turn_mark;
CF_MUST_USE cf_status cf_store_turn_marks(cf_store *store, cf_uuid conv, cf_arena *arena,
                                          const cf_store_turn_mark **v, size_t *n, cf_error *err);
/* The cost of the prompts of a conversation's replies, in no order. */
typedef struct cf_store_turn_cost {
    cf_uuid turn;
    uint64_t n_kept, n_new; /* tokens: from the cache, and computed */
    uint64_t first_us;      /* until the first token; 0: not known */
} cf_store_turn_cost;
CF_MUST_USE cf_status cf_store_turn_costs(cf_store *store, cf_uuid conv, cf_arena *arena,
                                          const cf_store_turn_cost **v, size_t *n, cf_error *err);
CF_MUST_USE cf_status cf_store_get_template(cf_store *store, cf_str hash, cf_arena *arena,
                                            cf_store_template *out, cf_error *err);
CF_MUST_USE cf_status cf_store_templates(cf_store *store, cf_arena *arena,
                                         const cf_store_template **v, size_t *n, cf_error *err);

/* Indices into tree->turns from the first turn to `leaf`, written to out[0..)
 * (room for tree->n) and counted; 0 when `leaf` is not in the tree. */
size_t cf_store_path_to(const cf_store_tree *tree, cf_uuid leaf, size_t *out);

/* ---- maintenance -------------------------------------------------------- */

typedef void (*cf_store_finding_fn)(void *ud, const char *line);

/* Integrity of the file, hashes of content, links, counters, word indexes.
 * Each problem is reported as one line; *n counts them. */
CF_MUST_USE cf_status cf_store_check(cf_store *store, cf_store_finding_fn fn, void *ud, size_t *n,
                                     cf_error *err);

/* Writes a self-contained copy, mode 0600.  CF_EIO when `path` exists. */
CF_MUST_USE cf_status cf_store_backup(cf_store *store, const char *path, cf_error *err);

typedef struct cf_store_size {
    uint64_t file_bytes;
    uint64_t n_convs, n_turns;
} cf_store_size;
CF_MUST_USE cf_status cf_store_get_size(cf_store *store, cf_store_size *out, cf_error *err);

CF_END_DECLS

#endif
