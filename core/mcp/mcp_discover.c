/*
 * mcp_discover.c - from a refused request to the authorization server: the
 * metadata of the protected resource (RFC 9728), and that of its issuer
 * (RFC 8414, OpenID Connect Discovery).
 *
 * A server of 2025-03-26 has no resource metadata and is its own issuer; where
 * it has no issuer's metadata either, that revision names the endpoints.
 */
#include <string.h>

#include "core/mcp/mcp_oauth.h"
#include "core/net/origin.h"

enum { OK = 200, SHOWN_MAX = 120 };

static const char *own_url(const cf_mcp__oauth *o)
{
    return json_string_value(json_object_get(o->s->config, "url"));
}

static bool is_fatal(cf_status st)
{
    return st == CF_ENOMEM || st == CF_ECANCELLED || st == CF_EINVAL;
}

/* One place where a document may be; *out stays NULL where it is not. */
static cf_status look(cf_mcp__oauth *o, const cf_buf *url, json_t **out, cf_error *err)
{
    const cf_mcp__asking asking = {.url = cf_buf_cstr(url)};
    json_t *v = NULL;
    long status;
    cf_error why;
    CF_TRY(cf_buf_check(url, err));
    cf_status st = cf_mcp__fetch(o, &asking, &v, &status, &why);
    if (st == CF_OK && status == OK) {
        *out = v;
        return CF_OK;
    }
    json_decref(v);
    if (is_fatal(st) && err != NULL) {
        *err = why;
    }
    return is_fatal(st) ? st : CF_OK;
}

/* Looks at ORIGIN + before + path + after. */
static cf_status look_at(cf_mcp__oauth *o, const cf_buf *origin, const char *before,
                         const char *path, const char *after, json_t **out, cf_error *err)
{
    cf_buf url = CF_BUF_INIT;
    cf_buf_add(&url, cf_buf_cstr(origin), origin->n);
    cf_buf_adds(&url, before);
    cf_buf_adds(&url, path);
    cf_buf_adds(&url, after);
    cf_status st = look(o, &url, out, err);
    cf_buf_deinit(&url);
    return st;
}

/* ---- the resource ------------------------------------------------------- */

/* Whether the server names a document of its own: the user has not been asked yet. */
static cf_status check_own(const cf_mcp__oauth *o, cf_str told, cf_error *err)
{
    cf_buf own = CF_BUF_INIT, its = CF_BUF_INIT;
    cf_status st = cf_origin_of(&own, own_url(o), err);
    CF_THEN(st, cf_origin_of(&its, told.p, err));
    if (st == CF_OK && strcmp(cf_buf_cstr(&own), cf_buf_cstr(&its)) != 0) {
        st = cf_fail(err, CF_EINVAL, "the metadata is of another server: %.*s",
                     (int)(told.n < SHOWN_MAX ? told.n : SHOWN_MAX), told.p);
    }
    cf_buf_deinit(&own);
    cf_buf_deinit(&its);
    return st;
}

static cf_status find_document(cf_mcp__oauth *o, const cf_buf *origin, const cf_buf *path,
                               cf_error *err)
{
    static const char where[] = "/.well-known/oauth-protected-resource";
    cf_str told = cf_json_get_str(o->challenge, "resource_metadata");
    if (told.n > 0) {
        cf_buf url = CF_BUF_INIT;
        CF_TRY(check_own(o, told, err));
        cf_buf_add(&url, told.p, told.n);
        cf_status st = look(o, &url, &o->resource, err);
        cf_buf_deinit(&url);
        return st != CF_OK || o->resource != NULL
                   ? st
                   : cf_fail(err, CF_EFORMAT, "there is no metadata at %.*s",
                             (int)(told.n < SHOWN_MAX ? told.n : SHOWN_MAX), told.p);
    }
    if (path->n > 0) {
        CF_TRY(look_at(o, origin, where, cf_buf_cstr(path), "", &o->resource, err));
    }
    return o->resource != NULL ? CF_OK : look_at(o, origin, where, "", "", &o->resource, err);
}

/* The metadata may speak for this server only: its origin, and a path that
 * ours begins with. */
static cf_status check_ours(const char *resource, const cf_buf *origin, const cf_buf *path,
                            cf_error *err)
{
    cf_buf its_origin = CF_BUF_INIT, its_path = CF_BUF_INIT;
    bool ok = cf_mcp__origin(&its_origin, resource) && cf_mcp__path(&its_path, resource) &&
              cf_str_eq(cf_buf_str(&its_origin), cf_buf_str(origin)) &&
              cf_str_starts(cf_buf_str(path), cf_buf_str(&its_path)) &&
              (path->n == its_path.n || path->p[its_path.n] == '/');
    cf_status st = its_origin.failed || its_path.failed ? cf_oom_for(err, "an address")
                   : ok                                 ? CF_OK
                        : cf_fail(err, CF_EFORMAT, "the metadata is of another server: %.*s",
                                  SHOWN_MAX, resource);
    cf_buf_deinit(&its_origin);
    cf_buf_deinit(&its_path);
    return st;
}

static cf_status take_resource(cf_mcp__oauth *o, const cf_buf *origin, const cf_buf *path,
                               cf_error *err)
{
    const json_t *issuer = json_array_get(json_object_get(o->resource, "authorization_servers"), 0);
    cf_str name = cf_json_get_str(o->resource, "resource");
    if (o->resource == NULL) {
        cf_buf_add(&o->issuer_id, cf_buf_cstr(origin), origin->n);
        cf_buf_adds(&o->resource_id, own_url(o));
        return CF_OK;
    }
    CF_TRY(check_ours(name.n > 0 ? name.p : "", origin, path, err));
    cf_buf_add(&o->resource_id, name.p, name.n);
    if (!json_is_string(issuer) || json_string_length(issuer) == 0) {
        return cf_fail(err, CF_EFORMAT, "the metadata names no authorization server");
    }
    cf_buf_adds(&o->issuer_id, json_string_value(issuer));
    return CF_OK;
}

cf_status cf_mcp__find_resource(cf_mcp__oauth *o, cf_error *err)
{
    cf_buf origin = CF_BUF_INIT, path = CF_BUF_INIT;
    cf_status st = cf_mcp__origin(&origin, own_url(o)) && cf_mcp__path(&path, own_url(o))
                       ? CF_OK
                       : cf_fail(err, CF_EINVAL, "the server's address is not of http");
    CF_THEN(st, cf_buf_check(&origin, err));
    CF_THEN(st, cf_buf_check(&path, err));
    CF_THEN(st, find_document(o, &origin, &path, err));
    CF_THEN(st, take_resource(o, &origin, &path, err));
    CF_THEN(st, cf_buf_check(&o->issuer_id, err));
    CF_THEN(st, cf_buf_check(&o->resource_id, err));
    cf_buf_deinit(&origin);
    cf_buf_deinit(&path);
    return st;
}

/* ---- the issuer --------------------------------------------------------- */

/* The endpoints of revision 2025-03-26, where there is no metadata at all. */
static cf_status usual_issuer(cf_mcp__oauth *o, cf_error *err)
{
    const char *at = cf_buf_cstr(&o->issuer_id);
    o->issuer = json_pack("{s:s, s:s+, s:s+, s:s+, s:[s]}", "issuer", at, "authorization_endpoint",
                          at, "/authorize", "token_endpoint", at, "/token", "registration_endpoint",
                          at, "/register", "code_challenge_methods_supported", "S256");
    return o->issuer != NULL ? CF_OK : cf_oom_for(err, "a sign-in");
}

bool cf_mcp__lists(const json_t *metadata, const char *list, const char *text)
{
    const json_t *v = json_object_get(metadata, list);
    for (size_t i = 0; i < json_array_size(v); i++) {
        const char *is = json_string_value(json_array_get(v, i));
        if (is != NULL && strcmp(is, text) == 0) {
            return true;
        }
    }
    return false;
}

static cf_status check_endpoint(const cf_mcp__oauth *o, const char *member, cf_error *err)
{
    const char *url = json_string_value(json_object_get(o->issuer, member));
    return url != NULL && cf_mcp__is_allowed(o->s, url)
               ? CF_OK
               : cf_fail(err, CF_EFORMAT, "%.*s has no \"%s\" that may be used", SHOWN_MAX,
                         cf_buf_cstr(&o->issuer_id), member);
}

static cf_status check_issuer(const cf_mcp__oauth *o, cf_error *err)
{
    cf_str named = cf_json_get_str(o->issuer, "issuer");
    if (!cf_str_eq(named, cf_buf_str(&o->issuer_id))) {
        return cf_fail(err, CF_EFORMAT, "the metadata of %.*s is of another issuer: %.*s",
                       SHOWN_MAX, cf_buf_cstr(&o->issuer_id),
                       (int)(named.n < SHOWN_MAX ? named.n : SHOWN_MAX),
                       named.n > 0 ? named.p : "");
    }
    if (!cf_mcp__lists(o->issuer, "code_challenge_methods_supported", "S256")) {
        return cf_fail(err, CF_EUNSUPPORTED, "%.*s does not offer PKCE with S256", SHOWN_MAX,
                       cf_buf_cstr(&o->issuer_id));
    }
    CF_TRY(check_endpoint(o, "authorization_endpoint", err));
    return check_endpoint(o, "token_endpoint", err);
}

cf_status cf_mcp__find_issuer(cf_mcp__oauth *o, cf_error *err)
{
    static const char oauth[] = "/.well-known/oauth-authorization-server";
    static const char openid[] = "/.well-known/openid-configuration";
    cf_buf origin = CF_BUF_INIT, path = CF_BUF_INIT;
    const char *id = cf_buf_cstr(&o->issuer_id);
    cf_status st =
        cf_mcp__is_allowed(o->s, id) && cf_mcp__origin(&origin, id) && cf_mcp__path(&path, id)
            ? cf_buf_check(&path, err)
            : cf_fail(err, CF_EFORMAT, "the issuer %.*s is not an address of https", SHOWN_MAX, id);
    const char *p = cf_buf_cstr(&path);
    CF_THEN(st, cf_buf_check(&origin, err));
    CF_THEN(st, look_at(o, &origin, oauth, p, "", &o->issuer, err));
    if (o->issuer == NULL) {
        CF_THEN(st, look_at(o, &origin, openid, p, "", &o->issuer, err));
    }
    if (o->issuer == NULL && path.n > 0) {
        CF_THEN(st, look_at(o, &origin, p, openid, "", &o->issuer, err));
    }
    if (o->issuer == NULL && o->resource == NULL) {
        CF_THEN(st, usual_issuer(o, err));
    }
    if (st == CF_OK && o->issuer == NULL) {
        st = cf_fail(err, CF_EFORMAT, "%.*s has no metadata", SHOWN_MAX, id);
    }
    CF_THEN(st, check_issuer(o, err));
    cf_buf_deinit(&origin);
    cf_buf_deinit(&path);
    return st;
}
