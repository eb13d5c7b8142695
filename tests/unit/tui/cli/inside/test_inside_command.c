/*
 * test_inside_command.c - confab inside over the bundled model: a context with
 * tools, ids, requests in a file, control vectors.
 */
#include <math.h>

#include "core/json/json.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

#define NEEDS_MODEL()                            \
    NEED_PROGRAM();                              \
    if (!cf_program_has_model()) {               \
        T_SKIP("no bundled model in this tree"); \
    }

#define TOOL(name, what)                                                                 \
    "{\"type\":\"function\",\"function\":{\"name\":\"" name "\",\"description\":\"" what \
    "\",\"parameters\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}}}}}"

static const char with_time[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"What time is it in "
    "Paris?\"}],\"tools\":[" TOOL("get_time", "Get the time in a city") "," TOOL("calculate",
                                                                                 "Calculate") "]}";
static const char with_news[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"What time is it in "
    "Paris?\"}],\"tools\":[" TOOL("get_news", "Get the news in a city") "," TOOL("calculate",
                                                                                 "Calculate") "]}";

/* What the command answers as JSON; the caller decrefs it. */
static json_t *answer(const char *const *argv)
{
    cf_program p;
    cf_error err;
    json_t *v = NULL;
    cf_program_run(&p, argv, NULL, 0);
    if (p.status != 0) {
        fail_msg("status %d: %s", p.status, cf_buf_cstr(&p.err));
    }
    T_OK(cf_json_read(&v, p.out.p, p.out.n, &err), err);
    cf_program_deinit(&p);
    return v;
}

#define ANSWER(...) answer((const char *const[]){"inside", __VA_ARGS__, "--json", NULL})

static double number(const json_t *v, const char *key)
{
    return json_number_value(json_object_get(v, key));
}

/* The row of a list whose member has this text. */
static const json_t *row_of(const json_t *list, const char *key, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (cf_str_is(cf_json_get_str(one, key), text)) {
            return one;
        }
    }
    fail_msg("no row '%s'", text);
    return NULL;
}

static void test_inside__parts_of_a_context(void **state)
{
    (void)state;
    NEEDS_MODEL();
    const char *context = store_dir_put_text("time.json", with_time);
    json_t *look = ANSWER("attention", context, "--by", "message,tool,template");
    const json_t *parts = json_object_get(look, "parts");
    double sum = number(look, "rest");
    for (size_t i = 0; i < json_array_size(parts); i++) {
        sum += number(json_array_get(parts, i), "looked_at");
    }
    assert_true(fabs(sum - 1) < 1e-5);
    json_decref(look);
    /* The model calls the tool for the time; hidden, it cannot. */
    json_t *v = ANSWER("without", context);
    const json_t *rows = json_object_get(v, "rows");
    assert_true(json_is_false(json_object_get(row_of(rows, "change", "as it is"), "flips")));
    assert_true(json_is_true(json_object_get(row_of(rows, "change", "tool get_time"), "flips")));
    assert_true(json_is_false(json_object_get(row_of(rows, "change", "tool calculate"), "flips")));
    double hidden = number(row_of(rows, "change", "tool get_time"), "margin");
    json_decref(v);
    v = ANSWER("without", context, "--hide", "get_time");
    rows = json_object_get(v, "rows");
    assert_true(number(row_of(rows, "change", "without"), "margin") == hidden);
    json_decref(v);
}

static void test_inside__lens_and_margin_agree(void **state)
{
    (void)state;
    NEEDS_MODEL();
    const char *context = store_dir_put_text("time.json", with_time);
    json_t *lens = ANSWER("lens", context, "--for", "<tool_call>", "--against", "I");
    const json_t *tokens = json_object_get(lens, "tokens");
    const json_t *rank = json_object_get(json_array_get(tokens, 0), "rank");
    assert_int_equal(json_integer_value(json_array_get(rank, json_array_size(rank) - 1)), 0);
    json_t *m = ANSWER("margin", context, "--for", "<tool_call>", "--against", "I");
    json_t *v = ANSWER("without", context, "--for", "<tool_call>", "--against", "I");
    const json_t *plain = row_of(json_object_get(v, "rows"), "change", "as it is");
    assert_true(fabs(number(m, "margin") - number(plain, "margin")) < 0.02);
    json_decref(lens);
    json_decref(m);
    json_decref(v);
}

/* Two prompts that differ in a declaration: at the input of layer 0 the
 * declaration carries the difference, at the end the position itself. */
static void test_inside__patch_finds_the_declaration(void **state)
{
    (void)state;
    NEEDS_MODEL();
    const char *time = store_dir_put_text("time.json", with_time),
               *news = store_dir_put_text("news.json", with_news);
    json_t *v = ANSWER("patch", news, "--from", time, "--for", "<tool_call>", "--against", "I");
    const json_t *rows = json_object_get(v, "rows");
    const json_t *tool = json_object_get(row_of(rows, "label", "tool get_news"), "carried");
    const json_t *self = json_object_get(row_of(rows, "label", "the position itself"), "carried");
    const json_t *other = json_object_get(row_of(rows, "label", "tool calculate"), "carried");
    size_t n = json_array_size(tool);
    assert_true(json_number_value(json_array_get(tool, 0)) > 0.9);
    assert_true(fabs(json_number_value(json_array_get(self, n - 1)) - 1) < 1e-3);
    for (size_t l = 0; l < n; l++) {
        assert_true(fabs(json_number_value(json_array_get(other, l))) < 0.1);
    }
    json_decref(v);
}

static void test_inside__requests(void **state)
{
    (void)state;
    NEEDS_MODEL();
    static const char requests[] =
        "{\"op\":\"without\",\"ids\":[1,2,3],\"at\":2,\"changes\":[],\"tokens\":[7]}\n"
        "{\"op\":\"without\",\"ids\":[1,2,3],\"at\":2,\"changes\":[{\"look\":[0,1],\"head\":[0,0]}]"
        "}\n"
        "{\"op\":\"without\",\"ids\":[1,2,3],\"at\":2,\"changes\":[{\"look\":[0,1],\"positions\":["
        "0,1]}]}\n"
        "{\"op\":\"without\",\"ids\":[1,2,3],\"at\":2,\"changes\":[7]}\n"
        "{\"op\":\"steer\",\"ids\":[1],\"at\":0,\"vector\":\"/nowhere.gguf\"}\n"
        "{\"op\":\"steer\",\"ids\":[1],\"at\":0,\"vectors\":{\"1x\":[]}}\n"
        "{\"op\":\"lens\",\"ids\":[1,1e9],\"at\":0}\n"
        "{\"op\":\"lens\",\"ids\":[1],\"at\":1}\n"
        "[]\n"
        "{\"op\":\"attention\",\"ids\":[4],\"at\":0}\n";
    const char *path = store_dir_put_text("requests.jsonl", requests);
    cf_program p;
    CF_PROGRAM(&p, "inside", "--batch", path);
    assert_int_equal(p.status, 0);
    size_t n_line = 0;
    for (char *at = p.out.p; *at != '\0'; n_line++) {
        char *end = strchr(at, '\n');
        assert_non_null(end);
        *end = '\0';
        bool is_error = strncmp(at, "{\"error\":", 9) == 0;
        assert_int_equal(is_error, n_line != 0 && n_line != 9);
        at = end + 1;
    }
    assert_int_equal(n_line, 10);
    cf_program_deinit(&p);
}

static void test_inside__refuses(void **state)
{
    (void)state;
    NEEDS_MODEL();
    static const struct {
        const char *argv[8];
        int status;
    } t[] = {
        {{"inside", NULL}, 2},
        {{"inside", "lens", NULL}, 2},
        {{"inside", "dream", "--ids", "1,2", NULL}, 2},
        {{"inside", "lens", "--ids", "1,2", "--at", "2", NULL}, 2},
        {{"inside", "lens", "--ids", "1,2", "--at", "1", NULL}, 0},
        {{"inside", "without", "--ids", "1,2", "--head", "0.99", NULL}, 2},
        {{"inside", "without", "--ids", "1,2", "--hide", "nobody", NULL}, 3},
        {{"inside", "without", "--ids", "1,2", "--hide", "0-0", NULL}, 0},
        {{"inside", "steer", "--ids", "1,2", NULL}, 2},
        {{"inside", "steer", "make", "--row", "x", NULL}, 2},
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        cf_program p;
        cf_program_run(&p, t[i].argv, NULL, 0);
        if (p.status != t[i].status) {
            fail_msg("case %zu: status %d: %s", i, p.status, cf_buf_cstr(&p.err));
        }
        cf_program_deinit(&p);
    }
}

/* Ids have no template, but what is patched in may need one. */
static void test_inside__patches_a_context_into_ids(void **state)
{
    (void)state;
    NEEDS_MODEL();
    const char *path = store_dir_put_text("news.json", with_news);
    json_t *v = ANSWER("patch", "--ids", "5,6", "--from", path, "--layer", "8");
    const json_t *row = json_array_get(json_object_get(v, "rows"), 0);
    assert_true(number(v, "margin") != number(v, "from_margin"));
    assert_true(json_real_value(json_array_get(json_object_get(row, "carried"), 0)) > 0.99);
    json_decref(v);
}

/* Two texts may begin alike in the middle of a prompt: what is asked is after that,
 * and parts further on can still be named. */
static void test_inside__texts_part_in_the_middle(void **state)
{
    (void)state;
    NEEDS_MODEL();
    const char *path = store_dir_put_text("time.json", with_time);
    json_t *v =
        ANSWER("without", path, "--at", "20", "--for", "confab run", "--against", "confab lint");
    const json_t *rows = json_object_get(v, "rows");
    assert_true(number(v, "at") > 20);
    assert_int_equal(json_array_size(rows), 4);
    const json_t *message = row_of(rows, "change", "message 1 (user)");
    assert_true(number(message, "margin") == number(json_array_get(rows, 0), "margin"));
    json_decref(v);
}

/* ---- why a tool was called, or not --------------------------------------- */

#define TEXT(name) "\"" name "\":{\"type\":\"string\",\"description\":"
#define LOOKUP                                                                               \
    "{\"type\":\"function\",\"function\":{\"name\":\"lookup\",\"description\":\"Search the " \
    "user's notes\",\"parameters\":{\"type\":\"object\",\"properties\":{" TEXT(              \
        "location") "\"City "                                                                \
                    "name\"}},\"required\":[\"location\"]}}}"
#define OTHER                                                                                  \
    "{\"type\":\"function\",\"function\":{\"name\":\"send_message\",\"description\":\"Send a " \
    "text "                                                                                    \
    "message to a contact\",\"parameters\":{\"type\":\"object\",\"properties\":{" TEXT(        \
        "to") "\"Con"                                                                          \
              "tact name\"}," TEXT("text") "\"Message text\"}},\"required\":[\"to\",\"text\"]}}}"

static const char weather[] = "What is the weather in Oslo?";

/* The saved reply to a question with these tools; `id` gets the conversation. */
static void run_with(const char *question, const char *tools, char id[64])
{
    cf_program p;
    cf_error err;
    json_t *v = NULL;
    const char *db = store_dir_file("tools.db"), *file = store_dir_put_text("tools.json", tools);
    CF_PROGRAM(&p, "run", "--db", db, "--temperature", "0", "--tools", file, question);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "history", "--db", db, "--json", "list");
    T_OK(cf_json_read(&v, p.out.p, strcspn(p.out.p, "\n"), &err), err);
    cf_str text = cf_json_get_str(v, "conversation");
    snprintf(id, 64, "%.*s", (int)text.n, text.p);
    json_decref(v);
    cf_program_deinit(&p);
}

static json_t *tools_of(const char *id)
{
    return ANSWER("tools", id, "--db", store_dir_file("tools.db"), "--by", "message,tool,field");
}

/* A wrong description keeps the model from a tool: hiding it flips that, the
 * declaration at the other end of the list does, and so does its output row.
 * With the declaration there it is called, and calls are margins to themselves. */
static void test_inside__tools_say_what_flips(void **state)
{
    (void)state;
    NEEDS_MODEL();
    char id[64];
    run_with(weather, "[" LOOKUP "," OTHER "]", id);
    json_t *v = tools_of(id);
    const json_t *row = row_of(json_object_get(v, "tools"), "name", "lookup");
    assert_true(number(row, "margin") < 0);
    assert_true(cf_str_is(cf_json_get_str(row, "flip"), "hide"));
    cf_str label = cf_json_get_str(json_object_get(row, "hide"), "label");
    assert_true(cf_str_is(label, "tool lookup's description"));
    assert_int_equal(number(row, "move"), 1);
    assert_true(number(row, "steer") >= 1);
    const json_t *other = row_of(json_object_get(v, "tools"), "name", "send_message");
    assert_null(json_object_get(other, "hide"));
    assert_null(json_object_get(other, "move"));
    json_decref(v);
    run_with(weather, "[" OTHER "," LOOKUP "]", id);
    v = tools_of(id);
    row = row_of(json_object_get(v, "tools"), "name", "lookup");
    assert_true(json_is_true(json_object_get(row, "written")));
    assert_true(number(row, "margin") == 0);
    assert_true(number(row, "steer") < 0);
    row = row_of(json_object_get(v, "tools"), "name", "no call");
    assert_true(number(row, "margin") < 0);
    json_decref(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inside__parts_of_a_context),
        cmocka_unit_test(test_inside__lens_and_margin_agree),
        cmocka_unit_test(test_inside__patch_finds_the_declaration),
        cmocka_unit_test(test_inside__patches_a_context_into_ids),
        cmocka_unit_test(test_inside__texts_part_in_the_middle),
        cmocka_unit_test(test_inside__tools_say_what_flips),
        cmocka_unit_test(test_inside__requests),
        cmocka_unit_test(test_inside__refuses),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
