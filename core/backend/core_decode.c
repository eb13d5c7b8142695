/*
 * core_decode.c - one reply of the built-in engine: syncs the session with the
 * prompt, then draws, forces and reports tokens until something ends it.
 *
 * Always true:
 *   1. The cache is only changed by cf_session_sync() and _step(), so it holds
 *      exactly the tokens that cf_session_tokens() returns, however a call
 *      ended; the next call keeps the common prefix.
 *   2. An end token and a token that completed a stop string are drawn, but
 *      not put into the cache.
 */
#include "core/backend/core_decode.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"

/* ---- the prompt --------------------------------------------------------- */

static cf_status try_render(const cf_chat__core *c, const cf_chat_request *request, cf_arena *arena,
                            cf_chat__media *media, cf_prompt *out, cf_error *err)
{
    const cf_tokenizer *tok = cf_engine_tokenizer(c->engine);
    json_t *context = cf_chat__context(request);
    cf_status st =
        context != NULL ? cf_prompt_add_special(context, tok, err) : cf_oom_for(err, "the context");
    CF_THEN(st, cf_chat__media_take(media, context, request->cancel, err));
    CF_THEN(st, cf_chat__render(&c->options.renderer, request, context, arena, out, err));
    CF_THEN(st, cf_chat__media_expand(media, out, err));
    json_decref(context);
    return st;
}

/* Renders, with the media of the messages in place; release them after a
 * failure, too.  Where the template has no place for pictures of tools'
 * results, or one cannot be read, the results are text. */
cf_status cf_chat__core_render(const cf_chat__core *c, const cf_chat_request *request,
                               cf_arena *arena, cf_chat__media *media, cf_prompt *out,
                               cf_error *err)
{
    *media = (cf_chat__media){.cache = c->options.media, .arena = arena, .core = &c->options};
    cf_status st = try_render(c, request, arena, media, out, err);
    if (cf_chat__media_skip(media, st)) {
        st = try_render(c, request, arena, media, out, err);
    }
    return st;
}

/* ---- one call ----------------------------------------------------------- */

static size_t n_ids(const cf_chat__decode *d)
{
    return d->ids.n / sizeof(cf_token);
}

static const cf_token *ids_of(const cf_chat__decode *d)
{
    return (const cf_token *)(const void *)d->ids.p;
}

static void add_id(cf_chat__decode *d, cf_token id)
{
    cf_buf_add(&d->ids, &id, sizeof id);
}

static void on_prefill(void *ud, size_t done, size_t total)
{
    const cf_chat__decode *d = ud;
    cf_chat_event ev = {.kind = CF_CHAT_PREFILL, .n_done = done, .n_total = total};
    cf_chat__emit(d->run, &ev);
}

static void on_hidden(void *ud, uint32_t pos, const float *hidden)
{
    const cf_chat__decode *d = ud;
    cf_draft_hidden(d->c->draft, pos, hidden);
}

/* Says how much there is to compute, before the first batch of it is done. */
static void announce_prefill(cf_chat__decode *d)
{
    size_t n = n_ids(d);
    on_prefill(d, 0, n - cf_session_would_sync(d->c->session, ids_of(d), n));
}

/* Tells the prompt before anything is computed. */
static void tell_prompt(const cf_chat__decode *d, const cf_prompt *prompt)
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
static cf_status add_quietly(cf_chat__decode *d, cf_str text, cf_error *err)
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

static cf_status add_start(cf_chat__decode *d, cf_error *err)
{
    const cf_chat_request *q = d->run->request;
    size_t n_vocab = cf_tokenizer_n_vocab(d->tok);
    for (size_t i = 0; i < q->reply_prefix.n; i++) {
        CF_TRY(add_quietly(d, cf_str_make(q->reply_prefix.p + i, 1), err));
    }
    for (size_t i = 0; i < q->n_reply_ids; i++) {
        cf_token id = q->reply_ids[i];
        if (id < 0 || (size_t)id >= n_vocab) {
            return cf_fail(err, CF_EINVAL, "reply token %d is outside the vocabulary", (int)id);
        }
        add_id(d, id);
        cf_buf_reset(&d->piece);
        cf_tokenizer_piece(&d->piece, d->tok, id, true);
        CF_TRY(cf_buf_check(&d->piece, err));
        CF_TRY(add_quietly(d, cf_str_make(d->piece.p, d->piece.n), err));
    }
    return cf_buf_check(&d->ids, err);
}

static cf_status take_ids(cf_token **out, size_t *n, const cf_token *v, size_t n_v, cf_error *err)
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
static size_t n_common(const cf_chat__core *c, const cf_token *ids, size_t n)
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
static void borrow(const cf_chat__decode *d)
{
    cf_chat__core *c = d->c;
    const cf_chat__core *best = c;
    for (size_t i = 0; i < d->n_earlier; i++) {
        const cf_chat__core *from = (const cf_chat__core *)d->earlier[i];
        if (n_common(from, ids_of(d), n_ids(d)) > n_common(best, ids_of(d), n_ids(d))) {
            best = from;
        }
    }
    if (best != c) {
        cf_ignore(cf_session_adopt(c->session, best->session, NULL));
    }
}

/* Makes the session hold all ids: alone, or in passes with others. */
static cf_status sync(cf_chat__decode *d, const cf_token_list *list, const cf_run *run,
                      cf_sync_result *out, cf_error *err)
{
    const cf_core_options *o = &d->c->options;
    if (d->media.n > 0) {
        return cf_chat__media_sync(&d->media, d->run, d->c->session, list, ids_of(d), n_ids(d), run,
                                   out, err);
    }
    return o->sync != NULL ? o->sync(o->pass_ud, d->c->session, ids_of(d), n_ids(d), run, out, err)
                           : cf_session_sync(d->c->session, ids_of(d), n_ids(d), run, out, err);
}

/* Renders the prompt, and makes tokens of it and of the reply's prefix. */
static cf_status render(cf_chat__decode *d, cf_arena *arena, cf_prompt *prompt, cf_token_list *list,
                        cf_error *err)
{
    cf_chat_response *out = d->run->out;
    uint64_t t = cf_os_monotonic_us();
    cf_status st = cf_chat__core_render(d->c, d->run->request, arena, &d->media, prompt, err);
    out->timings.render_us = cf_os_monotonic_us() - t;
    out->timings.engine = cf_engine_get_info(d->c->engine).engine;
    if (st != CF_OK) {
        return st == CF_ENOMEM || st == CF_ECANCELLED
                   ? st
                   : cf_chat__fault(d->run, CF_FAULT_TEMPLATE, st);
    }
    cf_buf_add(&out->prompt, prompt->text.p, prompt->text.n);
    CF_TRY(cf_buf_check(&out->prompt, err));
    t = cf_os_monotonic_us();
    CF_TRY(cf_chat__tokenise(list, prompt, &d->media, d->run->request->reply_prefix, d->tok, arena,
                             err));
    if (d->media.n > 0) {
        out->media = cf_chat__media_json(&d->media, list);
        CF_TRY(out->media != NULL ? CF_OK : cf_oom_for(err, "the prompt"));
    }
    for (size_t i = 0; i < list->n; i++) {
        add_id(d, list->v[i].id);
        d->n_prompt += list->v[i].off < prompt->text.n ? 1 : 0;
    }
    out->timings.tokenise_us = cf_os_monotonic_us() - t;
    return CF_OK;
}

/* The prompt that the request gives as tokens. */
static cf_status take_prompt_ids(cf_chat__decode *d, cf_error *err)
{
    const cf_chat_request *q = d->run->request;
    cf_buf *text = &d->run->out->prompt;
    for (size_t i = 0; i < q->n_prompt_ids; i++) {
        const cf_token id = q->prompt_ids[i];
        if (id < 0 || (size_t)id >= cf_tokenizer_n_vocab(d->tok)) {
            return cf_fail(err, CF_EINVAL, "token %d is outside the vocabulary", (int)id);
        }
        add_id(d, id);
    }
    cf_tokenizer_decode(text, d->tok, q->prompt_ids, q->n_prompt_ids, true);
    d->n_prompt = q->n_prompt_ids;
    return cf_buf_check(text, err);
}

/* Renders, tokenises and syncs. */
static cf_status prefill(cf_chat__decode *d, cf_arena *arena, cf_error *err)
{
    cf_chat_response *out = d->run->out;
    cf_prompt prompt = {.n_spans = 0};
    cf_token_list list = {NULL, 0};
    CF_TRY(d->run->request->n_prompt_ids > 0 ? take_prompt_ids(d, err)
                                             : render(d, arena, &prompt, &list, err));
    CF_TRY(cf_buf_check(&d->ids, err));
    CF_TRY(take_ids(&out->prompt_ids, &out->n_prompt_ids, ids_of(d), d->n_prompt, err));
    cf_chat__reply_after_prompt(&d->reply, prompt.text);
    CF_TRY(add_start(d, err));
    if (n_ids(d) == 0) {
        return cf_chat__fault(d->run, CF_FAULT_TEMPLATE,
                              cf_fail(err, CF_EINVAL, "the prompt has no token"));
    }
    tell_prompt(d, &prompt);
    borrow(d);
    cf_chat__find_divergence(d->run, d->c->session, &prompt, &list, ids_of(d), n_ids(d));
    cf_run run = {.cancel = d->run->request->cancel,
                  .progress = on_prefill,
                  .ud = d,
                  .keep_at = cf_chat__end_of_messages(&prompt, &list)};
    announce_prefill(d);
    uint64_t t = cf_os_monotonic_us();
    CF_TRY(cf_draft_prepare(d->c->draft, d->c->session, err));
    run.hidden = cf_draft_wants_hidden(d->c->draft) ? on_hidden : NULL;
    cf_status st = sync(d, &list, &run, &out->sync, err);
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
static cf_status force_end(cf_chat__decode *d, cf_error *err)
{
    cf_arena arena;
    cf_token_list list = {NULL, 0};
    cf_buf text = CF_BUF_INIT;
    cf_arena_init(&arena, 0);
    cf_buf_addc(&text, '\n');
    const cf_channel_split *s = &d->reply.split;
    cf_str end = s->channels[s->open < s->n ? s->open : 0].end;
    cf_buf_add(&text, end.p, end.n);
    cf_buf_adds(&text, "\n\n");
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, cf_tokenizer_encode(&list, d->tok, cf_str_make(text.p, text.n), true, false, &arena,
                                    err));
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
static cf_status force_text(cf_chat__decode *d, cf_error *err)
{
    cf_arena arena;
    cf_token_list list = {NULL, 0};
    cf_arena_init(&arena, 0);
    cf_status st = cf_constraint_forced_tokens(d->constraint, d->tok, &arena, &list, err);
    for (size_t i = 0; st == CF_OK && i < list.n; i++) {
        cf_buf_add(&d->forced, &list.v[i].id, sizeof list.v[i].id);
        st = cf_constraint_token(d->constraint, list.v[i].id, err);
        d->grammar_forces = true;
    }
    cf_arena_deinit(&arena);
    return st == CF_OK ? cf_buf_check(&d->forced, err) : st;
}

static uint32_t count_allowed(const cf_chat__decode *d)
{
    uint32_t n = 0;
    size_t n_vocab = cf_tokenizer_n_vocab(d->tok);
    for (size_t i = 0; i < n_vocab; i++) {
        n += d->mask[i / 32] >> i % 32 & 1;
    }
    return n;
}

/* One token that the grammar allows. */
static cf_status draw_allowed(cf_chat__decode *d, cf_token *id, cf_draw *draw, cf_error *err)
{
    const cf_chat_options *o = d->run->request->options;
    CF_TRY(cf_constraint_mask(d->constraint, d->mask, err));
    CF_TRY(cf_sampler_draw(d->sampler, cf_draft_logits(d->c->draft), ids_of(d), n_ids(d), d->mask,
                           o->n_top, id, draw, err));
    return cf_constraint_token(d->constraint, *id, err);
}

static bool is_constrained(const cf_chat__decode *d)
{
    return d->constraint != NULL && !cf_chat__reply_is_thinking(&d->reply);
}

static cf_status next_id(cf_chat__decode *d, cf_token *id, bool *is_forced, cf_draw *draw,
                         bool *has_draw, cf_error *err)
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
    CF_TRY(cf_sampler_draw(d->sampler, cf_draft_logits(d->c->draft), ids_of(d), n_ids(d), NULL,
                           n_top, id, n_top > 0 ? draw : NULL, err));
    return CF_OK;
}

static void stop_with(cf_chat__decode *d, cf_stop_reason reason, cf_str what)
{
    cf_stop *stop = &d->run->out->stop;
    cf_buf shown = CF_BUF_INIT;
    cf_safe_line(&shown, what.p, what.n);
    stop->reason = reason;
    snprintf(stop->what, sizeof stop->what, "%s", cf_buf_cstr(&shown));
    cf_buf_deinit(&shown);
}

static void tell_token(cf_chat__decode *d, cf_token id, bool is_forced, const cf_draw *draw)
{
    cf_chat_event ev = {.kind = CF_CHAT_TOKEN, .text = cf_buf_str(&d->piece)};
    ev.token = (cf_chat_token){
        .id = id,
        .p = draw != NULL ? draw->chosen.p_post : -1,
        .is_forced = is_forced,
        .is_drafted = d->n_given == n_ids(d) && cf_draft_is_guessed(d->c->draft, &id, 1),
        .is_held = is_constrained(d) && (!is_forced || d->grammar_forces),
        .n_allowed = draw != NULL && is_constrained(d) ? count_allowed(d) : 0,
        .raw_off = d->run->out->raw.n,
        .draw = draw,
    };
    cf_chat__emit(d->run, &ev);
}

/* Where there are guesses: between passes, so that nobody looks at them while they
 * are taken back. */
static bool hold(const cf_chat__decode *d)
{
    const cf_core_options *o = &d->c->options;
    size_t n_have;
    (void)cf_session_tokens(d->c->session, &n_have);
    const bool is_held = o->hold != NULL && n_have > d->n_given;
    if (is_held) {
        o->hold(o->pass_ud);
    }
    return is_held;
}

static void release(const cf_chat__decode *d, bool is_held)
{
    if (is_held) {
        d->c->options.release(d->c->options.pass_ud);
    }
}

/* Has the draft compute what was added, unless more of it is known already:
 * then all of it goes in one pass. */
static cf_status advance(cf_chat__decode *d, cf_error *err)
{
    if (d->forced_at == d->forced.n && is_constrained(d)) {
        CF_TRY(force_text(d, err));
    }
    if (d->forced_at < d->forced.n) {
        return CF_OK;
    }
    const cf_token *ids = ids_of(d) + d->n_given;
    size_t n = n_ids(d) - d->n_given;
    const bool is_held = hold(d);
    d->n_given += n;
    cf_status st = cf_draft_next(d->c->draft, ids, n, &d->part, &d->needs_pass, err);
    release(d, is_held);
    return st;
}

/* Forces the end of thinking once its budget is spent, of 0 at once. */
static cf_status keep_budget(cf_chat__decode *d, cf_error *err)
{
    const cf_chat_options *o = d->run->request->options;
    if (cf_chat__reply_is_thinking(&d->reply) && !d->budget_spent && o != NULL &&
        o->has_thinking_budget && o->thinking_budget >= 0 && o->thinking != CF_THINKING_OFF &&
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
static cf_status watch(cf_chat__decode *d, cf_token id, cf_error *err)
{
    const cf_chat_options *o = d->run->request->options;
    cf_buf note = CF_BUF_INIT;
    cf_status st =
        cf_reply_watch_add(&d->watch, id, cf_buf_str(&d->piece),
                           cf_chat__reply_is_thinking(&d->reply), d->n_thinking, &note, err);
    if (st == CF_OK && note.n > 0) {
        const cf_chat_event ev = {.kind = CF_CHAT_NOTE, .text = cf_buf_str(&note)};
        cf_chat__emit(d->run, &ev);
        d->is_endless = o != NULL && o->stops_on_loop;
    }
    cf_buf_deinit(&note);
    return st;
}

/* One token; the stop reason is set when it was the last. */
cf_status cf_chat__decode_step(cf_chat__decode *d, cf_error *err)
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
        stop_with(d, is_stop_id(o, id) ? CF_STOP_TOKEN : CF_STOP_END, cf_buf_str(&d->piece));
        out->stop.token = id;
        return CF_OK;
    }
    CF_TRY(watch(d, id, err));
    add_id(d, id);
    cf_chat__add_raw(d->run, cf_buf_str(&d->piece));
    cf_chat__tell_raw(d->run, cf_buf_str(&d->piece));
    CF_TRY(cf_buf_check(&out->raw, err));
    CF_TRY(cf_buf_check(&d->ids, err));
    CF_TRY(cf_chat__reply_add(&d->reply, cf_buf_str(&d->piece), &stopped, err));
    if (stopped) {
        stop_with(d, CF_STOP_STRING, o->stop[d->reply.release.stopped_by]);
        return CF_OK;
    }
    if (cf_chat__reply_is_full(&d->reply)) {
        stop_with(d, CF_STOP_END, cf_str_from("calls"));
        return CF_OK;
    }
    if (d->is_endless) {
        out->stop.reason = CF_STOP_LOOP;
        return CF_OK;
    }
    if (o != NULL && o->max_tokens > 0 && out->timings.n_decode >= o->max_tokens) {
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
    if (d->forced_at == d->forced.n && is_constrained(d) && cf_constraint_may_end(d->constraint) &&
        !cf_constraint_may_continue(d->constraint)) {
        stop_with(d, CF_STOP_END, cf_str_from("constraint"));
        return CF_OK;
    }
    return advance(d, err);
}

/* Starts after what the reply has already. */
static cf_status make_constraint(cf_chat__decode *d, cf_error *err)
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
    CF_TRY(cf_constraint_bytes(d->constraint, cf_buf_cstr(start), start->n, &n_taken, err));
    if (n_taken != start->n) {
        return cf_fail_at(err, CF_EINVAL, n_taken,
                          "the constraint refuses byte %zu of what the reply "
                          "starts with",
                          n_taken);
    }
    return CF_OK;
}

static cf_status make_sampler(cf_chat__decode *d, cf_error *err)
{
    const cf_chat_options *o = d->run->request->options;
    cf_sampling s = cf_sampling_default();
    if (o != NULL && o->has_sampling) {
        s = o->sampling;
    } else if (o != NULL) {
        s.seed = o->sampling.seed;
    }
    cf_status st = cf_sampler_new(&d->sampler, &s, cf_tokenizer_n_vocab(d->tok), err);
    if (st != CF_OK) {
        return st == CF_EINVAL ? cf_chat__fault(d->run, CF_FAULT_OPTION, st) : st;
    }
    cf_buf text = CF_BUF_INIT;
    cf_sampler_describe(d->sampler, &text);
    snprintf(d->run->out->sampler, sizeof d->run->out->sampler, "%s", cf_buf_cstr(&text));
    cf_buf_deinit(&text);
    return CF_OK;
}

/* Everything before the first token. */
cf_status cf_chat__decode_begin(cf_chat__decode *d, cf_error *err)
{
    const cf_chat__core *c = d->c;
    cf_arena arena;
    CF_TRY(cf_chat__reply_init(&d->reply, d->run, c->options.family, c->options.channels,
                               c->options.n_channels, err));
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
    CF_THEN(st, cf_draft_begin(d->c->draft, d->c->session, d->run->request->cancel, err));
    d->n_given = n_ids(d);
    d->decode_from = cf_os_monotonic_us();
    return st;
}

bool cf_chat__decode_goes_on(const cf_chat__decode *d, cf_status st)
{
    return st == CF_OK && d->run->out->stop.reason == CF_STOP_NONE;
}

/* The ids, the message and what later replies may copy. */
static cf_status keep_reply(cf_chat__decode *d, size_t n_reply, cf_error *err)
{
    cf_chat_response *out = d->run->out;
    CF_TRY(cf_chat__reply_finish(&d->reply, NULL, err));
    if (n_reply == 0) {
        return CF_OK;
    }
    CF_TRY(take_ids(&out->reply_ids, &out->n_reply_ids, ids_of(d) + d->n_prompt, n_reply, err));
    return cf_backend_core_add_source(&d->c->base, out->reply_ids, n_reply, err);
}

/* Everything after the last token, however it came to it. */
cf_status cf_chat__decode_finish(cf_chat__decode *d, cf_status st, cf_error *err)
{
    cf_chat_response *out = d->run->out;
    size_t n_reply = n_ids(d) - d->n_prompt;
    if (d->decode_from != 0) {
        cf_draft_counts counts = cf_draft_get_counts(d->c->draft);
        out->timings.decode_us = cf_os_monotonic_us() - d->decode_from;
        out->timings.n_passes = (uint32_t)counts.n_passes;
        out->timings.n_drafted = (uint32_t)counts.n_guessed;
        out->timings.n_accepted = (uint32_t)counts.n_accepted;
    }
    const bool is_held = hold(d);
    cf_draft_end(d->c->draft);
    release(d, is_held);
    out->usage.n_reply = n_reply;
    out->usage.n_total = out->usage.n_prompt + n_reply;
    if (st != CF_ENOMEM && !d->run->request->is_pending && (st == CF_OK || out->raw.n > 0)) {
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

cf_chat__decode cf_chat__decode_make(cf_backend *b, cf_chat__run *run)
{
    cf_chat__core *c = (cf_chat__core *)b;
    return (cf_chat__decode){.c = c, .run = run, .tok = cf_engine_tokenizer(c->engine)};
}

cf_status cf_chat__decode_pass(cf_chat__decode *d, cf_error *err)
{
    const cf_core_options *o = &d->c->options;
    cf_cancel *cancel = d->run->request->cancel;
    return o->pass != NULL ? o->pass(o->pass_ud, &d->part, cancel, err)
                           : cf_batch_pass(&d->part, 1, cancel, err);
}
