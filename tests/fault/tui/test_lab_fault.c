/*
 * test_lab_fault.c - memory runs out, at any moment and for good, while a
 * reply is asked for: the send is refused, or it ends.
 *
 * The allocations of the worker's thread count like those of the interface.
 */
#include "tests/support/t.h"
#include "tests/support/fault.h"
#include "tui/lab/lab.h"
#include "tui/lab/talk/lab_send.h"

static const char story[] = "{\"replies\":[{\"text\":\"It rains.\"}]}";

/* Sends while the nth allocation and all after it fail; true when one did. */
static bool send_with(json_t *script, size_t nth)
{
    cf_error err;
    cf_backend *backend;
    cf_lab *lab;
    size_t live = cf_fault_live();
    T_OK(cf_backend_script_new(&backend, script, NULL, &err), err);
    const cf_lab_engine engine = {.backend = backend, .template_name = "plain"};
    T_OK(cf_lab_new(&lab, &engine, NULL, &err), err);
    cf_fault_arm(nth, true);
    cf_status st = cf_lab_send(lab, cf_str_from("How is it?"), (cf_uuid){{0}}, &err);
    cf_error why;
    cf_lab_settle(lab, &why);
    bool has_failed = cf_fault_disarm();
    assert_false(cf_lab_is_busy(lab));
    assert_true(st == CF_OK || has_failed);
    assert_true(why.code == CF_OK || has_failed);
    /* The rest goes on. */
    T_OK(cf_lab_send(lab, cf_str_from("And now?"), (cf_uuid){{0}}, &err), err);
    cf_lab_settle(lab, &err);
    assert_int_equal(err.code, CF_OK);
    cf_lab_free(lab);
    cf_backend_free(backend);
    assert_int_equal(cf_fault_live(), live);
    return has_failed;
}

static void test_lab__a_send_always_ends(void **state)
{
    (void)state;
    cf_error err;
    json_t *script;
    T_OK(cf_json_read(&script, story, sizeof story - 1, &err), err);
    size_t n = 1;
    while (send_with(script, n)) {
        n++;
    }
    assert_true(n > 10);
    json_decref(script);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lab__a_send_always_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
