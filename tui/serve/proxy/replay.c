/*
 * replay.c - looks a request up by its hash.
 */
#include "tui/serve/proxy/replay.h"

#include "core/json/json.h"
#include "tui/serve/record/api_fail.h"
#include "tui/serve/record/record.h"

enum { NEWEST = 8 };

/* The newest exchange that has an answer from a server. */
static cf_status find(cf_store *store, const cf_http_request *r, cf_exchange *out, cf_error *err)
{
    char hash[65] = "";
    const cf_exchange *rows;
    size_t n;
    CF_TRY(cf_record_hash(hash, r->method, r->path, r->body, err));
    const cf_exchange_query q = {
        .request_hash = cf_str_from(hash), .has_ended = true, .limit = NEWEST};
    CF_TRY(cf_store_exchanges(store, &q, r->arena, &rows, &n, err));
    for (size_t i = n; i > 0; i--) {
        if (rows[i - 1].response_headers.n > 2) {
            return cf_store_get_exchange(store, rows[i - 1].id, r->arena, out, err);
        }
    }
    return cf_fail(err, CF_ENOTFOUND,
                   "this request was not recorded: its method, path and body "
                   "must be the same");
}

/* The recorded headers that say how the body is to be read. */
static void set_headers(const cf_http_request *r, cf_http_answer *a, cf_str recorded)
{
    static const char *const kept[] = {"Content-Type", "Content-Encoding", "X-Request-Id",
                                       "Retry-After"};
    json_t *list = NULL;
    cf_error ignored;
    if (cf_json_read(&list, recorded.p, recorded.n, &ignored) != CF_OK) {
        return;
    }
    size_t n = json_array_size(list);
    cf_http_header *h = cf_arena_calloc(r->arena, n + 1, sizeof *h);
    for (size_t i = 0; h != NULL && i < n; i++) {
        const json_t *pair = json_array_get(list, i);
        const char *name = json_string_value(json_array_get(pair, 0));
        const char *value = json_string_value(json_array_get(pair, 1));
        for (size_t k = 0; k < sizeof kept / sizeof kept[0]; k++) {
            if (name == NULL || value == NULL || !cf_http_name_is(cf_str_from(name), kept[k])) {
                continue;
            }
            size_t len = strlen(value);
            const char *copy = cf_arena_strndup(r->arena, value, len);
            if (copy != NULL) {
                h[a->n_headers++] = (cf_http_header){cf_str_from(kept[k]), cf_str_make(copy, len)};
            }
        }
    }
    a->headers = h;
    json_decref(list);
}

static void on_answer(void *ud, const cf_http_request *r, cf_http_answer *a)
{
    cf_exchange x;
    cf_error err;
    cf_status st = find(ud, r, &x, &err);
    if (st != CF_OK) {
        cf_api_fail(r, a, st == CF_ENOTFOUND ? 404 : 500, "not_recorded", err.text);
        return;
    }
    *a = (cf_http_answer){.status = (unsigned)x.status, .body = x.response};
    set_headers(r, a, x.response_headers);
}

cf_http_handler cf_replay_handler(cf_store *store)
{
    return (cf_http_handler){.answer = on_answer, .fail = cf_api_fail, .ud = store};
}
