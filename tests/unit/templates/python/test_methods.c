/*
 * test_methods.c - every row of every table of methods, filters, tests and
 * globals can be reached by its name.
 */
#include "templates/language/state.h"
#include "templates/python/filters.h"
#include "templates/python/methods.h"
#include "tests/support/t.h"

/* A value of the type whose methods table i has. */
static cf_tv value_of(size_t i)
{
    static cf_tstr plain = {.p = "", .n = 0}, markup = {.p = "", .n = 0};
    static const cf_tkind kinds[] = {CF_TSTR, CF_TSTR,   CF_TBYTES, CF_TLIST, CF_TTUPLE, CF_TDICT,
                                     CF_TINT, CF_TFLOAT, CF_TRANGE, CF_TVIEW, CF_TSTR};
    markup.is_markup = true;
    assert_true(i < sizeof kinds / sizeof kinds[0]);
    cf_tv v = {.k = kinds[i]};
    if (kinds[i] == CF_TSTR || kinds[i] == CF_TBYTES) {
        v.u.s = i == 1 ? &markup : &plain;
    }
    return v;
}

static void test_methods__each_row_is_found(void **state)
{
    (void)state;
    const cf_tmethod_entry *table;
    size_t rows = 0;
    for (size_t i = 0; (table = cf_t__method_table(i)) != NULL; i++) {
        for (; table->name != NULL; table++, rows++) {
            int id = cf_t__method_find(cf_str_from(table->name));
            if (id < 0 || !cf_t__method_has(value_of(i), id) ||
                strcmp(cf_t__method_name(id), table->name) != 0) {
                fail_msg("method %s of table %zu is not found", table->name, i);
            }
        }
    }
    assert_true(rows > 70);
    assert_int_equal(cf_t__method_find(cf_str_from("nope")), -1);
    assert_int_equal(cf_t__method_find(cf_str_from("")), -1);
    assert_int_equal(cf_t__method_find(cf_str_from("Upper")), -1);
}

static void test_filters__each_row_is_found(void **state)
{
    (void)state;
    const cf_tfn_entry *const tables[] = {cf_t__str_filters, cf_t__seq_filters};
    for (size_t t = 0; t < 2; t++) {
        for (const cf_tfn_entry *row = tables[t]; row->name != NULL; row++) {
            if (cf_t__filter_find(cf_str_from(row->name)) < 0) {
                fail_msg("filter %s is not found", row->name);
            }
        }
    }
    assert_int_equal(cf_t__filter_find(cf_str_from("nope")), -1);
    assert_int_equal(cf_t__test_find(cf_str_from("nope")), -1);
    assert_true(cf_t__test_find(cf_str_from("defined")) >= 0);
    assert_int_equal(cf_t__global(cf_str_from("nope")).k, CF_TMISSING);
    assert_int_equal(cf_t__global(cf_str_from("range")).k, CF_TFUNC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods__each_row_is_found),
        cmocka_unit_test(test_filters__each_row_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
