/*
 * test_easy_look.c - what confab.h shows of a reply's tokens, of scores and of the
 * inside of the model.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/bundled.h"
#include "core/json/json.h"
#include "templates/confab.h"
#include "tests/support/fault.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

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

static json_t *read_json(const char *text)
{
    cf_error err = {.text = ""};
    json_t *v = NULL;
    assert_non_null(text);
    T_OK(cf_json_read(&v, text, strlen(text), &err), err);
    return v;
}

static double number(const json_t *v, const char *key)
{
    const json_t *n = json_object_get(v, key);
    assert_true(json_is_number(n));
    return json_number_value(n);
}

/* The pieces of tokens and of text, as they were heard. */
typedef struct heard {
    cf_buf tokens, text;
    size_t n_token;
} heard;

static void on_reply(void *user, cf_heard kind, const char *text, size_t n)
{
    heard *h = user;
    if (kind == CF_HEARD_TEXT) {
        cf_buf_add(&h->text, text, n);
    } else if (kind == CF_HEARD_TOKEN) {
        cf_error err = {.text = ""};
        json_t *v = NULL;
        T_OK(cf_json_read(&v, text, n, &err), err);
        cf_str piece = cf_json_get_str(v, "text");
        cf_buf_add(&h->tokens, piece.p, piece.n);
        h->n_token++;
        json_decref(v);
    }
}

static void test_alternatives__of_each_token(void **state)
{
    (void)state;
    cf_error err = {.text = ""};
    confab *c = open_bundled();
    T_OK(cf_set(c, "alternatives", "4", &err), err);
    assert_non_null(cf_chat(c, "What is confab?", &err));
    json_t *all = read_json(cf_alternatives(c, &err));
    assert_true(json_array_size(all) > 3);
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *t = json_array_get(all, i), *top = json_object_get(t, "top");
        assert_int_equal(json_array_size(top), 4);
        double before = 2;
        for (size_t k = 0; k < 4; k++) {
            double p = number(json_array_get(top, k), "p");
            assert_true(p >= 0 && p <= before);
            before = p;
        }
        /* The bundled model is greedy, so what was drawn is the most likely. */
        assert_int_equal((int)number(json_array_get(top, 0), "id"), (int)number(t, "id"));
        assert_true(number(t, "p_raw") == number(json_array_get(top, 0), "p"));
    }
    json_decref(all);
    cf_close(c);
}

static void test_alternatives__are_heard(void **state)
{
    (void)state;
    cf_error err = {.text = ""};
    heard h = {.tokens = CF_BUF_INIT, .text = CF_BUF_INIT};
    confab *c = open_bundled();
    cf_on_reply(c, on_reply, &h);
    T_OK(cf_set(c, "alternatives", "1", &err), err);
    const char *reply = cf_chat(c, "Hello", &err);
    assert_non_null(reply);
    assert_true(h.n_token > 2);
    assert_int_equal(strncmp(cf_buf_cstr(&h.tokens), reply, strlen(reply)), 0);
    T_OK(cf_set(c, "alternatives", "0", &err), err);
    size_t n = h.n_token;
    assert_non_null(cf_chat(c, "Hello", &err));
    assert_int_equal(h.n_token, n);
    T_FAILS(cf_set(c, "alternatives", "65", &err), CF_EINVAL);
    cf_buf_deinit(&h.tokens);
    cf_buf_deinit(&h.text);
    cf_close(c);
}

/* The reply is a tool's: without its declaration or the question it would be another. */
static void test_influence__of_parts(void **state)
{
    (void)state;
    cf_error err = {.text = ""};
    confab *c = open_bundled();
    assert_null(cf_influence(c, NULL, &err));
    assert_int_equal(err.code, CF_EINVAL);
    T_OK(cf_set_system(c, "Be brief.", &err), err);
    T_OK(cf_add_tool(c,
                     "{\"name\":\"get_weather\",\"description\":\"Weather at a place.\","
                     "\"parameters\":{\"type\":\"object\",\"properties\":{\"location\":"
                     "{\"type\":\"string\"}}}}",
                     NULL, NULL, &err),
         err);
    T_OK(cf_set(c, "alternatives", "1", &err), err);
    T_OK(cf_set(c, "max_tokens", "2", &err), err); /* the begin of a call is none */
    assert_non_null(cf_chat(c, "What is the weather in Oslo?", &err));
    json_t *tokens = read_json(cf_alternatives(c, &err));
    json_t *all = read_json(cf_influence(c, NULL, &err));
    double with = 0;
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        with += log(number(json_array_get(tokens, i), "p_raw"));
    }
    assert_true(fabs(with - number(all, "with")) < 1e-3);
    const json_t *parts = json_object_get(all, "parts");
    static const char *const kinds[] = {"message", "message", "tool"};
    assert_int_equal(json_array_size(parts), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *p = json_array_get(parts, i);
        assert_true(cf_str_is(cf_json_get_str(p, "kind"), kinds[i]));
        assert_int_equal((int)number(p, "index"), i < 2 ? i : 0);
        assert_true(fabs(number(p, "without") - with - number(p, "delta")) < 1e-3);
        assert_true(i == 0 || number(p, "delta") < -1);
    }
    json_decref(all);
    /* A message's only sentence is the message, but for its frame; so are all words. */
    all = read_json(cf_influence(c, "sentence,word", &err));
    parts = json_object_get(all, "parts");
    assert_int_equal(json_array_size(parts), 2 + 2 + 6);
    for (size_t i = 0; i < 10; i++) {
        const json_t *p = json_array_get(parts, i);
        assert_true(cf_str_is(cf_json_get_str(p, "kind"), i < 2 ? "sentence" : "word"));
        assert_int_equal((int)number(p, "message"), i == 1 || i > 3);
        assert_int_equal((int)number(p, "index"), i < 2 ? 0 : i < 4 ? i - 2 : i - 4);
        assert_true(fabs(number(p, "without") - with - number(p, "delta")) < 1e-3);
    }
    assert_true(number(json_array_get(parts, 1), "delta") < -1);
    assert_null(cf_influence(c, "word,letter", &err));
    assert_int_equal(err.code, CF_EINVAL);
    json_decref(tokens);
    json_decref(all);
    /* A conversation that is another one has no such reply. */
    T_OK(cf_set_messages(c, "[{\"role\":\"user\",\"content\":\"Hi\"}]", &err), err);
    assert_null(cf_influence(c, NULL, &err));
    cf_close(c);
}

/* The likelihood of a text after a prompt. */
static double score_of(confab *c, const char *prompt, const char *text)
{
    cf_error err = {.text = ""};
    json_t *v = read_json(cf_score_text(c, prompt, text, &err));
    double sum = number(v, "sum");
    json_decref(v);
    return sum;
}

static char *prompt_of(confab *c, const char *message)
{
    cf_error err = {.text = ""};
    json_t *v = read_json(cf_inspect(c, message, &err));
    char *text = strdup(json_string_value(json_object_get(v, "text")));
    json_decref(v);
    return text;
}

/* The share of "a" in what the constraint lets through: "a" or "b". */
static double share_of_a(confab *c, const char *prompt)
{
    double a = score_of(c, prompt, "a"), b = score_of(c, prompt, "b");
    return a - log(exp(a) + exp(b));
}

static void test_influence__under_a_constraint(void **state)
{
    (void)state;
    cf_error err = {.text = ""};
    confab *c = open_bundled();
    char *without = prompt_of(c, "Which?");
    T_OK(cf_set_system(c, "The letter is a.", &err), err);
    char *with = prompt_of(c, "Which?");
    T_OK(cf_constrain(c, "{\"regex\":\"[ab]\"}", &err), err);
    const char *reply = cf_chat(c, "Which?", &err);
    assert_non_null(reply);
    bool is_a = reply[0] == 'a';
    T_OK(cf_constrain(c, "{\"regex\":\"[0-9]\"}", &err), err); /* of later replies */
    for (int i = 0; i < 2; i++) {
        json_t *all = read_json(cf_influence(c, "message", &err));
        const json_t *parts = json_object_get(all, "parts");
        double p = share_of_a(c, with), q = share_of_a(c, without);
        p = is_a ? p : log1p(-exp(p));
        q = is_a ? q : log1p(-exp(q));
        assert_true(fabs(number(all, "with") - p) < 1e-3);
        assert_true(fabs(number(json_array_get(parts, 0), "without") - q) < 1e-3);
        assert_int_equal((int)number(all, "forced"), 0);
        json_decref(all);
        T_OK(cf_constrain(c, NULL, &err), err);
    }
    /* A free reply after it is scored freely. */
    T_OK(cf_set(c, "alternatives", "1", &err), err);
    assert_non_null(cf_chat(c, "Hello", &err));
    json_t *tokens = read_json(cf_alternatives(c, &err));
    json_t *all = read_json(cf_influence(c, "", &err));
    double sum = 0;
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        sum += log(number(json_array_get(tokens, i), "p_raw"));
    }
    assert_true(fabs(number(all, "with") - sum) < 1e-3);
    assert_null(json_object_get(all, "forced"));
    json_decref(tokens);
    json_decref(all);
    free(with);
    free(without);
    cf_close(c);
}

/* Where the constraint leaves one text only, the reply is certain. */
static void test_influence__of_forced_tokens(void **state)
{
    (void)state;
    cf_error err = {.text = ""};
    confab *c = open_bundled();
    T_OK(cf_constrain(c, "{\"choices\":[\"The answer is four.\"]}", &err), err);
    assert_non_null(cf_chat(c, "Hello", &err));
    json_t *all = read_json(cf_influence(c, NULL, &err));
    assert_true(fabs(number(all, "with")) < 1e-6);
    assert_true(number(all, "forced") > 0);
    json_decref(all);
    cf_close(c);
}

/* A call needs its question and its declaration: together they are worth what the reply
 * loses without both. */
static void test_influence__of_a_group(void **state)
{
    (void)state;
    cf_error err = {.text = ""};
    confab *c = open_bundled();
    T_OK(cf_set_system(c, "Be brief.", &err), err);
    char *without = prompt_of(c, NULL);
    T_OK(cf_add_tool(c,
                     "{\"name\":\"get_weather\",\"description\":\"Weather at a place.\","
                     "\"parameters\":{\"type\":\"object\",\"properties\":{\"location\":"
                     "{\"type\":\"string\"}}}}",
                     NULL, NULL, &err),
         err);
    T_OK(cf_set(c, "max_tokens", "1", &err), err);
    assert_non_null(cf_chat(c, "What is the weather in Oslo?", &err));
    json_t *all = read_json(cf_influence(c, "message,tool,field", &err));
    const json_t *parts = json_object_get(all, "parts");
    const json_t *groups = json_object_get(all, "groups"), *g = json_array_get(groups, 0);
    assert_int_equal(json_array_size(groups), 1);
    assert_true(cf_str_is(cf_json_get_str(g, "kind"), "both"));
    const json_t *members = json_object_get(g, "parts");
    assert_int_equal(json_array_size(members), 2);
    bool has_question = false, has_tool = false;
    for (size_t i = 0; i < 2; i++) {
        json_int_t at = json_integer_value(json_array_get(members, i));
        has_question = has_question || at == 1;
        has_tool = has_tool ||
                   cf_str_is(cf_json_get_str(json_array_get(parts, (size_t)at), "kind"), "tool");
    }
    assert_true(has_question && has_tool);
    double both = score_of(c, without, "<tool_call>");
    assert_true(fabs(number(all, "with") + number(g, "delta") - both) < 1e-3);
    /* A field says which it is. */
    const json_t *field = json_array_get(parts, json_array_size(parts) - 1);
    assert_true(cf_str_is(cf_json_get_str(field, "path"), "parameters.location"));
    json_decref(all);
    free(without);
    cf_close(c);
}

/* The likelihood of a text is the product of its parts'. */
static void test_score__adds_up(void **state)
{
    (void)state;
    cf_error err = {.text = ""};
    confab *c = open_bundled();
    json_t *v = read_json(cf_score_text(c, "confab is", " a debugger", &err));
    const json_t *tokens = json_object_get(v, "tokens");
    double sum = 0;
    size_t at = strlen("confab is");
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        const json_t *t = json_array_get(tokens, i);
        assert_int_equal((size_t)number(t, "off"), at);
        at += (size_t)number(t, "len");
        sum += number(t, "log_p");
    }
    assert_int_equal(at, strlen("confab is a debugger"));
    assert_true(fabs(sum - number(v, "sum")) < 1e-4);
    json_decref(v);
    assert_null(cf_score_text(c, NULL, "a", &err));
    assert_int_equal(err.code, CF_EINVAL);
    cf_close(c);
}

/* The last layer of the lens is the model's own answer: the token that it wrote. */
static void test_inside__of_the_last_reply(void **state)
{
    (void)state;
    cf_error err = {.text = ""};
    confab *c = open_bundled();
    assert_null(cf_inside(c, "{\"op\":\"lens\"}", &err));
    assert_int_equal(err.code, CF_EINVAL);
    assert_string_equal(err.text, "the request has no \"ids\", and there is no reply yet");
    assert_non_null(cf_chat(c, "What is confab?", &err));
    json_t *tokens = read_json(cf_alternatives(c, &err));
    json_t *lens = read_json(cf_inside(c, "{\"op\":\"lens\"}", &err));
    const json_t *layers = json_object_get(lens, "layers");
    const json_t *last = json_array_get(layers, json_array_size(layers) - 1);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(last, "top"), 0)),
                     (int)number(json_array_get(tokens, 0), "id"));
    json_decref(lens);
    json_decref(tokens);
    assert_null(cf_inside(c, "[]", &err));
    assert_int_equal(err.code, CF_EINVAL);
    assert_null(cf_inside(c, "{\"op\":\"lens\",\"ids\":[999999],\"at\":0}", &err));
    assert_int_equal(err.code, CF_EINVAL);
    cf_close(c);
}

static void test_script__is_not_looked_into(void **state)
{
    (void)state;
    cf_error err;
    char model[600];
    const char *path = store_dir_put_text("s.json", "{\"replies\":[{\"text\":\"Yes.\"}]}");
    snprintf(model, sizeof model, "script:%s", path);
    confab *c = cf_open(model, &err);
    assert_non_null(c);
    assert_non_null(cf_chat(c, "Hi", &err));
    assert_non_null(cf_alternatives(c, &err));
    assert_null(cf_inside(c, "{\"op\":\"lens\"}", &err));
    assert_int_equal(err.code, CF_EUNSUPPORTED);
    assert_null(cf_influence(c, NULL, &err));
    assert_int_equal(err.code, CF_EUNSUPPORTED);
    cf_close(c);
}

/* Where memory runs out, a function fails and loses nothing. */
static cf_status look(void *ud)
{
    confab *c = ud;
    cf_error err = {.code = CF_OK};
    bool is_done = cf_alternatives(c, &err) != NULL && cf_score_text(c, "a", "b", &err) != NULL &&
                   cf_inside(c, "{\"op\":\"attention\",\"ids\":[1,2,3],\"at\":2}", &err) != NULL &&
                   cf_influence(c, "message,sentence", &err) != NULL;
    return is_done ? CF_OK : err.code;
}

static void test_look__without_memory(void **state)
{
    (void)state;
    cf_error err;
    confab *c = open_bundled();
    assert_non_null(cf_chat(c, "Hello", &err));
    assert_int_equal(look(c), CF_OK);
    for (size_t n = 1;; n++) {
        cf_fault_arm(n, false);
        cf_status st = look(c);
        bool failed = cf_fault_disarm();
        assert_true(st == CF_OK || (failed && st == CF_ENOMEM));
        if (!failed) {
            break;
        }
    }
    cf_close(c);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alternatives__of_each_token),
        cmocka_unit_test(test_alternatives__are_heard),
        cmocka_unit_test(test_influence__of_parts),
        cmocka_unit_test(test_influence__under_a_constraint),
        cmocka_unit_test(test_influence__of_forced_tokens),
        cmocka_unit_test(test_influence__of_a_group),
        cmocka_unit_test(test_score__adds_up),
        cmocka_unit_test(test_inside__of_the_last_reply),
        cmocka_unit_test(test_script__is_not_looked_into),
        cmocka_unit_test(test_look__without_memory),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
