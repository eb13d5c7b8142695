/*
 * report_impl.h - shared by the files that make a report's page.
 */
#ifndef CF_TUI_STUDY_REPORT_REPORT_IMPL_H
#define CF_TUI_STUDY_REPORT_REPORT_IMPL_H

#include "tui/page/page.h"
#include "tui/study/report/report.h"

/* Begins a section; it ends with cf_page_end(). */
void cf_report__section(cf_page *p, const char *name, const char *about);
void cf_report__remark(cf_page *p, const char *text);
/* A message's text and pictures. */
void cf_report__text(cf_page *p, const json_t *message);
/* The first row of a table; NULL ends the names.  '#' begins the name of a
 * column of numbers, '*' of one for wide papers. */
void cf_report__headings(cf_page *p, const char *const *names);

void cf_report__prompt(cf_page *p, const cf_report_facts *f);
void cf_report__reply(cf_page *p, const cf_report_facts *f);
void cf_report__calls(cf_page *p, const cf_report_facts *f);
void cf_report__inside(cf_page *p, const cf_report_facts *f);

/* Names and numbers that all forms show. */
typedef struct cf_report_figure {
    const char *name;
    char value[160];
} cf_report_figure;
enum { CF_REPORT_FIGURES = 24 };
size_t cf_report__figures(const cf_report_facts *f, cf_report_figure out[CF_REPORT_FIGURES]);

/* A title of at most a line. */
void cf_report__title(cf_buf *out, const cf_report_facts *f);

/* "message 2 (user)", "tool declarations": a part of the prompt. */
void cf_report__part_title(cf_buf *out, const cf_report_facts *f, int32_t message);

/* Where the bytes of prompt token i come from, in words. */
void cf_report__origin(cf_buf *out, const cf_report_facts *f, size_t i);

/* Token i of the prompt and its number, id, origin and cache state, a line
 * each. */
void cf_report__prompt_tip(cf_buf *out, const cf_report_facts *f, size_t i);

/* Token i of the reply: probability, rank and alternatives, a line each. */
void cf_report__reply_tip(cf_buf *out, const cf_report_facts *f, size_t i);

/* The probability of token i of the reply; negative: not known. */
double cf_report__p(const cf_report_facts *f, size_t i);

/* A candidate of token i: its text (appended) and probability; false past the
 * last. */
bool cf_report__candidate(const cf_report_facts *f, size_t i, size_t k, cf_buf *text, double *p,
                          bool *is_chosen);

/* The reply's tokens with the lowest probabilities, in the order of the reply:
 * at most `max`; forced ones are left out. */
size_t cf_report__worst(const cf_report_facts *f, size_t *out, size_t max);

/* The five stages of a call: outcome and what it holds. */
const char *cf_report__outcome(cf_outcome outcome);
void cf_report__stage(cf_buf *out, const cf_report_facts *f, const cf_call_row *row,
                      cf_stage stage);

/* The rows of the influence to show, those that made the reply most likely
 * first, in *order (cf_free), and the largest change; 0: none. */
enum { CF_REPORT_INFLUENCES = 60 };
size_t cf_report__influence(const cf_report_facts *f, size_t **order, double *most);

/* What a message says: its text, thinking and calls. */
void cf_report__message(cf_buf *out, const json_t *message);

#endif
