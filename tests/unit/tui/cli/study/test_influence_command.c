/*
 * test_influence_command.c - confab influence studies the prompt that a saved
 * reply was an answer to, and says where that cannot be.
 *
 * CONFAB_PLANTED=100 makes that many runs of each kind in place of a few.
 */
#include "tests/support/t.h"

#include <math.h>

#include "core/base/os.h"
#include "core/json/json.h"
#include "storage/store.h"
#include "templates/open.h"
#include "tests/support/program.h"
#include "tests/support/slow.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_gguf.h"
#include "tests/support/tiny_lora.h"

static char model[160], wide[160], adapter[160], schema[160], grammar[160], tools[160];

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
    snprintf(wide, sizeof wide, "%s", store_dir_file("wide.gguf"));
    snprintf(adapter, sizeof adapter, "%s", store_dir_file("adapter.gguf"));
    snprintf(schema, sizeof schema, "%s", store_dir_file("schema.json"));
    snprintf(grammar, sizeof grammar, "%s", store_dir_file("words.lark"));
    snprintf(tools, sizeof tools, "%s", store_dir_file("tools.json"));
    void *bytes = cf_tiny_gguf(&o, &n);
    cf_status st = cf_os_write_file(model, bytes, n, 0600, &err);
    cf_tiny_free(bytes);
    const cf_tiny_options heads_of_32 = {
        .seed = 1, .head_size = 32, .chat_template = o.chat_template};
    bytes = cf_tiny_gguf(&heads_of_32, &n);
    CF_THEN(st, cf_os_write_file(wide, bytes, n, 0600, &err));
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

/* ---- why this and not that ---------------------------------------------- */

/* The first row of --json, with the arguments after "influence --db DB --json". */
static json_t *first_row(const char *db, const char *const *arguments)
{
    const char *argv[24] = {"influence", "--db", db, "--json"};
    cf_program p;
    cf_error err;
    json_t *row = NULL;
    for (size_t n = 4; *arguments != NULL; n++) {
        argv[n] = *arguments++;
    }
    cf_program_run(&p, argv, NULL, 0);
    if (p.status != 0) {
        print_message("%s\n", cf_buf_cstr(&p.err));
    }
    assert_int_equal(p.status, 0);
    T_OK(cf_json_read(&row, p.out.p, strcspn(cf_buf_cstr(&p.out), "\n"), &err), err);
    cf_program_deinit(&p);
    return row;
}

#define FIRST_ROW(db, ...) first_row(db, (const char *const[]){__VA_ARGS__, NULL})

static double number_of(const json_t *row, const char *key)
{
    assert_true(json_is_number(json_object_get(row, key)));
    return json_number_value(json_object_get(row, key));
}

/* The logits after the run's prompt and the first `n` bytes of its reply. */
static float *logits_after(const char *db, const char *id, const cf_tokenizer *tok, size_t n)
{
    cf_error err;
    cf_store *store;
    cf_store_ref ref;
    cf_store_tree tree;
    cf_arena arena;
    cf_program p;
    cf_buf ids = CF_BUF_INIT, text = CF_BUF_INIT, file = CF_BUF_INIT;
    const char *path = store_dir_file("logits.bin");
    size_t n_vocab = cf_tokenizer_n_vocab(tok);
    cf_arena_init(&arena, 0);
    T_OK(cf_store_open(&store, db, NULL, &err), err);
    T_OK(cf_store_find(store, cf_str_from(id), &ref, &err), err);
    T_OK(cf_store_get_tree(store, ref.conversation, CF_TREE_TRACE, &arena, &tree, &err), err);
    const cf_store_run *run = tree.turns[tree.n - 1].run;
    for (size_t i = 0; i < run->n_prompt_ids; i++) {
        cf_buf_addf(&ids, "%s%d", i > 0 ? "," : "", (int)run->prompt_ids[i]);
    }
    for (size_t i = 0; text.n < n; i++) {
        assert_true(i < run->n_reply_ids);
        cf_buf_addf(&ids, ",%d", (int)run->reply_ids[i]);
        cf_tokenizer_piece(&text, tok, run->reply_ids[i], false);
    }
    assert_int_equal(text.n, n);
    CF_PROGRAM(&p, "complete", "-n", "0", "--ids", cf_buf_cstr(&ids), "--logits", path);
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    T_OK(cf_os_read_file(&file, path, 1 << 26, &err), err);
    float *out = malloc(n_vocab * sizeof *out);
    memcpy(out, file.p + file.n - n_vocab * sizeof *out, n_vocab * sizeof *out);
    cf_buf_deinit(&file);
    cf_buf_deinit(&text);
    cf_buf_deinit(&ids);
    cf_arena_deinit(&arena);
    cf_store_close(store);
    return out;
}

/* The logarithm of the sum over all tokens that can begin this value, whose
 * quotation mark closes it. */
static double log_sum(const float *logits, const cf_tokenizer *tok, const char *value)
{
    double sum = 0;
    size_t n = strlen(value);
    for (size_t id = 0; id < cf_tokenizer_n_vocab(tok); id++) {
        cf_buf piece = CF_BUF_INIT;
        cf_tokenizer_piece(&piece, tok, (cf_token)id, false);
        size_t shared = piece.n < n ? piece.n : n;
        bool begins = piece.n > 0 && memcmp(piece.p, value, shared) == 0 &&
                      (piece.n <= n || piece.p[n] == '"');
        sum += begins ? exp((double)logits[id]) : 0;
        cf_buf_deinit(&piece);
    }
    return log(sum);
}

/* Under a schema the odds are those of the renormalised logits. */
static void test_influence_command__odds_under_a_schema(void **state)
{
    (void)state;
    NEED_PROGRAM();
    if (!cf_program_has_model()) {
        T_SKIP("no bundled model in this tree");
    }
    static const char *const systems[] = {"You are helpful.", "Be kind.", "Name a tool."};
    const char *db = store_dir_file("odds.db");
    const cf_open_options o = {.model = "bundled", .n_threads = 1};
    cf_opened opened;
    cf_error err;
    char id[64];
    cf_program p;
    T_OK(cf_open_backend(&opened, &o, NULL, &err), err);
    const cf_tokenizer *tok = cf_engine_tokenizer(opened.engine);
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        CF_PROGRAM(&p, "run", "--db", db, "--greedy", "-n", "30", "--schema", schema, "--system",
                   systems[i], "Which command finds faults of a chat template?");
        bool is_lint = strstr(cf_buf_cstr(&p.out), "lint") != NULL;
        assert_int_equal(p.status, 0);
        cf_program_deinit(&p);
        newest(db, id);
        json_t *row = FIRST_ROW(db, "--tokens", "--instead", is_lint ? "render" : "lint", id);
        size_t off = (size_t)number_of(json_array_get(json_object_get(row, "tokens"), 0), "off");
        float *logits = logits_after(db, id, tok, off);
        double odds = log_sum(logits, tok, "lint") - log_sum(logits, tok, "render");
        assert_true(fabs(number_of(row, "with") - (is_lint ? odds : -odds)) < 1e-5);
        json_t *plain = FIRST_ROW(db, id); /* the rest of the reply is forced, or free space */
        assert_true(number_of(plain, "forced") >= 1);
        json_decref(plain);
        json_decref(row);
        free(logits);
    }
    cf_opened_close(&opened);
}

/* The value of an argument, a text, the end, and a call against none. */
static void test_influence_command__instead(void **state)
{
    (void)state;
    NEED_PROGRAM();
    if (!cf_program_has_model()) {
        T_SKIP("no bundled model in this tree");
    }
    const char *db = store_dir_file("instead.db");
    char id[64];
    cf_program p;
    CF_PROGRAM(&p, "run", "--db", db, "--greedy", "--tools", "demo",
               "What is the weather in Oslo?");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    newest(db, id);
    static const struct {
        const char *const arguments[6], *label;
        bool decides;
    } cases[] = {
        {{"--turn", "1", "--argument", "0.location", "--instead", "Paris"},
         "message 1 (user)",
         false},
        {{"--turn", "1", "--instead", "no call"}, "tool get_weather", true},
        {{"--instead", "end"}, "message 3 (tool)", true},
        {{"--instead", "Hello"}, "message 3 (tool)", true},
        {{"--instead", "text:end"}, "message 3 (tool)", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *arguments[8] = {id};
        for (size_t k = 0; k < 6; k++) {
            arguments[1 + k] = cases[i].arguments[k];
        }
        json_t *row = first_row(db, arguments);
        assert_string_equal(json_string_value(json_object_get(row, "label")), cases[i].label);
        assert_true(number_of(row, "with") > 0);
        double without = number_of(row, "without");
        assert_true(fabs(number_of(row, "with") + number_of(row, "delta") - without) < 1e-9);
        assert_int_equal(json_is_true(json_object_get(row, "decides")), without < 0);
        if (cases[i].decides) {
            assert_true(without < 0 && json_is_string(json_object_get(row, "would_say")));
        }
        json_decref(row);
    }
    CF_PROGRAM(&p, "influence", "--db", db, "--instead", "", id);
    assert_int_equal(p.status, 2);
    cf_program_deinit(&p);
}

/* One cause beside what does not matter is no group. */
static void test_influence_command__no_group(void **state)
{
    (void)state;
    NEED_PROGRAM();
    if (!cf_program_has_model()) {
        T_SKIP("no bundled model in this tree");
    }
    static const char *const questions[] = {"I am new here. What is a prompt? I like tea.",
                                            "I am new here. How do I regenerate a reply?",
                                            "What is a chat template? The sky is blue."};
    const char *db = store_dir_file("alone.db");
    char id[64];
    cf_program p;
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        CF_PROGRAM(&p, "run", "--db", db, "--greedy", "--tools", "off", questions[i]);
        cf_program_deinit(&p);
        newest(db, id);
        CF_PROGRAM(&p, "influence", "--db", db, "--json", "--by", "sentence", id);
        assert_int_equal(p.status, 0);
        assert_null(strstr(cf_buf_cstr(&p.out), "\"group\""));
        cf_program_deinit(&p);
    }
}

/* The cache of a run is that of its study, unless an option names another. */
static void test_influence_command__cache(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("cache.db");
    char id[64];
    cf_program p;
    CF_PROGRAM(&p, "run", "--db", db, "-m", wide, "--cache", "q4_0", "-n", "12", "Hello there");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    newest(db, id);
    json_t *same = FIRST_ROW(db, "-m", wide, id),
           *named = FIRST_ROW(db, "-m", wide, "--cache", "q4_0", id);
    json_t *other = FIRST_ROW(db, "-m", wide, "--cache", "f32", id);
    assert_true(json_equal(same, named));
    assert_true(number_of(same, "with") != number_of(other, "with"));
    json_decref(same);
    json_decref(named);
    json_decref(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_influence_command__recorded),
        cmocka_unit_test(test_influence_command__other),
        cmocka_unit_test(test_influence_command__odds_under_a_schema),
        cmocka_unit_test(test_influence_command__instead),
        cmocka_unit_test(test_influence_command__no_group),
        cmocka_unit_test(test_influence_command__cache),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
