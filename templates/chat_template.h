/*
 * chat_template.h - a template as the renderer that the conversation layer
 * asks for.
 */
#ifndef CF_TEMPLATES_CHAT_TEMPLATE_H
#define CF_TEMPLATES_CHAT_TEMPLATE_H

#include "core/api/renderer.h"
#include "templates/template.h"

/* A renderer that runs `tpl`, which must outlive it. */
cf_prompt_renderer cf_renderer_template(const cf_template *tpl);

#endif
