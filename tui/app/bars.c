/*
 * bars.c - first and last lines of the screen.
 */
#include "tui/app/bars.h"

#include <stdio.h>

#include <string.h>

#include "tui/app/bind.h"
#include "tui/grid/wrap.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_send.h"

static void draw_views(const cf_app *app, cf_grid *g)
{
    cf_grid_fill(g, (cf_rect){0, 0, g->w, 1}, ' ', CF_STYLE_BAR);
    int x = cf_grid_puts(g, 1, 0, g->w - 1, "confab", CF_STYLE_BAR | CF_BOLD);
    x += 3;
    cf_view_id top = cf_app_view(app);
    size_t w_all = top > CF_VIEW_TEMPLATES ? strlen(cf_views[top]->title) + 2 : 0;
    for (int v = 0; v <= CF_VIEW_TEMPLATES; v++) {
        w_all += strlen(cf_views[v]->title) + 4;
    }
    bool is_short = x + (int)w_all > g->w;
    for (int v = 0; v <= CF_VIEW_TEMPLATES; v++) {
        bool is_on = (int)cf_app_view(app) == v;
        /* Short forms keep the name of the shown view only. */
        char text[32];
        if (is_short && !is_on) {
            snprintf(text, sizeof text, " %d ", v + 1);
        } else {
            snprintf(text, sizeof text, "%c%d %s%c", is_on ? '[' : ' ', v + 1, cf_views[v]->title,
                     is_on ? ']' : ' ');
        }
        int w = cf_grid_puts(g, x, 0, g->w - x, text, is_on ? CF_STYLE_BAR_ON : CF_STYLE_BAR);
        cf_grid_spot(g, (cf_rect){x, 0, w, 1}, CF_SPOT_TAB, (size_t)v);
        x += w;
    }
    if (top > CF_VIEW_TEMPLATES) {
        cf_grid_putf(g, x, 0, g->w - x, CF_STYLE_BAR_ON, "[%s]", cf_views[top]->title);
    }
}

/* One "KEYS NAME" of the line of keys, in the cells before `end`; false when it
 * does not fit. */
static bool put_key_before(cf_grid *g, int *x, int end, const char *keys, const char *name)
{
    int y = g->h - 2;
    if (*x + (int)(strlen(keys) + 1 + strlen(name) + 2) > end) {
        return false;
    }
    *x += cf_grid_puts(g, *x, y, g->w - *x, keys, CF_STYLE_KEY);
    *x += 1 + cf_grid_puts(g, *x + 1, y, g->w - *x, name, CF_STYLE_DIM);
    *x += 2;
    return true;
}

static bool put_key(cf_grid *g, int *x, const char *keys, const char *name)
{
    return put_key_before(g, x, g->w, keys, name);
}

/* The keys of a text field while it has the focus. */
static void draw_writing_keys(const cf_app *app, cf_grid *g)
{
    static const char *const message[][2] = {
        {"<Enter>", "send"},  {"^J", "newline"}, {"^G", "editor"},       {"<Esc>", "leave"},
        {"^U", "erase line"}, {"^_", "undo"},    {"<Up>", "said before"}};
    /* Beside a reply that is being written, where Esc stops that. */
    static const char *const busy[][2] = {{"<Esc>", "stop"},
                                          {"<Tab>", "leave"},
                                          {"^G", "editor"},
                                          {"^U", "erase line"},
                                          {"^_", "undo"}};
    static const char *const line[][2] = {{"<Enter>", "run"},
                                          {"<Tab>", "choose"},
                                          {"<Up>", "line before"},
                                          {"<Esc>", "leave"},
                                          {"^U", "erase line"}};
    static const char *const question[][2] = {
        {"y", "yes"}, {"n", "no"}, {"a", "always"}, {"j k", "scroll"}};
    bool is_message = app->mode == CF_MODE_INSERT || app->mode == CF_MODE_PREFILL;
    bool is_search = app->mode == CF_MODE_SEARCH;
    int x = 1;
    if (is_message && cf_app_view(app) == CF_VIEW_CHAT && cf_app_is_busy(app)) {
        for (size_t i = 0; i < sizeof busy / sizeof busy[0]; i++) {
            (void)put_key(g, &x, busy[i][0], busy[i][1]);
        }
        return;
    }
    if (app->mode == CF_MODE_ASK) {
        /* Only a call can be approved for good. */
        size_t n = cf_app_view(app) == CF_VIEW_TOOLS ? sizeof question / sizeof question[0] : 2;
        for (size_t i = 0; i < n; i++) {
            (void)put_key(g, &x, question[i][0], question[i][1]);
        }
        return;
    }
    size_t n = is_message ? sizeof message / sizeof message[0] : sizeof line / sizeof line[0];
    for (size_t i = 0; i < n; i++) {
        const char *const *key = is_message ? message[i] : line[i];
        const char *name = key[1];
        if (is_message && i < 2 && !app->config.enter_sends) {
            static const char *const other[2][2] = {{"<Enter>", "newline"}, {"^S", "send"}};
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

/* The names on the line of keys: what stops work, then the view's own. */
static void hint_names(const cf_app *app, char names[256])
{
    snprintf(names, 256, "%s%s", cf_app_is_busy(app) ? "stop " : "",
             cf_views[cf_app_view(app)]->footer);
}

void cf_bars_command(const cf_app *app, size_t i, char name[64])
{
    char names[256];
    hint_names(app, names);
    char *rest = NULL;
    const char *word = strtok_r(names, " ", &rest);
    for (; word != NULL && i > 0; i--) {
        word = strtok_r(NULL, " ", &rest);
    }
    snprintf(name, 64, "%s", word != NULL ? word : "help");
}

/* The keys of a command of the view on top. */
static void describe(const cf_app *app, const char *name, cf_buf *keys)
{
    cf_view_id view = cf_app_view(app);
    cf_keymap_describe(&app->keymap, CF_IN(view), cf_command_named(view, name), keys);
}

/* "? help" at the right end, at every width; the cell where it begins. */
static int draw_help_key(const cf_app *app, cf_grid *g)
{
    cf_buf keys = CF_BUF_INIT;
    describe(app, "help", &keys);
    int x = g->w;
    if (keys.n != 0 && cf_app_view(app) != CF_VIEW_HELP) {
        x = g->w - (int)keys.n - 6;
        int at = x;
        put_key_before(g, &at, g->w + 1, cf_buf_cstr(&keys), "help");
        cf_grid_spot(g, (cf_rect){x, g->h - 2, g->w - x, 1}, CF_SPOT_HINT, SIZE_MAX);
    }
    cf_buf_deinit(&keys);
    return x;
}

/* "i write  r retry": the keys of the view's most useful commands. */
static void draw_keys(const cf_app *app, cf_grid *g)
{
    if (app->mode == CF_MODE_VISUAL) {
        draw_selecting_keys(g);
        return;
    }
    if (app->mode != CF_MODE_NORMAL) {
        draw_writing_keys(app, g);
        return;
    }
    char names[256];
    int x = 1, end = draw_help_key(app, g);
    hint_names(app, names);
    char *rest = NULL;
    size_t i = 0;
    for (char *name = strtok_r(names, " ", &rest); name != NULL;
         name = strtok_r(NULL, " ", &rest), i++) {
        cf_buf keys = CF_BUF_INIT;
        int from = x;
        describe(app, name, &keys);
        if (keys.n != 0 && put_key_before(g, &x, end, cf_buf_cstr(&keys), name)) {
            cf_grid_spot(g, (cf_rect){from, g->h - 2, x - from - 2, 1}, CF_SPOT_HINT, i);
        }
        cf_buf_deinit(&keys);
    }
}

/* What the program says, over the lines above the keys where it does not fit
 * on the last one: its end says what to do.  False: it does not fit. */
static bool notice_fits(const cf_app *app, int room)
{
    const char *text = app->notice.text;
    return strchr(text, '\n') == NULL && (int)cf_text_width(text, strlen(text)) <= room;
}

static void draw_long_notice(const cf_app *app, cf_grid *g)
{
    cf_wrapped lines = {0};
    cf_str text = cf_str_from(app->notice.text);
    if (cf_wrapped_update(&lines, text, g->w - 2, NULL) == CF_OK) {
        int n = (int)lines.n < g->h / 2 ? (int)lines.n : g->h / 2;
        for (int i = 0; i < n; i++) {
            int y = g->h - 2 - n + i;
            const cf_line *l = &lines.v[i];
            cf_grid_fill(g, (cf_rect){0, y, g->w, 1}, ' ', app->notice.style);
            cf_grid_put(g, 1, y, g->w - 2, cf_str_make(text.p + l->off, l->len), app->notice.style);
        }
    }
    cf_wrapped_deinit(&lines);
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
        if (app->notice.text[0] != '\0') {
            draw_long_notice(app, g); /* what would complete the line */
        }
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
    int x = 1 + cf_grid_puts(g, 1, y, g->w - 1, mode_name(app->mode), CF_STYLE_FOCUS);
    if (app->n_pending != 0) {
        cf_buf keys = CF_BUF_INIT;
        for (size_t i = 0; i < app->n_pending; i++) {
            cf_key_format(&keys, app->pending[i]);
        }
        x += 1 + cf_grid_puts(g, x + 1, y, g->w - x, cf_buf_cstr(&keys), CF_STYLE_KEY);
        cf_buf_deinit(&keys);
    }
    int room = g->w - x - 3;
    const char *task = app->lab != NULL ? cf_lab_task_name(app->lab) : NULL;
    const cf_reply *live = app->lab != NULL ? cf_lab_live(app->lab) : NULL;
    bool is_encoding = live != NULL && live->is_live && live->encoding[0] != '\0';
    bool is_long = !notice_fits(app, room);
    if (is_long) {
        draw_long_notice(app, g);
    }
    if (app->notice.text[0] != '\0' && !is_long) {
        cf_grid_puts(g, x + 2, y, room, app->notice.text, app->notice.style);
    } else if (task != NULL) {
        cf_buf far = CF_BUF_INIT;
        cf_lab_task_progress(app->lab, &far);
        cf_grid_putf(g, x + 2, y, room, CF_STYLE_NEW, "%s%s%s; Esc stops it", task,
                     far.n != 0 ? ", " : "", cf_buf_cstr(&far));
        cf_buf_deinit(&far);
    } else if (is_encoding) {
        cf_grid_putf(g, x + 2, y, room, CF_STYLE_NEW, "encoding %s; Esc stops it", live->encoding);
    } else if (right.n != 0) {
        int width = (int)cf_text_width(right.p, right.n);
        int at = width < room ? g->w - 1 - width : x + 2;
        cf_grid_put(g, at, y, g->w - at, cf_str_make(right.p, right.n), CF_STYLE_DIM);
    }
    cf_buf_deinit(&right);
}

void cf_bars_draw(cf_app *app, cf_grid *g)
{
    draw_views(app, g);
    draw_keys(app, g);
    draw_status(app, g);
}
