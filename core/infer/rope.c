/*
 * rope.c - rotary position embeddings.  Angles are computed in double: at
 * position 100,000 a float's angle would be off by a hundredth.
 */
#include "core/infer/rope.h"

#include <math.h>

#include "core/base/alloc.h"

static const double two_pi = 6.283185307179586476925;

/* The (fractional) pair whose wave turns n_turns times within the original
 * context (Peng et al. 2023, section 3.2). */
static double pair_of_turns(const cf_rope_params *p, double n_turns)
{
    return (double)p->n_rot * log((double)p->n_ctx_orig / (n_turns * two_pi)) / (2 * log(p->base));
}

/* How much of pair i's frequency stays as trained: 1 for fast pairs, 0 for
 * slow ones, a ramp between. */
static double yarn_keep(const cf_rope_params *p, uint32_t i)
{
    double lo = pair_of_turns(p, p->beta_fast);
    double hi = pair_of_turns(p, p->beta_slow);
    if (!p->is_exact) {
        lo = floor(lo);
        hi = ceil(hi);
    }
    lo = fmax(lo, 0);
    hi = fmin(hi, (double)p->n_rot - 1);
    double y = ((double)i - lo) / fmax(0.001, hi - lo);
    return (1 - fmin(1, fmax(0, y))) * p->ext_factor;
}

/* The number of a position that pair i turns by. */
static uint8_t axis_of(const cf_rope_params *p, uint32_t i)
{
    const uint32_t *n = p->section;
    if (p->is_interleaved) {
        return i % 3 == 1 && i < 3 * n[1] ? 1 : i % 3 == 2 && i < 3 * n[2] ? 2 : 0;
    }
    uint32_t end = 0;
    for (uint32_t a = 0; a < CF_ROPE_AXES; a++) {
        end += n[a];
        if (i < end) {
            return (uint8_t)a;
        }
    }
    return 0;
}

cf_status cf_rope_init(cf_rope *out, const cf_rope_params *p, const float *factors, cf_error *err)
{
    uint32_t n = p->n_rot / 2;
    double *freq = cf_calloc(n + 1, sizeof *freq);
    uint8_t *axis = cf_calloc(n + 1, sizeof *axis);
    if (freq == NULL || axis == NULL) {
        cf_free(freq);
        cf_free(axis);
        return cf_oom_for(err, "rotary angles");
    }
    for (uint32_t i = 0; i < n; i++) {
        axis[i] = axis_of(p, i);
        double f = pow(p->base, -2.0 * (double)i / (double)p->n_rot);
        if (factors != NULL) {
            f /= (double)factors[i];
        }
        if (p->scaling == CF_ROPE_LINEAR) {
            f /= p->factor;
        } else if (p->scaling == CF_ROPE_YARN) {
            double keep = yarn_keep(p, i);
            f = f / p->factor * (1 - keep) + f * keep;
        }
        freq[i] = f;
    }
    double scale = p->attn_factor;
    if (p->scaling == CF_ROPE_YARN && p->ext_factor != 0) {
        scale *= p->magnitude > 0 ? p->magnitude : 1 + 0.1 * log(p->factor);
    }
    *out = (cf_rope){p->n_rot, freq, axis, scale};
    return CF_OK;
}

void cf_rope_deinit(cf_rope *rope)
{
    cf_free(rope->freq);
    cf_free(rope->axis);
    *rope = (cf_rope){0};
}

void cf_rope_angles(float *out, const cf_rope *rope, const uint32_t *at)
{
    for (uint32_t i = 0; i < rope->n_rot / 2; i++) {
        double a = (double)at[rope->axis[i]] * rope->freq[i];
        *out++ = (float)(cos(a) * rope->scale);
        *out++ = (float)(sin(a) * rope->scale);
    }
}

void cf_rope_apply(float *head, const float *angles, uint32_t n_rot, cf_rope_style style)
{
    size_t n = n_rot / 2;
    size_t step = style == CF_ROPE_NEOX ? 1 : 2;  /* from pair to pair */
    size_t other = style == CF_ROPE_NEOX ? n : 1; /* within a pair */
    for (size_t i = 0; i < n; i++) {
        float *a = head + i * step;
        float *b = a + other;
        float c = angles[2 * i];
        float s = angles[2 * i + 1];
        float a0 = *a;
        *a = a0 * c - *b * s;
        *b = a0 * s + *b * c;
    }
}
