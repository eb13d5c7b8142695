/*
 * test_vision.c - a projector file made here: what is refused, and that rows
 * depend neither on the number of threads nor on what came before.
 */
#include "core/base/alloc.h"
#include "core/media/vision.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

enum { WIDTH = 8, N_FF = 12, SIDE = 16, PATCH = 4, N_OUT = 8 };

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
    {"mm.input_projection.weight", 2, {N_OUT, WIDTH}},
};

enum { N_TENSOR = sizeof tensors / sizeof tensors[0], N_KEY = 10 };

static size_t count(const shape *s)
{
    size_t n = 1;
    for (uint32_t i = 0; i < s->n_dim; i++) {
        n *= s->dim[i];
    }
    return n;
}

/* Tensor `skip` is left out (N_TENSOR: none); `head` heads. */
static cf_tiny_buf file(const char *projector, size_t skip, uint32_t heads)
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
    cf_tiny_kv_u32(&b, "clip.vision.projection_dim", N_OUT);
    cf_tiny_kv_u32(&b, "clip.vision.projector.scale_factor", 2);
    for (size_t i = 0; i < N_TENSOR; i++) {
        if (i != skip) {
            cf_tiny_tensor(&b, tensors[i].name, tensors[i].n_dim,
                           tensors[i].dim, CF_F32, off);
            off += (count(&tensors[i]) * 4 + 31) / 32 * 32;
        }
    }
    cf_tiny_pad(&b, 32);
    uint32_t x = 1;
    for (size_t i = 0; i < N_TENSOR; i++) {
        for (size_t j = 0; i != skip && j < count(&tensors[i]); j++) {
            x = x * 1664525U + 1013904223U;
            cf_tiny_f32(&b, (float)(x >> 8) / (1 << 24) - 0.5f);
        }
        cf_tiny_pad(&b, 32);
    }
    return b;
}

static cf_status load(const cf_tiny_buf *b, cf_mmproj *m, cf_vision *v,
                      void **copy, cf_error *err)
{
    *copy = cf_alloc_aligned(64, b->n + 64);
    memcpy(*copy, b->p, b->n);
    CF_TRY(cf_mmproj_open_memory(m, *copy, b->n, err));
    cf_status st = cf_vision_init(v, m, err);
    if (st != CF_OK) {
        cf_mmproj_close(m);
    }
    return st;
}

static void expect_refused(const cf_tiny_buf *b, cf_status status)
{
    cf_mmproj m;
    cf_vision v;
    cf_error err;
    void *copy;
    T_FAILS(load(b, &m, &v, &copy, &err), status);
    assert_true(err.text[0] != '\0');
    cf_free_aligned(copy);
}

static void test_vision__refused(void **state)
{
    (void)state;
    for (size_t skip = 0; skip < N_TENSOR; skip++) {
        cf_tiny_buf b = file("gemma3", skip, 2);
        if (strstr(tensors[skip].name, ".bias") == NULL) {
            expect_refused(&b, CF_EFORMAT);
        }
        cf_tiny_free(b.p);
    }
    cf_tiny_buf odd = file("gemma3", N_TENSOR, 3);
    expect_refused(&odd, CF_EFORMAT);
    cf_tiny_free(odd.p);
    cf_tiny_buf unknown = file("nobody", N_TENSOR, 2);
    expect_refused(&unknown, CF_EUNSUPPORTED);
    cf_tiny_free(unknown.p);
}

static void encode(const cf_vision *v, unsigned n_thread, float *rows)
{
    cf_error err;
    cf_pixels p;
    cf_vision_blocks blocks = {.v = NULL};
    cf_dense d = {.k = cf_kernels_pick(NULL), .cancel = NULL};
    T_OK(cf_pixels_init(&p, 31, 11, &err), err);
    for (uint32_t i = 0; i < 31 * 11 * 3; i++) {
        p.rgb[i] = (unsigned char)(i * 7);
    }
    T_OK(cf_pool_new(&d.pool, n_thread, &err), err);
    T_OK(cf_vision_cut(v, &p, &blocks, &err), err);
    assert_int_equal(blocks.n, 1);
    assert_int_equal(blocks.v[0].cols * blocks.v[0].rows, 4);
    T_OK(cf_vision_encode(v, &d, rows, &blocks.v[0], &err), err);
    cf_vision_blocks_deinit(&blocks);
    cf_pixels_deinit(&p);
    cf_pool_free(d.pool);
}

static void test_vision__same_rows(void **state)
{
    (void)state;
    cf_tiny_buf b = file("gemma3", N_TENSOR, 2);
    cf_mmproj m;
    cf_vision v;
    cf_error err;
    void *copy;
    T_OK(load(&b, &m, &v, &copy, &err), err);
    float one[4 * N_OUT], again[4 * N_OUT];
    encode(&v, 1, one);
    for (unsigned n = 1; n <= 3; n++) {
        encode(&v, n, again);
        assert_memory_equal(one, again, sizeof one);
    }
    cf_mmproj_close(&m);
    cf_free_aligned(copy);
    cf_tiny_free(b.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vision__refused),
        cmocka_unit_test(test_vision__same_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
