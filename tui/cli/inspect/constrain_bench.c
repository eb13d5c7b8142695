/*
 * constrain_bench.c - times compilations and masks.
 */
#include "tui/cli/inspect/constrain_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"

void cf_constrain_bench_deinit(cf_constrain_bench *b)
{
    cf_free(b->mask_us);
    cf_free(b->compile_us);
    cf_free(b->mask);
    memset(b, 0, sizeof *b);
}

static bool put(uint32_t **v, size_t *n, size_t *cap, uint64_t us)
{
    if (*n == *cap) {
        size_t more = *cap < 64 ? 64 : *cap * 2;
        uint32_t *grown = cf_realloc(*v, more, sizeof **v);
        if (grown == NULL) {
            return false;
        }
        *v = grown;
        *cap = more;
    }
    (*v)[(*n)++] = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
    return true;
}

void cf_constrain_bench_compiled(cf_constrain_bench *b, uint64_t us)
{
    b->compile_sum_ns += us * 1000;
    (void)put(&b->compile_us, &b->n_compile, &b->cap_compile, us);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    /* of this thread, so that other programs do not count */
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static cf_status follow(cf_constrain_bench *b, cf_constraint *c, const cf_token_list *ids,
                        bool *is_accepted, cf_error *err)
{
    *is_accepted = false;
    for (size_t i = 0; i <= ids->n; i++) {
        uint64_t began = now_ns();
        CF_TRY(cf_constraint_mask(c, b->mask, err));
        uint64_t ns = now_ns() - began;
        b->mask_sum_ns += ns;
        if (!put(&b->mask_us, &b->n_mask, &b->cap_mask, (ns + 500) / 1000)) {
            return cf_oom(err);
        }
        if (i == ids->n) {
            break;
        }
        cf_token id = ids->v[i].id;
        if ((b->mask[id / 32] >> (id % 32) & 1) == 0) {
            b->n_refused++;
            return CF_OK;
        }
        CF_TRY(cf_constraint_token(c, id, err));
    }
    b->n_text++;
    *is_accepted = cf_constraint_may_end(c);
    return CF_OK;
}

cf_status cf_constrain_bench_text(cf_constrain_bench *b, const cf_grammar *g,
                                  const cf_constraint_vocab *vocab, const cf_tokenizer *tok,
                                  cf_str text, bool *is_accepted, cf_error *err)
{
    cf_arena arena;
    cf_token_list ids;
    cf_constraint *c = NULL;
    if (b->mask == NULL) {
        b->mask = cf_calloc(cf_constraint_vocab_n(vocab) / 32 + 1, sizeof *b->mask);
        if (b->mask == NULL) {
            return cf_oom(err);
        }
    }
    cf_arena_init(&arena, 0);
    cf_status st = cf_tokenizer_encode(&ids, tok, text, false, false, &arena, err);
    CF_THEN(st, cf_constraint_new(&c, g, vocab, err));
    CF_THEN(st, follow(b, c, &ids, is_accepted, err));
    cf_constraint_free(c);
    cf_arena_deinit(&arena);
    return st;
}

static int by_value(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x;
    uint32_t b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

static void put_one(cf_buf *out, const char *name, uint32_t *v, size_t n, uint64_t sum_ns)
{
    if (n > 0) {
        qsort(v, n, sizeof *v, by_value);
    }
    cf_buf_addf(out,
                "\"%s\":{\"n\":%zu,\"mean_us\":%.1f,\"median_us\":%u,"
                "\"p99_us\":%u,\"max_us\":%u}",
                name, n, n > 0 ? (double)sum_ns / 1000.0 / (double)n : 0.0, n > 0 ? v[n / 2] : 0,
                n > 0 ? v[n * 99 / 100] : 0, n > 0 ? v[n - 1] : 0);
}

void cf_constrain_bench_put(cf_buf *out, cf_constrain_bench *b, size_t n_vocab)
{
    cf_buf_addf(out, "{\"vocab\":%zu,\"texts\":%zu,\"refused\":%zu,", n_vocab, b->n_text,
                b->n_refused);
    put_one(out, "compile", b->compile_us, b->n_compile, b->compile_sum_ns);
    cf_buf_addc(out, ',');
    put_one(out, "mask", b->mask_us, b->n_mask, b->mask_sum_ns);
    cf_buf_adds(out, "}\n");
}
