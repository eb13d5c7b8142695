/*
 * vision.c - the transformer that all picture encoders share, and its tensors.
 *
 *   x = patches * kernel + bias + positions
 *   for each layer:  x += out(attention(norm x));  x += ffn(norm x)
 *
 * Source: Dosovitskiy et al. 2021 (ViT) with the normalisation first, as in
 * SigLIP (Zhai et al. 2023); rotations of Qwen-VL and Gemma 4 after their
 * model code in Hugging Face transformers.
 */
#include "core/media/vision.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

/* ---- the file ----------------------------------------------------------- */

static cf_status load_norm(cf_mmproj *m, cf_norm *to, const char *prefix,
                           const char *name, size_t n, cf_error *err)
{
    char full[64];
    snprintf(full, sizeof full, "%s%s.weight", prefix, name);
    CF_TRY(cf_mmproj_vec(m, &to->w, full, n, err));
    snprintf(full, sizeof full, "%s%s.bias", prefix, name);
    return cf_mmproj_opt_vec(m, &to->b, full, n, err);
}

static cf_status load_linear(cf_mmproj *m, cf_linear *to, const char *prefix,
                             const char *name, uint32_t n_row, uint32_t n_col,
                             cf_error *err)
{
    char full[64];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return cf_mmproj_linear(m, to, full, n_row, n_col, err);
}

static cf_status load_qkv(const cf_vision *v, cf_mmproj *m, cf_vision_layer *l,
                          const char *prefix, cf_error *err)
{
    char full[64];
    snprintf(full, sizeof full, "%sattn_qkv.weight", prefix);
    if (cf_mmproj_has(m, full)) {
        cf_linear all;
        CF_TRY(load_linear(m, &all, prefix, "attn_qkv", 3 * v->width, v->width,
                           err));
        l->q = cf_linear_slice(&all, 0, v->width);
        l->k = cf_linear_slice(&all, v->width, v->width);
        l->v = cf_linear_slice(&all, 2 * v->width, v->width);
        return CF_OK;
    }
    CF_TRY(load_linear(m, &l->q, prefix, "attn_q", v->width, v->width, err));
    CF_TRY(load_linear(m, &l->k, prefix, "attn_k", v->width, v->width, err));
    return load_linear(m, &l->v, prefix, "attn_v", v->width, v->width, err);
}

/* Older files have the names ffn_up and ffn_down exchanged. */
static cf_status load_ffn(const cf_vision *v, cf_mmproj *m, cf_vision_layer *l,
                          const char *prefix, cf_error *err)
{
    char full[64];
    snprintf(full, sizeof full, "%sffn_down.weight", prefix);
    const cf_gguf_tensor *t = cf_gguf_find_tensor(m->g, full);
    bool swapped = t != NULL && t->dim[0] == v->width && v->width != v->n_ff;
    CF_TRY(load_linear(m, &l->up, prefix, swapped ? "ffn_down" : "ffn_up",
                       v->n_ff, v->width, err));
    return load_linear(m, &l->down, prefix, swapped ? "ffn_up" : "ffn_down",
                       v->width, v->n_ff, err);
}

static cf_status load_gemma4_parts(const cf_vision *v, cf_mmproj *m,
                                   cf_vision_layer *l, const char *prefix,
                                   cf_error *err)
{
    size_t size = v->width / v->n_head;
    cf_norm n[4] = {{NULL, NULL}};
    CF_TRY(
        load_linear(m, &l->gate, prefix, "ffn_gate", v->n_ff, v->width, err));
    CF_TRY(load_norm(m, &n[0], prefix, "attn_q_norm", size, err));
    CF_TRY(load_norm(m, &n[1], prefix, "attn_k_norm", size, err));
    CF_TRY(load_norm(m, &n[2], prefix, "attn_post_norm", v->width, err));
    CF_TRY(load_norm(m, &n[3], prefix, "ffn_post_norm", v->width, err));
    l->q_norm = n[0].w;
    l->k_norm = n[1].w;
    l->post_norm = n[2].w;
    l->ffn_post_norm = n[3].w;
    return CF_OK;
}

static cf_status load_layer(cf_vision *v, cf_mmproj *m, uint32_t i,
                            cf_error *err)
{
    cf_vision_layer *l = &v->layer[i];
    char prefix[32];
    snprintf(prefix, sizeof prefix, "v.blk.%u.", (unsigned)i);
    CF_TRY(load_norm(m, &l->ln1, prefix, "ln1", v->width, err));
    CF_TRY(load_norm(m, &l->ln2, prefix, "ln2", v->width, err));
    CF_TRY(load_qkv(v, m, l, prefix, err));
    CF_TRY(load_linear(m, &l->o, prefix, "attn_out", v->width, v->width, err));
    CF_TRY(load_ffn(v, m, l, prefix, err));
    return v->family->is_gemma4 ? load_gemma4_parts(v, m, l, prefix, err)
                                : CF_OK;
}

static cf_status find_family(cf_vision *v, const cf_mmproj *m, cf_error *err)
{
    cf_str name;
    if (!cf_gguf_get_str(m->g, "clip.vision.projector_type", &name) &&
        !cf_gguf_get_str(m->g, "clip.projector_type", &name)) {
        return cf_fail(err, CF_EFORMAT,
                       "the key clip.projector_type is missing");
    }
    for (const cf_vision_family *f = cf_vision_families; f->projector != NULL;
         f++) {
        if (cf_str_is(name, f->projector)) {
            v->family = f;
            return CF_OK;
        }
    }
    return cf_fail(err, CF_EUNSUPPORTED,
                   "projector type \"%.*s\" is not supported",
                   (int)(name.n < 64 ? name.n : 64), name.p);
}

static cf_status load_sizes(cf_vision *v, cf_mmproj *m, cf_error *err)
{
    const struct {
        const char *key;
        uint32_t lo, hi, *to;
    } need[] = {
        {"clip.vision.embedding_length", 4, 1 << 14, &v->width},
        {"clip.vision.feed_forward_length", 1, 1 << 16, &v->n_ff},
        {"clip.vision.block_count", 1, 256, &v->n_layer},
        {"clip.vision.attention.head_count", 1, 256, &v->n_head},
        {"clip.vision.image_size", 1, 4096, &v->image_size},
        {"clip.vision.patch_size", 1, 64, &v->patch},
    };
    for (size_t i = 0; i < sizeof need / sizeof need[0]; i++) {
        CF_TRY(cf_mmproj_need_u32(m, need[i].key, need[i].lo, need[i].hi,
                                  need[i].to, err));
    }
    if (v->width % v->n_head != 0 || v->width / v->n_head % 4 != 0) {
        return cf_fail(err, CF_EFORMAT,
                       "a width of %u cannot be shared by %u heads",
                       (unsigned)v->width, (unsigned)v->n_head);
    }
    v->eps = 1e-6f;
    CF_TRY(cf_mmproj_f32(m, "clip.vision.attention.layer_norm_epsilon", &v->eps,
                         err));
    for (int c = 0; c < 3; c++) {
        v->mean[c] = v->std[c] = 0.5f;
    }
    CF_TRY(cf_mmproj_floats(m, "clip.vision.image_mean", v->mean, 3, err));
    CF_TRY(cf_mmproj_floats(m, "clip.vision.image_std", v->std, 3, err));
    for (int c = 0; c < 3; c++) {
        if (!(v->std[c] > 0)) {
            return cf_fail(err, CF_EFORMAT,
                           "clip.vision.image_std is not positive");
        }
    }
    bool flag = false;
    v->act =
        cf_gguf_get_bool(m->g, "clip.use_gelu", &flag) && flag   ? CF_ACT_GELU
        : cf_gguf_get_bool(m->g, "clip.use_silu", &flag) && flag ? CF_ACT_SILU
                                                                 : CF_ACT_QUICK;
    v->merge = 1;
    if (strcmp(v->family->projector, "gemma3") == 0) {
        v->merge = 4;
    }
    return cf_mmproj_u32(m, "clip.vision.projector.scale_factor", 1, 16,
                         &v->merge, err);
}

static cf_status load_positions(cf_vision *v, cf_mmproj *m, cf_error *err)
{
    const cf_gguf_tensor *t =
        cf_gguf_find_tensor(m->g, "v.position_embd.weight");
    uint64_t n = t != NULL ? t->dim[1] * t->dim[2] : 0;
    if (n == 0 || n > 1 << 20 || t->dim[0] != v->width) {
        return cf_fail(err, CF_EFORMAT,
                       "the tensor v.position_embd.weight is missing or of "
                       "another width");
    }
    v->n_pos = (uint32_t)n;
    v->pos_side = (uint32_t)lround(sqrt((double)n));
    return cf_mmproj_vec(m, &v->pos, "v.position_embd.weight", n * v->width,
                         err);
}

cf_status cf_vision_init(cf_vision *out, cf_mmproj *m, cf_error *err)
{
    cf_vision v = {.family = NULL};
    CF_TRY(find_family(&v, m, err));
    CF_TRY(load_sizes(&v, m, err));
    v.layer = cf_arena_calloc(&m->arena, v.n_layer, sizeof *v.layer);
    if (v.layer == NULL) {
        return cf_oom_for(err, "a projector");
    }
    for (uint32_t i = 0; i < v.n_layer; i++) {
        CF_TRY(load_layer(&v, m, i, err));
    }
    CF_TRY(cf_mmproj_linear(m, &v.patch_embd, "v.patch_embd", v.width,
                            v.patch * v.patch * 3, err));
    CF_TRY(load_positions(&v, m, err));
    if (cf_mmproj_has(m, "v.post_ln.weight")) {
        CF_TRY(load_norm(m, &v.post_ln, "v.", "post_ln", v.width, err));
    }
    CF_TRY(v.family->load(&v, m, err));
    *out = v;
    return CF_OK;
}

/* ---- pixels ------------------------------------------------------------- */

cf_status cf_vision_cut(const cf_vision *v, const cf_pixels *p,
                        cf_vision_blocks *out, cf_error *err)
{
    return v->family->cut(v, p, out, err);
}

void cf_vision_blocks_deinit(cf_vision_blocks *b)
{
    for (size_t i = 0; i < b->n; i++) {
        cf_pixels_deinit(&b->v[i].picture);
    }
    cf_free(b->v);
    *b = (cf_vision_blocks){.v = NULL};
}

void cf_vision_normalise(const cf_vision *v, float *out, const cf_pixels *p)
{
    size_t n = (size_t)p->w * p->h * 3;
    for (size_t i = 0; i < n; i++) {
        out[i] = ((float)p->rgb[i] / 255 - v->mean[i % 3]) / v->std[i % 3];
    }
}

void cf_vision__patch_at(const cf_vision *v, uint32_t cols, size_t i,
                         uint32_t *col, uint32_t *row)
{
    size_t k = v->family->has_mrope ? v->merge : 1;
    size_t square = i / (k * k), in = i % (k * k), wide = cols / k;
    *col = (uint32_t)(square % wide * k + in % k);
    *row = (uint32_t)(square / wide * k + in / k);
}

/* to [patches, 3 * patch * patch]: channel, row, column within a patch. */
static void unfold(const cf_vision *v, float *to, const float *pixels,
                   uint32_t cols, uint32_t rows)
{
    size_t side = v->patch, width = cols * side;
    for (size_t i = 0; i < (size_t)cols * rows; i++) {
        uint32_t col, row;
        cf_vision__patch_at(v, cols, i, &col, &row);
        for (size_t c = 0; c < 3; c++) {
            for (size_t y = 0; y < side; y++) {
                const float *from =
                    pixels + ((row * side + y) * width + col * side) * 3 + c;
                for (size_t x = 0; x < side; x++) {
                    float p = from[3 * x];
                    *to++ = v->family->is_gemma4 ? 2 * p - 1 : p;
                }
            }
        }
    }
}

static cf_status embed(const cf_vision *v, const cf_dense *d, float *x,
                       const cf_vision_block *b, float *spare, cf_error *err)
{
    uint32_t cols = b->cols * v->merge, rows = b->rows * v->merge;
    size_t n = (size_t)cols * rows, in = (size_t)v->patch * v->patch * 3;
    float *pixels = cf_calloc(n * in, sizeof *pixels);
    float *patches = cf_calloc(n * in, sizeof *patches);
    cf_status st = CF_OK;
    if (pixels == NULL || patches == NULL) {
        st = cf_oom_for(err, "an image");
    } else {
        cf_vision_normalise(v, pixels, &b->picture);
        unfold(v, patches, pixels, cols, rows);
        st = cf_dense_linear(d, x, patches, n, &v->patch_embd, err);
        if (v->patch_embd_2.w.p != NULL) {
            CF_THEN(st, cf_dense_linear(d, spare, patches, n, &v->patch_embd_2,
                                        err));
            d->k->add(x, spare, n * v->width);
        }
        v->family->place(v, x, cols, rows);
    }
    cf_free(pixels);
    cf_free(patches);
    return st;
}

/* ---- layers ------------------------------------------------------------- */

typedef struct work {
    const cf_vision *v;
    const cf_dense *d;
    uint32_t cols;
    size_t n;                   /* patches */
    float *x, *h, *q, *k, *val; /* [n, width] */
    float *up, *gate;           /* [n, n_ff] */
    float *turn; /* [n, head size]: cosine, sine a pair; or NULL */
} work;

static void norm(const work *w, float *out, const float *x, const cf_norm *by)
{
    if (w->v->family->is_gemma4) {
        cf_dense_rms_norm(out, x, by->w, w->n, w->v->width, w->v->eps);
    } else {
        cf_dense_layer_norm(out, x, by->w, by->b, w->n, w->v->width, w->v->eps);
    }
}

/* The angle of pair j of a head at a patch: half of the pairs turn by row or
 * column, half by the other. */
static void fill_turn(work *w)
{
    bool is_gemma4 = w->v->family->is_gemma4;
    uint32_t size = w->v->width / w->v->n_head, quarter = size / 4;
    for (size_t i = 0; i < w->n; i++) {
        uint32_t col, row;
        cf_vision__patch_at(w->v, w->cols, i, &col, &row);
        for (uint32_t j = 0; j < 2 * quarter; j++) {
            bool by_row = is_gemma4 == (j >= quarter);
            double base = is_gemma4 ? 100 : 10000;
            double angle = (by_row ? row : col) *
                           pow(base, -(double)(j % quarter) / quarter);
            w->turn[i * size + 2 * j] = (float)cos(angle);
            w->turn[i * size + 2 * j + 1] = (float)sin(angle);
        }
    }
}

/* Turns pair j of each head: numbers j and j + size / 2, or within each half
 * of the head numbers a quarter apart. */
static void rotate(const work *w, float *x)
{
    uint32_t size = w->v->width / w->v->n_head, half = size / 2;
    for (size_t i = 0; i < w->n * w->v->n_head; i++) {
        float *head = x + i * size;
        const float *turn = w->turn + i / w->v->n_head * size;
        for (uint32_t j = 0; j < half; j++) {
            uint32_t a = j, b = j + half;
            if (w->v->family->is_gemma4) {
                a = j < half / 2 ? j : j + half / 2;
                b = a + half / 2;
            }
            float c = turn[2 * j], s = turn[2 * j + 1];
            float p = head[a], q = head[b];
            head[a] = p * c - q * s;
            head[b] = q * c + p * s;
        }
    }
}

static cf_status attention(const work *w, const cf_vision_layer *l,
                           cf_error *err)
{
    const cf_vision *v = w->v;
    uint32_t size = v->width / v->n_head;
    float scale = v->family->is_gemma4 ? 1 : (float)(1 / sqrt((double)size));
    norm(w, w->h, w->x, &l->ln1);
    CF_TRY(cf_dense_linear(w->d, w->q, w->h, w->n, &l->q, err));
    CF_TRY(cf_dense_linear(w->d, w->k, w->h, w->n, &l->k, err));
    CF_TRY(cf_dense_linear(w->d, w->val, w->h, w->n, &l->v, err));
    if (v->family->is_gemma4) {
        size_t heads = w->n * v->n_head;
        cf_dense_rms_norm(w->q, w->q, l->q_norm, heads, size, v->eps);
        cf_dense_rms_norm(w->k, w->k, l->k_norm, heads, size, v->eps);
        cf_dense_rms_norm(w->val, w->val, NULL, heads, size, v->eps);
    }
    if (w->turn != NULL) {
        rotate(w, w->q);
        rotate(w, w->k);
    }
    CF_TRY(cf_dense_attend(w->d, w->h, w->q, w->k, w->val, w->n, w->n,
                           v->n_head, size, scale, err));
    CF_TRY(cf_dense_linear(w->d, w->q, w->h, w->n, &l->o, err));
    if (l->post_norm != NULL) {
        cf_dense_rms_norm(w->q, w->q, l->post_norm, w->n, v->width, v->eps);
    }
    w->d->k->add(w->x, w->q, w->n * v->width);
    return CF_OK;
}

static cf_status feed_forward(const work *w, const cf_vision_layer *l,
                              cf_error *err)
{
    const cf_vision *v = w->v;
    size_t n_mid = w->n * v->n_ff;
    norm(w, w->h, w->x, &l->ln2);
    CF_TRY(cf_dense_linear(w->d, w->up, w->h, w->n, &l->up, err));
    if (l->gate.w.p != NULL) {
        CF_TRY(cf_dense_linear(w->d, w->gate, w->h, w->n, &l->gate, err));
        cf_dense_act(w->d, w->gate, n_mid, v->act);
        for (size_t i = 0; i < n_mid; i++) {
            w->up[i] *= w->gate[i];
        }
    } else {
        cf_dense_act(w->d, w->up, n_mid, v->act);
    }
    CF_TRY(cf_dense_linear(w->d, w->q, w->up, w->n, &l->down, err));
    if (l->ffn_post_norm != NULL) {
        cf_dense_rms_norm(w->q, w->q, l->ffn_post_norm, w->n, v->width, v->eps);
    }
    w->d->k->add(w->x, w->q, w->n * v->width);
    return CF_OK;
}

/* Deepstack parts read the output of layer i. */
static cf_status deepstack(const work *w, uint32_t i, float *out, cf_error *err)
{
    const cf_vision *v = w->v;
    size_t joined = (size_t)v->merge * v->merge;
    size_t n = w->n / joined, row = cf_vision_row_width(v);
    for (uint32_t j = 0; j < v->n_merger; j++) {
        const cf_merger *m = &v->merger[j];
        if (m->layer != i) {
            continue;
        }
        cf_dense_layer_norm(w->h, w->x, m->norm.w, m->norm.b, n,
                            v->width * joined, v->eps);
        float *rows = cf_calloc(n * v->n_out, sizeof *rows);
        if (rows == NULL) {
            return cf_oom_for(err, "a projector's activations");
        }
        cf_status st =
            cf_vision__merge(v, w->d, rows, w->h, w->n, &m->fc1, &m->fc2, err);
        for (size_t t = 0; t < n; t++) {
            memcpy(out + t * row + (j + 1) * v->n_out, rows + t * v->n_out,
                   v->n_out * sizeof *rows);
        }
        cf_free(rows);
        CF_TRY(st);
    }
    return CF_OK;
}

static cf_status run(work *w, const cf_vision_block *b, float *out,
                     cf_error *err)
{
    const cf_vision *v = w->v;
    CF_TRY(embed(v, w->d, w->x, b, w->q, err));
    if (w->turn != NULL) {
        fill_turn(w);
    }
    for (uint32_t i = 0; i < v->n_layer; i++) {
        CF_TRY(attention(w, &v->layer[i], err));
        CF_TRY(feed_forward(w, &v->layer[i], err));
        CF_TRY(deepstack(w, i, out, err));
        cf_dense_step(w->d);
    }
    size_t n = (size_t)b->cols * b->rows, row = cf_vision_row_width(v);
    float *main_part = cf_calloc(n * v->n_out, sizeof *main_part);
    if (main_part == NULL) {
        return cf_oom_for(err, "a projector's activations");
    }
    cf_status st = v->family->project(v, w->d, main_part, w->x, b, err);
    for (size_t t = 0; t < n; t++) {
        memcpy(out + t * row, main_part + t * v->n_out, v->n_out * sizeof *out);
    }
    cf_free(main_part);
    return st;
}

cf_status cf_vision_encode(const cf_vision *v, const cf_dense *d, float *out,
                           const cf_vision_block *b, cf_error *err)
{
    work w = {.v = v, .d = d, .cols = b->cols * v->merge};
    w.n = (size_t)b->cols * b->rows * v->merge * v->merge;
    bool turns = v->family->is_gemma4 || v->family->has_mrope;
    size_t n_x = w.n * v->width, n_mid = w.n * v->n_ff;
    size_t n_turn = turns ? w.n * (v->width / v->n_head) : 0;
    size_t n_gate = v->family->is_gemma4 ? n_mid : 0;
    float *all = cf_calloc(5 * n_x + n_mid + n_gate + n_turn, sizeof *all);
    if (all == NULL) {
        return cf_oom_for(err, "an encoder's activations");
    }
    w.x = all;
    w.h = w.x + n_x;
    w.q = w.h + n_x;
    w.k = w.q + n_x;
    w.val = w.k + n_x;
    w.up = w.val + n_x;
    w.gate = w.up + n_mid;
    w.turn = turns ? w.gate + n_gate : NULL;
    cf_status st = run(&w, b, out, err);
    cf_free(all);
    return st;
}
