/*
 * lab_template.h - the template in use, and changing it.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_TALK_LAB_TEMPLATE_H
#define CF_TUI_LAB_TALK_LAB_TEMPLATE_H

#include "tui/lab/state/lab_state.h"

typedef struct cf_template cf_template;

const char *cf_lab_template_name(const cf_lab *lab);
/* Appends a line of the template, without its indentation. */
void cf_lab_template_line(const cf_lab *lab, uint32_t line, cf_buf *out);

/*
 * Renders with another template from now on (copied; an empty source is no
 * template).  The cache stays, and so the prompt shows where it breaks.
 * CF_EFORMAT with line and column when it does not compile, CF_EBUSY,
 * CF_EUNSUPPORTED; the old one then stays.
 */
CF_MUST_USE cf_status cf_lab_set_template(cf_lab *lab, const char *name, cf_str source,
                                          cf_error *err);
/* How a model prompted with this template most likely writes calls. */
cf_tool_family cf_lab_tool_family(const cf_lab_engine *engine, cf_str source);
/*
 * Gives a backend, the workbench's or a clone of it, another template (NULL:
 * none) and the tool family that this writes; returns the family.  The template
 * must live as long as the backend uses it.
 */
cf_tool_family cf_lab_use_template(cf_backend *backend, const cf_lab_engine *engine,
                                   const cf_template *tpl, cf_str source);
/* The template that the workbench was started with; borrowed. */
void cf_lab_first_template(const cf_lab *lab, const char **name, cf_str *source);

#endif
