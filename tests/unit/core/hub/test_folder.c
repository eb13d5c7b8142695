/*
 * test_folder.c - which of a folder's files counts.
 */
#include "tests/support/t.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/api/engine.h"
#include "core/base/os.h"
#include "tests/support/hf_file.h"

static char folder[] = "/tmp/cf_folder_XXXXXX";

static void put(const char *name, const char *text)
{
    char path[256];
    cf_error err = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    T_OK(cf_os_write_file(path, text, strlen(text), 0600, &err), err);
}

static void drop(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

static cf_engine *opened(void)
{
    cf_engine *e = NULL;
    cf_error err = {0};
    T_OK(cf_engine_open(&e, folder, NULL, &err), err);
    return e;
}

static void assert_template(const char *name, const char *want)
{
    cf_engine *e = opened();
    cf_str s = cf_engine_chat_template(e, name);
    if (want == NULL) {
        assert_null(s.p);
    } else {
        T_TEXT(s.p, s.n, want);
    }
    cf_engine_close(e);
}

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    cf_buf b = CF_BUF_INIT;
    cf_hf_file(&b, CF_HF_BYTES);
    put("tokenizer.json", cf_buf_cstr(&b));
    cf_buf_deinit(&b);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    drop("tokenizer.json");
    return rmdir(folder);
}

/* From the weakest to the strongest place of a template. */
static void test_templates__order(void **state)
{
    (void)state;
    assert_template(NULL, NULL);
    put("chat_template.json", "{\"chat_template\":\"one\"}");
    assert_template(NULL, "one");
    put("tokenizer_config.json", "{\"chat_template\":\"two\"}");
    assert_template(NULL, "two");
    put("tokenizer_config.json", "{\"model_max_length\":1000000000000000019884624838656,"
                                 "\"chat_template\":[{\"name\":\"default\",\"template\":\"three\"},"
                                 "{\"name\":\"tool_use\",\"template\":\"four\"}]}");
    assert_template(NULL, "three");
    assert_template("default", "three");
    assert_template("tool_use", "four");
    assert_template("rag", NULL);
    put("chat_template.jinja", "five");
    char dir[256];
    snprintf(dir, sizeof dir, "%s/additional_chat_templates", folder);
    mkdir(dir, 0700);
    put("additional_chat_templates/rag.jinja", "six");
    assert_template(NULL, "five");
    assert_template("rag", "six");
    assert_template("tool_use", NULL);
    drop("additional_chat_templates/rag.jinja");
    rmdir(dir);
    drop("chat_template.jinja");
    drop("chat_template.json");
    drop("tokenizer_config.json");
}

static void test_tokens__variables_and_ends(void **state)
{
    (void)state;
    put("tokenizer_config.json", "{\"bos_token\":{\"content\":\"<s>\"},\"eos_token\":null,"
                                 "\"extra_special_tokens\":{\"image_token\":\"<tool>\"}}");
    put("special_tokens_map.json", "{\"bos_token\":\"other\",\"eos_token\":\"hell\"}");
    put("generation_config.json", "{\"eos_token_id\":[257,999999,-1]}");
    put("config.json", "{\"model_type\":\"qwen3\",\"hidden_size\":64}");
    cf_engine *e = opened();
    const cf_tokenizer *tok = cf_engine_tokenizer(e);
    cf_str v = cf_tokenizer_variables(tok);
    T_TEXT(v.p, v.n,
           "{\"bos_token\":\"<s>\",\"image_token\":\"<tool>\","
           "\"eos_token\":\"hell\"}");
    assert_int_equal(cf_tokenizer_special(tok).bos, 259);
    assert_int_equal(cf_tokenizer_special(tok).eos, 258);
    assert_true(cf_tokenizer_is_end(tok, 257));
    assert_true(cf_tokenizer_is_end(tok, 258));
    assert_false(cf_tokenizer_is_end(tok, 256));
    cf_engine_info info = cf_engine_get_info(e);
    assert_string_equal(info.arch, "qwen3");
    assert_int_equal(info.n_embd, 64);
    assert_int_equal(info.n_vocab, 261);
    assert_true(info.is_folder);
    assert_false(info.has_weights);
    cf_engine_close(e);
    drop("tokenizer_config.json");
    drop("special_tokens_map.json");
    drop("generation_config.json");
    drop("config.json");
}

static void test_refused__broken_files(void **state)
{
    (void)state;
    cf_engine *e = NULL;
    cf_error err;
    put("tokenizer_config.json", "{\"chat_template\":");
    T_FAILS(cf_engine_open(&e, folder, NULL, &err), CF_EFORMAT);
    assert_non_null(strstr(err.text, "tokenizer_config.json"));
    drop("tokenizer_config.json");
    T_FAILS(cf_engine_open(&e, "/", NULL, &err), CF_ENOTFOUND);
    assert_non_null(strstr(err.text, "tokenizer.json"));
    assert_null(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_templates__order),
        cmocka_unit_test(test_tokens__variables_and_ends),
        cmocka_unit_test(test_refused__broken_files),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
