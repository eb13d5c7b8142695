/*
 * chat_template.c - a template as a renderer, its messages shaped first.
 */
#include "templates/chat_template.h"

#include "core/base/alloc.h"
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

static cf_status render(const void *ud, const json_t *context, cf_arena *arena, cf_prompt *out,
                        cf_error *err)
{
    const cf_template *tpl = ud;
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
