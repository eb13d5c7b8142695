/*
 * http_client.c - sets a transfer up, and hands on what arrives.
 */
#include "core/net/http_client.h"

#include <curl/curl.h>
#include <string.h>

#include "core/api/http_once.h"
#include "core/base/buf.h"

enum { CONNECT_MS = 10000 };

void cf_http_header_add(cf_http_transfer *t, cf_str name, const char *between, cf_str value)
{
    cf_buf line = CF_BUF_INIT;
    cf_buf_add(&line, name.p, name.n);
    cf_buf_adds(&line, between);
    cf_buf_add(&line, value.p, value.n);
    struct curl_slist *list =
        line.failed ? NULL : curl_slist_append(t->headers, cf_buf_cstr(&line));
    if (line.p != NULL) {
        memset(line.p, 0, line.n);
    }
    cf_buf_deinit(&line);
    t->failed = t->failed || list == NULL;
    t->headers = list != NULL ? list : t->headers;
}

static size_t on_header(char *p, size_t size, size_t n, void *ud)
{
    const cf_http_transfer *t = ud;
    n *= size;
    return t->on_header == NULL || t->on_header(t->ud, cf_str_make(p, n)) == CF_HTTP_TOOK ? n : 0;
}

static size_t on_body(char *p, size_t size, size_t n, void *ud)
{
    const cf_http_transfer *t = ud;
    n *= size;
    if (t->on_body == NULL) {
        return n;
    }
    switch (t->on_body(t->ud, cf_str_make(p, n))) {
    case CF_HTTP_TOOK:
        return n;
    case CF_HTTP_PAUSE:
        return CURL_WRITEFUNC_PAUSE;
    case CF_HTTP_STOP:
        break;
    }
    return CURL_WRITEFUNC_ERROR;
}

static void set_method(CURL *e, const cf_http_ask *ask)
{
    if (ask->body.p != NULL) {
        curl_easy_setopt(e, CURLOPT_POST, 1L);
        curl_easy_setopt(e, CURLOPT_POSTFIELDS, ask->body.p);
        curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)ask->body.n);
    }
    if (ask->method == NULL) {
        return;
    }
    if (strcmp(ask->method, "HEAD") == 0) {
        curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
    } else {
        curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, ask->method);
    }
}

static void set_up(cf_http_transfer *t, const cf_http_ask *ask)
{
    CURL *e = t->easy;
    uint32_t connect_ms = ask->connect_ms != 0 ? ask->connect_ms : CONNECT_MS;
    cf_http_usual(e);
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, t->headers);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(e, CURLOPT_PRIVATE, t);
    curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->why);
    if (ask->ca != NULL) {
        curl_easy_setopt(e, CURLOPT_CAINFO, ask->ca);
    }
    if (ask->as_is) {
        curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
        curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
        curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
    } else {
        curl_easy_setopt(e, CURLOPT_NOPROXY, "localhost,127.0.0.1,::1");
    }
    set_method(e, ask);
}

cf_status cf_http_start(cf_http_transfer *t, void *multi, const cf_http_ask *ask, cf_error *err)
{
    cf_http_once();
    t->is_lent = t->easy != NULL;
    if (t->is_lent) {
        curl_easy_reset(t->easy); /* keeps its connections */
    } else {
        t->easy = curl_easy_init();
    }
    if (t->easy == NULL || t->failed ||
        curl_easy_setopt(t->easy, CURLOPT_URL, ask->url) != CURLE_OK) {
        return cf_oom_for(err, "the request");
    }
    set_up(t, ask);
    return curl_multi_add_handle(multi, t->easy) == CURLM_OK ? CF_OK
                                                             : cf_oom_for(err, "the request");
}

void cf_http_end(cf_http_transfer *t, void *multi)
{
    if (t->easy != NULL) {
        (void)curl_multi_remove_handle(multi, t->easy);
    }
    if (!t->is_lent) {
        curl_easy_cleanup(t->easy);
    }
    curl_slist_free_all(t->headers);
    t->easy = t->headers = NULL;
}

void cf_http_ends(void *multi)
{
    int left;
    for (CURLMsg *m; (m = curl_multi_info_read(multi, &left)) != NULL;) {
        cf_http_transfer *t = NULL;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        if (m->msg == CURLMSG_DONE && t != NULL) {
            t->is_over = true;
            t->code = (int)m->data.result;
            curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &t->status);
        }
    }
}
