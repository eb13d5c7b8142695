/*
 * resample.c - Pillow's separable resampling in whole numbers.
 */
#include "core/media/resample.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"

enum { FRACTION_BITS = 22 };

/* Weights of one axis: output i is the sum of n[i] inputs from first[i] on,
 * times weight[i * n_max ...]. */
typedef struct axis {
    uint32_t *first, *n;
    int32_t *weight;
    size_t n_max;
} axis;

static double triangle(double x)
{
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

static double cubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1) {
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    }
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double sinc(double x)
{
    const double pi = 3.14159265358979323846;
    return x == 0 ? 1 : sin(x * pi) / (x * pi);
}

static double lanczos(double x)
{
    return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
}

static const struct {
    double (*at)(double x);
    double support;
} filters[] = {[CF_FILTER_BILINEAR] = {triangle, 1},
               [CF_FILTER_BICUBIC] = {cubic, 2},
               [CF_FILTER_LANCZOS] = {lanczos, 3}};

static void axis_deinit(axis *a)
{
    cf_free(a->first);
    cf_free(a->n);
    cf_free(a->weight);
}

/* The weights of output i, in `w`. */
static void weigh(axis *a, double *w, uint32_t i, uint32_t n_in, double scale, cf_filter f)
{
    double widen = scale > 1 ? scale : 1;
    double support = filters[f].support * widen;
    double centre = (i + 0.5) * scale;
    double lo = centre - support + 0.5, hi = centre + support + 0.5;
    uint32_t first = lo > 0 ? (uint32_t)lo : 0;
    uint32_t end = hi < n_in ? (uint32_t)hi : n_in;
    double sum = 0;
    for (uint32_t j = first; j < end; j++) {
        w[j - first] = filters[f].at((j - centre + 0.5) / widen);
        sum += w[j - first];
    }
    a->first[i] = first;
    a->n[i] = end - first;
    for (uint32_t j = 0; j < end - first; j++) {
        double v = (sum != 0 ? w[j] / sum : w[j]) * (1 << FRACTION_BITS);
        a->weight[i * a->n_max + j] = (int32_t)(v < 0 ? v - 0.5 : v + 0.5);
    }
}

static cf_status axis_init(axis *a, uint32_t n_in, uint32_t n_out, cf_filter f, cf_error *err)
{
    double scale = (double)n_in / n_out;
    double support = filters[f].support * (scale > 1 ? scale : 1);
    *a = (axis){.n_max = (size_t)ceil(support) * 2 + 1};
    a->first = cf_calloc(n_out, sizeof *a->first);
    a->n = cf_calloc(n_out, sizeof *a->n);
    a->weight = cf_calloc(n_out * a->n_max, sizeof *a->weight);
    double *w = cf_calloc(a->n_max, sizeof *w);
    bool ok = a->first != NULL && a->n != NULL && a->weight != NULL && w != NULL;
    for (uint32_t i = 0; ok && i < n_out; i++) {
        weigh(a, w, i, n_in, scale, f);
    }
    cf_free(w);
    return ok ? CF_OK : cf_oom_for(err, "a filter");
}

static unsigned char to_byte(int32_t sum)
{
    int32_t v = sum < 0 ? 0 : sum >> FRACTION_BITS;
    return (unsigned char)(v > 255 ? 255 : v);
}

/* The three colours at `to`: inputs `step` bytes apart from `from` on. */
static void one_pixel(unsigned char *to, const unsigned char *from, size_t step, const int32_t *w,
                      uint32_t n)
{
    int32_t sum[3];
    for (int c = 0; c < 3; c++) {
        sum[c] = 1 << (FRACTION_BITS - 1);
    }
    for (uint32_t j = 0; j < n; j++) {
        for (int c = 0; c < 3; c++) {
            sum[c] += from[j * step + (size_t)c] * w[j];
        }
    }
    for (int c = 0; c < 3; c++) {
        to[c] = to_byte(sum[c]);
    }
}

static void along_rows(cf_pixels *out, const cf_pixels *in, const axis *a, const cf_stop *stop)
{
    for (size_t y = 0; y < out->h && !cf_stop_now(stop); y++) {
        for (size_t x = 0; x < out->w; x++) {
            one_pixel(out->rgb + (y * out->w + x) * 3, in->rgb + (y * in->w + a->first[x]) * 3, 3,
                      a->weight + x * a->n_max, a->n[x]);
        }
    }
}

static void along_columns(cf_pixels *out, const cf_pixels *in, const axis *a, const cf_stop *stop)
{
    size_t row = (size_t)in->w * 3;
    for (size_t y = 0; y < out->h && !cf_stop_now(stop); y++) {
        for (size_t x = 0; x < out->w; x++) {
            one_pixel(out->rgb + (y * out->w + x) * 3, in->rgb + a->first[y] * row + x * 3, row,
                      a->weight + y * a->n_max, a->n[y]);
        }
    }
}

/* One pass into a new picture; an axis that keeps its size is copied, which
 * is what the weights would do. */
static cf_status pass(cf_pixels *out, const cf_pixels *in, uint32_t w, uint32_t h, cf_filter filter,
                      const cf_stop *stop, cf_error *err)
{
    CF_TRY(cf_pixels_init(out, w, h, err));
    bool is_wide = w != in->w;
    if (!is_wide && h == in->h) {
        memcpy(out->rgb, in->rgb, (size_t)w * h * 3);
        return CF_OK;
    }
    axis a;
    cf_status st = axis_init(&a, is_wide ? in->w : in->h, is_wide ? w : h, filter, err);
    if (st == CF_OK) {
        (is_wide ? along_rows : along_columns)(out, in, &a, stop);
        st = cf_stop_check(stop, err);
    }
    axis_deinit(&a);
    if (st != CF_OK) {
        cf_pixels_deinit(out);
    }
    return st;
}

cf_status cf_pixels_resize(cf_pixels *out, const cf_pixels *in, uint32_t w, uint32_t h,
                           cf_filter filter, const cf_stop *stop, cf_error *err)
{
    cf_pixels half;
    CF_TRY(pass(&half, in, w, in->h, filter, stop, err));
    cf_status st = pass(out, &half, w, h, filter, stop, err);
    cf_pixels_deinit(&half);
    return st;
}
