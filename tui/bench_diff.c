/*
 * bench_diff.c - what comparing needs to know of the conversation on the
 * bench.
 */
#include "tui/bench_impl.h"

cf_status cf_bench_clone_conv(const cf_bench *bench, cf_conversation **out,
                              cf_error *err)
{
    if (bench->job_is_on) {
        return cf_fail(err, CF_EBUSY, "a reply is being written; Esc stops it");
    }
    return cf_conversation_clone(out, bench->conv, err);
}

cf_str cf_bench_draft(const cf_bench *bench)
{
    return cf_str_make(cf_buf_cstr(&bench->draft), bench->draft.n);
}

const json_t *cf_bench_vars(const cf_bench *bench)
{
    return bench->vars;
}

cf_uuid cf_bench_marked(const cf_bench *bench, int which)
{
    return bench->mark[which];
}
