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

void cf_lab__begin_stored(cf_lab *lab, cf_lab_job *job, const cf_send *send, cf_keep_reply *keep)
{
    if (lab->store == NULL || !lab->conv_is_stored) {
        return;
    }
    const cf_keep_engine engine = {
        .backend = lab->engine.backend,
        .engine = lab->engine.engine,
        .template_name = lab->engine.template_name,
        .template_source = lab->engine.template_source,
    };
    cf_keep_start start = {
        .conversation = lab->conv_id,
        .parent = job->parent,
        .send = send,
        .fork_of = job->fork_of,
        .fork_token = job->fork_token,
    };
    if (job->rule != NULL) {
        start.constraint = cf_str_make(job->rule->text.p, job->rule->text.n);
    }
    cf_error why;
    cf_status st = cf_keep_reply_begin(keep, lab->store, &engine, lab->conv, &start, &why);
    cf_keep_note(lab->store, st, &why);
}

cf_status cf_lab__ready_rule(cf_lab *lab, cf_lab_job *job, cf_error *err)
{
    if (job->rule == NULL || job->options.chat.grammar == NULL) {
        return CF_OK; /* a server has no vocabulary here */
    }
    CF_TRY(cf_lab__need_vocab(lab, err));
    job->options.chat.vocab = lab->vocab;
    return CF_OK;
}

static cf_status run_send(void *ud, cf_runner *runner, cf_error *err)
{
    cf_lab_job *job = ud;
    cf_lab *lab = job->lab;
    (void)runner;
    cf_status st = cf_lab__ready_rule(lab, job, err);
    cf_lab__begin_stored(lab, job, &job->send, &job->keep);
    CF_THEN(st, cf_conversation_send(lab->conv, lab->engine.backend, &job->send, &job->sent, err));
    cf_error why;
    cf_keep_note(lab->store, cf_keep_reply_end(&job->keep, lab->conv, &job->sent, &why), &why);
    return st;
}

/* ---- on the interface thread -------------------------------------------- */

static void take_event(void *ud, void *item)
{
    cf_lab *lab = ((cf_lab_job *)ud)->lab;
    cf_reply_add(&lab->live, lab->engine.tokenizer, item);
    cf_free(item);
}

static void begin_live(const cf_lab *lab, cf_reply *live, cf_uuid parent)
{
    size_t n;
    cf_reply_begin(live, parent);
    if (cf_lab_adapters(lab, &n) != NULL && n != 0) {
        cf_lab_adapters_text(lab, &live->adapters);
    }
}

bool cf_lab__cache_is_other(const cf_lab *lab)
{
    size_t n = 0;
    (void)cf_backend_cache(lab->engine.backend, &n);
    return n != 0 && !cf_uuid_eq(lab->cached, lab->conv_id);
}

/* Why the reply could not go on from the cache.  Nothing is lost where all of
 * its prompt was there, but for the token that is computed in any case, and
 * nothing of this conversation where the cache held another one. */
static void name_cause(cf_lab *lab, cf_reply *kept, const cf_divergence *parts)
{
    kept->found_other = lab->job.finds_other;
    if (lab->job.finds_other || kept->sync.n_kept + 1 >= kept->n_prompt_ids) {
        kept->cause[0] = '\0';
    } else if (parts->has && parts->source == CF_SPAN_MESSAGE) {
        cf_lab_name_turn(lab, parts->index, kept->cause, sizeof kept->cause);
    }
}

/* Moves a live reply to its turn. */
static void keep_reply(cf_lab *lab, cf_reply *live, cf_sent *sent)
{
    cf_reply *kept = cf_uuid_is_nil(sent->reply) ? NULL : cf_lab__reply_of(lab, sent->reply, true);
    if (kept == NULL) {
        return;
    }
    *kept = *live;
    *live = (cf_reply){.is_live = false};
    kept->turn = sent->reply;
    kept->rule = cf_lab__rule_hold(lab->job.rule);
    cf_divergence parts = sent->response.divergence;
    cf_reply_finish(kept, lab->engine.tokenizer, &sent->response);
    name_cause(lab, kept, &parts);
}

/* The same for replies side by side; the first of them is shown. */
static void keep_sides(cf_lab *lab, struct cf_lab_sides *s)
{
    for (size_t i = s->n; i-- > 0;) {
        cf_sent *sent = &s->side[i].sent.sent;
        keep_reply(lab, i == 0 ? &lab->live : &s->side[i].live, sent);
        if (!cf_uuid_is_nil(sent->reply)) {
            cf_ignore(cf_conversation_set_head(lab->conv, sent->reply, NULL));
        }
    }
}

static void end_job(cf_lab *lab)
{
    cf_lab_job *job = &lab->job;
    if (job->sides != NULL) {
        keep_sides(lab, job->sides);
    } else {
        keep_reply(lab, &lab->live, &job->sent);
    }
    cf_reply_deinit(&lab->live);
    lab->live.parent = job->parent;
    if (job->is_sibling && cf_uuid_eq(cf_conversation_head(lab->conv), job->parent)) {
        /* Where it fails the path ends where the reply would be. */
        cf_ignore(cf_conversation_set_head(lab->conv, job->old_head, NULL));
    }
    cf_lab__rule_drop(job->rule);
    cf_sent_deinit(&job->sent);
    cf_free(job->prefix);
    cf_free(job->reply_ids);
    cf_lab__sides_free(job->sides);
    *job = (cf_lab_job){.fork_token = -1};
    lab->job_is_on = false;
    lab->prompt_is_fresh = false;
}

static void end_send(void *ud, cf_status status, const cf_error *err)
{
    cf_lab *lab = ((cf_lab_job *)ud)->lab;
    bool is_empty =
        status == CF_ECANCELLED && lab->job.sides == NULL && cf_uuid_is_nil(lab->job.sent.reply);
    end_job(lab);
    if (is_empty) {
        snprintf(lab->live.failure, sizeof lab->live.failure, "stopped before the first token");
    } else if (status != CF_OK && status != CF_ECANCELLED) {
        snprintf(lab->live.failure, sizeof lab->live.failure, "%.199s", err->text);
    }
    cf_error why;
    if (cf_lab__snapshot(lab, &why) != CF_OK) {
        lab->late = why;
    }
}

/* ---- the store ---------------------------------------------------------- */

static void title_from(cf_lab *lab, const json_t *message)
{
    cf_buf text = CF_BUF_INIT;
    cf_lab_message_text(&text, message);
    size_t n_line = strcspn(cf_buf_cstr(&text), "\n");
    cf_utf8_copy(lab->title, sizeof lab->title, cf_str_make(cf_buf_cstr(&text), n_line));
    cf_buf_deinit(&text);
}

/* CF_EBUSY: the write is queued and will be retried. */
static bool is_kept(cf_status st)
{
    return st == CF_OK || st == CF_EBUSY;
}

/* Stores the conversation with all turns before `turn`.  False for one that
 * has nothing but system prompts: it begins with its first message. */
static bool begin_stored(cf_lab *lab, const cf_turn *turn)
{
    if (cf_turn_is_system(turn)) {
        return false;
    }
    cf_uuid id = lab->conv_id;
    cf_error why;
    cf_status st = cf_saved_put(lab->store, lab->conv, cf_str_from(lab->title), &id, &why);
    lab->conv_is_stored = is_kept(st);
    cf_keep_note(lab->store, st, &why);
    for (size_t i = 0; i < cf_conversation_n_turns(lab->conv); i++) {
        const cf_turn *t = cf_conversation_turn(lab->conv, i);
        if (cf_uuid_eq(t->id, turn->id)) {
            break;
        }
        st = cf_keep_turn(lab->store, id, t, &why);
        cf_keep_note(lab->store, st, &why);
    }
    return true;
}

void cf_lab__store_copy(cf_lab *lab, const cf_turn *turn, cf_uuid from)
{
    if (lab->store == NULL) {
        return;
    }
    if (!lab->conv_is_stored && !begin_stored(lab, turn)) {
        return;
    }
    cf_error why;
    cf_status st = cf_keep_copy(lab->store, lab->conv_id, turn, from, &why);
    cf_keep_note(lab->store, st, &why);
}

static void store_turn(cf_lab *lab, const cf_turn *turn)
{
    cf_lab__store_copy(lab, turn, (cf_uuid){{0}});
}

const cf_reply *cf_lab_live(const cf_lab *lab)
{
    return &lab->live;
}

/* ---- starting ----------------------------------------------------------- */

cf_turn_options cf_lab__options(cf_lab *lab)
{
    cf_turn_options o = {.extra_context = lab->vars};
    o.chat = lab->settings.chat;
    o.chat.n_top = lab->settings.trace ? lab->settings.trace_top : 0;
    if (lab->engine.engine == NULL && cf_reply_settings_is_default(&lab->settings, "trace") &&
        cf_reply_settings_is_default(&lab->settings, "trace_top")) {
        o.chat.n_top = 0; /* a server is asked for nothing by itself */
    }
    if (strcmp(lab->vendor_text, lab->settings.extra) != 0) {
        snprintf(lab->vendor_text, sizeof lab->vendor_text, "%s", lab->settings.extra);
        json_decref(lab->vendor);
        lab->vendor = json_loads(lab->vendor_text, 0, NULL);
    }
    o.chat.vendor = lab->vendor;
    return o;
}

/* Starts the send in lab->job, whose `send` has the beginning of the reply. */
static cf_status start(cf_lab *lab, cf_uuid parent, cf_error *err)
{
    cf_lab_job *job = &lab->job;
    job->lab = lab;
    job->parent = parent;
    job->old_head = cf_conversation_head(lab->conv);
    job->reply_id = cf_uuid_new();
    job->finds_other = cf_lab__cache_is_other(lab);
    job->options = cf_lab__options(lab);
    if (job->max_tokens != 0) {
        job->options.chat.max_tokens = job->max_tokens;
    }
    job->send.options = &job->options;
    job->send.has_parent = true;
    job->send.parent = parent;
    job->send.reply_id = job->reply_id;
    job->send.fn = on_event;
    job->send.ud = job;
    job->send.cancel = cf_lab_cancel_flag(lab);
    cf_sent_init(&job->sent);
    cf_status st = cf_conversation_set_head(lab->conv, parent, err);
    CF_THEN(st, cf_lab__snapshot(lab, err));
    CF_THEN(st, cf_lab__use_rule(lab, job, err));
    if (st == CF_OK) {
        bool is_many = job->sides != NULL;
        const cf_task task = {.name = is_many ? "writing replies" : "writing a reply",
                              .run = is_many ? cf_lab__run_sides : run_send,
                              .take = is_many ? cf_lab__take_side : take_event,
                              .end = end_send,
                              .free_item = is_many ? cf_lab__free_side_item : cf_free,
                              .ud = job};
        cf_backend_core_set_draft(lab->engine.backend, lab->settings.draft);
        begin_live(lab, &lab->live, parent);
        for (size_t i = 1; is_many && i < job->sides->n; i++) {
            begin_live(lab, &job->sides->side[i].live, parent);
        }
        lab->job_is_on = true;
        st = cf_runner_start(&lab->work, &task, err);
    }
    if (st == CF_OK) {
        lab->cached = lab->conv_id;
        cf_lab_add_undo(lab, CF_LAB_UNDO_HEAD, job->old_head);
    } else {
        end_job(lab);
    }
    return st;
}

static cf_status begin(cf_lab *lab, cf_error *err)
{
    CF_TRY(cf_lab_need_idle(lab, err));
    lab->job = (cf_lab_job){.fork_token = -1};
    return CF_OK;
}

static void on_added(void *ud, const cf_turn *turn)
{
    cf_lab *lab = ud;
    if (lab->title[0] == '\0' && !cf_turn_is_system(turn)) {
        title_from(lab, turn->message);
    }
    store_turn(lab, turn);
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

static const cf_turn *find_reply(cf_lab *lab, cf_uuid id, cf_error *err)
{
    const cf_turn *t = cf_conversation_find(lab->conv, id);
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
