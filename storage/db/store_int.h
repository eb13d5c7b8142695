/*
 * store_int.h - the store's types and functions shared by its files.
 *
 * One mutex guards the queue, the streams, the state and the idle readers;
 * the writer's connection belongs to the writer thread alone (and to
 * cf_store_open and cf_store_close, which run without it).
 */
#ifndef CF_STORAGE_DB_STORE_INT_H
#define CF_STORAGE_DB_STORE_INT_H

#include <pthread.h>

#include "storage/db/store_sql.h"
#include "storage/store.h"
#include "storage/trace.h"

enum {
    CF_STORE_APP_ID = 0x636F6E66, /* "conf", in the file's header */
    CF_STORE_FLUSH_MS = 150,      /* age at which stream pieces are written */
    CF_STORE_MAX_IDLE = 4,        /* idle reading connections */
    CF_STORE_TEXT_MAX = 64 << 20  /* bytes of one text or list */
};

/* Runs inside the writer's transaction, in its own savepoint. */
typedef cf_status (*cf_op_fn)(cf_store *store, cf_sql *sql, void *arg, cf_error *err);

typedef struct cf_op cf_op;
struct cf_op {
    cf_op *next;
    cf_op_fn fn;
    void *arg;
    cf_arena arena;    /* holds a kept operation's copy of its inputs */
    cf_stream *stream; /* freed with the operation */
    size_t bytes;      /* what it holds, for the limit */
    bool is_kept;
    bool has_waiter;
    bool is_done;
    cf_status st;
    cf_error err;
};

typedef struct cf_reader cf_reader;
struct cf_reader {
    cf_reader *next;
    cf_sql sql;
};

struct cf_stream {
    cf_stream *next;
    cf_store *store;
    cf_uuid turn;
    int64_t turn_id; /* row; 0 until the turn is committed */
    int64_t n_pieces;
    uint64_t dirty_us; /* arrival of the oldest unwritten byte; 0: none */
    bool is_lost;      /* the turn was refused and is not tried again */
    cf_trace_writer names;
    /* Everything so far, and how much of it is in pieces. */
    cf_buf raw, trace;
    cf_token *ids;
    uint64_t *chunks, *us;
    size_t n_ids, cap_ids, n_chunks, cap_chunks, n_us, cap_us;
    struct cf_stream_mark {
        size_t raw, trace, ids, chunks, us;
    } done;
};

struct cf_store {
    char *path;
    cf_store_options opts;
    cf_error refused; /* why nothing can be written, ever; code 0: it can */
    bool is_new_format;

    pthread_mutex_t lock;
    pthread_cond_t work, done;
    pthread_t thread;
    bool has_thread, is_closing;
    cf_op *head, *tail;
    size_t n_queued;
    uint64_t queued_bytes;
    uint64_t n_busy;    /* operations taken by the writer right now */
    cf_stream *streams; /* begun and not finished */
    bool is_failing;
    size_t n_lost;
    cf_error lost_why; /* of the last of them */
    cf_error why;
    cf_reader *idle;
    size_t n_idle;
    cf_sql_mode read_mode; /* how readers open the file */
    uint64_t dev, ino;
    bool is_registered;

    cf_sql w; /* the writer's */

    int lock_fd;     /* of this store's writer file; -1: none yet */
    bool has_unsent; /* one was put; the thread that writes unsent texts */
    char writer[40];
};

/* ---- store_open.c ------------------------------------------------------- */

/* (Re)opens the writer's connection when it is closed.  CF_EIO if the file is
 * not the one that was opened first. */
CF_MUST_USE cf_status cf_store__open_writer(cf_store *s, cf_error *err);
/* Borrows a reading connection; give it back with cf_store__give. */
CF_MUST_USE cf_status cf_store__take(cf_store *s, cf_reader **out, uint32_t max_ms, cf_error *err);
void cf_store__give(cf_store *s, cf_reader *r);
/* The text in the first column of the one row that `sql`, with one parameter,
 * finds by `key`, in the arena; *found false: no such row. */
CF_MUST_USE cf_status cf_store__get_text(cf_store *s, const char *sql, cf_str key, cf_arena *arena,
                                         cf_str *out, bool *found, cf_error *err);

/* ---- store_migrate.c ---------------------------------------------------- */

int cf_store__version(void); /* newest */
/* Brings an empty or older database to `upto` (0: the newest). */
CF_MUST_USE cf_status cf_store__migrate(cf_sql *sql, const char *path, int upto, cf_error *err);

/* Begins to keep the counts of conversations up to date, for as long as this
 * connection, the writer's, is open. */
CF_MUST_USE cf_status cf_store__begin_upkeep(cf_sql *sql, cf_error *err);

/* ---- store_live.c: who is writing --------------------------------------- */

/* Makes sure that this store holds its writer file; sets s->writer. */
CF_MUST_USE cf_status cf_live__claim(cf_store *s, cf_error *err);
void cf_live__release(cf_store *s);
/* False when the program that used this name has ended. */
bool cf_live__is_alive(const cf_store *s, cf_str writer);
/* Marks the turns of programs that have ended. */
CF_MUST_USE cf_status cf_live__recover(cf_store *s, cf_sql *sql, cf_error *err);

/* ---- store_writer.c ----------------------------------------------------- */

CF_MUST_USE cf_status cf_writer__start(cf_store *s, cf_error *err);
void cf_writer__stop(cf_store *s);

/* A kept operation with an empty arena; NULL when memory is out. */
cf_op *cf_op__new(cf_op_fn fn);
void cf_op__free(cf_op *op);
/* Hands a kept operation over and waits for it, at most the store's patience.
 * CF_EBUSY: it waits in memory. */
CF_MUST_USE cf_status cf_op__submit(cf_store *s, cf_op *op, cf_error *err);
/* Hands a kept operation over and does not wait. */
CF_MUST_USE cf_status cf_op__post(cf_store *s, cf_op *op, cf_error *err);
/* Runs fn in the writer and waits for it; arg stays the caller's. */
CF_MUST_USE cf_status cf_op__call(cf_store *s, cf_op_fn fn, void *arg, cf_error *err);

/* ---- store_stream.c ----------------------------------------------------- */

/* Unwritten ends of all streams older than min_age_us, inside the writer's
 * transaction; `commit` then notes what was written. */
typedef struct cf_stream_batch cf_stream_batch;
CF_MUST_USE cf_status cf_stream__write(cf_store *s, cf_sql *sql, uint64_t min_age_us,
                                       cf_stream_batch **batch, cf_error *err);
void cf_stream__written(cf_store *s, cf_stream_batch *batch, bool committed);
void cf_stream__free(cf_stream *st);
/* Microseconds until the next stream must be written; UINT64_MAX: none.
 * The store is locked. */
uint64_t cf_stream__due(const cf_store *s);
/* The pieces of a turn put together, as columns of `run`. */
typedef struct cf_stream_parts {
    cf_buf raw, ids, chunks, us, trace;
} cf_stream_parts;
CF_MUST_USE cf_status cf_stream__join(cf_sql *sql, int64_t turn_id, cf_stream_parts *out,
                                      cf_error *err);
void cf_stream__free_parts(cf_stream_parts *p);
/* A plain message of raw bytes, bad UTF-8 replaced. */
CF_MUST_USE cf_status cf_stream__message(cf_buf *out, cf_str role, cf_str raw, cf_error *err);
/* Turns the pieces of an ended program's turn into its run. */
CF_MUST_USE cf_status cf_stream__salvage(cf_sql *sql, int64_t turn_id, cf_error *err);

/* ---- store_write.c ------------------------------------------------------ */

CF_MUST_USE cf_status cf_rows__put_conv(cf_sql *sql, const cf_store_conv *conv, int64_t *id,
                                        cf_error *err);
/* Inserts a turn below the conversation's row; parent_id 0: none. */
CF_MUST_USE cf_status cf_rows__put_turn(cf_sql *sql, int64_t conv_id, int64_t parent_id,
                                        const cf_store_turn *turn, const char *writer, int64_t *id,
                                        cf_error *err);
CF_MUST_USE cf_status cf_rows__put_run(cf_sql *sql, int64_t turn_id, const cf_store_run *run,
                                       cf_error *err);
CF_MUST_USE cf_status cf_rows__put_call(cf_sql *sql, int64_t turn_id, const cf_store_call *call,
                                        cf_error *err);
CF_MUST_USE cf_status cf_rows__put_template(cf_sql *sql, const cf_store_template *t, cf_error *err);
/* Sets head, times, model and status of a conversation from a turn. */
CF_MUST_USE cf_status cf_rows__touch(cf_sql *sql, int64_t conv_id, int64_t turn_id, bool set_head,
                                     cf_error *err);
CF_MUST_USE cf_status cf_rows__set_title(cf_sql *sql, int64_t conv_id, cf_str title, cf_error *err);
/* Removes messages [n] that no turn uses any more, and blobs and tool
 * declarations that nothing refers to. */
CF_MUST_USE cf_status cf_rows__collect(cf_sql *sql, const int64_t *messages, size_t n,
                                       cf_error *err);
/* Puts a conversation into the indexes of titles and of what lists show, or
 * takes it out: around every change of its title. */
CF_MUST_USE cf_status cf_rows__title_words(cf_sql *sql, int64_t conv_id, bool is_in, cf_error *err);
/* Row of a UUID; CF_ENOTFOUND names it. */
CF_MUST_USE cf_status cf_rows__conv_id(cf_sql *sql, cf_uuid id, int64_t *out, cf_error *err);
CF_MUST_USE cf_status cf_rows__turn_id(cf_sql *sql, cf_uuid id, int64_t *out, cf_error *err);

/* ---- store_trees.c ------------------------------------------------------ */

/* Stores one tree inside the writer's transaction.  `tagged` (NULL: not
 * wanted) gets the tags that a known conversation got: see cf_import_rows. */
CF_MUST_USE cf_status cf_rows__put_tree(cf_sql *sql, const cf_store_tree *t, json_t *tagged,
                                        cf_store_put_report *report, cf_error *err);

/* ---- store_list.c ------------------------------------------------------- */

CF_MUST_USE cf_status cf_rows__get_conv(cf_sql *sql, int64_t id, cf_arena *a, cf_store_conv *out,
                                        cf_error *err);

/* A UUID or a part of one as a name: 36 characters in lower case with dashes,
 * or 4 and more.  False when it cannot be one. */
bool cf_name__clean(cf_str name, char out[CF_UUID_TEXT + 1]);

/* ---- store_search.c ----------------------------------------------------- */

enum { CF_SHOWN_TERMS = 16 };

/* A part that a shown title has, or has not. */
typedef struct cf_shown_term {
    cf_str text;
    bool is_absent;
} cf_shown_term;

typedef struct cf_shown_terms {
    cf_shown_term v[CF_SHOWN_TERMS];
    size_t n;
} cf_shown_terms;

/* The filters of q, those in its text included, and what is left of the text as
 * parts of titles.  Both point into the text. */
CF_MUST_USE cf_status cf_search__read(const cf_store_query *q, cf_store_query *out,
                                      cf_shown_terms *terms, cf_error *err);

/* ---- small things ------------------------------------------------------- */

/* Deep copies into an arena, which is marked when memory is out. */
cf_str cf_copy__str(cf_arena *a, cf_str s);
cf_store_run *cf_copy__run(cf_arena *a, const cf_store_run *run);
cf_store_call *cf_copy__calls(cf_arena *a, const cf_store_call *v, size_t n);
cf_store_turn *cf_copy__turn(cf_arena *a, const cf_store_turn *turn);
cf_store_conv *cf_copy__conv(cf_arena *a, const cf_store_conv *conv);

/* Appends JSON text without the values of keys that name secrets
 * ("api_key", "authorization", "headers" ...); text that is not JSON
 * gives nothing.  cf_secret__address drops credentials from an address. */
void cf_secret__json(cf_buf *out, cf_str json);
void cf_secret__address(cf_buf *out, cf_str address);

/* ---- the log of changes (store_change.c, store_import.c,
 * store_template.c) ------------------------------------------------------ */

/* "do" of the entries of imports, and of deleted templates. */
#define CF_UNDO_IMPORT   "import"
#define CF_UNDO_TEMPLATE "delete template"

/* Row numbers that one batch added: (from, to]. */
typedef struct cf_import_rows {
    int64_t turn_from, turn_to, conv_from, conv_to;
    json_t *tagged; /* [first, last, "tag"]: conversations that were there
                       before and got the tag; owned */
} cf_import_rows;

/* Adds an entry, and forgets the oldest ones. */
CF_MUST_USE cf_status cf_undo__log(cf_sql *sql, cf_str op, cf_str undo, cf_error *err);
/* Adds rows to the entry of an import, which is made where it is missing. */
CF_MUST_USE cf_status cf_undo__log_import(cf_sql *sql, const cf_store_origin *origin,
                                          const cf_import_rows *added, cf_error *err);
/* Removes what an import added, and appends a note to *what about turns that stay. */
CF_MUST_USE cf_status cf_undo__import(cf_sql *sql, cf_str undo, cf_buf *what, cf_error *err);
/* Puts a deleted template back, whose source is `undo`; and deletes it again. */
CF_MUST_USE cf_status cf_undo__template(cf_sql *sql, const json_t *op, cf_str undo, cf_error *err);
CF_MUST_USE cf_status cf_undo__template_again(cf_sql *sql, cf_str source, cf_error *err);
/* One line about an entry. */
void cf_undo__say_import(cf_buf *what, const json_t *op);
void cf_undo__say_template(cf_buf *what, const json_t *op);

#endif
