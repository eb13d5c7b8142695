/*
 * test_diff.c - confab diff over templates and contexts in files.
 */
#include "tests/support/t.h"

#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/vocab_file.h"

static store_path left, right, context, evil, vocab;
static store_path database, script, wide;

static int set_up(void **state)
{
    if (store_dir_make(state) != 0) {
        return -1;
    }
    store_dir_path(left, "left.jinja");
    store_dir_path(right, "right.jinja");
    store_dir_path(context, "context.json");
    store_dir_path(evil, "evil.json");
    store_dir_path(vocab, "vocab.gguf");
    store_dir_path(database, "db");
    store_dir_path(script, "script.json");
    store_dir_path(wide, "wide.json");
    cf_vocab_file f;
    cf_vocab_file_small_spm(&f, true);
    store_dir_write(left, "start\n{{ messages[0].content }} end\n");
    store_dir_write(right, "start\n{{ messages[0].content }} stop\n"
                           "{% if messages|length > 1 %}{{ fail() }}{% endif %}");
    store_dir_write(context, "{\"messages\":[{\"role\":\"user\",\"content\":"
                             "\"hello\"}]}");
    store_dir_write(evil, "{\"messages\":[{\"role\":\"user\",\"content\":"
                          "\"\\u001b[2J\\u202e\"}]}");
    store_dir_write(wide, "{\"messages\":[{\"role\":\"user\",\"content\":\""
                          "\\u65e5\\u672c\\u8a9e\\u65e5\\u672c\\u8a9e\\u65e5\"}]}");
    store_dir_write(script, "{\"replies\":[{\"text\":\"yes\"}]}");
    return cf_vocab_file_write(&f, vocab) ? 0 : -1;
}

/* The answer without its first two lines, which name files. */
static void assert_body(cf_program *p, int status, const char *want)
{
    const char *body = cf_buf_cstr(&p->out);
    for (int i = 0; i < 2 && strchr(body, '\n') != NULL; i++) {
        body = strchr(body, '\n') + 1;
    }
    if (p->status != status || strcmp(body, want) != 0) {
        fail_msg("status %d\n%swant %d\n%s%s", p->status, body, status, want, cf_buf_cstr(&p->err));
    }
    cf_program_deinit(p);
}

static void test_diff__unified(void **state)
{
    cf_program p;
    (void)state;
    NEED_PROGRAM();
    CF_PROGRAM(&p, "diff", "-a", left, "-b", right, context);
    assert_body(&p, 1,
                "@@ -1,2 +1,2 @@ - message 1 template:2 + message 1 "
                "template:2\n"
                " start\n"
                "-hello end\n"
                "?      ^^^\n"
                "\\ no line end\n"
                "+hello stop\n"
                "?      ^^^^\n");
}

static void test_diff__equal(void **state)
{
    cf_program p;
    (void)state;
    NEED_PROGRAM();
    CF_PROGRAM(&p, "diff", "-a", left, "-b", left, context);
    assert_int_equal(p.status, 0);
    assert_int_equal(p.out.n, 0);
    cf_program_deinit(&p);
}

static void test_diff__side(void **state)
{
    cf_program p;
    (void)state;
    NEED_PROGRAM();
    CF_PROGRAM(&p, "diff", "-a", left, "-b", right, "--side", "--width", "43", "-U", "0", context);
    assert_body(&p, 1,
                "@@ -2,1 +2,1 @@ - message 1 template:2 + message 1 "
                "template:2\n"
                "    2~ hello end     |     2~ hello stop\n");
}

/* Removed and added lines face each other. */
static void test_diff__side_rows(void **state)
{
    cf_program p;
    (void)state;
    NEED_PROGRAM();
    CF_PROGRAM(&p, "diff", "-a", "chatml", "-b", "gemma2", "--side", "--width", "63", context);
    assert_body(&p, 1,
                "@@ -1,2 +1,2 @@ - message 1 template:10 + message 1 "
                "template:10\n"
                "    1- <|im_start|>user        |     1+ <start_of_turn>user\n"
                "    2~ hello<|im_end|>         |     2~ hello<end_of_turn>\n");
}

/* Long lines go on below, wide characters are not cut in two. */
static void test_diff__side_wraps(void **state)
{
    cf_program p;
    (void)state;
    NEED_PROGRAM();
    CF_PROGRAM(&p, "diff", "-a", left, "-b", right, "--side", "--width", "43", "-U", "0", wide);
    assert_body(&p, 1,
                "@@ -2,1 +2,1 @@ - message 1 template:2 + message 1 "
                "template:2\n"
                "    2~ \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e"
                "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e  |     2~ "
                "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e"
                "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\n"
                "     ~ \xe6\x97\xa5 end        |      ~ \xe6\x97\xa5 stop\n");
}

static void test_diff__color(void **state)
{
    cf_program p;
    (void)state;
    NEED_PROGRAM();
    CF_PROGRAM(&p, "diff", "-a", left, "-b", right, "--color", "always", "-U", "0", context);
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\033[31m-hello \033[7mend\033[27m\033[0m\n"));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\033[32m+hello \033[7mstop\033[27m\033[0m\n"));
    cf_program_deinit(&p);
}

/* The text of a message never controls the terminal. */
static void test_diff__hostile_text(void **state)
{
    static const char *const forms[] = {"--side", "--unified"};
    (void)state;
    NEED_PROGRAM();
    for (size_t i = 0; i < 2; i++) {
        cf_program p;
        CF_PROGRAM(&p, "diff", "-a", left, "-b", right, "--color", "always", forms[i], evil);
        assert_int_equal(p.status, 1);
        assert_null(strstr(cf_buf_cstr(&p.out), "\033[2J"));
        assert_null(strstr(cf_buf_cstr(&p.out), "\xe2\x80\xae"));
        assert_non_null(strstr(cf_buf_cstr(&p.out), "\\x1b[2J\\u{202e}"));
        cf_program_deinit(&p);
    }
}

static void test_diff__tokens_json(void **state)
{
    cf_program p;
    (void)state;
    NEED_PROGRAM();
    CF_PROGRAM(&p, "diff", "-a", left, "-b", right, "--level", "tokens", "-m", vocab, "--json",
               context);
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"level\":\"tokens\""));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"equal\":false"));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"id\":"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "diff", "-a", left, "-b", left, "--level", "tokens", "-m", vocab, "--json",
               context);
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"equal\":true"));
    cf_program_deinit(&p);
}

static void test_diff__source(void **state)
{
    cf_program p;
    (void)state;
    NEED_PROGRAM();
    CF_PROGRAM(&p, "diff", "-a", "gemma2", "-b", "gemma2", "--level", "source");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "diff", "-a", "gemma2", "-b", "gemma3", "--level", "source");
    assert_int_equal(p.status, 1);
    cf_program_deinit(&p);
}

static void test_diff__saved(void **state)
{
    char model[sizeof(store_path) + 8];
    cf_program p;
    (void)state;
    NEED_PROGRAM();
    snprintf(model, sizeof model, "script:%s", script);
    CF_PROGRAM(&p, "run", "-m", model, "--db", database, "hello");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "diff", "-a", left, "-b", left, "--all", "--db", database);
    assert_int_equal(p.status, 0);
    assert_string_equal(cf_buf_cstr(&p.out), "0 of 1 saved conversations differ\n");
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "diff", "-a", left, "-b", "chatml", "--all", "--json", "--db", database, "-m",
               vocab);
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"tokens\":{\"equal\":false"));
    cf_program_deinit(&p);
    /* Two messages: the right template fails, the left does not. */
    CF_PROGRAM(&p, "diff", "-a", left, "-b", right, "--all", "--json", "--db", database);
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"error_b\":\"line 3"));
    assert_non_null(
        strstr(cf_buf_cstr(&p.out), "{\"conversations\":1,\"differ\":1,\"failed\":1}\n"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "diff", "-a", "chatml", "-b", "gemma3", "--all", "--db", database);
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "  hello\n1 of 1 saved"));
    cf_program_deinit(&p);
}

/* A conversation in OpenAI's form renders with every template that would be
 * sent it, saved too; --as-is leaves the failure. */
static void test_diff__shapes(void **state)
{
    static const char *const sides[] = {"gemma2", "gemma3", "gemma4", "hermes", "llama3", "phi3"};
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    const char *file = store_dir_file("openai.json");
    const char *saved = store_dir_file("openai.db");
    store_dir_write(
        file, "{\"messages\":[{\"role\":\"system\",\"content\":\"Rule\"},{\"role\":\"user\","
              "\"content\":[{\"type\":\"text\",\"text\":\"zqask\"}]},{\"role\":\"assistant\","
              "\"content\":\"\",\"tool_calls\":[{\"id\":\"call_1\",\"type\":\"function\","
              "\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\": 1}\"}}]},{\"role\":"
              "\"tool\",\"tool_call_id\":\"call_1\",\"content\":\"zqres\"}],\"tools\":[{\"type\":"
              "\"function\",\"function\":{\"name\":\"f\",\"description\":\"d\",\"parameters\":"
              "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}}}}]}");
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        CF_PROGRAM(&p, "diff", "--json", "-a", "qwen3", "-b", sides[i], file);
        assert_int_equal(p.status, 1);
        assert_null(strstr(cf_buf_cstr(&p.out), "\"error_"));
        cf_program_deinit(&p);
    }
    CF_PROGRAM(&p, "diff", "--json", "--as-is", "-a", "qwen3", "-b", "gemma3", file);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"error_b\""));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "history", "import", "--db", saved, file);
    cf_program_deinit(&p);
    for (int as_is = 0; as_is < 2; as_is++) {
        CF_PROGRAM(&p, "diff", "--all", "--db", saved, "--json", "-a", "qwen3", "-b", "gemma3",
                   as_is ? "--as-is" : "--color=never");
        assert_int_equal(strstr(cf_buf_cstr(&p.out), "\"error_b\"") != NULL, as_is);
        cf_program_deinit(&p);
    }
}

/* Numbers beyond 64 bits reach templates whichever way the context goes. */
static void test_diff__large_numbers(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *tpl = store_dir_file("number.jinja");
    const char *file = store_dir_file("number.json");
    store_dir_write(tpl, "{{ x }}");
    store_dir_write(file, "{\"x\":-123456789012345678901234567890,\"messages\":[{\"role\":\"user\","
                          "\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}]}");
    cf_program p;
    CF_PROGRAM(&p, "render", "--shape", "-t", tpl, file);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "-123456789012345678901234567890"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "diff", "-a", tpl, "-b", "chatml", file);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "-123456789012345678901234567890"));
    cf_program_deinit(&p);
}

static void test_diff__usage_and_bad_input(void **state)
{
    cf_program p;
    (void)state;
    NEED_PROGRAM();
#define STATUS(want, ...)                    \
    do {                                     \
        CF_PROGRAM(&p, "diff", __VA_ARGS__); \
        assert_int_equal(p.status, (want));  \
        assert_int_equal(p.out.n, 0);        \
        cf_program_deinit(&p);               \
    } while (0)
    STATUS(2, "-a", left, context);
    STATUS(2, "-a", left, "-b", right);
    STATUS(2, "-a", left, "-b", right, "--all", context);
    STATUS(2, "-a", left, "-b", right, "--level", "bytes", context);
    if (!cf_program_has_model()) {
        STATUS(2, "-a", left, "-b", right, "--level", "tokens", context);
        STATUS(2, "-a", left, "-b", "model", context);
    }
    STATUS(2, "-a", left, "-b", right, "--level", "source", context);
    STATUS(2, "-a", left, "-b", right, "--side", "--unified", context);
    STATUS(2, "-a", left, "-b", right, "--color", "blue", context);
    STATUS(3, "-a", left, "-b", "no-such-template", context);
    STATUS(3, "-a", left, "-b", right, left);
    STATUS(3, "-a", left, "-b", right, "/no/such/context");
#undef STATUS
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diff__unified),
        cmocka_unit_test(test_diff__equal),
        cmocka_unit_test(test_diff__side),
        cmocka_unit_test(test_diff__side_rows),
        cmocka_unit_test(test_diff__side_wraps),
        cmocka_unit_test(test_diff__color),
        cmocka_unit_test(test_diff__hostile_text),
        cmocka_unit_test(test_diff__tokens_json),
        cmocka_unit_test(test_diff__source),
        cmocka_unit_test(test_diff__saved),
        cmocka_unit_test(test_diff__shapes),
        cmocka_unit_test(test_diff__large_numbers),
        cmocka_unit_test(test_diff__usage_and_bad_input),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
