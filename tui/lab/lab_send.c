/*
 * lab_send.c - a send as a job: what goes to the worker, what comes back,
 * and what the store is told meanwhile.
 *
 * Flow:  the message is added to the tree and stored; the job sends; each
 * event goes into the store's stream and to the screen as news; the last news
 * ends the job on the interface thread.  What the store keeps of the reply,
 * its prompt first, is written on the worker.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/utf8.h"
#include "tui/lab/lab_impl.h"
#include "tui/lab/saved.h"

void cf_lab__free_news(void *news)
{
    cf_lab_news *n = news;
    cf_free(n->token.draw);
    cf_free(n->token.top);
    cf_free(n->text);
    cf_free(n->start);
    if (n->item != NULL) {
        n->free_item(n->item);
    }
    cf_free(n);
}

/* ---- on the worker's thread --------------------------------------------- */

/* Texts and probabilities in one block. */
static void copy_top(cf_reply_token *to, const cf_chat_token *t)
{
    size_t bytes = t->n_top * sizeof *t->top;
    for (size_t i = 0; i < t->n_top; i++) {
        bytes += t->top[i].text.n;
    }
    to->top = t->n_top != 0 ? cf_alloc(bytes) : NULL;
    if (to->top == NULL) {
        return; /* shown without candidates */
    }
    char *text = (char *)(to->top + t->n_top);
    for (size_t i = 0; i < t->n_top; i++) {
        cf_str from = t->top[i].text;
        if (from.n != 0) {
            memcpy(text, from.p, from.n);
        }
        to->top[i] =
            (cf_text_candidate){cf_str_make(text, from.n), t->top[i].p};
        text += from.n;
    }
    to->n_top = t->n_top;
}

static void copy_token(cf_lab_news *news, const cf_chat_token *t)
{
    news->token.id = t->id;
    news->token.p = t->p;
    news->token.is_forced = t->is_forced;
    news->token.is_held = t->is_held;
    news->token.n_allowed = t->n_allowed;
    news->token.raw_off = (uint32_t)t->raw_off;
    copy_top(&news->token, t);
    if (t->draw != NULL) {
        news->token.draw = cf_alloc(sizeof *t->draw);
        if (news->token.draw != NULL) { /* else: shown without candidates */
            *news->token.draw = *t->draw;
        }
    }
}

/* Of the prompt only what the reply starts with is shown. */
static void copy_start(cf_lab_news *news, const cf_chat_event *e)
{
    size_t n = e->n_ids - e->n_prompt;
    news->start = n != 0 ? cf_calloc(n, sizeof *news->start) : NULL;
    if (news->start != NULL) { /* else: shown without its start */
        memcpy(news->start, e->ids + e->n_prompt, n * sizeof *news->start);
        news->n_start = n;
    }
    news->start_content = e->n_content;
}

static void on_event(const cf_chat_event *e, void *ud)
{
    cf_lab_job *job = ud;
    cf_keep_reply_event(&job->keep, e);
    if (e->kind == CF_CHAT_STOP) {
        return; /* the end of the job tells */
    }
    cf_lab_news *news = cf_calloc(1, sizeof *news);
    if (news == NULL) {
        return; /* the reply itself is in the response */
    }
    news->kind = e->kind;
    news->n_done = e->n_done;
    news->n_total = e->n_total;
    if (e->text.n != 0 && e->kind != CF_CHAT_PROMPT) {
        news->text = cf_strndup(e->text.p, e->text.n);
        news->n = news->text != NULL ? e->text.n : 0;
    }
    if (e->kind == CF_CHAT_TOKEN) {
        copy_token(news, &e->token);
    } else if (e->kind == CF_CHAT_PROMPT) {
        copy_start(news, e);
    }
    cf_worker_post(job->lab->worker, news);
}

static void begin_stored_reply(cf_lab *b, cf_lab_job *job)
{
    if (b->store == NULL || !b->conv_is_stored) {
        return;
    }
    const cf_keep_engine engine = {
        .backend = b->engine.backend,
        .engine = b->engine.engine,
        .template_name = b->engine.template_name,
        .template_source = b->engine.template_source,
    };
    cf_keep_start start = {
        .conversation = b->conv_id,
        .parent = job->parent,
        .send = &job->send,
        .fork_of = job->fork_of,
        .fork_token = job->fork_token,
    };
    if (job->rule != NULL) {
        start.constraint = cf_str_make(job->rule->text.p, job->rule->text.n);
    }
    cf_error ignored; /* told by the store's state */
    if (cf_keep_reply_begin(&job->keep, b->store, &engine, b->conv, &start,
                            &ignored) != CF_OK) {
        return;
    }
}

static void send_job(cf_worker *worker, void *ud)
{
    cf_lab_job *job = ud;
    cf_lab *b = job->lab;
    cf_error err = {0}, ignored;
    cf_status st = CF_OK;
    if (job->rule != NULL) {
        st = cf_lab__need_vocab(b, &err);
        job->options.chat.vocab = b->vocab;
    }
    begin_stored_reply(b, job);
    CF_THEN(st, cf_conversation_send(b->conv, b->engine.backend, &job->send,
                                     &job->sent, &err));
    if (cf_keep_reply_end(&job->keep, b->conv, &job->sent, &ignored) != CF_OK) {
        /* Told by the store's state. */
    }
    cf_lab_news *end = job->end;
    job->end = NULL;
    end->is_end = true;
    end->status = st;
    end->err = err;
    cf_worker_post(worker, end);
}

/* ---- the store ---------------------------------------------------------- */

static void title_from(cf_lab *b, const json_t *message)
{
    cf_buf text = CF_BUF_INIT;
    cf_lab_message_text(&text, message);
    size_t n_line = strcspn(cf_buf_cstr(&text), "\n");
    cf_utf8_copy(b->title, sizeof b->title,
                 cf_str_make(cf_buf_cstr(&text), n_line));
    cf_buf_deinit(&text);
}

/* A kept write that waits in memory is as good as done here. */
static bool is_kept(cf_status st)
{
    return st == CF_OK || st == CF_EBUSY;
}

static void store_turn(cf_lab *b, const cf_turn *turn)
{
    if (b->store == NULL) {
        return;
    }
    if (!b->conv_is_stored) {
        cf_uuid id = b->conv_id;
        b->conv_is_stored = is_kept(
            cf_saved_put(b->store, b->conv, cf_str_from(b->title), &id, NULL));
    }
    cf_error ignored; /* told by the store's state */
    if (cf_keep_turn(b->store, b->conv_id, turn, &ignored) != CF_OK) {
        return;
    }
}

/* ---- starting ----------------------------------------------------------- */

cf_turn_options cf_lab__options(cf_lab *b)
{
    cf_turn_options o = {.extra_context = b->vars};
    o.chat = b->settings.chat;
    o.chat.n_top = b->settings.trace ? b->settings.trace_top : 0;
    if (b->engine.engine == NULL &&
        cf_reply_settings_is_default(&b->settings, "trace") &&
        cf_reply_settings_is_default(&b->settings, "trace_top")) {
        o.chat.n_top = 0; /* a server is asked for nothing by itself */
    }
    return o;
}

static void reset_live(cf_lab *b, cf_uuid parent)
{
    cf_live *l = &b->live;
    cf_buf_reset(&l->text);
    cf_buf_reset(&l->thinking);
    cf_buf_reset(&l->calls);
    l->is_on = true;
    l->parent = parent;
    l->n_done = l->n_total = 0;
    l->n_tokens = 0;
    l->start_us = cf_os_monotonic_us();
    l->first_us = 0;
    l->failure[0] = '\0';
    cf_lab__reply_clear(&b->growing);
}

static void keep_token(cf_lab *b, cf_lab_news *news)
{
    cf_reply *r = &b->growing;
    if (r->n_token == r->cap_token) {
        size_t cap = r->cap_token != 0 ? r->cap_token * 2 : 64;
        cf_reply_token *v = cf_realloc(r->token, cap, sizeof *v);
        if (v == NULL) {
            return; /* the reply is whole all the same, but not inspectable */
        }
        r->token = v;
        r->cap_token = cap;
    }
    r->token[r->n_token++] = news->token;
    news->token.draw = NULL;
    news->token.top = NULL;
}

/* What nobody draws: the tokens that the reply starts with. */
static void show_start(cf_lab *b, const cf_lab_news *news)
{
    uint32_t off = 0;
    for (size_t i = 0; i < news->n_start; i++) {
        cf_lab_news one = {.token = {.id = news->start[i],
                                     .p = -1,
                                     .is_forced = true,
                                     .raw_off = off}};
        keep_token(b, &one);
        cf_buf piece = CF_BUF_INIT;
        cf_tokenizer_piece(&piece, b->engine.tokenizer, one.token.id, true);
        off += (uint32_t)piece.n;
        cf_buf_deinit(&piece);
    }
    b->growing.n_start = b->growing.n_token;
    b->growing.start_content = news->start_content;
}

/* Starts the job in b->job, whose `send` says how the reply begins. */
static cf_status start(cf_lab *b, cf_uuid parent, cf_error *err)
{
    cf_lab_job *job = &b->job;
    job->lab = b;
    job->parent = parent;
    job->old_head = cf_conversation_head(b->conv);
    job->reply_id = cf_uuid_new();
    job->options = cf_lab__options(b);
    if (job->max_tokens != 0) {
        job->options.chat.max_tokens = job->max_tokens;
    }
    job->send.options = &job->options;
    job->send.has_parent = true;
    job->send.parent = parent;
    job->send.reply_id = job->reply_id;
    job->send.fn = on_event;
    job->send.ud = job;
    job->send.cancel = cf_worker_cancel_flag(b->worker);
    cf_sent_init(&job->sent);
    cf_status st = cf_conversation_set_head(b->conv, parent, err);
    CF_THEN(st, cf_lab__snapshot(b, err));
    CF_THEN(st, cf_lab__use_rule(b, job, err));
    if (st == CF_OK) {
        job->end = cf_calloc(1, sizeof *job->end);
        st = job->end != NULL ? CF_OK : cf_oom_for(err, "the reply");
    }
    if (st == CF_OK) {
        reset_live(b, parent);
        b->job_is_on = true;
        st = cf_worker_start(b->worker, send_job, job, err);
    }
    if (st != CF_OK) {
        cf_lab__end_job(b);
    }
    return st;
}

static cf_status begin(cf_lab *b, cf_error *err)
{
    CF_TRY(cf_lab_need_idle(b, err));
    b->job = (cf_lab_job){.fork_token = -1};
    return CF_OK;
}

/* Adds one message behind `parent`; *id is its turn. */
static cf_status add_message(cf_lab *b, const json_t *message, cf_uuid parent,
                             cf_uuid *id, cf_error *err)
{
    cf_turn turn = {.parent = parent, .status = CF_TURN_OK, .message = message};
    *id = (cf_uuid){{0}};
    CF_TRY(cf_conversation_add(b->conv, &turn, id, err));
    if (b->title[0] == '\0') {
        title_from(b, message);
    }
    store_turn(b, cf_conversation_find(b->conv, *id));
    return CF_OK;
}

cf_status cf_lab_add(cf_lab *lab, const json_t *messages, cf_uuid parent,
                     bool asks, cf_error *err)
{
    CF_TRY(begin(lab, err));
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < json_array_size(messages); i++) {
        cf_uuid id;
        st = add_message(lab, json_array_get(messages, i), parent, &id, err);
        parent = st == CF_OK ? id : parent;
    }
    if (st == CF_OK && asks) {
        return start(lab, parent, err);
    }
    /* What was added before a failure is in the tree and is shown. */
    lab->prompt_is_fresh = false;
    cf_error *why = st == CF_OK ? err : NULL;
    cf_status at = cf_conversation_set_head(lab->conv, parent, why);
    CF_THEN(at, cf_lab__snapshot(lab, why));
    return st != CF_OK ? st : at;
}

static const cf_turn *find_reply(cf_lab *b, cf_uuid id, cf_error *err)
{
    const cf_turn *t = cf_conversation_find(b->conv, id);
    if (t == NULL ||
        !cf_str_is(cf_json_get_str(t->message, "role"), "assistant")) {
        cf_fail(err, CF_EINVAL, "this turn is no reply");
        return NULL;
    }
    return t;
}

cf_status cf_lab_add_reply(cf_lab *lab, cf_uuid reply, const json_t *message,
                           cf_str raw, cf_error *err)
{
    CF_TRY(begin(lab, err));
    const cf_turn *from = find_reply(lab, reply, err);
    if (from == NULL) {
        return CF_EINVAL;
    }
    cf_turn turn = {.parent = from->parent,
                    .status = CF_TURN_OK,
                    .message = message,
                    .raw = raw};
    cf_uuid id = {{0}};
    CF_TRY(cf_conversation_add(lab->conv, &turn, &id, err));
    store_turn(lab, cf_conversation_find(lab->conv, id));
    lab->prompt_is_fresh = false;
    CF_TRY(cf_conversation_set_head(lab->conv, id, err));
    return cf_lab__snapshot(lab, err);
}

cf_status cf_lab_send(cf_lab *lab, cf_str text, cf_uuid parent, cf_error *err)
{
    json_t *messages = json_pack("[{s:s,s:s%}]", "role", "user", "content",
                                 text.n != 0 ? text.p : "", text.n);
    if (messages == NULL) {
        return cf_fail(err, CF_EFORMAT,
                       "the message is not UTF-8, or memory ran out");
    }
    cf_status st = cf_lab_add(
        lab, messages, cf_conversation_resume(lab->conv, parent), true, err);
    json_decref(messages);
    return st;
}

cf_status cf_lab_retry(cf_lab *lab, cf_uuid reply, cf_error *err)
{
    CF_TRY(begin(lab, err));
    const cf_turn *t = cf_conversation_find(lab->conv, reply);
    if (t != NULL &&
        !cf_str_is(cf_json_get_str(t->message, "role"), "assistant")) {
        return start(lab, t->id, err); /* a message: a reply to it */
    }
    t = find_reply(lab, reply, err);
    if (t == NULL) {
        return CF_EINVAL;
    }
    lab->settings.chat.sampling.seed++; /* another draw, repeatable too */
    lab->job.is_sibling = true;
    return start(lab, t->parent, err);
}

cf_status cf_lab_continue(cf_lab *lab, cf_uuid reply, cf_str prefix,
                          cf_error *err)
{
    CF_TRY(begin(lab, err));
    const cf_turn *t = find_reply(lab, reply, err);
    if (t == NULL) {
        return CF_EINVAL;
    }
    lab->job.prefix = cf_strndup(prefix.p, prefix.n);
    if (lab->job.prefix == NULL) {
        return cf_oom(err);
    }
    lab->job.send.reply_prefix = cf_str_make(lab->job.prefix, prefix.n);
    lab->job.is_sibling = true;
    return start(lab, t->parent, err);
}

cf_status cf_lab_fork(cf_lab *lab, cf_uuid reply, size_t token,
                      const cf_token *ids, size_t n, uint32_t max_tokens,
                      cf_error *err)
{
    CF_TRY(begin(lab, err));
    const cf_turn *t = find_reply(lab, reply, err);
    const cf_reply *known = cf_lab_reply(lab, reply);
    if (t == NULL) {
        return CF_EINVAL;
    }
    if (known == NULL || token >= known->n_token ||
        !cf_lab_info(lab).can_fork_token) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "the tokens of this reply are not known here");
    }
    cf_token *all = cf_calloc(token + n, sizeof *all);
    if (all == NULL) {
        return cf_oom(err);
    }
    for (size_t i = 0; i < token; i++) {
        all[i] = known->token[i].id;
    }
    memcpy(all + token, ids, n * sizeof *all);
    lab->job.reply_ids = all;
    lab->job.send.reply_ids = all;
    lab->job.send.n_reply_ids = token + n;
    lab->job.fork_of = reply;
    lab->job.fork_token = (int64_t)token;
    lab->job.max_tokens = max_tokens;
    lab->job.is_sibling = true;
    return start(lab, t->parent, err);
}

void cf_lab_stop(cf_lab *lab)
{
    cf_worker_cancel(lab->worker);
}

/* ---- news --------------------------------------------------------------- */

static void take_news(cf_lab *b, cf_lab_news *n)
{
    cf_live *l = &b->live;
    switch (n->kind) {
    case CF_CHAT_PREFILL:
        l->n_done = n->n_done;
        l->n_total = n->n_total;
        break;
    case CF_CHAT_TOKEN:
        l->first_us = l->first_us != 0 ? l->first_us : cf_os_monotonic_us();
        l->n_tokens++;
        keep_token(b, n);
        break;
    case CF_CHAT_TEXT:
        l->first_us = l->first_us != 0 ? l->first_us : cf_os_monotonic_us();
        cf_buf_add(&l->text, n->text != NULL ? n->text : "", n->n);
        break;
    case CF_CHAT_THINKING:
        cf_buf_add(&l->thinking, n->text != NULL ? n->text : "", n->n);
        break;
    case CF_CHAT_CALL_DELTA:
        cf_buf_add(&l->calls, n->text != NULL ? n->text : "", n->n);
        break;
    case CF_CHAT_PROMPT:
        show_start(b, n);
        break;
    case CF_CHAT_CALL:
    case CF_CHAT_CALL_FAILED:
    case CF_CHAT_NOTE:
    case CF_CHAT_USAGE:
    case CF_CHAT_TIMINGS:
    case CF_CHAT_STOP:
        break; /* the response has them */
    }
}

/* Moves what is known of the finished reply into the workbench's records. */
/* A reply that began with a given text: the tokens of that text are in the
 * response and were drawn by nobody.  They go before the others, so that the
 * reply can be seen whole and forked at any of its tokens. */
static void add_given(const cf_lab *b, cf_reply *reply,
                      const cf_chat_response *r)
{
    size_t n = reply->n_token;
    if (r->n_reply_ids <= n || b->engine.tokenizer == NULL) {
        return;
    }
    size_t n_given = r->n_reply_ids - n;
    for (size_t i = 0; i < n; i++) {
        if (reply->token[i].id != r->reply_ids[n_given + i]) {
            return;
        }
    }
    cf_reply_token *v = cf_calloc(r->n_reply_ids, sizeof *v);
    if (v == NULL) {
        return; /* shown without its beginning */
    }
    uint32_t off = 0;
    for (size_t i = 0; i < n_given; i++) {
        cf_buf piece = CF_BUF_INIT;
        v[i] = (cf_reply_token){
            .id = r->reply_ids[i], .p = -1, .is_forced = true, .raw_off = off};
        cf_tokenizer_piece(&piece, b->engine.tokenizer, v[i].id, true);
        off += (uint32_t)piece.n;
        cf_buf_deinit(&piece);
    }
    if (n != 0) {
        memcpy(v + n_given, reply->token, n * sizeof *v);
    }
    cf_free(reply->token);
    reply->token = v;
    reply->n_token = reply->cap_token = r->n_reply_ids;
}

double cf_decode_rate(const cf_timings *t, uint32_t n_least)
{
    return t->decode_us > 0 && t->n_decode >= n_least
               ? (double)t->n_decode * 1e6 / (double)t->decode_us
               : 0;
}

static void keep_reply(cf_lab *b, cf_lab_job *job)
{
    if (cf_uuid_is_nil(job->sent.reply)) {
        return;
    }
    cf_chat_response *r = &job->sent.response;
    cf_reply *kept = cf_lab__reply_of(b, job->sent.reply, true);
    if (kept == NULL) {
        return;
    }
    *kept = b->growing;
    b->growing = (cf_reply){0};
    kept->turn = job->sent.reply;
    kept->rule = cf_lab__rule_hold(job->rule);
    kept->prompt_ids = r->prompt_ids;
    kept->n_prompt_ids = r->n_prompt_ids;
    r->prompt_ids = NULL;
    r->n_prompt_ids = 0;
    cf_buf_add(&kept->raw, cf_buf_cstr(&r->raw), r->raw.n);
    cf_buf_add(&kept->chunks, cf_buf_cstr(&r->chunks), r->chunks.n);
    add_given(b, kept, r);
    kept->usage = r->usage;
    kept->timings = r->timings;
    kept->stop = r->stop;
    kept->sync = r->sync;
    snprintf(kept->cause, sizeof kept->cause, "%s",
             r->divergence.has ? r->divergence.cause : "");
    snprintf(kept->sampler, sizeof kept->sampler, "%s", r->sampler);
    const cf_turn *t = cf_conversation_find(b->conv, job->sent.reply);
    kept->n_calls = t != NULL ? (uint32_t)json_array_size(
                                    json_object_get(t->message, "tool_calls"))
                              : 0;
}

void cf_lab__end_job(cf_lab *b)
{
    cf_lab_job *job = &b->job;
    keep_reply(b, job);
    if (job->is_sibling &&
        cf_uuid_eq(cf_conversation_head(b->conv), job->parent) &&
        cf_conversation_set_head(b->conv, job->old_head, NULL) != CF_OK) {
        /* The path then ends where the reply would have stood. */
    }
    cf_lab__rule_drop(job->rule);
    cf_sent_deinit(&job->sent);
    cf_free(job->prefix);
    cf_free(job->reply_ids);
    cf_free(job->end);
    *job = (cf_lab_job){.fork_token = -1};
    b->job_is_on = false;
    b->live.is_on = false;
    b->prompt_is_fresh = false;
    cf_lab__reply_clear(&b->growing);
}

bool cf_lab_poll(cf_lab *lab, cf_error *err)
{
    bool has_changed = cf_lab__doctor_poll(lab);
    err->code = CF_OK;
    for (cf_lab_news *n = cf_worker_take(lab->worker); n != NULL;
         n = cf_worker_take(lab->worker)) {
        has_changed = true;
        if (n->is_task) {
            cf_lab__take_task_news(lab, n);
            if (n->is_end && n->status != CF_OK && n->status != CF_ECANCELLED) {
                *err = n->err;
            }
        } else if (!n->is_end) {
            take_news(lab, n);
        } else {
            bool is_told = n->status != CF_OK && n->status != CF_ECANCELLED;
            if (is_told) {
                *err = n->err;
                snprintf(lab->live.failure, sizeof lab->live.failure, "%.199s",
                         n->err.text);
            }
            while (cf_worker_is_busy(lab->worker)) {
                cf_worker_wait(lab->worker); /* it is about to return */
            }
            cf_lab__end_job(lab);
            cf_error why;
            if (cf_lab__snapshot(lab, &why) != CF_OK && !is_told) {
                *err = why;
            }
        }
        cf_lab__free_news(n);
    }
    return cf_lab__poll_reader(lab, err) || has_changed;
}

void cf_lab_settle(cf_lab *lab, cf_error *err)
{
    cf_error first = {0};
    while (lab->job_is_on || lab->task_is_on || lab->reading_is_on) {
        bool reads = !lab->job_is_on && !lab->task_is_on;
        cf_worker_wait(reads ? lab->reader : lab->worker);
        cf_lab_poll(lab, err);
        if (err->code != CF_OK && first.code == CF_OK) {
            first = *err;
        }
    }
    cf_lab__doctor_settle(lab);
    *err = first;
}
