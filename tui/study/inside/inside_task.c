/*
 * inside_task.c - a case out of the workbench, looked into on its thread.
 */
#include "tui/study/inside/inside_task.h"

#include "core/base/alloc.h"
#include "tui/lab/lab.h"
#include "tui/study/ask/lab_case.h"

typedef struct job {
    cf_lab_count count; /* first: what reports it */
    cf_inside_work *work;
    cf_study_own own;
    cf_session *session, *second; /* forks of the workbench's */
    void (*end)(void *ud, cf_inside_work *work);
    void *ud;
} job;

static void free_job(void *ud)
{
    job *j = ud;
    cf_session_free(j->session);
    cf_session_free(j->second);
    cf_study_own_deinit(&j->own);
    cf_inside_work_free(j->work);
    cf_free(j);
}

static cf_status run(void *ud, cf_runner *runner, cf_error *err)
{
    job *j = ud;
    (void)runner;
    return cf_inside_work_make(j->work, cf_lab_count_set, &j->count, err);
}

static void leave(cf_inside_case *c)
{
    c->session = NULL;
    c->engine.roles = NULL;
    c->engine.backend = NULL; /* which may be the job's own */
}

static void on_end(void *ud, cf_status status, const cf_error *err)
{
    job *j = ud;
    cf_inside_work *w = j->work;
    w->is_done = status == CF_OK;
    w->err = *err;
    w->err.code = status;
    leave(&w->c);
    leave(&w->from);
    j->work = NULL; /* the caller's now */
    j->end(j->ud, w);
}

/* The prompt of the conversation whose streams are patched in: before its last
 * reply, or the whole of it. */
static cf_status load_from(job *j, const cf_session *session, cf_store *store, cf_error *err)
{
    cf_inside_work *w = j->work;
    char id[CF_UUID_TEXT + 1];
    if (cf_uuid_is_nil(w->q.with)) {
        return CF_OK;
    }
    if (store == NULL) {
        return cf_fail(err, CF_ENOTFOUND, "history is off");
    }
    cf_uuid_format(id, w->q.with);
    w->from.engine = w->c.engine;
    w->from.cancel = w->c.cancel;
    CF_TRY(cf_session_fork(&j->second, session, err));
    w->from.session = j->second;
    cf_status st = cf_study_case_load(&w->from.c, store, &w->from.engine, id, NULL, err);
    if (st == CF_ENOTFOUND) {
        cf_study_case_deinit(&w->from.c);
        cf_study_case_init(&w->from.c);
        st = cf_study_case_whole(&w->from.c, store, &w->from.engine, id, err);
    }
    return st;
}

static cf_status fill(job *j, cf_lab *lab, cf_store *store, cf_uuid turn, cf_error *err)
{
    const cf_lab_engine *e = cf_lab_engine_of(lab);
    cf_inside_case *c = &j->work->c;
    const cf_session *session = cf_backend_core_session(e->backend);
    if (session == NULL || e->engine == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "looking inside needs the built-in engine");
    }
    c->cancel = cf_lab_cancel_flag(lab);
    CF_TRY(cf_session_fork(&j->session, session, err));
    c->session = j->session;
    CF_TRY(cf_study_case_of_lab(&c->c, &c->engine, &j->own, lab, store, turn, err));
    return load_from(j, session, store, err);
}

cf_status cf_inside_start(cf_lab *lab, cf_store *store, cf_uuid turn, const cf_inside_question *q,
                          void (*end)(void *ud, cf_inside_work *work), void *ud, cf_error *err)
{
    CF_TRY(cf_lab_need_idle(lab, err));
    job *j = cf_calloc(1, sizeof *j);
    if (j == NULL) {
        return cf_oom_for(err, "looking inside");
    }
    j->end = end;
    j->ud = ud;
    cf_status st = cf_inside_work_new(&j->work, q, err);
    CF_THEN(st, fill(j, lab, store, turn, err));
    if (st != CF_OK) {
        free_job(j);
        return st;
    }
    const cf_task task = {.name = "looking inside",
                          .run = run,
                          .progress = cf_lab_count_put,
                          .end = on_end,
                          .drop = free_job,
                          .ud = j};
    return cf_lab_start_task(lab, &task, err); /* drops j where it fails */
}
