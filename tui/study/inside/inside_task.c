/*
 * inside_task.c - a case out of the workbench, looked into on its thread.
 */
#include "tui/study/inside/inside_task.h"

#include "core/base/alloc.h"
#include "tui/lab/lab.h"
#include "tui/study/ask/lab_case.h"
#include "tui/study/influence/influence_task.h"

typedef struct job {
    cf_inside_work *work;
    cf_study_own own;
    cf_session *session; /* a fork of the workbench's */
    int64_t off;
    _Atomic size_t n_done, n_all;
    void (*end)(void *ud, cf_inside_work *work);
    void *ud;
} job;

void cf_inside_work_free(cf_inside_work *w)
{
    if (w != NULL) {
        cf_inside_case_deinit(&w->c);
        cf_free(w->shade);
        cf_free(w);
    }
}

static void free_job(void *ud)
{
    job *j = ud;
    cf_session_free(j->session);
    cf_study_own_deinit(&j->own);
    cf_inside_work_free(j->work);
    cf_free(j);
}

/* ---- shades ------------------------------------------------------------- */

/* What all heads gave to a position, added up. */
static double given(const cf_inside_work *w, size_t pos)
{
    double sum = 0;
    for (uint32_t l = 0; l < w->look.n_layer; l++) {
        const cf_inside_looks *looks = &w->look.layer[l];
        for (uint32_t h = 0; h < looks->n_head; h++) {
            sum += (double)looks->w[h * (w->c.at + (size_t)1) + pos] / looks->n_head;
        }
    }
    return sum;
}

/* Against the token of a part that was looked at most: what the template's
 * first tokens get would hide all others. */
static cf_status make_shades(cf_inside_work *w, cf_error *err)
{
    const cf_inside_case *c = &w->c;
    double most = 0;
    w->shade = cf_calloc(c->tokens.n + 1, sizeof *w->shade);
    if (w->shade == NULL) {
        return cf_oom_for(err, "looking inside");
    }
    for (size_t i = 0; i < c->n_part; i++) {
        for (size_t k = 0; k < c->part[i].n && c->part[i].pos[k] <= c->at; k++) {
            double v = given(w, c->part[i].pos[k]);
            most = v > most ? v : most;
        }
    }
    for (size_t i = 0; i < c->tokens.n && i <= c->at; i++) {
        w->shade[i] = (uint8_t)cf_influence_shade(-given(w, i), -most);
    }
    return CF_OK;
}

/* ---- the task ----------------------------------------------------------- */

static void on_progress(void *ud, size_t n_done, size_t n_all)
{
    job *j = ud;
    j->n_done = n_done;
    j->n_all = n_all;
}

static cf_status run(void *ud, cf_runner *runner, cf_error *err)
{
    job *j = ud;
    cf_inside_work *w = j->work;
    cf_inside_case *c = &w->c;
    (void)runner;
    CF_TRY(cf_inside_case_make(c, err));
    if (j->off != CF_INSIDE_FROM_CALL) {
        CF_TRY(cf_inside_case_set_byte(c, (size_t)j->off, err));
    }
    CF_TRY(cf_inside_case_parts(c, w->kinds, err));
    CF_TRY(cf_inside_case_choose(c, NULL, NULL, err));
    const cf_inside_ask ask = cf_inside_case_ask(c, NULL);
    CF_TRY(cf_inside_study_lens(&w->layers, c, err));
    CF_TRY(cf_inside_study_look(&w->look, c, err));
    CF_TRY(make_shades(w, err));
    CF_TRY(cf_inside_margin(c->session, &ask, c->a, c->against, &w->margin, &c->arena, err));
    CF_TRY(cf_inside_study_answer(&w->plain, c, NULL, err));
    CF_TRY(cf_inside_study_tools(&w->choice, c, err));
    return cf_inside_study_without(&w->without, c, on_progress, j, err);
}

static void progress(const void *ud, cf_buf *out)
{
    const job *j = ud;
    size_t n_all = j->n_all;
    if (n_all > 0) {
        cf_buf_addf(out, "%zu of %zu", (size_t)j->n_done, n_all);
    }
}

static void on_end(void *ud, cf_status status, const cf_error *err)
{
    job *j = ud;
    cf_inside_work *w = j->work;
    w->is_done = status == CF_OK;
    w->err = *err;
    w->err.code = status;
    w->c.session = NULL;
    w->c.engine.roles = NULL;
    w->c.engine.backend = NULL; /* which may be the job's own */
    j->work = NULL;             /* the caller's now */
    j->end(j->ud, w);
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
    return cf_study_case_of_lab(&c->c, &c->engine, &j->own, lab, store, turn, err);
}

cf_status cf_inside_start(cf_lab *lab, cf_store *store, cf_uuid turn, int64_t off, uint32_t kinds,
                          void (*end)(void *ud, cf_inside_work *work), void *ud, cf_error *err)
{
    CF_TRY(cf_lab_need_idle(lab, err));
    job *j = cf_calloc(1, sizeof *j);
    if (j == NULL) {
        return cf_oom_for(err, "looking inside");
    }
    j->end = end;
    j->ud = ud;
    j->off = off;
    j->work = cf_calloc(1, sizeof *j->work);
    cf_status st = j->work != NULL ? CF_OK : cf_oom_for(err, "looking inside");
    if (st == CF_OK) {
        cf_inside_case_init(&j->work->c);
        j->work->kinds = kinds;
        st = fill(j, lab, store, turn, err);
    }
    if (st != CF_OK) {
        free_job(j);
        return st;
    }
    const cf_task task = {.name = "looking inside",
                          .run = run,
                          .progress = progress,
                          .end = on_end,
                          .drop = free_job,
                          .ud = j};
    return cf_lab_start_task(lab, &task, err); /* drops j where it fails */
}
