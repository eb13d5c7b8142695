/*
 * mcp_result.c - a tool's result as a model gets it.
 *
 * Text and the text of resources go in as they are.  What a message cannot
 * hold is named in a line in brackets, so that neither the model nor the
 * reader takes it for nothing.
 */
#include <string.h>

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
    for (size_t i = 0;
         !result->is_sent && i < json_array_size(result->findings); i++) {
        const json_t *f = json_array_get(result->findings, i);
        cf_buf_adds(out, i > 0 ? "\n" : "");
        put_field(out, "", cf_json_get_str(f, "path"));
        put_field(out, ": ", cf_json_get_str(f, "text"));
    }
}
