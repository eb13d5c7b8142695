/*
 * test_hf_weights.c - the same weights as GGUF and as a folder give the same
 * bits, for each family.
 */
#include "tests/support/t.h"

#include <unistd.h>

#include "core/api/embed.h"
#include "core/api/engine.h"
#include "core/api/session.h"
#include "core/base/os.h"
#include "core/hub/hf_config.h"
#include "core/hub/hf_families.h"
#include "core/json/json.h"
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

static void test_same_bits__mixtral(void **state)
{
    (void)state;
    compare(&(cf_tiny_options){.arch = "llama", .type = CF_F16, .has_experts = true, .seed = 8},
            false);
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

/* ---- encoders ------------------------------------------------------------ */

static void embed(cf_engine *e, float out[65])
{
    cf_error err = {0};
    cf_embedder *m = NULL;
    cf_token ids[N_IDS];
    for (int i = 0; i < N_IDS; i++) {
        ids[i] = (cf_token)(3 + i * 37 % 300);
    }
    assert_true(cf_engine_get_info(e).is_encoder);
    T_OK(cf_embedder_new(&m, e, 0, &err), err);
    T_OK(cf_embedder_run(m, ids, N_IDS, NULL, out, out + 64, &err), err);
    cf_embedder_free(m);
}

static void compare_vectors(const cf_tiny_options *o, bool is_roberta)
{
    float want[65], got[65];
    cf_error err = {0};
    cf_engine *a = NULL, *b = NULL;
    size_t n;
    void *bytes = cf_tiny_gguf(o, &n);
    cf_hf_round(bytes, n);
    if (is_roberta) {
        cf_hf_write_roberta(folder, bytes, n);
    } else {
        cf_hf_write_folder(folder, bytes, n, false);
    }
    T_OK(cf_engine_open_memory(&a, bytes, n, NULL, &err), err);
    cf_status st = cf_engine_open(&b, folder, NULL, &err);
    if (st != CF_OK) {
        fail_msg("%s: %s", o->arch, err.text);
    }
    assert_int_equal(cf_engine_get_info(a).pooling, cf_engine_get_info(b).pooling);
    assert_int_equal(cf_engine_get_info(a).n_ctx_train, cf_engine_get_info(b).n_ctx_train);
    embed(a, want);
    embed(b, got);
    assert_memory_equal(got, want, sizeof want);
    cf_engine_close(b);
    cf_engine_close(a);
    cf_tiny_free(bytes);
    cf_hf_remove_files(folder);
}

static void test_same_bits__encoders(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        bool has_bias, is_roberta, is_ranker;
    } rows[] = {{"bert", true, false, false},        {"bert", true, false, true},
                {"bert", true, true, false},         {"bert", true, true, true},
                {"nomic-bert", false, false, false}, {"modern-bert", false, false, false},
                {"modern-bert", false, false, true}, {"gemma-embedding", false, false, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        compare_vectors(&(cf_tiny_options){.arch = rows[i].arch,
                                           .seed = 40 + i,
                                           .type = i % 2 == 0 ? CF_F32 : CF_BF16,
                                           .has_bias = rows[i].has_bias,
                                           .pooling = rows[i].is_ranker ? CF_POOLING_RANK : 0},
                        rows[i].is_roberta);
    }
}

/* Settings of an encoder, or a part after it, that would give other vectors. */
static void test_encoder__refused(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *says;
    } rows[] = {{"\"gelu\"", "\"relu\"", "hidden_act"},
                {"\"pad_token_id\":0", "\"is_decoder\":1  ", "is_decoder"},
                {NULL, NULL, "2_Dense"}};
    char path[300];
    size_t n;
    void *bytes = cf_tiny_gguf(&(cf_tiny_options){.arch = "bert"}, &n);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cf_error err = {0};
        cf_engine *e = NULL;
        cf_embedder *m = NULL;
        cf_buf text = CF_BUF_INIT;
        cf_hf_write_folder(folder, bytes, n, false);
        snprintf(path, sizeof path, "%s/config.json", folder);
        T_OK(cf_os_read_file(&text, path, 1 << 20, &err), err);
        char *at = rows[i].from != NULL ? strstr(cf_buf_cstr(&text), rows[i].from) : NULL;
        if (at != NULL) {
            memcpy(at, rows[i].to, strlen(rows[i].to));
            T_OK(cf_os_write_file(path, text.p, text.n, 0600, &err), err);
        } else {
            snprintf(path, sizeof path, "%s/2_Dense", folder);
            T_OK(cf_os_make_dirs(path, &err), err);
            snprintf(path, sizeof path, "%s/2_Dense/config.json", folder);
            T_OK(cf_os_write_file(path, "{\"bias\":true}", 13, 0600, &err), err);
        }
        assert_int_equal(at != NULL, rows[i].from != NULL);
        T_OK(cf_engine_open(&e, folder, NULL, &err), err);
        assert_int_not_equal(cf_embedder_new(&m, e, 0, &err), CF_OK);
        if (strstr(err.text, rows[i].says) == NULL) {
            fail_msg("%s: %s", rows[i].says, err.text);
        }
        cf_engine_close(e);
        cf_buf_deinit(&text);
        cf_hf_remove_files(folder);
    }
    cf_tiny_free(bytes);
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

/* The rows of ssm_in are z, x, B, C and dt, each with a multiplier of its own. */
static void test_config__multipliers_of_rows(void **state)
{
    (void)state;
    static const double want[] = {20, 20, 20, 20, 30, 30, 30, 30, 50, 50, 70, 70, 110, 110};
    static const char text[] =
        "{\"model_type\":\"falcon_h1\",\"mamba_d_ssm\":4,\"mamba_n_groups\":1,\"mamba_d_state\":2,"
        "\"ssm_multipliers\":[2,3,5,7,11],\"ssm_in_multiplier\":10,\"ssm_out_multiplier\":4,"
        "\"mlp_multipliers\":[6,8],\"attention_in_multiplier\":3,\"key_multiplier\":0.5}";
    static const struct {
        const char *to;
        double want;
    } rows[] = {{"attn_q.weight", 3},  {"attn_k.weight", 1.5},   {"attn_v.weight", 3},
                {"ssm_out.weight", 4}, {"ffn_gate.weight", 6},   {"ffn_down.weight", 8},
                {"ffn_up.weight", 1},  {"attn_output.weight", 1}};
    cf_error err;
    json_t *v;
    cf_hf_config c;
    T_OK(cf_json_read(&v, text, strlen(text), &err), err);
    T_OK(cf_hf_config_init(&c, v, &err), err);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        assert_true(cf_hf_config_times(&c, "ssm_in.weight", i) == want[i]);
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(cf_hf_config_times(&c, rows[i].to, 0) == rows[i].want);
    }
    cf_hf_config_deinit(&c);
    json_decref(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config__multipliers_of_rows),
        cmocka_unit_test(test_same_bits__encoders),
        cmocka_unit_test(test_same_bits__mixtral),
        cmocka_unit_test(test_encoder__refused),
        cmocka_unit_test(test_same_bits__each_family_and_type),
        cmocka_unit_test(test_same_bits__rotary_scaling),
        cmocka_unit_test(test_pooling__as_the_folder_says),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
