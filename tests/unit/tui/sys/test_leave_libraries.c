/*
 * test_leave_libraries.c - SIGTERM, SIGHUP and the third ^C end every command
 * within two seconds, although a call of a library never returns.
 *
 * The function of the library is replaced by one that says that it was called,
 * and waits for ever.  It is compiled here and loaded before the library.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/os.h"
#include "tests/support/hf_file.h"
#include "tests/support/program.h"
#include "tests/support/pty.h"
#include "tests/support/seeing_model.h"
#include "tests/support/slow.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tests/support/tiny_audio.h"

/* Two seconds, and what a machine takes that is busy with other tests. */
enum { END_MS = T_IS_SLOW ? 60000 : 20000, WORDS_MAX = 14 };

static const char stub[] =
    "#include <fcntl.h>\n"
    "#include <stdlib.h>\n"
    "#include <unistd.h>\n"
    "void FUNCTION(void);\n"
    "void FUNCTION(void)\n"
    "{\n"
    "    int fd = open(getenv(\"CF_TEST_CALLED\"), O_CREAT | O_WRONLY, 0600);\n"
    "    close(fd);\n"
    "    for (;;) {\n"
    "        pause();\n"
    "    }\n"
    "}\n";

typedef struct job {
    const char *function;         /* of a library, which does not return */
    const char *words[WORDS_MAX]; /* "@x": a file of the test; ID, MODEL */
} job;

static const job jobs[] = {
    {"sqlite3_step", {"run", "-m", "MODEL", "--db", "@h.db", "hi"}},
    {"sqlite3_step", {"history", "list", "--db", "@h.db"}},
    {"sqlite3_step", {"history", "search", "--db", "@h.db", "hi"}},
    {"sqlite3_step", {"history", "show", "--db", "@h.db", "ID"}},
    {"sqlite3_step", {"history", "export", "--db", "@h.db", "--all"}},
    {"sqlite3_step", {"history", "import", "--db", "@h.db", "@one.json"}},
    {"sqlite3_step", {"db", "check", "--db", "@h.db"}},
    {"sqlite3_step", {"db", "backup", "--db", "@h.db", "@copy.db"}},
    {"sqlite3_step", {"replay", "--db", "@h.db", "ID"}},
    {"sqlite3_step", {"report", "--db", "@h.db", "-o", "-", "ID"}},
    {"sqlite3_step", {"influence", "--db", "@h.db", "ID"}},
    {"sqlite3_step", {"guard", "--db", "@h.db", "ID"}},
    {"sqlite3_step",
     {"bisect", "--db", "@h.db", "--while", "contains:Yes", "--good", "chatml", "--bad", "llama3",
      "ID"}},
    {"sqlite3_step", {"shrink", "--db", "@h.db", "--while", "contains:Yes", "-o", "@shrunk", "ID"}},
    {"sqlite3_step",
     {"compare", "--db", "@h.db", "-m", "@seeing.gguf", "--with", "@hearing.gguf", "ID"}},
    {"sqlite3_step", {"sweep", "--db", "@h.db", "@plan.txt"}},
    {"sqlite3_step", {"watch", "--once", "--db", "@h.db"}},
    {"sqlite3_step", {"serve", "--listen", "127.0.0.1:0", "--db", "@h.db"}},
    {"sqlite3_step",
     {"proxy", "--to", "http://127.0.0.1:9", "--listen", "127.0.0.1:0", "--db", "@h.db"}},
    {"sqlite3_step", {"mcp", "log", "--db", "@h.db", "ID"}},
    {"json_loadb", {"render", "-t", "chatml", "@one.json"}},
    {"json_loadb", {"diff", "-a", "chatml", "-b", "llama3", "@one.json"}},
    {"json_loadb", {"lint", "@tokenizer"}},
    {"json_loadb", {"constrain", "--schema", "@one.json", "{}"}},
    {"json_loadb", {"tokenize", "-m", "@tokenizer", "hi"}},
    {"json_loadb", {"model", "@tokenizer"}},
    {"json_loadb", {"sweep", "--no-store", "@plan.txt"}},
    {"json_loadb", {"test", "@a.test"}},
    {"json_loadb", {"mcp", "list", "--yes", "--mcp", "@one.json"}},
    {"json_loadb", {"complete", "--batch", "@one.jsonl"}},
    {"json_loadb", {"constrain", "--batch", "@one.jsonl"}},
    {"json_loadb", {"tokenize", "--batch", "@one.jsonl"}},
    {"json_loadb", {"parse", "--tools", "@one.json", "hi"}},
    {"curl_multi_perform", {"run", "--no-store", "-m", "http://127.0.0.1:9/v1", "hi"}},
    {"curl_multi_perform",
     {"score", "-m", "http://127.0.0.1:9/v1", "--prompt", "a", "--text", "b"}},
    {"curl_multi_perform", {"sweep", "--no-store", "--trust-addresses", "@web.txt"}},
    {"curl_multi_perform", {"mcp", "list", "--yes", "--trust-addresses", "--mcp", "@web.json"}},
    {"pcre2_match_8", {"tokenize", "-m", "@tokenizer", "hi"}},
    {"png_read_row",
     {"media", "-m", "@seeing.gguf", "--mmproj", "@mmproj-seeing.gguf", "@rgb.png"}},
    {"jpeg_read_scanlines",
     {"media", "-m", "@seeing.gguf", "--mmproj", "@mmproj-seeing.gguf", "@base.jpg"}},
    {"WebPIUpdate",
     {"media", "-m", "@seeing.gguf", "--mmproj", "@mmproj-seeing.gguf", "@short.webp"}},
    {"sf_readf_float",
     {"media", "-m", "@hearing.gguf", "--mmproj", "@mmproj-hearing.gguf", "@tone.wav"}},
};

static unsigned n_failed;
static char model[500], id[40], called[600];

/* The replacement of a function, loaded by every program that is started. */
static void replace(const char *function)
{
    char command[2400], path[600];
    struct stat s;
    snprintf(command, sizeof command, "%s.so", function);
    snprintf(path, sizeof path, "%s", store_dir_file(command));
    if (stat(path, &s) != 0) {
        snprintf(command, sizeof command, "cc -shared -fPIC -DFUNCTION=%s -o '%s' '%s'", function,
                 path, store_dir_put_text("stub.c", stub));
        assert_int_equal(system(command), 0); /* NOLINT(concurrency-mt-unsafe) */
    }
    setenv("LD_PRELOAD", path, 1);
    unlink(called);
}

static void put_words(store_path text[], char *argv[], const job *j)
{
    for (size_t i = 0; i < WORDS_MAX && j->words[i] != NULL; i++) {
        const char *word = j->words[i];
        argv[i] = text[i];
        if (word[0] == '@') {
            store_dir_path(text[i], word + 1);
        } else {
            snprintf(text[i], sizeof text[i], "%s",
                     strcmp(word, "ID") == 0      ? id
                     : strcmp(word, "MODEL") == 0 ? model
                                                  : word);
        }
    }
}

static pid_t start(const job *j)
{
    store_path text[WORDS_MAX];
    char program[] = "confab", *argv[WORDS_MAX + 2] = {program};
    put_words(text, argv + 1, j);
    replace(j->function);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        int out = open(store_dir_file("output"), O_CREAT | O_TRUNC | O_WRONLY, 0600);
        (void)dup2(null, STDIN_FILENO);
        (void)dup2(out, STDOUT_FILENO);
        (void)dup2(out, STDERR_FILENO);
        execv(cf_program_path(), argv);
        _exit(127);
    }
    unsetenv("LD_PRELOAD");
    return pid;
}

static bool has_ended(pid_t pid, int *status)
{
    return waitpid(pid, status, WNOHANG) == pid;
}

/* Says what went wrong; the other jobs are tried all the same. */
static uint64_t fail_for(const job *j, pid_t pid, const char *what)
{
    cf_buf out = CF_BUF_INIT;
    cf_error err;
    kill(pid, SIGKILL);
    n_failed++;
    cf_status st = cf_os_read_file(&out, store_dir_file("output"), 1 << 20, &err);
    print_error("%s in %s %s: %s: %s\n", j->function, j->words[0], j->words[1], what,
                st == CF_OK ? cf_buf_cstr(&out) : err.text);
    cf_buf_deinit(&out);
    return 0;
}

/* Runs a job until it is in the library, and ends it. */
static uint64_t end(const job *j, int signal_number, int times)
{
    int status = 0;
    pid_t pid = start(j);
    for (int ms = 0; access(called, F_OK) != 0; ms += 5) {
        if (has_ended(pid, &status)) {
            return fail_for(j, pid, "ended without the library");
        }
        if (ms > END_MS) {
            return fail_for(j, pid, "never in the library");
        }
        usleep(5000);
    }
    uint64_t began = cf_os_monotonic_us();
    for (int i = 0; i < times; i++) {
        kill(pid, signal_number);
        usleep(20000); /* else they are one */
    }
    for (int ms = 0; !has_ended(pid, &status); ms += 5) {
        if (ms > END_MS) {
            return fail_for(j, pid, "did not end");
        }
        usleep(5000);
    }
    return cf_os_monotonic_us() - began;
}

static void test_leave__libraries(void **state)
{
    (void)state;
    static const struct {
        int number, times;
    } ways[] = {{SIGTERM, 1}, {SIGHUP, 1}, {SIGINT, 3}};
    uint64_t most = 0;
    NEED_PROGRAM();
    if (T_IS_SLOW) {
        T_SKIP("a sanitizer has to be the first library");
    }
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        /* All three for the first job of a library, then one in turn. */
        bool is_first = i == 0 || strcmp(jobs[i].function, jobs[i - 1].function) != 0;
        for (size_t w = 0; w < 3; w++) {
            if (is_first || w == i % 3) {
                uint64_t took = end(&jobs[i], ways[w].number, ways[w].times);
                most = took > most ? took : most;
            }
        }
    }
    print_message("left after %.2f s at most\n", (double)most / 1e6);
    assert_int_equal(n_failed, 0);
}

/* The workbench on its terminal: by signals, by keys. */
static void test_leave__libraries_in_the_workbench(void **state)
{
    (void)state;
    static const char *const functions[] = {"sqlite3_step", "json_loadb"};
    static const int signals[] = {SIGTERM, SIGHUP, 0};
    NEED_TERMINALS();
    if (T_IS_SLOW) {
        T_SKIP("a sanitizer has to be the first library");
    }
    for (size_t i = 0; i < 6; i++) {
        cf_pty t;
        store_path db;
        store_dir_path(db, "chat.db");
        const char *const words[] = {"chat", "-m", model, "--db", db, "--no-examples", NULL};
        replace(functions[i / 3]);
        cf_pty_start(&t, 100, 30, words, "xterm-256color");
        unsetenv("LD_PRELOAD");
        for (int ms = 0; access(called, F_OK) != 0; ms += 20) {
            assert_in_range(ms, 0, END_MS);
            (void)cf_pty_pump(&t, 20);
        }
        for (int k = 0; signals[i % 3] == 0 && k < 3; k++) {
            cf_pty_type(&t, "\003");
            (void)cf_pty_pump(&t, 100);
        }
        if (signals[i % 3] != 0) {
            kill(t.pid, signals[i % 3]);
        }
        (void)cf_pty_finish_in(&t, END_MS);
    }
}

static bool copy(const char *folder, const char *name)
{
    char path[200];
    cf_buf b = CF_BUF_INIT;
    cf_error err;
    snprintf(path, sizeof path, "tests/fuzz/corpus/%s/%s", folder, name);
    bool ok = cf_os_read_file(&b, path, 1 << 20, &err) == CF_OK &&
              cf_seeing_put(store_dir_file(name), b.p, b.n);
    cf_buf_deinit(&b);
    return ok;
}

static bool write_models(void)
{
    cf_buf b = CF_BUF_INIT;
    store_path path, projector, other;
    size_t n;
    store_dir_path(path, "seeing.gguf");
    store_dir_path(projector, "mmproj-seeing.gguf");
    store_dir_path(other, "mmproj-hearing.gguf");
    bool ok = cf_seeing_write(path, projector, other);
    cf_tiny_buf audio = cf_tiny_audio("gemma4a", NULL);
    ok = ok && cf_seeing_put(other, audio.p, audio.n);
    cf_tiny_free(audio.p);
    const cf_tiny_options tiny = {.n_embd = 8, .seed = 1, .chat_template = "{{ 1 }}"};
    void *bytes = cf_tiny_gguf(&tiny, &n);
    ok = ok && cf_seeing_put(store_dir_file("hearing.gguf"), bytes, n);
    cf_tiny_free(bytes);
    ok = ok && mkdir(store_dir_file("tokenizer"), 0700) == 0;
    cf_hf_file(&b, CF_HF_BYTES);
    ok = ok && cf_seeing_put(store_dir_file("tokenizer/tokenizer.json"), b.p, b.n);
    cf_buf_deinit(&b);
    return ok && copy("picture", "rgb.png") && copy("picture", "base.jpg") &&
           copy("picture", "short.webp") && copy("sound", "tone.wav");
}

static int set_up(void **state)
{
    cf_program p;
    if (store_dir_make(state) != 0 || cf_program_path() == NULL) {
        return cf_program_path() == NULL ? 0 : -1;
    }
    snprintf(called, sizeof called, "%s", store_dir_file("called"));
    setenv("CF_TEST_CALLED", called, 1);
    setenv("HOME", store_dir_file("."), 1);
    snprintf(model, sizeof model, "script:%s",
             store_dir_put_text("script.json", "{\"replies\":[{\"text\":\"Yes.\"}]}"));
    store_dir_put_text("one.json", "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}");
    store_dir_put_text("one.jsonl", "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}\n");
    store_dir_put_text("plan.txt", "prompts one.jsonl\nmodel script:script.json\n");
    store_dir_put_text("web.txt", "prompts one.jsonl\nmodel http://127.0.0.1:9/v1\n");
    store_dir_put_text("web.json", "{\"mcpServers\":{\"x\":{\"url\":\"http://127.0.0.1:9/mcp\"}}}");
    store_dir_put_text("a.test", "context one.json\nmodel script:script.json\ntest t\n"
                                 "reply made\nexpect contains:Yes\n");
    store_path db;
    store_dir_path(db, "h.db");
    CF_PROGRAM(&p, "run", "-m", model, "--db", db, "hi");
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "history", "list", "--ids", "--db", db);
    snprintf(id, sizeof id, "%.36s", cf_buf_cstr(&p.out));
    cf_program_deinit(&p);
    return write_models() ? 0 : -1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leave__libraries),
        cmocka_unit_test(test_leave__libraries_in_the_workbench),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
