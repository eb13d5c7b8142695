/*
 * test_serve_own.c - the program knows its own server: prompt, tokens,
 * likelihoods, slots and constraints are those of the model behind it.
 */
#include "core/api/backend.h"
#include "core/json/json.h"
#include "tests/support/served.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

typedef struct scene {
    served f;
    cf_backend *remote;
    cf_arena arena;
    json_t *messages;
    cf_chat_request request;
} scene;

static void begin(scene *s)
{
    cf_error err;
    memset(s, 0, sizeof *s);
    served_setup(&s->f, "llama");
    const cf_remote_options o = {.model = NULL};
    T_OK(cf_backend_remote_new(&s->remote, s->f.url, &o, &err), err);
    T_OK(cf_backend_ask(s->remote, NULL, &err), err);
    cf_arena_init(&s->arena, 0);
    s->messages = json_pack("[{s:s, s:s}]", "role", "user", "content", "ab\xc3\xa9 c");
    s->request = (cf_chat_request){.messages = s->messages};
}

static void end(scene *s)
{
    cf_backend_free(s->remote);
    json_decref(s->messages);
    cf_arena_deinit(&s->arena);
    served_teardown(&s->f);
}

static void test_own__is_recognised(void **state)
{
    (void)state;
    scene s;
    cf_error err;
    json_t *slots = NULL;
    begin(&s);
    const cf_backend_info info = cf_backend_get_info(s.remote);
    assert_string_equal(info.server, "confab");
    assert_int_equal(info.n_ctx, 2048);
    assert_true(info.asks_prompt && info.asks_tokens && info.can_constrain);
    T_OK(cf_backend_slots(s.remote, NULL, &slots, &err), err);
    assert_int_equal(json_array_size(slots), 3);
    json_decref(slots);
    end(&s);
}

static void test_own__shows_prompt_and_tokens(void **state)
{
    (void)state;
    scene s;
    cf_error err;
    cf_prompt here, there;
    cf_token_list a, b;
    begin(&s);
    cf_backend *local = s.f.opened.backend;
    T_OK(cf_backend_tokenise(local, &s.request, &s.arena, &here, &a, &err), err);
    T_OK(cf_backend_tokenise(s.remote, &s.request, &s.arena, &there, &b, &err), err);
    assert_true(cf_str_eq(here.text, there.text));
    assert_int_equal(a.n, b.n);
    for (size_t i = 0; i < a.n; i++) {
        assert_int_equal(a.v[i].id, b.v[i].id);
    }
    end(&s);
}

static void test_own__scores_a_text(void **state)
{
    (void)state;
    static const char *const texts[][2] = {{"abc", "def"}, {"a b", " c\xc3\xa9"}};
    scene s;
    cf_error err;
    cf_score here, there;
    begin(&s);
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        const cf_str context = cf_str_from(texts[k][0]), text = cf_str_from(texts[k][1]);
        T_OK(cf_backend_score(s.f.opened.backend, context, text, NULL, &s.arena, &here, &err), err);
        T_OK(cf_backend_score(s.remote, context, text, NULL, &s.arena, &there, &err), err);
        assert_int_equal(here.n, there.n);
        for (size_t i = 0; i < here.n; i++) {
            assert_int_equal(here.v[i].id, there.v[i].id);
            assert_float_equal(here.log_p[i], there.log_p[i], 1e-3);
        }
    }
    end(&s);
}

static void test_own__constrains(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *a, *b;
    } rows[] = {{"{\"choices\":[\"yes\",\"no\"]}", "yes", "no"},
                {"{\"regex\":\"ab?\"}", "a", "ab"},
                {"{\"schema\":{\"enum\":[\"q\"]}}", "\"q\"", "\"q\""},
                {"{\"grammar\":\"root ::= \\\"x\\\"\"}", "x", "x"}};
    scene s;
    cf_error err;
    begin(&s);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cf_chat_response out;
        json_t *spec = json_loads(rows[i].spec, 0, NULL);
        const cf_chat_options o = {.constraint = spec, .max_tokens = 30};
        cf_chat_response_init(&out);
        s.request.options = &o;
        T_OK(cf_backend_generate(s.remote, &s.request, &out, &err), err);
        cf_str said = cf_json_get_str(out.message, "content");
        assert_true(cf_str_is(said, rows[i].a) || cf_str_is(said, rows[i].b));
        cf_chat_response_deinit(&out);
        json_decref(spec);
    }
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own__is_recognised),
        cmocka_unit_test(test_own__shows_prompt_and_tokens),
        cmocka_unit_test(test_own__scores_a_text),
        cmocka_unit_test(test_own__constrains),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
