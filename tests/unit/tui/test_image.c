/*
 * test_image.c - images that were written by the libraries themselves, cut,
 * changed and lied about; pictures decoded in the background; pixels in the
 * colours that there are.
 */
#include <png.h>

#include <stdio.h>

#include <jpeglib.h>

#include "core/base/base64.h"
#include "tests/support/fault.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"
#include "tui/grid/grid.h"
#include "tui/image/thumbs.h"

enum { W = 60, H = 40 };

/* Left half red, right half blue. */
static void paint(unsigned char rgb[W * H * 3])
{
    for (int i = 0; i < W * H; i++) {
        bool is_left = i % W < W / 2;
        rgb[3 * i] = is_left ? 255 : 0;
        rgb[3 * i + 1] = 0;
        rgb[3 * i + 2] = is_left ? 0 : 255;
    }
}

static void write_png(cf_buf *out)
{
    static unsigned char rgb[W * H * 3];
    static unsigned char bytes[8192];
    png_alloc_size_t n = sizeof bytes;
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = W,
                       .height = H,
                       .format = PNG_FORMAT_RGB};
    paint(rgb);
    assert_true(png_image_write_to_memory(&image, bytes, &n, 0, rgb, 0, NULL) !=
                0);
    cf_buf_add(out, bytes, n);
}

static void write_jpeg(cf_buf *out, bool is_progressive)
{
    static unsigned char rgb[W * H * 3];
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long n = 0;
    paint(rgb);
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &bytes, &n);
    jpeg.image_width = W;
    jpeg.image_height = H;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 90, TRUE);
    if (is_progressive) {
        jpeg_simple_progression(&jpeg);
    }
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < H) {
        JSAMPROW row[1] = {rgb + (size_t)jpeg.next_scanline * W * 3};
        jpeg_write_scanlines(&jpeg, row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    cf_buf_add(out, bytes, n);
    free(bytes);
}

static cf_str str_of(const cf_buf *b)
{
    return cf_buf_str(b);
}

static void expect_halves(const cf_buf *bytes, cf_image_kind kind)
{
    cf_picture p;
    cf_error err;
    cf_image_info info = cf_image_probe(str_of(bytes));
    assert_int_equal(info.kind, kind);
    assert_int_equal(info.w, W);
    assert_int_equal(info.h, H);
    T_OK(cf_image_shrink(&p, str_of(bytes), 30, 100, NULL, &err), err);
    assert_int_equal(p.w, 30);
    assert_int_equal(p.h, 20);
    for (int y = 0; y < p.h; y++) {
        const unsigned char *left = p.rgb + (size_t)y * 30 * 3 + 3 * 5;
        const unsigned char *right = p.rgb + (size_t)y * 30 * 3 + 3 * 25;
        assert_true(left[0] > 240 && left[2] < 15);
        assert_true(right[2] > 240 && right[0] < 15);
    }
    cf_picture_deinit(&p);
}

static void test_image__known_pictures(void **state)
{
    (void)state;
    cf_buf bytes = CF_BUF_INIT;
    write_png(&bytes);
    expect_halves(&bytes, CF_IMAGE_PNG);
    cf_buf_reset(&bytes);
    write_jpeg(&bytes, false);
    expect_halves(&bytes, CF_IMAGE_JPEG);
    cf_buf_reset(&bytes);
    write_jpeg(&bytes, true);
    expect_halves(&bytes, CF_IMAGE_JPEG);
    cf_buf_deinit(&bytes);
}

/* Every beginning of a file, and random changes: refused or shown, no leak. */
static void test_image__damage_is_survived(void **state)
{
    (void)state;
    cf_rand rand = {.s = 7};
    size_t before = cf_fault_live();
    for (int kind = 0; kind < 3; kind++) {
        cf_buf bytes = CF_BUF_INIT;
        if (kind == 0) {
            write_png(&bytes);
        } else {
            write_jpeg(&bytes, kind == 2);
        }
        for (size_t n = 0; n < bytes.n; n += 1 + n / 50) {
            cf_picture p;
            cf_error err;
            cf_str cut = cf_str_make(cf_buf_cstr(&bytes), n);
            if (cf_image_shrink(&p, cut, 20, 20, NULL, &err) != CF_OK) {
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
                copy.p[cf_rand_below(&rand, copy.n)] =
                    (char)cf_rand_below(&rand, 256);
            }
            if (cf_image_shrink(&p, str_of(&copy), 20, 20, NULL, NULL) !=
                CF_OK) {
                assert_null(p.rgb);
            }
            cf_picture_deinit(&p);
            cf_buf_deinit(&copy);
        }
        cf_buf_deinit(&bytes);
    }
    assert_int_equal(cf_fault_live(), before);
}

static void test_image__claims_are_not_believed(void **state)
{
    (void)state;
    cf_buf bytes = CF_BUF_INIT;
    cf_picture p;
    cf_error err;
    write_png(&bytes);
    bytes.p[16] = 0x7F; /* a width of two thousand million */
    assert_int_not_equal(
        cf_image_shrink(&p, str_of(&bytes), 20, 20, NULL, &err), CF_OK);
    cf_buf_reset(&bytes);
    write_jpeg(&bytes, false);
    for (size_t i = 0; i + 9 < bytes.n; i++) {
        if ((unsigned char)bytes.p[i] == 0xFF &&
            (unsigned char)bytes.p[i + 1] == 0xC0) {
            bytes.p[i + 5] = bytes.p[i + 7] = (char)0xFF;
        }
    }
    assert_int_equal(cf_image_shrink(&p, str_of(&bytes), 20, 20, NULL, &err),
                     CF_ELIMIT);
    cf_cancel cancel;
    atomic_init(&cancel, true);
    cf_buf_reset(&bytes);
    write_png(&bytes);
    assert_int_equal(cf_image_shrink(&p, str_of(&bytes), 20, 20, &cancel, &err),
                     CF_ECANCELLED);
    assert_int_equal(
        cf_image_shrink(&p, cf_str_from("GIF89a1234567"), 20, 20, NULL, &err),
        CF_EUNSUPPORTED);
    assert_int_equal(
        cf_image_shrink(&p, cf_str_from("hello"), 20, 20, NULL, &err),
        CF_EFORMAT);
    cf_buf_deinit(&bytes);
}

static void test_image__thumbs_come_in_order(void **state)
{
    (void)state;
    cf_thumbs *t;
    cf_error err;
    cf_buf bytes = CF_BUF_INIT, letters = CF_BUF_INIT;
    write_png(&bytes);
    cf_base64_put(&letters, str_of(&bytes));
    T_OK(cf_thumbs_new(&t, &err), err);
    assert_int_equal(cf_thumbs_ask(t, str_of(&letters)), 0);
    assert_int_equal(cf_thumbs_ask(t, cf_str_from("no base64!")), 1);
    assert_int_equal(cf_thumbs_ask(t, cf_str_from("aGVsbG8h")), 2);
    assert_false(cf_thumbs_get(t, 7)->is_done);
    cf_thumbs_settle(t);
    assert_int_equal(cf_thumbs_n_done(t), 3);
    assert_int_equal(cf_thumbs_get(t, 0)->picture.h, CF_THUMB_H);
    assert_string_equal(cf_thumbs_get(t, 0)->why, "");
    assert_true(cf_thumbs_get(t, 1)->why[0] != '\0');
    assert_true(cf_thumbs_get(t, 2)->why[0] != '\0');
    for (int i = 0; i < 40; i++) { /* what waits at the end is dropped */
        assert_int_equal(cf_thumbs_ask(t, str_of(&letters)), 3 + i);
    }
    cf_thumbs_free(t);
    cf_buf_deinit(&bytes);
    cf_buf_deinit(&letters);
}

/* Half a second of silence, then of noise, in 8-bit WAV at 8 kHz. */
static void test_image__waveform_of_a_sound(void **state)
{
    (void)state;
    cf_thumbs *t;
    cf_error err;
    cf_buf bytes = CF_BUF_INIT, letters = CF_BUF_INIT;
    static const unsigned char head[44] = {
        'R', 'I', 'F',  'F',  36 + 0x40, 0x1f, 0,    0,    'W',  'A', 'V',
        'E', 'f', 'm',  't',  ' ',       16,   0,    0,    0,    1,   0,
        1,   0,   0x40, 0x1f, 0,         0,    0x40, 0x1f, 0,    0,   1,
        0,   8,   0,    'd',  'a',       't',  'a',  0x40, 0x1f, 0,   0};
    cf_buf_add(&bytes, (const char *)head, sizeof head);
    for (int i = 0; i < 8000; i++) {
        cf_buf_addc(&bytes, i < 4000 ? (char)128 : (char)(i * 37));
    }
    cf_base64_put(&letters, str_of(&bytes));
    T_OK(cf_thumbs_new(&t, &err), err);
    assert_int_equal(cf_thumbs_ask(t, str_of(&letters)), 0);
    letters.n -= 4000; /* cut */
    assert_int_equal(cf_thumbs_ask(t, str_of(&letters)), 1);
    cf_thumbs_settle(t);
    const cf_thumb *wave = cf_thumbs_get(t, 0);
    assert_string_equal(wave->why, "");
    assert_string_equal(wave->what, "1.0 s, 8000 Hz, 1 channel");
    assert_int_equal(wave->picture.w, CF_THUMB_W);
    assert_int_equal(wave->picture.h, CF_THUMB_WAVE_H);
    const unsigned char *top = wave->picture.rgb; /* of the first row */
    assert_memory_not_equal(top + 3, top + 3 * 30, 3);
    assert_true(cf_thumbs_get(t, 1)->why[0] != '\0');
    cf_thumbs_free(t);
    cf_buf_deinit(&bytes);
    cf_buf_deinit(&letters);
}

static void test_image__pixels_in_the_colours_there_are(void **state)
{
    (void)state;
    static const struct {
        int n_colors;
        uint32_t rgb;
        int index;
    } cases[] = {
        {256, 0xFF0000, 196}, {256, 0x000000, 16}, {256, 0xFFFFFF, 231},
        {256, 0x808080, 244}, {16, 0xFF0000, 9},   {16, 0x00FF00, 10},
        {16, 0xFFFFFF, 15},   {16, 0x000000, 0},   {8, 0xFF0000, 1},
        {8, 0x00F0F0, 6},     {8, 0xFFFFFF, 7},
    };
    cf_grid g;
    cf_error err;
    cf_grid_init(&g);
    T_OK(cf_grid_resize(&g, 4, 1, &err), err);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        g.n_colors = cases[i].n_colors;
        cf_grid_put_pixels(&g, 0, 0, cases[i].rgb, 0);
        assert_int_equal(g.cell[0].glyph.cp[0], 0x2580);
        assert_int_equal(g.cell[0].fg, cases[i].index);
    }
    g.n_colors = 0;
    cf_grid_put_pixels(&g, 1, 0, 0, 0);
    cf_grid_put_pixels(&g, 2, 0, 0xFFFFFF, 0xFFFFFF);
    assert_int_equal(g.cell[1].glyph.cp[0], ' ');
    assert_int_equal(g.cell[2].glyph.cp[0], '@');
    g.n_colors = 256;
    g.ascii_lines = true;
    cf_grid_put_pixels(&g, 2, 0, 0xFFFFFF, 0x000000);
    assert_int_equal(g.cell[2].glyph.cp[0], '=');
    cf_grid_put_pixels(&g, 9, 9, 0, 0); /* outside */
    cf_grid_deinit(&g);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_image__known_pictures),
        cmocka_unit_test(test_image__damage_is_survived),
        cmocka_unit_test(test_image__claims_are_not_believed),
        cmocka_unit_test(test_image__thumbs_come_in_order),
        cmocka_unit_test(test_image__waveform_of_a_sound),
        cmocka_unit_test(test_image__pixels_in_the_colours_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
