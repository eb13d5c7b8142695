/*
 * plan_file.c - a plan is read from a file; its name decides the format.
 */
#include "tests/support/plan_file.h"

#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/study/import/plan_load.h"

void cf_plan_read(cf_sweep_plan *plan, const char *name, const char *text)
{
    cf_error err;
    const cf_sweep_saved none = {.store = NULL};
    T_OK(cf_plan_load(plan, store_dir_put_text(name, text), &none, &err), err);
}

void cf_plan_refused(const char *name, const char *text, const char *want)
{
    cf_error err;
    cf_sweep_plan plan;
    const cf_sweep_saved none = {.store = NULL};
    const char *path = store_dir_put_text(name, text);
    cf_status st = cf_plan_load(&plan, path, &none, &err);
    assert_int_not_equal(st, CF_OK);
    if (strstr(err.text, want) == NULL) {
        fail_msg("'%s' has no '%s'", err.text, want);
    }
}
