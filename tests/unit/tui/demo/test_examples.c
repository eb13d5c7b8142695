/*
 * test_examples.c - examples are made once, in a new history only, and are
 * conversations like any other.
 */
#include "core/api/bundled.h"
#include "core/api/engine.h"
#include "storage/store.h"
#include "templates/chat_template.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/demo/demo.h"
#include "tui/demo/demo_notes.h"
#include "tui/demo/examples.h"
#include "tui/lab/lab.h"
#include "tui/lab/talk/lab_conversation.h"

static cf_store *open_store(const char *path, uint32_t flags)
{
    cf_store *store;
    cf_error err;
    const cf_store_options o = {.flags = flags};
    T_OK(cf_store_open(&store, path, &o, &err), err);
    return store;
}

static cf_uuid make(cf_store *store)
{
    cf_uuid welcome;
    cf_error err;
    T_OK(cf_examples_make(store, NULL, &welcome, &err), err);
    return welcome;
}

static size_t count(cf_store *store)
{
    cf_store_size size;
    cf_error err;
    T_OK(cf_store_get_size(store, &size, &err), err);
    return (size_t)size.n_convs;
}

static void purge_all(cf_store *store)
{
    cf_arena arena;
    const cf_store_conv *rows;
    size_t n;
    cf_error err;
    const cf_store_query q = {.tag = cf_str_from(CF_EXAMPLE_TAG)};
    cf_arena_init(&arena, 0);
    T_OK(cf_store_list(store, &q, &arena, &rows, &n, &err), err);
    assert_int_equal(n, count(store));
    for (size_t i = 0; i < n; i++) {
        T_OK(cf_store_purge(store, rows[i].id, &err), err);
    }
    cf_arena_deinit(&arena);
}

static void test_examples__made_once(void **state)
{
    (void)state;
    const char *path = store_dir_file("new.db");
    cf_store *store = open_store(path, CF_STORE_CREATE);
    cf_arena arena;
    cf_store_tree tree;
    cf_error err;
    size_t n_bad;
    cf_uuid welcome = make(store);
    assert_false(cf_uuid_is_nil(welcome));
    assert_int_equal(count(store), 4);
    cf_arena_init(&arena, 0);
    T_OK(cf_store_get_tree(store, welcome, 0, &arena, &tree, &err), err);
    T_TEXT(tree.conv.title.p, tree.conv.title.n, "Welcome to confab");
    assert_true(cf_uuid_eq(tree.conv.head, tree.turns[tree.n - 1].id));
    cf_arena_deinit(&arena);
    T_OK(cf_store_check(store, NULL, NULL, &n_bad, &err), err);
    assert_int_equal(n_bad, 0);
    assert_true(cf_uuid_is_nil(make(store)));
    assert_int_equal(count(store), 4);
    cf_store_close(store);

    store = open_store(path, CF_STORE_CREATE);
    purge_all(store);
    assert_int_equal(count(store), 0);
    assert_true(cf_uuid_is_nil(make(store))); /* gone is gone */
    assert_int_equal(count(store), 0);
    cf_store_close(store);
}

static void test_examples__never_beside_user_data(void **state)
{
    (void)state;
    const char *path = store_dir_file("used.db");
    cf_store *store = open_store(path, CF_STORE_CREATE);
    cf_error err;
    cf_uuid conv;
    const cf_store_conv c = {.title = cf_str_from("mine")};
    T_OK(cf_store_put_conv(store, &c, &conv, &err), err);
    assert_true(cf_uuid_is_nil(make(store)));
    assert_int_equal(count(store), 1);
    T_OK(cf_store_purge(store, conv, &err), err);
    assert_true(cf_uuid_is_nil(make(store))); /* the history was in use */
    assert_int_equal(count(store), 0);
    cf_store_close(store);
    store = open_store(path, CF_STORE_READ_ONLY);
    assert_true(cf_uuid_is_nil(make(store)));
    cf_store_close(store);
}

static void test_examples__two_programs(void **state)
{
    (void)state;
    const char *path = store_dir_file("two.db");
    cf_store *a = open_store(path, CF_STORE_CREATE);
    cf_store *b = open_store(path, CF_STORE_CREATE);
    assert_false(cf_uuid_is_nil(make(a)));
    assert_true(cf_uuid_is_nil(make(b)));
    assert_int_equal(count(b), 4);
    cf_store_close(a);
    cf_store_close(b);
}

/* The broken template and its fix are kept, and their replies name them. */
static void test_examples__templates(void **state)
{
    (void)state;
    cf_store *store = open_store(store_dir_file("tpl.db"), CF_STORE_CREATE);
    cf_arena arena;
    const cf_store_template *v;
    const cf_store_conv *rows;
    cf_store_tree tree;
    cf_error err;
    size_t n;
    make(store);
    cf_arena_init(&arena, 0);
    T_OK(cf_store_templates(store, &arena, &v, &n, &err), err);
    assert_int_equal(n, 2);
    const cf_store_query q = {.text = cf_str_from("broken")};
    T_OK(cf_store_list(store, &q, &arena, &rows, &n, &err), err);
    assert_int_equal(n, 1);
    T_OK(cf_store_get_tree(store, rows[0].id, CF_TREE_RUNS, &arena, &tree, &err), err);
    size_t n_named = 0;
    for (size_t i = 0; i < tree.n; i++) {
        n_named += tree.turns[i].run != NULL && tree.turns[i].run->template_hash.n == 64;
    }
    assert_int_equal(n_named, 4);
    cf_arena_deinit(&arena);
    cf_store_close(store);
}

/* What the examples repeat is what the demonstration has: its tools, which their replies
 * were offered, and its notes. */
static void test_examples__tools_and_notes(void **state)
{
    (void)state;
    cf_store *store = open_store(store_dir_file("tools.db"), CF_STORE_CREATE);
    cf_arena arena;
    const cf_store_conv *rows;
    cf_store_tree tree;
    cf_error err;
    size_t n, n_runs = 0;
    json_t *tools = cf_demo_declarations();
    assert_non_null(tools);
    make(store);
    cf_arena_init(&arena, 0);
    const cf_store_query q = {.tag = cf_str_from(CF_EXAMPLE_TAG)};
    T_OK(cf_store_list(store, &q, &arena, &rows, &n, &err), err);
    for (size_t i = 0; i < n; i++) {
        T_OK(cf_store_get_tree(store, rows[i].id, CF_TREE_RUNS, &arena, &tree, &err), err);
        for (size_t k = 0; k < tree.n; k++) {
            const cf_store_turn *turn = &tree.turns[k];
            for (size_t j = 0; turn->run != NULL && j < turn->run->n_tools; j++, n_runs++) {
                cf_str text = turn->run->tools[j];
                json_t *v;
                T_OK(cf_json_read(&v, text.p, text.n, &err), err);
                assert_true(json_equal(v, json_array_get(tools, j)));
                json_decref(v);
            }
            if (strcmp(tree.conv.title.p, "Notes") == 0) {
                assert_non_null(strstr(turn->message.p, cf_demo_prepared_notes[k]));
            }
        }
    }
    assert_int_equal(n_runs, 6 * json_array_size(tools));
    json_decref(tools);
    cf_arena_deinit(&arena);
    cf_store_close(store);
}

/* The model in the program writes a reply whose tokens can be looked at. */
static void test_examples__reply_of_the_bundled_model(void **state)
{
    (void)state;
    const void *bytes;
    size_t n;
    if (!cf_bundled_model(&bytes, &n)) {
        T_SKIP("no bundled model in this tree");
    }
    cf_store *store = open_store(store_dir_file("live.db"), CF_STORE_CREATE);
    cf_engine *engine;
    cf_backend *backend;
    cf_lab *lab;
    cf_template *tpl = NULL;
    cf_error err;
    T_OK(cf_engine_open_memory(&engine, bytes, n, NULL, &err), err);
    cf_str source = cf_engine_chat_template(engine, NULL);
    cf_core_options o = {0};
    if (source.n != 0) {
        T_OK(cf_template_compile(&tpl, source, NULL, NULL, NULL, &err), err);
        o.renderer = cf_renderer_template(tpl);
    }
    T_OK(cf_backend_core_new(&backend, engine, &o, &err), err);
    const cf_lab_engine e = {.backend = backend,
                             .engine = engine,
                             .tokenizer = cf_engine_tokenizer(engine),
                             .template_name = "model",
                             .template_source = source,
                             .has_sampling = true,
                             .max_tokens = 200};
    T_OK(cf_lab_new(&lab, &e, store, &err), err);
    T_OK(cf_examples_reply(lab, store, &err), err);
    size_t n_path;
    const cf_turn *const *path = cf_lab_path(lab, &n_path);
    assert_int_equal(n_path, 2);
    const cf_reply *reply = cf_lab_reply(lab, path[1]->id);
    assert_non_null(reply);
    assert_true(reply->n_token > 0);
    assert_non_null(reply->token[0].draw);
    assert_int_equal(count(store), 1);
    cf_lab_free(lab);
    cf_backend_free(backend);
    cf_template_free(tpl);
    cf_engine_close(engine);
    cf_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples__made_once),
        cmocka_unit_test(test_examples__never_beside_user_data),
        cmocka_unit_test(test_examples__two_programs),
        cmocka_unit_test(test_examples__templates),
        cmocka_unit_test(test_examples__tools_and_notes),
        cmocka_unit_test(test_examples__reply_of_the_bundled_model),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
