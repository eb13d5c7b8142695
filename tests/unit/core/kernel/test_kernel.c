/*
 * test_kernel.c - every kernel set against the reference, and the reference
 * against answers worked out by hand.
 */
#include <math.h>

#include "core/base/alloc.h"
#include "core/kernel/cached.h"
#include "core/kernel/half.h"
#include "core/kernel/kernel.h"
#include "core/kernel/prepared.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"

static const cf_dtype types[] = {
    CF_F32,   CF_F16,   CF_BF16,  CF_Q8_0,    CF_Q4_0,   CF_Q4_1,   CF_Q5_0,    CF_Q5_1,  CF_Q2_K,
    CF_Q3_K,  CF_Q4_K,  CF_Q5_K,  CF_Q6_K,    CF_IQ4_NL, CF_IQ4_XS, CF_MXFP4,   CF_NVFP4, CF_Q1_0,
    CF_Q2_0,  CF_IQ1_S, CF_IQ1_M, CF_IQ2_XXS, CF_IQ2_XS, CF_IQ2_S,  CF_IQ3_XXS, CF_IQ3_S, CF_TQ1_0,
    CF_TQ2_0, CF_IQ2_K, CF_IQ3_K, CF_IQ4_K,   CF_IQ5_K,  CF_IQ6_K};
enum { N_TYPES = sizeof types / sizeof types[0] };

static const char *const set_names[] = {"ref",    "avx2",        "avx2-vnni",
                                        "avx512", "avx512-vnni", "avx512-vbmi",
                                        "neon",   "neon-dot",    "neon-i8mm"};
enum { N_SETS = sizeof set_names / sizeof set_names[0] };

/* Tables: of each set that with activations of 16 bits, then that of 8. */
enum { N_TABLES = 2 * N_SETS };

static const cf_kernels *table_at(size_t i)
{
    const cf_kernels *k = cf_kernels_pick(set_names[i / 2]);
    return k != NULL && i % 2 != 0 ? k->eight : k;
}

/* Only the tables with 16 bits have one for 8. */
static bool has_8_bits(const cf_kernels *k)
{
    return k != cf_kernels_ref() && k->eight == NULL;
}

/* Where the half floats of a block lie; 0xFFFF where there is none. */
static void half_offsets(cf_dtype type, size_t off[2])
{
    off[0] = 0;
    off[1] = SIZE_MAX;
    switch ((unsigned)type) {
    case CF_Q4_1:
    case CF_Q5_1:
    case CF_Q4_K:
    case CF_Q5_K:
        off[1] = 2;
        break;
    case CF_Q2_K:
        off[0] = 80;
        off[1] = 82;
        break;
    case CF_Q3_K:
        off[0] = 108;
        break;
    case CF_Q6_K:
        off[0] = 208;
        break;
    case CF_TQ1_0:
        off[0] = 52;
        break;
    case CF_TQ2_0:
        off[0] = 64;
        break;
    }
}

static void put_half(unsigned char *p, float f)
{
    uint16_t h = cf_float_to_half(f);
    p[0] = (unsigned char)h;
    p[1] = (unsigned char)(h >> 8);
}

/* A random matrix in the file's layout; the caller frees m.p. */
static cf_mat random_mat(cf_rand *r, cf_dtype type, uint32_t n_row, uint32_t n_col)
{
    cf_dtype_info info = cf_dtype_get(type);
    cf_mat m = {.type = type, .n_row = n_row, .n_col = n_col};
    m.row_bytes = cf_dtype_row_bytes(type, n_col);
    size_t n = m.row_bytes * n_row, off[2];
    unsigned char *p = cf_alloc(n);
    assert_non_null(p);
    half_offsets(type, off);
    for (size_t b = 0; b < n; b += info.blk_bytes) {
        for (size_t i = 0; i < info.blk_bytes; i++) {
            p[b + i] = (unsigned char)cf_rand_u64(r);
        }
        if (type == CF_F32) {
            float f = cf_rand_float(r);
            memcpy(p + b, &f, sizeof f);
        } else if (type == CF_BF16) {
            uint32_t u = cf_float_bits(cf_rand_float(r));
            p[b] = (unsigned char)(u >> 16);
            p[b + 1] = (unsigned char)(u >> 24);
        } else if (type == CF_MXFP4) {
            p[b] = (unsigned char)(120 + cf_rand_below(r, 6));
        } else if (type == CF_NVFP4) {
            for (size_t i = 0; i < 4; i++) {
                p[b + i] &= 0x3F;
            }
        } else if (type == CF_IQ1_M) { /* the scale's bits: 2^-8 */
            for (size_t i = 0; i < 4; i++) {
                unsigned char *top = p + b + 49 + 2 * i;
                *top = (unsigned char)((*top & 15) | (i == 3 ? 0x10 : 0));
            }
        } else {
            put_half(p + b + off[0], cf_rand_float(r) * 0.1f);
            if (off[1] != SIZE_MAX) {
                put_half(p + b + off[1], cf_rand_float(r) * 0.1f);
            }
        }
    }
    m.p = p;
    return m;
}

static float *random_floats(cf_rand *r, size_t n)
{
    float *x = cf_calloc(n + 1, sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) {
        x[i] = cf_rand_float(r);
    }
    return x;
}

static void test_half__every_value(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = cf_half_to_float((uint16_t)h);
        if (f == f) {
            assert_int_equal(cf_float_to_half(f), h);
        } else {
            assert_int_equal(cf_float_to_half(f) & 0x7C00, 0x7C00);
            assert_int_not_equal(cf_float_to_half(f) & 0x3FF, 0);
        }
    }
    assert_true(cf_half_to_float(0x3C00) == 1.0f);
    assert_true(cf_half_to_float(0x0001) == 0x1p-24f);
    assert_true(cf_half_to_float(0xFBFF) == -65504.0f);
}

static void test_half__ties_to_even(void **state)
{
    (void)state;
    assert_int_equal(cf_float_to_half(1.0f + 0x1p-11f), 0x3C00);
    assert_int_equal(cf_float_to_half(1.0f + 0x3p-11f), 0x3C02);
    assert_int_equal(cf_float_to_half(0x1p-25f), 0);
    assert_int_equal(cf_float_to_half(0x3p-25f), 2);
    assert_int_equal(cf_float_to_half(65519.9f), 0x7BFF);
    assert_int_equal(cf_float_to_half(65520.0f), 0x7C00);
}

static void test_dtype__facts(void **state)
{
    (void)state;
    assert_null(cf_dtype_get(4).name);
    assert_null(cf_dtype_get(31).name);
    assert_null(cf_dtype_get(UINT32_MAX).name);
    assert_string_equal(cf_dtype_get(CF_Q4_K).name, "Q4_K");
    assert_string_equal(cf_dtype_name(CF_MXFP4), "MXFP4");
    assert_string_equal(cf_dtype_name(9), "Q8_1");
    assert_null(cf_dtype_get(9).name);
    assert_null(cf_dtype_name(4));
    assert_null(cf_dtype_name(UINT32_MAX));
    assert_int_equal(cf_dtype_row_bytes(CF_Q6_K, 512), 420);
    assert_int_equal(cf_dtype_row_bytes(CF_BF16, 7), 14);
}

static void test_dtype__q4_0_by_hand(void **state)
{
    (void)state;
    unsigned char b[18] = {0, 0x40}; /* d = 2 */
    float out[32];
    b[2] = 0xF0;
    b[17] = 0x1A;
    cf_dtype_to_f32(CF_Q4_0, out, b, 32);
    assert_true(out[0] == -16 && out[16] == 14);
    assert_true(out[15] == 4 && out[31] == -14);
    assert_true(out[1] == -16);
}

static void test_dtype__q5_1_by_hand(void **state)
{
    (void)state;
    unsigned char b[24] = {0, 0x3C, 0, 0xC0}; /* d = 1, m = -2 */
    float out[32];
    b[4] = 0x01; /* weight 0 */
    b[7] = 0x80; /* weight 31 */
    b[8] = 0x05;
    b[23] = 0x30;
    cf_dtype_to_f32(CF_Q5_1, out, b, 32);
    assert_true(out[0] == 16 + 5 - 2 && out[31] == 16 + 3 - 2);
    assert_true(out[1] == -2);
}

static void test_dtype__k_quants_by_hand(void **state)
{
    (void)state;
    float out[256];
    unsigned char q4[144] = {0, 0x3C, 0, 0x38}; /* d = 1, dmin = 1/2 */
    q4[4 + 0] = 0xC3;                           /* scale 0 is 3; high bits of scale 4: 3 */
    q4[4 + 4] = 0x42;                           /* minimum 0 is 2; high bits of minimum 4: 1 */
    q4[4 + 8] = 0x51;                           /* scale 4: 1 | 3 << 4, minimum 4: 5 | 1 << 4 */
    q4[16] = 0x07;                              /* weight 0 is 7, weight 32 is 0 */
    q4[16 + 64] = 0x0F;                         /* weight 128 */
    cf_dtype_to_f32(CF_Q4_K, out, q4, 256);
    assert_true(out[0] == 3 * 7 - 1.0f);
    assert_true(out[1] == -1.0f);
    assert_true(out[128] == 49 * 15 - 10.5f);

    unsigned char q6[210] = {0};
    put_half(q6 + 208, 0.5f);
    q6[192 + 2] = 0xFE; /* scale of 32..47 is -2 */
    q6[32] = 0x09;      /* weight 32: low bits 9 */
    q6[128] = 0x0C;     /* weight 32: high bits 3 */
    cf_dtype_to_f32(CF_Q6_K, out, q6, 256);
    assert_true(out[32] == -1.0f * (57 - 32));
    assert_true(out[33] == 32.0f);

    unsigned char q3[110] = {0};
    put_half(q3 + 108, 1.0f);
    q3[96] = 0x01;     /* scale 0: low bits 1; scale 8: low bits 0 */
    q3[96 + 8] = 0x02; /* scale 0: high bits 2 */
    q3[32] = 0x03;     /* weight 0 is 3 */
    q3[1] = 0x01;      /* weight 1 has its high bit */
    cf_dtype_to_f32(CF_Q3_K, out, q3, 256);
    assert_true(out[0] == (33 - 32) * (3 - 4));
    assert_true(out[1] == 0.0f);
    assert_true(out[16] == -32.0f * -4.0f);

    unsigned char q2[84] = {0};
    put_half(q2 + 80, 1.0f);
    put_half(q2 + 82, 1.0f);
    q2[9] = 0x35;            /* weights 144..159: scale 5, minimum 3 */
    q2[16 + 32 + 16] = 0x02; /* weight 144 is 2 */
    cf_dtype_to_f32(CF_Q2_K, out, q2, 256);
    assert_true(out[144] == 5 * 2 - 3 && out[145] == -3 && out[0] == 0);

    unsigned char iq[136] = {0};
    put_half(iq, 1.0f);
    iq[3] = 0x80;          /* high bits of scale 7: 2 */
    iq[4 + 3] = 0x30;      /* low bits of scale 7: 3 */
    iq[8 + 7 * 16] = 0xF0; /* weights 224 and 240 */
    cf_dtype_to_f32(CF_IQ4_XS, out, iq, 256);
    assert_true(out[224] == 3 * -127 && out[240] == 3 * 113);
    assert_true(out[0] == -32 * -127);
}

static void test_dtype__small_floats_by_hand(void **state)
{
    (void)state;
    float out[128];
    unsigned char mx[17] = {128}; /* scale 2 */
    mx[1] = 0xF7;                 /* weight 0: 6, weight 16: -6 */
    mx[16] = 0x19;                /* weight 15: -0.5, weight 31: 0.5 */
    cf_dtype_to_f32(CF_MXFP4, out, mx, 32);
    assert_true(out[0] == 12 && out[16] == -12);
    assert_true(out[15] == -1 && out[31] == 1 && out[1] == 0);

    unsigned char nv[36] = {0x38, 0x41, 0x01, 0x7F}; /* 1, 2.25, 2^-9, NaN */
    nv[4] = 0x21;                                    /* weight 0: 0.5, weight 8: 1 */
    nv[4 + 15] = 0x5C;                               /* weight 23: -2, weight 31: 3 */
    nv[4 + 16] = 0x02;                               /* weight 32: 1 */
    nv[4 + 24] = 0x77;
    cf_dtype_to_f32(CF_NVFP4, out, nv, 64);
    assert_true(out[0] == 0.5f && out[8] == 1 && out[23] == -4.5f);
    assert_true(out[31] == 6.75f && out[32] == 0x1p-9f && out[48] == 0);

    unsigned char q1[18] = {0, 0x40, 0x05}; /* d = 2 */
    q1[17] = 0x80;
    cf_dtype_to_f32(CF_Q1_0, out, q1, 128);
    assert_true(out[0] == 2 && out[1] == -2 && out[2] == 2);
    assert_true(out[126] == -2 && out[127] == 2);

    unsigned char q2[18] = {0, 0x40, 0xE4}; /* codes 0, 1, 2, 3 */
    cf_dtype_to_f32(CF_Q2_0, out, q2, 64);
    assert_true(out[0] == -2 && out[1] == 0 && out[2] == 2 && out[3] == 4);
    assert_true(out[63] == -2);
}

/* Everything a matmul test needs. */
typedef struct job {
    const cf_kernels *k;
    cf_mat w;
    size_t n_x;
    float *x;
    char *xp;
    float *y;
    void *scratch;
} job;

static job job_new(cf_rand *r, const cf_kernels *k, cf_dtype type, uint32_t n_row, uint32_t n_col,
                   size_t n_x)
{
    job j = {.k = k, .n_x = n_x};
    j.w = random_mat(r, type, n_row, n_col);
    j.x = random_floats(r, n_x * n_col);
    size_t bytes = k->prepared_bytes(type, n_col);
    assert_int_equal(bytes % 64, 0);
    j.xp = cf_alloc_aligned(64, bytes * n_x);
    j.y = cf_calloc(n_x * n_row, sizeof(float));
    j.scratch = cf_alloc_aligned(64, k->matmul_scratch_bytes(type, n_col) + 64);
    assert_true(j.xp && j.y && j.scratch);
    k->prepare(j.xp, type, j.x, n_x, n_col);
    return j;
}

static void job_free(job *j)
{
    cf_free((void *)(uintptr_t)j->w.p);
    cf_free(j->x);
    cf_free_aligned(j->xp);
    cf_free(j->y);
    cf_free_aligned(j->scratch);
}

/* The tolerance: activations that meet a quantised type are rounded by at most
 * half a step of (largest / 32512) or (largest / 127), sums to 24 bits; errors
 * add up like the root of the length times the size of the weights. */
static void check_matmul(job *j)
{
    bool is_float = cf_prepared_class(j->w.type) == CLASS_FLOAT;
    size_t n_col = j->w.n_col, n_row = j->w.n_row;
    float *row = cf_calloc(n_col, sizeof *row);
    assert_non_null(row);
    for (size_t r = 0; r < n_row; r++) {
        cf_dtype_to_f32(j->w.type, row, (const char *)j->w.p + r * j->w.row_bytes, n_col);
        double norm = 0;
        for (size_t c = 0; c < n_col; c++) {
            norm += (double)row[c] * (double)row[c];
        }
        for (size_t t = 0; t < j->n_x; t++) {
            double want = 0;
            for (size_t c = 0; c < n_col; c++) {
                want += (double)row[c] * (double)j->x[t * n_col + c];
            }
            double have = (double)j->y[t * n_row + r];
            double step = has_8_bits(j->k) ? 2 / 127.0 : 2 / 32512.0;
            double tol = sqrt(norm) * (is_float ? 1e-5 : 1.5 * step);
            if (!(fabs(have - want) <= tol + 1e-5)) {
                fail_msg("%s %s row %zu x %zu of [%zu, %zu]: %g, want %g, "
                         "tolerance %g",
                         j->k->name, cf_dtype_get(j->w.type).name, r, t, n_row, n_col, have, want,
                         tol);
            }
        }
    }
    cf_free(row);
}

/* Random lengths: one block, a few, an odd number of them. */
static uint32_t random_cols(cf_rand *r, cf_dtype type)
{
    uint32_t block = cf_dtype_get(type).n_block;
    if (block == 1) {
        return 1 + (uint32_t)cf_rand_below(r, 300);
    }
    return block * (1 + (uint32_t)cf_rand_below(r, block <= 64 ? 13 : 4));
}

static void test_matmul__close_to_float64(void **state)
{
    (void)state;
    cf_rand r = {1};
    for (size_t s = 0; s < N_TABLES; s++) {
        const cf_kernels *k = table_at(s);
        for (size_t i = 0; k && i < N_TYPES * 12; i++) {
            cf_dtype type = types[i % N_TYPES];
            uint32_t n_row = 1 + (uint32_t)cf_rand_below(&r, 70);
            size_t n_x = i % 3 ? 1 + cf_rand_below(&r, 20) : 1;
            job j = job_new(&r, k, type, n_row, random_cols(&r, type), n_x);
            k->matmul(j.y, n_row, &j.w, j.xp, n_x, 0, n_row, j.scratch);
            check_matmul(&j);
            job_free(&j);
        }
    }
}

/* prepared.h word by word: a row of blocks of 32 times a row of activations. */
static float defined_dot(cf_dtype type, const unsigned char *w, const float *x, size_t n_col,
                         float top)
{
    float y = 0;
    size_t bytes = cf_dtype_get(type).blk_bytes;
    for (size_t b = 0; b < n_col / 32; b++, w += bytes, x += 32) {
        float largest = 0;
        int32_t sum = 0, i = 0;
        for (size_t c = 0; c < 32; c++) {
            largest = fabsf(x[c]) > largest ? fabsf(x[c]) : largest;
        }
        float dw = cf_half_to_float((uint16_t)(w[0] | w[1] << 8));
        for (size_t c = 0; c < 32; c++) {
            int32_t t = (int32_t)lrintf(x[c] * (top / largest));
            int32_t code = type == CF_Q8_0 ? (int8_t)w[2 + c]
                           : c < 16        ? w[bytes - 16 + c] & 15
                                           : w[bytes - 32 + c] >> 4;
            i += (code - (type == CF_Q4_0 ? 8 : 0)) * t;
            sum += t;
        }
        float dx = largest / top;
        y = fmaf(dw * dx, (float)i, y);
        if (type == CF_Q4_1) {
            float m = cf_half_to_float((uint16_t)(w[2] | w[3] << 8));
            y = fmaf(m, dx * (float)sum, y);
        }
    }
    return y;
}

/* To the bit, with both arithmetics, for few rows of x and for many. */
static void test_matmul__as_defined(void **state)
{
    static const cf_dtype plain[] = {CF_Q8_0, CF_Q4_0, CF_Q4_1};
    cf_rand r = {9};
    (void)state;
    for (size_t s = 2; s < N_TABLES; s++) {
        const cf_kernels *k = table_at(s);
        for (size_t i = 0; k && i < 12; i++) {
            size_t n_x = i % 2 ? 1 + cf_rand_below(&r, 20) : 1, n_row = 20;
            job j =
                job_new(&r, k, plain[i % 3], (uint32_t)n_row, random_cols(&r, plain[i % 3]), n_x);
            k->matmul(j.y, n_row, &j.w, j.xp, n_x, 0, n_row, j.scratch);
            for (size_t t = 0; t < n_x * n_row; t++) {
                const unsigned char *w = (const unsigned char *)j.w.p + t % n_row * j.w.row_bytes;
                float want = defined_dot(j.w.type, w, j.x + t / n_row * j.w.n_col, j.w.n_col,
                                         has_8_bits(k) ? CF_T_MAX_8 : CF_T_MAX_16);
                assert_memory_equal(&j.y[t], &want, sizeof want);
            }
            job_free(&j);
        }
    }
}

/* Bit for bit: rows of x one at a time, and output rows in slices, against
 * everything at once. */
static void test_matmul__batch_invariant(void **state)
{
    (void)state;
    cf_rand r = {2};
    for (size_t s = 0; s < N_TABLES; s++) {
        const cf_kernels *k = table_at(s);
        for (size_t i = 0; k && i < N_TYPES * 12; i++) {
            cf_dtype type = types[i % N_TYPES];
            uint32_t n_row = 1 + (uint32_t)cf_rand_below(&r, 150);
            size_t n_x = 2 + cf_rand_below(&r, 40);
            job j = job_new(&r, k, type, n_row, random_cols(&r, type), n_x);
            k->matmul(j.y, n_row, &j.w, j.xp, n_x, 0, n_row, j.scratch);
            float *y = cf_calloc(n_x * n_row, sizeof *y);
            assert_non_null(y);
            size_t step = k->prepared_bytes(type, j.w.n_col);
            for (size_t t = 0; t < n_x;) {
                size_t n = i % 2 ? 1 : 1 + cf_rand_below(&r, n_x - t);
                for (size_t row = 0; row < n_row;) {
                    size_t end = row + k->row_multiple * (1 + cf_rand_below(&r, n_row));
                    end = end > n_row ? n_row : end;
                    k->matmul(y + t * n_row, n_row, &j.w, j.xp + t * step, n, row, end, j.scratch);
                    row = end;
                }
                t += n;
            }
            assert_memory_equal(y, j.y, n_x * n_row * sizeof *y);
            cf_free(y);
            job_free(&j);
        }
    }
}

/* The prepared form of a row does not depend on its neighbours. */
static void test_prepare__batch_invariant(void **state)
{
    (void)state;
    cf_rand r = {3};
    for (size_t s = 0; s < N_TABLES; s++) {
        const cf_kernels *k = table_at(s);
        for (size_t i = 0; k && i < N_TYPES; i++) {
            job j = job_new(&r, k, types[i], 1, random_cols(&r, types[i]), 7);
            size_t step = k->prepared_bytes(types[i], j.w.n_col);
            char *one = cf_alloc_aligned(64, step);
            assert_non_null(one);
            for (size_t t = 0; t < j.n_x; t++) {
                memset(one, 0, step);
                k->prepare(one, types[i], j.x + t * j.w.n_col, 1, j.w.n_col);
                assert_memory_equal(one, j.xp + t * step, step);
            }
            cf_free_aligned(one);
            job_free(&j);
        }
    }
}

static void near_all(const char *what, const float *have, const float *want, size_t n, float tol)
{
    for (size_t i = 0; i < n; i++) {
        float limit = tol * (1.0f + fabsf(want[i]));
        if (!(fabsf(have[i] - want[i]) <= limit)) {
            fail_msg("%s: element %zu of %zu is %g, want %g", what, i, n, (double)have[i],
                     (double)want[i]);
        }
    }
}

static void test_elementwise__like_the_reference(void **state)
{
    (void)state;
    cf_rand r = {4};
    const cf_kernels *ref = cf_kernels_ref();
    for (size_t s = 1; s < N_SETS; s++) {
        const cf_kernels *k = cf_kernels_pick(set_names[s]);
        for (size_t n = 1; k && n < 90; n++) {
            float *x = random_floats(&r, n), *w = random_floats(&r, n);
            float *a = random_floats(&r, n), *b = random_floats(&r, n);
            for (size_t i = 0; i < n; i++) {
                x[i] *= i % 7 == 3 ? 120.0f : 6.0f;
            }
            ref->rms_norm(a, x, w, n, 1e-5f);
            k->rms_norm(b, x, w, n, 1e-5f);
            near_all("rms_norm", b, a, n, 2e-6f);
            ref->rms_norm(a, x, NULL, n, 1e-5f);
            memcpy(b, x, n * sizeof *b);
            k->rms_norm(b, b, NULL, n, 1e-5f);
            near_all("rms_norm", b, a, n, 2e-6f);
            ref->silu_mul(a, x, w, n);
            k->silu_mul(b, x, w, n);
            near_all("silu_mul", b, a, n, 1e-6f);
            ref->gelu_mul(a, x, w, n);
            memcpy(b, x, n * sizeof *b);
            k->gelu_mul(b, b, w, n);
            near_all("gelu_mul", b, a, n, 1e-6f);
            memcpy(a, x, n * sizeof *a);
            memcpy(b, x, n * sizeof *b);
            ref->soft_cap(a, n, 2.0f);
            k->soft_cap(b, n, 2.0f);
            near_all("soft_cap", b, a, n, 1e-6f);
            memcpy(a, x, n * sizeof *a);
            memcpy(b, x, n * sizeof *b);
            ref->add(a, w, n);
            k->add(b, w, n);
            assert_memory_equal(a, b, n * sizeof *a);
            cf_free(x);
            cf_free(w);
            cf_free(a);
            cf_free(b);
        }
    }
}

static void test_convert__like_the_reference(void **state)
{
    (void)state;
    cf_rand r = {5};
    const cf_kernels *ref = cf_kernels_ref();
    for (size_t s = 1; s < N_SETS; s++) {
        const cf_kernels *k = cf_kernels_pick(set_names[s]);
        for (size_t n = 1; k && n < 70; n++) {
            float *x = random_floats(&r, n);
            uint16_t a[70], b[70];
            float fa[70], fb[70];
            for (size_t i = 0; i < n; i++) {
                x[i] = ldexpf(x[i], (int)cf_rand_below(&r, 44) - 26);
            }
            ref->f32_to_f16(a, x, n);
            k->f32_to_f16(b, x, n);
            assert_memory_equal(a, b, n * sizeof *a);
            ref->f16_to_f32(fa, a, n);
            k->f16_to_f32(fb, a, n);
            assert_memory_equal(fa, fb, n * sizeof *fa);
            cf_free(x);
        }
    }
}

/* Enough positions for three steps of the softmax. */
enum { ATTN_POS = 2 * CF_ATTN_CHUNK + 3 * CF_KV_BLOCK, ATTN_BLOCKS = ATTN_POS / CF_KV_BLOCK };

/* One attention case with room for its cache blocks. */
typedef struct attn_case {
    cf_attn a;
    void *k_data[ATTN_BLOCKS], *v_data[ATTN_BLOCKS];
    float sinks[6];
    float q[6 * 160], out[6 * 160];
    float scratch[CF_ATTN_SCRATCH(160, 160, ATTN_POS)];
} attn_case;

/* A block of random keys or values; the caller frees it. */
static void *random_block(cf_rand *r, cf_dtype type, size_t size, bool has_keys)
{
    void *block = cf_calloc(CF_KV_BLOCK, cf_cached_bytes(type, size));
    assert_non_null(block);
    for (size_t at = 0; at < CF_KV_BLOCK; at++) {
        float *x = random_floats(r, size);
        if (has_keys) {
            cf_cached_put_key(cf_kernels_ref(), type, block, at, x, size);
        } else {
            cf_cached_put_value(cf_kernels_ref(), type, block, at, x, size);
        }
        cf_free(x);
    }
    return block;
}

static const cf_dtype cache_types[] = {CF_F32, CF_F16, CF_Q8_0, CF_Q4_0};

static void attn_fill(cf_rand *r, attn_case *c)
{
    static const uint32_t sizes[] = {8, 16, 64, 80, 128, 160};
    cf_attn *a = &c->a;
    *a = (cf_attn){.n_q = 1 + cf_rand_below(r, 6),
                   .head_size = sizes[cf_rand_below(r, 6)],
                   .head_size_v = sizes[cf_rand_below(r, 6)],
                   .type = cache_types[cf_rand_below(r, 4)],
                   .soft_cap = cf_rand_below(r, 3) ? 0.0f : 3.0f,
                   .scale = 0.4f};
    a->last = (uint32_t)cf_rand_below(r, cf_rand_below(r, 2) ? 256 : ATTN_POS);
    a->first = cf_rand_below(r, 2) ? 0 : (uint32_t)cf_rand_below(r, a->last + 1);
    a->q_stride = a->head_size;
    a->out_stride = a->head_size_v;
    a->q = c->q;
    a->out = c->out;
    a->scratch = c->scratch;
    a->k_block = (const void *const *)c->k_data;
    a->v_block = (const void *const *)c->v_data;
    a->sinks = cf_rand_below(r, 3) ? NULL : c->sinks;
    for (size_t i = 0; i < 6; i++) {
        c->sinks[i] = cf_rand_float(r) * 4;
    }
    for (size_t i = 0; i < a->n_q * a->head_size; i++) {
        c->q[i] = cf_rand_float(r) * 2;
    }
    for (size_t b = 0; b < ATTN_BLOCKS; b++) {
        c->k_data[b] = random_block(r, a->type, a->head_size, true);
        c->v_data[b] = random_block(r, a->type, a->head_size_v, false);
    }
}

static void attn_free(attn_case *c)
{
    for (size_t b = 0; b < ATTN_BLOCKS; b++) {
        cf_free(c->k_data[b]);
        cf_free(c->v_data[b]);
    }
}

static void test_attend__like_the_reference(void **state)
{
    (void)state;
    cf_rand r = {6};
    static attn_case c;
    float want[6 * 160];
    for (size_t s = 1; s < N_SETS; s++) {
        const cf_kernels *k = cf_kernels_pick(set_names[s]);
        for (int i = 0; k && i < 80; i++) {
            attn_fill(&r, &c);
            size_t n = c.a.n_q * c.a.head_size_v;
            cf_kernels_ref()->attend(&c.a);
            memcpy(want, c.out, n * sizeof *want);
            memset(c.out, 0, sizeof c.out);
            k->attend(&c.a);
            near_all("attend", c.out, want, n, 1e-5f);
            /* One head alone gives the same bits as all together. */
            memcpy(want, c.out, n * sizeof *want);
            cf_attn one = c.a;
            one.n_q = 1;
            for (size_t h = 0; h < c.a.n_q; h++) {
                one.q = c.q + h * c.a.q_stride;
                one.out = c.out + h * c.a.out_stride;
                one.sinks = c.a.sinks ? c.sinks + h : NULL;
                k->attend(&one);
            }
            assert_memory_equal(c.out, want, n * sizeof *want);
            attn_free(&c);
        }
    }
}

/* Rows together give the bits of each row alone, window or not. */
static void test_attend__rows(void **state)
{
    (void)state;
    cf_rand r = {7};
    static attn_case c;
    static float q[CF_ATTN_ROWS * 6 * 160], out[CF_ATTN_ROWS * 6 * 160];
    static float scratch[CF_ATTN_SCRATCH(160, 160, ATTN_POS)];
    for (size_t s = 0; s < N_SETS; s++) {
        const cf_kernels *k = cf_kernels_pick(set_names[s]);
        for (int i = 0; k && i < 60; i++) {
            attn_fill(&r, &c);
            cf_attn all = c.a;
            all.n_row = 1 + cf_rand_below(&r, CF_ATTN_ROWS);
            size_t n_pos = i % 3 ? 256 : ATTN_POS;
            all.last = (uint32_t)cf_rand_below(&r, n_pos + 1 - all.n_row);
            all.window = i % 2 ? 1 + (uint32_t)cf_rand_below(&r, 60) : 0;
            all.first = all.window && all.last >= all.window ? all.last - all.window + 1 : 0;
            all.q_row = all.n_q * all.head_size;
            all.out_row = all.n_q * all.head_size_v;
            all.q = q;
            all.out = out;
            all.scratch = scratch;
            for (size_t j = 0; j < all.n_row * all.q_row; j++) {
                q[j] = cf_rand_float(&r) * 2;
            }
            memset(out, 0xFF, sizeof out);
            k->attend(&all);
            for (size_t row = 0; row < all.n_row; row++) {
                cf_attn one = c.a;
                one.q = q + row * all.q_row;
                one.last = all.last + (uint32_t)row;
                one.first = all.window && one.last >= all.window ? one.last - all.window + 1 : 0;
                k->attend(&one);
                assert_memory_equal(c.out, out + row * all.out_row, all.out_row * sizeof *out);
            }
            attn_free(&c);
        }
    }
}

/* Hidden positions leave what the others give; sets agree bit for bit, and a
 * row with nothing left has the value at its own position. */
static void test_attend__hidden(void **state)
{
    (void)state;
    cf_rand r = {8};
    static attn_case c;
    float want[6 * 160], first[6 * 160];
    for (int i = 0; i < 80; i++) {
        bool is_first = true;
        attn_fill(&r, &c);
        size_t n = c.a.n_q * c.a.head_size_v;
        cf_attn_hide hide[3] = {{0, 0, 0}};
        c.a.at = c.a.last;
        c.a.hide = hide;
        c.a.n_hide = 3;
        for (size_t j = 0; j < 3; j++) {
            hide[j].first = (uint32_t)cf_rand_below(&r, c.a.last + (size_t)1);
            hide[j].end = hide[j].first + (uint32_t)cf_rand_below(&r, 200);
            hide[j].from = c.a.last + (j == 2); /* the last one does not apply */
        }
        hide[0] = i % 4 == 0 ? (cf_attn_hide){0, c.a.last + 1, 0} : hide[0];
        cf_kernels_ref()->attend(&c.a);
        memcpy(want, c.out, n * sizeof *want);
        for (size_t s = 1; s < N_SETS; s++) {
            const cf_kernels *k = cf_kernels_pick(set_names[s]);
            if (k == NULL) {
                continue;
            }
            k->attend(&c.a);
            near_all("attend", c.out, want, n, 1e-5f);
            if (!is_first) {
                assert_memory_equal(c.out, first, n * sizeof *first);
            }
            memcpy(first, c.out, n * sizeof *first);
            is_first = false;
        }
        attn_free(&c);
    }
}

/* The floats that a case's blocks stand for. */
static void attn_widen(attn_case *to, const attn_case *from)
{
    const cf_attn *a = &from->a;
    for (size_t b = 0; b < ATTN_BLOCKS; b++) {
        float *k = cf_calloc(CF_KV_BLOCK, a->head_size * sizeof *k);
        float *v = cf_calloc(CF_KV_BLOCK, a->head_size_v * sizeof *v);
        assert_true(k != NULL && v != NULL);
        for (size_t at = 0; at < CF_KV_BLOCK; at++) {
            for (size_t c = 0; c < a->head_size; c++) {
                k[c * CF_KV_BLOCK + at] = cf_cached_key(a->type, from->k_data[b], at, c);
            }
            for (size_t c = 0; c < a->head_size_v; c++) {
                v[at * a->head_size_v + c] =
                    cf_cached_value(a->type, from->v_data[b], at, c, a->head_size_v);
            }
        }
        to->k_data[b] = k;
        to->v_data[b] = v;
    }
    to->a = *a;
    to->a.type = CF_F32;
    to->a.k_block = (const void *const *)to->k_data;
    to->a.v_block = (const void *const *)to->v_data;
}

/* Attention to rounded numbers is attention to the floats that they stand for,
 * to the bit, for few queries and for many. */
static void test_attend__as_the_floats(void **state)
{
    (void)state;
    cf_rand r = {9};
    static attn_case c, wide;
    float want[6 * 160];
    for (int i = 0; i < 40; i++) {
        attn_fill(&r, &c);
        attn_widen(&wide, &c);
        size_t n = c.a.n_q * c.a.head_size_v;
        for (size_t s = 0; s < N_SETS; s++) {
            const cf_kernels *k = cf_kernels_pick(set_names[s]);
            if (k != NULL) {
                k->attend(&wide.a);
                memcpy(want, c.out, n * sizeof *want);
                memset(c.out, 0, sizeof c.out);
                k->attend(&c.a);
                assert_memory_equal(c.out, want, n * sizeof *want);
            }
        }
        attn_free(&wide);
        attn_free(&c);
    }
}

/* Values that are the beginnings of keys: as the same values apart. */
static void test_attend__values_in_keys(void **state)
{
    (void)state;
    cf_rand r = {10};
    static attn_case c, wide;
    float want[6 * 160];
    for (int i = 0; i < 60; i++) {
        attn_fill(&r, &c);
        uint32_t size = 1 + (uint32_t)cf_rand_below(&r, c.a.head_size);
        attn_widen(&wide, &c);
        for (size_t b = 0; b < ATTN_BLOCKS; b++) {
            float *v = cf_calloc(CF_KV_BLOCK, size * sizeof *v);
            assert_non_null(v);
            for (size_t j = 0; j < (size_t)CF_KV_BLOCK * size; j++) {
                v[j] = cf_cached_key(c.a.type, c.k_data[b], j / size, j % size);
            }
            cf_free(wide.v_data[b]);
            wide.v_data[b] = v;
        }
        c.a.head_size_v = wide.a.head_size_v = size;
        c.a.out_stride = wide.a.out_stride = size;
        c.a.v_block = NULL;
        for (size_t s = 0; s < N_SETS; s++) {
            const cf_kernels *k = cf_kernels_pick(set_names[s]);
            if (k != NULL) {
                k->attend(&wide.a);
                memcpy(want, c.out, c.a.n_q * size * sizeof *want);
                memset(c.out, 0, sizeof c.out);
                k->attend(&c.a);
                assert_memory_equal(c.out, want, c.a.n_q * size * sizeof *want);
            }
        }
        attn_free(&wide);
        attn_free(&c);
    }
}

/* A position's numbers are off by about half a step of its group (Q4_0, whose
 * codes are cut at +7: by one), and it changes no other position. */
static void test_cached__one_position(void **state)
{
    (void)state;
    cf_rand r = {11};
    for (int i = 0; i < 40; i++) {
        cf_dtype type = cache_types[2 + i % 2];
        size_t size = 1 + cf_rand_below(&r, 100), at = cf_rand_below(&r, CF_KV_BLOCK);
        float *x = random_floats(&r, size), step = type == CF_Q8_0 ? 0.5f / 127 : 1.0f / 8;
        unsigned char *keys = random_block(&r, type, size, true);
        unsigned char *values = random_block(&r, type, size, false);
        float other_key = cf_cached_key(type, keys, (at + 16) % CF_KV_BLOCK, size - 1);
        float other_value = cf_cached_value(type, values, (at + 1) % CF_KV_BLOCK, 0, size);
        cf_cached_put_key(cf_kernels_ref(), type, keys, at, x, size);
        cf_cached_put_value(cf_kernels_ref(), type, values, at, x, size);
        for (size_t c = 0; c < size; c++) {
            float most = 0;
            for (size_t j = c / 32 * 32; j < size && j < c / 32 * 32 + 32; j++) {
                most = fabsf(x[j]) > most ? fabsf(x[j]) : most;
            }
            float k = cf_cached_key(type, keys, at, c);
            assert_true(fabsf(k - x[c]) <= most * step * 1.15f);
            assert_true(k == cf_cached_value(type, values, at, c, size));
        }
        assert_true(other_key == cf_cached_key(type, keys, (at + 16) % CF_KV_BLOCK, size - 1));
        assert_true(other_value == cf_cached_value(type, values, (at + 1) % CF_KV_BLOCK, 0, size));
        cf_free(x);
        cf_free(keys);
        cf_free(values);
    }
}

static void test_attend__average_of_equals(void **state)
{
    (void)state;
    float k[CF_KV_BLOCK * 8] = {0}, v[CF_KV_BLOCK * 8], q[8] = {1}, out[8];
    static float scratch[CF_ATTN_SCRATCH(8, 8, 32)];
    const void *kb = k, *vb = v;
    for (size_t i = 0; i < CF_KV_BLOCK * 8; i++) {
        v[i] = (float)(i / 8);
    }
    cf_attn a = {.out = out,
                 .q = q,
                 .n_q = 1,
                 .q_stride = 8,
                 .out_stride = 8,
                 .k_block = &kb,
                 .v_block = &vb,
                 .first = 2,
                 .last = 6,
                 .head_size = 8,
                 .head_size_v = 8,
                 .scale = 1,
                 .scratch = scratch};
    for (size_t s = 0; s < N_SETS; s++) {
        const cf_kernels *set = cf_kernels_pick(set_names[s]);
        if (set) {
            memset(out, 0, sizeof out);
            set->attend(&a);
            assert_true(fabsf(out[0] - 4.0f) < 1e-6f);
            assert_true(fabsf(out[7] - 4.0f) < 1e-6f);
        }
    }
}

static void test_pick__names(void **state)
{
    (void)state;
    assert_non_null(cf_kernels_pick(NULL));
    assert_ptr_equal(cf_kernels_pick("ref"), cf_kernels_ref());
    assert_null(cf_kernels_pick("sse9"));
    for (size_t s = 0; s < N_SETS; s++) {
        const cf_kernels *k = cf_kernels_pick(set_names[s]);
        if (k) {
            assert_string_equal(k->name, set_names[s]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half__every_value),
        cmocka_unit_test(test_half__ties_to_even),
        cmocka_unit_test(test_dtype__facts),
        cmocka_unit_test(test_dtype__q4_0_by_hand),
        cmocka_unit_test(test_dtype__q5_1_by_hand),
        cmocka_unit_test(test_dtype__k_quants_by_hand),
        cmocka_unit_test(test_dtype__small_floats_by_hand),
        cmocka_unit_test(test_matmul__close_to_float64),
        cmocka_unit_test(test_matmul__as_defined),
        cmocka_unit_test(test_matmul__batch_invariant),
        cmocka_unit_test(test_prepare__batch_invariant),
        cmocka_unit_test(test_elementwise__like_the_reference),
        cmocka_unit_test(test_convert__like_the_reference),
        cmocka_unit_test(test_attend__like_the_reference),
        cmocka_unit_test(test_attend__rows),
        cmocka_unit_test(test_attend__hidden),
        cmocka_unit_test(test_attend__as_the_floats),
        cmocka_unit_test(test_attend__values_in_keys),
        cmocka_unit_test(test_cached__one_position),
        cmocka_unit_test(test_attend__average_of_equals),
        cmocka_unit_test(test_pick__names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
