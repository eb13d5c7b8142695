/*
 * test_fifos.c - a FIFO that no program reads or writes, in every place where
 * confab writes a file or keeps one: the command ends, and says what is wrong or
 * does without the file.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/program.h"
#include "tests/support/seeing_model.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

static void make_fifo(const char *path)
{
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void is_still_a_fifo(const char *path)
{
    struct stat s;
    assert_int_equal(lstat(path, &s), 0);
    assert_true(S_ISFIFO(s.st_mode));
}

static char model[600], conversation[40]; /* "MODEL", "ID" */

/* A history with one conversation. */
static void make_history(const char *path)
{
    cf_program p;
    unlink(path);
    CF_PROGRAM(&p, "run", "-m", model, "--db", path, "hi");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "history", "list", "--ids", "--db", path);
    assert_int_equal(p.status, 0);
    snprintf(conversation, sizeof conversation, "%.36s", cf_buf_cstr(&p.out));
    cf_program_deinit(&p);
}

/* Runs with "@x" as a file of the test. */
static void run(cf_program *p, const char *const *words)
{
    store_path text[12];
    const char *argv[13] = {NULL};
    for (size_t i = 0; i < 12 && words[i] != NULL; i++) {
        argv[i] = strcmp(words[i], "MODEL") == 0 ? model
                  : strcmp(words[i], "ID") == 0  ? conversation
                                                 : words[i];
        if (words[i][0] == '@') {
            store_dir_path(text[i], words[i] + 1);
            argv[i] = text[i];
        }
    }
    cf_program_run(p, argv, "", 0);
}

static void test_fifos__written_files(void **state)
{
    (void)state;
    static const char *const commands[][12] = {
        {"complete", "-n", "1", "--logits", "@fifo", "hi"},
        {"history", "export", "--db", "@h.db", "--all", "--format", "openai", "--output", "@fifo"},
        {"sweep", "--no-store", "--junit", "@fifo", "@plan.txt"},
        {"db", "backup", "--db", "@h.db", "@fifo"},
        {"report", "--db", "@h.db", "--output", "@fifo", "ID"},
        {"media", "-m", "@seeing.gguf", "--mmproj", "@mmproj.gguf", "--png", "@fifo",
         "tests/fuzz/corpus/picture/rgb.png"},
        {"media", "-m", "@seeing.gguf", "--mmproj", "@mmproj.gguf", "--rows", "@fifo",
         "tests/fuzz/corpus/picture/rgb.png"},
        {"media", "-m", "@seeing.gguf", "--mmproj", "@mmproj.gguf", "--blocks", "@fifo",
         "tests/fuzz/corpus/picture/rgb.png"},
    };
    NEED_PROGRAM();
    cf_program p;
    store_path fifo, db;
    store_dir_path(fifo, "fifo");
    make_fifo(fifo);
    store_dir_path(db, "h.db");
    make_history(db);
    store_dir_put_text("one.jsonl", "{\"name\":\"a\",\"prompt\":\"hi\"}\n");
    store_dir_put_text("plan.txt", "prompts one.jsonl\nmodel script:script.json\n");
    store_path seeing, projector, other;
    store_dir_path(seeing, "seeing.gguf");
    store_dir_path(projector, "mmproj.gguf");
    store_dir_path(other, "other.gguf");
    assert_true(cf_seeing_write(seeing, projector, other));
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        run(&p, commands[i]);
        if (p.status < 3 || p.status > 5 || strstr(cf_buf_cstr(&p.err), "(see:") != NULL) {
            fail_msg("%s %s: status %d, %s", commands[i][0], commands[i][1], p.status,
                     cf_buf_cstr(&p.err));
        }
        is_still_a_fifo(fifo);
        cf_program_deinit(&p);
    }
}

/* What lies beside a history database is SQLite's, or confab's own. */
static void test_fifos__beside_the_history(void **state)
{
    (void)state;
    static const char *const ends[] = {"",      "-journal", "-wal",  "-shm",
                                       "-live", "-break",   ".lock", ".prefixes"};
    static const char *const commands[][12] = {
        {"run", "-m", "MODEL", "--db", "@g.db", "--keep-prefix", "hi"},
        {"history", "list", "--db", "@g.db"},
        {"db", "check", "--db", "@g.db"},
        {"history", "import", "--db", "@g.db", "@one.json"},
    };
    NEED_PROGRAM();
    store_dir_put_text("one.json", "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}");
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        store_path db;
        char fifo[700];
        cf_program p;
        store_dir_path(db, "g.db");
        make_history(db);
        snprintf(fifo, sizeof fifo, "%s%s", db, ends[i]);
        make_fifo(fifo);
        for (size_t k = 0; k < sizeof commands / sizeof commands[0]; k++) {
            run(&p, commands[k]);
            assert_in_range(p.status, 0, 5);
            cf_program_deinit(&p);
        }
        unlink(fifo);
    }
}

static int set_up(void **state)
{
    int st = store_dir_make(state);
    if (st == 0) {
        snprintf(model, sizeof model, "script:%s",
                 store_dir_put_text("script.json", "{\"replies\":[{\"text\":\"Yes.\"}]}"));
    }
    return st;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fifos__written_files),
        cmocka_unit_test(test_fifos__beside_the_history),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
