/*
 * test_trail_build.c - what sessions of all agents have in common: times with a zone,
 * and sub-agents in the order in which the calls began them.
 */
#include "storage/trail.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

static const cf_trail *read_one(cf_trails *out, const char *name, const char *text)
{
    cf_error err;
    T_OK(cf_trails_read(out, store_dir_put_text(name, text), NULL, &err), err);
    assert_int_equal(out->n, 1);
    return out->v[0];
}

/* A time is the same instant with and without a fraction, in any zone; what is no
 * whole time is none. */
static void test_time__zones_and_fractions(void **state)
{
    (void)state;
    static const struct {
        const char *time;
        int64_t ms;
    } rows[] = {{"1970-01-01T00:00:02Z", 2000},
                {"1970-01-01T00:00:02.5Z", 2500},
                {"1970-01-01T02:00:02+02:00", 2000},
                {"1970-01-01T02:00:02.500+02:00", 2500},
                {"1969-12-31T18:30:02-05:30", 2000},
                {"1970-01-01T00:00:02.000000000Z", 2000},
                {"1970-01-01T12:34:02.25+12:34", 2250},
                {"1970-01-01T00:00", 0},
                {"", 0},
                {"+02:00", 0},
                {"yesterday, in the evening+02:00", 0},
                {"1970-01-01T00:00:02.00000000000000000000000000000000000000000000000000Z", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[300];
        cf_trails trails;
        snprintf(text, sizeof text,
                 "{\"uuid\":\"1\",\"sessionId\":\"s\",\"type\":\"user\",\"timestamp\":\"%s\","
                 "\"message\":{\"content\":\"Hi\"}}\n",
                 rows[i].time);
        const cf_trail *t = read_one(&trails, "time.jsonl", text);
        if (t->started_ms != rows[i].ms || t->ended_ms != rows[i].ms) {
            fail_msg("%s: %lld", rows[i].time, (long long)t->started_ms);
        }
        cf_trails_deinit(&trails);
    }
}

/* Records with one id are one message, but not where their types are not the same. */
static void test_records__of_one_id(void **state)
{
    (void)state;
#define GEMINI(id, type, text) \
    "{\"id\":\"" id "\",\"type\":\"" type "\",\"content\":\"" text "\"}\n"
    cf_trails trails;
    const cf_trail *t =
        read_one(&trails, "ids.jsonl",
                 "{\"sessionId\":\"g\",\"projectHash\":\"p\"}\n" GEMINI("1", "user", "Hi")
                     GEMINI("1", "gemini", "Hel") GEMINI("1", "gemini", "Hello"));
    assert_int_equal(t->n_messages, 2);
    assert_int_equal(t->events[0].kind, CF_TRAIL_MESSAGE);
    T_TEXT(t->events[0].as.message->text.p, t->events[0].as.message->text.n, "Hi");
    T_TEXT(t->events[1].as.message->text.p, t->events[1].as.message->text.n, "Hello");
    cf_trails_deinit(&trails);
}

/* Records of a changed session are enough to tell whose it is, each kind of them. */
static void test_records__tell_the_format(void **state)
{
    (void)state;
    static const char *const texts[] = {"{\"$set\":{\"summary\":\"s\"}}\n",
                                        "{\"$rewindTo\":\"1\"}\n",
                                        "{\"sessionId\":\"g\",\"projectHash\":\"p\"}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *format = cf_trail_sniff(store_dir_put_text("format.jsonl", texts[i]));
        assert_non_null(format);
        assert_string_equal(format, "gemini");
    }
}

/* Messages of a list without ids follow each other. */
static void test_records__of_a_list(void **state)
{
    (void)state;
#define PI(text) "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"" text "\"}}\n"
    static const char *const want[] = {"a", "b", "c", "d"};
    cf_trails trails;
    const cf_trail *t =
        read_one(&trails, "list.jsonl",
                 "{\"type\":\"session\",\"version\":1,\"id\":\"s\",\"cwd\":\"/w\"}\n" PI("a")
                     PI("b") PI("c") PI("d"));
    assert_int_equal(t->n_left_out, 0);
    assert_int_equal(t->n_events, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_false(t->events[i].is_branch);
        T_TEXT(t->events[i].as.message->text.p, t->events[i].as.message->text.n, want[i]);
    }
    cf_trails_deinit(&trails);
}

#define TASK(id, prompt)                                                                         \
    "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"Task\",\"input\":{\"prompt\":\"" prompt \
    "\"}}"
#define SAYS(id, up, agent, parts)                                          \
    "{\"uuid\":\"" id "\",\"parentUuid\":" up ",\"sessionId\":\"s\"," agent \
    "\"type\":\"assistant\",\"message\":{\"id\":\"m" id "\",\"content\":[" parts "]}}\n"
#define ASKED(id, agent, prompt)                                                               \
    "{\"uuid\":\"" id "\",\"sessionId\":\"s\",\"isSidechain\":true,\"agentId\":\"" agent "\"," \
    "\"type\":\"user\",\"message\":{\"content\":\"" prompt "\"}}\n"

/* Sub-agents come in the order of the calls that began them, each before those that no
 * call began, whatever the order of their records. */
static void test_order__as_the_calls_began_them(void **state)
{
    (void)state;
    static const char *const want[] = {"one", "two", "stray"};
    cf_trails trails;
    size_t n = 0;
    const cf_trail *t =
        read_one(&trails, "order.jsonl",
                 SAYS("1", "null", "",
                      TASK("c1", "Count the files of the first folder") "," TASK(
                          "c2", "Count the files of the second folder"))
                     ASKED("z", "stray", "Nobody asked for this at all")
                         ASKED("b", "two", "Count the files of the second folder")
                             ASKED("a", "one", "Count the files of the first folder"));
    for (size_t i = 0; i < t->n_events; i++) {
        if (t->events[i].kind == CF_TRAIL_AGENT) {
            assert_true(n < 3);
            T_TEXT(t->events[i].agent.p, t->events[i].agent.n, want[n]);
            n++;
        }
    }
    assert_int_equal(n, 3);
    cf_trails_deinit(&trails);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time__zones_and_fractions),
        cmocka_unit_test(test_records__of_one_id),
        cmocka_unit_test(test_records__tell_the_format),
        cmocka_unit_test(test_records__of_a_list),
        cmocka_unit_test(test_order__as_the_calls_began_them),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
