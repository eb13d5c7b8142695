/*
 * test_junit.c - JUnit's XML: the elements, and text that XML cannot hold.
 */
#include "tests/support/t.h"

#include "core/base/junit.h"

static void test_junit__elements(void **state)
{
    (void)state;
    const cf_str none = cf_str_make("", 0);
    cf_buf out = CF_BUF_INIT;
    cf_junit j;
    cf_junit_begin(&j, &out, "a tool");
    cf_junit_suite(&j, cf_str_from("s"), 3, 1, 1);
    cf_junit_case(&j, cf_str_from("s"), cf_str_from("passes"), -1);
    cf_junit_case_end(&j);
    cf_junit_case(&j, cf_str_from("s"), cf_str_from("fails"), 1.5);
    cf_junit_outcome(&j, "failure", cf_str_from("T"), cf_str_from("1 < \"2\"\nline"),
                     cf_str_from("a & b\nc"));
    cf_junit_case_end(&j);
    cf_junit_case(&j, cf_str_from("s"), cf_str_from("breaks"), 0);
    cf_junit_outcome(&j, "error", none, cf_str_from("why"), none);
    cf_junit_case_end(&j);
    cf_junit_suite_end(&j);
    cf_junit_end(&j);
    assert_string_equal(cf_buf_cstr(&out),
                        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                        "<testsuites name=\"a tool\">\n"
                        "  <testsuite name=\"s\" tests=\"3\" failures=\"1\" errors=\"1\">\n"
                        "    <testcase classname=\"s\" name=\"passes\"/>\n"
                        "    <testcase classname=\"s\" name=\"fails\" time=\"1.500\">\n"
                        "      <failure message=\"1 &lt; &quot;2&quot;\\nline\" type=\"T\">"
                        "a &amp; b\nc</failure>\n"
                        "    </testcase>\n"
                        "    <testcase classname=\"s\" name=\"breaks\" time=\"0.000\">\n"
                        "      <error message=\"why\"></error>\n"
                        "    </testcase>\n"
                        "  </testsuite>\n"
                        "</testsuites>\n");
    cf_buf_deinit(&out);
}

/* XML 1.0 has no control characters, and no bytes that are not UTF-8. */
static void test_junit__any_byte(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        char text[] = {'a', (char)c, 'b'};
        cf_buf out = CF_BUF_INIT;
        cf_xml_text(&out, cf_str_make(text, sizeof text));
        for (size_t i = 0; i < out.n; i++) {
            unsigned char b = (unsigned char)out.p[i];
            assert_true((b >= 0x20 && b < 0x7F) || b == '\n' || b == '\t');
            assert_true(b != '<' && b != '>' && b != '"');
        }
        cf_buf_deinit(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_junit__elements),
        cmocka_unit_test(test_junit__any_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
