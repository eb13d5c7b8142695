/*
 * test_lint_output.c - confab lint --format: each format is what its readers
 * parse; unknown names are wrong usage.
 */
#include "tests/support/t.h"

#include <jansson.h>
#include <unistd.h>

#include "core/base/os.h"
#include "core/json/json.h"
#include "templates/confab.h"
#include "tests/support/program.h"

static char file[64];

static int set_up(void **state)
{
    (void)state;
    cf_error err;
    static const char source[] = "{% for m in messages %}{% if m.role != 'tool' %}<{{ m.content }}>"
                                 "{% endif %}\n{% endfor %}{{ nobody_sets_this }}";
    snprintf(file, sizeof file, "/tmp/confab lint-XXXXXX");
    int fd = mkstemp(file);
    if (fd < 0) {
        return -1;
    }
    close(fd);
    return cf_os_write_file(file, source, sizeof source - 1, 0600, &err) == CF_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(file);
}

/* The output; the template has errors, so the status is 1. */
static char *lint(const char *format)
{
    cf_program p;
    CF_PROGRAM(&p, "lint", "--format", format, file);
    assert_int_equal(p.status, 1);
    char *text = strdup(cf_buf_cstr(&p.out));
    assert_non_null(text);
    cf_program_deinit(&p);
    return text;
}

/* What section 3 of SARIF 2.1.0 requires of a location, whose text, if any, is
 * a message. */
static void check_sarif_location(const json_t *at)
{
    const json_t *place = json_object_get(at, "physicalLocation");
    const json_t *region = json_object_get(place, "region");
    const json_t *message = json_object_get(at, "message");
    const json_t *column = json_object_get(region, "startColumn");
    assert_true(json_is_object(place));
    assert_true(json_integer_value(json_object_get(region, "startLine")) >= 1);
    assert_true(column == NULL || json_integer_value(column) >= 1);
    assert_true(message == NULL || json_is_string(json_object_get(message, "text")));
}

/* A result: a text, a level of the four, places; related ones have a text. */
static void check_sarif_result(const json_t *r)
{
    const char *level = json_string_value(json_object_get(r, "level"));
    const json_t *related = json_object_get(r, "relatedLocations");
    assert_true(json_is_string(json_object_get(json_object_get(r, "message"), "text")));
    assert_non_null(level);
    assert_true(strcmp(level, "error") == 0 || strcmp(level, "warning") == 0 ||
                strcmp(level, "note") == 0);
    check_sarif_location(json_array_get(json_object_get(r, "locations"), 0));
    for (size_t i = 0; i < json_array_size(related); i++) {
        check_sarif_location(json_array_get(related, i));
        assert_non_null(json_object_get(json_array_get(related, i), "message"));
    }
}

static void test_format__sarif(void **state)
{
    (void)state;
    NEED_PROGRAM();
    char *text = lint("sarif");
    json_t *v = json_loads(text, 0, NULL);
    assert_non_null(v);
    assert_string_equal(json_string_value(json_object_get(v, "version")), "2.1.0");
    const json_t *run = json_array_get(json_object_get(v, "runs"), 0);
    const json_t *driver = json_object_get(json_object_get(run, "tool"), "driver");
    const json_t *results = json_object_get(run, "results");
    assert_true(json_array_size(json_object_get(driver, "rules")) > 20);
    assert_true(json_array_size(results) > 3);
    size_t with_line = 0, with_cause = 0;
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *r = json_array_get(results, i);
        const json_t *at =
            json_object_get(json_array_get(json_object_get(r, "locations"), 0), "physicalLocation");
        const char *uri =
            json_string_value(json_object_get(json_object_get(at, "artifactLocation"), "uri"));
        assert_true(strncmp(uri, "/tmp/confab%20lint-", 19) == 0);
        check_sarif_result(r);
        with_cause += json_object_get(r, "relatedLocations") != NULL;
        assert_non_null(json_object_get(r, "ruleId"));
        with_line +=
            json_integer_value(json_object_get(json_object_get(at, "region"), "startLine")) == 2;
    }
    assert_true(with_line > 0);
    assert_true(with_cause > 0);
    json_decref(v);
    free(text);
}

static void test_format__json_text_github_junit(void **state)
{
    (void)state;
    NEED_PROGRAM();
    char *text = lint("json");
    json_t *v = json_loads(text, 0, NULL);
    assert_non_null(v);
    const json_t *caps = json_object_get(v, "capabilities");
    assert_string_equal(json_string_value(json_object_get(caps, "tools")), "dropped");
    assert_true(json_is_false(json_object_get(caps, "needs_alternation")));
    json_decref(v);
    free(text);
    text = lint("text");
    assert_non_null(strstr(text, "E007"));
    assert_non_null(strstr(text, " errors, "));
    free(text);
    text = lint("github");
    assert_non_null(strstr(text, "::error file="));
    assert_non_null(strstr(text, ",title=E007::"));
    assert_non_null(strstr(text, "::notice file="));
    free(text);
    text = lint("junit");
    assert_non_null(strstr(text, "<testsuites"));
    assert_non_null(strstr(text, "<failure message=\""));
    for (const char *at = text; (at = strstr(at, "<testcase")) != NULL; at++) {
        const char *next = strstr(at + 1, "<testcase");
        const char *failure = strstr(at, "<failure");
        const char *second = failure != NULL ? strstr(failure + 1, "<failure") : NULL;
        assert_true(next == NULL || second == NULL || second > next);
    }
    assert_non_null(strstr(text, "</testsuites>"));
    free(text);
}

static void test_names__unknown_ones_are_wrong_usage(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    CF_PROGRAM(&p, "lint", "--format", "xml", file);
    assert_int_equal(p.status, 2);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "--format takes text, json, table"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "lint", "--client", "nobody", file);
    assert_int_equal(p.status, 2);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "claude-code"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "lint", "--client", "all", "mistral");
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "E013"));
    cf_program_deinit(&p);
}

/* A finding has one form: confab lint --json and cf_lint() of the library
 * agree in every member that both have. */
static void test_json__command_and_library_agree(void **state)
{
    (void)state;
    NEED_PROGRAM();
    if (!cf_program_has_model()) {
        T_SKIP("this tree has no bundled model");
    }
    static const char *const members[] = {"family", "known", "findings", "capabilities",
                                          "stability"};
    cf_error err = {.text = ""};
    const cf_open_with_options with = {.size = sizeof with, .template_name = file};
    json_t *ours = NULL, *theirs = NULL;
    cf_program p;
    confab *c = cf_open_with("bundled", &with, &err);
    assert_non_null(c);
    const char *text = cf_lint(c, &err);
    assert_non_null(text);
    T_OK(cf_json_read(&theirs, text, strlen(text), &err), err);
    CF_PROGRAM(&p, "lint", "--json", "-m", "bundled", file);
    T_OK(cf_json_read(&ours, p.out.p, p.out.n, &err), err);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        const json_t *value = json_object_get(ours, members[i]);
        assert_non_null(value);
        assert_true(json_equal(value, json_object_get(theirs, members[i])));
    }
    const json_t *first = json_array_get(json_object_get(ours, "findings"), 0);
    assert_true(json_integer_value(json_object_get(first, "column")) > 0);
    json_decref(ours);
    json_decref(theirs);
    cf_program_deinit(&p);
    cf_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format__sarif),
        cmocka_unit_test(test_format__json_text_github_junit),
        cmocka_unit_test(test_json__command_and_library_agree),
        cmocka_unit_test(test_names__unknown_ones_are_wrong_usage),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
