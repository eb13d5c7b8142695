/*
 * promptfoo.h - a configuration of promptfoo as a plan of a sweep.
 *
 * Place in the flow:  promptfooconfig.yaml --> [promptfoo] --> a plan
 *                     (sweep_plan.h).
 * Knows: the keys of the format (https://www.promptfoo.dev/docs/configuration),
 * which of them can be asked of a sweep.  Does not know: engines, cells.
 *
 * Prompts become wordings, tests become prompts of the plan, each with the
 * checks of its assertions; providers become models with their own samplers.
 * Anything that runs code (javascript, python, exec) or that a sweep cannot
 * check is refused with its line, never dropped silently.
 *
 * Texts are rendered by the engine of chat templates, which supports the common
 * subset of Nunjucks and Jinja.
 *
 * Threads:  one thread.
 * Memory:   what is read belongs to the plan.
 */
#ifndef CF_TUI_STUDY_IMPORT_PROMPTFOO_H
#define CF_TUI_STUDY_IMPORT_PROMPTFOO_H

#include "tui/study/plan/sweep_plan_impl.h"

/* Reads the text of r->p->path into the plan.  CF_EFORMAT and CF_EINVAL name
 * the file and the line; CF_EUNSUPPORTED for features that a sweep does not
 * have; CF_EIO, CF_ELIMIT, CF_ENOMEM. */
CF_MUST_USE cf_status cf_promptfoo_read(cf_plan__reader *r, cf_str text, cf_error *err);

#endif
