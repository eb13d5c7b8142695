/*
 * vocab_file.c - a GGUF writer for vocabularies without tensors.
 */
#include "tests/support/vocab_file.h"

#include <stdio.h>
#include <string.h>

#include "core/api/tokenizer.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/utf8.h"

enum { U32 = 4, I32 = 5, F32 = 6, BOOL = 7, STRING = 8, ARRAY = 9 };

static void put_u32(cf_buf *b, uint32_t v)
{
    const unsigned char le[4] = {(unsigned char)v, (unsigned char)(v >> 8),
                                 (unsigned char)(v >> 16), (unsigned char)(v >> 24)};
    cf_buf_add(b, le, sizeof le);
}

static void put_u64(cf_buf *b, uint64_t v)
{
    put_u32(b, (uint32_t)v);
    put_u32(b, (uint32_t)(v >> 32));
}

static void put_str(cf_buf *b, cf_str s)
{
    put_u64(b, s.n);
    cf_buf_add(b, s.p, s.n);
}

static void put_key(cf_vocab_file *f, const char *key, uint32_t type)
{
    put_str(&f->meta, cf_str_from(key));
    put_u32(&f->meta, type);
    f->n_meta++;
}

void cf_vocab_file_str(cf_vocab_file *f, const char *key, const char *value)
{
    put_key(f, key, STRING);
    put_str(&f->meta, cf_str_from(value));
}

void cf_vocab_file_bool(cf_vocab_file *f, const char *key, bool value)
{
    put_key(f, key, BOOL);
    cf_buf_addc(&f->meta, value ? 1 : 0);
}

void cf_vocab_file_u32(cf_vocab_file *f, const char *key, uint32_t value)
{
    put_key(f, key, U32);
    put_u32(&f->meta, value);
}

static void put_array(cf_vocab_file *f, const char *key, uint32_t item, uint64_t n,
                      const cf_buf *body)
{
    put_key(f, key, ARRAY);
    put_u32(&f->meta, item);
    put_u64(&f->meta, n);
    cf_buf_add(&f->meta, body->p != NULL ? body->p : "", body->n);
}

void cf_vocab_file_init(cf_vocab_file *f, const char *model, const char *pre)
{
    memset(f, 0, sizeof *f);
    cf_vocab_file_str(f, "general.architecture", "llama");
    if (model != NULL) {
        cf_vocab_file_str(f, "tokenizer.ggml.model", model);
    }
    if (pre != NULL) {
        cf_vocab_file_str(f, "tokenizer.ggml.pre", pre);
    }
}

void cf_vocab_file_deinit(cf_vocab_file *f)
{
    cf_buf_deinit(&f->meta);
    cf_buf_deinit(&f->tokens);
    cf_buf_deinit(&f->scores);
    cf_buf_deinit(&f->types);
    cf_buf_deinit(&f->merges);
    cf_free_aligned(f->bytes);
    memset(f, 0, sizeof *f);
}

uint32_t cf_vocab_file_token(cf_vocab_file *f, cf_str piece, int type, float score)
{
    put_str(&f->tokens, piece);
    put_u32(&f->types, (uint32_t)type);
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    put_u32(&f->scores, bits);
    return (uint32_t)f->n_token++;
}

void cf_vocab_file_merge(cf_vocab_file *f, const char *merge, bool add)
{
    put_str(&f->merges, cf_str_from(merge));
    f->n_merge++;
    const char *gap = strchr(merge + 1, ' ');
    if (add && gap != NULL) {
        char joined[64];
        int n = snprintf(joined, sizeof joined, "%.*s%s", (int)(gap - merge), merge, gap + 1);
        cf_vocab_file_token(f, cf_str_make(joined, (size_t)n), CF_TOKEN_NORMAL, 0);
    }
}

void cf_vocab_file_bytes_spm(cf_vocab_file *f)
{
    for (unsigned b = 0; b < 256; b++) {
        char s[8];
        int n = snprintf(s, sizeof s, "<0x%02X>", b);
        cf_vocab_file_token(f, cf_str_make(s, (size_t)n), CF_TOKEN_BYTE, 0);
    }
}

void cf_vocab_file_bytes_bpe(cf_vocab_file *f)
{
    uint32_t next = 0x100;
    for (unsigned b = 0; b < 256; b++) {
        bool plain = (b >= '!' && b <= '~') || (b >= 0xA1 && b != 0xAD);
        char s[4];
        size_t n = cf_utf8_encode(s, plain ? b : next++);
        cf_vocab_file_token(f, cf_str_make(s, n), CF_TOKEN_NORMAL, 0);
    }
}

bool cf_vocab_file_finish(cf_vocab_file *f, bool with_types)
{
    put_array(f, "tokenizer.ggml.tokens", STRING, f->n_token, &f->tokens);
    put_array(f, "tokenizer.ggml.scores", F32, f->n_token, &f->scores);
    if (with_types) {
        put_array(f, "tokenizer.ggml.token_type", I32, f->n_token, &f->types);
    }
    if (f->n_merge != 0) {
        put_array(f, "tokenizer.ggml.merges", STRING, f->n_merge, &f->merges);
    }
    cf_buf head = CF_BUF_INIT;
    cf_buf_adds(&head, "GGUF");
    put_u32(&head, 3);
    put_u64(&head, 0);
    put_u64(&head, f->n_meta);
    bool ok = !head.failed && !f->meta.failed && !f->tokens.failed && !f->scores.failed &&
              !f->types.failed && !f->merges.failed;
    f->n = head.n + f->meta.n;
    f->bytes = ok ? cf_alloc_aligned(32, f->n) : NULL;
    if (f->bytes != NULL) {
        memcpy(f->bytes, head.p, head.n);
        memcpy(f->bytes + head.n, f->meta.p, f->meta.n);
    }
    cf_buf_deinit(&head);
    return f->bytes != NULL;
}

void cf_vocab_file_small_spm(cf_vocab_file *f, bool space_prefix)
{
    static const struct {
        const char *piece;
        float score;
    } pieces[] = {
        {"\u2581", -20},     {"a", -21},           {"b", -22},      {"c", -23},
        {"d", -24},          {"e", -25},           {"h", -26},      {"l", -27},
        {"o", -28},          {"r", -29},           {"s", -30},      {"t", -31},
        {"w", -32},          {"!", -33},           {"\u00e9", -34}, {"\u65e5", -35},
        {"he", -1},          {"ll", -2},           {"hell", -3},    {"hello", -4},
        {"\u2581hello", -5}, {"\u2581w", -6},      {"or", -7},      {"ld", -8},
        {"\u2581wor", -9},   {"\u2581world", -10}, {"aa", -11},     {"\u2581\u2581", -11},
        {"<", -36},          {"/", -37},           {">", -38},      {"</", -12},
        {"s>", -13},         {"\u2581a", -14},     {"ab", -15},
    };
    cf_vocab_file_init(f, "llama", "default");
    cf_vocab_file_token(f, cf_str_from("<unk>"), CF_TOKEN_UNKNOWN, 0);
    cf_vocab_file_token(f, cf_str_from("<s>"), CF_TOKEN_CONTROL, 0);
    cf_vocab_file_token(f, cf_str_from("</s>"), CF_TOKEN_CONTROL, 0);
    cf_vocab_file_token(f, cf_str_from("<|user|>"), CF_TOKEN_CONTROL, 0);
    cf_vocab_file_bytes_spm(f);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        cf_vocab_file_token(f, cf_str_from(pieces[i].piece), CF_TOKEN_NORMAL, pieces[i].score);
    }
    cf_vocab_file_token(f, cf_str_from("\n\n"), CF_TOKEN_USER_DEFINED, 0);
    cf_vocab_file_token(f, cf_str_from("<tag>"), CF_TOKEN_USER_DEFINED, 0);
    cf_vocab_file_u32(f, "tokenizer.ggml.bos_token_id", 1);
    cf_vocab_file_u32(f, "tokenizer.ggml.eos_token_id", 2);
    cf_vocab_file_u32(f, "tokenizer.ggml.unknown_token_id", 0);
    cf_vocab_file_bool(f, "tokenizer.ggml.add_bos_token", true);
    cf_vocab_file_bool(f, "tokenizer.ggml.add_space_prefix", space_prefix);
}

void cf_vocab_file_small_bpe(cf_vocab_file *f, const char *pre)
{
    static const char *const merges[] = {
        "h e",           "l l",           "he ll",         "hell o", "\u0120 hello",
        "\u0120 w",      "o r",           "\u0120w or",    "l d",    "\u0120wor ld",
        "1 2",           "\u0120 \u0120", "\u010a \u010a", "a a",    "aa aa",
        "\u00c3 \u00a9", "e n",           "en d",          "> >",    "! !",
    };
    cf_vocab_file_init(f, "gpt2", pre);
    cf_vocab_file_bytes_bpe(f);
    uint32_t end = cf_vocab_file_token(f, cf_str_from("<|end|>"), CF_TOKEN_CONTROL, 0);
    cf_vocab_file_token(f, cf_str_from("<tool>"), CF_TOKEN_USER_DEFINED, 0);
    cf_vocab_file_token(f, cf_str_from("<tool>s"), CF_TOKEN_CONTROL, 0);
    for (size_t i = 0; i < sizeof merges / sizeof merges[0]; i++) {
        cf_vocab_file_merge(f, merges[i], true);
    }
    cf_vocab_file_u32(f, "tokenizer.ggml.bos_token_id", end);
    cf_vocab_file_u32(f, "tokenizer.ggml.eos_token_id", end);
    cf_vocab_file_bool(f, "tokenizer.ggml.add_eos_token", true);
}

bool cf_vocab_file_write(cf_vocab_file *f, const char *path)
{
    cf_error err;
    bool ok = cf_vocab_file_finish(f, true) &&
              cf_os_write_file(path, f->bytes, f->n, 0600, &err) == CF_OK;
    cf_vocab_file_deinit(f);
    return ok;
}
