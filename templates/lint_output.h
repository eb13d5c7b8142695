/*
 * lint_output.h - the findings of lint, in the formats that people and programs
 * read.
 *
 * Place in the flow:  source --> lint --> [output] --> a terminal, a file, a
 * caller of the library.
 * Knows: reports of lint.
 * Does not know: templates, files, where its text goes.
 *
 * A format is a row of a table: begin, one template, end.  Texts are escaped
 * for a terminal where the format is for people.
 *
 * Threads:  no state of its own.
 * Memory:   an output borrows its buffer; nothing is kept of a report.
 */
#ifndef CF_TEMPLATES_LINT_OUTPUT_H
#define CF_TEMPLATES_LINT_OUTPUT_H

#include "core/base/decls.h"
#include "core/base/junit.h"
#include "core/json/json_writer.h"
#include "templates/template_lint.h"

CF_BEGIN_DECLS

typedef struct cf_lint_format cf_lint_format;

typedef struct cf_lint_output {
    const cf_lint_format *format;
    cf_buf *out; /* appended to; may be emptied between the calls */
    bool shows_caps, shows_context;
    cf_jw w;
    cf_junit junit;
} cf_lint_output;

/* "text", "json", "table", "sarif", "github", "junit"; NULL for another
 * name. */
const cf_lint_format *cf_lint_format_find(const char *name);
bool cf_lint_format_is_json(const cf_lint_format *format);

/* Once each, around any number of templates. */
void cf_lint_output_begin(cf_lint_output *o);
void cf_lint_output_end(cf_lint_output *o);
void cf_lint_output_one(cf_lint_output *o, const char *name, const cf_lint_report *report);

/* Writes the members of a report into the object that is open: "family",
 * "known", "findings", "capabilities" and "stability" (docs/contract.md). */
void cf_lint_report_json(cf_jw *w, const cf_lint_report *report);

CF_END_DECLS

#endif
