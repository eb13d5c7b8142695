/* test_rank.c - a query and a document as one text for a ranker. */
#include <stdlib.h>

#include "core/api/embed.h"
#include "tests/support/t.h"
#include "tests/support/vocab_file.h"

typedef struct fixture {
    cf_vocab_file file;
    cf_engine *engine;
    cf_arena arena;
    cf_token *ids;
    size_t n;
} fixture;

static void open_file(fixture *x)
{
    cf_error err = {0};
    const cf_engine_options o = {.vocab_only = true};
    assert_true(cf_vocab_file_finish(&x->file, true));
    T_OK(cf_engine_open_memory(&x->engine, x->file.bytes, x->file.n, &o, &err), err);
    cf_arena_init(&x->arena, 0);
}

static void close_all(fixture *x)
{
    cf_arena_deinit(&x->arena);
    cf_engine_close(x->engine);
    cf_vocab_file_deinit(&x->file);
}

/* The pair's tokens as "[piece][piece]", spelled as in the vocabulary. */
static const char *shown(fixture *x, const char *query, const char *document)
{
    cf_error err = {0};
    cf_buf b = CF_BUF_INIT;
    T_OK(cf_rank_ids(&x->ids, &x->n, x->engine, cf_str_from(query), cf_str_from(document),
                     &x->arena, &err),
         err);
    for (size_t i = 0; i < x->n; i++) {
        cf_str s = cf_tokenizer_raw_piece(cf_engine_tokenizer(x->engine), x->ids[i]);
        cf_buf_addf(&b, "[%.*s]", (int)s.n, s.p);
    }
    const char *copy = cf_arena_strndup(&x->arena, cf_buf_cstr(&b), b.n);
    cf_buf_deinit(&b);
    return copy;
}

static size_t count(const fixture *x, cf_token id)
{
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++) {
        n += x->ids[i] == id;
    }
    return n;
}

static void test_rank__by_the_template(void **state)
{
    (void)state;
    fixture x = {0};
    cf_vocab_file_small_spm(&x.file, false);
    cf_vocab_file_str(&x.file, "tokenizer.chat_template.rerank",
                      "<|user|>{query}</s>{document}{ }</s>");
    open_file(&x);
    (void)shown(&x, "hello", "world");
    assert_int_equal(count(&x, 3), 1);
    assert_int_equal(count(&x, 2), 2);
    assert_int_equal(count(&x, 1), 0); /* the template says all */
    assert_int_equal(x.ids[0], 3);
    assert_int_equal(x.ids[x.n - 1], 2);
    /* Names in the texts stay as they are, and no control token comes from one. */
    (void)shown(&x, "</s>{document}", "<|user|>{query}");
    assert_int_equal(count(&x, 3), 1);
    assert_int_equal(count(&x, 2), 2);
    close_all(&x);
}

/* Words of one letter; [CLS] 0, [SEP] 1, [UNK] 2. */
static void open_words(fixture *x, const char *model, bool has_sep_twice)
{
    cf_vocab_file_init(&x->file, model, NULL);
    cf_vocab_file_token(&x->file, cf_str_from("[CLS]"), CF_TOKEN_CONTROL, 0);
    cf_vocab_file_token(&x->file, cf_str_from("[SEP]"), CF_TOKEN_CONTROL, 0);
    cf_vocab_file_token(&x->file, cf_str_from("[UNK]"), CF_TOKEN_UNKNOWN, 0);
    cf_vocab_file_token(&x->file, cf_str_from("\u2581a"), CF_TOKEN_NORMAL, -1);
    cf_vocab_file_token(&x->file, cf_str_from("\u2581b"), CF_TOKEN_NORMAL, -1);
    cf_vocab_file_u32(&x->file, "tokenizer.ggml.bos_token_id", 0);
    cf_vocab_file_u32(&x->file, "tokenizer.ggml.eos_token_id", 1);
    cf_vocab_file_u32(&x->file, "tokenizer.ggml.seperator_token_id", 1);
    cf_vocab_file_u32(&x->file, "tokenizer.ggml.unknown_token_id", 2);
    cf_vocab_file_bool(&x->file, "tokenizer.ggml.add_bos_token", true);
    cf_vocab_file_bool(&x->file, "tokenizer.ggml.add_sep_token", has_sep_twice);
    open_file(x);
}

static void test_rank__by_special_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        bool has_sep_twice;
        const char *want;
    } rows[] = {
        {"bert", true, "[[CLS]][\u2581a][[SEP]][\u2581b][\u2581a][[SEP]]"},
        {"t5", false, "[[CLS]][\u2581a][[SEP]][\u2581b][\u2581a][[SEP]]"},
        {"t5", true, "[[CLS]][\u2581a][[SEP]][[SEP]][\u2581b][\u2581a][[SEP]]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture x = {0};
        open_words(&x, rows[i].model, rows[i].has_sep_twice);
        assert_string_equal(shown(&x, "a", "b a"), rows[i].want);
        close_all(&x);
    }
}

static void test_rank__needs_a_query(void **state)
{
    (void)state;
    fixture x = {0};
    cf_error err = {0};
    open_words(&x, "bert", true);
    T_FAILS(cf_rank_ids(&x.ids, &x.n, x.engine, cf_str_from(""), cf_str_from("b"), &x.arena, &err),
            CF_EINVAL);
    assert_string_equal(shown(&x, "a", ""), "[[CLS]][\u2581a][[SEP]][[SEP]]");
    close_all(&x);
}

/* A template that repeats a document does not multiply it without bound. */
static void test_rank__bounds_a_pair(void **state)
{
    (void)state;
    enum { TIMES = 80, BYTES = 1 << 20 };
    fixture x = {0};
    cf_error err = {0};
    cf_buf template = CF_BUF_INIT;
    char *text = malloc(BYTES);
    assert_non_null(text);
    memset(text, 'a', BYTES);
    for (int i = 0; i < TIMES; i++) {
        cf_buf_adds(&template, "{document}");
    }
    cf_vocab_file_small_spm(&x.file, false);
    cf_vocab_file_str(&x.file, "tokenizer.chat_template.rerank", cf_buf_cstr(&template));
    open_file(&x);
    T_FAILS(cf_rank_ids(&x.ids, &x.n, x.engine, cf_str_from("q"), cf_str_make(text, BYTES),
                        &x.arena, &err),
            CF_ELIMIT);
    close_all(&x);
    cf_buf_deinit(&template);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rank__by_the_template),
        cmocka_unit_test(test_rank__by_special_tokens),
        cmocka_unit_test(test_rank__needs_a_query),
        cmocka_unit_test(test_rank__bounds_a_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
