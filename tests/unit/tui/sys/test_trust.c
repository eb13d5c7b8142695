/*
 * test_trust.c - which addresses get the key, and which ones files may name.
 */
#include "tui/sys/trust.h"

#include "core/net/origin.h"
#include "tests/support/t.h"

static void test_origin__spellings(void **state)
{
    (void)state;
    assert_true(cf_origin_is_same("http://a/v1", "HTTP://A:80/other?x#y"));
    assert_true(cf_origin_is_same("https://a", "https://user:word@a:443/"));
    assert_true(cf_origin_is_same("http://[::1]:8080/", "http://[::1]:8080/v1"));
    assert_false(cf_origin_is_same("http://a", "https://a"));
    assert_false(cf_origin_is_same("http://a", "http://a:81"));
    assert_false(cf_origin_is_same("http://a", "http://b"));
    assert_false(cf_origin_is_same("http://a", "http://a.b"));
    assert_false(cf_origin_is_same("http://a", "http://a@b/"));
    assert_false(cf_origin_is_same("http://a/", "http://b/http://a/"));
    assert_false(cf_origin_is_same("a", "a"));
    assert_false(cf_origin_is_same("file:///a", "file:///a"));
    assert_false(cf_origin_is_same("", ""));
}

static const char *const named[] = {"script:x", "http://mine:1/v1"};

static void test_trust__the_key(void **state)
{
    (void)state;
    const cf_trust t = {.named = named,
                        .n_named = 2,
                        .confabrc = "https://rc",
                        .environment = "bundled",
                        .allows_files = true,
                        .key = "k"};
    assert_string_equal(cf_trust_key(&t, "http://MINE:1/any"), "k");
    assert_string_equal(cf_trust_key(&t, "https://rc:443"), "k");
    assert_null(cf_trust_key(&t, "http://mine:2"));
    assert_null(cf_trust_key(&t, "https://mine:1"));
    assert_null(cf_trust_key(&t, "http://rc"));
    assert_null(cf_trust_key(&t, "bundled"));
}

static void test_trust__variables(void **state)
{
    (void)state;
    static const char *const more[] = {"C"};
    const cf_trust t = {.variables = "A, BB", .variable = more, .n_variable = 1};
    assert_true(cf_trust_has_variable(&t, "A"));
    assert_true(cf_trust_has_variable(&t, "BB"));
    assert_true(cf_trust_has_variable(&t, "C"));
    assert_false(cf_trust_has_variable(&t, "B"));
    assert_false(cf_trust_has_variable(&t, ""));
    assert_false(cf_trust_has_variable(&(cf_trust){.key = NULL}, "A"));
}

typedef struct asked {
    unsigned n;
    bool answer;
} asked;

static bool ask(void *ud, const char *file, const char *address)
{
    asked *a = ud;
    assert_string_equal(file, "plan");
    assert_non_null(strstr(address, "://"));
    a->n++;
    return a->answer;
}

static void test_trust__asks_once_for_each_origin(void **state)
{
    (void)state;
    cf_error err;
    asked a = {.answer = true};
    cf_trust t = {.named = named, .n_named = 2, .ask = ask, .ud = &a};
    T_OK(cf_trust_check(&t, "plan", "script:x", &err), err);
    T_OK(cf_trust_check(&t, "plan", "http://mine:1", &err), err);
    assert_int_equal(a.n, 0);
    T_OK(cf_trust_check(&t, "plan", "http://x/1", &err), err);
    T_OK(cf_trust_check(&t, "plan", "http://x:80/2", &err), err);
    assert_int_equal(a.n, 1);
    T_OK(cf_trust_check(&t, "plan", "https://x/2", &err), err);
    assert_int_equal(a.n, 2);
    a.answer = false;
    T_FAILS(cf_trust_check(&t, "plan", "http://y", &err), CF_EINVAL);
    T_FAILS(cf_trust_check(&t, "plan", "HTTP://y", &err), CF_EINVAL);
    assert_int_equal(a.n, 4);
    cf_trust_deinit(&t);
}

static void test_trust__nobody_to_ask(void **state)
{
    (void)state;
    cf_error err;
    cf_trust t = {.named = named, .n_named = 2};
    T_FAILS(cf_trust_check(&t, "plan", "http://x/1", &err), CF_EINVAL);
    assert_non_null(strstr(err.text, "http://x/1"));
    assert_non_null(strstr(err.text, "--trust-addresses"));
    T_FAILS(cf_trust_check(&t, "plan", "http://[/", &err), CF_EINVAL);
    T_FAILS(cf_trust_check(&t, "plan", "llama:x.gguf", &err), CF_EINVAL);
    t.allows_files = true;
    T_OK(cf_trust_check(&t, "plan", "llama:x.gguf", &err), err);
    T_OK(cf_trust_check(&t, "plan", "http://x/1", &err), err);
    cf_trust_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_origin__spellings),
        cmocka_unit_test(test_trust__the_key),
        cmocka_unit_test(test_trust__variables),
        cmocka_unit_test(test_trust__asks_once_for_each_origin),
        cmocka_unit_test(test_trust__nobody_to_ask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
