/*
 * chat_template.c - a template as a renderer, its messages shaped first.
 */
#include "templates/chat_template.h"

#include "core/base/alloc.h"
#include "templates/builtin.h"
#include "templates/language/ast.h"
#include "templates/shape/message_shape.h"

static cf_status render_as_is(const cf_template *tpl, const json_t *context, cf_arena *arena,
                              cf_prompt *out, cf_error *err)
{
    cf_context *values;
    cf_render result;
    CF_TRY(cf_context_from_json(&values, context, arena, err));
    const cf_render_options options = {.causes = true};
    CF_TRY(cf_template_render(tpl, values, &options, arena, &result, err));
    *out = result.prompt;
    return CF_OK;
}

/* The template's capabilities, found out once; any thread may be the first. */
static cf_status get_caps(const cf_template *tpl, const cf_template_caps **out, cf_error *err)
{
    cf_template_memo *memo = tpl->memo;
    void *known = atomic_load(&memo->caps);
    if (known == NULL) {
        cf_template_caps *caps = cf_calloc(1, sizeof *caps);
        if (caps == NULL) {
            return cf_oom(err);
        }
        cf_status st = cf_template_get_caps(tpl, NULL, caps, err);
        if (st != CF_OK) {
            cf_free(caps);
            return st;
        }
        if (atomic_compare_exchange_strong(&memo->caps, &known, caps)) {
            known = caps;
        } else {
            cf_free(caps);
        }
    }
    *out = known;
    return CF_OK;
}

/* The members that a built-in template joins with text, where no model gives them. */
static const char *const tokens[][2] = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};

static bool joins_tokens(const cf_template *tpl)
{
    static const char *const names[] = {"llama2", "mistral", "zephyr"};
    bool joins = false;
    for (size_t i = 0; !joins && i < sizeof names / sizeof names[0]; i++) {
        joins = cf_str_eq(cf_template_source(tpl), cf_template_builtin(names[i]));
    }
    return joins;
}

/* The context with these tokens, a new reference; NULL: no memory. */
static json_t *with_tokens(const cf_template *tpl, const json_t *context)
{
    const bool is_whole =
        json_object_get(context, tokens[0][0]) != NULL && json_object_get(context, tokens[1][0]);
    if (is_whole || !joins_tokens(tpl)) {
        return json_incref(cf_json_ref(context));
    }
    json_t *copy = cf_json_copy(context);
    for (size_t i = 0; copy != NULL && i < 2; i++) {
        if (json_object_get(copy, tokens[i][0]) == NULL &&
            json_object_set_new(copy, tokens[i][0], json_string(tokens[i][1])) != 0) {
            json_decref(copy);
            copy = NULL;
        }
    }
    return copy;
}

static cf_status render_shaped(const cf_template *tpl, const json_t *context, cf_arena *arena,
                               cf_prompt *out, cf_error *err)
{
    const cf_template_caps *caps = NULL;
    const cf_str none = {NULL, 0};
    const char *why;
    cf_shape shape;
    cf_status st = cf_shape_is_needed(context) ? get_caps(tpl, &caps, err) : CF_OK;
    if (st == CF_ENOMEM) {
        return st;
    }
    if (caps == NULL) { /* none needed, or none can be found out */
        return render_as_is(tpl, context, arena, out, err);
    }
    cf_tool_family family = cf_tool_family_detect(cf_template_source(tpl), none, none, &why);
    cf_role_map roles;
    cf_role_map_init(&roles, cf_template_source(tpl));
    CF_TRY(cf_shape_init(&shape, context, caps, &roles, family, err));
    st = render_as_is(tpl, shape.context, arena, out, err);
    CF_THEN(st, cf_shape_spans(&shape, out, arena, err));
    cf_shape_deinit(&shape);
    return st;
}

static cf_status render(const void *ud, const json_t *context, cf_arena *arena, cf_prompt *out,
                        cf_error *err)
{
    json_t *whole = with_tokens(ud, context);
    if (whole == NULL) {
        return cf_oom(err);
    }
    cf_status st = render_shaped(ud, whole, arena, out, err);
    json_decref(whole);
    return st;
}

static cf_status render_unshaped(const void *ud, const json_t *context, cf_arena *arena,
                                 cf_prompt *out, cf_error *err)
{
    return render_as_is(ud, context, arena, out, err);
}

cf_prompt_renderer cf_renderer_template_as_is(const cf_template *tpl)
{
    return (cf_prompt_renderer){.render = render_unshaped, .ud = tpl};
}

cf_prompt_renderer cf_renderer_template(const cf_template *tpl)
{
    return (cf_prompt_renderer){.render = render, .ud = tpl, .render_as_is = render_unshaped};
}
