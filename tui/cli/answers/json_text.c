/*
 * json_text.c - writes numbers, ids and bytes in JSON.
 */
#include "tui/cli/answers/json_text.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"

void cf_json_text_float(cf_buf *b, float v)
{
    cf_json_write_float(b, v);
}

void cf_json_text_ids(cf_buf *b, const cf_token *ids, size_t n)
{
    cf_buf_addc(b, '[');
    for (size_t i = 0; i < n; i++) {
        cf_buf_addf(b, "%s%d", i == 0 ? "" : ",", (int)ids[i]);
    }
    cf_buf_addc(b, ']');
}

void cf_json_text_bytes(cf_buf *b, const char *name, cf_str bytes)
{
    cf_buf_addf(b, "\"%s\":", name);
    cf_json_write_str(b, bytes);
    if (cf_utf8_valid_prefix(bytes.p, bytes.n) == bytes.n) {
        return;
    }
    cf_buf_addf(b, ",\"%s_hex\":\"", name);
    for (size_t i = 0; i < bytes.n; i++) {
        cf_buf_addf(b, "%02x", (unsigned)(unsigned char)bytes.p[i]);
    }
    cf_buf_addc(b, '"');
}

cf_status cf_json_text_read_ids(cf_token **out, size_t *n, const char *text, cf_error *err)
{
    size_t n_max = strlen(text) / 2 + 1;
    cf_token *ids = cf_calloc(n_max, sizeof *ids);
    if (ids == NULL) {
        return cf_oom_for(err, "token ids");
    }
    size_t n_ids = 0;
    const char *p = text + strspn(text, " \n");
    bool has_brackets = *p == '[';
    p += has_brackets ? 1 : 0;
    for (;;) {
        p += strspn(p, " \n");
        char *end = NULL;
        unsigned long v = p[0] >= '0' && p[0] <= '9' ? strtoul(p, &end, 10) : 0;
        if (end == NULL || v > INT32_MAX) {
            cf_free(ids);
            return cf_fail(err, CF_EINVAL, "token ids: '%.20s' at %zu is not an id", p,
                           (size_t)(p - text));
        }
        ids[n_ids++] = (cf_token)v;
        p = end + strspn(end, " \n");
        if (has_brackets && *p == ']') {
            p += 1 + strspn(p + 1, " \n");
            has_brackets = false;
        }
        if (*p == '\0' && !has_brackets) {
            break;
        }
        if (*p++ != ',') {
            cf_free(ids);
            return cf_fail(err, CF_EINVAL, "token ids: a comma is missing at %zu",
                           (size_t)(p - 1 - text));
        }
    }
    *out = ids;
    *n = n_ids;
    return CF_OK;
}
