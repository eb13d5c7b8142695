/*
 * media.c - a projector file at work: bytes of a picture or sound to rows, with
 * the markers that belong around them.
 */
#include "core/api/media.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/base/os.h"
#include "core/media/audio.h"
#include "core/media/vision.h"

enum { FFN_ROWS = 2048 }; /* that vision.c computes at once */

struct cf_media {
    const cf_engine *engine;
    cf_mmproj file;
    cf_vision vision; /* without a family if the file has no such encoder */
    cf_audio audio;
    cf_pool *pool;
    const cf_kernels *k;
    cf_blas blas;
    void (*progress)(void *ud, size_t done, size_t total);
    void *ud;
};

/* ---- the file ----------------------------------------------------------- */

static cf_status check_width(const cf_media *m, uint32_t n_out, cf_error *err)
{
    cf_engine_info info = cf_engine_get_info(m->engine);
    return n_out == info.n_embd ? CF_OK
                                : cf_fail(err, CF_EUNSUPPORTED,
                                          "the projector gives rows of %u numbers and the model "
                                          "reads %u: it was made for another model",
                                          (unsigned)n_out, (unsigned)info.n_embd);
}

/* Rows must be as wide as the model and have as many deepstack parts as it reads. */
static cf_status check_pair(const cf_media *m, cf_error *err)
{
    cf_engine_info info = cf_engine_get_info(m->engine);
    CF_TRY(check_width(m, m->vision.n_out, err));
    if (m->vision.n_merger != info.n_deepstack) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "the projector gives %u deepstack parts and the model "
                       "reads %u: it was made for another model",
                       (unsigned)m->vision.n_merger, (unsigned)info.n_deepstack);
    }
    return CF_OK;
}

/* If a file has both encoders, it is enough that confab supports one. */
static cf_status load_encoders(cf_media *m, cf_error *err)
{
    bool hears = cf_audio_is_in(&m->file), sees = false;
    if (!cf_gguf_get_bool(m->file.g, "clip.has_vision_encoder", &sees)) {
        sees = !hears;
    }
    if (sees) {
        cf_status st = cf_vision_init(&m->vision, &m->file, err);
        CF_THEN(st, check_pair(m, err));
        if (st != CF_OK && (m->vision.family != NULL || !hears || st != CF_EUNSUPPORTED)) {
            return st;
        }
    }
    if (hears) {
        cf_status st = cf_audio_init(&m->audio, &m->file, err);
        CF_THEN(st, check_width(m, m->audio.n_out, err));
        if (st != CF_OK &&
            (m->audio.family != NULL || m->vision.family == NULL || st != CF_EUNSUPPORTED)) {
            return st;
        }
    }
    return sees || hears ? CF_OK : cf_fail(err, CF_EFORMAT, "the projector has no encoder");
}

static cf_status start(cf_media *m, cf_error *err)
{
    cf_engine_info info = cf_engine_get_info(m->engine);
    /* The kernels with 8-bit activations are for the text model only. */
    m->k = cf_kernels_pick(info.arithmetic == CF_ARITHMETIC_EXACT ? "ref" : info.kernel_set);
    if (m->k == NULL) {
        m->k = cf_kernels_ref();
    }
    if (info.encoder_blas != CF_BLAS_OFF) {
        cf_blas_open(&m->blas, m->k, info.encoder_blas == CF_BLAS_ON);
    }
    CF_TRY(load_encoders(m, err));
    return cf_pool_new(&m->pool, info.n_threads > 0 ? info.n_threads : 1, err);
}

cf_status cf_media_open(cf_media **out, const cf_engine *engine, const char *path, cf_error *err)
{
    cf_media *m = cf_calloc(1, sizeof *m);
    if (m == NULL) {
        return cf_oom_for(err, "a projector");
    }
    m->engine = engine;
    cf_status st = cf_mmproj_open(&m->file, path, err);
    CF_THEN(st, start(m, err));
    if (st != CF_OK) {
        cf_media_close(m);
        return cf_fail_in(err, st, path);
    }
    *out = m;
    return CF_OK;
}

void cf_media_close(cf_media *m)
{
    if (m == NULL) {
        return;
    }
    cf_pool_free(m->pool);
    cf_blas_close(&m->blas);
    if (m->file.g != NULL) {
        cf_mmproj_close(&m->file);
    }
    cf_free(m);
}

static cf_dense dense(const cf_media *m, const cf_stop *stop)
{
    return (cf_dense){.k = m->k,
                      .pool = m->pool,
                      .stop = stop,
                      .blas = cf_blas_serves(&m->blas) ? &m->blas : NULL};
}

const char *cf_media_projector(const cf_media *m)
{
    return m->vision.family != NULL ? m->vision.family->projector : m->audio.family->projector;
}

/* Total size of the tensors of an encoder and its projector. */
static uint64_t tensor_bytes(const cf_media *m, bool is_sound)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < cf_gguf_n_tensors(m->file.g); i++) {
        const cf_gguf_tensor *t = cf_gguf_tensor_at(m->file.g, i);
        bool is_its = cf_str_starts(t->name, cf_str_from("a.")) ||
                      cf_str_starts(t->name, cf_str_from("mm.a."));
        sum += is_its == is_sound ? t->bytes : 0;
    }
    return sum;
}

/* Five arrays of rows, and what lies between the matrices of the feed-forward
 * part: the encoders' own arrays, without those of products. */
static void add_memory(const cf_media *m, cf_media_encoder *e)
{
    uint64_t n = e->n_most;
    e->file_bytes = tensor_bytes(m, e->is_sound);
    e->block_bytes =
        sizeof(float) * (5 * n * e->width + 2 * (n < FFN_ROWS ? n : FFN_ROWS) * (uint64_t)e->n_ff);
}

size_t cf_media_encoders(const cf_media *m, cf_media_encoder out[CF_MEDIA_ENCODERS_MAX])
{
    size_t n = 0;
    const cf_vision *v = &m->vision;
    const cf_audio *a = &m->audio;
    if (v->family != NULL) {
        out[n++] = (cf_media_encoder){.projector = v->family->projector,
                                      .n_layer = v->n_layer,
                                      .width = v->width,
                                      .n_head = v->n_head,
                                      .n_ff = v->n_ff,
                                      .n_out = v->n_out,
                                      .patch = v->patch,
                                      .image_size = v->image_size,
                                      .n_most = cf_vision_most_patches(v)};
    }
    if (a->family != NULL) {
        out[n++] = (cf_media_encoder){.is_sound = true,
                                      .projector = a->family->projector,
                                      .n_layer = a->n_layer,
                                      .width = a->width,
                                      .n_head = a->n_head,
                                      .n_ff = a->n_ff,
                                      .n_out = a->n_out,
                                      .n_most = a->family->encoder->n_most};
    }
    for (size_t i = 0; i < n; i++) {
        add_memory(m, &out[i]);
    }
    return n;
}

/* ---- markers ------------------------------------------------------------ */

typedef struct making {
    cf_media *m;
    cf_arena *arena;
    cf_media_input *to;
    cf_media_piece *piece;
    const cf_media_marks *marks;
    const cf_vision_blocks *blocks;
} making;

static cf_status put_text(making *mk, cf_str text, cf_error *err)
{
    if (text.n == 0) {
        return CF_OK;
    }
    cf_token_list list;
    CF_TRY(cf_tokenizer_encode(&list, cf_engine_tokenizer(mk->m->engine), text, true, false,
                               mk->arena, err));
    cf_token *ids = cf_arena_calloc(mk->arena, list.n + 1, sizeof *ids);
    if (ids == NULL) {
        return cf_oom_for(err, "an image's markers");
    }
    for (size_t i = 0; i < list.n; i++) {
        ids[i] = list.v[i].id;
    }
    /* The line feed that ends a row of tiles is a piece of its own, unless the
     * vocabulary has a token for it and the next one. */
    size_t n_end =
        text.p[0] == '\n' && mk->blocks->tile_cols > 0 && list.n > 1 && list.v[0].len == 1 ? 1 : 0;
    char *kept = cf_arena_strndup(mk->arena, text.p, text.n);
    if (kept == NULL) {
        return cf_oom_for(err, "an image's markers");
    }
    if (n_end > 0) {
        mk->piece[mk->to->n_piece++] = (cf_media_piece){ids, n_end, 0, cf_str_make(kept, 1)};
    }
    mk->piece[mk->to->n_piece++] =
        (cf_media_piece){ids + n_end, list.n - n_end, 0, cf_str_make(kept + n_end, text.n - n_end)};
    return CF_OK;
}

static void put_block(making *mk, size_t i)
{
    mk->piece[mk->to->n_piece++] =
        (cf_media_piece){NULL, 0, (uint32_t)i, cf_str_from(mk->marks->row)};
}

/* The text before block i. */
static void text_before(const making *mk, cf_buf *text, size_t i)
{
    const cf_tile_marks *t = mk->marks->tiles;
    uint32_t cols = mk->blocks->tile_cols;
    bool is_last = i + 1 == mk->blocks->n;
    if (i == 0) {
        cf_buf_adds(text, mk->marks->before);
    }
    if (t == NULL || cols == 0) {
        cf_buf_adds(text, t != NULL ? t->alone : "");
        return;
    }
    if (t->has_lines && i > 0 && i % cols == 0) {
        cf_buf_adds(text, is_last ? "\n\n" : "\n");
    }
    if (is_last) {
        cf_buf_adds(text, t->whole);
    } else {
        cf_buf_addf(text, "%s%u_col_%u%s", t->begin, (unsigned)(i / cols + 1),
                    (unsigned)(i % cols + 1), t->end);
    }
}

static cf_status put_pieces(making *mk, cf_error *err)
{
    size_t n = mk->blocks->n;
    cf_status st = CF_OK;
    mk->piece = cf_arena_calloc(mk->arena, 3 * n + 2, sizeof *mk->piece);
    if (mk->piece == NULL) {
        return cf_oom_for(err, "an image's markers");
    }
    mk->to->piece = mk->piece;
    cf_buf text = CF_BUF_INIT;
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        cf_buf_reset(&text);
        text_before(mk, &text, i);
        st = cf_buf_check(&text, err);
        CF_THEN(st, put_text(mk, cf_buf_str(&text), err));
        if (st == CF_OK) {
            put_block(mk, i);
        }
    }
    CF_THEN(st, put_text(mk, cf_str_from(mk->marks->after), err));
    cf_buf_deinit(&text);
    return st;
}

/* ---- rows --------------------------------------------------------------- */

static cf_status put_blocks(making *mk, cf_error *err)
{
    const cf_vision *v = &mk->m->vision;
    const cf_vision_blocks *from = mk->blocks;
    cf_media_block *block = cf_arena_calloc(mk->arena, from->n, sizeof *block);
    if (block == NULL) {
        return cf_oom_for(err, "an image");
    }
    for (size_t i = 0; i < from->n; i++) {
        const cf_pixels *p = &from->v[i].picture;
        float *data = cf_arena_alloc(mk->arena, (size_t)p->w * p->h * 3 * sizeof *data);
        if (data == NULL) {
            return cf_oom_for(err, "an image");
        }
        CF_TRY(cf_vision_normalise(v, data, p, from->stop, err));
        block[i] = (cf_media_block){.width = p->w,
                                    .height = p->h,
                                    .cols = from->v[i].cols,
                                    .rows = from->v[i].rows,
                                    .data = data,
                                    .row0 = mk->to->n_row};
        mk->to->n_row += (size_t)block[i].cols * block[i].rows;
    }
    mk->to->block = block;
    mk->to->n_block = from->n;
    return CF_OK;
}

static cf_status put_rows(making *mk, const cf_stop *stop, cf_error *err)
{
    const cf_vision *v = &mk->m->vision;
    cf_dense_steps steps = {mk->m->progress, mk->m->ud, 0, v->n_layer * mk->blocks->n};
    cf_dense d = dense(mk->m, stop);
    d.steps = &steps;
    size_t width = cf_vision_row_width(v);
    float *rows = cf_arena_calloc(mk->arena, mk->to->n_row * width, sizeof *rows);
    if (rows == NULL) {
        return cf_oom_for(err, "an image's rows");
    }
    for (size_t i = 0; i < mk->blocks->n; i++) {
        CF_TRY(
            cf_vision_encode(v, &d, rows + mk->to->block[i].row0 * width, &mk->blocks->v[i], err));
    }
    mk->to->rows = rows;
    mk->to->row_width = width;
    return CF_OK;
}

static cf_status make_picture(cf_media *m, cf_media_input *to, cf_str bytes, bool with_rows,
                              const cf_stop *stop, cf_error *err)
{
    cf_pixels p;
    cf_vision_blocks blocks = {.stop = stop};
    if (m->vision.family == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "the projector \"%s\" reads sounds, and this is not "
                       "one",
                       cf_media_projector(m));
    }
    CF_TRY(cf_pixels_read(&p, bytes, stop, err));
    memcpy(to->mean, m->vision.mean, sizeof to->mean);
    memcpy(to->std, m->vision.std, sizeof to->std);
    to->width = p.w;
    to->height = p.h;
    to->n_deepstack = m->vision.n_merger;
    to->has_mrope = m->vision.family->has_mrope;
    to->sees_both_ways = m->vision.family->sees_both_ways;
    cf_status st = cf_vision_cut(&m->vision, &p, &blocks, err);
    cf_pixels_deinit(&p);
    to->patch = m->vision.patch;
    to->tile_cols = blocks.tile_cols;
    to->tile_rows = blocks.tile_rows;
    making mk = {.m = m,
                 .arena = to->memory,
                 .to = to,
                 .blocks = &blocks,
                 .marks = &m->vision.family->marks};
    CF_THEN(st, put_blocks(&mk, err));
    CF_THEN(st, put_pieces(&mk, err));
    uint64_t from = cf_os_monotonic_us();
    if (with_rows) {
        CF_THEN(st, put_rows(&mk, stop, err));
        to->encode_us = cf_os_monotonic_us() - from;
    }
    cf_vision_blocks_deinit(&blocks);
    return st;
}

/* ---- sounds ------------------------------------------------------------- */

static cf_status put_sound_blocks(making *mk, const cf_audio_blocks *from, cf_error *err)
{
    cf_media_block *block = cf_arena_calloc(mk->arena, from->n, sizeof *block);
    mk->piece = cf_arena_calloc(mk->arena, from->n + 2, sizeof *mk->piece);
    if (block == NULL || mk->piece == NULL) {
        return cf_oom_for(err, "a sound");
    }
    mk->to->block = block;
    mk->to->piece = mk->piece;
    CF_TRY(put_text(mk, cf_str_from(mk->marks->before), err));
    for (size_t i = 0; i < from->n; i++) {
        const cf_mel *mel = &from->v[i].mel;
        size_t n = (size_t)CF_MEL_BANDS * mel->n;
        float *data = cf_arena_alloc(mk->arena, n * sizeof *data);
        if (data == NULL) {
            return cf_oom_for(err, "a sound");
        }
        memcpy(data, mel->v, n * sizeof *data);
        block[i] = (cf_media_block){.width = (uint32_t)mel->n,
                                    .height = CF_MEL_BANDS,
                                    .cols = from->v[i].n_row,
                                    .rows = 1,
                                    .data = data,
                                    .row0 = mk->to->n_row};
        mk->to->n_row += from->v[i].n_row;
        put_block(mk, i);
    }
    mk->to->n_block = from->n;
    return put_text(mk, cf_str_from(mk->marks->after), err);
}

static cf_status put_sound_rows(making *mk, const cf_dense *d, const cf_audio_blocks *blocks,
                                cf_error *err)
{
    size_t width = mk->m->audio.n_out;
    float *rows = cf_arena_calloc(mk->arena, mk->to->n_row * width + 1, sizeof *rows);
    if (rows == NULL) {
        return cf_oom_for(err, "a sound's rows");
    }
    cf_dense_steps steps = {mk->m->progress, mk->m->ud, 0, mk->m->audio.n_layer * blocks->n};
    cf_dense shown = *d;
    shown.steps = &steps;
    for (size_t i = 0; i < blocks->n; i++) {
        CF_TRY(cf_audio_encode(&mk->m->audio, &shown, rows + mk->to->block[i].row0 * width,
                               &blocks->v[i], err));
    }
    mk->to->rows = rows;
    mk->to->row_width = width;
    return CF_OK;
}

static cf_status make_sound(cf_media *m, cf_media_input *to, cf_str bytes, bool with_rows,
                            const cf_stop *stop, cf_error *err)
{
    const cf_dense d = dense(m, stop);
    const cf_vision_blocks no_tiles = {.v = NULL};
    cf_sound s;
    cf_audio_blocks blocks = {.v = NULL};
    if (m->audio.family == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "the projector \"%s\" reads pictures, and this is a "
                       "sound",
                       cf_media_projector(m));
    }
    CF_TRY(cf_sound_read(&s, bytes, stop, err));
    to->is_sound = true;
    to->rate = s.rate;
    to->channels = s.channels;
    to->n_sample = s.n_sample;
    making mk = {.m = m,
                 .arena = to->memory,
                 .to = to,
                 .marks = &m->audio.family->marks,
                 .blocks = &no_tiles};
    cf_status st = cf_audio_cut(&m->audio, &d, &s, &blocks, err);
    cf_sound_deinit(&s);
    to->n_heard = blocks.n_heard;
    CF_THEN(st, put_sound_blocks(&mk, &blocks, err));
    uint64_t from = cf_os_monotonic_us();
    if (with_rows) {
        CF_THEN(st, put_sound_rows(&mk, &d, &blocks, err));
        to->encode_us = cf_os_monotonic_us() - from;
    }
    cf_audio_blocks_deinit(&blocks);
    return st;
}

/* The prefix of cache keys, which differs between files and between projectors. */
static void identify(const cf_media *m, cf_media_input *to, cf_str bytes)
{
    cf_hash_hex(to->hash, bytes.p, bytes.n);
    const char *kind = cf_media_projector(m);
    for (size_t i = 0; i < 16; i++) {
        unsigned c = (unsigned char)to->hash[i];
        to->key = to->key << 4 | (c <= '9' ? c - '0' : c - 'a' + 10);
    }
    for (; *kind != '\0'; kind++) {
        to->key = to->key * 31 + (unsigned char)*kind;
    }
}

static cf_status read_input(cf_media_input **out, cf_media *m, cf_str bytes, bool with_rows,
                            const cf_stop *stop, cf_error *err)
{
    cf_media_input *to = cf_calloc(1, sizeof *to);
    cf_arena *arena = cf_calloc(1, sizeof *arena);
    if (to == NULL || arena == NULL) {
        cf_free(to);
        cf_free(arena);
        return cf_oom_for(err, "an image");
    }
    cf_arena_init(arena, 0);
    to->memory = arena;
    uint64_t from = cf_os_monotonic_us();
    identify(m, to, bytes);
    cf_status st = cf_sound_is(bytes) ? make_sound(m, to, bytes, with_rows, stop, err)
                                      : make_picture(m, to, bytes, with_rows, stop, err);
    to->read_us = cf_os_monotonic_us() - from - to->encode_us;
    if (st == CF_OK) {
        *out = to;
    } else {
        cf_media_input_free(to);
    }
    return st;
}

cf_status cf_media_read(cf_media_input **out, cf_media *m, cf_str bytes, const cf_cancel *cancel,
                        cf_error *err)
{
    const cf_stop stop = {.cancel = cancel};
    return read_input(out, m, bytes, true, &stop, err);
}

cf_status cf_media_look(cf_media_input **out, cf_media *m, cf_str bytes, const cf_cancel *cancel,
                        cf_error *err)
{
    const cf_stop stop = {.cancel = cancel};
    return read_input(out, m, bytes, false, &stop, err);
}

void cf_media_watch(cf_media *m, void (*fn)(void *ud, size_t done, size_t total), void *ud)
{
    m->progress = fn;
    m->ud = ud;
}

const char *const *cf_media_markers(const cf_media *m, bool is_sound)
{
    if (is_sound) {
        return m->audio.family != NULL ? m->audio.family->marks.written : NULL;
    }
    return m->vision.family != NULL ? m->vision.family->marks.written : NULL;
}

void cf_media_input_free(cf_media_input *input)
{
    if (input != NULL) {
        cf_arena_deinit(input->memory);
        cf_free(input->memory);
        cf_free(input);
    }
}

/* ---- positions ---------------------------------------------------------- */

size_t cf_media_n_position(const cf_media_input *input)
{
    size_t n = input->n_row;
    for (size_t i = 0; i < input->n_piece; i++) {
        n += input->piece[i].n;
    }
    return n;
}

uint64_t cf_media_row_key(const cf_media_input *input, size_t row)
{
    uint64_t x = input->key + (row + 1) * 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    x ^= x >> 31;
    return x != 0 ? x : 1;
}

void cf_media_place_block(const cf_media_input *input, uint32_t block, cf_input *in, size_t n,
                          uint32_t *at)
{
    const cf_media_block *b = &input->block[block];
    size_t n_row = (size_t)b->cols * b->rows;
    uint32_t end = input->sees_both_ways ? (uint32_t)(n + n_row) : 0;
    for (size_t i = 0; i < n_row; i++) {
        size_t row = b->row0 + i;
        uint64_t key = cf_media_row_key(input, row);
        uint32_t p = *at + (input->has_mrope ? 0 : (uint32_t)i);
        uint32_t y = input->has_mrope ? (uint32_t)(i / b->cols) : 0;
        uint32_t x = input->has_mrope ? (uint32_t)(i % b->cols) : 0;
        in[i] =
            (cf_input){.id = cf_token_of_row(key),
                       .embd = input->rows != NULL ? input->rows + row * input->row_width : NULL,
                       .key = key,
                       .at = {p, p + y, p + x, 0},
                       .see_end = end};
        if (!input->has_mrope) {
            in[i].at[3] = p;
        }
    }
    uint32_t side = b->cols > b->rows ? b->cols : b->rows;
    *at += input->has_mrope ? side : (uint32_t)n_row;
}

void cf_media_place(const cf_media_input *input, cf_input *in, size_t n, uint32_t *at)
{
    for (size_t i = 0; i < input->n_piece; i++) {
        const cf_media_piece *p = &input->piece[i];
        if (p->ids == NULL) {
            const cf_media_block *b = &input->block[p->block];
            cf_media_place_block(input, p->block, in, n, at);
            in += (size_t)b->cols * b->rows;
            n += (size_t)b->cols * b->rows;
            continue;
        }
        for (size_t j = 0; j < p->n; j++, n++) {
            uint32_t here = (*at)++;
            *in++ = (cf_input){.id = p->ids[j], .at = {here, here, here, here}};
        }
    }
}
