/*
 * lab_tools.c - tools of the conversation in the workbench: what is declared,
 * and what is remembered of each call.
 */
#include "tui/lab/tools/lab_tools.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/lab/reply/keep_reply.h"
#include "tui/lab/state/lab_impl.h"

struct cf_lab_tool_notes {
    cf_tool_desk desk;
    uint64_t n_opened;   /* the conversation that the notes are of */
    cf_call_note *notes; /* [n_notes] */
    size_t n_notes, cap_notes;
};

cf_status cf_lab_tools_open(cf_lab *lab, cf_error *err)
{
    lab->tools = cf_calloc(1, sizeof *lab->tools);
    if (lab->tools == NULL) {
        return cf_oom(err);
    }
    cf_status st = cf_tool_desk_init(&lab->tools->desk, err);
    if (st != CF_OK) {
        cf_free(lab->tools);
        lab->tools = NULL;
    }
    return st;
}

void cf_lab_tools_close(cf_lab *lab)
{
    if (lab->tools != NULL) {
        cf_tool_desk_deinit(&lab->tools->desk);
        cf_free(lab->tools->notes);
        cf_free(lab->tools);
    }
}

cf_tool_desk *cf_lab_desk(cf_lab *lab)
{
    return &lab->tools->desk;
}

/* ---- what is remembered of a call --------------------------------------- */

/* The notes of the conversation at hand. */
static struct cf_lab_tool_notes *notes_of(cf_lab *lab)
{
    if (lab->tools->n_opened != cf_lab_n_opened(lab)) {
        lab->tools->n_opened = cf_lab_n_opened(lab);
        lab->tools->n_notes = 0;
    }
    return lab->tools;
}

static cf_call_note *find_note(cf_lab *lab, cf_uuid reply, size_t n)
{
    struct cf_lab_tool_notes *t = notes_of(lab);
    for (size_t i = 0; i < t->n_notes; i++) {
        if (t->notes[i].n == n && cf_uuid_eq(t->notes[i].reply, reply)) {
            return &t->notes[i];
        }
    }
    return NULL;
}

static cf_call_note *make_note(cf_lab *lab, cf_uuid reply, size_t n)
{
    struct cf_lab_tool_notes *t = lab->tools;
    cf_call_note *known = find_note(lab, reply, n);
    if (known != NULL) {
        return known;
    }
    if (!cf_grow(&t->notes, &t->cap_notes, t->n_notes + 1, sizeof *t->notes)) {
        return NULL;
    }
    cf_call_note *note = &t->notes[t->n_notes++];
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
    if (!cf_lab_is_stored(lab)) {
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
