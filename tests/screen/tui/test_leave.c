/*
 * test_leave.c - the program can always be left, whatever works inside it or
 * keeps it waiting: templates as long as their limits let them, servers that
 * send a byte now and then, tools that do not end, imports, studies.
 *
 * It ends within a second on a machine that is idle; the bound here is what no
 * machine that is busy with other tests takes, and what a loop without a look
 * at the cancel flag does.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "core/base/os.h"
#include "tests/support/loopback.h"
#include "tests/support/program.h"
#include "tests/support/pty.h"
#include "tests/support/slow.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

/* Templates that work for as long as their limits let them. */
static const char *const bombs[] = {
    "{% for i in range(100000) %}{% for j in range(100000) %}"
    "{% set x = 'a' * 1000 + 'b' %}{% if x == 'c' %}{% endif %}"
    "{% endfor %}{% endfor %}",
    "{% set ns = namespace(t=(1,)) %}{% for i in range(60) %}"
    "{% set ns.t = (ns.t, ns.t) %}{% endfor %}{% set d = {ns.t: 1} %}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(40) %}"
    "{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l | pprint }}",
    "{% for i in range(100000) %}{% set q = ('9' * 4300) | int %}"
    "{% set r = q * q // 7 %}{% endfor %}",
};

enum { LEAVE_MS = T_IS_SLOW ? 30000 : 10000 };

/* Ways to leave: keys, each after the program had time to begin, and a signal
 * in the end where there is one. */
static const struct way {
    const char *keys;
    int signal;
} ways[] = {{":q!\r", 0}, {"\003\003\003", 0}, {NULL, SIGTERM}, {NULL, SIGHUP}};

static uint64_t slowest_us; /* of the ends of a test */

static void pump_for(cf_pty *t, int ms)
{
    for (int left = ms; left > 0; left -= 20) {
        cf_pty_pump(t, 20);
    }
}

static int leave(cf_pty *t, const struct way *way)
{
    const uint64_t began = cf_os_monotonic_us();
    /* The first keys may only stop the work, as users see it. */
    for (int i = 0; i < 10 && way->keys != NULL && !t->is_closed; i++) {
        cf_pty_type(t, way->keys);
        pump_for(t, 300);
    }
    if (way->signal != 0) {
        kill(t->pid, way->signal);
    }
    const int status = cf_pty_finish_in(t, LEAVE_MS);
    const uint64_t took = cf_os_monotonic_us() - began;
    slowest_us = took > slowest_us ? took : slowest_us;
    return status;
}

/* The workbench ends by itself, or when its grace is over. */
static void leave_workbench(cf_pty *t, const struct way *way)
{
    const int status = leave(t, way);
    assert_true(WIFEXITED(status));
    assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 130);
}

static int say_slowest(void **state)
{
    (void)state;
    print_message("left after %.2f s at most, with pauses of keys\n", (double)slowest_us / 1e6);
    slowest_us = 0;
    return 0;
}

static const char *write_file(const char *name, const char *text)
{
    cf_error err;
    const char *path = store_dir_file(name);
    T_OK(cf_os_write_file(path, text, strlen(text), 0700, &err), err);
    return path;
}

static void test_leave__templates(void **state)
{
    (void)state;
    /* Sending a message, the prompt, lint of the template. */
    static const char *const views[] = {"ihi\r", "2", "7"};
    char model[600], tpl[500];
    NEED_TERMINALS();
    size_t n_ways = sizeof ways / sizeof ways[0];
    snprintf(model, sizeof model, "script:%s",
             write_file("script.json", "{\"replies\":[{\"text\":\"Yes.\"}]}"));
    for (size_t i = 0; i < sizeof bombs / sizeof bombs[0]; i++) {
        snprintf(tpl, sizeof tpl, "%s", write_file("bomb.jinja", bombs[i]));
        const char *const words[] = {"chat", "-m", model, "-t", tpl, "--no-store", NULL};
        for (size_t k = 0; k < sizeof views / sizeof views[0]; k++) {
            cf_pty t;
            size_t w = (i + k) % n_ways;
            cf_pty_start(&t, 100, 30, words, "xterm-256color");
            cf_pty_wait(&t, "Write a message");
            cf_pty_type(&t, views[k]);
            pump_for(&t, 200);
            /* The composer, to which a failed message returns, would take
             * a command as text. */
            leave_workbench(&t, &ways[k == 0 && w == 0 ? 1 : w]);
        }
    }
}

/* ---- work that waits, or takes long ------------------------------------- */

enum { WORDS_MAX = 12, STEPS_MAX = 6 };

typedef struct job {
    const char *words[WORDS_MAX]; /* "@x": a file of the test, "MODEL": a
                                     script, "URL": the slow server */
    /* Keys, each after the screen shows the words before it. */
    const struct step {
        const char *shows, *keys;
    } steps[STEPS_MAX];
} job;

static cf_loopback server;

static void start_job(cf_pty *t, const job *j)
{
    char text[WORDS_MAX][600];
    const char *words[WORDS_MAX + 1] = {NULL};
    for (size_t i = 0; i < WORDS_MAX && j->words[i] != NULL; i++) {
        const char *word = j->words[i];
        bool is_model = strcmp(word, "MODEL") == 0;
        snprintf(text[i], sizeof text[i], "%s%s", is_model ? "script:" : "",
                 is_model                   ? store_dir_file("calls.json")
                 : strcmp(word, "URL") == 0 ? server.url
                 : word[0] == '@'           ? store_dir_file(word + 1)
                                            : word);
        words[i] = text[i];
    }
    cf_pty_start(t, 110, 36, words, "xterm-256color");
    for (size_t i = 0; i < STEPS_MAX && j->steps[i].shows != NULL; i++) {
        char keys[600];
        const char *at = strchr(j->steps[i].keys, '@');
        cf_pty_wait(t, j->steps[i].shows);
        if (at != NULL) {
            size_t n = strcspn(at + 1, "\r");
            char name[100];
            snprintf(name, sizeof name, "%.*s", (int)n, at + 1);
            snprintf(keys, sizeof keys, "%.*s%s%s", (int)(at - j->steps[i].keys), j->steps[i].keys,
                     store_dir_file(name), at + 1 + n);
        } else {
            snprintf(keys, sizeof keys, "%s", j->steps[i].keys);
        }
        cf_pty_type(t, keys);
    }
    pump_for(t, 400);
}

/* A line of a reply now and then, for an hour. */
static void start_server(void)
{
    static const cf_loopback_answer slow = {
        .head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                "Connection: close\r\n\r\n",
        .body = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n",
        .n = 10000,
        .pause_ms = 300};
    cf_loopback_start(&server, &slow);
}

static void write_files(void)
{
    cf_buf b = CF_BUF_INIT;
    cf_error err;
    write_file("calls.json", "{\"replies\":[{\"text\":\"<tool_call>\\n{\\\"name\\\": "
                             "\\\"f\\\", \\\"arguments\\\": {}}\\n</tool_call>\"}]}");
    write_file("tools.json", "[{\"type\":\"function\",\"function\":{\"name\":\"f\","
                             "\"description\":\"d\",\"parameters\":{\"type\":\"object\"}}}]");
    write_file("stubborn.sh", "#!/bin/sh\ntrap '' HUP INT TERM\nsleep 300\n");
    write_file("prompts.jsonl", "{\"name\":\"a\",\"prompt\":\"hello\"}\n");
    cf_buf_addf(&b, "prompts prompts.jsonl\nmodel %s\n", server.url);
    write_file("plan.txt", cf_buf_cstr(&b));
    cf_buf_reset(&b);
    for (int i = 0; i < (T_IS_SLOW ? 20000 : 200000); i++) {
        cf_buf_addf(&b,
                    "{\"messages\":[{\"role\":\"user\",\"content\":\"question "
                    "%d of a long list of them\"},{\"role\":\"assistant\","
                    "\"content\":\"answer %d\"}]}\n",
                    i, i);
    }
    T_OK(cf_os_write_file(store_dir_file("big.jsonl"), b.p, b.n, 0600, &err), err);
    cf_buf_reset(&b);
    cf_buf_adds(&b, "{\"messages\":[");
    for (int i = 0; i < (T_IS_SLOW ? 10000 : 150000); i++) {
        cf_buf_addf(&b, "%s{\"role\":\"%s\",\"content\":\"words %d\"}", i > 0 ? "," : "",
                    i % 2 == 0 ? "user" : "assistant", i);
    }
    cf_buf_adds(&b, "]}\n");
    write_file("long.jsonl", cf_buf_cstr(&b));
    cf_buf_reset(&b);
    cf_buf_adds(&b, "{\"allOf\":[");
    for (int i = 0; i < 40; i++) {
        cf_buf_addf(&b,
                    "%s{\"oneOf\":[{\"required\":[\"a%d\"],\"minProperties\":"
                    "%d},{\"required\":[\"b%d\"],\"maxProperties\":%d}]}",
                    i > 0 ? "," : "", i, i, i, 90 - i);
    }
    cf_buf_adds(&b, "]}");
    write_file("schema.json", cf_buf_cstr(&b));
    cf_buf_deinit(&b);
}

static void test_leave__work(void **state)
{
    (void)state;
    static const job jobs[] = {
        /* A reply that drips. */
        {{"chat", "-m", "URL", "--no-store"}, {{"Write a message", "ihi\r"}}},
        /* A tool command that does not end, and does not listen. */
        {{"chat", "-m", "MODEL", "-t", "chatml", "--tools", "@tools.json", "--exec", "@stubborn.sh",
          "--no-store"},
         {{"Write a message", "ihi\r"}, {"waits for a result", "\t4!"}, {"stubborn", "y"}}},
        /* A tool server that never says anything. */
        {{"chat", "-m", "MODEL", "--no-store"},
         {{"Write a message", ":mcp sleep 300\r"}, {"sleep 300", "y"}}},
        /* A constraint that multiplies. */
        {{"chat", "--no-store"},
         {{"Write a message", ":constrain schema @schema.json\r"}, {"", "ihi\r"}}},
        /* An import. */
        {{"chat", "-m", "MODEL", "--db", "@import.db", "--no-examples"},
         {{"Write a message", "6:import @big.jsonl\r"}}},
        /* An import of one long conversation. */
        {{"chat", "-m", "MODEL", "--db", "@import3.db", "--no-examples"},
         {{"Write a message", "6:import @long.jsonl\r"}}},
        /* A command on the terminal. */
        {{"chat", "-m", "MODEL", "--no-store"}, {{"Write a message", ":!sleep 300\r"}}},
        /* A sweep over the server. */
        {{"chat", "-m", "MODEL", "--no-store"}, {{"Write a message", ":sweep @plan.txt\r"}}},
        /* Where a reply comes from. */
        {{"chat", "--db", "@cause.db", "--no-examples"},
         {{"Write a message", "iWhat is confab?\r"}, {"turn 2 of 2", "\tgi"}}},
    };
    NEED_TERMINALS();
    start_server();
    write_files();
    size_t n_ways = sizeof ways / sizeof ways[0];
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        for (size_t k = 0; k < (T_IS_SLOW ? 1 : 2); k++) {
            cf_pty t;
            start_job(&t, &jobs[i]);
            leave_workbench(&t, &ways[1 + (i + 2 * k) % (n_ways - 1)]);
        }
    }
    cf_loopback_stop(&server);
}

/* A tool server that does not end by itself. */
#define STUBBORN(name)                                             \
    "\"" name "\":{\"command\":\"sh\",\"args\":[\"-c\",\"trap '' " \
    "HUP INT TERM; while :; do sleep 1; done\"]}"

/* Commands end at ^C and at SIGTERM, too. */
static void test_leave__commands(void **state)
{
    (void)state;
    static const job jobs[] = {
        {{"run", "-m", "URL", "--no-store", "hi"}, {{NULL, NULL}}},
        {{"complete", "-m", "URL", "hi"}, {{NULL, NULL}}},
        {{"sweep", "@plan.txt", "--no-store"}, {{NULL, NULL}}},
        {{"history", "import", "@big.jsonl", "--db", "@import2.db"}, {{NULL, NULL}}},
        {{"history", "import", "@long.jsonl", "--db", "@import4.db"}, {{NULL, NULL}}},
        {{"complete", "-n", "100000", "the"}, {{NULL, NULL}}},
        {{"render", "-t", "@bomb.jinja", "/dev/null"}, {{NULL, NULL}}},
        {{"lint", "@bomb.jinja"}, {{NULL, NULL}}},
        {{"mcp", "list", "--yes", "--mcp", "@servers.json"}, {{NULL, NULL}}},
        {{"serve", "--listen", "127.0.0.1:0", "--db", "@serve.db"}, {{"answers at", ""}}},
        {{"proxy", "--to", "URL", "--listen", "127.0.0.1:0", "--db", "@proxy.db"},
         {{"answers at", ""}}},
        {{"watch", "--db", "@proxy.db"}, {{NULL, NULL}}},
    };
    NEED_TERMINALS();
    start_server();
    write_files();
    write_file("bomb.jinja", bombs[1]);
    write_file("servers.json", "{\"mcpServers\":{\"s\":{\"command\":\"sleep\",\"args\":"
                               "[\"300\"]}," STUBBORN("a") "," STUBBORN("b") "}}");
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        cf_pty t;
        start_job(&t, &jobs[i]);
        (void)leave(&t, &ways[1 + i % 2]);
    }
    cf_loopback_stop(&server);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_leave__templates, say_slowest),
        cmocka_unit_test_teardown(test_leave__work, say_slowest),
        cmocka_unit_test_teardown(test_leave__commands, say_slowest),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
