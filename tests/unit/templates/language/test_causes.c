/*
 * test_causes.c - the conditions under which spans were written: of every
 * construct, merged where a value was chosen before it was written, the same
 * way in two renders; nothing changes in what is rendered.
 */
#include "templates/builtin.h"
#include "templates/template.h"
#include "tests/support/fault.h"
#include "tests/support/t.h"

static const char context[] = "{\"messages\":[{\"role\":\"system\",\"content\":\"Sys\"},"
                              "{\"role\":\"user\",\"content\":\"One\"},"
                              "{\"role\":\"user\",\"content\":\"Two\"}],"
                              "\"tools\":[{\"name\":\"t\"}],\"add_generation_prompt\":true}";

static cf_status render(const char *source, bool causes, cf_arena *arena, cf_render *out)
{
    cf_template *tpl;
    cf_context *values;
    cf_error err;
    const cf_render_options options = {.causes = causes};
    cf_arena_init(arena, 0);
    T_OK(cf_template_compile(&tpl, cf_str_from(source), NULL, NULL, NULL, &err), err);
    T_OK(cf_context_read(&values, cf_str_from(context), arena, &err), err);
    cf_status st = cf_template_render(tpl, values, &options, arena, out, &err);
    cf_template_free(tpl); /* causes outlive it */
    return st;
}

/* The chain of the span that has `word`, innermost first: "test=1 ". */
static void expect(const char *source, const char *word, const char *chain)
{
    cf_arena arena;
    cf_render r;
    char got[400] = "";
    size_t n = 0;
    assert_int_equal(render(source, true, &arena, &r), CF_OK);
    char *text = strndup(r.prompt.text.p, r.prompt.text.n);
    assert_non_null(text);
    const char *at = strstr(text, word);
    assert_non_null(at);
    const cf_prompt_span *s = cf_prompt_span_at(&r.prompt, (size_t)(at - text));
    for (const cf_prompt_cause *c = s->cause; c != NULL; c = c->outer) {
        n += (size_t)snprintf(got + n, sizeof got - n, "%s %.*s=%d;", cf_cause_kind_name(c->kind),
                              (int)c->test.n, c->test.p, c->is_true);
    }
    assert_string_equal(got, chain);
    free(text);
    cf_arena_deinit(&arena);
}

static void test_causes__of_each_construct(void **state)
{
    (void)state;
    expect("{% if tools %}A{% endif %}", "A", "if tools=1;");
    expect("{% if x %}A{% elif not (tools) %}B{% else %}C{% endif %}", "C",
           "if not (tools)=0;if x=0;");
    expect("{% for m in messages %}{% if m.role is string and loop.last %}"
           "{{ m.content }}{% endif %}{% endfor %}",
           "Two", "if m.role is string and loop.last=1;round messages=1;");
    expect("{% for m in messages if m.role == 'user' %}{{ m.content }}"
           "{% endfor %}",
           "One", "round messages=1;filter m.role == 'user'=1;");
    expect("{% for m in [] %}{% else %}none{% endfor %}", "none", "round []=0;");
    expect("{{ 'A' if tools else 'B' }}", "A", "choice tools=1;");
    expect("{% macro f(x) %}{% if x %}in{% endif %}{% endmacro %}"
           "{% if tools %}{{ f(1) }}{% endif %}",
           "in", "if x=1;if tools=1;");
    expect("top", "top", "");
}

/* What was assigned under one condition and is written under another. */
static void test_causes__of_what_is_written_later(void **state)
{
    (void)state;
    expect("{% set s = '' %}{% if tools %}{% set s = 'A' %}{% endif %}"
           "{% if messages %}{{ s }}{% endif %}",
           "A", "if tools=1;if messages=1;");
    expect("{% set ns = namespace(s='') %}{% for m in messages %}"
           "{% if loop.last %}{% set ns.s = m.content %}{% endif %}"
           "{% endfor %}<{{ ns.s }}>",
           "Two", "if loop.last=1;round messages=1;");
    expect("{% set s %}{% if tools %}A{% endif %}{% endset %}"
           "{% if messages %}{{ s ~ '.' }}{% endif %}",
           "A", "if tools=1;if messages=1;");
}

/* The item of a round, and the condition under which a render failed. */
static void test_causes__items_and_failures(void **state)
{
    (void)state;
    cf_arena arena;
    cf_render r;
    assert_int_equal(render("{% for m in messages[1:] %}{% if m.content == "
                            "'Two' %}{{ raise_exception('no') }}{% endif %}"
                            "{% endfor %}",
                            true, &arena, &r),
                     CF_EFORMAT);
    assert_true(r.error.is_raised);
    assert_non_null(r.failed_under);
    assert_true(r.failed_under->is_true);
    assert_non_null(r.failed_under->outer);
    assert_int_equal(r.failed_under->outer->message, 3);
    assert_int_equal(r.failed_under->outer->round, 2);
    cf_arena_deinit(&arena);
    assert_int_equal(render("{% for t in tools %}{{ t.name }}{% endfor %}", true, &arena, &r),
                     CF_OK);
    assert_int_equal(r.prompt.spans[0].cause->tool, 1);
    cf_arena_deinit(&arena);
}

/* A record changes neither the text nor the origin of a byte. */
static void test_causes__change_nothing_else(void **state)
{
    (void)state;
    const char *name;
    for (size_t i = 0; (name = cf_template_builtin_name(i)) != NULL; i++) {
        cf_str source = cf_template_builtin(name);
        char *text = strndup(source.p, source.n);
        assert_non_null(text);
        cf_arena a, b;
        cf_render with, without;
        cf_status st = render(text, true, &a, &with);
        assert_int_equal(render(text, false, &b, &without), st);
        assert_int_equal(without.n_causes, 0);
        assert_true(cf_str_eq(with.prompt.text, without.prompt.text));
        for (size_t off = 0; st == CF_OK && off < with.prompt.text.n; off++) {
            const cf_prompt_span *x = cf_prompt_span_at(&with.prompt, off);
            const cf_prompt_span *y = cf_prompt_span_at(&without.prompt, off);
            assert_null(y->cause);
            assert_int_equal(x->source, y->source);
            assert_int_equal(x->line, y->line);
            assert_int_equal(x->col, y->col);
            assert_int_equal(x->is_copy, y->is_copy);
            if (x->is_copy) {
                assert_int_equal(x->src_off + (off - x->off), y->src_off + (off - y->off));
            }
        }
        cf_arena_deinit(&a);
        cf_arena_deinit(&b);
        free(text);
    }
}

/* More conditions than are kept: the render goes on. */
static void test_causes__are_bounded(void **state)
{
    (void)state;
    cf_arena arena;
    cf_render r;
    assert_int_equal(render("{% for i in range(50000) %}{% if i %}x{% endif %}"
                            "{% endfor %}",
                            true, &arena, &r),
                     CF_OK);
    assert_int_equal(r.prompt.text.n, 49999);
    assert_int_equal(r.n_causes, 65536);
    cf_arena_deinit(&arena);
}

/* One render of a template; a cf_status. */
static cf_status render_once(void *ud)
{
    cf_arena arena;
    cf_context *values;
    cf_render r;
    cf_error err;
    const cf_render_options options = {.causes = true};
    cf_arena_init(&arena, 0);
    cf_status st = cf_context_read(&values, cf_str_from(context), &arena, &err);
    if (st == CF_OK) {
        st = cf_template_render(ud, values, &options, &arena, &r, &err);
    }
    cf_arena_deinit(&arena);
    return st;
}

static void test_causes__memory_may_run_out(void **state)
{
    (void)state;
    cf_template *tpl;
    cf_error err;
    T_OK(cf_template_compile(&tpl,
                             cf_str_from("{% for m in messages %}{% set s = m.content if m "
                                         "else '' %}{% if s %}{{ s ~ 'x' }}{% endif %}"
                                         "{% endfor %}"),
                             NULL, NULL, NULL, &err),
         err);
    cf_fault_every_alloc(render_once, tpl, false);
    cf_template_free(tpl);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_causes__of_each_construct),
        cmocka_unit_test(test_causes__of_what_is_written_later),
        cmocka_unit_test(test_causes__items_and_failures),
        cmocka_unit_test(test_causes__change_nothing_else),
        cmocka_unit_test(test_causes__are_bounded),
        cmocka_unit_test(test_causes__memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
