/*
 * tests_builtin.c - the tests that follow "is".
 */
#include "templates/language/ast.h"
#include "templates/language/call.h"
#include "templates/language/number.h"
#include "templates/language/state.h"

#define ONE(what)                                    \
    cf_tv a[1];                                      \
    if (!cf_t__bind(r, what, "value", 1, args, a)) { \
        return CF_TV_ERR;                            \
    }

static cf_tv is_kind(cf_tr *r, const cf_targs *args, const char *what, unsigned mask)
{
    ONE(what)
    return cf_tv_bool((mask >> a[0].k & 1) != 0);
}

#define KIND_TEST(name, mask)                             \
    static cf_tv t_##name(cf_tr *r, const cf_targs *args) \
    {                                                     \
        return is_kind(r, args, #name, mask);             \
    }
#define M(k) (1u << (k))
KIND_TEST(defined, ~M(CF_TUNDEF))
KIND_TEST(undefined, M(CF_TUNDEF))
KIND_TEST(none, M(CF_TNONE))
KIND_TEST(boolean, M(CF_TBOOL))
KIND_TEST(integer, M(CF_TINT) | M(CF_TBIG))
KIND_TEST(float, M(CF_TFLOAT))
KIND_TEST(string, M(CF_TSTR))
KIND_TEST(mapping, M(CF_TDICT))
KIND_TEST(number, M(CF_TBOOL) | M(CF_TINT) | M(CF_TBIG) | M(CF_TFLOAT))
KIND_TEST(callable,
          M(CF_TFUNC) | M(CF_TMETHOD) | M(CF_TMACRO) | M(CF_TLOOP) | M(CF_TJOINER) | M(CF_TUNDEF))
KIND_TEST(sequence, M(CF_TSTR) | M(CF_TBYTES) | M(CF_TLIST) | M(CF_TTUPLE) | M(CF_TDICT) |
                        M(CF_TRANGE) | M(CF_TUNDEF))

static cf_tv t_true(cf_tr *r, const cf_targs *args)
{
    ONE("true")
    return cf_tv_bool(a[0].k == CF_TBOOL && a[0].u.b);
}

static cf_tv t_false(cf_tr *r, const cf_targs *args)
{
    ONE("false")
    return cf_tv_bool(a[0].k == CF_TBOOL && !a[0].u.b);
}

static cf_tv t_iterable(cf_tr *r, const cf_targs *args)
{
    ONE("iterable")
    return cf_tv_bool(cf_t__can_iterate(a[0]));
}

static cf_tv t_escaped(cf_tr *r, const cf_targs *args)
{
    ONE("escaped")
    return cf_tv_bool(a[0].k == CF_TSTR && a[0].u.s->is_markup);
}

/* value % by == want, by Python's operators. */
static cf_tv remainder_is(cf_tr *r, cf_tv value, cf_tv by, int64_t want)
{
    cf_tv rest = cf_t__binary(r, CF_OP_MOD, value, by);
    CF_TVTRY(rest);
    int e = cf_t__eq(r, rest, cf_tv_int(want));
    return e < 0 ? CF_TV_ERR : cf_tv_bool(e);
}

static cf_tv t_odd(cf_tr *r, const cf_targs *args)
{
    ONE("odd")
    return remainder_is(r, a[0], cf_tv_int(2), 1);
}

static cf_tv t_even(cf_tr *r, const cf_targs *args)
{
    ONE("even")
    return remainder_is(r, a[0], cf_tv_int(2), 0);
}

static cf_tv t_divisibleby(cf_tr *r, const cf_targs *args)
{
    cf_tv a[2];
    return cf_t__bind(r, "divisibleby", "value num", 2, args, a) ? remainder_is(r, a[0], a[1], 0)
                                                                 : CF_TV_ERR;
}

static cf_tv is_case(cf_tr *r, const cf_targs *args, bool upper)
{
    ONE(upper ? "upper" : "lower")
    cf_tv s = cf_t__to_str(r, a[0]);
    CF_TVTRY(s);
    cf_tv name = cf_t__str_cstr(r, upper ? "isupper" : "islower");
    CF_TVTRY(name);
    cf_tv fn = cf_t__attribute(r, s, name.u.s);
    CF_TVTRY(fn);
    return cf_t__call(r, fn, &(cf_targs){NULL, 0, NULL, 0});
}

static cf_tv t_upper(cf_tr *r, const cf_targs *args)
{
    return is_case(r, args, true);
}

static cf_tv t_lower(cf_tr *r, const cf_targs *args)
{
    return is_case(r, args, false);
}

/* Python's "is": the same object.  Small values are one object each. */
static cf_tv t_sameas(cf_tr *r, const cf_targs *args)
{
    cf_tv a[2];
    if (!cf_t__bind(r, "sameas", "value other", 2, args, a)) {
        return CF_TV_ERR;
    }
    if (a[0].k != a[1].k) {
        return cf_tv_bool(false);
    }
    switch (a[0].k) {
    case CF_TNONE:
        return cf_tv_bool(true);
    case CF_TBOOL:
        return cf_tv_bool(a[0].u.b == a[1].u.b);
    case CF_TINT:
        return cf_tv_bool(a[0].u.i == a[1].u.i);
    case CF_TFLOAT:
        return cf_tv_bool(false);
    case CF_TSTR:
        return cf_tv_bool(a[0].u.s == a[1].u.s || cf_str_eq(cf_tv_text(a[0]), cf_tv_text(a[1])));
    default:
        return cf_tv_bool(a[0].u.p == a[1].u.p);
    }
}

static cf_tv t_in(cf_tr *r, const cf_targs *args)
{
    cf_tv a[2];
    if (!cf_t__bind(r, "in", "value seq", 2, args, a)) {
        return CF_TV_ERR;
    }
    int has = cf_t__contains(r, a[1], a[0]);
    return has < 0 ? CF_TV_ERR : cf_tv_bool(has);
}

static cf_tv compare(cf_tr *r, const cf_targs *args, const char *op)
{
    cf_tv a[2];
    if (!cf_t__bind(r, op, "a b", 2, args, a)) {
        return CF_TV_ERR;
    }
    if (op[1] == '=' && (op[0] == '=' || op[0] == '!')) {
        int e = cf_t__eq(r, a[0], a[1]);
        return e < 0 ? CF_TV_ERR : cf_tv_bool((op[0] == '=') == (e != 0));
    }
    int c;
    if (!cf_t__compare(r, a[0], a[1], op, &c)) {
        return CF_TV_ERR;
    }
    bool or_equal = op[1] == '=';
    return cf_tv_bool((c == 0 && or_equal) || c == (op[0] == '<' ? -1 : 1));
}

#define COMPARE_TEST(name, op)                            \
    static cf_tv t_##name(cf_tr *r, const cf_targs *args) \
    {                                                     \
        return compare(r, args, op);                      \
    }
COMPARE_TEST(eq, "==")
COMPARE_TEST(ne, "!=")
COMPARE_TEST(lt, "<")
COMPARE_TEST(le, "<=")
COMPARE_TEST(gt, ">")
COMPARE_TEST(ge, ">=")

static cf_tv t_filter(cf_tr *r, const cf_targs *args)
{
    uint32_t hash;
    ONE("filter")
    if (!cf_t__hash(r, a[0], &hash)) {
        return CF_TV_ERR;
    }
    return cf_tv_bool(a[0].k == CF_TSTR && cf_t__filter_find(cf_tv_text(a[0])) >= 0);
}

static cf_tv t_test(cf_tr *r, const cf_targs *args)
{
    uint32_t hash;
    ONE("test")
    if (!cf_t__hash(r, a[0], &hash)) {
        return CF_TV_ERR;
    }
    return cf_tv_bool(a[0].k == CF_TSTR && cf_t__test_find(cf_tv_text(a[0])) >= 0);
}

static const cf_tfn_entry tests[] = {
    {"defined", t_defined},
    {"string", t_string},
    {"none", t_none},
    {"mapping", t_mapping},
    {"iterable", t_iterable},
    {"sequence", t_sequence},
    {"undefined", t_undefined},
    {"true", t_true},
    {"false", t_false},
    {"boolean", t_boolean},
    {"integer", t_integer},
    {"float", t_float},
    {"number", t_number},
    {"callable", t_callable},
    {"odd", t_odd},
    {"even", t_even},
    {"divisibleby", t_divisibleby},
    {"upper", t_upper},
    {"lower", t_lower},
    {"sameas", t_sameas},
    {"escaped", t_escaped},
    {"in", t_in},
    {"==", t_eq},
    {"eq", t_eq},
    {"equalto", t_eq},
    {"!=", t_ne},
    {"ne", t_ne},
    {">", t_gt},
    {"gt", t_gt},
    {"greaterthan", t_gt},
    {"ge", t_ge},
    {">=", t_ge},
    {"<", t_lt},
    {"lt", t_lt},
    {"lessthan", t_lt},
    {"<=", t_le},
    {"le", t_le},
    {"filter", t_filter},
    {"test", t_test},
    {NULL, NULL},
};

int cf_t__test_find(cf_str name)
{
    for (int i = 0; tests[i].name != NULL; i++) {
        if (cf_t__is_called(name, tests[i].name)) {
            return i;
        }
    }
    return -1;
}

cf_tv cf_t__test_call(cf_tr *r, int id, const cf_targs *args)
{
    return tests[id].fn(r, args);
}

cf_tv cf_t__test_by_name(cf_tr *r, cf_tv name, const cf_targs *args)
{
    int id = name.k == CF_TSTR ? cf_t__test_find(cf_tv_text(name)) : -1;
    if (id < 0) {
        return cf_t__fail(r, "No test named '%.*s'.", name.k == CF_TSTR ? (int)name.u.s->n : 1,
                          name.k == CF_TSTR ? name.u.s->p : "?");
    }
    return cf_t__test_call(r, id, args);
}
