/*
 * exchange.h - conversations from and for other programs.
 *
 * Place in the flow:  a file of another program --> [import] --> the store;
 *                     the store --> [export] --> a file.
 * Knows: the store, the formats.  Does not know: engines, templates, screens.
 *
 * docs/store.md says what each format carries.  Formats without trees get one
 * record for each leaf; since turns keep their UUIDs where the format has
 * room for them, reading such a file back gives the tree again.
 *
 * Threads:  as the store.
 * Memory:   an exporter appends to the caller's buffer; an import holds one
 *           record, a batch of finished conversations, and 16 to 32 bytes for
 *           each record without an id (in a dry run: for each turn).
 */
#ifndef CF_STORAGE_EXCHANGE_H
#define CF_STORAGE_EXCHANGE_H

#include "core/base/decls.h"
#include "storage/store.h"

CF_BEGIN_DECLS

/* The formats: X(constant, description).  A description is a cf_xchg_format in
 * the file of the format's reader (storage/exchange/xchg.h). */
#define CF_FORMATS(X)               \
    X(CONFAB, cf_xchg_confab)       \
    X(OPENAI, cf_xchg_openai)       \
    X(SHAREGPT, cf_xchg_sharegpt)   \
    X(CONVERSE, cf_xchg_converse)   \
    X(LITERT, cf_xchg_litert)       \
    X(LLAMA_APP, cf_xchg_llama_app) \
    X(LLM_DB, cf_xchg_llm_db)       \
    X(SESSION, cf_xchg_session)     \
    X(CHATGPT, cf_xchg_chatgpt)     \
    X(MARKDOWN, cf_xchg_markdown)

#define CF_FORMAT_ID(id, description) CF_FORMAT_##id,
typedef enum cf_format { CF_FORMATS(CF_FORMAT_ID) CF_FORMAT_COUNT } cf_format;
#undef CF_FORMAT_ID

/* "confab", "openai" ... as on the command line. */
const char *cf_format_name(cf_format f);
bool cf_format_parse(cf_format *out, cf_str name);
bool cf_format_reads(cf_format f);
bool cf_format_writes(cf_format f);

typedef struct cf_import_report {
    size_t n_new;     /* conversations that were not there before */
    size_t n_known;   /* conversations that were */
    size_t n_turns;   /* turns added */
    size_t n_skipped; /* turns whose UUID was there already */
    size_t n_tagged;  /* tags that known conversations did not have */
    size_t n_bad;     /* records left out, each with a note */
    char read_as[48]; /* what was guessed, "OpenAI JSONL"; "": nothing */
} cf_import_report;

typedef struct cf_import_options {
    cf_format format;
    bool guesses; /* `format` is ignored: the file's content decides */
    /* Nothing is written: n_new and n_turns count what the file holds, once
     * each.  The store may be NULL. */
    bool is_dry;
    size_t max_record; /* longest record in bytes; 0: 128 MiB */
    const char *name;  /* of the file, for `source`; may be NULL */
    const char *tag;   /* put on every conversation; may be NULL */
    const char *title; /* of conversations without one; may be NULL */
    /* Called for each record that is left out, with its line (1-based; 0:
     * none).  May be NULL. */
    void (*note)(void *ud, uint64_t line, const char *text);
    /* Called with what was written so far, after each batch.  May be NULL. */
    void (*progress)(void *ud, const cf_import_report *so_far);
    void *ud;
    /* Ends the import with CF_ECANCELLED; conversations of the batch that is
     * being read or written are left out.  May be NULL. */
    cf_cancel *cancel;
} cf_import_options;

/* Reads a whole text.  A record is taken whole or not at all.  One call of
 * cf_store_undo() takes all of it back.  Fails when
 * nothing more can be read or written: CF_EFORMAT, CF_EIO, CF_EBUSY ...;
 * what came before stays. */
CF_MUST_USE cf_status cf_import_bytes(cf_store *store, const char *p, size_t n,
                                      const cf_import_options *opts, cf_import_report *report,
                                      cf_error *err);
/* The same from a file, "-" for standard input; the only way for a
 * database. */
CF_MUST_USE cf_status cf_import_file(cf_store *store, const char *path,
                                     const cf_import_options *opts, cf_import_report *report,
                                     cf_error *err);

struct cf_trail;
struct cf_trail_message;
/* A session's message in the form that all rooms share; NULL without memory. */
struct json_t *cf_session_message(const struct cf_trail_message *m);
/* Imports a session's file (storage/trail.h) into the history and finds the turn
 * of one message there, to open it from a view of the session. */
CF_MUST_USE cf_status cf_session_keep(cf_store *store, const char *path, const struct cf_trail *t,
                                      cf_str agent, const struct cf_trail_message *message,
                                      cf_uuid *conversation, cf_uuid *turn, cf_error *err);

typedef struct cf_export_options {
    cf_format format;
    bool only_head; /* the branch shown last instead of all of them */
    bool no_trace;  /* confab: leave candidates out */
    cf_uuid leaf;   /* only the branch to this turn; nil: none */
} cf_export_options;

typedef struct cf_exporter cf_exporter;

/* An exporter remembers which templates it has written. */
CF_MUST_USE cf_status cf_export_begin(cf_exporter **out, cf_store *store,
                                      const cf_export_options *opts, cf_error *err);
/* Appends one conversation, ended by a newline. */
CF_MUST_USE cf_status cf_export_conv(cf_exporter *ex, cf_uuid conv, cf_buf *out, cf_error *err);
void cf_export_end(cf_exporter *ex);

CF_END_DECLS

#endif
