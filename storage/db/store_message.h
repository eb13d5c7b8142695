/*
 * store_message.h - a message taken apart for storing, and put together.
 *
 * Stored is the JSON text of the message with long base64 strings replaced by
 * references to blobs; its SHA-256 is the message's address.  The most common
 * shape, {"role":R,"content":"text"}, is kept as two columns only.
 */
#ifndef CF_STORAGE_DB_STORE_MESSAGE_H
#define CF_STORAGE_DB_STORE_MESSAGE_H

#include "core/base/buf.h"
#include "core/base/hash.h"
#include "core/json/json_writer.h"
#include "storage/db/store_sql.h"

typedef struct cf_msg_blob {
    char hash[CF_HASH_TEXT + 1];
    cf_buf data;
} cf_msg_blob;

typedef struct cf_msg {
    cf_buf role;
    cf_buf text, tool_text; /* no NUL bytes */
    cf_buf body;            /* stored JSON */
    bool is_plain;          /* body need not be kept */
    char hash[CF_HASH_TEXT + 1];
    cf_msg_blob *blobs;
    size_t n_blobs;
} cf_msg;

/* Splits a message.  CF_EINVAL if it is not a JSON object with a role. */
CF_MUST_USE cf_status cf_msg__init(cf_msg *m, cf_str json, cf_error *err);
void cf_msg__deinit(cf_msg *m);

/* The row with this content, made when there is none, word index included. */
CF_MUST_USE cf_status cf_msg__put(cf_sql *sql, const cf_msg *m, int64_t *id, cf_error *err);

/* Columns of the message table; body.p NULL: role and text are all. */
typedef struct cf_msg_row {
    int64_t id;
    cf_str role, text, tool_text, body;
} cf_msg_row;

/* Appends {"role":...,"content":...}. */
void cf_msg__write_plain(cf_buf *out, cf_str role, cf_str content);

/* The row as JSON text in the arena. */
CF_MUST_USE cf_status cf_msg__join(cf_sql *sql, const cf_msg_row *row, cf_arena *arena, cf_str *out,
                                   cf_error *err);

/* Takes the words of a message that no turn uses any more out of the index;
 * its row must be removed after that. */
CF_MUST_USE cf_status cf_msg__forget_words(cf_sql *sql, int64_t id, cf_error *err);
/* Removes the row when no turn uses it any more; blobs stay. */
CF_MUST_USE cf_status cf_msg__collect(cf_sql *sql, int64_t id, cf_error *err);

/* True for roles whose content is a tool's. */
bool cf_msg__is_tool_role(cf_str role);

#endif
