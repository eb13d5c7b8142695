/*
 * lab_diff.c - what comparing needs to know of the conversation on the
 * workbench.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "tui/lab/lab_impl.h"

cf_status cf_lab_clone_conv(const cf_lab *lab, cf_conversation **out,
                            cf_error *err)
{
    if (lab->job_is_on) {
        return cf_fail(err, CF_EBUSY, "a reply is being written; Esc stops it");
    }
    return cf_conversation_clone(out, lab->conv, err);
}

cf_str cf_lab_draft(const cf_lab *lab)
{
    return cf_buf_str(&lab->draft);
}

const json_t *cf_lab_vars(const cf_lab *lab)
{
    return lab->vars;
}

cf_uuid cf_lab_marked(const cf_lab *lab, int which)
{
    return lab->mark[which];
}

/* ---- ticks -------------------------------------------------------------- */

static size_t place_of(const cf_lab *b, cf_uuid conv)
{
    size_t i = 0;
    while (i < b->n_ticked && !cf_uuid_eq(b->ticked[i], conv)) {
        i++;
    }
    return i;
}

bool cf_lab_tick(cf_lab *lab, cf_uuid conv)
{
    size_t at = place_of(lab, conv);
    if (at < lab->n_ticked) {
        lab->n_ticked--;
        memmove(lab->ticked + at, lab->ticked + at + 1,
                (lab->n_ticked - at) * sizeof *lab->ticked);
        return true;
    }
    if (lab->n_ticked == lab->cap_ticked) {
        size_t cap = lab->cap_ticked != 0 ? lab->cap_ticked * 2 : 16;
        cf_uuid *v = cf_realloc(lab->ticked, cap, sizeof *v);
        if (v == NULL) {
            return false;
        }
        lab->ticked = v;
        lab->cap_ticked = cap;
    }
    lab->ticked[lab->n_ticked++] = conv;
    return true;
}

bool cf_lab_is_ticked(const cf_lab *lab, cf_uuid conv)
{
    return place_of(lab, conv) < lab->n_ticked;
}

const cf_uuid *cf_lab_ticked(const cf_lab *lab, size_t *n)
{
    *n = lab->n_ticked;
    return lab->ticked;
}

void cf_lab_untick_all(cf_lab *lab)
{
    lab->n_ticked = 0;
}
