/*
 * mcp_era.c - the way from a program or an address to a server that is ready:
 * which era of the protocol it speaks, as the specification of 2026-07-28 has
 * a client find out ("Backward Compatibility" of both transports).
 *
 *   server/discover --+-- a result -----------------------> new era
 *                     +-- -32022, -32021 or -32020 -------> new era
 *                     +-- any other error ----------------> initialize
 *                     +-- silence ------------------------> initialize, to the
 *                     |                                     same program
 *                     +-- the program's end --------------> started again,
 *                                                           initialize
 *
 * A program that is silent is most often slow to start: to end it would double
 * the time.  One that does not answer initialize either is started again once.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/version.h"
#include "core/mcp/mcp_impl.h"

CF_PRINTF(3, 4)
static void fail(cf_mcp__server *s, cf_status code, const char *fmt, ...)
{
    char text[CF_ERROR_TEXT_MAX];
    cf_error why;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cf_fail(&why, code, "%s", text);
    cf_mcp__fail(s, &why, s->mcp->options.grace_ms);
}

/* The first revision in our order that the list has, from `first` on; NULL. */
static const char *common_revision(const json_t *list, size_t first)
{
    for (size_t i = first; cf_mcp_revisions[i] != NULL; i++) {
        for (size_t k = 0; k < json_array_size(list); k++) {
            const json_t *v = json_array_get(list, k);
            if (json_is_string(v) && strcmp(json_string_value(v), cf_mcp_revisions[i]) == 0) {
                return cf_mcp_revisions[i];
            }
        }
    }
    return NULL;
}

static bool is_modern(const char *revision)
{
    return revision != NULL && strcmp(revision, cf_mcp_revisions[0]) == 0;
}

/* ---- asking ------------------------------------------------------------- */

static void discover(cf_mcp__server *s, uint32_t limit_ms)
{
    s->era = CF_MCP__UNKNOWN;
    /* A failure is the server's state. */
    cf_ignore(cf_mcp__ask(s, CF_MCP__DISCOVER, "server/discover", json_object(), 0, limit_ms, NULL,
                          NULL));
}

static void initialize(cf_mcp__server *s)
{
    s->era = CF_MCP__LEGACY;
    json_t *params =
        json_pack("{s:s, s:{s:{s:{}, s:{}}}, s:{s:s, s:s}}", "protocolVersion",
                  cf_mcp_revisions[CF_MCP__FIRST_LEGACY], "capabilities", "elicitation", "form",
                  "url", "clientInfo", "name", "confab", "version", CF_VERSION);
    cf_ignore(cf_mcp__ask(s, CF_MCP__INITIALIZE, "initialize", params, 0, s->mcp->options.start_ms,
                          NULL, NULL));
}

static bool start_transport(cf_mcp__server *s)
{
    cf_error why;
    cf_mcp__set_state(s, CF_MCP_STARTING);
    s->revision = NULL;
    s->n_bytes = 0;
    json_decref(s->about);
    json_decref(s->pages);
    s->about = s->pages = NULL;
    s->fresh_until_us = 0;
    if (s->transport->start(s, &why) != CF_OK) {
        cf_mcp__fail(s, &why, 0);
        return false;
    }
    return true;
}

void cf_mcp__start(cf_mcp__server *s)
{
    if (start_transport(s)) {
        discover(s, s->mcp->options.probe_ms);
    }
}

bool cf_mcp__start_again(cf_mcp__server *s)
{
    bool is_probed = s->era == CF_MCP__UNKNOWN || s->probe_was_silent;
    if (s->state != CF_MCP_STARTING || !is_probed || s->is_second_start) {
        return false;
    }
    s->is_second_start = true;
    s->probe_was_silent = false;
    cf_mcp__forget_all(s);
    s->transport->stop(s, s->mcp->options.grace_ms);
    cf_mcp__note(s, "no answer to server/discover: started again, with "
                    "initialize");
    if (start_transport(s)) {
        initialize(s);
    }
    return true;
}

/* The program is kept. */
static void initialize_after_silence(cf_mcp__server *s)
{
    s->probe_was_silent = true;
    cf_mcp__note(s, "no answer to server/discover: trying initialize");
    initialize(s);
}

/* ---- the answers -------------------------------------------------------- */

static void keep_about(cf_mcp__server *s, const json_t *result)
{
    json_decref(s->about);
    s->about = json_incref(cf_json_ref(result));
}

/* `list`: the revisions that the server names; `result` NULL: it named them in
 * an error. */
static void choose(cf_mcp__server *s, const json_t *list, const json_t *result)
{
    const char *revision = common_revision(list, 0);
    if (is_modern(revision)) {
        s->era = CF_MCP__MODERN;
        s->revision = revision;
        if (result == NULL && s->was_sent_back) {
            fail(s, CF_EFORMAT, "the server refuses revision %s and offers it", revision);
            return;
        }
        if (result == NULL) { /* it refused something else of the request, or once only */
            s->was_sent_back = true;
            discover(s, s->mcp->options.start_ms);
            return;
        }
        keep_about(s, result);
        cf_mcp__list(s);
    } else if (revision != NULL) {
        initialize(s);
    } else {
        cf_buf names = CF_BUF_INIT;
        cf_json_write(&names, list);
        fail(s, CF_EUNSUPPORTED, "the server speaks only unknown revisions: %.120s",
             cf_buf_cstr(&names));
        cf_buf_deinit(&names);
    }
}

static void on_discovered(cf_mcp__server *s, const json_t *answer)
{
    const json_t *error = cf_mcp__error_of(answer);
    const json_t *result = json_object_get(answer, "result");
    const json_t *versions = json_object_get(result, "supportedVersions");
    const json_t *supported = json_object_get(json_object_get(error, "data"), "supported");
    json_int_t code = json_integer_value(json_object_get(error, "code"));
    if (error == NULL && json_array_size(versions) > 0) {
        choose(s, versions, result);
    } else if (code == CF_MCP__WRONG_VERSION && json_is_array(supported)) {
        choose(s, supported, NULL);
    } else if (code == CF_MCP__MISSING_CAPABILITY || code == CF_MCP__HEADER_MISMATCH ||
               code == CF_MCP__WRONG_VERSION) {
        cf_buf text = CF_BUF_INIT;
        cf_mcp__error_text(&text, error);
        s->era = CF_MCP__MODERN;
        fail(s, CF_EFORMAT, "server/discover: %.180s", cf_buf_cstr(&text));
        cf_buf_deinit(&text);
    } else {
        initialize(s); /* of an error any other code, or a strange result */
    }
}

static void on_initialized(cf_mcp__server *s, const json_t *answer)
{
    const json_t *error = cf_mcp__error_of(answer);
    const json_t *result = json_object_get(answer, "result");
    const json_t *supported = json_object_get(json_object_get(error, "data"), "supported");
    const json_t *said = json_object_get(result, "protocolVersion");
    if (error != NULL) {
        /* It was only slow: it has the new era and no other. */
        if (is_modern(common_revision(supported, 0)) && !s->was_sent_back) {
            s->was_sent_back = true;
            discover(s, s->mcp->options.start_ms);
            return;
        }
        cf_buf text = CF_BUF_INIT;
        cf_mcp__error_text(&text, error);
        fail(s, CF_EFORMAT, "initialize: %.180s", cf_buf_cstr(&text));
        cf_buf_deinit(&text);
        return;
    }
    json_t *list = json_pack("[O?]", said);
    s->revision = common_revision(list, CF_MCP__FIRST_LEGACY);
    json_decref(list);
    if (s->revision == NULL) {
        fail(s, CF_EUNSUPPORTED,
             "the server speaks revision %.60s, unknown "
             "here",
             json_is_string(said) ? json_string_value(said) : "(none)");
        return;
    }
    keep_about(s, result);
    cf_error why;
    if (cf_mcp__say(
            s, "notifications/initialized",
            json_pack("{s:s, s:s}", "jsonrpc", "2.0", "method", "notifications/initialized"), 0,
            &why) != CF_OK) {
        cf_mcp__fail(s, &why, 0);
        return;
    }
    cf_mcp__list(s);
}

/* HTTP: an answer that is not a message of the protocol.  A server of the old
 * era refuses what it does not know with some 4xx. */
static bool may_be_old(long status)
{
    return status >= 400 && status != 401 && status != 403 && status != 407;
}

/* Whether a server refused both ways to begin as one does that has messages
 * posted to another address, which it names on a stream (HTTP+SSE, the
 * transport of revision 2024-11-05). */
static bool may_be_older_transport(cf_mcp__kind kind, long status)
{
    enum { NOT_FOUND = 404, NO_METHOD = 405 };
    return kind == CF_MCP__INITIALIZE && (status == NOT_FOUND || status == NO_METHOD);
}

void cf_mcp__on_start(cf_mcp__server *s, cf_mcp__kind kind, const json_t *answer, long status,
                      const cf_error *why, bool is_silent)
{
    bool is_probe = kind == CF_MCP__DISCOVER && !s->was_sent_back;
    if (answer != NULL && kind == CF_MCP__DISCOVER) {
        on_discovered(s, answer);
    } else if (answer != NULL) {
        on_initialized(s, answer);
    } else if (is_probe && is_silent) {
        initialize_after_silence(s);
    } else if (is_silent && cf_mcp__start_again(s)) {
        return;
    } else if (is_probe && may_be_old(status)) {
        initialize(s);
    } else if (may_be_older_transport(kind, status)) {
        fail(s, why->code,
             "%.120s; it may be a server of the older transport (HTTP+SSE), which is not spoken",
             why->text);
    } else {
        cf_mcp__fail(s, why, s->mcp->options.grace_ms);
    }
}
