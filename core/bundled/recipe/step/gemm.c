/* gemm.c - see gemm.h */

#include "core/bundled/recipe/step/gemm.h"

#include <cblas.h>
#include <string.h>

static void by_blas(int m, int n, int k, const float *a, int a_row, int a_col, const float *b,
                    int b_row, int b_col, float beta, float *c, int ldc)
{
    cblas_sgemm(CblasRowMajor, a_col == 1 ? CblasNoTrans : CblasTrans,
                b_col == 1 ? CblasNoTrans : CblasTrans, m, n, k, 1, a, a_col == 1 ? a_row : a_col,
                b, b_col == 1 ? b_row : b_col, beta, c, ldc);
}

#ifdef __AVX512FP16__

#include <immintrin.h>
#include <stdint.h>

/* A tile of C is ROWS x COLS: 24 of the 32 vector registers. A block of A is
 * M_BLOCK x K_BLOCK, one of B is K_BLOCK x n; a panel of B, COLS wide, stays in
 * the first cache. */
enum { ROWS = 12, COLS = 64, STEP = 64, K_BLOCK = 256, M_BLOCK = 240, N_MOST = 2048 };

static uint32_t g_a[M_BLOCK * K_BLOCK]
    __attribute__((aligned(64))); /* each value twice, for broadcasts */
static uint16_t g_b[(N_MOST / COLS) * K_BLOCK * COLS]
    __attribute__((aligned(64))); /* [n / COLS][k][COLS] */

/* 16 floats as float16, each in both halves of a word; lanes beyond n are 0 */
static __m512i twice(const float *x, int n)
{
    __mmask16 mask = n >= 16 ? 0xffff : (__mmask16)((1U << n) - 1);
    __m512i v = _mm512_cvtepu16_epi32(
        _mm256_castph_si256(_mm512_cvtxps_ph(_mm512_maskz_loadu_ps(mask, x))));
    return _mm512_or_si512(v, _mm512_slli_epi32(v, 16));
}

static __m256i half(const float *x, int n)
{
    __mmask16 mask = n >= 16 ? 0xffff : n <= 0 ? 0 : (__mmask16)((1U << n) - 1);
    return _mm256_castph_si256(_mm512_cvtxps_ph(_mm512_maskz_loadu_ps(mask, x)));
}

/* Rows of A behind each other, [m][k], or columns, [k][M_BLOCK]; rows up to a
 * multiple of ROWS are 0. */
static void pack_a(int m, int k, const float *a, int a_row, int a_col)
{
    int all = (m + ROWS - 1) / ROWS * ROWS;
    if (a_col == 1) {
        for (int i = 0; i < m; i++) {
            for (int p = 0; p < k; p += 16) {
                _mm512_storeu_si512(g_a + i * K_BLOCK + p, twice(a + (size_t)i * a_row + p, k - p));
            }
        }
        memset(g_a + m * K_BLOCK, 0, (size_t)(all - m) * K_BLOCK * sizeof *g_a);
        return;
    }
    for (int p = 0; p < k; p++) {
        for (int i = 0; i < all; i += 16) {
            __m512i v = i < m ? twice(a + (size_t)p * a_col + i, m - i) : _mm512_setzero_si512();
            _mm512_storeu_si512(g_a + p * M_BLOCK + i, v);
        }
    }
}

/* 16 columns of a panel from 16 rows of the transposed B */
static void transpose(int n, int k, const float *b, int b_col, uint16_t *to)
{
    for (int p = 0; p < k; p += 16) {
        uint16_t block[16][16] __attribute__((aligned(32)));
        for (int j = 0; j < 16; j++) {
            _mm256_store_si256((__m256i *)block[j], j < n ? half(b + (size_t)j * b_col + p, k - p)
                                                          : _mm256_setzero_si256());
        }
        for (int q = 0; q < 16 && p + q < k; q++) {
            for (int j = 0; j < 16; j++) {
                to[(p + q) * COLS + j] = block[j][q];
            }
        }
    }
}

static void pack_b(int n, int k, const float *b, int b_row, int b_col)
{
    for (int j = 0; j < n; j += COLS) {
        uint16_t *to = g_b + (size_t)j / COLS * K_BLOCK * COLS;
        for (int q = 0; q < COLS && b_col != 1; q += 16) {
            transpose(n - j - q, k, b + (size_t)(j + q) * b_col, b_col, to + q);
        }
        for (int p = 0; p < k && b_col == 1; p++) {
            for (int q = 0; q < COLS; q += 16) {
                _mm256_store_si256((__m256i *)(to + p * COLS + q),
                                   half(b + (size_t)p * b_row + j + q, n - j - q));
            }
        }
    }
}

/* c [ROWS, COLS] = (adds ? c : 0) + a b over k; a(r, p) lies at a[r * row + p *
 * col] */
static inline __attribute__((always_inline)) void tile(int k, const uint32_t *a, int row, int col,
                                                       const uint16_t *b, int adds, float *c,
                                                       int ldc)
{
    for (int p = 0; p < k; adds = 1) {
        __mmask16 old = adds ? 0xffff : 0;
        __m512h sum[ROWS][2];
#pragma GCC unroll 12
        for (int r = 0; r < ROWS; r++) {
            sum[r][0] = sum[r][1] = _mm512_setzero_ph();
        }
        for (int end = p + STEP < k ? p + STEP : k; p < end; p++) {
            __m512h b0 = _mm512_load_ph(b + (size_t)p * COLS),
                    b1 = _mm512_load_ph(b + (size_t)p * COLS + 32);
#pragma GCC unroll 12
            for (int r = 0; r < ROWS; r++) {
                __m512h x = (__m512h)_mm512_set1_epi32((int)a[r * row + p * col]);
                sum[r][0] = _mm512_fmadd_ph(x, b0, sum[r][0]);
                sum[r][1] = _mm512_fmadd_ph(x, b1, sum[r][1]);
            }
        }
#pragma GCC unroll 12
        for (int r = 0; r < ROWS; r++) {
#pragma GCC unroll 2
            for (int h = 0; h < 2; h++) {
                __m512i s = _mm512_castph_si512(sum[r][h]);
                float *to = c + r * ldc + h * 32;
                __m512 low = _mm512_cvtxph_ps(_mm256_castsi256_ph(_mm512_castsi512_si256(s)));
                __m512 high =
                    _mm512_cvtxph_ps(_mm256_castsi256_ph(_mm512_extracti64x4_epi64(s, 1)));
                _mm512_storeu_ps(to, _mm512_add_ps(_mm512_maskz_loadu_ps(old, to), low));
                _mm512_storeu_ps(to + 16, _mm512_add_ps(_mm512_maskz_loadu_ps(old, to + 16), high));
            }
        }
    }
}

static void tile_rows(int k, const uint32_t *a, const uint16_t *b, int adds, float *c, int ldc)
{
    tile(k, a, K_BLOCK, 1, b, adds, c, ldc);
}

static void tile_columns(int k, const uint32_t *a, const uint16_t *b, int adds, float *c, int ldc)
{
    tile(k, a, 1, M_BLOCK, b, adds, c, ldc);
}

/* A tile at the edge of C, by way of a whole one. */
static void edge(int is_rows, int m, int n, int k, const uint32_t *a, const uint16_t *b, int adds,
                 float *c, int ldc)
{
    static float whole[ROWS * COLS] __attribute__((aligned(64)));
    (is_rows ? tile_rows : tile_columns)(k, a, b, 0, whole, COLS);
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j += 16) {
            __mmask16 mask = n - j >= 16 ? 0xffff : (__mmask16)((1U << (n - j)) - 1);
            float *to = c + (size_t)i * ldc + j;
            __m512 old = _mm512_maskz_loadu_ps(adds ? mask : 0, to);
            _mm512_mask_storeu_ps(to, mask,
                                  _mm512_add_ps(old, _mm512_load_ps(whole + i * COLS + j)));
        }
    }
}

static void block(int m, int n, int k, int is_rows, int adds, float *c, int ldc)
{
    for (int j = 0; j < n; j += COLS) {
        const uint16_t *b = g_b + (size_t)j / COLS * K_BLOCK * COLS;
        for (int i = 0; i < m; i += ROWS) {
            const uint32_t *a = g_a + (is_rows ? i * K_BLOCK : i);
            float *at = c + (size_t)i * ldc + j;
            if (m - i < ROWS || n - j < COLS) {
                edge(is_rows, m - i < ROWS ? m - i : ROWS, n - j < COLS ? n - j : COLS, k, a, b,
                     adds, at, ldc);
            } else {
                (is_rows ? tile_rows : tile_columns)(k, a, b, adds, at, ldc);
            }
        }
    }
}

void gemm(int m, int n, int k, const float *a, int a_row, int a_col, const float *b, int b_row,
          int b_col, float beta, float *c, int ldc)
{
    if (m < 96 || n < 48 || k < 32 || n > N_MOST) {
        by_blas(m, n, k, a, a_row, a_col, b, b_row, b_col, beta, c, ldc);
        return;
    }
    for (int p = 0; p < k; p += K_BLOCK) {
        int depth = k - p < K_BLOCK ? k - p : K_BLOCK;
        pack_b(n, depth, b + (size_t)p * b_row, b_row, b_col);
        for (int i = 0; i < m; i += M_BLOCK) {
            int height = m - i < M_BLOCK ? m - i : M_BLOCK;
            pack_a(height, depth, a + (size_t)i * a_row + (size_t)p * a_col, a_row, a_col);
            block(height, n, depth, a_col == 1, beta != 0 || p > 0, c + (size_t)i * ldc, ldc);
        }
    }
}

#else

void gemm(int m, int n, int k, const float *a, int a_row, int a_col, const float *b, int b_row,
          int b_col, float beta, float *c, int ldc)
{
    by_blas(m, n, k, a, a_row, a_col, b, b_row, b_col, beta, c, ldc);
}

#endif
