/*
 * xchg_media.c - one view of the many shapes of a part with bytes.
 */
#include "storage/exchange/xchg_media.h"

#include <string.h>

#include "core/api/attachment.h"
#include "core/base/base64.h"

static const cf_str none = {NULL, 0};

static cf_str text_of(const json_t *v)
{
    return cf_str_make(json_string_value(v), json_string_length(v));
}

static cf_str first_of(const json_t *v, const char *a, const char *b)
{
    cf_str s = cf_json_get_str(v, a);
    return s.n != 0 ? s : cf_json_get_str(v, b);
}

const char *cf_xmedia__kind(cf_str mime)
{
    return cf_str_begins(mime, "image/")   ? "image"
           : cf_str_begins(mime, "audio/") ? "audio"
           : cf_str_begins(mime, "video/") ? "video"
                                           : "file";
}

/* Splits "data:MIME;base64,DATA"; anything else stays a place. */
static void set_url(cf_media_ref *m, cf_str url)
{
    m->place = url;
    if (!cf_str_begins(url, "data:")) {
        m->is_path = memchr(url.p, ':', url.n) == NULL || url.p[0] == '/';
    } else if (cf_data_url_get(url, &m->mime, &m->data)) {
        m->place = none;
    }
}

/* The first of the many keys that holds bytes or a place. */
static bool find_source(cf_media_ref *m, const json_t *part)
{
    const json_t *image = json_object_get(part, "image_url");
    const json_t *audio = json_object_get(part, "input_audio");
    const json_t *file = json_object_get(part, "file");
    cf_str url = json_is_string(image) ? text_of(image) : cf_json_get_str(image, "url");
    cf_str blob = cf_json_get_str(part, "blob");
    if (url.n == 0) {
        url = first_of(file, "file_data", "file_url");
    }
    if (url.n == 0) {
        url = first_of(part, "url", "image");
    }
    if (url.n != 0) {
        set_url(m, url);
        return true;
    }
    m->data = blob.n != 0 ? blob : cf_json_get_str(audio, "data");
    m->place = cf_json_get_str(part, "path");
    m->is_path = m->place.n != 0;
    return m->data.n != 0 || m->place.n != 0;
}

bool cf_xmedia__get(cf_media_ref *out, const json_t *part)
{
    static const char *const kinds[][2] = {
        {"image", "image"}, {"image_url", "image"},   {"input_image", "image"},
        {"audio", "audio"}, {"input_audio", "audio"}, {"audio_url", "audio"},
        {"video", "video"}, {"video_url", "video"},   {"file", "file"}};
    cf_str type = cf_json_get_str(part, "type");
    *out = (cf_media_ref){.mime = cf_json_get_str(part, "mime_type"),
                          .name = cf_json_get_str(part, "name")};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (cf_str_is(type, kinds[i][0])) {
            out->kind = cf_str_from(kinds[i][1]);
        }
    }
    if (out->kind.n == 0 || !find_source(out, part)) {
        return false;
    }
    const json_t *file = json_object_get(part, "file");
    if (out->name.n == 0) {
        out->name = cf_json_get_str(file, "filename");
    }
    return true;
}

void cf_xmedia__put_url(cf_buf *out, const cf_media_ref *m)
{
    if (m->data.n == 0) {
        cf_buf_add(out, m->place.p, m->place.n);
        return;
    }
    cf_str known = cf_attachment_mime(m->data, m->mime);
    cf_str mime = known.n != 0                  ? known
                  : cf_str_is(m->kind, "image") ? cf_str_from("image/png")
                  : cf_str_is(m->kind, "audio") ? cf_str_from("audio/wav")
                                                : cf_str_from("application/"
                                                              "octet-stream");
    cf_data_url_put(out, mime, m->data);
}

static json_t *text(cf_str s)
{
    return json_stringn(s.p != NULL ? s.p : "", s.n);
}

json_t *cf_xmedia__part(const char *kind, cf_str url, cf_str name)
{
    cf_media_ref m = {.kind = cf_str_from(kind)};
    json_t *label = name.n != 0 ? text(name) : NULL;
    set_url(&m, url);
    if (strcmp(kind, "image") == 0 && !m.is_path) {
        return json_pack("{s:s,s:{s:o},s:o*}", "type", "image_url", "image_url", "url", text(url),
                         "name", label);
    }
    if (m.data.n != 0) {
        return json_pack("{s:s,s:o,s:o,s:o*}", "type", kind, "blob", text(m.data), "mime_type",
                         text(m.mime), "name", label);
    }
    return json_pack("{s:s,s:o,s:o*}", "type", kind, m.is_path ? "path" : "url", text(url), "name",
                     label);
}
