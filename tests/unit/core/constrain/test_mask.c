/*
 * test_mask.c - masks against brute force: the mask must be exactly the
 * tokens that the position takes byte by byte.
 */
#include "core/api/constraint.h"

#include "core/infer/gguf_tokenizer.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"
#include "tests/support/vocab_file.h"

/* Pieces that cross the boundaries of JSON, hold parts of characters, and
 * repeat what a schema's keys are made of. */
static const char *const words[] = {
    "\"",          "\",",
    "\":",         "\": ",
    "\": \"",      "{",
    "}",           "{\"",
    "\"}",         "\"}}",
    "[",           "]",
    ",",           ", ",
    ", \"",        "\", \"",
    ":",           " ",
    "  ",          "\n",
    "\n  ",        "\t",
    "a",           "b",
    "ab",          "abc",
    "name",        "nam",
    "e\"",         "e\":",
    "{\"name",     "\"name\"",
    "\"age\":",    "x",
    "1",           "2",
    "12",          "0",
    "-",           ".",
    ".5",          "e",
    "E+1",         "true",
    "false",       "null",
    "tr",          "ue",
    "\\",          "\\n",
    "\\u",         "\\u00",
    "00e9",        "\\\"",
    "\xC3",        "\xA9",
    "\xC3\xA9",    "\xE2\x82",
    "\xAC",        "\xF0\x9F",
    "\x98\x80",    "\xFF",
    "\x01",        "red",
    "green",       "\"red\"",
    "-01",         "2024",
    "-02-29",      "n1",
    "\"n1\"",      "\":1,\"",
    "\",\"a\":\"", "\"a\":1,\"a\":",
    "zz",          "A",
    "_",           "~",
    "z z",         "]}",
    "[]",          "{}",
    "aaaa",        "\xE6\x97\xA5\xE6\x9C\xAC",
    "\"\"",        "\"a",
    "a\"",         "b\":",
    "<call>",
};
enum { N_WORD = sizeof words / sizeof *words };

static cf_constraint_vocab *make_vocab(void)
{
    cf_piece v[N_WORD + 2];
    cf_error err;
    cf_constraint_vocab *out;
    for (size_t i = 0; i < N_WORD; i++) {
        v[i] = (cf_piece){cf_str_from(words[i]), CF_PIECE_TEXT};
    }
    v[N_WORD] = (cf_piece){cf_str_from("</s>"), CF_PIECE_END};
    v[N_WORD + 1] = (cf_piece){cf_str_from("<unused>"), CF_PIECE_NONE};
    T_OK(cf_constraint_vocab_new(&out, v, N_WORD + 2, &err), err);
    return out;
}

static const char *const schemas[] = {
    "{\"type\":\"array\",\"uniqueItems\":true}",
    "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":"
    "\"string\"}}",
    "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"enum\":[\"a\","
    "\"ab\",1,12,true]}}",
    "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":"
    "\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}}",
    "{\"type\":\"array\",\"contains\":{\"type\":\"string\"},\"maxItems\":3}",
    "{\"type\":\"object\",\"properties\":{\"name\":{},\"a\":{}},\"not\":{"
    "\"properties\":{\"name\":{}},\"additionalProperties\":{\"type\":"
    "\"string\"}}}",
    "true",
    "{\"type\":\"string\"}",
    "{\"type\":\"string\",\"minLength\":2,\"maxLength\":5}",
    "{\"type\":\"string\",\"maxLength\":40}",
    "{\"type\":\"string\",\"pattern\":\"^[a-z]+$\"}",
    "{\"type\":\"string\",\"pattern\":\"^[^x]*$\"}",
    "{\"type\":\"string\",\"pattern\":\"^\\\\w{2,4} ?\\\\S*$\"}",
    "{\"type\":\"string\",\"pattern\":\"na\"}",
    "{\"type\":\"string\",\"format\":\"date\"}",
    "{\"enum\":[\"red\",\"green\",\"re\",1,12,null]}",
    "{\"type\":\"number\",\"minimum\":-2,\"maximum\":120.5}",
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"
    "\"age\":{\"type\":\"integer\"}},\"required\":[\"name\"]}",
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"ab\":{"
    "},\"abc\":{\"type\":\"string\"}},\"additionalProperties\":{\"type\":"
    "\"integer\"}}",
    "{\"type\":\"object\",\"patternProperties\":{\"^n\":{\"type\":\"integer\"}}"
    ","
    "\"additionalProperties\":{\"type\":\"string\"}}",
    "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"minProperties\":"
    "1,"
    "\"maxProperties\":2,\"additionalProperties\":false}",
    "{\"anyOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
    "\"integer\"}}},{\"type\":\"object\",\"properties\":{\"b\":{\"type\":"
    "\"string\"}},\"additionalProperties\":{\"type\":\"string\"}}]}",
    "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1,"
    "\"maxItems\":3}",
    "{\"$ref\":\"#/$defs/"
    "t\",\"$defs\":{\"t\":{\"type\":\"object\",\"properties\":"
    "{\"a\":{\"$ref\":\"#/$defs/t\"}}}}}",
};

static bool takes(const cf_constraint *c, const char *word)
{
    cf_constraint *copy;
    cf_error err;
    size_t n;
    T_OK(cf_constraint_copy(&copy, c, &err), err);
    T_OK(cf_constraint_bytes(copy, word, strlen(word), &n, &err), err);
    cf_constraint_free(copy);
    return n == strlen(word);
}

static void compare(cf_constraint *c, const uint32_t *mask, const char *what, const char *text)
{
    for (size_t i = 0; i < N_WORD; i++) {
        bool in_mask = (mask[i / 32] >> i % 32 & 1) != 0;
        if (in_mask != takes(c, words[i])) {
            fail_msg("%s after '%s': token '%s' is %s the mask", what, text, words[i],
                     in_mask ? "wrongly in" : "missing from");
        }
    }
    bool end = (mask[N_WORD / 32] >> N_WORD % 32 & 1) != 0;
    assert_int_equal(end, cf_constraint_may_end(c));
    assert_false(mask[(N_WORD + 1) / 32] >> (N_WORD + 1) % 32 & 1);
}

/* Random walks: compare at each step, take a random allowed token. */
static void wander(const cf_grammar *g, const cf_constraint_vocab *vocab, cf_rand *r,
                   const char *what)
{
    cf_constraint *c;
    cf_error err;
    char text[2000] = "";
    uint32_t mask[N_WORD / 32 + 2];
    T_OK(cf_constraint_new(&c, g, vocab, &err), err);
    for (int step = 0; step < 25; step++) {
        cf_token allowed[N_WORD];
        size_t n = 0;
        T_OK(cf_constraint_mask(c, mask, &err), err);
        compare(c, mask, what, text);
        for (cf_token i = 0; i < N_WORD; i++) {
            if ((mask[i / 32] >> i % 32 & 1) != 0) {
                allowed[n++] = i;
            }
        }
        if (n == 0) {
            break;
        }
        cf_token id = allowed[cf_rand_below(r, n)];
        T_OK(cf_constraint_token(c, id, &err), err);
        strcat(text, words[id]);
        /* There and back again. */
        if (step % 5 == 4) {
            cf_constraint_rollback(c, 1);
            uint32_t again[N_WORD / 32 + 2];
            T_OK(cf_constraint_mask(c, again, &err), err);
            assert_memory_equal(again, mask, (N_WORD + 2 + 31) / 32 * 4);
            T_OK(cf_constraint_token(c, id, &err), err);
        }
    }
    cf_constraint_free(c);
}

static void test_mask__equals_brute_force(void **state)
{
    (void)state;
    cf_rand r = {20261120};
    cf_constraint_vocab *vocab = make_vocab();
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        cf_error err;
        json_t *s;
        for (int order = 0; order < 2; order++) {
            cf_grammar *g;
            const cf_grammar_options opts = {.order = order == 0 ? CF_KEYS_ANY : CF_KEYS_DECLARED};
            T_OK(cf_json_read(&s, schemas[i], strlen(schemas[i]), &err), err);
            T_OK(cf_grammar_from_schema(&g, s, &opts, &err), err);
            json_decref(s);
            for (int k = 0; k < 25; k++) {
                wander(g, vocab, &r, schemas[i]);
            }
            cf_grammar_free(g);
        }
    }
    cf_constraint_vocab_free(vocab);
}

static void test_mask__expressions(void **state)
{
    (void)state;
    static const char *const patterns[] = {"(a|ab)*c?", "[^x]{1,9}", "(\\w+ ?)+", "\xC3\xA9.*"};
    cf_rand r = {7};
    cf_constraint_vocab *vocab = make_vocab();
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        cf_grammar *g;
        cf_error err;
        T_OK(cf_grammar_from_regex(&g, cf_str_from(patterns[i]), NULL, &err), err);
        for (int k = 0; k < 25; k++) {
            wander(g, vocab, &r, patterns[i]);
        }
        cf_grammar_free(g);
    }
    cf_constraint_vocab_free(vocab);
}

static void test_mask__end_token(void **state)
{
    (void)state;
    const cf_str one = cf_str_from("ab");
    cf_constraint_vocab *vocab = make_vocab();
    cf_grammar *g;
    cf_constraint *c;
    cf_error err;
    uint32_t mask[N_WORD / 32 + 2];
    T_OK(cf_grammar_from_choices(&g, &one, 1, NULL, &err), err);
    T_OK(cf_constraint_new(&c, g, vocab, &err), err);
    T_FAILS(cf_constraint_token(c, N_WORD, &err), CF_EINVAL);
    T_FAILS(cf_constraint_token(c, N_WORD + 1, &err), CF_EINVAL);
    T_FAILS(cf_constraint_token(c, -1, &err), CF_EINVAL);
    T_OK(cf_constraint_token(c, 24, &err), err); /* "ab" */
    assert_true(cf_constraint_may_end(c));
    T_OK(cf_constraint_token(c, N_WORD, &err), err);
    T_OK(cf_constraint_mask(c, mask, &err), err);
    for (size_t i = 0; i < N_WORD + 2; i++) {
        assert_false(mask[i / 32] >> i % 32 & 1);
    }
    cf_constraint_rollback(c, 2);
    assert_false(cf_constraint_may_end(c));
    assert_int_equal(cf_constraint_n_steps(c), 0);
    cf_constraint_free(c);
    cf_grammar_free(g);
    cf_constraint_vocab_free(vocab);
}

static void test_mask__forced_text(void **state)
{
    (void)state;
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"kind\":{\"const\":\"unit\"}},"
        "\"required\":[\"kind\"],\"additionalProperties\":false}";
    const cf_grammar_options python = {.space = CF_SPACE_PYTHON};
    json_t *s;
    cf_grammar *g;
    cf_constraint *c;
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    T_OK(cf_json_read(&s, schema, sizeof schema - 1, &err), err);
    T_OK(cf_grammar_from_schema(&g, s, &python, &err), err);
    T_OK(cf_constraint_new(&c, g, NULL, &err), err);
    T_OK(cf_constraint_forced(c, &text, 4096, &err), err);
    assert_string_equal(cf_buf_cstr(&text), "{\"kind\": \"unit\"}");
    assert_int_equal(cf_constraint_n_steps(c), 0);
    cf_buf_deinit(&text);
    cf_constraint_free(c);
    cf_grammar_free(g);
    json_decref(s);
}

/* A quoted choice, forced up to the quote: a token that begins in the forced
 * text and reaches beyond it leaves the choice to the model. */
static size_t n_forced(const char *token)
{
    cf_vocab_file file;
    cf_gguf *gguf;
    cf_tokenizer *tok;
    cf_constraint_vocab *vocab;
    cf_grammar *g;
    cf_constraint *c;
    cf_token_list ids;
    cf_arena arena;
    cf_error err;
    static const char rule[] = "root = \"say 'abc' \" /[xyz]/ ;";
    cf_arena_init(&arena, 0);
    cf_vocab_file_init(&file, "gpt2", "gpt-2");
    cf_vocab_file_bytes_bpe(&file);
    cf_vocab_file_merge(&file, "q q", true);
    cf_vocab_file_token(&file, cf_str_from(token), CF_TOKEN_USER_DEFINED, 0);
    assert_true(cf_vocab_file_finish(&file, true));
    T_OK(cf_gguf_open_memory(&gguf, file.bytes, file.n, &err), err);
    T_OK(cf_gguf_tokenizer(&tok, gguf, &err), err);
    T_OK(cf_constraint_vocab_from_tokenizer(&vocab, tok, &err), err);
    T_OK(cf_grammar_from_text(&g, cf_str_from(rule), NULL, &err), err);
    T_OK(cf_constraint_new(&c, g, vocab, &err), err);
    T_OK(cf_constraint_forced_tokens(c, tok, &arena, &ids, &err), err);
    cf_arena_deinit(&arena);
    cf_constraint_free(c);
    cf_grammar_free(g);
    cf_constraint_vocab_free(vocab);
    cf_tokenizer_free(tok);
    cf_gguf_close(gguf);
    cf_vocab_file_deinit(&file);
    return ids.n;
}

static void test_mask__forced_tokens(void **state)
{
    (void)state;
    assert_int_equal(n_forced("~"), 9);   /* but for the last byte */
    assert_int_equal(n_forced("abc"), 7); /* inside the text: one token */
    assert_int_equal(n_forced("' x"), 8); /* from the quote on */
    assert_int_equal(n_forced("say 'abc' y"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mask__equals_brute_force), cmocka_unit_test(test_mask__expressions),
        cmocka_unit_test(test_mask__end_token),          cmocka_unit_test(test_mask__forced_text),
        cmocka_unit_test(test_mask__forced_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
