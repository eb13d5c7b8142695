/*
 * test_sweep_adapters.c - LoRA adapters as an axis of a sweep: each changes the
 * replies under every template, scale 0 does not, and a reply is kept by what
 * the adapter holds.
 */
#include "tests/support/t.h"

#include "core/base/alloc.h"
#include "tests/support/plan_file.h"
#include "tests/support/rand.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_gguf.h"
#include "tui/study/sweep/sweep_compare.h"

enum { RANK = 2, N_EMBD = 64, N_PROMPT = 3 };

/* An adapter of attn_output in both layers, in llama.cpp's format. */
static void write_adapter(const char *name)
{
    cf_tiny_buf head = {0}, tensors = {0}, data = {0};
    cf_rand r = {7};
    for (int part = 0; part < 4; part++) {
        char tensor[64];
        bool is_a = part % 2 == 0;
        const uint64_t dim[2] = {is_a ? N_EMBD : RANK, is_a ? RANK : N_EMBD};
        snprintf(tensor, sizeof tensor, "blk.%d.attn_output.weight.lora_%c", part / 2,
                 is_a ? 'a' : 'b');
        cf_tiny_pad(&data, 32);
        cf_tiny_tensor(&tensors, tensor, 2, dim, CF_F32, data.n);
        for (int i = 0; i < N_EMBD * RANK; i++) {
            cf_tiny_f32(&data, 2 * cf_rand_float(&r));
        }
    }
    cf_tiny_head(&head, 3, 4, 4);
    cf_tiny_kv_str(&head, "general.type", "adapter");
    cf_tiny_kv_str(&head, "adapter.type", "lora");
    cf_tiny_kv_str(&head, "general.architecture", "llama");
    cf_tiny_kv_f32(&head, "adapter.lora.alpha", 4);
    cf_tiny_bytes(&head, tensors.p, tensors.n);
    cf_tiny_pad(&head, 32);
    cf_tiny_bytes(&head, data.p, data.n);
    store_dir_put(name, head.p, head.n);
    cf_tiny_free(head.p);
    cf_tiny_free(tensors.p);
    cf_tiny_free(data.p);
}

static void run(cf_sweep *s, const cf_sweep_plan *plan, cf_store *store, const char *const *lora)
{
    cf_error err;
    const cf_sweep_options o = {
        .open = {.n_threads = 1, .lora = lora, .n_lora = lora != NULL}, .store = store, .jobs = 4};
    T_OK(cf_sweep_init(s, plan, &o, &err), err);
    T_OK(cf_sweep_run(s, &err), err);
    assert_int_equal(s->n_done, s->n);
    assert_int_equal(s->n_failed, 0);
}

static bool is_same(const cf_sweep *s, size_t a, size_t b)
{
    cf_buf x = CF_BUF_INIT, y = CF_BUF_INIT;
    cf_sweep_reply(&s->cell[a], &x);
    cf_sweep_reply(&s->cell[b], &y);
    bool same = cf_str_eq(cf_buf_str(&x), cf_buf_str(&y));
    cf_buf_deinit(&x);
    cf_buf_deinit(&y);
    return same;
}

static const char lines[] = "prompts p.jsonl\nmodel tiny.gguf\ntemplate chatml\ntemplate zephyr\n"
                            "sampler greedy tokens=6\n";

static void write_all(void)
{
    static const char prompts[] = "{\"name\":\"a\",\"prompt\":\"one two\"}\n"
                                  "{\"name\":\"b\",\"prompt\":\"and three\"}\n"
                                  "{\"name\":\"c\",\"prompt\":\"four, five\"}\n";
    size_t n;
    const cf_tiny_options tiny = {.seed = 5, .has_output = true};
    void *file = cf_tiny_gguf(&tiny, &n);
    store_dir_put("tiny.gguf", file, n);
    cf_tiny_free(file);
    store_dir_put("p.jsonl", prompts, sizeof prompts - 1);
    write_adapter("ad.gguf");
}

static void test_adapters__an_axis(void **state)
{
    (void)state;
    enum { TEMPLATES = 2, EACH = TEMPLATES * N_PROMPT };
    char text[400];
    cf_sweep_plan plan;
    cf_sweep s;
    cf_sweep_versus *versus;
    cf_error err;
    size_t n, n_axis = 0, n_same = 0;
    write_all();
    snprintf(text, sizeof text, "%sadapter none\nadapter full ad.gguf\nadapter off ad.gguf=0\n",
             lines);
    cf_plan_read(&plan, "plan.txt", text);
    run(&s, &plan, NULL, NULL);
    assert_int_equal(s.n, 3 * EACH);
    for (size_t i = 0; i < EACH; i++) {
        assert_true(cf_str_is(cf_sweep_adapter_name(&s, &s.cell[EACH + i]), "full"));
        n_same += is_same(&s, i, EACH + i);
        assert_true(is_same(&s, i, 2 * EACH + i)); /* scale 0 */
    }
    assert_int_equal(n_same, 0);
    T_OK(cf_sweep_compare(&s, &versus, &n, &err), err);
    for (size_t i = 0; i < n; i++) {
        n_axis += strcmp(versus[i].axis, "adapter") == 0;
    }
    assert_int_equal(n_axis, 3);
    cf_free(versus);
    cf_sweep_deinit(&s);
    cf_sweep_plan_deinit(&plan);
}

/* What --lora gives is what a line of the plan gives, and is kept apart from a
 * reply without it. */
static void test_adapters__are_part_of_the_key(void **state)
{
    (void)state;
    char text[400];
    cf_sweep_plan plain, with;
    cf_sweep s;
    cf_error err;
    cf_store *store;
    const cf_store_options so = {.flags = CF_STORE_CREATE};
    write_all();
    T_OK(cf_store_open(&store, store_dir_file("key.db"), &so, &err), err);
    cf_plan_read(&plain, "plan.txt", lines);
    run(&s, &plain, store, NULL);
    assert_int_equal(s.n_reused, 0);
    cf_sweep_deinit(&s);
    snprintf(text, sizeof text, "%sadapter full ad.gguf\n", lines);
    cf_plan_read(&with, "plan.txt", text);
    run(&s, &with, store, NULL);
    assert_int_equal(s.n_reused, 0);
    cf_sweep_deinit(&s);
    const char *const lora[] = {store_dir_file("ad.gguf")};
    run(&s, &plain, store, lora);
    assert_int_equal(s.n_reused, s.n);
    cf_sweep_deinit(&s);
    cf_sweep_plan_deinit(&plain);
    cf_sweep_plan_deinit(&with);
    cf_store_close(store);
}

static void test_adapters__refused(void **state)
{
    (void)state;
    char text[400];
    cf_sweep_plan plan;
    cf_sweep s;
    cf_error err;
    write_all();
    snprintf(text, sizeof text, "%sadapter x nowhere.gguf\n", lines);
    cf_plan_read(&plan, "plan.txt", text);
    const cf_sweep_options o = {.open = {.n_threads = 1}};
    T_OK(cf_sweep_init(&s, &plan, &o, &err), err);
    T_FAILS(cf_sweep_run(&s, &err), CF_ENOTFOUND);
    assert_non_null(strstr(err.text, "nowhere.gguf"));
    cf_sweep_deinit(&s);
    cf_sweep_plan_deinit(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adapters__an_axis),
        cmocka_unit_test(test_adapters__are_part_of_the_key),
        cmocka_unit_test(test_adapters__refused),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
