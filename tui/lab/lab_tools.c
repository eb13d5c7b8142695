/*
 * bench_tools.c - tools of the conversation on the bench: what is declared,
 * and what is remembered of each call.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/lab/lab_impl.h"

cf_tool_desk *cf_bench_desk(cf_bench *bench)
{
    return &bench->desk;
}

cf_status cf_bench_set_tools(cf_bench *bench, const json_t *tools,
                             cf_error *err)
{
    CF_TRY(cf_bench_need_idle(bench, err));
    CF_TRY(cf_conversation_set_tools(bench->conv, tools, err));
    json_incref(cf_json_ref(tools));
    json_decref(bench->own_tools);
    bench->own_tools = cf_json_ref(tools);
    bench->engine.tools = tools;
    bench->prompt_is_fresh = false;
    bench->generation++;
    return CF_OK;
}

cf_status cf_bench_retry_calls(cf_bench *bench, cf_uuid reply, cf_error *err)
{
    size_t n_tools;
    cf_tool_set_items(cf_bench_tools(bench), &n_tools);
    if (!cf_bench_info(bench).can_mask || n_tools == 0 ||
        bench->engine.family == CF_TOOLS_NONE) {
        return cf_bench_retry(bench, reply, err);
    }
    CF_TRY(cf_bench_need_idle(bench, err));
    cf_bench_rule *before = bench->rule;
    bench->rule = NULL;
    cf_status st = cf_bench_constrain(bench, "tools", err);
    if (st == CF_OK) {
        st = cf_bench_retry(bench, reply, err); /* holds the rule from here */
    }
    cf_bench__rule_drop(bench->rule);
    bench->rule = before;
    return st;
}

/* ---- what is remembered of a call --------------------------------------- */

static cf_call_note *find_note(const cf_bench *b, cf_uuid reply, size_t n)
{
    for (size_t i = 0; i < b->n_notes; i++) {
        if (b->notes[i].n == n && cf_uuid_eq(b->notes[i].reply, reply)) {
            return &b->notes[i];
        }
    }
    return NULL;
}

static cf_call_note *make_note(cf_bench *b, cf_uuid reply, size_t n)
{
    cf_call_note *known = find_note(b, reply, n);
    if (known != NULL) {
        return known;
    }
    if (b->n_notes == b->cap_notes) {
        size_t cap = b->cap_notes != 0 ? b->cap_notes * 2 : 16;
        cf_call_note *v = cf_realloc(b->notes, cap, sizeof *v);
        if (v == NULL) {
            return NULL;
        }
        b->notes = v;
        b->cap_notes = cap;
    }
    cf_call_note *note = &b->notes[b->n_notes++];
    *note = (cf_call_note){.reply = reply, .n = n};
    return note;
}

static void text_into(char *out, size_t size, cf_str text)
{
    snprintf(out, size, "%.*s", (int)(text.n < size ? text.n : size - 1),
             text.n != 0 ? text.p : "");
}

/* What the store has of a reply's calls, once. */
static void read_notes(cf_bench *b, cf_uuid reply)
{
    cf_arena arena;
    cf_store_turn stored;
    cf_arena_init(&arena, 0);
    if (cf_store_get_turn(b->store, reply, &arena, &stored, NULL) == CF_OK) {
        for (size_t i = 0; i < stored.n_calls; i++) {
            const cf_store_call *c = &stored.calls[i];
            if (c->n < 0 || find_note(b, reply, (size_t)c->n) != NULL) {
                continue;
            }
            cf_call_note *note = make_note(b, reply, (size_t)c->n);
            if (note == NULL) {
                break;
            }
            text_into(note->state, sizeof note->state, c->state);
            note->is_mocked = c->is_mocked;
            note->duration_us = c->duration_us;
            note->exit_code = c->exit_code;
        }
    }
    cf_arena_deinit(&arena);
}

const cf_call_note *cf_bench_call_note(cf_bench *bench, cf_uuid reply, size_t n)
{
    const cf_call_note *known = find_note(bench, reply, n);
    if (known != NULL || bench->store == NULL) {
        return known;
    }
    read_notes(bench, reply);
    /* Where there is nothing to read, it need not be looked for again. */
    known = find_note(bench, reply, n);
    return known != NULL ? known : make_note(bench, reply, n);
}

void cf_bench_note_call(cf_bench *bench, const cf_call_note *note,
                        const cf_store_call *call, cf_str result)
{
    cf_call_note *kept = make_note(bench, note->reply, note->n);
    if (kept != NULL) {
        *kept = *note;
    }
    if (bench->store == NULL || !bench->conv_is_stored) {
        return;
    }
    cf_arena arena;
    cf_store_turn stored;
    cf_store_call c = *call;
    cf_arena_init(&arena, 0);
    if (cf_store_get_turn(bench->store, note->reply, &arena, &stored, NULL) ==
        CF_OK) {
        for (size_t i = 0; i < stored.n_calls; i++) {
            if (stored.calls[i].n == (int64_t)note->n) {
                c = stored.calls[i];
            }
        }
    }
    c.n = (int64_t)note->n;
    c.state = cf_str_from(note->state);
    c.is_mocked = note->is_mocked;
    c.duration_us = note->duration_us;
    c.exit_code = note->exit_code;
    c.started_ms = note->started_ms;
    c.result = result;
    cf_error ignored; /* told by the store's state */
    if (cf_store_put_call(bench->store, note->reply, &c, &ignored) != CF_OK) {
        cf_arena_deinit(&arena);
        return;
    }
    cf_arena_deinit(&arena);
}
