/*
 * prompt_side.c - the panes next to the prompt: how much of it the cache has
 * and whose it is, what the linter found in the template, and its variables.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/safe_text.h"
#include "tui/lab/prompt/lab_lint.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/talk/lab_template.h"
#include "tui/view/kit/lint_pane.h"
#include "tui/view/kit/pane.h"
#include "tui/view/prompt/prompt.h"
#include "tui/widget/note.h"

const cf_lab_lint *cf_prompt__lint(cf_app *app)
{
    cf_str source = cf_lab_engine_of(app->lab)->template_source;
    return source.n != 0 ? cf_lab_lint_of(app->lab, source) : NULL;
}

static bool has_template(cf_app *app)
{
    return cf_lab_engine_of(app->lab)->template_source.n != 0;
}

enum { SLOTS_SHOWN = 4, LINT_LEAST = 4 };

/* ---- the cache ---------------------------------------------------------- */

static void draw_bar(cf_grid *g, int x, int y, int w, size_t part, size_t all)
{
    int full = all != 0 ? (int)((size_t)w * part / all) : 0;
    for (int i = 0; i < w; i++) {
        cf_grid_puts(g, x + i, y, 1, i < full ? "=" : "+", i < full ? CF_STYLE_KEPT : CF_STYLE_NEW);
    }
}

/* What the slots of a server hold of this prompt; returns the next row. */
static int draw_slots(cf_app *app, cf_grid *g, cf_rect r, int y, const cf_prompt_model *m)
{
    cf_lab_slot slot[SLOTS_SHOWN];
    size_t n = cf_lab_server_slots(app->lab, slot, SLOTS_SHOWN);
    for (size_t i = 0; i < n && i < SLOTS_SHOWN && y < r.y + r.h; i++, y++) {
        int at = cf_grid_putf(g, r.x, y, r.w, CF_STYLE_NORMAL, "slot %zu %s", i,
                              slot[i].is_busy ? "busy" : "idle");
        if (slot[i].has_prompt) {
            cf_grid_putf(g, r.x + at, y, r.w - at, CF_STYLE_NORMAL, ", has %zu of %zu bytes",
                         slot[i].n_same, m->prompt.text.n);
        } else if (slot[i].n_decoded >= 0) {
            cf_grid_putf(g, r.x + at, y, r.w - at, CF_STYLE_NORMAL, ", %lld tokens written",
                         (long long)slot[i].n_decoded);
        }
    }
    return y;
}

/* What Inside found about the part under the cursor, where its shades are shown;
 * returns the next row. */
static int draw_inside(cf_app *app, cf_grid *g, cf_rect r, int y, const cf_prompt_model *m)
{
    const cf_prompt_view *s = cf_prompt__state(app);
    cf_buf text = CF_BUF_INIT;
    if (s->shades == CF_VIEW_INSIDE && s->token < m->n &&
        cf_views[CF_VIEW_INSIDE]->about(app, &m->prompt, m->ids[s->token].off, &text)) {
        y += cf_note_put(g, (cf_rect){r.x, y, r.w, r.y + r.h - y}, cf_buf_str(&text),
                         CF_STYLE_NORMAL);
    }
    cf_buf_deinit(&text);
    return y;
}

/* The sum of a part's tokens; with shades of Inside the share that was looked at. */
static void put_sum(cf_app *app, const cf_prompt_model *m, const cf_prompt_part *p, size_t sum,
                    char out[16])
{
    snprintf(out, 16, "%7zu", sum);
    if (cf_prompt__state(app)->shades == CF_VIEW_INSIDE) {
        const cf_token_span *last = &m->ids[p->first + p->n_tokens - 1];
        snprintf(out, 16, "%6.1f%%",
                 100 * cf_views[CF_VIEW_INSIDE]->share(app, &m->prompt, m->ids[p->first].off,
                                                       last->off + last->len));
    }
}

/* The first of `room` parts in sight, so that the one of the token is. */
static size_t first_part(const cf_prompt_model *m, size_t token, size_t room)
{
    size_t at = 0;
    while (at + 1 < m->n_part && token >= m->part[at].first + m->part[at].n_tokens) {
        at++;
    }
    size_t first = at > room / 2 ? at - room / 2 : 0;
    return first < m->n_part - room ? first : m->n_part - room;
}

static void draw_inspector(cf_app *app, cf_grid *g, cf_rect r, const cf_prompt_model *m)
{
    int y = r.y;
    const cf_backend_info info = cf_lab_info(app->lab);
    if (info.prompt_is_ours) {
        cf_grid_puts(g, r.x, y++, r.w, "ours, not the server's", CF_STYLE_WARNING);
    } else if (info.asks_prompt) {
        cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL,
                     info.n_ctx != 0 ? "%s's prompt, context %u" : "%s's prompt", info.server,
                     info.n_ctx);
    }
    cf_send at = {.message = NULL};
    if (info.asks_prompt && cf_lab_prompt_parent(app->lab, &at)) {
        cf_grid_puts(g, r.x, y++, r.w, "before the last reply", CF_STYLE_DIM);
    }
    if (cf_lab_prompt_ours(app->lab) == CF_LAB_OURS_DIFFERS) {
        cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_WARNING, "not what %.30s makes of it (=)",
                     cf_lab_template_name(app->lab));
    } else if (cf_lab_prompt_ours(app->lab) == CF_LAB_OURS_SAME) {
        cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_DIM, "as %.30s makes it",
                     cf_lab_template_name(app->lab));
    }
    cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL, "Cache  %zu of %zu tokens (%zu%%)", m->n_kept,
                 m->n, m->n != 0 ? 100 * m->n_kept / m->n : 0);
    draw_bar(g, r.x, y++, r.w, m->n_kept, m->n);
    y = draw_slots(app, g, r, y, m);
    if (m->has_break) {
        cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_WARNING, "lost %zu cached tokens at token %zu",
                     m->n_lost, m->n_kept);
        cf_buf why = CF_BUF_INIT;
        cf_buf cause = CF_BUF_INIT; /* it may hold line ends */
        cf_lab_break_cause(app->lab, &cause);
        cf_safe_line(&why, cf_buf_cstr(&cause), cause.n);
        cf_buf_deinit(&cause);
        y += cf_note_put(g, (cf_rect){r.x, y, r.w, r.y + r.h - y}, cf_buf_str(&why),
                         CF_STYLE_NORMAL);
        cf_buf_deinit(&why);
    }
    if (m->is_other) {
        cf_grid_puts(g, r.x, y++, r.w, "the cache holds another conversation", CF_STYLE_DIM);
    }
    y = draw_inside(app, g, r, y, m) + 1;
    size_t first = 0;
    if (y < r.y + r.h) {
        char head[64] = "Part";
        size_t room = (size_t)(r.y + r.h - y - 1);
        if (m->n_part > room) {
            snprintf(head, sizeof head, "Part, %zu of %zu", room, m->n_part);
            first = first_part(m, m->has_break ? m->n_kept : cf_prompt__state(app)->token, room);
        }
        cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_DIM, "%-*s %6s %7s", r.w - 17, head, "tokens",
                     cf_prompt__state(app)->shades == CF_VIEW_INSIDE ? "looked" : "sum");
    }
    size_t sum = 0;
    for (size_t i = 0; i < m->n_part && y < r.y + r.h; i++) {
        const cf_prompt_part *p = &m->part[i];
        char label[16], shown[16];
        sum += p->n_tokens;
        if (i < first) {
            continue;
        }
        if (p->n_tokens == 0) {
            cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_ERROR, "%-*s nothing written", r.w - 17,
                         cf_prompt__label(app->lab, p->message, label));
            continue;
        }
        bool breaks = m->has_break && m->n_kept >= p->first && m->n_kept < p->first + p->n_tokens;
        put_sum(app, m, p, sum, shown);
        cf_grid_putf(g, r.x, y++, r.w, breaks ? CF_STYLE_WARNING : CF_STYLE_NORMAL,
                     "%-*s %6zu %s %s", r.w - 17, cf_prompt__label(app->lab, p->message, label),
                     p->n_tokens, shown, breaks ? "!" : "");
    }
}

/* ---- variables ---------------------------------------------------------- */

static void draw_variable(cf_grid *g, cf_rect r, const cf_lab_variable *v, bool is_on)
{
    bool is_set = v->value.n > 0;
    cf_style style = is_on ? CF_STYLE_SELECTED : is_set ? CF_STYLE_NORMAL : CF_STYLE_DIM;
    int name_w = r.w / 2;
    cf_grid_fill(g, r, ' ', is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL);
    cf_grid_put(g, r.x, r.y, name_w - 1, v->name, style);
    if (is_set) {
        cf_grid_put(g, r.x + name_w, r.y, r.w - name_w, cf_str_make(v->value.p, v->value.n), style);
    } else {
        cf_grid_puts(g, r.x + name_w, r.y, r.w - name_w, v->origin, style);
    }
}

/* Where the value comes from and where the template asks for it. */
static void draw_about(cf_grid *g, cf_rect r, const cf_lab_variable *v)
{
    char line[40] = "not used by it";
    if (v->line != 0) {
        snprintf(line, sizeof line, "line %u", (unsigned)v->line);
    }
    cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_DIM, "%s; from %s", line,
                 v->value.n > 0 ? v->origin : "not set");
}

static void draw_vars(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_prompt_view *s = cf_prompt__state(app);
    bool is_on = s->focus == CF_PROMPT_VARS;
    cf_lab_variable *v;
    size_t n;
    cf_error err;
    cf_rect inner = {r.x + 2, r.y + 1, r.w - 4, r.h - 2};
    cf_status st = has_template(app) ? cf_lab_variables(app->lab, &v, &n, &err)
                                     : cf_fail(&err, CF_ENOTFOUND, "there is no template");
    char title[40] = "Variables";
    if (st == CF_OK) {
        snprintf(title, sizeof title, "Variables  %zu", n);
    }
    cf_pane(g, r, title, is_on);
    cf_grid_spot(g, r, CF_PROMPT_SPOT_PANE, CF_PROMPT_VARS);
    if (st != CF_OK) {
        cf_grid_puts(g, inner.x, inner.y, inner.w, err.text, CF_STYLE_DIM);
        return;
    }
    int rows = inner.h > 3 ? inner.h - 1 : inner.h;
    cf_rows shown =
        cf_rows_begin(g, (cf_rect){inner.x, inner.y, inner.w, rows}, &s->vars, n, is_on);
    while (cf_rows_next(&shown, CF_PROMPT_SPOT_VAR)) {
        draw_variable(g, shown.at, &v[shown.i], is_on && shown.is_on);
    }
    if (rows < inner.h && s->vars.cursor < n) {
        draw_about(g, (cf_rect){inner.x, inner.y + rows, inner.w, 1}, &v[s->vars.cursor]);
    }
    cf_lab_variables_free(v, n);
}

/* The variable under the cursor, as a copy of its name and value. */
static uint32_t variable_here(cf_app *app, cf_buf *assignment)
{
    const cf_prompt_view *s = cf_prompt__state(app);
    cf_lab_variable *v;
    size_t n;
    cf_error err;
    uint32_t line = 0;
    if (!has_template(app) || cf_lab_variables(app->lab, &v, &n, &err) != CF_OK) {
        return 0;
    }
    if (s->vars.cursor < n) {
        const cf_lab_variable *row = &v[s->vars.cursor];
        line = row->line;
        if (assignment != NULL) {
            bool is_json = strcmp(row->origin, "the conversation") != 0 &&
                           strcmp(row->origin, "the declarations") != 0;
            cf_buf_add(assignment, row->name.p, row->name.n);
            cf_buf_addc(assignment, '=');
            cf_buf_add(assignment, cf_buf_cstr(&row->value), is_json ? row->value.n : 0);
        }
    }
    cf_lab_variables_free(v, n);
    return line;
}

void cf_prompt__edit_variable(cf_app *app)
{
    cf_buf line = CF_BUF_INIT;
    cf_buf_adds(&line, "var ");
    (void)variable_here(app, &line);
    cf_edit_set(&app->command_line, cf_buf_str(&line));
    app->mode = CF_MODE_COMMAND;
    cf_buf_deinit(&line);
}

/* ---- findings ----------------------------------------------------------- */

static void draw_lint(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_prompt_view *s = cf_prompt__state(app);
    bool is_on = s->focus == CF_PROMPT_LINT;
    if (!has_template(app)) {
        cf_pane(g, r, "Lint", is_on);
        cf_grid_puts(g, r.x + 2, r.y + 1, r.w - 4, "there is no template", CF_STYLE_DIM);
        return;
    }
    cf_grid_spot(g, r, CF_PROMPT_SPOT_PANE, CF_PROMPT_LINT);
    cf_lint_pane_draw(g, r, cf_prompt__lint(app), &s->findings, is_on, is_on);
}

/* The finding under the cursor; NULL. */
static const cf_lint_finding *finding_here(cf_app *app)
{
    const cf_prompt_view *s = cf_prompt__state(app);
    const cf_lab_lint *lint = cf_prompt__lint(app);
    return lint != NULL && lint->status == CF_OK && s->findings.cursor < lint->report.n
               ? &lint->report.v[s->findings.cursor]
               : NULL;
}

/* Puts the cursor of the prompt on the first token that a line wrote. */
static void show_line(cf_app *app, const cf_lint_finding *f)
{
    cf_prompt_view *s = cf_prompt__state(app);
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    for (size_t i = 0; m != NULL && m->prompt.n_spans != 0 && i < m->n; i++) {
        if (m->prompt.spans[m->token[i].span].line == f->line) {
            s->token = i;
            return;
        }
    }
    if (f->line == 0) {
        cf_app_say(app, CF_STYLE_DIM, "%s has no single place: the whole template", f->rule);
    } else if (m != NULL && m->n > 0) {
        cf_app_say(app, CF_STYLE_DIM, "line %u wrote nothing of this prompt (Enter opens it)",
                   (unsigned)f->line);
    }
}

void cf_prompt__go_finding(cf_app *app, int by)
{
    cf_prompt_view *s = cf_prompt__state(app);
    const cf_lab_lint *lint = cf_prompt__lint(app);
    if (lint == NULL || lint->status != CF_OK || lint->report.n == 0) {
        cf_app_say(app, CF_STYLE_DIM,
                   !has_template(app) ? "there is no template"
                   : lint == NULL     ? "not linted yet"
                                      : "nothing was found");
        return;
    }
    size_t n = lint->report.n;
    size_t at = s->findings.cursor < n ? s->findings.cursor : 0;
    at = s->focus != CF_PROMPT_LINT && by > 0 ? 0 : (at + (by > 0 ? 1 : n - 1)) % n;
    s->focus = CF_PROMPT_LINT;
    cf_list_set(&s->findings, n, s->findings.height);
    cf_list_go(&s->findings, at);
    show_line(app, &lint->report.v[at]);
}

void cf_prompt__show_finding(cf_app *app, size_t i)
{
    const cf_lab_lint *lint = cf_prompt__lint(app);
    if (lint != NULL && lint->status == CF_OK && i < lint->report.n) {
        cf_list_go(&cf_prompt__state(app)->findings, i);
        show_line(app, &lint->report.v[i]);
    }
}

/* ---- all of them -------------------------------------------------------- */

void cf_prompt__cmd_lint(cf_app *app)
{
    cf_prompt__state(app)->focus = CF_PROMPT_LINT;
}

void cf_prompt__cmd_vars(cf_app *app)
{
    cf_prompt__state(app)->focus = CF_PROMPT_VARS;
}

void cf_prompt__move_side(cf_app *app, cf_move move)
{
    cf_prompt_view *s = cf_prompt__state(app);
    if (s->focus == CF_PROMPT_VARS) {
        cf_list_move(&s->vars, move);
        return;
    }
    cf_list_move(&s->findings, move);
    const cf_lint_finding *f = finding_here(app);
    if (f != NULL) {
        show_line(app, f);
    }
}

uint32_t cf_prompt__line(cf_app *app)
{
    const cf_prompt_view *s = cf_prompt__state(app);
    if (!has_template(app)) {
        return 0;
    }
    if (s->focus == CF_PROMPT_VARS) {
        return variable_here(app, NULL);
    }
    if (s->focus == CF_PROMPT_LINT) {
        const cf_lint_finding *f = finding_here(app);
        return f != NULL ? f->line : 0;
    }
    const cf_prompt_span *span = cf_prompt__span(app);
    return span != NULL ? span->line : 0;
}

void cf_prompt__draw_focus(cf_app *app, cf_grid *g, cf_rect r, const cf_prompt_model *m)
{
    if (cf_prompt__state(app)->focus == CF_PROMPT_INSPECTOR && m != NULL) {
        draw_inspector(app, g, cf_pane(g, r, "Inspector", true), m);
    } else if (cf_prompt__state(app)->focus == CF_PROMPT_LINT) {
        draw_lint(app, g, r);
    } else {
        draw_vars(app, g, r);
    }
}

void cf_prompt__draw_side(cf_app *app, cf_grid *g, cf_rect r, const cf_prompt_model *m)
{
    const cf_lab_lint *lint = cf_prompt__lint(app);
    int n = lint != NULL && lint->status == CF_OK ? (int)lint->report.n : 0;
    int n_vars = lint != NULL ? (int)lint->n_variables : 1;
    bool is_lint = cf_prompt__state(app)->focus == CF_PROMPT_LINT;
    bool is_vars = cf_prompt__state(app)->focus == CF_PROMPT_VARS;
    int lint_h = has_template(app) ? cf_lint_pane_height(n, r.h, is_lint) : 3;
    int most = is_vars ? r.h / 2 : r.h / 4;
    int vars_h = n_vars + 3 < most ? n_vars + 3 : most;
    vars_h = vars_h < 3 ? 3 : vars_h;
    bool has_tokens = m != NULL && m->n > 0;
    bool has_break = has_tokens && m->has_break;
    vars_h = has_break && !is_vars ? 3 : vars_h; /* the cause, and parts beside it */
    if (has_template(app) && !is_lint) {
        /* What the others leave is for messages that are wrapped. */
        int n_part = !has_tokens ? 0 : m->n_part < 20 ? (int)m->n_part : 20;
        int top = !has_tokens ? 0 : (has_break ? 11 : 6) + n_part;
        int room = r.h - vars_h - top;
        int want = cf_lint_pane_height(3 * n, r.h, false);
        lint_h = has_break && lint_h > LINT_LEAST ? LINT_LEAST : lint_h;
        lint_h = room < lint_h ? lint_h : room < want ? room : want;
    }
    if (!has_tokens) { /* nothing to say of a cache: more room for the rest */
        vars_h = r.h - lint_h;
    }
    cf_rect top = {r.x, r.y, r.w, r.h - lint_h - vars_h};
    if (has_tokens && top.h >= 3) {
        cf_pane(g, top, "Inspector", false);
        draw_inspector(app, g, (cf_rect){top.x + 2, top.y + 1, top.w - 4, top.h - 2}, m);
    }
    draw_lint(app, g, (cf_rect){r.x, r.y + top.h, r.w, lint_h});
    draw_vars(app, g, (cf_rect){r.x, r.y + top.h + lint_h, r.w, vars_h});
}
