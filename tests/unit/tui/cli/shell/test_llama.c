/*
 * test_llama.c - -m llama:FILE on the command line, with an engine of the tests in
 * the place of llama.cpp (tests/support/helper/fake_engine.c): what is refused, what
 * says which engine computed, and what is left of a reply whose engine ended.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/api/engine.h"
#include "core/base/os.h"
#include "core/base/process.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

static char model[160], db[128];

static int set_up(void **state)
{
    cf_error err;
    cf_engine *engine = NULL;
    size_t n;
    char file[128], n_vocab[24];
    if (store_dir_make(state) != 0) {
        return -1;
    }
    const cf_tiny_options o = {
        .seed = 1, .chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}"};
    void *bytes = cf_tiny_gguf(&o, &n);
    snprintf(file, sizeof file, "%s", store_dir_file("model.gguf"));
    snprintf(db, sizeof db, "%s", store_dir_file("history.db"));
    snprintf(model, sizeof model, "llama:%s", file);
    T_OK(cf_os_write_file(file, bytes, n, 0600, &err), err);
    cf_tiny_free(bytes);
    T_OK(cf_engine_open(&engine, file, &(cf_engine_options){.vocab_only = true}, &err), err);
    snprintf(n_vocab, sizeof n_vocab, "%zu", cf_tokenizer_n_vocab(cf_engine_tokenizer(engine)));
    cf_engine_close(engine);
    setenv("FAKE_VOCAB", n_vocab, 1);
    setenv("FAKE_ENGINE", "", 1);
    setenv("CONFAB_PLUGINS", CF_FAKE_FOLDER, 1);
    return 0;
}

/* Fails unless the program ends with this status and says `want` somewhere. */
#define EXPECT(want_status, want, ...)                                \
    do {                                                              \
        cf_program run_;                                              \
        CF_PROGRAM(&run_, __VA_ARGS__);                               \
        assert_int_equal(run_.status, (want_status));                 \
        assert_true(strstr(cf_buf_cstr(&run_.out), (want)) != NULL || \
                    strstr(cf_buf_cstr(&run_.err), (want)) != NULL);  \
        cf_program_deinit(&run_);                                     \
    } while (0)

static void test_llama__refused(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const char *const options[][2] = {
        {"--kernels", "avx2"},  {"--load-as", "q8_0"}, {"--activations", "16"},
        {"--activations", "8"}, {"--lora", "x"},       {"--steer", "x"},
        {"--draft-model", "x"},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        EXPECT(2, options[i][0], "complete", "-m", model, options[i][0], options[i][1], "a");
    }
    EXPECT(2, "--exact", "complete", "-m", model, "--exact", "a");
    EXPECT(2, "--gpu-layers", "complete", "-m", model + strlen("llama:"), "--gpu-layers", "1", "a");
}

static void test_llama__says_who_computed(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const char engine[] = "\"engine\":\"fake 1.0 (CPU)\"";
    EXPECT(0, "fake 1.0", "version");
    EXPECT(0, "\"engines\":[\"own\",\"fake 1.0\"]", "version", "--json");
    EXPECT(0, engine, "complete", "-m", model, "--json", "-n", "3", "--gpu-layers", "0", "a");
    EXPECT(0, "\"engine\":\"own\"", "complete", "-m", model + strlen("llama:"), "--json", "-n", "3",
           "a");
    EXPECT(0, engine, "bench", "-m", model, "--json", "-p", "4", "-n", "4", "-r", "1");
    EXPECT(0, engine, "run", "-m", model, "--db", db, "--json", "-n", "3", "a");
    EXPECT(0, "fake 1.0 (CPU)", "history", "export", "-f", "confab", "--all", "--db", db);
}

static void test_llama__without_plugin(void **state)
{
    (void)state;
    NEED_PROGRAM();
    setenv("CONFAB_PLUGINS", "/no/such/folder", 1);
    EXPECT(3, "make engine-llama LLAMA=PREFIX", "complete", "-m", model, "a");
    EXPECT(0, "engines      own", "version");
    setenv("CONFAB_PLUGINS", CF_FAKE_FOLDER, 1);
    setenv("FAKE_ENGINE", "broken", 1);
    EXPECT(3, "no model for", "complete", "-m", model, "a");
    setenv("FAKE_ENGINE", "", 1);
}

/* A plug-in that cannot run says why. */
static void test_llama__cannot_run(void **state)
{
    (void)state;
    NEED_PROGRAM();
    setenv("FAKE_ENGINE", "wrong", 1);
    EXPECT(3, "built for fake 1.0, and the library is fake 2.0", "complete", "-m", model, "a");
    EXPECT(0, "built for fake 1.0", "version");
    const char *script = store_dir_put_text(
        "confab-llama", "#!/bin/sh\necho 'undefined symbol: llama_decode' >&2\nexit 127\n");
    char folder[160];
    assert_int_equal(chmod(script, 0700), 0);
    snprintf(folder, sizeof folder, "%s", store_dir_file(""));
    setenv("CONFAB_PLUGINS", folder, 1);
    EXPECT(4, "(status 127): undefined symbol: llama_decode", "complete", "-m", model, "a");
    setenv("CONFAB_PLUGINS", CF_FAKE_FOLDER, 1);
    setenv("FAKE_ENGINE", "", 1);
}

/* The number in a file, once it is there. */
static pid_t wait_for_pid(const char *path)
{
    cf_error err;
    long pid = 0;
    for (int i = 0; i < 1000 && pid == 0; i++) {
        cf_buf text = CF_BUF_INIT;
        poll(NULL, 0, 10);
        pid = cf_os_read_file(&text, path, 16, &err) == CF_OK && text.n > 0 &&
                      text.p[text.n - 1] == '\n'
                  ? strtol(text.p, NULL, 10)
                  : 0;
        cf_buf_deinit(&text);
    }
    return (pid_t)pid;
}

/* Whether a process computes no more; nobody may have waited for it yet. */
static bool has_ended(pid_t pid)
{
    cf_error err;
    char path[40];
    cf_buf text = CF_BUF_INIT;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    bool is_there = cf_os_read_file(&text, path, 4096, &err) == CF_OK;
    bool is_dead = is_there && strstr(cf_buf_cstr(&text), ") Z") != NULL;
    cf_buf_deinit(&text);
    return is_dead || kill(pid, 0) != 0;
}

/* kill -9 of the program ends the helper, which computes at that time. */
static void test_llama__program_killed(void **state)
{
    cf_error err;
    cf_process p;
    char path[160];
    (void)state;
    NEED_PROGRAM();
    const char *const argv[] = {cf_program_path(), "complete", "-m", model, "-n", "100", "a", NULL};
    snprintf(path, sizeof path, "%s", store_dir_file("pid"));
    setenv("FAKE_PID", path, 1);
    setenv("FAKE_ENGINE", "hangs", 1);
    T_OK(cf_process_start(&p, &(cf_process_spec){.argv = argv}, &err), err);
    unsetenv("FAKE_PID");
    setenv("FAKE_ENGINE", "", 1);
    pid_t helper = wait_for_pid(path);
    assert_true(helper > 0);
    poll(NULL, 0, 100);
    assert_false(has_ended(helper));
    assert_int_equal(kill(p.pid, SIGKILL), 0);
    for (int i = 0; i < 500 && !has_ended(helper); i++) {
        poll(NULL, 0, 10);
    }
    assert_true(has_ended(helper));
    cf_process_end(&p, 0);
}

static void test_llama__inside(void **state)
{
    (void)state;
    NEED_PROGRAM();
    EXPECT(0, "\"layers\"", "inside", "lens", "-m", model, "--json", "--ids", "[20,21,22]");
    EXPECT(0, "\"rest\":1", "inside", "attention", "-m", model, "--json", "--ids", "[20,21,22]");
    EXPECT(2, "fake 1.0", "inside", "margin", "-m", model, "--ids", "[20,21,22]");
    setenv("FAKE_ENGINE", "blind", 1);
    EXPECT(3, "it shows nothing", "inside", "attention", "-m", model, "--ids", "[20,21,22]");
    setenv("FAKE_ENGINE", "", 1);
}

/* What one engine answered is not what another one would. */
static void test_llama__sweep(void **state)
{
    (void)state;
    NEED_PROGRAM();
    char text[800];
    store_dir_put_text("prompts.jsonl", "{\"prompt\": \"a\"}\n");
    snprintf(
        text, sizeof text,
        "prompts prompts.jsonl\nmodel %s\nmodel %s\nsampler greedy tokens=4\ncheck c regex .\n",
        model, model + strlen("llama:"));
    const char *plan = store_dir_put_text("plan.txt", text);
    EXPECT(2, "--trust-addresses", "sweep", plan, "--db", db);
    EXPECT(0, "2 cells, 0 of them known before, 0 failed", "sweep", plan, "--db", db,
           "--trust-addresses");
    EXPECT(0, "2 cells, 2 of them known before, 0 failed", "sweep", plan, "--db", db,
           "--trust-addresses");
}

/* The reply up to there is in the history. */
static void test_llama__engine_ended(void **state)
{
    (void)state;
    NEED_PROGRAM();
    setenv("FAKE_ENGINE", "late", 1);
    EXPECT(4, "signal 6", "complete", "-m", model, "-n", "100", "a");
    EXPECT(4, "signal 6", "run", "-m", model, "--db", db, "-n", "100", "the question");
    setenv("FAKE_ENGINE", "", 1);
    EXPECT(0, "the question", "history", "list", "--db", db);
    EXPECT(0, "signal 6", "history", "export", "-f", "confab", "--all", "--db", db);
}

/* An engine does not part from itself, and hashes part from a model at once. */
static void test_llama__where_engines_part(void **state)
{
    cf_program p;
    char id[64];
    (void)state;
    NEED_PROGRAM();
    const char *file = model + strlen("llama:");
    EXPECT(0, "", "run", "-m", file, "--db", db, "-n", "5", "a");
    CF_PROGRAM(&p, "history", "list", "--ids", "--db", db);
    snprintf(id, sizeof id, "%.36s", cf_buf_cstr(&p.out));
    cf_program_deinit(&p);
    EXPECT(0, "own and own do not part in 5 tokens", "bisect", "-m", file, "--db", db, "--good",
           "engine:own", "--bad", "engine:own", id);
    EXPECT(1, "token 1 of 5 parts", "bisect", "-m", file, "--db", db, "--good", "engine:own",
           "--bad", "engine:llama", id);
    EXPECT(1, "\"parted\":true,\"tokens\":5", "bisect", "-m", file, "--db", db, "--good",
           "engine:llama", "--bad", "engine:own", "--json", id);
    EXPECT(2, "engine:own and engine:llama", "bisect", "-m", file, "--db", db, "--good",
           "engine:own", "--bad", "engine:vllm", id);
}

/* llama.cpp itself, where $CONFAB_LLAMA names the folder of its plug-in: the model of
 * the tests by both engines. */
static void test_llama__itself(void **state)
{
    const char *folder = getenv("CONFAB_LLAMA");
    cf_program p;
    char id[64];
    (void)state;
    NEED_PROGRAM();
    if (folder == NULL) {
        T_SKIP("CONFAB_LLAMA is not set");
    }
    setenv("CONFAB_PLUGINS", folder, 1);
    EXPECT(0, "llama.cpp", "run", "-m", model, "--db", db, "--json", "-n", "5", "a");
    CF_PROGRAM(&p, "history", "list", "--ids", "--db", db);
    snprintf(id, sizeof id, "%.36s", cf_buf_cstr(&p.out));
    cf_program_deinit(&p);
    EXPECT(0, "the same 5 tokens, by llama.cpp", "replay", "-m", model, "--db", db, id);
    EXPECT(0, "do not part in 5 tokens", "bisect", "-m", model, "--db", db, "--cache", "f32",
           "--good", "engine:own", "--bad", "engine:llama", id);
    setenv("CONFAB_PLUGINS", CF_FAKE_FOLDER, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_llama__refused, set_up, store_dir_remove),
        cmocka_unit_test_setup_teardown(test_llama__says_who_computed, set_up, store_dir_remove),
        cmocka_unit_test_setup_teardown(test_llama__without_plugin, set_up, store_dir_remove),
        cmocka_unit_test_setup_teardown(test_llama__engine_ended, set_up, store_dir_remove),
        cmocka_unit_test_setup_teardown(test_llama__where_engines_part, set_up, store_dir_remove),
        cmocka_unit_test_setup_teardown(test_llama__cannot_run, set_up, store_dir_remove),
        cmocka_unit_test_setup_teardown(test_llama__program_killed, set_up, store_dir_remove),
        cmocka_unit_test_setup_teardown(test_llama__inside, set_up, store_dir_remove),
        cmocka_unit_test_setup_teardown(test_llama__sweep, set_up, store_dir_remove),
        cmocka_unit_test_setup_teardown(test_llama__itself, set_up, store_dir_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
