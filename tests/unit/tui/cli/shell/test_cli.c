/*
 * test_cli.c - options, exit statuses, the commands that need no model.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json/json.h"
#include "tests/support/program.h"
#include "tests/support/t.h"
#include "tui/cli/shell/options.h"

static void test_options__forms(void **state)
{
    (void)state;
    bool flag = false, was_given = false;
    const char *text = NULL;
    uint32_t n = 0;
    uint64_t big = 0;
    float f = 0;
    cf_opt_list list = {.n = 0};
    const cf_opt own[] = {
        {"--flag", 'f', CF_OPT_FLAG, &flag, NULL, "", NULL},
        {"--text", 't', CF_OPT_STR, &text, "T", "", NULL},
        {"--number", 'n', CF_OPT_U32, &n, "N", "", &was_given},
        {NULL, 0, CF_OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    const cf_opt more[] = {
        {"--big", 'n', CF_OPT_U64, &big, "N", "", NULL},
        {"--float", 0, CF_OPT_F32, &f, "X", "", NULL},
        {"--list", 'l', CF_OPT_LIST, &list, "L", "", NULL},
        {NULL, 0, CF_OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    char a[][24] = {"one", "-n",         "7",  "--text=x=y", "-",  "--big", "18446744073709551615",
                    "-f",  "--float=-1", "-l", "a",          "-l", "b",     "--",
                    "-n"};
    char *argv[sizeof a / sizeof a[0]];
    int argc = (int)(sizeof a / sizeof a[0]);
    for (int i = 0; i < argc; i++) {
        argv[i] = a[i];
    }
    int n_rest;
    cf_error err;
    T_OK(cf_options_read(own, more, argc, argv, &n_rest, &err), err);
    assert_int_equal(n_rest, 3);
    assert_string_equal(argv[0], "one");
    assert_string_equal(argv[1], "-");
    assert_string_equal(argv[2], "-n");
    assert_true(flag);
    assert_true(was_given);
    assert_string_equal(text, "x=y");
    assert_int_equal(n, 7);
    assert_true(big == UINT64_MAX);
    assert_true(f == -1);
    assert_int_equal(list.n, 2);
    assert_string_equal(list.v[1], "b");
}

static void test_options__mistakes(void **state)
{
    (void)state;
    uint32_t n = 0;
    float f = 0;
    bool flag = false;
    const cf_opt own[] = {
        {"--number", 'n', CF_OPT_U32, &n, "N", "", NULL},
        {"--float", 0, CF_OPT_F32, &f, "X", "", NULL},
        {"--flag", 0, CF_OPT_FLAG, &flag, NULL, "", NULL},
        {NULL, 0, CF_OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    static const char *const bad[] = {"--number=4294967296",
                                      "--number=-1",
                                      "--number=",
                                      "--number=3x",
                                      "--float=nan",
                                      "--float=1e99",
                                      "--flag=1",
                                      "--numbe=1",
                                      "-x",
                                      "-n7x",
                                      "-xn7",
                                      "--number"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char arg[32];
        snprintf(arg, sizeof arg, "%s", bad[i]);
        char *argv[] = {arg, NULL};
        int n_rest;
        cf_error err;
        T_FAILS(cf_options_read(own, NULL, 1, argv, &n_rest, &err), CF_EINVAL);
        assert_non_null(strchr(err.text, '-'));
    }
}

static void test_cli__exit_statuses(void **state)
{
    (void)state;
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    static const struct {
        const char *argv[6];
        int status;
        const char *err; /* part of the message */
    } t[] = {
        {{"version", NULL}, 0, ""},
        {{"no-such-command", NULL}, 2, "no-such-command"},
        {{"version", "--nonsense", NULL}, 2, "--nonsense"},
        {{"version", "--threads", NULL}, 2, "--threads"},
        {{"help", "no-such", NULL}, 2, "unknown command"},
        {{"complete", "-m", "", "hi", NULL}, 2, "the name is empty"},
        {{"complete", "-m", "http://x", "hi", NULL}, 2, "http://x"},
        {{"complete", "-m", "/no/such/file", "hi", NULL}, 3, "/no/such/file"},
        {{"complete", "-m", "/no/such/file", "hi", NULL}, 3, "; -m takes a "},
        {{"complete", "-m", "/", "hi", NULL}, 3, "neither tokenizer.json"},
        {{"complete", "-m", "docs/confab.1", "hi", NULL}, 3, "docs/confab.1"},
        {{"complete", "-m", "docs/confab.1", "hi", NULL},
         3,
         "; copy the file again, or give another GGUF file"},
        {{"history", "list", "--db", "docs/confab.1", NULL},
         3,
         "docs/confab.1: not a confab database; it was not touched; --db "
         "names another file"},
        {{"chat", NULL}, 2, "try: confab run"},
        {{"complete", "--ids", "1", "hi", NULL}, 2, "not both"},
        {{"complete", "one", "two", NULL}, 2, "quotes"},
        {{"complete", "--trace", "65", "hi", NULL}, 2, "--trace"},
        {{"complete", "--cache", "f8", "hi", NULL}, 2, "--cache: f16, f32, q8_0 or q4_0"},
        {{"complete", "--stop", "", "hi", NULL}, 2, "--stop"},
        {{"complete", "--greedy", "--top-k=3", "hi", NULL}, 2, "--greedy"},
        {{"complete", "--logit-bias", "3", "hi", NULL}, 2, "--logit-bias"},
        {{"complete", "--logit-bias", "3=nan", "hi", NULL}, 2, "3=nan"},
        {{"complete", "--suppress", "x", "hi", NULL}, 2, "--suppress"},
        {{"model", "docs/confab.1", NULL}, 3, "docs/confab.1"},
        {{"bench", "-r", "0", NULL}, 2, "--repeat"},
        {{"bench", "x", NULL}, 2, "no argument"},
        {{"--help", NULL}, 0, ""},
        {{"--version", NULL}, 0, ""},
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        cf_program p;
        cf_program_run(&p, t[i].argv, NULL, 0);
        assert_int_equal(p.status, t[i].status);
        assert_non_null(strstr(cf_buf_cstr(&p.err), t[i].err));
        assert_int_equal(p.out.n == 0, t[i].status != 0);
        assert_int_equal(p.err.n == 0, t[i].status == 0);
        cf_program_deinit(&p);
    }
}

static void test_cli__version_and_paths(void **state)
{
    (void)state;
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    cf_program p;
    cf_error err;
    json_t *v;
    CF_PROGRAM(&p, "version", "--json");
    T_OK(cf_json_read(&v, p.out.p, p.out.n, &err), err);
    assert_true(cf_json_get_str(v, "version").n > 0);
    assert_true(cf_json_get_str(v, "kernel_set").n > 0);
    assert_true(json_object_size(json_object_get(v, "libraries")) > 0);
    json_decref(v);
    cf_program_deinit(&p);

    setenv("XDG_CONFIG_HOME", "/x/config", 1);
    setenv("XDG_DATA_HOME", "relative/is/ignored", 1);
    unsetenv("XDG_STATE_HOME");
    setenv("XDG_CACHE_HOME", "", 1);
    setenv("HOME", "/h", 1);
    CF_PROGRAM(&p, "paths", "--json");
    T_OK(cf_json_read(&v, p.out.p, p.out.n, &err), err);
    T_TEXT(cf_json_get_str(v, "config").p, cf_json_get_str(v, "config").n,
           "/x/config/confab/confabrc");
    T_TEXT(cf_json_get_str(v, "database").p, cf_json_get_str(v, "database").n,
           "/h/.local/share/confab/confab.db");
    T_TEXT(cf_json_get_str(v, "state").p, cf_json_get_str(v, "state").n, "/h/.local/state/confab");
    T_TEXT(cf_json_get_str(v, "cache").p, cf_json_get_str(v, "cache").n, "/h/.cache/confab");
    json_decref(v);
    cf_program_deinit(&p);

    unsetenv("HOME");
    CF_PROGRAM(&p, "paths");
    assert_int_equal(p.status, 2);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "HOME"));
    cf_program_deinit(&p);
}

/* Values attached to letters, letters that share a dash, and the options
 * before a command. */
static void test_options__attached(void **state)
{
    (void)state;
    bool a = false, b = false;
    uint32_t n = 0;
    const cf_opt own[] = {
        {"--aa", 'a', CF_OPT_FLAG, &a, NULL, "", NULL},
        {"--bb", 'b', CF_OPT_FLAG, &b, NULL, "", NULL},
        {"--number", 'n', CF_OPT_U32, &n, "N", "", NULL},
        {NULL, 0, CF_OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    char one[] = "-abn5", two[] = "word", three[] = "-n", four[] = "6";
    char other[] = "--other";
    char *argv[] = {one, two, three, four, NULL};
    int n_read;
    cf_error err;
    T_OK(cf_options_lead(own, 4, argv, &n_read, &err), err);
    assert_int_equal(n_read, 1);
    assert_true(a && b);
    assert_int_equal(n, 5);
    char *more[] = {three, four, other, two, NULL};
    T_OK(cf_options_lead(own, 4, more, &n_read, &err), err);
    assert_int_equal(n_read, 2);
    assert_int_equal(n, 6);
    char *alone[] = {three, NULL};
    T_FAILS(cf_options_lead(own, 1, alone, &n_read, &err), CF_EINVAL);
}

/* Exit status, and parts of what is printed. */
typedef struct printed {
    const char *argv[9];
    int status;
    const char *out, *err; /* parts; "": nothing at all is printed there */
} printed;

static void check_printed(const printed *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cf_program p;
        cf_program_run(&p, t[i].argv, NULL, 0);
        assert_int_equal(p.status, t[i].status);
        assert_non_null(strstr(cf_buf_cstr(&p.out), t[i].out));
        assert_non_null(strstr(cf_buf_cstr(&p.err), t[i].err));
        assert_int_equal(p.out.n == 0, t[i].out[0] == '\0');
        assert_int_equal(p.err.n == 0, t[i].err[0] == '\0');
        cf_program_deinit(&p);
    }
}

static void test_cli__options_before_the_command(void **state)
{
    (void)state;
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    static const printed t[] = {
        {{"--json", "paths", NULL}, 0, "{\"config\"", ""},
        {{"--db=/x/y", "db", "path", NULL}, 0, "/x/y\n", ""},
        {{"--db", "/x/y", "db", "path", NULL}, 0, "/x/y\n", ""},
        {{"--db", "/x/y", "db", "path", "--db", "/z", NULL}, 0, "/z\n", ""},
        {{"--threads", "x", "paths", NULL}, 2, "", "--threads: 'x'"},
        {{"--json", "no-such", NULL}, 2, "", "unknown command 'no-such'"},
        {{"-n5", "run", "hi", NULL}, 2, "", "go after its name"},
        {{"--json", "--help", "run", NULL}, 0, "usage: confab run", ""},
        {{"--exact", "--version", NULL}, 0, "confab ", ""},
        {{"--activations", "8", "paths", "--json", NULL}, 0, "{", ""},
        {{"--activations", "7", "paths", NULL}, 2, "", "16 or 8, not '7'"},
        {{"paths", "--activations", "8", "--exact", NULL},
         2,
         "",
         "--exact and --activations cannot be given together"},
        {{"-m", "bundled", NULL}, 2, "", "try: confab run"},
        {{"help", "--search", "surprising", "tokens", NULL},
         0,
         "w  :surprise  (workbench, Tokens)\n",
         ""},
        {{"help", "--search", "longest reply", NULL}, 0, ":set max_tokens=VALUE  (setting)\n", ""},
        {{"help", "--search", "exit status 3", NULL},
         0,
         "exit status 3  (manual, exit status)\n",
         ""},
        {{"help", "--search", "what", "does", "confab", "lint", "do", NULL}, 0, "confab lint ", ""},
        {{"help", "--search", "zebra", NULL}, 1, "Nothing is found; ? lists", ""},
        {{"help", "--search", NULL}, 0, ":set mouse=VALUE  (setting)\n", ""},
        {{"help", "run", "chat", NULL}, 2, "", "takes one command"},
    };
    check_printed(t, sizeof t / sizeof t[0]);
}

/* Whether a row of the help has this name, in this view ("": anywhere). */
static bool has_row(const char *rows, const char *name, const char *view)
{
    const size_t n = strlen(name);
    for (const char *p = rows; (p = strstr(p, name)) != NULL; p += n) {
        const char *where = strstr(p, "  ("), *end = strchr(p, '\n');
        if ((p == rows || p[-1] == '\n' || p[-1] == ' ') && (p[n] == ' ' || p[n] == '=') &&
            where != NULL && where < end && strncmp(where + 3, view, strlen(view)) == 0) {
            return true;
        }
    }
    return false;
}

/* Words that people use are of rows that there are: a command was renamed once. */
static void test_cli__words_of_the_search_are_of_rows(void **state)
{
    (void)state;
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    char line[1024], view[64];
    unsigned n = 0;
    cf_program p;
    CF_PROGRAM(&p, "help", "--search");
    FILE *f = fopen("tui/sys/asked.txt", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL) {
        char *name = line, *end = strstr(line, ": "), *mark = strstr(line, " :");
        if (line[0] == '#' || line[0] == '=' || end == NULL) {
            continue;
        }
        *end = '\0';
        view[0] = '\0';
        if (mark != NULL && mark < end) {
            *mark = '\0';
            name = mark + 1;
            snprintf(view, sizeof view, "workbench, %.40s)",
                     strcmp(line, "*") == 0 ? "all views" : line);
        }
        n++;
        if (!has_row(cf_buf_cstr(&p.out), name, view)) {
            fail_msg("no row for '%s' of asked.txt, %s", name, view);
        }
    }
    fclose(f);
    assert_true(n > 100);
    cf_program_deinit(&p);
}

static void test_cli__quiet(void **state)
{
    (void)state;
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    static const printed t[] = {
        {{"--quiet", "model", "docs/confab.1", NULL}, 3, "", ""},
        {{"model", "-q", "docs/confab.1", NULL}, 3, "", ""},
        {{"model", "--nonsense", "--quiet", NULL}, 2, "", ""},
        {{"--quiet", "no-such", NULL}, 2, "", ""},
        {{"no-such", "--quiet", NULL}, 2, "", ""},
        {{"model", "--", "--quiet", NULL}, 3, "", "--quiet"},
    };
    check_printed(t, sizeof t / sizeof t[0]);
}

static void test_cli__color(void **state)
{
    (void)state;
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    static const struct {
        const char *force, *no, *when;
        bool is_on;
    } t[] = {
        {NULL, NULL, "auto", false}, {"1", NULL, "auto", true},   {"0", NULL, "auto", false},
        {"1", "1", "auto", false},   {"1", NULL, "never", false}, {NULL, "1", "always", true},
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        unsetenv("CLICOLOR_FORCE");
        unsetenv("NO_COLOR");
        if (t[i].force != NULL) {
            setenv("CLICOLOR_FORCE", t[i].force, 1);
        }
        if (t[i].no != NULL) {
            setenv("NO_COLOR", t[i].no, 1);
        }
        cf_program p;
        CF_PROGRAM(&p, "--color", t[i].when, "diff", "-a", "qwen3", "-b",
                   "docs/examples/forgetful.jinja", "docs/examples/context.json");
        assert_int_equal(p.status, 1);
        assert_int_equal(strchr(cf_buf_cstr(&p.out), '\x1b') != NULL, t[i].is_on);
        cf_program_deinit(&p);
    }
    unsetenv("CLICOLOR_FORCE");
    unsetenv("NO_COLOR");
    static const printed bad = {{"paths", "--color", "red", NULL}, 2, "", "always, never or auto"};
    check_printed(&bad, 1);
}

/* Settings of confabrc hold for commands; a bad line is reported, once. */
static void test_cli__confabrc(void **state)
{
    (void)state;
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    char folder[] = "/tmp/confab-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    setenv("XDG_CONFIG_HOME", folder, 1);
    snprintf(path, sizeof path, "%s/confab", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/confab/confabrc", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("set db=/from rc/x.db  # with a blank\n"
          "set model=/no/such/model\n"
          "set threads=many\n"
          "set a11y=on\n"
          "bind all\n",
          f);
    fclose(f);
    cf_program p;
    CF_PROGRAM(&p, "db", "path");
    assert_string_equal(cf_buf_cstr(&p.out), "/from rc/x.db\n");
    char want[400];
    snprintf(want, sizeof want,
             "confab: %s: line 3: threads is a whole number, not 'many'\n"
             "confab: %s: line 5: bind needs a view, keys and a command\n",
             path, path);
    assert_string_equal(cf_buf_cstr(&p.err), want);
    cf_program_deinit(&p);
    static const printed t[] = {
        {{"db", "path", "-q", NULL}, 0, "/from rc/x.db\n", ""},
        {{"db", "path", "--db", "/y", "-q", NULL}, 0, "/y\n", ""},
        {{"tokenize", "hi", NULL}, 3, "", "/no/such/model"},
        {{"model", NULL}, 3, "", "/no/such/model"},
        {{"complete", "-m", "/given", "hi", NULL}, 3, "", "/given"},
    };
    check_printed(t, sizeof t / sizeof t[0]);
    setenv("CONFAB_MODEL", "/from/environment", 1);
    static const printed e[] = {
        {{"tokenize", "hi", NULL}, 3, "", "/from/environment"},
        {{"run", "hi", "--no-store", NULL}, 3, "", "/from/environment"},
        {{"lint", NULL}, 3, "", "/from/environment"},
    };
    check_printed(e, sizeof e / sizeof e[0]);
    unsetenv("CONFAB_MODEL");
    unsetenv("XDG_CONFIG_HOME");
    assert_int_equal(remove(path), 0);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options__forms),
        cmocka_unit_test(test_options__mistakes),
        cmocka_unit_test(test_options__attached),
        cmocka_unit_test(test_cli__exit_statuses),
        cmocka_unit_test(test_cli__options_before_the_command),
        cmocka_unit_test(test_cli__words_of_the_search_are_of_rows),
        cmocka_unit_test(test_cli__quiet),
        cmocka_unit_test(test_cli__color),
        cmocka_unit_test(test_cli__confabrc),
        cmocka_unit_test(test_cli__version_and_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
