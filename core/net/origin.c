/*
 * origin.c - reads addresses with the parser that connects to them, so that no
 * spelling means one host here and another one there.
 */
#include "core/net/origin.h"

#include <curl/curl.h>
#include <string.h>

static void add_lower(cf_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        cf_buf_addc(out, (char)(*text >= 'A' && *text <= 'Z' ? *text - 'A' + 'a' : *text));
    }
}

cf_status cf_origin_of(cf_buf *out, const char *address, cf_error *err)
{
    static const CURLUPart parts[] = {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT};
    static const char *const before[] = {"", "://", ":"};
    CURLU *url = curl_url();
    CURLUcode rc =
        url != NULL ? curl_url_set(url, CURLUPART_URL, address, 0) : CURLUE_OUT_OF_MEMORY;
    bool is_web = true;
    for (size_t i = 0; rc == CURLUE_OK && i < 3; i++) {
        char *text = NULL;
        rc = curl_url_get(url, parts[i], &text, CURLU_DEFAULT_PORT);
        if (rc == CURLUE_OK) {
            is_web = i > 0 ? is_web : strcmp(text, "http") == 0 || strcmp(text, "https") == 0;
            cf_buf_adds(out, before[i]);
            add_lower(out, text);
        }
        curl_free(text);
    }
    curl_url_cleanup(url);
    if (rc == CURLUE_OUT_OF_MEMORY) {
        return cf_oom_for(err, "an address");
    }
    return rc == CURLUE_OK && is_web
               ? cf_buf_check(out, err)
               : cf_fail(err, CF_EINVAL, "not an http(s) address: %.200s", address);
}

bool cf_origin_is_same(const char *a, const char *b)
{
    cf_buf x = CF_BUF_INIT, y = CF_BUF_INIT;
    cf_error ignored;
    bool is_same = cf_origin_of(&x, a, &ignored) == CF_OK &&
                   cf_origin_of(&y, b, &ignored) == CF_OK &&
                   strcmp(cf_buf_cstr(&x), cf_buf_cstr(&y)) == 0;
    cf_buf_deinit(&x);
    cf_buf_deinit(&y);
    return is_same;
}
