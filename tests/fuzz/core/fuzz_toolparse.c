/*
 * fuzz_toolparse.c - any bytes as a model's reply.
 *
 * Byte 0 chooses the family, byte 1 how the rest is cut into chunks.  Parsed
 * in one piece and in chunks it must come out the same; segments must cover
 * every byte; and calls that were found must survive being written and read
 * again.  Time and memory follow the bytes of a long reply.
 */
#include <stdlib.h>
#include <string.h>

#include "core/api/tool.h"
#include "tests/support/law.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A byte is a step: it is lexed, parsed, repaired and validated a bounded
 * number of times. */
static const cf_law_band parsing = {"parsing a reply", 0.5, 20e-6, 4 << 20, 400};

enum { LONG = 64 << 10 };

static void must(bool ok)
{
    if (!ok) {
        abort();
    }
}

static const char declared[] =
    "[{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{"
    "\"x\":"
    "{\"type\":\"integer\",\"minimum\":0},\"y\":{\"type\":\"array\",\"items\":{"
    "\"type\":\"string\",\"enum\":[\"a\",\"b\"]}},\"z\":{\"anyOf\":[{\"type\":"
    "\"object\"},{\"type\":\"null\"}]}},\"required\":[\"x\"]}}]";

static const cf_tool_set *tools(void)
{
    static cf_tool_set *set;
    if (set == NULL) {
        json_t *v = json_loads(declared, 0, NULL);
        must(cf_tool_set_new(&set, v, NULL) == CF_OK);
        json_decref(v);
    }
    return set;
}

static cf_tool_parser *parse(cf_tool_family family, const char *p, size_t n, size_t step,
                             const cf_tool_parse **out)
{
    cf_tool_parser *parser;
    must(cf_tool_parser_new(&parser, family, tools(), NULL, NULL, NULL) == CF_OK);
    for (size_t at = 0; at < n; at += step) {
        must(cf_tool_parser_feed(parser, p + at, n - at < step ? n - at : step, NULL) == CF_OK);
    }
    must(cf_tool_parser_finish(parser, out, NULL) == CF_OK);
    return parser;
}

static void compare(const cf_tool_parse *a, const cf_tool_parse *b)
{
    must(a->n_segments == b->n_segments && a->n_calls == b->n_calls &&
         a->n_findings == b->n_findings && a->status == b->status);
    size_t at = 0;
    for (size_t i = 0; i < a->n_segments; i++) {
        must(a->segments[i].kind == b->segments[i].kind &&
             a->segments[i].off == b->segments[i].off && a->segments[i].len == b->segments[i].len);
        must(a->segments[i].off == at && a->segments[i].len > 0);
        at += a->segments[i].len;
    }
    must(at == a->raw.n);
    for (size_t i = 0; i < a->n_calls; i++) {
        must(cf_str_eq(a->calls[i].name, b->calls[i].name) &&
             cf_str_eq(a->calls[i].arguments, b->calls[i].arguments));
    }
}

static void write_and_read(cf_tool_family family, const cf_tool_parse *p)
{
    cf_buf text = CF_BUF_INIT;
    if (p->n_calls > 0 &&
        cf_tool_format_calls(&text, family, p->calls, p->n_calls, NULL) == CF_OK) {
        const cf_tool_parse *again;
        cf_tool_parser *parser = parse(family, text.p, text.n, text.n, &again);
        /* Bytes that are no UTF-8 in a name were replaced in writing. */
        must(again->n_calls == p->n_calls);
        for (size_t i = 0; i < p->n_calls; i++) {
            must(cf_str_eq(again->calls[i].arguments, p->calls[i].arguments));
        }
        cf_tool_parser_free(parser);
    }
    cf_buf_deinit(&text);
}

/* The reply over and over: what grows faster than the reply shows. */
static void parse_long(cf_tool_family family, const char *p, size_t n)
{
    cf_buf text = CF_BUF_INIT;
    const cf_tool_parse *out;
    while (text.n < LONG && !text.failed) {
        cf_buf_add(&text, p, n);
    }
    must(!text.failed);
    cf_law law = cf_law_begin();
    cf_tool_parser_free(parse(family, text.p, text.n, 1000, &out));
    cf_law_check(&law, &parsing, text.n);
    cf_buf_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    cf_tool_family family = (cf_tool_family)(data[0] % CF_TOOL_FAMILY_N);
    size_t step = 1 + data[1] % 16;
    const char *p = (const char *)data + 2;
    size_t n = size - 2;
    const cf_tool_parse *whole, *cut;
    cf_law_install();
    cf_tool_parser *a = parse(family, p, n, n > 0 ? n : 1, &whole);
    cf_tool_parser *b = parse(family, p, n, step, &cut);
    compare(whole, cut);
    write_and_read(family, whole);
    if (data[1] >= 240 && n > 0) {
        parse_long(family, p, n);
    }
    cf_tool_parser_free(a);
    cf_tool_parser_free(b);
    return 0;
}
