/*
 * inside_steer.c - makes a control vector.
 *
 * A line of the pairs is {"with": PROMPT, "without": PROMPT}; a prompt is a
 * text, or a context (messages, tools, variables) that the template renders.
 */
#include "tui/cli/inside/inside_steer.h"

#include <stdlib.h>
#include <string.h>

#include "core/api/steer.h"
#include "core/base/os.h"

enum { PAIRS_BYTES_MAX = 64 << 20 };

typedef struct making {
    cf_steering *steering;
    cf_inside_case *c;
    cf_arena arena; /* of a pair */
    size_t n;       /* pairs */
} making;

/* ---- a prompt ----------------------------------------------------------- */

static cf_status take_list(making *m, const cf_token_list *list, cf_inside_ask *out, cf_error *err)
{
    cf_token *ids = cf_arena_calloc(&m->arena, list->n + 1, sizeof *ids);
    if (ids == NULL) {
        return cf_oom_for(err, "a prompt");
    }
    for (size_t i = 0; i < list->n; i++) {
        ids[i] = list->v[i].id;
    }
    *out = (cf_inside_ask){
        .ids = ids, .n = list->n, .at = (uint32_t)list->n - 1, .cancel = m->c->cancel};
    return list->n > 0 ? CF_OK : cf_fail(err, CF_EINVAL, "a prompt is empty");
}

static cf_status read_prompt(making *m, const json_t *v, cf_inside_ask *out, cf_error *err)
{
    const cf_study_engine *e = &m->c->engine;
    cf_token_list list;
    cf_prompt prompt;
    if (json_is_string(v)) {
        cf_str text = cf_str_make(json_string_value(v), json_string_length(v));
        CF_TRY(cf_tokenizer_encode(&list, e->tok, text, true, true, &m->arena, err));
        return take_list(m, &list, out, err);
    }
    if (!json_is_array(json_object_get(v, "messages"))) {
        return cf_fail(err, CF_EFORMAT, "a prompt is neither a text nor a context");
    }
    const cf_part_context context = {.messages = json_object_get(v, "messages"),
                                     .tools = json_object_get(v, "tools")};
    CF_TRY(cf_part_context_render(e->backend, &context, NULL, &m->arena, &prompt, err));
    CF_TRY(cf_prompt_tokenise(&list, &prompt, cf_str_make("", 0), e->tok, &m->arena, err));
    return take_list(m, &list, out, err);
}

/* ---- pairs -------------------------------------------------------------- */

static cf_status add_pair(making *m, cf_str line, cf_error *err)
{
    json_t *v = NULL;
    cf_inside_ask with, without;
    CF_TRY(cf_json_read(&v, line.p, line.n, err));
    cf_status st = read_prompt(m, json_object_get(v, "with"), &with, err);
    CF_THEN(st, read_prompt(m, json_object_get(v, "without"), &without, err));
    CF_THEN(st, cf_steering_add_pair(m->steering, m->c->session, &with, &without, 1, err));
    m->n += st == CF_OK;
    json_decref(v);
    cf_arena_reset(&m->arena);
    return st;
}

static cf_status add_lines(making *m, cf_str text, cf_error *err)
{
    size_t n_line = 0;
    for (size_t at = 0; at < text.n; n_line++) {
        const char *end = memchr(text.p + at, '\n', text.n - at);
        size_t n = end != NULL ? (size_t)(end - (text.p + at)) : text.n - at;
        cf_status st = n > 0 ? add_pair(m, cf_str_make(text.p + at, n), err) : CF_OK;
        if (st != CF_OK) {
            char where[40];
            snprintf(where, sizeof where, "pair %zu", n_line + 1);
            return st == CF_ENOMEM ? st : cf_fail_in(err, st, where);
        }
        at += n + 1;
    }
    return m->n > 0 ? CF_OK : cf_fail(err, CF_EINVAL, "--pairs: the file has no pair");
}

static cf_status add_pairs(making *m, const char *path, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_arena_init(&m->arena, 0);
    cf_status st = cf_os_read_file(&text, path, PAIRS_BYTES_MAX, err);
    CF_THEN(st, add_lines(m, cf_buf_str(&text), err));
    cf_arena_deinit(&m->arena);
    cf_buf_deinit(&text);
    return st;
}

/* ---- rows --------------------------------------------------------------- */

/* An id, or a text that is one token. */
static cf_status read_token(const cf_inside_case *c, const char *text, cf_token *out, cf_error *err)
{
    char *end = NULL;
    unsigned long id = strtoul(text, &end, 10);
    cf_token found = cf_tokenizer_find(c->engine.tok, cf_str_from(text));
    cf_arena arena;
    cf_token_list list;
    if (end != text && *end == '\0' && id < cf_tokenizer_n_vocab(c->engine.tok)) {
        found = (cf_token)id;
    }
    if (found != CF_TOKEN_NONE) {
        *out = found;
        return CF_OK;
    }
    cf_arena_init(&arena, 0);
    cf_status st =
        cf_tokenizer_encode(&list, c->engine.tok, cf_str_from(text), true, false, &arena, err);
    if (st == CF_OK && list.n != 1) {
        st = cf_fail(err, CF_EINVAL, "--row: '%.40s' is %zu tokens, not one", text, list.n);
    }
    if (st == CF_OK) {
        *out = list.v[0].id;
    }
    cf_arena_deinit(&arena);
    return st;
}

/* ---- the vector --------------------------------------------------------- */

static cf_status fill(const cf_inside_steer *s, making *m, cf_error *err)
{
    cf_token id;
    if (s->pairs != NULL) {
        return add_pairs(m, s->pairs, err);
    }
    CF_TRY(read_token(m->c, s->row, &id, err));
    return cf_steering_add_row(m->steering, id, 1, err);
}

cf_status cf_inside_steer_make(const cf_inside_steer *s, cf_inside_case *c, cf_buf *out,
                               cf_error *err)
{
    making m = {.c = c};
    if (s->output == NULL || (s->pairs != NULL) == (s->row != NULL)) {
        return cf_fail(err, CF_EINVAL, "steer make needs -o FILE, and --pairs FILE or --row TOKEN");
    }
    CF_TRY(cf_steering_new(&m.steering, cf_session_engine(c->session), err));
    cf_status st = fill(s, &m, err);
    if (st == CF_OK) {
        cf_steering_normalise(m.steering);
        st = cf_steering_write(m.steering, s->output, err);
    }
    if (st == CF_OK) {
        cf_buf_addf(out, "%s: vectors of length 1 for layers 1 and later\n", s->output);
    }
    cf_steering_free(m.steering);
    return st;
}
