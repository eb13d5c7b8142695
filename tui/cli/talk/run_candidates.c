/*
 * run_candidates.c - sends one message to several clones of an engine.
 */
#include "tui/cli/talk/run_candidates.h"

#include <stdio.h>

#include "core/base/alloc.h"
#include "tui/cli/talk/run_json.h"
#include "tui/sys/out.h"

/* One candidate, the `ud` of its events. */
typedef struct candidate {
    const cf_candidates *all;
    int number;
    uint64_t seed;
    cf_turn_options options;
    cf_backend *backend; /* a clone; of the first one borrowed */
    cf_keep *keep;       /* likewise */
    cf_stop stop;
    cf_usage usage;
    cf_buf text;
} candidate;

static void write_json(const cf_buf *line)
{
    cf_out(stdout, cf_buf_str(line), CF_OUT_JSON);
    fflush(stdout);
}

static void tell_stop(const candidate *c)
{
    cf_jw w;
    cf_buf b = CF_BUF_INIT;
    cf_run_json_begin(&w, &b, "stop");
    cf_jw_int(&w, "candidate", c->number);
    cf_jw_uint(&w, "seed", c->seed);
    cf_run_json_stop(&w, &c->stop);
    if (c->usage.is_known) {
        cf_run_json_usage(&w, "usage", &c->usage);
    }
    cf_run_json_end(&w);
    write_json(&b);
    cf_buf_deinit(&b);
}

static void on_event(const cf_chat_event *ev, void *ud)
{
    candidate *c = ud;
    if (c->keep != NULL) {
        cf_keep_event(c->keep, ev);
    }
    if (ev->kind == CF_CHAT_USAGE) {
        c->usage = ev->usage;
    } else if (ev->kind == CF_CHAT_STOP) {
        c->stop = ev->stop;
    }
    if (!c->all->cli->is_json) {
        if (ev->kind == CF_CHAT_TEXT) {
            cf_buf_add(&c->text, ev->text.p, ev->text.n);
        }
        return;
    }
    if (ev->kind == CF_CHAT_STOP) {
        tell_stop(c);
    } else if (ev->kind != CF_CHAT_PROMPT) {
        cf_buf b = CF_BUF_INIT;
        cf_run_json_event(&b, ev, c->number);
        write_json(&b);
        cf_buf_deinit(&b);
    }
}

/* The text of a candidate, under its number and seed. */
static void show_text(const candidate *c)
{
    cf_note("[candidate %d, --seed %llu, %s]", c->number, (unsigned long long)c->seed,
            cf_stop_reason_name(c->stop.reason));
    cf_out(stdout, cf_buf_str(&c->text), CF_OUT_TEXT);
    cf_out(stdout, cf_str_from("\n"), CF_OUT_TEXT);
    fflush(stdout);
}

/* Must be closed even on failure. */
static cf_status open_one(candidate *c, cf_send_job *job, cf_uuid parent, cf_error *err)
{
    const cf_candidates *all = c->all;
    c->options = *all->send->options;
    c->seed = c->options.chat.sampling.seed + (uint64_t)c->number;
    c->options.chat.sampling.seed = c->seed;
    job->conv = all->conv;
    job->send = *all->send;
    job->send.message = NULL;
    job->send.has_parent = true;
    job->send.parent = parent;
    job->send.options = &c->options;
    job->send.fn = on_event;
    job->send.ud = c;
    cf_sent_init(&job->sent);
    c->backend = c->number == 0 ? all->engine->backend : NULL;
    if (c->number > 0) {
        CF_TRY(cf_backend_clone(&c->backend, all->engine->backend, err));
    }
    job->backend = c->backend;
    cf_backend_core_set_draft(c->backend, all->n_draft);
    if (all->keep == NULL) {
        return CF_OK;
    }
    c->keep = c->number == 0 ? all->keep : NULL;
    if (c->number > 0) {
        CF_TRY(cf_keep_side(&c->keep, all->keep, err));
    }
    return cf_keep_sending(c->keep, all->conv, all->engine, all->constraint, &job->send, err);
}

static void close_one(candidate *c, cf_send_job *job)
{
    if (c->number > 0) {
        cf_keep_close(c->keep);
        cf_backend_free(c->backend);
    }
    cf_sent_deinit(&job->sent);
    cf_buf_deinit(&c->text);
}

/* Adds the message to the conversation and to the history; *parent is the turn
 * that all candidates answer. */
static cf_status add_message(const cf_candidates *all, cf_uuid *parent, cf_error *err)
{
    *parent = all->send->has_parent
                  ? all->send->parent
                  : cf_conversation_resume(all->conv, cf_conversation_head(all->conv));
    if (all->keep != NULL) {
        return cf_keep_message(all->keep, all->conv, all->send->message, parent, err);
    }
    return cf_conversation_add_messages(all->conv, all->send->message, *parent, NULL, NULL, parent,
                                        NULL, err);
}

/* Stores and shows the results of the candidates; the first failure. */
static cf_status settle(candidate *c, cf_send_job *jobs, size_t n, bool *is_engine, cf_error *err)
{
    cf_status st = CF_OK;
    for (size_t i = 0; i < n; i++) {
        if (c[i].keep != NULL) {
            cf_keep_sent(c[i].keep, c[i].all->conv, &jobs[i].sent);
        }
        if (!c[i].all->cli->is_json) {
            show_text(&c[i]);
        }
        if (st == CF_OK && jobs[i].status != CF_OK) {
            st = jobs[i].status;
            *err = jobs[i].err;
            *is_engine = c[i].stop.reason == CF_STOP_ERROR;
        }
    }
    if (!cf_uuid_is_nil(jobs[0].sent.reply)) {
        cf_ignore(
            cf_conversation_set_head(c[0].all->conv, jobs[0].sent.reply, NULL)); /* it is there */
    }
    return st;
}

static cf_status run_all(const cf_candidates *all, candidate *c, cf_send_job *jobs, bool *is_engine,
                         cf_error *err)
{
    cf_uuid parent;
    size_t n = 0;
    cf_status st = add_message(all, &parent, err);
    for (; st == CF_OK && n < all->n; n++) {
        c[n] = (candidate){.all = all, .number = (int)n};
        st = open_one(&c[n], &jobs[n], parent, err);
    }
    if (st == CF_OK) {
        cf_conversation_send_many(jobs, n);
        st = settle(c, jobs, n, is_engine, err);
    }
    for (size_t i = 0; i < n; i++) {
        close_one(&c[i], &jobs[i]);
    }
    return st;
}

cf_status cf_run_candidates(const cf_candidates *all, bool *is_engine, cf_error *err)
{
    candidate *c = cf_calloc(all->n, sizeof *c);
    cf_send_job *jobs = cf_calloc(all->n, sizeof *jobs);
    cf_status st;
    if (c != NULL && jobs != NULL) {
        st = run_all(all, c, jobs, is_engine, err);
    } else {
        st = cf_oom_for(err, "candidates");
    }
    cf_free(jobs);
    cf_free(c);
    return st;
}
