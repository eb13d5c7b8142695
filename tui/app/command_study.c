/*
 * command_study.c - a case out of the workbench, asked about on the worker's
 * thread; results go to the history and into the Output view.
 */
#include "tui/app/command_study.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "storage/exchange.h"
#include "tui/lab/lab.h"
#include "tui/lab/state/lab_marks.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/undo_stack.h"
#include "tui/study/ask/lab_case.h"
#include "tui/study/influence/guard.h"
#include "tui/study/shrink/bisect.h"
#include "tui/study/shrink/bisect_items.h"
#include "tui/study/shrink/shrink_files.h"
#include "tui/sys/paths.h"

typedef enum study_kind { STUDY_SHRINK, STUDY_BISECT, STUDY_GUARD } study_kind;

static const char *const kind_names[] = {"shrinking", "bisecting", "guarding"};

typedef struct cf_app_study {
    cf_app *app;
    study_kind kind;
    size_t turn; /* asked about, from 1 */
    cf_study_case c, good;
    cf_study_engine engine;
    cf_study_own own;
    char condition[300]; /* "": the failure that is there */
    cf_predicate *predicate;
    cf_asker asker;
    cf_shrink shrink;
    cf_bisect bisect;
    cf_bisect_items from, to;
    cf_study_scorer scorer;
    json_t *context; /* that the reply answers */
    size_t n_call;
    cf_buf out; /* what is shown */
    _Atomic size_t n_runs, n_left;
    bool is_kept;
} study;

static void free_study(study *s)
{
    cf_shrink_deinit(&s->shrink);
    cf_bisect_deinit(&s->bisect);
    cf_bisect_items_deinit(&s->from);
    cf_bisect_items_deinit(&s->to);
    cf_asker_deinit(&s->asker);
    cf_predicate_free(s->predicate);
    cf_study_scorer_deinit(&s->scorer);
    cf_study_own_deinit(&s->own);
    cf_study_case_deinit(&s->c);
    cf_study_case_deinit(&s->good);
    json_decref(s->context);
    cf_buf_deinit(&s->out);
    cf_free(s);
}

void cf_cmd_study_close(cf_app *app)
{
    if (app->shrunk != NULL) {
        free_study(app->shrunk);
        app->shrunk = NULL;
    }
}

static void drop(void *ud)
{
    study *s = ud;
    if (!s->is_kept) {
        free_study(s);
    }
}

/* ---- the failure -------------------------------------------------------- */

static cf_status use_predicate(study *s, cf_str text, cf_error *err)
{
    cf_asker_deinit(&s->asker);
    cf_predicate_free(s->predicate);
    s->predicate = NULL;
    cf_asker_init(&s->asker, &s->engine, NULL, cf_lab_cancel_flag(s->app->lab));
    CF_TRY(cf_predicate_read(&s->predicate, text, err));
    if ((cf_predicate_needs(s->predicate) & CF_SEE_COMMAND) != 0) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "a command is asked in the shell: confab shrink --while command:CMD");
    }
    s->asker.predicate = s->predicate;
    s->asker.was = &s->c.was;
    return CF_OK;
}

/* Which failure: the one that was named; an invalid call, a lost one; else that
 * this function is called so, or that this is the answer. */
static cf_status settle(study *s, cf_error *err)
{
    static const char *const first[] = {"call-invalid", "parse-lost"};
    if (s->condition[0] != '\0') {
        return use_predicate(s, cf_str_from(s->condition), err);
    }
    for (size_t i = 0; i < 2; i++) {
        bool holds;
        CF_TRY(use_predicate(s, cf_str_from(first[i]), err));
        CF_TRY(cf_asker_ask(&s->asker, s->context, s->engine.template_source, &holds, err));
        if (holds) {
            return CF_OK;
        }
    }
    const json_t *call = json_array_get(json_object_get(s->c.message, "tool_calls"), 0);
    cf_str name = cf_json_get_str(json_object_get(call, "function"), "name");
    cf_buf text = CF_BUF_INIT;
    cf_buf_adds(&text, name.n > 0 ? "calls-valid:" : "equals:");
    if (name.n > 0) {
        cf_buf_add(&text, name.p, name.n);
    } else {
        cf_lab_message_text(&text, s->c.message);
    }
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, use_predicate(s, cf_buf_str(&text), err));
    cf_buf_deinit(&text);
    return st;
}

static void put_predicate(const study *s, cf_buf *out)
{
    cf_str text = cf_predicate_text(s->predicate);
    cf_safe_line(out, text.p, text.n < 60 ? text.n : 60);
    cf_buf_adds(out, text.n > 60 ? "..." : "");
}

/* ---- on the worker's thread --------------------------------------------- */

static void on_step(void *ud, const cf_shrink *shrink, const char *level, size_t n_left)
{
    study *s = ud;
    (void)level;
    s->n_runs = shrink->n_runs;
    s->n_left = n_left;
}

static cf_status run_shrink(study *s, cf_error *err)
{
    CF_TRY(cf_shrink_init(&s->shrink, &s->asker, s->context, s->engine.template_source, err));
    s->shrink.parts = CF_SHRINK_CONTEXT | CF_SHRINK_SENTENCES;
    s->shrink.step = on_step;
    s->shrink.ud = s;
    CF_TRY(cf_shrink_run(&s->shrink, err));
    if (!s->shrink.holds) {
        return cf_fail(err, CF_EINVAL, "asked again, what is left does not fail (%.80s)",
                       cf_buf_cstr(&s->asker.why));
    }
    return CF_OK;
}

static cf_status is_bad(void *ud, const cf_str *v, size_t n, bool *bad, cf_error *err)
{
    study *s = ud;
    json_t *context = NULL;
    s->n_runs++;
    cf_status st = cf_bisect_items_context(v, n, &context, err);
    CF_THEN(st, cf_asker_ask(&s->asker, context, s->engine.template_source, bad, err));
    json_decref(context);
    return st;
}

static cf_status put_items(study *s, char mark, const cf_bisect_items *it, size_t from, size_t n,
                           cf_error *err)
{
    for (size_t i = from; i < from + n; i++) {
        cf_buf item = CF_BUF_INIT;
        cf_status st = cf_bisect_items_put(&item, it, i, err);
        cf_buf_addf(&s->out, "%c ", mark);
        cf_safe_line(&s->out, cf_buf_cstr(&item), item.n);
        cf_buf_addc(&s->out, '\n');
        cf_buf_deinit(&item);
        CF_TRY(st);
    }
    return CF_OK;
}

static cf_status run_bisect(study *s, cf_error *err)
{
    const cf_part_context good = cf_study_context_of(&s->good);
    const cf_part_context bad = cf_study_context_of(&s->c);
    CF_TRY(cf_bisect_items_of(&s->from, &good, err));
    CF_TRY(cf_bisect_items_of(&s->to, &bad, err));
    CF_TRY(cf_bisect_init(&s->bisect, s->from.v, s->from.n, s->to.v, s->to.n, err));
    s->bisect.head = CF_BISECT_HEAD;
    CF_TRY(cf_bisect_run(&s->bisect, is_bad, s, err));
    const cf_bisect *b = &s->bisect;
    const cf_change *found = &b->change[b->found];
    cf_buf_addf(&s->out, "turn %zu is bad by ", s->turn);
    put_predicate(s, &s->out);
    cf_buf_addf(&s->out, "\nchange %zu of %zu turns A into it%s (%zu runs), item %zu:\n",
                b->found + 1, b->n_change, b->is_enough ? ", alone" : ", after those before it",
                b->n_runs, cf_bisect_items_place(&s->to, found->b).part + 1);
    CF_TRY(put_items(s, '-', &s->from, found->a, found->n_a, err));
    CF_TRY(put_items(s, '+', &s->to, found->b, found->n_b, err));
    cf_buf_adds(&s->out, b->holds ? "" : "asked again, it is not bad\n");
    return CF_OK;
}

static void on_call(void *ud, const cf_guard_call *call)
{
    study *s = ud;
    s->n_call++;
    cf_buf_addf(&s->out, "turn %zu, call %zu: driven by %s (%+.2f nats a token", s->turn,
                call->call + 1, cf_guard_driver_name(call->driver), call->score);
    if (call->source != SIZE_MAX) {
        cf_buf_addf(&s->out, ", the result in message %zu", call->source + 1);
    }
    cf_buf_adds(&s->out, ")\n");
}

static cf_status run_guard(study *s, cf_error *err)
{
    size_t n = json_array_size(s->c.messages);
    CF_TRY(cf_guard_reply(&s->c, n, &s->engine, &s->scorer, on_call, s, err));
    if (s->n_call == 0) {
        cf_buf_addf(&s->out,
                    "turn %zu has no call after a tool's result: nothing could have driven it\n",
                    s->turn);
    }
    return CF_OK;
}

static cf_status run(void *ud, cf_runner *runner, cf_error *err)
{
    study *s = ud;
    (void)runner;
    if (s->kind == STUDY_GUARD) {
        return run_guard(s, err);
    }
    CF_TRY(settle(s, err));
    return s->kind == STUDY_SHRINK ? run_shrink(s, err) : run_bisect(s, err);
}

static void progress(const void *ud, cf_buf *out)
{
    const study *s = ud;
    size_t n_runs = s->n_runs, n_left = s->n_left;
    cf_buf_addf(out, "turn %zu", s->turn);
    if (n_runs > 0) {
        cf_buf_addf(out, ", %zu asked", n_runs);
    }
    if (n_left > 0) {
        cf_buf_addf(out, ", %zu parts left", n_left);
    }
}

/* ---- the end ------------------------------------------------------------ */

/* What is left as a saved conversation with the tag "shrunk". */
static cf_status save_shrunk(study *s, cf_uuid *id, cf_error *err)
{
    cf_store *store = s->app->store;
    cf_buf text = CF_BUF_INIT, title = CF_BUF_INIT;
    cf_import_report report = {0};
    const cf_store_query q = {.tag = cf_str_from("shrunk"), .sort = CF_SORT_CREATED, .limit = 1};
    const cf_store_conv *rows;
    size_t n = 0;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_json_write(&text, s->shrink.context);
    cf_buf_addc(&text, '\n');
    cf_buf_addf(&title, "shrunk: %s", cf_lab_title(s->app->lab));
    const cf_import_options o = {.format = CF_FORMAT_OPENAI,
                                 .name = "what shrink left",
                                 .tag = "shrunk",
                                 .title = cf_buf_cstr(&title)};
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, cf_import_bytes(store, text.p, text.n, &o, &report, err));
    CF_THEN(st, cf_store_list(store, &q, &arena, &rows, &n, err));
    if (st == CF_OK && (n == 0 || report.n_new == 0)) {
        st = cf_fail(err, CF_EFORMAT, "no message is needed for it: it fails whatever is asked");
    }
    if (st == CF_OK) {
        *id = rows[0].id;
        cf_lab_add_undo(s->app->lab, CF_LAB_UNDO_STORE, (cf_uuid){{0}});
    }
    cf_arena_deinit(&arena);
    cf_buf_deinit(&text);
    cf_buf_deinit(&title);
    return st;
}

static size_t count(const json_t *context, const char *key)
{
    return json_array_size(json_object_get(context, key));
}

/* The result beside the original in Diff. */
static void show_shrunk(study *s)
{
    cf_app *app = s->app;
    cf_uuid id;
    cf_error err;
    cf_buf what = CF_BUF_INIT;
    put_predicate(s, &what);
    cf_status st = save_shrunk(s, &id, &err);
    if (st == CF_OK) {
        cf_lab_mark(app->lab, 0, cf_lab_conv_id(app->lab));
        cf_lab_mark(app->lab, 1, id);
        cf_app_stale(app);
        cf_app_show(app, CF_VIEW_DIFF, &(cf_target){.kind = CF_TARGET_MARKED});
        cf_app_say(app, CF_STYLE_OK,
                   "turn %zu, %s: %zu of %zu messages and %zu of %zu tools are left after %zu "
                   "runs; B has them, :shrink -o DIR writes a report",
                   s->turn, cf_buf_cstr(&what), count(s->shrink.context, "messages"),
                   count(s->context, "messages"), count(s->shrink.context, "tools"),
                   count(s->context, "tools"), s->shrink.n_runs);
    } else {
        cf_app_error(app, &err);
    }
    cf_buf_deinit(&what);
    cf_cmd_study_close(app);
    app->shrunk = s;
    s->is_kept = true;
}

static void on_end(void *ud, cf_status status, const cf_error *err)
{
    study *s = ud;
    (void)err; /* cf_lab_poll() reports it */
    if (status != CF_OK) {
        return;
    }
    if (s->kind == STUDY_SHRINK) {
        show_shrunk(s);
        return;
    }
    cf_buf_restart(&s->app->output);
    cf_buf_add(&s->app->output, cf_buf_cstr(&s->out), s->out.n);
    cf_app_open_view(s->app, CF_VIEW_OUTPUT);
}

/* ---- the start ---------------------------------------------------------- */

/* The reply under the cursor of the view, or the one after the turn there; else
 * the last one of the path.  *number counts turns from 1. */
static const cf_turn *find_reply(cf_app *app, size_t *number)
{
    size_t n, at = 0;
    const cf_view_ops *view = cf_views[cf_app_view(app)];
    const cf_turn *under = view->turn != NULL ? view->turn(app) : NULL;
    const cf_turn *const *path = cf_lab_path(app->lab, &n), *last = NULL;
    while (at < n && path[at] != under) {
        at++;
    }
    for (size_t i = 0; i < n && (last == NULL || i <= at || *number <= at); i++) {
        if (cf_str_is(cf_json_get_str(path[i]->message, "role"), "assistant")) {
            last = path[i];
            *number = i + 1;
        }
    }
    return last;
}

/* The conversation that is marked A, without its last answer. */
static cf_status load_good(study *s, cf_error *err)
{
    char id[CF_UUID_TEXT + 1];
    cf_uuid good = cf_lab_marked(s->app->lab, 0);
    bool is_this = cf_uuid_eq(good, cf_lab_conv_id(s->app->lab));
    if (cf_uuid_is_nil(good) || is_this) {
        return cf_fail(err, CF_ENOTFOUND,
                       "bisect compares this bad conversation with a good one%s: mark that one "
                       "with A in the Library (6)",
                       is_this ? ", and A is this one itself" : "");
    }
    cf_uuid_format(id, good);
    CF_TRY(cf_study_case_whole(&s->good, s->app->store, &s->engine, id, err));
    size_t n = json_array_size(s->good.messages);
    cf_str role = cf_json_get_str(json_array_get(s->good.messages, n - 1), "role");
    return n == 0 || !cf_str_is(role, "assistant") ||
                   json_array_remove(s->good.messages, n - 1) == 0
               ? CF_OK
               : cf_oom(err);
}

static cf_status fill(study *s, const cf_turn *turn, cf_error *err)
{
    cf_lab *lab = s->app->lab;
    CF_TRY(cf_study_case_of_lab(&s->c, &s->engine, &s->own, lab, s->app->store, turn->id, err));
    if (s->kind == STUDY_GUARD) {
        return cf_study_scorer_init(&s->scorer, s->engine.backend, s->app->store,
                                    cf_lab_cancel_flag(lab), err);
    }
    const cf_part_context context = cf_study_context_of(&s->c);
    s->context = cf_study_context_json(&context);
    if (s->context == NULL) {
        return cf_oom(err);
    }
    if (s->app->store == NULL) {
        return cf_fail(err, CF_ENOTFOUND, "history is off: the result would have no place");
    }
    return s->kind == STUDY_BISECT ? load_good(s, err) : CF_OK;
}

static void start(cf_app *app, study_kind kind, const char *condition)
{
    cf_error err;
    size_t number = 0;
    const cf_turn *turn = find_reply(app, &number);
    study *s = cf_calloc(1, sizeof *s);
    cf_status st = cf_lab_need_idle(app->lab, &err);
    if (st == CF_OK && turn == NULL) {
        st = cf_fail(&err, CF_ENOTFOUND,
                     "there is no reply here yet to ask about: i writes a message");
    }
    if (s == NULL || st != CF_OK) {
        cf_free(s);
        if (st == CF_OK) {
            cf_ignore(cf_oom(&err));
        }
        cf_app_error(app, &err);
        return;
    }
    s->app = app;
    s->kind = kind;
    s->turn = number;
    snprintf(s->condition, sizeof s->condition, "%s", condition);
    cf_study_case_init(&s->c);
    cf_study_case_init(&s->good);
    const cf_task task = {.name = kind_names[kind],
                          .run = run,
                          .end = on_end,
                          .drop = drop,
                          .progress = progress,
                          .ud = s};
    st = fill(s, turn, &err);
    if (st != CF_OK) {
        free_study(s);
    } else {
        st = cf_lab_start_task(app->lab, &task, &err); /* drops s where it fails */
    }
    if (st != CF_OK) {
        cf_app_error(app, &err);
    }
}

/* Writes the files of the last one into a folder. */
static void write_files(cf_app *app, const char *folder)
{
    cf_error err;
    cf_buf names = CF_BUF_INIT, path = CF_BUF_INIT;
    cf_paths_expand(&path, folder);
    cf_status st = app->shrunk != NULL
                       ? cf_app_may(app, &err)
                       : cf_fail(&err, CF_ENOTFOUND, "nothing was shrunk yet: :shrink on a reply");
    CF_THEN(st, cf_buf_check(&path, &err));
    CF_THEN(st, cf_lab_need_idle(app->lab, &err));
    CF_THEN(st, cf_os_make_dirs(cf_buf_cstr(&path), &err));
    CF_THEN(st, cf_shrink_write(&app->shrunk->shrink, cf_buf_cstr(&path), &names, &err));
    if (st == CF_OK) {
        cf_app_say(app, CF_STYLE_OK, "%s has ISSUE.md and what reproduces it", cf_buf_cstr(&path));
    } else {
        cf_app_error(app, &err);
    }
    cf_buf_deinit(&names);
    cf_buf_deinit(&path);
}

void cf_cmd_shrink_here(cf_app *app, const char *arg)
{
    if (strncmp(arg, "-o ", 3) == 0) {
        write_files(app, arg + 3 + strspn(arg + 3, " "));
    } else {
        start(app, STUDY_SHRINK, arg);
    }
}

void cf_cmd_bisect_here(cf_app *app, const char *arg)
{
    start(app, STUDY_BISECT, arg);
}

void cf_cmd_guard_here(cf_app *app, const char *arg)
{
    (void)arg;
    start(app, STUDY_GUARD, "");
}
