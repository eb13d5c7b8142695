/*
 * test_tokenizer_laws.c - laws for every text: tokens cover it in order,
 * decoding gives it back, spans agree with plain encoding, and no text writes a
 * control token into a span that may not have one.
 */
#include "tests/support/t.h"

#include "core/base/arena.h"
#include "core/base/pool.h"
#include "core/infer/gguf_tokenizer.h"
#include "tests/support/rand.h"
#include "tests/support/vocab_file.h"

enum { ROUNDS = 1500, TEXT_MAX = 400, SPANS_MAX = 12 };

typedef struct vocab {
    const char *pre; /* NULL: SPM */
    bool space_prefix;
    cf_vocab_file file;
    cf_gguf *gguf;
    cf_tokenizer *tok;
} vocab;

static const vocab kinds[] = {
    {.pre = NULL, .space_prefix = false},
    {.pre = NULL, .space_prefix = true},
    {.pre = "gpt-2"},
    {.pre = "llama-bpe"},
    {.pre = "gpt-4o"},
    {.pre = "deepseek-coder"},
    {.pre = "falcon"},
    {.pre = "deepseek-v3"},
    {.pre = "deepseek-llm"},
    {.pre = "bloom"},
};

static void open_vocab(vocab *v)
{
    cf_error err = {0};
    if (v->pre == NULL) {
        cf_vocab_file_small_spm(&v->file, v->space_prefix);
    } else {
        cf_vocab_file_small_bpe(&v->file, v->pre);
    }
    assert_true(cf_vocab_file_finish(&v->file, true));
    T_OK(cf_gguf_open_memory(&v->gguf, v->file.bytes, v->file.n, &err), err);
    T_OK(cf_gguf_tokenizer(&v->tok, v->gguf, &err), err);
}

static void close_vocab(vocab *v)
{
    cf_tokenizer_free(v->tok);
    cf_gguf_close(v->gguf);
    cf_vocab_file_deinit(&v->file);
}

/* Text made of what tokenizers trip over. */
static size_t random_text(char *out, cf_rand *r)
{
    static const char *const parts[] = {
        "hello", " world", "  ",    "\n\n", "\n",     " ",        "a",       "aaaa",   "<|end|>",
        "<|end", "|>",     "</s>",  "</",   "s>",     "<tool>",   "<tool>s", "<tag>",  "<s>",
        "<unk>", "'s",     "12345", "!",    "\u00e9", "\u65e5",   "\u0301",  "\xE6",   "\x97\xA5",
        "\xFF",  "\t",     "\r\n",  "A",    "<0x41>", "<|user|>", "$",       "\u3000", "\U0001F600",
    };
    size_t n = 0;
    size_t want = cf_rand_below(r, 25);
    for (size_t i = 0; i < want; i++) {
        if (cf_rand_below(r, 12) == 0) {
            out[n++] = (char)cf_rand_below(r, 256);
            continue;
        }
        const char *p = parts[cf_rand_below(r, sizeof parts / sizeof parts[0])];
        memcpy(out + n, p, strlen(p));
        n += strlen(p);
    }
    return n;
}

static size_t random_spans(cf_text_span *out, cf_rand *r, size_t n, int rule)
{
    size_t n_spans = 0;
    size_t at = 0;
    while (at < n) {
        size_t len = n_spans + 1 == SPANS_MAX ? n - at : cf_rand_below(r, n - at + 1);
        bool parse = rule == 2 ? cf_rand_below(r, 2) == 0 : rule == 1;
        out[n_spans++] = (cf_text_span){(uint32_t)at, (uint32_t)len, parse};
        at += len;
    }
    return n_spans;
}

static cf_token_list encode(const vocab *v, cf_str text, bool parse, cf_arena *arena)
{
    cf_error err = {0};
    cf_token_list list;
    T_OK(cf_tokenizer_encode(&list, v->tok, text, parse, false, arena, &err), err);
    return list;
}

static cf_token_list encode_spans(const vocab *v, cf_str text, const cf_text_span *spans, size_t n,
                                  cf_arena *arena)
{
    cf_error err = {0};
    cf_token_list list;
    T_OK(cf_tokenizer_encode_spans(&list, v->tok, text, spans, n, false, arena, &err), err);
    return list;
}

static void assert_covers(const cf_token_list *list, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < list->n; i++) {
        assert_int_equal(list->v[i].off, at);
        at += list->v[i].len;
    }
    assert_int_equal(at, n);
}

static void assert_same(const cf_token_list *a, const cf_token_list *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        assert_int_equal(a->v[i].id, b->v[i].id);
        assert_int_equal(a->v[i].off, b->v[i].off);
        assert_int_equal(a->v[i].len, b->v[i].len);
    }
}

static void assert_decodes(const vocab *v, const cf_token_list *list, cf_str text)
{
    cf_buf b = CF_BUF_INIT;
    for (size_t i = 0; i < list->n; i++) {
        cf_tokenizer_piece(&b, v->tok, list->v[i].id, true);
    }
    assert_int_equal(b.n, text.n);
    assert_memory_equal(cf_buf_cstr(&b), text.n != 0 ? text.p : "", text.n);
    cf_buf_deinit(&b);
}

static bool is_control(const vocab *v, cf_token id)
{
    cf_token_type t = cf_tokenizer_type(v->tok, id);
    return t == CF_TOKEN_CONTROL || t == CF_TOKEN_UNKNOWN;
}

/* No control token stands for a byte whose span forbids it. */
static void assert_no_forgery(const vocab *v, const cf_token_list *list, const cf_text_span *spans,
                              size_t n_spans)
{
    for (size_t i = 0; i < list->n; i++) {
        if (!is_control(v, list->v[i].id)) {
            continue;
        }
        size_t from = list->v[i].off;
        size_t to = from + list->v[i].len;
        assert_true(to > from);
        for (size_t k = 0; k < n_spans; k++) {
            size_t a = spans[k].off;
            size_t b = a + spans[k].len;
            assert_true(spans[k].parse_special || a == b || b <= from || a >= to);
        }
    }
}

static void check_round(const vocab *v, cf_rand *r, cf_arena *arena)
{
    char bytes[TEXT_MAX];
    cf_str text = {bytes, random_text(bytes, r)};
    cf_text_span spans[SPANS_MAX];
    for (int rule = 0; rule < 2; rule++) {
        cf_token_list plain = encode(v, text, rule == 1, arena);
        size_t n = random_spans(spans, r, text.n, rule);
        cf_token_list cut = encode_spans(v, text, spans, n, arena);
        assert_same(&plain, &cut);
        assert_covers(&plain, text.n);
        assert_no_forgery(v, &cut, spans, n);
        if (!v->space_prefix) {
            assert_decodes(v, &plain, text);
        }
    }
    size_t n = random_spans(spans, r, text.n, 2);
    cf_token_list mixed = encode_spans(v, text, spans, n, arena);
    assert_covers(&mixed, text.n);
    assert_no_forgery(v, &mixed, spans, n);
    if (!v->space_prefix) {
        assert_decodes(v, &mixed, text);
    }
}

static void test_laws__random_text(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        vocab v = kinds[k];
        open_vocab(&v);
        cf_arena arena;
        cf_arena_init(&arena, 0);
        cf_rand r = {k + 1};
        for (int i = 0; i < ROUNDS; i++) {
            check_round(&v, &r, &arena);
            cf_arena_reset(&arena);
        }
        cf_arena_deinit(&arena);
        close_vocab(&v);
    }
}

/* With the prefix, one added space a stretch of text is all that differs. */
static void test_laws__space_prefix(void **state)
{
    (void)state;
    vocab v = {.space_prefix = true};
    open_vocab(&v);
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_rand r = {99};
    for (int i = 0; i < ROUNDS; i++) {
        char text[64];
        size_t n = cf_rand_below(&r, sizeof text);
        for (size_t k = 0; k < n; k++) {
            text[k] = " abehlow!<\xFF\xE6"[cf_rand_below(&r, 12)];
        }
        cf_token_list list = encode(&v, cf_str_make(text, n), false, &arena);
        cf_token ids[200];
        assert_true(list.n <= 200);
        for (size_t k = 0; k < list.n; k++) {
            ids[k] = list.v[k].id;
        }
        cf_buf b = CF_BUF_INIT;
        cf_tokenizer_decode(&b, v.tok, ids, list.n, true);
        assert_int_equal(b.n, n);
        assert_memory_equal(cf_buf_cstr(&b), text, n);
        cf_buf_deinit(&b);
        cf_arena_reset(&arena);
    }
    cf_arena_deinit(&arena);
    close_vocab(&v);
}

enum { PARTS = 4, SHARED_TEXTS = 300 };

typedef struct shared {
    vocab v;
    uint64_t sum[PARTS]; /* over all ids that part i saw */
} shared;

/* No asserts here: they would jump out of another thread. */
static void encode_part(void *ud, unsigned i, unsigned n)
{
    (void)n;
    shared *s = ud;
    cf_rand r = {42};
    cf_arena arena;
    cf_arena_init(&arena, 0);
    for (int k = 0; k < SHARED_TEXTS; k++) {
        char bytes[TEXT_MAX];
        cf_str text = {bytes, random_text(bytes, &r)};
        cf_error err;
        cf_token_list list = {NULL, 0};
        if (cf_tokenizer_encode(&list, s->v.tok, text, k % 2 == 0, false, &arena, &err) != CF_OK) {
            break;
        }
        for (size_t t = 0; t < list.n; t++) {
            s->sum[i] = s->sum[i] * 31 + (uint64_t)list.v[t].id;
        }
        cf_arena_reset(&arena);
    }
    cf_arena_deinit(&arena);
}

static void test_laws__threads_share_one(void **state)
{
    (void)state;
    static const vocab some[] = {{.pre = NULL}, {.pre = "gpt-4o"}};
    for (size_t k = 0; k < 2; k++) {
        shared s = {.v = some[k]};
        open_vocab(&s.v);
        cf_error err = {0};
        cf_pool *pool;
        T_OK(cf_pool_new(&pool, PARTS, &err), err);
        cf_pool_run(pool, encode_part, &s);
        cf_pool_free(pool);
        assert_true(s.sum[0] != 0);
        for (size_t i = 1; i < PARTS; i++) {
            assert_true(s.sum[i] == s.sum[0]);
        }
        close_vocab(&s.v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_laws__random_text),
        cmocka_unit_test(test_laws__space_prefix),
        cmocka_unit_test(test_laws__threads_share_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
