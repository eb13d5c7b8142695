/*
 * lab_undo.c - a stack of what was done; entries of other conversations are
 * dropped when they are met.
 */
#include "tui/lab/talk/lab_undo.h"

#include <stdio.h>
#include <string.h>

#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/talk_impl.h"

void cf_lab_undone_deinit(cf_lab_undone *undone)
{
    cf_buf_deinit(&undone->text);
}

/* Shows the path that ends with `head` again. */
static cf_status back_to(cf_lab *lab, cf_uuid head, cf_error *err)
{
    CF_TRY(cf_conversation_set_head(lab->talk->conv, head, err));
    if (lab->store != NULL && lab->talk->is_stored && !cf_uuid_is_nil(head)) {
        /* Where it fails the next start shows another path: no loss. */
        cf_ignore(cf_store_set_head(lab->store, head, NULL));
    }
    return cf_lab__snapshot(lab, err);
}

static cf_status template_back(cf_lab *lab, const cf_lab_undo_step *step, cf_lab_undone *out,
                               cf_buf *what, cf_error *err)
{
    cf_str now = lab->engine.template_source;
    const char *name = cf_buf_cstr(&step->name);
    bool is_same = strcmp(name, lab->engine.template_name) == 0;
    cf_buf_add(&out->text, now.p, now.n);
    out->has_file = step->has_file;
    CF_TRY(cf_buf_check(&out->text, err));
    cf_buf_addf(what, is_same ? "the edit of %s" : "the other template: %s is in use", name);
    return cf_lab__set_template(lab, name, cf_buf_str(&step->source), err);
}

/* *is_done false: the step is of another conversation, or changes nothing. */
static cf_status take_back(cf_lab *lab, const cf_lab_undo_step *step, cf_lab_undone *out,
                           cf_buf *what, bool *is_done, cf_error *err)
{
    out->kind = step->kind;
    *is_done = true;
    if (step->kind == CF_LAB_UNDO_STORE) {
        return cf_store_undo(lab->store, what, err);
    }
    if (step->kind == CF_LAB_UNDO_TEMPLATE) {
        return template_back(lab, step, out, what, err);
    }
    if (!cf_uuid_eq(step->conv, lab->talk->conv_id) ||
        cf_uuid_eq(step->head, cf_conversation_head(lab->talk->conv))) {
        *is_done = false;
        return CF_OK;
    }
    CF_TRY(back_to(lab, step->head, err));
    cf_buf_adds(what, "the branch before is shown; the other one stays in the "
                      "tree");
    return CF_OK;
}

cf_status cf_lab_undo(cf_lab *lab, cf_lab_undone *out, cf_buf *what, cf_error *err)
{
    cf_lab_talk *talk = lab->talk;
    *out = (cf_lab_undone){.has_file = false};
    CF_TRY(cf_lab_need_idle(lab, err));
    while (talk->undo.n > 0) {
        cf_lab_undo_step step = talk->undo.step[--talk->undo.n];
        bool is_done;
        cf_status st = take_back(lab, &step, out, what, &is_done, err);
        cf_lab__forget_step(&step);
        if (st != CF_OK || is_done) {
            return st == CF_OK ? cf_buf_check(what, err) : st;
        }
    }
    return cf_fail(err, CF_ENOTFOUND,
                   "nothing to undo here; u in the library (6) takes changes "
                   "of saved conversations back");
}

cf_status cf_lab_undo_store(cf_lab *lab, cf_buf *what, cf_error *err)
{
    cf_lab_talk *talk = lab->talk;
    CF_TRY(cf_store_undo(lab->store, what, err));
    for (size_t i = talk->undo.n; i-- > 0;) {
        if (talk->undo.step[i].kind == CF_LAB_UNDO_STORE) {
            talk->undo.n--;
            memmove(talk->undo.step + i, talk->undo.step + i + 1,
                    (talk->undo.n - i) * sizeof *talk->undo.step);
            break;
        }
    }
    return CF_OK;
}
