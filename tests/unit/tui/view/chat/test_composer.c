/*
 * test_composer.c - the composer of the Chat view: it stays ready after a
 * message, and Esc, Tab and ^C each mean one thing.
 */
#include "tests/support/drive.h"
#include "tests/support/t.h"
#include "tui/app/app.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/talk/lab_conversation.h"

typedef struct fixture {
    json_t *script;
    cf_backend *backend;
    cf_app app;
} fixture;

/* A slow engine writes its first word at once and the rest in a minute. */
static void set_up(fixture *f, bool is_slow)
{
    static const char fast[] = "{\"replies\":[{\"text\":\"Rain.\"},"
                               "{\"text\":\"Sun.\"},{\"text\":\"Snow.\"}]}";
    static const char slow[] = "{\"replies\":[{\"text\":\"Rain, and then sun.\","
                               "\"delay_ms\":60000}]}";
    const char *replies = is_slow ? slow : fast;
    cf_error err;
    *f = (fixture){0};
    T_OK(cf_json_read(&f->script, replies, strlen(replies), &err), err);
    T_OK(cf_backend_script_new(&f->backend, f->script, NULL, &err), err);
    const cf_lab_engine engine = {.backend = f->backend, .template_name = "plain"};
    T_OK(cf_app_init(&f->app, NULL, &err), err);
    T_OK(cf_lab_new(&f->app.lab, &engine, NULL, &err), err);
    cf_app_event(&f->app, &(cf_event){.kind = CF_EVENT_RESIZE, .w = 80, .h = 24});
}

static void tear_down(fixture *f)
{
    cf_app_deinit(&f->app);
    cf_lab_free(f->app.lab);
    cf_backend_free(f->backend);
    json_decref(f->script);
}

static void finish(fixture *f)
{
    cf_error err;
    cf_lab_settle(f->app.lab, &err);
    assert_int_equal(err.code, CF_OK);
}

/* The texts of the path, a line each. */
static void expect_path(fixture *f, const char *want)
{
    cf_buf text = CF_BUF_INIT;
    size_t n;
    const cf_turn *const *path = cf_lab_path(f->app.lab, &n);
    for (size_t i = 0; i < n; i++) {
        cf_lab_message_text(&text, path[i]->message);
        cf_buf_addc(&text, '\n');
    }
    assert_string_equal(cf_buf_cstr(&text), want);
    cf_buf_deinit(&text);
}

static void expect_draft(fixture *f, const char *want)
{
    assert_true(cf_str_is(cf_lab_unsent(f->app.lab), want));
}

static void test_composer__is_ready_for_the_next_message(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, false);
    cf_drive_press(&f.app, "iAnd today?<Enter>");
    assert_int_equal(f.app.mode, CF_MODE_INSERT);
    finish(&f);
    cf_drive_press(&f.app, "And now?<Enter>");
    finish(&f);
    expect_path(&f, "And today?\nRain.\nAnd now?\nSun.\n");
    cf_drive_press(&f.app, "<Enter>"); /* nothing to send */
    assert_int_equal(f.app.mode, CF_MODE_INSERT);
    assert_false(cf_lab_is_busy(f.app.lab));
    tear_down(&f);
}

static void test_composer__esc_stops_before_it_leaves(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, true);
    cf_drive_press(&f.app, "iAnd today?<Enter>and th");
    assert_true(cf_lab_is_busy(f.app.lab));
    assert_true(cf_drive_shows(&f.app, "<Esc> stop"));
    cf_drive_press(&f.app, "<Esc>");
    assert_int_equal(f.app.mode, CF_MODE_INSERT);
    finish(&f);
    assert_true(cf_drive_shows(&f.app, "<Esc> leave"));
    cf_drive_press(&f.app, "en?");
    expect_draft(&f, "and then?");
    cf_drive_press(&f.app, "<Esc>");
    assert_int_equal(f.app.mode, CF_MODE_NORMAL);
    expect_draft(&f, "and then?");
    tear_down(&f);
}

static void test_composer__tab_leaves_and_comes_back(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, false);
    cf_drive_press(&f.app, "iAnd today?<Enter>now<Tab>");
    assert_int_equal(f.app.mode, CF_MODE_NORMAL);
    finish(&f);
    expect_path(&f, "And today?\nRain.\n"); /* nothing was stopped */
    cf_drive_press(&f.app, "<Tab>?<Enter>");
    finish(&f);
    expect_path(&f, "And today?\nRain.\nnow?\nSun.\n");
    tear_down(&f);
}

static void test_composer__interrupt(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, true);
    cf_drive_press(&f.app, "iAnd today?<Enter><C-c>");
    assert_int_equal(f.app.mode, CF_MODE_INSERT);
    finish(&f);
    cf_drive_press(&f.app, "draft<C-c>");
    assert_int_equal(f.app.mode, CF_MODE_NORMAL);
    assert_false(f.app.is_done);
    cf_drive_press(&f.app, "<C-c>");
    assert_true(f.app.is_done);
    tear_down(&f);
}

/* The third ^C leaves, whether what the first one stops has ended or not. */
static void test_composer__interrupts_while_it_stops(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, true);
    cf_drive_press(&f.app, "iAnd today?<Enter><C-c><C-c>");
    assert_true(cf_drive_shows(&f.app, "^C again"));
    assert_false(f.app.is_done);
    cf_drive_press(&f.app, "<C-c>");
    assert_true(f.app.is_done);
    tear_down(&f);
}

/* An edit is over when it is sent, and is about the turn it began with. */
static void test_composer__an_edit(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, false);
    cf_drive_press(&f.app, "iAnd today?<Enter><Tab>");
    finish(&f);
    cf_drive_press(&f.app, "gge<C-u>Tomorrow<Tab>G"); /* looks at the reply meanwhile */
    assert_int_equal(f.app.mode, CF_MODE_NORMAL);
    cf_drive_press(&f.app, "i?<Enter>");
    assert_int_equal(f.app.mode, CF_MODE_NORMAL);
    finish(&f);
    expect_path(&f, "Tomorrow?\nSun.\n");
    cf_drive_press(&f.app, "e<Tab><Tab>");
    assert_int_equal(f.app.mode, CF_MODE_PREFILL);
    cf_drive_press(&f.app, "<Esc>");
    expect_draft(&f, "");
    cf_drive_press(&f.app, "i");
    assert_int_equal(f.app.mode, CF_MODE_INSERT);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_composer__is_ready_for_the_next_message),
        cmocka_unit_test(test_composer__esc_stops_before_it_leaves),
        cmocka_unit_test(test_composer__tab_leaves_and_comes_back),
        cmocka_unit_test(test_composer__interrupt),
        cmocka_unit_test(test_composer__interrupts_while_it_stops),
        cmocka_unit_test(test_composer__an_edit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
