/*
 * bench_task.c - work on the worker's thread that makes no turn.
 *
 * A task's items travel as news, in the same queue as those of a reply; the
 * last news of a task is its end.
 */
#include "core/base/alloc.h"
#include "tui/lab/lab_impl.h"

void cf_bench_make_way(cf_bench *bench)
{
    if (bench->task_is_on && bench->task.gives_way) {
        cf_bench_end_task(bench, bench->task.ud);
    }
}

cf_status cf_bench_need_idle(cf_bench *bench, cf_error *err)
{
    cf_bench_make_way(bench);
    if (bench->job_is_on) {
        return cf_fail(err, CF_EBUSY, "a reply is being written; Esc stops it");
    }
    if (bench->task_is_on) {
        return cf_fail(err, CF_EBUSY, "still %s; Esc stops it",
                       bench->task.name);
    }
    return CF_OK;
}

static void task_job(cf_worker *worker, void *ud)
{
    cf_bench *b = ud;
    cf_bench_news *end = b->task_end;
    b->task_end = NULL;
    end->status = b->task.run(b->task.ud, b, &end->err);
    cf_worker_post(worker, end);
}

cf_status cf_bench_start_task(cf_bench *bench, const cf_bench_task *task,
                              cf_error *err)
{
    CF_TRY(cf_bench_need_idle(bench, err));
    cf_bench_news *end = cf_calloc(1, sizeof *end);
    if (end == NULL) {
        return cf_oom(err);
    }
    end->is_task = end->is_end = true;
    bench->task = *task;
    bench->task_end = end;
    bench->task_is_on = true;
    cf_status st = cf_worker_start(bench->worker, task_job, bench, err);
    if (st != CF_OK) {
        bench->task_is_on = false;
        bench->task_end = NULL;
        cf_free(end);
    }
    return st;
}

void cf_bench_tell(cf_bench *bench, void *item)
{
    cf_bench_news *news = cf_calloc(1, sizeof *news);
    if (news == NULL) {
        bench->task.free_item(item);
        return;
    }
    news->is_task = true;
    news->item = item;
    news->free_item = bench->task.free_item;
    cf_worker_post(bench->worker, news);
}

cf_cancel *cf_bench_cancel_flag(cf_bench *bench)
{
    return cf_worker_cancel_flag(bench->worker);
}

const char *cf_bench_task_name(const cf_bench *bench)
{
    return bench->task_is_on ? bench->task.name : NULL;
}

void cf_bench_task_progress(const cf_bench *bench, cf_buf *out)
{
    if (bench->task_is_on && bench->task.progress != NULL) {
        bench->task.progress(bench->task.ud, out);
    }
}

void cf_bench__take_task_news(cf_bench *bench, cf_bench_news *news)
{
    if (!news->is_end) {
        bench->task.take(bench->task.ud, news->item);
        news->item = NULL;
        return;
    }
    while (cf_worker_is_busy(bench->worker)) {
        cf_worker_wait(bench->worker); /* it is about to return */
    }
    bench->task_is_on = false;
    bench->task.end(bench->task.ud, news->status, &news->err);
}

void cf_bench_end_task(cf_bench *bench, const void *ud)
{
    while (bench->task_is_on && (ud == NULL || bench->task.ud == ud)) {
        cf_error ignored;
        cf_worker_cancel(bench->worker);
        cf_worker_wait(bench->worker);
        cf_bench_poll(bench, &ignored);
    }
}

/* ---- beside the worker -------------------------------------------------- */

static void reading_job(cf_worker *worker, void *ud)
{
    cf_bench *b = ud;
    cf_bench_news *end = b->reading_end;
    b->reading_end = NULL;
    end->status = b->reading.run(b->reading.ud, b, &end->err);
    cf_worker_post(worker, end);
}

cf_status cf_bench_start_reading(cf_bench *bench, const cf_bench_task *task,
                                 cf_error *err)
{
    if (bench->reading_is_on) {
        return cf_fail(err, CF_EBUSY, "still %s", bench->reading.name);
    }
    if (bench->reader == NULL) {
        CF_TRY(cf_worker_new(&bench->reader, err));
        cf_worker_wake_with(bench->reader, bench->wake_fd);
    }
    cf_bench_news *end = cf_calloc(1, sizeof *end);
    if (end == NULL) {
        return cf_oom(err);
    }
    bench->reading = *task;
    bench->reading_end = end;
    bench->reading_is_on = true;
    cf_status st = cf_worker_start(bench->reader, reading_job, bench, err);
    if (st != CF_OK) {
        bench->reading_is_on = false;
        bench->reading_end = NULL;
        cf_free(end);
    }
    return st;
}

bool cf_bench__poll_reader(cf_bench *bench, cf_error *err)
{
    cf_bench_news *end =
        bench->reading_is_on ? cf_worker_take(bench->reader) : NULL;
    if (end == NULL) {
        return false;
    }
    while (cf_worker_is_busy(bench->reader)) {
        cf_worker_wait(bench->reader); /* it is about to return */
    }
    bench->reading_is_on = false;
    if (end->status != CF_OK && err->code == CF_OK) {
        *err = end->err;
    }
    bench->reading.end(bench->reading.ud, end->status, &end->err);
    cf_bench__free_news(end);
    return true;
}

void cf_bench_end_reading(cf_bench *bench, const void *ud)
{
    while (bench->reading_is_on && (ud == NULL || bench->reading.ud == ud)) {
        cf_error ignored = {0};
        cf_worker_wait(bench->reader);
        (void)cf_bench__poll_reader(bench, &ignored);
    }
}
