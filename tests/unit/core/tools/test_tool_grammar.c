/*
 * test_tool_grammar.c - which replies with calls are accepted, in each
 * family's syntax and each mode.
 */
#include "core/api/constraint.h"
#include "tests/support/t.h"

/* get_weather(location!, unit?), get_time(), set_timer(sound!, duration!),
 * ping(timeout?), search(query!, filter?) */
static const char declarations[] =
    "[{\"name\":\"get_weather\",\"parameters\":{\"type\":\"object\","
    "\"properties\":{\"location\":{\"type\":\"string\"},\"unit\":{\"type\":"
    "\"string\",\"enum\":[\"celsius\",\"fahrenheit\"]}},\"required\":["
    "\"location\"]}},"
    "{\"name\":\"get_time\"},"
    "{\"name\":\"set_timer\",\"parameters\":{\"type\":\"object\","
    "\"properties\":{\"duration\":{\"type\":\"integer\"},\"sound\":{\"type\":"
    "\"boolean\"}},\"required\":[\"sound\",\"duration\"]}},"
    "{\"name\":\"ping\",\"parameters\":{\"type\":\"object\",\"properties\":{"
    "\"timeout\":{\"type\":\"integer\"}}}},"
    "{\"type\":\"function\",\"function\":{\"name\":\"search\",\"parameters\":{"
    "\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\"},"
    "\"filter\":{\"type\":\"object\",\"properties\":{\"tags\":{\"type\":"
    "\"array\",\"items\":{\"type\":\"string\"}}}}},\"required\":[\"query\"]}}}"
    "]";

typedef struct one {
    const char *text;
    bool want;
} one;

static void check(const cf_tool_constraint *base, const char *tools, const one *v, size_t n)
{
    cf_error err;
    json_t *json;
    cf_tool_set *set;
    cf_grammar *g;
    cf_tool_constraint spec = *base;
    T_OK(cf_json_read(&json, tools, strlen(tools), &err), err);
    T_OK(cf_tool_set_new(&set, json, &err), err);
    spec.tools = set;
    T_OK(cf_grammar_from_tools(&g, &spec, NULL, &err), err);
    for (size_t i = 0; i < n; i++) {
        cf_constraint *c;
        size_t taken;
        T_OK(cf_constraint_new(&c, g, NULL, &err), err);
        T_OK(cf_constraint_bytes(c, v[i].text, strlen(v[i].text), &taken, &err), err);
        bool yes = taken == strlen(v[i].text) && cf_constraint_may_end(c);
        if (yes != v[i].want) {
            fail_msg("%s, mode %d: '%s' %s at byte %zu", cf_tool_family_name(spec.family),
                     (int)spec.mode, v[i].text, yes ? "accepted" : "refused", taken);
        }
        cf_constraint_free(c);
    }
    cf_grammar_free(g);
    cf_tool_set_free(set);
    json_decref(json);
}

#define CHECK(spec, v) check((spec), declarations, (v), sizeof(v) / sizeof *(v))
#define PY(x)          "```tool_code\n" x "\n```"

static void test_tools__python(void **state)
{
    (void)state;
    const cf_tool_constraint spec = {.family = CF_TOOLS_GEMMA3};
    static const one v[] = {
        {"A normal text", false},
        {"text " PY("get_time()"), false},
        {PY("get_time()"), true},
        {PY("get_weath()"), false},
        {PY("get_weather(location=\"Oslo\")"), true},
        {PY("get_weather(location='Oslo', unit='celsius')"), true},
        {PY("get_weather(unit='celsius', location='Oslo')"), true},
        {PY("get_weather(location = 'Oslo',unit= 'celsius')"), true},
        {PY("get_weather(location='Oslo', unit='kelvin')"), false},
        {PY("get_weather(location='Oslo', extra=1)"), false},
        {PY("get_weather(location='Oslo', location='Rome')"), false},
        {PY("get_weather()"), false},
        {PY("get_time(timezone=\"PST\")"), false},
        {PY("ping()"), true},
        {PY("ping(timeout=5)"), true},
        {PY("set_timer(duration=10, sound=True)"), true},
        {PY("set_timer(duration=10, sound=true)"), false},
        {PY("get_time()\nping()"), true},
        {PY("[get_time(), ping()]"), true},
        {PY("[get_time(),ping()]"), true},
        {PY("[print(default_api.get_time()),ping()]"), true},
        {PY("[get_time()ping()]"), false},
        {PY("search(query='a\\'b', filter={\"tags\": ['x', \"y\"]})"), true},
        {"```tool_code\nget_time()", false},
        {PY("get_time()") "\n", false},
    };
    CHECK(&spec, v);
}

static void test_tools__seed_order(void **state)
{
    (void)state;
    const cf_tool_constraint spec = {.family = CF_TOOLS_GEMMA3, .seed_order = true};
    static const one v[] = {
        {PY("set_timer(sound=True, duration=10)"), true},
        {PY("set_timer(duration=10, sound=True)"), false},
        {PY("get_weather(location='Oslo', unit='celsius')"), true},
        {PY("get_weather(unit='celsius', location='Oslo')"), false},
        {PY("ping()"), true},
    };
    CHECK(&spec, v);
}

static void test_tools__text_and(void **state)
{
    (void)state;
    const cf_tool_constraint spec = {.family = CF_TOOLS_GEMMA3, .mode = CF_TOOLS_TEXT_AND};
    static const one v[] = {
        {"", true},
        {"Some html tags <div>some text</div>", true},
        {"``` is no fence", true},
        {PY("get_time()"), true},
        {"Let me see.\n" PY("get_time()"), true},
        {"Let me see.\n" PY("get_time()\nping()"), true},
        {"Let me see.\n" PY("get_weath()"), false},
        {"Let me see.\n```tool_code\n", false},
        {PY("get_time()") " and text", false},
    };
    CHECK(&spec, v);
    /* A is a line break: a reply may begin with B, text needs A before. */
    const cf_tool_constraint own = {.family = CF_TOOLS_GEMMA3,
                                    .mode = CF_TOOLS_TEXT_AND,
                                    .has_fences = true,
                                    .prefix = {"<call>", 6},
                                    .before = {"\n", 1},
                                    .suffix = {"</call>", 7}};
    static const one w[] = {
        {"<call>get_time()</call>", true},
        {"text\n<call>get_time()</call>", true},
        {"text\n<call>get_tim()</call>", false},
        {"text <call>get_time()</call>", true}, /* without A it is text */
        {"<call>", false},
        {"<call>get_time()", false},
    };
    CHECK(&own, w);
    /* No tools: text without the fence. */
    static const one t[] = {
        {"Some html tags <div>some text</div>", true},
        {"any ```tool_code\nget_time()\n```", false},
    };
    check(&spec, "[]", t, 2);
}

static void test_tools__text_until(void **state)
{
    (void)state;
    const cf_tool_constraint spec = {.family = CF_TOOLS_GEMMA3, .mode = CF_TOOLS_TEXT_UNTIL};
    static const one v[] = {
        {"text only", false},
        {PY("get_time()"), true},
        {"thinking ```" PY("get_time()"), true},
        {"thinking " PY("get_tim()"), false},
    };
    CHECK(&spec, v);
}

static void test_tools__json_families(void **state)
{
    (void)state;
    const cf_tool_constraint hermes = {.family = CF_TOOLS_HERMES};
    static const one v[] = {
        {"<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>", true},
        {"<tool_call>\n{\"name\": \"ping\", \"arguments\": {\"timeout\": 5}}\n"
         "</tool_call>\n<tool_call>\n{\"name\": \"get_time\", \"arguments\": "
         "{}}\n</tool_call>",
         true},
        {"<tool_call>\n{\"name\": \"ping\", \"arguments\": {\"timeout\": "
         "\"5\"}}\n</tool_call>",
         false},
        {"<tool_call>\n{\"name\": \"pong\", \"arguments\": {}}\n</tool_call>", false},
        {"<tool_call>\n{\"name\": \"ping\"}\n</tool_call>", false},
        {"<tool_call>\n{\"name\": \"search\", \"arguments\": "
         "{\"query\": \"a\", \"filter\": {\"tags\": []}}}\n</tool_call>",
         true},
        /* as the check of calls has it, objects inside are closed too */
        {"<tool_call>\n{\"name\": \"search\", \"arguments\": "
         "{\"query\": \"a\", \"filter\": {\"x\": []}}}\n</tool_call>",
         false},
    };
    CHECK(&hermes, v);
    const cf_tool_constraint llama = {.family = CF_TOOLS_LLAMA_JSON, .mode = CF_TOOLS_TEXT_AND};
    static const one w[] = {
        {"{\"name\": \"ping\", \"parameters\": {}}", true},
        {"{\"name\": \"ping\", \"parameters\": {}}; {\"name\": \"get_time\", "
         "\"parameters\": {}}",
         true},
        {"Hello", true},
        {"{\"name\": \"pong\", \"parameters\": {}}", false},
    };
    CHECK(&llama, w);
    const cf_tool_constraint hammer = {.family = CF_TOOLS_HAMMER};
    static const one x[] = {
        {"```\n[{\"name\": \"ping\", \"arguments\": {}}, {\"name\": "
         "\"get_time\", \"arguments\": {}}]\n```",
         true},
        {"```\n[]\n```", false},
    };
    CHECK(&hammer, x);
    const cf_tool_constraint mistral = {.family = CF_TOOLS_MISTRAL};
    static const one y[] = {
        {"[TOOL_CALLS] [{\"name\": \"ping\", \"arguments\": {}}]", true},
        {"[{\"name\": \"ping\", \"arguments\": {}}]", false},
    };
    CHECK(&mistral, y);
}

static void test_tools__fc_families(void **state)
{
    (void)state;
    const cf_tool_constraint fc = {.family = CF_TOOLS_FUNCTIONGEMMA,
                                   .has_fences = true,
                                   .prefix = {"<start_function_call>", 21},
                                   .suffix = {"<end_function_call><start_function_response>", 44}};
    static const one v[] = {
        {"<start_function_call>call:get_weather{location:<escape>Oslo<escape>}"
         "<end_function_call><start_function_response>",
         true},
        {"<start_function_call>call:get_weather{location:<escape>Oslo<escape>}"
         "<end_function_call>",
         false},
        {"<start_function_call>call:get_weather{location:<escape>Oslo<escape>}"
         "<end_function_call><start_function_response>x",
         false},
        {"<start_function_call>call:get_weather{location:Oslo}"
         "<end_function_call><start_function_response>",
         false},
    };
    CHECK(&fc, v);
    const cf_tool_constraint gemma = {.family = CF_TOOLS_GEMMA4};
    static const one w[] = {
        {"<|tool_call>call:search{query:<|\"|>a{\"b\"}<|\"|>,filter:{tags:["
         "<|\"|>x<|\"|>]}}<tool_call|>",
         true},
        {"<|tool_call>call:set_timer{duration:1,sound:true}<tool_call|>"
         "<|tool_call>call:ping{}<tool_call|>",
         true},
        {"<|tool_call>call:set_timer{duration:1}<tool_call|>", false},
        {"<|tool_call>call:ping{timeout:1,timeout:2}<tool_call|>", false},
    };
    CHECK(&gemma, w);
}

/* Tags that are named by their keys, and messages to recipients. */
static void test_tools__tag_families(void **state)
{
    (void)state;
#define N "]<]minimax[>["
#define M3(args) \
    N "<tool_call>\n" N "<invoke name=\"search\">" args N "</invoke>\n" N "</tool_call>"
#define TAG(key, text) N "<" key ">" text N "</" key ">"
    const cf_tool_constraint nested = {.family = CF_TOOLS_MINIMAX_M3};
    static const one v[] = {
        {M3(TAG("query", "a b")), true},
        {M3(TAG("query", "a") TAG("filter", "{\"tags\": [\"x\"]}")), true},
        {M3(TAG("query", TAG("x", "1"))), false},
        {M3(N "<query>a" N "</filter>"), false},
    };
    CHECK(&nested, v);
#define NEXT "<|eom|><|start|>assistant"
#define PING                                                                                  \
    " to=ping<|message|><atem:function_calls>\n<atem:invoke name=\"ping\">\n</atem:invoke>\n" \
    "</atem:function_calls>"
    const cf_tool_constraint muse = {.family = CF_TOOLS_MUSE_GLIMMER};
    static const one w[] = {
        {PING, true},
        {PING NEXT PING, true},
        {" to=user<|message|>Hi", false},
        {" to=ping<|message|>Hi", false},
    };
    CHECK(&muse, w);
    const cf_tool_constraint messages = {.family = CF_TOOLS_MUSE_GLIMMER,
                                         .mode = CF_TOOLS_TEXT_AND};
    static const one x[] = {
        {PING, true},
        {" to=user<|message|>Hi " PING, true},
        {" to=self<|message|>So" NEXT " to=user<|message|>Hi" NEXT PING, true},
        {" to=self<|message|>So" NEXT " to=other<|message|>Hi", false},
        {"Hi", false},
    };
    CHECK(&messages, x);
}

static void test_tools__control_tokens(void **state)
{
    (void)state;
    static const char *const words[] = {"<|tool_call>", "<tool_call|>", "call:ping{}", "<",
                                        "|tool_call>",  "<eos>",        "<|image|>"};
    cf_piece pieces[7];
    for (int i = 0; i < 7; i++) {
        pieces[i] = (cf_piece){cf_str_from(words[i]), i == 2 || i == 3 || i == 4 ? CF_PIECE_TEXT
                                                      : i == 5                   ? CF_PIECE_END
                                                               : CF_PIECE_CONTROL};
    }
    cf_error err;
    json_t *json;
    cf_tool_set *set;
    cf_constraint_vocab *vocab;
    cf_grammar *g;
    cf_constraint *c;
    uint32_t mask[1];
    T_OK(cf_json_read(&json, declarations, sizeof declarations - 1, &err), err);
    T_OK(cf_tool_set_new(&set, json, &err), err);
    T_OK(cf_constraint_vocab_new(&vocab, pieces, 7, &err), err);
    const cf_tool_constraint spec = {
        .family = CF_TOOLS_GEMMA4, .tools = set, .mode = CF_TOOLS_TEXT_AND};
    T_OK(cf_grammar_from_tools(&g, &spec, NULL, &err), err);
    T_OK(cf_constraint_new(&c, g, vocab, &err), err);
    T_OK(cf_constraint_mask(c, mask, &err), err);
    /* the fence as one token or in parts, text, the end; never an image */
    assert_int_equal(mask[0], 1 | 4 | 8 | 16 | 32);
    T_OK(cf_constraint_token(c, 0, &err), err);
    T_OK(cf_constraint_mask(c, mask, &err), err);
    assert_int_equal(mask[0], 4);
    T_OK(cf_constraint_token(c, 2, &err), err);
    T_OK(cf_constraint_mask(c, mask, &err), err);
    assert_int_equal(mask[0], 2 | 8);
    T_FAILS(cf_constraint_token(c, 6, &err), CF_EINVAL);
    T_OK(cf_constraint_token(c, 1, &err), err);
    assert_true(cf_constraint_may_end(c));
    cf_constraint_free(c);
    cf_grammar_free(g);
    cf_constraint_vocab_free(vocab);
    cf_tool_set_free(set);
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tools__python),        cmocka_unit_test(test_tools__seed_order),
        cmocka_unit_test(test_tools__text_and),      cmocka_unit_test(test_tools__text_until),
        cmocka_unit_test(test_tools__json_families), cmocka_unit_test(test_tools__fc_families),
        cmocka_unit_test(test_tools__tag_families),  cmocka_unit_test(test_tools__control_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
