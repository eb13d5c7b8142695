/*
 * hf_tokenizer.c - reads a whole tokenizer.json.
 *
 * The model is read from the text itself (hf_vocab.c); the other members are
 * small and go through the JSON library.
 */
#include "core/hub/hf_tokenizer.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/hub/hf_steps.h"
#include "core/hub/hf_vocab.h"
#include "core/token/tokenizer_new.h"

enum { SMALL_MAX = 64 << 20 };

/* The text of the file's members. */
typedef struct members {
    cf_str model, added, norm, split, wrap, decode;
} members;

static cf_status find_members(members *m, cf_str file, cf_arena *arena, cf_error *err)
{
    cf_json_scan s = {.text = file, .arena = arena, .err = err};
    const struct {
        const char *name;
        cf_str *text;
    } rows[] = {
        {"model", &m->model},         {"added_tokens", &m->added},  {"normalizer", &m->norm},
        {"pre_tokenizer", &m->split}, {"post_processor", &m->wrap}, {"decoder", &m->decode},
    };
    bool more;
    CF_TRY(cf_json_scan_enter(&s, '{'));
    for (bool first = true;; first = false) {
        cf_str key, value;
        CF_TRY(cf_json_scan_key(&s, first, &more, &key));
        if (!more) {
            break;
        }
        CF_TRY(cf_json_scan_skip(&s, &value, NULL));
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            if (cf_str_is(key, rows[i].name)) {
                *rows[i].text = value;
            }
        }
    }
    return m->model.p != NULL && m->model.p[0] == '{'
               ? CF_OK
               : cf_fail(err, CF_EFORMAT, "tokenizer.json has no \"model\"");
}

typedef cf_status (*steps_fn)(cf_pipeline *p, const json_t *v, cf_error *err);

static cf_status read_small(cf_pipeline *p, cf_str text, steps_fn read, cf_error *err)
{
    json_t *v = NULL;
    if (text.p == NULL) {
        return CF_OK;
    }
    if (text.n > SMALL_MAX) {
        return cf_fail(err, CF_ELIMIT, "a rule of the tokenizer is too long");
    }
    cf_status st = cf_json_read(&v, text.p, text.n, err);
    CF_THEN(st, read(p, v, err));
    json_decref(v);
    return st;
}

static cf_status read_added(cf_hf_vocab *v, cf_pipeline *p, cf_str text, cf_error *err)
{
    json_t *list = NULL;
    if (text.p == NULL) {
        return CF_OK;
    }
    cf_status st = cf_json_read(&list, text.p, text.n, err);
    CF_THEN(st, cf_hf_vocab_add(v, list, p, err));
    json_decref(list);
    return st;
}

static bool is_put(const cf_token *ids, size_t n, cf_token id)
{
    for (size_t i = 0; i < n && id != CF_TOKEN_NONE; i++) {
        if (ids[i] == id) {
            return true;
        }
    }
    return false;
}

/* Ids of the special tokens, and whether the post-processor adds them. */
static void find_named(cf_special_tokens *s, const cf_hf_names *names, const cf_hf_vocab *v,
                       const cf_pipeline *p)
{
    s->bos = cf_hf_vocab_find(v, p, names->bos);
    s->eos = cf_hf_vocab_find(v, p, names->eos);
    s->unk = cf_hf_vocab_find(v, p, names->unk);
    s->pad = cf_hf_vocab_find(v, p, names->pad);
    s->sep = cf_hf_vocab_find(v, p, names->sep);
    s->eot = CF_TOKEN_NONE;
    for (size_t i = 0; i < p->n_wrap; i++) {
        s->add_bos |= is_put(p->wrap[i].before, p->wrap[i].n_before, s->bos);
        s->add_eos |= is_put(p->wrap[i].after, p->wrap[i].n_after, s->eos);
    }
}

/* A step may only insert tokens that exist. */
static cf_status check_wraps(const cf_pipeline *p, size_t n, cf_error *err)
{
    for (size_t i = 0; i < p->n_wrap; i++) {
        const cf_wrap_step *w = &p->wrap[i];
        for (size_t k = 0; k < w->n_before + w->n_after; k++) {
            cf_token id = k < w->n_before ? w->before[k] : w->after[k - w->n_before];
            if ((size_t)id >= n) {
                return cf_fail(err, CF_EFORMAT,
                               "the post-processor puts token %d, but there "
                               "are %zu tokens",
                               (int)id, n);
            }
        }
    }
    return CF_OK;
}

static cf_status build(cf_tokenizer **out, const members *m, cf_hf_vocab *v, cf_pipeline *p,
                       const cf_hf_names *names, cf_error *err)
{
    cf_vocab_desc desc = {0};
    CF_TRY(cf_hf_vocab_read(v, m->model, err));
    CF_TRY(read_added(v, p, m->added, err));
    if (names->n_vocab != 0) {
        CF_TRY(cf_hf_vocab_resize(v, names->n_vocab, p, err));
    }
    CF_TRY(read_small(p, m->norm, cf_hf_steps_norm, err));
    CF_TRY(read_small(p, m->split, cf_hf_steps_split, err));
    CF_TRY(read_small(p, m->wrap, cf_hf_steps_wrap, err));
    CF_TRY(read_small(p, m->decode, cf_hf_steps_decode, err));
    CF_TRY(check_wraps(p, v->n, err));
    cf_hf_vocab_describe(v, &desc, p, err);
    find_named(&desc.named, names, v, p);
    return cf_tokenizer_new_pipeline(out, &desc, p, names->ends, names->n_ends, err);
}

cf_status cf_hf_tokenizer(cf_tokenizer **out, cf_str file, const cf_hf_names *names,
                          cf_arena *arena, cf_error *err)
{
    members m = {.model = {NULL, 0}};
    cf_hf_vocab v = {.arena = arena};
    cf_pipeline *p = cf_pipeline_new();
    if (p == NULL) {
        return cf_oom(err);
    }
    cf_status st = find_members(&m, file, arena, err);
    CF_THEN(st, build(out, &m, &v, p, names, err));
    cf_hf_vocab_deinit(&v);
    if (st != CF_OK) {
        cf_pipeline_free(p);
    }
    return st;
}
