/*
 * steps_draw.c - the lists of the Steps view, and what the line under the
 * cursor holds.
 */
#include <string.h>

#include "core/base/os.h"
#include "tui/view/kit/pane.h"
#include "tui/view/steps/steps.h"

enum { DETAIL_ROWS = 12 };

static void put_number(cf_grid *g, int x, int y, int width, int64_t v, cf_style style)
{
    if (v == 0) {
        cf_grid_putf(g, x, y, width, style, "%*s", width, "-");
    } else {
        cf_grid_putf(g, x, y, width, style, "%*lld", width, (long long)v);
    }
}

/* ---- the list of sessions ------------------------------------------------ */

static void draw_name(cf_grid *g, cf_rect r, const cf_steps_name *n, bool is_on)
{
    char time[25] = "";
    cf_style style = is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
    if (n->started_ms != 0) {
        cf_os_format_time(time, n->started_ms);
        time[10] = ' ';
    }
    cf_grid_fill(g, r, ' ', style);
    cf_grid_putf(g, r.x, r.y, 16, style, "%.16s", time);
    cf_grid_puts(g, r.x + 18, r.y, 12, n->format, style);
    put_number(g, r.x + 30, r.y, 6, (int64_t)n->n_steps, style);
    cf_grid_put(g, r.x + 38, r.y, r.w - 38, cf_str_from(n->title), style);
}

static void draw_names(cf_steps_view *v, cf_grid *g, cf_rect r)
{
    cf_grid_puts(g, r.x, r.y, r.w, "started           agent        steps  title", CF_STYLE_TITLE);
    if (v->n_names == 0) {
        cf_grid_puts(g, r.x, r.y + 1, r.w,
                     v->is_listing ? "Looking for sessions ..."
                                   : "No sessions of agents here; :session FILE opens one.",
                     CF_STYLE_DIM);
        return;
    }
    cf_rows rows =
        cf_rows_begin(g, (cf_rect){r.x, r.y + 1, r.w, r.h - 1}, &v->name_list, v->n_names, true);
    while (cf_rows_next(&rows, 0)) {
        draw_name(g, rows.at, &v->names[rows.i], rows.is_on);
    }
}

/* ---- a session ----------------------------------------------------------- */

static void put_sum(cf_grid *g, cf_rect r, const cf_trail_sum *s, cf_style style)
{
    put_number(g, r.x + 8, r.y, 8, s->used.input, style);
    put_number(g, r.x + 17, r.y, 8, s->used.cache_read, style);
    put_number(g, r.x + 26, r.y, 8, s->used.cache_creation, style);
    put_number(g, r.x + 35, r.y, 7, s->used.output, style);
    put_number(g, r.x + 43, r.y, 7, s->used.reasoning, style);
    cf_grid_putf(g, r.x + 51, r.y, 6, style, "%6.1f", (double)s->ms / 1000);
}

static void put_calls(cf_grid *g, cf_rect r, const cf_trail_row *row, const cf_trail_message *m,
                      cf_style style)
{
    int x = r.x;
    for (size_t i = 0; m != NULL && i < m->n_calls && x < r.x + r.w; i++) {
        x += cf_grid_putf(g, x, r.y, r.x + r.w - x, style, "%s%.*s", i == 0 ? "" : ", ",
                          (int)(m->calls[i].name.n < 40 ? m->calls[i].name.n : 40),
                          m->calls[i].name.p);
    }
    if (row->sum.n_failed != 0 && x < r.x + r.w) {
        cf_grid_putf(g, x, r.y, r.x + r.w - x, style, " (%zu failed)", row->sum.n_failed);
    }
}

static void draw_step(const cf_steps_view *v, cf_grid *g, cf_rect r, const cf_steps_line *line,
                      cf_style style)
{
    const cf_trail_row *row = &v->now.steps.rows[line->row];
    const cf_trail_event *e = &cf_steps_trail(v)->events[line->at];
    int64_t prompt = cf_trail_prompt(&row->sum.used);
    cf_grid_putf(g, r.x, r.y, 7, style, "%*s%zu%s", line->depth, "", e->as.step->n,
                 e->is_branch ? "~" : "");
    put_sum(g, r, &row->sum, style);
    if (row->window != 0) {
        cf_grid_putf(g, r.x + 58, r.y, 4, style, "%3lld%%",
                     (long long)(prompt * 100 / row->window));
    }
    cf_grid_puts(g, r.x + 63, r.y, 1, row->n_findings != 0 ? "!" : " ", style);
    put_calls(g, (cf_rect){r.x + 65, r.y, r.w - 65, 1}, row, e->as.step->message, style);
}

static bool has_finding_at(const cf_steps_view *v, size_t at)
{
    for (size_t i = 0; i < v->now.found.n; i++) {
        if (v->now.found.v[i].at == at) {
            return true;
        }
    }
    return false;
}

static void draw_agent(const cf_steps_view *v, cf_grid *g, cf_rect r, const cf_steps_line *line,
                       cf_style style)
{
    const cf_trail_group *a = &v->now.steps.agents[line->agent];
    cf_grid_putf(g, r.x, r.y, 7, style, "%*s%s", line->depth, "",
                 v->is_folded[line->agent] ? "+" : "-");
    put_sum(g, r, &a->sum, style);
    cf_grid_puts(g, r.x + 63, r.y, 1, has_finding_at(v, line->at) ? "!" : " ", style);
    cf_grid_put(g, r.x + 65, r.y, r.w - 65, a->title.n != 0 ? a->title : a->name, style);
}

static void draw_line(const cf_steps_view *v, cf_grid *g, cf_rect r, const cf_steps_line *line,
                      bool is_on)
{
    bool is_marked = line->kind == CF_STEPS_STEP
                         ? v->now.steps.rows[line->row].n_findings != 0
                         : line->kind != CF_STEPS_ABORTED && has_finding_at(v, line->at);
    cf_style style = is_on                         ? CF_STYLE_SELECTED
                     : is_marked                   ? CF_STYLE_WARNING
                     : line->kind == CF_STEPS_STEP ? CF_STYLE_NORMAL
                                                   : CF_STYLE_DIM;
    cf_grid_fill(g, r, ' ', style);
    if (line->kind == CF_STEPS_STEP) {
        draw_step(v, g, r, line, style);
    } else if (line->kind == CF_STEPS_AGENT) {
        draw_agent(v, g, r, line, style);
    } else {
        cf_grid_putf(g, r.x, r.y, r.w, style, "%*s-- %s", line->depth, "",
                     line->kind == CF_STEPS_COMPACTION
                         ? "the context was compacted: what is gone is below"
                         : "stopped by the user");
    }
}

static void draw_head(const cf_steps_view *v, cf_grid *g, cf_rect r)
{
    const cf_trail *t = cf_steps_trail(v);
    int x = r.x + cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_TITLE, "%s  ", t->format);
    x += cf_grid_put(g, x, r.y, r.x + r.w - x, cf_trail_name(t), CF_STYLE_TITLE);
    if (v->is_reading) {
        cf_grid_putf(g, x, r.y, r.x + r.w - x, CF_STYLE_WARNING, "  reading the rest ...");
    } else if (t->n_left_out != 0) {
        cf_grid_putf(g, x, r.y, r.x + r.w - x, CF_STYLE_DIM, "  %zu records left out",
                     t->n_left_out);
    }
    cf_grid_puts(g, r.x, r.y + 1, r.w,
                 "step       input   cached  written  output thought   secs full   calls",
                 CF_STYLE_TITLE);
}

static void draw_detail(const cf_steps_view *v, cf_grid *g, cf_rect r)
{
    cf_buf text = CF_BUF_INIT;
    int y = 0, skip = v->scroll;
    cf_steps_detail(&text, v);
    for (const char *p = cf_buf_cstr(&text); *p != '\0' && y < r.h;) {
        size_t n = strcspn(p, "\n");
        if (skip > 0) {
            skip--;
        } else {
            cf_style style = p[0] == '!' ? CF_STYLE_WARNING : CF_STYLE_NORMAL;
            cf_grid_put(g, r.x, r.y + y++, r.w, cf_str_make(p, n), style);
        }
        p += n + (p[n] == '\n');
    }
    cf_buf_deinit(&text);
}

static void draw_session(cf_steps_view *v, cf_grid *g, cf_rect r)
{
    int n_detail = r.h > 3 * DETAIL_ROWS ? DETAIL_ROWS : r.h / 3;
    draw_head(v, g, r);
    cf_rows rows = cf_rows_begin(g, (cf_rect){r.x, r.y + 2, r.w, r.h - n_detail - 4}, &v->list,
                                 v->n_lines, true);
    while (cf_rows_next(&rows, 0)) {
        draw_line(v, g, rows.at, &v->lines[rows.i], rows.is_on);
    }
    cf_rect sum = {r.x, r.y + r.h - n_detail - 2, r.w, 1};
    cf_grid_putf(g, sum.x, sum.y, 7, CF_STYLE_TITLE, "%zu", v->now.steps.n_rows);
    put_sum(g, sum, &v->now.steps.sum, CF_STYLE_TITLE);
    cf_grid_putf(g, r.x + 58, sum.y, r.w - 58, CF_STYLE_TITLE, "sum, %zu call%s, %zu finding%s",
                 v->now.steps.sum.n_calls, v->now.steps.sum.n_calls == 1 ? "" : "s", v->now.found.n,
                 v->now.found.n == 1 ? "" : "s");
    draw_detail(v, g, (cf_rect){r.x, r.y + r.h - n_detail, r.w, n_detail});
}

void cf_steps_draw(cf_steps_view *v, cf_grid *g, cf_rect r)
{
    cf_rect in = {r.x + 1, r.y, r.w - 2, r.h};
    if (v->path == NULL) {
        draw_names(v, g, in);
    } else if (v->has_session) {
        draw_session(v, g, in);
    } else {
        cf_grid_puts(g, in.x, in.y, in.w, "Reading ...", CF_STYLE_DIM);
    }
}

/* ---- the lower pane ------------------------------------------------------ */

static void put_text(cf_buf *out, cf_str text, size_t max)
{
    for (size_t i = 0; i < text.n && i < max; i++) {
        cf_buf_addc(out, cf_is_blank(text.p[i]) ? ' ' : text.p[i]);
    }
    cf_buf_addc(out, '\n');
}

static void put_findings(cf_buf *out, const cf_steps_view *v, size_t from, size_t to)
{
    for (size_t i = 0; i < v->now.found.n; i++) {
        const cf_trail_finding *f = &v->now.found.v[i];
        if (f->at >= from && f->at < to) {
            cf_buf_addf(out, "! %s: ", cf_trail_finding_name(f->kind));
            put_text(out, f->text, 400);
        }
    }
}

/* What the user said and what came back, since the step before; then the reply. */
static void put_step(cf_buf *out, const cf_steps_view *v, const cf_steps_line *line)
{
    const cf_trail *t = cf_steps_trail(v);
    const cf_trail_event *e = &t->events[line->at];
    size_t from = line->at, to = line->at + 1;
    while (from > 0 && t->events[from - 1].kind != CF_TRAIL_STEP) {
        from--;
    }
    while (to < t->n_events && t->events[to].kind != CF_TRAIL_STEP) {
        to++;
    }
    put_findings(out, v, line->at, to);
    for (size_t i = from; i < line->at; i++) {
        const cf_trail_message *m =
            t->events[i].kind == CF_TRAIL_MESSAGE ? t->events[i].as.message : NULL;
        if (m != NULL && m != e->as.step->message && cf_str_eq(t->events[i].agent, e->agent)) {
            cf_buf_addf(out, "%s%s: ", cf_trail_role_name(m->role), m->is_error ? " error" : "");
            put_text(out, m->text, 300);
        }
    }
    const cf_trail_message *reply = e->as.step->message;
    if (reply != NULL) {
        cf_buf_adds(out, "assistant: ");
        put_text(out, reply->text, 600);
        for (size_t i = 0; i < reply->n_calls; i++) {
            cf_buf_add(out, reply->calls[i].name.p, reply->calls[i].name.n);
            cf_buf_addc(out, ' ');
            put_text(out, reply->calls[i].arguments, 300);
        }
    }
}

/* The user's sentences, those that are gone first. */
static void put_compaction(cf_buf *out, const cf_steps_view *v, const cf_steps_line *line)
{
    static const cf_trail_fate order[] = {CF_TRAIL_GONE, CF_TRAIL_REWRITTEN, CF_TRAIL_KEPT};
    cf_trail_sentences s;
    if (cf_trail_fates(&s, cf_steps_trail(v), line->at, NULL) != CF_OK) {
        out->failed = true;
        return;
    }
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < s.n; i++) {
            if (s.v[i].fate == order[k]) {
                cf_buf_addf(out, "%s%-9s  ", order[k] == CF_TRAIL_GONE ? "! " : "  ",
                            cf_trail_fate_name(order[k]));
                put_text(out, s.v[i].text, 300);
            }
        }
    }
    cf_buf_adds(out, s.n == 0 ? "The user had said nothing that it could lose.\n" : "");
    cf_trail_sentences_deinit(&s);
    cf_buf_adds(out, "summary: ");
    put_text(out, cf_steps_trail(v)->events[line->at].as.compaction->summary, 2000);
}

/* The step of the same agent before a line; SIZE_MAX: none. */
static size_t step_before(const cf_steps_view *v, const cf_steps_line *line)
{
    const cf_trail *t = cf_steps_trail(v);
    for (size_t i = line->at; i-- > 0;) {
        if (t->events[i].kind == CF_TRAIL_STEP &&
            cf_str_eq(t->events[i].agent, t->events[line->at].agent)) {
            return i;
        }
    }
    return SIZE_MAX;
}

static void put_diff_row(cf_buf *out, const cf_trail_diff_row *row)
{
    const cf_trail_item *item = row->change == CF_TRAIL_LEFT ? &row->before : &row->after;
    cf_buf_addf(out, "%s%s %s %zu bytes: ", row->change == CF_TRAIL_LEFT ? "! " : "  ",
                cf_trail_change_name(row->change),
                item->message != NULL ? cf_trail_role_name(item->message->role) : "summary",
                cf_trail_item_text(item).n);
    if (row->change == CF_TRAIL_CHANGED) {
        cf_buf_addf(out, "(from byte %zu) ", row->same_bytes);
    }
    put_text(out, cf_trail_item_text(item), 200);
}

static void put_diff(cf_buf *out, const cf_steps_view *v, const cf_steps_line *line)
{
    const cf_trail *t = cf_steps_trail(v);
    size_t before = step_before(v, line);
    cf_trail_context a = {0}, b = {0};
    cf_trail_diff d = {0};
    if (before == SIZE_MAX) {
        cf_buf_adds(out, "There is no step before this one.\n");
        return;
    }
    cf_status st = cf_trail_context_make(&a, t, before, NULL);
    CF_THEN(st, cf_trail_context_make(&b, t, line->at, NULL));
    CF_THEN(st, cf_trail_diff_make(&d, &a, &b, NULL));
    out->failed = out->failed || st != CF_OK;
    cf_buf_addf(out, "Since step %zu (s: back):\n", t->events[before].as.step->n);
    for (size_t i = 0; i < d.n; i++) {
        if (d.v[i].change != CF_TRAIL_SAME) {
            put_diff_row(out, &d.v[i]);
        }
    }
    cf_trail_diff_deinit(&d);
    cf_trail_context_deinit(&a);
    cf_trail_context_deinit(&b);
}

void cf_steps_detail(cf_buf *out, const cf_steps_view *v)
{
    if (v->list.cursor >= v->n_lines) {
        return;
    }
    const cf_steps_line *line = &v->lines[v->list.cursor];
    if (line->kind == CF_STEPS_STEP && v->shows_diff) {
        put_diff(out, v, line);
    } else if (line->kind == CF_STEPS_STEP) {
        put_step(out, v, line);
    } else if (line->kind == CF_STEPS_COMPACTION) {
        put_compaction(out, v, line);
    } else {
        put_findings(out, v, line->at, line->at + 1);
    }
}
