/*
 * test_proxy_tls.c - the server's certificate is verified: one of a trusted
 * authority passes, others do not get a byte of the request.
 *
 * The certificates are made by the openssl program; without it, or without
 * TLS in libmicrohttpd, the test is skipped.
 */
#define _DEFAULT_SOURCE 1
#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/os.h"
#include "tests/support/http_ask.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/serve/proxy/proxy.h"

/* ---- certificates ------------------------------------------------------- */

/* An authority, and certificates of it for 127.0.0.1 and for another host. */
static bool make_certificates(const char *dir)
{
    static const char make[] =
        "cd '%s' && exec 2>/dev/null && "
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout ca.key "
        "-out ca.pem -subj /CN=test-authority && "
        "for n in IP:127.0.0.1 DNS:elsewhere.example; do "
        "f=$(echo $n | tr -d ':.'); "
        "openssl req -newkey rsa:2048 -nodes -keyout $f.key -out $f.csr "
        "-subj /CN=test && "
        "echo subjectAltName=$n > $f.ext && "
        "openssl x509 -req -in $f.csr -CA ca.pem -CAkey ca.key "
        "-CAcreateserial -days 2 -extfile $f.ext -out $f.pem || exit 1; done";
    char command[1400];
    snprintf(command, sizeof command, make, dir);
    return system(command) == 0; /* NOLINT */
}

static char *read_text(const char *dir, const char *name)
{
    static cf_buf kept[4];
    static size_t n;
    char path[600];
    cf_error err;
    cf_buf *b = &kept[n++ % 4];
    cf_buf_reset(b);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    T_OK(cf_os_read_file(b, path, 1 << 20, &err), err);
    return b->p;
}

/* ---- a server with TLS -------------------------------------------------- */

static enum MHD_Result on_request(void *ud, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *n_upload, void **state)
{
    static const char body[] = "{\"ok\":true}";
    (void)url;
    (void)method;
    (void)version;
    (void)upload;
    if (*state == NULL) {
        *state = c;
        return MHD_YES;
    }
    if (*n_upload != 0) {
        *n_upload = 0;
        return MHD_YES;
    }
    atomic_fetch_add((atomic_int *)ud, 1);
    struct MHD_Response *r = MHD_create_response_from_buffer(
        sizeof body - 1, (void *)(uintptr_t)body, MHD_RESPMEM_PERSISTENT);
    enum MHD_Result done = MHD_queue_response(c, 200, r);
    MHD_destroy_response(r);
    return done;
}

static struct MHD_Daemon *start_tls(const char *dir, const char *name, atomic_int *n,
                                    unsigned *port)
{
    char key[64], cert[64];
    struct sockaddr_in at = {.sin_family = AF_INET};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    snprintf(key, sizeof key, "%s.key", name);
    snprintf(cert, sizeof cert, "%s.pem", name);
    struct MHD_Daemon *d = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_TLS, 0, NULL, NULL, on_request, n,
        MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&at, MHD_OPTION_HTTPS_MEM_KEY, read_text(dir, key),
        MHD_OPTION_HTTPS_MEM_CERT, read_text(dir, cert), MHD_OPTION_END);
    assert_non_null(d);
    *port = MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port;
    return d;
}

/* The status that a client of the proxy gets. */
static long ask_through(unsigned port, const char *ca, cf_buf *answer)
{
    char url[64];
    cf_proxy proxy;
    cf_http_server *server;
    cf_error err;
    snprintf(url, sizeof url, "https://127.0.0.1:%u", port);
    const cf_upstream up = {.url = url, .ca = ca};
    T_OK(cf_proxy_init(&proxy, &up, NULL, &err), err);
    const cf_http_handler handler = cf_proxy_handler(&proxy);
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    T_OK(cf_http_server_new(&server, &any, &handler, &err), err);
    long status = http_ask(cf_http_server_url(server), "/v1/chat/completions",
                           "Authorization: Bearer sk-secret", "{}", answer);
    cf_http_server_free(server, 1000);
    cf_proxy_deinit(&proxy);
    return status;
}

static void test_proxy_tls__verifies_the_server(void **state)
{
    (void)state;
    char dir[600], ca[640];
    atomic_int n_right = 0, n_wrong = 0;
    unsigned right_port, wrong_port;
    cf_buf answer = CF_BUF_INIT;
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES) {
        T_SKIP("libmicrohttpd was built without TLS");
    }
    snprintf(dir, sizeof dir, "%s", store_dir_file(""));
    if (!make_certificates(dir)) {
        T_SKIP("the openssl program makes no certificates here");
    }
    snprintf(ca, sizeof ca, "%s/ca.pem", dir);
    struct MHD_Daemon *right = start_tls(dir, "IP127001", &n_right, &right_port);
    struct MHD_Daemon *wrong = start_tls(dir, "DNSelsewhereexample", &n_wrong, &wrong_port);
    assert_int_equal(ask_through(right_port, ca, &answer), 200);
    assert_int_equal(n_right, 1);
    /* An authority that the system does not know. */
    assert_int_equal(ask_through(right_port, NULL, &answer), 502);
    assert_non_null(strstr(cf_buf_cstr(&answer), "cannot be asked"));
    assert_int_equal(n_right, 1);
    /* A certificate of the right authority for another host. */
    assert_int_equal(ask_through(wrong_port, ca, &answer), 502);
    assert_int_equal(n_wrong, 0);
    assert_null(strstr(cf_buf_cstr(&answer), "sk-secret"));
    MHD_stop_daemon(right);
    MHD_stop_daemon(wrong);
    cf_buf_deinit(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proxy_tls__verifies_the_server),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
