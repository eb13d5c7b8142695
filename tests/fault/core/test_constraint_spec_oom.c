/* Every allocation on the way from words to a grammar fails once: no crash,
 * no leak, and the error says so. */
#include "tests/support/t.h"

#include "core/api/constraint_spec.h"
#include "tests/support/fault.h"

static cf_status compile(void *ud)
{
    json_t *spec = NULL;
    cf_grammar *g = NULL;
    cf_buf label = CF_BUF_INIT;
    cf_error err;
    cf_status st = cf_constraint_spec_parse(&spec, ud, CF_TOOLS_HERMES, &err);
    CF_THEN(st, cf_constraint_spec_compile(&g, spec, NULL, &err));
    if (st == CF_OK) {
        cf_constraint_spec_label(spec, &label);
        st = cf_buf_check(&label, &err);
    }
    cf_buf_deinit(&label);
    cf_grammar_free(g);
    json_decref(spec);
    return st;
}

static void test_spec__every_alloc(void **state)
{
    (void)state;
    char choice[] = "choice yes|no", regex[] = "regex [a-c]+x?", json[] = "json";
    char *words[] = {choice, regex, json};
    for (size_t i = 0; i < 3; i++) {
        cf_fault_every_alloc(compile, words[i], false);
        cf_fault_every_alloc(compile, words[i], true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spec__every_alloc),
    };
    cf_fault_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
