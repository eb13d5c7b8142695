/*
 * test_json_builder.c - JSON trees built value by value.
 */
#include <math.h>

#include "core/json/json.h"
#include "core/json/json_builder.h"
#include "core/json/json_digits.h"
#include "tests/support/fault.h"
#include "tests/support/t.h"

/* A fragment, as a function returns it. */
static json_t *fragment(void)
{
    cf_jb b = CF_JB_INIT;
    cf_jb_object(&b, NULL);
    cf_jb_text(&b, "kind", "fragment");
    cf_jb_end(&b);
    return cf_jb_done(&b);
}

/* One of everything. */
static void build_all(cf_jb *b, const json_t *tree)
{
    cf_buf text = CF_BUF_INIT;
    cf_buf_adds(&text, "of a buffer");
    cf_jb_object(b, NULL);
    cf_jb_str(b, "text", cf_str_make("a\0b", 3));
    cf_jb_str(b, "empty", cf_str_make(NULL, 0));
    cf_jb_str(b, "repaired", cf_str_from("a\xFF\xC3\xA9\xE2\x82"));
    cf_jb_text(b, "none", NULL);
    cf_jb_buf(b, "buf", &text);
    cf_jb_int(b, "int", INT64_MIN);
    cf_jb_double(b, "double", 0.5);
    cf_jb_double(b, "nan", (double)NAN);
    cf_jb_array(b, "list");
    cf_jb_bool(b, NULL, true);
    cf_jb_array(b, NULL);
    cf_jb_end(b);
    cf_jb_null(b, NULL);
    cf_jb_take(b, NULL, fragment());
    cf_jb_pack(b, NULL, "{s:i, s:o}", "n", 3, "f", fragment());
    cf_jb_end(b);
    cf_jb_add(b, "same", tree);
    cf_jb_copy(b, "copy", tree);
    cf_jb_key(b, cf_str_make("k\xFF", 2));
    cf_jb_int(b, NULL, 1);
    cf_jb_int(b, "int", 2);
    cf_jb_end(b);
    cf_buf_deinit(&text);
}

static const char expected[] =
    "{\"text\":\"a\\u0000b\",\"empty\":\"\","
    "\"repaired\":\"a\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD\",\"none\":null,"
    "\"buf\":\"of a buffer\",\"int\":2,\"double\":0.5,\"nan\":null,"
    "\"list\":[true,[],null,{\"kind\":\"fragment\"},{\"n\":3,\"f\":{\"kind\":\"fragment\"}}],"
    "\"same\":[1,{\"a\":2}],\"copy\":[1,{\"a\":2}],\"k\xEF\xBF\xBD\":1}";

static cf_status check_text(const json_t *v, const char *want)
{
    cf_error err;
    cf_buf b = CF_BUF_INIT;
    cf_json_write(&b, v);
    cf_status st = cf_buf_check(&b, &err);
    if (st == CF_OK) {
        assert_string_equal(cf_buf_cstr(&b), want);
    }
    cf_buf_deinit(&b);
    return st;
}

static cf_status build_once(void *ud)
{
    cf_error err;
    json_t *tree = ud, *v = NULL;
    const size_t n_refs = tree->refcount;
    cf_jb b = CF_JB_INIT;
    build_all(&b, tree);
    cf_status st = cf_jb_finish(&b, &v, &err);
    if (st == CF_OK) {
        st = check_text(v, expected);
        assert_ptr_equal(json_object_get(v, "same"), tree);
        assert_ptr_not_equal(json_object_get(v, "copy"), tree);
    } else {
        assert_null(v);
    }
    json_decref(v);
    assert_int_equal(tree->refcount, n_refs);
    return st;
}

static json_t *read_tree(const char *text)
{
    cf_error err;
    json_t *v;
    T_OK(cf_json_read(&v, text, strlen(text), &err), err);
    return v;
}

static void test_builder__all_kinds(void **state)
{
    (void)state;
    json_t *tree = read_tree("[1,{\"a\":2}]");
    assert_int_equal(build_once(tree), CF_OK);
    json_decref(tree);
}

static void test_builder__every_allocation_may_fail(void **state)
{
    (void)state;
    json_t *tree = read_tree("[1,{\"a\":2}]");
    cf_fault_every_alloc(build_once, tree, false);
    cf_fault_every_alloc(build_once, tree, true);
    json_decref(tree);
}

/* Adds to a tree of the caller's, at two places. */
static cf_status extend_once(void *ud)
{
    (void)ud;
    cf_error err;
    cf_jb b = CF_JB_INIT;
    json_t *v = json_pack("{s:[i], s:{}}", "list", 1, "object");
    json_t *list = json_object_get(v, "list"), *object = json_object_get(v, "object");
    cf_jb_append(&b, list, fragment());
    cf_jb_open(&b, object);
    cf_jb_int(&b, "a", 1);
    cf_jb_array(&b, "b");
    cf_jb_append(&b, list, json_integer(2)); /* elsewhere, in between */
    cf_jb_int(&b, NULL, 3);
    cf_jb_end(&b);
    cf_jb_end(&b);
    cf_jb_set(&b, object, "a", json_integer(4));
    cf_status st = cf_jb_check(&b, &err);
    if (st == CF_OK) {
        st = check_text(v,
                        "{\"list\":[1,{\"kind\":\"fragment\"},2],\"object\":{\"a\":4,\"b\":[3]}}");
        assert_null(cf_jb_done(&b)); /* it owns nothing */
    }
    cf_jb_deinit(&b);
    json_decref(v);
    return st;
}

static void test_builder__adds_to_trees_of_the_caller(void **state)
{
    (void)state;
    cf_fault_every_alloc(extend_once, NULL, false);
    cf_fault_every_alloc(extend_once, NULL, true);
}

static void test_builder__a_missing_value_is_a_failure(void **state)
{
    (void)state;
    cf_error err;
    json_t *v = NULL, *given = json_string("given");
    cf_jb b = CF_JB_INIT;
    cf_jb_array(&b, NULL);
    cf_jb_take(&b, NULL, NULL);
    assert_int_equal(cf_jb_check(&b, &err), CF_ENOMEM);
    cf_jb_take(&b, NULL, json_incref(given)); /* released at once */
    assert_int_equal(given->refcount, 1);
    cf_jb_end(&b);
    assert_int_equal(cf_jb_finish(&b, &v, &err), CF_ENOMEM);
    assert_null(v);

    cf_buf failed = {.failed = true};
    cf_jb_buf(&b, NULL, &failed);
    assert_null(cf_jb_done(&b));
    cf_jb_open(&b, NULL);
    cf_jb_end(&b);
    assert_null(cf_jb_done(&b));
    cf_jb_fail(&b);
    assert_null(cf_jb_done(&b));
    cf_jb_set(&b, given, "key", json_true()); /* a string has no members */
    assert_null(cf_jb_done(&b));
    cf_jb_take(&b, NULL, given); /* empty again, and as good as new */
    T_OK(cf_jb_finish(&b, &v, &err), err);
    assert_ptr_equal(v, given);
    json_decref(v);
}

static cf_status nest(unsigned n, json_t **out, cf_error *err)
{
    cf_jb b = CF_JB_INIT;
    for (unsigned i = 0; i < n; i++) {
        cf_jb_array(&b, NULL);
    }
    for (unsigned i = 0; i < n; i++) {
        cf_jb_end(&b);
    }
    return cf_jb_finish(&b, out, err);
}

static void test_builder__depth_is_bounded(void **state)
{
    (void)state;
    cf_error err;
    json_t *v = NULL;
    T_OK(nest(CF_JB_DEPTH_MAX, &v, &err), err);
    json_decref(v);
    T_FAILS(nest(CF_JB_DEPTH_MAX + 1, &v, &err), CF_ELIMIT);
}

/* The two readers make the same tree of what both can hold. */
static void test_digits__as_the_other_reader(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"a\":[1,[2,{\"b\":[]}],-3],\"c\":{\"d\":{\"e\":null}},\"f\":\"x\\u0000y\",\"\":1.5e3}",
        "[[[]],[{}],true,false,null,\"\",9223372036854775807,-9223372036854775808]", "5", "\"\"",
        "{\"a\":1,\"a\":2}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cf_error err;
        json_t *a = NULL, *b = NULL;
        T_OK(cf_json_read(&a, texts[i], strlen(texts[i]), &err), err);
        T_OK(cf_json_read_digits(&b, texts[i], strlen(texts[i]), &err), err);
        assert_true(json_equal(a, b));
        json_decref(a);
        json_decref(b);
    }
}

/* Numbers of any length are written as they were read, beside others that fit. */
static void test_digits__are_kept(void **state)
{
    (void)state;
    enum { MOST = 150000 }; /* longer than a chunk of an arena */
    for (size_t n = 19; n <= MOST; n = n < 65 ? n + 1 : n * 2 - 1) {
        cf_buf text = CF_BUF_INIT, again = CF_BUF_INIT;
        cf_error err;
        json_t *v = NULL;
        cf_buf_adds(&text, "[1,");
        for (size_t i = 0; i < n; i++) {
            cf_buf_addc(&text, (char)('1' + i % 9));
        }
        cf_buf_adds(&text, ",\"a\",1e999]");
        T_OK(cf_json_read(&v, text.p, text.n, &err), err);
        assert_int_equal(cf_json_digits(json_array_get(v, 1)).n, n > 19 ? n : 0);
        assert_int_equal(cf_json_digits(json_array_get(v, 0)).n, 0);
        assert_int_equal(cf_json_digits(json_array_get(v, 3)).n, 5);
        cf_json_write(&again, v);
        assert_string_equal(cf_buf_cstr(&again), cf_buf_cstr(&text));
        json_decref(v);
        cf_buf_deinit(&text);
        cf_buf_deinit(&again);
    }
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_builder__all_kinds),
        cmocka_unit_test(test_builder__every_allocation_may_fail),
        cmocka_unit_test(test_builder__adds_to_trees_of_the_caller),
        cmocka_unit_test(test_builder__a_missing_value_is_a_failure),
        cmocka_unit_test(test_builder__depth_is_bounded),
        cmocka_unit_test(test_digits__as_the_other_reader),
        cmocka_unit_test(test_digits__are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
