/*
 * run_options.c - options of a run as JSON.
 */
#include "tui/lab/reply/run_options.h"

#include <math.h>
#include <string.h>

#include "core/base/safe_text.h"
#include "core/json/json.h"

/* ---- writing ------------------------------------------------------------ */

static void put_float(cf_buf *b, const char *key, float v)
{
    if (v != 0.0f) {
        cf_buf_addf(b, "\"%s\":", key);
        cf_json_write_double(b, (double)v);
        cf_buf_addc(b, ',');
    }
}

static void put_uint(cf_buf *b, const char *key, uint64_t v)
{
    if (v != 0) {
        cf_buf_addf(b, "\"%s\":%llu,", key, (unsigned long long)v);
    }
}

/* JSON has no infinity. */
static void put_bias(cf_buf *b, const cf_sampling *s)
{
    if (s->n_bias == 0) {
        return;
    }
    cf_buf_adds(b, "\"logit_bias\":[");
    for (size_t i = 0; i < s->n_bias; i++) {
        cf_buf_addf(b, "%s[%d,", i > 0 ? "," : "", (int)s->bias[i].id);
        if (isinf(s->bias[i].bias)) {
            cf_buf_adds(b, "null");
        } else {
            cf_json_write_double(b, (double)s->bias[i].bias);
        }
        cf_buf_addc(b, ']');
    }
    cf_buf_adds(b, "],");
}

static void put_sampling(cf_buf *b, const cf_sampling *s)
{
    cf_buf_adds(b, "\"temperature\":");
    cf_json_write_double(b, (double)s->temperature);
    cf_buf_addf(b, ",\"top_k\":%u,\"top_p\":", (unsigned)s->top_k);
    cf_json_write_double(b, (double)s->top_p);
    cf_buf_adds(b, ",\"min_p\":");
    cf_json_write_double(b, (double)s->min_p);
    cf_buf_addc(b, ',');
    put_float(b, "repetition_penalty", s->repetition_penalty);
    put_float(b, "presence_penalty", s->presence_penalty);
    put_float(b, "frequency_penalty", s->frequency_penalty);
    put_uint(b, "penalty_window", s->penalty_window);
    put_uint(b, "no_repeat_ngram", s->no_repeat_ngram);
    put_uint(b, "no_repeat_window", s->no_repeat_window);
    put_bias(b, s);
    for (size_t i = 0; i < s->n_suppress; i++) {
        cf_buf_addf(b, "%s%d%s", i == 0 ? "\"suppress\":[" : ",", (int)s->suppress[i],
                    i + 1 == s->n_suppress ? "]," : "");
    }
}

static void put_list(cf_buf *b, const char *key, const uint32_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cf_buf_addc(b, i == 0 ? '"' : ',');
        if (i == 0) {
            cf_buf_addf(b, "%s\":[", key);
        }
        cf_buf_addf(b, "%u%s", (unsigned)v[i], i + 1 == n ? "]," : "");
    }
}

static void put_json(cf_buf *b, const char *key, cf_str json)
{
    if (json.n > 0) {
        cf_buf_addf(b, "\"%s\":", key);
        cf_buf_add(b, json.p, json.n);
        cf_buf_addc(b, ',');
    }
}

void cf_run_options_write(cf_buf *b, const cf_run_options *o)
{
    cf_buf_addc(b, '{');
    if (o->has_sampling) {
        put_sampling(b, &o->sampling);
    }
    for (size_t i = 0; i < o->n_stop; i++) {
        cf_buf_adds(b, i == 0 ? "\"stop\":[" : ",");
        cf_json_write_str(b, o->stop[i]);
        cf_buf_adds(b, i + 1 == o->n_stop ? "]," : "");
    }
    if (o->thinking != CF_THINKING_DEFAULT) {
        cf_buf_addf(b, "\"thinking\":%s,", o->thinking == CF_THINKING_ON ? "true" : "false");
    }
    if (o->has_thinking_budget) {
        cf_buf_addf(b, "\"thinking_budget\":%d,", (int)o->thinking_budget);
    }
    put_uint(b, "n_ctx", o->n_ctx);
    if (o->cache != CF_CACHE_DEFAULT) {
        cf_buf_addf(b, "\"cache\":\"%s\",", cf_cache_name(o->cache));
    }
    put_uint(b, "n_start", o->n_start);
    put_uint(b, "start_bytes", o->start_bytes);
    put_uint(b, "start_content", o->start_content);
    put_list(b, "forced", o->forced, o->n_forced);
    put_list(b, "held", o->held, o->n_held);
    put_list(b, "drafted", o->drafted, o->n_drafted);
    cf_buf_adds(b, o->as_is ? "\"as_is\":true," : "");
    put_json(b, "extra", o->extra);
    put_json(b, "media", o->media);
    put_json(b, "adapters", o->adapters);
    put_json(b, "steering", o->steering);
    if (o->load_as.n != 0) {
        cf_buf_adds(b, "\"load_as\":");
        cf_json_write_str(b, o->load_as);
        cf_buf_addc(b, ',');
    }
    put_json(b, "server", o->server);
    cf_buf_addf(b, "\"max_tokens\":%u}", (unsigned)o->max_tokens);
}

/* ---- reading ------------------------------------------------------------ */

static float get_float(const json_t *v, const char *key)
{
    return (float)json_number_value(json_object_get(v, key));
}

static uint32_t get_u32(const json_t *v, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(v, key));
    return n > 0 && n <= (json_int_t)UINT32_MAX ? (uint32_t)n : 0;
}

static cf_token as_token(const json_t *v)
{
    json_int_t n = json_integer_value(v);
    return json_is_integer(v) && n >= 0 && n <= INT32_MAX ? (cf_token)n : CF_TOKEN_NONE;
}

static bool read_bias(cf_sampling *s, const json_t *list, cf_arena *arena)
{
    size_t n = json_array_size(list);
    cf_logit_bias *v = cf_arena_calloc(arena, n + 1, sizeof *v);
    for (size_t i = 0; v != NULL && i < n; i++) {
        const json_t *pair = json_array_get(list, i);
        const json_t *x = json_array_get(pair, 1);
        v[i].id = as_token(json_array_get(pair, 0));
        v[i].bias = json_is_null(x) ? -INFINITY : (float)json_number_value(x);
    }
    s->bias = v;
    s->n_bias = n;
    return v != NULL;
}

static bool read_suppress(cf_sampling *s, const json_t *list, cf_arena *arena)
{
    size_t n = json_array_size(list);
    cf_token *v = cf_arena_calloc(arena, n + 1, sizeof *v);
    for (size_t i = 0; v != NULL && i < n; i++) {
        v[i] = as_token(json_array_get(list, i));
    }
    s->suppress = v;
    s->n_suppress = n;
    return v != NULL;
}

static bool read_list(const uint32_t **out, size_t *n, const json_t *list, cf_arena *arena)
{
    *n = json_array_size(list);
    uint32_t *v = cf_arena_calloc(arena, *n + 1, sizeof *v);
    for (size_t i = 0; v != NULL && i < *n; i++) {
        json_int_t at = json_integer_value(json_array_get(list, i));
        v[i] = at >= 0 && at < (json_int_t)UINT32_MAX ? (uint32_t)at : 0;
    }
    *out = v;
    return v != NULL;
}

/* A string in the arena; false when memory ran out. */
static bool read_text(cf_str *out, const json_t *s, cf_arena *arena)
{
    size_t n = json_string_length(s);
    const char *p = json_is_string(s) ? json_string_value(s) : "";
    char *copy = cf_arena_strndup(arena, p, n);
    *out = cf_str_make(copy, copy != NULL ? n : 0);
    return copy != NULL;
}

static bool read_stop(cf_run_options *o, const json_t *list, cf_arena *arena)
{
    size_t n = json_array_size(list);
    cf_str *v = cf_arena_calloc(arena, n + 1, sizeof *v);
    for (size_t i = 0; v != NULL && i < n; i++) {
        if (!read_text(&v[i], json_array_get(list, i), arena)) {
            return false;
        }
    }
    o->stop = v;
    o->n_stop = n;
    return v != NULL;
}

/* An object as text; false when memory ran out. */
static bool read_json(cf_str *out, const json_t *v, cf_arena *arena)
{
    cf_buf text = CF_BUF_INIT;
    bool is_there = json_is_object(v) || json_is_array(v);
    if (is_there) {
        cf_json_write(&text, v);
        char *copy = cf_arena_strndup(arena, cf_buf_cstr(&text), text.n);
        *out = cf_str_make(copy, copy != NULL ? text.n : 0);
    }
    bool ok = !text.failed && (!is_there || out->p != NULL);
    cf_buf_deinit(&text);
    return ok;
}

static void read_numbers(cf_run_options *o, const json_t *v)
{
    cf_sampling *s = &o->sampling;
    o->has_sampling = json_is_number(json_object_get(v, "temperature"));
    s->temperature = get_float(v, "temperature");
    s->top_k = get_u32(v, "top_k");
    s->top_p = get_float(v, "top_p");
    s->min_p = get_float(v, "min_p");
    s->repetition_penalty = get_float(v, "repetition_penalty");
    s->presence_penalty = get_float(v, "presence_penalty");
    s->frequency_penalty = get_float(v, "frequency_penalty");
    s->penalty_window = get_u32(v, "penalty_window");
    s->no_repeat_ngram = get_u32(v, "no_repeat_ngram");
    s->no_repeat_window = get_u32(v, "no_repeat_window");
    o->max_tokens = get_u32(v, "max_tokens");
    o->as_is = json_is_true(json_object_get(v, "as_is"));
    o->n_ctx = get_u32(v, "n_ctx");
    o->n_start = get_u32(v, "n_start");
    o->start_bytes = get_u32(v, "start_bytes");
    o->start_content = get_u32(v, "start_content");
    const json_t *thinking = json_object_get(v, "thinking");
    if (json_is_boolean(thinking)) {
        o->thinking = json_is_true(thinking) ? CF_THINKING_ON : CF_THINKING_OFF;
    }
    const json_t *budget = json_object_get(v, "thinking_budget");
    json_int_t n = json_integer_value(budget);
    if (json_is_integer(budget) && n >= INT32_MIN && n <= INT32_MAX) {
        o->has_thinking_budget = true;
        o->thinking_budget = (int32_t)n;
    }
    o->cache = cf_cache_named(cf_json_get_str(v, "cache"));
}

cf_status cf_run_options_read(cf_run_options *out, cf_str json, cf_arena *arena, cf_error *err)
{
    memset(out, 0, sizeof *out);
    if (json.n == 0) {
        return CF_OK;
    }
    json_t *v;
    CF_TRY(cf_json_read(&v, json.p, json.n, err));
    read_numbers(out, v);
    bool ok = read_bias(&out->sampling, json_object_get(v, "logit_bias"), arena) &&
              read_suppress(&out->sampling, json_object_get(v, "suppress"), arena) &&
              read_list(&out->forced, &out->n_forced, json_object_get(v, "forced"), arena) &&
              read_list(&out->held, &out->n_held, json_object_get(v, "held"), arena) &&
              read_list(&out->drafted, &out->n_drafted, json_object_get(v, "drafted"), arena) &&
              read_json(&out->extra, json_object_get(v, "extra"), arena) &&
              read_json(&out->media, json_object_get(v, "media"), arena) &&
              read_json(&out->adapters, json_object_get(v, "adapters"), arena) &&
              read_json(&out->steering, json_object_get(v, "steering"), arena) &&
              read_text(&out->load_as, json_object_get(v, "load_as"), arena) &&
              read_json(&out->server, json_object_get(v, "server"), arena) &&
              read_stop(out, json_object_get(v, "stop"), arena);
    json_decref(v);
    return ok ? CF_OK : cf_oom_for(err, "options");
}

void cf_run_options_adapters(cf_buf *out, cf_str adapters)
{
    json_t *list = NULL;
    if (adapters.n == 0 || cf_json_read(&list, adapters.p, adapters.n, NULL) != CF_OK) {
        return;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        cf_str path = cf_json_get_str(one, "path");
        json_int_t last = json_integer_value(json_object_get(one, "last"));
        cf_buf_adds(out, out->n == 0 ? "" : ", ");
        cf_safe_line(out, path.p, path.n);
        cf_buf_addf(out, " x %g", json_number_value(json_object_get(one, "scale")));
        if (last != 0) {
            cf_buf_addf(out, ":%lld-%lld",
                        (long long)json_integer_value(json_object_get(one, "first")),
                        (long long)last);
        }
    }
    json_decref(list);
}
