/*
 * tiny_vision.c - writes a projector file of one layer.
 */
#include "tests/support/tiny_vision.h"

enum { WIDTH = 8, N_FF = 12, SIDE = 16, PATCH = 4 };

typedef struct shape {
    const char *name;
    uint32_t n_dim;
    uint64_t dim[4];
} shape;

static const shape tensors[] = {
    {"v.blk.0.ln1.weight", 1, {WIDTH}},
    {"v.blk.0.ln1.bias", 1, {WIDTH}},
    {"v.blk.0.ln2.weight", 1, {WIDTH}},
    {"v.blk.0.ln2.bias", 1, {WIDTH}},
    {"v.blk.0.attn_q.weight", 2, {WIDTH, WIDTH}},
    {"v.blk.0.attn_k.weight", 2, {WIDTH, WIDTH}},
    {"v.blk.0.attn_v.weight", 2, {WIDTH, WIDTH}},
    {"v.blk.0.attn_out.weight", 2, {WIDTH, WIDTH}},
    {"v.blk.0.ffn_up.weight", 2, {WIDTH, N_FF}},
    {"v.blk.0.ffn_down.weight", 2, {N_FF, WIDTH}},
    {"v.patch_embd.weight", 4, {PATCH, PATCH, 3, WIDTH}},
    {"v.position_embd.weight", 2, {WIDTH, 16}},
    {"v.post_ln.weight", 1, {WIDTH}},
    {"v.post_ln.bias", 1, {WIDTH}},
    {"mm.soft_emb_norm.weight", 1, {WIDTH}},
    {"mm.input_projection.weight", 2, {0, WIDTH}},
};

enum { N_TENSOR = sizeof tensors / sizeof tensors[0], N_KEY = 10 };

/* A dimension of 0 is the text model's width. */
static size_t count(const shape *s, uint32_t n_out)
{
    size_t n = 1;
    for (uint32_t i = 0; i < s->n_dim; i++) {
        n *= s->dim[i] != 0 ? s->dim[i] : n_out;
    }
    return n;
}

cf_tiny_buf cf_tiny_vision(const char *projector, size_t skip, uint32_t heads, uint32_t n_out)
{
    cf_tiny_buf b = {NULL, 0, 0};
    uint64_t off = 0;
    cf_tiny_head(&b, 3, N_TENSOR - (skip < N_TENSOR ? 1 : 0), N_KEY);
    cf_tiny_kv_str(&b, "general.architecture", "clip");
    cf_tiny_kv_str(&b, "clip.projector_type", projector);
    cf_tiny_kv_u32(&b, "clip.vision.embedding_length", WIDTH);
    cf_tiny_kv_u32(&b, "clip.vision.feed_forward_length", N_FF);
    cf_tiny_kv_u32(&b, "clip.vision.block_count", 1);
    cf_tiny_kv_u32(&b, "clip.vision.attention.head_count", heads);
    cf_tiny_kv_u32(&b, "clip.vision.image_size", SIDE);
    cf_tiny_kv_u32(&b, "clip.vision.patch_size", PATCH);
    cf_tiny_kv_u32(&b, "clip.vision.projection_dim", n_out);
    cf_tiny_kv_u32(&b, "clip.vision.projector.scale_factor", 2);
    for (size_t i = 0; i < N_TENSOR; i++) {
        if (i != skip) {
            shape s = tensors[i];
            s.dim[0] = s.dim[0] != 0 ? s.dim[0] : n_out;
            cf_tiny_tensor(&b, s.name, s.n_dim, s.dim, CF_F32, off);
            off += (count(&tensors[i], n_out) * 4 + 31) / 32 * 32;
        }
    }
    cf_tiny_pad(&b, 32);
    uint32_t x = 1;
    for (size_t i = 0; i < N_TENSOR; i++) {
        for (size_t j = 0; i != skip && j < count(&tensors[i], n_out); j++) {
            x = x * 1664525U + 1013904223U;
            cf_tiny_f32(&b, (float)(x >> 8) / (1 << 24) - 0.5f);
        }
        cf_tiny_pad(&b, 32);
    }
    return b;
}

const char *cf_tiny_vision_tensor(size_t i)
{
    return tensors[i].name;
}
