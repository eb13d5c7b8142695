/*
 * test_reply_settings.c - names and values of the settings of a reply, set with
 * ":set" and in confabrc.
 */
#include "tests/support/t.h"

#include "tui/app/config/config.h"

static void test_settings__values(void **state)
{
    (void)state;
    cf_config c;
    cf_reply_settings s;
    cf_error err;
    cf_config_init(&c);
    cf_reply_settings_init(&s);
    c.reply = &s;
    assert_false(s.chat.has_sampling);
    T_OK(cf_config_set(&c, "max_tokens=12", "set", &err), err);
    T_OK(cf_config_set(&c, "enable_thinking=on", "set", &err), err);
    T_OK(cf_config_set(&c, "thinking-budget=0", "set", &err), err);
    assert_false(s.chat.has_sampling);
    T_OK(cf_config_set(&c, "temperature=0.25", "set", &err), err);
    T_OK(cf_config_set(&c, "top-k=3", "set", &err), err);
    T_OK(cf_config_set(&c, "seed=18446744073709551615", "set", &err), err);
    T_OK(cf_config_set(&c, "trace_top=64", "set", &err), err);
    T_OK(cf_config_set(&c, "notrace", "set", &err), err);
    assert_true(s.chat.has_sampling);
    assert_int_equal(s.chat.max_tokens, 12);
    assert_int_equal(s.chat.thinking, CF_THINKING_ON);
    assert_true(s.chat.has_thinking_budget);
    assert_int_equal(s.chat.thinking_budget, 0);
    assert_true(s.chat.sampling.temperature == 0.25f);
    assert_int_equal(s.chat.sampling.top_k, 3);
    assert_true(s.chat.sampling.seed == UINT64_MAX);
    assert_int_equal(s.trace_top, 64);
    assert_false(s.trace);
    T_OK(cf_config_set(&c, "thinking_budget=off", "set", &err), err);
    T_OK(cf_config_set(&c, "enable_thinking=default", "set", &err), err);
    assert_false(s.chat.has_thinking_budget);
    assert_int_equal(s.chat.thinking, CF_THINKING_DEFAULT);
    cf_buf line = CF_BUF_INIT;
    assert_true(cf_config_show(&c, "temperature", &line));
    assert_string_equal(cf_buf_cstr(&line),
                        "temperature=0.25  (set)  divides logits; 0 takes the best");
    cf_buf_reset(&line);
    cf_reply_settings_line(&s, &line);
    assert_string_equal(cf_buf_cstr(&line), "T 0.25 k 3 seed 18446744073709551615 n 12");
    cf_buf_deinit(&line);
}

/* A value that is none changes nothing, and the message says what would be
 * one. */
static void test_settings__refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"temperature=hot", "temperature is a number, not 'hot'"},
        {"temperature=", "temperature is a number, not ''"},
        {"temperature=3", "temperature must be between 0 and 2, not '3'"},
        {"temperature=nan", "temperature is a number, not 'nan'"},
        {"temperature=1e99", "temperature is a number, not '1e99'"},
        {"top_p=1.5", "top_p must be between 0 and 1, not '1.5'"},
        {"min_p=-1", "min_p must be between 0 and 1, not '-1'"},
        {"top_k=-1", "top_k is a whole number from 0 to 4294967295, not '-1'"},
        {"top_k=4294967296", "top_k is a whole number from 0 to 4294967295, not '4294967296'"},
        {"top_k=3.5", "top_k is a whole number from 0 to 4294967295, not '3.5'"},
        {"seed=18446744073709551616",
         "seed is a whole number or 'random', not '18446744073709551616'"},
        {"trace_top=65", "trace_top is a whole number from 0 to 64, not '65'"},
        {"trace=maybe", "trace is on or off, not 'maybe'"},
        {"enable_thinking=much", "enable_thinking is default, on or off, not 'much'"},
        {"thinking_budget=-1", "thinking_budget is a whole number or 'off', not '-1'"},
        {"heat=1", "no setting 'heat'; :set lists them"},
        {"=1", "no setting ''; :set lists them"},
    };
    cf_config c;
    cf_reply_settings s, before;
    cf_error err;
    cf_config_init(&c);
    cf_reply_settings_init(&s);
    c.reply = &s;
    before = s;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(cf_config_set(&c, cases[i].text, "set", &err), CF_EINVAL);
        assert_string_equal(err.text, cases[i].message);
        assert_memory_equal(&s, &before, sizeof s);
    }
    c.reply = NULL;
    assert_int_equal(cf_config_set(&c, "seed=1", "set", &err), CF_EINVAL);
}

/* Arguments for servers, up to the longest ones and beyond. */
static void test_settings__arguments_for_servers(void **state)
{
    (void)state;
    cf_config c;
    cf_reply_settings s;
    cf_error err;
    char text[CF_EXTRA_MAX + 40];
    cf_config_init(&c);
    cf_reply_settings_init(&s);
    c.reply = &s;
    for (int over = 0; over < 2; over++) { /* {"a":"..."} takes 8 bytes */
        size_t n = (size_t)(CF_EXTRA_MAX - 1 - 8 + over);
        int at = snprintf(text, sizeof text, "extra={\"a\":\"");
        memset(text + at, 'x', n);
        snprintf(text + at + n, sizeof text - (size_t)at - n, "\"}");
        cf_status st = cf_config_set(&c, text, "set", &err);
        assert_int_equal(st, over ? CF_ELIMIT : CF_OK);
        assert_int_equal(strlen(s.extra), CF_EXTRA_MAX - 1);
    }
    T_OK(cf_config_set(&c, "extra={\"b\":1}", "set", &err), err);
    assert_string_equal(s.extra, "{\"b\":1}");
    T_OK(cf_config_set(&c, "extra=off", "set", &err), err);
    assert_string_equal(s.extra, "");
}

/* confabrc sets them too, but not what the command line gave; mistakes are
 * told all the same. */
static void test_settings__confabrc(void **state)
{
    (void)state;
    static const char text[] = "set temperature=0.5\n"
                               "set top_k=7\n"
                               "set top_k=many\n"
                               "set seed=x\n"
                               "set a11y=on\n";
    cf_config c;
    cf_reply_settings s;
    const cf_binder none = {.bind = NULL};
    cf_error err;
    cf_buf problems = CF_BUF_INIT;
    cf_config_init(&c);
    cf_reply_settings_init(&s);
    s.chat.sampling.temperature = 1;
    s.chat.sampling.seed = 9;
    cf_reply_settings_fix(&s, "temperature");
    cf_reply_settings_fix(&s, "seed");
    c.reply = &s;
    T_OK(cf_config_read(&c, text, sizeof text - 1, &none, &problems, &err), err);
    assert_true(s.chat.sampling.temperature == 1);
    assert_int_equal(s.chat.sampling.top_k, 7);
    assert_true(s.chat.sampling.seed == 9);
    assert_true(c.a11y);
    assert_string_equal(cf_buf_cstr(&problems),
                        "line 3: top_k is a whole number from 0 to 4294967295, not 'many'\n"
                        "line 4: seed is a whole number or 'random', not 'x'\n");
    T_OK(cf_config_set(&c, "seed=1", "set", &err), err);
    assert_true(s.chat.sampling.seed == 1);
    cf_buf_deinit(&problems);
}

/* Every name can be found by itself, and all are listed. */
static void test_settings__names(void **state)
{
    (void)state;
    cf_config c;
    cf_reply_settings s;
    cf_buf list = CF_BUF_INIT;
    cf_config_init(&c);
    cf_reply_settings_init(&s);
    c.reply = &s;
    cf_config_list(&c, &list);
    size_t n = 0;
    for (; cf_config_name(&c, n) != NULL; n++) {
        cf_buf line = CF_BUF_INIT;
        assert_true(cf_config_show(&c, cf_config_name(&c, n), &line));
        assert_non_null(strstr(cf_buf_cstr(&list), cf_buf_cstr(&line)));
        cf_buf_deinit(&line);
    }
    assert_true(n > 20);
    assert_false(cf_config_show(&c, "heat", &list));
    cf_buf_deinit(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings__values),
        cmocka_unit_test(test_settings__refused),
        cmocka_unit_test(test_settings__arguments_for_servers),
        cmocka_unit_test(test_settings__confabrc),
        cmocka_unit_test(test_settings__names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
