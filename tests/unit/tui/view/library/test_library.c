/*
 * test_library.c - the list of conversations where it is long: a key reads its
 * beginning, the rest comes after it, and nothing shows the difference.
 */
#include "storage/store.h"
#include "templates/chat_template.h"
#include "tests/support/drive.h"
#include "tests/support/fault.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/app/app.h"
#include "tui/lab/state/lab_marks.h"
#include "tui/lab/talk/lab_conversation.h"

enum { CONVS = 400 };

typedef struct desk {
    cf_template *tpl;
    cf_backend *backend;
    cf_app app;
} desk;

static void set_up(desk *d, const char *db, unsigned n)
{
    static const char replies_text[] = "{\"replies\":[{\"text\":\"Yes.\"}]}";
    static const char source[] = "{{ messages[0].content }}";
    cf_error err;
    json_t *replies;
    memset(d, 0, sizeof *d);
    T_OK(cf_template_compile(&d->tpl, cf_str_from(source), NULL, NULL, NULL, &err), err);
    const cf_script_options o = {.renderer = cf_renderer_template(d->tpl)};
    T_OK(cf_json_read(&replies, replies_text, sizeof replies_text - 1, &err), err);
    T_OK(cf_backend_script_new(&d->backend, replies, &o, &err), err);
    json_decref(replies);
    cf_store *store;
    const cf_store_options so = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&store, store_dir_file(db), &so, &err), err);
    for (unsigned i = 0; i < n; i++) {
        char title[24];
        snprintf(title, sizeof title, "number %03u", i);
        const cf_store_conv c = {.title = cf_str_from(title),
                                 .created_ms = 1700000000000 + i,
                                 .updated_ms = 1700000000000 + i};
        T_OK(cf_store_put_conv(store, &c, NULL, &err), err);
    }
    T_OK(cf_app_init(&d->app, store, &err), err);
    const cf_lab_engine e = {
        .backend = d->backend, .template_name = "one", .template_source = cf_str_from(source)};
    T_OK(cf_lab_new(&d->app.lab, &e, store, &err), err);
    cf_app_event(&d->app, &(cf_event){.kind = CF_EVENT_RESIZE, .w = 100, .h = 30});
}

static void tear_down(desk *d)
{
    cf_store *store = d->app.store;
    cf_app_deinit(&d->app);
    cf_lab_free(d->app.lab);
    cf_store_close(store);
    cf_backend_free(d->backend);
    cf_template_free(d->tpl);
}

/* All that was begun has ended. */
static void settle(desk *d)
{
    cf_error err;
    for (int i = 0; i < 4; i++) {
        cf_app_step(&d->app);
        cf_lab_settle(d->app.lab, &err);
        assert_int_equal(err.code, CF_OK);
    }
}

static void assert_shows(desk *d, const char *text)
{
    if (!cf_drive_shows(&d->app, text)) {
        fail_msg("not on the screen: %s", text);
    }
}

static void assert_on(desk *d, const char *want)
{
    cf_uuid id;
    char title[80];
    assert_true(cf_views[CF_VIEW_LIBRARY]->conversation(&d->app, &id, title));
    assert_non_null(strstr(title, want));
}

static void test_library__the_rest_follows(void **state)
{
    (void)state;
    desk d;
    set_up(&d, "rest.db", CONVS);
    cf_drive_press(&d.app, "6");
    assert_on(&d, "number 399");
    assert_shows(&d, "number 399");
    cf_drive_press(&d.app, "jj");
    settle(&d);
    assert_on(&d, "number 397"); /* where it was */
    assert_shows(&d, "Library  400 of 400");
    tear_down(&d);
}

static void test_library__the_end_is_the_end(void **state)
{
    (void)state;
    desk d;
    set_up(&d, "end.db", CONVS);
    cf_drive_press(&d.app, "6G");
    assert_on(&d, "number 000");
    assert_shows(&d, "400 of 400  sorted by updated");
    tear_down(&d);
}

static void test_library__all_is_all(void **state)
{
    (void)state;
    desk d;
    size_t n;
    set_up(&d, "all.db", CONVS);
    cf_drive_press(&d.app, "6*");
    (void)cf_lab_ticked(d.app.lab, &n);
    assert_int_equal(n, CONVS);
    tear_down(&d);
}

/* A list that is read is overtaken by another one. */
static void test_library__the_newest_list_counts(void **state)
{
    (void)state;
    desk d;
    set_up(&d, "newest.db", CONVS);
    cf_drive_press(&d.app, "6:filter 399<Enter>");
    settle(&d);
    assert_shows(&d, "Library  1 of 400");
    cf_drive_press(&d.app, "<Esc>ss");
    settle(&d);
    assert_shows(&d, "400 of 400");
    assert_shows(&d, "sorted by title");
    cf_drive_press(&d.app, "g");
    cf_drive_press(&d.app, "g/number<Enter><Esc>");
    settle(&d);
    assert_shows(&d, "400 of 400");
    tear_down(&d);
}

/* In the middle of a change the cursor stays on its row. */
static void test_library__a_change_far_down(void **state)
{
    (void)state;
    desk d;
    set_up(&d, "change.db", CONVS);
    cf_drive_press(&d.app, "6G");
    cf_drive_press(&d.app, "k:tag deep<Enter>");
    assert_on(&d, "number 001");
    settle(&d);
    assert_on(&d, "number 001");
    assert_shows(&d, "deep");
    tear_down(&d);
}

static void test_library__leaves_nothing(void **state)
{
    (void)state;
    size_t before = cf_fault_live();
    desk d;
    set_up(&d, "leak.db", CONVS);
    cf_drive_press(&d.app, "6s"); /* closed while it reads */
    tear_down(&d);
    assert_int_equal(cf_fault_live(), before);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_library__the_rest_follows),
        cmocka_unit_test(test_library__the_end_is_the_end),
        cmocka_unit_test(test_library__all_is_all),
        cmocka_unit_test(test_library__the_newest_list_counts),
        cmocka_unit_test(test_library__a_change_far_down),
        cmocka_unit_test(test_library__leaves_nothing),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
