/*
 * sign_in.c - the browser's way out and back.
 *
 * The address at which the browser ends is http://127.0.0.1:PORT/callback
 * (RFC 8252, section 7.3).  One path is known, one answer is taken; whether it
 * is the right one is for core/mcp to check.  Where the browser is on another
 * machine, the user pastes the address at which it ended.
 */
#include "tui/lab/tools/sign_in.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/sys/child.h"

enum {
    LOOK_MS = 100,
    WAIT_S = 300, /* for the user */
    HEAD_S = 5,   /* for a request */
    HEAD_MAX = 16 << 10
};

static const char path[] = "/callback";

struct cf_sign_in {
    cf_sign_in_options options;
    cf_mcp_sign_in steps;
    cf_token_file file;
    int listener;
};

static bool must_stop(void *ud)
{
    const cf_sign_in *s = ud;
    return s->options.must_stop != NULL && s->options.must_stop(s->options.ud);
}

static cf_status with_kept(void *ud, cf_str address, cf_mcp_kept_fn fn, void *fn_ud, cf_error *err)
{
    const cf_sign_in *s = ud;
    return cf_token_file_with(&s->file, address, fn, fn_ud, must_stop, ud, err);
}

static cf_status may(void *ud, size_t server, cf_str issuer, cf_str scopes, cf_error *err)
{
    const cf_sign_in *s = ud;
    return s->options.may(s->options.ud, server, issuer, scopes, err);
}

/* ---- the address on this machine ---------------------------------------- */

static int listen_at(uint16_t port, uint16_t *got)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int on = 1; /* connections of the last sign-in may linger */
    if (fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(fd, (const struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 4) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &n) == 0) {
        *got = ntohs(at.sin_port);
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

static void close_listener(void *ud)
{
    cf_sign_in *s = ud;
    if (s->listener >= 0) {
        close(s->listener);
    }
    s->listener = -1;
}

static cf_status open_listener(void *ud, uint16_t port, bool must, cf_buf *redirect, cf_error *err)
{
    cf_sign_in *s = ud;
    uint16_t got = 0;
    close_listener(s);
    s->listener = listen_at(port, &got);
    if (s->listener < 0 && port != 0 && !must) {
        s->listener = listen_at(0, &got);
    }
    if (s->listener < 0) {
        return cf_fail(err, CF_EIO, "port %u of this machine cannot be listened at", port);
    }
    cf_buf_addf(redirect, "http://127.0.0.1:%u%s", got, path);
    return CF_OK;
}

/* Waits for bytes; false when there are none before `until`. */
static bool wait_for(cf_sign_in *s, int fd, uint64_t until)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (cf_os_monotonic_us() < until && !must_stop(s)) {
        if (poll(&p, 1, LOOK_MS) > 0) {
            return true;
        }
    }
    return false;
}

static void read_head(cf_sign_in *s, int fd, cf_buf *head)
{
    const uint64_t until = cf_os_monotonic_us() + (uint64_t)HEAD_S * 1000000;
    char block[2048];
    while (head->n < HEAD_MAX && !head->failed && strstr(cf_buf_cstr(head), "\r\n\r\n") == NULL &&
           wait_for(s, fd, until)) {
        ssize_t n = read(fd, block, sizeof block);
        if (n <= 0 || memchr(block, '\0', (size_t)n) != NULL) {
            break;
        }
        cf_buf_add(head, block, (size_t)n);
    }
}

/* Whether the request is the browser's answer; appends its query then. */
static bool is_answer(const cf_buf *head, cf_buf *query)
{
    const char *p = cf_buf_cstr(head);
    size_t n = sizeof path - 1;
    if (strncmp(p, "GET ", 4) != 0 || strncmp(p + 4, path, n) != 0 || p[4 + n] != '?') {
        return false;
    }
    p += 5 + n;
    cf_buf_add(query, p, strcspn(p, " \r\n#"));
    return true;
}

/* Takes one connection; true when it was the answer. */
static bool take_connection(cf_sign_in *s, cf_buf *query)
{
    static const char good[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
                               "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
                               "confab has the answer. You can close this page.\n";
    static const char bad[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n"
                              "Connection: close\r\n\r\n";
    cf_buf head = CF_BUF_INIT;
    int fd = accept(s->listener, NULL, NULL);
    if (fd < 0) {
        return false;
    }
    read_head(s, fd, &head);
    bool is = is_answer(&head, query);
    (void)send(fd, is ? good : bad, is ? sizeof good - 1 : sizeof bad - 1, MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    close(fd);
    if (head.p != NULL) {
        memset(head.p, 0, head.n);
    }
    cf_buf_deinit(&head);
    return is;
}

/* Takes a line of the terminal; true when it is an address with an answer. */
static bool take_line(cf_buf *query)
{
    char line[HEAD_MAX];
    ssize_t n = read(STDIN_FILENO, line, sizeof line - 1);
    if (n <= 0) {
        return false;
    }
    line[n] = '\0';
    const char *at = strchr(line, '?');
    if (at == NULL || (strstr(at, "code=") == NULL && strstr(at, "error=") == NULL)) {
        return false;
    }
    cf_buf_add(query, at + 1, strcspn(at + 1, " \t\r\n#"));
    return true;
}

static cf_status visit(void *ud, size_t server, const char *address, cf_buf *query, cf_error *err)
{
    cf_sign_in *s = ud;
    const uint64_t until = cf_os_monotonic_us() + (uint64_t)WAIT_S * 1000000;
    bool reads = s->options.reads_terminal;
    s->options.show(s->options.ud, server, address);
    if (!s->options.no_browser) {
        cf_child_open_browser(address);
    }
    for (bool is_over = false; !is_over;) {
        struct pollfd p[2] = {{.fd = s->listener, .events = POLLIN},
                              {.fd = reads ? STDIN_FILENO : -1, .events = POLLIN}};
        if (must_stop(s)) {
            return cf_fail(err, CF_ECANCELLED, "stopped");
        }
        if (cf_os_monotonic_us() > until) {
            return cf_fail(err, CF_ELIMIT, "no sign-in within five minutes");
        }
        if (poll(p, 2, LOOK_MS) <= 0) {
            continue;
        }
        is_over = (p[0].revents != 0 && take_connection(s, query)) ||
                  ((p[1].revents & POLLIN) != 0 && take_line(query));
        reads = reads && (p[1].revents & (POLLHUP | POLLERR | POLLNVAL)) == 0;
    }
    close_listener(s);
    return cf_buf_check(query, err);
}

/* ---- making ------------------------------------------------------------- */

cf_status cf_sign_in_new(cf_sign_in **out, const cf_sign_in_options *options, cf_error *err)
{
    cf_sign_in *s = cf_calloc(1, sizeof *s);
    if (s == NULL) {
        return cf_oom_for(err, "the sign-ins");
    }
    s->options = *options;
    s->listener = -1;
    s->steps = (cf_mcp_sign_in){.with_kept = with_kept,
                                .may = may,
                                .open = open_listener,
                                .visit = visit,
                                .close = close_listener,
                                .must_stop = must_stop,
                                .ud = s};
    cf_status st = cf_token_file_init(&s->file, err);
    if (st != CF_OK) {
        cf_free(s);
        return st;
    }
    *out = s;
    return CF_OK;
}

void cf_sign_in_free(cf_sign_in *s)
{
    if (s != NULL) {
        close_listener(s);
        cf_token_file_deinit(&s->file);
        cf_free(s);
    }
}

const cf_mcp_sign_in *cf_sign_in_steps(const cf_sign_in *s)
{
    return &s->steps;
}
