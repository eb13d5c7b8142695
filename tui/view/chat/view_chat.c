/*
 * view_chat.c - the conversation: the tree of turns, the transcript, the
 * composer, and the figures of the reply that is being written.
 *
 * The cursor is on a turn of the path.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "storage/store.h"
#include "tui/app/command_user.h"
#include "tui/image/thumbs.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/talk/lab_constraint.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/talk/lab_system.h"
#include "tui/lab/talk/lab_undo.h"
#include "tui/lab/tools/tool_model.h"
#include "tui/view/chat/chat.h"
#include "tui/view/kit/moves.h"
#include "tui/view/kit/pane.h"
#include "tui/widget/pager.h"

cf_chat *cf_chat__state(cf_app *app)
{
    return app->state[CF_VIEW_CHAT];
}

static void chat_open(void *state)
{
    cf_chat *s = state;
    cf_edit_init(&s->composer, false);
    cf_arena_init(&s->marks.arena, 0);
    s->follows = true;
    s->shows_tree = true;
}

static void chat_close(cf_app *app)
{
    cf_chat *s = cf_chat__state(app);
    for (size_t i = 0; i < s->n_texts; i++) {
        cf_chat__clear_text(s->texts[i]);
        cf_free(s->texts[i]);
    }
    cf_free(s->texts);
    cf_turn_map_deinit(&s->text_map);
    cf_free(s->layout.start);
    cf_turn_tree_deinit(&s->tree);
    for (size_t i = 0; i < CF_LAB_SIDES_MAX; i++) {
        cf_chat__clear_text(&s->live[i]);
    }
    cf_chat__clear_text(&s->first);
    cf_chat__find_deinit(&s->find);
    cf_chat__costs_deinit(&s->costs);
    cf_chat__keep_draft(app, true);
    cf_chat__keep_deinit(s);
    cf_edit_deinit(&s->composer);
    cf_attachments_clear(&s->attached);
}

/* "Weather in Oslo  12ab34cd  (follow)  2 of 7"; the name is cut where it is too
 * long, since the rest is needed. */
static void draw_title(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_chat *s = cf_chat__state(app);
    char title[240], tail[80], cut[120], id[CF_UUID_TEXT + 1];
    cf_uuid_format(id, cf_lab_conv_id(app->lab));
    cf_buf found = CF_BUF_INIT;
    cf_chat__find_text(app, &found);
    const char *name = cf_lab_title(app->lab);
    bool is_new = name[0] == '\0' && !cf_lab_is_stored(app->lab);
    name = is_new ? "new conversation" : name[0] != '\0' ? name : CF_UNTITLED;
    snprintf(tail, sizeof tail, "  %.8s%s%s%.40s", id + CF_UUID_TEXT - 8,
             s->follows ? "  (follow)" : "", found.n != 0 ? "  " : "", cf_buf_cstr(&found));
    cf_buf_deinit(&found);
    int room = r.w - 6 - (int)strlen(tail);
    room = room < 8 ? 8 : room < (int)sizeof cut ? room : (int)sizeof cut;
    bool fits = (int)cf_text_width(name, strlen(name)) <= room;
    cf_utf8_copy(cut, fits ? sizeof cut : (size_t)room, cf_str_from(name));
    snprintf(title, sizeof title, "%s%s%s", cut, fits ? "" : "~", tail);
    bool is_tree = s->is_tree_up && cf_app_is_narrow(app);
    cf_pane(g, r, is_tree ? "Turns" : title, app->mode == CF_MODE_NORMAL && !s->is_on_session);
}

static void draw_plot_pane(cf_app *app, cf_grid *g, cf_rect r)
{
    char title[128];
    cf_chat__plot_title(app, r.w, title);
    cf_pane(g, r, title, false);
    cf_chat__draw_plot(app, g, (cf_rect){r.x + 2, r.y + 1, r.w - 4, r.h - 2});
}

/* The tree, the plot where there is room and something to compare, and the
 * figures. */
static void draw_side(cf_app *app, cf_grid *g, cf_rect r)
{
    enum { SESSION_H = 14, PLOT_H = 6, PLOT_FROM_H = 28 };
    bool has_plot =
        !cf_chat__state(app)->shows_plot && r.h >= PLOT_FROM_H && cf_chat__costs(app)->n > 1;
    int plot_h = has_plot ? PLOT_H : 0, tree_h = r.h - SESSION_H - plot_h;
    cf_rect t = {r.x, r.y, r.w, tree_h};
    cf_pane(g, t, "Turns", false);
    cf_chat__draw_tree(app, g, (cf_rect){t.x + 1, t.y + 1, t.w - 2, t.h - 2});
    if (has_plot) {
        draw_plot_pane(app, g, (cf_rect){r.x, r.y + tree_h, r.w, plot_h});
    }
    cf_rect f = {r.x, r.y + tree_h + plot_h, r.w, SESSION_H};
    cf_pane(g, f, "Session", cf_chat__state(app)->is_on_session);
    cf_rect in = {f.x + 2, f.y + 1, f.w - 3, f.h - 2}, all = g->clip;
    cf_grid_set_clip(g, in);
    cf_chat__draw_session(app, g, in);
    cf_grid_set_clip(g, all);
}

static void chat_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_chat *s = cf_chat__state(app);
    if (!cf_uuid_eq(s->unsent.conv, cf_lab_conv_id(app->lab))) {
        cf_chat__keep_draft(app, false); /* that of another conversation */
    }
    /* A selection that no mode and no line is about any more. */
    s->has_mark = s->has_mark && (app->mode == CF_MODE_VISUAL || app->mode == CF_MODE_COMMAND);
    bool has_side = s->shows_tree && !cf_app_is_narrow(app) && !app->is_maximized;
    int side = has_side ? (r.w >= 150 ? 48 : 38) : 0;
    int composer_h = r.h >= 24 ? 6 : 4;
    int plot_h = !s->shows_plot ? 0 : r.h >= 40 ? 12 : r.h >= 24 ? 9 : 6;
    if (has_side) {
        draw_side(app, g, (cf_rect){r.x, r.y, side, r.h});
    }
    cf_rect m = {r.x + side, r.y, r.w - side, r.h - composer_h - plot_h};
    cf_rect in = {m.x + 1, m.y + 1, m.w - 2, m.h - 2};
    draw_title(app, g, m);
    if (s->is_tree_up && cf_app_is_narrow(app)) {
        cf_chat__draw_tree(app, g, in);
    } else {
        cf_chat__draw_transcript(app, g, in);
    }
    if (s->shows_plot) {
        draw_plot_pane(app, g, (cf_rect){m.x, m.y + m.h, m.w, plot_h});
    }
    cf_rect c = {m.x, m.y + m.h + plot_h, m.w, composer_h};
    cf_chat__draw_composer(app, g, c);
    cf_grid_spot(g, c, CF_CHAT_SPOT_COMPOSER, 0);
}

static void chat_status(cf_app *app, cf_buf *out)
{
    size_t n, n_path;
    cf_lab_turns(app->lab, &n);
    cf_lab_path(app->lab, &n_path);
    cf_chat_call call = cf_chat__last_call(app);
    if (call == CF_CALLS_WAITS) {
        cf_buf_adds(out, "a call waits for a result: 4 answers, m mocks  ");
    } else if (call == CF_CALLS_BROKEN) {
        cf_buf_adds(out, "the last call is broken: 4 shows why  ");
    }
    size_t before = out->n;
    cf_chat__find_text(app, out);
    cf_buf_adds(out, out->n > before ? "  " : "");
    cf_buf_addf(out, "turn %zu of %zu%s", n_path != 0 ? cf_chat__state(app)->cursor + 1 : 0, n_path,
                app->store == NULL ? "  not saved" : "");
    if (cf_lab_constraint(app->lab)[0] != '\0') {
        cf_buf_addf(out, "  constrained to %s", cf_lab_constraint(app->lab));
    }
}

/* ---- moving ------------------------------------------------------------- */

static void show_cursor(cf_app *app)
{
    cf_chat *s = cf_chat__state(app);
    if (s->height == 0 || !cf_chat__lay_out(app, s->width) || s->cursor >= s->layout.n) {
        return;
    }
    size_t line = s->is_on_first ? 0 : s->layout.start[s->cursor];
    if (line < s->top) {
        s->top = line;
    } else if (line >= s->top + s->height) {
        s->top = line - s->height / 2;
    }
}

static void chat_move(cf_app *app, int move)
{
    cf_chat *s = cf_chat__state(app);
    size_t n;
    cf_lab_path(app->lab, &n);
    s->is_on_session = false;
    size_t half = s->height > 1 ? s->height / 2 : 1;
    cf_chat__settle_cursor(app);
    s->follows = false;
    switch (move) {
    case CF_MOVE_UP:
        s->is_on_first = s->cursor == 0 && cf_chat__has_first(app);
        s->cursor -= s->cursor > 0;
        show_cursor(app);
        break;
    case CF_MOVE_DOWN:
        s->cursor += s->cursor + 1 < n && !s->is_on_first;
        s->follows = s->cursor + 1 >= n && !s->is_on_first;
        s->is_on_first = false;
        show_cursor(app);
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

/* The turn under the cursor; NULL when there is none. */
static const cf_turn *current_row(cf_app *app)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    cf_chat *s = cf_chat__state(app);
    cf_chat__settle_cursor(app);
    return s->cursor < n && !s->is_on_first ? path[s->cursor] : NULL;
}

/* The same for a command that needs one: it says so when there is none. */
static const cf_turn *needed_row(cf_app *app)
{
    const cf_turn *t = current_row(app);
    if (t == NULL) {
        cf_app_say(app, CF_STYLE_DIM, "no turn is selected");
    }
    return t;
}

static void go_to_turn(cf_app *app, cf_uuid id)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    for (size_t i = 0; i < n; i++) {
        if (cf_uuid_eq(path[i]->id, id)) {
            cf_chat__state(app)->cursor = i;
            cf_chat__state(app)->follows = i + 1 == n;
            show_cursor(app);
        }
    }
}

/* ---- commands ----------------------------------------------------------- */

void cf_chat__report(cf_app *app, cf_status st, const cf_error *err)
{
    if (st != CF_OK) {
        cf_app_error(app, err);
    }
}

static void cmd_write(cf_app *app)
{
    cf_chat__state(app)->is_tree_up = false;
    cf_chat__state(app)->is_on_session = false;
    if (cf_uuid_is_nil(cf_chat__state(app)->edits) && cf_lab_leave_example(app->lab)) {
        cf_app_say(app, CF_STYLE_OK, "a new conversation; 6 lists the examples");
    }
    app->mode = cf_chat__continues(app) ? CF_MODE_PREFILL : CF_MODE_INSERT;
}

/* Where there is no room for both, the one takes the other's place. */
static void cmd_turns(cf_app *app)
{
    cf_chat *s = cf_chat__state(app);
    bool *is_on = cf_app_is_narrow(app) ? &s->is_tree_up : &s->shows_tree;
    *is_on = !*is_on;
}

/* Puts the cursor on turn `i` of the path and shows it. */
static void go_to_place(cf_app *app, size_t i)
{
    cf_chat *s = cf_chat__state(app);
    size_t n;
    cf_lab_path(app->lab, &n);
    if (i < n) {
        s->cursor = i;
        s->is_on_first = false;
        s->follows = i + 1 == n;
        show_cursor(app);
    }
}

/* Shows a turn, on a path through it where it is on another branch. */
static void go_to_branch(cf_app *app, size_t i)
{
    size_t n, n_path;
    const cf_turn *const *turns = cf_lab_turns(app->lab, &n);
    const cf_turn *const *path = cf_lab_path(app->lab, &n_path);
    cf_error err;
    bool is_here = false;
    if (i >= n) {
        return;
    }
    cf_uuid id = turns[i]->id;
    for (size_t k = 0; k < n_path; k++) {
        is_here = is_here || path[k] == turns[i];
    }
    cf_status st = is_here ? CF_OK : cf_lab_set_head(app->lab, id, &err);
    cf_chat__report(app, st, &err);
    go_to_turn(app, id);
}

static void chat_click(cf_app *app, int what, size_t value)
{
    cf_chat *s = cf_chat__state(app);
    size_t n;
    cf_lab_path(app->lab, &n);
    if (what == CF_CHAT_SPOT_COMPOSER) {
        cmd_write(app);
    } else if (what == CF_CHAT_SPOT_TREE) {
        go_to_branch(app, value);
    } else if (what == CF_CHAT_SPOT_GO) {
        go_to_place(app, value);
    } else if (value < n) {
        s->follows = s->follows && value + 1 == n;
        s->cursor = value;
    }
}

/* The wheel moves the text, not the cursor. */
static bool chat_wheel(cf_app *app, int what, size_t value, int by)
{
    enum { LINES = 3 };
    cf_chat *s = cf_chat__state(app);
    (void)value;
    if (what == CF_CHAT_SPOT_TREE || what == CF_CHAT_SPOT_GO) {
        return false; /* as j and k: from turn to turn */
    }
    size_t last = s->n_lines > s->height ? s->n_lines - s->height : 0;
    cf_chat__settle_cursor(app);
    s->top = by > 0 ? s->top + LINES : s->top > LINES ? s->top - LINES : 0;
    s->top = s->top < last ? s->top : last;
    s->follows = by > 0 && s->top == last;
    return true;
}

/* ---- the plot ----------------------------------------------------------- */

static void cmd_plot(cf_app *app)
{
    cf_chat__state(app)->shows_plot = !cf_chat__state(app)->shows_plot;
}

/* To the next reply of the path in either direction. */
static void go_reply(cf_app *app, int by)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    cf_chat__settle_cursor(app);
    for (size_t i = cf_chat__state(app)->cursor; by > 0 ? i + 1 < n : i > 0;) {
        i = by > 0 ? i + 1 : i - 1;
        if (cf_str_is(cf_json_get_str(path[i]->message, "role"), "assistant")) {
            go_to_place(app, i);
            return;
        }
    }
    cf_app_say(app, CF_STYLE_DIM, "no reply %s this turn", by > 0 ? "after" : "before");
}

/* To the reply whose prompt cost the most, then the one after it. */
static void cmd_worst(cf_app *app)
{
    cf_chat *s = cf_chat__state(app);
    const cf_chat_costs *c = cf_chat__costs(app);
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    cf_chat__settle_cursor(app);
    size_t at = cf_chat__cost_at(c, s->cursor);
    bool is_on =
        at != SIZE_MAX && c->v[at].turn == s->cursor && cf_uuid_eq(path[s->cursor]->id, s->worst);
    size_t to = cf_chat__next_worst(c, is_on ? at : SIZE_MAX);
    to = to != SIZE_MAX ? to : cf_chat__next_worst(c, SIZE_MAX);
    if (to == SIZE_MAX) {
        cf_app_say(app, CF_STYLE_DIM, "no reply on this path has figures of its prompt");
        return;
    }
    s->worst = path[c->v[to].turn]->id;
    go_to_place(app, c->v[to].turn);
    cf_app_say(app, CF_STYLE_DIM,
               "turn %02zu computed %llu of %llu prompt tokens, first token "
               "after %.0f ms",
               c->v[to].turn + 1, (unsigned long long)c->v[to].n_new,
               (unsigned long long)(c->v[to].n_new + c->v[to].n_kept),
               (double)c->v[to].first_us * 1e-3);
}

/* ---- commands on turns -------------------------------------------------- */

static void cmd_follow(cf_app *app)
{
    cf_chat__state(app)->follows = !cf_chat__state(app)->follows;
}

static void cmd_retry(cf_app *app, const char *arg)
{
    cf_error err;
    const cf_turn *t = needed_row(app);
    if (t != NULL) {
        size_t n = arg[0] != '\0' ? strtoul(arg, NULL, 10) : 1;
        cf_status st = cf_lab_retries(app->lab, t->id, n, &err);
        cf_chat__state(app)->follows = st == CF_OK || cf_chat__state(app)->follows;
        cf_chat__report(app, st, &err);
    }
}

static void say_attached(cf_app *app, const cf_attached *a)
{
    cf_app_say(app, CF_STYLE_OK, "%s goes with the next message: %s%s", a->name, a->what,
               cf_lab_info(app->lab).takes_images ? "" : "; this engine takes no such files");
}

bool cf_chat__attach_pasted(cf_app *app, cf_str text)
{
    cf_chat *s = cf_chat__state(app);
    size_t n = s->attached.n;
    cf_error err;
    if (s->edits_system || !cf_attach_pasted(&s->attached, text, &err)) {
        return false;
    }
    if (s->attached.n > n) {
        say_attached(app, &s->attached.v[s->attached.n - 1]);
    } else {
        cf_app_error(app, &err);
    }
    return true;
}

static void cmd_attach(cf_app *app, const char *arg)
{
    cf_chat *s = cf_chat__state(app);
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    size_t n = s->attached.n;
    if (arg[0] == '\0') {
        cf_edit_set(&app->command_line, cf_str_from("attach "));
        app->mode = CF_MODE_COMMAND;
        return;
    }
    if (cf_attach_file(&s->attached, arg, &text, &err) != CF_OK) {
        cf_app_error(app, &err);
    } else if (s->attached.n > n) {
        app->mode = CF_MODE_INSERT;
        say_attached(app, &s->attached.v[n]);
    } else {
        app->mode = CF_MODE_INSERT;
        cf_chat__paste(app, cf_buf_str(&text));
        cf_app_say(app, CF_STYLE_OK, "%zu bytes of text are in the message", text.n);
    }
    cf_buf_deinit(&text);
}

static void cmd_detach(cf_app *app)
{
    cf_attachments_clear(&cf_chat__state(app)->attached);
}

/* What goes with the next message is in its prompt. */
static void tell_attached(cf_app *app)
{
    const cf_attachments *a = &cf_chat__state(app)->attached;
    json_t *parts[CF_ATTACHED_MAX];
    for (size_t i = 0; i < a->n; i++) {
        parts[i] = a->v[i].part;
    }
    cf_lab_set_unsent_parts(app->lab, parts, a->n);
}

/* A picture that is done by now is drawn. */
static bool chat_step(cf_app *app)
{
    cf_chat *s = cf_chat__state(app);
    cf_chat__keep_draft(app, false);
    if (app->lab != NULL) {
        tell_attached(app);
    }
    if (app->thumbs == NULL) {
        return false;
    }
    if (app->term == NULL) { /* tests look at what is there in the end */
        cf_thumbs_settle(app->thumbs);
    }
    int n = cf_thumbs_n_done(app->thumbs);
    if (n == s->n_thumbs) {
        return false;
    }
    for (size_t i = 0; i < s->n_texts; i++) {
        for (size_t k = 0; k < s->texts[i]->n_images; k++) {
            if (cf_chat_image_failed(app, &s->texts[i]->images[k])) {
                s->layout.is_valid = false;
            }
        }
    }
    app->is_dirty = true;
    s->n_thumbs = n;
    return false;
}

/* The system prompt in effect, in the composer. */
static void cmd_edit_system(cf_app *app)
{
    cf_chat *s = cf_chat__state(app);
    cf_buf text = CF_BUF_INIT;
    cf_message_text(&text, cf_lab_system(app->lab), "");
    cf_edit_set(&s->composer, cf_buf_str(&text));
    cf_buf_deinit(&text);
    cf_attachments_clear(&s->attached);
    s->edits = (cf_uuid){{0}};
    s->edits_system = true;
    app->mode = CF_MODE_INSERT;
}

static void cmd_edit(cf_app *app)
{
    cf_chat *s = cf_chat__state(app);
    const cf_turn *t = s->is_on_first ? NULL : needed_row(app);
    if (s->is_on_first || (t != NULL && cf_turn_is_system(t))) {
        cmd_edit_system(app);
        return;
    }
    if (t == NULL) {
        return;
    }
    cf_str role = cf_json_get_str(t->message, "role");
    bool is_reply = cf_str_is(role, "assistant");
    if (!is_reply && !cf_str_is(role, "user")) {
        cf_app_say(app, CF_STYLE_WARNING, "only messages and replies are edited here");
        return;
    }
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    cf_status st = CF_OK;
    if (json_array_size(json_object_get(t->message, "tool_calls")) != 0) {
        st = cf_tool_reply_text(&text, t, cf_lab_engine_of(app->lab)->template_source, &err);
    } else {
        cf_message_text(&text, t->message, "");
    }
    cf_chat__report(app, st, &err);
    cf_edit_set(&s->composer, cf_buf_str(&text));
    cf_buf_deinit(&text);
    cf_attachments_clear(&s->attached);
    cf_attach_again(&s->attached, t->message);
    s->edits = t->id;
    app->mode = is_reply ? CF_MODE_PREFILL : CF_MODE_INSERT;
}

static void go_sibling(cf_app *app, int by)
{
    cf_error err;
    const cf_turn *t = current_row(app);
    const cf_turn *to = t != NULL ? cf_lab_sibling(app->lab, t, by) : NULL;
    if (to == NULL) {
        cf_app_say(app, CF_STYLE_DIM, "no sibling in that direction");
        return;
    }
    cf_uuid id = to->id;
    cf_status st = cf_lab_set_head(app->lab, id, &err);
    cf_chat__report(app, st, &err);
    go_to_turn(app, id);
}

static void say_loss(cf_app *app, const cf_reply *r, const char *more)
{
    cf_app_say(app, CF_STYLE_WARNING, "cache lost at token %zu: %s%s", r->sync.n_kept, r->cause,
               more);
}

/* To Session, and back; it has one thing to open, the last loss of the cache. */
static void cmd_session(cf_app *app)
{
    cf_chat *s = cf_chat__state(app);
    const cf_reply *r = cf_chat__loss(app);
    s->is_on_session = !s->is_on_session && r != NULL;
    if (r == NULL) {
        cf_app_say(app, CF_STYLE_WARNING, "no reply here lost what was cached");
    } else if (s->is_on_session) {
        say_loss(app, r, " (Enter)");
    }
}

/* The template's line that wrote what the cache had otherwise, with the cause. */
static void open_loss(cf_app *app)
{
    const cf_reply *r = cf_chat__loss(app);
    cf_chat__state(app)->is_on_session = false;
    if (r == NULL || r->lost_line == 0) {
        cf_app_open_view(app, CF_VIEW_PROMPT);
        return;
    }
    cf_app_show(app, CF_VIEW_TEMPLATES, &(cf_target){.kind = CF_TARGET_LINE, .from = r->lost_line});
    say_loss(app, r, "");
}

static void cmd_fork(cf_app *app)
{
    const cf_turn *t = current_row(app);
    const cf_reply *r = t != NULL ? cf_lab_reply(app->lab, t->id) : NULL;
    if (r == NULL || r->n_token == 0) {
        cf_app_say(app, CF_STYLE_WARNING, "no tokens are known of this turn; e edits it");
        return;
    }
    cf_app_show(app, CF_VIEW_TOKENS, &(cf_target){.kind = CF_TARGET_TURN, .id = t->id});
}

static void cmd_open(cf_app *app)
{
    (cf_chat__state(app)->is_on_session ? open_loss : cmd_fork)(app);
}

static void cmd_new(cf_app *app)
{
    cf_lab_new_conv(app->lab);
    cf_chat__state(app)->cursor = 0;
    app->mode = CF_MODE_INSERT;
}

static void set_fold(cf_app *app, int open)
{
    const cf_turn *t = current_row(app);
    cf_chat_text *text = t != NULL ? cf_chat__text_of(cf_chat__state(app), t) : NULL;
    if (text != NULL) {
        text->unfolded = open < 0 ? !text->unfolded : open > 0;
        cf_chat__state(app)->layout.is_valid = false;
    }
}

static bool chat_text(cf_app *app, cf_buf *out)
{
    const cf_turn *t = current_row(app);
    bool is_first = cf_chat__state(app)->is_on_first;
    if (cf_chat__state(app)->has_mark) {
        cf_chat__selected_text(app, out);
    } else if (is_first) {
        cf_lab_message_text(out, cf_lab_system(app->lab));
    } else if (t != NULL) {
        cf_lab_message_text(out, t->message);
    }
    return t != NULL || is_first;
}

static bool chat_value(cf_app *app, const char *name, cf_buf *out)
{
    return cf_user_turn_value(app, current_row(app), name, out);
}

static void cmd_yank(cf_app *app)
{
    cf_buf text = CF_BUF_INIT;
    if (!chat_text(app, &text)) {
        return;
    }
    cf_app_copy(app, cf_buf_str(&text));
    cf_buf_deinit(&text);
}

static void cmd_yank_id(cf_app *app)
{
    const cf_turn *t = needed_row(app);
    if (t == NULL) {
        return;
    }
    char id[CF_UUID_TEXT + 1];
    cf_uuid_format(id, t->id);
    cf_app_copy(app, cf_str_from(id));
}

/* A second press of the same key takes the rating off. */
static void rate(cf_app *app, int rating)
{
    cf_error err;
    const cf_turn *t = needed_row(app);
    if (t == NULL || app->store == NULL) {
        return;
    }
    const cf_store_turn_mark *mark = cf_chat__mark_of(app, t->id);
    int to = mark != NULL && mark->rating == rating ? 0 : rating;
    cf_status st = cf_store_set_rating(app->store, t->id, to, &err);
    cf_chat__report(app, st, &err);
    if (st == CF_OK) {
        cf_lab_add_undo(app->lab, CF_LAB_UNDO_STORE, (cf_uuid){{0}});
        cf_chat__marks_stale(app);
        cf_app_say(app, CF_STYLE_OK, "%s",
                   to > 0   ? "rated +; 6 \\ rating:good lists them"
                   : to < 0 ? "rated -; 6 \\ rating:bad lists them"
                            : "the rating is off");
    }
}

static void cmd_note(cf_app *app, const char *arg)
{
    cf_error err;
    const cf_turn *t = current_row(app);
    if (arg[0] == '\0') {
        const cf_store_turn_mark *mark = t != NULL ? cf_chat__mark_of(app, t->id) : NULL;
        cf_buf line = CF_BUF_INIT;
        cf_buf_adds(&line, "note ");
        if (mark != NULL && mark->note.n != 0) {
            cf_buf_add(&line, mark->note.p, mark->note.n);
        }
        cf_edit_set(&app->command_line, cf_buf_str(&line));
        cf_buf_deinit(&line);
        app->mode = CF_MODE_COMMAND;
        return;
    }
    if (t != NULL && app->store != NULL) {
        /* "-" alone takes it off. */
        cf_str note = cf_str_from(strcmp(arg, "-") == 0 ? "" : arg);
        cf_status st = cf_store_set_note(app->store, t->id, note, &err);
        cf_chat__report(app, st, &err);
        if (st == CF_OK) {
            cf_lab_add_undo(app->lab, CF_LAB_UNDO_STORE, (cf_uuid){{0}});
            cf_chat__marks_stale(app);
        }
    }
}

/* A call that waits is answered with a mock, in Tools. */
static void cmd_mock(cf_app *app)
{
    if (cf_chat__last_call(app) != CF_CALLS_WAITS) {
        cf_app_say(app, CF_STYLE_DIM, "no call waits for a result");
        return;
    }
    cf_app_open_view(app, CF_VIEW_TOOLS);
    cf_app_command(app, "mock");
}

/* The siblings of the reply, next to each other. */
static void cmd_compare(cf_app *app)
{
    const cf_turn *t = current_row(app);
    size_t index;
    if (t == NULL || cf_lab_siblings(app->lab, t, &index) < 2) {
        cf_app_say(app, CF_STYLE_WARNING, "this turn has no sibling; r asks for another reply");
        return;
    }
    cf_app_show(app, CF_VIEW_REPLIES, &(cf_target){.kind = CF_TARGET_TURN, .id = t->id});
}

/* Asks another view about the reply under the cursor, else the last one. */
static void show_reply(cf_app *app, int view)
{
    const cf_turn *t = current_row(app);
    cf_target target = {.kind = CF_TARGET_REPLY, .name = ""};
    if (t != NULL) {
        cf_role role = cf_role_parse(cf_json_get_str(t->message, "role"));
        target.id = role == CF_ROLE_ASSISTANT || role == CF_ROLE_AGENT ? t->id : target.id;
    }
    cf_app_show(app, (cf_view_id)view, &target);
}

static void chat_show(cf_app *app, const cf_target *target)
{
    cf_chat *s = cf_chat__state(app);
    cf_app_open_view(app, CF_VIEW_CHAT);
    s->conv = cf_lab_conv_id(app->lab);
    go_to_turn(app, target->id);
    s->follows = false;
    cf_chat__find_from(app, s->cursor);
}

static void cmd_editor(cf_app *app)
{
    cf_chat__edit_outside(app);
    cmd_write(app);
}

#define HERE CF_IN(CF_VIEW_CHAT)

static const cf_command chat_commands[] = {
    {"write", HERE, "i <Tab>", "",
     "write messages; Enter sends, ^J breaks the line, Esc or Tab leaves", CF_RUN(cmd_write)},
    {"editor", HERE, "<C-g>", "", "write it in $EDITOR; also ^G and ^X^E while writing",
     CF_RUN(cmd_editor)},
    {"retry", HERE, "r", "[N]", "another reply, as a sibling; N of them side by side",
     CF_WITH(cmd_retry)},
    {"edit", HERE, "e", "", "edit a message, or a reply and continue it", CF_RUN(cmd_edit)},
    {"edit-system", HERE, "ge", "", "edit the system prompt, as a branch", CF_RUN(cmd_edit_system)},
    {"attach", HERE, "a", "FILE", "attach an image or a text to the next message",
     CF_WITH(cmd_attach)},
    {"detach", HERE, "", "", "remove the attachments", CF_RUN(cmd_detach)},
    {"next-sibling", HERE, "]", "", "next sibling", CF_BY(go_sibling, 1)},
    {"previous-sibling", HERE, "[", "", "previous sibling", CF_BY(go_sibling, -1)},
    {"compare", HERE, "=", "", "compare the reply with its siblings, side by side",
     CF_RUN(cmd_compare)},
    {"mock", HERE, "m", "", "answer the pending call with a mock", CF_RUN(cmd_mock)},
    {"turns", HERE, "t", "",
     "show or hide the tree of turns; on a narrow screen it replaces the text", CF_RUN(cmd_turns)},
    {"reply-before", HERE, "h <Left>", "", "the previous reply", CF_BY(go_reply, -1)},
    {"reply-after", HERE, "l <Right>", "", "the next reply", CF_BY(go_reply, 1)},
    {"worst", HERE, "W", "", "the reply with the most expensive prompt; again, the next one",
     CF_RUN(cmd_worst)},
    {"plot", HERE, "p", "", "plot the prompts' cost by turn: kept, computed, time to first token",
     CF_RUN(cmd_plot)},
    {"follow", HERE, "gF", "", "follow the end of the text, or not", CF_RUN(cmd_follow)},
    {"new", HERE, "c", "", "a new conversation", CF_RUN(cmd_new)},
    {"select", HERE, "v", "", "select lines: j k, then y copies, :w writes",
     CF_RUN(cf_chat__select)},
    {"parent", HERE, ",", "", "go to the previous turn", CF_BY(chat_move, CF_MOVE_UP)},
    {"fork", HERE, "f", "", "show the tokens of this reply, to continue from another one",
     CF_RUN(cmd_fork)},
    {"open", HERE, "<Enter>", "",
     "the tokens of this reply; in Session, the line that wrote what the cache lost last",
     CF_RUN(cmd_open)},
    {"pane-back", HERE, "<S-Tab>", "", "to Session and back", CF_RUN(cmd_session)},
    {"fold", HERE, "za", "", "fold or unfold thinking", CF_BY(set_fold, -1)},
    {"open-fold", HERE, "zo", "", "unfold thinking", CF_BY(set_fold, 1)},
    {"close-fold", HERE, "zc", "", "fold thinking", CF_BY(set_fold, 0)},
    {"influence", HERE, "gi", "", "which parts of the prompt led to this reply",
     CF_BY(show_reply, CF_VIEW_INFLUENCE)},
    {"inside", HERE, "gh", "", "look inside: what chose the call, or the reply's first token",
     CF_BY(show_reply, CF_VIEW_INSIDE)},
    {"yank", HERE, "yy", "", "copy the turn's text", CF_RUN(cmd_yank)},
    {"yank-id", HERE, "yu", "", "copy the turn's UUID", CF_RUN(cmd_yank_id)},
    {"good", HERE, "+", "", "rate the turn as good, or remove the rating", CF_BY(rate, 1)},
    {"bad", HERE, "-", "", "rate the turn as bad, or remove the rating", CF_BY(rate, -1)},
    {"note", HERE, "", "TEXT", "add a note to the turn; - removes it", CF_WITH(cmd_note)},
    CF_MOVE_ROWS(chat_move, HERE),
    {0},
};

const cf_view_ops cf_view_chat = {
    .name = "chat",
    .title = "Chat",
    .commands = chat_commands,
    .footer = "write retry edit next-sibling compare undo fork select yank attach "
              "prompt library",
    .state_size = sizeof(cf_chat),
    .open = chat_open,
    .close = chat_close,
    .draw = chat_draw,
    .key = cf_chat__key,
    .paste = cf_chat__paste,
    .search = cf_chat__search,
    .typed = cf_chat__typed,
    .status = chat_status,
    .show = chat_show,
    .text = chat_text,
    .turn = current_row,
    .click = chat_click,
    .wheel = chat_wheel,
    .step = chat_step,
    .stale = cf_chat__marks_stale,
    .value = chat_value,
};
