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

/* As cf_http_fail(), which is the form of OpenAI and, with its code, of Gemini;
 * for paths of Anthropic ("/v1/messages") and Ollama ("/api/") theirs. */
void cf_api_fail(const cf_http_request *request, cf_http_answer *answer, unsigned status,
                 const char *type, const char *message);

#endif
