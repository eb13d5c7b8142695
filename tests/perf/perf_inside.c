/*
 * perf_inside.c - what looking into a model costs, in steps: how long each
 * question takes at the last position of a prompt that is cached up to it,
 * divided by the time of one decoded token.
 *
 * usage: perf_inside MODEL.gguf [TOKENS [ROUNDS]]
 *
 * Times are the least of ROUNDS, of the two long questions of every fourth, in
 * milliseconds, with two threads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/api/inside.h"
#include "core/base/alloc.h"
#include "core/base/os.h"

enum { PARTS = 20 };

typedef struct bench {
    cf_session *session;
    cf_token *ids;
    uint32_t n;
    float *logits;
    cf_error err;
} bench;

static void die(const bench *b, const char *what)
{
    fprintf(stderr, "perf_inside: %s: %s\n", what, b->err.text);
    exit(1);
}

static void on_layer(void *ud, uint32_t l, const float *logits)
{
    (void)ud, (void)l, (void)logits;
}

static cf_inside_ask ask_of(const bench *b, const cf_changes *c)
{
    return (cf_inside_ask){.ids = b->ids, .n = b->n, .at = b->n - 1, .changes = c};
}

/* ---- what is measured --------------------------------------------------- */

static cf_status step(bench *b)
{
    return cf_session_sync(b->session, b->ids, b->n, NULL, NULL, &b->err);
}

static cf_status run_plain(bench *b)
{
    const cf_inside_ask ask = ask_of(b, NULL);
    return cf_inside_run(b->session, &ask, b->logits, &b->err);
}

static cf_status look(bench *b)
{
    cf_arena arena;
    cf_inside_looks *looks;
    const cf_inside_ask ask = ask_of(b, NULL);
    cf_arena_init(&arena, 0);
    cf_status st = cf_inside_attention(b->session, &ask, &looks, &arena, &b->err);
    cf_arena_deinit(&arena);
    return st;
}

static cf_status share(bench *b)
{
    cf_arena arena;
    cf_margin margin;
    const cf_inside_ask ask = ask_of(b, NULL);
    cf_arena_init(&arena, 0);
    cf_status st = cf_inside_margin(b->session, &ask, 7, 9, &margin, &arena, &b->err);
    cf_arena_deinit(&arena);
    return st;
}

static cf_status lens(bench *b)
{
    const cf_inside_ask ask = ask_of(b, NULL);
    return cf_inside_lens(b->session, &ask, on_layer, NULL, &b->err);
}

/* The middle one of the parts. */
static cf_status hide(bench *b)
{
    uint32_t size = b->n / PARTS, first = size * (PARTS / 2);
    const cf_inside_change v = {.kind = CF_CHANGE_LOOK,
                                .last_layer =
                                    cf_engine_get_info(cf_session_engine(b->session)).n_layer - 1,
                                .from = first + size,
                                .at = {first, first + size}};
    const cf_inside_ask ask = ask_of(b, &(cf_changes){.v = &v, .n = 1});
    return cf_inside_run(b->session, &ask, b->logits, &b->err);
}

/* The queries after it, computed plainly. */
static cf_status tail(bench *b)
{
    uint32_t size = b->n / PARTS;
    cf_session_rewind(b->session, size * (PARTS / 2) + size);
    return step(b);
}

/* ---- the table ---------------------------------------------------------- */

/* A question's least time in ms so far. */
static void time_it(bench *b, cf_status (*fn)(bench *b), const char *name, double *best)
{
    uint64_t from = cf_os_monotonic_us();
    if (fn(b) != CF_OK) {
        die(b, name);
    }
    double ms = (double)(cf_os_monotonic_us() - from) / 1e3;
    *best = *best == 0 || ms < *best ? ms : *best;
}

/* All in turn, round after round, so that other work on the machine meets each alike;
 * the two long ones in every fourth round. */
static void measure(bench *b, int rounds)
{
    enum { SHORT = 5, N = 7 };
    static const struct {
        const char *name;
        cf_status (*fn)(bench *b);
    } rows[N] = {{"a decoded token", step},
                 {"without, nothing changed", run_plain},
                 {"attention", look},
                 {"margin", share},
                 {"lens", lens},
                 {"hide part 11 of 20", hide},
                 {"the queries after it, plain", tail}};
    double best[N] = {0};
    double prefill = 0;
    time_it(b, step, "prefill", &prefill);
    for (int r = 0; r < rounds; r++) {
        for (size_t i = 0; i < (r % 4 == 0 ? N : SHORT); i++) {
            time_it(b, rows[i].fn, rows[i].name, &best[i]);
        }
    }
    for (size_t i = 0; i < N; i++) {
        printf("%-30s %9.1f ms %8.2f steps\n", rows[i].name, best[i], best[i] / best[0]);
    }
}

int main(int argc, char **argv)
{
    bench b = {.n = argc > 2 ? (uint32_t)atoi(argv[2]) : 2000};
    cf_engine *e = NULL;
    if (argc < 2) {
        fprintf(stderr, "usage: perf_inside MODEL.gguf [TOKENS [ROUNDS]]\n");
        return 2;
    }
    if (cf_engine_open(&e, argv[1], &(cf_engine_options){.n_threads = 2}, &b.err) != CF_OK ||
        cf_session_new(&b.session, e, &(cf_session_options){.n_ctx = b.n + 16}, &b.err) != CF_OK) {
        die(&b, argv[1]);
    }
    uint32_t n_vocab = cf_engine_get_info(e).n_vocab;
    b.ids = cf_calloc(b.n, sizeof *b.ids);
    b.logits = cf_calloc(n_vocab, sizeof *b.logits);
    for (uint32_t i = 0; i < b.n; i++) {
        b.ids[i] = (cf_token)((300 + i * UINT32_C(7919)) % n_vocab);
    }
    measure(&b, argc > 3 ? atoi(argv[3]) : 5);
    cf_free(b.ids);
    cf_free(b.logits);
    cf_session_free(b.session);
    cf_engine_close(e);
    return 0;
}
