/*
 * hf_weights.c - finds each tensor of the tables and brings its rows into
 * order.
 *
 *   1. every tensor of the text model's layers is used, or is named in a
 *      refusal;
 *   2. a copy is no larger than what it is made of, but for numbers that are
 *      changed, which become float32.
 */
#include "core/hub/hf_weights.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/kernel/dtype.h"
#include "core/kernel/half.h"
#include "core/model/hparams.h"

enum { NAME_BYTES = 192, ALIGN = 64, MX_BLOCK = 32, MX_BYTES = 17 };

typedef struct loader {
    cf_hf_weights *w;
    const cf_safetensors *files;
    const cf_hf_config *c;
    cf_error *err;
    cf_hf_heads heads;
    const char *prefix; /* of the text model's names */
    const char *layers; /* before the number of a layer */
    bool *used;         /* [tensors of the files] */
    uint32_t n_layer;
} loader;

/* ---- names --------------------------------------------------------------- */

static const cf_safetensor *find(const loader *l, const char *name)
{
    return cf_safetensors_find(l->files, cf_str_from(name));
}

static void mark(loader *l, const cf_safetensor *t)
{
    l->used[t - cf_safetensors_at(l->files, 0)] = true;
}

/* Writes PREFIX "layers.N." FROM, with '#' replaced by `expert`; FROM alone
 * where it begins with '/'. */
static void source_name(char out[NAME_BYTES], const loader *l, int64_t layer, const char *from,
                        uint32_t expert)
{
    size_t n = 0;
    int more = layer >= 0
                   ? snprintf(out, NAME_BYTES, "%s%s%" PRId64 ".", l->prefix, l->layers, layer)
               : *from == '/' ? 0
                              : snprintf(out, NAME_BYTES, "%s", l->prefix);
    from += *from == '/';
    n = more > 0 ? (size_t)more : 0;
    for (const char *at = from; *at != '\0' && n < NAME_BYTES - 16; at++) {
        if (*at == '#') {
            more = snprintf(out + n, NAME_BYTES - n, "%u", expert);
            n += more > 0 ? (size_t)more : 0;
        } else {
            out[n++] = *at;
        }
    }
    out[n] = '\0';
}

/* The prefix before the name of the embeddings. */
static cf_status find_prefix(loader *l)
{
    static const char *const prefixes[] = {
        "model.",
        "model.language_model.",
        "language_model.model.",
        "",
        "language_model.",
        "backbone.",
        "model.text_model.",
        "bert.",
        "roberta.",
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        char name[NAME_BYTES];
        l->prefix = prefixes[i];
        source_name(name, l, -1, l->c->family->outer[0].from, 0);
        if (find(l, name) != NULL) {
            return CF_OK;
        }
    }
    return cf_fail(l->err, CF_EFORMAT, "the safetensors files have no %s",
                   l->c->family->outer[0].from);
}

/* ---- shapes -------------------------------------------------------------- */

/* The sources of one tensor: n_part of the same shape, one after the other, each
 * [n_stack, n_row, n_col]. */
typedef struct source {
    const cf_safetensor *t;      /* the first */
    const cf_safetensor **all;   /* [n_part]; NULL: t alone */
    const cf_safetensor *scales; /* MXFP4 */
    uint32_t n_part;
    uint64_t n_stack, n_row, n_col;
} source;

/* The target's shape: [n_stack, n_row, n_col], n_dim of them counted. */
typedef struct shape {
    uint64_t n_stack, n_row, n_col;
    uint32_t n_dim;
} shape;

/* Drops dimensions of 1 in the middle ([channels, 1, taps]); a single number
 * is a vector. */
static cf_status read_shape(loader *l, source *s, uint32_t *n_dim)
{
    const cf_safetensor *t = s->t;
    uint64_t d[3] = {1, 1, 1};
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_dim; i++) {
        bool is_inner = i > 0 && i + 1 < t->n_dim;
        if (is_inner && t->dim[i] == 1) {
            continue;
        }
        if (n == 3) {
            return cf_fail(l->err, CF_EFORMAT, "tensor %.*s has too many dimensions",
                           (int)t->name.n, t->name.p);
        }
        d[n++] = t->dim[i];
    }
    if (t->n == 0) {
        return cf_fail(l->err, CF_EFORMAT, "tensor %.*s is empty", (int)t->name.n, t->name.p);
    }
    s->n_stack = n == 3 ? d[0] : 1;
    s->n_row = n == 3 ? d[1] : n == 2 ? d[0] : 1;
    s->n_col = n == 3 ? d[2] : n == 2 ? d[1] : d[0];
    *n_dim = n != 0 ? n : 1;
    return CF_OK;
}

/* ---- orders -------------------------------------------------------------- */

static cf_hf_heads read_heads(const cf_hf_config *c)
{
    cf_hf_heads h = {
        .n_head = cf_hf_config_u32(c, "num_attention_heads"),
        .n_head_kv = cf_hf_config_u32(c, "num_key_value_heads"),
        .n_key_head = cf_hf_config_u32(c, "linear_num_key_heads"),
        .n_value_head = cf_hf_config_u32(c, "linear_num_value_heads"),
        .key_size = cf_hf_config_u32(c, "linear_key_head_dim"),
        .value_size = cf_hf_config_u32(c, "linear_value_head_dim"),
    };
    h.n_head_kv = h.n_head_kv != 0 ? h.n_head_kv : h.n_head;
    return h;
}

/* Pair i of a head was element i of its halves. */
static uint64_t unpaired(uint64_t row, uint64_t size)
{
    uint64_t head = row / size, i = row % size;
    return head * size + i / 2 + (i % 2) * (size / 2);
}

/* Value head j of the GGUF belongs to key head j % n_key; the folder keeps
 * those of a key head together. */
static uint64_t grouped(const cf_hf_heads *h, uint64_t i, uint64_t size)
{
    uint64_t per_key = h->n_value_head / h->n_key_head;
    uint64_t head = i / size;
    uint64_t from = head % h->n_key_head * per_key + head / h->n_key_head;
    return from * size + i % size;
}

/* Row of [q, k, v] of all key heads, out of a matrix with q, k, v and z of
 * each together. */
static uint64_t of_qkvz(const cf_hf_heads *h, uint64_t row)
{
    uint64_t keys = (uint64_t)h->n_key_head * h->key_size;
    uint64_t values = (uint64_t)h->n_value_head / h->n_key_head * h->value_size;
    uint64_t block = 2 * (uint64_t)h->key_size + 2 * values;
    uint64_t part = row < keys ? 0 : row < 2 * keys ? 1 : 2;
    uint64_t size = part < 2 ? h->key_size : values;
    uint64_t i = row - part * keys;
    return i / size * block + part * h->key_size + i % size;
}

static uint64_t z_of_qkvz(const cf_hf_heads *h, uint64_t row)
{
    uint64_t values = (uint64_t)h->n_value_head / h->n_key_head * h->value_size;
    uint64_t block = 2 * (uint64_t)h->key_size + 2 * values;
    return row / values * block + 2 * (uint64_t)h->key_size + values + row % values;
}

/* The row of the source that becomes row `r` of the target. */
static uint64_t row_of(const cf_hf_heads *h, cf_hf_order order, const shape *to, uint64_t r)
{
    uint64_t keys = 2 * (uint64_t)h->n_key_head * h->key_size;
    switch (order) {
    case CF_HF_PAIRS_Q:
        return unpaired(r, to->n_row / h->n_head);
    case CF_HF_PAIRS_K:
        return unpaired(r, to->n_row / h->n_head_kv);
    case CF_HF_SECOND_HALF:
        return to->n_row + r;
    case CF_HF_AFTER_PAD:
        return CF_HF_PAD_ROWS + r;
    case CF_HF_VALUE_ROWS:
        return grouped(h, r, h->value_size);
    case CF_HF_VALUE_TAIL:
        return r < keys ? r : keys + grouped(h, r - keys, h->value_size);
    case CF_HF_VALUE_ONES:
        return grouped(h, r, 1);
    case CF_HF_QKV_OF_QKVZ:
        return of_qkvz(h, r);
    case CF_HF_Z_OF_QKVZ:
        return z_of_qkvz(h, r);
    case CF_HF_TURNED_EVEN:
    case CF_HF_MX_EVEN:
        return 2 * r;
    case CF_HF_TURNED_ODD:
    case CF_HF_MX_ODD:
        return 2 * r + 1;
    default:
        return r;
    }
}

static uint64_t col_of(const cf_hf_heads *h, cf_hf_order order, uint64_t c)
{
    switch (order) {
    case CF_HF_VALUE_COLS:
        return grouped(h, c, h->value_size);
    case CF_HF_EVEN:
        return 2 * c;
    case CF_HF_ODD:
        return 2 * c + 1;
    default:
        return c;
    }
}

static bool is_turned(cf_hf_order order)
{
    return order == CF_HF_TURNED || order == CF_HF_TURNED_EVEN || order == CF_HF_TURNED_ODD;
}

static bool is_mx(cf_hf_order order)
{
    return order == CF_HF_MX || order == CF_HF_MX_EVEN || order == CF_HF_MX_ODD;
}

static bool is_mixed_cols(cf_hf_order order)
{
    return order == CF_HF_VALUE_COLS || order == CF_HF_EVEN || order == CF_HF_ODD;
}

static cf_status unfit(loader *l, const cf_safetensor *t)
{
    return cf_fail(l->err, CF_EFORMAT,
                   "tensor %.*s: its shape does not suit the heads of "
                   "config.json",
                   (int)t->name.n, t->name.p);
}

/* Whether the numbers of rows and columns are divisible as the order requires. */
static bool suits(const cf_hf_heads *h, cf_hf_order order, const source *s)
{
    uint64_t keys = (uint64_t)h->n_key_head * h->key_size;
    uint64_t values = (uint64_t)h->n_value_head * h->value_size;
    bool is_delta = h->n_key_head != 0 && h->n_value_head != 0 &&
                    h->n_value_head % h->n_key_head == 0 && keys != 0 && values != 0;
    switch (order) {
    case CF_HF_PAIRS_Q:
        return h->n_head != 0 && s->n_row % (2 * (uint64_t)h->n_head) == 0;
    case CF_HF_PAIRS_K:
        return h->n_head_kv != 0 && s->n_row % (2 * (uint64_t)h->n_head_kv) == 0;
    case CF_HF_FIRST_HALF:
    case CF_HF_SECOND_HALF:
    case CF_HF_MX_EVEN:
    case CF_HF_MX_ODD:
        return s->n_row % 2 == 0;
    case CF_HF_TURNED_EVEN:
    case CF_HF_TURNED_ODD:
    case CF_HF_EVEN:
    case CF_HF_ODD:
        return s->n_col % 2 == 0;
    case CF_HF_AFTER_PAD:
        return s->n_row > CF_HF_PAD_ROWS;
    case CF_HF_VALUE_ROWS:
        return is_delta && s->n_row == values;
    case CF_HF_VALUE_TAIL:
        return is_delta && s->n_row == 2 * keys + values;
    case CF_HF_VALUE_ONES:
        return is_delta && s->n_row == h->n_value_head;
    case CF_HF_VALUE_COLS:
        return is_delta && s->n_col == values;
    case CF_HF_QKV_OF_QKVZ:
    case CF_HF_Z_OF_QKVZ:
        return is_delta && s->n_row == 2 * keys + 2 * values;
    default:
        return true;
    }
}

/* The target's shape, of one part. */
static shape target_shape(const cf_hf_heads *h, cf_hf_order order, const source *s, uint32_t n_dim)
{
    uint64_t keys = (uint64_t)h->n_key_head * h->key_size;
    uint64_t values = (uint64_t)h->n_value_head * h->value_size;
    shape to = {s->n_stack, s->n_row, s->n_col, n_dim};
    switch (order) {
    case CF_HF_FIRST_HALF:
    case CF_HF_SECOND_HALF:
    case CF_HF_MX_EVEN:
    case CF_HF_MX_ODD:
        to.n_row /= 2;
        break;
    case CF_HF_AFTER_PAD:
        to.n_row -= CF_HF_PAD_ROWS;
        break;
    case CF_HF_EVEN:
    case CF_HF_ODD:
        to.n_col /= 2;
        break;
    case CF_HF_TURNED:
        to.n_row = s->n_col;
        to.n_col = s->n_row;
        break;
    case CF_HF_TURNED_EVEN:
    case CF_HF_TURNED_ODD:
        to.n_row = s->n_col / 2;
        to.n_col = s->n_row;
        break;
    case CF_HF_QKV_OF_QKVZ:
        to.n_row = 2 * keys + values;
        break;
    case CF_HF_Z_OF_QKVZ:
        to.n_row = values;
        break;
    default:
        break;
    }
    return to;
}

/* ---- copying ------------------------------------------------------------- */

static uint32_t dtype_of(cf_st_type type)
{
    return type == CF_ST_F32 ? CF_F32 : type == CF_ST_F16 ? CF_F16 : CF_BF16;
}

static float number_at(const unsigned char *p, cf_st_type type)
{
    uint16_t h;
    float f;
    if (type == CF_ST_F32) {
        memcpy(&f, p, sizeof f);
        return f;
    }
    memcpy(&h, p, sizeof h);
    return type == CF_ST_F16 ? cf_half_to_float(h) : cf_bits_float((uint32_t)h << 16);
}

static float changed(const loader *l, const cf_hf_row *row, float x, uint64_t r)
{
    switch (row->value) {
    case CF_HF_PLUS_ONE:
        return x + 1.0f;
    case CF_HF_NEG_EXP:
        return (float)-exp((double)x);
    case CF_HF_TIMES:
        return (float)((double)x * cf_hf_config_times(l->c, row->to, r));
    case CF_HF_AS_IS:
        break;
    }
    return x;
}

typedef struct copying {
    const loader *l;
    const cf_hf_row *row;
    const cf_hf_heads *h;
    const source *s;
    const shape *to;
    unsigned char *out;
} copying;

/* Row r of stack item e out of the matrix at `p`. */
static void copy_row(const copying *k, const unsigned char *p, uint64_t e, uint64_t r,
                     unsigned char *out)
{
    const source *s = k->s;
    cf_st_type type = s->t->type;
    size_t size = cf_st_type_bytes(type);
    uint64_t from = row_of(k->h, k->row->order, k->to, r);
    bool turned = is_turned(k->row->order);
    const unsigned char *item = p + e * s->n_row * s->n_col * size;
    if (!turned && !is_mixed_cols(k->row->order) && k->row->value == CF_HF_AS_IS) {
        memcpy(out, item + from * s->n_col * size, s->n_col * size);
        return;
    }
    for (uint64_t c = 0; c < k->to->n_col; c++) {
        uint64_t col = col_of(k->h, k->row->order, c);
        const unsigned char *at =
            item + (turned ? col * s->n_col + from : from * s->n_col + col) * size;
        if (k->row->value == CF_HF_AS_IS) {
            memcpy(out + c * size, at, size);
        } else {
            float x = changed(k->l, k->row, number_at(at, type), r);
            memcpy(out + c * sizeof x, &x, sizeof x);
        }
    }
}

/* A row of MXFP4: the scale of each block before its 16 bytes, whose nibbles
 * are neighbours in the folder and 16 apart in a GGUF. */
static void copy_mx_row(const copying *k, uint64_t e, uint64_t r, unsigned char *out)
{
    uint64_t n_block = k->to->n_col / MX_BLOCK;
    uint64_t from = row_of(k->h, k->row->order, k->to, r);
    uint64_t at = (e * k->s->n_row + from) * n_block;
    for (uint64_t b = 0; b < n_block; b++, out += MX_BYTES) {
        const unsigned char *in = k->s->t->p + (at + b) * (MX_BYTES - 1);
        out[0] = k->s->scales->p[at + b];
        for (size_t j = 0; j < 16; j++) {
            unsigned low = in[j / 2] >> (j % 2 * 4) & 15;
            unsigned high = in[8 + j / 2] >> (j % 2 * 4) & 15;
            out[1 + j] = (unsigned char)(low | high << 4);
        }
    }
}

static cf_status new_copy(loader *l, uint64_t bytes, unsigned char **out)
{
    cf_hf_weights *w = l->w;
    if (bytes > SIZE_MAX / 2 || !cf_grow(&w->copy, &w->cap_copy, w->n_copy + 1, sizeof *w->copy)) {
        return cf_oom_for(l->err, "a tensor's rows");
    }
    *out = cf_alloc_aligned(ALIGN, (size_t)bytes);
    if (*out == NULL) {
        return cf_oom_for(l->err, "a tensor's rows");
    }
    w->copy[w->n_copy++] = *out;
    return CF_OK;
}

static cf_status copy(loader *l, const cf_hf_row *row, const cf_hf_heads *h, const source *s,
                      const shape *to, cf_gguf_tensor *t)
{
    copying k = {.l = l, .row = row, .h = h, .s = s, .to = to};
    t->type = is_mx(row->order)           ? (uint32_t)CF_MXFP4
              : row->value == CF_HF_AS_IS ? dtype_of(s->t->type)
                                          : (uint32_t)CF_F32;
    size_t row_bytes = cf_dtype_row_bytes((cf_dtype)t->type, to->n_col);
    t->bytes = s->n_part * to->n_stack * to->n_row * row_bytes;
    CF_TRY(new_copy(l, t->bytes, &k.out));
    unsigned char *out = k.out;
    for (uint32_t i = 0; i < s->n_part; i++) {
        const unsigned char *p = s->all != NULL ? s->all[i]->p : s->t->p;
        for (uint64_t e = 0; e < to->n_stack; e++) {
            for (uint64_t r = 0; r < to->n_row; r++, out += row_bytes) {
                if (is_mx(row->order)) {
                    copy_mx_row(&k, e, r, out);
                } else {
                    copy_row(&k, p, e, r, out);
                }
            }
        }
    }
    t->p = k.out;
    return CF_OK;
}

/* Whether the target is a contiguous range of the source's bytes, and its offset. */
static bool is_stretch(const cf_hf_row *row, const source *s, const shape *to, uint64_t *off)
{
    size_t size = cf_st_type_bytes(s->t->type);
    bool same = row->order == CF_HF_SAME || row->order == CF_HF_FIRST_HALF ||
                row->order == CF_HF_SECOND_HALF;
    *off = row->order == CF_HF_SECOND_HALF ? to->n_row * to->n_col * size : 0;
    return same && row->value == CF_HF_AS_IS && s->n_part == 1 &&
           (row->order == CF_HF_SAME || s->n_stack == 1) && (uintptr_t)(s->t->p + *off) % size == 0;
}

/* ---- one tensor ---------------------------------------------------------- */

static cf_status add(loader *l, const cf_gguf_tensor *t)
{
    cf_hf_weights *w = l->w;
    if (!cf_grow(&w->v, &w->cap, w->n + 1, sizeof *w->v)) {
        return cf_oom_for(l->err, "the list of tensors");
    }
    w->v[w->n++] = *t;
    return CF_OK;
}

/* "blk.N." + to, or `to`; in the arena. */
static cf_status target_name(loader *l, int64_t layer, const char *to, cf_str *out)
{
    char name[NAME_BYTES];
    int n = layer >= 0 ? snprintf(name, sizeof name, "blk.%" PRId64 ".%s", layer, to)
                       : snprintf(name, sizeof name, "%s", to);
    char *p = cf_arena_strndup(&l->w->arena, name, (size_t)n);
    if (p == NULL) {
        return cf_oom(l->err);
    }
    *out = cf_str_make(p, (size_t)n);
    return CF_OK;
}

static cf_status check_type(loader *l, const cf_safetensor *t, cf_st_type want)
{
    bool ok = want == CF_ST_U8
                  ? t->type == CF_ST_U8
                  : t->type == CF_ST_F32 || t->type == CF_ST_F16 || t->type == CF_ST_BF16;
    return ok ? CF_OK
              : cf_fail(l->err, CF_EUNSUPPORTED,
                        "tensor %.*s: type %.*s is not supported (F32, F16 "
                        "and BF16 are)",
                        (int)t->name.n, t->name.p, t->type_name.n < 32 ? (int)t->type_name.n : 32,
                        t->type_name.p);
}

static cf_status put(loader *l, int64_t layer, const cf_hf_row *row, source *s)
{
    const cf_hf_heads h = l->heads;
    uint32_t n_dim = 0;
    cf_gguf_tensor t = {.n_dim = 1};
    uint64_t off = 0;
    CF_TRY(check_type(l, s->t, is_mx(row->order) ? CF_ST_U8 : CF_ST_F32));
    CF_TRY(read_shape(l, s, &n_dim));
    bool is_column = n_dim == 1 && row->order != CF_HF_SAME;
    if (is_column) {
        s->n_row = s->n_col;
        s->n_col = 1;
    }
    if (!suits(&h, row->order, s)) {
        return unfit(l, s->t);
    }
    shape to = target_shape(&h, row->order, s, n_dim);
    CF_TRY(target_name(l, layer, row->to, &t.name));
    if (is_stretch(row, s, &to, &off)) {
        t.p = s->t->p + off;
        t.type = dtype_of(s->t->type);
        t.bytes = to.n_stack * to.n_row * cf_dtype_row_bytes((cf_dtype)t.type, to.n_col);
        t.part = s->t->file;
        t.file_off = s->t->off + off;
    } else {
        CF_TRY(copy(l, row, &h, s, &to, &t));
    }
    if (is_column) {
        to = (shape){1, 1, to.n_row, 1};
    }
    t.dim[0] = to.n_col;
    t.dim[1] = to.n_row;
    t.dim[2] = s->n_part > 1 || s->all != NULL ? s->n_part : to.n_stack;
    t.dim[3] = 1;
    t.n_dim = s->all != NULL ? 3 : to.n_dim;
    return add(l, &t);
}

/* MXFP4: [stack, rows, blocks, 16] and [stack, rows, blocks]. */
static cf_status put_mx(loader *l, int64_t layer, const cf_hf_row *row, const cf_safetensor *blocks)
{
    char name[NAME_BYTES];
    size_t n = blocks->name.n - strlen("_blocks");
    snprintf(name, sizeof name, "%.*s_scales", (int)n, blocks->name.p);
    const cf_safetensor *scales = find(l, name);
    if (scales == NULL || scales->type != CF_ST_U8 || blocks->n_dim != 4 || scales->n_dim != 3 ||
        blocks->dim[3] != 16 || memcmp(blocks->dim, scales->dim, 3 * sizeof scales->dim[0]) != 0) {
        return unfit(l, blocks);
    }
    mark(l, scales);
    /* As a matrix of weights; the bytes are read by copy_mx_row() alone. */
    cf_safetensor whole = *blocks;
    whole.n_dim = 3;
    whole.dim[2] *= MX_BLOCK;
    source s = {.t = &whole, .scales = scales, .n_part = 1};
    return put(l, layer, row, &s);
}

/* The sources "...#..." from 0 on. */
static cf_status put_stack(loader *l, int64_t layer, const cf_hf_row *row,
                           const cf_safetensor *first)
{
    char name[NAME_BYTES];
    const cf_safetensor **all = cf_calloc(CF_EXPERT_MAX, sizeof *all);
    source s = {.t = first, .all = all};
    cf_status st = all != NULL ? CF_OK : cf_oom(l->err);
    for (const cf_safetensor *t = first; st == CF_OK && t != NULL && s.n_part < CF_EXPERT_MAX;) {
        if (t->type != first->type || t->n_dim != first->n_dim || t->n_dim > 2 ||
            memcmp(t->dim, first->dim, sizeof t->dim) != 0) {
            st = cf_fail(l->err, CF_EFORMAT,
                         "tensor %.*s has another type or shape than the "
                         "first of its kind",
                         (int)t->name.n, t->name.p);
            break;
        }
        mark(l, t);
        all[s.n_part++] = t;
        source_name(name, l, layer, row->from, s.n_part);
        t = find(l, name);
    }
    CF_THEN(st, put(l, layer, row, &s));
    cf_free(all);
    return st;
}

static bool is_put(const loader *l, cf_str name)
{
    for (size_t i = l->w->n; i > 0 && l->w->n - i < 64; i--) {
        if (cf_str_eq(l->w->v[i - 1].name, name)) {
            return true;
        }
    }
    return false;
}

/* Maps one row of a table if the files contain its source. */
static cf_status put_row(loader *l, int64_t layer, const cf_hf_row *row)
{
    char name[NAME_BYTES];
    source_name(name, l, layer, row->from, 0);
    const cf_safetensor *t = find(l, name);
    if (t == NULL) {
        return CF_OK;
    }
    mark(l, t);
    cf_str to;
    CF_TRY(target_name(l, layer, row->to, &to));
    if (is_put(l, to)) {
        return CF_OK; /* the files also contain another form of it */
    }
    if (is_mx(row->order)) {
        return put_mx(l, layer, row, t);
    }
    if (strchr(row->from, '#') != NULL) {
        return put_stack(l, layer, row, t);
    }
    source s = {.t = t, .n_part = 1};
    return put(l, layer, row, &s);
}

/* ---- all ----------------------------------------------------------------- */

/* The output matrix, or the embeddings if it is tied to them. */
static cf_status put_output(loader *l)
{
    static const char *const names[] = {"lm_head.weight", "language_model.lm_head.weight",
                                        "model.lm_head.weight"};
    static const cf_hf_row row = {"output.weight", "", CF_HF_SAME, CF_HF_AS_IS};
    static const cf_hf_row times = {"output.weight", "", CF_HF_SAME, CF_HF_TIMES};
    bool is_falcon = strcmp(l->c->family->arch, "falcon-h1") == 0;
    bool is_tied = json_is_true(json_object_get(l->c->v, "tie_word_embeddings"));
    for (size_t i = 0; i < 3; i++) {
        const cf_safetensor *t = find(l, names[i]);
        if (t != NULL) {
            mark(l, t);
        }
        if (t != NULL && !is_tied) {
            source s = {.t = t, .n_part = 1};
            return put(l, -1, is_falcon ? &times : &row, &s);
        }
    }
    if (is_falcon) { /* tied, but with a multiplier of its own */
        char name[NAME_BYTES];
        source_name(name, l, -1, l->c->family->outer[0].from, 0);
        source s = {.t = find(l, name), .n_part = 1};
        return put(l, -1, &times, &s);
    }
    return CF_OK;
}

/* Divisors of the rotary frequencies that follow from the configuration. */
static cf_status put_factors(loader *l)
{
    static const char *const names[] = {[CF_HF_FACTORS] = "rope_freqs.weight",
                                        [CF_HF_FACTORS_LONG] = "rope_factors_long.weight",
                                        [CF_HF_FACTORS_SHORT] = "rope_factors_short.weight"};
    for (size_t i = 0; i < 3; i++) {
        size_t n = cf_hf_config_factors(l->c, (cf_hf_factors)i, NULL, 0);
        cf_gguf_tensor t = {.type = CF_F32, .n_dim = 1, .dim = {n, 1, 1, 1}, .bytes = 4 * n};
        unsigned char *p = NULL;
        if (n == 0) {
            continue;
        }
        if (n > CF_WIDTH_MAX) {
            return cf_fail(l->err, CF_EFORMAT, "config.json: %zu rotary factors", n);
        }
        CF_TRY(target_name(l, -1, names[i], &t.name));
        CF_TRY(new_copy(l, t.bytes, &p));
        cf_hf_config_factors(l->c, (cf_hf_factors)i, (float *)(void *)p, n);
        t.p = p;
        CF_TRY(add(l, &t));
    }
    return CF_OK;
}

/* Whether an unused tensor belongs to another part than the text model: a
 * tower for pictures or sound, draft layers, or a constant that is computed. */
static bool is_elsewhere(const loader *l, cf_str name)
{
    static const char *const parts[] = {
        "vision", "visual",    "audio",      "multi_modal",  "embed_vision", "embed_audio",
        "mtp",    "connector", "multimodal", "patch_merger", "rotary_emb",   "language_model",
        "pooler"};
    cf_str rest = {name.p + strlen(l->prefix), name.n - strlen(l->prefix)};
    if (cf_str_ends(name, "inv_freq") || cf_str_ends(name, "position_ids")) {
        return true;
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (cf_str_begins(rest, parts[i])) {
            return true;
        }
    }
    uint32_t n = 0;
    if (!cf_str_begins(rest, l->layers)) {
        return false;
    }
    for (size_t i = strlen(l->layers);
         i < rest.n && n <= CF_LAYER_MAX && rest.p[i] >= '0' && rest.p[i] <= '9'; i++) {
        n = n * 10 + (uint32_t)(rest.p[i] - '0');
    }
    return n >= l->n_layer; /* a draft layer */
}

/* Rule 1. */
static cf_status refuse_unused(const loader *l)
{
    for (size_t i = 0; i < cf_safetensors_n(l->files); i++) {
        cf_str name = cf_safetensors_at(l->files, i)->name;
        if (!l->used[i] && cf_str_begins(name, l->prefix) && !is_elsewhere(l, name)) {
            return cf_fail(l->err, CF_EUNSUPPORTED,
                           "tensor %.*s is not part of architecture %s as "
                           "confab knows it",
                           name.n < 96 ? (int)name.n : 96, name.p, l->c->family->arch);
        }
    }
    return CF_OK;
}

/* Embeddings may have more rows than the table of per-layer ones: rows of
 * other inputs than text. */
static void cut_vocabulary(cf_hf_weights *w)
{
    static const char *const names[] = {"token_embd.weight", "output.weight",
                                        "per_layer_token_embd.weight"};
    uint64_t least = UINT32_MAX;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < w->n; i++) {
            cf_gguf_tensor *t = &w->v[i];
            bool has_rows = false;
            for (size_t k = 0; k < 3; k++) {
                has_rows |= cf_str_is(t->name, names[k]);
            }
            if (!has_rows || t->n_dim != 2) {
                continue;
            }
            if (pass == 0) {
                least = t->dim[1] < least ? t->dim[1] : least;
            } else {
                t->bytes = t->bytes / t->dim[1] * least;
                t->dim[1] = least;
            }
        }
    }
    w->n_vocab = (uint32_t)least;
}

static cf_status load(loader *l)
{
    const cf_hf_family *f = l->c->family;
    CF_TRY(find_prefix(l));
    for (const cf_hf_row *r = f->outer; r->to != NULL; r++) {
        CF_TRY(put_row(l, -1, r));
    }
    CF_TRY(put_output(l));
    CF_TRY(put_factors(l));
    for (uint32_t i = 0; i < l->n_layer; i++) {
        for (size_t k = 0; k < CF_HF_LISTS && f->layer[k] != NULL; k++) {
            for (const cf_hf_row *r = f->layer[k]; r->to != NULL; r++) {
                CF_TRY(put_row(l, i, r));
            }
        }
    }
    cut_vocabulary(l->w);
    return refuse_unused(l);
}

cf_status cf_hf_weights_init(cf_hf_weights *out, const cf_safetensors *files, const cf_hf_config *c,
                             cf_error *err)
{
    cf_hf_weights w = {NULL, 0, 0, 0, NULL, 0, 0, {NULL, 0, 0, 0, false}};
    *out = w;
    cf_arena_init(&w.arena, 0);
    loader l = {.heads = read_heads(c),
                .w = &w,
                .files = files,
                .c = c,
                .err = err,
                .n_layer = cf_hf_config_n_layer(c),
                .layers = cf_hf_family_layers(c->family)};
    l.used = cf_calloc(cf_safetensors_n(files) + 1, sizeof *l.used);
    cf_status st = l.used != NULL ? load(&l) : cf_oom(err);
    cf_free(l.used);
    if (st != CF_OK) {
        cf_hf_weights_deinit(&w);
        return st;
    }
    *out = w;
    return CF_OK;
}

cf_status cf_hf_weights_add(cf_hf_weights *w, const cf_safetensors *files, const char *from,
                            const char *to, cf_error *err)
{
    const cf_hf_row row = {to, from, CF_HF_COPIED, CF_HF_AS_IS};
    loader l = {.w = w, .files = files, .err = err, .prefix = "", .layers = ""};
    source s = {.t = find(&l, from), .n_part = 1};
    if (s.t == NULL) {
        return cf_fail(err, CF_EFORMAT, "the safetensors files have no %s", from);
    }
    return put(&l, -1, &row, &s);
}

/* ---- adapters ------------------------------------------------------------ */

/* `from` without ".weight", then ".lora_A.weight" or ".lora_B.weight". */
static const cf_safetensor *find_part(const loader *l, uint32_t layer, const cf_hf_row *row,
                                      char part)
{
    static const char end[] = ".weight";
    char name[NAME_BYTES], full[NAME_BYTES + 16];
    source_name(name, l, layer, row->from, 0);
    size_t n = strlen(name), k = strlen(end);
    if (n <= k || strcmp(name + n - k, end) != 0) {
        return NULL;
    }
    snprintf(full, sizeof full, "%.*s.lora_%c.weight", (int)(n - k), name, part);
    return find(l, full);
}

/* A's columns are its matrix's columns, B's rows its matrix's rows. */
static cf_status put_pair(loader *l, uint32_t layer, const cf_hf_row *row)
{
    const cf_safetensor *a = find_part(l, layer, row, 'A');
    const cf_safetensor *b = find_part(l, layer, row, 'B');
    char to[2][NAME_BYTES];
    bool follows = row->order <= CF_HF_PAIRS_K ||
                   (row->order >= CF_HF_VALUE_ROWS && row->order <= CF_HF_VALUE_COLS);
    if (a == NULL || b == NULL) {
        return CF_OK;
    }
    if (!follows || row->value != CF_HF_AS_IS) {
        return cf_fail(l->err, CF_EUNSUPPORTED, "an adapter of %s is not supported", row->from);
    }
    mark(l, a);
    mark(l, b);
    snprintf(to[0], NAME_BYTES, "%s.lora_a", row->to);
    snprintf(to[1], NAME_BYTES, "%s.lora_b", row->to);
    bool by_col = row->order == CF_HF_VALUE_COLS;
    cf_hf_row rows[2] = {{to[0], "", by_col ? row->order : CF_HF_SAME, CF_HF_AS_IS},
                         {to[1], "", by_col ? CF_HF_SAME : row->order, CF_HF_AS_IS}};
    source sa = {.t = a, .n_part = 1}, sb = {.t = b, .n_part = 1};
    CF_TRY(put(l, layer, &rows[0], &sa));
    return put(l, layer, &rows[1], &sb);
}

/* Finds the common prefix of all names: what precedes the first "layers.". */
static cf_status adapter_prefix(loader *l)
{
    static const char mark_text[] = "layers.";
    for (size_t i = 0; i < cf_safetensors_n(l->files); i++) {
        cf_str name = cf_safetensors_at(l->files, i)->name;
        for (size_t k = 0; k + strlen(mark_text) < name.n; k++) {
            if (memcmp(name.p + k, mark_text, strlen(mark_text)) == 0) {
                l->prefix = cf_arena_strndup(&l->w->arena, name.p, k);
                return l->prefix != NULL ? CF_OK : cf_oom(l->err);
            }
        }
    }
    return cf_fail(l->err, CF_EFORMAT, "the adapter has no layers");
}

static cf_status load_adapter(loader *l, const cf_hf_family *f)
{
    CF_TRY(adapter_prefix(l));
    for (uint32_t i = 0; i < l->n_layer; i++) {
        for (size_t k = 0; k < CF_HF_LISTS && f->layer[k] != NULL; k++) {
            for (const cf_hf_row *r = f->layer[k]; r->to != NULL; r++) {
                CF_TRY(put_pair(l, i, r));
            }
        }
    }
    for (size_t i = 0; i < cf_safetensors_n(l->files); i++) {
        cf_str name = cf_safetensors_at(l->files, i)->name;
        if (!l->used[i]) {
            return cf_fail(l->err, CF_EUNSUPPORTED, "the adapter's tensor %.*s is not supported",
                           name.n < 96 ? (int)name.n : 96, name.p);
        }
    }
    return CF_OK;
}

cf_status cf_hf_weights_adapter(cf_hf_weights *out, const cf_safetensors *files,
                                const cf_hf_family *family, const cf_hf_heads *heads,
                                uint32_t n_layer, cf_error *err)
{
    cf_hf_weights w = {NULL, 0, 0, 0, NULL, 0, 0, {NULL, 0, 0, 0, false}};
    *out = w;
    cf_arena_init(&w.arena, 0);
    loader l = {.heads = *heads,
                .w = &w,
                .files = files,
                .err = err,
                .n_layer = n_layer,
                .layers = cf_hf_family_layers(family)};
    l.used = cf_calloc(cf_safetensors_n(files) + 1, sizeof *l.used);
    cf_status st = l.used != NULL ? load_adapter(&l, family) : cf_oom(err);
    cf_free(l.used);
    if (st != CF_OK) {
        cf_hf_weights_deinit(&w);
        return st;
    }
    *out = w;
    return CF_OK;
}

void cf_hf_weights_deinit(cf_hf_weights *w)
{
    for (size_t i = 0; i < w->n_copy; i++) {
        cf_free_aligned(w->copy[i]);
    }
    cf_free(w->copy);
    cf_free(w->v);
    cf_arena_deinit(&w->arena);
    *w = (cf_hf_weights){0};
}
