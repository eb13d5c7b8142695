/*
 * serve_answer.c - whole answers and errors, and what every answer's head has.
 */
#include <stdio.h>

#include "tui/serve/record/api_fail.h"
#include "tui/serve/server/serve_impl.h"

void cf_serve__answer_head(const cf_http_request *r, cf_http_answer *a, cf_record *record,
                           const char *type)
{
    char id[CF_UUID_TEXT + 1];
    cf_uuid uuid = cf_record_id(record);
    cf_uuid_format(id, cf_uuid_is_nil(uuid) ? cf_uuid_new() : uuid);
    cf_http_header *h = cf_arena_calloc(r->arena, 3, sizeof *h);
    const char *copy = cf_arena_strndup(r->arena, id, CF_UUID_TEXT);
    if (h == NULL || copy == NULL) {
        return;
    }
    h[0] = (cf_http_header){cf_str_from("Content-Type"), cf_str_from(type)};
    h[1] = (cf_http_header){cf_str_from("X-Request-Id"), cf_str_from(copy)};
    h[2] = (cf_http_header){cf_str_from("Cache-Control"), cf_str_from("no-cache")};
    a->headers = h;
    a->n_headers = 3;
    cf_record_head(record, a->status, h, 3);
}

void cf_serve__answer_error(const cf_http_request *r, cf_http_answer *a, cf_record *record,
                            const cf_wire_failure *failure)
{
    cf_api_fail_as(r, a, failure);
    cf_str body = a->body;
    cf_serve__answer_head(r, a, record, "application/json");
    cf_record_bytes(record, body.p, body.n);
    cf_record_end_with(record, CF_RECORD_WHOLE, NULL);
}

void cf_serve__answer_failure(const cf_http_request *r, cf_http_answer *a, cf_record *record,
                              cf_status st, const cf_error *err)
{
    const bool is_asked = st == CF_EINVAL || st == CF_EFORMAT || st == CF_ELIMIT;
    char field[CF_ERROR_TEXT_MAX];
    const bool has_field = is_asked && sscanf(err->text, "'%239[^']'", field) == 1;
    const cf_wire_failure f = {.status = is_asked                ? 400
                                         : st == CF_EUNSUPPORTED ? 501
                                                                 : 500,
                               .type = is_asked ? "invalid_request_error" : "server_error",
                               .code = st == CF_ELIMIT         ? "context_length_exceeded"
                                       : st == CF_EUNSUPPORTED ? "not_supported"
                                                               : NULL,
                               .param = has_field ? field : NULL,
                               .message = err->text};
    cf_serve__answer_error(r, a, record, &f);
}

void cf_serve__answer_text(const cf_http_request *r, cf_http_answer *a, cf_record *record,
                           const cf_buf *text)
{
    const char *copy = cf_arena_strndup(r->arena, cf_buf_cstr(text), text->n);
    if (text->failed || copy == NULL) {
        cf_serve__answer_error(
            r, a, record,
            &(cf_wire_failure){.status = 500, .type = "server_error", .message = "out of memory"});
        return;
    }
    *a = (cf_http_answer){.status = 200, .body = cf_str_make(copy, text->n)};
    cf_serve__answer_head(r, a, record, "application/json");
    cf_record_bytes(record, a->body.p, a->body.n);
    cf_record_end_with(record, CF_RECORD_WHOLE, NULL);
}

void cf_serve__answer_with(cf_serve *s, const cf_http_request *r, cf_http_answer *a,
                           cf_serve__writer *write)
{
    cf_buf text = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &text);
    write(s, &w);
    cf_serve__answer_text(r, a, NULL, &text);
    cf_buf_deinit(&text);
}
