/*
 * parse_all.c - confab parse --all: parses one reply with every family, whole
 * and in pieces, and shows which reads it, where the others stop, and what they
 * would have taken there.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "tui/cli/talk/parse_reply.h"

enum {
    CUTS_MAX = 512,         /* places at which a reply is cut in two */
    STEPS_MAX = 8,          /* sizes of pieces, from one byte on */
    PIECES_BYTES = 64 << 10 /* for all of these together; once in any case */
};

/* Prints the part that must not depend on how the reply is cut. */
static void print(cf_buf *out, const cf_parsed *p)
{
    cf_buf_reset(out);
    cf_buf_addc(out, '{');
    cf_parsed_write(out, p, true);
    cf_buf_addc(out, '}');
}

typedef struct agreement {
    cf_tool_family family;
    const cf_tool_set *tools;
    cf_str prefill, raw;
    const cf_buf *want;
    cf_buf got;
    bool agrees;
} agreement;

static cf_status try_pieces(agreement *a, size_t first, size_t step, cf_error *err)
{
    cf_parsed p;
    CF_TRY(cf_parsed_init(&p, a->family, a->tools, a->prefill, a->raw, first, step, err));
    print(&a->got, &p);
    cf_parsed_deinit(&p);
    CF_TRY(cf_buf_check(&a->got, err));
    a->agrees = a->agrees && cf_str_eq(cf_buf_str(&a->got), cf_buf_str(a->want));
    return CF_OK;
}

/* Whether every way to cut the reply gives `whole`: as many as the bytes allow,
 * so that a long reply is parsed twice, whole and in small pieces. */
static cf_status check_pieces(agreement *a, const cf_parsed *whole, cf_error *err)
{
    cf_buf want = CF_BUF_INIT;
    print(&want, whole);
    a->want = &want;
    a->agrees = true;
    cf_status st = cf_buf_check(&want, err);
    size_t left = 1 + PIECES_BYTES / (a->raw.n + 1);
    for (size_t step = STEPS_MAX; st == CF_OK && step >= 1 && left > 0; step--, left--) {
        st = try_pieces(a, 0, step, err);
    }
    size_t stride = 1 + a->raw.n / (left < CUTS_MAX ? left + 1 : CUTS_MAX);
    for (size_t cut = 1; st == CF_OK && left > 0 && cut < a->raw.n; cut += stride) {
        st = try_pieces(a, cut, 0, err);
    }
    cf_buf_deinit(&want);
    cf_buf_deinit(&a->got);
    return st;
}

/* One family's answer. */
typedef struct answer {
    const char *family;
    bool is_read, chunks_agree;
    const cf_parsed *parsed;
    size_t byte;
    cf_buf expected;
} answer;

/* The first failed block, else how near the bytes came to a call. */
static void find_stop(answer *a, cf_tool_family family, cf_str raw)
{
    const cf_tool_parse *parse = a->parsed->parse;
    for (size_t i = 0; i < parse->n_segments; i++) {
        const cf_tool_segment *s = &parse->segments[i];
        if (s->kind == CF_TOOL_SEG_FAILED) {
            a->byte = cf_parsed_offset(a->parsed, s->error_off);
            a->byte = a->byte < raw.n ? a->byte : raw.n;
            cf_buf_add(&a->expected, s->expected.p, s->expected.n);
            return;
        }
    }
    size_t off;
    cf_tool_family_closest(family, cf_buf_str(&a->parsed->content), &off, &a->expected);
    a->byte = cf_parsed_offset(a->parsed, off);
}

static void write_json(cf_buf *out, const answer *a)
{
    cf_buf_addf(out, "{\"family\":\"%s\",\"read\":%s,", a->family, a->is_read ? "true" : "false");
    cf_parsed_write(out, a->parsed, false);
    if (!a->is_read) {
        cf_buf_addf(out, ",\"byte\":%zu,\"expected\":", a->byte);
        cf_json_write_str(out, cf_buf_str(&a->expected));
    }
    out->failed = out->failed || a->expected.failed;
    cf_buf_addf(out, ",\"chunks_agree\":%s}\n", a->chunks_agree ? "true" : "false");
}

static void write_row(cf_buf *out, const answer *a)
{
    const cf_tool_parse *parse = a->parsed->parse;
    cf_buf_addf(out, "%-14s  %-4s  ", a->family, a->is_read ? "yes" : "no");
    if (a->is_read) {
        cf_buf_addf(out, "%-26s  ", cf_tool_status_name(parse->status));
        for (size_t i = 0; i < parse->n_calls; i++) {
            const cf_tool_call *c = &parse->calls[i];
            cf_buf_addf(out, "%s%.*s", i > 0 ? ", " : "", (int)c->name.n, c->name.p);
        }
    } else {
        cf_buf_addf(out, "stops at byte %-12zu  expected %.*s", a->byte, (int)a->expected.n,
                    cf_buf_cstr(&a->expected));
    }
    cf_buf_adds(out, a->chunks_agree ? "\n" : "  DIFFERS WHEN STREAMED\n");
}

static cf_status one_family(cf_buf *out, cf_tool_family family, const cf_tool_set *tools,
                            cf_str prefill, cf_str raw, bool is_json, bool *is_read, cf_error *err)
{
    cf_parsed whole;
    agreement agree = {.family = family, .tools = tools, .prefill = prefill, .raw = raw};
    CF_TRY(cf_parsed_init(&whole, family, tools, prefill, raw, 0, 0, err));
    answer a = {.family = cf_tool_family_name(family),
                .parsed = &whole,
                .is_read = whole.parse->n_calls > 0};
    for (size_t i = 0; i < whole.parse->n_segments; i++) {
        a.is_read = a.is_read && whole.parse->segments[i].kind != CF_TOOL_SEG_FAILED;
    }
    if (!a.is_read) {
        find_stop(&a, family, raw);
    }
    cf_status st = check_pieces(&agree, &whole, err);
    a.chunks_agree = agree.agrees;
    if (is_json) {
        write_json(out, &a);
    } else {
        write_row(out, &a);
    }
    out->failed = out->failed || a.expected.failed;
    *is_read = *is_read || a.is_read;
    cf_buf_deinit(&a.expected);
    cf_parsed_deinit(&whole);
    return st;
}

cf_status cf_parse_all(cf_buf *out, const cf_tool_set *tools, cf_str prefill, cf_str raw,
                       bool is_json, bool *is_read, cf_error *err)
{
    *is_read = false;
    if (!is_json) {
        cf_buf_adds(out, "family          read\n");
    }
    for (int i = CF_TOOLS_NONE + 1; i < CF_TOOL_FAMILY_N; i++) {
        CF_TRY(one_family(out, (cf_tool_family)i, tools, prefill, raw, is_json, is_read, err));
    }
    return cf_buf_check(out, err);
}
