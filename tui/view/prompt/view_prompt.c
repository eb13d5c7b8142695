/*
 * view_prompt.c - the prompt that would be sent now: every token, whose it
 * is, and what the cache has of it.
 *
 * Left: the prompt in rows; a gutter shows "=" (in the cache), "#" (there, and
 * a recurrent model's state is kept), "+" (to be computed) and "!" (where the
 * cache holds something else), and next to it the finding about the template's
 * line (E, W, I).  Right: totals and the share of
 * each message, findings, variables.  Below: the token under the cursor and
 * the template's line that wrote it; Enter opens that line, and of a picture or
 * sound, which is one block here, what the model gets.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "tui/lab/prompt/lab_lint.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_messages.h"
#include "tui/lab/talk/lab_options.h"
#include "tui/lab/talk/lab_template.h"
#include "tui/view/kit/lint_pane.h"
#include "tui/view/kit/moves.h"
#include "tui/view/kit/pane.h"
#include "tui/view/prompt/prompt.h"
#include "tui/widget/pager.h"

cf_prompt_view *cf_prompt__state(cf_app *app)
{
    return app->state[CF_VIEW_PROMPT];
}

static void cmd_ask(cf_app *app)
{
    cf_error err;
    if (cf_lab_ask_prompt(app->lab, &err) != CF_OK) {
        cf_app_say(app, CF_STYLE_WARNING, "%s", err.text);
    }
}

/* Whether the template writes another text at another time. */
static bool reads_clock(const cf_app *app)
{
    cf_str source = cf_lab_engine_of(app->lab)->template_source;
    return source.n != 0 && cf_find_smart(source, "strftime_now") != SIZE_MAX;
}

/* Renders again what the clock has changed. */
static bool prompt_step(cf_app *app)
{
    if (cf_app_view(app) == CF_VIEW_PROMPT && reads_clock(app) && !cf_app_is_busy(app) &&
        cf_os_now_ms() / 1000 != cf_prompt__state(app)->rendered_s) {
        cf_prompt__state(app)->rendered_s = cf_os_now_ms() / 1000;
        cf_lab_prompt_stale(app->lab);
        app->is_dirty = true;
    }
    return false;
}

static int prompt_wait_ms(const cf_app *app)
{
    return cf_app_view(app) == CF_VIEW_PROMPT && reads_clock(app) ? 1000 : -1;
}

/* Goes to the first token that must be computed: that is what people look
 * for here.  A server is asked for its prompt. */
static void prompt_enter(cf_app *app)
{
    cf_prompt_view *s = cf_prompt__state(app);
    (void)prompt_step(app);
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    cf_error ignored;
    if (m == NULL && cf_lab_prompt_is_asked(app->lab)) {
        cf_ignore(cf_lab_ask_prompt(app->lab, &ignored));
    }
    if (!s->stays) {
        s->token = m != NULL && m->n_kept < m->n ? m->n_kept : 0;
    }
    s->stays = false;
}

/* ---- drawing ------------------------------------------------------------ */

const char *cf_prompt__label(cf_lab *lab, int32_t message, char out[16])
{
    if (message == CF_PART_HEAD) {
        snprintf(out, 16, "- hd");
    } else if (message == CF_PART_GENERATION) {
        snprintf(out, 16, "- gen");
    } else if (message == CF_PART_TOOLS) {
        snprintf(out, 16, "- tls");
    } else {
        const char *role = cf_lab_message_role(lab, (size_t)message);
        size_t number = cf_lab_number_of(lab, (size_t)message);
        if (number > 0) {
            snprintf(out, 16, "%zu %.3s", number % 10000, role);
        } else {
            snprintf(out, 16, "- %.3s", role);
        }
    }
    return out;
}

/* Of what mattered for the reply that Influence shows, or what was looked at for
 * the token that Inside shows. */
static int shade_at(cf_app *app, const cf_prompt *prompt, size_t off)
{
    cf_view_id by = cf_prompt__state(app)->shades;
    return by != CF_VIEW_CHAT ? cf_views[by]->shade(app, prompt, off) : -1;
}

static cf_style token_style(cf_app *app, const cf_prompt_model *m, size_t i)
{
    if (i == cf_prompt__state(app)->token) {
        return CF_STYLE_SELECTED | CF_REVERSE;
    }
    if (m->token[i].reuse == CF_REUSE_BREAK) {
        return CF_STYLE_BREAK;
    }
    int shade = shade_at(app, &m->prompt, m->ids[i].off);
    if (shade >= 0) {
        return (cf_style)(CF_STYLE_HEAT_0 + shade);
    }
    if (cf_lab_is_control(app->lab, m->ids[i].id)) {
        return CF_STYLE_SPECIAL;
    }
    return i % 2 == 0 ? CF_STYLE_TOKEN_A : CF_STYLE_TOKEN_B;
}

/* A run of ordinary tokens by its number, at its first one. */
static int draw_run(cf_app *app, cf_grid *g, int x, int y, int width, const cf_prompt_model *m,
                    size_t first)
{
    size_t n = cf_prompt_model_run(m, first, &first);
    size_t cursor = cf_prompt__state(app)->token;
    bool is_on = cursor >= first && cursor < first + n;
    if (is_on) {
        g->cursor_x = x;
        g->cursor_y = y;
    }
    int used = cf_grid_putf(g, x, y, width, is_on ? CF_STYLE_SELECTED | CF_REVERSE : CF_STYLE_DIM,
                            "..%zu..", n);
    return used + 1;
}

/* A picture or sound as one block, at its first token. */
static int draw_block(cf_app *app, cf_grid *g, int x, int y, int width, const cf_prompt_model *m,
                      size_t first)
{
    char text[CF_PROMPT_BLOCK_MAX];
    size_t n = cf_prompt_model_run(m, first, &first);
    size_t cursor = cf_prompt__state(app)->token;
    bool breaks = m->has_break && m->n_kept >= first && m->n_kept < first + n;
    cf_style style = breaks ? CF_STYLE_BREAK : CF_STYLE_SPECIAL;
    if (cursor >= first && cursor < first + n) {
        g->cursor_x = x;
        g->cursor_y = y;
        style = CF_STYLE_SELECTED | CF_REVERSE;
    }
    return 1 + cf_grid_put(g, x, y, width, cf_prompt_model_block(m, first, text), style);
}

/* One token, with white space visible and, without colour, a "|" after it. */
static int draw_token(cf_app *app, cf_grid *g, int x, int y, int width, const cf_prompt_model *m,
                      size_t i)
{
    int used = 0;
    cf_prompt_form form = cf_prompt__state(app)->form;
    if (cf_prompt_model_is_media(m, i)) {
        return cf_prompt_model_continues(m, i) ? 0 : draw_block(app, g, x, y, width, m, i);
    }
    if (form == CF_PROMPT_AS_SPECIALS && !m->token[i].is_special) {
        return cf_prompt_model_continues(m, i) ? 0 : draw_run(app, g, x, y, width, m, i);
    }
    cf_style style = token_style(app, m, i);
    cf_str text = cf_prompt_model_text(m, i);
    if (form == CF_PROMPT_AS_IDS) {
        used = cf_grid_putf(g, x, y, width, style, "%d", (int)m->ids[i].id);
    } else if (form == CF_PROMPT_AS_HEX) {
        for (size_t k = 0; k < text.n && used < width; k++) {
            used += cf_grid_putf(g, x + used, y, width - used, style, "%02x",
                                 (unsigned)(unsigned char)text.p[k]);
        }
    } else {
        cf_cluster c;
        for (size_t at = 0;
             cf_cluster_next(&c, text.p, text.n, &at, (size_t)used, CF_SPACE_VISIBLE);) {
            used += cf_grid_put_cluster(g, x + used, y, width - used, &c, style);
        }
    }
    bool has_color = g->n_colors > 0;
    if (!has_color || form != CF_PROMPT_AS_TEXT) {
        used += cf_grid_puts(g, x + used, y, width - used, "|", CF_STYLE_DIM);
    }
    return used;
}

/* A finding about a line of the template that wrote something of the row. */
static void draw_mark(cf_app *app, cf_grid *g, cf_rect r, const cf_prompt_model *m,
                      const cf_prompt_row *row)
{
    const cf_lab_lint *lint = cf_prompt__lint(app);
    uint32_t last = 0;
    for (size_t i = 0; lint != NULL && m->prompt.n_spans != 0 && i < row->n; i++) {
        uint32_t line = m->prompt.spans[m->token[row->first + i].span].line;
        if (line != last) {
            cf_lint_pane_mark(g, r.x + 1, r.y, lint, line);
            last = line;
        }
    }
}

static void draw_row(cf_app *app, cf_grid *g, cf_rect r, const cf_prompt_model *m,
                     const cf_prompt_row *row)
{
    static const char marks[] = {'=', '+', '!'};
    static const cf_style styles[] = {CF_STYLE_KEPT, CF_STYLE_NEW, CF_STYLE_BREAK};
    uint8_t reuse = CF_REUSE_KEPT;
    bool has_state = false;
    for (size_t i = 0; i < row->n; i++) {
        has_state = has_state || m->token[row->first + i].has_state;
        uint8_t mine = m->token[row->first + i].reuse;
        reuse = mine == CF_REUSE_BREAK || reuse != CF_REUSE_BREAK ? (mine > reuse ? mine : reuse)
                                                                  : reuse;
    }
    char label[16];
    cf_grid_putf(g, r.x, r.y, 1, styles[reuse], "%c",
                 row->n == 0                           ? ' '
                 : has_state && reuse == CF_REUSE_KEPT ? '#'
                                                       : marks[reuse]);
    draw_mark(app, g, r, m, row);
    cf_grid_puts(g, r.x + 2, r.y, 6, cf_prompt__label(app->lab, row->message, label), CF_STYLE_DIM);
    int x = r.x + 9;
    if (row->is_lost && row->n == 0) {
        cf_grid_puts(g, x, r.y, r.x + r.w - x, "nothing written", CF_STYLE_ERROR);
        return;
    }
    for (size_t i = 0; i < row->n; i++) {
        size_t token = row->first + i;
        if (token == cf_prompt__state(app)->token) {
            g->cursor_x = x;
            g->cursor_y = r.y;
        }
        int w = draw_token(app, g, x, r.y, r.x + r.w - x, m, token);
        cf_grid_spot(g, (cf_rect){x, r.y, w, 1}, CF_PROMPT_SPOT_TOKEN, token);
        x += w;
    }
    if (row->is_lost && x + 2 < r.x + r.w) {
        cf_grid_puts(g, x + 2, r.y, r.x + r.w - x - 2, "nothing written", CF_STYLE_ERROR);
    }
}

static void draw_tokens(cf_app *app, cf_grid *g, cf_rect r, cf_prompt_model *m)
{
    cf_prompt_view *s = cf_prompt__state(app);
    cf_error err;
    if (r.w < 20 ||
        cf_prompt_model_wrap(m, r.w - 10, s->form, cf_text_width_visible, &err) != CF_OK) {
        return;
    }
    if (s->token >= m->n) {
        s->token = m->n > 0 ? m->n - 1 : 0;
    }
    cf_list_set(&s->rows, m->n_row, (size_t)r.h);
    cf_list_go(&s->rows, cf_prompt_model_row_of(m, s->token));
    for (int y = 0; y < r.h && s->rows.top + (size_t)y < m->n_row; y++) {
        draw_row(app, g, (cf_rect){r.x, r.y + y, r.w, 1}, m, &m->row[s->rows.top + (size_t)y]);
    }
}

/* The prompt of an engine that shows no tokens: its text. */
static void draw_text(cf_app *app, cf_grid *g, cf_rect r, const cf_prompt_model *m)
{
    cf_wrapped lines = {0};
    if (r.w < 2 || cf_wrapped_update(&lines, m->prompt.text, r.w, NULL) != CF_OK) {
        return;
    }
    cf_list *rows = &cf_prompt__state(app)->rows;
    cf_list_set(rows, lines.n, (size_t)(r.h > 0 ? r.h : 0));
    for (int y = 0; y < r.h && rows->top + (size_t)y < lines.n; y++) {
        const cf_line *l = &lines.v[rows->top + (size_t)y];
        cf_grid_put(g, r.x, r.y + y, r.w, cf_str_make(m->prompt.text.p + l->off, l->len),
                    rows->top + (size_t)y == rows->cursor ? CF_STYLE_SELECTED : CF_STYLE_NORMAL);
    }
    cf_prompt__state(app)->byte = rows->cursor < lines.n ? lines.v[rows->cursor].off : 0;
    g->cursor_x = r.x;
    g->cursor_y = r.y + (int)(rows->cursor - rows->top);
    cf_wrapped_deinit(&lines);
}

const cf_prompt_span *cf_prompt__span(cf_app *app)
{
    const cf_prompt_view *s = cf_prompt__state(app);
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    if (m == NULL || m->prompt.n_spans == 0) {
        return NULL;
    }
    if (m->n > 0) {
        return s->token < m->n ? &m->prompt.spans[m->token[s->token].span] : NULL;
    }
    return cf_prompt_span_at(&m->prompt, s->byte);
}

/* A picture's or sound's tokens, what encoding it took, and what of it the
 * cache has. */
static void draw_block_line(cf_app *app, cf_grid *g, cf_rect r, const cf_prompt_model *m, size_t i)
{
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    size_t n = cf_prompt_model_run(m, i, &i);
    const cf_media_sheet *sheet = cf_lab_media(app->lab, i, &err);
    if (sheet != NULL) {
        cf_media_sheet_cost(sheet, &text);
    } else {
        cf_buf_adds(&text, err.text);
    }
    cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_NORMAL, "#%zu..%zu  %s", i, i + n - 1,
                 cf_buf_cstr(&text));
    cf_buf_deinit(&text);
}

static void draw_token_line(cf_app *app, cf_grid *g, cf_rect r, const cf_prompt_model *m)
{
    size_t i = cf_prompt__state(app)->token;
    if (i >= m->n) {
        return;
    }
    if (cf_prompt_model_is_media(m, i)) {
        draw_block_line(app, g, r, m, i);
        return;
    }
    const cf_token_span *t = &m->ids[i];
    cf_str text = cf_prompt_model_text(m, i);
    cf_buf hex = CF_BUF_INIT;
    for (size_t k = 0; k < text.n && k < 16; k++) {
        cf_buf_addf(&hex, " %02x", (unsigned)(unsigned char)text.p[k]);
    }
    cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_NORMAL, "#%zu  id %d  %s  bytes %u..%u %s", i,
                 (int)t->id, cf_lab_is_control(app->lab, t->id) ? "control" : "text",
                 (unsigned)t->off, (unsigned)(t->off + t->len), cf_buf_cstr(&hex));
    cf_buf_deinit(&hex);
}

/* Two tokens that spell the same as the one at the cursor: the first pair, and
 * how many others there are. */
static void add_other_ways(cf_buf *out, const cf_tokenizer *tok, cf_token id)
{
    cf_str piece = cf_tokenizer_raw_piece(tok, id);
    size_t n = 0;
    for (size_t at = 1; at < piece.n; at++) {
        if (((unsigned char)piece.p[at] & 0xC0) == 0x80) {
            continue; /* inside of a character */
        }
        const cf_token pair[2] = {cf_tokenizer_find(tok, cf_str_make(piece.p, at)),
                                  cf_tokenizer_find(tok, cf_str_make(piece.p + at, piece.n - at))};
        if (pair[0] == CF_TOKEN_NONE || pair[1] == CF_TOKEN_NONE || n++ > 0) {
            continue;
        }
        cf_buf_adds(out, "also ");
        for (int i = 0; i < 2; i++) {
            cf_buf_addc(out, '[');
            cf_tokenizer_piece(out, tok, pair[i], true);
            cf_buf_addc(out, ']');
        }
        cf_buf_addf(out, " %d %d", (int)pair[0], (int)pair[1]);
    }
    if (n > 1) {
        cf_buf_addf(out, " and %zu more", n - 1);
    }
}

static void draw_other_ways(cf_app *app, cf_grid *g, int x, int y, int width)
{
    const cf_tokenizer *tok = cf_lab_engine_of(app->lab)->tokenizer;
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    size_t i = cf_prompt__state(app)->token;
    if (tok == NULL || m == NULL || i >= m->n || cf_lab_is_control(app->lab, m->ids[i].id)) {
        return;
    }
    cf_buf ways = CF_BUF_INIT;
    add_other_ways(&ways, tok, m->ids[i].id);
    if (ways.n != 0 && cf_text_width(cf_buf_cstr(&ways), ways.n) <= (size_t)width) {
        cf_grid_put(g, x, y, width, cf_buf_str(&ways), CF_STYLE_DIM);
    }
    cf_buf_deinit(&ways);
}

/* Bytes that neither the template nor a message wrote. */
static void draw_added(cf_app *app, cf_grid *g, cf_rect r, const cf_prompt_span *s)
{
    int x = r.x + cf_grid_put(g, r.x, r.y, r.w, s->path, CF_STYLE_WARNING);
    size_t number = s->source == CF_SPAN_MESSAGE ? cf_lab_number_of(app->lab, s->index) : 0;
    if (number > 0) {
        x += cf_grid_putf(g, x, r.y, r.x + r.w - x, CF_STYLE_NORMAL, ", in turn %zu", number);
    }
    cf_grid_puts(g, x, r.y, r.x + r.w - x, "  (:set as_is=on leaves it out)", CF_STYLE_DIM);
}

/* The condition that decided, right of the template's line where both fit. */
static void draw_cause(cf_grid *g, cf_rect r, int used, const cf_prompt_cause *cause)
{
    cf_buf text = CF_BUF_INIT;
    cf_buf safe = CF_BUF_INIT;
    if (cause != NULL) {
        cf_prompt_cause_text(&text, cause);
        cf_safe_line(&safe, cf_buf_cstr(&text), text.n);
        int width = (int)cf_text_width(cf_buf_cstr(&safe), safe.n);
        int least = r.w - width > r.w / 2 ? r.w - width : r.w / 2;
        int at = used + 2 < least ? used + 2 : least;
        cf_grid_fill(g, (cf_rect){r.x + at - 1, r.y, r.w - at + 1, 1}, ' ', CF_STYLE_NORMAL);
        cf_grid_put(g, r.x + at, r.y, r.w - at, cf_buf_str(&safe), CF_STYLE_NORMAL);
    }
    cf_buf_deinit(&safe);
    cf_buf_deinit(&text);
}

static void draw_detail(cf_app *app, cf_grid *g, cf_rect r, const cf_prompt_model *m)
{
    if (m->n > 0) {
        draw_token_line(app, g, r, m);
    } else {
        cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_NORMAL, "byte %zu of %zu",
                     cf_prompt__state(app)->byte, m->prompt.text.n);
    }
    const cf_prompt_span *s = cf_prompt__span(app);
    if (s == NULL || r.h < 2) {
        return;
    }
    char where[40];
    if (cf_prompt_span_is_added(s)) {
        draw_added(app, g, (cf_rect){r.x, r.y + 1, r.w, 1}, s);
        return;
    }
    size_t number = s->source == CF_SPAN_MESSAGE ? cf_lab_number_of(app->lab, s->index) : 0;
    if (number > 0) {
        snprintf(where, sizeof where, "turn %zu", number);
    } else if (s->source == CF_SPAN_MESSAGE) {
        snprintf(where, sizeof where, "the system prompt");
    } else if (s->source == CF_SPAN_TOOL) {
        snprintf(where, sizeof where, "tool %zu", (size_t)s->index + 1);
    } else {
        snprintf(where, sizeof where, "%s", cf_span_source_name(s->source));
    }
    char place[48] = ", as the server wrote it"; /* its template is not here */
    if (!cf_lab_prompt_is_asked(app->lab) || s->line != 0) {
        snprintf(place, sizeof place, ", template line %u col %u", (unsigned)s->line,
                 (unsigned)s->col);
    }
    int used = cf_grid_putf(g, r.x, r.y + 1, r.w, CF_STYLE_NORMAL, "from %s%.*s%s", where,
                            (int)(s->path.n < 60 ? s->path.n : 60), s->path.n != 0 ? s->path.p : "",
                            place);
    if (used + 3 < r.w) {
        draw_other_ways(app, g, r.x + used + 3, r.y + 1, r.w - used - 3);
    }
    if (r.h >= 3) {
        cf_buf line = CF_BUF_INIT;
        cf_lab_template_line(app->lab, s->line, &line);
        int used_of_line = cf_grid_put(g, r.x, r.y + 2, r.w, cf_buf_str(&line), CF_STYLE_DIM);
        cf_buf_deinit(&line);
        draw_cause(g, (cf_rect){r.x, r.y + 2, r.w, 1}, used_of_line, s->cause);
    }
}

/* The prompt itself in a box, or why there is none. */
static void draw_main(cf_app *app, cf_grid *g, cf_rect r, cf_prompt_model *m)
{
    char title[128] = "Prompt";
    cf_rect inner = {r.x + 1, r.y + 1, r.w - 2, r.h - 2};
    bool is_on = cf_prompt__state(app)->focus == CF_PROMPT_TEXT;
    if (m != NULL && m->n != 0) {
        char of[32] = "";
        size_t n_ctx = cf_lab_context_size(app->lab);
        if (n_ctx != 0) {
            snprintf(of, sizeof of, " of %zu", n_ctx);
        }
        snprintf(title, sizeof title, "Prompt  %zu%s tokens  %zu bytes", m->n, of,
                 m->prompt.text.n);
    } else if (m != NULL) {
        size_t n_lost = 0;
        for (size_t i = 0; i < m->n_part; i++) {
            n_lost += m->part[i].is_lost;
        }
        int n = snprintf(title, sizeof title, "Prompt  %zu bytes  (this engine shows no tokens)",
                         m->prompt.text.n);
        if (n_lost > 0) {
            snprintf(title + n, sizeof title - (size_t)n, "  %zu turn%s not written", n_lost,
                     n_lost == 1 ? "" : "s");
        }
    }
    cf_pane(g, r, title, is_on);
    cf_grid_spot(g, r, CF_PROMPT_SPOT_PANE, CF_PROMPT_TEXT);
    if (m == NULL) {
        cf_error err = {0};
        cf_lab_prompt_error(app->lab, &err);
        cf_grid_puts(g, inner.x + 1, inner.y, inner.w - 2, err.text, CF_STYLE_WARNING);
    } else if (m->n == 0) {
        draw_text(app, g, inner, m);
    } else {
        draw_tokens(app, g, inner, m);
    }
}

/* Whether one pane is shown, the one with the focus. */
static bool is_alone(const cf_app *app)
{
    return cf_app_is_narrow(app) || app->is_maximized;
}

static void prompt_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_prompt_model *m = cf_lab_prompt(app->lab);
    bool is_single = is_alone(app);
    int side = is_single ? 0 : 40;
    int detail = m != NULL && r.h >= 12 && !app->is_maximized ? 5 : 0;
    cf_rect p = {r.x, r.y, r.w - side, r.h - detail};
    if (is_single && cf_prompt__state(app)->focus != CF_PROMPT_TEXT) {
        cf_prompt__draw_focus(app, g, r, m);
        return;
    }
    draw_main(app, g, p, m);
    if (side > 0) { /* last: the focus, and with it the cursor, may be here */
        cf_prompt__draw_side(app, g, (cf_rect){r.x + p.w, r.y, side, p.h}, m);
    }
    if (detail > 0) {
        cf_rect d = {r.x, r.y + p.h, r.w, detail};
        cf_pane(g, d, m->n > 0 ? "Token under the cursor" : "Under the cursor", false);
        draw_detail(app, g, (cf_rect){d.x + 2, d.y + 1, d.w - 4, d.h - 2}, m);
    }
}

static void prompt_click(cf_app *app, int what, size_t value)
{
    cf_prompt_view *s = cf_prompt__state(app);
    if (what == CF_PROMPT_SPOT_TOKEN) {
        s->focus = CF_PROMPT_TEXT;
        s->token = value;
    } else if (what == CF_PROMPT_SPOT_PANE) {
        s->focus = (cf_prompt_focus)value;
    } else if (what == CF_PROMPT_SPOT_VAR) {
        s->focus = CF_PROMPT_VARS;
        cf_list_go(&s->vars, value);
    } else if (what == CF_SPOT_FINDING) {
        s->focus = CF_PROMPT_LINT;
        cf_prompt__show_finding(app, value);
    }
}

/* The pane under the wheel takes the focus. */
static bool prompt_wheel(cf_app *app, int what, size_t value, int by)
{
    cf_prompt_view *s = cf_prompt__state(app);
    (void)by;
    s->focus = what == CF_PROMPT_SPOT_TOKEN  ? CF_PROMPT_TEXT
               : what == CF_PROMPT_SPOT_VAR  ? CF_PROMPT_VARS
               : what == CF_SPOT_FINDING     ? CF_PROMPT_LINT
               : what == CF_PROMPT_SPOT_PANE ? (cf_prompt_focus)value
                                             : s->focus;
    return false;
}

/* The first token of the turn under Chat's cursor. */
static void prompt_follow(cf_app *app, const cf_turn *turn)
{
    cf_prompt_view *s = cf_prompt__state(app);
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    size_t n, at = 0;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    while (at < n && !cf_uuid_eq(path[at]->id, turn->id)) {
        at++;
    }
    bool is_same =
        cf_uuid_eq(s->followed, turn->id) && s->followed_at == cf_lab_generation(app->lab);
    if (m == NULL || at == n || is_same) {
        return;
    }
    s->followed = turn->id;
    s->followed_at = cf_lab_generation(app->lab);
    size_t message = cf_lab_message_of(app->lab, at);
    for (size_t i = 0; i < m->n_part; i++) {
        if (m->part[i].message == (int32_t)message) {
            s->token = m->part[i].first;
            return;
        }
    }
}

static void prompt_status(cf_app *app, cf_buf *out)
{
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    if (m != NULL && m->n != 0) {
        cf_buf_addf(out, "token %zu of %zu  %s", cf_prompt__state(app)->token + 1, m->n,
                    cf_lab_template_name(app->lab));
    }
}

/* ---- commands ----------------------------------------------------------- */

static void prompt_move(cf_app *app, int move)
{
    cf_prompt_view *s = cf_prompt__state(app);
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    if (s->focus != CF_PROMPT_TEXT) {
        cf_prompt__move_side(app, move);
        return;
    }
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

/* To the token before or after, or to the run that several are shown as. */
static void go_token(cf_app *app, int by)
{
    cf_prompt_view *s = cf_prompt__state(app);
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    if (m == NULL || s->token >= m->n) {
        return;
    }
    size_t first = s->token, n = 0;
    if (s->form == CF_PROMPT_AS_SPECIALS || cf_prompt_model_is_media(m, s->token)) {
        n = cf_prompt_model_run(m, s->token, &first);
    }
    size_t after = first + (n != 0 ? n : 1);
    if (by > 0 && after < m->n) {
        s->token = after;
    } else if (by < 0 && first > 0) {
        s->token = first - 1;
    }
}

/* To the first token of the part before or after this one. */
static void go_part(cf_app *app, int by)
{
    cf_prompt_view *s = cf_prompt__state(app);
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    for (size_t i = 0; m != NULL && i < m->n_part; i++) {
        const cf_prompt_part *p = &m->part[i];
        if (s->token < p->first || s->token >= p->first + p->n_tokens) {
            continue;
        }
        if (by > 0 && i + 1 < m->n_part) {
            s->token = m->part[i + 1].first;
        } else if (by < 0) {
            s->token = s->token > p->first || i == 0 ? p->first : m->part[i - 1].first;
        }
        return;
    }
}

static void cmd_break(cf_app *app)
{
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    if (m == NULL || !m->has_break) {
        cf_app_say(app, CF_STYLE_OK,
                   m != NULL && m->is_other ? "the cache holds another conversation"
                                            : "the cache agrees with this prompt");
        return;
    }
    cf_prompt__state(app)->token = m->n_kept;
}

static bool prompt_text(cf_app *app, cf_buf *out)
{
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    if (m != NULL) {
        cf_buf_add(out, m->prompt.text.p, m->prompt.text.n);
    }
    return m != NULL;
}

/* In this form, or as text again. */
static void show_as(cf_app *app, int form)
{
    cf_prompt_view *s = cf_prompt__state(app);
    s->form = (int)s->form == form ? CF_PROMPT_AS_TEXT : (cf_prompt_form)form;
}

static void cmd_var(cf_app *app, const char *arg)
{
    cf_error err;
    if (arg[0] == '\0') {
        cf_edit_set(&app->command_line, cf_str_from("var "));
        app->mode = CF_MODE_COMMAND;
        return;
    }
    if (cf_lab_set_var(app->lab, arg, &err) != CF_OK) {
        cf_app_error(app, &err);
    }
}

static void go_pane(cf_app *app, int by)
{
    cf_prompt_view *s = cf_prompt__state(app);
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    bool has_inspector = is_alone(app) && m != NULL && m->n > 0;
    /* The cause of a loss is one step from the prompt. */
    static const cf_prompt_focus order[] = {CF_PROMPT_TEXT, CF_PROMPT_INSPECTOR, CF_PROMPT_LINT,
                                            CF_PROMPT_VARS};
    int at = 0;
    while (order[at] != s->focus) {
        at++;
    }
    do {
        at = (at + by + CF_PROMPT_FOCUS_COUNT) % CF_PROMPT_FOCUS_COUNT;
    } while (order[at] == CF_PROMPT_INSPECTOR && !has_inspector);
    s->focus = order[at];
}

/* The template's line that is meant; says so when there is none. */
static uint32_t meant_line(cf_app *app)
{
    uint32_t line = cf_prompt__line(app);
    if (line == 0) {
        cf_app_say(app, CF_STYLE_WARNING,
                   cf_lab_engine_of(app->lab)->template_source.n == 0
                       ? "there is no template"
                       : "no line of the template is meant here");
    }
    return line;
}

static void cmd_open(cf_app *app)
{
    if (cf_prompt__state(app)->focus == CF_PROMPT_VARS) {
        cf_prompt__edit_variable(app);
        return;
    }
    cf_prompt_view *s = cf_prompt__state(app);
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    if (s->focus == CF_PROMPT_TEXT && m != NULL && s->token < m->n &&
        cf_prompt_model_is_media(m, s->token)) {
        s->stays = true;
        cf_app_show(app, CF_VIEW_MEDIA, &(cf_target){.kind = CF_TARGET_TOKEN, .from = s->token});
        return;
    }
    uint32_t line = meant_line(app);
    if (line != 0) {
        cf_app_show(app, CF_VIEW_TEMPLATES, &(cf_target){.kind = CF_TARGET_LINE, .from = line});
    }
}

static void cmd_edit(cf_app *app)
{
    uint32_t line = meant_line(app);
    if (line != 0) {
        cf_app_show(app, CF_VIEW_TEMPLATES, &(cf_target){.kind = CF_TARGET_EDIT, .from = line});
    }
}

/* A byte of the message's text in whose part of the prompt the token is;
 * SIZE_MAX: the template alone wrote the token. */
static size_t byte_of_message(const cf_prompt_model *m, size_t token)
{
    for (size_t i = 0; i < m->n; i++) {
        const cf_prompt_span *s = &m->prompt.spans[m->token[i].span];
        if (m->token[token].message >= 0 && s->source == CF_SPAN_MESSAGE &&
            m->token[i].message == m->token[token].message && !cf_str_is(s->path, ".role")) {
            return m->ids[i].off;
        }
    }
    return SIZE_MAX;
}

/* Asks another view about the part under the cursor. */
static void show_part(cf_app *app, cf_view_id view, bool stays)
{
    const cf_prompt_span *span = cf_prompt__span(app);
    if (span == NULL) {
        cf_app_say(app, CF_STYLE_DIM, "the origin of this text is not known");
        return;
    }
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    const cf_prompt_view *s = cf_prompt__state(app);
    bool has_token = m != NULL && s->token < m->n;
    cf_target target = {
        .kind = CF_TARGET_PART, .from = has_token ? m->ids[s->token].off : s->byte, .stays = stays};
    if (span->source == CF_SPAN_TEMPLATE) {
        size_t of_message = has_token ? byte_of_message(m, s->token) : SIZE_MAX;
        target.is_piece = of_message == SIZE_MAX;
        target.from = target.is_piece ? target.from : of_message;
    }
    cf_app_show(app, view, &target);
}

static void cmd_influence(cf_app *app)
{
    show_part(app, CF_VIEW_INFLUENCE, false);
}

static void cmd_inside(cf_app *app)
{
    show_part(app, CF_VIEW_INSIDE, false);
}

/* The same in the Inspector, with the prompt in shades. */
static void cmd_hide(cf_app *app)
{
    show_part(app, CF_VIEW_INSIDE, true);
    cf_prompt__state(app)->shades = CF_VIEW_INSIDE;
}

static void step_heads(cf_app *app, int by)
{
    cf_views[CF_VIEW_INSIDE]->heads(app, by > 0 ? "+" : "-");
    cf_prompt__state(app)->shades = CF_VIEW_INSIDE;
}

static void cmd_heads(cf_app *app, const char *arg)
{
    cf_views[CF_VIEW_INSIDE]->heads(app, arg);
    cf_prompt__state(app)->shades = CF_VIEW_INSIDE;
}

static bool has_shades(cf_app *app, cf_view_id view)
{
    const cf_prompt none = {.n_spans = 0};
    return cf_views[view]->shade(app, &none, 0) != CF_SHADES_NONE;
}

/* By influence, by what was looked at, none. */
static void cmd_shades(cf_app *app)
{
    cf_prompt_view *s = cf_prompt__state(app);
    cf_view_id was = s->shades;
    bool by_inside = has_shades(app, CF_VIEW_INSIDE);
    s->shades = CF_VIEW_CHAT;
    if (was == CF_VIEW_CHAT && (has_shades(app, CF_VIEW_INFLUENCE) || !by_inside)) {
        s->shades = CF_VIEW_INFLUENCE;
    } else if (was != CF_VIEW_INSIDE && by_inside) {
        s->shades = CF_VIEW_INSIDE;
        cf_app_say(app, CF_STYLE_DIM, "shades: what the token in Inside looked at, not a cause");
    }
    if (s->shades == CF_VIEW_INFLUENCE && !has_shades(app, CF_VIEW_INFLUENCE)) {
        cf_app_say(app, CF_STYLE_DIM, "no influence was computed yet: gi computes it");
    }
}

/* The prompt that the server showed, beside ours. */
static void cmd_compare(cf_app *app)
{
    cf_app_show(app, CF_VIEW_DIFF, &(cf_target){.kind = CF_TARGET_SERVER});
}

static void prompt_search(cf_app *app, const char *text, int direction)
{
    cf_prompt_view *s = cf_prompt__state(app);
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    if (m != NULL && m->n == 0) {
        cf_app_say(app, CF_STYLE_WARNING, "there are no tokens to find it in");
        return;
    }
    for (size_t step = direction == 0 ? 0 : 1; m != NULL && step <= m->n; step++) {
        size_t i =
            direction < 0 ? (s->token + m->n - step % m->n) % m->n : (s->token + step) % m->n;
        /* A match may begin in one token and end in the next ones. */
        uint32_t off = m->ids[i].off;
        cf_str from = cf_str_make(m->prompt.text.p + off, m->prompt.text.n - off);
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

/* A table of what the tokens are spent on, in the Output view. */
static void cmd_ledger(cf_app *app)
{
    cf_error err = {0};
    cf_arena arena;
    cf_ledger ledger;
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    cf_arena_init(&arena, 0);
    if (m == NULL) {
        cf_lab_prompt_error(app->lab, &err);
    }
    if (m == NULL || cf_lab_ledger(app->lab, m, &arena, &ledger, &err) != CF_OK) {
        cf_app_say(app, CF_STYLE_ERROR, "%s", err.text);
    } else {
        cf_buf_restart(&app->output);
        cf_ledger_text(&app->output, &ledger, cf_lab_prefill_speed(app->lab));
        cf_app_open_view(app, CF_VIEW_OUTPUT);
    }
    cf_arena_deinit(&arena);
}

#define HERE CF_IN(CF_VIEW_PROMPT)

static const cf_command prompt_commands[] = {
    {"left", HERE, "h <Left>", "", "previous token", CF_BY(go_token, -1)},
    {"right", HERE, "l <Right>", "", "next token", CF_BY(go_token, 1)},
    {"next-message", HERE, "w ]m", "", "next part", CF_BY(go_part, 1)},
    {"previous-message", HERE, "b [m", "", "previous part", CF_BY(go_part, -1)},
    {"divergence", HERE, "]d [d", "", "where the prompt diverges from the cache",
     CF_RUN(cmd_break)},
    {"ids", HERE, "#", "", "show ids instead of text", CF_BY(show_as, CF_PROMPT_AS_IDS)},
    {"hex", HERE, "x", "", "show bytes instead of text", CF_BY(show_as, CF_PROMPT_AS_HEX)},
    {"specials", HERE, "s", "", "show special tokens only, and the number of tokens between them",
     CF_BY(show_as, CF_PROMPT_AS_SPECIALS)},
    {"open", HERE, "<Enter>", "",
     "show the template line that wrote this; for a picture or sound, what the model receives; for "
     "a variable, set it",
     CF_RUN(cmd_open)},
    {"edit", HERE, "e E", "", "edit that line in $EDITOR and render again", CF_RUN(cmd_edit)},
    {"pane", HERE, "<Tab>", "", "prompt, inspector where one pane is shown, findings or variables",
     CF_BY(go_pane, 1)},
    {"pane-back", HERE, "<S-Tab>", "", "previous pane", CF_BY(go_pane, -1)},
    {"lint", HERE, "L", "", "go to the findings about the template", CF_RUN(cf_prompt__cmd_lint)},
    {"next-finding", HERE, "]e", "", "next finding, and what its line wrote",
     CF_BY(cf_prompt__go_finding, 1)},
    {"previous-finding", HERE, "[e", "", "previous finding", CF_BY(cf_prompt__go_finding, -1)},
    {"vars", HERE, "V", "", "go to the template's variables", CF_RUN(cf_prompt__cmd_vars)},
    {"ask", HERE, "r", "", "ask the server for its prompt again", CF_RUN(cmd_ask)},
    {"influence", HERE, "gi", "", "where this part mattered in the last reply",
     CF_RUN(cmd_influence)},
    {"inside", HERE, "gh", "", "hide this part: what the last reply would have chosen",
     CF_RUN(cmd_inside)},
    {"hide", HERE, "gH", "", "the same here: the Inspector answers, the prompt is in shades",
     CF_RUN(cmd_hide)},
    {"heads", HERE, "", "[all|LAYER[.HEAD[-HEAD]]]", "shade by what these heads looked at",
     CF_WITH(cmd_heads)},
    {"next-heads", HERE, "]h", "", "shade by the heads of the next layer", CF_BY(step_heads, 1)},
    {"previous-heads", HERE, "[h", "", "by those of the layer before", CF_BY(step_heads, -1)},
    {"shades", HERE, "H", "", "shade each token by its influence, or by what Inside looked at",
     CF_RUN(cmd_shades)},
    {"compare", HERE, "=", "", "compare our prompt with the server's in Diff", CF_RUN(cmd_compare)},
    {"ledger", HERE, "g$", "", "tokens and seconds of each message, tool and line of the template",
     CF_RUN(cmd_ledger)},
    {"var", HERE, "gv", "NAME=JSON", "set a template variable; NAME= removes it", CF_WITH(cmd_var)},
    CF_MOVE_ROWS(prompt_move, HERE),
    {0},
};

const cf_view_ops cf_view_prompt = {
    .name = "prompt",
    .title = "Prompt",
    .commands = prompt_commands,
    .footer = "pane divergence open edit next-message lint ids left right "
              "specials search vars ledger hex maximize",
    .state_size = sizeof(cf_prompt_view),
    .enter = prompt_enter,
    .step = prompt_step,
    .wait_ms = prompt_wait_ms,
    .draw = prompt_draw,
    .search = prompt_search,
    .text = prompt_text,
    .click = prompt_click,
    .wheel = prompt_wheel,
    .follow = prompt_follow,
    .status = prompt_status,
};
