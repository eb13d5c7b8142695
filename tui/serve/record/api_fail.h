/*
 * api_fail.h - errors of our own in the form that a request's client reads.
 *
 * Place in the flow:  a request that cannot be answered --> [api_fail] --> the
 *                     server's answer.
 *
 * Threads:  any.
 * Memory:   the answer is in the request's arena.
 */
#ifndef CF_TUI_SERVE_RECORD_API_FAIL_H
#define CF_TUI_SERVE_RECORD_API_FAIL_H

#include "core/net/http_server.h"
#include "core/wire/wire.h"

/* In the form of OpenAI; for paths of Anthropic ("/v1/messages"), Ollama
 * ("/api/") and Gemini ("/v1beta/") in theirs. */
void cf_api_fail_as(const cf_http_request *request, cf_http_answer *answer,
                    const cf_wire_failure *failure);
/* The same without a code or a field, as cf_http_handler.fail. */
void cf_api_fail(const cf_http_request *request, cf_http_answer *answer, unsigned status,
                 const char *type, const char *message);

#endif
