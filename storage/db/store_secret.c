/*
 * store_secret.c - removes secrets, which must never reach the disk.
 */
#include <ctype.h>
#include <string.h>

#include "core/json/json.h"
#include "storage/db/store_int.h"

/* Compared without case, '-' and '_'. */
static bool names_secret(const char *key)
{
    static const char *const names[] = {
        "apikey",       "xapikey",      "authorization", "proxyauthorization",
        "headers",      "header",       "password",      "passwd",
        "secret",       "clientsecret", "accesstoken",   "refreshtoken",
        "authtoken",    "bearer",       "bearertoken",   "cookie",
        "setcookie",    "credentials",  "privatekey",    "openaiapikey",
        "confabapikey", "hftoken",      "sessiontoken",  "accesskey",
        "secretkey",    "httpheaders",  "extraheaders"};
    char flat[32];
    size_t n = 0;
    for (const char *p = key; *p != '\0'; p++) {
        if (*p == '-' || *p == '_' || *p == ' ') {
            continue;
        }
        if (n == sizeof flat - 1) {
            return false;
        }
        flat[n++] = (char)tolower((unsigned char)*p);
    }
    flat[n] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(flat, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void scrub(json_t *v)
{
    void *next;
    for (void *it = json_object_iter(v); it != NULL; it = next) {
        next = json_object_iter_next(v, it);
        if (names_secret(json_object_iter_key(it))) {
            (void)json_object_del(v, json_object_iter_key(it));
        } else {
            scrub(json_object_iter_value(it));
        }
    }
    for (size_t i = 0; json_is_array(v) && i < json_array_size(v); i++) {
        scrub(json_array_get(v, i));
    }
}

void cf_secret__json(cf_buf *out, cf_str json)
{
    json_t *v;
    cf_error err;
    cf_status st = cf_json_read(&v, json.p, json.n, &err);
    if (st == CF_OK) {
        scrub(v);
        cf_json_write(out, v);
        json_decref(v);
    } else if (st == CF_ENOMEM) {
        out->failed = true;
    }
}

/* "https://user:password@host/path?key=..." loses user, password and
 * query. */
void cf_secret__address(cf_buf *out, cf_str s)
{
    size_t scheme = 0;
    while (scheme < s.n && s.p[scheme] != ':') {
        scheme++;
    }
    if (s.n - scheme < 3 || memcmp(s.p + scheme, "://", 3) != 0) {
        cf_buf_add(out, s.p, s.n);
        return;
    }
    size_t host = scheme + 3;
    size_t end = host;
    size_t at = host;
    while (end < s.n && s.p[end] != '?' && s.p[end] != '#') {
        end++;
    }
    for (size_t i = host; i < end && s.p[i] != '/'; i++) {
        at = s.p[i] == '@' ? i + 1 : at;
    }
    cf_buf_add(out, s.p, host);
    cf_buf_add(out, s.p + at, end - at);
}
