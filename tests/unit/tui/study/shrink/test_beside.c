/*
 * test_beside.c - a model beside itself is 0 everywhere; beside another one the
 * divergence is that of the logits, and the replies part where they say.
 */
#include "tests/support/t.h"

#include <math.h>

#include "core/api/bundled.h"
#include "core/api/engine.h"
#include "templates/open.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_gguf.h"
#include "tui/study/shrink/beside.h"

static const char prompt_text[] =
    "<|im_start|>user\nTell me a joke<|im_end|>\n<|im_start|>assistant\n";

static void open_side(cf_opened *o, cf_beside_side *side, const char *model)
{
    cf_error err;
    const cf_open_options options = {.model = model, .n_threads = 1};
    T_OK(cf_open_backend(o, &options, NULL, &err), err);
    *side = (cf_beside_side){.session = cf_backend_core_session(o->backend),
                             .tok = cf_engine_tokenizer(o->engine),
                             .family = o->family,
                             .n_vocab = cf_engine_get_info(o->engine).n_vocab};
}

static cf_token *encode(const cf_tokenizer *tok, const char *text, size_t *n, cf_arena *arena)
{
    cf_token_list list;
    cf_error err;
    T_OK(cf_tokenizer_encode(&list, tok, cf_str_from(text), true, false, arena, &err), err);
    cf_token *ids = cf_arena_calloc(arena, list.n + 1, sizeof *ids);
    assert_non_null(ids);
    for (size_t i = 0; i < list.n; i++) {
        ids[i] = list.v[i].id;
    }
    *n = list.n;
    return ids;
}

static void test_beside__itself(void **state)
{
    (void)state;
    const void *bytes;
    size_t size;
    if (!cf_bundled_model(&bytes, &size)) {
        T_SKIP("no bundled model in this build");
    }
    cf_opened o[2];
    cf_beside_side side[2];
    cf_beside b;
    cf_error err;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    open_side(&o[0], &side[0], NULL);
    open_side(&o[1], &side[1], NULL);
    cf_beside_text t = {.max_tokens = 12};
    t.prompt = encode(side[0].tok, prompt_text, &t.n_prompt, &arena);
    t.reply = encode(side[0].tok, "I know no jokes", &t.n_reply, &arena);
    T_OK(cf_beside_run(&b, side, &t, &err), err);
    assert_int_equal(b.n, t.n_reply);
    assert_true(b.kl_sum == 0 && b.n_other == 0 && !b.parts);
    assert_true(b.n_same > 0 && b.n_same <= 12);
    assert_true(cf_str_eq(cf_buf_str(&b.reply[0]), cf_buf_str(&b.reply[1])));
    cf_beside_deinit(&b);

    /* It can be stopped. */
    cf_cancel cancel = true;
    t.cancel = &cancel;
    T_FAILS(cf_beside_run(&b, side, &t, &err), CF_ECANCELLED);
    cf_opened_close(&o[0]);
    cf_opened_close(&o[1]);
    cf_arena_deinit(&arena);
}

/* Logits after the prompt, as probabilities. */
static void read_p(const cf_beside_side *side, const cf_beside_text *t, double *p)
{
    cf_sync_result ignored;
    cf_error err;
    double sum = 0;
    T_OK(cf_session_sync(side->session, t->prompt, t->n_prompt, NULL, &ignored, &err), err);
    const float *logits = cf_session_logits(side->session);
    assert_non_null(logits);
    for (size_t i = 0; i < side->n_vocab; i++) {
        p[i] = exp((double)logits[i]);
        sum += p[i];
    }
    for (size_t i = 0; i < side->n_vocab; i++) {
        p[i] /= sum;
    }
}

/* Two random models: the divergence after the prompt is that of their logits. */
static void test_beside__another_model(void **state)
{
    (void)state;
    static const char *const names[] = {"five.gguf", "six.gguf"};
    cf_opened o[2];
    cf_beside_side side[2];
    cf_beside b;
    cf_error err;
    cf_arena arena;
    double kl = 0;
    cf_arena_init(&arena, 0);
    for (int i = 0; i < 2; i++) {
        size_t n;
        const cf_tiny_options tiny = {.seed = 5 + (uint64_t)i, .has_output = true};
        void *file = cf_tiny_gguf(&tiny, &n);
        store_dir_put(names[i], file, n);
        cf_tiny_free(file);
        open_side(&o[i], &side[i], store_dir_file(names[i]));
    }
    double *p = cf_arena_calloc(&arena, side[0].n_vocab, sizeof *p);
    double *q = cf_arena_calloc(&arena, side[1].n_vocab, sizeof *q);
    assert_true(p != NULL && q != NULL && side[0].n_vocab == side[1].n_vocab);
    cf_beside_text t = {.max_tokens = 8};
    t.prompt = encode(side[0].tok, "one two", &t.n_prompt, &arena);
    t.reply = encode(side[0].tok, "three", &t.n_reply, &arena);
    t.n_reply = 1;
    T_OK(cf_beside_run(&b, side, &t, &err), err);
    read_p(&side[0], &t, p);
    read_p(&side[1], &t, q);
    for (size_t i = 0; i < side[0].n_vocab; i++) {
        kl += p[i] * log(p[i] / q[i]);
    }
    assert_int_equal(b.n, 1);
    assert_true(kl > 0.001 && fabs(b.kl_sum - kl) < 1e-6 && b.kl_max == b.kl_sum);
    assert_int_equal(b.n_other, 1);
    assert_true(b.parts && b.n_same == 0); /* the first choices differ */
    assert_true(b.choice[0] != b.choice[1]);
    cf_beside_deinit(&b);
    cf_opened_close(&o[0]);
    cf_opened_close(&o[1]);
    cf_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beside__itself),
        cmocka_unit_test(test_beside__another_model),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
