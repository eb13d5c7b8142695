/*
 * view_prompt.c - the prompt that would be sent now: every token, whose it
 * is, and what the cache has of it.
 *
 * Left: the prompt in rows; a gutter shows "=" (in the cache), "+" (to be
 * computed) and "!" (where the cache holds something else).  Right: totals
 * and the share of each message.  Below: the token under the cursor.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/app.h"
#include "tui/bench.h"
#include "tui/prompt_model.h"
#include "tui/view/moves.h"
#include "tui/widget/pager.h"

typedef struct prompt_view {
    cf_list rows;
    size_t token; /* under the cursor */
    bool shows_ids;
    int text_x; /* where tokens begin in a row */
} prompt_view;

static prompt_view *state(cf_app *app)
{
    return app->state[CF_VIEW_PROMPT];
}

static cf_status prompt_open(cf_app *app, cf_error *err)
{
    app->state[CF_VIEW_PROMPT] = cf_calloc(1, sizeof(prompt_view));
    return app->state[CF_VIEW_PROMPT] != NULL
               ? CF_OK
               : cf_fail(err, CF_ENOMEM, "out of memory");
}

static void prompt_close(cf_app *app)
{
    cf_free(app->state[CF_VIEW_PROMPT]);
    app->state[CF_VIEW_PROMPT] = NULL;
}

/* Goes to the first token that must be computed: that is what people look
 * for here. */
static void prompt_enter(cf_app *app)
{
    prompt_view *s = state(app);
    const cf_prompt_model *m = cf_bench_prompt(app->bench);
    s->token = m != NULL && m->n_kept < m->n ? m->n_kept : 0;
}

/* ---- drawing ------------------------------------------------------------- */

static const char *part_label(cf_bench *bench, int32_t message, char out[16])
{
    if (message == CF_PART_HEAD) {
        snprintf(out, 16, "- hd");
    } else if (message == CF_PART_GENERATION) {
        snprintf(out, 16, "- gen");
    } else if (message == CF_PART_TOOLS) {
        snprintf(out, 16, "- tls");
    } else {
        snprintf(out, 16, "%d %.3s", (int)message,
                 cf_bench_message_role(bench, (size_t)message));
    }
    return out;
}

static cf_style token_style(cf_app *app, const cf_prompt_model *m, size_t i)
{
    if (i == state(app)->token) {
        return CF_STYLE_SELECTED | CF_REVERSE;
    }
    if (m->token[i].reuse == CF_REUSE_BREAK) {
        return CF_STYLE_BREAK;
    }
    if (cf_bench_is_control(app->bench, m->ids[i].id)) {
        return CF_STYLE_SPECIAL;
    }
    return i % 2 == 0 ? CF_STYLE_TOKEN_A : CF_STYLE_TOKEN_B;
}

/* One token, with white space visible and, without colour, a "|" behind. */
static int draw_token(cf_app *app, cf_grid *g, int x, int y, int width,
                      const cf_prompt_model *m, size_t i)
{
    int used = 0;
    cf_style style = token_style(app, m, i);
    if (state(app)->shows_ids) {
        used = cf_grid_putf(g, x, y, width, style, "%d", (int)m->ids[i].id);
    } else {
        cf_str text = cf_prompt_model_text(m, i);
        cf_cluster c;
        for (size_t at = 0; cf_cluster_next(&c, text.p, text.n, &at,
                                            (size_t)used, CF_SPACE_VISIBLE);) {
            used +=
                cf_grid_put_cluster(g, x + used, y, width - used, &c, style);
        }
    }
    bool has_color = app->term == NULL || app->term->n_colors > 0;
    if (!has_color || state(app)->shows_ids) {
        used += cf_grid_puts(g, x + used, y, width - used, "|", CF_STYLE_DIM);
    }
    return used;
}

static void draw_row(cf_app *app, cf_grid *g, cf_rect r,
                     const cf_prompt_model *m, const cf_prompt_row *row)
{
    static const char marks[] = {'=', '+', '!'};
    static const cf_style styles[] = {CF_STYLE_KEPT, CF_STYLE_NEW,
                                      CF_STYLE_BREAK};
    uint8_t reuse = CF_REUSE_KEPT;
    for (size_t i = 0; i < row->n; i++) {
        uint8_t mine = m->token[row->first + i].reuse;
        reuse = mine == CF_REUSE_BREAK || reuse != CF_REUSE_BREAK
                    ? (mine > reuse ? mine : reuse)
                    : reuse;
    }
    char label[16];
    cf_grid_putf(g, r.x, r.y, 1, styles[reuse], "%c", marks[reuse]);
    cf_grid_puts(g, r.x + 2, r.y, 6,
                 part_label(app->bench, row->message, label), CF_STYLE_DIM);
    int x = r.x + 9;
    for (size_t i = 0; i < row->n; i++) {
        size_t token = row->first + i;
        if (token == state(app)->token) {
            g->cursor_x = x;
            g->cursor_y = r.y;
        }
        x += draw_token(app, g, x, r.y, r.x + r.w - x, m, token);
    }
}

static void draw_tokens(cf_app *app, cf_grid *g, cf_rect r, cf_prompt_model *m)
{
    prompt_view *s = state(app);
    cf_error err;
    if (r.w < 20 || cf_prompt_model_wrap(m, r.w - 10, &err) != CF_OK) {
        return;
    }
    if (s->token >= m->n) {
        s->token = m->n > 0 ? m->n - 1 : 0;
    }
    cf_list_set(&s->rows, m->n_row, (size_t)r.h);
    cf_list_go(&s->rows, cf_prompt_model_row_of(m, s->token));
    for (int y = 0; y < r.h && s->rows.top + (size_t)y < m->n_row; y++) {
        draw_row(app, g, (cf_rect){r.x, r.y + y, r.w, 1}, m,
                 &m->row[s->rows.top + (size_t)y]);
    }
}

/* The prompt of an engine that shows no tokens: its text. */
static void draw_text(cf_app *app, cf_grid *g, cf_rect r,
                      const cf_prompt_model *m)
{
    cf_wrapped lines = {0};
    if (r.w < 2 ||
        cf_wrapped_update(&lines, m->prompt.text, r.w, NULL) != CF_OK) {
        return;
    }
    cf_list *rows = &state(app)->rows;
    cf_list_set(rows, lines.n, (size_t)(r.h > 0 ? r.h : 0));
    for (int y = 0; y < r.h && rows->top + (size_t)y < lines.n; y++) {
        const cf_line *l = &lines.v[rows->top + (size_t)y];
        cf_grid_put(g, r.x, r.y + y, r.w,
                    cf_str_make(m->prompt.text.p + l->off, l->len),
                    CF_STYLE_NORMAL);
    }
    g->cursor_x = r.x;
    g->cursor_y = r.y + (int)(rows->cursor - rows->top);
    cf_wrapped_deinit(&lines);
}

static void draw_bar(cf_grid *g, int x, int y, int w, size_t part, size_t all)
{
    int full = all != 0 ? (int)((size_t)w * part / all) : 0;
    for (int i = 0; i < w; i++) {
        cf_grid_puts(g, x + i, y, 1, i < full ? "=" : "+",
                     i < full ? CF_STYLE_KEPT : CF_STYLE_NEW);
    }
}

static void draw_inspector(cf_app *app, cf_grid *g, cf_rect r,
                           const cf_prompt_model *m)
{
    int y = r.y;
    cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL,
                 "Cache  %zu of %zu tokens (%zu%%)", m->n_kept, m->n,
                 m->n != 0 ? 100 * m->n_kept / m->n : 0);
    draw_bar(g, r.x, y++, r.w, m->n_kept, m->n);
    if (m->has_break) {
        cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_WARNING,
                     "lost %zu cached tokens at token %zu", m->n_lost,
                     m->n_kept);
        cf_buf why = CF_BUF_INIT;
        cf_wrapped lines = {0};
        cf_bench_break_cause(app->bench, &why);
        if (cf_wrapped_update(&lines, cf_str_make(cf_buf_cstr(&why), why.n),
                              r.w, NULL) == CF_OK) {
            for (size_t i = 0; i < lines.n && y < r.y + r.h; i++) {
                cf_grid_put(g, r.x, y++, r.w,
                            cf_str_make(why.p + lines.v[i].off, lines.v[i].len),
                            CF_STYLE_NORMAL);
            }
        }
        cf_wrapped_deinit(&lines);
        cf_buf_deinit(&why);
    }
    y++;
    cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_DIM, "%-*s %6s %7s", r.w - 17,
                 "Part", "tokens", "sum");
    size_t sum = 0;
    for (size_t i = 0; i < m->n_part && y < r.y + r.h; i++) {
        const cf_prompt_part *p = &m->part[i];
        char label[16];
        sum += p->n_tokens;
        bool breaks = m->has_break && m->n_kept >= p->first &&
                      m->n_kept < p->first + p->n_tokens;
        cf_grid_putf(g, r.x, y++, r.w,
                     breaks ? CF_STYLE_WARNING : CF_STYLE_NORMAL,
                     "%-*s %6zu %7zu %s", r.w - 17,
                     part_label(app->bench, p->message, label), p->n_tokens,
                     sum, breaks ? "!" : "");
    }
}

static void draw_detail(cf_app *app, cf_grid *g, cf_rect r,
                        const cf_prompt_model *m)
{
    size_t i = state(app)->token;
    if (i >= m->n) {
        return;
    }
    const cf_token_span *t = &m->ids[i];
    cf_str text = cf_prompt_model_text(m, i);
    cf_buf hex = CF_BUF_INIT;
    for (size_t k = 0; k < text.n && k < 16; k++) {
        cf_buf_addf(&hex, " %02x", (unsigned)(unsigned char)text.p[k]);
    }
    cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_NORMAL,
                 "#%zu  id %d  %s  bytes %u..%u %s", i, (int)t->id,
                 cf_bench_is_control(app->bench, t->id) ? "control" : "text",
                 (unsigned)t->off, (unsigned)(t->off + t->len),
                 cf_buf_cstr(&hex));
    cf_buf_deinit(&hex);
    if (m->prompt.n_spans == 0 || r.h < 2) {
        return;
    }
    const cf_prompt_span *s = &m->prompt.spans[m->token[i].span];
    char where[32] = "";
    if (s->source == CF_SPAN_MESSAGE || s->source == CF_SPAN_TOOL) {
        snprintf(where, sizeof where, " %u", (unsigned)s->index);
    }
    cf_grid_putf(g, r.x, r.y + 1, r.w, CF_STYLE_NORMAL,
                 "from %s%s%.*s, template line %u col %u",
                 cf_span_source_name(s->source), where,
                 (int)(s->path.n < 60 ? s->path.n : 60),
                 s->path.n != 0 ? s->path.p : "", (unsigned)s->line,
                 (unsigned)s->col);
    if (r.h >= 3) {
        cf_buf line = CF_BUF_INIT;
        cf_bench_template_line(app->bench, s->line, &line);
        cf_grid_put(g, r.x, r.y + 2, r.w,
                    cf_str_make(cf_buf_cstr(&line), line.n), CF_STYLE_DIM);
        cf_buf_deinit(&line);
    }
}

static void prompt_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_error err = {0};
    cf_prompt_model *m = cf_bench_prompt(app->bench);
    if (m == NULL) {
        cf_bench_prompt_error(app->bench, &err);
        cf_grid_puts(g, r.x + 2, r.y + 1, r.w - 4, err.text, CF_STYLE_WARNING);
        return;
    }
    if (m->n == 0) {
        cf_grid_box(g, r, "Prompt  (this engine shows no tokens)",
                    CF_STYLE_BORDER, CF_STYLE_FOCUS);
        draw_text(app, g, (cf_rect){r.x + 1, r.y + 1, r.w - 2, r.h - 2}, m);
        return;
    }
    int side = cf_app_is_narrow(app) || app->is_maximized ? 0 : 40;
    int detail = r.h >= 12 && !app->is_maximized ? 5 : 0;
    char title[128];
    snprintf(title, sizeof title, "Prompt  %zu tokens  %zu bytes", m->n,
             m->prompt.text.n);
    cf_rect p = {r.x, r.y, r.w - side, r.h - detail};
    cf_grid_box(g, p, title, CF_STYLE_BORDER, CF_STYLE_FOCUS);
    draw_tokens(app, g, (cf_rect){p.x + 1, p.y + 1, p.w - 2, p.h - 2}, m);
    if (side > 0) {
        cf_rect i = {r.x + p.w, r.y, side, p.h};
        cf_grid_box(g, i, "Inspector", CF_STYLE_BORDER, CF_STYLE_TITLE);
        draw_inspector(app, g, (cf_rect){i.x + 2, i.y + 1, i.w - 4, i.h - 2},
                       m);
    }
    if (detail > 0) {
        cf_rect d = {r.x, r.y + p.h, r.w, detail};
        cf_grid_box(g, d, "Token under the cursor", CF_STYLE_BORDER,
                    CF_STYLE_TITLE);
        draw_detail(app, g, (cf_rect){d.x + 2, d.y + 1, d.w - 4, d.h - 2}, m);
    }
}

static void prompt_status(cf_app *app, cf_buf *out)
{
    const cf_prompt_model *m = cf_bench_prompt(app->bench);
    if (m != NULL && m->n != 0) {
        cf_buf_addf(out, "token %zu of %zu  %s", state(app)->token + 1, m->n,
                    cf_bench_template_name(app->bench));
    }
}

/* ---- commands ------------------------------------------------------------ */

static void prompt_move(cf_app *app, cf_move move)
{
    prompt_view *s = state(app);
    const cf_prompt_model *m = cf_bench_prompt(app->bench);
    if (m != NULL && m->n == 0) {
        cf_list_move(&s->rows, move);
    }
    if (m == NULL || m->n_row == 0 || s->rows.cursor >= m->n_row) {
        return;
    }
    size_t row = s->rows.cursor;
    size_t column = s->token - m->row[row].first;
    cf_list_move(&s->rows, move);
    const cf_prompt_row *to = &m->row[s->rows.cursor];
    s->token = to->first + (column < to->n ? column : to->n - 1);
}

CF_MOVE_COMMANDS(prompt, prompt_move)

static void cmd_left(cf_app *app, const char *arg)
{
    (void)arg;
    if (state(app)->token > 0) {
        state(app)->token--;
    }
}

static void cmd_right(cf_app *app, const char *arg)
{
    (void)arg;
    const cf_prompt_model *m = cf_bench_prompt(app->bench);
    if (m != NULL && state(app)->token + 1 < m->n) {
        state(app)->token++;
    }
}

/* To the first token of the part before or behind this one. */
static void go_part(cf_app *app, int by)
{
    prompt_view *s = state(app);
    const cf_prompt_model *m = cf_bench_prompt(app->bench);
    for (size_t i = 0; m != NULL && i < m->n_part; i++) {
        const cf_prompt_part *p = &m->part[i];
        if (s->token < p->first || s->token >= p->first + p->n_tokens) {
            continue;
        }
        if (by > 0 && i + 1 < m->n_part) {
            s->token = m->part[i + 1].first;
        } else if (by < 0) {
            s->token =
                s->token > p->first || i == 0 ? p->first : m->part[i - 1].first;
        }
        return;
    }
}

static void cmd_next_message(cf_app *app, const char *arg)
{
    (void)arg;
    go_part(app, 1);
}

static void cmd_previous_message(cf_app *app, const char *arg)
{
    (void)arg;
    go_part(app, -1);
}

static void cmd_break(cf_app *app, const char *arg)
{
    (void)arg;
    const cf_prompt_model *m = cf_bench_prompt(app->bench);
    if (m == NULL || !m->has_break) {
        cf_app_say(app, CF_STYLE_OK, "the cache agrees with this prompt");
        return;
    }
    state(app)->token = m->n_kept;
}

static void cmd_ids(cf_app *app, const char *arg)
{
    (void)arg;
    state(app)->shows_ids = !state(app)->shows_ids;
}

static void cmd_var(cf_app *app, const char *arg)
{
    cf_error err;
    if (cf_bench_set_var(app->bench, arg, &err) != CF_OK) {
        cf_app_error(app, &err);
    }
}

static void prompt_search(cf_app *app, const char *text, int direction)
{
    prompt_view *s = state(app);
    const cf_prompt_model *m = cf_bench_prompt(app->bench);
    if (m != NULL && m->n == 0) {
        cf_app_say(app, CF_STYLE_WARNING, "there are no tokens to find it in");
        return;
    }
    for (size_t step = direction == 0 ? 0 : 1; m != NULL && step <= m->n;
         step++) {
        size_t i = direction < 0 ? (s->token + m->n - step % m->n) % m->n
                                 : (s->token + step) % m->n;
        /* A match may begin in one token and end in the next ones. */
        uint32_t off = m->ids[i].off;
        cf_str from =
            cf_str_make(m->prompt.text.p + off, m->prompt.text.n - off);
        size_t len = m->ids[i].len + strlen(text);
        from.n = from.n < len ? from.n : len;
        size_t at = cf_find_smart(from, text);
        if (at < m->ids[i].len) {
            s->token = i;
            return;
        }
    }
    cf_app_say(app, CF_STYLE_WARNING, "'%s' is not in the prompt", text);
}

#define HERE CF_IN(CF_VIEW_PROMPT)

static const cf_command prompt_commands[] = {
    {"left", HERE, "h <Left>", "", "token before", cmd_left},
    {"right", HERE, "l <Right>", "", "next token", cmd_right},
    {"next-message", HERE, "w ]m", "", "next part", cmd_next_message},
    {"previous-message", HERE, "b [m", "", "part before", cmd_previous_message},
    {"divergence", HERE, "]d [d", "", "where the cache and the prompt part",
     cmd_break},
    {"ids", HERE, "t", "", "show ids in place of text", cmd_ids},
    {"var", HERE, "", "NAME=JSON", "set a template variable; NAME= removes it",
     cmd_var},
    CF_MOVE_ROWS(prompt, HERE),
    {NULL, 0, NULL, NULL, NULL, NULL},
};

const cf_view_ops cf_view_prompt = {
    .name = "prompt",
    .title = "Prompt",
    .commands = prompt_commands,
    .footer = "left right next-message divergence ids search maximize help",
    .open = prompt_open,
    .close = prompt_close,
    .enter = prompt_enter,
    .draw = prompt_draw,
    .search = prompt_search,
    .status = prompt_status,
};
