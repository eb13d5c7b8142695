/*
 * hf_file.c - small tokenizer files, written out.
 */
#include "tests/support/hf_file.h"

#include <string.h>

#include "core/base/utf8.h"
#include "core/hub/hf_tokenizer.h"
#include "core/json/json.h"
#include "core/token/tokenizer_new.h"
#include "tests/support/t.h"

/* The letter of byte b, as GPT-2 spells it. */
static size_t letter(char out[4], unsigned b)
{
    unsigned shift = 0;
    for (unsigned i = 0; i < 256; i++) {
        bool plain = (i >= 0x21 && i <= 0x7E) || (i >= 0xA1 && i <= 0xAC) || i >= 0xAE;
        if (i == b) {
            return cf_utf8_encode(out, plain ? i : 0x100 + shift);
        }
        shift += !plain;
    }
    return 0;
}

static void add_bytes(cf_buf *out)
{
    cf_buf_adds(out, "{\"added_tokens\":["
                     "{\"id\":259,\"content\":\"<s>\",\"special\":true},"
                     "{\"id\":260,\"content\":\"<tool>\",\"special\":false,"
                     "\"lstrip\":true,\"rstrip\":true}],"
                     "\"normalizer\":{\"type\":\"NFC\"},"
                     "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":["
                     "{\"type\":\"Split\",\"pattern\":{\"Regex\":"
                     "\"[0-9]{1,3}|[^ 0-9]+| +(?! )\"},"
                     "\"behavior\":\"Isolated\",\"invert\":false},"
                     "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
                     "\"use_regex\":false}]},"
                     "\"post_processor\":{\"type\":\"TemplateProcessing\","
                     "\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}},"
                     "{\"Sequence\":{\"id\":\"A\"}}],\"special_tokens\":"
                     "{\"<s>\":{\"id\":\"<s>\",\"ids\":[259]}}},"
                     "\"decoder\":{\"type\":\"ByteLevel\"},"
                     "\"model\":{\"type\":\"BPE\",\"vocab\":{");
    for (unsigned b = 0; b < 256; b++) {
        char s[4];
        size_t n = letter(s, b);
        cf_json_write_str(out, cf_str_make(s, n));
        cf_buf_addf(out, ":%u,", b);
    }
    cf_buf_adds(out, "\"he\":256,\"ll\":257,\"hell\":258},"
                     "\"merges\":[\"h e\",[\"l\",\"l\"],\"he ll\"]}}");
}

static void add_chars(cf_buf *out)
{
    cf_buf_adds(out, "{\"added_tokens\":["
                     "{\"id\":0,\"content\":\"<unk>\",\"special\":true},"
                     "{\"id\":1,\"content\":\"<s>\",\"special\":true,"
                     "\"single_word\":true}],"
                     "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":["
                     "{\"type\":\"Prepend\",\"prepend\":\"\xE2\x96\x81\"},"
                     "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},"
                     "\"content\":\"\xE2\x96\x81\"}]},"
                     "\"decoder\":{\"type\":\"Sequence\",\"decoders\":["
                     "{\"type\":\"Replace\",\"pattern\":{\"String\":"
                     "\"\xE2\x96\x81\"},\"content\":\" \"},"
                     "{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"},"
                     "{\"type\":\"Strip\",\"content\":\" \",\"start\":1,"
                     "\"stop\":0}]},"
                     "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\","
                     "\"fuse_unk\":true,\"byte_fallback\":true,\"vocab\":{"
                     "\"<unk>\":0,\"<s>\":1,");
    for (unsigned b = 0; b < 256; b++) {
        cf_buf_addf(out, "\"<0x%02X>\":%u,", b, b + 2);
    }
    cf_buf_adds(out, "\"\xE2\x96\x81\":258,\"a\":259,\"b\":260,\"ab\":261,"
                     "\"\xE2\x96\x81"
                     "ab\":262},\"merges\":"
                     "[[\"a\",\"b\"],[\"\xE2\x96\x81\",\"ab\"]]}}");
}

static const char wordpiece[] =
    "{\"added_tokens\":[{\"id\":0,\"content\":\"[UNK]\",\"special\":true},"
    "{\"id\":1,\"content\":\"[CLS]\",\"special\":true}],"
    "\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,"
    "\"handle_chinese_chars\":true,\"strip_accents\":null,"
    "\"lowercase\":true},"
    "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
    "\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"[CLS]\",1],"
    "\"sep\":[\"[UNK]\",0]},"
    "\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true},"
    "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\","
    "\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":12,"
    "\"vocab\":{\"[UNK]\":0,\"[CLS]\":1,\"un\":2,\"##aff\":3,\"##able\":4,"
    "\"run\":5,\"##ning\":6,\",\":7,\"cafe\":8,\"\xE6\x97\xA5\":9}}}";

static const char unigram[] =
    "{\"added_tokens\":[{\"id\":0,\"content\":\"<unk>\",\"special\":true}],"
    "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":"
    "\"\xE2\x96\x81\",\"prepend_scheme\":\"always\",\"split\":true},"
    "\"decoder\":{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\","
    "\"prepend_scheme\":\"always\"},"
    "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":["
    "[\"<unk>\",0.0],[\"\xE2\x96\x81\",-2.0],[\"a\",-3.0],[\"b\",-3.0],"
    "[\"ab\",-4.0],[\"\xE2\x96\x81"
    "a\",-2.5],[\"bab\",-5.0]]}}";

void cf_hf_file(cf_buf *out, cf_hf_sample sample)
{
    switch (sample) {
    case CF_HF_BYTES:
        add_bytes(out);
        break;
    case CF_HF_CHARS:
        add_chars(out);
        break;
    case CF_HF_WORDPIECE:
        cf_buf_adds(out, wordpiece);
        break;
    case CF_HF_UNIGRAM:
    case CF_HF_SAMPLES:
        cf_buf_adds(out, unigram);
        break;
    }
}

/* ---- SentencePiece ------------------------------------------------------- */

static void add_field(cf_buf *out, unsigned no, const char *p, size_t n)
{
    cf_buf_addc(out, (char)(no << 3 | 2));
    cf_buf_addc(out, (char)n); /* all below 128 */
    cf_buf_add(out, p, n);
}

static void add_piece(cf_buf *out, const char *spelling, float score, int type)
{
    cf_buf piece = CF_BUF_INIT;
    char bits[4];
    memcpy(bits, &score, 4);
    add_field(&piece, 1, spelling, strlen(spelling));
    cf_buf_addc(&piece, 2 << 3 | 5);
    cf_buf_add(&piece, bits, 4);
    cf_buf_addc(&piece, 3 << 3);
    cf_buf_addc(&piece, (char)type);
    add_field(out, 1, piece.p, piece.n);
    cf_buf_deinit(&piece);
}

void cf_spm_file(cf_buf *out, bool is_bpe)
{
    const char trainer[] = {3 << 3, (char)(is_bpe ? 2 : 1)};
    const char normalizer[] = {4 << 3, (char)!is_bpe};
    add_piece(out, "<unk>", 0, 2);
    add_piece(out, "<s>", 0, 3);
    add_piece(out, "</s>", 0, 3);
    add_piece(out, "<tool>", 0, 4);
    add_piece(out, "\xE2\x96\x81", -2, 1);
    add_piece(out, "a", -3, 1);
    add_piece(out, "b", -3.5F, 1);
    add_piece(out, "ab", -4, 1);
    add_piece(out,
              "\xE2\x96\x81"
              "ab",
              -4.5F, 1);
    add_field(out, 2, trainer, sizeof trainer);
    add_field(out, 3, normalizer, sizeof normalizer);
}

cf_hf_opened cf_hf_open(cf_hf_sample sample)
{
    cf_hf_opened x = {.file = CF_BUF_INIT};
    cf_error err = {0};
    cf_hf_names names = {.bos = cf_str_from("<s>")};
    cf_arena_init(&x.arena, 0);
    cf_hf_file(&x.file, sample);
    T_OK(cf_hf_tokenizer(&x.tok, cf_buf_str(&x.file), &names, &x.arena, &err), err);
    return x;
}

void cf_hf_close(cf_hf_opened *x)
{
    cf_tokenizer_free(x->tok);
    cf_arena_deinit(&x->arena);
    cf_buf_deinit(&x->file);
}
