/*
 * media_png.h - what an encoder reads, as PNG files.
 */
#ifndef CF_TUI_CLI_INSPECT_MEDIA_PNG_H
#define CF_TUI_CLI_INSPECT_MEDIA_PNG_H

#include "core/api/media.h"

/* Writes each block of `in`: the first that is written to `path`, the others
 * beside it with their number, out-2.png; *n counts them.  CF_EIO,
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_media_png(const cf_media_input *in, const char *path, size_t *n,
                                   cf_error *err);

#endif
