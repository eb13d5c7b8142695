/*
 * backend_core.c - the built-in engine as a backend, and several replies of it
 * side by side.  core_decode.c is one reply.
 */
#include <string.h>

#include "core/backend/core_decode.h"

#include "core/base/alloc.h"

enum { SOURCES_MAX = 1 << 16 }; /* tokens of earlier replies */

static const cf_backend__ops core_ops;

static cf_backend_info get_info(const cf_backend *b)
{
    const cf_chat__core *c = (const cf_chat__core *)b;
    const cf_engine_info engine = cf_engine_get_info(c->engine);
    return (cf_backend_info){
        .kind = strcmp(engine.engine, "own") == 0 ? "builtin" : engine.engine,
        .name = cf_str_from(engine.name),
        .shows_prompt = true,
        .shows_tokens = true,
        .shows_candidates = true,
        .shows_cache = true,
        .can_score = true,
        .can_count = true,
        .can_fork_token = true,
        .can_continue = true,
        .can_mask = true,
        .takes_images = c->options.media != NULL,
        .cannot = "",
    };
}

static void free_core(cf_backend *b)
{
    cf_chat__core *c = (cf_chat__core *)b;
    cf_draft_free(c->draft);
    cf_session_free(c->session);
    cf_free(c);
}

/* ---- render and tokenise ------------------------------------------------ */

static cf_status render(cf_backend *b, const cf_chat_request *request, cf_arena *arena,
                        cf_prompt *out, cf_error *err)
{
    cf_chat__media media;
    cf_status st = cf_chat__core_render((const cf_chat__core *)b, request, arena, &media, out, err);
    cf_chat__media_release(&media);
    return st;
}

static cf_status tokenise(cf_backend *b, const cf_chat_request *request, cf_arena *arena,
                          cf_prompt *prompt, cf_token_list *out, cf_error *err)
{
    const cf_chat__core *c = (const cf_chat__core *)b;
    cf_chat__media media;
    cf_status st = cf_chat__core_render(c, request, arena, &media, prompt, err);
    CF_THEN(st, cf_chat__tokenise(out, prompt, &media, request->reply_prefix,
                                  cf_engine_tokenizer(c->engine), arena, err));
    cf_chat__media_release(&media);
    return st;
}

static cf_status stream(cf_backend *b, cf_chat__run *run, cf_error *err)
{
    cf_chat__decode d = cf_chat__decode_make(b, run);
    cf_status st = cf_chat__decode_begin(&d, err);
    while (cf_chat__decode_goes_on(&d, st)) {
        st = cf_chat__decode_step(&d, err);
        while (st == CF_OK && d.needs_pass) {
            st = cf_chat__decode_pass(&d, err);
            d.needs_pass = st != CF_OK || !cf_draft_took(d.c->draft, &d.part);
        }
    }
    return cf_chat__decode_finish(&d, st, err);
}

/* ---- several replies side by side --------------------------------------- */

static bool is_of_one_engine(const cf_backend *a, const cf_backend *b)
{
    return a != b && ((const cf_chat__core *)a)->engine == ((const cf_chat__core *)b)->engine;
}

/* One of several replies. */
typedef struct joint_reply {
    cf_chat__decode d;
    size_t n_max; /* most tokens its draft could propose before */
    bool is_open;
    cf_status *status;
    cf_error *err;
} joint_reply;

/* Computes the replies that wait for a pass, together: mostly one pass, more
 * where a draft was rejected. */
static cf_status pass(joint_reply *replies, size_t n, cf_error *err)
{
    cf_advance *parts = cf_calloc(n, sizeof *parts);
    cf_status st = CF_OK;
    if (parts == NULL) {
        return cf_oom_for(err, "a pass");
    }
    for (size_t n_part = 1; st == CF_OK && n_part > 0;) {
        n_part = 0;
        for (size_t i = 0; i < n; i++) {
            if (replies[i].is_open && replies[i].d.needs_pass) {
                parts[n_part++] = replies[i].d.part;
            }
        }
        st = cf_batch_pass(parts, n_part, replies[0].d.run->request->cancel, err);
        for (size_t i = 0, k = 0; st == CF_OK && i < n; i++) {
            cf_chat__decode *d = &replies[i].d;
            if (replies[i].is_open && d->needs_pass) {
                d->part = parts[k++];
                d->needs_pass = !cf_draft_took(d->c->draft, &d->part);
            }
        }
    }
    cf_free(parts);
    return st;
}

static void close_reply(joint_reply *r)
{
    *r->status = cf_chat__decode_finish(&r->d, *r->status, r->err);
    cf_draft_set_max(r->d.c->draft, r->n_max);
    r->is_open = false;
}

/* Adds a token to each open reply and closes those that end.  False when none
 * is left. */
static bool step_replies(joint_reply *replies, size_t n)
{
    bool is_any = false;
    for (size_t i = 0; i < n; i++) {
        joint_reply *r = &replies[i];
        if (!r->is_open) {
            continue;
        }
        *r->status = cf_chat__decode_step(&r->d, r->err);
        if (!cf_chat__decode_goes_on(&r->d, *r->status)) {
            close_reply(r);
        }
        is_any = is_any || r->is_open;
    }
    return is_any;
}

/* Renders and computes the prompt of reply i of n.  Drafts are switched off for
 * more than two replies: a pass of many rows leaves little to gain from them. */
static void open_reply(joint_reply *r, cf_backend *const *b, size_t i, size_t n, cf_chat__run *run)
{
    r->d = cf_chat__decode_make(b[i], run);
    r->d.earlier = b;
    r->d.n_earlier = i;
    r->n_max = cf_draft_get_max(r->d.c->draft);
    cf_draft_set_max(r->d.c->draft, n > 2 ? 0 : r->n_max);
    r->is_open = true;
    *r->status = cf_chat__is_cancelled(run) ? cf_chat__cancelled(r->err)
                                            : cf_chat__decode_begin(&r->d, r->err);
    if (!cf_chat__decode_goes_on(&r->d, *r->status)) {
        close_reply(r);
    }
}

static void stream_many(cf_backend *const *b, cf_chat__run *runs, size_t n, cf_status *status,
                        cf_error *err)
{
    joint_reply *replies = cf_calloc(n, sizeof *replies);
    for (size_t i = 0; i < n && replies == NULL; i++) {
        status[i] = cf_oom_for(&err[i], "replies side by side");
    }
    for (size_t i = 0; i < n && replies != NULL; i++) {
        replies[i].status = &status[i];
        replies[i].err = &err[i];
        open_reply(&replies[i], b, i, n, &runs[i]);
    }
    while (replies != NULL && step_replies(replies, n)) {
        cf_error why;
        cf_status st = pass(replies, n, &why);
        for (size_t i = 0; i < n && st != CF_OK; i++) {
            if (replies[i].is_open) {
                *replies[i].status = st;
                *replies[i].err = why;
                close_reply(&replies[i]);
            }
        }
    }
    cf_free(replies);
}

static cf_status score(cf_backend *b, cf_str context, cf_str text, cf_cancel *cancel,
                       cf_arena *arena, cf_score *out, cf_error *err)
{
    return cf_backend__score_on(((cf_chat__core *)b)->session, context, text, cancel, arena, out,
                                err);
}

/* ---- the rest ----------------------------------------------------------- */

static cf_status clone(cf_backend **out, const cf_backend *from, cf_error *err)
{
    const cf_chat__core *c = (const cf_chat__core *)from;
    cf_chat__core *to = cf_calloc(1, sizeof *to);
    if (to == NULL) {
        return cf_oom_for(err, "a clone");
    }
    *to = *c;
    to->session = NULL;
    to->draft = NULL;
    cf_status st = cf_session_fork(&to->session, c->session, err);
    CF_THEN(st, cf_draft_clone(&to->draft, c->draft, err));
    if (st != CF_OK) {
        free_core(&to->base);
        return st;
    }
    *out = &to->base;
    return CF_OK;
}

cf_status cf_backend_core_fork_cache(cf_backend *to, const cf_backend *from, cf_error *err)
{
    cf_chat__core *c = (cf_chat__core *)to;
    cf_session *copy;
    CF_TRY(cf_session_fork(&copy, ((const cf_chat__core *)from)->session, err));
    cf_session_free(c->session);
    c->session = copy;
    return CF_OK;
}

static const cf_token *cache(const cf_backend *b, size_t *n)
{
    return cf_session_tokens(((const cf_chat__core *)b)->session, n);
}

static size_t checkpoints(const cf_backend *b, uint32_t *pos, size_t cap)
{
    const cf_chat__core *c = (const cf_chat__core *)b;
    return cf_session_checkpoints(c->session, pos, cap);
}

static const cf_backend__ops core_ops = {
    .info = get_info,
    .free = free_core,
    .stream = stream,
    .stream_many = stream_many,
    .is_of_one_engine = is_of_one_engine,
    .render = render,
    .tokenise = tokenise,
    .score = score,
    .clone = clone,
    .cache = cache,
    .checkpoints = checkpoints,
};

cf_status cf_backend_core_new(cf_backend **out, cf_engine *engine, const cf_core_options *options,
                              cf_error *err)
{
    cf_chat__core *c = cf_calloc(1, sizeof *c);
    if (c == NULL) {
        return cf_oom_for(err, "the engine");
    }
    c->base.ops = &core_ops;
    c->engine = engine;
    cf_backend_core_set(&c->base, options);
    cf_status st =
        cf_session_new(&c->session, engine, options != NULL ? &options->session : NULL, err);
    CF_THEN(st, cf_draft_new(&c->draft, CF_DRAFT_DEFAULT, err));
    if (options != NULL && options->draft != NULL) {
        CF_THEN(st, cf_draft_use_model(c->draft, options->draft, engine, err));
    }
    if (st != CF_OK) {
        free_core(&c->base);
        return st;
    }
    *out = &c->base;
    return CF_OK;
}

void cf_backend_core_set(cf_backend *b, const cf_core_options *options)
{
    cf_chat__core *c = (cf_chat__core *)b;
    cf_media_cache *media = c->options.media;
    if (options != NULL) {
        c->options = *options;
    }
    c->options.media = c->options.media != NULL ? c->options.media : media;
    if (c->options.renderer.render == NULL) {
        c->options.renderer = cf_renderer_plain();
    }
}

void cf_backend_core_learn_thinking(cf_backend *b, size_t n_replies, size_t n_most)
{
    if (b->ops == &core_ops) {
        cf_thinking_habit *habit = &((cf_chat__core *)b)->habit;
        habit->n += n_replies;
        habit->most = n_most > habit->most ? n_most : habit->most;
    }
}

void cf_backend_core_set_draft(cf_backend *b, size_t n_max)
{
    if (b->ops == &core_ops) {
        cf_draft_set_max(((cf_chat__core *)b)->draft, n_max);
    }
}

cf_status cf_backend_core_add_source(cf_backend *b, const cf_token *ids, size_t n, cf_error *err)
{
    const cf_chat__core *c = (const cf_chat__core *)b;
    if (b->ops != &core_ops || n > SOURCES_MAX) {
        return CF_OK;
    }
    if (cf_draft_n_source(c->draft) + n > SOURCES_MAX) {
        cf_draft_forget(c->draft);
    }
    return cf_draft_source(c->draft, ids, n, err);
}

cf_session *cf_backend_core_session(cf_backend *b)
{
    return b->ops == &core_ops ? ((cf_chat__core *)b)->session : NULL;
}

cf_media_cache *cf_backend_core_media(const cf_backend *b)
{
    return b->ops == &core_ops ? ((const cf_chat__core *)b)->options.media : NULL;
}
