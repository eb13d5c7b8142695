/*
 * lab_marks.c - two marks, and a list of ticks in the order they were made.
 */
#include "tui/lab/state/lab_marks.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/lab/state/lab_impl.h"

void cf_lab_mark(cf_lab *lab, int which, cf_uuid conv)
{
    lab->marks.mark[which] = conv;
}

char cf_lab_mark_of(const cf_lab *lab, cf_uuid conv)
{
    return cf_uuid_eq(lab->marks.mark[0], conv)   ? 'A'
           : cf_uuid_eq(lab->marks.mark[1], conv) ? 'B'
                                                  : ' ';
}

cf_uuid cf_lab_marked(const cf_lab *lab, int which)
{
    return lab->marks.mark[which];
}

static size_t place_of(const cf_lab *lab, cf_uuid conv)
{
    size_t i = 0;
    while (i < lab->marks.n_ticked && !cf_uuid_eq(lab->marks.ticked[i], conv)) {
        i++;
    }
    return i;
}

bool cf_lab_tick(cf_lab *lab, cf_uuid conv)
{
    size_t at = place_of(lab, conv);
    if (at < lab->marks.n_ticked) {
        lab->marks.n_ticked--;
        memmove(lab->marks.ticked + at, lab->marks.ticked + at + 1,
                (lab->marks.n_ticked - at) * sizeof *lab->marks.ticked);
        return true;
    }
    if (!cf_grow(&lab->marks.ticked, &lab->marks.cap_ticked, lab->marks.n_ticked + 1,
                 sizeof *lab->marks.ticked)) {
        return false;
    }
    lab->marks.ticked[lab->marks.n_ticked++] = conv;
    return true;
}

bool cf_lab_is_ticked(const cf_lab *lab, cf_uuid conv)
{
    return place_of(lab, conv) < lab->marks.n_ticked;
}

const cf_uuid *cf_lab_ticked(const cf_lab *lab, size_t *n)
{
    *n = lab->marks.n_ticked;
    return lab->marks.ticked;
}

void cf_lab_untick_all(cf_lab *lab)
{
    lab->marks.n_ticked = 0;
    while (lab->marks.n_choice > 0) {
        cf_buf_deinit(&lab->marks.choice[--lab->marks.n_choice].text);
    }
}

static size_t choice_at(const cf_lab *lab, cf_tick_kind kind, cf_str text)
{
    size_t i = 0;
    while (i < lab->marks.n_choice && !(lab->marks.choice[i].kind == kind &&
                                        cf_str_eq(cf_buf_str(&lab->marks.choice[i].text), text))) {
        i++;
    }
    return i;
}

bool cf_lab_has_choice(const cf_lab *lab, cf_tick_kind kind, cf_str text)
{
    return choice_at(lab, kind, text) < lab->marks.n_choice;
}

bool cf_lab_tick_choice(cf_lab *lab, cf_tick_kind kind, const char *name, cf_str text)
{
    size_t at = choice_at(lab, kind, text);
    if (at < lab->marks.n_choice) {
        cf_buf_deinit(&lab->marks.choice[at].text);
        lab->marks.n_choice--;
        memmove(lab->marks.choice + at, lab->marks.choice + at + 1,
                (lab->marks.n_choice - at) * sizeof *lab->marks.choice);
        return true;
    }
    if (!cf_grow(&lab->marks.choice, &lab->marks.cap_choice, lab->marks.n_choice + 1,
                 sizeof *lab->marks.choice)) {
        return false;
    }
    cf_lab_choice *c = &lab->marks.choice[lab->marks.n_choice];
    *c = (cf_lab_choice){.kind = kind};
    snprintf(c->name, sizeof c->name, "%s", name);
    cf_buf_add(&c->text, text.p, text.n);
    if (c->text.failed) {
        cf_buf_deinit(&c->text);
        return false;
    }
    lab->marks.n_choice++;
    return true;
}

const cf_lab_choice *cf_lab_choices(const cf_lab *lab, size_t *n)
{
    *n = lab->marks.n_choice;
    return lab->marks.choice;
}
