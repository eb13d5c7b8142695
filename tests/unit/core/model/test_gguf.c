/*
 * test_gguf.c - the reader against good files and every way to be broken.
 */
#include <unistd.h>

#include "core/model/gguf.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

/* ---- good files --------------------------------------------------------- */

static void test_gguf__values(void **state)
{
    cf_tiny_buf b = {NULL, 0, 0};
    cf_error err;
    cf_gguf *g = NULL;
    (void)state;
    cf_tiny_head(&b, 2, 0, 6);
    cf_tiny_kv_str(&b, "s", "text");
    cf_tiny_kv_f32(&b, "f", 0.5f);
    cf_tiny_str(&b, "i");
    cf_tiny_uint(&b, CF_GGUF_I16, 4);
    cf_tiny_uint(&b, 0xFFFE, 2);
    cf_tiny_str(&b, "u");
    cf_tiny_uint(&b, CF_GGUF_U64, 4);
    cf_tiny_uint(&b, UINT64_MAX, 8);
    cf_tiny_str(&b, "t");
    cf_tiny_uint(&b, CF_GGUF_BOOL, 4);
    cf_tiny_uint(&b, 1, 1);
    cf_tiny_str(&b, "a");
    cf_tiny_uint(&b, CF_GGUF_ARRAY, 4);
    cf_tiny_uint(&b, CF_GGUF_STRING, 4);
    cf_tiny_uint(&b, 2, 8);
    cf_tiny_str(&b, "");
    cf_tiny_str(&b, "xy");
    T_OK(cf_gguf_open_memory(&g, b.p, b.n, &err), err);

    cf_str s;
    double d = 0;
    int64_t i = 0;
    uint64_t u = 0;
    bool t = false;
    assert_true(cf_gguf_get_str(g, "s", &s));
    T_TEXT(s.p, s.n, "text");
    assert_true(cf_gguf_get_f64(g, "f", &d));
    assert_true(d == 0.5);
    assert_true(cf_gguf_get_i64(g, "i", &i));
    assert_int_equal(i, -2);
    assert_false(cf_gguf_get_u64(g, "i", &u)); /* negative */
    assert_true(cf_gguf_get_f64(g, "i", &d));
    assert_true(d == -2.0);
    assert_true(cf_gguf_get_u64(g, "u", &u));
    assert_true(u == UINT64_MAX);
    assert_false(cf_gguf_get_i64(g, "u", &i)); /* does not fit */
    assert_true(cf_gguf_get_bool(g, "t", &t));
    assert_true(t);
    assert_false(cf_gguf_get_u64(g, "t", &u));
    assert_false(cf_gguf_get_str(g, "f", &s));
    assert_false(cf_gguf_get_str(g, "absent", &s));

    const cf_gguf_value *a = cf_gguf_find(g, "a");
    uint64_t at = 0;
    uint64_t item = 0;
    assert_non_null(a);
    assert_int_equal(a->n, 2);
    assert_true(cf_gguf_next_str(a, &at, &item, &s));
    assert_int_equal(s.n, 0);
    assert_true(cf_gguf_next_str(a, &at, &item, &s));
    T_TEXT(s.p, s.n, "xy");
    assert_false(cf_gguf_next_str(a, &at, &item, &s));
    assert_int_equal(cf_gguf_n_values(g), 6);
    assert_true(cf_str_is(cf_gguf_value_at(g, 1)->key, "f"));
    assert_int_equal(cf_gguf_n_tensors(g), 0);
    assert_null(cf_gguf_find_tensor(g, "x"));
    cf_gguf_close(g);
    cf_tiny_free(b.p);
}

static void test_gguf__tensors(void **state)
{
    size_t n = 0;
    cf_error err;
    cf_gguf *g = NULL;
    (void)state;
    void *p = cf_tiny_gguf(&(cf_tiny_options){.type = CF_Q4_0}, &n);
    T_OK(cf_gguf_open_memory(&g, p, n, &err), err);
    const cf_gguf_tensor *t = cf_gguf_find_tensor(g, "blk.1.ffn_down.weight");
    assert_non_null(t);
    assert_int_equal(t->type, CF_Q4_0);
    assert_int_equal(t->n_dim, 2);
    assert_int_equal(t->dim[0], 128);
    assert_int_equal(t->dim[1], 64);
    assert_int_equal(t->dim[2], 1);
    assert_int_equal(t->bytes, 128 * 64 / 32 * 18);
    assert_ptr_equal(t->p, (unsigned char *)p + t->file_off);
    assert_true(t->file_off % 32 == 0);
    for (size_t i = 0; i < cf_gguf_n_tensors(g); i++) {
        const cf_gguf_tensor *at = cf_gguf_tensor_at(g, i);
        char name[64] = "";
        memcpy(name, at->name.p, at->name.n);
        assert_ptr_equal(cf_gguf_find_tensor(g, name), at);
    }
    cf_gguf_close(g);
    cf_tiny_free(p);
}

/* ---- broken files ------------------------------------------------------- */

static const uint64_t dim8[4] = {8, 1, 1, 1};

/* A file of one value and one tensor of 8 floats, to be bent. */
static void good_file(cf_tiny_buf *b)
{
    cf_tiny_head(b, 3, 1, 1);
    cf_tiny_kv_str(b, "general.name", "x");
    cf_tiny_tensor(b, "t", 1, dim8, CF_F32, 0);
    cf_tiny_pad(b, 32);
    cf_tiny_bytes(b, "01234567890123456789012345678901", 32);
}

static void head_of(cf_tiny_buf *b, uint64_t n_tensors, uint64_t n_values)
{
    cf_tiny_head(b, 3, n_tensors, n_values);
}

static void one_tensor(cf_tiny_buf *b, uint32_t n_dim, const uint64_t *dim, uint32_t type,
                       uint64_t off)
{
    head_of(b, 1, 0);
    cf_tiny_tensor(b, "t", n_dim, dim, type, off);
    cf_tiny_pad(b, 32);
    for (int i = 0; i < 8; i++) {
        cf_tiny_uint(b, 0, 8);
    }
}

static void array_of(cf_tiny_buf *b, uint32_t item, uint64_t n)
{
    head_of(b, 0, 1);
    cf_tiny_str(b, "a");
    cf_tiny_uint(b, CF_GGUF_ARRAY, 4);
    cf_tiny_uint(b, item, 4);
    cf_tiny_uint(b, n, 8);
    cf_tiny_uint(b, 0, 8);
}

static void not_gguf(cf_tiny_buf *b)
{
    cf_tiny_bytes(b, "GGML12345678901234567890", 24);
}
static void empty(cf_tiny_buf *b)
{
    cf_tiny_pad(b, 1);
}
static void version_1(cf_tiny_buf *b)
{
    cf_tiny_head(b, 1, 0, 0);
}
static void big_endian(cf_tiny_buf *b)
{
    cf_tiny_head(b, 0x03000000, 0, 0);
}
static void many_tensors(cf_tiny_buf *b)
{
    head_of(b, UINT64_C(1) << 61, 0);
}
static void many_values(cf_tiny_buf *b)
{
    head_of(b, 0, UINT64_MAX);
}
static void values_past_end(cf_tiny_buf *b)
{
    head_of(b, 0, 2);
    cf_tiny_kv_u32(b, "one", 1);
}
static void huge_key(cf_tiny_buf *b)
{
    head_of(b, 0, 1);
    cf_tiny_uint(b, UINT64_MAX - 8, 8);
    cf_tiny_uint(b, 0, 8);
}
static void empty_key(cf_tiny_buf *b)
{
    head_of(b, 0, 1);
    cf_tiny_kv_u32(b, "", 1);
}
static void huge_string(cf_tiny_buf *b)
{
    head_of(b, 0, 1);
    cf_tiny_str(b, "k");
    cf_tiny_uint(b, CF_GGUF_STRING, 4);
    cf_tiny_uint(b, UINT64_C(1) << 30, 8);
    cf_tiny_uint(b, 0, 8);
}
static void unknown_type(cf_tiny_buf *b)
{
    head_of(b, 0, 1);
    cf_tiny_str(b, "k");
    cf_tiny_uint(b, 13, 4);
    cf_tiny_uint(b, 0, 8);
}
static void bad_bool(cf_tiny_buf *b)
{
    head_of(b, 0, 1);
    cf_tiny_str(b, "k");
    cf_tiny_uint(b, CF_GGUF_BOOL, 4);
    cf_tiny_uint(b, 2, 8);
}
static void huge_array(cf_tiny_buf *b)
{
    array_of(b, CF_GGUF_U8, UINT64_C(1) << 40);
}
static void overflowing_array(cf_tiny_buf *b)
{
    array_of(b, CF_GGUF_U64, UINT64_C(1) << 61); /* times 8 is zero */
}
static void huge_string_array(cf_tiny_buf *b)
{
    array_of(b, CF_GGUF_STRING, 1u << 28);
}
static void unknown_item(cf_tiny_buf *b)
{
    array_of(b, 77, 1);
}
static void nested_array(cf_tiny_buf *b)
{
    array_of(b, CF_GGUF_ARRAY, 1);
}
static void duplicate_key(cf_tiny_buf *b)
{
    head_of(b, 0, 3);
    cf_tiny_kv_u32(b, "k", 1);
    cf_tiny_kv_u32(b, "j", 1);
    cf_tiny_kv_u32(b, "k", 1);
}
static void alignment_of(cf_tiny_buf *b, uint32_t align)
{
    head_of(b, 0, 1);
    cf_tiny_kv_u32(b, "general.alignment", align);
}
static void zero_alignment(cf_tiny_buf *b)
{
    alignment_of(b, 0);
}
static void odd_alignment(cf_tiny_buf *b)
{
    alignment_of(b, 24);
}
static void huge_alignment(cf_tiny_buf *b)
{
    alignment_of(b, 1u << 31);
}
static void alignment_is_text(cf_tiny_buf *b)
{
    head_of(b, 0, 1);
    cf_tiny_kv_str(b, "general.alignment", "32");
}
static void no_dimensions(cf_tiny_buf *b)
{
    one_tensor(b, 0, dim8, CF_F32, 0);
}
static void five_dimensions(cf_tiny_buf *b)
{
    static const uint64_t dim[5] = {1, 1, 1, 1, 1};
    one_tensor(b, 5, dim, CF_F32, 0);
}
static void zero_dimension(cf_tiny_buf *b)
{
    static const uint64_t dim[2] = {8, 0};
    one_tensor(b, 2, dim, CF_F32, 0);
}
static void overflowing_dimensions(cf_tiny_buf *b)
{
    static const uint64_t dim[3] = {UINT64_C(1) << 32, UINT64_C(1) << 31, 2};
    one_tensor(b, 3, dim, CF_F32, 0); /* the product is zero in 64 bits */
}
static void overflowing_bytes(cf_tiny_buf *b)
{
    static const uint64_t dim[2] = {UINT64_C(1) << 32, UINT64_C(1) << 30};
    one_tensor(b, 2, dim, CF_F32, 0); /* times 4 is zero in 64 bits */
}
static void part_of_a_block(cf_tiny_buf *b)
{
    static const uint64_t dim[1] = {33};
    one_tensor(b, 1, dim, CF_Q8_0, 0);
}
static void behind_the_end(cf_tiny_buf *b)
{
    one_tensor(b, 1, dim8, CF_F32, 1u << 20);
}
static void offset_overflows(cf_tiny_buf *b)
{
    one_tensor(b, 1, dim8, CF_F32, UINT64_MAX - 31);
}
static void unaligned(cf_tiny_buf *b)
{
    one_tensor(b, 1, dim8, CF_F32, 4);
}
static void too_long(cf_tiny_buf *b)
{
    static const uint64_t dim[1] = {17};
    one_tensor(b, 1, dim, CF_F32, 0);
}
static void two_tensors(cf_tiny_buf *b, const char *second, uint64_t off)
{
    static const uint64_t dim[1] = {9};
    head_of(b, 2, 0);
    cf_tiny_tensor(b, "t", 1, dim, CF_F32, 0);
    cf_tiny_tensor(b, second, 1, dim8, CF_F32, off);
    cf_tiny_pad(b, 32);
    for (int i = 0; i < 16; i++) {
        cf_tiny_uint(b, 0, 8);
    }
}
static void overlapping(cf_tiny_buf *b)
{
    two_tensors(b, "u", 32);
}
static void same_place(cf_tiny_buf *b)
{
    two_tensors(b, "u", 0);
}
static void same_name(cf_tiny_buf *b)
{
    two_tensors(b, "t", 64);
}
static void a_later_part(cf_tiny_buf *b)
{
    head_of(b, 0, 1);
    cf_tiny_kv_u32(b, "split.no", 1);
}
static void split_in_memory(cf_tiny_buf *b)
{
    head_of(b, 0, 1);
    cf_tiny_kv_u32(b, "split.count", 2);
}
static void wrong_tensor_count(cf_tiny_buf *b)
{
    head_of(b, 0, 1);
    cf_tiny_kv_u32(b, "split.tensors.count", 7);
}

static void test_gguf__broken(void **state)
{
    static const struct {
        const char *name;
        void (*make)(cf_tiny_buf *);
        cf_status status;
        const char *says; /* part of the message */
    } cases[] = {
        {"not gguf", not_gguf, CF_EFORMAT, "not a GGUF"},
        {"empty", empty, CF_EFORMAT, "not a GGUF"},
        {"version 1", version_1, CF_EUNSUPPORTED, "version 1"},
        {"big-endian", big_endian, CF_EUNSUPPORTED, "big-endian"},
        {"many tensors", many_tensors, CF_EFORMAT, "tensor count"},
        {"many values", many_values, CF_EFORMAT, "metadata count"},
        {"values past end", values_past_end, CF_EFORMAT, "ends inside"},
        {"huge key", huge_key, CF_EFORMAT, "metadata key"},
        {"empty key", empty_key, CF_EFORMAT, "metadata key"},
        {"huge string", huge_string, CF_EFORMAT, "declares 1073741824 bytes"},
        {"unknown type", unknown_type, CF_EFORMAT, "value type 13"},
        {"bad bool", bad_bool, CF_EFORMAT, "bool"},
        {"huge array", huge_array, CF_EFORMAT, "items"},
        {"overflowing array", overflowing_array, CF_EFORMAT, "items"},
        {"huge string array", huge_string_array, CF_EFORMAT, "items"},
        {"unknown item", unknown_item, CF_EFORMAT, "item type 77"},
        {"nested array", nested_array, CF_EUNSUPPORTED, "array of arrays"},
        {"duplicate key", duplicate_key, CF_EFORMAT, "second time"},
        {"zero alignment", zero_alignment, CF_EFORMAT, "power of two"},
        {"odd alignment", odd_alignment, CF_EFORMAT, "power of two"},
        {"huge alignment", huge_alignment, CF_EFORMAT, "power of two"},
        {"alignment is text", alignment_is_text, CF_EFORMAT, "uint32"},
        {"no dimensions", no_dimensions, CF_EFORMAT, "0 dimensions"},
        {"five dimensions", five_dimensions, CF_EFORMAT, "5 dimensions"},
        {"zero dimension", zero_dimension, CF_EFORMAT, "zero"},
        {"overflowing dimensions", overflowing_dimensions, CF_EFORMAT, "too large"},
        {"overflowing bytes", overflowing_bytes, CF_EFORMAT, "too large"},
        {"part of a block", part_of_a_block, CF_EFORMAT, "block of 32"},
        {"behind the end", behind_the_end, CF_EFORMAT, "outside the file"},
        {"offset overflows", offset_overflows, CF_EFORMAT, "outside the file"},
        {"unaligned", unaligned, CF_EFORMAT, "alignment"},
        {"too long", too_long, CF_EFORMAT, "outside the file"},
        {"overlapping", overlapping, CF_EFORMAT, "overlap"},
        {"same place", same_place, CF_EFORMAT, "overlap"},
        {"same name", same_name, CF_EFORMAT, "twice"},
        {"a later part", a_later_part, CF_EINVAL, "part 2"},
        {"split in memory", split_in_memory, CF_EUNSUPPORTED, "split"},
        {"wrong tensor count", wrong_tensor_count, CF_EFORMAT, "split.tensors.count"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cf_tiny_buf b = {NULL, 0, 0};
        cf_error err;
        cf_gguf *g = NULL;
        cases[i].make(&b);
        cf_status st = cf_gguf_open_memory(&g, b.p, b.n, &err);
        if (st != cases[i].status || strstr(err.text, cases[i].says) == NULL) {
            fail_msg("%s: %s: %s", cases[i].name, cf_status_name(st), st != CF_OK ? err.text : "");
        }
        assert_null(g);
        cf_tiny_free(b.p);
    }
}

/* Every shorter file is refused, or (cut in the padding) has no tensor. */
static void test_gguf__truncated(void **state)
{
    cf_tiny_buf b = {NULL, 0, 0};
    cf_error err;
    cf_gguf *g = NULL;
    (void)state;
    good_file(&b);
    T_OK(cf_gguf_open_memory(&g, b.p, b.n, &err), err);
    cf_gguf_close(g);
    for (size_t n = 0; n < b.n; n++) {
        /* An exact copy, so that ASan sees a read past its end. */
        unsigned char *p = aligned_alloc(32, (n + 32) / 32 * 32);
        size_t pad = (n + 32) / 32 * 32 - n;
        memcpy(p + pad / 32 * 32, b.p, n);
        T_FAILS(cf_gguf_open_memory(&g, p + pad / 32 * 32, n, &err), CF_EFORMAT);
        free(p);
    }
    cf_tiny_free(b.p);
}

/* A hundred thousand names that only differ at their ends. */
static void test_gguf__many_names(void **state)
{
    enum { N = 100000 };
    cf_tiny_buf b = {NULL, 0, 0};
    cf_error err;
    cf_gguf *g = NULL;
    char name[64];
    (void)state;
    cf_tiny_head(&b, 3, N, N);
    for (uint32_t i = 0; i < N; i++) {
        snprintf(name, sizeof name, "a.rather.long.common.prefix.%u", i);
        cf_tiny_kv_u32(&b, name, i);
    }
    for (uint32_t i = 0; i < N; i++) {
        snprintf(name, sizeof name, "a.rather.long.common.prefix.%u", i);
        cf_tiny_tensor(&b, name, 1, dim8, CF_F32, (uint64_t)(N - 1 - i) * 32);
    }
    cf_tiny_pad(&b, 32);
    for (uint32_t i = 0; i < N * 4; i++) {
        cf_tiny_uint(&b, 0, 8);
    }
    T_OK(cf_gguf_open_memory(&g, b.p, b.n, &err), err);
    for (uint32_t i = 0; i < N; i++) {
        uint64_t u = 0;
        snprintf(name, sizeof name, "a.rather.long.common.prefix.%u", i);
        assert_true(cf_gguf_get_u64(g, name, &u));
        assert_int_equal(u, i);
        assert_ptr_equal(cf_gguf_find_tensor(g, name), cf_gguf_tensor_at(g, i));
    }
    cf_gguf_close(g);
    cf_tiny_free(b.p);
}

/* ---- files and parts ---------------------------------------------------- */

static char folder[64];

static void write_file(const char *name, const cf_tiny_buf *b)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b->p, 1, b->n, f), b->n);
    fclose(f);
}

/* Part `no` of `count` with one tensor; part 0 announces `n_tensors`. */
static void write_part(const char *name, uint32_t no, uint32_t count, const char *tensor,
                       uint32_t n_tensors)
{
    cf_tiny_buf b = {NULL, 0, 0};
    cf_tiny_head(&b, 3, 1, no == 0 ? 3 : 2);
    cf_tiny_kv_u32(&b, "split.no", no);
    cf_tiny_kv_u32(&b, "split.count", count);
    if (no == 0) {
        cf_tiny_kv_u32(&b, "split.tensors.count", n_tensors);
    }
    cf_tiny_tensor(&b, tensor, 1, dim8, CF_F32, 0);
    cf_tiny_pad(&b, 32);
    for (int i = 0; i < 8; i++) {
        cf_tiny_f32(&b, (float)no);
    }
    write_file(name, &b);
    cf_tiny_free(b.p);
}

static cf_status open_first(cf_gguf **g, const char *name, cf_error *err)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return cf_gguf_open(g, path, err);
}

static void remove_file(const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/confab-gguf-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf",
                                        "other.gguf"};
    for (size_t i = 0; i < 3; i++) {
        remove_file(names[i]);
    }
    rmdir(folder);
    return 0;
}

static void test_gguf__parts(void **state)
{
    cf_error err;
    cf_gguf *g = NULL;
    uint64_t header = 0;
    (void)state;
    write_part("m-00001-of-00002.gguf", 0, 2, "first", 2);
    T_FAILS(open_first(&g, "m-00001-of-00002.gguf", &err), CF_ENOTFOUND);
    write_part("m-00002-of-00002.gguf", 1, 2, "second", 2);
    T_OK(open_first(&g, "m-00001-of-00002.gguf", &err), err);
    assert_int_equal(cf_gguf_n_parts(g), 2);
    assert_int_equal(cf_gguf_n_tensors(g), 2);
    const cf_gguf_tensor *t = cf_gguf_find_tensor(g, "second");
    assert_non_null(t);
    assert_int_equal(t->part, 1);
    float f = 0;
    memcpy(&f, t->p, sizeof f);
    assert_true(f == 1.0f);
    cf_str part = cf_gguf_part(g, 1, &header);
    assert_int_equal(part.n - header, 32);
    assert_int_equal(header, t->file_off);
    cf_gguf_close(g);

    /* Any part opens all of them, if its name says which one it is. */
    T_OK(open_first(&g, "m-00002-of-00002.gguf", &err), err);
    assert_int_equal(cf_gguf_n_parts(g), 2);
    assert_non_null(cf_gguf_find_tensor(g, "first"));
    cf_gguf_close(g);
    write_part("second.gguf", 1, 2, "second", 2);
    T_FAILS(open_first(&g, "second.gguf", &err), CF_EINVAL);

    /* A wrong number, a name in both parts. */
    write_part("m-00002-of-00002.gguf", 0, 2, "second", 2);
    T_FAILS(open_first(&g, "m-00001-of-00002.gguf", &err), CF_EFORMAT);
    write_part("m-00002-of-00002.gguf", 1, 2, "first", 2);
    T_FAILS(open_first(&g, "m-00001-of-00002.gguf", &err), CF_EFORMAT);
    assert_non_null(strstr(err.text, "twice"));
    write_part("m-00002-of-00002.gguf", 1, 2, "second", 2);
    write_part("m-00001-of-00002.gguf", 0, 2, "first", 3);
    T_FAILS(open_first(&g, "m-00001-of-00002.gguf", &err), CF_EFORMAT);
    write_part("other.gguf", 0, 2, "first", 2);
    T_FAILS(open_first(&g, "other.gguf", &err), CF_EFORMAT);
    assert_non_null(strstr(err.text, "named"));
    T_FAILS(open_first(&g, "absent.gguf", &err), CF_ENOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gguf__values),     cmocka_unit_test(test_gguf__tensors),
        cmocka_unit_test(test_gguf__broken),     cmocka_unit_test(test_gguf__truncated),
        cmocka_unit_test(test_gguf__many_names), cmocka_unit_test(test_gguf__parts),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
