/*
 * mcp_message.c - the messages of JSON-RPC 2.0 as servers really write them.
 */
#include "core/base/utf8.h"
#include "core/mcp/mcp_impl.h"

static bool is_half(int unit, int from)
{
    return unit >= from && unit < from + 0x400;
}

/* The length of the escape at p[0..n), which starts with a backslash: 12 for a
 * pair of surrogates.  *is_bad: half a pair. */
static size_t escape_length(const char *p, size_t n, bool *is_bad)
{
    *is_bad = false;
    if (n < 6 || p[1] != 'u') {
        return n < 2 ? n : 2;
    }
    int unit = cf_utf16_unit(p + 2, n - 2);
    if (is_half(unit, 0xD800) && n >= 12 && p[6] == '\\' && p[7] == 'u' &&
        is_half(cf_utf16_unit(p + 8, n - 8), 0xDC00)) {
        return 12;
    }
    *is_bad = is_half(unit, 0xD800) || is_half(unit, 0xDC00);
    return 6;
}

/* A copy that jansson reads. */
static void mend(cf_buf *out, cf_str text)
{
    for (size_t i = 0; i < text.n;) {
        uint32_t cp;
        size_t n = cf_utf8_decode(&cp, text.p + i, text.n - i);
        bool is_bad = cp == CF_UTF8_BAD;
        if (cp == '\\') {
            n = escape_length(text.p + i, text.n - i, &is_bad);
        }
        if (is_bad) {
            cf_buf_adds(out, "\xEF\xBF\xBD");
        } else {
            cf_buf_add(out, text.p + i, n);
        }
        i += n;
    }
}

static cf_status parse(json_t **out, cf_str text, cf_error *err)
{
    cf_status st = cf_json_read(out, text.p, text.n, err);
    if (st == CF_EFORMAT) {
        /* An integer over 64 bits is the one thing that this mends. */
        st = cf_json_read_doubles(out, text.p, text.n, err);
    }
    return st;
}

cf_status cf_mcp__read(json_t **out, cf_str text, cf_error *err)
{
    size_t at = 0;
    *out = NULL;
    while (at < text.n &&
           (text.p[at] == ' ' || text.p[at] == '\t' || text.p[at] == '\r' || text.p[at] == '\n')) {
        at++;
    }
    if (at == text.n || (text.p[at] != '{' && text.p[at] != '[')) {
        return cf_fail(err, CF_EFORMAT, "not a JSON object");
    }
    cf_status st = parse(out, text, err);
    if (st == CF_EFORMAT) {
        cf_buf mended = CF_BUF_INIT;
        mend(&mended, text);
        st = cf_buf_check(&mended, err);
        CF_THEN(st, parse(out, cf_buf_str(&mended), err));
        cf_buf_deinit(&mended);
    }
    return st;
}

cf_mcp__class cf_mcp__classify(const json_t *message)
{
    const json_t *id = json_object_get(message, "id");
    bool has_id = id != NULL && !json_is_null(id);
    if (json_is_string(json_object_get(message, "method"))) {
        return has_id ? CF_MCP__REQUEST : CF_MCP__NOTIFICATION;
    }
    /* An answer with the id null belongs to nothing that was asked. */
    return json_object_get(message, "result") != NULL || json_object_get(message, "error") != NULL
               ? CF_MCP__ANSWER
               : CF_MCP__STRAY;
}

int64_t cf_mcp__answer_id(const json_t *message)
{
    const json_t *id = json_object_get(message, "id");
    if (json_is_integer(id)) {
        return json_integer_value(id) >= 0 ? json_integer_value(id) : -1;
    }
    if (json_is_real(id)) {
        double v = json_real_value(id);
        return v >= 0 && v < 1e15 && v == (double)(int64_t)v ? (int64_t)v : -1;
    }
    return -1;
}

const json_t *cf_mcp__error_of(const json_t *message)
{
    const json_t *error = json_object_get(message, "error");
    return json_is_object(error) ? error : NULL;
}

void cf_mcp__error_text(cf_buf *out, const json_t *error)
{
    const json_t *code = json_object_get(error, "code");
    cf_str text = cf_json_get_str(error, "message");
    cf_buf_adds(out, "error");
    if (json_is_integer(code)) {
        cf_buf_addf(out, " %lld", (long long)json_integer_value(code));
    }
    if (text.n > 0) {
        cf_buf_addf(out, ": %.*s", (int)(text.n < 400 ? text.n : 400), text.p);
    }
}
