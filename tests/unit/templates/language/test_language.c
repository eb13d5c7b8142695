/*
 * test_language.c - the places and words of errors, options, limits; the
 * language itself is in test_cases.c.
 */
#include "templates/chat_template.h"
#include "templates/template.h"
#include "tests/support/t.h"

/* ---- helpers for single cases ------------------------------------------- */

typedef struct outcome {
    cf_arena arena;
    cf_template *tpl;
    cf_render r;
    cf_template_error why;
    cf_error err;
    cf_status st;
} outcome;

static void run(outcome *o, const char *source, const char *context,
                const cf_render_options *options, const cf_template_options *how)
{
    cf_context *values = NULL;
    memset(o, 0, sizeof *o);
    cf_arena_init(&o->arena, 0);
    T_OK(cf_context_read(&values, cf_str_from(context), &o->arena, &o->err), o->err);
    o->st = cf_template_compile(&o->tpl, cf_str_from(source), how, &o->arena, &o->why, &o->err);
    if (o->st == CF_OK) {
        o->st = cf_template_render(o->tpl, values, options, &o->arena, &o->r, &o->err);
        o->why = o->r.error;
    }
}

static void done(outcome *o)
{
    cf_template_free(o->tpl);
    cf_arena_deinit(&o->arena);
}

static void test_errors__place_and_words(void **state)
{
    (void)state;
    outcome o;
    cf_buf caret = CF_BUF_INIT;
    run(&o, "a\n  {{ m.role }} {{ m.nope.x }}", "{\"m\":{\"role\":1}}", NULL, NULL);
    assert_int_equal(o.st, CF_EFORMAT);
    assert_int_equal(o.why.line, 2);
    assert_int_equal(o.why.col, 19);
    assert_non_null(strstr(o.err.text, "'dict object' has no attribute 'nope'"));
    assert_non_null(strstr(o.err.text, "it has: role"));
    cf_template_caret(&caret, cf_str_from("a\n  {{ m.role }} {{ m.nope.x }}"), &o.why);
    assert_string_equal(cf_buf_cstr(&caret), "  {{ m.role }} {{ m.nope.x }}\n"
                                             "                  ^^^^^^^^\n");
    cf_buf_deinit(&caret);
    done(&o);
    run(&o, "{{ tols.x }}", "{\"tools\":1}", NULL, NULL);
    assert_non_null(strstr(o.err.text, "'tols' is undefined; the context has: "
                                       "tools"));
    done(&o);
    run(&o, "{% if x %}\n{% for i in l %}", "{}", NULL, NULL);
    assert_int_equal(o.st, CF_EFORMAT);
    assert_int_equal(o.why.line, 2);
    done(&o);
    run(&o, "{{ raise_exception('no ' ~ x) }}", "{\"x\":5}", NULL, NULL);
    assert_true(o.why.is_raised);
    T_TEXT(o.why.message.p, o.why.message.n, "no 5");
    done(&o);
}

/* Nothing in the line above the carets moves a terminal's cursor. */
static void test_errors__excerpt_is_harmless(void **state)
{
    (void)state;
    static const char source[] =
        "\x1b[31m\xC2\x9B\xE2\x80\xAE\xF3\xA0\x81\x81\xC3\xA9\t{{ x.y.z }}";
    outcome o;
    cf_buf caret = CF_BUF_INIT;
    run(&o, source, "{}", NULL, NULL);
    assert_int_equal(o.st, CF_EFORMAT);
    cf_template_caret(&caret, cf_str_from(source), &o.why);
    assert_string_equal(cf_buf_cstr(&caret), " [31m   \xC3\xA9 {{ x.y.z }}\n"
                                             "             ^^^\n");
    cf_buf_deinit(&caret);
    done(&o);
}

static void test_numbers__exact(void **state)
{
    (void)state;
    outcome o;
    run(&o, "{{ x }} {{ x + 1 }} {{ x * x // 7 }} {{ f }} {{ x | tojson }}",
        "{\"x\":123456789012345678901234567890,\"f\":1.0}", NULL, NULL);
    assert_int_equal(o.st, CF_OK);
    T_TEXT(o.r.prompt.text.p, o.r.prompt.text.n,
           "123456789012345678901234567890 123456789012345678901234567891 "
           "2177368393319833821499335937505171255357415028553574150300 1.0 "
           "123456789012345678901234567890");
    done(&o);
}

/* Escapes of strings end where they end. */
static void test_strings__escapes(void **state)
{
    (void)state;
    static const struct {
        const char *source, *want;
    } v[] = {
        {"{{ '\\u0041b' }}", "Ab"},
        {"{{ '\\ud83d\\ude00b' }}", "\xF0\x9F\x98\x80"
                                    "b"},
        {"{{ '\\ud83d\\ude00' }}", "\xF0\x9F\x98\x80"},
        {"{{ '\\ud83d\\u0041' }}", "\xEF\xBF\xBD"
                                   "A"},
        {"{{ '\\ud83dxy' }}", "\xEF\xBF\xBD"
                              "xy"},
        {"{{ '\\ude00' }}", "\xEF\xBF\xBD"},
        {"{{ '\\x41b' }}", "Ab"},
        {"{{ '\\1018' }}", "A8"},
        {"{{ '\\U0001F600b' }}", "\xF0\x9F\x98\x80"
                                 "b"},
    };
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        outcome o;
        run(&o, v[i].source, "{}", NULL, NULL);
        T_OK(o.st, o.err);
        T_TEXT(o.r.prompt.text.p, o.r.prompt.text.n, v[i].want);
        done(&o);
    }
}

static void test_mutation__only_when_allowed(void **state)
{
    (void)state;
    const cf_template_options allow = {.allow_mutation = true};
    const char *t = "{{ l.append(4) }}{{ l }}";
    outcome o;
    run(&o, t, "{\"l\":[1]}", NULL, NULL);
    assert_int_equal(o.st, CF_EFORMAT);
    assert_non_null(strstr(o.err.text, "unsafe"));
    done(&o);
    run(&o, t, "{\"l\":[1]}", NULL, &allow);
    T_TEXT(o.r.prompt.text.p, o.r.prompt.text.n, "None[1, 4]");
    done(&o);
}

/* A template as a renderer: the same prompt, errors with their place. */
static void test_renderer__of_a_template(void **state)
{
    (void)state;
    cf_template *tpl;
    cf_arena arena;
    cf_prompt prompt;
    cf_error err;
    json_t *context;
    T_OK(cf_template_compile(&tpl, cf_str_from("<{{ messages[0].content }}>\n{{ 1 / n }}"), NULL,
                             NULL, NULL, &err),
         err);
    cf_prompt_renderer renderer = cf_renderer_template(tpl);
    cf_arena_init(&arena, 0);
    static const char text[] = "{\"messages\":[{\"content\":\"hi\"}],\"n\":4}";
    T_OK(cf_json_read(&context, text, sizeof text - 1, &err), err);
    T_OK(renderer.render(renderer.ud, context, &arena, &prompt, &err), err);
    T_TEXT(prompt.text.p, prompt.text.n, "<hi>\n0.25");
    for (size_t off = 0; off <= prompt.text.n; off++) {
        const cf_prompt_span *s = cf_prompt_span_at(&prompt, off);
        size_t i = 0;
        while (i < prompt.n_spans && prompt.spans[i].off + prompt.spans[i].len <= off) {
            i++;
        }
        assert_ptr_equal(s, i < prompt.n_spans ? &prompt.spans[i] : NULL);
    }
    assert_int_equal(cf_prompt_span_at(&prompt, 1)->source, CF_SPAN_MESSAGE);
    assert_int_equal(json_object_set_new(context, "n", json_integer(0)), 0);
    T_FAILS(renderer.render(renderer.ud, context, &arena, &prompt, &err), CF_EFORMAT);
    assert_int_equal(err.line, 2);
    json_decref(context);
    cf_arena_deinit(&arena);
    cf_template_free(tpl);
}

static void test_generation__code_points(void **state)
{
    (void)state;
    outcome o;
    run(&o, "\xC3\xA9{% generation %}\xC3\xA9x{% endgeneration %}y", "{}", NULL, NULL);
    assert_true(o.r.has_generation);
    assert_int_equal(o.r.n_generation, 1);
    assert_int_equal(o.r.generation[0].start, 1);
    assert_int_equal(o.r.generation[0].end, 3);
    assert_int_equal(o.r.generation[0].byte_start, 2);
    assert_int_equal(o.r.generation[0].byte_end, 5);
    done(&o);
}

static void test_continue__cuts_at_the_message(void **state)
{
    (void)state;
    const cf_render_options go = {.continue_final_message = true};
    const char *t = "{% for m in messages %}[{{ m.content }}]{% endfor %}";
    outcome o;
    run(&o, t, "{\"messages\":[{\"content\":\"a\"},{\"content\":\"b c\"}]}", &go, NULL);
    assert_int_equal(o.st, CF_OK);
    T_TEXT(o.r.prompt.text.p, o.r.prompt.text.n, "[a][b c");
    done(&o);
    run(&o, "x", "{\"messages\":[{\"content\":\"a\"}]}", &go, NULL);
    assert_int_equal(o.st, CF_EFORMAT);
    done(&o);
}

static void test_limits__are_named(void **state)
{
    (void)state;
    static const struct {
        const char *source, *word;
    } cases[] = {
        {"{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}"
         "{% endfor %}",
         "steps"},
        {"{{ 'x' * 999999999 }}", "bytes"},
        {"{{ [1] * 99999999 }}", "items"},
        {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "deep"},
        {"{{ 10 ** 99999 }}", "bits"},
        {"{{ '%999999999d' % 1 }}", "width"},
        {"{% set ns = namespace(x=[]) %}{% for i in range(9000) %}"
         "{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
         "deep"},
        {"{% set ns = namespace(s='abcdefgh') %}{% for i in range(99) %}"
         "{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
         "bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        outcome o;
        run(&o, cases[i].source, "{}", NULL, NULL);
        if (o.st != CF_ELIMIT || strstr(o.err.text, cases[i].word) == NULL) {
            fail_msg("%s: %s", cases[i].source, o.err.text);
        }
        done(&o);
    }
}

/* A source that would need too much memory is refused by name. */
static void test_compile__memory_is_bounded(void **state)
{
    (void)state;
    cf_buf source = CF_BUF_INIT;
    for (int i = 0; i < 400000; i++) {
        cf_buf_adds(&source, "{{1}}");
    }
    cf_template *tpl;
    cf_error err;
    T_FAILS(cf_template_compile(&tpl, cf_str_make(source.p, source.n), NULL, NULL, NULL, &err),
            CF_ELIMIT);
    assert_non_null(strstr(err.text, "memory"));
    cf_buf_deinit(&source);
}

/* A source of many names is read in time that is linear in it: with one
 * search over all names for each, this test takes a hundred times as long. */
static void test_compile__many_names(void **state)
{
    (void)state;
    enum { NAMES = 60000 };
    cf_buf source = CF_BUF_INIT;
    for (int i = 0; i < NAMES; i++) {
        cf_buf_addf(&source, "{%% set v%d=%d %%}", i, i);
    }
    cf_buf_addf(&source, "{{ v0 }} {{ v7 }} {{ v8 }} {{ v%d }}", NAMES - 1);
    outcome o;
    run(&o, cf_buf_cstr(&source), "{}", NULL, NULL);
    assert_int_equal(o.st, CF_OK);
    T_TEXT(o.r.prompt.text.p, o.r.prompt.text.n, "0 7 8 59999");
    done(&o);
    cf_buf_reset(&source);
    cf_buf_adds(&source, "{{ dict(");
    for (int i = 0; i < NAMES; i++) {
        cf_buf_addf(&source, "k%d=1,", i);
    }
    cf_buf_adds(&source, ")|length }}");
    run(&o, cf_buf_cstr(&source), "{}", NULL, NULL);
    assert_int_equal(o.st, CF_OK);
    T_TEXT(o.r.prompt.text.p, o.r.prompt.text.n, "60000");
    done(&o);
    cf_buf_deinit(&source);
}

static void test_mutation__every_method(void **state)
{
    (void)state;
    static const struct {
        const char *source, *want;
    } cases[] = {
        {"{{ l.append(4) }}{{ l }}", "None[3, 1, 2, 4]"},
        {"{{ l.extend([4, 5]) }}{{ l }}", "None[3, 1, 2, 4, 5]"},
        {"{{ l.insert(1, 9) }}{{ l }}", "None[3, 9, 1, 2]"},
        {"{{ l.insert(-99, 9) }}{{ l.insert(99, 8) }}{{ l }}", "NoneNone[9, 3, 1, 2, 8]"},
        {"{{ l.pop() }}{{ l }}", "2[3, 1]"},
        {"{{ l.pop(0) }}{{ l.pop(-1) }}{{ l }}", "32[1]"},
        {"{{ l.pop(9) }}", NULL},
        {"{{ [].pop() }}", NULL},
        {"{{ l.remove(1) }}{{ l }}", "None[3, 2]"},
        {"{{ l.remove(9) }}", NULL},
        {"{{ l.reverse() }}{{ l }}", "None[2, 1, 3]"},
        {"{{ l.sort() }}{{ l }}", "None[1, 2, 3]"},
        {"{{ l.sort(reverse=true) }}{{ l }}", "None[3, 2, 1]"},
        {"{{ ['b', 1].sort() }}", NULL},
        {"{{ l.clear() }}{{ l }}", "None[]"},
        {"{{ l.append() }}", NULL},
        {"{{ l.extend(5) }}", NULL},
        {"{{ d.update({'b': 2}) }}{{ d }}", "None{'a': 1, 'b': 2}"},
        {"{{ d.update(b=2, a=3) }}{{ d }}", "None{'a': 3, 'b': 2}"},
        {"{{ d.update([('x', 1)]) }}{{ d }}", "None{'a': 1, 'x': 1}"},
        {"{{ d.update(5) }}", NULL},
        {"{{ d.setdefault('a', 5) }}{{ d.setdefault('z') }}{{ d }}", "1None{'a': 1, 'z': None}"},
        {"{{ d.pop('a') }}{{ d }}", "1{}"},
        {"{{ d.pop('z', 7) }}", "7"},
        {"{{ d.pop('z') }}", NULL},
        {"{{ d.popitem() }}{{ d }}", "('a', 1){}"},
        {"{{ {}.popitem() }}", NULL},
        {"{{ d.clear() }}{{ d }}", "None{}"},
        {"{% for i in range(20) %}{% set _ = d.update({i: i}) %}{% endfor %}"
         "{{ d|length }}{{ d[19] }}{% set _ = d.pop(3) %}{{ 3 in d }}",
         "2119False"},
    };
    const cf_template_options allow = {.allow_mutation = true};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome o;
        run(&o, cases[i].source, "{\"l\":[3,1,2],\"d\":{\"a\":1}}", NULL, &allow);
        if (cases[i].want == NULL) {
            assert_int_equal(o.st, CF_EFORMAT);
        } else if (o.st != CF_OK || !cf_str_is(o.r.prompt.text, cases[i].want)) {
            fail_msg("%s: %.*s %s", cases[i].source, (int)o.r.prompt.text.n, o.r.prompt.text.p,
                     o.err.text);
        }
        done(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors__place_and_words),
        cmocka_unit_test(test_errors__excerpt_is_harmless),
        cmocka_unit_test(test_numbers__exact),
        cmocka_unit_test(test_mutation__only_when_allowed),
        cmocka_unit_test(test_strings__escapes),
        cmocka_unit_test(test_renderer__of_a_template),
        cmocka_unit_test(test_generation__code_points),
        cmocka_unit_test(test_continue__cuts_at_the_message),
        cmocka_unit_test(test_limits__are_named),
        cmocka_unit_test(test_compile__memory_is_bounded),
        cmocka_unit_test(test_compile__many_names),
        cmocka_unit_test(test_mutation__every_method),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
