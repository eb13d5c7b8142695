/*
 * test_mark.c - words that the file keeps about itself: kept once, found
 * again, there in a database of an older version too.
 */
#include "storage/store.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

static cf_store *open_at(const char *path)
{
    cf_store *s;
    cf_error err;
    const cf_store_options o = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&s, path, &o, &err), err);
    return s;
}

static void test_mark__first_word_stays(void **state)
{
    (void)state;
    const char *path = store_dir_file("marks.db");
    cf_store *s = open_at(path);
    cf_arena arena;
    cf_error err;
    cf_str value, name = cf_str_from("examples");
    cf_arena_init(&arena, 0);
    T_FAILS(cf_store_get_mark(s, name, &arena, &value, &err), CF_ENOTFOUND);
    T_OK(cf_store_put_mark(s, name, cf_str_from("made"), &err), err);
    T_FAILS(cf_store_put_mark(s, name, cf_str_from("again"), &err), CF_EINVAL);
    T_OK(cf_store_put_mark(s, cf_str_from("other"), cf_str_from(""), &err), err);
    cf_store_close(s);
    s = open_at(path);
    T_OK(cf_store_get_mark(s, name, &arena, &value, &err), err);
    T_TEXT(value.p, value.n, "made");
    size_t n;
    T_OK(cf_store_check(s, NULL, NULL, &n, &err), err);
    assert_int_equal(n, 0);
    cf_store_close(s);
    cf_arena_deinit(&arena);
}

static void test_mark__bad_names(void **state)
{
    (void)state;
    cf_store *s = open_at(store_dir_file("names.db"));
    cf_error err;
    char name[62];
    memset(name, 'x', sizeof name);
    T_FAILS(cf_store_put_mark(s, cf_str_from(""), cf_str_from("v"), &err), CF_EINVAL);
    T_FAILS(cf_store_put_mark(s, cf_str_make(name, 61), cf_str_from("v"), &err), CF_EINVAL);
    T_OK(cf_store_put_mark(s, cf_str_make(name, 60), cf_str_from("v"), &err), err);
    cf_store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mark__first_word_stays),
        cmocka_unit_test(test_mark__bad_names),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
