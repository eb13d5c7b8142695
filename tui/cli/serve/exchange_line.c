/*
 * exchange_line.c - exchanges as JSON lines and as columns.
 */
#include "tui/cli/serve/exchange_line.h"

#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "tui/cli/shell/cli_store.h"

static void put_uuid(cf_jw *w, const char *key, cf_uuid id)
{
    if (cf_uuid_is_nil(id)) {
        cf_jw_null(w, key);
    } else {
        cf_jw_uuid(w, key, id);
    }
}

static void put_int(cf_jw *w, const char *key, int64_t v)
{
    if (v < 0) {
        cf_jw_null(w, key);
    } else {
        cf_jw_int(w, key, v);
    }
}

static void put_text(cf_jw *w, const char *key, cf_str s)
{
    if (s.n == 0) {
        cf_jw_null(w, key);
    } else {
        cf_jw_str(w, key, s);
    }
}

static void put_ms(cf_jw *w, const char *key, int64_t us)
{
    if (us < 0) {
        cf_jw_null(w, key);
    } else {
        cf_jw_format(w, key, "%lld.%03lld", (long long)(us / 1000), (long long)(us % 1000));
    }
}

void cf_exchange_line_json(cf_buf *out, const cf_exchange *x)
{
    cf_buf line = CF_BUF_INIT;
    char time[25];
    cf_jw w;
    cf_jw_init(&w, &line);
    cf_jw_object(&w, NULL);
    put_uuid(&w, "exchange", x->id);
    put_uuid(&w, "conversation", x->conversation);
    put_uuid(&w, "turn", x->turn);
    put_text(&w, "request_id", x->request_id);
    put_int(&w, "status", x->status);
    cf_jw_raw(&w, "findings", x->findings);
    cf_os_format_time(time, x->started_ms);
    cf_jw_text(&w, "started", time);
    put_text(&w, "client", x->client);
    cf_jw_str(&w, "method", x->method);
    cf_jw_str(&w, "path", x->path);
    put_text(&w, "upstream", x->upstream);
    put_text(&w, "api", x->api);
    put_text(&w, "model", x->model);
    put_int(&w, "messages", x->n_messages);
    put_int(&w, "prompt_tokens", x->n_prompt);
    put_int(&w, "cached_tokens", x->n_cached);
    put_int(&w, "reply_tokens", x->n_reply);
    put_int(&w, "written_tokens", x->n_written);
    put_int(&w, "thinking_tokens", x->n_thinking);
    put_ms(&w, "first_ms", x->first_us);
    put_ms(&w, "total_ms", x->total_us);
    put_text(&w, "end", x->end);
    put_text(&w, "note", x->note);
    cf_jw_end(&w);
    cf_cli_put_json(out, &w);
    cf_buf_deinit(&line);
}

static void put_number(cf_buf *out, int width, int64_t v)
{
    if (v < 0) {
        cf_buf_addf(out, " %*s", width, "-");
    } else {
        cf_buf_addf(out, " %*lld", width, (long long)v);
    }
}

/* At most `width` bytes of untrusted text, filled up with blanks. */
static void put_column(cf_buf *out, size_t width, cf_str s)
{
    cf_buf safe = CF_BUF_INIT;
    cf_safe_line(&safe, s.p != NULL ? s.p : "", s.n < width ? s.n : width);
    cf_buf_addf(out, "  %-*s", (int)width, cf_buf_cstr(&safe));
    out->failed = out->failed || safe.failed;
    cf_buf_deinit(&safe);
}

static void put_findings(cf_buf *out, cf_str findings)
{
    json_t *list = NULL;
    cf_error ignored;
    if (findings.n <= 2) {
        return;
    }
    if (cf_json_read(&list, findings.p, findings.n, &ignored) == CF_ENOMEM) {
        out->failed = true; /* any other error: nothing to show */
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *f = json_array_get(list, i);
        cf_buf_adds(out, "\n    ");
        cf_cli_put_line(out, cf_json_get_str(f, "kind"));
        cf_buf_adds(out, ": ");
        cf_cli_put_line(out, cf_json_get_str(f, "text"));
    }
    json_decref(list);
}

void cf_exchange_line_text(cf_buf *out, const cf_exchange *x)
{
    char time[25], id[CF_UUID_TEXT + 1];
    cf_os_format_time(time, x->started_ms);
    cf_uuid_format(id, x->id);
    cf_buf_addf(out, "%s  %.8s", id, time + 11);
    put_column(out, 18, x->client);
    put_column(out, 16, x->model.n != 0 ? x->model : x->path);
    put_number(out, 4, x->n_messages);
    put_number(out, 7, x->n_prompt);
    put_number(out, 7, x->n_cached);
    put_number(out, 5, x->n_reply);
    put_number(out, 6, x->first_us >= 0 ? x->first_us / 1000 : -1);
    put_number(out, 4, x->status);
    cf_buf_adds(out, "  ");
    cf_cli_put_line(out, x->end.n != 0 ? x->end : cf_str_from("running"));
    if (x->note.n != 0) {
        cf_buf_adds(out, "\n    note: ");
        cf_cli_put_line(out, x->note);
    }
    put_findings(out, x->findings);
    cf_buf_addc(out, '\n');
}
