/*
 * test_guide.c - the bundled model answers questions about confab from the
 * program's own tables: 60 of them, and one after a key was bound anew.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/api/conversation.h"
#include "templates/open.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/app/workbench.h"
#include "tui/cli/shell/cli.h"
#include "tui/demo/demo_serve.h"

enum { QUESTIONS = 60, RIGHT_LEAST = 55, ANSWER_MOST = 500 };

typedef struct guide {
    cf_opened opened;
    cf_demo *demo;
    json_t *tools;
    const char *config; /* folder of confab/confabrc */
    unsigned n_calls;
} guide;

static cf_status look_up(void *ud, const char *question, cf_buf *out, cf_error *err)
{
    static const cf_cli_screen screen = {.find = cf_workbench_find};
    cf_cli cli = {.screen = &screen};
    const guide *g = ud;
    setenv("XDG_CONFIG_HOME", g->config, 1);
    return cf_cli_answer(&cli, question, out, err);
}

static void open_guide(guide *g, const char *config)
{
    cf_error err;
    const cf_open_options o = {.has_tools = true};
    *g = (guide){.config = config, .tools = json_array()};
    T_OK(cf_open_backend(&g->opened, &o, NULL, &err), err);
    T_OK(cf_demo_new(&g->demo, NULL, false, &err), err);
    T_OK(cf_demo_declare_help(g->tools, &err), err);
    cf_demo_set_help(g->demo, look_up, g);
}

static void close_guide(guide *g)
{
    json_decref(g->tools);
    cf_demo_free(g->demo);
    cf_opened_close(&g->opened);
}

static cf_call_verdict decide(void *ud, const cf_pending_call *call, cf_buf *reason)
{
    (void)ud;
    (void)call;
    (void)reason;
    return CF_CALL_RUN;
}

static cf_status run_call(void *ud, const cf_pending_call *call, json_t **result, cf_error *err)
{
    guide *g = ud;
    json_t *v = NULL;
    g->n_calls += cf_str_is(call->name, "confab_help");
    CF_TRY(cf_demo_run(g->demo, (cf_uuid){{0}}, call->name, call->arguments, &v, err));
    *result = cf_demo_content(v);
    json_decref(v);
    return CF_OK;
}

/* The whole answer, as a user gets it from `confab run`. */
static void ask(guide *g, const char *question, cf_buf *answer)
{
    cf_error err;
    cf_sent sent;
    cf_conversation *conv;
    const cf_preface preface = {.tools = g->tools};
    json_t *message = json_pack("{s:s, s:s}", "role", "user", "content", question);
    const cf_turn_options options = {
        .chat = {.sampling = {.temperature = 0}, .has_sampling = true, .max_tokens = 300}};
    const cf_send send = {.message = message, .options = &options};
    const cf_tool_loop loop = {.max_rounds = 3, .decide = decide, .run = run_call, .ud = g};
    T_OK(cf_conversation_new(&conv, &preface, &err), err);
    cf_sent_init(&sent);
    cf_buf_reset(answer);
    if (cf_conversation_run(conv, g->opened.backend, &send, &loop, &sent, &err) == CF_OK) {
        cf_str text = cf_json_get_str(sent.response.message, "content");
        cf_buf_add(answer, text.p, text.n);
    }
    cf_sent_deinit(&sent);
    cf_conversation_free(conv);
    json_decref(message);
}

/* Whether a text has a word that stands alone. */
static bool has(const char *text, const char *word, size_t n)
{
    for (const char *at = text; n > 0 && (at = strchr(at, word[0])) != NULL; at++) {
        bool begins = at == text || at[-1] == ' ';
        if (begins && strncmp(at, word, n) == 0 && strchr(" ,.=:", at[n]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Whether an answer names the row WHERE NAME, "* quit", "option --tools": by
 * one of its keys or its name, as the tables have them now. */
static bool names_row(const guide *g, const char *answer, const char *where, const char *name)
{
    char called[128];
    bool is_view = strcmp(where, "command") != 0 && strcmp(where, "option") != 0 &&
                   strcmp(where, "setting") != 0;
    snprintf(called, sizeof called, "%s%s",
             is_view                         ? ":"
             : strcmp(where, "command") == 0 ? "confab "
             : strcmp(where, "setting") == 0 ? ":set "
                                             : "",
             name);
    if (!is_view) {
        return has(answer, called, strlen(called));
    }
    cf_buf row = CF_BUF_INIT;
    char words[160];
    cf_error err;
    snprintf(words, sizeof words, "%s %s", strcmp(where, "*") == 0 ? "" : where, called);
    T_OK(look_up((void *)(uintptr_t)g, words, &row, &err), err);
    const char *keys = cf_buf_cstr(&row), *end = strstr(keys, "  :");
    bool is = has(answer, called, strlen(called));
    while (!is && end != NULL && keys < end) {
        size_t n = strcspn(keys, " ");
        is = has(answer, keys, n);
        keys += n + 1;
    }
    cf_buf_deinit(&row);
    return is;
}

/* One line of the file: "WHERE NAME, WHERE NAME | question". */
static bool is_right(guide *g, char *line, cf_buf *answer)
{
    char *bar = strstr(line, " | "), *rest = NULL;
    assert_non_null(bar);
    *bar = '\0';
    ask(g, bar + 3, answer);
    bool is = answer->n <= ANSWER_MOST;
    bool is_named = false;
    for (char *t = strtok_r(line, ",", &rest); t != NULL; t = strtok_r(NULL, ",", &rest)) {
        char where[32], name[64];
        assert_int_equal(sscanf(t, " %31s %63s", where, name), 2);
        is_named = is_named || names_row(g, cf_buf_cstr(answer), where, name);
    }
    return is && is_named;
}

static void test_guide__sixty_questions(void **state)
{
    (void)state;
    if (!cf_program_has_model()) {
        T_SKIP("no bundled model in this tree");
    }
    FILE *f = fopen("tests/data/guide/questions.txt", "r");
    guide g;
    char line[400];
    unsigned n = 0, n_right = 0;
    cf_buf answer = CF_BUF_INIT, wrong = CF_BUF_INIT;
    assert_non_null(f);
    open_guide(&g, "/nonexistent");
    while (fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#') {
            continue;
        }
        n++;
        char *question = strstr(line, " | ") + 3;
        if (is_right(&g, line, &answer)) {
            n_right++;
        } else {
            cf_buf_addf(&wrong, "%s\n    %s\n", question, cf_buf_cstr(&answer));
        }
    }
    fclose(f);
    close_guide(&g);
    assert_int_equal(n, QUESTIONS);
    if (n_right < RIGHT_LEAST || getenv("GUIDE_SHOW") != NULL) {
        fprintf(stderr, "%u of %u right, %u asked the help; wrong:\n%s", n_right, n, g.n_calls,
                cf_buf_cstr(&wrong));
    }
    assert_true(n_right >= RIGHT_LEAST);
    cf_buf_deinit(&answer);
    cf_buf_deinit(&wrong);
}

/* A key that somebody else bound changes the answer. */
static void test_guide__a_key_bound_anew(void **state)
{
    (void)state;
    if (!cf_program_has_model()) {
        T_SKIP("no bundled model in this tree");
    }
    guide g;
    store_path config, path;
    cf_buf answer = CF_BUF_INIT;
    store_dir_path(config, "config");
    store_dir_path(path, "config/confab");
    assert_int_equal(mkdir(config, 0700), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    store_dir_put_text("config/confab/confabrc", "bind all gQ quit\nbind library <F5> rename\n");
    open_guide(&g, config);
    ask(&g, "how do I quit?", &answer);
    assert_non_null(strstr(cf_buf_cstr(&answer), "gQ"));
    ask(&g, "how do I rename a conversation?", &answer);
    assert_non_null(strstr(cf_buf_cstr(&answer), "<F5>"));
    close_guide(&g);
    cf_buf_deinit(&answer);
}

/* It is declared where nothing else says what there is. */
static void test_guide__where_it_is_declared(void **state)
{
    (void)state;
    if (!cf_program_has_model() || cf_program_path() == NULL) {
        T_SKIP("needs the bundled model and CONFAB_BIN");
    }
    static const struct {
        const char *argv[8];
        bool is;
    } t[] = {
        {{"run", "--show-prompt", "hi", NULL}, true},
        {{"run", "--show-prompt", "-m", "bundled", "hi", NULL}, true},
        {{"run", "--show-prompt", "--tools", "off", "hi", NULL}, false},
        {{"run", "--show-prompt", "--tools", "demo", "hi", NULL}, false},
        {{"run", "--show-prompt", "--as-is", "hi", NULL}, false},
        {{"run", "--show-prompt", "--regex", "a+", "hi", NULL}, false},
        {{"run", "--show-prompt", "--schema", "docs/examples/schema.json", "hi", NULL}, false},
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        cf_program p;
        cf_program_run(&p, t[i].argv, NULL, 0);
        assert_int_equal(p.status, 0);
        assert_int_equal(strstr(cf_buf_cstr(&p.out), "confab_help") != NULL, t[i].is);
        cf_program_deinit(&p);
    }
    cf_program p, s;
    CF_PROGRAM(&p, "run", "--no-store", "--json", "how do I quit?");
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "{\"event\":\"tool_call\""));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "confab_help"));
    CF_PROGRAM(&s, "help", "--search", "quit");
    assert_non_null(strstr(cf_buf_cstr(&s.out), ":quit"));
    cf_program_deinit(&p);
    cf_program_deinit(&s);
}

/* A conversation that goes on has tools of its own, called as built-in ones are. */
static void test_guide__tools_of_the_user_stay(void **state)
{
    (void)state;
    if (!cf_program_has_model() || cf_program_path() == NULL) {
        T_SKIP("needs the bundled model and CONFAB_BIN");
    }
    static const char question[] = "What is the weather in Oslo?";
    const char *db = store_dir_file("own.db");
    const char *tools = store_dir_put_text(
        "own.json", "[{\"type\":\"function\",\"function\":{\"name\":\"get_weather\","
                    "\"description\":\"Current weather of a city\",\"parameters\":{\"type\":"
                    "\"object\",\"properties\":{\"city\":{\"type\":\"string\"}},"
                    "\"required\":[\"city\"]}}}]");
    cf_program p;
    char id[CF_UUID_TEXT + 1];
    CF_PROGRAM(&p, "run", "--db", db, "--tools", tools, "--stop-at-call", question);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "history", "list", "--db", db);
    assert_int_equal(sscanf(cf_buf_cstr(&p.out), "%*s %*s %36s", id), 1);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "run", "--db", db, "--continue", id, "--exec", "echo '{\"own\":true}'", "--yes",
               question);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "get_weather("));
    assert_non_null(strstr(cf_buf_cstr(&p.err), "{\"own\":true}"));
    cf_program_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guide__sixty_questions),
        cmocka_unit_test(test_guide__a_key_bound_anew),
        cmocka_unit_test(test_guide__where_it_is_declared),
        cmocka_unit_test(test_guide__tools_of_the_user_stay),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
