/*
 * test_image.c - pictures decoded in the background; pixels in the colours
 * that there are.
 */
#include "core/base/base64.h"
#include "tests/support/fault.h"
#include "tests/support/picture_file.h"
#include "tests/support/t.h"
#include "tui/grid/grid.h"
#include "tui/image/thumbs.h"

enum { W = 60, H = 40 };

static void write_png(cf_buf *out)
{
    static unsigned char rgb[W * H * 3];
    cf_picture_paint(rgb, W, H);
    cf_picture_png(out, rgb, W, H);
}

static cf_str str_of(const cf_buf *b)
{
    return cf_buf_str(b);
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
        'R', 'I', 'F', 'F', 36 + 0x40, 0x1f, 0,   0,   'W', 'A',  'V',  'E',  'f', 'm',  't',
        ' ', 16,  0,   0,   0,         1,    0,   1,   0,   0x40, 0x1f, 0,    0,   0x40, 0x1f,
        0,   0,   1,   0,   8,         0,    'd', 'a', 't', 'a',  0x40, 0x1f, 0,   0};
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
        {256, 0xFF0000, 196}, {256, 0x000000, 16}, {256, 0xFFFFFF, 231}, {256, 0x808080, 244},
        {16, 0xFF0000, 9},    {16, 0x00FF00, 10},  {16, 0xFFFFFF, 15},   {16, 0x000000, 0},
        {8, 0xFF0000, 1},     {8, 0x00F0F0, 6},    {8, 0xFFFFFF, 7},
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
        cmocka_unit_test(test_image__thumbs_come_in_order),
        cmocka_unit_test(test_image__waveform_of_a_sound),
        cmocka_unit_test(test_image__pixels_in_the_colours_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
