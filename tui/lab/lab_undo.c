/*
 * lab_undo.c - a stack of what was done; entries of other conversations are
 * dropped when they are met.
 */
#include "tui/lab/lab_undo.h"

#include <string.h>

#include "tui/lab/lab_impl.h"

void cf_lab_add_undo(cf_lab *lab, cf_lab_undo_kind kind, cf_uuid head)
{
    if (lab->n_undo == CF_LAB_UNDO_MAX) {
        lab->n_undo--;
        memmove(lab->undo, lab->undo + 1, lab->n_undo * sizeof *lab->undo);
    }
    lab->undo[lab->n_undo++] = (cf_lab_undo_step){kind, lab->conv_id, head};
}

void cf_lab_join_undo(cf_lab *lab)
{
    lab->n_undo -= lab->n_undo > 1;
}

/* Shows the path that ends with `head` again. */
static cf_status back_to(cf_lab *lab, cf_uuid head, cf_error *err)
{
    CF_TRY(cf_conversation_set_head(lab->conv, head, err));
    lab->prompt_is_fresh = false;
    if (lab->store != NULL && lab->conv_is_stored && !cf_uuid_is_nil(head)) {
        /* Where it fails the next start shows another path: no loss. */
        cf_ignore(cf_store_set_head(lab->store, head, NULL));
    }
    return cf_lab__snapshot(lab, err);
}

cf_status cf_lab_undo(cf_lab *lab, cf_buf *what, cf_error *err)
{
    if (lab->job_is_on) {
        return cf_fail(err, CF_EBUSY, "a reply is being written; Esc stops it");
    }
    while (lab->n_undo > 0) {
        cf_lab_undo_step step = lab->undo[--lab->n_undo];
        if (step.kind == CF_LAB_UNDO_STORE) {
            return cf_store_undo(lab->store, what, err);
        }
        if (!cf_uuid_eq(step.conv, lab->conv_id) ||
            cf_uuid_eq(step.head, cf_conversation_head(lab->conv))) {
            continue;
        }
        CF_TRY(back_to(lab, step.head, err));
        cf_buf_adds(what, "the branch before is shown; the other one stays in "
                          "the tree");
        return cf_buf_check(what, err);
    }
    return cf_fail(err, CF_ENOTFOUND,
                   "nothing to undo here; u in the library (6) takes changes "
                   "of saved conversations back");
}
