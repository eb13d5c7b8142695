/*
 * test_part_group.c - groups are found by what a reply loses without sets of parts;
 * here a rule says what it loses.
 */
#include "tests/support/t.h"

#include <math.h>

#include "core/base/arena.h"
#include "templates/prompt_part.h"

enum { PARTS = 6 };

/* Bits of parts: without `least` of them the reply is lost, by 9 nats. */
typedef struct rule {
    unsigned causes, least;
    cf_part_group_kind kind;
    unsigned need;
    size_t n_asked;
} rule;

static unsigned n_bits(unsigned set)
{
    unsigned n = 0;
    for (; set != 0; set &= set - 1) {
        n++;
    }
    return n;
}

static double cost_of_set(const rule *r, unsigned set)
{
    return (n_bits(set & r->causes) >= r->least ? 9 : 0) + 0.01 * n_bits(set);
}

static cf_status ask(void *ud, const size_t *row, size_t n, double *cost, cf_error *err)
{
    rule *r = ud;
    unsigned set = 0;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(set >> row[i] & 1, 0); /* none twice */
        set |= 1u << row[i];
    }
    *cost = cost_of_set(r, set);
    r->n_asked++;
    return r->n_asked < 200 ? CF_OK : cf_fail(err, CF_ECANCELLED, "too many");
}

static void check(rule r)
{
    cf_part part[PARTS];
    cf_part_effect effect[PARTS];
    cf_part_group group[CF_PART_GROUPS_MAX];
    cf_error err = {.text = ""};
    size_t n = 0;
    unsigned found = 0;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    for (size_t i = 0; i < PARTS; i++) {
        part[i] = (cf_part){.kind = CF_PART_MESSAGE, .index = i};
        effect[i] = (cf_part_effect){&part[i], true, -cost_of_set(&r, 1u << i)};
    }
    const cf_part_grouping g = {effect, PARTS, ask, &r, &arena};
    T_OK(cf_part_groups_find(group, &n, &g, &err), err);
    assert_int_equal(n, n_bits(r.causes) > 1 ? 1 : 0);
    for (size_t i = 0; n == 1 && i < group[0].n; i++) {
        found |= 1u << group[0].row[i];
    }
    if (n == 1) {
        assert_int_equal(found, r.causes);
        assert_int_equal(group[0].kind, r.kind);
        assert_int_equal(group[0].need, r.need);
        assert_true(fabs(group[0].delta + cost_of_set(&r, r.causes)) < 1e-9);
    }
    cf_arena_deinit(&arena);
}

static void test_groups__by_a_rule(void **state)
{
    (void)state;
    check((rule){.causes = 0x04, .least = 1}); /* a single cause is none */
    check((rule){.causes = 0, .least = 1});
    for (unsigned set = 1; set < 1u << PARTS; set++) {
        if (n_bits(set) == 2) {
            check((rule){set, 1, CF_GROUP_BOTH, 2, 0});
            check((rule){set, 2, CF_GROUP_EITHER, 1, 0});
        } else if (n_bits(set) == 3) {
            check((rule){set, 2, CF_GROUP_SOME, 2, 0});
            check((rule){set, 3, CF_GROUP_EITHER, 1, 0});
        }
    }
}

/* A sentence of a weak message is not asked about again. */
static void test_groups__within_each_other(void **state)
{
    (void)state;
    rule r = {.causes = 0x07, .least = 2}; /* 1 lies in 0 */
    const cf_part part[] = {{.kind = CF_PART_MESSAGE, .index = 0},
                            {.kind = CF_PART_SENTENCE, .message = 0},
                            {.kind = CF_PART_MESSAGE, .index = 1}};
    cf_part_effect effect[3];
    cf_part_group group[CF_PART_GROUPS_MAX];
    cf_error err = {.text = ""};
    size_t n = 0;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    for (size_t i = 0; i < 3; i++) {
        effect[i] = (cf_part_effect){&part[i], true, -0.1};
    }
    const cf_part_grouping g = {effect, 3, ask, &r, &arena};
    T_OK(cf_part_groups_find(group, &n, &g, &err), err);
    assert_int_equal(n, 1);
    assert_int_equal(group[0].n, 2);
    assert_int_equal(group[0].row[0] + group[0].row[1], 2);
    /* What the question fails with is what the groups fail with. */
    r.n_asked = 200;
    T_FAILS(cf_part_groups_find(group, &n, &g, &err), CF_ECANCELLED);
    assert_int_equal(n, 0);
    cf_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups__by_a_rule),
        cmocka_unit_test(test_groups__within_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
