/*
 * view_steps.c - the sessions of coding agents on this machine, and one of them
 * request by request.
 *
 * The head of a file is read at once, so that its first requests are there; a
 * task reads all of it, and again when it has grown.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "storage/exchange.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/sys/agent_places.h"
#include "tui/view/kit/moves.h"
#include "tui/view/steps/steps.h"

enum { HEAD_BYTES = 256 << 10, EVERY_MS = 1000 };

static cf_steps_view *state(cf_app *app)
{
    return app->state[CF_VIEW_STEPS];
}

static void free_name(cf_steps_name *n)
{
    cf_free(n->path);
    cf_free(n->id);
    cf_free(n->title);
    cf_free(n->findings);
}

static void drop_session(cf_steps_view *v)
{
    cf_steps_reading_deinit(&v->now);
    cf_free(v->lines);
    cf_free(v->is_folded);
    v->lines = NULL;
    v->is_folded = NULL;
    v->n_lines = v->cap_lines = 0;
    v->has_session = false;
}

static void steps_close(cf_app *app)
{
    cf_steps_view *v = state(app);
    if (app->lab != NULL) {
        cf_lab_end_reading(app->lab, NULL);
    }
    drop_session(v);
    for (size_t i = 0; i < v->n_names; i++) {
        free_name(&v->names[i]);
    }
    cf_free(v->names);
    cf_free(v->path);
    cf_free(v->id);
    cf_buf_deinit(&v->detail);
}

/* Takes a reading in place of the one before; what was unfolded stays so. */
static void take_reading(cf_app *app, cf_steps_reading *r)
{
    cf_steps_view *v = state(app);
    cf_error err;
    bool *folded = cf_alloc((r->steps.n_agents + 1) * sizeof *folded);
    if (folded == NULL) {
        cf_steps_reading_deinit(r);
        return;
    }
    for (size_t i = 0; i <= r->steps.n_agents; i++) {
        bool was_there = v->has_session && i < v->now.steps.n_agents;
        folded[i] = was_there ? v->is_folded[i] : true;
    }
    cf_free(v->is_folded);
    cf_steps_reading_deinit(&v->now);
    v->is_folded = folded;
    v->now = *r;
    *r = (cf_steps_reading){0};
    v->has_session = true;
    v->detail_at = SIZE_MAX;
    if (cf_steps_lines(v, &err) != CF_OK) {
        cf_app_error(app, &err);
    }
    app->is_dirty = true;
}

/* ---- reading a file ------------------------------------------------------ */

typedef struct job {
    cf_app *app;
    char *path, *id; /* heap */
    cf_steps_reading got;
} job;

static void job_progress(void *ud, uint64_t done, uint64_t all)
{
    job *j = ud;
    atomic_store(&state(j->app)->percent, all != 0 ? (int)(done * 100 / all) : 0);
}

static cf_status job_run(void *ud, cf_runner *runner, cf_error *err)
{
    job *j = ud;
    const cf_trail_options opts = {
        .id = j->id, .cancel = cf_runner_cancel_flag(runner), .progress = job_progress, .ud = j};
    return cf_steps_read(&j->got, j->path, &opts, err);
}

static void job_end(void *ud, cf_status status, const cf_error *err)
{
    job *j = ud;
    cf_steps_view *v = state(j->app);
    v->is_reading = false;
    if (status == CF_OK && v->path != NULL && strcmp(v->path, j->path) == 0 &&
        strcmp(v->id, j->id) == 0) {
        take_reading(j->app, &j->got);
    } else if (status != CF_OK && status != CF_ECANCELLED) {
        cf_app_error(j->app, err);
    }
}

static void job_drop(void *ud)
{
    job *j = ud;
    cf_steps_reading_deinit(&j->got);
    cf_free(j->path);
    cf_free(j->id);
    cf_free(j);
}

static void start_reading(cf_app *app)
{
    cf_steps_view *v = state(app);
    cf_error err;
    job *j = cf_calloc(1, sizeof *j);
    char *path = cf_strdup(v->path), *id = cf_strdup(v->id);
    if (j == NULL || path == NULL || id == NULL) {
        cf_free(j);
        cf_free(path);
        cf_free(id);
        return;
    }
    *j = (job){.app = app, .path = path, .id = id};
    const cf_task task = {.name = "reading the session",
                          .run = job_run,
                          .end = job_end,
                          .drop = job_drop,
                          .ud = j,
                          .gives_way = true};
    atomic_store(&v->percent, 0);
    v->is_reading = cf_lab_start_reading(app->lab, &task, &err) == CF_OK;
}

/* ---- the list ------------------------------------------------------------ */

typedef struct lister {
    cf_app *app;
    cf_buf places;
} lister;

/* What is wrong with a session, to be searched. */
static char *findings_of(const cf_trail *t)
{
    enum { BYTES_MAX = 4000 };
    cf_trail_findings found;
    cf_buf text = CF_BUF_INIT;
    if (cf_trail_find(&found, t, NULL) != CF_OK) {
        return NULL;
    }
    for (size_t i = 0; i < found.n && text.n < BYTES_MAX; i++) {
        cf_session_finding(&text, &found.v[i]);
        for (size_t k = 1; k < found.v[i].n_lost && text.n < BYTES_MAX; k++) {
            cf_buf_addc(&text, ' ');
            cf_session_text_line(&text, found.v[i].lost[k], BYTES_MAX);
        }
        cf_buf_addc(&text, '\n');
    }
    char *copy = text.failed ? NULL : cf_strndup(cf_buf_cstr(&text), text.n);
    cf_buf_deinit(&text);
    cf_trail_findings_deinit(&found);
    return copy;
}

static void *name_of(const cf_trail *t)
{
    cf_steps_name *n = cf_calloc(1, sizeof *n);
    cf_str title = cf_trail_name(t);
    if (n != NULL) {
        *n = (cf_steps_name){t->format,
                             cf_strndup(t->path.p, t->path.n),
                             cf_strndup(t->id.p, t->id.n),
                             cf_strndup(title.p, title.n),
                             findings_of(t),
                             t->n_messages,
                             t->n_steps,
                             t->started_ms};
        if (n->path == NULL || n->id == NULL || n->title == NULL || n->findings == NULL) {
            free_name(n);
            cf_free(n);
            n = NULL;
        }
    }
    return n;
}

static cf_status list_run(void *ud, cf_runner *runner, cf_error *err)
{
    lister *l = ud;
    const cf_trail_options opts = {.cancel = cf_runner_cancel_flag(runner)};
    for (size_t at = 0; at < l->places.n; at += strlen(l->places.p + at) + 1) {
        cf_trails trails;
        cf_status st = cf_trails_read(&trails, l->places.p + at, &opts, err);
        if (st == CF_ENOMEM || st == CF_ECANCELLED) {
            return st;
        }
        for (size_t i = 0; st == CF_OK && i < trails.n; i++) {
            void *n = name_of(trails.v[i]);
            if (n != NULL) {
                cf_runner_tell(runner, n);
            }
        }
        cf_trails_deinit(&trails);
    }
    return CF_OK;
}

static void free_item(void *item)
{
    free_name(item);
    cf_free(item);
}

/* Newest first. */
static void list_take(void *ud, void *item)
{
    lister *l = ud;
    cf_steps_view *v = state(l->app);
    cf_steps_name *n = item;
    if (!cf_grow(&v->names, &v->cap_names, v->n_names + 1, sizeof *v->names)) {
        free_item(item);
        return;
    }
    size_t at = v->n_names++;
    while (at > 0 && v->names[at - 1].started_ms < n->started_ms) {
        v->names[at] = v->names[at - 1];
        at--;
    }
    v->names[at] = *n;
    cf_free(n);
    cf_list_set(&v->name_list, v->n_names, v->name_list.height);
    l->app->is_dirty = true;
}

static void list_end(void *ud, cf_status status, const cf_error *err)
{
    lister *l = ud;
    state(l->app)->is_listing = false;
    l->app->is_dirty = true;
    if (status != CF_OK && status != CF_ECANCELLED) {
        cf_app_error(l->app, err);
    }
}

static void list_drop(void *ud)
{
    lister *l = ud;
    cf_buf_deinit(&l->places);
    cf_free(l);
}

static void start_list(cf_app *app)
{
    cf_steps_view *v = state(app);
    cf_error err;
    lister *l = cf_calloc(1, sizeof *l);
    if (l == NULL || v->has_names || app->lab == NULL) {
        cf_free(l);
        return;
    }
    l->app = app;
    cf_status st = app->store != NULL
                       ? cf_agent_places_with(&l->places, cf_store_path(app->store), &err)
                       : cf_agent_places(&l->places, &err);
    const cf_task task = {.name = "looking for sessions",
                          .run = list_run,
                          .take = list_take,
                          .end = list_end,
                          .drop = list_drop,
                          .free_item = free_item,
                          .ud = l,
                          .gives_way = true};
    if (st != CF_OK) {
        list_drop(l);
        cf_app_error(app, &err);
        return;
    }
    v->has_names = v->is_listing = cf_lab_start_reading(app->lab, &task, &err) == CF_OK;
}

static void open_path(cf_app *app, cf_str path, cf_str session)
{
    cf_steps_view *v = state(app);
    cf_steps_reading head;
    cf_error err;
    char *copy = cf_strndup(path.p, path.n), *id = cf_strndup(session.p, session.n);
    if (copy == NULL || id == NULL) {
        cf_free(copy);
        cf_free(id);
        return;
    }
    cf_lab_end_reading(app->lab, NULL);
    drop_session(v);
    cf_free(v->path);
    cf_free(v->id);
    v->path = copy;
    v->id = id;
    v->list = (cf_list){0};
    v->scroll = 0;
    v->shows_diff = false;
    const cf_trail_options opts = {.max_bytes = HEAD_BYTES, .id = id};
    if (cf_steps_read(&head, copy, &opts, &err) == CF_OK) {
        if (id[0] == '\0' || cf_str_is(head.trails.v[head.which]->id, id)) {
            take_reading(app, &head);
        }
        cf_steps_reading_deinit(&head);
    } else if (cf_trail_sniff(copy) == NULL) {
        cf_app_error(app, &err);
        cf_free(v->path);
        v->path = NULL;
        start_list(app);
        return;
    }
    start_reading(app);
}

static void steps_enter(cf_app *app)
{
    if (state(app)->path == NULL) {
        start_list(app);
    }
}

static void steps_show(cf_app *app, const cf_target *target)
{
    cf_app_open_view(app, CF_VIEW_STEPS);
    open_path(app, target->text, cf_str_from(""));
}

/* A file that has grown is read again. */
static bool steps_step(cf_app *app)
{
    cf_steps_view *v = state(app);
    uint64_t now = cf_os_monotonic_us();
    if (cf_app_view(app) != CF_VIEW_STEPS || v->path == NULL ||
        now < v->looked_us + EVERY_MS * 1000ULL) {
        return false;
    }
    v->looked_us = now;
    if (v->is_reading) {
        return true;
    }
    if (cf_steps_file_bytes(v->path) != v->now.bytes) {
        start_reading(app);
    }
    return false;
}

static int steps_wait_ms(const cf_app *app)
{
    return cf_app_view(app) == CF_VIEW_STEPS ? EVERY_MS : -1;
}

/* ---- commands ------------------------------------------------------------ */

static const cf_steps_line *line_here(const cf_steps_view *v)
{
    return v->path != NULL && v->list.cursor < v->n_lines ? &v->lines[v->list.cursor] : NULL;
}

/* The list that is shown. */
static cf_list *list_of(cf_steps_view *v, size_t *n)
{
    *n = v->path == NULL ? v->n_names : v->n_lines;
    return v->path == NULL ? &v->name_list : &v->list;
}

static void steps_move(cf_app *app, int move)
{
    cf_steps_view *v = state(app);
    size_t n;
    v->scroll = 0;
    cf_list_move(list_of(v, &n), (cf_move)move);
}

/* The reply's turn in the history, or the last message before the event. */
static void open_turn(cf_app *app, cf_steps_view *v, const cf_steps_line *line)
{
    const cf_trail *t = cf_steps_trail(v);
    const cf_trail_message *m = NULL;
    cf_uuid conversation, turn;
    cf_error err;
    for (size_t i = 0; i <= line->at && i < t->n_events; i++) {
        if (t->events[i].kind == CF_TRAIL_MESSAGE &&
            cf_str_eq(t->events[i].agent, t->events[line->at].agent)) {
            m = t->events[i].as.message;
        }
    }
    const cf_trail_step *s =
        t->events[line->at].kind == CF_TRAIL_STEP ? t->events[line->at].as.step : NULL;
    m = s != NULL && s->message != NULL ? s->message : m;
    if (app->store == NULL || m == NULL) {
        cf_app_say(app, CF_STYLE_WARNING, "a step is opened from the history, which is off");
        return;
    }
    cf_status st = cf_session_keep(app->store, v->path, t, t->events[line->at].agent, m,
                                   &conversation, &turn, &err);
    CF_THEN(st, cf_lab_open_conv(app->lab, conversation, turn, &err));
    if (st != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    cf_app_open_view(app, CF_VIEW_CHAT);
}

static void cmd_fold(cf_app *app)
{
    cf_steps_view *v = state(app);
    const cf_steps_line *line = line_here(v);
    cf_error err;
    if (line == NULL || line->agent == 0) {
        return;
    }
    v->is_folded[line->agent] = !v->is_folded[line->agent];
    if (cf_steps_lines(v, &err) != CF_OK) {
        cf_app_error(app, &err);
    }
}

static void cmd_open(cf_app *app)
{
    cf_steps_view *v = state(app);
    const cf_steps_line *line = line_here(v);
    if (v->path == NULL && v->name_list.cursor < v->n_names) {
        const cf_steps_name *n = &v->names[v->name_list.cursor];
        open_path(app, cf_str_from(n->path), cf_str_from(n->id));
    } else if (line != NULL && line->kind == CF_STEPS_AGENT) {
        cmd_fold(app);
    } else if (line != NULL) {
        open_turn(app, v, line);
    }
}

static void cmd_list(cf_app *app)
{
    cf_steps_view *v = state(app);
    drop_session(v);
    cf_free(v->path);
    v->path = NULL;
    start_list(app);
}

static void cmd_diff(cf_app *app)
{
    cf_steps_view *v = state(app);
    v->shows_diff = !v->shows_diff;
    v->scroll = 0;
}

/* Goes to the next line that `is` says yes to, round the end. */
static bool go_to_next(cf_steps_view *v, int by,
                       bool (*is)(const cf_steps_view *, size_t, const char *), const char *text)
{
    size_t n;
    cf_list *list = list_of(v, &n);
    for (size_t k = 1; k <= n; k++) {
        size_t i = (list->cursor + (by > 0 ? k : n - k)) % n;
        if (is(v, i, text)) {
            v->scroll = 0;
            cf_list_go(list, i);
            return true;
        }
    }
    return false;
}

static bool has_finding(const cf_steps_view *v, size_t i, const char *text)
{
    (void)text;
    return v->path == NULL ? v->names[i].findings[0] != '\0' : cf_steps_is_marked(v, &v->lines[i]);
}

static void cmd_finding(cf_app *app, int by)
{
    if (!go_to_next(state(app), by, has_finding, NULL)) {
        cf_app_say(app, CF_STYLE_DIM, "no finding");
    }
}

static void cmd_scroll(cf_app *app, int by)
{
    cf_steps_view *v = state(app);
    v->scroll = v->scroll + by > 0 ? v->scroll + by : 0;
}

static bool has_text(cf_str in, const char *text)
{
    return cf_str_find(in, cf_str_from(text), NULL);
}

/* Whether a message between a line's event and the next one's has the text; of
 * a session its title or what is wrong with it. */
static bool line_has(const cf_steps_view *v, size_t i, const char *text)
{
    if (v->path == NULL) {
        return has_text(cf_str_from(v->names[i].title), text) ||
               has_text(cf_str_from(v->names[i].findings), text);
    }
    const cf_trail *t = cf_steps_trail(v);
    size_t at = v->lines[i].at;
    if (v->lines[i].kind == CF_STEPS_COMPACTION) {
        return has_text(t->events[at].as.compaction->summary, text);
    }
    for (size_t k = at; k-- > 0 && t->events[k].kind != CF_TRAIL_STEP;) {
        if (t->events[k].kind == CF_TRAIL_MESSAGE &&
            has_text(t->events[k].as.message->text, text)) {
            return true;
        }
    }
    return false;
}

static void steps_search(cf_app *app, const char *text, int direction)
{
    if (!go_to_next(state(app), direction, line_has, text)) {
        cf_app_say(app, CF_STYLE_WARNING, "'%s' is not here", text);
    }
}

static void steps_click(cf_app *app, int what, size_t value)
{
    cf_steps_view *v = state(app);
    size_t n;
    cf_list *list = list_of(v, &n);
    (void)what;
    if (value == list->cursor) {
        cmd_open(app);
    } else {
        cf_list_go(list, value);
    }
}

/* What the workbench has now counts the tokens of differences. */
static void use_engine(cf_app *app)
{
    cf_steps_view *v = state(app);
    const cf_lab_engine *e = cf_lab_engine_of(app->lab);
    const cf_session_how how = {e->tokenizer, e->template_source};
    if (how.tokenizer != v->how.tokenizer || how.template_source.p != v->how.template_source.p ||
        how.template_source.n != v->how.template_source.n) {
        v->how = how;
        v->detail_at = SIZE_MAX;
    }
}

static void steps_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    use_engine(app);
    cf_steps_draw(state(app), g, r);
}

static bool steps_text(cf_app *app, cf_buf *out)
{
    if (line_here(state(app)) == NULL) {
        return false;
    }
    use_engine(app);
    cf_buf_adds(out, cf_steps_detail(state(app)));
    return true;
}

static const cf_command steps_commands[] = {
    {"open", CF_IN(CF_VIEW_STEPS), "<Enter> l <Right>", "",
     "open the session, fold a sub-agent, or open the step as a conversation", CF_RUN(cmd_open)},
    {"fold", CF_IN(CF_VIEW_STEPS), "za", "", "show or hide the requests of a sub-agent",
     CF_RUN(cmd_fold)},
    {"changes", CF_IN(CF_VIEW_STEPS), "s", "",
     "what entered and left the context since the step before", CF_RUN(cmd_diff)},
    {"next-finding", CF_IN(CF_VIEW_STEPS), "]e w", "", "the next finding", CF_BY(cmd_finding, 1)},
    {"previous-finding", CF_IN(CF_VIEW_STEPS), "[e b", "", "the finding before",
     CF_BY(cmd_finding, -1)},
    {"scroll-down", CF_IN(CF_VIEW_STEPS), "J", "", "scroll the lower pane down",
     CF_BY(cmd_scroll, 3)},
    {"scroll-up", CF_IN(CF_VIEW_STEPS), "K", "", "scroll the lower pane up", CF_BY(cmd_scroll, -3)},
    {"list", CF_IN(CF_VIEW_STEPS), "h <Left>", "", "the list of sessions", CF_RUN(cmd_list)},
    CF_MOVE_ROWS(steps_move, CF_IN(CF_VIEW_STEPS)),
    {0},
};

const cf_view_ops cf_view_steps = {
    .name = "steps",
    .title = "Steps",
    .commands = steps_commands,
    .footer = "open changes next-finding fold list back",
    .state_size = sizeof(cf_steps_view),
    .close = steps_close,
    .enter = steps_enter,
    .draw = steps_draw,
    .search = steps_search,
    .click = steps_click,
    .show = steps_show,
    .text = steps_text,
    .step = steps_step,
    .wait_ms = steps_wait_ms,
};
