/*
 * tool_servers.c - a thread that steps the servers, and the interface's copy
 * of what they are.
 *
 * 1. Whoever holds `mcp_lock` may use the servers.  The thread gives it up
 *    when `n_wanted` says that a call waits for it.
 * 2. `lock` guards `fresh`, `todo`, the question and the progress, and is
 *    never held while something waits.
 * 3. Items, approvals and `shown` belong to the interface thread.
 * 4. The servers have the order in which they were asked to be added, so that
 *    the index that an item was given is the one of its server: one that
 *    cannot be added yet is tried again before anything else is done.
 */
#include "tui/lab/tools/tool_servers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/worker.h"
#include "core/json/json_builder.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/tools/approvals.h"
#include "tui/lab/tools/lab_tools.h"
#include "tui/lab/tools/tool_cost.h"

enum { STEP_MS = 500, LOOK_MS = 100 };

/* A server as it was when something about it changed. */
typedef struct copied_server {
    cf_mcp_state state;
    char *error, *protocol, *instructions;
    json_t *tools, *prompts, *resources;
} copied_server;

typedef struct copied {
    copied_server *v; /* [n], in the order of cf_mcp */
    size_t n;
} copied;

/* What is known of a tool beside its declaration. */
typedef struct tool_state {
    char *name;
    bool is_off;
    bool has_changed; /* and is not accepted yet */
    int64_t tokens;   /* -1: not known */
} tool_state;

/* A server as the interface knows it. */
typedef struct item {
    json_t *config;
    size_t index; /* in the servers; SIZE_MAX: waits for a yes */
    bool is_off;
    tool_state *tool; /* [n_tool] */
    size_t n_tool, cap_tool;
} item;

typedef struct todo {
    enum { TODO_ADD, TODO_START, TODO_STOP } kind;
    size_t index;
    json_t *config; /* to be added; else NULL */
} todo;

struct cf_tool_servers {
    cf_lab *lab;
    cf_store *store;
    cf_tool_links *links;
    cf_approvals approvals;
    cf_worker *worker; /* its cancel flag ends the one job that it has */

    pthread_mutex_t mcp_lock;
    pthread_cond_t mcp_free;
    atomic_int n_wanted;

    pthread_mutex_t lock;
    pthread_cond_t answered;
    copied *fresh;  /* NULL: nothing new */
    bool must_copy; /* memory did not suffice for it */
    todo *todo;     /* [n_todo] */
    size_t n_todo, cap_todo;
    json_t *question, *answer;
    size_t question_server;
    bool has_answer;
    cf_cancel *call_cancel; /* of the call that runs; NULL */
    char progress[160];
    cf_buf changes; /* how lists of tools changed, for the user */
    bool has_news;  /* lines of the log, a question, progress */

    item *item;
    size_t n_item, cap_item, n_added;
    copied *shown;  /* as `fresh`, taken over; NULL: nothing yet */
    json_t *others; /* declarations that are not ours */
    json_t *map;    /* of cf_mcp_declare() */
    bool must_compare, must_declare, must_count;
    struct counting *counting; /* the task that counts; NULL */
    cf_error said;             /* why the tools cannot be declared */
};

/* ---- the thread --------------------------------------------------------- */

static bool is_closing(const cf_tool_servers *s)
{
    return s->worker == NULL ||
           atomic_load_explicit(cf_worker_cancel_flag(s->worker), memory_order_relaxed);
}

/* Servers report their end also when the worker is gone. */
static void wake(cf_tool_servers *s)
{
    if (s->worker != NULL) {
        cf_worker_nudge(s->worker);
    }
}

static void free_copied(copied *c)
{
    for (size_t i = 0; c != NULL && i < c->n; i++) {
        cf_free(c->v[i].error);
        cf_free(c->v[i].protocol);
        cf_free(c->v[i].instructions);
        json_decref(c->v[i].tools);
        json_decref(c->v[i].prompts);
        json_decref(c->v[i].resources);
    }
    if (c != NULL) {
        cf_free(c->v);
    }
    cf_free(c);
}

static bool copy_server(copied_server *to, const cf_mcp_server *from)
{
    *to = (copied_server){.state = from->state,
                          .error = cf_strdup(from->error),
                          .protocol = cf_strdup(from->protocol),
                          .instructions = cf_strndup(from->instructions.p, from->instructions.n),
                          .tools = cf_json_deep_copy(from->tools),
                          .prompts = cf_json_deep_copy(from->prompts),
                          .resources = cf_json_deep_copy(from->resources)};
    return to->error != NULL && to->protocol != NULL && to->instructions != NULL &&
           to->tools != NULL && (to->prompts != NULL || from->prompts == NULL) &&
           (to->resources != NULL || from->resources == NULL);
}

/* All servers; NULL when memory ran out. */
static copied *copy_servers(const cf_mcp *mcp)
{
    copied *c = cf_calloc(1, sizeof *c);
    bool ok = c != NULL && (c->v = cf_calloc(cf_mcp_n(mcp) + 1, sizeof *c->v)) != NULL;
    for (size_t i = 0; ok && i < cf_mcp_n(mcp); i++) {
        cf_mcp_server from = cf_mcp_server_at(mcp, i);
        c->n++;
        ok = copy_server(&c->v[i], &from);
    }
    if (!ok) {
        free_copied(c);
        return NULL;
    }
    return c;
}

/* Hands all servers over, or notes that this is to be done again. */
static void renew(cf_tool_servers *s)
{
    copied *now = copy_servers(cf_tool_links_mcp(s->links));
    pthread_mutex_lock(&s->lock);
    s->must_copy = now == NULL;
    if (now != NULL) {
        free_copied(s->fresh);
        s->fresh = now;
    }
    s->has_news = true;
    pthread_mutex_unlock(&s->lock);
}

static void set_progress(cf_tool_servers *s, const cf_mcp_event *ev)
{
    int n = snprintf(s->progress, sizeof s->progress, "%g", ev->progress);
    if (ev->total >= 0 && n > 0) {
        n += snprintf(s->progress + n, sizeof s->progress - (size_t)n, " of %g", ev->total);
    }
    if (n > 0 && (size_t)n < sizeof s->progress) {
        snprintf(s->progress + n, sizeof s->progress - (size_t)n, "  %.*s",
                 (int)(ev->text.n < 100 ? ev->text.n : 100), ev->text.p);
    }
}

static void on_event(void *ud, const cf_mcp_event *ev)
{
    cf_tool_servers *s = ud;
    if (ev->kind == CF_MCP_STATE || ev->kind == CF_MCP_TOOLS) {
        renew(s);
    }
    pthread_mutex_lock(&s->lock);
    if (ev->kind == CF_MCP_TOOLS && ev->before != NULL) {
        cf_mcp_server of = cf_mcp_server_at(cf_tool_links_mcp(s->links), ev->server);
        cf_buf_addf(&s->changes, "the tools of %.*s changed\n", (int)of.name.n, of.name.p);
        cf_mcp_tools_diff(&s->changes, ev->before, of.tools);
    } else if (ev->kind == CF_MCP_PROGRESS) {
        set_progress(s, ev);
    }
    s->has_news = true;
    pthread_mutex_unlock(&s->lock);
    wake(s);
}

static void wait_a_moment(pthread_cond_t *cond, pthread_mutex_t *lock)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)LOOK_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(cond, lock, &until);
}

/* Waits for the user, on the thread that steps.  A question that memory does not suffice
 * for is cancelled: nobody could answer it. */
static void on_ask(void *ud, size_t server, const json_t *params, json_t **answer)
{
    cf_tool_servers *s = ud;
    pthread_mutex_lock(&s->lock);
    s->question = cf_json_deep_copy(params);
    s->question_server = server;
    s->has_answer = false;
    s->has_news = true;
    pthread_mutex_unlock(&s->lock);
    wake(s);
    pthread_mutex_lock(&s->lock);
    while (
        s->question != NULL && !s->has_answer && !is_closing(s) &&
        (s->call_cancel == NULL || !atomic_load_explicit(s->call_cancel, memory_order_relaxed))) {
        wait_a_moment(&s->answered, &s->lock);
    }
    *answer = s->has_answer ? s->answer : json_pack("{s:s}", "action", "cancel");
    s->answer = NULL;
    json_decref(s->question);
    s->question = NULL;
    s->has_news = true;
    pthread_mutex_unlock(&s->lock);
    wake(s);
}

/* ---- sign-ins ----------------------------------------------------------- */

/* Asked as a server's own question is. */
static cf_status may_sign_in(void *ud, size_t server, cf_str issuer, cf_str scopes, cf_error *err)
{
    cf_tool_servers *s = ud;
    cf_buf text = CF_BUF_INIT;
    json_t *answer = NULL;
    cf_buf_addf(&text, "Sign in at %.*s with the browser? Scopes: %.*s", (int)issuer.n, issuer.p,
                scopes.n > 0 ? (int)scopes.n : 4, scopes.n > 0 ? scopes.p : "none");
    json_t *params = text.failed
                         ? NULL
                         : json_pack("{s:s%, s:{s:s, s:{}}}", "message", cf_buf_cstr(&text), text.n,
                                     "requestedSchema", "type", "object", "properties");
    cf_buf_deinit(&text);
    if (params == NULL) {
        return cf_oom_for(err, "a question");
    }
    on_ask(s, server, params, &answer);
    bool is_yes = cf_str_is(cf_json_get_str(answer, "action"), "accept");
    json_decref(answer);
    json_decref(params);
    return is_yes ? CF_OK : cf_fail(err, CF_ECANCELLED, "it was not to be signed in to");
}

static void show_address(void *ud, size_t server, const char *address)
{
    cf_tool_servers *s = ud;
    cf_str name = cf_mcp_server_at(cf_tool_links_mcp(s->links), server).name;
    pthread_mutex_lock(&s->lock);
    cf_buf_addf(&s->changes, "sign in to %.*s in the browser, at %s\n", (int)name.n, name.p,
                address);
    s->has_news = true;
    pthread_mutex_unlock(&s->lock);
    wake(s);
}

static bool must_stop(void *ud)
{
    cf_tool_servers *s = ud;
    pthread_mutex_lock(&s->lock);
    bool is_off =
        s->call_cancel != NULL && atomic_load_explicit(s->call_cancel, memory_order_relaxed);
    pthread_mutex_unlock(&s->lock);
    return is_off || is_closing(s);
}

/* ---- what is to be done ------------------------------------------------- */

static cf_status do_one(cf_mcp *mcp, const todo *t, cf_error *err)
{
    size_t index;
    switch (t->kind) {
    case TODO_ADD:
        return cf_mcp_add(mcp, t->config, &index, err);
    case TODO_START:
        return cf_mcp_restart(mcp, t->index, err);
    case TODO_STOP:
        cf_mcp_stop(mcp, t->index);
        break;
    }
    return CF_OK;
}

/* Does what is to be done, in order, up to what cannot be added yet. */
static void do_todo(cf_tool_servers *s)
{
    cf_error err;
    cf_status st = CF_OK;
    pthread_mutex_lock(&s->lock);
    while (s->n_todo > 0 && st != CF_ENOMEM) {
        todo t = s->todo[0];
        pthread_mutex_unlock(&s->lock);
        st = do_one(cf_tool_links_mcp(s->links), &t, &err);
        pthread_mutex_lock(&s->lock);
        if (st != CF_OK) {
            cf_buf_addf(&s->changes, "%s\n", err.text);
            s->has_news = true;
        }
        if (st != CF_ENOMEM || t.kind != TODO_ADD) {
            json_decref(t.config);
            s->n_todo--;
            memmove(s->todo, s->todo + 1, s->n_todo * sizeof *s->todo);
        }
    }
    pthread_mutex_unlock(&s->lock);
}

/* Copies the servers where the last change could not be. */
static void catch_up(cf_tool_servers *s)
{
    pthread_mutex_lock(&s->lock);
    bool must_copy = s->must_copy;
    pthread_mutex_unlock(&s->lock);
    if (must_copy) {
        renew(s);
        wake(s);
    }
}

static void pump(cf_worker *worker, void *ud)
{
    cf_tool_servers *s = ud;
    (void)worker;
    pthread_mutex_lock(&s->mcp_lock);
    while (!is_closing(s)) {
        cf_error err;
        while (atomic_load(&s->n_wanted) > 0 && !is_closing(s)) {
            wait_a_moment(&s->mcp_free, &s->mcp_lock);
        }
        do_todo(s);
        catch_up(s);
        /* What goes wrong is the state of a server. */
        cf_ignore(cf_mcp_step(cf_tool_links_mcp(s->links), STEP_MS, &err));
    }
    pthread_mutex_unlock(&s->mcp_lock);
}

/* False when memory ran out. */
static bool put_todo(cf_tool_servers *s, todo what)
{
    pthread_mutex_lock(&s->lock);
    bool ok = cf_grow(&s->todo, &s->cap_todo, s->n_todo + 1, sizeof *s->todo);
    if (ok) {
        json_incref(what.config);
        s->todo[s->n_todo++] = what;
    }
    pthread_mutex_unlock(&s->lock);
    cf_mcp_wake(cf_tool_links_mcp(s->links));
    return ok;
}

/* ---- making ------------------------------------------------------------- */

cf_status cf_tool_servers_new(cf_tool_servers **out, cf_lab *lab, cf_store *store, cf_error *err)
{
    cf_tool_servers *s = cf_calloc(1, sizeof *s);
    if (s == NULL) {
        return cf_oom_for(err, "the tool servers");
    }
    s->lab = lab;
    s->store = store;
    pthread_mutex_init(&s->mcp_lock, NULL);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->mcp_free, NULL);
    pthread_cond_init(&s->answered, NULL);
    cf_approvals_init(&s->approvals, store);
    s->map = json_array();
    const cf_sign_in_options sign_in = {
        .may = may_sign_in, .show = show_address, .must_stop = must_stop, .ud = s};
    const cf_tool_links_options o = {.store = store,
                                     .listens = true,
                                     .event = on_event,
                                     .ask = on_ask,
                                     .sign_in = &sign_in,
                                     .ud = s};
    cf_status st = s->map != NULL ? cf_tool_links_new(&s->links, &o, err)
                                  : cf_oom_for(err, "the tool servers");
    CF_THEN(st, cf_worker_new(&s->worker, err));
    CF_THEN(st, cf_worker_start(s->worker, pump, s, err));
    if (st != CF_OK) {
        cf_tool_servers_free(s);
        return st;
    }
    cf_tool_servers_set_others(s, cf_lab_engine_of(lab)->tools);
    *out = s;
    return CF_OK;
}

void cf_tool_servers_free(cf_tool_servers *s)
{
    if (s == NULL) {
        return;
    }
    if (s->counting != NULL) {
        cf_lab_end_task(s->lab, s->counting);
    }
    if (s->worker != NULL) {
        cf_worker_cancel(s->worker);
        cf_mcp_wake(cf_tool_links_mcp(s->links));
        cf_worker_free(s->worker, NULL);
        s->worker = NULL;
    }
    cf_tool_links_free(s->links);
    for (size_t i = 0; i < s->n_item; i++) {
        for (size_t k = 0; k < s->item[i].n_tool; k++) {
            cf_free(s->item[i].tool[k].name);
        }
        cf_free(s->item[i].tool);
        json_decref(s->item[i].config);
    }
    for (size_t i = 0; i < s->n_todo; i++) {
        json_decref(s->todo[i].config);
    }
    cf_free(s->todo);
    free_copied(s->fresh);
    free_copied(s->shown);
    cf_approvals_deinit(&s->approvals);
    cf_free(s->item);
    cf_buf_deinit(&s->changes);
    json_decref(s->question);
    json_decref(s->answer);
    json_decref(s->others);
    json_decref(s->map);
    pthread_mutex_destroy(&s->mcp_lock);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->mcp_free);
    pthread_cond_destroy(&s->answered);
    cf_free(s);
}

void cf_tool_servers_wake_with(cf_tool_servers *s, int fd)
{
    cf_worker_wake_with(s->worker, fd);
}

cf_tool_links *cf_tool_servers_log(cf_tool_servers *s)
{
    return s->links;
}

/* ---- what is shown ------------------------------------------------------ */

/* NULL: it is not started yet. */
static const copied_server *shown_at(const cf_tool_servers *s, size_t i)
{
    size_t index = s->item[i].index;
    return s->shown != NULL && index < s->shown->n ? &s->shown->v[index] : NULL;
}

static const json_t *tools_at(const cf_tool_servers *s, size_t i)
{
    const copied_server *seen = shown_at(s, i);
    return seen != NULL ? seen->tools : NULL;
}

static tool_state *find_tool(const item *it, cf_str name)
{
    for (size_t k = 0; k < it->n_tool; k++) {
        if (cf_str_is(name, it->tool[k].name)) {
            return &it->tool[k];
        }
    }
    return NULL;
}

/* The same, made where there is none; NULL when memory ran out. */
static tool_state *need_tool(item *it, cf_str name)
{
    tool_state *known = find_tool(it, name);
    if (known != NULL || !cf_grow(&it->tool, &it->cap_tool, it->n_tool + 1, sizeof *it->tool)) {
        return known;
    }
    char *copy = cf_strndup(name.p, name.n);
    if (copy == NULL) {
        return NULL;
    }
    it->tool[it->n_tool] = (tool_state){.name = copy, .tokens = -1};
    return &it->tool[it->n_tool++];
}

/* The server as the approvals take it. */
static cf_mcp_server as_server(const cf_tool_servers *s, size_t i)
{
    return (cf_mcp_server){.name = cf_json_get_str(s->item[i].config, "name"),
                           .tools = tools_at(s, i),
                           .config = s->item[i].config};
}

size_t cf_tool_servers_n(const cf_tool_servers *s)
{
    return s->n_item;
}

bool cf_tool_servers_may_call(cf_tool_servers *s, size_t i, cf_str tool)
{
    cf_mcp_server server = as_server(s, i);
    const tool_state *known = find_tool(&s->item[i], tool);
    return !s->must_compare && (known == NULL || !known->has_changed) &&
           cf_approvals_may_call(&s->approvals, cf_lab_conv_id(s->lab), &server, tool);
}

cf_status cf_tool_servers_approve(cf_tool_servers *s, size_t i, cf_str tool, cf_approval scope,
                                  cf_error *err)
{
    cf_mcp_server server = as_server(s, i);
    return cf_approvals_give(&s->approvals, cf_lab_conv_id(s->lab), &server, tool, scope, err);
}

cf_status cf_tool_servers_forbid(cf_tool_servers *s, size_t i, cf_str tool, cf_error *err)
{
    cf_mcp_server server = as_server(s, i);
    return cf_approvals_take_back(&s->approvals, &server, tool, err);
}

static cf_tool_server_state state_of(const item *it, const copied_server *seen)
{
    static const cf_tool_server_state states[] = {CF_TOOL_SERVER_STARTING, CF_TOOL_SERVER_READY,
                                                  CF_TOOL_SERVER_FAILED, CF_TOOL_SERVER_STOPPED};
    return it->index == SIZE_MAX ? CF_TOOL_SERVER_ASKED
           : seen == NULL        ? CF_TOOL_SERVER_STARTING
                                 : states[seen->state];
}

cf_tool_server cf_tool_servers_at(cf_tool_servers *s, size_t i)
{
    const item *it = &s->item[i];
    const copied_server *seen = shown_at(s, i);
    cf_str name = cf_json_get_str(it->config, "name");
    cf_tool_server out = {.name = name,
                          .protocol = cf_str_from(seen != NULL ? seen->protocol : ""),
                          .error = cf_str_from(seen != NULL ? seen->error : ""),
                          .instructions = cf_str_from(seen != NULL ? seen->instructions : ""),
                          .prompts = seen != NULL ? seen->prompts : NULL,
                          .resources = seen != NULL ? seen->resources : NULL,
                          .config = it->config,
                          .state = state_of(it, seen),
                          .is_on = !it->is_off,
                          .is_approved =
                              cf_approvals_has_server(&s->approvals, cf_lab_conv_id(s->lab), name),
                          .n_tools = json_array_size(tools_at(s, i)),
                          .index = it->index,
                          .tokens = -1};
    for (size_t k = 0; k < it->n_tool; k++) {
        if (it->tool[k].tokens >= 0) {
            out.tokens = (out.tokens > 0 ? out.tokens : 0) + it->tool[k].tokens;
        }
    }
    return out;
}

cf_server_tool cf_tool_servers_tool(cf_tool_servers *s, size_t i, size_t k)
{
    const item *it = &s->item[i];
    const json_t *tool = json_array_get(tools_at(s, i), k);
    cf_str name = cf_json_get_str(tool, "name");
    const tool_state *known = find_tool(it, name);
    const tool_state none = {.tokens = -1};
    const tool_state *t = known != NULL ? known : &none;
    return (cf_server_tool){.name = name,
                            .description = cf_json_get_str(tool, "description"),
                            .tool = tool,
                            .is_on = !it->is_off && !t->has_changed && !t->is_off,
                            .has_changed = t->has_changed,
                            .is_approved = cf_tool_servers_may_call(s, i, name),
                            .tokens = t->tokens};
}

/* ---- changes ------------------------------------------------------------ */

cf_status cf_tool_servers_add(cf_tool_servers *s, const json_t *config, cf_error *err)
{
    if (!cf_grow(&s->item, &s->cap_item, s->n_item + 1, sizeof *s->item)) {
        return cf_oom_for(err, "a tool server");
    }
    s->item[s->n_item++] = (item){.config = json_incref(cf_json_ref(config)), .index = SIZE_MAX};
    return CF_OK;
}

void cf_tool_servers_start(cf_tool_servers *s, size_t i)
{
    item *it = &s->item[i];
    if (it->index != SIZE_MAX) {
        (void)put_todo(s, (todo){TODO_START, it->index, NULL});
    } else if (put_todo(s, (todo){TODO_ADD, s->n_added, it->config})) {
        it->index = s->n_added++;
    }
}

void cf_tool_servers_stop(cf_tool_servers *s, size_t i)
{
    if (s->item[i].index != SIZE_MAX) {
        (void)put_todo(s, (todo){TODO_STOP, s->item[i].index, NULL});
    }
}

void cf_tool_servers_switch(cf_tool_servers *s, size_t i, cf_str tool)
{
    item *it = &s->item[i];
    tool_state *t = tool.n > 0 ? need_tool(it, tool) : NULL;
    if (t != NULL) {
        t->is_off = !t->is_off;
    } else if (tool.n == 0) {
        it->is_off = !it->is_off;
    }
    s->must_declare = true;
}

void cf_tool_servers_accept(cf_tool_servers *s, size_t i, size_t k)
{
    const json_t *tool = json_array_get(tools_at(s, i), k);
    tool_state *t = find_tool(&s->item[i], cf_json_get_str(tool, "name"));
    cf_approvals_remember(&s->approvals, cf_json_get_str(s->item[i].config, "name"), tool);
    if (t != NULL) {
        t->has_changed = false;
    }
    s->must_declare = true;
}

void cf_tool_servers_difference(cf_tool_servers *s, size_t i, size_t k, cf_buf *out)
{
    const json_t *tool = json_array_get(tools_at(s, i), k);
    json_t *before;
    cf_tool_news news;
    cf_error ignored; /* without memory the tool is shown as new */
    cf_ignore(cf_approvals_compare(&s->approvals, cf_json_get_str(s->item[i].config, "name"), tool,
                                   &news, &before, &ignored));
    json_t *old = json_pack("[O?]", before), *now = json_pack("[O?]", tool);
    cf_mcp_tools_diff(out, old, now);
    json_decref(old);
    json_decref(now);
    json_decref(before);
}

void cf_tool_servers_set_others(cf_tool_servers *s, const json_t *others)
{
    json_decref(s->others);
    s->others = json_incref(cf_json_ref(others));
    s->must_declare = true;
}

/* ---- declaring ---------------------------------------------------------- */

/* Tools that are not what the user saw wait to be accepted; new ones are
 * remembered.  False when memory ran out: to be done again. */
static bool compare_tools(cf_tool_servers *s, size_t i, cf_buf *notice)
{
    cf_str server = cf_json_get_str(s->item[i].config, "name");
    const json_t *tools = tools_at(s, i);
    for (size_t k = 0; k < json_array_size(tools); k++) {
        const json_t *tool = json_array_get(tools, k);
        cf_str name = cf_json_get_str(tool, "name");
        tool_state *t = need_tool(&s->item[i], name);
        if (t == NULL) {
            return false;
        }
        json_t *before;
        cf_tool_news news;
        cf_error ignored;
        if (cf_approvals_compare(&s->approvals, server, tool, &news, &before, &ignored) != CF_OK) {
            return false;
        }
        t->has_changed = news == CF_TOOL_OTHER;
        if (news == CF_TOOL_OTHER) {
            cf_buf_addf(notice,
                        "tool %.*s of %.*s is not what it was: it is off "
                        "until you accept it\n",
                        (int)name.n, name.p, (int)server.n, server.p);
        } else if (news == CF_TOOL_FIRST_SEEN) {
            cf_approvals_remember(&s->approvals, server, tool);
        }
        json_decref(before);
    }
    return true;
}

/* An item's tools as cf_mcp_declare() takes them. */
static void offer(cf_jb *b, const cf_tool_servers *s, size_t i)
{
    const item *it = &s->item[i];
    const copied_server *seen = shown_at(s, i);
    cf_jb_object(b, NULL);
    if (seen != NULL && seen->state == CF_MCP_READY && !it->is_off) {
        cf_jb_add(b, "name", json_object_get(it->config, "name"));
        cf_jb_add(b, "tools", seen->tools);
        cf_jb_array(b, "off");
        for (size_t k = 0; k < it->n_tool; k++) {
            if (it->tool[k].is_off || it->tool[k].has_changed) {
                cf_jb_text(b, NULL, it->tool[k].name);
            }
        }
        cf_jb_end(b);
    }
    cf_jb_end(b);
}

static cf_status declare(cf_tool_servers *s, cf_error *err)
{
    json_t *servers = NULL, *declared = NULL, *map = NULL;
    cf_jb b = CF_JB_INIT;
    cf_jb_array(&b, NULL);
    for (size_t i = 0; i < s->n_item; i++) {
        offer(&b, s, i);
    }
    cf_jb_end(&b);
    cf_status st = cf_jb_finish(&b, &servers, err);
    CF_THEN(st, cf_mcp_declare(&declared, &map, servers, s->others, err));
    CF_THEN(st, cf_lab_set_tools(s->lab, json_array_size(declared) > 0 ? declared : NULL, err));
    if (st == CF_OK) {
        json_decref(s->map);
        s->map = json_incref(map);
        s->must_declare = false;
        s->must_count = true;
    }
    json_decref(servers);
    json_decref(declared);
    json_decref(map);
    return st;
}

bool cf_tool_servers_find(const cf_tool_servers *s, cf_str name, size_t *i, cf_str *tool)
{
    for (size_t k = 0; k < json_array_size(s->map); k++) {
        const json_t *row = json_array_get(s->map, k);
        if (cf_str_eq(cf_json_get_str(row, "name"), name)) {
            *i = (size_t)json_integer_value(json_object_get(row, "server"));
            *tool = cf_json_get_str(row, "tool");
            return true;
        }
    }
    return false;
}

/* ---- tokens ------------------------------------------------------------- */

typedef struct counting {
    cf_tool_servers *servers;
    cf_backend *backend;
    json_t *declared, *map;
    cf_tool_cost cost;
} counting;

static cf_status count_tokens(void *ud, cf_runner *runner, cf_error *err)
{
    counting *c = ud;
    return cf_tool_cost_measure(&c->cost, c->backend, NULL, c->declared,
                                cf_runner_cancel_flag(runner), err);
}

static void end_counting(void *ud, cf_status status, const cf_error *why)
{
    counting *c = ud;
    cf_tool_servers *s = c->servers;
    size_t first = json_array_size(c->declared) - json_array_size(c->map);
    (void)why;
    s->counting = NULL;
    s->must_count = s->must_count || status == CF_ECANCELLED;
    if (status != CF_OK || json_array_size(c->map) == 0) {
        return;
    }
    for (size_t i = 0; i < s->n_item; i++) {
        for (size_t k = 0; k < s->item[i].n_tool; k++) {
            s->item[i].tool[k].tokens = -1;
        }
    }
    for (size_t k = 0; k < json_array_size(c->map) && first + k < c->cost.n; k++) {
        const json_t *row = json_array_get(c->map, k);
        size_t i = (size_t)json_integer_value(json_object_get(row, "server"));
        tool_state *t = i < s->n_item ? find_tool(&s->item[i], cf_json_get_str(row, "tool")) : NULL;
        if (t != NULL) {
            t->tokens = c->cost.tokens[first + k];
        }
    }
}

static void drop_counting(void *ud)
{
    counting *c = ud;
    cf_tool_cost_deinit(&c->cost);
    cf_backend_free(c->backend);
    json_decref(c->declared);
    json_decref(c->map);
    cf_free(c);
}

static void start_counting(cf_tool_servers *s)
{
    const cf_lab_engine *e = cf_lab_engine_of(s->lab);
    cf_error err;
    counting *c = cf_calloc(1, sizeof *c);
    s->must_count = false;
    if (c == NULL) {
        return;
    }
    c->servers = s;
    c->declared = cf_json_deep_copy(e->tools);
    c->map = cf_json_deep_copy(s->map);
    if (json_array_size(c->map) == 0 || e->tokenizer == NULL ||
        cf_backend_clone(&c->backend, e->backend, &err) != CF_OK) {
        drop_counting(c);
        return;
    }
    const cf_task task = {.name = "counting the tokens of tools",
                          .run = count_tokens,
                          .end = end_counting,
                          .drop = drop_counting,
                          .ud = c,
                          .gives_way = true};
    if (cf_lab_start_task(s->lab, &task, &err) == CF_OK) { /* else drops c */
        s->counting = c;
    } else {
        s->must_count = true;
    }
}

double cf_tool_servers_seconds(const cf_tool_servers *s, int64_t tokens)
{
    double speed = cf_lab_prefill_speed(s->lab);
    return tokens >= 0 && speed > 0 ? (double)tokens / speed : -1;
}

/* ---- polling ------------------------------------------------------------ */

static bool take_fresh(cf_tool_servers *s, cf_buf *notice)
{
    pthread_mutex_lock(&s->lock);
    copied *fresh = s->fresh;
    bool has_news = s->has_news;
    s->fresh = NULL;
    s->has_news = false;
    cf_buf_add(notice, cf_buf_cstr(&s->changes), s->changes.n);
    notice->failed = notice->failed || s->changes.failed;
    cf_buf_restart(&s->changes);
    pthread_mutex_unlock(&s->lock);
    if (fresh != NULL) {
        free_copied(s->shown);
        s->shown = fresh;
        s->must_compare = s->must_declare = true;
    }
    return has_news || fresh != NULL;
}

bool cf_tool_servers_poll(cf_tool_servers *s, cf_buf *notice)
{
    bool has_changed = take_fresh(s, notice);
    if (s->must_compare) {
        s->must_compare = false;
        for (size_t i = 0; i < s->n_item; i++) {
            s->must_compare = !compare_tools(s, i, notice) || s->must_compare;
        }
    }
    bool is_idle = !cf_lab_is_busy(s->lab) && cf_lab_task_name(s->lab) == NULL;
    /* Counting gives way. */
    if (s->must_declare && !s->must_compare && (is_idle || s->counting != NULL)) {
        has_changed = true;
        if (declare(s, &s->said) != CF_OK) {
            s->must_declare = false;
            cf_buf_addf(notice, "%s\n", s->said.text);
        }
    }
    if (s->must_count && is_idle && s->counting == NULL) {
        start_counting(s);
    }
    if (cf_lab_is_stored(s->lab)) {
        cf_tool_links_keep(s->links, cf_lab_conv_id(s->lab));
    }
    return has_changed;
}

/* ---- calls -------------------------------------------------------------- */

static void set_call(cf_tool_servers *s, cf_cancel *cancel)
{
    pthread_mutex_lock(&s->lock);
    s->call_cancel = cancel;
    s->progress[0] = '\0';
    pthread_mutex_unlock(&s->lock);
}

static cf_status call_locked(cf_tool_servers *s, size_t index, cf_str tool, const json_t *arguments,
                             uint32_t timeout_ms, cf_cancel *cancel, cf_buf *text, cf_error *err)
{
    cf_mcp *mcp = cf_tool_links_mcp(s->links);
    cf_mcp_result r;
    const cf_mcp_call_options o = {.timeout_ms = timeout_ms, .cancel = cancel};
    do_todo(s); /* it may be about to be started */
    if (index >= cf_mcp_n(mcp)) {
        return cf_fail(err, CF_ENOTFOUND, "the server was not started");
    }
    if (cf_mcp_server_at(mcp, index).state == CF_MCP_FAILED) {
        CF_TRY(cf_mcp_restart(mcp, index, err));
    }
    CF_TRY(cf_mcp_settle(mcp, cancel, err));
    CF_TRY(cf_mcp_refresh(mcp, cancel, err));
    CF_TRY(cf_mcp_call(mcp, index, tool, arguments, &o, &r, err));
    bool is_bad = r.is_error || !r.is_sent;
    json_t *content = cf_mcp_result_content(&r);
    if (is_bad || !json_is_array(content)) {
        cf_mcp_result_text(&r, text);
    } else {
        cf_json_write(text, content);
    }
    json_decref(content);
    cf_mcp_result_deinit(&r);
    CF_TRY(cf_buf_check(text, err));
    return is_bad ? cf_fail(err, CF_EIO, "%.200s", cf_buf_cstr(text)) : CF_OK;
}

cf_status cf_tool_servers_call(cf_tool_servers *s, size_t index, cf_str tool,
                               const json_t *arguments, uint32_t timeout_ms, cf_cancel *cancel,
                               cf_buf *text, cf_error *err)
{
    set_call(s, cancel);
    atomic_fetch_add(&s->n_wanted, 1);
    cf_mcp_wake(cf_tool_links_mcp(s->links));
    pthread_mutex_lock(&s->mcp_lock);
    cf_status st = call_locked(s, index, tool, arguments, timeout_ms, cancel, text, err);
    atomic_fetch_sub(&s->n_wanted, 1);
    pthread_cond_signal(&s->mcp_free);
    pthread_mutex_unlock(&s->mcp_lock);
    set_call(s, NULL);
    return st;
}

void cf_tool_servers_progress(cf_tool_servers *s, cf_buf *out)
{
    pthread_mutex_lock(&s->lock);
    cf_buf_adds(out, s->progress);
    pthread_mutex_unlock(&s->lock);
}

/* ---- questions ---------------------------------------------------------- */

json_t *cf_tool_servers_question(cf_tool_servers *s, cf_str *server)
{
    pthread_mutex_lock(&s->lock);
    json_t *q = s->has_answer ? NULL : cf_json_deep_copy(s->question);
    size_t index = s->question_server;
    pthread_mutex_unlock(&s->lock);
    *server = cf_str_from("");
    for (size_t i = 0; i < s->n_item; i++) {
        if (s->item[i].index == index) {
            *server = cf_json_get_str(s->item[i].config, "name");
        }
    }
    return q;
}

void cf_tool_servers_answer(cf_tool_servers *s, json_t *answer)
{
    pthread_mutex_lock(&s->lock);
    if (s->question != NULL && !s->has_answer) {
        s->answer = answer;
        s->has_answer = true;
        answer = NULL;
        pthread_cond_signal(&s->answered);
    }
    pthread_mutex_unlock(&s->lock);
    json_decref(answer);
}
