/*
 * diff_likely.c - scoring one conversation as a task.
 */
#include "tui/lab/compare/diff_likely.h"
#include "tui/lab/state/lab_state.h"
#include "tui/lab/state/lab_task.h"

#include <string.h>

#include "core/base/alloc.h"

typedef struct cf_likely_job {
    cf_diff_pair pair; /* it must not move */
    cf_conversation *conv[2];
    json_t *vars;
    cf_scorer scorer;
    cf_lab *lab;
    cf_likely *to; /* the interface thread's */
} job_state;

typedef struct item {
    cf_reply_score score;
    size_t n_all;
} item;

static void free_job(void *ud)
{
    job_state *j = ud;
    cf_scorer_deinit(&j->scorer);
    cf_diff_pair_close(&j->pair);
    for (int i = 0; i < 2; i++) {
        cf_conversation_free(j->conv[i]);
    }
    json_decref(j->vars);
    cf_free(j);
}

void cf_likely_deinit(cf_likely *l)
{
    if (l->is_on) {
        cf_lab_end_task(l->lab, l->job);
    }
    cf_free(l->v);
    memset(l, 0, sizeof *l);
}

/* ---- on the worker's thread --------------------------------------------- */

static void on_score(void *ud, const cf_reply_score *score, size_t i, size_t n)
{
    const job_state *j = ud;
    item *it = cf_alloc(sizeof *it);
    (void)i;
    if (it != NULL) { /* else a row is missing, and the count shows it */
        *it = (item){*score, n};
        cf_lab_tell(j->lab, it);
    }
}

static cf_status run(void *ud, cf_runner *runner, cf_error *err)
{
    job_state *j = ud;
    (void)runner;
    return cf_scorer_run(&j->scorer, j->conv, j->vars, on_score, j, err);
}

/* ---- on the interface thread -------------------------------------------- */

static void take(void *ud, void *p)
{
    cf_likely *l = ((job_state *)ud)->to;
    item *it = p;
    l->n_all = it->n_all;
    if (cf_grow(&l->v, &l->cap, l->n + 1, sizeof *l->v)) {
        l->v[l->n++] = it->score;
        cf_score_sum_add(&l->sum, &it->score);
    }
    cf_free(it);
}

static void progress(const void *ud, cf_buf *out)
{
    const cf_likely *l = ((const job_state *)ud)->to;
    cf_buf_addf(out, "%zu of %zu", l->n, l->n_all);
}

static void on_end(void *ud, cf_status status, const cf_error *err)
{
    cf_likely *l = ((job_state *)ud)->to;
    (void)err; /* cf_lab_poll() reports it */
    l->job = NULL;
    l->is_on = false;
    l->was_stopped = status != CF_OK;
}

static cf_status make_job(job_state *j, cf_diff_model *m, cf_error *err)
{
    j->lab = m->lab;
    CF_TRY(cf_diff_model_pair(m, &j->pair, err));
    CF_TRY(cf_scorer_init(&j->scorer, &j->pair, cf_lab_engine_of(m->lab)->backend,
                          cf_lab_cancel_flag(m->lab), err));
    for (int i = 0; i < 2; i++) {
        CF_TRY(cf_diff_model_use_lora(m, i, j->scorer.session[i], err));
        CF_TRY(cf_diff_model_conv(m, i, &j->conv[i], err));
    }
    return cf_diff_model_vars(m, &j->vars, err);
}

cf_status cf_likely_start(cf_likely *l, cf_diff_model *m, cf_error *err)
{
    CF_TRY(cf_lab_need_idle(m->lab, err));
    job_state *j = cf_calloc(1, sizeof *j);
    if (j == NULL) {
        return cf_oom(err);
    }
    cf_status st = make_job(j, m, err);
    if (st != CF_OK) {
        free_job(j);
        return st;
    }
    const cf_task task = {.name = "scoring the replies",
                          .run = run,
                          .take = take,
                          .progress = progress,
                          .end = on_end,
                          .drop = free_job,
                          .free_item = cf_free,
                          .ud = j};
    j->to = l;
    CF_TRY(cf_lab_start_task(m->lab, &task, err)); /* drops j where it fails */
    l->job = j;
    l->has = l->is_on = true;
    l->was_stopped = false;
    l->was_swapped = m->is_swapped;
    l->lab = m->lab;
    l->n = l->n_all = 0;
    l->sum = (cf_score_sum){.n_replies = 0};
    return CF_OK;
}
