/*
 * test_template_oom.c - every allocation of compiling and rendering fails
 * once.
 */
#include "templates/template.h"
#include "tests/support/fault.h"
#include "tests/support/t.h"

static const char source[] =
    "{% macro f(a, b=1) %}{{ a ~ b }}{{ caller() if caller }}{% endmacro %}"
    "{% set ns = namespace(n=0) %}"
    "{% for m in messages if m.role %}{% set ns.n = ns.n + loop.index %}"
    "{{ m.role | upper }}{{ m.content.split(' ') | join('-') }}"
    "{{ f(m.content) }}{{ loop.last }}{% endfor %}"
    "{% set x | trim %} a {% endset %}{{ x }}{{ messages | tojson(indent=2) }}"
    "{{ messages | selectattr('role', 'eq', 'user') | list }}"
    "{{ 2 ** 100 }}{{ '%s %d' % ('a', 5) }}{{ '{:>5}'.format(x) }}"
    "{% generation %}g{% endgeneration %}{{ messages[0] | dictsort }}";

static const char values[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"hi \\u00e9 you\"},"
    "{\"role\":\"tool\",\"content\":\"1 2\"}],\"n\":12345678901234567890123}";

static cf_status body(void *ud)
{
    const cf_render_options *options = ud;
    cf_arena arena;
    cf_template *tpl = NULL;
    cf_context *context = NULL;
    cf_template_error why;
    cf_render r;
    cf_error err;
    cf_arena_init(&arena, 0);
    cf_status st = cf_template_compile(&tpl, cf_str_from(source), NULL, &arena, &why, &err);
    CF_THEN(st, cf_context_read(&context, cf_str_from(values), &arena, &err));
    CF_THEN(st, cf_template_render(tpl, context, options, &arena, &r, &err));
    cf_template_free(tpl);
    cf_arena_deinit(&arena);
    return st;
}

static void test_template__every_allocation(void **state)
{
    (void)state;
    cf_render_options options = {.continue_final_message = false};
    cf_fault_every_alloc(body, &options, false);
    cf_fault_every_alloc(body, &options, true);
    options.continue_final_message = true;
    cf_fault_every_alloc(body, &options, false);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_template__every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
