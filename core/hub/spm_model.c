/*
 * spm_model.c - reads SentencePiece's protocol buffer and its two kinds of
 * models.
 *
 * A BPE model is the same thing as the "llama" tokenizer of a GGUF file.  A
 * Unigram model becomes a pipeline: the map of characters, spaces, and the
 * best path.  Control pieces are never found in text, and user-defined ones
 * always.
 */
#include "core/hub/spm_model.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/hub/hf_steps.h"
#include "core/token/tokenizer_new.h"

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum { KIND_UNIGRAM = 1, KIND_BPE = 2 };

#define MARK "\xE2\x96\x81" /* U+2581, which stands for a space */

/* ---- the protocol buffer ------------------------------------------------- */

typedef struct field {
    uint32_t no, wire;
    uint64_t value; /* of a varint; the bits of a fixed number */
    cf_str bytes;
} field;

typedef struct reader {
    const unsigned char *p;
    size_t n, at;
    cf_error *err;
} reader;

static cf_status broken(const reader *r, const char *what)
{
    return cf_fail_at(r->err, CF_EFORMAT, r->at, "not a SentencePiece model: %s", what);
}

static cf_status read_varint(reader *r, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (r->at == r->n) {
            return broken(r, "it ends inside a number");
        }
        unsigned char c = r->p[r->at++];
        *out |= (uint64_t)(c & 0x7F) << shift;
        if (c < 0x80) {
            return CF_OK;
        }
    }
    return broken(r, "a number of more than 64 bits");
}

static cf_status read_field(reader *r, field *f)
{
    uint64_t key = 0;
    uint64_t n = 0;
    CF_TRY(read_varint(r, &key));
    f->wire = (uint32_t)(key & 7);
    f->no = (uint32_t)(key >> 3);
    f->value = 0;
    f->bytes = (cf_str){NULL, 0};
    if (f->wire == WIRE_VARINT) {
        return read_varint(r, &f->value);
    }
    if (f->wire == WIRE_BYTES) {
        CF_TRY(read_varint(r, &n));
    } else if (f->wire == WIRE_64 || f->wire == WIRE_32) {
        n = f->wire == WIRE_64 ? 8 : 4;
    } else {
        return broken(r, "an unknown kind of field");
    }
    if (n > r->n - r->at) {
        return broken(r, "it ends inside a field");
    }
    for (size_t i = 0; f->wire != WIRE_BYTES && i < n; i++) {
        f->value |= (uint64_t)r->p[r->at + i] << (8 * i);
    }
    f->bytes = cf_str_make((const char *)r->p + r->at, (size_t)n);
    r->at += (size_t)n;
    return CF_OK;
}

static reader reader_of(cf_str s, cf_error *err)
{
    return (reader){(const unsigned char *)s.p, s.n, 0, err};
}

/* ---- the model ----------------------------------------------------------- */

typedef struct spm {
    cf_vocab_entry *piece; /* [n] */
    size_t n, cap;
    uint64_t kind;
    int64_t unk, bos, eos, pad;
    cf_str charsmap;
    bool dummy_prefix, remove_spaces, escape_spaces;
    size_t next;
} spm;

static float float_of(uint64_t bits)
{
    uint32_t b = (uint32_t)bits;
    float f;
    memcpy(&f, &b, sizeof f);
    return f;
}

static cf_status read_piece(spm *m, cf_str bytes, cf_error *err)
{
    reader r = reader_of(bytes, err);
    cf_vocab_entry e = {.spelling = {"", 0}, .type = CF_TOKEN_NORMAL};
    while (r.at < r.n) {
        field f;
        CF_TRY(read_field(&r, &f));
        if (f.no == 1 && f.wire == WIRE_BYTES) {
            e.spelling = f.bytes;
        } else if (f.no == 2 && f.wire == WIRE_32) {
            e.score = float_of(f.value);
        } else if (f.no == 3 && f.wire == WIRE_VARINT) {
            /* The types are numbered as confab numbers them. */
            if (f.value < CF_TOKEN_NORMAL || f.value > CF_TOKEN_BYTE) {
                return broken(&r, "an unknown type of piece");
            }
            e.type = (cf_token_type)f.value;
        }
    }
    if (!cf_grow(&m->piece, &m->cap, m->n + 1, sizeof *m->piece)) {
        return cf_oom(err);
    }
    m->piece[m->n++] = e;
    return CF_OK;
}

static cf_status read_trainer(spm *m, cf_str bytes, cf_error *err)
{
    reader r = reader_of(bytes, err);
    while (r.at < r.n) {
        field f;
        CF_TRY(read_field(&r, &f));
        if (f.wire != WIRE_VARINT) {
            continue;
        }
        int64_t *id = f.no == 40   ? &m->unk
                      : f.no == 41 ? &m->bos
                      : f.no == 42 ? &m->eos
                      : f.no == 43 ? &m->pad
                                   : NULL;
        if (id != NULL) {
            *id = (int64_t)f.value;
        } else if (f.no == 3) {
            m->kind = f.value;
        }
    }
    return CF_OK;
}

static cf_status read_normalizer(spm *m, cf_str bytes, cf_error *err)
{
    reader r = reader_of(bytes, err);
    while (r.at < r.n) {
        field f;
        CF_TRY(read_field(&r, &f));
        if (f.no == 2 && f.wire == WIRE_BYTES) {
            m->charsmap = f.bytes;
        } else if (f.no == 3 && f.wire == WIRE_VARINT) {
            m->dummy_prefix = f.value != 0;
        } else if (f.no == 4 && f.wire == WIRE_VARINT) {
            m->remove_spaces = f.value != 0;
        } else if (f.no == 5 && f.wire == WIRE_VARINT) {
            m->escape_spaces = f.value != 0;
        }
    }
    return CF_OK;
}

static cf_status read_model(spm *m, cf_str file, cf_error *err)
{
    reader r = reader_of(file, err);
    while (r.at < r.n) {
        field f;
        CF_TRY(read_field(&r, &f));
        if (f.wire != WIRE_BYTES) {
            continue;
        }
        CF_TRY(f.no == 1   ? read_piece(m, f.bytes, err)
               : f.no == 2 ? read_trainer(m, f.bytes, err)
               : f.no == 3 ? read_normalizer(m, f.bytes, err)
                           : CF_OK);
    }
    if (m->n == 0) {
        return broken(&r, "it has no pieces");
    }
    return m->escape_spaces ? CF_OK
                            : cf_fail(err, CF_EUNSUPPORTED,
                                      "a SentencePiece model that keeps spaces as they "
                                      "are is not supported");
}

/* Resizes the vocabulary to n pieces by adding unused pieces or dropping those beyond n. */
static cf_status resize(spm *m, size_t n, cf_error *err)
{
    static const cf_vocab_entry unused = {
        .spelling = {"", 0}, .type = CF_TOKEN_UNUSED, .is_added = true};
    if (!cf_grow(&m->piece, &m->cap, n, sizeof *m->piece)) {
        return cf_oom(err);
    }
    for (; m->n < n; m->n++) {
        m->piece[m->n] = unused;
    }
    m->n = n;
    return CF_OK;
}

/* ---- the tokenizer ------------------------------------------------------- */

static cf_status next_token(void *ud, cf_vocab_entry *out, cf_error *err)
{
    (void)err;
    spm *m = ud;
    *out = m->piece[m->next++];
    return CF_OK;
}

static cf_token id_of(const spm *m, int64_t id)
{
    return id >= 0 && (uint64_t)id < m->n ? (cf_token)id : CF_TOKEN_NONE;
}

static void describe(spm *m, cf_vocab_desc *d, const cf_spm_options *o)
{
    bool is_bpe = m->kind == KIND_BPE;
    *d = (cf_vocab_desc){
        .model = cf_str_from(is_bpe ? "llama" : "unigram"),
        .n_tokens = m->n,
        .next_token = next_token,
        .ud = m,
        .has_types = true,
        .by_spelling = !is_bpe,
        .space_prefix = m->dummy_prefix,
        .named = {.bos = id_of(m, m->bos),
                  .eos = id_of(m, m->eos),
                  .unk = id_of(m, m->unk),
                  .pad = id_of(m, m->pad),
                  .eot = CF_TOKEN_NONE,
                  .sep = CF_TOKEN_NONE},
    };
    cf_special_tokens *s = &d->named;
    s->add_bos = s->bos != CF_TOKEN_NONE && (o->add_bos >= 0 ? o->add_bos != 0 : is_bpe);
    s->add_eos = s->eos != CF_TOKEN_NONE && (o->add_eos >= 0 ? o->add_eos != 0 : !is_bpe);
}

/* Control pieces and user-defined ones are matched whole; the others by their scores. */
static cf_status put_pieces(cf_pipeline *p, spm *m, cf_error *err)
{
    cf_subword *w = &p->model;
    w->kind = CF_SUBWORD_UNIGRAM;
    w->unk = id_of(m, m->unk);
    w->score = cf_calloc(m->n, sizeof *w->score);
    p->added = cf_arena_calloc(&p->arena, m->n, sizeof *p->added);
    if (w->score == NULL || p->added == NULL) {
        return cf_oom(err);
    }
    w->n_score = m->n;
    for (size_t i = 0; i < m->n; i++) {
        cf_vocab_entry *e = &m->piece[i];
        w->score[i] = (double)e->score;
        w->byte_fallback |= e->type == CF_TOKEN_BYTE;
        bool special = e->type == CF_TOKEN_CONTROL;
        e->is_added |= special || e->type == CF_TOKEN_UNKNOWN;
        if (special || e->type == CF_TOKEN_USER_DEFINED) {
            p->added[p->n_added++] =
                (cf_added_token){.content = e->spelling, .id = (cf_token)i, .is_special = special};
        }
    }
    return CF_OK;
}

static cf_status new_unigram(cf_tokenizer **out, spm *m, const cf_vocab_desc *d, cf_error *err)
{
    cf_pipeline *p = cf_pipeline_new();
    if (p == NULL) {
        return cf_oom(err);
    }
    cf_status st = cf_pipeline_unigram(p, m->charsmap, m->remove_spaces, m->dummy_prefix, err);
    CF_THEN(st, put_pieces(p, m, err));
    CF_THEN(st, cf_pipeline_wrap(p, &d->named, err));
    CF_THEN(st, cf_tokenizer_new_pipeline(out, d, p, NULL, 0, err));
    if (st != CF_OK) {
        cf_pipeline_free(p);
    }
    return st;
}

static cf_status make(cf_tokenizer **out, spm *m, const cf_spm_options *o, cf_error *err)
{
    cf_vocab_desc d;
    describe(m, &d, o);
    if (m->kind == KIND_UNIGRAM) {
        return new_unigram(out, m, &d, err);
    }
    if (m->kind != KIND_BPE) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "SentencePiece models of kind %llu are not supported "
                       "(unigram and bpe are)",
                       (unsigned long long)m->kind);
    }
    if (m->charsmap.n != 0) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "a SentencePiece BPE model with a map of characters "
                       "is not supported: convert it to tokenizer.json");
    }
    return cf_tokenizer_new(out, &d, err);
}

cf_status cf_spm_tokenizer(cf_tokenizer **out, cf_str file, const cf_spm_options *options,
                           cf_error *err)
{
    spm m = {.kind = KIND_UNIGRAM,
             .unk = 0,
             .bos = 1,
             .eos = 2,
             .pad = -1,
             .dummy_prefix = true,
             .remove_spaces = true,
             .escape_spaces = true};
    cf_status st = read_model(&m, file, err);
    if (st == CF_OK && options->n_vocab != 0) {
        st = resize(&m, options->n_vocab, err);
    }
    CF_THEN(st, make(out, &m, options, err));
    cf_free(m.piece);
    return st;
}
