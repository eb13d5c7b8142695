/*
 * test_word_index.c - rows found by words.
 */
#include <string.h>

#include "tests/support/fault.h"
#include "tests/support/t.h"
#include "tui/sys/word_index.h"

static void fill(cf_word_index *index)
{
    cf_word_index_init(index);
    cf_word_index_add(index, "Tokens", "w", ":surprise", "next surprise");
    cf_word_index_add(index, "Tokens", "H", ":overlay", "probability, entropy or none");
    cf_word_index_add(index, "all views", "", ":model [FILE]", "switch to another model");
    cf_word_index_add(index, "Chat", "r", ":retry", "another reply of the model");
}

static void finds(const char *question, size_t max, const char *want)
{
    cf_word_index index;
    cf_buf out = CF_BUF_INIT;
    cf_error err;
    fill(&index);
    T_OK(cf_word_index_write(&index, question, max, &out, &err), err);
    assert_string_equal(cf_buf_cstr(&out), want);
    cf_buf_deinit(&out);
    cf_word_index_deinit(&index);
}

static void test_word_index__best_first(void **state)
{
    (void)state;
    finds("How do I find SURPRISING tokens?", 1, "w  :surprise  (Tokens)\n    next surprise\n");
    finds("models", 2,
          ":model [FILE]  (all views)\n    switch to another model\n"
          "r  :retry  (Chat)\n    another reply of the model\n");
    finds("the overlay of tokens", 1, "H  :overlay  (Tokens)\n    probability, entropy or none\n");
}

/* A row with one word of the help has nothing to do with a name that is asked for. */
static void test_word_index__far_below_is_left_out(void **state)
{
    (void)state;
    finds("the overlay, its probability and another", 3,
          "H  :overlay  (Tokens)\n    probability, entropy or none\n");
}

static void test_word_index__nothing(void **state)
{
    (void)state;
    finds("", 3, "");
    finds("how do I use the \xc3\xa9t\xc3\xa9", 3, "");
    finds("zebra", 3, "");
    finds("overlay", 0, "");
}

/* A key or a name comes before all words; a letter is a key between such as
 * "does" and "do" only. */
static void test_word_index__keys_and_names(void **state)
{
    (void)state;
    static const struct {
        const char *question, *want;
    } t[] = {
        {"what does H do?", "H  :overlay"},   {"I pressed 'w' twice", "w  :surprise"},
        {"the reply of :overlay", "H  :ove"}, {"tokens, probability: a surprise", "w  :"},
        {"press H tokens surprise", "w  :"},  {"regenerate that answer", "r  :retry"},
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        cf_word_index index;
        cf_buf out = CF_BUF_INIT;
        cf_error err;
        fill(&index);
        T_OK(cf_word_index_write(&index, t[i].question, 1, &out, &err), err);
        T_TEXT(out.p, strlen(t[i].want), t[i].want);
        cf_buf_deinit(&out);
        cf_word_index_deinit(&index);
    }
}

static void test_word_index__answers(void **state)
{
    (void)state;
    cf_word_index index;
    cf_buf out = CF_BUF_INIT;
    cf_error err;
    fill(&index);
    cf_word_index_add(&index, "all views", "<F2> ?", ":help [TOPIC]", "keys");
    T_OK(cf_word_index_answer(&index, "zebra", &out, &err), err);
    assert_string_equal(cf_buf_cstr(&out),
                        CF_NOTHING_FOUND "; <F2> lists the keys and commands of a view.\n");
    cf_buf_reset(&out);
    T_OK(cf_word_index_answer(&index, " ", &out, &err), err);
    assert_non_null(strstr(cf_buf_cstr(&out), ":overlay"));
    assert_non_null(strstr(cf_buf_cstr(&out), ":help"));
    cf_buf_deinit(&out);
    cf_word_index_deinit(&index);
}

static cf_status search(void *ud)
{
    cf_word_index index;
    cf_buf out = CF_BUF_INIT;
    cf_error err;
    (void)ud;
    fill(&index);
    cf_status st = cf_word_index_write(&index, "surprise", 3, &out, &err);
    cf_buf_deinit(&out);
    cf_word_index_deinit(&index);
    return st;
}

static void test_word_index__no_memory(void **state)
{
    (void)state;
    cf_fault_every_alloc(search, NULL, false);
    cf_fault_every_alloc(search, NULL, true);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_word_index__best_first),
        cmocka_unit_test(test_word_index__far_below_is_left_out),
        cmocka_unit_test(test_word_index__nothing),
        cmocka_unit_test(test_word_index__keys_and_names),
        cmocka_unit_test(test_word_index__answers),
        cmocka_unit_test(test_word_index__no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
