/*
 * helper_main.c - the helper process: answers confab's requests with an engine
 * plug-in (core/api/engine_plugin.h).
 *
 * It ends when confab does, however that ends: one thread waits for the end of
 * the pipe, which comes too while the other one computes.  A signal on the death
 * of the parent covers a pipe that another child has inherited; it also comes when
 * only the thread ends that started the helper, which is no reason to end.
 *
 * Not part of the program or the library; linked with one plug-in.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "core/api/engine_plugin.h"
#include "core/helper/helper_wire.h"

enum { REQUEST_MAX = 64 << 20, FEW = 16 };

static const cf_engine_plugin *const plugin = &cf_engine_plugin_v1;
static int reply_fd = STDOUT_FILENO;
static pid_t parent;

/* ---- the end of confab --------------------------------------------------- */

static void on_parent_death(int signal_number)
{
    (void)signal_number;
    if (getppid() != parent) {
        _exit(0);
    }
}

static void *wait_for_end(void *unused)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = 0};
    (void)unused;
    while (poll(&in, 1, -1) < 0 || (in.revents & (POLLHUP | POLLERR | POLLNVAL)) == 0) {
    }
    _exit(0);
}

static void end_with_parent(void)
{
    pthread_t thread;
    struct sigaction on_death = {.sa_handler = on_parent_death};
    parent = getppid();
    sigaction(SIGUSR1, &on_death, NULL);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
#endif
    if (parent == 1 || pthread_create(&thread, NULL, wait_for_end, NULL) != 0) {
        _exit(1);
    }
    pthread_detach(thread);
}

/* ---- reading and writing ------------------------------------------------- */

static void read_all(void *to, size_t n)
{
    char *p = to;
    while (n > 0) {
        ssize_t got = read(STDIN_FILENO, p, n);
        if (got <= 0 && (got == 0 || errno != EINTR)) {
            _exit(0); /* confab has ended */
        }
        p += got > 0 ? got : 0;
        n -= got > 0 ? (size_t)got : 0;
    }
}

static void write_all(const void *from, size_t n)
{
    const char *p = from;
    while (n > 0) {
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
    const cf_helper_reply r = {.magic = CF_HELPER_MAGIC,
                               .abi = plugin->abi,
                               .result = (uint32_t)result,
                               .n_bytes = n_bytes};
    write_all(&r, sizeof r);
}

static void say(cf_plugin_result result, const char *text)
{
    begin_reply(result, strlen(text));
    write_all(text, strlen(text));
}

/* ---- requests ------------------------------------------------------------ */

/* Whatever arrives while a pass runs is a stop. */
static bool is_stopped(void *ud)
{
    unsigned *n_asked = ud;
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    return ++*n_asked % FEW == 0 && poll(&in, 1, 0) > 0;
}

static void *open_model(const char *payload, size_t n, cf_plugin_info *info)
{
    cf_plugin_options o;
    char why[CF_PLUGIN_WHY] = "the request is cut";
    void *model = NULL;
    if (n > sizeof o && payload[n - 1] == '\0') {
        memcpy(&o, payload, sizeof o);
        model = plugin->open(payload + sizeof o, &o, info, why);
    }
    if (model == NULL) {
        say(CF_PLUGIN_FAILED, why);
        return NULL;
    }
    begin_reply(CF_PLUGIN_OK, sizeof *info);
    write_all(info, sizeof *info);
    return model;
}

static void answer_pass(void *model, const cf_plugin_info *info, const cf_plugin_row *rows,
                        uint32_t n)
{
    char why[CF_PLUGIN_WHY] = "";
    unsigned n_asked = 0;
    uint64_t n_logits = 0;
    cf_plugin_result result = plugin->pass(model, rows, n, is_stopped, &n_asked, why);
    if (result != CF_PLUGIN_OK) {
        say(result, why);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        n_logits += rows[i].wants_logits != 0 ? info->n_vocab : 0;
    }
    bool wants = n == 1 && rows[0].wants_streams != 0;
    const float *streams = wants ? plugin->streams(model) : NULL;
    if (wants && streams == NULL) {
        say(CF_PLUGIN_FAILED, "it does not disclose the layers of this model");
        return;
    }
    uint64_t n_stream = wants ? (uint64_t)info->n_layer * info->n_embd : 0;
    begin_reply(CF_PLUGIN_OK, (n_logits + n_stream) * sizeof(float));
    for (uint32_t i = 0; i < n; i++) {
        if (rows[i].wants_logits != 0) {
            write_all(plugin->logits(model, i), info->n_vocab * sizeof(float));
        }
    }
    write_all(streams, n_stream * sizeof(float));
}

static void answer(void **model, cf_plugin_info *info, const cf_helper_request *q, void *payload)
{
    if (q->op == CF_HELPER_STOP) { /* it came after the pass that it meant */
        return;
    }
    if (q->op == CF_HELPER_OPEN && *model == NULL) {
        *model = open_model(payload, (size_t)q->n_bytes, info);
    } else if (*model == NULL) {
        say(CF_PLUGIN_FAILED, "no model is open");
    } else if (q->op == CF_HELPER_PASS) {
        answer_pass(*model, info, payload, (uint32_t)(q->n_bytes / sizeof(cf_plugin_row)));
    } else if (q->op == CF_HELPER_FORK && q->from < info->n_seq && q->to < info->n_seq) {
        plugin->fork(*model, q->from, q->to);
        begin_reply(CF_PLUGIN_OK, 0);
    } else if (q->op == CF_HELPER_CUT && q->from < info->n_seq) {
        begin_reply(plugin->cut(*model, q->from, q->length) ? CF_PLUGIN_OK : CF_PLUGIN_FAILED, 0);
    } else {
        say(CF_PLUGIN_FAILED, "the request is unknown");
    }
}

/* For the build: the version of the library that is linked. */
static int print_name(void)
{
    char why[CF_PLUGIN_WHY] = "";
    const char *name = plugin->name(why);
    printf("%s\n", name != NULL ? name : why);
    return name == NULL;
}

int main(int argc, char **argv)
{
    char why[CF_PLUGIN_WHY] = "";
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        return print_name();
    }
    void *model = NULL, *payload = NULL;
    size_t cap = 0;
    cf_plugin_info info = {.n_seq = 0};
    /* The library's own messages do not get between the replies. */
    reply_fd = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    end_with_parent();
    const char *name = plugin->name(why);
    say(name != NULL ? CF_PLUGIN_OK : CF_PLUGIN_FAILED, name != NULL ? name : why);
    while (name != NULL) {
        cf_helper_request q;
        read_all(&q, sizeof q);
        if (q.n_bytes > cap && q.n_bytes <= REQUEST_MAX) {
            free(payload);
            cap = (size_t)q.n_bytes;
            payload = malloc(cap);
        }
        if (q.n_bytes > REQUEST_MAX || (cap > 0 && payload == NULL)) {
            return 1;
        }
        read_all(payload, (size_t)q.n_bytes);
        answer(&model, &info, &q, payload);
    }
    return 1;
}
