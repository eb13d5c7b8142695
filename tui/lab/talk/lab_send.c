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
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_constraint.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_messages.h"
#include "tui/lab/talk/lab_options.h"
#include "tui/lab/talk/lab_sides.h"
#include "tui/lab/talk/saved.h"
#include "tui/lab/talk/talk_impl.h"

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

static cf_status run_send(void *ud, cf_runner *runner, cf_error *err)
{
    cf_lab_job *job = ud;
    cf_lab *lab = job->lab;
    (void)runner;
    cf_status st = cf_lab__ready_rule(lab, job, err);
    cf_lab__begin_stored(lab, job, &job->send, &job->keep);
    CF_THEN(st, cf_conversation_send(lab->talk->conv, lab->engine.backend, &job->send, &job->sent,
                                     err));
    cf_error why;
    cf_keep_note(lab->store, cf_keep_reply_end(&job->keep, lab->talk->conv, &job->sent, &why),
                 &why);
    return st;
}

/* ---- on the interface thread -------------------------------------------- */

static void take_event(void *ud, void *item)
{
    cf_lab *lab = ((cf_lab_job *)ud)->lab;
    cf_reply_add(&lab->talk->live, lab->engine.tokenizer, item);
    cf_free(item);
}

static void begin_live(cf_lab *lab, cf_reply *live, cf_uuid parent)
{
    size_t n;
    cf_reply_begin(live, parent);
    cf_buf line = CF_BUF_INIT;
    const cf_chat_options *o = &cf_lab_settings(lab)->chat;
    cf_reply_sampler_line(&o->sampling, o->has_sampling, &line);
    cf_utf8_copy(live->drawn, sizeof live->drawn, cf_buf_str(&line));
    cf_buf_deinit(&line);
    cf_utf8_copy(live->model, sizeof live->model, cf_lab_info(lab).name);
    cf_utf8_copy(live->template_name, sizeof live->template_name,
                 cf_str_from(lab->engine.template_name));
    if ((cf_lab_adapters(lab, &n) != NULL && n != 0) || cf_lab_steering(lab) != NULL) {
        cf_lab_adapters_text(lab, &live->adapters);
    }
}

bool cf_lab_cache_is_other(const cf_lab *lab)
{
    size_t n = 0;
    (void)cf_backend_cache(lab->engine.backend, &n);
    return n != 0 && !cf_uuid_eq(lab->talk->cached, lab->talk->conv_id);
}

/* Why the reply could not go on from the cache.  Nothing is lost where all of
 * its prompt was there, but for the token that is computed in any case, and
 * nothing of this conversation where the cache held another one. */
static void name_cause(cf_lab *lab, cf_reply *kept, const cf_divergence *parts)
{
    kept->found_other = lab->talk->job.finds_other;
    if (lab->talk->job.finds_other || kept->sync.n_kept + 1 >= kept->n_prompt_ids) {
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
    kept->rule = cf_lab_rule_hold(lab->talk->job.rule);
    cf_divergence parts = sent->response.divergence;
    cf_reply_finish(kept, lab->engine.tokenizer, &sent->response);
    name_cause(lab, kept, &parts);
}

/* A reply that failed before its first byte is a turn of the tree as it is one
 * of the history, so that both know that its message has been asked. */
static void add_failed(cf_lab *lab, const cf_lab_job *job)
{
    if (!cf_uuid_is_nil(job->sent.reply) || job->sent.response.stop.reason == CF_STOP_NONE) {
        return;
    }
    json_t *message = json_pack("{s:s, s:s}", "role", "assistant", "content", "");
    const bool was_stopped = job->sent.response.stop.reason == CF_STOP_CANCELLED;
    const cf_turn turn = {.id = job->reply_id,
                          .parent = job->parent,
                          .status = was_stopped ? CF_TURN_STOPPED : CF_TURN_ERROR,
                          .message = message};
    cf_uuid id;
    cf_ignore(cf_conversation_add(lab->talk->conv, &turn, &id, NULL));
    json_decref(message);
}

/* The same for replies side by side; the first of them is shown. */
static void keep_sides(cf_lab *lab, struct cf_lab_sides *s)
{
    for (size_t i = s->n; i-- > 0;) {
        cf_sent *sent = &s->side[i].sent.sent;
        keep_reply(lab, i == 0 ? &lab->talk->live : &s->side[i].live, sent);
        if (!cf_uuid_is_nil(sent->reply)) {
            cf_ignore(cf_conversation_set_head(lab->talk->conv, sent->reply, NULL));
        }
    }
}

static void end_job(cf_lab *lab)
{
    cf_lab_talk *talk = lab->talk;
    cf_lab_job *job = &talk->job;
    if (job->sides != NULL) {
        keep_sides(lab, job->sides);
    } else {
        keep_reply(lab, &talk->live, &job->sent);
        add_failed(lab, job);
    }
    cf_reply_deinit(&talk->live);
    talk->live.parent = job->parent;
    if (job->is_sibling && cf_uuid_eq(cf_conversation_head(talk->conv), job->parent)) {
        /* Where it fails the path ends where the reply would be. */
        cf_ignore(cf_conversation_set_head(talk->conv, job->old_head, NULL));
    }
    cf_lab_rule_drop(job->rule);
    cf_sent_deinit(&job->sent);
    cf_free(job->prefix);
    cf_free(job->reply_ids);
    cf_lab__sides_free(job->sides);
    *job = (cf_lab_job){.fork_token = -1};
    lab->is_writing = false;
    lab->generation++;
}

static void end_send(void *ud, cf_status status, const cf_error *err)
{
    cf_lab *lab = ((cf_lab_job *)ud)->lab;
    bool is_empty = status == CF_ECANCELLED && lab->talk->job.sides == NULL &&
                    cf_uuid_is_nil(lab->talk->job.sent.reply);
    end_job(lab);
    if (is_empty) {
        snprintf(lab->talk->live.failure, sizeof lab->talk->live.failure,
                 "stopped before the first token");
    } else if (status != CF_OK && status != CF_ECANCELLED) {
        snprintf(lab->talk->live.failure, sizeof lab->talk->live.failure, "%.199s", err->text);
        lab->talk->live.failure_code = err->code;
    }
    cf_error why;
    if (cf_lab__snapshot(lab, &why) != CF_OK) {
        lab->late = why;
    }
}

static void title_from(cf_lab *lab, const json_t *message)
{
    cf_buf text = CF_BUF_INIT;
    cf_lab_message_text(&text, message);
    size_t n_line = strcspn(cf_buf_cstr(&text), "\n");
    cf_utf8_copy(lab->talk->title, sizeof lab->talk->title,
                 cf_str_make(cf_buf_cstr(&text), n_line));
    cf_buf_deinit(&text);
}

static void store_turn(cf_lab *lab, const cf_turn *turn)
{
    cf_lab__store_copy(lab, turn, (cf_uuid){{0}});
}

const cf_reply *cf_lab_live(const cf_lab *lab)
{
    return &lab->talk->live;
}

/* ---- starting ----------------------------------------------------------- */

/* Starts the send in lab->talk->job, whose `send` has the beginning of the reply. */
static cf_status start(cf_lab *lab, cf_uuid parent, cf_error *err)
{
    cf_lab_talk *talk = lab->talk;
    cf_lab_job *job = &talk->job;
    job->lab = lab;
    job->parent = parent;
    job->old_head = cf_conversation_head(talk->conv);
    job->reply_id = cf_uuid_new();
    job->finds_other = cf_lab_cache_is_other(lab);
    job->options = cf_lab_options(lab);
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
    cf_status st = cf_conversation_set_head(talk->conv, parent, err);
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
        begin_live(lab, &talk->live, parent);
        for (size_t i = 1; is_many && i < job->sides->n; i++) {
            begin_live(lab, &job->sides->side[i].live, parent);
        }
        lab->is_writing = true;
        st = cf_runner_start(&lab->work, &task, err);
    }
    if (st == CF_OK) {
        talk->cached = talk->conv_id;
        cf_lab_add_undo(lab, CF_LAB_UNDO_HEAD, job->old_head);
    } else {
        end_job(lab);
    }
    return st;
}

static cf_status begin(cf_lab *lab, cf_error *err)
{
    CF_TRY(cf_lab_need_idle(lab, err));
    lab->talk->job = (cf_lab_job){.fork_token = -1};
    return CF_OK;
}

static void on_added(void *ud, const cf_turn *turn)
{
    cf_lab *lab = ud;
    if (lab->talk->title[0] == '\0' && !cf_turn_is_system(turn)) {
        title_from(lab, turn->message);
    }
    store_turn(lab, turn);
}

cf_status cf_lab_add(cf_lab *lab, const json_t *messages, cf_uuid parent, bool asks, cf_error *err)
{
    CF_TRY(begin(lab, err));
    cf_status st = cf_conversation_add_messages(lab->talk->conv, messages, parent, on_added, lab,
                                                &parent, NULL, err);
    if (st == CF_OK && asks) {
        return start(lab, parent, err);
    }
    /* Messages added before a failure are in the tree and are shown. */
    lab->generation++;
    cf_error *why = st == CF_OK ? err : NULL;
    cf_lab_add_undo(lab, CF_LAB_UNDO_HEAD, cf_conversation_head(lab->talk->conv));
    cf_status at = cf_conversation_set_head(lab->talk->conv, parent, why);
    CF_THEN(at, cf_lab__snapshot(lab, why));
    return st != CF_OK ? st : at;
}

static const cf_turn *find_reply(cf_lab *lab, cf_uuid id, cf_error *err)
{
    const cf_turn *t = cf_conversation_find(lab->talk->conv, id);
    if (t == NULL || !cf_str_is(cf_json_get_str(t->message, "role"), "assistant")) {
        cf_fail(err, CF_EINVAL, "this turn is not a reply");
        return NULL;
    }
    return t;
}

cf_status cf_lab_add_reply(cf_lab *lab, cf_uuid reply, const json_t *message, cf_str raw,
                           cf_error *err)
{
    cf_lab_talk *talk = lab->talk;
    CF_TRY(begin(lab, err));
    const cf_turn *from = find_reply(lab, reply, err);
    if (from == NULL) {
        return CF_EINVAL;
    }
    cf_turn turn = {.parent = from->parent, .status = CF_TURN_OK, .message = message, .raw = raw};
    cf_uuid id = {{0}};
    CF_TRY(cf_conversation_add(talk->conv, &turn, &id, err));
    store_turn(lab, cf_conversation_find(talk->conv, id));
    lab->generation++;
    cf_uuid before = cf_conversation_head(talk->conv);
    CF_TRY(cf_conversation_set_head(talk->conv, id, err));
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
    cf_status st =
        cf_lab_add(lab, messages, cf_conversation_resume(lab->talk->conv, parent), true, err);
    json_decref(messages);
    return st;
}

cf_status cf_lab_retry(cf_lab *lab, cf_uuid reply, cf_error *err)
{
    return cf_lab_retries(lab, reply, 1, err);
}

cf_status cf_lab_retries(cf_lab *lab, cf_uuid reply, size_t n, cf_error *err)
{
    cf_lab_talk *talk = lab->talk;
    CF_TRY(begin(lab, err));
    if (n == 0 || n > CF_LAB_SIDES_MAX) {
        return cf_fail(err, CF_ELIMIT, "expected 1 to %d replies", CF_LAB_SIDES_MAX);
    }
    const cf_turn *t = cf_conversation_find(talk->conv, reply);
    bool is_message = t != NULL && !cf_str_is(cf_json_get_str(t->message, "role"), "assistant");
    cf_uuid parent = reply; /* a message: a reply to it */
    if (!is_message) {
        t = find_reply(lab, reply, err);
        if (t == NULL) {
            return CF_EINVAL;
        }
        parent = t->parent;
        lab->settings.chat.sampling.seed++; /* other draws, repeatable too */
        talk->job.is_sibling = true;
    }
    if (n > 1) {
        CF_TRY(cf_lab__sides_new(&talk->job, n, err));
    }
    cf_status st = start(lab, parent, err);
    if (st == CF_OK && n > 1) { /* the seeds that they took */
        lab->settings.chat.sampling.seed += (uint64_t)n - 1;
    }
    return st;
}

cf_status cf_lab_retry_calls(cf_lab *lab, cf_uuid reply, cf_error *err)
{
    cf_lab_talk *talk = lab->talk;
    size_t n_tools;
    cf_tool_set_items(cf_lab_tools(lab), &n_tools);
    if (!cf_lab_info(lab).can_mask || n_tools == 0 || lab->engine.family == CF_TOOLS_NONE) {
        return cf_lab_retry(lab, reply, err);
    }
    CF_TRY(cf_lab_need_idle(lab, err));
    cf_lab_rule *before = talk->rule;
    talk->rule = NULL;
    cf_status st = cf_lab_constrain(lab, "tools", err);
    if (st == CF_OK) {
        st = cf_lab_retry(lab, reply, err); /* holds the rule from here */
    }
    cf_lab_rule_drop(talk->rule);
    talk->rule = before;
    return st;
}

cf_status cf_lab_continue(cf_lab *lab, cf_uuid reply, cf_str prefix, cf_error *err)
{
    cf_lab_talk *talk = lab->talk;
    CF_TRY(begin(lab, err));
    const cf_turn *t = find_reply(lab, reply, err);
    if (t == NULL) {
        return CF_EINVAL;
    }
    talk->job.prefix = cf_strndup(prefix.p, prefix.n);
    if (talk->job.prefix == NULL) {
        return cf_oom(err);
    }
    talk->job.send.reply_prefix = cf_str_make(talk->job.prefix, prefix.n);
    talk->job.is_sibling = true;
    return start(lab, t->parent, err);
}

cf_status cf_lab_fork(cf_lab *lab, cf_uuid reply, size_t token, const cf_token *ids, size_t n,
                      uint32_t max_tokens, cf_error *err)
{
    cf_lab_talk *talk = lab->talk;
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
    talk->job.reply_ids = all;
    talk->job.send.reply_ids = all;
    talk->job.send.n_reply_ids = token + n;
    talk->job.fork_of = reply;
    talk->job.fork_token = (int64_t)token;
    talk->job.max_tokens = max_tokens;
    talk->job.is_sibling = true;
    return start(lab, t->parent, err);
}

void cf_lab_stop(cf_lab *lab)
{
    cf_worker_cancel(lab->work.worker);
}
