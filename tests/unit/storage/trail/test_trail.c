/*
 * test_trail.c - sessions of agents: known answers for each format, and files
 * that are cut, cyclic or damaged.
 */
#include "tests/support/t.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/os.h"
#include "core/json/json.h"
#include "storage/trail.h"
#include "tests/support/store_dir.h"
#include "tests/support/trail_case.h"

static void read_file(cf_trails *out, const char *path)
{
    cf_error err;
    T_OK(cf_trails_read(out, path, NULL, &err), err);
}

#define PI_HEAD "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/w\"}\n"

static void put_pi(cf_buf *b, const char *id, const char *parent)
{
    cf_buf_addf(b,
                "{\"type\":\"message\",\"id\":\"%s\",\"parentId\":\"%s\","
                "\"message\":{\"role\":\"user\",\"content\":\"text %s\"}}\n",
                id, parent, id);
}

/* All that a file's sessions are, with findings. */
static void events_of(cf_buf *out, const char *path)
{
    cf_trails trails;
    cf_error err;
    read_file(&trails, path);
    for (size_t i = 0; i < trails.n; i++) {
        cf_trail_findings found;
        T_OK(cf_trail_find(&found, trails.v[i], &err), err);
        cf_trail_write(out, trails.v[i], &found);
        cf_trail_findings_deinit(&found);
    }
    cf_trails_deinit(&trails);
    assert_false(out->failed);
}

static void test_trail__known_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_trail_cases; i++) {
        const trail_case *c = &trail_cases[i];
        cf_buf out = CF_BUF_INIT;
        const char *path = store_dir_put_text(c->file, c->text);
        assert_string_equal(cf_trail_sniff(path), c->format);
        events_of(&out, path);
        assert_string_equal(cf_buf_cstr(&out), c->events);
        cf_buf_deinit(&out);
    }
}

/* Numbers run on, and nothing points past what there is. */
static void check_sound(const cf_trail *t)
{
    size_t n_messages = 0, n_steps = 0, n_calls = 0;
    for (size_t i = 0; i < t->n_events; i++) {
        const cf_trail_event *e = &t->events[i];
        assert_true(e->branch <= t->n_messages);
        if (e->kind == CF_TRAIL_MESSAGE) {
            assert_int_equal(e->as.message->n, ++n_messages);
            n_calls += e->as.message->n_calls;
        } else if (e->kind == CF_TRAIL_STEP) {
            assert_int_equal(e->as.step->n, ++n_steps);
        } else if (e->kind == CF_TRAIL_COMPACTION) {
            assert_true(e->as.compaction->before <= n_messages || e->is_branch);
        }
    }
    assert_int_equal(n_messages, t->n_messages);
    assert_int_equal(n_steps, t->n_steps);
    assert_int_equal(n_calls, t->n_calls);
}

/* Reads a damaged text: a sound trail or an error, and the same for steps,
 * contexts and findings. */
static void check_damaged(const char *name, const char *p, size_t n)
{
    cf_trails trails;
    cf_error err;
    const char *path = store_dir_file(name);
    FILE *f = fopen(path, "wb"); /* not synced: there are thousands */
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    if (cf_trails_read(&trails, path, NULL, &err) != CF_OK) {
        assert_true(err.text[0] != '\0');
        return;
    }
    for (size_t i = 0; i < trails.n; i++) {
        const cf_trail *t = trails.v[i];
        cf_trail_findings found;
        cf_trail_steps steps;
        check_sound(t);
        T_OK(cf_trail_find(&found, t, &err), err);
        T_OK(cf_trail_steps_make(&steps, t, &found, NULL, &err), err);
        assert_int_equal(steps.n_rows, t->n_steps);
        for (size_t k = 0; k < steps.n_rows; k++) {
            cf_trail_context c;
            T_OK(cf_trail_context_make(&c, t, steps.rows[k].at, &err), err);
            cf_trail_context_deinit(&c);
        }
        cf_trail_steps_deinit(&steps);
        cf_trail_findings_deinit(&found);
    }
    cf_trails_deinit(&trails);
}

static void test_trail__cut_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_trail_cases; i++) {
        size_t n = strlen(trail_cases[i].text);
        for (size_t k = 0; k < n; k += 7) {
            check_damaged("cut.jsonl", trail_cases[i].text, k);
        }
    }
}

/* Every parent becomes each other record's in turn: cycles and forward links. */
static void test_trail__turned_parents(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_trail_cases; i++) {
        for (char id = 'a'; id <= 'k'; id++) {
            char *text = strdup(trail_cases[i].text);
            size_t n = strlen(text);
            for (char *p = text; (p = strstr(p, "arent")) != NULL; p++) {
                char *end = strchr(p, ':');
                if (end != NULL && end[1] == '"' && end[2] != '\0' && end[3] == '"') {
                    end[2] = id;
                }
            }
            check_damaged("turned.jsonl", text, n);
            free(text);
        }
    }
}

static void test_trail__damaged_bytes(void **state)
{
    (void)state;
    uint32_t x = 12345;
    for (size_t i = 0; i < n_trail_cases; i++) {
        size_t n = strlen(trail_cases[i].text);
        for (int round = 0; round < 100; round++) {
            char *text = strdup(trail_cases[i].text);
            for (int k = 0; k < 3; k++) {
                x = x * 1664525u + 1013904223u;
                text[(x >> 8) % n] = "\"{}[]:,0a\\\n\xff"[x % 12];
            }
            check_damaged("bytes.jsonl", text, n);
            free(text);
        }
    }
}

/* Half a surrogate pair and bytes that are not UTF-8 become U+FFFD. */
static void test_trail__mended_text(void **state)
{
    (void)state;
    cf_trails trails;
    read_file(&trails,
              store_dir_put_text("mend.jsonl",
                                 "{\"type\":\"user\",\"uuid\":\"a\",\"sessionId\":\"s\","
                                 "\"message\":{\"content\":\"a\\ud83c b\xff \\\\ud83c\"}}\n"));
    assert_int_equal(trails.v[0]->n_messages, 1);
    cf_str text = trails.v[0]->events[0].as.message->text;
    T_TEXT(text.p, text.n, "a\xEF\xBF\xBD b\xEF\xBF\xBD \\ud83c");
    cf_trails_deinit(&trails);
}

static void test_trail__not_a_session(void **state)
{
    (void)state;
    cf_trails trails;
    cf_error err;
    T_FAILS(cf_trails_read(&trails, store_dir_put_text("no.jsonl", "{\"a\":1}\n"), NULL, &err),
            CF_EFORMAT);
    T_FAILS(cf_trails_read(&trails, store_dir_file("none.jsonl"), NULL, &err), CF_ENOTFOUND);
    assert_null(cf_trail_sniff(store_dir_file("no.jsonl")));
}

/* A folder gives its sessions by path; a sub-agent's file is none. */
static void test_trail__folder(void **state)
{
    (void)state;
    cf_error err;
    cf_trails trails;
    store_path sub;
    store_dir_path(sub, "many/b/subagents");
    T_OK(cf_os_make_dirs(sub, &err), err);
    store_dir_put_text("many/b.jsonl", "{\"type\":\"user\",\"uuid\":\"a\",\"sessionId\":\"two\","
                                       "\"message\":{\"content\":\"Hi\"}}\n");
    store_dir_put_text(
        "many/b/subagents/agent-x.jsonl",
        "{\"type\":\"user\",\"uuid\":\"b\",\"sessionId\":\"two\",\"isSidechain\":true,"
        "\"message\":{\"content\":\"Help\"}}\n");
    store_dir_put_text("many/a.jsonl", trail_cases[1].text);
    store_dir_put_text("many/c.jsonl", "{\"other\":1}\n");
    read_file(&trails, store_dir_file("many"));
    assert_int_equal(trails.n, 2);
    assert_string_equal(trails.v[0]->format, "codex");
    T_TEXT(trails.v[1]->id.p, trails.v[1]->id.n, "two");
    assert_int_equal(trails.v[1]->n_messages, 2);
    assert_int_equal(trails.v[1]->events[1].kind, CF_TRAIL_AGENT);
    cf_trails_deinit(&trails);
}

/* The head of a file is its first whole lines. */
static void test_trail__head(void **state)
{
    (void)state;
    cf_error err;
    cf_trails trails;
    const char *text = trail_cases[5].text;
    const char *path = store_dir_put_text("head.jsonl", text);
    size_t two = (size_t)(strchr(strchr(text, '\n') + 1, '\n') + 10 - text);
    T_OK(cf_trails_read(&trails, path, &(cf_trail_options){.max_bytes = two}, &err), err);
    assert_int_equal(trails.v[0]->n_messages, 1);
    assert_int_equal(trails.v[0]->n_left_out, 0);
    cf_trails_deinit(&trails);
}

static void test_trail__steps_and_costs(void **state)
{
    (void)state;
    cf_error err;
    cf_trails trails;
    cf_trail_steps steps;
    cf_trail_prices prices;
    T_OK(cf_trail_prices_read(&prices,
                              store_dir_put_text("prices.json",
                                                 "{\"claude\":{\"input\":10,\"output\":100,"
                                                 "\"cache_read\":1,\"cache_creation\":20}}"),
                              &err),
         err);
    read_file(&trails, store_dir_put_text("steps.jsonl", trail_cases[0].text));
    T_OK(cf_trail_steps_make(&steps, trails.v[0], NULL, &prices, &err), err);
    assert_int_equal(steps.n_rows, 3);
    assert_int_equal(steps.sum.used.input, 12);
    assert_int_equal(steps.sum.n_calls, 2);
    assert_int_equal(steps.sum.n_failed, 1);
    assert_int_equal(steps.n_agents, 2);
    assert_int_equal(steps.agents[1].parent, 0);
    assert_int_equal(steps.agents[1].sum.n_steps, 1);
    assert_int_equal(steps.n_tools, 2);
    /* (4 * 10 + 9 * 100 + 100 * 1 + 5 * 20) / 1e6 for each of three steps */
    assert_true(steps.sum.cost > 0.003419 && steps.sum.cost < 0.003421);
    cf_trail_steps_deinit(&steps);
    cf_trails_deinit(&trails);
    cf_trail_prices_deinit(&prices);
}

static void test_trail__diff_over_a_compaction(void **state)
{
    (void)state;
    cf_error err;
    cf_trails trails;
    cf_trail_context a, b;
    cf_trail_diff d;
    read_file(&trails, store_dir_put_text("diff.jsonl", trail_cases[0].text));
    const cf_trail *t = trails.v[0];
    T_OK(cf_trail_context_make(&a, t, cf_trail_step_at(t, 1), &err), err);
    T_OK(cf_trail_context_make(&b, t, cf_trail_step_at(t, 2), &err), err);
    assert_int_equal(a.n, 1);
    assert_int_equal(b.n, 2); /* the summary and the result that was kept */
    T_OK(cf_trail_diff_make(&d, &a, &b, &err), err);
    assert_int_equal(d.n, 3);
    assert_int_equal(d.v[0].change, CF_TRAIL_LEFT);
    assert_int_equal(d.v[1].change, CF_TRAIL_ENTERED);
    assert_null(d.v[1].after.message);
    cf_trail_diff_deinit(&d);
    cf_trail_context_deinit(&a);
    cf_trail_context_deinit(&b);
    cf_trails_deinit(&trails);
    assert_int_equal(cf_trail_window(cf_str_from("claude-x[1m]")), 1000000);
}

static void test_trail__fates(void **state)
{
    (void)state;
    cf_error err;
    cf_trails trails;
    cf_trail_sentences s;
    read_file(&trails, store_dir_put_text("fates.jsonl", trail_cases[0].text));
    const cf_trail *t = trails.v[0];
    size_t at = 0;
    while (t->events[at].kind != CF_TRAIL_COMPACTION) {
        at++;
    }
    T_OK(cf_trail_fates(&s, t, at, &err), err);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.v[0].fate, CF_TRAIL_GONE);
    assert_int_equal(s.v[1].fate, CF_TRAIL_REWRITTEN);
    cf_trail_sentences_deinit(&s);
    cf_trails_deinit(&trails);
}

/* All messages left, and as many entered: found in one pass. */
static void test_trail__diff_of_many(void **state)
{
    (void)state;
    enum { MESSAGES = 50000 };
    static const char reply[] =
        "{\"type\":\"message\",\"id\":\"r%d\",\"parentId\":\"%d\",\"message\":{\"role\":"
        "\"assistant\",\"model\":\"m\",\"content\":\"x\",\"usage\":{\"input\":1}}}\n";
    cf_buf text = CF_BUF_INIT;
    cf_buf_adds(&text, PI_HEAD "{\"type\":\"compaction\",\"id\":\"0\",\"summary\":\"s\"}\n");
    for (int i = 1; i <= 2 * MESSAGES; i++) {
        char id[16], parent[16];
        snprintf(id, sizeof id, "%d", i);
        snprintf(parent, sizeof parent, "%s%d", i == MESSAGES + 1 ? "c" : "", i - 1);
        put_pi(&text, id, parent);
        if (i == MESSAGES) {
            cf_buf_addf(&text, reply, 1, i);
            cf_buf_addf(&text,
                        "{\"type\":\"compaction\",\"id\":\"c%d\",\"parentId\":\"r1\",\"summary\":"
                        "\"t\"}\n",
                        i);
        }
    }
    cf_buf_addf(&text, reply, 2, 2 * MESSAGES);
    cf_trails trails;
    cf_trail_context a, b;
    cf_trail_diff d;
    cf_error err;
    read_file(&trails, store_dir_put_text("much.jsonl", cf_buf_cstr(&text)));
    const cf_trail *t = trails.v[0];
    T_OK(cf_trail_context_make(&a, t, cf_trail_step_at(t, 1), &err), err);
    T_OK(cf_trail_context_make(&b, t, cf_trail_step_at(t, 2), &err), err);
    T_OK(cf_trail_diff_make(&d, &a, &b, &err), err);
    size_t n_of[4] = {0};
    for (size_t i = 0; i < d.n; i++) {
        n_of[d.v[i].change]++;
    }
    assert_int_equal(n_of[CF_TRAIL_LEFT], a.n);
    assert_int_equal(n_of[CF_TRAIL_ENTERED], b.n);
    assert_true(a.n >= MESSAGES && b.n >= MESSAGES);
    cf_trail_diff_deinit(&d);
    cf_trail_context_deinit(&a);
    cf_trail_context_deinit(&b);
    cf_trails_deinit(&trails);
    cf_buf_deinit(&text);
}

/* Counts of tokens that are no counts neither overflow nor wrap around. */
static void test_trail__huge_counts(void **state)
{
    (void)state;
    cf_trails trails;
    cf_trail_findings found;
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    cf_buf_adds(&text, "{\"type\":\"session_meta\",\"payload\":{\"id\":\"x\"}}\n");
    for (int i = 0; i < 40; i++) {
        const char *n = i % 2 == 0 ? "9223372036854775807" : "-9223372036854775808";
        cf_buf_addf(&text,
                    "{\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\",\"info\":{"
                    "\"total_token_usage\":{\"input_tokens\":%s,\"output_tokens\":%s},"
                    "\"last_token_usage\":{\"input_tokens\":9223372036854775807,"
                    "\"cached_input_tokens\":-9223372036854775808}}}}\n",
                    n, n);
    }
    read_file(&trails, store_dir_put_text("huge.jsonl", cf_buf_cstr(&text)));
    T_OK(cf_trail_find(&found, trails.v[0], &err), err);
    assert_int_equal(trails.v[0]->n_steps, 40);
    for (size_t i = 0; i < trails.v[0]->n_events; i++) {
        const cf_trail_event *e = &trails.v[0]->events[i];
        if (e->kind == CF_TRAIL_STEP) {
            assert_true(llabs(cf_trail_prompt(&e->as.step->used)) < INT64_C(1) << 45);
        }
    }
    cf_trail_findings_deinit(&found);
    cf_trails_deinit(&trails);
    cf_buf_deinit(&text);
}

/* The events of a text, which the caller releases. */
static const char *told(cf_buf *out, const char *name, const char *text)
{
    events_of(out, store_dir_put_text(name, text));
    return cf_buf_cstr(out);
}

/* Whether a text has a part, found the slow way. */
static bool has_part(const cf_buf *text, const char *part)
{
    return strstr(text->n != 0 ? text->p : "", part) != NULL;
}

/* Sentences of few letters, of which many begin and end alike, against what a
 * search for one at a time finds: more of them than are looked for at once. */
static void test_trail__fates_of_many(void **state)
{
    (void)state;
    enum { SENTENCES = 400, LONG = 600000 };
    cf_buf text = CF_BUF_INIT, said = CF_BUF_INIT, kept = CF_BUF_INIT, summary = CF_BUF_INIT;
    char sentences[SENTENCES][40];
    unsigned seed = 7;
    for (size_t i = 0; i < SENTENCES; i++) {
        size_t n = 0;
        for (size_t words = 2 + i % 3; words-- > 0; seed = seed * 1103515245 + 12345) {
            n += (size_t)snprintf(sentences[i] + n, sizeof sentences[i] - n, "%.*s ",
                                  1 + (int)(seed >> 28) % 4, seed >> 20 & 1 ? "abab" : "bbaa");
        }
        memcpy(sentences[i] + n - 1, ".", 2);
        cf_buf_addf(&said, "%s\\n", sentences[i]);
        cf_buf_adds(i % 3 == 0 ? &summary : i % 3 == 1 ? &kept : &said, sentences[i]);
        cf_buf_adds(i % 3 == 0 ? &summary : i % 3 == 1 ? &kept : &said, " ");
    }
    cf_buf_adds(&said, "\\nx ");
    for (size_t i = 0; i < LONG; i++) {
        cf_buf_addc(&said, 'y');
    }
    cf_buf_addf(&text,
                PI_HEAD "{\"type\":\"message\",\"id\":\"1\",\"message\":{\"role\":\"user\","
                        "\"content\":\"%s %s.\"}}\n",
                said.p, said.p);
    cf_buf_addf(&text,
                "{\"type\":\"message\",\"id\":\"2\",\"parentId\":\"1\",\"message\":{\"role\":"
                "\"assistant\",\"content\":\"%s\"}}\n{\"type\":\"compaction\",\"id\":\"3\","
                "\"parentId\":\"2\",\"summary\":\"%s\",\"firstKeptEntryId\":\"2\"}\n",
                kept.p, summary.p);
    cf_trails trails;
    cf_trail_sentences s;
    cf_error err;
    size_t n_of[3] = {0, 0, 0};
    read_file(&trails, store_dir_put_text("many.jsonl", cf_buf_cstr(&text)));
    const cf_trail *t = trails.v[0];
    T_OK(cf_trail_fates(&s, t, t->n_events - 1, &err), err);
    for (size_t i = 0; i < s.n; i++) {
        char one[40];
        if (s.v[i].text.n >= sizeof one) {
            assert_int_equal(s.v[i].fate, CF_TRAIL_GONE);
            continue;
        }
        snprintf(one, sizeof one, "%.*s", (int)s.v[i].text.n, s.v[i].text.p);
        assert_int_equal(s.v[i].fate, has_part(&kept, one)      ? CF_TRAIL_KEPT
                                      : has_part(&summary, one) ? CF_TRAIL_REWRITTEN
                                                                : CF_TRAIL_GONE);
        n_of[s.v[i].fate]++;
    }
    assert_true(n_of[CF_TRAIL_GONE] > 20 && n_of[CF_TRAIL_REWRITTEN] > 20);
    assert_true(n_of[CF_TRAIL_KEPT] > 20 && s.n > 2 * SENTENCES);
    cf_trail_sentences_deinit(&s);
    cf_trails_deinit(&trails);
    cf_buf_deinit(&text);
    cf_buf_deinit(&said);
    cf_buf_deinit(&kept);
    cf_buf_deinit(&summary);
}

/* A file's findings take time by its size: each of these took hours when every
 * sentence was looked for by itself, and every agent read its call's result. */
static void test_trail__findings_end(void **state)
{
    (void)state;
    enum { SENTENCES = 100000, DOTS = 1 << 20, AGENTS = 5000, WORDS = 100000 };
    cf_buf text = CF_BUF_INIT, out = CF_BUF_INIT;
    cf_buf_adds(&text, PI_HEAD "{\"type\":\"message\",\"id\":\"1\",\"message\":{\"role\":"
                               "\"user\",\"content\":\"");
    for (int i = 0; i < SENTENCES; i++) {
        cf_buf_addf(&text, "q %d.\\n", i);
    }
    cf_buf_adds(&text, "\"}}\n{\"type\":\"compaction\",\"id\":\"2\",\"parentId\":\"1\","
                       "\"summary\":\"");
    for (int i = 0; i < DOTS; i++) {
        cf_buf_addc(&text, '.');
    }
    cf_buf_adds(&text, "\"}\n");
    assert_non_null(strstr(told(&out, "dots.jsonl", cf_buf_cstr(&text)), "\"compacted\""));
    cf_buf_reset(&text);
    cf_buf_reset(&out);
    cf_buf_adds(
        &text, "{\"uuid\":\"1\",\"sessionId\":\"s\",\"type\":\"assistant\",\"message\":{\"id\":"
               "\"m\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"Task\",\"input\":"
               "{\"prompt\":\"p\"}}]}}\n{\"uuid\":\"2\",\"parentUuid\":\"1\",\"sessionId\":\"s\","
               "\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\","
               "\"tool_use_id\":\"c\",\"content\":\"");
    for (int i = 0; i < WORDS; i++) {
        cf_buf_addf(&text, "%d ", i);
    }
    cf_buf_adds(&text, "\"}]}}\n");
    for (int i = 0; i < AGENTS; i++) {
        cf_buf_addf(&text,
                    "{\"uuid\":\"a%d\",\"sessionId\":\"s\",\"isSidechain\":true,\"agentId\":"
                    "\"%d\",\"type\":\"user\",\"message\":{\"content\":\"p\"}}\n",
                    i, i);
    }
    cf_buf_adds(&text, "{\"uuid\":\"3\",\"parentUuid\":\"2\",\"sessionId\":\"s\",\"type\":"
                       "\"assistant\",\"message\":{\"id\":\"n\",\"content\":[{\"type\":\"text\","
                       "\"text\":\"nothing\"}]}}\n");
    const char *events = told(&out, "agents.jsonl", cf_buf_cstr(&text));
    size_t n = 0;
    for (const char *p = events; (p = strstr(p, "\"agent-unused\"")) != NULL; p++) {
        n++;
    }
    assert_int_equal(n, AGENTS);
    cf_buf_deinit(&text);
    cf_buf_deinit(&out);
}

/* A branch whose records come before their parents, or are each other's
 * parents, is whole. */
static void test_trail__branch_in_any_order(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"a", ""},  {"d", "c"}, {"c", "b"},
                                           {"b", "a"}, {"x", "y"}, {"y", "x"},
                                           {"w", "v"}, {"v", "w"}, {"z", "a"}};
    cf_buf text = CF_BUF_INIT, out = CF_BUF_INIT;
    cf_buf_adds(&text, PI_HEAD);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        put_pi(&text, pairs[i][0], pairs[i][1]);
    }
    const char *events = told(&out, "order.jsonl", cf_buf_cstr(&text));
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char one[32];
        snprintf(one, sizeof one, "\"text %s\"", pairs[i][0]);
        assert_non_null(strstr(events, one));
    }
    assert_non_null(strstr(events, "\"messages\":9"));
    cf_buf_deinit(&text);
    cf_buf_deinit(&out);
}

/* Compactions that keep one large text again and again are bounded, and that
 * is said once. */
static void test_trail__kept_is_bounded(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20, TIMES = 300 };
    cf_buf text = CF_BUF_INIT;
    cf_trails trails;
    cf_buf_adds(&text, PI_HEAD "{\"type\":\"message\",\"id\":\"m\",\"message\":{\"role\":"
                               "\"user\",\"content\":\"");
    for (size_t i = 0; i < BYTES; i++) {
        cf_buf_addc(&text, 'x');
    }
    cf_buf_adds(&text, "\"}}\n");
    for (int i = 0; i < TIMES; i++) {
        char parent[16] = "m";
        if (i != 0) {
            snprintf(parent, sizeof parent, "c%d", i - 1);
        }
        cf_buf_addf(&text,
                    "{\"type\":\"compaction\",\"id\":\"c%d\",\"parentId\":\"%s\","
                    "\"summary\":\"s\",\"firstKeptEntryId\":\"m\"}\n",
                    i, parent);
    }
    read_file(&trails, store_dir_put_text("kept.jsonl", cf_buf_cstr(&text)));
    const cf_trail *t = trails.v[0];
    size_t bytes = 0;
    for (size_t i = 0; i < t->n_events; i++) {
        const cf_trail_event *e = &t->events[i];
        for (size_t k = 0; e->kind == CF_TRAIL_COMPACTION && k < e->as.compaction->n_kept; k++) {
            bytes += e->as.compaction->kept[k].n;
        }
    }
    assert_in_range(bytes, BYTES, (size_t)256 << 20);
    size_t n_said = 0;
    for (size_t i = 0; i < t->n_left_out; i++) {
        n_said += strstr(t->left_out[i].why.p, "256 MiB") != NULL;
    }
    assert_int_equal(n_said, 1);
    cf_trails_deinit(&trails);
    cf_buf_deinit(&text);
}

/* Results that repeat one call's id are no repeated calls. */
static void test_trail__one_call_with_many_results(void **state)
{
    (void)state;
    cf_buf text = CF_BUF_INIT, out = CF_BUF_INIT;
    cf_buf_adds(&text, PI_HEAD "{\"type\":\"message\",\"id\":\"0\",\"message\":{\"role\":"
                               "\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"c\","
                               "\"name\":\"t\",\"arguments\":{}}]}}\n");
    for (int i = 1; i < 5; i++) {
        cf_buf_addf(&text,
                    "{\"type\":\"message\",\"id\":\"%d\",\"parentId\":\"%d\",\"message\":"
                    "{\"role\":\"toolResult\",\"toolCallId\":\"c\",\"content\":\"r\"}}\n",
                    i, i - 1);
    }
    const char *events = told(&out, "again.jsonl", cf_buf_cstr(&text));
    assert_non_null(strstr(events, "\"messages\":5"));
    assert_null(strstr(events, "repeated"));
    cf_buf_deinit(&text);
    cf_buf_deinit(&out);
}

/* A folder may have more sessions than a process may have files open. */
static void test_trail__more_files_than_open(void **state)
{
    (void)state;
    enum { FILES = 80, OPEN = 40 };
    struct rlimit was, few;
    cf_trails trails;
    cf_error err;
    char name[32];
    const char *dir = store_dir_file("crowded");
    assert_int_equal(mkdir(dir, 0700), 0);
    for (int i = 0; i < FILES; i++) {
        bool is_pi = i % 2 == 0;
        snprintf(name, sizeof name, "crowded/%d.jsonl", i);
        store_dir_put_text(
            name, is_pi ? PI_HEAD : "{\"type\":\"session_meta\",\"payload\":{\"id\":\"c\"}}\n");
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    few = was;
    few.rlim_cur = OPEN;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    cf_status st = cf_trails_read(&trails, store_dir_file("crowded"), NULL, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    T_OK(st, err);
    assert_int_equal(trails.n, FILES);
    cf_trails_deinit(&trails);
}

/* Folders that lead to each other are looked into once. */
static void test_trail__links_end(void **state)
{
    (void)state;
    cf_trails trails;
    cf_error err;
    char link[400];
    const char *dir = store_dir_file("linked");
    assert_int_equal(mkdir(dir, 0700), 0);
    for (int i = 0; i < 12; i++) {
        snprintf(link, sizeof link, "%s/again%d", dir, i);
        assert_int_equal(symlink(".", link), 0);
    }
    store_dir_put_text("linked/a.jsonl", PI_HEAD);
    T_OK(cf_trails_read(&trails, store_dir_file("linked"), NULL, &err), err);
    assert_int_equal(trails.n, 1);
    cf_trails_deinit(&trails);
}

/* ---- what several texts have in common ----------------------------------- */

/* A file of one session, which the caller releases. */
static cf_trail *read_one(cf_trails *out, const char *name, const char *text)
{
    read_file(out, store_dir_put_text(name, text));
    assert_int_equal(out->n, 1);
    return out->v[0];
}

#define CODEX_TOTAL(n)                                                         \
    "{\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\",\"info\":{" \
    "\"total_token_usage\":{\"input_tokens\":" #n ",\"output_tokens\":1}}}}\n"
#define CODEX_RECORD(n)                                                             \
    "{\"type\":\"token_usage_record\",\"payload\":{\"usage\":{\"input_tokens\":" #n \
    ",\"output_tokens\":1}}}\n"
#define CODEX_SAYS(role, more, text)                                                           \
    "{\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"" role "\"" more \
    ",\"content\":[{\"type\":\"" text "\",\"text\":\"One. Two.\"}]}}\n"

/* Records of usage take the place of the totals before them, and of nothing else. */
static void test_trail__records_replace_totals(void **state)
{
    (void)state;
    cf_trails trails;
    const cf_trail *t =
        read_one(&trails, "records.jsonl",
                 "{\"type\":\"session_meta\",\"payload\":{\"id\":\"c\"}}\n" CODEX_SAYS(
                     "user", "", "input_text") CODEX_SAYS("assistant", "", "output_text")
                     CODEX_TOTAL(50) CODEX_RECORD(30) CODEX_SAYS("assistant", "", "output_text")
                         CODEX_TOTAL(90) CODEX_RECORD(40));
    int64_t input = 0;
    for (size_t i = 0; i < t->n_events; i++) {
        input += t->events[i].kind == CF_TRAIL_STEP ? t->events[i].as.step->used.input : 0;
    }
    check_sound(t);
    assert_int_equal(t->n_messages, 3);
    assert_int_equal(t->n_steps, 2);
    assert_int_equal(input, 70);
    cf_trails_deinit(&trails);
}

/* Where the parts of a message have kinds, those tell whether the user wrote it. */
static void test_trail__kinds_tell_who_wrote(void **state)
{
    (void)state;
#define KINDS(list) \
    ",\"internal_chat_message_metadata_passthrough\":{\"content_item_kinds\":" list "}"
    cf_trails trails;
    const cf_trail *t =
        read_one(&trails, "kinds.jsonl",
                 "{\"type\":\"session_meta\",\"payload\":{\"id\":\"c\"}}\n" CODEX_SAYS(
                     "user", KINDS("[\"context.files\",7]"), "input_text")
                     CODEX_SAYS("user", KINDS("[\"context.files\",\"user.text\"]"), "input_text"));
    assert_int_equal(t->n_messages, 2);
    assert_true(t->events[0].as.message->is_meta);
    assert_false(t->events[1].as.message->is_meta);
    cf_trails_deinit(&trails);
}

/* A session ends with its last update, even where no message has that time. */
static void test_trail__last_update_ends(void **state)
{
    (void)state;
    cf_trails trails;
    const cf_trail *t =
        read_one(&trails, "last.json",
                 "{\"sessionId\":\"g\",\"startTime\":\"1970-01-01T00:00:02.000Z\","
                 "\"lastUpdated\":\"1970-01-01T00:00:09.000Z\",\"messages\":[{\"id\":\"1\","
                 "\"type\":\"user\",\"timestamp\":\"1970-01-01T00:00:03.000Z\","
                 "\"content\":\"Hi\"}]}\n");
    assert_int_equal(t->started_ms, 2000);
    assert_int_equal(t->ended_ms, 9000);
    cf_trails_deinit(&trails);
}

/* A session of which no record is known still has its sub-agents. */
static void test_trail__agents_without_a_record(void **state)
{
    (void)state;
    cf_error err;
    cf_trails trails;
    store_path sub;
    store_dir_path(sub, "bare/subagents");
    T_OK(cf_os_make_dirs(sub, &err), err);
    store_dir_put_text("bare/subagents/agent-x.jsonl",
                       "{\"type\":\"user\",\"uuid\":\"b\",\"sessionId\":\"two\",\"isSidechain\":"
                       "true,\"message\":{\"content\":\"Help\"}}\n");
    const cf_trail *t =
        read_one(&trails, "bare.jsonl", "{\"type\":\"queue-operation\",\"sessionId\":\"two\"}\n");
    assert_int_equal(t->n_messages, 1);
    cf_trails_deinit(&trails);
}

/* Blanks of any kind and number between words do not tell sentences apart, but
 * their lack does; sentences of before an earlier compaction are not counted. */
static void test_trail__fates_of_folded_sentences(void **state)
{
    (void)state;
#define PI_SAYS(id, up, text)                                    \
    "{\"type\":\"message\",\"id\":\"" id "\",\"parentId\":\"" up \
    "\",\"message\":{\"role\":\"user\",\"content\":\"" text "\"}}\n"
#define PI_SUMS(id, up, text)                                                                \
    "{\"type\":\"compaction\",\"id\":\"" id "\",\"parentId\":\"" up "\",\"summary\":\"" text \
    "\",\"firstKeptEntryId\":\"" id "\"}\n"
    cf_error err;
    cf_trails trails;
    cf_trail_sentences s;
    size_t compactions[2], n = 0;
    const cf_trail *t =
        read_one(&trails, "folded.jsonl",
                 PI_HEAD PI_SAYS("a", "", "Old rule here.") PI_SUMS("b", "a", "Nothing.")
                     PI_SAYS("c", "b", "Keep  it\\tshort. An other way.")
                         PI_SUMS("d", "c", "Asked: keep it\\n short. Another way."));
    for (size_t i = 0; i < t->n_events; i++) {
        if (t->events[i].kind == CF_TRAIL_COMPACTION) {
            compactions[n++] = i;
        }
    }
    assert_int_equal(n, 2);
    T_OK(cf_trail_fates(&s, t, compactions[0], &err), err);
    assert_int_equal(s.n, 1);
    cf_trail_sentences_deinit(&s);
    T_OK(cf_trail_fates(&s, t, compactions[1], &err), err);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.v[0].fate, CF_TRAIL_REWRITTEN);
    assert_int_equal(s.v[1].fate, CF_TRAIL_GONE);
    cf_trail_sentences_deinit(&s);
    cf_trails_deinit(&trails);
}

/* Calls add up over tools, and steps and costs over agents, in every session;
 * what has no price costs nothing. */
static void test_trail__sums_add_up(void **state)
{
    (void)state;
    cf_error err;
    cf_trail_prices prices;
    T_OK(cf_trail_prices_read(&prices,
                              store_dir_put_text("other.json", "{\"other\":{\"input\":1,"
                                                               "\"output\":2}}"),
                              &err),
         err);
    for (size_t i = 0; i < n_trail_cases; i++) {
        cf_trails trails;
        cf_trail_steps s;
        size_t n_calls = 0, n_failed = 0, n_steps = 0;
        read_file(&trails, store_dir_put_text(trail_cases[i].file, trail_cases[i].text));
        T_OK(cf_trail_steps_make(&s, trails.v[0], NULL, &prices, &err), err);
        for (size_t k = 0; k < s.n_tools; k++) {
            n_calls += s.tools[k].sum.n_calls;
            n_failed += s.tools[k].sum.n_failed;
        }
        for (size_t k = 0; k < s.n_agents; k++) {
            n_steps += s.agents[k].sum.n_steps;
        }
        assert_int_equal(n_calls, s.sum.n_calls);
        assert_int_equal(n_failed, s.sum.n_failed);
        assert_int_equal(n_steps, s.sum.n_steps);
        assert_true(s.sum.cost == 0);
        cf_trail_steps_deinit(&s);
        cf_trails_deinit(&trails);
    }
    cf_trail_prices_deinit(&prices);
}

static json_t *attribute(const char *key, const char *value)
{
    return json_pack("{s:s,s:{s:s}}", "key", key, "value", "stringValue", value);
}

/* Appends a span of one line as a document of its own. */
static void put_span(cf_buf *b, const char *id, const char *up, const char *op, const char *key,
                     const char *value, const char *said)
{
    char input[200], start[32];
    snprintf(input, sizeof input,
             "[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"%s\"}]}]", said);
    snprintf(start, sizeof start, "176732304%c000000000", id[0]);
    json_t *v = json_pack("{s:[{s:[{s:[{s:s,s:s,s:s,s:s,s:s,s:[o,o,o]}]}]}]}", "resourceSpans",
                          "scopeSpans", "spans", "traceId", "t", "spanId", id, "parentSpanId", up,
                          "startTimeUnixNano", start, "endTimeUnixNano", start, "attributes",
                          attribute("gen_ai.operation.name", op), attribute(key, value),
                          attribute("gen_ai.input.messages", input));
    assert_non_null(v);
    cf_json_write(b, v);
    cf_buf_addc(b, '\n');
    json_decref(v);
}

/* An agent that a tool began has its own requests, the call and a name, although
 * child spans come before their parents; a line that is not JSON is reported
 * with its number. */
static void test_trail__agent_of_spans(void **state)
{
    (void)state;
    cf_buf text = CF_BUF_INIT;
    cf_trails trails;
    size_t n_agents = 0, n_its = 0, n_main = 0;
    const char *model = "gen_ai.response.model", *name = "gen_ai.agent.name";
    put_span(&text, "1", "0", "chat", model, "m", "Go");
    put_span(&text, "2", "0", "execute_tool", "gen_ai.tool.call.id", "k", "");
    cf_buf_adds(&text, "{no span\n");
    put_span(&text, "3", "2", "invoke_agent", name, "helper", "");
    put_span(&text, "4", "3", "chat", model, "m", "Find");
    put_span(&text, "5", "3", "chat", model, "m", "Find more");
    put_span(&text, "6", "0", "chat", model, "m", "Go on");
    put_span(&text, "0", "", "invoke_agent", name, "chief", "");
    const cf_trail *t = read_one(&trails, "agent.jsonl", cf_buf_cstr(&text));
    for (size_t i = 0; i < t->n_events; i++) {
        const cf_trail_event *e = &t->events[i];
        if (e->kind == CF_TRAIL_AGENT) {
            n_agents++;
            T_TEXT(e->as.agent->parent_call.p, e->as.agent->parent_call.n, "k");
            T_TEXT(e->as.agent->title.p, e->as.agent->title.n, "helper");
        }
        n_its += e->kind == CF_TRAIL_STEP && e->agent.n != 0;
        n_main += e->kind == CF_TRAIL_STEP && e->agent.n == 0;
    }
    assert_int_equal(n_agents, 1);
    assert_int_equal(n_its, 2);
    assert_int_equal(n_main, 2);
    assert_int_equal(t->n_left_out, 1);
    assert_int_equal(t->left_out[0].line, 3);
    cf_trails_deinit(&trails);
    cf_buf_deinit(&text);
}

static void run_sql(sqlite3 *db, const char *sql, const char *a, const char *b, json_t *data)
{
    sqlite3_stmt *st;
    char *text = json_dumps(data, 0);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_bind_text(st, 1, a, -1, SQLITE_STATIC), SQLITE_OK);
    assert_int_equal(sqlite3_bind_text(st, 2, b, -1, SQLITE_STATIC), SQLITE_OK);
    assert_int_equal(sqlite3_bind_text(st, 3, text, -1, SQLITE_STATIC), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_DONE);
    sqlite3_finalize(st);
    free(text);
}

/* Puts an exported session of opencode into its database. */
static void put_opencode(sqlite3 *db, const char *exported, const char *parent)
{
    json_t *v = json_loads(exported, 0, NULL), *m, *part;
    size_t i, k;
    const char *id = json_string_value(json_object_get(json_object_get(v, "info"), "id"));
    run_sql(db,
            "INSERT INTO session SELECT ?1, ?2, json_extract(?3, '$.title'), "
            "json_extract(?3, '$.directory'), json_extract(?3, '$.version'), 1",
            id, parent, json_object_get(v, "info"));
    json_array_foreach(json_object_get(v, "messages"), i, m)
    {
        json_t *info = json_object_get(m, "info");
        const char *message = json_string_value(json_object_get(info, "id"));
        run_sql(db, "INSERT INTO message VALUES (?1, ?2, 1, ?3)", message, id, info);
        json_array_foreach(json_object_get(m, "parts"), k, part)
        {
            run_sql(db,
                    "INSERT INTO part SELECT printf('%s-%d', ?1, (SELECT count(*) FROM part)), "
                    "?1, ?2, 1, ?3",
                    message, id, part);
        }
    }
    json_decref(v);
}

/* opencode's database and its export are the same session. */
static void test_trail__database_is_its_export(void **state)
{
    (void)state;
    const trail_case *c = &trail_cases[2];
    const char *path = store_dir_file("opencode.db");
    cf_buf out = CF_BUF_INIT;
    sqlite3 *db;
    assert_string_equal(c->format, "opencode");
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db,
                     "CREATE TABLE session (id, parent_id, title, directory, version, "
                     "time_created); CREATE TABLE message (id, session_id, time_created, data); "
                     "CREATE TABLE part (id, message_id, session_id, time_created, data)",
                     NULL, NULL, NULL),
        SQLITE_OK);
    put_opencode(db, c->text, "");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    path = store_dir_file("opencode.db");
    assert_string_equal(cf_trail_sniff(path), c->format);
    events_of(&out, path);
    assert_string_equal(cf_buf_cstr(&out), c->events);
    cf_trails trails;
    read_file(&trails, store_dir_file("opencode.db"));
    T_TEXT(trails.v[0]->path.p, trails.v[0]->path.n, store_dir_file("opencode.db"));
    cf_trails_deinit(&trails);
    cf_buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trail__known_answers),
        cmocka_unit_test(test_trail__cut_anywhere),
        cmocka_unit_test(test_trail__turned_parents),
        cmocka_unit_test(test_trail__damaged_bytes),
        cmocka_unit_test(test_trail__mended_text),
        cmocka_unit_test(test_trail__not_a_session),
        cmocka_unit_test(test_trail__folder),
        cmocka_unit_test(test_trail__head),
        cmocka_unit_test(test_trail__steps_and_costs),
        cmocka_unit_test(test_trail__diff_over_a_compaction),
        cmocka_unit_test(test_trail__fates),
        cmocka_unit_test(test_trail__fates_of_many),
        cmocka_unit_test(test_trail__findings_end),
        cmocka_unit_test(test_trail__huge_counts),
        cmocka_unit_test(test_trail__diff_of_many),
        cmocka_unit_test(test_trail__branch_in_any_order),
        cmocka_unit_test(test_trail__kept_is_bounded),
        cmocka_unit_test(test_trail__one_call_with_many_results),
        cmocka_unit_test(test_trail__more_files_than_open),
        cmocka_unit_test(test_trail__links_end),
        cmocka_unit_test(test_trail__records_replace_totals),
        cmocka_unit_test(test_trail__kinds_tell_who_wrote),
        cmocka_unit_test(test_trail__last_update_ends),
        cmocka_unit_test(test_trail__agents_without_a_record),
        cmocka_unit_test(test_trail__fates_of_folded_sentences),
        cmocka_unit_test(test_trail__sums_add_up),
        cmocka_unit_test(test_trail__agent_of_spans),
        cmocka_unit_test(test_trail__database_is_its_export),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
