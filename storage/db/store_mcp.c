/*
 * store_mcp.c - the log of tool servers, and what is remembered of their
 * tools.
 */
#include "core/base/os.h"
#include "storage/db/store_int.h"

/* ---- the log ------------------------------------------------------------ */

typedef struct log_arg {
    cf_uuid conv;
    cf_store_mcp *v;
    size_t n;
} log_arg;

static cf_status do_put_mcp(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    const log_arg *a = arg;
    int64_t conv, next;
    (void)s;
    CF_TRY(cf_rows__conv_id(sql, a->conv, &conv, err));
    CF_TRY(cf_sql__int(sql, &next, 0, err,
                       "SELECT coalesce(max(n) + 1, 0) FROM mcp_message WHERE "
                       "conversation_id = ?",
                       "i", conv));
    for (size_t i = 0; i < a->n; i++) {
        const cf_store_mcp *m = &a->v[i];
        CF_TRY(cf_sql__run(sql, err,
                           "INSERT INTO mcp_message(conversation_id, n, at_ms, server, "
                           "direction, call, message) VALUES(?, ?, ?, ?, ?, ?, ?)",
                           "iiissos", conv, next + (int64_t)i, m->at_ms, m->server, m->direction,
                           m->call > 0 ? m->call : -1, m->message));
    }
    return CF_OK;
}

cf_status cf_store_put_mcp(cf_store *s, cf_uuid conv, const cf_store_mcp *v, size_t n,
                           cf_error *err)
{
    cf_op *op = cf_op__new(do_put_mcp);
    if (op == NULL) {
        return cf_sql__oom(err);
    }
    log_arg *a = cf_arena_calloc(&op->arena, 1, sizeof *a);
    if (a != NULL) {
        a->conv = conv;
        a->n = n;
        a->v = cf_arena_calloc(&op->arena, n > 0 ? n : 1, sizeof *a->v);
    }
    for (size_t i = 0; a != NULL && a->v != NULL && i < n; i++) {
        a->v[i] = v[i];
        a->v[i].server = cf_copy__str(&op->arena, v[i].server);
        a->v[i].direction = cf_copy__str(&op->arena, v[i].direction);
        a->v[i].message = cf_copy__str(&op->arena, v[i].message);
    }
    op->arg = a;
    return cf_op__submit(s, op, err);
}

static cf_status read_log(cf_reader *r, int64_t conv, int64_t from, cf_store_mcp *v, size_t n,
                          cf_arena *arena, cf_error *err)
{
    sqlite3_stmt *st;
    cf_status status =
        cf_sql__query(&r->sql, &st, err,
                      "SELECT n, at_ms, server, direction, call, message FROM mcp_message "
                      "WHERE conversation_id = ? AND n >= ? ORDER BY n LIMIT ?",
                      "iii", conv, from, (int64_t)n);
    for (size_t i = 0; i < n && status == CF_OK && cf_sql__next(&r->sql, st, &status, err); i++) {
        v[i] = (cf_store_mcp){.n = sqlite3_column_int64(st, 0),
                              .at_ms = sqlite3_column_int64(st, 1),
                              .server = cf_sql__str(st, 2, arena),
                              .direction = cf_sql__str(st, 3, arena),
                              .call = cf_sql__opt(st, 4),
                              .message = cf_sql__str(st, 5, arena)};
        if (i + 1 == n) {
            cf_sql__done(st);
        }
    }
    return status;
}

cf_status cf_store_get_mcp(cf_store *s, cf_uuid conv, int64_t from, size_t max, cf_arena *arena,
                           const cf_store_mcp **v, size_t *n, cf_error *err)
{
    cf_reader *r;
    int64_t id = 0, count = 0;
    *v = NULL;
    *n = 0;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status st = cf_rows__conv_id(&r->sql, conv, &id, err);
    CF_THEN(st, cf_sql__int(&r->sql, &count, 0, err,
                            "SELECT count(*) FROM mcp_message WHERE "
                            "conversation_id = ? AND n >= ?",
                            "ii", id, from));
    if (st == CF_OK && count > 0 && max > 0) {
        size_t k = (uint64_t)count < max ? (size_t)count : max;
        cf_store_mcp *list = cf_arena_calloc(arena, k, sizeof *list);
        st = list != NULL ? read_log(r, id, from, list, k, arena, err) : cf_sql__oom(err);
        if (st == CF_OK && arena->failed) {
            st = cf_sql__oom(err);
        }
        *v = list;
        *n = st == CF_OK ? k : 0;
    }
    cf_store__give(s, r);
    return st;
}

/* ---- tools -------------------------------------------------------------- */

static cf_status do_put_tool(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    const cf_store_mcp_tool *t = arg;
    (void)s;
    return cf_sql__run(sql, err,
                       "INSERT INTO mcp_tool(server, tool, definition, approved_for, at_ms) "
                       "VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT(server, tool) DO UPDATE SET "
                       "definition = ?3, approved_for = ?4, at_ms = ?5",
                       "ssssi", t->server, t->tool, t->definition, t->approved_for, cf_os_now_ms());
}

cf_status cf_store_put_mcp_tool(cf_store *s, const cf_store_mcp_tool *tool, cf_error *err)
{
    cf_store_mcp_tool copy = *tool;
    return cf_op__call(s, do_put_tool, &copy, err);
}

cf_status cf_store_get_mcp_tool(cf_store *s, cf_str server, cf_str tool, cf_arena *arena,
                                cf_store_mcp_tool *out, cf_error *err)
{
    cf_reader *r;
    sqlite3_stmt *st;
    bool has_row = false;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status status = cf_sql__query(&r->sql, &st, err,
                                     "SELECT server, tool, definition, approved_for FROM "
                                     "mcp_tool WHERE server = ? AND tool = ?",
                                     "ss", server, tool);
    CF_THEN(status, cf_sql__step(&r->sql, st, &has_row, err));
    if (status == CF_OK && has_row) {
        *out = (cf_store_mcp_tool){.server = cf_sql__str(st, 0, arena),
                                   .tool = cf_sql__str(st, 1, arena),
                                   .definition = cf_sql__str(st, 2, arena),
                                   .approved_for = cf_sql__str(st, 3, arena)};
        cf_sql__done(st);
        status = arena->failed ? cf_sql__oom(err) : CF_OK;
    } else if (status == CF_OK) {
        status = cf_fail(err, CF_ENOTFOUND, "the tool was not seen before");
    }
    cf_store__give(s, r);
    return status;
}
