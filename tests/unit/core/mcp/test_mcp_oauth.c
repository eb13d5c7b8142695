/*
 * test_mcp_oauth.c - challenges of refused requests, addresses that a server
 * may name, forms.
 */
#include "core/mcp/mcp_oauth.h"
#include "tests/support/t.h"

static void check_challenge(const char *header, const char *want)
{
    json_t *v = NULL;
    cf_buf out = CF_BUF_INIT;
    cf_mcp__challenge_add(&v, cf_str_from(header));
    cf_json_write(&out, v);
    assert_string_equal(cf_buf_cstr(&out), want);
    cf_buf_deinit(&out);
    json_decref(v);
}

/* RFC 9110, section 11.6.1. */
static void test_mcp_oauth__challenges(void **state)
{
    (void)state;
    check_challenge("Bearer", "{}");
    check_challenge("Bearer scope=\"a b\", error=insufficient_scope",
                    "{\"scope\":\"a b\",\"error\":\"insufficient_scope\"}");
    check_challenge("Basic realm=\"x, Bearer scope=no\", bearer Scope = \"y\\\"z\"",
                    "{\"scope\":\"y\\\"z\"}");
    check_challenge("Bearer scope=one, Digest scope=two", "{\"scope\":\"one\"}");
    check_challenge("Bearer resource_metadata=\"https://a/b?c=d\"",
                    "{\"resource_metadata\":\"https://a/b?c=d\"}");
    check_challenge("Bearer scope=first, scope=second", "{\"scope\":\"first\"}");
    check_challenge("Bearer scope=\"never closed", "{\"scope\":\"never closed\"}");
    check_challenge("Bearer ,, ;;\x01 scope=a", "{\"scope\":\"a\"}");
    check_challenge("", "{}");
}

static bool is_allowed(const char *own, const char *url)
{
    cf_mcp__server s = {.config = json_pack("{s:s}", "url", own)};
    bool ok = cf_mcp__is_allowed(&s, url);
    json_decref(s.config);
    return ok;
}

/* Plain http only on this machine, for a server on this machine. */
static void test_mcp_oauth__addresses(void **state)
{
    (void)state;
    assert_true(is_allowed("https://a.example/mcp", "https://b.example/x?y"));
    assert_false(is_allowed("https://a.example/mcp", "http://a.example/x"));
    assert_false(is_allowed("https://a.example/mcp", "http://127.0.0.1:80/x"));
    assert_true(is_allowed("http://localhost:1/mcp", "http://127.0.0.1:80/x"));
    assert_false(is_allowed("http://localhost:1/mcp", "http://127.0.0.1.example/x"));
    assert_false(is_allowed("http://localhost:1/mcp", "http://a.example/x"));
    assert_false(is_allowed("http://localhost:1/mcp", "https://me@a.example/x"));
    assert_false(is_allowed("http://localhost:1/mcp", "https://a.example/x#y"));
    assert_false(is_allowed("http://localhost:1/mcp", "file:///etc/passwd"));
    assert_false(is_allowed("http://localhost:1/mcp", "javascript:alert(1)"));
    assert_false(is_allowed("http://localhost:1/mcp", ""));
}

static bool may_sign_in(const char *own)
{
    const cf_mcp_sign_in with = {0};
    cf_mcp mcp = {.options = {.sign_in = &with}};
    cf_mcp__server s = {.mcp = &mcp, .config = json_pack("{s:s}", "url", own)};
    bool may = cf_mcp__may_sign_in(&s);
    json_decref(s.config);
    return may;
}

/* A token is sent with every request, so plain http elsewhere gets none. */
static void test_mcp_oauth__servers_that_get_tokens(void **state)
{
    (void)state;
    assert_true(may_sign_in("https://a.example/mcp"));
    assert_true(may_sign_in("http://127.0.0.1:1/mcp"));
    assert_true(may_sign_in("http://[::1]:1/mcp"));
    assert_false(may_sign_in("http://a.example/mcp"));
    assert_false(may_sign_in("http://127.0.0.1.example/mcp"));
}

static void check_origin(const char *url, const char *origin, const char *path)
{
    cf_buf a = CF_BUF_INIT, b = CF_BUF_INIT;
    assert_true(cf_mcp__origin(&a, url));
    assert_true(cf_mcp__path(&b, url));
    assert_string_equal(cf_buf_cstr(&a), origin);
    assert_string_equal(cf_buf_cstr(&b), path);
    cf_buf_deinit(&a);
    cf_buf_deinit(&b);
}

static void test_mcp_oauth__origins(void **state)
{
    (void)state;
    check_origin("https://A.example:443/", "https://a.example", "");
    check_origin("http://a.example:80", "http://a.example", "");
    check_origin("https://a.example:8443/b/c/", "https://a.example:8443", "/b/c");
    check_origin("http://[::1]:7/mcp?x", "http://[::1]:7", "/mcp");
}

static void test_mcp_oauth__forms(void **state)
{
    (void)state;
    cf_buf form = CF_BUF_INIT, value = CF_BUF_INIT;
    cf_mcp__form_add(&form, "a", cf_str_from("x y&z=%\xC3\xA9"));
    cf_mcp__form_add(&form, "bc", cf_str_from("-._~"));
    assert_string_equal(cf_buf_cstr(&form), "a=x%20y%26z%3D%25%C3%A9&bc=-._~");
    assert_true(cf_mcp__form_get(&value, cf_buf_str(&form), "a"));
    assert_string_equal(cf_buf_cstr(&value), "x y&z=%\xC3\xA9");
    assert_false(cf_mcp__form_get(&value, cf_buf_str(&form), "b"));
    cf_buf_reset(&value);
    assert_true(cf_mcp__form_get(&value, cf_str_from("&&x&c=a+b%2&c=2"), "c"));
    assert_string_equal(cf_buf_cstr(&value), "a b%2");
    cf_buf_deinit(&form);
    cf_buf_deinit(&value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mcp_oauth__challenges),
        cmocka_unit_test(test_mcp_oauth__addresses),
        cmocka_unit_test(test_mcp_oauth__servers_that_get_tokens),
        cmocka_unit_test(test_mcp_oauth__origins),
        cmocka_unit_test(test_mcp_oauth__forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
