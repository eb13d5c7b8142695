/*
 * test_influence_server.c - influence by servers that score texts: stand-ins
 * for vLLM, llama-server and one with OpenAI's completions, all of which follow
 * one law, so that every number is known.
 *
 * The law: a word of the reply has the logarithm -0.25 where PLANT is in the
 * prompt and -3 where it is not.
 */
#include "tests/support/t.h"

#include <math.h>
#include <pthread.h>

#include "core/base/os.h"
#include "tests/support/path_server.h"
#include "tests/support/store_dir.h"
#include "tui/study/import/plan_load.h"
#include "tui/study/influence/influence.h"
#include "tui/study/sweep/sweep.h"

static const char reply[] = " go north now";
enum { WORDS = 3 };

static double law(const char *prompt)
{
    return strstr(prompt, "PLANT") != NULL ? -0.25 : -3;
}

static char *dump(json_t *v)
{
    char *text = json_dumps(v, 0);
    char *own = text != NULL ? strdup(text) : NULL;
    json_free_t give;
    json_get_alloc_funcs(NULL, &give);
    give(text);
    json_decref(v);
    return own;
}

/* ---- the server's template ---------------------------------------------- */

/* The prompt of the last /tokenize, for /detokenize; on the server's thread. */
static char rendered[4096];

static void render(const json_t *request)
{
    const json_t *list = json_object_get(request, "messages");
    const json_t *tools = json_object_get(request, "tools");
    size_t n = 0;
    rendered[0] = '\0';
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *f = json_object_get(json_array_get(tools, i), "function");
        n += (size_t)snprintf(rendered + n, sizeof rendered - n, "[%s]",
                              json_string_value(json_object_get(f, "description")));
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *m = json_array_get(list, i);
        n += (size_t)snprintf(rendered + n, sizeof rendered - n, "<%s>%s\n",
                              json_string_value(json_object_get(m, "role")),
                              json_string_value(json_object_get(m, "content")));
    }
    snprintf(rendered + n, sizeof rendered - n, "<assistant>");
}

static char *make_template(const char *request)
{
    json_t *v = json_loads(request, 0, NULL);
    render(v);
    json_decref(v);
    return dump(json_pack("{s:s}", "prompt", rendered));
}

/* Text as words, each with the blanks before it. */
static size_t next_word(const char *text, size_t at)
{
    size_t end = at + 1;
    while (text[end] != '\0' && text[end] != ' ') {
        end++;
    }
    return end;
}

/* ---- vLLM --------------------------------------------------------------- */

static char *make_tokens(const char *request)
{
    json_t *v = json_loads(request, 0, NULL);
    render(v);
    json_decref(v);
    return dump(json_pack("{s:[i], s:[s]}", "tokens", 1, "token_strs", "whole"));
}

static char *make_detokenized(const char *request)
{
    (void)request;
    return dump(json_pack("{s:s}", "prompt", rendered));
}

static char *make_prompt_logprobs(const char *request)
{
    json_t *v = json_loads(request, 0, NULL), *list = json_array();
    const char *text = json_string_value(json_object_get(v, "prompt"));
    assert_true(json_is_integer(json_object_get(v, "prompt_logprobs")));
    size_t at = 0;
    for (int i = 0; text[at] != '\0'; i++) {
        size_t end = next_word(text, at);
        json_t *one = json_pack("{s:{s:f, s:i, s:s%}}", "7", "logprob", law(text), "rank", 1,
                                "decoded_token", text + at, end - at);
        json_array_append_new(list, i == 0 ? json_null() : one);
        if (i == 0) {
            json_decref(one);
        }
        at = end;
    }
    json_decref(v);
    return dump(json_pack("{s:[{s:s,s:o}]}", "choices", "text", "x", "prompt_logprobs", list));
}

static const cf_path_answer vllm[] = {{.path = "/version", .body = "{\"version\":\"0.10.1\"}"},
                                      {.path = "/v1/models", .body = "{\"data\":[{\"id\":\"m\"}]}"},
                                      {.path = "/tokenize", .make = make_tokens},
                                      {.path = "/detokenize", .make = make_detokenized},
                                      {.path = "/v1/completions", .make = make_prompt_logprobs},
                                      {.path = NULL}};

/* ---- llama-server ------------------------------------------------------- */

/* The first id is the whole prompt, later ones words of the reply. */
static char *make_pieces(const char *request)
{
    json_t *v = json_loads(request, 0, NULL), *list = json_array();
    const char *text = json_string_value(json_object_get(v, "content"));
    size_t n = strlen(text) - strlen(reply);
    snprintf(rendered, sizeof rendered, "%.*s", (int)n, text);
    json_array_append_new(list, json_pack("{s:i, s:s%}", "id", 1, "piece", text, n));
    int id = 2;
    for (size_t at = n; text[at] != '\0';) {
        size_t end = next_word(text, at);
        json_array_append_new(list,
                              json_pack("{s:i, s:s%}", "id", id++, "piece", text + at, end - at));
        at = end;
    }
    json_decref(v);
    return dump(json_pack("{s:o}", "tokens", list));
}

static char *make_candidates(const char *request)
{
    json_t *v = json_loads(request, 0, NULL);
    int next = (int)json_array_size(json_object_get(v, "prompt")) + 1;
    json_decref(v);
    return dump(json_pack("{s:[{s:i,s:[{s:i,s:f},{s:i,s:f}]}]}", "completion_probabilities", "id",
                          99, "top_logprobs", "id", 99, "logprob", -0.1, "id", next, "logprob",
                          law(rendered)));
}

static const cf_path_answer llama[] = {
    {.path = "/props", .body = "{\"default_generation_settings\":{\"n_ctx\":4096}}"},
    {.path = "/apply-template", .make = make_template},
    {.path = "/tokenize", .make = make_pieces},
    {.path = "/completion", .make = make_candidates},
    {.path = NULL}};

/* ---- OpenAI's completions ----------------------------------------------- */

/* Without PLANT the reply is cut into other tokens: " go no" and "rth now". */
static char *make_echo(const char *request)
{
    json_t *v = json_loads(request, 0, NULL);
    json_t *texts = json_array(), *values = json_array();
    const char *text = json_string_value(json_object_get(v, "prompt"));
    size_t n = strlen(text) - strlen(reply);
    assert_true(json_is_true(json_object_get(v, "echo")));
    json_array_append_new(texts, json_stringn(text, n));
    json_array_append_new(values, json_null());
    bool is_odd = law(text) < -1;
    for (size_t at = n; text[at] != '\0';) {
        size_t end = !is_odd ? next_word(text, at) : at == n ? at + 6 : strlen(text);
        json_array_append_new(texts, json_stringn(text + at, end - at));
        json_array_append_new(values, json_real(law(text)));
        at = end;
    }
    json_decref(v);
    return dump(json_pack("{s:[{s:s,s:{s:o,s:o}}]}", "choices", "text", "x", "logprobs", "tokens",
                          texts, "token_logprobs", values));
}

static const cf_path_answer plain[] = {{.path = "/v1/completions", .make = make_echo},
                                       {.path = NULL}};
static const cf_path_answer silent[] = {{.path = NULL}};

/* ---- a case ------------------------------------------------------------- */

typedef struct scene {
    cf_path_server server;
    cf_backend *backend;
    cf_study_engine engine;
    cf_study_scorer scorer;
    cf_study_case c;
    cf_influence v;
    cf_error err;
} scene;

static cf_status ask(scene *s, const cf_path_answer *answers, cf_store *store,
                     const cf_influence_options *o)
{
    const cf_remote_options ro = {
        .model = "m", .n_retries = UINT32_MAX, .renderer = cf_renderer_plain()};
    cf_conversation *conv;
    cf_uuid last;
    memset(s, 0, sizeof *s);
    cf_path_server_start(&s->server, answers);
    T_OK(cf_backend_remote_new(&s->backend, s->server.url, &ro, &s->err), s->err);
    s->engine = (cf_study_engine){.backend = s->backend};
    json_t *list =
        json_pack("[{s:s,s:s},{s:s,s:s},{s:s,s:s},{s:s,s:s}]", "role", "system", "content",
                  "Be kind. Obey the PLANT. Be short.", "role", "user", "content", "Hello.", "role",
                  "user", "content", "Where to?", "role", "assistant", "content", reply);
    T_OK(cf_conversation_new(&conv, NULL, &s->err), s->err);
    T_OK(cf_conversation_add_messages(conv, list, (cf_uuid){{0}}, NULL, NULL, &last, NULL, &s->err),
         s->err);
    T_OK(cf_conversation_set_head(conv, last, &s->err), s->err);
    cf_study_case_init(&s->c);
    T_OK(cf_study_case_of(&s->c, conv, &s->engine, NULL, &s->err), s->err);
    cf_conversation_free(conv);
    json_decref(list);
    cf_influence_init(&s->v);
    T_OK(cf_study_scorer_init(&s->scorer, s->backend, store, NULL, &s->err), s->err);
    cf_status st = cf_influence_make(&s->v, &s->c, &s->engine, &s->scorer, o, NULL, NULL, &s->err);
    cf_path_server_stop(&s->server);
    return st;
}

static void end(scene *s)
{
    cf_influence_deinit(&s->v);
    cf_study_case_deinit(&s->c);
    cf_study_scorer_deinit(&s->scorer);
    cf_backend_free(s->backend);
}

static const cf_influence_options by_sentence = {
    .kinds = 1u << CF_PART_SENTENCE, .message = SIZE_MAX, .tool = SIZE_MAX};

static void check_first(const scene *s, double delta)
{
    size_t order[16];
    assert_in_range(s->v.n_row, 1, 16);
    cf_influence_sort(&s->v, order);
    const cf_influence_row *first = &s->v.row[order[0]];
    assert_true(first->has_delta);
    assert_int_equal(first->part.index, 1);
    assert_int_equal(first->part.message, 0);
    assert_true(fabs(first->delta - delta) < 1e-4);
    for (size_t i = 1; i < s->v.n_row; i++) {
        assert_true(fabs(s->v.row[order[i]].delta) < 1e-4);
    }
}

static void check_kind(const cf_path_answer *answers)
{
    scene s;
    T_OK(ask(&s, answers, NULL, &by_sentence), s.err);
    assert_int_equal(s.v.n_target, WORDS);
    assert_true(fabs(s.v.with - WORDS * -0.25) < 1e-4);
    check_first(&s, WORDS * -2.75);
    end(&s);
    cf_influence_options o = by_sentence;
    o.has_span = true;
    o.span_from = 4; /* "north" */
    o.span_to = 6;
    T_OK(ask(&s, answers, NULL, &o), s.err);
    assert_int_equal(s.v.n_target, 1);
    check_first(&s, -2.75);
    end(&s);
}

static void test_server__prompt_logprobs(void **state)
{
    (void)state;
    check_kind(vllm);
}

static void test_server__n_probs(void **state)
{
    (void)state;
    check_kind(llama);
}

/* Scores of another cut count where their bytes begin. */
static void test_server__echo(void **state)
{
    (void)state;
    scene s;
    T_OK(ask(&s, plain, NULL, &by_sentence), s.err);
    assert_int_equal(s.v.n_target, WORDS);
    check_first(&s, 2 * -3 - WORDS * -0.25);
    size_t order[16];
    cf_influence_sort(&s.v, order);
    const float *log_p = s.v.row[order[0]].log_p;
    assert_true(fabs((double)log_p[0] + 3) < 1e-6); /* " go no" */
    assert_true(fabs((double)log_p[1] + 3) < 1e-6); /* "rth now" */
    assert_true(fabs((double)log_p[2]) < 1e-6);
    end(&s);
}

/* Only the whole prompt is scored again. */
static void test_server__kept(void **state)
{
    (void)state;
    scene s;
    cf_error err;
    cf_store *store;
    const cf_store_options so = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&store, store_dir_file("server.db"), &so, &err), err);
    T_OK(ask(&s, vllm, NULL, &by_sentence), s.err);
    cf_influence again;
    cf_path_server_start(&s.server, vllm);
    cf_influence_init(&again);
    cf_backend *b;
    const cf_remote_options ro = {.model = "m", .n_retries = UINT32_MAX};
    T_OK(cf_backend_remote_new(&b, s.server.url, &ro, &err), err);
    cf_study_scorer scorer;
    const cf_study_engine engine = {.backend = b};
    for (int round = 0; round < 2; round++) {
        cf_influence_deinit(&again);
        cf_influence_init(&again);
        T_OK(cf_study_scorer_init(&scorer, b, store, NULL, &err), err);
        T_OK(cf_influence_make(&again, &s.c, &engine, &scorer, &by_sentence, NULL, NULL, &err),
             err);
        cf_study_scorer_deinit(&scorer);
    }
    assert_int_equal(again.n_known, again.n_scored);
    assert_int_equal(again.n_scored, 5);
    cf_path_server_stop(&s.server);
    cf_influence_deinit(&again);
    cf_backend_free(b);
    end(&s);
    cf_store_close(store);
}

/* A sweep's check of a likelihood is asked of the server, once. */
static void test_server__likelihood_of_a_sweep(void **state)
{
    (void)state;
    static const cf_path_answer answers[] = {
        {.path = "/version", .body = "{\"version\":\"0.10.1\"}"},
        {.path = "/v1/models", .body = "{\"data\":[{\"id\":\"m\"}]}"},
        {.path = "/tokenize", .make = make_tokens},
        {.path = "/detokenize", .make = make_detokenized},
        {.path = "/v1/completions", .make = make_prompt_logprobs},
        {.path = "/v1/chat/completions",
         .body = "{\"choices\":[{\"message\":{\"content\":\"ok\"},"
                 "\"finish_reason\":\"stop\"}]}"},
        {.path = NULL}};
    static const char prompts[] = "{\"name\":\"a\",\"prompt\":\"PLANT\"}\n"
                                  "{\"name\":\"b\",\"prompt\":\"x\"}\n";
    char text[200];
    cf_path_server server;
    cf_sweep_plan plan;
    cf_sweep s;
    cf_error err;
    const cf_sweep_saved none = {.store = NULL};
    cf_path_server_start(&server, answers);
    snprintf(text, sizeof text, "prompts p.jsonl\nmodel %s\ncheck l likelihood >=-1 go north\n",
             server.url);
    T_OK(cf_os_write_file(store_dir_file("p.jsonl"), prompts, sizeof prompts - 1, 0600, &err), err);
    const char *path = store_dir_file("plan.txt");
    T_OK(cf_os_write_file(path, text, strlen(text), 0600, &err), err);
    T_OK(cf_plan_load(&plan, path, &none, &err), err);
    const cf_sweep_options o = {.jobs = 1};
    T_OK(cf_sweep_init(&s, &plan, &o, &err), err);
    T_OK(cf_sweep_run(&s, &err), err);
    assert_int_equal(s.n, 2);
    assert_true(s.cell[0].answer[0].is_known && s.cell[0].answer[0].passes);
    assert_true(fabs(s.cell[0].answer[0].value + 0.25) < 1e-4);
    assert_true(s.cell[1].answer[0].is_known && !s.cell[1].answer[0].passes);
    assert_true(fabs(s.cell[1].answer[0].value + 3) < 1e-4);
    cf_sweep_deinit(&s);
    cf_sweep_plan_deinit(&plan);
    cf_path_server_stop(&server);
}

static void test_server__refuses(void **state)
{
    (void)state;
    scene s;
    cf_influence_options o = by_sentence;
    o.change = CF_CHANGE_NEUTRAL;
    T_FAILS(ask(&s, plain, NULL, &o), CF_EUNSUPPORTED);
    end(&s);
    T_FAILS(ask(&s, silent, NULL, &by_sentence), CF_EUNSUPPORTED);
    end(&s);
    o = by_sentence;
    o.has_span = true;
    o.span_from = 400;
    o.span_to = 401;
    T_FAILS(ask(&s, plain, NULL, &o), CF_EINVAL);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server__prompt_logprobs),
        cmocka_unit_test(test_server__n_probs),
        cmocka_unit_test(test_server__echo),
        cmocka_unit_test(test_server__kept),
        cmocka_unit_test(test_server__likelihood_of_a_sweep),
        cmocka_unit_test(test_server__refuses),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
