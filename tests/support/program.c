/*
 * program.c - output goes through unlinked files, so that no pipe can fill
 * and nothing has to be read meanwhile.
 */
#define _XOPEN_SOURCE 600
#include "tests/support/program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "core/api/bundled.h"
#include "tests/support/t.h"

extern char **environ;

const char *cf_program_path(void)
{
    const char *path = getenv("CONFAB_BIN");
    return path != NULL && path[0] != '\0' ? path : NULL;
}

bool cf_program_has_model(void)
{
    const void *bytes;
    size_t n;
    return cf_bundled_model(&bytes, &n);
}

static void read_back(cf_buf *out, FILE *f)
{
    char block[4096];
    size_t n;
    rewind(f);
    while ((n = fread(block, 1, sizeof block, f)) > 0) {
        cf_buf_add(out, block, n);
    }
    fclose(f);
}

enum { ARGS_MAX = 64 };

/* The program's arguments, [ARGS_MAX + 2]; freed with free_args(). */
static void copy_args(char **args, const char *const *argv)
{
    size_t n = 0;
    args[n++] = strdup(cf_program_path());
    for (size_t i = 0; argv[i] != NULL && n <= ARGS_MAX; i++) {
        args[n++] = strdup(argv[i]);
    }
    args[n] = NULL;
}

static void free_args(char **args)
{
    for (size_t i = 0; args[i] != NULL; i++) {
        free(args[i]);
    }
}

static int wait_for(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void cf_program_run(cf_program *p, const char *const *argv, const char *input, size_t n_input)
{
    char *args[ARGS_MAX + 2];
    FILE *f[3];
    posix_spawn_file_actions_t actions;
    copy_args(args, argv);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    for (int i = 0; i < 3; i++) {
        f[i] = tmpfile();
        assert_non_null(f[i]);
        if (i == 0 && n_input > 0) {
            assert_int_equal(fwrite(input, 1, n_input, f[0]), n_input);
        }
        rewind(f[i]);
        posix_spawn_file_actions_adddup2(&actions, fileno(f[i]), i);
    }
    pid_t pid;
    assert_int_equal(posix_spawn(&pid, args[0], &actions, NULL, args, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    p->status = wait_for(pid);
    cf_buf_init(&p->out);
    cf_buf_init(&p->err);
    fclose(f[0]);
    read_back(&p->out, f[1]);
    read_back(&p->err, f[2]);
    free_args(args);
}

/* A terminal that hands every byte on unchanged; *slave is its other end. */
static int open_terminal(int *slave)
{
    struct termios raw;
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0);
    assert_int_equal(grantpt(master), 0);
    assert_int_equal(unlockpt(master), 0);
    *slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(*slave >= 0);
    assert_int_equal(tcgetattr(*slave, &raw), 0);
    raw.c_oflag &= ~(tcflag_t)OPOST;
    assert_int_equal(tcsetattr(*slave, TCSANOW, &raw), 0);
    return master;
}

/* Reads what comes at the terminal until `alive` says that no process holds
 * the other end of it, and what is there then: a full one takes no mark. */
static void read_while_alive(cf_buf *out, int master, int alive)
{
    struct pollfd p[2] = {{.fd = master, .events = POLLIN}, {.fd = alive, .events = POLLIN}};
    char block[4096];
    while (p[1].revents == 0 || p[0].revents != 0) {
        assert_true(poll(p, 2, -1) > 0);
        if (p[0].revents != 0) {
            ssize_t n = read(master, block, sizeof block);
            assert_true(n > 0);
            cf_buf_add(out, block, (size_t)n);
        }
    }
}

/* Reads the rest: whatever came before a mark that is written last. */
static void read_to_mark(cf_buf *out, int master, int slave)
{
    static const char mark[] = "\033[the end]";
    const size_t n_mark = sizeof mark - 1;
    char block[4096];
    assert_int_equal(write(slave, mark, n_mark), n_mark);
    while (out->n < n_mark || memcmp(out->p + out->n - n_mark, mark, n_mark) != 0) {
        ssize_t n = read(master, block, sizeof block);
        assert_true(n > 0);
        cf_buf_add(out, block, (size_t)n);
    }
    out->n -= n_mark;
    out->p[out->n] = '\0';
}

/* The terminal's other end stays open here: Linux may answer EIO in place of
 * bytes that were written just before the last process closed it. */
void cf_program_on_terminal(cf_program *p, const char *const *argv, const char *input)
{
    char *args[ARGS_MAX + 2];
    int slave, alive[2];
    int master = open_terminal(&slave);
    posix_spawn_file_actions_t actions;
    copy_args(args, argv);
    assert_int_equal(pipe(alive), 0);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, slave, 1);
    posix_spawn_file_actions_adddup2(&actions, slave, 2);
    posix_spawn_file_actions_addclose(&actions, master);
    posix_spawn_file_actions_addclose(&actions, slave);
    posix_spawn_file_actions_addclose(&actions, alive[0]);
    pid_t pid;
    assert_int_equal(posix_spawn(&pid, args[0], &actions, NULL, args, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(alive[1]);
    cf_buf_init(&p->out);
    cf_buf_init(&p->err);
    read_while_alive(&p->out, master, alive[0]);
    read_to_mark(&p->out, master, slave);
    close(alive[0]);
    close(slave);
    close(master);
    p->status = wait_for(pid);
    free_args(args);
}

void cf_program_deinit(cf_program *p)
{
    cf_buf_deinit(&p->out);
    cf_buf_deinit(&p->err);
}

void cf_shell_prints(const char *command, const char *want)
{
    char part[512];
    cf_buf out = CF_BUF_INIT;
    FILE *from = popen(command, "r"); /* NOLINT(cert-env33-c) */
    assert_non_null(from);
    for (size_t n; (n = fread(part, 1, sizeof part, from)) > 0;) {
        cf_buf_add(&out, part, n);
    }
    int status = pclose(from);
    if (status != 0 || strstr(cf_buf_cstr(&out), want) == NULL) {
        fail_msg("%s: status %d:\n%s", command, status, cf_buf_cstr(&out));
    }
    cf_buf_deinit(&out);
}

void cf_program_expect(cf_program *p, int status, const char *want)
{
    if (p->status != status || strcmp(cf_buf_cstr(&p->out), want) != 0) {
        fail_msg("status %d\n%swant %d\n%s%s", p->status, cf_buf_cstr(&p->out), status, want,
                 cf_buf_cstr(&p->err));
    }
    cf_program_deinit(p);
}
