/*
 * test_channels.c - thinking split off a reply, however the reply is cut: where
 * it opens, where it closes, and where a call ends it.
 */
#include "core/api/tool.h"
#include "tests/support/t.h"

typedef struct got {
    cf_channel_split *split;
    cf_buf thinking, content;
} got;

static cf_status on_piece(void *ud, size_t channel, cf_str text, cf_error *err)
{
    got *g = ud;
    cf_buf *to = channel < g->split->n ? &g->thinking : &g->content;
    cf_buf_add(to, text.p, text.n);
    return cf_buf_check(to, err);
}

/* A delimiter tells the channels wherever it stands in a template. */
static void test_channels__detected(void **state)
{
    (void)state;
    static const char *const marks[] = {"<think>", "</think>", "[THINK]", "<|channel|>",
                                        "<|inner_prefix|>"};
    static const char *const around[][2] = {{"", ""}, {"a ", ""}, {"", " a"}, {"<", ">"}};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        size_t want = 0, n = 0;
        const cf_channel *v = cf_channels_detect(cf_str_from(marks[i]), &want);
        assert_non_null(v);
        for (size_t k = 0; k < sizeof around / sizeof around[0]; k++) {
            char text[64];
            snprintf(text, sizeof text, "%s%s%s", around[k][0], marks[i], around[k][1]);
            assert_ptr_equal(cf_channels_detect(cf_str_from(text), &n), v);
            assert_int_equal(n, want);
        }
        cf_str cut = cf_str_make(marks[i], strlen(marks[i]) - 1);
        assert_null(cf_channels_detect(cut, &n));
        assert_int_equal(n, 0);
    }
}

/* Splits `raw` in pieces of `step` bytes. */
static void run(cf_tool_family family, const char *prompt, const char *raw, size_t step, got *g)
{
    cf_error err;
    cf_channel_split s;
    cf_channel_set set = cf_tool_family_channels(family);
    *g = (got){.split = &s, .thinking = CF_BUF_INIT, .content = CF_BUF_INIT};
    cf_channel_split_init(&s, set.v, set.n, on_piece, g);
    s.n_stop = cf_tool_family_stops(family, s.stop);
    cf_channel_split_prompt(&s, cf_str_from(prompt));
    for (size_t at = 0, n = strlen(raw); at < n; at += step) {
        T_OK(cf_channel_split_add(&s, cf_str_make(raw + at, n - at < step ? n - at : step), &err),
             err);
    }
    T_OK(cf_channel_split_finish(&s, &err), err);
    cf_channel_split_deinit(&s);
}

typedef struct row {
    cf_tool_family family;
    const char *prompt, *raw, *thinking, *content;
} row;

static void check(const row *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t step = 1; step <= strlen(v[i].raw); step++) {
            got g;
            run(v[i].family, v[i].prompt, v[i].raw, step, &g);
            if (strcmp(cf_buf_cstr(&g.thinking), v[i].thinking) != 0 ||
                strcmp(cf_buf_cstr(&g.content), v[i].content) != 0) {
                fail_msg("%s, in steps of %zu: thinking '%s', content '%s'", v[i].raw, step,
                         cf_buf_cstr(&g.thinking), cf_buf_cstr(&g.content));
            }
            cf_buf_deinit(&g.thinking);
            cf_buf_deinit(&g.content);
        }
    }
}

static void test_channels__open_and_close(void **state)
{
    (void)state;
    static const row v[] = {
        {CF_TOOLS_HERMES, "", "<think>a</think>b", "a", "b"},
        {CF_TOOLS_HERMES, "", " \n<think>a</think>b", "a", " \nb"},
        {CF_TOOLS_HERMES, "", "x<think>a</think>b", "", "x<think>a</think>b"},
        {CF_TOOLS_HERMES, "<think>\n", "a</think>b", "a", "b"},
        {CF_TOOLS_HERMES, "<think>a</think>", "b", "", "b"},
        {CF_TOOLS_MISTRAL, "", "x[THINK]a[/THINK]b", "a", "xb"},
        {CF_TOOLS_GRANITE, "", "Here is my thought process:a Here is my response: b", "a ", " b"},
        {CF_TOOLS_GRANITE, "", "<think>a</think>b", "a", "b"},
        {CF_TOOLS_HY3, "", "<think:opensource>a</think:opensource>b", "a", "b"},
        {CF_TOOLS_HY3, "", "<think>a</think:opensource></think>b", "a</think:opensource>", "b"},
        {CF_TOOLS_APRIEL, "Here are my reasoning steps:\n", "a\n[BEGIN FINAL RESPONSE]b", "a\n",
         "b"},
    };
    check(v, sizeof v / sizeof *v);
}

/* Delimiters that a model repeats are neither thinking nor content. */
static void test_channels__repeated_delimiters(void **state)
{
    (void)state;
    static const row v[] = {
        {CF_TOOLS_HERMES, "", "<think><think>a</think>b", "a", "b"},
        {CF_TOOLS_HERMES, "", "<think>a<think>b</think>c", "a<think>b", "c"},
        {CF_TOOLS_HERMES, "", "</think>b", "", "b"},
        {CF_TOOLS_HERMES, "", "b</think>", "", "b</think>"},
        /* what the prompt opened holds the reply's own mark */
        {CF_TOOLS_HERMES, "<think>\n", "<think>a</think>b", "<think>a", "b"},
    };
    check(v, sizeof v / sizeof *v);
}

/* The prompt may end inside the delimiter that the reply goes on with. */
static void test_channels__begun_by_the_prompt(void **state)
{
    (void)state;
    static const row v[] = {
        {CF_TOOLS_GEMMA4, "<|channel>", "thought\na<channel|>b", "a", "b"},
        {CF_TOOLS_GEMMA4, "<|channel>", "b", "", "b"},
        {CF_TOOLS_GEMMA4, "<|channel>", "thousand", "", "thousand"},
        {CF_TOOLS_HERMES, "1 <", "think>a</think>b", "a", "b"},
        {CF_TOOLS_HERMES, "1 <", "<think>a</think>b", "a", "b"},
    };
    check(v, sizeof v / sizeof *v);
}

/* Thinking that is a message: what ends one stays content. */
static void test_channels__messages(void **state)
{
    (void)state;
#define NEXT "<|eom|><|start|>assistant"
#define SELF " to=self<|message|>"
#define USER " to=user<|message|>"
    static const row v[] = {
        {CF_TOOLS_MUSE_GLIMMER, "<|start|>assistant", SELF "a" NEXT USER "b", "a",
         " " NEXT USER "b"},
        {CF_TOOLS_MUSE_GLIMMER, "<|start|>assistant" SELF, "a" NEXT USER "b", "a", NEXT USER "b"},
        {CF_TOOLS_MUSE_GLIMMER, "",
         SELF "a" NEXT SELF "b" NEXT USER "c" NEXT SELF "d" NEXT SELF "e", "abde",
         " <|eom|>" NEXT USER "c<|eom|><|eom|>"},
        {CF_TOOLS_MUSE_GLIMMER, "", USER "as <|start|>assistant" SELF "b", "",
         USER "as <|start|>assistant" SELF "b"},
    };
    check(v, sizeof v / sizeof *v);
}

/* A mark of a call ends thinking only when nothing else does. */
static void test_channels__a_call_ends_thinking(void **state)
{
    (void)state;
    static const row v[] = {
        {CF_TOOLS_HERMES, "", "<think>a<tool_call>{}</tool_call>", "a",
         "<tool_call>{}</tool_call>"},
        {CF_TOOLS_HERMES, "", "<think>a<tool_call>{}</think>b", "a<tool_call>{}", "b"},
        {CF_TOOLS_HERMES, "", "<think>a<tool_call><tool_call></think><tool_call>",
         "a<tool_call><tool_call>", "<tool_call>"},
        {CF_TOOLS_HERMES, "", "<think>a<tool", "a<tool", ""},
        /* what opens a channel again is text once a call's mark stands before it */
        {CF_TOOLS_HERMES, "", "<think><tool_call><think>a", "", "<tool_call><think>a"},
        {CF_TOOLS_HERMES, "", "<think><tool_call><think>a</think>b", "<tool_call><think>a", "b"},
        {CF_TOOLS_HERMES, "<think>", "a<tool_call>x</thi", "a", "<tool_call>x</thi"},
        {CF_TOOLS_KIMI_K3, "<|open|>think<|sep|>", "<|open|>response<|sep|>b", "",
         "<|open|>response<|sep|>b"},
        {CF_TOOLS_NONE, "", "<think>a", "", "<think>a"},
    };
    check(v, sizeof v / sizeof *v);
}

/* A reply of delimiters alone, at once: linear, and nothing of it is left. */
static void test_channels__a_megabyte_of_delimiters(void **state)
{
    (void)state;
    static const char pair[] = "[THINK][/THINK]";
    cf_buf raw = CF_BUF_INIT;
    for (size_t i = 0; i < 70000; i++) {
        cf_buf_adds(&raw, pair);
    }
    got g;
    run(CF_TOOLS_MISTRAL, "", cf_buf_cstr(&raw), raw.n, &g);
    assert_int_equal(g.thinking.n, 0);
    assert_int_equal(g.content.n, 0);
    cf_buf_deinit(&g.thinking);
    cf_buf_deinit(&g.content);
    cf_buf_deinit(&raw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_channels__detected),
        cmocka_unit_test(test_channels__open_and_close),
        cmocka_unit_test(test_channels__repeated_delimiters),
        cmocka_unit_test(test_channels__begun_by_the_prompt),
        cmocka_unit_test(test_channels__messages),
        cmocka_unit_test(test_channels__a_call_ends_thinking),
        cmocka_unit_test(test_channels__a_megabyte_of_delimiters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
