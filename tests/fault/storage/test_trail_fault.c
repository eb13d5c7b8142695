/*
 * test_trail_fault.c - every session read with the n-th allocation failing:
 * the answer is whole, or it is CF_ENOMEM.
 */
#include "tests/support/t.h"
#include "storage/trail.h"
#include "tests/support/fault.h"
#include "tests/support/store_dir.h"
#include "tests/support/trail_case.h"

typedef struct job {
    const trail_case *c;
    const char *path;
} job;

static cf_status read_all(void *ud)
{
    const job *j = ud;
    cf_trails trails;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    cf_status st = cf_trails_read(&trails, j->path, NULL, &err);
    for (size_t i = 0; st == CF_OK && i < trails.n; i++) {
        cf_trail_findings found = {.n = 0};
        cf_trail_steps steps = {0};
        st = cf_trail_find(&found, trails.v[i], &err);
        CF_THEN(st, cf_trail_steps_make(&steps, trails.v[i], &found, NULL, &err));
        if (st == CF_OK) {
            cf_trail_write(&out, trails.v[i], &found);
            st = cf_buf_check(&out, &err);
        }
        cf_trail_steps_deinit(&steps);
        cf_trail_findings_deinit(&found);
    }
    if (st == CF_OK && strcmp(cf_buf_cstr(&out), j->c->events) != 0) {
        size_t n = 0;
        while (n < out.n && out.p[n] == j->c->events[n]) {
            n++;
        }
        fail_msg("%s: at %zu: %.200s", j->c->format, n, out.p + n);
    }
    cf_buf_deinit(&out);
    cf_trails_deinit(&trails);
    return st;
}

static void test_trail__every_allocation(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_trail_cases; i++) {
        job j = {&trail_cases[i], store_dir_put_text(trail_cases[i].file, trail_cases[i].text)};
        cf_fault_every_alloc(read_all, &j, true);
        cf_fault_every_alloc(read_all, &j, false);
    }
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trail__every_allocation),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
