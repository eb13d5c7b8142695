/*
 * test_tokenizer.c - encoding and decoding with two small vocabularies.
 */
#include "tests/support/t.h"

#include "core/base/arena.h"
#include "core/infer/gguf_tokenizer.h"
#include "tests/support/vocab_file.h"

typedef struct fixture {
    cf_vocab_file file;
    cf_gguf *gguf;
    cf_tokenizer *tok;
    cf_arena arena;
} fixture;

static void open_file(fixture *x, bool with_types)
{
    cf_error err = {0};
    assert_true(cf_vocab_file_finish(&x->file, with_types));
    T_OK(cf_gguf_open_memory(&x->gguf, x->file.bytes, x->file.n, &err), err);
    T_OK(cf_gguf_tokenizer(&x->tok, x->gguf, &err), err);
    cf_arena_init(&x->arena, 0);
}

static void open_spm(fixture *x, bool space_prefix)
{
    cf_vocab_file_small_spm(&x->file, space_prefix);
    open_file(x, true);
}

static void open_bpe(fixture *x, const char *pre)
{
    cf_vocab_file_small_bpe(&x->file, pre);
    open_file(x, true);
}

static void close_all(fixture *x)
{
    cf_arena_deinit(&x->arena);
    cf_tokenizer_free(x->tok);
    cf_gguf_close(x->gguf);
    cf_vocab_file_deinit(&x->file);
}

/* Writes the tokens as "[piece][piece]", spelled as in the vocabulary. */
static const char *shown(fixture *x, const cf_token_list *list)
{
    cf_buf b = CF_BUF_INIT;
    for (size_t i = 0; i < list->n; i++) {
        cf_str s = cf_tokenizer_raw_piece(x->tok, list->v[i].id);
        cf_buf_addf(&b, "[%.*s]", (int)s.n, s.p);
    }
    const char *copy = cf_arena_strndup(&x->arena, cf_buf_cstr(&b), b.n);
    cf_buf_deinit(&b);
    return copy;
}

static cf_token_list encode_n(fixture *x, cf_str text, bool parse, bool add)
{
    cf_error err = {0};
    cf_token_list list;
    T_OK(cf_tokenizer_encode(&list, x->tok, text, parse, add, &x->arena, &err), err);
    return list;
}

static const char *encoded(fixture *x, const char *text, bool parse, bool add)
{
    cf_token_list list = encode_n(x, cf_str_from(text), parse, add);
    return shown(x, &list);
}

static void assert_decodes(fixture *x, const cf_token_list *list, const char *want, size_t want_n)
{
    cf_token ids[64];
    assert_true(list->n <= 64);
    for (size_t i = 0; i < list->n; i++) {
        ids[i] = list->v[i].id;
    }
    cf_buf b = CF_BUF_INIT;
    cf_tokenizer_decode(&b, x->tok, ids, list->n, true);
    assert_int_equal(b.n, want_n);
    assert_memory_equal(cf_buf_cstr(&b), want, want_n);
    cf_buf_deinit(&b);
}

static void test_spm__merges_by_score(void **state)
{
    (void)state;
    fixture x = {0};
    open_spm(&x, true);
    assert_string_equal(encoded(&x, "hello world", false, false), "[\u2581hello][\u2581world]");
    /* "he" joins before "ll", both before "hell". */
    assert_string_equal(encoded(&x, "hellhe", false, false), "[\u2581][hell][he]");
    /* Of equal pairs the left one joins. */
    assert_string_equal(encoded(&x, "aaa", false, false), "[\u2581][aa][a]");
    assert_string_equal(encoded(&x, "  aaab", false, false), "[\u2581\u2581][\u2581][aa][ab]");
    assert_string_equal(encoded(&x, "", true, false), "");
    close_all(&x);
}

static void test_spm__without_prefix(void **state)
{
    (void)state;
    fixture x = {0};
    open_spm(&x, false);
    assert_string_equal(encoded(&x, "hello hello", false, false), "[hello][\u2581hello]");
    cf_token_list list = encode_n(&x, cf_str_from(" a"), false, false);
    assert_decodes(&x, &list, " a", 2);
    close_all(&x);
}

static void test_spm__special_tokens(void **state)
{
    (void)state;
    fixture x = {0};
    open_spm(&x, true);
    assert_string_equal(encoded(&x, "a</s>a", true, true), "[<s>][\u2581a][</s>][\u2581a]");
    /* "</" and "s>" are pieces, but text never joins to a control token. */
    assert_string_equal(encoded(&x, "a</s>a", false, false), "[\u2581a][</][s>][a]");
    assert_string_equal(encoded(&x, "<unk>", true, false), "[<unk>]");
    /* User-defined tokens are taken either way; text after one starts again. */
    assert_string_equal(encoded(&x, "a\n\na<tag>", false, false),
                        "[\u2581a][\n\n][\u2581a][<tag>]");
    assert_string_equal(encoded(&x, "<0x41>", true, false),
                        "[\u2581][<][<0x30>][<0x78>][<0x34>][<0x31>][>]");
    close_all(&x);
}

static void test_spm__bytes(void **state)
{
    (void)state;
    fixture x = {0};
    open_spm(&x, false);
    cf_token_list list = encode_n(&x, cf_str_from("a\u65e5\u672c!"), false, false);
    assert_string_equal(shown(&x, &list), "[a][\u65e5][<0xE6>][<0x9C>][<0xAC>][!]");
    /* The first byte token stands for the character, the others for nothing. */
    static const uint32_t off[] = {0, 1, 4, 7, 7, 7};
    static const uint32_t len[] = {1, 3, 3, 0, 0, 1};
    for (size_t i = 0; i < list.n; i++) {
        assert_int_equal(list.v[i].off, off[i]);
        assert_int_equal(list.v[i].len, len[i]);
    }
    static const char bad[] = "a\xFF\xC3"
                              "b\x80\xE6\x97\0h";
    list = encode_n(&x, cf_str_make(bad, sizeof bad - 1), false, false);
    assert_string_equal(shown(&x, &list),
                        "[a][<0xFF>][<0xC3>][b][<0x80>][<0xE6>][<0x97>][<0x00>][h]");
    assert_decodes(&x, &list, bad, sizeof bad - 1);
    close_all(&x);
}

static void test_spm__spans(void **state)
{
    (void)state;
    fixture x = {0};
    open_spm(&x, true);
    cf_token_list list = encode_n(&x, cf_str_from("he </s> wor"), true, true);
    assert_string_equal(shown(&x, &list), "[<s>][\u2581][he][\u2581][</s>][\u2581][\u2581wor]");
    static const uint32_t off[] = {0, 0, 0, 2, 3, 7, 7};
    static const uint32_t len[] = {0, 0, 2, 1, 4, 0, 4};
    for (size_t i = 0; i < list.n; i++) {
        assert_int_equal(list.v[i].off, off[i]);
        assert_int_equal(list.v[i].len, len[i]);
    }
    close_all(&x);
}

static void test_spm__decode(void **state)
{
    (void)state;
    fixture x = {0};
    open_spm(&x, true);
    cf_token_list list = encode_n(&x, cf_str_from("hello world"), true, false);
    assert_decodes(&x, &list, "hello world", 11);
    list = encode_n(&x, cf_str_from("hello"), true, true);
    assert_decodes(&x, &list, "<s> hello", 9);
    cf_buf b = CF_BUF_INIT;
    cf_tokenizer_piece(&b, x.tok, 1, false);
    assert_int_equal(b.n, 0);
    cf_tokenizer_piece(&b, x.tok, -1, true);
    cf_tokenizer_piece(&b, x.tok, 100000, true);
    assert_int_equal(b.n, 0);
    cf_tokenizer_piece(&b, x.tok, 4 + 0xE6, true);
    T_TEXT(b.p, b.n, "\xE6");
    cf_buf_deinit(&b);
    close_all(&x);
}

/* Without byte tokens a strange character is the unknown token. */
static void test_spm__unknown(void **state)
{
    (void)state;
    fixture x = {0};
    cf_vocab_file_init(&x.file, "llama", NULL);
    cf_vocab_file_token(&x.file, cf_str_from("<unk>"), CF_TOKEN_UNKNOWN, 0);
    cf_vocab_file_token(&x.file, cf_str_from("a"), CF_TOKEN_NORMAL, 0);
    cf_vocab_file_u32(&x.file, "tokenizer.ggml.unknown_token_id", 0);
    cf_vocab_file_bool(&x.file, "tokenizer.ggml.add_space_prefix", false);
    open_file(&x, true);
    assert_string_equal(encoded(&x, "a\u00e9a", false, false), "[a][<unk>][a]");
    close_all(&x);
}

/* A piece with a space inside keeps merges from being done word by word. */
static void test_spm__inner_space(void **state)
{
    (void)state;
    fixture x = {0};
    cf_vocab_file_init(&x.file, "llama", NULL);
    static const char *const pieces[] = {"\u2581", "a", "b", "a\u2581", "a\u2581b"};
    for (size_t i = 0; i < 5; i++) {
        cf_vocab_file_token(&x.file, cf_str_from(pieces[i]), CF_TOKEN_NORMAL, (float)i);
    }
    cf_vocab_file_bool(&x.file, "tokenizer.ggml.add_space_prefix", false);
    open_file(&x, true);
    assert_string_equal(encoded(&x, "ba ba bb", false, false), "[b][a\u2581b][a\u2581b][b]");
    close_all(&x);
}

static void test_spm__phi3_strips(void **state)
{
    (void)state;
    fixture x = {0};
    cf_vocab_file_small_spm(&x.file, true);
    cf_vocab_file_str(&x.file, "general.name", "My Phi-3 mini");
    open_file(&x, true);
    cf_token_list list = encode_n(&x, cf_str_from("<|user|> \n\u00a0a <s> a"), true, false);
    assert_string_equal(shown(&x, &list), "[<|user|>][\u2581a][\u2581][<s>][\u2581\u2581][a]");
    /* The white space belongs to the token that took it. */
    assert_int_equal(list.v[0].off, 0);
    assert_int_equal(list.v[0].len, 12);
    assert_int_equal(list.v[1].off, 12);
    close_all(&x);
}

static void test_bpe__merges_by_rank(void **state)
{
    (void)state;
    fixture x = {0};
    open_bpe(&x, "gpt-2");
    assert_string_equal(encoded(&x, "hello world", false, false), "[hello][\u0120world]");
    assert_string_equal(encoded(&x, "aaaaaaa aaa", false, false), "[aaaa][aa][a][\u0120][aa][a]");
    assert_string_equal(encoded(&x, "hello", false, true), "[hello][<|end|>]");
    close_all(&x);
}

static void test_bpe__special_tokens(void **state)
{
    (void)state;
    fixture x = {0};
    open_bpe(&x, "gpt-2");
    assert_string_equal(encoded(&x, "a<|end|>a", true, false), "[a][<|end|>][a]");
    assert_string_equal(encoded(&x, "a<|end|>a", false, false), "[a][<][|][end][|][>][a]");
    /* The longest token that may be taken. */
    assert_string_equal(encoded(&x, "<tool>s", true, false), "[<tool>s]");
    assert_string_equal(encoded(&x, "<tool>s", false, false), "[<tool>][s]");
    close_all(&x);
}

static void test_bpe__bytes(void **state)
{
    (void)state;
    fixture x = {0};
    open_bpe(&x, "qwen2");
    static const char bad[] = "\xC3\xA9\xC3(\xFF\xFE!!\xE2\x82\0";
    cf_token_list list = encode_n(&x, cf_str_make(bad, sizeof bad - 1), false, false);
    assert_decodes(&x, &list, bad, sizeof bad - 1);
    uint32_t at = 0;
    for (size_t i = 0; i < list.n; i++) {
        assert_int_equal(list.v[i].off, at);
        at += list.v[i].len;
    }
    assert_int_equal(at, sizeof bad - 1);
    close_all(&x);
}

/* A bad byte cuts like U+FFFD does: as a sign. */
static void test_bpe__bad_byte_is_a_sign(void **state)
{
    (void)state;
    fixture x = {0};
    open_bpe(&x, "gpt-2");
    assert_string_equal(encoded(&x, "hello\xFFhello", false, false), "[hello][\u00ff][hello]");
    assert_string_equal(encoded(&x, "a\xFFhello\xC3 hello", false, false),
                        "[a][\u00ff][hello][\u00c3][\u0120hello]");
    close_all(&x);
}

static void test_bpe__missing_bytes(void **state)
{
    (void)state;
    fixture x = {0};
    cf_vocab_file_init(&x.file, "gpt2", "gpt-2");
    cf_vocab_file_token(&x.file, cf_str_from("a"), CF_TOKEN_NORMAL, 0);
    cf_vocab_file_token(&x.file, cf_str_from("!"), CF_TOKEN_NORMAL, 0);
    /* Spelled like byte F6, but a word of its own. */
    cf_vocab_file_token(&x.file, cf_str_from("\u00f6"), CF_TOKEN_USER_DEFINED, 0);
    cf_vocab_file_merge(&x.file, "! !", true);
    open_file(&x, true);
    cf_token_list list = encode_n(&x, cf_str_from("a!\x01!a"), false, false);
    assert_string_equal(shown(&x, &list), "[a][!!][a]");
    assert_int_equal(list.v[1].off, 1);
    assert_int_equal(list.v[1].len, 3);
    assert_string_equal(encoded(&x, "a\xF6", false, false), "[a]");
    list = encode_n(&x, cf_str_from("a\u00f6"), false, false);
    assert_string_equal(shown(&x, &list), "[a][\u00f6]");
    assert_decodes(&x, &list, "a\u00f6", 3);
    close_all(&x);
}

/* A merge that spells a control token is ignored. */
static void test_bpe__merge_never_makes_control(void **state)
{
    (void)state;
    for (int ignore_merges = 0; ignore_merges < 2; ignore_merges++) {
        fixture x = {0};
        cf_vocab_file_init(&x.file, "gpt2", ignore_merges ? "llama-bpe" : "gpt-2");
        cf_vocab_file_bytes_bpe(&x.file);
        cf_vocab_file_token(&x.file, cf_str_from("ab"), CF_TOKEN_CONTROL, 0);
        cf_vocab_file_token(&x.file, cf_str_from("abc"), CF_TOKEN_NORMAL, 0);
        cf_vocab_file_merge(&x.file, "a b", false);
        cf_vocab_file_merge(&x.file, "ab c", false);
        open_file(&x, true);
        assert_string_equal(encoded(&x, "ab", false, false), "[a][b]");
        assert_string_equal(encoded(&x, "abd", true, false), "[ab][d]");
        close_all(&x);
    }
}

static void test_bpe__ignore_merges(void **state)
{
    (void)state;
    for (int ignore_merges = 0; ignore_merges < 2; ignore_merges++) {
        fixture x = {0};
        cf_vocab_file_init(&x.file, "gpt2", ignore_merges ? "llama-bpe" : "dbrx");
        cf_vocab_file_bytes_bpe(&x.file);
        cf_vocab_file_token(&x.file, cf_str_from("\u0120abc"), CF_TOKEN_NORMAL, 0);
        cf_vocab_file_merge(&x.file, "b c", true);
        open_file(&x, true);
        assert_string_equal(encoded(&x, "a abc", false, false),
                            ignore_merges ? "[a][\u0120abc]" : "[a][\u0120][a][bc]");
        close_all(&x);
    }
}

static const char *encoded_spans(fixture *x, const char *text, const cf_text_span *spans, size_t n)
{
    cf_error err = {0};
    cf_token_list list;
    T_OK(cf_tokenizer_encode_spans(&list, x->tok, cf_str_from(text), spans, n, false, &x->arena,
                                   &err),
         err);
    return shown(x, &list);
}

static void test_spans__control_tokens(void **state)
{
    (void)state;
    fixture x = {0};
    open_bpe(&x, "gpt-2");
    const char *text = "<|end|><|end|>";
    const cf_text_span inner[] = {{0, 7, true}, {7, 7, false}};
    assert_string_equal(encoded_spans(&x, text, inner, 2), "[<|end|>][<][|][end][|][>]");
    /* One byte of another's text is enough. */
    const cf_text_span edge[] = {{0, 6, true}, {6, 1, false}, {7, 7, true}};
    assert_string_equal(encoded_spans(&x, text, edge, 3), "[<][|][end][|][>][<|end|>]");
    const cf_text_span head[] = {{0, 1, false}, {1, 13, true}};
    assert_string_equal(encoded_spans(&x, text, head, 2), "[<][|][end][|][>][<|end|>]");
    /* Neighbours with the same rule are one text; empty spans are nothing. */
    const cf_text_span same[] = {
        {0, 3, true}, {3, 0, false}, {3, 4, true}, {7, 0, true}, {7, 7, true}};
    assert_string_equal(encoded_spans(&x, text, same, 5), "[<|end|>][<|end|>]");
    /* User-defined tokens do not mind. */
    const cf_text_span tool[] = {{0, 3, true}, {3, 4, false}};
    assert_string_equal(encoded_spans(&x, "<tool>s", tool, 2), "[<tool>][s]");
    close_all(&x);
}

static void test_spans__text_is_one(void **state)
{
    (void)state;
    fixture x = {0};
    open_bpe(&x, "gpt-2");
    const cf_text_span cut[] = {{0, 3, true}, {3, 6, false}, {9, 2, true}};
    assert_string_equal(encoded_spans(&x, "hello world", cut, 3), "[hello][\u0120world]");
    close_all(&x);
}

/* Bytes that no span covers are not template text. */
static void test_spans__uncovered(void **state)
{
    (void)state;
    fixture x = {0};
    open_bpe(&x, "gpt-2");
    assert_string_equal(encoded_spans(&x, "<|end|>", NULL, 0), "[<][|][end][|][>]");
    close_all(&x);
}

static void test_getters(void **state)
{
    (void)state;
    fixture x = {0};
    open_spm(&x, true);
    assert_string_equal(cf_tokenizer_model(x.tok), "llama");
    assert_string_equal(cf_tokenizer_pre(x.tok), "default");
    cf_special_tokens s = cf_tokenizer_special(x.tok);
    assert_int_equal(s.bos, 1);
    assert_int_equal(s.eos, 2);
    assert_int_equal(s.unk, 0);
    assert_int_equal(s.eot, CF_TOKEN_NONE);
    assert_true(s.add_bos);
    assert_false(s.add_eos);
    assert_int_equal(cf_tokenizer_find(x.tok, cf_str_from("hello")),
                     cf_tokenizer_find(x.tok, cf_str_make("hello!", 5)));
    assert_int_equal(cf_tokenizer_find(x.tok, cf_str_from("nope")), CF_TOKEN_NONE);
    assert_int_equal(cf_tokenizer_type(x.tok, 3), CF_TOKEN_CONTROL);
    assert_int_equal(cf_tokenizer_type(x.tok, 4), CF_TOKEN_BYTE);
    assert_true(cf_tokenizer_is_end(x.tok, 2));
    assert_false(cf_tokenizer_is_end(x.tok, 1));
    assert_false(cf_tokenizer_is_end(x.tok, -5));
    close_all(&x);
}

/* <|end|> ends a turn, but not in a vocabulary with <|return|> and <|call|>. */
static void test_is_end__harmony(void **state)
{
    (void)state;
    static const char *const pieces[] = {"<|end|>", "<|return|>", "<|call|>"};
    for (size_t n = 1; n <= 3; n++) {
        fixture x = {0};
        cf_vocab_file_init(&x.file, "llama", NULL);
        for (size_t i = 0; i < n; i++) {
            cf_vocab_file_token(&x.file, cf_str_from(pieces[i]), CF_TOKEN_CONTROL, 0);
        }
        open_file(&x, true);
        assert_int_equal(cf_tokenizer_is_end(x.tok, 0), n < 3);
        close_all(&x);
    }
}

static void test_types__absent(void **state)
{
    (void)state;
    fixture x = {0};
    cf_vocab_file_small_spm(&x.file, false);
    open_file(&x, false);
    assert_int_equal(cf_tokenizer_type(x.tok, 1), CF_TOKEN_CONTROL);
    assert_int_equal(cf_tokenizer_type(x.tok, 4), CF_TOKEN_BYTE);
    assert_string_equal(encoded(&x, "a\x01</s>", false, false), "[a][<0x01>][</][s>]");
    close_all(&x);
}

/* ---- WordPiece and Unigram ------------------------------------------------ */

/* [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, then pieces as GGUF spells WordPiece. */
static void open_wordpiece(fixture *x, bool is_cased)
{
    static const char *const pieces[] = {
        "\u2581the",    "\u2581cat", "s",  "\u2581na", "ive",   "\u2581,",
        "\u2581\u65e5", "\u2581c",   "at", "\u2581##", "\u2581"};
    cf_vocab_file_init(&x->file, "bert", NULL);
    cf_vocab_file_token(&x->file, cf_str_from("[PAD]"), CF_TOKEN_CONTROL, 0);
    cf_vocab_file_token(&x->file, cf_str_from("[UNK]"), CF_TOKEN_UNKNOWN, 0);
    cf_vocab_file_token(&x->file, cf_str_from("[CLS]"), CF_TOKEN_CONTROL, 0);
    cf_vocab_file_token(&x->file, cf_str_from("[SEP]"), CF_TOKEN_CONTROL, 0);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        cf_vocab_file_token(&x->file, cf_str_from(pieces[i]), CF_TOKEN_NORMAL, 0);
    }
    if (is_cased) {
        cf_vocab_file_token(&x->file, cf_str_from("\u2581The"), CF_TOKEN_NORMAL, 0);
    }
    cf_vocab_file_u32(&x->file, "tokenizer.ggml.cls_token_id", 2);
    cf_vocab_file_u32(&x->file, "tokenizer.ggml.seperator_token_id", 3);
    cf_vocab_file_u32(&x->file, "tokenizer.ggml.unknown_token_id", 1);
    open_file(x, true);
}

static void assert_places(const cf_token_list *list, const uint32_t (*want)[2], size_t n)
{
    assert_int_equal(list->n, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(list->v[i].off, want[i][0]);
        assert_int_equal(list->v[i].off + list->v[i].len, want[i][1]);
    }
}

static void test_wordpiece__words_and_offsets(void **state)
{
    (void)state;
    fixture x = {0};
    open_wordpiece(&x, false);
    assert_string_equal(cf_tokenizer_model(x.tok), "bert");
    /* Accents are dropped, Chinese is cut, the rest of a word goes on bare. */
    const char *text = "The CATS, na\u00efve\t\u65e5\u65e5";
    static const uint32_t places[][2] = {{0, 0},   {0, 3},   {4, 7},   {7, 8},   {8, 9},
                                         {10, 12}, {12, 16}, {17, 20}, {20, 23}, {23, 23}};
    cf_token_list list = encode_n(&x, cf_str_from(text), false, true);
    assert_string_equal(shown(&x, &list), "[[CLS]][\u2581the][\u2581cat][s][\u2581,][\u2581na][ive]"
                                          "[\u2581\u65e5][\u2581\u65e5][[SEP]]");
    assert_places(&list, places, sizeof places / sizeof places[0]);
    /* A word that has a part without a piece is unknown as a whole. */
    assert_string_equal(encoded(&x, "catx cat", false, false), "[[UNK]][\u2581cat]");
    /* A word's first part is never one that goes on, and the other way round. */
    assert_string_equal(encoded(&x, "s the", false, false), "[[UNK]][\u2581the]");
    /* Control tokens only where the text may have them. */
    assert_string_equal(encoded(&x, "[SEP]", true, false), "[[SEP]]");
    assert_string_equal(encoded(&x, "[SEP]", false, false), "[[UNK]][[UNK]][[UNK]]");
    close_all(&x);
}

static void test_wordpiece__a_cased_vocabulary_is_not_lowered(void **state)
{
    (void)state;
    fixture x = {0};
    open_wordpiece(&x, true);
    assert_string_equal(encoded(&x, "The the", false, false), "[\u2581The][\u2581the]");
    close_all(&x);
}

static void open_unigram(fixture *x, bool joins_spaces)
{
    static const struct {
        const char *piece;
        float score;
    } pieces[] = {{"\u2581", -3}, {"a", -4}, {"b", -4}, {"ab", -5}, {"\u2581ab", -6}, {"bb", -9}};
    cf_vocab_file_init(&x->file, "t5", NULL);
    cf_vocab_file_token(&x->file, cf_str_from("<s>"), CF_TOKEN_CONTROL, 0);
    cf_vocab_file_token(&x->file, cf_str_from("</s>"), CF_TOKEN_CONTROL, 0);
    cf_vocab_file_token(&x->file, cf_str_from("<unk>"), CF_TOKEN_UNKNOWN, 0);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        cf_vocab_file_token(&x->file, cf_str_from(pieces[i].piece), CF_TOKEN_NORMAL,
                            pieces[i].score);
    }
    cf_vocab_file_u32(&x->file, "tokenizer.ggml.bos_token_id", 0);
    cf_vocab_file_u32(&x->file, "tokenizer.ggml.eos_token_id", 1);
    cf_vocab_file_u32(&x->file, "tokenizer.ggml.unknown_token_id", 2);
    cf_vocab_file_bool(&x->file, "tokenizer.ggml.remove_extra_whitespaces", joins_spaces);
    open_file(x, true);
}

static void test_unigram__the_best_sum(void **state)
{
    (void)state;
    fixture x = {0};
    open_unigram(&x, true);
    assert_string_equal(encoded(&x, " ab  abb", false, true), "[\u2581ab][\u2581ab][b][</s>]");
    assert_string_equal(encoded(&x, "bbz", false, false), "[\u2581][b][b][<unk>]");
    close_all(&x);
    open_unigram(&x, false);
    assert_string_equal(encoded(&x, "ab  ab", false, false), "[\u2581ab][\u2581][\u2581ab]");
    close_all(&x);
}

/* Vocabularies of characters that a pre-tokenizer's name gives away. */
static void test_pre__characters_in_place_of_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *model, *pre, *want;
    } rows[] = {{"gpt2", "sarvam-moe", "[ab][\u2581][ab][<0x0A>]"},
                {"gpt2", "granite-embed-multi-311m", "[ab][\u2581][ab][<0x0A>]"},
                {"whitespace", "whitespace", "[ab][ab]"},
                {"gpt2", "whitespace", "[ab][ab]"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture x = {0};
        cf_vocab_file_init(&x.file, rows[i].model, rows[i].pre);
        cf_vocab_file_token(&x.file, cf_str_from("a"), CF_TOKEN_NORMAL, 0);
        cf_vocab_file_token(&x.file, cf_str_from("b"), CF_TOKEN_NORMAL, 0);
        cf_vocab_file_token(&x.file, cf_str_from("\u2581"), CF_TOKEN_NORMAL, 0);
        cf_vocab_file_token(&x.file, cf_str_from("<0x0A>"), CF_TOKEN_BYTE, 0);
        cf_vocab_file_merge(&x.file, "a b", true);
        open_file(&x, true);
        assert_string_equal(encoded(&x, "ab ab\n", false, false), rows[i].want);
        close_all(&x);
    }
}

static void assert_refused(cf_vocab_file *f, cf_status code, const char *word)
{
    cf_error err = {0};
    cf_gguf *g;
    cf_tokenizer *tok = NULL;
    assert_true(cf_vocab_file_finish(f, true));
    T_OK(cf_gguf_open_memory(&g, f->bytes, f->n, &err), err);
    T_FAILS(cf_gguf_tokenizer(&tok, g, &err), code);
    if (strstr(err.text, word) == NULL) {
        fail_msg("'%s' does not name '%s'", err.text, word);
    }
    assert_null(tok);
    cf_gguf_close(g);
    cf_vocab_file_deinit(f);
}

static void test_new__refuses(void **state)
{
    (void)state;
    cf_vocab_file f;
    cf_vocab_file_init(&f, "rwkv", NULL);
    cf_vocab_file_token(&f, cf_str_from("a"), CF_TOKEN_NORMAL, 0);
    assert_refused(&f, CF_EUNSUPPORTED, "rwkv");

    cf_vocab_file_init(&f, NULL, NULL);
    cf_vocab_file_token(&f, cf_str_from("a"), CF_TOKEN_NORMAL, 0);
    assert_refused(&f, CF_EFORMAT, "tokenizer.ggml.model");

    cf_vocab_file_init(&f, "gpt2", "no-such-cutter");
    cf_vocab_file_bytes_bpe(&f);
    cf_vocab_file_merge(&f, "a b", true);
    assert_refused(&f, CF_EUNSUPPORTED, "no-such-cutter");

    cf_vocab_file_init(&f, "gpt2", "gpt-2");
    cf_vocab_file_bytes_bpe(&f);
    assert_refused(&f, CF_EFORMAT, "merges");

    cf_vocab_file_init(&f, "gpt2", "gpt-2");
    cf_vocab_file_bytes_bpe(&f);
    cf_vocab_file_merge(&f, "ab", false);
    assert_refused(&f, CF_EFORMAT, "merge 0");

    cf_vocab_file_init(&f, "llama", NULL);
    cf_vocab_file_token(&f, cf_str_from("a"), CF_TOKEN_NORMAL, 0);
    cf_vocab_file_u32(&f, "tokenizer.ggml.eos_token_id", 1);
    assert_refused(&f, CF_EFORMAT, "eos_token_id");

    cf_vocab_file_init(&f, "llama", NULL);
    cf_vocab_file_token(&f, cf_str_from("a"), 9, 0);
    assert_refused(&f, CF_EFORMAT, "type 9");

    cf_vocab_file_init(&f, "llama", NULL);
    assert_refused(&f, CF_EFORMAT, "tokens");

    static char big[70000];
    memset(big, 'x', sizeof big);
    cf_vocab_file_init(&f, "llama", NULL);
    cf_vocab_file_token(&f, cf_str_make(big, sizeof big), CF_TOKEN_NORMAL, 0);
    assert_refused(&f, CF_ELIMIT, "70000");
    cf_vocab_file_init(&f, "llama", NULL);
    cf_vocab_file_token(&f, cf_str_make(big, 2000), CF_TOKEN_CONTROL, 0);
    assert_refused(&f, CF_ELIMIT, "2000");
}

/* Ids that mean "none" and ids that nothing relies on. */
static void test_new__tolerates(void **state)
{
    (void)state;
    fixture x = {0};
    cf_vocab_file_init(&x.file, "llama", NULL);
    cf_vocab_file_token(&x.file, cf_str_from("a"), CF_TOKEN_NORMAL, 0);
    cf_vocab_file_token(&x.file, cf_str_from(""), CF_TOKEN_CONTROL, 0);
    cf_vocab_file_token(&x.file, cf_str_from("a"), CF_TOKEN_NORMAL, 0);
    cf_vocab_file_u32(&x.file, "tokenizer.ggml.bos_token_id", UINT32_MAX);
    cf_vocab_file_u32(&x.file, "tokenizer.ggml.padding_token_id", 77);
    cf_vocab_file_bool(&x.file, "tokenizer.ggml.add_bos_token", true);
    open_file(&x, true);
    cf_special_tokens s = cf_tokenizer_special(x.tok);
    assert_int_equal(s.bos, CF_TOKEN_NONE);
    assert_int_equal(s.pad, CF_TOKEN_NONE);
    assert_false(s.add_bos);
    assert_int_equal(encode_n(&x, cf_str_from("aa"), true, true).n, 2);
    close_all(&x);
}

static void test_encode__arena_limit(void **state)
{
    (void)state;
    fixture x = {0};
    open_spm(&x, true);
    cf_arena small;
    cf_arena_init(&small, 16);
    cf_error err;
    cf_token_list list = {NULL, 77};
    T_FAILS(
        cf_tokenizer_encode(&list, x.tok, cf_str_from("hello world"), false, true, &small, &err),
        CF_ENOMEM);
    assert_int_equal(list.n, 77);
    cf_arena_deinit(&small);
    close_all(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spm__merges_by_score),
        cmocka_unit_test(test_spm__without_prefix),
        cmocka_unit_test(test_spm__special_tokens),
        cmocka_unit_test(test_spm__bytes),
        cmocka_unit_test(test_spm__spans),
        cmocka_unit_test(test_spm__decode),
        cmocka_unit_test(test_spm__unknown),
        cmocka_unit_test(test_spm__inner_space),
        cmocka_unit_test(test_spm__phi3_strips),
        cmocka_unit_test(test_bpe__merges_by_rank),
        cmocka_unit_test(test_bpe__special_tokens),
        cmocka_unit_test(test_bpe__bytes),
        cmocka_unit_test(test_bpe__bad_byte_is_a_sign),
        cmocka_unit_test(test_bpe__missing_bytes),
        cmocka_unit_test(test_bpe__merge_never_makes_control),
        cmocka_unit_test(test_bpe__ignore_merges),
        cmocka_unit_test(test_spans__control_tokens),
        cmocka_unit_test(test_spans__text_is_one),
        cmocka_unit_test(test_spans__uncovered),
        cmocka_unit_test(test_getters),
        cmocka_unit_test(test_is_end__harmony),
        cmocka_unit_test(test_types__absent),
        cmocka_unit_test(test_wordpiece__words_and_offsets),
        cmocka_unit_test(test_wordpiece__a_cased_vocabulary_is_not_lowered),
        cmocka_unit_test(test_unigram__the_best_sum),
        cmocka_unit_test(test_pre__characters_in_place_of_bytes),
        cmocka_unit_test(test_new__refuses),
        cmocka_unit_test(test_new__tolerates),
        cmocka_unit_test(test_encode__arena_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
