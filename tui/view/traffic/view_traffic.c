/*
 * view_traffic.c - the exchanges of the proxy and the server as they come, and
 * what was found in the one under the cursor.
 *
 * The list is read again twice a second while it is shown.  The cursor stays
 * on the newest exchange while it is there, else on its own.
 *
 * A running exchange that was opened is followed in the other views: its reply
 * so far is shown again as it grows, and at the end the stored one.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/json/json.h"
#include "storage/traffic.h"
#include "tui/app/app.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/watch/live_file.h"
#include "tui/lab/watch/slots_file.h"
#include "tui/view/kit/moves.h"
#include "tui/view/kit/pane.h"
#include "tui/view/traffic/traffic_break.h"
#include "tui/widget/list.h"

enum {
    EVERY_MS = 500,
    ROWS_MAX = 500,
    DETAIL_ROWS = 6,
    SLOT_ROWS = 8,
    FOLLOW_ROWS = 64 /* newest of a conversation, to find a running one in */
};

typedef struct traffic {
    cf_arena arena;
    const cf_exchange *rows; /* [list.n] */
    cf_list list;
    bool is_read;
    cf_buf stop_line; /* about the proxy's breakpoint; empty: none */
    /* The running exchange that is open in the other views. */
    cf_uuid following;          /* nil: none */
    cf_uuid conversation, turn; /* of its request */
    cf_uuid reply;              /* of the turn that shows its reply so far */
    json_t *shown;              /* that reply; NULL: none */
    uint64_t looked_us;
    json_t *server; /* that writes this history, as its file says; NULL */
} traffic;

static traffic *state(cf_app *app)
{
    return app->state[CF_VIEW_TRAFFIC];
}

static void traffic_open(void *state)
{
    traffic *s = state;
    cf_arena_init(&s->arena, 0);
}

static void traffic_close(cf_app *app)
{
    traffic *s = state(app);
    cf_arena_deinit(&s->arena);
    cf_buf_deinit(&s->stop_line);
    json_decref(s->server);
    json_decref(s->shown);
}

/* ---- reading ------------------------------------------------------------ */

static size_t row_of(const cf_exchange *rows, size_t n, cf_uuid id)
{
    for (size_t i = 0; i < n; i++) {
        if (cf_uuid_eq(rows[i].id, id)) {
            return i;
        }
    }
    return n;
}

static bool is_same(const traffic *s, const cf_exchange *rows, size_t n)
{
    bool same = s->is_read && n == s->list.n;
    for (size_t i = 0; same && i < n; i++) {
        same = cf_uuid_eq(s->rows[i].id, rows[i].id) && s->rows[i].status == rows[i].status &&
               cf_str_eq(s->rows[i].end, rows[i].end) &&
               cf_str_eq(s->rows[i].findings, rows[i].findings);
    }
    return same;
}

/* True when there is something new to show. */
static bool reload(cf_app *app)
{
    traffic *s = state(app);
    const cf_exchange *rows;
    size_t n;
    cf_arena fresh;
    cf_error err;
    const cf_exchange_query q = {.limit = ROWS_MAX};
    if (app->store == NULL) {
        return false;
    }
    cf_arena_init(&fresh, 0);
    if (cf_store_exchanges(app->store, &q, &fresh, &rows, &n, &err) != CF_OK) {
        cf_arena_deinit(&fresh);
        cf_app_error(app, &err);
        return false;
    }
    if (is_same(s, rows, n)) {
        cf_arena_deinit(&fresh);
        return false;
    }
    size_t at = n;
    if (s->list.n > 0 && s->list.cursor + 1 < s->list.n) {
        at = row_of(rows, n, s->rows[s->list.cursor].id);
    }
    cf_arena_deinit(&s->arena);
    s->arena = fresh;
    s->rows = rows;
    s->is_read = true;
    cf_list_set(&s->list, n, s->list.height);
    cf_list_go(&s->list, at < n ? at : n);
    return true;
}

/* True when the breakpoint's line has changed. */
static bool read_break(cf_app *app)
{
    traffic *s = state(app);
    cf_buf line = CF_BUF_INIT;
    cf_traffic_break_line(app, &line);
    bool is_other = !cf_str_eq(cf_buf_str(&line), cf_buf_str(&s->stop_line));
    cf_buf_deinit(&s->stop_line);
    s->stop_line = line;
    return is_other;
}

/* True when another server runs, or a slot does something else. */
static bool read_server(cf_app *app)
{
    traffic *s = state(app);
    json_t *now = app->store != NULL ? cf_slots_read(cf_store_path(app->store)) : NULL;
    bool is_other = now == NULL ? s->server != NULL : json_equal(now, s->server) == 0;
    json_decref(s->server);
    s->server = now;
    return is_other;
}

static void traffic_enter(cf_app *app)
{
    (void)reload(app);
    (void)read_break(app);
    (void)read_server(app);
}

/* ---- a running exchange ------------------------------------------------- */

static void follow_none(cf_app *app)
{
    traffic *s = state(app);
    memset(&s->following, 0, sizeof s->following);
    json_decref(s->shown);
    s->shown = NULL;
}

/* Whether the lab shows what was opened, and nothing else. */
static bool is_open(const cf_app *app, const traffic *s)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    return cf_uuid_eq(cf_lab_conv_id(app->lab), s->conversation) && n > 0 &&
           cf_uuid_eq(path[n - 1]->id, s->shown != NULL ? s->reply : s->turn);
}

/* The row of the exchange; NULL when it is not there. */
static const cf_exchange *find_followed(const cf_app *app, const traffic *s, cf_arena *arena)
{
    const cf_exchange *rows;
    size_t n;
    cf_error ignored;
    const cf_exchange_query q = {.conversation = s->conversation, .limit = FOLLOW_ROWS};
    if (cf_store_exchanges(app->store, &q, arena, &rows, &n, &ignored) != CF_OK) {
        return NULL;
    }
    size_t at = row_of(rows, n, s->following);
    return at < n ? &rows[at] : NULL;
}

/* Shows what has come of the reply since, and at its end the stored one. */
static void follow(cf_app *app)
{
    traffic *s = state(app);
    cf_error ignored;
    cf_arena arena;
    const uint64_t now = cf_os_monotonic_us();
    if (cf_uuid_is_nil(s->following) || now < s->looked_us + EVERY_MS * 1000ULL) {
        return;
    }
    s->looked_us = now;
    cf_arena_init(&arena, 0);
    const cf_exchange *x = is_open(app, s) ? find_followed(app, s, &arena) : NULL;
    if (x == NULL) { /* another conversation, or another place in it */
        follow_none(app);
    } else if (x->end.n != 0) {
        cf_ignore(cf_lab_open_conv(app->lab, x->conversation, x->turn, &ignored));
        follow_none(app);
        app->is_dirty = true;
    } else {
        json_t *m = cf_live_read(cf_store_path(app->store), s->following);
        cf_uuid reply = cf_uuid_new(); /* views know a turn by it */
        if (m != NULL && (s->shown == NULL || !json_equal(m, s->shown)) &&
            cf_lab_open_live(app->lab, s->conversation, s->turn, reply, m, &ignored) == CF_OK) {
            s->reply = reply;
            json_decref(s->shown);
            s->shown = json_incref(m);
            app->is_dirty = true;
        }
        json_decref(m);
    }
    cf_arena_deinit(&arena);
}

static void follow_from(cf_app *app, const cf_exchange *x)
{
    traffic *s = state(app);
    follow_none(app);
    s->following = x->id;
    s->conversation = x->conversation;
    s->turn = x->turn;
    s->looked_us = 0;
    follow(app);
}

static bool traffic_step(cf_app *app)
{
    follow(app);
    if (cf_app_view(app) == CF_VIEW_TRAFFIC) {
        bool is_new = reload(app);
        is_new = read_break(app) || is_new;
        app->is_dirty = read_server(app) || is_new || app->is_dirty;
    }
    return false;
}

/* ---- drawing ------------------------------------------------------------ */

static void put_count(cf_grid *g, int x, int y, int width, int64_t v, cf_style style)
{
    if (v < 0) {
        cf_grid_putf(g, x, y, width, style, "%*s", width, "-");
    } else {
        cf_grid_putf(g, x, y, width, style, "%*lld", width, (long long)v);
    }
}

static bool has_findings(const cf_exchange *x)
{
    return x->findings.n > 2;
}

static void draw_row(cf_grid *g, cf_rect r, const cf_exchange *x, bool is_on)
{
    char time[25];
    cf_style style = is_on              ? CF_STYLE_SELECTED
                     : x->status >= 400 ? CF_STYLE_ERROR
                     : has_findings(x)  ? CF_STYLE_WARNING
                     : x->end.n == 0    ? CF_STYLE_DIM
                                        : CF_STYLE_NORMAL;
    cf_os_format_time(time, x->started_ms);
    cf_grid_fill(g, r, ' ', style);
    cf_grid_putf(g, r.x, r.y, 8, style, "%.8s", time + 11);
    cf_grid_put(g, r.x + 10, r.y, 14, x->client, style);
    cf_grid_put(g, r.x + 25, r.y, 14, x->model.n != 0 ? x->model : x->path, style);
    put_count(g, r.x + 40, r.y, 4, x->n_messages, style);
    put_count(g, r.x + 45, r.y, 7, x->n_prompt, style);
    put_count(g, r.x + 53, r.y, 7, x->n_cached, style);
    put_count(g, r.x + 61, r.y, 6, x->first_us >= 0 ? x->first_us / 1000 : -1, style);
    int end = r.x + 69;
    end +=
        cf_grid_put(g, end, r.y, r.w - 69, x->end.n != 0 ? x->end : cf_str_from("running"), style);
    json_t *list = NULL;
    cf_error ignored;
    if (!has_findings(x) || cf_json_read(&list, x->findings.p, x->findings.n, &ignored) != CF_OK) {
        return;
    }
    cf_grid_puts(g, r.x + 9, r.y, 1, "!", style);
    for (size_t i = 0; i < json_array_size(list); i++) {
        cf_str kind = cf_json_get_str(json_array_get(list, i), "kind");
        end += 2 + cf_grid_put(g, end + 2, r.y, r.x + r.w - end - 2, kind, style);
    }
    json_decref(list);
}

/* The findings and the note of an exchange, a line each. */
static void draw_detail(cf_grid *g, cf_rect r, const cf_exchange *x)
{
    json_t *list = NULL;
    cf_error ignored;
    int y = r.y;
    cf_grid_putf(g, r.x, y++, r.w, CF_STYLE_TITLE, "%.*s %.*s", (int)x->method.n, x->method.p,
                 (int)x->path.n, x->path.p);
    if (x->note.n != 0 && y < r.y + r.h) {
        cf_grid_put(g, r.x, y++, r.w, x->note, CF_STYLE_WARNING);
    }
    if (x->n_messages >= 0 && x->n_prompt < 0 && x->end.n != 0 && y < r.y + r.h) {
        cf_grid_puts(g, r.x, y++, r.w,
                     "the answer counts no tokens; a client asks for it with "
                     "\"stream_options\": {\"include_usage\": true}",
                     CF_STYLE_DIM);
    }
    if (cf_json_read(&list, x->findings.p, x->findings.n, &ignored) != CF_OK) {
        return;
    }
    for (size_t i = 0; i < json_array_size(list) && y < r.y + r.h; i++, y++) {
        const json_t *f = json_array_get(list, i);
        cf_str kind = cf_json_get_str(f, "kind");
        int n = cf_grid_put(g, r.x, y, r.w, kind, CF_STYLE_WARNING);
        cf_grid_put(g, r.x + n + 1, y, r.w - n - 1, cf_json_get_str(f, "text"), CF_STYLE_NORMAL);
    }
    if (json_array_size(list) == 0 && y < r.y + r.h) {
        cf_grid_puts(g, r.x, y, r.w, x->end.n != 0 ? "nothing found" : "still running",
                     CF_STYLE_DIM);
    }
    json_decref(list);
}

/* "slot 0  decode   120 of 512 tokens after 1204, 31.5 a second" */
static void draw_slot(cf_grid *g, cf_rect r, size_t i, const json_t *slot)
{
    const json_t *next = json_object_get(slot, "next_token");
    const bool is_busy = json_is_true(json_object_get(slot, "is_processing"));
    cf_str what = cf_json_get_str(slot, "state");
    json_int_t n_prompt = json_integer_value(json_object_get(slot, "n_prompt_tokens"));
    json_int_t n = json_integer_value(json_object_get(next, "n_decoded"));
    json_int_t left = json_integer_value(json_object_get(next, "n_remain"));
    double rate = json_number_value(json_object_get(slot, "per_second"));
    cf_style style = is_busy ? CF_STYLE_NORMAL : CF_STYLE_DIM;
    int at = cf_grid_putf(g, r.x, r.y, r.w, style, "slot %-3zu %-8.*s", i, (int)what.n, what.p);
    if (!is_busy) {
        at += cf_grid_putf(g, r.x + at, r.y, r.w - at, style, "keeps %lld tokens",
                           (long long)json_integer_value(json_object_get(slot, "n_cached")));
        at += cf_grid_putf(g, r.x + at, r.y, r.w - at, style, ", requests: %lld",
                           (long long)json_integer_value(json_object_get(slot, "n_requests")));
    } else if (n == 0) {
        cf_grid_putf(
            g, r.x + at, r.y, r.w - at, style, "%lld of %lld tokens",
            (long long)json_integer_value(json_object_get(slot, "n_prompt_tokens_processed")),
            (long long)n_prompt);
    } else if (left >= 0) {
        at += cf_grid_putf(g, r.x + at, r.y, r.w - at, style, "%lld of %lld tokens after %lld",
                           (long long)n, (long long)(n + left), (long long)n_prompt);
    } else {
        at += cf_grid_putf(g, r.x + at, r.y, r.w - at, style, "%lld tokens after %lld",
                           (long long)n, (long long)n_prompt);
    }
    if (rate > 0) {
        cf_grid_putf(g, r.x + at, r.y, r.w - at, style, ", %s%.1f a second",
                     is_busy ? "" : "last: ", rate);
    }
}

/* Where the server answers and its slots, a line each; returns how many
 * lines. */
static int draw_server(const traffic *s, cf_grid *g, cf_rect r)
{
    const json_t *slots = json_object_get(s->server, "slots");
    size_t n = json_array_size(slots);
    if (s->server == NULL || r.h < 2) {
        return 0;
    }
    cf_grid_put(g, r.x, r.y++, r.w, cf_json_get_str(s->server, "server"), CF_STYLE_DIM);
    size_t most = r.h > 3 * SLOT_ROWS ? SLOT_ROWS : (size_t)r.h / 3;
    n = n < most ? n : most;
    for (size_t i = 0; i < n; i++) {
        draw_slot(g, (cf_rect){r.x, r.y + (int)i, r.w, 1}, i, json_array_get(slots, i));
    }
    return (int)n + 1;
}

static void traffic_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    traffic *s = state(app);
    cf_rect in = {r.x + 1, r.y, r.w - 2, r.h};
    int n_detail = in.h > 3 * DETAIL_ROWS ? DETAIL_ROWS : in.h / 3;
    if (s->stop_line.n > 0) {
        cf_grid_put(g, in.x, in.y, in.w, cf_buf_str(&s->stop_line), CF_STYLE_WARNING);
        in.y++;
        in.h--;
    }
    int n_server = draw_server(s, g, in);
    in.y += n_server;
    in.h -= n_server;
    cf_rows rows = cf_rows_begin(g, (cf_rect){in.x, in.y + 1, in.w, in.h - n_detail - 2}, &s->list,
                                 s->list.n, false);
    cf_grid_puts(g, in.x, in.y, in.w,
                 "time      client         model          msgs  prompt   "
                 "cached  first  end",
                 CF_STYLE_TITLE);
    if (s->list.n == 0) {
        cf_grid_puts(g, in.x, in.y + 1, in.w,
                     "No exchanges yet: `confab proxy --to URL` records them.", CF_STYLE_DIM);
        return;
    }
    while (cf_rows_next(&rows, 0)) {
        draw_row(g, rows.at, &s->rows[rows.i], rows.is_on);
    }
    draw_detail(g, (cf_rect){in.x, in.y + in.h - n_detail, in.w, n_detail},
                &s->rows[s->list.cursor]);
}

/* ---- commands ----------------------------------------------------------- */

static void traffic_move(cf_app *app, int move)
{
    cf_list_move(&state(app)->list, (cf_move)move);
}

static void cmd_open(cf_app *app)
{
    traffic *s = state(app);
    cf_error err;
    if (s->list.n == 0) {
        return;
    }
    const cf_exchange *x = &s->rows[s->list.cursor];
    if (cf_uuid_is_nil(x->conversation)) {
        cf_app_say(app, CF_STYLE_WARNING,
                   "this exchange is not a conversation; `confab history raw` "
                   "prints its bodies");
    } else if (cf_lab_open_conv(app->lab, x->conversation, x->turn, &err) != CF_OK) {
        cf_app_error(app, &err);
    } else {
        if (x->end.n == 0) {
            follow_from(app, x);
        }
        cf_app_open_view(app, CF_VIEW_CHAT);
    }
}

static void traffic_click(cf_app *app, int what, size_t value)
{
    traffic *s = state(app);
    (void)what;
    if (value == s->list.cursor) {
        cmd_open(app);
    } else {
        cf_list_go(&s->list, value);
    }
}

static bool traffic_text(cf_app *app, cf_buf *out)
{
    const traffic *s = state(app);
    char id[CF_UUID_TEXT + 1];
    if (s->list.n == 0) {
        return false;
    }
    cf_uuid_format(id, s->rows[s->list.cursor].id);
    cf_buf_addf(out, "%s\n", id);
    return true;
}

static const cf_command traffic_commands[] = {
    {"open", CF_IN(CF_VIEW_TRAFFIC), "<Enter> l <Right>", "", "open its conversation at its reply",
     CF_RUN(cmd_open)},
    {"break", CF_IN(CF_VIEW_TRAFFIC), "gB", "TEXT|*|off",
     "stop requests with TEXT, or every one, at the proxy; off lets them go",
     CF_WITH(cf_traffic_break)},
    {"break-edit", CF_IN(CF_VIEW_TRAFFIC), "e", "", "edit the request that waits, and send it on",
     CF_RUN(cf_traffic_break_edit)},
    {"break-send", CF_IN(CF_VIEW_TRAFFIC), "gn", "", "send it on as it is",
     CF_RUN(cf_traffic_break_send)},
    {"break-drop", CF_IN(CF_VIEW_TRAFFIC), "gk", "", "answer it with an error",
     CF_RUN(cf_traffic_break_drop)},
    CF_MOVE_ROWS(traffic_move, CF_IN(CF_VIEW_TRAFFIC)),
    {0},
};

static int traffic_wait_ms(const cf_app *app)
{
    const traffic *s = app->state[CF_VIEW_TRAFFIC];
    bool looks = cf_app_view(app) == CF_VIEW_TRAFFIC || !cf_uuid_is_nil(s->following);
    return looks ? EVERY_MS : -1;
}

const cf_view_ops cf_view_traffic = {
    .name = "traffic",
    .title = "Traffic",
    .commands = traffic_commands,
    .footer = "open down up break yank back",
    .state_size = sizeof(traffic),
    .open = traffic_open,
    .close = traffic_close,
    .enter = traffic_enter,
    .draw = traffic_draw,
    .click = traffic_click,
    .text = traffic_text,
    .step = traffic_step,
    .wait_ms = traffic_wait_ms,
};
