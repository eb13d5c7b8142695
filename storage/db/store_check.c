/*
 * store_check.c - checks the integrity of a database, and copies it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "storage/db/store_int.h"
#include "storage/db/store_message.h"
#include "storage/db/store_shown.h"

typedef struct check {
    cf_sql *sql;
    cf_store_finding_fn fn;
    void *ud;
    size_t n;
} check;

static void report(check *c, const char *what, cf_str which)
{
    cf_error line; /* for its printable, bounded text */
    cf_fail(&line, CF_EFORMAT, "%s%.*s", what, (int)(which.n < 120 ? which.n : 120),
            which.p != NULL ? which.p : "");
    c->n++;
    c->fn(c->ud, line.text);
}

/* Each row of `text` (one column) is a finding. */
static cf_status report_rows(check *c, const char *what, const char *text, cf_error *err)
{
    sqlite3_stmt *st;
    cf_arena a;
    CF_TRY(cf_sql__prepare(c->sql, &st, text, err));
    cf_arena_init(&a, 0);
    cf_status s = CF_OK;
    for (int i = 0; i < 100 && cf_sql__next(c->sql, st, &s, err); i++) {
        cf_arena_reset(&a);
        cf_str row = cf_sql__str(st, 0, &a);
        if (a.failed) {
            s = cf_sql__oom(err);
        } else {
            report(c, what, row);
        }
    }
    cf_arena_deinit(&a);
    cf_sql__drop(st);
    return s;
}

static cf_status check_file_form(check *c, cf_error *err)
{
    CF_TRY(report_rows(c, "file: ",
                       "SELECT * FROM pragma_integrity_check WHERE "
                       "integrity_check <> 'ok'",
                       err));
    return report_rows(c, "dangling reference in table ",
                       "SELECT \"table\" || ' row ' || rowid FROM "
                       "pragma_foreign_key_check",
                       err);
}

static cf_status check_hashes(check *c, const char *what, const char *text, cf_error *err)
{
    sqlite3_stmt *st;
    CF_TRY(cf_sql__prepare(c->sql, &st, text, err));
    cf_status s = CF_OK;
    while (cf_sql__next(c->sql, st, &s, err)) {
        char hash[CF_HASH_TEXT + 1];
        const void *p = sqlite3_column_blob(st, 1);
        cf_hash_hex(hash, p != NULL ? p : "", (size_t)sqlite3_column_bytes(st, 1));
        const char *want = (const char *)sqlite3_column_text(st, 0);
        if (want == NULL || strcmp(want, hash) != 0) {
            report(c, what, cf_str_from(want != NULL ? want : "?"));
        }
    }
    cf_sql__drop(st);
    return s;
}

/* A message without body is checked as the JSON it abbreviates. */
static cf_status check_messages(check *c, cf_error *err)
{
    sqlite3_stmt *st;
    cf_arena a;
    CF_TRY(cf_sql__prepare(c->sql, &st,
                           "SELECT hash, role, text, tool_text, body FROM "
                           "message",
                           err));
    cf_arena_init(&a, 0);
    cf_status s = CF_OK;
    while (cf_sql__next(c->sql, st, &s, err)) {
        cf_arena_reset(&a);
        cf_str want = cf_sql__str(st, 0, &a);
        const cf_msg_row row = {.role = cf_sql__str(st, 1, &a),
                                .text = cf_sql__str(st, 2, &a),
                                .tool_text = cf_sql__str(st, 3, &a),
                                .body = cf_sql__str(st, 4, &a)};
        cf_str json = row.body;
        if (row.body.p == NULL) {
            s = cf_msg__join(c->sql, &row, &a, &json, err);
        }
        if (s == CF_OK && a.failed) {
            s = cf_sql__oom(err);
        }
        if (s == CF_OK) {
            char hash[CF_HASH_TEXT + 1];
            cf_hash_hex(hash, json.p, json.n);
            if (!cf_str_is(want, hash)) {
                report(c, "message differs from its hash: ", want);
            }
        }
    }
    cf_arena_deinit(&a);
    cf_sql__drop(st);
    return s;
}

static cf_status check_links(check *c, cf_error *err)
{
    static const struct {
        const char *what, *sql;
    } rules[] = {
        {"turn whose parent is in another conversation: ",
         "SELECT t.uuid FROM turn t JOIN turn p ON p.id = t.parent_id WHERE "
         "p.conversation_id <> t.conversation_id"},
        {"turn that does not come after its parent: ",
         "SELECT t.uuid FROM turn t JOIN turn p ON p.id = t.parent_id WHERE "
         "p.ordinal >= t.ordinal"},
        {"conversation whose head is elsewhere: ",
         "SELECT c.uuid FROM conversation c JOIN turn h ON h.id = c.head_id "
         "WHERE h.conversation_id <> c.id"},
        {"conversation with a wrong count of turns: ",
         "SELECT uuid FROM conversation c WHERE n_turns <> (SELECT count(*) "
         "FROM turn WHERE conversation_id = c.id)"},
        {"conversation with a wrong count of forks: ",
         "SELECT uuid FROM conversation c WHERE n_turns > 0 AND n_forks <> "
         "(SELECT count(*) FROM turn t WHERE conversation_id = c.id AND NOT "
         "EXISTS (SELECT 1 FROM turn k WHERE k.parent_id = t.id)) - 1"},
        {"message of no turn: ", "SELECT hash FROM message m WHERE NOT EXISTS (SELECT 1 FROM turn "
                                 "WHERE message_id = m.id)"},
        {"attachment of no message: ", "SELECT hash FROM blob b WHERE NOT EXISTS (SELECT 1 FROM "
                                       "message_blob WHERE blob_id = b.id)"},
        {"leftover pieces of turn ",
         "SELECT DISTINCT t.uuid FROM piece p JOIN turn t ON t.id = p.turn_id "
         "WHERE t.status <> 'streaming'"},
        {"not a UUID: ", "SELECT uuid FROM turn WHERE length(uuid) <> 36 UNION ALL SELECT "
                         "uuid FROM conversation WHERE length(uuid) <> 36"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        CF_TRY(report_rows(c, rules[i].what, rules[i].sql, err));
    }
    return CF_OK;
}

/* Counts are compared; what the words are is FTS5's own check, which needs a
 * connection that may write. */
static cf_status check_words(check *c, cf_error *err)
{
    int64_t a, b;
    CF_TRY(cf_sql__int(c->sql, &a, 0, err,
                       "SELECT count(*) FROM message WHERE text <> '' OR "
                       "tool_text <> ''",
                       ""));
    CF_TRY(cf_sql__int(c->sql, &b, 0, err, "SELECT count(*) FROM message_words_docsize", ""));
    if (a != b) {
        report(c, "the word index does not hold every message", (cf_str){0});
    }
    CF_TRY(
        cf_sql__int(c->sql, &a, 0, err, "SELECT count(*) FROM conversation WHERE title <> ''", ""));
    CF_TRY(cf_sql__int(c->sql, &b, 0, err, "SELECT count(*) FROM title_words_docsize", ""));
    if (a != b) {
        report(c, "the title index does not hold every title", (cf_str){0});
    }
    /* An entry may outlive its conversation: lists look at the title too. */
    size_t n_wrong;
    CF_TRY(cf_shown__check(c->sql, &n_wrong, err));
    if (n_wrong != 0) {
        report(c, "the titles that filters read differ from the conversations", (cf_str){0});
    }
    return CF_OK;
}

/* The counts that the writer keeps, against the rows. */
static cf_status check_facets(check *c, cf_error *err)
{
    return report_rows(c, "wrong count of conversations by ",
                       "WITH want AS (SELECT place, 0 AS kind, model AS value, count(*) AS n "
                       "FROM conversation GROUP BY 1, 3 UNION ALL SELECT place, 1, "
                       "template_hash, count(*) FROM conversation GROUP BY 1, 3 UNION ALL "
                       "SELECT place, 2, name, count(*) FROM tag JOIN conversation c ON c.id "
                       "= conversation_id GROUP BY 1, 3 UNION ALL SELECT place, 3, status, "
                       "count(*) FROM conversation GROUP BY 1, 3 UNION ALL SELECT place, 5, "
                       "'', count(*) FROM conversation GROUP BY 1), has AS (SELECT * FROM "
                       "facet WHERE n <> 0 AND kind <> 4) SELECT 'kind ' || kind || ': ' || "
                       "value FROM (SELECT * FROM (SELECT * FROM want EXCEPT SELECT * FROM "
                       "has) UNION SELECT * FROM (SELECT * FROM has EXCEPT SELECT * FROM "
                       "want))",
                       err);
}

static cf_status check_all(check *c, cf_error *err)
{
    CF_TRY(check_file_form(c, err));
    CF_TRY(check_hashes(c, "template differs from its hash: ", "SELECT hash, source FROM template",
                        err));
    CF_TRY(
        check_hashes(c, "tool differs from its hash: ", "SELECT hash, declaration FROM tool", err));
    CF_TRY(
        check_hashes(c, "attachment differs from its hash: ", "SELECT hash, data FROM blob", err));
    CF_TRY(check_messages(c, err));
    CF_TRY(check_links(c, err));
    CF_TRY(check_facets(c, err));
    return check_words(c, err);
}

static cf_status do_words_check(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)s;
    (void)arg;
    CF_TRY(cf_sql__run(sql, err,
                       "INSERT INTO message_words(message_words) "
                       "VALUES('integrity-check')",
                       ""));
    return cf_sql__run(sql, err,
                       "INSERT INTO title_words(title_words) "
                       "VALUES('integrity-check')",
                       "");
}

cf_status cf_store_check(cf_store *s, cf_store_finding_fn fn, void *ud, size_t *n, cf_error *err)
{
    cf_reader *r;
    CF_TRY(cf_store__take(s, &r, 600000, err));
    check c = {&r->sql, fn, ud, 0};
    (void)cf_sql__watch_memory();
    cf_status st = cf_sql__script(&r->sql, "BEGIN", err);
    if (st == CF_OK) {
        st = check_all(&c, err);
        cf_sql__try(&r->sql, "COMMIT");
    }
    cf_store__give(s, r);
    /* SQLite reports a page that it had no memory for as damaged. */
    if (cf_sql__watch_memory()) {
        st = cf_sql__oom(err);
    }
    if (st == CF_OK && s->has_thread) {
        cf_error why;
        cf_status words = cf_op__call(s, do_words_check, NULL, &why);
        if (words == CF_EFORMAT) {
            report(&c, "word index: ", cf_str_from(why.text));
        } else if (words == CF_ENOMEM) {
            st = cf_sql__oom(err);
        }
    }
    if (st == CF_EFORMAT && err != NULL) {
        /* So damaged that a query fails: that is a finding as well. */
        report(&c, "", cf_str_from(err->text));
        st = CF_OK;
    }
    *n = c.n;
    return st;
}

cf_status cf_store_backup(cf_store *s, const char *path, cf_error *err)
{
    /* The empty file is created first, so that it is never accessible to
     * others; VACUUM INTO accepts an empty one. */
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return cf_fail(err, CF_EIO, "%s: %s", path,
                       errno == EEXIST ? "exists already" : "cannot be created there");
    }
    (void)close(fd);
    cf_reader *r;
    cf_status st = cf_store__take(s, &r, 600000, err);
    if (st == CF_OK) {
        st = cf_sql__script(&r->sql, "PRAGMA query_only=OFF", err);
        CF_THEN(st, cf_sql__run(&r->sql, err, "VACUUM INTO ?", "z", path));
        cf_sql__try(&r->sql, "PRAGMA query_only=ON");
        cf_store__give(s, r);
    }
    if (st != CF_OK) {
        (void)unlink(path);
    }
    return st;
}
