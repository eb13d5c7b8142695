/*
 * test_path_key.c - equal beginnings of conversations have equal keys, however
 * a client has changed the messages in passing.
 */
#include "tests/support/t.h"
#include "tui/serve/record/path_key.h"

static void key_of(cf_path_key *key, const char *messages)
{
    json_t *v = NULL;
    cf_error err;
    T_OK(cf_json_read(&v, messages, strlen(messages), &err), err);
    cf_path_key_init(key, "");
    for (size_t i = 0; i < json_array_size(v); i++) {
        T_OK(cf_path_key_add(key, json_array_get(v, i), &err), err);
    }
    json_decref(v);
}

static void test_path_key__what_clients_change(void **state)
{
    (void)state;
    cf_path_key a, b;
    key_of(&a, "[{\"role\":\"assistant\",\"content\":\"hi\",\"tool_calls\":[{"
               "\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":"
               "\"f\",\"arguments\":\"{\\\"a\\\":1,\\\"b\\\":2}\"}}],"
               "\"refusal\":null,\"reasoning_content\":\"hm\"}]");
    key_of(&b, "[{\"role\":\"assistant\",\"content\":[{\"type\":\"text\","
               "\"text\":\"hi \",\"cache_control\":{}}],\"tool_calls\":[{"
               "\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"b\\\": 2, "
               "\\\"a\\\": 1}\"}}]}]");
    assert_string_equal(a.all, b.all);
    key_of(&b, "[{\"role\":\"assistant\",\"content\":\"ho\"}]");
    assert_string_not_equal(a.all, b.all);
}

static void test_path_key__system_messages_apart(void **state)
{
    (void)state;
    cf_path_key a, b;
    key_of(&a, "[{\"role\":\"system\",\"content\":\"x\"},{\"role\":\"user\","
               "\"content\":\"hi\"}]");
    key_of(&b, "[{\"role\":\"developer\",\"content\":\"y\"},{\"role\":"
               "\"user\",\"content\":\"hi\"}]");
    assert_string_equal(a.talk, b.talk);
    assert_string_not_equal(a.all, b.all);
    assert_int_equal(a.n_talk, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path_key__what_clients_change),
        cmocka_unit_test(test_path_key__system_messages_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
