/*
 * test_hf_weights.c - the same weights as GGUF and as a folder give the same
 * bits, for each family.
 */
#include "tests/support/t.h"

#include <unistd.h>

#include "core/api/engine.h"
#include "core/api/session.h"
#include "core/base/os.h"
#include "core/hub/hf_families.h"
#include "tests/support/hf_weights_file.h"
#include "tests/support/tiny_gguf.h"

enum { N_IDS = 20, VOCAB = 320 };

static char folder[] = "/tmp/cf_hf_weights_XXXXXX";

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    cf_hf_remove_files(folder);
    return rmdir(folder);
}

/* Logits after a prompt, and after one token more. */
static void compute(cf_engine *e, float out[2 * VOCAB])
{
    cf_error err = {0};
    cf_session *s = NULL;
    cf_token ids[N_IDS];
    for (int i = 0; i < N_IDS; i++) {
        ids[i] = (cf_token)(3 + i * 37 % 300);
    }
    T_OK(cf_session_new(&s, e, NULL, &err), err);
    assert_int_equal(cf_engine_get_info(e).n_vocab, VOCAB);
    T_OK(cf_session_sync(s, ids, N_IDS, NULL, NULL, &err), err);
    memcpy(out, cf_session_logits(s), VOCAB * sizeof *out);
    T_OK(cf_session_step(s, 77, NULL, &err), err);
    memcpy(out + VOCAB, cf_session_logits(s), VOCAB * sizeof *out);
    cf_session_free(s);
}

static void compare(const cf_tiny_options *o, bool in_parts)
{
    static float want[2 * VOCAB], got[2 * VOCAB];
    cf_error err = {0};
    cf_engine *a = NULL, *b = NULL;
    size_t n;
    void *bytes = cf_tiny_gguf(o, &n);
    cf_hf_round(bytes, n);
    cf_hf_write_folder(folder, bytes, n, in_parts);
    T_OK(cf_engine_open_memory(&a, bytes, n, NULL, &err), err);
    cf_status st = cf_engine_open(&b, folder, NULL, &err);
    if (st != CF_OK) {
        fail_msg("%s: %s", o->arch, err.text);
    }
    compute(a, want);
    compute(b, got);
    for (size_t i = 0; i < 2 * VOCAB; i++) {
        if (memcmp(&want[i], &got[i], sizeof want[i]) != 0) {
            fail_msg("%s: logit %zu is %.9g, must be %.9g", o->arch, i, (double)got[i],
                     (double)want[i]);
        }
    }
    cf_engine_close(b);
    cf_engine_close(a);
    cf_tiny_free(bytes);
    cf_hf_remove_files(folder);
}

static void test_same_bits__each_family_and_type(void **state)
{
    static const cf_dtype types[] = {CF_F32, CF_F16, CF_BF16};
    (void)state;
    for (size_t i = 0; cf_tiny_archs[i] != NULL; i++) {
        const char *arch = cf_tiny_archs[i];
        for (size_t k = 0; k < 3 && cf_hf_family_of_arch(arch) != NULL; k++) {
            cf_tiny_options o = {.arch = arch, .type = types[k], .seed = 11 + i};
            o.rope_scaling = strcmp(arch, "mistral3") == 0 ? "yarn" : NULL;
            o.has_output = k == 1 && strncmp(arch, "gemma", 5) != 0;
            compare(&o, k == 2);
        }
    }
}

static void test_same_bits__rotary_scaling(void **state)
{
    (void)state;
    compare(&(cf_tiny_options){.arch = "phi3", .rope_scaling = "longrope", .seed = 3}, false);
    compare(&(cf_tiny_options){.arch = "qwen2", .rope_scaling = "yarn", .seed = 4}, false);
    compare(
        &(cf_tiny_options){.arch = "llama", .rope_scaling = "linear", .has_bias = true, .seed = 5},
        false);
}

/* The file of sentence-transformers says how a vector is made. */
static void test_pooling__as_the_folder_says(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        cf_pooling want;
    } rows[] = {
        {NULL, CF_POOLING_NONE},
        {"{\"word_embedding_dimension\":64,\"pooling_mode_cls_token\":false,"
         "\"pooling_mode_mean_tokens\":true,\"pooling_mode_lasttoken\":false}",
         CF_POOLING_MEAN},
        {"{\"pooling_mode_cls_token\":true}", CF_POOLING_FIRST},
        {"{\"pooling_mode_lasttoken\":true}", CF_POOLING_LAST},
        {"{\"pooling_mode\":\"lasttoken\"}", CF_POOLING_LAST},
        {"{\"pooling_mode_mean_tokens\":true,\"pooling_mode_cls_token\":true}", CF_POOLING_NONE},
        {"{\"pooling_mode_max_tokens\":true}", CF_POOLING_NONE},
    };
    const cf_tiny_options o = {.arch = "qwen3"};
    char dir[600], path[700];
    cf_error err = {0};
    size_t n;
    void *bytes = cf_tiny_gguf(&o, &n);
    cf_hf_round(bytes, n);
    cf_hf_write_folder(folder, bytes, n, false);
    snprintf(dir, sizeof dir, "%s/1_Pooling", folder);
    snprintf(path, sizeof path, "%s/config.json", dir);
    T_OK(cf_os_make_dirs(dir, &err), err);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cf_engine *e = NULL;
        if (rows[i].text != NULL) {
            T_OK(cf_os_write_file(path, rows[i].text, strlen(rows[i].text), 0600, &err), err);
        }
        T_OK(cf_engine_open(&e, folder, NULL, &err), err);
        assert_int_equal(cf_engine_get_info(e).pooling, rows[i].want);
        cf_engine_close(e);
    }
    (void)unlink(path);
    (void)rmdir(dir);
    cf_tiny_free(bytes);
    cf_hf_remove_files(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits__each_family_and_type),
        cmocka_unit_test(test_same_bits__rotary_scaling),
        cmocka_unit_test(test_pooling__as_the_folder_says),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
