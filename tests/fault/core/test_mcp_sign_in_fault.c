/*
 * test_mcp_sign_in_fault.c - a sign-in in which one allocation after the other
 * fails: it ends with a token or without memory, and nothing is leaked.
 */
#include <poll.h>

#include "core/api/mcp.h"
#include "core/base/process.h"
#include "tests/support/fault.h"
#include "tests/support/t.h"

typedef struct world {
    cf_process server;
    int port;
    json_t *kept;
} world;

static cf_status with_kept(void *ud, cf_str address, cf_mcp_kept_fn fn, void *fn_ud, cf_error *err)
{
    world *w = ud;
    bool changed = false;
    (void)address;
    return fn(fn_ud, w->kept, &changed, err);
}

static cf_status may(void *ud, size_t server, cf_str issuer, cf_str scopes, cf_error *err)
{
    (void)ud;
    (void)server;
    (void)issuer;
    (void)scopes;
    (void)err;
    return CF_OK;
}

static cf_status open_redirect(void *ud, uint16_t port, bool must, cf_buf *redirect, cf_error *err)
{
    (void)ud;
    (void)port;
    (void)must;
    (void)err;
    cf_buf_adds(redirect, "http://127.0.0.1:9/callback");
    return CF_OK;
}

/* The user says no at the issuer's page: all is made before, and nothing is
 * asked of a token endpoint. */
static cf_status visit(void *ud, size_t server, const char *address, cf_buf *query, cf_error *err)
{
    const char *state = strstr(address, "state=");
    (void)ud;
    (void)server;
    (void)err;
    assert_non_null(state);
    cf_buf_add(query, state, strcspn(state, "&"));
    cf_buf_addf(query, "&iss=%.*s&error=access_denied",
                (int)(strstr(address, "/authorize") - address), address);
    return CF_OK;
}

static void end(void *ud)
{
    (void)ud;
}

static bool must_stop(void *ud)
{
    (void)ud;
    return false;
}

static cf_status sign_in(void *ud)
{
    world *w = ud;
    cf_mcp *mcp = NULL;
    cf_error err;
    size_t index;
    char url[64];
    const cf_mcp_sign_in steps = {.with_kept = with_kept,
                                  .may = may,
                                  .open = open_redirect,
                                  .visit = visit,
                                  .close = end,
                                  .must_stop = must_stop,
                                  .ud = w};
    const cf_mcp_options o = {.sign_in = &steps};
    snprintf(url, sizeof url, "http://127.0.0.1:%d/mcp", w->port);
    json_t *c = json_pack("{s:s, s:s}", "name", "t", "url", url);
    cf_status st = c != NULL ? cf_mcp_new(&mcp, &o, &err) : CF_ENOMEM;
    CF_THEN(st, cf_mcp_add(mcp, c, &index, &err));
    CF_THEN(st, cf_mcp_settle(mcp, NULL, &err));
    if (st == CF_OK) {
        cf_mcp_server s = cf_mcp_server_at(mcp, 0);
        st = s.error_code;
        /* Without a fault the refusal is the end. */
        st = strstr(s.error, "access_denied") != NULL ? CF_OK : st;
        if (st != CF_OK && st != CF_ENOMEM) {
            print_message("%s\n", s.error);
        }
    }
    cf_mcp_free(mcp);
    json_decref(c);
    return st;
}

static void test_mcp_sign_in_fault__every_allocation(void **state)
{
    (void)state;
    world w = {.server = CF_PROCESS_INIT, .kept = json_object()};
    const char *const argv[] = {"python3", "tests/data/mcp/signing.py", "plain", NULL};
    const cf_process_spec spec = {.argv = argv};
    char text[16] = {0};
    size_t n = 0;
    cf_error err;
    T_OK(cf_process_start(&w.server, &spec, &err), err);
    while (w.server.out >= 0 && (n == 0 || text[n - 1] != '\n')) {
        poll(&(struct pollfd){.fd = w.server.out, .events = POLLIN}, 1, 100);
        n += cf_process_read(&w.server.out, text + n, sizeof text - 1 - n);
    }
    w.port = atoi(text);
    assert_int_equal(sign_in(&w), CF_OK);
    cf_fault_every_alloc(sign_in, &w, false);
    cf_process_end(&w.server, 300);
    json_decref(w.kept);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mcp_sign_in_fault__every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
