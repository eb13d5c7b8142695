/*
 * mcp_sign_in.c - signing in to a server, as the specification's
 * "Authorization" has it: OAuth 2.1 with PKCE (RFC 7636), resource indicators
 * (RFC 8707) and the issuer's name in the answer (RFC 9207).
 *
 *   401 or 403 --> a newer token is kept? --> refresh --> metadata --> the
 *   user's yes --> client --> browser --> code --> token --> kept
 *
 * 1. A refresh token is used only while nobody else can use it (with_kept()),
 *    and only where the token that was refused is the one kept with it: what
 *    another process got meanwhile is taken over.
 * 2. A failed refresh forgets the token that was sent and no other.
 * 3. Codes, verifiers, secrets and tokens are in no event and no error.
 */
#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <string.h>
#include <strings.h>

#include "core/base/base64.h"
#include "core/base/os.h"
#include "core/mcp/mcp_oauth.h"

enum { VERIFIER_BYTES = 32, STATE_BYTES = 16, SHOWN_MAX = 120, SCOPE_MAX = 4096, OK = 200 };

static cf_str text_of(const json_t *object, const char *key)
{
    return cf_json_get_str(object, key);
}

static void wipe(cf_buf *b)
{
    if (b->p != NULL) {
        memset(b->p, 0, b->n);
    }
    cf_buf_deinit(b);
}

/* ---- what is kept ------------------------------------------------------- */

/* The entry of the issuer whose token is in use; NULL. */
static json_t *current(const json_t *kept)
{
    const char *issuer = json_string_value(json_object_get(kept, "issuer"));
    return issuer != NULL ? json_object_get(json_object_get(kept, "issuers"), issuer) : NULL;
}

/* Takes the token of an entry over; false: it has none. */
static bool adopt(cf_mcp__server *s, const char *issuer, const json_t *entry)
{
    cf_str token = text_of(entry, "accessToken");
    if (token.n == 0 || strpbrk(token.p, "\r\n") != NULL) {
        return false;
    }
    wipe(&s->token);
    cf_buf_init(&s->token);
    cf_buf_add(&s->token, token.p, token.n);
    s->n_token++;
    json_decref(s->signed_in);
    s->signed_in =
        json_pack("{s:s, s:O*, s:O*}", "issuer", issuer, "scope", json_object_get(entry, "scope"),
                  "until", json_object_get(entry, "until"));
    return !s->token.failed;
}

static cf_status read_kept(void *ud, json_t *kept, bool *changed, cf_error *err)
{
    (void)changed;
    (void)err;
    (void)adopt(ud, json_string_value(json_object_get(kept, "issuer")), current(kept));
    return CF_OK;
}

bool cf_mcp__may_sign_in(const cf_mcp__server *s)
{
    const char *key;
    json_t *v;
    const char *url = json_string_value(json_object_get(s->config, "url"));
    if (s->mcp->options.sign_in == NULL || json_is_false(json_object_get(s->config, "oauth")) ||
        url == NULL || !cf_mcp__is_allowed(s, url)) {
        return false; /* over plain http anybody on the way could read the token */
    }
    json_object_foreach(json_object_get(s->config, "headers"), key, v)
    {
        if (strcasecmp(key, "authorization") == 0) {
            return false; /* the user's own key */
        }
    }
    return true;
}

void cf_mcp__take_kept(cf_mcp__server *s)
{
    const cf_mcp_sign_in *with = s->mcp->options.sign_in;
    cf_error why;
    if (cf_mcp__may_sign_in(s) &&
        with->with_kept(with->ud, text_of(s->config, "url"), read_kept, s, &why) != CF_OK) {
        cf_mcp__note(s, "sign in: what was kept cannot be read: %s", why.text);
    }
}

void cf_mcp__sign_in_deinit(cf_mcp__server *s)
{
    wipe(&s->token);
    json_decref(s->signed_in);
    s->signed_in = NULL;
}

static json_t *made(json_t *in, const char *key)
{
    json_t *v = json_object_get(in, key);
    if (!json_is_object(v)) {
        v = json_object();
        v = json_object_set_new(in, key, v) == 0 ? v : NULL;
    }
    return v;
}

/* ---- tokens ------------------------------------------------------------- */

/* Asks the token endpoint, as the client of the entry. */
static cf_status ask_token(cf_mcp__oauth *o, const json_t *client, const char *endpoint,
                           cf_buf *form, const char *members, json_t **out, long *status,
                           cf_error *err)
{
    cf_str id = text_of(client, "clientId"), secret = text_of(client, "clientSecret");
    cf_str method = text_of(client, "method");
    cf_buf pair = CF_BUF_INIT, basic = CF_BUF_INIT;
    if (cf_str_is(method, "client_secret_basic") && secret.n > 0) {
        cf_mcp__form_add(&pair, "", id);
        cf_buf_addc(&pair, ':');
        cf_buf coded = CF_BUF_INIT;
        cf_mcp__form_add(&coded, "", secret);
        cf_buf_add(&pair, cf_buf_cstr(&coded), coded.n);
        wipe(&coded);
        cf_base64_put(&basic, cf_buf_str(&pair));
    } else {
        cf_mcp__form_add(form, "client_id", id);
        if (cf_str_is(method, "client_secret_post") && secret.n > 0) {
            cf_mcp__form_add(form, "client_secret", secret);
        }
    }
    const cf_mcp__asking asking = {.url = endpoint,
                                   .body = cf_buf_str(form),
                                   .type = "application/x-www-form-urlencoded",
                                   .basic = cf_buf_str(&basic),
                                   .members = members};
    cf_status st = form->failed || pair.failed || basic.failed
                       ? cf_oom_for(err, "a sign-in")
                       : cf_mcp__fetch(o, &asking, out, status, err);
    wipe(&pair);
    wipe(&basic);
    return st;
}

/* Appends "invalid_grant: it has expired". */
static void put_refusal(cf_buf *out, const json_t *answer, long status)
{
    cf_str error = text_of(answer, "error"), text = text_of(answer, "error_description");
    if (error.n > 0) {
        cf_buf_add(out, error.p, error.n < SHOWN_MAX ? error.n : SHOWN_MAX);
    } else {
        cf_buf_addf(out, "HTTP %ld", status);
    }
    if (text.n > 0) {
        cf_buf_adds(out, ": ");
        cf_buf_add(out, text.p, text.n < SHOWN_MAX ? text.n : SHOWN_MAX);
    }
}

/* Puts the tokens of an answer into the entry; a refresh token that does not
 * come stays, and so does the scope that was asked for. */
static bool put_tokens(json_t *entry, const json_t *answer, cf_str asked_scope)
{
    const json_t *expires = json_object_get(answer, "expires_in");
    const json_t *scope = json_object_get(answer, "scope");
    const json_t *refresh = json_object_get(answer, "refresh_token");
    double seconds = json_is_number(expires) ? json_number_value(expires) : 0;
    bool ok = json_object_set(entry, "accessToken", json_object_get(answer, "access_token")) == 0;
    if (json_is_string(refresh)) {
        ok = json_object_set(entry, "refreshToken", cf_json_ref(refresh)) == 0 && ok;
    }
    if (json_is_string(scope)) {
        ok = json_object_set(entry, "scope", cf_json_ref(scope)) == 0 && ok;
    } else if (asked_scope.p != NULL) {
        ok = json_object_set_new(entry, "scope", cf_json_str(asked_scope)) == 0 && ok;
    }
    if (seconds > 0 && seconds < 1e10) {
        ok =
            json_object_set_new(entry, "until",
                                json_integer(cf_os_now_ms() + (json_int_t)(seconds * 1000))) == 0 &&
            ok;
    } else {
        json_object_del(entry, "until");
    }
    return ok;
}

static bool has_token(const json_t *answer, long status)
{
    cf_str type = text_of(answer, "token_type");
    return status == OK && text_of(answer, "access_token").n > 0 &&
           (type.n == 0 || (type.n == 6 && strncasecmp(type.p, "bearer", 6) == 0));
}

/* ---- refresh ------------------------------------------------------------ */

typedef struct renewing {
    cf_mcp__oauth *o;
    bool may_refresh, is_done;
} renewing;

static cf_status refresh(renewing *r, const char *issuer, json_t *entry, bool *changed,
                         cf_error *err)
{
    cf_mcp__oauth *o = r->o;
    cf_buf form = CF_BUF_INIT;
    json_t *answer = NULL;
    long status = 0;
    cf_str token = text_of(entry, "refreshToken");
    cf_mcp__form_add(&form, "grant_type", cf_str_from("refresh_token"));
    cf_mcp__form_add(&form, "refresh_token", token);
    cf_mcp__form_add(&form, "resource", text_of(entry, "resource"));
    cf_error why = {0};
    cf_status st = ask_token(o, entry, json_string_value(json_object_get(entry, "tokenEndpoint")),
                             &form, "grant_type, refresh_token, resource", &answer, &status, &why);
    wipe(&form);
    if (st == CF_OK && has_token(answer, status)) {
        *changed = true;
        st = put_tokens(entry, answer, cf_str_make(NULL, 0)) && adopt(o->s, issuer, entry)
                 ? CF_OK
                 : cf_oom_for(err, "a token");
        r->is_done = st == CF_OK;
    } else if (st == CF_OK) {
        put_refusal(&o->why, answer, status);
        if (cf_str_is(text_of(answer, "error"), "invalid_grant")) {
            json_object_del(entry, "refreshToken");
            *changed = true;
        }
    } else if (st == CF_ENOMEM || st == CF_ECANCELLED) {
        *err = why;
    } else {
        cf_buf_adds(&o->why, why.text);
        st = CF_OK;
    }
    json_decref(answer);
    return st;
}

static cf_status renew(void *ud, json_t *kept, bool *changed, cf_error *err)
{
    renewing *r = ud;
    cf_mcp__server *s = r->o->s;
    const char *issuer = json_string_value(json_object_get(kept, "issuer"));
    json_t *entry = current(kept);
    cf_str token = text_of(entry, "accessToken");
    if (token.n > 0 && !cf_str_eq(token, cf_buf_str(&s->token))) {
        r->is_done = adopt(s, issuer, entry);
        cf_mcp__tell(s, CF_MCP_STEP, 0, cf_str_from("sign in: a newer token is kept: it is taken"));
        return CF_OK;
    }
    if (!r->may_refresh || text_of(entry, "refreshToken").n == 0 ||
        text_of(entry, "tokenEndpoint").n == 0) {
        return CF_OK;
    }
    return refresh(r, issuer, entry, changed, err);
}

/* ---- scopes ------------------------------------------------------------- */

static bool has_scope(cf_str scopes, cf_str one)
{
    for (size_t at = 0; at < scopes.n;) {
        const char *end = memchr(scopes.p + at, ' ', scopes.n - at);
        size_t n = end != NULL ? (size_t)(end - scopes.p) - at : scopes.n - at;
        if (cf_str_eq(cf_str_make(scopes.p + at, n), one)) {
            return true;
        }
        at += n + 1;
    }
    return false;
}

/* Adds the scopes of a text that are not there yet. */
static void add_scopes(cf_buf *out, cf_str scopes)
{
    for (size_t at = 0; at < scopes.n;) {
        const char *end = memchr(scopes.p + at, ' ', scopes.n - at);
        size_t n = end != NULL ? (size_t)(end - scopes.p) - at : scopes.n - at;
        cf_str one = cf_str_make(scopes.p + at, n);
        if (n > 0 && !has_scope(cf_buf_str(out), one) && out->n + n < SCOPE_MAX) {
            cf_buf_adds(out, out->n > 0 ? " " : "");
            cf_buf_add(out, one.p, one.n);
        }
        at += n + 1;
    }
}

/* What the user's file says, else the challenge, else what the resource
 * knows; a step up asks for what was granted as well. */
static void choose_scopes(cf_mcp__oauth *o)
{
    cf_str asked = text_of(o->challenge, "scope");
    cf_str own = text_of(json_object_get(o->s->config, "oauth"), "scopes");
    const json_t *known = json_object_get(o->resource, "scopes_supported");
    bool is_step_up = cf_str_is(text_of(o->challenge, "error"), "insufficient_scope");
    if (is_step_up) {
        add_scopes(&o->scope, text_of(o->s->signed_in, "scope"));
    }
    add_scopes(&o->scope, own);
    if (own.n == 0 || is_step_up) {
        add_scopes(&o->scope, asked);
    }
    for (size_t i = 0; own.n == 0 && asked.n == 0 && i < json_array_size(known); i++) {
        const json_t *v = json_array_get(known, i);
        add_scopes(&o->scope, cf_str_from(json_is_string(v) ? json_string_value(v) : ""));
    }
}

/* "offline_access" goes with the issuer that lists it, and only then. */
static void fit_offline(cf_mcp__oauth *o)
{
    cf_buf fit = CF_BUF_INIT;
    cf_str offline = cf_str_from("offline_access"), all = cf_buf_str(&o->scope);
    for (size_t at = 0; at < all.n;) {
        const char *end = memchr(all.p + at, ' ', all.n - at);
        size_t n = end != NULL ? (size_t)(end - all.p) - at : all.n - at;
        cf_str one = cf_str_make(all.p + at, n);
        if (!cf_str_eq(one, offline)) {
            add_scopes(&fit, one);
        }
        at += n + 1;
    }
    if (cf_mcp__lists(o->issuer, "scopes_supported", "offline_access")) {
        add_scopes(&fit, offline);
    }
    cf_buf_deinit(&o->scope);
    o->scope = fit;
}

/* ---- the browser -------------------------------------------------------- */

static void put_base64url(cf_buf *out, const uint8_t *bytes, size_t n)
{
    char text[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1];
    struct base64_encode_ctx ctx;
    base64url_encode_init(&ctx);
    size_t k = base64_encode_update(&ctx, text, n, bytes);
    k += base64_encode_final(&ctx, text + k);
    while (k > 0 && text[k - 1] == '=') {
        k--;
    }
    cf_buf_add(out, text, k);
}

static void put_random(cf_buf *out, size_t n)
{
    uint8_t bytes[VERIFIER_BYTES];
    cf_os_entropy(bytes, n);
    put_base64url(out, bytes, n);
}

static void put_address(const cf_mcp__oauth *o, cf_buf *out, const cf_buf *verifier,
                        const cf_buf *state)
{
    struct sha256_ctx hash;
    uint8_t digest[SHA256_DIGEST_SIZE];
    cf_buf form = CF_BUF_INIT, challenge = CF_BUF_INIT;
    const char *endpoint = json_string_value(json_object_get(o->issuer, "authorization_endpoint"));
    sha256_init(&hash);
    sha256_update(&hash, verifier->n, (const uint8_t *)cf_buf_cstr(verifier));
    sha256_digest(&hash, sizeof digest, digest);
    put_base64url(&challenge, digest, sizeof digest);
    cf_mcp__form_add(&form, "response_type", cf_str_from("code"));
    cf_mcp__form_add(&form, "client_id", text_of(o->client, "clientId"));
    cf_mcp__form_add(&form, "redirect_uri", cf_buf_str(&o->redirect));
    cf_mcp__form_add(&form, "state", cf_buf_str(state));
    cf_mcp__form_add(&form, "code_challenge", cf_buf_str(&challenge));
    cf_mcp__form_add(&form, "code_challenge_method", cf_str_from("S256"));
    cf_mcp__form_add(&form, "resource", cf_buf_str(&o->resource_id));
    if (o->scope.n > 0) {
        cf_mcp__form_add(&form, "scope", cf_buf_str(&o->scope));
    }
    cf_buf_adds(out, endpoint);
    cf_buf_adds(out, strchr(endpoint, '?') != NULL ? "&" : "?");
    cf_buf_add(out, cf_buf_cstr(&form), form.n);
    out->failed = out->failed || form.failed || challenge.failed;
    cf_buf_deinit(&form);
    cf_buf_deinit(&challenge);
}

/* The answer comes from the browser, where anybody could have made it. */
static cf_status check_answer(const cf_mcp__oauth *o, cf_str query, const cf_buf *state,
                              cf_error *err)
{
    cf_buf is_state = CF_BUF_INIT, issuer = CF_BUF_INIT, error = CF_BUF_INIT;
    bool promised =
        json_is_true(json_object_get(o->issuer, "authorization_response_iss_parameter_supported"));
    bool has_issuer = cf_mcp__form_get(&issuer, query, "iss");
    cf_status st = CF_OK;
    if (!cf_mcp__form_get(&is_state, query, "state") ||
        !cf_str_eq(cf_buf_str(&is_state), cf_buf_str(state))) {
        st = cf_fail(err, CF_EFORMAT, "the browser's answer has another \"state\"");
    } else if (has_issuer && !cf_str_eq(cf_buf_str(&issuer), cf_buf_str(&o->issuer_id))) {
        st = cf_fail(err, CF_EFORMAT, "the browser's answer is of another issuer: %.*s", SHOWN_MAX,
                     cf_buf_cstr(&issuer));
    } else if (!has_issuer && promised) {
        st = cf_fail(err, CF_EFORMAT, "the browser's answer lacks the issuer that was promised");
    } else if (cf_mcp__form_get(&error, query, "error")) {
        cf_buf_adds(&error, ": ");
        (void)cf_mcp__form_get(&error, query, "error_description");
        st = cf_fail(err, CF_EIO, "%.*s refused: %.*s", SHOWN_MAX, cf_buf_cstr(&o->issuer_id),
                     SHOWN_MAX, cf_buf_cstr(&error));
    }
    if (is_state.failed || issuer.failed || error.failed) {
        st = cf_oom_for(err, "the browser's answer");
    }
    cf_buf_deinit(&is_state);
    cf_buf_deinit(&issuer);
    cf_buf_deinit(&error);
    return st;
}

static cf_status visit(cf_mcp__oauth *o, const cf_buf *verifier, cf_buf *code, cf_error *err)
{
    cf_buf state = CF_BUF_INIT, address = CF_BUF_INIT, query = CF_BUF_INIT;
    put_random(&state, STATE_BYTES);
    put_address(o, &address, verifier, &state);
    cf_status st = cf_buf_check(&state, err);
    CF_THEN(st, cf_buf_check(&address, err));
    CF_THEN(st, o->with->visit(o->with->ud, o->s->index, cf_buf_cstr(&address), &query, err));
    CF_THEN(st, cf_buf_check(&query, err));
    CF_THEN(st, check_answer(o, cf_buf_str(&query), &state, err));
    if (st == CF_OK && (!cf_mcp__form_get(code, cf_buf_str(&query), "code") || code->failed)) {
        st = cf_fail(err, CF_EFORMAT, "the browser's answer has no code");
    }
    wipe(&state);
    wipe(&query);
    cf_buf_deinit(&address);
    return st;
}

/* The browser's code for a token, which goes into o->client. */
static cf_status get_token(cf_mcp__oauth *o, cf_error *err)
{
    cf_buf verifier = CF_BUF_INIT, code = CF_BUF_INIT, form = CF_BUF_INIT;
    json_t *answer = NULL;
    long status = 0;
    const char *endpoint = json_string_value(json_object_get(o->issuer, "token_endpoint"));
    put_random(&verifier, VERIFIER_BYTES);
    cf_status st = cf_buf_check(&verifier, err);
    CF_THEN(st, visit(o, &verifier, &code, err));
    cf_mcp__form_add(&form, "grant_type", cf_str_from("authorization_code"));
    cf_mcp__form_add(&form, "code", cf_buf_str(&code));
    cf_mcp__form_add(&form, "redirect_uri", cf_buf_str(&o->redirect));
    cf_mcp__form_add(&form, "code_verifier", cf_buf_str(&verifier));
    cf_mcp__form_add(&form, "resource", cf_buf_str(&o->resource_id));
    CF_THEN(st, ask_token(o, o->client, endpoint, &form,
                          "grant_type, code, redirect_uri, code_verifier, resource", &answer,
                          &status, err));
    if (st == CF_OK && !has_token(answer, status)) {
        cf_buf why = CF_BUF_INIT;
        put_refusal(&why, answer, status);
        st = cf_fail(err, CF_EIO, "no token: %.200s", cf_buf_cstr(&why));
        cf_buf_deinit(&why);
    } else if (st == CF_OK) {
        json_object_del(o->client, "refreshToken"); /* of an earlier sign-in */
        bool ok = put_tokens(o->client, answer, cf_buf_str(&o->scope)) &&
                  json_object_set_new(o->client, "tokenEndpoint", json_string(endpoint)) == 0 &&
                  json_object_set_new(o->client, "resource", cf_json_buf(&o->resource_id)) == 0;
        st = ok ? CF_OK : cf_oom_for(err, "a token");
    }
    json_decref(answer);
    wipe(&verifier);
    wipe(&code);
    wipe(&form);
    return st;
}

/* ---- all together ------------------------------------------------------- */

static cf_status read_issuer(void *ud, json_t *kept, bool *changed, cf_error *err)
{
    cf_mcp__oauth *o = ud;
    const json_t *entry =
        json_object_get(json_object_get(kept, "issuers"), cf_buf_cstr(&o->issuer_id));
    (void)changed;
    o->kept = json_is_object(entry) ? cf_json_deep_copy(entry) : NULL;
    return o->kept != NULL || !json_is_object(entry) ? CF_OK : cf_oom_for(err, "a sign-in");
}

static cf_status keep(void *ud, json_t *kept, bool *changed, cf_error *err)
{
    cf_mcp__oauth *o = ud;
    const char *issuer = cf_buf_cstr(&o->issuer_id);
    json_t *issuers = made(kept, "issuers");
    *changed = true;
    return issuers != NULL && json_object_set(issuers, issuer, o->client) == 0 &&
                   json_object_set_new(kept, "issuer", json_string(issuer)) == 0 &&
                   adopt(o->s, issuer, o->client)
               ? CF_OK
               : cf_oom_for(err, "a token");
}

static cf_status by_user(cf_mcp__oauth *o, cf_error *err)
{
    const cf_mcp_sign_in *with = o->with;
    cf_str address = text_of(o->s->config, "url");
    CF_TRY(cf_mcp__find_resource(o, err));
    choose_scopes(o);
    CF_TRY(with->may(with->ud, o->s->index, cf_buf_str(&o->issuer_id), cf_buf_str(&o->scope), err));
    CF_TRY(cf_mcp__find_issuer(o, err));
    fit_offline(o);
    CF_TRY(cf_buf_check(&o->scope, err));
    CF_TRY(with->with_kept(with->ud, address, read_issuer, o, err));
    cf_status st = cf_mcp__find_client(o, err);
    CF_THEN(st, get_token(o, err));
    with->close(with->ud);
    CF_THEN(st, with->with_kept(with->ud, address, keep, o, err));
    return st;
}

/* Time that the user takes does not count. */
static void extend(cf_mcp *mcp, uint64_t took)
{
    mcp->asked_us += took;
    for (size_t i = 0; i < mcp->n_server; i++) {
        cf_mcp__server *s = mcp->server[i];
        for (size_t k = 0; k < s->n_request; k++) {
            s->request[k].deadline_us += s->request[k].deadline_us != 0 ? took : 0;
        }
    }
}

/* The reason with what went before: a refresh that failed. */
static void explain(const cf_mcp__oauth *o, cf_error *err)
{
    const cf_error last = *err;
    if (o->why.n > 0) {
        cf_fail(err, last.code, "the refresh failed (%.*s); %.200s", SHOWN_MAX,
                cf_buf_cstr(&o->why), last.text);
    }
}

cf_status cf_mcp__sign_in(cf_mcp__server *s, const json_t *challenge, bool may_refresh,
                          cf_error *err)
{
    cf_mcp__oauth o = {.s = s, .with = s->mcp->options.sign_in, .challenge = challenge};
    renewing r = {.o = &o, .may_refresh = may_refresh};
    uint64_t began = cf_mcp__now();
    cf_status st = o.with->with_kept(o.with->ud, text_of(s->config, "url"), renew, &r, err);
    if (st == CF_OK && o.why.n > 0) {
        cf_mcp__note(s, "sign in: the refresh failed: %s", cf_buf_cstr(&o.why));
    }
    if (st == CF_OK && !r.is_done) {
        st = by_user(&o, err);
    }
    if (st != CF_OK) {
        explain(&o, err);
        cf_mcp__note(s, "sign in: %s", err->text);
    } else if (!r.is_done) {
        cf_buf text = CF_BUF_INIT;
        cf_buf_addf(&text, "sign in: done at %s, scopes: %s", cf_buf_cstr(&o.issuer_id),
                    o.scope.n > 0 ? cf_buf_cstr(&o.scope) : "none");
        cf_mcp__tell(s, CF_MCP_STEP, 0, cf_buf_str(&text));
        cf_buf_deinit(&text);
    }
    json_decref(o.resource);
    json_decref(o.issuer);
    json_decref(o.kept);
    json_decref(o.client);
    cf_buf_deinit(&o.issuer_id);
    cf_buf_deinit(&o.resource_id);
    cf_buf_deinit(&o.scope);
    cf_buf_deinit(&o.redirect);
    cf_buf_deinit(&o.why);
    extend(s->mcp, cf_mcp__now() - began);
    return st;
}
