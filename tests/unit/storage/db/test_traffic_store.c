/*
 * test_traffic_store.c - exchanges come back as they were put, find each other
 * by hash, and leave with their conversation.
 */
#include "storage/traffic.h"
#include "storage/trail.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

static cf_store *open_at(const char *name)
{
    cf_store *s;
    cf_error err;
    const cf_store_options o = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&s, store_dir_file(name), &o, &err), err);
    return s;
}

static cf_uuid put(cf_store *s, cf_uuid conv, const char *hash)
{
    cf_error err;
    cf_exchange x = cf_exchange_none();
    const cf_store_turn turn = {.id = cf_uuid_new(),
                                .message = cf_str_from("{\"role\":\"user\",\"content\":\"hi\"}"),
                                .fork_token = -1,
                                .status = CF_TURN_OK,
                                .finished_ms = -1};
    const cf_store_tree tree = {.conv = {.id = conv, .head = turn.id}, .turns = &turn, .n = 1};
    const cf_exchange_key key = {cf_str_from(hash), turn.id};
    const uint64_t chunks[] = {3, 10, 2, 20};
    x.id = cf_uuid_new();
    x.conversation = conv;
    x.turn = turn.id;
    x.method = cf_str_from("POST");
    x.path = cf_str_from("/v1/chat/completions");
    x.request = cf_str_make("\0body\xff", 6);
    x.request_hash = cf_str_from(hash);
    x.chunks = chunks;
    x.n_chunks = 4;
    T_OK(cf_store_put_exchange(s, &x, &tree, &key, 1, &err), err);
    x.status = 200;
    x.end = cf_str_from("stop");
    x.request = cf_str_make(NULL, 0);
    x.response = cf_str_from("hello");
    x.n_chunks = 0;
    x.n_written = 7;
    x.n_thinking = 0;
    T_OK(cf_store_put_exchange(s, &x, NULL, NULL, 0, &err), err);
    return x.id;
}

static void test_traffic_store__same_bytes(void **state)
{
    (void)state;
    cf_store *s = open_at("bytes.db");
    cf_error err;
    cf_arena a;
    cf_exchange x;
    cf_uuid found;
    cf_arena_init(&a, 0);
    cf_uuid conv = cf_uuid_new();
    cf_uuid id = put(s, conv, "h1");
    T_OK(cf_store_get_exchange(s, id, &a, &x, &err), err);
    assert_int_equal(x.request.n, 6);
    assert_memory_equal(x.request.p, "\0body\xff", 6);
    T_TEXT(x.response.p, x.response.n, "hello");
    assert_int_equal(x.n_chunks, 4);
    assert_int_equal(x.chunks[3], 20);
    assert_int_equal(x.status, 200);
    assert_int_equal(x.n_prompt, -1);
    assert_int_equal(x.n_written, 7);
    assert_int_equal(x.n_thinking, 0);
    assert_true(cf_uuid_eq(x.conversation, conv));
    char text[CF_UUID_TEXT + 1];
    cf_uuid_format(text, id);
    T_OK(cf_store_find_exchange(s, cf_str_from(text), &found, &err), err);
    assert_true(cf_uuid_eq(found, id));
    T_FAILS(cf_store_find_exchange(s, cf_str_from("ffff"), &found, &err), CF_ENOTFOUND);
    size_t n;
    T_OK(cf_store_check(s, NULL, NULL, &n, &err), err);
    assert_int_equal(n, 0);
    cf_arena_deinit(&a);
    cf_store_close(s);
}

/* What nobody counted is -1 in a new exchange, and when it comes back. */
static void test_traffic_store__unknown_stays_unknown(void **state)
{
    (void)state;
    cf_store *s = open_at("unknown.db");
    cf_error err;
    cf_arena a;
    cf_exchange got, x = cf_exchange_none();
    x.id = cf_uuid_new();
    x.method = cf_str_from("GET");
    x.path = cf_str_from("/v1/models");
    cf_arena_init(&a, 0);
    T_OK(cf_store_put_exchange(s, &x, NULL, NULL, 0, &err), err);
    T_OK(cf_store_get_exchange(s, x.id, &a, &got, &err), err);
    const cf_exchange *const both[] = {&x, &got};
    for (size_t k = 0; k < 2; k++) {
        const cf_exchange *e = both[k];
        const int64_t counts[] = {e->first_us,   e->total_us,  e->status,
                                  e->n_messages, e->n_prompt,  e->n_cached,
                                  e->n_reply,    e->n_written, e->n_thinking};
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            assert_int_equal(counts[i], -1);
        }
    }
    cf_arena_deinit(&a);
    cf_store_close(s);
}

static size_t count(cf_store *s, const cf_exchange_query *q, cf_arena *a)
{
    const cf_exchange *rows;
    size_t n;
    cf_error err;
    T_OK(cf_store_exchanges(s, q, a, &rows, &n, &err), err);
    return n;
}

static void test_traffic_store__filters(void **state)
{
    (void)state;
    cf_store *s = open_at("filters.db");
    cf_error err;
    cf_arena a;
    const cf_exchange *rows;
    size_t n;
    cf_arena_init(&a, 0);
    cf_uuid c1 = cf_uuid_new(), c2 = cf_uuid_new();
    cf_uuid x1 = put(s, c1, "h1");
    put(s, c1, "h2");
    cf_uuid x3 = put(s, c2, "h1");
    T_OK(cf_store_exchanges(s, &(cf_exchange_query){0}, &a, &rows, &n, &err), err);
    assert_int_equal(n, 3);
    assert_true(cf_uuid_eq(rows[0].id, x1));
    assert_int_equal(count(s, &(cf_exchange_query){.conversation = c1}, &a), 2);
    assert_int_equal(count(s, &(cf_exchange_query){.request_hash = cf_str_from("h1")}, &a), 2);
    assert_int_equal(
        count(s, &(cf_exchange_query){.request_hash = cf_str_from("h1"), .before = x3}, &a), 1);
    assert_int_equal(count(s, &(cf_exchange_query){.limit = 2}, &a), 2);
    /* The newest of the hashes; its conversation goes, and so does it. */
    const cf_str hashes[] = {cf_str_from("h2"), cf_str_from("h1"), cf_str_from("none")};
    size_t at;
    cf_store_ref where;
    T_OK(cf_store_find_key(s, hashes, 3, &at, &where, &err), err);
    assert_int_equal(at, 1);
    assert_true(cf_uuid_eq(where.conversation, c2));
    T_OK(cf_store_purge(s, c2, &err), err);
    T_OK(cf_store_find_key(s, hashes, 3, &at, &where, &err), err);
    assert_int_equal(at, 0);
    assert_int_equal(count(s, &(cf_exchange_query){0}, &a), 2);
    T_OK(cf_store_find_key(s, hashes + 2, 1, &at, &where, &err), err);
    assert_int_equal(at, 1);
    cf_arena_deinit(&a);
    cf_store_close(s);
}

/* The session of a history notes a reply with neither text nor call, and no other. */
static void test_traffic_store__empty_replies(void **state)
{
    (void)state;
    static const char *const replies[] = {
        "\"content\":\"\"", "\"content\":\"x\"",
        "\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]"};
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        char name[20], json[200];
        cf_error err;
        cf_trails trails;
        snprintf(name, sizeof name, "empty%zu.db", i);
        snprintf(json, sizeof json, "{\"role\":\"assistant\",%s}", replies[i]);
        cf_store *s = open_at(name);
        const cf_uuid conv = cf_uuid_new(), asked = cf_uuid_new(), said = cf_uuid_new();
        const cf_store_turn turns[] = {
            {.id = asked,
             .message = cf_str_from("{\"role\":\"user\",\"content\":\"hi\"}"),
             .status = CF_TURN_OK},
            {.id = said, .parent = asked, .message = cf_str_from(json), .status = CF_TURN_OK}};
        const cf_store_tree tree = {.conv = {.id = conv, .head = said}, .turns = turns, .n = 2};
        cf_exchange x = cf_exchange_none();
        x.id = cf_uuid_new();
        x.conversation = conv;
        x.turn = said;
        x.method = cf_str_from("POST");
        x.path = cf_str_from("/v1/chat/completions");
        x.status = 200;
        T_OK(cf_store_put_exchange(s, &x, &tree, NULL, 0, &err), err);
        cf_store_close(s);
        T_OK(cf_trails_read(&trails, store_dir_file(name), NULL, &err), err);
        const cf_trail_event *last = &trails.v[0]->events[trails.v[0]->n_events - 1];
        assert_int_equal(trails.v[0]->n_steps, 1);
        for (size_t k = 0; k < trails.v[0]->n_events; k++) {
            last = trails.v[0]->events[k].kind == CF_TRAIL_STEP ? &trails.v[0]->events[k] : last;
        }
        assert_int_equal(last->kind, CF_TRAIL_STEP);
        assert_int_equal(last->as.step->n_notes, i == 0);
        cf_trails_deinit(&trails);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traffic_store__same_bytes),
        cmocka_unit_test(test_traffic_store__unknown_stays_unknown),
        cmocka_unit_test(test_traffic_store__filters),
        cmocka_unit_test(test_traffic_store__empty_replies),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
