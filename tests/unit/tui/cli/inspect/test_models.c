/*
 * test_models.c - confab models and model over stores that the test makes: what
 * lies beside a model, and the templates that are not the GGUF's.
 */
#include "tests/support/t.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/os.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_gguf.h"
#include "tests/support/tiny_lora.h"

#define SNAPSHOT ".cache/huggingface/hub/models--Org--Name/snapshots/c0ffee/"
#define BLOBS    ".ollama/models/blobs/sha256-"
#define D32      "0123456789abcdef0123456789abcdef"

static const char own[] = "{% for m in messages %}{{ m.role }}:{{ m.content }}\n"
                          "{% endfor %}";

static const char *place(const char *name)
{
    static char path[512];
    cf_error err;
    snprintf(path, sizeof path, "%s", store_dir_file(name));
    char *slash = strrchr(path, '/');
    *slash = '\0';
    T_OK(cf_os_make_dirs(path, &err), err);
    *slash = '/';
    return path;
}

static void put(const char *name, const char *text)
{
    cf_error err;
    T_OK(cf_os_write_file(place(name), text, strlen(text), 0600, &err), err);
}

static void put_model(const char *name)
{
    const cf_tiny_options o = {.seed = 1, .chat_template = own};
    size_t n;
    cf_error err;
    void *bytes = cf_tiny_gguf(&o, &n);
    T_OK(cf_os_write_file(place(name), bytes, n, 0600, &err), err);
    cf_tiny_free(bytes);
}

static int set_up(void **state)
{
    if (store_dir_make(state) != 0) {
        return -1;
    }
    put(".cache/huggingface/hub/models--Org--Name/refs/main", "c0ffee");
    put_model(SNAPSHOT "model.gguf");
    cf_tiny_lora_write(place(SNAPSHOT "style.gguf"), "llama", 1);
    cf_tiny_lora_write(place(SNAPSHOT "other.gguf"), "qwen3", 1);
    put(SNAPSHOT "mmproj-model.gguf", "x");
    put(SNAPSHOT "peft/adapter_config.json", "{}");
    put(SNAPSHOT "tokenizer_config.json", "{\"chat_template\":\"{{ messages[0].content }}\"}");
    put(".ollama/models/manifests/registry.ollama.ai/library/tiny/4b",
        "{\"layers\":[{\"mediaType\":\"application/vnd.ollama.image.model\","
        "\"digest\":\"sha256:" D32 D32
        "\"},{\"mediaType\":\"application/vnd.ollama.image.template\","
        "\"digest\":\"sha256:" D32 "0123456789abcdef0123456789abcde0"
        "\"},{\"mediaType\":\"application/vnd.ollama.image.adapter\","
        "\"digest\":\"sha256:" D32 "0123456789abcdef0123456789abcde1\"}]}");
    put_model(BLOBS D32 D32);
    put(BLOBS D32 "0123456789abcdef0123456789abcde0",
        "{{ if .System }}{{ .System }}{{ end }}{{ .Prompt }}");
    put(BLOBS D32 "0123456789abcdef0123456789abcde1", "x");
    unsetenv("HF_HOME");
    unsetenv("HF_HUB_CACHE");
    unsetenv("OLLAMA_MODELS");
    return setenv("HOME", store_dir_file("."), 1);
}

static bool says(const cf_program *p, const char *text)
{
    return strstr(cf_buf_cstr(&p->out), text) != NULL;
}

/* An adapter in the folder is not a second model; it is listed beside, unless
 * it is for another architecture. */
static void test_models__beside(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    CF_PROGRAM(&p, "models", "--json");
    assert_int_equal(p.status, 0);
    assert_true(says(&p, "{\"name\":\"hf:Org/Name\""));
    assert_true(says(&p, "mmproj-model.gguf\",\"adapters\":["));
    assert_true(says(&p, "/style.gguf\""));
    assert_true(says(&p, "/peft\""));
    assert_false(says(&p, "other.gguf"));
    assert_true(says(&p, "{\"name\":\"ollama:tiny:4b\""));
    assert_true(says(&p, "\"architecture\":\"llama\""));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "models");
    assert_true(says(&p, "\n  + projector"));
    assert_true(says(&p, "\n  + adapter"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "models", "--names");
    assert_string_equal(cf_buf_cstr(&p.out), "hf:Org/Name\nollama:tiny:4b\n");
    cf_program_deinit(&p);
}

/* Ollama's template is shown as what it is, and the GGUF's is used. */
static void test_model__ollama_template(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    put("context.json", "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}");
    CF_PROGRAM(&p, "model", "ollama:tiny:4b");
    assert_int_equal(p.status, 0);
    assert_true(says(&p, "ollama template (in Go's language; the GGUF's own "
                         "is used)\n{{ if .System }}"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "model", "--json", "ollama:tiny:4b");
    assert_true(says(&p, "\"ollama_template\":\"{{ if .System }}"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "render", "-m", "ollama:tiny:4b", store_dir_file("context.json"));
    assert_string_equal(cf_buf_cstr(&p.out), "user:Hi\n");
    cf_program_deinit(&p);
}

/* A GGUF beside the files of its repository. */
static void test_model__repository_template(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const char *const commands[][5] = {
        {"model", "-m", "hf:Org/Name"},
        {"lint", "-m", "hf:Org/Name"},
        {"run", "-m", "hf:Org/Name", "-n1"},
    };
    cf_program p;
    for (size_t i = 0; i < 3; i++) {
        const char *const argv[] = {commands[i][0],
                                    commands[i][1],
                                    commands[i][2],
                                    i == 2 ? "-n1" : NULL,
                                    i == 2 ? "--no-store" : NULL,
                                    i == 2 ? "Hi" : NULL,
                                    NULL};
        cf_program_run(&p, argv, NULL, 0);
        bool is_said = says(&p, "another template than the repository") ||
                       strstr(cf_buf_cstr(&p.err), "another template than the repository") != NULL;
        assert_true(is_said);
        cf_program_deinit(&p);
    }
    CF_PROGRAM(&p, "model", "ollama:tiny:4b");
    assert_false(says(&p, "another template"));
    cf_program_deinit(&p);
}

/* bash takes "hf" and "Org" for two words, and gets the rest of the name. */
static void test_completion__models(void **state)
{
    (void)state;
    NEED_PROGRAM();
    if (system("command -v bash >/dev/null") != 0) { /* NOLINT(cert-env33-c) */
        T_SKIP("bash is not installed");
    }
    char line[128] = "";
    FILE *f = popen("dir=$(mktemp -d) && ln -s $CONFAB_BIN $dir/confab && "
                    "PATH=$dir:$PATH bash -c '"
                    "eval \"$(confab completion bash)\"; "
                    "COMP_WORDBREAKS=:; COMP_WORDS=(confab run -m hf : O); "
                    "COMP_CWORD=5; _confab 2>/dev/null; "
                    "echo -n \"${COMPREPLY[@]} \"; "
                    "COMP_WORDS=(confab run -m oll); COMP_CWORD=3; "
                    "_confab 2>/dev/null; echo -n \"${COMPREPLY[@]}\"'; "
                    "rm -r $dir",
                    "r"); /* NOLINT(cert-env33-c) */
    assert_non_null(f);
    size_t n = fread(line, 1, sizeof line - 1, f);
    line[n] = '\0';
    assert_int_equal(pclose(f), 0);
    assert_string_equal(line, "Org/Name ollama:tiny:4b");
}

/* A folder whose weights are damaged is described, and its status says so. */
static void test_model__damaged_weights(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const struct {
        const char *bytes;
        size_t n;
        const char *why;
    } files[] = {{"\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, "not a safetensors file"},
                 {"\x6a\0\0\0\0\0\0\0"
                  "{\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]},"
                  "\"b\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[4,12]}}0123456789ab",
                  8 + 106 + 12, "overlap"}};
    char path[600];
    cf_error err;
    const char *folder = store_dir_file("damaged");
    T_OK(cf_os_make_dirs(folder, &err), err);
    snprintf(path, sizeof path, "%s/config.json", folder);
    store_dir_write(path, "{\"model_type\":\"llama\"}");
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    store_dir_write(path, "{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}");
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    for (size_t i = 0; i < 2; i++) {
        cf_program p;
        T_OK(cf_os_write_file(path, files[i].bytes, files[i].n, 0600, &err), err);
        CF_PROGRAM(&p, "model", "--tensors", folder);
        if (p.status != 3 || strstr(cf_buf_cstr(&p.err), files[i].why) == NULL) {
            fail_msg("status %d: %s", p.status, cf_buf_cstr(&p.err));
        }
        cf_program_deinit(&p);
        (void)remove(path);
    }
    snprintf(path, sizeof path, "%s/config.json", folder);
    (void)remove(path);
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    (void)remove(path);
    cf_program p;
    CF_PROGRAM(&p, "models", folder); /* a folder a line */
    assert_true(says(&p, "no models found in:\n  "));
    assert_true(says(&p, folder));
    cf_program_deinit(&p);
    (void)remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models__beside),
        cmocka_unit_test(test_model__ollama_template),
        cmocka_unit_test(test_model__repository_template),
        cmocka_unit_test(test_completion__models),
        cmocka_unit_test(test_model__damaged_weights),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
