/*
 * influence_task.c - a case out of the workbench, scored on its thread.
 */
#include "tui/study/influence/influence_task.h"

#include <string.h>

#include "core/base/alloc.h"
#include "templates/prompt_part.h"
#include "tui/lab/lab.h"
#include "tui/study/ask/lab_case.h"

typedef struct job {
    cf_lab_count count; /* first: what reports it */
    cf_influence_study *study;
    cf_study_engine engine;
    cf_study_own own;
    cf_study_scorer scorer;
    void (*end)(void *ud, cf_influence_study *study);
    void *ud;
} job;

void cf_influence_study_free(cf_influence_study *s)
{
    if (s != NULL) {
        cf_influence_deinit(&s->result);
        cf_study_case_deinit(&s->c);
        cf_study_case_deinit(&s->other);
        cf_free(s->order);
        cf_free(s->shade);
        cf_free(s);
    }
}

static void free_job(void *ud)
{
    job *j = ud;
    cf_study_scorer_deinit(&j->scorer);
    cf_study_own_deinit(&j->own);
    cf_influence_study_free(j->study);
    cf_free(j);
}

/* ---- shades ------------------------------------------------------------- */

unsigned cf_influence_shade(double delta, double most)
{
    double share = most < 0 && delta < 0 ? delta / most : 0;
    return share > 0.5 ? 3 : share > 0.15 ? 2 : share > 0.02 ? 1 : 0;
}

/* Each token of the prompt gets the shade of the part that mattered most of
 * those that it shows. */
static cf_status make_shades(cf_influence_study *s, cf_error *err)
{
    const cf_influence *v = &s->result;
    double most = 0;
    s->order = cf_calloc(v->n_row + 1, sizeof *s->order);
    s->shade = cf_calloc(v->tokens.n + 1, sizeof *s->shade);
    if (s->order == NULL || s->shade == NULL) {
        return cf_oom_for(err, "the influence");
    }
    cf_influence_sort(v, s->order);
    for (size_t i = 0; i < v->n_row; i++) {
        const cf_influence_row *row = &v->row[i];
        most = row->has_delta && row->delta < most ? row->delta : most;
    }
    for (size_t i = 0; i < v->n_row; i++) {
        const cf_influence_row *row = &v->row[i];
        unsigned shade = row->has_delta ? cf_influence_shade(row->delta, most) : 0;
        for (size_t t = 0; shade > 0 && t < v->tokens.n; t++) {
            const cf_token_span *token = &v->tokens.v[t];
            if (token->len > 0 && s->shade[t] < shade &&
                cf_parts_has_byte(&v->prompt, &row->part, token->off)) {
                s->shade[t] = (uint8_t)shade;
            }
        }
    }
    return CF_OK;
}

/* ---- the task ----------------------------------------------------------- */

static cf_status run(void *ud, cf_runner *runner, cf_error *err)
{
    job *j = ud;
    cf_influence_study *s = j->study;
    (void)runner;
    CF_TRY(cf_influence_make(&s->result, &s->c, &j->engine, &j->scorer, &s->options,
                             cf_lab_count_set, &j->count, err));
    return make_shades(s, err);
}

static void on_end(void *ud, cf_status status, const cf_error *err)
{
    job *j = ud;
    cf_influence_study *s = j->study;
    s->is_done = status == CF_OK;
    s->err = *err;
    s->err.code = status;
    j->study = NULL; /* the caller's now */
    j->end(j->ud, s);
}

static cf_status fill(job *j, cf_lab *lab, cf_store *store, cf_uuid turn, cf_error *err)
{
    CF_TRY(cf_study_case_of_lab(&j->study->c, &j->engine, &j->own, lab, store, turn, err));
    return cf_study_scorer_init(&j->scorer, j->engine.backend, store, cf_lab_cancel_flag(lab), err);
}

/* The conversation whose parts are swapped in. */
static cf_status load_other(job *j, cf_store *store, cf_error *err)
{
    cf_influence_study *s = j->study;
    char id[CF_UUID_TEXT + 1];
    s->options.other = NULL;
    if (s->options.change != CF_CHANGE_SWAP) {
        return CF_OK;
    }
    if (store == NULL) {
        return cf_fail(err, CF_ENOTFOUND, "history is off");
    }
    cf_uuid_format(id, s->with);
    CF_TRY(cf_study_case_whole(&s->other, store, &j->engine, id, err));
    s->options.other = &s->other;
    return CF_OK;
}

cf_status cf_influence_start(cf_lab *lab, cf_store *store, cf_uuid turn, cf_uuid with,
                             const cf_influence_options *options,
                             void (*end)(void *ud, cf_influence_study *study), void *ud,
                             cf_error *err)
{
    CF_TRY(cf_lab_need_idle(lab, err));
    job *j = cf_calloc(1, sizeof *j);
    if (j == NULL) {
        return cf_oom_for(err, "the influence");
    }
    j->end = end;
    j->ud = ud;
    j->study = cf_calloc(1, sizeof *j->study);
    cf_status st = j->study != NULL ? CF_OK : cf_oom_for(err, "the influence");
    if (st == CF_OK) {
        cf_study_case_init(&j->study->c);
        cf_study_case_init(&j->study->other);
        j->study->with = with;
        cf_influence_init(&j->study->result);
        j->study->options = *options;
        if (options->instead != NULL) {
            j->study->options.instead = cf_arena_strndup(&j->study->result.arena, options->instead,
                                                         strlen(options->instead));
            st = j->study->options.instead != NULL ? CF_OK : cf_oom_for(err, "the influence");
        }
        CF_THEN(st, fill(j, lab, store, turn, err));
        CF_THEN(st, load_other(j, store, err));
    }
    if (st != CF_OK) {
        free_job(j);
        return st;
    }
    const cf_task task = {.name = "asking what made the reply so",
                          .run = run,
                          .progress = cf_lab_count_put,
                          .end = on_end,
                          .drop = free_job,
                          .ud = j};
    return cf_lab_start_task(lab, &task, err); /* drops j where it fails */
}
