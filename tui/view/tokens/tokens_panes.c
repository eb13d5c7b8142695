/*
 * tokens_panes.c - the panes of the Tokens view.
 *
 * The marks repeat what colours say: "!" a token that is worth a look, "?"
 * half so, ">" one that was not sampled.
 */
#include <math.h>
#include <stdio.h>

#include "core/api/loop.h"
#include "tui/lab/lab.h"
#include "tui/lab/reply/lab_reply.h"
#include "tui/view/tokens/tokens.h"
#include "tui/widget/bar.h"

enum {
    FIGURES = 3, /* lines below the reply */
    MANY_ROWS = 100
};

void cf_tokens__p(const cf_tokens *s, double p, char out[CF_P_TEXT])
{
    if (s->has_logs) {
        snprintf(out, CF_P_TEXT, p > 0 ? "%5.1f" : " -inf", p > 0 ? log(p) : 0);
    } else {
        snprintf(out, CF_P_TEXT, !(p > 0) ? "    0" : p < 0.0005 ? "%5.0e" : "%5.3f", p);
    }
}

size_t cf_tokens__visible(const cf_tokens *s, const cf_draw *d,
                          const cf_candidate *out[CF_TOKENS_LISTED])
{
    size_t n = 0;
    bool has_chosen = false;
    for (size_t i = 0; d != NULL && i < d->n_top; i++) {
        has_chosen = has_chosen || d->top[i].id == d->id;
        if (!s->hides_masked || d->top[i].removed_by != CF_REMOVED_CONSTRAINT) {
            out[n++] = &d->top[i];
        }
    }
    if (d != NULL && !has_chosen) {
        out[n++] = &d->chosen;
    }
    return n;
}

/* ---- the reply ---------------------------------------------------------- */

/* The probability that colours follow; below 0 where there is none. */
static float shown_p(const cf_tokens *s, const cf_chat_token *t)
{
    if (t->draw == NULL) {
        return t->p;
    }
    return s->by_post ? t->draw->chosen.p_post : t->draw->chosen.p_raw;
}

/* 0 to 3: how much a token is worth a look; -1: nothing is known. */
static int heat(const cf_tokens *s, const cf_chat_token *t)
{
    float v = shown_p(s, t);
    switch (s->overlay) {
    case CF_HEAT_ENTROPY:
        v = t->draw != NULL ? t->draw->entropy_bits : -1;
        return v < 0 ? -1 : v > 4 ? 3 : v > 2 ? 2 : v > 1 ? 1 : 0;
    case CF_HEAT_MASS:
        v = t->draw != NULL && t->is_held ? t->draw->allowed_mass : -1;
        break;
    case CF_HEAT_P:
    case CF_HEAT_NONE:
    case CF_HEAT_COUNT:
        break;
    }
    return v < 0 ? -1 : v < 0.25f ? 3 : v < 0.6f ? 2 : v < 0.9f ? 1 : 0;
}

static cf_style style_of(const cf_tokens *s, const cf_chat_token *t)
{
    static const cf_style styles[] = {CF_STYLE_HEAT_0, CF_STYLE_HEAT_1, CF_STYLE_HEAT_2,
                                      CF_STYLE_HEAT_3};
    if (s->overlay == CF_HEAT_NONE) {
        return CF_STYLE_NORMAL;
    }
    if (t->is_forced) {
        return CF_STYLE_KEPT | CF_UNDERLINE;
    }
    int h = heat(s, t);
    return h < 0 ? CF_STYLE_DIM : styles[h];
}

static char mark_of(const cf_tokens *s, const cf_chat_token *t)
{
    int h = s->overlay == CF_HEAT_NONE ? -1 : heat(s, t);
    return t->is_forced ? '>' : h == 3 ? '!' : h == 2 ? '?' : t->is_drafted ? '+' : '|';
}

/* A token in a row of tokens, with its mark after it; the cells it takes. */
static int put_token(cf_grid *g, int x, int y, int room, const cf_buf *text, cf_style style,
                     char mark)
{
    cf_cluster c;
    int used = 0;
    for (size_t at = 0; cf_cluster_next(&c, text->n != 0 ? text->p : "", text->n, &at, (size_t)used,
                                        CF_SPACE_VISIBLE);) {
        used += g != NULL ? cf_grid_put_cluster(g, x + used, y, room - used, &c, style) : c.width;
    }
    if (g != NULL) {
        cf_grid_putf(g, x + used, y, 1, CF_STYLE_DIM, "%c", mark);
    }
    return used + 1;
}

/* Lays the tokens out in rows; draws those in sight when g is given, and
 * reports the cursor's row and, unless n_rows is NULL, how many there are. */
static size_t lay_out(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply, size_t *n_rows)
{
    const cf_tokens *s = cf_tokens__state(app);
    size_t row = 0, cursor_row = 0;
    int x = 0;
    for (size_t i = 0; i < reply->n_token; i++) {
        cf_buf text = CF_BUF_INIT;
        cf_token_text(app->lab, reply, i, &text);
        int w = put_token(NULL, 0, 0, 0, &text, 0, 0);
        if (x + w > r.w && x > 0) {
            row++;
            x = 0;
        }
        if (i == s->token) {
            cursor_row = row;
        }
        if (g != NULL && row >= s->top_row && row - s->top_row < (size_t)r.h) {
            int y = r.y + (int)(row - s->top_row);
            const cf_chat_token *t = &reply->token[i];
            cf_style style = style_of(s, t);
            if (cf_tokens__is_marked(app, reply->turn, i)) {
                style = CF_STYLE_SELECTED | CF_UNDERLINE;
            }
            if (i == s->token && s->medium == 0) {
                style = CF_STYLE_SELECTED | CF_REVERSE;
                g->cursor_x = r.x + x;
                g->cursor_y = y;
            }
            put_token(g, r.x + x, y, r.w - x, &text, style, mark_of(s, t));
            cf_grid_spot(g, (cf_rect){r.x + x, y, w, 1}, CF_TOKENS_SPOT_TOKEN, i);
        }
        x += w;
        bool ends_line = text.n != 0 && text.p[text.n - 1] == '\n';
        if (ends_line) {
            row++;
            x = 0;
        }
        cf_buf_deinit(&text);
    }
    if (n_rows != NULL) {
        *n_rows = row + 1;
    }
    return cursor_row;
}

int cf_tokens__reply_rows(cf_app *app, int width, const cf_reply *reply)
{
    size_t n = 0;
    lay_out(app, NULL, (cf_rect){0, 0, width, 0}, reply, &n);
    return (int)(n < 1000 ? n : 1000) + 1 + FIGURES + cf_tokens__media_rows(app, reply, MANY_ROWS);
}

/* The mass of the way out (what all tokens but the next of the loop had
 * together) over the loop, by its logarithm: a full bar is 1, none 1e-5. */
static void draw_way_out(cf_grid *g, cf_rect r, const cf_loop *loop, const float *p)
{
    static const char name[] = "way out, 1 to 1e-5: ";
    int x = cf_grid_puts(g, r.x, r.y, r.w, name, CF_STYLE_DIM);
    size_t from = loop->first + loop->period;
    size_t n = loop->length - loop->period;
    size_t columns = r.w > x ? (size_t)(r.w - x) : 0;
    size_t per = columns > 0 ? (n + columns - 1) / columns : 0;
    for (size_t at = 0; per > 0 && at < n; at += per) {
        float most = 0;
        for (size_t i = at; i < at + per && i < n; i++) {
            most = fmaxf(most, 1 - p[from + i]);
        }
        double value = most > 0 ? 1 + log10((double)most) / 5 : 0;
        cf_bar_draw(g, (cf_rect){r.x + x++, r.y, 1, 1}, value > 0 ? value : 0,
                    most < 0.01f ? CF_STYLE_WARNING : CF_STYLE_DIM);
    }
}

/* What tells a token from others: its id, or where a server shows none a
 * number that follows from its bytes. */
static cf_token loop_id(const cf_reply *reply, size_t i)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    if (reply->token[i].id != CF_TOKEN_NONE) {
        return reply->token[i].id;
    }
    cf_str text = cf_reply_token_text(reply, i);
    for (size_t k = 0; k < text.n; k++) {
        h = (h ^ (unsigned char)text.p[k]) * 16777619u;
    }
    return (cf_token)(h & INT32_MAX);
}

/* The model's probability of a token; negative: it is not known. */
static float loop_p(const cf_reply *reply, size_t i)
{
    const cf_chat_token *t = &reply->token[i];
    return t->draw != NULL ? t->draw->chosen.p_raw : t->p;
}

/* A loop in the reply: its period, how likely it was to come out at first and
 * at last, and from where on that was under 1 %.  False: there is none. */
static bool draw_loop(cf_grid *g, cf_rect r, const cf_reply *reply)
{
    enum { MAX = 4096 };
    cf_token ids[MAX];
    float p[MAX];
    cf_loop loop = {0, 0, 0};
    size_t n = reply->n_token < MAX ? reply->n_token : MAX;
    size_t skip = reply->n_token - n; /* the newest are looked at */
    cf_error ignored;
    for (size_t i = 0; i < n; i++) {
        ids[i] = loop_id(reply, skip + i);
        p[i] = loop_p(reply, skip + i);
    }
    if (cf_loop_find(&loop, ids, n, &ignored) != CF_OK || loop.length == 0) {
        return false;
    }
    cf_buf out = CF_BUF_INIT;
    size_t last = loop.first + loop.length - 1;
    cf_buf_addf(&out, "loop of %zu from #%zu, %zu times", loop.period, skip + loop.first + 1,
                loop.length / loop.period);
    bool has_p = n > 0 && p[last] >= 0;
    if (has_p) {
        cf_buf_addf(&out, "; leaving %.3g%% to %.3g%%",
                    100 * (1 - (double)p[loop.first + loop.period]), 100 * (1 - (double)p[last]));
    }
    size_t trap = has_p ? cf_loop_trap(&loop, p, 0.01f) : SIZE_MAX;
    if (trap != SIZE_MAX) {
        cf_buf_addf(&out, ", closed from #%zu", skip + trap + 1);
    }
    cf_grid_put(g, r.x, r.y + 1, r.w, cf_buf_str(&out), CF_STYLE_WARNING);
    cf_buf_deinit(&out);
    if (has_p) {
        cf_grid_fill(g, (cf_rect){r.x, r.y, r.w, 1}, ' ', CF_STYLE_NORMAL);
        draw_way_out(g, (cf_rect){r.x, r.y, r.w, 1}, &loop, p);
    }
    return true;
}

/* The meaning of the marks, and the reply in figures. */
static void draw_figures(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    const cf_tokens *s = cf_tokens__state(app);
    static const char *const marks[] = {"! p<.25  ? p<.6", "! >4 bit  ? >2 bit",
                                        "! allowed <.25  ? <.6 of the mass", "no overlay"};
    double log_p = 0, entropy = 0;
    size_t n = 0, n_other = 0, n_forced = 0, n_drafted = 0;
    for (size_t i = 0; i < reply->n_token; i++) {
        const cf_draw *d = reply->token[i].draw;
        n_forced += reply->token[i].is_forced;
        n_drafted += reply->token[i].is_drafted;
        if (d != NULL) {
            n++;
            n_other += d->chosen.rank != 1;
            log_p += d->chosen.p_raw > 0 ? log((double)d->chosen.p_raw) : 0;
            entropy += (double)d->entropy_bits;
        }
    }
    int at = cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_DIM,
                          n_drafted == 0 ? "%s  > given: %zu" : "%s  > given: %zu  + drafted: %zu",
                          marks[s->overlay], n_forced, n_drafted);
    const cf_timings *t = &reply->timings;
    if (t->n_drafted > 0) {
        cf_grid_putf(g, r.x + at, r.y, r.w - at, CF_STYLE_DIM, " (%llu%%)",
                     100ULL * t->n_accepted / t->n_drafted);
    }
    if (n > 0) {
        cf_grid_putf(g, r.x, r.y + 1, r.w, CF_STYLE_DIM,
                     "perplexity %.2f  entropy %.2f bit a token", exp(-log_p / (double)n),
                     entropy / (double)n);
    }
    if (draw_loop(g, (cf_rect){r.x, r.y + 1, r.w, 2}, reply)) {
        return;
    }
    if (n > 0) {
        cf_grid_putf(g, r.x, r.y + 2, r.w, CF_STYLE_DIM,
                     "%zu of %zu drawn were not the model's first choice", n_other, n);
    }
}

void cf_tokens__draw_reply(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    cf_tokens *s = cf_tokens__state(app);
    if (r.h >= 9) {
        r.h -= FIGURES + 1;
        draw_figures(app, g, (cf_rect){r.x, r.y + r.h + 1, r.w, FIGURES}, reply);
    }
    int media = cf_tokens__media_rows(app, reply, r.h);
    cf_tokens__draw_media(app, g, (cf_rect){r.x, r.y, r.w, media}, reply);
    r.y += media;
    r.h -= media;
    size_t row = lay_out(app, NULL, r, reply, NULL);
    if (row < s->top_row) {
        s->top_row = row;
    } else if (row >= s->top_row + (size_t)r.h) {
        s->top_row = row - (size_t)r.h + 1;
    }
    lay_out(app, g, r, reply, NULL);
}

/* ---- alternatives ------------------------------------------------------- */

/* 'token' in `width` cells. */
static void put_quoted(cf_app *app, cf_grid *g, cf_rect r, cf_token id, cf_style style)
{
    cf_buf text = CF_BUF_INIT;
    cf_buf_addc(&text, '\'');
    cf_token_piece(app->lab, id, &text);
    cf_buf_addc(&text, '\'');
    cf_grid_put(g, r.x, r.y, r.w, cf_buf_str(&text), style);
    cf_buf_deinit(&text);
}

/* Candidates of an engine that shows texts and no ids. */
static void draw_texts(const cf_tokens *s, cf_grid *g, cf_rect r, const cf_chat_token *t)
{
    if (t->n_top == 0) {
        cf_grid_puts(g, r.x, r.y, r.w,
                     t->is_forced ? "not sampled: this token was given or forced"
                                  : "no candidates were kept for this token",
                     CF_STYLE_DIM);
        return;
    }
    cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_DIM, " %2s %6s token", "#", "p");
    for (size_t i = 0; i < t->n_top && (int)i + 1 < r.h; i++) {
        int y = r.y + 1 + (int)i;
        char p[CF_P_TEXT];
        cf_tokens__p(s, (double)t->top[i].p, p);
        int x = r.x + cf_grid_putf(g, r.x, y, r.w, CF_STYLE_NORMAL, " %2zu %6s '", i + 1, p);
        x += cf_grid_put(g, x, y, r.x + r.w - x, t->top[i].text, CF_STYLE_NORMAL);
        cf_grid_puts(g, x, y, 1, "'", CF_STYLE_NORMAL);
    }
}

/* "yes", "top-p", with how far penalties and bias moved the logit. */
static void put_reason(cf_buf *out, const cf_candidate *c)
{
    cf_buf_adds(out, c->removed_by == CF_KEPT                  ? "yes"
                     : c->removed_by == CF_REMOVED_TEMPERATURE ? "greedy"
                                                               : cf_removed_by_name(c->removed_by));
    float moved = c->logit_post - c->logit;
    if (isfinite(moved) && (moved > 0.05f || moved < -0.05f)) {
        cf_buf_addf(out, " %+.1f", (double)moved);
    }
}

/* Cells of a candidate's text, in a list of this width. */
static int text_width(int width)
{
    int w = width - 35;
    return w < 10 ? 10 : w > 40 ? 40 : w;
}

static void draw_candidate(cf_app *app, cf_grid *g, cf_rect r, const cf_draw *d,
                           const cf_candidate *c, bool is_on)
{
    const cf_tokens *s = cf_tokens__state(app);
    char raw[CF_P_TEXT], post[CF_P_TEXT];
    cf_tokens__p(s, (double)c->p_raw, raw);
    cf_tokens__p(s, (double)c->p_post, post);
    cf_style style = is_on                      ? CF_STYLE_SELECTED
                     : c->removed_by != CF_KEPT ? CF_STYLE_DIM
                                                : CF_STYLE_NORMAL;
    int text_w = text_width(r.w);
    cf_grid_fill(g, r, ' ', style);
    int x = r.x + cf_grid_putf(g, r.x, r.y, r.w, style, "%c%3u %6d ", c->id == d->id ? '>' : ' ',
                               (unsigned)c->rank, (int)c->id);
    put_quoted(app, g, (cf_rect){x, r.y, text_w, 1}, c->id, style);
    x += text_w + 1;
    cf_buf why = CF_BUF_INIT;
    put_reason(&why, c);
    cf_grid_putf(g, x, r.y, r.x + r.w - x, style, "%s %s %s", raw,
                 c->removed_by != CF_KEPT ? "    -" : post, cf_buf_cstr(&why));
    cf_buf_deinit(&why);
    if (is_on) {
        g->cursor_x = r.x;
        g->cursor_y = r.y;
    }
}

/* ".. 502 more  0.123", and the draw itself. */
static void draw_rest(cf_app *app, cf_grid *g, cf_rect r, const cf_draw *d, bool has_room)
{
    const cf_tokens *s = cf_tokens__state(app);
    const cf_tokenizer *tok = cf_lab_engine_of(app->lab)->tokenizer;
    double rest = 1;
    for (size_t i = 0; i < d->n_top; i++) {
        rest -= (double)d->top[i].p_raw;
    }
    if (has_room && tok != NULL && cf_tokenizer_n_vocab(tok) > d->n_top) {
        char p[CF_P_TEXT];
        cf_tokens__p(s, rest > 0 ? rest : 0, p);
        cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_DIM, "  .. %zu more, together %s",
                     cf_tokenizer_n_vocab(tok) - d->n_top, p);
    }
    float gap = d->n_top > 1 ? d->top[0].p_raw - d->top[1].p_raw : 0;
    cf_grid_putf(g, r.x, r.y + r.h - 1, r.w, CF_STYLE_NORMAL,
                 "entropy %.2f bit  gap %.3f  r=%.4f  draw %llu", (double)d->entropy_bits,
                 (double)gap, d->r, (unsigned long long)d->n_draw);
}

void cf_tokens__draw_candidates(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    const cf_tokens *s = cf_tokens__state(app);
    const cf_chat_token *t = &reply->token[s->token];
    const cf_draw *d = t->draw;
    const cf_candidate *at[CF_TOKENS_LISTED];
    if (d == NULL) {
        draw_texts(s, g, r, t);
        return;
    }
    size_t n = cf_tokens__visible(s, d, at), chosen = 0;
    int text_w = text_width(r.w);
    bool is_on = s->focus == CF_ON_CANDIDATES;
    cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_DIM, " %3s %6s %-*s %5s %5s %s", "#", "id", text_w,
                 "token", "raw", "drawn", "kept");
    while (chosen + 1 < n && at[chosen]->id != d->id) {
        chosen++;
    }
    size_t room = r.h > 2 ? (size_t)r.h - 2 : 0;
    size_t first = is_on && s->candidate >= room ? s->candidate - room + 1 : 0;
    size_t shown = 0;
    for (; shown < room && first + shown < n; shown++) {
        /* Where not all fit, the chosen one stays in sight. */
        bool is_last = shown + 1 == room && !is_on && chosen > shown;
        size_t i = is_last ? chosen : first + shown;
        cf_rect row = {r.x, r.y + 1 + (int)shown, r.w, 1};
        draw_candidate(app, g, row, d, at[i], is_on && i == s->candidate);
        cf_grid_spot(g, row, CF_TOKENS_SPOT_CANDIDATE, i);
    }
    cf_rect below = {r.x, r.y + 1 + (int)shown, r.w, r.h - 1 - (int)shown};
    draw_rest(app, g, below, d, shown < room);
}

/* ---- the sampler -------------------------------------------------------- */

/* The greedy choice: the best token that no rule removed. */
static const cf_candidate *greedy_choice(const cf_draw *d)
{
    const cf_candidate *best = NULL;
    for (size_t i = 0; i < d->n_top; i++) {
        const cf_candidate *c = &d->top[i];
        bool is_out = c->removed_by == CF_REMOVED_SUPPRESS ||
                      c->removed_by == CF_REMOVED_CONSTRAINT || c->removed_by == CF_REMOVED_NGRAM;
        if (!is_out && (best == NULL || c->logit_post > best->logit_post)) {
            best = c;
        }
    }
    return best;
}

void cf_tokens__draw_path(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    const cf_tokens *s = cf_tokens__state(app);
    const cf_chat_token *t = &reply->token[s->token];
    const cf_draw *d = t->draw;
    int y = r.y, end = r.y + r.h;
    if (reply->sampler[0] != '\0') {
        cf_grid_puts(g, r.x, y++, r.w, reply->sampler, CF_STYLE_DIM);
    }
    if (d == NULL) {
        cf_grid_puts(g, r.x, y, r.w, "no draw", CF_STYLE_DIM);
        return;
    }
    for (size_t k = 0; k < d->n_step && y < end; k++) {
        uint32_t before = k > 0 ? d->step[k - 1].n_left : d->step[k].n_left;
        int x = cf_grid_putf(g, r.x, y, r.w, CF_STYLE_NORMAL, "- %-12s %8u left", d->step[k].name,
                             (unsigned)d->step[k].n_left);
        if (before > d->step[k].n_left) {
            cf_grid_putf(g, r.x + x + 2, y, r.w - x - 2, CF_STYLE_DIM, "(%u cut)",
                         (unsigned)(before - d->step[k].n_left));
        }
        y++;
    }
    const cf_candidate *best = greedy_choice(d);
    if (best != NULL && y < end) {
        const char *rule = t->is_held ? "under the constraint " : "";
        int x = cf_grid_putf(g, r.x, y, r.w, CF_STYLE_NORMAL, "%sgreedy would take %s", rule,
                             best->id == d->id ? "it too" : "");
        if (best->id != d->id) {
            put_quoted(app, g, (cf_rect){r.x + x, y, r.w - x, 1}, best->id, CF_STYLE_NORMAL);
        }
    }
}

/* ---- the tree ----------------------------------------------------------- */

static cf_style heat_of_p(float p)
{
    return p < 0.25f  ? CF_STYLE_HEAT_3
           : p < 0.6f ? CF_STYLE_HEAT_2
           : p < 0.9f ? CF_STYLE_HEAT_1
                      : CF_STYLE_HEAT_0;
}

/* A branch over as many rows as it needs, at most r.h; how many it took. */
static int draw_branch(cf_app *app, cf_grid *g, cf_rect r, size_t b)
{
    const cf_tokens *s = cf_tokens__state(app);
    const cf_token_tree *t = &s->tree;
    bool is_on = s->focus == CF_ON_TREE && b == s->branch;
    char p[CF_P_TEXT];
    cf_tokens__p(s, (double)t->node[b][0].p, p);
    int start = cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_DIM, "%c- %s ", is_on ? '>' : '+', p);
    int x = r.x + start, y = r.y, end = r.x + r.w - 8;
    for (size_t i = 0; i < t->n[b]; i++) {
        cf_buf text = CF_BUF_INIT;
        cf_token_piece(app->lab, t->node[b][i].id, &text);
        int w = put_token(NULL, 0, 0, 0, &text, 0, 0);
        bool is_cursor = is_on && i == s->node;
        if (x + w > end && y + 1 < r.y + r.h && x > r.x + start) {
            x = r.x + start;
            y++;
        }
        if (x + w > end) {
            cf_grid_puts(g, x, y, 1, "~", CF_STYLE_DIM);
            cf_buf_deinit(&text);
            break;
        }
        if (is_cursor) {
            g->cursor_x = x;
            g->cursor_y = y;
        }
        float np = t->node[b][i].p;
        cf_grid_spot(g, (cf_rect){x, y, w, 1}, CF_TOKENS_SPOT_BRANCH, b * CF_TREE_DEPTH_MAX + i);
        x += put_token(g, x, y, end - x, &text,
                       is_cursor ? (cf_style)(CF_STYLE_SELECTED | CF_REVERSE) : heat_of_p(np),
                       np < 0.25f  ? '!'
                       : np < 0.6f ? '?'
                                   : '|');
        cf_buf_deinit(&text);
    }
    cf_grid_putf(g, end + 1, y, 7, CF_STYLE_DIM, "%7.1e", cf_token_tree_joint(t, b, t->n[b] - 1));
    return y - r.y + 1;
}

void cf_tokens__draw_tree(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_tokens *s = cf_tokens__state(app);
    const cf_token_tree *t = &s->tree;
    int y = r.y, end = r.y + r.h;
    for (size_t b = 0; b < t->n_branch && y < end; b++) {
        /* A row is left for each branch to come, and for the line below. */
        int spare = end - y - (int)(t->n_branch - b);
        int rows = spare > 1 ? spare : 1;
        y += draw_branch(app, g, (cf_rect){r.x, y, r.w, rows}, b);
    }
    if (y >= end) {
        return;
    }
    if (t->is_running && t->n_branch == 0) {
        cf_grid_putf(g, r.x, y, r.w, CF_STYLE_DIM, "reading %llu of %llu tokens; Esc stops",
                     (unsigned long long)t->n_done, (unsigned long long)t->n_total);
    } else if (!t->is_running && t->why.code != CF_OK) {
        cf_grid_put(g, r.x, y, r.w, cf_str_from(t->why.text), CF_STYLE_WARNING);
    } else if (s->focus == CF_ON_TREE && s->branch < t->n_branch) {
        cf_grid_putf(g, r.x, y, r.w, CF_STYLE_DIM,
                     "<Enter> goes on from here  token %zu  p %.3g  joint %.2g", s->node + 1,
                     (double)t->node[s->branch][s->node].p,
                     cf_token_tree_joint(t, s->branch, s->node));
    }
}

/* ---- the constraint ----------------------------------------------------- */

/* The constraint's state before the cursor's token; NULL and a sentence in
 * *why where that is not known. */
static const cf_token_place *place_of(cf_app *app, const cf_reply *reply, const char **why)
{
    const cf_tokens *s = cf_tokens__state(app);
    *why = "";
    if (reply->rule == NULL) {
        *why = "this reply was written freely; :constrain holds the next one";
    } else if (s->study == NULL || s->token >= s->study->n) {
        *why = s->study_err.code != CF_OK ? s->study_err.text : "reading the constraint";
    } else if (!s->study->place[s->token].is_asked) {
        *why = "free here: the constraint does not hold thinking";
    } else {
        return &s->study->place[s->token];
    }
    return NULL;
}

/* The tokens around the cursor, "~" under forced ones, "^" under the
 * cursor. */
static void draw_around(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    const cf_tokens *s = cf_tokens__state(app);
    size_t first = s->token;
    int room = r.w * 2 / 3;
    for (;; first--) {
        cf_buf text = CF_BUF_INIT;
        cf_token_text(app->lab, reply, first, &text);
        room -= put_token(NULL, 0, 0, 0, &text, 0, 0) - 1;
        cf_buf_deinit(&text);
        if (room < 0 || first == 0) {
            break;
        }
    }
    int x = r.x;
    for (size_t i = first; i < reply->n_token && x < r.x + r.w; i++) {
        cf_buf text = CF_BUF_INIT;
        cf_token_text(app->lab, reply, i, &text);
        int w = put_token(g, x, r.y, r.x + r.w - x, &text,
                          i == s->token ? CF_STYLE_SELECTED : CF_STYLE_NORMAL, ' ') -
                1;
        for (int k = 0; k < w; k++) {
            char mark = i == s->token ? '^' : reply->token[i].is_forced ? '~' : ' ';
            cf_grid_putf(g, x + k, r.y + 1, 1, CF_STYLE_DIM, "%c", mark);
        }
        x += w;
        cf_buf_deinit(&text);
    }
}

/* Whether a token before it in the list has the same text. */
static bool is_same_text(cf_app *app, const cf_token_place *p, size_t at)
{
    cf_buf text = CF_BUF_INIT;
    bool is_same = false;
    cf_token_piece(app->lab, p->allowed[at], &text);
    for (size_t i = 0; i < at && !is_same; i++) {
        cf_buf other = CF_BUF_INIT;
        cf_token_piece(app->lab, p->allowed[i], &other);
        is_same = cf_str_eq(cf_buf_str(&text), cf_buf_str(&other));
        cf_buf_deinit(&other);
    }
    cf_buf_deinit(&text);
    return is_same;
}

static void draw_allowed(cf_app *app, cf_grid *g, cf_rect r, const cf_token_place *p)
{
    int x = r.x + cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_NORMAL, "allowed here: %u token%s%s ",
                               (unsigned)p->n_allowed, p->n_allowed == 1 ? "" : "s",
                               p->may_end ? " or the end" : "");
    for (size_t i = 0; i < p->n_listed && x < r.x + r.w; i++) {
        cf_buf text = CF_BUF_INIT;
        cf_buf_adds(&text, " '");
        cf_token_piece(app->lab, p->allowed[i], &text);
        cf_buf_addc(&text, '\'');
        if (!is_same_text(app, p, i)) {
            x += cf_grid_put(g, x, r.y, r.x + r.w - x, cf_buf_str(&text), CF_STYLE_OK);
        }
        cf_buf_deinit(&text);
    }
}

/* What the model gave to the tokens allowed here, and what that cost in the
 * whole reply, over two rows where there are two. */
static int draw_mass(const cf_tokens *s, cf_grid *g, cf_rect r, const cf_reply *reply, size_t at)
{
    const cf_draw *d = reply->token[at].draw;
    char p[CF_P_TEXT];
    if (d != NULL) {
        cf_tokens__p(s, (double)d->allowed_mass, p);
        cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_NORMAL, "the model gave them %s of the mass",
                     p + (p[0] == ' '));
    } else {
        cf_grid_puts(g, r.x, r.y, r.w, "the model was not asked", CF_STYLE_NORMAL);
    }
    cf_worst worst;
    cf_worst_find(&worst, reply, CF_LOSS_MASS);
    if (worst.n == 0 || r.h < 2) {
        return 1;
    }
    char text[160];
    int n = snprintf(text, sizeof text, "%.1f nats lost in all", worst.total);
    for (size_t i = 0; i < worst.n_most && i < 4; i++) {
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%zu",
                      i == 0 ? ", 80 % at token " : ", ", worst.at[i] + 1);
    }
    cf_grid_puts(g, r.x, r.y + 1, r.w, text, CF_STYLE_NORMAL);
    return 2;
}

static void put_field(cf_grid *g, cf_rect r, const char *name, cf_str text)
{
    int x = cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_DIM, "%-9s", name);
    cf_grid_put(g, r.x + x, r.y, r.w - x, text, CF_STYLE_NORMAL);
}

static void draw_refused(cf_app *app, cf_grid *g, cf_rect r, const cf_token_place *p)
{
    const cf_tokens *s = cf_tokens__state(app);
    int x = cf_grid_puts(g, r.x, r.y, r.w, "best refused: ", CF_STYLE_NORMAL);
    cf_buf text = CF_BUF_INIT;
    cf_buf_addc(&text, '\'');
    cf_token_piece(app->lab, p->refused, &text);
    char prob[CF_P_TEXT];
    cf_tokens__p(s, (double)p->p_refused, prob);
    cf_buf_addf(&text, "' %s, at its byte %zu", prob + (prob[0] == ' '), p->refused_at);
    cf_grid_put(g, r.x + x, r.y, r.w - x, cf_buf_str(&text), CF_STYLE_WARNING);
    cf_buf_deinit(&text);
}

void cf_tokens__draw_constraint(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    const cf_tokens *s = cf_tokens__state(app);
    const char *why;
    const cf_token_place *p = place_of(app, reply, &why);
    draw_around(app, g, (cf_rect){r.x, r.y, r.w, 2}, reply);
    int y = r.y + 2, end = r.y + r.h;
    if (p == NULL) {
        cf_grid_put(g, r.x, y, r.w, cf_str_from(why), CF_STYLE_DIM);
        return;
    }
    if (y < end) {
        draw_allowed(app, g, (cf_rect){r.x, y++, r.w, 1}, p);
    }
    if (y < end) {
        y += draw_mass(s, g, (cf_rect){r.x, y, r.w, end - y}, reply, s->token);
    }
    if (y < end && p->refused != CF_TOKEN_NONE) {
        draw_refused(app, g, (cf_rect){r.x, y++, r.w, 1}, p);
    }
    if (y < end && p->must.n != 0) {
        put_field(g, (cf_rect){r.x, y, r.w, 1}, "must be", p->must);
    }
}

void cf_tokens__draw_state(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    const cf_tokens *s = cf_tokens__state(app);
    const char *why;
    const cf_token_place *p = place_of(app, reply, &why);
    if (p == NULL) {
        cf_grid_put(g, r.x, r.y, r.w, cf_str_from(why), CF_STYLE_DIM);
        return;
    }
    char mask[64];
    snprintf(mask, sizeof mask, "%u of %u off", (unsigned)(s->study->n_vocab - p->n_allowed),
             (unsigned)s->study->n_vocab);
    const struct {
        const char *name;
        cf_str text;
    } fields[] = {
        {"path", p->path},
        {"rule", p->rule},
        {"next", p->next.n != 0 ? p->next : cf_str_from("the end")},
        {"stack", p->stack},
        {"mask", cf_str_from(mask)},
    };
    for (int i = 0; i < 5 && i < r.h; i++) {
        put_field(g, (cf_rect){r.x, r.y + i, r.w, 1}, fields[i].name, fields[i].text);
    }
}
