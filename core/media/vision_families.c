/*
 * vision_families.c - where the families differ: their own keys and tensors,
 * the positions of patches, the projector.
 *
 * Sources: the model code of Hugging Face transformers for each family; the
 * names of keys and tensors are those of converted files (gguf-py, "clip").
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/media/vision_cut.h"

/* ---- what each file has ------------------------------------------------- */

static cf_status need_post_ln(const cf_vision *v, cf_error *err)
{
    return v->post_ln.w != NULL
               ? CF_OK
               : cf_fail(err, CF_EFORMAT, "the tensor v.post_ln.weight is missing");
}

/* The table of positions is for a square of patches. */
static cf_status need_square(const cf_vision *v, cf_error *err)
{
    return (uint64_t)v->pos_side * v->pos_side == v->n_pos
               ? CF_OK
               : cf_fail(err, CF_EFORMAT, "%u positions are not a square", (unsigned)v->n_pos);
}

/* Every block has the trained size. */
static cf_status need_whole(const cf_vision *v, cf_error *err)
{
    uint32_t side = v->image_size / v->patch;
    if (v->image_size % (v->patch * v->merge) != 0 || v->n_pos != side * side) {
        return cf_fail(err, CF_EFORMAT,
                       "an image of %u is not %u positions of patches of %u "
                       "joined by %u",
                       (unsigned)v->image_size, (unsigned)v->n_pos, (unsigned)v->patch,
                       (unsigned)v->merge);
    }
    return need_post_ln(v, err);
}

/* The matrix as float32, rows and columns exchanged. */
static cf_status transpose(cf_mmproj *m, cf_linear *l, cf_error *err)
{
    uint32_t n_row = l->w.n_col, n_col = l->w.n_row;
    float *to = cf_arena_calloc(&m->arena, (size_t)n_row * n_col, sizeof *to);
    float *row = cf_calloc(n_row, sizeof *row);
    if (to == NULL || row == NULL) {
        cf_free(row);
        return cf_oom_for(err, "a projector's tensors");
    }
    for (size_t c = 0; c < n_col; c++) {
        cf_dtype_to_f32(l->w.type, row, (const unsigned char *)l->w.p + c * l->w.row_bytes, n_row);
        for (size_t r = 0; r < n_row; r++) {
            to[r * n_col + c] = row[r];
        }
    }
    cf_free(row);
    l->w = (cf_mat){to, CF_F32, n_row, n_col, n_col * sizeof(float)};
    return CF_OK;
}

static cf_status load_gemma3(cf_vision *v, cf_mmproj *m, cf_error *err)
{
    uint32_t n_out = 0;
    CF_TRY(need_whole(v, err));
    CF_TRY(cf_mmproj_need_u32(m, "clip.vision.projection_dim", 1, 1 << 16, &n_out, err));
    CF_TRY(cf_mmproj_vec(m, &v->out_norm.w, "mm.soft_emb_norm.weight", v->width, err));
    CF_TRY(cf_mmproj_linear(m, &v->fc1, "mm.input_projection", v->width, n_out, err));
    CF_TRY(transpose(m, &v->fc1, err));
    v->n_out = n_out;
    return CF_OK;
}

static cf_status load_idefics3(cf_vision *v, cf_mmproj *m, cf_error *err)
{
    CF_TRY(need_whole(v, err));
    v->longest = v->image_size;
    CF_TRY(cf_mmproj_u32(m, "clip.vision.preproc_image_size", 16, 1 << 14, &v->longest, err));
    CF_TRY(cf_mmproj_linear(m, &v->fc1, "mm.model.fc", 0, v->width * v->merge * v->merge, err));
    v->n_out = v->fc1.w.n_row;
    return CF_OK;
}

static cf_status load_lfm2(cf_vision *v, cf_mmproj *m, cf_error *err)
{
    uint32_t joined = v->width * v->merge * v->merge;
    uint32_t square = v->patch * v->merge * v->patch * v->merge;
    CF_TRY(need_post_ln(v, err));
    CF_TRY(need_square(v, err));
    v->min_pixels = 64 * square;
    v->max_pixels = 256 * square;
    v->min_tiles = 2;
    v->max_tiles = 10;
    CF_TRY(cf_mmproj_u32(m, "clip.vision.preproc_min_tiles", 1, 64, &v->min_tiles, err));
    CF_TRY(cf_mmproj_u32(m, "clip.vision.preproc_max_tiles", 1, 64, &v->max_tiles, err));
    CF_TRY(cf_mmproj_vec(m, &v->out_norm.w, "mm.input_norm.weight", joined, err));
    CF_TRY(cf_mmproj_vec(m, &v->out_norm.b, "mm.input_norm.bias", joined, err));
    CF_TRY(cf_mmproj_linear(m, &v->fc1, "mm.1", 0, joined, err));
    CF_TRY(cf_mmproj_linear(m, &v->fc2, "mm.2", 0, v->fc1.w.n_row, err));
    v->n_out = v->fc2.w.n_row;
    return CF_OK;
}

static cf_status load_merger(cf_vision *v, cf_mmproj *m, uint32_t layer, cf_error *err)
{
    uint32_t joined = v->width * v->merge * v->merge;
    char name[64];
    if (v->n_merger == CF_DEEPSTACK_MAX) {
        return cf_fail(err, CF_EUNSUPPORTED, "more than %d deepstack layers", CF_DEEPSTACK_MAX);
    }
    cf_merger *to = &v->merger[v->n_merger];
    to->layer = layer;
    snprintf(name, sizeof name, "v.deepstack.%u.norm.weight", (unsigned)layer);
    CF_TRY(cf_mmproj_vec(m, &to->norm.w, name, joined, err));
    snprintf(name, sizeof name, "v.deepstack.%u.norm.bias", (unsigned)layer);
    CF_TRY(cf_mmproj_vec(m, &to->norm.b, name, joined, err));
    snprintf(name, sizeof name, "v.deepstack.%u.fc1", (unsigned)layer);
    CF_TRY(cf_mmproj_linear(m, &to->fc1, name, 0, joined, err));
    snprintf(name, sizeof name, "v.deepstack.%u.fc2", (unsigned)layer);
    CF_TRY(cf_mmproj_linear(m, &to->fc2, name, v->n_out, to->fc1.w.n_row, err));
    v->n_merger++;
    return CF_OK;
}

static cf_status load_qwen3vl(cf_vision *v, cf_mmproj *m, cf_error *err)
{
    CF_TRY(need_post_ln(v, err));
    CF_TRY(need_square(v, err));
    v->merge = 2;
    CF_TRY(cf_mmproj_u32(m, "clip.vision.spatial_merge_size", 1, 8, &v->merge, err));
    v->min_pixels = 65536;
    v->max_pixels = 16777216;
    CF_TRY(cf_mmproj_u32(m, "clip.vision.image_min_pixels", 1, 1 << 26, &v->min_pixels, err));
    CF_TRY(cf_mmproj_u32(m, "clip.vision.image_max_pixels", v->min_pixels, 1 << 26, &v->max_pixels,
                         err));
    CF_TRY(cf_mmproj_matrix(m, &v->patch_embd_2.w, "v.patch_embd.weight.1", v->width,
                            v->patch * v->patch * 3, err));
    uint32_t joined = v->width * v->merge * v->merge;
    CF_TRY(cf_mmproj_linear(m, &v->fc1, "mm.0", 0, joined, err));
    CF_TRY(cf_mmproj_linear(m, &v->fc2, "mm.2", 0, v->fc1.w.n_row, err));
    v->n_out = v->fc2.w.n_row;
    const cf_gguf_value *flags = cf_gguf_find(m->g, "clip.vision.is_deepstack_layers");
    for (uint32_t i = 0; flags != NULL && i < v->n_layer; i++) {
        if (flags->type != CF_GGUF_ARRAY || flags->item != CF_GGUF_BOOL || flags->n != v->n_layer) {
            return cf_fail_at(err, CF_EFORMAT, flags->off,
                              "clip.vision.is_deepstack_layers is not a flag "
                              "for each layer");
        }
        if (cf_gguf_item_i64(flags, i) != 0) {
            CF_TRY(load_merger(v, m, i, err));
        }
    }
    return CF_OK;
}

static cf_status load_gemma4(cf_vision *v, cf_mmproj *m, cf_error *err)
{
    if (v->n_pos % 2 != 0 || v->width / v->n_head % 4 != 0) {
        return cf_fail(err, CF_EFORMAT,
                       "the table of positions is not two, or heads cannot be "
                       "turned by quarters");
    }
    v->n_pos /= 2;
    CF_TRY(cf_mmproj_opt_vec(m, &v->out_bias, "v.std_bias", v->width, err));
    CF_TRY(cf_mmproj_opt_vec(m, &v->out_scale, "v.std_scale", v->width, err));
    CF_TRY(cf_mmproj_linear(m, &v->fc1, "mm.input_projection", 0, v->width, err));
    v->n_out = v->fc1.w.n_row;
    return CF_OK;
}

/* ---- positions ---------------------------------------------------------- */

static void add_scaled(float *x, const float *p, size_t n, double by)
{
    for (size_t c = 0; c < n; c++) {
        x[c] += (float)by * p[c];
    }
}

/* One row a patch, in the order of patches. */
static void place_each(const cf_vision *v, float *x, size_t i, uint32_t cols, uint32_t rows)
{
    (void)cols;
    (void)rows;
    add_scaled(x, v->pos + i * v->width, v->width, 1);
}

/* Bilinear on the square of learned positions, corners on corners. */
static void place_corners(const cf_vision *v, float *x, size_t i, uint32_t cols, uint32_t rows)
{
    uint32_t last = v->pos_side - 1, col, row;
    cf_vision__patch_at(v, cols, i, &col, &row);
    double at[2] = {cols > 1 ? (double)col * last / (cols - 1) : 0,
                    rows > 1 ? (double)row * last / (rows - 1) : 0};
    for (int corner = 0; corner < 4; corner++) {
        size_t cell[2];
        double by = 1;
        for (int axis = 0; axis < 2; axis++) {
            double low = floor(at[axis]), part = at[axis] - low;
            bool is_high = (corner >> axis & 1) != 0;
            uint32_t c = (uint32_t)low + (is_high ? 1 : 0);
            cell[axis] = c < last ? c : last;
            by *= is_high ? part : 1 - part;
        }
        add_scaled(x, v->pos + (cell[1] * v->pos_side + cell[0]) * v->width, v->width, by);
    }
}

/* Weights of the triangle around patch i of n on a side of `side`, centres at
 * half pixels, widened when shrinking; from *first on, *count of them. */
static void triangle_weights(uint32_t i, uint32_t n, uint32_t side, uint32_t *first, uint32_t *end,
                             double *sum)
{
    double scale = (double)side / n, widen = fmax(scale, 1);
    double centre = (i + 0.5) * scale;
    double low = fmax(0, centre - widen + 0.5);
    *first = (uint32_t)low;
    *end = (uint32_t)fmin(side, centre + widen + 0.5);
    *sum = 0;
    for (uint32_t j = *first; j < *end; j++) {
        *sum += fmax(0, 1 - fabs((j + 0.5 - centre) / widen));
    }
}

static double triangle_weight(uint32_t i, uint32_t n, uint32_t side, uint32_t j)
{
    double scale = (double)side / n, widen = fmax(scale, 1);
    return fmax(0, 1 - fabs((j + 0.5 - (i + 0.5) * scale) / widen));
}

static void place_centres(const cf_vision *v, float *x, size_t i, uint32_t cols, uint32_t rows)
{
    uint32_t side = v->pos_side, x0, x1, y0, y1;
    uint32_t col = (uint32_t)(i % cols), row = (uint32_t)(i / cols);
    double sum_x, sum_y;
    triangle_weights(col, cols, side, &x0, &x1, &sum_x);
    triangle_weights(row, rows, side, &y0, &y1, &sum_y);
    for (uint32_t t = y0; t < y1; t++) {
        double by = triangle_weight(row, rows, side, t) / sum_y / sum_x;
        for (uint32_t s = x0; s < x1; s++) {
            add_scaled(x, v->pos + ((size_t)t * side + s) * v->width, v->width,
                       by * triangle_weight(col, cols, side, s));
        }
    }
}

/* A row for the column from the first table, one for the row from the
 * second. */
static void place_tables(const cf_vision *v, float *x, size_t i, uint32_t cols, uint32_t rows)
{
    (void)rows;
    size_t col = i % cols, row = i / cols;
    col = col < v->n_pos ? col : v->n_pos - 1;
    row = row < v->n_pos ? row : v->n_pos - 1;
    add_scaled(x, v->pos + col * v->width, v->width, 1);
    add_scaled(x, v->pos + (v->n_pos + row) * v->width, v->width, 1);
}

/* ---- projectors --------------------------------------------------------- */

static void post_norm(const cf_vision *v, const cf_dense *d, float *x, const cf_vision_block *b)
{
    cf_dense_layer_norm(d, x, x, v->post_ln.w, v->post_ln.b,
                        (size_t)b->cols * b->rows * v->merge * v->merge, v->width, v->eps);
}

/* The mean over squares of merge x merge patches, at the start of x. */
static void pool(const cf_vision *v, const cf_dense *d, float *x, const cf_vision_block *b)
{
    size_t k = v->merge, width = v->width, cols = b->cols * k;
    float *row = x; /* the first patch of a square is not before its row */
    for (size_t i = 0; i < (size_t)b->cols * b->rows && !cf_stop_now(d->stop); i++, row += width) {
        size_t x0 = i % b->cols * k, y0 = i / b->cols * k;
        for (size_t c = 0; c < width; c++) {
            double sum = 0;
            for (size_t j = 0; j < k * k; j++) {
                size_t at = (y0 + j / k) * cols + x0 + j % k;
                sum += (double)x[at * width + c];
            }
            row[c] = (float)(sum / (double)(k * k));
        }
    }
}

static cf_status project_gemma3(const cf_vision *v, const cf_dense *d, float *out, float *x,
                                const cf_vision_block *b, cf_error *err)
{
    size_t n = (size_t)b->cols * b->rows;
    post_norm(v, d, x, b);
    pool(v, d, x, b);
    cf_dense_rms_norm(d, x, x, v->out_norm.w, n, v->width, v->eps);
    return cf_dense_linear(d, out, x, n, &v->fc1, err);
}

static cf_status project_gemma4(const cf_vision *v, const cf_dense *d, float *out, float *x,
                                const cf_vision_block *b, cf_error *err)
{
    size_t n = (size_t)b->cols * b->rows;
    float by = (float)sqrt((double)v->width);
    pool(v, d, x, b);
    for (size_t i = 0; i < n * v->width; i++) {
        size_t c = i % v->width;
        x[i] = (x[i] * by - (v->out_bias != NULL ? v->out_bias[c] : 0)) *
               (v->out_scale != NULL ? v->out_scale[c] : 1);
    }
    cf_dense_rms_norm(d, x, x, NULL, n, v->width, v->eps);
    return cf_dense_linear(d, out, x, n, &v->fc1, err);
}

/* Squares of merge x merge patches side by side; NULL when memory runs out. */
static float *joined(const cf_vision *v, const cf_dense *d, const float *x,
                     const cf_vision_block *b)
{
    size_t k = v->merge, width = v->width, cols = b->cols * k;
    float *to = cf_calloc((size_t)b->cols * b->rows * k * k * width, sizeof *to);
    float *at = to;
    size_t n = (size_t)b->cols * b->rows;
    for (size_t i = 0; to != NULL && i < n && !cf_stop_now(d->stop); i++) {
        for (size_t j = 0; j < k * k; j++, at += width) {
            size_t col = i % b->cols * k + j % k, row = i / b->cols * k + j / k;
            memcpy(at, x + (row * cols + col) * width, width * sizeof *to);
        }
    }
    return to;
}

static cf_status project_idefics3(const cf_vision *v, const cf_dense *d, float *out, float *x,
                                  const cf_vision_block *b, cf_error *err)
{
    post_norm(v, d, x, b);
    float *squares = joined(v, d, x, b);
    if (squares == NULL) {
        return cf_oom_for(err, "a projector's activations");
    }
    cf_status st = cf_dense_linear(d, out, squares, (size_t)b->cols * b->rows, &v->fc1, err);
    cf_free(squares);
    return st;
}

cf_status cf_vision__merge(const cf_vision *v, const cf_dense *d, float *out, const float *x,
                           size_t n_patch, const cf_linear *fc1, const cf_linear *fc2,
                           cf_error *err)
{
    size_t n = n_patch / (v->merge * v->merge);
    float *mid = cf_calloc(n * fc1->w.n_row, sizeof *mid);
    if (mid == NULL) {
        return cf_oom_for(err, "a projector's activations");
    }
    cf_status st = cf_dense_linear(d, mid, x, n, fc1, err);
    cf_dense_act(d, mid, n * fc1->w.n_row, CF_ACT_GELU_ERF);
    CF_THEN(st, cf_dense_linear(d, out, mid, n, fc2, err));
    cf_free(mid);
    return st;
}

static cf_status project_lfm2(const cf_vision *v, const cf_dense *d, float *out, float *x,
                              const cf_vision_block *b, cf_error *err)
{
    size_t n = (size_t)b->cols * b->rows;
    post_norm(v, d, x, b);
    float *squares = joined(v, d, x, b);
    if (squares == NULL) {
        return cf_oom_for(err, "a projector's activations");
    }
    cf_dense_layer_norm(d, squares, squares, v->out_norm.w, v->out_norm.b, n,
                        (size_t)v->width * v->merge * v->merge, 1e-5f);
    cf_status st =
        cf_vision__merge(v, d, out, squares, n * v->merge * v->merge, &v->fc1, &v->fc2, err);
    cf_free(squares);
    return st;
}

static cf_status project_qwen3vl(const cf_vision *v, const cf_dense *d, float *out, float *x,
                                 const cf_vision_block *b, cf_error *err)
{
    post_norm(v, d, x, b);
    return cf_vision__merge(v, d, out, x, (size_t)b->cols * b->rows * v->merge * v->merge, &v->fc1,
                            &v->fc2, err);
}

const cf_vision_family cf_vision_families[] = {
    {"gemma3", false, false, true, load_gemma3, cf_cut_square, place_each, project_gemma3},
    {"qwen3vl_merger", false, true, false, load_qwen3vl, cf_cut_cubic, place_corners,
     project_qwen3vl},
    {"idefics3", false, false, false, load_idefics3, cf_cut_tiles, place_each, project_idefics3},
    {"gemma4v", true, false, true, load_gemma4, cf_cut_budget, place_tables, project_gemma4},
    {"lfm2", false, false, false, load_lfm2, cf_cut_linear, place_centres, project_lfm2},
    {NULL, false, false, false, NULL, NULL, NULL, NULL}};
