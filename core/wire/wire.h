/*
 * wire.h - requests to model servers and their answers, in one neutral form,
 * and in the forms of OpenAI, Anthropic, Ollama and Gemini: each is read and
 * written, whole and as a stream.
 *
 * Place in the flow:  bodies and streams <--> [wire] <--> messages, settings,
 *                     events of a reply <--> backends, server, proxy, scripts.
 * Knows: JSON bodies, server-sent events, JSON lines, the names that each
 * interface gives to the same thing.  Does not know: HTTP, conversations, the
 * history, engines.
 *
 * An interface is one row (wire_impl.h) in one file (wire_anthropic.c ...).
 * What this header describes holds for every row: a request that is written
 * and read again is the same, as far as the interface has a place for it, and
 * so is an answer, however its bytes are cut.
 *
 * Sources: OpenAI's OpenAPI description (chat, completions, responses),
 * Anthropic's Messages API and its streaming, Ollama's docs/api.md, the Gemini
 * API's reference (generateContent), llama-server's README ("timings").
 *
 * Threads:  one thread at a time; the choices of one writer may be written by
 *           a thread each.
 * Memory:   requests, replies, readers and writers own their fields.
 */
#ifndef CF_CORE_WIRE_WIRE_H
#define CF_CORE_WIRE_WIRE_H

#include "core/json/json.h"
#include "core/net/sse.h"

/* ---- interfaces --------------------------------------------------------- */

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
    CF_API_GEMINI_GENERATE,
    CF_API_N
} cf_api;

/* "openai-chat" ...; "" for CF_API_NONE. */
const char *cf_api_name(cf_api api);
/* The interface of a path such as "/v1/chat/completions"; a query is
 * ignored. */
cf_api cf_api_of(cf_str method, cf_str path);
/* Whether its requests hold a conversation: these are read and written here. */
bool cf_api_talks(cf_api api);
/* The media type of its answers. */
const char *cf_api_type(cf_api api, bool is_stream);

/* ---- requests ----------------------------------------------------------- */

typedef enum cf_wire_tool_choice {
    CF_WIRE_TOOLS_UNSET,
    CF_WIRE_TOOLS_AUTO,
    CF_WIRE_TOOLS_NONE,
    CF_WIRE_TOOLS_REQUIRED,
    CF_WIRE_TOOLS_NAMED /* the one of tool_name */
} cf_wire_tool_choice;

/*
 * A request.  Zero is an empty one; trees that are NULL are absent.
 *
 * `messages` is what the rest of the program calls messages, OpenAI's form:
 * "role" (system, user, assistant, tool), "content" (a text, null, or parts:
 * text, image_url, input_audio, file), "reasoning_content" with
 * "reasoning_signature" where the thinking is signed, "tool_calls" with "id"
 * and arguments as text, "tool_call_id" of a result.  A system text that an
 * interface keeps apart is the first message.
 *
 * `settings` has what is sampled and limited, under the names of OpenAI and
 * llama-server: temperature, top_k, top_p, min_p, repeat_penalty, max_tokens,
 * stop (a list of texts), seed, n, logprobs, top_logprobs, logit_bias,
 * reasoning_effort, thinking_budget ...  Values are as they were sent: who
 * uses one checks it.
 *
 * `format` is the form that the reply must have: {"type":"json_object"}, or
 * {"type":"json_schema","schema":S} with "name" and "strict" where they are
 * given; any other type is kept as it is.
 */
typedef struct cf_wire_request {
    json_t *messages;  /* array */
    json_t *tools;     /* array of {"type":"function","function"} */
    json_t *prompts;   /* array of texts and lists of tokens, where the request is
                          prompts and not a conversation; of these `messages` has
                          the first text */
    json_t *variables; /* template variables; object */
    json_t *settings;  /* object */
    json_t *format;    /* object */
    json_t *unknown;   /* array: paths that nothing here reads, "options.numa" */
    json_t *body;      /* as it was sent */
    char model[128];
    char previous[128];  /* response that this one continues; "" */
    char tool_name[128]; /* with CF_WIRE_TOOLS_NAMED */
    cf_wire_tool_choice tool_choice;
    bool has_one_call; /* at most one call a reply is wanted */
    bool is_stream;
    bool has_usage; /* a stream is to end with its usage */
} cf_wire_request;

/* Reads a body.  CF_EFORMAT for what is not a request of this interface,
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_wire_request_read(cf_wire_request *out, cf_api api, cf_str body,
                                           cf_error *err);
/* Where a body has, or would have, a setting: "max_completion_tokens",
 * "options.num_predict"; the setting's own name where the interface does not
 * have it. */
const char *cf_wire_place(const cf_wire_request *r, cf_api api, const char *setting);
/* Adds what an interface says in the path: Gemini's model, and whether it
 * streams. */
void cf_wire_request_path(cf_wire_request *r, cf_api api, cf_str path);

/* The body that says this; a new reference.  Calls and results without ids
 * get them, by their order.  CF_EUNSUPPORTED for an interface whose requests
 * hold no conversation, CF_ENOMEM. */
CF_MUST_USE cf_status cf_wire_request_write(json_t **out, cf_api api, const cf_wire_request *r,
                                            cf_error *err);
void cf_wire_request_deinit(cf_wire_request *r);

/* ---- replies ------------------------------------------------------------ */

/* Tokens that a reply cost, as the server says; -1: it does not. */
typedef struct cf_wire_usage {
    int64_t n_prompt;   /* all of it, from a cache or not */
    int64_t n_cached;   /* of these read from a cache */
    int64_t n_reply;    /* thinking included */
    int64_t n_written;  /* of n_prompt written to a cache */
    int64_t n_thinking; /* of n_reply */
    int64_t prompt_us, reply_us;
} cf_wire_usage;

cf_wire_usage cf_wire_usage_none(void);

/* Why a reply ended.  Every interface has a word for each, some the same for
 * two. */
typedef enum cf_wire_stop {
    CF_WIRE_STOP_NONE, /* it has not ended */
    CF_WIRE_STOP_END,
    CF_WIRE_STOP_STRING, /* one of the request's */
    CF_WIRE_STOP_LENGTH,
    CF_WIRE_STOP_CALLS,
    CF_WIRE_STOP_FILTER, /* withheld or refused */
    CF_WIRE_STOP_OTHER   /* a word that is not known here */
} cf_wire_stop;

enum { CF_WIRE_CHOICES_MAX = 16, CF_WIRE_CALLS_MAX = 256 };

typedef struct cf_wire_call {
    cf_buf id, name, arguments;
    int64_t index; /* as the stream numbers it */
} cf_wire_call;

typedef struct cf_wire_choice {
    cf_buf content, thinking, refusal;
    cf_buf signature;    /* of the thinking */
    cf_wire_call *calls; /* [n_calls] in the order of their beginnings */
    size_t n_calls, cap_calls;
    char end[32]; /* the interface's own word: "stop", "end_turn" ...; "" */
    cf_wire_stop stop;
    bool has_any; /* a part of the reply came, not only its frame */
} cf_wire_choice;

/* A reply, or as much of it as has come: the sum of its events. */
typedef struct cf_wire_reply {
    cf_wire_choice choice[CF_WIRE_CHOICES_MAX];
    size_t n_choices; /* seen */
    cf_wire_usage usage;
    char model[128], id[128];
    bool failed; /* memory ran out: it is not whole */
} cf_wire_reply;

void cf_wire_reply_init(cf_wire_reply *r);
void cf_wire_reply_deinit(cf_wire_reply *r);

/* The reply of choice i as a message; a new reference, NULL without memory. */
json_t *cf_wire_reply_message(const cf_wire_reply *r, size_t i);

/* A token and how likely it was. */
typedef struct cf_wire_token {
    cf_str text;
    int32_t id;   /* -1: unknown */
    double log_p; /* NaN: there is none, of the first of a prompt */
} cf_wire_token;

typedef enum cf_wire_event_kind {
    CF_WIRE_BEGIN,     /* the reply begins; writers do not need it */
    CF_WIRE_TEXT,      /* `text` follows the content */
    CF_WIRE_THINKING,  /* the thinking */
    CF_WIRE_SIGNATURE, /* the thinking's signature */
    CF_WIRE_REFUSAL,   /* what is said in place of content */
    CF_WIRE_CALL,      /* `text` follows the arguments of `call`; `id` and `name`
                          where they are given, usually the first time */
    CF_WIRE_TOKEN,     /* `token`, and `top` that could have been drawn; before
                          the text that it belongs to */
    CF_WIRE_RESTART,   /* what the choice said so far is replaced by what comes */
    CF_WIRE_END        /* `stop`, and the interface's own word in `text` */
} cf_wire_event_kind;

typedef struct cf_wire_event {
    cf_wire_event_kind kind;
    size_t choice;
    size_t call; /* counted from 0 */
    cf_str text, id, name;
    cf_wire_stop stop;
    cf_wire_token token;
    const cf_wire_token *top; /* [n_top] */
    size_t n_top;
} cf_wire_event;

/* Adds an event to what came before; a failure is the reply's. */
void cf_wire_reply_add(cf_wire_reply *r, const cf_wire_event *e);

/* ---- reading answers ---------------------------------------------------- */

typedef enum cf_wire_form {
    CF_WIRE_UNKNOWN, /* nothing but blanks so far */
    CF_WIRE_WHOLE,   /* one JSON value */
    CF_WIRE_EVENTS,  /* server-sent events */
    CF_WIRE_LINES    /* a JSON value a line */
} cf_wire_form;

/* Reads an answer as it arrives. */
typedef struct cf_wire_reader {
    cf_api api;
    cf_wire_form form;
    cf_sse sse;
    cf_buf text; /* of a whole value, or of the line that has not ended */
    cf_wire_reply reply;
    char error[CF_ERROR_TEXT_MAX]; /* that the server reports; "": none */
    int64_t error_code;            /* of it, as HTTP's status; 0: none */
    size_t n_values, n_pieces;     /* JSON objects; of these with a choice */
    bool is_ended;                 /* the format's own end came */
    bool has_too_many;             /* calls or choices: some are left out */
    /* Called with each event before it is added, and with each JSON object
     * before its events, for fields that only one server has; a status other
     * than CF_OK stops.  Either may be NULL. */
    cf_status (*on_event)(void *ud, const cf_wire_event *e, cf_error *err);
    cf_status (*on_value)(void *ud, const json_t *value, cf_error *err);
    void *ud;
    cf_status st; /* of these */
    cf_error *err;
} cf_wire_reader;

void cf_wire_reader_init(cf_wire_reader *r, cf_api api);
void cf_wire_reader_deinit(cf_wire_reader *r);

/* CF_EFORMAT for bytes that break the format, CF_ELIMIT for more than 64 MiB
 * of one value, CF_ENOMEM, or what on_event and on_value returned; what was
 * read before stays. */
CF_MUST_USE cf_status cf_wire_reader_feed(cf_wire_reader *r, cf_str bytes, cf_error *err);
/* The same for the data of one event, by a caller that cuts the stream. */
CF_MUST_USE cf_status cf_wire_reader_data(cf_wire_reader *r, cf_str data, cf_error *err);
/* No more bytes.  Errors as above. */
CF_MUST_USE cf_status cf_wire_reader_finish(cf_wire_reader *r, cf_error *err);

/* Whether a part of the reply has come, not only its frame. */
bool cf_wire_reader_has_begun(const cf_wire_reader *r);

/* ---- writing answers ---------------------------------------------------- */

typedef struct cf_wire_writer_options {
    cf_api api;
    bool is_stream, has_usage; /* as the request asks */
    bool has_logprobs;
    const char *id;    /* a part of every id in the answer; borrowed */
    const char *model; /* borrowed */
    int64_t created;   /* seconds */
    size_t n_choices;  /* 0: one */
} cf_wire_writer_options;

/* A text or a call of a choice; models also write text after a call. */
typedef struct cf_wire_part {
    cf_wire_event_kind kind;       /* CF_WIRE_TEXT, _THINKING, _REFUSAL or _CALL */
    size_t call;                   /* with CF_WIRE_CALL */
    size_t from, to;               /* bytes of the choice's text of this kind */
    size_t signed_from, signed_to; /* bytes of its signature, with CF_WIRE_THINKING */
    bool has_begun;                /* the stream has its first event */
} cf_wire_part;

/* The state of writing one choice. */
typedef struct cf_wire_writing {
    cf_buf tokens[4];    /* JSON items that wait for the next piece */
    size_t n_bytes;      /* of its texts */
    cf_wire_part *parts; /* [n_parts] in the order in which they began */
    size_t n_parts, cap_parts;
    size_t part;   /* of the event that is being written */
    int open;      /* part whose end the stream does not have yet; -1 */
    size_t n_sent; /* frames of the stream */
    bool has_begun;
} cf_wire_writing;

/* Writes an answer from its events: a stream as they come, a whole answer at
 * the end.  Interfaces of one choice write the first. */
typedef struct cf_wire_writer {
    cf_wire_writer_options o;
    cf_wire_reply reply;
    cf_wire_writing at[CF_WIRE_CHOICES_MAX];
} cf_wire_writer;

void cf_wire_writer_init(cf_wire_writer *w, const cf_wire_writer_options *options);
void cf_wire_writer_deinit(cf_wire_writer *w);

/* Appends what the event adds to a stream; a failure is the buffer's. */
void cf_wire_write(cf_wire_writer *w, const cf_wire_event *e, cf_buf *out);
/* Appends the rest of a stream, or the whole answer. */
void cf_wire_write_finish(cf_wire_writer *w, const cf_wire_usage *usage, cf_buf *out);
/* Why a request is not answered. */
typedef struct cf_wire_failure {
    unsigned status;     /* of HTTP; Anthropic's clients are given its word */
    const char *type;    /* "invalid_request_error" ... */
    const char *code;    /* "context_length_exceeded" ...; NULL: none */
    const char *param;   /* the field that is wrong; NULL: none */
    const char *message; /* for the user */
} cf_wire_failure;

/* Appends a failure: to a stream that has begun, or as the body of an answer
 * that is an error.  OpenAI's form where the interface has none of its own. */
void cf_wire_write_error(cf_api api, bool is_stream, const cf_wire_failure *failure, cf_buf *out);

#endif
