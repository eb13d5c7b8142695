/*
 * lab_send.c - a send as a task: the message into the tree and the history,
 * the reply through the thread into its record.
 *
 * Two threads take part.  Always true:
 *   1. While job_is_on the send's thread owns the conversation, the backend,
 *      `job` and the vocabulary; the interface thread reads its snapshot of
 *      the turns, taken before the start, and writes only `live`.
 *   2. The message is in the tree and handed to the history before the send
 *      starts; the history's record of the reply is written by the thread
 *      alone (keep_reply.c).
 *   3. Every event goes to the history first, then a copy of it through the
 *      queue into `live`.
 *   4. end() runs on the interface thread when the thread is idle: `live`
 *      becomes the reply of its turn, or says why there is none, and the
 *      snapshot is taken again.
 */
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/talk/lab_adapters.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "tui/lab/state/lab_impl.h"
#include "tui/lab/talk/lab_sides.h"
#include "tui/lab/talk/saved.h"

/* ---- on the send's thread ----------------------------------------------- */

static void on_event(const cf_chat_event *e, void *ud)
{
    cf_lab_job *job = ud;
    cf_keep_reply_event(&job->keep, e);
    /* The end is reported by the task; without memory for an event the reply
     * itself is still in the response. */
    cf_chat_event *copy = e->kind != CF_CHAT_STOP ? cf_reply_copy_event(e) : NULL;
    if (copy != NULL) {
        cf_lab_tell(job->lab, copy);
    }
}

void cf_lab__begin_stored(cf_lab *b, cf_lab_job *job, const cf_send *send, cf_keep_reply *keep)
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
        .send = send,
        .fork_of = job->fork_of,
        .fork_token = job->fork_token,
    };
    if (job->rule != NULL) {
        start.constraint = cf_str_make(job->rule->text.p, job->rule->text.n);
    }
    cf_error why;
    cf_status st = cf_keep_reply_begin(keep, b->store, &engine, b->conv, &start, &why);
    cf_keep_note(b->store, st, &why);
}

cf_status cf_lab__ready_rule(cf_lab *b, cf_lab_job *job, cf_error *err)
{
    if (job->rule == NULL || job->options.chat.grammar == NULL) {
        return CF_OK; /* a server has no vocabulary here */
    }
    CF_TRY(cf_lab__need_vocab(b, err));
    job->options.chat.vocab = b->vocab;
    return CF_OK;
}

static cf_status run_send(void *ud, cf_lab *b, cf_error *err)
{
    cf_lab_job *job = ud;
    cf_status st = cf_lab__ready_rule(b, job, err);
    cf_lab__begin_stored(b, job, &job->send, &job->keep);
    CF_THEN(st, cf_conversation_send(b->conv, b->engine.backend, &job->send, &job->sent, err));
    cf_error why;
    cf_keep_note(b->store, cf_keep_reply_end(&job->keep, b->conv, &job->sent, &why), &why);
    return st;
}

/* ---- on the interface thread -------------------------------------------- */

static void take_event(void *ud, void *item)
{
    cf_lab *b = ((cf_lab_job *)ud)->lab;
    cf_reply_add(&b->live, b->engine.tokenizer, item);
    cf_free(item);
}

static void begin_live(const cf_lab *b, cf_reply *live, cf_uuid parent)
{
    size_t n;
    cf_reply_begin(live, parent);
    if (cf_lab_adapters(b, &n) != NULL && n != 0) {
        cf_lab_adapters_text(b, &live->adapters);
    }
}

bool cf_lab__cache_is_other(const cf_lab *b)
{
    size_t n = 0;
    (void)cf_backend_cache(b->engine.backend, &n);
    return n != 0 && !cf_uuid_eq(b->cached, b->conv_id);
}

/* Why the reply could not go on from the cache.  Nothing is lost where all of
 * its prompt was there, but for the token that is computed in any case, and
 * nothing of this conversation where the cache held another one. */
static void name_cause(cf_lab *b, cf_reply *kept, const cf_divergence *parts)
{
    kept->found_other = b->job.finds_other;
    if (b->job.finds_other || kept->sync.n_kept + 1 >= kept->n_prompt_ids) {
        kept->cause[0] = '\0';
    } else if (parts->has && parts->source == CF_SPAN_MESSAGE) {
        cf_lab_name_turn(b, parts->index, kept->cause, sizeof kept->cause);
    }
}

/* Moves a live reply to its turn. */
static void keep_reply(cf_lab *b, cf_reply *live, cf_sent *sent)
{
    cf_reply *kept = cf_uuid_is_nil(sent->reply) ? NULL : cf_lab__reply_of(b, sent->reply, true);
    if (kept == NULL) {
        return;
    }
    *kept = *live;
    *live = (cf_reply){.is_live = false};
    kept->turn = sent->reply;
    kept->rule = cf_lab__rule_hold(b->job.rule);
    cf_divergence parts = sent->response.divergence;
    cf_reply_finish(kept, b->engine.tokenizer, &sent->response);
    name_cause(b, kept, &parts);
}

/* The same for replies side by side; the first of them is shown. */
static void keep_sides(cf_lab *b, struct cf_lab_sides *s)
{
    for (size_t i = s->n; i-- > 0;) {
        cf_sent *sent = &s->side[i].sent.sent;
        keep_reply(b, i == 0 ? &b->live : &s->side[i].live, sent);
        if (!cf_uuid_is_nil(sent->reply)) {
            cf_ignore(cf_conversation_set_head(b->conv, sent->reply, NULL));
        }
    }
}

static void end_job(cf_lab *b)
{
    cf_lab_job *job = &b->job;
    if (job->sides != NULL) {
        keep_sides(b, job->sides);
    } else {
        keep_reply(b, &b->live, &job->sent);
    }
    cf_reply_deinit(&b->live);
    b->live.parent = job->parent;
    if (job->is_sibling && cf_uuid_eq(cf_conversation_head(b->conv), job->parent)) {
        /* Where it fails the path ends where the reply would be. */
        cf_ignore(cf_conversation_set_head(b->conv, job->old_head, NULL));
    }
    cf_lab__rule_drop(job->rule);
    cf_sent_deinit(&job->sent);
    cf_free(job->prefix);
    cf_free(job->reply_ids);
    cf_lab__sides_free(job->sides);
    *job = (cf_lab_job){.fork_token = -1};
    b->job_is_on = false;
    b->prompt_is_fresh = false;
}

static void end_send(void *ud, cf_status status, const cf_error *err)
{
    cf_lab *b = ((cf_lab_job *)ud)->lab;
    bool is_empty =
        status == CF_ECANCELLED && b->job.sides == NULL && cf_uuid_is_nil(b->job.sent.reply);
    end_job(b);
    if (is_empty) {
        snprintf(b->live.failure, sizeof b->live.failure, "stopped before the first token");
    } else if (status != CF_OK && status != CF_ECANCELLED) {
        snprintf(b->live.failure, sizeof b->live.failure, "%.199s", err->text);
    }
    cf_error why;
    if (cf_lab__snapshot(b, &why) != CF_OK) {
        b->late = why;
    }
}

/* ---- the store ---------------------------------------------------------- */

static void title_from(cf_lab *b, const json_t *message)
{
    cf_buf text = CF_BUF_INIT;
    cf_lab_message_text(&text, message);
    size_t n_line = strcspn(cf_buf_cstr(&text), "\n");
    cf_utf8_copy(b->title, sizeof b->title, cf_str_make(cf_buf_cstr(&text), n_line));
    cf_buf_deinit(&text);
}

/* CF_EBUSY: the write is queued and will be retried. */
static bool is_kept(cf_status st)
{
    return st == CF_OK || st == CF_EBUSY;
}

/* Stores the conversation with all turns before `turn`.  False for one that
 * has nothing but system prompts: it begins with its first message. */
static bool begin_stored(cf_lab *b, const cf_turn *turn)
{
    if (cf_turn_is_system(turn)) {
        return false;
    }
    cf_uuid id = b->conv_id;
    cf_error why;
    cf_status st = cf_saved_put(b->store, b->conv, cf_str_from(b->title), &id, &why);
    b->conv_is_stored = is_kept(st);
    cf_keep_note(b->store, st, &why);
    for (size_t i = 0; i < cf_conversation_n_turns(b->conv); i++) {
        const cf_turn *t = cf_conversation_turn(b->conv, i);
        if (cf_uuid_eq(t->id, turn->id)) {
            break;
        }
        st = cf_keep_turn(b->store, id, t, &why);
        cf_keep_note(b->store, st, &why);
    }
    return true;
}

void cf_lab__store_copy(cf_lab *b, const cf_turn *turn, cf_uuid from)
{
    if (b->store == NULL) {
        return;
    }
    if (!b->conv_is_stored && !begin_stored(b, turn)) {
        return;
    }
    cf_error why;
    cf_status st = cf_keep_copy(b->store, b->conv_id, turn, from, &why);
    cf_keep_note(b->store, st, &why);
}

static void store_turn(cf_lab *b, const cf_turn *turn)
{
    cf_lab__store_copy(b, turn, (cf_uuid){{0}});
}

const cf_reply *cf_lab_live(const cf_lab *lab)
{
    return &lab->live;
}

/* ---- starting ----------------------------------------------------------- */

cf_turn_options cf_lab__options(cf_lab *b)
{
    cf_turn_options o = {.extra_context = b->vars};
    o.chat = b->settings.chat;
    o.chat.n_top = b->settings.trace ? b->settings.trace_top : 0;
    if (b->engine.engine == NULL && cf_reply_settings_is_default(&b->settings, "trace") &&
        cf_reply_settings_is_default(&b->settings, "trace_top")) {
        o.chat.n_top = 0; /* a server is asked for nothing by itself */
    }
    if (strcmp(b->vendor_text, b->settings.extra) != 0) {
        snprintf(b->vendor_text, sizeof b->vendor_text, "%s", b->settings.extra);
        json_decref(b->vendor);
        b->vendor = json_loads(b->vendor_text, 0, NULL);
    }
    o.chat.vendor = b->vendor;
    return o;
}

/* Starts the send in b->job, whose `send` has the beginning of the reply. */
static cf_status start(cf_lab *b, cf_uuid parent, cf_error *err)
{
    cf_lab_job *job = &b->job;
    job->lab = b;
    job->parent = parent;
    job->old_head = cf_conversation_head(b->conv);
    job->reply_id = cf_uuid_new();
    job->finds_other = cf_lab__cache_is_other(b);
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
    job->send.cancel = cf_lab_cancel_flag(b);
    cf_sent_init(&job->sent);
    cf_status st = cf_conversation_set_head(b->conv, parent, err);
    CF_THEN(st, cf_lab__snapshot(b, err));
    CF_THEN(st, cf_lab__use_rule(b, job, err));
    if (st == CF_OK) {
        bool is_many = job->sides != NULL;
        const cf_lab_task task = {.name = is_many ? "writing replies" : "writing a reply",
                                  .run = is_many ? cf_lab__run_sides : run_send,
                                  .take = is_many ? cf_lab__take_side : take_event,
                                  .end = end_send,
                                  .free_item = is_many ? cf_lab__free_side_item : cf_free,
                                  .ud = job};
        cf_backend_core_set_draft(b->engine.backend, b->settings.draft);
        begin_live(b, &b->live, parent);
        for (size_t i = 1; is_many && i < job->sides->n; i++) {
            begin_live(b, &job->sides->side[i].live, parent);
        }
        b->job_is_on = true;
        st = cf_runner_start(&b->work, &task, err);
    }
    if (st == CF_OK) {
        b->cached = b->conv_id;
        cf_lab_add_undo(b, CF_LAB_UNDO_HEAD, job->old_head);
    } else {
        end_job(b);
    }
    return st;
}

static cf_status begin(cf_lab *b, cf_error *err)
{
    CF_TRY(cf_lab_need_idle(b, err));
    b->job = (cf_lab_job){.fork_token = -1};
    return CF_OK;
}

static void on_added(void *ud, const cf_turn *turn)
{
    cf_lab *b = ud;
    if (b->title[0] == '\0' && !cf_turn_is_system(turn)) {
        title_from(b, turn->message);
    }
    store_turn(b, turn);
}

cf_status cf_lab_add(cf_lab *lab, const json_t *messages, cf_uuid parent, bool asks, cf_error *err)
{
    CF_TRY(begin(lab, err));
    cf_status st = cf_conversation_add_messages(lab->conv, messages, parent, on_added, lab, &parent,
                                                NULL, err);
    if (st == CF_OK && asks) {
        return start(lab, parent, err);
    }
    /* Messages added before a failure are in the tree and are shown. */
    lab->prompt_is_fresh = false;
    cf_error *why = st == CF_OK ? err : NULL;
    cf_status at = cf_conversation_set_head(lab->conv, parent, why);
    CF_THEN(at, cf_lab__snapshot(lab, why));
    return st != CF_OK ? st : at;
}

static const cf_turn *find_reply(cf_lab *b, cf_uuid id, cf_error *err)
{
    const cf_turn *t = cf_conversation_find(b->conv, id);
    if (t == NULL || !cf_str_is(cf_json_get_str(t->message, "role"), "assistant")) {
        cf_fail(err, CF_EINVAL, "this turn is not a reply");
        return NULL;
    }
    return t;
}

cf_status cf_lab_add_reply(cf_lab *lab, cf_uuid reply, const json_t *message, cf_str raw,
                           cf_error *err)
{
    CF_TRY(begin(lab, err));
    const cf_turn *from = find_reply(lab, reply, err);
    if (from == NULL) {
        return CF_EINVAL;
    }
    cf_turn turn = {.parent = from->parent, .status = CF_TURN_OK, .message = message, .raw = raw};
    cf_uuid id = {{0}};
    CF_TRY(cf_conversation_add(lab->conv, &turn, &id, err));
    store_turn(lab, cf_conversation_find(lab->conv, id));
    lab->prompt_is_fresh = false;
    cf_uuid before = cf_conversation_head(lab->conv);
    CF_TRY(cf_conversation_set_head(lab->conv, id, err));
    cf_lab_add_undo(lab, CF_LAB_UNDO_HEAD, before);
    return cf_lab__snapshot(lab, err);
}

cf_status cf_lab_send(cf_lab *lab, cf_str text, cf_uuid parent, cf_error *err)
{
    CF_TRY(cf_lab_need_idle(lab, err));
    json_t *messages =
        json_pack("[{s:s,s:s%}]", "role", "user", "content", text.n != 0 ? text.p : "", text.n);
    if (messages == NULL) {
        return cf_fail(err, CF_EFORMAT, "the message is not UTF-8, or memory ran out");
    }
    cf_status st = cf_lab_add(lab, messages, cf_conversation_resume(lab->conv, parent), true, err);
    json_decref(messages);
    return st;
}

cf_status cf_lab_retry(cf_lab *lab, cf_uuid reply, cf_error *err)
{
    return cf_lab_retries(lab, reply, 1, err);
}

cf_status cf_lab_retries(cf_lab *lab, cf_uuid reply, size_t n, cf_error *err)
{
    CF_TRY(begin(lab, err));
    if (n == 0 || n > CF_LAB_SIDES_MAX) {
        return cf_fail(err, CF_ELIMIT, "1 to %d replies are written side by side",
                       CF_LAB_SIDES_MAX);
    }
    const cf_turn *t = cf_conversation_find(lab->conv, reply);
    bool is_message = t != NULL && !cf_str_is(cf_json_get_str(t->message, "role"), "assistant");
    cf_uuid parent = reply; /* a message: a reply to it */
    if (!is_message) {
        t = find_reply(lab, reply, err);
        if (t == NULL) {
            return CF_EINVAL;
        }
        parent = t->parent;
        lab->settings.chat.sampling.seed++; /* other draws, repeatable too */
        lab->job.is_sibling = true;
    }
    if (n > 1) {
        CF_TRY(cf_lab__sides_new(&lab->job, n, err));
    }
    cf_status st = start(lab, parent, err);
    if (st == CF_OK && n > 1) { /* the seeds that they took */
        lab->settings.chat.sampling.seed += (uint64_t)n - 1;
    }
    return st;
}

cf_status cf_lab_continue(cf_lab *lab, cf_uuid reply, cf_str prefix, cf_error *err)
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

cf_status cf_lab_fork(cf_lab *lab, cf_uuid reply, size_t token, const cf_token *ids, size_t n,
                      uint32_t max_tokens, cf_error *err)
{
    CF_TRY(begin(lab, err));
    const cf_turn *t = find_reply(lab, reply, err);
    const cf_reply *known = cf_lab_reply(lab, reply);
    if (t == NULL) {
        return CF_EINVAL;
    }
    if (known == NULL || token >= known->n_token || !cf_lab_info(lab).can_fork_token) {
        return cf_fail(err, CF_EUNSUPPORTED, "the tokens of this reply are not known here");
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
    cf_worker_cancel(lab->work.worker);
}
