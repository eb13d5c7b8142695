/*
 * store_thinking.c - how long a model thought before, out of its runs.
 *
 * The tokens of a reply's thinking are not kept apart; they are counted as the
 * share of its tokens that the thinking has of its bytes.
 */
#include "storage/db/store_int.h"

cf_status cf_store_get_thinking(cf_store *s, cf_str model_hash, cf_store_thinking *out,
                                cf_error *err)
{
    static const char text[] = "SELECT count(*), coalesce(max(tokens), 0) FROM ("
                               " SELECT r.n_reply * thinking / max(length(r.raw), thinking, 1) AS "
                               "tokens FROM ("
                               "  SELECT r.turn_id, r.n_reply, r.raw, length(CAST(json_extract("
                               "m.body, '$.reasoning_content') AS BLOB)) AS thinking"
                               "  FROM run r JOIN turn t ON t.id = r.turn_id"
                               "  JOIN message m ON m.id = t.message_id"
                               "  WHERE r.turn_id > (SELECT coalesce(max(turn_id), 0) - 4000 FROM "
                               "run) AND r.model_hash = ? AND r.stop_reason = 'end'"
                               "  AND r.n_reply > 0 AND m.body IS NOT NULL"
                               "  ORDER BY r.turn_id DESC LIMIT 256) r"
                               " WHERE thinking > 0)";
    cf_reader *r;
    sqlite3_stmt *st;
    bool has_row = false;
    *out = (cf_store_thinking){.n = 0};
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status status = cf_sql__query(&r->sql, &st, err, text, "s", model_hash);
    CF_THEN(status, cf_sql__step(&r->sql, st, &has_row, err));
    if (status == CF_OK && has_row) {
        out->n = (size_t)sqlite3_column_int64(st, 0);
        out->most = (size_t)sqlite3_column_int64(st, 1);
        cf_sql__done(st);
    }
    cf_store__give(s, r);
    return status;
}
