/*
 * test_safetensors.c - files as they should be, and hostile headers.
 */
#include "tests/support/t.h"

#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/os.h"
#include "core/hub/safetensors.h"

/* A file with this header and n bytes of data. */
static void file_of(cf_buf *out, const char *header, size_t n_data)
{
    size_t n = strlen(header);
    for (size_t i = 0; i < 8; i++) {
        cf_buf_addc(out, (char)(unsigned char)(n >> (8 * i)));
    }
    cf_buf_adds(out, header);
    for (size_t i = 0; i < n_data; i++) {
        cf_buf_addc(out, (char)i);
    }
}

/* Expects a refusal, of one line that has `words`. */
static void assert_refused(const char *header, size_t n_data, const char *words)
{
    cf_buf b = CF_BUF_INIT;
    cf_safetensors *s = NULL;
    cf_error err = {0};
    file_of(&b, header, n_data);
    cf_status st = cf_safetensors_open_memory(&s, b.p, b.n, &err);
    if (st == CF_OK || strstr(err.text, words) == NULL || strchr(err.text, '\n') != NULL) {
        fail_msg("%.80s: %s (wanted: %s)", header, err.text, words);
    }
    assert_null(s);
    cf_buf_deinit(&b);
}

static void test_reads__tensors_by_name(void **state)
{
    (void)state;
    cf_buf b = CF_BUF_INIT;
    cf_safetensors *s = NULL;
    cf_error err = {0};
    file_of(&b,
            "{\"__metadata__\":{\"format\":\"pt\"},"
            "\"b\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[4,16]"
            "},\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}",
            16);
    T_OK(cf_safetensors_open_memory(&s, b.p, b.n, &err), err);
    assert_int_equal(cf_safetensors_n(s), 2);
    const cf_safetensor *t = cf_safetensors_find(s, cf_str_from("b"));
    assert_non_null(t);
    assert_int_equal(t->type, CF_ST_BF16);
    assert_int_equal(t->n_dim, 2);
    assert_int_equal(t->dim[1], 3);
    assert_int_equal(t->n, 6);
    assert_int_equal(t->p[0], 4);
    assert_int_equal(cf_safetensors_at(s, 0)->n, 1);
    assert_null(cf_safetensors_find(s, cf_str_from("c")));
    assert_string_equal(cf_safetensors_main_type(s), "BF16");
    cf_safetensors_close(s);
    cf_buf_deinit(&b);
}

#define ONE(dtype, shape, range) \
    "{\"x\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" range "}}"

static void test_refuses__hostile_headers(void **state)
{
    (void)state;
    assert_refused("", 0, "not a safetensors file");
    assert_refused("[]", 0, "not a JSON object");
    assert_refused("{} x", 0, "not valid JSON");
    assert_refused("{\"x\":1}", 0, "not described by an object");
    assert_refused("{\"x\":{}}", 0, "missing");
    assert_refused(ONE("F32", "[2]", "[0,4]"), 8, "2 numbers of type F32");
    assert_refused(ONE("F32", "[1]", "[0,4]"), 3, "not in the file's 3 bytes");
    assert_refused(ONE("F32", "[1]", "[4,0]"), 8, "not in the file's");
    assert_refused(ONE("F32", "[1]", "[0]"), 8, "missing");
    assert_refused(ONE("F32", "[-1]", "[0,4]"), 8, "not a whole number");
    assert_refused(ONE("F32", "[1.5]", "[0,4]"), 8, "not a whole number");
    assert_refused(ONE("F32", "[99999999999999999999]", "[0,4]"), 8, "not a whole number");
    assert_refused(ONE("U8", "[9007199254740992,9007199254740992]", "[0,4]"), 8, "too large");
    assert_refused(ONE("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 8, "too many dimensions");
    assert_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":"
                   "[0,4]},\"b\":{\"dtype\":\"U8\",\"shape\":[4],"
                   "\"data_offsets\":[3,7]}}",
                   8, "overlap");
    assert_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":"
                   "[0,1]},\"a\":{\"dtype\":\"U8\",\"shape\":[1],"
                   "\"data_offsets\":[1,2]}}",
                   8, "given twice");
}

static void test_refuses__deep_and_cut(void **state)
{
    (void)state;
    cf_buf b = CF_BUF_INIT;
    cf_safetensors *s = NULL;
    cf_error err = {0};
    cf_buf_adds(&b, "{\"__metadata__\":");
    for (int i = 0; i < 5000; i++) {
        cf_buf_addc(&b, '[');
    }
    assert_refused(cf_buf_cstr(&b), 0, "nested");
    cf_buf_reset(&b);
    /* A length of 2^63 and more, with a header that is shorter. */
    cf_buf_adds(&b, "\xff\xff\xff\xff\xff\xff\xff\xff{}");
    assert_int_equal(cf_safetensors_open_memory(&s, b.p, b.n, &err), CF_EFORMAT);
    cf_buf_reset(&b);
    file_of(&b, ONE("F32", "[2,2]", "[0,16]"), 16);
    for (size_t n = 0; n < b.n; n++) { /* every beginning of a sound file */
        assert_int_equal(cf_safetensors_open_memory(&s, b.p, n, &err), CF_EFORMAT);
    }
    cf_buf_deinit(&b);
}

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[256];
    cf_error err = {0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    T_OK(cf_os_write_file(path, text, strlen(text), 0600, &err), err);
}

static void assert_index_refused(const char *dir, const char *index, const char *words)
{
    cf_safetensors *s = NULL;
    cf_error err = {0};
    write_file(dir, "model.safetensors.index.json", index);
    assert_int_not_equal(cf_safetensors_open_folder(&s, dir, &err), CF_OK);
    if (strstr(err.text, words) == NULL) {
        fail_msg("%s: %s", index, err.text);
    }
}

static void test_refuses__index_that_leaves_the_folder(void **state)
{
    (void)state;
    char dir[] = "/tmp/cf_safetensors_XXXXXX";
    char path[256];
    assert_non_null(mkdtemp(dir));
    assert_false(cf_safetensors_is_in(dir));
    assert_index_refused(dir, "{", "model.safetensors.index.json");
    assert_index_refused(dir, "{}", "no weight_map");
    assert_index_refused(dir, "{\"weight_map\":{\"a\":\"../x\"}}", "plain");
    assert_index_refused(dir, "{\"weight_map\":{\"a\":\"/etc/passwd\"}}", "plain");
    assert_index_refused(dir, "{\"weight_map\":{\"a\":7}}", "plain");
    assert_index_refused(dir, "{\"weight_map\":{\"a\":\"gone\"}}", "gone");
    assert_true(cf_safetensors_is_in(dir));
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", dir);
    unlink(path);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads__tensors_by_name),
        cmocka_unit_test(test_refuses__hostile_headers),
        cmocka_unit_test(test_refuses__deep_and_cut),
        cmocka_unit_test(test_refuses__index_that_leaves_the_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
