/*
 * test_doors.c - every place that -m and -t take, through the program, over
 * files that the test makes; and what is said of files at the wrong one.
 */
#include "tests/support/t.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/os.h"
#include "tests/support/hf_file.h"
#include "tests/support/hf_weights_file.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_gguf.h"

static const char template_text[] =
    "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}"
    "{% endfor %}";

/* The path of a file in the test's folder; its folder is made. */
static const char *place(const char *name)
{
    static char path[4][512];
    static unsigned next;
    char *p = path[next++ % 4];
    cf_error err;
    snprintf(p, sizeof path[0], "%s", store_dir_file(name));
    char *slash = strrchr(p, '/');
    *slash = '\0';
    T_OK(cf_os_make_dirs(p, &err), err);
    *slash = '/';
    return p;
}

static void put_bytes(const char *name, const void *bytes, size_t n)
{
    cf_error err;
    T_OK(cf_os_write_file(place(name), bytes, n, 0600, &err), err);
}

static void put(const char *name, const char *text)
{
    put_bytes(name, text, strlen(text));
}

static void put_buf(const char *name, cf_buf *b)
{
    put_bytes(name, b->p, b->n);
    cf_buf_deinit(b);
}

static int set_up(void **state)
{
    if (store_dir_make(state) != 0 || setenv("HOME", store_dir_file("."), 1)) {
        return -1;
    }
    const cf_tiny_options o = {.arch = "qwen2", .seed = 1, .chat_template = template_text};
    size_t n;
    cf_buf b = CF_BUF_INIT;
    void *gguf = cf_tiny_gguf(&o, &n);
    cf_hf_round(gguf, n);
    put_bytes("one/model.gguf", gguf, n);
    put_bytes("two/a.gguf", gguf, n);
    put_bytes("two/b.gguf", gguf, n);
    put_bytes(".lmstudio/models/org/name/model.gguf", gguf, n);
    (void)place("weights/x");
    cf_hf_write_folder(store_dir_file("weights"), gguf, n, false);
    (void)place("parts/x");
    cf_hf_write_folder(store_dir_file("parts"), gguf, n, true);
    cf_tiny_free(gguf);
    cf_hf_file(&b, CF_HF_BYTES);
    put_buf("plain/tokenizer.json", &b);
    put("plain/tokenizer_config.json",
        "{\"bos_token\":\"<s>\",\"chat_template\":[{\"name\":\"default\","
        "\"template\":\"{{ bos_token }}{{ messages[0].content }}\"},"
        "{\"name\":\"tool_use\",\"template\":\"tools: "
        "{{ tools[0].function.name }}\"}]}");
    b = (cf_buf)CF_BUF_INIT;
    cf_spm_file(&b, false);
    put_buf("pieces/tokenizer.model", &b);
    put("pieces/chat_template.json", "{\"chat_template\":\"<{{ messages[0].content }}>\"}");
    put("peft/adapter_config.json", "{}");
    put("nothing/README.md", "# nothing");
    put("a.jinja", template_text);
    put("hello.json", "{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}");
    put("tools.json", "{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}],\"tools\":"
                      "[{\"type\":\"function\",\"function\":{\"name\":\"look_up\"}}]}");
    unsetenv("HF_HOME");
    return 0;
}

/* Runs the program; the text that it wrote, of the caller. */
static char *run(int status, const char *command, const char *option, const char *where,
                 const char *last)
{
    cf_program p;
    CF_PROGRAM(&p, command, option, where, last);
    if (p.status != status) {
        fail_msg("%s %s %s: status %d: %s", command, option, where, p.status, cf_buf_cstr(&p.err));
    }
    char *text = strdup(cf_buf_cstr(status == 0 ? &p.out : &p.err));
    assert_non_null(text);
    cf_program_deinit(&p);
    return text;
}

static void gives(const char *command, const char *option, const char *where, const char *last,
                  const char *want)
{
    char *got = run(0, command, option, where, last);
    if (strcmp(got, want) != 0) {
        fail_msg("%s %s %s gives '%s', not '%s'", command, option, where, got, want);
    }
    free(got);
}

static void test_folder__without_weights(void **state)
{
    (void)state;
    NEED_PROGRAM();
    gives("render", "-m", place("plain"), place("hello.json"), "<s>hello");
    gives("render", "-m", place("plain"), place("tools.json"), "tools: look_up");
    gives("render", "-t", place("plain/tokenizer_config.json"), place("hello.json"), "<s>hello");
    gives("render", "-m", place("pieces"), place("hello.json"), "<hello>");
    char *text = run(0, "tokenize", "-m", place("plain"), "hello");
    assert_non_null(strstr(text, "hell"));
    free(text);
    free(run(0, "tokenize", "-m", place("pieces"), "hello"));
    cf_program p;
    CF_PROGRAM(&p, "lint", "-m", place("plain"));
    assert_int_equal(p.status, 1); /* it shows one message only */
    assert_non_null(strstr(cf_buf_cstr(&p.out), "(tool_use)"));
    cf_program_deinit(&p);
}

/* What greedy sampling adds to "ab". */
static char *completed(const char *name)
{
    cf_program p;
    CF_PROGRAM(&p, "complete", "-m", place(name), "-n", "6", "--temperature", "0", "ab");
    if (p.status != 0) {
        fail_msg("%s: %s", name, cf_buf_cstr(&p.err));
    }
    char *text = strdup(cf_buf_cstr(&p.out));
    assert_non_null(text);
    cf_program_deinit(&p);
    return text;
}

/* The same weights say the same, in whatever they are; the vocabulary of the
 * folders is another one than the GGUF's. */
static void test_folder__with_weights(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const char *const same[][2] = {
        {"one", "one/model.gguf"}, {"one", "two/b.gguf"}, {"weights", "parts"}};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        char *a = completed(same[i][0]), *b = completed(same[i][1]);
        assert_string_equal(a, b);
        free(a);
        free(b);
    }
    gives("render", "-m", "lmstudio:org/name", place("hello.json"), "<s>[user]hello");
}

/* A tokenizer_config.json has its special tokens, for -t too; for its prompt a
 * folder needs no weights. */
static void test_folder__of_its_template_file(void **state)
{
    (void)state;
    NEED_PROGRAM();
    gives("render", "-t", place("plain/tokenizer_config.json"), place("hello.json"), "<s>hello");
    cf_program p;
    CF_PROGRAM(&p, "diff", "-a", place("plain/tokenizer_config.json"), "-b", "chatml",
               place("hello.json"));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "-<s>hello"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "run", "--no-store", "-m", place("plain"), "--show-prompt", "hi");
    assert_int_equal(p.status, 0);
    assert_string_equal(cf_buf_cstr(&p.out), "<s>hi");
    cf_program_deinit(&p);
}

static void test_wrong_door__the_right_one_is_named(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const struct {
        const char *command, *option, *where, *says;
    } doors[] = {
        {"render", "-m", "plain/tokenizer_config.json", "use -m on its folder"},
        {"render", "-m", "plain/tokenizer.json", "use -m on its folder"},
        {"render", "-m", "a.jinja", "use -t"},
        {"render", "-t", "plain", "use -m"},
        {"render", "-t", "plain/tokenizer.json", "-t takes a template"},
        {"render", "-t", "one/model.gguf", "use -m for its template"},
        {"run", "-m", "plain", "has no weights"},
        {"run", "-m", "two", "holds 2 models"},
        {"run", "-m", "peft", "--lora"},
        {"run", "-m", "nothing", "confab models"},
        {"run", "-m", "none", "confab models"},
        {"run", "-m", "hf:Org/None", "is not in the cache"},
        {"run", "-m", "ollama:none", "is not in Ollama's store"},
        {"run", "-m", "lmstudio:org/none", "lmstudio"},
    };
    for (size_t i = 0; i < sizeof doors / sizeof doors[0]; i++) {
        bool is_name = strchr(doors[i].where, ':') != NULL;
        const char *where = is_name ? doors[i].where : place(doors[i].where);
        cf_program p;
        CF_PROGRAM(&p, doors[i].command, doors[i].option, where, place("hello.json"));
        const char *said = cf_buf_cstr(&p.err);
        const char *end = strchr(said, '\n');
        if (p.status == 0 || strstr(said, doors[i].says) == NULL || end == NULL || end[1] != '\0') {
            fail_msg("%s %s %s: status %d, says: %s", doors[i].command, doors[i].option,
                     doors[i].where, p.status, said);
        }
        cf_program_deinit(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folder__without_weights),
        cmocka_unit_test(test_folder__with_weights),
        cmocka_unit_test(test_folder__of_its_template_file),
        cmocka_unit_test(test_wrong_door__the_right_one_is_named),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
