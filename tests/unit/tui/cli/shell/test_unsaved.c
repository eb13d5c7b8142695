/*
 * test_unsaved.c - a history that cannot be written: the answer comes, a word
 * and a status of its own say that it is not saved, and what is saved can be
 * read.  A full disk is a limit on the size of files.
 */
#include "tests/support/t.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pthread.h>
#include <sqlite3.h>

#include "core/base/os.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"

enum { CANNOT_WRITE = 4, NOT_SAVED = 5, FULL_BYTES = 16 << 10 };

static char model[600];

static void run(cf_program *p, const char *db)
{
    CF_PROGRAM(p, "run", "-m", model, "--db", db, "Question");
}

/* A database with one conversation. */
static void make(const char *db)
{
    cf_program p;
    run(&p, db);
    assert_int_equal(p.status, 0);
    assert_string_equal(cf_buf_cstr(&p.err), "");
    cf_program_deinit(&p);
}

static void expect_unsaved(const cf_program *p, const char *why)
{
    assert_string_equal(cf_buf_cstr(&p->out), "An answer\n");
    assert_non_null(strstr(cf_buf_cstr(&p->err), "not saved"));
    if (strstr(cf_buf_cstr(&p->err), why) == NULL) {
        fail_msg("%s is not in %s", why, cf_buf_cstr(&p->err));
    }
    assert_int_equal(p->status, NOT_SAVED);
}

/* As on a disk without room; files that exist stay as large as they are. */
static void fill_disk(bool is_full)
{
    static struct rlimit before;
    struct rlimit small;
    if (is_full) {
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        small = before;
        small.rlim_cur = FULL_BYTES;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    } else {
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    }
}

/* Output that cannot be written is status 4, whatever the command. */
static void test_unsaved__output(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const char *const commands[] = {
        "version",
        "version --json",
        "help",
        "help run",
        "completion bash",
        "paths",
        "render -t chatml @context",
        "render -t chatml --spans @context",
        "lint chatml",
        "lint --json chatml",
        "diff -a chatml -b zephyr @context",
        "parse --family hermes hello",
        "parse --family hermes --json hello",
        "constrain --regex a b",
        "constrain --regex a --json a",
        "history list --json --db @full.db",
        "history export -a -f confab --db @full.db",
        "db path --db @full.db",
    };
    static const char context[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}";
    char folder[400];
    cf_error err;
    cf_program p;
    if (access("/dev/full", W_OK) != 0) {
        T_SKIP("there is no /dev/full");
    }
    T_OK(cf_os_write_file(store_dir_file("context"), context, sizeof context - 1, 0600, &err), err);
    run(&p, store_dir_file("full.db")); /* something to export */
    cf_program_deinit(&p);
    snprintf(folder, sizeof folder, "%s", store_dir_file(""));
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        cf_buf line = CF_BUF_INIT;
        cf_buf_addf(&line, "'%s' ", cf_program_path());
        for (const char *c = commands[i]; *c != '\0'; c++) {
            cf_buf_add(&line, *c == '@' ? folder : c, *c == '@' ? strlen(folder) : 1);
        }
        cf_buf_adds(&line, " > /dev/full 2> /dev/null");
        int status = system(cf_buf_cstr(&line));
        if (!WIFEXITED(status) || WEXITSTATUS(status) != CANNOT_WRITE) {
            fail_msg("%s: %d", commands[i], status);
        }
        cf_buf_deinit(&line);
    }
    assert_int_equal(remove(store_dir_file("full.db")), 0);
}

static void test_unsaved__full_disk(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("full.db");
    cf_program p;
    make(db);
    fill_disk(true);
    run(&p, db);
    fill_disk(false);
    expect_unsaved(&p, "full");
    cf_program_deinit(&p);
}

static void test_unsaved__full_disk_is_read(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("read.db");
    cf_program p;
    make(db);
    static const char *const reads[][4] = {
        {"history", "list", NULL},
        {"history", "search", "Question", NULL},
        {"history", "export", "-a", NULL},
        {"db", "check", NULL},
    };
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        const char *argv[10] = {NULL};
        size_t n = 0;
        for (; reads[i][n] != NULL; n++) {
            argv[n] = reads[i][n];
        }
        argv[n++] = "--db";
        argv[n++] = db;
        if (strcmp(argv[1], "export") == 0) {
            argv[n++] = "--format=openai";
        }
        fill_disk(true);
        cf_program_run(&p, argv, NULL, 0);
        fill_disk(false);
        if (p.status != 0 || p.out.n == 0) {
            fail_msg("%s %s: %d %s", argv[0], argv[1], p.status, cf_buf_cstr(&p.err));
        }
        cf_program_deinit(&p);
    }
}

/* A change of the history that could not be made. */
static void test_unsaved__change(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("change.db");
    cf_program p;
    make(db);
    CF_PROGRAM(&p, "history", "list", "--db", db);
    const char *id = strstr(cf_buf_cstr(&p.out), "  ");
    assert_non_null(id);
    char uuid[37];
    snprintf(uuid, sizeof uuid, "%.36s", id + 2);
    cf_program_deinit(&p);
    fill_disk(true);
    CF_PROGRAM(&p, "history", "tag", uuid, "x", "--db", db);
    fill_disk(false);
    assert_int_equal(p.status, NOT_SAVED);
    cf_program_deinit(&p);
}

static void test_unsaved__locked(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("locked.db");
    cf_program p;
    sqlite3 *other;
    make(db);
    assert_int_equal(sqlite3_open(db, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    run(&p, db);
    expect_unsaved(&p, "locked");
    sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(other);
    cf_program_deinit(&p);
}

/* The log is a link to somewhere else, which SQLite does not follow. */
static void test_unsaved__linked_log(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("linked.db");
    cf_program p;
    make(db);
    assert_int_equal(symlink(store_dir_file("elsewhere"), store_dir_file("linked.db-wal")), 0);
    run(&p, db);
    assert_int_not_equal(p.status, 0);
    assert_true(p.err.n > 0);
    cf_program_deinit(&p);
}

/* Removes the database once there is one. */
static void *remover(void *path)
{
    const struct timespec pause = {0, 5000000};
    struct stat sb;
    for (int i = 0; i < 2000; i++) {
        if (stat(path, &sb) == 0 && sb.st_size > 4096) {
            nanosleep(&(struct timespec){0, 600000000}, NULL);
            unlink(path);
            return NULL;
        }
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void test_unsaved__removed(void **state)
{
    (void)state;
    NEED_PROGRAM();
    char db[600], slow[600];
    cf_program p;
    cf_error err;
    pthread_t thread;
    static const char text[] = "{\"replies\":[{\"text\":\"An answer\","
                               "\"chunk\":1,\"delay_ms\":200}]}";
    snprintf(db, sizeof db, "%s", store_dir_file("removed.db"));
    T_OK(cf_os_write_file(store_dir_file("slow"), text, sizeof text - 1, 0600, &err), err);
    snprintf(slow, sizeof slow, "script:%s", store_dir_file("slow"));
    assert_int_equal(pthread_create(&thread, NULL, remover, db), 0);
    CF_PROGRAM(&p, "run", "-m", slow, "--db", db, "Question");
    pthread_join(thread, NULL);
    expect_unsaved(&p, "removed or replaced");
    cf_program_deinit(&p);
}

static int set_up(void **state)
{
    static const char text[] = "{\"replies\":[{\"text\":\"An answer\"}]}";
    cf_error err;
    signal(SIGXFSZ, SIG_IGN);
    if (store_dir_make(state) != 0 ||
        cf_os_write_file(store_dir_file("script"), text, sizeof text - 1, 0600, &err) != CF_OK) {
        return -1;
    }
    snprintf(model, sizeof model, "script:%s", store_dir_file("script"));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unsaved__output),
        cmocka_unit_test(test_unsaved__full_disk),
        cmocka_unit_test(test_unsaved__full_disk_is_read),
        cmocka_unit_test(test_unsaved__change),
        cmocka_unit_test(test_unsaved__locked),
        cmocka_unit_test(test_unsaved__linked_log),
        cmocka_unit_test(test_unsaved__removed),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
