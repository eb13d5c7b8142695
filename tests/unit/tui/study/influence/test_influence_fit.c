/*
 * test_influence_fit.c - random ablations against the truth of twenty prompts,
 * of which every set of parts is left out: how well the fit of 32 passes orders
 * all of them, beside leaving out one part at a time and exact Shapley values.
 */
#include "tests/support/t.h"

#include <math.h>

#include "core/base/alloc.h"
#include "templates/open.h"
#include "tests/support/program.h"
#include "tests/support/slow.h"
#include "tests/support/store_dir.h"
#include "tui/demo/demo.h"
#include "tui/study/ask/answer.h"
#include "tui/study/influence/influence.h"

enum { PASSES = 32, DRAWS = 10, PARTS_MAX = 8, SETS_MAX = 1 << PARTS_MAX };

typedef struct prompt {
    const char *text;
    const char *tools[4];
} prompt;

static const prompt prompts[] = {
    /* Said twice. */
    {"How do I regenerate a reply? I am new here. How can I regenerate a reply?",
     {"get_weather", "get_time"}},
    {"What is the weather in Oslo? I am back. How is the weather in Oslo?",
     {"get_weather", "calculate"}},
    {"What is the weather in Cairo? Tell me the weather in Cairo. Thanks.",
     {"get_weather", "get_time"}},
    {"What time is it in Lima? Hello. What time is it in Lima?", {"get_time", "get_weather"}},
    {"I need the weather in Berlin. I like tea. What is the weather in Berlin?",
     {"get_weather", "set_timer"}},
    {"How is the weather in Dublin? It rains. How is the weather in Dublin?",
     {"get_weather", "get_time"}},
    {"How can I regenerate a reply? The sky is blue. How do I regenerate a reply?",
     {"calculate", "set_timer"}},
    /* Two are needed. */
    {"I live in Oslo. What is the weather there? Thank you.", {"get_weather", "get_time"}},
    {"What is the weather in Paris? I am back. Thank you!", {"get_weather", "calculate"}},
    {"What time is it in Tokyo? I like tea. Hello!", {"get_time", "set_timer"}},
    {"What is 12 times 7? I am new here. Please.", {"calculate", "get_time"}},
    {"Set a timer for 5 minutes. I am cooking. Thanks.", {"set_timer", "get_time"}},
    {"I am in Lima. How is the weather? I like tea.", {"get_weather", "set_timer"}},
    {"What is the weather in Quito? Who made you? It rains.", {"get_weather", "send_message"}},
    /* One, and distractors. */
    {"I am new here. What is a prompt? I like tea. It rains. Hello.", {0}},
    {"Hello! How do I regenerate a reply? The sky is blue. Thank you. It rains.", {0}},
    {"The sky is blue. What is confab? I like tea. I am back. Thanks.", {0}},
    {"I like tea. Who made you? It rains. The sky is blue. Hello.", {0}},
    {"It rains. Tell me a joke. I am back. The sky is blue. Thanks.", {0}},
    {"Hello. What is a template? I like tea. It rains. I am new here.", {0}},
};
enum { N_PROMPTS = sizeof prompts / sizeof prompts[0] };

typedef struct bench {
    cf_opened opened;
    cf_study_engine engine;
    json_t *tools;
    cf_store *store; /* scores of one draw serve the next */
} bench;

static bench b;

static int set_up(void **state)
{
    cf_error err;
    if (store_dir_make(state) != 0) {
        return -1;
    }
    if (!cf_program_has_model()) {
        return 0;
    }
    const cf_open_options o = {.model = "bundled", .n_threads = 2};
    const cf_store_options s = {.flags = CF_STORE_CREATE};
    cf_status st = cf_open_backend(&b.opened, &o, NULL, &err);
    CF_THEN(st, cf_store_open(&b.store, store_dir_file("fit.db"), &s, &err));
    b.engine = cf_study_engine_of(&b.opened);
    b.engine.roles = &b.opened.roles;
    b.tools = cf_demo_declarations();
    return st == CF_OK && b.tools != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    cf_store_close(b.store);
    json_decref(b.tools);
    cf_opened_close(&b.opened);
    return store_dir_remove(state);
}

static json_t *tools_of(const prompt *p)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(b.tools); i++) {
        const json_t *tool = json_array_get(b.tools, i);
        cf_str name = cf_json_get_str(json_object_get(tool, "function"), "name");
        for (size_t k = 0; p->tools[k] != NULL; k++) {
            if (cf_str_is(name, p->tools[k])) {
                assert_int_equal(json_array_append(list, cf_json_ref(tool)), 0);
            }
        }
    }
    return list;
}

/* The prompt with the greedy reply to it. */
static void make_case(cf_study_case *c, const prompt *p)
{
    cf_error err;
    cf_chat_response r;
    cf_tool_set *tools = NULL;
    const cf_chat_options options = {.has_sampling = true, .max_tokens = 60};
    cf_study_case_init(c);
    c->messages = json_pack("[{s:s,s:s}]", "role", "user", "content", p->text);
    c->tools = p->tools[0] != NULL ? tools_of(p) : NULL;
    const cf_part_context context = cf_study_context_of(c);
    json_t *json = cf_study_context_json(&context);
    if (c->tools != NULL) {
        T_OK(cf_tool_set_new(&tools, c->tools, &err), err);
    }
    const cf_question q = {
        .context = json, .tools = tools, .options = &options, .forces_reply = true};
    cf_chat_response_init(&r);
    T_OK(cf_answer(b.engine.backend, &q, &r, &err), err);
    c->reply = cf_str_make(cf_arena_strndup(&c->arena, cf_buf_cstr(&r.raw), r.raw.n), r.raw.n);
    cf_chat_response_deinit(&r);
    cf_tool_set_free(tools);
    json_decref(json);
}

static void measure(cf_influence *v, const cf_study_case *c, uint32_t budget, uint64_t seed)
{
    cf_error err;
    cf_study_scorer s;
    const cf_influence_options o = {.kinds = 1u << CF_PART_SENTENCE | 1u << CF_PART_TOOL,
                                    .message = SIZE_MAX,
                                    .tool = SIZE_MAX,
                                    .budget = budget,
                                    .seed = seed,
                                    .has_no_groups = true};
    cf_influence_init(v);
    T_OK(cf_study_scorer_init(&s, b.engine.backend, b.store, NULL, &err), err);
    T_OK(cf_influence_make(v, c, &b.engine, &s, &o, NULL, NULL, &err), err);
    cf_study_scorer_deinit(&s);
}

/* Every set of parts: score[kept bits]. */
typedef struct truth {
    size_t n_part;
    double score[SETS_MAX];
} truth;

static void find_truth(truth *t, const cf_study_case *c)
{
    cf_influence v;
    measure(&v, c, SETS_MAX, 0);
    t->n_part = v.n_row;
    assert_true(v.n_row >= 2 && v.n_row <= PARTS_MAX);
    assert_int_equal(v.n_ablation, (size_t)1 << v.n_row);
    for (size_t i = 0; i < v.n_ablation; i++) {
        size_t set = 0;
        for (size_t k = 0; k < v.n_row; k++) {
            set |= (size_t)v.kept[i * v.n_row + k] << k;
        }
        t->score[set] = v.score[i];
    }
    cf_influence_deinit(&v);
}

/* How well sums of weights order all sets that keep something. */
static double lds(const truth *t, const double *weight)
{
    size_t n = ((size_t)1 << t->n_part) - 1;
    double guess[SETS_MAX], scratch[2 * SETS_MAX], out;
    for (size_t set = 1; set <= n; set++) {
        guess[set - 1] = 0;
        for (size_t k = 0; k < t->n_part; k++) {
            guess[set - 1] += (set >> k & 1) != 0 ? weight[k] : 0;
        }
    }
    (void)cf_influence_rank_correlation(guess, t->score + 1, n, scratch, &out);
    return out;
}

static double of_leaving_out(const truth *t)
{
    size_t all = ((size_t)1 << t->n_part) - 1;
    double weight[PARTS_MAX];
    for (size_t k = 0; k < t->n_part; k++) {
        weight[k] = t->score[all] - t->score[all & ~((size_t)1 << k)];
    }
    return lds(t, weight);
}

static size_t count_bits(size_t set)
{
    size_t n = 0;
    for (; set != 0; set &= set - 1) {
        n++;
    }
    return n;
}

static double of_shapley(const truth *t)
{
    double weight[PARTS_MAX] = {0}, factorial[PARTS_MAX + 1] = {1};
    for (size_t i = 1; i <= t->n_part; i++) {
        factorial[i] = factorial[i - 1] * (double)i;
    }
    for (size_t k = 0; k < t->n_part; k++) {
        size_t bit = (size_t)1 << k;
        for (size_t set = 0; set < (size_t)1 << t->n_part; set++) {
            size_t n = count_bits(set);
            if ((set & bit) == 0) {
                weight[k] += factorial[n] * factorial[t->n_part - n - 1] / factorial[t->n_part] *
                             (t->score[set | bit] - t->score[set]);
            }
        }
    }
    return lds(t, weight);
}

static double of_budget(const truth *t, const cf_study_case *c, uint64_t seed)
{
    cf_influence v;
    double weight[PARTS_MAX];
    measure(&v, c, PASSES, seed);
    assert_true(v.n_pass - 1 <= PASSES);
    for (size_t k = 0; k < v.n_row; k++) {
        weight[k] = -v.row[k].delta;
    }
    cf_influence_deinit(&v);
    return lds(t, weight);
}

static void test_influence_fit__orders_ablations(void **state)
{
    (void)state;
    if (!cf_program_has_model()) {
        T_SKIP("no bundled model in this tree");
    }
    if (T_IS_SLOW) {
        T_SKIP("1,000 scores take too long in this build");
    }
    double leaving = 0, shapley = 0, budget = 0;
    for (size_t i = 0; i < N_PROMPTS; i++) {
        cf_study_case c;
        truth t;
        double mine = 0;
        make_case(&c, &prompts[i]);
        find_truth(&t, &c);
        for (uint64_t seed = 1; seed <= DRAWS; seed++) {
            mine += of_budget(&t, &c, seed) / DRAWS;
        }
        leaving += of_leaving_out(&t) / N_PROMPTS;
        shapley += of_shapley(&t) / N_PROMPTS;
        budget += mine / N_PROMPTS;
        cf_study_case_deinit(&c);
    }
    print_message("LDS: leaving out %.3f, %d passes %.3f, Shapley %.3f\n", leaving, (int)PASSES,
                  budget, shapley);
    assert_true(budget >= leaving + 0.05);
    assert_true(budget >= shapley - 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_influence_fit__orders_ablations),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
