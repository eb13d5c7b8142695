/*
 * open_media.h - the projector file that belongs to a model: the one that was
 * given, or one beside the model.
 *
 * Private to templates/open.
 */
#ifndef CF_TEMPLATES_OPEN_OPEN_MEDIA_H
#define CF_TEMPLATES_OPEN_OPEN_MEDIA_H

#include "templates/open.h"

/* Fills b->media and b->media_cache; errors only for a file that was given.
 * b->engine is open. */
CF_MUST_USE cf_status cf_open__media(cf_opened *b, const cf_open_options *o, cf_error *err);

#endif
