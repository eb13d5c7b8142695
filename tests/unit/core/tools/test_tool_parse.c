/* Replies of every family: what is text, what is a call, what is wrong. */
#include "core/api/tool.h"
#include "tests/support/t.h"

#include "core/base/alloc.h"

typedef struct row {
    cf_tool_family family;
    const char *raw;
    const char *text;  /* of the text and failed segments */
    const char *calls; /* name and arguments of each, a line each */
    cf_tool_status status;
} row;

#define HERMES CF_TOOLS_HERMES
#define G3     CF_TOOLS_GEMMA3
#define FG     CF_TOOLS_FUNCTIONGEMMA
#define G4     CF_TOOLS_GEMMA4
#define HAMMER CF_TOOLS_HAMMER
#define PY     CF_TOOLS_LLAMA_PYTHONIC
#define LJ     CF_TOOLS_LLAMA_JSON
#define MI     CF_TOOLS_MISTRAL
#define PHI    CF_TOOLS_PHI4_MINI
#define OK     CF_TOOL_VALID
#define BAD    CF_TOOL_PARSE_ERROR

static void summarise(const cf_tool_parse *p, cf_buf *text, cf_buf *calls)
{
    cf_tool_parse_text(p, text);
    for (size_t i = 0; i < p->n_calls; i++) {
        cf_buf_addf(calls, "%s%.*s%.*s", i > 0 ? "\n" : "", (int)p->calls[i].name.n,
                    p->calls[i].name.p, (int)p->calls[i].arguments.n, p->calls[i].arguments.p);
    }
}

/* Every byte in one segment, in order. */
static void check_cover(const cf_tool_parse *p)
{
    size_t at = 0;
    for (size_t i = 0; i < p->n_segments; i++) {
        assert_int_equal(p->segments[i].off, at);
        assert_true(p->segments[i].len > 0);
        at += p->segments[i].len;
    }
    assert_int_equal(at, p->raw.n);
}

static void check_row_with(const row *r, const cf_tool_set *tools)
{
    cf_error err = {0};
    cf_tool_parser *parser = NULL;
    const cf_tool_parse *p = NULL;
    cf_buf text = CF_BUF_INIT, calls = CF_BUF_INIT;
    T_OK(cf_tool_parser_new(&parser, r->family, tools, NULL, NULL, &err), err);
    T_OK(cf_tool_parser_feed(parser, r->raw, strlen(r->raw), &err), err);
    T_OK(cf_tool_parser_finish(parser, &p, &err), err);
    check_cover(p);
    summarise(p, &text, &calls);
    if (strcmp(cf_buf_cstr(&text), r->text) != 0 || strcmp(cf_buf_cstr(&calls), r->calls) != 0 ||
        p->status != r->status) {
        fail_msg("%s: %s\n text  %s\n want  %s\n calls %s\n want  %s\n %s",
                 cf_tool_family_name(r->family), r->raw, cf_buf_cstr(&text), r->text,
                 cf_buf_cstr(&calls), r->calls, cf_tool_status_name(p->status));
    }
    cf_buf_deinit(&text);
    cf_buf_deinit(&calls);
    cf_tool_parser_free(parser);
}

static void check_row(const row *r)
{
    check_row_with(r, NULL);
}

static cf_tool_set *tools_of(const char *json)
{
    cf_error err = {0};
    json_t *v = NULL;
    cf_tool_set *set = NULL;
    T_OK(cf_json_read(&v, json, strlen(json), &err), err);
    T_OK(cf_tool_set_new(&set, v, &err), err);
    json_decref(v);
    return set;
}

#define ROWS(table)                                               \
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) { \
        check_row(&(table)[i]);                                   \
    }

static void test_parse__python(void **state)
{
    static const row rows[] = {
        {G3, "", "", "", OK},
        {G3, "This is some text.", "This is some text.", "", OK},
        {CF_TOOLS_QWEN3_CODER,
         "<tool_call>\n<function=f>\n<parameter=b>\nsee </parameter></function> inline\n"
         "</parameter>\n</function>\n</tool_call>",
         "\n\n", "f{\"b\":\"see </parameter></function> inline\"}", OK},
        {CF_TOOLS_OLMO3, "<function_calls>f(title='a', body='x\ny')</function_calls>", "",
         "f{\"title\":\"a\",\"body\":\"x\\ny\"}", OK},
        {G3, "```tool_code\ntool_name(x=1)\n```", "", "tool_name{\"x\":1}", OK},
        {G3, "```tool_code\nf(a=+5, b=-5, c=-0)\n```", "", "f{\"a\":5,\"b\":-5,\"c\":0}", OK},
        {G3, "```tool_code\ntool_1(x=1)\ntool_2(y=2)\n```", "", "tool_1{\"x\":1}\ntool_2{\"y\":2}",
         OK},
        {G3,
         "This is some text.\n```tool_code\nf(x=1)\n```\nThis is some more "
         "text.\n",
         "This is some text.\n\nThis is some more text.\n", "f{\"x\":1}", OK},
        {G3, "```tool_code\nf(x=1)\n```\n```tool_code\ng(y=2)\n```", "\n", "f{\"x\":1}\ng{\"y\":2}",
         OK},
        {G3, "```tool_code\nf(x=1)\n``````tool_code\ng()\n```", "", "f{\"x\":1}\ng{}", OK},
        {G3, "```tool_code\ntool_name(x=1)\n", "", "tool_name{\"x\":1}", OK},
        {G3, "```tool_code\ntool_name(x=", "```tool_code\ntool_name(x=", "", BAD},
        {G3,
         "```tool_code\nprint(default_api.get_artwork_price("
         "museum_location=\"Philadelphia\", sculpture_material=\"marble\", "
         "sculpture_size=[4, 4]))\n```",
         "",
         "get_artwork_price{\"museum_location\":\"Philadelphia\","
         "\"sculpture_material\":\"marble\",\"sculpture_size\":[4,4]}",
         OK},
        {G3, "```tool_code\ninvalid_code\n```", "```tool_code\ninvalid_code\n```", "", BAD},
        {G3, "```tool_code\n```", "```tool_code\n```", "", OK},
        {G3, "```tool_code\r\nf(x=1)\r\n```", "", "f{\"x\":1}", OK},
        {G3, "```tool_code\nf(x=\"a\n```", "```tool_code\nf(x=\"a\n```", "", BAD},
        {G3, "```tool_code\nf(x=\"```\", y='\\n```')\n```!", "!",
         "f{\"x\":\"```\",\"y\":\"\\n```\"}", OK},
        {G3, "```tool_code\nf(x='''a\n```\nb''')\n```", "", "f{\"x\":\"a\\n```\\nb\"}", OK},
        {G3, "```tool_code\n[]\n```", "", "", OK},
        {G3, "```tool_code\nf(x=1) # it's \"one\"\n```", "", "f{\"x\":1}", OK},
        {G3, "```python\nf(x=1)\n```", "```python\nf(x=1)\n```", "", OK},
        {PY, "[f(x='hello')]", "", "f{\"x\":\"hello\"}", OK},
        {PY, "[f(x=[1,2],y=\"a]b\")]", "", "f{\"x\":[1,2],\"y\":\"a]b\"}", OK},
        {PY, "[f(x='a'), g(y=2),]", "", "f{\"x\":\"a\"}\ng{\"y\":2}", OK},
        {PY, "Sure.\n[f(x=-.1, y=1.)]<|eot_id|>", "Sure.\n", "f{\"x\":-0.1,\"y\":1.0}", OK},
        {PY, "[note] that is all", "[note] that is all", "", OK},
        {PY, "see [f(x=1)] there", "see [f(x=1)] there", "", OK},
        {PY, "<|python_tag|>[a.b.c(x=1)]", "", "a.b.c{\"x\":1}", OK},
        {PY, "[f(x=True, y=None, z=\"None\", w=(1, 2), v=(3))]", "",
         "f{\"x\":true,\"y\":null,\"z\":\"None\",\"w\":[1,2],\"v\":3}", OK},
        {PY, "[f(x=Obj(hello='world', foo=1))]", "",
         "f{\"x\":{\"__type__\":\"Obj\",\"hello\":\"world\",\"foo\":1}}", OK},
        {PY, "[f(x={'a': {1: [{}]}, \"b\": 'c' \"d\"})]", "",
         "f{\"x\":{\"a\":{\"1\":[{}]},\"b\":\"cd\"}}", OK},
        {PY, "[f(x=2*2)]", "[f(x=2*2)]", "", BAD},
        {PY, "[f(x=name)]", "[f(x=name)]", "", BAD},
        {PY, "[f(x=1, x=2)]", "[f(x=1, x=2)]", "", BAD},
        {PY, "[f(x='\\u00e9\\x41\\'\\q\\101')]", "",
         "f{\"x\":\"\xC3\xA9"
         "A'\\\\qA\"}",
         OK},
        {PY, "[f(x=18446744073709551616, y=-9223372036854775808, z=1_000)]", "",
         "f{\"x\":18446744073709551616,\"y\":-9223372036854775808,\"z\":1000}", OK},
    };
    (void)state;
    ROWS(rows);
}

static void test_parse__fc(void **state)
{
    static const row rows[] = {
        {FG, "<start_function_call>call:tool_name{x:1}<end_function_call>", "",
         "tool_name{\"x\":1}", OK},
        {FG,
         "<start_function_call>call:f{x:1}<end_function_call><start_function_"
         "call>call:g{y:2}<end_function_call><start_function_response>",
         "", "f{\"x\":1}\ng{\"y\":2}", OK},
        {FG,
         "<start_function_call>call:f{x:<escape>foo \\b\\a\\r \"baz\" "
         "{}<escape>}<end_function_call>",
         "", "f{\"x\":\"foo \\\\b\\\\a\\\\r \\\"baz\\\" {}\"}", OK},
        {G4, "<|tool_call>call:get_weather{location:<|\"|>hanoi<|\"|>}<tool_call|>", "",
         "get_weather{\"location\":\"hanoi\"}", OK},
        {G4,
         "<|tool_call>call:f{a:<|\"|>{\"b\": [1, \"}\"]}<tool_call|> "
         "<|tool_call><|\"|>,c:[{d:true},null,-1.5e3]}<tool_call|> ok",
         " ok",
         "f{\"a\":\"{\\\"b\\\": [1, \\\"}\\\"]}<tool_call|> <|tool_call>\","
         "\"c\":[{\"d\":true},null,-1500.0]}",
         OK},
        {G4, "<|tool_call>call:f{a:<|\"|>x}<tool_call|>after",
         "<|tool_call>call:f{a:<|\"|>x}<tool_call|>after", "", BAD},
        {G4, "<|tool_call>call:tool.name-123{}<tool_call|>", "", "tool.name-123{}", OK},
        {G4, "<|tool_call>call:f<tool_call|>", "", "f{}", OK},
        {G4, "<|tool_call>call:f{a:+5,b:-5,c:+0,d:-0}<tool_call|>", "",
         "f{\"a\":5,\"b\":-5,\"c\":0,\"d\":0}", OK},
        {G4, "<|tool_call>call:f{param.name-1:{\n a : 1 }}<tool_call|>", "",
         "f{\"param.name-1\":{\"a\":1}}", OK},
        {G4, "<|tool_call>call:f{x:1,}<tool_call|>", "<|tool_call>call:f{x:1,}<tool_call|>", "",
         BAD},
        {G4, "<|tool_call>call:{x:1}<tool_call|>", "<|tool_call>call:{x:1}<tool_call|>", "", BAD},
        {G4, "<|tool_call>call:f[1]<tool_call|>", "<|tool_call>call:f[1]<tool_call|>", "", BAD},
        {G4, "<|tool_call>print{x:1}<tool_call|>", "<|tool_call>print{x:1}<tool_call|>", "", BAD},
    };
    (void)state;
    ROWS(rows);
}

static void test_parse__json(void **state)
{
    static const row rows[] = {
        {HERMES,
         "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": "
         "1}}\n</tool_call>",
         "", "f{\"a\":1}", OK},
        {HERMES,
         "<tool_call>\r\n{\"arguments\": \"{\\\"a\\\": 1}\", \"name\": "
         "\"f\"}\r\n</tool_call>",
         "", "f{\"a\":1}", OK},
        {HERMES,
         "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"</tool_call>\"}}</"
         "tool_call>x",
         "x", "f{\"a\":\"</tool_call>\"}", OK},
        {HERMES, "a<tool_call>{\"name\":\"f\"}</tool_call>b", "ab", "f{}", OK},
        {HERMES, "<tool_call>{\"name\":\"f\"", "<tool_call>{\"name\":\"f\"", "", BAD},
        {HERMES, "a<tool_call>{\"name\":\"f\"}\n</tool", "a", "f{}", OK},
        {CF_TOOLS_GENERIC, "{\"tool_calls\":[]}", "", "", OK},
        {CF_TOOLS_GENERIC, "{\"tool_calls\": [{\"name\":\"f\",\"arguments\":{\"a\":1}}]}", "",
         "f{\"a\":1}", OK},
        {HERMES, "the <tool_call> tag: <tool_call>{\"name\":\"f\"}</tool_call>",
         "the <tool_call> tag: ", "f{}", OK},
        {HERMES, "<tool_call>{\"arguments\":{}}</tool_call>",
         "<tool_call>{\"arguments\":{}}</tool_call>", "", BAD},
        {HERMES, "<tool_call>{\"name\":\"f\",\"arguments\":3}</tool_call>",
         "<tool_call>{\"name\":\"f\",\"arguments\":3}</tool_call>", "", BAD},
        {HERMES,
         "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1,\"b\":2,\"a\":3}}"
         "</tool_call>",
         "", "f{\"b\":2,\"a\":3}", OK},
        {HERMES,
         "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":9007199254740993,"
         "\"b\":-0.0,\"c\":1e300,\"d\":123456789012345678901234567890,"
         "\"e\":1.10,\"f\":\"\\ud83d\\ude00\\u0007\"}}</tool_call>",
         "",
         "f{\"a\":9007199254740993,\"b\":-0.0,\"c\":1e+300,"
         "\"d\":123456789012345678901234567890,\"e\":1.1,"
         "\"f\":\"\xF0\x9F\x98\x80\\u0007\"}",
         OK},
        {HAMMER, "```\n[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]\n```", "", "f{\"a\":1}", OK},
        {HAMMER, "```json\n[{\"name\": \"f\", \"arguments\": {}}]\n```", "", "f{}", OK},
        {HAMMER, "[{\"name\": \"f\", \"arguments\": {}}]<|im_end|>", "", "f{}", OK},
        {HAMMER, "```\n[]\n```", "", "", OK},
        {HAMMER, "```python\nx = [{\"name\": 1}]\n```\nok",
         "```python\nx = [{\"name\": 1}]\n```\nok", "", OK},
        {HAMMER, "```json\n{\"answer\": 42}\n```", "```json\n{\"answer\": 42}\n```", "", OK},
        {HAMMER, "```\n[{\"name\": \"f\", \"arguments\": {}]\n```",
         "```\n[{\"name\": \"f\", \"arguments\": {}]\n```", "", BAD},
        {HAMMER,
         "```\n[{\"name\":\"name\",\"arguments\":{\"name\":\"args\","
         "\"arguments\":\"```\"}}]\n```",
         "", "name{\"name\":\"args\",\"arguments\":\"```\"}", OK},
        {LJ, "{\"name\": \"f\", \"parameters\": {\"x\": \"}\"}}", "", "f{\"x\":\"}\"}", OK},
        {LJ,
         "<|python_tag|>{\"name\":\"f\",\"parameters\":{}}; "
         "{\"name\":\"g\",\"parameters\":{}}<|eom_id|>",
         " ", "f{}\ng{}", OK},
        {LJ,
         "{\"type\": \"function\", \"function\": {\"name\": \"f\", "
         "\"parameters\": {\"a\": [1]}}}",
         "", "f{\"a\":[1]}", OK},
        {LJ, "{\"type\":\"function\",\"name\":\"f\",\"parameters\":{}}", "", "f{}", OK},
        {LJ, "A person: {\"name\": \"Bob\", \"age\": 3}.",
         "A person: {\"name\": \"Bob\", \"age\": 3}.", "", OK},
        {LJ, "I will {not json}.", "I will {not json}.", "", OK},
        {LJ, "[1, 2] is a list.", "[1, 2] is a list.", "", OK},
        {LJ, "[\"a\"]", "[\"a\"]", "", OK},
        {LJ, "[]", "[]", "", OK},
        {MI, "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": 1}}]", "", "f{\"a\":1}", OK},
        {MI, "[TOOL_CALLS]f{\"a\": 1}[TOOL_CALLS]g[ARGS]{}", "", "f{\"a\":1}\ng{}", OK},
        {MI, "[TOOL_CALLS]f[CALL_ID]abc123[ARGS]{\"a\":\"]\"}</s>", "", "f{\"a\":\"]\"}", OK},
        {MI, "one [TOOL_CALLS] two", "one [TOOL_CALLS] two", "", BAD},
        {PHI, "<|tool_call|>[{\"name\":\"f\",\"arguments\":{}}]<|/tool_call|>", "", "f{}", OK},
        {PHI, "functools[{\"name\": \"f\", \"arguments\": {\"x\": 1}}]", "", "f{\"x\":1}", OK},
        {CF_TOOLS_LFM2, "<|tool_call_start|>[f(x=1)]<|tool_call_end|>ok", "ok", "f{\"x\":1}", OK},
        {CF_TOOLS_GENERIC, "{\"name\": \"f\", \"arguments\": {\"x\": 1}}", "", "f{\"x\":1}", OK},
        {CF_TOOLS_NONE, "<tool_call>{\"name\":\"f\"}</tool_call>",
         "<tool_call>{\"name\":\"f\"}</tool_call>", "", OK},
    };
    (void)state;
    ROWS(rows);
}

/* ---- findings ----------------------------------------------------------- */

static const char weather[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"get_weather\","
    "\"description\":\"d\",\"parameters\":{\"type\":\"OBJECT\",\"properties\":{"
    "\"location\":{\"type\":\"STRING\"},\"unit\":{\"type\":\"string\","
    "\"enum\":[\"c\",\"f\"]},\"days\":{\"type\":\"integer\",\"minimum\":1,"
    "\"maximum\":14},\"filter\":{\"type\":\"object\",\"properties\":{\"tags\":{"
    "\"type\":\"array\",\"items\":{\"type\":\"string\"}}},\"required\":["
    "\"tags\"]},\"any\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"number\","
    "\"minimum\":0}]}},\"required\":[\"location\"]}}}]";

static void check_findings(const char *args, const char *want)
{
    cf_error err = {0};
    cf_tool_set *set = tools_of(weather);
    cf_tool_parser *parser = NULL;
    const cf_tool_parse *p = NULL;
    cf_buf raw = CF_BUF_INIT, got = CF_BUF_INIT;
    cf_buf_addf(&raw, "[get_weather(%s)]", args);
    T_OK(cf_tool_parser_new(&parser, CF_TOOLS_LLAMA_PYTHONIC, set, NULL, NULL, &err), err);
    T_OK(cf_tool_parser_feed(parser, raw.p, raw.n, &err), err);
    T_OK(cf_tool_parser_finish(parser, &p, &err), err);
    for (size_t i = 0; i < p->n_findings; i++) {
        const cf_tool_finding *f = &p->findings[i];
        cf_buf_addf(&got, "%s %.*s [%.*s]\n", cf_tool_status_name(f->status), (int)f->path.n,
                    f->path.p, (int)f->len, p->raw.p + f->off);
    }
    assert_string_equal(cf_buf_cstr(&got), want);
    cf_buf_deinit(&raw);
    cf_buf_deinit(&got);
    cf_tool_parser_free(parser);
    cf_tool_set_free(set);
}

/* A call as each family of 2026 writes it, and its variants. */
static void test_parse__families_of_2026(void **state)
{
    (void)state;
#define BAR    "\xEF\xBD\x9C"
#define B(x)   "<|plamo:begin_" x ":plamo|>"
#define E(x)   "<|plamo:end_" x ":plamo|>"
#define IN(t)  "<" BAR t BAR ">"
#define ARG(k) "<arg_key>" k "</arg_key>"
#define VAL(v) "<arg_value>" v "</arg_value>"
    static const row rows[] = {
        {CF_TOOLS_DEEPSEEK_V41,
         "<" BAR "DSML" BAR " calls><" BAR "DSML" BAR " invoke name=\"f\"><" BAR "DSML" BAR
         " parameter name=\"a\" string=\"false\">[1]</" BAR "DSML" BAR " parameter></" BAR
         "DSML" BAR " invoke></" BAR "DSML" BAR " calls>",
         "", "f{\"a\":[1]}", OK},
        {CF_TOOLS_GIGACHAT35,
         "So <" BAR "GCML" BAR "tool_calls><" BAR "GCML" BAR "invoke name=\"f\"><" BAR "GCML" BAR
         "parameter name=\"a\" string=\"true\">1</" BAR "GCML" BAR "parameter></" BAR "GCML" BAR
         "invoke></" BAR "GCML" BAR "tool_calls>",
         "So ", "f{\"a\":\"1\"}", OK},
        {CF_TOOLS_STEP3,
         IN("tool_calls_begin") IN("tool_call_begin") "function" IN(
             "tool_sep") "<steptml:invoke name=\"f\"></steptml:invoke>" IN("tool_call_end")
             IN("tool_call_begin") "<steptml:invoke name=\"g\"><steptml:parameter "
                                   "name=\"a\">x</steptml:parameter></steptml:invoke>" IN(
                                       "tool_call_end") IN("tool_calls_end"),
         "", "f{}\ng{\"a\":\"x\"}", OK},
        {CF_TOOLS_SOLAR_OPEN2,
         "<|tool_call:start|>f\n<|tool_arg:start|>a<|tool_arg:value|>7<|tool_arg:end|>\n"
         "<|tool_call:end|>",
         "", "f{\"a\":7}", OK},
        {CF_TOOLS_PLAMO3,
         "Ok." B("tool_requests") B("tool_request") B("tool_name") "f" E("tool_name")
             B("tool_arguments") "{\"a\": 1}" E("tool_arguments") E("tool_request")
                 E("tool_requests") "<|plamo:tag|>",
         "Ok.", "f{\"a\":1}", OK},
        {CF_TOOLS_LONGCAT,
         "<longcat_tool_call>{\"name\": \"f\", \"arguments\": {}}</longcat_tool_call>", "", "f{}",
         OK},
        {CF_TOOLS_INTERNLM2,
         "<|action_start|> <|plugin|>\n{\"name\": \"f\", \"parameters\": {}}<|action_end|>x", "x",
         "f{}", OK},
        {CF_TOOLS_DOTS,
         "<dots_function_call><invoke name=\"f\"><parameter name=\"a\">1</parameter></invoke>"
         "</dots_function_call>",
         "", "f{\"a\":1}", OK},
        {CF_TOOLS_DOTS,
         "<dots_function_call>{\"name\": \"f\", \"arguments\": {}}</dots_function_call>", "", "f{}",
         OK},
        {CF_TOOLS_IQUEST_CODER,
         "<iquestcoder_tool_call>f" ARG("a") VAL("1") "</iquestcoder_tool_call>", "", "f{\"a\":1}",
         OK},
        {CF_TOOLS_IQUEST_Q1, "<iquest_tool_call>f\n" ARG("a") " " VAL(" x\n") "</iquest_tool_call>",
         "", "f{\"a\":\" x\\n\"}", OK},
        {CF_TOOLS_SPARK, "a<tool_call>f" ARG("b") VAL("null") "</tool_call>c", "ac",
         "f{\"b\":null}", OK},
        {CF_TOOLS_HYPERCLOVAX,
         "<tool_call>f\n" ARG("a") "\n" VAL("\"x\"") "\n" ARG("b") "\n" VAL("y") "\n</tool_call>",
         "", "f{\"a\":\"x\",\"b\":\"y\"}", OK},
        {CF_TOOLS_RWKV, "**Tool Call:**\n```json\n{\"name\": \"f\", \"arguments\": {}}\n```", "",
         "f{}", OK},
        {CF_TOOLS_RWKV, "```json\n{\"name\": \"f\"}\n```", "```json\n{\"name\": \"f\"}\n```", "",
         OK},
        {CF_TOOLS_FIREFUNCTION, " functools[{\"name\": \"f\", \"arguments\": {}}]", " ", "f{}", OK},
        {CF_TOOLS_GRANITE_PYTHONIC, "f(a=\"(\")\ng()", "\n", "f{\"a\":\"(\"}\ng{}", OK},
        {CF_TOOLS_GRANITE_PYTHONIC, "f(a=1\nf()", "f(a=1\n", "f{}", OK},
        {CF_TOOLS_GRANITE_PYTHONIC, "I f(a=1)\nor sin(x)", "I f(a=1)\nor sin(x)", "", OK},
        {CF_TOOLS_GRANITE_20B,
         "<function_call> {\"name\": \"f\", \"arguments\": {}}\n"
         "<function_call> {\"name\": \"g\", \"arguments\": {}}",
         "\n", "f{}\ng{}", OK},
        {CF_TOOLS_XLAM, "[{\"name\": \"f\", \"arguments\": {}}]", "", "f{}", OK},
        {CF_TOOLS_XLAM, "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}]", "", "f{}", OK},
        {CF_TOOLS_ERNIE45, "<response>\nHi\n</response>", "\nHi\n", "", OK},
        {CF_TOOLS_PANGU,
         "<|tool_call_start|>[{\"name\": \"f\", \"arguments\": {}}]<|tool_call_end|>", "", "f{}",
         OK},
        {CF_TOOLS_MINIMAX_M1,
         "<tool_calls>\n{\"name\": \"f\", \"arguments\": {}}\n{no call}\n"
         "{\"name\": \"g\", \"arguments\": {}}\n</tool_calls>",
         "", "f{}\ng{}", OK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_row(&rows[i]);
    }
}

#define M               "]<]minimax[>["
#define M3(args)        M "<tool_call>" M "<invoke name=\"f\">" args M "</invoke>" M "</tool_call>"
#define TAG(key, value) M "<" key ">" value M "</" key ">"

/* The tags of MiniMax M3 without a declaration. */
static void test_parse__nested_tags(void **state)
{
    (void)state;
    static const row rows[] = {
        {CF_TOOLS_MINIMAX_M3, M3(""), "", "f{}", OK},
        {CF_TOOLS_MINIMAX_M3, "So " M3(TAG("a", "1") "\n" TAG("b", " x\n")) ".", "So .",
         "f{\"a\":1,\"b\":\" x\\n\"}", OK},
        {CF_TOOLS_MINIMAX_M3, M3(TAG("a", TAG("b", "1") TAG("c", TAG("d", "x")))), "",
         "f{\"a\":{\"b\":1,\"c\":{\"d\":\"x\"}}}", OK},
        {CF_TOOLS_MINIMAX_M3, M3(TAG("a", TAG("item", "1") " " TAG("item", TAG("b", "2")))), "",
         "f{\"a\":[1,{\"b\":2}]}", OK},
        /* a tag that comes twice, and one inside its own name */
        {CF_TOOLS_MINIMAX_M3, M3(TAG("a", "1") TAG("b", "2") TAG("a", "x")), "",
         "f{\"a\":[1,\"x\"],\"b\":2}", OK},
        {CF_TOOLS_MINIMAX_M3, M3(TAG("a", TAG("a", "1"))), "", "f{\"a\":{\"a\":1}}", OK},
        /* text beside tags, and tags that do not close, are text */
        {CF_TOOLS_MINIMAX_M3, M3(TAG("a", "x" TAG("b", "1"))), "",
         "f{\"a\":\"x" TAG("b", "1") "\"}", OK},
        {CF_TOOLS_MINIMAX_M3, M3(TAG("a", M "<b>1")), "", "f{\"a\":\"" M "<b>1\"}", OK},
        {CF_TOOLS_MINIMAX_M3, M3(TAG("a", "[1, {\"b\": 2}]")), "", "f{\"a\":[1,{\"b\":2}]}", OK},
        {CF_TOOLS_MINIMAX_M3, M3(TAG("a", "1")) M3(TAG("a", "2")), "", "f{\"a\":1}\nf{\"a\":2}",
         OK},
        {CF_TOOLS_MINIMAX_M3,
         M "<tool_call>" M "<invoke name=\"f\">" M "<a>1" M "</b>" M "</invoke>" M
           "<invoke name=\"g\">" M "</invoke>" M "</tool_call>",
         M "<invoke name=\"f\">" M "<a>1" M "</b>" M "</invoke>", "g{}", BAD},
        {CF_TOOLS_MINIMAX_M3, M "<tool_call>" M "<invoke name=\"f\">" M "<a>1",
         M "<tool_call>" M "<invoke name=\"f\">" M "<a>1", "", BAD},
        {CF_TOOLS_MINIMAX_M3, M3(M "<a>1" M "</b>") "x", M3(M "<a>1" M "</b>") "x", "", BAD},
    };
    ROWS(rows);
}

/* The declaration says what a tag holds, at every depth. */
static void test_parse__nested_tags_of_declared_types(void **state)
{
    (void)state;
    static const row rows[] = {
        {CF_TOOLS_MINIMAX_M3, M3(TAG("s", TAG("b", "1"))), "", "f{\"s\":\"" TAG("b", "1") "\"}",
         OK},
        {CF_TOOLS_MINIMAX_M3, M3(TAG("o", TAG("zip", "7") TAG("n", "8"))), "",
         "f{\"o\":{\"zip\":\"7\",\"n\":8}}", OK},
        {CF_TOOLS_MINIMAX_M3, M3(TAG("l", TAG("item", "1"))), "", "f{\"l\":[\"1\"]}", OK},
        {CF_TOOLS_MINIMAX_M3, M3(TAG("l", "1") TAG("l", "2")), "", "f{\"l\":[\"1\",\"2\"]}", OK},
        {CF_TOOLS_MINIMAX_M3, M3(TAG("l", "") TAG("o", " ")), "", "f{\"l\":[],\"o\":{}}", OK},
        {CF_TOOLS_MINIMAX_M3, M3(TAG("m", TAG("k", "1"))), "", "f{\"m\":{\"k\":\"1\"}}", OK},
        {CF_TOOLS_MINIMAX_M3, M3(TAG("u", "5")), "", "f{\"u\":5}", OK},
        {CF_TOOLS_MINIMAX_M3, M3(TAG("u", TAG("max", "5"))), "", "f{\"u\":{\"max\":5}}", OK},
        {CF_TOOLS_MINIMAX_M3, M3(TAG("i", "5.0")), "", "f{\"i\":5.0}", OK},
        {CF_TOOLS_MINIMAX_M3, M3(TAG("i", "5.5")), "", "f{\"i\":\"5.5\"}",
         CF_TOOL_INVALID_PARAMETER_TYPE},
        {CF_TOOLS_MINIMAX_M3, M3(TAG("i", TAG("x", "5"))), "", "f{\"i\":\"" TAG("x", "5") "\"}",
         CF_TOOL_INVALID_PARAMETER_TYPE},
    };
    cf_tool_set *tools =
        tools_of("[{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{"
                 "\"s\":{\"type\":\"string\"},\"i\":{\"type\":\"integer\"},"
                 "\"o\":{\"type\":\"object\",\"properties\":{\"zip\":{\"type\":\"string\"},"
                 "\"n\":{\"type\":\"integer\"}}},"
                 "\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
                 "\"m\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}},"
                 "\"u\":{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"object\",\"properties\":"
                 "{\"max\":{\"type\":\"integer\"}}}]}}}}]");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_row_with(&rows[i], tools);
    }
    cf_tool_set_free(tools);
}

/* Messages of Muse Glimmer: only one that is addressed to a tool is a call. */
static void test_parse__recipients(void **state)
{
    (void)state;
#define CALL(name)                                                                        \
    "<|message|><atem:function_calls>\n<atem:invoke name=\"" name "\">\n<atem:parameter " \
    "name=\"a\"> 1</atem:parameter>\n</atem:invoke>\n</atem:function_calls>"
#define NEXT "<|eom|><|start|>assistant"
    static const row rows[] = {
        {CF_TOOLS_MUSE_GLIMMER, " to=user<|message|>Hi.", " Hi.", "", OK},
        {CF_TOOLS_MUSE_GLIMMER, " to=f" CALL("f"), " \n", "f{\"a\":1}", OK},
        {CF_TOOLS_MUSE_GLIMMER,
         " to=user<|message|>So." NEXT " to=f.f" CALL("f.f") NEXT " to=n.g" CALL("n.g") NEXT
         " to=user<|message|>Done.<|eot|>",
         " So.\n\nDone.", "f{\"a\":1}\nn.g{\"a\":1}", OK},
        {CF_TOOLS_MUSE_GLIMMER,
         " to=n.g<|message|><atem:function_calls>\n<atem:invoke name=\"n.g\">\n</atem:invoke>\n"
         "<atem:invoke name=\"n.g\">\n</atem:invoke>\n</atem:function_calls>",
         " \n\n", "n.g{}\nn.g{}", OK},
        {CF_TOOLS_MUSE_GLIMMER, " to=user<|message|>As <|start|>assistant to=f" CALL("f"),
         " As <|start|>assistant to=f" CALL("f"), "", OK},
        {CF_TOOLS_MUSE_GLIMMER, " to=f<|message|>no call", " to=f<|message|>no call", "", BAD},
    };
    cf_tool_set *tools = tools_of(
        "[{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{}}}},"
        "{\"name\":\"n.g\",\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{}}}}]");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_row_with(&rows[i], tools);
    }
    cf_tool_set_free(tools);
#undef CALL
#undef NEXT
}

/* Calls whose marks are left out, and calls inside a line. */
static void test_parse__marks_left_out(void **state)
{
    (void)state;
#define K2(name, args) "<|tool_call_begin|>functions." name ":0<|tool_call_argument_begin|>" args
#define SELF                                                                                \
    "<" BAR "DSML" BAR "tool_calls><" BAR "DSML" BAR "invoke name=\"f\"/></" BAR "DSML" BAR \
    "tool_calls>"
    static const row rows[] = {
        {CF_TOOLS_KIMI_K2, K2("f", "{\"a\": 1}") K2("g", "{}\n") "<|tool_call_end|>", "",
         "f{\"a\":1}\ng{}", OK},
        {CF_TOOLS_KIMI_K2, K2("f", "{\"a\": 1}"), "", "f{\"a\":1}", OK},
        {CF_TOOLS_KIMI_K2, K2("f", "{\"a\": 1"), K2("f", "{\"a\": 1"), "", BAD},
        {CF_TOOLS_DEEPSEEK_V32, SELF, "", "f{}", OK},
        {PY, "So: [f(a=[1])], then [g(1)]", "So: , then [g(1)]", "f{\"a\":[1]}", OK},
        {CF_TOOLS_LFM2, "So.[f(a=1)]", "So.", "f{\"a\":1}", OK},
        {PY, "as in [f(x", "as in [f(x", "", OK},
    };
    cf_tool_set *tools = tools_of(
        "[{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{}}}}]");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool is_python = rows[i].family == PY || rows[i].family == CF_TOOLS_LFM2;
        check_row_with(&rows[i], is_python ? tools : NULL);
    }
    cf_tool_set_free(tools);
}

static void test_validate__findings(void **state)
{
    (void)state;
    check_findings("location='x', unit='c', days=3, any=1", "");
    check_findings("location='x', unit=None, days=3.0", "");
    check_findings("location=1", "INVALID_PARAMETER_TYPE location [1]\n");
    check_findings("location='x', days=15, unit='k'", "INVALID_PARAMETER_VALUE days [15]\n"
                                                      "INVALID_PARAMETER_VALUE unit ['k']\n");
    check_findings("location='x', filter={'tags': ['a', 2]}",
                   "INVALID_PARAMETER_TYPE filter.tags[1] [2]\n");
    check_findings("extra=1, filter={}",
                   "INVALID_PARAMETER_NAME extra [1]\n"
                   "MISSING_REQUIRED_PARAMETER location [get_weather(extra=1, "
                   "filter={})]\n"
                   "MISSING_REQUIRED_PARAMETER filter.tags [get_weather(extra=1, "
                   "filter={})]\n");
    check_findings("location='x', any=-1", "INVALID_PARAMETER_VALUE any [-1]\n");
    check_findings("location='x', any=[]", "INVALID_PARAMETER_TYPE any [[]]\n");
}

/* Text that a constraint would refuse is found, with its place. */
static void test_validate__as_constraints_read_it(void **state)
{
    static const char declared[] =
        "[{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"$defs\":{"
        "\"pos\":{\"type\":\"integer\",\"minimum\":1}},\"properties\":{\"a\":{"
        "\"type\":\"string\",\"pattern\":\"^x+$\"},\"d\":{\"type\":\"string\","
        "\"format\":\"date\"},\"p\":{\"$ref\":\"#/$defs/pos\"},\"o\":{\"type\":"
        "\"object\",\"properties\":{\"k\":{\"type\":\"string\",\"pattern\":"
        "\"^k\"}}},\"m\":{\"type\":\"integer\",\"multipleOf\":3}}}}]";
    static const struct {
        const char *args, *path;
    } rows[] = {
        {"{\"a\":\"xx\",\"d\":\"2024-01-31\",\"p\":1,\"m\":6}", NULL},
        {"{\"a\":null,\"p\":null,\"o\":{\"k\":null}}", NULL},
        {"{\"a\":\"yx\"}", "a"},
        {"{\"d\":\"2024-13-01\"}", "d"},
        {"{\"p\":0}", "p"},
        {"{\"o\":{\"k\":\"z\"}}", "o.k"},
        {"{\"m\":4}", "m"},
    };
    (void)state;
    cf_tool_set *set = tools_of(declared);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cf_error err = {0};
        cf_tool_parser *parser = NULL;
        const cf_tool_parse *p = NULL;
        cf_buf raw = CF_BUF_INIT;
        cf_buf_addf(&raw, "<tool_call>{\"name\":\"f\",\"arguments\":%s}</tool_call>", rows[i].args);
        T_OK(cf_tool_parser_new(&parser, CF_TOOLS_HERMES, set, NULL, NULL, &err), err);
        T_OK(cf_tool_parser_feed(parser, raw.p, raw.n, &err), err);
        T_OK(cf_tool_parser_finish(parser, &p, &err), err);
        assert_int_equal(p->n_findings, rows[i].path != NULL ? 1 : 0);
        if (rows[i].path != NULL) {
            assert_int_equal(p->status, CF_TOOL_INVALID_PARAMETER_VALUE);
            assert_true(cf_str_is(p->findings[0].path, rows[i].path));
        }
        cf_tool_parser_free(parser);
        cf_buf_deinit(&raw);
    }
    cf_tool_set_free(set);
}

static void test_validate__unknown_name(void **state)
{
    (void)state;
    cf_error err = {0};
    cf_tool_set *set = tools_of(weather);
    cf_tool_parser *parser = NULL;
    const cf_tool_parse *p = NULL;
    const char raw[] = "<tool_call>{\"name\":\"get_weath\"}</tool_call>"
                       "<tool_call>{\"name\":\"get_weather\",\"arguments\":{"
                       "\"location\":\"x\"}}</tool_call>";
    T_OK(cf_tool_parser_new(&parser, CF_TOOLS_HERMES, set, NULL, NULL, &err), err);
    T_OK(cf_tool_parser_feed(parser, raw, strlen(raw), &err), err);
    T_OK(cf_tool_parser_finish(parser, &p, &err), err);
    assert_int_equal(p->status, CF_TOOL_INVALID_FUNCTION_NAME);
    assert_int_equal(p->n_calls, 2);
    assert_int_equal(p->calls[0].status, CF_TOOL_INVALID_FUNCTION_NAME);
    assert_int_equal(p->calls[1].status, CF_TOOL_VALID);
    assert_int_equal(p->findings[0].off, p->calls[0].name_off);
    cf_tool_parser_free(parser);
    cf_tool_set_free(set);
}

/* ---- failed blocks ------------------------------------------------------ */

static void check_failure(cf_tool_family family, const char *raw, size_t off, const char *repair)
{
    cf_error err = {0};
    cf_tool_parser *parser = NULL;
    const cf_tool_parse *p = NULL;
    T_OK(cf_tool_parser_new(&parser, family, NULL, NULL, NULL, &err), err);
    T_OK(cf_tool_parser_feed(parser, raw, strlen(raw), &err), err);
    T_OK(cf_tool_parser_finish(parser, &p, &err), err);
    assert_int_equal(p->n_segments, 1);
    assert_int_equal(p->segments[0].kind, CF_TOOL_SEG_FAILED);
    assert_int_equal(p->segments[0].error_off, off);
    T_TEXT(p->segments[0].repair.p, p->segments[0].repair.n, repair);
    cf_tool_parser_free(parser);
}

static void test_repair__offered(void **state)
{
    (void)state;
    check_failure(CF_TOOLS_HERMES,
                  "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}</tool_"
                  "call>",
                  42,
                  "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_"
                  "call>");
    check_failure(CF_TOOLS_HERMES,
                  "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":True,}}</"
                  "tool_call>",
                  40,
                  "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":true}}</"
                  "tool_call>");
    check_failure(CF_TOOLS_GEMMA3, "```tool_code\nf(day=tomorrow)\n```", 19,
                  "```tool_code\nf(day=\"tomorrow\")\n```");
    check_failure(CF_TOOLS_GEMMA4, "<|tool_call>call:f{a:\"x\"}<tool_call|>", 21,
                  "<|tool_call>call:f{a:<|\"|>x<|\"|>}<tool_call|>");
}

/* ---- declarations ------------------------------------------------------- */

/* Parameters that are declared one by one become a schema. */
static void test_tool_set__parameters_one_by_one(void **state)
{
    (void)state;
    cf_tool_set *set =
        tools_of("[{\"functions\":[{\"name\":\"f\",\"description\":null,\"parameters\":{\"q\":{"
                 "\"type\":\"string\",\"required\":true,\"default\":null},\"type\":{\"type\":"
                 "\"integer\",\"required\":false}}}]}]");
    size_t n;
    const cf_tool *v = cf_tool_set_items(set, &n);
    json_t *openai = cf_tool_set_openai(set);
    cf_buf out = CF_BUF_INIT;
    cf_json_write(&out, openai);
    assert_int_equal(n, 1);
    assert_true(cf_str_is(v[0].path, ".functions[0]"));
    assert_string_equal(cf_buf_cstr(&out),
                        "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{"
                        "\"type\":\"object\",\"properties\":{\"q\":{\"type\":\"string\"},"
                        "\"type\":{\"type\":\"integer\"}},\"required\":[\"q\"]}}}]");
    cf_buf_deinit(&out);
    json_decref(openai);
    cf_tool_set_free(set);
}

static void test_tool_set__forms(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{"
        "\"type\":\"object\"}}}]",
        "[{\"name\":\"f\",\"parameters\":{\"type\":\"object\"}}]",
        "{\"function_declarations\":[{\"name\":\"f\",\"parameters\":{\"type\":"
        "\"object\"}}]}",
        "[{\"functionDeclarations\":[{\"name\":\"f\",\"parameters\":{\"type\":"
        "\"object\"}}]}]",
        "{\"tools\":[{\"name\":\"f\",\"parameters\":{\"type\":\"object\"}}]}",
        "{\"name\":\"f\",\"parameters\":{\"type\":\"OBJECT\"}}",
        "{\"name\":\"f\",\"inputSchema\":{\"type\":\"object\"}}",
        "{\"name\":\"f\",\"input_schema\":{\"type\":\"object\"}}",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        cf_tool_set *set = tools_of(forms[i]);
        size_t n;
        const cf_tool *v = cf_tool_set_items(set, &n);
        assert_int_equal(n, 1);
        assert_true(cf_str_is(v[0].name, "f"));
        json_t *openai = cf_tool_set_openai(set);
        cf_buf out = CF_BUF_INIT;
        cf_json_write(&out, openai);
        assert_string_equal(cf_buf_cstr(&out), "[{\"type\":\"function\",\"function\":{\"name\":"
                                               "\"f\",\"parameters\":{\"type\":\"object\"}}}]");
        cf_buf_deinit(&out);
        json_decref(openai);
        cf_tool_set_free(set);
    }
    cf_error err = {0};
    cf_tool_set *set = NULL;
    json_t *bad = json_pack("[{s:s}]", "description", "d");
    T_FAILS(cf_tool_set_new(&set, bad, &err), CF_EFORMAT);
    json_decref(bad);
    bad = json_pack("[{s:s},{s:s}]", "name", "f", "name", "f");
    T_FAILS(cf_tool_set_new(&set, bad, &err), CF_EFORMAT);
    assert_string_equal(err.text, "tool 2: 'f' is declared already");
    json_decref(bad);
}

static void test_family__detect(void **state)
{
    (void)state;
    const char *why;
    cf_str no = cf_str_make(NULL, 0);
    assert_int_equal(cf_tool_family_detect(cf_str_from("x <tool_call> y"), no, no, &why),
                     CF_TOOLS_HERMES);
    assert_int_equal(cf_tool_family_detect(no, cf_str_from("gemma3"), no, &why), CF_TOOLS_GEMMA3);
    assert_int_equal(cf_tool_family_detect(cf_str_from("<tool_call>"), cf_str_from("qwen2"),
                                           cf_str_from("Hammer2.1"), &why),
                     CF_TOOLS_HAMMER);
    assert_int_equal(cf_tool_family_detect(no, no, no, &why), CF_TOOLS_GENERIC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse__python),
        cmocka_unit_test(test_parse__fc),
        cmocka_unit_test(test_parse__json),
        cmocka_unit_test(test_parse__families_of_2026),
        cmocka_unit_test(test_parse__nested_tags),
        cmocka_unit_test(test_parse__nested_tags_of_declared_types),
        cmocka_unit_test(test_parse__recipients),
        cmocka_unit_test(test_parse__marks_left_out),
        cmocka_unit_test(test_validate__findings),
        cmocka_unit_test(test_validate__as_constraints_read_it),
        cmocka_unit_test(test_validate__unknown_name),
        cmocka_unit_test(test_repair__offered),
        cmocka_unit_test(test_tool_set__parameters_one_by_one),
        cmocka_unit_test(test_tool_set__forms),
        cmocka_unit_test(test_family__detect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
