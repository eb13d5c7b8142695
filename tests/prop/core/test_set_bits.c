/*
 * test_set_bits.c - every kernel set gives the same logits, to the bit.
 *
 * Tiny random models of every architecture and weight type, with every fast
 * set of this machine and both arithmetics, from one pass and from small
 * batches.  They are
 * also compared with stored hashes, so that machines agree that cannot be
 * compared side by side: x86 here and ARM under an emulator (make check-arm64).
 */
#include <inttypes.h>

#include "core/api/session.h"
#include "core/kernel/kernel.h"
#include "tests/support/rand.h"
#include "tests/support/slow.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

enum {
    N_TOKENS = 37,
    N_LONG = 2 * CF_ATTN_CHUNK + 50, /* three steps of the softmax */
    N_VOCAB = 320
};

static void keep_logits(void *ud, uint32_t pos, const float *logits)
{
    float *all = ud;
    memcpy(all + (size_t)pos * N_VOCAB, logits, N_VOCAB * sizeof *logits);
}

/* A text, computed in chunks of n_batch tokens by a set. */
typedef struct job {
    const void *file;
    size_t n_file;
    const cf_token *ids;
    size_t n;
    uint32_t n_batch;
    const char *set;
    cf_arithmetic arithmetic;
    cf_cache_type cache;
} job;

/* All its logits. */
static void compute(float *out, const job *j)
{
    cf_error err;
    cf_engine *e = NULL;
    cf_session *s = NULL;
    cf_engine_options eo = {
        .n_threads = 1, .kernel_set = j->set, .arithmetic = j->arithmetic, .cache = j->cache};
    cf_session_options so = {.n_ctx = (uint32_t)j->n + 1, .n_batch = j->n_batch};
    cf_run run = {.logits = keep_logits, .ud = out};
    T_OK(cf_engine_open_memory(&e, j->file, j->n_file, &eo, &err), err);
    T_OK(cf_session_new(&s, e, &so, &err), err);
    T_OK(cf_session_sync(s, j->ids, j->n, &run, NULL, &err), err);
    cf_session_free(s);
    cf_engine_close(e);
}

static uint64_t hash_of(uint64_t h, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) { /* FNV-1a over 32-bit words */
        uint32_t u;
        memcpy(&u, &x[i], sizeof u);
        h = (h ^ u) * 0x100000001B3u;
    }
    return h;
}

/* Compares all sets on one model and n tokens, and goes on with the hash. */
static uint64_t check_cached(uint64_t hash, const cf_tiny_options *o, cf_arithmetic arithmetic,
                             cf_cache_type cache, size_t n, uint32_t n_batch)
{
    static float want[N_LONG * N_VOCAB], have[N_LONG * N_VOCAB];
    cf_kernels_entry set;
    cf_token ids[N_LONG];
    cf_rand r = {o->seed + 1};
    size_t n_set = 0, n_byte = n * N_VOCAB * sizeof *want;
    job j = {.ids = ids, .n = n, .arithmetic = arithmetic, .cache = cache};
    void *file = cf_tiny_gguf(o, &j.n_file);
    j.file = file;
    for (size_t i = 0; i < n; i++) {
        ids[i] = (cf_token)cf_rand_below(&r, N_VOCAB);
    }
    for (size_t i = 0; cf_kernels_list(i, &set); i++) {
        if (!set.is_there || strcmp(set.name, "ref") == 0) {
            continue;
        }
        float *to = n_set++ == 0 ? want : have;
        j.set = set.name;
        j.n_batch = 0;
        compute(to, &j);
        if (memcmp(to, want, n_byte) != 0) {
            fail_msg("%s, %s: set %s differs", o->arch ? o->arch : "llama",
                     cf_dtype_get(o->type).name, set.name);
        }
        j.n_batch = n_batch;
        compute(have, &j);
        if (memcmp(have, want, n_byte) != 0) {
            fail_msg("%s, %s: set %s differs in small batches", o->arch ? o->arch : "llama",
                     cf_dtype_get(o->type).name, set.name);
        }
    }
    cf_tiny_free(file);
    return n_set > 0 ? hash_of(hash, want, n * N_VOCAB) : 0;
}

static uint64_t check_tokens(uint64_t hash, const cf_tiny_options *o, cf_arithmetic arithmetic,
                             size_t n, uint32_t n_batch)
{
    return check_cached(hash, o, arithmetic, CF_CACHE_DEFAULT, n, n_batch);
}

static uint64_t check_model(uint64_t hash, const cf_tiny_options *o, cf_arithmetic arithmetic)
{
    return check_tokens(hash, o, arithmetic, N_TOKENS, 3);
}

/* The stored hashes of an arithmetic. */
typedef struct arithmetic {
    cf_arithmetic which;
    uint64_t architectures, types, odd_shapes, long_contexts, caches;
} arithmetic;

static void check_hash(const char *what, uint64_t have, uint64_t want)
{
    if (have == 0) {
        T_SKIP("no fast kernel set on this machine");
    }
    if (have != want) {
        fail_msg("%s: hash %016" PRIx64 ", stored %016" PRIx64, what, have, want);
    }
}

static const uint64_t seed = 0xCBF29CE484222325u;

/* A fixed list, so that new architectures do not change the stored hash. */
static void test_sets__architectures(void **state)
{
    const arithmetic *a = *state;
    static const char *const archs[] = {"llama",  "qwen2",  "qwen3", "gemma",
                                        "gemma2", "gemma3", "phi3"};
    uint64_t hash = seed;
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        hash = check_model(
            hash, &(cf_tiny_options){.arch = archs[i], .seed = 300 + i, .type = CF_Q8_0}, a->which);
    }
    check_hash("architectures", hash, a->architectures);
}

/* The others: all sets, without a stored hash. */
static void test_sets__every_architecture(void **state)
{
    const arithmetic *a = *state;
    for (size_t i = 0; cf_tiny_archs[i] != NULL; i++) {
        check_model(seed,
                    &(cf_tiny_options){.arch = cf_tiny_archs[i], .seed = 600 + i, .type = CF_Q8_0},
                    a->which);
    }
}

static void test_sets__types(void **state)
{
    const arithmetic *a = *state;
    static const cf_dtype types[] = {CF_F32,  CF_F16,  CF_BF16, CF_Q8_0,   CF_Q4_0,
                                     CF_Q4_1, CF_Q5_0, CF_Q5_1, CF_Q2_K,   CF_Q3_K,
                                     CF_Q4_K, CF_Q5_K, CF_Q6_K, CF_IQ4_NL, CF_IQ4_XS};
    uint64_t hash = seed;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        hash = check_model(
            hash,
            &(cf_tiny_options){.type = types[i], .seed = 400 + i, .n_layer = 1, .has_output = true},
            a->which);
    }
    check_hash("types", hash, a->types);
}

/* Any other type that a file may have: all sets, without a stored hash. */
static void test_sets__every_type(void **state)
{
    const arithmetic *a = *state;
    for (uint32_t type = 0; type < CF_DTYPE_COUNT; type++) {
        if (cf_dtype_get(type).name != NULL) {
            check_model(
                seed, &(cf_tiny_options){.type = (cf_dtype)type, .seed = 500 + type, .n_layer = 1},
                a->which);
        }
    }
}

/* Shapes that no vector divides. */
static void test_sets__odd_shapes(void **state)
{
    const arithmetic *a = *state;
    uint64_t hash = seed;
    hash =
        check_model(hash, &(cf_tiny_options){.n_head_kv = 1, .n_head = 5, .n_embd = 40}, a->which);
    hash = check_model(
        hash,
        &(cf_tiny_options){.n_head_kv = 3, .n_head = 3, .head_size = 10, .n_ff = 37, .n_embd = 33},
        a->which);
    hash = check_model(hash, &(cf_tiny_options){.arch = "phi3", .head_size_v = 24}, a->which);
    check_hash("odd shapes", hash, a->odd_shapes);
}

/* Positions in several chunks of the softmax, with windows and without. */
static void test_sets__long_contexts(void **state)
{
    const arithmetic *a = *state;
    static const char *const archs[] = {"llama", "gemma3", "gpt-oss"};
    uint64_t hash = seed;
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        hash = check_tokens(hash,
                            &(cf_tiny_options){.arch = archs[i], .seed = 700 + i, .type = CF_Q8_0},
                            a->which, N_LONG, 67);
    }
    check_hash("long contexts", hash, a->long_contexts);
}

/* Rounded keys and values, and a latent that is cached once. */
static void test_sets__caches(void **state)
{
    const arithmetic *a = *state;
    static const char *const archs[] = {"llama", "gemma3", "deepseek2"};
    static const cf_cache_type caches[] = {CF_CACHE_F16, CF_CACHE_Q8_0, CF_CACHE_Q4_0};
    uint64_t hash = seed;
    for (size_t i = 0; i < 9; i++) {
        const cf_tiny_options o = {.arch = archs[i / 3], .seed = 800 + i, .type = CF_Q8_0};
        hash = check_cached(hash, &o, a->which, caches[i % 3], N_TOKENS, 3);
        if (i % 3 > 0) {
            hash = check_cached(hash, &o, a->which, caches[i % 3], N_LONG, 67);
        }
    }
    check_hash("caches", hash, a->caches);
}

/* A test of one arithmetic. */
#define OF(test, which)                             \
    {                                               \
#test "__" #which, test, NULL, NULL, &which \
    }

int main(void)
{
    arithmetic bits_16 = {CF_ARITHMETIC_16,   0x2550f91430097203, 0x3634cab9d1523e9c,
                          0xc944ce55a12e4772, 0xe9a6679649b13ff0, 0x5f58ce21c10eaf60};
    arithmetic bits_8 = {CF_ARITHMETIC_8,    0xbfea7002202ae7d5, 0x53aaece53d2b7725,
                         0xc944ce55a12e4772, 0x674937cfadedcf26, 0x714e9c1d383b278c};
    const struct CMUnitTest tests[] = {
        OF(test_sets__architectures, bits_16), OF(test_sets__every_architecture, bits_16),
        OF(test_sets__types, bits_16),         OF(test_sets__every_type, bits_16),
        OF(test_sets__odd_shapes, bits_16),    OF(test_sets__long_contexts, bits_16),
        OF(test_sets__caches, bits_16),        OF(test_sets__caches, bits_8),
        OF(test_sets__architectures, bits_8),  OF(test_sets__every_architecture, bits_8),
        OF(test_sets__types, bits_8),          OF(test_sets__every_type, bits_8),
        OF(test_sets__odd_shapes, bits_8),     OF(test_sets__long_contexts, bits_8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
