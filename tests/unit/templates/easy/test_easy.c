/*
 * test_easy.c - the easy interface, against scripts with known replies and
 * against the bundled model.
 */
#include "tests/support/t.h"

#include <sys/wait.h>
#include <unistd.h>

#include "core/api/bundled.h"
#include "core/base/os.h"
#include "core/json/json.h"
#include "templates/confab.h"
#include "templates/open.h"

static char folder[] = "/tmp/cf_easy_XXXXXX";

/* Opens a script with these replies (JSON). */
static confab *open_script(const char *replies, const char *template_name)
{
    char path[128], text[2048], model[160];
    cf_error err = {.text = ""};
    snprintf(path, sizeof path, "%s/script.json", folder);
    snprintf(text, sizeof text, "{\"replies\": %s}", replies);
    T_OK(cf_os_write_file(path, text, strlen(text), 0600, &err), err);
    snprintf(model, sizeof model, "script:%s", path);
    cf_open_with_options with = {
        .size = sizeof with, .template_name = template_name, .family = "hermes"};
    confab *c = cf_open_with(model, &with, &err);
    if (c == NULL) {
        fail_msg("%s", err.text);
    }
    return c;
}

static confab *open_bundled(void)
{
    const void *bytes;
    size_t n;
    cf_error err;
    if (!cf_bundled_model(&bytes, &n)) {
        T_SKIP("this tree has no bundled model");
    }
    confab *c = cf_open("bundled", &err);
    if (c == NULL) {
        fail_msg("%s", err.text);
    }
    return c;
}

static void says(confab *c, const char *message, const char *want)
{
    cf_error err = {.text = ""};
    const char *reply = cf_chat(c, message, &err);
    if (reply == NULL) {
        fail_msg("%s", err.text);
    }
    assert_string_equal(reply, want);
}

static void test_chat__replies_in_turn(void **state)
{
    (void)state;
    cf_error err;
    confab *c = open_script("[{\"text\":\"One.\"},{\"text\":\"Two.\"}]", NULL);
    says(c, "Hi", "One.");
    says(c, "And?", "Two.");
    assert_string_equal(cf_messages(c, &err), "[{\"role\":\"user\",\"content\":\"Hi\"},"
                                              "{\"role\":\"assistant\",\"content\":\"One.\"},"
                                              "{\"role\":\"user\",\"content\":\"And?\"},"
                                              "{\"role\":\"assistant\",\"content\":\"Two.\"}]");
    cf_close(c);
}

static void test_open__failures_say_why(void **state)
{
    (void)state;
    cf_error err;
    assert_null(cf_open("/no/such.gguf", &err));
    assert_int_equal(err.code, CF_ENOTFOUND);
    assert_non_null(strstr(err.text, "/no/such.gguf"));
    assert_null(cf_open("/no/such.gguf", NULL));
    cf_close(NULL);
}

/* A caller compiled with an older, shorter struct. */
static void test_open__takes_shorter_options(void **state)
{
    (void)state;
    cf_error err;
    cf_open_with_options with = {.size = offsetof(cf_open_with_options, template_name),
                                 .template_name = "/not/read"};
    assert_null(cf_open_with("script:/no/file", &with, &err));
    assert_null(strstr(err.text, "/not/read"));
}

static void test_system__stays_with_the_turns(void **state)
{
    (void)state;
    cf_error err = {.text = ""};
    confab *c = open_script("[{\"text\":\"Yes.\"}]", "chatml");
    says(c, "Hi", "Yes.");
    T_OK(cf_set_system(c, "Be brief.", &err), err);
    assert_string_equal(cf_messages(c, &err), "[{\"role\":\"system\",\"content\":\"Be brief.\"},"
                                              "{\"role\":\"user\",\"content\":\"Hi\"},"
                                              "{\"role\":\"assistant\",\"content\":\"Yes.\"}]");
    T_FAILS(cf_set_system(c, "\xff", &err), CF_EFORMAT);
    const char *prompt = cf_inspect(c, "Bye", &err);
    assert_non_null(prompt);
    assert_non_null(strstr(prompt, "<|im_start|>system\\nBe brief.<|im_end|>"));
    T_OK(cf_set_system(c, NULL, &err), err);
    assert_null(strstr(cf_messages(c, &err), "system"));
    cf_close(c);
}

static void test_messages__round_trip(void **state)
{
    (void)state;
    static const char given[] = "[{\"role\":\"system\",\"content\":\"S\"},"
                                "{\"role\":\"user\",\"content\":\"U\"},"
                                "{\"role\":\"assistant\",\"content\":\"A\",\"x\":1}]";
    cf_error err = {.text = ""};
    confab *c = open_script("[{\"text\":\"Yes.\"}]", NULL);
    T_OK(cf_set_messages(c, given, &err), err);
    assert_string_equal(cf_messages(c, &err), given);
    T_FAILS(cf_set_messages(c, "{}", &err), CF_EINVAL);
    T_FAILS(cf_set_messages(c, "[1]", &err), CF_EINVAL);
    T_FAILS(cf_set_messages(c, "[", &err), CF_EFORMAT);
    assert_string_equal(cf_messages(c, &err), given);
    cf_close(c);
}

/* ---- tools -------------------------------------------------------------- */

static const char add_tool[] =
    "{\"name\":\"add\",\"description\":\"Adds\",\"parameters\":{\"type\":"
    "\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":"
    "[\"a\"]}}";

static const char calls_add[] = "[{\"text\":\"<tool_call>\\n{\\\"name\\\": \\\"add\\\", "
                                "\\\"arguments\\\": {\\\"a\\\": 2}}\\n</tool_call>\"},"
                                "{\"text\":\"Done.\"}]";

typedef struct log {
    cf_buf b;
    const char *result, *failure;
} log;

static void run_tool(void *user, const char *arguments, cf_tool_result *result)
{
    log *l = user;
    cf_buf_addf(&l->b, "run %s\n", arguments);
    if (l->result != NULL) {
        cf_tool_return(result, l->result);
    }
    if (l->failure != NULL) {
        cf_tool_fail(result, l->failure);
    }
}

static void hear(void *user, cf_heard kind, const char *text, size_t n)
{
    static const char *const names[] = {"text", "thinking", "call", "result", "note"};
    log *l = user;
    cf_buf_addf(&l->b, "%s %.*s\n", names[kind], (int)n, text);
}

static void test_tool__loop(void **state)
{
    (void)state;
    cf_error err = {.text = ""};
    log l = {.result = "{\"sum\": 5}"};
    confab *c = open_script(calls_add, "qwen3");
    T_OK(cf_add_tool(c, add_tool, run_tool, &l, &err), err);
    T_FAILS(cf_add_tool(c, add_tool, run_tool, &l, &err), CF_EINVAL);
    T_FAILS(cf_add_tool(c, "{", run_tool, &l, &err), CF_EFORMAT);
    T_FAILS(cf_add_tool(c, "[]", run_tool, &l, &err), CF_EINVAL);
    cf_on_reply(c, hear, &l);
    says(c, "Add 2", "Done.");
    cf_str heard = cf_buf_str(&l.b);
    assert_non_null(strstr(heard.p, "call {\"name\":\"add\",\"arguments\":"
                                    "{\"a\":2},\"id\":\""));
    assert_non_null(strstr(heard.p, "run {\"a\":2}\n"
                                    "result \"{\\\"sum\\\": 5}\"\n"));
    /* The model gets the result as the tool wrote it. */
    assert_non_null(strstr(cf_messages(c, &err), "\"content\":\"{\\\"sum\\\": 5}\""));
    cf_buf_deinit(&l.b);
    cf_close(c);
}

static void fails_with(log l, const char *want)
{
    cf_error err = {.text = ""};
    confab *c = open_script(calls_add, "qwen3");
    T_OK(cf_add_tool(c, add_tool, run_tool, &l, &err), err);
    says(c, "Add 2", "Done.");
    if (strstr(cf_messages(c, &err), want) == NULL) {
        fail_msg("%s not in %s", want, cf_messages(c, &err));
    }
    cf_buf_deinit(&l.b);
    cf_close(c);
}

static void test_tool__failures_reach_the_model(void **state)
{
    (void)state;
    fails_with((log){.failure = "no paper"}, "no paper");
    fails_with((log){.result = NULL}, "the tool gave no result");
    fails_with((log){.result = "\xff"}, "not UTF-8");
}

/* ---- settings ----------------------------------------------------------- */

static void test_set__checks_names_and_ranges(void **state)
{
    (void)state;
    cf_error err = {.text = ""};
    confab *c = open_script("[{\"text\":\"Yes.\"}]", NULL);
    T_OK(cf_set(c, "temperature", "0.5", &err), err);
    T_OK(cf_set(c, "top-k", "7", &err), err);
    T_OK(cf_set(c, "seed", "18446744073709551615", &err), err);
    T_OK(cf_set(c, "max_tokens", "9", &err), err);
    T_OK(cf_set(c, "thinking", "off", &err), err);
    T_FAILS(cf_set(c, "temperature", "3", &err), CF_EINVAL);
    assert_string_equal(err.text, "temperature must be between 0 and 2, not '3'");
    T_FAILS(cf_set(c, "temperature", "nan", &err), CF_EINVAL);
    T_FAILS(cf_set(c, "top_k", "-1", &err), CF_EINVAL);
    T_FAILS(cf_set(c, "seed", "18446744073709551616", &err), CF_EINVAL);
    T_FAILS(cf_set(c, "thinking", "much", &err), CF_EINVAL);
    T_FAILS(cf_set(c, "colour", "red", &err), CF_ENOTFOUND);
    T_FAILS(cf_set(c, "logit_bias", "1=2", &err), CF_EUNSUPPORTED);
    cf_close(c);
}

static void test_script__has_no_tokens(void **state)
{
    (void)state;
    cf_error err;
    confab *c = open_script("[{\"text\":\"Yes.\"}]", NULL);
    assert_int_equal(cf_n_vocab(c), 0);
    assert_null(cf_tokenize(c, "a", 1, false, &err));
    assert_int_equal(err.code, CF_EUNSUPPORTED);
    assert_null(cf_mask_new(c, "{\"json\":true}", &err));
    assert_int_equal(err.code, CF_EUNSUPPORTED);
    assert_null(cf_lint(c, &err));
    assert_int_equal(err.code, CF_ENOTFOUND);
    cf_close(c);
}

/* ---- the bundled model -------------------------------------------------- */

static void test_bundled__constrained(void **state)
{
    (void)state;
    cf_error err = {.text = ""};
    confab *c = open_bundled();
    T_OK(cf_constrain(c, "{\"regex\":\"[0-9]{3}\"}", &err), err);
    const char *reply = cf_chat(c, "Hi", &err);
    assert_int_equal(strlen(reply), 3);
    assert_int_equal(strspn(reply, "0123456789"), 3);
    T_FAILS(cf_constrain(c, "{\"colour\":1}", &err), CF_EINVAL);
    T_OK(cf_constrain(c, NULL, &err), err);
    says(c, "Who are you?", "I have no name; I am confab's tiny demonstration model.");
    cf_close(c);
}

/* Every offset of the JSON is true of its text. */
static void test_bundled__inspect(void **state)
{
    (void)state;
    cf_error err = {.text = ""};
    json_t *v = NULL;
    confab *c = open_bundled();
    const char *text = cf_inspect(c, "Hello", &err);
    assert_non_null(text);
    T_OK(cf_json_read(&v, text, strlen(text), &err), err);
    cf_str prompt = cf_json_get_str(v, "text");
    size_t at = 0, i;
    json_t *span;
    bool has_message = false;
    json_array_foreach(json_object_get(v, "spans"), i, span)
    {
        size_t off = (size_t)json_integer_value(json_object_get(span, "off"));
        size_t len = (size_t)json_integer_value(json_object_get(span, "len"));
        assert_int_equal(off, at);
        at += len;
        if (cf_str_is(cf_json_get_str(span, "source"), "message")) {
            T_TEXT(prompt.p + off, len, "Hello");
            has_message = true;
        }
    }
    assert_int_equal(at, prompt.n);
    assert_true(has_message);
    assert_true(json_array_size(json_object_get(v, "tokens")) > 3);
    assert_int_equal(json_array_size(json_object_get(v, "losses")), 0);
    json_decref(v);
    assert_string_equal(cf_messages(c, &err), "[]"); /* nothing was sent */
    cf_close(c);
}

static void test_bundled__tokens_round_trip(void **state)
{
    (void)state;
    cf_error err = {.text = ""};
    confab *c = open_bundled();
    json_t *v = NULL;
    int32_t ids[64];
    size_t i, n = 0, length = 0;
    static const char text[] = "confab, \xc3\xa9 and\nmore";
    const char *list = cf_tokenize(c, text, strlen(text), false, &err);
    T_OK(cf_json_read(&v, list, strlen(list), &err), err);
    json_t *one;
    json_array_foreach(v, i, one)
    {
        ids[n++] = (int32_t)json_integer_value(json_object_get(one, "id"));
    }
    json_decref(v);
    const char *back = cf_detokenize(c, ids, n, &length, &err);
    T_TEXT(back, length, text);
    ids[0] = (int32_t)cf_n_vocab(c);
    assert_null(cf_detokenize(c, ids, n, &length, &err));
    assert_int_equal(err.code, CF_EINVAL);
    cf_close(c);
}

/* What the mask allows can be taken, what it does not allow cannot. */
static void test_bundled__mask(void **state)
{
    (void)state;
    cf_error err = {.text = ""};
    confab *c = open_bundled();
    size_t n = cf_n_vocab(c), n_words = (n + 31) / 32;
    uint32_t *bits = calloc(n_words, sizeof *bits);
    cf_mask *mask = cf_mask_new(c, "{\"regex\":\"ab*\"}", &err);
    assert_non_null(mask);
    T_FAILS(cf_mask_fill(mask, bits, n_words + 1, &err), CF_EINVAL);
    T_OK(cf_mask_fill(mask, bits, n_words, &err), err);
    size_t n_allowed = 0;
    for (size_t id = 0; id < n; id++) {
        bool allowed = (bits[id / 32] >> id % 32 & 1) != 0;
        bool taken = cf_mask_take(mask, (int32_t)id, &err) == CF_OK;
        assert_int_equal(allowed, taken);
        if (taken) {
            assert_true(cf_mask_may_end(mask));
            cf_mask_back(mask, 1);
            assert_false(cf_mask_may_end(mask));
            n_allowed++;
        }
    }
    assert_true(n_allowed > 0);
    free(bits);
    cf_mask_free(mask);
    cf_close(c);
}

typedef struct stopper {
    confab *c;
    int n;
} stopper;

static void stop_at_second(void *user, cf_heard kind, const char *text, size_t n)
{
    stopper *s = user;
    (void)kind;
    (void)text;
    (void)n;
    if (++s->n == 2) {
        cf_interrupt(s->c);
    }
}

static void test_bundled__interrupted(void **state)
{
    (void)state;
    cf_error err = {.text = ""};
    stopper s = {.c = open_bundled()};
    cf_interrupt(s.c); /* nothing runs: it does nothing */
    cf_on_reply(s.c, stop_at_second, &s);
    assert_null(cf_chat(s.c, "What is confab?", &err));
    assert_int_equal(err.code, CF_ECANCELLED);
    const char *last = cf_last_reply(s.c, &err);
    assert_non_null(strstr(last, "\"stop\":\"cancelled\""));
    cf_on_reply(s.c, NULL, NULL);
    says(s.c, "Who are you?", "I have no name; I am confab's tiny demonstration model.");
    cf_close(s.c);
}

static void test_bundled__lint(void **state)
{
    (void)state;
    cf_error err = {.text = ""};
    json_t *v = NULL;
    confab *c = open_bundled();
    const char *text = cf_lint(c, &err);
    assert_non_null(text);
    T_OK(cf_json_read(&v, text, strlen(text), &err), err);
    size_t n = json_array_size(json_object_get(v, "findings"));
    json_int_t sum = 0;
    static const char *const counts[] = {"errors", "warnings", "notes"};
    for (size_t i = 0; i < 3; i++) {
        sum += json_integer_value(json_object_get(v, counts[i]));
    }
    assert_int_equal(sum, n);
    json_decref(v);
    cf_close(c);
}

/* ---- calls that are refused --------------------------------------------- */

typedef struct inner {
    confab *c;
    cf_mask *mask;
    int n_heard, n_refused;
} inner;

#define REFUSED(in, call, why)                 \
    do {                                       \
        cf_error e_ = {0};                     \
        cf_error *e = &e_;                     \
        assert_true(call);                     \
        assert_int_equal(e_.code, CF_EINVAL);  \
        assert_non_null(strstr(e_.text, why)); \
        (in)->n_refused++;                     \
    } while (0)

static void call_everything(inner *in, const char *why)
{
    confab *c = in->c;
    const int32_t id = 1;
    REFUSED(in, cf_chat(c, "again", e) == NULL, why);
    REFUSED(in, cf_set_system(c, "s", e) != CF_OK, why);
    REFUSED(in, cf_set(c, "top_k", "3", e) != CF_OK, why);
    REFUSED(in, cf_constrain(c, NULL, e) != CF_OK, why);
    REFUSED(in, cf_messages(c, e) == NULL, why);
    REFUSED(in, cf_set_messages(c, "[]", e) != CF_OK, why);
    REFUSED(in, cf_last_reply(c, e) == NULL, why);
    REFUSED(in, cf_add_tool(c, add_tool, NULL, NULL, e) != CF_OK, why);
    REFUSED(in, cf_inspect(c, NULL, e) == NULL, why);
    REFUSED(in, cf_tokenize(c, "a", 1, false, e) == NULL, why);
    REFUSED(in, cf_detokenize(c, &id, 1, NULL, e) == NULL, why);
    REFUSED(in, cf_lint(c, e) == NULL, why);
    REFUSED(in, cf_mask_new(c, "{\"json\":true}", e) == NULL, why);
    cf_on_reply(c, NULL, NULL);
    cf_close(c);
}

static void hear_and_call(void *user, cf_heard kind, const char *text, size_t n)
{
    inner *in = user;
    (void)kind;
    (void)text;
    (void)n;
    in->n_heard++;
    call_everything(in, "this handle is answering");
}

static void test_refused__while_answering(void **state)
{
    (void)state;
    inner in = {.c = open_script("[{\"text\":\"One.\"},{\"text\":\"Two.\"}]", NULL)};
    cf_on_reply(in.c, hear_and_call, &in);
    says(in.c, "hello", "One.");
    int n_first = in.n_heard;
    assert_true(n_first > 0);
    assert_int_equal(in.n_refused, 13 * n_first);
    says(in.c, "hello", "Two."); /* still heard, and still open */
    assert_true(in.n_heard > n_first);
    cf_close(in.c);
}

static void test_refused__null(void **state)
{
    (void)state;
    inner in = {.c = NULL};
    call_everything(&in, "there is no handle");
    cf_interrupt(NULL);
    cf_mask_back(NULL, 1);
    cf_mask_free(NULL);
    assert_false(cf_mask_may_end(NULL));
    assert_int_equal(cf_n_vocab(NULL), 0);
    assert_null(cf_parts(NULL));
    assert_null(cf_parts_conversation(NULL));
    cf_tool_return(NULL, NULL);
    cf_tool_fail(NULL, "why");
    confab *c = open_script("[{\"text\":\"One.\"}]", NULL);
    REFUSED(&in, cf_set(c, NULL, "3", e) != CF_OK, "the name is NULL");
    REFUSED(&in, cf_set(c, "top_k", NULL, e) != CF_OK, "the value is NULL");
    REFUSED(&in, cf_set_messages(c, NULL, e) != CF_OK, "messages is NULL");
    REFUSED(&in, cf_add_tool(c, NULL, NULL, NULL, e) != CF_OK, "the declaration is NULL");
    REFUSED(&in, cf_tokenize(c, NULL, 5, true, e) == NULL, "the text is NULL");
    REFUSED(&in, cf_detokenize(c, NULL, 5, NULL, e) == NULL, "the list of ids is NULL");
    REFUSED(&in, cf_mask_new(c, NULL, e) == NULL, "the constraint is NULL");
    REFUSED(&in, cf_mask_take(NULL, 1, e) != CF_OK, "there is no mask");
    says(c, "hello", "One.");
    cf_close(c);
}

static void test_refused__after_fork(void **state)
{
    (void)state;
    int status = 0;
    inner in = {.c = open_script("[{\"text\":\"One.\"}]", NULL)};
    pid_t pid = fork();
    if (pid == 0) {
        call_everything(&in, "before fork()");
        _exit(in.n_refused == 13 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    says(in.c, "hello", "One.");
    cf_close(in.c);
}

static void test_version__matches(void **state)
{
    (void)state;
    int major, minor, patch;
    assert_string_equal(cf_version(), CF_VERSION);
    assert_int_equal(sscanf(CF_VERSION, "%d.%d.%d", &major, &minor, &patch), 3);
    assert_int_equal(major * 10000 + minor * 100 + patch, CF_VERSION_NUMBER);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/script.json", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chat__replies_in_turn),
        cmocka_unit_test(test_open__failures_say_why),
        cmocka_unit_test(test_open__takes_shorter_options),
        cmocka_unit_test(test_system__stays_with_the_turns),
        cmocka_unit_test(test_messages__round_trip),
        cmocka_unit_test(test_tool__loop),
        cmocka_unit_test(test_tool__failures_reach_the_model),
        cmocka_unit_test(test_set__checks_names_and_ranges),
        cmocka_unit_test(test_script__has_no_tokens),
        cmocka_unit_test(test_bundled__constrained),
        cmocka_unit_test(test_bundled__inspect),
        cmocka_unit_test(test_bundled__tokens_round_trip),
        cmocka_unit_test(test_bundled__mask),
        cmocka_unit_test(test_bundled__interrupted),
        cmocka_unit_test(test_bundled__lint),
        cmocka_unit_test(test_refused__while_answering),
        cmocka_unit_test(test_refused__null),
        cmocka_unit_test(test_refused__after_fork),
        cmocka_unit_test(test_version__matches),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
