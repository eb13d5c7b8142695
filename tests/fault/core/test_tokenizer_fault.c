/*
 * test_tokenizer_fault.c - every allocation of opening and encoding fails
 * once, and from then on.
 */
#include "tests/support/t.h"

#include "core/base/arena.h"
#include "core/infer/gguf_tokenizer.h"
#include "tests/support/fault.h"
#include "tests/support/vocab_file.h"

typedef struct scenario {
    cf_vocab_file file;
    const char *text;
    size_t n;
} scenario;

static cf_status open_and_encode(void *ud)
{
    const scenario *s = ud;
    cf_error err;
    cf_gguf *g = NULL;
    cf_tokenizer *tok = NULL;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_token_list list = {NULL, 12345};
    cf_status st = cf_gguf_open_memory(&g, s->file.bytes, s->file.n, &err);
    CF_THEN(st, cf_gguf_tokenizer(&tok, g, &err));
    if (st == CF_OK) {
        st = cf_tokenizer_encode(&list, tok, cf_str_make(s->text, s->n), true, true, &arena, &err);
        assert_true((st == CF_OK) == (list.n != 12345));
    }
    if (st == CF_OK) {
        cf_buf b = CF_BUF_INIT;
        for (size_t i = 0; i < list.n; i++) {
            cf_tokenizer_piece(&b, tok, list.v[i].id, true);
        }
        st = cf_buf_check(&b, &err);
        cf_buf_deinit(&b);
    }
    cf_arena_deinit(&arena);
    cf_tokenizer_free(tok);
    cf_gguf_close(g);
    return st;
}

/* A long run without cuts, specials, and bytes that need repair. */
static const char text[] =
    "hello</s>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    "<|end|>\xFF\xE6 world\n\n <tool>s \xC3";

static void run(scenario *s)
{
    s->text = text;
    s->n = sizeof text - 1;
    assert_true(cf_vocab_file_finish(&s->file, true));
    cf_fault_every_alloc(open_and_encode, s, false);
    cf_fault_every_alloc(open_and_encode, s, true);
    cf_vocab_file_deinit(&s->file);
}

static void test_alloc__spm(void **state)
{
    (void)state;
    scenario s = {0};
    cf_vocab_file_small_spm(&s.file, true);
    run(&s);
}

static void test_alloc__bpe(void **state)
{
    (void)state;
    static const char *const pre[] = {"gpt-2", "llama-bpe", "deepseek-coder"};
    for (size_t i = 0; i < sizeof pre / sizeof pre[0]; i++) {
        scenario s = {0};
        cf_vocab_file_small_bpe(&s.file, pre[i]);
        run(&s);
    }
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc__spm),
        cmocka_unit_test(test_alloc__bpe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
