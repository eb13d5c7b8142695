/*
 * test_model_place.c - stores of models, made in a folder that is HOME.
 */
#include "tests/support/t.h"

#include <unistd.h>

#include "core/base/os.h"
#include "templates/model_place.h"

static char home[] = "/tmp/cf_models_XXXXXX";

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void put(const char *name, const char *text)
{
    char path[512];
    cf_error err = {0};
    snprintf(path, sizeof path, "%s/%s", home, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    T_OK(cf_os_make_dirs(path, &err), err);
    *slash = '/';
    T_OK(cf_os_write_file(path, text, strlen(text), 0600, &err), err);
}

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(home) == NULL || setenv("HOME", home, 1) != 0) {
        return -1;
    }
    unsetenv("HF_HOME");
    unsetenv("HF_HUB_CACHE");
    unsetenv("OLLAMA_MODELS");
    put(".cache/huggingface/hub/models--Org--Name/refs/main", "c0ffee\n");
    put(".cache/huggingface/hub/models--Org--Name/snapshots/c0ffee/"
        "tokenizer.json",
        "{}");
    put(".cache/huggingface/hub/models--Org--Name/snapshots/abad1dea/"
        "tokenizer.json",
        "{}");
    put(".cache/huggingface/hub/models--Org--Bad/refs/main", "../../x");
    put(".ollama/models/manifests/registry.ollama.ai/library/tiny/4b",
        "{\"layers\":[{\"mediaType\":\"application/vnd.ollama.image.template\","
        "\"digest\":\"sha256:00\"},{\"mediaType\":"
        "\"application/vnd.ollama.image.model\",\"digest\":\"sha256:" DIGEST "\"}]}");
    put(".ollama/models/manifests/registry.ollama.ai/me/own/latest",
        "{\"layers\":[{\"mediaType\":\"application/vnd.ollama.image.model\","
        "\"digest\":\"sha256:../../../../../../../../../../etc/passwd\"}]}");
    put(".ollama/models/blobs/sha256-" DIGEST, "x");
    put(".lmstudio/models/org/one/a-00001-of-00002.gguf", "x");
    put(".lmstudio/models/org/one/a-00002-of-00002.gguf", "x");
    put(".lmstudio/models/org/one/mmproj-a.gguf", "x");
    put(".lmstudio/models/org/two/a.gguf", "x");
    put(".lmstudio/models/org/two/b.gguf", "x");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", home);
    return system(command);
}

static void assert_place(const char *name, const char *want)
{
    cf_buf b = CF_BUF_INIT;
    cf_error err = {0};
    char full[512];
    snprintf(full, sizeof full, "%s/%s", home, want);
    T_OK(cf_model_place_find(&b, name, &err), err);
    assert_string_equal(cf_buf_cstr(&b), full);
    cf_buf_deinit(&b);
}

static void assert_missing(const char *name, cf_status code)
{
    cf_buf b = CF_BUF_INIT;
    cf_error err = {0};
    T_FAILS(cf_model_place_find(&b, name, &err), code);
    assert_true(err.text[0] != '\0');
    cf_buf_deinit(&b);
}

#define SNAPSHOTS ".cache/huggingface/hub/models--Org--Name/snapshots/"

static void test_find__known(void **state)
{
    (void)state;
    assert_place("hf:Org/Name", SNAPSHOTS "c0ffee");
    assert_place("hf:Org/Name@main", SNAPSHOTS "c0ffee");
    assert_place("hf:Org/Name@abad1dea", SNAPSHOTS "abad1dea");
    assert_place("ollama:tiny:4b", ".ollama/models/blobs/sha256-" DIGEST);
    assert_place("lmstudio:org/one", ".lmstudio/models/org/one/a-00001-of-00002.gguf");
    assert_place("lmstudio:org/two/b.gguf", ".lmstudio/models/org/two/b.gguf");
    cf_buf b = CF_BUF_INIT;
    cf_error err = {0};
    T_OK(cf_model_place_find(&b, "any/file.gguf", &err), err);
    assert_string_equal(cf_buf_cstr(&b), "any/file.gguf");
    cf_buf_deinit(&b);
}

static void test_find__environment(void **state)
{
    (void)state;
    setenv("OLLAMA_MODELS", "/no/such", 1);
    assert_missing("ollama:tiny:4b", CF_ENOTFOUND);
    unsetenv("OLLAMA_MODELS");
    setenv("HF_HOME", "/no/such", 1);
    assert_missing("hf:Org/Name", CF_ENOTFOUND);
    unsetenv("HF_HOME");
}

static void test_find__refused(void **state)
{
    (void)state;
    assert_missing("hf:Org/None", CF_ENOTFOUND);
    assert_missing("hf:Org/Name@none", CF_ENOTFOUND);
    assert_missing("hf:../x", CF_EINVAL);
    assert_missing("hf:Org/Name@../x", CF_EINVAL);
    assert_missing("hf:", CF_EINVAL);
    assert_missing("hf:Org/Bad", CF_EFORMAT);
    assert_missing("ollama:tiny", CF_ENOTFOUND);
    assert_missing("ollama:../../x", CF_EINVAL);
    assert_missing("ollama:me/own", CF_EFORMAT);
    assert_missing("lmstudio:org/none", CF_ENOTFOUND);
    assert_missing("lmstudio:org/two", CF_EINVAL); /* two models */
}

static void test_list__all_stores(void **state)
{
    (void)state;
    static const char *const want[] = {"hf:Org/Name", "ollama:tiny:4b", "lmstudio:org/one",
                                       "lmstudio:org/two/a.gguf", "lmstudio:org/two/b.gguf"};
    cf_model_places p = {0};
    cf_error err = {0};
    T_OK(cf_model_places_list(&p, &err), err);
    assert_int_equal(p.n, sizeof want / sizeof want[0]);
    for (size_t i = 0; i < p.n; i++) {
        assert_string_equal(p.v[i].name, want[i]);
        cf_buf b = CF_BUF_INIT;
        T_OK(cf_model_place_find(&b, p.v[i].name, &err), err);
        assert_string_equal(cf_buf_cstr(&b), p.v[i].path);
        cf_buf_deinit(&b);
    }
    cf_model_places_deinit(&p);
}

/* Every model that is listed is offered for its name with a letter left out. */
static void test_list__each_is_suggested(void **state)
{
    (void)state;
    cf_model_places p = {0};
    cf_error err = {0};
    T_OK(cf_model_places_list(&p, &err), err);
    assert_true(p.n > 1);
    for (size_t i = 0; i < p.n; i++) {
        char typo[128];
        size_t n = strlen(p.v[i].name);
        snprintf(typo, sizeof typo, "%.*s%s", (int)n - 2, p.v[i].name, p.v[i].name + n - 1);
        err = (cf_error){0};
        T_FAILS(cf_model_place_suggest(typo, CF_ENOTFOUND, &err), CF_ENOTFOUND);
        if (strstr(err.text, p.v[i].name) == NULL) {
            fail_msg("%s: '%s' does not offer %s", typo, err.text, p.v[i].name);
        }
    }
    cf_model_places_deinit(&p);
}

static void test_door__by_name(void **state)
{
    (void)state;
    assert_non_null(strstr(cf_model_place_door("x/tokenizer_config.json"), "-m on its folder"));
    assert_non_null(strstr(cf_model_place_door("a.jinja"), "-t"));
    assert_null(cf_model_place_door("a.gguf"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find__known),
        cmocka_unit_test(test_find__environment),
        cmocka_unit_test(test_find__refused),
        cmocka_unit_test(test_list__all_stores),
        cmocka_unit_test(test_list__each_is_suggested),
        cmocka_unit_test(test_door__by_name),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
