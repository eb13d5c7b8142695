/*
 * attachment.h - images and sounds of messages, in every form that programs
 * give them, and in the one that servers take.
 *
 * Place in the flow:  a part of a message --> [attachment] --> a request to a
 *                     server, the screen.
 * Knows: the parts of OpenAI, LiteRT-LM, Xaibo, Anthropic, Gemini and of the
 * programs whose files confab imports; the first bytes of image and sound
 * files.  Does not know: pixels, models, the network.
 *
 * A part names its bytes as a data URL, as base64, as a list of numbers, as a
 * path, or by a URL that a server can fetch.  A path is read only when it is
 * asked for, and only a file that is an image or a sound is taken.
 *
 * Threads:  no state.
 * Memory:   an attachment borrows from its part and owns what it loaded.
 */
#ifndef CF_CORE_API_ATTACHMENT_H
#define CF_CORE_API_ATTACHMENT_H

#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/status.h"
#include "core/json/json.h"

CF_BEGIN_DECLS

enum { CF_ATTACHMENT_BYTES_MAX = 20 << 20 };

typedef enum cf_attachment_kind {
    CF_ATTACHMENT_NONE, /* text, or nothing that is known here */
    CF_ATTACHMENT_IMAGE,
    CF_ATTACHMENT_AUDIO
} cf_attachment_kind;

/* "image", "audio", "" */
const char *cf_attachment_kind_name(cf_attachment_kind kind);

typedef struct cf_attachment {
    cf_attachment_kind kind;
    cf_str url;    /* http: or https:; empty: none */
    cf_str base64; /* of its bytes; empty: not here */
    cf_str mime;   /* as the part says; may be empty */
    cf_str place;  /* a path or another program's name for it; may be empty */
    cf_buf own;    /* what base64 points into, when it is not the part */
} cf_attachment;

/* Reads a part of a message's content; false for parts of other kinds.  Reads
 * no file. out->own is made in any case: deinit it. */
bool cf_attachment_read(cf_attachment *out, const json_t *part);
void cf_attachment_deinit(cf_attachment *a);

/* The MIME type of an image (PNG, JPEG, GIF, WebP) or a sound (WAV, MP3, FLAC,
 * Ogg, AIFF, AU, CAF) by its first bytes; NULL for anything else. */
const char *cf_attachment_sniff(cf_str bytes);

/* The type of a file by the first of its bytes, in base64, else `said`, which may
 * be empty. */
cf_str cf_attachment_mime(cf_str base64, cf_str said);

/* OpenAI's name for the format of a sound of this type: "wav", "mp3" ... */
const char *cf_attachment_format(cf_str mime);

/*
 * Sees to it that a URL or the bytes are there: the file that `place` names is
 * read when neither is.  CF_ENOTFOUND: it is not here; CF_EUNSUPPORTED: the
 * file is not of that kind; CF_ELIMIT, CF_EIO, CF_ENOMEM.  The text names the
 * place.
 */
CF_MUST_USE cf_status cf_attachment_load(cf_attachment *a, cf_error *err);

/* A loaded attachment as a part of OpenAI's interface: "image_url" or
 * "input_audio"; never with a path.  A new reference, NULL without memory. */
json_t *cf_attachment_part(const cf_attachment *a);

/* Whether a value is a content of parts, texts and at least one image or sound:
 * what a tool may answer with. */
bool cf_attachment_is_content(const json_t *value);

/* A file ("-": standard input; a path, file://PATH or a data URL) as such a
 * part.  Errors as above; CF_EUNSUPPORTED for an address on the network. */
CF_MUST_USE cf_status cf_attachment_file(json_t **out, cf_attachment_kind kind, const char *path,
                                         cf_error *err);

CF_END_DECLS

#endif
