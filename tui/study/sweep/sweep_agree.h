/*
 * sweep_agree.h - how far a judge agrees with the labels of the prompts.
 *
 * Place in the flow:  a finished sweep --> [agreement] --> a table a judge.
 *
 * The member `label` of a prompt's line says what a judge should say of its
 * replies: true or false, "yes" or "no", or an object with such a value for
 * each check by name.  Kappa is Cohen's: J. Cohen, "A Coefficient of Agreement
 * for Nominal Scales", 1960; over the replies that the judge answered.
 *
 * Threads:  no state.
 */
#ifndef CF_TUI_STUDY_SWEEP_SWEEP_AGREE_H
#define CF_TUI_STUDY_SWEEP_SWEEP_AGREE_H

#include "core/json/json_writer.h"
#include "tui/study/sweep/sweep.h"

enum { CF_SAYS_NO, CF_SAYS_YES, CF_SAYS_NOTHING };

typedef struct cf_sweep_agreement {
    size_t count[2][3]; /* cells by label and by what the judge says of them */
    size_t n_answered, n_agree;
    bool has_kappa; /* false: nothing answered, or chance alone agrees on all */
    double kappa;
} cf_sweep_agreement;

/* Of check number `check`; false: it is no judge, or no prompt has a label. */
bool cf_sweep_agree(const cf_sweep *s, size_t check, cf_sweep_agreement *out);

/* The agreements of all judges, a table each, and as members of an object. */
void cf_sweep_put_agreements(cf_buf *out, const cf_sweep *s);
void cf_sweep_put_agreements_json(cf_jw *w, const cf_sweep *s);

#endif
