/*
 * test_shape_oom.c - every allocation of shaping messages and of finding losses
 * fails once: an error, and never another prompt.
 */
#include "core/api/message_form.h"
#include "core/json/json.h"
#include "templates/builtin.h"
#include "templates/chat_template.h"
#include "tests/support/fault.h"
#include "tests/support/t.h"

static const char messages[] =
    "[{\"role\":\"system\",\"content\":[\"Be \",\"terse\"]},"
    "{\"role\":\"user\",\"parts\":[{\"text\":\"Heat?\"},{\"inlineData\":{\"mimeType\":"
    "\"image/png\",\"data\":\"iVBORw0K\"}}]},"
    "{\"role\":\"user\",\"content\":{\"text\":\"And\",\"binaryContent\":[{\"content\":\"doc\"}]}},"
    "{\"role\":\"model\",\"content\":\"I look\",\"channels\":{\"thought\":\"hm\"},\"tool_calls\":"
    "[{\"name\":\"get_heat\",\"arguments\":\"{\\\"city\\\":\\\"Oslo\\\"}\"}]},"
    "{\"role\":\"tool\",\"content\":[{\"type\":\"tool_response\",\"name\":\"get_heat\","
    "\"response\":{\"warm\":4711}}]},"
    "{\"role\":\"assistant\",\"content\":null,\"refusal\":\"No\"}]";

static const char declared[] =
    "[{\"functionDeclarations\":[{\"name\":\"get_heat\",\"description\":null,\"parameters\":{"
    "\"city\":{\"type\":\"string\",\"required\":true}}}]}]";

/* What does not change from run to run. */
typedef struct scene {
    const cf_template *tpl;
    json_t *context;
    cf_buf first; /* the prompt and its losses, as they are with memory */
} scene;

static void add_line(void *ud, const cf_loss *loss)
{
    cf_buf_add(ud, loss->line.p, loss->line.n);
}

static cf_status body(void *ud)
{
    scene *s = ud;
    cf_arena arena;
    cf_prompt prompt;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    cf_arena_init(&arena, 0);
    const cf_prompt_renderer r = cf_renderer_template(s->tpl);
    cf_status st = r.render(r.ud, s->context, &arena, &prompt, &err);
    if (st == CF_OK) {
        cf_buf_add(&out, prompt.text.p, prompt.text.n);
        st = cf_prompt_each_loss(&prompt, json_object_get(s->context, "messages"),
                                 json_object_get(s->context, "tools"), add_line, &out, &err);
    }
    CF_THEN(st, cf_buf_check(&out, &err));
    if (st == CF_OK && s->first.n == 0) {
        cf_buf_add(&s->first, out.p, out.n);
        st = cf_buf_check(&s->first, &err);
    }
    size_t at = 0;
    while (at < out.n && at < s->first.n && out.p[at] == s->first.p[at]) {
        at++;
    }
    if (st == CF_OK && (at < out.n || at < s->first.n)) {
        fail_msg("%s\nand not\n%s", cf_buf_cstr(&out) + at, cf_buf_cstr(&s->first) + at);
    }
    cf_buf_deinit(&out);
    cf_arena_deinit(&arena);
    return st;
}

static void test_shape__every_allocation(void **state)
{
    (void)state;
    static const char *const names[] = {"gemma3", "llama3.1", "mistral"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cf_error err;
        cf_template *tpl;
        json_t *list, *tools;
        T_OK(cf_json_read(&list, messages, strlen(messages), &err), err);
        T_OK(cf_json_read(&tools, declared, strlen(declared), &err), err);
        T_OK(cf_template_compile(&tpl, cf_template_builtin(names[i]), NULL, NULL, NULL, &err), err);
        scene s = {.tpl = tpl,
                   .context = json_pack("{s:o, s:o, s:s, s:s}", "messages", list, "tools", tools,
                                        "bos_token", "<s>", "eos_token", "</s>"),
                   .first = CF_BUF_INIT};
        assert_int_equal(body(&s), CF_OK); /* the capabilities are known from here on */
        cf_fault_every_alloc(body, &s, false);
        cf_fault_every_alloc(body, &s, true);
        json_decref(s.context);
        cf_buf_deinit(&s.first);
        cf_template_free(tpl);
    }
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape__every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
