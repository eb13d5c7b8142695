/*
 * program.c - output goes through unlinked files, so that no pipe can fill
 * and nothing has to be read meanwhile.
 */
#include "tests/support/program.h"

#include <spawn.h>
#include <sys/wait.h>
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

void cf_program_run(cf_program *p, const char *const *argv, const char *input,
                    size_t n_input)
{
    enum { ARGS_MAX = 64 };
    char *args[ARGS_MAX + 2];
    size_t n = 0;
    args[n++] = strdup(cf_program_path());
    for (size_t i = 0; argv[i] != NULL && n <= ARGS_MAX; i++) {
        args[n++] = strdup(argv[i]);
    }
    args[n] = NULL;
    FILE *f[3];
    posix_spawn_file_actions_t actions;
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
    assert_int_equal(posix_spawn(&pid, args[0], &actions, NULL, args, environ),
                     0);
    posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    p->status =
        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    cf_buf_init(&p->out);
    cf_buf_init(&p->err);
    fclose(f[0]);
    read_back(&p->out, f[1]);
    read_back(&p->err, f[2]);
    while (n > 0) {
        free(args[--n]);
    }
}

void cf_program_deinit(cf_program *p)
{
    cf_buf_deinit(&p->out);
    cf_buf_deinit(&p->err);
}
