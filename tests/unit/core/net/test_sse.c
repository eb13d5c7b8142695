/*
 * test_sse.c - events of a stream, however its bytes are cut.
 */
#include "core/net/sse.h"
#include "tests/support/t.h"

static cf_status on_event(cf_str data, void *ud, cf_error *err)
{
    (void)err;
    cf_buf_addf(ud, "[%.*s]", (int)data.n, data.p);
    return CF_OK;
}

/* Fed in two pieces, cut anywhere, and in single bytes. */
static void check(const char *stream, const char *events, const char *id, int64_t retry_ms)
{
    size_t n = strlen(stream);
    for (size_t cut = 0; cut <= n + 1; cut++) {
        cf_sse s;
        cf_error err;
        cf_buf got = CF_BUF_INIT;
        cf_sse_init(&s);
        for (size_t at = 0; at < n;) {
            size_t k = cut > n ? 1 : at == 0 && cut > 0 ? cut : n - at;
            T_OK(cf_sse_feed(&s, stream + at, k, on_event, &got, &err), err);
            at += k;
        }
        assert_string_equal(cf_buf_cstr(&got), events);
        assert_string_equal(cf_buf_cstr(&s.id), id);
        assert_int_equal(s.retry_ms, retry_ms);
        cf_sse_deinit(&s);
        cf_buf_deinit(&got);
    }
}

static void test_sse__data_of_events(void **state)
{
    (void)state;
    check("data: a\n\ndata:b\r\ndata:  c\r\n\r\n: comment\nevent: x\n\ndata: d\r\r",
          "[a][b\n c][d]", "", -1);
    check("data\n\ndata: not ended\n", "", "", -1);
}

/* What a client that lost its connection needs to go on. */
static void test_sse__ids_and_retry_times(void **state)
{
    (void)state;
    check("id: 7\nretry: 1500\ndata: a\n\ndata: b\n\n", "[a][b]", "7", 1500);
    check("id: 7\n\nid:\ndata: a\n\nretry: soon\n\n", "[a]", "", -1);
    check("retry: 250\nretry: 12345678901234567890\n\n", "", "", 250);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sse__data_of_events),
        cmocka_unit_test(test_sse__ids_and_retry_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
