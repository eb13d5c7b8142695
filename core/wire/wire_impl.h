/*
 * wire_impl.h - the row of an interface, and what the rows share.
 *
 * Threads:  no state.
 * Memory:   each function says whose its result is.
 */
#ifndef CF_CORE_WIRE_WIRE_IMPL_H
#define CF_CORE_WIRE_WIRE_IMPL_H

#include "core/json/json_builder.h"
#include "core/json/json_writer.h"
#include "core/wire/wire.h"

/* A setting and its place in a body, with dots between names
 * ("options.num_ctx"); NULL: it has the same name there.  The first row of a
 * setting is the one that is written. */
typedef struct cf_wire__setting {
    const char *name, *place;
} cf_wire__setting;

/* The interface's word for an end.  The first row of an end is written. */
typedef struct cf_wire__end {
    const char *word;
    cf_wire_stop stop;
} cf_wire__end;

typedef struct cf_wire__row {
    const char *name;
    const char *suffix;  /* of its paths */
    const char *suffix2; /* another one; NULL: none */
    bool is_get;
    bool is_lines;  /* an answer is a JSON value a line */
    bool is_stream; /* unless the request says otherwise */
    /* NULL where its requests hold no conversation.  The builder has nothing
     * open; its failure is the request's. */
    cf_status (*read_request)(cf_wire_request *r, const json_t *body, cf_jb *b, cf_error *err);
    /* Adds members to the body, which is open. */
    void (*write_request)(const cf_wire_request *r, const json_t *messages, cf_jb *body);
    const cf_wire__setting *settings; /* ended by a row of NULLs */
    const char *const *members;       /* that are read apart from settings; ended by NULL */
    const char *const *message_members;
    const char *message_list; /* member with the messages; NULL: not looked at */
    /* Takes one value of a stream, or the whole answer. */
    void (*read_value)(cf_wire_reader *r, const json_t *v);
    const cf_wire__end *ends; /* ended by NULL */
    /* NULL where no answers are written. */
    void (*write_event)(cf_wire_writer *w, const cf_wire_event *e, cf_buf *out);
    void (*write_rest)(cf_wire_writer *w, cf_buf *out); /* of a stream */
    void (*write_whole)(cf_wire_writer *w, cf_buf *out);
    const char *error_event; /* name and type of a failure; NULL: it has none */
    /* Its word for a failure; NULL: the failure's own type. */
    const char *(*error_type)(unsigned status);
} cf_wire__row;

extern const cf_wire__row cf_wire__openai_chat, cf_wire__openai_completions,
    cf_wire__openai_responses, cf_wire__openai_embeddings, cf_wire__openai_models,
    cf_wire__anthropic_messages, cf_wire__ollama_chat, cf_wire__ollama_generate,
    cf_wire__gemini_generate;

/* ---- requests (wire_request.c, wire_message.c) -------------------------- */

const cf_wire__row *cf_wire__row_of(cf_api api);

/* Copies at most size - 1 bytes, cut at a character boundary. */
void cf_wire__copy(char *to, size_t size, cf_str from);

/* New messages and parts; `content` is taken, NULL: a failure. */
json_t *cf_wire__message(cf_str role, json_t *content);
json_t *cf_wire__text_part(cf_str text);
json_t *cf_wire__image_part(cf_str url);
json_t *cf_wire__data_part(cf_str mime, cf_str base64);

/* A call; `arguments` is a text, or a value to be written as one. */
json_t *cf_wire__call(cf_str id, cf_str name, const json_t *arguments);
/* Adds a call (taken) to a message's. */
void cf_wire__add_call(cf_jb *b, json_t *message, json_t *call);

/* A list of text parts as one string, any other list as it is.  Takes the
 * list and returns a new reference. */
json_t *cf_wire__plain(json_t *parts);

/* Sets the request's tools: {"type":"function","function":{...}} of each
 * function in a list of flat declarations, whose schema is under `schema`, or
 * of such objects.  Other kinds of tools are the server's own, and listed as
 * unknown. */
void cf_wire__tools(cf_wire_request *r, cf_jb *b, const json_t *list, const char *schema);

/* CF_EFORMAT unless each of the list of messages has a role. */
CF_MUST_USE cf_status cf_wire__check_messages(const json_t *list, cf_error *err);

/* What a message holds, in the form that is written. */
typedef struct cf_wire__image {
    cf_str url, mime, base64; /* one of url and base64 */
} cf_wire__image;
/* Whether a part is an image or a sound with bytes or an address. */
bool cf_wire__media(const json_t *part, cf_wire__image *out);
/* The text of a content: the string, or its text parts, joined; the buffer is
 * the caller's. */
void cf_wire__content_text(cf_buf *out, const json_t *content);
/* A call's arguments as a value: an object, else an empty one. */
json_t *cf_wire__arguments(const json_t *call);
cf_str cf_wire__call_name(const json_t *call);

/* ---- answers, read (wire_reply.c) --------------------------------------- */

/* Reports an event and adds it.  An empty text is not an event. */
void cf_wire__emit(cf_wire_reader *r, const cf_wire_event *e);
void cf_wire__emit_text(cf_wire_reader *r, size_t choice, cf_wire_event_kind kind, cf_str text);
void cf_wire__emit_end(cf_wire_reader *r, size_t choice, cf_str word);
/* More of the call that the stream numbers `index`; arguments are a text, or
 * a value to be written as one. */
void cf_wire__emit_call(cf_wire_reader *r, size_t choice, int64_t index, cf_str id, cf_str name,
                        const json_t *arguments);
/* Each of a list of calls as OpenAI and Ollama have them. */
void cf_wire__read_calls(cf_wire_reader *r, size_t choice, const json_t *calls);
/* Whether there is room for this choice, which counts as seen from now on. */
bool cf_wire__has_choice(cf_wire_reader *r, int64_t index);
void cf_wire__count(int64_t *to, const json_t *obj, const char *key);
/* An error object, or its text, wherever an interface puts it. */
void cf_wire__error(cf_wire_reader *r, const json_t *error);
void cf_wire__name(cf_wire_reader *r, cf_str id, cf_str model);

/* ---- answers, written (wire_writer.c) ----------------------------------- */

/* The interface's word for how a choice ended. */
const char *cf_wire__word(const cf_wire_writer *w, size_t choice);
/* What a part of the first choice says so far, and the signature of thinking. */
cf_str cf_wire__part_text(const cf_wire_writer *w, const cf_wire_part *p);
cf_str cf_wire__part_signature(const cf_wire_writer *w, const cf_wire_part *p);
/* The id of a call: the model's own, or one made of the answer's. */
void cf_wire__call_id(char out[80], const cf_wire_writer *w, size_t choice, size_t call,
                      cf_str given);
/* Begins and ends an event of a stream; `name` NULL: without one. */
void cf_wire__frame(cf_jw *j, const char *name, cf_buf *out);
void cf_wire__frame_end(cf_jw *j);
/* A count that is known, else 0. */
int64_t cf_wire__known(int64_t n);
/* A call's arguments as a JSON object; {} where they are none. */
void cf_wire__put_arguments(cf_jw *j, const char *key, const cf_buf *arguments);

#endif
