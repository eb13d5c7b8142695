/*
 * matmul_avx512.c - quantised and float matrices times many rows of x.
 *
 * A tile of up to 64 weight rows by one chunk of columns is unpacked from the
 * file's layout into 8-bit codes that lie so that one vector holds the same
 * four columns of 16 rows (floats: one column of 16 rows).  It then meets
 * every row of x, three at a time: a vector of weights times four broadcast
 * columns of x is one vpdpbusd for 16 outputs, and no sum ever crosses lanes.
 *
 * Sums of up to TOKENS rows of x wait in scratch between chunks, in the order
 * that avx512.h fixes.
 */
#include "core/kernel/kernel.h"

#if defined(__x86_64__)

#include <assert.h>
#include <immintrin.h>

#include "core/kernel/avx512.h"
#include "core/kernel/unpack_avx512.inc"

#define INLINE static inline __attribute__((always_inline))

enum {
    GROUPS = 4,         /* vectors of 16 rows in a tile */
    ROWS = 16 * GROUPS, /* rows in a tile */
    COLS = 256,         /* columns in a chunk of codes */
    FCOLS = 128,        /* columns in a chunk of floats */
    TOKENS = 256,       /* rows of x whose sums are kept */
    STEP = 3            /* rows of x at a time */
};

typedef struct tile {
    union {
        uint8_t codes[GROUPS][COLS / 4][64]; /* [group][k / 4][row][k % 4] */
        float w[GROUPS][FCOLS][16];          /* [group][k][row] */
    } u;
    float d[COLS / 32][ROWS];    /* class 1 by block; class 2 in d[0] */
    float m[COLS / 32][ROWS];    /* minima alike; class 2: dmin in m[0] */
    int32_t sc[COLS / 16][ROWS]; /* class 2: scales of 16 or 32 columns */
    int32_t mn[COLS / 32][ROWS]; /* class 2: pairs of 16-bit minima */
    /* The rows of x at hand. */
    int32_t bias[STEP]
                [COLS / 16]; /* minus the bias of the codes times a sum of x */
    float dx[STEP][COLS / 32];
    float sx[STEP][COLS / 32];
    uint8_t row[16][COLS]; /* codes of 16 rows before they are turned */
    float y[TOKENS][ROWS];
} tile;

/* How the sums inside a 256-column block are made. */
typedef struct super {
    int n_sub;   /* columns under one scale: 16 or 32 */
    bool narrow; /* sums of 16 columns fit 16 bits */
    bool biased; /* codes have a bias */
    int n_min;   /* pairs of minima: 0, 4 or 8 */
} super;

size_t cf_avx512__scratch_bytes(cf_dtype type, size_t n_col)
{
    (void)type;
    (void)n_col;
    return sizeof(tile);
}

/* ---- turning rows into lanes -------------------------------------------- */

/* out[c] lane r = in[r] lane c, for 16 by 16 lanes of 32 bits. */
INLINE void transpose_16(void *out, const void *in, size_t in_stride)
{
    __m512i a[16], b[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        a[i] = _mm512_loadu_si512((const char *)in + (size_t)i * in_stride);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]);
        a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
        a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]);
        a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        b[i] = _mm512_shuffle_i32x4(a[i], a[i + 4], 0x88);
        b[i + 4] = _mm512_shuffle_i32x4(a[i], a[i + 4], 0xDD);
        b[i + 8] = _mm512_shuffle_i32x4(a[i + 8], a[i + 12], 0x88);
        b[i + 12] = _mm512_shuffle_i32x4(a[i + 8], a[i + 12], 0xDD);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        __m512i *o = (__m512i *)out;
        _mm512_store_si512(o + i, _mm512_shuffle_i32x4(b[i], b[i + 8], 0x88));
        _mm512_store_si512(o + i + 4,
                           _mm512_shuffle_i32x4(b[i + 4], b[i + 12], 0x88));
        _mm512_store_si512(o + i + 8,
                           _mm512_shuffle_i32x4(b[i], b[i + 8], 0xDD));
        _mm512_store_si512(o + i + 12,
                           _mm512_shuffle_i32x4(b[i + 4], b[i + 12], 0xDD));
    }
}

/* ---- unpacking ---------------------------------------------------------- */

/* Row r of the tile: n blocks of 32 from b. */
INLINE void unpack_blocks(tile *restrict t, cf_dtype type, size_t r,
                          const unsigned char *b, size_t n, size_t bytes)
{
    bool has_min = type == CF_Q4_1 || type == CF_Q5_1;
    for (size_t i = 0; i < n; i++, b += bytes) {
        store_32(t->row[r % 16] + 32 * i, block_codes(type, b));
        t->d[i][r] = half_at(b);
        if (has_min) {
            t->m[i][r] = half_at(b + 2);
        }
    }
}

/* 16 signed bytes become the scales of row r; each in the low half of a
 * 32-bit lane when narrow (the high half meets a sign, and must be 0). */
static void put_scales(tile *t, size_t r, __m128i scales, int n, bool narrow)
{
    alignas(64) int32_t s[16];
    __m512i v = _mm512_cvtepi8_epi32(scales);
    if (narrow) {
        v = _mm512_and_si512(v, _mm512_set1_epi32(0xFFFF));
    }
    _mm512_store_si512(s, v);
    for (int i = 0; i < n; i++) {
        t->sc[i][r] = s[i];
    }
}

/* Unsigned bytes, two by two. */
static void put_minima(tile *t, size_t r, __m128i minima, int n_pair)
{
    alignas(32) int32_t s[8];
    _mm256_store_si256((__m256i *)s, _mm256_cvtepu8_epi16(minima));
    for (int i = 0; i < n_pair; i++) {
        t->mn[i][r] = s[i];
    }
}

static void unpack_super(tile *t, cf_dtype type, size_t r,
                         const unsigned char *b)
{
    uint8_t *out = t->row[r % 16];
    __m128i s;
    switch ((unsigned)type) {
    case CF_Q2_K:
        codes_q2_k(out, b);
        s = _mm_loadu_si128((const __m128i *)b);
        t->d[0][r] = half_at(b + 80);
        t->m[0][r] = half_at(b + 82);
        put_scales(t, r, _mm_and_si128(s, _mm_set1_epi8(15)), 16, true);
        s = _mm_and_si128(_mm_srli_epi16(s, 4), _mm_set1_epi8(15));
        put_minima(t, r, s, 8);
        break;
    case CF_Q3_K:
        codes_q3_k(out, b);
        t->d[0][r] = half_at(b + 108);
        put_scales(t, r, q3_k_scales(b + 96), 16, true);
        break;
    case CF_Q4_K:
    case CF_Q5_K:
        if (type == CF_Q4_K) {
            codes_q4_k(out, b);
        } else {
            codes_q5_k(out, b);
        }
        s = q4_k_scales(b + 4);
        t->d[0][r] = half_at(b);
        t->m[0][r] = half_at(b + 2);
        put_scales(t, r, s, 8, type == CF_Q4_K);
        put_minima(t, r, _mm_srli_si128(s, 8), 4);
        break;
    case CF_Q6_K:
        codes_q6_k(out, b);
        t->d[0][r] = half_at(b + 208);
        put_scales(t, r, _mm_loadu_si128((const __m128i *)(b + 192)), 16,
                   false);
        break;
    default: /* CF_IQ4_XS */
        codes_iq4_xs(out, b);
        t->d[0][r] = half_at(b);
        put_scales(t, r, iq4_xs_scales(b), 8, false);
        break;
    }
}

static void unpack_row_blocks(tile *t, cf_dtype type, size_t r,
                              const unsigned char *b, size_t n)
{
    switch ((unsigned)type) {
    case CF_Q8_0:
        unpack_blocks(t, CF_Q8_0, r, b, n, 34);
        break;
    case CF_Q4_0:
        unpack_blocks(t, CF_Q4_0, r, b, n, 18);
        break;
    case CF_Q4_1:
        unpack_blocks(t, CF_Q4_1, r, b, n, 20);
        break;
    case CF_Q5_0:
        unpack_blocks(t, CF_Q5_0, r, b, n, 22);
        break;
    case CF_Q5_1:
        unpack_blocks(t, CF_Q5_1, r, b, n, 24);
        break;
    default:
        unpack_blocks(t, CF_IQ4_NL, r, b, n, 18);
        break;
    }
}

/* Rows row0.. of w (the last row again where there are no more), columns
 * col0..col0+n-1, into n_group groups of the tile. */
static void unpack_codes(tile *t, const cf_mat *w, size_t row0, size_t n_group,
                         size_t col0, size_t n)
{
    cf_dtype_info info = cf_dtype_get(w->type);
    size_t off = col0 / info.n_block * info.blk_bytes;
    for (size_t g = 0; g < n_group; g++) {
        for (size_t i = 0; i < 16; i++) {
            size_t r = row0 + 16 * g + i;
            r = r < w->n_row ? r : w->n_row - 1;
            const unsigned char *b =
                (const unsigned char *)w->p + r * w->row_bytes + off;
            if (info.n_block == 32) {
                unpack_row_blocks(t, w->type, 16 * g + i, b, n / 32);
            } else {
                unpack_super(t, w->type, 16 * g + i, b);
            }
        }
        for (size_t k = 0; k < n; k += 64) {
            transpose_16(t->u.codes[g][k / 4], t->row[0] + k, COLS);
        }
    }
}

/* n floats of row p from column c, zero up to a multiple of 16.  Blocks are of
 * one weight, or divide c and n. */
static void floats_of_row(float *restrict out, cf_dtype type,
                          const unsigned char *p, size_t c, size_t n)
{
    cf_dtype_info info = cf_dtype_get(type);
    if (info.n_block != 1) {
        cf_dtype_to_f32(type, out, p + c / info.n_block * info.blk_bytes, n);
        return;
    }
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 m = lanes(i, n);
        __m512 v;
        if (type == CF_F32) {
            v = _mm512_maskz_loadu_ps(m, p + (c + i) * 4);
        } else {
            __m256i h = _mm256_maskz_loadu_epi16(m, p + (c + i) * 2);
            v = type == CF_F16 ? _mm512_cvtph_ps(h)
                               : _mm512_castsi512_ps(_mm512_slli_epi32(
                                     _mm512_cvtepu16_epi32(h), 16));
        }
        _mm512_storeu_ps(out + i, v);
    }
}

static void unpack_floats(tile *t, const cf_mat *w, size_t row0, size_t n_group,
                          size_t col0, size_t n)
{
    alignas(64) float rows[16][FCOLS];
    for (size_t g = 0; g < n_group; g++) {
        for (size_t i = 0; i < 16; i++) {
            size_t r = row0 + 16 * g + i;
            r = r < w->n_row ? r : w->n_row - 1;
            floats_of_row(rows[i], w->type,
                          (const unsigned char *)w->p + r * w->row_bytes, col0,
                          n);
        }
        for (size_t k = 0; k < n; k += 16) {
            transpose_16(t->u.w[g][k], rows[0] + k, FCOLS * sizeof(float));
        }
    }
}

/* ---- one tile times a few rows of x ------------------------------------- */

INLINE __m512i bcast(const void *p)
{
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
}

/* acc + w . v, four bytes a lane.  Written out because gcc 12 copies the sum
 * before almost every such intrinsic in an unrolled loop. */
INLINE __m512i dot_4(__m512i acc, __m512i w, __m512i v)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(w), "v"(v));
    return acc;
}

/* acc[g][t] += four columns times four columns, n_k times. */
INLINE void dot_codes(__m512i acc[GROUPS][STEP], const tile *t,
                      const int8_t *const x[STEP], int k0, int n_k, int n_g,
                      int n_t)
{
#pragma GCC unroll 8
    for (int k = k0; k < k0 + n_k; k++) {
        __m512i w[GROUPS];
#pragma GCC unroll 4
        for (int g = 0; g < n_g; g++) {
            w[g] = _mm512_load_si512(t->u.codes[g][k]);
        }
#pragma GCC unroll 3
        for (int i = 0; i < n_t; i++) {
            __m512i v = bcast(x[i] + 4 * k);
#pragma GCC unroll 4
            for (int g = 0; g < n_g; g++) {
                acc[g][i] = dot_4(acc[g][i], w[g], v);
            }
        }
    }
}

INLINE void set_bias(__m512i acc[GROUPS][STEP], const tile *t, int s, int n_g,
                     int n_t, bool biased)
{
#pragma GCC unroll 3
    for (int i = 0; i < n_t; i++) {
#pragma GCC unroll 4
        for (int g = 0; g < n_g; g++) {
            acc[g][i] = biased ? bcast(&t->bias[i][s]) : _mm512_setzero_si512();
        }
    }
}

/* acc = 256 acc + bias */
INLINE void raise(__m512i acc[GROUPS][STEP], const tile *t, int s, int n_g,
                  int n_t, bool biased)
{
#pragma GCC unroll 3
    for (int i = 0; i < n_t; i++) {
#pragma GCC unroll 4
        for (int g = 0; g < n_g; g++) {
            acc[g][i] = _mm512_slli_epi32(acc[g][i], 8);
            if (biased) {
                acc[g][i] = _mm512_add_epi32(acc[g][i], bcast(&t->bias[i][s]));
            }
        }
    }
}

INLINE void load_sums(__m512 y[GROUPS][STEP], const tile *t, size_t tok,
                      bool is_first, int n_g, int n_t)
{
#pragma GCC unroll 3
    for (int i = 0; i < n_t; i++) {
#pragma GCC unroll 4
        for (int g = 0; g < n_g; g++) {
            y[g][i] = is_first ? _mm512_setzero_ps()
                               : _mm512_load_ps(t->y[tok + (size_t)i] + 16 * g);
        }
    }
}

INLINE void store_sums(tile *t, __m512 y[GROUPS][STEP], size_t tok, int n_g,
                       int n_t)
{
#pragma GCC unroll 3
    for (int i = 0; i < n_t; i++) {
#pragma GCC unroll 4
        for (int g = 0; g < n_g; g++) {
            _mm512_store_ps(t->y[tok + (size_t)i] + 16 * g, y[g][i]);
        }
    }
}

/* The float sums stay in memory, so that registers suffice for the rest. */
INLINE void tile_blocks(tile *t, const int8_t *const hi[STEP],
                        const int8_t *const lo[STEP], size_t tok, bool is_first,
                        int n_blk, bool biased, bool has_min, int n_g, int n_t)
{
    for (int b = 0; b < n_blk; b++) {
        __m512i acc[GROUPS][STEP];
        __m512 y[GROUPS][STEP];
        set_bias(acc, t, b, n_g, n_t, false);
        dot_codes(acc, t, hi, 8 * b, 8, n_g, n_t);
        raise(acc, t, b, n_g, n_t, biased);
        dot_codes(acc, t, lo, 8 * b, 8, n_g, n_t);
        load_sums(y, t, tok, is_first && b == 0, n_g, n_t);
#pragma GCC unroll 3
        for (int i = 0; i < n_t; i++) {
            __m512 dx = _mm512_set1_ps(t->dx[i][b]);
#pragma GCC unroll 4
            for (int g = 0; g < n_g; g++) {
                __m512 d = _mm512_mul_ps(_mm512_load_ps(t->d[b] + 16 * g), dx);
                y[g][i] =
                    _mm512_fmadd_ps(d, _mm512_cvtepi32_ps(acc[g][i]), y[g][i]);
                if (has_min) {
                    y[g][i] =
                        _mm512_fmadd_ps(_mm512_load_ps(t->m[b] + 16 * g),
                                        _mm512_set1_ps(t->sx[i][b]), y[g][i]);
                }
            }
        }
        store_sums(t, y, tok, n_g, n_t);
    }
}

/* sum of minimum * sum of q, for one group and one row of x */
INLINE __m512i dot_minima(const tile *t, const int16_t *s, int g, int n_min)
{
    __m512i acc = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (int p = 0; p < n_min; p++) {
        acc = _mm512_dpwssd_epi32(
            acc, _mm512_load_si512((const void *)(t->mn[p] + 16 * g)),
            bcast(s + 2 * p));
    }
    return acc;
}

INLINE void tile_super(tile *t, const int8_t *const x[STEP],
                       const int16_t *const s[STEP], size_t tok, bool is_first,
                       super how, int n_g, int n_t)
{
    __m512i sum[GROUPS][STEP];
    set_bias(sum, t, 0, n_g, n_t, false);
    /* narrow: two halves of a 32-column scale are summed apart */
    int n_k = how.narrow ? 4 : how.n_sub / 4;
    for (int k = 0; k < COLS / 4; k += n_k) {
        __m512i acc[GROUPS][STEP];
        int sub = 4 * k / how.n_sub;
        set_bias(acc, t, sub, n_g, n_t, how.biased);
        dot_codes(acc, t, x, k, n_k, n_g, n_t);
#pragma GCC unroll 4
        for (int g = 0; g < n_g; g++) {
            __m512i sc = _mm512_load_si512((const void *)(t->sc[sub] + 16 * g));
#pragma GCC unroll 3
            for (int i = 0; i < n_t; i++) {
                sum[g][i] =
                    how.narrow
                        ? _mm512_dpwssd_epi32(sum[g][i], acc[g][i], sc)
                        : _mm512_add_epi32(sum[g][i],
                                           _mm512_mullo_epi32(acc[g][i], sc));
            }
        }
    }
    __m512 y[GROUPS][STEP];
    load_sums(y, t, tok, is_first, n_g, n_t);
#pragma GCC unroll 3
    for (int i = 0; i < n_t; i++) {
        __m512 dx = _mm512_set1_ps(t->dx[i][0]);
#pragma GCC unroll 4
        for (int g = 0; g < n_g; g++) {
            __m512 d = _mm512_mul_ps(_mm512_load_ps(t->d[0] + 16 * g), dx);
            y[g][i] =
                _mm512_fmadd_ps(d, _mm512_cvtepi32_ps(sum[g][i]), y[g][i]);
            if (how.n_min) {
                __m512i j = dot_minima(t, s[i], g, how.n_min);
                d = _mm512_mul_ps(_mm512_load_ps(t->m[0] + 16 * g), dx);
                y[g][i] = _mm512_fnmadd_ps(d, _mm512_cvtepi32_ps(j), y[g][i]);
            }
        }
    }
    store_sums(t, y, tok, n_g, n_t);
}

INLINE void tile_floats(tile *t, const float *const x[STEP], size_t tok,
                        bool is_first, int n_k, int n_g, int n_t)
{
    __m512 y[GROUPS][STEP];
    load_sums(y, t, tok, is_first, n_g, n_t);
    for (int k = 0; k < n_k; k++) {
#pragma GCC unroll 3
        for (int i = 0; i < n_t; i++) {
            __m512 v = _mm512_set1_ps(x[i][k]);
#pragma GCC unroll 4
            for (int g = 0; g < n_g; g++) {
                y[g][i] =
                    _mm512_fmadd_ps(_mm512_load_ps(t->u.w[g][k]), v, y[g][i]);
            }
        }
    }
    store_sums(t, y, tok, n_g, n_t);
}

/* ---- the loops around --------------------------------------------------- */

typedef struct pass {
    const cf_mat *w;
    const char *xp;  /* prepared rows of x */
    size_t xp_bytes; /* from one to the next */
    size_t n_x;      /* at most TOKENS */
    size_t col0, n;  /* the chunk */
} pass;

/* Calls FN(n_groups, n_rows_of_x) with constants. */
#define WITH_SHAPE(FN, n_g, n_t)     \
    do {                             \
        if ((n_g) == GROUPS) {       \
            if ((n_t) == 3) {        \
                FN(GROUPS, 3);       \
            } else if ((n_t) == 2) { \
                FN(GROUPS, 2);       \
            } else {                 \
                FN(GROUPS, 1);       \
            }                        \
        } else if ((n_t) == 3) {     \
            FN(1, 3);                \
        } else if ((n_t) == 2) {     \
            FN(1, 2);                \
        } else {                     \
            FN(1, 1);                \
        }                            \
    } while (0)

INLINE void run_blocks(tile *t, const pass *p, int n_g, bool biased,
                       bool has_min, int bias)
{
    size_t n_col = p->w->n_col, b0 = p->col0 / 32, n_blk = p->n / 32;
    for (size_t tok = 0; tok < p->n_x; tok += STEP) {
        const int8_t *hi[STEP] = {NULL}, *lo[STEP] = {NULL};
        size_t n_t = p->n_x - tok < STEP ? p->n_x - tok : STEP;
        for (size_t i = 0; i < n_t; i++) {
            const char *row = p->xp + (tok + i) * p->xp_bytes;
            const float *d = (const float *)(row + cf_xp_d(n_col)) + b0;
            const int32_t *s = (const int32_t *)(row + cf_xp_s(n_col, 32)) + b0;
            hi[i] = (const int8_t *)row + p->col0;
            lo[i] = hi[i] + cf_xp_lo(n_col);
            for (size_t b = 0; b < n_blk; b++) {
                t->dx[i][b] = d[b];
                t->bias[i][b] = -bias * s[b];
                t->sx[i][b] = d[b] * (float)s[b];
            }
        }
#define FN(n_group, n_tok)                                                 \
    tile_blocks(t, hi, lo, tok, p->col0 == 0, (int)n_blk, biased, has_min, \
                n_group, n_tok)
        WITH_SHAPE(FN, n_g, n_t);
#undef FN
    }
}

/* The high bytes of x, then the low ones. */
INLINE void run_super(tile *t, const pass *p, int n_g, super how, int bias)
{
    size_t n_col = p->w->n_col, sb = p->col0 / 256;
    for (size_t tok = 0; tok < p->n_x; tok += STEP) {
        size_t n_t = p->n_x - tok < STEP ? p->n_x - tok : STEP;
        for (size_t part = 0; part < 2; part++) {
            const int8_t *x[STEP] = {NULL};
            const int16_t *s[STEP] = {NULL};
            for (size_t i = 0; i < n_t; i++) {
                const char *row = p->xp + (tok + i) * p->xp_bytes;
                const int16_t *s16 =
                    (const int16_t *)(row + cf_xp_s16(n_col, part)) + 16 * sb;
                const int16_t *s32 =
                    (const int16_t *)(row + cf_xp_s32(n_col, part)) + 8 * sb;
                float d = ((const float *)(row + cf_xp_d(n_col)))[sb];
                x[i] = (const int8_t *)row + part * cf_xp_lo(n_col) + p->col0;
                s[i] = how.n_min == 8 ? s16 : s32;
                t->dx[i][0] = part == 0 ? 256 * d : d;
                for (int b = 0; how.biased && b < COLS / how.n_sub; b++) {
                    t->bias[i][b] = -bias * (how.n_sub == 16 ? s16[b] : s32[b]);
                }
            }
            bool is_first = p->col0 == 0 && part == 0;
#define FN(n_group, n_tok) \
    tile_super(t, x, s, tok, is_first, how, n_group, n_tok)
            WITH_SHAPE(FN, n_g, n_t);
#undef FN
        }
    }
}

static void run_floats(tile *t, const pass *p, int n_g)
{
    for (size_t tok = 0; tok < p->n_x; tok += STEP) {
        const float *x[STEP] = {NULL};
        size_t n_t = p->n_x - tok < STEP ? p->n_x - tok : STEP;
        for (size_t i = 0; i < n_t; i++) {
            x[i] = (const float *)(p->xp + (tok + i) * p->xp_bytes) + p->col0;
        }
#define FN(n_group, n_tok) \
    tile_floats(t, x, tok, p->col0 == 0, (int)p->n, n_group, n_tok)
        WITH_SHAPE(FN, n_g, n_t);
#undef FN
    }
}

static void run_type(tile *t, const pass *p, int n_g)
{
    switch ((unsigned)p->w->type) {
    case CF_Q8_0:
    case CF_IQ4_NL:
        run_blocks(t, p, n_g, true, false, 128);
        break;
    case CF_Q4_0:
        run_blocks(t, p, n_g, true, false, 8);
        break;
    case CF_Q5_0:
        run_blocks(t, p, n_g, true, false, 16);
        break;
    case CF_Q4_1:
    case CF_Q5_1:
        run_blocks(t, p, n_g, false, true, 0);
        break;
    case CF_Q2_K:
        run_super(t, p, n_g, (super){16, true, false, 8}, 0);
        break;
    case CF_Q3_K:
        run_super(t, p, n_g, (super){16, true, true, 0}, 4);
        break;
    case CF_Q4_K:
        run_super(t, p, n_g, (super){32, true, false, 4}, 0);
        break;
    case CF_Q5_K:
        run_super(t, p, n_g, (super){32, false, false, 4}, 0);
        break;
    case CF_Q6_K:
        run_super(t, p, n_g, (super){16, false, true, 0}, 32);
        break;
    case CF_IQ4_XS:
        run_super(t, p, n_g, (super){32, false, true, 0}, 128);
        break;
    default:
        run_floats(t, p, n_g);
        break;
    }
}

/* y of the tile's rows that are asked for */
static void write_out(const tile *t, float *y, size_t y_stride, size_t n_x,
                      size_t n_row)
{
    for (size_t i = 0; i < n_x; i++) {
        for (size_t r = 0; r < n_row; r += 16) {
            _mm512_mask_storeu_ps(y + i * y_stride + r, lanes(r, n_row),
                                  _mm512_load_ps(t->y[i] + r));
        }
    }
}

static void tile_times_x(tile *t, pass *p, float *y, size_t y_stride,
                         size_t row, size_t n_row, size_t n_group)
{
    bool is_float = cf_prepared_class(p->w->type) == CLASS_FLOAT;
    size_t chunk = is_float ? FCOLS : COLS, n_col = p->w->n_col;
    for (p->col0 = 0; p->col0 < n_col; p->col0 += chunk) {
        p->n = n_col - p->col0 < chunk ? n_col - p->col0 : chunk;
        if (is_float) {
            unpack_floats(t, p->w, row, n_group, p->col0, p->n);
        } else {
            unpack_codes(t, p->w, row, n_group, p->col0, p->n);
        }
        run_type(t, p, (int)n_group);
    }
    write_out(t, y, y_stride, p->n_x, n_row);
}

void cf_avx512__matmul(float *y, size_t y_stride, const cf_mat *w,
                       const void *xp, size_t n_x, size_t row0, size_t row1,
                       void *scratch)
{
    assert(row0 <= row1 && row1 <= w->n_row);
    if (n_x <= CF_AVX512_FEW && cf_prepared_class(w->type) != CLASS_FLOAT) {
        cf_avx512__matvec(y, y_stride, w, xp, n_x, row0, row1);
        return;
    }
    tile *t = scratch;
    size_t bytes = cf_prepared_bytes(w->type, w->n_col);
    for (size_t tok = 0; tok < n_x; tok += TOKENS) {
        pass p = {.w = w,
                  .xp = (const char *)xp + tok * bytes,
                  .xp_bytes = bytes,
                  .n_x = n_x - tok < TOKENS ? n_x - tok : TOKENS};
        size_t step;
        for (size_t r = row0; r < row1; r += step) {
            size_t n_group = row1 - r > ROWS - 16 ? GROUPS : 1;
            step = 16 * n_group;
            size_t n_row = row1 - r < step ? row1 - r : step;
            tile_times_x(t, &p, y + tok * y_stride + r, y_stride, r, n_row,
                         n_group);
        }
    }
}

#endif
