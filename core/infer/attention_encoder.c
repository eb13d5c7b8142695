/*
 * attention_encoder.c - computes attention of all rows of a pass to each other.
 *
 *   att = softmax(scale * q . k - slope |position of q - position of k|) * v
 *
 * over the keys that are at most half a window away.  slope is 0 but with
 * ALiBi (Press, Smith and Lewis 2022), whose symmetric form this is: with L the
 * largest power of two of heads, 2^(-8 j / L) for the first L heads
 * j = 1 .. L, and 2^(-4 (2 j - 1) / L) for j = 1 .. of the others.
 */
#include <math.h>

#include "core/infer/pass.h"

static float alibi_slope(uint32_t n_head, uint32_t head)
{
    uint32_t two = 1;
    while (two <= n_head / 2) {
        two *= 2;
    }
    double power = head < two ? -8.0 * (head + 1.0) / two : -4.0 * (2.0 * (head - two) + 1) / two;
    return (float)pow(2, power);
}

/* Where the packed keys and values of a key/value head lie. */
static float *packed_at(const cf_pass *p, const cf_layer_hparams *l, uint32_t head)
{
    float *all = cf_pass__buf(p, CF_WS_PACKED);
    return all + head * p->e->k->encoder->packed_floats(p->n_row, l->head_size);
}

/* Queries of rows r .. r + n_q - 1 of one head. */
static void attend_tile(const cf_pass *p, uint32_t layer, size_t r, size_t n_q, uint32_t head,
                        unsigned char *scratch)
{
    const cf_layer_hparams *l = &p->e->hp.layer[layer];
    size_t at = (r * l->n_head + head) * l->head_size;
    size_t stride = (size_t)l->n_head * l->head_size;
    const cf_encoder_attn a = {
        .out = p->att + at,
        .q = p->q + at,
        .n_q = n_q,
        .q_stride = stride,
        .out_stride = stride,
        .packed = packed_at(p, l, head / (l->n_head / l->n_head_kv)),
        .n_key = p->n_row,
        .size = l->head_size,
        .scale = l->attn_scale,
        .at = r,
        .window = l->window,
        .slope = p->e->hp.arch->has_alibi ? alibi_slope(l->n_head, head) : 0,
        .scratch = (float *)(void *)(scratch + p->e->ws.plan.attn_off),
    };
    p->e->k->encoder->attend(&a);
}

void cf_attention_encoder(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    const cf_layer_hparams *l = &p->e->hp.layer[layer];
    size_t n_tile = (p->n_row - r0 + CF_ENCODER_QUERIES - 1) / CF_ENCODER_QUERIES;
    for (uint32_t head = i; head < l->n_head_kv && !cf_pass__stops(p); head += n) {
        size_t at = (size_t)head * l->head_size;
        p->e->k->encoder->pack(packed_at(p, l, head), p->k + at, p->v + at,
                               (size_t)l->n_head_kv * l->head_size, p->n_row, l->head_size);
    }
    cf_pass__barrier(p);
    for (size_t u = i; u < n_tile * l->n_head && !cf_pass__stops(p); u += n) {
        size_t r = r0 + u / l->n_head * CF_ENCODER_QUERIES;
        size_t n_q = p->n_row - r < CF_ENCODER_QUERIES ? p->n_row - r : CF_ENCODER_QUERIES;
        attend_tile(p, layer, r, n_q, (uint32_t)(u % l->n_head), cf_pass__thread(p, i));
    }
}
