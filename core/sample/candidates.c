/*
 * candidates.c - selects candidates from the vocabulary.
 *
 * Most of a vocabulary is far from the top, so the scans look at blocks: the
 * maximum of a block (which the compiler turns into vector instructions)
 * decides whether its members are looked at one by one.
 */
#include "core/sample/candidates.h"

#include <math.h>

enum { BLOCK = 32 };

/* Largest of p[0..BLOCK), ignoring values that are not numbers. */
static float block_max(const float *p)
{
    float m[8];
    for (int j = 0; j < 8; j++) {
        m[j] = -INFINITY;
    }
    for (int i = 0; i < BLOCK; i += 8) {
        for (int j = 0; j < 8; j++) {
            m[j] = p[i + j] > m[j] ? p[i + j] : m[j];
        }
    }
    float best = m[0];
    for (int j = 1; j < 8; j++) {
        best = m[j] > best ? m[j] : best;
    }
    return best;
}

cf_token cf_cand_best(const float *logits, size_t n)
{
    float best = -INFINITY;
    size_t at = n; /* start of the block that holds the first best */
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        float m = block_max(logits + i);
        if (m > best) {
            best = m;
            at = i;
        }
    }
    for (; i < n; i++) {
        if (logits[i] > best) {
            best = logits[i];
            at = i;
        }
    }
    while (at < n && !(logits[at] == best)) {
        at++;
    }
    return at < n ? (cf_token)at : CF_TOKEN_NONE;
}

cf_token cf_cand_best_masked(const float *logits, size_t n, const uint32_t *allowed)
{
    float best = -INFINITY;
    cf_token id = CF_TOKEN_NONE;
    for (size_t i = 0; i < n; i += 32) {
        uint32_t bits = allowed[i / 32];
        for (size_t j = i; bits != 0 && j < n; j++, bits >>= 1) {
            if ((bits & 1) != 0 && logits[j] > best) {
                best = logits[j];
                id = (cf_token)j;
            }
        }
    }
    return id;
}

/* Restores the heap (worst on top) below position i. */
static void sift_down(cf_cand *heap, size_t n, size_t i)
{
    cf_cand c = heap[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= n) {
            break;
        }
        if (child + 1 < n && cf_cand_is_better(heap[child], heap[child + 1])) {
            child++;
        }
        if (!cf_cand_is_better(c, heap[child])) {
            break;
        }
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = c;
}

size_t cf_cand_top(cf_cand *out, size_t k, const float *logits, size_t n)
{
    size_t n_out = 0;
    size_t i = 0;
    for (; i < n && n_out < k; i++) {
        if (logits[i] > -INFINITY) {
            out[n_out++] = (cf_cand){logits[i], (cf_token)i};
        }
    }
    for (size_t j = n_out / 2; j-- > 0;) {
        sift_down(out, n_out, j);
    }
    /* Ids only grow from here, so an equal logit is never better. */
    while (n_out > 0 && i < n) {
        if (i + BLOCK <= n && !(block_max(logits + i) > out[0].logit)) {
            i += BLOCK;
            continue;
        }
        size_t end = i + BLOCK <= n ? i + BLOCK : n;
        for (; i < end; i++) {
            if (logits[i] > out[0].logit) {
                out[0] = (cf_cand){logits[i], (cf_token)i};
                sift_down(out, n_out, 0);
            }
        }
    }
    /* Taking the worst off the top again and again leaves best first. */
    for (size_t left = n_out; left > 1; left--) {
        cf_cand worst = out[0];
        out[0] = out[left - 1];
        out[left - 1] = worst;
        sift_down(out, left - 1, 0);
    }
    return n_out;
}

size_t cf_cand_all(cf_cand *out, const float *logits, size_t n, float least)
{
    size_t n_out = 0;
    for (size_t i = 0; i < n; i++) {
        if (logits[i] > -INFINITY && logits[i] >= least) {
            out[n_out++] = (cf_cand){logits[i], (cf_token)i};
        }
    }
    return n_out;
}

size_t cf_cand_n_better(const float *logits, size_t n, cf_cand c)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += cf_cand_is_better((cf_cand){logits[i], (cf_token)i}, c) ? 1 : 0;
    }
    return count;
}

float cf_cand_weight(float logit, float best)
{
    if (logit == best) {
        return 1.0f; /* also where both are infinite */
    }
    return logit > -INFINITY ? expf(logit - best) : 0.0f;
}
