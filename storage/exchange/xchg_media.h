/*
 * xchg_media.h - images, sounds and files of a message, whichever program
 * wrote them.
 *
 * A part holds its bytes as base64, or says where they are.  Recognised are
 * OpenAI's image_url, input_audio and file, LiteRT-LM's path and blob, a plain
 * url, Xaibo's image.  Nothing is read from disk or from the network.
 */
#ifndef CF_STORAGE_EXCHANGE_XCHG_MEDIA_H
#define CF_STORAGE_EXCHANGE_XCHG_MEDIA_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/json/json.h"

typedef struct cf_media_ref {
    cf_str kind;  /* "image", "audio", "video" or "file" */
    cf_str mime;  /* may be empty */
    cf_str name;  /* likewise */
    cf_str data;  /* base64; empty: `place` says where it is */
    cf_str place; /* a URL or a path */
    bool is_path;
} cf_media_ref;

/* False for text and for what is not known.  Texts are borrowed. */
bool cf_xmedia__get(cf_media_ref *out, const json_t *part);
/* data:MIME;base64,DATA or the place as it is. */
void cf_xmedia__put_url(cf_buf *out, const cf_media_ref *m);
/* A part for a URL ("data:..." included) or a path: image_url for images that
 * are not files, else {"type":kind,"blob"|"url"|"path"}.  NULL: no memory. */
json_t *cf_xmedia__part(const char *kind, cf_str url, cf_str name);
/* "image", "audio", "video" or "file" by a media type. */
const char *cf_xmedia__kind(cf_str mime);

#endif
