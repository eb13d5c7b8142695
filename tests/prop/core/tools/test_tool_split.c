/* However a reply is cut into chunks, the parse is the same. */
#include "tests/support/t.h"
#include "core/api/tool.h"
#include "tests/support/rand.h"

#include "core/base/alloc.h"

static const struct {
    cf_tool_family family;
    const char *raw;
} replies[] = {
    {CF_TOOLS_HERMES, "Sure \xE2\x9C\x85.\n<tool_call>\n{\"name\": \"f\", \"arguments\": "
                      "{\"a\": "
                      "\"\\\"</tool_call>\\\\\", \"b\": [1, -2.5e3]}}\n</tool_call>\n<tool_call>"
                      "{\"name\":\"g\"}</tool_call> tail <tool"},
    {CF_TOOLS_HERMES, "<tool_call>{\"name\": \"f, broken}</tool_call><tool_call>{\"name\":\"g\"}"
                      "</tool_call>"},
    {CF_TOOLS_HERMES, "<tool_call> a <tool_call> b <tool_call>{\"name\":1}"},
    {CF_TOOLS_GEMMA3, "text\n```tool_code\r\nprint(default_api.f(x=\"```\", y='''\n```\n'''))\n"
                      "# it's\n[g(), h(a=[1,(2,)],)]\n``````tool_code\nbad\n```\n```tool_cod"},
    {CF_TOOLS_FUNCTIONGEMMA,
     "<start_function_call>call:f{a:<escape><end_function_call><escape>,b:{c:["
     "1,"
     "true]}}<end_function_call><start_function_response>"},
    {CF_TOOLS_GEMMA4, "x<|tool_call>call:f{a:<|\"|>}<tool_call|><|\"|>}<tool_call|><|tool_call>"
                      "call:g{a:<|\"|>x}<tool_call|>"},
    {CF_TOOLS_HAMMER, "ok\n```json\n[{\"name\": \"f\", \"arguments\": {\"a\": \"```\"}}]\n```\n"
                      "```python\n[{\"name\": 1}]\n```\n[{\"name\":\"g\",\"arguments\":{}}]"
                      "<|im_end|>"},
    {CF_TOOLS_LLAMA_PYTHONIC, "note [x]\n [f(a=\"]\", b=[1,2]), g()]<|eot_id|>[h(]"},
    {CF_TOOLS_LLAMA_JSON, "a {b} {\"name\": \"f\", \"parameters\": {\"x\": \"}\"}} ; {\"name\": "
                          "\"g\", \"parameters\": {}}\n{\"name\": \"open\", "},
    {CF_TOOLS_MISTRAL, "hi [TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": \"]\"}}]"
                       "[TOOL_CALLS]g[CALL_ID]a1[ARGS]{\"b\":{}}[TOOL_CALLS] no [TOOL_CALLS]"},
    {CF_TOOLS_PHI4_MINI, "<|tool_call|>[{\"name\":\"f\",\"arguments\":{}}]<|/tool_call|>functools"
                         "[{\"name\":\"g\",\"arguments\":{\"x\":\"]\"}}] functools"},
    {CF_TOOLS_GENERIC, "```\n{\"name\":\"f\",\"arguments\":{}}\n```\n<tool_call>{\"name\":\"g\"}"
                       "</tool_call>\n{\"name\":\"h\",\"arguments\":{}}"},
};

/* Everything of a parse in one text. */
static void print_parse(cf_buf *out, const cf_tool_parse *p)
{
    for (size_t i = 0; i < p->n_segments; i++) {
        const cf_tool_segment *s = &p->segments[i];
        cf_buf_addf(out,
                    "S%d %zu+%zu body %zu+%zu calls %zu+%zu err %zu "
                    "%.*s | %.*s\n",
                    (int)s->kind, s->off, s->len, s->body_off, s->body_len, s->first_call,
                    s->n_calls, s->error_off, (int)s->expected.n, s->expected.p, (int)s->repair.n,
                    s->repair.p);
    }
    for (size_t i = 0; i < p->n_calls; i++) {
        const cf_tool_call *c = &p->calls[i];
        cf_buf_addf(out, "C%.*s %.*s %zu+%zu %zu+%zu\n", (int)c->name.n, c->name.p,
                    (int)c->arguments.n, c->arguments.p, c->off, c->len, c->args_off, c->args_len);
        for (size_t k = 0; k < c->n_spans; k++) {
            cf_buf_addf(out, "  %.*s %zu+%zu\n", (int)c->spans[k].path.n, c->spans[k].path.p,
                        c->spans[k].off, c->spans[k].len);
        }
    }
    for (size_t i = 0; i < p->n_findings; i++) {
        cf_buf_addf(out, "F%d %zu+%zu %.*s\n", (int)p->findings[i].status, p->findings[i].off,
                    p->findings[i].len, (int)p->findings[i].text.n, p->findings[i].text.p);
    }
}

/* The order of events, text joined; deltas and retracted blocks left out. */
static void on_event(const cf_tool_event *ev, void *ud)
{
    cf_buf *out = ud;
    const cf_tool_parse *p = ev->parse;
    switch (ev->kind) {
    case CF_TOOL_EV_TEXT:
        cf_buf_add(out, p->raw.p + ev->off, ev->len);
        break;
    case CF_TOOL_EV_CALL:
        cf_buf_addf(out, "{call %zu %.*s}", ev->index, (int)p->calls[ev->index].name.n,
                    p->calls[ev->index].name.p);
        break;
    case CF_TOOL_EV_FAILED:
        cf_buf_addf(out, "{failed %zu}", p->segments[ev->index].off);
        break;
    case CF_TOOL_EV_DELTA:
    case CF_TOOL_EV_RETRACT:
        break;
    }
}

static void parse_cut(cf_buf *out, cf_tool_family family, const char *raw, size_t n,
                      const size_t *cuts, size_t n_cuts)
{
    cf_error err = {0};
    cf_tool_parser *parser = NULL;
    const cf_tool_parse *p = NULL;
    T_OK(cf_tool_parser_new(&parser, family, NULL, on_event, out, &err), err);
    size_t at = 0;
    for (size_t i = 0; i <= n_cuts; i++) {
        size_t to = i < n_cuts ? cuts[i] : n;
        T_OK(cf_tool_parser_feed(parser, raw + at, to - at, &err), err);
        at = to;
    }
    T_OK(cf_tool_parser_finish(parser, &p, &err), err);
    cf_buf_addc(out, '\n');
    print_parse(out, p);
    cf_tool_parser_free(parser);
}

static void check_cuts(size_t r, const cf_buf *want, const size_t *cuts, size_t n_cuts)
{
    cf_buf got = CF_BUF_INIT;
    parse_cut(&got, replies[r].family, replies[r].raw, strlen(replies[r].raw), cuts, n_cuts);
    if (strcmp(cf_buf_cstr(&got), cf_buf_cstr(want)) != 0) {
        fail_msg("%s cut at %zu (%zu cuts):\n%s\nwant\n%s", replies[r].raw,
                 n_cuts > 0 ? cuts[0] : 0, n_cuts, cf_buf_cstr(&got), cf_buf_cstr(want));
    }
    cf_buf_deinit(&got);
}

static void test_split__two_ways(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof replies / sizeof *replies; r++) {
        size_t n = strlen(replies[r].raw);
        cf_buf want = CF_BUF_INIT;
        parse_cut(&want, replies[r].family, replies[r].raw, n, NULL, 0);
        for (size_t cut = 0; cut <= n; cut++) {
            check_cuts(r, &want, &cut, 1);
        }
        cf_buf_deinit(&want);
    }
}

static void test_split__random(void **state)
{
    (void)state;
    cf_rand rand = {42};
    for (size_t r = 0; r < sizeof replies / sizeof *replies; r++) {
        size_t n = strlen(replies[r].raw);
        size_t cuts[512];
        cf_buf want = CF_BUF_INIT;
        parse_cut(&want, replies[r].family, replies[r].raw, n, NULL, 0);
        for (size_t k = 0; k < n; k++) {
            cuts[k] = k; /* byte by byte */
        }
        check_cuts(r, &want, cuts, n);
        for (int round = 0; round < 40; round++) {
            size_t n_cuts = 0;
            for (size_t at = 0; at < n; at += 1 + cf_rand_below(&rand, 9)) {
                cuts[n_cuts++] = at;
            }
            check_cuts(r, &want, cuts, n_cuts);
        }
        cf_buf_deinit(&want);
    }
}

/* Bytes of the formats in random order: no crash, no gap, no difference. */
static void test_split__soup(void **state)
{
    static const char *const bits[] = {
        "<tool_call>",
        "</tool_call>",
        "```",
        "tool_code",
        "json",
        "\n",
        "\r\n",
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        "\"",
        "'",
        "\\",
        ":",
        ",",
        "=",
        ";",
        " ",
        "\"name\"",
        "\"arguments\"",
        "f",
        "call:",
        "<|tool_call>",
        "<tool_call|>",
        "<|\"|>",
        "<escape>",
        "<start_function_call>",
        "<end_function_call>",
        "[TOOL_CALLS]",
        "[ARGS]",
        "1",
        "-2.5",
        "true",
        "None",
        "functools",
        "<|python_tag|>",
        "\xC3",
        "\xA9",
        "print",
        "#",
        "<function=",
        "<function=f>",
        "</function>",
        "<parameter=a>",
        "</parameter>",
        "<arg_key>",
        "</arg_key>",
        "<arg_value>",
        "</arg_value>",
        "<|channel|>commentary",
        " to=functions.f",
        "<|message|>",
        "<|call|>",
        "<|start|>assistant",
        "<|open|>tools<|sep|>",
        "<|open|>call tool=\"f\" index=\"1\"<|sep|>",
        "<|close|>call<|sep|>",
        "<|close|>tools<|sep|>",
        "<|tool_calls_section_begin|>",
        "<|tool_call_begin|>functions.f:0",
        "<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
        "<|tool_calls|>",
        "<|tool_call:begin|>",
        "<|tool_call:name|>",
        "<|tool_call:args|>",
        "<|tool_call:end|>",
        "<minimax:tool_call>",
        "<invoke name=\"f\">",
        "<parameter name=\"a\">",
        "</invoke>",
        "<function name=\"f\">",
        "<param name=\"a\">",
        "<![CDATA[",
        "]]>",
        "</param>",
        "<|tool_call_start|>",
        "<|tool_call_end|>",
        "<function_calls>",
        "</function_calls>",
        "<|tool_call|>",
        "<|START_ACTION|>",
        "<|END_ACTION|>",
        "Action:",
        "<|tools_prefix|>",
        "<TOOLCALL>",
        "<tool_calls>",
        "<|message_sep|>",
        "function call",
        "<|role_sep|>",
        "<|function_call|>",
    };
    (void)state;
    cf_rand rand = {7};
    for (int round = 0; round < 6000; round++) {
        cf_buf raw = CF_BUF_INIT, want = CF_BUF_INIT, got = CF_BUF_INIT;
        size_t n = 1 + cf_rand_below(&rand, 30);
        for (size_t i = 0; i < n; i++) {
            cf_buf_adds(&raw, bits[cf_rand_below(&rand, sizeof bits / sizeof *bits)]);
        }
        cf_tool_family family = (cf_tool_family)cf_rand_below(&rand, CF_TOOL_FAMILY_N);
        size_t cuts[256];
        size_t n_cuts = 0;
        for (size_t at = 0; at < raw.n && n_cuts < 256; at += 1 + cf_rand_below(&rand, 4)) {
            cuts[n_cuts++] = at;
        }
        parse_cut(&want, family, raw.p, raw.n, NULL, 0);
        parse_cut(&got, family, raw.p, raw.n, cuts, n_cuts);
        if (strcmp(cf_buf_cstr(&got), cf_buf_cstr(&want)) != 0) {
            fail_msg("round %d %s:\n%s\n%s\nwant\n%s", round, cf_tool_family_name(family),
                     cf_buf_cstr(&raw), cf_buf_cstr(&got), cf_buf_cstr(&want));
        }
        cf_buf_deinit(&raw);
        cf_buf_deinit(&want);
        cf_buf_deinit(&got);
    }
}

/* Two calls in every family's own syntax, with text around them: each
 * beginning of the reply, at once and byte by byte. */
static void test_split__every_family(void **state)
{
    (void)state;
    const cf_tool_call calls[2] = {
        {.name = cf_str_from("f"),
         .id = cf_str_from("call00001"),
         .arguments = cf_str_from("{\"a\":\"x </b> y\",\"b\":[1,{\"c\":null}]}")},
        {.name = cf_str_from("get.it"), .arguments = cf_str_from("{}")}};
    for (int f = CF_TOOLS_GENERIC; f < CF_TOOL_FAMILY_N; f++) {
        cf_error err;
        cf_buf raw = CF_BUF_INIT;
        size_t cuts[1024];
        cf_buf_adds(&raw, "So:\n");
        cf_status st = cf_tool_format_calls(&raw, (cf_tool_family)f, calls, 2, &err);
        if (st == CF_EUNSUPPORTED) { /* a family without calls */
            cf_buf_deinit(&raw);
            continue;
        }
        T_OK(st, err);
        cf_buf_adds(&raw, "\ndone");
        assert_true(raw.n < 1024);
        for (size_t k = 0; k < raw.n; k++) {
            cuts[k] = k;
        }
        for (size_t n = 0; n <= raw.n; n++) {
            cf_buf want = CF_BUF_INIT, got = CF_BUF_INIT;
            parse_cut(&want, (cf_tool_family)f, raw.p, n, NULL, 0);
            parse_cut(&got, (cf_tool_family)f, raw.p, n, cuts, n);
            if (strcmp(cf_buf_cstr(&got), cf_buf_cstr(&want)) != 0) {
                fail_msg("%s, %zu bytes of %s:\n%s\nwant\n%s",
                         cf_tool_family_name((cf_tool_family)f), n, cf_buf_cstr(&raw),
                         cf_buf_cstr(&got), cf_buf_cstr(&want));
            }
            cf_buf_deinit(&want);
            cf_buf_deinit(&got);
        }
        cf_buf_deinit(&raw);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split__two_ways),
        cmocka_unit_test(test_split__random),
        cmocka_unit_test(test_split__soup),
        cmocka_unit_test(test_split__every_family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
