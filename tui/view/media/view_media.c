/*
 * view_media.c - a picture or sound of the prompt as the model gets it.
 *
 * Left: the resized picture with its grid of tokens, tile by tile, or the
 * spectrogram.  Right: sizes, tiles, tokens and what they cost; the token under
 * the cursor with its positions; the expansion in the prompt.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_messages.h"
#include "tui/view/kit/moves.h"
#include "tui/view/kit/pane.h"
#include "tui/widget/list.h"

enum {
    SIDE = 38,
    HEARD_LEAST = 16, /* tokens of a sound in sight, where it has them */
    LINE_LEAST = 4,   /* pixels of a token that has lines */
    FINE = 10,        /* pixels a cell is wide for a terminal with graphics */
    FINE_MAX = 600000 /* pixels of the picture, there */
};

typedef struct media_view {
    size_t token;  /* of the prompt: which picture or sound */
    size_t page;   /* 0: all tiles, where there are any; else block page - 1 */
    uint32_t x, y; /* the token under the cursor, of the block */
    uint32_t left; /* of a sound: the first token in sight */
    bool has_no_grid;
    cf_list pieces;        /* of the expansion */
    unsigned char *canvas; /* of this frame, owned */
    size_t cap_canvas;
    unsigned char *fine; /* the same for a terminal with graphics, owned */
    size_t cap_fine;
} media_view;

static media_view *state(cf_app *app)
{
    return app->state[CF_VIEW_MEDIA];
}

static void media_close(cf_app *app)
{
    cf_free(state(app)->canvas);
    cf_free(state(app)->fine);
}

static const cf_media_sheet *sheet_of(cf_app *app, cf_error *err)
{
    return cf_lab_media(app->lab, state(app)->token, err);
}

static bool has_overview(const cf_media_sheet *s)
{
    return s->tile_cols > 0;
}

/* The block of the page; NULL: all tiles. */
static const cf_sheet_block *block_of(const cf_media_sheet *s, size_t page)
{
    return page == 0 ? NULL : &s->block[page - 1];
}

static void go_to(cf_app *app, size_t token)
{
    media_view *v = state(app);
    cf_error err;
    v->token = token;
    v->x = v->y = v->left = 0;
    const cf_media_sheet *s = sheet_of(app, &err);
    v->page = s != NULL && has_overview(s) ? 0 : 1;
}

static void media_show(cf_app *app, const cf_target *target)
{
    cf_app_open_view(app, CF_VIEW_MEDIA);
    go_to(app, target->from);
}

/* Opened from Chat it shows what the turn under the cursor has, if anything. */
static void media_follow(cf_app *app, const cf_turn *turn)
{
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    size_t n, at = 0;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    while (at < n && !cf_uuid_eq(path[at]->id, turn->id)) {
        at++;
    }
    size_t message = cf_lab_message_of(app->lab, at);
    for (size_t i = 0; m != NULL && i < m->n; i++) {
        if (cf_prompt_model_is_media(m, i) && m->prompt.spans[m->token[i].span].index == message) {
            go_to(app, i);
            return;
        }
    }
}

/* It may be opened by its name: then on what Chat's turn has, or on the first
 * one of the prompt. */
static void media_enter(cf_app *app)
{
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    const cf_view_ops *chat = cf_views[CF_VIEW_CHAT];
    bool is_from_chat = app->n_stack > 1 && app->stack[app->n_stack - 2] == CF_VIEW_CHAT;
    const cf_turn *turn = is_from_chat ? chat->turn(app) : NULL;
    cf_error err;
    if (turn != NULL) {
        media_follow(app, turn);
    }
    if (m != NULL && sheet_of(app, &err) == NULL) {
        bool is_first = m->n > 0 && cf_prompt_model_is_media(m, 0);
        go_to(app, is_first ? 0 : cf_media_sheet_step(m, 0, 1));
    }
}

/* ---- the picture -------------------------------------------------------- */

/* The edges of token (or tile) i of n over `size` pixels. */
static int edge(int size, uint32_t i, uint32_t n)
{
    return n != 0 ? (int)((int64_t)size * i / n) : 0;
}

/* Pixels of a part of the sheet. */
typedef struct part {
    const cf_sheet_block *b;
    int x, y;             /* of the whole, in pixels of the sheet */
    int from, w;          /* the columns of the block in sight */
    uint32_t first, cols; /* and their tokens */
} part;

static double frames_before(const cf_media_sheet *s, size_t block)
{
    double n = 0;
    for (size_t i = 0; i < block; i++) {
        n += s->block[i].w;
    }
    return n;
}

/* Tokens of a sound's block that it has something to hear in; the rest is
 * silence that fills it up.  A frame is 10 ms. */
static uint32_t heard_tokens(const cf_media_sheet *s, size_t block)
{
    const cf_sheet_block *b = &s->block[block];
    double frames = s->heard * 100 - frames_before(s, block);
    double n = b->w > 0 ? ceil(frames * b->cols / b->w) : 0;
    return n < 0 ? 0 : n > b->cols ? b->cols : (uint32_t)n;
}

/* A sound fills the width with what is to be heard, at most a token a cell;
 * the cursor brings the rest into sight. */
static part part_of_sound(const cf_media_sheet *s, media_view *v, int cells)
{
    const cf_sheet_block *b = &s->block[v->page - 1];
    uint32_t n = heard_tokens(s, v->page - 1);
    n = n < HEARD_LEAST ? HEARD_LEAST : n;
    n = n < (uint32_t)cells ? n : (uint32_t)cells;
    n = n < b->cols ? n : b->cols;
    v->left = v->x < v->left ? v->x : v->left;
    v->left = v->x >= v->left + n ? v->x - n + 1 : v->left;
    v->left = v->left + n > b->cols ? b->cols - n : v->left;
    int from = edge(b->w, v->left, b->cols);
    return (part){b, 0, 0, from, edge(b->w, v->left + n, b->cols) - from, v->left, n};
}

/* Where the page has its blocks: one, or all tiles side by side. */
static part part_of(const cf_media_sheet *s, media_view *v, size_t i, int cells)
{
    if (s->is_sound) {
        return part_of_sound(s, v, cells);
    }
    const cf_sheet_block *b = &s->block[v->page > 0 ? v->page - 1 : i];
    part p = {b, 0, 0, 0, b->w, 0, b->cols};
    if (v->page == 0) {
        p.x = (int)(i % s->tile_cols) * b->w;
        p.y = (int)(i / s->tile_cols) * b->h;
    }
    return p;
}

static size_t n_parts(const cf_media_sheet *s, size_t page)
{
    return page > 0 ? 1 : (size_t)s->tile_cols * s->tile_rows;
}

/* A pixel of the canvas. */
typedef struct canvas {
    unsigned char *rgb;
    int w, h;
} canvas;

static void mix(canvas *c, int x, int y, uint32_t rgb, int share)
{
    if (x < 0 || y < 0 || x >= c->w || y >= c->h) {
        return;
    }
    unsigned char *p = c->rgb + 3 * ((size_t)y * (size_t)c->w + (size_t)x);
    for (int i = 0; i < 3; i++) {
        int ink = (int)(rgb >> (16 - 8 * i) & 0xFF);
        p[i] = (unsigned char)((p[i] * (100 - share) + ink * share) / 100);
    }
}

/* The mean of the block's pixels that fall into one of the canvas. */
static void copy_pixel(unsigned char *to, const cf_sheet_block *b, int x0, int x1, int y0, int y1)
{
    unsigned sum[3] = {0, 0, 0}, n = 0;
    x1 = x1 > x0 ? x1 : x0 + 1;
    y1 = y1 > y0 ? y1 : y0 + 1;
    for (int y = y0; y < y1 && y < b->h; y++) {
        for (int x = x0; x < x1 && x < b->w; x++) {
            const unsigned char *p = b->rgb + 3 * ((size_t)y * (size_t)b->w + (size_t)x);
            sum[0] += p[0];
            sum[1] += p[1];
            sum[2] += p[2];
            n++;
        }
    }
    for (int c = 0; c < 3; c++) {
        to[c] = (unsigned char)(n != 0 ? sum[c] / n : 0);
    }
}

static void draw_lines(canvas *c, int x0, int y0, int w, int h, uint32_t cols, uint32_t rows,
                       uint32_t rgb)
{
    for (uint32_t i = 0; i < cols && w / (int)cols >= LINE_LEAST; i++) {
        for (int y = 0; y < h; y++) {
            mix(c, x0 + edge(w, i, cols), y0 + y, rgb, 55);
        }
    }
    for (uint32_t i = 0; i < rows && h / (int)rows >= LINE_LEAST; i++) {
        for (int x = 0; x < w; x++) {
            mix(c, x0 + x, y0 + edge(h, i, rows), rgb, 55);
        }
    }
}

/* The token under the cursor, brighter. */
static void draw_cursor(canvas *c, const part *p, const media_view *v)
{
    uint32_t col = v->x - p->first, rows = p->b->rows;
    for (int y = edge(c->h, v->y, rows); y < edge(c->h, v->y + 1, rows); y++) {
        for (int x = edge(c->w, col, p->cols); x < edge(c->w, col + 1, p->cols); x++) {
            mix(c, x, y, 0xFFD040, 60);
        }
    }
}

static void paint_part(canvas *c, const part *p, cf_rect to)
{
    for (int y = 0; y < to.h; y++) {
        for (int x = 0; x < to.w; x++) {
            copy_pixel(c->rgb + 3 * ((size_t)(to.y + y) * (size_t)c->w + (size_t)(to.x + x)), p->b,
                       p->from + (int)((int64_t)x * p->w / to.w),
                       p->from + (int)((int64_t)(x + 1) * p->w / to.w),
                       (int)((int64_t)y * p->b->h / to.h),
                       (int)((int64_t)(y + 1) * p->b->h / to.h));
        }
    }
}

static void paint(canvas *c, const cf_media_sheet *s, media_view *v, int cells, int whole_w,
                  int whole_h)
{
    for (size_t i = 0; i < n_parts(s, v->page); i++) {
        part p = part_of(s, v, i, cells);
        int x0 = (int)((int64_t)p.x * c->w / whole_w);
        int y0 = (int)((int64_t)p.y * c->h / whole_h);
        cf_rect to = {x0, y0, (int)((int64_t)(p.x + p.w) * c->w / whole_w) - x0,
                      (int)((int64_t)(p.y + p.b->h) * c->h / whole_h) - y0};
        paint_part(c, &p, to);
        if (!v->has_no_grid) {
            draw_lines(c, to.x, to.y, to.w, to.h, p.cols, p.b->rows, 0x101010);
        }
        if (v->page == 0) { /* the tile's own edge */
            draw_lines(c, to.x, to.y, to.w, to.h, 1, 1, 0xFFFFFF);
        } else if (!v->has_no_grid) {
            draw_cursor(c, &p, v);
        }
    }
}

/* With more pixels than cells have, where the terminal shows them. */
static void draw_fine(cf_grid *g, cf_rect r, const cf_media_sheet *s, media_view *v, int whole_w,
                      int whole_h)
{
    int times = FINE;
    while (times > 2 && r.w * r.h * 2 * times * times > FINE_MAX) {
        times--;
    }
    canvas c = {.w = r.w * times, .h = r.h * 2 * times};
    if (!g->has_graphics || !cf_grow(&v->fine, &v->cap_fine, (size_t)c.w * (size_t)c.h, 3)) {
        return;
    }
    c.rgb = v->fine;
    memset(c.rgb, 0, 3 * (size_t)c.w * (size_t)c.h);
    paint(&c, s, v, r.w, whole_w, whole_h);
    cf_grid_plate(g, r, r, c.rgb, c.w, c.h);
}

/* The picture in as many of the cells of r as its shape allows. */
static void draw_picture(cf_app *app, cf_grid *g, cf_rect r, const cf_media_sheet *s)
{
    media_view *v = state(app);
    const cf_sheet_block *b = &s->block[v->page > 0 ? v->page - 1 : 0];
    int whole_w = s->is_sound   ? part_of(s, v, 0, r.w).w
                  : v->page > 0 ? b->w
                                : b->w * (int)s->tile_cols;
    int whole_h = b->h * (v->page > 0 ? 1 : (int)s->tile_rows);
    if (r.w < 4 || r.h < 2 || whole_w < 1 || whole_h < 1) {
        return;
    }
    /* A cell is about twice as high as wide; a sound fills the width. */
    int w = r.w, h = s->is_sound ? r.h : r.w * whole_h / whole_w / 2;
    if (h > r.h) {
        h = r.h;
        w = r.h * 2 * whole_w / whole_h;
    }
    w = w < 1 ? 1 : w > r.w ? r.w : w;
    h = h < 1 ? 1 : h;
    canvas c = {.w = w, .h = 2 * h}; /* a cell is two pixels */
    if (!cf_grow(&v->canvas, &v->cap_canvas, (size_t)c.w * (size_t)c.h, 3)) {
        return; /* the facts are shown alone */
    }
    c.rgb = v->canvas;
    memset(c.rgb, 0, 3 * (size_t)c.w * (size_t)c.h);
    paint(&c, s, v, w, whole_w, whole_h);
    cf_rect to = {r.x, r.y, w, h};
    cf_grid_put_picture(g, to, c.rgb, c.w, c.h);
    draw_fine(g, to, s, v, whole_w, whole_h);
}

/* ---- the facts ---------------------------------------------------------- */

typedef struct pen {
    cf_grid *g;
    cf_rect r; /* what is left */
} pen;

static void line(pen *p, cf_style style, const char *fmt, ...) CF_PRINTF(3, 4);
static void line(pen *p, cf_style style, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n >= 0 && p->r.h > 0) {
        cf_grid_puts(p->g, p->r.x, p->r.y++, p->r.w, text, style);
        p->r.h--;
    }
}

static void draw_sizes(pen *p, const cf_media_sheet *s)
{
    const cf_sheet_block *b = &s->block[0];
    if (s->is_sound) {
        line(p, CF_STYLE_NORMAL, "%.2f s, %u Hz, %u %s", s->seconds, (unsigned)s->rate,
             (unsigned)s->channels, s->channels == 1 ? "channel" : "channels");
        line(p, CF_STYLE_NORMAL, "%.2f s heard at 16 kHz", s->heard);
        line(p, CF_STYLE_NORMAL, "%d frames of 10 ms, %d bands%s", b->w, b->h,
             s->n_block > 1 ? " each" : "");
    } else {
        line(p, CF_STYLE_NORMAL, "%u x %u pixels in the file", (unsigned)s->width,
             (unsigned)s->height);
    }
    if (s->tile_cols > 0) {
        line(p, CF_STYLE_NORMAL, "%u x %u tiles of %d x %d, and the", (unsigned)s->tile_cols,
             (unsigned)s->tile_rows, b->w, b->h);
        line(p, CF_STYLE_NORMAL, "whole picture as one more");
    } else if (!s->is_sound) {
        line(p, CF_STYLE_NORMAL, "resized to %d x %d", b->w, b->h);
    }
    if (s->patch > 0) {
        line(p, CF_STYLE_NORMAL, "patches of %u: %d x %d%s", (unsigned)s->patch,
             b->w / (int)s->patch, b->h / (int)s->patch, s->n_block > 1 ? " a tile" : "");
    }
}

static void draw_cost(pen *p, const cf_media_sheet *s)
{
    line(p, CF_STYLE_NORMAL, "%zu tokens, %zu%% of the prompt", s->n,
         s->n_prompt != 0 ? 100 * s->n / s->n_prompt : 0);
    if (s->is_encoded) {
        line(p, CF_STYLE_NORMAL, "read %.1f ms, encoded %.1f ms", (double)s->read_us * 1e-3,
             (double)s->encode_us * 1e-3);
    } else {
        line(p, CF_STYLE_NORMAL, "read %.1f ms, not encoded yet", (double)s->read_us * 1e-3);
    }
    line(p, s->n_kept == s->n ? CF_STYLE_KEPT : CF_STYLE_NEW,
         s->n_kept == s->n ? "all in the cache" : "%zu of them in the cache", s->n_kept);
    line(p, CF_STYLE_NORMAL, "positions %u..%u%s", (unsigned)s->at,
         (unsigned)(s->end > 0 ? s->end - 1 : 0), s->has_mrope ? ", in three axes" : "");
    line(p, CF_STYLE_DIM, "its rows see %s",
         s->sees_both_ways ? "each other, both ways" : "what is before");
    if (s->n_deepstack > 0) {
        line(p, CF_STYLE_DIM, "%u deepstack part%s for the first layers", (unsigned)s->n_deepstack,
             s->n_deepstack == 1 ? "" : "s");
    }
}

static void draw_token(pen *p, const cf_media_sheet *s, const media_view *v)
{
    if (v->page == 0) {
        line(p, CF_STYLE_TITLE, "All tiles; Tab: one by one");
        return;
    }
    const cf_sheet_block *b = block_of(s, v->page);
    size_t row = (size_t)v->y * b->cols + v->x;
    uint32_t at[3];
    cf_media_sheet_position(s, v->page - 1, row, at);
    if (s->is_sound) {
        double from = frames_before(s, v->page - 1) * 1e-2;
        double token = b->cols > 0 ? b->w * 1e-2 / b->cols : 0;
        line(p, CF_STYLE_TITLE, "Block %zu of %zu: %u tokens", v->page, s->n_block,
             (unsigned)(b->cols * b->rows));
        line(p, CF_STYLE_NORMAL, "token #%zu of the prompt", b->token + row);
        line(p, CF_STYLE_NORMAL, "%.2f to %.2f s%s", from + token * v->x, from + token * (v->x + 1),
             v->x < heard_tokens(s, v->page - 1) ? "" : ", filled up");
    } else {
        line(p, CF_STYLE_TITLE, "Tile %zu of %zu: %u x %u = %u tokens", v->page, s->n_block,
             (unsigned)b->cols, (unsigned)b->rows, (unsigned)(b->cols * b->rows));
        line(p, CF_STYLE_NORMAL, "token #%zu of the prompt", b->token + row);
        line(p, CF_STYLE_NORMAL, "row %u, column %u", (unsigned)v->y + 1, (unsigned)v->x + 1);
    }
    if (s->has_mrope) {
        line(p, CF_STYLE_NORMAL, "position t %u, h %u, w %u", (unsigned)at[0], (unsigned)at[1],
             (unsigned)at[2]);
    } else {
        line(p, CF_STYLE_NORMAL, "position %u", (unsigned)at[0]);
    }
}

/* The expansion, piece by piece; the shown block's rows are marked. */
static void draw_pieces(pen *p, const cf_media_sheet *s, media_view *v)
{
    line(p, CF_STYLE_TITLE, "In the prompt");
    cf_list_set(&v->pieces, s->n_piece, p->r.h > 0 ? (size_t)p->r.h : 0);
    size_t shown = 0;
    for (size_t i = 0; i < s->n_piece; i++) {
        bool is_on = s->piece[i].text.n == 0 && v->page > 0 && s->piece[i].block == v->page - 1;
        shown = is_on ? i : shown;
    }
    cf_list_go(&v->pieces, shown);
    for (size_t i = v->pieces.top; i < s->n_piece && p->r.h > 0; i++) {
        const cf_sheet_piece *piece = &s->piece[i];
        if (piece->text.n > 0) {
            cf_grid_put(p->g, p->r.x, p->r.y++, p->r.w, piece->text, CF_STYLE_SPECIAL);
            p->r.h--;
        } else {
            line(p, i == shown && v->page > 0 ? CF_STYLE_SELECTED : CF_STYLE_NORMAL,
                 "  %zu rows, tokens #%zu..%zu", piece->n, s->block[piece->block].token,
                 s->block[piece->block].token + piece->n - 1);
        }
    }
}

static void title_of(cf_app *app, const cf_media_sheet *s, char *out, size_t cap)
{
    size_t number = cf_lab_number_of(app->lab, s->message);
    int n = snprintf(out, cap, "%s %.6s as %.20s receives it", s->is_sound ? "Sound" : "Picture",
                     s->hash, s->projector.p);
    if (s->message >= cf_lab_n_messages(app->lab)) {
        snprintf(out + n, cap - (size_t)n, ", not sent yet");
    } else if (number > 0) {
        snprintf(out + n, cap - (size_t)n, ", of turn %zu", number);
    }
}

static void media_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    media_view *v = state(app);
    cf_error err = {0};
    const cf_media_sheet *s = sheet_of(app, &err);
    char title[128] = "Media";
    if (s != NULL) {
        title_of(app, s, title, sizeof title);
        v->page = v->page > s->n_block ? 1 : v->page;
        v->page = v->page == 0 && !has_overview(s) ? 1 : v->page;
    }
    bool is_narrow = cf_app_is_narrow(app);
    int side = is_narrow ? 0 : SIDE;
    cf_rect left = {r.x, r.y, r.w - side, is_narrow ? r.h / 2 : r.h};
    cf_rect in = cf_pane(g, left, title, true);
    if (s == NULL || s->n_block == 0) {
        cf_grid_puts(g, in.x + 1, in.y, in.w - 2, err.text, CF_STYLE_WARNING);
        return;
    }
    cf_rect facts = is_narrow ? (cf_rect){r.x, r.y + left.h, r.w, r.h - left.h}
                              : (cf_rect){r.x + left.w, r.y, side, r.h};
    cf_pane(g, facts, "What it is", false);
    pen p = {g, {facts.x + 2, facts.y + 1, facts.w - 4, facts.h > 2 ? facts.h - 2 : 0}};
    draw_sizes(&p, s);
    draw_cost(&p, s);
    line(&p, CF_STYLE_NORMAL, "%s", "");
    draw_token(&p, s, v);
    line(&p, CF_STYLE_NORMAL, "%s", "");
    draw_pieces(&p, s, v);
    draw_picture(app, g, in, s);
}

/* ---- commands ----------------------------------------------------------- */

static void media_status(cf_app *app, cf_buf *out)
{
    cf_error err;
    const cf_media_sheet *s = sheet_of(app, &err);
    if (s != NULL) {
        cf_media_sheet_cost(s, out);
    }
}

static bool media_text(cf_app *app, cf_buf *out)
{
    cf_error err;
    const cf_media_sheet *s = sheet_of(app, &err);
    char title[128];
    if (s == NULL) {
        return false;
    }
    title_of(app, s, title, sizeof title);
    cf_buf_addf(out, "%s\n", title);
    cf_media_sheet_cost(s, out);
    for (size_t i = 0; i < s->n_block; i++) {
        const cf_sheet_block *b = &s->block[i];
        cf_buf_addf(out, "\n%zu: %d x %d, %u x %u tokens from #%zu, position %u", i + 1, b->w, b->h,
                    (unsigned)b->cols, (unsigned)b->rows, b->token, (unsigned)b->at);
    }
    cf_buf_addc(out, '\n');
    return true;
}

/* Moves the cursor over the tokens of the block. */
static void move_token(cf_app *app, int dx, int dy)
{
    media_view *v = state(app);
    cf_error err;
    const cf_media_sheet *s = sheet_of(app, &err);
    const cf_sheet_block *b = s != NULL && v->page <= s->n_block ? block_of(s, v->page) : NULL;
    if (b == NULL) {
        return;
    }
    int64_t x = (int64_t)v->x + dx, y = (int64_t)v->y + dy;
    v->x = (uint32_t)(x < 0 ? 0 : x >= b->cols ? b->cols - 1 : x);
    v->y = (uint32_t)(y < 0 ? 0 : y >= b->rows ? b->rows - 1 : y);
}

static void cmd_across(cf_app *app, int by)
{
    move_token(app, by, 0);
}

static void media_move(cf_app *app, int move)
{
    static const int far[] = {
        [CF_MOVE_UP] = -1,         [CF_MOVE_DOWN] = 1,     [CF_MOVE_PAGE_UP] = -16,
        [CF_MOVE_PAGE_DOWN] = 16,  [CF_MOVE_HALF_UP] = -8, [CF_MOVE_HALF_DOWN] = 8,
        [CF_MOVE_FIRST] = -100000, [CF_MOVE_LAST] = 100000};
    cf_error err;
    const cf_media_sheet *s = sheet_of(app, &err);
    bool is_row = s != NULL && s->is_sound; /* its tokens are one row */
    move_token(app, is_row ? far[move] : 0, is_row ? 0 : far[move]);
}

/* The next tile; before the first one of several comes the overview. */
static void cmd_block(cf_app *app, int by)
{
    media_view *v = state(app);
    cf_error err;
    const cf_media_sheet *s = sheet_of(app, &err);
    if (s == NULL || s->n_block == 0) {
        return;
    }
    size_t first = has_overview(s) ? 0 : 1, n = s->n_block + 1 - first;
    size_t at = v->page >= first ? v->page - first : 0;
    v->page = first + (at + (by > 0 ? 1 : n - 1)) % n;
    v->x = v->y = v->left = 0;
}

static void cmd_medium(cf_app *app, int by)
{
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    media_view *v = state(app);
    size_t to = m != NULL ? cf_media_sheet_step(m, v->token, by) : v->token;
    if (to == v->token) {
        cf_app_say(app, CF_STYLE_DIM, "there is no other %s", by > 0 ? "after it" : "before it");
        return;
    }
    go_to(app, to);
}

static void cmd_grid(cf_app *app)
{
    state(app)->has_no_grid = !state(app)->has_no_grid;
}

#define HERE CF_IN(CF_VIEW_MEDIA)

static const cf_command media_commands[] = {
    {"left", HERE, "h <Left>", "", "previous token", CF_BY(cmd_across, -1)},
    {"right", HERE, "l <Right>", "", "next token", CF_BY(cmd_across, 1)},
    {"pane", HERE, "<Tab>", "", "next tile or block", CF_BY(cmd_block, 1)},
    {"pane-back", HERE, "<S-Tab>", "", "previous tile or block", CF_BY(cmd_block, -1)},
    {"next-message", HERE, "w ]m", "", "next picture or sound", CF_BY(cmd_medium, 1)},
    {"previous-message", HERE, "b [m", "", "previous picture or sound", CF_BY(cmd_medium, -1)},
    {"specials", HERE, "s", "", "show or hide the grid of tokens", CF_RUN(cmd_grid)},
    {"close", HERE, "<Esc>", "", "back to the prompt", CF_RUN(cf_app_back)},
    CF_MOVE_ROWS(media_move, HERE),
    {0},
};

const cf_view_ops cf_view_media = {
    .name = "media",
    .title = "Media",
    .commands = media_commands,
    .footer = "left right pane next-message specials back",
    .state_size = sizeof(media_view),
    .close = media_close,
    .enter = media_enter,
    .follow = media_follow,
    .draw = media_draw,
    .status = media_status,
    .show = media_show,
    .text = media_text,
};
