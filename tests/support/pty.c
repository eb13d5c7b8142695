/*
 * pty.c - the pseudo-terminal, and libvterm that reads it.
 */
#define _GNU_SOURCE 1 /* memmem() */
#include "tests/support/pty.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include "core/base/os.h"
#include "tests/support/program.h"
#include "tests/support/slow.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

enum { PATIENCE_MS = T_IS_SLOW ? 60000 : 20000 };

static int on_property(VTermProp prop, VTermValue *value, void *ud)
{
    cf_pty *t = ud;
    if (prop == VTERM_PROP_ALTSCREEN) {
        t->is_alternate = value->boolean != 0;
    } else if (prop == VTERM_PROP_CURSORVISIBLE) {
        t->shows_cursor = value->boolean != 0;
    }
    return 1;
}

/* The emulator's answers to queries go back to the program. */
static void answer(cf_pty *t)
{
    char reply[256];
    size_t n;
    while ((n = vterm_output_read(t->vt, reply, sizeof reply)) > 0) {
        if (write(t->fd, reply, n) < 0) {
            return;
        }
    }
}

/* Feeds the emulator, without the bytes of kitty's graphics. */
static void feed(cf_pty *t, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool is_esc = p[i] == '\033';
        if (t->apc >= 2) {
            t->apc = is_esc ? 3 : t->apc == 3 ? 0 : 2;
            continue;
        }
        if (t->apc == 1 && p[i] == '_') {
            t->apc = 2;
            continue;
        }
        if (t->apc == 1) {
            vterm_input_write(t->vt, "\033", 1);
        }
        t->apc = is_esc ? 1 : 0;
        if (!is_esc) {
            vterm_input_write(t->vt, &p[i], 1);
        }
    }
}

/* Takes what is there within `ms`. */
static bool take(cf_pty *t, int ms)
{
    struct pollfd p = {.fd = t->fd, .events = POLLIN};
    char block[4096];
    ssize_t n = poll(&p, 1, ms) > 0 ? read(t->fd, block, sizeof block) : 0;
    if (n <= 0) {
        return false;
    }
    feed(t, block, (size_t)n);
    cf_buf_add(&t->out, block, (size_t)n);
    answer(t);
    return true;
}

/* Whether the program has ended; then what it wrote is read up to a mark that
 * follows it.  The terminal's other end is open here until then: Linux may answer
 * EIO in place of bytes that were written just before the last process closed it. */
static void see_end(cf_pty *t)
{
    static const char mark[] = "\033[?7777h"; /* a mode that nothing has */
    if (waitpid(t->pid, &t->status, WNOHANG) != t->pid) {
        return;
    }
    t->is_closed = true;
    while (take(t, 0)) { /* makes room for the mark */
    }
    const size_t from = t->out.n;
    assert_int_equal(write(t->other_fd, mark, strlen(mark)), strlen(mark));
    const char *at = NULL;
    while (at == NULL) {
        assert_true(take(t, PATIENCE_MS));
        at = memmem(t->out.p + from, t->out.n - from, mark, strlen(mark));
    }
    t->out.n = (size_t)(at - t->out.p);
    close(t->other_fd);
}

bool cf_pty_pump(cf_pty *t, int ms)
{
    if (t->is_closed || take(t, ms)) {
        return !t->is_closed;
    }
    see_end(t);
    return false;
}

static void row_text(const cf_pty *t, int y, char *out, size_t cap)
{
    size_t n = 0;
    for (int x = 0; x < t->w && n + 1 < cap; x++) {
        VTermScreenCell cell;
        VTermPos at = {.row = y, .col = x};
        uint32_t cp = vterm_screen_get_cell(t->screen, at, &cell) != 0 ? cell.chars[0] : 0;
        out[n++] = cp >= ' ' && cp < 0x7F ? (char)cp : ' ';
    }
    out[n] = '\0';
}

bool cf_pty_shows(const cf_pty *t, const char *text)
{
    char row[512];
    for (int y = 0; y < t->h; y++) {
        row_text(t, y, row, sizeof row);
        if (strstr(row, text) != NULL) {
            return true;
        }
    }
    return false;
}

void cf_pty_print(const cf_pty *t)
{
    for (int y = 0; y < t->h; y++) {
        char row[512];
        row_text(t, y, row, sizeof row);
        printf("|%s|\n", row);
    }
}

void cf_pty_wait(cf_pty *t, const char *text)
{
    for (int left = PATIENCE_MS; !cf_pty_shows(t, text); left -= 20) {
        if (left <= 0 || t->is_closed) {
            cf_pty_print(t);
            fail_msg("'%s' never came", text);
        }
        cf_pty_pump(t, 20);
    }
}

void cf_pty_type(cf_pty *t, const char *keys)
{
    assert_int_equal(write(t->fd, keys, strlen(keys)), (ssize_t)strlen(keys));
}

static void exec_program(const char *const *words, const char *term)
{
    const char *program = cf_program_path();
    char *argv[CF_PTY_WORDS_MAX + 2] = {strdup(program)};
    setenv("TERM", term, 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("HOME", store_dir_file("home"), 1);
    setenv("XDG_CONFIG_HOME", store_dir_file("config"), 1);
    setenv("XDG_STATE_HOME", store_dir_file("state"), 1);
    setenv("XDG_DATA_HOME", store_dir_file("data"), 1);
    unsetenv("LINES");
    unsetenv("COLUMNS");
    unsetenv("NO_COLOR");
    for (size_t i = 0; i < CF_PTY_WORDS_MAX && words[i] != NULL; i++) {
        argv[i + 1] = strdup(words[i]);
    }
    execv(program, argv);
    _exit(127);
}

void cf_pty_start(cf_pty *t, int w, int h, const char *const *words, const char *term)
{
    static const VTermScreenCallbacks callbacks = {.settermprop = on_property};
    *t = (cf_pty){.w = w, .h = h, .shows_cursor = true};
    t->vt = vterm_new(h, w);
    assert_non_null(t->vt);
    vterm_set_utf8(t->vt, 1);
    t->screen = vterm_obtain_screen(t->vt);
    vterm_screen_set_callbacks(t->screen, &callbacks, t);
    vterm_screen_enable_altscreen(t->screen, 1);
    vterm_screen_reset(t->screen, 1);
    struct winsize size = {.ws_row = (unsigned short)h, .ws_col = (unsigned short)w};
    assert_int_equal(openpty(&t->fd, &t->other_fd, NULL, NULL, &size), 0);
    assert_int_equal(fcntl(t->fd, F_SETFD, FD_CLOEXEC), 0);
    assert_int_equal(fcntl(t->other_fd, F_SETFD, FD_CLOEXEC), 0);
    t->pid = fork();
    assert_true(t->pid >= 0);
    if (t->pid == 0) {
        if (login_tty(t->other_fd) != 0) {
            _exit(127);
        }
        exec_program(words, term);
    }
}

int cf_pty_finish(cf_pty *t)
{
    return cf_pty_finish_in(t, PATIENCE_MS);
}

int cf_pty_finish_in(cf_pty *t, unsigned ms)
{
    const uint64_t end = cf_os_monotonic_us() + (uint64_t)ms * 1000;
    while (!t->is_closed) {
        if (cf_os_monotonic_us() > end) {
            if (waitpid(t->pid, NULL, WNOHANG) == 0) {
                kill(t->pid, SIGKILL);
                waitpid(t->pid, NULL, 0);
            }
            cf_pty_print(t);
            fail_msg("the program does not end within %u ms", ms);
        }
        cf_pty_pump(t, 20);
    }
    struct termios tty;
    if (tcgetattr(t->fd, &tty) == 0) {
        assert_true((tty.c_lflag & ECHO) != 0);
        assert_true((tty.c_lflag & ICANON) != 0);
    }
    if (t->is_alternate || !t->shows_cursor) {
        fail_msg("the terminal is left as it was drawn; wait status %d", t->status);
    }
    close(t->fd);
    vterm_free(t->vt);
    cf_buf_deinit(&t->out);
    return t->status;
}

bool cf_pty_is_there(void)
{
    int ours, theirs;
    if (openpty(&ours, &theirs, NULL, NULL, NULL) != 0) {
        return false;
    }
    close(ours);
    close(theirs);
    return true;
}
