/*
 * test_models_here.c - the user who has only a Hugging Face cache, or only
 * Ollama's store: `confab` without an argument, a model chosen from the list.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/os.h"
#include "tests/support/program.h"
#include "tests/support/pty.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"
#include "tests/support/tiny_lora.h"

/* Writes a file below HOME, and the folders that it is in. */
static void put_at_home(const char *name, const void *p, size_t n)
{
    char path[600];
    cf_error err;
    snprintf(path, sizeof path, "%s/%s", store_dir_file("home"), name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    T_OK(cf_os_make_dirs(path, &err), err);
    *slash = '/';
    T_OK(cf_os_write_file(path, p, n, 0600, &err), err);
}

static void put_model_at_home(const char *name, const char *arch)
{
    size_t n;
    const cf_tiny_options o = {.arch = arch, .seed = 3};
    void *model = cf_tiny_gguf(&o, &n);
    put_at_home(name, model, n);
    cf_tiny_free(model);
}

/* Starts without an argument and chooses the one model, `name`, from the list;
 * then an adapter for it, when there is one. */
static void choose(const char *name, const char *lora)
{
    static const char *const words[] = {"--no-store", NULL};
    cf_pty t;
    char text[600];
    cf_pty_start(&t, 120, 36, words, "xterm-256color");
    cf_pty_wait(&t, "1 model is here");
    cf_pty_type(&t, ":model\r");
    snprintf(text, sizeof text, "here: %s", name);
    cf_pty_wait(&t, text);
    cf_pty_type(&t, "\t"); /* bundled, the one in use */
    cf_pty_wait(&t, ":model bundled");
    cf_pty_type(&t, "\t");
    snprintf(text, sizeof text, ":model %s", name);
    cf_pty_wait(&t, text);
    cf_pty_type(&t, "\r");
    cf_pty_wait(&t, "model   tiny"); /* the name in the file */
    if (lora != NULL) {
        snprintf(text, sizeof text, ":lora %s=0.5\r", lora);
        cf_pty_type(&t, text);
        cf_pty_wait(&t, "lora.gguf x 0.5");
        cf_pty_type(&t, ":lora off\r");
        cf_pty_wait(&t, "adapters: none");
    }
    cf_pty_type(&t, "Q");
    int status = cf_pty_finish(&t);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_start__a_model_from_the_hugging_face_cache(void **state)
{
    (void)state;
    NEED_TERMINALS();
    put_at_home(".cache/huggingface/hub/models--Org--Tiny/refs/main", "c0ffee", 6);
    put_model_at_home(".cache/huggingface/hub/models--Org--Tiny/snapshots/"
                      "c0ffee/model.gguf",
                      "qwen2");
    char lora[512];
    snprintf(lora, sizeof lora, "%s", store_dir_file("lora.gguf"));
    cf_tiny_lora_write(lora, "qwen2", 5);
    choose("hf:Org/Tiny", lora);
    rename(store_dir_file("home/.cache"), store_dir_file("home/was-cache"));
}

static void test_start__a_model_from_ollamas_store(void **state)
{
    (void)state;
    static const char digest[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    char text[300];
    NEED_TERMINALS();
    snprintf(text, sizeof text, ".ollama/models/blobs/sha256-%s", digest);
    put_model_at_home(text, "llama");
    snprintf(text, sizeof text,
             "{\"layers\":[{\"mediaType\":\"application/vnd.ollama.image."
             "model\",\"digest\":\"sha256:%s\"}]}",
             digest);
    put_at_home(".ollama/models/manifests/registry.ollama.ai/library/tiny/4b", text, strlen(text));
    choose("ollama:tiny:4b", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start__a_model_from_the_hugging_face_cache),
        cmocka_unit_test(test_start__a_model_from_ollamas_store),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
