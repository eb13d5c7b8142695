/*
 * junit.c - writes JUnit's XML.
 */
#include "core/base/junit.h"

#include "core/base/safe_text.h"

void cf_xml_markup(cf_buf *out, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        switch (p[i]) {
        case '&':
            cf_buf_adds(out, "&amp;");
            break;
        case '<':
            cf_buf_adds(out, "&lt;");
            break;
        case '>':
            cf_buf_adds(out, "&gt;");
            break;
        case '"':
            cf_buf_adds(out, "&quot;");
            break;
        default:
            cf_buf_addc(out, p[i]);
        }
    }
}

/* Empties `safe`. */
static void put_escaped(cf_buf *out, cf_buf *safe)
{
    cf_xml_markup(out, safe->p, safe->n);
    out->failed = out->failed || safe->failed;
    cf_buf_deinit(safe);
}

void cf_xml_text(cf_buf *out, cf_str s)
{
    cf_buf safe = CF_BUF_INIT;
    cf_safe_text(&safe, s.n > 0 ? s.p : "", s.n);
    put_escaped(out, &safe);
}

void cf_xml_line(cf_buf *out, cf_str s)
{
    cf_buf safe = CF_BUF_INIT;
    cf_safe_line(&safe, s.n > 0 ? s.p : "", s.n);
    put_escaped(out, &safe);
}

static void put_attribute(cf_buf *out, const char *name, cf_str value)
{
    cf_buf_addf(out, " %s=\"", name);
    cf_xml_line(out, value);
    cf_buf_addc(out, '"');
}

void cf_junit_begin(cf_junit *j, cf_buf *out, const char *name)
{
    *j = (cf_junit){.out = out};
    cf_buf_adds(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    put_attribute(out, "name", cf_str_from(name));
    cf_buf_adds(out, ">\n");
}

void cf_junit_end(cf_junit *j)
{
    cf_buf_adds(j->out, "</testsuites>\n");
}

void cf_junit_suite(cf_junit *j, cf_str name, size_t n_tests, size_t n_failures, size_t n_errors)
{
    cf_buf_adds(j->out, "  <testsuite");
    put_attribute(j->out, "name", name);
    cf_buf_addf(j->out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n", n_tests, n_failures,
                n_errors);
}

void cf_junit_suite_end(cf_junit *j)
{
    cf_buf_adds(j->out, "  </testsuite>\n");
}

void cf_junit_case(cf_junit *j, cf_str classname, cf_str name, double seconds)
{
    cf_buf_adds(j->out, "    <testcase");
    put_attribute(j->out, "classname", classname);
    put_attribute(j->out, "name", name);
    if (seconds >= 0) {
        cf_buf_addf(j->out, " time=\"%.3f\"", seconds);
    }
    j->is_open = true;
}

void cf_junit_case_end(cf_junit *j)
{
    cf_buf_adds(j->out, j->is_open ? "/>\n" : "    </testcase>\n");
    j->is_open = false;
}

void cf_junit_outcome(cf_junit *j, const char *element, cf_str type, cf_str message, cf_str text)
{
    cf_buf_adds(j->out, j->is_open ? ">\n" : "");
    j->is_open = false;
    cf_buf_addf(j->out, "      <%s", element);
    if (message.n > 0) {
        put_attribute(j->out, "message", message);
    }
    if (type.n > 0) {
        put_attribute(j->out, "type", type);
    }
    cf_buf_addc(j->out, '>');
    cf_xml_text(j->out, text);
    cf_buf_addf(j->out, "</%s>\n", element);
}
