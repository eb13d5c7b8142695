/*
 * view_templates.c - chat templates: the one in use, those that came with
 * confab, and those that were kept; their source, and editing it.
 *
 * The text that comes back from an editor is used at once when it compiles, and kept in
 * the database.  When it does not, the text waits as a draft, which is shown
 * in its place: editing goes on where it broke.  Below the source is what the
 * linter found; a finding leads to its line.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "storage/store.h"
#include "templates/builtin.h"
#include "templates/template.h"
#include "tui/app/app.h"
#include "tui/app/editor.h"
#include "tui/lab/lab_conversation.h"
#include "tui/lab/lab_lint.h"
#include "tui/lab/lab_prompt.h"
#include "tui/lab/lab_template.h"
#include "tui/view/lint_pane.h"
#include "tui/view/moves.h"
#include "tui/view/templates.h"
#include "tui/widget/list.h"
#include "tui/widget/pager.h"

typedef struct entry {
    const char *from; /* "in use", "start", "confab", "kept" */
    const char *name;
    cf_str source;
    const char *hash; /* of a kept one; "" else */
} entry;

/* What can be clicked. */
enum { SPOT_ROW, SPOT_LINE, SPOT_PANE };

typedef enum focus { ON_LIST, ON_SOURCE, ON_LINT, N_FOCUS } focus;

typedef struct templates_view {
    cf_arena arena; /* entries and what they name */
    entry *v;       /* [n] */
    size_t n, cap;
    cf_list list, lines, findings;
    uint64_t generation; /* of the workbench, when the entries were read */
    focus focus;
    size_t go_line; /* of the source, once it is shown; SIZE_MAX: none */
    size_t shown;   /* entry that was checked; SIZE_MAX: none */
    cf_buf check;   /* why it does not compile; "" when it does */
    uint32_t bad_line;
    cf_buf draft; /* an edited text that does not compile */
    char draft_name[256];
} templates_view;

static templates_view *state(cf_app *app)
{
    return app->state[CF_VIEW_TEMPLATES];
}

static cf_status templates_open(cf_app *app, cf_error *err)
{
    templates_view *s = cf_calloc(1, sizeof *s);
    if (s == NULL) {
        return cf_oom(err);
    }
    cf_arena_init(&s->arena, 0);
    s->shown = s->go_line = SIZE_MAX;
    app->state[CF_VIEW_TEMPLATES] = s;
    return CF_OK;
}

static void templates_close(cf_app *app)
{
    templates_view *s = state(app);
    if (s != NULL) {
        cf_arena_deinit(&s->arena);
        cf_buf_deinit(&s->check);
        cf_buf_deinit(&s->draft);
        cf_free(s);
        app->state[CF_VIEW_TEMPLATES] = NULL;
    }
}

/* ---- the list ----------------------------------------------------------- */

static void add(templates_view *s, const char *from, cf_str name, cf_str source,
                cf_str hash)
{
    for (size_t i = 0; i < s->n; i++) {
        if (cf_str_eq(s->v[i].source, source)) {
            return; /* the same text under another name */
        }
    }
    char *copy = cf_arena_strndup(&s->arena, name.p, name.n);
    char *id = cf_arena_strndup(&s->arena, hash.p, hash.n);
    char *text = cf_arena_strndup(&s->arena, source.p, source.n);
    if (s->n < s->cap && copy != NULL && id != NULL && text != NULL) {
        s->v[s->n++] = (entry){from, copy, cf_str_make(text, source.n), id};
    }
}

/* Everything there is, each text once. */
static void reload(cf_app *app)
{
    templates_view *s = state(app);
    const cf_lab_engine *e = cf_lab_engine_of(app->lab);
    const cf_str none = cf_str_from("");
    const cf_store_template *kept = NULL;
    const char *name;
    cf_str source;
    size_t n_kept = 0, n_builtin = 0;
    cf_error err;
    cf_arena_reset(&s->arena);
    s->generation = cf_lab_generation(app->lab);
    s->shown = SIZE_MAX;
    if (app->store != NULL && cf_store_templates(app->store, &s->arena, &kept,
                                                 &n_kept, &err) != CF_OK) {
        n_kept = 0;
        cf_app_error(app, &err);
    }
    while (cf_template_builtin_name(n_builtin) != NULL) {
        n_builtin++;
    }
    s->cap = 2 + n_builtin + n_kept;
    s->v = cf_arena_alloc(&s->arena, s->cap * sizeof *s->v);
    s->cap = s->v != NULL ? s->cap : 0;
    s->n = 0;
    add(s, "in use", cf_str_from(e->template_name), e->template_source, none);
    cf_lab_first_template(app->lab, &name, &source);
    add(s, "start", cf_str_from(name), source, none);
    for (size_t i = 0; i < n_builtin; i++) {
        name = cf_template_builtin_name(i);
        add(s, "confab", cf_str_from(name), cf_template_builtin(name), none);
    }
    for (size_t i = 0; i < n_kept; i++) {
        add(s, "kept", kept[i].name, kept[i].source, kept[i].hash);
    }
    cf_list_set(&s->list, s->n, s->list.height);
}

static const entry *current(const templates_view *s)
{
    return s->list.cursor < s->n ? &s->v[s->list.cursor] : NULL;
}

/* A text that did not compile waits in this entry's place. */
static bool has_draft(const templates_view *s, const entry *e)
{
    return s->draft.n != 0 && strcmp(s->draft_name, e->name) == 0;
}

static cf_str text_of(const templates_view *s, const entry *e)
{
    return has_draft(s, e) ? cf_str_make(s->draft.p, s->draft.n) : e->source;
}

static const char edited_mark[] = " (edited)";

/* Bytes of a template's name without the mark of an edited one. */
static size_t plain_name(const char *name)
{
    size_t n = strlen(name), m = sizeof edited_mark - 1;
    return n > m && strcmp(name + n - m, edited_mark) == 0 ? n - m : n;
}

static bool templates_text(cf_app *app, cf_buf *out)
{
    const templates_view *s = state(app);
    const entry *e = current(s);
    if (e != NULL) {
        cf_str text = text_of(s, e);
        cf_buf_add(out, text.p, text.n);
    }
    return e != NULL;
}

/* A template that was read from a file has the file's path for its name. */
static bool templates_file(cf_app *app, cf_buf *out)
{
    const entry *e = current(state(app));
    struct stat st;
    if (e == NULL || strcmp(e->from, "confab") == 0) {
        return false;
    }
    cf_buf_add(out, e->name, plain_name(e->name));
    return stat(cf_buf_cstr(out), &st) == 0 && S_ISREG(st.st_mode);
}

/* Compiles the text under the cursor once. */
static void check(templates_view *s)
{
    const entry *e = current(s);
    if (e == NULL || s->shown == s->list.cursor) {
        return;
    }
    s->shown = s->list.cursor;
    s->lines = (cf_list){0};
    s->findings = (cf_list){0};
    s->bad_line = 0;
    cf_buf_reset(&s->check);
    cf_arena arena;
    cf_template *tpl = NULL;
    cf_template_error why = {0};
    cf_error err;
    cf_arena_init(&arena, 0);
    cf_str text = text_of(s, e);
    if (cf_template_compile(&tpl, text, NULL, &arena, &why, &err) != CF_OK) {
        cf_buf_addf(&s->check, "%s%s\n", has_draft(s, e) ? "the draft: " : "",
                    err.text);
        cf_template_caret(&s->check, text, &why);
        s->bad_line = why.line;
        s->lines.n = SIZE_MAX; /* the drawing counts them */
        s->lines.cursor = why.line > 0 ? why.line - 1 : 0;
    }
    cf_template_free(tpl);
    cf_arena_deinit(&arena);
}

static const cf_lab_lint *lint_of(cf_app *app)
{
    const templates_view *s = state(app);
    const entry *e = current(s);
    return e != NULL && e->source.n != 0
               ? cf_lab_lint_of(app->lab, text_of(s, e))
               : NULL;
}

/* ---- drawing ------------------------------------------------------------ */

static void draw_list(cf_app *app, cf_grid *g, cf_rect r)
{
    templates_view *s = state(app);
    cf_list_set(&s->list, s->n, (size_t)(r.h > 0 ? r.h : 0));
    for (int y = 0; y < r.h && s->list.top + (size_t)y < s->n; y++) {
        size_t i = s->list.top + (size_t)y;
        const entry *e = &s->v[i];
        bool is_on = i == s->list.cursor;
        cf_style style = is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
        cf_rect row = {r.x, r.y + y, r.w, 1};
        cf_grid_fill(g, row, ' ', style);
        cf_grid_puts(g, r.x, row.y, 1, i == 0 ? "*" : " ", style);
        cf_grid_puts(g, r.x + 2, row.y, r.w - 12, e->name, style);
        cf_grid_puts(g, r.x + r.w - 9, row.y, 9,
                     e->hash[0] != '\0' ? "kept" : e->from,
                     is_on ? style : CF_STYLE_DIM);
        cf_grid_spot(g, row, SPOT_ROW, i);
    }
    if (s->focus == ON_LIST) {
        g->cursor_x = r.x;
        g->cursor_y = r.y + (int)(s->list.cursor - s->list.top);
    }
}

static size_t count_lines(cf_str text)
{
    size_t n = text.n != 0;
    for (size_t i = 0; i + 1 < text.n; i++) {
        n += text.p[i] == '\n';
    }
    return n;
}

static void draw_source(cf_app *app, cf_grid *g, cf_rect r, cf_str text)
{
    templates_view *s = state(app);
    const cf_lab_lint *lint = lint_of(app);
    cf_list_set(&s->lines, count_lines(text), (size_t)(r.h > 0 ? r.h : 0));
    if (s->go_line != SIZE_MAX) {
        cf_list_go(&s->lines, s->go_line);
        s->go_line = SIZE_MAX;
    }
    size_t line = 0;
    for (size_t at = 0; at < text.n; line++) {
        const char *nl = memchr(text.p + at, '\n', text.n - at);
        size_t end = nl != NULL ? (size_t)(nl - text.p) : text.n;
        if (line >= s->lines.top && line - s->lines.top < (size_t)r.h) {
            int y = r.y + (int)(line - s->lines.top);
            bool is_on = s->focus == ON_SOURCE && line == s->lines.cursor;
            cf_str shown = cf_str_make(text.p + at, end - at);
            cf_style style = line + 1 == s->bad_line ? CF_STYLE_ERROR
                             : is_on                 ? CF_STYLE_SELECTED
                                                     : CF_STYLE_NORMAL;
            cf_grid_spot(g, (cf_rect){r.x, y, r.w, 1}, SPOT_LINE, line);
            cf_grid_putf(g, r.x, y, 4, CF_STYLE_DIM, "%4zu", line + 1);
            cf_lint_pane_mark(g, r.x + 4, y, lint, (uint32_t)line + 1);
            cf_grid_put(g, r.x + 5, y, r.w - 5, shown, style);
            if (app->search[0] != '\0') {
                size_t found = cf_find_smart(shown, app->search);
                if (found != SIZE_MAX) {
                    int x = 5 + (int)cf_text_width(shown.p, found);
                    int w = (int)cf_text_width(shown.p + found,
                                               strlen(app->search));
                    if (x + w <= r.w) {
                        cf_grid_restyle(g, (cf_rect){r.x + x, y, w, 1},
                                        CF_STYLE_MATCH);
                    }
                }
            }
            if (is_on) {
                g->cursor_x = r.x + 5;
                g->cursor_y = y;
            }
        }
        at = end + 1;
    }
}

/* Why it does not compile, or what the linter found. */
static void draw_check(cf_app *app, cf_grid *g, cf_rect r)
{
    templates_view *s = state(app);
    bool is_on = s->focus == ON_LINT;
    cf_str text = cf_buf_str(&s->check);
    cf_grid_spot(g, r, SPOT_PANE, ON_LINT);
    if (text.n == 0) {
        cf_lint_pane_draw(g, r, lint_of(app), &s->findings, is_on, true);
        return;
    }
    cf_grid_box(g, r, "Does not compile", CF_STYLE_BORDER,
                is_on ? CF_STYLE_FOCUS : CF_STYLE_ERROR);
    size_t at = 0;
    for (int y = r.y + 1; y < r.y + r.h - 1 && at < text.n; y++) {
        const char *nl = memchr(text.p + at, '\n', text.n - at);
        size_t end = nl != NULL ? (size_t)(nl - text.p) : text.n;
        cf_grid_put(g, r.x + 2, y, r.w - 4, cf_str_make(text.p + at, end - at),
                    CF_STYLE_ERROR);
        at = end + 1;
    }
}

static void draw_text(cf_app *app, cf_grid *g, cf_rect t, const entry *e)
{
    const templates_view *s = state(app);
    cf_str text = text_of(s, e);
    const cf_lab_lint *lint = lint_of(app);
    int n = lint != NULL ? (int)lint->report.n : 0;
    int below = s->check.n != 0 ? 5 : cf_lint_pane_height(n, t.h, true);
    if (app->is_maximized && s->focus == ON_LINT) {
        below = t.h;
    } else if (app->is_maximized || e->source.n == 0) {
        below = 0;
    }
    cf_rect box = {t.x, t.y, t.w, t.h - below};
    char title[300];
    snprintf(title, sizeof title, "%.200s%s  %zu bytes, %zu lines", e->name,
             has_draft(s, e) ? " (draft)" : "", text.n, count_lines(text));
    if (box.h >= 3) {
        cf_grid_box(g, box, title, CF_STYLE_BORDER,
                    s->focus == ON_SOURCE ? CF_STYLE_FOCUS : CF_STYLE_TITLE);
        draw_source(app, g,
                    (cf_rect){box.x + 1, box.y + 1, box.w - 2, box.h - 2},
                    text);
    }
    if (below >= 3) {
        draw_check(app, g, (cf_rect){t.x, t.y + box.h, t.w, below});
    }
}

static void templates_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    templates_view *s = state(app);
    bool is_narrow = cf_app_is_narrow(app);
    if (s->generation != cf_lab_generation(app->lab)) {
        reload(app);
    }
    check(s);
    const entry *e = current(s);
    int list_w = is_narrow ? r.w : 36;
    int list_h = is_narrow ? r.h / 4 + 2 : r.h;
    if (app->is_maximized) {
        list_w = is_narrow || s->focus == ON_LIST ? r.w : 0;
        list_h = s->focus == ON_LIST ? r.h : 0;
    }
    if (list_h > 0) {
        cf_rect l = {r.x, r.y, list_w, list_h};
        cf_grid_box(g, l, "Templates", CF_STYLE_BORDER,
                    s->focus == ON_LIST ? CF_STYLE_FOCUS : CF_STYLE_TITLE);
        draw_list(app, g, (cf_rect){l.x + 1, l.y + 1, l.w - 2, l.h - 2});
    }
    cf_rect t = is_narrow ? (cf_rect){r.x, r.y + list_h, r.w, r.h - list_h}
                          : (cf_rect){r.x + list_w, r.y, r.w - list_w, r.h};
    if (e != NULL && t.w > 0 && t.h > 0) {
        draw_text(app, g, t, e);
    }
}

static void templates_status(cf_app *app, cf_buf *out)
{
    cf_buf_addf(out, "in use: %s", cf_lab_template_name(app->lab));
}

/* ---- commands ----------------------------------------------------------- */

static void templates_move(cf_app *app, int move)
{
    templates_view *s = state(app);
    cf_list_move(s->focus == ON_LIST     ? &s->list
                 : s->focus == ON_SOURCE ? &s->lines
                                         : &s->findings,
                 move);
}

static void cmd_pane(cf_app *app)
{
    state(app)->focus = (focus)((state(app)->focus + 1) % N_FOCUS);
}

static void cmd_pane_back(cf_app *app)
{
    state(app)->focus = (focus)((state(app)->focus + N_FOCUS - 1) % N_FOCUS);
}

/* ---- findings ----------------------------------------------------------- */

/* Puts the source on the line of finding `i`. */
static void show_finding(cf_app *app, const cf_lab_lint *lint, size_t i)
{
    templates_view *s = state(app);
    const cf_lint_finding *f = &lint->report.v[i];
    cf_list_set(&s->findings, lint->report.n, s->findings.height);
    cf_list_go(&s->findings, i);
    if (f->line == 0) {
        cf_app_say(app, CF_STYLE_DIM, "%s has no one place: the whole of it",
                   f->rule);
        return;
    }
    s->go_line = f->line - 1;
    s->lines.n = SIZE_MAX;
    s->lines.cursor = f->line - 1; /* where an edit would begin */
}

/* The findings, when they are known and there are some. */
static const cf_lab_lint *findings(cf_app *app)
{
    const cf_lab_lint *lint = lint_of(app);
    if (lint == NULL || lint->status != CF_OK || lint->report.n == 0) {
        cf_app_say(app, lint == NULL ? CF_STYLE_DIM : CF_STYLE_OK, "%s",
                   lint == NULL ? "not linted yet" : "nothing was found");
        return NULL;
    }
    return lint;
}

static void go_finding(cf_app *app, int by)
{
    templates_view *s = state(app);
    const cf_lab_lint *lint = findings(app);
    if (lint != NULL) {
        size_t n = lint->report.n;
        bool is_fresh = s->findings.n != n || s->focus == ON_LIST;
        size_t at = s->findings.cursor < n ? s->findings.cursor : 0;
        at = is_fresh && by > 0 ? 0 : (at + (by > 0 ? 1 : n - 1)) % n;
        s->focus = s->focus == ON_LINT ? ON_LINT : ON_SOURCE;
        show_finding(app, lint, at);
    }
}

static void templates_click(cf_app *app, int what, size_t value)
{
    templates_view *s = state(app);
    if (what == SPOT_ROW) {
        s->focus = ON_LIST;
        cf_list_go(&s->list, value);
    } else if (what == SPOT_LINE) {
        s->focus = ON_SOURCE;
        cf_list_go(&s->lines, value);
    } else if (what == SPOT_PANE) {
        s->focus = (focus)value;
    } else if (what == CF_SPOT_FINDING && findings(app) != NULL) {
        s->focus = ON_LINT;
        show_finding(app, lint_of(app), value);
    }
}

static void cmd_lint(cf_app *app)
{
    if (findings(app) != NULL) {
        state(app)->focus = ON_LINT;
    }
}

/* Uses a text and says what it makes of the prompt. */
static bool use(cf_app *app, const char *name, cf_str source)
{
    cf_error err;
    if (cf_lab_set_template(app->lab, name, source, &err) != CF_OK) {
        cf_app_error(app, &err);
        return false;
    }
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    if (m == NULL) {
        cf_lab_prompt_error(app->lab, &err);
        cf_app_say(app,
                   err.code == CF_ENOTFOUND ? CF_STYLE_OK : CF_STYLE_WARNING,
                   "in use; %s", err.text);
    } else if (m->n == 0) {
        cf_app_say(app, CF_STYLE_OK, "in use; the prompt has %zu bytes now",
                   m->prompt.text.n);
    } else {
        cf_app_say(app, CF_STYLE_OK,
                   "in use; of %zu tokens the cache keeps %zu (2 shows where "
                   "they part)",
                   m->n, m->n_kept);
    }
    return true;
}

static void cmd_use(cf_app *app)
{
    templates_view *s = state(app);
    const entry *e = current(s);
    if (e != NULL && use(app, e->name, e->source)) {
        reload(app);
        cf_list_go(&s->list, 0);
    }
}

/* Keeps an edited text in the database, as a child of the one it was. */
static void keep(cf_app *app, const entry *parent, const char *name,
                 cf_str source)
{
    char hash[65];
    cf_error err;
    if (app->store == NULL || parent->source.n == 0) {
        return;
    }
    cf_status st =
        cf_store_put_template(app->store, cf_str_from(parent->name),
                              parent->source, cf_str_from(""), hash, &err);
    CF_THEN(st, cf_store_put_template(app->store, cf_str_from(name), source,
                                      cf_str_from(hash), NULL, &err));
    if (st != CF_OK && st != CF_EBUSY) {
        cf_app_error(app, &err);
    }
}

/* Says that an edited template can go back to the file it came from. */
static void say_file(cf_app *app)
{
    cf_buf file = CF_BUF_INIT;
    if (templates_file(app, &file)) {
        cf_app_say(app, CF_STYLE_OK, "in use; :w writes it back to %s",
                   cf_buf_cstr(&file));
    }
    cf_buf_deinit(&file);
}

/* Edits the text under the cursor; `line` (1-based, 0: any) is where the
 * editor begins and where the source is shown afterwards. */
static void edit(cf_app *app, uint32_t line)
{
    templates_view *s = state(app);
    const entry *e = current(s);
    cf_error err;
    if (e == NULL) {
        return;
    }
    cf_buf text = CF_BUF_INIT;
    cf_str from = text_of(s, e);
    cf_buf_add(&text, from.p, from.n);
    if (cf_editor_run_at(app, ".jinja", line, &text, &err) != CF_OK) {
        cf_app_error(app, &err);
        cf_buf_deinit(&text);
        return;
    }
    cf_str source = cf_buf_str(&text);
    char name[256];
    snprintf(name, sizeof name, "%.*s%s",
             (int)(plain_name(e->name) % (sizeof name - sizeof edited_mark)),
             e->name, edited_mark);
    if (cf_str_eq(source, e->source)) {
        cf_buf_deinit(&s->draft);
        s->shown = SIZE_MAX;
        s->go_line = line > 0 ? line - 1 : SIZE_MAX;
        cf_app_say(app, CF_STYLE_DIM, "nothing changed");
    } else if (use(app, name, source)) {
        cf_buf_deinit(&s->draft);
        keep(app, e, name, source);
        reload(app);
        cf_list_go(&s->list, 0);
        say_file(app);
        s->go_line = line > 0 ? line - 1 : SIZE_MAX;
    } else {
        snprintf(s->draft_name, sizeof s->draft_name, "%s", e->name);
        cf_buf_deinit(&s->draft);
        s->draft = text;
        s->shown = SIZE_MAX;
        return;
    }
    cf_buf_deinit(&text);
}

static void cmd_edit(cf_app *app)
{
    const templates_view *s = state(app);
    edit(app, s->focus == ON_LIST && s->bad_line == 0
                  ? 0
                  : (uint32_t)s->lines.cursor + 1);
}

static void cmd_enter(cf_app *app)
{
    templates_view *s = state(app);
    if (s->focus != ON_LINT || s->check.n != 0) {
        cmd_edit(app);
        return;
    }
    const cf_lab_lint *lint = findings(app);
    if (lint != NULL && s->findings.cursor < lint->report.n) {
        show_finding(app, lint, s->findings.cursor);
        s->focus = ON_SOURCE;
    }
}

void cf_templates_show_line(cf_app *app, uint32_t line)
{
    templates_view *s = state(app);
    cf_app_open_view(app, CF_VIEW_TEMPLATES);
    cf_list_go(&s->list, 0);
    check(s);
    s->focus = ON_SOURCE;
    s->go_line = line > 0 ? line - 1 : 0;
    s->lines.n = SIZE_MAX;
    s->lines.cursor = s->go_line;
}

void cf_templates_edit_line(cf_app *app, uint32_t line)
{
    templates_view *s = state(app);
    reload(app);
    cf_list_go(&s->list, 0);
    s->shown = SIZE_MAX;
    check(s);
    edit(app, line);
}

static void templates_search(cf_app *app, const char *text, int direction)
{
    templates_view *s = state(app);
    const entry *e = current(s);
    cf_str source = e != NULL ? text_of(s, e) : cf_str_make("", 0);
    size_t n = count_lines(source);
    size_t from = s->lines.cursor, best = SIZE_MAX, line = 0,
           wrapped = SIZE_MAX;
    for (size_t at = 0; at < source.n; line++) {
        const char *nl = memchr(source.p + at, '\n', source.n - at);
        size_t end = nl != NULL ? (size_t)(nl - source.p) : source.n;
        cf_str shown = cf_str_make(source.p + at, end - at);
        at = end + 1;
        if (cf_find_smart(shown, text) == SIZE_MAX) {
            continue;
        }
        bool is_ahead = direction < 0   ? line < from
                        : direction > 0 ? line > from
                                        : line >= from;
        if (is_ahead && (direction < 0 || best == SIZE_MAX)) {
            best = line;
        }
        if (direction < 0 || wrapped == SIZE_MAX) {
            wrapped = line;
        }
    }
    best = best != SIZE_MAX ? best : wrapped;
    if (best == SIZE_MAX) {
        cf_app_say(app, CF_STYLE_WARNING, "'%s' is not in this template", text);
        return;
    }
    s->focus = ON_SOURCE;
    s->lines.n = n;
    cf_list_go(&s->lines, best);
}

#define HERE CF_IN(CF_VIEW_TEMPLATES)

static const cf_command templates_commands[] = {
    {"open", HERE, "<Enter>", "",
     "of a finding the line; else edit the source in $EDITOR",
     CF_RUN(cmd_enter)},
    {"edit", HERE, "e E", "",
     "edit the source in $EDITOR; what compiles is used at once",
     CF_RUN(cmd_edit)},
    {"use", HERE, "u", "", "render this conversation with it", CF_RUN(cmd_use)},
    {"pane", HERE, "<Tab>", "", "list, source or findings", CF_RUN(cmd_pane)},
    {"pane-back", HERE, "<S-Tab>", "", "the pane before",
     CF_RUN(cmd_pane_back)},
    {"next-finding", HERE, "]e", "", "the line of the next finding",
     CF_BY(go_finding, 1)},
    {"previous-finding", HERE, "[e", "", "the line of the finding before",
     CF_BY(go_finding, -1)},
    {"lint", HERE, "L", "", "to the findings", CF_RUN(cmd_lint)},
    CF_MOVE_ROWS(templates_move, HERE),
    {0},
};

const cf_view_ops cf_view_templates = {
    .name = "templates",
    .title = "Templates",
    .commands = templates_commands,
    .footer = "edit use pane next-finding lint search prompt maximize",
    .open = templates_open,
    .close = templates_close,
    .enter = reload,
    .draw = templates_draw,
    .search = templates_search,
    .status = templates_status,
    .text = templates_text,
    .click = templates_click,
    .file = templates_file,
};
