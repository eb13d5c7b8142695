/*
 * mcp_web.c - addresses, forms, and one bounded request after the other, for
 * signing in.
 */
#include <curl/curl.h>
#include <string.h>
#include <strings.h>

#include "core/mcp/mcp_oauth.h"
#include "core/net/http_client.h"

enum {
    DOCUMENT_MAX = 64 << 10, /* bytes of an answer */
    DOCUMENTS_MAX = 7,       /* of GET in one sign-in */
    POSTS_MAX = 3,
    ANSWER_MS = 15000,
    LOOK_MS = 100,
    SHOWN_MAX = 160
};

/* ---- addresses ---------------------------------------------------------- */

typedef struct address {
    CURLU *parsed;
    char *scheme, *host, *port, *path, *user, *fragment;
} address;

static char *part(const address *a, CURLUPart which)
{
    char *text = NULL;
    return curl_url_get(a->parsed, which, &text, 0) == CURLUE_OK ? text : NULL;
}

static void end_address(address *a)
{
    curl_free(a->scheme);
    curl_free(a->host);
    curl_free(a->port);
    curl_free(a->path);
    curl_free(a->user);
    curl_free(a->fragment);
    curl_url_cleanup(a->parsed);
}

/* False where it is no whole address of http; to be ended in any case. */
static bool read_address(address *a, const char *url)
{
    *a = (address){.parsed = curl_url()};
    if (a->parsed == NULL || curl_url_set(a->parsed, CURLUPART_URL, url, 0) != CURLUE_OK) {
        return false;
    }
    a->scheme = part(a, CURLUPART_SCHEME);
    a->host = part(a, CURLUPART_HOST);
    a->port = part(a, CURLUPART_PORT);
    a->path = part(a, CURLUPART_PATH);
    a->user = part(a, CURLUPART_USER);
    a->fragment = part(a, CURLUPART_FRAGMENT);
    return a->scheme != NULL && a->host != NULL && a->path != NULL &&
           (strcmp(a->scheme, "https") == 0 || strcmp(a->scheme, "http") == 0);
}

static bool is_usual_port(const address *a)
{
    return a->port == NULL || strcmp(a->port, strcmp(a->scheme, "https") == 0 ? "443" : "80") == 0;
}

bool cf_mcp__origin(cf_buf *out, const char *url)
{
    address a;
    bool ok = read_address(&a, url);
    if (ok) {
        cf_buf_addf(out, "%s://", a.scheme);
        for (const char *p = a.host; *p != '\0'; p++) {
            cf_buf_addc(out, (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p));
        }
        if (!is_usual_port(&a)) {
            cf_buf_addf(out, ":%s", a.port);
        }
    }
    end_address(&a);
    return ok;
}

bool cf_mcp__path(cf_buf *out, const char *url)
{
    address a;
    bool ok = read_address(&a, url);
    if (ok) {
        size_t n = strlen(a.path);
        cf_buf_add(out, a.path, n > 0 && a.path[n - 1] == '/' ? n - 1 : n);
    }
    end_address(&a);
    return ok;
}

static bool is_here(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0 ||
           strcmp(host, "[::1]") == 0;
}

bool cf_mcp__is_allowed(const cf_mcp__server *s, const char *url)
{
    const char *own = json_string_value(json_object_get(s->config, "url"));
    address a, of;
    bool ok = read_address(&a, url);
    bool has_own = read_address(&of, own != NULL ? own : "");
    ok = ok && a.user == NULL && a.fragment == NULL &&
         (strcmp(a.scheme, "https") == 0 || (has_own && is_here(a.host) && is_here(of.host)));
    end_address(&a);
    end_address(&of);
    return ok;
}

/* ---- forms -------------------------------------------------------------- */

static void put_encoded(cf_buf *out, cf_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool is_plain = ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9') ||
                        (c != '\0' && strchr("-._~", c) != NULL);
        if (is_plain) {
            cf_buf_addc(out, (char)c);
        } else {
            cf_buf_addf(out, "%%%02X", c);
        }
    }
}

void cf_mcp__form_add(cf_buf *out, const char *name, cf_str value)
{
    cf_buf_adds(out, out->n > 0 ? "&" : "");
    cf_buf_adds(out, name);
    cf_buf_adds(out, name[0] != '\0' ? "=" : "");
    put_encoded(out, value);
}

static int hex_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 87 : -1;
}

static void put_decoded(cf_buf *out, cf_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '%' && i + 2 < text.n && hex_of(text.p[i + 1]) >= 0 &&
            hex_of(text.p[i + 2]) >= 0) {
            cf_buf_addc(out, (char)(hex_of(text.p[i + 1]) * 16 + hex_of(text.p[i + 2])));
            i += 2;
        } else {
            cf_buf_addc(out, text.p[i] == '+' ? ' ' : text.p[i]);
        }
    }
}

bool cf_mcp__form_get(cf_buf *out, cf_str form, const char *name)
{
    size_t k = strlen(name);
    for (size_t at = 0; at < form.n;) {
        const char *end = memchr(form.p + at, '&', form.n - at);
        size_t n = end != NULL ? (size_t)(end - form.p) - at : form.n - at;
        if (n > k && form.p[at + k] == '=' && memcmp(form.p + at, name, k) == 0) {
            put_decoded(out, cf_str_make(form.p + at + k + 1, n - k - 1));
            return true;
        }
        at += n + 1;
    }
    return false;
}

/* ---- asking ------------------------------------------------------------- */

typedef struct taking {
    cf_buf body;
    bool is_long;
} taking;

static cf_http_took on_body(void *ud, cf_str bytes)
{
    taking *t = ud;
    t->is_long = t->body.n + bytes.n > DOCUMENT_MAX;
    if (t->is_long) {
        return CF_HTTP_STOP;
    }
    cf_buf_add(&t->body, bytes.p, bytes.n);
    return t->body.failed ? CF_HTTP_STOP : CF_HTTP_TOOK;
}

static cf_status transfer(const cf_mcp__oauth *o, const cf_mcp__asking *asking, cf_http_transfer *t,
                          CURLM *multi, cf_error *err)
{
    const uint64_t until = cf_mcp__now() + (uint64_t)ANSWER_MS * 1000;
    const cf_http_ask ask = {.url = asking->url, .body = asking->body};
    cf_http_header_add(t, cf_str_from("Accept"), ": ", cf_str_from("application/json"));
    if (asking->type != NULL) {
        cf_http_header_add(t, cf_str_from("Content-Type"), ": ", cf_str_from(asking->type));
    }
    if (asking->basic.n > 0) {
        cf_http_header_add(t, cf_str_from("Authorization"), ": Basic ", asking->basic);
    }
    CF_TRY(cf_http_start(t, multi, &ask, err));
    while (!t->is_over) {
        int n_running;
        if (o->with->must_stop(o->with->ud)) {
            return cf_fail(err, CF_ECANCELLED, "stopped");
        }
        if (cf_mcp__now() > until) {
            return cf_fail(err, CF_ELIMIT, "%.*s: no answer in time", SHOWN_MAX, asking->url);
        }
        (void)curl_multi_perform(multi, &n_running);
        cf_http_ends(multi);
        if (!t->is_over) {
            (void)curl_multi_poll(multi, NULL, 0, LOOK_MS, NULL);
        }
    }
    return CF_OK;
}

/* "sign in: GET https://...: 200, issuer, token_endpoint": members and no
 * values, of which some are secret. */
static void tell(const cf_mcp__oauth *o, const cf_mcp__asking *asking, const char *outcome,
                 const json_t *answer)
{
    cf_buf text = CF_BUF_INIT;
    const char *key;
    json_t *v;
    cf_buf_addf(&text, "sign in: %s %s", asking->body.p != NULL ? "POST" : "GET", asking->url);
    if (asking->members != NULL) {
        cf_buf_addf(&text, " with %s", asking->members);
    }
    cf_buf_addf(&text, ": %s", outcome);
    json_object_foreach(cf_json_ref(answer), key, v)
    {
        cf_buf_addf(&text, ", %s", key);
    }
    cf_mcp__tell(o->s, CF_MCP_STEP, 0, cf_buf_str(&text));
    cf_buf_deinit(&text);
}

static cf_status may_ask(cf_mcp__oauth *o, const cf_mcp__asking *asking, cf_error *err)
{
    int *n = asking->body.p != NULL ? &o->n_posts : &o->n_documents;
    if (!cf_mcp__is_allowed(o->s, asking->url)) {
        return cf_fail(err, CF_EINVAL, "%.*s: not an address of https that may be asked", SHOWN_MAX,
                       asking->url);
    }
    if (++*n > (asking->body.p != NULL ? POSTS_MAX : DOCUMENTS_MAX)) {
        return cf_fail(err, CF_ELIMIT, "the sign-in takes too many requests");
    }
    return CF_OK;
}

cf_status cf_mcp__fetch(cf_mcp__oauth *o, const cf_mcp__asking *asking, json_t **out, long *status,
                        cf_error *err)
{
    taking taken = {.body = CF_BUF_INIT};
    cf_http_transfer t = {.on_body = on_body, .ud = &taken};
    char outcome[32];
    cf_error why = {0};
    *out = NULL;
    *status = 0;
    cf_status st = may_ask(o, asking, &why);
    CURLM *multi = st == CF_OK ? curl_multi_init() : NULL;
    if (st == CF_OK) {
        st = multi != NULL ? transfer(o, asking, &t, multi, &why) : cf_oom_for(&why, "a request");
    }
    if (st == CF_OK && (taken.body.failed || taken.is_long)) {
        st = taken.is_long
                 ? cf_fail(&why, CF_ELIMIT, "%.*s: more than 64 KiB", SHOWN_MAX, asking->url)
                 : cf_oom_for(&why, "a document");
    } else if (st == CF_OK && t.code != CURLE_OK) {
        st = cf_fail(&why, CF_EIO, "%.*s: %s", SHOWN_MAX, asking->url,
                     curl_easy_strerror((CURLcode)t.code));
    }
    if (st == CF_OK) {
        *status = t.status;
        snprintf(outcome, sizeof outcome, "HTTP %ld", t.status);
        cf_status read = cf_json_read(out, cf_buf_cstr(&taken.body), taken.body.n, NULL);
        if (read == CF_OK && !json_is_object(*out)) {
            json_decref(*out);
            *out = NULL;
        } else if (read == CF_ENOMEM) {
            st = cf_oom_for(&why, "a document");
        }
    }
    tell(o, asking, st == CF_OK ? outcome : why.text, *out);
    cf_http_end(&t, multi);
    curl_multi_cleanup(multi);
    if (taken.body.p != NULL) {
        memset(taken.body.p, 0, taken.body.n); /* it may hold a token */
    }
    cf_buf_deinit(&taken.body);
    if (st != CF_OK && err != NULL) {
        *err = why;
    }
    return st;
}
