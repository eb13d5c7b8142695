/*
 * test_demo_fault.c - memory that runs out in any demonstration tool.
 */
#include "tests/support/t.h"
#include "tests/support/fault.h"
#include "tui/demo/demo.h"

static const struct {
    const char *name, *arguments;
} calls[] = {
    {"get_weather", "{\"location\":\"Oslo\",\"unit\":\"celsius\"}"},
    {"get_weather", "{\"location\":\"Atlantis\"}"},
    {"get_time", "{\"timezone\":\"Europe/Paris\"}"},
    {"get_time", "{\"timezone\":\"Atlantis\"}"},
    {"calculate", "{\"expression\":\"1/3+2^0.5\"}"},
    {"calculate", "{\"expression\":\"1/\"}"},
    {"set_timer", "{\"minutes\":3,\"label\":\"tea\"}"},
    {"convert_currency", "{\"amount\":1.5,\"from\":\"EUR\",\"to\":\"USD\"}"},
    {"search_notes", "{\"query\":\"garage code\"}"},
    {"send_message", "{\"to\":\"Anna\",\"text\":\"hello\"}"},
    {"get_stock_price", "{\"symbol\":\"AAPL\"}"},
};

typedef struct one_call {
    size_t i;
    json_t *args;
} one_call;

static cf_status run(void *ud)
{
    const one_call *c = ud;
    cf_demo *demo;
    json_t *result;
    CF_TRY(cf_demo_new(&demo, NULL, true, NULL));
    cf_status st =
        cf_demo_run(demo, (cf_uuid){{0}}, cf_str_from(calls[c->i].name), c->args, &result, NULL);
    if (st == CF_OK) {
        assert_true(json_is_object(result));
        json_decref(result);
    }
    cf_demo_free(demo);
    return st;
}

static void test_demo__out_of_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        one_call c = {.i = i};
        cf_error err;
        T_OK(cf_json_read(&c.args, calls[i].arguments, strlen(calls[i].arguments), &err), err);
        cf_fault_every_alloc(run, &c, false);
        cf_fault_every_alloc(run, &c, true);
        json_decref(c.args);
    }
}

static cf_status declare(void *ud)
{
    (void)ud;
    json_t *v = cf_demo_declarations();
    json_decref(v);
    return v != NULL ? CF_OK : CF_ENOMEM;
}

static void test_demo__declarations_out_of_memory(void **state)
{
    (void)state;
    cf_fault_every_alloc(declare, NULL, false);
    cf_fault_every_alloc(declare, NULL, true);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_demo__out_of_memory),
        cmocka_unit_test(test_demo__declarations_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
