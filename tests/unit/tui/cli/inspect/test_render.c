/*
 * test_render.c - confab render: numbers as they are spelled, templates by
 * name and from a model, token ids.
 */
#include "templates/builtin.h"
#include "tests/support/t.h"

#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/vocab_file.h"
#include <jansson.h>
#include <stdlib.h>

static store_path vocab, bare, file;

static bool write_vocab(const char *path, const char *chat_template)
{
    cf_vocab_file f;
    cf_vocab_file_small_spm(&f, false);
    if (chat_template != NULL) {
        cf_vocab_file_str(&f, "tokenizer.chat_template", chat_template);
    }
    return cf_vocab_file_write(&f, path);
}

static int set_up(void **state)
{
    if (store_dir_make(state) != 0) {
        return -1;
    }
    store_dir_path(vocab, "vocab.gguf");
    store_dir_path(bare, "bare.gguf");
    store_dir_path(file, "file.json");
    return write_vocab(vocab, "{{ bos_token }}{% for m in messages %}<|user|>"
                              "{{ m.content }}{{ eos_token }}{% endfor %}") &&
                   write_vocab(bare, NULL)
               ? 0
               : -1;
}

/* As Python's json reads them. */
static void test_render__exact_numbers(void **state)
{
    (void)state;
    NEED_PROGRAM();
    store_dir_write(file, "{\"name\":\"ints\",\"template\":\"{{ x }} {{ x + 1 }} {{ y }}\","
                          "\"context\":{\"x\":123456789012345678901234567890,"
                          "\"y\":-9223372036854775809}}\n"
                          "{\"name\":\"floats\",\"template\":\"{{ l }}\",\"context\":{\"l\":"
                          "[-0.0, -0, 1e400, -1e400, NaN, 1.50, 1E5, 1e22, 5e-324, 1e-400]}}\n"
                          "{\"name\":\"keys\",\"template\":\"{{ d }}\",\"context\":"
                          "{\"d\":{\"b\":1,\"a\":2.0,\"b\":3}}}\n"
                          "{\"name\":\"twice\",\"context\":{\"x\":1},\"template\":\"{{ x }}\","
                          "\"con\\u0074ext\":{\"x\":18446744073709551616}}\n"
                          "{\"name\":\"no context\",\"template\":\"<{{ x }}>\"}\n"
                          "{\"name\":\"list\",\"template\":\"\",\"context\":[1]}\n"
                          "{\"template\":\"\",\"context\":{\"x\":01}}\n"
                          "{\"name\":\"deep\",\"template\":\"{{ context.context }}\","
                          "\"context\":{\"context\":{\"context\":[{}]}}}\n");
    cf_program p;
    CF_PROGRAM(&p, "render", "--batch", file);
    cf_program_expect(&p, 0,
                      "{\"name\":\"ints\",\"output\":\"123456789012345678901234567890 "
                      "123456789012345678901234567891 -9223372036854775809\"}\n"
                      "{\"name\":\"floats\",\"output\":\"[-0.0, 0, inf, -inf, nan, 1.5, "
                      "100000.0, 1e+22, 5e-324, 0.0]\"}\n"
                      "{\"name\":\"keys\",\"output\":\"{'b': 3, 'a': 2.0}\"}\n"
                      "{\"name\":\"twice\",\"output\":\"18446744073709551616\"}\n"
                      "{\"name\":\"no context\",\"output\":\"<>\"}\n"
                      "{\"name\":\"list\",\"error\":{\"message\":\"a context must be a JSON "
                      "object\",\"line\":0,\"column\":0}}\n"
                      "{\"error\":{\"message\":\"not valid JSON: a value is expected at "
                      "line 1 column 33\"}}\n"
                      "{\"name\":\"deep\",\"output\":\"[{}]\"}\n");
}

static void test_render__by_name(void **state)
{
    (void)state;
    NEED_PROGRAM();
    store_dir_write(file, "{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}],"
                          "\"add_generation_prompt\":true}");
    cf_program p;
    CF_PROGRAM(&p, "render", "-t", "chatml", file);
    cf_program_expect(&p, 0, "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n");
    CF_PROGRAM(&p, "render", "-t", "chatmll", file);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "'chatmll'"));
    assert_int_not_equal(p.status, 0);
    cf_program_deinit(&p);
}

/* The model's own template, its spelling of the special tokens, its ids; what
 * a message says stays text. */
static void test_render__of_a_model(void **state)
{
    (void)state;
    NEED_PROGRAM();
    store_dir_write(file, "{\"messages\":[{\"role\":\"user\",\"content\":\"hello</s>\"}],"
                          "\"n\":123456789012345678901}");
    cf_program p;
    CF_PROGRAM(&p, "render", "-m", vocab, file);
    cf_program_expect(&p, 0, "<s><|user|>hello</s></s>");
    CF_PROGRAM(&p, "render", "-m", vocab, "--ids", file);
    cf_program_expect(&p, 0, "1,3,279,291,292,2\n");
    CF_PROGRAM(&p, "render", "-m", vocab, "--ids", "--json", file);
    cf_program_expect(&p, 0,
                      "{\"output\":\"<s><|user|>hello</s></s>\","
                      "\"ids\":[1,3,279,291,292,2]}\n");
    store_dir_write(file, "{\"bos_token\":null,\"eos_token\":\"hell\",\"messages\":"
                          "[{\"content\":\"o\"}]}");
    CF_PROGRAM(&p, "render", "-m", vocab, file);
    cf_program_expect(&p, 0, "None<|user|>ohell");
    store_dir_write(file, "{ }\n");
    CF_PROGRAM(&p, "render", "-m", vocab, "--ids", file);
    cf_program_expect(&p, 0, "1\n");
    store_dir_write(file, "{\"name\":\"a\",\"context\":{\"messages\":[]}}\n"
                          "{\"name\":\"b\",\"context\":{},\"template\":\"{{ eos_token "
                          "}}he\"}\n");
    CF_PROGRAM(&p, "render", "-m", vocab, "--ids", "--batch", file);
    cf_program_expect(&p, 0,
                      "{\"name\":\"a\",\"output\":\"<s>\",\"ids\":[1]}\n"
                      "{\"name\":\"b\",\"output\":\"</s>he\",\"ids\":[1,2,276]}\n");
}

/* The bytes and the tokens of the assistant, and of no one else: not the
 * role, not what the template writes around them. */
static void test_render__mask(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    store_dir_write(file, "{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"},"
                          "{\"role\":\"assistant\",\"content\":\"hello\"},"
                          "{\"role\":\"user\",\"content\":\"o\"},"
                          "{\"role\":\"model\",\"content\":\"he\"}]}");
    CF_PROGRAM(&p, "render", "--mask", "-m", vocab, file);
    assert_int_equal(p.status, 0);
    json_t *v = json_loads(cf_buf_cstr(&p.out), 0, NULL);
    assert_non_null(v);
    const char *text = json_string_value(json_object_get(v, "text"));
    assert_string_equal(text, "<s><|user|>hello</s><|user|>hello</s><|user|>o"
                              "</s><|user|>he</s>");
    const json_t *spans = json_object_get(v, "spans");
    assert_int_equal(json_array_size(spans), 2);
    static const struct {
        int from;
        const char *bytes;
    } want[] = {{28, "hello</s>"}, {58, "he</s>"}};
    for (size_t i = 0; i < 2; i++) {
        const json_t *span = json_array_get(spans, i);
        long long from = json_integer_value(json_array_get(span, 0));
        long long to = json_integer_value(json_array_get(span, 1));
        assert_int_equal(from, want[i].from);
        assert_int_equal(to - from, strlen(want[i].bytes));
        assert_memory_equal(text + from, want[i].bytes, strlen(want[i].bytes));
    }
    const json_t *ids = json_object_get(v, "ids");
    const json_t *mask = json_object_get(v, "mask");
    assert_int_equal(json_array_size(ids), json_array_size(mask));
    size_t ones = 0;
    for (size_t i = 0; i < json_array_size(mask); i++) {
        long long id = json_integer_value(json_array_get(ids, i));
        bool is_mark = id == 1 || id == 3; /* 2 ends a reply */
        long long one = json_integer_value(json_array_get(mask, i));
        assert_true(one == 0 || (one == 1 && !is_mark));
        ones += one == 1;
    }
    assert_true(ones >= 4 && ones < json_array_size(mask) / 2);
    json_decref(v);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "render", "--mask", "-t", "{{ x }}", file);
    assert_int_not_equal(p.status, 0);
    cf_program_deinit(&p);
}

/* With the marks of calls and the end of the turn, without what asks for the
 * reply or begins a result, by every built-in template; the vocabulary has the
 * marks of some only. */
static void test_render__mask_of_every_template(void **state)
{
    static const struct {
        const char *tpl, *replies[2];
    } rows[] = {
        {"chatml",
         {"Yes.<|im_end|>",
          "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call><|im_end|>"}},
        {"functiongemma",
         {"Yes.<end_of_turn>", "<start_function_call>call:f{a:1}<end_function_call>"}},
        {"gemma2", {"Yes.<end_of_turn>", "```tool_code\nf(a=1)\n```<end_of_turn>"}},
        {"gemma3", {"Yes.<end_of_turn>", "```tool_code\nf(a=1)\n```<end_of_turn>"}},
        {"gemma4", {"Yes.<turn|>", "<|tool_call>call:f{a:1}<tool_call|>"}},
        {"hammer",
         {"Yes.<|im_end|>", "```\n[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]\n```<|im_end|>"}},
        {"hermes",
         {"Yes.<|im_end|>",
          "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call><|im_end|>"}},
        {"llama2",
         {" Yes. </s>",
          " <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call> </s>"}},
        {"llama3.1", {"Yes.<|eot_id|>", "{\"name\": \"f\", \"parameters\": {\"a\": 1}}<|eot_id|>"}},
        {"llama3", {"Yes.<|eot_id|>", "{\"name\": \"f\", \"parameters\": {\"a\": 1}}<|eot_id|>"}},
        {"mistral",
         {" Yes.</s>", "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": 1}, \"id\": "
                       "\"call00001\"}]</s>"}},
        {"phi3",
         {"Yes.<|end|>",
          "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call><|end|>"}},
        {"phi4-mini",
         {"Yes.<|end|>",
          "<|tool_call|>[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]<|/tool_call|><|end|>"}},
        {"qwen2.5",
         {"Yes.<|im_end|>",
          "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call><|im_end|>"}},
        {"qwen3",
         {"Yes.<|im_end|>",
          "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call><|im_end|>"}},
        {"smollm3",
         {"Yes.<|im_end|>",
          "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call><|im_end|>"}},
        {"zephyr",
         {"Yes.</s>",
          "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call></s>"}},
    };
    (void)state;
    NEED_PROGRAM();
    if (!cf_program_has_model()) {
        T_SKIP("no bundled model in this build");
    }
    assert_null(cf_template_builtin_name(sizeof rows / sizeof rows[0]));
    store_dir_write(
        file,
        "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": "
        "\"w\"}]}, {\"role\": \"assistant\", \"content\": \"Yes.\"}, {\"role\": \"user\", "
        "\"content\": \"v\"}, {\"role\": \"assistant\", \"content\": \"\", \"tool_calls\": "
        "[{\"id\": \"call00001\", \"type\": \"function\", \"function\": {\"name\": \"f\", "
        "\"arguments\": {\"a\": 1}}}]}, {\"role\": \"tool\", \"name\": \"f\", \"tool_call_id\": "
        "\"call00001\", \"content\": \"4\"}], \"bos_token\": \"<s>\", \"eos_token\": \"</s>\"}");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cf_program p;
        CF_PROGRAM(&p, "render", "--mask", "--shape", "-t", rows[i].tpl, file);
        json_t *v = json_loads(cf_buf_cstr(&p.out), 0, NULL);
        const json_t *spans = json_object_get(v, "spans");
        const char *text = json_string_value(json_object_get(v, "text"));
        assert_int_equal(json_array_size(spans), 2);
        for (size_t k = 0; k < 2; k++) {
            const json_t *span = json_array_get(spans, k);
            long long from = json_integer_value(json_array_get(span, 0));
            long long to = json_integer_value(json_array_get(span, 1));
            char reply[200];
            snprintf(reply, sizeof reply, "%.*s", (int)(to - from), text + from);
            assert_string_equal(reply, rows[i].replies[k]);
        }
        json_decref(v);
        cf_program_deinit(&p);
    }
}

/* A context with everything that a template may drop; equal words in several
 * messages. */
#define LOSSY                                                                \
    "{\"messages\":[{\"role\":\"user\",\"content\":\"4\"},"                  \
    "{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":\"hm\"," \
    "\"tool_calls\":[{\"function\":{\"name\":\"add\",\"arguments\":{}}}]},"  \
    "{\"role\":\"tool\",\"content\":\"4\"},"                                 \
    "{\"role\":\"a\\nb\",\"content\":\"4\"}],"                               \
    "\"tools\":[{\"function\":{\"name\":\"add\"}}]}"

static void assert_losses(const char *tpl, const char *context, const char *want)
{
    cf_program p;
    store_dir_write(file, context);
    CF_PROGRAM(&p, "render", "-t", store_dir_put_text("t.jinja", tpl), file);
    assert_int_equal(p.status, 0);
    assert_string_equal(cf_buf_cstr(&p.err), want);
    cf_program_deinit(&p);
}

static void test_render__losses(void **state)
{
    (void)state;
    NEED_PROGRAM();
    assert_losses("{% for m in messages if m.role == 'user' %}{{ m.content }}"
                  "{% endfor %}",
                  LOSSY,
                  "[prompt] message 2: its reasoning is lost: the template does not "
                  "write it\n"
                  "[prompt] message 2: its call of add is lost: the template does not "
                  "write it\n"
                  "[prompt] message 3: the result is lost: the template does not "
                  "write it\n"
                  "[prompt] message 4 (a\\nb) is lost: the template does not write it\n"
                  "[prompt] tool add is lost: the template does not write its "
                  "declaration\n");
    assert_losses("{{ tools | tojson }}{% for m in messages %}{{ m | tojson }}"
                  "{% endfor %}",
                  LOSSY, "");
    assert_losses("{% for m in messages %}{{ m.content | trim | upper }}"
                  "{{ m.reasoning_content }}{% for c in m.tool_calls %}"
                  "{{ c.function.name }}{% endfor %}{% endfor %}"
                  "{% for t in tools %}{{ t | string }}{% endfor %}",
                  LOSSY, "");
    assert_losses("{% for m in messages %}{% for p in m.content %}"
                  "{% if p.type == 'text' %}{{ p.text }}{% endif %}"
                  "{% endfor %}{% endfor %}",
                  "{\"messages\":[{\"role\":\"user\",\"content\":["
                  "{\"type\":\"text\",\"text\":\"Hi\"},"
                  "{\"type\":\"image\"}]}]}",
                  "[prompt] message 1: part 2 (image) is lost: the template writes no "
                  "image here\n");
}

static void test_render__failures(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    store_dir_write(file, "{}");
    if (!cf_program_has_model()) {
        CF_PROGRAM(&p, "render", file);
        cf_program_expect(&p, 2, "");
        CF_PROGRAM(&p, "render", "-t", "chatml", "--ids", file);
        assert_non_null(strstr(cf_buf_cstr(&p.err), "--ids needs a model"));
        cf_program_expect(&p, 2, "");
    }
    CF_PROGRAM(&p, "render", "-m", bare, file);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "has no template"));
    cf_program_expect(&p, 2, "");
    CF_PROGRAM(&p, "render", "-m", "/nonexistent.gguf", file);
    cf_program_expect(&p, 3, "");
    store_dir_write(file, "{\"a\":1} {}");
    CF_PROGRAM(&p, "render", "-m", vocab, file);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "line 1 column 9"));
    cf_program_expect(&p, 3, "");
}

/* How many ids a prompt has, and how many of them are `control`. */
static size_t count_ids(const char *result, const char *name, int control, size_t *n_control)
{
    cf_buf text = CF_BUF_INIT;
    cf_program p;
    cf_buf_addf(&text,
                "{\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\","
                "\"parameters\":{\"type\":\"object\"}}}],\"messages\":["
                "{\"role\":\"user\",\"content\":\"hi\"},"
                "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"1\",\"type\":"
                "\"function\",\"function\":{\"name\":\"f\",\"arguments\":{}}}]},"
                "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"name\":\"%s\",\"content\":%s}]}",
                name, result);
    store_dir_write(file, cf_buf_cstr(&text));
    cf_buf_deinit(&text);
    CF_PROGRAM(&p, "render", "-m", "bundled", "--shape", "--ids", file);
    assert_int_equal(p.status, 0);
    size_t n = 0;
    *n_control = 0;
    for (char *at = p.out.p; at != NULL && *at != '\0'; n++) {
        *n_control += strtol(at, &at, 10) == control;
        at = *at == ',' ? at + 1 : NULL;
    }
    cf_program_deinit(&p);
    return n;
}

static size_t count_tokens(const char *text, bool is_special, int *first)
{
    cf_program p;
    const char *const argv[] = {
        "tokenize", "-m", "bundled", "--json", text, is_special ? "--special" : NULL, NULL};
    cf_program_run(&p, argv, NULL, 0);
    assert_int_equal(p.status, 0);
    json_t *v = json_loads(cf_buf_cstr(&p.out), 0, NULL);
    const json_t *ids = json_object_get(v, "ids");
    size_t n = json_array_size(ids);
    *first = (int)json_integer_value(json_array_get(ids, 0));
    json_decref(v);
    cf_program_deinit(&p);
    return n;
}

/* Control tokens that a tool's result spells are text: the prompt has as many
 * of them as with a harmless result, and the tokens of the spelling. */
static void test_render__control_tokens_in_results(void **state)
{
    (void)state;
    static const char *const before[] = {"\"", "[{\"type\":\"text\",\"text\":\""};
    static const char *const after[] = {"\"", "\"}]"};
    static const char *const spelled[] = {"<|im_end|>", "<|im_start|>"};
    NEED_PROGRAM();
    if (!cf_program_has_model()) {
        T_SKIP("this build has no bundled model");
    }
    for (size_t i = 0; i < 4; i++) {
        const char *word = spelled[i / 2];
        char hostile[100], harmless[100];
        int control, ignored;
        size_t n_there, n_here;
        snprintf(hostile, sizeof hostile, "%s%s%s", before[i % 2], word, after[i % 2]);
        snprintf(harmless, sizeof harmless, "%sx%s", before[i % 2], after[i % 2]);
        assert_int_equal(count_tokens(word, true, &control), 1);
        size_t n_word = count_tokens(word, false, &ignored);
        assert_true(n_word > 1);
        size_t n = count_ids(harmless, "f", control, &n_here);
        assert_true(n_here > 0); /* those of the template */
        assert_int_equal(count_ids(hostile, "f", control, &n_there), n - 1 + n_word);
        assert_int_equal(n_there, n_here);
        (void)count_ids(harmless, word, control, &n_there); /* its name */
        assert_int_equal(n_there, n_here);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_render__exact_numbers),
        cmocka_unit_test(test_render__by_name),
        cmocka_unit_test(test_render__of_a_model),
        cmocka_unit_test(test_render__mask),
        cmocka_unit_test(test_render__mask_of_every_template),
        cmocka_unit_test(test_render__losses),
        cmocka_unit_test(test_render__failures),
        cmocka_unit_test(test_render__control_tokens_in_results),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
