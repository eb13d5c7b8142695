/*
 * mcp_result.c - a tool's result as a model gets it.
 *
 * Text and the text of resources go in as they are.  What a message cannot
 * hold is named in a line in brackets, so that neither the model nor the
 * reader takes it for nothing.
 */
#include <string.h>

#include "core/api/attachment.h"
#include "core/base/base64.h"
#include "core/mcp/mcp_impl.h"

static void put_field(cf_buf *out, const char *before, cf_str text)
{
    if (text.n > 0) {
        cf_buf_adds(out, before);
        cf_buf_add(out, text.p, text.n);
    }
}

/* "[image image/png, 1234 bytes]" */
static void put_data(cf_buf *out, const char *what, cf_str mime, cf_str base64)
{
    size_t pad = base64.n > 0 && base64.p[base64.n - 1] == '=' ? 1 : 0;
    pad += base64.n > 1 && base64.p[base64.n - 2] == '=' ? 1 : 0;
    size_t n = base64.n / 4 * 3;
    cf_buf_addf(out, "[%s", what);
    put_field(out, " ", mime);
    cf_buf_addf(out, ", %zu bytes]", n > pad ? n - pad : 0);
}

static void put_resource(cf_buf *out, const json_t *resource)
{
    const json_t *text = json_object_get(resource, "text");
    cf_buf_adds(out, "[resource");
    put_field(out, " ", cf_json_get_str(resource, "uri"));
    cf_buf_addc(out, ']');
    if (json_is_string(text)) {
        put_field(out, "\n", cf_json_get_str(resource, "text"));
    } else {
        cf_buf_addc(out, ' ');
        put_data(out, "data", cf_json_get_str(resource, "mimeType"),
                 cf_json_get_str(resource, "blob"));
    }
}

static void put_link(cf_buf *out, const json_t *block)
{
    cf_buf_adds(out, "[link");
    put_field(out, " ", cf_json_get_str(block, "uri"));
    put_field(out, ", ", cf_json_get_str(block, "mimeType"));
    cf_buf_addc(out, ']');
    put_field(out, " ", cf_json_get_str(block, "name"));
    put_field(out, ": ", cf_json_get_str(block, "description"));
}

static void put_block(cf_buf *out, const json_t *block)
{
    cf_str type = cf_json_get_str(block, "type");
    cf_str mime = cf_json_get_str(block, "mimeType");
    cf_str data = cf_json_get_str(block, "data");
    if (cf_str_is(type, "text")) {
        cf_str text = cf_json_get_str(block, "text");
        cf_buf_add(out, text.p, text.n);
    } else if (cf_str_is(type, "image")) {
        put_data(out, "image", mime, data);
    } else if (cf_str_is(type, "audio")) {
        put_data(out, "audio", mime, data);
    } else if (cf_str_is(type, "resource")) {
        put_resource(out, json_object_get(block, "resource"));
    } else if (cf_str_is(type, "resource_link")) {
        put_link(out, block);
    } else {
        cf_json_write(out, block);
    }
}

void cf_mcp_result_text(const cf_mcp_result *result, cf_buf *out)
{
    size_t n = json_array_size(result->content);
    for (size_t i = 0; i < n; i++) {
        if (i > 0) {
            cf_buf_addc(out, '\n');
        }
        put_block(out, json_array_get(result->content, i));
    }
    if (n == 0 && result->structured != NULL) {
        cf_json_write(out, result->structured);
    }
    for (size_t i = 0; !result->is_sent && i < json_array_size(result->findings); i++) {
        const json_t *f = json_array_get(result->findings, i);
        cf_buf_adds(out, i > 0 ? "\n" : "");
        put_field(out, "", cf_json_get_str(f, "path"));
        put_field(out, ": ", cf_json_get_str(f, "text"));
    }
}

/* Whether base64 begins as an image or a sound does. */
static bool is_media(cf_str base64)
{
    enum { HEAD = 64 };
    cf_buf head = CF_BUF_INIT;
    size_t n = base64.n < HEAD ? base64.n / 4 * 4 : HEAD;
    bool is = cf_base64_get(&head, cf_str_make(base64.p, n)) &&
              cf_attachment_sniff(cf_buf_str(&head)) != NULL;
    cf_buf_deinit(&head);
    return is;
}

/* The block as a part; NULL: it is neither an image nor a sound. */
static json_t *media_part(const json_t *block)
{
    cf_attachment a;
    json_t *part = NULL;
    if (cf_attachment_read(&a, block) && is_media(a.base64)) {
        part = cf_attachment_part(&a);
    }
    cf_attachment_deinit(&a);
    return part;
}

json_t *cf_mcp_result_content(const cf_mcp_result *result)
{
    cf_buf text = CF_BUF_INIT;
    cf_mcp_result_text(result, &text);
    json_t *words = text.failed ? NULL : json_stringn(cf_buf_cstr(&text), text.n);
    cf_buf_deinit(&text);
    json_t *list = NULL;
    for (size_t i = 0; words != NULL && i < json_array_size(result->content); i++) {
        json_t *part = media_part(json_array_get(result->content, i));
        if (part == NULL) {
            continue;
        }
        if (list == NULL) {
            list = json_pack("[{s:s, s:O}]", "type", "text", "text", words);
        }
        if (json_array_append_new(list, part) != 0) {
            json_decref(list);
            json_decref(words);
            return NULL;
        }
    }
    if (list != NULL) {
        json_decref(words);
        return list;
    }
    return words;
}
