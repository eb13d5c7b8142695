/*
 * replay_media.c - files of earlier messages by their hash, then their rows.
 */
#include "tui/cli/saved/replay_media.h"

#include <string.h>

#include "core/api/attachment.h"
#include "core/base/alloc.h"
#include "core/base/base64.h"

enum { CACHE_BYTES = 1 << 30, TURNS_MAX = 1 << 16 };

static bool is_wanted(const cf_replay_media *m, const char *hash)
{
    for (size_t i = 0; i < m->n_file; i++) {
        if (strcmp(m->file[i].hash, hash) == 0) {
            return false;
        }
    }
    for (size_t i = 0; i < json_array_size(m->list); i++) {
        if (cf_str_is(cf_json_get_str(json_array_get(m->list, i), "hash"), hash)) {
            return true;
        }
    }
    return false;
}

/* Keeps the bytes of a part when the list has their hash.  What cannot be read
 * is not the file that is looked for. */
static cf_status take_part(cf_replay_media *m, const json_t *part, cf_error *err)
{
    cf_attachment a;
    cf_replay_file f = {.bytes = CF_BUF_INIT};
    cf_error ignored;
    bool found = cf_attachment_read(&a, part) && a.url.n == 0 &&
                 cf_attachment_load(&a, &ignored) == CF_OK && cf_base64_get(&f.bytes, a.base64);
    cf_attachment_deinit(&a);
    if (found) {
        cf_hash_hex(f.hash, f.bytes.p, f.bytes.n);
    }
    if (!found || !is_wanted(m, f.hash)) {
        cf_buf_deinit(&f.bytes);
        return CF_OK;
    }
    if (!cf_grow(&m->file, &m->cap_file, m->n_file + 1, sizeof *m->file)) {
        cf_buf_deinit(&f.bytes);
        return cf_oom_for(err, "the turn");
    }
    m->file[m->n_file++] = f;
    return CF_OK;
}

static cf_status take_message(cf_replay_media *m, cf_str text, cf_error *err)
{
    json_t *message = NULL;
    cf_status st = cf_json_read(&message, text.p, text.n, err);
    const json_t *content = json_object_get(message, "content");
    for (size_t i = 0; st == CF_OK && i < json_array_size(content); i++) {
        st = take_part(m, json_array_get(content, i), err);
    }
    json_decref(message);
    return st;
}

static cf_replay_file *find(const cf_replay_media *m, cf_str hash)
{
    for (size_t i = 0; i < m->n_file; i++) {
        if (cf_str_is(hash, m->file[i].hash)) {
            return &m->file[i];
        }
    }
    return NULL;
}

cf_status cf_replay_media_load(cf_replay_media *m, cf_str list, cf_store *store, cf_uuid turn,
                               cf_arena *arena, cf_error *err)
{
    if (list.n == 0) {
        return CF_OK;
    }
    CF_TRY(cf_json_read(&m->list, list.p, list.n, err));
    for (int i = 0; i < TURNS_MAX && !cf_uuid_is_nil(turn); i++) {
        cf_store_turn t;
        CF_TRY(cf_store_get_turn(store, turn, arena, &t, err));
        CF_TRY(take_message(m, t.message, err));
        turn = t.parent;
    }
    for (size_t i = 0; i < json_array_size(m->list); i++) {
        const json_t *row = json_array_get(m->list, i);
        cf_str hash = cf_json_get_str(row, "hash");
        if (find(m, hash) == NULL) {
            return cf_fail(err, CF_ENOTFOUND, "the %s %.16s of the prompt is not in the history",
                           json_string_value(json_object_get(row, "kind")) != NULL
                               ? json_string_value(json_object_get(row, "kind"))
                               : "file",
                           hash.n >= 16 ? hash.p : "?");
        }
    }
    return CF_OK;
}

/* Puts the rows of one entry of the list at position i; *n: how many. */
static cf_status put_rows(cf_replay_media *m, const json_t *row, size_t i, size_t n, uint32_t *at,
                          size_t *n_row, const cf_cancel *cancel, cf_error *err)
{
    cf_replay_file *f = find(m, cf_json_get_str(row, "hash"));
    json_int_t block = json_integer_value(json_object_get(row, "block"));
    json_int_t rows = json_integer_value(json_object_get(row, "rows"));
    if (f->input == NULL) {
        CF_TRY(cf_media_cache_get(&f->input, m->cache, cf_buf_str(&f->bytes), true, cancel, err));
    }
    bool fits = block >= 0 && (uint64_t)block < f->input->n_block;
    if (fits) {
        const cf_media_block *b = &f->input->block[block];
        *n_row = (size_t)b->cols * b->rows;
        fits = (uint64_t)rows == *n_row && *n_row <= n - i;
    }
    if (!fits) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "the projector makes other rows of the %s than it did: "
                       "another --mmproj",
                       f->input->is_sound ? "sound" : "image");
    }
    cf_media_place_block(f->input, (uint32_t)block, m->in + i, i, at);
    return CF_OK;
}

cf_status cf_replay_media_read(cf_replay_media *m, const cf_engine *engine,
                               const cf_open_options *open, const cf_token *ids, size_t n,
                               const cf_cancel *cancel, cf_error *err)
{
    if (m->list == NULL) {
        return CF_OK;
    }
    CF_TRY(cf_open_media(&m->media, engine, open, err));
    if (m->media == NULL) {
        return cf_fail(err, CF_EINVAL, CF_OPEN_NO_MEDIA);
    }
    CF_TRY(cf_media_cache_new(&m->cache, m->media, CACHE_BYTES, err));
    m->in = cf_calloc(n + 1, sizeof *m->in);
    if (m->in == NULL) {
        return cf_oom_for(err, "the turn");
    }
    size_t next = 0;
    uint32_t at = 0;
    for (size_t i = 0; i < n;) {
        const json_t *row = json_array_get(m->list, next);
        if (row != NULL && json_integer_value(json_object_get(row, "at")) == (json_int_t)i) {
            size_t n_row = 0;
            CF_TRY(put_rows(m, row, i, n, &at, &n_row, cancel, err));
            i += n_row;
            next++;
            continue;
        }
        m->in[i] = (cf_input){.id = ids[i], .at = {at, at, at, at}};
        at++;
        i++;
    }
    return CF_OK;
}

void cf_replay_media_deinit(cf_replay_media *m)
{
    for (size_t i = 0; i < m->n_file; i++) {
        cf_media_cache_release(m->cache, m->file[i].input);
        cf_buf_deinit(&m->file[i].bytes);
    }
    cf_free(m->file);
    cf_free(m->in);
    cf_media_cache_free(m->cache);
    cf_media_close(m->media);
    json_decref(m->list);
    *m = (cf_replay_media){.list = NULL};
}
