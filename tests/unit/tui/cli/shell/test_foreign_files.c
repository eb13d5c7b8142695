/*
 * test_foreign_files.c - files that belong to another user: what can be read is
 * read, what cannot be written is said, and nothing of theirs changes.  The test
 * needs root, who alone can be two users.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/os.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

enum { NOBODY = 65534, OTHER = 4321, TEXT = 4096 };

static char model[600];
static store_path home;

/* Runs a command as another user, and checks its status and a word that it says. */
static void run_as_nobody(const char *words, int status, const char *says)
{
    char command[TEXT], want[40];
    snprintf(want, sizeof want, "status %d\n", status);
    snprintf(command, sizeof command,
             "cd '%s' && { setpriv --reuid=%d --regid=%d --clear-groups env HOME='%s' "
             "XDG_CONFIG_HOME= XDG_STATE_HOME= XDG_DATA_HOME= '%s' %s </dev/null 2>&1; "
             "echo status $?; }",
             store_dir_file("."), NOBODY, NOBODY, home, cf_program_path(), words);
    cf_shell_prints(command, want);
    cf_shell_prints(command, says);
}

static void copy(const char *from, const char *to, mode_t mode)
{
    cf_buf b = CF_BUF_INIT;
    cf_error err;
    T_OK(cf_os_read_file(&b, from, 1 << 24, &err), err);
    T_OK(cf_os_write_file(to, b.p, b.n, 0600, &err), err);
    assert_int_equal(chmod(to, mode), 0);
    cf_buf_deinit(&b);
}

static bool can_be_nobody(void)
{
    char command[TEXT];
    snprintf(command, sizeof command,
             "setpriv --reuid=%d --regid=%d --clear-groups test -x '%s' 2>/dev/null", NOBODY,
             NOBODY, cf_program_path());
    return geteuid() == 0 && system(command) == 0; /* NOLINT(concurrency-mt-unsafe) */
}

static void test_foreign__files(void **state)
{
    (void)state;
    NEED_PROGRAM();
    if (!can_be_nobody()) {
        T_SKIP("only root can be two users, with setpriv");
    }
    cf_program p;
    store_path script, db, readable, hidden, rc;
    char words[1200];
    cf_buf before = CF_BUF_INIT, after = CF_BUF_INIT;
    cf_error err;
    assert_int_equal(chmod(store_dir_file("."), 0755), 0);
    store_dir_path(home, "home");
    store_dir_path(db, "h.db");
    store_dir_path(readable, "readable.db");
    store_dir_path(hidden, "hidden.db");
    T_OK(cf_os_make_dirs(home, &err), err);
    assert_int_equal(chown(home, NOBODY, NOBODY), 0);
    store_dir_put_text("script.json", "{\"replies\":[{\"text\":\"Yes.\"}]}");
    store_dir_path(script, "script.json");
    assert_int_equal(chmod(script, 0644), 0);
    snprintf(model, sizeof model, "script:%s", script);
    CF_PROGRAM(&p, "run", "-m", model, "--db", db, "needle");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    copy(db, readable, 0644);
    copy(db, hidden, 0600);

    run_as_nobody("history list --db readable.db", 0, "needle");
    run_as_nobody("history list --db hidden.db", 3, "no permission");
    snprintf(words, sizeof words, "run -m '%s' --db readable.db x", model);
    run_as_nobody(words, 5, "not saved");
    snprintf(words, sizeof words, "run -m '%s' --db hidden.db x", model);
    run_as_nobody(words, 3, "no permission");
    run_as_nobody("db backup --db readable.db home/copy.db", 0, "");
    T_OK(cf_os_read_file(&before, db, 1 << 24, &err), err);
    T_OK(cf_os_read_file(&after, readable, 1 << 24, &err), err);
    assert_int_equal(before.n, after.n);
    assert_memory_equal(before.p, after.p, before.n);

    /* A confabrc that cannot be read is said, and nothing else depends on it. */
    store_dir_path(rc, "home/.config/confab/confabrc");
    T_OK(cf_os_make_dirs(store_dir_file("home/.config/confab"), &err), err);
    store_dir_write(rc, "set trust-addresses\n");
    assert_int_equal(chmod(store_dir_file("home/.config"), 0755), 0);
    assert_int_equal(chmod(store_dir_file("home/.config/confab"), 0755), 0);
    assert_int_equal(chmod(rc, 0600), 0);
    run_as_nobody("version", 0, "confabrc: Permission denied");

    /* Nor one that somebody else could have written; root's is read. */
    static const struct {
        uid_t owner;
        gid_t group;
        mode_t mode;
        const char *says;
    } confabrc[] = {
        {NOBODY, NOBODY, 0600, "line 1: 'nonsense'"},
        {0, 0, 0644, "line 1: 'nonsense'"},
        {NOBODY, NOBODY, 0660, "line 1: 'nonsense'"},
        {NOBODY, 0, 0640, "line 1: 'nonsense'"},
        {NOBODY, 0, 0660, "confabrc: not read: other users can write to it"},
        {NOBODY, NOBODY, 0602, "confabrc: not read: other users can write to it"},
        {OTHER, NOBODY, 0644, "confabrc: not read: it belongs to another user, number 4321"},
    };
    store_dir_write(rc, "nonsense\n");
    for (size_t i = 0; i < sizeof confabrc / sizeof confabrc[0]; i++) {
        assert_int_equal(chown(rc, confabrc[i].owner, confabrc[i].group), 0);
        assert_int_equal(chmod(rc, confabrc[i].mode), 0);
        run_as_nobody("version", 0, confabrc[i].says);
    }
    run_as_nobody("help --search quit", 0, ":quit"); /* what needs its keys goes on */
    cf_buf_deinit(&before);
    cf_buf_deinit(&after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_foreign__files),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
