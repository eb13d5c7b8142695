/*
 * lab_task.c - the workbench's two threads for tasks, and who waits for whom.
 */
#include "tui/lab/state/lab_task.h"

#include "tui/lab/state/lab_impl.h"

void cf_lab_make_way(cf_lab *lab)
{
    if (lab->work.is_on && lab->work.task.gives_way) {
        cf_runner_stop(&lab->work);
    }
}

cf_status cf_lab_need_idle(cf_lab *lab, cf_error *err)
{
    cf_lab_make_way(lab);
    if (lab->is_writing) {
        return cf_fail(err, CF_EBUSY, "a reply is being written; Esc stops it");
    }
    if (lab->work.is_on) {
        return cf_fail(err, CF_EBUSY, "still %s; Esc stops it", lab->work.task.name);
    }
    return CF_OK;
}

cf_status cf_lab_start_task(cf_lab *lab, const cf_task *task, cf_error *err)
{
    cf_status st = cf_lab_need_idle(lab, err);
    if (st != CF_OK) {
        if (task->drop != NULL) {
            task->drop(task->ud);
        }
        return st;
    }
    return cf_runner_start(&lab->work, task, err);
}

void cf_lab_tell(cf_lab *lab, void *item)
{
    cf_runner_tell(&lab->work, item);
}

cf_cancel *cf_lab_cancel_flag(cf_lab *lab)
{
    return cf_runner_cancel_flag(&lab->work);
}

void cf_lab_count_set(void *ud, size_t n_done, size_t n_all)
{
    cf_lab_count *c = ud;
    c->n_done = n_done;
    c->n_all = n_all;
}

void cf_lab_count_put(const void *ud, cf_buf *out)
{
    const cf_lab_count *c = ud;
    size_t n_all = c->n_all;
    if (n_all > 0) {
        cf_buf_addf(out, "%zu of %zu", (size_t)c->n_done, n_all);
    }
}

static bool has_task(const cf_lab *lab)
{
    return lab->work.is_on && !lab->is_writing;
}

const char *cf_lab_task_name(const cf_lab *lab)
{
    return has_task(lab) ? lab->work.task.name : NULL;
}

void cf_lab_task_progress(const cf_lab *lab, cf_buf *out)
{
    if (has_task(lab) && lab->work.task.progress != NULL) {
        lab->work.task.progress(lab->work.task.ud, out);
    }
}

void cf_lab_end_task(cf_lab *lab, const void *ud)
{
    while (has_task(lab) && (ud == NULL || lab->work.task.ud == ud)) {
        cf_runner_stop(&lab->work);
    }
}

cf_status cf_lab_start_reading(cf_lab *lab, const cf_task *task, cf_error *err)
{
    return cf_runner_start(&lab->reader, task, err);
}

void cf_lab_end_reading(cf_lab *lab, const void *ud)
{
    while (lab->reader.is_on && (ud == NULL || lab->reader.task.ud == ud)) {
        cf_runner_finish(&lab->reader);
    }
}
