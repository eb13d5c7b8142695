/*
 * fuzz_tokenizer.c - any vocabulary, any text.
 *
 * Input: byte 0 picks the vocabulary, byte 1 the pre-tokenizer or the space
 * prefix, byte 2 the seed of the spans.  For the two made-up vocabularies
 * lines follow, up to an empty one: type, score, spelling (with a blank
 * inside: a merge).  The rest is the text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/infer/gguf_tokenizer.h"
#include "tests/support/rand.h"
#include "tests/support/vocab_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SPM, BPE, MADE_SPM, MADE_BPE, N_KIND, SPANS_MAX = 8, LINES_MAX = 400 };

static const char *const pres[] = {
    "gpt-2",          "starcoder",    "falcon",      "default",    "llama-bpe",
    "dbrx",           "qwen2",        "qwen35",      "gpt-4o",     "tekken",
    "deepseek-coder", "deepseek-llm", "deepseek-v3", "seed-coder", "bailingmoe",
    "bloom",          "viking",       "youtu",       "laguna",     "minicpm5",
};
enum { N_PRE = sizeof pres / sizeof pres[0] };

typedef struct vocab {
    cf_vocab_file file;
    cf_gguf *gguf;
    cf_tokenizer *tok;
} vocab;

static void need(bool ok)
{
    if (!ok) {
        abort();
    }
}

static void open_vocab(vocab *v, bool with_types)
{
    cf_error err;
    v->tok = NULL;
    v->gguf = NULL;
    need(cf_vocab_file_finish(&v->file, with_types));
    if (cf_gguf_open_memory(&v->gguf, v->file.bytes, v->file.n, &err) == CF_OK) {
        cf_status st = cf_gguf_tokenizer(&v->tok, v->gguf, &err);
        need(st == CF_OK || v->tok == NULL);
    }
}

static void close_vocab(vocab *v)
{
    cf_tokenizer_free(v->tok);
    cf_gguf_close(v->gguf);
    cf_vocab_file_deinit(&v->file);
}

/* Reads the lines of a made-up vocabulary and returns how long they are. */
static size_t make_vocab(vocab *v, int kind, unsigned pick, const char *p, size_t n)
{
    size_t at = 0;
    if (kind == MADE_SPM) {
        cf_vocab_file_init(&v->file, "llama", NULL);
        cf_vocab_file_bool(&v->file, "tokenizer.ggml.add_space_prefix", pick & 1);
        if (pick & 2) {
            cf_vocab_file_bytes_spm(&v->file);
        }
        cf_vocab_file_u32(&v->file, "tokenizer.ggml.unknown_token_id", 0);
    } else {
        cf_vocab_file_init(&v->file, "gpt2", pres[pick % N_PRE]);
        cf_vocab_file_bytes_bpe(&v->file);
        cf_vocab_file_merge(&v->file, "a b", true);
    }
    for (int i = 0; at < n && i < LINES_MAX; i++) {
        const char *end = memchr(p + at, '\n', n - at);
        size_t len = end != NULL ? (size_t)(end - p) - at : n - at;
        const char *line = p + at;
        at += len + (end != NULL);
        if (len < 2) {
            break;
        }
        char piece[60];
        size_t piece_n = len - 2 < sizeof piece ? len - 2 : sizeof piece - 1;
        memcpy(piece, line + 2, piece_n);
        piece[piece_n] = '\0';
        if (kind == MADE_BPE && strchr(piece, ' ') != NULL) {
            cf_vocab_file_merge(&v->file, piece, line[0] & 1);
        } else {
            cf_vocab_file_token(&v->file, cf_str_make(piece, piece_n),
                                (unsigned char)line[0] % 6 + 1, (float)(signed char)line[1]);
        }
    }
    open_vocab(v, (pick & 4) == 0);
    return at;
}

/* The ready-made ones are opened once. */
static cf_tokenizer *fixed_vocab(int kind, unsigned pick)
{
    static vocab spm[2], bpe[N_PRE];
    vocab *v = kind == SPM ? &spm[pick % 2] : &bpe[pick % N_PRE];
    if (v->tok == NULL) {
        if (kind == SPM) {
            cf_vocab_file_small_spm(&v->file, pick % 2 != 0);
        } else {
            cf_vocab_file_small_bpe(&v->file, pres[pick % N_PRE]);
        }
        open_vocab(v, true);
        need(v->tok != NULL);
    }
    return v->tok;
}

static void check_list(const cf_tokenizer *tok, const cf_token_list *list, cf_str text,
                       const cf_text_span *spans, size_t n_spans)
{
    size_t at = 0;
    cf_buf b = CF_BUF_INIT;
    cf_token unk = cf_tokenizer_special(tok).unk;
    for (size_t i = 0; i < list->n; i++) {
        const cf_token_span *s = &list->v[i];
        need(s->id >= 0 && (size_t)s->id < cf_tokenizer_n_vocab(tok));
        need(s->off >= at && s->len <= text.n - s->off);
        at = (size_t)s->off + s->len;
        cf_tokenizer_piece(&b, tok, s->id, true);
        cf_token_type type = cf_tokenizer_type(tok, s->id);
        if (s->id == unk || (type != CF_TOKEN_CONTROL && type != CF_TOKEN_UNKNOWN)) {
            continue;
        }
        for (size_t k = 0; k < n_spans; k++) {
            need(spans[k].parse_special || spans[k].len == 0 || spans[k].off >= at ||
                 spans[k].off + spans[k].len <= s->off);
        }
    }
    cf_buf_deinit(&b);
}

static void encode(const cf_tokenizer *tok, cf_str text, unsigned seed)
{
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_error err;
    cf_rand r = {seed};
    for (int rule = 0; rule < 3; rule++) {
        cf_text_span spans[SPANS_MAX];
        size_t n_spans = 0;
        for (size_t at = 0; at < text.n;) {
            size_t len =
                n_spans + 1 == SPANS_MAX ? text.n - at : cf_rand_below(&r, text.n - at + 1);
            bool parse = rule == 2 ? cf_rand_below(&r, 2) != 0 : rule == 1;
            spans[n_spans++] = (cf_text_span){(uint32_t)at, (uint32_t)len, parse};
            at += len;
        }
        cf_token_list cut, plain;
        need(cf_tokenizer_encode_spans(&cut, tok, text, spans, n_spans, false, &arena, &err) ==
             CF_OK);
        check_list(tok, &cut, text, spans, n_spans);
        if (rule == 2) {
            continue;
        }
        need(cf_tokenizer_encode(&plain, tok, text, rule == 1, false, &arena, &err) == CF_OK);
        need(plain.n == cut.n);
        for (size_t i = 0; i < cut.n; i++) {
            need(plain.v[i].id == cut.v[i].id);
        }
    }
    cf_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3) {
        return 0;
    }
    int kind = data[0] % N_KIND;
    cf_str text = {(const char *)data + 3, size - 3};
    if (kind == SPM || kind == BPE) {
        encode(fixed_vocab(kind, data[1]), text, data[2]);
        return 0;
    }
    vocab v;
    size_t used = make_vocab(&v, kind, data[1], text.p, text.n);
    if (v.tok != NULL) {
        encode(v.tok, cf_str_make(text.p + used, text.n - used), data[2]);
    }
    close_vocab(&v);
    return 0;
}
