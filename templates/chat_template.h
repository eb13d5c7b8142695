/*
 * chat_template.h - a template as the renderer that the conversation layer
 * asks for.
 *
 * Place in the flow:  conversation --> context --> [renderer] --> prompt.
 * Knows: templates and core/api/renderer.h.
 * Does not know: conversations, and who calls it.
 *
 * Threads:  a renderer is constant, as its template is.
 * Memory:   prompts live in the arena of each call; the template is borrowed.
 */
#ifndef CF_TEMPLATES_CHAT_TEMPLATE_H
#define CF_TEMPLATES_CHAT_TEMPLATE_H

#include "core/api/renderer.h"
#include "core/base/decls.h"
#include "templates/template.h"

CF_BEGIN_DECLS

/* A renderer that runs `tpl`, which must outlive it.  Messages and tools are
 * first given the form that the template reads, unless they are rendered as
 * they are; built-in templates that cannot do without a bos_token and an
 * eos_token get "<s>" and "</s>" where the context has none. */
cf_prompt_renderer cf_renderer_template(const cf_template *tpl);

/* The same, always as they are: what the template does not read or write is
 * lost. */
cf_prompt_renderer cf_renderer_template_as_is(const cf_template *tpl);

CF_END_DECLS

#endif
