/*
 * whisper.c - Whisper's encoder, and the projectors that read it.
 *
 *   x = gelu(conv2(gelu(conv1(mel)))) + positions;  for each layer:
 *   x += out(attention(norm x));  x += down(gelu(up(norm x)))
 *
 * Sources: Radford et al. 2022 (Whisper); the projectors after the model code
 * of Ultravox, Qwen2-Audio and Voxtral.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/media/audio.h"

/* Taps of a convolution. */
enum { TAPS = 3 };

/* ---- the file ----------------------------------------------------------- */

static cf_status load_norm(cf_mmproj *m, cf_audio_norm *to, const char *name, size_t n,
                           cf_error *err)
{
    char full[64];
    snprintf(full, sizeof full, "%s.weight", name);
    CF_TRY(cf_mmproj_vec(m, &to->w, full, n, err));
    snprintf(full, sizeof full, "%s.bias", name);
    return cf_mmproj_opt_vec(m, &to->b, full, n, err);
}

static cf_status load_layer(cf_audio *a, cf_mmproj *m, uint32_t i, cf_error *err)
{
    cf_whisper_layer *l = &a->layer[i];
    const struct {
        const char *name;
        cf_linear *to;
        uint32_t n_row, n_col;
    } part[] = {{"attn_q", &l->q, a->width, a->width}, {"attn_k", &l->k, a->width, a->width},
                {"attn_v", &l->v, a->width, a->width}, {"attn_out", &l->o, a->width, a->width},
                {"ffn_up", &l->up, a->n_ff, a->width}, {"ffn_down", &l->down, a->width, a->n_ff}};
    char name[64];
    for (size_t j = 0; j < sizeof part / sizeof part[0]; j++) {
        snprintf(name, sizeof name, "a.blk.%u.%s", (unsigned)i, part[j].name);
        CF_TRY(cf_mmproj_linear(m, part[j].to, name, part[j].n_row, part[j].n_col, err));
    }
    snprintf(name, sizeof name, "a.blk.%u.ln1", (unsigned)i);
    CF_TRY(load_norm(m, &l->ln1, name, a->width, err));
    snprintf(name, sizeof name, "a.blk.%u.ln2", (unsigned)i);
    return load_norm(m, &l->ln2, name, a->width, err);
}

static cf_status load_projector(cf_audio *a, cf_mmproj *m, cf_error *err)
{
    const cf_audio_family *f = a->family;
    uint32_t joined = a->width * a->n_joined;
    if (f->is_mean_of_two) {
        return cf_mmproj_linear(m, &a->fc1, "mm.a.fc", a->n_out, a->width, err);
    }
    CF_TRY(cf_mmproj_linear(m, &a->fc1, "mm.a.mlp.1", 0, joined, err));
    uint32_t mid = a->fc1.w.n_row;
    if (!f->is_exact_gelu) { /* a gate */
        if (mid % 2 != 0) {
            return cf_fail(err, CF_EFORMAT,
                           "tensor mm.a.mlp.1.weight has an odd number of "
                           "rows");
        }
        mid /= 2;
        CF_TRY(cf_mmproj_vec(m, &a->norm_pre, "mm.a.norm_pre.weight", joined, err));
        CF_TRY(cf_mmproj_vec(m, &a->norm_mid, "mm.a.norm_mid.weight", mid, err));
    }
    return cf_mmproj_linear(m, &a->fc2, "mm.a.mlp.2", a->n_out, mid, err);
}

static cf_status load(cf_audio *a, cf_mmproj *m, cf_error *err)
{
    a->layer = cf_arena_calloc(&m->arena, a->n_layer, sizeof *a->layer);
    if (a->layer == NULL) {
        return cf_oom_for(err, "a projector");
    }
    for (uint32_t i = 0; i < a->n_layer; i++) {
        CF_TRY(load_layer(a, m, i, err));
    }
    CF_TRY(cf_mmproj_linear(m, &a->conv1, "a.conv1d.1", a->width, TAPS * CF_MEL_BANDS, err));
    CF_TRY(cf_mmproj_linear(m, &a->conv2, "a.conv1d.2", a->width, TAPS * a->width, err));
    CF_TRY(cf_mmproj_vec(m, &a->pos, "a.position_embd.weight",
                         (size_t)CF_AUDIO_BLOCK / 2 * a->width, err));
    CF_TRY(load_norm(m, &a->post_ln, "a.post_ln", a->width, err));
    return load_projector(a, m, err);
}

/* ---- layers ------------------------------------------------------------- */

typedef struct work {
    const cf_audio *a;
    const cf_dense *d;
    size_t n, n_key;            /* rows, and those that are keys */
    float *x, *h, *q, *k, *val; /* [n, width] */
    float *mid;                 /* [n, n_ff] */
} work;

/* gelu(convolution) of in, n_in places with step_place floats between them and
 * channels step_channel apart: a place of `out` reads three, `stride` apart. */
static cf_status convolve(const work *w, float *out, size_t n_out, const cf_linear *l,
                          const float *in, size_t n_in, size_t step_place, size_t step_channel,
                          size_t stride, cf_error *err)
{
    size_t n_col = l->w.n_col;
    float *seen = cf_calloc(n_out * n_col + 1, sizeof *seen);
    if (seen == NULL) {
        return cf_oom_for(err, "an encoder's activations");
    }
    for (size_t t = 0; t < n_out; t++) {
        float *to = seen + t * n_col;
        for (size_t j = 0; j < n_col; j++) {
            size_t at = t * stride + j % TAPS; /* the tap before the position */
            if (at > 0 && at <= n_in) {
                to[j] = in[(at - 1) * step_place + j / TAPS * step_channel];
            }
        }
    }
    cf_status st = cf_dense_linear(w->d, out, seen, n_out, l, err);
    cf_dense_act(w->d, out, n_out * l->w.n_row, CF_ACT_GELU_ERF);
    cf_free(seen);
    return st;
}

static cf_status embed(const work *w, const cf_mel *mel, cf_error *err)
{
    const cf_audio *a = w->a;
    float *first = cf_calloc(mel->n * a->width, sizeof *first);
    if (first == NULL) {
        return cf_oom_for(err, "an encoder's activations");
    }
    cf_status st = convolve(w, first, mel->n, &a->conv1, mel->v, mel->n, 1, mel->n, 1, err);
    CF_THEN(st, convolve(w, w->x, w->n, &a->conv2, first, mel->n, a->width, 1, 2, err));
    cf_dense_add(w->d, w->x, a->pos, 1, w->n * a->width);
    cf_free(first);
    return st;
}

static cf_status one_layer(const work *w, const cf_whisper_layer *l, cf_error *err)
{
    const cf_audio *a = w->a;
    uint32_t size = a->width / a->n_head;
    float scale = (float)(1 / sqrt((double)size));
    cf_dense_layer_norm(w->d, w->h, w->x, l->ln1.w, l->ln1.b, w->n, a->width, a->eps);
    CF_TRY(cf_dense_linear(w->d, w->q, w->h, w->n, &l->q, err));
    CF_TRY(cf_dense_linear(w->d, w->k, w->h, w->n, &l->k, err));
    CF_TRY(cf_dense_linear(w->d, w->val, w->h, w->n, &l->v, err));
    CF_TRY(cf_dense_attend(w->d, w->h, w->q, w->k, w->val, w->n, w->n_key, a->n_head, size, scale,
                           err));
    CF_TRY(cf_dense_linear(w->d, w->q, w->h, w->n, &l->o, err));
    cf_dense_add(w->d, w->x, w->q, 1, w->n * a->width);
    cf_dense_layer_norm(w->d, w->h, w->x, l->ln2.w, l->ln2.b, w->n, a->width, a->eps);
    CF_TRY(cf_dense_linear(w->d, w->mid, w->h, w->n, &l->up, err));
    cf_dense_act(w->d, w->mid, w->n * a->n_ff, CF_ACT_GELU_ERF);
    CF_TRY(cf_dense_linear(w->d, w->q, w->mid, w->n, &l->down, err));
    cf_dense_add(w->d, w->x, w->q, 1, w->n * a->width);
    return CF_OK;
}

/* ---- projectors --------------------------------------------------------- */

static void mean_of_two(const work *w)
{
    size_t width = w->a->width;
    for (size_t i = 0; i < w->n / 2 * width; i++) {
        size_t from = i / width * 2 * width + i % width;
        w->x[i] = 0.5f * (w->x[from] + w->x[from + width]);
    }
}

/* fc2 act(fc1 x) of n rows. */
static cf_status two_matrices(const work *w, float *out, float *x, size_t n, cf_error *err)
{
    const cf_audio *a = w->a;
    size_t n_mid = a->fc1.w.n_row, half = n_mid / 2;
    float *mid = cf_calloc(n * n_mid, sizeof *mid);
    if (mid == NULL) {
        return cf_oom_for(err, "a projector's activations");
    }
    cf_status st = cf_dense_linear(w->d, mid, x, n, &a->fc1, err);
    if (a->family->is_exact_gelu) {
        cf_dense_act(w->d, mid, n * n_mid, CF_ACT_GELU_ERF);
    } else {
        for (size_t i = 0; i < n * half; i++) {
            const float *row = mid + i / half * n_mid;
            float up = row[i % half], gate = row[half + i % half];
            mid[i] = up * gate / (1 + expf(-gate));
        }
        cf_dense_rms_norm(w->d, mid, mid, a->norm_mid, n, half, 1e-6f);
    }
    CF_THEN(st, cf_dense_linear(w->d, out, mid, n, &a->fc2, err));
    cf_free(mid);
    return st;
}

static cf_status project(const work *w, float *out, size_t n_row, cf_error *err)
{
    const cf_audio *a = w->a;
    size_t n = w->n, joined = (size_t)a->width * a->n_joined;
    if (a->family->is_mean_of_two) {
        mean_of_two(w);
        n /= 2;
    }
    cf_dense_layer_norm(w->d, w->x, w->x, a->post_ln.w, a->post_ln.b, n, a->width, a->eps);
    if (a->family->is_mean_of_two) {
        return cf_dense_linear(w->d, out, w->x, n_row, &a->fc1, err);
    }
    float *rows = cf_calloc(n_row * joined, sizeof *rows); /* zeros at the end */
    if (rows == NULL) {
        return cf_oom_for(err, "a projector's activations");
    }
    size_t have = n * a->width;
    memcpy(rows, w->x, (have < n_row * joined ? have : n_row * joined) * sizeof *rows);
    if (a->norm_pre != NULL) {
        cf_dense_rms_norm(w->d, rows, rows, a->norm_pre, n_row, joined, 1e-6f);
    }
    cf_status st = two_matrices(w, out, rows, n_row, err);
    cf_free(rows);
    return st;
}

static cf_status run(const work *w, float *out, const cf_audio_block *b, cf_error *err)
{
    CF_TRY(embed(w, &b->mel, err));
    for (uint32_t i = 0; i < w->a->n_layer; i++) {
        CF_TRY(one_layer(w, &w->a->layer[i], err));
        cf_dense_step(w->d);
    }
    return project(w, out, b->n_row, err);
}

static cf_status encode(const cf_audio *a, const cf_dense *d, float *out, const cf_audio_block *b,
                        cf_error *err)
{
    work w = {.a = a, .d = d, .n = (b->mel.n + 1) / 2};
    w.n_key = a->family->is_masked ? (b->mel.n_held + 1) / 2 : w.n;
    size_t n_x = w.n * a->width;
    const cf_dense_part part[] = {{&w.x, n_x}, {&w.h, n_x},   {&w.q, n_x},
                                  {&w.k, n_x}, {&w.val, n_x}, {&w.mid, w.n * a->n_ff}};
    float *all = cf_dense_parts(part, sizeof part / sizeof part[0]);
    if (all == NULL) {
        return cf_oom_for(err, "an encoder's activations");
    }
    cf_status st = run(&w, out, b, err);
    cf_free(all);
    return st;
}

/* ---- sounds ------------------------------------------------------------- */

/* The length including the silence that fills the last block, or the last frame (at least
 * two). */
static size_t filled(const cf_audio_family *f, size_t n)
{
    size_t unit = f->is_filled ? (size_t)CF_AUDIO_BLOCK * CF_MEL_STEP : CF_MEL_STEP;
    size_t total = (n + unit - 1) / unit * unit;
    return total < 2 * CF_MEL_STEP ? 2 * CF_MEL_STEP : total;
}

static cf_status hear(const cf_audio *a, const cf_dense *d, cf_mel *out, const float *x, size_t n,
                      cf_error *err)
{
    return cf_mel_whisper(out, d, x, n, filled(a->family, n), err);
}

/* The number of rows, without those of silence if silence is masked. */
static uint32_t count_rows(const cf_audio *a, const cf_mel *m)
{
    const cf_audio_family *f = a->family;
    size_t heard = f->is_masked ? m->n_held : m->n;
    if (f->is_mean_of_two) {
        return (uint32_t)(((heard - 1) / 2 + 1) / 2);
    }
    return (uint32_t)((heard + 2 * a->n_joined - 1) / (2 * a->n_joined));
}

const cf_audio_encoder cf_audio_whisper = {
    .n_most = 1500, .load = load, .hear = hear, .rows = count_rows, .encode = encode};
