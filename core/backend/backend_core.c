/*
 * backend_core.c - drives the built-in engine: renders all, tokenises by spans,
 * syncs the session, decodes.
 *
 * Always true:
 *   1. The cache is only changed by cf_session_sync() and _step(), so it holds
 *      exactly the tokens that cf_session_tokens() returns, however a call
 *      ended; the next call keeps the common prefix.
 *   2. An end token and a token that completed a stop string are drawn, but
 *      not put into the cache.
 */
#include <stdio.h>
#include <string.h>

#include "core/api/draft.h"
#include "core/backend/backend_impl.h"
#include "core/backend/media_prompt.h"
#include "core/backend/reply_watch.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"

typedef struct core_backend {
    cf_backend base;
    cf_engine *engine; /* borrowed */
    cf_session *session;
    cf_draft *draft;
    cf_core_options options;
    cf_thinking_habit habit; /* of the model, since it was opened */
} core_backend;

enum { SOURCES_MAX = 1 << 16 }; /* tokens of earlier replies */

static const cf_backend__ops core_ops;

static cf_backend_info get_info(const cf_backend *b)
{
    const core_backend *c = (const core_backend *)b;
    return (cf_backend_info){
        .kind = "builtin",
        .name = cf_str_from(cf_engine_get_info(c->engine).name),
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
    core_backend *c = (core_backend *)b;
    cf_draft_free(c->draft);
    cf_session_free(c->session);
    cf_free(c);
}

/* ---- render and tokenise ------------------------------------------------ */

static cf_status try_render(const core_backend *c,
                            const cf_chat_request *request, cf_arena *arena,
                            cf_chat__media *media, cf_prompt *out,
                            cf_error *err)
{
    const cf_tokenizer *tok = cf_engine_tokenizer(c->engine);
    json_t *context = cf_chat__context(request);
    cf_status st = context != NULL ? cf_prompt_add_special(context, tok, err)
                                   : cf_oom_for(err, "the context");
    CF_THEN(st, cf_chat__media_take(media, context, request->cancel, err));
    CF_THEN(st, cf_chat__render(&c->options.renderer, request, context, arena,
                                out, err));
    CF_THEN(st, cf_chat__media_expand(media, out, err));
    json_decref(context);
    return st;
}

/* Renders, with the media of the messages in place; release them after a
 * failure, too.  Where the template has no place for pictures of tools'
 * results, or one cannot be read, the results are text. */
static cf_status render_media(const core_backend *c,
                              const cf_chat_request *request, cf_arena *arena,
                              cf_chat__media *media, cf_prompt *out,
                              cf_error *err)
{
    *media = (cf_chat__media){
        .cache = c->options.media, .arena = arena, .core = &c->options};
    cf_status st = try_render(c, request, arena, media, out, err);
    if (cf_chat__media_skip(media, st)) {
        st = try_render(c, request, arena, media, out, err);
    }
    return st;
}

static cf_status render(cf_backend *b, const cf_chat_request *request,
                        cf_arena *arena, cf_prompt *out, cf_error *err)
{
    cf_chat__media media;
    cf_status st =
        render_media((const core_backend *)b, request, arena, &media, out, err);
    cf_chat__media_release(&media);
    return st;
}

static cf_status tokenise(cf_backend *b, const cf_chat_request *request,
                          cf_arena *arena, cf_prompt *prompt,
                          cf_token_list *out, cf_error *err)
{
    const core_backend *c = (const core_backend *)b;
    cf_chat__media media;
    cf_status st = render_media(c, request, arena, &media, prompt, err);
    CF_THEN(st, cf_chat__tokenise(out, prompt, &media, request->reply_prefix,
                                  cf_engine_tokenizer(c->engine), arena, err));
    cf_chat__media_release(&media);
    return st;
}

/* ---- one call ----------------------------------------------------------- */

typedef struct decode {
    core_backend *c;
    cf_chat__run *run;
    const cf_tokenizer *tok;
    cf_chat__reply reply;
    cf_sampler *sampler;
    cf_chat__media media; /* of the prompt */
    cf_buf ids;           /* cf_token: prompt, then reply */
    size_t n_prompt;      /* of them */
    size_t n_given;       /* of them, that the draft or the session has */
    cf_advance part;      /* what the next pass computes */
    bool needs_pass;
    uint64_t decode_from;       /* when decoding began */
    cf_backend *const *earlier; /* [n_earlier]: replies side by side */
    size_t n_earlier;
    cf_buf forced; /* cf_token still to be forced (thinking budget) */
    size_t forced_at;
    bool grammar_forces; /* they are the grammar's */
    uint32_t n_thinking;
    bool budget_spent;
    cf_reply_watch watch;
    bool is_endless; /* the watch saw it, and it is to end the reply */
    cf_buf piece;
    cf_buf start; /* bytes the reply has already, thinking excepted */
    cf_constraint *constraint; /* NULL: none; its place is after the content */
    uint32_t *mask;            /* [(n_vocab + 31) / 32] */
} decode;

static size_t n_ids(const decode *d)
{
    return d->ids.n / sizeof(cf_token);
}

static const cf_token *ids_of(const decode *d)
{
    return (const cf_token *)(const void *)d->ids.p;
}

static void add_id(decode *d, cf_token id)
{
    cf_buf_add(&d->ids, &id, sizeof id);
}

static void on_prefill(void *ud, size_t done, size_t total)
{
    const decode *d = ud;
    cf_chat_event ev = {
        .kind = CF_CHAT_PREFILL, .n_done = done, .n_total = total};
    cf_chat__emit(d->run, &ev);
}

/* Says how much there is to compute, before the first batch of it is done. */
static void announce_prefill(decode *d)
{
    size_t n = n_ids(d);
    on_prefill(d, 0, n - cf_session_would_sync(d->c->session, ids_of(d), n));
}

/* Tells the prompt before anything is computed. */
static void tell_prompt(const decode *d, const cf_prompt *prompt)
{
    cf_chat_event ev = {.kind = CF_CHAT_PROMPT,
                        .text = prompt->text,
                        .ids = ids_of(d),
                        .media = d->run->out->media,
                        .n_ids = n_ids(d),
                        .n_prompt = d->n_prompt,
                        .n_content = d->start.n};
    cf_chat__emit(d->run, &ev);
}

/* One token that the reply already has, or a byte of the text it was given:
 * through the reply without events.  What a grammar would have seen of it is
 * noted. */
static cf_status add_quietly(decode *d, cf_str text, cf_error *err)
{
    bool stopped = false;
    cf_chat__add_raw(d->run, text);
    if (!cf_chat__reply_is_thinking(&d->reply)) {
        cf_buf_add(&d->start, text.p, text.n);
    }
    d->reply.is_quiet = true;
    cf_status st = cf_chat__reply_add(&d->reply, text, &stopped, err);
    d->reply.is_quiet = false;
    return st == CF_OK ? cf_buf_check(&d->start, err) : st;
}

static cf_status add_start(decode *d, cf_error *err)
{
    const cf_chat_request *q = d->run->request;
    size_t n_vocab = cf_tokenizer_n_vocab(d->tok);
    for (size_t i = 0; i < q->reply_prefix.n; i++) {
        CF_TRY(add_quietly(d, cf_str_make(q->reply_prefix.p + i, 1), err));
    }
    for (size_t i = 0; i < q->n_reply_ids; i++) {
        cf_token id = q->reply_ids[i];
        if (id < 0 || (size_t)id >= n_vocab) {
            return cf_fail(err, CF_EINVAL,
                           "reply token %d is outside the vocabulary", (int)id);
        }
        add_id(d, id);
        cf_buf_reset(&d->piece);
        cf_tokenizer_piece(&d->piece, d->tok, id, true);
        CF_TRY(cf_buf_check(&d->piece, err));
        CF_TRY(add_quietly(d, cf_str_make(d->piece.p, d->piece.n), err));
    }
    return cf_buf_check(&d->ids, err);
}

static cf_status take_ids(cf_token **out, size_t *n, const cf_token *v,
                          size_t n_v, cf_error *err)
{
    cf_token *copy = cf_calloc(n_v + 1, sizeof *copy);
    if (copy == NULL) {
        return cf_oom_for(err, "token ids");
    }
    if (n_v > 0) {
        memcpy(copy, v, n_v * sizeof *v);
    }
    *out = copy;
    *n = n_v;
    return CF_OK;
}

/* Tokens that a cache and a prompt begin with. */
static size_t n_common(const core_backend *c, const cf_token *ids, size_t n)
{
    size_t n_have, k = 0;
    const cf_token *have = cf_session_tokens(c->session, &n_have);
    while (k < n && k < n_have && have[k] == ids[k]) {
        k++;
    }
    return k;
}

/* Takes over the timeline of the earlier reply that has most of the prompt,
 * where that is more than the own one has.  Without memory the prompt is
 * computed. */
static void borrow(const decode *d)
{
    core_backend *c = d->c;
    const core_backend *best = c;
    for (size_t i = 0; i < d->n_earlier; i++) {
        const core_backend *from = (const core_backend *)d->earlier[i];
        if (n_common(from, ids_of(d), n_ids(d)) >
            n_common(best, ids_of(d), n_ids(d))) {
            best = from;
        }
    }
    if (best != c) {
        cf_ignore(cf_session_adopt(c->session, best->session, NULL));
    }
}

/* Makes the session hold all ids: alone, or in passes with others. */
static cf_status sync(decode *d, const cf_token_list *list, const cf_run *run,
                      cf_sync_result *out, cf_error *err)
{
    const cf_core_options *o = &d->c->options;
    if (d->media.n > 0) {
        return cf_chat__media_sync(&d->media, d->run, d->c->session, list,
                                   ids_of(d), n_ids(d), run, out, err);
    }
    return o->sync != NULL ? o->sync(o->pass_ud, d->c->session, ids_of(d),
                                     n_ids(d), run, out, err)
                           : cf_session_sync(d->c->session, ids_of(d), n_ids(d),
                                             run, out, err);
}

/* Renders, tokenises and syncs. */
static cf_status prefill(decode *d, cf_arena *arena, cf_error *err)
{
    cf_chat_response *out = d->run->out;
    cf_prompt prompt = {{NULL, 0}, NULL, 0};
    cf_token_list list = {NULL, 0};
    uint64_t t = cf_os_monotonic_us();
    cf_status st =
        render_media(d->c, d->run->request, arena, &d->media, &prompt, err);
    out->timings.render_us = cf_os_monotonic_us() - t;
    if (st != CF_OK) {
        return st == CF_ENOMEM || st == CF_ECANCELLED
                   ? st
                   : cf_chat__fault(d->run, CF_FAULT_TEMPLATE, st);
    }
    cf_buf_add(&out->prompt, prompt.text.p, prompt.text.n);
    CF_TRY(cf_buf_check(&out->prompt, err));
    t = cf_os_monotonic_us();
    CF_TRY(cf_chat__tokenise(&list, &prompt, &d->media,
                             d->run->request->reply_prefix, d->tok, arena,
                             err));
    if (d->media.n > 0) {
        out->media = cf_chat__media_json(&d->media, &list);
        CF_TRY(out->media != NULL ? CF_OK : cf_oom_for(err, "the prompt"));
    }
    for (size_t i = 0; i < list.n; i++) {
        add_id(d, list.v[i].id);
        d->n_prompt += list.v[i].off < prompt.text.n ? 1 : 0;
    }
    CF_TRY(cf_buf_check(&d->ids, err));
    CF_TRY(take_ids(&out->prompt_ids, &out->n_prompt_ids, ids_of(d),
                    d->n_prompt, err));
    cf_chat__reply_after_prompt(&d->reply, prompt.text);
    CF_TRY(add_start(d, err));
    out->timings.tokenise_us = cf_os_monotonic_us() - t;
    if (n_ids(d) == 0) {
        return cf_chat__fault(
            d->run, CF_FAULT_TEMPLATE,
            cf_fail(err, CF_EINVAL, "the prompt has no token"));
    }
    tell_prompt(d, &prompt);
    borrow(d);
    cf_chat__find_divergence(d->run, d->c->session, &prompt, &list, ids_of(d),
                             n_ids(d));
    cf_run run = {.cancel = d->run->request->cancel,
                  .progress = on_prefill,
                  .ud = d,
                  .keep_at = cf_chat__end_of_messages(&prompt, &list)};
    announce_prefill(d);
    t = cf_os_monotonic_us();
    st = sync(d, &list, &run, &out->sync, err);
    out->timings.prefill_us = cf_os_monotonic_us() - t;
    out->timings.n_prefill = (uint32_t)out->sync.n_new;
    out->usage.is_known = true;
    out->usage.n_prompt = n_ids(d);
    out->usage.n_cached = out->sync.n_kept;
    if (st == CF_ELIMIT) {
        out->stop.fault = CF_FAULT_CONTEXT;
    }
    return st;
}

/* The end of thinking, to be forced from now on. */
static cf_status force_end(decode *d, cf_error *err)
{
    cf_arena arena;
    cf_token_list list = {NULL, 0};
    cf_buf text = CF_BUF_INIT;
    cf_arena_init(&arena, 0);
    cf_buf_addc(&text, '\n');
    cf_buf_add(&text, d->reply.split.channels[0].end.p,
               d->reply.split.channels[0].end.n);
    cf_buf_adds(&text, "\n\n");
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, cf_tokenizer_encode(&list, d->tok, cf_str_make(text.p, text.n),
                                    true, false, &arena, err));
    for (size_t i = 0; st == CF_OK && i < list.n; i++) {
        cf_buf_add(&d->forced, &list.v[i].id, sizeof list.v[i].id);
    }
    d->budget_spent = true;
    d->grammar_forces = false;
    cf_buf_deinit(&text);
    cf_arena_deinit(&arena);
    return st == CF_OK ? cf_buf_check(&d->forced, err) : st;
}

/* Queues the text that the grammar leaves no choice about as forced. */
static cf_status force_text(decode *d, cf_error *err)
{
    cf_arena arena;
    cf_token_list list = {NULL, 0};
    cf_arena_init(&arena, 0);
    cf_status st =
        cf_constraint_forced_tokens(d->constraint, d->tok, &arena, &list, err);
    for (size_t i = 0; st == CF_OK && i < list.n; i++) {
        cf_buf_add(&d->forced, &list.v[i].id, sizeof list.v[i].id);
        st = cf_constraint_token(d->constraint, list.v[i].id, err);
        d->grammar_forces = true;
    }
    cf_arena_deinit(&arena);
    return st == CF_OK ? cf_buf_check(&d->forced, err) : st;
}

static uint32_t count_allowed(const decode *d)
{
    uint32_t n = 0;
    size_t n_vocab = cf_tokenizer_n_vocab(d->tok);
    for (size_t i = 0; i < n_vocab; i++) {
        n += d->mask[i / 32] >> i % 32 & 1;
    }
    return n;
}

/* One token that the grammar allows. */
static cf_status draw_allowed(decode *d, cf_token *id, cf_draw *draw,
                              cf_error *err)
{
    const cf_chat_options *o = d->run->request->options;
    CF_TRY(cf_constraint_mask(d->constraint, d->mask, err));
    CF_TRY(cf_sampler_draw(d->sampler, cf_draft_logits(d->c->draft), ids_of(d),
                           n_ids(d), d->mask, o->n_top, id, draw, err));
    return cf_constraint_token(d->constraint, *id, err);
}

static bool is_constrained(const decode *d)
{
    return d->constraint != NULL && !cf_chat__reply_is_thinking(&d->reply);
}

static cf_status next_id(decode *d, cf_token *id, bool *is_forced,
                         cf_draw *draw, bool *has_draw, cf_error *err)
{
    const cf_chat_options *o = d->run->request->options;
    if (d->forced_at == d->forced.n && is_constrained(d)) {
        CF_TRY(force_text(d, err));
    }
    if (d->forced_at < d->forced.n) {
        memcpy(id, d->forced.p + d->forced_at, sizeof *id);
        d->forced_at += sizeof *id;
        *is_forced = true;
        return CF_OK;
    }
    if (is_constrained(d)) {
        *has_draw = true;
        return draw_allowed(d, id, draw, err);
    }
    uint32_t n_top = o != NULL ? o->n_top : 0;
    *has_draw = n_top > 0;
    CF_TRY(cf_sampler_draw(d->sampler, cf_draft_logits(d->c->draft), ids_of(d),
                           n_ids(d), NULL, n_top, id, n_top > 0 ? draw : NULL,
                           err));
    return CF_OK;
}

static void stop_with(decode *d, cf_stop_reason reason, cf_str what)
{
    cf_stop *stop = &d->run->out->stop;
    cf_buf shown = CF_BUF_INIT;
    cf_safe_line(&shown, what.p, what.n);
    stop->reason = reason;
    snprintf(stop->what, sizeof stop->what, "%s", cf_buf_cstr(&shown));
    cf_buf_deinit(&shown);
}

static void tell_token(decode *d, cf_token id, bool is_forced,
                       const cf_draw *draw)
{
    cf_chat_event ev = {.kind = CF_CHAT_TOKEN, .text = cf_buf_str(&d->piece)};
    ev.token = (cf_chat_token){
        .id = id,
        .p = draw != NULL ? draw->chosen.p_post : -1,
        .is_forced = is_forced,
        .is_drafted =
            d->n_given == n_ids(d) && cf_draft_is_guessed(d->c->draft, &id, 1),
        .is_held = is_constrained(d) && (!is_forced || d->grammar_forces),
        .n_allowed = draw != NULL && is_constrained(d) ? count_allowed(d) : 0,
        .raw_off = d->run->out->raw.n,
        .draw = draw,
    };
    cf_chat__emit(d->run, &ev);
}

/* Has the draft compute what was added, unless more of it is known already:
 * then all of it goes in one pass. */
static cf_status advance(decode *d, cf_error *err)
{
    if (d->forced_at == d->forced.n && is_constrained(d)) {
        CF_TRY(force_text(d, err));
    }
    if (d->forced_at < d->forced.n) {
        return CF_OK;
    }
    const cf_token *ids = ids_of(d) + d->n_given;
    size_t n = n_ids(d) - d->n_given;
    d->n_given += n;
    return cf_draft_next(d->c->draft, ids, n, &d->part, &d->needs_pass, err);
}

/* Forces the end of thinking once its budget is spent, of 0 at once. */
static cf_status keep_budget(decode *d, cf_error *err)
{
    const cf_chat_options *o = d->run->request->options;
    if (cf_chat__reply_is_thinking(&d->reply) && !d->budget_spent &&
        o != NULL && o->has_thinking_budget && o->thinking_budget >= 0 &&
        o->thinking != CF_THINKING_OFF &&
        d->n_thinking >= (uint32_t)o->thinking_budget) {
        return force_end(d, err);
    }
    return CF_OK;
}

static bool is_stop_id(const cf_chat_options *o, cf_token id)
{
    for (size_t i = 0; o != NULL && i < o->n_stop_ids; i++) {
        if (o->stop_ids[i] == id) {
            return true;
        }
    }
    return false;
}

/* Says when the reply will hardly end, and ends it where that is asked for. */
static cf_status watch(decode *d, cf_token id, cf_error *err)
{
    const cf_chat_options *o = d->run->request->options;
    cf_buf note = CF_BUF_INIT;
    cf_status st = cf_reply_watch_add(&d->watch, id, cf_buf_str(&d->piece),
                                      cf_chat__reply_is_thinking(&d->reply),
                                      d->n_thinking, &note, err);
    if (st == CF_OK && note.n > 0) {
        const cf_chat_event ev = {.kind = CF_CHAT_NOTE,
                                  .text = cf_buf_str(&note)};
        cf_chat__emit(d->run, &ev);
        d->is_endless = o != NULL && o->stops_on_loop;
    }
    cf_buf_deinit(&note);
    return st;
}

/* One token; the stop reason is set when it was the last. */
static cf_status step(decode *d, cf_error *err)
{
    cf_chat_response *out = d->run->out;
    const cf_chat_options *o = d->run->request->options;
    cf_draw draw;
    cf_token id = CF_TOKEN_NONE;
    bool is_forced = false, has_draw = false, stopped = false;
    if (cf_chat__is_cancelled(d->run)) {
        return cf_chat__cancelled(err);
    }
    CF_TRY(keep_budget(d, err));
    CF_TRY(next_id(d, &id, &is_forced, &draw, &has_draw, err));
    if (out->timings.n_decode++ == 0) {
        out->timings.first_us = cf_os_monotonic_us() - d->run->started_us;
    }
    cf_buf_reset(&d->piece);
    cf_tokenizer_piece(&d->piece, d->tok, id, true);
    CF_TRY(cf_buf_check(&d->piece, err));
    tell_token(d, id, is_forced, has_draw ? &draw : NULL);
    if (cf_tokenizer_is_end(d->tok, id) || is_stop_id(o, id)) {
        stop_with(d, is_stop_id(o, id) ? CF_STOP_TOKEN : CF_STOP_END,
                  cf_buf_str(&d->piece));
        out->stop.token = id;
        return CF_OK;
    }
    CF_TRY(watch(d, id, err));
    add_id(d, id);
    cf_chat__add_raw(d->run, cf_buf_str(&d->piece));
    CF_TRY(cf_buf_check(&out->raw, err));
    CF_TRY(cf_buf_check(&d->ids, err));
    CF_TRY(cf_chat__reply_add(&d->reply, cf_buf_str(&d->piece), &stopped, err));
    if (stopped) {
        stop_with(d, CF_STOP_STRING, o->stop[d->reply.release.stopped_by]);
        return CF_OK;
    }
    if (d->is_endless) {
        out->stop.reason = CF_STOP_LOOP;
        return CF_OK;
    }
    if (o != NULL && o->max_tokens > 0 &&
        out->timings.n_decode >= o->max_tokens) {
        out->stop.reason = CF_STOP_LENGTH;
        return CF_OK;
    }
    if (n_ids(d) > cf_session_n_ctx(d->c->session)) {
        out->stop.reason = CF_STOP_CONTEXT;
        return CF_OK;
    }
    if (cf_chat__reply_is_thinking(&d->reply)) {
        d->n_thinking++;
    }
    if (d->forced_at == d->forced.n && is_constrained(d) &&
        cf_constraint_may_end(d->constraint) &&
        !cf_constraint_may_continue(d->constraint)) {
        stop_with(d, CF_STOP_END, cf_str_from("constraint"));
        return CF_OK;
    }
    return advance(d, err);
}

/* Starts after what the reply has already. */
static cf_status make_constraint(decode *d, cf_error *err)
{
    const cf_chat_options *o = d->run->request->options;
    if (o == NULL || o->grammar == NULL) {
        return CF_OK;
    }
    size_t n_words = (cf_tokenizer_n_vocab(d->tok) + 31) / 32;
    d->mask = cf_calloc(n_words, sizeof *d->mask);
    if (d->mask == NULL) {
        return cf_oom_for(err, "the mask");
    }
    CF_TRY(cf_constraint_new(&d->constraint, o->grammar, o->vocab, err));
    const cf_buf *start = &d->start;
    size_t n_taken = 0;
    CF_TRY(cf_constraint_bytes(d->constraint, cf_buf_cstr(start), start->n,
                               &n_taken, err));
    if (n_taken != start->n) {
        return cf_fail_at(err, CF_EINVAL, n_taken,
                          "the constraint refuses byte %zu of what the reply "
                          "starts with",
                          n_taken);
    }
    return CF_OK;
}

static cf_status make_sampler(decode *d, cf_error *err)
{
    const cf_chat_options *o = d->run->request->options;
    cf_sampling s = cf_sampling_default();
    if (o != NULL && o->has_sampling) {
        s = o->sampling;
    } else if (o != NULL) {
        s.seed = o->sampling.seed;
    }
    cf_status st =
        cf_sampler_new(&d->sampler, &s, cf_tokenizer_n_vocab(d->tok), err);
    if (st != CF_OK) {
        return st == CF_EINVAL ? cf_chat__fault(d->run, CF_FAULT_OPTION, st)
                               : st;
    }
    cf_buf text = CF_BUF_INIT;
    cf_sampler_describe(d->sampler, &text);
    snprintf(d->run->out->sampler, sizeof d->run->out->sampler, "%s",
             cf_buf_cstr(&text));
    cf_buf_deinit(&text);
    return CF_OK;
}

/* Everything before the first token. */
static cf_status begin(decode *d, cf_error *err)
{
    const core_backend *c = d->c;
    cf_arena arena;
    CF_TRY(cf_chat__reply_init(&d->reply, d->run, c->options.family,
                               c->options.channels, c->options.n_channels,
                               err));
    cf_arena_init(&arena, 0);
    cf_status st = cf_reply_watch_init(&d->watch, err);
    d->watch.most_thinking = cf_thinking_habit_limit(&c->habit);
    CF_THEN(st, make_sampler(d, err));
    CF_THEN(st, prefill(d, &arena, err));
    cf_chat__media_release(&d->media);
    cf_arena_deinit(&arena);
    if (st == CF_OK && d->run->request->is_pending) {
        d->run->out->stop.reason = CF_STOP_PENDING;
        return CF_OK;
    }
    CF_THEN(st, make_constraint(d, err));
    CF_THEN(st, cf_draft_begin(d->c->draft, d->c->session, err));
    d->n_given = n_ids(d);
    d->decode_from = cf_os_monotonic_us();
    return st;
}

static bool goes_on(const decode *d, cf_status st)
{
    return st == CF_OK && d->run->out->stop.reason == CF_STOP_NONE;
}

/* The ids, the message and what later replies may copy. */
static cf_status keep_reply(decode *d, size_t n_reply, cf_error *err)
{
    cf_chat_response *out = d->run->out;
    CF_TRY(cf_chat__reply_finish(&d->reply, NULL, err));
    if (n_reply == 0) {
        return CF_OK;
    }
    CF_TRY(take_ids(&out->reply_ids, &out->n_reply_ids, ids_of(d) + d->n_prompt,
                    n_reply, err));
    return cf_backend_core_add_source(&d->c->base, out->reply_ids, n_reply,
                                      err);
}

/* Everything after the last token, however it came to it. */
static cf_status finish(decode *d, cf_status st, cf_error *err)
{
    cf_chat_response *out = d->run->out;
    size_t n_reply = n_ids(d) - d->n_prompt;
    if (d->decode_from != 0) {
        cf_draft_counts counts = cf_draft_get_counts(d->c->draft);
        out->timings.decode_us = cf_os_monotonic_us() - d->decode_from;
        out->timings.n_passes = (uint32_t)counts.n_passes;
        out->timings.n_accepted = (uint32_t)counts.n_accepted;
    }
    cf_draft_end(d->c->draft);
    out->usage.n_reply = n_reply;
    out->usage.n_total = out->usage.n_prompt + n_reply;
    if (st != CF_ENOMEM && !d->run->request->is_pending &&
        (st == CF_OK || out->raw.n > 0)) {
        cf_error why;
        cf_status end = keep_reply(d, n_reply, &why);
        if (st == CF_OK && end != CF_OK) {
            st = end;
            if (err != NULL) {
                *err = why;
            }
        }
    }
    if (st == CF_OK && out->stop.reason == CF_STOP_END) {
        cf_thinking_habit_add(&d->c->habit, d->n_thinking);
    }
    cf_chat__reply_deinit(&d->reply);
    cf_reply_watch_deinit(&d->watch);
    cf_sampler_free(d->sampler);
    cf_constraint_free(d->constraint);
    cf_free(d->mask);
    cf_buf_deinit(&d->ids);
    cf_buf_deinit(&d->forced);
    cf_buf_deinit(&d->start);
    cf_buf_deinit(&d->piece);
    return st;
}

static decode make_decode(cf_backend *b, cf_chat__run *run)
{
    core_backend *c = (core_backend *)b;
    return (decode){.c = c, .run = run, .tok = cf_engine_tokenizer(c->engine)};
}

static cf_status one_pass(decode *d, cf_error *err)
{
    const cf_core_options *o = &d->c->options;
    cf_cancel *cancel = d->run->request->cancel;
    return o->pass != NULL ? o->pass(o->pass_ud, &d->part, cancel, err)
                           : cf_batch_pass(&d->part, 1, cancel, err);
}

static cf_status stream(cf_backend *b, cf_chat__run *run, cf_error *err)
{
    decode d = make_decode(b, run);
    cf_status st = begin(&d, err);
    while (goes_on(&d, st)) {
        st = step(&d, err);
        while (st == CF_OK && d.needs_pass) {
            st = one_pass(&d, err);
            d.needs_pass = st != CF_OK || !cf_draft_took(d.c->draft, &d.part);
        }
    }
    return finish(&d, st, err);
}

/* ---- several replies side by side --------------------------------------- */

static bool is_of_one_engine(const cf_backend *a, const cf_backend *b)
{
    return a != b && ((const core_backend *)a)->engine ==
                         ((const core_backend *)b)->engine;
}

/* One of several replies. */
typedef struct side {
    decode d;
    size_t n_max; /* of its draft, before */
    bool is_open;
    cf_status *status;
    cf_error *err;
} side;

/* Runs those that need it through as many passes as it takes, one mostly. */
static cf_status pass(side *sides, size_t n, cf_error *err)
{
    cf_advance *parts = cf_calloc(n, sizeof *parts);
    cf_status st = CF_OK;
    if (parts == NULL) {
        return cf_oom_for(err, "a pass");
    }
    for (size_t n_part = 1; st == CF_OK && n_part > 0;) {
        n_part = 0;
        for (size_t i = 0; i < n; i++) {
            if (sides[i].is_open && sides[i].d.needs_pass) {
                parts[n_part++] = sides[i].d.part;
            }
        }
        st = cf_batch_pass(parts, n_part, sides[0].d.run->request->cancel, err);
        for (size_t i = 0, k = 0; st == CF_OK && i < n; i++) {
            decode *d = &sides[i].d;
            if (sides[i].is_open && d->needs_pass) {
                d->part = parts[k++];
                d->needs_pass = !cf_draft_took(d->c->draft, &d->part);
            }
        }
    }
    cf_free(parts);
    return st;
}

static void close_side(side *s)
{
    *s->status = finish(&s->d, *s->status, s->err);
    cf_draft_set_max(s->d.c->draft, s->n_max);
    s->is_open = false;
}

/* One token for each that goes on; those that end leave.  False when none is
 * left. */
static bool step_sides(side *sides, size_t n)
{
    bool is_any = false;
    for (size_t i = 0; i < n; i++) {
        side *s = &sides[i];
        if (!s->is_open) {
            continue;
        }
        *s->status = step(&s->d, s->err);
        if (!goes_on(&s->d, *s->status)) {
            close_side(s);
        }
        is_any = is_any || s->is_open;
    }
    return is_any;
}

/* Renders and computes the prompt of side i.  Several rows of others in a pass
 * leave less to gain from guesses. */
static void open_side(side *s, cf_backend *const *b, size_t i, size_t n,
                      cf_chat__run *run)
{
    s->d = make_decode(b[i], run);
    s->d.earlier = b;
    s->d.n_earlier = i;
    s->n_max = cf_draft_get_max(s->d.c->draft);
    cf_draft_set_max(s->d.c->draft, n > 2 ? 0 : s->n_max);
    s->is_open = true;
    *s->status = cf_chat__is_cancelled(run) ? cf_chat__cancelled(s->err)
                                            : begin(&s->d, s->err);
    if (!goes_on(&s->d, *s->status)) {
        close_side(s);
    }
}

static void stream_many(cf_backend *const *b, cf_chat__run *runs, size_t n,
                        cf_status *status, cf_error *err)
{
    side *sides = cf_calloc(n, sizeof *sides);
    for (size_t i = 0; i < n && sides == NULL; i++) {
        status[i] = cf_oom_for(&err[i], "replies side by side");
    }
    for (size_t i = 0; i < n && sides != NULL; i++) {
        sides[i].status = &status[i];
        sides[i].err = &err[i];
        open_side(&sides[i], b, i, n, &runs[i]);
    }
    while (sides != NULL && step_sides(sides, n)) {
        cf_error why;
        cf_status st = pass(sides, n, &why);
        for (size_t i = 0; i < n && st != CF_OK; i++) {
            if (sides[i].is_open) {
                *sides[i].status = st;
                *sides[i].err = why;
                close_side(&sides[i]);
            }
        }
    }
    cf_free(sides);
}

static cf_status score(cf_backend *b, cf_str context, cf_str text,
                       cf_cancel *cancel, cf_arena *arena, cf_score *out,
                       cf_error *err)
{
    return cf_backend__score_on(((core_backend *)b)->session, context, text,
                                cancel, arena, out, err);
}

/* ---- the rest ----------------------------------------------------------- */

static cf_status clone(cf_backend **out, const cf_backend *from, cf_error *err)
{
    const core_backend *c = (const core_backend *)from;
    core_backend *to = cf_calloc(1, sizeof *to);
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

cf_status cf_backend_core_fork_cache(cf_backend *to, const cf_backend *from,
                                     cf_error *err)
{
    core_backend *c = (core_backend *)to;
    cf_session *copy;
    CF_TRY(cf_session_fork(&copy, ((const core_backend *)from)->session, err));
    cf_session_free(c->session);
    c->session = copy;
    return CF_OK;
}

static const cf_token *cache(const cf_backend *b, size_t *n)
{
    return cf_session_tokens(((const core_backend *)b)->session, n);
}

static size_t checkpoints(const cf_backend *b, uint32_t *pos, size_t cap)
{
    const core_backend *c = (const core_backend *)b;
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

cf_status cf_backend_core_new(cf_backend **out, cf_engine *engine,
                              const cf_core_options *options, cf_error *err)
{
    core_backend *c = cf_calloc(1, sizeof *c);
    if (c == NULL) {
        return cf_oom_for(err, "the engine");
    }
    c->base.ops = &core_ops;
    c->engine = engine;
    cf_backend_core_set(&c->base, options);
    cf_status st = cf_session_new(
        &c->session, engine, options != NULL ? &options->session : NULL, err);
    CF_THEN(st, cf_draft_new(&c->draft, CF_DRAFT_DEFAULT, err));
    if (st != CF_OK) {
        free_core(&c->base);
        return st;
    }
    *out = &c->base;
    return CF_OK;
}

void cf_backend_core_set(cf_backend *b, const cf_core_options *options)
{
    core_backend *c = (core_backend *)b;
    cf_media_cache *media = c->options.media;
    if (options != NULL) {
        c->options = *options;
    }
    c->options.media = c->options.media != NULL ? c->options.media : media;
    if (c->options.renderer.render == NULL) {
        c->options.renderer = cf_renderer_plain();
    }
}

void cf_backend_core_learn_thinking(cf_backend *b, size_t n_replies,
                                    size_t n_most)
{
    if (b->ops == &core_ops) {
        cf_thinking_habit *habit = &((core_backend *)b)->habit;
        habit->n += n_replies;
        habit->most = n_most > habit->most ? n_most : habit->most;
    }
}

void cf_backend_core_set_draft(cf_backend *b, size_t n_max)
{
    if (b->ops == &core_ops) {
        cf_draft_set_max(((core_backend *)b)->draft, n_max);
    }
}

cf_status cf_backend_core_add_source(cf_backend *b, const cf_token *ids,
                                     size_t n, cf_error *err)
{
    const core_backend *c = (const core_backend *)b;
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
    return b->ops == &core_ops ? ((core_backend *)b)->session : NULL;
}

cf_media_cache *cf_backend_core_media(const cf_backend *b)
{
    return b->ops == &core_ops ? ((const core_backend *)b)->options.media
                               : NULL;
}
