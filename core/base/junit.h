/*
 * junit.h - writes the results of tests as JUnit's XML, which CI systems read.
 *
 * Place in the flow:  results of checks --> [junit] --> a file.
 * Knows: the elements that readers of JUnit's XML agree on, and how text is
 * escaped in XML 1.0.
 * Does not know: what was tested.
 *
 * Elements are written in the order of the calls; each suite and each case has
 * its end.  A case has one failure at most: readers take only the first.
 *
 * Threads:  one thread at a time.
 * Memory:   the writer borrows the buffer that it appends to.
 *
 * Source of the elements: https://github.com/testmoapp/junitxml
 */
#ifndef CF_CORE_BASE_JUNIT_H
#define CF_CORE_BASE_JUNIT_H

#include "core/base/buf.h"
#include "core/base/decls.h"

CF_BEGIN_DECLS

typedef struct cf_junit {
    cf_buf *out;
    bool is_open; /* the tag of the case can still be closed as empty */
} cf_junit;

void cf_junit_begin(cf_junit *j, cf_buf *out, const char *name);
void cf_junit_end(cf_junit *j);

void cf_junit_suite(cf_junit *j, cf_str name, size_t n_tests, size_t n_failures, size_t n_errors);
void cf_junit_suite_end(cf_junit *j);

/* `seconds` below 0: not known. */
void cf_junit_case(cf_junit *j, cf_str classname, cf_str name, double seconds);
void cf_junit_case_end(cf_junit *j);

/* The outcome of the case: "failure" or "error" with a type and a message, or
 * "system-out" with a text alone.  `type` and `text` may be empty. */
void cf_junit_outcome(cf_junit *j, const char *element, cf_str type, cf_str message, cf_str text);

/* Text for an XML element, and on one line for an attribute: markup is escaped,
 * and characters that XML lacks or that show nothing are written as
 * core/base/safe_text.h does. */
void cf_xml_text(cf_buf *out, cf_str s);
void cf_xml_line(cf_buf *out, cf_str s);

/* Escapes the markup of text that holds only characters of XML. */
void cf_xml_markup(cf_buf *out, const char *p, size_t n);

CF_END_DECLS

#endif
