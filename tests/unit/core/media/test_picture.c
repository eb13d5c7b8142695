/*
 * test_picture.c - orientation tags, and files that are not pictures.
 */
#include "core/media/picture.h"
#include "tests/support/t.h"

static int orientation(const char *p, size_t n)
{
    return cf_pixels__exif(cf_str_make(p, n));
}

static void test_picture__exif(void **state)
{
    (void)state;
    const char little[] = "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06"
                          "\0\0\0\0\0\0\0";
    const char big[] = "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08"
                       "\0\0\0\0\0\0";
    assert_int_equal(orientation(little, sizeof little - 1), 6);
    assert_int_equal(orientation(big, sizeof big - 1), 8);
    for (size_t n = 0; n < 22; n++) { /* cut anywhere: nothing known */
        assert_int_equal(orientation(little, n), 1);
        assert_int_equal(orientation(big, n), 1);
    }
    char far[sizeof little];
    memcpy(far, little, sizeof far);
    memset(far + 4, 0xff, 4); /* a directory past the end */
    assert_int_equal(orientation(far, sizeof far - 1), 1);
}

static void test_picture__refused(void **state)
{
    (void)state;
    static const struct {
        const char *p;
        size_t n;
        cf_status status;
    } bad[] = {
        {"", 0, CF_EUNSUPPORTED},
        {"hello", 5, CF_EUNSUPPORTED},
        {"\x89PNG\r\n\x1a\n", 8, CF_EFORMAT},
        {"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR", 16, CF_EFORMAT},
        {"\xff\xd8\xff\xe0\0\x10", 6, CF_EFORMAT},
        {"\xff\xd8\xff\xd9", 4, CF_EFORMAT},
        {"RIFF\x10\0\0\0WEBPVP8 \0\0\0\0", 20, CF_EFORMAT},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cf_pixels p;
        cf_error err;
        T_FAILS(cf_pixels_read(&p, cf_str_make(bad[i].p, bad[i].n), NULL, &err), bad[i].status);
        assert_true(err.text[0] != '\0');
    }
}

/* How large a picture may be, and how large one in a small file. */
static void test_picture__pixels_at_most(void **state)
{
    (void)state;
    static const struct {
        size_t w, h, bytes;
        cf_status st;
    } v[] = {
        {6144, 4096, 1, CF_OK},
        {6145, 4096, 1, CF_ELIMIT},
        {6145, 4096, 16388, CF_OK},
        {6145, 4096, 16385, CF_ELIMIT},
        {12288, 8192, 65536, CF_OK},
        {12288, 8192, 65535, CF_ELIMIT},
        {16384, 8192, SIZE_MAX, CF_OK},
        {16385, 8192, SIZE_MAX, CF_ELIMIT},
        {65500, 1, 1, CF_OK},
        {65501, 1, SIZE_MAX, CF_ELIMIT},
        {1, 65501, SIZE_MAX, CF_ELIMIT},
        {0, 1, 1, CF_EFORMAT},
        {SIZE_MAX, SIZE_MAX, 1, CF_ELIMIT},
    };
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        cf_pixels p = {0, 0, NULL};
        cf_error err;
        assert_int_equal(cf_pixels__begin(&p, v[i].w, v[i].h, v[i].bytes, &err), v[i].st);
        cf_pixels_deinit(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_picture__exif),
        cmocka_unit_test(test_picture__refused),
        cmocka_unit_test(test_picture__pixels_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
