/*
 * box_constrain.c - a constraint in the form that a server takes.
 *
 * A table: for each kind of constraint and of server the writer of its form.
 * What has no writer is refused, with the kinds that the server takes.
 */
#include <stdio.h>
#include <string.h>

#include "core/backend/box_impl.h"

typedef bool (*writer)(const cf_box *box, json_t *body, json_t *value);

/* {"response_format": {"type": "json_schema", ...}} of OpenAI's interface. */
static bool write_schema(const cf_box *box, json_t *body, json_t *value)
{
    (void)box;
    return json_object_set_new(body, "response_format",
                               json_pack("{s:s, s:{s:s, s:b, s:O}}", "type", "json_schema",
                                         "json_schema", "name", "reply", "strict", 1, "schema",
                                         value)) == 0;
}

static bool write_json(const cf_box *box, json_t *body, json_t *value)
{
    (void)box;
    (void)value;
    return json_object_set_new(body, "response_format",
                               json_pack("{s:s}", "type", "json_object")) == 0;
}

/* {"response_format": {"type": "json" or "regex", "value": ...}} */
static bool write_tgi_schema(const cf_box *box, json_t *body, json_t *value)
{
    (void)box;
    return json_object_set_new(body, "response_format",
                               json_pack("{s:s, s:O}", "type", "json", "value", value)) == 0;
}

static bool write_tgi_regex(const cf_box *box, json_t *body, json_t *value)
{
    (void)box;
    return json_object_set_new(body, "response_format",
                               json_pack("{s:s, s:O}", "type", "regex", "value", value)) == 0;
}

/* vLLM: {"structured_outputs": {KEY: V}} from 0.12 on, "guided_KEY" before. */
static bool write_vllm(const cf_box *box, json_t *body, const char *key, json_t *value)
{
    char old[32];
    if (cf_box__is_at_least(box, 0, 12)) {
        return json_object_set_new(body, "structured_outputs", json_pack("{s:O}", key, value)) == 0;
    }
    snprintf(old, sizeof old, "guided_%s", key);
    return json_object_set(body, old, value) == 0;
}

static bool write_vllm_regex(const cf_box *box, json_t *body, json_t *value)
{
    return write_vllm(box, body, "regex", value);
}

static bool write_vllm_choice(const cf_box *box, json_t *body, json_t *value)
{
    return write_vllm(box, body, "choice", value);
}

static bool write_vllm_grammar(const cf_box *box, json_t *body, json_t *value)
{
    return write_vllm(box, body, "grammar", value);
}

static bool write_grammar(const cf_box *box, json_t *body, json_t *value)
{
    (void)box;
    return json_object_set(body, "grammar", value) == 0;
}

/* root ::= "a" | "b" */
static bool write_gbnf_choice(const cf_box *box, json_t *body, json_t *value)
{
    cf_buf text = CF_BUF_INIT;
    (void)box;
    cf_buf_adds(&text, "root ::= ");
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *one = json_array_get(value, i);
        cf_buf_adds(&text, i > 0 ? " | " : "");
        cf_json_write_str(&text, cf_str_make(json_string_value(one), json_string_length(one)));
    }
    bool ok = !text.failed &&
              json_object_set_new(body, "grammar", json_stringn(cf_buf_cstr(&text), text.n)) == 0;
    cf_buf_deinit(&text);
    return ok;
}

enum { N_KINDS = CF_BOX_TGI + 1 };

typedef struct form {
    const char *key; /* of the spec */
    writer write[N_KINDS];
} form;

static const form forms[] = {
    {"schema",
     {[CF_BOX_PLAIN] = write_schema,
      [CF_BOX_LLAMA] = write_schema,
      [CF_BOX_VLLM] = write_schema,
      [CF_BOX_OLLAMA] = write_schema,
      [CF_BOX_LMSTUDIO] = write_schema,
      [CF_BOX_TGI] = write_tgi_schema}},
    {"json",
     {[CF_BOX_PLAIN] = write_json,
      [CF_BOX_LLAMA] = write_json,
      [CF_BOX_VLLM] = write_json,
      [CF_BOX_OLLAMA] = write_json}},
    {"regex", {[CF_BOX_VLLM] = write_vllm_regex, [CF_BOX_TGI] = write_tgi_regex}},
    {"choices", {[CF_BOX_LLAMA] = write_gbnf_choice, [CF_BOX_VLLM] = write_vllm_choice}},
    {"grammar", {[CF_BOX_LLAMA] = write_grammar, [CF_BOX_VLLM] = write_vllm_grammar}},
};

enum { N_FORMS = sizeof forms / sizeof forms[0] };

static cf_status refuse(const cf_box *box, cf_error *err)
{
    cf_buf takes = CF_BUF_INIT;
    for (size_t i = 0; i < N_FORMS; i++) {
        if (forms[i].write[box->kind] != NULL) {
            cf_buf_addf(&takes, "%s%s", takes.n > 0 ? ", " : "", forms[i].key);
        }
    }
    const char *name = cf_box__name(box->kind);
    cf_status st = cf_fail(err, CF_EUNSUPPORTED, "%s cannot be constrained this way; it takes: %s",
                           name[0] != '\0' ? name : "this server", cf_buf_cstr(&takes));
    cf_buf_deinit(&takes);
    return st;
}

cf_status cf_box__constrain(const cf_box *box, json_t *body, const json_t *spec, cf_error *err)
{
    for (size_t i = 0; i < N_FORMS; i++) {
        json_t *value = json_object_get(spec, forms[i].key);
        writer write = forms[i].write[box->kind];
        if (value != NULL && write != NULL) {
            return write(box, body, value) ? CF_OK : cf_oom_for(err, "the constraint");
        }
    }
    return refuse(box, err);
}
