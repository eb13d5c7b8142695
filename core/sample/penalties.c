/*
 * penalties.c - applies repetition, presence and frequency penalties, and bans
 * repeated n-grams.
 */
#include "core/sample/penalties.h"

#include <math.h>
#include <string.h>

bool cf_penalties_are_on(const cf_penalties *p)
{
    return p->repetition > 1.0f || p->presence != 0.0f || p->frequency != 0.0f;
}

/* The part of past[0..n) that a window covers. */
static const cf_token *last(const cf_token *past, size_t *n, uint32_t window)
{
    size_t skip = window != 0 && *n > window ? *n - window : 0;
    *n -= skip;
    return skip != 0 ? past + skip : past;
}

void cf_penalties_apply(const cf_penalties *p, float *logits, size_t n, const cf_token *past,
                        size_t n_past, uint32_t *count)
{
    past = last(past, &n_past, p->window);
    for (size_t i = 0; i < n_past; i++) {
        if (past[i] >= 0 && (size_t)past[i] < n) {
            count[past[i]]++;
        }
    }
    /* The first visit of a token finds its count and clears it. */
    for (size_t i = 0; i < n_past; i++) {
        if (past[i] < 0 || (size_t)past[i] >= n || count[past[i]] == 0) {
            continue;
        }
        float *l = &logits[past[i]];
        *l = *l > 0.0f ? *l / p->repetition : *l * p->repetition;
        *l -= p->presence;
        *l -= p->frequency * (float)count[past[i]];
        count[past[i]] = 0;
    }
}

void cf_no_repeat_apply(uint32_t ngram, uint32_t window, float *logits, size_t n,
                        const cf_token *past, size_t n_past, uint32_t *banned)
{
    if (window != 0 && window < ngram) {
        window = ngram;
    }
    past = last(past, &n_past, window);
    if (ngram == 0 || n_past < ngram) {
        return;
    }
    size_t n_head = ngram - 1; /* what the next token would complete */
    const cf_token *head = past + n_past - n_head;
    for (size_t i = 0; i + n_head < n_past; i++) {
        cf_token id = past[i + n_head];
        if (id < 0 || (size_t)id >= n ||
            (n_head != 0 && memcmp(past + i, head, n_head * sizeof *head) != 0)) {
            continue;
        }
        logits[id] = -INFINITY;
        if (banned != NULL) {
            banned[id / 32] |= UINT32_C(1) << (id % 32);
        }
    }
}
