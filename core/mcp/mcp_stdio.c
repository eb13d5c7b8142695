/*
 * mcp_stdio.c - a server as a child program: a message a line, on its
 * standard input and output.
 *
 * 1. s->line holds the bytes of a line that has not ended.
 * 2. A line longer than the limit ends the server: there is no way to know
 *    where the next message begins but to read it all.
 */
#include <poll.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/utf8.h"
#include "core/mcp/mcp_impl.h"

enum { BLOCK = 64 << 10, BLOCKS_PER_STEP = 32, ERROR_LINE_MAX = 4096, GRACE_AFTER_EOF_MS = 2000 };

/* ---- starting ----------------------------------------------------------- */

static size_t count_env(const char *const *env)
{
    size_t n = 0;
    while (env != NULL && env[n] != NULL) {
        n++;
    }
    return n;
}

/* "NAME=VALUE" of the configuration into one buffer, and pointers to all
 * variables: theirs win over ours. */
typedef struct environment {
    const char **list; /* NULL at the end */
    cf_buf text;
} environment;

static bool is_replaced(const char *variable, const json_t *own)
{
    const char *key;
    json_t *v;
    json_object_foreach(cf_json_ref(own), key, v)
    {
        size_t n = strlen(key);
        if (strncmp(variable, key, n) == 0 && variable[n] == '=') {
            return true;
        }
    }
    return false;
}

static bool make_environment(environment *e, const char *const *given, const json_t *own)
{
    size_t n = 0, at = 0;
    const char *key;
    json_t *v;
    e->list = cf_calloc(count_env(given) + json_object_size(own) + 1, sizeof *e->list);
    if (e->list == NULL) {
        return false;
    }
    json_object_foreach(cf_json_ref(own), key, v)
    {
        cf_buf_addf(&e->text, "%s=%s", key, json_string_value(v));
        cf_buf_addc(&e->text, '\0');
    }
    if (e->text.failed) {
        return false;
    }
    for (size_t i = 0; given != NULL && given[i] != NULL; i++) {
        if (!is_replaced(given[i], own)) {
            e->list[n++] = given[i];
        }
    }
    while (at < e->text.n) {
        e->list[n++] = e->text.p + at;
        at += strlen(e->text.p + at) + 1;
    }
    return true;
}

static cf_status start(cf_mcp__server *s, cf_error *err)
{
    const json_t *command = json_object_get(s->config, "command");
    size_t n = json_array_size(command);
    const char **argv = cf_calloc(n + 1, sizeof *argv);
    environment e = {.text = CF_BUF_INIT};
    cf_buf_restart(&s->out);
    cf_buf_restart(&s->line);
    cf_buf_restart(&s->errors);
    s->last_error[0] = '\0';
    s->n_out = 0;
    cf_status st =
        argv != NULL && make_environment(&e, s->mcp->options.env, json_object_get(s->config, "env"))
            ? CF_OK
            : cf_oom_for(err, "a program");
    if (st == CF_OK) {
        for (size_t i = 0; i < n; i++) {
            argv[i] = json_string_value(json_array_get(command, i));
        }
        const cf_process_spec spec = {.argv = argv,
                                      .env = e.list,
                                      .cwd = json_string_value(json_object_get(s->config, "cwd"))};
        st = cf_process_start(&s->process, &spec, err);
    }
    cf_free(argv);
    cf_free(e.list);
    cf_buf_deinit(&e.text);
    return st;
}

/* ---- writing ------------------------------------------------------------ */

static void flush(cf_mcp__server *s)
{
    s->n_out += cf_process_write(&s->process, cf_buf_cstr(&s->out) + s->n_out, s->out.n - s->n_out);
    if (s->n_out == s->out.n) {
        cf_buf_reset(&s->out);
        s->n_out = 0;
    }
}

static cf_status send(cf_mcp__server *s, const cf_mcp__parcel *parcel, cf_error *err)
{
    size_t before = s->out.n;
    cf_buf_add(&s->out, parcel->text.p, parcel->text.n);
    cf_buf_addc(&s->out, '\n');
    cf_status st = cf_buf_check(&s->out, err);
    if (st != CF_OK) { /* half a message would spoil the next */
        cf_buf_rewind(&s->out, before);
        return st;
    }
    flush(s);
    return CF_OK; /* one that closed its input is seen when it ends */
}

static void forget(cf_mcp__server *s, int64_t id)
{
    (void)s;
    (void)id;
}

static void stop(cf_mcp__server *s, uint32_t grace_ms)
{
    cf_process_end(&s->process, grace_ms);
}

/* ---- reading ------------------------------------------------------------ */

static bool is_live(const cf_mcp__server *s)
{
    return s->state == CF_MCP_STARTING || s->state == CF_MCP_READY;
}

static bool is_blank(cf_str line)
{
    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] != ' ' && line.p[i] != '\r' && line.p[i] != '\t') {
            return false;
        }
    }
    return true;
}

static void take_line(cf_mcp__server *s)
{
    cf_buf line = s->line;
    cf_buf_init(&s->line); /* a new start of the server begins a new line */
    if (!is_blank(cf_buf_str(&line))) {
        cf_mcp__receive(s, cf_buf_str(&line));
    }
    if (s->line.p == NULL) {
        cf_buf_reset(&line);
        s->line = line;
    } else {
        cf_buf_deinit(&line);
    }
}

static void too_long(cf_mcp__server *s)
{
    cf_error why;
    cf_fail(&why, CF_ELIMIT, "the server sent a line of more than %zu bytes",
            s->mcp->options.message_max);
    cf_mcp__fail(s, &why, 0);
}

static void take_bytes(cf_mcp__server *s, const char *p, size_t n)
{
    pid_t pid = s->process.pid;
    while (n > 0 && is_live(s) && s->process.pid == pid) {
        const char *end = memchr(p, '\n', n);
        size_t k = end != NULL ? (size_t)(end - p) : n;
        if (s->line.n + k > s->mcp->options.message_max) {
            too_long(s);
            return;
        }
        cf_buf_add(&s->line, p, k);
        if (s->line.failed) {
            cf_error why;
            (void)cf_oom_for(&why, "a message");
            cf_mcp__fail(s, &why, 0);
            return;
        }
        if (end != NULL) {
            take_line(s);
            k++;
        }
        p += k;
        n -= k;
    }
}

/* The last line is kept, since it may say why the server ended; one that
 * names an error is kept before others. */
static void keep_error(cf_mcp__server *s, cf_str line)
{
    if (strstr(s->last_error, "rror") == NULL || strstr(cf_buf_cstr(&s->errors), "rror") != NULL) {
        (void)cf_utf8_copy(s->last_error, sizeof s->last_error, line);
    }
}

static void end_error_line(cf_mcp__server *s)
{
    cf_str line = cf_buf_str(&s->errors);
    if (!is_blank(line)) {
        keep_error(s, line);
        cf_mcp__tell(s, CF_MCP_STDERR, 0, line);
    }
    cf_buf_restart(&s->errors);
}

static void read_errors(cf_mcp__server *s)
{
    char block[4096];
    size_t n = cf_process_read(&s->process.err, block, sizeof block);
    for (size_t i = 0; i < n; i++) {
        if (block[i] == '\n') {
            end_error_line(s);
        } else if (s->errors.n < ERROR_LINE_MAX) {
            cf_buf_addc(&s->errors, block[i]);
        }
    }
}

/* Gives a program that closed its output a moment to end, so that its status
 * and its last words are known; whether it did. */
static bool has_ended_by_itself(cf_mcp__server *s)
{
    uint64_t until = cf_os_monotonic_us() + (uint64_t)GRACE_AFTER_EOF_MS * 1000;
    cf_process_close_fd(&s->process.in);
    while (!cf_process_has_ended(&s->process)) {
        read_errors(s);
        if (cf_os_monotonic_us() >= until) {
            return false;
        }
        poll(NULL, 0, 2);
    }
    return true;
}

/* The program is gone, or has closed its output, which is the same to us. */
static void on_end(cf_mcp__server *s)
{
    cf_error why;
    cf_buf how = CF_BUF_INIT;
    bool by_itself = has_ended_by_itself(s);
    read_errors(s);
    end_error_line(s);
    cf_process_end(&s->process, GRACE_AFTER_EOF_MS);
    cf_process_how(&s->process, &how);
    cf_fail(&why, CF_EIO, "the server %s%s%s%s", by_itself ? "ended with " : "closed its output",
            by_itself ? cf_buf_cstr(&how) : "", s->last_error[0] != '\0' ? ": " : "",
            s->last_error);
    cf_buf_deinit(&how);
    if (!cf_mcp__start_again(s)) {
        cf_mcp__fail(s, &why, 0);
    }
}

void cf_mcp__stdio_serve(cf_mcp__server *s)
{
    char *block;
    if (s->transport != &cf_mcp__stdio || !is_live(s)) {
        return;
    }
    flush(s);
    read_errors(s);
    block = cf_alloc(BLOCK);
    if (block == NULL) {
        s->mcp->is_out_of_memory = true;
        return;
    }
    pid_t pid = s->process.pid;
    for (int i = 0; i < BLOCKS_PER_STEP && is_live(s) && s->process.pid == pid; i++) {
        size_t n = cf_process_read(&s->process.out, block, BLOCK);
        if (n == 0 || !cf_mcp__count(s, n)) {
            break;
        }
        take_bytes(s, block, n);
    }
    cf_free(block);
    if (is_live(s) && s->process.pid == pid && s->process.out < 0) {
        on_end(s);
    }
}

const cf_mcp__transport cf_mcp__stdio = {
    .start = start,
    .send = send,
    .forget = forget,
    .stop = stop,
};
