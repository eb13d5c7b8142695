/*
 * helper_main.c - the helper process: answers confab's requests with an engine
 * plug-in (core/api/engine_plugin.h).
 *
 * It ends when confab does, however that ends: a thread waits for the end of the
 * pipe, which comes too while the other one computes.
 *
 * Not part of the program or the library; linked with one plug-in.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/helper/helper_wire.h"

enum { REQUEST_MAX = 64 << 20, PIPE_BYTES = 1 << 20, FEW = 16 };

static const cf_engine_plugin *const plugin = &cf_engine_plugin_v1;
static int reply_fd;
static bool is_open;
static cf_plugin_info info;

static void *end_with_confab(void *unused)
{
    struct pollfd in = {.fd = STDIN_FILENO};
    (void)unused;
    while (poll(&in, 1, -1) < 0 || (in.revents & (POLLHUP | POLLERR | POLLNVAL)) == 0) {
    }
    _exit(0);
}

/* ---- reading and writing ------------------------------------------------- */

static void read_all(void *to, size_t n)
{
    for (char *p = to; n > 0;) {
        ssize_t got = read(STDIN_FILENO, p, n);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            _exit(0); /* confab has ended */
        }
        p += got > 0 ? got : 0;
        n -= got > 0 ? (size_t)got : 0;
    }
}

static void write_all(const void *from, size_t n)
{
    for (const char *p = from; n > 0;) {
        ssize_t put = write(reply_fd, p, n);
        if (put < 0 && errno != EINTR) {
            _exit(0);
        }
        p += put > 0 ? put : 0;
        n -= put > 0 ? (size_t)put : 0;
    }
}

static void begin_reply(cf_plugin_result result, uint64_t n_bytes)
{
    const cf_helper_reply r = {CF_HELPER_MAGIC, (uint32_t)result, n_bytes};
    write_all(&r, sizeof r);
}

static void reply(cf_plugin_result result, const void *from, size_t n)
{
    begin_reply(result, n);
    write_all(from, n);
}

/* ---- requests ------------------------------------------------------------ */

/* Whatever arrives while a pass runs is a stop. */
bool cf_engine_plugin_stops(void)
{
    static unsigned n_asked;
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    return ++n_asked % FEW == 0 && poll(&in, 1, 0) > 0;
}

static void answer_name(char why[CF_PLUGIN_WHY])
{
    char text[CF_PLUGIN_NAME] = "";
    const char *name = plugin->name(why);
    snprintf(text, sizeof text, "%s", name != NULL ? name : "");
    reply(name != NULL ? CF_PLUGIN_OK : CF_PLUGIN_FAILED, name != NULL ? text : why,
          name != NULL ? sizeof text : CF_PLUGIN_WHY);
}

static void answer_open(const cf_helper_open *o, char why[CF_PLUGIN_WHY])
{
    is_open = plugin->name(why) != NULL && plugin->open(o->path, &o->options, &info, why);
    if (is_open) {
        reply(CF_PLUGIN_OK, &info, sizeof info);
    } else {
        reply(CF_PLUGIN_FAILED, why, CF_PLUGIN_WHY);
    }
}

static void answer_pass(const cf_plugin_row *rows, uint32_t n, char why[CF_PLUGIN_WHY])
{
    uint64_t n_logits = 0;
    cf_plugin_result result = plugin->pass(rows, n, why);
    for (uint32_t i = 0; i < n; i++) {
        n_logits += rows[i].wants_logits != 0 ? info.n_vocab : 0;
    }
    if (result != CF_PLUGIN_OK) {
        reply(result, why, CF_PLUGIN_WHY);
        return;
    }
    begin_reply(result, n_logits * sizeof(float));
    for (uint32_t i = 0; i < n; i++) {
        if (rows[i].wants_logits != 0) {
            write_all(plugin->logits(i), info.n_vocab * sizeof(float));
        }
    }
}

static void answer_look(cf_plugin_look what, const int32_t *ids, uint32_t n,
                        char why[CF_PLUGIN_WHY])
{
    const float *v = NULL;
    size_t n_v = 0;
    cf_plugin_result result = plugin->look(what, ids, n, &v, &n_v, why);
    if (result != CF_PLUGIN_OK) {
        reply(result, why, CF_PLUGIN_WHY);
    } else {
        reply(result, v, n_v * sizeof *v);
    }
}

static void answer(const cf_helper_request *q, const void *payload)
{
    char why[CF_PLUGIN_WHY] = "";
    if (q->op == CF_HELPER_NAME) {
        answer_name(why);
    } else if (q->op == CF_HELPER_OPEN && !is_open && q->n_bytes == sizeof(cf_helper_open)) {
        answer_open(payload, why);
    } else if (!is_open) {
        _exit(1);
    } else if (q->op == CF_HELPER_PASS) {
        answer_pass(payload, (uint32_t)(q->n_bytes / sizeof(cf_plugin_row)), why);
    } else if (q->op == CF_HELPER_LOOK) {
        answer_look(q->from, payload, (uint32_t)(q->n_bytes / sizeof(int32_t)), why);
    } else if (q->op == CF_HELPER_FORK) {
        plugin->fork(q->from, q->to);
    } else if (q->op == CF_HELPER_CUT) {
        plugin->cut(q->from, q->to);
    } /* a stop came after the pass that it meant */
}

/* With --version, for the build: the version of the library that is linked. */
int main(int argc, char **argv)
{
    char why[CF_PLUGIN_WHY] = "";
    pthread_t thread;
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        const char *name = plugin->name(why);
        return puts(name != NULL ? name : why) < 0 || name == NULL;
    }
    /* The library's own messages do not get between the replies. */
    reply_fd = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
#ifdef F_SETPIPE_SZ /* a row of logits at once */
    fcntl(reply_fd, F_SETPIPE_SZ, PIPE_BYTES);
#endif
    void *payload = malloc(REQUEST_MAX); /* its pages are taken when they are used */
    if (payload == NULL || pthread_create(&thread, NULL, end_with_confab, NULL) != 0) {
        return 1;
    }
    for (;;) {
        cf_helper_request q;
        read_all(&q, sizeof q);
        if (q.n_bytes > REQUEST_MAX) {
            return 1;
        }
        read_all(payload, q.n_bytes);
        answer(&q, payload);
    }
}
