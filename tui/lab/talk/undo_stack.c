/*
 * undo_stack.c - the newest CF_LAB_UNDO_MAX steps.
 */
#include "tui/lab/talk/undo_stack.h"

#include <string.h>

#include "tui/lab/talk/talk_impl.h"

void cf_lab__forget_step(cf_lab_undo_step *step)
{
    cf_buf_deinit(&step->name);
    cf_buf_deinit(&step->source);
}

void cf_lab__undo_deinit(cf_lab *lab)
{
    cf_lab_talk *talk = lab->talk;
    while (talk->undo.n > 0) {
        cf_lab__forget_step(&talk->undo.step[--talk->undo.n]);
    }
}

static cf_lab_undo_step *add(cf_lab *lab, cf_lab_undo_kind kind, cf_uuid head)
{
    cf_lab_talk *talk = lab->talk;
    if (talk->undo.n == CF_LAB_UNDO_MAX) {
        cf_lab__forget_step(&talk->undo.step[0]);
        talk->undo.n--;
        memmove(talk->undo.step, talk->undo.step + 1, talk->undo.n * sizeof *talk->undo.step);
    }
    cf_lab_undo_step *step = &talk->undo.step[talk->undo.n++];
    *step = (cf_lab_undo_step){.kind = kind, .conv = talk->conv_id, .head = head};
    return step;
}

void cf_lab_add_undo(cf_lab *lab, cf_lab_undo_kind kind, cf_uuid head)
{
    (void)add(lab, kind, head);
}

void cf_lab_add_undo_template(cf_lab *lab, const char *name, cf_str source)
{
    cf_lab_undo_step *step = add(lab, CF_LAB_UNDO_TEMPLATE, (cf_uuid){{0}});
    cf_buf_adds(&step->name, name);
    cf_buf_add(&step->source, source.p, source.n);
    if (step->name.failed || step->source.failed) { /* it cannot be undone */
        cf_lab__forget_step(step);
        lab->talk->undo.n--;
    }
}

void cf_lab_undo_has_file(cf_lab *lab)
{
    cf_lab_talk *talk = lab->talk;
    if (talk->undo.n > 0 && talk->undo.step[talk->undo.n - 1].kind == CF_LAB_UNDO_TEMPLATE) {
        talk->undo.step[talk->undo.n - 1].has_file = true;
    }
}

void cf_lab_join_undo(cf_lab *lab)
{
    cf_lab_talk *talk = lab->talk;
    if (talk->undo.n > 1) {
        cf_lab__forget_step(&talk->undo.step[--talk->undo.n]);
    }
}
