/*
 * fuzz_hub.c - any tokenizer.json and any SentencePiece model, over any text.
 *
 * Input: byte 0 picks the format, byte 1 is the length of the text; the text
 * and then the file follow.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/hub/hf_tokenizer.h"
#include "core/hub/spm_model.h"
#include "core/token/tokenizer_new.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool ok)
{
    if (!ok) {
        abort();
    }
}

/* Spans are in order and inside of the text; ids are the vocabulary's. */
static void check_list(const cf_tokenizer *tok, const cf_token_list *list, const uint32_t *offsets,
                       size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < list->n; i++) {
        const cf_token_span *s = &list->v[i];
        need(s->id >= 0 && (size_t)s->id < cf_tokenizer_n_vocab(tok));
        need(s->off >= at && s->off <= n && s->len <= n - s->off);
        at = (size_t)s->off + s->len;
        if (offsets != NULL) {
            need(offsets[2 * i] <= n && offsets[2 * i + 1] <= n);
        }
    }
}

static void use(const cf_tokenizer *tok, cf_str text, cf_arena *arena)
{
    for (int rule = 0; rule < 4; rule++) {
        cf_error err;
        cf_token_list list;
        uint32_t *offsets;
        cf_status st = cf_tokenizer_encode_offsets(&list, &offsets, tok, text, (rule & 1) != 0,
                                                   (rule & 2) != 0, arena, &err);
        need(st == CF_OK || st == CF_ELIMIT || st == CF_EFORMAT);
        if (st != CF_OK) {
            continue;
        }
        check_list(tok, &list, offsets, text.n);
        cf_buf b = CF_BUF_INIT;
        cf_token *ids = cf_arena_calloc(arena, list.n + 1, sizeof *ids);
        need(ids != NULL);
        for (size_t i = 0; i < list.n; i++) {
            ids[i] = list.v[i].id;
            cf_tokenizer_piece(&b, tok, ids[i], (rule & 1) != 0);
        }
        cf_tokenizer_decode(&b, tok, ids, list.n, (rule & 1) != 0);
        cf_buf_deinit(&b);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size - 2 < data[1]) {
        return 0;
    }
    cf_str text = {(const char *)data + 2, data[1]};
    cf_str file = {text.p + text.n, size - 2 - text.n};
    cf_tokenizer *tok = NULL;
    cf_error err;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_status st;
    if (data[0] % 2 == 0) {
        cf_hf_names names = {.bos = cf_str_from("<s>"), .eos = cf_str_from("</s>")};
        st = cf_hf_tokenizer(&tok, file, &names, &arena, &err);
    } else {
        cf_spm_options o = {(data[0] & 2) != 0, (data[0] & 4) != 0, 0};
        st = cf_spm_tokenizer(&tok, file, &o, &err);
    }
    need((st == CF_OK) == (tok != NULL));
    if (tok != NULL) {
        use(tok, text, &arena);
    }
    cf_tokenizer_free(tok);
    cf_arena_deinit(&arena);
    return 0;
}
