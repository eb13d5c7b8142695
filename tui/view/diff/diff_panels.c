/*
 * diff_panels.c - below the two sides: their replies, the likelihood of
 * stored replies, the table over many conversations.
 *
 * Results made before the sides were swapped are shown swapped.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "tui/grid/wrap.h"
#include "tui/lab/prompt/lab_lint.h"
#include "tui/view/diff/view_diff.h"
#include "tui/view/kit/caps_table.h"
#include "tui/view/kit/pane.h"

enum { RATE_TOKENS = 32 }; /* the fewest whose speeds are compared */

bool cf_diff_panel_has(const cf_diff_view *s, cf_diff_panel panel)
{
    switch (panel) {
    case CF_PANEL_REPLIES:
        return s->run.has;
    case CF_PANEL_LIKELY:
        return s->likely.has;
    case CF_PANEL_SURVEY:
        return s->survey.has;
    case CF_PANEL_CAPS:
        return s->m.name[0] != '\0';
    case CF_PANEL_NONE:
    case CF_PANEL_COUNT:
        break;
    }
    return false;
}

static cf_list *rows(cf_diff_view *s)
{
    return &s->rows[s->panel];
}

/* Which side of a result is on side `i` of the screen. */
static int shown(const cf_diff_view *s, bool was_swapped, int i)
{
    return was_swapped != s->m.is_swapped ? 1 - i : i;
}

static void put_cursor(cf_grid *g, int x, int y)
{
    g->cursor_x = x;
    g->cursor_y = y;
}

/* ---- replies ------------------------------------------------------------ */

/* "24 tokens  18.2 t/s  end  1 call" */
static void side_figures(const cf_run_side *s, cf_buf *out)
{
    if (!s->is_begun) {
        cf_buf_adds(out, s->is_done ? "not asked" : "waits");
        return;
    }
    if (!s->is_done && s->reply.n_token == 0 && s->reply.raw.n == 0) {
        cf_buf_addf(out, "prompt %llu of %llu tokens", (unsigned long long)s->reply.n_done,
                    (unsigned long long)s->reply.n_total);
        return;
    }
    if (s->reply.n_token != 0) {
        cf_buf_addf(out, "%zu tokens", s->reply.n_token);
    } else {
        cf_buf_addf(out, "%zu bytes", s->reply.raw.n);
    }
    if (!s->is_done) {
        cf_buf_adds(out, "  GEN");
        return;
    }
    double rate = cf_decode_rate(&s->reply.timings, RATE_TOKENS);
    if (rate > 0) {
        cf_buf_addf(out, "  %.1f t/s", rate);
    }
    cf_buf_addf(out, "  %s",
                s->status == CF_ECANCELLED ? "stopped"
                : s->status != CF_OK       ? "failed"
                                           : cf_stop_reason_name(s->reply.stop.reason));
    if (s->reply.n_calls + s->n_bad != 0) {
        cf_buf_addf(out, "  %u call%s", (unsigned)s->reply.n_calls,
                    s->reply.n_calls == 1 ? "" : "s");
        if (s->n_bad != 0) {
            cf_buf_addf(out, ", %zu wrong", s->n_bad);
        }
    }
}

/* The beginning of a token, cut between characters. */
static void quote(cf_buf *out, cf_str text)
{
    size_t n = text.n < 20 ? text.n : 20;
    if (n == 0) {
        cf_buf_adds(out, "the end");
        return;
    }
    n -= n < text.n ? cf_utf8_incomplete_tail(text.p, n) : 0;
    cf_buf_addc(out, '\'');
    cf_buf_add(out, text.p, n);
    cf_buf_adds(out, n < text.n ? "..'" : "'");
}

static cf_str first_text(const cf_diff_run *run, int i)
{
    return cf_str_make(cf_buf_cstr(&run->side[i].reply.raw) + run->first[i].off, run->first[i].len);
}

static void replies_title(const cf_diff_view *s, cf_buf *out)
{
    const cf_diff_run *run = &s->run;
    cf_buf_addf(out, "Replies to turn %02zu  seed %llu", run->n_path,
                (unsigned long long)run->seed);
    bool is_whole = !run->is_on && run->side[0].status == CF_OK && run->side[1].status == CF_OK;
    if (!is_whole) {
        return;
    }
    if (run->is_same) {
        cf_buf_adds(out, "  the same reply");
        return;
    }
    if (run->by_token) {
        cf_buf_addf(out, "  %zu tokens alike, then ", run->n_same);
    } else {
        cf_buf_addf(out, "  %zu bytes alike, then ", run->first[0].off);
    }
    quote(out, first_text(run, shown(s, run->was_swapped, 0)));
    cf_buf_adds(out, " and ");
    quote(out, first_text(run, shown(s, run->was_swapped, 1)));
}

/* The style of the byte at `off` of a reply. */
static cf_style reply_style(const cf_diff_run *run, int from, int side, size_t off)
{
    if (run->is_on || run->is_same || off < run->first[from].off) {
        return CF_STYLE_NORMAL;
    }
    cf_style style = side == 0 ? CF_STYLE_REMOVED : CF_STYLE_ADDED;
    return off < run->first[from].off + run->first[from].len ? (cf_style)(style | CF_REVERSE)
                                                             : style;
}

/* One line of a reply, in front of it a mark where the replies part. */
static void draw_reply_line(const cf_diff_view *s, cf_grid *g, cf_rect r, int side, cf_str text,
                            const cf_line *line)
{
    int from = shown(s, s->run.was_swapped, side);
    size_t at = line->off, end = (size_t)line->off + line->len;
    int used = 2;
    size_t first = s->run.first[from].off;
    if (!s->run.is_on && !s->run.is_same && first >= at && (first < end || line->ends_paragraph) &&
        first <= end) {
        cf_grid_puts(g, r.x, r.y, 1, ">", CF_STYLE_FOCUS);
    }
    cf_cluster c;
    while (at < end && cf_cluster_next(&c, text.p, end, &at, (size_t)used,
                                       s->shows_white ? CF_SPACE_VISIBLE : CF_SPACE_PLAIN)) {
        used += cf_grid_put_cluster(g, r.x + used, r.y, r.w - used, &c,
                                    reply_style(&s->run, from, side, c.off));
    }
}

static void draw_failure(cf_grid *g, cf_rect r, const char *why)
{
    cf_rect inner = {r.x + 2, r.y, r.w - 2, r.h};
    (void)cf_grid_put_wrapped(g, inner, 0, cf_str_from(why), CF_STYLE_ERROR);
}

/* The line of a wrapped reply where it parts from the other one. */
static size_t line_of_first(const cf_wrapped *w, size_t off)
{
    size_t i = 0;
    while (i + 1 < w->n && w->v[i + 1].off <= off) {
        i++;
    }
    return i;
}

static void draw_replies(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_diff_view *s = cf_diff_state(app);
    cf_wrapped w[2] = {{0}, {0}};
    cf_rect column[2] = {{r.x + 1, r.y, r.w / 2 - 2, r.h},
                         {r.x + r.w / 2 + 1, r.y, r.w - r.w / 2 - 1, r.h}};
    size_t n = 0, first = 0;
    for (int i = 0; i < 2; i++) {
        const cf_run_side *side = &s->run.side[shown(s, s->run.was_swapped, i)];
        cf_str text = cf_buf_str(&side->reply.raw);
        if (column[i].w > 4 && cf_wrapped_update(&w[i], text, column[i].w - 2, NULL) == CF_OK) {
            size_t at = line_of_first(&w[i], s->run.first[shown(s, s->run.was_swapped, i)].off);
            n = w[i].n > n ? w[i].n : n;
            first = i == 0 || at < first ? at : first;
        }
    }
    size_t h = (size_t)(r.h > 1 ? r.h - 1 : 0);
    cf_list_set(rows(s), n, h);
    if (s->run.is_on && n > 0) {
        cf_list_go(rows(s), n - 1); /* what comes is in sight */
    } else if (s->goes_to_first) {
        cf_list_go(rows(s), 0);
        cf_list_go(rows(s), first);
        s->goes_to_first = false;
    }
    for (int i = 0; i < 2; i++) {
        const cf_run_side *side = &s->run.side[shown(s, s->run.was_swapped, i)];
        cf_str text = cf_buf_str(&side->reply.raw);
        cf_buf figures = CF_BUF_INIT;
        cf_rect c = column[i];
        cf_buf_addf(&figures, "%c  ", 'A' + i);
        side_figures(side, &figures);
        cf_grid_put(g, c.x, c.y, c.w, cf_buf_str(&figures), CF_STYLE_TITLE);
        cf_buf_deinit(&figures);
        int y = 1;
        for (size_t k = rows(s)->top; k < w[i].n && y < c.h; k++, y++) {
            draw_reply_line(s, g, (cf_rect){c.x, c.y + y, c.w, 1}, i, text, &w[i].v[k]);
        }
        bool has_failed = side->status != CF_OK && side->status != CF_ECANCELLED;
        if (side->is_done && has_failed && y < c.h) {
            draw_failure(g, (cf_rect){c.x, c.y + y, c.w, c.h - y}, side->err.text);
        }
        cf_wrapped_deinit(&w[i]);
    }
    cf_grid_vline(g, r.x + r.w / 2 - 1, r.y, r.h, CF_STYLE_BORDER);
    if (s->in_panel) {
        put_cursor(g, r.x, r.y + 1 + (int)(rows(s)->cursor - rows(s)->top));
    }
}

void cf_diff_panel_to_first(cf_diff_view *s)
{
    s->goes_to_first = s->run.has && !s->run.is_on;
}

/* ---- likelihood --------------------------------------------------------- */

static void put_number(cf_buf *out, double v, int width)
{
    if (isnan(v)) {
        cf_buf_addf(out, "%*s", width, "-");
    } else {
        cf_buf_addf(out, "%*.*f", width, fabs(v) >= 100000 ? 0 : 2, v);
    }
}

/* "A", "B" or "=": which side has the reply likelier. */
static char likelier(double a, double b)
{
    return isnan(a) || isnan(b) ? ' ' : a < b ? 'A' : b < a ? 'B' : '=';
}

/* Tokens, sums (where there is room), means and perplexities of both sides,
 * from `sum` and `n`. */
static void put_scores(cf_buf *out, const double sum[2], const size_t n[2], bool is_narrow)
{
    double mean[2];
    for (int i = 0; i < 2; i++) {
        mean[i] = cf_score_mean(sum[i], n[i]);
        cf_buf_addf(out, "%6zu", n[i]);
    }
    for (int i = 0; i < 2 && !is_narrow; i++) {
        put_number(out, n[i] != 0 ? sum[i] : (double)NAN, 10);
    }
    for (int i = 0; i < 2; i++) {
        put_number(out, mean[i], 8);
    }
    for (int i = 0; i < 2; i++) {
        put_number(out, exp(mean[i]), 9);
    }
    cf_buf_addf(out, "  %c", likelier(mean[0], mean[1]));
}

static void swap_scores(const cf_diff_view *s, bool was_swapped, const double sum[2],
                        const size_t n[2], double sum_out[2], size_t n_out[2])
{
    for (int i = 0; i < 2; i++) {
        sum_out[i] = sum[shown(s, was_swapped, i)];
        n_out[i] = n[shown(s, was_swapped, i)];
    }
}

static void draw_line(cf_grid *g, cf_rect r, int y, cf_buf *text, cf_style style)
{
    cf_rect row = {r.x, r.y + y, r.w, 1};
    if (y < r.h) {
        cf_grid_fill(g, row, ' ', style);
        cf_grid_put(g, row.x, row.y, row.w, cf_buf_str(text), style);
    }
    cf_buf_reset(text);
}

static void draw_likely(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_diff_view *s = cf_diff_state(app);
    const cf_likely *l = &s->likely;
    cf_buf text = CF_BUF_INIT;
    double sum[2];
    size_t n[2];
    bool is_narrow = r.w < 76;
    cf_buf_addf(&text,
                " turn tok A tok B%s   nll A   nll B    ppl A    ppl B  "
                "fits",
                is_narrow ? "" : "     sum A     sum B");
    draw_line(g, r, 0, &text, CF_STYLE_DIM);
    swap_scores(s, l->was_swapped, l->sum.sum, l->sum.n, sum, n);
    cf_buf_adds(&text, "  all");
    put_scores(&text, sum, n, is_narrow);
    draw_line(g, r, 1, &text, CF_STYLE_TITLE);
    size_t h = (size_t)(r.h > 2 ? r.h - 2 : 0);
    cf_list_set(rows(s), l->n, h);
    for (size_t y = 0; y < h && rows(s)->top + y < l->n; y++) {
        size_t i = rows(s)->top + y;
        const cf_reply_score *v = &l->v[i];
        bool is_on = s->in_panel && i == rows(s)->cursor;
        cf_buf_addf(&text, "  %02zu ", v->place[shown(s, l->was_swapped, 0)] + 1);
        if (v->has[0] && v->has[1]) {
            swap_scores(s, l->was_swapped, v->sum, v->n, sum, n);
            put_scores(&text, sum, n, is_narrow);
        } else {
            cf_buf_addf(&text, "  left out: %s", v->why);
        }
        draw_line(g, r, (int)y + 2, &text,
                  is_on                    ? CF_STYLE_SELECTED
                  : v->has[0] && v->has[1] ? CF_STYLE_NORMAL
                                           : CF_STYLE_WARNING);
        if (is_on) {
            put_cursor(g, r.x, r.y + 2 + (int)y);
        }
    }
    cf_buf_deinit(&text);
}

static void likely_title(const cf_diff_view *s, cf_buf *out)
{
    const cf_likely *l = &s->likely;
    cf_buf_adds(out, "Likelihood of the stored replies");
    if (l->is_on) {
        cf_buf_addf(out, "  %zu of %zu", l->n, l->n_all);
    } else if (l->n == 0) {
        cf_buf_adds(out, l->was_stopped ? "  stopped" : "  there are none");
    } else if (l->was_stopped) {
        cf_buf_adds(out, "  (stopped)");
    }
    if (l->sum.n_left_out != 0) {
        cf_buf_addf(out, "  %zu left out", l->sum.n_left_out);
    }
}

void cf_diff_panel_summary(const cf_diff_view *s, cf_buf *out)
{
    const cf_likely *l = &s->likely;
    double sum[2];
    size_t n[2];
    if (!l->has || l->sum.n_replies == 0) {
        return;
    }
    swap_scores(s, l->was_swapped, l->sum.sum, l->sum.n, sum, n);
    cf_buf_addf(out, "nll A %.2f  B %.2f", cf_score_mean(sum[0], n[0]),
                cf_score_mean(sum[1], n[1]));
}

/* ---- many conversations ------------------------------------------------- */

static void survey_title(const cf_diff_view *s, cf_buf *out)
{
    const cf_survey *v = &s->survey;
    if (v->is_on) {
        cf_buf_addf(out, "compared %zu of %zu%s: ", v->n_done, v->n, v->is_ticked ? " ticked" : "");
    } else {
        cf_buf_addf(out, "%zu %sconversation%s%s: ", v->n_done, v->is_ticked ? "ticked " : "",
                    v->n_done == 1 ? "" : "s", v->was_stopped ? " (stopped)" : "");
    }
    cf_buf_addf(out, "%zu differ%s", v->n_differ, v->n_differ == 1 ? "s" : "");
    if (v->n_lose != 0) {
        int a = shown(s, v->was_swapped, 0);
        cf_buf_addf(out, ", %zu lose%s the call", v->n_lose, v->n_lose == 1 ? "s" : "");
        if (v->n_lose_on[0] != v->n_lose_on[1]) {
            cf_buf_addf(out, " (A %zu, B %zu)", v->n_lose_on[a], v->n_lose_on[1 - a]);
        }
    }
    if (v->n_failed != 0) {
        cf_buf_addf(out, ", %zu fail%s to render", v->n_failed, v->n_failed == 1 ? "s" : "");
    }
}

/* "2,4,9" */
static void put_lines(cf_buf *out, const cf_survey_row *row, int side)
{
    for (size_t i = 0; i < row->n_line[side]; i++) {
        cf_buf_addf(out, "%s%u", i == 0 ? "" : ",", (unsigned)row->line[side][i]);
    }
    cf_buf_adds(out, row->has_more_lines[side] ? ",.." : row->n_line[side] == 0 ? "-" : "");
}

static void put_padded(cf_buf *out, const char *text, int width)
{
    cf_buf_addf(out, "%-*.*s ", width, width, text);
}

static int what_width(const cf_survey *v)
{
    return v->level == CF_DIFF_LEVEL_SOURCE ? 22 : 13;
}

/* Counts, or template lines. */
static void put_what(const cf_diff_view *s, cf_buf *out, const cf_survey_row *row)
{
    const cf_survey *v = &s->survey;
    int a = shown(s, v->was_swapped, 0);
    cf_buf text = CF_BUF_INIT;
    if (v->level == CF_DIFF_LEVEL_SOURCE) {
        cf_buf_adds(&text, "A ");
        put_lines(&text, row, a);
        cf_buf_adds(&text, "  B ");
        put_lines(&text, row, 1 - a);
    } else {
        cf_buf_addf(&text, "-%zu +%zu ~%zu", a == 0 ? row->n_removed : row->n_added,
                    a == 0 ? row->n_added : row->n_removed, row->n_changed);
    }
    put_padded(out, cf_buf_cstr(&text), what_width(v));
    cf_buf_deinit(&text);
}

static void put_pair(cf_buf *out, bool has, double a, double b)
{
    char text[40];
    snprintf(text, sizeof text, has ? "%6.2f %6.2f" : "     -      -", a, b);
    cf_buf_addf(out, "%13.13s ", text);
}

static void put_row(const cf_diff_view *s, cf_buf *out, const cf_survey_row *row)
{
    const cf_survey *v = &s->survey;
    int a = shown(s, v->was_swapped, 0), b = 1 - a;
    char id[CF_UUID_TEXT + 1], calls[48];
    cf_uuid_format(id, row->id);
    cf_buf_addf(out, " %s ", id + CF_UUID_TEXT - 8);
    if (row->failed != 0) {
        cf_buf_addf(out, "%s fails: %s",
                    row->failed == 3                                            ? "it"
                    : (row->failed == 1) == (v->was_swapped == s->m.is_swapped) ? "A"
                                                                                : "B",
                    row->why);
        return;
    }
    put_what(s, out, row);
    if (v->n_tokens[0] != 0) {
        cf_buf_addf(out, "%6zu %6zu ", row->n_tokens[a], row->n_tokens[b]);
    }
    if (v->has_scores) {
        put_pair(out, row->score.n_replies != 0, cf_score_mean(row->score.sum[a], row->score.n[a]),
                 cf_score_mean(row->score.sum[b], row->score.n[b]));
    }
    if (v->has_calls) {
        snprintf(calls, sizeof calls, "%zu%s%s %zu%s%s", row->n_calls[a],
                 row->n_bad[a] != 0 ? "!" : "", row->n_lost[a] != 0 ? "x" : "", row->n_calls[b],
                 row->n_bad[b] != 0 ? "!" : "", row->n_lost[b] != 0 ? "x" : "");
        put_padded(out, calls, 7);
    }
    cf_buf_adds(out, row->title);
}

/* Returns the lines it takes. */
static int survey_head(const cf_diff_view *s, cf_grid *g, cf_rect r)
{
    const cf_survey *v = &s->survey;
    cf_buf text = CF_BUF_INIT;
    int a = shown(s, v->was_swapped, 0), b = 1 - a;
    cf_buf_addf(&text, " %-8s ", "id");
    put_padded(&text,
               v->level == CF_DIFF_LEVEL_SOURCE   ? "template lines"
               : v->level == CF_DIFF_LEVEL_TOKENS ? "tokens"
                                                  : "lines",
               what_width(v));
    if (v->n_tokens[0] != 0) {
        cf_buf_adds(&text, "  tok A  tok B ");
    }
    if (v->has_scores) {
        cf_buf_adds(&text, " nll A  nll B ");
    }
    if (v->has_calls) {
        cf_buf_adds(&text, "calls   ");
    }
    cf_buf_adds(&text, "title");
    draw_line(g, r, 0, &text, CF_STYLE_DIM);
    if (v->n_tokens[0] == 0 && !v->has_scores) {
        cf_buf_deinit(&text);
        return 1; /* nothing to sum up */
    }
    cf_buf_addf(&text, " %-8s ", "all");
    put_padded(&text, "", what_width(v));
    if (v->n_tokens[0] != 0) {
        cf_buf_addf(&text, "%6llu %6llu ", (unsigned long long)v->n_tokens[a],
                    (unsigned long long)v->n_tokens[b]);
    }
    if (v->has_scores) {
        put_pair(&text, v->score.n_replies != 0, cf_score_mean(v->score.sum[a], v->score.n[a]),
                 cf_score_mean(v->score.sum[b], v->score.n[b]));
        cf_buf_addf(&text, "%zu repl%s", v->score.n_replies, v->score.n_replies == 1 ? "y" : "ies");
        if (v->score.n_left_out != 0) {
            cf_buf_addf(&text, ", %zu left out", v->score.n_left_out);
        }
    }
    draw_line(g, r, 1, &text, CF_STYLE_TITLE);
    cf_buf_deinit(&text);
    return 2;
}

/* The last line of the survey: what its signs mean. */
static void draw_legend(const cf_survey *v, cf_grid *g, cf_rect r)
{
    cf_buf text = CF_BUF_INIT;
    cf_buf_adds(&text, " <Enter> shows one");
    if (v->level != CF_DIFF_LEVEL_SOURCE) {
        cf_buf_adds(&text, "  - only in A  + only in B  ~ changed");
    }
    if (v->has_calls) {
        cf_buf_adds(&text, "  calls in A B: x not in the prompt, ! broken");
    }
    if (v->has_scores) {
        cf_buf_adds(&text, "  nll: lower is likelier");
    }
    cf_grid_put(g, r.x, r.y, r.w, cf_buf_str(&text), CF_STYLE_DIM);
    cf_buf_deinit(&text);
}

static void draw_survey(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_diff_view *s = cf_diff_state(app);
    const cf_survey *v = &s->survey;
    cf_buf text = CF_BUF_INIT;
    int head = survey_head(s, g, r);
    if (r.h > head + 2) {
        r.h--;
        draw_legend(v, g, (cf_rect){r.x, r.y + r.h, r.w, 1});
    }
    size_t h = (size_t)(r.h > head ? r.h - head : 0);
    cf_list_set(rows(s), v->n_row, h);
    for (size_t y = 0; y < h && rows(s)->top + y < v->n_row; y++) {
        size_t i = rows(s)->top + y;
        const cf_survey_row *row = &v->row[i];
        bool is_on = s->in_panel && i == rows(s)->cursor;
        put_row(s, &text, row);
        cf_grid_spot(g, (cf_rect){r.x, r.y + (int)y + head, r.w, 1}, CF_DIFF_SPOT_PANEL, i);
        draw_line(g, r, (int)y + head, &text,
                  is_on              ? CF_STYLE_SELECTED
                  : row->failed != 0 ? CF_STYLE_ERROR
                                     : CF_STYLE_NORMAL);
        if (is_on) {
            put_cursor(g, r.x, r.y + head + (int)y);
        }
    }
    cf_buf_deinit(&text);
}

/* What side `i` of the screen can do; NULL while it is asked. */
static const cf_template_caps *caps_of(cf_app *app, int i)
{
    const cf_diff_model *m = &cf_diff_state(app)->m;
    bool is_other = (i == 0) != m->is_swapped;
    const cf_lab_lint *lint = cf_lab_lint_of(
        app->lab, is_other ? cf_buf_str(&m->other) : cf_lab_engine_of(app->lab)->template_source);
    return lint != NULL && lint->status == CF_OK ? &lint->report.caps : NULL;
}

static void draw_caps(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_template_caps *a = caps_of(app, 0);
    cf_template_caps first = a != NULL ? *a : (cf_template_caps){0};
    const cf_template_caps *b = caps_of(app, 1);
    if (a == NULL || b == NULL) {
        cf_grid_puts(g, r.x + 1, r.y, r.w - 2, "asking both templates ...", CF_STYLE_DIM);
        return;
    }
    cf_caps_table_draw(g, (cf_rect){r.x + 1, r.y, r.w - 2, r.h}, &first, b);
}

/* ---- whichever ---------------------------------------------------------- */

void cf_diff_panel_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_diff_view *s = cf_diff_state(app);
    cf_buf title = CF_BUF_INIT;
    cf_rect in = {r.x + 1, r.y + 1, r.w > 2 ? r.w - 2 : 0, r.h > 2 ? r.h - 2 : 0};
    switch (s->panel) {
    case CF_PANEL_REPLIES:
        replies_title(s, &title);
        break;
    case CF_PANEL_LIKELY:
        likely_title(s, &title);
        break;
    case CF_PANEL_SURVEY:
        survey_title(s, &title);
        break;
    case CF_PANEL_CAPS:
        cf_buf_adds(&title, "Capabilities  A | B");
        break;
    case CF_PANEL_NONE:
    case CF_PANEL_COUNT:
        break;
    }
    cf_grid_spot(g, r, CF_DIFF_SPOT_PANEL, SIZE_MAX);
    cf_pane(g, r, cf_buf_cstr(&title), s->in_panel);
    cf_buf_deinit(&title);
    if (s->panel == CF_PANEL_REPLIES) {
        draw_replies(app, g, in);
    } else if (s->panel == CF_PANEL_LIKELY) {
        draw_likely(app, g, in);
    } else if (s->panel == CF_PANEL_CAPS) {
        draw_caps(app, g, in);
    } else {
        draw_survey(app, g, in);
    }
}
