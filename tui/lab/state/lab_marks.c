/*
 * lab_marks.c - two marks, and a list of ticks in the order they were made.
 */
#include "tui/lab/state/lab_marks.h"

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
}
