/*
 * test_keepsakes.c - lines and the register from one start to the next, and
 * files: what :w writes, and what it does not write over.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/os.h"
#include "storage/store.h"
#include "tests/support/drive.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/app/app.h"
#include "tui/app/keepsakes.h"
#include "tui/lab/lab.h"

typedef struct fixture {
    json_t *script;
    cf_backend *backend;
    cf_store *store; /* NULL: no history */
    cf_app app;
} fixture;

static void set_up(fixture *f)
{
    static const char replies[] = "{\"replies\":[{\"text\":\"Rain.\"}]}";
    cf_error err;
    cf_buf problems = CF_BUF_INIT;
    T_OK(cf_json_read(&f->script, replies, sizeof replies - 1, &err), err);
    T_OK(cf_backend_script_new(&f->backend, f->script, NULL, &err), err);
    const cf_lab_engine engine = {.backend = f->backend, .template_name = "plain"};
    T_OK(cf_app_init(&f->app, NULL, &err), err);
    T_OK(cf_lab_new(&f->app.lab, &engine, f->store, &err), err);
    f->app.store = f->store;
    cf_keepsakes_open(&f->app, store_dir_file("state"), &problems);
    assert_int_equal(problems.n, 0);
    cf_app_event(&f->app, &(cf_event){.kind = CF_EVENT_RESIZE, .w = 80, .h = 24});
}

static void tear_down(fixture *f)
{
    cf_app_deinit(&f->app);
    cf_lab_free(f->app.lab);
    cf_store_close(f->store);
    cf_backend_free(f->backend);
    json_decref(f->script);
}

static void press(fixture *f, const char *keys)
{
    cf_error err;
    cf_drive_press(&f->app, keys);
    cf_lab_settle(f->app.lab, &err);
}

static void test_keepsakes__lines_and_register_come_back(void **state)
{
    (void)state;
    fixture f = {0};
    set_up(&f);
    press(&f, ":follow<Enter>:set a11y=off<Enter>/rain<Enter>");
    press(&f, "iWill it rain?<Enter>");
    press(&f, "<Esc>yy");
    assert_string_equal(cf_buf_cstr(&f.app.copied), "Rain.");
    tear_down(&f);

    f = (fixture){0};
    set_up(&f);
    press(&f, ":<Up><Up>");
    assert_string_equal(cf_buf_cstr(&f.app.command_line.text), "follow");
    press(&f, "<Esc>/<Up>");
    assert_string_equal(cf_buf_cstr(&f.app.search_line.text), "rain");
    press(&f, "<C-u><C-y>");
    assert_string_equal(cf_buf_cstr(&f.app.search_line.text), "Rain.");
    tear_down(&f);
}

static void expect_file(const char *path, const char *want)
{
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    T_OK(cf_os_read_file(&text, path, 1000, &err), err);
    assert_string_equal(cf_buf_cstr(&text), want);
    cf_buf_deinit(&text);
}

static void test_keepsakes__w_writes_the_turn(void **state)
{
    (void)state;
    fixture f = {0};
    char line[600], path[500];
    snprintf(path, sizeof path, "%s", store_dir_file("out.txt"));
    set_up(&f);
    press(&f, "iWill it rain?<Enter><Tab>");
    snprintf(line, sizeof line, "w %s", path);
    cf_app_command(&f.app, line);
    expect_file(path, "Rain.");
    press(&f, "gg");
    cf_app_command(&f.app, line);
    expect_file(path, "Rain."); /* it is there already */
    snprintf(line, sizeof line, "w! %s", path);
    cf_app_command(&f.app, line);
    expect_file(path, "Will it rain?");

    unlink(path);
    f.app.is_restricted = true;
    cf_app_command(&f.app, line);
    assert_int_not_equal(access(path, F_OK), 0);
    tear_down(&f);
}

/* The same command again does not overwrite; with '!' it does. */
static void expect_file_kept(fixture *f, const char *command, const char *path)
{
    char over[620];
    cf_error err;
    T_OK(cf_os_write_file(path, "mine", 4, 0600, &err), err);
    cf_app_command(&f->app, command);
    expect_file(path, "mine");
    snprintf(over, sizeof over, "screen! %s", path);
    cf_app_command(&f->app, over);
    cf_buf got = CF_BUF_INIT;
    T_OK(cf_os_read_file(&got, path, 1000000, &err), err);
    assert_memory_equal(cf_buf_cstr(&got), "<svg ", 5);
    cf_buf_deinit(&got);
}

static void test_screen__as_text_and_picture(void **state)
{
    (void)state;
    fixture f = {0};
    cf_buf got = CF_BUF_INIT;
    cf_error err;
    char line[600], text[500], picture[500];
    snprintf(text, sizeof text, "%s", store_dir_file("out.txt"));
    snprintf(picture, sizeof picture, "%s", store_dir_file("out.svg"));
    set_up(&f);
    press(&f, "iWill it rain?<Enter><Tab>");
    snprintf(line, sizeof line, "screen %s", text);
    cf_app_command(&f.app, line);
    T_OK(cf_os_read_file(&got, text, 100000, &err), err);
    assert_memory_equal(cf_buf_cstr(&got), " confab", 7);
    assert_non_null(strstr(cf_buf_cstr(&got), "Will it rain?"));
    assert_null(strstr(cf_buf_cstr(&got), ":screen"));

    snprintf(line, sizeof line, "screen %s", picture);
    cf_app_command(&f.app, line);
    cf_buf_reset(&got);
    T_OK(cf_os_read_file(&got, picture, 1000000, &err), err);
    assert_memory_equal(cf_buf_cstr(&got), "<svg ", 5);
    assert_non_null(strstr(cf_buf_cstr(&got), "Will it rain?"));

    expect_file_kept(&f, line, picture);
    f.app.is_restricted = true;
    unlink(text);
    snprintf(line, sizeof line, "screen! %s", text);
    cf_app_command(&f.app, line);
    assert_int_not_equal(access(text, F_OK), 0);
    unlink(picture);
    cf_buf_deinit(&got);
    tear_down(&f);
}

static void test_restricted__no_export(void **state)
{
    (void)state;
    cf_error err;
    fixture f = {0};
    char line[600], path[500];
    const cf_store_options flags = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&f.store, store_dir_file("kept.db"), &flags, &err), err);
    snprintf(path, sizeof path, "%s", store_dir_file("out.jsonl"));
    snprintf(line, sizeof line, "export %s", path);
    set_up(&f);
    press(&f, "iWill it rain?<Enter>");
    cf_app_command(&f.app, line);
    press(&f, "");
    assert_int_equal(access(path, F_OK), 0);

    unlink(path);
    f.app.is_restricted = true;
    cf_app_command(&f.app, line);
    press(&f, "");
    assert_int_not_equal(access(path, F_OK), 0);
    tear_down(&f);
}

static void test_keepsakes__placeholders_reach_the_shell_as_data(void **state)
{
    (void)state;
    fixture f = {0};
    char line[600], path[500];
    snprintf(path, sizeof path, "%s", store_dir_file("shell.txt"));
    set_up(&f);
    press(&f, "i'; exit 7; '$(echo no)<Enter><Tab>gg");
    snprintf(line, sizeof line,
             "@cat %%(turn) >%s; echo 5%%%%; "
             "cat %%(template)",
             path);
    cf_app_command(&f.app, line);
    press(&f, "");
    expect_file(path, "'; exit 7; '$(echo no)");
    assert_int_equal(cf_app_view(&f.app), CF_VIEW_OUTPUT);
    assert_non_null(strstr(cf_buf_cstr(&f.app.output), "5%\ncat: plain: "));
    cf_app_command(&f.app, "@echo %(nothing)");
    assert_non_null(strstr(f.app.notice.text, "no placeholder"));
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keepsakes__lines_and_register_come_back),
        cmocka_unit_test(test_keepsakes__w_writes_the_turn),
        cmocka_unit_test(test_screen__as_text_and_picture),
        cmocka_unit_test(test_restricted__no_export),
        cmocka_unit_test(test_keepsakes__placeholders_reach_the_shell_as_data),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
