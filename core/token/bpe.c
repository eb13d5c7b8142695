/*
 * bpe.c - implements byte-level BPE.
 *
 * Vocabulary and merges are spelled with one letter a byte: printable Latin-1
 * characters stand for themselves, the other 68 bytes for U+0100 onwards.
 * Merging works on ids of the raw bytes, so the text is never spelled out,
 * except to look up a whole piece.
 *
 * Pre-tokenizers are defined on characters.  A byte that is not part of one
 * counts as U+FFFD for them: they get a repaired copy, and cuts are mapped
 * back to the text by walking both.
 */
#include "core/token/bpe.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/utf8.h"
#include "core/token/tokenizer_impl.h"

/* Bytes that stand for themselves. */
static bool is_plain(unsigned b)
{
    return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
}

/* The others take U+0100 onwards in order: 0-0x20, 0x7F-0xA0, 0xAD. */
static uint32_t letter_of(unsigned char b)
{
    if (is_plain(b)) {
        return b;
    }
    if (b <= 0x20) {
        return 0x100U + b;
    }
    return b == 0xAD ? 0x143 : 0x121U + b - 0x7F;
}

size_t cf_bpe__spell(char out[2], unsigned char b)
{
    char utf8[4];
    size_t n = cf_utf8_encode(utf8, letter_of(b));
    memcpy(out, utf8, n);
    return n;
}

int cf_bpe__byte_of(uint32_t cp)
{
    if (cp < 0x100) {
        return is_plain(cp) ? (int)cp : -1;
    }
    if (cp <= 0x120) {
        return (int)(cp - 0x100);
    }
    if (cp <= 0x142) {
        return (int)(cp - 0x121 + 0x7F);
    }
    return cp == 0x143 ? 0xAD : -1;
}

/* User-defined pieces are spelled as text, not as bytes: "\u00f6" is one of
 * them in one vocabulary, and byte F6 in another. */
static bool is_spelled(const cf_vocab *v, cf_token id)
{
    return id != CF_TOKEN_NONE && (v->by_spelling || v->piece[id].type == CF_TOKEN_NORMAL ||
                                   v->piece[id].type == CF_TOKEN_UNUSED);
}

void cf_bpe__byte_tokens(cf_token byte[256], const cf_vocab *v)
{
    for (unsigned b = 0; b < 256; b++) {
        char s[2];
        size_t n = cf_bpe__spell(s, (unsigned char)b);
        cf_token id = cf_vocab__find(v, cf_str_make(s, n));
        byte[b] = is_spelled(v, id) ? id : CF_TOKEN_NONE;
    }
}

static size_t rule_start(const cf_merges *m, uint32_t left, uint32_t right)
{
    uint64_t h = ((uint64_t)left << 32 | right) * m->seed;
    h ^= h >> 32;
    h *= m->seed;
    return (size_t)(h >> 32) & m->mask;
}

/* The slot of the pair, or the empty one where it belongs. */
static size_t rule_slot(const cf_merges *m, uint32_t left, uint32_t right)
{
    size_t i = rule_start(m, left, right);
    while (m->slot[i].left != UINT32_MAX &&
           (m->slot[i].left != left || m->slot[i].right != right)) {
        i = (i + 1) & m->mask;
    }
    return i;
}

/* The token that left and right join to.  Files list merges in the order of
 * the ids they make, so the id after the last one is tried first. */
static cf_token find_joined(const cf_vocab *v, cf_str left, cf_str right, cf_token last,
                            char scratch[CF_PIECE_MAX])
{
    size_t n = left.n + right.n;
    for (cf_token id = last; id >= 0 && id < last + 2; id++) {
        if ((size_t)id < v->n && v->piece[id].n == n &&
            memcmp(v->piece[id].p, left.p, left.n) == 0 &&
            memcmp(v->piece[id].p + left.n, right.p, right.n) == 0 && is_spelled(v, id)) {
            return id;
        }
    }
    if (n > v->max_len) {
        return CF_TOKEN_NONE;
    }
    memcpy(scratch, left.p, left.n);
    memcpy(scratch + left.n, right.p, right.n);
    cf_token id = cf_vocab__find(v, cf_str_make(scratch, n));
    return is_spelled(v, id) ? id : CF_TOKEN_NONE;
}

enum { BATCH = CF_FIND_EACH / 2 };

/* Puts n rules in; of equal pairs the first counts, or the last.  All slots
 * are looked up first, so that the cache misses overlap. */
static void put_rules(cf_merges *m, const cf_merge_rule *rule, size_t n, bool last_wins)
{
    size_t slot[BATCH];
    for (size_t k = 0; k < n; k++) {
        slot[k] = rule_slot(m, rule[k].left, rule[k].right);
    }
    for (size_t k = 0; k < n; k++) {
        if (m->slot[slot[k]].left != UINT32_MAX) {
            slot[k] = rule_slot(m, rule[k].left, rule[k].right);
        }
        if (m->slot[slot[k]].left == UINT32_MAX || last_wins) {
            m->slot[slot[k]] = rule[k];
        }
    }
}

/* Adds merges [rank, rank + n), n <= BATCH. */
static cf_status add_batch(cf_merges *m, const cf_vocab *v, const cf_vocab_desc *desc, size_t rank,
                           size_t n, cf_token *last, char *scratch, cf_error *err)
{
    cf_str part[2 * BATCH];
    cf_token id[2 * BATCH];
    cf_merge_rule rule[BATCH];
    for (size_t k = 0; k < n; k++) {
        CF_TRY(desc->next_merge(desc->ud, part + 2 * k, err));
    }
    cf_vocab__find_each(v, part, id, 2 * n);
    size_t n_rule = 0;
    for (size_t k = 0; k < n; k++) {
        cf_token l = id[2 * k];
        cf_token r = id[2 * k + 1];
        if (!is_spelled(v, l) || !is_spelled(v, r)) {
            continue;
        }
        cf_str right = part[2 * k + 1];
        size_t skip = desc->merge_skip < right.n ? desc->merge_skip : right.n;
        right = cf_str_make(right.p + skip, right.n - skip);
        cf_token joined = find_joined(v, part[2 * k], right, *last, scratch);
        if (joined != CF_TOKEN_NONE) {
            *last = joined;
            rule[n_rule++] =
                (cf_merge_rule){(uint32_t)l, (uint32_t)r, (uint32_t)(rank + k), (uint32_t)joined};
        }
    }
    put_rules(m, rule, n_rule, v->by_spelling);
    return CF_OK;
}

static cf_status add_rules(cf_merges *m, const cf_vocab *v, const cf_vocab_desc *desc,
                           char *scratch, cf_error *err)
{
    cf_token last = 0;
    for (size_t at = 0; at < desc->n_merges; at += BATCH) {
        size_t left = desc->n_merges - at;
        CF_TRY(add_batch(m, v, desc, at, left < BATCH ? left : BATCH, &last, scratch, err));
    }
    return CF_OK;
}

cf_status cf_merges__init(cf_merges *m, const cf_vocab *v, const cf_vocab_desc *desc, cf_error *err)
{
    memset(m, 0, sizeof *m);
    size_t n = desc->n_merges;
    if (n >= CF_MERGE_NONE / 4) {
        return cf_fail(err, CF_ELIMIT, "%zu merges are more than supported", n);
    }
    size_t n_slot = 16;
    while (n_slot < n + n / 2) {
        n_slot *= 2;
    }
    m->mask = n_slot - 1;
    cf_os_entropy(&m->seed, sizeof m->seed);
    m->seed |= 1;
    m->slot = cf_realloc(NULL, n_slot, sizeof *m->slot);
    char *scratch = cf_alloc(CF_PIECE_MAX);
    cf_status st;
    if (m->slot == NULL || scratch == NULL) {
        st = cf_oom(err);
    } else {
        memset(m->slot, 0xFF, n_slot * sizeof *m->slot);
        st = add_rules(m, v, desc, scratch, err);
    }
    cf_free(scratch);
    if (st != CF_OK) {
        cf_merges__deinit(m);
    }
    return st;
}

void cf_merges__deinit(cf_merges *m)
{
    cf_free(m->slot);
    memset(m, 0, sizeof *m);
}

void cf_merges__pair(const cf_merges *m, cf_symbol *left, const cf_symbol *right)
{
    const cf_merge_rule *r = &m->slot[rule_slot(m, (uint32_t)left->id, (uint32_t)right->id)];
    bool found = r->left != UINT32_MAX;
    left->prio = found ? r->rank : CF_MERGE_NONE;
    left->joined = found ? (cf_token)r->joined : CF_TOKEN_NONE;
}

static void pair(void *ud, cf_symbol *left, const cf_symbol *right)
{
    const cf_encoder *e = ud;
    cf_merges__pair(&e->tok->merges, left, right);
}

/* The token spelled exactly like text[from..to), or CF_TOKEN_NONE. */
static cf_token whole_piece(cf_encoder *e, size_t from, size_t to)
{
    const cf_vocab *v = &e->tok->vocab;
    char s[512]; /* longer pieces go through the merges, to the same end */
    size_t n = 0;
    if ((to - from) * 2 > sizeof s) {
        return CF_TOKEN_NONE;
    }
    for (size_t i = from; i < to; i++) {
        n += cf_bpe__spell(s + n, (unsigned char)e->text.p[i]);
    }
    cf_token id = cf_vocab__find(v, cf_str_make(s, n));
    return is_spelled(v, id) ? id : CF_TOKEN_NONE;
}

/* Encodes one piece, text[from..to).  Bytes without a token are left out
 * before merging, so that their neighbours meet. */
static cf_status encode_piece(cf_encoder *e, size_t from, size_t to)
{
    const cf_tokenizer *tok = e->tok;
    if (tok->pretoken.ignore_merges) {
        cf_token id = whole_piece(e, from, to);
        if (id != CF_TOKEN_NONE) {
            return cf_encoder__put(e, id, from, to - from);
        }
    }
    CF_TRY(cf_merge__reserve(&e->merge, to - from, e->err));
    cf_symbol *sym = e->merge.sym;
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        cf_token id = tok->byte[(unsigned char)e->text.p[i]];
        if (id != CF_TOKEN_NONE) {
            sym[n++] = (cf_symbol){.off = (uint32_t)i,
                                   .len = 1,
                                   .src = (uint32_t)i,
                                   .src_len = 1,
                                   .id = id,
                                   .prio = CF_MERGE_NONE,
                                   .joined = CF_TOKEN_NONE};
        }
    }
    CF_TRY(cf_merge__run(&e->merge, n, &n, pair, e, e->err));
    for (size_t i = 0; i < n; i++) {
        CF_TRY(cf_encoder__put(e, sym[i].id, sym[i].src, sym[i].src_len));
    }
    return CF_OK;
}

static cf_status on_cut(void *ud, size_t from, size_t to)
{
    cf_encoder *e = ud;
    return encode_piece(e, e->from + from, e->from + to);
}

/* Moves the cursor on to byte `to` of the repaired copy and returns the
 * place in the text that it stands for. */
static size_t place_in_text(cf_encoder *e, size_t to)
{
    while (e->repaired_at < to) {
        uint32_t cp;
        size_t n = cf_utf8_decode(&cp, e->text.p + e->text_at, e->to - e->text_at);
        e->text_at += n;
        e->repaired_at += cp == CF_UTF8_BAD ? 3 : n;
    }
    return e->text_at;
}

static cf_status on_repaired_cut(void *ud, size_t from, size_t to)
{
    cf_encoder *e = ud;
    size_t a = place_in_text(e, from);
    size_t b = place_in_text(e, to);
    return encode_piece(e, a, b);
}

/* Copies text[from..to) to e->buf with U+FFFD for each bad byte. */
static cf_status repair(cf_encoder *e, size_t from, size_t to, size_t *n_out)
{
    void *p = e->buf;
    bool ok = cf_merge__grow(&p, &e->cap_buf, (to - from) * 3, 1);
    e->buf = p;
    if (!ok) {
        return cf_oom(e->err);
    }
    size_t n = 0;
    for (size_t i = from; i < to;) {
        uint32_t cp;
        size_t len = cf_utf8_decode(&cp, e->text.p + i, to - i);
        if (cp == CF_UTF8_BAD) {
            memcpy(e->buf + n, "\xEF\xBF\xBD", 3);
            n += 3;
        } else {
            memcpy(e->buf + n, e->text.p + i, len);
            n += len;
        }
        i += len;
    }
    *n_out = n;
    return CF_OK;
}

cf_status cf_bpe__encode(cf_encoder *e, size_t from, size_t to)
{
    const cf_pretoken *cutter = &e->tok->pretoken;
    if (e->match == NULL) {
        e->match = cf_pattern_new_match();
        if (e->match == NULL) {
            return cf_oom(e->err);
        }
    }
    cf_str part = {e->text.p + from, to - from};
    e->from = from;
    e->to = to;
    if (cf_utf8_valid_prefix(part.p, part.n) == part.n) {
        return cf_pretoken__split(cutter, e->match, part, on_cut, e, e->err);
    }
    CF_TRY(repair(e, from, to, &part.n));
    part.p = e->buf;
    e->text_at = from;
    e->repaired_at = 0;
    return cf_pretoken__split(cutter, e->match, part, on_repaired_cut, e, e->err);
}
