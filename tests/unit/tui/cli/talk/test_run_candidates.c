/*
 * test_run_candidates.c - several replies side by side are those of single
 * runs, and drafts change nothing but the number of passes.
 */
#include "tests/support/t.h"

#include <unistd.h>

#include "core/base/os.h"
#include "core/json/json.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_gguf.h"

static char model[128], plain[128], database[128], schema[128];

/* A tiny model with a template that writes contents. */
static int write_model(const char *path, const char *arch)
{
    const cf_tiny_options o = {.arch = arch,
                               .n_ctx = 1024,
                               .chat_template =
                                   "{% for m in messages %}{{ m.content }}{% endfor %}"};
    size_t n;
    cf_error err;
    void *bytes = cf_tiny_gguf(&o, &n);
    cf_status st = cf_os_write_file(path, bytes, n, 0600, &err);
    cf_tiny_free(bytes);
    return st == CF_OK ? 0 : -1;
}

static int set_up(void **state)
{
    if (store_dir_make(state) != 0) {
        return -1;
    }
    snprintf(model, sizeof model, "%s", store_dir_file("model.gguf"));
    snprintf(plain, sizeof plain, "%s", store_dir_file("plain.gguf"));
    snprintf(database, sizeof database, "%s", store_dir_file("c.db"));
    snprintf(schema, sizeof schema, "%s", store_dir_file("schema.json"));
    return write_model(model, "qwen35") | write_model(plain, "qwen3");
}

/* The members of events that a reply consists of, as text: of one candidate,
 * or of a run without candidates (-1). */
static void take_reply(cf_buf *out, const cf_buf *lines, int candidate)
{
    cf_error err;
    const char *p = lines->p, *end = lines->p + lines->n;
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        json_t *ev;
        T_OK(cf_json_read(&ev, p, (size_t)(nl - p), &err), err);
        const json_t *c = json_object_get(ev, "candidate");
        const char *kind = json_string_value(json_object_get(ev, "event"));
        assert_true((c == NULL) == (candidate < 0));
        bool is_mine = c == NULL || json_integer_value(c) == candidate;
        if (is_mine && (strcmp(kind, "token") == 0 || strcmp(kind, "text") == 0)) {
            json_object_del(ev, "candidate");
            json_object_del(ev, "drafted");
            cf_json_write(out, ev);
        } else if (is_mine && strcmp(kind, "stop") == 0) {
            cf_str why = cf_json_get_str(ev, "reason");
            cf_buf_add(out, why.p, why.n);
        }
        json_decref(ev);
        p = nl + 1;
    }
}

/* The seed of a candidate's stop. */
static long long seed_of(const cf_buf *lines, int candidate)
{
    char mark[64];
    snprintf(mark, sizeof mark, "{\"event\":\"stop\",\"candidate\":%d,\"seed\":", candidate);
    const char *at = strstr(lines->p, mark);
    assert_non_null(at);
    return strtoll(at + strlen(mark), NULL, 10);
}

static void test_candidates__are_single_runs(void **state)
{
    (void)state;
    NEED_PROGRAM();
    for (int draft = 0; draft <= 7; draft += 7) {
        char n_draft[16];
        cf_program all;
        snprintf(n_draft, sizeof n_draft, "%d", draft);
        CF_PROGRAM(&all, "run", "--no-store", "--json", "-m", model, "--candidates", "3", "--seed",
                   "41", "--temperature", "1.5", "--top", "3", "--draft", n_draft, "-n", "40",
                   "abc abc abc abc");
        assert_int_equal(all.status, 0);
        cf_buf_cstr(&all.out);
        for (int i = 0; i < 3; i++) {
            char seed[32];
            cf_program one;
            cf_buf a = CF_BUF_INIT, b = CF_BUF_INIT;
            long long number = seed_of(&all.out, i);
            assert_int_equal(number, 41 + i);
            snprintf(seed, sizeof seed, "%lld", number);
            CF_PROGRAM(&one, "run", "--no-store", "--json", "-m", model, "--seed", seed,
                       "--temperature", "1.5", "--top", "3", "--draft", "0", "-n", "40",
                       "abc abc abc abc");
            take_reply(&a, &all.out, i);
            take_reply(&b, &one.out, -1);
            assert_string_equal(cf_buf_cstr(&a), cf_buf_cstr(&b));
            assert_true(a.n > 1000);
            cf_buf_deinit(&a);
            cf_buf_deinit(&b);
            cf_program_deinit(&one);
        }
        cf_program_deinit(&all);
    }
}

/* All of them are siblings in the history. */
static void test_candidates__are_kept(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    CF_PROGRAM(&p, "run", "--db", database, "-m", model, "--candidates", "3", "--seed", "1",
               "--temperature", "1.5", "-n", "9", "hello");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "history", "--db", database, "export", "-a", "-f", "confab");
    assert_int_equal(p.status, 0);
    size_t n = 0;
    for (const char *at = cf_buf_cstr(&p.out); (at = strstr(at, "\"assistant\"")) != NULL; at++) {
        n++;
    }
    assert_int_equal(n, 3);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "run", "--no-store", "-m", model, "--candidates", "33", "x");
    assert_int_equal(p.status, 2);
    cf_program_deinit(&p);
}

/* The second run takes the first one's prompt from the file; a damaged file is
 * named and not used, and the reply is the same each time. */
static void test_prefix__is_kept(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const char *const cached[] = {"\"cached_tokens\":0", "\"cached_tokens\":96",
                                         "\"cached_tokens\":0"};
    char path[160], prompt[120];
    cf_error err;
    cf_buf want = CF_BUF_INIT;
    snprintf(path, sizeof path, "%s.prefixes", database);
    memset(prompt, 'y', sizeof prompt);
    prompt[100] = '\0';
    for (int i = 0; i < 3; i++) {
        cf_program p;
        cf_buf have = CF_BUF_INIT;
        if (i == 2) {
            T_OK(cf_os_write_file(path, "CFPREFIX", 8, 0600, &err), err);
        }
        CF_PROGRAM(&p, "run", "--db", database, "--keep-prefix", "--json", "-m", plain, "--seed",
                   "5", "-n", "12", prompt);
        assert_int_equal(p.status, 0);
        assert_non_null(strstr(cf_buf_cstr(&p.out), cached[i]));
        assert_int_equal(strstr(cf_buf_cstr(&p.err), "not used") != NULL, i == 2);
        take_reply(i == 0 ? &want : &have, &p.out, -1);
        if (i > 0) {
            assert_string_equal(cf_buf_cstr(&have), cf_buf_cstr(&want));
        }
        cf_buf_deinit(&have);
        cf_program_deinit(&p);
    }
    cf_buf_deinit(&want);
}

/* `complete` leaves its prompt in the file, and says the same with it. */
static void test_prefix__of_complete(void **state)
{
    (void)state;
    NEED_PROGRAM();
    char file[160], prompt[120];
    cf_program first, second;
    const char *db = store_dir_file("complete.db");
    snprintf(file, sizeof file, "%s.prefixes", db);
    memset(prompt, 'z', sizeof prompt);
    prompt[100] = '\0';
    assert_int_not_equal(access(file, F_OK), 0);
    CF_PROGRAM(&first, "complete", "--db", db, "--keep-prefix", "-m", plain, "--trace", "3",
               "--seed", "5", "-n", "12", prompt);
    assert_int_equal(first.status, 0);
    assert_int_equal(access(file, F_OK), 0);
    CF_PROGRAM(&second, "complete", "--db", db, "--keep-prefix", "-m", plain, "--trace", "3",
               "--seed", "5", "-n", "12", prompt);
    assert_int_equal(second.status, 0);
    assert_null(strstr(cf_buf_cstr(&second.err), "not used"));
    assert_true(first.out.n > 100);
    assert_string_equal(cf_buf_cstr(&first.out), cf_buf_cstr(&second.out));
    cf_program_deinit(&first);
    cf_program_deinit(&second);
}

/* A reply, constrained or not, is the same with drafts. */
static void check_draft(const char *option, const char *value)
{
    cf_buf want = CF_BUF_INIT;
    for (int draft = 0; draft <= 15; draft += 5) {
        char n_draft[16];
        cf_buf have = CF_BUF_INIT;
        cf_program p;
        snprintf(n_draft, sizeof n_draft, "%d", draft);
        CF_PROGRAM(&p, "run", "--no-store", "--json", "-m", model, "--seed", "4", "--temperature",
                   "0.2", "--top", "5", "--draft", n_draft, "-n", "120", option, value,
                   "abc abc abc abc");
        assert_int_equal(p.status, 0);
        assert_non_null(strstr(cf_buf_cstr(&p.out), "\"n_accepted\":"));
        take_reply(draft == 0 ? &want : &have, &p.out, -1);
        if (draft > 0) {
            assert_string_equal(cf_buf_cstr(&have), cf_buf_cstr(&want));
        }
        cf_buf_deinit(&have);
        cf_program_deinit(&p);
    }
    cf_buf_deinit(&want);
}

static void test_draft__same_events(void **state)
{
    cf_error err;
    static const char text[] = "{\"type\":\"array\",\"items\":{\"enum\":[\"abcabc\",\"abd\",12]},"
                               "\"minItems\":9,\"maxItems\":12}";
    (void)state;
    NEED_PROGRAM();
    T_OK(cf_os_write_file(schema, text, strlen(text), 0600, &err), err);
    check_draft("--stop", "\x7f\x7f");
    check_draft("--regex", "(abc|abd|ab ){10,30}");
    check_draft("--schema", schema);
}

/* The same values in a trace. */
static void test_draft__same_trace(void **state)
{
    cf_buf want = CF_BUF_INIT;
    (void)state;
    NEED_PROGRAM();
    for (int draft = 0; draft <= 15; draft += 3) {
        char n_draft[16];
        cf_program p;
        snprintf(n_draft, sizeof n_draft, "%d", draft);
        CF_PROGRAM(&p, "complete", "-m", model, "--temperature", "0.3", "--seed", "3", "--trace",
                   "8", "-n", "150", "--draft", n_draft, "abcabcabcabcabc");
        assert_int_equal(p.status, 0);
        assert_true(p.out.n > 10000);
        if (draft == 0) {
            cf_buf_add(&want, p.out.p, p.out.n);
        }
        assert_string_equal(cf_buf_cstr(&p.out), cf_buf_cstr(&want));
        cf_program_deinit(&p);
    }
    cf_buf_deinit(&want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_candidates__are_single_runs),
        cmocka_unit_test(test_candidates__are_kept),
        cmocka_unit_test(test_prefix__is_kept),
        cmocka_unit_test(test_prefix__of_complete),
        cmocka_unit_test(test_draft__same_events),
        cmocka_unit_test(test_draft__same_trace),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
