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

/* How editors are told the line. */
typedef enum line_form {
    LINE_NONE,
    LINE_PLUS,  /* +12 FILE */
    LINE_COLON, /* FILE:12 */
    LINE_GOTO   /* --goto FILE:12 */
} line_form;

static const struct {
    const char *name;
    line_form form;
} known[] = {{"vi", LINE_PLUS},           {"vim", LINE_PLUS},    {"nvim", LINE_PLUS},
             {"view", LINE_PLUS},         {"vis", LINE_PLUS},    {"nvi", LINE_PLUS},
             {"elvis", LINE_PLUS},        {"nano", LINE_PLUS},   {"emacs", LINE_PLUS},
             {"emacsclient", LINE_PLUS},  {"mg", LINE_PLUS},     {"joe", LINE_PLUS},
             {"jed", LINE_PLUS},          {"micro", LINE_PLUS},  {"kak", LINE_PLUS},
             {"ne", LINE_PLUS},           {"jove", LINE_PLUS},   {"less", LINE_PLUS},
             {"hx", LINE_COLON},          {"helix", LINE_COLON}, {"subl", LINE_COLON},
             {"zed", LINE_COLON},         {"code", LINE_GOTO},   {"codium", LINE_GOTO},
             {"code-insiders", LINE_GOTO}};

enum { N_KNOWN = sizeof known / sizeof known[0], SCRIPT_MAX = 4096 };

static line_form form_of_name(const char *name, size_t n)
{
    for (size_t i = 0; i < N_KNOWN; i++) {
        if (strlen(known[i].name) == n && memcmp(known[i].name, name, n) == 0) {
            return known[i].form;
        }
    }
    return LINE_NONE;
}

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

/* The form of the last known editor that a text names as a word: what a
 * wrapper script starts is at its end. */
static line_form form_in_text(const char *text, size_t n)
{
    line_form form = LINE_NONE;
    for (size_t at = 0; at < n;) {
        size_t end = at;
        while (end < n && is_name_byte(text[end])) {
            end++;
        }
        line_form f = form_of_name(text + at, end - at);
        form = f != LINE_NONE ? f : form;
        at = end + 1;
    }
    return form;
}

/* Of a program that is no editor by its name: a script that starts one. */
static line_form form_of_script(const char *word, size_t n)
{
    cf_buf path = CF_BUF_INIT;
    cf_buf text = CF_BUF_INIT;
    line_form form = LINE_NONE;
    if (cf_child_find(&path, cf_str_make(word, n)) &&
        cf_os_read_file(&text, cf_buf_cstr(&path), SCRIPT_MAX, NULL) == CF_OK && text.n > 2 &&
        memcmp(text.p, "#!", 2) == 0) {
        const char *body = memchr(text.p, '\n', text.n);
        form = body != NULL ? form_in_text(body, text.n - (size_t)(body - text.p)) : LINE_NONE;
    }
    cf_buf_deinit(&text);
    cf_buf_deinit(&path);
    return form;
}

static line_form form_of(const char *editor)
{
    size_t n = strcspn(editor, " \t");
    size_t from = n;
    while (from > 0 && editor[from - 1] != '/') {
        from--;
    }
    line_form form = form_of_name(editor + from, n - from);
    return form != LINE_NONE ? form : form_of_script(editor, n);
}

bool cf_editor_takes_line(const char *editor)
{
    return form_of(editor) != LINE_NONE;
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

/* Gives the screen to the editor with a file; CF_EIO as the header says. */
static cf_status run_editor(cf_app *app, const char *path, uint32_t line, cf_error *err)
{
    /* Like git: the variable's value may contain quotes. */
    static const char start[] = "eval \"exec ${VISUAL:-${EDITOR:-vi}}";
    char command[120];
    int status;
    switch (line > 0 ? form_of(editor_name()) : LINE_NONE) {
    case LINE_PLUS:
        snprintf(command, sizeof command, "%s +%u \\\"\\$1\\\"\"", start, (unsigned)line);
        break;
    case LINE_COLON:
        snprintf(command, sizeof command, "%s \\\"\\$1:%u\\\"\"", start, (unsigned)line);
        break;
    case LINE_GOTO:
        snprintf(command, sizeof command, "%s --goto \\\"\\$1:%u\\\"\"", start, (unsigned)line);
        break;
    case LINE_NONE:
        snprintf(command, sizeof command, "%s \\\"\\$1\\\"\"", start);
        break;
    }
    CF_TRY(cf_app_run_on_terminal(app, command, path, false, &status, err));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return cf_fail(err, CF_EIO,
                       "the editor ended with an error ($VISUAL, $EDITOR or "
                       "vi): nothing changed");
    }
    return CF_OK;
}

static cf_status edit_file(cf_app *app, const char *path, uint32_t line, cf_buf *text,
                           cf_error *err)
{
    CF_TRY(cf_os_write_file(path, cf_buf_cstr(text), text->n, 0600, err));
    CF_TRY(run_editor(app, path, line, err));
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

cf_status cf_editor_run_file(cf_app *app, const char *path, uint32_t line, cf_error *err)
{
    CF_TRY(cf_app_may(app, err));
    return run_editor(app, path, line, err);
}

cf_status cf_editor_run(cf_app *app, const char *suffix, cf_buf *text, cf_error *err)
{
    return cf_editor_run_at(app, suffix, 0, text, err);
}

cf_status cf_editor_run_at(cf_app *app, const char *suffix, uint32_t line, cf_buf *text,
                           cf_error *err)
{
    char folder[CF_CHILD_PATH], path[CF_CHILD_PATH + 40];
    CF_TRY(cf_app_may(app, err));
    CF_TRY(cf_child_folder(folder, err));
    snprintf(path, sizeof path, "%s/text%.20s", folder, suffix);
    cf_status st = edit_file(app, path, line, text, err);
    cf_child_remove_folder(folder);
    return st;
}
