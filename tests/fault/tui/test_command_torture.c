/*
 * test_command_torture.c - commands of the line with their n-th allocation
 * failing, for each n: an answer (status 0 or 1) is the answer of the run
 * with enough memory, byte for byte, or there is none.  A command that
 * changes the history starts from the same file each time, and an answer must
 * leave the same history behind, byte for byte of its export.
 *
 * The commands run in this process, with standard output in a file and with
 * the clock and the ids of tests.  Where a command allocates thousands of
 * times, every k-th allocation fails, and fewer of those that open the database,
 * which are the same for each.
 *
 * proxy and serve, which do not end by themselves, are tortured by request:
 * test_server_torture.c.  chat and watch on a screen: test_screen_torture.c.
 */
#include "tests/support/t.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/os.h"
#include "storage/exchange.h"
#include "storage/store.h"
#include "storage/traffic.h"
#include "tests/support/fault.h"
#include "tests/support/slow.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_gguf.h"
#include "tests/support/tiny_vision.h"
#include "tests/support/vocab_file.h"
#include "tui/cli/shell/cli.h"
#include "tui/image/png_write.h"

enum {
    ARGS_MAX = 16,
    OUT_MAX = 1 << 18,
    RUNS_MAX = T_IS_SLOW ? 15 : 50,
    FEW_MAX = T_IS_SLOW ? 5 : 15,
    MANY_MAX = T_IS_SLOW ? 15 : 1000,
    IDS_MAX = 40
};

static const char template_text[] = "{{ bos_token }}{% for m in messages %}<|user|>{{ m.role }}: "
                                    "{{ m.content | trim }}</s>{% endfor %}"
                                    "{% if add_generation_prompt %}a{% endif %}";
static const char other_text[] = "{% for m in messages %}<|user|>{{ m.content }}{% endfor %}";
static const char broken_text[] = "{% for m in messages %}{{ m.content }}";
static const char context_text[] = "{\"messages\":[{\"role\":\"user\",\"content\":\" hello \"},"
                                   "{\"role\":\"assistant\",\"content\":\"w\xC3\xB6rld\"}]}";
static const char render_batch[] = "{\"name\":\"a\",\"context\":{\"messages\":[{\"role\":\"user\","
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
static const char judge_text[] = "{\"replies\":[{\"text\":\"Yes.\"}]}";
static const char driven_text[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"},"
    "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\","
    "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},"
    "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"2\"},"
    "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"2\",\"type\":\"function\","
    "\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}}]}]}\n";
static const char conversation[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"},"
    "{\"role\":\"assistant\",\"content\":\"w\xC3\xB6rld\",\"tool_calls\":"
    "[{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
    "\"arguments\":\"{\\\"x\\\":1}\"}}]},"
    "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"2\"},"
    "{\"role\":\"assistant\",\"content\":\"two\"},"
    "{\"role\":\"user\",\"content\":\"more\"},"
    "{\"role\":\"assistant\",\"content\":\"less\"}]}\n";

/* A tool server: each answer has the id of its question. */
static const char server_text[] =
    "while read -r l; do\n"
    "id=${l#*\\\"id\\\":}; id=${id%%[,\\}]*}\n"
    "a=\"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$id\"\n"
    "case $l in\n"
    "*server/discover*) echo \"$a,\\\"error\\\":{\\\"code\\\":-32601,"
    "\\\"message\\\":\\\"no\\\"}}\";;\n"
    "*\\\"initialize\\\"*) echo \"$a,\\\"result\\\":{\\\"protocolVersion\\\":"
    "\\\"2025-11-25\\\",\\\"capabilities\\\":{\\\"tools\\\":{}},"
    "\\\"serverInfo\\\":{\\\"name\\\":\\\"s\\\",\\\"version\\\":\\\"1\\\"}}}\""
    ";;\n"
    "*tools/list*) echo \"$a,\\\"result\\\":{\\\"tools\\\":[{\\\"name\\\":"
    "\\\"echo\\\",\\\"description\\\":\\\"Says it again\\\","
    "\\\"inputSchema\\\":{\\\"type\\\":\\\"object\\\"}}]}}\";;\n"
    "*tools/call*) echo \"$a,\\\"result\\\":{\\\"content\\\":[{\\\"type\\\":"
    "\\\"text\\\",\\\"text\\\":\\\"again\\\"}]}}\";;\n"
    "esac; done\n";

static const char raising_text[] = "{% for m in messages %}{% if m.content == 'hello' %}"
                                   "{{ raise_exception('no greetings') }}{% endif %}{{ m.content }}"
                                   "{% endfor %}";
static const char test_text[] = "template template\n"
                                "context context\n"
                                "test one\n"
                                "prompt contains hello\n"
                                "prompt lacks nothing\n"
                                "reply is\n"
                                "| w\n"
                                "expect contains:w\n";
static const char plan_text[] = "prompts prompts\ntemplate template\n"
                                "template other\nsystem none\n"
                                "system brief Be brief.\n"
                                "sampler greedy tokens=3 temperature=0\n"
                                "check long regex .\n"
                                "check likely likelihood >=-50 b\n";
static const char prompts_text[] =
    "{\"name\":\"a\",\"prompt\":\"hello\",\"system\":\"S\"}\n"
    "{\"name\":\"b\",\"messages\":[{\"role\":\"user\",\"content\":\"c\"}]}"
    "\n";

static int out_fd = -1, real_out = -1, real_err = -1, null_fd = -1;
static char head[CF_UUID_TEXT + 1], run_head[CF_UUID_TEXT + 1], log_head[CF_UUID_TEXT + 1],
    exchange_id[CF_UUID_TEXT + 1];

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
        snprintf(text[argc], sizeof text[argc], "%s%s", is_script ? "script:" : "",
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

/* How a command is tortured; a set of these. */
enum {
    PLAIN = 0,
    WRITES = 1,  /* it changes @scratch, a copy of @db */
    FIGURES = 2, /* its figures differ from run to run: blurred */
    STARTS = 4,  /* it starts programs */
    LONG = 8,    /* it computes, opens and renders much */
    MANY = 16    /* a run is short enough for many */
};

/* Allocations of a command that opens a database and does little with it. */
static size_t n_opening;

/* How many allocations fail at most, one a run; and a sixth more while the database
 * is opened. */
static size_t runs_of(unsigned mode, bool persist)
{
    const char *asked = getenv("CONFAB_TORTURE"); /* for each one: a large N */
    return asked != NULL                    ? strtoul(asked, NULL, 10)
           : (mode & MANY) != 0 && !persist ? MANY_MAX
           : mode != PLAIN                  ? FEW_MAX
           : persist                        ? RUNS_MAX / 3
                                            : RUNS_MAX;
}

static void blur(char *out, size_t *n)
{
    size_t k = 0;
    for (size_t i = 0; i < *n; i++) {
        bool is_figure =
            (out[i] >= '0' && out[i] <= '9') || out[i] == '.' || out[i] == ' ' || out[i] == '-';
        if (!is_figure) {
            out[k++] = out[i];
        } else if (k == 0 || out[k - 1] != '#') {
            out[k++] = '#';
        }
    }
    *n = k;
}

/* A UUID becomes the number of the first place where it is. */
static void number_ids(char *out, size_t *n)
{
    static char seen[IDS_MAX][CF_UUID_TEXT];
    size_t n_seen = 0, k = 0;
    for (size_t i = 0; i < *n;) {
        cf_uuid id;
        if (i + CF_UUID_TEXT > *n || !cf_uuid_parse(&id, out + i, CF_UUID_TEXT)) {
            out[k++] = out[i++];
            continue;
        }
        size_t at = 0;
        while (at < n_seen && memcmp(seen[at], out + i, CF_UUID_TEXT) != 0) {
            at++;
        }
        if (at == n_seen) {
            assert_true(n_seen < IDS_MAX);
            memcpy(seen[n_seen++], out + i, CF_UUID_TEXT);
        }
        i += CF_UUID_TEXT;
        out[k++] = (char)('A' + at);
    }
    *n = k;
}

static void copy_db(void)
{
    static const char *const ends[] = {"scratch", "scratch-wal", "scratch-shm"};
    cf_buf b = CF_BUF_INIT;
    cf_error err;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        (void)remove(store_dir_file(ends[i]));
    }
    T_OK(cf_os_read_file(&b, store_dir_file("db"), 1 << 24, &err), err);
    T_OK(cf_os_write_file(store_dir_file("scratch"), b.p, b.n, 0600, &err), err);
    cf_buf_deinit(&b);
}

/* One run with what is compared: its output, and the history after it. */
static int run_as(const char *const *words, unsigned mode, size_t nth, bool persist, char *out,
                  size_t *n, bool *fired)
{
    const bool copies = strcmp(words[1], "backup") == 0;
    const char *const export_all[] = {
        "history", "export", "-a", "-f", "confab", "--db", copies ? "@copy" : "@scratch", NULL};
    if ((mode & WRITES) != 0) {
        copy_db();
    }
    (void)remove(store_dir_file("copy")); /* of db backup */
    if (nth > 0) {
        cf_fault_arm(nth, persist);
    }
    int status = run(words, out, n);
    *fired = nth > 0 && cf_fault_disarm();
    if ((mode & WRITES) != 0 && status <= CF_EXIT_FINDING) {
        static char after[OUT_MAX];
        size_t n_after;
        assert_int_equal(run(export_all, after, &n_after), CF_EXIT_OK);
        assert_true(*n + n_after <= OUT_MAX);
        memcpy(out + *n, after, n_after);
        *n += n_after;
        number_ids(out, n);
    }
    if ((mode & FIGURES) != 0) {
        blur(out, n);
    }
    return status;
}

/* The n-th allocation fails, and with `persist` all after it. */
static void torture(const char *const *words, int want_status, bool persist, unsigned mode)
{
    static char want[OUT_MAX + 1], out[OUT_MAX + 1];
    size_t n_want, n;
    bool fired;
    redirect(true);
    /* What is made once is made now. */
    (void)run_as(words, mode, 0, false, want, &n_want, &fired);
    int good = run_as(words, mode, 0, false, want, &n_want, &fired);
    if ((mode & WRITES) != 0) {
        copy_db();
    }
    (void)remove(store_dir_file("copy"));
    size_t before = cf_fault_total();
    (void)run(words, out, &n);
    size_t n_allocs = cf_fault_total() - before;
    size_t runs = runs_of(mode, persist);
    size_t opening = 0;
    for (size_t i = 0; words[i] != NULL; i++) {
        opening = strcmp(words[i], "--db") == 0 && n_opening < n_allocs ? n_opening : opening;
    }
    size_t step = (n_allocs - opening) / runs + 1, far = opening / (runs / 6 + 1) + 1;
    size_t wrong = 0;
    int status = 0;
    for (size_t nth = 1; wrong == 0; nth += nth < opening ? far : step) {
        status = run_as(words, mode, nth, persist, out, &n, &fired);
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
        size_t at = 0;
        while (at < n && at < n_want && out[at] == want[at]) {
            at++;
        }
        size_t from = at < 100 ? 0 : at - 100;
        fail_msg("%s %s %s: allocation %zu of %zu failed: status %d, want %d; "
                 "%zu and %zu bytes, different at %zu:\n%.300s\nwant\n%.300s",
                 words[0], words[1], words[2] != NULL ? words[2] : "", wrong, n_allocs, status,
                 good, n, n_want, at, out + from, want + from);
    }
    if (good != want_status || (n_want == 0 && (mode & WRITES) == 0)) {
        fail_msg("%s %s: status %d, want %d; %zu bytes", words[0], words[1], good, want_status,
                 n_want);
    }
}

static void each(const char *const (*runs)[ARGS_MAX], size_t n_runs, int status, unsigned mode)
{
    for (size_t i = 0; i < n_runs; i++) {
        torture(runs[i], status, false, mode);
        torture(runs[i], status, true, mode);
    }
}

#define EACH_AS(runs, status, mode) each(runs, sizeof(runs) / sizeof((runs)[0]), status, mode)
#define EACH(runs, status)          EACH_AS(runs, status, PLAIN)

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
        {"history", "export", head, "-f", "sharegpt", "--db", "@db"},
        {"history", "export", head, "-f", "converse", "--db", "@db"},
        {"history", "export", head, "-f", "litert", "--db", "@db"},
        {"history", "export", head, "-f", "llama-app", "--db", "@db"},
        {"history", "search", "hello", "--db", "@db"},
        {"history", "raw", exchange_id, "request", "--db", "@traffic"},
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
        {"diff", "-a", "@template", "-b", "@other", "--side", "@context"},
        {"diff", "-a", "@template", "-b", "@other", "--level", "tokens", "-m", "@vocab",
         "@context"},
        {"diff", "-a", "@template", "-b", "@other", "--level", "source"},
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

static void test_torture__changes(void **state)
{
    (void)state;
    const char *const runs[][ARGS_MAX] = {
        {"history", "import", "@conversation", "--db", "@scratch"},
        {"history", "truncate", head, "--turns", "2", "--yes", "--db", "@scratch"},
        {"history", "fork", head, "--db", "@scratch"},
        {"history", "title", head, "A title", "--db", "@scratch"},
        {"history", "tag", head, "a", "b", "--db", "@scratch"},
        {"history", "tag", head, "greeting", "--remove", "--db", "@scratch"},
        {"history", "rm", head, "--db", "@scratch"},
        {"history", "rm", head, "--purge", "--db", "@scratch"},
        {"history", "undo", "--db", "@scratch"},
        {"db", "backup", "@copy", "--db", "@scratch"},
    };
    static const char *const timed[][ARGS_MAX] = {
        {"run", "-m", "script:@script", "--db", "@scratch", "hi"},
    };
    EACH_AS(runs, CF_EXIT_OK, WRITES);
    EACH_AS(timed, CF_EXIT_OK, WRITES | FIGURES);
}

static void test_torture__replay(void **state)
{
    (void)state;
    const char *const runs[][ARGS_MAX] = {
        {"replay", run_head, "-m", "@tiny", "--db", "@runs"},
        {"replay", run_head, "-m", "@tiny", "--db", "@runs", "--json"},
    };
    EACH(runs, CF_EXIT_OK);
}

static void test_torture__bench(void **state)
{
    (void)state;
    static const char *const runs[][ARGS_MAX] = {
        {"bench", "-m", "@tiny", "-p", "8", "-n", "4", "-r", "1"},
        {"bench", "-m", "@tiny", "-p", "8", "-n", "4", "-r", "1", "--json"},
    };
    EACH_AS(runs, CF_EXIT_OK, FIGURES);
}

static void test_torture__mcp(void **state)
{
    (void)state;
    static const char *const runs[][ARGS_MAX] = {
        {"mcp", "list", "--mcp", "@servers", "--yes", "--db", "@db"},
        {"mcp", "list", "--mcp", "@servers", "--yes", "--json", "--db", "@db"},
        {"mcp", "call", "echo", "{}", "--mcp", "@servers", "--yes", "--db", "@db"},
    };
    static const char *const logs[][ARGS_MAX] = {
        {"mcp", "log", log_head, "--db", "@logs"},
        {"mcp", "log", log_head, "--db", "@logs", "--json"},
    };
    EACH_AS(runs, CF_EXIT_OK, STARTS);
    EACH(logs, CF_EXIT_OK);
}

/* What studies find out about a stored reply, its prompt, and many replies. */
static void test_torture__studies(void **state)
{
    (void)state;
    const char *const runs[][ARGS_MAX] = {
        {"test", "@tests"},
        {"test", "@tests", "--json"},
        {"influence", run_head, "-m", "@tiny", "-t", "@template", "--db", "@runs", "--json"},
        {"influence", run_head, "-m", "@tiny", "-t", "@template", "--by", "word", "--db", "@runs"},
        {"influence", run_head, "-m", "@tiny", "-t", "@template", "--instead", "w", "--db", "@runs",
         "--json"},
        {"influence", run_head, "-m", "@tiny", "-t", "@template", "--budget", "9", "--by", "word",
         "--db", "@runs", "--json"},
        {"guard", "-m", "@tiny", "-t", "@template", "--db", "@runs", "--json", "@driven"},
        {"guard", "-m", "@tiny", "-t", "@template", "--db", "@runs", "@driven"},
        {"inside", "lens", run_head, "-m", "@tiny", "-t", "@template", "--db", "@runs", "--json"},
        {"inside", "attention", run_head, "-m", "@tiny", "-t", "@template", "--db", "@runs"},
        {"inside", "margin", run_head, "-m", "@tiny", "-t", "@template", "--db", "@runs"},
        {"inside", "without", run_head, "-m", "@tiny", "-t", "@template", "--db", "@runs",
         "--json"},
        {"report", run_head, "-m", "@tiny", "-t", "@template", "--db", "@runs", "-o", "-"},
        {"report", head, "-m", "@tiny", "-t", "@template", "--db", "@db", "-o", "-"},
    };
    const char *const figures[][ARGS_MAX] = {
        {"compare", "-m", "@tiny", "--with-load-as", "q8_0", "-n", "8", "--db", "@runs", "--json"},
        {"compare", "-m", "@tiny", "--with-load-as", "q8_0", "-n", "8", "--db", "@runs"},
        {"shrink", head, "-t", "@raising", "--while", "template-error", "--db", "@db", "-o",
         "@shrunk"},
        {"shrink", head, "-m", "@tiny", "-t", "@template", "--while", "reply:.", "-n", "2", "--db",
         "@db", "-o", "@shrunk"},
        {"bisect", head, "--while", "template-error", "--good", "@other", "--bad", "@raising",
         "--db", "@db"},
        {"sweep", "@plan", "-m", "@tiny", "--no-store", "--json"},
        {"sweep", "@plan", "-m", "@tiny", "--no-store"},
    };
    static const char *const each_cell[][ARGS_MAX] = {
        {"sweep", "@small", "-m", "script:@script", "--no-store", "--json"},
    };
    const char *const compared[][ARGS_MAX] = {
        {"diff", "-a", "@template", "-b", "@other", "--replies", "-m", "@tiny", "-n", "3",
         "@context"},
        {"diff", "-a", "@template", "-b", "@other", "--all", "--db", "@db"},
        {"diff", "-a", "@template", "-b", "@other", "--all", "--likelihood", "-m", "@tiny", "--db",
         "@runs", "--json"},
    };
    EACH_AS(runs, CF_EXIT_OK, LONG);
    EACH_AS(compared, CF_EXIT_FINDING, FIGURES);
    EACH_AS(figures, CF_EXIT_OK, FIGURES);
    EACH_AS(each_cell, CF_EXIT_OK, FIGURES | MANY);
}

static void test_torture__media(void **state)
{
    (void)state;
    static const char *const runs[][ARGS_MAX] = {
        {"media", "-m", "@tiny", "--mmproj", "@mmproj", "@picture.png"},
        {"media", "-m", "@tiny", "--mmproj", "@mmproj", "--json", "@picture.png"},
    };
    EACH_AS(runs, CF_EXIT_OK, FIGURES);
}

static void test_torture__small(void **state)
{
    (void)state;
    static const char *const runs[][ARGS_MAX] = {
        {"version", "--json"},
        {"paths", "--json"},
        {"completion", "bash"},
        {"help", "run"},
        {"db", "check", "--db", "@db"},
        {"db", "path", "--db", "@db"},
        {"models", "@models"},
        {"models", "--json", "@models"},
        {"models", "--names", "@models"},
        {"watch", "--once", "--db", "@traffic"},
        {"watch", "--once", "--json", "--db", "@traffic"},
    };
    EACH(runs, CF_EXIT_OK);
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
    cf_error err;
    void *bytes = cf_tiny_gguf(&(cf_tiny_options){.seed = 5}, &n);
    write_file("tiny", bytes, n);
    T_OK(cf_os_make_dirs(store_dir_file("models"), &err), err);
    write_file("models/a.gguf", bytes, n);
    cf_tiny_free(bytes);
}

/* A projector of the small model's width, and a picture. */
static void write_media(void)
{
    cf_tiny_buf b = cf_tiny_vision("gemma3", CF_TINY_VISION_TENSORS, 2, 64);
    write_file("mmproj", (const char *)b.p, b.n);
    cf_tiny_free(b.p);
    cf_buf png = CF_BUF_INIT;
    cf_error err;
    static const unsigned char rgb[4 * 4 * 3] = {200, 30, 30, 30, 200, 30};
    T_OK(cf_png_write(&png, rgb, 4, 4, &err), err);
    write_file("picture.png", png.p, png.n);
    cf_buf_deinit(&png);
}

static void write_servers(void)
{
    cf_buf text = CF_BUF_INIT;
    cf_buf_addf(&text,
                "{\"mcpServers\":{\"s\":{\"command\":\"sh\",\"args\":[\"%s\"]}"
                "}}",
                store_dir_file("server"));
    write_file("server", server_text, sizeof server_text - 1);
    write_file("servers", text.p, text.n);
    cf_buf_deinit(&text);
}

/* A plan with a check of each kind that a script's replies can have. */
static void write_plan(void)
{
    cf_buf text = CF_BUF_INIT;
    cf_buf_addf(&text,
                "prompts prompts\n"
                "check long regex .\n"
                "check some contains-any answer, reply\n"
                "check no not-json\n"
                "check judged judge script:%s Is it short?\n",
                store_dir_file("judge"));
    write_file("small", text.p, text.n);
    cf_buf_deinit(&text);
    write_file("judge", judge_text, sizeof judge_text - 1);
}

static void count_opening(void)
{
    static const char *const list[] = {"history", "list", "--db", "@db", NULL};
    static char out[OUT_MAX];
    size_t n, before = 0;
    redirect(true);
    for (int i = 0; i < 2; i++) { /* what is made once is made the first time */
        before = cf_fault_total();
        assert_int_equal(run(list, out, &n), CF_EXIT_OK);
    }
    n_opening = cf_fault_total() - before;
    redirect(false);
}

/* The newest conversation of a database. */
static void find_head(char out[CF_UUID_TEXT + 1], const char *db)
{
    cf_error err;
    cf_store *s;
    cf_arena arena;
    const cf_store_conv *rows;
    size_t n = 0;
    const cf_store_options how = {.flags = CF_STORE_READ_ONLY};
    T_OK(cf_store_open(&s, store_dir_file(db), &how, &err), err);
    cf_arena_init(&arena, 0);
    T_OK(cf_store_list(s, &(cf_store_query){.limit = 1}, &arena, &rows, &n, &err), err);
    assert_int_equal(n, 1);
    cf_uuid_format(out, rows[0].id);
    cf_arena_deinit(&arena);
    cf_store_close(s);
}

static void write_traffic(void)
{
    cf_error err;
    cf_store *s;
    cf_exchange e = cf_exchange_none();
    e.id = cf_uuid_new();
    cf_uuid_format(exchange_id, e.id);
    e.started_ms = 1767323045000;
    e.total_us = 5;
    e.status = 200;
    e.method = cf_str_from("POST");
    e.path = cf_str_from("/v1/chat/completions");
    e.client = e.model = cf_str_from("m\xC3\xB6");
    e.api = cf_str_from("openai-chat");
    e.findings = cf_str_from("[{\"kind\":\"cut\",\"text\":\"it was cut\"}]");
    e.request = e.response = cf_str_from("{}");
    const cf_store_options how = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&s, store_dir_file("traffic"), &how, &err), err);
    T_OK(cf_store_put_exchange(s, &e, NULL, NULL, 0, &err), err);
    T_OK(cf_store_flush(s, 10000, &err), err);
    cf_store_close(s);
}

/* A reply of the small model, and one beside a tool server. */
static void write_runs(void)
{
    static const char *const reply[] = {"run", "-m",       "@tiny", "-t",    "@template", "-n",
                                        "4",   "--greedy", "--db",  "@runs", "ab",        NULL};
    static const char *const logged[] = {"run",   "-m",   "script:@script", "--mcp", "@servers",
                                         "--yes", "--db", "@logs",          "hi",    NULL};
    static char out[OUT_MAX];
    size_t n;
    redirect(true);
    int a = run(reply, out, &n), b = run(logged, out, &n);
    redirect(false);
    assert_int_equal(a, CF_EXIT_OK);
    assert_int_equal(b, CF_EXIT_OK);
    find_head(run_head, "runs");
    find_head(log_head, "logs");
}

static void write_history(void)
{
    cf_error err;
    cf_store *s;
    cf_import_report report;
    cf_import_options opts = {0};
    write_file("conversation", conversation, sizeof conversation - 1);
    const cf_store_options how = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&s, store_dir_file("db"), &how, &err), err);
    opts.tag = "greeting";
    opts.format = CF_FORMAT_OPENAI;
    opts.name = "conversation";
    T_OK(cf_import_file(s, store_dir_file("conversation"), &opts, &report, &err), err);
    cf_store_close(s);
    find_head(head, "db");
}

static int set_up(void **state)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        {"template", template_text}, {"other", other_text},          {"broken", broken_text},
        {"context", context_text},   {"render", render_batch},       {"driven", driven_text},
        {"schema", schema_text},     {"constrain", constrain_batch}, {"token", token_batch},
        {"script", script_text},     {"tests", test_text},           {"raising", raising_text},
        {"plan", plan_text},         {"prompts", prompts_text},
    };
    if (store_dir_make(state) != 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        write_file(files[i].name, files[i].text, strlen(files[i].text));
    }
    write_vocab();
    write_tiny();
    write_media();
    write_history();
    write_traffic();
    real_out = dup(STDOUT_FILENO);
    real_err = dup(STDERR_FILENO);
    null_fd = open("/dev/null", O_WRONLY);
    out_fd = open(store_dir_file("out"), O_RDWR | O_CREAT | O_APPEND, 0600);
    if (out_fd < 0 || null_fd < 0 || real_out < 0) {
        return -1;
    }
    setenv("CONFAB_NOW", "2026-01-02T03:04:05Z", 1);
    setenv("CONFAB_SEED_IDS", "7", 1);
    setenv("HOME", store_dir_file("home"), 1);
    write_servers();
    write_plan();
    write_runs();
    count_opening();
    return 0;
}

static int tear_down(void **state)
{
    close(out_fd);
    close(null_fd);
    close(real_out);
    close(real_err);
    return store_dir_remove(state);
}

/* An argument is a pattern: only these tests run. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_torture__render),
        cmocka_unit_test(test_torture__constrain),
        cmocka_unit_test(test_torture__history),
        cmocka_unit_test(test_torture__tokenize_and_model),
        cmocka_unit_test(test_torture__run_and_score),
        cmocka_unit_test(test_torture__parse_and_diff),
        cmocka_unit_test(test_torture__lint),
        cmocka_unit_test(test_torture__changes),
        cmocka_unit_test(test_torture__replay),
        cmocka_unit_test(test_torture__bench),
        cmocka_unit_test(test_torture__mcp),
        cmocka_unit_test(test_torture__studies),
        cmocka_unit_test(test_torture__media),
        cmocka_unit_test(test_torture__small),
    };
    cf_fault_install();
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
