/*
 * test_check_layers.c - the script that checks who may include whom: a small
 * tree passes, and fails with one include or one name that breaks a rule.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/t.h"

static char root[40];
static char script[1000];

static void put(const char *path, const char *text)
{
    char full[400];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        mkdir(full, 0700);
        *p = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void include(const char *path, const char *header)
{
    char text[200];
    snprintf(text, sizeof text, "#include <stdio.h>\n  #include \"%s\"\n", header);
    put(path, text);
}

/* Runs the script in the tree; what it says in `said`. */
static bool passes(char *said, size_t size)
{
    char command[1200];
    snprintf(command, sizeof command, "cd %s && '%s' 2>&1", root, script);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    size_t n = fread(said, 1, size - 1, p);
    said[n] = '\0';
    int rc = pclose(p);
    assert_true(WIFEXITED(rc));
    return WEXITSTATUS(rc) == 0;
}

static void clear(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

static void make_tree(void)
{
    strcpy(root, "/tmp/confab-layers-XXXXXX");
    assert_non_null(mkdtemp(root));
    put("core/base/buf.h", "");
    put("core/api/engine.h", "");
    put("storage/store.h", "");
    put("templates/prompt.h", "");
    put("tui/sys/term_size.h", "");
    put("tui/lab/lab.h", "");
    include("core/base/buf.c", "core/base/buf.h");
    include("core/chat/send.c", "core/schema/validate.h");
    include("core/token/bpe.c", "core/api/engine.h");
    include("storage/db/store.c", "core/base/buf.h");
    include("tui/lab/lab.c", "tui/sys/term_size.h");
    include("tui/lab/talk/lab_send.c", "tui/lab/reply/lab_reply.h");
    include("tui/view/view_chat.c", "tui/lab/lab.h");
    include("tui/main.c", "tui/cli/cli.h");
}

static void test_layers__tree_without_fault(void **state)
{
    (void)state;
    char said[2000];
    make_tree();
    assert_true(passes(said, sizeof said));
    assert_string_equal(said, "");
    clear();
}

static void test_layers__each_bad_include(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
    } bad[] = {
        {"core/base/alloc.c", "core/chat/send.h"},
        {"core/token/spm.c", "core/model/gguf.h"},
        {"core/grammar/machine.c", "core/regex/regex.h"},
        {"core/regex/regex.c", "core/schema/schema.h"},
        {"core/schema/schema.c", "core/constrain/mask.h"},
        {"core/kernel/matmul.c", "core/api/engine.h"},
        {"core/nowhere/new.c", "core/model/gguf.h"},
        {"core/base/os.c", "storage/store.h"},
        {"templates/lint/lint.c", "storage/store.h"},
        {"templates/lint/lint.c", "core/chat/send.h"},
        {"storage/db/rows.c", "templates/prompt.h"},
        {"tui/view/view_diff.c", "tui/cli/cli.h"},
        {"tui/app/keys.c", "tui/cli/cli.h"},
        {"tui/cli/cmd_run.c", "tui/view/view.h"},
        {"tui/lab/tree.c", "tui/term/term.h"},
        {"tui/lab/tree.c", "tui/view/view.h"},
        {"tui/lab/tree.c", "tui/main.h"},
        {"tui/sys/child.c", "tui/lab/lab.h"},
        {"tui/view/view_library.c", "storage/db/store_rows.h"},
        {"tui/lab/prompt/ledger.c", "tui/lab/compare/diff_model.h"},
        {"tui/lab/talk/lab_send.c", "tui/lab/lab.h"},
        {"tui/lab/nowhere/new.c", "tui/lab/nowhere/new.h"},
        {"tui/lab/lab.c", "tui/lab/nowhere/new.h"},
    };
    char said[2000];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        make_tree();
        include(bad[i].from, bad[i].to);
        assert_false(passes(said, sizeof said));
        assert_non_null(strstr(said, bad[i].from));
        assert_non_null(strstr(said, bad[i].to));
        assert_non_null(strstr(said, ":2: ")); /* the line */
        clear();
    }
}

static void test_layers__two_files_of_one_name(void **state)
{
    (void)state;
    char said[2000];
    make_tree();
    put("tui/view/buf.h", "");
    assert_false(passes(said, sizeof said));
    assert_non_null(strstr(said, "buf.h"));
    clear();
    make_tree();
    put("storage/exchange/buf.c", "");
    assert_false(passes(said, sizeof said));
    assert_non_null(strstr(said, "buf.c"));
    clear();
}

static void test_layers__folders_in_a_circle(void **state)
{
    (void)state;
    char said[2000];
    make_tree();
    include("storage/exchange/read.c", "storage/db/rows.h");
    assert_true(passes(said, sizeof said));
    include("storage/db/write.c", "storage/exchange/format.h");
    assert_false(passes(said, sizeof said));
    assert_non_null(strstr(said, "circle"));
    assert_non_null(strstr(said, "storage/db"));
    assert_null(strstr(said, "tui/"));
    clear();
}

static void test_layers__not_a_checkout(void **state)
{
    (void)state;
    char said[2000];
    strcpy(root, "/tmp/confab-layers-XXXXXX");
    assert_non_null(mkdtemp(root));
    assert_false(passes(said, sizeof said));
    clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers__tree_without_fault),
        cmocka_unit_test(test_layers__each_bad_include),
        cmocka_unit_test(test_layers__two_files_of_one_name),
        cmocka_unit_test(test_layers__folders_in_a_circle),
        cmocka_unit_test(test_layers__not_a_checkout),
    };
    char here[800];
    if (getcwd(here, sizeof here) == NULL) {
        return 1;
    }
    snprintf(script, sizeof script, "%s/tests/tools/check_layers.sh", here);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
