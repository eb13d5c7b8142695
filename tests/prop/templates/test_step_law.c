/*
 * test_step_law.c - what a template does is counted: an operation on twice as
 * many bytes or items takes more steps in proportion, so that the limit of
 * steps, and the cancel flag that is looked at with it, end every template.
 *
 * Nothing here measures time.  The law is about n_steps and about memory.
 */
#include "tests/support/t.h"
#include "core/base/alloc.h"
#include "templates/template.h"

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
    T_OK(cf_template_compile(&tpl, cf_str_from(source), NULL, NULL, NULL,
                             &o.err),
         o.err);
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
static const char made[] =
    "{%% set n = %d %%}"
    "{%% set x = 'xy ' * n %%}{%% set y = 'xy ' * n %%}"
    "{%% set w = 'x' * n %%}{%% set z = '9' * n %%}"
    "{%% set e = '\xC3\xA9 ' * n %%}{%% set b = ' ' * n %%}"
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
    "x == y", "x != y", "x < y", "x <= y", "[x] == [y]", "[x] < [y]", "d == f",
    "d.items() == f.items()", "d.keys() == f.keys() and x == y", "l == m",
    "t == u", "l < m", "x in y", "'zz' in x", "x in [y, 1]", "2 in l", "2 in t",
    "x ~ y", "x + y", "x * 2", "l + m", "x[::2]", "e[5:]", "l[::-1]", "e[n]",
    "{x: 1}", "{x: 1}[y]", "{'a': 1}[x]", "{t: 1}", "{'a': 1}[t]",
    "{(t, t): 1}", "x is eq y", "x is lt y", "x is in [y]", "'z' is in x",
    "x is upper", "w is lower", "x % 1", "'%%s %%s' % (x, y)",
    "'%%-9s' % x",
    /* methods of strings */
    "x.upper()", "x.lower()", "x.title()", "x.capitalize()", "x.swapcase()",
    "x.casefold()", "e.upper()", "e.lower()", "e.title()", "e.capitalize()",
    "b.strip()", "b.lstrip()", "b.rstrip()", "w.strip('x')", "'q'.strip(x)",
    "x.strip(y)", "x.startswith(y)", "x.endswith(y)", "x.startswith((y, y))",
    "x.removeprefix(y)", "x.removesuffix(y)", "x.find('q')", "x.rfind('q')",
    "x.find(y)", "x.rfind(y)", "x.index(y)", "x.rindex(y)", "x.count('q')",
    "x.count('x')", "x.replace('x', 'y')", "x.replace('q', 'r')", "x.split()",
    "x.split('q')", "x.split('y')", "x.rsplit()", "x.rsplit('q')",
    "w.split()", "w.rsplit()", "x.split(none, 1)", "x.rsplit(none, 1)",
    "x.splitlines()", "x.partition('q')", "x.rpartition('q')",
    "x.partition(y)", "','.join(x)", "','.join([x, y])", "x.join(['a', 'b'])",
    "x.format()", "'{}{}'.format(x, y)", "'{:>9}'.format(x)",
    "x.encode('utf-8').decode()", "x.translate({120: 'z'})",
    "x.expandtabs()", "x.center(n * 4)", "x.ljust(n * 4)", "x.rjust(n * 4)",
    "x.zfill(n * 4)", "w.isalnum()", "w.isalpha()", "e.isascii()",
    "w.isascii()", "z.isdecimal()", "z.isdigit()", "w.isidentifier()",
    "w.islower()", "z.isnumeric()", "x.isprintable()", "b.isspace()",
    "x.istitle()", "w.isupper()",
    /* methods of lists, tuples, dicts */
    "l.count(2)", "t.count(2)", "[x].count(y)", "l.index(2)", "l.copy()",
    "d.get(x)", "dict.fromkeys(l)", "t.index(2)",
    /* filters */
    "x|trim", "b|trim", "x|tojson", "l|tojson", "x|upper", "x|lower", "l|string",
    "x|replace('x', 'y')", "z|int", "z|float", "w|int", "w|float",
    "z|int(0, 16)", "x|capitalize", "x|center(n * 4)", "x|e", "x|forceescape",
    "'%%s'|format(x)", "x|indent", "x|striptags", "x|title",
    "x|truncate(n, true)", "x|urlencode", "x|urlize", "x|wordcount",
    "x|wordwrap", "{'a': x}|xmlattr", "l|join", "x|list", "l|map('string')|list",
    "l|select|list", "l|selectattr('a')|list", "l|reject|list",
    "l|rejectattr('a')|list", "x|last", "e|last", "l|batch(2)|list",
    "l|groupby('real')", "l|max", "l|min", "l|pprint", "x|pprint", "x|reverse",
    "l|reverse|list", "l|slice(2)|list", "l|sort", "[x, y]|sort",
    "{x: 1}|dictsort", "l|sum", "l|unique|list", "[x, y]|unique|list", "t|list",
    "x|random", "e|random", "e|length", "z|filesizeformat", "x|string|safe|e",
    /* globals */
    "range(n)|list", "dict([(x, 1)])", "dict(l|batch(2))",
    "cycler(*l).next()", "namespace(d|items)",
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps__grow_with_the_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
