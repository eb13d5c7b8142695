/*
 * test_keep.c - the history that confab run writes, killed runs too.
 */
#include "tests/support/t.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/json/json.h"
#include "storage/store.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"

extern char **environ;

static void nap(void)
{
    usleep(20000);
}

/* The first conversation of a database with its runs. */
static bool read_tree(const char *db, cf_arena *arena, cf_store_tree *tree)
{
    cf_store *s;
    cf_error err;
    /* Only looks: the writer is at work. */
    const cf_store_options o = {.flags = CF_STORE_READ_ONLY | CF_STORE_NO_RECOVERY};
    if (cf_store_open(&s, db, &o, &err) != CF_OK) {
        return false;
    }
    const cf_store_conv *rows;
    size_t n = 0;
    const cf_store_query q = {.limit = 1};
    bool ok =
        cf_store_list(s, &q, arena, &rows, &n, &err) == CF_OK && n == 1 &&
        cf_store_get_tree(s, rows[0].id, CF_TREE_RUNS | CF_TREE_TRACE, arena, tree, &err) == CF_OK;
    cf_store_close(s);
    return ok;
}

/* Killed in the middle of a reply: the question is there, and the reply with
 * the text it had, marked interrupted. */
static void test_keep__killed(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("killed.db");
    const char *script = store_dir_file("slow.json");
    char model[256];
    snprintf(model, sizeof model, "script:%s", script);
    store_dir_write(script, "{\"replies\":[{\"text\":\"abcdefghijklmnopqrstuvwxyz"
                            "abcdefghijklmnopqrstuvwxyz\",\"chunk\":1,"
                            "\"delay_ms\":400}]}");
    pid_t pid;
    const char *argv[] = {cf_program_path(), "run", "--db", db, "-m", model, "Question", NULL};
    char *words[8];
    memcpy(words, argv, sizeof words);
    posix_spawn_file_actions_t to;
    posix_spawn_file_actions_init(&to);
    posix_spawn_file_actions_addopen(&to, 1, "/dev/null", 1 /* O_WRONLY */, 0);
    assert_int_equal(posix_spawn(&pid, words[0], &to, NULL, words, environ), 0);
    posix_spawn_file_actions_destroy(&to);
    cf_arena arena;
    cf_store_tree tree;
    cf_arena_init(&arena, 0);
    bool has_text = false;
    for (int i = 0; i < 1000 && !has_text; i++) {
        nap();
        has_text = read_tree(db, &arena, &tree) && tree.n == 2 && tree.turns[1].run != NULL &&
                   tree.turns[1].run->raw.n >= 2;
    }
    kill(pid, SIGKILL);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_true(has_text);
    char id[CF_UUID_TEXT + 1];
    cf_uuid_format(id, tree.turns[1].conversation);
    cf_program p;
    CF_PROGRAM(&p, "history", "show", "--db", db, "--json", id);
    assert_int_equal(p.status, 0);
    const char *out = cf_buf_cstr(&p.out);
    assert_non_null(strstr(out, "Question"));
    assert_non_null(strstr(out, "interrupted"));
    assert_non_null(strstr(out, "\"ab"));
    cf_program_deinit(&p);
    cf_arena_deinit(&arena);
}

/* Each call of a reply is kept with its place, its findings and its status;
 * a block that is not a call with where it broke. */
static void test_keep__calls(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("calls.db");
    const char *script = store_dir_file("calls.json");
    const char *tools = store_dir_file("tools.json");
    char model[256];
    snprintf(model, sizeof model, "script:%s", script);
    store_dir_write(script, "{\"replies\":[{\"text\":\"<tool_call>\\n{\\\"name\\\": "
                            "\\\"f\\\", \\\"arguments\\\": {\\\"a\\\": \\\"x\\\"}}"
                            "\\n</tool_call>\\n<tool_call>\\n{oops\\n</tool_call>\"}]}");
    store_dir_write(tools, "[{\"name\":\"f\",\"parameters\":{\"type\":\"object\","
                           "\"properties\":{\"a\":{\"type\":\"integer\"}}}}]");
    cf_program p;
    CF_PROGRAM(&p, "run", "--db", db, "-m", model, "--family", "hermes", "--tools", tools,
               "--max-rounds", "1", "Question");
    cf_program_deinit(&p);
    cf_arena arena;
    cf_store_tree tree;
    cf_arena_init(&arena, 0);
    assert_true(read_tree(db, &arena, &tree));
    const cf_store_turn *reply = &tree.turns[1];
    assert_int_equal(reply->n_calls, 2);
    assert_true(cf_str_is(reply->calls[0].name, "f"));
    assert_true(cf_str_is(reply->calls[0].arguments, "{\"a\":\"x\"}"));
    assert_true(cf_str_is(reply->calls[0].status, "INVALID_PARAMETER_TYPE"));
    assert_true(reply->calls[0].findings.n > 2);
    assert_true(reply->calls[0].byte_from > 0);
    assert_true(cf_str_is(reply->calls[1].status, "PARSE_ERROR"));
    assert_true(reply->calls[1].error_at > 0);
    cf_arena_deinit(&arena);
}

/* A reply that failed is kept, and nothing of it or of its question is in
 * the next prompt. */
static void test_keep__failed_reply(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("failed.db");
    const char *good = store_dir_file("good.json");
    const char *bad = store_dir_file("bad.json");
    char good_model[256], bad_model[256], id[CF_UUID_TEXT + 1];
    snprintf(good_model, sizeof good_model, "script:%s", good);
    snprintf(bad_model, sizeof bad_model, "script:%s", bad);
    store_dir_write(good, "{\"replies\":[{\"text\":\"Fine.\"}]}");
    store_dir_write(bad, "{\"replies\":[{\"text\":\"Half\",\"error\":\"network\"}]}");
    cf_program p;
    CF_PROGRAM(&p, "run", "--db", db, "-m", good_model, "First");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    cf_arena arena;
    cf_store_tree tree;
    cf_arena_init(&arena, 0);
    assert_true(read_tree(db, &arena, &tree));
    cf_uuid_format(id, tree.conv.id);
    CF_PROGRAM(&p, "run", "--db", db, "-m", good_model, "-t", "gemma3", "--continue", id,
               "--show-prompt", "Third");
    cf_buf want = CF_BUF_INIT;
    cf_buf_add(&want, cf_buf_cstr(&p.out), p.out.n);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "run", "--db", db, "-m", bad_model, "-t", "gemma3", "--continue", id, "Second");
    assert_int_equal(p.status, 4);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "run", "--db", db, "-m", good_model, "-t", "gemma3", "--continue", id,
               "--show-prompt", "Third");
    assert_int_equal(p.status, 0);
    assert_string_equal(cf_buf_cstr(&p.out), cf_buf_cstr(&want));
    assert_null(strstr(cf_buf_cstr(&p.out), "Second"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "history", "show", "--db", db, "--json", id);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "Half"));
    cf_program_deinit(&p);
    cf_buf_deinit(&want);
    cf_arena_deinit(&arena);
}

/* Another system prompt for a saved conversation is a branch that is kept;
 * showing the prompt keeps nothing. */
static void test_keep__system_prompt(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("system.db");
    const char *good = store_dir_file("fine.json");
    char model[256], id[CF_UUID_TEXT + 1];
    snprintf(model, sizeof model, "script:%s", good);
    store_dir_write(good, "{\"replies\":[{\"text\":\"Fine.\"}]}");
    cf_program p;
    CF_PROGRAM(&p, "run", "--db", db, "-m", model, "--system", "Old rule.", "First");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    cf_arena arena;
    cf_store_tree tree;
    cf_arena_init(&arena, 0);
    assert_true(read_tree(db, &arena, &tree));
    cf_uuid_format(id, tree.conv.id);
    for (int i = 0; i < 2; i++) {
        CF_PROGRAM(&p, "run", "--db", db, "-m", model, "-t", "qwen3", "--continue", id, "--system",
                   "New rule.", "Next", i == 0 ? "--show-prompt" : "--thinking=off");
        assert_int_equal(p.status, 0);
        if (i == 0) {
            assert_non_null(strstr(cf_buf_cstr(&p.out), "New rule."));
            assert_non_null(strstr(cf_buf_cstr(&p.out), "Fine."));
            assert_null(strstr(cf_buf_cstr(&p.out), "Old rule."));
        }
        cf_program_deinit(&p);
        cf_arena_reset(&arena);
        assert_true(read_tree(db, &arena, &tree));
        assert_int_equal(tree.n, i == 0 ? 2 : 7);
    }
    CF_PROGRAM(&p, "run", "--db", db, "-m", model, "-t", "qwen3", "--continue", id, "--show-prompt",
               "Third");
    assert_non_null(strstr(cf_buf_cstr(&p.out), "New rule."));
    assert_null(strstr(cf_buf_cstr(&p.out), "Old rule."));
    cf_program_deinit(&p);
    cf_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keep__killed),
        cmocka_unit_test(test_keep__calls),
        cmocka_unit_test(test_keep__failed_reply),
        cmocka_unit_test(test_keep__system_prompt),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
