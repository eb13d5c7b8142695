/*
 * chat_side.c - the panes next to the transcript: the tree of turns and the figures of
 * the session.
 */
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/talk/lab_constraint.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_system.h"
#include "tui/lab/tools/lab_tools.h"
#include "tui/view/chat/chat.h"
#include "tui/widget/note.h"

enum {
    LOOK_BACK = 32, /* turns searched for the last reply's figures */
    LOSS_ROWS = 5
};

/* The first of n turns to show in `height` rows: the last ones, or those around
 * the cursor when that is further up. */
static size_t first_shown(const cf_chat *s, size_t n, size_t height)
{
    size_t first = n > height ? n - height : 0, at = first;
    while (at > 0 && s->tree.place[at] != s->cursor + 1) {
        at--;
    }
    bool is_above = at < first && s->tree.place[at] == s->cursor + 1;
    return !is_above ? first : at > height / 2 ? at - height / 2 : 0;
}

/* Words about a turn that call for attention, and its rating; returns their
 * width.  That a turn was imported is in its head. */
static int draw_state(cf_app *app, cf_grid *g, cf_rect r, const cf_turn *t, size_t place)
{
    int x = r.x;
    cf_chat_call call = cf_chat__call_of(app, t, place);
    const cf_store_turn_mark *mark = cf_chat__mark_of(app, t->id);
    if (t->status != CF_TURN_OK && t->status != CF_TURN_IMPORTED) {
        x += 1 + cf_grid_puts(g, x, r.y, r.x + r.w - x, cf_turn_status_name(t->status),
                              CF_STYLE_WARNING);
    }
    if (cf_lab_is_copied(app->lab, t)) {
        x += 1 + cf_grid_puts(g, x, r.y, r.x + r.w - x, "copied", CF_STYLE_WARNING);
    }
    if (call == CF_CALLS_WAITS || call == CF_CALLS_BROKEN) {
        bool waits = call == CF_CALLS_WAITS;
        x += 1 + cf_grid_puts(g, x, r.y, r.x + r.w - x, waits ? "waits" : "broken",
                              waits ? CF_STYLE_WARNING : CF_STYLE_ERROR);
    }
    if (mark != NULL && mark->rating != 0) {
        x += 1 +
             cf_grid_puts(g, x, r.y, r.x + r.w - x, mark->rating > 0 ? "+" : "-", CF_STYLE_MARKED);
    }
    return x - r.x;
}

/* Of a text, leaving out empty ones before it. */
static cf_str first_line(const cf_buf *text)
{
    size_t from = 0, to;
    while (from < text->n && text->p[from] == '\n') {
        from++;
    }
    for (to = from; to < text->n && text->p[to] != '\n';) {
        to++;
    }
    return text->n != 0 ? cf_str_make(text->p + from, to - from) : cf_str_make("", 0);
}

void cf_chat__draw_tree(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_chat *s = cf_chat__state(app);
    size_t n;
    const cf_turn *const *turns = cf_lab_turns(app->lab, &n);
    if (r.h <= 0 || !cf_turn_tree_update(&s->tree, app->lab)) {
        return;
    }
    cf_chat__settle_cursor(app);
    size_t first = first_shown(s, n, (size_t)r.h);
    for (size_t i = first; i < n && i - first < (size_t)r.h; i++) {
        const cf_turn *t = turns[i];
        cf_chat_text *text = cf_chat__text_of(s, t);
        bool is_in = s->tree.place[i] != 0;
        size_t place = is_in ? s->tree.place[i] - 1 : 0;
        int y = r.y + (int)(i - first);
        int x = r.x + (int)(2 * (s->tree.depth[i] % 8));
        cf_str role = cf_json_get_str(t->message, "role");
        cf_style style = is_in ? CF_STYLE_NORMAL : CF_STYLE_DIM;
        if (is_in && place == s->cursor) {
            cf_grid_fill(g, (cf_rect){r.x, y, r.w, 1}, ' ', CF_STYLE_SELECTED);
            style = CF_STYLE_SELECTED;
            g->cursor_x = r.x;
            g->cursor_y = y;
        }
        cf_grid_spot(g, (cf_rect){r.x, y, r.w, 1}, CF_CHAT_SPOT_TREE, i);
        cf_grid_puts(g, x, y, 1, is_in ? "*" : "o", style);
        cf_grid_put(g, x + 2, y, 1, cf_str_make(role.p, role.n != 0), cf_chat__role_style(role));
        int at = x + 4;
        at += draw_state(app, g, (cf_rect){at, y, r.x + r.w - at, 1}, t, is_in ? place : SIZE_MAX);
        if (text != NULL && at < r.x + r.w) {
            cf_grid_put(g, at, y, r.x + r.w - at, first_line(&text->text), style);
        }
    }
}

/* ---- figures ------------------------------------------------------------ */

/* The settings of the next reply. */
static int draw_settings(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_buf line = CF_BUF_INIT;
    cf_buf_adds(&line, "next    ");
    cf_reply_settings_line(cf_lab_settings(app->lab), &line);
    int n = cf_note_put(g, r, cf_buf_str(&line), CF_STYLE_NORMAL);
    cf_buf_deinit(&line);
    return n;
}

const cf_reply *cf_chat__loss(cf_app *app)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    const cf_reply *r = NULL;
    for (size_t i = n; i-- > 0 && n - i <= LOOK_BACK && (r == NULL || r->cause[0] == '\0');) {
        r = cf_lab_reply(app->lab, path[i]->id);
    }
    return r != NULL && r->cause[0] != '\0' ? r : NULL;
}

static int draw_loss(cf_grid *g, cf_rect r, const cf_reply *reply)
{
    char text[300];
    snprintf(text, sizeof text, "cache lost at token %zu: %s", reply->sync.n_kept, reply->cause);
    return cf_note_put(g, r, cf_str_from(text), CF_STYLE_WARNING);
}

/* What of the conversation is not in its prompt, in r.h rows at most; returns
 * how many it took. */
static int draw_missing(cf_app *app, cf_grid *g, cf_rect r)
{
    size_t n, n_tools = 0, n_lost = 0;
    const cf_lab_loss *v = cf_lab_losses(app->lab, &n);
    int y = 0;
    for (size_t i = 0; i < n; i++) {
        n_lost += v[i].kind == CF_LOSS_TOOL;
    }
    cf_tool_set_items(cf_lab_tools(app->lab), &n_tools);
    if (n_lost > 0 && y < r.h) {
        char count[32] = "none";
        if (n_lost < n_tools) {
            snprintf(count, sizeof count, "%zu", n_tools - n_lost);
        }
        char text[80];
        snprintf(text, sizeof text, "%zu tool%s declared, %s in the prompt", n_tools,
                 n_tools == 1 ? "" : "s", count);
        y += cf_note_put(g, (cf_rect){r.x, r.y + y, r.w, r.h - y}, cf_str_from(text),
                         CF_STYLE_ERROR);
    }
    for (size_t i = 0; i < n && y < r.h; i++) {
        if (v[i].kind == CF_LOSS_TOOL) {
            continue;
        }
        if (y + 1 == r.h && n - n_lost > (size_t)r.h) {
            cf_grid_putf(g, r.x, r.y + y++, r.w, CF_STYLE_ERROR, "%zu losses; 2 shows them",
                         n - n_lost);
            break;
        }
        y += cf_note_put(g, (cf_rect){r.x, r.y + y, r.w, r.h - y}, v[i].line, CF_STYLE_ERROR);
    }
    if (cf_lab_added(app->lab) != NULL && y < r.h) {
        char text[160];
        snprintf(text, sizeof text, "%s (as_is)", cf_lab_added(app->lab));
        y += cf_note_put(g, (cf_rect){r.x, r.y + y, r.w, r.h - y}, cf_str_from(text),
                         CF_STYLE_WARNING);
    }
    return y;
}

/* "prefill 1002, decode 49.9 t/s"; the number of rows. */
static int draw_rates(cf_grid *g, cf_rect r, const cf_reply *reply)
{
    const cf_timings *t = &reply->timings;
    double decode = cf_decode_rate(t, CF_CHAT_RATE_TOKENS);
    char text[80] = "";
    int n = 0;
    if (t->prefill_us > 0) {
        n = snprintf(text, sizeof text, "prefill %.0f",
                     (double)t->n_prefill * 1e6 / (double)t->prefill_us);
    }
    if (decode > 0) {
        n += snprintf(text + n, sizeof text - (size_t)n, n > 0 ? ", decode %.1f" : "decode  %.1f",
                      decode);
    }
    return n > 0 ? cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_NORMAL, "%s t/s", text) > 0 : 0;
}

void cf_chat__draw_session(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_lab_engine *e = cf_lab_engine_of(app->lab);
    cf_backend_info info = cf_lab_info(app->lab);
    size_t n, n_path;
    cf_lab_turns(app->lab, &n);
    const cf_turn *const *path = cf_lab_path(app->lab, &n_path);
    int y = r.y;
    cf_buf name = CF_BUF_INIT;
    cf_buf_add(&name, info.name.p, info.name.n);
    cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL, "engine  %s", info.kind);
    cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL, "model   %s", cf_buf_cstr(&name));
    cf_buf_deinit(&name);
    if (e->engine != NULL) {
        cf_arithmetic a = cf_engine_get_info(e->engine).arithmetic;
        if (a != CF_ARITHMETIC_16) {
            cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL, "with    %s", cf_arithmetic_name(a));
        }
    }
    cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL, "tmpl    %s", e->template_name);
    cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL, "turns   %zu (%zu here)", n, n_path);
    y += draw_missing(app, g, (cf_rect){r.x, y, r.w, LOSS_ROWS});
    const cf_reply *last = NULL;
    for (size_t i = n_path; i-- > 0 && n_path - i <= LOOK_BACK && last == NULL;) {
        last = cf_lab_reply(app->lab, path[i]->id);
    }
    const cf_chat_gauge *gauge = cf_chat__gauge(app);
    if (gauge != NULL) {
        cf_grid_putf(g, r.x, y++, r.w,
                     cf_chat__gauge_style(gauge) == CF_STYLE_DIM ? CF_STYLE_NORMAL
                                                                 : cf_chat__gauge_style(gauge),
                     "context %s%zu of %zu", gauge->is_estimate ? "~" : "", gauge->n_prompt,
                     gauge->n_ctx);
    }
    if (last != NULL && last->usage.is_known && last->usage.n_prompt > 0) {
        cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL, "prompt  %llu tok, %zu from the cache",
                     (unsigned long long)last->usage.n_prompt, last->sync.n_kept);
        cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_NORMAL, "first   %.0f ms",
                     (double)last->timings.first_us * 1e-3);
        y += draw_rates(g, (cf_rect){r.x, y, r.w, 1}, last);
        if (last->adapters.n != 0) {
            int x = r.x + cf_grid_puts(g, r.x, y, r.w, "lora    ", CF_STYLE_NORMAL);
            cf_grid_put(g, x, y++, r.x + r.w - x, cf_buf_str(&last->adapters), CF_STYLE_NORMAL);
        }
        if (last->facts.n != 0) {
            int x = r.x + cf_grid_puts(g, r.x, y, r.w, "server  ", CF_STYLE_NORMAL);
            cf_grid_put(g, x, y++, r.x + r.w - x, cf_buf_str(&last->facts), CF_STYLE_NORMAL);
        }
        if (last->found_other) {
            y += cf_note_put(g, (cf_rect){r.x, y, r.w, LOSS_ROWS},
                             cf_str_from("the cache held another "
                                         "conversation"),
                             CF_STYLE_DIM);
        }
        if (last->cause[0] != '\0') {
            y += draw_loss(g, (cf_rect){r.x, y, r.w, LOSS_ROWS}, last);
        }
    }
    y += draw_settings(app, g, (cf_rect){r.x, y, r.w, LOSS_ROWS});
    if (cf_lab_constraint(app->lab)[0] != '\0') {
        cf_buf line = CF_BUF_INIT;
        cf_buf_addf(&line, "constr  %s", cf_lab_constraint(app->lab));
        y += cf_note_put(g, (cf_rect){r.x, y, r.w, LOSS_ROWS}, cf_buf_str(&line), CF_STYLE_WARNING);
        cf_buf_deinit(&line);
    }
    if (info.cannot[0] != '\0') {
        y += cf_note_put(g, (cf_rect){r.x, y, r.w, LOSS_ROWS}, cf_str_from(info.cannot),
                         CF_STYLE_DIM);
    }
    if (app->store != NULL) {
        cf_store_state st;
        cf_store_get_state(app->store, &st);
        if (st.is_failing || st.is_read_only) {
            (void)cf_note_put(g, (cf_rect){r.x, y, r.w, LOSS_ROWS}, cf_str_from(st.why.text),
                              CF_STYLE_WARNING);
        } else if (st.n_lost > 0) {
            char text[300];
            snprintf(text, sizeof text, "%zu not saved: %s", st.n_lost, st.lost_why.text);
            (void)cf_note_put(g, (cf_rect){r.x, y, r.w, LOSS_ROWS}, cf_str_from(text),
                              CF_STYLE_ERROR);
        }
    }
}
