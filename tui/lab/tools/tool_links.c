/*
 * tool_links.c - the environment of tool servers and the log of what they say.
 *
 * 1. s->line holds the log in order; a line is never changed, and only the
 *    oldest are dropped.
 * 2. Lines before s->n_kept are in the history's log; after
 *    cf_tool_links_keep() all are.
 */
#include "tui/lab/tools/tool_links.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/lab/reply/keep_reply.h"

enum {
    LINES_MAX = 20000,
    TEXT_MAX = 1 << 20, /* of one line of the log */
    SHOWN_OF_CUT = 4096,
    BATCH = 64
};

typedef struct line {
    int64_t at_ms;
    const char *direction;
    char *server, *text;
    size_t n_text;
    uint64_t call;
} line;

struct cf_tool_links {
    cf_tool_links_options options;
    cf_mcp *mcp;
    cf_sign_in *sign_in;
    char **env;
    pthread_mutex_t lock; /* of what follows */
    line *line;
    size_t n_line, cap_line;
    size_t n_dropped; /* lines that are gone: numbers go on */
    size_t n_kept;    /* lines (dropped ones counted) that the history has */
    bool is_kept;
    cf_uuid conversation;
};

/* ---- the environment ---------------------------------------------------- */

static const char *get_variable(const char *name)
{
    return getenv(name); /* NOLINT(concurrency-mt-unsafe) */
}

/* What a program needs to find its home and to write text; keys and whatever
 * else is in ours stays here. */
static const char *const for_servers[] = {"HOME", "LOGNAME", "PATH",   "SHELL", "TERM",
                                          "USER", "LANG",    "LC_ALL", "TZ",    "TMPDIR"};

static bool make_env(cf_tool_links *s)
{
    size_t n = sizeof for_servers / sizeof for_servers[0], k = 0;
    s->env = cf_calloc(n + 1, sizeof *s->env);
    for (size_t i = 0; s->env != NULL && i < n; i++) {
        const char *value = get_variable(for_servers[i]);
        cf_buf b = CF_BUF_INIT;
        if (value == NULL) {
            continue;
        }
        cf_buf_addf(&b, "%s=%s", for_servers[i], value);
        s->env[k] = cf_buf_take(&b);
        cf_buf_deinit(&b);
        if (s->env[k++] == NULL) {
            return false;
        }
    }
    return s->env != NULL;
}

/* What a file of servers may read. */
typedef struct variables {
    const cf_trust *trust;
    cf_buf refused; /* the first that is set and not allowed */
} variables;

static bool is_allowed(const variables *v, const char *name)
{
    bool is = v->trust != NULL && cf_trust_has_variable(v->trust, name);
    for (size_t i = 0; !is && i < sizeof for_servers / sizeof for_servers[0]; i++) {
        is = strcmp(for_servers[i], name) == 0;
    }
    return is;
}

static const char *lookup(void *ud, const char *name)
{
    variables *v = ud;
    const char *value = get_variable(name);
    if (value == NULL || is_allowed(v, name)) {
        return value;
    }
    if (v->refused.n == 0) {
        cf_buf_adds(&v->refused, name);
    }
    return NULL;
}

cf_status cf_tool_links_read_file(json_t **out, const char *path, const cf_trust *trust,
                                  cf_error *err)
{
    json_t *file = NULL, *list = NULL;
    variables v = {trust, CF_BUF_INIT};
    CF_TRY(cf_json_read_small(&file, path, CF_JSON_SMALL_MAX, err));
    cf_status st = cf_mcp_config_read(&list, file, lookup, &v, err);
    json_decref(file);
    CF_THEN(st, cf_buf_check(&v.refused, err));
    if (st == CF_EFORMAT) {
        st = cf_fail_in(err, st, path);
    } else if (st == CF_OK && v.refused.n > 0) {
        st = cf_fail(err, CF_EINVAL,
                     "%.200s: it names the variable %.60s: --allow-variable lets it have that",
                     path, cf_buf_cstr(&v.refused));
    }
    if (st == CF_OK) {
        *out = list;
    } else {
        json_decref(list);
    }
    cf_buf_deinit(&v.refused);
    return st;
}

/* ---- the log ------------------------------------------------------------ */

static void free_line(line *l)
{
    cf_free(l->server);
    cf_free(l->text);
}

/* The text as it is kept: a long one by its beginning, as JSON. */
static char *kept_text(cf_str text, size_t *n)
{
    cf_buf b = CF_BUF_INIT;
    if (text.n <= TEXT_MAX) {
        cf_buf_add(&b, text.n > 0 ? text.p : "", text.n);
    } else {
        cf_buf_addf(&b, "{\"cut\":%zu,\"start\":", text.n);
        cf_json_write_str(&b, cf_str_make(text.p, SHOWN_OF_CUT));
        cf_buf_addc(&b, '}');
    }
    *n = b.n;
    cf_buf_addc(&b, '\0');
    char *p = cf_buf_take(&b);
    cf_buf_deinit(&b);
    return p;
}

static void flush_locked(cf_tool_links *s)
{
    if (!s->is_kept || s->options.store == NULL) {
        return;
    }
    while (s->n_kept < s->n_dropped + s->n_line) {
        cf_store_mcp batch[BATCH];
        size_t n = 0;
        if (s->n_kept < s->n_dropped) {
            s->n_kept = s->n_dropped;
        }
        for (size_t i = s->n_kept - s->n_dropped; i < s->n_line && n < BATCH; i++) {
            const line *l = &s->line[i];
            batch[n++] = (cf_store_mcp){.at_ms = l->at_ms,
                                        .server = cf_str_from(l->server),
                                        .direction = cf_str_from(l->direction),
                                        .call = l->call > 0 ? (int64_t)l->call : -1,
                                        .message = cf_str_make(l->text, l->n_text)};
        }
        cf_error why;
        cf_keep_note(s->options.store,
                     cf_store_put_mcp(s->options.store, s->conversation, batch, n, &why), &why);
        s->n_kept += n;
    }
}

static const char *direction_of(cf_mcp_event_kind kind)
{
    static const char *const names[] = {"out", "in", "stdout", "stderr", "note"};
    return kind == CF_MCP_STEP ? "note" : kind <= CF_MCP_NOTE ? names[kind] : NULL;
}

static void add_line(cf_tool_links *s, const cf_mcp_event *ev)
{
    cf_str name = cf_mcp_server_at(s->mcp, ev->server).name;
    line l = {.at_ms = cf_os_now_ms(),
              .direction = direction_of(ev->kind),
              .server = cf_strndup(name.p, name.n),
              .call = ev->call};
    l.text = kept_text(ev->text, &l.n_text);
    pthread_mutex_lock(&s->lock);
    if (s->n_line >= LINES_MAX) {
        size_t n = LINES_MAX / 10;
        for (size_t i = 0; i < n; i++) {
            free_line(&s->line[i]);
        }
        s->n_line -= n;
        s->n_dropped += n;
        memmove(s->line, s->line + n, s->n_line * sizeof *s->line);
    }
    if (l.server != NULL && l.text != NULL &&
        cf_grow(&s->line, &s->cap_line, s->n_line + 1, sizeof *s->line)) {
        s->line[s->n_line++] = l;
        flush_locked(s);
    } else {
        free_line(&l);
    }
    pthread_mutex_unlock(&s->lock);
}

static void on_event(void *ud, const cf_mcp_event *ev)
{
    cf_tool_links *s = ud;
    if (direction_of(ev->kind) != NULL) {
        add_line(s, ev);
    }
    if (s->options.event != NULL) {
        s->options.event(s->options.ud, ev);
    }
}

void cf_tool_links_keep(cf_tool_links *s, cf_uuid conversation)
{
    pthread_mutex_lock(&s->lock);
    if (!s->is_kept || !cf_uuid_eq(s->conversation, conversation)) {
        s->is_kept = true;
        s->conversation = conversation;
        flush_locked(s);
    }
    pthread_mutex_unlock(&s->lock);
}

size_t cf_tool_links_each_line(cf_tool_links *s, size_t from, cf_tool_links_line_fn fn, void *ud)
{
    pthread_mutex_lock(&s->lock);
    size_t n = from > s->n_dropped ? from : s->n_dropped;
    for (; n < s->n_dropped + s->n_line; n++) {
        const line *l = &s->line[n - s->n_dropped];
        const cf_tool_links_line shown = {.at_ms = l->at_ms,
                                          .direction = l->direction,
                                          .server = cf_str_from(l->server),
                                          .text = cf_str_make(l->text, l->n_text),
                                          .call = l->call};
        if (!fn(ud, n, &shown)) {
            n++;
            break;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return n;
}

/* ---- making ------------------------------------------------------------- */

static void ask(void *ud, size_t server, const json_t *params, json_t **answer)
{
    cf_tool_links *s = ud;
    s->options.ask(s->options.ud, server, params, answer);
}

cf_status cf_tool_links_new(cf_tool_links **out, const cf_tool_links_options *options,
                            cf_error *err)
{
    cf_tool_links *s = cf_calloc(1, sizeof *s);
    if (s == NULL || !make_env(s)) {
        cf_tool_links_free(s);
        return cf_oom_for(err, "the tool servers");
    }
    s->options = *options;
    pthread_mutex_init(&s->lock, NULL);
    const char *const *env;
    memcpy(&env, &s->env, sizeof env);
    cf_error why; /* without a place for tokens there are no sign-ins */
    if (options->sign_in != NULL &&
        cf_sign_in_new(&s->sign_in, options->sign_in, &why) == CF_ENOMEM) {
        cf_tool_links_free(s);
        return cf_oom_for(err, "the tool servers");
    }
    const cf_mcp_options o = {.env = env,
                              .start_ms = options->start_ms,
                              .call_ms = options->call_ms,
                              .listens = options->listens,
                              .event = on_event,
                              .ask = options->ask != NULL ? ask : NULL,
                              .sign_in = s->sign_in != NULL ? cf_sign_in_steps(s->sign_in) : NULL,
                              .ud = s};
    cf_status st = cf_mcp_new(&s->mcp, &o, err);
    if (st != CF_OK) {
        cf_tool_links_free(s);
        return st;
    }
    *out = s;
    return CF_OK;
}

void cf_tool_links_free(cf_tool_links *s)
{
    if (s == NULL) {
        return;
    }
    if (s->mcp != NULL) {
        cf_mcp_free(s->mcp);
        pthread_mutex_destroy(&s->lock);
    }
    cf_sign_in_free(s->sign_in);
    for (size_t i = 0; i < s->n_line; i++) {
        free_line(&s->line[i]);
    }
    for (char **e = s->env; e != NULL && *e != NULL; e++) {
        cf_free(*e);
    }
    cf_free(s->env);
    cf_free(s->line);
    cf_free(s);
}

cf_mcp *cf_tool_links_mcp(cf_tool_links *s)
{
    return s->mcp;
}
