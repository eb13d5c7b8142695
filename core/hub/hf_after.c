/*
 * hf_after.c - reads post-processors and decoders.
 *
 * Source: tokenizers, src/processors/ and src/decoders/.
 */
#include <string.h>

#include "core/hub/hf_steps.h"

/* ---- decoders ------------------------------------------------------------ */

static cf_status add_decode(cf_hf_reading *r, cf_decode_kind kind, cf_decode_step **out)
{
    if (r->p->n_decode == CF_PIPE_STEPS_MAX) {
        return cf_fail(r->err, CF_ELIMIT, "more than %d decoders", CF_PIPE_STEPS_MAX);
    }
    *out = &r->p->decode[r->p->n_decode++];
    (*out)->kind = kind;
    return CF_OK;
}

static cf_status decode_plain(cf_hf_reading *r, const json_t *o)
{
    cf_decode_step *step = NULL;
    cf_str type = cf_hf__type(o);
    return add_decode(r,
                      cf_str_is(type, "ByteLevel")      ? CF_DECODE_BYTE_LEVEL
                      : cf_str_is(type, "ByteFallback") ? CF_DECODE_BYTE_FALLBACK
                                                        : CF_DECODE_FUSE,
                      &step);
}

static cf_status decode_strip(cf_hf_reading *r, const json_t *o)
{
    cf_decode_step *step = NULL;
    const json_t *start = json_object_get(o, "start");
    const json_t *stop = json_object_get(o, "stop");
    CF_TRY(add_decode(r, CF_DECODE_STRIP, &step));
    step->start = json_is_integer(start) && json_integer_value(start) > 0
                      ? (size_t)json_integer_value(start)
                      : 0;
    step->stop = json_is_integer(stop) && json_integer_value(stop) > 0
                     ? (size_t)json_integer_value(stop)
                     : 0;
    return cf_hf__text(r->p, o, "content", &step->text, r->err);
}

static cf_status decode_replace(cf_hf_reading *r, const json_t *o)
{
    cf_decode_step *step = NULL;
    CF_TRY(add_decode(r, CF_DECODE_REPLACE, &step));
    CF_TRY(cf_hf__text(r->p, o, "content", &step->text, r->err));
    return cf_hf__pattern(r->p, json_object_get(o, "pattern"), &step->pattern, r->err);
}

static cf_status decode_metaspace(cf_hf_reading *r, const json_t *o)
{
    cf_decode_step *step = NULL;
    CF_TRY(add_decode(r, CF_DECODE_METASPACE, &step));
    CF_TRY(cf_hf__text(r->p, o, "replacement", &step->text, r->err));
    if (step->text.n == 0) {
        step->text = cf_str_from("\xE2\x96\x81");
    }
    step->keep_first = cf_hf__prepend(o) == CF_PREPEND_NEVER;
    return CF_OK;
}

static cf_status decode_wordpiece(cf_hf_reading *r, const json_t *o)
{
    cf_decode_step *step = NULL;
    CF_TRY(add_decode(r, CF_DECODE_WORDPIECE, &step));
    step->cleanup = cf_hf__flag(o, "cleanup", true);
    return cf_hf__text(r->p, o, "prefix", &step->text, r->err);
}

static cf_status decode_bpe(cf_hf_reading *r, const json_t *o)
{
    cf_decode_step *step = NULL;
    CF_TRY(add_decode(r, CF_DECODE_BPE, &step));
    return cf_hf__text(r->p, o, "suffix", &step->text, r->err);
}

static cf_status decode_ctc(cf_hf_reading *r, const json_t *o)
{
    cf_decode_step *step = NULL;
    CF_TRY(add_decode(r, CF_DECODE_CTC, &step));
    step->cleanup = cf_hf__flag(o, "cleanup", true);
    CF_TRY(cf_hf__text(r->p, o, "pad_token", &step->text, r->err));
    return cf_hf__text(r->p, o, "word_delimiter_token", &step->delimiter, r->err);
}

cf_status cf_hf_steps_decode(cf_pipeline *p, const json_t *v, cf_error *err)
{
    static const cf_hf_row rows[] = {
        {"ByteLevel", decode_plain},
        {"ByteFallback", decode_plain},
        {"Fuse", decode_plain},
        {"Strip", decode_strip},
        {"Replace", decode_replace},
        {"Metaspace", decode_metaspace},
        {"WordPiece", decode_wordpiece},
        {"BPEDecoder", decode_bpe},
        {"CTC", decode_ctc},
    };
    return cf_hf__read(p, v, rows, sizeof rows / sizeof rows[0], "decoder", "decoders", err);
}

/* ---- post-processors ----------------------------------------------------- */

static cf_status add_wrap(cf_hf_reading *w, cf_wrap_step **out)
{
    if (w->p->n_wrap == CF_PIPE_STEPS_MAX) {
        return cf_fail(w->err, CF_ELIMIT, "more than %d post-processors", CF_PIPE_STEPS_MAX);
    }
    *out = &w->p->wrap[w->p->n_wrap++];
    return CF_OK;
}

/* The ids that a special token of a template stands for, appended to ids. */
static cf_status add_ids(const cf_hf_reading *w, const json_t *special, cf_str name, cf_token *ids,
                         size_t cap, size_t *n)
{
    const json_t *list = NULL;
    const char *key;
    json_t *v;
    json_object_foreach(cf_json_ref(special), key, v)
    {
        if (cf_str_is(name, key)) {
            list = json_object_get(v, "ids");
        }
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *id = json_array_get(list, i);
        if (!json_is_integer(id) || *n == cap || json_integer_value(id) < 0 ||
            json_integer_value(id) > INT32_MAX) {
            return cf_fail(w->err, CF_EFORMAT, "the post-processor's token '%.*s' has no ids",
                           name.n > 60 ? 60 : (int)name.n, name.p);
        }
        ids[(*n)++] = (cf_token)json_integer_value(id);
    }
    return list != NULL ? CF_OK
                        : cf_fail(w->err, CF_EFORMAT,
                                  "the post-processor's token '%.*s' is not "
                                  "declared",
                                  name.n > 60 ? 60 : (int)name.n, name.p != NULL ? name.p : "");
}

static cf_status wrap_template(cf_hf_reading *w, const json_t *o)
{
    enum { IDS_MAX = 256 };
    cf_wrap_step *step = NULL;
    const json_t *single = json_object_get(o, "single");
    const json_t *special = json_object_get(o, "special_tokens");
    cf_token *ids = cf_arena_calloc(&w->p->arena, IDS_MAX, sizeof *ids);
    size_t n = 0;
    bool seen = false;
    if (ids == NULL) {
        return cf_oom(w->err);
    }
    CF_TRY(add_wrap(w, &step));
    for (size_t i = 0; i < json_array_size(single); i++) {
        const json_t *item = json_array_get(single, i);
        const json_t *token = json_object_get(item, "SpecialToken");
        if (token != NULL) {
            CF_TRY(add_ids(w, special, cf_json_get_str(token, "id"), ids, IDS_MAX, &n));
            continue;
        }
        if (seen) {
            return cf_fail(w->err, CF_EUNSUPPORTED,
                           "a post-processor that repeats the text is not "
                           "supported");
        }
        seen = true;
        step->before = ids;
        step->n_before = n;
    }
    if (!seen) {
        return cf_fail(w->err, CF_EFORMAT, "the post-processor leaves the text out");
    }
    step->after = ids + step->n_before;
    step->n_after = n - step->n_before;
    return CF_OK;
}

/* ["[CLS]", 101] */
static cf_status pair_id(const cf_hf_reading *w, const json_t *o, const char *key, cf_token *out)
{
    const json_t *pair = json_object_get(o, key);
    const json_t *id = json_array_get(pair, 1);
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > INT32_MAX) {
        return cf_fail(w->err, CF_EFORMAT,
                       "the post-processor's \"%s\" is not a token and its "
                       "id",
                       key);
    }
    *out = (cf_token)json_integer_value(id);
    return CF_OK;
}

static cf_status wrap_bert(cf_hf_reading *w, const json_t *o, bool is_roberta)
{
    cf_wrap_step *step = NULL;
    cf_token *ids = cf_arena_calloc(&w->p->arena, 2, sizeof *ids);
    if (ids == NULL) {
        return cf_oom(w->err);
    }
    CF_TRY(add_wrap(w, &step));
    CF_TRY(pair_id(w, o, "cls", &ids[0]));
    CF_TRY(pair_id(w, o, "sep", &ids[1]));
    step->trims = is_roberta && cf_hf__flag(o, "trim_offsets", true);
    step->prefix_space = cf_hf__flag(o, "add_prefix_space", true);
    step->before = ids;
    step->after = ids + 1;
    step->n_before = step->n_after = 1;
    return CF_OK;
}

static cf_status wrap_byte_level(cf_hf_reading *w, const json_t *o)
{
    cf_wrap_step *step = NULL;
    CF_TRY(add_wrap(w, &step));
    step->trims = cf_hf__flag(o, "trim_offsets", true);
    step->prefix_space = cf_hf__flag(o, "add_prefix_space", true);
    return CF_OK;
}

static cf_status wrap_bert_alone(cf_hf_reading *w, const json_t *o)
{
    return wrap_bert(w, o, false);
}

static cf_status wrap_roberta(cf_hf_reading *w, const json_t *o)
{
    return wrap_bert(w, o, true);
}

cf_status cf_hf_steps_wrap(cf_pipeline *p, const json_t *v, cf_error *err)
{
    static const cf_hf_row rows[] = {
        {"TemplateProcessing", wrap_template},
        {"ByteLevel", wrap_byte_level},
        {"BertProcessing", wrap_bert_alone},
        {"RobertaProcessing", wrap_roberta},
    };
    return cf_hf__read(p, v, rows, sizeof rows / sizeof rows[0], "post-processor", "processors",
                       err);
}
