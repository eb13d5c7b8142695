/*
 * bench_diff.c - what comparing needs to know of the conversation on the
 * bench.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "tui/lab/lab_impl.h"

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
    return cf_buf_str(&bench->draft);
}

const json_t *cf_bench_vars(const cf_bench *bench)
{
    return bench->vars;
}

cf_uuid cf_bench_marked(const cf_bench *bench, int which)
{
    return bench->mark[which];
}

/* ---- ticks -------------------------------------------------------------- */

static size_t place_of(const cf_bench *b, cf_uuid conv)
{
    size_t i = 0;
    while (i < b->n_ticked && !cf_uuid_eq(b->ticked[i], conv)) {
        i++;
    }
    return i;
}

bool cf_bench_tick(cf_bench *bench, cf_uuid conv)
{
    size_t at = place_of(bench, conv);
    if (at < bench->n_ticked) {
        bench->n_ticked--;
        memmove(bench->ticked + at, bench->ticked + at + 1,
                (bench->n_ticked - at) * sizeof *bench->ticked);
        return true;
    }
    if (bench->n_ticked == bench->cap_ticked) {
        size_t cap = bench->cap_ticked != 0 ? bench->cap_ticked * 2 : 16;
        cf_uuid *v = cf_realloc(bench->ticked, cap, sizeof *v);
        if (v == NULL) {
            return false;
        }
        bench->ticked = v;
        bench->cap_ticked = cap;
    }
    bench->ticked[bench->n_ticked++] = conv;
    return true;
}

bool cf_bench_is_ticked(const cf_bench *bench, cf_uuid conv)
{
    return place_of(bench, conv) < bench->n_ticked;
}

const cf_uuid *cf_bench_ticked(const cf_bench *bench, size_t *n)
{
    *n = bench->n_ticked;
    return bench->ticked;
}

void cf_bench_untick_all(cf_bench *bench)
{
    bench->n_ticked = 0;
}
