/*
 * test_lora.c - --lora on the command line: every command that computes takes
 * it, the history names it, and a replay uses it again.
 */
#include "tests/support/t.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/base/os.h"
#include "core/json/json.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_gguf.h"
#include "tests/support/tiny_lora.h"

static char model[128], one[128], two[128];

static int set_up(void **state)
{
    if (store_dir_make(state) != 0) {
        return -1;
    }
    const cf_tiny_options o = {.seed = 1,
                               .chat_template =
                                   "{% for m in messages %}{{ m.role }}:{{ m.content }}\n"
                                   "{% endfor %}"};
    size_t n;
    cf_error err;
    void *bytes = cf_tiny_gguf(&o, &n);
    snprintf(model, sizeof model, "%s", store_dir_file("model.gguf"));
    snprintf(one, sizeof one, "%s", store_dir_file("one.gguf"));
    snprintf(two, sizeof two, "%s", store_dir_file("two.gguf"));
    cf_status st = cf_os_write_file(model, bytes, n, 0600, &err);
    cf_tiny_free(bytes);
    cf_tiny_lora_write(one, "llama", 1);
    cf_tiny_lora_write(two, "llama", 2);
    return st == CF_OK ? 0 : -1;
}

/* The output of a command that has to succeed; freed by the caller. */
#define OUTPUT(to, ...)                                           \
    do {                                                          \
        cf_program run_;                                          \
        CF_PROGRAM(&run_, __VA_ARGS__);                           \
        assert_int_equal(run_.status, 0);                         \
        snprintf((to), sizeof(to), "%s", cf_buf_cstr(&run_.out)); \
        cf_program_deinit(&run_);                                 \
    } while (0)

static const char *with_scale(char out[160], const char *path, const char *s)
{
    snprintf(out, 160, "%s=%s", path, s);
    return out;
}

/* An adapter changes what is computed, scale 0 does not, and two adapters
 * differ. */
static void test_lora__score(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static char base[8192], none[8192], first[8192], second[8192];
    char zero[160];
    OUTPUT(base, "score", "--json", "-m", model, "--prompt", "Once", "--text", " upon a time");
    OUTPUT(none, "score", "--json", "-m", model, "--lora", with_scale(zero, one, "0"), "--prompt",
           "Once", "--text", " upon a time");
    OUTPUT(first, "score", "--json", "-m", model, "--lora", one, "--prompt", "Once", "--text",
           " upon a time");
    OUTPUT(second, "score", "--json", "-m", model, "--lora", two, "--prompt", "Once", "--text",
           " upon a time");
    assert_null(strstr(base, "\"id\":null")); /* a model's tokens are known */
    assert_non_null(strstr(base, "\"id\":"));
    assert_string_equal(base, none);
    assert_string_not_equal(base, first);
    assert_string_not_equal(first, second);
}

static void test_lora__bench(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static char out[8192];
    char half[160];
    OUTPUT(out, "bench", "-m", model, "--lora", with_scale(half, one, "0.5"), "-p", "8", "-n", "4",
           "-r", "1", "--batch", "2");
    assert_non_null(strstr(out, "one.gguf x 0.5 (rank 4, 6 matrices)"));
}

/* A member of the replies that `diff --json` writes. */
static cf_str reply_of(const json_t *v, size_t side)
{
    return cf_json_get_str(json_array_get(json_object_get(v, "replies"), side), "text");
}

static json_t *diff_with(const char *a, const char *b, int want)
{
    cf_program p;
    cf_error err;
    json_t *v = NULL;
    const char *context = store_dir_file("context.json");
    const char text[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}";
    T_OK(cf_os_write_file(context, text, strlen(text), 0600, &err), err);
    CF_PROGRAM(&p, "diff", "--json", "-m", model, "--lora-a", a, "--lora-b", b, "-n", "16",
               context);
    assert_int_equal(p.status, want);
    T_OK(cf_json_read(&v, p.out.p, p.out.n, &err), err);
    cf_program_deinit(&p);
    return v;
}

/* Two adapters side by side: each side writes what it writes beside any other,
 * and a side beside itself the same. */
static void test_lora__diff(void **state)
{
    (void)state;
    NEED_PROGRAM();
    json_t *ab = diff_with(one, two, 1), *ba = diff_with(two, one, 1);
    json_t *aa = diff_with(one, one, 0);
    assert_true(cf_str_eq(reply_of(ab, 0), reply_of(ba, 1)));
    assert_true(cf_str_eq(reply_of(ab, 1), reply_of(ba, 0)));
    assert_true(cf_str_eq(reply_of(aa, 0), reply_of(ab, 0)));
    assert_true(cf_str_eq(reply_of(aa, 1), reply_of(ab, 0)));
    assert_false(cf_str_eq(reply_of(ab, 0), reply_of(ab, 1)));
    json_decref(ab);
    json_decref(ba);
    json_decref(aa);
    cf_program p;
    CF_PROGRAM(&p, "diff", "-m", model, "--lora", one, "x.json");
    assert_int_equal(p.status, 2);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "--lora-a and --lora-b"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "diff", "-m", model, "--replies", "--all");
    assert_int_equal(p.status, 2);
    cf_program_deinit(&p);
}

/* Commands that do not compute with it refuse it by name; and so do names that
 * are not adapters. */
static void test_lora__refusals(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    CF_PROGRAM(&p, "score", "-m", model, "--lora", model, "--text", "a");
    assert_int_not_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "not an adapter"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "score", "-m", "http://127.0.0.1:1", "--lora", one, "--text", "a");
    assert_int_equal(p.status, 2);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "built-in engine"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "run", "-m", one, "Hi");
    assert_int_not_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "use --lora"));
    cf_program_deinit(&p);
}

/* The reply in the history as `history export` writes it. */
static void reply_id(const char *db, char id[64])
{
    static char out[65536];
    OUTPUT(out, "history", "list", "--json", "--db", db);
    json_t *v = NULL;
    cf_error err;
    char *end = strchr(out, '\n');
    T_OK(cf_json_read(&v, out, end != NULL ? (size_t)(end - out) : strlen(out), &err), err);
    cf_str uuid = cf_json_get_str(v, "conversation");
    assert_non_null(uuid.p);
    snprintf(id, 64, "%.*s", (int)uuid.n, uuid.p);
    json_decref(v);
}

/* A reply is repeated with the adapter that wrote it; with another one, or
 * none, the command line is obeyed and says so; a lost one is named. */
static void test_lora__replay(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static char out[65536];
    const char *db = store_dir_file("lora.db");
    char spec[160], id[64], none[160], moved[160];
    OUTPUT(out, "run", "--db", db, "-m", model, "--lora", with_scale(spec, one, "0.5"), "-n", "12",
           "--temperature", "1", "--seed", "7", "--suppress", "2", "Hello");
    reply_id(db, id);
    OUTPUT(out, "history", "show", "--json", "--db", db, id);
    assert_non_null(strstr(out, "\"adapters\":[{\"path\":"));
    assert_non_null(strstr(out, "one.gguf"));
    OUTPUT(out, "replay", "--json", "--db", db, "-m", model, id);
    assert_non_null(strstr(out, "\"identical\":true"));
    assert_non_null(strstr(out, "\"notes\":[]"));
    cf_program p;
    CF_PROGRAM(&p, "replay", "--json", "--db", db, "-m", model, "--lora",
               with_scale(none, one, "0"), id);
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "other adapters: stored "));
    cf_program_deinit(&p);
    snprintf(moved, sizeof moved, "%s.away", one);
    assert_int_equal(rename(one, moved), 0);
    CF_PROGRAM(&p, "replay", "--db", db, "-m", model, id);
    assert_int_equal(p.status, 3);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "written with an adapter"));
    cf_program_deinit(&p);
    assert_int_equal(rename(moved, one), 0);
}

/* What the weights were loaded as belongs to a reply, too. */
static void test_lora__replay_load_as(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static char out[65536];
    const char *db = store_dir_file("as.db");
    char id[64];
    OUTPUT(out, "run", "--db", db, "-m", model, "--load-as", "q4_0", "-n", "12", "--temperature",
           "1", "--seed", "7", "--suppress", "2", "Hello");
    reply_id(db, id);
    OUTPUT(out, "replay", "--json", "--db", db, "-m", model, id);
    assert_non_null(strstr(out, "\"identical\":true"));
}

/* "with" of the first line. */
static double likelihood(const char *lines)
{
    const char *at = strstr(lines, "\"with\":");
    assert_non_null(at);
    return strtod(at + strlen("\"with\":"), NULL);
}

/* Influence is asked of the model with the adapter that wrote the reply, and
 * scores that were kept without one are not taken for it. */
static void test_lora__influence(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static char out[65536], with[65536], without[65536];
    const char *db = store_dir_file("influence.db");
    char spec[160], id[64], none[160];
    OUTPUT(out, "run", "--db", db, "-m", model, "--lora", with_scale(spec, one, "0.5"), "-n", "12",
           "--temperature", "1", "--seed", "7", "--suppress", "2", "--system", "Be kind.", "Hello");
    reply_id(db, id);
    OUTPUT(without, "influence", "--db", db, "-m", model, "--json", "--lora",
           with_scale(none, one, "0"), id);
    OUTPUT(with, "influence", "--db", db, "-m", model, "--json", "--lora", spec, id);
    OUTPUT(out, "influence", "--db", db, "-m", model, "--json", id);
    assert_non_null(strstr(with, "\"delta\":"));
    assert_true(likelihood(with) != likelihood(without));
    assert_true(likelihood(with) == likelihood(out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lora__score),     cmocka_unit_test(test_lora__bench),
        cmocka_unit_test(test_lora__diff),      cmocka_unit_test(test_lora__refusals),
        cmocka_unit_test(test_lora__replay),    cmocka_unit_test(test_lora__replay_load_as),
        cmocka_unit_test(test_lora__influence),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
