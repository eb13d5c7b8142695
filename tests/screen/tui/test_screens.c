/*
 * test_screens.c - the workbench as people see it: every script of this
 * folder, with the scripted engine, a fresh database, a frozen clock and
 * repeatable ids.
 */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/os.h"
#include "storage/store.h"
#include "tests/support/fault.h"
#include "tests/support/screen.h"
#include "tests/support/t.h"
#include "tui/bench.h"

static const char folder[] = "tests/screen/tui";

typedef struct bench_fixture {
    char db[64];
    cf_backend *backend;
    cf_store *store;
    cf_app app;
} bench_fixture;

static void set_up(bench_fixture *f, const char *engine_path)
{
    cf_error err;
    json_t *script;
    char dir[] = "/tmp/cf_screens.XXXXXX";
    assert_non_null(mkdtemp(dir));
    snprintf(f->db, sizeof f->db, "%s/t.db", dir);
    cf_os_freeze_clock(INT64_C(1735787045000)); /* 2025-01-02T03:04:05Z */
    cf_os_seed_entropy(1);
    T_OK(cf_json_read_file(&script, engine_path, &err), err);
    T_OK(cf_backend_script_new(&f->backend, script, NULL, &err), err);
    json_decref(script);
    cf_store_options options = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&f->store, f->db, &options, &err), err);
    cf_bench_engine engine = {.backend = f->backend, .template_name = "plain"};
    T_OK(cf_app_init(&f->app, f->store, &err), err);
    T_OK(cf_bench_new(&f->app.bench, &engine, f->store, &err), err);
}

static void tear_down(bench_fixture *f)
{
    cf_app_deinit(&f->app);
    cf_bench_free(f->app.bench);
    cf_store_close(f->store);
    cf_backend_free(f->backend);
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < 3; i++) {
        char path[80];
        snprintf(path, sizeof path, "%s%s", f->db, suffixes[i]);
        unlink(path);
    }
    *strrchr(f->db, '/') = '\0';
    rmdir(f->db);
}

static void idle(cf_app *app)
{
    cf_error err;
    cf_bench_settle(app->bench, &err);
    if (err.code != CF_OK) {
        cf_app_error(app, &err);
    }
}

static void test_screens__all_scripts(void **state)
{
    (void)state;
    struct dirent **names;
    int n = scandir(folder, &names, NULL, alphasort);
    int n_scripts = 0;
    assert_true(n > 0);
    setenv("TZ", "UTC", 1);
    for (int i = 0; i < n; i++) {
        const char *dot = strrchr(names[i]->d_name, '.');
        if (dot != NULL && strcmp(dot, ".script") == 0) {
            char path[512], engine[512];
            snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
            snprintf(engine, sizeof engine, "%s/engine.json", folder);
            bench_fixture f = {0};
            set_up(&f, engine);
            cf_screen_run(&f.app, path, idle);
            tear_down(&f);
            n_scripts++;
        }
        free(names[i]);
    }
    free(names);
    assert_true(n_scripts > 0);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_screens__all_scripts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
