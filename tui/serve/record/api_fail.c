/*
 * api_fail.c - the path says which client it is, also where no interface of
 * ours has that path.
 */
#include "tui/serve/record/api_fail.h"

static cf_api client_of(cf_str path)
{
    static const struct {
        const char *start;
        cf_api api;
    } rows[] = {{"/v1/messages", CF_API_ANTHROPIC_MESSAGES},
                {"/messages", CF_API_ANTHROPIC_MESSAGES},
                {"/api/", CF_API_OLLAMA_CHAT},
                {"/v1beta/", CF_API_GEMINI_GENERATE}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (cf_str_starts(path, cf_str_from(rows[i].start))) {
            return rows[i].api;
        }
    }
    return CF_API_OPENAI_CHAT;
}

void cf_api_fail_as(const cf_http_request *r, cf_http_answer *a, const cf_wire_failure *failure)
{
    cf_api api = client_of(r->path);
    cf_http_fail(r, a, failure->status, failure->type, failure->message);
    if (api == CF_API_GEMINI_GENERATE) {
        return;
    }
    cf_buf text = CF_BUF_INIT;
    cf_wire_write_error(api, false, failure, &text);
    const char *copy = text.failed ? NULL : cf_arena_strndup(r->arena, text.p, text.n);
    if (copy != NULL) { /* else the other form */
        a->body = cf_str_make(copy, text.n);
    }
    cf_buf_deinit(&text);
}

void cf_api_fail(const cf_http_request *r, cf_http_answer *a, unsigned status, const char *type,
                 const char *message)
{
    cf_api_fail_as(r, a, &(cf_wire_failure){.status = status, .type = type, .message = message});
}
