/*
 * library_change.c - tags, titles and places of saved conversations.
 *
 * What is done to the one under the cursor is done at once, since undo takes it
 * back; what is done to all that are ticked is asked first.
 */
#include <stdarg.h>
#include <stdio.h>

#include "tui/app/command_file.h"
#include "tui/lab/state/lab_marks.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_undo.h"
#include "tui/view/kit/pane.h"
#include "tui/view/library/library.h"

/* The ticked conversations, or else the one under the cursor. */
static const cf_uuid *chosen(cf_app *app, cf_uuid *one, size_t *n)
{
    const cf_uuid *ticked = cf_lab_ticked(app->lab, n);
    if (*n != 0) {
        return ticked;
    }
    *n = 1;
    return cf_library__current(cf_library__state(app), one) ? one : NULL;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* The question in words; a pending one waits for "y". */
CF_PRINTF(3, 4)
static void ask(cf_app *app, cf_library_ask what, const char *fmt, ...)
{
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    cf_library__state(app)->asks = what;
    app->mode = CF_MODE_ASK;
    cf_app_say(app, CF_STYLE_WARNING, "%s  y: yes, any other key: no", text);
}

static void done(cf_app *app, cf_status st, const cf_error *err)
{
    if (st != CF_OK) {
        cf_app_error(app, err);
    } else {
        cf_lab_add_undo(app->lab, CF_LAB_UNDO_STORE, (cf_uuid){{0}});
        cf_library__reload(app);
    }
}

/* ---- places ------------------------------------------------------------- */

static const char *place_verb(cf_store_place place)
{
    return place == CF_PLACE_ARCHIVED ? "archive" : place == CF_PLACE_TRASH ? "delete" : "put back";
}

static void move_all(cf_app *app)
{
    static const char *const past[] = {"back in the list", "archived", "in the trash"};
    cf_library *s = cf_library__state(app);
    cf_error err;
    cf_uuid one;
    size_t n;
    const cf_uuid *id = chosen(app, &one, &n);
    if (id == NULL) {
        return;
    }
    cf_status st = cf_store_set_places(app->store, id, n, s->ask_place, &err);
    done(app, st, &err);
    if (st == CF_OK) {
        cf_app_say(app, CF_STYLE_OK, "%zu conversation%s %s; u undoes it", n, plural(n),
                   past[s->ask_place]);
        cf_lab_untick_all(app->lab); /* they are no longer listed */
    }
}

void cf_library__move(cf_app *app, int place)
{
    cf_library *s = cf_library__state(app);
    cf_uuid one;
    size_t n, n_ticked;
    if (app->store == NULL || chosen(app, &one, &n) == NULL) {
        return;
    }
    (void)cf_lab_ticked(app->lab, &n_ticked);
    s->ask_place = s->query.place == (cf_store_place)place ? CF_PLACE_LIVE : (cf_store_place)place;
    if (n_ticked != 0) {
        ask(app, CF_ASK_PLACE, "%s %zu conversation%s?", place_verb(s->ask_place), n, plural(n));
    } else {
        move_all(app);
    }
}

/* ---- tags and titles ---------------------------------------------------- */

static void tag_all(cf_app *app)
{
    cf_library *s = cf_library__state(app);
    bool is_on = s->ask_tag[0] != '-';
    cf_str tag = cf_str_from(s->ask_tag + (is_on ? 0 : 1));
    cf_error err;
    cf_uuid one;
    size_t n;
    const cf_uuid *id = chosen(app, &one, &n);
    if (id == NULL) {
        return;
    }
    cf_status st = cf_store_set_tags(app->store, id, n, tag, is_on, &err);
    done(app, st, &err);
    if (st == CF_OK) {
        cf_app_say(app, CF_STYLE_OK, "tag %s%s %zu conversation%s", tag.p,
                   is_on ? ": put on" : ": taken off", n, plural(n));
    }
}

void cf_library__tag(cf_app *app, const char *arg)
{
    cf_library *s = cf_library__state(app);
    size_t n;
    (void)cf_lab_ticked(app->lab, &n);
    if (arg[0] == '\0') {
        cf_library__line(app, "tag ");
        return;
    }
    snprintf(s->ask_tag, sizeof s->ask_tag, "%s", arg);
    if (n != 0) {
        ask(app, CF_ASK_TAG, "%s %zu conversation%s with '%.60s'?", arg[0] == '-' ? "untag" : "tag",
            n, plural(n), arg + (arg[0] == '-' ? 1 : 0));
    } else {
        tag_all(app);
    }
}

void cf_library__rename(cf_app *app, const char *arg)
{
    cf_uuid id;
    cf_error err;
    cf_library *s = cf_library__state(app);
    if (!cf_library__current(s, &id)) {
        return;
    }
    if (arg[0] == '\0') {
        cf_buf line = CF_BUF_INIT;
        cf_str title = cf_library__title(s);
        cf_buf_addf(&line, "rename %.*s", (int)title.n, title.p != NULL ? title.p : "");
        cf_library__line(app, cf_buf_cstr(&line));
        cf_buf_deinit(&line);
        return;
    }
    cf_status st = cf_store_set_title(app->store, id, cf_str_from(arg), &err);
    done(app, st, &err);
    if (st == CF_OK && !cf_library__go_to(app, id) && s->filter[0] != '\0') {
        cf_library__filter(app, "");
        (void)cf_library__go_to(app, id);
        cf_app_say(app, CF_STYLE_OK,
                   "renamed; the filter does not hold it any more, so all are "
                   "listed");
    }
}

void cf_library__export(cf_app *app, const char *arg)
{
    size_t n;
    (void)cf_lab_ticked(app->lab, &n);
    if (n != 0 && arg[0] == '\0') {
        ask(app, CF_ASK_EXPORT, "export %zu conversation%s?", n, plural(n));
    } else {
        cf_cmd_export(app, arg);
    }
}

/* ---- answers ------------------------------------------------------------ */

bool cf_library__key(cf_app *app, cf_key key)
{
    cf_library *s = cf_library__state(app);
    cf_library_ask what = s->asks;
    s->asks = CF_ASK_NOTHING;
    app->mode = CF_MODE_NORMAL;
    if (cf_answer_of(key) != CF_ANSWER_YES) {
        cf_app_say(app, CF_STYLE_DIM, "nothing was changed");
        return true;
    }
    switch (what) {
    case CF_ASK_PLACE:
        move_all(app);
        break;
    case CF_ASK_TAG:
        tag_all(app);
        break;
    case CF_ASK_EXPORT:
        cf_cmd_export(app, "");
        break;
    case CF_ASK_NOTHING:
        break;
    }
    return true;
}
