/*
 * test_hf_tokenizer.c - tokenizer.json and tokenizer.model, small ones.
 */
#include "tests/support/t.h"

#include "core/base/arena.h"
#include "core/hub/hf_tokenizer.h"
#include "core/hub/spm_model.h"
#include "core/token/tokenizer_new.h"
#include "tests/support/hf_file.h"

/* "piece@from-to ..." by the library's offsets. */
static const char *shown(cf_hf_opened *x, const char *text, bool parse, bool add)
{
    cf_error err = {0};
    cf_token_list list;
    uint32_t *at = NULL;
    cf_buf b = CF_BUF_INIT;
    T_OK(cf_tokenizer_encode_offsets(&list, &at, x->tok, cf_str_from(text), parse, add, &x->arena,
                                     &err),
         err);
    for (size_t i = 0; i < list.n; i++) {
        cf_str s = cf_tokenizer_raw_piece(x->tok, list.v[i].id);
        cf_buf_addf(&b, "%s%.*s@%u-%u", i != 0 ? " " : "", (int)s.n, s.p, (unsigned)at[2 * i],
                    (unsigned)at[2 * i + 1]);
    }
    const char *copy = cf_arena_strndup(&x->arena, cf_buf_cstr(&b), b.n);
    cf_buf_deinit(&b);
    return copy;
}

static const char *decoded(cf_hf_opened *x, const char *text, bool spell)
{
    cf_error err = {0};
    cf_token_list list;
    cf_buf b = CF_BUF_INIT;
    T_OK(cf_tokenizer_encode(&list, x->tok, cf_str_from(text), true, false, &x->arena, &err), err);
    cf_token *ids = cf_arena_calloc(&x->arena, list.n + 1, sizeof *ids);
    for (size_t i = 0; i < list.n; i++) {
        ids[i] = list.v[i].id;
    }
    cf_tokenizer_decode(&b, x->tok, ids, list.n, spell);
    const char *copy = cf_arena_strndup(&x->arena, cf_buf_cstr(&b), b.n);
    cf_buf_deinit(&b);
    return copy;
}

static void test_bytes__merges_and_added(void **state)
{
    (void)state;
    cf_hf_opened x = cf_hf_open(CF_HF_BYTES);
    assert_string_equal(shown(&x, "hello", false, false), "hell@0-4 o@4-5");
    assert_string_equal(shown(&x, "hello", false, true), "<s>@0-0 hell@0-4 o@4-5");
    /* The white space around <tool> goes along; <s> is text unless asked. */
    assert_string_equal(shown(&x, "a <tool> b", false, false), "a@0-1 <tool>@1-9 b@9-10");
    assert_string_equal(shown(&x, "<s>h", true, false), "<s>@0-3 h@3-4");
    assert_int_equal(strlen(shown(&x, "<s>", false, false)), 17);
    /* Each byte token of a character has all of it; "e\u0301" is composed. */
    assert_string_equal(shown(&x, "e\xCC\x81", false, false), "\xC3\x83@0-1 \xC2\xA9@0-1");
    assert_string_equal(decoded(&x, "hello <s>\xF0\x9F\x98\x80", true),
                        "hello <s>\xF0\x9F\x98\x80");
    assert_string_equal(decoded(&x, "hello <s>x", false), "hello x");
    assert_true(cf_tokenizer_special(x.tok).add_bos);
    assert_int_equal(cf_tokenizer_type(x.tok, 259), CF_TOKEN_CONTROL);
    assert_int_equal(cf_tokenizer_find(x.tok, cf_str_from("<tool>")), 260);
    cf_hf_close(&x);
}

static void test_chars__prefix_and_bytes(void **state)
{
    (void)state;
    cf_hf_opened x = cf_hf_open(CF_HF_CHARS);
    assert_string_equal(shown(&x, "ab ab", false, false), "\xE2\x96\x81"
                                                          "ab@0-2 \xE2\x96\x81"
                                                          "ab@2-5");
    assert_string_equal(shown(&x, "\xC3\xA9", false, false),
                        "\xE2\x96\x81@0-2 <0xC3>@0-2 <0xA9>@0-2");
    assert_string_equal(decoded(&x, "ab \xC3\xA9 b", true), "ab \xC3\xA9 b");
    /* A single word only, and the prefix again after it. */
    assert_string_equal(shown(&x, "a <s> a", true, false),
                        "\xE2\x96\x81@0-1 a@0-1 \xE2\x96\x81@1-2 <s>@2-5 "
                        "\xE2\x96\x81@5-6 \xE2\x96\x81@5-6 a@6-7");
    assert_null(strstr(shown(&x, "a<s>", true, false), " <s>@"));
    cf_hf_close(&x);
}

/* Where each way to cut text cuts it, by the format's own library. */
static void test_words__cut(void **state)
{
    (void)state;
    static const struct {
        const char *cut, *want;
    } rows[] = {
        {"\"type\":\"Whitespace\"", "ab@0-2 ?@2-3 ?@4-6 ?@6-8"},
        {"\"type\":\"WhitespaceSplit\"", "?@0-3 ?@4-8"},
        {"\"type\":\"Punctuation\"", "ab@0-2 ?@2-3 ?@3-6 ?@6-7 ?@7-8"},
        {"\"type\":\"Punctuation\",\"behavior\":\"Contiguous\"", "ab@0-2 ?@2-3 ?@3-6 ?@6-8"},
        {"\"type\":\"Punctuation\",\"behavior\":\"MergedWithNext\"", "ab@0-2 ?@2-6 ?@6-7 ?@7-8"},
        {"\"type\":\"Digits\"", "?@0-5 ?@5-6 ?@6-8"},
        {"\"type\":\"CharDelimiterSplit\",\"delimiter\":\",\"", "ab@0-2 ?@3-8"},
        {"\"type\":\"BertPreTokenizer\"", "ab@0-2 ?@2-3 ?@4-6 ?@6-7 ?@7-8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cf_hf_opened x = {CF_BUF_INIT, {0}, NULL};
        cf_error err = {0};
        cf_hf_names names = {0};
        cf_arena_init(&x.arena, 0);
        cf_buf_addf(&x.file,
                    "{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"?\":0,"
                    "\"ab\":1}},\"pre_tokenizer\":{%s}}",
                    rows[i].cut);
        T_OK(cf_hf_tokenizer(&x.tok, cf_buf_str(&x.file), &names, &x.arena, &err), err);
        assert_string_equal(shown(&x, "ab, d7!!", false, false), rows[i].want);
        cf_hf_close(&x);
    }
}

/* Offsets that are trimmed leave out the white space that an added token takes along. */
static void test_added__trimmed(void **state)
{
    (void)state;
    static const char *const wants[] = {"ab@0-2 <t>@2-7 ab@7-9", "ab@0-2 <t>@3-6 ab@7-9"};
    for (size_t i = 0; i < 2; i++) {
        cf_hf_opened x = {CF_BUF_INIT, {0}, NULL};
        cf_error err = {0};
        cf_hf_names names = {0};
        cf_arena_init(&x.arena, 0);
        cf_buf_addf(&x.file,
                    "{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"?\":0,"
                    "\"ab\":1,\"<t>\":2}},\"added_tokens\":[{\"id\":2,\"content\":\"<t>\","
                    "\"lstrip\":true,\"rstrip\":true}],\"post_processor\":{\"type\":\"ByteLevel\","
                    "\"trim_offsets\":%s}}",
                    i == 1 ? "true" : "false");
        T_OK(cf_hf_tokenizer(&x.tok, cf_buf_str(&x.file), &names, &x.arena, &err), err);
        assert_string_equal(shown(&x, "ab <t> ab", false, false), wants[i]);
        cf_hf_close(&x);
    }
}

static void test_words__of_a_fixed_length(void **state)
{
    (void)state;
    static const char file[] = "{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":"
                               "{\"?\":0,\"ab\":1,\"\xC3\xA9\\n\":2,\"d\":3}},\"pre_tokenizer\":"
                               "{\"type\":\"FixedLength\",\"length\":%s}}";
    cf_hf_opened x = {CF_BUF_INIT, {0}, NULL};
    cf_error err = {0};
    cf_hf_names names = {0};
    cf_arena_init(&x.arena, 0);
    cf_buf_addf(&x.file, file, "2");
    T_OK(cf_hf_tokenizer(&x.tok, cf_buf_str(&x.file), &names, &x.arena, &err), err);
    assert_string_equal(shown(&x, "ab\xC3\xA9\nxxd", false, false),
                        "ab@0-2 \xC3\xA9\n@2-5 ?@5-7 d@7-8");
    cf_tokenizer_free(x.tok);
    cf_buf_reset(&x.file);
    cf_buf_addf(&x.file, file, "0");
    T_FAILS(cf_hf_tokenizer(&x.tok, cf_buf_str(&x.file), &names, &x.arena, &err), CF_EFORMAT);
    cf_arena_deinit(&x.arena);
    cf_buf_deinit(&x.file);
}

static void test_wordpiece__known(void **state)
{
    (void)state;
    cf_hf_opened x = cf_hf_open(CF_HF_WORDPIECE);
    assert_string_equal(shown(&x, "UNaffable, running", false, true),
                        "[CLS]@0-0 un@0-2 ##aff@2-5 ##able@5-9 ,@9-10 "
                        "run@11-14 ##ning@14-18 [UNK]@0-0");
    assert_string_equal(shown(&x, "Caf\xC3\xA9\xE6\x97\xA5", false, false),
                        "cafe@0-5 \xE6\x97\xA5@5-8");
    assert_string_equal(shown(&x, "unknown", false, false), "[UNK]@0-7");
    assert_string_equal(shown(&x, "ununununununun", false, false), "[UNK]@0-14");
    assert_string_equal(decoded(&x, "unaffable, running", true), "unaffable, running");
    cf_hf_close(&x);
}

/* A token for unknown text that is named must exist where it is needed; without
 * a name unknown text is left out, as the format's own library does it. */
static void test_bpe__unknown_text(void **state)
{
    (void)state;
    static const char named[] = "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"<0x00>\":1},"
                                "\"merges\":[],\"byte_fallback\":true,\"unk_token\":\"nope\"}}";
    static const char plain[] = "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"<0x00>\":1},"
                                "\"merges\":[],\"byte_fallback\":true}}";
    const char *const files[] = {named, plain};
    for (size_t i = 0; i < 2; i++) {
        cf_tokenizer *tok = NULL;
        cf_arena arena;
        cf_error err;
        cf_token_list list;
        const cf_hf_names names = {.bos = cf_str_from("")};
        cf_arena_init(&arena, 0);
        T_OK(cf_hf_tokenizer(&tok, cf_str_from(files[i]), &names, &arena, &err), err);
        T_OK(cf_tokenizer_encode(&list, tok, cf_str_from("aa"), false, false, &arena, &err), err);
        assert_int_equal(list.n, 2);
        cf_status st =
            cf_tokenizer_encode(&list, tok, cf_str_from("ab"), false, false, &arena, &err);
        assert_int_equal(st, i == 0 ? CF_EFORMAT : CF_OK);
        assert_int_equal(i == 0 ? 1 : list.n, 1);
        cf_tokenizer_free(tok);
        cf_arena_deinit(&arena);
    }
}

static void test_unigram__best_path(void **state)
{
    (void)state;
    cf_hf_opened x = cf_hf_open(CF_HF_UNIGRAM);
    assert_string_equal(shown(&x, "abab a", false, false), "\xE2\x96\x81"
                                                           "a@0-1 bab@1-4 \xE2\x96\x81"
                                                           "a@4-6");
    assert_string_equal(shown(&x, "zyab", false, false), "\xE2\x96\x81@0-1 <unk>@0-2 ab@2-4");
    assert_string_equal(decoded(&x, "ab a", true), "ab a");
    cf_hf_close(&x);
}

/* ---- SentencePiece ------------------------------------------------------- */

static cf_hf_opened opened_spm(bool is_bpe)
{
    cf_hf_opened x = {CF_BUF_INIT, {0}, NULL};
    cf_error err = {0};
    cf_spm_options o = {-1, -1, 0};
    cf_arena_init(&x.arena, 0);
    cf_spm_file(&x.file, is_bpe);
    T_OK(cf_spm_tokenizer(&x.tok, cf_buf_str(&x.file), &o, &err), err);
    return x;
}

static void test_spm__unigram(void **state)
{
    (void)state;
    cf_hf_opened x = opened_spm(false);
    assert_string_equal(shown(&x, "  ab  ab ", false, true), "\xE2\x96\x81"
                                                             "ab@2-4 \xE2\x96\x81"
                                                             "ab@5-8 </s>@0-0");
    assert_string_equal(shown(&x, "a<tool>", false, false), "\xE2\x96\x81@0-1 a@0-1 <tool>@1-7");
    /* A control piece that is spelled out stays text. */
    assert_non_null(strstr(shown(&x, "<s>", false, false), "<unk>"));
    assert_string_equal(decoded(&x, "ab ab", true), "ab ab");
    cf_hf_close(&x);
}

static void test_spm__bpe(void **state)
{
    (void)state;
    cf_hf_opened x = opened_spm(true);
    cf_error err = {0};
    cf_token_list list;
    T_OK(cf_tokenizer_encode(&list, x.tok, cf_str_from("ab ab"), false, true, &x.arena, &err), err);
    assert_int_equal(list.n, 3);
    assert_int_equal(list.v[0].id, 1);
    assert_int_equal(list.v[1].id, 8);
    assert_int_equal(list.v[2].id, 8);
    cf_hf_close(&x);
}

/* ---- what is refused ----------------------------------------------------- */

static void assert_refused(const char *file, cf_status code, const char *word)
{
    cf_error err = {0};
    cf_hf_names names = {.n_ends = 0};
    cf_tokenizer *tok = NULL;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    T_FAILS(cf_hf_tokenizer(&tok, cf_str_from(file), &names, &arena, &err), code);
    if (strstr(err.text, word) == NULL) {
        fail_msg("'%s' does not name '%s'", err.text, word);
    }
    assert_null(tok);
    cf_arena_deinit(&arena);
}

#define MODEL "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}"

static void test_refused__files(void **state)
{
    (void)state;
    assert_refused("", CF_EFORMAT, "JSON");
    assert_refused("{}", CF_EFORMAT, "model");
    assert_refused("{\"model\":{\"vocab\":{\"a\":0", CF_EFORMAT, "JSON");
    assert_refused("{\"model\":{\"type\":\"Magic\",\"vocab\":{\"a\":0}}}", CF_EUNSUPPORTED,
                   "Magic");
    assert_refused("{\"model\":{\"vocab\":{\"a\":2000000000}}}", CF_EFORMAT, "2000000000");
    assert_refused("{\"normalizer\":{\"type\":\"Magic\"}," MODEL "}", CF_EUNSUPPORTED, "Magic");
    assert_refused("{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":"
                   "{\"Regex\":\"a(\"}}," MODEL "}",
                   CF_EUNSUPPORTED, "a(");
    assert_refused("{\"post_processor\":{\"type\":\"BertProcessing\","
                   "\"cls\":[\"x\",7],\"sep\":[\"x\",0]}," MODEL "}",
                   CF_EFORMAT, "token 7");
    assert_refused("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},"
                   "\"merges\":[\"aa\"]}}",
                   CF_EFORMAT, "two parts");
    assert_refused("{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\"]]}}", CF_EFORMAT, "JSON");
}

static void test_refused__nesting(void **state)
{
    (void)state;
    cf_buf b = CF_BUF_INIT;
    cf_buf_adds(&b, "{\"normalizer\":");
    for (int i = 0; i < 40; i++) {
        cf_buf_adds(&b, "{\"type\":\"Sequence\",\"normalizers\":[");
    }
    cf_buf_adds(&b, "{\"type\":\"NFC\"}");
    for (int i = 0; i < 40; i++) {
        cf_buf_adds(&b, "]}");
    }
    cf_buf_adds(&b, "," MODEL "}");
    assert_refused(cf_buf_cstr(&b), CF_ELIMIT, "deeply");
    cf_buf_deinit(&b);
}

/* A step that makes a thousand characters of each may do so in short texts. */
static void test_refused__growth(void **state)
{
    (void)state;
    static const char file[] = "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":"
                               "\"b\"},\"content\":\"%01000d\"},\"model\":{\"type\":\"WordLevel\","
                               "\"vocab\":{\"a\":0},\"unk_token\":\"a\"}}";
    static char text[4000];
    cf_hf_opened x = {CF_BUF_INIT, {0}, NULL};
    cf_hf_names names = {.n_ends = 0};
    cf_token_list list;
    cf_error err = {0};
    memset(text, 'b', sizeof text);
    cf_arena_init(&x.arena, 0);
    cf_buf_addf(&x.file, file, 0);
    T_OK(cf_hf_tokenizer(&x.tok, cf_buf_str(&x.file), &names, &x.arena, &err), err);
    T_OK(cf_tokenizer_encode(&list, x.tok, cf_str_make(text, 400), false, false, &x.arena, &err),
         err);
    T_FAILS(cf_tokenizer_encode(&list, x.tok, cf_str_make(text, sizeof text), false, false,
                                &x.arena, &err),
            CF_ELIMIT);
    cf_tokenizer_free(x.tok);
    cf_arena_deinit(&x.arena);
    cf_buf_deinit(&x.file);
}

/* An expression that takes exponential time ends at the limit. */
static void test_refused__slow_pattern(void **state)
{
    (void)state;
    static const char file[] = "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":"
                               "\"(?:a|aa)+[bc]\"},\"behavior\":\"Isolated\"},"
                               "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0},"
                               "\"unk_token\":\"a\"}}";
    cf_error err = {0};
    cf_hf_names names = {.n_ends = 0};
    cf_tokenizer *tok = NULL;
    cf_token_list list;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    T_OK(cf_hf_tokenizer(&tok, cf_str_from(file), &names, &arena, &err), err);
    T_FAILS(cf_tokenizer_encode(&list, tok, cf_str_from("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
                                false, false, &arena, &err),
            CF_ELIMIT);
    cf_tokenizer_free(tok);
    cf_arena_deinit(&arena);
}

static void test_refused__spm(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "\x0A\x7F", "\x0B", "\xFF\xFF", "\x0A\x02\x18\x09"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cf_error err = {0};
        cf_spm_options o = {-1, -1, 0};
        cf_tokenizer *tok = NULL;
        T_FAILS(cf_spm_tokenizer(&tok, cf_str_from(bad[i]), &o, &err), CF_EFORMAT);
        assert_null(tok);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes__merges_and_added),
        cmocka_unit_test(test_chars__prefix_and_bytes),
        cmocka_unit_test(test_words__cut),
        cmocka_unit_test(test_added__trimmed),
        cmocka_unit_test(test_words__of_a_fixed_length),
        cmocka_unit_test(test_wordpiece__known),
        cmocka_unit_test(test_bpe__unknown_text),
        cmocka_unit_test(test_unigram__best_path),
        cmocka_unit_test(test_spm__unigram),
        cmocka_unit_test(test_spm__bpe),
        cmocka_unit_test(test_refused__files),
        cmocka_unit_test(test_refused__nesting),
        cmocka_unit_test(test_refused__growth),
        cmocka_unit_test(test_refused__slow_pattern),
        cmocka_unit_test(test_refused__spm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
