/*
 * tool_loop.c - answers calls until the model has enough.
 */
#include <string.h>

#include "core/api/attachment.h"
#include "core/chat/conversation_impl.h"
#include "core/json/json_builder.h"

enum { ROUNDS = 25 };

static json_t *error_result(const char *text, size_t n)
{
    return json_pack("{s:s%}", "error", text, n);
}

/* Why call `index` is not valid, from the response's findings. */
static void collect_findings(cf_buf *out, const cf_chat_response *r, size_t index)
{
    for (size_t i = 0; i < json_array_size(r->findings); i++) {
        const json_t *f = json_array_get(r->findings, i);
        const json_t *call = json_object_get(f, "call");
        cf_str status = cf_json_get_str(f, "status");
        if (!json_is_integer(call) || json_integer_value(call) != (json_int_t)index ||
            cf_str_is(status, "NOTE")) {
            continue;
        }
        cf_str path = cf_json_get_str(f, "path");
        cf_str text = cf_json_get_str(f, "text");
        cf_buf_adds(out, out->n > 0 ? "; " : "");
        cf_buf_addf(out, "%.*s", (int)status.n, status.p);
        if (path.n > 0) {
            cf_buf_addf(out, " at %.*s", (int)path.n, path.p);
        }
        cf_buf_addf(out, ": %.*s", (int)text.n, text.p);
    }
}

/* The result of one call: the tool's output, a refusal, or its faults. */
static cf_status answer_call(const cf_tool_loop *loop, cf_pending_call *call, json_t **out,
                             cf_error *err)
{
    cf_buf reason = CF_BUF_INIT;
    cf_status st = CF_OK;
    cf_error why;
    *out = NULL;
    if (call->bad.n > 0) {
        cf_buf_add(&reason, call->bad.p, call->bad.n);
    } else if (loop->decide == NULL || loop->decide(loop->ud, call, &reason) == CF_CALL_REFUSE) {
        if (reason.n == 0) {
            cf_buf_adds(&reason, "the call was refused");
        }
    } else {
        cf_buf_reset(&reason);
        st = loop->run(loop->ud, call, out, &why);
        if (st == CF_ENOMEM || st == CF_ECANCELLED) {
            if (err != NULL) {
                *err = why;
            }
        } else if (st != CF_OK) {
            cf_buf_adds(&reason, why.text);
            st = CF_OK;
        }
    }
    if (st == CF_OK && *out == NULL) {
        *out = error_result(cf_buf_cstr(&reason), reason.n);
        if (*out == NULL) {
            st = cf_oom_for(err, "a result");
        }
    }
    cf_buf_deinit(&reason);
    return st;
}

json_t *cf_pending_call_result(const cf_pending_call *call, const json_t *result)
{
    cf_jb b = CF_JB_INIT;
    cf_buf text = CF_BUF_INIT;
    cf_jb_object(&b, NULL);
    cf_jb_text(&b, "role", "tool");
    cf_jb_str(&b, "name", call->name);
    if (json_is_string(result) || cf_attachment_is_content(result)) {
        cf_jb_add(&b, "content", result);
    } else {
        cf_json_write_spaced(&text, result);
        cf_jb_buf(&b, "content", &text);
    }
    if (call->id.n > 0) {
        cf_jb_str(&b, "tool_call_id", call->id);
    }
    cf_jb_end(&b);
    cf_buf_deinit(&text);
    return cf_jb_done(&b);
}

/* Answers all calls of a reply; *out is the list of messages to send. */
static cf_status answer_all(const cf_tool_loop *loop, const cf_chat_response *r, uint32_t round,
                            json_t **out, cf_error *err)
{
    cf_message_call called;
    cf_jb list = CF_JB_INIT;
    cf_jb_array(&list, NULL);
    cf_status st = cf_jb_check(&list, err);
    for (size_t i = 0; st == CF_OK && cf_message_call_at(&called, r->message, i); i++) {
        cf_buf bad = CF_BUF_INIT;
        collect_findings(&bad, r, i);
        cf_pending_call call = {
            .name = called.name,
            .id = called.id,
            .arguments = called.arguments,
            .index = i,
            .bad = cf_buf_str(&bad),
            .round = round,
        };
        json_t *result = NULL;
        st = answer_call(loop, &call, &result, err);
        if (st == CF_OK) {
            if (loop->done != NULL) {
                loop->done(loop->ud, &call, result);
            }
            cf_jb_take(&list, NULL, cf_pending_call_result(&call, result));
            st = cf_jb_check(&list, err);
        }
        json_decref(result);
        cf_buf_deinit(&bad);
    }
    cf_jb_end(&list);
    CF_THEN(st, cf_jb_finish(&list, out, err));
    cf_jb_deinit(&list);
    return st;
}

static void add_usage(cf_usage *sum, const cf_usage *one)
{
    sum->is_known = sum->is_known || one->is_known;
    sum->n_prompt += one->n_prompt;
    sum->n_reply += one->n_reply;
    sum->n_total += one->n_total;
    sum->n_cached += one->n_cached;
}

/* Whether the model was offered tools; otherwise its calls are not answered. */
static bool has_tools(const cf_conversation *conv, const cf_send *send)
{
    size_t n = 0;
    const cf_tool_set *set =
        send->options != NULL && send->options->tools != NULL ? send->options->tools : conv->tools;
    if (set != NULL) {
        (void)cf_tool_set_items(set, &n);
    }
    return n > 0;
}

static int count_bytes(const char *p, size_t n, void *ud)
{
    (void)p;
    *(uint64_t *)ud += n;
    return 0;
}

/* Adds what a round brought, as bytes; CF_ELIMIT for more than the loop may. */
static cf_status count_round(uint64_t *n_bytes, const cf_sent *sent, const json_t *results,
                             cf_error *err)
{
    *n_bytes += sent->response.raw.n;
    if (json_dump_callback(results, count_bytes, n_bytes, JSON_COMPACT) != 0) {
        return cf_oom_for(err, "results");
    }
    return *n_bytes <= CF_TOOL_LOOP_BYTES
               ? CF_OK
               : cf_fail(err, CF_ELIMIT,
                         "the replies and results of one message are over "
                         "%u MiB",
                         (unsigned)(CF_TOOL_LOOP_BYTES >> 20));
}

cf_status cf_conversation_run(cf_conversation *conv, cf_backend *backend, const cf_send *send,
                              const cf_tool_loop *loop, cf_sent *out, cf_error *err)
{
    uint32_t max = loop->max_rounds != 0 ? loop->max_rounds : ROUNDS;
    cf_send next = *send;
    json_t *results = NULL;
    size_t n_added = 0;
    cf_usage usage = {0};
    uint32_t n_rounds = 0;
    uint64_t n_bytes = 0;
    cf_status st;
    for (uint32_t round = 1;; round++) {
        st = loop->sending != NULL ? loop->sending(loop->ud, &next, err) : CF_OK;
        if (st != CF_OK) {
            json_decref(results);
            break;
        }
        st = cf_conversation_send(conv, backend, &next, out, err);
        json_decref(results);
        results = NULL;
        n_added += out->n_added;
        n_rounds++;
        add_usage(&usage, &out->response.usage);
        if (loop->sent != NULL) {
            loop->sent(loop->ud, out);
        }
        if (st != CF_OK || loop->stops_at_call || !has_tools(conv, send) ||
            json_array_size(json_object_get(out->response.message, "tool_calls")) == 0) {
            break;
        }
        if (round > max) {
            st = cf_fail(err, CF_ELIMIT, "the model still calls tools after %u rounds", max);
            break;
        }
        st = answer_all(loop, &out->response, round, &results, err);
        CF_THEN(st, count_round(&n_bytes, out, results, err));
        if (st != CF_OK) {
            json_decref(results);
            break;
        }
        next = (cf_send){.message = results,
                         .options = send->options,
                         .fn = send->fn,
                         .ud = send->ud,
                         .cancel = send->cancel};
    }
    out->n_added = n_added;
    out->usage = usage;
    out->n_rounds = n_rounds;
    return st;
}

cf_status cf_tool_canned(const json_t *canned, cf_str name, json_t **result, cf_error *err)
{
    char key[256];
    json_t *v = NULL;
    if (name.n < sizeof key) {
        memcpy(key, name.p, name.n);
        key[name.n] = '\0';
        v = json_object_get(canned, key);
    }
    v = v != NULL ? v : json_object_get(canned, "*");
    if (v == NULL) {
        return cf_fail(err, CF_ENOTFOUND, "no result is prepared for '%.*s'",
                       (int)(name.n < 80 ? name.n : 80), name.p);
    }
    *result = json_incref(v);
    return CF_OK;
}
