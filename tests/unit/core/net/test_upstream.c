/*
 * test_upstream.c - answers of servers that the proxy passes on.
 */
#include "core/net/upstream.h"

#include "tests/support/loopback.h"
#include "tests/support/t.h"

/* Trailers come after the body, often in one piece with the headers: they neither
 * become headers nor take their place. */
static void test_upstream__trailers_are_no_headers(void **state)
{
    (void)state;
    cf_loopback s;
    cf_upstream_link *link;
    cf_upstream_call *call;
    cf_error err;
    size_t n;
    char body[16];
    cf_loopback_start(&s,
                      &(cf_loopback_answer){.head = "HTTP/1.1 200 OK\r\nX-First: 1\r\n"
                                                    "Transfer-Encoding: chunked\r\n"
                                                    "Connection: close\r\n\r\n5\r\nhello\r\n0\r\n"
                                                    "HTTP/1.1: x\r\nX-Last: 1\r\n\r\n"});
    const cf_upstream up = {.url = s.url};
    const cf_http_request r = {.method = {"GET", 3}, .target = {"/x", 2}, .fd = -1};
    T_OK(cf_upstream_link_new(&link, &err), err);
    T_OK(cf_upstream_open(&call, link, &up, &r, cf_str_make(NULL, 0), &err), err);
    assert_int_equal(cf_upstream_read(call, body, sizeof body), 5);
    assert_memory_equal(body, "hello", 5);
    assert_int_equal(cf_upstream_read(call, body, sizeof body), 0);
    const cf_http_header *headers = cf_upstream_headers(call, &n);
    assert_int_equal(n, 3);
    assert_non_null(cf_http_header_get(headers, n, "X-First").p);
    assert_null(cf_http_header_get(headers, n, "X-Last").p);
    cf_upstream_close(call);
    cf_upstream_link_free(link);
    cf_loopback_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_upstream__trailers_are_no_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
