/*
 * test_resample.c - resizing against sums written out by hand, and against a
 * plain second implementation in floating point.
 */
#include <math.h>

#include "core/base/alloc.h"
#include "core/media/resample.h"
#include "tests/support/t.h"

static cf_pixels gray_row(const unsigned char *v, uint32_t n)
{
    cf_error err;
    cf_pixels p;
    T_OK(cf_pixels_init(&p, n, 1, &err), err);
    for (uint32_t i = 0; i < n * 3; i++) {
        p.rgb[i] = v[i / 3];
    }
    return p;
}

static void expect_row(const unsigned char *in, uint32_t n_in, const unsigned char *out,
                       uint32_t n_out, cf_filter f)
{
    cf_error err;
    cf_pixels q;
    cf_pixels p = gray_row(in, n_in);
    T_OK(cf_pixels_resize(&q, &p, n_out, 1, f, NULL, &err), err);
    for (uint32_t i = 0; i < n_out * 3; i++) {
        assert_int_equal(q.rgb[i], out[i / 3]);
    }
    cf_pixels_deinit(&p);
    cf_pixels_deinit(&q);
}

/* 4 to 2 with the triangle widened by two: centres 1 and 3, weights 1/4, 3/4,
 * 3/4, 1/4 by distance, divided by those inside the picture (7/4). */
static void test_resample__triangle_shrinks(void **state)
{
    (void)state;
    const unsigned char in[] = {0, 70, 140, 210};
    /* (0 * .75 + 70 * .75 + 140 * .25) / 1.75 = 50, and by symmetry 160 */
    const unsigned char out[] = {50, 160};
    expect_row(in, 4, out, 2, CF_FILTER_BILINEAR);
    /* 54.5 goes up: 3/8 is computed a little too small, and rounded. */
    const unsigned char uneven[] = {68, 32, 130}, halves[] = {55, 93};
    expect_row(uneven, 3, halves, 2, CF_FILTER_BILINEAR);
}

/* 2 to 4: centres 0.25, 0.75, 1.25, 1.75 of inputs at 0.5 and 1.5. */
static void test_resample__triangle_grows(void **state)
{
    (void)state;
    const unsigned char in[] = {0, 100};
    const unsigned char out[] = {0, 25, 75, 100};
    expect_row(in, 2, out, 4, CF_FILTER_BILINEAR);
}

static double kernel(cf_filter f, double x)
{
    const double pi = acos(-1.0);
    x = fabs(x);
    if (f == CF_FILTER_BILINEAR) {
        return x < 1 ? 1 - x : 0;
    }
    if (f == CF_FILTER_BICUBIC) {
        return x < 1   ? 1.5 * x * x * x - 2.5 * x * x + 1
               : x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2
                       : 0;
    }
    return x == 0 ? 1 : x < 3 ? 3 * sin(pi * x) * sin(pi * x / 3) / (pi * pi * x * x) : 0;
}

/* One pass in floating point, rounded to bytes; step is the distance of
 * neighbours in `in`. */
static double plain(const unsigned char *in, uint32_t n_in, uint32_t step, uint32_t i,
                    uint32_t n_out, cf_filter f)
{
    double scale = (double)n_in / n_out, widen = fmax(scale, 1);
    double sum = 0, all = 0;
    for (uint32_t j = 0; j < n_in; j++) {
        double w = kernel(f, (j + 0.5 - (i + 0.5) * scale) / widen);
        sum += w * in[j * step];
        all += w;
    }
    return fmin(255, fmax(0, floor(sum / all + 0.5)));
}

/* Both axes: rows first, each pass rounded; a level of difference at most, for
 * sums that fall on a half. */
static void test_resample__two_passes(void **state)
{
    enum { W = 19, H = 14 };
    static const uint32_t size[][2] = {{7, 5}, {40, 33}, {19, 3}, {8, 14}};
    (void)state;
    cf_error err;
    cf_pixels p;
    T_OK(cf_pixels_init(&p, W, H, &err), err);
    for (uint32_t i = 0; i < W * H * 3; i++) {
        p.rgb[i] = (unsigned char)(i * 2654435761U >> 24);
    }
    for (int f = CF_FILTER_BILINEAR; f <= CF_FILTER_LANCZOS; f++) {
        for (size_t s = 0; s < sizeof size / sizeof size[0]; s++) {
            uint32_t w = size[s][0], h = size[s][1];
            cf_pixels q;
            T_OK(cf_pixels_resize(&q, &p, w, h, (cf_filter)f, NULL, &err), err);
            unsigned char *half = cf_alloc((size_t)w * H);
            for (uint32_t i = 0; i < w * H; i++) {
                half[i] = (unsigned char)plain(p.rgb + (size_t)(i / w) * W * 3, W, 3, i % w, w,
                                               (cf_filter)f);
            }
            for (uint32_t i = 0; i < w * h; i++) {
                double want = plain(half + i % w, H, w, i / w, h, (cf_filter)f);
                assert_true(fabs(want - q.rgb[3 * i]) <= 1);
            }
            cf_free(half);
            cf_pixels_deinit(&q);
        }
    }
    cf_pixels_deinit(&p);
}

static void test_resample__refuses_huge(void **state)
{
    (void)state;
    const unsigned char in[] = {1, 2};
    cf_pixels q, p = gray_row(in, 2);
    cf_error err;
    T_FAILS(cf_pixels_resize(&q, &p, 65000, 65000, CF_FILTER_BICUBIC, NULL, &err), CF_ELIMIT);
    cf_pixels_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resample__triangle_shrinks),
        cmocka_unit_test(test_resample__triangle_grows),
        cmocka_unit_test(test_resample__two_passes),
        cmocka_unit_test(test_resample__refuses_huge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
