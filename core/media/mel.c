/*
 * mel.c - spectrograms: windows, a Fourier transform, triangular bands, log.
 *
 * Sources: Radford et al. 2022 (Whisper) and its feature extractor; Slaney
 * 1998, "Auditory Toolbox"; Young et al., "The HTK Book"; Cooley and Tukey
 * 1965.  Frames are computed in double, each by itself.
 */
#include "core/media/mel.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"

enum { FFT_MAX = 512, BINS_MAX = FFT_MAX / 2 + 1 };

static const double pi = 3.14159265358979323846;

/* ---- transform ---------------------------------------------------------- */

typedef struct complex_number {
    double re, im;
} complex_number;

typedef struct recipe recipe;

/* A kind of spectrogram. */
struct recipe {
    size_t n_window, n_fft;
    bool is_power;
    double (*to_hertz)(double mel);
    double top; /* 8,000 Hz in mel */
    bool has_equal_areas;
};

typedef struct tables {
    const recipe *r;
    double window[FFT_MAX];
    complex_number turn[FFT_MAX]; /* e^(-2 pi i k / n_fft) */
    double band[CF_MEL_BANDS][BINS_MAX];
    size_t first[CF_MEL_BANDS], end[CF_MEL_BANDS]; /* bins of a band */
} tables;

static size_t smallest_factor(size_t n)
{
    size_t f = 2;
    while (n % f != 0) {
        f++;
    }
    return f;
}

/* out[n] = transform of the n values in[0], in[step], ...; `turn` has `turns`
 * values, turns = n * step. */
static void transform(complex_number *out, const complex_number *in, size_t n, size_t step,
                      const complex_number *turn, size_t turns)
{
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    size_t p = smallest_factor(n), m = n / p;
    complex_number part[FFT_MAX];
    for (size_t r = 0; r < p; r++) {
        transform(part + r * m, in + r * step, m, step * p, turn, turns);
    }
    for (size_t k = 0; k < n; k++) {
        complex_number sum = {0, 0};
        size_t at = 0;
        for (size_t r = 0; r < p; r++) {
            complex_number a = part[r * m + k % m], w = turn[at];
            sum.re += a.re * w.re - a.im * w.im;
            sum.im += a.re * w.im + a.im * w.re;
            at += k * step;
            at -= at >= turns ? turns : 0;
        }
        out[k] = sum;
    }
}

/* ---- bands -------------------------------------------------------------- */

/* 3/200 mel a hertz up to 1,000 Hz, then 27 mel for each factor of 6.4. */
static double slaney(double mel)
{
    return mel < 15 ? mel * 200 / 3 : 1000 * exp((mel - 15) * log(6.4) / 27);
}

static double htk(double mel)
{
    return 700 * (pow(10, mel / 2595) - 1);
}

static void fill_bands(tables *t)
{
    const recipe *r = t->r;
    for (size_t b = 0; b < CF_MEL_BANDS; b++) {
        double f[3];
        for (size_t i = 0; i < 3; i++) {
            f[i] = r->to_hertz(r->top * (double)(b + i) / (CF_MEL_BANDS + 1));
        }
        double scale = r->has_equal_areas ? 2 / (f[2] - f[0]) : 1;
        t->first[b] = t->end[b] = 0;
        for (size_t k = 0; k <= r->n_fft / 2; k++) {
            double hertz = 16000 * (double)k / (double)r->n_fft;
            double up = (hertz - f[0]) / (f[1] - f[0]);
            double down = (f[2] - hertz) / (f[2] - f[1]);
            double w = fmax(0, fmin(up, down)) * scale;
            t->band[b][k] = w;
            if (w > 0) {
                t->first[b] = t->end[b] == 0 ? k : t->first[b];
                t->end[b] = k + 1;
            }
        }
    }
}

static tables *new_tables(const recipe *r)
{
    tables *t = cf_calloc(1, sizeof *t);
    if (t == NULL) {
        return NULL;
    }
    t->r = r;
    for (size_t i = 0; i < r->n_window; i++) {
        double angle = 2 * pi * (double)i / (double)r->n_window;
        t->window[i] = 0.5 - 0.5 * cos(angle); /* periodic Hann */
    }
    for (size_t i = 0; i < r->n_fft; i++) {
        double angle = -2 * pi * (double)i / (double)r->n_fft;
        t->turn[i] = (complex_number){cos(angle), sin(angle)};
    }
    fill_bands(t);
    return t;
}

/* ---- frames ------------------------------------------------------------- */

typedef struct job {
    const cf_dense *d;
    const tables *t;
    const float *x;
    size_t n, total, n_frame;
    bool is_mirrored; /* at both ends; otherwise 160 zeros come first */
    float *out;       /* [CF_MEL_BANDS, n_frame] */
} job;

/* Sample `at` of the sound including its padding. */
static double sample(const job *j, ptrdiff_t at)
{
    ptrdiff_t total = (ptrdiff_t)j->total;
    if (j->is_mirrored) {
        at = at < 0 ? -at : at;
        at = at >= total ? 2 * (total - 1) - at : at;
    }
    return at >= 0 && at < (ptrdiff_t)j->n ? (double)j->x[at] : 0;
}

static void one_frame(const job *j, size_t i)
{
    const tables *t = j->t;
    size_t n_fft = t->r->n_fft;
    ptrdiff_t before = j->is_mirrored ? (ptrdiff_t)t->r->n_window / 2 : 160;
    ptrdiff_t start = (ptrdiff_t)(i * CF_MEL_STEP) - before;
    complex_number in[FFT_MAX], out[FFT_MAX];
    double bin[BINS_MAX];
    for (size_t k = 0; k < n_fft; k++) {
        double v = k < t->r->n_window ? sample(j, start + (ptrdiff_t)k) * t->window[k] : 0;
        in[k] = (complex_number){v, 0};
    }
    transform(out, in, n_fft, 1, t->turn, n_fft);
    for (size_t k = 0; k <= n_fft / 2; k++) {
        double power = out[k].re * out[k].re + out[k].im * out[k].im;
        bin[k] = t->r->is_power ? power : sqrt(power);
    }
    for (size_t b = 0; b < CF_MEL_BANDS; b++) {
        double sum = 0;
        for (size_t k = t->first[b]; k < t->end[b]; k++) {
            sum += t->band[b][k] * bin[k];
        }
        j->out[b * j->n_frame + i] =
            (float)(t->r->is_power ? log10(fmax(sum, 1e-10)) : log(sum + 1e-3));
    }
}

static void frames(void *ud, unsigned part, unsigned n_part)
{
    const job *j = ud;
    size_t begin = j->n_frame * part / n_part;
    size_t end = j->n_frame * (part + 1) / n_part;
    for (size_t i = begin; i < end; i++) {
        if (cf_stop_now(j->d->stop)) {
            return;
        }
        one_frame(j, i);
    }
}

static cf_status make(cf_mel *out, const cf_dense *d, const recipe *r, job *j, cf_error *err)
{
    tables *t = new_tables(r);
    j->d = d;
    j->t = t;
    j->out = cf_calloc(CF_MEL_BANDS * j->n_frame + 1, sizeof *j->out);
    if (t == NULL || j->out == NULL) {
        cf_free(t);
        cf_free(j->out);
        return cf_oom_for(err, "a spectrogram");
    }
    cf_pool_run(d->pool, frames, j);
    cf_free(t);
    if (cf_stop_now(d->stop)) {
        cf_free(j->out);
        return cf_fail(err, CF_ECANCELLED, "interrupted");
    }
    *out = (cf_mel){.v = j->out, .n = j->n_frame, .n_held = j->n_frame};
    return CF_OK;
}

cf_status cf_mel_whisper(cf_mel *out, const cf_dense *d, const float *x, size_t n, size_t total,
                         cf_error *err)
{
    static const recipe r = {.n_window = 400,
                             .n_fft = 400,
                             .is_power = true,
                             .to_hertz = slaney,
                             .top = 45.245640471924965,
                             .has_equal_areas = true};
    job j = {.x = x, .n = n, .total = total, .n_frame = total / CF_MEL_STEP, .is_mirrored = true};
    CF_TRY(make(out, d, &r, &j, err));
    float top = -INFINITY;
    for (size_t b = 0; b < CF_MEL_BANDS && !cf_stop_now(d->stop); b++) {
        for (size_t i = b * out->n; i < (b + 1) * out->n; i++) {
            top = fmaxf(top, out->v[i]);
        }
    }
    for (size_t b = 0; b < CF_MEL_BANDS && !cf_stop_now(d->stop); b++) {
        for (size_t i = b * out->n; i < (b + 1) * out->n; i++) {
            out->v[i] = (fmaxf(out->v[i], top - 8) + 4) / 4;
        }
    }
    out->n_held = (n + CF_MEL_STEP - 1) / CF_MEL_STEP;
    cf_status st = cf_stop_check(d->stop, err);
    if (st != CF_OK) {
        cf_mel_deinit(out);
    }
    return st;
}

cf_status cf_mel_gemma(cf_mel *out, const cf_dense *d, const float *x, size_t n, cf_error *err)
{
    static const recipe r = {.n_window = 320,
                             .n_fft = 512,
                             .is_power = false,
                             .to_hertz = htk,
                             .top = 2840.0230467083188,
                             .has_equal_areas = false};
    /* Frame i needs sample 160 i + 320 of the sound with zeros before it. */
    size_t total = (n + 127) / 128 * 128;
    job j = {.x = x,
             .n = n,
             .total = total,
             .n_frame = total > 160 ? (total - 161) / CF_MEL_STEP + 1 : 0};
    CF_TRY(make(out, d, &r, &j, err));
    size_t held = n > 160 ? (n - 161) / CF_MEL_STEP + 1 : 0;
    out->n_held = held < out->n ? held : out->n;
    for (size_t b = 0; b < CF_MEL_BANDS; b++) {
        memset(out->v + b * out->n + out->n_held, 0, (out->n - out->n_held) * sizeof *out->v);
    }
    return CF_OK;
}

void cf_mel_deinit(cf_mel *m)
{
    cf_free(m->v);
    *m = (cf_mel){.v = NULL};
}
