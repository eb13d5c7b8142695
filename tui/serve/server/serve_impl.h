/*
 * serve_impl.h - a request on its way through the server: slots, what was
 * asked, and what is written.
 */
#ifndef CF_TUI_SERVE_SERVE_IMPL_H
#define CF_TUI_SERVE_SERVE_IMPL_H

#include "core/api/joint.h"
#include "core/json/json_writer.h"
#include "core/wire/wire.h"
#include "tui/serve/server/serve.h"

/* ---- slots (serve_slots.c) ---------------------------------------------- */

/* How far a slot's request is; written by the threads of its replies. */
typedef struct cf_serve__progress {
    atomic_uint n_prompt, n_prefilled; /* tokens */
    atomic_uint n_decoded;             /* of all its replies */
    atomic_ullong first_us, last_us;   /* when the first and last came */
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

typedef struct cf_serve__slots cf_serve__slots;

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
/* A backend computes no more, or again. */
void cf_serve__rest(cf_serve__slots *s, bool rests);
/* Notes how far a reply of the slot's request is. */
void cf_serve__note(cf_serve__slot *slot, const cf_chat_event *e);
/* Writes the slots as llama-server does, and what else there is to say. */
void cf_serve__slots_write(cf_serve__slots *s, cf_jw *w);

/* ---- what is asked (serve_request.c) ------------------------------------ */

enum { CF_SERVE_STOPS_MAX = 16, CF_SERVE_N_MAX = 16, CF_SERVE_BIAS_MAX = 300 };

typedef struct cf_serve__asked {
    cf_wire_request wire;
    json_t *messages; /* roles as the template names them */
    cf_tool_set *tools;
    cf_grammar *grammar;
    cf_chat_options options; /* points into this */
    cf_str stops[CF_SERVE_STOPS_MAX];
    cf_logit_bias bias[CF_SERVE_BIAS_MAX];
    bool is_raw; /* a prompt and not a conversation */
    bool has_logprobs, has_seed;
    uint32_t n; /* replies */
} cf_serve__asked;

/* Reads a body.  CF_EINVAL for what cannot be done, naming it. */
CF_MUST_USE cf_status cf_serve__read(cf_serve__asked *out, cf_str body, cf_api api,
                                     const cf_opened *opened, const cf_constraint_vocab *vocab,
                                     cf_error *err);
void cf_serve__asked_deinit(cf_serve__asked *a);

/* ---- embeddings (serve_embed.c) ----------------------------------------- */

typedef struct cf_serve__embedder cf_serve__embedder;

CF_MUST_USE cf_status cf_serve__embedder_new(cf_serve__embedder **out, cf_engine *engine,
                                             uint32_t n_ctx, cf_error *err);
void cf_serve__embedder_free(cf_serve__embedder *e);

/* Appends the answer to a request for vectors.  One request at a time is
 * computed, others wait.  CF_EINVAL and CF_EFORMAT for a request that cannot
 * be done, CF_ELIMIT for a text that is too long, CF_EUNSUPPORTED for a model
 * without embeddings, saying why. */
CF_MUST_USE cf_status cf_serve__embed(cf_serve__embedder *e, cf_str body, const char *model,
                                      cf_cancel *cancel, cf_buf *out, cf_error *err);

/* ---- what is written (serve_write.c) ------------------------------------ */

/* Writes an event of a reply while it is generated; of a whole answer only
 * the tokens are noted. */
void cf_serve__write_event(cf_wire_writer *w, uint32_t i, const cf_tokenizer *tok,
                           const cf_chat_event *e, cf_buf *out);
/* Writes the end of a reply; of a whole answer all of it. */
void cf_serve__write_reply(cf_wire_writer *w, uint32_t i, const cf_chat_response *reply,
                           cf_buf *out);

#endif
