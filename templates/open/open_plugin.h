/*
 * open_plugin.h - "llama:FILE": the engine plug-in that computes a model, and which
 * options it can keep.
 *
 * Private to templates/open.
 */
#ifndef CF_TEMPLATES_OPEN_OPEN_PLUGIN_H
#define CF_TEMPLATES_OPEN_OPEN_PLUGIN_H

#include "templates/open.h"

/* CF_EINVAL, naming the option, for one that the engine of the model cannot keep:
 * of a plug-in what is about confab's arithmetic, of confab --gpu-layers. */
CF_MUST_USE cf_status cf_open__plugin_check(const cf_open_options *o, cf_error *err);

/* Appends the plug-in's program.  CF_EUNSUPPORTED, and how to build it, where it is
 * in no place. */
CF_MUST_USE cf_status cf_open__plugin_find(cf_buf *out, cf_error *err);

#endif
