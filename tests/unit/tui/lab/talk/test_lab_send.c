/*
 * test_lab_send.c - replies in the workbench with a small random model: given
 * beginnings, forks after them, messages that have no reply yet.
 */
#include "core/base/os.h"
#include "tests/support/fault.h"
#include "tests/support/t.h"
#include "tests/support/tiny_desk.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"

typedef cf_tiny_desk desk;

static void set_up(desk *d)
{
    cf_tiny_desk_open(d, &(cf_tiny_desk_options){.engine = {.n_threads = 1, .kernel_set = "ref"},
                                                 .core = {.renderer = cf_renderer_plain()},
                                                 .sampling = {.temperature = 1, .seed = 11},
                                                 .max_tokens = 12});
}

static const cf_turn *last(desk *d)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(d->lab, &n);
    assert_true(n > 0);
    return path[n - 1];
}

/* Every token at its place in the raw reply, from its first byte on. */
static void expect_whole(desk *d, const cf_reply *r)
{
    const cf_tokenizer *tok = cf_engine_tokenizer(d->engine);
    cf_buf text = CF_BUF_INIT;
    for (size_t i = 0; i < r->n_token; i++) {
        if (text.n >= r->raw.n) {
            break; /* an end token is not text */
        }
        assert_int_equal(r->token[i].raw_off, text.n);
        cf_tokenizer_piece(&text, tok, r->token[i].id, true);
    }
    assert_true(text.n >= r->raw.n);
    assert_memory_equal(text.p, r->raw.p, r->raw.n);
    cf_buf_deinit(&text);
}

static void test_lab_send__a_fork_of_a_continued_reply_keeps_its_start(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    set_up(&d);
    T_OK(cf_lab_send(d.lab, cf_str_from("Hello"), (cf_uuid){{0}}, &err), err);
    cf_tiny_desk_settle(&d);
    T_OK(cf_lab_continue(d.lab, last(&d)->id, cf_str_from("Once upon a time"), &err), err);
    cf_tiny_desk_settle(&d);
    const cf_reply *r = cf_lab_reply(d.lab, last(&d)->id);
    assert_non_null(r);
    assert_true(r->raw.n > 16);
    assert_memory_equal(r->raw.p, "Once upon a time", 16);
    expect_whole(&d, r);
    assert_true(r->token[0].is_forced);

    size_t at = r->n_token - 2;
    size_t n_shared = r->token[at].raw_off;
    cf_token other = r->token[at].id == 'x' ? 'y' : 'x';
    cf_buf before = CF_BUF_INIT;
    cf_buf_add(&before, r->raw.p, n_shared);
    assert_true(n_shared >= 16);
    T_OK(cf_lab_fork(d.lab, last(&d)->id, at, &other, 1, 0, &err), err);
    cf_tiny_desk_settle(&d);
    r = cf_lab_reply(d.lab, last(&d)->id);
    assert_non_null(r);
    assert_true(r->raw.n >= n_shared);
    assert_memory_equal(r->raw.p, before.p, n_shared);
    assert_int_equal(r->token[at].id, other);
    expect_whole(&d, r);
    cf_buf_deinit(&before);
    cf_tiny_desk_close(&d);
}

static void test_lab_send__a_message_without_reply_can_get_one(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    set_up(&d);
    json_t *messages = json_pack("[{s:s,s:s}]", "role", "user", "content", "Hello");
    T_OK(cf_lab_add(d.lab, messages, (cf_uuid){{0}}, false, &err), err);
    json_decref(messages);
    cf_uuid message = last(&d)->id;
    T_OK(cf_lab_retry(d.lab, message, &err), err);
    cf_tiny_desk_settle(&d);
    assert_true(cf_uuid_eq(last(&d)->parent, message));
    T_OK(cf_lab_retry(d.lab, message, &err), err);
    cf_tiny_desk_settle(&d);
    size_t index;
    assert_int_equal(cf_lab_siblings(d.lab, last(&d), &index), 2);
    cf_tiny_desk_close(&d);
}

static cf_str text_of(const cf_turn *turn)
{
    return cf_json_get_str(turn->message, "content");
}

/* Messages of the user before the one that failed stay in the path, as they do
 * for the command line. */
static void test_lab_send__a_failed_message_alone_is_passed_by(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    set_up(&d);
    json_t *messages = json_pack("[{s:s,s:s}]", "role", "user", "content", "A document");
    T_OK(cf_lab_add(d.lab, messages, (cf_uuid){{0}}, false, &err), err);
    json_decref(messages);
    const cf_uuid document = last(&d)->id;
    cf_buf text = CF_BUF_INIT;
    for (size_t i = 0; i < 100000; i++) {
        cf_buf_adds(&text, "x ");
    }
    T_OK(cf_lab_send(d.lab, cf_buf_str(&text), document, &err), err);
    cf_lab_settle(d.lab, &err);
    assert_int_equal(err.code, CF_ELIMIT);
    assert_true(cf_lab_live(d.lab)->failure[0] != '\0');
    assert_int_equal(text_of(last(&d)).n, text.n);
    T_OK(cf_lab_send(d.lab, cf_str_from("A question"), last(&d)->id, &err), err);
    cf_tiny_desk_settle(&d);
    size_t n;
    const cf_turn *const *path = cf_lab_path(d.lab, &n);
    assert_int_equal(n, 3);
    assert_true(cf_uuid_eq(path[0]->id, document));
    assert_true(cf_str_is(text_of(path[1]), "A question"));
    cf_buf_deinit(&text);
    cf_tiny_desk_close(&d);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lab_send__a_fork_of_a_continued_reply_keeps_its_start),
        cmocka_unit_test(test_lab_send__a_message_without_reply_can_get_one),
        cmocka_unit_test(test_lab_send__a_failed_message_alone_is_passed_by),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
