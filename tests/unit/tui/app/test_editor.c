/*
 * test_editor.c - a text through the user's editor and back.
 */
#include <unistd.h>

#include "core/base/os.h"
#include "tests/support/fault.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/app/editor.h"

static void editor(const char *command)
{
    setenv("VISUAL", command, 1);
}

static cf_status edit(cf_buf *text, uint32_t line, cf_error *err)
{
    cf_app app;
    memset(&app, 0, sizeof app); /* no terminal to give away */
    return cf_editor_run_at(&app, ".jinja", line, text, err);
}

static void assert_edit(const char *command, const char *before, const char *after)
{
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    editor(command);
    cf_buf_adds(&text, before);
    T_OK(edit(&text, 0, &err), err);
    T_TEXT(cf_buf_cstr(&text), text.n, after);
    cf_buf_deinit(&text);
}

static void test_text__comes_back_as_saved(void **state)
{
    (void)state;
    assert_edit("true", "as it was", "as it was");
    assert_edit("sed -i s/was/is/", "as it was", "as it is");
    /* The line end that editors add was not asked for ... */
    assert_edit("sh -c 'printf \"new\\n\" >\"$0\"'", "old", "new");
    /* ... unless there was one. */
    assert_edit("sh -c 'printf \"new\\n\" >\"$0\"'", "old\n", "new\n");
    assert_edit("sh -c ': >\"$0\"'", "old", "");
}

static void test_failure__keeps_the_text(void **state)
{
    (void)state;
    static const char *const bad[] = {"false", "sh -c 'echo x >\"$0\"; exit 1'",
                                      "no-such-editor-here", "sh -c 'kill -9 $$'"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cf_buf text = CF_BUF_INIT;
        cf_error err;
        editor(bad[i]);
        cf_buf_adds(&text, "mine");
        T_FAILS(edit(&text, 3, &err), CF_EIO);
        T_TEXT(cf_buf_cstr(&text), text.n, "mine");
        cf_buf_deinit(&text);
    }
}

static void test_file__is_private_and_gone_afterwards(void **state)
{
    (void)state;
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    editor("sh -c 'd=$(dirname \"$0\"); (stat -c \"%a\" \"$0\" \"$d\"; echo "
           "\"$0\") >\"$0.x\"; mv \"$0.x\" \"$0\"'");
    T_OK(edit(&text, 0, &err), err);
    assert_int_equal(strncmp(cf_buf_cstr(&text), "600\n700\n", 8), 0);
    const char *path = cf_buf_cstr(&text) + 8;
    size_t n = strcspn(path, "\n");
    assert_int_equal(strncmp(path + n - 6, ".jinja", 6), 0);
    char file[512];
    snprintf(file, sizeof file, "%.*s", (int)n, path);
    assert_int_equal(access(file, F_OK), -1);
    cf_buf_deinit(&text);
}

/* A script that starts an editor gets the line as that editor takes it. */
static void test_line__for_scripts_that_start_one(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool takes;
    } cases[] = {{"#!/bin/sh\nexec vim -u NONE \"$@\"\n", true},
                 {"#!/bin/sh\n# my nano\nTERM=x /usr/bin/emacs -nw \"$@\"\n", true},
                 {"#!/bin/sh\nexec my-own-thing \"$@\"\n", false},
                 {"#!/usr/bin/vim\n", false},
                 {"not a script: vim", false},
                 {"", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cf_error err;
        char path[] = "/tmp/cf_wrapper.XXXXXX";
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        close(fd);
        T_OK(cf_os_write_file(path, cases[i].text, strlen(cases[i].text), 0700, &err), err);
        assert_int_equal(cf_editor_takes_line(path), cases[i].takes);
        unlink(path);
    }
}

static void test_line__for_editors_that_take_it(void **state)
{
    (void)state;
    static const char *const yes[] = {"vi",       "/usr/bin/vim",          "nvim -u NONE",
                                      "nano\t-w", "/opt/x/emacsclient -t", "code --wait",
                                      "hx"};
    static const char *const no[] = {"codex --wait",  "ed",     "sed -i s/a/b/", "", "vimdiff2",
                                     "/bin/vi/other", "view-er"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        assert_true(cf_editor_takes_line(yes[i]));
    }
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        assert_false(cf_editor_takes_line(no[i]));
    }
    /* A program of that name gets it, any other one does not. */
    cf_error err;
    char vi[600];
    static const char script[] = "#!/bin/sh\nfor f; do :; done\nprintf '%s' \"$1\" >\"$f\"\n";
    snprintf(vi, sizeof vi, "%s", store_dir_file("vi"));
    T_OK(cf_os_write_file(vi, script, strlen(script), 0700, &err), err);
    cf_buf text = CF_BUF_INIT;
    editor(vi);
    T_OK(edit(&text, 12, &err), err);
    T_TEXT(cf_buf_cstr(&text), text.n, "+12");
    T_OK(edit(&text, 0, &err), err);
    assert_int_equal(cf_buf_cstr(&text)[0], '/');
    char other[600];
    snprintf(other, sizeof other, "%s", store_dir_file("other"));
    T_OK(cf_os_write_file(other, script, strlen(script), 0700, &err), err);
    editor(other);
    T_OK(edit(&text, 12, &err), err);
    assert_int_equal(cf_buf_cstr(&text)[0], '/');
    cf_buf_deinit(&text);
}

static void test_restricted__no_editor(void **state)
{
    (void)state;
    cf_app app;
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    memset(&app, 0, sizeof app);
    app.is_restricted = true;
    editor("true");
    T_FAILS(cf_editor_run(&app, ".md", &text, &err), CF_EUNSUPPORTED);
    cf_buf_deinit(&text);
}

static cf_status edit_some(void *ud)
{
    (void)ud;
    cf_buf text = CF_BUF_INIT;
    cf_buf_adds(&text, "some text");
    cf_status st = cf_buf_check(&text, NULL);
    CF_THEN(st, edit(&text, 0, NULL));
    if (st == CF_OK) {
        T_TEXT(text.p, text.n, "some words");
    }
    cf_buf_deinit(&text);
    return st;
}

static void test_memory__runs_out_anywhere(void **state)
{
    (void)state;
    editor("sed -i s/text/words/");
    cf_fault_every_alloc(edit_some, NULL, false);
    cf_fault_every_alloc(edit_some, NULL, true);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text__comes_back_as_saved),
        cmocka_unit_test(test_failure__keeps_the_text),
        cmocka_unit_test(test_file__is_private_and_gone_afterwards),
        cmocka_unit_test(test_line__for_editors_that_take_it),
        cmocka_unit_test(test_line__for_scripts_that_start_one),
        cmocka_unit_test(test_restricted__no_editor),
        cmocka_unit_test(test_memory__runs_out_anywhere),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
