/*
 * lab_undo.c - a stack of what was done; entries of other conversations are
 * dropped when they are met.
 */
#include "tui/lab/talk/lab_undo.h"

#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
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

/* What takes the step back again, made before it is done. */
static cf_status invert(const cf_lab *lab, const cf_lab_undo_step *step, cf_lab_undo_step *back,
                        cf_error *err)
{
    *back = (cf_lab_undo_step){.kind = step->kind,
                               .conv = step->conv,
                               .head = cf_conversation_head(lab->talk->conv),
                               .has_file = step->has_file};
    if (step->kind == CF_LAB_UNDO_TEMPLATE) {
        cf_str now = lab->engine.template_source;
        cf_buf_adds(&back->name, lab->engine.template_name);
        cf_buf_add(&back->source, now.p, now.n);
    } else if (step->kind == CF_LAB_UNDO_LINE) {
        cf_buf_add(&back->name, cf_buf_cstr(&step->source), step->source.n);
        cf_buf_add(&back->source, cf_buf_cstr(&step->name), step->name.n);
    }
    CF_TRY(cf_buf_check(&back->name, err));
    return cf_buf_check(&back->source, err);
}

/* *is_done false: the step is of another conversation, or changes nothing. */
static cf_status take_back(cf_lab *lab, const cf_lab_undo_step *step, bool again,
                           cf_lab_undone *out, cf_buf *what, bool *is_done, cf_error *err)
{
    out->kind = step->kind;
    *is_done = true;
    switch (step->kind) {
    case CF_LAB_UNDO_STORE:
        return again ? cf_store_redo(lab->store, what, err) : cf_store_undo(lab->store, what, err);
    case CF_LAB_UNDO_TEMPLATE:
        return template_back(lab, step, out, what, err);
    case CF_LAB_UNDO_LINE:
        cf_buf_add(&out->text, cf_buf_cstr(&step->name), step->name.n);
        cf_buf_addf(what, ":%s", cf_buf_cstr(again ? &step->name : &step->source));
        return cf_buf_check(&out->text, err);
    case CF_LAB_UNDO_HEAD:
        break;
    }
    if (!cf_uuid_eq(step->conv, lab->talk->conv_id) ||
        cf_uuid_eq(step->head, cf_conversation_head(lab->talk->conv))) {
        *is_done = false;
        return CF_OK;
    }
    CF_TRY(back_to(lab, step->head, err));
    cf_buf_adds(what, again ? "the branch is shown again"
                            : "the branch before is shown; the other one stays in the tree");
    return CF_OK;
}

cf_status cf_lab_undo(cf_lab *lab, bool again, cf_lab_undone *out, cf_buf *what, cf_error *err)
{
    cf_lab_undo_stack *from = again ? &lab->talk->redo : &lab->talk->undo;
    cf_lab_undo_stack *to = again ? &lab->talk->undo : &lab->talk->redo;
    *out = (cf_lab_undone){.has_file = false};
    CF_TRY(cf_lab_need_idle(lab, err));
    while (from->n > 0) {
        cf_lab_undo_step step = from->step[--from->n], back;
        bool is_done = true;
        cf_status st = invert(lab, &step, &back, err);
        CF_THEN(st, take_back(lab, &step, again, out, what, &is_done, err));
        cf_lab__forget_step(&step);
        if (st == CF_OK && is_done) {
            cf_lab__push_step(to, &back);
            return cf_buf_check(what, err);
        }
        cf_lab__forget_step(&back);
        CF_TRY(st);
    }
    return cf_fail(err, CF_ENOTFOUND,
                   again ? "nothing to redo"
                         : "nothing to undo; u in the library (6) goes on with changes of "
                           "sessions before this one");
}

/* The place, from 1, of a turn among the first n; 0: it is not there. */
static size_t place_of(const cf_turn *const *turns, size_t n, cf_uuid id)
{
    while (n > 0 && !cf_uuid_eq(turns[n - 1]->id, id)) {
        n--;
    }
    return n;
}

/* The turn with which the path to `to` leaves that to `from`.  Turns come after
 * their parents. */
static void name_branch(const cf_lab *lab, cf_uuid from, cf_uuid to, cf_buf *out)
{
    size_t n, first = 0, depth = 0;
    const cf_turn *const *turns = cf_lab_turns(lab, &n);
    size_t a = place_of(turns, n, from), b = place_of(turns, n, to);
    while (a != b) {
        size_t *last = a > b ? &a : &b;
        first = a > b ? first : b;
        *last = place_of(turns, *last - 1, turns[*last - 1]->parent);
    }
    for (size_t i = first; i > 0; i = place_of(turns, i - 1, turns[i - 1]->parent)) {
        depth++;
    }
    if (first == 0) {
        cf_buf_adds(out, "back to an earlier turn");
        return;
    }
    char line[64];
    cf_buf text = CF_BUF_INIT;
    cf_str role = cf_json_get_str(turns[first - 1]->message, "role");
    cf_lab_message_text(&text, turns[first - 1]->message);
    const char *p = cf_buf_cstr(&text); /* "" where nothing is said */
    cf_utf8_copy(line, sizeof line, cf_str_make(p, strcspn(p, "\n")));
    cf_buf_addf(out, "turn %02zu, %.*s: %s", depth, (int)role.n, role.p, line);
    cf_buf_deinit(&text);
}

/* A line about step `i`; a change of the history is the next of `changes` that
 * begins with `mark`. */
static void list_step(const cf_lab *lab, const cf_lab_undo_stack *stack, size_t i, char mark,
                      const char **changes, cf_buf *out)
{
    const cf_lab_undo_step *step = &stack->step[i];
    size_t n;
    const cf_turn *const *path = cf_lab_path(lab, &n);
    cf_uuid head = n > 0 ? path[n - 1]->id : (cf_uuid){{0}};
    switch (step->kind) {
    case CF_LAB_UNDO_LINE:
        cf_buf_addf(out, "%c  :%s\n", mark, cf_buf_cstr(mark == '+' ? &step->source : &step->name));
        break;
    case CF_LAB_UNDO_TEMPLATE:
        cf_buf_addf(out, "%c  another template than %s\n", mark, cf_buf_cstr(&step->name));
        break;
    case CF_LAB_UNDO_HEAD:
        for (size_t k = stack->n; --k > i;) { /* the path beside which it was done */
            bool is_here = stack->step[k].kind == CF_LAB_UNDO_HEAD &&
                           cf_uuid_eq(stack->step[k].conv, lab->talk->conv_id);
            head = is_here ? stack->step[k].head : head;
        }
        cf_buf_addf(out, "%c  ", mark);
        if (cf_uuid_eq(step->conv, lab->talk->conv_id)) {
            name_branch(lab, mark == '+' ? step->head : head, mark == '+' ? head : step->head, out);
        } else {
            cf_buf_adds(out, "a branch of another conversation");
        }
        cf_buf_addc(out, '\n');
        break;
    case CF_LAB_UNDO_STORE:
        while (**changes != '\0' && **changes != mark) {
            *changes += strcspn(*changes, "\n") + 1;
        }
        n = strcspn(*changes, "\n");
        cf_buf_addf(out, "%c  %.*s\n", mark, n > 0 ? (int)n - 1 : 0, *changes + (n > 0));
        *changes += n + (n > 0);
        break;
    }
}

cf_status cf_lab_list_undo(const cf_lab *lab, cf_buf *out, cf_error *err)
{
    const cf_lab_undo_stack *done = &lab->talk->undo, *back = &lab->talk->redo;
    cf_buf changes = CF_BUF_INIT;
    cf_status st = lab->store != NULL ? cf_store_list_changes(lab->store, &changes, err) : CF_OK;
    const char *at = cf_buf_cstr(&changes);
    cf_buf_adds(out, "In this session, newest first: + was done, - was taken back.\n"
                     "u takes the topmost + back; U or ^R does the lowest - again.\n\n");
    for (size_t i = 0; i < back->n; i++) {
        list_step(lab, back, i, '-', &at, out);
    }
    at = cf_buf_cstr(&changes);
    for (size_t i = done->n; i-- > 0;) {
        list_step(lab, done, i, '+', &at, out);
    }
    cf_buf_adds(out, done->n + back->n == 0 ? "   nothing yet\n" : "");
    if (changes.n > 0) {
        cf_buf_adds(out, "\nOf saved conversations, earlier sessions included:\n\n");
        for (const char *line = cf_buf_cstr(&changes); *line != '\0';) {
            int n = (int)strcspn(line, "\n");
            cf_buf_addf(out, "%c  %.*s\n", line[0], n - 1, line + 1);
            line += n + 1;
        }
    }
    cf_buf_deinit(&changes);
    CF_THEN(st, cf_buf_check(out, err));
    return st;
}
