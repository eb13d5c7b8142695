/*
 * sweep_words.h - splits a line of a plan into words.
 */
#ifndef CF_TUI_STUDY_PLAN_SWEEP_WORDS_H
#define CF_TUI_STUDY_PLAN_SWEEP_WORDS_H

#include "core/base/str.h"

/* Takes the first word off `rest`, with the blanks after it. */
static inline cf_str cf_sweep__word(cf_str *rest)
{
    size_t n = 0;
    while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '\t') {
        n++;
    }
    cf_str word = cf_str_make(rest->p, n);
    while (n < rest->n && (rest->p[n] == ' ' || rest->p[n] == '\t')) {
        n++;
    }
    *rest = cf_str_make(rest->p + n, rest->n - n);
    return word;
}

#endif
