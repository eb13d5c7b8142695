/*
 * inside_output.h - what confab inside prints, as text or as one JSON object.
 *
 * Threads:  the main one.
 */
#ifndef CF_TUI_CLI_INSIDE_INSIDE_OUTPUT_H
#define CF_TUI_CLI_INSIDE_INSIDE_OUTPUT_H

#include "core/json/json_writer.h"
#include "tui/study/inside/inside_work.h"

/* An answer with its name. */
typedef struct cf_inside_row {
    cf_str name; /* "tool get_time" */
    cf_inside_answer answer;
} cf_inside_row;

void cf_inside_text_lens(cf_buf *out, const cf_inside_case *c, const cf_inside_layers *v);
void cf_inside_text_look(cf_buf *out, const cf_inside_case *c, const cf_inside_look *v);
void cf_inside_text_margin(cf_buf *out, const cf_inside_case *c, const cf_margin *v);
/* rows[0] is the answer as it is; changes of the others count from it. */
void cf_inside_text_rows(cf_buf *out, const cf_inside_case *c, const cf_inside_row *rows, size_t n);
void cf_inside_text_tools(cf_buf *out, const cf_inside_case *c, const cf_inside_choice *v);
void cf_inside_text_map(cf_buf *out, const cf_inside_case *c, const cf_inside_map *v);

/* The same as members of the open object. */
void cf_inside_json_lens(cf_jw *w, const cf_inside_case *c, const cf_inside_layers *v);
void cf_inside_json_look(cf_jw *w, const cf_inside_case *c, const cf_inside_look *v);
void cf_inside_json_rows(cf_jw *w, const cf_inside_case *c, const cf_inside_row *rows, size_t n);
void cf_inside_json_tools(cf_jw *w, const cf_inside_case *c, const cf_inside_choice *v);
void cf_inside_json_map(cf_jw *w, const cf_inside_case *c, const cf_inside_map *v);
/* What was asked: "at", "token", "for", "against". */
void cf_inside_json_ask(cf_jw *w, const cf_inside_case *c);

#endif
