/*
 * lab_sides.c - sends one message to several clones of the engine.
 */
#include "tui/lab/talk/lab_sides.h"

#include "core/base/alloc.h"
#include "tui/lab/state/lab_task.h"

/* Handed over by the thread. */
typedef struct item {
    size_t side;
    cf_chat_event *event; /* owned */
} item;

cf_status cf_lab__sides_new(cf_lab_job *job, size_t n, cf_error *err)
{
    struct cf_lab_sides *s = cf_calloc(1, sizeof *s);
    if (s == NULL) {
        return cf_oom_for(err, "replies side by side");
    }
    s->n = n;
    for (size_t i = 0; i < n; i++) {
        s->side[i].job = job;
        s->side[i].number = i;
        cf_sent_init(&s->side[i].sent.sent);
    }
    job->sides = s;
    return CF_OK;
}

void cf_lab__sides_free(struct cf_lab_sides *s)
{
    for (size_t i = 0; s != NULL && i < s->n; i++) {
        cf_sent_deinit(&s->side[i].sent.sent);
        cf_reply_deinit(&s->side[i].live);
    }
    cf_free(s);
}

/* ---- on the send's thread ----------------------------------------------- */

static void on_event(const cf_chat_event *e, void *ud)
{
    cf_lab_side *side = ud;
    cf_keep_reply_event(&side->keep, e);
    item *it = e->kind != CF_CHAT_STOP ? cf_calloc(1, sizeof *it) : NULL;
    if (it == NULL) {
        return; /* the reply itself is still in the response */
    }
    it->side = side->number;
    it->event = cf_reply_copy_event(e);
    if (it->event != NULL) {
        cf_lab_tell(side->job->lab, it);
    } else {
        cf_free(it);
    }
}

static cf_status open_side(cf_lab *lab, cf_lab_side *side, cf_error *err)
{
    cf_lab_job *job = side->job;
    side->options = job->options;
    side->options.chat.sampling.seed += (uint64_t)side->number;
    side->sent.conv = lab->talk->conv;
    side->sent.send = job->send;
    side->sent.send.options = &side->options;
    side->sent.send.fn = on_event;
    side->sent.send.ud = side;
    side->sent.backend = lab->engine.backend;
    if (side->number > 0) {
        side->sent.send.reply_id = cf_uuid_new();
        side->sent.backend = NULL;
        CF_TRY(cf_backend_clone(&side->sent.backend, lab->engine.backend, err));
    }
    cf_lab__begin_stored(lab, job, &side->sent.send, &side->keep);
    return CF_OK;
}

/* Sends them all.  The jobs are a list of their own while they run. */
static void send_all(struct cf_lab_sides *s)
{
    cf_send_job jobs[CF_LAB_SIDES_MAX];
    for (size_t i = 0; i < s->n; i++) {
        jobs[i] = s->side[i].sent;
    }
    cf_conversation_send_many(jobs, s->n);
    for (size_t i = 0; i < s->n; i++) {
        s->side[i].sent = jobs[i];
    }
}

cf_status cf_lab__run_sides(void *ud, cf_runner *runner, cf_error *err)
{
    cf_lab_job *job = ud;
    cf_lab *lab = job->lab;
    (void)runner;
    struct cf_lab_sides *s = job->sides;
    cf_status st = cf_lab__ready_rule(lab, job, err);
    for (size_t i = 0; st == CF_OK && i < s->n; i++) {
        st = open_side(lab, &s->side[i], err);
    }
    if (st == CF_OK) {
        send_all(s);
    }
    for (size_t i = 0; i < s->n; i++) {
        cf_lab_side *side = &s->side[i];
        cf_error why;
        cf_status kept = cf_keep_reply_end(&side->keep, lab->talk->conv, &side->sent.sent, &why);
        cf_keep_note(lab->store, kept, &why);
        if (i > 0) {
            cf_backend_free(side->sent.backend);
        }
        if (st == CF_OK && side->sent.status != CF_OK) {
            st = side->sent.status;
            *err = side->sent.err;
        }
    }
    return st;
}

/* ---- on the interface thread -------------------------------------------- */

void cf_lab__free_side_item(void *p)
{
    item *it = p;
    cf_free(it->event);
    cf_free(it);
}

void cf_lab__take_side(void *ud, void *p)
{
    cf_lab_job *job = ud;
    item *it = p;
    cf_lab *lab = job->lab;
    cf_reply *live = it->side == 0 ? &lab->talk->live : &job->sides->side[it->side].live;
    cf_reply_add(live, lab->engine.tokenizer, it->event);
    cf_lab__free_side_item(it);
}

size_t cf_lab_n_live(const cf_lab *lab)
{
    const cf_lab_talk *talk = lab->talk;
    bool is_many = lab->is_writing && talk->job.sides != NULL;
    return is_many ? talk->job.sides->n : talk->live.is_live ? 1 : 0;
}

const cf_reply *cf_lab_live_at(const cf_lab *lab, size_t i)
{
    return i == 0 ? &lab->talk->live : &lab->talk->job.sides->side[i].live;
}
