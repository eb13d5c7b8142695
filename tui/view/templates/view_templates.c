/*
 * view_templates.c - chat templates: the one in use, those that came with
 * confab, and those that were kept; their source, and editing it.
 *
 * A template that is a file is edited in that file.  Any other is edited as a
 * copy, which is used at once when it compiles, and kept in the history.  When
 * it does not, the text is kept as an edit, which is shown in its place: editing
 * goes on where it broke.  Below the source is what the linter found, or what
 * the template can do.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "storage/store.h"
#include "templates/template.h"
#include "tui/app/app.h"
#include "tui/app/command_undo.h"
#include "tui/app/editor.h"
#include "tui/lab/prompt/lab_lint.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/state/lab_marks.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_template.h"
#include "tui/lab/talk/lab_undo.h"
#include "tui/sys/when.h"
#include "tui/view/kit/caps_table.h"
#include "tui/view/kit/lint_pane.h"
#include "tui/view/kit/moves.h"
#include "tui/view/kit/pane.h"
#include "tui/view/templates/template_file.h"
#include "tui/view/templates/templates_list.h"
#include "tui/widget/list.h"
#include "tui/widget/pager.h"

enum { TEMPLATE_MAX = 16 << 20 };

/* What can be clicked. */
enum { SPOT_ROW, SPOT_LINE, SPOT_PANE };

typedef enum focus { ON_LIST, ON_SOURCE, ON_LINT, N_FOCUS } focus;

typedef struct templates_view {
    cf_templates_list rows;
    cf_watched_file watched; /* of the template in use */
    cf_list list, lines, findings;
    uint64_t generation; /* of the workbench, when the entries were read */
    focus focus;
    size_t go_line; /* of the source, once it is shown; SIZE_MAX: none */
    size_t shown;   /* entry that was checked; SIZE_MAX: none */
    cf_buf check;   /* why it does not compile; "" when it does */
    uint32_t bad_line;
    cf_buf edit; /* an edited text that does not compile */
    char edit_name[256];
    bool shows_caps;          /* in place of the findings */
    cf_template_caps caps[2]; /* of the shown one, of the one in use */
    char deletes[65];         /* the version that was asked about; "" for none */
    bool has_deleted;         /* the last thing that was done */
} templates_view;

static templates_view *state(const cf_app *app)
{
    return app->state[CF_VIEW_TEMPLATES];
}

static void templates_open(void *state)
{
    templates_view *s = state;
    cf_arena_init(&s->rows.arena, 0);
    s->shown = s->go_line = SIZE_MAX;
}

static void templates_close(cf_app *app)
{
    templates_view *s = state(app);
    cf_arena_deinit(&s->rows.arena);
    cf_buf_deinit(&s->check);
    cf_buf_deinit(&s->edit);
    cf_buf_deinit(&s->watched.broken);
}

/* ---- the list ----------------------------------------------------------- */

static void reload(cf_app *app)
{
    templates_view *s = state(app);
    cf_error err;
    s->generation = cf_lab_generation(app->lab);
    s->shown = SIZE_MAX;
    cf_templates_list_load(&s->rows, app, &err);
    if (err.code != CF_OK) {
        cf_app_error(app, &err);
    }
    cf_list_set(&s->list, s->rows.n, s->list.height);
}

static const cf_templates_row *current(const templates_view *s)
{
    return s->list.cursor < s->rows.n ? &s->rows.v[s->list.cursor] : NULL;
}

/* A text that did not compile waits in this entry's place. */
static bool has_edit(const templates_view *s, const cf_templates_row *e)
{
    return s->edit.n != 0 && !e->is_version && strcmp(s->edit_name, e->name) == 0;
}

static cf_str text_of(const templates_view *s, const cf_templates_row *e)
{
    return has_edit(s, e) ? cf_str_make(s->edit.p, s->edit.n) : e->source;
}

/* The file in use as it was read last: a text that does not compile is an edit
 * as if it had been edited here, and goes when the file is mended. */
static void take_watched(cf_app *app)
{
    templates_view *s = state(app);
    cf_watched_file *w = &s->watched;
    if (!w->is_news) {
        return;
    }
    w->is_news = false;
    bool is_its = strcmp(s->edit_name, w->name) == 0;
    if (w->broken.n != 0 || is_its) {
        cf_buf_restart(&s->edit);
        cf_buf_add(&s->edit, w->broken.p, w->broken.n);
        snprintf(s->edit_name, sizeof s->edit_name, "%.255s", w->name);
        s->has_deleted = false;
        s->shown = SIZE_MAX;
        s->go_line = SIZE_MAX;
    }
}

static bool templates_text(cf_app *app, cf_buf *out)
{
    const templates_view *s = state(app);
    const cf_templates_row *e = current(s);
    if (e != NULL) {
        cf_str text = text_of(s, e);
        cf_buf_add(out, text.p, text.n);
    }
    return e != NULL;
}

/* A template that was read from a file has the file's path for its name. */
static bool templates_file(cf_app *app, cf_buf *out)
{
    const cf_templates_row *e = current(state(app));
    struct stat st;
    if (e == NULL || strcmp(e->from, "confab") == 0) {
        return false;
    }
    cf_buf_add(out, e->name, cf_template_plain_name(e->name));
    return stat(cf_buf_cstr(out), &st) == 0 && S_ISREG(st.st_mode);
}

/* Compiles the text under the cursor once. */
static void check(templates_view *s)
{
    const cf_templates_row *e = current(s);
    if (e == NULL || s->shown == s->list.cursor) {
        return;
    }
    s->shown = s->list.cursor;
    s->lines = (cf_list){0};
    s->findings = (cf_list){0};
    s->bad_line = 0;
    cf_buf_restart(&s->check);
    cf_arena arena;
    cf_template *tpl = NULL;
    cf_template_error why = {0};
    cf_error err;
    cf_arena_init(&arena, 0);
    cf_str text = text_of(s, e);
    if (e != NULL && e->is_foreign) {
        cf_buf_adds(&s->check, "Ollama's own template, in Go's language.  It "
                               "is only shown: prompts are made with the "
                               "GGUF's.\n");
    } else if (cf_template_compile(&tpl, text, NULL, &arena, &why, &err) != CF_OK) {
        cf_buf_addf(&s->check, "%s%s\n", has_edit(s, e) ? "the edited text: " : "", err.text);
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
    const cf_templates_row *e = current(s);
    return e != NULL && e->source.n != 0 && !e->is_foreign ? cf_lab_lint_of(app->lab, text_of(s, e))
                                                           : NULL;
}

/* ---- drawing ------------------------------------------------------------ */

/* "11-22 14:02  +3 -1" of a version. */
static void describe_version(const templates_view *s, size_t i, cf_buf *out)
{
    const cf_templates_row *e = &s->rows.v[i], *head = e;
    char when[CF_WHEN_TEXT], clock[CF_WHEN_CLOCK];
    size_t n_added, n_removed;
    while (head->is_version) {
        head--;
    }
    if (e->created_ms != 0) {
        cf_when_format(when, e->created_ms, cf_os_now_ms());
        cf_when_clock(clock, e->created_ms);
        if (strchr(when, ':') != NULL) {
            cf_buf_addf(out, "today %s", clock);
        } else {
            cf_buf_addf(out, "%s %.5s", when, clock);
        }
    } else {
        cf_buf_adds(out, e->from);
    }
    cf_templates_count_changes(e->source, head->source, &n_added, &n_removed);
    cf_buf_addf(out, "  -%zu +%zu", n_removed, n_added);
}

static void draw_row(const cf_app *app, cf_grid *g, cf_rect r, size_t i)
{
    const templates_view *s = state(app);
    const cf_templates_row *e = &s->rows.v[i];
    bool is_on = i == s->list.cursor;
    cf_style style = is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
    cf_style dim = is_on ? style : CF_STYLE_DIM;
    cf_buf text = CF_BUF_INIT;
    cf_grid_fill(g, r, ' ', style);
    if (e->is_version) {
        describe_version(s, i, &text);
        cf_grid_put(g, r.x + 4, r.y, r.w - 5, cf_buf_str(&text), dim);
        cf_buf_deinit(&text);
        return;
    }
    bool is_ticked = cf_lab_has_choice(app->lab, CF_TICK_TEMPLATE, e->source);
    cf_grid_putf(g, r.x, r.y, 2, style, "%c%c", i == 0 ? '>' : ' ', is_ticked ? '*' : ' ');
    if (e->n_versions > 0) {
        bool is_open = strcmp(s->rows.open, e->name) == 0;
        cf_buf_addf(&text, "%c%zu ", is_open ? '-' : '+', e->n_versions);
    }
    cf_buf_adds(&text,
                e->hash[0] != '\0' && i != 0 && strcmp(e->from, "start") != 0 ? "kept" : e->from);
    int w = (int)text.n;
    /* Of a long path the end says more. */
    int room = r.w - w - 4;
    size_t n = strlen(e->name);
    bool is_long = room > 4 && n > (size_t)room && strchr(e->name, '/') != NULL;
    cf_grid_puts(g, r.x + 2, r.y, 1, is_long ? "~" : "", dim);
    cf_grid_puts(g, r.x + 2 + is_long, r.y, room - is_long,
                 is_long ? e->name + n - (size_t)room + 1 : e->name, style);
    cf_grid_put(g, r.x + r.w - w - 1, r.y, w, cf_buf_str(&text), dim);
    cf_buf_deinit(&text);
}

static void draw_list(cf_app *app, cf_grid *g, cf_rect r)
{
    templates_view *s = state(app);
    cf_rows rows = cf_rows_begin(g, r, &s->list, s->rows.n, s->focus == ON_LIST);
    while (cf_rows_next(&rows, SPOT_ROW)) {
        draw_row(app, g, rows.at, rows.i);
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
                    int w = (int)cf_text_width(shown.p + found, strlen(app->search));
                    if (x + w <= r.w) {
                        cf_grid_restyle(g, (cf_rect){r.x + x, y, w, 1}, CF_STYLE_MATCH);
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

/* Two columns of capabilities: of the shown template and, where that is
 * another one, of the one in use; "!" where they differ. */
static void draw_caps(cf_app *app, cf_grid *g, cf_rect r)
{
    templates_view *s = state(app);
    const cf_lab_lint *lint = lint_of(app);
    const cf_lab_lint *other =
        cf_lab_lint_of(app->lab, cf_lab_engine_of(app->lab)->template_source);
    bool is_other = s->list.cursor != 0;
    cf_pane(g, r, is_other ? "Capabilities  this one | in use" : "Capabilities",
            s->focus == ON_LINT);
    if (lint != NULL && lint->status == CF_OK) {
        s->caps[0] = lint->report.caps;
    }
    if (other != NULL && other->status == CF_OK) {
        s->caps[1] = other->report.caps;
    }
    if (lint == NULL || lint->status != CF_OK) {
        cf_grid_puts(g, r.x + 2, r.y + 1, r.w - 4, lint == NULL ? "asking it ..." : lint->err.text,
                     CF_STYLE_DIM);
        return;
    }
    cf_caps_table_draw(g, (cf_rect){r.x + 2, r.y + 1, r.w - 4, r.h - 2}, &s->caps[0],
                       is_other && other != NULL ? &s->caps[1] : NULL);
}

/* Why it does not compile, what the linter found, or what it can do. */
static void draw_check(cf_app *app, cf_grid *g, cf_rect r)
{
    templates_view *s = state(app);
    bool is_on = s->focus == ON_LINT;
    cf_str text = cf_buf_str(&s->check);
    cf_grid_spot(g, r, SPOT_PANE, ON_LINT);
    if (text.n == 0 && s->shows_caps) {
        draw_caps(app, g, r);
        return;
    }
    if (text.n == 0) {
        cf_lint_pane_draw(g, r, lint_of(app), &s->findings, is_on, true);
        return;
    }
    const cf_templates_row *e = current(s);
    cf_grid_box(g, r, e != NULL && e->is_foreign ? "Not used" : "Does not compile", CF_STYLE_BORDER,
                is_on ? CF_STYLE_FOCUS : CF_STYLE_ERROR);
    cf_rect inner = {r.x + 2, r.y + 1, r.w - 4, r.h - 2};
    (void)cf_grid_put_wrapped(g, inner, 0, text, CF_STYLE_ERROR);
}

/* Rows of the pane below the source. */
static int below_height(cf_app *app, cf_rect t)
{
    const templates_view *s = state(app);
    const cf_lab_lint *lint = lint_of(app);
    int n = lint != NULL ? (int)lint->report.n : 0;
    if (s->check.n != 0) {
        int rows = (int)(s->check.n / (size_t)(t.w > 8 ? t.w - 4 : 4)) + 5;
        return rows < t.h / 2 ? rows : t.h / 2;
    }
    if (s->shows_caps) {
        int rows = cf_caps_table_rows(t.w - 4, s->list.cursor != 0) + 2;
        return t.h - 6 < rows ? t.h - 6 : rows;
    }
    return cf_lint_pane_height(n, t.h, true);
}

static void draw_text(cf_app *app, cf_grid *g, cf_rect t, const cf_templates_row *e)
{
    const templates_view *s = state(app);
    cf_str text = text_of(s, e);
    int below = below_height(app, t);
    if (app->is_maximized && s->focus == ON_LINT) {
        below = t.h;
    } else if (app->is_maximized || e->source.n == 0) {
        below = 0;
    }
    cf_rect box = {t.x, t.y, t.w, t.h - below};
    char title[300];
    snprintf(title, sizeof title, "%.200s%s  %zu bytes, %zu lines", e->name,
             has_edit(s, e) ? " (broken)" : "", text.n, count_lines(text));
    if (box.h >= 3) {
        draw_source(app, g, cf_pane(g, box, title, s->focus == ON_SOURCE), text);
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
    take_watched(app);
    check(s);
    const cf_templates_row *e = current(s);
    int list_w = is_narrow ? r.w : 36;
    int list_h = is_narrow ? r.h / 4 + 2 : r.h;
    if (app->is_maximized) {
        list_w = is_narrow || s->focus == ON_LIST ? r.w : 0;
        list_h = s->focus == ON_LIST ? r.h : 0;
    }
    if (list_h > 0) {
        cf_rect l = {r.x, r.y, list_w, list_h};
        draw_list(app, g, cf_pane(g, l, "Templates", s->focus == ON_LIST));
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
        cf_app_say(app, CF_STYLE_DIM, "%s has no single place: the whole template", f->rule);
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

/* The pane under the wheel takes the focus. */
static bool templates_wheel(cf_app *app, int what, size_t value, int by)
{
    templates_view *s = state(app);
    (void)by;
    s->focus = what == SPOT_ROW          ? ON_LIST
               : what == SPOT_LINE       ? ON_SOURCE
               : what == CF_SPOT_FINDING ? ON_LINT
               : what == SPOT_PANE       ? (focus)value
                                         : s->focus;
    return false;
}

static void cmd_lint(cf_app *app)
{
    templates_view *s = state(app);
    s->shows_caps = false;
    /* The pane is shown, and what is found comes into it. */
    bool is_linting = s->check.n == 0 && lint_of(app) == NULL;
    if (findings(app) != NULL || is_linting) {
        s->focus = ON_LINT;
    }
}

static void say_written_back(cf_app *app)
{
    cf_buf file = CF_BUF_INIT;
    if (templates_file(app, &file)) {
        cf_app_say(app, CF_STYLE_OK, "in use; :w writes it back to %s", cf_buf_cstr(&file));
    }
    cf_buf_deinit(&file);
}

static void cmd_use(cf_app *app)
{
    templates_view *s = state(app);
    const cf_templates_row *e = current(s);
    char name[300];
    if (e == NULL) {
        return;
    }
    if (e->is_foreign) {
        cf_app_say(app, CF_STYLE_WARNING, "a template in Go's language cannot be used here");
        return;
    }
    bool is_old = e->is_version && cf_template_plain_name(e->name) == strlen(e->name);
    snprintf(name, sizeof name, "%.256s%s", e->name, is_old ? cf_template_edited : "");
    if (cf_template_use(app, "in use", name, e->source)) {
        reload(app);
        cf_list_go(&s->list, 0);
        if (is_old) {
            say_written_back(app);
        }
    }
}

/* What became of a text that was edited: in use and kept, or an edit that
 * takes the place of `e` until it compiles.  Takes `text`. */
static bool take_edited(cf_app *app, const cf_templates_row *e, const char *name, const char *why,
                        uint32_t line, cf_buf *text)
{
    templates_view *s = state(app);
    cf_str source = cf_buf_str(text);
    bool had_edit = has_edit(s, e);
    cf_buf_deinit(&s->edit);
    s->go_line = line > 0 ? line - 1 : SIZE_MAX;
    s->shown = SIZE_MAX;
    if (cf_str_eq(source, e->source)) {
        cf_app_say(app, CF_STYLE_DIM, had_edit ? "it is the text in use again" : "nothing changed");
        cf_buf_deinit(text);
        return false;
    }
    if (cf_template_use(app, why, name, source)) {
        cf_template_keep(app, name, e->source, source);
        cf_buf_deinit(text);
        reload(app);
        cf_list_go(&s->list, 0);
        return true;
    }
    snprintf(s->edit_name, sizeof s->edit_name, "%s", e->name);
    s->has_deleted = false;
    s->edit = *text;
    s->go_line = SIZE_MAX; /* it is shown where it broke */
    return false;
}

/* Edits a copy of the text under the cursor. */
static void edit_copy(cf_app *app, const cf_templates_row *e, uint32_t line)
{
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    cf_str from = text_of(state(app), e);
    char name[256];
    cf_buf_add(&text, from.p, from.n);
    if (cf_editor_run_at(app, ".jinja", line, &text, &err) != CF_OK) {
        cf_app_error(app, &err);
        cf_buf_deinit(&text);
        return;
    }
    size_t n = cf_template_plain_name(e->name);
    snprintf(name, sizeof name, "%.*s%s", n < 240 ? (int)n : 240, e->name, cf_template_edited);
    if (take_edited(app, e, name, "in use", line, &text)) {
        say_written_back(app);
    }
}

/* Edits the file that the text under the cursor came from. */
static void edit_file(cf_app *app, const cf_templates_row *e, uint32_t line)
{
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    char path[256];
    snprintf(path, sizeof path, "%s", e->name);
    cf_status st = cf_editor_run_file(app, path, line, &err);
    CF_THEN(st, cf_os_read_file(&text, path, TEMPLATE_MAX, &err));
    if (st != CF_OK) {
        cf_app_error(app, &err);
        cf_buf_deinit(&text);
        return;
    }
    char why[300];
    snprintf(why, sizeof why, "%s is written, and in use", path);
    if (take_edited(app, e, path, why, line, &text)) {
        cf_lab_undo_has_file(app->lab);
    }
}

/* Whether the row is a file that still has this text, or its broken one. */
static bool is_in_file(const templates_view *s, const cf_templates_row *e)
{
    cf_buf text = CF_BUF_INIT;
    bool is = !e->is_version && strlen(e->name) < 256 &&
              cf_template_plain_name(e->name) == strlen(e->name) && cf_template_is_file(e->name) &&
              cf_os_read_file(&text, e->name, TEMPLATE_MAX, NULL) == CF_OK &&
              cf_str_eq(cf_buf_str(&text), text_of(s, e));
    cf_buf_deinit(&text);
    return is;
}

/* Edits the text under the cursor; `line` (1-based, 0: any) is where the
 * editor begins and where the source is shown afterwards. */
static void edit(cf_app *app, uint32_t line)
{
    const templates_view *s = state(app);
    const cf_templates_row *e = current(s);
    if (e == NULL) {
        return;
    }
    if (is_in_file(s, e)) {
        edit_file(app, e, line);
    } else {
        edit_copy(app, e, line);
    }
}

static void templates_changed(cf_app *app)
{
    if (cf_app_view(app) == CF_VIEW_TEMPLATES) {
        reload(app);
    }
}

/* A text that does not compile goes first; its file gets the one in use. */
static void cmd_undo(cf_app *app)
{
    templates_view *s = state(app);
    const cf_templates_row *e = current(s);
    cf_error err;
    if (s->edit.n == 0 || s->has_deleted) {
        s->has_deleted = false;
        cf_cmd_undo(app, 0);
        return;
    }
    bool has_file = e != NULL && strcmp(s->edit_name, e->name) == 0 && is_in_file(s, e);
    cf_buf_deinit(&s->edit);
    s->shown = SIZE_MAX;
    cf_status st =
        has_file ? cf_os_write_file(e->name, e->source.p, e->source.n, 0644, &err) : CF_OK;
    if (st != CF_OK) {
        cf_app_error(app, &err);
    } else {
        cf_app_say(app, CF_STYLE_OK, "undone: the text that does not compile%s",
                   has_file ? ", in its file too" : "");
    }
}

/* ---- versions ----------------------------------------------------------- */

static const cf_templates_row *head_of(const templates_view *s)
{
    const cf_templates_row *e = current(s);
    while (e != NULL && e->is_version) {
        e--;
    }
    return e;
}

static void cmd_versions(cf_app *app)
{
    templates_view *s = state(app);
    const cf_templates_row *head = head_of(s);
    char name[256];
    if (head == NULL || head->n_versions == 0) {
        cf_app_say(app, CF_STYLE_DIM, "there is one text of this name");
        return;
    }
    size_t row = (size_t)(head - s->rows.v);
    bool is_open = strcmp(s->rows.open, head->name) == 0;
    snprintf(name, sizeof name, "%s", is_open ? "" : head->name);
    memcpy(s->rows.open, name, sizeof name);
    reload(app);
    /* What is above keeps its place, unless other versions were open there. */
    for (size_t i = 0; i < s->rows.n; i++) {
        row = strcmp(s->rows.v[i].name, s->rows.open) == 0 && !s->rows.v[i].is_version ? i : row;
    }
    cf_list_go(&s->list, row);
    s->focus = ON_LIST;
}

/* The text under the cursor and the one in use, side by side. */
static void cmd_compare(cf_app *app)
{
    templates_view *s = state(app);
    const cf_templates_row *e = current(s);
    if (e == NULL || s->list.cursor == 0) {
        cf_app_say(app, CF_STYLE_DIM, "this is the one in use: choose another one to compare");
        return;
    }
    cf_app_show(app, CF_VIEW_DIFF,
                &(cf_target){.kind = CF_TARGET_SOURCE, .name = e->name, .text = e->source});
}

/* Asks once, then forgets the text. */
static void cmd_delete(cf_app *app)
{
    templates_view *s = state(app);
    const cf_templates_row *e = current(s);
    cf_error err;
    if (e == NULL || e->hash[0] == '\0' || app->store == NULL) {
        cf_app_say(app, CF_STYLE_DIM, "this text is not kept in the history");
        return;
    }
    if (strcmp(s->deletes, e->hash) != 0) {
        snprintf(s->deletes, sizeof s->deletes, "%s", e->hash);
        cf_app_say(app, CF_STYLE_WARNING, "dd again deletes this text from the history%s",
                   cf_template_is_file(e->name) ? "; the file stays" : "");
        return;
    }
    s->deletes[0] = '\0';
    if (cf_store_delete_template(app->store, cf_str_from(e->hash), &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    cf_lab_add_undo(app->lab, CF_LAB_UNDO_STORE, (cf_uuid){{0}});
    s->has_deleted = true;
    reload(app);
    cf_app_say(app, CF_STYLE_OK, "deleted from the history; u undoes it");
}

static void cmd_tick(cf_app *app)
{
    templates_view *s = state(app);
    const cf_templates_row *e = current(s);
    if (e == NULL || e->is_foreign || e->source.n == 0) {
        cf_app_say(app, CF_STYLE_DIM, "this one cannot be rendered with");
    } else if (cf_lab_tick_choice(app->lab, CF_TICK_TEMPLATE, e->name, e->source)) {
        cf_list_move(&s->list, CF_MOVE_DOWN);
    }
}

static void cmd_caps(cf_app *app)
{
    templates_view *s = state(app);
    s->shows_caps = !s->shows_caps;
}

static void cmd_edit(cf_app *app)
{
    const templates_view *s = state(app);
    edit(app, s->focus == ON_LIST && s->bad_line == 0 ? 0 : (uint32_t)s->lines.cursor + 1);
}

static void cmd_enter(cf_app *app)
{
    templates_view *s = state(app);
    if (s->focus == ON_LIST) {
        cmd_use(app);
        return;
    }
    if (s->focus != ON_LINT || s->check.n != 0 || s->shows_caps) {
        cmd_edit(app);
        return;
    }
    const cf_lab_lint *lint = findings(app);
    if (lint != NULL && s->findings.cursor < lint->report.n) {
        show_finding(app, lint, s->findings.cursor);
        s->focus = ON_SOURCE;
    }
}

static void show_line(cf_app *app, uint32_t line)
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

static void edit_line(cf_app *app, uint32_t line)
{
    templates_view *s = state(app);
    reload(app);
    cf_list_go(&s->list, 0);
    s->shown = SIZE_MAX;
    check(s);
    edit(app, line);
}

static void templates_show(cf_app *app, const cf_target *target)
{
    if (target->kind == CF_TARGET_EDIT) {
        edit_line(app, (uint32_t)target->from);
    } else {
        show_line(app, (uint32_t)target->from);
    }
}

static void templates_search(cf_app *app, const char *text, int direction)
{
    templates_view *s = state(app);
    const cf_templates_row *e = current(s);
    cf_str source = e != NULL ? text_of(s, e) : cf_str_make("", 0);
    size_t n = count_lines(source);
    size_t from = s->lines.cursor, best = SIZE_MAX, line = 0, wrapped = SIZE_MAX;
    for (size_t at = 0; at < source.n; line++) {
        const char *nl = memchr(source.p + at, '\n', source.n - at);
        size_t end = nl != NULL ? (size_t)(nl - source.p) : source.n;
        cf_str shown = cf_str_make(source.p + at, end - at);
        at = end + 1;
        if (cf_find_smart(shown, text) == SIZE_MAX) {
            continue;
        }
        bool is_ahead = direction < 0 ? line < from : direction > 0 ? line > from : line >= from;
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
     "use the template; on a finding, show its line; in the source, edit it", CF_RUN(cmd_enter)},
    {"edit", HERE, "e E", "", "edit it in $EDITOR, a file in place; what compiles is used at once",
     CF_RUN(cmd_edit)},
    {"undo", HERE, "u", "", "undo the last edit or change of template", CF_RUN(cmd_undo)},
    {"capabilities", HERE, "C", "", "what it can do, or the findings", CF_RUN(cmd_caps)},
    {"versions", HERE, "za", "", "show or hide earlier texts of this name", CF_RUN(cmd_versions)},
    {"compare", HERE, "=", "", "compare this text with the one in use, in Diff",
     CF_RUN(cmd_compare)},
    {"delete", HERE, "dd", "", "delete a kept text from the history, after a question",
     CF_RUN(cmd_delete)},
    {"tick", HERE, "<Space>", "", "tick it for :sweep", CF_RUN(cmd_tick)},
    {"use", HERE, "", "", "render this conversation with it", CF_RUN(cmd_use)},
    {"pane", HERE, "<Tab>", "", "list, source or findings", CF_RUN(cmd_pane)},
    {"pane-back", HERE, "<S-Tab>", "", "previous pane", CF_RUN(cmd_pane_back)},
    {"next-finding", HERE, "]e", "", "go to the line of the next finding", CF_BY(go_finding, 1)},
    {"previous-finding", HERE, "[e", "", "go to the line of the previous finding",
     CF_BY(go_finding, -1)},
    {"lint", HERE, "L", "", "go to the findings", CF_RUN(cmd_lint)},
    CF_MOVE_ROWS(templates_move, HERE),
    {0},
};

static bool templates_step(cf_app *app)
{
    cf_watched_file_step(&state(app)->watched, app);
    return false;
}

static int templates_wait_ms(const cf_app *app)
{
    const templates_view *s = app->state[CF_VIEW_TEMPLATES];
    return cf_watched_file_wait_ms(&s->watched);
}

const cf_view_ops cf_view_templates = {
    .name = "templates",
    .title = "Templates",
    .commands = templates_commands,
    .footer = "open edit capabilities versions compare pane next-finding "
              "lint search maximize",
    .state_size = sizeof(templates_view),
    .open = templates_open,
    .close = templates_close,
    .enter = reload,
    .draw = templates_draw,
    .search = templates_search,
    .status = templates_status,
    .show = templates_show,
    .stale = templates_changed,
    .text = templates_text,
    .click = templates_click,
    .wheel = templates_wheel,
    .file = templates_file,
    .step = templates_step,
    .wait_ms = templates_wait_ms,
};
