/*
 * detokenizer.c - turns ids back into bytes.
 */
#include <string.h>

#include "core/base/utf8.h"
#include "core/token/tokenizer_impl.h"

#define SPACE "\xE2\x96\x81"

int cf_token__byte_spelled(cf_str s)
{
    if (s.n != 6 || memcmp(s.p, "<0x", 3) != 0 || s.p[5] != '>') {
        return -1;
    }
    int v = 0;
    for (int i = 3; i < 5; i++) {
        char c = s.p[i];
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                       : -1;
        if (d < 0) {
            return -1;
        }
        v = v * 16 + d;
    }
    return v;
}

/* Whether every character of s is a letter that stands for a byte. */
static bool spells_bytes(cf_str s)
{
    for (size_t i = 0; i < s.n;) {
        uint32_t cp;
        i += cf_utf8_decode(&cp, s.p + i, s.n - i);
        if (cf_bpe__byte_of(cp) < 0) {
            return false;
        }
    }
    return true;
}

static void add_bpe(cf_buf *out, cf_str s)
{
    if (!spells_bytes(s)) {
        cf_buf_add(out, s.p, s.n);
        return;
    }
    for (size_t i = 0; i < s.n;) {
        uint32_t cp;
        i += cf_utf8_decode(&cp, s.p + i, s.n - i);
        cf_buf_addc(out, (char)cf_bpe__byte_of(cp));
    }
}

static void add_spm(cf_buf *out, cf_str s)
{
    size_t done = 0;
    for (size_t i = 0; i + 3 <= s.n;) {
        if (memcmp(s.p + i, SPACE, 3) == 0) {
            cf_buf_add(out, s.p + done, i - done);
            cf_buf_addc(out, ' ');
            done = i += 3;
        } else {
            i++;
        }
    }
    cf_buf_add(out, s.p + done, s.n - done);
}

void cf_tokenizer_piece(cf_buf *out, const cf_tokenizer *tok, cf_token id, bool spell_control)
{
    if (id < 0 || (size_t)id >= tok->vocab.n) {
        return;
    }
    if (tok->pipe != NULL) {
        cf_pipeline__piece(out, tok->pipe, &tok->vocab, id, spell_control);
        return;
    }
    cf_str s = cf_vocab__spelling(&tok->vocab, id);
    switch ((cf_token_type)tok->vocab.piece[id].type) {
    case CF_TOKEN_CONTROL:
    case CF_TOKEN_UNKNOWN:
        if (spell_control) {
            cf_buf_add(out, s.p, s.n);
        }
        return;
    case CF_TOKEN_BYTE: {
        int b = cf_token__byte_spelled(s);
        if (b >= 0) {
            cf_buf_addc(out, (char)b);
        } else {
            cf_buf_add(out, s.p, s.n);
        }
        return;
    }
    case CF_TOKEN_USER_DEFINED:
        if (tok->model == CF_MODEL_BPE) {
            cf_buf_add(out, s.p, s.n);
            return;
        }
        break;
    case CF_TOKEN_NORMAL:
    case CF_TOKEN_UNUSED:
        break;
    }
    if (tok->model == CF_MODEL_BPE) {
        add_bpe(out, s);
    } else {
        add_spm(out, s);
    }
}

void cf_tokenizer_decode(cf_buf *out, const cf_tokenizer *tok, const cf_token *ids, size_t n,
                         bool spell_control)
{
    if (tok->pipe != NULL) {
        cf_pipeline__decode(out, tok->pipe, &tok->vocab, ids, n, spell_control);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        size_t before = out->n;
        cf_tokenizer_piece(out, tok, ids[i], spell_control);
        if (i == 0 && tok->space_prefix && ids[0] >= 0 && (size_t)ids[0] < tok->vocab.n &&
            !cf_vocab__is_control(&tok->vocab, ids[0]) && out->n > before &&
            out->p[before] == ' ') {
            memmove(out->p + before, out->p + before + 1, out->n - before - 1);
            out->p[--out->n] = '\0';
        }
    }
}
