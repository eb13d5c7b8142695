/*
 * test_complete.c - complete, model and bench over a tiny model in a file.
 */
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 600 /* pseudo-terminals */
#endif

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/os.h"
#include "core/json/json.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

extern char **environ;

enum { N_VOCAB = 320, ID_ESC = 0x1B + 3, ID_A = 'a' + 3 };

static store_path model, vocab, broken, logits, recurrent;

static void write_model(const char *path, const cf_tiny_options *o, size_t cut)
{
    size_t n;
    cf_error err;
    void *bytes = cf_tiny_gguf(o, &n);
    T_OK(cf_os_write_file(path, bytes, n - cut, 0600, &err), err);
    cf_tiny_free(bytes);
}

static int set_up(void **state)
{
    if (store_dir_make(state) != 0) {
        return -1;
    }
    store_dir_path(model, "model.gguf");
    store_dir_path(vocab, "vocab.gguf");
    store_dir_path(broken, "broken.gguf");
    store_dir_path(logits, "logits");
    store_dir_path(recurrent, "recurrent.gguf");
    const cf_tiny_options whole = {.n_ctx = 1 << 20, .chat_template = "{{ messages }}"};
    const cf_tiny_options words = {.vocab_only = true};
    write_model(model, &whole, 0);
    write_model(vocab, &words, 0);
    write_model(recurrent, &(cf_tiny_options){.arch = "qwen35"}, 0);
    write_model(broken, &whole, 5000);
    return 0;
}

/* Runs, expects success, and reads the answer as one JSON object. */
static json_t *answer(const char *const *argv)
{
    cf_program p;
    cf_error err;
    json_t *v = NULL;
    cf_program_run(&p, argv, NULL, 0);
    if (p.status != 0) {
        fail_msg("exit %d: %s", p.status, cf_buf_cstr(&p.err));
    }
    T_OK(cf_json_read(&v, cf_buf_cstr(&p.out), p.out.n, &err), err);
    cf_program_deinit(&p);
    return v;
}

#define ANSWER(...) answer((const char *const[]){__VA_ARGS__, NULL})

static void assert_str(const json_t *v, const char *key, const char *want)
{
    cf_str s = cf_json_get_str(v, key);
    assert_non_null(s.p);
    T_TEXT(s.p, s.n, want);
}

/* ---- complete --batch --------------------------------------------------- */

/* A line {"name","ids","n"} whose ids are i * i mod 300 but for the last, `n`
 * to generate. */
static void add_line(cf_buf *b, const char *name, size_t n_ids, int last)
{
    cf_buf_addf(b, "{\"name\":\"%s\",\"n\":3,\"ids\":[", name);
    for (size_t i = 0; i + 1 < n_ids; i++) {
        cf_buf_addf(b, "%zu,", i * i % 300);
    }
    cf_buf_addf(b, "%d]}\n", last);
}

/* The answers to `lines`, one JSON value each, in an array. */
static json_t *batch(const char *path, const cf_buf *lines)
{
    const char *const argv[] = {"complete", "-m",    path,   "--batch", "-",
                                "--greedy", "--ctx", "2000", NULL};
    cf_program p;
    cf_error err;
    json_t *all = json_array();
    cf_program_run(&p, argv, lines->p, lines->n);
    assert_int_equal(p.status, 0);
    if (path == recurrent) {
        assert_non_null(strstr(cf_buf_cstr(&p.err), "longer than the 512"));
    }
    for (const char *at = cf_buf_cstr(&p.out); *at != '\0';) {
        const char *end = strchr(at, '\n');
        json_t *v = NULL;
        assert_non_null(end);
        T_OK(cf_json_read(&v, at, (size_t)(end - at), &err), err);
        json_array_append_new(all, v);
        at = end + 1;
    }
    cf_program_deinit(&p);
    return all;
}

static long long number(const json_t *v, const char *key)
{
    return (long long)json_integer_value(json_object_get(v, key));
}

/* The cache changes no answer, and keeps as much as it can. */
static void check_batch(const char *path, long long step)
{
    static const struct {
        const char *name;
        size_t n;
        int last;
        long long common;
    } lines[] = {{"long", 1300, 5, 0},   {"edited", 1300, 6, 1299}, {"short", 700, 7, 699},
                 {"again", 700, 7, 699}, {"longer", 1300, 5, 699},  {"other", 3, 9, 2}};
    enum { N = sizeof lines / sizeof *lines };
    cf_buf text = CF_BUF_INIT;
    for (size_t i = 0; i < N; i++) {
        add_line(&text, lines[i].name, lines[i].n, lines[i].last);
    }
    cf_buf_adds(&text, "{\"name\":\"bad\",\"n\":1,\"ids\":[-1]}\n");
    json_t *all = batch(path, &text);
    assert_int_equal(json_array_size(all), N + 1);
    for (size_t i = 0; i < N; i++) {
        const json_t *v = json_array_get(all, i);
        long long kept = number(v, "kept");
        assert_str(v, "name", lines[i].name);
        assert_int_equal(kept + number(v, "computed"), lines[i].n);
        assert_true(kept <= lines[i].common);
        assert_true(lines[i].common - kept <= step);
        cf_buf_reset(&text);
        add_line(&text, lines[i].name, lines[i].n, lines[i].last);
        json_t *alone = batch(path, &text);
        const json_t *w = json_array_get(alone, 0);
        assert_true(json_equal(json_object_get(v, "ids"), json_object_get(w, "ids")));
        assert_true(json_equal(json_object_get(v, "logits"), json_object_get(w, "logits")));
        json_decref(alone);
    }
    assert_non_null(json_object_get(json_array_get(all, N), "error"));
    json_decref(all);
    cf_buf_deinit(&text);
}

static void test_complete__batch(void **state)
{
    (void)state;
    NEED_PROGRAM();
    check_batch(model, 0);
    check_batch(recurrent, 500);
}

/* ---- complete ----------------------------------------------------------- */

static void test_complete__ids_and_logits(void **state)
{
    (void)state;
    NEED_PROGRAM();
    json_t *v = ANSWER("complete", "-m", model, "--ids", "1, 100,7", "-n", "6", "--greedy",
                       "--json", "--logits", logits);
    json_t *ids = json_object_get(v, "ids");
    assert_int_equal(json_array_size(json_object_get(v, "prompt_ids")), 3);
    assert_str(v, "sampler", "greedy because temperature=0");
    cf_buf file = CF_BUF_INIT;
    cf_error err;
    T_OK(cf_os_read_file(&file, logits, SIZE_MAX, &err), err);
    assert_int_equal(file.n, 3 * N_VOCAB * sizeof(float));
    float row[N_VOCAB];
    memcpy(row, file.p + 2 * sizeof row, sizeof row);
    int best = 0;
    for (int i = 1; i < N_VOCAB; i++) {
        assert_true(isfinite(row[i]));
        best = row[i] > row[best] ? i : best;
    }
    int first = json_array_size(ids) > 0 ? (int)json_integer_value(json_array_get(ids, 0))
                                         : (int)json_integer_value(json_object_get(v, "end_id"));
    assert_int_equal(first, best);
    json_decref(v);
    cf_buf_deinit(&file);
}

static void test_complete__text_equals_json(void **state)
{
    (void)state;
    NEED_PROGRAM();
    json_t *v = ANSWER("complete", "-m", model, "-n", "20", "--seed", "5", "--suppress", "2",
                       "--json", "some text");
    cf_str text = cf_json_get_str(v, "text");
    cf_program p;
    CF_PROGRAM(&p, "complete", "-m", model, "-n", "20", "--seed", "5", "--suppress", "2",
               "some text");
    assert_int_equal(p.status, 0);
    if (json_object_get(v, "text_hex") == NULL) {
        assert_int_equal(p.out.n, text.n);
        assert_memory_equal(p.out.p, text.p, text.n);
    } else {
        assert_int_equal(cf_json_get_str(v, "text_hex").n, 2 * p.out.n);
    }
    cf_program_deinit(&p);
    cf_program_run(&p,
                   (const char *const[]){"complete", "-m", model, "-n", "20", "--seed", "5",
                                         "--suppress", "2", "--json", NULL},
                   "some text", 9);
    cf_error err;
    json_t *same;
    T_OK(cf_json_read(&same, p.out.p, p.out.n, &err), err);
    assert_true(json_equal(json_object_get(v, "ids"), json_object_get(same, "ids")));
    json_decref(same);
    cf_program_deinit(&p);
    json_decref(v);
}

/* A fresh seed is reported, and leads to the same tokens again. */
static void test_complete__fresh_seed_is_told(void **state)
{
    (void)state;
    NEED_PROGRAM();
    json_t *v =
        ANSWER("complete", "-m", model, "-n", "12", "--temperature", "2", "--ids", "1,5", "--json");
    const char *said = json_string_value(json_object_get(v, "sampler"));
    const char *seed = strstr(said, "seed ");
    assert_non_null(seed);
    json_t *again = ANSWER("complete", "-m", model, "-n", "12", "--temperature", "2", "--ids",
                           "1,5", "--json", "--seed", seed + 5);
    assert_true(json_equal(json_object_get(v, "ids"), json_object_get(again, "ids")));
    json_decref(v);
    json_decref(again);
}

static void test_complete__why_it_stops(void **state)
{
    (void)state;
    NEED_PROGRAM();
    char bias[24];
    snprintf(bias, sizeof bias, "%d=1000", ID_A);
    json_t *v = ANSWER("complete", "-m", model, "--ids", "1", "--greedy", "--logit-bias", bias,
                       "--stop", "xx", "--stop", "aaa", "--json");
    assert_str(v, "stop", "stop string");
    assert_str(v, "stop_text", "aaa");
    assert_str(v, "text", "");
    assert_int_equal(json_array_size(json_object_get(v, "ids")), 3);
    json_decref(v);

    v = ANSWER("complete", "-m", model, "--ids", "1", "--greedy", "--logit-bias", bias, "-n", "0",
               "--json");
    assert_str(v, "stop", "length");
    json_decref(v);

    v = ANSWER("complete", "-m", model, "--ids", "1", "--greedy", "--logit-bias", "2=1000",
               "--json");
    assert_str(v, "stop", "end");
    assert_int_equal(json_integer_value(json_object_get(v, "end_id")), 2);
    assert_int_equal(json_array_size(json_object_get(v, "ids")), 0);
    json_decref(v);

    cf_program p;
    CF_PROGRAM(&p, "complete", "-m", model, "--ids", "1,2,3", "--greedy", "--logit-bias", bias,
               "--ctx", "5");
    assert_int_equal(p.status, 0);
    T_TEXT(p.out.p, p.out.n, "aaa");
    assert_non_null(strstr(cf_buf_cstr(&p.err), "context of 5 tokens"));
    cf_program_deinit(&p);

    CF_PROGRAM(&p, "complete", "-m", model, "--ids", "1,2,3", "--ctx", "2");
    assert_int_equal(p.status, 4);
    assert_int_equal(p.out.n, 0);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "complete", "-m", model, "--ids", "1,320");
    assert_int_equal(p.status, 2);
    cf_program_deinit(&p);
}

static void test_complete__trace(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    CF_PROGRAM(&p, "complete", "-m", model, "--ids", "1,5", "-n", "4", "--top-k", "5", "--top-p",
               "0.9", "--seed", "1", "--suppress", "2", "--trace", "7");
    assert_int_equal(p.status, 0);
    size_t n_lines = 0;
    for (char *line = p.out.p; line < p.out.p + p.out.n; n_lines++) {
        char *end = strchr(line, '\n');
        json_t *v;
        cf_error err;
        T_OK(cf_json_read(&v, line, (size_t)(end - line), &err), err);
        assert_int_equal(json_integer_value(json_object_get(v, "pos")), 2 + n_lines);
        assert_int_equal(json_integer_value(json_object_get(v, "draw")), n_lines);
        json_t *top = json_object_get(v, "top");
        assert_int_equal(json_array_size(top), 7);
        double sum = 0;
        for (size_t i = 0; i < 7; i++) {
            json_t *c = json_array_get(top, i);
            double share = json_number_value(json_object_get(c, "p"));
            sum += share;
            assert_int_equal(share == 0, json_object_get(c, "removed_by") != NULL);
        }
        assert_true(fabs(sum - 1) < 1e-4); /* no more than 5 are left */
        json_t *steps = json_object_get(v, "steps");
        assert_str(json_array_get(steps, 0), "name", "vocabulary");
        assert_str(json_array_get(steps, 1), "name", "suppress");
        assert_str(json_array_get(steps, 2), "name", "top-k");
        assert_str(json_array_get(steps, 3), "name", "top-p");
        assert_int_equal(json_array_size(steps), 5);
        json_decref(v);
        line = end + 1;
    }
    assert_int_equal(n_lines, 4);
    cf_program_deinit(&p);
}

/* ---- terminals and signals ---------------------------------------------- */

static pid_t start(const char *const *argv, int out_fd)
{
    char *args[32];
    size_t n = 0;
    args[n++] = strdup(cf_program_path());
    for (size_t i = 0; argv[i] != NULL; i++) {
        args[n++] = strdup(argv[i]);
    }
    args[n] = NULL;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out_fd, 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    pid_t pid;
    assert_int_equal(posix_spawn(&pid, args[0], &actions, NULL, args, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    while (n > 0) {
        free(args[--n]);
    }
    return pid;
}

/* Escape sequences of a model reach a file as they are, a terminal never. */
static void test_complete__terminal_is_safe(void **state)
{
    (void)state;
    NEED_PROGRAM();
    char bias[24];
    snprintf(bias, sizeof bias, "%d=1000", ID_ESC);
    const char *const argv[] = {"complete", "-m",           model, "--ids",    "1", "-n",
                                "3",        "--logit-bias", bias,  "--greedy", NULL};
    cf_program p;
    cf_program_run(&p, argv, NULL, 0);
    T_TEXT(p.out.p, p.out.n, "\033\033\033");
    cf_program_deinit(&p);

    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0);
    assert_int_equal(grantpt(terminal), 0);
    assert_int_equal(unlockpt(terminal), 0);
    int inside = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    assert_true(inside >= 0);
    pid_t pid = start(argv, inside);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    /* A terminal may hand over what was written in parts. */
    char seen[64];
    size_t n = 0;
    while (n == 0 || (n < sizeof seen && seen[n - 1] != '\n')) {
        ssize_t got = read(terminal, seen + n, sizeof seen - n);
        assert_true(got > 0);
        n += (size_t)got;
    }
    close(inside);
    close(terminal);
    T_TEXT(seen, n, "\\x1b\\x1b\\x1b\r\n");
}

/* The pipe fills before the context does, so the program is at work when it
 * is interrupted. */
static void test_complete__interrupt(void **state)
{
    (void)state;
    NEED_PROGRAM();
    char bias[24];
    snprintf(bias, sizeof bias, "%d=1000", ID_A);
    const char *const argv[] = {"complete", "-m",           model, "--ids",    "1", "--ctx",
                                "1000000",  "--logit-bias", bias,  "--greedy", NULL};
    int fd[2];
    assert_int_equal(pipe(fd), 0);
    assert_int_equal(fcntl(fd[0], F_SETFD, FD_CLOEXEC), 0);
    assert_int_equal(fcntl(fd[1], F_SETFD, FD_CLOEXEC), 0);
    pid_t pid = start(argv, fd[1]);
    close(fd[1]);
    char block[4096];
    assert_true(read(fd[0], block, 1) == 1);
    assert_int_equal(kill(pid, SIGINT), 0);
    ssize_t n;
    while ((n = read(fd[0], block, sizeof block)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            assert_int_equal(block[i], 'a');
        }
    }
    close(fd[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 130);
}

/* ---- model and bench ---------------------------------------------------- */

static void test_model__json(void **state)
{
    (void)state;
    NEED_PROGRAM();
    json_t *v = ANSWER("model", model, "--json", "--ctx", "64");
    assert_str(v, "arch", "llama");
    assert_true(json_is_true(json_object_get(v, "has_weights")));
    assert_int_equal(cf_json_get_str(v, "hash").n, 64);
    assert_true(json_array_size(json_object_get(v, "tensors")) > 10);
    assert_true(json_array_size(json_object_get(v, "metadata")) > 10);
    json_t *plan = json_object_get(v, "plan");
    assert_true(json_integer_value(json_object_get(plan, "session_bytes")) > 0);
    const size_t n_items = json_array_size(json_object_get(plan, "items"));
    json_t *tok = json_object_get(v, "tokenizer");
    assert_int_equal(json_integer_value(json_object_get(tok, "n_vocab")), N_VOCAB);
    assert_int_equal(json_integer_value(json_object_get(tok, "bos")), 1);
    json_t *templates = json_object_get(v, "templates");
    assert_int_equal(json_array_size(templates), 1);
    assert_str(json_array_get(templates, 0), "name", "");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(templates, 0), "bytes")),
                     14);
    json_decref(v);
    cf_program p;
    CF_PROGRAM(&p, "model", "-m", model, "--ctx", "64", "--tensors");
    assert_int_equal(p.status, 0);
    const char *memory = strstr(cf_buf_cstr(&p.out), "\nmemory\n");
    const char *sums = strstr(cf_buf_cstr(&p.out), "\n  a session");
    size_t n_rows = 0;
    assert_true(memory != NULL && sums != NULL);
    for (const char *at = memory; (at = strstr(at, "] ")) != NULL && at < sums; at++) {
        n_rows++;
    }
    assert_int_equal(n_rows, n_items);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "token_embd.weight"));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "chat template   14 bytes"));
    cf_program_deinit(&p);
}

/* All known facts are shown; a file that cannot be used is still an error. */
static void test_model__vocabulary_and_broken(void **state)
{
    (void)state;
    NEED_PROGRAM();
    json_t *v = ANSWER("model", vocab, "--json");
    assert_true(json_is_false(json_object_get(v, "has_weights")));
    assert_null(json_object_get(v, "plan"));
    json_decref(v);
    cf_program p;
    CF_PROGRAM(&p, "model", broken);
    assert_int_equal(p.status, 3);
    assert_non_null(strstr(cf_buf_cstr(&p.err), broken));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "complete", "-m", vocab, "--ids", "1");
    assert_true(p.status == 2 || p.status == 3);
    assert_int_equal(p.out.n, 0);
    cf_program_deinit(&p);
}

static void test_lab__json(void **state)
{
    (void)state;
    NEED_PROGRAM();
    json_t *v = ANSWER("bench", "-m", model, "-p", "8", "-n", "4", "-t", "1", "-r", "2", "--json");
    assert_int_equal(json_integer_value(json_object_get(v, "threads")), 1);
    json_t *prefill = json_object_get(v, "prefill");
    assert_int_equal(json_integer_value(json_object_get(prefill, "tokens")), 8);
    assert_true(json_number_value(json_object_get(prefill, "per_second")) > 0);
    assert_non_null(json_object_get(v, "first_token_ms"));
    assert_non_null(json_object_get(v, "decode"));
    json_decref(v);
    v = ANSWER("bench", "-m", model, "-p", "0", "-n", "2", "-r", "1", "--json");
    assert_null(json_object_get(v, "prefill"));
    json_decref(v);
}

/* The table of options ends with its own: those of the sampler come after. */
static void test_complete__lists_its_options(void **state)
{
    (void)state;
    static const char *const names[] = {"--stop-on-loop", "--parts FILE", "--draft N", "--greedy"};
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    cf_program p;
    CF_PROGRAM(&p, "complete", "--help");
    assert_int_equal(p.status, 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_non_null(strstr(cf_buf_cstr(&p.out), names[i]));
    }
    cf_program_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete__lists_its_options),
        cmocka_unit_test(test_complete__batch),
        cmocka_unit_test(test_complete__ids_and_logits),
        cmocka_unit_test(test_complete__text_equals_json),
        cmocka_unit_test(test_complete__fresh_seed_is_told),
        cmocka_unit_test(test_complete__why_it_stops),
        cmocka_unit_test(test_complete__trace),
        cmocka_unit_test(test_complete__terminal_is_safe),
        cmocka_unit_test(test_complete__interrupt),
        cmocka_unit_test(test_model__json),
        cmocka_unit_test(test_model__vocabulary_and_broken),
        cmocka_unit_test(test_lab__json),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
