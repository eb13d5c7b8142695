/*
 * test_examples.c - the examples of docs/library.md, compiled against the
 * headers and the shared library as they are installed, and run.
 */
#include "tests/support/t.h"

#include <unistd.h>

#include "core/api/bundled.h"
#include "core/base/buf.h"
#include "tests/support/program.h"

static char folder[] = "/tmp/cf_examples_XXXXXX";
static char build[512]; /* where the library is */

/* Runs a shell command; its output, errors included, is put into `out`.
 * Returns the exit status. */
static int shell(cf_buf *out, const char *command)
{
    char part[512];
    cf_buf_reset(out);
    FILE *from = popen(command, "r"); /* NOLINT(cert-env33-c) */
    assert_non_null(from);
    for (size_t n; (n = fread(part, 1, sizeof part, from)) > 0;) {
        cf_buf_add(out, part, n);
    }
    return pclose(from);
}

static void need(const char *tool)
{
    char command[128];
    const void *bytes;
    size_t n;
    cf_buf out = CF_BUF_INIT;
    if (build[0] == '\0') {
        T_SKIP("the library is built in the release variant only");
    }
    if (!cf_bundled_model(&bytes, &n)) {
        T_SKIP("this tree has no bundled model");
    }
    snprintf(command, sizeof command, "command -v %s", tool);
    int status = shell(&out, command);
    cf_buf_deinit(&out);
    if (status != 0) {
        T_SKIP("a tool is not installed");
    }
}

/* Runs a shell command with the programs in its PATH and $D their folder; its
 * output must be `want`, or begin with it where `want` ends in "...". */
static void prints(const char *command, const char *want)
{
    char whole[2048];
    cf_buf out = CF_BUF_INIT;
    size_t n = strlen(want);
    bool is_start = n >= 3 && strcmp(want + n - 3, "...") == 0;
    snprintf(whole, sizeof whole,
             "D='%s'; PATH=\"$D:$PATH\"; export LD_LIBRARY_PATH=\"$D\" "
             "CONFAB_LIBRARY='%s/libconfab.so.0' PYTHONDONTWRITEBYTECODE=1 "
             "PYTHONPATH=docs/packaging/python; { %s; } 2>&1",
             folder, build, command);
    int status = shell(&out, whole);
    const char *got = cf_buf_cstr(&out);
    if (status != 0 || (is_start ? strncmp(got, want, n - 3) != 0 : strcmp(got, want) != 0)) {
        fail_msg("%s: status %d:\n%s\nnot:\n%s", command, status, got, want);
    }
    cf_buf_deinit(&out);
}

/* Compiles docs/examples/NAME with no warning, as a user would. */
static void compile(const char *compiler, const char *name)
{
    char command[2048];
    cf_buf out = CF_BUF_INIT;
    snprintf(command, sizeof command,
             "%s -Wall -Wextra -Wno-unused-parameter -Werror -I'%s/include' "
             "docs/examples/%s -o '%s/%s.out' '%s/libconfab.so.0' -ljansson "
             "-lpthread 2>&1",
             compiler, build, name, folder, name, build);
    if (shell(&out, command) != 0) {
        fail_msg("%s:\n%s", command, cf_buf_cstr(&out));
    }
    cf_buf_deinit(&out);
}

static void test_hello__c(void **state)
{
    (void)state;
    need("cc");
    compile("cc -std=c11", "hello.c");
    prints("hello.c.out 'Weather in Rome?'", "It is 21 degrees celsius and sunny in Rome.\n");
}

static void test_hello__cxx(void **state)
{
    (void)state;
    need("c++");
    compile("c++ -std=c++11", "hello.cc");
    prints("hello.cc.out", "It is 21 degrees celsius and sunny in Oslo.\n");
}

static void test_hello__python(void **state)
{
    (void)state;
    need("python3");
    prints("python3 docs/examples/python/hello.py",
           "It is 21 degrees celsius and sunny in Oslo.\n");
}

/* The module's own tests: every call, and every call with wrong values, closed
 * models, other threads and other processes. */
static void test_python__every_call(void **state)
{
    (void)state;
    need("python3");
    prints("python3 docs/packaging/python/tests/calls.py", "ok\n");
}

static void test_python__misuse(void **state)
{
    (void)state;
    need("python3");
    prints("python3 docs/packaging/python/tests/misuse.py", "ok\n");
}

static void test_python__notebook(void **state)
{
    (void)state;
    need("python3");
    prints("python3 docs/examples/python/notebook.py $D/notebook.html && grep -c '<pre' "
           "$D/notebook.html",
           "2\n");
}

/* A file, how its program is run, and what that prints. */
static const struct {
    const char *name, *run, *want;
} example[] = {
    {"stream.c", "echo Who are you? | stream.c.out",
     "I have no name; I am confab's tiny demonstration model.\n"},
    {"tools.c", "tools.c.out",
     "call   {\"name\":\"calculate\",\"arguments\":{\"expression\":\"12 * "
     "7\"},\"id\":\"..."},
    {"constrain.c", "constrain.c.out", "{\"feature\": \"history\"..."},
    {"inspect.c", "inspect.c.out",
     "template line 23     <|im_start|>system\\n\n"
     "message 0.content    You are brief.\n..."},
    {"history.c", "history.c.out $D/history.db",
     "{\"role\":\"user\",\"content\":\"Who are you?\"}\n..."},
    {"cancel.c", "cancel.c.out", "confab is..."},
    {"mask.c", "mask.c.out", "0000-00\n"},
    {"alternatives.c", "alternatives.c.out | head -n 1", "called with {\"location\":\"Oslo\"}\n"},
};

static void test_examples__run(void **state)
{
    (void)state;
    need("cc");
    for (size_t i = 0; i < sizeof example / sizeof example[0]; i++) {
        compile("cc -std=c11", example[i].name);
        prints(example[i].run, example[i].want);
    }
}

/* Every public header alone, in C++ and with all warnings. */
static void test_headers__compile_as_cxx(void **state)
{
    (void)state;
    need("c++");
    char command[2048];
    cf_buf out = CF_BUF_INIT;
    /* All at once, in both orders: one by one takes half a minute. */
    snprintf(command, sizeof command,
             "for order in cat tac; do ls '%s/include/confab' | $order | "
             "sed 's|.*|#include <confab/&>|' | c++ -std=c++11 -Wall -Wextra -Wpedantic "
             "-Werror -fsyntax-only -I'%s/include' -x c++ - || exit 1; done "
             "2>&1",
             build, build);
    if (shell(&out, command) != 0) {
        fail_msg("%s", cf_buf_cstr(&out));
    }
    cf_buf_deinit(&out);
}

/* What the shared library exports is declared in a public header. */
static void test_symbols__are_declared(void **state)
{
    (void)state;
    need("nm");
    char command[2048];
    cf_buf out = CF_BUF_INIT;
    snprintf(command, sizeof command,
             "nm -D --defined-only '%s/libconfab.so.0' | awk '{print $3}' | "
             "sed 's/@.*//' | sort -u > '%s/exported'; cat "
             "'%s'/include/confab/*.h | tr -c 'a-zA-Z0-9_' '\\n' | sort -u > "
             "'%s/declared'; comm -23 '%s/exported' '%s/declared'",
             build, folder, build, folder, folder, folder);
    assert_int_equal(shell(&out, command), 0);
    assert_string_equal(cf_buf_cstr(&out), "");
    cf_buf_deinit(&out);
}

static int set_up(void **state)
{
    (void)state;
    const char *program = cf_program_path();
    char link[1200];
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    const char *slash = program != NULL ? strrchr(program, '/') : NULL;
    if (slash == NULL) {
        return 0;
    }
    snprintf(link, sizeof link, "%.*s/libconfab.so.0", (int)(slash - program), program);
    if (access(link, R_OK) == 0) {
        snprintf(build, sizeof build, "%.*s", (int)(slash - program), program);
        char name[600];
        snprintf(name, sizeof name, "%s/libconfab.so.0", folder);
        return symlink(link, name);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command); /* NOLINT(cert-env33-c) */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hello__c),
        cmocka_unit_test(test_hello__cxx),
        cmocka_unit_test(test_hello__python),
        cmocka_unit_test(test_python__every_call),
        cmocka_unit_test(test_python__misuse),
        cmocka_unit_test(test_python__notebook),
        cmocka_unit_test(test_examples__run),
        cmocka_unit_test(test_headers__compile_as_cxx),
        cmocka_unit_test(test_symbols__are_declared),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
