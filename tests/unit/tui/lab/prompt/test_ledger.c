/*
 * test_ledger.c - every token and byte of a prompt is in exactly one row.
 */
#include "core/api/backend.h"
#include "core/api/bundled.h"
#include "templates/builtin.h"
#include "templates/template.h"
#include "tests/support/t.h"
#include "tui/lab/prompt/ledger.h"

static const char context[] =
    "{\"messages\":[{\"role\":\"system\",\"content\":\"Be kind.\"},"
    "{\"role\":\"user\",\"content\":\"What is it? \xF0\x9F\x98\x80\"},"
    "{\"role\":\"assistant\",\"content\":\"A test, and a longer one\"},"
    "{\"role\":\"user\",\"content\":\"Again\"}],"
    "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"look_up\","
    "\"description\":\"Looks a word up\",\"parameters\":{\"type\":\"object\","
    "\"properties\":{}}}}],\"add_generation_prompt\":true,\"bos_token\":\"<s>"
    "\",\"eos_token\":\"</s>\"}";

typedef struct fixture {
    cf_arena arena;
    cf_engine *engine;
    cf_template *tpl;
    cf_render r;
    cf_token_list tokens;
    json_t *values;
    cf_ledger ledger;
} fixture;

static void setup(fixture *f, const char *name)
{
    cf_error err;
    cf_template_error why;
    cf_context *ctx;
    const cf_engine_options options = {.vocab_only = true};
    memset(f, 0, sizeof *f);
    cf_arena_init(&f->arena, 0);
    size_t n;
    const void *bytes;
    if (!cf_bundled_model(&bytes, &n)) {
        skip();
    }
    T_OK(cf_engine_open_memory(&f->engine, bytes, n, &options, &err), err);
    T_OK(cf_template_compile(&f->tpl, cf_template_builtin(name), NULL, &f->arena, &why, &err), err);
    T_OK(cf_context_read(&ctx, cf_str_from(context), &f->arena, &err), err);
    const cf_render_options how = {.causes = true};
    T_OK(cf_template_render(f->tpl, ctx, &how, &f->arena, &f->r, &err), err);
    T_OK(cf_prompt_tokenise(&f->tokens, &f->r.prompt, cf_str_make("", 0),
                            cf_engine_tokenizer(f->engine), &f->arena, &err),
         err);
    T_OK(cf_json_read(&f->values, context, strlen(context), &err), err);
    T_OK(cf_ledger_make(&f->ledger, &f->r.prompt, f->tokens.v, f->tokens.n,
                        json_object_get(f->values, "messages"), json_object_get(f->values, "tools"),
                        cf_template_source(f->tpl), &f->arena, &err),
         err);
}

static void teardown(fixture *f)
{
    json_decref(f->values);
    cf_template_free(f->tpl);
    cf_engine_close(f->engine);
    cf_arena_deinit(&f->arena);
}

static const cf_ledger_row *find(const cf_ledger *l, cf_ledger_kind kind, uint32_t index)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i].kind == kind && l->v[i].index == index) {
            return &l->v[i];
        }
    }
    return NULL;
}

static void test_ledger__adds_up(void **state)
{
    (void)state;
    static const char *const names[] = {"qwen3", "llama3.1", "mistral", "gemma4"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        fixture f;
        setup(&f, names[k]);
        uint64_t tokens = 0, bytes = 0;
        for (size_t i = 0; i < f.ledger.n; i++) {
            const cf_ledger_row *r = &f.ledger.v[i];
            tokens += r->tokens;
            bytes += r->bytes;
            assert_true(i == 0 || r[-1].tokens >= r->tokens);
            assert_true(r->tokens + r->bytes > 0);
        }
        assert_int_equal(tokens, f.tokens.n);
        assert_int_equal(tokens, f.ledger.tokens);
        assert_int_equal(bytes, f.r.prompt.text.n);
        assert_int_equal(bytes, f.ledger.bytes);
        const cf_ledger_row *tool = find(&f.ledger, CF_LEDGER_TOOL, 0);
        assert_non_null(tool);
        assert_true(cf_str_is(tool->name, "look_up"));
        const cf_ledger_row *reply = find(&f.ledger, CF_LEDGER_MESSAGE, 2);
        assert_non_null(reply);
        assert_true(cf_str_is(reply->name, "assistant"));
        assert_true(reply->bytes >= strlen("A test, and a longer one"));
        /* Its marks are the template's, and counted with it, once. */
        assert_true(reply->template_bytes > 0);
        assert_true(reply->template_bytes < reply->bytes);
        assert_true(reply->template_tokens < reply->tokens);
        teardown(&f);
    }
}

static void test_ledger__written(void **state)
{
    (void)state;
    fixture f;
    cf_buf text = CF_BUF_INIT;
    setup(&f, "qwen3");
    cf_ledger_text(&text, &f.ledger, 0);
    assert_null(strstr(cf_buf_cstr(&text), "seconds"));
    assert_non_null(strstr(cf_buf_cstr(&text), "tool look_up  ("));
    assert_non_null(strstr(cf_buf_cstr(&text), "message 1 system"));
    cf_buf_reset(&text);
    cf_ledger_text(&text, &f.ledger, 100);
    assert_non_null(strstr(cf_buf_cstr(&text), "seconds"));
    cf_buf_reset(&text);
    cf_jw w;
    cf_error err;
    json_t *v;
    cf_jw_init(&w, &text);
    cf_jw_object(&w, NULL);
    cf_ledger_json(&w, &f.ledger, 0);
    cf_jw_end(&w);
    T_OK(cf_jw_finish(&w, &err), err);
    T_OK(cf_json_read(&v, cf_buf_cstr(&text), text.n, &err), err);
    assert_int_equal(json_array_size(json_object_get(v, "rows")), f.ledger.n);
    assert_true(json_is_null(json_object_get(v, "seconds")));
    json_decref(v);
    cf_buf_deinit(&text);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ledger__adds_up),
        cmocka_unit_test(test_ledger__written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
