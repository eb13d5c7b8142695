/*
 * test_text_plan.c - the probability of a text under a constraint is the sum
 * over all tokens that can write it, found here by trying all of them.
 */
#include "tests/support/t.h"

#include <math.h>

#include "core/base/alloc.h"
#include "templates/open.h"
#include "templates/text_plan.h"
#include "tests/support/program.h"

static cf_engine *engine;
static cf_text_pieces pieces;
static cf_constraint_vocab *vocab;

static int set_up(void **state)
{
    cf_error err;
    const cf_open_options o = {.model = "bundled"};
    (void)state;
    if (!cf_program_has_model()) {
        return 0;
    }
    cf_status st = cf_open_engine(&engine, &o, true, &err);
    CF_THEN(st, cf_text_pieces_init(&pieces, cf_engine_tokenizer(engine), &err));
    CF_THEN(st, cf_constraint_vocab_from_tokenizer(&vocab, pieces.tok, &err));
    return st == CF_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    cf_constraint_vocab_free(vocab);
    cf_text_pieces_deinit(&pieces);
    cf_engine_close(engine);
    return 0;
}

/* Logits that depend on every token before. */
static void make_logits(float *out, uint64_t seed)
{
    for (size_t i = 0; i < pieces.n_vocab; i++) {
        uint64_t x = (seed + i) * UINT64_C(0x9E3779B97F4A7C15);
        x ^= x >> 29;
        x *= UINT64_C(0xBF58476D1CE4E5B9);
        out[i] = (float)(x >> 40) / 2000000.0f;
    }
}

static uint64_t after(uint64_t seed, cf_token id)
{
    return (seed ^ (uint64_t)id) * UINT64_C(0x100000001B3) + 7;
}

/* The probability that the constraint lets a text come that begins with
 * `text`, over every token that may. */
static double brute(cf_constraint *c, cf_str text, uint64_t seed)
{
    cf_error err;
    float *logits = cf_calloc(pieces.n_vocab, sizeof *logits);
    uint32_t *mask = cf_calloc(pieces.n_vocab / 32 + 1, sizeof *mask);
    double all = 0, sum = 0;
    if (text.n == 0) {
        cf_free(logits);
        cf_free(mask);
        return 1;
    }
    make_logits(logits, seed);
    T_OK(cf_constraint_mask(c, mask, &err), err);
    for (size_t id = 0; id < pieces.n_vocab; id++) {
        all += (mask[id / 32] >> (id % 32) & 1) != 0 ? exp((double)logits[id]) : 0;
    }
    for (size_t id = 0; id < pieces.n_vocab; id++) {
        const char *p = cf_buf_cstr(&pieces.bytes) + pieces.off[id];
        size_t n = pieces.off[id + 1] - pieces.off[id], most = n < text.n ? n : text.n;
        if ((mask[id / 32] >> (id % 32) & 1) == 0 || n == 0 || memcmp(p, text.p, most) != 0) {
            continue;
        }
        double q = exp((double)logits[id]) / all;
        T_OK(cf_constraint_token(c, (cf_token)id, &err), err);
        sum += q * brute(c, cf_str_make(text.p + most, text.n - most), after(seed, (cf_token)id));
        cf_constraint_rollback(c, 1);
    }
    cf_free(logits);
    cf_free(mask);
    return sum;
}

/* The same by a plan along the vocabulary's own tokens. */
static double planned(cf_constraint *c, cf_str text, uint64_t seed)
{
    cf_error err;
    cf_arena arena;
    cf_token_list list;
    cf_text_plan plan;
    cf_arena_init(&arena, 0);
    cf_text_plan_init(&plan);
    T_OK(cf_tokenizer_encode(&list, pieces.tok, text, true, false, &arena, &err), err);
    size_t before = cf_constraint_n_steps(c);
    for (size_t i = 0; i < list.n; i++) {
        T_OK(cf_text_plan_add(&plan, &pieces, c, list.v[i].id, false, &arena, &err), err);
    }
    cf_constraint_rollback(c, cf_constraint_n_steps(c) - before);
    T_OK(cf_text_plan_finish(&plan, &pieces, &err), err);
    float *logits = cf_calloc(pieces.n_vocab, sizeof *logits);
    float *read = cf_calloc(plan.n_way, sizeof *read), *log_p = cf_calloc(plan.n, sizeof *log_p);
    for (size_t i = 0; i < plan.n; i++) {
        make_logits(logits, seed);
        cf_text_plan_read(&plan, i, logits, pieces.n_vocab, read);
        seed = after(seed, list.v[i].id);
    }
    T_OK(cf_text_plan_sum(&plan, read, log_p, &err), err);
    double sum = 0;
    for (size_t i = 0; i < plan.n; i++) {
        sum += (double)log_p[i];
    }
    cf_free(logits);
    cf_free(read);
    cf_free(log_p);
    cf_text_plan_deinit(&plan);
    cf_arena_deinit(&arena);
    return exp(sum);
}

/* Values that part at their first byte have their exact share, whatever the
 * tokens before did to the logits, and the shares add up to one. */
static void test_text_plan__choices(void **state)
{
    (void)state;
    if (!cf_program_has_model()) {
        T_SKIP("no bundled model in this tree");
    }
    const cf_str choices[] = {cf_str_from("lint"), cf_str_from("render"), cf_str_from("bisect"),
                              cf_str_from("get_weather")};
    cf_error err;
    cf_grammar *grammar;
    cf_constraint *c;
    T_OK(cf_grammar_from_choices(&grammar, choices, 4, NULL, &err), err);
    T_OK(cf_constraint_new(&c, grammar, vocab, &err), err);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        double all = 0;
        for (size_t i = 0; i < 4; i++) {
            double p = planned(c, choices[i], seed);
            double want = brute(c, choices[i], seed);
            if (fabs(log(p) - log(want)) > 1e-5) {
                print_message("seed %u: %s has %g, not %g\n", (unsigned)seed, choices[i].p, p,
                              want);
                fail();
            }
            all += p;
        }
        assert_true(fabs(all - 1) < 1e-5);
    }
    cf_constraint_free(c);
    cf_grammar_free(grammar);
}

/* What must follow is certain, and an end is where one may come. */
static void test_text_plan__forced(void **state)
{
    (void)state;
    if (!cf_program_has_model()) {
        T_SKIP("no bundled model in this tree");
    }
    const cf_str only = cf_str_from("render the template");
    cf_error err;
    cf_arena arena;
    cf_grammar *grammar;
    cf_constraint *c;
    cf_text_plan plan;
    T_OK(cf_grammar_from_choices(&grammar, &only, 1, NULL, &err), err);
    T_OK(cf_constraint_new(&c, grammar, vocab, &err), err);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        assert_true(fabs(planned(c, only, seed) - 1) < 1e-6);
    }
    cf_arena_init(&arena, 0);
    cf_text_plan_init(&plan);
    T_FAILS(cf_text_plan_add_end(&plan, &pieces, c, &arena, &err), CF_EINVAL);
    cf_token wrong = cf_tokenizer_find(pieces.tok, cf_str_from("l"));
    T_FAILS(cf_text_plan_add(&plan, &pieces, c, wrong, false, &arena, &err), CF_EINVAL);
    cf_text_plan_deinit(&plan);
    cf_arena_deinit(&arena);
    cf_constraint_free(c);
    cf_grammar_free(grammar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_plan__choices),
        cmocka_unit_test(test_text_plan__forced),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
