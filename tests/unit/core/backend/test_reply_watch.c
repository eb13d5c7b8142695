/*
 * test_reply_watch.c - what is said about a reply without an end: by tokens or
 * by words, however the text is cut, and thinking by what the model does.
 */
#include "core/backend/reply_watch.h"
#include "tests/support/t.h"

#include <string.h>

/* Notes of a text that comes `step` bytes at a time, a line each. */
static void notes_of(const char *text, size_t step, bool is_thinking, size_t most_thinking,
                     cf_buf *out)
{
    cf_reply_watch w;
    cf_error err;
    T_OK(cf_reply_watch_init(&w, &err), err);
    w.most_thinking = most_thinking;
    for (size_t at = 0, n = strlen(text); at < n; at += step) {
        cf_buf note = CF_BUF_INIT;
        T_OK(cf_reply_watch_text(&w, cf_str_make(text + at, step < n - at ? step : n - at),
                                 is_thinking, &note, &err),
             err);
        if (note.n > 0) {
            cf_buf_add(out, note.p, note.n);
            cf_buf_addc(out, '\n');
        }
        cf_buf_deinit(&note);
    }
    cf_reply_watch_deinit(&w);
}

static void repeat(cf_buf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(out, text);
    }
}

/* The same one note for every cut; the loop was noticed at the same word. */
static void test_watch__words(void **state)
{
    (void)state;
    cf_buf text = CF_BUF_INIT;
    cf_buf_adds(&text, "Let me see now. ");
    repeat(&text, "I will try again. ", 40);
    for (size_t step = 1; step < 9; step++) {
        cf_buf notes = CF_BUF_INIT;
        notes_of(cf_buf_cstr(&text), step, false, 0, &notes);
        assert_string_equal(cf_buf_cstr(&notes), "the reply is in a loop: from word 4 on it "
                                                 "repeats 4 words, 8 times so far\n");
        cf_buf_deinit(&notes);
    }
    cf_buf_deinit(&text);
}

static void test_watch__no_blanks(void **state)
{
    (void)state;
    cf_buf text = CF_BUF_INIT, notes = CF_BUF_INIT;
    repeat(&text, "ha", 2000);
    notes_of(cf_buf_cstr(&text), 7, false, 0, &notes);
    assert_non_null(strstr(cf_buf_cstr(&notes), "it repeats 1 word,"));
    cf_buf_deinit(&text);
    cf_buf_deinit(&notes);
}

/* Words of prose with numbers in them are not a loop. */
static void test_watch__nothing(void **state)
{
    (void)state;
    cf_buf text = CF_BUF_INIT, notes = CF_BUF_INIT;
    for (int i = 0; i < 400; i++) {
        cf_buf_addf(&text, "Row %d has %d items. ", i, i * 37 % 101);
    }
    notes_of(cf_buf_cstr(&text), 5, false, 0, &notes);
    assert_int_equal(notes.n, 0);
    cf_buf_deinit(&text);
    cf_buf_deinit(&notes);
}

static void test_watch__json(void **state)
{
    (void)state;
    cf_buf text = CF_BUF_INIT, notes = CF_BUF_INIT;
    cf_buf_adds(&text, "{\"a\": 1");
    repeat(&text, "0123456789", 21);
    notes_of(cf_buf_cstr(&text), 3, false, 0, &notes);
    assert_string_equal(cf_buf_cstr(&notes), "the reply's JSON cannot end like this: a number has "
                                             "no end\n");
    cf_buf_deinit(&text);
    cf_buf_deinit(&notes);
}

/* Before a model is known the limit is 8,192; then four times its longest
 * thinking, and 1,024 at least. */
static void test_watch__habit(void **state)
{
    (void)state;
    cf_thinking_habit h = {0, 0};
    assert_int_equal(cf_thinking_habit_limit(&h), CF_WATCH_THINKING);
    cf_thinking_habit_add(&h, 0); /* did not think */
    cf_thinking_habit_add(&h, 100);
    cf_thinking_habit_add(&h, 50);
    assert_int_equal(cf_thinking_habit_limit(&h), CF_WATCH_THINKING);
    cf_thinking_habit_add(&h, 60);
    assert_int_equal(cf_thinking_habit_limit(&h), CF_WATCH_LEAST);
    cf_thinking_habit_add(&h, 500);
    assert_int_equal(cf_thinking_habit_limit(&h), 2000);
    cf_thinking_habit_add(&h, 9000);
    assert_int_equal(cf_thinking_habit_limit(&h), 36000);

    cf_buf text = CF_BUF_INIT, notes = CF_BUF_INIT;
    for (int i = 0; i < 1200; i++) {
        cf_buf_addf(&text, "thought%d ", i);
    }
    notes_of(cf_buf_cstr(&text), 100, true, CF_WATCH_LEAST, &notes);
    assert_string_equal(cf_buf_cstr(&notes), "the reply has been thinking for 1024 words, much "
                                             "longer than this model does\n");
    cf_buf_deinit(&text);
    cf_buf_deinit(&notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_watch__words),   cmocka_unit_test(test_watch__no_blanks),
        cmocka_unit_test(test_watch__nothing), cmocka_unit_test(test_watch__json),
        cmocka_unit_test(test_watch__habit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
