/*
 * test_cut_file.c - a model file that is cut or written to while it is mapped:
 * an error instead of SIGBUS, and the timeline as it was.
 */
#include "tests/support/t.h"

#include <fcntl.h>
#include <unistd.h>

#include "core/api/engine.h"
#include "core/api/session.h"
#include "core/base/os.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_gguf.h"

static const cf_token ids[] = {1, 5, 9, 200, 3, 7, 8, 9};

typedef struct model {
    char path[512];
    size_t n;
    cf_engine *engine;
    cf_session *session;
} model;

/* A model in a file, with four tokens computed. */
static void open_model(model *m, const char *name)
{
    cf_error err;
    cf_os_guard_maps(); /* over cmocka's handler */
    void *bytes = cf_tiny_gguf(&(cf_tiny_options){.n_layer = 3}, &m->n);
    snprintf(m->path, sizeof m->path, "%s", store_dir_file(name));
    T_OK(cf_os_write_file(m->path, bytes, m->n, 0600, &err), err);
    cf_tiny_free(bytes);
    T_OK(cf_engine_open(&m->engine, m->path, &(cf_engine_options){.n_threads = 3}, &err), err);
    T_OK(cf_session_new(&m->session, m->engine, &(cf_session_options){.n_ctx = 32}, &err), err);
    cf_sync_result r;
    T_OK(cf_session_sync(m->session, ids, 4, NULL, &r, &err), err);
}

static void close_model(model *m)
{
    cf_session_free(m->session);
    cf_engine_close(m->engine);
}

/* The next pass fails with the file's name, and the four tokens are there. */
static void expect_failure(model *m)
{
    cf_error err;
    cf_sync_result r;
    size_t n;
    T_FAILS(cf_session_sync(m->session, ids, 8, NULL, &r, &err), CF_EIO);
    assert_non_null(strstr(err.text, m->path));
    assert_non_null(strstr(err.text, "truncated or written to"));
    assert_memory_equal(cf_session_tokens(m->session, &n), ids, sizeof *ids * 4);
    assert_true(n >= 4);
}

static void test_cut_file__cut(void **state)
{
    (void)state;
    model m;
    open_model(&m, "cut.gguf");
    assert_int_equal(truncate(m.path, 4096), 0);
    expect_failure(&m);
    close_model(&m);
}

static void test_cut_file__to_nothing(void **state)
{
    (void)state;
    model m;
    open_model(&m, "nothing.gguf");
    assert_int_equal(truncate(m.path, 0), 0);
    expect_failure(&m);
    close_model(&m);
}

static void test_cut_file__written_to(void **state)
{
    (void)state;
    model m;
    open_model(&m, "written.gguf");
    const struct timespec tick = {0, 20000000}; /* a change has a later time */
    nanosleep(&tick, NULL);
    int fd = open(m.path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "x", 1, (off_t)m.n - 1), 1);
    close(fd);
    expect_failure(&m);
    close_model(&m);
}

/* Another file under the name: the open one is as it was. */
static void test_cut_file__renamed_over(void **state)
{
    (void)state;
    model m;
    cf_error err;
    cf_sync_result r;
    open_model(&m, "renamed.gguf");
    T_OK(cf_os_write_file(m.path, "new", 3, 0600, &err), err);
    T_OK(cf_session_sync(m.session, ids, 8, NULL, &r, &err), err);
    close_model(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_file__cut),
        cmocka_unit_test(test_cut_file__to_nothing),
        cmocka_unit_test(test_cut_file__written_to),
        cmocka_unit_test(test_cut_file__renamed_over),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
