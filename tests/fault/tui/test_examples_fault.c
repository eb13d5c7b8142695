/*
 * test_examples_fault.c - memory that runs out while examples are made: none
 * of them, or whole ones, and a history that is sound.
 */
#include <stdio.h>

#include "storage/store.h"
#include "tests/support/fault.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/demo/examples.h"

enum { EXAMPLES = 4, TRIES = 60 };

static cf_store *open_store(int nth)
{
    char name[32];
    cf_store *store;
    cf_error err;
    const cf_store_options o = {.flags = CF_STORE_CREATE, .patience_ms = 20};
    snprintf(name, sizeof name, "f%d.db", nth);
    T_OK(cf_store_open(&store, store_dir_file(name), &o, &err), err);
    return store;
}

/* Each tree is all or nothing; a failure is reported. */
static void check(int nth)
{
    cf_store *store = open_store(nth);
    cf_store_size size;
    cf_uuid welcome = {{0}};
    cf_error err = {0};
    size_t n_bad;
    cf_fault_arm((size_t)nth, false);
    cf_status st = cf_examples_make(store, NULL, &welcome, &err);
    cf_fault_disarm();
    /* The writer waits for memory; jansson calls its lack bad JSON. */
    if (st != CF_OK && st != CF_ENOMEM && st != CF_EBUSY && st != CF_EFORMAT) {
        fail_msg("allocation %d: %s", nth, err.text);
    }
    T_OK(cf_store_flush(store, 10000, &err), err);
    T_OK(cf_store_get_size(store, &size, &err), err);
    assert_true(size.n_convs <= EXAMPLES);
    if (!cf_uuid_is_nil(welcome)) {
        assert_int_equal(st, CF_OK);
        assert_int_equal(size.n_convs, EXAMPLES);
    }
    T_OK(cf_store_check(store, NULL, NULL, &n_bad, &err), err);
    assert_int_equal(n_bad, 0);
    cf_store_close(store);
}

static void test_examples__out_of_memory(void **state)
{
    (void)state;
    cf_store *store = open_store(0);
    cf_uuid welcome;
    cf_error err;
    size_t before = cf_fault_total();
    T_OK(cf_examples_make(store, NULL, &welcome, &err), err);
    size_t total = cf_fault_total() - before;
    cf_store_close(store);
    for (size_t i = 0; i < TRIES; i++) {
        check(1 + (int)(total * i / TRIES));
    }
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples__out_of_memory),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
