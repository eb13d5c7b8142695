/*
 * media_sheet.c - finds the file of a block of the prompt, and copies what is
 * shown of its input.
 */
#include "tui/lab/prompt/media_sheet.h"

#include <stdlib.h>
#include <string.h>

#include "core/api/attachment.h"
#include "core/base/base64.h"

typedef const json_t *(*message_fn)(const void *ud, size_t i);

/* A run of tokens that are one medium. */
typedef struct medium {
    size_t first, n;
    size_t message, part;
} medium;

static bool medium_at(const cf_prompt_model *m, size_t token, medium *out)
{
    if (token >= m->n || !cf_prompt_model_is_media(m, token)) {
        return false;
    }
    out->n = cf_prompt_model_run(m, token, &out->first);
    const cf_prompt_span *s = &m->prompt.spans[m->token[out->first].span];
    char path[40] = "";
    size_t n = s->path.n < sizeof path ? s->path.n : sizeof path - 1;
    memcpy(path, s->path.p, n);
    path[n] = '\0';
    const char *at = strchr(path, '[');
    out->message = s->index;
    out->part = at != NULL ? strtoul(at + 1, NULL, 10) : 0;
    return true;
}

/* Its input, to be released. */
static cf_status input_of(const cf_media_input **out, cf_media_cache *cache, const medium *at,
                          message_fn message, const void *ud, cf_error *err)
{
    const json_t *part =
        json_array_get(json_object_get(message(ud, at->message), "content"), at->part);
    cf_attachment a;
    cf_buf bytes = CF_BUF_INIT;
    cf_status st = cf_attachment_read(&a, part)
                       ? cf_attachment_load(&a, err)
                       : cf_fail(err, CF_ENOTFOUND, "it is not here any more");
    if (st == CF_OK && !cf_base64_get(&bytes, a.base64)) {
        st = cf_fail(err, CF_EFORMAT, "its bytes are not base64");
    }
    CF_THEN(st, cf_media_cache_get(out, cache, cf_buf_str(&bytes), false, NULL, err));
    cf_attachment_deinit(&a);
    cf_buf_deinit(&bytes);
    return st;
}

/* Positions that n_token tokens take, of which the input's rows are some. */
static uint32_t positions(const cf_media_input *in, size_t n_token)
{
    size_t n = n_token - (n_token < in->n_row ? n_token : in->n_row);
    for (size_t i = 0; i < in->n_block; i++) {
        const cf_media_block *b = &in->block[i];
        n += !in->has_mrope ? (size_t)b->cols * b->rows : b->cols > b->rows ? b->cols : b->rows;
    }
    return (uint32_t)n;
}

/* The position of the medium's first token: with M-RoPE earlier pictures take
 * fewer positions than tokens. */
static cf_status first_position(uint32_t *out, cf_media_cache *cache, const cf_prompt_model *m,
                                const medium *at, message_fn message, const void *ud, cf_error *err)
{
    *out = 0;
    for (size_t i = 0; i < at->first;) {
        medium before;
        if (!medium_at(m, i, &before)) {
            ++*out;
            i++;
            continue;
        }
        const cf_media_input *in;
        CF_TRY(input_of(&in, cache, &before, message, ud, err));
        *out += positions(in, before.n);
        cf_media_cache_release(cache, in);
        i = before.first + before.n;
    }
    return CF_OK;
}

static cf_status copy_blocks(cf_media_sheet *s, const cf_media_input *in, cf_error *err)
{
    s->block = cf_arena_calloc(&s->arena, in->n_block + 1, sizeof *s->block);
    if (s->block == NULL) {
        return cf_oom_for(err, "a picture");
    }
    for (size_t i = 0; i < in->n_block; i++) {
        const cf_media_block *b = &in->block[i];
        unsigned char *rgb = cf_arena_calloc(&s->arena, (size_t)b->width * b->height, 3);
        if (rgb == NULL) {
            return cf_oom_for(err, "a picture");
        }
        cf_media_draw(in, (uint32_t)i, rgb);
        s->block[i] = (cf_sheet_block){
            .w = (int)b->width, .h = (int)b->height, .cols = b->cols, .rows = b->rows, .rgb = rgb};
    }
    s->n_block = in->n_block;
    return CF_OK;
}

/* The pieces, and where in the prompt each block's rows are: by the tokens
 * themselves, since a marker may have merged with the text before it. */
static cf_status copy_pieces(cf_media_sheet *s, const cf_media_input *in, const cf_prompt_model *m,
                             cf_error *err)
{
    s->piece = cf_arena_calloc(&s->arena, in->n_piece + 1, sizeof *s->piece);
    if (s->piece == NULL) {
        return cf_oom_for(err, "a picture");
    }
    size_t token = s->first, end = s->first + s->n;
    uint32_t at = s->at;
    for (size_t i = 0; i < in->n_piece; i++) {
        const cf_media_piece *p = &in->piece[i];
        cf_sheet_piece *to = &s->piece[i];
        to->n = p->n;
        if (p->ids != NULL) {
            char *text = cf_arena_strndup(&s->arena, p->text.p, p->text.n);
            if (text == NULL) {
                return cf_oom_for(err, "a picture");
            }
            to->text = cf_str_make(text, p->text.n);
            continue;
        }
        cf_sheet_block *b = &s->block[p->block];
        for (; token < end && !cf_token_is_row(m->ids[token].id); token++) {
            at++;
        }
        b->token = token;
        b->at = at;
        to->block = p->block;
        to->n = (size_t)b->cols * b->rows;
        at += !in->has_mrope ? (uint32_t)to->n : b->cols > b->rows ? b->cols : b->rows;
        token += to->n;
    }
    s->n_piece = in->n_piece;
    return CF_OK;
}

static cf_status fill(cf_media_sheet *s, const cf_media_input *in, const cf_prompt_model *m,
                      const medium *at, cf_error *err)
{
    s->is_sound = in->is_sound;
    s->width = in->width;
    s->height = in->height;
    s->rate = in->rate;
    s->channels = in->channels;
    s->seconds = in->is_sound ? (double)in->n_sample / in->rate : 0;
    s->heard = (double)in->n_heard / 16000;
    memcpy(s->hash, in->hash, sizeof s->hash);
    s->message = at->message;
    s->part = at->part;
    s->first = at->first;
    s->n = at->n;
    s->n_prompt = m->n;
    for (size_t i = at->first; i < at->first + at->n; i++) {
        s->n_kept += m->token[i].reuse == CF_REUSE_KEPT ? 1 : 0;
    }
    s->end = s->at + positions(in, at->n);
    s->patch = in->patch;
    s->tile_cols = in->tile_cols;
    s->tile_rows = in->tile_rows;
    s->has_mrope = in->has_mrope;
    s->sees_both_ways = in->sees_both_ways;
    s->n_deepstack = in->n_deepstack;
    s->is_encoded = in->rows != NULL;
    s->read_us = in->read_us;
    s->encode_us = in->encode_us;
    CF_TRY(copy_blocks(s, in, err));
    return copy_pieces(s, in, m, err);
}

cf_status cf_media_sheet_make(cf_media_sheet *out, cf_media_cache *cache, const cf_prompt_model *m,
                              size_t token, message_fn message, const void *ud, cf_error *err)
{
    medium at;
    const cf_media_input *in = NULL;
    *out = (cf_media_sheet){.is_sound = false};
    cf_arena_init(&out->arena, 0);
    if (cache == NULL || !medium_at(m, token, &at)) {
        return cf_fail(err, CF_ENOTFOUND, "no picture or sound here");
    }
    out->projector = cf_str_from(cf_media_projector(cf_media_cache_media(cache)));
    cf_status st = first_position(&out->at, cache, m, &at, message, ud, err);
    CF_THEN(st, input_of(&in, cache, &at, message, ud, err));
    CF_THEN(st, fill(out, in, m, &at, err));
    cf_media_cache_release(cache, in);
    if (st != CF_OK) {
        cf_media_sheet_deinit(out);
    }
    return st;
}

void cf_media_sheet_deinit(cf_media_sheet *s)
{
    cf_arena_deinit(&s->arena);
    *s = (cf_media_sheet){.is_sound = false};
}

void cf_media_sheet_cost(const cf_media_sheet *s, cf_buf *out)
{
    cf_buf_addf(out, "%zu tokens, %zu%% of the prompt", s->n,
                s->n_prompt != 0 ? 100 * s->n / s->n_prompt : 0);
    if (s->is_encoded) {
        cf_buf_addf(out, "; encoded in %.1f ms", (double)s->encode_us * 1e-3);
    } else {
        cf_buf_adds(out, "; not encoded yet");
    }
    if (s->n_kept == s->n) {
        cf_buf_adds(out, "; in the cache");
    } else {
        cf_buf_addf(out, "; %zu of them in the cache", s->n_kept);
    }
}

void cf_media_sheet_position(const cf_media_sheet *s, size_t block, size_t row, uint32_t at[3])
{
    const cf_sheet_block *b = &s->block[block];
    bool is_plain = !s->has_mrope || b->cols == 0;
    at[0] = b->at + (is_plain ? (uint32_t)row : 0);
    at[1] = is_plain ? at[0] : b->at + (uint32_t)(row / b->cols);
    at[2] = is_plain ? at[0] : b->at + (uint32_t)(row % b->cols);
}

size_t cf_media_sheet_step(const cf_prompt_model *m, size_t token, int by)
{
    medium here = {.first = token, .n = 1};
    (void)medium_at(m, token, &here);
    if (by > 0) {
        for (size_t i = here.first + here.n; i < m->n; i++) {
            if (cf_prompt_model_is_media(m, i)) {
                return i;
            }
        }
        return token;
    }
    for (size_t i = here.first; i-- > 0;) {
        medium before;
        if (medium_at(m, i, &before)) {
            return before.first;
        }
    }
    return token;
}
