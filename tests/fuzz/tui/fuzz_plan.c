/*
 * fuzz_plan.c - any bytes as the plan of a sweep, or as a file of prompt
 * tests: read or refused with a line that says why.
 *
 * Byte 0: even for a plan, odd for tests.  A plan finds "p.jsonl" beside it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fuzz_file.h"
#include "tui/study/ask/prompt_test.h"
#include "tui/study/import/plan_load.h"
#include "tui/study/sweep/sweep.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char prompts[] =
    "{\"prompt\":\"hello\"}\n{\"name\":\"b\",\"system\":\"s\",\"prompt\":\"x\","
    "\"want\":\"y\"}\n";

static void need(bool ok)
{
    if (!ok) {
        abort();
    }
}

/* A status that is not OK comes with a text of one line. */
static void check_error(cf_status st, const cf_error *err)
{
    need(st == CF_OK || (err->text[0] != '\0' && strchr(err->text, '\n') == NULL));
}

static void try_plan(const char *path)
{
    cf_sweep_plan plan;
    cf_sweep sweep;
    cf_error err = {0};
    const cf_sweep_saved saved = {NULL, NULL, 0};
    const cf_sweep_options options = {.store = NULL};
    cf_status st = cf_plan_load(&plan, path, &saved, &err);
    check_error(st, &err);
    if (st != CF_OK) {
        return;
    }
    need(plan.n_item > 0 && plan.n_sampler > 0);
    st = cf_sweep_init(&sweep, &plan, &options, &err);
    check_error(st, &err);
    if (st == CF_OK) {
        for (size_t i = 0; i < sweep.n && i < 50; i++) {
            need(sweep.cell[i].item < plan.n_item);
            json_decref(cf_sweep_messages(&sweep, &sweep.cell[i]));
        }
        cf_sweep_deinit(&sweep);
    }
    cf_sweep_plan_deinit(&plan);
}

static void try_tests(const char *path)
{
    cf_prompt_tests tests;
    cf_error err = {0};
    cf_status st = cf_prompt_tests_read(&tests, path, &err);
    check_error(st, &err);
    need(st != CF_OK || tests.n > 0);
    for (size_t i = 0; st == CF_OK && i < tests.n; i++) {
        for (size_t k = 0; k < tests.v[i].n; k++) {
            const cf_prompt_check *c = &tests.v[i].check[k];
            need(c->block <= c->block_end && c->block_end <= tests.source.n);
        }
    }
    cf_prompt_tests_deinit(&tests);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 20000) {
        return 0;
    }
    /* Other files of the machine are none of the search's business. */
    if (memchr(data, '/', size) != NULL) {
        return 0;
    }
    if (data[0] % 2 == 0) {
        (void)cf_fuzz_file("p.jsonl", prompts, sizeof prompts - 1);
        try_plan(cf_fuzz_file("plan", data + 1, size - 1));
    } else {
        try_tests(cf_fuzz_file("tests", data + 1, size - 1));
    }
    return 0;
}
