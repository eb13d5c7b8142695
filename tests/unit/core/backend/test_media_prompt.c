/*
 * test_media_prompt.c - conversations with pictures on the built-in engine:
 * what is encoded, what the cache keeps, what is refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/api/conversation.h"
#include "tests/support/t.h"
#include "tests/support/tiny_vision.h"

static const char red[] = "data:image/png;base64,"
                          "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGM4IccFAAKiAP"
                          "HCKn5eAAAAAElFTkSuQmCC";
static const char blue[] = "data:image/png;base64,"
                           "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGMQkbsEAAFOAQ"
                           "Xc52DWAAAAAElFTkSuQmCC";

typedef struct lab {
    void *bytes;
    cf_engine *engine;
    cf_media *media;
    cf_media_cache *cache;
    cf_backend *backend;
    bool writes_no_marker;
    unsigned n_encode;
    bool stops; /* at the first step of encoding */
    cf_cancel cancel;
} lab;

/* Messages by their parts: a marker of the template, or the user's text. */
static cf_status render(const void *ud, const json_t *context, cf_arena *arena, cf_prompt *out,
                        cf_error *err)
{
    enum { MAX = 64 };
    const lab *b = ud;
    const json_t *list = json_object_get(context, "messages");
    cf_buf text = CF_BUF_INIT;
    cf_prompt_span *span = cf_arena_calloc(arena, MAX, sizeof *span);
    size_t n = 0;
    (void)err;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *content = json_object_get(json_array_get(list, i), "content");
        size_t n_part = json_is_string(content) ? 1 : json_array_size(content);
        for (size_t k = 0; k < n_part; k++) {
            const json_t *part = json_array_get(content, k);
            bool is_image = cf_str_is(cf_json_get_str(part, "type"), "image");
            cf_str s = json_is_string(content) ? cf_str_from(json_string_value(content))
                       : is_image ? cf_str_from(b->writes_no_marker ? "-" : "<start_of_image>")
                                  : cf_json_get_str(part, "text");
            assert_true(n < MAX);
            span[n++] = (cf_prompt_span){.off = (uint32_t)text.n,
                                         .len = (uint32_t)s.n,
                                         .source = is_image ? CF_SPAN_TEMPLATE : CF_SPAN_MESSAGE,
                                         .index = (uint32_t)i,
                                         .path = cf_str_from(".content")};
            cf_buf_add(&text, s.p, s.n);
        }
    }
    char *p = cf_arena_strndup(arena, text.p, text.n);
    *out = (cf_prompt){.text = cf_str_make(p, text.n), .spans = span, .n_spans = n};
    cf_buf_deinit(&text);
    return CF_OK;
}

static void set_up(lab *b)
{
    cf_error err;
    size_t n;
    memset(b, 0, sizeof *b);
    cf_tiny_options tiny = {.arch = "gemma3", .seed = 5};
    cf_engine_options eo = {.n_threads = 1};
    b->bytes = cf_tiny_gguf(&tiny, &n);
    T_OK(cf_engine_open_memory(&b->engine, b->bytes, n, &eo, &err), err);
    cf_tiny_buf file = cf_tiny_vision("gemma3", CF_TINY_VISION_TENSORS, 2, 64);
    char path[] = "/tmp/confab-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, file.p, file.n), file.n);
    close(fd);
    T_OK(cf_media_open(&b->media, b->engine, path, &err), err);
    unlink(path);
    cf_tiny_free(file.p);
    T_OK(cf_media_cache_new(&b->cache, b->media, 1 << 20, &err), err);
    cf_core_options o = {.renderer = {render, b, NULL}, .media = b->cache};
    T_OK(cf_backend_core_new(&b->backend, b->engine, &o, &err), err);
}

static void tear_down(lab *b)
{
    cf_backend_free(b->backend);
    cf_media_cache_free(b->cache);
    cf_media_close(b->media);
    cf_engine_close(b->engine);
    cf_tiny_free(b->bytes);
}

static void on_event(const cf_chat_event *ev, void *ud)
{
    lab *b = ud;
    b->n_encode += ev->kind == CF_CHAT_ENCODE ? 1 : 0;
    if (b->stops && ev->kind == CF_CHAT_ENCODE) {
        atomic_store(&b->cancel, true);
    }
}

/* Asks "see", a picture, `text`, and what more there is. */
static cf_status ask(lab *b, const char *url, const char *text, const char *more,
                     cf_chat_response *out, cf_error *err)
{
    cf_chat_options o = {.max_tokens = 4};
    json_t *list = json_pack("[{s:s, s:[{s:s, s:s}, {s:s, s:{s:s}}, {s:s, s:s}]}]", "role", "user",
                             "content", "type", "text", "text", "see", "type", "image_url",
                             "image_url", "url", url, "type", "text", "text", text);
    if (more != NULL) {
        json_array_append_new(list, json_pack("{s:s, s:s}", "role", "user", "content", more));
    }
    assert_non_null(list);
    const cf_chat_request request = {.messages = list, .options = &o, .cancel = &b->cancel};
    b->n_encode = 0;
    atomic_store(&b->cancel, false);
    cf_chat_response_init(out);
    cf_status st = cf_backend_generate_stream(b->backend, &request, on_event, b, out, err);
    json_decref(list);
    return st;
}

static size_t media_at(const cf_chat_response *r)
{
    assert_int_equal(json_array_size(r->media), 1);
    const json_t *row = json_array_get(r->media, 0);
    assert_int_equal(json_integer_value(json_object_get(row, "rows")), CF_TINY_VISION_ROWS);
    size_t at = (size_t)json_integer_value(json_object_get(row, "at"));
    for (size_t i = 0; i < CF_TINY_VISION_ROWS; i++) {
        assert_true(cf_token_is_row(r->prompt_ids[at + i]));
    }
    assert_false(cf_token_is_row(r->prompt_ids[at - 1]));
    assert_false(cf_token_is_row(r->prompt_ids[at + CF_TINY_VISION_ROWS]));
    return at;
}

/* The next turn encodes nothing and keeps the rows; another picture is seen
 * where its rows begin, and the answer is that of a fresh engine. */
static void test_media__turns(void **state)
{
    cf_error err;
    cf_chat_response first, next, other, fresh;
    lab b, c;
    (void)state;
    set_up(&b);
    T_OK(ask(&b, red, "it", NULL, &first, &err), err);
    size_t at = media_at(&first);
    assert_int_equal(b.n_encode, 1);
    T_OK(ask(&b, red, "it", "and then", &next, &err), err);
    assert_int_equal(media_at(&next), at);
    assert_int_equal(b.n_encode, 0);
    assert_true(next.sync.n_kept >= at + CF_TINY_VISION_ROWS);
    T_OK(ask(&b, blue, "it", "and then", &other, &err), err);
    assert_int_equal(b.n_encode, 1);
    assert_int_equal(other.sync.n_common, at);
    assert_int_equal(other.divergence.token, at);
    set_up(&c);
    T_OK(ask(&c, blue, "it", "and then", &fresh, &err), err);
    assert_int_equal(fresh.n_reply_ids, other.n_reply_ids);
    assert_memory_equal(fresh.reply_ids, other.reply_ids,
                        fresh.n_reply_ids * sizeof *fresh.reply_ids);
    cf_chat_response_deinit(&first);
    cf_chat_response_deinit(&next);
    cf_chat_response_deinit(&other);
    cf_chat_response_deinit(&fresh);
    tear_down(&b);
    tear_down(&c);
}

/* Stopped at the first step that encoding reports, nothing more is encoded and
 * no token comes; asked again it is as if it had not been stopped. */
static void test_media__stopped(void **state)
{
    cf_error err;
    cf_chat_response cut, whole, fresh;
    lab b, c;
    (void)state;
    set_up(&b);
    b.stops = true;
    cf_status st = ask(&b, red, "it", NULL, &cut, &err);
    assert_int_equal(st, CF_ECANCELLED);
    assert_int_equal(b.n_encode, 1);
    assert_int_equal(cut.n_reply_ids, 0);
    b.stops = false;
    T_OK(ask(&b, red, "it", NULL, &whole, &err), err);
    set_up(&c);
    T_OK(ask(&c, red, "it", NULL, &fresh, &err), err);
    assert_int_equal(whole.n_reply_ids, fresh.n_reply_ids);
    assert_memory_equal(whole.reply_ids, fresh.reply_ids,
                        fresh.n_reply_ids * sizeof *fresh.reply_ids);
    cf_chat_response_deinit(&cut);
    cf_chat_response_deinit(&whole);
    cf_chat_response_deinit(&fresh);
    tear_down(&b);
    tear_down(&c);
}

/* Only the template's own text is a marker; addresses are not fetched. */
static void test_media__refused(void **state)
{
    cf_error err;
    cf_chat_response r;
    lab b;
    (void)state;
    set_up(&b);
    T_FAILS(ask(&b, "https://example.org/a.png", "it", NULL, &r, &err), CF_EUNSUPPORTED);
    cf_chat_response_deinit(&r);
    T_FAILS(ask(&b, "data:image/png;base64,iVBORw0KGgo=", "it", NULL, &r, &err), CF_EFORMAT);
    cf_chat_response_deinit(&r);
    b.writes_no_marker = true;
    T_FAILS(ask(&b, red, "<start_of_image>", NULL, &r, &err), CF_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "<start_of_image>"));
    cf_chat_response_deinit(&r);
    b.writes_no_marker = false;
    T_OK(ask(&b, red, "<start_of_image>", NULL, &r, &err), err);
    media_at(&r);
    cf_chat_response_deinit(&r);
    tear_down(&b);
}

static cf_status ask_after_result(lab *b, const char *url, cf_chat_response *out, cf_error *err)
{
    cf_chat_options o = {.max_tokens = 2};
    json_t *list = json_pack("[{s:s, s:s}, {s:s, s:[{s:s, s:s}, {s:s, s:{s:s}}]}]", "role", "user",
                             "content", "look", "role", "tool", "content", "type", "text", "text",
                             "[image]", "type", "image_url", "image_url", "url", url);
    assert_non_null(list);
    const cf_chat_request request = {.messages = list, .options = &o};
    cf_chat_response_init(out);
    cf_status st = cf_backend_generate_stream(b->backend, &request, on_event, b, out, err);
    json_decref(list);
    return st;
}

/* The picture of a tool's result is encoded; where the template has no place
 * for it, or it is damaged, the result is its text. */
static void test_media__of_a_result(void **state)
{
    cf_error err;
    cf_chat_response r;
    lab b;
    (void)state;
    set_up(&b);
    T_OK(ask_after_result(&b, red, &r, &err), err);
    media_at(&r);
    cf_chat_response_deinit(&r);
    T_OK(ask_after_result(&b, "data:image/png;base64,iVBORw0KGgo=", &r, &err), err);
    assert_null(r.media);
    cf_chat_response_deinit(&r);
    b.writes_no_marker = true;
    T_OK(ask_after_result(&b, blue, &r, &err), err);
    assert_null(r.media);
    T_TEXT(r.prompt.p, r.prompt.n, "look[image]");
    cf_chat_response_deinit(&r);
    tear_down(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_media__turns),
        cmocka_unit_test(test_media__stopped),
        cmocka_unit_test(test_media__refused),
        cmocka_unit_test(test_media__of_a_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
