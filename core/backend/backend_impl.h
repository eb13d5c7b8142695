/*
 * backend_impl.h - what the kinds of backend share: the table of functions,
 * and the way from reply bytes to events and a message.
 */
#ifndef CF_CORE_BACKEND_BACKEND_IMPL_H
#define CF_CORE_BACKEND_BACKEND_IMPL_H

#include <string.h>

#include "core/api/backend.h"
#include "core/api/text_release.h"

/* One call of generate_stream on its way through a backend. */
typedef struct cf_chat__run {
    const cf_chat_request *request;
    cf_chat_event_fn fn; /* may be NULL */
    void *ud;
    cf_chat_response *out;
    uint64_t started_us;
} cf_chat__run;

typedef struct cf_backend__ops {
    cf_backend_info (*info)(const cf_backend *b);
    void (*free)(cf_backend *b);
    /* Everything but usage, timings and stop events, which the caller sends
     * from run->out.  A failure leaves run->out->stop.fault set. */
    cf_status (*stream)(cf_backend *b, cf_chat__run *run, cf_error *err);
    /* Several runs at once, runs[i] on b[i]; fills status[i] and err[i].
     * NULL: one after the other. */
    void (*stream_many)(cf_backend *const *b, cf_chat__run *runs, size_t n, cf_status *status,
                        cf_error *err);
    /* Whether two backends can stream together. */
    bool (*is_of_one_engine)(const cf_backend *a, const cf_backend *b);
    /* The rest may be NULL: CF_EUNSUPPORTED. */
    cf_status (*render)(cf_backend *b, const cf_chat_request *request, cf_arena *arena,
                        cf_prompt *out, cf_error *err);
    cf_status (*tokenise)(cf_backend *b, const cf_chat_request *request, cf_arena *arena,
                          cf_prompt *prompt, cf_token_list *out, cf_error *err);
    cf_status (*score)(cf_backend *b, cf_str context, cf_str text, cf_cancel *cancel,
                       cf_arena *arena, cf_score *out, cf_error *err);
    cf_status (*clone)(cf_backend **out, const cf_backend *b, cf_error *err);
    cf_status (*ask)(cf_backend *b, cf_cancel *cancel, cf_error *err);
    const cf_token *(*cache)(const cf_backend *b, size_t *n);
    size_t (*checkpoints)(const cf_backend *b, uint32_t *pos, size_t cap);
} cf_backend__ops;

/* The first member of every kind. */
struct cf_backend {
    const cf_backend__ops *ops;
    bool is_answering; /* until its last event */
};

void cf_chat__emit(const cf_chat__run *run, const cf_chat_event *event);
/* Notes a piece of the raw reply, as it came; the buffers tell of memory. */
void cf_chat__add_raw(const cf_chat__run *run, cf_str piece);
/* Sends it as an event. */
void cf_chat__tell_raw(const cf_chat__run *run, cf_str piece);
bool cf_chat__is_cancelled(const cf_chat__run *run);
/* err with CF_ECANCELLED. */
cf_status cf_chat__cancelled(cf_error *err);
/* Notes the fault and returns err's code. */
cf_status cf_chat__fault(cf_chat__run *run, cf_fault fault, cf_status st);

/* The variables of a render: extra_context, messages, tools,
 * add_generation_prompt, enable_thinking.  A new reference or NULL. */
json_t *cf_chat__context(const cf_chat_request *request);

/* Fills run->out->divergence: where the prompt ids[0..n_ids), of which `list`
 * has the places in `prompt`, leaves what the session has. */
void cf_chat__find_divergence(cf_chat__run *run, const cf_session *session, const cf_prompt *prompt,
                              const cf_token_list *list, const cf_token *ids, size_t n_ids);

/* Renders a request's context, as the request's options say. */
CF_MUST_USE cf_status cf_chat__render(const cf_prompt_renderer *renderer,
                                      const cf_chat_request *request, const json_t *context,
                                      cf_arena *arena, cf_prompt *out, cf_error *err);

/* The number of tokens up to the end of the last message.  The rest asks for
 * the reply, and later turns write it in another way. */
uint32_t cf_chat__end_of_messages(const cf_prompt *prompt, const cf_token_list *list);

/* Whether a text begins with the BOS token spelled out.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_chat__starts_with_bos(bool *yes, const cf_tokenizer *tok, cf_str text,
                                               cf_error *err);

/* ---- reply -------------------------------------------------------------- */

enum { CF_CHANNELS_MAX = 8 };

/*
 * Reply bytes into events: stop strings, character boundaries, channels, tool
 * calls, in this order.
 */
typedef struct cf_chat__reply {
    const cf_chat__run *run;
    cf_text_release release;
    cf_channel_split split;
    cf_buf in[CF_CHANNELS_MAX];   /* text of each channel that was sent */
    size_t late[CF_CHANNELS_MAX]; /* newlines that wait for more of it */
    cf_buf said;                  /* content that was sent */
    cf_buf blank;                 /* white space after it, waiting */
    size_t n_before;              /* bytes of it from before the last call */
    bool has_thought;             /* the first channel had any byte */
    bool has_called;              /* there was a call */
    bool has_text;                /* content since the last call or failed block */
    bool is_after_call;           /* no failed block since the last call */
    cf_tool_parser *parser;       /* NULL: nothing is parsed */
    const cf_tool_parse *parse;
    size_t n_calls; /* that are complete */
    /* Arguments of call part_index that were reported while it is written; more
     * are looked for when so many bytes have come. */
    cf_buf part;
    size_t part_index, n_fed, parts_at;
    bool has_part;
    bool is_quiet; /* feeding what was there before: no events */
    cf_status failed;
} cf_chat__reply;

CF_MUST_USE cf_status cf_chat__reply_init(cf_chat__reply *r, const cf_chat__run *run,
                                          cf_tool_family family, const cf_channel *channels,
                                          size_t n_channels, cf_error *err);
void cf_chat__reply_deinit(cf_chat__reply *r);
/* Whether it has all the calls that the options allow. */
bool cf_chat__reply_is_full(const cf_chat__reply *r);

/* The prompt may end inside a channel: then the reply starts there. */
void cf_chat__reply_after_prompt(cf_chat__reply *r, cf_str prompt);

/* True in *stopped: a stop string is complete. */
CF_MUST_USE cf_status cf_chat__reply_add(cf_chat__reply *r, cf_str bytes, bool *stopped,
                                         cf_error *err);
/* Thinking text that came apart from the content (a server's field). */
CF_MUST_USE cf_status cf_chat__reply_think(cf_chat__reply *r, cf_str text, cf_error *err);
bool cf_chat__reply_is_thinking(const cf_chat__reply *r);

enum { CF_CALL_ID_TEXT = 16 };

/* Gives a call without an id one in `made`, nine letters and digits: the number
 * of the call in the conversation, whose `messages` come before the reply.
 * `index`: of the call in the reply. */
void cf_chat__call_id(cf_tool_call *call, char made[CF_CALL_ID_TEXT], const json_t *messages,
                      size_t index);

/* Sends what was held back and fills the response's message, findings and
 * status.  `calls` (may be NULL) are more tool calls, as a JSON array. */
CF_MUST_USE cf_status cf_chat__reply_finish(cf_chat__reply *r, const json_t *calls, cf_error *err);

/* cf_backend_score() of the built-in engine. */
CF_MUST_USE cf_status cf_backend__score_on(const cf_session *session, cf_str context, cf_str text,
                                           cf_cancel *cancel, cf_arena *arena, cf_score *out,
                                           cf_error *err);

#endif
