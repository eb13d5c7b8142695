/*
 * mcp_oauth.h - signing in to a server by OAuth 2.1: what the parts share.
 *
 * mcp_sign_in.c has the steps in order, mcp_discover.c finds out who gives
 * tokens, mcp_client_id.c says who we are there, mcp_web.c asks, and
 * mcp_challenge.c reads what a server wants.
 *
 * Addresses come from servers and are hostile: https, or http on this machine
 * where the server itself is on it; no redirects; bounded bodies, times and
 * numbers of requests.  A token goes to the server's own address alone.
 *
 * Room-internal.
 */
#ifndef CF_CORE_MCP_MCP_OAUTH_H
#define CF_CORE_MCP_MCP_OAUTH_H

#include "core/mcp/mcp_impl.h"

/* One sign-in. */
typedef struct cf_mcp__oauth {
    cf_mcp__server *s;
    const cf_mcp_sign_in *with;
    const json_t *challenge; /* of the server; see cf_mcp__challenge_add() */
    int n_documents, n_posts;
    json_t *resource;   /* metadata of the server; NULL: it has none */
    json_t *issuer;     /* metadata of the authorization server */
    cf_buf issuer_id;   /* its "issuer" */
    cf_buf resource_id; /* "resource", as the metadata has it */
    cf_buf scope;       /* what is asked for, separated by spaces */
    json_t *kept;       /* what was kept of this issuer; NULL: nothing */
    cf_buf redirect;
    json_t *client; /* clientId, clientSecret, method, redirectUri */
    cf_buf why;     /* why the refresh failed; empty */
} cf_mcp__oauth;

/* ---- mcp_challenge.c ---------------------------------------------------- */

/* Adds the parameters of the "Bearer" challenges in a WWW-Authenticate header
 * to *out, an object by names in lower case, made where it is NULL.  RFC 9110,
 * section 11.6.1. */
void cf_mcp__challenge_add(json_t **out, cf_str header);

/* ---- mcp_web.c ---------------------------------------------------------- */

/* Appends "scheme://host:port", without a port that the scheme implies; false
 * unless the address is an http or https URL. */
bool cf_mcp__origin(cf_buf *out, const char *url);
/* Appends its path without a slash at the end. */
bool cf_mcp__path(cf_buf *out, const char *url);
/* Whether an address that came from a server may be asked or opened. */
bool cf_mcp__is_allowed(const cf_mcp__server *s, const char *url);

/* Appends "&name=value", percent-encoded; no "&" where *out is empty. */
void cf_mcp__form_add(cf_buf *out, const char *name, cf_str value);
/* The decoded value of a name; false: there is none. */
bool cf_mcp__form_get(cf_buf *out, cf_str form, const char *name);

typedef struct cf_mcp__asking {
    const char *url;
    cf_str body;         /* p NULL: a GET */
    const char *type;    /* of the body */
    cf_str basic;        /* value of Authorization; empty: none */
    const char *members; /* of the body, for the log */
} cf_mcp__asking;

/* Asks, and writes a line into the log.  *out: the object of the answer, NULL
 * where there is none; *status: of HTTP.  CF_EINVAL for an address that may
 * not be asked, CF_EIO, CF_ELIMIT, CF_ECANCELLED. */
CF_MUST_USE cf_status cf_mcp__fetch(cf_mcp__oauth *o, const cf_mcp__asking *asking, json_t **out,
                                    long *status, cf_error *err);

/* ---- mcp_discover.c ----------------------------------------------------- */

/* Which authorization server, and the name of this server there (RFC 9728). */
CF_MUST_USE cf_status cf_mcp__find_resource(cf_mcp__oauth *o, cf_error *err);
/* The authorization server's metadata (RFC 8414, OpenID Connect). */
CF_MUST_USE cf_status cf_mcp__find_issuer(cf_mcp__oauth *o, cf_error *err);
/* Whether the metadata's list has the text; false without a list. */
bool cf_mcp__lists(const json_t *metadata, const char *list, const char *text);

/* ---- mcp_client_id.c ---------------------------------------------------- */

/* Who we are at the issuer: o->redirect and o->client. */
CF_MUST_USE cf_status cf_mcp__find_client(cf_mcp__oauth *o, cf_error *err);

/* ---- mcp_sign_in.c ------------------------------------------------------ */

/* Whether the server can be signed in to: it may, and has no key of the user's. */
bool cf_mcp__may_sign_in(const cf_mcp__server *s);
/* Takes over the token that is kept, where there is one. */
void cf_mcp__take_kept(cf_mcp__server *s);
/* For such a server: makes s->token one that the server may accept: another one that is kept, a
 * refreshed one (`may_refresh`), or by way of the user. */
CF_MUST_USE cf_status cf_mcp__sign_in(cf_mcp__server *s, const json_t *challenge, bool may_refresh,
                                      cf_error *err);
void cf_mcp__sign_in_deinit(cf_mcp__server *s);

#endif
