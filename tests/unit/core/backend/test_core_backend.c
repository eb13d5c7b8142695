/* The built-in engine through the interface, on a small random model: what is
 * kept in the cache, forks, continuations, cancels, limits, scores. */
#include "core/api/conversation.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

#include <math.h>

#include "core/base/alloc.h"

enum { N_REPLY = 8 };

typedef struct lab {
    void *bytes;
    cf_engine *engine;
    cf_backend *backend;
    cf_conversation *conv;
    cf_token eos;
    cf_turn_options options; /* greedy, N_REPLY tokens, no end token */
    /* what to do while events come */
    unsigned cancel_at, n_token, n_forced;
    cf_cancel cancel;
} lab;

static void set_up(lab *b, const cf_channel *channels, size_t n_channels, uint32_t n_ctx)
{
    cf_error err = {0};
    size_t n;
    memset(b, 0, sizeof *b);
    cf_tiny_options tiny = {.seed = 5};
    cf_engine_options eo = {.n_threads = 1};
    b->bytes = cf_tiny_gguf(&tiny, &n);
    T_OK(cf_engine_open_memory(&b->engine, b->bytes, n, &eo, &err), err);
    cf_core_options o = {
        .channels = channels, .n_channels = n_channels, .session = {.n_ctx = n_ctx}};
    T_OK(cf_backend_core_new(&b->backend, b->engine, &o, &err), err);
    T_OK(cf_conversation_new(&b->conv, NULL, &err), err);
    b->eos = cf_tokenizer_special(cf_engine_tokenizer(b->engine)).eos;
    b->options.chat.has_sampling = true;
    b->options.chat.sampling.suppress = &b->eos;
    b->options.chat.sampling.n_suppress = 1;
    b->options.chat.max_tokens = N_REPLY;
}

static void tear_down(lab *b)
{
    cf_conversation_free(b->conv);
    cf_backend_free(b->backend);
    cf_engine_close(b->engine);
    cf_tiny_free(b->bytes);
}

static void on_event(const cf_chat_event *ev, void *ud)
{
    lab *b = ud;
    if (ev->kind == CF_CHAT_TOKEN) {
        b->n_forced += ev->token.is_forced ? 1 : 0;
        if (++b->n_token == b->cancel_at) {
            atomic_store_explicit(&b->cancel, true, memory_order_relaxed);
        }
    }
}

static cf_status send_text(lab *b, const char *text, cf_send *send, cf_sent *sent, cf_error *err)
{
    json_t *m = text != NULL ? json_pack("{s:s,s:s}", "role", "user", "content", text) : NULL;
    b->n_token = b->n_forced = 0;
    atomic_store_explicit(&b->cancel, false, memory_order_relaxed);
    send->message = m;
    send->options = &b->options;
    send->fn = on_event;
    send->ud = b;
    send->cancel = &b->cancel;
    cf_status st = cf_conversation_send(b->conv, b->backend, send, sent, err);
    json_decref(m);
    return st;
}

static void test_core__second_turn_keeps_the_first(void **state)
{
    (void)state;
    lab b;
    cf_error err = {0};
    cf_sent one, two;
    cf_send send = {.has_parent = false};
    set_up(&b, NULL, 0, 0);
    cf_sent_init(&one);
    cf_sent_init(&two);
    T_OK(send_text(&b, "hello", &send, &one, &err), err);
    assert_int_equal(one.response.n_reply_ids, N_REPLY);
    assert_int_equal(one.response.stop.reason, CF_STOP_LENGTH);
    assert_int_equal(one.response.sync.n_kept, 0);
    assert_false(one.response.divergence.has);
    assert_string_equal(one.response.sampler[0] != '\0' ? "said" : "", "said");
    T_OK(send_text(&b, "more", &send, &two, &err), err);
    assert_true(two.response.sync.n_kept >= one.response.n_prompt_ids);
    assert_int_equal(two.response.sync.n_kept + two.response.sync.n_new, two.response.n_prompt_ids);
    /* The cache is the prompt and all but the last token of the reply. */
    size_t n;
    const cf_token *cached = cf_backend_cache(b.backend, &n);
    assert_int_equal(n, two.response.n_prompt_ids + N_REPLY - 1);
    assert_memory_equal(cached, two.response.prompt_ids,
                        two.response.n_prompt_ids * sizeof *cached);
    cf_sent_deinit(&one);
    cf_sent_deinit(&two);
    tear_down(&b);
}

/* A stop token ends the reply and is not part of it. */
static void test_core__stop_tokens(void **state)
{
    (void)state;
    lab b;
    cf_error err = {0};
    cf_sent sent;
    cf_send send = {.has_parent = true};
    set_up(&b, NULL, 0, 0);
    cf_sent_init(&sent);
    T_OK(send_text(&b, "hello", &send, &sent, &err), err);
    assert_int_equal(sent.response.n_reply_ids, N_REPLY);
    const cf_token third = sent.response.reply_ids[2];
    size_t first = 0; /* the model may repeat itself */
    while (sent.response.reply_ids[first] != third) {
        first++;
    }
    b.options.chat.stop_ids = &third;
    b.options.chat.n_stop_ids = 1;
    T_OK(send_text(&b, "hello", &send, &sent, &err), err);
    assert_int_equal(sent.response.stop.reason, CF_STOP_TOKEN);
    assert_int_equal(sent.response.stop.token, third);
    assert_int_equal(sent.response.n_reply_ids, first);
    cf_sent_deinit(&sent);
    tear_down(&b);
}

/* The conversation's constraint holds for every turn but those that are
 * free. */
static void test_core__constraint_of_a_conversation(void **state)
{
    (void)state;
    lab b;
    cf_error err = {0};
    cf_sent sent;
    cf_send send = {.has_parent = true};
    cf_grammar *digits;
    cf_constraint_vocab *vocab;
    set_up(&b, NULL, 0, 0);
    cf_sent_init(&sent);
    T_OK(cf_grammar_from_regex(&digits, cf_str_from("[0-9]{3}"), NULL, &err), err);
    T_OK(cf_constraint_vocab_from_tokenizer(&vocab, cf_engine_tokenizer(b.engine), &err), err);
    cf_conversation_set_constraint(b.conv, digits, vocab);
    for (int is_free = 0; is_free < 2; is_free++) {
        b.options.is_free = is_free != 0;
        T_OK(send_text(&b, "hello", &send, &sent, &err), err);
        bool is_digits = sent.response.raw.n == 3;
        for (size_t i = 0; i < sent.response.raw.n; i++) {
            char c = sent.response.raw.p[i];
            is_digits = is_digits && c >= '0' && c <= '9';
        }
        assert_int_equal(is_digits, is_free == 0);
    }
    cf_sent_deinit(&sent);
    cf_constraint_vocab_free(vocab);
    cf_grammar_free(digits);
    tear_down(&b);
}

static void test_core__fork_at_a_token(void **state)
{
    (void)state;
    lab b;
    cf_error err = {0};
    cf_sent first, same, other;
    cf_send send = {.has_parent = false};
    set_up(&b, NULL, 0, 0);
    cf_sent_init(&first);
    cf_sent_init(&same);
    cf_sent_init(&other);
    T_OK(send_text(&b, "hello", &send, &first, &err), err);
    cf_token ids[N_REPLY];
    memcpy(ids, first.response.reply_ids, sizeof ids);
    cf_send fork = {
        .has_parent = true, .parent = first.message, .reply_ids = ids, .n_reply_ids = 3};
    b.options.chat.max_tokens = N_REPLY - 3;
    T_OK(send_text(&b, NULL, &fork, &same, &err), err);
    assert_int_equal(same.response.n_reply_ids, N_REPLY);
    assert_memory_equal(same.response.reply_ids, ids, sizeof ids);
    assert_int_equal(same.response.raw.n, first.response.raw.n);
    /* The prompt was all there; what followed it is no part of it. */
    assert_false(same.response.divergence.has);
    ids[2] = ids[2] == 70 ? 71 : 70; /* another choice there */
    T_OK(send_text(&b, NULL, &fork, &other, &err), err);
    assert_memory_equal(other.response.reply_ids, ids, 3 * sizeof *ids);
    assert_true(other.response.divergence.has);
    assert_int_equal(other.response.divergence.token, other.response.n_prompt_ids + 2);
    /* Three replies to one message. */
    assert_non_null(cf_conversation_child(b.conv, first.message, 2));
    ids[0] = 100000;
    T_FAILS(send_text(&b, NULL, &fork, &other, &err), CF_EINVAL);
    cf_sent_deinit(&first);
    cf_sent_deinit(&same);
    cf_sent_deinit(&other);
    tear_down(&b);
}

static void test_core__continue_an_edited_reply(void **state)
{
    (void)state;
    lab b;
    cf_error err = {0};
    cf_sent sent;
    cf_send send = {.reply_prefix = {"Well, ", 6}};
    set_up(&b, NULL, 0, 0);
    cf_sent_init(&sent);
    T_OK(send_text(&b, "hello", &send, &sent, &err), err);
    cf_str content = cf_json_get_str(sent.response.message, "content");
    assert_true(cf_str_starts(content, cf_str_from("Well, ")));
    assert_true(content.n > 6);
    cf_sent_deinit(&sent);
    tear_down(&b);
}

static void test_core__pending(void **state)
{
    (void)state;
    lab b;
    cf_error err = {0};
    cf_sent sent;
    cf_send send = {.has_parent = false};
    set_up(&b, NULL, 0, 0);
    cf_sent_init(&sent);
    b.options.is_pending = true;
    T_OK(send_text(&b, "a long message", &send, &sent, &err), err);
    assert_int_equal(sent.response.stop.reason, CF_STOP_PENDING);
    assert_int_equal(b.n_token, 0);
    size_t n_before = sent.response.n_prompt_ids;
    b.options.is_pending = false;
    T_OK(send_text(&b, NULL, &send, &sent, &err), err);
    assert_true(sent.response.sync.n_kept + 1 >= n_before);
    assert_int_equal(sent.response.n_reply_ids, N_REPLY);
    cf_sent_deinit(&sent);
    tear_down(&b);
}

static void test_core__cancel_and_go_on(void **state)
{
    (void)state;
    lab b;
    cf_error err = {0};
    cf_sent whole, cut;
    cf_send send = {.has_parent = false};
    set_up(&b, NULL, 0, 0);
    cf_sent_init(&whole);
    cf_sent_init(&cut);
    T_OK(send_text(&b, "hello", &send, &whole, &err), err);
    for (unsigned at = 1; at <= 4; at++) {
        cf_send again = {.has_parent = true, .parent = whole.message};
        b.cancel_at = at;
        T_FAILS(send_text(&b, NULL, &again, &cut, &err), CF_ECANCELLED);
        assert_int_equal(cut.response.stop.reason, CF_STOP_CANCELLED);
        b.cancel_at = 0;
        T_OK(send_text(&b, NULL, &again, &cut, &err), err);
        assert_memory_equal(cut.response.reply_ids, whole.response.reply_ids,
                            N_REPLY * sizeof(cf_token));
    }
    cf_sent_deinit(&whole);
    cf_sent_deinit(&cut);
    tear_down(&b);
}

static void test_core__context_limits(void **state)
{
    (void)state;
    lab b;
    cf_error err = {0};
    cf_sent sent;
    cf_send send = {.has_parent = false};
    set_up(&b, NULL, 0, 32);
    cf_sent_init(&sent);
    char text[200];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    T_FAILS(send_text(&b, text, &send, &sent, &err), CF_ELIMIT);
    assert_int_equal(sent.response.stop.fault, CF_FAULT_CONTEXT);
    assert_true(cf_uuid_is_nil(cf_conversation_head(b.conv)));
    b.options.chat.max_tokens = 0;
    T_OK(send_text(&b, "a", &send, &sent, &err), err);
    assert_int_equal(sent.response.stop.reason, CF_STOP_CONTEXT);
    cf_sent_deinit(&sent);
    tear_down(&b);
}

/* Everything in the prompt is thinking, so the budget counts at once. */
static void test_core__thinking_budget(void **state)
{
    (void)state;
    static const cf_channel think[] = {
        {.name = {"thinking", 8}, .start = {"assistant:", 10}, .end = {"END", 3}}};
    lab b;
    cf_error err = {0};
    cf_sent sent;
    cf_send send = {.has_parent = false};
    set_up(&b, think, 1, 0);
    cf_sent_init(&sent);
    b.options.chat.has_thinking_budget = true;
    b.options.chat.thinking_budget = 3;
    b.options.chat.max_tokens = 24;
    T_OK(send_text(&b, "hello", &send, &sent, &err), err);
    assert_true(b.n_forced >= 3);
    assert_non_null(strstr(cf_buf_cstr(&sent.response.raw), "\nEND\n\n"));
    assert_true(cf_json_get_str(sent.response.message, "reasoning_content").n > 0);
    assert_true(cf_json_get_str(sent.response.message, "content").n > 0);
    cf_sent_deinit(&sent);
    tear_down(&b);
}

static void test_core__user_text_is_no_control_token(void **state)
{
    (void)state;
    lab b;
    cf_error err = {0};
    cf_arena arena;
    cf_prompt prompt;
    cf_token_list list;
    set_up(&b, NULL, 0, 0);
    cf_arena_init(&arena, 0);
    cf_buf eos = CF_BUF_INIT;
    cf_tokenizer_piece(&eos, cf_engine_tokenizer(b.engine), b.eos, true);
    json_t *m = json_pack("{s:s,s:s}", "role", "user", "content", cf_buf_cstr(&eos));
    cf_send send = {.message = m};
    T_OK(cf_conversation_preview(b.conv, b.backend, &send, &arena, &prompt, &list, &err), err);
    assert_true(list.n > 0);
    for (size_t i = 0; i < list.n; i++) {
        assert_int_not_equal(list.v[i].id, b.eos);
    }
    size_t n;
    cf_backend_cache(b.backend, &n);
    assert_int_equal(n, 0); /* looking changes nothing */
    assert_int_equal(cf_conversation_n_turns(b.conv), 0);
    json_decref(m);
    cf_buf_deinit(&eos);
    cf_arena_deinit(&arena);
    tear_down(&b);
}

/* Asks the engine that is answering, which is refused and changes nothing. */
static void ask_again(const cf_chat_event *ev, void *ud)
{
    lab *b = ud;
    cf_error err = {0};
    cf_chat_response out;
    cf_chat_response_init(&out);
    json_t *messages = json_pack("[{s:s,s:s}]", "role", "user", "content", "again");
    const cf_chat_request request = {.messages = messages};
    T_FAILS(cf_backend_generate(b->backend, &request, &out, &err), CF_EINVAL);
    assert_non_null(strstr(err.text, "an event cannot ask it again"));
    cf_chat_response_deinit(&out);
    json_decref(messages);
    on_event(ev, ud);
}

static void test_core__refuses_a_question_of_an_event(void **state)
{
    (void)state;
    lab b;
    cf_error err = {0};
    cf_chat_response plain, asked;
    json_t *messages = json_pack("[{s:s,s:s}]", "role", "user", "content", "hello");
    set_up(&b, NULL, 0, 0);
    const cf_chat_request request = {.messages = messages, .options = &b.options.chat};
    cf_chat_response_init(&plain);
    cf_chat_response_init(&asked);
    T_OK(cf_backend_generate(b.backend, &request, &plain, &err), err);
    T_OK(cf_backend_generate_stream(b.backend, &request, ask_again, &b, &asked, &err), err);
    assert_int_equal(b.n_token, N_REPLY);
    assert_memory_equal(asked.reply_ids, plain.reply_ids, N_REPLY * sizeof(cf_token));
    T_OK(cf_backend_generate(b.backend, &request, &plain, &err), err);
    cf_chat_response_deinit(&plain);
    cf_chat_response_deinit(&asked);
    json_decref(messages);
    tear_down(&b);
}

static void test_core__score_and_clone(void **state)
{
    (void)state;
    lab b;
    cf_error err = {0};
    cf_arena arena;
    cf_score cold, warm, none;
    cf_sent sent;
    cf_send send = {.has_parent = false};
    cf_backend *copy = NULL;
    set_up(&b, NULL, 0, 0);
    cf_arena_init(&arena, 0);
    cf_sent_init(&sent);
    cf_str context = cf_str_from("user: hello\nassistant:");
    cf_str text = cf_str_from(" well then");
    T_OK(cf_backend_score(b.backend, context, text, NULL, &arena, &cold, &err), err);
    assert_true(cold.n > 0);
    double sum = 0;
    for (size_t i = 0; i < cold.n; i++) {
        assert_true(cold.log_p[i] < 0 && isfinite(cold.log_p[i]));
        sum += (double)cold.log_p[i];
    }
    assert_true(fabs(sum - cold.sum) < 1e-9);
    T_OK(send_text(&b, "hello", &send, &sent, &err), err);
    T_OK(cf_backend_clone(&copy, b.backend, &err), err);
    size_t n, n_copy;
    const cf_token *cached = cf_backend_cache(b.backend, &n);
    assert_memory_equal(cf_backend_cache(copy, &n_copy), cached, n * sizeof *cached);
    T_OK(cf_backend_score(b.backend, context, text, NULL, &arena, &warm, &err), err);
    assert_int_equal(warm.n, cold.n);
    assert_memory_equal(warm.log_p, cold.log_p, cold.n * sizeof *cold.log_p);
    cf_backend_cache(b.backend, &n_copy);
    assert_int_equal(n_copy, n); /* the conversation's cache is untouched */
    T_OK(cf_backend_score(b.backend, context, cf_str_from(""), NULL, &arena, &none, &err), err);
    assert_int_equal(none.n, 0);
    cf_backend_free(copy);
    cf_sent_deinit(&sent);
    cf_arena_deinit(&arena);
    tear_down(&b);
}

/* A template that changes old turns breaks the scheme of two renders. */
static cf_status count_renderer(const void *ud, const json_t *context, cf_arena *arena,
                                cf_prompt *out, cf_error *err)
{
    (void)ud;
    cf_prompt plain = {.n_spans = 0};
    cf_prompt_renderer r = cf_renderer_plain();
    CF_TRY(r.render(r.ud, context, arena, &plain, err));
    size_t n = json_array_size(json_object_get(context, "messages"));
    char *text = cf_arena_strndup(arena, plain.text.p, plain.text.n);
    if (text == NULL) {
        return cf_fail(err, CF_ENOMEM, "no memory");
    }
    if (plain.text.n > 0) {
        text[0] = (char)('0' + n);
    }
    *out = plain;
    out->text.p = text;
    return CF_OK;
}

static void test_core__double_render(void **state)
{
    (void)state;
    lab b;
    cf_error err = {0};
    cf_sent sent;
    cf_double_render d;
    cf_send send = {.has_parent = false};
    set_up(&b, NULL, 0, 0);
    cf_sent_init(&sent);
    T_OK(send_text(&b, "hello", &send, &sent, &err), err);
    json_t *m = json_pack("{s:s,s:s}", "role", "user", "content", "more");
    cf_send next = {.message = m};
    T_OK(cf_conversation_double_render(b.conv, b.backend, &next, &d, &err), err);
    assert_false(d.would_fail);
    assert_int_equal(d.off, d.old_len);
    cf_core_options o = {.renderer = {count_renderer, NULL}};
    cf_backend_core_set(b.backend, &o);
    T_OK(cf_conversation_double_render(b.conv, b.backend, &next, &d, &err), err);
    assert_true(d.would_fail);
    assert_int_equal(d.off, 0);
    json_decref(m);
    cf_sent_deinit(&sent);
    tear_down(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_core__second_turn_keeps_the_first),
        cmocka_unit_test(test_core__stop_tokens),
        cmocka_unit_test(test_core__constraint_of_a_conversation),
        cmocka_unit_test(test_core__fork_at_a_token),
        cmocka_unit_test(test_core__continue_an_edited_reply),
        cmocka_unit_test(test_core__pending),
        cmocka_unit_test(test_core__cancel_and_go_on),
        cmocka_unit_test(test_core__refuses_a_question_of_an_event),
        cmocka_unit_test(test_core__context_limits),
        cmocka_unit_test(test_core__thinking_budget),
        cmocka_unit_test(test_core__user_text_is_no_control_token),
        cmocka_unit_test(test_core__score_and_clone),
        cmocka_unit_test(test_core__double_render),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
