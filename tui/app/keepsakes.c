/*
 * keepsakes.c - two small files.
 *
 * Lines are appended, so that several workbenches may run; when the file has
 * grown past LINES_MAX it is cut to its newest half at the next start.
 */
#include "tui/app/keepsakes.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/os.h"
#include "core/base/os_append.h"

enum { LINES_MAX = 1000, LINE_BYTES = 511, FILE_MAX = 4 << 20, REGISTER_MAX = 16 << 20 };

static bool path_of(char out[600], const cf_app *app, const char *name)
{
    int n = snprintf(out, 600, "%s/%s", app->state_folder, name);
    return n > 0 && n < 600;
}

/* One line of the file, without its end. */
static void take_line(cf_app *app, cf_str line)
{
    cf_str text = cf_str_make(line.p + 1, line.n - 1);
    if (memchr(text.p, '\0', text.n) != NULL) {
        return; /* not ours */
    }
    if (line.p[0] == ':') {
        cf_edit_remember(&app->command_line, text);
    } else if (line.p[0] == '/') {
        cf_edit_remember(&app->search_line, text);
    }
}

static void read_lines(cf_app *app, const char *path)
{
    cf_buf text = CF_BUF_INIT;
    size_t n_lines = 0, half = 0;
    if (cf_os_read_file(&text, path, FILE_MAX, NULL) != CF_OK) {
        cf_buf_deinit(&text);
        return; /* the first start, or another program's file */
    }
    const char *p = cf_buf_cstr(&text);
    for (size_t at = 0; at < text.n;) {
        const char *nl = memchr(p + at, '\n', text.n - at);
        size_t end = nl != NULL ? (size_t)(nl - p) : text.n;
        if (end - at > 1 && end - at <= LINE_BYTES) {
            take_line(app, cf_str_make(p + at, end - at));
        }
        n_lines++;
        at = end + 1;
        if (n_lines % (LINES_MAX / 2) == 0 && at < text.n) {
            half = at;
        }
    }
    if (n_lines > LINES_MAX && half != 0) {
        cf_status st = cf_os_write_file(path, p + half, text.n - half, 0600, NULL);
        (void)st; /* too long, then: no harm */
    }
    cf_buf_deinit(&text);
}

void cf_keepsakes_open(cf_app *app, const char *folder, cf_buf *problems)
{
    cf_error err;
    char path[600];
    if (cf_os_make_dirs(folder, &err) != CF_OK) {
        cf_buf_addf(problems, "lines and register are not kept: %s\n", err.text);
        return;
    }
    app->state_folder = folder;
    if (path_of(path, app, "lines")) {
        read_lines(app, path);
    }
    if (path_of(path, app, "register") &&
        cf_os_read_file(&app->copied, path, REGISTER_MAX, NULL) != CF_OK) {
        cf_buf_restart(&app->copied);
    }
}

void cf_keepsakes_line(cf_app *app, char kind, const char *text)
{
    char path[600], line[LINE_BYTES + 3];
    size_t n = strlen(text);
    if (app->state_folder == NULL || n == 0 || n >= LINE_BYTES || memchr(text, '\n', n) != NULL ||
        !path_of(path, app, "lines")) {
        return;
    }
    int fd;
    if (cf_os_append_open(&fd, path, NULL) != CF_OK) {
        return;
    }
    int len = snprintf(line, sizeof line, "%c%s\n", kind, text);
    ssize_t put = write(fd, line, (size_t)len);
    (void)put; /* one line less to come back to */
    close(fd);
}

void cf_keepsakes_register(cf_app *app)
{
    char path[600];
    if (app->state_folder != NULL && path_of(path, app, "register") &&
        app->copied.n <= REGISTER_MAX) {
        cf_status st = cf_os_write_file(path, cf_buf_cstr(&app->copied), app->copied.n, 0600, NULL);
        (void)st; /* it is in memory all the same */
    }
}
