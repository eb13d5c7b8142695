/*
 * lab_reply.c - how a reply's record grows.
 *
 * Always true:
 *   1. The tokens follow each other in `raw`; token i begins at its raw_off.
 *   2. The first n_start tokens were given, and are marked as forced.
 *   3. Draws and candidate texts of tokens belong to the reply.
 */
#include "tui/lab/reply/lab_reply.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "core/base/utf8.h"
#include "tui/lab/reply/reply_rule.h"
#include "tui/lab/reply/run_options.h"

static void free_tokens(cf_reply *r)
{
    for (size_t i = 0; i < r->n_token; i++) {
        cf_free((void *)(uintptr_t)r->token[i].draw);
        cf_free((void *)(uintptr_t)r->token[i].top);
    }
    cf_free(r->token);
    r->token = NULL;
    r->n_token = r->cap_token = 0;
}

static void free_live(cf_reply *r)
{
    cf_buf_deinit(&r->text);
    cf_buf_deinit(&r->thinking);
    cf_buf_deinit(&r->calls);
    r->is_live = false;
}

void cf_reply_deinit(cf_reply *reply)
{
    free_tokens(reply);
    free_live(reply);
    cf_free(reply->prompt_ids);
    cf_lab_rule_drop(reply->rule);
    cf_buf_deinit(&reply->notes);
    cf_buf_deinit(&reply->facts);
    cf_buf_deinit(&reply->adapters);
    cf_buf_deinit(&reply->raw);
    cf_buf_deinit(&reply->chunks);
    *reply = (cf_reply){.is_live = false};
}

void cf_reply_begin(cf_reply *reply, cf_uuid parent)
{
    cf_reply_deinit(reply);
    reply->is_live = true;
    reply->parent = parent;
    reply->start_us = cf_os_monotonic_us();
}

/* ---- events ------------------------------------------------------------- */

static size_t bytes_of_top(const cf_text_candidate *top, size_t n)
{
    size_t bytes = n * sizeof *top;
    for (size_t i = 0; i < n; i++) {
        bytes += top[i].text.n;
    }
    return bytes;
}

/* Candidates with their texts after them, into `to`. */
static void copy_top(void *to, const cf_text_candidate *top, size_t n)
{
    cf_text_candidate *v = to;
    char *text = (char *)(v + n);
    for (size_t i = 0; i < n; i++) {
        if (top[i].text.n != 0) {
            memcpy(text, top[i].text.p, top[i].text.n);
        }
        v[i] = (cf_text_candidate){cf_str_make(text, top[i].text.n), top[i].p};
        text += top[i].text.n;
    }
}

cf_chat_event *cf_reply_copy_event(const cf_chat_event *e)
{
    const cf_chat_token *t = &e->token;
    bool is_prompt = e->kind == CF_CHAT_PROMPT;
    size_t n_ids = is_prompt ? e->n_ids - e->n_prompt : 0;
    size_t n_draw = t->draw != NULL ? sizeof *t->draw : 0;
    size_t n_top = bytes_of_top(t->top, t->n_top);
    size_t n_text = is_prompt ? 0 : e->text.n;
    size_t top_at = sizeof *e + n_draw;
    size_t ids_at = top_at + (n_top + 7) / 8 * 8;
    size_t text_at = ids_at + n_ids * sizeof *e->ids;
    char *block = cf_alloc(text_at + n_text + 1);
    if (block == NULL) {
        return NULL;
    }
    cf_chat_event *copy = (cf_chat_event *)(void *)block;
    *copy = *e;
    copy->call = NULL;
    copy->media = NULL;
    copy->n_ids = n_ids;
    copy->n_prompt = 0;
    copy->ids = (const cf_token *)(const void *)(block + ids_at);
    copy->text = cf_str_make(block + text_at, n_text);
    if (n_draw != 0) {
        copy->token.draw = memcpy(block + sizeof *e, t->draw, n_draw);
    }
    if (t->n_top != 0) {
        copy_top(block + top_at, t->top, t->n_top);
        copy->token.top = (const cf_text_candidate *)(const void *)(block + top_at);
    }
    if (n_ids != 0) {
        memcpy(block + ids_at, e->ids + e->n_prompt, n_ids * sizeof *e->ids);
    }
    if (n_text != 0) {
        memcpy(block + text_at, e->text.p, n_text);
    }
    return copy;
}

/* Adds a token, with copies of what it points to; false when memory ran
 * out. */
static bool add_token(cf_reply *r, const cf_chat_token *t)
{
    if (!cf_grow(&r->token, &r->cap_token, r->n_token + 1, sizeof *r->token)) {
        r->is_partial = true;
        return false;
    }
    cf_chat_token *own = &r->token[r->n_token];
    *own = *t;
    if (t->draw != NULL) { /* where memory runs out: shown without */
        cf_draw *draw = cf_alloc(sizeof *draw);
        if (draw != NULL) {
            *draw = *t->draw;
        }
        own->draw = draw;
        r->is_partial = r->is_partial || draw == NULL;
    }
    void *top = t->n_top != 0 ? cf_alloc(bytes_of_top(t->top, t->n_top)) : NULL;
    if (top != NULL) {
        copy_top(top, t->top, t->n_top);
    }
    own->top = top;
    own->n_top = top != NULL ? t->n_top : 0;
    r->is_partial = r->is_partial || own->n_top != t->n_top;
    r->n_token++;
    return true;
}

/* Adds a token whose place in the reply follows from its text alone. */
static bool place_token(cf_reply *r, const cf_tokenizer *tok, cf_chat_token t)
{
    t.raw_off = r->n_placed;
    if (tok != NULL) {
        cf_buf piece = CF_BUF_INIT;
        cf_tokenizer_piece(&piece, tok, t.id, true);
        r->n_placed += piece.n;
        bool is_whole = !piece.failed;
        cf_buf_deinit(&piece);
        if (!is_whole) {
            r->is_partial = true;
            return false;
        }
    }
    return add_token(r, &t);
}

/* Adds tokens that were given, not sampled. */
static bool add_given(cf_reply *r, const cf_tokenizer *tok, const cf_token *ids, size_t n)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        ok = place_token(r, tok, (cf_chat_token){.id = ids[i], .p = -1, .is_forced = true});
    }
    return ok;
}

static void note_first(cf_reply *r)
{
    r->first_us = r->first_us != 0 ? r->first_us : cf_os_monotonic_us();
}

static void note_encoding(cf_reply *r, const cf_chat_event *e)
{
    r->encoding[0] = '\0';
    if (e->n_done < e->n_total) {
        cf_chat_encode_text(r->encoding, sizeof r->encoding, e);
    }
}

void cf_reply_add(cf_reply *r, const cf_tokenizer *tok, const cf_chat_event *e)
{
    switch (e->kind) {
    case CF_CHAT_ENCODE:
        note_encoding(r, e);
        break;
    case CF_CHAT_PREFILL:
        r->encoding[0] = '\0';
        r->n_done = e->n_done;
        r->n_total = e->n_total;
        break;
    case CF_CHAT_PROMPT:
        (void)add_given(r, tok, e->ids + e->n_prompt, e->n_ids - e->n_prompt);
        r->n_start = r->n_token;
        r->start_content = e->n_content;
        break;
    case CF_CHAT_TOKEN:
        note_first(r);
        (void)add_token(r, &e->token); /* else whole, but not inspectable */
        break;
    case CF_CHAT_RAW:
        cf_buf_add(&r->raw, e->text.p, e->text.n);
        break;
    case CF_CHAT_TEXT:
        note_first(r);
        cf_buf_add(&r->text, e->text.p, e->text.n);
        break;
    case CF_CHAT_THINKING:
        cf_buf_add(&r->thinking, e->text.p, e->text.n);
        break;
    case CF_CHAT_CALL_DELTA:
        cf_buf_add(&r->calls, e->text.p, e->text.n);
        break;
    case CF_CHAT_NOTE:
        cf_buf_add(&r->notes, e->text.p, e->text.n);
        cf_buf_addc(&r->notes, '\n');
        break;
    default:
        break; /* the response has the others */
    }
}

/* One line of what a server reports, the others after it. */
static void add_facts(cf_reply *r, const json_t *server)
{
    static const char *const keys[] = {"model", "system_fingerprint", "service_tier", "provider",
                                       "id"};
    cf_buf_restart(&r->facts);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        cf_str v = cf_json_get_str(server, keys[i]);
        if (v.n > 0) {
            cf_buf_adds(&r->facts, r->facts.n > 0 ? "  " : "");
            cf_safe_line(&r->facts, v.p, v.n);
        }
    }
}

/* Ends that are neither the model's own nor an error. */
static void add_end(cf_reply *r, cf_str reason)
{
    if (cf_str_is(reason, cf_stop_reason_name(CF_STOP_FILTERED))) {
        cf_buf_adds(&r->notes, "the server's content filter ended it\n");
    } else if (cf_str_is(reason, "refusal")) {
        cf_buf_adds(&r->notes, "the model refused\n");
    }
}

/* A reply that began with a given text: the tokens of that text are only in
 * the response.  They go before the others, so that the reply can be seen
 * whole and forked at any of its tokens. */
static void add_missing(cf_reply *r, const cf_tokenizer *tok, const cf_chat_response *from)
{
    cf_reply whole = {.is_live = false};
    size_t n = r->n_token;
    if (from->n_reply_ids <= n || tok == NULL) {
        return;
    }
    size_t n_given = from->n_reply_ids - n;
    for (size_t i = 0; i < n; i++) {
        if (r->token[i].id != from->reply_ids[n_given + i]) {
            return;
        }
    }
    if (!cf_grow(&whole.token, &whole.cap_token, from->n_reply_ids, sizeof *whole.token) ||
        !add_given(&whole, tok, from->reply_ids, n_given)) {
        free_tokens(&whole);
        return; /* shown without its beginning */
    }
    if (n != 0) {
        memcpy(whole.token + n_given, r->token, n * sizeof *r->token);
    }
    cf_free(r->token);
    r->token = whole.token;
    r->cap_token = whole.cap_token;
    r->n_token = from->n_reply_ids;
}

void cf_reply_finish(cf_reply *r, const cf_tokenizer *tok, cf_chat_response *from)
{
    static const cf_buf none = CF_BUF_INIT;
    free_live(r);
    cf_buf_deinit(&r->raw);
    cf_buf_deinit(&r->chunks);
    r->raw = from->raw;
    r->chunks = from->chunks;
    r->prompt_ids = from->prompt_ids;
    r->n_prompt_ids = from->n_prompt_ids;
    from->raw = from->chunks = none;
    from->prompt_ids = NULL;
    from->n_prompt_ids = 0;
    add_missing(r, tok, from);
    r->usage = from->usage;
    r->timings = from->timings;
    r->stop = from->stop;
    add_facts(r, from->vendor);
    add_end(r, cf_str_from(cf_stop_reason_name(from->stop.reason)));
    add_end(r, cf_str_from(from->stop.what));
    r->sync = from->sync;
    snprintf(r->cause, sizeof r->cause, "%s", from->divergence.has ? from->divergence.cause : "");
    r->lost_line = from->divergence.line;
    snprintf(r->sampler, sizeof r->sampler, "%s", from->sampler);
    r->n_calls = (uint32_t)json_array_size(json_object_get(from->message, "tool_calls"));
}

/* ---- stored replies ----------------------------------------------------- */

/* Which tokens were given, forced or drafted, and which the constraint took. */
static void mark_tokens(cf_reply *r, const cf_store_run *run)
{
    cf_arena arena;
    cf_run_options o;
    cf_arena_init(&arena, 0);
    cf_status st = cf_run_options_read(&o, run->options, &arena, NULL);
    r->is_partial = r->is_partial || st == CF_ENOMEM;
    if (st == CF_OK) {
        r->n_start = o.n_start < r->n_token ? o.n_start : r->n_token;
        r->start_content = o.start_content;
        json_t *server = NULL;
        cf_run_options_adapters(&r->adapters, o.adapters);
        cf_run_options_adapters(&r->adapters, o.steering);
        if (o.server.n > 0 && cf_json_read(&server, o.server.p, o.server.n, NULL) == CF_OK) {
            add_facts(r, server);
        }
        json_decref(server);
        for (size_t i = 0; i < r->n_start; i++) {
            r->token[i].is_forced = true;
        }
        for (size_t i = 0; i < o.n_forced; i++) {
            if (o.forced[i] < r->n_token) {
                r->token[o.forced[i]].is_forced = true;
            }
        }
        for (size_t i = 0; i + 1 < o.n_held; i += 2) {
            for (size_t t = o.held[i]; t < o.held[i + 1] && t < r->n_token; t++) {
                r->token[t].is_held = true;
            }
        }
        for (size_t i = 0; i + 1 < o.n_drafted; i += 2) {
            for (size_t t = o.drafted[i]; t < o.drafted[i + 1] && t < r->n_token; t++) {
                r->token[t].is_drafted = true;
            }
        }
    }
    cf_arena_deinit(&arena);
}

/* The names of a draw's steps from the reader's to the reply's own. */
static void own_names(cf_draw *draw, const cf_trace_reader *reader, cf_trace_writer *own)
{
    *own = reader->names;
    for (size_t i = 0; i < draw->n_step; i++) {
        size_t at = (size_t)(draw->step[i].name - reader->names.names[0]);
        draw->step[i].name = own->names[at / CF_TRACE_NAME];
    }
}

/* Tokens with their draws; tokens that were given or forced may have no
 * record in the trace. */
static bool load_tokens(cf_reply *r, const cf_tokenizer *tok, const cf_store_run *run)
{
    cf_trace_reader reader;
    cf_token id = CF_TOKEN_NONE;
    bool has_record = false, has_draw = false, ok = true;
    cf_draw draw;
    cf_trace_open(&reader, run->trace);
    for (size_t i = 0; ok && i < run->n_reply_ids; i++) {
        if (!has_record) {
            has_record = cf_trace_next(&reader, &id, &has_draw, &draw);
            if (has_record && has_draw) {
                own_names(&draw, &reader, &r->steps);
            }
        }
        bool is_its = has_record && id == run->reply_ids[i];
        cf_chat_token t = {.id = run->reply_ids[i], .p = -1};
        if (is_its && has_draw) {
            t.draw = &draw;
            t.p = draw.chosen.p_post;
        }
        ok = place_token(r, tok, t);
        has_record = has_record && !is_its;
    }
    return ok;
}

static void take_prompt(cf_reply *r, const cf_token *ids, size_t n)
{
    cf_free(r->prompt_ids);
    r->n_prompt_ids = 0;
    r->prompt_ids = cf_calloc(n + 1, sizeof *r->prompt_ids);
    r->is_partial = r->is_partial || r->prompt_ids == NULL;
    if (r->prompt_ids != NULL && n != 0) {
        memcpy(r->prompt_ids, ids, n * sizeof *r->prompt_ids);
        r->n_prompt_ids = n;
    }
}

/* A stored number; absent ones are -1. */
static uint64_t number(int64_t v)
{
    return v > 0 ? (uint64_t)v : 0;
}

static void load_figures(cf_reply *r, const cf_store_run *run)
{
    r->usage.is_known = run->n_reply >= 0;
    r->usage.n_prompt = number(run->n_prompt);
    r->usage.n_reply = number(run->n_reply);
    r->sync.n_kept = (size_t)number(run->n_kept);
    r->sync.n_new = (size_t)number(run->n_new);
    r->timings.prefill_us = number(run->prefill_us);
    r->timings.first_us = number(run->first_us);
    r->timings.decode_us = number(run->decode_us);
    r->timings.n_decode = (uint32_t)r->usage.n_reply;
    r->timings.n_prefill = (uint32_t)r->sync.n_new;
    cf_utf8_copy(r->model, sizeof r->model, run->model);
    snprintf(r->stop.what, sizeof r->stop.what, "%.*s",
             (int)(run->stop_reason.n < 63 ? run->stop_reason.n : 63),
             run->stop_reason.n != 0 ? run->stop_reason.p : "");
    add_end(r, run->stop_reason);
    if (run->error.n != 0) {
        size_t n = run->error.n < CF_ERROR_TEXT_MAX ? run->error.n : CF_ERROR_TEXT_MAX;
        r->stop.reason = CF_STOP_ERROR;
        cf_fail(&r->stop.err, CF_EIO, "%.*s", (int)n, run->error.p);
    }
}

void cf_reply_load(cf_reply *r, const cf_tokenizer *tok, const cf_store_run *run)
{
    cf_buf_add(&r->raw, run->raw.p, run->raw.n);
    for (size_t i = 0; i < run->n_chunks; i++) {
        uint32_t n = (uint32_t)run->chunks[i];
        cf_buf_add(&r->chunks, &n, sizeof n);
    }
    if (!load_tokens(r, tok, run)) {
        return; /* shown as far as memory goes */
    }
    mark_tokens(r, run);
    take_prompt(r, run->prompt_ids, run->n_prompt_ids);
    r->rule = cf_lab_rule_stored(run);
    load_figures(r, run);
}

void cf_reply_take_read(cf_reply *r, const cf_tokenizer *tok, const cf_reply_read *read)
{
    bool ok = true;
    free_tokens(r);
    r->n_start = r->n_placed = 0;
    snprintf(r->sampler, sizeof r->sampler, "not drawn: scored as it is");
    take_prompt(r, read->prompt_ids, read->n_prompt_ids);
    cf_buf_restart(&r->raw);
    cf_buf_add(&r->raw, read->text.p, read->text.n);
    for (size_t i = 0; ok && i < read->n; i++) {
        ok = place_token(r, tok,
                         (cf_chat_token){.id = read->ids[i],
                                         .p = read->draw[i].chosen.p_raw,
                                         .draw = &read->draw[i]});
    }
}

/* ---- reading ------------------------------------------------------------ */

cf_str cf_reply_token_text(const cf_reply *r, size_t i)
{
    if (i >= r->n_token || r->token[i].raw_off > r->raw.n) {
        return cf_str_make("", 0);
    }
    size_t from = r->token[i].raw_off;
    size_t to = i + 1 < r->n_token ? r->token[i + 1].raw_off : r->raw.n;
    to = to < from ? from : to > r->raw.n ? r->raw.n : to;
    return cf_str_make(cf_buf_cstr(&r->raw) + from, to - from);
}

double cf_decode_rate(const cf_timings *t, uint32_t n_least)
{
    return t->decode_us > 0 && t->n_decode >= n_least
               ? (double)t->n_decode * 1e6 / (double)t->decode_us
               : 0;
}
