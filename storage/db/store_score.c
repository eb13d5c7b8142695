/*
 * store_score.c - log-likelihoods that were computed before, by key.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "storage/db/store_int.h"

/* ---- bytes -------------------------------------------------------------- */

static void write_float(unsigned char *to, float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    for (unsigned i = 0; i < 4; i++) {
        to[i] = (unsigned char)(u >> (8 * i));
    }
}

static float read_float(const unsigned char *from)
{
    uint32_t u = 0;
    for (unsigned i = 0; i < 4; i++) {
        u |= (uint32_t)from[i] << (8 * i);
    }
    float v;
    memcpy(&v, &u, sizeof v);
    return v;
}

/* ---- writing ------------------------------------------------------------ */

typedef struct scores {
    const cf_store_score *v;
    size_t n;
} scores;

static cf_status put_one(cf_sql *sql, const cf_store_score *s, cf_error *err)
{
    if (s->n > CF_STORE_TEXT_MAX / 4) {
        return cf_fail(err, CF_ELIMIT, "too many scores");
    }
    unsigned char *bytes = cf_alloc(s->n * 4);
    if (bytes == NULL) {
        return cf_sql__oom(err);
    }
    for (size_t i = 0; i < s->n; i++) {
        write_float(bytes + 4 * i, s->log_p[i]);
    }
    cf_status st =
        cf_sql__run(sql, err,
                    "INSERT INTO study_score(key, log_p) VALUES(?, ?) ON CONFLICT(key) DO "
                    "NOTHING",
                    "sb", s->key, cf_str_make((const char *)bytes, s->n * 4));
    cf_free(bytes);
    return st;
}

static cf_status do_put_scores(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    const scores *a = arg;
    (void)s;
    for (size_t i = 0; i < a->n; i++) {
        CF_TRY(put_one(sql, &a->v[i], err));
    }
    return cf_sql__run(sql, err,
                       "DELETE FROM study_score WHERE id <= (SELECT max(id) "
                       "FROM study_score) - ?",
                       "i", (int64_t)CF_STORE_SCORES_MAX);
}

cf_status cf_store_put_scores(cf_store *s, const cf_store_score *v, size_t n, cf_error *err)
{
    scores a = {v, n};
    return cf_op__call(s, do_put_scores, &a, err);
}

/* ---- reading ------------------------------------------------------------ */

cf_status cf_store_get_scores(cf_store *s, cf_str key, float *log_p, size_t n, cf_error *err)
{
    cf_reader *r;
    sqlite3_stmt *st;
    bool has_row = false, fits = false;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status status =
        cf_sql__query(&r->sql, &st, err, "SELECT log_p FROM study_score WHERE key = ?", "s", key);
    CF_THEN(status, cf_sql__step(&r->sql, st, &has_row, err));
    if (status == CF_OK && has_row) {
        const unsigned char *bytes = sqlite3_column_blob(st, 0);
        size_t n_bytes = (size_t)sqlite3_column_bytes(st, 0);
        fits = n_bytes / 4 == n && n_bytes % 4 == 0 && (bytes != NULL || n == 0);
        for (size_t i = 0; fits && i < n; i++) {
            log_p[i] = read_float(bytes + 4 * i);
        }
        cf_sql__done(st);
    }
    if (status == CF_OK && !fits) {
        status = cf_fail(err, CF_ENOTFOUND, "not scored before");
    }
    cf_store__give(s, r);
    return status;
}
