/*
 * menu.c - commands found by a few letters.
 *
 * While Tab steps through the rows the line shows the chosen name, and
 * app->menu.word keeps what was typed: the rows stay those that fit it.
 */
#include "tui/app/menu.h"

#include <stdio.h>
#include <string.h>

#include "core/base/edit_distance.h"
#include "tui/app/bind.h"
#include "tui/grid/wrap.h"
#include "tui/widget/note.h"

enum { ROWS = 10, NAME_W = 28 };

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

static bool has_text(const char *text, const char *word, size_t n)
{
    for (; n > 0 && *text != '\0'; text++) {
        size_t i = 0;
        while (i < n && lower(text[i]) == lower(word[i])) {
            i++;
        }
        if (i == n) {
            return true;
        }
    }
    return false;
}

static bool has_letters(const char *text, const char *word, size_t n)
{
    size_t i = 0;
    for (; i < n && *text != '\0'; text++) {
        i += lower(*text) == lower(word[i]);
    }
    return i == n;
}

/* How well a command fits: 0 is best, -1 is not at all. */
static int rank(const cf_command *c, const char *word, size_t n)
{
    if (strncmp(c->name, word, n) == 0) {
        return 0;
    }
    return has_text(c->name, word, n)             ? 1
           : has_letters(c->name, word, n)        ? 2
           : n >= 3 && has_text(c->help, word, n) ? 3
                                                  : -1;
}

/* Puts a command after those of its rank; of names that fit alike the shorter
 * one is nearer to the word. */
static void put_in(cf_menu *menu, size_t from, const cf_command *c, bool by_length)
{
    size_t at = menu->n;
    if (at == CF_MENU_MAX) {
        return;
    }
    while (by_length && at > from && strlen(menu->v[at - 1]->name) > strlen(c->name)) {
        menu->v[at] = menu->v[at - 1];
        at--;
    }
    menu->v[at] = c;
    menu->n++;
}

/* Fills the menu with the commands of the view that `word` fits: names that
 * begin with it, then names that hold it, then names that hold its letters in
 * this order, then help texts that hold it. */
static void find_commands(cf_menu *menu, const cf_app *app, const char *word, size_t n)
{
    const cf_command *tables[2] = {cf_views[cf_app_view(app)]->commands, cf_global_commands};
    menu->n = 0;
    for (int want = 0; want <= 3; want++) {
        size_t from = menu->n;
        for (int t = 0; t < 2; t++) {
            for (const cf_command *c = tables[t]; c != NULL && c->name != NULL; c++) {
                if ((c->views & CF_IN(cf_app_view(app))) && rank(c, word, n) == want) {
                    put_in(menu, from, c, n > 0);
                }
            }
        }
    }
}

/* The word that the rows fit; *has_args: a command is written already. */
static const char *menu_word(const cf_app *app, size_t *n, bool *has_args)
{
    cf_str line = cf_edit_text(&app->command_line);
    const char *word = line.n != 0 ? line.p : "";
    *n = strcspn(word, " ");
    *has_args = word[*n] != '\0';
    if (app->menu.row != 0 && !*has_args) {
        *n = strlen(app->menu.word);
        return app->menu.word;
    }
    return word;
}

static int name_width(cf_rect r)
{
    return r.w < 80 ? NAME_W - 8 : NAME_W;
}

/* Lines below the rows for the help of the chosen one, or of the only one, where
 * its row cuts that off. */
static int help_lines(const cf_command *c, bool is_chosen, cf_rect row)
{
    int room = row.w - name_width(row) - 11;
    return is_chosen && (int)cf_text_width(c->help, strlen(c->help)) > room
               ? cf_note_puts(NULL, (cf_rect){0, 0, row.w - 2, 3}, c->help, CF_STYLE_NORMAL)
               : 0;
}

static void draw_row(const cf_app *app, cf_grid *g, cf_rect r, const cf_command *c, bool is_on)
{
    cf_style style = is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
    cf_buf keys = CF_BUF_INIT;
    cf_grid_fill(g, r, ' ', style);
    int name_w = name_width(r);
    int x = 1 + cf_grid_puts(g, r.x + 1, r.y, name_w, c->name, is_on ? style : CF_STYLE_KEY);
    if (c->args[0] != '\0' && x + 1 < name_w) {
        cf_grid_puts(g, r.x + x + 1, r.y, name_w - x, c->args, is_on ? style : CF_STYLE_DIM);
    }
    cf_keymap_describe(&app->keymap, CF_IN(cf_app_view(app)), c, &keys);
    cf_grid_put(g, r.x + name_w + 2, r.y, 7, cf_buf_str(&keys), style);
    cf_buf_deinit(&keys);
    int at = name_w + 10;
    cf_grid_puts(g, r.x + at, r.y, r.w - at - 1, c->help, is_on ? style : CF_STYLE_DIM);
}

/* Of the command that is being given arguments. */
static size_t keep_exact(cf_menu *menu, const char *word, size_t n)
{
    for (size_t i = 0; i < menu->n; i++) {
        if (strlen(menu->v[i]->name) == n && memcmp(menu->v[i]->name, word, n) == 0) {
            menu->v[0] = menu->v[i];
            return 1;
        }
    }
    return 0;
}

void cf_menu_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_menu menu;
    size_t n;
    bool has_args;
    const char *word = menu_word(app, &n, &has_args);
    if (word[0] == '!' || word[0] == '@') {
        return; /* the user's own commands */
    }
    find_commands(&menu, app, word, n);
    if (has_args) {
        menu.n = keep_exact(&menu, word, n);
    }
    size_t room = r.h > 8 ? (size_t)r.h - 6 : 2;
    room = room < ROWS ? room : ROWS;
    size_t rows = menu.n < room ? menu.n : room;
    if (rows == 0) {
        return;
    }
    size_t on = has_args ? 0 : app->menu.row;
    size_t at = on > 0 ? on - 1 : 0;
    size_t top = at >= rows ? at - rows + 1 : 0;
    const cf_command *chosen = menu.v[on > 0 ? at : 0];
    int n_help = help_lines(chosen, on > 0 || rows == 1, (cf_rect){0, 0, r.w - 2, 1});
    int h = (int)rows + 2 + n_help;
    cf_rect box = {r.x, r.y + r.h - h, r.w, h};
    char title[64];
    snprintf(title, sizeof title, "Commands  %zu  (Tab chooses)", menu.n);
    cf_grid_fill(g, box, ' ', CF_STYLE_NORMAL);
    cf_grid_box(g, box, has_args ? "Command" : title, CF_STYLE_BORDER, CF_STYLE_FOCUS);
    for (size_t i = 0; i < rows && top + i < menu.n; i++) {
        draw_row(app, g, (cf_rect){box.x + 1, box.y + 1 + (int)i, box.w - 2, 1}, menu.v[top + i],
                 on == top + i + 1);
        cf_grid_spot(g, (cf_rect){box.x, box.y + 1 + (int)i, box.w, 1}, CF_SPOT_MENU, top + i);
    }
    (void)cf_note_put(g, (cf_rect){box.x + 2, box.y + h - 1 - n_help, box.w - 4, n_help},
                      cf_str_from(chosen->help), CF_STYLE_NORMAL);
}

void cf_menu_choose(cf_app *app, size_t row, bool goes_on)
{
    cf_menu menu;
    size_t n;
    bool has_args;
    const char *word = menu_word(app, &n, &has_args);
    char typed[sizeof app->menu.word];
    snprintf(typed, sizeof typed, "%.*s", (int)n, word);
    find_commands(&menu, app, typed, strlen(typed));
    if (menu.n == 0 || has_args) {
        return;
    }
    row %= menu.n;
    cf_buf line = CF_BUF_INIT;
    cf_buf_adds(&line, menu.v[row]->name);
    cf_buf_adds(&line, goes_on || menu.n == 1 ? " " : "");
    cf_edit_set(&app->command_line, cf_buf_str(&line));
    cf_buf_deinit(&line);
    snprintf(app->menu.word, sizeof app->menu.word, "%s", typed);
    app->menu.row = goes_on || menu.n == 1 ? 0 : row + 1;
}

void cf_menu_step(cf_app *app, int by)
{
    cf_menu menu;
    size_t n;
    bool has_args;
    const char *word = menu_word(app, &n, &has_args);
    find_commands(&menu, app, word, n);
    if (menu.n == 0) {
        return;
    }
    size_t row = app->menu.row == 0 ? (by > 0 ? 0 : menu.n - 1)
                                    : app->menu.row - 1 + menu.n + (by > 0 ? 1 : menu.n - 1);
    cf_menu_choose(app, row % menu.n, false);
}

void cf_menu_did_you_mean(const cf_app *app, const char *word, size_t n, cf_buf *out)
{
    cf_menu menu;
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)(n < 60 ? n : 60), word);
    const cf_command *best = NULL;
    size_t least = 3, n_found;
    for (int v = 0; v < CF_VIEW_COUNT; v++) {
        const cf_command *c = cf_command_find((cf_view_id)v, typed, strlen(typed), &n_found);
        if (n_found == 1 && strcmp(c->name, typed) == 0) {
            cf_buf_addf(out, ": %s has it", cf_views[v]->title);
            return;
        }
    }
    find_commands(&menu, app, "", 0);
    for (size_t i = 0; i < menu.n; i++) {
        size_t d;
        if (cf_edit_is_near(typed, menu.v[i]->name, &d) && d < least) {
            least = d;
            best = menu.v[i];
        }
    }
    if (best == NULL) {
        find_commands(&menu, app, typed, strlen(typed));
        int how = menu.n > 0 ? rank(menu.v[0], typed, strlen(typed)) : 3;
        best = how < 3 ? menu.v[0] : NULL;
        /* What a command does is nearer than letters of its name. */
        for (size_t i = 0; how >= 2 && i < menu.n; i++) {
            if (strncmp(menu.v[i]->help, typed, strlen(typed)) == 0) {
                best = menu.v[i];
                break;
            }
        }
    }
    if (best != NULL) {
        cf_buf_addf(out, "; did you mean :%s?", best->name);
    }
}
