/*
 * perf_store.c - how fast the history is: `perf_store DATABASE N REPEATS`.
 *
 * Makes N conversations of ten turns in DATABASE (a new file; an existing one
 * is measured as it is), then measures list, open, search and streaming,
 * REPEATS times each.
 *
 * With PERF_CPU in the environment the times are those of the processor.
 *
 * Words are drawn so that a few are in most messages and most in few, as in
 * real text; queries are drawn the same way.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "storage/store.h"

enum { TURNS = 10, BATCH = 64, N_WORDS = 20000, STREAMS = 20, TOKENS = 1000 };

typedef struct perf {
    cf_store *store;
    uint64_t rand;
    uint32_t n_convs, n_reps;
    double *us;
    size_t n_us;
} perf;

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next(perf *b)
{
    uint64_t z = b->rand += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Word number k is drawn about 1/k as often as the first. */
static unsigned some_word(perf *b)
{
    double u = (double)(next(b) >> 11) / 9007199254740992.0;
    return (unsigned)(pow((double)N_WORDS, u) - 1.0);
}

static void put_word(cf_buf *out, unsigned w)
{
    static const char syllables[16][3] = {"ba", "de", "fi", "go", "hu", "ka", "le", "mi",
                                          "no", "pu", "ra", "se", "ti", "vo", "wu", "za"};
    for (int i = 0; i < 4; i++) {
        cf_buf_adds(out, syllables[w >> 4 * i & 15]);
    }
}

static void put_text(perf *b, cf_buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(out, i != 0 ? " " : "");
        put_word(out, some_word(b));
    }
}

/* ---- filling ------------------------------------------------------------ */

static cf_store_run *some_run(perf *b, cf_arena *a)
{
    static const char *const models[] = {"qwen-1.7b", "gemma-e2b", "llama-1b"};
    cf_store_run *r = cf_arena_calloc(a, 1, sizeof *r);
    cf_token *ids = cf_arena_calloc(a, 100, sizeof *ids);
    if (r == NULL || ids == NULL) {
        return NULL;
    }
    *r = cf_store_run_none();
    for (size_t i = 0; i < 100; i++) {
        ids[i] = (cf_token)(next(b) % 100000);
    }
    r->model = cf_str_from(models[next(b) % 3]);
    r->options = cf_str_from("{\"temperature\":0.7,\"top_p\":0.95}");
    r->reply_ids = ids;
    r->n_reply_ids = 60;
    r->prompt_ids = ids;
    r->n_prompt_ids = 100;
    r->stop_reason = cf_str_from("stop");
    return r;
}

static void some_turn(perf *b, cf_arena *a, cf_store_turn *v, size_t i, int64_t ms)
{
    cf_buf text = CF_BUF_INIT;
    bool is_user = i % 2 == 0;
    cf_buf_addf(&text, "{\"role\":\"%s\",\"content\":\"", is_user ? "user" : "assistant");
    put_text(b, &text, is_user ? 12 : 40);
    cf_buf_adds(&text, "\"}");
    v[i] = (cf_store_turn){.id = cf_uuid_new(),
                           .status = CF_TURN_OK,
                           .fork_token = -1,
                           .created_ms = ms + (int64_t)i * 1000};
    v[i].message.p = cf_arena_strndup(a, cf_buf_cstr(&text), text.n);
    v[i].message.n = text.n;
    if (i != 0) {
        v[i].parent = v[i == 7 ? 4 : i - 1].id; /* one fork each */
    }
    v[i].run = is_user ? NULL : some_run(b, a);
    cf_buf_deinit(&text);
}

static cf_status put_batch(perf *b, uint32_t from, size_t n, cf_error *err)
{
    cf_store_tree trees[BATCH];
    const cf_store_tree *p[BATCH];
    cf_store_put_report reports[BATCH];
    cf_arena a;
    cf_buf title = CF_BUF_INIT;
    cf_arena_init(&a, 0);
    static const cf_str tags[] = {{"bug", 3}, {"tools", 5}, {"golden", 6}};
    for (size_t i = 0; i < n; i++) {
        cf_store_turn *v = cf_arena_calloc(&a, TURNS, sizeof *v);
        int64_t ms = INT64_C(1700000000000) + (int64_t)(from + i) * 60000;
        cf_buf_reset(&title);
        put_text(b, &title, 4);
        trees[i] = (cf_store_tree){.turns = v, .n = TURNS};
        trees[i].conv.title.p = cf_arena_strndup(&a, cf_buf_cstr(&title), title.n);
        trees[i].conv.title.n = title.n;
        trees[i].conv.created_ms = ms;
        if (next(b) % 4 == 0) {
            trees[i].conv.tags = &tags[next(b) % 3];
            trees[i].conv.n_tags = 1;
        }
        for (size_t k = 0; v != NULL && k < TURNS; k++) {
            some_turn(b, &a, v, k, ms);
        }
        p[i] = &trees[i];
    }
    cf_status st =
        a.failed ? cf_oom(err) : cf_store_put_trees(b->store, p, n, NULL, reports, NULL, err);
    cf_buf_deinit(&title);
    cf_arena_deinit(&a);
    return st;
}

static cf_status fill(perf *b, cf_error *err)
{
    cf_store_size size;
    CF_TRY(cf_store_get_size(b->store, &size, err));
    uint64_t start = cf_os_monotonic_us();
    uint32_t done = (uint32_t)size.n_convs;
    while (done < b->n_convs) {
        uint32_t n = b->n_convs - done < BATCH ? b->n_convs - done : BATCH;
        CF_TRY(put_batch(b, done, n, err));
        done += n;
    }
    fprintf(stderr, "filled in %.1f s\n", (double)(cf_os_monotonic_us() - start) / 1e6);
    return CF_OK;
}

/* ---- measuring ---------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint64_t cpu_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Times of `report` in microseconds: on a machine with other work those of the
 * processor say more. */
static uint64_t now_us(void)
{
    return getenv("PERF_CPU") != NULL ? cpu_us() : cf_os_monotonic_us();
}

static void report(perf *b, const char *what)
{
    qsort(b->us, b->n_us, sizeof *b->us, compare);
    double p50 = b->us[b->n_us / 2] / 1000;
    double p99 = b->us[(b->n_us * 99 + 99) / 100 - 1] / 1000;
    double max = b->us[b->n_us - 1] / 1000;
    printf("%-26s %8.3f %8.3f %8.3f ms\n", what, p50, p99, max);
    b->n_us = 0;
}

typedef cf_status (*step_fn)(perf *b, cf_arena *a, cf_error *err);

static cf_status measure(perf *b, const char *what, step_fn fn, cf_error *err)
{
    cf_arena a;
    cf_arena_init(&a, 0);
    cf_status st = fn(b, &a, err); /* warms up */
    for (uint32_t i = 0; st == CF_OK && i < b->n_reps; i++) {
        cf_arena_reset(&a);
        uint64_t t0 = now_us();
        st = fn(b, &a, err);
        b->us[b->n_us++] = (double)(now_us() - t0);
    }
    cf_arena_deinit(&a);
    if (st == CF_OK) {
        report(b, what);
    }
    return st;
}

static cf_status do_list(perf *b, cf_arena *a, cf_error *err)
{
    const cf_store_conv *rows;
    size_t n;
    cf_store_query q = {.sort = (cf_store_sort)(next(b) % 4), .limit = 50};
    q.offset = next(b) % 2 == 0 ? 0 : next(b) % 1000;
    return cf_store_list(b->store, &q, a, &rows, &n, err);
}

static cf_status do_list_tag(perf *b, cf_arena *a, cf_error *err)
{
    const cf_store_conv *rows;
    size_t n;
    cf_store_query q = {.text = cf_str_from("tag:bug"), .limit = 50};
    return cf_store_list(b->store, &q, a, &rows, &n, err);
}

/* The first page of a list as its filter is typed, letter by letter: of a word,
 * as the first rows that a key shows. */
static cf_status filter_by(perf *b, cf_arena *a, bool is_quick, size_t n_letters, cf_error *err)
{
    const cf_store_conv *rows;
    size_t n;
    cf_buf text = CF_BUF_INIT;
    put_word(&text, some_word(b));
    cf_store_query q = {
        .text = {cf_buf_cstr(&text), n_letters}, .limit = 150, .is_quick = is_quick};
    cf_status st = cf_store_list(b->store, &q, a, &rows, &n, err);
    cf_buf_deinit(&text);
    return st;
}

static cf_status do_filter_key(perf *b, cf_arena *a, cf_error *err)
{
    return filter_by(b, a, true, 1 + next(b) % 8, err);
}

static cf_status do_filter_2(perf *b, cf_arena *a, cf_error *err)
{
    return filter_by(b, a, false, 2, err);
}

static cf_status do_filter_8(perf *b, cf_arena *a, cf_error *err)
{
    return filter_by(b, a, false, 8, err);
}

static cf_status list_by(perf *b, cf_arena *a, const char *text, cf_error *err)
{
    const cf_store_conv *rows;
    size_t n;
    cf_store_query q = {.text = cf_str_from(text), .limit = 150};
    return cf_store_list(b->store, &q, a, &rows, &n, err);
}

/* A list by each kind of filter, those that nothing passes too. */
static cf_status measure_filters(perf *b, cf_error *err)
{
    static const char *const filters[] = {
        "model:qwen",    "model:nothing", "status:error",   "status:stopped", "rating:good",
        "rating:any",    "has:note",      "role:tool",      "role:nobody",    "tool:weather",
        "template:a41f", "after:2026-01", "before:2001-01", "tag:nothing",    "tag:bug model:qwen"};
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        cf_arena a;
        cf_arena_init(&a, 0);
        cf_status st = list_by(b, &a, filters[i], err);
        for (uint32_t k = 0; st == CF_OK && k < b->n_reps; k++) {
            cf_arena_reset(&a);
            uint64_t t0 = now_us();
            st = list_by(b, &a, filters[i], err);
            b->us[b->n_us++] = (double)(now_us() - t0);
        }
        cf_arena_deinit(&a);
        CF_TRY(st);
        report(b, filters[i]);
    }
    return CF_OK;
}

static cf_status do_facets(perf *b, cf_arena *a, cf_error *err)
{
    const cf_store_facet *v;
    size_t n, total;
    return cf_store_facets(b->store, CF_PLACE_LIVE, a, &v, &n, &total, err);
}

static cf_status do_open(perf *b, cf_arena *a, cf_error *err)
{
    const cf_store_conv *rows;
    size_t n;
    cf_store_tree tree;
    cf_store_query q = {.limit = 1, .offset = next(b) % 2000};
    CF_TRY(cf_store_list(b->store, &q, a, &rows, &n, err));
    return n != 0 ? cf_store_get_tree(b->store, rows[0].id, CF_TREE_RUNS, a, &tree, err) : CF_OK;
}

static cf_status search_for(perf *b, cf_arena *a, size_t n_words, const char *filter, cf_error *err)
{
    cf_store_hits hits;
    cf_buf text = CF_BUF_INIT;
    put_text(b, &text, n_words);
    cf_buf_adds(&text, filter);
    cf_store_query q = {.text = {cf_buf_cstr(&text), text.n}, .limit = 50};
    cf_status st = cf_store_search(b->store, &q, a, &hits, err);
    cf_buf_deinit(&text);
    return st;
}

static cf_status do_search_1(perf *b, cf_arena *a, cf_error *err)
{
    return search_for(b, a, 1, "", err);
}

static cf_status do_search_2(perf *b, cf_arena *a, cf_error *err)
{
    return search_for(b, a, 2, "", err);
}

static cf_status do_search_prefix(perf *b, cf_arena *a, cf_error *err)
{
    return search_for(b, a, 1, "*", err);
}

static cf_status do_search_role(perf *b, cf_arena *a, cf_error *err)
{
    return search_for(b, a, 1, " role:user tag:bug", err);
}

static cf_status do_search_model(perf *b, cf_arena *a, cf_error *err)
{
    return search_for(b, a, 1, " model:gemma", err);
}

/* ---- streaming ---------------------------------------------------------- */

static cf_status append_round(perf *b, cf_stream **streams, cf_draw *draw, cf_error *err)
{
    for (size_t i = 0; i < STREAMS; i++) {
        cf_token id = (cf_token)(next(b) % 100000);
        cf_stream_piece p = {
            .raw = {" word", 5}, .ids = &id, .n_ids = 1, .us = 10000, .draw = draw};
        uint64_t t0 = cf_os_monotonic_us();
        CF_TRY(cf_stream_append(streams[i], &p, err));
        b->us[b->n_us++] = (double)(cf_os_monotonic_us() - t0);
    }
    return CF_OK;
}

/* Appends as fast as it goes: 20 streams of a thousand tokens each, with the
 * ten best candidates of every token.  At 100 tokens a second a stream these
 * are 10 seconds' worth. */
static cf_status stream(perf *b, cf_error *err)
{
    cf_stream *streams[STREAMS];
    cf_uuid conv;
    cf_store_conv c = {.title = {"streams", 7}};
    cf_draw draw = {.n_top = 10, .n_step = 5};
    for (size_t i = 0; i < 10; i++) {
        draw.top[i] = (cf_candidate){.id = (cf_token)(i * 1000), .logit = 1.0f, .p_raw = 0.1f};
    }
    for (size_t i = 0; i < 5; i++) {
        draw.step[i] = (cf_chain_step){"step", 100};
    }
    CF_TRY(cf_store_put_conv(b->store, &c, &conv, err));
    for (size_t i = 0; i < STREAMS; i++) {
        cf_store_turn t = {.conversation = conv,
                           .message = cf_str_from("{\"role\":\"assistant\",\"content\":\"\"}")};
        CF_TRY(cf_store_begin(b->store, &t, &streams[i], err));
    }
    uint64_t t0 = cf_os_monotonic_us();
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < TOKENS; i++) {
        st = append_round(b, streams, &draw, err);
        if (st == CF_OK && i % 20 == 19) {
            st = cf_store_flush(b->store, 60000, err);
        }
    }
    for (size_t i = 0; i < STREAMS; i++) {
        cf_stream_end end = {.status = CF_TURN_OK};
        cf_error ignored;
        cf_status ended = cf_store_finish(streams[i], &end, st == CF_OK ? err : &ignored);
        st = st == CF_OK ? ended : st;
    }
    CF_TRY(st);
    double s = (double)(cf_os_monotonic_us() - t0) / 1e6;
    report(b, "append (caller waits)");
    double rate = (double)STREAMS * TOKENS / s;
    printf("20 streams, on disk every 20 tokens: %.0f tokens/s\n", rate);
    return CF_OK;
}

static cf_status run(perf *b, cf_error *err)
{
    static const struct {
        const char *name;
        step_fn fn;
    } steps[] = {
        {"list", do_list},
        {"list tag:", do_list_tag},
        {"filter, first rows", do_filter_key},
        {"filter of 2 letters", do_filter_2},
        {"filter of 8 letters", do_filter_8},
        {"facets", do_facets},
        {"open", do_open},
        {"search word", do_search_1},
        {"search two words", do_search_2},
        {"search prefix", do_search_prefix},
        {"search role: tag:", do_search_role},
        {"search model:", do_search_model},
    };
    CF_TRY(fill(b, err));
    printf("%-26s %8s %8s %8s\n", "", "p50", "p99", "max");
    CF_TRY(measure_filters(b, err));
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        CF_TRY(measure(b, steps[i].name, steps[i].fn, err));
    }
    return stream(b, err);
}

int main(int argc, char **argv)
{
    cf_error err;
    if (argc != 4 || atoi(argv[2]) < 1 || atoi(argv[3]) < 1) {
        fputs("usage: perf_store DATABASE N REPEATS\n", stderr);
        return 2;
    }
    perf b = {.n_convs = (uint32_t)atoi(argv[2]), .n_reps = (uint32_t)atoi(argv[3])};
    const cf_store_options options = {.flags = CF_STORE_CREATE};
    size_t room = b.n_reps > STREAMS * TOKENS ? b.n_reps : STREAMS * TOKENS;
    b.us = cf_alloc(room * sizeof *b.us);
    cf_status st = b.us == NULL ? cf_oom(&err) : cf_store_open(&b.store, argv[1], &options, &err);
    CF_THEN(st, run(&b, &err));
    cf_store_close(b.store);
    cf_free(b.us);
    if (st != CF_OK) {
        fprintf(stderr, "perf_store: %s\n", err.text);
    }
    return st == CF_OK ? 0 : 4;
}
