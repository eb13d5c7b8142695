/*
 * conformer.c - Gemma 4's encoder of sounds.
 *
 *   x = in(relu(norm(conv(relu(norm(conv(mel)))))));  for each layer:
 *   x += ffn(x) / 2;  x += attention(x);  x += convolution(x);
 *   x = norm(x + ffn(x) / 2)
 *
 * Frames without sound only come after it, nothing looks ahead after the two
 * convolutions, and those see zeros in their place: rows of such frames are
 * not computed at all.
 *
 * Sources: Gulati et al. 2020 (Conformer); the Gemma 3n and Gemma 4 model code
 * in Hugging Face transformers.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/media/audio.h"

enum { SEEN = 12, TAPS = 5, CHANNELS_MAX = 1024, HEAD_MAX = 1024 };

static const float eps = 1e-6f;

/* ---- the file ----------------------------------------------------------- */

typedef struct named {
    const char *name;
    cf_linear *matrix;
    const float **vec;
    uint32_t n_row, n_col; /* of a vector: n_row numbers */
} named;

static cf_status load_layer(cf_audio *a, cf_mmproj *m, uint32_t i, cf_error *err)
{
    cf_conformer_layer *l = &a->conformer[i];
    cf_conformer_ffn *f = l->ffn, *g = l->ffn + 1;
    uint32_t d = a->width;
    const named part[] = {
        {"ffn_norm", NULL, &f->norm, d, 0},
        {"ffn_up", &f->up, NULL, a->n_ff, d},
        {"ffn_down", &f->down, NULL, d, a->n_ff},
        {"ffn_post_norm", NULL, &f->post_norm, d, 0},
        {"ffn_norm_1", NULL, &g->norm, d, 0},
        {"ffn_up_1", &g->up, NULL, a->n_ff, d},
        {"ffn_down_1", &g->down, NULL, d, a->n_ff},
        {"ffn_post_norm_1", NULL, &g->post_norm, d, 0},
        {"attn_pre_norm", NULL, &l->attn_norm, d, 0},
        {"attn_q", &l->q, NULL, d, d},
        {"attn_k", &l->k, NULL, d, d},
        {"attn_v", &l->v, NULL, d, d},
        {"attn_out", &l->o, NULL, d, d},
        {"attn_k_rel", &l->rel, NULL, d, d},
        {"per_dim_scale", NULL, &l->dim_scale, d / a->n_head, 0},
        {"attn_post_norm", NULL, &l->attn_post_norm, d, 0},
        {"norm_conv", NULL, &l->norm_conv, d, 0},
        {"conv_pw1", &l->pw1, NULL, 2 * d, d},
        {"conv_dw", NULL, &l->taps, TAPS * d, 0},
        {"conv_norm", NULL, &l->conv_norm, d, 0},
        {"conv_pw2", &l->pw2, NULL, d, d},
        {"ln2", NULL, &l->out_norm, d, 0},
    };
    for (size_t j = 0; j < sizeof part / sizeof part[0]; j++) {
        char name[64];
        snprintf(name, sizeof name, "a.blk.%u.%s", (unsigned)i, part[j].name);
        if (part[j].matrix != NULL) {
            CF_TRY(cf_mmproj_linear(m, part[j].matrix, name, part[j].n_row, part[j].n_col, err));
        } else {
            snprintf(name, sizeof name, "a.blk.%u.%s.weight", (unsigned)i, part[j].name);
            CF_TRY(cf_mmproj_vec(m, part[j].vec, name, part[j].n_row, err));
        }
    }
    return CF_OK;
}

/* 3 x 3 taps for each channel; the file gives the number of outputs. */
static cf_status load_conv(cf_audio *a, cf_mmproj *m, int i, uint32_t n_in, cf_linear *to,
                           cf_error *err)
{
    char name[64];
    snprintf(name, sizeof name, "a.conv1d.%d", i);
    CF_TRY(cf_mmproj_linear(m, to, name, 0, 9 * n_in, err));
    if (to->w.n_row > CHANNELS_MAX) {
        return cf_fail(err, CF_ELIMIT,
                       "tensor %s.weight has %u channels "
                       "(limit %d)",
                       name, (unsigned)to->w.n_row, CHANNELS_MAX);
    }
    snprintf(name, sizeof name, "a.conv1d.%d.norm.weight", i);
    return cf_mmproj_vec(m, &a->conv_norm[i], name, to->w.n_row, err);
}

static cf_status load(cf_audio *a, cf_mmproj *m, cf_error *err)
{
    if (a->width / a->n_head > HEAD_MAX) {
        return cf_fail(err, CF_ELIMIT, "heads of %u numbers (limit %d)",
                       (unsigned)(a->width / a->n_head), HEAD_MAX);
    }
    a->conformer = cf_arena_calloc(&m->arena, a->n_layer, sizeof *a->conformer);
    if (a->conformer == NULL) {
        return cf_oom_for(err, "a projector");
    }
    for (uint32_t i = 0; i < a->n_layer; i++) {
        CF_TRY(load_layer(a, m, i, err));
    }
    CF_TRY(load_conv(a, m, 0, 1, &a->conv1, err));
    CF_TRY(load_conv(a, m, 1, a->conv1.w.n_row, &a->conv2, err));
    CF_TRY(cf_mmproj_linear(m, &a->in_proj, "a.input_projection", a->width,
                            CF_MEL_BANDS / 4 * a->conv2.w.n_row, err));
    CF_TRY(cf_mmproj_linear(m, &a->fc1, "a.pre_encode.out", 0, a->width, err));
    return cf_mmproj_linear(m, &a->fc2, "mm.a.input_projection", a->n_out, a->fc1.w.n_row, err);
}

/* ---- convolutions ------------------------------------------------------- */

typedef struct work {
    const cf_audio *a;
    const cf_dense *d;
    size_t n;                 /* rows */
    float *x, *h, *q, *k, *v; /* [n, width] */
    float *mid;               /* [n, the wider of 2 width and n_ff] */
    float *rel;               /* [SEEN, width] */
} work;

/* A picture of frames x bands with channels inside. */
typedef struct plane {
    float *v; /* [n, bands, channels], owned */
    size_t n, bands, channels;
} plane;

/* Every second frame and band: relu(norm(convolution)).  Places outside are
 * zeros.  The nine inputs of a channel lie frame by frame in the kernel. */
static cf_status halve(const work *w, plane *out, const plane *in, const cf_linear *l,
                       const float *norm, cf_error *err)
{
    *out = (plane){.n = (in->n + 1) / 2, .bands = in->bands / 2, .channels = l->w.n_row};
    size_t n_col = l->w.n_col, n = out->n * out->bands;
    float *seen = cf_calloc(out->bands * n_col, sizeof *seen);
    out->v = cf_calloc(n * out->channels, sizeof *out->v);
    cf_status st =
        seen != NULL && out->v != NULL ? CF_OK : cf_oom_for(err, "an encoder's activations");
    for (size_t t = 0; st == CF_OK && t < out->n; t++) {
        memset(seen, 0, out->bands * n_col * sizeof *seen);
        for (size_t i = 0; i < out->bands * n_col; i++) {
            size_t b = i / n_col * 2 + i % 3, y = t * 2 + i % n_col % 9 / 3;
            size_t c = i % n_col / 9;
            if (b > 0 && b <= in->bands && y > 0 && y <= in->n) {
                seen[i] = in->v[((y - 1) * in->bands + b - 1) * in->channels + c];
            }
        }
        st = cf_dense_linear(w->d, out->v + t * out->bands * out->channels, seen, out->bands, l,
                             err);
    }
    cf_free(seen);
    if (st == CF_OK) {
        cf_dense_layer_norm(w->d, out->v, out->v, norm, NULL, n, out->channels, eps);
        for (size_t i = 0; i < n * out->channels; i++) {
            out->v[i] = fmaxf(out->v[i], 0);
        }
    }
    return st;
}

static cf_status embed(const work *w, const cf_mel *mel, cf_error *err)
{
    plane in = {.n = mel->n_held, .bands = CF_MEL_BANDS, .channels = 1};
    plane one = {.v = NULL}, two = {.v = NULL};
    in.v = cf_calloc(in.n * in.bands, sizeof *in.v);
    if (in.v == NULL) {
        return cf_oom_for(err, "an encoder's activations");
    }
    for (size_t i = 0; i < in.n * in.bands; i++) {
        in.v[i] = mel->v[i % in.bands * mel->n + i / in.bands];
    }
    cf_status st = halve(w, &one, &in, &w->a->conv1, w->a->conv_norm[0], err);
    CF_THEN(st, halve(w, &two, &one, &w->a->conv2, w->a->conv_norm[1], err));
    CF_THEN(st, cf_dense_linear(w->d, w->x, two.v, w->n, &w->a->in_proj, err));
    cf_free(in.v);
    cf_free(one.v);
    cf_free(two.v);
    return st;
}

/* ---- layers ------------------------------------------------------------- */

static cf_status feed_forward(const work *w, const cf_conformer_ffn *f, cf_error *err)
{
    size_t width = w->a->width;
    cf_dense_rms_norm(w->d, w->h, w->x, f->norm, w->n, width, eps);
    CF_TRY(cf_dense_linear(w->d, w->mid, w->h, w->n, &f->up, err));
    cf_dense_act(w->d, w->mid, w->n * w->a->n_ff, CF_ACT_SILU);
    CF_TRY(cf_dense_linear(w->d, w->h, w->mid, w->n, &f->down, err));
    cf_dense_rms_norm(w->d, w->h, w->h, f->post_norm, w->n, width, eps);
    cf_dense_add(w->d, w->x, w->h, 0.5f, w->n * width);
    return CF_OK;
}

/* Sines, then cosines, of each distance, through the layer's matrix. */
static cf_status fill_rel(const work *w, const cf_conformer_layer *l, cf_error *err)
{
    size_t width = w->a->width, half = width / 2;
    float *wave = cf_calloc(SEEN * width, sizeof *wave);
    if (wave == NULL) {
        return cf_oom_for(err, "an encoder's activations");
    }
    for (size_t t = 0; t < SEEN; t++) {
        for (size_t i = 0; i < half; i++) {
            double by = half > 1 ? (double)i / (double)(half - 1) : 0;
            double angle = (double)t * pow(10000, -by);
            wave[t * width + i] = (float)sin(angle);
            wave[t * width + half + i] = (float)cos(angle);
        }
    }
    cf_status st = cf_dense_linear(w->d, w->rel, wave, SEEN, &l->rel, err);
    cf_free(wave);
    return st;
}

static double dot(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)a[i] * (double)b[i];
    }
    return sum;
}

/* One head of row t, to out[size]: it sees itself and the eleven before. */
static void attend(const work *w, float *out, size_t t, size_t head)
{
    size_t width = w->a->width, size = width / w->a->n_head;
    size_t n = t + 1 < SEEN ? t + 1 : SEEN, at = head * size;
    const float *q = w->q + t * width + at;
    double score[SEEN], top = -INFINITY, total = 0;
    for (size_t i = 0; i < n; i++) {
        double s =
            dot(q, w->k + (t - i) * width + at, size) + dot(q, w->rel + i * width + at, size);
        score[i] = 50 * tanh(s / 50);
        top = fmax(top, score[i]);
    }
    for (size_t i = 0; i < n; i++) {
        score[i] = exp(score[i] - top);
        total += score[i];
    }
    for (size_t c = 0; c < size; c++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            sum += score[i] * (double)w->v[(t - i) * width + at + c];
        }
        out[c] = (float)(sum / total);
    }
}

static void attend_part(void *ud, unsigned part, unsigned n_part)
{
    const work *w = ud;
    size_t size = w->a->width / w->a->n_head;
    for (size_t t = w->n * part / n_part;
         t < w->n * (part + 1) / n_part && !cf_stop_now(w->d->stop); t++) {
        for (size_t head = 0; head < w->a->n_head; head++) {
            attend(w, w->h + t * w->a->width + head * size, t, head);
        }
    }
}

static cf_status attention(work *w, const cf_conformer_layer *l, cf_error *err)
{
    size_t width = w->a->width, size = width / w->a->n_head;
    const double ln2 = 0.693147180559945309;
    const double q_scale = 1 / (sqrt((double)size) * ln2);
    const double k_scale = log(1 + exp(1)) / ln2;
    cf_dense_rms_norm(w->d, w->h, w->x, l->attn_norm, w->n, width, eps);
    CF_TRY(cf_dense_linear(w->d, w->q, w->h, w->n, &l->q, err));
    CF_TRY(cf_dense_linear(w->d, w->k, w->h, w->n, &l->k, err));
    CF_TRY(cf_dense_linear(w->d, w->v, w->h, w->n, &l->v, err));
    CF_TRY(fill_rel(w, l, err));
    for (size_t i = 0; i < w->n * width; i++) {
        double by = q_scale * (double)l->dim_scale[i % size];
        w->q[i] = (float)((double)w->q[i] * by);
        w->k[i] = (float)((double)w->k[i] * k_scale);
    }
    cf_pool_run(w->d->pool, attend_part, w);
    CF_TRY(cf_dense_linear(w->d, w->q, w->h, w->n, &l->o, err));
    cf_dense_rms_norm(w->d, w->q, w->q, l->attn_post_norm, w->n, width, eps);
    cf_dense_add(w->d, w->x, w->q, 1, w->n * width);
    return CF_OK;
}

/* A causal convolution of each channel by itself. */
static void depthwise(const work *w, float *out, const float *in, const float *taps)
{
    size_t width = w->a->width;
    for (size_t i = 0; i < w->n * width; i++) {
        size_t t = i / width, c = i % width;
        double sum = 0;
        for (size_t k = 0; k < TAPS; k++) {
            if (t + k + 1 >= TAPS) {
                sum += (double)taps[c * TAPS + k] * (double)in[(t + k + 1 - TAPS) * width + c];
            }
        }
        out[i] = (float)sum;
    }
}

static cf_status convolution(const work *w, const cf_conformer_layer *l, cf_error *err)
{
    size_t width = w->a->width;
    cf_dense_rms_norm(w->d, w->h, w->x, l->norm_conv, w->n, width, eps);
    CF_TRY(cf_dense_linear(w->d, w->mid, w->h, w->n, &l->pw1, err));
    for (size_t i = 0; i < w->n * width; i++) {
        const float *row = w->mid + i / width * 2 * width;
        w->h[i] = row[i % width] / (1 + expf(-row[width + i % width]));
    }
    depthwise(w, w->q, w->h, l->taps);
    cf_dense_rms_norm(w->d, w->q, w->q, l->conv_norm, w->n, width, eps);
    cf_dense_act(w->d, w->q, w->n * width, CF_ACT_SILU);
    CF_TRY(cf_dense_linear(w->d, w->h, w->q, w->n, &l->pw2, err));
    cf_dense_add(w->d, w->x, w->h, 1, w->n * width);
    return CF_OK;
}

static cf_status run(work *w, float *out, const cf_mel *mel, cf_error *err)
{
    const cf_audio *a = w->a;
    CF_TRY(embed(w, mel, err));
    for (uint32_t i = 0; i < a->n_layer; i++) {
        const cf_conformer_layer *l = &a->conformer[i];
        CF_TRY(feed_forward(w, &l->ffn[0], err));
        CF_TRY(attention(w, l, err));
        CF_TRY(convolution(w, l, err));
        CF_TRY(feed_forward(w, &l->ffn[1], err));
        cf_dense_rms_norm(w->d, w->x, w->x, l->out_norm, w->n, a->width, eps);
        cf_dense_step(w->d);
    }
    size_t n_mid = a->fc1.w.n_row;
    float *mid = cf_calloc(w->n * n_mid, sizeof *mid);
    if (mid == NULL) {
        return cf_oom_for(err, "a projector's activations");
    }
    cf_status st = cf_dense_linear(w->d, mid, w->x, w->n, &a->fc1, err);
    cf_dense_rms_norm(w->d, mid, mid, NULL, w->n, n_mid, eps);
    CF_THEN(st, cf_dense_linear(w->d, out, mid, w->n, &a->fc2, err));
    cf_free(mid);
    return st;
}

static cf_status encode(const cf_audio *a, const cf_dense *d, float *out, const cf_audio_block *b,
                        cf_error *err)
{
    work w = {.a = a, .d = d, .n = b->n_row};
    size_t n_x = w.n * a->width;
    size_t wide = 2 * (size_t)a->width > a->n_ff ? 2 * (size_t)a->width : a->n_ff;
    const cf_dense_part part[] = {{&w.x, n_x},
                                  {&w.h, n_x},
                                  {&w.q, n_x},
                                  {&w.k, n_x},
                                  {&w.v, n_x},
                                  {&w.mid, w.n * wide},
                                  {&w.rel, SEEN * (size_t)a->width}};
    float *all = cf_dense_parts(part, sizeof part / sizeof part[0]);
    if (all == NULL) {
        return cf_oom_for(err, "an encoder's activations");
    }
    cf_status st = run(&w, out, &b->mel, err);
    cf_free(all);
    return st;
}

/* ---- sounds ------------------------------------------------------------- */

static cf_status hear(const cf_audio *a, const cf_dense *d, cf_mel *out, const float *x, size_t n,
                      cf_error *err)
{
    (void)a;
    return cf_mel_gemma(out, d, x, n, err);
}

static uint32_t count_rows(const cf_audio *a, const cf_mel *m)
{
    (void)a;
    return (uint32_t)(((m->n_held + 1) / 2 + 1) / 2);
}

const cf_audio_encoder cf_audio_conformer = {
    .n_most = 750, .load = load, .hear = hear, .rows = count_rows, .encode = encode};
