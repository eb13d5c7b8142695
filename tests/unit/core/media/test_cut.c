/*
 * test_cut.c - sizes and tiles of LFM2-VL, as its own processor has them.
 *
 * Source of the numbers: what users of the processor of Hugging Face
 * transformers report for patches of 16 pixels, merged by two; of pictures
 * without tiles the formula.
 */
#include "tests/support/t.h"
#include "core/media/vision_cut.h"

static void cut(cf_vision_blocks *out, uint32_t w, uint32_t h, uint32_t max_tiles)
{
    const cf_vision v = {.patch = 16,
                         .merge = 2,
                         .image_size = 256,
                         .min_pixels = 65536,
                         .max_pixels = 262144,
                         .min_tiles = max_tiles > 1 ? 2 : 1,
                         .max_tiles = max_tiles};
    cf_error err;
    cf_pixels p;
    T_OK(cf_pixels_init(&p, w, h, &err), err);
    for (size_t i = 0; i < (size_t)w * h; i++) {
        /* each pixel says where it is, in steps of 8 */
        p.rgb[3 * i] = (unsigned char)(i % w / 8);
        p.rgb[3 * i + 1] = (unsigned char)(i / w / 8);
        p.rgb[3 * i + 2] = 7;
    }
    *out = (cf_vision_blocks){.v = NULL};
    T_OK(cf_vision_lfm2.cut(&v, &p, out, &err), err);
    cf_pixels_deinit(&p);
}

static void test_cut__tiles(void **state)
{
    static const struct {
        uint32_t w, h, cols, rows, n_row;
    } sizes[] = {
        {1440, 900, 3, 2, 1776}, {1512, 982, 3, 2, 1764}, {1920, 1080, 4, 2, 2300},
        {700, 700, 0, 0, 256},   {900, 1440, 2, 3, 1776}, {100, 60, 0, 0, 77},
    };
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        cf_vision_blocks b;
        uint32_t n_row = 0;
        cut(&b, sizes[i].w, sizes[i].h, 10);
        assert_int_equal(b.tile_cols, sizes[i].cols);
        assert_int_equal(b.tile_rows, sizes[i].rows);
        assert_int_equal(b.n, sizes[i].cols * sizes[i].rows + 1);
        for (size_t k = 0; k < b.n; k++) {
            n_row += b.v[k].cols * b.v[k].rows;
        }
        assert_int_equal(n_row, sizes[i].n_row);
        cf_vision_blocks_deinit(&b);
    }
}

/* Tiles go on from left to right, then down; a file may forbid them. */
static void test_cut__places(void **state)
{
    cf_vision_blocks b;
    (void)state;
    cut(&b, 1536, 1024, 10);
    assert_int_equal(b.n, 7);
    for (uint32_t i = 0; i < 6; i++) {
        const cf_pixels *p = &b.v[i].picture;
        assert_int_equal(p->w, 512);
        assert_int_equal(p->h, 512);
        assert_int_equal(p->rgb[0], i % 3 * 64);
        assert_int_equal(p->rgb[1], i / 3 * 64);
    }
    cf_vision_blocks_deinit(&b);
    cut(&b, 1536, 1024, 1);
    assert_int_equal(b.n, 1);
    assert_int_equal(b.tile_cols, 0);
    cf_vision_blocks_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut__tiles),
        cmocka_unit_test(test_cut__places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
