/*
 * steps_draw.c - the lists of the Steps view, and what the line under the
 * cursor holds.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/os.h"
#include "tui/view/kit/pane.h"
#include "tui/view/steps/steps.h"

enum { DETAIL_ROWS = 12 };

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
    cf_grid_putf(g, r.x + 30, r.y, 6, style, "%6zu", n->n_steps);
    cf_grid_puts(g, r.x + 37, r.y, 1, n->findings[0] != '\0' ? "!" : " ", style);
    cf_grid_put(g, r.x + 39, r.y, r.w - 39, cf_str_from(n->title), style);
}

static void draw_names(cf_steps_view *v, cf_grid *g, cf_rect r)
{
    cf_grid_puts(g, r.x, r.y, r.w, "started           agent        steps    title", CF_STYLE_TITLE);
    if (v->n_names == 0) {
        cf_grid_puts(g, r.x, r.y + 1, r.w,
                     v->is_listing ? "Looking for sessions ..."
                                   : "No sessions of agents here; :sessions FILE opens one.",
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

static void draw_line(const cf_steps_view *v, cf_grid *g, cf_rect r, const cf_steps_line *line,
                      bool is_on)
{
    bool is_marked = cf_steps_is_marked(v, line), has_cost = v->now.steps.sum.cost > 0;
    cf_style style = is_on                         ? CF_STYLE_SELECTED
                     : is_marked                   ? CF_STYLE_WARNING
                     : line->kind == CF_STEPS_STEP ? CF_STYLE_NORMAL
                                                   : CF_STYLE_DIM;
    const cf_trail *t = cf_steps_trail(v);
    cf_buf text = CF_BUF_INIT;
    if (line->kind == CF_STEPS_STEP) {
        cf_session_row(&text, t, &v->now.steps.rows[line->row], line->depth, has_cost);
    } else if (line->kind == CF_STEPS_AGENT) {
        const cf_trail_group *a = &v->now.steps.agents[line->agent];
        cf_session_sum(&text, v->is_folded[line->agent] ? "+" : "-", line->depth, &a->sum,
                       has_cost);
        cf_session_full(&text, -1, is_marked);
        cf_session_text_line(&text, a->title.n != 0 ? a->title : a->name, 80);
    } else if (line->kind == CF_STEPS_ABORTED) {
        cf_buf_addf(&text, "%*s-- stopped by the user", line->depth, "");
    } else {
        bool is_known = t->events[line->at].as.compaction->summary.n != 0;
        cf_buf_addf(&text, "%*s-- %s", line->depth, "",
                    is_known ? "the context was compacted: what is gone is below"
                             : "the context does not go on from the one before");
    }
    cf_grid_fill(g, r, ' ', style);
    cf_grid_put(g, r.x, r.y, r.w, cf_buf_str(&text), style);
    cf_buf_deinit(&text);
}

static void draw_head(const cf_steps_view *v, cf_grid *g, cf_rect r)
{
    const cf_trail *t = cf_steps_trail(v);
    cf_buf text = CF_BUF_INIT;
    int x = r.x + cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_TITLE, "%s  ", t->format);
    x += cf_grid_put(g, x, r.y, r.x + r.w - x, cf_trail_name(t), CF_STYLE_TITLE);
    if (v->is_reading) {
        cf_grid_putf(g, x, r.y, r.x + r.w - x, CF_STYLE_WARNING, "  reading the rest: %d%%",
                     atomic_load(&v->percent));
    } else if (t->n_left_out != 0) {
        cf_grid_putf(g, x, r.y, r.x + r.w - x, CF_STYLE_DIM, "  %zu records left out",
                     t->n_left_out);
    }
    cf_session_head(&text, v->now.steps.sum.cost > 0);
    cf_grid_put(g, r.x, r.y + 1, r.w, cf_buf_str(&text), CF_STYLE_TITLE);
    cf_buf_deinit(&text);
}

static void draw_detail(cf_steps_view *v, cf_grid *g, cf_rect r)
{
    int y = 0, skip = v->scroll;
    for (const char *p = cf_steps_detail(v); *p != '\0' && y < r.h;) {
        size_t n = strcspn(p, "\n");
        if (skip > 0) {
            skip--;
        } else {
            cf_style style = p[0] == '!' || p[0] == '-' ? CF_STYLE_WARNING : CF_STYLE_NORMAL;
            cf_grid_put(g, r.x, r.y + y++, r.w, cf_str_make(p, n), style);
        }
        p += n + (p[n] == '\n');
    }
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
    const cf_trail_sum *sum = &v->now.steps.sum;
    cf_buf text = CF_BUF_INIT;
    char label[24];
    snprintf(label, sizeof label, "%zu", v->now.steps.n_rows);
    cf_session_sum(&text, label, 0, sum, sum->cost > 0);
    cf_buf_addf(&text, " sum, %zu call%s, %zu finding%s", sum->n_calls,
                sum->n_calls == 1 ? "" : "s", v->now.found.n, v->now.found.n == 1 ? "" : "s");
    cf_grid_put(g, r.x, r.y + r.h - n_detail - 2, r.w, cf_buf_str(&text), CF_STYLE_TITLE);
    cf_buf_deinit(&text);
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
    cf_session_text_line(out, text, max);
    cf_buf_addc(out, '\n');
}

static void put_findings(cf_buf *out, const cf_steps_view *v, size_t from, size_t to)
{
    for (size_t i = 0; i < v->now.found.n; i++) {
        const cf_trail_finding *f = &v->now.found.v[i];
        if (f->at >= from && f->at < to) {
            cf_buf_adds(out, "! ");
            cf_session_finding(out, f);
            cf_buf_addc(out, '\n');
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

static void put_diff(cf_buf *out, const cf_steps_view *v, const cf_steps_line *line)
{
    const cf_trail *t = cf_steps_trail(v);
    size_t before = step_before(v, line);
    cf_session_change c;
    cf_error err;
    if (before == SIZE_MAX) {
        cf_buf_adds(out, "There is no step before this one.\n");
        return;
    }
    if (cf_session_change_make(&c, t, before, line->at, &v->how, &err) != CF_OK) {
        cf_buf_addf(out, "! %s\n", err.text);
        return;
    }
    cf_buf_addf(out, "Since step %zu (s: back):\n", t->events[before].as.step->n);
    for (size_t i = 0; i < c.diff.n; i++) {
        if (c.diff.v[i].change != CF_TRAIL_SAME) {
            cf_session_change_line(out, &c, i);
            cf_buf_addc(out, '\n');
        }
    }
    cf_session_change_deinit(&c);
}

const char *cf_steps_detail(cf_steps_view *v)
{
    if (v->list.cursor >= v->n_lines) {
        return "";
    }
    const cf_steps_line *line = &v->lines[v->list.cursor];
    if (v->detail_at == line->at && v->detail_is_diff == v->shows_diff && v->detail.n != 0) {
        return cf_buf_cstr(&v->detail);
    }
    cf_buf_reset(&v->detail);
    v->detail_at = line->at;
    v->detail_is_diff = v->shows_diff;
    if (line->kind == CF_STEPS_STEP && v->shows_diff) {
        put_diff(&v->detail, v, line);
    } else if (line->kind == CF_STEPS_STEP) {
        put_step(&v->detail, v, line);
    } else if (line->kind == CF_STEPS_COMPACTION) {
        put_compaction(&v->detail, v, line);
    } else {
        put_findings(&v->detail, v, line->at, line->at + 1);
    }
    return cf_buf_cstr(&v->detail);
}
