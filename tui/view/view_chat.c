/*
 * view_chat.c - the conversation: the tree of turns, the transcript, the
 * composer, and the figures of the reply that is being written.
 *
 * The cursor is on a turn of the path.  Text is wrapped once and kept for
 * each turn (cf_wrapped), and where each turn begins is kept for the path, so
 * a frame costs what is visible and what is new.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "storage/store.h"
#include "tui/app.h"
#include "tui/bench.h"
#include "tui/editor.h"
#include "tui/turn_map.h"
#include "tui/turn_tree.h"
#include "tui/view/moves.h"
#include "tui/when.h"
#include "tui/widget/list.h"
#include "tui/widget/pager.h"

enum { LOOK_BACK = 32 }; /* turns searched for the last reply's figures */

/* A turn's text as it is shown. */
typedef struct turn_text {
    cf_uuid id;
    cf_buf text;     /* what it says */
    cf_buf thinking; /* reasoning, shown folded */
    cf_wrapped lines, thinking_lines;
    bool unfolded;
} turn_text;

/* The turns of the path as lines of the transcript. */
typedef struct layout {
    size_t *start; /* [n + 1] first line of each turn, then the line behind */
    size_t n, cap;
    bool is_valid; /* for: */
    uint64_t generation;
    int width;
    bool shows_thinking;
} layout;

typedef struct chat {
    cf_edit composer;
    turn_text **texts; /* [n_texts], owned; by turn */
    size_t n_texts, cap_texts;
    cf_turn_map text_map;
    layout layout;
    cf_turn_tree tree;
    int width; /* cells of the transcript, when it was drawn last */
    turn_text live;
    size_t cursor; /* turn of the path */
    bool follows;  /* keep the end in sight */
    size_t top;    /* first line of the transcript shown */
    size_t n_lines, height;
    cf_uuid edits; /* the turn the composer replaces or continues; nil: none */
    bool shows_tree;
    bool had_x; /* the key before was ^X */
} chat;

static chat *state(cf_app *app)
{
    return app->state[CF_VIEW_CHAT];
}

static cf_status chat_open(cf_app *app, cf_error *err)
{
    chat *s = cf_calloc(1, sizeof *s);
    if (s == NULL) {
        return cf_fail(err, CF_ENOMEM, "out of memory");
    }
    cf_edit_init(&s->composer, false);
    s->follows = true;
    s->shows_tree = true;
    app->state[CF_VIEW_CHAT] = s;
    return CF_OK;
}

static void clear_text(turn_text *t)
{
    cf_buf_deinit(&t->text);
    cf_buf_deinit(&t->thinking);
    cf_wrapped_deinit(&t->lines);
    cf_wrapped_deinit(&t->thinking_lines);
}

static void chat_close(cf_app *app)
{
    chat *s = state(app);
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < s->n_texts; i++) {
        clear_text(s->texts[i]);
        cf_free(s->texts[i]);
    }
    cf_free(s->texts);
    cf_turn_map_deinit(&s->text_map);
    cf_free(s->layout.start);
    cf_turn_tree_deinit(&s->tree);
    clear_text(&s->live);
    cf_edit_deinit(&s->composer);
    cf_free(s);
    app->state[CF_VIEW_CHAT] = NULL;
}

/* ---- texts --------------------------------------------------------------- */

static void fill_text(turn_text *t, const cf_turn *turn)
{
    t->id = turn->id;
    cf_bench_message_text(&t->text, turn->message);
    cf_str thought = cf_json_get_str(turn->message, "reasoning_content");
    cf_buf_add(&t->thinking, thought.p, thought.n);
}

/* The kept text of a turn; NULL when memory ran out. */
static turn_text *text_of(chat *s, const cf_turn *turn)
{
    uint32_t known = cf_turn_map_get(&s->text_map, turn->id);
    if (known != CF_TURN_MAP_NONE) {
        return s->texts[known];
    }
    if (s->n_texts == s->cap_texts) {
        size_t cap = s->cap_texts != 0 ? s->cap_texts * 2 : 32;
        turn_text **v = cf_realloc(s->texts, cap, sizeof *v);
        if (v == NULL) {
            return NULL;
        }
        s->texts = v;
        s->cap_texts = cap;
    }
    turn_text *t = cf_calloc(1, sizeof *t);
    if (t != NULL &&
        !cf_turn_map_put(&s->text_map, turn->id, (uint32_t)s->n_texts)) {
        cf_free(t);
        return NULL;
    }
    if (t != NULL) {
        fill_text(t, turn);
        s->texts[s->n_texts++] = t;
    }
    return t;
}

/* ---- the transcript as lines --------------------------------------------- */

/* Draws, or only counts, line by line. */
typedef struct pen {
    cf_app *app;
    cf_grid *g; /* NULL: only count */
    cf_rect r;
    size_t line; /* of the transcript */
} pen;

/* The row of the current line, -1 when it is not in sight. */
static int row_of(const pen *p)
{
    size_t top = state(p->app)->top;
    if (p->g == NULL || p->line < top || p->line - top >= (size_t)p->r.h) {
        return -1;
    }
    return p->r.y + (int)(p->line - top);
}

static cf_style role_style(cf_str role)
{
    return cf_str_is(role, "user")        ? CF_STYLE_USER
           : cf_str_is(role, "assistant") ? CF_STYLE_ASSISTANT
           : cf_str_is(role, "system")    ? CF_STYLE_SYSTEM
                                          : CF_STYLE_TOOL;
}

static void head_figures(cf_buf *out, cf_app *app, const cf_turn *turn)
{
    const cf_reply *r = cf_bench_reply(app->bench, turn->id);
    char when[CF_WHEN_TEXT];
    cf_when_format(when, turn->created_ms, cf_os_now_ms());
    if (turn->status != CF_TURN_OK) {
        cf_buf_addf(out, "%s  ", cf_turn_status_name(turn->status));
    }
    if (r != NULL && r->usage.is_known) {
        cf_buf_addf(out, "%llu tok  ", (unsigned long long)r->usage.n_reply);
        if (r->timings.decode_us > 0 && r->timings.n_decode > 0) {
            cf_buf_addf(out, "%.1f t/s  ",
                        (double)r->timings.n_decode * 1e6 /
                            (double)r->timings.decode_us);
        }
        size_t all = r->sync.n_kept + r->sync.n_new;
        if (all > 0) {
            cf_buf_addf(out, "kv %zu%%  ", 100 * r->sync.n_kept / all);
        }
    }
    if (r != NULL && r->n_calls > 0) {
        cf_buf_addf(out, "calls %u  ", (unsigned)r->n_calls);
    }
    cf_buf_adds(out, when);
}

/* "-- assistant 02 (1 of 3) ------------- 24 tok  21.4 t/s  10:12 --" */
static void draw_head(pen *p, const cf_turn *turn, size_t i, bool is_on)
{
    int y = row_of(p);
    p->line++;
    if (y < 0) {
        return;
    }
    cf_str role = cf_json_get_str(turn->message, "role");
    cf_style style = role_style(role);
    cf_grid_hline(p->g, p->r.x, y, p->r.w,
                  is_on ? CF_STYLE_SELECTED : CF_STYLE_BORDER);
    char name[64];
    size_t index;
    size_t n = cf_bench_siblings(p->app->bench, turn, &index);
    int len = snprintf(name, sizeof name, " %.*s %02zu ",
                       (int)(role.n < 20 ? role.n : 20),
                       role.n != 0 ? role.p : "", i + 1);
    if (n > 1 && len > 0 && (size_t)len < sizeof name) {
        snprintf(name + len, sizeof name - (size_t)len, "(%zu of %zu) ",
                 index + 1, n);
    }
    cf_grid_puts(p->g, p->r.x + 2, y, p->r.w - 4, name,
                 is_on ? (cf_style)(style | CF_REVERSE) : style);
    cf_buf figures = CF_BUF_INIT;
    cf_buf_addc(&figures, ' ');
    head_figures(&figures, p->app, turn);
    cf_buf_addc(&figures, ' ');
    int w = (int)cf_text_width(cf_buf_cstr(&figures), figures.n);
    if (w + (int)strlen(name) + 6 >= p->r.w && turn->status != CF_TURN_OK) {
        /* Not all of it fits; how it ended must be seen. */
        cf_buf_reset(&figures);
        cf_buf_addf(&figures, " %s ", cf_turn_status_name(turn->status));
        w = (int)cf_text_width(cf_buf_cstr(&figures), figures.n);
    }
    if (w + (int)strlen(name) + 6 < p->r.w) {
        cf_grid_puts(p->g, p->r.x + p->r.w - w - 2, y, w, cf_buf_cstr(&figures),
                     CF_STYLE_DIM);
    }
    cf_buf_deinit(&figures);
    if (is_on) {
        p->g->cursor_x = p->r.x;
        p->g->cursor_y = y;
    }
}

static void draw_lines(pen *p, const cf_buf *text, cf_wrapped *lines,
                       cf_style style)
{
    if (text->n == 0 || cf_wrapped_update(lines, cf_str_make(text->p, text->n),
                                          p->r.w - 2, NULL) != CF_OK) {
        return;
    }
    if (p->g == NULL) {
        p->line += lines->n;
        return;
    }
    size_t top = state(p->app)->top;
    size_t first = p->line < top ? top - p->line : 0; /* skip what is above */
    for (size_t i = first; i < lines->n; i++) {
        p->line += i == first ? first : 0;
        int y = row_of(p);
        if (y < 0) {
            p->line += lines->n - i;
            return;
        }
        cf_str line = cf_str_make(text->p + lines->v[i].off, lines->v[i].len);
        cf_grid_put(p->g, p->r.x + 1, y, p->r.w - 1, line, style);
        if (p->app->search[0] != '\0') {
            size_t at = cf_find_smart(line, p->app->search);
            if (at != SIZE_MAX) {
                int x = (int)cf_text_width(line.p, at);
                int w = (int)cf_text_width(line.p + at, strlen(p->app->search));
                cf_grid_restyle(p->g, (cf_rect){p->r.x + 1 + x, y, w, 1},
                                CF_STYLE_MATCH);
            }
        }
        p->line++;
    }
    if (first >= lines->n) {
        p->line += lines->n;
    }
}

static void draw_thinking(pen *p, turn_text *t)
{
    if (t->thinking.n == 0) {
        return;
    }
    bool is_open = t->unfolded || p->app->config.show_thinking;
    int y = row_of(p);
    p->line++;
    if (y >= 0) {
        cf_grid_putf(p->g, p->r.x + 1, y, p->r.w - 2, CF_STYLE_THINKING,
                     "%s thinking, %zu bytes%s", is_open ? "v" : ">",
                     t->thinking.n, is_open ? "" : " (zo opens)");
    }
    if (is_open) {
        draw_lines(p, &t->thinking, &t->thinking_lines, CF_STYLE_THINKING);
    }
}

static void blank_line(pen *p)
{
    p->line++;
}

static void draw_live(pen *p)
{
    chat *s = state(p->app);
    const cf_live *l = cf_bench_live(p->app->bench);
    if (!l->is_on) {
        return;
    }
    int y = row_of(p);
    p->line++;
    if (y >= 0) {
        cf_grid_hline(p->g, p->r.x, y, p->r.w, CF_STYLE_BORDER);
        cf_grid_puts(p->g, p->r.x + 2, y, p->r.w - 4, " assistant ",
                     CF_STYLE_ASSISTANT);
        char text[96];
        double seconds =
            l->first_us != 0
                ? (double)(cf_os_monotonic_us() - l->first_us) * 1e-6
                : 0;
        if (l->first_us == 0 && l->n_total > 0) {
            snprintf(text, sizeof text, " prefill %llu of %llu tok  GEN ",
                     (unsigned long long)l->n_done,
                     (unsigned long long)l->n_total);
        } else {
            snprintf(text, sizeof text, " %zu tok  %.1f t/s  GEN ", l->n_tokens,
                     seconds > 0.05 ? (double)l->n_tokens / seconds : 0);
        }
        int w = (int)strlen(text);
        if (w + 16 < p->r.w) {
            cf_grid_puts(p->g, p->r.x + p->r.w - w - 2, y, w, text,
                         CF_STYLE_NEW);
        }
    }
    if (l->thinking.n != 0) {
        draw_lines(p, &l->thinking, &s->live.thinking_lines, CF_STYLE_THINKING);
    }
    draw_lines(p, &l->text, &s->live.lines, CF_STYLE_NORMAL);
    if (l->calls.n != 0) {
        int at = row_of(p);
        p->line++;
        if (at >= 0) {
            cf_grid_put(p->g, p->r.x + 1, at, p->r.w - 2,
                        cf_str_make(l->calls.p, l->calls.n), CF_STYLE_TOOL);
        }
    }
}

/* One turn; with p->g NULL it is only measured. */
static void draw_turn(pen *p, const cf_turn *turn, size_t i)
{
    chat *s = state(p->app);
    turn_text *t = text_of(s, turn);
    if (t == NULL) {
        return;
    }
    draw_head(p, turn, i, i == s->cursor && p->app->mode == CF_MODE_NORMAL);
    draw_thinking(p, t);
    draw_lines(p, &t->text, &t->lines, CF_STYLE_NORMAL);
    blank_line(p);
}

/* Measures the path when it or the width has changed; false when memory ran
 * out. */
static bool lay_out(cf_app *app, int width)
{
    chat *s = state(app);
    layout *l = &s->layout;
    size_t n;
    const cf_turn *const *path = cf_bench_path(app->bench, &n);
    uint64_t generation = cf_bench_generation(app->bench);
    if (l->is_valid && l->generation == generation && l->width == width &&
        l->shows_thinking == app->config.show_thinking) {
        return true;
    }
    l->is_valid = false;
    if (n + 1 > l->cap) {
        size_t cap = 2 * (n + 1);
        size_t *v = cf_realloc(l->start, cap, sizeof *v);
        if (v == NULL) {
            return false;
        }
        l->start = v;
        l->cap = cap;
    }
    pen count = {app, NULL, {0, 0, width, 0}, 0};
    for (size_t i = 0; i < n; i++) {
        l->start[i] = count.line;
        draw_turn(&count, path[i], i);
    }
    l->start[n] = count.line;
    l->n = n;
    l->generation = generation;
    l->width = width;
    l->shows_thinking = app->config.show_thinking;
    l->is_valid = true;
    return true;
}

/* The turn that line `line` belongs to; l->n behind the last one. */
static size_t turn_at(const layout *l, size_t line)
{
    size_t low = 0, high = l->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (l->start[mid + 1] <= line) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

static void draw_transcript(cf_app *app, cf_grid *g, cf_rect r)
{
    chat *s = state(app);
    size_t n;
    cf_bench_path(app->bench, &n);
    if (s->cursor >= n || s->follows) {
        s->cursor = n > 0 ? n - 1 : 0;
    }
    if (n == 0 && !cf_bench_live(app->bench)->is_on) {
        cf_grid_puts(g, r.x + 2, r.y + 1, r.w - 4,
                     "Write a message: i, then Enter.", CF_STYLE_DIM);
        cf_grid_puts(g, r.x + 2, r.y + 3, r.w - 4,
                     "2 shows the prompt as the model sees it, 6 what was "
                     "said before, ? every key.",
                     CF_STYLE_DIM);
        return;
    }
    s->width = r.w;
    s->height = (size_t)(r.h > 0 ? r.h : 0);
    if (!lay_out(app, r.w)) {
        return;
    }
    const layout *l = &s->layout;
    const cf_turn *const *path = cf_bench_path(app->bench, &n);
    pen count = {app, NULL, r, l->start[n]};
    draw_live(&count);
    s->n_lines = count.line;
    size_t last_top = s->n_lines > s->height ? s->n_lines - s->height : 0;
    if (s->follows || s->top > last_top) {
        s->top = last_top;
    }
    size_t i = turn_at(l, s->top);
    for (; i < n && l->start[i] < s->top + s->height; i++) {
        pen draw = {app, g, r, l->start[i]};
        draw_turn(&draw, path[i], i);
    }
    if (i == n) {
        pen draw = {app, g, r, l->start[n]};
        draw_live(&draw);
    }
}

/* ---- the tree ------------------------------------------------------------ */

static void draw_tree(cf_app *app, cf_grid *g, cf_rect r)
{
    chat *s = state(app);
    size_t n;
    const cf_turn *const *turns = cf_bench_turns(app->bench, &n);
    size_t first = n > (size_t)r.h ? n - (size_t)r.h : 0;
    if (!cf_turn_tree_update(&s->tree, app->bench)) {
        return;
    }
    for (size_t i = first; i < n && i - first < (size_t)r.h; i++) {
        const cf_turn *t = turns[i];
        turn_text *text = text_of(s, t);
        bool is_in = s->tree.place[i] != 0;
        size_t place = is_in ? s->tree.place[i] - 1 : 0;
        int y = r.y + (int)(i - first);
        int x = r.x + (int)(2 * (s->tree.depth[i] % 8));
        cf_str role = cf_json_get_str(t->message, "role");
        cf_style style = is_in ? CF_STYLE_NORMAL : CF_STYLE_DIM;
        if (is_in && place == s->cursor) {
            cf_grid_fill(g, (cf_rect){r.x, y, r.w, 1}, ' ', CF_STYLE_SELECTED);
            style = CF_STYLE_SELECTED;
        }
        cf_grid_puts(g, x, y, 1, is_in ? "*" : "o", style);
        cf_grid_put(g, x + 2, y, 1, cf_str_make(role.p, role.n != 0),
                    role_style(role));
        int at = x + 4;
        if (t->status != CF_TURN_OK) {
            at += 1 + cf_grid_puts(g, at, y, r.x + r.w - at,
                                   cf_turn_status_name(t->status),
                                   CF_STYLE_WARNING);
        }
        if (text != NULL && at < r.x + r.w) {
            cf_grid_put(g, at, y, r.x + r.w - at,
                        cf_str_make(cf_buf_cstr(&text->text), text->text.n),
                        style);
        }
    }
}

/* ---- figures ------------------------------------------------------------- */

static void draw_session(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_bench_engine *e = cf_bench_engine_of(app->bench);
    cf_backend_info info = cf_bench_info(app->bench);
    size_t n, n_path;
    cf_bench_turns(app->bench, &n);
    const cf_turn *const *path = cf_bench_path(app->bench, &n_path);
    int y = r.y;
    cf_buf name = CF_BUF_INIT;
    cf_buf_add(&name, info.name.p, info.name.n);
    cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL, "engine  %s", info.kind);
    cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL, "model   %s",
                 cf_buf_cstr(&name));
    cf_buf_deinit(&name);
    cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL, "tmpl    %s",
                 e->template_name);
    cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL, "turns   %zu (%zu here)", n,
                 n_path);
    const cf_reply *last = NULL;
    for (size_t i = n_path;
         i-- > 0 && n_path - i <= LOOK_BACK && last == NULL;) {
        last = cf_bench_reply(app->bench, path[i]->id);
    }
    if (last != NULL && last->usage.is_known) {
        cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL,
                     "prompt  %llu tok, %zu from the cache",
                     (unsigned long long)last->usage.n_prompt,
                     last->sync.n_kept);
        cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL, "first   %.0f ms",
                     (double)last->timings.first_us * 1e-3);
        if (last->timings.prefill_us > 0) {
            cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL, "prefill %.0f t/s",
                         (double)last->timings.n_prefill * 1e6 /
                             (double)last->timings.prefill_us);
        }
        if (last->timings.decode_us > 0) {
            cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL, "decode  %.1f t/s",
                         (double)last->timings.n_decode * 1e6 /
                             (double)last->timings.decode_us);
        }
        if (last->cause[0] != '\0') {
            cf_grid_puts(g, r.x, y++, r.w, "cache lost: 2 tells why",
                         CF_STYLE_WARNING);
        }
        cf_grid_puts(g, r.x, y++, r.w, last->sampler, CF_STYLE_DIM);
    }
    if (info.cannot[0] != '\0') {
        cf_grid_puts(g, r.x, y++, r.w, info.cannot, CF_STYLE_DIM);
    }
    if (app->store != NULL) {
        cf_store_state st;
        cf_store_get_state(app->store, &st);
        if (st.is_failing || st.is_read_only) {
            cf_grid_puts(g, r.x, y++, r.w, st.why.text, CF_STYLE_WARNING);
        }
    }
}

static void draw_composer(cf_app *app, cf_grid *g, cf_rect r)
{
    chat *s = state(app);
    bool is_on = app->mode == CF_MODE_INSERT || app->mode == CF_MODE_PREFILL;
    const char *title = app->mode == CF_MODE_PREFILL ? "Continue this reply"
                        : !cf_uuid_is_nil(s->edits)  ? "Edit: sends a sibling"
                                                     : "Composer";
    cf_grid_box(g, r, title, CF_STYLE_BORDER,
                is_on ? CF_STYLE_FOCUS : CF_STYLE_TITLE);
    cf_edit_draw(&s->composer, g, (cf_rect){r.x + 2, r.y + 1, r.w - 3, r.h - 2},
                 is_on);
}

static void chat_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    chat *s = state(app);
    bool has_side =
        s->shows_tree && !cf_app_is_narrow(app) && !app->is_maximized;
    int side = has_side ? (r.w >= 150 ? 48 : 38) : 0;
    int composer_h = r.h >= 24 ? 6 : 4;
    char title[160], id[CF_UUID_TEXT + 1];
    cf_uuid_format(id, cf_bench_conv_id(app->bench));
    snprintf(title, sizeof title, "%s  %.8s%s",
             cf_bench_title(app->bench)[0] != '\0' ? cf_bench_title(app->bench)
                                                   : "new conversation",
             id + CF_UUID_TEXT - 8, s->follows ? "  (follow)" : "");
    if (has_side) {
        int tree_h = r.h - 14;
        cf_rect t = {r.x, r.y, side, tree_h};
        cf_grid_box(g, t, "Turns", CF_STYLE_BORDER, CF_STYLE_TITLE);
        draw_tree(app, g, (cf_rect){t.x + 1, t.y + 1, t.w - 2, t.h - 2});
        cf_rect f = {r.x, r.y + tree_h, side, r.h - tree_h};
        cf_grid_box(g, f, "Session", CF_STYLE_BORDER, CF_STYLE_TITLE);
        draw_session(app, g, (cf_rect){f.x + 2, f.y + 1, f.w - 3, f.h - 2});
    }
    cf_rect m = {r.x + side, r.y, r.w - side, r.h - composer_h};
    cf_grid_box(g, m, title, CF_STYLE_BORDER,
                app->mode == CF_MODE_NORMAL ? CF_STYLE_FOCUS : CF_STYLE_TITLE);
    draw_transcript(app, g, (cf_rect){m.x + 1, m.y + 1, m.w - 2, m.h - 2});
    draw_composer(app, g, (cf_rect){m.x, m.y + m.h, m.w, composer_h});
}

static void chat_status(cf_app *app, cf_buf *out)
{
    size_t n, n_path;
    cf_bench_turns(app->bench, &n);
    cf_bench_path(app->bench, &n_path);
    cf_buf_addf(out, "turn %zu of %zu%s",
                n_path != 0 ? state(app)->cursor + 1 : 0, n_path,
                app->store == NULL ? "  not saved" : "");
}

/* ---- moving -------------------------------------------------------------- */

static void show_cursor(cf_app *app)
{
    chat *s = state(app);
    if (s->height == 0 || !lay_out(app, s->width) || s->cursor >= s->layout.n) {
        return;
    }
    size_t line = s->layout.start[s->cursor];
    if (line < s->top) {
        s->top = line;
    } else if (line >= s->top + s->height) {
        s->top = line - s->height / 2;
    }
}

static void chat_move(cf_app *app, cf_move move)
{
    chat *s = state(app);
    size_t n;
    cf_bench_path(app->bench, &n);
    size_t half = s->height > 1 ? s->height / 2 : 1;
    s->follows = false;
    switch (move) {
    case CF_MOVE_UP:
        s->cursor -= s->cursor > 0;
        show_cursor(app);
        break;
    case CF_MOVE_DOWN:
        s->cursor += s->cursor + 1 < n;
        show_cursor(app);
        s->follows = s->cursor + 1 >= n;
        break;
    case CF_MOVE_PAGE_UP:
    case CF_MOVE_HALF_UP:
        s->top -= s->top > half ? half : s->top;
        break;
    case CF_MOVE_PAGE_DOWN:
    case CF_MOVE_HALF_DOWN:
        s->top += half;
        s->follows = s->top + s->height >= s->n_lines;
        break;
    case CF_MOVE_FIRST:
        s->cursor = 0;
        s->top = 0;
        break;
    case CF_MOVE_LAST:
        s->cursor = n > 0 ? n - 1 : 0;
        s->follows = true;
        break;
    }
}

CF_MOVE_COMMANDS(chat, chat_move)

static const cf_turn *current(cf_app *app)
{
    size_t n;
    const cf_turn *const *path = cf_bench_path(app->bench, &n);
    chat *s = state(app);
    return s->cursor < n ? path[s->cursor] : NULL;
}

static void go_to_turn(cf_app *app, cf_uuid id)
{
    size_t n;
    const cf_turn *const *path = cf_bench_path(app->bench, &n);
    for (size_t i = 0; i < n; i++) {
        if (cf_uuid_eq(path[i]->id, id)) {
            state(app)->cursor = i;
            state(app)->follows = i + 1 == n;
            show_cursor(app);
        }
    }
}

/* ---- commands ------------------------------------------------------------ */

static void report(cf_app *app, cf_status st, const cf_error *err)
{
    if (st != CF_OK) {
        cf_app_error(app, err);
    }
}

static void cmd_write(cf_app *app, const char *arg)
{
    (void)arg;
    app->mode = CF_MODE_INSERT;
}

static void cmd_stop(cf_app *app, const char *arg)
{
    (void)arg;
    if (cf_bench_is_busy(app->bench)) {
        cf_bench_stop(app->bench);
        cf_app_say(app, CF_STYLE_DIM, "stopping");
    }
}

static void cmd_interrupt(cf_app *app, const char *arg)
{
    if (cf_bench_is_busy(app->bench)) {
        cmd_stop(app, arg);
        return;
    }
    if (app->wants_quit) {
        app->is_done = true;
        return;
    }
    app->wants_quit = true;
    cf_app_say(app, CF_STYLE_WARNING, "^C again to quit; the draft stays");
}

static void cmd_follow(cf_app *app, const char *arg)
{
    (void)arg;
    state(app)->follows = !state(app)->follows;
}

static void cmd_retry(cf_app *app, const char *arg)
{
    (void)arg;
    cf_error err;
    const cf_turn *t = current(app);
    if (t != NULL) {
        cf_status st = cf_bench_retry(app->bench, t->id, &err);
        state(app)->follows = st == CF_OK || state(app)->follows;
        report(app, st, &err);
    }
}

static void cmd_edit(cf_app *app, const char *arg)
{
    (void)arg;
    chat *s = state(app);
    const cf_turn *t = current(app);
    if (t == NULL) {
        return;
    }
    cf_str role = cf_json_get_str(t->message, "role");
    bool is_reply = cf_str_is(role, "assistant");
    if (!is_reply && !cf_str_is(role, "user")) {
        cf_app_say(app, CF_STYLE_WARNING,
                   "only messages and replies are edited here");
        return;
    }
    cf_edit_set(&s->composer, cf_json_get_str(t->message, "content"));
    s->edits = t->id;
    app->mode = is_reply ? CF_MODE_PREFILL : CF_MODE_INSERT;
}

static void go_sibling(cf_app *app, int by)
{
    cf_error err;
    const cf_turn *t = current(app);
    const cf_turn *to = t != NULL ? cf_bench_sibling(app->bench, t, by) : NULL;
    if (to == NULL) {
        cf_app_say(app, CF_STYLE_DIM, "no sibling there");
        return;
    }
    cf_uuid id = to->id;
    cf_status st = cf_bench_set_head(app->bench, id, &err);
    report(app, st, &err);
    go_to_turn(app, id);
}

static void cmd_next_sibling(cf_app *app, const char *arg)
{
    (void)arg;
    go_sibling(app, 1);
}

static void cmd_previous_sibling(cf_app *app, const char *arg)
{
    (void)arg;
    go_sibling(app, -1);
}

static void cmd_new(cf_app *app, const char *arg)
{
    (void)arg;
    cf_bench_new_conv(app->bench);
    state(app)->cursor = 0;
    app->mode = CF_MODE_INSERT;
}

static void set_fold(cf_app *app, int open)
{
    const cf_turn *t = current(app);
    turn_text *text = t != NULL ? text_of(state(app), t) : NULL;
    if (text != NULL) {
        text->unfolded = open < 0 ? !text->unfolded : open > 0;
        state(app)->layout.is_valid = false;
    }
}

static void cmd_fold(cf_app *app, const char *arg)
{
    (void)arg;
    set_fold(app, -1);
}

static void cmd_open_fold(cf_app *app, const char *arg)
{
    (void)arg;
    set_fold(app, 1);
}

static void cmd_close_fold(cf_app *app, const char *arg)
{
    (void)arg;
    set_fold(app, 0);
}

static void cmd_yank(cf_app *app, const char *arg)
{
    (void)arg;
    const cf_turn *t = current(app);
    if (t == NULL) {
        return;
    }
    cf_buf text = CF_BUF_INIT;
    cf_bench_message_text(&text, t->message);
    if (app->term != NULL) {
        app->term->ops->copy(app->term,
                             cf_str_make(cf_buf_cstr(&text), text.n));
    }
    cf_app_say(app, CF_STYLE_OK, "copied %zu bytes", text.n);
    cf_buf_deinit(&text);
}

static void cmd_yank_id(cf_app *app, const char *arg)
{
    (void)arg;
    const cf_turn *t = current(app);
    if (t == NULL) {
        return;
    }
    char id[CF_UUID_TEXT + 1];
    cf_uuid_format(id, t->id);
    if (app->term != NULL) {
        app->term->ops->copy(app->term, cf_str_from(id));
    }
    cf_app_say(app, CF_STYLE_OK, "copied %s", id);
}

static void rate(cf_app *app, int rating)
{
    cf_error err;
    const cf_turn *t = current(app);
    if (t == NULL || app->store == NULL) {
        return;
    }
    cf_status st = cf_store_set_rating(app->store, t->id, rating, &err);
    report(app, st, &err);
    if (st == CF_OK) {
        cf_app_say(app, CF_STYLE_OK, "rated %s", rating > 0 ? "+" : "-");
    }
}

static void cmd_good(cf_app *app, const char *arg)
{
    (void)arg;
    rate(app, 1);
}

static void cmd_bad(cf_app *app, const char *arg)
{
    (void)arg;
    rate(app, -1);
}

static void cmd_note(cf_app *app, const char *arg)
{
    cf_error err;
    const cf_turn *t = current(app);
    if (arg[0] == '\0') {
        cf_edit_set(&app->command_line, cf_str_from("note "));
        app->mode = CF_MODE_COMMAND;
        return;
    }
    if (t != NULL && app->store != NULL) {
        cf_status st =
            cf_store_set_note(app->store, t->id, cf_str_from(arg), &err);
        report(app, st, &err);
    }
}

/* ---- writing ------------------------------------------------------------- */

static void send_text(cf_app *app)
{
    chat *s = state(app);
    cf_error err;
    cf_status st;
    cf_str text = cf_edit_text(&s->composer);
    size_t n;
    const cf_turn *const *path = cf_bench_path(app->bench, &n);
    cf_uuid parent = n > 0 ? path[n - 1]->id : (cf_uuid){{0}};
    if (app->mode == CF_MODE_PREFILL) {
        st = cf_bench_continue(app->bench, s->edits, text, &err);
    } else {
        const cf_turn *edited = !cf_uuid_is_nil(s->edits) ? current(app) : NULL;
        if (edited != NULL) {
            parent = edited->parent;
        }
        if (text.n == 0) {
            return;
        }
        st = cf_bench_send(app->bench, text, parent, &err);
    }
    report(app, st, &err);
    if (st == CF_OK) {
        cf_edit_commit(&s->composer);
        cf_bench_set_draft(app->bench, cf_str_make("", 0));
        s->edits = (cf_uuid){{0}};
        s->follows = true;
        app->mode = CF_MODE_NORMAL;
        cf_bench_path(app->bench, &n);
        s->cursor = n > 0 ? n - 1 : 0;
    }
}

/* The draft in a person's own editor. */
static void edit_outside(cf_app *app)
{
    chat *s = state(app);
    cf_str now = cf_edit_text(&s->composer);
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    cf_buf_add(&text, now.p, now.n);
    if (cf_editor_run(app, ".md", &text, &err) != CF_OK) {
        cf_app_error(app, &err);
    } else {
        cf_edit_set(&s->composer, cf_str_make(cf_buf_cstr(&text), text.n));
        cf_bench_set_draft(app->bench, cf_edit_text(&s->composer));
    }
    cf_buf_deinit(&text);
}

static void cmd_editor(cf_app *app, const char *arg)
{
    (void)arg;
    edit_outside(app);
    app->mode = CF_MODE_INSERT;
}

static bool chat_key(cf_app *app, cf_key key)
{
    chat *s = state(app);
    bool had_x = s->had_x;
    s->had_x = key == CF_CTRL('X');
    if (key == CF_CTRL('G') || (had_x && key == CF_CTRL('E'))) {
        edit_outside(app);
        return true;
    }
    if (s->had_x) {
        return true;
    }
    bool sends = key == CF_KEY_ENTER && app->config.enter_sends;
    bool breaks = key == CF_KEY_ENTER && !sends;
    if (sends || key == CF_CTRL('S')) {
        send_text(app);
        return true;
    }
    if (key == CF_KEY_ESC) {
        if (cf_bench_is_busy(app->bench)) {
            cf_bench_stop(app->bench);
        }
        if (!cf_uuid_is_nil(s->edits)) { /* leaves the edit, keeps nothing */
            s->edits = (cf_uuid){{0}};
            cf_edit_set(&s->composer, cf_str_make("", 0));
        }
        app->mode = CF_MODE_NORMAL;
        return true;
    }
    bool done = cf_edit_key(&s->composer, breaks ? CF_KEY_NEWLINE : key,
                            app->grid.w - 6);
    if (cf_edit_failed(&s->composer)) {
        cf_app_say(app, CF_STYLE_ERROR, "out of memory: the text is as it was");
    }
    cf_bench_set_draft(app->bench, cf_edit_text(&s->composer));
    return done || cf_key_is_text(key);
}

static void chat_paste(cf_app *app, cf_str text)
{
    if (app->mode == CF_MODE_NORMAL) {
        app->mode = CF_MODE_INSERT;
    }
    cf_edit_insert(&state(app)->composer, text);
    cf_bench_set_draft(app->bench, cf_edit_text(&state(app)->composer));
}

static void chat_search(cf_app *app, const char *text, int direction)
{
    chat *s = state(app);
    size_t n;
    const cf_turn *const *path = cf_bench_path(app->bench, &n);
    for (size_t step = direction == 0 ? 0 : 1; step <= n && n != 0; step++) {
        size_t i = direction < 0 ? (s->cursor + n - step % n) % n
                                 : (s->cursor + step) % n;
        turn_text *t = text_of(s, path[i]);
        if (t != NULL &&
            cf_find_smart(cf_str_make(cf_buf_cstr(&t->text), t->text.n),
                          text) != SIZE_MAX) {
            s->cursor = i;
            s->follows = false;
            show_cursor(app);
            return;
        }
    }
    cf_app_say(app, CF_STYLE_WARNING, "'%s' was not said here", text);
}

#define HERE CF_IN(CF_VIEW_CHAT)

static const cf_command chat_commands[] = {
    {"write", HERE, "i", "", "write a message; Enter sends, ^J breaks the line",
     cmd_write},
    {"editor", HERE, "<C-g>", "",
     "write it in $EDITOR; also ^G and ^X^E while writing", cmd_editor},
    {"stop", HERE, "<Esc>", "", "stop the reply; what came is kept", cmd_stop},
    {"interrupt", HERE, "<C-c>", "", "stop; twice when idle: leave",
     cmd_interrupt},
    {"retry", HERE, "r", "", "another reply, as a sibling", cmd_retry},
    {"edit", HERE, "e", "", "edit a message, or a reply and continue it",
     cmd_edit},
    {"next-sibling", HERE, "]", "", "next sibling", cmd_next_sibling},
    {"previous-sibling", HERE, "[", "", "sibling before", cmd_previous_sibling},
    {"follow", HERE, "F", "", "keep the end in sight, or not", cmd_follow},
    {"new", HERE, "c", "", "a new conversation", cmd_new},
    {"fold", HERE, "za", "", "fold or unfold thinking", cmd_fold},
    {"open-fold", HERE, "zo", "", "unfold thinking", cmd_open_fold},
    {"close-fold", HERE, "zc", "", "fold thinking", cmd_close_fold},
    {"yank", HERE, "yy", "", "copy the turn's text", cmd_yank},
    {"yank-id", HERE, "yu", "", "copy the turn's UUID", cmd_yank_id},
    {"good", HERE, "+", "", "rate the turn as good", cmd_good},
    {"bad", HERE, "-", "", "rate the turn as bad", cmd_bad},
    {"note", HERE, "", "TEXT", "put a note on the turn", cmd_note},
    CF_MOVE_ROWS(chat, HERE),
    {NULL, 0, NULL, NULL, NULL, NULL},
};

const cf_view_ops cf_view_chat = {
    .name = "chat",
    .title = "Chat",
    .commands = chat_commands,
    .footer = "write stop retry edit next-sibling yank prompt library help",
    .open = chat_open,
    .close = chat_close,
    .draw = chat_draw,
    .key = chat_key,
    .paste = chat_paste,
    .search = chat_search,
    .status = chat_status,
};
