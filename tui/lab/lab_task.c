/*
 * lab_task.c - work on the worker's thread that makes no turn.
 *
 * A task's items travel as news, in the same queue as those of a reply; the
 * last news of a task is its end.
 */
#include "core/base/alloc.h"
#include "tui/lab/lab_impl.h"

void cf_lab_make_way(cf_lab *lab)
{
    if (lab->task_is_on && lab->task.gives_way) {
        cf_lab_end_task(lab, lab->task.ud);
    }
}

cf_status cf_lab_need_idle(cf_lab *lab, cf_error *err)
{
    cf_lab_make_way(lab);
    if (lab->job_is_on) {
        return cf_fail(err, CF_EBUSY, "a reply is being written; Esc stops it");
    }
    if (lab->task_is_on) {
        return cf_fail(err, CF_EBUSY, "still %s; Esc stops it", lab->task.name);
    }
    return CF_OK;
}

static void task_job(cf_worker *worker, void *ud)
{
    cf_lab *b = ud;
    cf_lab_news *end = b->task_end;
    b->task_end = NULL;
    end->status = b->task.run(b->task.ud, b, &end->err);
    cf_worker_post(worker, end);
}

cf_status cf_lab_start_task(cf_lab *lab, const cf_lab_task *task, cf_error *err)
{
    CF_TRY(cf_lab_need_idle(lab, err));
    cf_lab_news *end = cf_calloc(1, sizeof *end);
    if (end == NULL) {
        return cf_oom(err);
    }
    end->is_task = end->is_end = true;
    lab->task = *task;
    lab->task_end = end;
    lab->task_is_on = true;
    cf_status st = cf_worker_start(lab->worker, task_job, lab, err);
    if (st != CF_OK) {
        lab->task_is_on = false;
        lab->task_end = NULL;
        cf_free(end);
    }
    return st;
}

void cf_lab_tell(cf_lab *lab, void *item)
{
    cf_lab_news *news = cf_calloc(1, sizeof *news);
    if (news == NULL) {
        lab->task.free_item(item);
        return;
    }
    news->is_task = true;
    news->item = item;
    news->free_item = lab->task.free_item;
    cf_worker_post(lab->worker, news);
}

cf_cancel *cf_lab_cancel_flag(cf_lab *lab)
{
    return cf_worker_cancel_flag(lab->worker);
}

const char *cf_lab_task_name(const cf_lab *lab)
{
    return lab->task_is_on ? lab->task.name : NULL;
}

void cf_lab_task_progress(const cf_lab *lab, cf_buf *out)
{
    if (lab->task_is_on && lab->task.progress != NULL) {
        lab->task.progress(lab->task.ud, out);
    }
}

void cf_lab__take_task_news(cf_lab *lab, cf_lab_news *news)
{
    if (!news->is_end) {
        lab->task.take(lab->task.ud, news->item);
        news->item = NULL;
        return;
    }
    while (cf_worker_is_busy(lab->worker)) {
        cf_worker_wait(lab->worker); /* it is about to return */
    }
    lab->task_is_on = false;
    lab->task.end(lab->task.ud, news->status, &news->err);
}

void cf_lab_end_task(cf_lab *lab, const void *ud)
{
    while (lab->task_is_on && (ud == NULL || lab->task.ud == ud)) {
        cf_error ignored;
        cf_worker_cancel(lab->worker);
        cf_worker_wait(lab->worker);
        cf_lab_poll(lab, &ignored);
    }
}

/* ---- beside the worker -------------------------------------------------- */

static void reading_job(cf_worker *worker, void *ud)
{
    cf_lab *b = ud;
    cf_lab_news *end = b->reading_end;
    b->reading_end = NULL;
    end->status = b->reading.run(b->reading.ud, b, &end->err);
    cf_worker_post(worker, end);
}

cf_status cf_lab_start_reading(cf_lab *lab, const cf_lab_task *task,
                               cf_error *err)
{
    if (lab->reading_is_on) {
        return cf_fail(err, CF_EBUSY, "still %s", lab->reading.name);
    }
    if (lab->reader == NULL) {
        CF_TRY(cf_worker_new(&lab->reader, err));
        cf_worker_wake_with(lab->reader, lab->wake_fd);
    }
    cf_lab_news *end = cf_calloc(1, sizeof *end);
    if (end == NULL) {
        return cf_oom(err);
    }
    lab->reading = *task;
    lab->reading_end = end;
    lab->reading_is_on = true;
    cf_status st = cf_worker_start(lab->reader, reading_job, lab, err);
    if (st != CF_OK) {
        lab->reading_is_on = false;
        lab->reading_end = NULL;
        cf_free(end);
    }
    return st;
}

bool cf_lab__poll_reader(cf_lab *lab, cf_error *err)
{
    cf_lab_news *end = lab->reading_is_on ? cf_worker_take(lab->reader) : NULL;
    if (end == NULL) {
        return false;
    }
    while (cf_worker_is_busy(lab->reader)) {
        cf_worker_wait(lab->reader); /* it is about to return */
    }
    lab->reading_is_on = false;
    if (end->status != CF_OK && err->code == CF_OK) {
        *err = end->err;
    }
    lab->reading.end(lab->reading.ud, end->status, &end->err);
    cf_lab__free_news(end);
    return true;
}

void cf_lab_end_reading(cf_lab *lab, const void *ud)
{
    while (lab->reading_is_on && (ud == NULL || lab->reading.ud == ud)) {
        cf_error ignored = {0};
        cf_worker_wait(lab->reader);
        (void)cf_lab__poll_reader(lab, &ignored);
    }
}
