/*
 * lab_keep.c - the conversation's way into the history: it begins there with
 * its first message, and every turn follows.
 */
#include "core/base/alloc.h"
#include "tui/lab/talk/saved.h"
#include "tui/lab/talk/talk_impl.h"

void cf_lab__begin_stored(cf_lab *lab, cf_lab_job *job, const cf_send *send, cf_keep_reply *keep)
{
    if (lab->store == NULL || !lab->talk->is_stored) {
        return;
    }
    const cf_keep_engine engine = {
        .backend = lab->engine.backend,
        .engine = lab->engine.engine,
        .template_name = lab->engine.template_name,
        .template_source = lab->engine.template_source,
    };
    cf_keep_start start = {
        .conversation = lab->talk->conv_id,
        .parent = job->parent,
        .send = send,
        .fork_of = job->fork_of,
        .fork_token = job->fork_token,
    };
    if (job->rule != NULL) {
        start.constraint = cf_str_make(job->rule->text.p, job->rule->text.n);
    }
    cf_error why;
    cf_status st = cf_keep_reply_begin(keep, lab->store, &engine, lab->talk->conv, &start, &why);
    cf_keep_note(lab->store, st, &why);
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
    cf_lab_talk *talk = lab->talk;
    if (cf_turn_is_system(turn)) {
        return false;
    }
    cf_uuid id = talk->conv_id;
    cf_error why;
    cf_status st = cf_saved_put(lab->store, talk->conv, cf_str_from(talk->title), &id, &why);
    talk->is_stored = is_kept(st);
    cf_keep_note(lab->store, st, &why);
    for (size_t i = 0; i < cf_conversation_n_turns(talk->conv); i++) {
        const cf_turn *t = cf_conversation_turn(talk->conv, i);
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
    if (!lab->talk->is_stored && !begin_stored(lab, turn)) {
        return;
    }
    cf_error why;
    cf_status st = cf_keep_copy(lab->store, lab->talk->conv_id, turn, from, &why);
    cf_keep_note(lab->store, st, &why);
}
