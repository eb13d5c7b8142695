/*
 * editor.c - a folder that only we can read, a file in it, and the editor on
 * that file.
 */
#include "tui/editor.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/os.h"

extern char **environ;

enum { TEXT_MAX = 16 << 20 };

/* Starts the editor with the signals of a fresh program, and its messages on
 * the screen and not where ours are caught. */
static cf_status spawn(pid_t *pid, const char *path, cf_error *err)
{
    char command[] = "exec ${VISUAL:-${EDITOR:-vi}} \"$1\"";
    char sh[] = "/bin/sh", dash_c[] = "-c", name[] = "confab-editor";
    char file[512];
    char *argv[] = {sh, dash_c, command, name, file, NULL};
    snprintf(file, sizeof file, "%s", path);
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t actions;
    sigset_t set;
    sigemptyset(&set);
    if (posix_spawnattr_init(&attr) != 0) {
        return cf_fail(err, CF_ENOMEM, "out of memory for the editor");
    }
    if (posix_spawn_file_actions_init(&actions) != 0) {
        posix_spawnattr_destroy(&attr);
        return cf_fail(err, CF_ENOMEM, "out of memory for the editor");
    }
    posix_spawnattr_setsigmask(&attr, &set);
    sigfillset(&set);
    posix_spawnattr_setsigdefault(&attr, &set);
    posix_spawnattr_setflags(&attr,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    int why = posix_spawn(pid, sh, &actions, &attr, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return why == 0 ? CF_OK
                    : cf_fail(err, CF_EIO, "the editor cannot be run: %s",
                              strerror(why));
}

/* ^C and ^\ belong to the editor while it runs. */
static cf_status run(const char *path, cf_error *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, was_int, was_quit;
    pid_t pid;
    int status = 0;
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGINT, &ignore, &was_int);
    sigaction(SIGQUIT, &ignore, &was_quit);
    cf_status st = spawn(&pid, path, err);
    while (st == CF_OK && waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            st = cf_fail(err, CF_EIO, "the editor got lost: %s",
                         strerror(errno));
        }
    }
    sigaction(SIGINT, &was_int, NULL);
    sigaction(SIGQUIT, &was_quit, NULL);
    if (st == CF_OK && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
        return cf_fail(err, CF_EIO,
                       "the editor ended with an error ($VISUAL, $EDITOR or "
                       "vi): nothing changed");
    }
    return st;
}

static cf_status edit_file(cf_app *app, const char *path, cf_buf *text,
                           cf_error *err)
{
    CF_TRY(cf_os_write_file(path, cf_buf_cstr(text), text->n, 0600, err));
    if (app->term != NULL) {
        app->term->ops->leave(app->term);
    }
    cf_status st = run(path, err);
    if (app->term != NULL) {
        int w, h;
        app->term->ops->enter(app->term);
        app->term->ops->size(app->term, &w, &h);
        cf_app_event(app, &(cf_event){.kind = CF_EVENT_RESIZE, .w = w, .h = h});
    }
    cf_buf got = CF_BUF_INIT;
    if (st == CF_OK) {
        st = cf_os_read_file(&got, path, TEXT_MAX, err);
    }
    if (st == CF_OK) {
        bool had_end = text->n > 0 && text->p[text->n - 1] == '\n';
        got.n -= !had_end && got.n > 0 && got.p[got.n - 1] == '\n';
        cf_buf_deinit(text);
        cf_buf_add(text, cf_buf_cstr(&got), got.n);
        st = cf_buf_check(text, err);
    }
    cf_buf_deinit(&got);
    return st;
}

cf_status cf_editor_run(cf_app *app, const char *suffix, cf_buf *text,
                        cf_error *err)
{
    char folder[400], path[440];
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(folder, sizeof folder, "%s/confab-XXXXXX",
                     tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp");
    if (n < 0 || (size_t)n >= sizeof folder || mkdtemp(folder) == NULL) {
        return cf_fail(err, CF_EIO, "no folder for the text: %s",
                       strerror(errno));
    }
    snprintf(path, sizeof path, "%s/text%.20s", folder, suffix);
    cf_status st = edit_file(app, path, text, err);
    unlink(path);
    rmdir(folder); /* an editor's own leftovers keep it */
    return st;
}
