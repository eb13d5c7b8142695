/*
 * tiny_audio.c - keys and tensors of audio projectors, filled with noise.
 */
#include "tests/support/tiny_audio.h"

#include <string.h>

enum { WIDTH = 8, N_FF = 12, HEAD = 4, MID = 6, N_OUT = 8, CHANNELS = 2 };

typedef struct shape {
    const char *who; /* of whose files: "w" Whisper's, or a projector */
    const char *name;
    uint32_t n_dim;
    uint64_t dim[4];
} shape;

static const shape tensors[] = {
    {"w", "a.conv1d.1.weight", 3, {3, 128, WIDTH}},
    {"w", "a.conv1d.1.bias", 2, {1, WIDTH}},
    {"w", "a.conv1d.2.weight", 3, {3, WIDTH, WIDTH}},
    {"w", "a.conv1d.2.bias", 2, {1, WIDTH}},
    {"w", "a.position_embd.weight", 2, {WIDTH, 1500}},
    {"w", "a.blk.0.ln1.weight", 1, {WIDTH}},
    {"w", "a.blk.0.ln1.bias", 1, {WIDTH}},
    {"w", "a.blk.0.attn_q.weight", 2, {WIDTH, WIDTH}},
    {"w", "a.blk.0.attn_q.bias", 1, {WIDTH}},
    {"w", "a.blk.0.attn_k.weight", 2, {WIDTH, WIDTH}},
    {"w", "a.blk.0.attn_v.weight", 2, {WIDTH, WIDTH}},
    {"w", "a.blk.0.attn_out.weight", 2, {WIDTH, WIDTH}},
    {"w", "a.blk.0.ln2.weight", 1, {WIDTH}},
    {"w", "a.blk.0.ln2.bias", 1, {WIDTH}},
    {"w", "a.blk.0.ffn_up.weight", 2, {WIDTH, N_FF}},
    {"w", "a.blk.0.ffn_down.weight", 2, {N_FF, WIDTH}},
    {"w", "a.post_ln.weight", 1, {WIDTH}},
    {"w", "a.post_ln.bias", 1, {WIDTH}},
    {"ultravox", "mm.a.norm_pre.weight", 1, {8 * WIDTH}},
    {"ultravox", "mm.a.mlp.1.weight", 2, {8 * WIDTH, 2 * MID}},
    {"ultravox", "mm.a.norm_mid.weight", 1, {MID}},
    {"ultravox", "mm.a.mlp.2.weight", 2, {MID, N_OUT}},
    {"qwen2a", "mm.a.fc.weight", 2, {WIDTH, N_OUT}},
    {"qwen2a", "mm.a.fc.bias", 1, {N_OUT}},
    {"voxtral", "mm.a.mlp.1.weight", 2, {4 * WIDTH, MID}},
    {"voxtral", "mm.a.mlp.2.weight", 2, {MID, N_OUT}},
    {"gemma4a", "a.conv1d.0.weight", 4, {3, 3, 1, CHANNELS}},
    {"gemma4a", "a.conv1d.0.norm.weight", 1, {CHANNELS}},
    {"gemma4a", "a.conv1d.1.weight", 4, {3, 3, CHANNELS, CHANNELS}},
    {"gemma4a", "a.conv1d.1.norm.weight", 1, {CHANNELS}},
    {"gemma4a", "a.input_projection.weight", 2, {32 * CHANNELS, WIDTH}},
    {"gemma4a", "a.blk.0.ffn_norm.weight", 1, {WIDTH}},
    {"gemma4a", "a.blk.0.ffn_up.weight", 2, {WIDTH, N_FF}},
    {"gemma4a", "a.blk.0.ffn_up.input_min", 1, {1}},
    {"gemma4a", "a.blk.0.ffn_down.weight", 2, {N_FF, WIDTH}},
    {"gemma4a", "a.blk.0.ffn_post_norm.weight", 1, {WIDTH}},
    {"gemma4a", "a.blk.0.ffn_norm_1.weight", 1, {WIDTH}},
    {"gemma4a", "a.blk.0.ffn_up_1.weight", 2, {WIDTH, N_FF}},
    {"gemma4a", "a.blk.0.ffn_down_1.weight", 2, {N_FF, WIDTH}},
    {"gemma4a", "a.blk.0.ffn_post_norm_1.weight", 1, {WIDTH}},
    {"gemma4a", "a.blk.0.attn_pre_norm.weight", 1, {WIDTH}},
    {"gemma4a", "a.blk.0.attn_q.weight", 2, {WIDTH, WIDTH}},
    {"gemma4a", "a.blk.0.attn_k.weight", 2, {WIDTH, WIDTH}},
    {"gemma4a", "a.blk.0.attn_v.weight", 2, {WIDTH, WIDTH}},
    {"gemma4a", "a.blk.0.attn_out.weight", 2, {WIDTH, WIDTH}},
    {"gemma4a", "a.blk.0.attn_k_rel.weight", 2, {WIDTH, WIDTH}},
    {"gemma4a", "a.blk.0.per_dim_scale.weight", 1, {HEAD}},
    {"gemma4a", "a.blk.0.attn_post_norm.weight", 1, {WIDTH}},
    {"gemma4a", "a.blk.0.norm_conv.weight", 1, {WIDTH}},
    {"gemma4a", "a.blk.0.conv_pw1.weight", 2, {WIDTH, 2 * WIDTH}},
    {"gemma4a", "a.blk.0.conv_dw.weight", 2, {5, WIDTH}},
    {"gemma4a", "a.blk.0.conv_norm.weight", 1, {WIDTH}},
    {"gemma4a", "a.blk.0.conv_pw2.weight", 2, {WIDTH, WIDTH}},
    {"gemma4a", "a.blk.0.ln2.weight", 1, {WIDTH}},
    {"gemma4a", "a.pre_encode.out.weight", 2, {WIDTH, MID}},
    {"gemma4a", "a.pre_encode.out.bias", 1, {MID}},
    {"gemma4a", "mm.a.input_projection.weight", 2, {MID, N_OUT}},
};

enum { N_TENSOR = sizeof tensors / sizeof tensors[0], N_KEY = 9 };

static bool has(const shape *s, const char *projector, const char *skip)
{
    bool is_conformer = strcmp(projector, "gemma4a") == 0;
    bool is_its = strcmp(s->who, "w") == 0 ? !is_conformer : strcmp(s->who, projector) == 0;
    return is_its && (skip == NULL || strcmp(s->name, skip) != 0);
}

static size_t count(const shape *s)
{
    size_t n = 1;
    for (uint32_t i = 0; i < s->n_dim; i++) {
        n *= s->dim[i];
    }
    return n;
}

cf_tiny_buf cf_tiny_audio(const char *projector, const char *skip)
{
    cf_tiny_buf b = {NULL, 0, 0};
    uint64_t off = 0, n_tensor = 0;
    for (size_t i = 0; i < N_TENSOR; i++) {
        n_tensor += has(&tensors[i], projector, skip) ? 1 : 0;
    }
    cf_tiny_head(&b, 3, n_tensor, N_KEY);
    cf_tiny_kv_str(&b, "general.architecture", "clip");
    cf_tiny_kv_str(&b, "clip.projector_type", projector);
    cf_tiny_str(&b, "clip.has_audio_encoder");
    cf_tiny_uint(&b, 7, 4); /* a bool */
    cf_tiny_uint(&b, 1, 1);
    cf_tiny_kv_u32(&b, "clip.audio.embedding_length", WIDTH);
    cf_tiny_kv_u32(&b, "clip.audio.feed_forward_length", N_FF);
    cf_tiny_kv_u32(&b, "clip.audio.block_count", 1);
    cf_tiny_kv_u32(&b, "clip.audio.attention.head_count", WIDTH / HEAD);
    cf_tiny_kv_u32(&b, "clip.audio.num_mel_bins", 128);
    cf_tiny_kv_u32(&b, "clip.audio.projection_dim", N_OUT);
    for (size_t i = 0; i < N_TENSOR; i++) {
        if (has(&tensors[i], projector, skip)) {
            cf_tiny_tensor(&b, tensors[i].name, tensors[i].n_dim, tensors[i].dim, CF_F32, off);
            off += (count(&tensors[i]) * 4 + 31) / 32 * 32;
        }
    }
    cf_tiny_pad(&b, 32);
    uint32_t x = 1;
    for (size_t i = 0; i < N_TENSOR; i++) {
        size_t n = has(&tensors[i], projector, skip) ? count(&tensors[i]) : 0;
        for (size_t j = 0; j < n; j++) {
            x = x * 1664525U + 1013904223U;
            cf_tiny_f32(&b, (float)(x >> 8) / (1 << 24) - 0.5f);
        }
        cf_tiny_pad(&b, 32);
    }
    return b;
}
