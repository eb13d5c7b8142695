/*
 * chat_find.c - text that is searched for: every place of the path where it is
 * said, in their order, and which of them the cursor is on.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/view/chat/chat.h"
#include "tui/widget/pager.h"

enum { MATCHES_MAX = 100000 };

void cf_chat__find_deinit(cf_chat_find *f)
{
    cf_free(f->v);
    *f = (cf_chat_find){0};
}

static bool add_match(cf_chat_find *f, size_t turn, size_t off)
{
    if (f->n >= MATCHES_MAX || !cf_grow(&f->v, &f->cap, f->n + 1, sizeof *f->v)) {
        return false;
    }
    f->v[f->n++] = (cf_chat_match){turn, off};
    return true;
}

/* Finds all of them; memory that runs out loses the last ones. */
static void find_all(cf_app *app, const char *what)
{
    cf_chat *s = cf_chat__state(app);
    cf_chat_find *f = &s->find;
    size_t n, len = strlen(what);
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    f->n = 0;
    f->generation = cf_lab_generation(app->lab);
    cf_utf8_copy(f->what, sizeof f->what, cf_str_from(what));
    for (size_t i = 0; i < n && len != 0; i++) {
        const cf_chat_text *t = cf_chat__text_of(s, path[i]);
        for (size_t at = 0; t != NULL && at < t->text.n;) {
            size_t found = cf_find_smart(cf_str_make(t->text.p + at, t->text.n - at), what);
            if (found == SIZE_MAX || !add_match(f, i, at + found)) {
                break;
            }
            at += found + len;
        }
    }
}

static void find_update(cf_app *app, const char *what)
{
    const cf_chat_find *f = &cf_chat__state(app)->find;
    if (strcmp(f->what, what) != 0 || f->generation != cf_lab_generation(app->lab)) {
        find_all(app, what);
    }
}

/* Puts the match into sight, a third of the way down. */
static void show(cf_app *app, size_t k)
{
    cf_chat *s = cf_chat__state(app);
    const cf_chat_match *m = &s->find.v[k];
    s->find.at = k;
    s->find.has_at = true;
    s->cursor = m->turn;
    s->is_on_first = false;
    s->follows = false;
    size_t line = cf_chat__line_of(app, m->turn, m->off);
    if (line < s->top || line >= s->top + s->height) {
        s->top = line > s->height / 3 ? line - s->height / 3 : 0;
    }
}

/* The first match at or after the place that is shown, else the first. */
static size_t nearest(const cf_chat *s)
{
    for (size_t k = 0; k < s->find.n; k++) {
        if (s->find.v[k].turn >= s->find.from) {
            return k;
        }
    }
    return 0;
}

void cf_chat__find_from(cf_app *app, size_t turn)
{
    cf_chat_find *f = &cf_chat__state(app)->find;
    char word[sizeof f->what];
    size_t n = strcspn(app->search, " *");
    cf_utf8_copy(word, sizeof word, cf_str_make(app->search, n));
    if (n != 0 && strpbrk(word, ":\"") == NULL) {
        cf_utf8_copy(app->search, sizeof app->search, cf_str_from(word));
        f->from = turn;
        f->has_at = false;
        f->is_due = true;
    }
}

void cf_chat__search(cf_app *app, const char *text, int direction)
{
    cf_chat *s = cf_chat__state(app);
    cf_chat_find *f = &s->find;
    bool had = f->has_at, was_due = f->is_due;
    f->is_typing = false;
    cf_chat__settle_cursor(app);
    find_update(app, text);
    if (f->n == 0) {
        f->has_at = f->is_due = false;
        if (was_due) {
            return; /* found by another form of the word */
        }
        cf_app_say(app, CF_STYLE_WARNING, "'%s' is not in this conversation", text);
        return;
    }
    if (direction == 0 || !had || f->at >= f->n) {
        f->from = had || f->is_due ? f->from : s->follows ? 0 : s->cursor;
        show(app, had && direction == 0 && f->at < f->n ? f->at : nearest(s));
        f->is_due = false;
        return;
    }
    show(app, direction > 0 ? (f->at + 1) % f->n : (f->at + f->n - 1) % f->n);
}

void cf_chat__typed(cf_app *app, const char *text)
{
    cf_chat *s = cf_chat__state(app);
    cf_chat_find *f = &s->find;
    if (!f->is_typing) { /* where it is left again goes back to here */
        cf_chat__settle_cursor(app);
        f->is_typing = true;
        f->from = s->follows ? 0 : s->cursor; /* at the end: from the top */
        f->cursor_before = s->cursor;
        f->top_before = s->top;
        f->follows_before = s->follows;
    }
    f->has_at = false;
    find_update(app, text);
    if (f->n != 0) {
        show(app, nearest(s));
    } else {
        s->cursor = f->cursor_before;
        s->top = f->top_before;
        s->follows = f->follows_before;
    }
    f->is_typing = text[0] != '\0';
}

const char *cf_chat__searched(cf_app *app)
{
    const cf_chat_find *f = &cf_chat__state(app)->find;
    return app->mode == CF_MODE_SEARCH ? f->what : app->search;
}

void cf_chat__find_text(cf_app *app, cf_buf *out)
{
    const cf_chat_find *f = &cf_chat__state(app)->find;
    if (f->has_at && f->n != 0 && f->generation == cf_lab_generation(app->lab)) {
        cf_buf_addf(out, "%zu of %zu", f->at + 1, f->n);
    } else if (app->mode == CF_MODE_SEARCH && f->what[0] != '\0') {
        cf_buf_adds(out, "not found");
    }
}
