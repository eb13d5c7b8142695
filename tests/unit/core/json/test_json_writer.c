/*
 * test_json_writer.c - JSON text written value by value.
 */
#include <math.h>

#include "core/base/alloc.h"
#include "core/json/json_writer.h"
#include "tests/support/fault.h"
#include "tests/support/t.h"

/* One of everything. */
static void write_all(cf_jw *w)
{
    static const int32_t ids[] = {3, -1, 7};
    cf_jw_object(w, NULL);
    cf_jw_str(w, "text", cf_str_make("a\"\n\0b", 5));
    cf_jw_text(w, "none", NULL);
    cf_jw_int(w, "int", INT64_MIN);
    cf_jw_uint(w, "uint", UINT64_MAX);
    cf_jw_array(w, "list");
    cf_jw_bool(w, NULL, true);
    cf_jw_array(w, NULL);
    cf_jw_end(w);
    cf_jw_object(w, NULL);
    cf_jw_end(w);
    cf_jw_null(w, NULL);
    cf_jw_end(w);
    cf_jw_double(w, "double", 0.1);
    cf_jw_double(w, "nan", (double)NAN);
    cf_jw_float(w, "float", 0.1F);
    cf_jw_format(w, "percent", "%.2f", 12.345);
    cf_jw_int32s(w, "ids", ids, 3);
    cf_jw_raw(w, "raw", cf_str_from("{\"x\":1}"));
    cf_jw_uuid(w, "id", (cf_uuid){{0xA0, 1}});
    cf_jw_base64(w, "base64", cf_str_make("\0\xFF", 2));
    cf_jw_key(w, cf_str_make("k\"", 2));
    cf_jw_object(w, NULL);
    cf_jw_bytes(w, "good", cf_str_from("\xC3\xA9"));
    cf_jw_bytes(w, "bad", cf_str_from("a\xFF"));
    cf_jw_end(w);
    cf_jw_end(w);
}

static const char expected[] =
    "{\"text\":\"a\\\"\\n\\u0000b\",\"none\":null,"
    "\"int\":-9223372036854775808,\"uint\":18446744073709551615,"
    "\"list\":[true,[],{},null],\"double\":0.1,\"nan\":null,"
    "\"float\":0.1,\"percent\":12.35,\"ids\":[3,-1,7],\"raw\":{\"x\":1},"
    "\"id\":\"a0010000-0000-0000-0000-000000000000\",\"base64\":\"AP8=\","
    "\"k\\\"\":{\"good\":\"\xC3\xA9\",\"bad\":\"a\xEF\xBF\xBD\","
    "\"bad_hex\":\"61ff\"}}";

static void test_writer__all_kinds(void **state)
{
    (void)state;
    cf_buf b = CF_BUF_INIT;
    cf_jw w;
    cf_error err;
    cf_jw_init(&w, &b);
    write_all(&w);
    assert_int_equal(cf_jw_finish(&w, &err), CF_OK);
    assert_string_equal(cf_buf_cstr(&b), expected);
    cf_buf_deinit(&b);
}

static cf_status write_once(void *ud)
{
    (void)ud;
    cf_buf b = CF_BUF_INIT;
    cf_jw w;
    cf_error err;
    cf_jw_init(&w, &b);
    write_all(&w);
    cf_status st = cf_jw_finish(&w, &err);
    if (st == CF_OK) {
        assert_string_equal(cf_buf_cstr(&b), expected);
    }
    cf_buf_deinit(&b);
    return st;
}

static void test_writer__every_allocation_may_fail(void **state)
{
    (void)state;
    cf_fault_every_alloc(write_once, NULL, false);
    cf_fault_every_alloc(write_once, NULL, true);
}

/* `n` arrays in each other, written and closed. */
static cf_status nest(cf_buf *b, unsigned n, cf_error *err)
{
    cf_jw w;
    cf_jw_init(&w, b);
    for (unsigned i = 0; i < n; i++) {
        cf_jw_array(&w, NULL);
    }
    cf_jw_int(&w, NULL, 1);
    for (unsigned i = 0; i < n; i++) {
        cf_jw_end(&w);
    }
    return cf_jw_finish(&w, err);
}

static void test_writer__depth_is_bounded(void **state)
{
    (void)state;
    cf_buf b = CF_BUF_INIT;
    cf_error err;
    json_t *v;
    assert_int_equal(nest(&b, CF_JW_DEPTH_MAX, &err), CF_OK);
    assert_int_equal(cf_json_read(&v, b.p, b.n, &err), CF_OK);
    json_decref(v);
    cf_buf_reset(&b);
    assert_int_equal(nest(&b, CF_JW_DEPTH_MAX + 1, &err), CF_ELIMIT);
    cf_buf_deinit(&b);
}

/* A tree copied member by member is the tree that jansson's writer gives. */
static void copy(cf_jw *w, const char *key, const json_t *v)
{
    const char *name;
    json_t *item;
    size_t i;
    if (json_is_object(v)) {
        cf_jw_object(w, key);
        json_object_foreach(cf_json_ref(v), name, item)
        {
            copy(w, name, item);
        }
        cf_jw_end(w);
    } else if (json_is_array(v)) {
        cf_jw_array(w, key);
        json_array_foreach(v, i, item)
        {
            copy(w, NULL, item);
        }
        cf_jw_end(w);
    } else {
        cf_jw_json(w, key, v);
    }
}

static void test_writer__copies_a_tree(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":[1,2.5,{\"b\":null,\"c\":[[],[{}]]},\"x\"],\"d\":true,"
                               "\"\":{\"e\":-3}}";
    json_t *v;
    cf_error err;
    cf_buf b = CF_BUF_INIT;
    cf_jw w;
    assert_int_equal(cf_json_read(&v, text, sizeof text - 1, &err), CF_OK);
    cf_jw_init(&w, &b);
    copy(&w, NULL, v);
    assert_int_equal(cf_jw_finish(&w, &err), CF_OK);
    assert_string_equal(cf_buf_cstr(&b), text);
    json_decref(v);
    cf_buf_deinit(&b);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writer__all_kinds),
        cmocka_unit_test(test_writer__every_allocation_may_fail),
        cmocka_unit_test(test_writer__depth_is_bounded),
        cmocka_unit_test(test_writer__copies_a_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
