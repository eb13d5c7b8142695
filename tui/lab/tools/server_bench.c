/*
 * server_bench.c - a thread that steps the servers, and the interface's copy
 * of what they are.
 *
 * 1. Whoever holds `mcp_lock` may use the servers.  The thread gives it up
 *    when `n_wanted` says that a call waits for it.
 * 2. `lock` guards `fresh`, `todo`, the question and the progress, and is
 *    never held while something waits.
 * 3. Items, approvals and `shown` belong to the interface thread.
 */
#include "tui/lab/tools/server_bench.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/tools/lab_tools.h"
#include "tui/lab/tools/tool_cost.h"

enum { STEP_MS = 500, LOOK_MS = 100, KEY_SIZE = 700 };

/* A server as the interface knows it. */
typedef struct item {
    json_t *config;
    size_t index; /* in the servers; SIZE_MAX: waits for a yes */
    bool is_off;
    json_t *off;     /* object: names of tools that are off */
    json_t *changed; /* object: names of tools that are not accepted */
    json_t *tokens;  /* object: by tool */
} item;

typedef enum todo_kind { TODO_ADD, TODO_START, TODO_STOP } todo_kind;

struct cf_server_bench {
    cf_lab *lab;
    cf_store *store;
    cf_servers *servers;
    pthread_t thread;
    bool has_thread;
    atomic_int wake_fd;
    atomic_bool is_closing;

    pthread_mutex_t mcp_lock;
    pthread_cond_t mcp_free;
    atomic_int n_wanted;

    pthread_mutex_t lock;
    pthread_cond_t answered;
    json_t *fresh; /* array by index; NULL: nothing new */
    json_t *todo;  /* array of {"kind","index","config"} */
    json_t *question, *answer;
    size_t question_server;
    bool has_answer;
    cf_cancel *call_cancel; /* of the call that runs; NULL */
    char progress[160];
    cf_buf changes; /* how lists of tools changed, for the user */
    bool has_news;  /* lines of the log, a question, progress */

    item *item;
    size_t n_item, cap_item, n_added;
    json_t *shown;    /* as `fresh`, taken over */
    json_t *others;   /* declarations that are not ours */
    json_t *map;      /* of cf_mcp_declare() */
    json_t *approved; /* object: for conversations */
    bool must_declare, must_count;
    struct counting *counting; /* the task that counts; NULL */
    cf_error said;             /* why the tools cannot be declared */
};

/* ---- the thread --------------------------------------------------------- */

static void wake(cf_server_bench *b)
{
    int fd = atomic_load(&b->wake_fd);
    if (fd >= 0) {
        char c = 0;
        ssize_t n = write(fd, &c, 1);
        (void)n; /* a full pipe wakes too */
    }
}

static void *pump(void *arg);

/* All servers as a tree of our own. */
static json_t *picture(cf_server_bench *b)
{
    cf_mcp *mcp = cf_servers_mcp(b->servers);
    json_t *list = json_array();
    for (size_t i = 0; i < cf_mcp_n(mcp); i++) {
        cf_mcp_server s = cf_mcp_server_at(mcp, i);
        json_array_append_new(list, json_pack("{s:i, s:s, s:s, s:o}", "state", (int)s.state,
                                              "error", s.error, "protocol", s.protocol, "tools",
                                              cf_json_deep_copy(s.tools)));
    }
    return list;
}

static void on_event(void *ud, const cf_mcp_event *ev)
{
    cf_server_bench *b = ud;
    bool is_shape = ev->kind == CF_MCP_STATE || ev->kind == CF_MCP_TOOLS;
    json_t *fresh = is_shape ? picture(b) : NULL;
    pthread_mutex_lock(&b->lock);
    if (ev->kind == CF_MCP_TOOLS && ev->before != NULL) {
        cf_mcp_server s = cf_mcp_server_at(cf_servers_mcp(b->servers), ev->server);
        cf_buf_addf(&b->changes, "the tools of %.*s changed\n", (int)s.name.n, s.name.p);
        cf_mcp_tools_diff(&b->changes, ev->before, s.tools);
    }
    if (is_shape) {
        json_decref(b->fresh);
        b->fresh = fresh;
    } else if (ev->kind == CF_MCP_PROGRESS) {
        int n = snprintf(b->progress, sizeof b->progress, "%g", ev->progress);
        if (ev->total >= 0 && n > 0) {
            n += snprintf(b->progress + n, sizeof b->progress - (size_t)n, " of %g", ev->total);
        }
        if (n > 0 && (size_t)n < sizeof b->progress) {
            snprintf(b->progress + n, sizeof b->progress - (size_t)n, "  %.*s",
                     (int)(ev->text.n < 100 ? ev->text.n : 100), ev->text.p);
        }
    }
    b->has_news = true;
    pthread_mutex_unlock(&b->lock);
    wake(b);
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

/* Waits for the user, on the thread that steps. */
static void on_ask(void *ud, size_t server, const json_t *params, json_t **answer)
{
    cf_server_bench *b = ud;
    pthread_mutex_lock(&b->lock);
    b->question = cf_json_deep_copy(params);
    b->question_server = server;
    b->has_answer = false;
    b->has_news = true;
    pthread_mutex_unlock(&b->lock);
    wake(b);
    pthread_mutex_lock(&b->lock);
    while (
        !b->has_answer && !atomic_load(&b->is_closing) &&
        (b->call_cancel == NULL || !atomic_load_explicit(b->call_cancel, memory_order_relaxed))) {
        wait_a_moment(&b->answered, &b->lock);
    }
    *answer = b->has_answer ? b->answer : json_pack("{s:s}", "action", "cancel");
    b->answer = NULL;
    json_decref(b->question);
    b->question = NULL;
    b->has_news = true;
    pthread_mutex_unlock(&b->lock);
    wake(b);
}

static json_t *take_todo(cf_server_bench *b)
{
    pthread_mutex_lock(&b->lock);
    json_t *todo = b->todo;
    b->todo = json_array();
    pthread_mutex_unlock(&b->lock);
    return todo;
}

static void do_todo(cf_server_bench *b)
{
    cf_mcp *mcp = cf_servers_mcp(b->servers);
    json_t *todo = take_todo(b);
    for (size_t i = 0; i < json_array_size(todo); i++) {
        const json_t *t = json_array_get(todo, i);
        size_t index = (size_t)json_integer_value(json_object_get(t, "index"));
        cf_error err;
        cf_status st = CF_OK;
        switch ((todo_kind)json_integer_value(json_object_get(t, "kind"))) {
        case TODO_ADD:
            st = cf_mcp_add(mcp, json_object_get(t, "config"), &index, &err);
            break;
        case TODO_START:
            st = cf_mcp_restart(mcp, index, &err);
            break;
        case TODO_STOP:
            cf_mcp_stop(mcp, index);
            break;
        }
        if (st != CF_OK) {
            pthread_mutex_lock(&b->lock);
            cf_buf_addf(&b->changes, "%s\n", err.text);
            b->has_news = true;
            pthread_mutex_unlock(&b->lock);
        }
    }
    json_decref(todo);
}

static void *pump(void *arg)
{
    cf_server_bench *b = arg;
    pthread_mutex_lock(&b->mcp_lock);
    while (!atomic_load(&b->is_closing)) {
        cf_error err;
        while (atomic_load(&b->n_wanted) > 0 && !atomic_load(&b->is_closing)) {
            wait_a_moment(&b->mcp_free, &b->mcp_lock);
        }
        do_todo(b);
        /* What goes wrong is the state of a server. */
        cf_ignore(cf_mcp_step(cf_servers_mcp(b->servers), STEP_MS, &err));
    }
    pthread_mutex_unlock(&b->mcp_lock);
    return NULL;
}

static void put_todo(cf_server_bench *b, todo_kind kind, size_t index, const json_t *config)
{
    pthread_mutex_lock(&b->lock);
    json_array_append_new(b->todo, json_pack("{s:i, s:I, s:O?}", "kind", (int)kind, "index",
                                             (json_int_t)index, "config", config));
    pthread_mutex_unlock(&b->lock);
    cf_mcp_wake(cf_servers_mcp(b->servers));
}

/* ---- making ------------------------------------------------------------- */

cf_status cf_server_bench_new(cf_server_bench **out, cf_lab *lab, cf_store *store, cf_error *err)
{
    cf_server_bench *b = cf_calloc(1, sizeof *b);
    if (b == NULL) {
        return cf_oom_for(err, "the tool servers");
    }
    b->lab = lab;
    b->store = store;
    atomic_init(&b->wake_fd, -1);
    pthread_mutex_init(&b->mcp_lock, NULL);
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->mcp_free, NULL);
    pthread_cond_init(&b->answered, NULL);
    b->todo = json_array();
    b->shown = json_array();
    b->map = json_array();
    b->approved = json_object();
    const cf_servers_options o = {
        .store = store, .listens = true, .event = on_event, .ask = on_ask, .ud = b};
    cf_status st = b->todo != NULL && b->shown != NULL && b->map != NULL && b->approved != NULL
                       ? cf_servers_new(&b->servers, &o, err)
                       : cf_oom_for(err, "the tool servers");
    CF_THEN(st, cf_os_thread(&b->thread, pump, b, err));
    b->has_thread = st == CF_OK;
    if (st != CF_OK) {
        cf_server_bench_free(b);
        return st;
    }
    cf_server_bench_set_others(b, cf_lab_engine_of(lab)->tools);
    *out = b;
    return CF_OK;
}

void cf_server_bench_free(cf_server_bench *b)
{
    if (b == NULL) {
        return;
    }
    if (b->counting != NULL) {
        cf_lab_end_task(b->lab, b->counting);
    }
    atomic_store(&b->is_closing, true);
    if (b->has_thread) {
        cf_mcp_wake(cf_servers_mcp(b->servers));
        pthread_join(b->thread, NULL);
    }
    cf_servers_free(b->servers);
    for (size_t i = 0; i < b->n_item; i++) {
        json_decref(b->item[i].config);
        json_decref(b->item[i].off);
        json_decref(b->item[i].changed);
        json_decref(b->item[i].tokens);
    }
    cf_free(b->item);
    cf_buf_deinit(&b->changes);
    json_decref(b->fresh);
    json_decref(b->todo);
    json_decref(b->question);
    json_decref(b->answer);
    json_decref(b->shown);
    json_decref(b->others);
    json_decref(b->map);
    json_decref(b->approved);
    pthread_mutex_destroy(&b->mcp_lock);
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->mcp_free);
    pthread_cond_destroy(&b->answered);
    cf_free(b);
}

void cf_server_bench_wake_with(cf_server_bench *b, int fd)
{
    atomic_store(&b->wake_fd, fd);
}

cf_servers *cf_server_bench_log(cf_server_bench *b)
{
    return b->servers;
}

/* ---- what is shown ------------------------------------------------------ */

static const json_t *shown_at(const cf_server_bench *b, size_t i)
{
    return json_array_get(b->shown, b->item[i].index);
}

static bool has_name(const json_t *names, cf_str name)
{
    char key[KEY_SIZE];
    snprintf(key, sizeof key, "%.*s", (int)name.n, name.p);
    return json_object_get(names, key) != NULL;
}

static void put_name(json_t *names, cf_str name, bool is_in)
{
    char key[KEY_SIZE];
    snprintf(key, sizeof key, "%.*s", (int)name.n, name.p);
    if (is_in) {
        json_object_set_new(names, key, json_true());
    } else {
        (void)json_object_del(names, key); /* it may not be there */
    }
}

/* The server as the memory of approvals takes it. */
static cf_mcp_server as_server(const cf_server_bench *b, size_t i)
{
    return (cf_mcp_server){.name = cf_json_get_str(b->item[i].config, "name"),
                           .tools = json_object_get(shown_at(b, i), "tools"),
                           .config = b->item[i].config};
}

size_t cf_server_bench_n(const cf_server_bench *b)
{
    return b->n_item;
}

static bool is_approved_here(const cf_server_bench *b, size_t i, cf_str tool)
{
    char key[KEY_SIZE], id[CF_UUID_TEXT + 1];
    cf_str server = cf_json_get_str(b->item[i].config, "name");
    cf_uuid_format(id, cf_lab_conv_id(b->lab));
    snprintf(key, sizeof key, "%s %.*s/%.*s", id, (int)server.n, server.p, (int)tool.n,
             tool.n > 0 ? tool.p : "");
    return json_object_get(b->approved, key) != NULL;
}

bool cf_server_bench_may_call(cf_server_bench *b, size_t i, cf_str tool)
{
    const cf_str all = {"", 0};
    cf_mcp_server s = as_server(b, i);
    if (has_name(b->item[i].changed, tool)) {
        return false;
    }
    return is_approved_here(b, i, tool) || is_approved_here(b, i, all) ||
           cf_servers_is_approved(b->servers, &s, tool);
}

void cf_server_bench_approve(cf_server_bench *b, size_t i, cf_str tool, cf_bench_scope scope)
{
    char key[KEY_SIZE], id[CF_UUID_TEXT + 1];
    cf_mcp_server s = as_server(b, i);
    if (scope == CF_BENCH_FOR_GOOD) {
        cf_servers_approve(b->servers, &s, tool, true);
    } else if (scope != CF_BENCH_ONCE) {
        bool is_all = scope == CF_BENCH_SERVER;
        cf_uuid_format(id, cf_lab_conv_id(b->lab));
        snprintf(key, sizeof key, "%s %.*s/%.*s", id, (int)s.name.n, s.name.p,
                 is_all ? 0 : (int)tool.n, is_all ? "" : tool.p);
        json_object_set_new(b->approved, key, json_true());
    }
}

void cf_server_bench_forbid(cf_server_bench *b, size_t i, cf_str tool)
{
    cf_mcp_server s = as_server(b, i);
    cf_servers_approve(b->servers, &s, tool, false);
    json_object_clear(b->approved);
}

cf_bench_server cf_server_bench_at(cf_server_bench *b, size_t i)
{
    const item *it = &b->item[i];
    const json_t *s = shown_at(b, i);
    const cf_str all = {"", 0};
    static const cf_bench_state states[] = {CF_BENCH_STARTING, CF_BENCH_READY, CF_BENCH_FAILED,
                                            CF_BENCH_STOPPED};
    int state = (int)json_integer_value(json_object_get(s, "state"));
    cf_bench_server out = {.name = cf_json_get_str(it->config, "name"),
                           .protocol = cf_json_get_str(s, "protocol"),
                           .error = cf_json_get_str(s, "error"),
                           .config = it->config,
                           .state = it->index == SIZE_MAX ? CF_BENCH_ASKED
                                    : s == NULL           ? CF_BENCH_STARTING
                                                          : states[state & 3],
                           .is_on = !it->is_off,
                           .is_approved = is_approved_here(b, i, all),
                           .n_tools = json_array_size(json_object_get(s, "tools")),
                           .index = it->index,
                           .tokens = json_object_size(it->tokens) > 0 ? 0 : -1};
    const char *key;
    json_t *v;
    json_object_foreach(it->tokens, key, v)
    {
        out.tokens += json_integer_value(v);
    }
    return out;
}

cf_bench_tool cf_server_bench_tool(cf_server_bench *b, size_t i, size_t k)
{
    const item *it = &b->item[i];
    const json_t *tool = json_array_get(json_object_get(shown_at(b, i), "tools"), k);
    cf_str name = cf_json_get_str(tool, "name");
    char key[KEY_SIZE];
    snprintf(key, sizeof key, "%.*s", (int)name.n, name.n > 0 ? name.p : "");
    const json_t *tokens = json_object_get(it->tokens, key);
    bool has_changed = has_name(it->changed, name);
    return (cf_bench_tool){.name = name,
                           .description = cf_json_get_str(tool, "description"),
                           .tool = tool,
                           .is_on = !it->is_off && !has_changed && !has_name(it->off, name),
                           .has_changed = has_changed,
                           .is_approved = cf_server_bench_may_call(b, i, name),
                           .tokens = json_is_integer(tokens) ? json_integer_value(tokens) : -1};
}

/* ---- changes ------------------------------------------------------------ */

cf_status cf_server_bench_add(cf_server_bench *b, const json_t *config, cf_error *err)
{
    item it = {.config = json_incref(cf_json_ref(config)),
               .index = SIZE_MAX,
               .off = json_object(),
               .changed = json_object(),
               .tokens = json_object()};
    if (it.off == NULL || it.changed == NULL || it.tokens == NULL ||
        !cf_grow(&b->item, &b->cap_item, b->n_item + 1, sizeof *b->item)) {
        json_decref(it.config);
        json_decref(it.off);
        json_decref(it.changed);
        json_decref(it.tokens);
        return cf_oom_for(err, "a tool server");
    }
    b->item[b->n_item++] = it;
    return CF_OK;
}

void cf_server_bench_start(cf_server_bench *b, size_t i)
{
    item *it = &b->item[i];
    if (it->index == SIZE_MAX) {
        it->index = b->n_added++;
        put_todo(b, TODO_ADD, it->index, it->config);
    } else {
        put_todo(b, TODO_START, it->index, NULL);
    }
}

void cf_server_bench_stop(cf_server_bench *b, size_t i)
{
    if (b->item[i].index != SIZE_MAX) {
        put_todo(b, TODO_STOP, b->item[i].index, NULL);
    }
}

void cf_server_bench_switch(cf_server_bench *b, size_t i, cf_str tool)
{
    item *it = &b->item[i];
    if (tool.n == 0) {
        it->is_off = !it->is_off;
    } else {
        put_name(it->off, tool, !has_name(it->off, tool));
    }
    b->must_declare = true;
}

void cf_server_bench_accept(cf_server_bench *b, size_t i, size_t k)
{
    cf_bench_tool t = cf_server_bench_tool(b, i, k);
    cf_servers_remember(b->servers, cf_json_get_str(b->item[i].config, "name"), t.tool);
    put_name(b->item[i].changed, t.name, false);
    b->must_declare = true;
}

void cf_server_bench_difference(cf_server_bench *b, size_t i, size_t k, cf_buf *out)
{
    cf_bench_tool t = cf_server_bench_tool(b, i, k);
    json_t *before;
    (void)cf_servers_compare(b->servers, cf_json_get_str(b->item[i].config, "name"), t.tool,
                             &before);
    json_t *old = json_pack("[O?]", before), *now = json_pack("[O?]", t.tool);
    cf_mcp_tools_diff(out, old, now);
    json_decref(old);
    json_decref(now);
    json_decref(before);
}

void cf_server_bench_set_others(cf_server_bench *b, const json_t *others)
{
    json_decref(b->others);
    b->others = json_incref(cf_json_ref(others));
    b->must_declare = true;
}

/* ---- declaring ---------------------------------------------------------- */

/* Tools that are not what the user saw wait to be accepted; new ones are
 * remembered. */
static void find_changes(cf_server_bench *b, cf_buf *notice)
{
    for (size_t i = 0; i < b->n_item; i++) {
        cf_str server = cf_json_get_str(b->item[i].config, "name");
        const json_t *tools = json_object_get(shown_at(b, i), "tools");
        for (size_t k = 0; k < json_array_size(tools); k++) {
            const json_t *tool = json_array_get(tools, k);
            cf_str name = cf_json_get_str(tool, "name");
            json_t *before;
            cf_tool_news news = cf_servers_compare(b->servers, server, tool, &before);
            put_name(b->item[i].changed, name, news == CF_TOOL_OTHER);
            if (news == CF_TOOL_OTHER) {
                cf_buf_addf(notice,
                            "tool %.*s of %.*s is not what it was: it is off "
                            "until you accept it\n",
                            (int)name.n, name.p, (int)server.n, server.p);
            } else if (news == CF_TOOL_FIRST_SEEN) {
                cf_servers_remember(b->servers, server, tool);
            }
            json_decref(before);
        }
    }
}

static json_t *offered(const cf_server_bench *b, size_t i)
{
    const item *it = &b->item[i];
    const json_t *s = shown_at(b, i);
    const char *key;
    json_t *v, *off = json_array();
    bool is_ready = json_integer_value(json_object_get(s, "state")) == (json_int_t)CF_MCP_READY;
    if (s == NULL || !is_ready || it->is_off) {
        json_decref(off);
        return json_object();
    }
    json_object_foreach(it->off, key, v)
    {
        json_array_append_new(off, json_string(key));
    }
    json_object_foreach(it->changed, key, v)
    {
        json_array_append_new(off, json_string(key));
    }
    return json_pack("{s:O, s:O, s:o}", "name", json_object_get(it->config, "name"), "tools",
                     json_object_get(s, "tools"), "off", off);
}

static cf_status declare(cf_server_bench *b, cf_error *err)
{
    json_t *servers = json_array(), *declared = NULL, *map = NULL;
    cf_status st = servers != NULL ? CF_OK : cf_oom_for(err, "the tools");
    for (size_t i = 0; st == CF_OK && i < b->n_item; i++) {
        st = json_array_append_new(servers, offered(b, i)) == 0 ? CF_OK
                                                                : cf_oom_for(err, "the tools");
    }
    CF_THEN(st, cf_mcp_declare(&declared, &map, servers, b->others, err));
    CF_THEN(st, cf_lab_set_tools(b->lab, json_array_size(declared) > 0 ? declared : NULL, err));
    if (st == CF_OK) {
        json_decref(b->map);
        b->map = json_incref(map);
        b->must_declare = false;
        b->must_count = true;
    }
    json_decref(servers);
    json_decref(declared);
    json_decref(map);
    return st;
}

bool cf_server_bench_find(const cf_server_bench *b, cf_str name, size_t *i, cf_str *tool)
{
    for (size_t k = 0; k < json_array_size(b->map); k++) {
        const json_t *row = json_array_get(b->map, k);
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
    cf_server_bench *bench;
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
    cf_server_bench *b = c->bench;
    size_t first = json_array_size(c->declared) - json_array_size(c->map);
    (void)why;
    b->counting = NULL;
    b->must_count = b->must_count || status == CF_ECANCELLED;
    for (size_t k = 0; status == CF_OK && k < json_array_size(c->map); k++) {
        const json_t *row = json_array_get(c->map, k);
        size_t i = (size_t)json_integer_value(json_object_get(row, "server"));
        const char *tool = json_string_value(json_object_get(row, "tool"));
        if (k == 0) {
            for (size_t s = 0; s < b->n_item; s++) {
                json_object_clear(b->item[s].tokens);
            }
        }
        if (i < b->n_item && tool != NULL && first + k < c->cost.n) {
            json_object_set_new(b->item[i].tokens, tool, json_integer(c->cost.tokens[first + k]));
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

static void start_counting(cf_server_bench *b)
{
    const cf_lab_engine *e = cf_lab_engine_of(b->lab);
    cf_error err;
    counting *c = cf_calloc(1, sizeof *c);
    b->must_count = false;
    if (c == NULL) {
        return;
    }
    c->bench = b;
    c->declared = cf_json_deep_copy(e->tools);
    c->map = cf_json_deep_copy(b->map);
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
    if (cf_lab_start_task(b->lab, &task, &err) == CF_OK) { /* else drops c */
        b->counting = c;
    } else {
        b->must_count = true;
    }
}

double cf_server_bench_seconds(const cf_server_bench *b, int64_t tokens)
{
    double speed = cf_lab_prefill_speed(b->lab);
    return tokens >= 0 && speed > 0 ? (double)tokens / speed : -1;
}

/* ---- polling ------------------------------------------------------------ */

static bool take_fresh(cf_server_bench *b, cf_buf *notice)
{
    pthread_mutex_lock(&b->lock);
    json_t *fresh = b->fresh;
    bool has_news = b->has_news;
    b->fresh = NULL;
    b->has_news = false;
    cf_buf_add(notice, cf_buf_cstr(&b->changes), b->changes.n);
    notice->failed = notice->failed || b->changes.failed;
    cf_buf_restart(&b->changes);
    pthread_mutex_unlock(&b->lock);
    if (fresh != NULL) {
        json_decref(b->shown);
        b->shown = fresh;
        find_changes(b, notice);
        b->must_declare = true;
    }
    return has_news || fresh != NULL;
}

bool cf_server_bench_poll(cf_server_bench *b, cf_buf *notice)
{
    bool has_changed = take_fresh(b, notice);
    bool is_idle = !cf_lab_is_busy(b->lab) && cf_lab_task_name(b->lab) == NULL;
    /* Counting gives way. */
    if (b->must_declare && (is_idle || b->counting != NULL)) {
        has_changed = true;
        if (declare(b, &b->said) != CF_OK) {
            b->must_declare = false;
            cf_buf_addf(notice, "%s\n", b->said.text);
        }
    }
    if (b->must_count && is_idle && b->counting == NULL) {
        start_counting(b);
    }
    if (cf_lab_is_stored(b->lab)) {
        cf_servers_keep(b->servers, cf_lab_conv_id(b->lab));
    }
    return has_changed;
}

/* ---- calls -------------------------------------------------------------- */

static void set_call(cf_server_bench *b, cf_cancel *cancel)
{
    pthread_mutex_lock(&b->lock);
    b->call_cancel = cancel;
    b->progress[0] = '\0';
    pthread_mutex_unlock(&b->lock);
}

static cf_status call_locked(cf_server_bench *b, size_t index, cf_str tool, const json_t *arguments,
                             uint32_t timeout_ms, cf_cancel *cancel, cf_buf *text, cf_error *err)
{
    cf_mcp *mcp = cf_servers_mcp(b->servers);
    cf_mcp_result r;
    const cf_mcp_call_options o = {.timeout_ms = timeout_ms, .cancel = cancel};
    do_todo(b); /* it may be about to be started */
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

cf_status cf_server_bench_call(cf_server_bench *b, size_t index, cf_str tool,
                               const json_t *arguments, uint32_t timeout_ms, cf_cancel *cancel,
                               cf_buf *text, cf_error *err)
{
    set_call(b, cancel);
    atomic_fetch_add(&b->n_wanted, 1);
    cf_mcp_wake(cf_servers_mcp(b->servers));
    pthread_mutex_lock(&b->mcp_lock);
    cf_status st = call_locked(b, index, tool, arguments, timeout_ms, cancel, text, err);
    atomic_fetch_sub(&b->n_wanted, 1);
    pthread_cond_signal(&b->mcp_free);
    pthread_mutex_unlock(&b->mcp_lock);
    set_call(b, NULL);
    return st;
}

void cf_server_bench_progress(cf_server_bench *b, cf_buf *out)
{
    pthread_mutex_lock(&b->lock);
    cf_buf_adds(out, b->progress);
    pthread_mutex_unlock(&b->lock);
}

/* ---- questions ---------------------------------------------------------- */

json_t *cf_server_bench_question(cf_server_bench *b, cf_str *server)
{
    pthread_mutex_lock(&b->lock);
    json_t *q = b->has_answer ? NULL : cf_json_deep_copy(b->question);
    size_t index = b->question_server;
    pthread_mutex_unlock(&b->lock);
    *server = cf_str_from("");
    for (size_t i = 0; i < b->n_item; i++) {
        if (b->item[i].index == index) {
            *server = cf_json_get_str(b->item[i].config, "name");
        }
    }
    return q;
}

void cf_server_bench_answer(cf_server_bench *b, json_t *answer)
{
    pthread_mutex_lock(&b->lock);
    if (b->question != NULL && !b->has_answer) {
        b->answer = answer;
        b->has_answer = true;
        answer = NULL;
        pthread_cond_signal(&b->answered);
    }
    pthread_mutex_unlock(&b->lock);
    json_decref(answer);
}
