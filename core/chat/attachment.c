/*
 * attachment.c - finds the bytes of an image or a sound in a part.
 */
#include "core/api/attachment.h"

#include <string.h>

#include "core/base/base64.h"
#include "core/base/os.h"

const char *cf_attachment_kind_name(cf_attachment_kind kind)
{
    static const char *const names[] = {"", "image", "audio"};
    return names[kind];
}

/* ---- what a part says --------------------------------------------------- */

/* The first of some fields that is a string. */
static cf_str first_of(const json_t *v, const char *const *keys)
{
    cf_str s = {NULL, 0};
    for (; s.n == 0 && *keys != NULL; keys++) {
        s = cf_json_get_str(v, *keys);
    }
    return s;
}

/* "data:image/png;base64,....": type and bytes. */
static bool read_data_url(cf_attachment *a, cf_str url)
{
    if (!cf_str_begins(url, "data:")) {
        return false;
    }
    size_t n = 5;
    while (n < url.n && url.p[n] != ',') {
        n++;
    }
    size_t end = 5;
    while (end < n && url.p[end] != ';') {
        end++;
    }
    a->mime = end > 5 ? cf_str_make(url.p + 5, end - 5) : a->mime;
    bool is_base64 = n >= 12 && memcmp(url.p + n - 7, ";base64", 7) == 0;
    if (is_base64 && n < url.n) {
        a->base64 = cf_str_make(url.p + n + 1, url.n - n - 1);
    }
    return true;
}

/* An address: a data URL, one to fetch, or a place on some disk. */
static void read_address(cf_attachment *a, cf_str s)
{
    if (s.n == 0 || read_data_url(a, s)) {
        return;
    }
    if (cf_str_begins(s, "http://") || cf_str_begins(s, "https://")) {
        a->url = s;
    } else if (cf_str_begins(s, "file://")) {
        a->place = cf_str_make(s.p + 7, s.n - 7);
    } else {
        a->place = s;
    }
}

/* Bytes as a list of numbers, as Kotlin writes them: -128 to 127. */
static void read_numbers(cf_attachment *a, const json_t *list)
{
    cf_buf bytes = CF_BUF_INIT;
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_int_t v = json_integer_value(json_array_get(list, i));
        cf_buf_addc(&bytes, (char)(unsigned char)((uint64_t)v & 0xFF));
    }
    if (bytes.n > 0 && !bytes.failed) {
        cf_base64_put(&a->own, cf_buf_str(&bytes));
        a->base64 = a->own.failed ? a->base64 : cf_buf_str(&a->own);
    }
    cf_buf_deinit(&bytes);
}

/* The bytes in an object of any of the programs. */
static void read_bytes(cf_attachment *a, const json_t *v)
{
    static const char *const bytes[] = {"blob", "data", "base64", "base64Data", NULL};
    static const char *const mimes[] = {"mime_type", "mimeType", "media_type", NULL};
    static const char *const places[] = {
        "url", "path", "uri", "image", "audio", "base64Url", "image_url", "asset_pointer", NULL};
    cf_str mime = first_of(v, mimes);
    a->mime = mime.n > 0 ? mime : a->mime;
    cf_str found = first_of(v, bytes);
    if (cf_str_begins(found, "data:")) {
        read_address(a, found);
    } else if (found.n > 0) {
        a->base64 = found;
    }
    if (a->base64.n == 0 && json_is_array(json_object_get(v, "data"))) {
        read_numbers(a, json_object_get(v, "data"));
    }
    if (a->base64.n == 0 && a->url.n == 0) {
        read_address(a, first_of(v, places));
    }
}

static cf_attachment_kind kind_of(cf_str type, cf_str mime)
{
    static const struct {
        const char *type;
        cf_attachment_kind kind;
    } types[] = {{"image", CF_ATTACHMENT_IMAGE},       {"image_url", CF_ATTACHMENT_IMAGE},
                 {"input_image", CF_ATTACHMENT_IMAGE}, {"imageFile", CF_ATTACHMENT_IMAGE},
                 {"IMAGE", CF_ATTACHMENT_IMAGE},       {"audio", CF_ATTACHMENT_AUDIO},
                 {"input_audio", CF_ATTACHMENT_AUDIO}, {"audio_url", CF_ATTACHMENT_AUDIO},
                 {"AUDIO", CF_ATTACHMENT_AUDIO}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (cf_str_is(type, types[i].type)) {
            return types[i].kind;
        }
    }
    bool is_file = type.n == 0 || cf_str_is(type, "file") || cf_str_is(type, "media");
    return is_file && cf_str_begins(mime, "image/")   ? CF_ATTACHMENT_IMAGE
           : is_file && cf_str_begins(mime, "audio/") ? CF_ATTACHMENT_AUDIO
                                                      : CF_ATTACHMENT_NONE;
}

bool cf_attachment_read(cf_attachment *out, const json_t *part)
{
    /* Objects inside a part that may hold the bytes or the address. */
    static const char *const inner[] = {"image_url",  "input_audio", "audio_url", "source",
                                        "inlineData", "inline_data", "converse",  NULL};
    cf_str type = cf_json_get_str(part, "type");
    *out = (cf_attachment){.own = CF_BUF_INIT};
    if (!json_is_object(part)) {
        return false;
    }
    read_bytes(out, part);
    for (const char *const *key = inner; *key != NULL; key++) {
        const json_t *v = json_object_get(part, *key);
        if (json_is_object(v) && out->base64.n == 0 && out->url.n == 0) {
            cf_str place = out->place;
            read_bytes(out, v);
            out->place = out->place.n > 0 ? out->place : place;
        }
    }
    out->kind = kind_of(type, out->mime);
    return out->kind != CF_ATTACHMENT_NONE;
}

void cf_attachment_deinit(cf_attachment *a)
{
    cf_buf_deinit(&a->own);
    *a = (cf_attachment){.own = CF_BUF_INIT};
}

/* ---- bytes -------------------------------------------------------------- */

const char *cf_attachment_sniff(cf_str b)
{
    if (cf_str_begins(b, "\x89PNG\r\n\x1a\n")) {
        return "image/png";
    }
    if (cf_str_begins(b, "\xff\xd8\xff")) {
        return "image/jpeg";
    }
    if (cf_str_begins(b, "GIF87a") || cf_str_begins(b, "GIF89a")) {
        return "image/gif";
    }
    if (cf_str_begins(b, "RIFF") && b.n >= 12) {
        return memcmp(b.p + 8, "WEBP", 4) == 0   ? "image/webp"
               : memcmp(b.p + 8, "WAVE", 4) == 0 ? "audio/wav"
                                                 : NULL;
    }
    if (cf_str_begins(b, "fLaC")) {
        return "audio/flac";
    }
    if (cf_str_begins(b, "OggS")) {
        return "audio/ogg";
    }
    if (cf_str_begins(b, "FORM") && b.n >= 12 && memcmp(b.p + 8, "AIF", 3) == 0) {
        return "audio/aiff";
    }
    if (cf_str_begins(b, ".snd")) {
        return "audio/basic";
    }
    if (cf_str_begins(b, "caff")) {
        return "audio/x-caf";
    }
    bool is_frame =
        b.n >= 2 && (unsigned char)b.p[0] == 0xFF && ((unsigned char)b.p[1] & 0xE6) == 0xE2;
    return cf_str_begins(b, "ID3") || is_frame ? "audio/mpeg" : NULL;
}

cf_str cf_attachment_mime(cf_str base64, cf_str said)
{
    enum { HEAD = 64 }; /* letters of base64 */
    cf_buf head = CF_BUF_INIT;
    size_t n = base64.n < HEAD ? base64.n / 4 * 4 : HEAD;
    const char *known = NULL;
    if (cf_base64_get(&head, cf_str_make(base64.p, n))) {
        known = cf_attachment_sniff(cf_buf_str(&head));
    }
    cf_buf_deinit(&head);
    return known != NULL ? cf_str_from(known) : said;
}

const char *cf_attachment_format(cf_str mime)
{
    return cf_str_is(mime, "audio/mpeg") || cf_str_is(mime, "audio/mp3") ? "mp3"
           : cf_str_is(mime, "audio/flac")                               ? "flac"
           : cf_str_is(mime, "audio/ogg")                                ? "ogg"
           : cf_str_is(mime, "audio/aiff")                               ? "aiff"
           : cf_str_is(mime, "audio/basic")                              ? "au"
           : cf_str_is(mime, "audio/x-caf")                              ? "caf"
                                                                         : "wav";
}

/* The bytes of a file of the right kind, as base64. */
static cf_status take_bytes(cf_attachment *a, cf_str bytes, const char *path, cf_error *err)
{
    const char *mime = cf_attachment_sniff(bytes);
    const char *kind = cf_attachment_kind_name(a->kind);
    if (mime == NULL || strncmp(mime, kind, strlen(kind)) != 0) {
        return cf_fail(err, CF_EUNSUPPORTED, "%.200s is not %s", path,
                       a->kind == CF_ATTACHMENT_IMAGE ? "an image (PNG, JPEG, GIF or WebP)"
                                                      : "a sound (WAV, MP3, FLAC, Ogg, "
                                                        "AIFF, AU or CAF)");
    }
    cf_buf_reset(&a->own);
    cf_base64_put(&a->own, bytes);
    a->base64 = cf_buf_str(&a->own);
    a->mime = cf_str_from(mime);
    return cf_buf_check(&a->own, err);
}

/* Only a regular file: a message may come from anywhere. */
static cf_status read_place(cf_attachment *a, const char *path, cf_error *err)
{
    cf_os_map map;
    CF_TRY(cf_os_map_open(&map, path, err));
    cf_status st = map.n <= CF_ATTACHMENT_BYTES_MAX
                       ? take_bytes(a, cf_str_make((const char *)map.p, map.n), path, err)
                       : cf_fail(err, CF_ELIMIT, "%.200s is larger than %d MiB", path,
                                 CF_ATTACHMENT_BYTES_MAX >> 20);
    cf_os_map_close(&map);
    return st;
}

cf_status cf_attachment_load(cf_attachment *a, cf_error *err)
{
    if (a->url.n > 0 || a->base64.n > 0) {
        return CF_OK;
    }
    char path[1024];
    const char *kind = cf_attachment_kind_name(a->kind);
    if (a->place.n == 0 || a->place.n >= sizeof path) {
        return cf_fail(err, CF_ENOTFOUND, "the %s is not here", kind);
    }
    memcpy(path, a->place.p, a->place.n);
    path[a->place.n] = '\0';
    cf_status st = strlen(path) == a->place.n && strcmp(path, "-") != 0 ? read_place(a, path, err)
                                                                        : CF_ENOTFOUND;
    return st == CF_ENOTFOUND ? cf_fail(err, st, "the %s %.200s is not here", kind, path) : st;
}

json_t *cf_attachment_part(const cf_attachment *a)
{
    cf_str mime = cf_attachment_mime(a->base64, a->mime);
    if (a->kind == CF_ATTACHMENT_AUDIO) {
        return json_pack("{s:s, s:{s:s%, s:s}}", "type", "input_audio", "input_audio", "data",
                         a->base64.p, a->base64.n, "format", cf_attachment_format(mime));
    }
    cf_buf url = CF_BUF_INIT;
    if (a->base64.n > 0) {
        cf_data_url_put(&url, mime, a->base64);
    } else {
        cf_buf_add(&url, a->url.p, a->url.n);
    }
    json_t *part = url.failed ? NULL
                              : json_pack("{s:s, s:{s:s%}}", "type", "image_url", "image_url",
                                          "url", cf_buf_cstr(&url), url.n);
    cf_buf_deinit(&url);
    return part;
}

bool cf_attachment_is_content(const json_t *value)
{
    size_t n_media = 0;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *part = json_array_get(value, i);
        cf_attachment a;
        bool is_media = cf_attachment_read(&a, part);
        cf_attachment_deinit(&a);
        if (!is_media && (!cf_str_is(cf_json_get_str(part, "type"), "text") ||
                          !json_is_string(json_object_get(part, "text")))) {
            return false;
        }
        n_media += is_media ? 1 : 0;
    }
    return n_media > 0;
}

/* The bytes that a path, a file's address or a data URL names; *shown: it in
 * messages. */
static cf_status read_named(cf_buf *bytes, const char *name, const char **shown, cf_error *err)
{
    cf_attachment a = {.own = CF_BUF_INIT};
    cf_str text = cf_str_from(name);
    *shown = strcmp(name, "-") == 0 ? "standard input" : name;
    if (cf_str_begins(text, "http://") || cf_str_begins(text, "https://")) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "%.200s is an address, and confab fetches nothing: give "
                       "the file",
                       name);
    }
    if (read_data_url(&a, text)) {
        *shown = "the data URL";
        return a.base64.n > 0 && cf_base64_get(bytes, a.base64) ? CF_OK
               : bytes->failed                                  ? cf_oom_for(err, "the attachment")
                               : cf_fail(err, CF_EFORMAT, "the data URL holds no base64");
    }
    return cf_os_read_file(bytes, cf_str_begins(text, "file://") ? name + 7 : name,
                           CF_ATTACHMENT_BYTES_MAX, err);
}

cf_status cf_attachment_file(json_t **out, cf_attachment_kind kind, const char *path, cf_error *err)
{
    cf_attachment a = {.kind = kind, .own = CF_BUF_INIT};
    cf_buf bytes = CF_BUF_INIT;
    const char *shown = path;
    cf_status st = read_named(&bytes, path, &shown, err);
    CF_THEN(st, take_bytes(&a, cf_buf_str(&bytes), shown, err));
    cf_buf_deinit(&bytes);
    if (st == CF_OK) {
        *out = cf_attachment_part(&a);
        st = *out != NULL ? CF_OK : cf_oom_for(err, "the attachment");
    }
    cf_attachment_deinit(&a);
    return st;
}
