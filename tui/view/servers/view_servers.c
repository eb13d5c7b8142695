/*
 * view_servers.c - the tool servers: their state, their tools with what each
 * costs, and the log of both directions.
 *
 * Above: servers and their tools, switched on and off by a key.  Below: what
 * the row under the cursor is, and the messages, of all servers, of one, or
 * of one call.  A server that waits for a yes and a question of a server take
 * the lower part.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "tui/app/command_servers.h"
#include "tui/lab/tools/form.h"
#include "tui/view/kit/moves.h"
#include "tui/view/kit/pane.h"
#include "tui/widget/list.h"
#include "tui/widget/note.h"

enum { SERVER_ROW = -1, LOG_TIME = 12, DETAILS = 4, COMMAND_MAX = 400 };

/* A row of the list. */
typedef struct row {
    size_t server;
    long tool; /* SERVER_ROW: the server itself */
} row;

typedef enum filter { ALL_LINES, OF_SERVER, OF_CALL } filter;

typedef struct servers {
    row *row;
    size_t n_row, cap_row;
    cf_list list;

    size_t *line; /* [n_line] numbers of the log's lines that pass */
    size_t n_line, cap_line;
    cf_list log;
    bool in_log;      /* the log has the focus */
    bool stays_below; /* the log shows the newest line */
    filter filter;
    uint64_t call; /* OF_CALL */
    char only[160];

    size_t n_asked; /* servers asked about so far */
    bool asks_start;

    json_t *question; /* of a server; NULL: none */
    char asker[160];
    json_t *content; /* the answers so far */
    size_t field;
    bool is_filling; /* the fields; else: answer it at all? */
    cf_edit edit;
    char wrong[160];
} servers;

static servers *state(const cf_app *app)
{
    return app->state[CF_VIEW_SERVERS];
}

static void servers_open(void *state)
{
    servers *s = state;
    cf_edit_init(&s->edit, true);
    s->stays_below = true;
}

static void servers_close(cf_app *app)
{
    servers *s = state(app);
    cf_edit_deinit(&s->edit);
    json_decref(s->question);
    json_decref(s->content);
    cf_free(s->row);
    cf_free(s->line);
}

/* ---- rows --------------------------------------------------------------- */

static void add_row(servers *s, size_t server, long tool)
{
    if (cf_grow(&s->row, &s->cap_row, s->n_row + 1, sizeof *s->row)) {
        s->row[s->n_row++] = (row){server, tool};
    }
}

static void make_rows(cf_app *app)
{
    servers *s = state(app);
    s->n_row = 0;
    for (size_t i = 0; app->servers != NULL && i < cf_tool_servers_n(app->servers); i++) {
        size_t n = cf_tool_servers_at(app->servers, i).n_tools;
        add_row(s, i, SERVER_ROW);
        for (size_t k = 0; k < n; k++) {
            add_row(s, i, (long)k);
        }
    }
    cf_list_set(&s->list, s->n_row, s->list.height);
}

/* The row under the cursor; NULL. */
static const row *current(cf_app *app)
{
    servers *s = state(app);
    make_rows(app);
    return s->list.cursor < s->n_row ? &s->row[s->list.cursor] : NULL;
}

static cf_server_tool tool_of(cf_app *app, const row *r)
{
    return cf_tool_servers_tool(app->servers, r->server, (size_t)r->tool);
}

/* ---- the log ------------------------------------------------------------ */

static bool take_line(void *ud, size_t n, const cf_tool_links_line *line)
{
    servers *s = ud;
    bool passes = s->filter == ALL_LINES ||
                  (s->filter == OF_SERVER && cf_str_is(line->server, s->only)) ||
                  (s->filter == OF_CALL && line->call == s->call);
    if (passes && cf_grow(&s->line, &s->cap_line, s->n_line + 1, sizeof *s->line)) {
        s->line[s->n_line++] = n;
    }
    return true;
}

static void make_lines(cf_app *app)
{
    servers *s = state(app);
    s->n_line = 0;
    (void)cf_tool_links_each_line(cf_tool_servers_log(app->servers), 0, take_line, s);
    cf_list_set(&s->log, s->n_line, s->log.height);
    if (s->stays_below && s->n_line > 0) {
        cf_list_go(&s->log, s->n_line - 1);
    }
}

/* One line of the log, copied. */
typedef struct shown_line {
    int64_t at_ms;
    char direction[8], server[40];
    uint64_t call;
    cf_buf text;
    size_t max; /* bytes of the text */
} shown_line;

static bool copy_line(void *ud, size_t n, const cf_tool_links_line *line)
{
    shown_line *l = ud;
    (void)n;
    l->at_ms = line->at_ms;
    l->call = line->call;
    snprintf(l->direction, sizeof l->direction, "%s", line->direction);
    snprintf(l->server, sizeof l->server, "%.*s", (int)(line->server.n < 39 ? line->server.n : 39),
             line->server.p);
    cf_buf_reset(&l->text);
    cf_buf_add(&l->text, line->text.p, line->text.n < l->max ? line->text.n : l->max);
    return false;
}

static char arrow_of(const char *direction)
{
    return strcmp(direction, "out") == 0      ? '>'
           : strcmp(direction, "in") == 0     ? '<'
           : strcmp(direction, "stdout") == 0 ? '?'
           : strcmp(direction, "stderr") == 0 ? '!'
                                              : '*';
}

static cf_style style_of(char arrow)
{
    return arrow == '>'   ? CF_STYLE_USER
           : arrow == '<' ? CF_STYLE_TOOL
           : arrow == '?' ? CF_STYLE_ERROR
                          : CF_STYLE_DIM;
}

static void draw_log_row(cf_app *app, cf_grid *g, cf_rect r, size_t i)
{
    servers *s = state(app);
    char when[25];
    shown_line l = {.text = CF_BUF_INIT, .max = 2048};
    bool is_on = s->in_log && i == s->log.cursor;
    (void)cf_tool_links_each_line(cf_tool_servers_log(app->servers), s->line[i], copy_line, &l);
    char arrow = arrow_of(l.direction);
    cf_style style = is_on ? CF_STYLE_SELECTED : CF_STYLE_DIM;
    cf_os_format_time(when, l.at_ms);
    cf_grid_fill(g, r, ' ', is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL);
    int x = r.x + cf_grid_putf(g, r.x, r.y, r.w, style, "%.12s ", when + 11);
    x += cf_grid_putf(g, x, r.y, r.x + r.w - x, is_on ? CF_STYLE_SELECTED : style_of(arrow), "%c ",
                      arrow);
    x += cf_grid_put(g, x, r.y, 14, cf_str_from(l.server), style);
    x += cf_grid_puts(g, x, r.y, 1, " ", style);
    if (l.call > 0) {
        x += cf_grid_putf(g, x, r.y, r.x + r.w - x, style, "#%llu ", (unsigned long long)l.call);
    }
    cf_grid_put(g, x, r.y, r.x + r.w - x, cf_buf_str(&l.text),
                is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL);
    cf_buf_deinit(&l.text);
}

static void draw_log(cf_app *app, cf_grid *g, cf_rect r)
{
    servers *s = state(app);
    make_lines(app);
    cf_list_set(&s->log, s->n_line, (size_t)(r.h > 0 ? r.h : 0));
    for (int y = 0; y < r.h && s->log.top + (size_t)y < s->n_line; y++) {
        draw_log_row(app, g, (cf_rect){r.x, r.y + y, r.w, 1}, s->log.top + (size_t)y);
    }
    if (s->n_line == 0) {
        cf_grid_puts(g, r.x, r.y, r.w, "nothing was said yet", CF_STYLE_DIM);
    }
}

/* ---- the list ----------------------------------------------------------- */

static const char *state_name(cf_tool_server_state state)
{
    static const char *const names[] = {"waits", "starting", "ready", "failed", "stopped"};
    return names[state];
}

static cf_style state_style(cf_tool_server_state state)
{
    static const cf_style styles[] = {CF_STYLE_WARNING, CF_STYLE_WARNING, CF_STYLE_OK,
                                      CF_STYLE_ERROR, CF_STYLE_DIM};
    return styles[state];
}

/* "9,841 tokens, 31 s" */
static void put_cost(cf_app *app, cf_buf *out, int64_t tokens)
{
    double seconds = cf_tool_servers_seconds(app->servers, tokens);
    if (tokens < 0) {
        return;
    }
    if (tokens >= 1000) {
        cf_buf_addf(out, "%lld,%03lld tokens", (long long)(tokens / 1000),
                    (long long)(tokens % 1000));
    } else {
        cf_buf_addf(out, "%lld tokens", (long long)tokens);
    }
    if (seconds >= 0) {
        cf_buf_addf(out, seconds < 10 ? ", %.1f s" : ", %.0f s", seconds);
    }
}

static void draw_server(cf_app *app, cf_grid *g, cf_rect r, size_t i, bool is_on)
{
    cf_tool_server v = cf_tool_servers_at(app->servers, i);
    cf_style plain = is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
    cf_style dim = is_on ? CF_STYLE_SELECTED : CF_STYLE_DIM;
    cf_buf text = CF_BUF_INIT;
    int x = r.x + cf_grid_puts(g, r.x, r.y, 4, v.is_on ? "[x] " : "[ ] ", plain);
    x += cf_grid_put(g, x, r.y, 20, v.name, plain | CF_BOLD);
    x += cf_grid_puts(g, x, r.y, 2, "  ", plain);
    x += cf_grid_puts(g, x, r.y, 10, state_name(v.state),
                      is_on ? CF_STYLE_SELECTED : state_style(v.state));
    if (v.state == CF_TOOL_SERVER_READY) {
        cf_buf_addf(&text, "  %zu tools%s", v.n_tools, v.tokens >= 0 ? ", " : "");
        put_cost(app, &text, v.tokens);
        if (cf_tool_servers_seconds(app->servers, v.tokens) >= 0) {
            cf_buf_adds(&text, " before the first word");
        }
        if (v.is_approved) {
            cf_buf_adds(&text, "  (approved here)");
        }
    } else if (v.state == CF_TOOL_SERVER_FAILED) {
        cf_buf_addf(&text, "  %.*s", (int)v.error.n, v.error.p);
    }
    cf_grid_put(g, x, r.y, r.x + r.w - x, cf_buf_str(&text), dim);
    cf_buf_deinit(&text);
}

static void draw_tool(cf_app *app, cf_grid *g, cf_rect r, const row *at, bool is_on)
{
    cf_server_tool t = tool_of(app, at);
    cf_style plain = is_on ? CF_STYLE_SELECTED : t.is_on ? CF_STYLE_NORMAL : CF_STYLE_DIM;
    cf_style dim = is_on ? CF_STYLE_SELECTED : CF_STYLE_DIM;
    cf_buf cost = CF_BUF_INIT;
    put_cost(app, &cost, t.is_on ? t.tokens : -1);
    int x = r.x + cf_grid_puts(g, r.x, r.y, 8, t.is_on ? "    [x] " : "    [ ] ", plain);
    cf_grid_put(g, x, r.y, 26, t.name, plain);
    x += 27;
    cf_grid_put(g, x, r.y, 20, cf_buf_str(&cost), dim);
    x += 21;
    if (cf_mcp_tool_needs_task(t.tool)) {
        x += cf_grid_puts(g, x, r.y, r.x + r.w - x, "TASKS ONLY ",
                          is_on ? CF_STYLE_SELECTED : CF_STYLE_WARNING);
    } else if (t.has_changed) {
        x += cf_grid_puts(g, x, r.y, r.x + r.w - x, "CHANGED ",
                          is_on ? CF_STYLE_SELECTED : CF_STYLE_ERROR);
    } else if (t.is_approved) {
        x += cf_grid_puts(g, x, r.y, r.x + r.w - x, "unasked ",
                          is_on ? CF_STYLE_SELECTED : CF_STYLE_WARNING);
    }
    cf_grid_put(g, x, r.y, r.x + r.w - x, t.description, dim);
    cf_buf_deinit(&cost);
}

static void draw_list(cf_app *app, cf_grid *g, cf_rect r)
{
    servers *s = state(app);
    cf_rows rows = cf_rows_begin(g, r, &s->list, s->n_row, false);
    while (cf_rows_next(&rows, CF_SPOT_NONE)) {
        const row *at = &s->row[rows.i];
        bool is_on = rows.is_on && !s->in_log;
        cf_grid_fill(g, rows.at, ' ', is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL);
        if (at->tool == SERVER_ROW) {
            draw_server(app, g, rows.at, at->server, is_on);
        } else {
            draw_tool(app, g, rows.at, at, is_on);
        }
    }
}

/* ---- details ------------------------------------------------------------ */

/* Puts lines of a text; returns how many. */
static int put_lines(cf_grid *g, cf_rect r, cf_str text, cf_style style)
{
    int y = 0;
    for (size_t at = 0; at < text.n && y < r.h; y++) {
        size_t n = 0;
        while (at + n < text.n && text.p[at + n] != '\n') {
            n++;
        }
        cf_grid_put(g, r.x, r.y + y, r.w, cf_str_make(text.p + at, n), style);
        at += n + 1;
    }
    return y;
}

/* A line for each of a list, with its size where the server says it. */
static void put_list(cf_buf *out, const char *what, const json_t *list, const char *key)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const json_t *size = json_object_get(one, "size");
        cf_str name = cf_json_get_str(one, key);
        cf_buf_addf(out, "\n%s %.*s", what, (int)name.n, name.n > 0 ? name.p : "");
        if (json_is_integer(size)) {
            cf_buf_addf(out, ", %lld bytes", (long long)json_integer_value(size));
        }
    }
}

static int draw_details(cf_app *app, cf_grid *g, cf_rect r, const row *at)
{
    cf_buf text = CF_BUF_INIT;
    cf_tool_server v = cf_tool_servers_at(app->servers, at->server);
    if (at->tool != SERVER_ROW) {
        cf_server_tool t = tool_of(app, at);
        if (t.has_changed) {
            cf_tool_servers_difference(app->servers, at->server, (size_t)at->tool, &text);
        } else {
            cf_buf_add(&text, t.description.n > 0 ? t.description.p : "", t.description.n);
            cf_buf_adds(&text, "\n");
            cf_json_write(&text, json_object_get(t.tool, "inputSchema"));
        }
    } else {
        cf_mcp_config_show(&text, v.config);
        if (v.protocol.n > 0) {
            cf_buf_addf(&text, "\nrevision %.*s", (int)v.protocol.n, v.protocol.p);
        }
        if (v.error.n > 0) {
            cf_buf_addf(&text, "\n%.*s", (int)v.error.n, v.error.p);
        }
        if (v.instructions.n > 0) {
            cf_buf_addf(&text, "\ninstructions: %.*s", (int)v.instructions.n, v.instructions.p);
        }
        put_list(&text, "prompt", v.prompts, "name");
        put_list(&text, "resource", v.resources, "uri");
    }
    int n = put_lines(g, r, cf_buf_str(&text), CF_STYLE_NORMAL);
    cf_buf_deinit(&text);
    return n;
}

/* ---- questions ---------------------------------------------------------- */

/* The first server that waits and was not asked about; n: none. */
static size_t next_asked(cf_app *app)
{
    servers *s = state(app);
    size_t n = app->servers != NULL ? cf_tool_servers_n(app->servers) : 0;
    size_t i = s->n_asked;
    while (i < n && cf_tool_servers_at(app->servers, i).state != CF_TOOL_SERVER_ASKED) {
        i++;
    }
    return i;
}

static void ask_next(cf_app *app)
{
    servers *s = state(app);
    size_t n = app->servers != NULL ? cf_tool_servers_n(app->servers) : 0;
    s->n_asked = next_asked(app);
    s->asks_start = s->n_asked < n;
    app->mode = s->asks_start ? CF_MODE_ASK : CF_MODE_NORMAL;
}

static void draw_start_question(cf_app *app, cf_grid *g, cf_rect r)
{
    servers *s = state(app);
    cf_tool_server v = cf_tool_servers_at(app->servers, s->n_asked);
    cf_buf text = CF_BUF_INIT;
    cf_rect in = cf_question(g, r, "Start this server?", "y start   n no");
    cf_mcp_config_show(&text, v.config);
    cf_grid_put(g, in.x, in.y, in.w, v.name, CF_STYLE_TOOL | CF_BOLD);
    int y = 1;
    bool is_cut = false;
    for (size_t at = 0; at < text.n && y < in.h - 1; y++) {
        size_t n = text.n - at < (size_t)in.w ? text.n - at : (size_t)in.w;
        cf_grid_put(g, in.x, in.y + y, in.w, cf_str_make(text.p + at, n), CF_STYLE_NORMAL);
        at += n;
        is_cut = at < text.n;
    }
    cf_grid_puts(g, in.x, in.y + in.h - 1, in.w,
                 is_cut ? "There is more of this line than fits here: read the file first."
                        : "It is a program of others and can do all that you may do.",
                 is_cut ? CF_STYLE_ERROR : CF_STYLE_DIM);
    cf_buf_deinit(&text);
}

static bool is_address(const json_t *question)
{
    return cf_str_is(cf_json_get_str(question, "mode"), "url");
}

static void draw_field(const servers *s, cf_grid *g, cf_rect r)
{
    cf_form_field f;
    cf_buf hint = CF_BUF_INIT;
    if (!cf_form_field_at(json_object_get(s->question, "requestedSchema"), s->field, &f)) {
        return;
    }
    cf_form_hint(&f, &hint);
    cf_grid_put(g, r.x, r.y, r.w, f.title, CF_STYLE_TITLE);
    cf_grid_put(g, r.x, r.y + 1, r.w, f.description, CF_STYLE_DIM);
    cf_grid_put(g, r.x, r.y + 2, r.w, cf_buf_str(&hint), CF_STYLE_DIM);
    cf_grid_puts(g, r.x, r.y + 4, r.w, s->wrong, CF_STYLE_ERROR);
    cf_buf_deinit(&hint);
}

static void draw_question(cf_app *app, cf_grid *g, cf_rect r)
{
    servers *s = state(app);
    char title[220];
    snprintf(title, sizeof title, "Server %s asks", s->asker);
    cf_rect in = cf_question(g, r, title,
                             s->is_filling ? "Enter next   Esc cancel"
                                           : "y answer   n decline   Esc cancel");
    int y = put_lines(g, in, cf_json_get_str(s->question, "message"), CF_STYLE_NORMAL);
    if (is_address(s->question)) {
        cf_grid_put(g, in.x, in.y + y, in.w, cf_json_get_str(s->question, "url"), CF_STYLE_TOOL);
        cf_grid_puts(g, in.x, in.y + y + 1, in.w, "Open it yourself; nothing is opened for you.",
                     CF_STYLE_DIM);
    }
    if (s->is_filling) {
        draw_field(s, g, (cf_rect){in.x, in.y + y + 1, in.w, in.h - y - 1});
        cf_edit_draw(&s->edit, g, (cf_rect){in.x, in.y + y + 4, in.w, 1}, true);
    }
}

static void end_question(cf_app *app, const char *action)
{
    servers *s = state(app);
    bool is_accept = strcmp(action, "accept") == 0;
    json_t *answer = is_accept && !is_address(s->question)
                         ? json_pack("{s:s, s:O}", "action", action, "content", s->content)
                         : json_pack("{s:s}", "action", action);
    cf_tool_servers_answer(app->servers, answer);
    json_decref(s->question);
    json_decref(s->content);
    s->question = s->content = NULL;
    s->is_filling = false;
    app->mode = CF_MODE_NORMAL;
    cf_app_say(app, CF_STYLE_OK, "answered: %s", action);
}

static void begin_field(cf_app *app)
{
    servers *s = state(app);
    s->wrong[0] = '\0';
    cf_edit_set(&s->edit, cf_str_from(""));
    if (s->field >= cf_form_n(json_object_get(s->question, "requestedSchema"))) {
        end_question(app, "accept");
    } else {
        s->is_filling = true;
        app->mode = CF_MODE_INSERT;
    }
}

static void end_field(cf_app *app)
{
    servers *s = state(app);
    cf_form_field f;
    json_t *v = NULL;
    cf_error err;
    if (!cf_form_field_at(json_object_get(s->question, "requestedSchema"), s->field, &f)) {
        end_question(app, "cancel");
    } else if (cf_form_value(&f, cf_edit_text(&s->edit), &v, &err) != CF_OK) {
        snprintf(s->wrong, sizeof s->wrong, "%.150s", err.text);
    } else {
        if (v != NULL) {
            json_object_set_new(s->content, f.name.p, v);
        }
        s->field++;
        begin_field(app);
    }
}

/* A question that came is shown at once, unless the user writes something. */
static bool servers_step(cf_app *app)
{
    servers *s = state(app);
    cf_str server;
    if (app->servers == NULL) {
        return false;
    }
    json_t *q = cf_tool_servers_question(app->servers, &server);
    if (q == NULL && s->question != NULL) { /* the call was stopped */
        end_question(app, "cancel");
        return false;
    }
    if (q == NULL || s->question != NULL) {
        json_decref(q);
        return false;
    }
    if (app->mode != CF_MODE_NORMAL) {
        json_decref(q);
        return false;
    }
    s->question = q;
    s->content = json_object();
    s->field = 0;
    s->is_filling = false;
    snprintf(s->asker, sizeof s->asker, "%.*s", (int)(server.n < 150 ? server.n : 150), server.p);
    cf_app_open_view(app, CF_VIEW_SERVERS);
    app->mode = CF_MODE_ASK;
    app->is_dirty = true;
    return false;
}

static bool question_key(cf_app *app, cf_key key)
{
    servers *s = state(app);
    if (s->is_filling) {
        if (key == CF_KEY_ESC || key == CF_CTRL('C')) {
            end_question(app, "cancel");
        } else if (key == CF_KEY_ENTER) {
            end_field(app);
        } else {
            (void)cf_edit_key(&s->edit, key, app->grid.w - 6);
        }
    } else if (cf_answer_of(key) == CF_ANSWER_YES) {
        if (is_address(s->question)) {
            end_question(app, "accept");
        } else {
            begin_field(app);
        }
    } else if (key == 'n') {
        end_question(app, "decline");
    } else if (cf_answer_of(key) == CF_ANSWER_NO) {
        end_question(app, "cancel");
    }
    return true;
}

static bool servers_key(cf_app *app, cf_key key)
{
    servers *s = state(app);
    if (s->question != NULL) {
        return question_key(app, key);
    }
    if (app->mode != CF_MODE_ASK || !s->asks_start) {
        return false;
    }
    cf_answer answer = cf_answer_of(key);
    if (answer == CF_ANSWER_YES) {
        cf_tool_servers_start(app->servers, s->n_asked);
    }
    if (answer != CF_ANSWER_NONE) {
        s->n_asked++;
        ask_next(app);
    }
    return true;
}

static void servers_paste(cf_app *app, cf_str text)
{
    servers *s = state(app);
    if (s->is_filling) {
        cf_edit_insert(&s->edit, text);
    }
}

/* ---- the screen --------------------------------------------------------- */

static void servers_enter(cf_app *app)
{
    make_rows(app);
    state(app)->in_log = false;
    if (state(app)->question == NULL) {
        ask_next(app);
    }
}

static void put_title(cf_app *app, char title[200])
{
    int64_t sum = 0;
    size_t n_on = 0;
    bool is_known = false;
    cf_buf cost = CF_BUF_INIT;
    for (size_t i = 0; i < cf_tool_servers_n(app->servers); i++) {
        cf_tool_server v = cf_tool_servers_at(app->servers, i);
        bool is_on = v.state == CF_TOOL_SERVER_READY && v.is_on;
        sum += is_on && v.tokens > 0 ? v.tokens : 0;
        is_known = is_known || (is_on && v.tokens >= 0);
        n_on += is_on;
    }
    put_cost(app, &cost, is_known ? sum : -1);
    snprintf(title, 200, "Servers  %zu on%s%s", n_on, cost.n > 0 ? "  " : "", cf_buf_cstr(&cost));
    cf_buf_deinit(&cost);
}

static void draw_below(cf_app *app, cf_grid *g, cf_rect r)
{
    servers *s = state(app);
    const row *at = current(app);
    char title[220];
    snprintf(title, sizeof title, "Log%s%s",
             s->filter == ALL_LINES   ? ""
             : s->filter == OF_SERVER ? " of "
                                      : " of call ",
             s->filter == OF_SERVER ? s->only : "");
    if (s->filter == OF_CALL) {
        size_t n = strlen(title);
        snprintf(title + n, sizeof title - n, "%llu", (unsigned long long)s->call);
    }
    cf_rect in = cf_pane(g, r, title, s->in_log);
    int n = 0;
    if (!s->in_log && at != NULL && in.h > DETAILS + 3) {
        n = draw_details(app, g, (cf_rect){in.x, in.y, in.w, DETAILS}, at) + 1;
    }
    draw_log(app, g, (cf_rect){in.x, in.y + n, in.w, in.h - n});
}

static void servers_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    servers *s = state(app);
    char title[200];
    make_rows(app);
    if (s->n_row == 0) {
        cf_grid_puts(g, r.x + 2, r.y + 1, r.w - 4, "No tool servers.", CF_STYLE_DIM);
        cf_note_puts(g, (cf_rect){r.x + 2, r.y + 2, r.w - 4, r.h - 2},
                     ":mcp COMMAND starts one, :mcp FILE.json those of a file, "
                     ":mcp http://... speaks to one.",
                     CF_STYLE_DIM);
        return;
    }
    int below = r.h / 2 > 8 ? r.h / 2 : r.h > 10 ? 8 : r.h - 3;
    bool is_log_alone = s->in_log && app->is_maximized;
    int list_h = is_log_alone ? 0 : r.h - below;
    if ((int)s->n_row + 2 < list_h) {
        list_h = (int)s->n_row + 2;
    }
    put_title(app, title);
    if (list_h > 0) {
        draw_list(app, g, cf_pane(g, (cf_rect){r.x, r.y, r.w, list_h}, title, !s->in_log));
    }
    cf_rect rest = {r.x, r.y + list_h, r.w, r.h - list_h};
    if (s->question != NULL) {
        draw_question(app, g, rest);
    } else if (s->asks_start && app->mode == CF_MODE_ASK) {
        draw_start_question(app, g, rest);
    } else {
        draw_below(app, g, rest);
    }
}

static void servers_status(cf_app *app, cf_buf *out)
{
    if (app->servers != NULL) {
        cf_tool_servers_progress(app->servers, out);
    }
}

/* ---- commands ----------------------------------------------------------- */

static void servers_move(cf_app *app, int move)
{
    servers *s = state(app);
    make_rows(app);
    cf_list_move(s->in_log ? &s->log : &s->list, move);
    s->stays_below = !s->in_log || s->log.cursor + 1 >= s->n_line;
}

static void cmd_focus(cf_app *app)
{
    state(app)->in_log = !state(app)->in_log && app->servers != NULL;
}

static void cmd_switch(cf_app *app)
{
    const row *at = current(app);
    const cf_str all = {"", 0};
    if (state(app)->in_log) {
        cf_app_say(app, CF_STYLE_DIM, "the log has the focus; Tab goes to the list of tools");
    } else if (at != NULL) {
        cf_tool_servers_switch(app->servers, at->server,
                               at->tool == SERVER_ROW ? all : tool_of(app, at).name);
    }
}

static void cmd_start(cf_app *app)
{
    const row *at = current(app);
    cf_error err;
    if (at == NULL) {
        return;
    }
    if (cf_app_may(app, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    servers *s = state(app);
    if (cf_tool_servers_at(app->servers, at->server).state == CF_TOOL_SERVER_ASKED) {
        s->n_asked = at->server;
        ask_next(app);
    } else {
        cf_tool_servers_start(app->servers, at->server);
    }
}

static void cmd_stop_server(cf_app *app)
{
    const row *at = current(app);
    if (at != NULL) {
        cf_tool_servers_stop(app->servers, at->server);
    }
}

static void cmd_accept(cf_app *app)
{
    const row *at = current(app);
    if (at == NULL || at->tool == SERVER_ROW || !tool_of(app, at).has_changed) {
        cf_app_say(app, CF_STYLE_DIM, "this has not changed");
        return;
    }
    cf_tool_servers_accept(app->servers, at->server, (size_t)at->tool);
    cf_app_say(app, CF_STYLE_OK, "accepted as it is now");
}

static void cmd_approval(cf_app *app)
{
    const row *at = current(app);
    const cf_str all = {"", 0};
    cf_error err;
    if (at == NULL) {
        return;
    }
    if (at->tool == SERVER_ROW) {
        cf_status st =
            cf_tool_servers_approve(app->servers, at->server, all, CF_APPROVE_SERVER, &err);
        cf_app_say(app, st == CF_OK ? CF_STYLE_OK : CF_STYLE_ERROR, "%s",
                   st == CF_OK ? "all its tools run unasked in this conversation" : err.text);
        return;
    }
    cf_server_tool t = tool_of(app, at);
    if (t.is_approved) {
        cf_status st = cf_tool_servers_forbid(app->servers, at->server, t.name, &err);
        cf_app_say(app, st == CF_OK ? CF_STYLE_OK : CF_STYLE_ERROR, "%s",
                   st == CF_OK ? "asked before each call" : err.text);
    } else if (cf_tool_servers_approve(app->servers, at->server, t.name, CF_APPROVE_FOR_GOOD,
                                       &err) == CF_OK) {
        cf_app_say(app, CF_STYLE_OK, "runs unasked, until it or its server changes");
    } else {
        cf_app_say(app, CF_STYLE_WARNING, "not approved for good: %s", err.text);
    }
}

/* All lines, those of the server under the cursor, those of the call that the
 * log's cursor is on. */
static void cmd_filter(cf_app *app)
{
    servers *s = state(app);
    const row *at = current(app);
    shown_line l = {.text = CF_BUF_INIT, .max = 1};
    if (at == NULL) {
        return;
    }
    if (s->log.cursor < s->n_line) {
        (void)cf_tool_links_each_line(cf_tool_servers_log(app->servers), s->line[s->log.cursor],
                                      copy_line, &l);
    }
    cf_buf_deinit(&l.text);
    cf_str name = cf_tool_servers_at(app->servers, at->server).name;
    s->filter = s->filter == ALL_LINES                  ? OF_SERVER
                : s->filter == OF_SERVER && l.call != 0 ? OF_CALL
                                                        : ALL_LINES;
    s->call = l.call;
    snprintf(s->only, sizeof s->only, "%.*s", (int)(name.n < 150 ? name.n : 150), name.p);
    s->stays_below = true;
}

/* Goes to the next call (1) or the one before (-1). */
static void go_call(cf_app *app, int by)
{
    servers *s = state(app);
    uint64_t now = s->filter == OF_CALL ? s->call : 0;
    if (app->servers == NULL || (by < 0 && now <= 1)) {
        return;
    }
    s->filter = OF_CALL;
    s->call = by > 0 ? now + 1 : now - 1;
    make_lines(app);
    if (s->n_line == 0) {
        s->call = now;
        s->filter = now > 0 ? OF_CALL : ALL_LINES;
        cf_app_say(app, CF_STYLE_DIM, "there is no further call");
    }
}

/* The message under the log's cursor, in lines. */
static void cmd_show(cf_app *app)
{
    servers *s = state(app);
    shown_line l = {.text = CF_BUF_INIT, .max = SIZE_MAX};
    json_t *v = NULL;
    if (!s->in_log || s->log.cursor >= s->n_line) {
        s->in_log = app->servers != NULL;
        return;
    }
    (void)cf_tool_links_each_line(cf_tool_servers_log(app->servers), s->line[s->log.cursor],
                                  copy_line, &l);
    cf_buf_restart(&app->output);
    char *text = cf_json_read(&v, cf_buf_cstr(&l.text), l.text.n, NULL) == CF_OK
                     ? json_dumps(v, JSON_INDENT(2))
                     : NULL;
    cf_buf_adds(&app->output, text != NULL ? text : cf_buf_cstr(&l.text));
    cf_free(text);
    json_decref(v);
    cf_buf_deinit(&l.text);
    cf_app_open_view(app, CF_VIEW_OUTPUT);
}

static bool servers_text(cf_app *app, cf_buf *out)
{
    servers *s = state(app);
    shown_line l = {.text = CF_BUF_INIT, .max = SIZE_MAX};
    if (app->servers == NULL || s->log.cursor >= s->n_line) {
        return false;
    }
    (void)cf_tool_links_each_line(cf_tool_servers_log(app->servers), s->line[s->log.cursor],
                                  copy_line, &l);
    cf_buf_add(out, cf_buf_cstr(&l.text), l.text.n);
    cf_buf_addc(out, '\n');
    cf_buf_deinit(&l.text);
    return true;
}

#define HERE CF_IN(CF_VIEW_SERVERS)

static const cf_command servers_commands[] = {
    {"focus", HERE, "<Tab>", "", "switch between the list and the log", CF_RUN(cmd_focus)},
    {"show", HERE, "<Enter>", "", "go to the log; in the log, show the whole message",
     CF_RUN(cmd_show)},
    {"switch", HERE, "<Space>", "", "declare this tool, or all tools of the server, or not",
     CF_RUN(cmd_switch)},
    {"start", HERE, "r", "", "start or restart the server", CF_RUN(cmd_start)},
    {"stop-server", HERE, "d", "", "stop the server", CF_RUN(cmd_stop_server)},
    {"accept", HERE, "+", "", "accept a tool that has changed, as it is now", CF_RUN(cmd_accept)},
    {"approval", HERE, "ga", "",
     "let this tool run unasked for good, or the server's in this "
     "conversation; or ask again",
     CF_RUN(cmd_approval)},
    {"filter", HERE, "\\", "",
     "show the log of all servers, of this one, or of the call under the cursor",
     CF_RUN(cmd_filter)},
    {"next-call", HERE, "]c", "", "show the log of the next call", CF_BY(go_call, 1)},
    {"previous-call", HERE, "[c", "", "show the log of the previous call", CF_BY(go_call, -1)},
    CF_MOVE_ROWS(servers_move, HERE),
    {0},
};

const cf_view_ops cf_view_servers = {
    .name = "servers",
    .title = "Servers",
    .commands = servers_commands,
    .footer = "focus switch start stop-server approval accept show filter help",
    .state_size = sizeof(servers),
    .open = servers_open,
    .close = servers_close,
    .enter = servers_enter,
    .draw = servers_draw,
    .key = servers_key,
    .paste = servers_paste,
    .text = servers_text,
    .status = servers_status,
    .step = servers_step,
};
