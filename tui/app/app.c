/*
 * app.c - events to commands, the view stack, modes, the frame around views.
 */
#include "tui/app/app.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/app/bars.h"
#include "tui/app/bind.h"
#include "tui/app/command_servers.h"
#include "tui/app/command_study.h"
#include "tui/app/command_user.h"
#include "tui/app/complete.h"
#include "tui/app/drag.h"
#include "tui/app/frame.h"
#include "tui/app/keepsakes.h"
#include "tui/app/menu.h"
#include "tui/app/pointer.h"
#include "tui/demo/demo_serve.h"
#include "tui/image/thumbs.h"
#include "tui/lab/lab.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_again.h"
#include "tui/lab/tools/lab_tools.h"
#include "tui/lab/tools/tool_desk.h"
#include "tui/sys/child.h"

enum {
    FRAME_US = 33000,
    CLIPBOARD_MAX = 54000 /* terminals take some 74,000 bytes of base64 */
};

cf_config *cf_app_config(cf_app *app)
{
    app->config.reply = app->lab != NULL ? cf_lab_settings(app->lab) : NULL;
    return &app->config;
}

cf_status cf_app_may(const cf_app *app, cf_error *err)
{
    return !app->is_restricted ? CF_OK
                               : cf_fail(err, CF_EUNSUPPORTED,
                                         "restricted: programs are not run, files are not written");
}

void cf_app_copy(cf_app *app, cf_str text)
{
    cf_buf_restart(&app->copied);
    cf_buf_add(&app->copied, text.p, text.n);
    if (app->copied.failed) {
        cf_buf_deinit(&app->copied);
        cf_app_say(app, CF_STYLE_ERROR, "out of memory: nothing is copied");
        return;
    }
    cf_keepsakes_register(app);
    bool is_small = text.n <= CLIPBOARD_MAX;
    if (app->term != NULL && is_small) {
        app->term->ops->copy(app->term, text);
    }
    cf_app_say(app, CF_STYLE_OK, "copied %zu bytes%s", text.n,
               is_small ? "" : ", to the register only (^Y, :w)");
}

void cf_app_use_theme(cf_app *app)
{
    bool is_light =
        app->config.ground == CF_GROUND_LIGHT ||
        (app->config.ground == CF_GROUND_AUTO && app->term != NULL && app->term->is_light);
    cf_theme_set_light(&app->config.theme, is_light);
    cf_theme_use(&app->config.theme);
}

/* ---- views -------------------------------------------------------------- */

cf_view_id cf_app_view(const cf_app *app)
{
    return app->stack[app->n_stack - 1];
}

static const cf_view_ops *top_view(const cf_app *app)
{
    return cf_views[cf_app_view(app)];
}

/* A view that is on the stack already comes to its top. */
void cf_app_open_view(cf_app *app, cf_view_id view)
{
    size_t kept = 0;
    for (size_t i = 0; i < app->n_stack; i++) {
        if (app->stack[i] != view) {
            app->stack[kept++] = app->stack[i];
        }
    }
    if (kept == sizeof app->stack / sizeof app->stack[0]) {
        memmove(app->stack, app->stack + 1, (kept - 1) * sizeof app->stack[0]);
        kept--;
    }
    app->stack[kept++] = view;
    app->n_stack = kept;
    app->mode = CF_MODE_NORMAL;
    app->is_dirty = true;
    if (cf_views[view]->enter != NULL) {
        cf_views[view]->enter(app);
    }
    if (view != CF_VIEW_CHAT && cf_frame_beside(app) == CF_VIEW_CHAT) {
        app->beside = view;
        cf_frame_follow(app, view);
    }
}

void cf_app_show(cf_app *app, cf_view_id view, const cf_target *target)
{
    cf_views[view]->show(app, target);
}

void cf_app_back(cf_app *app)
{
    if (app->n_stack > 1) {
        app->n_stack--;
        app->is_dirty = true;
        if (top_view(app)->enter != NULL) {
            top_view(app)->enter(app);
        }
    } else {
        cf_app_say(app, CF_STYLE_DIM, "this is the last view; Q quits");
    }
}

/* ---- commands ----------------------------------------------------------- */

static void run_row(cf_app *app, const cf_command *c, const char *arg)
{
    app->is_dirty = true;
    snprintf(app->doing, sizeof app->doing, "%s%s%.40s", c->name, arg[0] != '\0' ? " " : "", arg);
    cf_command_do(c, app, arg);
    app->doing[0] = '\0';
}

void cf_app_command(cf_app *app, const char *line)
{
    line += strspn(line, " :");
    if (cf_is_user_command(line)) {
        cf_run_user_command(app, line);
        return;
    }
    size_t n = strcspn(line, " ");
    if (n == 0) {
        return;
    }
    size_t n_found;
    const cf_command *c = cf_command_find(cf_app_view(app), line, n, &n_found);
    if (n_found == 1) {
        run_row(app, c, line + n + strspn(line + n, " "));
    } else if (n_found == 0) {
        cf_buf meant = CF_BUF_INIT;
        cf_menu_did_you_mean(app, line, n, &meant);
        if (meant.n == 0) {
            cf_buf_addf(&meant, "; :help %.*s looks for it", (int)n, line);
        }
        cf_app_say(app, CF_STYLE_ERROR, "no command '%.*s' here%s", (int)n, line,
                   cf_buf_cstr(&meant));
        cf_buf_deinit(&meant);
    } else {
        cf_app_say(app, CF_STYLE_ERROR, "'%.*s' may mean several commands", (int)n, line);
    }
}

/* ---- modes -------------------------------------------------------------- */

static void leave_line(cf_app *app, cf_edit *line)
{
    cf_edit_commit(line);
    app->mode = CF_MODE_NORMAL;
    app->menu.row = 0;
}

/* Shows what a search finds so far, or what a command would do. */
static void show_as_typed(cf_app *app, const char *text)
{
    const cf_view_ops *view = top_view(app);
    if (app->mode == CF_MODE_SEARCH && view->typed != NULL) {
        view->typed(app, text != NULL ? text : "");
    } else if (app->mode == CF_MODE_COMMAND && view->command_typed != NULL) {
        view->command_typed(app, text);
    }
}

/* ^U leaves the command, whose line a key may have begun with a value; a second
 * one erases it.  False: there is no more than the command. */
static bool erase_argument(cf_edit *line)
{
    const char *text = cf_buf_cstr(&line->text);
    size_t n = strcspn(text, " ");
    if (n + 1 >= line->text.n) {
        return false;
    }
    char word[64];
    snprintf(word, sizeof word, "%.*s ", n < 62 ? (int)n : 62, text);
    cf_edit_set(line, cf_str_from(word));
    return true;
}

static void line_key(cf_app *app, cf_edit *line, cf_key key)
{
    bool is_command = app->mode == CF_MODE_COMMAND;
    if (key == CF_KEY_ESC || key == CF_CTRL('C') ||
        (key == CF_KEY_BACKSPACE && line->text.n == 0)) {
        show_as_typed(app, NULL);
        leave_line(app, line);
        return;
    }
    if (key == CF_KEY_ENTER) {
        char *text = cf_strndup(cf_buf_cstr(&line->text), line->text.n);
        if (text == NULL) {
            cf_app_say(app, CF_STYLE_ERROR, "out of memory for the line");
            return;
        }
        for (size_t n = line->text.n; is_command && n > 0 && text[n - 1] == ' '; n--) {
            text[n - 1] = '\0'; /* such as completion leaves */
        }
        leave_line(app, line);
        cf_keepsakes_line(app, is_command ? ':' : '/', text);
        if (is_command) {
            cf_app_command(app, text);
            cf_free(text);
            return;
        }
        snprintf(app->search, sizeof app->search, "%.255s", text);
        cf_free(text);
        if (top_view(app)->search != NULL && app->search[0] != '\0') {
            top_view(app)->search(app, app->search, 0);
        }
        return;
    }
    if (key == CF_KEY_TAB && is_command) {
        cf_complete(app, 1);
        return;
    }
    if (key == CF_KEY_BACK_TAB && is_command) {
        cf_complete(app, -1);
        return;
    }
    app->menu.row = 0;
    if (key == CF_CTRL('Y')) {
        cf_edit_insert(line, cf_buf_str(&app->copied));
        return;
    }
    if (key != CF_CTRL('U') || !is_command || !erase_argument(line)) {
        cf_edit_key(line, key, app->grid.w);
    }
    show_as_typed(app, cf_buf_cstr(&line->text));
}

enum { COUNT_MAX = 9999 };

/* Takes a digit of a count ("3r"), where numbers are no views. */
static bool take_digit(cf_app *app, cf_key key)
{
    if (!app->config.numbers_are_counts || app->n_pending != 0 || key < '0' || key > '9' ||
        (key == '0' && app->count == 0)) {
        return false;
    }
    unsigned count = app->count * 10 + (unsigned)(key - '0');
    app->count = count < COUNT_MAX ? count : COUNT_MAX;
    cf_app_say(app, CF_STYLE_DIM, "%u", app->count);
    return true;
}

void cf_app_run_binding(cf_app *app, const cf_binding *b)
{
    unsigned count = app->count;
    char number[16];
    app->count = 0;
    if (b->row == NULL) {
        cf_run_user_command(app, b->arg);
    } else if (count > 0 && b->arg[0] == '\0' && strncmp(b->row->args, "[N]", 3) == 0) {
        snprintf(number, sizeof number, "%u", count);
        run_row(app, b->row, number);
    } else {
        run_row(app, b->row, b->arg);
    }
}

static void normal_key(cf_app *app, cf_key key)
{
    if (key == CF_KEY_ESC && (app->n_pending != 0 || app->count != 0)) {
        app->n_pending = 0;
        app->count = 0;
        return;
    }
    if (take_digit(app, key)) {
        return;
    }
    app->pending[app->n_pending++] = key;
    const cf_binding *b;
    uint32_t view = CF_IN(cf_app_view(app));
    switch (cf_keymap_find(&app->keymap, view, app->pending, app->n_pending, &b)) {
    case CF_LOOKUP_FOUND:
        app->n_pending = 0;
        cf_app_run_binding(app, b);
        break;
    case CF_LOOKUP_PREFIX:
        if (app->n_pending < CF_SEQUENCE_MAX) {
            break;
        }
        app->n_pending = 0;
        break;
    case CF_LOOKUP_NONE: {
        if (top_view(app)->letters_search && app->n_pending == 1 && cf_key_is_text(key)) {
            app->n_pending = 0;
            app->mode = CF_MODE_SEARCH;
            line_key(app, &app->search_line, key);
            break;
        }
        cf_buf name = CF_BUF_INIT;
        for (size_t i = 0; i < app->n_pending; i++) {
            cf_key_format(&name, app->pending[i]);
        }
        app->n_pending = 0;
        cf_app_say(app, CF_STYLE_DIM, "%s does nothing here; ? for help", cf_buf_cstr(&name));
        cf_buf_deinit(&name);
        break;
    }
    }
}

/* Whether the key alone, and no character, is a command of the view. */
static bool is_bound(const cf_app *app, cf_key key)
{
    const cf_binding *b;
    return !cf_key_is_text(key) &&
           cf_keymap_find(&app->keymap, CF_IN(cf_app_view(app)), &key, 1, &b) == CF_LOOKUP_FOUND;
}

void cf_app_key(cf_app *app, cf_key key)
{
    if (cf_frame_is_too_small(app) && key != CF_CTRL('C')) {
        return; /* the effect of a key could not be seen */
    }
    bool was_leaving = app->wants_quit;
    app->n_stop = key == CF_CTRL('C') ? app->n_stop : 0;
    app->notice.text[0] = '\0';
    app->wants_quit = false;
    app->is_dirty = true;
    switch (app->mode) {
    case CF_MODE_COMMAND:
        line_key(app, &app->command_line, key);
        return;
    case CF_MODE_SEARCH:
        line_key(app, &app->search_line, key);
        return;
    case CF_MODE_INSERT:
    case CF_MODE_PREFILL:
    case CF_MODE_VISUAL:
    case CF_MODE_ASK:
        if (top_view(app)->key != NULL && top_view(app)->key(app, key)) {
            return;
        }
        if ((app->mode == CF_MODE_INSERT || app->mode == CF_MODE_PREFILL) && key != CF_KEY_ESC &&
            !is_bound(app, key)) {
            return; /* an unknown key never leaves what is being written */
        }
        app->mode = CF_MODE_NORMAL;
        if (key == CF_KEY_ESC) {
            return;
        }
        break;
    case CF_MODE_NORMAL:
        break;
    }
    app->wants_quit = was_leaving; /* a second ^C sees it */
    normal_key(app, key);
    if (key != CF_CTRL('C') && key != 'Q') {
        app->wants_quit = false;
    }
}

static void on_paste(cf_app *app, cf_str text)
{
    app->is_dirty = true;
    if (text.n == 0) {
        cf_app_say(app, CF_STYLE_WARNING, "the paste is empty or too large");
    } else if (app->mode == CF_MODE_COMMAND) {
        cf_edit_insert(&app->command_line, text);
    } else if (app->mode == CF_MODE_SEARCH) {
        cf_edit_insert(&app->search_line, text);
    } else if (top_view(app)->paste != NULL) {
        top_view(app)->paste(app, text);
    } else {
        cf_app_say(app, CF_STYLE_DIM, "nothing to paste into here");
    }
}

bool cf_app_is_busy(const cf_app *app)
{
    return app->lab != NULL && (cf_lab_is_busy(app->lab) || cf_lab_task_name(app->lab) != NULL);
}

static void poll_lab(cf_app *app)
{
    cf_error err;
    if (app->lab == NULL) {
        return;
    }
    if (cf_lab_poll(app->lab, &err)) {
        app->is_dirty = true;
        if (err.code != CF_OK) {
            cf_app_error(app, &err);
        }
    }
    bool is_busy = cf_lab_is_busy(app->lab);
    if (app->was_busy && !is_busy) {
        cf_app_log_reply(app);
    }
    app->was_busy = is_busy;
    if (app->notice.while_busy && !cf_app_is_busy(app)) {
        app->notice.text[0] = '\0';
        app->notice.while_busy = false;
        app->is_dirty = true;
    }
}

void cf_app_event(cf_app *app, const cf_event *event)
{
    switch (event->kind) {
    case CF_EVENT_KEY:
        if (event->key == CF_KEY_MOUSE_UP || event->key == CF_KEY_MOUSE_DOWN) {
            cf_pointer_wheel(app, event->x, event->y, event->key);
        } else {
            cf_app_key(app, event->key);
        }
        break;
    case CF_EVENT_MOUSE:
        if (!cf_frame_is_too_small(app)) {
            cf_pointer_press(app, event->x, event->y);
        }
        break;
    case CF_EVENT_DRAG:
        cf_drag_move(app, event->x, event->y);
        break;
    case CF_EVENT_RELEASE:
        cf_drag_release(app);
        break;
    case CF_EVENT_PASTE:
        on_paste(app, event->paste);
        break;
    case CF_EVENT_RESIZE: {
        cf_error err;
        app->pointer.drag = (cf_drag){.is_on = false};
        if (cf_grid_resize(&app->grid, event->w, event->h, &err) != CF_OK) {
            cf_app_error(app, &err);
        }
        app->is_dirty = true;
        break;
    }
    case CF_EVENT_RESUMED:
        cf_app_use_theme(app);
        app->is_dirty = true;
        break;
    case CF_EVENT_HANGUP:
        app->is_done = true;
        break;
    case CF_EVENT_WAKE:
    case CF_EVENT_NONE:
        break;
    }
    poll_lab(app);
}

static void step_demo(cf_app *app)
{
    cf_demo_said said = {.is_error = false};
    if (app->demo == NULL) {
        return;
    }
    cf_demo_step(app->demo, app->lab, &said);
    if (said.notice.n != 0) {
        cf_app_say(app, said.is_error ? CF_STYLE_ERROR : CF_STYLE_WARNING, "%s",
                   cf_buf_cstr(&said.notice));
    }
    cf_buf_add(&app->log, said.log.p, said.log.n);
    app->is_dirty = app->is_dirty || said.has_served;
    cf_demo_said_deinit(&said);
}

/* Mocks and commands go with the declarations: a line says which there are. */
static void step_desk(cf_app *app)
{
    const json_t *tools = app->lab != NULL ? cf_lab_engine_of(app->lab)->tools : NULL;
    char scope[CF_DESK_SCOPE];
    cf_buf loaded = CF_BUF_INIT;
    cf_error err;
    if (app->lab == NULL || (app->has_seen_tools && app->tools_seen == tools)) {
        return;
    }
    app->has_seen_tools = true;
    app->tools_seen = tools;
    cf_tool_desk_scope(scope, tools, cf_demo_is_declared(tools));
    if (cf_tool_desk_go(cf_lab_desk(app->lab), scope, &loaded, &err) != CF_OK) {
        cf_app_error(app, &err);
    } else if (loaded.n != 0) {
        cf_app_say(app, CF_STYLE_WARNING, "kept for these tools: %s (4, M and exec - remove them)",
                   cf_buf_cstr(&loaded));
    }
    cf_buf_deinit(&loaded);
}

bool cf_app_step(cf_app *app)
{
    bool has_more = false;
    cf_error err;
    step_desk(app);
    step_demo(app);
    if (app->lab != NULL && cf_lab_again_step(app->lab, &err) != CF_OK) {
        cf_app_error(app, &err);
    }
    (void)cf_app_step_servers(app);
    for (int v = 0; v < CF_VIEW_COUNT; v++) {
        if (cf_views[v]->step != NULL) {
            has_more = cf_views[v]->step(app) || has_more;
        }
    }
    return has_more;
}

/* The sooner of two waits; -1 is none. */
static int sooner(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* Milliseconds until there is something to do without an event; -1: nothing. */
static int step_wait_ms(const cf_app *app)
{
    int wait_ms = app->demo != NULL ? cf_demo_wait_ms(app->demo) : -1;
    for (int v = 0; v < CF_VIEW_COUNT; v++) {
        wait_ms =
            cf_views[v]->wait_ms != NULL ? sooner(wait_ms, cf_views[v]->wait_ms(app)) : wait_ms;
    }
    return wait_ms;
}

cf_status cf_app_run_on_terminal(cf_app *app, const char *command, const char *arg, bool waits,
                                 int *status, cf_error *err)
{
    if (app->term != NULL) {
        app->term->ops->leave(app->term);
    }
    cf_status st = cf_child_on_terminal(command, arg, cf_term_must_end, status, err);
    if (app->term != NULL) {
        int w, h;
        if (waits && st == CF_OK) {
            cf_child_wait_for_enter(cf_term_must_end);
        }
        app->term->ops->enter(app->term);
        app->term->ops->size(app->term, &w, &h);
        cf_app_event(app, &(cf_event){.kind = CF_EVENT_RESIZE, .w = w, .h = h});
    }
    return st;
}

/* ---- life --------------------------------------------------------------- */

static cf_status open_state(cf_app *app, cf_view_id view, cf_error *err)
{
    const cf_view_ops *ops = cf_views[view];
    app->state[view] = cf_calloc(1, ops->state_size);
    if (app->state[view] == NULL) {
        return cf_oom(err);
    }
    if (ops->open != NULL) {
        ops->open(app->state[view]);
    }
    return CF_OK;
}

static void close_state(cf_app *app, cf_view_id view)
{
    if (app->state[view] != NULL && cf_views[view]->close != NULL) {
        cf_views[view]->close(app);
    }
    cf_free(app->state[view]);
    app->state[view] = NULL;
}

cf_status cf_app_init(cf_app *app, cf_store *store, cf_error *err)
{
    memset(app, 0, sizeof *app);
    app->store = store;
    cf_grid_init(&app->grid);
    cf_config_init(&app->config);
    cf_edit_init(&app->command_line, true);
    cf_edit_init(&app->search_line, true);
    app->stack[0] = CF_VIEW_CHAT;
    app->n_stack = 1;
    app->beside = CF_VIEW_PROMPT;
    app->is_dirty = true;
    cf_status st = cf_bind_tables(&app->keymap, err);
    for (int v = 0; st == CF_OK && v < CF_VIEW_COUNT; v++) {
        st = open_state(app, (cf_view_id)v, err);
    }
    if (st != CF_OK) {
        cf_app_deinit(app);
    }
    return st;
}

void cf_app_deinit(cf_app *app)
{
    if (app->lab != NULL) {
        cf_lab_end_task(app->lab, NULL);
    }
    for (int v = 0; v < CF_VIEW_COUNT; v++) {
        close_state(app, (cf_view_id)v);
    }
    cf_cmd_study_close(app);
    cf_tool_servers_free(app->servers);
    app->servers = NULL;
    cf_thumbs_free(app->thumbs);
    app->thumbs = NULL;
    cf_buf_deinit(&app->log);
    cf_buf_deinit(&app->copied);
    cf_buf_deinit(&app->output);
    cf_edit_deinit(&app->command_line);
    cf_edit_deinit(&app->search_line);
    cf_keymap_deinit(&app->keymap);
    cf_grid_deinit(&app->grid);
}

/* At most one frame in FRAME_US, and none when nothing changed. */
cf_status cf_app_run(cf_app *app, const cf_term_options *opts, cf_error *err)
{
    cf_app_use_theme(app);
    CF_TRY(cf_term_curses_open(&app->term, opts, err));
    cf_app_use_theme(app);
    int w, h;
    if (app->lab != NULL) {
        cf_lab_wake_with(app->lab, app->term->wake_fd);
    }
    if (app->servers != NULL) {
        cf_tool_servers_wake_with(app->servers, app->term->wake_fd);
    }
    app->term->ops->size(app->term, &w, &h);
    cf_status st = cf_grid_resize(&app->grid, w, h, err);
    uint64_t last_frame = 0;
    bool has_work = false;
    while (st == CF_OK && !app->is_done) {
        uint64_t now = cf_os_monotonic_us();
        int wait_ms = step_wait_ms(app);
        if (app->is_dirty) {
            uint64_t due = last_frame + FRAME_US;
            if (now >= due) {
                cf_app_draw(app);
                app->term->ops->present(app->term, &app->grid);
                last_frame = now;
            } else {
                wait_ms = (int)((due - now) / 1000) + 1;
            }
        }
        cf_event event;
        app->term->ops->wait(app->term, has_work ? 0 : wait_ms, &event);
        cf_app_event(app, &event);
        has_work = cf_app_step(app);
        if (event.kind == CF_EVENT_KEY || event.kind == CF_EVENT_MOUSE) {
            last_frame = 0; /* a key shows at once */
        }
    }
    if (app->lab != NULL) {
        cf_lab_wake_with(app->lab, -1);
    }
    if (app->servers != NULL) {
        cf_tool_servers_wake_with(app->servers, -1);
    }
    if (app->thumbs != NULL) {
        cf_thumbs_wake_with(app->thumbs, -1);
    }
    app->term->ops->close(app->term);
    app->term = NULL;
    return st;
}
