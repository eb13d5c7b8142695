/*
 * store_gen.c - awkward texts, deep and wide trees, runs with everything.
 */
#include "tests/support/store_gen.h"

#include <stdio.h>
#include <string.h>

#include "core/json/json.h"
#include "storage/trace.h"

static const char *const words[] = {
    "hello",
    "",
    "two\nlines\ttab",
    "quote \" back \\ slash",
    "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E",
    "caf\xC3\xA9 e\xCC\x81",
    "\xF0\x9F\x98\x80 emoji",
    "</script><|im_end|>",
    "esc \x1B[31m bell \x07",
    "{\"history\": [1,2]}",
    "\xE2\x80\xAE right to left",
    "a b c d e f g h i j k l m n o p q r s t u v w x y z",
};

static cf_str some_text(cf_rand *r, cf_arena *a)
{
    char text[400] = "";
    size_t n = cf_rand_below(r, 5);
    for (size_t i = 0; i < n; i++) {
        strcat(text, words[cf_rand_below(r, sizeof words / sizeof words[0])]);
    }
    return cf_str_make(cf_arena_strndup(a, text, strlen(text)), strlen(text));
}

static cf_str maybe_text(cf_rand *r, cf_arena *a)
{
    return cf_rand_below(r, 3) == 0 ? cf_str_make(NULL, 0) : some_text(r, a);
}

static cf_str from_json(cf_arena *a, json_t *v)
{
    cf_buf b = CF_BUF_INIT;
    cf_json_write(&b, v);
    cf_str s = cf_str_make(cf_arena_strndup(a, b.p, b.n), b.n);
    cf_buf_deinit(&b);
    json_decref(v);
    return s;
}

static json_t *text_json(cf_rand *r, cf_arena *a)
{
    cf_str s = some_text(r, a);
    return json_stringn(s.p, s.n);
}

static cf_str some_json(cf_rand *r, cf_arena *a)
{
    if (cf_rand_below(r, 3) == 0) {
        return cf_str_make(NULL, 0);
    }
    return from_json(a, json_pack("{s:i,s:f,s:o,s:[n,b],s:{s:o}}", "z", (int)cf_rand_below(r, 100),
                                  "a", (double)cf_rand_float(r), "text", text_json(r, a), "list", 1,
                                  "in", "k", text_json(r, a)));
}

/* Base64 long enough to be kept apart, sometimes after a data: prefix. */
static json_t *some_blob(cf_rand *r)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[1200];
    size_t n = 0;
    if (cf_rand_below(r, 2) == 0) {
        n = (size_t)sprintf(text, "data:image/png;base64,");
    }
    size_t len = 512 + 4 * cf_rand_below(r, 100);
    for (size_t i = 0; i < len; i++) {
        text[n++] = digits[cf_rand_below(r, 64)];
    }
    if (cf_rand_below(r, 3) == 0) {
        text[n - 1] = '='; /* not always what our encoder would write */
    }
    return json_stringn(text, n);
}

static cf_str some_message(cf_rand *r, cf_arena *a)
{
    static const char *const roles[] = {"user",         "assistant",    "system",  "developer",
                                        "agent",        "tool",         "user",    "tool_response",
                                        "pcp_response", "mcp_response", "narrator"};
    const char *role = roles[cf_rand_below(r, sizeof roles / sizeof roles[0])];
    switch (cf_rand_below(r, 8)) {
    case 0:
        return from_json(a, json_pack("{s:s,s:n,s:[{s:s,s:{s:o,s:o}}]}", "role", role, "content",
                                      "tool_calls", "id", "c1", "function", "name", text_json(r, a),
                                      "arguments", text_json(r, a)));
    case 1:
        return from_json(a, json_pack("{s:o,s:s}", "content", text_json(r, a), "role", role));
    case 2:
        return from_json(a, json_pack("{s:s,s:[{s:s,s:o},{s:s,s:o}],s:o}", "role", role, "content",
                                      "type", "text", "text", text_json(r, a), "type", "image",
                                      "blob", some_blob(r), "reasoning_content", text_json(r, a)));
    case 3:
        return from_json(a, json_pack("{s:s}", "role", role));
    case 4: /* a key that looks like our own */
        return from_json(a, json_pack("{s:s,s:[{s:s,s:s,s:o}]}", "role", role, "content",
                                      "$confab_blob", "abc", "prefix", "x", "blob", some_blob(r)));
    case 5: /* a NUL inside */
        return from_json(a, json_pack("{s:s,s:s#}", "role", role, "content", "a\0b", 3));
    default:
        return from_json(a, json_pack("{s:s,s:o}", "role", role, "content", text_json(r, a)));
    }
}

static cf_token *some_ids(cf_rand *r, cf_arena *a, size_t *n)
{
    *n = cf_rand_below(r, 20);
    cf_token *v = cf_arena_calloc(a, *n + 1, sizeof *v);
    for (size_t i = 0; i < *n; i++) {
        v[i] = (cf_token)(cf_rand_u64(r) >> (33 + cf_rand_below(r, 30)));
    }
    return *n != 0 ? v : NULL;
}

static uint64_t *some_u64s(cf_rand *r, cf_arena *a, size_t *n)
{
    *n = cf_rand_below(r, 20);
    uint64_t *v = cf_arena_calloc(a, *n + 1, sizeof *v);
    for (size_t i = 0; i < *n; i++) {
        v[i] = cf_rand_u64(r) >> (1 + cf_rand_below(r, 62));
    }
    return *n != 0 ? v : NULL;
}

static int64_t some_number(cf_rand *r)
{
    return cf_rand_below(r, 3) == 0 ? -1 : (int64_t)(cf_rand_u64(r) >> (1 + cf_rand_below(r, 60)));
}

static cf_str some_trace(cf_rand *r, cf_arena *a)
{
    cf_buf b = CF_BUF_INIT;
    cf_trace_writer w = {0};
    size_t n = cf_rand_below(r, 4);
    for (size_t i = 0; i < n; i++) {
        cf_draw d = {.id = (cf_token)i, .n_top = 3, .n_step = 2, .r = 0.5};
        for (size_t k = 0; k < 3; k++) {
            d.top[k] = (cf_candidate){.id = (cf_token)cf_rand_below(r, 1000),
                                      .logit = cf_rand_float(r),
                                      .p_raw = cf_rand_float(r),
                                      .logit_post = cf_rand_float(r),
                                      .rank = (uint32_t)k + 1};
        }
        d.step[0] = (cf_chain_step){"top-k", 40};
        d.step[1] = (cf_chain_step){"top-p", 7};
        cf_trace_put(&w, &b, (cf_token)i, i % 2 == 0 ? &d : NULL);
    }
    cf_str s = {NULL, 0};
    if (b.n != 0) {
        s = cf_str_make(cf_arena_strndup(a, b.p, b.n), b.n);
    }
    cf_buf_deinit(&b);
    return s;
}

static cf_store_run *some_run(cf_rand *r, cf_arena *a, const cf_str *templates, size_t n_templates)
{
    cf_store_run *run = cf_arena_calloc(a, 1, sizeof *run);
    *run = cf_store_run_none();
    run->engine = maybe_text(r, a);
    run->model = maybe_text(r, a);
    run->model_hash = maybe_text(r, a);
    if (n_templates != 0 && cf_rand_below(r, 2) == 0) {
        run->template_hash = templates[cf_rand_below(r, n_templates)];
    }
    run->vars = some_json(r, a);
    run->options = some_json(r, a);
    run->constraint_spec = maybe_text(r, a);
    run->n_tools = cf_rand_below(r, 3);
    cf_str *tools = cf_arena_calloc(a, 3, sizeof *tools);
    for (size_t i = 0; i < run->n_tools; i++) {
        tools[i] = from_json(a, json_pack("{s:s,s:o}", "name", "f", "x", text_json(r, a)));
    }
    run->tools = tools;
    run->has_seed = cf_rand_below(r, 2) == 0;
    run->seed = run->has_seed ? cf_rand_u64(r) : 0;
    run->n_threads = (int)cf_rand_below(r, 9) - 1;
    run->isa = maybe_text(r, a);
    run->arithmetic = (cf_arithmetic)cf_rand_below(r, 3);
    run->prompt_hash = maybe_text(r, a);
    run->prompt_bytes = some_number(r);
    run->n_prompt = some_number(r);
    run->n_kept = some_number(r);
    run->n_new = some_number(r);
    run->n_reply = some_number(r);
    run->diverged_at = some_number(r);
    run->load_us = some_number(r);
    run->render_us = some_number(r);
    run->prefill_us = some_number(r);
    run->first_us = some_number(r);
    run->decode_us = some_number(r);
    run->stop_reason = maybe_text(r, a);
    run->error = maybe_text(r, a);
    run->prompt_ids = some_ids(r, a, &run->n_prompt_ids);
    run->reply_ids = some_ids(r, a, &run->n_reply_ids);
    run->chunks = some_u64s(r, a, &run->n_chunks);
    run->token_us = some_u64s(r, a, &run->n_token_us);
    run->trace = some_trace(r, a);
    switch (cf_rand_below(r, 3)) {
    case 0:
        run->raw = cf_str_make("\xFF\xFE\0bytes", 8);
        break;
    case 1:
        run->raw = some_text(r, a);
        break;
    default:
        break;
    }
    return run;
}

static cf_store_call *some_calls(cf_rand *r, cf_arena *a, size_t *n)
{
    *n = cf_rand_below(r, 3);
    cf_store_call *v = cf_arena_calloc(a, 3, sizeof *v);
    for (size_t i = 0; i < *n; i++) {
        v[i] = cf_store_call_none();
        v[i].n = (int64_t)i;
        v[i].call_id = maybe_text(r, a);
        v[i].name = maybe_text(r, a);
        v[i].arguments = maybe_text(r, a);
        v[i].byte_from = some_number(r);
        v[i].byte_to = some_number(r);
        v[i].status = maybe_text(r, a);
        v[i].findings = maybe_text(r, a);
        v[i].parse_error = maybe_text(r, a);
        v[i].state = some_text(r, a);
        v[i].result = maybe_text(r, a);
        v[i].duration_us = some_number(r);
        v[i].is_mocked = cf_rand_below(r, 2) == 0;
        if (cf_rand_below(r, 3) == 0) {
            v[i].result_turn = cf_uuid_new();
        }
    }
    return *n != 0 ? v : NULL;
}

static void fill_turn(cf_rand *r, cf_arena *a, cf_store_turn *t, const cf_store_turn *before,
                      size_t n_before, int shape)
{
    static const cf_turn_status statuses[] = {CF_TURN_OK, CF_TURN_STOPPED, CF_TURN_ERROR,
                                              CF_TURN_INTERRUPTED, CF_TURN_IMPORTED};
    *t = (cf_store_turn){.id = cf_uuid_new(),
                         .message = some_message(r, a),
                         .status = statuses[cf_rand_below(r, 5)],
                         .fork_token = -1,
                         .note = some_text(r, a),
                         .source = some_json(r, a),
                         .created_ms = 1 + (int64_t)cf_rand_below(r, 1 << 30)};
    t->finished_ms = cf_rand_below(r, 2) == 0 ? -1 : t->created_ms + 5;
    t->rating = (int)cf_rand_below(r, 5) - 2;
    if (t->note.n == 0) {
        t->note = cf_str_make(NULL, 0);
    }
    if (n_before != 0 && shape != 2) {
        size_t back = shape == 0 ? 0 : cf_rand_below(r, n_before);
        bool is_root = shape == 3 && cf_rand_below(r, 4) == 0;
        t->parent = is_root ? (cf_uuid){{0}} : before[n_before - 1 - back].id;
    } else if (n_before != 0) {
        t->parent = before[0].id; /* a star */
    }
    if (cf_rand_below(r, 4) == 0) {
        t->fork_of = cf_uuid_new();
        t->fork_token = (int64_t)cf_rand_below(r, 100);
        t->forced_ids = some_ids(r, a, &t->n_forced);
    }
    if (n_before != 0 && cf_rand_below(r, 4) == 0) {
        t->edited_from = before[cf_rand_below(r, n_before)].id;
    }
}

cf_store_tree store_gen_tree(cf_rand *r, cf_arena *a, size_t max_turns, const cf_str *templates,
                             size_t n_templates)
{
    size_t n = cf_rand_below(r, max_turns + 1);
    cf_store_turn *v = cf_arena_calloc(a, n + 1, sizeof *v);
    int shape = (int)cf_rand_below(r, 4); /* chain, tree, star, forest */
    for (size_t i = 0; i < n; i++) {
        fill_turn(r, a, &v[i], v, i, shape);
        if (cf_rand_below(r, 3) == 0) {
            v[i].run = some_run(r, a, templates, n_templates);
        }
        if (cf_rand_below(r, 5) == 0) {
            v[i].calls = some_calls(r, a, &v[i].n_calls);
        }
    }
    cf_store_tree tree = {.turns = v, .n = n};
    cf_store_conv *c = &tree.conv;
    c->id = cf_uuid_new();
    c->title = some_text(r, a);
    c->created_ms = 1 + (int64_t)cf_rand_below(r, 1 << 30);
    c->updated_ms = c->created_ms + (int64_t)cf_rand_below(r, 1000);
    c->place = (cf_store_place)cf_rand_below(r, 3);
    c->preface = some_json(r, a);
    c->source = some_json(r, a);
    if (n != 0) {
        c->head = v[cf_rand_below(r, n)].id;
    }
    if (cf_rand_below(r, 3) == 0) {
        c->forked_from = cf_uuid_new();
    }
    static const cf_str tags[] = {{"bug", 3}, {"\xC3\xA9t\xC3\xA9", 5}};
    c->tags = tags;
    c->n_tags = cf_rand_below(r, 3);
    return tree;
}
