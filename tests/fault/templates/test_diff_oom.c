/* Every allocation of a comparison fails once: no crash, no leak, and the
 * error says so. */
#include "tests/support/t.h"

#include "core/base/arena.h"
#include "templates/template_diff.h"
#include "tests/support/fault.h"

static const char left[] = "<a>one two</a>\nsame\nbye\nx\n";
static const char right[] = "(one two)\nsame\nnew\nbye bye\n";

/* Lines by text, lines by source, and tokens. */
static cf_status compare(void *ud)
{
    cf_prompt_span at_3 = {.off = 3,
                           .len = 7,
                           .source = CF_SPAN_MESSAGE,
                           .is_copy = true,
                           .line = 1,
                           .path = {".content", 8}};
    cf_prompt_span at_1 = at_3;
    cf_token_span ids[] = {{1, 0, 0}, {2, 0, 3}, {3, 3, 7}, {4, 10, 4}};
    cf_token_list a = {ids, 4}, b = {ids, 3};
    cf_arena arena;
    cf_diff d;
    at_1.off = 1;
    cf_prompt p = {.text = cf_str_from(left), .spans = &at_3, .n_spans = 1};
    cf_prompt q = {.text = cf_str_from(right), .spans = &at_1, .n_spans = 1};
    (void)ud;
    cf_arena_init(&arena, 0);
    cf_status st = cf_diff_texts(&d, p.text, q.text, &arena, NULL);
    CF_THEN(st, cf_diff_prompts(&d, &p, &q, &arena, NULL));
    CF_THEN(st, cf_diff_tokens(&d, &p, &a, &q, &b, &arena, NULL));
    cf_arena_deinit(&arena);
    return st;
}

static void test_diff__every_alloc(void **state)
{
    (void)state;
    cf_fault_every_alloc(compare, NULL, false);
    cf_fault_every_alloc(compare, NULL, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diff__every_alloc),
    };
    cf_fault_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
