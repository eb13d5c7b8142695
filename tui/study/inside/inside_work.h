/*
 * inside_work.h - all that a view or a report shows about one choice of a reply.
 *
 * Place in the flow:  a case, a question --> [inside_work] --> view, report.
 * Knows: what belongs together.  Does not know: the workbench, screens, pages.
 *
 * Threads:  one thread at a time; the case's cancel may be set from any.
 * Memory:   a work owns its cases and results; session and engine are borrowed
 *           while it is made.
 */
#ifndef CF_TUI_STUDY_INSIDE_INSIDE_WORK_H
#define CF_TUI_STUDY_INSIDE_INSIDE_WORK_H

#include "tui/study/inside/inside_study.h"

enum { CF_INSIDE_FROM_CALL = -1 };

/* What is asked about; all zero but `off` and `tool` is the plain question. */
typedef struct cf_inside_question {
    int64_t off;    /* the token of the reply that has this byte; CF_INSIDE_FROM_CALL: where
                       the called tool was chosen, else the first */
    uint32_t kinds; /* of parts, bits; 0: messages and tools */
    size_t tool;    /* of c.tool: compared with what was written, where both part;
                       SIZE_MAX: none */
    bool has_other; /* this token is compared with what was written, */
    cf_token other;
    const char *instead; /* or the first token of this text */
    cf_uuid with;        /* a saved conversation whose streams are patched in; nil: none */
} cf_inside_question;

typedef struct cf_inside_work {
    cf_inside_case c, from; /* the latter: what is patched in */
    cf_inside_question q;
    cf_inside_layers layers;
    cf_inside_look look;
    cf_margin *margin; /* [c.n_watch] logits of watched tokens taken apart: the
                          difference of two is the share in their margin */
    cf_inside_answer plain;
    cf_inside_answer *without; /* [c.n_part] each part hidden */
    cf_inside_choice *choice;  /* [cf_inside_n_choice()]; NULL: another place is asked about */
    bool has_map;
    cf_inside_map map;
    cf_inside_heads heads; /* that the shares and shades are of */
    double *given;         /* [c.tokens.n] what they gave to each token of the prompt */
    double *share;         /* [c.n_part] and to each part */
    uint8_t *shade;        /* [c.tokens.n] 0 .. CF_SHADES - 1 */
    bool is_done;
    cf_error err; /* why it failed; code CF_OK while it runs */
} cf_inside_work;

/* CF_ENOMEM.  cf_inside_work_free() takes NULL. */
CF_MUST_USE cf_status cf_inside_work_new(cf_inside_work **out, const cf_inside_question *q,
                                         cf_error *err);
void cf_inside_work_free(cf_inside_work *w);

/* Answers w->q for w->c, of which the context is set (c.c, engine, session); with
 * `with` that of w->from, too.  Errors of the questions. */
CF_MUST_USE cf_status cf_inside_work_make(cf_inside_work *w, cf_inside_fn fn, void *ud,
                                          cf_error *err);

/* Shares and shades of other heads. */
void cf_inside_work_look(cf_inside_work *w, const cf_inside_heads *heads);

/* What stream l's layer wrote (0: the embedding) into the margin of watched
 * token a over b. */
double cf_inside_work_wrote(const cf_inside_work *w, uint32_t l, size_t a, size_t b);

#endif
