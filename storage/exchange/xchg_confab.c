/*
 * xchg_confab.c - confab's own format, which keeps everything.
 *
 * One JSON object a line.  {"type":"conversation","confab":1,...} begins a
 * conversation; the "template" and "turn" lines that follow belong to it.
 * Fields that have no value are left out.  Bytes that are not UTF-8 are
 * {"base64":"..."}.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "core/base/hash.h"
#include "core/base/utf8.h"
#include "storage/db/store_codec.h"
#include "storage/db/store_int.h"
#include "storage/exchange/xchg.h"

enum { VERSION = 1 };

/* ---- writing ------------------------------------------------------------ */

/* Fields without a value are left out. */
static void put_text(cf_jw *w, const char *key, cf_str s)
{
    if (s.p != NULL) {
        cf_jw_str(w, key, s);
    }
}

/* JSON text, parsed and written again so that it is JSON on one line whatever
 * the database holds. */
static void put_json(cf_jw *w, const char *key, cf_str json)
{
    json_t *v;
    cf_error err;
    if (json.n == 0) {
        return;
    }
    cf_status st = cf_json_read(&v, json.p, json.n, &err);
    if (st == CF_OK) {
        cf_jw_json(w, key, v);
        json_decref(v);
    } else if (st == CF_ENOMEM) {
        w->out->failed = true;
    }
}

static void put_bytes(cf_jw *w, const char *key, cf_str s)
{
    if (s.p == NULL || cf_utf8_valid_prefix(s.p, s.n) == s.n) {
        put_text(w, key, s);
        return;
    }
    cf_jw_object(w, key);
    cf_jw_base64(w, "base64", s);
    cf_jw_end(w);
}

static void put_uuid(cf_jw *w, const char *key, cf_uuid id)
{
    if (!cf_uuid_is_nil(id)) {
        cf_jw_uuid(w, key, id);
    }
}

static void put_opt(cf_jw *w, const char *key, int64_t v)
{
    if (v >= 0) {
        cf_jw_int(w, key, v);
    }
}

static void put_true(cf_jw *w, const char *key, bool v)
{
    if (v) {
        cf_jw_bool(w, key, true);
    }
}

static void put_ids(cf_jw *w, const char *key, const cf_token *v, size_t n)
{
    if (n != 0) {
        cf_jw_int32s(w, key, v, n);
    }
}

static void put_u64s(cf_jw *w, const char *key, const uint64_t *v, size_t n)
{
    if (n != 0) {
        cf_jw_array(w, key);
        for (size_t i = 0; i < n; i++) {
            cf_jw_uint(w, NULL, v[i]);
        }
        cf_jw_end(w);
    }
}

static void put_texts(cf_jw *w, const char *key, const cf_str *v, size_t n)
{
    if (n != 0) {
        cf_jw_array(w, key);
        for (size_t i = 0; i < n; i++) {
            cf_jw_str(w, NULL, v[i]);
        }
        cf_jw_end(w);
    }
}

/* The numbers of a run by name, for both ways. */
#define RUN_NUMBERS(X) \
    X(prompt_bytes)    \
    X(n_prompt)        \
    X(n_kept)          \
    X(n_new)           \
    X(n_reply)         \
    X(diverged_at)     \
    X(load_us)         \
    X(render_us)       \
    X(prefill_us)      \
    X(first_us)        \
    X(decode_us)
#define RUN_TEXTS(X)   \
    X(engine)          \
    X(model)           \
    X(model_hash)      \
    X(template_hash)   \
    X(constraint_spec) \
    X(isa)             \
    X(prompt_hash)     \
    X(stop_reason)     \
    X(error)

static void put_run(cf_jw *w, const cf_store_run *r, bool with_trace)
{
    cf_jw_object(w, "run");
    cf_jw_int(w, "n_threads", r->n_threads);
#define PUT(name) put_text(w, #name, r->name);
    RUN_TEXTS(PUT)
#undef PUT
    put_json(w, "vars", r->vars);
    put_json(w, "options", r->options);
    if (r->has_seed) {
        /* As text: JSON readers lose the last bits of large numbers. */
        cf_jw_format(w, "seed", "\"%llu\"", (unsigned long long)r->seed);
    }
    put_true(w, "is_exact", r->arithmetic == CF_ARITHMETIC_EXACT);
    if (r->arithmetic == CF_ARITHMETIC_8) {
        cf_jw_int(w, "activations", 8);
    }
    put_texts(w, "tools", r->tools, r->n_tools);
#define PUT(name) put_opt(w, #name, r->name);
    RUN_NUMBERS(PUT)
#undef PUT
    put_ids(w, "prompt_ids", r->prompt_ids, r->n_prompt_ids);
    put_ids(w, "reply_ids", r->reply_ids, r->n_reply_ids);
    put_bytes(w, "raw", r->raw);
    put_u64s(w, "chunks", r->chunks, r->n_chunks);
    put_u64s(w, "token_us", r->token_us, r->n_token_us);
    if (with_trace && r->trace.n != 0) {
        cf_jw_base64(w, "trace", r->trace);
    }
    cf_jw_end(w);
}

#define CALL_TEXTS(X) \
    X(call_id)        \
    X(name)           \
    X(arguments)      \
    X(status)         \
    X(findings)       \
    X(parse_error)    \
    X(state)          \
    X(result)
#define CALL_NUMBERS(X) \
    X(byte_from)        \
    X(byte_to)          \
    X(token_from)       \
    X(token_to)         \
    X(error_at)         \
    X(started_ms)       \
    X(duration_us)      \
    X(exit_code)

static void put_call(cf_jw *w, const cf_store_call *c)
{
    cf_jw_object(w, NULL);
    cf_jw_int(w, "n", c->n);
#define PUT(name) put_text(w, #name, c->name);
    CALL_TEXTS(PUT)
#undef PUT
#define PUT(name) put_opt(w, #name, c->name);
    CALL_NUMBERS(PUT)
#undef PUT
    put_uuid(w, "result_turn", c->result_turn);
    put_true(w, "is_mocked", c->is_mocked);
    cf_jw_end(w);
}

/* A record is a line. */
static void begin_record(cf_jw *w, cf_buf *out, const char *type)
{
    cf_jw_init(w, out);
    cf_jw_object(w, NULL);
    cf_jw_text(w, "type", type);
}

static cf_status end_record(cf_jw *w, cf_error *err)
{
    cf_jw_end(w);
    cf_buf_addc(w->out, '\n');
    return cf_jw_finish(w, err);
}

static cf_status put_turn(cf_buf *out, const cf_store_turn *t, bool with_trace, cf_error *err)
{
    cf_jw w;
    begin_record(&w, out, "turn");
    put_uuid(&w, "id", t->id);
    put_uuid(&w, "parent", t->parent);
    cf_jw_text(&w, "status", cf_turn_status_name(t->status));
    cf_jw_int(&w, "created_ms", t->created_ms);
    put_opt(&w, "finished_ms", t->finished_ms);
    put_json(&w, "message", t->message);
    put_uuid(&w, "edited_from", t->edited_from);
    put_uuid(&w, "fork_of", t->fork_of);
    put_opt(&w, "fork_token", t->fork_token);
    put_ids(&w, "forced_ids", t->forced_ids, t->n_forced);
    if (t->rating != 0) {
        cf_jw_int(&w, "rating", t->rating);
    }
    put_text(&w, "note", t->note);
    put_json(&w, "source", t->source);
    if (t->run != NULL) {
        put_run(&w, t->run, with_trace);
    }
    if (t->n_calls != 0) {
        cf_jw_array(&w, "calls");
        for (size_t i = 0; i < t->n_calls; i++) {
            put_call(&w, &t->calls[i]);
        }
        cf_jw_end(&w);
    }
    return end_record(&w, err);
}

static cf_status put_conv(cf_buf *out, const cf_store_conv *c, cf_error *err)
{
    cf_jw w;
    begin_record(&w, out, "conversation");
    cf_jw_int(&w, "confab", VERSION);
    put_uuid(&w, "id", c->id);
    put_text(&w, "title", c->title);
    cf_jw_int(&w, "created_ms", c->created_ms);
    cf_jw_int(&w, "updated_ms", c->updated_ms);
    cf_jw_int(&w, "place", (int64_t)c->place);
    put_uuid(&w, "head", c->head);
    put_uuid(&w, "forked_from", c->forked_from);
    put_json(&w, "preface", c->preface);
    put_json(&w, "source", c->source);
    put_texts(&w, "tags", c->tags, c->n_tags);
    return end_record(&w, err);
}

static cf_status put_template(cf_buf *out, const cf_store_template *t, cf_error *err)
{
    cf_jw w;
    begin_record(&w, out, "template");
    put_text(&w, "hash", t->hash);
    put_text(&w, "name", t->name);
    put_text(&w, "source", t->source);
    put_text(&w, "parent_hash", t->parent_hash);
    cf_jw_int(&w, "created_ms", t->created_ms);
    return end_record(&w, err);
}

static bool is_seen(const cf_exporter *ex, cf_str hash)
{
    for (size_t i = 0; i < ex->n_seen; i++) {
        if (cf_str_is(hash, ex->seen[i])) {
            return true;
        }
    }
    return false;
}

static cf_status write_template(cf_exporter *ex, cf_str hash, cf_arena *a, cf_buf *out,
                                cf_error *err)
{
    cf_store_template t;
    if (hash.n != CF_HASH_TEXT || is_seen(ex, hash)) {
        return CF_OK;
    }
    char(*seen)[65] = cf_realloc(ex->seen, ex->n_seen + 1, sizeof *seen);
    if (seen == NULL) {
        return cf_sql__oom(err);
    }
    ex->seen = seen;
    memcpy(seen[ex->n_seen], hash.p, 64);
    seen[ex->n_seen++][64] = '\0';
    cf_status st = cf_store_get_template(ex->store, hash, a, &t, err);
    CF_THEN(st, put_template(out, &t, err));
    return st == CF_ENOTFOUND ? CF_OK : st;
}

static cf_status write_tree(cf_exporter *ex, const cf_store_tree *tree, cf_buf *out, cf_error *err)
{
    cf_arena a;
    cf_arena_init(&a, 0);
    cf_status st = put_conv(out, &tree->conv, err);
    for (size_t i = 0; st == CF_OK && i < tree->n; i++) {
        const cf_store_turn *t = &tree->turns[i];
        if (t->run != NULL && t->run->template_hash.n != 0) {
            st = write_template(ex, t->run->template_hash, &a, out, err);
        }
        CF_THEN(st, put_turn(out, t, !ex->opts.no_trace, err));
    }
    cf_arena_deinit(&a);
    return st;
}

/* ---- reading ------------------------------------------------------------ */

typedef struct fields {
    cf_build *b;
    const json_t *v;
    const char *bad; /* name of the first field that is wrong */
} fields;

static cf_str get_text(fields *f, const char *key)
{
    const json_t *v = json_object_get(f->v, key);
    if (v != NULL && !json_is_string(v)) {
        f->bad = key;
    }
    return cf_build__str(f->b, cf_xchg__str(v));
}

static cf_str get_raw(fields *f, const char *key)
{
    const json_t *v = json_object_get(f->v, key);
    return v != NULL ? cf_build__json(f->b, v) : cf_str_make(NULL, 0);
}

static cf_uuid get_uuid(fields *f, const char *key)
{
    cf_uuid id = {{0}};
    const json_t *v = json_object_get(f->v, key);
    cf_str s = cf_xchg__str(v);
    if (v != NULL && !cf_uuid_parse(&id, s.p != NULL ? s.p : "", s.n)) {
        f->bad = key;
    }
    return id;
}

static int64_t get_int(fields *f, const char *key, int64_t none)
{
    const json_t *v = json_object_get(f->v, key);
    if (v == NULL) {
        return none;
    }
    if (!json_is_integer(v)) {
        f->bad = key;
    }
    return json_integer_value(v);
}

static cf_str get_bytes(fields *f, const char *key)
{
    const json_t *v = json_object_get(f->v, key);
    if (!json_is_object(v)) {
        return get_text(f, key);
    }
    cf_buf b = CF_BUF_INIT;
    cf_str s = {NULL, 0};
    if (cf_base64_get(&b, cf_json_get_str(v, "base64"))) {
        s = cf_build__str(f->b, cf_buf_str(&b));
    } else if (b.failed) {
        f->b->arena.failed = true;
    } else {
        f->bad = key;
    }
    cf_buf_deinit(&b);
    return s;
}

static cf_str get_base64(fields *f, const char *key)
{
    const json_t *v = json_object_get(f->v, key);
    cf_str s = {NULL, 0};
    cf_buf b = CF_BUF_INIT;
    if (v == NULL) {
        return s;
    }
    if (json_is_string(v) && cf_base64_get(&b, cf_xchg__str(v))) {
        s = cf_build__str(f->b, cf_buf_str(&b));
    } else if (b.failed) {
        f->b->arena.failed = true;
    } else {
        f->bad = key;
    }
    cf_buf_deinit(&b);
    return s;
}

/* The integer at v[i], from 0 to `max`; else 0, and the field is wrong. */
static uint64_t get_item(fields *f, const char *key, const json_t *v, size_t i, json_int_t max)
{
    const json_t *item = json_array_get(v, i);
    json_int_t x = json_integer_value(item);
    if (!json_is_integer(item) || x < 0 || x > max) {
        f->bad = key;
        return 0;
    }
    return (uint64_t)x;
}

/* Room for the items of the array `key`, *n of them; NULL without any, and
 * when memory runs out (the arena is then marked). */
static void *get_array(fields *f, const char *key, size_t size, const json_t **v, size_t *n)
{
    *v = json_object_get(f->v, key);
    *n = json_array_size(*v);
    return *n != 0 ? cf_arena_calloc(&f->b->arena, *n, size) : NULL;
}

static const cf_token *get_ids(fields *f, const char *key, size_t *n)
{
    const json_t *v;
    cf_token *out = get_array(f, key, sizeof *out, &v, n);
    for (size_t i = 0; out != NULL && i < *n; i++) {
        out[i] = (cf_token)get_item(f, key, v, i, INT32_MAX);
    }
    return out;
}

static const uint64_t *get_u64s(fields *f, const char *key, size_t *n)
{
    const json_t *v;
    uint64_t *out = get_array(f, key, sizeof *out, &v, n);
    for (size_t i = 0; out != NULL && i < *n; i++) {
        out[i] = get_item(f, key, v, i, INT64_MAX);
    }
    return out;
}

static const cf_str *get_texts(fields *f, const char *key, size_t *n)
{
    const json_t *v;
    cf_str *out = get_array(f, key, sizeof *out, &v, n);
    for (size_t i = 0; out != NULL && i < *n; i++) {
        if (!json_is_string(json_array_get(v, i))) {
            f->bad = key;
        }
        out[i] = cf_build__str(f->b, cf_xchg__str(json_array_get(v, i)));
    }
    return out;
}

static bool parse_seed(uint64_t *out, cf_str s)
{
    *out = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned d = (unsigned)(unsigned char)s.p[i] - '0';
        if (d > 9 || *out > (UINT64_MAX - d) / 10) {
            return false;
        }
        *out = *out * 10 + d;
    }
    return s.n != 0;
}

static const cf_store_run *get_run(fields *turn)
{
    const json_t *v = json_object_get(turn->v, "run");
    if (v == NULL) {
        return NULL;
    }
    cf_store_run *r = cf_arena_calloc(&turn->b->arena, 1, sizeof *r);
    if (r == NULL) {
        return NULL;
    }
    fields f = {turn->b, v, json_is_object(v) ? NULL : "run"};
    *r = cf_store_run_none();
    int64_t threads = get_int(&f, "n_threads", -1);
    r->n_threads = threads < -1 || threads > INT32_MAX ? -1 : (int)threads;
#define GET(name) r->name = get_text(&f, #name);
    RUN_TEXTS(GET)
#undef GET
    r->vars = get_raw(&f, "vars");
    r->options = get_raw(&f, "options");
    r->arithmetic = json_is_true(json_object_get(v, "is_exact")) ? CF_ARITHMETIC_EXACT
                    : get_int(&f, "activations", 16) == 8        ? CF_ARITHMETIC_8
                                                                 : CF_ARITHMETIC_16;
    if (json_object_get(v, "seed") != NULL) {
        r->has_seed = parse_seed(&r->seed, cf_json_get_str(v, "seed"));
        f.bad = r->has_seed ? f.bad : "seed";
    }
    r->tools = get_texts(&f, "tools", &r->n_tools);
#define GET(name) r->name = get_int(&f, #name, -1);
    RUN_NUMBERS(GET)
#undef GET
    r->prompt_ids = get_ids(&f, "prompt_ids", &r->n_prompt_ids);
    r->reply_ids = get_ids(&f, "reply_ids", &r->n_reply_ids);
    r->raw = get_bytes(&f, "raw");
    r->chunks = get_u64s(&f, "chunks", &r->n_chunks);
    r->token_us = get_u64s(&f, "token_us", &r->n_token_us);
    r->trace = get_base64(&f, "trace");
    turn->bad = f.bad != NULL ? f.bad : turn->bad;
    return r;
}

static void get_calls(fields *turn, cf_store_turn *t)
{
    const json_t *v = json_object_get(turn->v, "calls");
    size_t n = json_array_size(v);
    if (n == 0) {
        return;
    }
    cf_store_call *out = cf_arena_calloc(&turn->b->arena, n, sizeof *out);
    for (size_t i = 0; out != NULL && i < n; i++) {
        cf_store_call *c = &out[i];
        fields f = {turn->b, json_array_get(v, i), NULL};
        *c = cf_store_call_none();
        c->n = get_int(&f, "n", (int64_t)i);
#define GET(name) c->name = get_text(&f, #name);
        CALL_TEXTS(GET)
#undef GET
#define GET(name) c->name = get_int(&f, #name, -1);
        CALL_NUMBERS(GET)
#undef GET
        c->result_turn = get_uuid(&f, "result_turn");
        c->is_mocked = json_is_true(json_object_get(f.v, "is_mocked"));
        if (c->state.p == NULL) {
            c->state = cf_str_from("parsed");
        }
        turn->bad = f.bad != NULL ? f.bad : turn->bad;
    }
    t->calls = out;
    t->n_calls = out != NULL ? n : 0;
}

static cf_status read_turn(cf_import *im, const json_t *v, cf_error *err)
{
    cf_build *b = im->cur;
    cf_store_turn *t = cf_build__add(b);
    if (t == NULL) {
        return cf_sql__oom(err);
    }
    fields f = {b, v, NULL};
    t->id = get_uuid(&f, "id");
    t->parent = get_uuid(&f, "parent");
    cf_str status = get_text(&f, "status");
    if (!cf_turn_status_parse(&t->status, status)) {
        f.bad = "status";
    }
    t->created_ms = get_int(&f, "created_ms", 0);
    t->finished_ms = get_int(&f, "finished_ms", -1);
    t->message = get_raw(&f, "message");
    t->edited_from = get_uuid(&f, "edited_from");
    t->fork_of = get_uuid(&f, "fork_of");
    t->fork_token = get_int(&f, "fork_token", -1);
    t->forced_ids = get_ids(&f, "forced_ids", &t->n_forced);
    t->rating = (int)get_int(&f, "rating", 0);
    t->note = get_text(&f, "note");
    t->source = get_raw(&f, "source");
    t->run = get_run(&f);
    get_calls(&f, t);
    if (cf_uuid_is_nil(t->id)) {
        f.bad = "id";
    } else if (!json_is_object(json_object_get(v, "message"))) {
        f.bad = "message";
    }
    if (b->arena.failed) {
        return cf_sql__oom(err);
    }
    return f.bad == NULL ? CF_OK : cf_fail(err, CF_EFORMAT, "turn: \"%s\" is wrong", f.bad);
}

static cf_status read_template(cf_import *im, const json_t *v, cf_error *err)
{
    cf_build *b = im->cur;
    fields f = {b, v, NULL};
    cf_store_template t = {.hash = get_text(&f, "hash"),
                           .name = get_text(&f, "name"),
                           .source = get_text(&f, "source"),
                           .parent_hash = get_text(&f, "parent_hash"),
                           .created_ms = get_int(&f, "created_ms", 0)};
    char hash[CF_HASH_TEXT + 1];
    cf_hash_hex(hash, t.source.p != NULL ? t.source.p : "", t.source.n);
    if (f.bad != NULL || t.source.p == NULL || !cf_str_is(t.hash, hash)) {
        return cf_fail(err, CF_EFORMAT,
                       "template: its hash is not that of "
                       "its source");
    }
    cf_store_template *grown = cf_realloc(b->templates, b->n_templates + 1, sizeof *grown);
    if (grown == NULL) {
        return cf_sql__oom(err);
    }
    b->templates = grown;
    grown[b->n_templates++] = t;
    return CF_OK;
}

static cf_status read_conv(cf_import *im, const json_t *v, uint64_t line, cf_error *err)
{
    const json_t *version = json_object_get(v, "confab");
    if (!json_is_integer(version) || json_integer_value(version) != VERSION) {
        return cf_fail(err, CF_EFORMAT, "expected a conversation of format version %d", VERSION);
    }
    CF_TRY(cf_build__begin(im, line, err));
    cf_store_conv *c = &im->cur->conv;
    fields f = {im->cur, v, NULL};
    c->id = get_uuid(&f, "id");
    c->title = get_text(&f, "title");
    c->created_ms = get_int(&f, "created_ms", 0);
    c->updated_ms = get_int(&f, "updated_ms", 0);
    int64_t place = get_int(&f, "place", 0);
    c->place = place == 1 ? CF_PLACE_ARCHIVED : place == 2 ? CF_PLACE_TRASH : CF_PLACE_LIVE;
    c->head = get_uuid(&f, "head");
    c->forked_from = get_uuid(&f, "forked_from");
    c->preface = get_raw(&f, "preface");
    c->source = get_raw(&f, "source");
    c->tags = get_texts(&f, "tags", &c->n_tags);
    if (cf_uuid_is_nil(c->id)) {
        f.bad = "id";
    }
    return f.bad == NULL ? CF_OK : cf_fail(err, CF_EFORMAT, "conversation: \"%s\" is wrong", f.bad);
}

static cf_status emit(cf_import *im, cf_error *err)
{
    return im->cur != NULL ? cf_import__emit_ordered(im, err) : CF_OK;
}

static cf_status record(cf_import *im, const json_t *v, uint64_t line, cf_error *err)
{
    cf_str type = cf_json_get_str(v, "type");
    cf_status st;
    if (cf_str_is(type, "conversation")) {
        CF_TRY(emit(im, err));
        im->is_broken = false;
        st = read_conv(im, v, line, err);
    } else if (im->is_broken) {
        return CF_OK; /* of a conversation that was reported already */
    } else if (im->cur == NULL) {
        return cf_fail(err, CF_EFORMAT, "a line outside a conversation");
    } else if (cf_str_is(type, "turn")) {
        st = read_turn(im, v, err);
    } else if (cf_str_is(type, "template")) {
        st = read_template(im, v, err);
    } else {
        st = cf_fail(err, CF_EFORMAT, "an unknown type of line");
    }
    im->is_broken = im->is_broken || st == CF_EFORMAT;
    return st;
}

static const char *writer_of(const json_t *v)
{
    cf_str type = cf_json_get_str(v, "type");
    bool is_ours = (cf_str_is(type, "conversation") && cf_guess__has(v, "confab")) ||
                   (cf_str_is(type, "turn") && cf_guess__has(v, "message")) ||
                   (cf_str_is(type, "template") && cf_guess__has(v, "source"));
    return is_ours ? "confab" : NULL;
}

const cf_xchg_format cf_xchg_confab = {.name = "confab",
                                       .record = record,
                                       .end = emit,
                                       .is_grouped = true,
                                       .writer_of = writer_of,
                                       .write_tree = write_tree};
