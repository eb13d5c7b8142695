/*
 * test_bisect.c - the change that matters is found, in few questions, wherever
 * it is; versions that are no good and bad are refused.
 */
#include "tests/support/t.h"

#include "tui/study/shrink/bisect.h"
#include "tui/study/shrink/bisect_items.h"

enum { N = 100 };

typedef struct want {
    const char *item; /* a version with it is bad */
    size_t n_asked;
} want;

static cf_status has_item(void *ud, const cf_str *v, size_t n, bool *is_bad, cf_error *err)
{
    want *w = ud;
    (void)err;
    w->n_asked++;
    *is_bad = false;
    for (size_t i = 0; i < n; i++) {
        *is_bad = *is_bad || cf_str_is(v[i], w->item);
    }
    return CF_OK;
}

static void test_bisect__finds_it(void **state)
{
    (void)state;
    static char text[2][N][8];
    cf_str good[N], bad[N];
    for (int at = 1; at < N; at += 7) {
        for (int i = 0; i < N; i++) {
            snprintf(text[0][i], 8, "g%d", i);
            snprintf(text[1][i], 8, i % 3 == 0 ? "b%d" : "g%d", i);
            good[i] = cf_str_from(text[0][i]);
            bad[i] = cf_str_from(text[1][i]);
        }
        bad[at] = cf_str_from("X");
        cf_bisect b;
        cf_error err;
        want w = {"X", 0};
        T_OK(cf_bisect_init(&b, good, N, bad, N, &err), err);
        T_OK(cf_bisect_run(&b, has_item, &w, &err), err);
        const cf_change *c = &b.change[b.found];
        assert_true((size_t)at >= c->b && (size_t)at < c->b + c->n_b);
        assert_true(b.is_enough);
        assert_true(w.n_asked <= 10);
        assert_int_equal(w.n_asked, b.n_runs);
        cf_bisect_deinit(&b);
    }
}

static void test_bisect__changes(void **state)
{
    (void)state;
    const cf_str good[] = {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}};
    const cf_str bad[] = {{"x", 1}, {"a", 1}, {"c", 1}, {"e", 1}, {"d", 1}};
    cf_bisect b;
    cf_error err;
    T_OK(cf_bisect_init(&b, good, 4, bad, 5, &err), err);
    assert_int_equal(b.n_change, 3);
    assert_int_equal(b.change[0].n_a, 0);
    assert_int_equal(b.change[0].n_b, 1);
    assert_int_equal(b.change[1].a, 1);
    assert_int_equal(b.change[1].n_a, 1);
    assert_int_equal(b.change[1].n_b, 0);
    assert_int_equal(b.change[2].a, 3);
    assert_int_equal(b.change[2].b, 3);
    cf_bisect_deinit(&b);
}

static void test_bisect__refuses(void **state)
{
    (void)state;
    const cf_str good[] = {{"a", 1}}, bad[] = {{"b", 1}};
    cf_bisect b;
    cf_error err;
    want w = {"a", 0};
    T_OK(cf_bisect_init(&b, good, 1, good, 1, &err), err);
    T_FAILS(cf_bisect_run(&b, has_item, &w, &err), CF_EINVAL);
    cf_bisect_deinit(&b);
    T_OK(cf_bisect_init(&b, good, 1, bad, 1, &err), err);
    T_FAILS(cf_bisect_run(&b, has_item, &w, &err), CF_EINVAL);
    w.item = "c";
    T_FAILS(cf_bisect_run(&b, has_item, &w, &err), CF_EINVAL);
    cf_bisect_deinit(&b);
}

/* Every line was indented, and one is broken: the change is that line. */
static void test_bisect__inside_adjacent_changes(void **state)
{
    (void)state;
    static char text[2][N][8];
    cf_str good[N], bad[N];
    for (int at = 0; at < N; at += 9) {
        for (int i = 0; i < N; i++) {
            snprintf(text[0][i], 8, "g%d", i);
            snprintf(text[1][i], 8, " g%d", i);
            good[i] = cf_str_from(text[0][i]);
            bad[i] = cf_str_from(text[1][i]);
        }
        bad[at] = cf_str_from("X");
        cf_bisect b;
        cf_error err;
        want w = {"X", 0};
        T_OK(cf_bisect_init(&b, good, N, bad, N, &err), err);
        assert_int_equal(b.n_change, 1);
        T_OK(cf_bisect_run(&b, has_item, &w, &err), err);
        const cf_change *c = &b.change[b.found];
        assert_int_equal(c->a, at);
        assert_int_equal(c->b, at);
        assert_true(c->n_a == 1 && c->n_b == 1);
        assert_true(b.is_enough && b.holds);
        assert_true(w.n_asked <= 10);
        cf_bisect_deinit(&b);
    }
}

/* An answer that is yes once and never again. */
static cf_status holds_once(void *ud, const cf_str *v, size_t n, bool *is_bad, cf_error *err)
{
    size_t *n_asked = ud;
    (void)v;
    (void)n;
    (void)err;
    *is_bad = (*n_asked)++ == 1;
    return CF_OK;
}

static void test_bisect__the_last_answer_is_no(void **state)
{
    (void)state;
    const cf_str good[] = {{"a", 1}, {"b", 1}, {"c", 1}}, bad[] = {{"x", 1}, {"b", 1}, {"y", 1}};
    cf_bisect b;
    cf_error err;
    size_t n_asked = 0;
    T_OK(cf_bisect_init(&b, good, 3, bad, 3, &err), err);
    T_OK(cf_bisect_run(&b, holds_once, &n_asked, &err), err);
    assert_false(b.holds);
    assert_false(b.is_enough);
    cf_bisect_deinit(&b);
}

/* ---- conversations ------------------------------------------------------ */

static json_t *read(const char *text)
{
    json_t *v = NULL;
    cf_error err;
    T_OK(cf_json_read(&v, text, strlen(text), &err), err);
    return v;
}

static void make_items(cf_bisect_items *out, const json_t *v)
{
    cf_error err;
    const cf_part_context context = {.messages = json_object_get(v, "messages"),
                                     .tools = json_object_get(v, "tools"),
                                     .extra = json_object_get(v, "extra")};
    *out = (cf_bisect_items){.n = 0};
    T_OK(cf_bisect_items_of(out, &context, &err), err);
}

static void test_items__and_back(void **state)
{
    (void)state;
    static const char text[] =
        "{\"messages\":[{\"role\":\"system\",\"content\":\"a\\nb\\n\"},"
        "{\"role\":\"user\",\"content\":\"\"},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\\ny\"}]},"
        "{\"role\":\"assistant\",\"content\":null}],"
        "\"tools\":[{\"type\":\"function\"}],\"extra\":{\"k\":[1,2]}}";
    json_t *v = read(text), *back = NULL;
    cf_bisect_items it;
    cf_error err;
    make_items(&it, v);
    assert_int_equal(it.n, 4 + 2 + 1 + 1 + 1 + 1);
    T_OK(cf_bisect_items_context(it.v, it.n, &back, &err), err);
    assert_true(json_equal(json_object_get(back, "messages"), json_object_get(v, "messages")));
    assert_true(json_equal(json_object_get(back, "tools"), json_object_get(v, "tools")));
    assert_int_equal(json_array_size(json_object_get(back, "k")), 2);
    cf_bisect_place p = cf_bisect_items_place(&it, 2);
    assert_true(p.is_line && !p.is_whole && p.part == 0 && p.line == 1);
    p = cf_bisect_items_place(&it, 5);
    assert_true(p.is_line && p.is_whole && p.part == 1);
    p = cf_bisect_items_place(&it, 8);
    assert_true(!p.is_line && p.part == 4);
    json_decref(back);
    json_decref(v);
    cf_bisect_items_deinit(&it);
}

/* Whether the word is in the context that the items are. */
static cf_status has_word(void *ud, const cf_str *v, size_t n, bool *is_bad, cf_error *err)
{
    json_t *context = NULL;
    cf_buf text = CF_BUF_INIT;
    CF_TRY(cf_bisect_items_context(v, n, &context, err));
    cf_json_write(&text, context);
    *is_bad = strstr(cf_buf_cstr(&text), ud) != NULL;
    cf_buf_deinit(&text);
    json_decref(context);
    return CF_OK;
}

/* The commonest regression: one line of a longer edit of the system prompt. */
static void test_items__a_line_of_a_message(void **state)
{
    (void)state;
    json_t *v = read("{\"messages\":[{\"role\":\"system\",\"content\":\"One.\\nTwo.\\nThree.\"},"
                     "{\"role\":\"user\",\"content\":\"hi\"}]}");
    json_t *w = read("{\"messages\":[{\"role\":\"system\",\"content\":\"1.\\nPLANT.\\n3.\\n4.\"},"
                     "{\"role\":\"user\",\"content\":\"hello\"}]}");
    char word[] = "PLANT";
    cf_bisect_items good, bad;
    cf_bisect b;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    make_items(&good, v);
    make_items(&bad, w);
    T_OK(cf_bisect_init(&b, good.v, good.n, bad.v, bad.n, &err), err);
    b.head = CF_BISECT_HEAD;
    T_OK(cf_bisect_run(&b, has_word, word, &err), err);
    const cf_change *c = &b.change[b.found];
    assert_true(c->n_a == 1 && c->n_b == 1 && b.is_enough);
    T_OK(cf_bisect_items_put(&out, &bad, c->b, &err), err);
    assert_string_equal(cf_buf_cstr(&out), "\"PLANT.\"");
    cf_buf_reset(&out);
    T_OK(cf_bisect_items_put(&out, &bad, bad.n - 1, &err), err); /* a text of one line */
    assert_string_equal(cf_buf_cstr(&out), "{\"role\":\"user\",\"content\":\"hello\"}");
    cf_buf_deinit(&out);
    cf_bisect_deinit(&b);
    cf_bisect_items_deinit(&good);
    cf_bisect_items_deinit(&bad);
    json_decref(v);
    json_decref(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bisect__finds_it),
        cmocka_unit_test(test_bisect__changes),
        cmocka_unit_test(test_bisect__refuses),
        cmocka_unit_test(test_bisect__inside_adjacent_changes),
        cmocka_unit_test(test_bisect__the_last_answer_is_no),
        cmocka_unit_test(test_items__and_back),
        cmocka_unit_test(test_items__a_line_of_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
