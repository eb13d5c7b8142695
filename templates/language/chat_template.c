/*
 * chat_template.c - a template as a renderer.
 */
#include "templates/chat_template.h"

static cf_status render(const void *ud, const json_t *context, cf_arena *arena,
                        cf_prompt *out, cf_error *err)
{
    const cf_template *tpl = ud;
    cf_context *values;
    cf_render result;
    CF_TRY(cf_context_from_json(&values, context, arena, err));
    CF_TRY(cf_template_render(tpl, values, NULL, arena, &result, err));
    *out = result.prompt;
    return CF_OK;
}

cf_prompt_renderer cf_renderer_template(const cf_template *tpl)
{
    return (cf_prompt_renderer){render, tpl};
}
