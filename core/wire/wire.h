/*
 * wire.h - what a request to a model server says and what its answer says, in
 * the formats of OpenAI, Anthropic and Ollama.
 *
 * Place in the flow:  bodies --> [wire] --> messages, tools, usage --> the
 *                     recorder, findings.
 * Knows: JSON bodies, event streams, JSON lines.  Does not know: HTTP, the
 * history, engines.
 * Sources: OpenAI's OpenAPI description (chat, completions, responses),
 * Anthropic's Messages API and its streaming, Ollama's docs/api.md,
 * llama-server's README ("timings").
 *
 * Threads:  one thread at a time.
 * Memory:   a request and a reader own their fields.
 */
#ifndef CF_CORE_WIRE_WIRE_H
#define CF_CORE_WIRE_WIRE_H

#include "core/base/json.h"
#include "core/net/sse.h"

typedef enum cf_api {
    CF_API_NONE,
    CF_API_OPENAI_CHAT,
    CF_API_OPENAI_COMPLETIONS,
    CF_API_OPENAI_RESPONSES,
    CF_API_OPENAI_EMBEDDINGS,
    CF_API_OPENAI_MODELS,
    CF_API_ANTHROPIC_MESSAGES,
    CF_API_OLLAMA_CHAT,
    CF_API_OLLAMA_GENERATE,
    CF_API_N
} cf_api;

/* "openai-chat" ...; "" for CF_API_NONE. */
const char *cf_api_name(cf_api api);
/* The interface of a path such as "/v1/chat/completions"; a query is
 * ignored. */
cf_api cf_api_of(cf_str method, cf_str path);
/* Whether its requests hold a conversation. */
bool cf_api_talks(cf_api api);

typedef struct cf_wire_request {
    json_t *messages;  /* array in OpenAI's form, system messages included */
    json_t *tools;     /* array of {"type":"function","function"}; NULL */
    json_t *variables; /* template variables of the request; NULL */
    char model[128];
    char previous[128]; /* response that this one goes on from; "" */
    bool is_stream;
} cf_wire_request;

/* Reads a body.  CF_EFORMAT for what is not a request of this interface,
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_wire_request_read(cf_wire_request *out, cf_api api, cf_str body,
                                           cf_error *err);
void cf_wire_request_deinit(cf_wire_request *r);

/* Usage that the server reported; -1: it did not. */
typedef struct cf_wire_usage {
    int64_t n_prompt, n_cached, n_reply;
} cf_wire_usage;

enum { CF_WIRE_CHOICES_MAX = 16, CF_WIRE_CALLS_MAX = 256 };

typedef struct cf_wire_call {
    cf_buf id, name, arguments;
    int64_t index; /* as the stream numbers it */
} cf_wire_call;

typedef struct cf_wire_choice {
    cf_buf content, thinking;
    cf_wire_call *calls; /* [n_calls] */
    size_t n_calls, cap_calls;
    char end[32]; /* "stop", "length", "tool_calls" ...; "": not ended */
    bool has_any; /* something came */
} cf_wire_choice;

typedef enum cf_wire_form {
    CF_WIRE_UNKNOWN, /* nothing but blanks so far */
    CF_WIRE_WHOLE,   /* one JSON value */
    CF_WIRE_EVENTS,  /* server-sent events */
    CF_WIRE_LINES    /* a JSON value a line */
} cf_wire_form;

/* Reads an answer as it arrives.  However it is cut, the result is the
 * same. */
typedef struct cf_wire_reader {
    cf_api api;
    cf_wire_form form;
    cf_sse sse;
    cf_buf text; /* of a whole value, or of the line that has not ended */
    cf_wire_choice choice[CF_WIRE_CHOICES_MAX];
    size_t n_choices; /* seen */
    cf_wire_usage usage;
    char model[128], id[128];
    char error[CF_ERROR_TEXT_MAX]; /* that the server reports; "": none */
    bool is_ended;                 /* the format's own end came */
} cf_wire_reader;

void cf_wire_reader_init(cf_wire_reader *r, cf_api api);
void cf_wire_reader_deinit(cf_wire_reader *r);

/* CF_EFORMAT for bytes that break the format, CF_ELIMIT for more than 64 MiB
 * of one value, CF_ENOMEM; what was read before stays. */
CF_MUST_USE cf_status cf_wire_reader_feed(cf_wire_reader *r, cf_str bytes, cf_error *err);
/* No more bytes.  Errors as above. */
CF_MUST_USE cf_status cf_wire_reader_finish(cf_wire_reader *r, cf_error *err);

/* Whether a part of the reply has come, not only its frame. */
bool cf_wire_reader_has_begun(const cf_wire_reader *r);

/* The reply of choice i as a message in OpenAI's form; a new reference, NULL
 * without memory. */
json_t *cf_wire_reader_message(const cf_wire_reader *r, size_t i);

#endif
