/*
 * lab_tools.c - tools of the conversation in the workbench: what is declared,
 * and what is remembered of each call.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/lab/state/lab_impl.h"

const cf_tool_set *cf_lab_tools(const cf_lab *lab)
{
    return cf_conversation_tools(lab->conv);
}

cf_tool_desk *cf_lab_desk(cf_lab *lab)
{
    return &lab->desk;
}

cf_status cf_lab_set_tools(cf_lab *lab, const json_t *tools, cf_error *err)
{
    CF_TRY(cf_lab_need_idle(lab, err));
    CF_TRY(cf_conversation_set_tools(lab->conv, tools, err));
    json_incref(cf_json_ref(tools));
    json_decref(lab->own_tools);
    lab->own_tools = cf_json_ref(tools);
    lab->engine.tools = tools;
    lab->prompt_is_fresh = false;
    lab->generation++;
    return CF_OK;
}

cf_status cf_lab_retry_calls(cf_lab *lab, cf_uuid reply, cf_error *err)
{
    size_t n_tools;
    cf_tool_set_items(cf_lab_tools(lab), &n_tools);
    if (!cf_lab_info(lab).can_mask || n_tools == 0 || lab->engine.family == CF_TOOLS_NONE) {
        return cf_lab_retry(lab, reply, err);
    }
    CF_TRY(cf_lab_need_idle(lab, err));
    cf_lab_rule *before = lab->rule;
    lab->rule = NULL;
    cf_status st = cf_lab_constrain(lab, "tools", err);
    if (st == CF_OK) {
        st = cf_lab_retry(lab, reply, err); /* holds the rule from here */
    }
    cf_lab__rule_drop(lab->rule);
    lab->rule = before;
    return st;
}

/* ---- what is remembered of a call --------------------------------------- */

static cf_call_note *find_note(const cf_lab *lab, cf_uuid reply, size_t n)
{
    for (size_t i = 0; i < lab->n_notes; i++) {
        if (lab->notes[i].n == n && cf_uuid_eq(lab->notes[i].reply, reply)) {
            return &lab->notes[i];
        }
    }
    return NULL;
}

static cf_call_note *make_note(cf_lab *lab, cf_uuid reply, size_t n)
{
    cf_call_note *known = find_note(lab, reply, n);
    if (known != NULL) {
        return known;
    }
    if (!cf_grow(&lab->notes, &lab->cap_notes, lab->n_notes + 1, sizeof *lab->notes)) {
        return NULL;
    }
    cf_call_note *note = &lab->notes[lab->n_notes++];
    *note = (cf_call_note){.reply = reply, .n = n};
    return note;
}

static void text_into(char *out, size_t size, cf_str text)
{
    snprintf(out, size, "%.*s", (int)(text.n < size ? text.n : size - 1),
             text.n != 0 ? text.p : "");
}

/* Reads what the store has of a reply's calls, once. */
static void read_notes(cf_lab *lab, cf_uuid reply)
{
    cf_arena arena;
    cf_store_turn stored;
    cf_arena_init(&arena, 0);
    if (cf_store_get_turn(lab->store, reply, &arena, &stored, NULL) == CF_OK) {
        for (size_t i = 0; i < stored.n_calls; i++) {
            const cf_store_call *c = &stored.calls[i];
            if (c->n < 0 || find_note(lab, reply, (size_t)c->n) != NULL) {
                continue;
            }
            cf_call_note *note = make_note(lab, reply, (size_t)c->n);
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

const cf_call_note *cf_lab_call_note(cf_lab *lab, cf_uuid reply, size_t n)
{
    const cf_call_note *known = find_note(lab, reply, n);
    if (known != NULL || lab->store == NULL) {
        return known;
    }
    read_notes(lab, reply);
    /* Where there is nothing to read, it need not be looked for again. */
    known = find_note(lab, reply, n);
    return known != NULL ? known : make_note(lab, reply, n);
}

void cf_lab_note_call(cf_lab *lab, const cf_call_note *note, const cf_store_call *call,
                      cf_str result)
{
    cf_call_note *kept = make_note(lab, note->reply, note->n);
    if (kept != NULL) {
        *kept = *note;
    }
    if (lab->store == NULL || !lab->conv_is_stored) {
        return;
    }
    cf_arena arena;
    cf_store_turn stored;
    cf_store_call c = *call;
    cf_error why;
    cf_arena_init(&arena, 0);
    cf_status st = cf_store_get_turn(lab->store, note->reply, &arena, &stored, &why);
    if (st == CF_OK) {
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
    if (st == CF_OK || st == CF_ENOTFOUND) {
        st = cf_store_put_call(lab->store, note->reply, &c, &why);
    } /* else it would take the place of what is stored of the call */
    cf_keep_note(lab->store, st, &why);
    cf_arena_deinit(&arena);
}
