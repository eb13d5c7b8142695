/*
 * child.c - spawning, waiting, and clearing up.
 */
#include "tui/sys/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/os.h"

extern char **environ;

/* A program that must end gets half a second for it. */
enum { LOOK_MS = 50, GRACE_LOOKS = 10 };
enum { CTRL_C = 3 };

static bool is_cancelled(cf_cancel *cancel)
{
    return cancel != NULL && atomic_load_explicit(cancel, memory_order_relaxed);
}

/* The parts that both kinds of children share. */
typedef struct spawning {
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t actions;
} spawning;

/* The signals of a fresh program. */
static cf_status begin_spawn(spawning *s, short more_flags, cf_error *err)
{
    sigset_t set;
    sigemptyset(&set);
    if (posix_spawnattr_init(&s->attr) != 0) {
        return cf_oom_for(err, "a program");
    }
    if (posix_spawn_file_actions_init(&s->actions) != 0) {
        posix_spawnattr_destroy(&s->attr);
        return cf_oom_for(err, "a program");
    }
    posix_spawnattr_setsigmask(&s->attr, &set);
    sigfillset(&set);
    posix_spawnattr_setsigdefault(&s->attr, &set);
    posix_spawnattr_setflags(&s->attr,
                             (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | more_flags));
    return CF_OK;
}

/* Starts "sh -c command arg0 arg" and forgets the preparation. */
static cf_status end_spawn(spawning *s, pid_t *pid, const char *command, const char *arg,
                           cf_error *err)
{
    char sh[] = "/bin/sh", dash_c[] = "-c", name[] = "confab";
    char *text = cf_strdup(command);
    char *first = arg != NULL ? cf_strdup(arg) : NULL;
    char *argv[] = {sh, dash_c, text, name, first, NULL};
    int code = ENOMEM;
    char why[CF_OS_WHY];
    if (text != NULL && (arg == NULL || first != NULL)) {
        code = posix_spawn(pid, sh, &s->actions, &s->attr, argv, environ);
    }
    cf_free(text);
    cf_free(first);
    posix_spawn_file_actions_destroy(&s->actions);
    posix_spawnattr_destroy(&s->attr);
    return code == 0 ? CF_OK
                     : cf_fail(err, code == ENOMEM ? CF_ENOMEM : CF_EIO,
                               "/bin/sh cannot be run: %s", cf_os_why(why, code));
}

/* ---- on the terminal ---------------------------------------------------- */

/* One key without waiting for a line; 0 when none came in LOOK_MS, -1 when the
 * terminal is gone. */
static int look_for_key(void)
{
    char c = 0;
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&p, 1, LOOK_MS) <= 0) {
        return 0;
    }
    ssize_t n = read(STDIN_FILENO, &c, 1);
    return n == 1 ? (unsigned char)c : n < 0 && errno == EINTR ? 0 : -1;
}

void cf_child_wait_for_enter(bool (*must_end)(void))
{
    static const char text[] = "\r\n[Enter goes back to confab] ";
    struct termios was, raw;
    if (write(STDOUT_FILENO, text, sizeof text - 1) < 0 || tcgetattr(STDIN_FILENO, &was) != 0) {
        return;
    }
    raw = was;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    int key = 0;
    while (key >= 0 && key != '\n' && key != '\r' && key != CTRL_C && !must_end()) {
        key = look_for_key();
    }
    tcsetattr(STDIN_FILENO, TCSANOW, &was);
}

/* Whether the terminal stayed for LOOK_MS. */
static bool has_terminal(void)
{
    struct pollfd p = {.fd = STDIN_FILENO};
    if (poll(&p, 1, LOOK_MS) > 0 && (p.revents & (POLLHUP | POLLERR)) != 0) {
        return false;
    }
    if ((p.revents & POLLNVAL) != 0) {
        poll(NULL, 0, LOOK_MS);
    }
    return true;
}

/* Waits for the program.  When the terminal goes away, or confab must end, it
 * is asked to end, as the terminal itself asks; one that does not is left
 * alone, so that nothing keeps confab. */
static cf_status wait_on_terminal(pid_t pid, bool (*must_end)(void), int *status, cf_error *err)
{
    char why[CF_OS_WHY];
    for (int looks = -1; looks != 0;) {
        pid_t got = waitpid(pid, status, WNOHANG);
        if (got == pid) {
            return CF_OK;
        }
        if (got < 0 && errno != EINTR) {
            return cf_fail(err, CF_EIO, "cannot wait for the program: %s", cf_os_why(why, errno));
        }
        if (looks > 0) {
            looks--;
            poll(NULL, 0, LOOK_MS);
        } else if (must_end() || !has_terminal()) {
            kill(pid, SIGHUP);
            kill(pid, SIGTERM);
            looks = GRACE_LOOKS;
        }
    }
    return cf_fail(err, CF_EIO, "confab is ending; the program keeps running");
}

/* ^C and ^\ belong to the program while it runs. */
cf_status cf_child_on_terminal(const char *command, const char *arg, bool (*must_end)(void),
                               int *status, cf_error *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, was_int, was_quit;
    pid_t pid;
    spawning s;
    *status = 0;
    CF_TRY(begin_spawn(&s, 0, err));
    /* Its messages go on the screen and not where ours are caught. */
    posix_spawn_file_actions_adddup2(&s.actions, STDOUT_FILENO, STDERR_FILENO);
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGINT, &ignore, &was_int);
    sigaction(SIGQUIT, &ignore, &was_quit);
    cf_status st = end_spawn(&s, &pid, command, arg, err);
    CF_THEN(st, wait_on_terminal(pid, must_end, status, err));
    sigaction(SIGINT, &was_int, NULL);
    sigaction(SIGQUIT, &was_quit, NULL);
    return st;
}

/* ---- in the background -------------------------------------------------- */

typedef struct reading {
    int fd;
    size_t left; /* bytes that are still kept */
    bool is_cut, is_over;
    cf_buf *out;
} reading;

/* Waits LOOK_MS for output and takes it. */
static void read_some(reading *r)
{
    struct pollfd p = {.fd = r->fd, .events = POLLIN};
    char block[8192];
    if (poll(&p, 1, LOOK_MS) <= 0) {
        return;
    }
    ssize_t n = read(r->fd, block, sizeof block);
    if (n <= 0) {
        r->is_over = n == 0 || errno != EINTR;
        return;
    }
    size_t kept = (size_t)n < r->left ? (size_t)n : r->left;
    cf_buf_add(r->out, block, kept);
    r->left -= kept;
    r->is_cut = r->is_cut || kept < (size_t)n;
}

/* Ends the group: asked first, then killed. */
static void end_group(pid_t pid, int *status)
{
    kill(-pid, SIGTERM);
    for (int i = 0; i < GRACE_LOOKS; i++) {
        if (waitpid(pid, status, WNOHANG) == pid) {
            kill(-pid, SIGKILL);
            return;
        }
        poll(NULL, 0, LOOK_MS);
    }
    kill(-pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR) {
    }
}

static cf_status spawn_piped(pid_t *pid, int *fd, const char *command, cf_error *err)
{
    int ends[2];
    spawning s;
    if (pipe(ends) != 0) {
        char why[CF_OS_WHY];
        return cf_fail(err, CF_EIO, "no pipe: %s", cf_os_why(why, errno));
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    cf_status st = begin_spawn(&s, POSIX_SPAWN_SETPGROUP, err);
    if (st == CF_OK) {
        posix_spawnattr_setpgroup(&s.attr, 0);
        posix_spawn_file_actions_addopen(&s.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&s.actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&s.actions, ends[1], STDERR_FILENO);
        st = end_spawn(&s, pid, command, NULL, err);
    }
    close(ends[1]);
    if (st != CF_OK) {
        close(ends[0]);
        return st;
    }
    *fd = ends[0];
    return CF_OK;
}

cf_status cf_child_output(const char *command, size_t max_bytes, cf_cancel *cancel, cf_buf *out,
                          bool *is_cut, int *status, cf_error *err)
{
    pid_t pid;
    reading r = {.left = max_bytes, .out = out};
    *status = 0;
    CF_TRY(spawn_piped(&pid, &r.fd, command, err));
    bool has_ended = false;
    while (!r.is_over && !is_cancelled(cancel)) {
        read_some(&r);
        /* Its own children may hold the pipe for ever: only its exit counts. */
        if (!has_ended && waitpid(pid, status, WNOHANG) == pid) {
            has_ended = true;
            fcntl(r.fd, F_SETFL, O_NONBLOCK);
        } else if (has_ended) {
            struct pollfd p = {.fd = r.fd, .events = POLLIN};
            r.is_over = r.is_over || poll(&p, 1, 0) <= 0;
        }
    }
    *is_cut = r.is_cut;
    cf_status st = CF_OK;
    if (is_cancelled(cancel)) {
        st = cf_fail(err, CF_ECANCELLED, "stopped");
    }
    if (!has_ended && st == CF_OK) { /* it closed its output and goes on */
        while (waitpid(pid, status, WNOHANG) == 0) {
            if (is_cancelled(cancel)) {
                st = cf_fail(err, CF_ECANCELLED, "stopped");
                break;
            }
            poll(NULL, 0, LOOK_MS);
        }
        has_ended = st == CF_OK;
    }
    if (!has_ended) {
        end_group(pid, status);
    }
    close(r.fd);
    return st != CF_OK ? st : cf_buf_check(out, err);
}

/* ---- folders ------------------------------------------------------------ */

cf_status cf_child_folder(char out[CF_CHILD_PATH], cf_error *err)
{
    const char *tmp = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe) */
    int n = snprintf(out, CF_CHILD_PATH - 40, "%s/confab-XXXXXX",
                     tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp");
    if (n < 0 || n >= CF_CHILD_PATH - 40 || mkdtemp(out) == NULL) {
        char why[CF_OS_WHY];
        out[0] = '\0';
        return cf_fail(err, CF_EIO, "cannot make a temporary folder: %s", cf_os_why(why, errno));
    }
    return CF_OK;
}

void cf_child_remove_folder(const char *folder)
{
    DIR *dir = folder[0] != '\0' ? opendir(folder) : NULL;
    if (dir == NULL) {
        return;
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream */
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        char path[CF_CHILD_PATH + 260];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path); /* folders that a program made stay, and keep this one */
    }
    closedir(dir);
    rmdir(folder);
}

bool cf_child_find(cf_buf *out, cf_str name)
{
    if (memchr(name.p, '/', name.n) != NULL) {
        cf_buf_add(out, name.p, name.n);
        return access(cf_buf_cstr(out), R_OK) == 0;
    }
    const char *dirs = getenv("PATH"); /* NOLINT(concurrency-mt-unsafe) */
    while (dirs != NULL && *dirs != '\0') {
        size_t n = strcspn(dirs, ":");
        cf_buf_reset(out);
        cf_buf_add(out, dirs, n);
        cf_buf_adds(out, n > 0 ? "/" : "./");
        cf_buf_add(out, name.p, name.n);
        if (!out->failed && access(cf_buf_cstr(out), R_OK) == 0) {
            return true;
        }
        dirs += n + (dirs[n] == ':');
    }
    return false;
}

/* ---- the browser -------------------------------------------------------- */

/* The words of $BROWSER's first program, with the address for "%s" or at the
 * end; NULL at the end.  False when they do not fit. */
static bool browser_words(char *command, char *address, char **argv, size_t max)
{
    size_t n = 0;
    bool has_address = false;
    char *rest = NULL;
    command[strcspn(command, ":")] = '\0';
    for (char *word = strtok_r(command, " ", &rest); word != NULL && n + 2 < max;
         word = strtok_r(NULL, " ", &rest)) {
        bool is_address = strcmp(word, "%s") == 0;
        argv[n++] = is_address ? address : word;
        has_address = has_address || is_address;
    }
    if (n > 0 && !has_address) {
        argv[n++] = address;
    }
    argv[n] = NULL;
    return n > 1;
}

void cf_child_open_browser(const char *address)
{
    enum { WORDS_MAX = 16 };
    char *argv[WORDS_MAX];
    const char *named = getenv("BROWSER"); /* NOLINT(concurrency-mt-unsafe) */
    char *command = cf_strdup(named != NULL && named[0] != '\0' ? named : "xdg-open");
    char *copy = cf_strdup(address);
    cf_error ignored;
    spawning s;
    pid_t pid;
    if (command != NULL && copy != NULL && browser_words(command, copy, argv, WORDS_MAX) &&
        begin_spawn(&s, POSIX_SPAWN_SETPGROUP, &ignored) == CF_OK) {
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
            posix_spawn_file_actions_addopen(&s.actions, fd, "/dev/null", O_RDWR, 0);
        }
        cf_ignore(posix_spawnp(&pid, argv[0], &s.actions, &s.attr, argv, environ));
        posix_spawn_file_actions_destroy(&s.actions);
        posix_spawnattr_destroy(&s.attr);
    }
    cf_free(command);
    cf_free(copy);
}
