/*
 * backend.h - one interface over everything that can answer a conversation:
 * the built-in core, an OpenAI-compatible server, and a scripted engine.
 *
 * Place in the flow:  conversation --> [backend] --> typed events, response.
 * Knows: messages, tools, options, tokens, how a reply ends.  Does not know:
 * the tree of turns, the store, the screen.
 *
 * A request holds messages; the backend renders, tokenises and decodes them,
 * or sends them to a server.  Anything that an engine cannot show is marked in
 * its cf_backend_info and left empty in the response, never made up.
 *
 * Events:   every generate_stream call that returns CF_OK, or an error after
 *           its options were checked, reports exactly one CF_CHAT_STOP, and
 *           it is the last event.  Text is cut at character boundaries.
 * Threads:  a backend belongs to one thread at a time; events arrive on the
 *           thread that called; request->cancel may be set by any thread.
 * Memory:   requests and options are borrowed for the call; everything in an
 *           event is borrowed until the callback returns; a response owns its
 *           fields until cf_chat_response_deinit().
 */
#ifndef CF_CORE_API_BACKEND_H
#define CF_CORE_API_BACKEND_H

#include "core/api/batch.h"
#include "core/api/channel.h"
#include "core/api/constraint.h"
#include "core/api/media.h"
#include "core/api/renderer.h"
#include "core/api/sampling.h"
#include "core/api/session.h"
#include "core/api/tool.h"
#include "core/base/decls.h"

CF_BEGIN_DECLS

/* ---- options ------------------------------------------------------------ */

typedef enum cf_thinking {
    CF_THINKING_DEFAULT, /* the default of the template */
    CF_THINKING_ON,
    CF_THINKING_OFF
} cf_thinking;

typedef struct cf_chat_options {
    cf_sampling sampling;
    bool has_sampling; /* false: the engine's own defaults */
    /* Which of `sampling` the user set, a bit for each cf_option_id: a server
     * is sent these and no others.  Without has_asked everything that is not
     * off counts. */
    bool has_asked;
    uint32_t asked;
    bool sends_thinking;   /* to a server: earlier turns with their thinking */
    bool as_is;            /* messages and tools reach the template as they are; see
                   cf_prompt_renderer */
    uint32_t max_tokens;   /* of the reply, thinking included; 0: no limit */
    uint32_t max_calls;    /* the reply ends after so many, and has no more; 0: no
                            limit.  Built-in core only */
    bool sends_call_parts; /* arguments are reported while they are written */
    bool stops_on_loop;    /* end a reply that repeats itself, thinks on and on,
                            or writes JSON without an end; else only a note
                            says so */
    const cf_str *stop;    /* [n_stop], none empty */
    size_t n_stop;
    const cf_token *stop_ids; /* [n_stop_ids] tokens that end the reply and are
                                 not part of it; built-in core only */
    size_t n_stop_ids;
    cf_thinking thinking;
    int32_t thinking_budget; /* tokens; < 0 or with thinking off: no budget */
    bool has_thinking_budget;
    uint32_t n_top; /* candidates reported with each token; at most 64 */
    /* Constrains the reply, except its thinking; built-in core only.  Both or
     * neither, borrowed.  Forced text is not sampled and takes a single pass;
     * the reply ends where nothing may follow. */
    const cf_grammar *grammar;
    const cf_constraint_vocab *vocab;
    const json_t *vendor; /* an object merged over a server's request */
    /* The same as a spec of constraint_spec.h, for servers: sent in the form
     * that the server takes.  Not for the built-in core. */
    const json_t *constraint;
} cf_chat_options;

/*
 * CF_EINVAL naming the first option that is out of range: "temperature must
 * be between 0 and 2", "top_p must be between 0 and 1" ... NaN is outside
 * every range.
 */
CF_MUST_USE cf_status cf_chat_options_check(const cf_chat_options *options, cf_error *err);

/* ---- events ------------------------------------------------------------- */

typedef enum cf_chat_event_kind {
    CF_CHAT_PROMPT,      /* text: the prompt; ids: its tokens and those of
                            the reply's prefix; built-in core only */
    CF_CHAT_ENCODE,      /* n_done of n_total layers for picture or sound
                            `index` of the prompt; text: "image" or "audio" */
    CF_CHAT_PREFILL,     /* n_done of n_total prompt tokens */
    CF_CHAT_TOKEN,       /* a token, if the engine shows tokens */
    CF_CHAT_RAW,         /* text: bytes of the reply as they came, before
                            anything is taken out of them */
    CF_CHAT_TEXT,        /* text: a piece of content */
    CF_CHAT_THINKING,    /* text: a piece of thinking, or of another channel */
    CF_CHAT_CALL_DELTA,  /* text: raw bytes of a call that is being written */
    CF_CHAT_CALL_PART,   /* text: more of the arguments that call `index` will
                            have, with `call` for its name and id; only with
                            sends_call_parts, built-in core only */
    CF_CHAT_CALL,        /* a complete call */
    CF_CHAT_CALL_FAILED, /* text: the raw block; stop.err says why */
    CF_CHAT_NOTE,        /* text: one line for the user, about the request */
    CF_CHAT_USAGE,
    CF_CHAT_TIMINGS,
    CF_CHAT_STOP /* the end, once */
} cf_chat_event_kind;

/* "prompt", "prefill", "token", "text" ... */
const char *cf_chat_event_name(cf_chat_event_kind kind);

typedef enum cf_stop_reason {
    CF_STOP_NONE,
    CF_STOP_END,       /* the model ended its turn; what: the token */
    CF_STOP_STRING,    /* what: the stop string */
    CF_STOP_TOKEN,     /* a token of stop_ids; what: its text */
    CF_STOP_LENGTH,    /* max_tokens */
    CF_STOP_CONTEXT,   /* the context is full */
    CF_STOP_LOOP,      /* it would hardly have ended; a note said why */
    CF_STOP_FILTERED,  /* a server's content filter; what: its name for it */
    CF_STOP_PENDING,   /* nothing was to be generated */
    CF_STOP_CANCELLED, /* request->cancel was set */
    CF_STOP_ERROR      /* fault and err say which */
} cf_stop_reason;

/* "end", "stop string", "length" ... */
const char *cf_stop_reason_name(cf_stop_reason reason);

/* Kinds of failure that a program may act on. */
typedef enum cf_fault {
    CF_FAULT_NONE,
    CF_FAULT_RATE_LIMIT,      /* 429 */
    CF_FAULT_AUTHENTICATION,  /* 401, 403 */
    CF_FAULT_MODEL_NOT_FOUND, /* 404 */
    CF_FAULT_NETWORK,         /* no connection, time-out, cut off */
    CF_FAULT_PROTOCOL,        /* an answer that cannot be understood */
    CF_FAULT_OPTION,          /* an option the engine refuses */
    CF_FAULT_TEMPLATE,        /* the prompt could not be rendered */
    CF_FAULT_CONTEXT,         /* the prompt is longer than the context */
    CF_FAULT_OTHER
} cf_fault;

/* "rate_limit", "authentication" ... */
const char *cf_fault_name(cf_fault fault);
bool cf_fault_parse(cf_fault *out, cf_str name);

typedef struct cf_usage {
    uint64_t n_prompt, n_reply, n_total; /* tokens */
    uint64_t n_cached;                   /* of the prompt, not computed */
    bool is_known;                       /* false: the engine did not say */
} cf_usage;

typedef struct cf_timings {
    uint64_t render_us, tokenise_us, prefill_us;
    uint64_t first_us; /* from the call to the first token */
    uint64_t decode_us, total_us;
    uint32_t n_prefill, n_decode; /* tokens computed */
    uint32_t n_passes;            /* over the weights while decoding */
    uint32_t n_drafted;           /* tokens that were guessed */
    uint32_t n_accepted;          /* of them, that were right */
    uint32_t n_retries;           /* requests sent again */
    const char *engine;           /* as in cf_engine_info; NULL: not a local model */
} cf_timings;

typedef struct cf_stop {
    cf_stop_reason reason;
    char what[64];  /* token or string, made printable and cut */
    cf_token token; /* CF_TOKEN_NONE unless a token did it */
    cf_fault fault; /* with CF_STOP_ERROR */
    cf_error err;   /* likewise */
} cf_stop;

/* A candidate as text, for engines that show no ids. */
typedef struct cf_text_candidate {
    cf_str text;
    float p;
} cf_text_candidate;

typedef struct cf_chat_token {
    cf_token id; /* CF_TOKEN_NONE where the engine shows no ids */
    float p;     /* < 0: unknown */
    bool is_forced;
    bool is_drafted;     /* guessed, and computed with an earlier token */
    bool is_held;        /* sampled under the grammar, or forced by it */
    uint32_t n_allowed;  /* by a grammar; 0: no grammar */
    size_t raw_off;      /* where its bytes start in the raw reply */
    const cf_draw *draw; /* NULL: not known */
    const cf_text_candidate *top;
    size_t n_top;
} cf_chat_token;

/*
 * The texts of TEXT and CALL_FAILED together are the content of the message,
 * those of THINKING its thinking, and a channel's its text: white space that
 * belongs to none of them (around calls, around thinking) is only in RAW.
 */
typedef struct cf_chat_event {
    cf_chat_event_kind kind;
    cf_str text;              /* borrowed, like everything here */
    cf_str channel;           /* THINKING: the channel's name, "thinking" ... */
    size_t index;             /* of the call */
    const cf_tool_call *call; /* CALL */
    cf_chat_token token;      /* TOKEN */
    uint64_t n_done, n_total; /* PREFILL */
    const cf_token *ids;      /* [n_ids] PROMPT */
    const json_t *media;      /* PROMPT: as in the response; NULL: none */
    size_t n_ids, n_prompt;   /* n_prompt of them are the prompt's */
    size_t n_content;         /* PROMPT: bytes at the end of the reply's
                                 prefix that are not thinking */
    cf_usage usage;
    cf_timings timings;
    cf_stop stop; /* STOP */
} cf_chat_event;

/* Of CF_CHAT_ENCODE: "image 1, layer 3 of 27", cut at `cap`. */
void cf_chat_encode_text(char *out, size_t cap, const cf_chat_event *event);

typedef void (*cf_chat_event_fn)(const cf_chat_event *event, void *ud);

/* ---- requests and responses --------------------------------------------- */

typedef struct cf_chat_request {
    const json_t *messages;         /* array, roles already mapped */
    const cf_tool_set *tools;       /* NULL: none, and nothing is parsed */
    const json_t *extra_context;    /* object spread into the template's
                                       variables; may be NULL */
    const cf_chat_options *options; /* NULL: all defaults */

    bool is_pending; /* only prefill; no generation prompt */

    /* In place of a prompt that is rendered; built-in core only. */
    const cf_token *prompt_ids;
    size_t n_prompt_ids; /* 0: none */

    /* How the reply starts: as text ("continue this reply"), or as the exact
     * tokens it had before, of which the last may be another choice ("fork
     * here").  At most one of the two. */
    cf_str reply_prefix;
    const cf_token *reply_ids;
    size_t n_reply_ids;

    cf_cancel *cancel; /* may be NULL */
} cf_chat_request;

/* The first difference between a new prompt and the cache. */
typedef struct cf_divergence {
    bool has;
    size_t token;            /* first differing position */
    cf_token cached, wanted; /* CF_TOKEN_NONE past an end */
    uint32_t prompt_off;     /* byte of the prompt there */
    cf_span_source source;   /* the origin of that byte */
    uint32_t index, line, col;
    char path[64];
    char cause[240]; /* one line for the user, with the condition that decided */
} cf_divergence;

typedef struct cf_chat_response {
    json_t *message;       /* the reply as a message; NULL: no reply */
    cf_buf raw;            /* every byte received, including delimiters */
    cf_buf chunks;         /* uint32_t lengths of the chunks of raw; their
                         sum is raw.n */
    cf_buf prompt;         /* rendered bytes; empty where the engine hides them */
    json_t *findings;      /* array of {status, call, path, off, len, text}; offsets
                         in the content's raw bytes */
    cf_tool_status status; /* of the calls; VALID without any */
    cf_token *prompt_ids;  /* [n_prompt_ids] */
    size_t n_prompt_ids;
    cf_token *reply_ids; /* [n_reply_ids], forced ones included */
    size_t n_reply_ids;
    json_t *media; /* array of the blocks of rows among the prompt's tokens:
                      {kind, hash of the file, block, at, rows}; NULL: none */
    cf_sync_result sync;
    cf_divergence divergence;
    cf_usage usage;
    cf_timings timings;
    cf_stop stop;
    char sampler[160]; /* the options in effect, in words; "" if unknown */
    json_t *vendor;    /* other fields of a server; may be NULL */
} cf_chat_response;

void cf_chat_response_init(cf_chat_response *r);
void cf_chat_response_deinit(cf_chat_response *r);

/*
 * One response out of n: contents joined by newlines (empty ones too), calls
 * in order, usage summed over those that have one, vendor fields of later
 * ones over earlier.  n = 0 gives empty content.
 */
CF_MUST_USE cf_status cf_chat_response_merge(cf_chat_response *out,
                                             const cf_chat_response *const *in, size_t n,
                                             cf_error *err);

/* ---- backends ----------------------------------------------------------- */

typedef struct cf_backend cf_backend;

typedef struct cf_backend_info {
    const char *kind; /* "builtin", "openai", "script", "llama.cpp v0.5.0 (CPU)" */
    cf_str name;      /* model or address, without credentials; borrowed */
    bool shows_prompt, shows_tokens, shows_candidates, shows_cache;
    bool can_score, can_count;
    bool can_fork_token, can_continue, can_mask;
    bool can_constrain; /* by a spec, in a server's own form; see
                           cf_chat_options.constraint */
    bool takes_images;  /* passes images of messages to its model */
    const char *cannot; /* what it cannot show, in words; "" for nothing */
    /* Of a server, once cf_backend_ask() has asked it. */
    const char *server;  /* "confab", "llama-server", "vLLM", "Ollama", "LM Studio",
                            "TGI"; "" for another, or not asked */
    cf_str model;        /* name that requests give; borrowed */
    uint32_t n_ctx;      /* tokens of its context; 0: not known */
    bool asks_prompt;    /* rendering asks the server over the network */
    bool asks_tokens;    /* likewise for tokens */
    bool prompt_is_ours; /* rendered here, with a template that need not be
                            the server's */
} cf_backend_info;

/* Has a server say what it is, once; CF_OK for other kinds.  CF_EIO without a
 * connection, CF_ECANCELLED, CF_ENOMEM. */
CF_MUST_USE cf_status cf_backend_ask(cf_backend *backend, cf_cancel *cancel, cf_error *err);

cf_backend_info cf_backend_get_info(const cf_backend *backend);
void cf_backend_free(cf_backend *backend);

/*
 * Answers a request.  `fn` may be NULL.  `out` was made with
 * cf_chat_response_init and is filled in every case: after a cancel or a
 * failure it holds everything received so far.  Returns CF_OK also if the
 * length limit ended the reply; CF_ECANCELLED after a cancel; CF_EINVAL,
 * without any event, for bad options; else the failure, which out->stop
 * explains.
 * In every case the backend can be used again, but not by `fn`: CF_EINVAL.
 */
CF_MUST_USE cf_status cf_backend_generate_stream(cf_backend *backend,
                                                 const cf_chat_request *request,
                                                 cf_chat_event_fn fn, void *ud,
                                                 cf_chat_response *out, cf_error *err);

/* One of several replies that are made side by side. */
typedef struct cf_backend_job {
    cf_backend *backend; /* each job has its own, see cf_backend_clone() */
    const cf_chat_request *request;
    cf_chat_event_fn fn; /* may be NULL */
    void *ud;
    cf_chat_response *out;
    cf_status status; /* set: what cf_backend_generate_stream() would return */
    cf_error err;     /* set where status is not CF_OK */
} cf_backend_job;

/*
 * Answers several requests.  Built-in backends of one engine decode together,
 * one pass for a token of each, and a prompt that begins like an earlier job's
 * takes that part of the cache from it; each reply has the same tokens as
 * alone.  Other backends answer one after the other.  Events of the jobs
 * interleave, all of them on the calling thread.
 */
void cf_backend_generate_many(cf_backend_job *jobs, size_t n);

/* The same without events. */
CF_MUST_USE cf_status cf_backend_generate(cf_backend *backend, const cf_chat_request *request,
                                          cf_chat_response *out, cf_error *err);

/* The prompt of a request, sending nothing.  CF_EUNSUPPORTED where the engine
 * hides it. */
CF_MUST_USE cf_status cf_backend_render(cf_backend *backend, const cf_chat_request *request,
                                        cf_arena *arena, cf_prompt *out, cf_error *err);

/* Its tokens with their byte spans in the prompt, sending nothing. */
CF_MUST_USE cf_status cf_backend_tokenise(cf_backend *backend, const cf_chat_request *request,
                                          cf_arena *arena, cf_prompt *prompt, cf_token_list *out,
                                          cf_error *err);

/* Sets the special tokens that templates see where the context does not have
 * them: those that cf_tokenizer_variables() lists, else bos_token and
 * eos_token, empty where the vocabulary has none.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_prompt_add_special(json_t *context, const cf_tokenizer *tok,
                                            cf_error *err);

/*
 * The tokens of a rendered prompt and of the reply's prefix (`prefix`, may be
 * empty), as one text: a vocabulary may write the start of a text
 * differently.  Only what the template wrote, the spelling of special tokens, a
 * known role and the prefix may become control tokens; BOS is added unless the
 * prompt spells it.
 */
CF_MUST_USE cf_status cf_prompt_tokenise(cf_token_list *out, const cf_prompt *prompt, cf_str prefix,
                                         const cf_tokenizer *tok, cf_arena *arena, cf_error *err);

typedef struct cf_score {
    cf_token_span *v; /* [n] tokens of the text */
    float *log_p;     /* [n] natural logarithms */
    size_t n;
    double sum;
} cf_score;

/* Log-likelihood of `text` after `context`, both raw; on a timeline of its
 * own, so nothing else changes.  Results live in the arena. */
CF_MUST_USE cf_status cf_backend_score(cf_backend *backend, cf_str context, cf_str text,
                                       cf_cancel *cancel, cf_arena *arena, cf_score *out,
                                       cf_error *err);

/* How to continue after a server failed a request. */
typedef struct cf_backend_trouble {
    bool is_away;           /* no connection, or it broke off */
    bool is_busy;           /* 429 or 5xx: it may answer later */
    uint32_t retry_after_s; /* with is_busy; 0: the server did not say */
} cf_backend_trouble;

/* Of the last call of cf_backend_ask(), _render(), _tokenise() or _score()
 * that failed; all false after other failures, and for other kinds. */
cf_backend_trouble cf_backend_last_trouble(const cf_backend *backend);

/*
 * The slots of a server, as it lists them (llama-server's GET /slots): *out is
 * a new array of objects, each with what the server says of one.
 * CF_EUNSUPPORTED for one that shows none; CF_EIO, CF_ECANCELLED, CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_backend_slots(cf_backend *backend, cf_cancel *cancel, json_t **out,
                                       cf_error *err);

/* A second backend with the same past: shares engine and cache, and is used
 * on the same thread.  Servers and scripts copy their settings. */
CF_MUST_USE cf_status cf_backend_clone(cf_backend **out, const cf_backend *from, cf_error *err);

/* Tokens in the cache; NULL if the cache is not visible. */
const cf_token *cf_backend_cache(const cf_backend *backend, size_t *n);

/* Where the state of a recurrent model is kept, ascending from 0: a prompt that
 * leaves the cache is computed again from the last of them before that place.
 * Fills pos[0..cap) and returns how many there are; 0 where going back costs
 * nothing (session.h). */
size_t cf_backend_checkpoints(const cf_backend *backend, uint32_t *pos, size_t cap);

/* ---- the three kinds ---------------------------------------------------- */

typedef struct cf_core_options {
    cf_prompt_renderer renderer; /* render NULL: cf_renderer_plain() */
    cf_tool_family family;
    const cf_channel *channels; /* [n_channels], borrowed */
    size_t n_channels;
    cf_session_options session;
    cf_engine *draft;      /* proposes tokens of replies (draft.h); NULL: none */
    cf_media_cache *media; /* reads pictures and sounds of messages; borrowed.
                              NULL: their parts are the template's to write */
    /* Compute in place of cf_session_sync() and of cf_batch_pass() with one
     * part, with their results: a server's way to put sessions of several
     * backends, each on its thread, into one pass.  Both or neither. */
    cf_status (*sync)(void *ud, cf_session *session, const cf_token *ids, size_t n,
                      const cf_run *run, cf_sync_result *out, cf_error *err);
    cf_status (*pass)(void *ud, cf_advance *part, cf_cancel *cancel, cf_error *err);
    /* Called around what uses `media` and around prompts with media, which are
     * not computed by `sync`, and around guesses of a draft: backends that share a
     * reader do so one at a time, and no pass runs meanwhile.  Both or neither. */
    void (*hold)(void *ud);
    void (*release)(void *ud);
    void *pass_ud; /* of all four */
} cf_core_options;

/* `engine` and what options point to must outlive the backend. */
CF_MUST_USE cf_status cf_backend_core_new(cf_backend **out, cf_engine *engine,
                                          const cf_core_options *options, cf_error *err);

/* Sets template, family and channels of later requests; the cache is kept, and
 * so is the reader of media where options have none. */
void cf_backend_core_set(cf_backend *backend, const cf_core_options *options);

/* Sets how long the model of a built-in backend thought in earlier replies that
 * ended by themselves: how many there were, and the tokens of the longest.  A
 * reply that thinks far beyond that is reported (CF_CHAT_NOTE); other backends
 * do not look at it. */
void cf_backend_core_learn_thinking(cf_backend *backend, size_t n_replies, size_t n_most);

/* Replaces what `to` has cached by a copy of what `from` has, both built-in
 * backends of one engine.  `from` may be at work on another thread, as long as
 * its session does not change meanwhile.  CF_ENOMEM, and `to` is as it was. */
CF_MUST_USE cf_status cf_backend_core_fork_cache(cf_backend *to, const cf_backend *from,
                                                 cf_error *err);

/* The tokens that a built-in backend guesses in a pass at most (draft.h); 0:
 * none.  CF_DRAFT_DEFAULT unless set; other backends have none. */
void cf_backend_core_set_draft(cf_backend *backend, size_t n_max);

/* Adds an earlier reply that later ones may copy; see draft.h.  Replies of
 * this backend are added by themselves.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_backend_core_add_source(cf_backend *backend, const cf_token *ids, size_t n,
                                                 cf_error *err);

/* The session of a built-in backend, else NULL. */
cf_session *cf_backend_core_session(cf_backend *backend);

/*
 * Renders a context as the built-in core does, with each picture and sound as
 * one block of words in place of its expansion: "[image 3f2a91, 420 x 310 to
 * 288 x 192: 56 tokens]", whose span has `media`.  Errors of the renderer and
 * of cf_media_look(); CF_EUNSUPPORTED where the template has no place for one.
 */
CF_MUST_USE cf_status cf_prompt_render_media(cf_prompt *out, cf_media_cache *cache,
                                             const cf_prompt_renderer *renderer,
                                             const json_t *context, cf_arena *arena, cf_error *err);

/* A picture or sound in a rendered prompt. */
typedef struct cf_prompt_medium {
    bool is_sound;
    uint32_t message, part; /* where it is in the context, from 0 */
    size_t n_token;         /* positions: its rows and the markers around them */
    size_t n_row;
    const char *hash; /* of its file, hexadecimal */
    cf_str words;     /* cf_media_words() */
} cf_prompt_medium;

/* A prompt as the built-in core reads it; all of it lives in the arena. */
typedef struct cf_media_prompt {
    cf_prompt prompt;          /* each picture and sound as its markers, with a stand-in
                         for each block of rows */
    cf_token_list tokens;      /* cf_token_is_row() for rows */
    const cf_prompt_medium *v; /* [n], in the order of the messages */
    size_t n;
} cf_media_prompt;

/*
 * Renders a context and makes its tokens as the built-in core does, pictures
 * and sounds expanded.  Those of tools' results are left out where the template
 * has no place for them.  Errors of cf_prompt_render_media().
 */
CF_MUST_USE cf_status cf_prompt_expand_media(cf_media_prompt *out, cf_media_cache *cache,
                                             const cf_prompt_renderer *renderer,
                                             const json_t *context, const cf_tokenizer *tok,
                                             cf_arena *arena, cf_error *err);

/* The reader of its media; NULL when it has none or is of another kind. */
cf_media_cache *cf_backend_core_media(const cf_backend *backend);

typedef struct cf_remote_options {
    const char *model;     /* NULL: the first that the server lists, or "default" */
    const char *key;       /* sent as a bearer token; copied, never printed */
    uint32_t connect_ms;   /* 0: 10 s */
    uint32_t idle_ms;      /* longest silence; 0: 120 s */
    uint32_t total_ms;     /* longest answer; 0: an hour */
    uint32_t n_retries;    /* on 429 and 5xx; 0: 4, UINT32_MAX: none */
    uint32_t backoff_ms;   /* first wait, doubled each time; 0: 500 */
    cf_tool_family family; /* parses content too; CF_TOOLS_NONE: does not */
    /* Ours, where the server does not show its prompt; render NULL: none. */
    cf_prompt_renderer renderer;
} cf_remote_options;

/* `url` is the server's address with or without "/v1".  Connects only when a
 * request is made. */
CF_MUST_USE cf_status cf_backend_remote_new(cf_backend **out, const char *url,
                                            const cf_remote_options *options, cf_error *err);

/* Takes over what a clone of the backend has learned of its server. */
void cf_backend_learn(cf_backend *to, const cf_backend *from);

/* Sets the renderer of a server's backend; does nothing for another kind. */
void cf_backend_remote_set(cf_backend *backend, cf_prompt_renderer renderer);

typedef struct cf_script_options {
    cf_tool_family family; /* parses the scripted text */
    const cf_channel *channels;
    size_t n_channels;
    cf_prompt_renderer renderer; /* to show a prompt; render NULL: plain */
} cf_script_options;

/* Plays {"replies":[...]}, one reply a call, starting over at the end. */
CF_MUST_USE cf_status cf_backend_script_new(cf_backend **out, const json_t *script,
                                            const cf_script_options *options, cf_error *err);

/* Sets template, family and channels of later replies; does nothing for a
 * backend of another kind. */
void cf_backend_script_set(cf_backend *backend, const cf_script_options *options);

/* No model: renders prompts, and answers every request with the fault "model
 * not found" and what to do.  renderer.render NULL: plain.  `tok` (borrowed, may be
 * NULL) has the special tokens of the prompts. */
CF_MUST_USE cf_status cf_backend_none_new(cf_backend **out, cf_prompt_renderer renderer,
                                          const cf_tokenizer *tok, cf_error *err);

CF_END_DECLS

#endif
