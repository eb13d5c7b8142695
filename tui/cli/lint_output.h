/*
 * lint_output.h - what confab lint found, in the formats that people and
 * programs read.
 *
 * A format is a row of a table: begin, one template, end.  Texts are made
 * safe for a terminal where the format is for people.
 *
 * Threads:  one thread.
 * Memory:   an output borrows its buffer; nothing is kept of a report.
 */
#ifndef CF_TUI_CLI_LINT_OUTPUT_H
#define CF_TUI_CLI_LINT_OUTPUT_H

#include "core/base/json_writer.h"
#include "templates/template_lint.h"

typedef struct cf_lint_format cf_lint_format;

typedef struct cf_lint_output {
    const cf_lint_format *format;
    cf_buf *out; /* appended to; may be emptied between the calls */
    bool shows_caps, shows_context;
    cf_jw w;
} cf_lint_output;

/* "text", "json", "table", "sarif", "github", "junit"; NULL for another
 * name. */
const cf_lint_format *cf_lint_format_find(const char *name);
bool cf_lint_format_is_json(const cf_lint_format *format);

/* Once each, around any number of templates. */
void cf_lint_output_begin(cf_lint_output *o);
void cf_lint_output_end(cf_lint_output *o);
void cf_lint_output_one(cf_lint_output *o, const char *name, const cf_lint_report *report);

#endif
