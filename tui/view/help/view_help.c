/*
 * view_help.c - the help sheet of the view below, made from the command
 * tables and the bindings in effect.
 *
 * A "/" line, or any letter that is not a key here, narrows the sheet to the
 * rows that hold all of its words.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "tui/app/app.h"
#include "tui/app/bind.h"
#include "tui/app/command_user.h"
#include "tui/view/kit/moves.h"
#include "tui/widget/pager.h"

enum { HELP_WIDTH = 76 }; /* cells of a line of help, beside its command */

typedef struct help_view {
    cf_pager pager;
    int width; /* of the screen that the sheet was made for */
    bool settings_only;
    char topic[128];  /* words of ":help TOPIC"; "" for the sheet */
    char filter[128]; /* words that rows must hold; "" for all rows */
    size_t n_rows, n_shown;
} help_view;

static help_view *state(cf_app *app)
{
    return app->state[CF_VIEW_HELP];
}

static cf_pager *pager(cf_app *app)
{
    return &state(app)->pager;
}

static void help_close(cf_app *app)
{
    cf_pager_deinit(pager(app));
}

/* Cells of the column of keys. */
static int keys_width(int width)
{
    return width < 100 ? 14 : 20;
}

/* Whether the text holds every word of the filter. */
static bool holds_words(const char *filter, cf_str text)
{
    char words[sizeof((help_view *)NULL)->filter];
    char *rest = NULL;
    snprintf(words, sizeof words, "%s", filter);
    for (const char *word = strtok_r(words, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        if (cf_find_smart(text, word) == SIZE_MAX) {
            return false;
        }
    }
    return true;
}

/* Counts a row, and says whether the filter lets it through. */
static bool passes(help_view *s, const char *keys, const char *command, const char *help)
{
    cf_buf all = CF_BUF_INIT;
    cf_buf_addf(&all, "%s :%s %s", keys, command, help);
    bool is_shown = holds_words(s->filter, cf_buf_str(&all));
    cf_buf_deinit(&all);
    s->n_rows++;
    s->n_shown += is_shown;
    return is_shown;
}

/* "  KEYS  :NAME ARGS  help", the help wrapped in its own column. */
static void add_row(cf_buf *out, int width, const char *keys, const char *command, const char *help)
{
    size_t start = out->n;
    cf_wrapped lines = {0};
    cf_buf_addf(out, "  %-*s ", keys_width(width), keys);
    cf_buf_addf(out, ":%-*s ", width < 100 ? 18 : 24, command);
    int column = (int)(out->n - start);
    int room = width - column - 3;
    room = room < HELP_WIDTH ? room : HELP_WIDTH;
    if (room < 12 || cf_wrapped_update(&lines, cf_str_from(help), room, NULL) != CF_OK) {
        cf_buf_addf(out, "%s\n", help);
        cf_wrapped_deinit(&lines);
        return;
    }
    for (size_t i = 0; i < lines.n; i++) {
        cf_buf_addf(out, "%*s%.*s\n", i == 0 ? 0 : column, "", (int)lines.v[i].len,
                    help + lines.v[i].off);
    }
    cf_wrapped_deinit(&lines);
}

/* Appends the keys that mean the command, as far as there is room next to the
 * first. */
static void add_keys(cf_buf *out, const cf_app *app, cf_view_id view, const cf_command *c)
{
    for (size_t i = 0; i < app->keymap.n; i++) {
        const cf_binding *b = &app->keymap.v[i];
        if (!cf_keymap_reaches(&app->keymap, CF_IN(view), b, c)) {
            continue;
        }
        cf_buf key = CF_BUF_INIT;
        cf_binding_keys(b, &key);
        if (out->n == 0 || out->n + 1 + key.n <= (size_t)keys_width(app->grid.w)) {
            cf_buf_addf(out, "%s%s", out->n != 0 ? " " : "", cf_buf_cstr(&key));
        }
        cf_buf_deinit(&key);
    }
}

static void add_table(cf_app *app, cf_buf *out, cf_view_id view, const cf_command *table)
{
    help_view *s = state(app);
    for (const cf_command *c = table; c != NULL && c->name != NULL; c++) {
        if (!(c->views & CF_IN(view))) {
            continue;
        }
        cf_buf keys = CF_BUF_INIT, command = CF_BUF_INIT;
        add_keys(&keys, app, view, c);
        cf_buf_addf(&command, "%s%s%s", c->name, c->args[0] != '\0' ? " " : "", c->args);
        if (passes(s, cf_buf_cstr(&keys), cf_buf_cstr(&command), c->help)) {
            add_row(out, app->grid.w, cf_buf_cstr(&keys), cf_buf_cstr(&command), c->help);
        }
        cf_buf_deinit(&keys);
        cf_buf_deinit(&command);
    }
}

/* The lines of `text` that the filter lets through. */
static void add_lines(help_view *s, cf_buf *out, const cf_buf *text)
{
    for (size_t at = 0; at < text->n;) {
        const char *nl = memchr(text->p + at, '\n', text->n - at);
        size_t end = nl != NULL ? (size_t)(nl - text->p) : text->n;
        cf_str line = cf_str_make(text->p + at, end - at);
        bool is_row = line.n != 0 && line.p[0] != '#';
        bool is_shown = !is_row ? s->filter[0] == '\0' : holds_words(s->filter, line);
        if (is_shown) {
            cf_buf_add(out, line.p, line.n);
            cf_buf_addc(out, '\n');
        }
        s->n_rows += is_row;
        s->n_shown += is_row && is_shown;
        at = end + 1;
    }
}

static void add_settings(cf_app *app, cf_buf *out)
{
    cf_buf text = CF_BUF_INIT;
    cf_buf_adds(out, "# Settings (:set NAME=VALUE, or confabrc)\n");
    cf_config_list(cf_app_config(app), &text);
    add_lines(state(app), out, &text);
    cf_buf_deinit(&text);
}

/* What the words of the topic find, for any view. */
static void add_topic(cf_app *app, cf_buf *out)
{
    enum { ROWS_MAX = 20 };
    cf_word_index index;
    cf_error err;
    size_t before = out->n;
    cf_word_index_init(&index);
    cf_find_rows(&index, &app->keymap, cf_app_config(app));
    cf_buf_addf(out, "# %s\n", state(app)->topic);
    if (cf_word_index_write(&index, state(app)->topic, ROWS_MAX, out, &err) != CF_OK) {
        cf_app_error(app, &err);
    }
    if (out->n == before + strlen(state(app)->topic) + 3) {
        cf_buf_adds(out, "Nothing has these words.\n");
    }
    cf_buf_adds(out, "\nThe command line, too: confab help --search; the manual: man confab\n");
    cf_word_index_deinit(&index);
}

/* The sheet for the width of the screen. */
static void make_sheet(cf_app *app)
{
    help_view *s = state(app);
    cf_view_id below = app->n_stack > 1 ? app->stack[app->n_stack - 2] : CF_VIEW_CHAT;
    cf_buf out = CF_BUF_INIT, user = CF_BUF_INIT;
    s->n_rows = s->n_shown = 0;
    if (s->topic[0] != '\0') {
        add_topic(app, &out);
    } else if (!s->settings_only) {
        cf_buf_addf(&out, "# %s\n", cf_views[below]->title);
        add_table(app, &out, below, cf_views[below]->commands);
        cf_buf_adds(&out, "\n# Everywhere\n");
        add_table(app, &out, below, cf_global_commands);
        cf_user_command_help(app, below, &user);
        add_lines(s, &out, &user);
        cf_buf_addc(&out, '\n');
    }
    if (s->topic[0] == '\0') {
        add_settings(app, &out);
    }
    if (s->topic[0] == '\0' && s->n_shown == 0) {
        cf_buf_adds(&out,
                    "Nothing has these words; Esc shows all, :help TOPIC looks in all views\n");
    }
    cf_pager_set(pager(app), cf_buf_str(&out));
    snprintf(pager(app)->match, sizeof pager(app)->match, "%s", s->filter);
    cf_buf_deinit(&user);
    cf_buf_deinit(&out);
    s->width = app->grid.w;
}

static void help_enter(cf_app *app)
{
    state(app)->topic[0] = '\0';
    state(app)->settings_only = false;
    state(app)->filter[0] = '\0';
    make_sheet(app);
}

static void help_show(cf_app *app, const cf_target *target)
{
    cf_app_open_view(app, CF_VIEW_HELP);
    state(app)->settings_only = target->kind == CF_TARGET_SETTINGS;
    if (target->kind == CF_TARGET_TOPIC) {
        cf_utf8_copy(state(app)->topic, sizeof state(app)->topic, target->text);
    }
    make_sheet(app);
}

static void help_typed(cf_app *app, const char *text)
{
    state(app)->topic[0] = '\0'; /* letters narrow the sheet of the view */
    snprintf(state(app)->filter, sizeof state(app)->filter, "%s", text);
    make_sheet(app);
}

static void help_status(cf_app *app, cf_buf *out)
{
    const help_view *s = state(app);
    if (s->filter[0] != '\0') {
        cf_buf_addf(out, "/%s  %zu of %zu  Esc shows all", s->filter, s->n_shown, s->n_rows);
    } else {
        cf_buf_adds(out, "letters, or /, narrow the list");
    }
}

/* Esc shows all rows again, then leaves. */
static void cmd_all(cf_app *app)
{
    if (state(app)->filter[0] == '\0' && state(app)->topic[0] == '\0') {
        cf_app_back(app);
        return;
    }
    help_typed(app, "");
}

static void help_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    if (state(app)->width != app->grid.w) {
        make_sheet(app);
    }
    cf_pager_draw(pager(app), g, (cf_rect){r.x + 1, r.y, r.w - 2, r.h});
}

static void help_search(cf_app *app, const char *text, int direction)
{
    if (direction == 0) {
        help_typed(app, text);
    } else {
        (void)cf_pager_search(pager(app), text, direction);
    }
    if (state(app)->n_shown == 0) {
        cf_app_say(app, CF_STYLE_WARNING, "'%s' is not here; Esc shows all", text);
    }
}

static void help_move(cf_app *app, int move)
{
    cf_pager_move(pager(app), (cf_move)move);
}

static const cf_command help_commands[] = {
    {"all", CF_IN(CF_VIEW_HELP), "<Esc>", "", "show all rows again, or leave", CF_RUN(cmd_all)},
    CF_READ_ROWS(help_move, CF_IN(CF_VIEW_HELP)),
    CF_MOVE_ROWS(help_move, CF_IN(CF_VIEW_HELP)),
    {0},
};

const cf_view_ops cf_view_help = {
    .name = "help",
    .title = "Help",
    .commands = help_commands,
    .footer = "page search back",
    .state_size = sizeof(help_view),
    .close = help_close,
    .enter = help_enter,
    .draw = help_draw,
    .search = help_search,
    .typed = help_typed,
    .letters_search = true,
    .show = help_show,
    .status = help_status,
};
