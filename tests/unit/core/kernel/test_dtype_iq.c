/*
 * test_dtype_iq.c - weights from codebooks and ternary weights: known answers.
 *
 * The hashes (FNV-1a of 2,048 floats) and the values beside them were taken
 * from ggml's own functions for the same bytes (from ik_llama.cpp's for IQ2_K to
 * IQ6_K, with its list of whole numbers for IQ6_K), with a scale of 0.5 in each
 * block, so that every product is exact.
 */
#include <math.h>

#include "core/kernel/dtype.h"
#include "core/kernel/recode.h"
#include "tests/support/t.h"

enum { N_BLOCK = 8, N = N_BLOCK * 256, BYTES_MAX = 212 };

typedef struct answer {
    cf_dtype type;
    uint64_t hash;
    float at[4]; /* weights 0, 77, 600, 2047 */
} answer;

static const answer answers[] = {
    {CF_IQ1_S, 0xdce966b8744414ebU, {-0.9375f, -4.8125f, 8.4375f, -0.4375f}},
    {CF_IQ1_M, 0xafd8ceee819b9b75U, {6.1875f, -3.9375f, 2.8125f, 8.4375f}},
    {CF_IQ2_XXS, 0xb45a07434b5a1b7dU, {12.5f, -20.3125f, 17.1875f, -39.0625f}},
    {CF_IQ2_XS, 0xf6c94e21244a5009U, {-35.9375f, 61.8125f, 2.5f, -13.5f}},
    {CF_IQ2_S, 0x844629740f6d3a2bU, {9.5f, -14.0625f, 45.3125f, -13.5f}},
    {CF_IQ3_XXS, 0x287e805b6dfb8bdfU, {-27.5f, -40.5f, 17.5f, -62.5f}},
    {CF_IQ3_S, 0xee467f991abfc1dfU, {-67.5f, -12.5f, 27.5f, -82.5f}},
    {CF_IQ2_K, 0xc8045de57119f226U, {0, 3, -26, 18}},
    {CF_IQ3_K, 0xd5895876fda3faebU, {-87, 238, -69, -75}},
    {CF_IQ4_K, 0x3c0ad5e5ba7025e8U, {372, -583, 81, 552}},
    {CF_IQ5_K, 0x3305dea3c244536eU, {-372, -957, -11, -418.5f}},
    {CF_IQ6_K, 0x2a6cb45886561d61U, {84, -1196, -5510, 4876}},
};

/* Bytes of a sequence, the same for everyone; then the scale. */
static void fill(unsigned char *b, cf_dtype type)
{
    uint32_t x = 12345;
    size_t n = cf_dtype_get(type).blk_bytes;
    for (size_t k = 0; k < N_BLOCK; k++, b += n) {
        for (size_t i = 0; i < n; i++) {
            x = x * 1664525U + 1013904223U;
            b[i] = (unsigned char)(x >> 24);
        }
        for (size_t i = 0; type == CF_IQ1_M && i < 4; i++) {
            unsigned char *top = b + 49 + 2 * i;
            *top = (unsigned char)((*top & 15) | (0x3800 >> (4 * i) & 15) << 4);
        }
        if (type != CF_IQ1_M) {
            b[0] = 0;
            b[1] = 0x38;
        }
    }
}

static uint64_t hash_of(const float *x, size_t n)
{
    const unsigned char *p = (const unsigned char *)x;
    uint64_t h = 0xcbf29ce484222325U;
    for (size_t i = 0; i < n * sizeof *x; i++) {
        h = (h ^ p[i]) * 0x100000001b3U;
    }
    return h;
}

static void test_dtype_iq__known_answers(void **state)
{
    (void)state;
    static const size_t at[4] = {0, 77, 600, 2047};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        unsigned char bytes[N_BLOCK * BYTES_MAX];
        float out[N];
        fill(bytes, answers[i].type);
        cf_dtype_to_f32(answers[i].type, out, bytes, N);
        for (size_t k = 0; k < 4; k++) {
            if (out[at[k]] != answers[i].at[k]) {
                fail_msg("%s: weight %zu is %g, want %g", cf_dtype_name(answers[i].type), at[k],
                         (double)out[at[k]], (double)answers[i].at[k]);
            }
        }
        assert_true(hash_of(out, N) == answers[i].hash);
    }
}

/* v in base 3, five digits from the top, as a part of 256, rounded up. */
static unsigned char packed(int v)
{
    return (unsigned char)((v * 256 + 242) / 243);
}

static void test_dtype_iq__ternary(void **state)
{
    (void)state;
    unsigned char b[54] = {0};
    float out[256];
    for (int v = 0; v < 243; v++) {
        b[0] = b[47] = packed(v);
        b[51] = packed(v / 3 * 3);
        b[53] = 0x40; /* d = 2 */
        cf_dtype_to_f32(CF_TQ1_0, out, b, 256);
        int power = 81;
        for (int n = 0; n < 5; n++, power /= 3) {
            float want = (float)(2 * (v / power % 3 - 1));
            assert_true(out[32 * n] == want);
            assert_true(out[160 + 16 * n + 15] == want);
            if (n < 4) {
                assert_true(out[240 + 4 * n + 3] == want);
            }
        }
    }
    unsigned char c[66] = {0xE4}; /* codes 0, 1, 2, 3 */
    c[63] = 0x40;                 /* the last weight: code 1 */
    c[65] = 0x40;
    cf_dtype_to_f32(CF_TQ2_0, out, c, 256);
    assert_true(out[0] == -2 && out[32] == 0 && out[64] == 2 && out[96] == 4);
    assert_true(out[255] == 0 && out[254] == -2);
}

/* What the fast sets make of a type's blocks is worth the same: each byte times
 * its scale. */
static void test_recode__same_weights(void **state)
{
    (void)state;
    size_t n_type = 0;
    uint32_t x = 99;
    for (uint32_t t = 0; t < CF_DTYPE_COUNT; t++) {
        cf_dtype type = (cf_dtype)t;
        unsigned char in[BYTES_MAX * 64], out[256 * 64 / 32 * CF_RECODED_BYTES];
        float want[256 * 64];
        cf_dtype_info info = cf_dtype_get(t);
        if (!cf_recode_can(type)) {
            continue;
        }
        n_type++;
        for (size_t i = 0; i < sizeof in; i++) {
            x = x * 1664525U + 1013904223U;
            in[i] = (unsigned char)(x >> 24);
        }
        size_t n = 64UL * info.n_block;
        cf_dtype_to_f32(type, want, in, n);
        cf_recode(type, out, in, n);
        for (size_t i = 0; i < n; i++) {
            const unsigned char *b = out + i / 32 * CF_RECODED_BYTES;
            float scale;
            memcpy(&scale, b + i % 32 / 16 * 4, sizeof scale);
            float got = scale * (float)(int8_t)b[8 + i % 32];
            bool is_same = got == want[i] || (isnan(got) && !isfinite(want[i])) ||
                           (isnan(got) && isnan(want[i])) ||
                           fabsf(got - want[i]) <= 1e-6f * fabsf(want[i]);
            if (!is_same) {
                fail_msg("%s, weight %zu: %g, not %g", info.name, i, (double)got, (double)want[i]);
            }
        }
    }
    assert_int_equal(n_type, 18);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtype_iq__known_answers),
        cmocka_unit_test(test_dtype_iq__ternary),
        cmocka_unit_test(test_recode__same_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
