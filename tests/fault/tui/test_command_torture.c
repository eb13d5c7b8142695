/*
 * test_command_torture.c - commands of the line with their n-th allocation
 * failing, for each n: an answer (status 0 or 1) is the answer of the run
 * with enough memory, byte for byte, or there is none.
 *
 * The commands run in this process, with standard output in a file.  Where a
 * command allocates thousands of times, every k-th allocation fails.
 */
#include "tests/support/t.h"

#include <fcntl.h>
#include <unistd.h>

#include "core/base/os.h"
#include "storage/exchange.h"
#include "storage/store.h"
#include "tests/support/fault.h"
#include "tests/support/slow.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_gguf.h"
#include "tests/support/vocab_file.h"
#include "tui/cli/cli.h"

enum { ARGS_MAX = 12, OUT_MAX = 1 << 17, RUNS_MAX = T_IS_SLOW ? 40 : 250 };

static const char template_text[] =
    "{{ bos_token }}{% for m in messages %}<|user|>{{ m.role }}: "
    "{{ m.content | trim }}</s>{% endfor %}"
    "{% if add_generation_prompt %}a{% endif %}";
static const char other_text[] =
    "{% for m in messages %}<|user|>{{ m.content }}{% endfor %}";
static const char broken_text[] = "{% for m in messages %}{{ m.content }}";
static const char context_text[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\" hello \"},"
    "{\"role\":\"assistant\",\"content\":\"w\xC3\xB6rld\"}]}";
static const char render_batch[] =
    "{\"name\":\"a\",\"context\":{\"messages\":[{\"role\":\"user\","
    "\"content\":\"hello\"}]}}\n"
    "{\"name\":\"b\",\"template\":\"{{ 1 / 0 }}\",\"context\":{}}\n"
    "{\"name\":\"c\",\"template\":\"{% if %}\",\"context\":{}}\n";
static const char schema_text[] =
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},"
    "\"b\":{\"enum\":[\"x\",\"y\"]}},\"required\":[\"a\"]}";
static const char constrain_batch[] =
    "{\"name\":\"a\",\"schema\":{\"type\":\"array\",\"items\":{\"type\":"
    "\"boolean\"}},\"tests\":[{\"data\":[true,false]},{\"data\":{\"a\":1}},"
    "{\"data\":\"x\"}]}\n"
    "{\"name\":\"b\",\"schema\":{\"type\":\"nothing\"},\"tests\":[]}\n";
static const char token_batch[] = "{\"name\":\"a\",\"text\":\"hello world\"}\n"
                                  "{\"name\":\"b\",\"hex\":\"ff00\"}\n"
                                  "{\"name\":\"c\",\"ids\":[280,259]}\n";
static const char reply_text[] =
    "Let me see.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": "
    "[1, \"two\"]}}\n</tool_call>";
static const char script_text[] =
    "{\"replies\":[{\"text\":\"An answer w\u00f6rth\",\"thinking\":\"hm\"}]}";
static const char conversation[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"},"
    "{\"role\":\"assistant\",\"content\":\"w\xC3\xB6rld\",\"tool_calls\":"
    "[{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
    "\"arguments\":\"{\\\"x\\\":1}\"}}]},"
    "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"2\"}]}\n";

static int out_fd = -1, real_out = -1, real_err = -1, null_fd = -1;
static char head[CF_UUID_TEXT + 1];

static void redirect(bool on)
{
    fflush(stdout);
    fflush(stderr);
    dup2(on ? out_fd : real_out, STDOUT_FILENO);
    dup2(on ? null_fd : real_err, STDERR_FILENO);
}

/* Runs the command once; its standard output, at most OUT_MAX bytes. */
static int run(const char *const *words, char *out, size_t *n)
{
    char text[ARGS_MAX + 1][256];
    char *argv[ARGS_MAX + 2] = {NULL};
    int argc = 1;
    snprintf(text[0], sizeof text[0], "confab");
    argv[0] = text[0];
    for (; words[argc - 1] != NULL; argc++) {
        const char *word = words[argc - 1];
        bool is_script = strncmp(word, "script:@", 8) == 0;
        bool is_file = word[0] == '@' || is_script;
        snprintf(text[argc], sizeof text[argc], "%s%s",
                 is_script ? "script:" : "",
                 is_file ? store_dir_file(word + (is_script ? 8 : 1)) : word);
        argv[argc] = text[argc];
    }
    int status = cf_cli_main(argc, argv, NULL);
    fflush(stdout);
    ssize_t got = pread(out_fd, out, OUT_MAX, 0);
    assert_true(got >= 0 && got < OUT_MAX);
    *n = (size_t)got;
    assert_int_equal(ftruncate(out_fd, 0), 0);
    lseek(out_fd, 0, SEEK_SET);
    return status;
}

/* The n-th allocation fails, and with `persist` all after it. */
static void torture(const char *const *words, int want_status, bool persist)
{
    static char want[OUT_MAX], out[OUT_MAX];
    size_t n_want, n;
    redirect(true);
    (void)run(words, want, &n_want); /* what is made once is made now */
    size_t before = cf_fault_total();
    int good = run(words, want, &n_want);
    size_t n_allocs = cf_fault_total() - before;
    size_t step = n_allocs / RUNS_MAX + 1;
    size_t wrong = 0;
    int status = 0;
    for (size_t nth = 1; wrong == 0; nth += step) {
        cf_fault_arm(nth, persist);
        status = run(words, out, &n);
        bool fired = cf_fault_disarm();
        bool is_same = n == n_want && memcmp(out, want, n) == 0;
        if (fired ? status <= CF_EXIT_FINDING && (status != good || !is_same)
                  : status != good || !is_same) {
            wrong = nth;
        }
        if (!fired) {
            break;
        }
    }
    redirect(false);
    if (wrong != 0) {
        fail_msg("%s %s %s: allocation %zu of %zu failed: status %d\n%.*s\n"
                 "want %d\n%.*s",
                 words[0], words[1], words[2] != NULL ? words[2] : "", wrong,
                 n_allocs, status, (int)n, out, good, (int)n_want, want);
    }
    if (good != want_status || n_want == 0) {
        fail_msg("%s %s: status %d, want %d; %zu bytes", words[0], words[1],
                 good, want_status, n_want);
    }
}

static void each(const char *const (*runs)[ARGS_MAX], size_t n_runs, int status)
{
    for (size_t i = 0; i < n_runs; i++) {
        torture(runs[i], status, false);
        torture(runs[i], status, true);
    }
}

#define EACH(runs, status) each(runs, sizeof(runs) / sizeof((runs)[0]), status)

static void test_torture__render(void **state)
{
    (void)state;
    static const char *const runs[][ARGS_MAX] = {
        {"render", "-t", "@template", "@context"},
        {"render", "-t", "@template", "--spans", "@context"},
        {"render", "-t", "@template", "--spans", "--batch", "@render"},
        {"render", "-t", "@broken", "--batch", "@render"},
        {"render", "-t", "@template", "-m", "@vocab", "--ids", "@context"},
        {"render", "-t", "@template", "-m", "@vocab", "--mask", "@context"},
    };
    EACH(runs, CF_EXIT_OK);
}

static void test_torture__constrain(void **state)
{
    (void)state;
    static const char *const runs[][ARGS_MAX] = {
        {"constrain", "--batch", "@constrain"},
        {"constrain", "--schema", "@schema", "{\"a\": 1}"},
        {"constrain", "--schema", "@schema", "--json", "{\"a\": 1}"},
    };
    static const char *const refused[][ARGS_MAX] = {
        {"constrain", "--schema", "@schema", "{\"b\": \"z\"}"},
        {"constrain", "--schema", "@schema", "--json", "{\"b\": \"z\"}"},
    };
    EACH(runs, CF_EXIT_OK);
    EACH(refused, CF_EXIT_FINDING);
}

static void test_torture__history(void **state)
{
    (void)state;
    const char *const runs[][ARGS_MAX] = {
        {"history", "list", "--db", "@db"},
        {"history", "list", "--json", "--db", "@db"},
        {"history", "search", "hello", "--json", "--db", "@db"},
        {"history", "show", head, "--db", "@db"},
        {"history", "show", head, "--json", "--db", "@db"},
        {"history", "export", head, "-f", "confab", "--db", "@db"},
        {"history", "export", head, "-f", "openai", "--db", "@db"},
        {"history", "export", head, "-f", "markdown", "--db", "@db"},
    };
    EACH(runs, CF_EXIT_OK);
}

static void test_torture__tokenize_and_model(void **state)
{
    (void)state;
    static const char *const runs[][ARGS_MAX] = {
        {"tokenize", "-m", "@vocab", "hello w\xC3\xB6rld"},
        {"tokenize", "-m", "@vocab", "--json", "hello w\xC3\xB6rld"},
        {"tokenize", "-m", "@vocab", "--batch", "@token"},
        {"model", "-m", "@vocab"},
        {"model", "-m", "@vocab", "--json"},
    };
    EACH(runs, CF_EXIT_OK);
}

static void test_torture__run_and_score(void **state)
{
    (void)state;
    static const char *const runs[][ARGS_MAX] = {
        {"run", "-m", "script:@script", "--no-store", "hi"},
        {"run", "-m", "script:@script", "--db", "@runs", "hi"},
        {"complete", "-m", "@tiny", "-n", "3", "--greedy", "ab"},
        {"score", "-m", "@tiny", "--prompt", "ab", "--text", "cd"},
        {"score", "-m", "@tiny", "--json", "--prompt", "ab", "--text", "cd"},
        {"history", "import", "--dry-run", "@conversation"},
    };
    EACH(runs, CF_EXIT_OK);
}

static void test_torture__parse_and_diff(void **state)
{
    (void)state;
    static const char *const runs[][ARGS_MAX] = {
        {"parse", "--family", "hermes", reply_text},
        {"parse", "--family", "hermes", "--json", reply_text},
    };
    static const char *const differ[][ARGS_MAX] = {
        {"diff", "-a", "@template", "-b", "@other", "@context"},
        {"diff", "-a", "@template", "-b", "@other", "--json", "@context"},
    };
    EACH(runs, CF_EXIT_OK);
    EACH(differ, CF_EXIT_FINDING);
}

static void test_torture__lint(void **state)
{
    (void)state;
    static const char *const runs[][ARGS_MAX] = {
        {"lint", "--json", "@template"},
        {"lint", "@template"},
    };
    EACH(runs, CF_EXIT_FINDING);
}

static void write_file(const char *name, const char *text, size_t n)
{
    cf_error err;
    T_OK(cf_os_write_file(store_dir_file(name), text, n, 0600, &err), err);
}

static void write_vocab(void)
{
    cf_vocab_file f;
    cf_vocab_file_small_spm(&f, true);
    assert_true(cf_vocab_file_finish(&f, true));
    write_file("vocab", (const char *)f.bytes, f.n);
    cf_vocab_file_deinit(&f);
}

static void write_tiny(void)
{
    size_t n;
    void *bytes = cf_tiny_gguf(&(cf_tiny_options){.seed = 5}, &n);
    write_file("tiny", bytes, n);
    cf_tiny_free(bytes);
}

static void write_history(void)
{
    cf_error err;
    cf_store *s;
    cf_arena arena;
    const cf_store_conv *rows;
    size_t n = 0;
    cf_import_report report;
    cf_import_options opts = {0};
    write_file("conversation", conversation, sizeof conversation - 1);
    const cf_store_options how = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&s, store_dir_file("db"), &how, &err), err);
    opts.tag = "greeting";
    opts.format = CF_FORMAT_OPENAI;
    opts.name = "conversation";
    T_OK(
        cf_import_file(s, store_dir_file("conversation"), &opts, &report, &err),
        err);
    cf_arena_init(&arena, 0);
    T_OK(cf_store_list(s, &(cf_store_query){.limit = 1}, &arena, &rows, &n,
                       &err),
         err);
    assert_int_equal(n, 1);
    cf_uuid_format(head, rows[0].id);
    cf_arena_deinit(&arena);
    cf_store_close(s);
}

static int set_up(void **state)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        {"template", template_text},    {"other", other_text},
        {"broken", broken_text},        {"context", context_text},
        {"render", render_batch},       {"schema", schema_text},
        {"constrain", constrain_batch}, {"token", token_batch},
        {"script", script_text},
    };
    if (store_dir_make(state) != 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        write_file(files[i].name, files[i].text, strlen(files[i].text));
    }
    write_vocab();
    write_tiny();
    write_history();
    real_out = dup(STDOUT_FILENO);
    real_err = dup(STDERR_FILENO);
    null_fd = open("/dev/null", O_WRONLY);
    out_fd = open(store_dir_file("out"), O_RDWR | O_CREAT | O_APPEND, 0600);
    return out_fd >= 0 && null_fd >= 0 && real_out >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    close(out_fd);
    close(null_fd);
    close(real_out);
    close(real_err);
    return store_dir_remove(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_torture__render),
        cmocka_unit_test(test_torture__constrain),
        cmocka_unit_test(test_torture__history),
        cmocka_unit_test(test_torture__tokenize_and_model),
        cmocka_unit_test(test_torture__run_and_score),
        cmocka_unit_test(test_torture__parse_and_diff),
        cmocka_unit_test(test_torture__lint),
    };
    cf_fault_install();
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
