/*
 * xchg.h - shared by the readers and writers of formats.
 *
 * A reader builds one conversation at a time in a cf_build and passes it
 * to cf_import__emit(); it reports records that it cannot read with
 * cf_import__bad() and continues.
 */
#ifndef CF_STORAGE_EXCHANGE_XCHG_H
#define CF_STORAGE_EXCHANGE_XCHG_H

#include "core/api/message.h"
#include "core/json/json_builder.h"
#include "core/json/json_writer.h"
#include "storage/db/store_sql.h"
#include "storage/exchange.h"
#include "storage/exchange/xchg_idset.h"

typedef struct cf_build {
    cf_arena arena;
    cf_store_conv conv;
    cf_store_turn *turns; /* [n], heap */
    size_t n, cap;
    uint64_t line;
    cf_str id;                    /* the file's name for the conversation; may be empty */
    cf_store_template *templates; /* [n_templates], heap */
    size_t n_templates;
    cf_cancel *cancel; /* of the import */
} cf_build;

typedef struct cf_import cf_import;

/* One branch, at[0..n) indices into the tree. */
typedef cf_status (*cf_branch_fn)(const cf_store_tree *tree, const size_t *at, size_t n,
                                  cf_buf *out, cf_error *err);

/* A format.  Members that do not apply are zero. */
typedef struct cf_xchg_format {
    const char *name; /* as on the command line */

    /* Reading JSON: one record; the callback decides whether it ends a
     * conversation.  `end` comes after the last. */
    cf_status (*record)(cf_import *im, const json_t *v, uint64_t line, cf_error *err);
    cf_status (*end)(cf_import *im, cf_error *err);
    bool is_grouped; /* a conversation has several: it is lost with one of them */

    /* Reading anything else: a whole text (*n counts the conversations that
     * were found), or a file that begins with `magic`. */
    cf_status (*text)(cf_import *im, cf_str text, uint64_t line, size_t *n, cf_error *err);
    cf_status (*file)(cf_import *im, const char *path, cf_error *err);
    const char *magic;
    bool (*claims_file)(const char *path); /* by its content; NULL: by `magic` */

    /* Recognition: the program that wrote an object, or a message, if it can
     * only be of this format; NULL: it need not be. */
    const char *(*writer_of)(const json_t *object);
    const char *(*writer_of_message)(const json_t *message);

    /* Writing: a whole tree, or branch by branch; neither: it is only read. */
    cf_status (*write_tree)(cf_exporter *ex, const cf_store_tree *tree, cf_buf *out, cf_error *err);
    cf_branch_fn write_branch;
    bool keeps_tree; /* branches carry ids, so that the tree comes back */
} cf_xchg_format;

#define CF_FORMAT_ROW(id, description) extern const cf_xchg_format description;
CF_FORMATS(CF_FORMAT_ROW)
#undef CF_FORMAT_ROW

const cf_xchg_format *cf_xchg__format(cf_format f);

enum { CF_IMPORT_BATCH = 64 };

struct cf_import {
    cf_store *store;
    const cf_import_options *opts;
    cf_import_report *report;
    cf_build *cur;  /* being built; NULL: none */
    bool is_broken; /* the group being read has been reported already */
    bool failed;    /* memory ran out where the text was only looked at */
    cf_build *batch[CF_IMPORT_BATCH];
    size_t n_batch;
    size_t batch_bytes;
    cf_store_origin origin;
    cf_format format;                 /* of the options, or guessed; COUNT: not yet */
    bool is_lines;                    /* the file is lines of JSON */
    uint64_t unknown[64];             /* [n_unknown] lines of records before the guess */
    size_t n_unknown, n_before_guess; /* and of lines that are not JSON */
    cf_idset ids;                     /* of turns met in a dry run */
    cf_idset repeats;                 /* of records without id, by their content */
};

struct cf_feed;
/* Everything in a text; see xchg_records.c. */
CF_MUST_USE cf_status cf_import__records(cf_import *im, struct cf_feed *f, cf_error *err);

/* ---- building ----------------------------------------------------------- */

/* A new conversation in im->cur (an unfinished one is dropped). */
CF_MUST_USE cf_status cf_build__begin(cf_import *im, uint64_t line, cf_error *err);
void cf_build__drop(cf_import *im);
void cf_build__free(cf_build *b);
/* Gives every turn with a provisional id its own: a hash of its content and its
 * parent's id, or where it has no parent, of the conversation's id or, if it
 * has none, of everything that was said. */
CF_MUST_USE cf_status cf_build__settle_ids(cf_import *im, cf_build *b, cf_error *err);
/* A new turn: imported, parent the turn before; NULL when memory is out.
 * Valid until the next one is added.  Its id is provisional: unless the reader
 * replaces it, cf_import__emit() derives it from the content. */
cf_store_turn *cf_build__add(cf_build *b);
/* Text or JSON in the conversation's arena. */
cf_str cf_build__str(cf_build *b, cf_str s);
cf_str cf_build__json(cf_build *b, const json_t *v);
/* {"format":name,"file":...,"id":...} for `source`; id may be empty. */
cf_str cf_build__source(cf_import *im, cf_str id);
/* The same with the fields that have no place of their own, as `key`; `rest`
 * is taken and may be empty (NULL: memory ran out). */
cf_str cf_build__source_with(cf_import *im, cf_str id, const char *key, json_t *rest);
/* Gives the turn such a source where there is something to say: an id that is
 * not a UUID, or fields. */
void cf_build__remember(cf_import *im, cf_store_turn *t, cf_str id, const char *key, json_t *rest);
/* A new object: the fields of v but for those named, empty when v is not an
 * object.  NULL without memory. */
json_t *cf_xchg__rest(const json_t *v, const char *const *known, size_t n);
/* `to` with `rest` as `key` if it is not empty; takes both.  NULL when either
 * is, or without memory. */
json_t *cf_xchg__keep(json_t *to, const char *key, json_t *rest);
/* The JSON in a text, for the caller to decref; NULL where there is none, and
 * without memory: then *failed is set. */
json_t *cf_xchg__parse(cf_str text, bool *failed);
/* What a `source` of this format has as `key`, likewise. */
json_t *cf_xchg__kept(cf_str source, cf_format f, const char *key, bool *failed);
/* The UUID that `id` is, or one made of format, scope and id, always the
 * same. */
cf_uuid cf_build__uuid(cf_format f, cf_str scope, cf_str id);
/* Adds a turn with this message (a new reference, taken even on failure). */
CF_MUST_USE cf_status cf_build__say(cf_build *b, json_t *message, cf_store_turn **out,
                                    cf_error *err);
/* The same for a message of OpenAI's, LiteRT-LM's, Gemini's or Xaibo's form.
 * The results that one message of the last two holds become turns of their
 * own. */
CF_MUST_USE cf_status cf_build__say_any(cf_build *b, const json_t *m, cf_error *err);
/* Members of v, and lists among them. */
bool cf_guess__has(const json_t *v, const char *key);
bool cf_guess__has_list(const json_t *v, const char *key);
/* A message alone, not a conversation. */
bool cf_guess__is_message(const json_t *v);
/* The format of a record, and *name, its writer; CF_FORMAT_COUNT, "" if it is
 * not a conversation in any known form. */
cf_format cf_guess__record(const json_t *v, const char **name);
/* Orders turns so that parents come first; a turn with an unknown
 * parent becomes a first turn.
 * CF_EFORMAT for circles and duplicate ids. */
CF_MUST_USE cf_status cf_build__order(cf_build *b, cf_error *err);

/* Removes turns with the id of an earlier one and makes the rest a chain. */
CF_MUST_USE cf_status cf_build__unique(cf_build *b, cf_error *err);
/* parent[i] = index of the parent of v[i], SIZE_MAX where there is none. */
CF_MUST_USE cf_status cf_xchg__parents(const cf_store_turn *v, size_t n, size_t *parent,
                                       cf_error *err);

/* Hands im->cur on. */
CF_MUST_USE cf_status cf_import__emit(cf_import *im, cf_error *err);
/* The same after cf_build__order(); turns that have no order are reported and
 * dropped. */
CF_MUST_USE cf_status cf_import__emit_ordered(cf_import *im, cf_error *err);
/* If the format is being guessed, the report says "name kind". */
void cf_import__name(cf_import *im, const char *name, const char *kind);
/* Counts and reports a record that is skipped. */
void cf_import__bad(cf_import *im, uint64_t line, const char *text);
CF_MUST_USE cf_status cf_import__flush(cf_import *im, cf_error *err);

/* Seconds since 1970 as a JSON number, to ms; 0 if it is not a
 * number. */
int64_t cf_xchg__seconds(const json_t *v);
cf_str cf_xchg__str(const json_t *v);

/* ---- writing ------------------------------------------------------------ */

struct cf_exporter {
    cf_store *store;
    cf_export_options opts;
    char (*seen)[65]; /* hashes of templates that were written */
    size_t n_seen;
};

/* A turn's message as JSON the caller decrefs. */
CF_MUST_USE cf_status cf_xchg__message(json_t **out, const cf_store_turn *t, cf_error *err);
/* Tools of the preface, or of the newest run of the branch; NULL: none.  Marks
 * the writer's buffer without memory, as the other two do. */
json_t *cf_xchg__tools(cf_jw *w, const cf_store_tree *tree, const size_t *at, size_t n);
/* The conversation's preface, an object the caller decrefs; NULL: none. */
json_t *cf_xchg__preface(cf_jw *w, const cf_store_tree *tree);
/* Members of an object (NULL: none), but for those named. */
void cf_xchg__put_fields(cf_jw *w, const json_t *fields, const char *const *but, size_t n);

#endif
