/*
 * complete.c - the arguments that fit the word being written.
 */
#include "tui/app/complete.h"
#include "templates/model_place.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "core/api/constraint_spec.h"
#include "templates/builtin.h"
#include "tui/app/bind.h"
#include "tui/app/menu.h"
#include "tui/sys/paths.h"

/* The candidates that fit so far. */
typedef struct matches {
    const char *word; /* as far as it was written */
    size_t n;
    cf_buf shared; /* the beginning that all of them have */
    cf_buf list;   /* " a b c" */
    cf_buf each;   /* one after the other, each with its NUL */
    size_t n_found;
} matches;

static void offer(matches *m, const char *text)
{
    if (strncmp(text, m->word, m->n) != 0) {
        return;
    }
    if (m->n_found++ == 0) {
        cf_buf_adds(&m->shared, text);
    } else {
        const char *shared = cf_buf_cstr(&m->shared);
        size_t n = 0;
        while (n < m->shared.n && text[n] == shared[n]) {
            n++;
        }
        m->shared.n = n;
    }
    cf_buf_addf(&m->list, " %s", text);
    cf_buf_add(&m->each, text, strlen(text) + 1);
}

static void offer_settings(matches *m, cf_app *app)
{
    const cf_config *c = cf_app_config(app);
    const char *words[2];
    size_t n = strcspn(m->word, "=");
    if (m->word[n] == '=' && cf_config_words(m->word, n, words)) {
        for (int i = 0; i < 2; i++) {
            cf_buf text = CF_BUF_INIT;
            cf_buf_addf(&text, "%.*s=%s", (int)n, m->word, words[i]);
            offer(m, cf_buf_cstr(&text));
            cf_buf_deinit(&text);
        }
        return;
    }
    for (size_t i = 0; cf_config_name(c, i) != NULL; i++) {
        offer(m, cf_config_name(c, i));
    }
}

static void offer_templates(matches *m)
{
    offer(m, "model");
    for (size_t i = 0; cf_template_builtin_name(i) != NULL; i++) {
        offer(m, cf_template_builtin_name(i));
    }
}

/* The models of the stores on this machine. */
static void offer_models(matches *m)
{
    cf_model_places places = {0};
    cf_error err;
    offer(m, "bundled");
    cf_ignore(cf_model_places_list(&places, &err));
    for (size_t i = 0; i < places.n; i++) {
        offer(m, places.v[i].name);
    }
    cf_model_places_deinit(&places);
}

/* Files that begin so; folders with a slash after them.  They are offered as
 * they were written, "~/" included. */
static void offer_files(matches *m)
{
    cf_buf pattern = CF_BUF_INIT, path = CF_BUF_INIT;
    cf_paths_expand(&path, m->word);
    size_t n_home = path.n > m->n ? path.n - m->n + 1 : 0;
    for (size_t i = 0; i < path.n; i++) {
        if (strchr("*?[\\", path.p[i]) != NULL) {
            cf_buf_addc(&pattern, '\\');
        }
        cf_buf_addc(&pattern, path.p[i]);
    }
    cf_buf_addc(&pattern, '*');
    cf_buf_deinit(&path);
    glob_t found;
    if (!pattern.failed &&
        /* NOLINTNEXTLINE(concurrency-mt-unsafe) */
        glob(cf_buf_cstr(&pattern), GLOB_MARK, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            cf_buf text = CF_BUF_INIT;
            cf_buf_adds(&text, n_home != 0 ? "~" : "");
            cf_buf_adds(&text, found.gl_pathv[i] + n_home);
            offer(m, cf_buf_cstr(&text));
            cf_buf_deinit(&text);
        }
        globfree(&found);
    }
    cf_buf_deinit(&pattern);
}

static bool is(const char *line, size_t n, const char *word)
{
    return strlen(word) == n && strncmp(line, word, n) == 0;
}

/* A kind, then a file or a mode. */
static void offer_constraints(matches *m, const char *arg, size_t kind)
{
    if (arg[kind] == '\0') {
        for (size_t i = 0; cf_constraint_kind(i) != NULL; i++) {
            offer(m, cf_constraint_kind(i));
        }
        return;
    }
    m->word = arg + kind + strspn(arg + kind, " ");
    m->n = strlen(m->word);
    if (is(arg, kind, "schema") || is(arg, kind, "grammar")) {
        offer_files(m);
    } else if (is(arg, kind, "tools")) {
        offer(m, "calls");
        offer(m, "text-and");
        offer(m, "text-until");
    }
}

/* The arguments that the command at the start of the line takes; false when it
 * is not known here. */
static bool offer_arguments(matches *m, cf_app *app, const char *line, size_t n)
{
    const char *arg = line + n + strspn(line + n, " ");
    size_t word = strcspn(arg, " "), n_found;
    const cf_command *c = cf_command_find(cf_app_view(app), line, n, &n_found);
    m->word = arg;
    m->n = strlen(arg);
    if (is(line, n, "set")) {
        offer_settings(m, app);
    } else if (is(line, n, "template") || is(line, n, "with")) {
        offer_templates(m);
        if (m->n > 0) {
            offer_files(m);
        }
    } else if (is(line, n, "model")) {
        offer_models(m);
        if (m->n > 0 && strchr("/.~", m->word[0]) != NULL) {
            offer_files(m);
        }
    } else if (c != NULL && strlen(c->name) == n &&
               (strstr(c->args, "FILE") != NULL || strstr(c->args, "PLAN") != NULL)) {
        offer_files(m);
    } else if (is(line, n, "constrain")) {
        offer_constraints(m, arg, word);
    } else {
        return false;
    }
    return true;
}

/* A setting goes on with its value, a command with its argument. */
static const char *after(const char *line, size_t n, const cf_buf *word)
{
    if (line[n] == '\0') {
        return " ";
    }
    bool is_folder = word->n > 0 && word->p[word->n - 1] == '/';
    bool has_value = word->n > 0 && memchr(word->p, '=', word->n) != NULL;
    return is(line, n, "set") && !has_value ? "=" : is_folder ? "" : " ";
}

/* The next candidate takes the place of the word; `typed` is the line before
 * the first of them did. */
static void step(cf_app *app, const matches *m, const char *typed, int by)
{
    size_t n = m->n_found;
    if (n == 0) {
        return;
    }
    size_t row =
        app->menu.row == 0 ? (by > 0 ? 0 : n - 1) : app->menu.row - 1 + (by > 0 ? 1 : n - 1);
    const char *text = m->each.p;
    for (size_t i = 0; i < row % n; i++) {
        text += strlen(text) + 1;
    }
    cf_buf line = CF_BUF_INIT;
    cf_buf_add(&line, typed, (size_t)(m->word - typed));
    cf_buf_adds(&line, text);
    if (!line.failed) {
        cf_edit_set(&app->command_line, cf_buf_str(&line));
        snprintf(app->menu.word, sizeof app->menu.word, "%s", typed);
        app->menu.row = row % n + 1;
    }
    cf_buf_deinit(&line);
    cf_app_say(app, CF_STYLE_DIM, "%s", cf_buf_cstr(&m->list));
    app->mode = CF_MODE_COMMAND;
}

void cf_complete(cf_app *app, int by)
{
    char typed[sizeof app->menu.word];
    const char *line = cf_buf_cstr(&app->command_line.text);
    size_t n = strcspn(line, " ");
    if (line[n] == '\0') {
        cf_menu_step(app, by);
        return;
    }
    bool is_long = strlen(line) >= sizeof typed;
    snprintf(typed, sizeof typed, "%s", app->menu.row != 0 ? app->menu.word : line);
    n = strcspn(typed, " ");
    matches m = {.word = typed, .n = n};
    if (is_long || !offer_arguments(&m, app, typed, n) || m.each.failed) {
        m.n_found = 0;
    }
    bool is_stuck = m.n_found > 1 && m.shared.n == m.n;
    if (app->menu.row != 0 || (is_stuck && strcmp(app->menu.word, typed) == 0)) {
        step(app, &m, typed, by);
    } else if (is_stuck) { /* the next Tab chooses */
        snprintf(app->menu.word, sizeof app->menu.word, "%s", typed);
        cf_app_say(app, CF_STYLE_DIM, "%s", cf_buf_cstr(&m.list));
        app->mode = CF_MODE_COMMAND;
    } else if (m.n_found > 0 && !m.shared.failed) {
        const char *end = m.n_found == 1 ? after(typed, n, &m.shared) : "";
        cf_buf rest = CF_BUF_INIT;
        cf_buf_add(&rest, m.shared.p + m.n, m.shared.n - m.n);
        cf_buf_adds(&rest, end);
        cf_edit_insert(&app->command_line, cf_buf_str(&rest));
        cf_buf_deinit(&rest);
    }
    cf_buf_deinit(&m.shared);
    cf_buf_deinit(&m.list);
    cf_buf_deinit(&m.each);
}
