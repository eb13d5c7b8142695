/*
 * bars.c - first and last lines of the screen.
 */
#include "tui/app/bars.h"

#include <stdio.h>

#include <string.h>

#include "tui/lab/lab_task.h"

static void draw_views(const cf_app *app, cf_grid *g)
{
    cf_grid_fill(g, (cf_rect){0, 0, g->w, 1}, ' ', CF_STYLE_BAR);
    int x = cf_grid_puts(g, 1, 0, g->w - 1, "confab", CF_STYLE_BAR | CF_BOLD);
    x += 3;
    bool is_short = g->w < 100;
    for (int v = 0; v <= CF_VIEW_TEMPLATES; v++) {
        if (cf_views[v] == NULL) {
            continue;
        }
        bool is_on = (int)cf_app_view(app) == v;
        /* Short forms keep the name of the shown view only. */
        char text[32];
        if (is_short && !is_on) {
            snprintf(text, sizeof text, " %d ", v + 1);
        } else {
            snprintf(text, sizeof text, "%c%d %s%c", is_on ? '[' : ' ', v + 1,
                     cf_views[v]->title, is_on ? ']' : ' ');
        }
        x += cf_grid_puts(g, x, 0, g->w - x, text,
                          is_on ? CF_STYLE_BAR_ON : CF_STYLE_BAR);
    }
    cf_view_id top = cf_app_view(app);
    if (top > CF_VIEW_TEMPLATES) {
        cf_grid_putf(g, x, 0, g->w - x, CF_STYLE_BAR_ON, "[%s]",
                     cf_views[top]->title);
    }
}

/* One "KEYS NAME" of the line of keys; false when it does not fit. */
static bool put_key(cf_grid *g, int *x, const char *keys, const char *name)
{
    int y = g->h - 2;
    if (*x + (int)(strlen(keys) + 1 + strlen(name) + 2) > g->w) {
        return false;
    }
    *x += cf_grid_puts(g, *x, y, g->w - *x, keys, CF_STYLE_KEY);
    *x += 1 + cf_grid_puts(g, *x + 1, y, g->w - *x, name, CF_STYLE_DIM);
    *x += 2;
    return true;
}

/* The keys of a text field while it has the focus. */
static void draw_writing_keys(const cf_app *app, cf_grid *g)
{
    static const char *const message[][2] = {
        {"<Enter>", "send"},    {"^J", "newline"},    {"^G", "editor"},
        {"<Esc>", "leave"},     {"^U", "erase line"}, {"^_", "undo"},
        {"<Up>", "said before"}};
    /* Beside a reply that is being written, where Esc stops that. */
    static const char *const busy[][2] = {{"<Esc>", "stop"},
                                          {"<Tab>", "leave"},
                                          {"^G", "editor"},
                                          {"^U", "erase line"},
                                          {"^_", "undo"}};
    static const char *const line[][2] = {{"<Enter>", "run"},
                                          {"<Tab>", "complete"},
                                          {"<Up>", "line before"},
                                          {"<Esc>", "leave"},
                                          {"^U", "erase line"}};
    static const char *const question[][2] = {
        {"y", "yes"}, {"a", "always"}, {"n", "no"}, {"j k", "scroll"}};
    bool is_message =
        app->mode == CF_MODE_INSERT || app->mode == CF_MODE_PREFILL;
    bool is_search = app->mode == CF_MODE_SEARCH;
    int x = 1;
    if (is_message && cf_app_view(app) == CF_VIEW_CHAT && cf_app_is_busy(app)) {
        for (size_t i = 0; i < sizeof busy / sizeof busy[0]; i++) {
            (void)put_key(g, &x, busy[i][0], busy[i][1]);
        }
        return;
    }
    if (app->mode == CF_MODE_ASK) {
        for (size_t i = 0; i < sizeof question / sizeof question[0]; i++) {
            (void)put_key(g, &x, question[i][0], question[i][1]);
        }
        return;
    }
    size_t n = is_message ? sizeof message / sizeof message[0]
                          : sizeof line / sizeof line[0];
    for (size_t i = 0; i < n; i++) {
        const char *const *key = is_message ? message[i] : line[i];
        const char *name = key[1];
        if (is_message && i < 2 && !app->config.enter_sends) {
            static const char *const other[2][2] = {{"<Enter>", "newline"},
                                                    {"^S", "send"}};
            key = other[i];
            name = key[1];
        }
        if (is_search && i == 1) {
            continue; /* nothing to complete */
        }
        if (!put_key(g, &x, key[0], is_search && i == 0 ? "find" : name)) {
            return;
        }
    }
}

static void draw_selecting_keys(cf_grid *g)
{
    static const char *const keys[][2] = {{"j k", "further, back"},
                                          {"g G", "to the ends"},
                                          {"y", "copy"},
                                          {":w FILE", "write"},
                                          {"<Esc>", "leave"}};
    int x = 1;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        put_key(g, &x, keys[i][0], keys[i][1]);
    }
}

/* "i write  r retry": the keys of the view's most useful commands. */
static void draw_keys(const cf_app *app, cf_grid *g)
{
    const cf_view_ops *view = cf_views[cf_app_view(app)];
    int x = 1;
    if (app->mode == CF_MODE_COMMAND && app->notice.text[0] != '\0') {
        cf_grid_puts(g, 0, g->h - 2, g->w, app->notice.text, app->notice.style);
        return; /* what would complete the line */
    }
    if (app->mode == CF_MODE_VISUAL) {
        draw_selecting_keys(g);
        return;
    }
    if (app->mode != CF_MODE_NORMAL) {
        draw_writing_keys(app, g);
        return;
    }
    char names[256];
    snprintf(names, sizeof names, "%s%s", cf_app_is_busy(app) ? "stop " : "",
             view->footer);
    char *rest = NULL;
    for (char *name = strtok_r(names, " ", &rest); name != NULL;
         name = strtok_r(NULL, " ", &rest)) {
        cf_buf keys = CF_BUF_INIT;
        cf_keymap_describe(&app->keymap, CF_IN(cf_app_view(app)), name, &keys);
        if (keys.n != 0) {
            put_key(g, &x, cf_buf_cstr(&keys), name);
        }
        cf_buf_deinit(&keys);
    }
}

static const char *mode_name(cf_mode mode)
{
    switch (mode) {
    case CF_MODE_INSERT:
        return "INSERT";
    case CF_MODE_PREFILL:
        return "PREFILL";
    case CF_MODE_VISUAL:
        return "VISUAL";
    case CF_MODE_COMMAND:
        return "COMMAND";
    case CF_MODE_SEARCH:
        return "SEARCH";
    case CF_MODE_ASK:
        return "ASK";
    case CF_MODE_NORMAL:
        break;
    }
    return "NORMAL";
}

static void draw_line(cf_grid *g, cf_edit *line, const char *mark)
{
    int y = g->h - 1;
    cf_grid_puts(g, 0, y, 1, mark, CF_STYLE_KEY);
    cf_edit_draw(line, g, (cf_rect){1, y, g->w - 1, 1}, true);
}

static void draw_status(cf_app *app, cf_grid *g)
{
    int y = g->h - 1;
    if (app->mode == CF_MODE_COMMAND) {
        draw_line(g, &app->command_line, ":");
        return;
    }
    if (app->mode == CF_MODE_SEARCH) {
        draw_line(g, &app->search_line, "/");
        return;
    }
    cf_buf right = CF_BUF_INIT;
    if (cf_views[cf_app_view(app)]->status != NULL) {
        cf_views[cf_app_view(app)]->status(app, &right);
    }
    int x = 1 + cf_grid_puts(g, 1, y, g->w - 1, mode_name(app->mode),
                             CF_STYLE_FOCUS);
    if (app->n_pending != 0) {
        cf_buf keys = CF_BUF_INIT;
        for (size_t i = 0; i < app->n_pending; i++) {
            cf_key_format(&keys, app->pending[i]);
        }
        x += 1 + cf_grid_puts(g, x + 1, y, g->w - x, cf_buf_cstr(&keys),
                              CF_STYLE_KEY);
        cf_buf_deinit(&keys);
    }
    int room = g->w - x - 3;
    const char *task = app->lab != NULL ? cf_lab_task_name(app->lab) : NULL;
    if (app->notice.text[0] != '\0') {
        cf_grid_puts(g, x + 2, y, room, app->notice.text, app->notice.style);
    } else if (task != NULL) {
        cf_buf far = CF_BUF_INIT;
        cf_lab_task_progress(app->lab, &far);
        cf_grid_putf(g, x + 2, y, room, CF_STYLE_NEW, "%s%s%s; Esc stops it",
                     task, far.n != 0 ? ", " : "", cf_buf_cstr(&far));
        cf_buf_deinit(&far);
    } else if (right.n != 0) {
        int width = (int)cf_text_width(right.p, right.n);
        int at = width < room ? g->w - 1 - width : x + 2;
        cf_grid_put(g, at, y, g->w - at, cf_str_make(right.p, right.n),
                    CF_STYLE_DIM);
    }
    cf_buf_deinit(&right);
}

void cf_bars_draw(cf_app *app, cf_grid *g)
{
    draw_views(app, g);
    draw_keys(app, g);
    draw_status(app, g);
}
