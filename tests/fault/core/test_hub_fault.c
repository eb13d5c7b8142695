/*
 * test_hub_fault.c - every allocation of reading a SentencePiece model fails
 * once, and from then on, and so does every one of encoding and decoding.
 *
 * Reading a tokenizer.json is left out: jansson corrupts its own memory when
 * a buffer of it cannot grow.
 */
#include "tests/support/t.h"

#include "core/base/arena.h"
#include "core/hub/hf_tokenizer.h"
#include "core/hub/spm_model.h"
#include "core/token/tokenizer_new.h"
#include "tests/support/fault.h"
#include "tests/support/hf_file.h"

typedef struct scenario {
    cf_buf file;
    cf_tokenizer *tok; /* NULL: opened under faults too, as SentencePiece */
} scenario;

static const char text[] = "ab abab <tool> caf\xC3\xA9 e\xCC\x81 \xFF hello";

static cf_status open_and_encode(void *ud)
{
    const scenario *s = ud;
    const cf_spm_options o = {-1, -1, 0};
    cf_error err;
    cf_tokenizer *tok = s->tok;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_token_list list = {NULL, 12345};
    uint32_t *offsets = NULL;
    cf_buf b = CF_BUF_INIT;
    cf_status st = tok != NULL ? CF_OK : cf_spm_tokenizer(&tok, cf_buf_str(&s->file), &o, &err);
    if (st == CF_OK) {
        st = cf_tokenizer_encode_offsets(&list, &offsets, tok, cf_str_make(text, sizeof text - 1),
                                         true, true, &arena, &err);
        assert_true((st == CF_OK) == (list.n != 12345));
    }
    for (size_t i = 0; st == CF_OK && i < list.n; i++) {
        cf_tokenizer_piece(&b, tok, list.v[i].id, true);
        cf_tokenizer_decode(&b, tok, &list.v[i].id, 1, false);
    }
    CF_THEN(st, cf_buf_check(&b, &err));
    cf_buf_deinit(&b);
    cf_arena_deinit(&arena);
    if (s->tok == NULL) {
        cf_tokenizer_free(tok);
    }
    return st;
}

static void run(scenario *s)
{
    cf_fault_every_alloc(open_and_encode, s, false);
    cf_fault_every_alloc(open_and_encode, s, true);
}

static void test_alloc__tokenizer_json(void **state)
{
    (void)state;
    for (int i = 0; i < CF_HF_SAMPLES; i++) {
        scenario s = {CF_BUF_INIT, NULL};
        const cf_hf_names names = {.bos = cf_str_from("<s>")};
        cf_error err = {0};
        cf_arena arena;
        cf_arena_init(&arena, 0);
        cf_hf_file(&s.file, (cf_hf_sample)i);
        T_OK(cf_hf_tokenizer(&s.tok, cf_buf_str(&s.file), &names, &arena, &err), err);
        run(&s);
        cf_tokenizer_free(s.tok);
        cf_arena_deinit(&arena);
        cf_buf_deinit(&s.file);
    }
}

static void test_alloc__sentencepiece(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        scenario s = {CF_BUF_INIT, NULL};
        cf_spm_file(&s.file, i == 1);
        run(&s);
        cf_buf_deinit(&s.file);
    }
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc__tokenizer_json),
        cmocka_unit_test(test_alloc__sentencepiece),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
