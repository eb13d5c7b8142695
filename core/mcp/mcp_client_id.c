/*
 * mcp_client_id.c - who we are at an authorization server: the client of the
 * user's file, a client metadata document, or a registration (RFC 7591),
 * which is kept for its issuer alone.
 */
#include <stdio.h>
#include <string.h>

#include "core/mcp/mcp_oauth.h"

enum { SHOWN_MAX = 120, CREATED = 201, PORT_MAX = 65535 };

static const json_t *own(const cf_mcp__oauth *o, const char *member)
{
    return json_object_get(json_object_get(o->s->config, "oauth"), member);
}

/* How a client with a secret shows it, of what the server offers; without a
 * list it is the default of RFC 8414. */
static const char *secret_method(const json_t *issuer)
{
    static const char list[] = "token_endpoint_auth_methods_supported";
    bool has_basic =
        json_object_get(issuer, list) == NULL || cf_mcp__lists(issuer, list, "client_secret_basic");
    return !has_basic && cf_mcp__lists(issuer, list, "client_secret_post") ? "client_secret_post"
                                                                           : "client_secret_basic";
}

static cf_status open_redirect(cf_mcp__oauth *o, cf_error *err)
{
    json_int_t port = json_integer_value(own(o, "callbackPort"));
    unsigned kept = 0;
    const char *was = json_string_value(json_object_get(o->kept, "redirectUri"));
    if (port == 0 && was != NULL && sscanf(was, "http://127.0.0.1:%5u/", &kept) == 1 &&
        kept <= PORT_MAX) {
        port = (json_int_t)kept;
    }
    cf_buf_reset(&o->redirect);
    CF_TRY(o->with->open(o->with->ud, (uint16_t)port, own(o, "callbackPort") != NULL, &o->redirect,
                         err));
    return cf_buf_check(&o->redirect, err);
}

static cf_status set_client(cf_mcp__oauth *o, const json_t *id, const json_t *secret,
                            const char *method, bool is_registered, cf_error *err)
{
    o->client =
        json_pack("{s:O, s:O*, s:s, s:s, s:b}", "clientId", id, "clientSecret", secret, "method",
                  method, "redirectUri", cf_buf_cstr(&o->redirect), "isRegistered", is_registered);
    return o->client != NULL ? CF_OK : cf_oom_for(err, "a client");
}

/* What a registration says of us. */
static json_t *request_of(const cf_mcp__oauth *o)
{
    static const char list[] = "token_endpoint_auth_methods_supported";
    const char *method = cf_mcp__lists(o->issuer, list, "none") ? "none" : secret_method(o->issuer);
    return json_pack("{s:s, s:[s], s:[s,s], s:[s], s:s, s:s}", "client_name", "confab",
                     "redirect_uris", cf_buf_cstr(&o->redirect), "grant_types",
                     "authorization_code", "refresh_token", "response_types", "code",
                     "token_endpoint_auth_method", method, "application_type", "native");
}

static cf_status registered(cf_mcp__oauth *o, const json_t *answer, long status, cf_error *err)
{
    const json_t *id = json_object_get(answer, "client_id");
    const json_t *secret = json_object_get(answer, "client_secret");
    const char *method = json_string_value(json_object_get(answer, "token_endpoint_auth_method"));
    if ((status != 200 && status != CREATED) || !json_is_string(id)) {
        cf_str why = cf_json_get_str(answer, "error_description");
        why = why.n > 0 ? why : cf_json_get_str(answer, "error");
        return cf_fail(err, CF_EIO, "the registration was refused: HTTP %ld %.*s", status,
                       (int)(why.n < SHOWN_MAX ? why.n : SHOWN_MAX), why.n > 0 ? why.p : "");
    }
    secret = json_is_string(secret) ? secret : NULL;
    method = method != NULL ? method : secret != NULL ? secret_method(o->issuer) : "none";
    return set_client(o, id, secret, method, true, err);
}

static cf_status register_us(cf_mcp__oauth *o, cf_error *err)
{
    const char *url = json_string_value(json_object_get(o->issuer, "registration_endpoint"));
    cf_buf body = CF_BUF_INIT;
    json_t *answer = NULL, *request = request_of(o);
    long status;
    if (url == NULL) {
        json_decref(request);
        return cf_fail(err, CF_EUNSUPPORTED,
                       "%.*s registers no clients: give \"oauth\": {\"clientId\": ...}", SHOWN_MAX,
                       cf_buf_cstr(&o->issuer_id));
    }
    cf_json_write(&body, request);
    cf_status st = request != NULL ? cf_buf_check(&body, err) : cf_oom_for(err, "a registration");
    const cf_mcp__asking asking = {.url = url,
                                   .body = cf_buf_str(&body),
                                   .type = "application/json",
                                   .members =
                                       "client_name, redirect_uris, grant_types, response_types, "
                                       "token_endpoint_auth_method, application_type"};
    CF_THEN(st, cf_mcp__fetch(o, &asking, &answer, &status, err));
    CF_THEN(st, registered(o, answer, status, err));
    json_decref(request);
    json_decref(answer);
    cf_buf_deinit(&body);
    return st;
}

cf_status cf_mcp__find_client(cf_mcp__oauth *o, cf_error *err)
{
    const json_t *id = own(o, "clientId"), *secret = own(o, "clientSecret");
    const json_t *document = own(o, "clientMetadataUrl");
    bool may_name =
        json_is_true(json_object_get(o->issuer, "client_id_metadata_document_supported"));
    cf_str was = cf_json_get_str(o->kept, "redirectUri");
    CF_TRY(open_redirect(o, err));
    if (id != NULL) {
        return set_client(o, id, secret, secret != NULL ? secret_method(o->issuer) : "none", false,
                          err);
    }
    if (document != NULL && may_name) {
        return set_client(o, document, NULL, "none", false, err);
    }
    if (json_is_true(json_object_get(o->kept, "isRegistered")) &&
        cf_str_eq(was, cf_buf_str(&o->redirect))) {
        o->client = cf_json_copy(o->kept);
        return o->client != NULL ? CF_OK : cf_oom_for(err, "a client");
    }
    return register_us(o, err);
}
