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
#include "core/media/vision_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

/* ---- the file ----------------------------------------------------------- */

static cf_status load_qkv(const cf_vision *v, cf_mmproj *m, cf_vision_layer *l, const char *prefix,
                          cf_error *err)
{
    char full[64];
    snprintf(full, sizeof full, "%sattn_qkv.weight", prefix);
    if (cf_mmproj_has(m, full)) {
        cf_linear all;
        CF_TRY(cf_vision__load_linear(m, &all, prefix, "attn_qkv", 3 * v->width, v->width, err));
        l->q = cf_linear_slice(&all, 0, v->width);
        l->k = cf_linear_slice(&all, v->width, v->width);
        l->v = cf_linear_slice(&all, 2 * v->width, v->width);
        return CF_OK;
    }
    CF_TRY(cf_vision__load_linear(m, &l->q, prefix, "attn_q", v->width, v->width, err));
    CF_TRY(cf_vision__load_linear(m, &l->k, prefix, "attn_k", v->width, v->width, err));
    return cf_vision__load_linear(m, &l->v, prefix, "attn_v", v->width, v->width, err);
}

/* Older files have the names ffn_up and ffn_down exchanged. */
static cf_status load_ffn(const cf_vision *v, cf_mmproj *m, cf_vision_layer *l, const char *prefix,
                          cf_error *err)
{
    char full[64];
    snprintf(full, sizeof full, "%sffn_down.weight", prefix);
    const cf_gguf_tensor *t = cf_gguf_find_tensor(m->g, full);
    bool swapped = t != NULL && t->dim[0] == v->width && v->width != v->n_ff;
    CF_TRY(cf_vision__load_linear(m, &l->up, prefix, swapped ? "ffn_down" : "ffn_up", v->n_ff,
                                  v->width, err));
    return cf_vision__load_linear(m, &l->down, prefix, swapped ? "ffn_up" : "ffn_down", v->width,
                                  v->n_ff, err);
}

static cf_status load_layer(cf_vision *v, cf_mmproj *m, uint32_t i, cf_error *err)
{
    cf_vision_layer *l = &v->layer[i];
    char prefix[32];
    snprintf(prefix, sizeof prefix, "v.blk.%u.", (unsigned)i);
    CF_TRY(cf_vision__load_norm(m, &l->ln1, prefix, "ln1", v->width, err));
    CF_TRY(cf_vision__load_norm(m, &l->ln2, prefix, "ln2", v->width, err));
    CF_TRY(load_qkv(v, m, l, prefix, err));
    CF_TRY(cf_vision__load_linear(m, &l->o, prefix, "attn_out", v->width, v->width, err));
    CF_TRY(load_ffn(v, m, l, prefix, err));
    return v->family->load_layer != NULL ? v->family->load_layer(v, m, l, prefix, err) : CF_OK;
}

#define ADDRESS(name) &cf_vision_##name,
static const cf_vision_family *const families[] = {CF_VISION_FAMILIES(ADDRESS)};

static cf_status find_family(cf_vision *v, const cf_mmproj *m, cf_error *err)
{
    cf_str name;
    if (!cf_gguf_get_str(m->g, "clip.vision.projector_type", &name) &&
        !cf_gguf_get_str(m->g, "clip.projector_type", &name)) {
        return cf_fail(err, CF_EFORMAT, "the key clip.projector_type is missing");
    }
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        if (cf_str_is(name, families[i]->projector)) {
            v->family = families[i];
            return CF_OK;
        }
    }
    return cf_fail(err, CF_EUNSUPPORTED, "projector type \"%.*s\" is not supported",
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
        CF_TRY(cf_mmproj_need_u32(m, need[i].key, need[i].lo, need[i].hi, need[i].to, err));
    }
    if (v->width % v->n_head != 0 || v->width / v->n_head % 4 != 0) {
        return cf_fail(err, CF_EFORMAT, "a width of %u cannot be shared by %u heads",
                       (unsigned)v->width, (unsigned)v->n_head);
    }
    v->eps = 1e-6f;
    CF_TRY(cf_mmproj_f32(m, "clip.vision.attention.layer_norm_epsilon", &v->eps, err));
    for (int c = 0; c < 3; c++) {
        v->mean[c] = v->std[c] = 0.5f;
    }
    CF_TRY(cf_mmproj_floats(m, "clip.vision.image_mean", v->mean, 3, err));
    CF_TRY(cf_mmproj_floats(m, "clip.vision.image_std", v->std, 3, err));
    for (int c = 0; c < 3; c++) {
        if (!(v->std[c] > 0)) {
            return cf_fail(err, CF_EFORMAT, "clip.vision.image_std is not positive");
        }
    }
    bool flag = false;
    v->act = cf_gguf_get_bool(m->g, "clip.use_gelu", &flag) && flag   ? CF_ACT_GELU
             : cf_gguf_get_bool(m->g, "clip.use_silu", &flag) && flag ? CF_ACT_SILU
                                                                      : CF_ACT_QUICK;
    v->merge = v->family->merge != 0 ? v->family->merge : 1;
    return cf_mmproj_u32(m, "clip.vision.projector.scale_factor", 1, 16, &v->merge, err);
}

static cf_status load_positions(cf_vision *v, cf_mmproj *m, cf_error *err)
{
    const cf_gguf_tensor *t = cf_gguf_find_tensor(m->g, "v.position_embd.weight");
    uint64_t n = t != NULL ? t->dim[1] * t->dim[2] : 0;
    if (n == 0 || n > 1 << 20 || t->dim[0] != v->width) {
        return cf_fail(err, CF_EFORMAT,
                       "the tensor v.position_embd.weight is missing or of "
                       "another width");
    }
    v->n_pos = (uint32_t)n;
    v->pos_side = (uint32_t)lround(sqrt((double)n));
    return cf_mmproj_vec(m, &v->pos, "v.position_embd.weight", n * v->width, err);
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
    CF_TRY(cf_mmproj_linear(m, &v.patch_embd, "v.patch_embd", v.width, v.patch * v.patch * 3, err));
    CF_TRY(load_positions(&v, m, err));
    if (cf_mmproj_has(m, "v.post_ln.weight")) {
        CF_TRY(cf_vision__load_norm(m, &v.post_ln, "v.", "post_ln", v.width, err));
    }
    CF_TRY(v.family->load(&v, m, err));
    *out = v;
    return CF_OK;
}

/* ---- pixels ------------------------------------------------------------- */

cf_status cf_vision_cut(const cf_vision *v, const cf_pixels *p, cf_vision_blocks *out,
                        cf_error *err)
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

/* The 256 values of a channel. */
static void fill_values(const cf_vision *v, float to[256], size_t channel)
{
    for (size_t i = 0; i < 256; i++) {
        to[i] = ((float)i / 255 - v->mean[channel]) / v->std[channel];
    }
}

cf_status cf_vision_normalise(const cf_vision *v, float *out, const cf_pixels *p,
                              const cf_stop *stop, cf_error *err)
{
    float value[3][256];
    for (size_t c = 0; c < 3; c++) {
        fill_values(v, value[c], c);
    }
    size_t width = (size_t)p->w * 3;
    for (size_t y = 0; y < p->h && !cf_stop_now(stop); y++) {
        for (size_t i = y * width; i < (y + 1) * width; i++) {
            out[i] = value[i % 3][p->rgb[i]];
        }
    }
    return cf_stop_check(stop, err);
}

void cf_vision__patch_at(const cf_vision *v, uint32_t cols, size_t i, uint32_t *col, uint32_t *row)
{
    size_t k = v->family->has_mrope ? v->merge : 1;
    size_t square = i / (k * k), in = i % (k * k), wide = cols / k;
    *col = (uint32_t)(square % wide * k + in % k);
    *row = (uint32_t)(square / wide * k + in / k);
}

/* ---- patches ------------------------------------------------------------ */

/* Rows that go through the first matrix and through feed-forward parts at
 * once: a multiple of what a product takes together, so that it is the same
 * as for all rows. */
enum { PIECE = 2048 };

typedef struct work {
    const cf_vision *v;
    const cf_dense *d;
    const cf_vision_block *b;
    uint32_t cols, rows;        /* of patches */
    size_t n;                   /* patches */
    float *x, *h, *q, *k, *val; /* [n, width] */
    float *up, *gate;           /* [PIECE, n_ff or what a patch has] */
    float *spare;               /* [PIECE, width] */
    float *turn;                /* [side, quarters of a head]: cosine, sine */
    float value[3][256];        /* of a byte, by channel */
} work;

/* One patch after the other, shared by threads. */
typedef struct patch_job {
    const work *w;
    void (*fn)(const work *w, size_t i, float *to);
    float *to;
    size_t first, n, width; /* of `to` */
} patch_job;

static void some_patches(void *ud, unsigned part, unsigned n_part)
{
    const patch_job *j = ud;
    size_t begin, end;
    cf_dense__share(j->n, 1, part, n_part, &begin, &end);
    for (size_t i = begin; i < end && !cf_stop_now(j->w->d->stop); i++) {
        j->fn(j->w, j->first + i, j->to + i * j->width);
    }
}

/* Runs fn for patches first..first+n-1; their rows begin at `to`. */
static void each_patch(const work *w, void (*fn)(const work *w, size_t i, float *to), float *to,
                       size_t first, size_t n, size_t width)
{
    patch_job j = {w, fn, to, first, n, width};
    cf_pool_run(w->d->pool, some_patches, &j);
}

/* to [3 * patch * patch]: channel, row, column within the patch. */
static void unfold(const work *w, size_t i, float *to)
{
    const cf_vision *v = w->v;
    size_t side = v->patch, width = w->cols * side;
    uint32_t col, row;
    cf_vision__patch_at(v, w->cols, i, &col, &row);
    for (size_t c = 0; c < 3; c++) {
        for (size_t y = 0; y < side; y++) {
            const unsigned char *from =
                w->b->picture.rgb + ((row * side + y) * width + col * side) * 3 + c;
            for (size_t x = 0; x < side; x++) {
                *to++ = w->value[c][from[3 * x]];
            }
        }
    }
}

static void place(const work *w, size_t i, float *to)
{
    w->v->family->place(w->v, to, i, w->cols, w->rows);
}

static cf_status embed(work *w, cf_error *err)
{
    const cf_vision *v = w->v;
    size_t in = (size_t)v->patch * v->patch * 3;
    for (size_t c = 0; c < 3; c++) {
        fill_values(v, w->value[c], c);
        for (size_t i = 0; v->family->doubles_pixels && i < 256; i++) {
            w->value[c][i] = 2 * w->value[c][i] - 1;
        }
    }
    for (size_t t = 0; t < w->n; t += PIECE) {
        size_t n = w->n - t < PIECE ? w->n - t : PIECE;
        float *x = w->x + t * v->width;
        each_patch(w, unfold, w->up, t, n, in);
        CF_TRY(cf_dense_linear(w->d, x, w->up, n, &v->patch_embd, err));
        if (v->patch_embd_2.w.p != NULL) {
            CF_TRY(cf_dense_linear(w->d, w->spare, w->up, n, &v->patch_embd_2, err));
            cf_dense_add(w->d, x, w->spare, 1, n * v->width);
        }
    }
    each_patch(w, place, w->x, 0, w->n, v->width);
    return CF_OK;
}

/* ---- layers ------------------------------------------------------------- */

static void norm(const work *w, float *out, const float *x, const cf_norm *by)
{
    if (w->v->family->has_rms_norm) {
        cf_dense_rms_norm(w->d, out, x, by->w, w->n, w->v->width, w->v->eps);
    } else {
        cf_dense_layer_norm(w->d, out, x, by->w, by->b, w->n, w->v->width, w->v->eps);
    }
}

/* The angle of pair j of a head at a patch: half of the pairs turn by row or
 * column, half by the other. */
static void fill_turn(work *w)
{
    double base = w->v->family->turn_base > 0 ? w->v->family->turn_base : 10000;
    size_t quarter = w->v->width / w->v->n_head / 4;
    size_t side = w->cols > w->rows ? w->cols : w->rows;
    for (size_t i = 0; i < side * quarter; i++) {
        double angle = (double)(i / quarter) * pow(base, -(double)(i % quarter) / (double)quarter);
        w->turn[2 * i] = (float)cos(angle);
        w->turn[2 * i + 1] = (float)sin(angle);
    }
}

/* Turns pair j of each head: numbers j and j + size / 2, or within each half
 * of the head numbers a quarter apart. */
static void rotate(const work *w, size_t i, float *x)
{
    bool by_quarters = w->v->family->turn == CF_VISION_QUARTERS;
    uint32_t size = w->v->width / w->v->n_head, half = size / 2;
    uint32_t quarter = size / 4, col, row;
    cf_vision__patch_at(w->v, w->cols, i, &col, &row);
    for (uint32_t k = 0; k < w->v->n_head * half; k++) {
        uint32_t j = k % half, a = j, b = j + half;
        if (by_quarters) {
            a = j < quarter ? j : j + quarter;
            b = a + quarter;
        }
        bool by_row = by_quarters == (j >= quarter);
        const float *turn = w->turn + 2 * ((by_row ? row : col) * quarter + j % quarter);
        float *head = x + (size_t)k / half * size;
        float p = head[a], q = head[b];
        head[a] = p * turn[0] - q * turn[1];
        head[b] = q * turn[0] + p * turn[1];
    }
}

static cf_status attention(const work *w, const cf_vision_layer *l, cf_error *err)
{
    const cf_vision *v = w->v;
    uint32_t size = v->width / v->n_head;
    float scale = v->family->attention_scale;
    scale = scale > 0 ? scale : (float)(1 / sqrt((double)size));
    norm(w, w->h, w->x, &l->ln1);
    CF_TRY(cf_dense_linear(w->d, w->q, w->h, w->n, &l->q, err));
    CF_TRY(cf_dense_linear(w->d, w->k, w->h, w->n, &l->k, err));
    CF_TRY(cf_dense_linear(w->d, w->val, w->h, w->n, &l->v, err));
    if (l->q_norm != NULL) {
        size_t heads = w->n * v->n_head;
        cf_dense_rms_norm(w->d, w->q, w->q, l->q_norm, heads, size, v->eps);
        cf_dense_rms_norm(w->d, w->k, w->k, l->k_norm, heads, size, v->eps);
        cf_dense_rms_norm(w->d, w->val, w->val, NULL, heads, size, v->eps);
    }
    if (v->family->turn != CF_VISION_NO_TURN) {
        each_patch(w, rotate, w->q, 0, w->n, v->width);
        each_patch(w, rotate, w->k, 0, w->n, v->width);
    }
    CF_TRY(
        cf_dense_attend(w->d, w->h, w->q, w->k, w->val, w->n, w->n, v->n_head, size, scale, err));
    CF_TRY(cf_dense_linear(w->d, w->q, w->h, w->n, &l->o, err));
    if (l->post_norm != NULL) {
        cf_dense_rms_norm(w->d, w->q, w->q, l->post_norm, w->n, v->width, v->eps);
    }
    cf_dense_add(w->d, w->x, w->q, 1, w->n * v->width);
    return CF_OK;
}

/* Computes a piece of rows at a time, because the intermediate rows are wide. */
static cf_status feed_forward(const work *w, const cf_vision_layer *l, cf_error *err)
{
    const cf_vision *v = w->v;
    norm(w, w->h, w->x, &l->ln2);
    for (size_t t = 0; t < w->n; t += PIECE) {
        size_t n = w->n - t < PIECE ? w->n - t : PIECE, n_mid = n * v->n_ff;
        float *h = w->h + t * v->width;
        CF_TRY(cf_dense_linear(w->d, w->up, h, n, &l->up, err));
        if (l->gate.w.p != NULL) {
            CF_TRY(cf_dense_linear(w->d, w->gate, h, n, &l->gate, err));
            cf_dense_act(w->d, w->gate, n_mid, v->act);
            cf_dense_mul(w->d, w->up, w->gate, n_mid);
        } else {
            cf_dense_act(w->d, w->up, n_mid, v->act);
        }
        CF_TRY(cf_dense_linear(w->d, w->q + t * v->width, w->up, n, &l->down, err));
    }
    if (l->ffn_post_norm != NULL) {
        cf_dense_rms_norm(w->d, w->q, w->q, l->ffn_post_norm, w->n, v->width, v->eps);
    }
    cf_dense_add(w->d, w->x, w->q, 1, w->n * v->width);
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
        cf_dense_layer_norm(w->d, w->h, w->x, m->norm.w, m->norm.b, n, v->width * joined, v->eps);
        float *rows = cf_calloc(n * v->n_out, sizeof *rows);
        if (rows == NULL) {
            return cf_oom_for(err, "a projector's activations");
        }
        cf_status st = cf_vision__merge(v, w->d, rows, w->h, w->n, &m->fc1, &m->fc2, err);
        for (size_t t = 0; t < n; t++) {
            memcpy(out + t * row + (j + 1) * v->n_out, rows + t * v->n_out,
                   v->n_out * sizeof *rows);
        }
        cf_free(rows);
        CF_TRY(st);
    }
    return CF_OK;
}

static cf_status run(work *w, const cf_vision_block *b, float *out, cf_error *err)
{
    const cf_vision *v = w->v;
    CF_TRY(embed(w, err));
    if (v->family->turn != CF_VISION_NO_TURN) {
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
    work w = {.v = v, .d = d, .b = b, .cols = b->cols * v->merge, .rows = b->rows * v->merge};
    w.n = (size_t)w.cols * w.rows;
    bool turns = v->family->turn != CF_VISION_NO_TURN;
    size_t n_x = w.n * v->width, piece = w.n < PIECE ? w.n : PIECE;
    size_t in = (size_t)v->patch * v->patch * 3;
    size_t side = w.cols > w.rows ? w.cols : w.rows;
    const cf_dense_part part[] = {{&w.x, n_x},
                                  {&w.h, n_x},
                                  {&w.q, n_x},
                                  {&w.k, n_x},
                                  {&w.val, n_x},
                                  {&w.up, piece * (v->n_ff > in ? v->n_ff : in)},
                                  {&w.gate, v->layer[0].gate.w.p != NULL ? piece * v->n_ff : 0},
                                  {&w.spare, v->patch_embd_2.w.p != NULL ? piece * v->width : 0},
                                  {&w.turn, turns ? side * (v->width / v->n_head / 4) * 2 : 0}};
    float *all = cf_dense_parts(part, sizeof part / sizeof part[0]);
    if (all == NULL) {
        return cf_oom_for(err, "an encoder's activations");
    }
    cf_status st = run(&w, b, out, err);
    cf_free(all);
    return st;
}
