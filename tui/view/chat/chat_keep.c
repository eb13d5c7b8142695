/*
 * chat_keep.c - what the history keeps of a conversation besides its turns:
 * ratings and notes, and the text in the composer that was not sent yet.
 *
 * Unsent text is handed to the history at every change, so that neither leaving
 * nor a crash loses it; long ones, and while a reply comes in, at most once a
 * second.
 */
#include "core/base/os.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/reply/keep_reply.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/view/chat/chat.h"

enum { LONG_DRAFT = 8192, LONG_US = 1000000 };

void cf_chat__keep_deinit(cf_chat *s)
{
    cf_arena_deinit(&s->marks.arena);
}

/* ---- ratings and notes -------------------------------------------------- */

void cf_chat__marks_stale(cf_app *app)
{
    cf_chat__state(app)->marks.is_valid = false;
    cf_chat__state(app)->layout.is_valid = false;
}

const cf_store_turn_mark *cf_chat__mark_of(cf_app *app, cf_uuid turn)
{
    cf_chat_marks *m = &cf_chat__state(app)->marks;
    cf_uuid conv = cf_lab_conv_id(app->lab);
    if (app->store == NULL) {
        return NULL;
    }
    if (!m->is_valid || !cf_uuid_eq(conv, m->conv)) {
        cf_arena_reset(&m->arena);
        m->v = NULL;
        m->n = 0;
        m->conv = conv;
        m->is_valid = true;
        cf_error err;
        if (cf_store_turn_marks(app->store, conv, &m->arena, &m->v, &m->n, &err) != CF_OK) {
            m->v = NULL;
            m->n = 0;
            cf_app_say(app, CF_STYLE_ERROR, "marks and notes are not shown: %s", err.text);
        }
    }
    for (size_t i = 0; i < m->n; i++) {
        if (cf_uuid_eq(m->v[i].turn, turn)) {
            return &m->v[i];
        }
    }
    return NULL;
}

/* ---- unsent text --------------------------------------------------------- */

static uint64_t hash_of(cf_str text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < text.n; i++) {
        hash = (hash ^ (unsigned char)text.p[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static void note_kept(cf_chat_unsent *d, cf_str text)
{
    d->n = text.n;
    d->hash = hash_of(text);
    d->at_us = cf_os_monotonic_us();
}

/* False where it is lost; the store counts it. */
static bool put_draft(cf_app *app, cf_uuid conv, cf_str text)
{
    cf_error why;
    cf_status st = cf_store_put_unsent(app->store, conv, text, &why);
    cf_keep_note(app->store, st, &why);
    return st == CF_OK || st == CF_EBUSY;
}

/* The text of a conversation that is new here, or that is opened again. */
static void bring_back(cf_app *app, cf_uuid conv)
{
    cf_chat *s = cf_chat__state(app);
    cf_arena arena;
    cf_str text = {"", 0};
    cf_uuid lost;
    size_t n_path;
    cf_arena_init(&arena, 0);
    cf_lab_path(app->lab, &n_path);
    bool has = cf_store_get_unsent(app->store, conv, &arena, &text, NULL) == CF_OK;
    if (!has && n_path == 0 && !s->unsent.has_looked) {
        s->unsent.has_looked = true;
        has = cf_store_lost_unsent(app->store, &arena, &lost, &text, NULL) == CF_OK;
        /* The lost one goes once its text is kept here. */
        if (has && put_draft(app, conv, text)) {
            (void)put_draft(app, lost, cf_str_make("", 0));
        }
    }
    bool had = s->composer.text.n != 0;
    if (has || had) {
        cf_edit_set(&s->composer, has ? text : cf_str_make("", 0));
        cf_lab_set_unsent(app->lab, cf_edit_text(&s->composer));
        app->is_dirty = true;
    }
    if (has) {
        cf_app_say(app, CF_STYLE_DIM, "the unsent text of this conversation is restored");
    }
    note_kept(&s->unsent, cf_edit_text(&s->composer));
    cf_arena_deinit(&arena);
}

void cf_chat__keep_draft(cf_app *app, bool is_last)
{
    cf_chat *s = cf_chat__state(app);
    cf_chat_unsent *d = &s->unsent;
    cf_str text = cf_edit_text(&s->composer);
    cf_uuid conv = app->lab != NULL ? cf_lab_conv_id(app->lab) : (cf_uuid){{0}};
    if (app->store == NULL || app->lab == NULL) {
        return;
    }
    bool is_other = !cf_uuid_eq(conv, d->conv);
    bool has_changed = text.n != d->n || hash_of(text) != d->hash;
    /* The writer has enough to do while a reply comes in. */
    bool is_calm = text.n < LONG_DRAFT && !cf_lab_is_busy(app->lab);
    bool is_due = is_last || is_other || is_calm || cf_os_monotonic_us() - d->at_us > LONG_US;
    if (has_changed && is_due && !cf_uuid_is_nil(d->conv)) {
        (void)put_draft(app, d->conv, text);
        note_kept(d, text);
    }
    if (is_other) {
        d->conv = conv;
        bring_back(app, conv);
    }
}
