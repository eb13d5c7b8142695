/*
 * probe.c - building and rendering probes.
 */
#include "templates/lint/probe.h"

#include <string.h>

static json_t *call(const char *kind)
{
    bool is_string = strchr(kind, 'j') != NULL;
    const char *id = strchr(kind, '2') != NULL ? "callprob2" : CF_PROBE_ID;
    const char *value =
        strchr(kind, '2') != NULL ? "Bergenprobe" : CF_PROBE_ARGUMENT;
    json_t *args = is_string
                       ? json_string("{\"city\": \"" CF_PROBE_ARGUMENT "\"}")
                       : json_pack("{s:s}", "city", value);
    return json_pack("{s:s,s:s,s:{s:s,s:o}}", "id", id, "type", "function",
                     "function", "name", CF_PROBE_TOOL, "arguments", args);
}

static json_t *text_message(const char *role, const char *content)
{
    return json_pack("{s:s,s:s}", "role", role, "content", content);
}

static json_t *call_message(char letter)
{
    json_t *m = json_pack("{s:s,s:s,s:[o]}", "role", "assistant", "content",
                          letter == 'C' ? CF_PROBE_ASSISTANT : "", "tool_calls",
                          call(letter == 'j' ? "j" : ""));
    int bad = m == NULL;
    if (letter == 'C' && !bad) {
        bad = json_object_set_new(m, "reasoning_content",
                                  json_string(CF_PROBE_THOUGHT));
    } else if (letter == 'n' && !bad) {
        bad = json_object_set_new(m, "content", json_null());
    } else if (letter == 'k' && !bad) {
        bad = json_object_del(m, "content");
    } else if (letter == 'm' && !bad) {
        bad =
            json_array_append_new(json_object_get(m, "tool_calls"), call("2"));
    }
    if (bad) {
        json_decref(m);
        m = NULL;
    }
    return m;
}

static json_t *message(char letter)
{
    switch (letter) {
    case 's':
        return text_message("system", CF_PROBE_SYSTEM);
    case 'd':
        return text_message("developer", CF_PROBE_SYSTEM);
    case 'u':
        return text_message("user", CF_PROBE_USER);
    case 'U':
        return text_message("user", CF_PROBE_USER2);
    case 'V':
        return text_message("user", CF_PROBE_USER3);
    case 'a':
        return text_message("assistant", CF_PROBE_ASSISTANT);
    case 'o':
        return text_message("narrator", CF_PROBE_USER2);
    case 'r':
        return json_pack("{s:s,s:s,s:s}", "role", "assistant", "content",
                         CF_PROBE_ASSISTANT, "reasoning_content",
                         CF_PROBE_THOUGHT);
    case 't':
        return json_pack("{s:s,s:s,s:s,s:s}", "role", "tool", "name",
                         CF_PROBE_TOOL, "tool_call_id", CF_PROBE_ID, "content",
                         CF_PROBE_RESULT);
    case 'p':
        return json_pack("{s:s,s:[{s:s,s:s}]}", "role", "user", "content",
                         "type", "text", "text", CF_PROBE_USER);
    case 'x':
        return json_pack("{s:s,s:n}", "role", "user", "content");
    default:
        return call_message(letter);
    }
}

static json_t *declaration(void)
{
    return json_pack("{s:s,s:{s:s,s:s,s:{s:s,s:{s:{s:s,s:s}},s:[s]}}}", "type",
                     "function", "function", "name", CF_PROBE_TOOL,
                     "description", "Weather of a city.", "parameters", "type",
                     "object", "properties", "city", "type", "string",
                     "description", "Name of the city.", "required", "city");
}

static json_t *spelling(cf_str given, const char *otherwise)
{
    return given.n != 0 ? json_stringn(given.p, given.n)
                        : json_string(otherwise);
}

static json_t *build(const cf_prober *p, const char *letters, unsigned flags)
{
    json_t *c = json_object();
    json_t *messages = json_array();
    int bad = c == NULL || messages == NULL;
    for (const char *at = letters; !bad && *at != '\0'; at++) {
        bad = json_array_append_new(messages, message(*at));
    }
    bad |= json_object_set_new(c, "messages", messages);
    if (!(flags & CF_PROBE_BARE)) {
        bad |= json_object_set_new(c, "tools",
                                   flags & CF_PROBE_TOOLS
                                       ? json_pack("[o]", declaration())
                                       : json_null());
        bad |= json_object_set_new(c, "documents", json_null());
        bad |= json_object_set_new(c, "bos_token",
                                   spelling(p->options->bos, "<s>"));
        bad |= json_object_set_new(c, "eos_token",
                                   spelling(p->options->eos, "</s>"));
    }
    bad |= json_object_set_new(c, "add_generation_prompt",
                               json_boolean(flags & CF_PROBE_GENERATE));
    if (flags & (CF_PROBE_THINK | CF_PROBE_NO_THINK)) {
        bad |= json_object_set_new(c, "enable_thinking",
                                   json_boolean(flags & CF_PROBE_THINK));
    }
    if (bad) {
        json_decref(c);
        return NULL;
    }
    return c;
}

cf_status cf_probe(const cf_prober *p, const char *letters, unsigned flags,
                   cf_shot *out, cf_error *err)
{
    if (p->options->cancel != NULL &&
        atomic_load_explicit(p->options->cancel, memory_order_relaxed)) {
        return cf_fail(err, CF_ECANCELLED, "cancelled");
    }
    cf_shot s = {.context = build(p, letters, flags)};
    cf_context *context;
    if (s.context == NULL) {
        return cf_oom(err);
    }
    s.status = cf_context_from_json(&context, s.context, p->arena, &s.err);
    if (s.status == CF_OK) {
        s.status = cf_template_render(p->tpl, context, NULL, p->arena,
                                      &s.render, &s.err);
    }
    if (s.status == CF_ENOMEM) {
        cf_shot_free(&s);
        return cf_oom(err);
    }
    *out = s;
    return CF_OK;
}

void cf_shot_free(cf_shot *shot)
{
    json_decref(shot->context);
    shot->context = NULL;
}

size_t cf_shot_find(const cf_shot *shot, const char *word)
{
    cf_str text = shot->render.prompt.text;
    size_t n = strlen(word);
    if (shot->status != CF_OK) {
        return SIZE_MAX;
    }
    for (size_t i = 0; i + n <= text.n; i++) {
        if (memcmp(text.p + i, word, n) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

bool cf_shot_has(const cf_shot *shot, const char *word)
{
    return cf_shot_find(shot, word) != SIZE_MAX;
}

const cf_prompt_span *cf_shot_span(const cf_shot *shot, size_t off)
{
    const cf_prompt *p = &shot->render.prompt;
    size_t lo = 0, hi = p->n_spans;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->spans[mid].off + p->spans[mid].len <= off) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < p->n_spans ? &p->spans[lo] : NULL;
}

bool cf_shot_is_refused(const cf_shot *shot)
{
    return shot->status != CF_OK && shot->render.error.is_raised;
}
