/*
 * test_step_law.c - the work of a template is counted: an operation on twice as
 * many bytes or items takes proportionally more steps, so that the step limit,
 * and the cancel flag that is checked with it, end every template.
 *
 * Nothing here measures time.  The law is about n_steps and about memory.
 */
#include "core/base/alloc.h"
#include "templates/template.h"
#include "tests/support/t.h"

typedef struct outcome {
    cf_status st;
    uint64_t steps;
    size_t memory;
    cf_error err;
} outcome;

static outcome render(const char *source, const cf_render_options *options)
{
    outcome o = {0};
    cf_template *tpl;
    cf_context *context;
    cf_arena arena;
    cf_render r;
    cf_arena_init(&arena, 0);
    T_OK(cf_template_compile(&tpl, cf_str_from(source), NULL, NULL, NULL, &o.err), o.err);
    T_OK(cf_context_read(&context, cf_str_from("{}"), &arena, &o.err), o.err);
    o.st = cf_template_render(tpl, context, options, &arena, &r, &o.err);
    o.steps = r.n_steps;
    o.memory = arena.total;
    cf_template_free(tpl);
    cf_arena_deinit(&arena);
    return o;
}

/* Two strings, lists, tuples, dicts and sets of pairs that are equal and not
 * the same, of size n. */
static const char made[] = "{%% set n = %d %%}"
                           "{%% set x = 'xy ' * n %%}{%% set y = 'xy ' * n %%}"
                           "{%% set w = 'x' * n %%}{%% set z = '9' * n %%}"
                           "{%% set e = '\xC3\xA9 ' * n %%}{%% set b = ' ' * n "
                           "%%}{%% set v = 'Ab ' * n %%}"
                           "{%% set l = [1] * n %%}{%% set m = [1] * n %%}"
                           "{%% set t = (1,) * n %%}{%% set u = (1,) * n %%}"
                           "{%% set d = {'a': x} %%}{%% set f = {'a': y} %%}"
                           "{%% set q = %s %%}";

static uint64_t steps_of(const char *op, int n)
{
    char source[2000];
    const cf_render_options options = {.limits = {.max_steps = 40000000}};
    int len = snprintf(source, sizeof source, made, n, op);
    assert_true(len > 0 && len < (int)sizeof source);
    outcome o = render(source, &options);
    if (o.st == CF_ELIMIT) {
        fail_msg("%s: %s", op, o.err.text);
    }
    return o.steps; /* an operation may fail, after its work */
}

/* Operations that look at all of their n (or more) bytes or items. */
static const char *const linear[] = {
    /* operators */
    "x == y",
    "x != y",
    "x < y",
    "x <= y",
    "[x] == [y]",
    "[x] < [y]",
    "d == f",
    "d.items() == f.items()",
    "d.keys() == f.keys() and x == y",
    "l == m",
    "t == u",
    "l < m",
    "x in y",
    "'zz' in x",
    "x in [y, 1]",
    "2 in l",
    "2 in t",
    "x ~ y",
    "x + y",
    "x * 2",
    "l + m",
    "x[::2]",
    "e[5:]",
    "l[::-1]",
    "e[n]",
    "{x: 1}",
    "{x: 1}[y]",
    "{'a': 1}[x]",
    "{t: 1}",
    "{'a': 1}[t]",
    "{(t, t): 1}",
    "x is eq y",
    "x is lt y",
    "x is in [y]",
    "'z' is in x",
    "x is upper",
    "w is lower",
    "'%s %s' % (x, y)",
    "'%-9s' % x",
    /* methods of strings */
    "x.upper()",
    "x.lower()",
    "x.title()",
    "x.capitalize()",
    "x.swapcase()",
    "x.casefold()",
    "e.upper()",
    "e.lower()",
    "e.title()",
    "e.capitalize()",
    "b.strip()",
    "b.lstrip()",
    "b.rstrip()",
    "w.strip('x')",
    "'q'.strip(x)",
    "x.strip(y)",
    "x.startswith(y)",
    "x.endswith(y)",
    "x.startswith((y, y))",
    "x.removeprefix(y)",
    "x.removesuffix(y)",
    "x.find('q')",
    "x.rfind('q')",
    "x.find(y)",
    "x.rfind(y)",
    "x.index(y)",
    "x.rindex(y)",
    "x.count('q')",
    "x.count('x')",
    "x.replace('x', 'y')",
    "x.replace('q', 'r')",
    "x.split()",
    "x.split('q')",
    "x.split('y')",
    "x.rsplit()",
    "x.rsplit('q')",
    "w.split()",
    "w.rsplit()",
    "x.split(none, 1)",
    "x.rsplit(none, 1)",
    "x.splitlines()",
    "x.partition('q')",
    "x.rpartition('q')",
    "x.partition(y)",
    "','.join(x)",
    "','.join([x, y])",
    "x.join(['a', 'b'])",
    "x.format()",
    "'{}{}'.format(x, y)",
    "'{:>9}'.format(x)",
    "x.encode('utf-8').decode()",
    "x.translate({120: 'z'})",
    "x.expandtabs()",
    "x.center(n * 4)",
    "x.ljust(n * 4)",
    "x.rjust(n * 4)",
    "x.zfill(n * 4)",
    "w.isalnum()",
    "w.isalpha()",
    "e.isascii()",
    "w.isascii()",
    "z.isdecimal()",
    "z.isdigit()",
    "w.isidentifier()",
    "w.islower()",
    "z.isnumeric()",
    "x.isprintable()",
    "b.isspace()",
    "v.istitle()",
    "w.isupper()",
    /* methods of lists, tuples, dicts */
    "l.count(2)",
    "t.count(2)",
    "[x].count(y)",
    "l.index(2)",
    "l.copy()",
    "d.get(x)",
    "{}.fromkeys(x)",
    "t.index(2)",
    /* filters */
    "b|trim",
    "x|tojson",
    "l|tojson",
    "x|upper",
    "x|lower",
    "l|string",
    "x|replace('x', 'y')",
    "z|int",
    "z|float",
    "w|int",
    "w|float",
    "z|int(0, 16)",
    "x|capitalize",
    "x|center(n * 4)",
    "x|e",
    "x|forceescape",
    "'%s'|format(x)",
    "x|indent",
    "x|striptags",
    "x|title",
    "x|truncate(n, true)",
    "x|urlencode",
    "x|urlize",
    "x|wordcount",
    "x|wordwrap",
    "{'a': x}|xmlattr",
    "l|join",
    "x|list",
    "l|map('string')|list",
    "l|select|list",
    "l|selectattr('a')|list",
    "l|reject|list",
    "l|rejectattr('a')|list",
    "x|last",
    "e|last",
    "l|batch(2)|list",
    "l|groupby('real')",
    "l|max",
    "l|min",
    "l|pprint",
    "x|pprint",
    "x|reverse",
    "l|reverse|list",
    "l|slice(2)|list",
    "l|sort",
    "[x, y]|sort",
    "{x: 1}|dictsort",
    "l|sum",
    "l|unique|list",
    "[x, y]|unique|list",
    "t|list",
    "z|filesizeformat",
    /* globals */
    "range(n)|list",
    "dict([(x, 1)])",
    "dict(l|batch(2))",
    "cycler(*l).next()",
};

static void test_steps__grow_with_the_input(void **state)
{
    (void)state;
    enum { N = 4000 };
    int bad = 0;
    uint64_t base = steps_of("1", 2 * N) - steps_of("1", N);
    for (size_t i = 0; i < sizeof linear / sizeof linear[0]; i++) {
        uint64_t one = steps_of(linear[i], N);
        uint64_t two = steps_of(linear[i], 2 * N);
        if (two - one < base + N / 64) {
            bad++;
            printf("%s: %d more items cost only %lld steps\n", linear[i], N,
                   (long long)(two - one - base));
        }
    }
    assert_int_equal(bad, 0);
}

/* Schoolbook arithmetic: twice the digits cost four times the steps. */
static void test_steps__of_big_integers(void **state)
{
    (void)state;
    static const char *const quadratic[] = {"('9' * n)|int",           "('6' * n)|int(0, 7)",
                                            "(10 ** n)|string",        "10 ** n * 7 ** n",
                                            "10 ** (2 * n) // 7 ** n", "10 ** (2 * n) % 7 ** n",
                                            "'%d' % 10 ** n",          "'{:d}'.format(10 ** n)"};
    for (size_t i = 0; i < sizeof quadratic / sizeof quadratic[0]; i++) {
        uint64_t none = steps_of("1", 1000);
        uint64_t one = steps_of(quadratic[i], 1000) - none;
        uint64_t two = steps_of(quadratic[i], 2000) - steps_of("1", 2000);
        if (two < one * 3) {
            fail_msg("%s: %llu steps, then %llu", quadratic[i], (unsigned long long)one,
                     (unsigned long long)two);
        }
    }
}

/* A hundred thousand rounds over a megabyte, and values that share their
 * parts so that they have 2^60 leaves: the limit of steps or memory ends each,
 * inside one operation where it must. */
static void test_limits__end_every_bomb(void **state)
{
    (void)state;
    static const char xs[] = "{% set x = 'x' * 1000000 %}"
                             "{% set y = 'x' * 1000000 %}"
                             "{% set t = (1,) * 1000000 %}"
                             "{% set d = {'a': x} %}{% set e = {'a': y} %}"
                             "{% set s = '9' * 19000 %}";
    static const char *const rounds[] = {
        "{% if x == y %}{% endif %}",
        "{% if x < y %}{% endif %}",
        "{% if d == e %}{% endif %}",
        "{% if d.items() == e.items() %}{% endif %}",
        "{% if {'a': 1}[x] %}{% endif %}",
        "{% if {'a': 1}[t] %}{% endif %}",
        "{% if {x: 1}[y] %}{% endif %}",
        "{% if x.startswith(y) %}{% endif %}",
        "{% if x.endswith(y) %}{% endif %}",
        "{% if x in [y, 1] %}{% endif %}",
        "{% if 'y' in x %}{% endif %}",
        "{% if x.partition('y') %}{% endif %}",
        "{% if [x, y].count(y) %}{% endif %}",
        "{% if s|int %}{% endif %}",
        "{% if loop.changed(x if loop.index is odd else y) %}{% endif %}",
    };
    static const char nest[] = "{% set ns = namespace(a=(1, 2), b=(1, 2)) %}"
                               "{% for i in range(60) %}{% set ns.a = (ns.a, ns.a) %}"
                               "{% set ns.b = (ns.b, ns.b) %}{% endfor %}";
    static const char *const shared[] = {
        "{% set q = {ns.a: 1} %}",
        "{% set q = {'a': 1}[ns.a] %}",
        "{% set q = ns.a == ns.b %}",
        "{% set q = ns.a < ns.b %}",
        "{% set q = ns.a in [ns.b] %}",
        "{% set q = ns.a|pprint %}",
        "{% set q = ns.a|tojson %}",
        "{% set q = ns.a|string %}",
        "{% set q = '%s' % [ns.a] %}",
        "{% set q = [ns.a, ns.b]|unique|list %}",
        "{% set q = [ns.a, ns.b]|max %}",
        "{{ ns.a }}",
        "{% set q = loop_less is sameas ns.a %}{{ [ns.a, ns.b]|sort }}",
    };
    char source[2000];
    for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
        snprintf(source, sizeof source, "%s{%% for i in range(100000) %%}%s{%% endfor %%}", xs,
                 rounds[i]);
        outcome o = render(source, NULL);
        if (o.st != CF_ELIMIT || strstr(o.err.text, "steps") == NULL) {
            fail_msg("%s: %s", rounds[i], o.err.text);
        }
    }
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++) {
        snprintf(source, sizeof source, "%s%s", nest, shared[i]);
        outcome o = render(source, NULL);
        if (o.st != CF_ELIMIT) {
            fail_msg("%s: %s", shared[i], o.err.text);
        }
    }
}

/* Memory is what was counted, and one block of the arena more. */
static void test_memory__is_bounded_by_its_limit(void **state)
{
    (void)state;
    static const char *const hungry[] = {
        "{% for i in range(99999) %}{% set x = 'x' * 9999 %}{% endfor %}",
        "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}"
        "{% set ns.l = ns.l + [i] %}{% endfor %}",
        "{% for i in range(9999) %}{% set x = range(999)|list %}{% endfor %}",
        "{% set ns = namespace(x='ab') %}{% for i in range(40) %}"
        "{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "{% set x = '<&>' * 9999 %}{% for i in range(9999) %}"
        "{% set y = x|e %}{% endfor %}",
        "{% for i in range(99999) %}{% set y = (10 ** 999)|string %}"
        "{% endfor %}",
        "{% for i in range(9999) %}{% set y = range(300)|map('string')|list "
        "%}{% endfor %}",
    };
    static const size_t limits[] = {1 << 20, 4 << 20, 16 << 20};
    for (size_t i = 0; i < sizeof hungry / sizeof hungry[0]; i++) {
        for (size_t k = 0; k < sizeof limits / sizeof limits[0]; k++) {
            const cf_render_options options = {.limits = {.max_memory_bytes = limits[k]}};
            outcome o = render(hungry[i], &options);
            assert_int_equal(o.st, CF_ELIMIT);
            assert_true(o.memory <= limits[k] + (2 << 20));
        }
    }
}

static void test_cancel__ends_a_render(void **state)
{
    (void)state;
    cf_cancel cancel = true;
    const cf_render_options options = {.limits = {.max_steps = UINT64_MAX / 2}, .cancel = &cancel};
    outcome o = render("{% for i in range(99999) %}{% for j in range(99999) %}"
                       "{% endfor %}{% endfor %}",
                       &options);
    assert_int_equal(o.st, CF_ECANCELLED);
    assert_true(o.steps < 1 << 20);
    o = render("{% set ns = namespace(a=(1, 2)) %}{% for i in range(60) %}"
               "{% set ns.a = (ns.a, ns.a) %}{% endfor %}{{ {ns.a: 1} }}",
               &options);
    assert_int_equal(o.st, CF_ECANCELLED);
    assert_true(o.steps < 1 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps__grow_with_the_input),
        cmocka_unit_test(test_steps__of_big_integers),
        cmocka_unit_test(test_limits__end_every_bomb),
        cmocka_unit_test(test_memory__is_bounded_by_its_limit),
        cmocka_unit_test(test_cancel__ends_a_render),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
