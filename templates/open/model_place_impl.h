/*
 * model_place_impl.h - Ollama's store, for the files that look into it.
 *
 * Private to templates/open.
 */
#ifndef CF_TEMPLATES_OPEN_MODEL_PLACE_IMPL_H
#define CF_TEMPLATES_OPEN_MODEL_PLACE_IMPL_H

#include "core/base/buf.h"
#include "core/base/status.h"

/* Appends the file of the first layer of this media type in the manifest of
 * "NAME[:TAG]".  CF_ENOTFOUND where there is no such layer; CF_EINVAL,
 * CF_EFORMAT, CF_ENOMEM. */
CF_MUST_USE cf_status cf_place__ollama_layer(cf_buf *out, const char *name, const char *type,
                                             cf_error *err);

#endif
