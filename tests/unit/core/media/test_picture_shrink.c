/*
 * test_picture_shrink.c - images that were written by the libraries
 * themselves: their size by headers, their pixels made small, turned, cut,
 * changed and lied about.
 */
#include <webp/encode.h>

#include "core/api/thumbnail.h"
#include "core/base/buf.h"
#include "tests/support/fault.h"
#include "tests/support/picture_file.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"

enum { W = 60, H = 40, N_KIND = 4 };

/* Orientation 6: to be turned a quarter to the right. */
static const unsigned char exif[] = "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03"
                                    "\0\x01\0\0\0\x06\0\0\0\0\0\0";

static void write_jpeg(cf_buf *out, const unsigned char *rgb, bool is_progressive, bool is_turned)
{
    cf_str marker = cf_str_make((const char *)exif, sizeof exif);
    cf_picture_jpeg(out, rgb,
                    &(cf_jpeg_file){.w = W,
                                    .h = H,
                                    .quality = 90,
                                    .is_progressive = is_progressive,
                                    .exif = is_turned ? marker : cf_str_from("")});
}

static void write_kind(cf_buf *out, int kind)
{
    static unsigned char rgb[W * H * 3];
    uint8_t *webp;
    size_t n;
    cf_picture_paint(rgb, W, H);
    switch (kind) {
    case 0:
        cf_picture_png(out, rgb, W, H);
        break;
    case 1:
    case 2:
        write_jpeg(out, rgb, kind == 2, false);
        break;
    default:
        n = WebPEncodeLosslessRGB(rgb, W, H, 3 * W, &webp);
        cf_buf_add(out, webp, n);
        WebPFree(webp);
    }
}

static void test_picture__halves_stay_halves(void **state)
{
    (void)state;
    for (int kind = 0; kind < N_KIND; kind++) {
        cf_buf bytes = CF_BUF_INIT;
        cf_picture p;
        cf_error err;
        int w, h;
        write_kind(&bytes, kind);
        assert_true(cf_picture_size(cf_buf_str(&bytes), &w, &h));
        assert_int_equal(w, W);
        assert_int_equal(h, H);
        T_OK(cf_picture_shrink(&p, cf_buf_str(&bytes), 30, 100, NULL, &err), err);
        assert_int_equal(p.w, 30);
        assert_int_equal(p.h, 20);
        for (int y = 0; y < p.h; y++) {
            const unsigned char *left = p.rgb + (size_t)y * 30 * 3 + 3 * 5;
            const unsigned char *right = p.rgb + (size_t)y * 30 * 3 + 3 * 25;
            assert_true(left[0] > 240 && left[2] < 15);
            assert_true(right[2] > 240 && right[0] < 15);
        }
        cf_picture_deinit(&p);
        cf_buf_deinit(&bytes);
    }
}

/* What was left is at the top, and the sides are exchanged. */
static void test_picture__is_turned(void **state)
{
    (void)state;
    static unsigned char rgb[W * H * 3];
    cf_buf bytes = CF_BUF_INIT;
    cf_picture p;
    cf_error err;
    int w, h;
    cf_picture_paint(rgb, W, H);
    write_jpeg(&bytes, rgb, false, true);
    assert_true(cf_picture_size(cf_buf_str(&bytes), &w, &h));
    assert_int_equal(w, H);
    assert_int_equal(h, W);
    T_OK(cf_picture_shrink(&p, cf_buf_str(&bytes), 100, 30, NULL, &err), err);
    assert_int_equal(p.w, 20);
    assert_int_equal(p.h, 30);
    assert_true(p.rgb[3 * (5 * 20 + 10)] > 240);
    assert_true(p.rgb[3 * (25 * 20 + 10) + 2] > 240);
    cf_picture_deinit(&p);
    cf_buf_deinit(&bytes);
}

/* Every beginning of a file, and random changes: refused or shown, no leak. */
static void test_picture__damage_is_survived(void **state)
{
    (void)state;
    cf_rand rand = {.s = 7};
    size_t before = cf_fault_live();
    for (int kind = 0; kind < N_KIND; kind++) {
        cf_buf bytes = CF_BUF_INIT;
        int w, h;
        write_kind(&bytes, kind);
        for (size_t n = 0; n < bytes.n; n += 1 + n / 50) {
            cf_picture p;
            cf_error err;
            cf_str cut = cf_str_make(cf_buf_cstr(&bytes), n);
            bool has_size = cf_picture_size(cut, &w, &h);
            assert_int_equal(has_size, w > 0 && h > 0);
            if (cf_picture_shrink(&p, cut, 20, 20, NULL, &err) != CF_OK) {
                assert_null(p.rgb);
                assert_true(err.text[0] != '\0');
            }
            cf_picture_deinit(&p);
        }
        for (int i = 0; i < 300; i++) {
            cf_buf copy = CF_BUF_INIT;
            cf_picture p;
            cf_buf_add(&copy, bytes.p, bytes.n);
            for (int k = 0; k < 3; k++) {
                copy.p[cf_rand_below(&rand, copy.n)] = (char)cf_rand_below(&rand, 256);
            }
            (void)cf_picture_size(cf_buf_str(&copy), &w, &h);
            if (cf_picture_shrink(&p, cf_buf_str(&copy), 20, 20, NULL, NULL) != CF_OK) {
                assert_null(p.rgb);
            }
            cf_picture_deinit(&p);
            cf_buf_deinit(&copy);
        }
        cf_buf_deinit(&bytes);
    }
    assert_int_equal(cf_fault_live(), before);
}

/* A picture of one row or column is one; without any it has no size. */
static void test_picture__smallest(void **state)
{
    (void)state;
    static const unsigned char sides[][2] = {{1, 1}, {1, 9}, {9, 1}, {0, 1}, {1, 0}, {0, 0}};
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        const unsigned char *s = sides[i];
        const char head[] = {'G', 'I', 'F', '8', '9', 'a', (char)s[0], 0, (char)s[1], 0};
        int w = -1, h = -1;
        bool is_known = s[0] > 0 && s[1] > 0;
        assert_int_equal(cf_picture_size(cf_str_make(head, sizeof head), &w, &h), is_known);
        assert_int_equal(w, is_known ? s[0] : 0);
        assert_int_equal(h, is_known ? s[1] : 0);
        assert_false(cf_picture_size(cf_str_make(head, sizeof head - 1), &w, &h));
    }
}

static void test_picture__claims_are_not_believed(void **state)
{
    (void)state;
    cf_buf bytes = CF_BUF_INIT;
    cf_picture p;
    cf_error err;
    cf_cancel cancel;
    int w, h;
    write_kind(&bytes, 0);
    bytes.p[16] = 0x7F; /* a width of two thousand million */
    assert_int_not_equal(cf_picture_shrink(&p, cf_buf_str(&bytes), 20, 20, NULL, &err), CF_OK);
    bytes.p[16] = (char)0xFF; /* more than a number here holds */
    assert_false(cf_picture_size(cf_buf_str(&bytes), &w, &h));
    cf_buf_reset(&bytes);
    write_kind(&bytes, 1);
    for (size_t i = 0; i + 9 < bytes.n; i++) {
        if ((unsigned char)bytes.p[i] == 0xFF && (unsigned char)bytes.p[i + 1] == 0xC0) {
            bytes.p[i + 5] = bytes.p[i + 7] = (char)0xFF;
        }
    }
    assert_int_equal(cf_picture_shrink(&p, cf_buf_str(&bytes), 20, 20, NULL, &err), CF_ELIMIT);
    atomic_init(&cancel, true);
    cf_buf_reset(&bytes);
    write_kind(&bytes, 0);
    assert_int_equal(cf_picture_shrink(&p, cf_buf_str(&bytes), 20, 20, &cancel, &err),
                     CF_ECANCELLED);
    cf_buf_deinit(&bytes);
    const cf_str gif = cf_str_from("GIF89a\x34\x02\x10\x01");
    assert_true(cf_picture_size(gif, &w, &h));
    assert_int_equal(w, 0x234);
    assert_int_equal(h, 0x110);
    assert_int_equal(cf_picture_shrink(&p, gif, 20, 20, NULL, &err), CF_EUNSUPPORTED);
    assert_false(cf_picture_size(cf_str_from("hello"), &w, &h));
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_picture__halves_stay_halves),
        cmocka_unit_test(test_picture__is_turned),
        cmocka_unit_test(test_picture__smallest),
        cmocka_unit_test(test_picture__damage_is_survived),
        cmocka_unit_test(test_picture__claims_are_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
