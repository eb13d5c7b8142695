/*
 * http_ask.c - one transfer of libcurl.
 */
#include "tests/support/http_ask.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

static size_t on_bytes(char *p, size_t size, size_t n, void *ud)
{
    cf_buf_add(ud, p, size * n);
    return size * n;
}

long http_ask(const char *base, const char *path, const char *headers, const char *body,
              cf_buf *out)
{
    CURL *c = curl_easy_init();
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    cf_buf url = CF_BUF_INIT;
    long status = 0;
    cf_buf_reset(out);
    cf_buf_addf(&url, "%s%s", base, path);
    while (headers != NULL && *headers != '\0') {
        char line[200];
        size_t n = strcspn(headers, "\n");
        snprintf(line, sizeof line, "%.*s", (int)n, headers);
        list = curl_slist_append(list, line);
        headers += n + (headers[n] != '\0');
    }
    curl_easy_setopt(c, CURLOPT_URL, cf_buf_cstr(&url));
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, out);
    curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    if (body != NULL) {
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
    }
    if (curl_easy_perform(c) != CURLE_OK) {
        status = -1;
    } else {
        curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
    }
    curl_slist_free_all(list);
    curl_easy_cleanup(c);
    cf_buf_deinit(&url);
    return status;
}
