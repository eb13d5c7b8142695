/*
 * reply_score.c - a task that has the model at hand read a reply.
 */
#include "tui/lab/tokens/reply_score.h"

#include "core/base/alloc.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/tokens/reply_reading.h"

typedef struct job {
    cf_lab *lab;
    cf_reply_scored_fn fn;
    void *ud;
    cf_uuid turn;
    cf_reading reading;
} job;

static void free_job(void *ud)
{
    job *j = ud;
    cf_reading_deinit(&j->reading);
    cf_free(j);
}

/* On the worker's thread. */
static cf_status run(void *ud, cf_runner *runner, cf_error *err)
{
    job *j = ud;
    return cf_reading_run(&j->reading, cf_runner_cancel_flag(runner), err);
}

static void end(void *ud, cf_status status, const cf_error *err)
{
    job *j = ud;
    cf_error why = *err;
    if (j->reading.n_done > 0) {
        const cf_reply_read read = cf_reading_result(&j->reading);
        cf_error late;
        cf_status st = cf_lab_take_read(j->lab, j->turn, &read, &late);
        if (status == CF_OK && st != CF_OK) {
            status = st;
            why = late;
        }
    } else if (status == CF_OK) {
        status = cf_oom_for(&why, "the reply's tokens");
    }
    why.code = status;
    j->fn(j->ud, &why);
}

static const cf_turn *find_turn(const cf_lab *lab, cf_uuid id)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(lab, &n);
    for (size_t i = 0; i < n; i++) {
        if (cf_uuid_eq(path[i]->id, id)) {
            return path[i];
        }
    }
    return NULL;
}

static cf_status prepare(job *j, const cf_turn *turn, cf_error *err)
{
    cf_lab *lab = j->lab;
    cf_arena arena;
    cf_prompt prompt;
    cf_arena_init(&arena, 0);
    cf_status st = cf_lab_preview(lab, turn->parent, NULL, &arena, &prompt, err);
    CF_THEN(st, cf_reading_init(&j->reading, &prompt, cf_reading_written(turn),
                                cf_lab_engine_of(lab)->tokenizer,
                                cf_backend_core_session(cf_lab_engine_of(lab)->backend), err));
    cf_arena_deinit(&arena);
    return st;
}

cf_status cf_lab_score_reply(cf_lab *lab, cf_uuid id, cf_reply_scored_fn fn, void *ud,
                             cf_error *err)
{
    const cf_turn *turn = find_turn(lab, id);
    if (cf_backend_core_session(cf_lab_engine_of(lab)->backend) == NULL ||
        cf_lab_engine_of(lab)->tokenizer == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "only a model file can score a reply; this engine gives "
                       "no probabilities");
    }
    if (turn == NULL ||
        cf_role_parse(cf_json_get_str(turn->message, "role")) != CF_ROLE_ASSISTANT ||
        cf_reading_written(turn).n == 0) {
        return cf_fail(err, CF_ENOTFOUND, "no reply with text is here");
    }
    CF_TRY(cf_lab_need_idle(lab, err));
    job *j = cf_calloc(1, sizeof *j);
    if (j == NULL) {
        return cf_oom_for(err, "the reply's tokens");
    }
    j->lab = lab;
    j->fn = fn;
    j->ud = ud;
    j->turn = id;
    cf_status st = prepare(j, turn, err);
    if (st != CF_OK) {
        free_job(j);
        return st;
    }
    const cf_task task = {.name = "scoring the reply",
                          .run = run,
                          .end = end,
                          .drop = free_job,
                          .ud = j,
                          .gives_way = true};
    return cf_lab_start_task(lab, &task, err); /* drops j where it fails */
}
