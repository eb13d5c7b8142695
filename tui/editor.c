/*
 * editor.c - a private file, and the editor on it.
 */
#include "tui/editor.h"

#include <stdio.h>
#include <sys/wait.h>

#include "core/base/os.h"
#include "tui/child.h"

enum { TEXT_MAX = 16 << 20 };

static cf_status edit_file(cf_app *app, const char *path, cf_buf *text,
                           cf_error *err)
{
    int status;
    CF_TRY(cf_os_write_file(path, cf_buf_cstr(text), text->n, 0600, err));
    CF_TRY(cf_child_on_terminal(app, "exec ${VISUAL:-${EDITOR:-vi}} \"$1\"",
                                path, false, &status, err));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return cf_fail(err, CF_EIO,
                       "the editor ended with an error ($VISUAL, $EDITOR or "
                       "vi): nothing changed");
    }
    cf_buf got = CF_BUF_INIT;
    cf_status st = cf_os_read_file(&got, path, TEXT_MAX, err);
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
    char folder[CF_CHILD_PATH], path[CF_CHILD_PATH + 40];
    CF_TRY(cf_app_may(app, err));
    CF_TRY(cf_child_folder(folder, err));
    snprintf(path, sizeof path, "%s/text%.20s", folder, suffix);
    cf_status st = edit_file(app, path, text, err);
    cf_child_remove_folder(folder);
    return st;
}
