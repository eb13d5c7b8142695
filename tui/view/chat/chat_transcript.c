/*
 * chat_transcript.c - the turns of the path as lines of text, and the reply
 * that is being written below them.
 *
 * Text is wrapped once and kept for each turn (cf_wrapped), and where each
 * turn begins is kept for the path, so a frame costs what is visible and what
 * is new.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_system.h"
#include "tui/lab/tools/lab_tools.h"
#include "tui/sys/when.h"
#include "tui/view/chat/chat.h"
#include "tui/widget/pager.h"

void cf_chat__clear_text(cf_chat_text *t)
{
    cf_buf_deinit(&t->text);
    cf_buf_deinit(&t->thinking);
    cf_buf_deinit(&t->broken);
    cf_wrapped_deinit(&t->lines);
    cf_wrapped_deinit(&t->thinking_lines);
    cf_chat_images_free(t->images, t->n_images);
    json_decref(t->held);
}

/* ---- texts -------------------------------------------------------------- */

static void fill_text(cf_chat_text *t, const cf_turn *turn)
{
    t->id = turn->id;
    cf_lab_message_text(&t->text, turn->message);
    cf_str thought = cf_json_get_str(turn->message, "reasoning_content");
    cf_buf_add(&t->thinking, thought.p, thought.n);
    t->images = cf_chat_images_of(turn->message, &t->n_images);
    if (t->images != NULL) {
        union {
            const json_t *in;
            json_t *out;
        } message = {turn->message};
        t->held = json_incref(message.out);
    }
}

/* The kept text of a turn; NULL when memory ran out. */
cf_chat_text *cf_chat__text_of(cf_chat *s, const cf_turn *turn)
{
    uint32_t known = cf_turn_map_get(&s->text_map, turn->id);
    if (known != CF_TURN_MAP_NONE) {
        return s->texts[known];
    }
    if (s->n_texts == s->cap_texts) {
        size_t cap = s->cap_texts != 0 ? s->cap_texts * 2 : 32;
        cf_chat_text **v = cf_realloc(s->texts, cap, sizeof *v);
        if (v == NULL) {
            return NULL;
        }
        s->texts = v;
        s->cap_texts = cap;
    }
    cf_chat_text *t = cf_calloc(1, sizeof *t);
    if (t != NULL && !cf_turn_map_put(&s->text_map, turn->id, (uint32_t)s->n_texts)) {
        cf_free(t);
        return NULL;
    }
    if (t != NULL) {
        fill_text(t, turn);
        s->texts[s->n_texts++] = t;
    }
    return t;
}

/* ---- the transcript as lines -------------------------------------------- */

/* Draws, or only counts, line by line. */
typedef struct pen {
    cf_app *app;
    cf_grid *g; /* NULL: only count */
    cf_rect r;
    size_t line;  /* of the transcript */
    cf_buf *copy; /* takes the lines [from, to] as text; NULL: none */
    size_t from, to;
} pen;

/* The row of the current line, -1 when it is not in sight. */
static int row_of(const pen *p)
{
    size_t top = cf_chat__state(p->app)->top;
    if (p->g == NULL || p->line < top || p->line - top >= (size_t)p->r.h) {
        return -1;
    }
    return p->r.y + (int)(p->line - top);
}

cf_style cf_chat__role_style(cf_str role)
{
    return cf_str_is(role, "user")        ? CF_STYLE_USER
           : cf_str_is(role, "assistant") ? CF_STYLE_ASSISTANT
           : cf_str_is(role, "system")    ? CF_STYLE_SYSTEM
                                          : CF_STYLE_TOOL;
}

/* Tokens of a reply; of an engine that hides them, the pieces that came. */
static uint64_t n_tokens(const cf_reply *r)
{
    return r->usage.is_known && r->usage.n_reply > 0 ? r->usage.n_reply
           : r->n_token > 0                          ? r->n_token
                                                     : r->chunks.n / sizeof(uint32_t);
}

static void head_figures(cf_buf *out, cf_app *app, const cf_turn *turn)
{
    const cf_reply *r = cf_lab_reply(app->lab, turn->id);
    char when[CF_WHEN_TEXT];
    cf_when_format(when, turn->created_ms, cf_os_now_ms());
    if (turn->status != CF_TURN_OK) {
        cf_buf_addf(out, "%s  ", cf_turn_status_name(turn->status));
    }
    const cf_store_turn_mark *mark = cf_chat__mark_of(app, turn->id);
    if (mark != NULL && mark->rating != 0) {
        cf_buf_addf(out, "%s  ", mark->rating > 0 ? "+ good" : "- bad");
    }
    bool is_copied = cf_lab_is_copied(app->lab, turn);
    cf_buf_adds(out, is_copied ? "copied  " : "");
    uint64_t n_tok = r != NULL && !is_copied ? n_tokens(r) : 0;
    if (n_tok > 0) {
        cf_buf_addf(out, "%llu tok  ", (unsigned long long)n_tok);
        double rate = cf_decode_rate(&r->timings, CF_CHAT_RATE_TOKENS);
        if (rate > 0 && r->usage.is_known) { /* not how a script is read */
            cf_buf_addf(out, "%.1f t/s  ", rate);
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
    cf_style style = cf_chat__role_style(role);
    cf_grid_hline(p->g, p->r.x, y, p->r.w, is_on ? CF_STYLE_SELECTED : CF_STYLE_BORDER);
    char name[64];
    size_t index;
    size_t n = cf_lab_siblings(p->app->lab, turn, &index);
    int len = snprintf(name, sizeof name, " %.*s %02zu ", (int)(role.n < 20 ? role.n : 20),
                       role.n != 0 ? role.p : "", i + 1);
    if (n > 1 && len > 0 && (size_t)len < sizeof name) {
        snprintf(name + len, sizeof name - (size_t)len, "(%zu of %zu) ", index + 1, n);
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
        cf_grid_puts(p->g, p->r.x + p->r.w - w - 2, y, w, cf_buf_cstr(&figures), CF_STYLE_DIM);
    }
    cf_buf_deinit(&figures);
    if (is_on) {
        p->g->cursor_x = p->r.x;
        p->g->cursor_y = y;
    }
}

static bool is_copied(const pen *p, size_t line)
{
    return p->copy != NULL && line >= p->from && line <= p->to;
}

/* As it was written: a break of ours is none. */
static void copy_lines(pen *p, const cf_buf *text, const cf_wrapped *lines)
{
    for (size_t i = 0; i < lines->n; i++) {
        if (is_copied(p, p->line + i)) {
            size_t off = lines->v[i].off, end = off + lines->v[i].len;
            bool goes_on = i + 1 < lines->n && is_copied(p, p->line + i + 1);
            end = goes_on ? lines->v[i + 1].off : end;
            cf_buf_add(p->copy, text->p + off, end - off);
            cf_buf_adds(p->copy, goes_on ? "" : "\n");
        }
    }
}

/* Marks what is searched for on one line; a match may begin or end on another
 * one. */
static void mark_matches(const pen *p, const cf_buf *text, const cf_line *line, int y)
{
    const char *what = cf_chat__searched(p->app);
    size_t n = strlen(what), end = line->off + line->len;
    size_t at = line->off > n ? line->off - n : 0;
    while (n != 0 && at < end) {
        size_t stop = end + n < text->n ? end + n : text->n;
        size_t found = cf_find_smart(cf_str_make(text->p + at, stop - at), what);
        if (found == SIZE_MAX || at + found >= end) {
            return;
        }
        size_t from = at + found, to = from + n;
        at = to;
        from = from > line->off ? from : line->off;
        to = to < end ? to : end;
        if (from < to) {
            int x = (int)cf_text_width(text->p + line->off, from - line->off);
            int w = (int)cf_text_width(text->p + from, to - from);
            cf_grid_restyle(p->g, (cf_rect){p->r.x + 1 + x, y, w, 1}, CF_STYLE_MATCH);
        }
    }
}

static void draw_lines(pen *p, const cf_buf *text, cf_wrapped *lines, cf_style style)
{
    if (text->n == 0 ||
        cf_wrapped_update(lines, cf_str_make(text->p, text->n), p->r.w - 2, NULL) != CF_OK) {
        return;
    }
    if (p->copy != NULL) {
        copy_lines(p, text, lines);
    }
    if (p->g == NULL) {
        p->line += lines->n;
        return;
    }
    size_t top = cf_chat__state(p->app)->top;
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
        mark_matches(p, text, &lines->v[i], y);
        p->line++;
    }
    if (first >= lines->n) {
        p->line += lines->n;
    }
}

static void draw_thinking(pen *p, cf_chat_text *t)
{
    if (t->thinking.n == 0) {
        return;
    }
    bool is_open = t->unfolded || p->app->config.show_thinking;
    int y = row_of(p);
    p->line++;
    if (y >= 0) {
        cf_grid_putf(p->g, p->r.x + 1, y, p->r.w - 2, CF_STYLE_THINKING, "%s thinking, %zu bytes%s",
                     is_open ? "v" : ">", t->thinking.n, is_open ? "" : " (zo opens)");
    }
    if (is_open) {
        draw_lines(p, &t->thinking, &t->thinking_lines, CF_STYLE_THINKING);
    }
}

static void draw_images(pen *p, cf_chat_text *t)
{
    for (size_t i = 0; i < t->n_images; i++) {
        int n = cf_chat_image_rows(&t->images[i]);
        for (int row = 0; row < n; row++) {
            int y = row_of(p);
            p->line++;
            if (y >= 0) {
                cf_chat_image_draw(p->app, &t->images[i], i + 1, row, p->g, p->r.x + 1, y,
                                   p->r.w - 2);
            }
        }
    }
}

static void blank_line(pen *p)
{
    if (is_copied(p, p->line) && is_copied(p, p->line + 1)) {
        cf_buf_addc(p->copy, '\n');
    }
    p->line++;
}

/* " encoding image 1, layer 3 of 27  GEN ",
 * " prefill 512 of 2048 tok  118 t/s  GEN ", " 24 tok  21.4 t/s  GEN ",
 * " 312 bytes  GEN " */
static void live_figures(char *out, size_t cap, const cf_reply *l)
{
    uint64_t now = cf_os_monotonic_us();
    if (l->encoding[0] != '\0') {
        snprintf(out, cap, " encoding %s  GEN ", l->encoding);
    } else if (l->first_us == 0 && l->n_total == 0) {
        snprintf(out, cap, " waiting  GEN ");
    } else if (l->first_us == 0) {
        char rate[32] = "";
        if (l->n_done > 0 && now > l->start_us) {
            snprintf(rate, sizeof rate, "  %.0f t/s",
                     (double)l->n_done * 1e6 / (double)(now - l->start_us));
        }
        snprintf(out, cap, " prefill %llu of %llu tok%s  GEN ", (unsigned long long)l->n_done,
                 (unsigned long long)l->n_total, rate);
    } else {
        double seconds = (double)(now - l->first_us) * 1e-6;
        uint64_t n = n_tokens(l);
        if (n == 0 && l->raw.n > 0) { /* a server that shows no tokens */
            snprintf(out, cap, " %zu bytes  GEN ", l->raw.n);
        } else {
            snprintf(out, cap, " %llu tok  %.1f t/s  GEN ", (unsigned long long)n,
                     seconds > 0.05 ? (double)n / seconds : 0);
        }
    }
}

/* What to do about a reply that failed: asking again helps only where the same
 * prompt can succeed. */
static const char *way_on(cf_status why)
{
    return why == CF_ELIMIT         ? "gS declares fewer tools, :truncate drops turns"
           : why == CF_EUNSUPPORTED ? ":template NAME uses another template"
                                    : "r asks again";
}

static void draw_reason(pen *p, const char *what, const char *why, const char *way)
{
    cf_buf text = CF_BUF_INIT;
    cf_wrapped lines = {0};
    cf_buf_addf(&text, "%s: %s (%s)", what, why, way);
    draw_lines(p, &text, &lines, CF_STYLE_ERROR);
    cf_wrapped_deinit(&lines);
    cf_buf_deinit(&text);
}

/* Below a message that got no reply: why, and what can be done. */
static void draw_failure(pen *p, const cf_reply *l)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(p->app->lab, &n);
    if (l->failure[0] == '\0' || n == 0 || !cf_uuid_eq(path[n - 1]->id, l->parent)) {
        return;
    }
    const cf_turn *const *all = cf_lab_turns(p->app->lab, &n);
    bool has_part = n > 0 && all[n - 1]->status == CF_TURN_ERROR && all[n - 1]->raw.n > 0 &&
                    cf_uuid_eq(all[n - 1]->parent, l->parent);
    draw_reason(p, has_part ? "the reply broke off" : "no reply", l->failure,
                way_on(l->failure_code));
}

/* Below what came of a reply that broke off. */
static void draw_error(pen *p, const cf_turn *turn, const cf_chat_text *t)
{
    if (turn->status != CF_TURN_ERROR) {
        return;
    }
    const cf_reply *r = cf_lab_reply(p->app->lab, turn->id);
    draw_reason(p, t->text.n != 0 ? "broke off" : "no reply",
                r != NULL && r->stop.err.text[0] != '\0' ? r->stop.err.text : "why is not known",
                way_on(r != NULL ? r->stop.err.code : CF_OK));
}

/* What the server or its end had to say about a reply. */
static void draw_notes(pen *p, const cf_reply *r)
{
    if (r == NULL) {
        return;
    }
    for (size_t at = 0; at < r->notes.n;) {
        cf_str line = cf_str_make(r->notes.p + at, 0);
        while (at + line.n < r->notes.n && line.p[line.n] != '\n') {
            line.n++;
        }
        int y = row_of(p);
        p->line++;
        if (y >= 0) {
            cf_grid_put(p->g, p->r.x + 1, y, p->r.w - 2, line, CF_STYLE_WARNING);
        }
        at += line.n + 1;
    }
}

/* A reply that is being written, as wide as the pen. */
static void draw_live_reply(pen *p, const cf_reply *l, cf_chat_text *t, const char *title)
{
    int y = row_of(p);
    p->line++;
    if (y >= 0) {
        cf_grid_hline(p->g, p->r.x, y, p->r.w, CF_STYLE_BORDER);
        cf_grid_puts(p->g, p->r.x + 2, y, p->r.w - 4, title, CF_STYLE_ASSISTANT);
        char text[96];
        live_figures(text, sizeof text, l);
        int w = (int)strlen(text);
        if (w + (int)strlen(title) + 5 < p->r.w) {
            cf_grid_puts(p->g, p->r.x + p->r.w - w - 2, y, w, text, CF_STYLE_NEW);
        }
    }
    if (l->thinking.n != 0) {
        draw_lines(p, &l->thinking, &t->thinking_lines, CF_STYLE_THINKING);
    }
    draw_lines(p, &l->text, &t->lines, CF_STYLE_NORMAL);
    draw_notes(p, l);
    if (l->calls.n != 0) {
        int at = row_of(p);
        p->line++;
        if (at >= 0) {
            cf_grid_put(p->g, p->r.x + 1, at, p->r.w - 2, cf_str_make(l->calls.p, l->calls.n),
                        CF_STYLE_TOOL);
        }
    }
}

/* Several of them in columns, below each other where these would be narrow. */
static void draw_live_many(pen *p, size_t n)
{
    enum { NARROW = 20 };
    cf_chat *s = cf_chat__state(p->app);
    int w = p->r.w / (int)n;
    bool in_columns = w >= NARROW;
    size_t end = p->line;
    for (size_t i = 0; i < n; i++) {
        char title[64];
        pen column = *p;
        snprintf(title, sizeof title, " reply %zu of %zu ", i + 1, n);
        if (in_columns) {
            column.r.x += (int)i * w;
            column.r.w = i + 1 < n ? w - 1 : p->r.w - (int)i * w;
        } else {
            column.line = end;
        }
        draw_live_reply(&column, cf_lab_live_at(p->app->lab, i), &s->live[i], title);
        end = column.line > end ? column.line : end;
    }
    p->line = end;
}

/* `w`: cells that there are for several next to each other. */
static void draw_live(pen *p, int w)
{
    size_t n = cf_lab_n_live(p->app->lab);
    const cf_reply *l = cf_lab_live(p->app->lab);
    if (n > 1) {
        p->r.w = w;
        draw_live_many(p, n);
    } else if (l->is_live) {
        draw_live_reply(p, l, &cf_chat__state(p->app)->live[0], " assistant ");
    } else {
        draw_failure(p, l);
    }
}

/* Below a turn: a note, a call that waits or is broken, that it was stopped. */
static void draw_state(pen *p, const cf_turn *turn, size_t i)
{
    cf_chat_call call = cf_chat__call_of(p->app, turn, i);
    const cf_store_turn_mark *mark = cf_chat__mark_of(p->app, turn->id);
    cf_buf text = CF_BUF_INIT;
    cf_wrapped lines = {0};
    if (turn->status == CF_TURN_STOPPED) {
        cf_buf_adds(&text, "stopped: e continues it, r asks again");
        draw_lines(p, &text, &lines, CF_STYLE_WARNING);
        cf_wrapped_reset(&lines);
        cf_buf_reset(&text);
    }
    cf_chat__call_text(p->app, turn, call, &text);
    draw_lines(p, &text, &lines, call == CF_CALLS_BROKEN ? CF_STYLE_ERROR : CF_STYLE_WARNING);
    if (mark != NULL && mark->note.n != 0) {
        cf_wrapped_reset(&lines);
        cf_buf_reset(&text);
        cf_buf_adds(&text, "note: ");
        cf_buf_add(&text, mark->note.p, mark->note.n);
        draw_lines(p, &text, &lines, CF_STYLE_DIM);
    }
    cf_wrapped_deinit(&lines);
    cf_buf_deinit(&text);
}

/* One turn; with p->g NULL it is only measured. */
static void draw_turn(pen *p, const cf_turn *turn, size_t i)
{
    cf_chat *s = cf_chat__state(p->app);
    cf_chat_text *t = cf_chat__text_of(s, turn);
    if (t == NULL) {
        return;
    }
    draw_head(p, turn, i, i == s->cursor && !s->is_on_first && p->app->mode == CF_MODE_NORMAL);
    draw_thinking(p, t);
    draw_lines(p, &t->text, &t->lines, CF_STYLE_NORMAL);
    draw_images(p, t);
    draw_notes(p, cf_lab_reply(p->app->lab, turn->id));
    draw_error(p, turn, t);
    draw_state(p, turn, i);
    blank_line(p);
}

bool cf_chat__has_first(cf_app *app)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    return n > 0 && !cf_turn_is_system(path[0]);
}

/* The system prompt of the preface, or that there is none. */
static void draw_first(pen *p)
{
    cf_chat *s = cf_chat__state(p->app);
    cf_chat_text *t = &s->first;
    if (!cf_chat__has_first(p->app) || (t->text.n == 0 && !s->is_on_first)) {
        return; /* an absent one is shown when the cursor goes there */
    }
    int y = row_of(p);
    p->line++;
    if (y >= 0) {
        bool is_on = s->is_on_first && p->app->mode == CF_MODE_NORMAL;
        cf_grid_hline(p->g, p->r.x, y, p->r.w, is_on ? CF_STYLE_SELECTED : CF_STYLE_BORDER);
        cf_grid_puts(p->g, p->r.x + 2, y, p->r.w - 4,
                     t->text.n != 0 ? " system " : " no system prompt; e writes one ",
                     is_on            ? CF_STYLE_SYSTEM | CF_REVERSE
                     : t->text.n != 0 ? CF_STYLE_SYSTEM
                                      : CF_STYLE_DIM);
        if (is_on) {
            p->g->cursor_x = p->r.x;
            p->g->cursor_y = y;
        }
    }
    draw_lines(p, &t->text, &t->lines, CF_STYLE_NORMAL);
    if (t->text.n != 0) {
        blank_line(p);
    }
}

/* Measures the path when it or the width has changed; false when memory ran
 * out. */
bool cf_chat__lay_out(cf_app *app, int width)
{
    cf_chat *s = cf_chat__state(app);
    cf_chat_layout *l = &s->layout;
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    uint64_t generation = cf_lab_generation(app->lab);
    const cf_tool_set *tools = cf_lab_tools(app->lab);
    bool is_busy = cf_lab_is_busy(app->lab);
    if (l->is_valid && l->generation == generation && l->width == width &&
        l->is_on_first == s->is_on_first && l->tools == tools && l->is_busy == is_busy &&
        l->shows_thinking == app->config.show_thinking) {
        return true;
    }
    l->is_valid = false;
    l->tools = tools;
    l->is_busy = is_busy;
    if (n + 1 > l->cap) {
        size_t cap = 2 * (n + 1);
        size_t *v = cf_realloc(l->start, cap, sizeof *v);
        if (v == NULL) {
            return false;
        }
        l->start = v;
        l->cap = cap;
    }
    pen count = {.app = app, .r = {0, 0, width, 0}};
    cf_chat__clear_text(&s->first);
    s->first = (cf_chat_text){.n_images = 0};
    if (cf_chat__has_first(app) && cf_lab_system(app->lab) != NULL) {
        cf_lab_message_text(&s->first.text, cf_lab_system(app->lab));
    }
    draw_first(&count);
    for (size_t i = 0; i < n; i++) {
        l->start[i] = count.line;
        draw_turn(&count, path[i], i);
    }
    l->start[n] = count.line;
    l->n = n;
    l->generation = generation;
    l->width = width;
    l->is_on_first = s->is_on_first;
    l->shows_thinking = app->config.show_thinking;
    l->is_valid = true;
    return true;
}

size_t cf_chat__line_of(cf_app *app, size_t i, size_t off)
{
    cf_chat *s = cf_chat__state(app);
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    if (s->width == 0 || !cf_chat__lay_out(app, s->width) || i >= s->layout.n) {
        return 0;
    }
    const cf_chat_text *t = cf_chat__text_of(s, path[i]);
    size_t line = s->layout.start[i] + 1; /* below the head */
    if (t == NULL) {
        return line;
    }
    if (t->thinking.n != 0) {
        bool is_open = t->unfolded || app->config.show_thinking;
        line += 1 + (is_open ? t->thinking_lines.n : 0);
    }
    size_t k = 0;
    while (k + 1 < t->lines.n && t->lines.v[k + 1].off <= off) {
        k++;
    }
    return line + k;
}

/* The turn that line `line` belongs to; l->n after the last one. */
static size_t turn_at(const cf_chat_layout *l, size_t line)
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

void cf_chat__settle_cursor(cf_app *app)
{
    cf_chat *s = cf_chat__state(app);
    cf_uuid conv = cf_lab_conv_id(app->lab);
    size_t n;
    cf_lab_path(app->lab, &n);
    if (!cf_uuid_eq(conv, s->conv)) { /* another one was opened */
        s->conv = conv;
        s->follows = true;
    }
    if (s->cursor >= n || s->follows) {
        s->cursor = n > 0 ? n - 1 : 0;
    }
    s->is_on_first = s->is_on_first && !s->follows && s->cursor == 0 && cf_chat__has_first(app);
}

/* The text of an empty conversation, as wide as there is room. */
static void draw_tips(cf_grid *g, cf_rect r)
{
    const cf_str text =
        cf_str_from("Write a message: i, then Enter.\n\n"
                    "2 shows the prompt as the model sees it, 6 what was said before, "
                    "? every key.");
    (void)cf_grid_put_wrapped(g, r, 0, text, CF_STYLE_DIM);
}

static void draw_selection(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_chat *s = cf_chat__state(app);
    if (!s->has_mark) {
        return;
    }
    size_t from = s->mark < s->mark_end ? s->mark : s->mark_end;
    size_t to = s->mark < s->mark_end ? s->mark_end : s->mark;
    for (int y = 0; y < r.h; y++) {
        size_t line = s->top + (size_t)y;
        if (line >= from && line <= to) {
            cf_grid_restyle(g, (cf_rect){r.x, r.y + y, r.w, 1}, CF_STYLE_SELECTED);
        }
        if (line == s->mark_end) {
            g->cursor_x = r.x + 1;
            g->cursor_y = r.y + y;
        }
    }
}

/* The part of `r` where turn i is shown. */
static cf_rect place_of(const cf_chat_layout *l, size_t i, size_t top, cf_rect r)
{
    size_t from = l->start[i] > top ? l->start[i] - top : 0;
    size_t to = l->start[i + 1] > top ? l->start[i + 1] - top : 0;
    to = to < (size_t)r.h ? to : (size_t)r.h;
    return (cf_rect){r.x, r.y + (int)from, r.w, to > from ? (int)(to - from) : 0};
}

void cf_chat__draw_transcript(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_chat *s = cf_chat__state(app);
    size_t n;
    cf_lab_path(app->lab, &n);
    cf_chat__settle_cursor(app);
    if (n == 0 && !cf_lab_live(app->lab)->is_live) {
        draw_tips(g, (cf_rect){r.x + 2, r.y + 1, r.w - 4, r.h - 2});
        return;
    }
    int all_w = r.w;
    r.w = r.w < CF_CHAT_TEXT_W + 2 ? r.w : CF_CHAT_TEXT_W + 2;
    s->width = r.w;
    s->height = (size_t)(r.h > 0 ? r.h : 0);
    if (!cf_chat__lay_out(app, r.w)) {
        return;
    }
    if (s->find.is_due) {
        cf_chat__search(app, app->search, 0);
    }
    const cf_chat_layout *l = &s->layout;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    pen count = {.app = app, .r = r, .line = l->start[n]};
    draw_live(&count, all_w);
    s->n_lines = count.line;
    size_t last_top = s->n_lines > s->height ? s->n_lines - s->height : 0;
    if (s->follows || s->top > last_top) {
        s->top = last_top;
    }
    if (n > 0 && s->top < l->start[0]) {
        pen draw = {.app = app, .g = g, .r = r};
        draw_first(&draw);
    }
    size_t i = turn_at(l, s->top);
    for (; i < n && l->start[i] < s->top + s->height; i++) {
        pen draw = {.app = app, .g = g, .r = r, .line = l->start[i]};
        draw_turn(&draw, path[i], i);
        cf_grid_spot(g, place_of(l, i, s->top, r), CF_CHAT_SPOT_TURN, i);
    }
    if (i == n) {
        pen draw = {.app = app, .g = g, .r = r, .line = l->start[n]};
        draw_live(&draw, all_w);
    }
    draw_selection(app, g, r);
}

void cf_chat__selected_text(cf_app *app, cf_buf *out)
{
    cf_chat *s = cf_chat__state(app);
    size_t n, from = s->mark < s->mark_end ? s->mark : s->mark_end;
    size_t to = s->mark < s->mark_end ? s->mark_end : s->mark;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    if (!s->has_mark || s->width == 0 || !cf_chat__lay_out(app, s->width)) {
        return;
    }
    const cf_chat_layout *l = &s->layout;
    if (from < l->start[0]) {
        pen copy = {.app = app, .r = {0, 0, s->width, 0}, .copy = out, .from = from, .to = to};
        draw_first(&copy);
    }
    for (size_t i = turn_at(l, from); i < l->n && l->start[i] <= to; i++) {
        pen copy = {.app = app,
                    .r = {0, 0, s->width, 0},
                    .line = l->start[i],
                    .copy = out,
                    .from = from,
                    .to = to};
        draw_turn(&copy, path[i], i);
    }
}
