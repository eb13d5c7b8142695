/*
 * lint_pane.c - findings drawn.
 */
#include "tui/view/kit/lint_pane.h"

#include <stdio.h>

#include "core/base/safe_text.h"
#include "tui/grid/wrap.h"
#include "tui/lab/prompt/lab_lint.h"
#include "tui/view/kit/pane.h"
#include "tui/widget/note.h"

enum {
    EXPLAINED = 5, /* lines for one finding */
    EXPLAINED_MAX = 8,
    NARROW = 50 /* cells */
};

static cf_style style_of(char kind)
{
    return kind == 'E' ? CF_STYLE_ERROR : kind == 'W' ? CF_STYLE_WARNING : CF_STYLE_DIM;
}

int cf_lint_pane_height(int n, int all, bool explains)
{
    int want = n > 0 ? (explains ? 2 * n + EXPLAINED : n) + 2 : 3;
    int most = explains ? all / 2 : all * 2 / 5;
    return want < most ? want : most > 3 ? most : all >= 6 ? 3 : 0;
}

/* Wrapped text; returns the row after it. */
static int put_text(cf_grid *g, cf_rect r, int y, cf_str s, cf_style style)
{
    int h = r.y + r.h - y;
    size_t n = cf_grid_put_wrapped(g, (cf_rect){r.x, y, r.w, h}, 0, s, style);
    return (int)n < h ? y + (int)n : y + (h > 0 ? h : 0);
}

/* In a narrow pane the line's number begins the message. */
static void put_message(cf_buf *out, const cf_lint_finding *f, bool is_narrow)
{
    if (is_narrow && f->line != 0) {
        cf_buf_addf(out, "line %u: ", (unsigned)f->line);
    }
    cf_safe_line(out, f->message.p, f->message.n); /* line ends spelled out */
}

static bool is_narrow(int width)
{
    return width < NARROW;
}

/* A finding's message in at most r.h rows, and the rows it takes; g NULL: only
 * these. */
static int draw_row(cf_grid *g, cf_rect r, const cf_lint_finding *f, bool is_on)
{
    cf_style style = is_on ? CF_STYLE_SELECTED : style_of(f->rule[0]);
    cf_style plain = is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
    int x = is_narrow(r.w) ? 5 : 11;
    cf_buf text = CF_BUF_INIT;
    put_message(&text, f, is_narrow(r.w));
    if (g != NULL) {
        cf_grid_fill(g, (cf_rect){r.x, r.y, r.w, 1}, ' ', plain);
        cf_grid_puts(g, r.x, r.y, 5, f->rule, style);
    }
    if (g != NULL && !is_narrow(r.w) && f->line != 0) {
        cf_grid_putf(g, r.x + 5, r.y, 5, plain, "%4u", (unsigned)f->line);
    }
    int n = cf_note_put(g, (cf_rect){r.x + x, r.y, r.w - x, r.h}, cf_buf_str(&text), plain);
    cf_buf_deinit(&text);
    return n > 1 ? n : 1;
}

/* The condition that decided, when one is known; returns the row after it. */
static int put_because(cf_grid *g, cf_rect r, int y, const cf_lint_finding *f)
{
    cf_buf text = CF_BUF_INIT;
    cf_buf line = CF_BUF_INIT;
    if (f->n_because != 0) {
        cf_lint_because_text(&text, &f->because[0]);
        cf_safe_line(&line, cf_buf_cstr(&text), text.n);
        y = put_text(g, r, y, cf_buf_str(&line), CF_STYLE_NORMAL);
    }
    cf_buf_deinit(&text);
    cf_buf_deinit(&line);
    return y;
}

static void draw_findings(cf_grid *g, cf_rect r, const cf_lint_report *report, cf_list *list,
                          bool has_focus, bool explains)
{
    int text = r.h - 2 * (int)report->n;
    text = text < EXPLAINED ? EXPLAINED : text > EXPLAINED_MAX ? EXPLAINED_MAX : text;
    int rows = explains && r.h > text + 1 ? r.h - text : r.h;
    cf_list_set(list, report->n, (size_t)rows);
    /* Rows that no finding needs go to long messages, that under the cursor first. */
    const cf_lint_finding *f = &report->v[list->cursor];
    int spare = rows > (int)report->n ? rows - (int)report->n : 0, y = 0;
    int whole = draw_row(NULL, (cf_rect){r.x, r.y, r.w, rows}, f, true);
    int own = !has_focus ? 1 : whole > 1 + spare ? 1 + spare : whole, shown = 0;
    spare -= own - 1;
    for (size_t i = list->top; i < report->n && y < rows; i++) {
        bool is_on = has_focus && i == list->cursor;
        cf_rect at = {r.x, r.y + y, r.w, is_on ? own : 1 + spare};
        at.h = draw_row(g, at, &report->v[i], is_on);
        cf_grid_spot(g, at, CF_SPOT_FINDING, i);
        if (is_on) {
            g->cursor_x = r.x;
            g->cursor_y = at.y;
        }
        shown = i == list->cursor ? at.h : shown;
        spare -= is_on ? 0 : at.h - 1;
        y += at.h;
    }
    if (rows < r.h) {
        cf_rect below = {r.x, r.y + rows, r.w, r.h - rows};
        y = below.y;
        if (shown < whole) {
            cf_buf line = CF_BUF_INIT; /* line ends spelled out */
            cf_safe_line(&line, f->message.p, f->message.n);
            y = put_text(g, below, y, cf_buf_str(&line), CF_STYLE_NORMAL);
            cf_buf_deinit(&line);
        }
        y = put_because(g, below, y, f);
        y = put_text(g, below, y, cf_str_from(f->fix), CF_STYLE_OK);
        (void)put_text(g, below, y, cf_str_from(f->effect), CF_STYLE_DIM);
    }
}

/* "Lint  2 errors, 1 warning, 0 notes", or "Lint  2 E, 1 W, 0 I". */
static void name_counts(char *out, size_t size, const cf_lint_report *r, bool is_short)
{
    if (is_short) {
        snprintf(out, size, "Lint  %zu E, %zu W, %zu I", r->n_errors, r->n_warnings, r->n_notes);
        return;
    }
    snprintf(out, size, "Lint  %zu error%s, %zu warning%s, %zu note%s", r->n_errors,
             r->n_errors == 1 ? "" : "s", r->n_warnings, r->n_warnings == 1 ? "" : "s", r->n_notes,
             r->n_notes == 1 ? "" : "s");
}

void cf_lint_pane_draw(cf_grid *g, cf_rect r, const cf_lab_lint *lint, cf_list *list,
                       bool has_focus, bool explains)
{
    char title[96] = "Lint";
    cf_rect inner = {r.x + 2, r.y + 1, r.w - 4, r.h - 2};
    if (lint != NULL && lint->status == CF_OK) {
        name_counts(title, sizeof title, &lint->report, r.w < 50);
    }
    cf_pane(g, r, title, has_focus);
    if (inner.h < 1 || inner.w < 14) {
        return;
    }
    if (lint == NULL) {
        cf_grid_puts(g, inner.x, inner.y, inner.w, "linting ...", CF_STYLE_DIM);
    } else if (lint->status != CF_OK) {
        cf_grid_puts(g, inner.x, inner.y, inner.w, lint->err.text, CF_STYLE_ERROR);
    } else if (lint->report.n == 0) {
        cf_grid_puts(g, inner.x, inner.y, inner.w, "It compiles, and nothing was found.",
                     CF_STYLE_OK);
    } else {
        draw_findings(g, inner, &lint->report, list, has_focus, explains);
    }
}

void cf_lint_pane_mark(cf_grid *g, int x, int y, const cf_lab_lint *lint, uint32_t line)
{
    if (lint == NULL || lint->status != CF_OK) {
        return;
    }
    for (size_t i = 0; i < lint->report.n; i++) {
        const cf_lint_finding *f = &lint->report.v[i];
        if (f->line == line) { /* errors come first */
            cf_grid_putf(g, x, y, 1, style_of(f->rule[0]), "%c", f->rule[0]);
            return;
        }
    }
}
