/*
 * test_server_prompt.c - the prompt that a server shows, beside the one that
 * the template in use makes.
 */
#include "tests/support/t.h"
#include "tests/support/path_server.h"
#include "tests/support/store_dir.h"
#include "tui/lab/compare/diff_model.h"
#include "tui/lab/lab.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"

/* As llama-server; it writes "user: Hi\n" and a generation prompt. */
static const cf_path_answer llama[] = {
    {.path = "/props", .body = "{\"default_generation_settings\":{\"n_ctx\":64}}"},
    {.path = "/apply-template", .body = "{\"prompt\":\"user: Hi\\nassistant: \"}"},
    {.path = "/tokenize",
     .body = "{\"tokens\":[{\"id\":1,\"piece\":\"user: Hi\\n\"},{\"id\":2,"
             "\"piece\":\"assistant: \"}]}"},
    {.path = "/slots",
     .body = "[{\"id\":0,\"state\":0,\"prompt\":\"user: Ho\",\"next_token\":{"
             "\"n_decoded\":3}},{\"id\":1,\"is_processing\":true}]"},
    {.path = "/v1/chat/completions",
     .body = "data: {\"choices\":[{\"delta\":{\"content\":\"yes\"},"
             "\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"},
    {.path = NULL}};

#define MESSAGES "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"

static const char same[] = MESSAGES "assistant: ";
static const char other[] = MESSAGES "ASSISTANT: ";

typedef struct desk {
    cf_path_server server;
    cf_backend *backend;
    cf_lab *lab;
} desk;

static void set_up(desk *d, const char *source)
{
    cf_error err;
    cf_path_server_start(&d->server, llama);
    const cf_remote_options o = {.model = "m"};
    T_OK(cf_backend_remote_new(&d->backend, d->server.url, &o, &err), err);
    const cf_lab_engine e = {
        .backend = d->backend, .template_name = "mine", .template_source = cf_str_from(source)};
    T_OK(cf_lab_new(&d->lab, &e, NULL, &err), err);
    T_OK(cf_lab_send(d->lab, cf_str_from("Hi"), (cf_uuid){{0}}, &err), err);
    cf_lab_settle(d->lab, &err);
    assert_int_equal(err.code, CF_OK);
}

static void tear_down(desk *d)
{
    cf_lab_free(d->lab);
    cf_backend_free(d->backend);
    cf_path_server_stop(&d->server);
}

static void ask(desk *d)
{
    cf_error err;
    T_OK(cf_lab_ask_prompt(d->lab, &err), err);
    cf_lab_settle(d->lab, &err);
    assert_int_equal(err.code, CF_OK);
    assert_non_null(cf_lab_prompt(d->lab));
}

static void test_server_prompt__says_whether_ours_is_the_same(void **state)
{
    (void)state;
    static const struct {
        const char *source;
        cf_lab_ours want;
    } rows[] = {{same, CF_LAB_OURS_SAME},
                {other, CF_LAB_OURS_DIFFERS},
                {"{{ raise_exception('no') }}", CF_LAB_OURS_DIFFERS},
                {"", CF_LAB_OURS_NONE}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        desk d;
        set_up(&d, rows[i].source);
        assert_int_equal(cf_lab_prompt_ours(d.lab), CF_LAB_OURS_NONE);
        ask(&d);
        assert_int_equal(cf_lab_prompt_ours(d.lab), rows[i].want);
        cf_lab_slot slot[2];
        assert_int_equal(cf_lab_server_slots(d.lab, slot, 2), 2);
        assert_true(!slot[0].is_busy && slot[0].has_prompt);
        assert_int_equal(slot[0].n_same, strlen("user: H"));
        assert_int_equal(slot[0].n_decoded, 3);
        assert_true(slot[1].is_busy && !slot[1].has_prompt);
        tear_down(&d);
    }
}

/* A conversation that ends in a reply would be continued: the server is asked
 * for the prompt before it. */
static void test_server_prompt__ends_before_the_reply(void **state)
{
    (void)state;
    desk d;
    set_up(&d, same);
    ask(&d);
    cf_path_server_stop(&d.server);
    const char *request = cf_path_server_last(&d.server, "/apply-template");
    assert_non_null(request);
    assert_non_null(strstr(request, "Hi"));
    assert_null(strstr(request, "yes"));
    cf_lab_free(d.lab);
    cf_backend_free(d.backend);
}

static void test_server_prompt__beside_ours_in_diff(void **state)
{
    (void)state;
    desk d;
    cf_error err;
    cf_diff_model m;
    set_up(&d, other);
    cf_diff_model_init(&m, d.lab, NULL);
    m.is_swapped = true;
    T_OK(cf_diff_model_with(&m, "server", &err), err);
    cf_diff_model_update(&m);
    assert_false(m.has_diff); /* not asked yet */
    ask(&d);
    cf_diff_model_update(&m);
    assert_true(m.has_diff);
    T_TEXT(m.render.prompt[0].text.p, m.render.prompt[0].text.n, "user: Hi\nASSISTANT: ");
    T_TEXT(m.render.prompt[1].text.p, m.render.prompt[1].text.n, "user: Hi\nassistant: ");
    assert_string_equal(cf_diff_model_name(&m, 1), "the server");
    assert_false(cf_diff_is_equal(&m.diff));
    m.is_swapped = false;
    cf_diff_model_update(&m);
    T_TEXT(m.render.prompt[0].text.p, m.render.prompt[0].text.n, "user: Hi\nassistant: ");
    cf_diff_model_deinit(&m);
    tear_down(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_prompt__says_whether_ours_is_the_same),
        cmocka_unit_test(test_server_prompt__ends_before_the_reply),
        cmocka_unit_test(test_server_prompt__beside_ours_in_diff),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
