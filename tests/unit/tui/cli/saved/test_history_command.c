/*
 * test_history_command.c - confab history and confab db: every change shows in
 * the lists, and a change that can be undone is undone.
 */
#include "tests/support/t.h"

#include "core/base/os.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"

/* Runs a command that succeeds and compares its output. */
#define SHOWS(want, ...)                                   \
    do {                                                   \
        cf_program p_;                                     \
        CF_PROGRAM(&p_, __VA_ARGS__);                      \
        assert_string_equal(cf_buf_cstr(&p_.err), "");     \
        assert_int_equal(p_.status, 0);                    \
        assert_string_equal(cf_buf_cstr(&p_.out), (want)); \
        cf_program_deinit(&p_);                            \
    } while (0)

/* Runs a command that fails with a status and a message that holds `word`. */
#define REFUSES(want_status, word, ...)                        \
    do {                                                       \
        cf_program p_;                                         \
        CF_PROGRAM(&p_, __VA_ARGS__);                          \
        assert_int_equal(p_.status, (want_status));            \
        assert_non_null(strstr(cf_buf_cstr(&p_.err), (word))); \
        assert_string_equal(cf_buf_cstr(&p_.out), "");         \
        cf_program_deinit(&p_);                                \
    } while (0)

/* Counts the lines of a list that hold `word`. */
static int n_listed(const char *db, const char *where, const char *word)
{
    cf_program p;
    CF_PROGRAM(&p, "history", "list", "--json", "--db", db, where);
    assert_int_equal(p.status, 0);
    int n = 0;
    for (const char *at = cf_buf_cstr(&p.out); (at = strstr(at, word)) != NULL; at++) {
        n++;
    }
    cf_program_deinit(&p);
    return n;
}

/* A database with one conversation, "what is up" and "Hello there."; its id
 * goes to id. */
static void begin(const char *db, char id[37])
{
    const char *script = store_dir_file("reply.json");
    const char text[] = "{\"replies\":[{\"text\":\"Hello there.\"}]}";
    cf_error err;
    T_OK(cf_os_write_file(script, text, sizeof text - 1, 0600, &err), err);
    cf_buf model = CF_BUF_INIT;
    cf_buf_addf(&model, "script:%s", script);
    cf_program p;
    CF_PROGRAM(&p, "run", "--db", db, "-m", cf_buf_cstr(&model), "--stop", "zz", "what is up");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    cf_buf_deinit(&model);
    CF_PROGRAM(&p, "history", "list", "--json", "--db", db);
    const char *at = strstr(cf_buf_cstr(&p.out), "\"conversation\":\"");
    assert_non_null(at);
    memcpy(id, at + strlen("\"conversation\":\""), 36);
    id[36] = '\0';
    cf_program_deinit(&p);
}

static void test_history__changes_show_in_lists(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("changes.db");
    char id[37];
    begin(db, id);
    cf_program p;
    CF_PROGRAM(&p, "history", "title", "--db", db, id, "A name");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    assert_int_equal(n_listed(db, "--sort=title", "\"title\":\"A name\""), 1);
    CF_PROGRAM(&p, "history", "tag", "--db", db, id, "red");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    assert_int_equal(n_listed(db, "--reverse", "\"tags\":[\"red\"]"), 1);
    CF_PROGRAM(&p, "history", "tag", "--remove", "--db", db, id, "red");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    assert_int_equal(n_listed(db, "--reverse", "\"tags\":[]"), 1);

    CF_PROGRAM(&p, "history", "search", "--db", db, "hello");
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "assistant: >Hello< there."));
    cf_program_deinit(&p);

    CF_PROGRAM(&p, "history", "rm", "--db", db, id);
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    assert_int_equal(n_listed(db, "--reverse", id), 0);
    assert_int_equal(n_listed(db, "--trash", id), 1);
    CF_PROGRAM(&p, "history", "undo", "--db", db);
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    assert_int_equal(n_listed(db, "--reverse", id), 1);
    assert_int_equal(n_listed(db, "--trash", id), 0);
}

/* Numbers after `key` in a line of JSON; -1: it is not there. */
static long number_of(const cf_buf *out, const char *key)
{
    const char *at = strstr(cf_buf_cstr(out), key);
    return at != NULL ? strtol(at + strlen(key), NULL, 10) : -1;
}

/* A file is imported, tagged, listed, truncated by turns and by tokens, and
 * taken back. */
static void test_history__import_truncate_undo(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("truncate.db");
    const char *file = store_dir_file("long.json");
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    cf_program p;
    char id[37];
    cf_buf_adds(&text, "{\"messages\":[");
    for (int i = 0; i < 6; i++) {
        cf_buf_addf(&text,
                    "%s{\"role\":\"user\",\"content\":\"question %d\"},{"
                    "\"role\":\"assistant\",\"content\":\"answer\"}",
                    i != 0 ? "," : "", i);
    }
    cf_buf_adds(&text, "]}");
    T_OK(cf_os_write_file(file, text.p, text.n, 0600, &err), err);
    cf_buf_deinit(&text);
    CF_PROGRAM(&p, "history", "import", "--db", db, "--tag", "new", file);
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "read as OpenAI JSON"));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "confab history undo"));
    cf_program_deinit(&p);
    assert_int_equal(n_listed(db, "--tag=new", "\"conversation\""), 1);
    assert_int_equal(n_listed(db, "--tag=old", "\"conversation\""), 0);
    CF_PROGRAM(&p, "history", "list", "--json", "--db", db);
    memcpy(id, strstr(cf_buf_cstr(&p.out), "tion\":\"") + 7, 36);
    id[36] = '\0';
    cf_program_deinit(&p);

    CF_PROGRAM(&p, "history", "truncate", "--db", db, id, "--turns", "4", "--dry-run");
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "8 of 12 turns go"));
    assert_non_null(strstr(cf_buf_cstr(&p.err), "user: question 3"));
    assert_null(strstr(cf_buf_cstr(&p.err), "user: question 4"));
    assert_string_equal(cf_buf_cstr(&p.out), "nothing was changed\n");
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "history", "truncate", "--json", "--db", db, id, "--tokens", "60", "--yes");
    assert_int_equal(p.status, 0);
    assert_true(number_of(&p.out, "\"tokens_before\":") > 60);
    assert_in_range(number_of(&p.out, "\"tokens_after\":"), 1, 60);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "run", "--db", db, "--continue", id, "--show-prompt", "and");
    assert_int_equal(p.status, 0);
    assert_null(strstr(cf_buf_cstr(&p.out), "question 0"));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "question 5"));
    cf_program_deinit(&p);
    REFUSES(2, "takes one UUID", "history", "truncate", "--db", db, id);
    CF_PROGRAM(&p, "history", "undo", "--db", db);
    assert_int_equal(p.status, 0);
    assert_string_equal(cf_buf_cstr(&p.out), "undone: import of long.json\n");
    cf_program_deinit(&p);
}

static void test_history__exports(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("export.db");
    const char *other = store_dir_file("other.db");
    const char *file = store_dir_file("all.jsonl");
    char id[37];
    begin(db, id);
    const char *openai = "{\"messages\":[{\"role\":\"user\",\"content\":\"what is up\"},"
                         "{\"role\":\"assistant\",\"content\":\"Hello there.\"}]}\n";
    SHOWS(openai, "history", "export", "--db", db, "-f", "openai", id);
    SHOWS(openai, "history", "export", "--db", db, "-f", "openai", "--all");
    /* A file in our own format gives the same conversation elsewhere. */
    cf_program p;
    CF_PROGRAM(&p, "history", "export", "--db", db, "-f", "confab", "--all", "-o", file);
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "history", "import", "--db", other, "-f", "confab", "--tag", "again", file);
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    assert_int_equal(n_listed(other, "--reverse", "\"tags\":[\"again\"]"), 1);
    SHOWS(openai, "history", "export", "--db", other, "-f", "openai", "--all");
    REFUSES(2, "--format", "history", "export", "--db", db, "--all", "-f", "x");
}

static void test_report__page_of_a_conversation(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("report.db");
    char id[37];
    cf_program p;
    begin(db, id);
    CF_PROGRAM(&p, "report", "--db", db, "--no-reading", "-o", "-", id);
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "Hello there."));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "</html>"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "history", "show", "--json", "--db", db, id);
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"stop_reason\":\"end\""));
    cf_program_deinit(&p);
}

static void test_history__refuses(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("refuse.db");
    char id[37];
    begin(db, id);
    REFUSES(2, "neither a UUID", "history", "show", "--db", db, "zzz");
    REFUSES(2, "takes list, show", "history", "frob", "--db", db);
}

static void test_db__check_and_backup(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("care.db");
    const char *copy = store_dir_file("copy.db");
    char id[37];
    begin(db, id);
    cf_program p;
    CF_PROGRAM(&p, "db", "check", "--db", db);
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "0 findings in 1 conversations, 2 turns"));
    cf_program_deinit(&p);
    cf_buf want = CF_BUF_INIT;
    cf_buf_addf(&want, "%s\n", db);
    SHOWS(cf_buf_cstr(&want), "db", "path", "--db", db);
    cf_buf_deinit(&want);
    CF_PROGRAM(&p, "db", "backup", "--db", db, copy);
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    assert_int_equal(n_listed(copy, "--reverse", id), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_history__changes_show_in_lists),
        cmocka_unit_test(test_history__import_truncate_undo),
        cmocka_unit_test(test_history__exports),
        cmocka_unit_test(test_report__page_of_a_conversation),
        cmocka_unit_test(test_history__refuses),
        cmocka_unit_test(test_db__check_and_backup),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
