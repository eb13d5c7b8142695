/*
 * probe.c - building and rendering probes.
 *
 * 1. prober.memory is the sum of the memory of all shots alive.
 * 2. No render may take more steps or memory than the budget has left.
 * 3. Once a render reached a limit, no further one begins.
 */
#include "templates/lint/probe.h"

#include <string.h>

enum { RENDER_STEPS = CF_PROBE_STEPS / 10 };

/* ---- messages ----------------------------------------------------------- */

static json_t *text_message(const char *role, const char *content)
{
    return json_pack("{s:s,s:s}", "role", role, "content", content);
}

static json_t *parts_message(const char *role, const char *text)
{
    return json_pack("{s:s,s:[{s:s,s:s}]}", "role", role, "content", "type", "text", "text", text);
}

static json_t *thought_message(const char *field)
{
    return json_pack("{s:s,s:s,s:s}", "role", "assistant", "content", CF_PROBE_ASSISTANT, field,
                     CF_PROBE_THOUGHT);
}

/* One call; id NULL: without. */
static json_t *call(const char *id, const char *city, bool as_string)
{
    json_t *args = as_string ? json_string("{\"city\": \"" CF_PROBE_ARGUMENT "\"}")
                             : json_pack("{s:s}", "city", city);
    json_t *c = json_pack("{s:s,s:{s:s,s:o}}", "type", "function", "function", "name",
                          CF_PROBE_TOOL, "arguments", args);
    if (c != NULL && id != NULL && json_object_set_new(c, "id", json_string(id)) != 0) {
        json_decref(c);
        return NULL;
    }
    return c;
}

static json_t *call_message(char letter)
{
    const char *id = letter == 'z' ? NULL : letter == 'l' ? CF_PROBE_ID_LONG : CF_PROBE_ID;
    json_t *m = json_pack("{s:s,s:s,s:[o]}", "role", "assistant", "content",
                          letter == 'C' ? CF_PROBE_ASSISTANT : "", "tool_calls",
                          call(id, CF_PROBE_ARGUMENT, letter == 'j'));
    int bad = m == NULL;
    if (letter == 'C' && !bad) {
        bad = json_object_set_new(m, "reasoning_content", json_string(CF_PROBE_THOUGHT));
    } else if (letter == 'n' && !bad) {
        bad = json_object_set_new(m, "content", json_null());
    } else if (letter == 'k' && !bad) {
        bad = json_object_del(m, "content");
    } else if (letter == 'm' && !bad) {
        bad = json_array_append_new(json_object_get(m, "tool_calls"),
                                    call("callprob2", CF_PROBE_ARGUMENT2, false));
    }
    if (bad) {
        json_decref(m);
        m = NULL;
    }
    return m;
}

/* Takes `content`; id NULL: without. */
static json_t *result_message(const char *id, json_t *content)
{
    json_t *m =
        json_pack("{s:s,s:s,s:o}", "role", "tool", "name", CF_PROBE_TOOL, "content", content);
    if (m != NULL && id != NULL && json_object_set_new(m, "tool_call_id", json_string(id)) != 0) {
        json_decref(m);
        return NULL;
    }
    return m;
}

static json_t *result(char letter)
{
    switch (letter) {
    case 'y':
        return result_message(CF_PROBE_ID,
                              json_pack("[{s:s,s:s}]", "type", "text", "text", CF_PROBE_RESULT));
    case 'O':
        return result_message(CF_PROBE_ID, json_pack("{s:s}", "sky", CF_PROBE_RESULT));
    case 'T':
        return result_message(NULL, json_string(CF_PROBE_RESULT));
    case 'L':
        return result_message(CF_PROBE_ID_LONG, json_string(CF_PROBE_RESULT));
    case 'b':
        return result_message("callprob2", json_string(CF_PROBE_RESULT));
    default:
        return result_message(CF_PROBE_ID, json_string(CF_PROBE_RESULT));
    }
}

/* Two texts, and a part of this type between them; NULL: none. */
static json_t *divided_message(const char *type)
{
    json_t *m = json_pack("{s:s,s:[{s:s,s:s},{s:s,s:s}]}", "role", "user", "content", "type",
                          "text", "text", CF_PROBE_USER2, "type", "text", "text", CF_PROBE_USER3);
    if (m != NULL && type != NULL &&
        json_array_insert_new(json_object_get(m, "content"), 1, json_pack("{s:s}", "type", type)) !=
            0) {
        json_decref(m);
        return NULL;
    }
    return m;
}

static json_t *user(char letter)
{
    switch (letter) {
    case 'U':
        return text_message("user", CF_PROBE_USER2);
    case 'V':
        return text_message("user", CF_PROBE_USER3);
    case 'p':
        return parts_message("user", CF_PROBE_USER);
    case 'i':
        return json_pack("{s:s,s:[{s:s},{s:s,s:s}]}", "role", "user", "content", "type", "image",
                         "type", "text", "text", CF_PROBE_USER);
    case 'P':
        return divided_message(NULL);
    case 'I':
        return divided_message("image");
    case 'A':
        return divided_message("audio");
    case 'F':
        return divided_message("video");
    case 'x':
        return json_pack("{s:s,s:n}", "role", "user", "content");
    default:
        return text_message("user", CF_PROBE_USER);
    }
}

static json_t *message(char letter)
{
    switch (letter) {
    case 's':
        return text_message("system", CF_PROBE_SYSTEM);
    case 'S':
        return parts_message("system", CF_PROBE_SYSTEM);
    case 'd':
        return text_message("developer", CF_PROBE_SYSTEM);
    case 'o':
        return text_message("narrator", CF_PROBE_USER2);
    case 'a':
        return text_message("assistant", CF_PROBE_ASSISTANT);
    case 'w':
        return text_message("assistant",
                            "<think>" CF_PROBE_THOUGHT "</think>" CF_PROBE_ASSISTANT);
    case 'r':
        return thought_message("reasoning_content");
    case 'R':
        return thought_message("reasoning");
    case 'h':
        return thought_message("thinking");
    case 'u':
    case 'U':
    case 'V':
    case 'p':
    case 'i':
    case 'x':
    case 'P':
    case 'I':
    case 'A':
    case 'F':
        return user(letter);
    case 't':
    case 'T':
    case 'L':
    case 'b':
    case 'y':
    case 'O':
        return result(letter);
    default:
        return call_message(letter);
    }
}

/* ---- contexts ----------------------------------------------------------- */

static json_t *declaration(unsigned flags)
{
    if (flags & CF_PROBE_BARE_TOOL) {
        return json_pack("{s:s,s:{s:s}}", "type", "function", "function", "name", CF_PROBE_TOOL);
    }
    return json_pack("{s:s,s:{s:s,s:s,s:{s:s,s:{s:{s:s,s:s}},s:[s]}}}", "type", "function",
                     "function", "name", CF_PROBE_TOOL, "description", "Weather of a city.",
                     "parameters", "type", "object", "properties", "city", "type", "string",
                     "description", "Name of the city.", "required", "city");
}

cf_str cf_probe_bos(const cf_prober *p)
{
    return p->bos.n != 0 ? p->bos : cf_str_from("<s>");
}

cf_str cf_probe_eos(const cf_prober *p)
{
    return p->eos.n != 0 ? p->eos : cf_str_from("</s>");
}

static json_t *str_json(cf_str s)
{
    return json_stringn(s.p, s.n);
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
                                   flags & CF_PROBE_TOOLS ? json_pack("[o]", declaration(flags))
                                                          : json_null());
        bad |= json_object_set_new(c, "documents", json_null());
        bad |= json_object_set_new(c, "bos_token", str_json(cf_probe_bos(p)));
        bad |= json_object_set_new(c, "eos_token", str_json(cf_probe_eos(p)));
    }
    bad |= json_object_set_new(c, "add_generation_prompt", json_boolean(flags & CF_PROBE_GENERATE));
    if (flags & (CF_PROBE_THINK | CF_PROBE_NO_THINK)) {
        bad |= json_object_set_new(c, "enable_thinking", json_boolean(flags & CF_PROBE_THINK));
    }
    if (bad) {
        json_decref(c);
        return NULL;
    }
    return c;
}

/* ---- renders ------------------------------------------------------------ */

static cf_status begin(cf_prober *p, cf_error *err)
{
    if (p->cancel != NULL && atomic_load_explicit(p->cancel, memory_order_relaxed)) {
        return cf_fail(err, CF_ECANCELLED, "cancelled");
    }
    if (!p->is_spent && (p->steps >= CF_PROBE_STEPS || p->memory >= CF_PROBE_MEMORY)) {
        p->is_spent = true;
        cf_fail(&p->why, CF_ELIMIT, "all probes together take over %d steps or %d MiB",
                (int)CF_PROBE_STEPS, (int)CF_PROBE_MEMORY >> 20);
    }
    return p->is_spent ? cf_fail(err, CF_ELIMIT, "%s", p->why.text) : CF_OK;
}

/* Renders within the remaining budget. */
static void render(cf_prober *p, cf_shot *s)
{
    cf_context *context;
    uint64_t steps = CF_PROBE_STEPS - p->steps;
    cf_render_options options = {
        .limits = {.max_steps = steps < RENDER_STEPS ? steps : RENDER_STEPS,
                   .max_memory_bytes = CF_PROBE_MEMORY - p->memory},
        .causes = p->causes,
        .now = p->now,
        .cancel = p->cancel};
    s->status = cf_context_from_json(&context, s->context, &s->arena, &s->err);
    if (s->status == CF_OK) {
        s->status = cf_template_render(p->tpl, context, &options, &s->arena, &s->render, &s->err);
    }
    p->steps += s->render.n_steps;
    s->memory = s->arena.total;
    if (s->status == CF_ELIMIT) {
        p->is_spent = true;
        p->why = s->err;
    }
}

cf_status cf_probe_context(cf_prober *p, json_t *context, cf_shot *out, cf_error *err)
{
    *out = (cf_shot){0};
    cf_status st = begin(p, err);
    if (st != CF_OK) {
        json_decref(context);
        return st;
    }
    if (context == NULL) {
        return cf_oom(err);
    }
    out->context = context;
    cf_arena_init(&out->arena, 0);
    render(p, out);
    if (out->status == CF_ENOMEM || out->status == CF_ECANCELLED) {
        st = out->status == CF_ENOMEM ? cf_oom(err) : cf_fail(err, CF_ECANCELLED, "cancelled");
        out->memory = 0;
        cf_shot_free(p, out);
        return st;
    }
    p->memory += out->memory;
    return CF_OK;
}

cf_status cf_probe(cf_prober *p, const char *letters, unsigned flags, cf_shot *out, cf_error *err)
{
    *out = (cf_shot){0};
    CF_TRY(begin(p, err));
    return cf_probe_context(p, build(p, letters, flags), out, err);
}

void cf_shot_free(cf_prober *p, cf_shot *shot)
{
    p->memory -= shot->memory;
    json_decref(shot->context);
    cf_arena_deinit(&shot->arena);
    *shot = (cf_shot){0};
}

/* ---- looking at one ----------------------------------------------------- */

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

bool cf_shot_is_refused(const cf_shot *shot)
{
    return shot->status != CF_OK && shot->render.error.is_raised;
}
