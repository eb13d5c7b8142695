/*
 * test_kv_cache.c - pages: who holds them, who may write, when they go.
 */
#include <math.h>

#include "core/infer/kv_cache.h"
#include "core/infer/rope.h"
#include "tests/support/fault.h"
#include "tests/support/t.h"

/* Two layers of different shapes. */
static cf_layer_hparams layers[2] = {
    {.n_head = 4, .n_head_kv = 2, .head_size = 8, .head_size_v = 4},
    {.n_head = 3, .n_head_kv = 3, .head_size = 2, .head_size_v = 2, .kv_layer = 1},
};
static const cf_hparams hp = {.n_layer = 2, .layer = layers};

static void set(cf_kv *kv, uint32_t page, unsigned char v)
{
    memset(cf_kv_keys(kv, page, 0, 0), v, kv->layout->page_bytes);
}

static unsigned char get(const cf_kv *kv, uint32_t page)
{
    return *(unsigned char *)cf_kv_keys(kv, page, 0, 0);
}

static void test_kv_cache__layout(void **state)
{
    cf_kv_layout l;
    cf_kv kv;
    cf_error err;
    (void)state;
    T_OK(cf_kv_layout_init(&l, &hp, CF_F16, &err), err);
    assert_int_equal(l.page_bytes, 2 * 32 * (2 * 8 + 2 * 4 + 3 * 2 + 3 * 2));
    T_OK(cf_kv_init(&kv, &l, 64, &err), err);
    T_OK(cf_kv_reserve(&kv, 0, 33, &err), err);
    unsigned char *base = cf_kv_keys(&kv, 1, 0, 0);
    assert_int_equal((uintptr_t)base % 64, 0);
    assert_ptr_equal(cf_kv_keys(&kv, 1, 0, 1), base + 2 * 32 * 8);
    assert_ptr_equal(cf_kv_values(&kv, 1, 0, 0), base + 2 * 32 * 16);
    assert_ptr_equal(cf_kv_keys(&kv, 1, 1, 2), base + 2 * 32 * (16 + 8) + 2 * 32 * 4);
    cf_kv_deinit(&kv);
    cf_kv_layout_deinit(&l);
}

/* Groups of 32 numbers with their scales, the last one filled up; and latents,
 * whose values are in the keys. */
static void test_kv_cache__types(void **state)
{
    cf_layer_hparams one = {.n_head = 4, .n_head_kv = 1, .head_size = 72, .head_size_v = 64};
    cf_hparams latent = {.n_layer = 1, .layer = &one, .latent = {.n = 64, .n_rot = 8}};
    static const struct {
        cf_dtype type;
        size_t plain, latent; /* bytes of a position */
    } t[] = {{CF_F32, 4 * (72 + 64), 4 * 72},
             {CF_F16, 2 * (72 + 64), 2 * 72},
             {CF_Q8_0, 34 * (3 + 2), 34 * 3},
             {CF_Q4_0, 18 * (3 + 2), 18 * 3}};
    cf_error err;
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        cf_hparams plain = latent;
        plain.latent.n = 0;
        cf_kv_layout l, m;
        T_OK(cf_kv_layout_init(&l, &plain, t[i].type, &err), err);
        T_OK(cf_kv_layout_init(&m, &latent, t[i].type, &err), err);
        assert_int_equal(l.page_bytes, t[i].plain * 32);
        assert_int_equal(l.n_number, 72 + 64);
        assert_int_equal(m.page_bytes, t[i].latent * 32);
        assert_int_equal(m.n_number, 72);
        cf_kv_layout_deinit(&l);
        cf_kv_layout_deinit(&m);
    }
}

/* A layer that reads another's keys takes no room and finds them there. */
static void test_kv_cache__shared_layers(void **state)
{
    cf_layer_hparams three[3] = {layers[0], layers[1], layers[0]};
    const cf_hparams shared = {.n_layer = 3, .layer = three};
    cf_kv_layout l;
    cf_kv kv;
    cf_error err;
    (void)state;
    T_OK(cf_kv_layout_init(&l, &shared, CF_F16, &err), err);
    assert_int_equal(l.page_bytes, 2 * 32 * (2 * 8 + 2 * 4 + 3 * 2 + 3 * 2));
    T_OK(cf_kv_init(&kv, &l, 32, &err), err);
    T_OK(cf_kv_reserve(&kv, 0, 1, &err), err);
    assert_ptr_equal(cf_kv_keys(&kv, 0, 2, 1), cf_kv_keys(&kv, 0, 0, 1));
    assert_ptr_equal(cf_kv_values(&kv, 0, 2, 1), cf_kv_values(&kv, 0, 0, 1));
    cf_kv_deinit(&kv);
    cf_kv_layout_deinit(&l);
}

static void test_kv_cache__fork_and_write(void **state)
{
    cf_kv_layout l;
    cf_kv a;
    cf_kv b;
    cf_error err;
    uint64_t bytes = 0;
    uint64_t shared = 0;
    (void)state;
    size_t live = cf_fault_live();
    T_OK(cf_kv_layout_init(&l, &hp, CF_F32, &err), err);
    T_OK(cf_kv_init(&a, &l, 100, &err), err);
    T_OK(cf_kv_reserve(&a, 0, 70, &err), err);
    assert_int_equal(a.n, 3);
    set(&a, 0, 1);
    set(&a, 1, 2);
    set(&a, 2, 3);
    size_t before = cf_fault_total();
    T_OK(cf_kv_fork(&b, &a, &err), err);
    assert_int_equal(cf_fault_total() - before, 1); /* the list, no page */
    cf_kv_memory(&b, &bytes, &shared);
    assert_int_equal(bytes, 3 * l.page_bytes);
    assert_int_equal(shared, bytes);
    /* b writes position 70: page 2 becomes its own, with what was there. */
    T_OK(cf_kv_reserve(&b, 70, 71, &err), err);
    assert_int_equal(get(&b, 2), 3);
    set(&b, 2, 9);
    assert_int_equal(get(&a, 2), 3);
    assert_ptr_equal(cf_kv_keys(&a, 1, 0, 0), cf_kv_keys(&b, 1, 0, 0));
    cf_kv_memory(&a, &bytes, &shared);
    assert_int_equal(shared, 2 * l.page_bytes);
    /* a is alone with its page 2: no copy. */
    const void *was = cf_kv_keys(&a, 2, 0, 0);
    T_OK(cf_kv_reserve(&a, 70, 71, &err), err);
    assert_ptr_equal(cf_kv_keys(&a, 2, 0, 0), was);
    cf_kv_deinit(&a);
    assert_int_equal(get(&b, 0), 1);
    cf_kv_truncate(&b, 32);
    assert_int_equal(b.n, 1);
    cf_kv_truncate(&b, 33); /* never grows */
    assert_int_equal(b.n, 1);
    cf_kv_deinit(&b);
    cf_kv_layout_deinit(&l);
    assert_int_equal(cf_fault_live(), live);
}

/* Pages of 512 KiB come several at a time.  What one list drops, another still has;
 * a block goes with the last of its pages. */
static void test_kv_cache__slabs(void **state)
{
    static cf_layer_hparams wide = {
        .n_head = 32, .n_head_kv = 32, .head_size = 64, .head_size_v = 64};
    static const cf_hparams one = {.n_layer = 1, .layer = &wide};
    enum { PAGES = 20 };
    cf_kv_layout l;
    cf_kv a, b;
    cf_error err;
    (void)state;
    size_t live = cf_fault_live();
    T_OK(cf_kv_layout_init(&l, &one, CF_F32, &err), err);
    assert_int_equal(l.page_bytes, 512 << 10);
    T_OK(cf_kv_init(&a, &l, PAGES * CF_KV_BLOCK, &err), err);
    size_t before = cf_fault_total();
    T_OK(cf_kv_reserve(&a, 0, (PAGES - 1) * CF_KV_BLOCK, &err), err);
    assert_in_range(cf_fault_total() - before, 1, PAGES / 2);
    for (uint32_t i = 0; i < PAGES - 1; i++) {
        set(&a, i, (unsigned char)(i + 1));
        assert_int_equal((uintptr_t)cf_kv_keys(&a, i, 0, 0) % 64, 0);
    }
    T_OK(cf_kv_fork(&b, &a, &err), err);
    T_OK(cf_kv_reserve(&b, 3 * CF_KV_BLOCK, 5 * CF_KV_BLOCK, &err), err);
    set(&b, 3, 200);
    set(&b, 4, 201);
    cf_kv_truncate(&a, 7 * CF_KV_BLOCK);
    T_OK(cf_kv_reserve(&a, 7 * CF_KV_BLOCK, PAGES * CF_KV_BLOCK, &err), err);
    for (uint32_t i = 7; i < PAGES; i++) {
        set(&a, i, 255);
    }
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(get(&a, i), i + 1);
    }
    size_t with_a = cf_fault_live();
    cf_kv_deinit(&a);
    assert_true(cf_fault_live() <= with_a - 2); /* the list, and a block that only a had */
    for (uint32_t i = 0; i < PAGES - 1; i++) {
        assert_int_equal(get(&b, i), i == 3 ? 200 : i == 4 ? 201 : i + 1);
    }
    cf_kv_deinit(&b);
    cf_kv_layout_deinit(&l);
    assert_int_equal(cf_fault_live(), live);
}

/* ---- rope --------------------------------------------------------------- */

static void test_rope__styles(void **state)
{
    cf_rope rope;
    cf_error err;
    float angles[4];
    (void)state;
    cf_rope_params p = {.n_rot = 4, .base = 100, .factor = 1, .attn_factor = 1};
    T_OK(cf_rope_init(&rope, &p, NULL, &err), err);
    cf_rope_angles(angles, &rope, (const uint32_t[]){3, 3, 3, 3});
    /* Pair 0 turns by 3 radians, pair 1 by 3 * 100^(-1/2) = 0.3. */
    float want[4] = {cosf(3), sinf(3), cosf(0.3f), sinf(0.3f)};
    for (size_t i = 0; i < 4; i++) {
        assert_true(fabsf(angles[i] - want[i]) < 1e-6f);
    }
    float normal[5] = {1, 0, 0, 1, 7};
    float neox[5] = {1, 0, 0, 1, 7};
    cf_rope_apply(normal, angles, 4, CF_ROPE_NORMAL);
    cf_rope_apply(neox, angles, 4, CF_ROPE_NEOX);
    float want_normal[5] = {want[0], want[1], -want[3], want[2], 7};
    float want_neox[5] = {want[0], -want[3], want[1], want[2], 7};
    for (size_t i = 0; i < 5; i++) {
        assert_true(fabsf(normal[i] - want_normal[i]) < 1e-6f);
        assert_true(fabsf(neox[i] - want_neox[i]) < 1e-6f);
    }
    cf_rope_deinit(&rope);
}

static void test_rope__scalings(void **state)
{
    cf_rope rope;
    cf_error err;
    (void)state;
    cf_rope_params p = {.n_rot = 64,
                        .base = 10000,
                        .scaling = CF_ROPE_LINEAR,
                        .factor = 4,
                        .attn_factor = 1,
                        .ext_factor = 1,
                        .beta_fast = 32,
                        .beta_slow = 1,
                        .n_ctx_orig = 4096};
    T_OK(cf_rope_init(&rope, &p, NULL, &err), err);
    assert_true(rope.freq[0] == 0.25);
    assert_true(rope.scale == 1.0);
    cf_rope_deinit(&rope);
    /* YaRN: fast pairs as trained, slow ones divided, and a longer sine. */
    p.scaling = CF_ROPE_YARN;
    T_OK(cf_rope_init(&rope, &p, NULL, &err), err);
    assert_true(rope.freq[0] == 1.0);
    double slow = pow(10000, -62.0 / 64) / 4;
    assert_true(fabs(rope.freq[31] / slow - 1) < 1e-12);
    for (uint32_t i = 0; i < 32; i++) {
        double plain = pow(10000, -2.0 * (double)i / 64);
        assert_true(rope.freq[i] <= plain * (1 + 1e-12));
        assert_true(rope.freq[i] >= plain / 4 * (1 - 1e-12));
    }
    assert_true(fabs(rope.scale - (1 + 0.1 * log(4))) < 1e-12);
    cf_rope_deinit(&rope);
    /* The ends of the ramp are rounded to whole pairs, unless told not to. */
    p.is_exact = true;
    cf_rope exact;
    T_OK(cf_rope_init(&rope, &p, NULL, &err), err);
    p.is_exact = false;
    p.magnitude = 1;
    T_OK(cf_rope_init(&exact, &p, NULL, &err), err);
    assert_true(rope.freq[20] != exact.freq[20]);
    assert_true(exact.scale == 1.0);
    cf_rope_deinit(&rope);
    cf_rope_deinit(&exact);
    /* Factors divide, and a length given by the file multiplies. */
    float factors[32];
    for (size_t i = 0; i < 32; i++) {
        factors[i] = 2;
    }
    p.scaling = CF_ROPE_LONGROPE;
    p.attn_factor = 1.5;
    T_OK(cf_rope_init(&rope, &p, factors, &err), err);
    assert_true(rope.freq[0] == 0.5);
    assert_true(rope.scale == 1.5);
    cf_rope_deinit(&rope);
}

/* M-RoPE: which number of a position turns which pair. */
static void test_rope__axes(void **state)
{
    cf_rope rope;
    cf_error err;
    (void)state;
    cf_rope_params p = {
        .n_rot = 16, .base = 100, .factor = 1, .attn_factor = 1, .section = {3, 3, 2, 0}};
    T_OK(cf_rope_init(&rope, &p, NULL, &err), err);
    assert_memory_equal(rope.axis, "\0\0\0\1\1\1\2\2", 8);
    cf_rope_deinit(&rope);
    p.is_interleaved = true;
    T_OK(cf_rope_init(&rope, &p, NULL, &err), err);
    assert_memory_equal(rope.axis, "\0\1\2\0\1\2\0\1", 8);
    float one[16];
    float other[16];
    cf_rope_angles(one, &rope, (const uint32_t[]){5, 7, 9, 0});
    cf_rope_angles(other, &rope, (const uint32_t[]){5, 5, 5, 5});
    assert_true(one[0] == other[0] && one[6] == other[6]);
    assert_true(one[2] != other[2] && one[4] != other[4]);
    cf_rope_deinit(&rope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kv_cache__layout),
        cmocka_unit_test(test_kv_cache__types),
        cmocka_unit_test(test_kv_cache__shared_layers),
        cmocka_unit_test(test_kv_cache__fork_and_write),
        cmocka_unit_test(test_kv_cache__slabs),
        cmocka_unit_test(test_rope__styles),
        cmocka_unit_test(test_rope__scalings),
        cmocka_unit_test(test_rope__axes),
    };
    cf_fault_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
