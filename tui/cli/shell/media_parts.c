/*
 * media_parts.c - parts to positions of a session.
 */
#include "tui/cli/shell/media_parts.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/json/json.h"

enum { BATCH = 512 };

cf_status cf_media_parts_file(cf_media_input **out, cf_media *media, const char *path,
                              const cf_cancel *cancel, cf_error *err)
{
    cf_buf bytes = CF_BUF_INIT;
    cf_status st = cf_os_read_file(&bytes, path, CF_MEDIA_FILE_MAX, err);
    if (st == CF_OK) {
        st = cf_media_read(out, media, cf_buf_str(&bytes), cancel, err);
        if (st != CF_OK && st != CF_ECANCELLED) {
            cf_ignore(cf_fail_in(err, st, path)); /* st is returned */
        }
    }
    cf_buf_deinit(&bytes);
    return st;
}

static cf_status make_room(cf_media_parts *p, size_t n, cf_error *err)
{
    return cf_grow(&p->in, &p->cap, p->n + n, sizeof *p->in) ? CF_OK
                                                             : cf_oom_for(err, "the prompt");
}

static cf_status add_token(cf_media_parts *p, json_int_t id, cf_error *err)
{
    if (id < 0 || id > INT32_MAX) {
        return cf_fail(err, CF_EFORMAT, "token %lld is outside the vocabulary", (long long)id);
    }
    CF_TRY(make_room(p, 1, err));
    uint32_t at = p->at++;
    p->in[p->n++] = (cf_input){.id = (cf_token)id, .at = {at, at, at, at}};
    return CF_OK;
}

static cf_status add_ids(cf_media_parts *p, const json_t *ids, cf_error *err)
{
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const json_t *id = json_array_get(ids, i);
        if (!json_is_integer(id)) {
            return cf_fail(err, CF_EFORMAT, "an id is not a whole number");
        }
        CF_TRY(add_token(p, json_integer_value(id), err));
    }
    return CF_OK;
}

static cf_status add_text(cf_media_parts *p, const cf_tokenizer *tok, cf_str text, cf_error *err)
{
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_token_list list;
    cf_status st = cf_tokenizer_encode(&list, tok, text, true, false, &arena, err);
    for (size_t i = 0; st == CF_OK && i < list.n; i++) {
        st = add_token(p, list.v[i].id, err);
    }
    cf_arena_deinit(&arena);
    return st;
}

/* `name` in the folder of the file `list`. */
static cf_status beside(cf_buf *out, const char *list, cf_str name, cf_error *err)
{
    const char *slash = strrchr(list, '/');
    if (slash != NULL && name.n > 0 && name.p[0] != '/') {
        cf_buf_add(out, list, (size_t)(slash - list) + 1);
    }
    cf_buf_add(out, name.p, name.n);
    return cf_buf_check(out, err);
}

static cf_status add_input(cf_media_parts *p, cf_media_input *input, cf_error *err)
{
    p->inputs[p->n_input++] = input;
    for (size_t i = 0; i < input->n_block; i++) {
        uint32_t n = input->block[i].cols * input->block[i].rows;
        if (input->sees_both_ways && n > BATCH && n > p->n_batch) {
            p->n_batch = n;
        }
    }
    size_t n = cf_media_n_position(input);
    CF_TRY(make_room(p, n, err));
    cf_media_place(input, p->in + p->n, p->n, &p->at);
    p->n += n;
    return CF_OK;
}

static cf_status add_file(cf_media_parts *p, cf_media *media, const char *list, cf_str name,
                          const cf_cancel *cancel, cf_error *err)
{
    if (!cf_grow(&p->inputs, &p->input_cap, p->n_input + 1, sizeof(cf_media_input *))) {
        return cf_oom_for(err, "the prompt");
    }
    cf_buf path = CF_BUF_INIT;
    cf_media_input *input = NULL;
    cf_status st = beside(&path, list, name, err);
    CF_THEN(st, cf_media_parts_file(&input, media, cf_buf_cstr(&path), cancel, err));
    CF_THEN(st, add_input(p, input, err));
    cf_buf_deinit(&path);
    return st;
}

static cf_status add_part(cf_media_parts *p, cf_media *media, const cf_tokenizer *tok,
                          const char *path, const json_t *part, const cf_cancel *cancel,
                          cf_error *err)
{
    const json_t *ids = json_object_get(part, "ids");
    cf_str text = cf_json_get_str(part, "text");
    cf_str file = cf_json_get_str(part, "image");
    file = file.p != NULL ? file : cf_json_get_str(part, "audio");
    if (json_is_array(ids)) {
        return add_ids(p, ids, err);
    }
    if (text.p != NULL) {
        return add_text(p, tok, text, err);
    }
    if (file.p != NULL) {
        return add_file(p, media, path, file, cancel, err);
    }
    return cf_fail(err, CF_EFORMAT, "%s: a part has neither ids, text, image nor audio", path);
}

cf_status cf_media_parts_read(cf_media_parts *out, cf_media *media, const cf_tokenizer *tok,
                              const char *path, const cf_cancel *cancel, cf_error *err)
{
    json_t *list = NULL;
    CF_TRY(cf_json_read_file(&list, path, err));
    cf_status st = CF_OK;
    if (!json_is_array(list)) {
        st = cf_fail(err, CF_EFORMAT, "%s is not a list of parts", path);
    }
    for (size_t i = 0; st == CF_OK && i < json_array_size(list); i++) {
        st = add_part(out, media, tok, path, json_array_get(list, i), cancel, err);
    }
    json_decref(list);
    return st;
}

void cf_media_parts_deinit(cf_media_parts *p)
{
    for (size_t i = 0; i < p->n_input; i++) {
        cf_media_input_free(p->inputs[i]);
    }
    cf_free(p->inputs);
    cf_free(p->in);
    *p = (cf_media_parts){.in = NULL};
}

cf_status cf_media_parts_ids(const cf_media_parts *p, cf_token **ids, size_t *n, cf_error *err)
{
    cf_token *v = cf_calloc(p->n + 1, sizeof *v);
    if (v == NULL) {
        return cf_oom_for(err, "the prompt");
    }
    for (size_t i = 0; i < p->n; i++) {
        v[i] = p->in[i].id;
    }
    *ids = v;
    *n = p->n;
    return CF_OK;
}
