/*
 * test_message_shape.c - with every built-in template each message, call,
 * result and declaration is in the prompt, in whatever form it was written.
 */
#include "templates/builtin.h"
#include "templates/chat_template.h"
#include "tests/support/t.h"

#include "core/json/json.h"

/* In LiteRT-LM's, OpenAI's and Gemini's forms. */
static const char *const forms[] = {
    "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Say "
    "it\"}]},"
    "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Said\"}"
    "]},"
    "{\"role\":\"user\",\"content\":\"How warm\"},"
    "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"type\":"
    "\"function\",\"function\":{\"name\":\"get_heat\",\"arguments\":{\"city\":"
    "\"Oslo\"}}}]},"
    "{\"role\":\"tool\",\"name\":\"get_heat\",\"content\":{\"warm\":4711}}]",
    "[{\"role\":\"user\",\"content\":\"Say it\"},"
    "{\"role\":\"assistant\",\"content\":\"Said\"},"
    "{\"role\":\"user\",\"content\":\"How warm\"},"
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\","
    "\"type\":\"function\",\"function\":{\"name\":\"get_heat\",\"arguments\":"
    "\"{\\\"city\\\":\\\"Oslo\\\"}\"}}]},"
    "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"{\\\"warm\\\":"
    "4711}\"}]",
    "[{\"role\":\"user\",\"parts\":[{\"text\":\"Say it\"}]},"
    "{\"role\":\"assistant\",\"parts\":[{\"text\":\"Said\"}]},"
    "{\"role\":\"user\",\"parts\":[{\"text\":\"How warm\"}]},"
    "{\"role\":\"assistant\",\"parts\":[{\"functionCall\":{\"name\":\"get_"
    "heat\","
    "\"args\":{\"city\":\"Oslo\"}}}]},"
    "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"get_"
    "heat\","
    "\"response\":{\"warm\":4711}}}]}]",
};

static json_t *context_of(const char *messages)
{
    static const char tools[] =
        "[{\"type\":\"function\",\"function\":{\"name\":\"get_heat\","
        "\"description\":\"Degrees there\",\"parameters\":{\"type\":\"object\","
        "\"properties\":{\"city\":{\"type\":\"string\"}}}}}]";
    cf_error err;
    json_t *list, *declared;
    T_OK(cf_json_read(&list, messages, strlen(messages), &err), err);
    T_OK(cf_json_read(&declared, tools, strlen(tools), &err), err);
    return json_pack("{s:o, s:o, s:b, s:s, s:s}", "messages", list, "tools", declared,
                     "add_generation_prompt", 1, "bos_token", "<s>", "eos_token", "</s>");
}

static void check(const char *name, size_t form)
{
    static const char *const wanted[] = {"Say it",        "Said", "How warm", "get_heat",
                                         "Degrees there", "city", "Oslo",     "4711"};
    cf_error err;
    cf_arena arena;
    cf_prompt prompt;
    cf_template *tpl;
    cf_arena_init(&arena, 0);
    T_OK(cf_template_compile(&tpl, cf_template_builtin(name), NULL, NULL, NULL, &err), err);
    json_t *context = context_of(forms[form]);
    cf_prompt_renderer r = cf_renderer_template(tpl);
    T_OK(r.render(r.ud, context, &arena, &prompt, &err), err);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (strstr(prompt.text.p, wanted[i]) == NULL) {
            fail_msg("%s, form %zu: no '%s' in\n%s", name, form, wanted[i], prompt.text.p);
        }
    }
    uint32_t off = 0; /* spans cover the prompt without a gap */
    for (size_t i = 0; i < prompt.n_spans; i++) {
        assert_int_equal(prompt.spans[i].off, off);
        off += prompt.spans[i].len;
        if (prompt.spans[i].source == CF_SPAN_MESSAGE) {
            assert_true(prompt.spans[i].index < 5);
        }
    }
    assert_int_equal(off, prompt.text.n);
    json_decref(context);
    cf_template_free(tpl);
    cf_arena_deinit(&arena);
}

static void test_shape__nothing_is_lost(void **state)
{
    (void)state;
    for (size_t i = 0; cf_template_builtin_name(i) != NULL; i++) {
        for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
            check(cf_template_builtin_name(i), form);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape__nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
