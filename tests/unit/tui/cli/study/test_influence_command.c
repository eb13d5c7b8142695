/*
 * test_influence_command.c - confab influence studies the prompt that a saved
 * reply was an answer to, and says where that cannot be.
 *
 * CONFAB_PLANTED=100 makes that many runs of each kind in place of a few.
 */
#include "tests/support/t.h"

#include "core/base/os.h"
#include "tests/support/program.h"
#include "tests/support/slow.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_gguf.h"
#include "tests/support/tiny_lora.h"

static char model[160], adapter[160], schema[160], grammar[160], tools[160];

static int set_up(void **state)
{
    static const char schema_text[] = "{\"type\":\"object\",\"properties\":{\"tool\":{\"enum\":"
                                      "[\"lint\",\"render\"]}},\"required\":[\"tool\"],"
                                      "\"additionalProperties\":false}";
    static const char grammar_text[] = "root = \"yes\" | \"no\" ;\n";
    static const char tools_text[] =
        "[{\"type\":\"function\",\"function\":{\"name\":\"get_time\",\"parameters\":{\"type\":"
        "\"object\",\"properties\":{\"zone\":{\"enum\":[\"here\",\"there\"]}},"
        "\"required\":[\"zone\"]}}}]";
    const cf_tiny_options o = {.seed = 1,
                               .type = CF_F32,
                               .chat_template =
                                   "{% for m in messages %}{{ m.role }}:{{ m.content }}\n"
                                   "{% endfor %}{{ '<think>' if enable_thinking else '' }}"};
    size_t n;
    cf_error err;
    if (store_dir_make(state) != 0) {
        return -1;
    }
    snprintf(model, sizeof model, "%s", store_dir_file("model.gguf"));
    snprintf(adapter, sizeof adapter, "%s", store_dir_file("adapter.gguf"));
    snprintf(schema, sizeof schema, "%s", store_dir_file("schema.json"));
    snprintf(grammar, sizeof grammar, "%s", store_dir_file("words.lark"));
    snprintf(tools, sizeof tools, "%s", store_dir_file("tools.json"));
    void *bytes = cf_tiny_gguf(&o, &n);
    cf_status st = cf_os_write_file(model, bytes, n, 0600, &err);
    cf_tiny_free(bytes);
    cf_tiny_lora_write(adapter, "llama", 1);
    CF_THEN(st, cf_os_write_file(schema, schema_text, strlen(schema_text), 0600, &err));
    CF_THEN(st, cf_os_write_file(grammar, grammar_text, strlen(grammar_text), 0600, &err));
    CF_THEN(st, cf_os_write_file(tools, tools_text, strlen(tools_text), 0600, &err));
    return st == CF_OK ? 0 : -1;
}

/* The conversation that the history shows first. */
static void newest(const char *db, char id[64])
{
    cf_program p;
    static const char key[] = "\"conversation\":\"";
    CF_PROGRAM(&p, "history", "--db", db, "--json", "list");
    const char *at = strstr(cf_buf_cstr(&p.out), key);
    assert_non_null(at);
    snprintf(id, 64, "%.36s", at + sizeof key - 1);
    cf_program_deinit(&p);
}

/* Makes a run and studies it; the arguments of `run` begin with "-m". */
static void study(const char *name, unsigned k, const char *const *options, const char *match)
{
    char db[64], word[64], id[64], want[64];
    const char *argv[32] = {"run", "--db", NULL, "-n", "6"};
    size_t n = 5;
    cf_program p;
    snprintf(word, sizeof word, "%s-%u.db", name, k);
    snprintf(db, sizeof db, "%.60s", store_dir_file(word));
    argv[2] = db;
    while (*options != NULL) {
        argv[n++] = *options++;
    }
    snprintf(word, sizeof word, "Question %u: what is lint? %s", k, k % 2 == 0 ? "Thanks." : "");
    argv[n++] = word;
    argv[n] = NULL;
    cf_program_run(&p, argv, NULL, 0);
    bool has_run = p.status == 0 || p.status == 4; /* the limit of rounds */
    if (!has_run) {
        print_message("%s %u: %s\n", name, k, cf_buf_cstr(&p.err));
    }
    assert_true(has_run);
    cf_program_deinit(&p);
    newest(db, id);
    bool has_file = strcmp(argv[5], "-m") == 0;
    CF_PROGRAM(&p, "influence", "--db", db, "--json", id, has_file ? "-m" : NULL, model);
    snprintf(want, sizeof want, "{\"prompt\":\"%s\",", match);
    if (p.status != 0 || strncmp(cf_buf_cstr(&p.out), want, strlen(want)) != 0) {
        print_message("%s %u: %s%.200s\n", name, k, cf_buf_cstr(&p.err), cf_buf_cstr(&p.out));
        fail();
    }
    assert_null(strstr(cf_buf_cstr(&p.out), "message 0")); /* as the screen counts */
    cf_program_deinit(&p);
}

static unsigned n_runs(void)
{
    const char *asked = getenv("CONFAB_PLANTED");
    return asked != NULL ? (unsigned)atoi(asked) : T_IS_SLOW ? 1 : 2;
}

/* Runs of every kind are studied with the tokens that were read. */
static void test_influence_command__recorded(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const struct {
        const char *name;
        const char *const options[12];
        bool needs_bundled;
    } kinds[] = {
        {"on", {"-m", model, "--thinking", "on"}, false},
        {"off", {"-m", model, "--thinking", "off"}, false},
        {"lora", {"-m", model, "--lora", adapter}, false},
        {"sampled", {"-m", model, "--temperature", "1.2", "--seed", "5"}, false},
        {"chatml", {"-m", model, "-t", "chatml"}, false},
        {"zephyr", {"--greedy", "-t", "zephyr", "--system", "Be kind."}, true},
        {"tools", {"--greedy", "--tools", "demo"}, true},
        {"thinking", {"--greedy", "--thinking", "on"}, true},
        {"schema", {"--greedy", "-n", "30", "--schema", schema}, true},
        {"regex", {"--greedy", "--regex", "(yes|no)( of course)?"}, true},
        {"choice", {"--greedy", "--choice", "lint", "--choice", "render"}, true},
        {"grammar", {"--greedy", "--grammar", grammar}, true},
        {"calls",
         {"--greedy", "-n", "60", "--tools", tools, "--constrain-tools", "calls", "--max-rounds",
          "1"},
         true},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        for (unsigned k = 0; k < n_runs() && (!kinds[i].needs_bundled || cf_program_has_model());
             k++) {
            study(kinds[i].name, k, kinds[i].options, "recorded");
        }
    }
}

/* Another template than the run's is said in the first line; of an imported
 * reply nothing was recorded. */
static void test_influence_command__other(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const char imported[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"},"
                                   "{\"role\":\"assistant\",\"content\":\"Hello there\"}]}\n";
    const char *db = store_dir_file("other.db"), *file = store_dir_file("imported.jsonl");
    char id[64];
    cf_program p;
    cf_error err;
    CF_PROGRAM(&p, "run", "--db", db, "-m", model, "-n", "6", "Hello");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    newest(db, id);
    CF_PROGRAM(&p, "influence", "--db", db, "-m", model, "-t", "chatml", id);
    assert_int_equal(p.status, 0);
    assert_int_equal(strncmp(cf_buf_cstr(&p.out), "this is not the prompt of the run: ", 35), 0);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "influence", "--db", db, "-m", model, "-t", "chatml", "--json", id);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "{\"prompt\":\"other\","));
    cf_program_deinit(&p);
    T_OK(cf_os_write_file(file, imported, strlen(imported), 0600, &err), err);
    CF_PROGRAM(&p, "history", "--db", db, "import", file);
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    newest(db, id);
    CF_PROGRAM(&p, "influence", "--db", db, "-m", model, "--json", id);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "{\"prompt\":\"none\","));
    cf_program_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_influence_command__recorded),
        cmocka_unit_test(test_influence_command__other),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
