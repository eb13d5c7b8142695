/*
 * editor.c - a private file, and the editor on it.
 */
#include "tui/app/editor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/os.h"
#include "tui/sys/child.h"

enum { TEXT_MAX = 16 << 20 };

bool cf_editor_takes_line(const char *editor)
{
    static const char *const known[] = {
        "vi",    "vim",   "nvim",  "view",        "vis",  "nvi",
        "elvis", "nano",  "emacs", "emacsclient", "mg",   "joe",
        "jed",   "micro", "kak",   "ne",          "jove", "less"};
    size_t n = strcspn(editor, " \t");
    size_t from = n;
    while (from > 0 && editor[from - 1] != '/') {
        from--;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strlen(known[i]) == n - from &&
            memcmp(known[i], editor + from, n - from) == 0) {
            return true;
        }
    }
    return false;
}

/* The command line for the shell that starts the editor. */
static const char *editor_name(void)
{
    const char *name = getenv("VISUAL"); /* NOLINT(concurrency-mt-unsafe) */
    if (name == NULL || name[0] == '\0') {
        name = getenv("EDITOR"); /* NOLINT(concurrency-mt-unsafe) */
    }
    return name != NULL && name[0] != '\0' ? name : "vi";
}

static cf_status edit_file(cf_app *app, const char *path, uint32_t line,
                           cf_buf *text, cf_error *err)
{
    int status;
    /* Like git: the variable's value may contain quotes. */
    char command[80] = "eval \"exec ${VISUAL:-${EDITOR:-vi}} \\\"\\$1\\\"\"";
    if (line > 0 && cf_editor_takes_line(editor_name())) {
        snprintf(command, sizeof command,
                 "eval \"exec ${VISUAL:-${EDITOR:-vi}} +%u \\\"\\$1\\\"\"",
                 (unsigned)line);
    }
    CF_TRY(cf_os_write_file(path, cf_buf_cstr(text), text->n, 0600, err));
    CF_TRY(cf_app_run_on_terminal(app, command, path, false, &status, err));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return cf_fail(err, CF_EIO,
                       "the editor ended with an error ($VISUAL, $EDITOR or "
                       "vi): nothing changed");
    }
    cf_buf got = CF_BUF_INIT;
    cf_status st = cf_os_read_file(&got, path, TEXT_MAX, err);
    if (st == CF_OK) {
        bool had_end = text->n > 0 && text->p[text->n - 1] == '\n';
        cf_buf old = *text;
        got.n -= !had_end && got.n > 0 && got.p[got.n - 1] == '\n';
        if (got.p != NULL) {
            got.p[got.n] = '\0';
        }
        *text = got;
        got = old;
    }
    cf_buf_deinit(&got);
    return st;
}

cf_status cf_editor_run(cf_app *app, const char *suffix, cf_buf *text,
                        cf_error *err)
{
    return cf_editor_run_at(app, suffix, 0, text, err);
}

cf_status cf_editor_run_at(cf_app *app, const char *suffix, uint32_t line,
                           cf_buf *text, cf_error *err)
{
    char folder[CF_CHILD_PATH], path[CF_CHILD_PATH + 40];
    CF_TRY(cf_app_may(app, err));
    CF_TRY(cf_child_folder(folder, err));
    snprintf(path, sizeof path, "%s/text%.20s", folder, suffix);
    cf_status st = edit_file(app, path, line, text, err);
    cf_child_remove_folder(folder);
    return st;
}
