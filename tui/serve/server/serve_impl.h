/*
 * serve_impl.h - a request on its way through the server: slots, what is
 * asked, and what is written.
 */
#ifndef CF_TUI_SERVE_SERVE_IMPL_H
#define CF_TUI_SERVE_SERVE_IMPL_H

#include <pthread.h>

#include "core/api/joint.h"
#include "core/json/json_writer.h"
#include "core/wire/wire.h"
#include "tui/serve/server/serve.h"

typedef struct cf_serve__slots cf_serve__slots;
typedef struct cf_serve__embedder cf_serve__embedder;
typedef struct cf_serve__past cf_serve__past;

struct cf_serve {
    cf_serve_options o;
    const cf_opened *opened;
    const cf_tokenizer *tok;
    cf_core_options chat, raw; /* what a slot is set to */
    cf_constraint_vocab *vocab;
    cf_serve__slots *slots;
    cf_serve__embedder *embedder;
    cf_serve__past *past;
    int64_t created; /* seconds */
};

/* ---- slots (serve_slots.c) ---------------------------------------------- */

/* How far a slot's request is; written by the threads of its replies. */
typedef struct cf_serve__progress {
    atomic_uint n_prompt, n_prefilled; /* tokens */
    atomic_uint n_decoded;             /* of all its replies */
    atomic_ullong first_us, last_us;   /* when the first and last came */
    atomic_bool has_draft;             /* guesses are checked along with its tokens */
} cf_serve__progress;

typedef struct cf_serve__slot {
    cf_backend *backend;
    bool is_busy;
    uint64_t used; /* the higher, the later */
    uint64_t n_requests;
    size_t n_cached; /* tokens that it has kept since it was free last */
    /* The request that it has, or had last. */
    cf_uuid exchange;  /* nil: not recorded */
    uint32_t n, n_max; /* replies; tokens of each, 0: no limit */
    cf_serve__progress now;
} cf_serve__slot;

CF_MUST_USE cf_status cf_serve__slots_new(cf_serve__slots **out, cf_engine *engine,
                                          const cf_core_options *core, uint32_t n, cf_error *err);
/* Has backends with these options compute in common passes. */
void cf_serve__slots_hook(const cf_serve__slots *s, cf_core_options *core);
void cf_serve__slots_free(cf_serve__slots *s);
/* What a slot is taken for. */
typedef struct cf_serve__task {
    cf_uuid exchange;
    uint32_t n, n_max; /* as in cf_serve__slot */
} cf_serve__task;

/* The slot for a prompt, from now on the caller's; waits for one. */
cf_serve__slot *cf_serve__take(cf_serve__slots *s, const cf_token *ids, size_t n,
                               const cf_serve__task *task);
void cf_serve__give(cf_serve__slots *s, cf_serve__slot *slot);
/* A backend that goes on from a slot's cache beside it.  It counts among those
 * that compute in common passes until cf_serve__rest(). */
CF_MUST_USE cf_status cf_serve__fork(cf_serve__slots *s, const cf_serve__slot *slot,
                                     cf_backend **out, cf_error *err);
void cf_serve__fork_free(cf_serve__slots *s, cf_backend *fork);
/* A session of its own with a slot's adapters and nothing cached, and a pass
 * over it with those of the slots. */
CF_MUST_USE cf_status cf_serve__session(cf_serve__slots *s, const cf_serve__slot *slot,
                                        cf_session **out, cf_error *err);
void cf_serve__session_free(cf_serve__slots *s, cf_session *session);
CF_MUST_USE cf_status cf_serve__pass(cf_serve__slots *s, cf_advance *part, cf_cancel *cancel,
                                     cf_error *err);
/* A backend computes no more, or again. */
void cf_serve__rest(cf_serve__slots *s, bool rests);
/* Ends a reply's guesses for good where there are more than two replies: a pass of
 * many rows leaves little to gain.  On the reply's thread, between its tokens. */
void cf_serve__draft(cf_serve__slots *s, cf_serve__slot *slot, cf_backend *backend);
/* Notes how far a reply of the slot's request is. */
void cf_serve__note(cf_serve__slot *slot, const cf_chat_event *e);
/* Tokens of a slot's context, and how many slots there are. */
uint32_t cf_serve__slots_ctx(const cf_serve__slots *s);
uint32_t cf_serve__slots_n(const cf_serve__slots *s);
/* Writes the slots as llama-server does, and what else there is to say. */
void cf_serve__slots_write(cf_serve__slots *s, cf_jw *w);

/* ---- what is asked (serve_request.c) ------------------------------------ */

enum { CF_SERVE_STOPS_MAX = 16, CF_SERVE_N_MAX = 16, CF_SERVE_BIAS_MAX = 300 };

/* A prompt that is not a conversation. */
typedef struct cf_serve__given {
    json_t *messages;    /* its text as one message */
    const cf_token *ids; /* [n_ids] in place of a text */
    size_t n_ids;
} cf_serve__given;

typedef struct cf_serve__asked {
    cf_wire_request wire;
    cf_api api;
    size_t n_rules;  /* of the wire's messages: they hold for this request alone */
    cf_buf accepted; /* fields without effect: "metadata, user" */
    cf_arena arena;
    json_t *messages; /* roles as the template names them; without the reply's
                         beginning */
    cf_str prefix;    /* of the reply: the last message, which is to go on */
    cf_tool_set *tools;
    cf_grammar *grammar;
    cf_chat_options options; /* points into this */
    cf_str stops[CF_SERVE_STOPS_MAX];
    cf_logit_bias bias[CF_SERVE_BIAS_MAX];
    bool is_raw;                           /* prompts and not a conversation */
    cf_serve__given given[CF_SERVE_N_MAX]; /* [n_given] of these; else one, of
                                              `messages` */
    uint32_t n_given;
    bool has_echo;       /* the prompt comes before the reply */
    bool is_prompt_only; /* nothing is to be generated */
    bool has_logprobs, has_seed;
    uint32_t n; /* replies to a prompt */
} cf_serve__asked;

/* CF_EINVAL: the field is wrong in this way; "'FIELD' " comes before the text. */
CF_MUST_USE cf_status cf_serve__refuse(cf_error *err, const char *field, const char *fmt, ...)
    CF_PRINTF(3, 4);
/* The fields that nothing reads (serve_fields.c): notes those without effect,
 * and refuses the others. */
CF_MUST_USE cf_status cf_serve__check_fields(cf_serve__asked *a, cf_error *err);

/* Reads a body.  CF_EINVAL, CF_EFORMAT and CF_ENOTFOUND for what cannot be done,
 * naming it, also in *out, which the caller frees in any case. */
CF_MUST_USE cf_status cf_serve__read(cf_serve__asked *out, const cf_serve *s, cf_str body,
                                     cf_api api, cf_error *err);
void cf_serve__asked_deinit(cf_serve__asked *a);

/* ---- embeddings (serve_embed.c) ----------------------------------------- */

CF_MUST_USE cf_status cf_serve__embedder_new(cf_serve__embedder **out, cf_engine *engine,
                                             uint32_t n_ctx, cf_error *err);
void cf_serve__embedder_free(cf_serve__embedder *e);

/* Whose request and answer it is. */
typedef enum cf_serve__embed_form {
    CF_SERVE_EMBED_OPENAI,
    CF_SERVE_EMBED_OLLAMA, /* a list of lists */
    CF_SERVE_RERANK        /* documents by their scores for a query */
} cf_serve__embed_form;

/* Appends the answer to a request for vectors.  One request at a time is
 * computed, others wait.  CF_EINVAL and CF_EFORMAT for a request that cannot
 * be done, CF_ELIMIT for a text that is too long, CF_EUNSUPPORTED for a model
 * without embeddings, saying why. */
CF_MUST_USE cf_status cf_serve__embed(cf_serve__embedder *e, cf_str body, cf_serve__embed_form form,
                                      const char *model, cf_cancel *cancel, cf_buf *out,
                                      cf_error *err);

/* ---- responses that others go on from (serve_past.c) --------------------- */

CF_MUST_USE cf_status cf_serve__past_new(cf_serve__past **out, cf_error *err);
void cf_serve__past_free(cf_serve__past *p);
/* Keeps the messages of a response under its id, and forgets the oldest ones
 * beyond a bound of their number and bytes.  Without memory it is not kept. */
void cf_serve__past_put(cf_serve__past *p, const char *id, const json_t *messages);
/* The messages of a response; a new reference.  CF_ENOTFOUND, CF_ENOMEM. */
CF_MUST_USE cf_status cf_serve__past_get(cf_serve__past *p, const char *id, json_t **out,
                                         cf_error *err);

/* ---- prompts (serve_prompt.c) ------------------------------------------- */

/* Writes the one message of a request as it is: a prompt that is not a
 * conversation. */
extern const cf_prompt_renderer cf_serve__renderer_raw;
/* One prompt of a request and its tokens, the reply's beginning included; in
 * the arena.  Pictures and sounds are what their parts say.  Tokens that were
 * given have no text. */
CF_MUST_USE cf_status cf_serve__prompt(const cf_serve *s, const cf_serve__asked *a,
                                       const cf_serve__given *given, cf_arena *arena,
                                       cf_prompt *prompt, cf_token_list *tokens, cf_error *err);

/* ---- prompts that are repeated (serve_echo.c) --------------------------- */

typedef struct cf_serve__echo cf_serve__echo;

/* Computes how likely each token of a prompt is, in common passes with the
 * slots, where log-likelihoods are wanted; in the arena. */
CF_MUST_USE cf_status cf_serve__echo_new(cf_serve__echo **out, const cf_serve *s,
                                         const cf_serve__slot *slot, const cf_prompt *prompt,
                                         const cf_token_list *tokens, size_t n_top,
                                         cf_cancel *cancel, cf_arena *arena, cf_error *err);
/* Writes the prompt as the beginning of choice i. */
void cf_serve__echo_write(const cf_serve__echo *e, cf_wire_writer *w, uint32_t i, cf_buf *out);

/* ---- clients that leave (serve_client.c) -------------------------------- */

typedef struct cf_serve__client {
    int fd; /* < 0: unknown */
    bool takes_interim;
    const atomic_bool *stopping; /* the server ends; may be NULL */
    cf_cancel *cancel;
    pthread_mutex_t
        *lock_answer; /* guards *has_answer and *stream; NULL: the answer has not begun */
    const bool *has_answer;
    cf_buf *stream; /* what is sent of the answer when `changed` is signalled */
    pthread_cond_t *changed;
    const char *ignored; /* text that a client ignores between two events */
    /* Its own. */
    bool is_probed;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool is_over; /* guarded */
    pthread_t thread;
    bool has_thread;
} cf_serve__client;

/* Sets *c->cancel once the client has left or the server ends, until unwatch(). */
void cf_serve__watch(cf_serve__client *c);
void cf_serve__unwatch(cf_serve__client *c);

/* ---- answers (serve_answer.c) ------------------------------------------- */

/* Sets the headers of an answer; the id among them is also the history's. */
void cf_serve__answer_head(const cf_http_request *r, cf_http_answer *a, cf_record *record,
                           const char *type);
void cf_serve__answer_error(const cf_http_request *r, cf_http_answer *a, cf_record *record,
                            const cf_wire_failure *failure);
/* The same for a status of our own: CF_EINVAL and CF_EFORMAT are the client's,
 * CF_ELIMIT is a text that is too long.  A text that begins with a name in quotes
 * is about that field. */
void cf_serve__answer_failure(const cf_http_request *r, cf_http_answer *a, cf_record *record,
                              cf_status st, const cf_error *err);
/* 200 and the text, or 500 where it is not whole. */
void cf_serve__answer_text(const cf_http_request *r, cf_http_answer *a, cf_record *record,
                           const cf_buf *text);
/* 200 and what `write` writes. */
typedef void cf_serve__writer(cf_serve *s, cf_jw *w);
void cf_serve__answer_with(cf_serve *s, const cf_http_request *r, cf_http_answer *a,
                           cf_serve__writer *write);

/* ---- paths -------------------------------------------------------------- */

typedef void cf_serve__path(cf_serve *s, const cf_http_request *r, cf_http_answer *a);

/* Replies (serve_job.c). */
void cf_serve__complete(cf_serve *s, const cf_http_request *r, cf_http_answer *a, cf_api api);
enum { CF_SERVE_TIME_MAX = 40 };
/* "2026-11-24T18:57:31Z" */
void cf_serve__time(char out[CF_SERVE_TIME_MAX], int64_t seconds);
/* Whether the model reads pictures, or sounds. */
bool cf_serve__reads(const cf_serve *s, bool is_sound);
/* A token of the vocabulary; CF_EINVAL, naming the field that it stands in. */
CF_MUST_USE cf_status cf_serve__token(cf_token *out, const json_t *v, const cf_tokenizer *tok,
                                      const char *field, cf_error *err);
/* The model and the server, tokens of texts and requests (serve_paths.c). */
cf_serve__path cf_serve__model, cf_serve__tokenize, cf_serve__detokenize, cf_serve__apply_template,
    cf_serve__count_tokens;
cf_serve__writer cf_serve__write_models, cf_serve__write_slots, cf_serve__write_health,
    cf_serve__write_props;
/* Ollama's lists (serve_ollama.c). */
cf_serve__writer cf_serve__write_tags, cf_serve__write_ps, cf_serve__write_show,
    cf_serve__write_version;

/* ---- what is written (serve_write.c) ------------------------------------ */

/* Writes an event of a reply while it is generated. */
void cf_serve__write_event(cf_wire_writer *w, uint32_t i, const cf_tokenizer *tok,
                           const cf_chat_event *e, cf_buf *out);
/* Writes how a reply ended. */
void cf_serve__write_end(cf_wire_writer *w, uint32_t i, const cf_chat_response *reply, cf_buf *out);
/* Writes a token and those that could have stood there. */
void cf_serve__write_token(cf_wire_writer *w, uint32_t i, const cf_wire_token *token,
                           const cf_candidate *top, size_t n_top, const cf_tokenizer *tok,
                           cf_buf *out);

#endif
