/* All outcomes of a send, on the scripted engine: its events, what stays
 * in the tree, where the head is. */
#include "core/api/conversation.h"
#include "tests/support/t.h"

#include <math.h>
#include <pthread.h>

#include "core/base/alloc.h"
#include "tests/support/chat_case.h"

/* A record of the events, and when to cancel. */
typedef struct seen {
    cf_buf log;
    unsigned n_stop, n_event, cancel_at;
    cf_cancel cancel;
} seen;

static void on_event(const cf_chat_event *ev, void *ud)
{
    seen *s = ud;
    assert_int_equal(s->n_stop, 0); /* nothing after the end */
    if (ev->kind == CF_CHAT_RAW) {
        return; /* of each piece that comes */
    }
    s->n_event++;
    switch (ev->kind) {
    case CF_CHAT_TEXT:
        cf_buf_addf(&s->log, "%.*s|", (int)ev->text.n, ev->text.p);
        break;
    case CF_CHAT_THINKING:
        cf_buf_addf(&s->log, "(%.*s)", (int)ev->text.n, ev->text.p);
        break;
    case CF_CHAT_CALL:
        cf_buf_addf(&s->log, "{%.*s%.*s}", (int)ev->call->name.n, ev->call->name.p,
                    (int)ev->call->arguments.n, ev->call->arguments.p);
        break;
    case CF_CHAT_NOTE:
    case CF_CHAT_CALL_FAILED:
        cf_buf_addf(&s->log, "{failed %s}", ev->stop.err.text);
        break;
    case CF_CHAT_STOP:
        s->n_stop++;
        cf_buf_addf(&s->log, "[%s%s%s]", cf_stop_reason_name(ev->stop.reason),
                    ev->stop.fault != CF_FAULT_NONE ? " " : "",
                    ev->stop.fault != CF_FAULT_NONE ? cf_fault_name(ev->stop.fault) : "");
        break;
    case CF_CHAT_PROMPT:
    case CF_CHAT_RAW:
    case CF_CHAT_PREFILL:
    case CF_CHAT_ENCODE:
    case CF_CHAT_TOKEN:
    case CF_CHAT_CALL_DELTA:
    case CF_CHAT_CALL_PART:
    case CF_CHAT_USAGE:
    case CF_CHAT_TIMINGS:
        break;
    }
    if (s->cancel_at != 0 && s->n_event >= s->cancel_at) {
        atomic_store_explicit(&s->cancel, true, memory_order_relaxed);
    }
}

typedef struct outcome {
    cf_status st;
    seen seen;
    cf_sent sent;
    cf_error err;
} outcome;

static void send_with(outcome *o, cf_conversation *conv, cf_backend *b, const json_t *message,
                      const cf_turn_options *options, unsigned cancel_at)
{
    memset(o, 0, sizeof *o);
    cf_sent_init(&o->sent);
    o->seen.cancel_at = cancel_at;
    cf_send send = {.message = message,
                    .options = options,
                    .fn = on_event,
                    .ud = &o->seen,
                    .cancel = &o->seen.cancel};
    o->st = cf_conversation_send(conv, b, &send, &o->sent, &o->err);
}

static void forget(outcome *o)
{
    cf_sent_deinit(&o->sent);
    cf_buf_deinit(&o->seen.log);
}

static cf_turn_status status_of(cf_conversation *conv, cf_uuid id)
{
    const cf_turn *t = cf_conversation_find(conv, id);
    assert_non_null(t);
    return t->status;
}

/* ---- ends --------------------------------------------------------------- */

static void test_send__success(void **state)
{
    (void)state;
    cf_backend *b = cf_chat_script("{\"replies\":[{\"text\":\"<think>hm</think>\\n\\nHello "
                                   "w\xC3\xB6rld\",\"chunk\":1,\"usage\":{\"prompt_tokens\":3,"
                                   "\"completion_tokens\":4}}]}",
                                   CF_TOOLS_NONE);
    cf_conversation *conv = cf_chat_tree(NULL);
    outcome o;
    send_with(&o, conv, b, cf_chat_hello(), NULL, 0);
    T_OK(o.st, o.err);
    assert_string_equal(cf_buf_cstr(&o.seen.log), "(h)(m)H|e|l|l|o| w|\xC3\xB6|r|l|d|[end]");
    assert_int_equal(cf_conversation_n_turns(conv), 2);
    assert_true(cf_uuid_eq(cf_conversation_head(conv), o.sent.reply));
    assert_int_equal(status_of(conv, o.sent.reply), CF_TURN_OK);
    const json_t *m = o.sent.response.message;
    assert_true(cf_str_is(cf_json_get_str(m, "content"), "Hello w\xC3\xB6rld"));
    assert_true(cf_str_is(cf_json_get_str(m, "reasoning_content"), "hm"));
    assert_int_equal(o.sent.response.usage.n_total, 7);
    const cf_turn *t = cf_conversation_find(conv, o.sent.reply);
    T_TEXT(t->raw.p, t->raw.n, "<think>hm</think>\n\nHello w\xC3\xB6rld");
    T_TEXT(o.sent.response.prompt.p, o.sent.response.prompt.n, "user: hi\nassistant:");
    forget(&o);
    cf_conversation_free(conv);
    cf_backend_free(b);
}

/* Cancelled after each event in turn, and before the first. */
static void test_send__cancel_at_each_stage(void **state)
{
    (void)state;
    for (unsigned at = 1; at < 14; at++) {
        cf_backend *b = cf_chat_script("{\"replies\":[{\"text\":\"abcdef\","
                                       "\"chunk\":1},{\"text\":\"next\"}]}",
                                       CF_TOOLS_NONE);
        cf_conversation *conv = cf_chat_tree(NULL);
        outcome o;
        send_with(&o, conv, b, cf_chat_hello(), NULL, at);
        assert_int_equal(o.seen.n_stop, 1);
        if (o.st == CF_OK) { /* it was over before */
            assert_true(at >= 6);
        } else {
            assert_int_equal(o.st, CF_ECANCELLED);
            assert_int_equal(o.sent.response.stop.reason, CF_STOP_CANCELLED);
            assert_int_equal(status_of(conv, o.sent.reply), CF_TURN_STOPPED);
            assert_int_equal(o.sent.response.raw.n, at);
        }
        assert_true(cf_uuid_eq(cf_conversation_head(conv), o.sent.reply));
        forget(&o);
        send_with(&o, conv, b, cf_chat_hello(), NULL, 0); /* it can go on */
        T_OK(o.st, o.err);
        forget(&o);
        cf_conversation_free(conv);
        cf_backend_free(b);
    }
}

static void test_send__cancelled_before_a_byte(void **state)
{
    (void)state;
    cf_backend *b = cf_chat_script("{\"replies\":[{\"text\":\"a\"}]}", CF_TOOLS_NONE);
    cf_conversation *conv = cf_chat_tree(NULL);
    cf_error err = {0};
    cf_cancel cancel;
    atomic_init(&cancel, true);
    cf_sent sent;
    cf_sent_init(&sent);
    cf_send send = {.message = cf_chat_hello(), .cancel = &cancel};
    T_FAILS(cf_conversation_send(conv, b, &send, &sent, &err), CF_ECANCELLED);
    assert_true(cf_uuid_is_nil(sent.reply));
    assert_true(cf_uuid_is_nil(cf_conversation_head(conv)));
    assert_int_equal(cf_conversation_n_turns(conv), 1); /* nothing is lost */
    cf_sent_deinit(&sent);
    cf_conversation_free(conv);
    cf_backend_free(b);
}

static void test_send__failures(void **state)
{
    static const struct {
        const char *name;
        cf_status st;
        cf_fault fault;
    } rows[] = {
        {"rate_limit", CF_EBUSY, CF_FAULT_RATE_LIMIT},
        {"authentication", CF_EINVAL, CF_FAULT_AUTHENTICATION},
        {"model_not_found", CF_ENOTFOUND, CF_FAULT_MODEL_NOT_FOUND},
        {"network", CF_EIO, CF_FAULT_NETWORK},
        {"protocol", CF_EFORMAT, CF_FAULT_PROTOCOL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int with_text = 0; with_text < 2; with_text++) {
            char text[128];
            snprintf(text, sizeof text, "{\"replies\":[{%s\"error\":\"%s\"},{\"text\":\"ok\"}]}",
                     with_text ? "\"text\":\"part\"," : "", rows[i].name);
            cf_backend *b = cf_chat_script(text, CF_TOOLS_NONE);
            cf_conversation *conv = cf_chat_tree(NULL);
            outcome o;
            send_with(&o, conv, b, cf_chat_hello(), NULL, 0);
            assert_int_equal(o.st, rows[i].st);
            assert_int_equal(o.sent.response.stop.fault, rows[i].fault);
            assert_int_equal(o.seen.n_stop, 1);
            assert_true(cf_uuid_is_nil(cf_conversation_head(conv)));
            assert_int_equal(cf_uuid_is_nil(o.sent.reply), !with_text);
            if (with_text) {
                assert_int_equal(status_of(conv, o.sent.reply), CF_TURN_ERROR);
            }
            forget(&o);
            /* Sent again it is a sibling, not a second message in a row. */
            send_with(&o, conv, b, cf_chat_hello(), NULL, 0);
            T_OK(o.st, o.err);
            T_TEXT(o.sent.response.prompt.p, o.sent.response.prompt.n, "user: hi\nassistant:");
            forget(&o);
            cf_conversation_free(conv);
            cf_backend_free(b);
        }
    }
}

static void test_send__stop_strings_and_length(void **state)
{
    (void)state;
    cf_str stop[] = {{"END", 3}, {"\n\n", 2}};
    cf_turn_options options = {.chat = {.stop = stop, .n_stop = 2}};
    cf_backend *b = cf_chat_script("{\"replies\":[{\"text\":\"abEcEND tail\","
                                   "\"chunk\":1},{\"text\":\"abcdef\",\"chunk\":2}]}",
                                   CF_TOOLS_NONE);
    cf_conversation *conv = cf_chat_tree(NULL);
    outcome o;
    send_with(&o, conv, b, cf_chat_hello(), &options, 0);
    T_OK(o.st, o.err);
    assert_string_equal(cf_buf_cstr(&o.seen.log), "a|b|Ec|[stop string]");
    assert_string_equal(o.sent.response.stop.what, "END");
    forget(&o);
    options.chat.n_stop = 0;
    options.chat.max_tokens = 2;
    send_with(&o, conv, b, cf_chat_hello(), &options, 0);
    T_OK(o.st, o.err);
    assert_string_equal(cf_buf_cstr(&o.seen.log), "ab|cd|[length]");
    assert_int_equal(status_of(conv, o.sent.reply), CF_TURN_OK);
    forget(&o);
    cf_conversation_free(conv);
    cf_backend_free(b);
}

static void test_send__bad_options_change_nothing(void **state)
{
    (void)state;
    static const struct {
        float temperature, top_p;
        const char *text;
    } rows[] = {
        {-0.01f, 0, "temperature must be between 0 and 2"},
        {2.01f, 0, "temperature must be between 0 and 2"},
        {NAN, 0, "temperature must be between 0 and 2"},
        {1, 1.01f, "top_p must be between 0 and 1"},
        {1, NAN, "top_p must be between 0 and 1"},
    };
    cf_backend *b = cf_chat_script("{\"replies\":[{\"text\":\"a\"}]}", CF_TOOLS_NONE);
    cf_conversation *conv = cf_chat_tree(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cf_turn_options options = {
            .chat = {.has_sampling = true,
                     .sampling = {.temperature = rows[i].temperature, .top_p = rows[i].top_p}}};
        outcome o;
        send_with(&o, conv, b, cf_chat_hello(), &options, 0);
        assert_int_equal(o.st, CF_EINVAL);
        assert_string_equal(o.err.text, rows[i].text);
        assert_int_equal(o.seen.n_event, 0);
        assert_int_equal(cf_conversation_n_turns(conv), 0);
        forget(&o);
    }
    cf_conversation_free(conv);
    cf_backend_free(b);
}

static const char tools[] = "[{\"name\":\"f\",\"parameters\":{\"type\":"
                            "\"object\",\"properties\":{\"x\":{\"type\":"
                            "\"integer\"}},\"required\":[\"x\"]}}]";

static void test_send__parse_failure(void **state)
{
    (void)state;
    const char *script = "{\"replies\":[{\"text\":\"a <tool_call>{\\\"name\\\""
                         "</tool_call> b\"}]}";
    for (int strict = 0; strict < 2; strict++) {
        cf_backend *b = cf_chat_script(script, CF_TOOLS_HERMES);
        cf_conversation *conv = cf_chat_tree(tools);
        cf_turn_options options = {.fail_on_parse_error = strict == 1};
        outcome o;
        send_with(&o, conv, b, cf_chat_hello(), &options, 0);
        assert_int_equal(o.st, strict ? CF_EFORMAT : CF_OK);
        assert_int_equal(status_of(conv, o.sent.reply), strict ? CF_TURN_ERROR : CF_TURN_OK);
        assert_int_equal(cf_uuid_is_nil(cf_conversation_head(conv)), strict);
        assert_int_equal(o.sent.response.status, CF_TOOL_PARSE_ERROR);
        assert_true(cf_str_is(cf_json_get_str(o.sent.response.message, "content"),
                              "a <tool_call>{\"name\"</tool_call> b"));
        forget(&o);
        cf_conversation_free(conv);
        cf_backend_free(b);
    }
}

static void test_send__pending(void **state)
{
    (void)state;
    cf_backend *b = cf_chat_script("{\"replies\":[{\"text\":\"a\"}]}", CF_TOOLS_NONE);
    cf_conversation *conv = cf_chat_tree(NULL);
    cf_turn_options options = {.is_pending = true};
    outcome o;
    send_with(&o, conv, b, cf_chat_hello(), &options, 0);
    T_OK(o.st, o.err);
    assert_string_equal(cf_buf_cstr(&o.seen.log), "[pending]");
    assert_true(cf_uuid_eq(cf_conversation_head(conv), o.sent.message));
    forget(&o);
    send_with(&o, conv, b, NULL, NULL, 0);
    T_OK(o.st, o.err);
    assert_int_equal(cf_conversation_n_turns(conv), 2);
    forget(&o);
    cf_conversation_free(conv);
    cf_backend_free(b);
}

/* ---- tree --------------------------------------------------------------- */

static void test_tree__uuids(void **state)
{
    (void)state;
    cf_error err = {0};
    cf_conversation *conv = cf_chat_tree(NULL);
    cf_uuid a, b, id;
    cf_turn turn = {.message = cf_chat_hello()};
    T_OK(cf_conversation_add(conv, &turn, &a, &err), err);
    T_OK(cf_conversation_add(conv, &turn, &b, &err), err); /* same content */
    assert_false(cf_uuid_eq(a, b));
    turn.id = a;
    T_FAILS(cf_conversation_add(conv, &turn, &id, &err), CF_EINVAL);
    assert_int_equal(cf_conversation_n_turns(conv), 2);
    assert_true(cf_uuid_parse(&turn.id, "6ba7b810-9dad-11d1-80b4-00c04fd430c8", 36));
    turn.parent = a;
    T_OK(cf_conversation_add(conv, &turn, &id, &err), err);
    assert_true(cf_uuid_eq(id, turn.id)); /* a preset UUID is kept */
    turn.id = cf_uuid_new();
    turn.parent = cf_uuid_new();
    T_FAILS(cf_conversation_add(conv, &turn, &id, &err), CF_ENOTFOUND);
    cf_uuid nil = {{0}};
    assert_true(cf_uuid_eq(cf_conversation_child(conv, nil, 1)->id, b));
    assert_null(cf_conversation_child(conv, nil, 2));
    cf_conversation_free(conv);
}

static void test_tree__retry_and_clone(void **state)
{
    (void)state;
    cf_error err = {0};
    cf_backend *b =
        cf_chat_script("{\"replies\":[{\"text\":\"one\"},{\"text\":\"two\"}]}", CF_TOOLS_NONE);
    cf_conversation *conv = cf_chat_tree(NULL), *copy = NULL;
    outcome o;
    send_with(&o, conv, b, cf_chat_hello(), NULL, 0);
    cf_uuid user = o.sent.message, first = o.sent.reply;
    forget(&o);
    T_OK(cf_conversation_clone(&copy, conv, &err), err);
    cf_sent sent;
    cf_sent_init(&sent);
    cf_send again = {.has_parent = true, .parent = user};
    T_OK(cf_conversation_send(conv, b, &again, &sent, &err), err);
    assert_true(cf_uuid_eq(cf_conversation_child(conv, user, 0)->id, first));
    assert_true(cf_uuid_eq(cf_conversation_child(conv, user, 1)->id, sent.reply));
    assert_int_equal(cf_conversation_n_turns(conv), 3);
    assert_int_equal(cf_conversation_n_turns(copy), 2);
    assert_true(cf_uuid_eq(cf_conversation_head(copy), first));
    cf_sent_deinit(&sent);
    cf_conversation_free(copy);
    cf_conversation_free(conv);
    cf_backend_free(b);
}

/* ---- options and roles -------------------------------------------------- */

/* The renderer shows the variable that decides. */
static cf_status show_thinking(const void *ud, const json_t *context, cf_arena *arena,
                               cf_prompt *out, cf_error *err)
{
    (void)ud;
    (void)err;
    const json_t *v = json_object_get(context, "enable_thinking");
    char *text = cf_arena_strndup(arena, v == NULL ? "-" : json_is_true(v) ? "1" : "0", 1);
    out->text = cf_str_make(text, 1);
    out->spans = NULL;
    out->n_spans = 0;
    return CF_OK;
}

static char thinking_of(cf_thinking conversation, cf_thinking turn, const char *preface,
                        const char *extra)
{
    cf_error err = {0};
    json_t *script = cf_chat_json("{\"replies\":[{\"text\":\"a\"}]}");
    json_t *p = preface != NULL ? cf_chat_json(preface) : NULL;
    json_t *x = extra != NULL ? cf_chat_json(extra) : NULL;
    cf_script_options so = {.renderer = {show_thinking, NULL}};
    cf_backend *b = NULL;
    cf_conversation *conv = NULL;
    cf_preface pre = {.extra_context = p};
    T_OK(cf_backend_script_new(&b, script, &so, &err), err);
    T_OK(cf_conversation_new(&conv, &pre, &err), err);
    cf_conversation_set_thinking(conv, conversation);
    cf_turn_options options = {.chat = {.thinking = turn}, .extra_context = x};
    cf_send send = {.message = cf_chat_hello(), .options = &options};
    cf_arena arena;
    cf_prompt prompt;
    cf_arena_init(&arena, 0);
    T_OK(cf_conversation_preview(conv, b, &send, &arena, &prompt, NULL, &err), err);
    char c = prompt.text.p[0];
    cf_arena_deinit(&arena);
    cf_conversation_free(conv);
    cf_backend_free(b);
    json_decref(script);
    json_decref(p);
    json_decref(x);
    return c;
}

typedef struct copied {
    size_t n, n_from;
} copied;

static void on_copy(void *ud, const cf_turn *turn, cf_uuid from)
{
    copied *c = ud;
    assert_non_null(turn);
    c->n++;
    c->n_from += !cf_uuid_is_nil(from);
}

static cf_str prompt_of(const cf_conversation *conv, cf_backend *b, cf_arena *arena)
{
    cf_error err = {0};
    cf_prompt prompt;
    cf_send send = {.message = NULL};
    T_OK(cf_conversation_preview(conv, b, &send, arena, &prompt, NULL, &err), err);
    const char *copy = cf_arena_strndup(arena, prompt.text.p, prompt.text.n);
    return cf_str_from(copy); /* ended by NUL */
}

/* Another system prompt is a branch: the old path stays as it was. */
static void test_tree__system_prompt(void **state)
{
    (void)state;
    cf_error err = {0};
    cf_arena arena;
    cf_arena_init(&arena, 0);
    json_t *first = cf_chat_json("[{\"role\":\"system\",\"content\":\"Old.\"},"
                                 "{\"role\":\"user\",\"content\":\"Example\"}]");
    cf_preface preface = {.messages = first};
    cf_conversation *conv;
    T_OK(cf_conversation_new(&conv, &preface, &err), err);
    cf_backend *b = cf_chat_script("{\"replies\":[{\"text\":\"Yes.\"}]}", CF_TOOLS_NONE);
    cf_send send = {.message = cf_chat_hello()};
    cf_sent sent;
    cf_sent_init(&sent);
    T_OK(cf_conversation_send(conv, b, &send, &sent, &err), err);
    cf_uuid old = cf_conversation_head(conv);
    cf_str before = prompt_of(conv, b, &arena);
    assert_string_equal(cf_json_get_str(cf_conversation_system(conv, old), "content").p, "Old.");

    copied c = {0};
    T_OK(cf_conversation_set_system(conv, cf_str_from("New."), on_copy, &c, &err), err);
    assert_int_equal(c.n, 3);
    assert_int_equal(c.n_from, 2);
    cf_str after = prompt_of(conv, b, &arena);
    assert_null(strstr(after.p, "Old."));
    assert_non_null(strstr(after.p, "New."));
    assert_non_null(strstr(after.p, "Example")); /* only system is replaced */
    assert_non_null(strstr(after.p, "Yes."));
    cf_message_source *v;
    size_t n;
    T_OK(cf_conversation_sources(conv, cf_conversation_head(conv), &arena, &v, &n, &err), err);
    assert_int_equal(n, 4);
    assert_null(v[0].turn);
    assert_true(cf_turn_is_system(v[1].turn));

    /* Empty: no system prompt; and the first path is what it was. */
    T_OK(cf_conversation_set_system(conv, cf_str_from(""), NULL, NULL, &err), err);
    cf_str none = prompt_of(conv, b, &arena);
    assert_null(strstr(none.p, "system"));
    assert_non_null(strstr(none.p, "Yes."));
    T_OK(cf_conversation_set_head(conv, old, &err), err);
    cf_str again = prompt_of(conv, b, &arena);
    assert_true(cf_str_eq(before, again));
    cf_sent_deinit(&sent);
    cf_backend_free(b);
    cf_conversation_free(conv);
    json_decref(first);
    cf_arena_deinit(&arena);
}

static cf_uuid say(cf_conversation *conv, cf_backend *b, const char *json, const cf_turn_options *o)
{
    cf_error err = {0};
    json_t *m = cf_chat_json(json);
    cf_send send = {.message = m, .options = o};
    cf_sent sent;
    cf_sent_init(&sent);
    T_OK(cf_conversation_send(conv, b, &send, &sent, &err), err);
    cf_sent_deinit(&sent);
    json_decref(m);
    return cf_conversation_head(conv);
}

/* A pending message that is appended to goes on in its own turn. */
static void test_send__appends_to_a_pending_message(void **state)
{
    (void)state;
    cf_error err = {0};
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_conversation *conv = cf_chat_tree(NULL);
    cf_backend *b = cf_chat_script("{\"replies\":[{\"text\":\"Yes.\"}]}", CF_TOOLS_NONE);
    cf_turn_options o = {.is_pending = true};
    cf_uuid first = say(conv, b, "{\"role\":\"user\",\"content\":\"One\"}", &o);
    o.is_appending = true;
    cf_uuid both = say(conv, b, "{\"role\":\"user\",\"content\":\" and two\"}", &o);
    assert_string_equal(cf_json_get_str(cf_conversation_find(conv, both)->message, "content").p,
                        "One and two");
    assert_true(cf_uuid_eq(cf_conversation_find(conv, first)->parent,
                           cf_conversation_find(conv, both)->parent));
    o.is_pending = false;
    (void)say(conv, b, "{\"role\":\"user\",\"content\":\"!\"}", &o);
    cf_str prompt = prompt_of(conv, b, &arena);
    assert_non_null(strstr(prompt.p, "One and two!"));
    assert_non_null(strstr(prompt.p, "Yes."));
    json_t *m = cf_chat_json("{\"role\":\"user\",\"content\":\"x\"}");
    cf_send send = {.message = m, .options = &o};
    cf_sent sent;
    cf_sent_init(&sent);
    T_FAILS(cf_conversation_send(conv, b, &send, &sent, &err), CF_EINVAL);
    cf_sent_deinit(&sent);
    json_decref(m);
    cf_backend_free(b);
    cf_conversation_free(conv);
    cf_arena_deinit(&arena);
}

static void test_tree__checkpoints(void **state)
{
    (void)state;
    cf_error err = {0};
    cf_conversation *conv = cf_chat_tree(NULL), *copy;
    cf_backend *b =
        cf_chat_script("{\"replies\":[{\"text\":\"a\"},{\"text\":\"b\"}]}", CF_TOOLS_NONE);
    T_OK(cf_conversation_save(conv, "start", &err), err);
    cf_uuid one = say(conv, b, "{\"role\":\"user\",\"content\":\"1\"}", NULL);
    T_OK(cf_conversation_save(conv, "one", &err), err);
    (void)say(conv, b, "{\"role\":\"user\",\"content\":\"2\"}", NULL);
    T_OK(cf_conversation_clone(&copy, conv, &err), err);
    T_OK(cf_conversation_rewind(copy, "one", &err), err);
    assert_true(cf_uuid_eq(cf_conversation_head(copy), one));
    assert_int_equal(cf_conversation_n_turns(copy), 4);
    T_OK(cf_conversation_rewind(copy, "start", &err), err);
    assert_true(cf_uuid_is_nil(cf_conversation_head(copy)));
    T_FAILS(cf_conversation_rewind(copy, "two", &err), CF_ENOTFOUND);
    T_OK(cf_conversation_forget(copy, "one", &err), err);
    T_FAILS(cf_conversation_rewind(copy, "one", &err), CF_ENOTFOUND);
    T_OK(cf_conversation_rewind(conv, "one", &err), err);
    T_FAILS(cf_conversation_save(conv, "", &err), CF_EINVAL);
    cf_conversation_free(copy);
    cf_conversation_free(conv);
    cf_backend_free(b);
}

/* Sends on threads of their own: waited for, or cancelled as a group. */
static void test_send__asynchronous(void **state)
{
    (void)state;
    enum { N = 3 };
    cf_error err = {0};
    cf_cancel group;
    atomic_init(&group, false);
    for (int cancels = 0; cancels < 2; cancels++) {
        cf_conversation *conv[N];
        cf_backend *b[N];
        cf_send_task *task[N];
        for (size_t i = 0; i < N; i++) {
            conv[i] = cf_chat_tree(NULL);
            b[i] = cf_chat_script(cancels != 0 ? "{\"replies\":[{\"text\":\"Yes, yes, yes\","
                                                 "\"chunk\":1,\"delay_ms\":200}]}"
                                               : "{\"replies\":[{\"text\":\"Yes\"}]}",
                                  CF_TOOLS_NONE);
            cf_send send = {.message = cf_chat_hello(), .cancel = &group};
            T_OK(cf_send_start(&task[i], conv[i], b[i], &send, &err), err);
        }
        if (cancels != 0) {
            assert_false(cf_send_wait(task[0], 1));
            atomic_store(&group, true);
        }
        for (size_t i = 0; i < N; i++) {
            cf_sent sent;
            cf_sent_init(&sent);
            assert_true(cf_send_wait(task[i], UINT32_MAX));
            cf_status st = cf_send_finish(task[i], &sent, &err);
            assert_int_equal(st, cancels != 0 ? CF_ECANCELLED : CF_OK);
            assert_int_equal(sent.response.stop.reason,
                             cancels != 0 ? CF_STOP_CANCELLED : CF_STOP_END);
            cf_sent_deinit(&sent);
            cf_conversation_free(conv[i]);
            cf_backend_free(b[i]);
        }
    }
}

/* A reply that reaches its limit is an error where that is asked for. */
static void test_send__fails_on_length(void **state)
{
    (void)state;
    cf_error err = {0};
    cf_conversation *conv = cf_chat_tree(NULL);
    cf_backend *b = cf_chat_script("{\"replies\":[{\"tokens\":[{\"text\":\"a\"},{"
                                   "\"text\":\"b\"},{\"text\":\"c\"}]}]}",
                                   CF_TOOLS_NONE);
    cf_turn_options o = {.fail_on_length = true};
    o.chat.max_tokens = 2;
    cf_send send = {.message = cf_chat_hello(), .options = &o};
    cf_sent sent;
    cf_sent_init(&sent);
    T_FAILS(cf_conversation_send(conv, b, &send, &sent, &err), CF_ELIMIT);
    assert_true(cf_uuid_is_nil(cf_conversation_head(conv)));
    assert_int_equal(cf_conversation_find(conv, sent.reply)->status, CF_TURN_ERROR);
    cf_sent_deinit(&sent);
    cf_backend_free(b);
    cf_conversation_free(conv);
}

static void test_options__thinking_precedence(void **state)
{
    (void)state;
    const char *on = "{\"enable_thinking\":true}";
    const char *off = "{\"enable_thinking\":false}";
    const cf_thinking no = CF_THINKING_DEFAULT;
    assert_int_equal(thinking_of(no, no, NULL, NULL), '-');
    assert_int_equal(thinking_of(no, no, on, NULL), '1');
    assert_int_equal(thinking_of(CF_THINKING_OFF, no, on, NULL), '0');
    assert_int_equal(thinking_of(CF_THINKING_OFF, CF_THINKING_ON, off, NULL), '1');
    assert_int_equal(thinking_of(CF_THINKING_ON, CF_THINKING_ON, on, off), '0');
}

static void test_roles__mapping(void **state)
{
    (void)state;
    static const struct {
        const char *source, *from, *to;
    } rows[] = {
        {"", "developer", "system"},
        {"role == 'developer'", "developer", "developer"},
        {"", "agent", "assistant"},
        {"", "mcp_response", "tool"},
        {"", "pcp_response", "tool"},
        {"", "tool_response", "tool"},
        {"'tool_response'", "tool", "tool_response"},
        {"'model'", "assistant", "model"},
        {"'model' 'assistant'", "assistant", "assistant"},
        {"", "user", "user"},
        {"", "narrator", "narrator"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cf_role_map map;
        cf_role_map_init(&map, cf_str_from(rows[i].source));
        cf_str to = cf_role_map_get(&map, cf_str_from(rows[i].from));
        T_TEXT(to.p, to.n, rows[i].to);
    }
}

static void test_response__merge(void **state)
{
    (void)state;
    cf_error err = {0};
    cf_chat_response a, b, out;
    cf_chat_response_init(&a);
    cf_chat_response_init(&b);
    cf_chat_response_init(&out);
    T_OK(cf_chat_response_merge(&out, NULL, 0, &err), err);
    assert_true(cf_str_is(cf_json_get_str(out.message, "content"), ""));
    a.message = cf_chat_json("{\"role\":\"assistant\",\"content\":\"Hello\"}");
    a.usage = (cf_usage){1, 2, 3, 0, true};
    b.message = cf_chat_json("{\"role\":\"assistant\",\"content\":\"World\","
                             "\"tool_calls\":[{}]}");
    const cf_chat_response *in[] = {&a, &b};
    T_OK(cf_chat_response_merge(&out, in, 2, &err), err);
    assert_true(cf_str_is(cf_json_get_str(out.message, "content"), "Hello\nWorld"));
    assert_int_equal(json_array_size(json_object_get(out.message, "tool_calls")), 1);
    assert_int_equal(out.usage.n_total, 3);
    assert_true(out.usage.is_known);
    cf_chat_response_deinit(&a);
    cf_chat_response_deinit(&b);
    cf_chat_response_deinit(&out);
}

/* ---- from another thread ------------------------------------------------ */

static void *set_cancel(void *ud)
{
    atomic_store_explicit((cf_cancel *)ud, true, memory_order_relaxed);
    return NULL;
}

static void test_send__cancel_from_a_thread(void **state)
{
    (void)state;
    cf_error err = {0};
    cf_backend *b = cf_chat_script("{\"replies\":[{\"text\":\"abcdefghijkl\","
                                   "\"chunk\":1,\"delay_ms\":30000}]}",
                                   CF_TOOLS_NONE);
    cf_conversation *conv = cf_chat_tree(NULL);
    cf_cancel cancel;
    atomic_init(&cancel, false);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, set_cancel, &cancel), 0);
    cf_sent sent;
    cf_sent_init(&sent);
    cf_send send = {.message = cf_chat_hello(), .cancel = &cancel};
    T_FAILS(cf_conversation_send(conv, b, &send, &sent, &err), CF_ECANCELLED);
    pthread_join(thread, NULL);
    cf_sent_deinit(&sent);
    cf_conversation_free(conv);
    cf_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_send__success),
        cmocka_unit_test(test_send__cancel_at_each_stage),
        cmocka_unit_test(test_send__cancelled_before_a_byte),
        cmocka_unit_test(test_send__failures),
        cmocka_unit_test(test_send__stop_strings_and_length),
        cmocka_unit_test(test_send__bad_options_change_nothing),
        cmocka_unit_test(test_send__parse_failure),
        cmocka_unit_test(test_send__pending),
        cmocka_unit_test(test_tree__uuids),
        cmocka_unit_test(test_tree__retry_and_clone),
        cmocka_unit_test(test_tree__system_prompt),
        cmocka_unit_test(test_send__appends_to_a_pending_message),
        cmocka_unit_test(test_tree__checkpoints),
        cmocka_unit_test(test_send__asynchronous),
        cmocka_unit_test(test_send__fails_on_length),
        cmocka_unit_test(test_options__thinking_precedence),
        cmocka_unit_test(test_roles__mapping),
        cmocka_unit_test(test_response__merge),
        cmocka_unit_test(test_send__cancel_from_a_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
