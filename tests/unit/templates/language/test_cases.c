/*
 * test_cases.c - the template language, case by case, from files of cases in
 * tests/data/templates.  tests/tools/language_cases.py explains their form and
 * writes the outputs.
 */
#include "core/base/os.h"
#include "templates/template.h"
#include "tests/support/t.h"

typedef struct topic {
    const char *name;
    cf_arena arena;
    cf_context *context; /* that of all cases */
    int number;          /* of the line */
    int failed;
} topic;

static void complain(topic *t, const json_t *source, const char *what, const char *text, size_t n)
{
    t->failed++;
    printf("%s.txt:%d: %s %s '%.*s'\n", t->name, t->number, json_string_value(source), what, (int)n,
           text);
}

/* {"line": .., "col": .., "says": ".."} */
static void check_error(topic *t, const json_t *source, const json_t *want, const cf_error *err,
                        const cf_template_error *why)
{
    const char *says = json_string_value(json_object_get(want, "says"));
    long long line = json_integer_value(json_object_get(want, "line"));
    long long col = json_integer_value(json_object_get(want, "col"));
    if (says != NULL && strstr(err->text, says) == NULL) {
        complain(t, source, "says", err->text, strlen(err->text));
    }
    if (why->line != line || why->col != col) {
        char place[40];
        snprintf(place, sizeof place, "%u:%u", (unsigned)why->line, (unsigned)why->col);
        complain(t, source, "points at", place, strlen(place));
    }
}

static void run_case(topic *t, const json_t *source, const json_t *want)
{
    cf_error err = {0};
    cf_arena arena;
    cf_template *tpl = NULL;
    cf_template_error why = {0};
    cf_render r;
    cf_arena_init(&arena, 0);
    cf_status st = cf_template_compile(
        &tpl, cf_str_make(json_string_value(source), json_string_length(source)), NULL, &arena,
        &why, &err);
    if (st == CF_OK) {
        st = cf_template_render(tpl, t->context, NULL, &arena, &r, &err);
        why = r.error;
    }
    if (!json_is_string(want)) {
        if (st == CF_OK) {
            complain(t, source, "does not fail but gives", r.prompt.text.p, r.prompt.text.n);
        } else if ((st != CF_EFORMAT && st != CF_ELIMIT) || err.text[0] == '\0') {
            complain(t, source, "fails otherwise:", err.text, strlen(err.text));
        } else if (json_is_object(want)) {
            check_error(t, source, want, &err, &why);
        }
    } else if (st != CF_OK) {
        complain(t, source, "fails:", err.text, strlen(err.text));
    } else if (!cf_str_eq(r.prompt.text,
                          cf_str_make(json_string_value(want), json_string_length(want)))) {
        complain(t, source, "gives", r.prompt.text.p, r.prompt.text.n);
    }
    cf_template_free(tpl);
    cf_arena_deinit(&arena);
}

/* One line: a comment, the context, or a case; 1 for a case. */
static int run_line(topic *t, const char *line, size_t n)
{
    cf_error err;
    json_t *item = NULL;
    t->number++;
    if (n == 0 || line[0] == '#') {
        return 0;
    }
    if (t->context == NULL) {
        T_OK(cf_context_read(&t->context, cf_str_make(line, n), &t->arena, &err), err);
        return 0;
    }
    T_OK(cf_json_read(&item, line, n, &err), err);
    assert_int_equal(json_array_size(item), 2);
    run_case(t, json_array_get(item, 0), json_array_get(item, 1));
    json_decref(item);
    return 1;
}

static void test_cases__of_each_topic(void **state)
{
    (void)state;
    static const char *const names[] = {"characters", "collections", "errors",     "format",
                                        "language",   "numbers",     "statements", "strftime",
                                        "text",       "tojson"};
    int64_t ms;
    int failed = 0;
    assert_true(cf_os_parse_time(&ms, "2025-01-02T03:04:05Z"));
    cf_os_freeze_clock(ms);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        topic t = {.name = names[i]};
        char path[100];
        cf_buf text = CF_BUF_INIT;
        cf_error err;
        int cases = 0;
        snprintf(path, sizeof path, "tests/data/templates/%s.txt", t.name);
        T_OK(cf_os_read_file(&text, path, SIZE_MAX, &err), err);
        cf_arena_init(&t.arena, 0);
        for (size_t at = 0; at < text.n;) {
            const char *line = text.p + at;
            const char *end = memchr(line, '\n', text.n - at);
            size_t n = end != NULL ? (size_t)(end - line) : text.n - at;
            cases += run_line(&t, line, n);
            at += n + 1;
        }
        assert_true(cases > 10);
        failed += t.failed;
        cf_arena_deinit(&t.arena);
        cf_buf_deinit(&text);
    }
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases__of_each_topic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
