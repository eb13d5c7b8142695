/*
 * test_replay.c - confab replay on turns that confab run wrote with a tiny
 * model, and on turns made by hand from them.
 */
#include "tests/support/t.h"

#include <math.h>
#include <unistd.h>

#include "core/base/os.h"
#include "storage/store.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_gguf.h"
#include "tui/lab/reply/run_options.h"

/* The id of the token that ends a reply: where the seed is fresh it is never
 * chosen, so that every reply has its whole length. */
#define END "2"

static char model[128], other[128], coarse[128];

static int set_up(void **state)
{
    if (store_dir_make(state) != 0) {
        return -1;
    }
    const struct {
        char *path;
        const char *name;
        uint64_t seed;
        cf_dtype type;
    } files[] = {{model, "model.gguf", 1, CF_F32},
                 {other, "other.gguf", 2, CF_F32},
                 {coarse, "coarse.gguf", 3, CF_Q4_0}};
    for (size_t i = 0; i < 3; i++) {
        const cf_tiny_options o = {.seed = files[i].seed,
                                   .type = files[i].type,
                                   .chat_template =
                                       "{% for m in messages %}{{ m.role }}:{{ m.content }}\n"
                                       "{% endfor %}{{ '<think>' if enable_thinking else '' }}"};
        size_t n;
        cf_error err;
        void *bytes = cf_tiny_gguf(&o, &n);
        snprintf(files[i].path, sizeof model, "%s", store_dir_file(files[i].name));
        cf_status st = cf_os_write_file(files[i].path, bytes, n, 0600, &err);
        cf_tiny_free(bytes);
        if (st != CF_OK) {
            return -1;
        }
    }
    return 0;
}

/* The newest reply of the only conversation. */
static void last_turn(const char *db, cf_arena *arena, cf_store_turn *out)
{
    cf_store *s;
    cf_error err;
    const cf_store_options o = {.flags = CF_STORE_READ_ONLY};
    T_OK(cf_store_open(&s, db, &o, &err), err);
    const cf_store_conv *rows;
    size_t n = 0;
    const cf_store_query q = {.limit = 1};
    T_OK(cf_store_list(s, &q, arena, &rows, &n, &err), err);
    assert_int_equal(n, 1);
    T_OK(cf_store_get_turn(s, rows[0].head, arena, out, &err), err);
    cf_store_close(s);
}

static int replay(const char *db, const char *file, cf_uuid turn, cf_program *p)
{
    char id[CF_UUID_TEXT + 1];
    cf_uuid_format(id, turn);
    CF_PROGRAM(p, "replay", "--json", "--db", db, "-m", file, id);
    return p->status;
}

#define RUN(db, ...)                                                      \
    do {                                                                  \
        cf_program run_;                                                  \
        CF_PROGRAM(&run_, "run", "--db", (db), "-m", model, __VA_ARGS__); \
        assert_int_equal(run_.status, 0);                                 \
        cf_program_deinit(&run_);                                         \
    } while (0)

/* Draws of every kind come again; another model is reported and differs. */
static void test_replay__same(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("same.db");
    RUN(db, "-n", "40", "--temperature", "1.5", "--top-k", "50", "--min-p", "0.001",
        "--repetition-penalty", "1.3", "--presence-penalty", "0.3", "--frequency-penalty", "0.2",
        "--penalty-window", "30", "--no-repeat-ngram", "2", "--logit-bias", "100=3", "--logit-bias",
        "101=-inf", "--suppress", "102", "--seed", "12345678901234567890", "Hello");
    cf_arena arena;
    cf_store_turn turn;
    cf_arena_init(&arena, 0);
    last_turn(db, &arena, &turn);
    assert_non_null(turn.run);
    assert_true(turn.run->n_reply_ids > 3);
    cf_program p;
    assert_int_equal(replay(db, model, turn.id, &p), 0);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"identical\":true"));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"notes\":[]"));
    cf_program_deinit(&p);
    assert_int_equal(replay(db, other, turn.id, &p), 1);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"same_model\":false"));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"first_difference\":"));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "another model"));
    cf_program_deinit(&p);
    char id[CF_UUID_TEXT + 1];
    cf_uuid_format(id, turn.conversation);
    CF_PROGRAM(&p, "replay", "--db", db, "-m", model, id);
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "identical ("));
    cf_program_deinit(&p);
    cf_arena_deinit(&arena);
}

/* The arithmetic is kept, and taken again unless another is asked for. */
static void test_replay__arithmetic(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("arithmetic.db");
    cf_program p;
    CF_PROGRAM(&p, "run", "--db", db, "-m", coarse, "--activations", "8", "-n", "40",
               "--temperature", "2", "--suppress", END, "Hello");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    cf_arena arena;
    cf_store_turn turn;
    cf_arena_init(&arena, 0);
    last_turn(db, &arena, &turn);
    assert_int_equal(turn.run->arithmetic, CF_ARITHMETIC_8);
    assert_int_equal(replay(db, coarse, turn.id, &p), 0);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"identical\":true"));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"notes\":[]"));
    cf_program_deinit(&p);
    char id[CF_UUID_TEXT + 1];
    cf_uuid_format(id, turn.id);
    CF_PROGRAM(&p, "replay", "--json", "--db", db, "-m", coarse, "--activations", "16", id);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "another arithmetic"));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "activations of 8 bits"));
    cf_program_deinit(&p);
    cf_arena_deinit(&arena);
}

/* A fresh seed is kept; and the end of thinking that a budget forced takes
 * no draw. */
static void test_replay__forced(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("forced.db");
    RUN(db, "-n", "40", "--temperature", "2", "--thinking", "on", "--budget", "5", "--suppress",
        END, "Hello");
    cf_arena arena;
    cf_store_turn turn;
    cf_run_options o;
    cf_error err;
    cf_arena_init(&arena, 0);
    last_turn(db, &arena, &turn);
    T_OK(cf_run_options_read(&o, turn.run->options, &arena, &err), err);
    assert_true(o.n_forced > 0);
    assert_true(turn.run->n_reply_ids > o.forced[o.n_forced - 1] + 1u);
    cf_program p;
    assert_int_equal(replay(db, model, turn.id, &p), 0);
    cf_program_deinit(&p);
    cf_arena_deinit(&arena);
}

/* The tokens that events call drafted are the ones that the run keeps. */
static void test_replay__drafted(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("drafted.db");
    size_t n_said = 0, n_kept = 0;
    cf_program p;
    CF_PROGRAM(&p, "run", "--db", db, "-m", model, "--json", "--temperature", "0", "--draft", "15",
               "-n", "120", "--suppress", END, "abc abc abc abc");
    assert_int_equal(p.status, 0);
    for (const char *at = cf_buf_cstr(&p.out); (at = strstr(at, "\"drafted\":true")) != NULL;
         at++) {
        n_said++;
    }
    cf_program_deinit(&p);
    cf_arena arena;
    cf_store_turn turn;
    cf_run_options o;
    cf_error err;
    cf_arena_init(&arena, 0);
    last_turn(db, &arena, &turn);
    T_OK(cf_run_options_read(&o, turn.run->options, &arena, &err), err);
    for (size_t i = 0; i + 1 < o.n_drafted; i += 2) {
        n_kept += o.drafted[i + 1] - o.drafted[i];
    }
    assert_true(n_said > 0);
    assert_int_equal(n_kept, n_said);
    cf_arena_deinit(&arena);
}

/* The newest turn of a database comes again, and was constrained. */
static void replay_held(const char *db)
{
    cf_arena arena;
    cf_store_turn turn;
    cf_run_options o;
    cf_error err;
    cf_program p;
    cf_arena_init(&arena, 0);
    last_turn(db, &arena, &turn);
    assert_true(turn.run->constraint_spec.n > 0);
    T_OK(cf_run_options_read(&o, turn.run->options, &arena, &err), err);
    assert_true(o.n_held >= 2);
    assert_int_equal(replay(db, model, turn.id, &p), 0);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"identical\":true"));
    cf_program_deinit(&p);
    cf_arena_deinit(&arena);
}

/* The constraint of a reply is stored, and constrains its replay too: through
 * forced text, and from where the thinking ended. */
static void test_replay__constrained(void **state)
{
    (void)state;
    NEED_PROGRAM();
    char schema[128], tools[128], grammar[128], db[128];
    snprintf(schema, sizeof schema, "%s",
             store_dir_put_text("held.json", "{\"type\":\"object\",\"properties\":{\"day\":"
                                             "{\"enum\":[\"Monday\",\"Tuesday\"]},\"n\":{"
                                             "\"type\":\"integer\"}},\"required\":[\"day\","
                                             "\"n\"],\"additionalProperties\":false}"));
    snprintf(tools, sizeof tools, "%s",
             store_dir_put_text("held-tools.json",
                                "[{\"name\":\"f\",\"parameters\":{\"type\":"
                                "\"object\",\"properties\":{\"u\":{\"enum\":"
                                "[\"celsius\",\"kelvin\"]}},\"required\":[\"u\"]}}]"));
    snprintf(grammar, sizeof grammar, "%s",
             store_dir_put_text("held.gram", "root = item (\",\" item)* ;\n"
                                             "item = /[0-9]+/ | \"(\" root \")\" ;\n"));
#define HELD(name, ...)                                                                   \
    do {                                                                                  \
        snprintf(db, sizeof db, "%s", store_dir_file(name));                              \
        RUN(db, "--seed", "3", "--temperature", "1.7", "-n", "60", __VA_ARGS__, "Hello"); \
        replay_held(db);                                                                  \
    } while (0)
    HELD("h1.db", "--schema", schema);
    HELD("h2.db", "--schema", schema, "--thinking", "on", "--budget", "4");
    HELD("h3.db", "--regex", "ab{3}[0-9]+");
    HELD("h4.db", "--choice", "yes", "--choice", "no");
    HELD("h5.db", "--grammar", grammar);
    HELD("h6.db", "--tools", tools, "--family", "hermes", "--constrain-tools", "calls",
         "--max-rounds", "1");
#undef HELD
}

/* Stores a sibling of `turn` with the id at `at` replaced. */
static cf_uuid put_changed(const char *db, const cf_store_turn *turn, size_t at, cf_token id,
                           cf_arena *arena)
{
    cf_store *s;
    cf_error err;
    const cf_store_options o = {0};
    cf_store_run run = *turn->run;
    cf_token *ids = cf_arena_calloc(arena, run.n_reply_ids, sizeof *ids);
    memcpy(ids, run.reply_ids, run.n_reply_ids * sizeof *ids);
    ids[at] = id;
    run.reply_ids = ids;
    run.trace = cf_str_make(NULL, 0);
    cf_store_turn row = *turn;
    row.id = (cf_uuid){{0}};
    row.run = &run;
    T_OK(cf_store_open(&s, db, &o, &err), err);
    cf_uuid out;
    T_OK(cf_store_put_turn(s, &row, &out, &err), err);
    cf_store_close(s);
    return out;
}

/* One stored token is another: told with both pieces, at its place. */
static void test_replay__first_difference(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("differs.db");
    RUN(db, "-n", "20", "--temperature", "1", "--suppress", END, "Hello");
    cf_arena arena;
    cf_store_turn turn;
    cf_arena_init(&arena, 0);
    last_turn(db, &arena, &turn);
    size_t at = turn.run->n_reply_ids / 2;
    cf_token was = turn.run->reply_ids[at];
    cf_uuid changed = put_changed(db, &turn, at, was == 'a' + 3 ? 'b' + 3 : 'a' + 3, &arena);
    cf_program p;
    char want[96];
    assert_int_equal(replay(db, model, changed, &p), 1);
    snprintf(want, sizeof want, "\"first_difference\":{\"index\":%zu,", at);
    assert_non_null(strstr(cf_buf_cstr(&p.out), want));
    snprintf(want, sizeof want, "\"drawn\":{\"id\":%d,", (int)was);
    assert_non_null(strstr(cf_buf_cstr(&p.out), want));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"candidates\":[{"));
    cf_program_deinit(&p);
    cf_arena_deinit(&arena);
}

/* A reply that no model file wrote cannot run again, and says so. */
static void test_replay__cannot(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("cannot.db");
    RUN(db, "-n", "5", "Hello");
    cf_arena arena;
    cf_store_turn turn;
    cf_arena_init(&arena, 0);
    last_turn(db, &arena, &turn);
    cf_program p;
    assert_int_equal(replay(db, model, turn.parent, &p), 3);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "not written by a model"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "replay", "--db", db, "-m", model);
    assert_int_equal(p.status, 2);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "replay", "--db", db, "-m", model, "no-such-turn");
    assert_true(p.status == 2 || p.status == 3);
    cf_program_deinit(&p);
    cf_arena_deinit(&arena);
}

/* Every option goes through its text with the bits it had. */
static void test_run_options__round_trip(void **state)
{
    (void)state;
    const cf_logit_bias bias[] = {{7, -INFINITY}, {9, 0.1f}};
    const cf_token suppress[] = {3, 4};
    const cf_str stop[] = {cf_str_from("a\"b"), cf_str_from("\n")};
    const uint32_t forced[] = {2, 5, 6};
    const cf_run_options o = {
        .has_sampling = true,
        .sampling = {.temperature = 0.7f,
                     .top_k = 40,
                     .top_p = 0.9f,
                     .min_p = 1e-7f,
                     .repetition_penalty = 1.1f,
                     .presence_penalty = -0.3f,
                     .frequency_penalty = 0.2f,
                     .penalty_window = 64,
                     .no_repeat_ngram = 3,
                     .no_repeat_window = 4294967295u,
                     .bias = bias,
                     .n_bias = 2,
                     .suppress = suppress,
                     .n_suppress = 2},
        .max_tokens = 12,
        .stop = stop,
        .n_stop = 2,
        .thinking = CF_THINKING_OFF,
        .has_thinking_budget = true,
        .thinking_budget = -1,
        .n_ctx = 4096,
        .cache = CF_CACHE_Q8_0,
        .n_start = 2,
        .forced = forced,
        .n_forced = 3,
        .start_bytes = 7,
        .start_content = 5,
        .held = forced,
        .n_held = 2,
        .drafted = forced + 1,
        .n_drafted = 2,
    };
    cf_buf first = CF_BUF_INIT, second = CF_BUF_INIT;
    cf_arena arena;
    cf_run_options back;
    cf_error err;
    cf_arena_init(&arena, 0);
    cf_run_options_write(&first, &o);
    T_OK(cf_run_options_read(&back, cf_buf_str(&first), &arena, &err), err);
    cf_run_options_write(&second, &back);
    assert_string_equal(cf_buf_cstr(&first), cf_buf_cstr(&second));
    assert_memory_equal(&back.sampling.temperature, &o.sampling.temperature, sizeof(float));
    assert_memory_equal(&back.sampling.min_p, &o.sampling.min_p, sizeof(float));
    assert_true(isinf(back.sampling.bias[0].bias));
    assert_true(back.sampling.bias[1].bias == 0.1f);
    assert_int_equal(back.sampling.no_repeat_window, 4294967295u);
    assert_int_equal(back.n_forced, 3);
    assert_int_equal(back.n_held, 2);
    assert_int_equal(back.n_drafted, 2);
    assert_int_equal(back.drafted[0], 5);
    assert_int_equal(back.start_bytes, 7);
    assert_int_equal(back.start_content, 5);
    assert_int_equal(back.cache, CF_CACHE_Q8_0);
    assert_int_equal(back.thinking, CF_THINKING_OFF);
    cf_buf_deinit(&first);
    cf_buf_deinit(&second);
    cf_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replay__same),        cmocka_unit_test(test_replay__arithmetic),
        cmocka_unit_test(test_replay__forced),      cmocka_unit_test(test_replay__drafted),
        cmocka_unit_test(test_replay__constrained), cmocka_unit_test(test_replay__first_difference),
        cmocka_unit_test(test_replay__cannot),      cmocka_unit_test(test_run_options__round_trip),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
