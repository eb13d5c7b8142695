/*
 * test_pipeline_laws.c - laws of tokenizers of model folders over any text.
 */
#include "tests/support/slow.h"
#include "tests/support/t.h"

#include "core/base/arena.h"
#include "core/base/utf8.h"
#include "core/hub/hf_tokenizer.h"
#include "core/token/tokenizer_new.h"
#include "tests/support/hf_file.h"
#include "tests/support/rand.h"

enum { ROUNDS = T_IS_SLOW ? 100 : 400, TEXT_MAX = 60, SPANS_MAX = 6 };

/* Words, spaces, special tokens, characters of all lengths; bytes that are no
 * character where `broken`. */
static size_t random_text(char *out, cf_rand *r, bool broken)
{
    static const char *const parts[] = {"hello",    "ab",
                                        " ",        "  ",
                                        "\n",       "<s>",
                                        "<tool>",   "123",
                                        "\xC3\xA9", "\xE6\x97\xA5",
                                        "e",        "\xC3\xB6",
                                        "un",       "\xF0\x9F\x98\x80",
                                        "able"};
    size_t n = 0;
    size_t want = cf_rand_below(r, TEXT_MAX);
    while (n < want) {
        if (broken && cf_rand_below(r, 4) == 0) {
            out[n++] = (char)cf_rand_below(r, 256);
            continue;
        }
        const char *p = parts[cf_rand_below(r, sizeof parts / sizeof *parts)];
        memcpy(out + n, p, strlen(p));
        n += strlen(p);
    }
    return n;
}

/* Spans are in order, share no byte and stay in the text, whatever the rules
 * about special tokens; no control token touches text that may not spell
 * one. */
static void test_spans__any_text(void **state)
{
    (void)state;
    cf_rand r = {7};
    for (int kind = 0; kind < CF_HF_SAMPLES; kind++) {
        cf_hf_opened x = cf_hf_open((cf_hf_sample)kind);
        for (int round = 0; round < ROUNDS; round++) {
            char text[TEXT_MAX + 16];
            cf_error err = {0};
            cf_text_span spans[SPANS_MAX];
            size_t n = random_text(text, &r, true);
            size_t n_spans = 0;
            for (size_t at = 0; at < n;) {
                size_t len = n_spans + 1 == SPANS_MAX ? n - at : cf_rand_below(&r, n - at + 1);
                spans[n_spans++] =
                    (cf_text_span){(uint32_t)at, (uint32_t)len, cf_rand_below(&r, 2) != 0};
                at += len;
            }
            cf_token_list list;
            T_OK(cf_tokenizer_encode_spans(&list, x.tok, cf_str_make(text, n), spans, n_spans,
                                           false, &x.arena, &err),
                 err);
            size_t at = 0;
            for (size_t i = 0; i < list.n; i++) {
                const cf_token_span *s = &list.v[i];
                assert_true(s->off >= at && s->len <= n - s->off);
                at = (size_t)s->off + s->len;
                bool control = cf_tokenizer_type(x.tok, s->id) == CF_TOKEN_CONTROL &&
                               s->id != 0; /* 0 is the unknown token too */
                for (size_t k = 0; control && k < n_spans; k++) {
                    assert_true(spans[k].parse_special || spans[k].len == 0 || spans[k].off >= at ||
                                spans[k].off + spans[k].len <= s->off);
                }
            }
        }
        cf_hf_close(&x);
    }
}

/* With a vocabulary that has every byte, decoding gives the text back, the
 * pieces joined give it too, and so do stretches of it one by one. */
static void test_decode__gives_the_text(void **state)
{
    (void)state;
    cf_rand r = {11};
    cf_hf_opened x = cf_hf_open(CF_HF_BYTES);
    for (int round = 0; round < ROUNDS; round++) {
        char text[TEXT_MAX + 16];
        cf_error err = {0};
        cf_token_list list;
        cf_buf whole = CF_BUF_INIT, pieces = CF_BUF_INIT;
        size_t n = random_text(text, &r, false);
        T_OK(cf_tokenizer_encode(&list, x.tok, cf_str_make(text, n), false, false, &x.arena, &err),
             err);
        cf_token *ids = cf_arena_calloc(&x.arena, list.n + 1, sizeof *ids);
        bool has_tool = false;
        for (size_t i = 0; i < list.n; i++) {
            ids[i] = list.v[i].id;
            has_tool |= ids[i] == 260; /* takes white space along */
            cf_tokenizer_piece(&pieces, x.tok, ids[i], true);
        }
        cf_tokenizer_decode(&whole, x.tok, ids, list.n, true);
        assert_int_equal(whole.n, pieces.n);
        assert_memory_equal(cf_buf_cstr(&whole), cf_buf_cstr(&pieces), whole.n);
        if (!has_tool) {
            assert_int_equal(whole.n, n);
            assert_memory_equal(cf_buf_cstr(&whole), text, n);
        }
        cf_buf_deinit(&whole);
        cf_buf_deinit(&pieces);
    }
    cf_hf_close(&x);
}

/* Lines of a text are cut apart by the pattern, so the ids of two texts that
 * meet at white space after a word are those of both. */
static void test_encode__parts_at_special_tokens(void **state)
{
    (void)state;
    cf_rand r = {13};
    cf_hf_opened x = cf_hf_open(CF_HF_BYTES);
    for (int round = 0; round < ROUNDS; round++) {
        char a[TEXT_MAX + 16], b[TEXT_MAX + 16];
        size_t n_a = random_text(a, &r, true);
        size_t n_b = random_text(b, &r, true);
        cf_buf both = CF_BUF_INIT;
        cf_error err = {0};
        cf_token_list la, lb, all;
        cf_buf_add(&both, a, n_a);
        cf_buf_adds(&both, "<s>");
        cf_buf_add(&both, b, n_b);
        T_OK(cf_tokenizer_encode(&la, x.tok, cf_str_make(a, n_a), true, false, &x.arena, &err),
             err);
        T_OK(cf_tokenizer_encode(&lb, x.tok, cf_str_make(b, n_b), true, false, &x.arena, &err),
             err);
        T_OK(cf_tokenizer_encode(&all, x.tok, cf_buf_str(&both), true, false, &x.arena, &err), err);
        assert_int_equal(all.n, la.n + lb.n + 1);
        for (size_t i = 0; i < all.n; i++) {
            cf_token want = i < la.n ? la.v[i].id : i == la.n ? 259 : lb.v[i - la.n - 1].id;
            assert_int_equal(all.v[i].id, want);
        }
        cf_buf_deinit(&both);
    }
    cf_hf_close(&x);
}

/* A long run without cuts takes no time that grows with its square: a million
 * characters are done before anybody notices. */
static void test_encode__long_runs(void **state)
{
    (void)state;
    enum { LONG = 1 << 20 };
    char *text = malloc(LONG);
    static const char fills[] = "a b";
    assert_non_null(text);
    for (int kind = 0; kind < CF_HF_SAMPLES; kind++) {
        cf_hf_opened x = cf_hf_open((cf_hf_sample)kind);
        for (size_t f = 0; f + 1 < sizeof fills; f++) {
            cf_error err = {0};
            cf_token_list list;
            memset(text, fills[f], LONG);
            T_OK(cf_tokenizer_encode(&list, x.tok, cf_str_make(text, LONG), true, false, &x.arena,
                                     &err),
                 err);
        }
        cf_hf_close(&x);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans__any_text),
        cmocka_unit_test(test_decode__gives_the_text),
        cmocka_unit_test(test_encode__parts_at_special_tokens),
        cmocka_unit_test(test_encode__long_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
