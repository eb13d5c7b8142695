/*
 * test_adapter.c - LoRA adapters against merged weights.
 */
#include "tests/support/t.h"

#include <math.h>
#include <unistd.h>

#include "core/api/adapter.h"
#include "core/api/batch.h"
#include "core/api/engine.h"
#include "core/base/os.h"
#include "core/model/gguf.h"
#include "tests/support/tiny_gguf.h"
#include "tests/support/tiny_lora.h"

enum { VOCAB = 320, N_IDS = 12, HEADS = 4 };
enum { RANK = CF_TINY_RANK, N_LAYER = CF_TINY_LORA_LAYERS, N_MAT = CF_TINY_MATS };

static const double ALPHA = CF_TINY_ALPHA;

static char folder[] = "/tmp/cf_adapter_XXXXXX";
static char gguf_path[64];

typedef cf_tiny_pair pair;
#define mats       cf_tiny_mats
#define fill       cf_tiny_pair_fill
#define write_gguf cf_tiny_lora_write

static void write_text(const char *name, const void *p, size_t n)
{
    char path[128];
    cf_error err = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    T_OK(cf_os_write_file(path, p, n, 0600, &err), err);
}

/* The same as PEFT saves it; q's rows are in halves where the GGUF has
 * pairs. */
static void write_peft(bool pairs, uint64_t seed, const char *config)
{
    cf_buf header = CF_BUF_INIT, data = CF_BUF_INIT, all = CF_BUF_INIT;
    static pair p, q;
    for (uint32_t l = 0; l < N_LAYER; l++) {
        for (size_t i = 0; i < N_MAT; i++) {
            size_t na = 4 * (size_t)mats[i].n_col * RANK;
            size_t nb = 4 * (size_t)mats[i].n_row * RANK;
            fill(&p, seed, l, i);
            q = p;
            uint32_t size = mats[i].n_row / HEADS;
            for (uint32_t r = 0; pairs && i == 0 && r < mats[i].n_row; r++) {
                uint32_t h = r / size, k = r % size;
                uint32_t to = h * size + k / 2 + k % 2 * (size / 2);
                memcpy(q.b + to * RANK, p.b + r * RANK, 4 * RANK);
            }
            cf_buf_addf(&header,
                        "%s\"base_model.model.model.layers.%u.%s.lora_A.weight"
                        "\":{\"dtype\":\"F32\",\"shape\":[%d,%u],"
                        "\"data_offsets\":[%zu,%zu]}",
                        header.n == 0 ? "{" : ",", l, mats[i].peft, RANK, mats[i].n_col, data.n,
                        data.n + na);
            cf_buf_add(&data, q.a, na);
            cf_buf_addf(&header,
                        ",\"base_model.model.model.layers.%u.%s.lora_B.weight"
                        "\":{\"dtype\":\"F32\",\"shape\":[%u,%d],"
                        "\"data_offsets\":[%zu,%zu]}",
                        l, mats[i].peft, mats[i].n_row, RANK, data.n, data.n + nb);
            cf_buf_add(&data, q.b, nb);
        }
    }
    cf_buf_adds(&header, "}");
    while (header.n % 8 != 0) {
        cf_buf_addc(&header, ' ');
    }
    for (size_t i = 0; i < 8; i++) {
        cf_buf_addc(&all, (char)(unsigned char)(header.n >> (8 * i)));
    }
    cf_buf_add(&all, header.p, header.n);
    cf_buf_add(&all, data.p, data.n);
    write_text("adapter_model.safetensors", all.p, all.n);
    write_text("adapter_config.json", config, strlen(config));
    cf_buf_deinit(&header);
    cf_buf_deinit(&data);
    cf_buf_deinit(&all);
}

/* W += scale B A in the bytes of a model. */
static void merge(void *bytes, size_t n, uint64_t seed, double scale)
{
    cf_gguf *g = NULL;
    cf_error err = {0};
    static pair p;
    T_OK(cf_gguf_open_memory(&g, bytes, n, &err), err);
    for (uint32_t l = 0; l < N_LAYER; l++) {
        for (size_t i = 0; i < N_MAT; i++) {
            char name[64];
            snprintf(name, sizeof name, "blk.%u.%s", l, mats[i].name);
            const cf_gguf_tensor *t = cf_gguf_find_tensor(g, name);
            assert_non_null(t);
            size_t off = (size_t)(t->p - (const unsigned char *)bytes);
            float *w = (float *)(void *)((unsigned char *)bytes + off);
            fill(&p, seed, l, i);
            for (size_t r = 0; r < mats[i].n_row; r++) {
                for (size_t c = 0; c < mats[i].n_col; c++) {
                    double sum = 0;
                    for (size_t k = 0; k < RANK; k++) {
                        sum += (double)p.b[r * RANK + k] * (double)p.a[k * mats[i].n_col + c];
                    }
                    w[r * mats[i].n_col + c] += (float)(scale * sum);
                }
            }
        }
    }
    cf_gguf_close(g);
}

static void compute(cf_session *s, float out[VOCAB])
{
    cf_error err = {0};
    cf_token ids[N_IDS];
    for (int i = 0; i < N_IDS; i++) {
        ids[i] = (cf_token)(3 + i * 37 % 300);
    }
    T_OK(cf_session_sync(s, ids, N_IDS, NULL, NULL, &err), err);
    memcpy(out, cf_session_logits(s), VOCAB * sizeof *out);
}

static void compute_with(cf_engine *e, const cf_adapter_use *v, size_t n, float out[VOCAB])
{
    cf_error err = {0};
    cf_session *s = NULL;
    T_OK(cf_session_new(&s, e, NULL, &err), err);
    T_OK(cf_session_set_adapters(s, v, n, &err), err);
    compute(s, out);
    cf_session_free(s);
}

static double distance(const float *a, const float *b)
{
    double far = 0;
    for (size_t i = 0; i < VOCAB; i++) {
        far = fmax(far, fabs((double)a[i] - (double)b[i]));
    }
    return far;
}

typedef struct model {
    void *bytes;
    size_t n;
    cf_engine *e;
} model;

static model open_model(const char *arch)
{
    cf_error err = {0};
    model m = {0};
    m.bytes = cf_tiny_gguf(&(cf_tiny_options){.arch = arch, .seed = 5}, &m.n);
    T_OK(cf_engine_open_memory(&m.e, m.bytes, m.n, NULL, &err), err);
    return m;
}

static void close_model(model *m)
{
    cf_engine_close(m->e);
    cf_tiny_free(m->bytes);
}

static void test_adapter__equals_merged_weights(void **state)
{
    (void)state;
    static float base[VOCAB], with[VOCAB], none[VOCAB], want[VOCAB];
    static const char *const archs[] = {"llama", "qwen3"};
    cf_error err = {0};
    for (size_t i = 0; i < 2; i++) {
        model m = open_model(archs[i]), merged = {0};
        cf_adapter *a = NULL;
        write_gguf(gguf_path, archs[i], 1);
        T_OK(cf_adapter_open(&a, m.e, gguf_path, &err), err);
        assert_int_equal(cf_adapter_get_info(a).n_matrix, N_LAYER * N_MAT);
        assert_int_equal(cf_adapter_get_info(a).rank, RANK);
        compute_with(m.e, NULL, 0, base);
        compute_with(m.e, &(cf_adapter_use){a, 0}, 1, none);
        assert_memory_equal(base, none, sizeof base);
        compute_with(m.e, &(cf_adapter_use){a, 0.5f}, 1, with);
        merged.bytes = cf_tiny_gguf(&(cf_tiny_options){.arch = archs[i], .seed = 5}, &merged.n);
        merge(merged.bytes, merged.n, 1, 0.5 * ALPHA / RANK);
        T_OK(cf_engine_open_memory(&merged.e, merged.bytes, merged.n, NULL, &err), err);
        compute_with(merged.e, NULL, 0, want);
        assert_true(distance(with, base) > 1e-2);
        assert_true(distance(with, want) < 1e-4);
        cf_adapter_free(a);
        close_model(&merged);
        close_model(&m);
    }
}

static void test_adapters__two_sessions_in_one_pass(void **state)
{
    (void)state;
    static float one[VOCAB], two[VOCAB], plain[VOCAB];
    model m = open_model("llama");
    cf_error err = {0};
    cf_adapter *a = NULL, *b = NULL;
    cf_session *s[3] = {NULL, NULL, NULL};
    cf_token ids[N_IDS];
    cf_advance part[3];
    write_gguf(gguf_path, "llama", 1);
    T_OK(cf_adapter_open(&a, m.e, gguf_path, &err), err);
    write_gguf(gguf_path, "llama", 2);
    T_OK(cf_adapter_open(&b, m.e, gguf_path, &err), err);
    compute_with(m.e, &(cf_adapter_use){a, 1}, 1, one);
    compute_with(m.e, (cf_adapter_use[]){{a, 0.25f}, {b, 1}}, 2, two);
    compute_with(m.e, NULL, 0, plain);
    for (int i = 0; i < N_IDS; i++) {
        ids[i] = (cf_token)(3 + i * 37 % 300);
    }
    for (size_t i = 0; i < 3; i++) {
        T_OK(cf_session_new(&s[i], m.e, NULL, &err), err);
        part[i] = (cf_advance){.session = s[i], .ids = ids, .n = N_IDS};
    }
    T_OK(cf_session_set_adapters(s[0], &(cf_adapter_use){a, 1}, 1, &err), err);
    T_OK(cf_session_set_adapters(s[1], (cf_adapter_use[]){{a, 0.25f}, {b, 1}}, 2, &err), err);
    T_OK(cf_batch_pass(part, 3, NULL, &err), err);
    assert_memory_equal(cf_session_logits(s[0]), one, sizeof one);
    assert_memory_equal(cf_session_logits(s[1]), two, sizeof two);
    assert_memory_equal(cf_session_logits(s[2]), plain, sizeof plain);
    /* A fork has them; another set forgets the timeline. */
    cf_session *fork = NULL;
    size_t n;
    T_OK(cf_session_fork(&fork, s[1], &err), err);
    cf_session_adapters(fork, &n);
    assert_int_equal(n, 2);
    T_OK(cf_session_set_adapters(s[0], NULL, 0, &err), err);
    cf_session_tokens(s[0], &n);
    assert_int_equal(n, 0);
    compute(s[0], one);
    assert_memory_equal(one, plain, sizeof plain);
    assert_int_equal(cf_session_adopt(s[0], fork, &err), CF_EINVAL);
    cf_session_free(fork);
    for (size_t i = 0; i < 3; i++) {
        cf_session_free(s[i]);
    }
    cf_adapter_free(a);
    cf_adapter_free(b);
    close_model(&m);
}

static void test_peft__equals_gguf(void **state)
{
    (void)state;
    static float want[VOCAB], got[VOCAB];
    cf_error err = {0};
    for (int i = 0; i < 2; i++) {
        const char *arch = i == 0 ? "llama" : "qwen3";
        model m = open_model(arch);
        cf_adapter *a = NULL, *b = NULL;
        write_gguf(gguf_path, arch, 3);
        write_peft(i == 0, 3,
                   "{\"peft_type\":\"LORA\",\"r\":4,\"lora_alpha\":6,"
                   "\"target_modules\":[\"q_proj\"],\"bias\":\"none\"}");
        T_OK(cf_adapter_open(&a, m.e, gguf_path, &err), err);
        T_OK(cf_adapter_open(&b, m.e, folder, &err), err);
        compute_with(m.e, &(cf_adapter_use){a, 1}, 1, want);
        compute_with(m.e, &(cf_adapter_use){b, 1}, 1, got);
        assert_memory_equal(want, got, sizeof want);
        cf_adapter_free(b);
        write_peft(i == 0, 3, "{\"r\":4,\"lora_alpha\":6,\"use_rslora\":true}");
        T_OK(cf_adapter_open(&b, m.e, folder, &err), err);
        compute_with(m.e, &(cf_adapter_use){a, 1}, 1, want);
        compute_with(m.e, &(cf_adapter_use){b, 0.5f}, 1, got);
        assert_memory_equal(want, got, sizeof want);
        cf_adapter_free(b);
        cf_adapter_free(a);
        close_model(&m);
    }
}

static void test_refuses__what_is_not_computed(void **state)
{
    (void)state;
    model m = open_model("llama");
    cf_error err = {0};
    cf_adapter *a = NULL;
    write_gguf(gguf_path, "qwen3", 1);
    assert_int_equal(cf_adapter_open(&a, m.e, gguf_path, &err), CF_EFORMAT);
    assert_non_null(strstr(err.text, "for qwen3"));
    write_peft(true, 1, "{\"use_dora\":true}");
    assert_int_equal(cf_adapter_open(&a, m.e, folder, &err), CF_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "use_dora"));
    write_peft(true, 1, "[");
    assert_int_equal(cf_adapter_open(&a, m.e, folder, &err), CF_EFORMAT);
    write_text("adapter_config.json", "{}", 2);
    write_text("adapter_model.safetensors", "\x02\0\0\0\0\0\0\0{}", 10);
    assert_int_equal(cf_adapter_open(&a, m.e, folder, &err), CF_EFORMAT);
    T_OK(cf_os_write_file(gguf_path, m.bytes, m.n, 0600, &err), err);
    assert_int_equal(cf_adapter_open(&a, m.e, gguf_path, &err), CF_EFORMAT);
    assert_non_null(strstr(err.text, "not an adapter"));
    assert_int_equal(cf_adapter_open(&a, m.e, "/nowhere.gguf", &err), CF_ENOTFOUND);
    close_model(&m);
}

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(gguf_path, sizeof gguf_path, "%s/adapter.gguf", folder);
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"adapter.gguf", "adapter_config.json",
                                        "adapter_model.safetensors"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adapter__equals_merged_weights),
        cmocka_unit_test(test_adapters__two_sessions_in_one_pass),
        cmocka_unit_test(test_peft__equals_gguf),
        cmocka_unit_test(test_refuses__what_is_not_computed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
