/*
 * tokens_plot.c - a whole reply at one glance: a plot of it, and its tokens in
 * the order of what they cost.
 *
 * A column of the plot is a token, or several where there are more tokens than
 * columns: then the worst of them is drawn.
 */
#include <math.h>
#include <stdio.h>

#include "tui/lab/lab.h"
#include "tui/view/tokens/tokens.h"
#include "tui/widget/bar.h"
#include "tui/widget/note.h"

cf_token_loss cf_tokens__loss_kind(const cf_tokens *s)
{
    return s->overlay == CF_HEAT_MASS ? CF_LOSS_MASS : CF_LOSS_SURPRISE;
}

/* ---- the plot ----------------------------------------------------------- */

/* What the overlay is about, for one token; below 0: not known. */
static double plotted(const cf_tokens *s, const cf_chat_token *t)
{
    return s->overlay == CF_HEAT_ENTROPY ? (t->draw != NULL ? (double)t->draw->entropy_bits : -1)
                                         : cf_token_loss_of(t, cf_tokens__loss_kind(s));
}

size_t cf_tokens__per_column(const cf_reply *reply, int width)
{
    size_t w = width > 1 ? (size_t)width : 1;
    return (reply->n_token + w - 1) / w;
}

/* The value of a column and the token that has it; false: none is known. */
static bool column(const cf_tokens *s, const cf_reply *reply, size_t from, size_t per,
                   double *value, size_t *token)
{
    *value = -1;
    *token = from;
    for (size_t i = from; i < from + per && i < reply->n_token; i++) {
        double v = plotted(s, &reply->token[i]);
        if (v > *value) {
            *value = v;
            *token = i;
        }
    }
    return *value >= 0;
}

static cf_style bar_style(const cf_tokens *s, double value)
{
    bool is_bits = s->overlay == CF_HEAT_ENTROPY;
    /* The steps of the overlay: p below .25, .6 and .9; 4, 2 and 1 bit. */
    double high = is_bits ? 4 : 1.386, middle = is_bits ? 2 : 0.511, low = is_bits ? 1 : 0.105;
    return value > high     ? CF_STYLE_PLOT_3
           : value > middle ? CF_STYLE_PLOT_2
           : value > low    ? CF_STYLE_PLOT_1
                            : CF_STYLE_PLOT_0;
}

void cf_tokens__draw_plot(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply)
{
    const cf_tokens *s = cf_tokens__state(app);
    size_t per = cf_tokens__per_column(reply, r.w);
    double most = 1; /* less is not worth a full bar */
    if (r.h < 2 || r.w < 8) {
        return;
    }
    for (size_t i = 0; i < reply->n_token; i++) {
        double v = plotted(s, &reply->token[i]);
        most = v > most ? v : most;
    }
    cf_rect bars = {r.x, r.y, r.w, r.h - 1};
    for (size_t from = 0, x = 0; from < reply->n_token; from += per, x++) {
        double value;
        size_t token;
        bool is_known = column(s, reply, from, per, &value, &token);
        bool is_on = s->token >= from && s->token < from + per;
        if (is_known) {
            cf_bar_draw(g, (cf_rect){bars.x + (int)x, bars.y, 1, bars.h}, value / most,
                        bar_style(s, value));
        }
        cf_grid_puts(g, r.x + (int)x, r.y + r.h - 1, 1,
                     is_on      ? "^"
                     : is_known ? "."
                                : " ",
                     is_on ? CF_STYLE_KEY : CF_STYLE_DIM);
        cf_grid_spot(g, (cf_rect){r.x + (int)x, r.y, 1, r.h}, CF_TOKENS_SPOT_PLOT, token);
        if (is_on && s->focus == CF_ON_PLOT) {
            g->cursor_x = r.x + (int)x;
            g->cursor_y = r.y + r.h - 1;
        }
    }
}

void cf_tokens__plot_title(const cf_tokens *s, const cf_reply *reply, int width, char out[96])
{
    static const char *const what[CF_HEAT_COUNT] = {
        "surprise (-ln p)", "entropy (bit)", "mass lost to the constraint", "surprise (-ln p)"};
    double most = 0;
    for (size_t i = 0; i < reply->n_token; i++) {
        double v = plotted(s, &reply->token[i]);
        most = v > most ? v : most;
    }
    size_t per = cf_tokens__per_column(reply, width);
    int n = snprintf(out, 96, "Plot  %s, up to %.1f", what[s->overlay], most);
    if (per > 1 && n > 0 && n < 96) {
        snprintf(out + n, 96 - (size_t)n, "; %zu a column", per);
    }
}

/* ---- worst first -------------------------------------------------------- */

void cf_tokens__worst_title(const cf_worst *w, cf_token_loss kind, char out[128])
{
    const char *what = kind == CF_LOSS_MASS ? "Most mass lost" : "Worst first";
    size_t n = (size_t)snprintf(out, 128, "%s  %.1f nats", what, w->total);
    if (w->n_most > 0 && w->total > 0.05) {
        n += (size_t)snprintf(out + n, 128 - n, ", 80 %% at ");
        size_t listed = w->n_most < 3 ? w->n_most : 3;
        for (size_t i = 0; i < listed && n < 120; i++) {
            n += (size_t)snprintf(out + n, 128 - n, "%s%zu", i > 0 ? ", " : "", w->at[i] + 1);
        }
        if (listed < w->n_most && n < 120) {
            snprintf(out + n, 128 - n, " ...");
        }
    }
}

static void draw_worst_row(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply,
                           const cf_worst *w, size_t i)
{
    const cf_tokens *s = cf_tokens__state(app);
    const cf_chat_token *t = &reply->token[w->at[i]];
    cf_token_loss kind = cf_tokens__loss_kind(s);
    double loss = cf_token_loss_of(t, kind);
    bool is_on = s->focus == CF_ON_WORST && i == s->worst;
    cf_style style = is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
    char p[CF_P_TEXT];
    cf_buf text = CF_BUF_INIT;
    cf_tokens__p(s, exp(-loss), p);
    cf_token_text(app->lab, reply, w->at[i], &text);
    cf_grid_fill(g, r, ' ', style);
    int x = r.x + cf_grid_putf(g, r.x, r.y, r.w, style, "%3zu %5zu  ", i + 1, w->at[i] + 1);
    int room = r.w - 39 > 8 ? r.w - 39 : 8;
    room = room < 24 ? room : 24;
    cf_buf quoted = CF_BUF_INIT;
    cf_buf_addf(&quoted, "'%s'", cf_buf_cstr(&text));
    cf_grid_put(g, x, r.y, room, cf_buf_str(&quoted), style);
    x += room + 1;
    cf_grid_putf(g, x, r.y, r.x + r.w - x, is_on ? style : CF_STYLE_DIM,
                 "%s %s  %5.2f nats  %2.0f %%", kind == CF_LOSS_MASS ? "mass" : "p", p, loss,
                 w->total > 0 ? 100 * loss / w->total : 0);
    cf_grid_spot(g, r, CF_TOKENS_SPOT_WORST, i);
    if (is_on) {
        g->cursor_x = r.x;
        g->cursor_y = r.y;
    }
    cf_buf_deinit(&quoted);
    cf_buf_deinit(&text);
}

void cf_tokens__draw_worst(cf_app *app, cf_grid *g, cf_rect r, const cf_reply *reply,
                           const cf_worst *w)
{
    const cf_tokens *s = cf_tokens__state(app);
    size_t h = r.h > 0 ? (size_t)r.h : 0;
    if (w->n == 0) {
        cf_note_puts(g, r,
                     w->n_known > 0               ? "nothing was lost: every token was "
                                                    "expected"
                     : s->overlay == CF_HEAT_MASS ? "no token of this reply was constrained"
                                                  : "no probabilities are known",
                     CF_STYLE_DIM);
        return;
    }
    size_t first = s->focus == CF_ON_WORST && s->worst >= h && h > 0 ? s->worst - h + 1 : 0;
    for (size_t y = 0; y < h && first + y < w->n; y++) {
        draw_worst_row(app, g, (cf_rect){r.x, r.y + (int)y, r.w, 1}, reply, w, first + y);
    }
}
