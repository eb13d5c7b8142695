/*
 * test_server_kind.c - servers as open boxes: each kind is recognised by
 * itself, and shows its prompt, tokens, limit and likelihoods; constraints go
 * in its own form.
 */
#include "core/api/backend.h"
#include "core/api/renderer.h"
#include "tests/support/path_server.h"
#include "tests/support/t.h"

#include <math.h>

/* ---- stand-ins, in the forms that the servers answer with --------------- */

static const cf_path_answer llama[] = {
    {.path = "/props",
     .body = "{\"default_generation_settings\":{\"n_ctx\":4096},"
             "\"build_info\":\"b4242-abc\"}"},
    {.path = "/apply-template", .body = "{\"prompt\":\"<s>hi \xc3\xa4</s>\"}"},
    {.path = "/tokenize",
     .body = "{\"tokens\":[{\"id\":1,\"piece\":\"\"},{\"id\":5,\"piece\":"
             "\"<s>\"},{\"id\":6,\"piece\":\"hi \"},{\"id\":7,\"piece\":[195]},"
             "{\"id\":8,\"piece\":[164]},{\"id\":9,\"piece\":\"</s>\"}]}"},
    {.path = "/completion",
     .body = "{\"completion_probabilities\":[{\"id\":6,\"top_logprobs\":["
             "{\"id\":9,\"logprob\":-2.5},{\"id\":6,\"logprob\":-0.5},"
             "{\"id\":7,\"logprob\":-1.0},{\"id\":8,\"logprob\":-1.0}]}]}"},
    {.path = "/v1/chat/completions",
     .body = "data: {\"choices\":[{\"delta\":{\"content\":\"yes\"},"
             "\"finish_reason\":null}]}\n\n"
             "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],"
             "\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":1},"
             "\"timings\":{\"cache_n\":12}}\n\ndata: [DONE]\n\n"},
    {.path = NULL}};

/* A server that gives ids alone, and fails over half a character. */
static const cf_path_answer ids_only[] = {
    {.path = "/props", .body = "{\"default_generation_settings\":{\"n_ctx\":64}}"},
    {.path = "/apply-template", .body = "{\"prompt\":\"aa\"}"},
    {.path = "/tokenize", .body = "{\"tokens\":[4,4]}"},
    {.path = "/detokenize", .body = "{\"content\":\"a\"}"},
    {.path = NULL}};

static const cf_path_answer vllm[] = {
    {.path = "/version", .body = "{\"version\":\"0.10.1\"}"},
    {.path = "/v1/models",
     .body = "{\"data\":[{\"id\":\"other\",\"max_model_len\":1},"
             "{\"id\":\"m\",\"max_model_len\":8192}]}"},
    {.path = "/tokenize",
     .body = "{\"count\":3,\"max_model_len\":8192,\"tokens\":[5,6,7],"
             "\"token_strs\":[\"<s>\",\"hi\",\"\xc4\xa0you\"]}"},
    {.path = "/detokenize", .body = "{\"prompt\":\"<s>hi you\"}"},
    {.path = "/v1/completions",
     .body = "{\"choices\":[{\"text\":\"x\",\"prompt_logprobs\":[null,"
             "{\"6\":{\"logprob\":-1.5,\"rank\":1,\"decoded_token\":\"hi\"}},"
             "{\"9\":{\"logprob\":-0.1,\"rank\":1,\"decoded_token\":\"no\"},"
             "\"7\":{\"logprob\":-3.5,\"rank\":4,\"decoded_token\":\" you\"}}]}]}"},
    {.path = "/v1/chat/completions",
     .body = "{\"prompt_token_ids\":[5,6,7],\"choices\":[{\"message\":{"
             "\"content\":\"ok\"},\"token_ids\":[11,12],\"finish_reason\":"
             "\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":"
             "2,\"prompt_tokens_details\":{\"cached_tokens\":2}}}"},
    {.path = NULL}};

static const cf_path_answer vllm_new[] = {{.path = "/version", .body = "{\"version\":\"0.13.0\"}"},
                                          {.path = "/v1/models", .body = "{\"data\":[]}"},
                                          {.path = "/v1/chat/completions",
                                           .body =
                                               "{\"choices\":[{\"message\":{\"content\":\"ok\"},"
                                               "\"finish_reason\":\"stop\"}]}"},
                                          {.path = NULL}};

static const cf_path_answer ollama[] = {
    {.path = "/api/version", .body = "{\"version\":\"0.12.6\"}"},
    {.path = "/api/ps", .body = "{\"models\":[{\"name\":\"m\",\"context_length\":16384}]}"},
    {.path = "/api/chat",
     .body = "{\"model\":\"m\",\"_debug_info\":{\"rendered_template\":"
             "\"<|user|>hi there\"}}"},
    {.path = NULL}};

static const cf_path_answer old_ollama[] = {
    {.path = "/api/version", .body = "{\"version\":\"0.5.7\"}"},
    {.path = "/api/ps", .body = "{\"models\":[]}"},
    {.path = "/api/show", .body = "{\"parameters\":\"stop \\\"x\\\"\\nnum_ctx    2048\"}"},
    {.path = NULL}};

static const cf_path_answer tgi[] = {
    {.path = "/info",
     .body = "{\"model_id\":\"m\",\"max_total_tokens\":4000,"
             "\"version\":\"3.2.0\"}"},
    {.path = "/chat_tokenize",
     .body = "{\"templated_text\":\"\xc3\xa4 hi\",\"tokenize_response\":["
             "{\"id\":3,\"text\":\"\xc3\xa4\",\"start\":0,\"stop\":1},"
             "{\"id\":4,\"text\":\" hi\",\"start\":1,\"stop\":4}]}"},
    {.path = "/generate",
     .body = "{\"generated_text\":\"x\",\"details\":{\"prefill\":["
             "{\"id\":3,\"text\":\"hi\",\"logprob\":null},"
             "{\"id\":4,\"text\":\" you\",\"logprob\":-2.0}]}}"},
    {.path = "/v1/chat/completions",
     .body = "{\"choices\":[{\"message\":{\"content\":\"ok\"},"
             "\"finish_reason\":\"stop\"}]}"},
    {.path = NULL}};

static const cf_path_answer lmstudio[] = {
    {.path = "/props", .body = "{\"error\":\"Unexpected endpoint\"}"},
    {.path = "/api/version", .body = "{\"error\":\"Unexpected endpoint\"}"},
    {.path = "/api/v0/models",
     .body = "{\"data\":[{\"id\":\"m\",\"state\":\"loaded\","
             "\"loaded_context_length\":12000,\"max_context_length\":99}]}"},
    {.path = NULL}};

static const cf_path_answer plain[] = {
    {.path = "/v1/completions",
     .body = "{\"choices\":[{\"text\":\"hi you\",\"logprobs\":{\"tokens\":["
             "\"hi\",\" you\"],\"token_logprobs\":[null,-1.25]}}]}"},
    {.path = "/v1/chat/completions",
     .body = "{\"choices\":[{\"message\":{\"content\":\"ok\"},"
             "\"finish_reason\":\"stop\"}]}"},
    {.path = NULL}};

/* ---- one server --------------------------------------------------------- */

typedef struct scene {
    cf_path_server server;
    cf_backend *backend;
    cf_arena arena;
    json_t *messages;
    cf_chat_request request;
    cf_error err;
} scene;

static void begin(scene *s, const cf_path_answer *answers)
{
    cf_remote_options o = {.model = "m", .n_retries = UINT32_MAX};
    memset(s, 0, sizeof *s);
    cf_path_server_start(&s->server, answers);
    assert_int_equal(cf_backend_remote_new(&s->backend, s->server.url, &o, &s->err), CF_OK);
    cf_arena_init(&s->arena, 0);
    s->messages = json_pack("[{s:s, s:s}]", "role", "user", "content", "hi \xc3\xa4");
    s->request.messages = s->messages;
}

static void end(scene *s)
{
    cf_path_server_stop(&s->server);
    cf_backend_free(s->backend);
    cf_arena_deinit(&s->arena);
    json_decref(s->messages);
}

static void is_kind(const cf_path_answer *answers, const char *name, uint32_t n_ctx)
{
    scene s;
    begin(&s, answers);
    assert_int_equal(cf_backend_ask(s.backend, NULL, &s.err), CF_OK);
    cf_backend_info info = cf_backend_get_info(s.backend);
    assert_string_equal(info.server, name);
    assert_int_equal(info.n_ctx, n_ctx);
    size_t n = s.server.n_seen; /* asked once */
    assert_int_equal(cf_backend_ask(s.backend, NULL, &s.err), CF_OK);
    end(&s);
    assert_int_equal(s.server.n_seen, n);
}

static void test_server_kind__recognises_each_kind(void **state)
{
    (void)state;
    is_kind(llama, "llama-server", 4096);
    is_kind(vllm, "vLLM", 8192);
    is_kind(ollama, "Ollama", 16384);
    is_kind(old_ollama, "Ollama", 2048);
    is_kind(tgi, "TGI", 4000);
    is_kind(lmstudio, "LM Studio", 12000);
    is_kind(plain, "", 0);
}

/* ---- prompts ------------------------------------------------------------ */

/* The prompt, and its tokens as "id:text|". */
static void shows(const cf_path_answer *answers, const char *prompt, const char *tokens)
{
    scene s;
    cf_prompt p;
    cf_token_list list = {NULL, 0};
    begin(&s, answers);
    cf_status st = tokens != NULL
                       ? cf_backend_tokenise(s.backend, &s.request, &s.arena, &p, &list, &s.err)
                       : cf_backend_render(s.backend, &s.request, &s.arena, &p, &s.err);
    assert_int_equal(st, CF_OK);
    assert_int_equal(p.text.n, strlen(prompt));
    assert_memory_equal(p.text.p, prompt, p.text.n);
    size_t at = 0; /* spans cover the prompt without a gap */
    for (size_t i = 0; i < p.n_spans; i++) {
        assert_int_equal(p.spans[i].off, at);
        at += p.spans[i].len;
    }
    assert_int_equal(at, p.text.n);
    cf_buf text = CF_BUF_INIT;
    for (size_t i = 0; i < list.n; i++) {
        cf_buf_addf(&text, "%d:%.*s|", (int)list.v[i].id, (int)list.v[i].len,
                    p.text.p + list.v[i].off);
    }
    assert_string_equal(cf_buf_cstr(&text), tokens != NULL ? tokens : "");
    cf_buf_deinit(&text);
    end(&s);
}

static void test_server_kind__shows_the_servers_prompt(void **state)
{
    (void)state;
    shows(llama, "<s>hi \xc3\xa4</s>", "1:|5:<s>|6:hi |7:\xc3|8:\xa4|9:</s>|");
    shows(ids_only, "aa", "4:a|4:a|");
    shows(vllm, "<s>hi you", "5:<s>|6:hi|7: you|");
    shows(tgi, "\xc3\xa4 hi", "3:\xc3\xa4|4: hi|");
    shows(ollama, "<|user|>hi there", NULL);
}

/* The message's text is found in a prompt that is the server's. */
static void test_server_kind__finds_messages_in_the_prompt(void **state)
{
    (void)state;
    scene s;
    cf_prompt p;
    begin(&s, llama);
    assert_int_equal(cf_backend_render(s.backend, &s.request, &s.arena, &p, &s.err), CF_OK);
    assert_int_equal(p.n_spans, 3);
    assert_int_equal(p.spans[1].source, CF_SPAN_MESSAGE);
    assert_int_equal(p.spans[1].off, 3);
    assert_int_equal(p.spans[1].len, 5);
    end(&s);
}

static void test_server_kind__a_plain_server_gets_ours(void **state)
{
    (void)state;
    scene s;
    cf_prompt p;
    begin(&s, plain);
    assert_int_equal(cf_backend_render(s.backend, &s.request, &s.arena, &p, &s.err),
                     CF_EUNSUPPORTED);
    assert_false(cf_backend_get_info(s.backend).prompt_is_ours);
    cf_backend_remote_set(s.backend, cf_renderer_plain());
    assert_int_equal(cf_backend_render(s.backend, &s.request, &s.arena, &p, &s.err), CF_OK);
    assert_true(cf_backend_get_info(s.backend).prompt_is_ours);
    assert_true(cf_backend_get_info(s.backend).shows_prompt);
    end(&s);
}

/* ---- likelihoods -------------------------------------------------------- */

static void scores(const cf_path_answer *answers, const char *context, const char *text,
                   const char *want)
{
    scene s;
    cf_score score;
    cf_buf line = CF_BUF_INIT;
    begin(&s, answers);
    assert_int_equal(cf_backend_score(s.backend, cf_str_from(context), cf_str_from(text), NULL,
                                      &s.arena, &score, &s.err),
                     CF_OK);
    for (size_t i = 0; i < score.n; i++) {
        cf_buf_addf(&line, "%.*s=%g ", (int)score.v[i].len, text + score.v[i].off,
                    (double)score.log_p[i]);
    }
    assert_string_equal(cf_buf_cstr(&line), want);
    cf_buf_deinit(&line);
    end(&s);
}

/* Servers that put a BOS before a prompt, though a template has written one. */
static char *vllm_tokens(const char *request)
{
    const bool adds = strstr(request, "\"add_special_tokens\":true") != NULL;
    return strdup(adds ? "{\"tokens\":[5,5,6]}" : "{\"tokens\":[5,6]}");
}

static char *vllm_prompt_logprobs(const char *request)
{
    const bool adds = strstr(request, "\"add_special_tokens\":true") != NULL;
    char *out = malloc(500);
    assert_non_null(out);
    snprintf(out, 500,
             "{\"choices\":[{\"text\":\"x\",\"prompt_logprobs\":[null,%s"
             "{\"6\":{\"logprob\":-1.5,\"rank\":1,\"decoded_token\":\"hi\"}},"
             "{\"7\":{\"logprob\":-3.5,\"rank\":4,\"decoded_token\":"
             "\" you\"}}]}]}",
             adds ? "{\"5\":{\"logprob\":-90,\"rank\":9,\"decoded_token\":"
                    "\"<s> you\"}},"
                  : "");
    return out;
}

static const cf_path_answer vllm_doubles[] = {
    {.path = "/version", .body = "{\"version\":\"0.10.1\"}"},
    {.path = "/tokenize", .make = vllm_tokens},
    {.path = "/v1/completions", .make = vllm_prompt_logprobs},
    {.path = NULL}};

/* The likelihood is that after one BOS. */
static char *llama_completion(const char *request)
{
    return strdup(strstr(request, "\"prompt\":[1]") != NULL
                      ? "{\"completion_probabilities\":[{\"id\":6,"
                        "\"top_logprobs\":[{\"id\":6,\"logprob\":-0.5}]}]}"
                      : "{\"completion_probabilities\":[{\"id\":6,"
                        "\"top_logprobs\":[{\"id\":6,\"logprob\":-99}]}]}");
}

static const cf_path_answer llama_doubles[] = {
    {.path = "/props", .body = "{\"default_generation_settings\":{\"n_ctx\":64}}"},
    {.path = "/tokenize",
     .body = "{\"tokens\":[{\"id\":1,\"piece\":\"<s>\"},{\"id\":1,\"piece\":"
             "\"<s>\"},{\"id\":6,\"piece\":\"hi\"}]}"},
    {.path = "/completion", .make = llama_completion},
    {.path = NULL}};

static void test_server_kind__scores_a_text(void **state)
{
    (void)state;
    scores(vllm, "hi", " you", " you=-3.5 ");
    scores(tgi, "hi", " you", " you=-2 ");
    scores(plain, "hi", " you", " you=-1.25 ");
    scores(llama, "<s>", "hi \xc3\xa4</s>", "hi =-0.5 \xc3=-1 \xa4=-1 </s>=-2.5 ");
    scores(vllm_doubles, "<s>hi", " you", " you=-3.5 ");
    scores(llama_doubles, "<s>", "hi", "hi=-0.5 ");
    scene s;
    cf_score score;
    begin(&s, old_ollama); /* which has no way to */
    assert_int_equal(cf_backend_score(s.backend, cf_str_from("a"), cf_str_from("b"), NULL, &s.arena,
                                      &score, &s.err),
                     CF_EUNSUPPORTED);
    end(&s);
}

#define ECHO(tokens, values)                                                                     \
    {                                                                                            \
        {"/v1/completions", 0,                                                                   \
         "{\"choices\":[{\"logprobs\":{\"tokens\":" tokens ",\"token_logprobs\":" values "}}]}", \
         NULL, NULL},                                                                            \
            {NULL, 0, NULL, NULL, NULL},                                                         \
    }

/* A server that ignores the echo, answers with another text or with a part of
 * it scores nothing. */
static void test_server_kind__other_echoes(void **state)
{
    (void)state;
    static const cf_path_answer wrong[][2] = {
        ECHO("[\".\"]", "[-0.1]"),  ECHO("[\"hi\",\" me!\"]", "[null,-1]"),
        ECHO("[\"hi\"]", "[null]"), ECHO("[\" you\"]", "[-1]"),
        ECHO("[]", "[]"),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        scene s;
        cf_score score;
        begin(&s, wrong[i]);
        assert_int_equal(cf_backend_score(s.backend, cf_str_from("hi"), cf_str_from(" you"), NULL,
                                          &s.arena, &score, &s.err),
                         CF_EUNSUPPORTED);
        end(&s);
    }
    /* A beginning of the vocabulary's, a space before the first word, halves of
     * a character, and a generated token are none of the text's. */
    static const cf_path_answer right[] =
        ECHO("[\"<s>\",\" hi\",\"\xef\xbf\xbd\",\"\xef\xbf\xbd\",\"!\"]", "[null,-1,-2,-3,-4]");
    scores(right, "hi", "\xc3\xa4", "\xc3\xa4=-2 =-3 ");
}

/* ---- constraints -------------------------------------------------------- */

/* The request holds `want`; NULL: it is refused. */
static void constrains(const cf_path_answer *answers, const char *spec, const char *want)
{
    scene s;
    cf_chat_response out;
    begin(&s, answers);
    cf_chat_response_init(&out);
    json_t *v = json_loads(spec, 0, NULL);
    const cf_chat_options o = {.constraint = v};
    s.request.options = &o;
    cf_status st = cf_backend_generate(s.backend, &s.request, &out, &s.err);
    assert_int_equal(st, want != NULL ? CF_OK : CF_EUNSUPPORTED);
    json_decref(v);
    cf_chat_response_deinit(&out);
    end(&s);
    const char *sent = cf_path_server_last(&s.server, "/v1/chat/completions");
    if (want == NULL) {
        assert_null(sent);
        assert_non_null(strstr(s.err.text, "it takes: "));
    } else {
        assert_non_null(strstr(sent, want));
    }
}

static void test_server_kind__constrains_in_the_servers_form(void **state)
{
    (void)state;
    static const char schema[] = "{\"schema\":{\"type\":\"object\"}}";
    static const char regex[] = "{\"regex\":\"[0-9]+\"}";
    static const char choice[] = "{\"choices\":[\"a\",\"b\"]}";
    static const char grammar[] = "{\"grammar\":\"root ::= \\\"a\\\"\"}";
    constrains(plain, schema,
               "\"response_format\":{\"type\":\"json_schema\",\"json_schema\":"
               "{\"name\":\"reply\",\"strict\":true,\"schema\":{\"type\":"
               "\"object\"}}}");
    constrains(tgi, schema, "\"response_format\":{\"type\":\"json\",\"value\":{\"type\":");
    constrains(tgi, regex, "\"response_format\":{\"type\":\"regex\",\"value\":\"[0-9]+\"}");
    constrains(vllm, regex, "\"guided_regex\":\"[0-9]+\"");
    constrains(vllm_new, regex, "\"structured_outputs\":{\"regex\":\"[0-9]+\"}");
    constrains(vllm, choice, "\"guided_choice\":[\"a\",\"b\"]");
    constrains(llama, choice, "\"grammar\":\"root ::= \\\"a\\\" | \\\"b\\\"\"");
    constrains(llama, grammar, "\"grammar\":\"root ::= \\\"a\\\"\"");
    constrains(llama, grammar, "\"chat_template_kwargs\":{\"enable_thinking\":false}");
    constrains(llama, choice, "\"chat_template_kwargs\":{\"enable_thinking\":false}");
    constrains(llama, regex, NULL);
    constrains(plain, grammar, NULL);
    constrains(plain, choice, NULL);
}

/* ---- replies ------------------------------------------------------------ */

static void test_server_kind__replies_tell_tokens_and_the_kept_prefix(void **state)
{
    (void)state;
    scene s;
    cf_chat_response out;
    begin(&s, vllm);
    cf_chat_response_init(&out);
    assert_int_equal(cf_backend_ask(s.backend, NULL, &s.err), CF_OK);
    assert_int_equal(cf_backend_generate(s.backend, &s.request, &out, &s.err), CF_OK);
    assert_int_equal(out.n_prompt_ids, 3);
    assert_int_equal(out.prompt_ids[2], 7);
    assert_int_equal(out.n_reply_ids, 2);
    assert_int_equal(out.reply_ids[1], 12);
    assert_int_equal(out.usage.n_cached, 2);
    end(&s);
    assert_non_null(strstr(cf_path_server_last(&s.server, "/v1/chat/completions"),
                           "\"return_token_ids\":true"));
    begin(&s, llama);
    assert_int_equal(cf_backend_generate(s.backend, &s.request, &out, &s.err), CF_OK);
    assert_int_equal(out.usage.n_cached, 12);
    cf_chat_response_deinit(&out);
    end(&s);
}

static char *template_without(const char *request)
{
    return strdup(strstr(request, "\"tools\"") != NULL && strstr(request, "lost_tool") == NULL
                      ? "{\"prompt\":\"tools: f. hi\"}"
                      : "{\"prompt\":\"hi\"}");
}

static void count(void *ud, const cf_loss *loss)
{
    if (loss->kind == CF_LOSS_TOOL) {
        assert_string_equal(loss->path.p, "tools[0]");
    }
    ++*(size_t *)ud;
}

/* Tools are lost where the server writes the same prompt without them; of
 * anything else in its prompt nothing is claimed. */
static void test_server_kind__tools_that_it_writes(void **state)
{
    (void)state;
    static const cf_path_answer boxes[] = {
        {.path = "/props", .body = "{\"default_generation_settings\":{\"n_ctx\":64}}"},
        {.path = "/apply-template", .make = template_without},
        {.path = NULL}};
    static const char *const names[] = {"f", "lost_tool"};
    for (size_t i = 0; i < 2; i++) {
        scene s;
        cf_prompt p;
        cf_tool_set *tools;
        size_t n = 0;
        begin(&s, boxes);
        json_t *list = json_pack("[{s:s}]", "name", names[i]);
        json_t *said = json_pack("[{s:s, s:s}]", "role", "user", "content", "not in it");
        T_OK(cf_tool_set_new(&tools, list, &s.err), s.err);
        s.request.tools = tools;
        T_OK(cf_backend_render(s.backend, &s.request, &s.arena, &p, &s.err), s.err);
        assert_true(p.is_foreign);
        T_OK(cf_prompt_each_loss(&p, said, list, count, &n, &s.err), s.err);
        assert_int_equal(n, i);
        cf_tool_set_free(tools);
        json_decref(list);
        json_decref(said);
        end(&s);
    }
}

/* Answers of other forms are errors of one line. */
static void test_server_kind__strange_answers(void **state)
{
    (void)state;
    static const cf_path_answer strange[][4] = {
        {{.path = "/props", .body = "{\"default_generation_settings\":7}"},
         {.path = "/apply-template", .body = "{\"prompt\":7}"},
         {.path = NULL}},
        {{.path = "/props", .body = "{\"default_generation_settings\":{}}"},
         {.path = "/apply-template", .body = "{\"prompt\":\"a\"}"},
         {.path = "/tokenize", .body = "{\"tokens\":[{\"id\":-4}]}"},
         {.path = NULL}},
        {{.path = "/version", .body = "{\"version\":\"x\"}"},
         {.path = "/tokenize", .body = "[]"},
         {.path = NULL}},
        {{.path = "/info", .body = "{\"max_total_tokens\":-1}"},
         {.path = "/chat_tokenize",
          .body = "{\"templated_text\":\"abc\",\"tokenize_response\":["
                  "{\"id\":1,\"start\":9,\"stop\":2}]}"},
         {.path = NULL}},
    };
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        scene s;
        cf_prompt p;
        cf_token_list list;
        begin(&s, strange[i]);
        assert_int_equal(cf_backend_tokenise(s.backend, &s.request, &s.arena, &p, &list, &s.err),
                         CF_EFORMAT);
        end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_kind__recognises_each_kind),
        cmocka_unit_test(test_server_kind__shows_the_servers_prompt),
        cmocka_unit_test(test_server_kind__finds_messages_in_the_prompt),
        cmocka_unit_test(test_server_kind__a_plain_server_gets_ours),
        cmocka_unit_test(test_server_kind__scores_a_text),
        cmocka_unit_test(test_server_kind__other_echoes),
        cmocka_unit_test(test_server_kind__constrains_in_the_servers_form),
        cmocka_unit_test(test_server_kind__replies_tell_tokens_and_the_kept_prefix),
        cmocka_unit_test(test_server_kind__strange_answers),
        cmocka_unit_test(test_server_kind__tools_that_it_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
