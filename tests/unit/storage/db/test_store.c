/*
 * test_store.c - writing and reading conversations.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "storage/store.h"
#include "storage/trace.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

static cf_store *open_at(const char *path)
{
    cf_store *s;
    cf_error err;
    T_OK(cf_store_open(&s, path, &(cf_store_options){.flags = CF_STORE_CREATE}, &err), err);
    return s;
}

static cf_uuid put(cf_store *s, cf_uuid conv, cf_uuid parent, const char *json)
{
    cf_uuid id;
    cf_error err;
    cf_store_turn t = {
        .conversation = conv, .parent = parent, .message = cf_str_from(json), .status = CF_TURN_OK};
    T_OK(cf_store_put_turn(s, &t, &id, &err), err);
    return id;
}

static cf_uuid put_conv(cf_store *s, const char *title)
{
    cf_uuid id;
    cf_error err;
    cf_store_conv c = {.title = cf_str_from(title)};
    T_OK(cf_store_put_conv(s, &c, &id, &err), err);
    return id;
}

static void test_store__tree_comes_back(void **state)
{
    (void)state;
    cf_error err;
    cf_uuid nil = {{0}};
    const char *path = store_dir_file("a.db");
    cf_store *s = open_at(path);
    cf_uuid conv = put_conv(s, "weather");
    const char *user = "{\"role\":\"user\",\"content\":\"Hello\\n  you\"}";
    const char *reply = "{\"role\":\"assistant\",\"content\":null,\"x\":[1,2.5],\"tool_calls\":"
                        "[{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}";
    cf_uuid a = put(s, conv, nil, user);
    cf_uuid b = put(s, conv, a, reply);
    cf_uuid c = put(s, conv, a, reply);
    cf_store_close(s);

    s = open_at(path);
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_store_tree tree;
    T_OK(cf_store_get_tree(s, conv, 0, &arena, &tree, &err), err);
    assert_int_equal(tree.n, 3);
    assert_string_equal(tree.conv.title.p, "weather");
    assert_string_equal(tree.conv.preview.p, "Hello you");
    assert_int_equal(tree.conv.n_turns, 3);
    assert_int_equal(tree.conv.n_forks, 1);
    assert_true(cf_uuid_eq(tree.conv.head, c));
    assert_string_equal(tree.turns[0].message.p, user);
    assert_string_equal(tree.turns[1].message.p, reply);
    assert_true(cf_uuid_eq(tree.turns[1].parent, a));
    size_t at[3];
    assert_int_equal(cf_store_path_to(&tree, b, at), 2);
    assert_int_equal(at[0], 0);
    assert_int_equal(at[1], 1);
    cf_arena_deinit(&arena);
    cf_store_close(s);
}

static void test_store__duplicate_uuid_stays(void **state)
{
    (void)state;
    cf_error err;
    cf_store *s = open_at(store_dir_file("dup.db"));
    cf_uuid conv = put_conv(s, "");
    cf_uuid nil = {{0}};
    cf_uuid a = put(s, conv, nil, "{\"role\":\"user\",\"content\":\"one\"}");
    cf_store_turn t = {.id = a,
                       .conversation = conv,
                       .message = cf_str_from("{\"role\":\"user\",\"content\":\"two\"}"),
                       .status = CF_TURN_OK};
    T_FAILS(cf_store_put_turn(s, &t, NULL, &err), CF_EINVAL);
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_store_turn got;
    T_OK(cf_store_get_turn(s, a, &arena, &got, &err), err);
    assert_string_equal(got.message.p, "{\"role\":\"user\",\"content\":\"one\"}");
    cf_arena_deinit(&arena);
    cf_store_close(s);
}

static void test_store__stream_is_a_run(void **state)
{
    (void)state;
    cf_error err;
    cf_store *s = open_at(store_dir_file("stream.db"));
    cf_uuid conv = put_conv(s, "");
    cf_store_run in = cf_store_run_none();
    cf_token prompt[] = {1, 300, 70000};
    in.model = cf_str_from("https://me:secret@host/v1?key=abc");
    in.options = cf_str_from("{\"top_k\":40,\"api_key\":\"sk-1\"}");
    in.seed = UINT64_MAX;
    in.has_seed = true;
    in.prompt_ids = prompt;
    in.n_prompt_ids = 3;
    cf_store_turn t = {
        .conversation = conv, .message = cf_str_from("{\"role\":\"assistant\"}"), .run = &in};
    cf_stream *stream;
    T_OK(cf_store_begin(s, &t, &stream, &err), err);
    cf_uuid id = cf_stream_turn(stream);
    cf_token ids[] = {7, 130};
    cf_draw draw = {.id = 7, .n_top = 1, .n_step = 1};
    draw.top[0] = (cf_candidate){.id = 7, .logit = 1.5f, .p_raw = 0.25f};
    draw.step[0] = (cf_chain_step){"top-k", 40};
    cf_stream_piece p = {.raw = {"Hel", 3}, .ids = ids, .n_ids = 1, .us = 900, .draw = &draw};
    T_OK(cf_stream_append(stream, &p, &err), err);
    T_OK(cf_store_flush(s, 5000, &err), err);

    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_store_turn got;
    T_OK(cf_store_get_turn(s, id, &arena, &got, &err), err);
    assert_int_equal(got.status, CF_TURN_STREAMING);
    T_TEXT(got.run->raw.p, got.run->raw.n, "Hel");

    p = (cf_stream_piece){.raw = {"lo", 2}, .ids = ids + 1, .n_ids = 1};
    T_OK(cf_stream_append(stream, &p, &err), err);
    cf_store_run out = cf_store_run_none();
    out.stop_reason = cf_str_from("stop");
    out.n_kept = 2;
    T_OK(cf_store_finish(stream, &(cf_stream_end){.status = CF_TURN_OK, .run = &out}, &err), err);
    T_OK(cf_store_get_turn(s, id, &arena, &got, &err), err);
    assert_string_equal(got.message.p, "{\"role\":\"assistant\",\"content\":\"Hello\"}");
    assert_int_equal(got.status, CF_TURN_OK);
    assert_string_equal(got.run->model.p, "https://host/v1");
    assert_string_equal(got.run->options.p, "{\"top_k\":40}");
    assert_true(got.run->has_seed && got.run->seed == UINT64_MAX);
    assert_int_equal(got.run->n_prompt_ids, 3);
    assert_memory_equal(got.run->prompt_ids, prompt, sizeof prompt);
    assert_int_equal(got.run->n_reply_ids, 2);
    assert_memory_equal(got.run->reply_ids, ids, sizeof ids);
    assert_int_equal(got.run->n_chunks, 2);
    assert_int_equal(got.run->chunks[0], 3);
    assert_int_equal(got.run->token_us[0], 900);
    assert_int_equal(got.run->n_kept, 2);
    assert_string_equal(got.run->stop_reason.p, "stop");
    cf_trace_reader r;
    cf_token tok;
    bool has_draw;
    cf_draw back;
    cf_trace_open(&r, got.run->trace);
    assert_true(cf_trace_next(&r, &tok, &has_draw, &back));
    assert_true(has_draw && tok == 7 && back.n_top == 1);
    assert_memory_equal(&back.top[0].logit, &draw.top[0].logit, sizeof(float));
    assert_string_equal(back.step[0].name, "top-k");
    assert_false(cf_trace_next(&r, &tok, &has_draw, &back));
    cf_arena_deinit(&arena);
    cf_store_close(s);
}

static void test_store__files_are_private(void **state)
{
    (void)state;
    struct stat sb;
    const char *path = store_dir_file("sub/deep/private.db");
    cf_store *s = open_at(path);
    put_conv(s, "x");
    assert_int_equal(stat(path, &sb), 0);
    assert_int_equal(sb.st_mode & 0777, 0600);
    assert_int_equal(stat(store_dir_file("sub/deep"), &sb), 0);
    assert_int_equal(sb.st_mode & 0777, 0700);
    assert_int_equal(stat(store_dir_file("sub/deep/private.db-wal"), &sb), 0);
    assert_int_equal(sb.st_mode & 0777, 0600);
    cf_store_close(s);
}

static void write_file(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void test_store__foreign_file_is_untouched(void **state)
{
    (void)state;
    cf_error err;
    cf_store *s;
    static const char text[200] = "dear diary";
    const char *path = store_dir_file("diary.txt");
    write_file(path, text, sizeof text);
    T_FAILS(cf_store_open(&s, path, &(cf_store_options){.flags = CF_STORE_CREATE}, &err),
            CF_EFORMAT);
    char back[300];
    FILE *f = fopen(path, "rb");
    assert_int_equal(fread(back, 1, sizeof back, f), sizeof text);
    fclose(f);
    assert_memory_equal(back, text, sizeof text);
    T_FAILS(cf_store_open(&s, store_dir_file("none.db"), NULL, &err), CF_ENOTFOUND);
}

static void test_store__list_filters_and_pages(void **state)
{
    (void)state;
    cf_error err;
    cf_store *s = open_at(store_dir_file("list.db"));
    for (int i = 0; i < 10; i++) {
        char title[20];
        snprintf(title, sizeof title, "t%d", i);
        cf_store_conv c = {.title = cf_str_from(title),
                           .created_ms = 1000 + i,
                           .tags = &(cf_str){"odd", 3},
                           .n_tags = (size_t)(i % 2)};
        T_OK(cf_store_put_conv(s, &c, NULL, &err), err);
    }
    cf_arena arena;
    cf_arena_init(&arena, 0);
    const cf_store_conv *rows;
    size_t n;
    cf_store_query q = {.limit = 3, .offset = 1};
    T_OK(cf_store_list(s, &q, &arena, &rows, &n, &err), err);
    assert_int_equal(n, 3);
    assert_string_equal(rows[0].title.p, "t8");
    q = (cf_store_query){.tag = {"odd", 3}, .sort = CF_SORT_TITLE};
    T_OK(cf_store_list(s, &q, &arena, &rows, &n, &err), err);
    assert_int_equal(n, 5);
    assert_string_equal(rows[0].title.p, "t1");
    assert_int_equal(rows[0].n_tags, 1);
    const cf_store_facet *f;
    size_t n_facets, total;
    T_OK(cf_store_facets(s, CF_PLACE_LIVE, &arena, &f, &n_facets, &total, &err), err);
    assert_int_equal(total, 10);
    assert_int_equal(f[0].kind, CF_FACET_TAG);
    assert_int_equal(f[0].n, 5);
    char id[CF_UUID_TEXT + 1];
    cf_store_ref ref;
    cf_uuid_format(id, rows[0].id);
    T_OK(cf_store_find(s, cf_str_make(id + 24, 12), &ref, &err), err);
    assert_true(cf_uuid_eq(ref.conversation, rows[0].id));
    T_FAILS(cf_store_find(s, cf_str_make(id, 8), &ref, &err), CF_EINVAL);
    T_FAILS(cf_store_find(s, cf_str_from("%%%%"), &ref, &err), CF_EINVAL);
    T_FAILS(cf_store_find(s, cf_str_from("0000-zz"), &ref, &err), CF_EINVAL);
    cf_arena_deinit(&arena);
    cf_store_close(s);
}

static void test_template__is_deleted_unless_it_is_needed(void **state)
{
    (void)state;
    cf_error err;
    char hash[2][65];
    cf_arena arena;
    const cf_store_template *v;
    size_t n;
    cf_store *s = open_at(store_dir_file("templates.db"));
    cf_uuid conv = put_conv(s, "one");
    for (int i = 0; i < 2; i++) {
        T_OK(cf_store_put_template(s, cf_str_from("mine.jinja"),
                                   cf_str_from(i == 0 ? "old" : "new"), cf_str_from(""), hash[i],
                                   &err),
             err);
    }
    cf_store_run run = cf_store_run_none();
    run.template_hash = cf_str_from(hash[1]);
    cf_uuid id;
    cf_store_turn t = {.conversation = conv,
                       .message = cf_str_from("{\"role\":\"assistant\"}"),
                       .status = CF_TURN_OK,
                       .run = &run};
    T_OK(cf_store_put_turn(s, &t, &id, &err), err);
    T_OK(cf_store_delete_template(s, cf_str_from(hash[0]), &err), err);
    assert_int_equal(cf_store_delete_template(s, cf_str_from(hash[0]), &err), CF_ENOTFOUND);
    assert_int_equal(cf_store_delete_template(s, cf_str_from(hash[1]), &err), CF_EINVAL);
    cf_arena_init(&arena, 0);
    T_OK(cf_store_templates(s, &arena, &v, &n, &err), err);
    assert_int_equal(n, 1);
    assert_true(cf_str_is(v[0].source, "new"));
    cf_arena_deinit(&arena);

    cf_buf what = CF_BUF_INIT;
    cf_store_template back;
    T_OK(cf_store_undo(s, &what, &err), err);
    assert_string_equal(cf_buf_cstr(&what), "deleted: a text of 'mine.jinja'");
    T_OK(cf_store_get_template(s, cf_str_from(hash[0]), &arena, &back, &err), err);
    assert_true(cf_str_is(back.source, "old"));
    assert_true(cf_str_is(back.name, "mine.jinja"));
    assert_true(back.created_ms > 0);
    assert_int_equal(cf_store_undo(s, &what, &err), CF_ENOTFOUND);
    cf_arena_deinit(&arena);
    cf_buf_deinit(&what);
    cf_store_close(s);
}

/* A reply of a model, of `n_reply` tokens, a half of whose bytes is thinking. */
static void put_thought(cf_store *s, cf_uuid conv, const char *model, cf_str stop, int64_t n_reply,
                        bool thinks)
{
    cf_error err;
    cf_store_run run = cf_store_run_none();
    cf_uuid id;
    run.model_hash = cf_str_from(model);
    run.stop_reason = stop;
    run.n_reply = n_reply;
    run.raw = cf_str_from("0123456789");
    const cf_store_turn t = {
        .conversation = conv,
        .message = cf_str_from(thinks ? "{\"role\":\"assistant\",\"reasoning_content\":\"01234\","
                                        "\"content\":\"56789\"}"
                                      : "{\"role\":\"assistant\",\"content\":\"0123456789\"}"),
        .status = CF_TURN_OK,
        .run = &run};
    T_OK(cf_store_put_turn(s, &t, &id, &err), err);
}

/* Replies that ended by themselves say how long a model thinks. */
static void test_store__thinking_of_a_model(void **state)
{
    (void)state;
    cf_error err;
    cf_store_thinking v;
    const cf_str end = cf_str_from("end"), length = cf_str_from("length");
    cf_store *s = open_at(store_dir_file("thinking.db"));
    cf_uuid conv = put_conv(s, "one");
    T_OK(cf_store_get_thinking(s, cf_str_from("a"), &v, &err), err);
    assert_int_equal(v.n, 0);
    assert_int_equal(v.most, 0);
    put_thought(s, conv, "a", end, 100, true);
    put_thought(s, conv, "a", end, 300, true);
    put_thought(s, conv, "a", end, 9000, false);
    put_thought(s, conv, "a", length, 8000, true);
    put_thought(s, conv, "b", end, 7000, true);
    T_OK(cf_store_get_thinking(s, cf_str_from("a"), &v, &err), err);
    assert_int_equal(v.n, 2);
    assert_int_equal(v.most, 150);
    cf_store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store__thinking_of_a_model),
        cmocka_unit_test(test_store__tree_comes_back),
        cmocka_unit_test(test_store__duplicate_uuid_stays),
        cmocka_unit_test(test_store__stream_is_a_run),
        cmocka_unit_test(test_store__files_are_private),
        cmocka_unit_test(test_store__foreign_file_is_untouched),
        cmocka_unit_test(test_store__list_filters_and_pages),
        cmocka_unit_test(test_template__is_deleted_unless_it_is_needed),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
