/*
 * test_json_fault.c - reading JSON with every allocation failing: an error,
 * and no abort where jansson takes back the end of a long number.
 */
#include "tests/support/t.h"

#include "core/base/alloc.h"
#include "core/json/json.h"
#include "tests/support/fault.h"

static const char *const texts[] = {
    "{\"temperature\":0.800000011920929,\"top_p\":0.949999988079071}",
    "[-1234567890123456789012345678901234567890.5e-10,1,true]",
    "{\"a key of more than sixteen bytes\":\"a text of more than thirty-two "
    "bytes, \\u00e9\\ud83d\\ude00\",\"b\":[null,12345678901234567]}",
    "\"\\\\\\\"\"",
    "1234567890123456",
};

static cf_status read_all(void *ud)
{
    cf_error err;
    json_t *v = NULL;
    const char *text = ud;
    CF_TRY(cf_json_read(&v, text, strlen(text), &err));
    json_decref(v);
    return CF_OK;
}

static void test_json_fault__every_allocation(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[200];
        snprintf(text, sizeof text, "%s", texts[i]);
        cf_fault_every_alloc(read_all, text, false);
        cf_fault_every_alloc(read_all, text, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_fault__every_allocation),
    };
    cf_fault_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
