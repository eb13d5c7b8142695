/*
 * api_fail.c - the path says which client it is, also where no interface of
 * ours has that path.
 */
#include "tui/serve/record/api_fail.h"

#include "core/wire/wire.h"

static cf_api client_of(cf_str path)
{
    return cf_str_starts(path, cf_str_from("/v1/messages")) ? CF_API_ANTHROPIC_MESSAGES
           : cf_str_starts(path, cf_str_from("/api/"))      ? CF_API_OLLAMA_CHAT
                                                            : CF_API_NONE;
}

void cf_api_fail(const cf_http_request *r, cf_http_answer *a, unsigned status, const char *type,
                 const char *message)
{
    cf_api api = client_of(r->path);
    cf_http_fail(r, a, status, type, message);
    if (api == CF_API_NONE) {
        return;
    }
    cf_buf text = CF_BUF_INIT;
    cf_wire_write_error(api, false, type, message, &text);
    const char *copy = text.failed ? NULL : cf_arena_strndup(r->arena, text.p, text.n);
    if (copy != NULL) { /* else the other form */
        a->body = cf_str_make(copy, text.n);
    }
    cf_buf_deinit(&text);
}
