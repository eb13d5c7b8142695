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

static void empty(cf_lab_undo_stack *stack)
{
    while (stack->n > 0) {
        cf_lab__forget_step(&stack->step[--stack->n]);
    }
}

void cf_lab__undo_deinit(cf_lab *lab)
{
    empty(&lab->talk->undo);
    empty(&lab->talk->redo);
}

void cf_lab__push_step(cf_lab_undo_stack *stack, const cf_lab_undo_step *step)
{
    if (stack->n == CF_LAB_UNDO_MAX) {
        cf_lab__forget_step(&stack->step[0]);
        stack->n--;
        memmove(stack->step, stack->step + 1, stack->n * sizeof *stack->step);
    }
    stack->step[stack->n++] = *step;
}

void cf_lab_add_undo(cf_lab *lab, cf_lab_undo_kind kind, cf_uuid head)
{
    cf_lab_talk *talk = lab->talk;
    empty(&talk->redo);
    cf_lab__push_step(&talk->undo,
                      &(cf_lab_undo_step){.kind = kind, .conv = talk->conv_id, .head = head});
}

static void add_texts(cf_lab *lab, cf_lab_undo_kind kind, const char *name, cf_str source)
{
    cf_lab_undo_step step = {.kind = kind, .conv = lab->talk->conv_id};
    cf_buf_adds(&step.name, name);
    cf_buf_add(&step.source, source.p, source.n);
    empty(&lab->talk->redo);
    if (step.name.failed || step.source.failed) { /* it cannot be undone */
        cf_lab__forget_step(&step);
    } else {
        cf_lab__push_step(&lab->talk->undo, &step);
    }
}

void cf_lab_add_undo_template(cf_lab *lab, const char *name, cf_str source)
{
    add_texts(lab, CF_LAB_UNDO_TEMPLATE, name, source);
}

void cf_lab_add_undo_line(cf_lab *lab, const char *back, const char *line)
{
    add_texts(lab, CF_LAB_UNDO_LINE, back, cf_str_from(line));
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
