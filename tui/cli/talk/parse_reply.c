/*
 * parse_reply.c - parses a reply into thinking, text, calls and findings.
 */
#include "tui/cli/talk/parse_reply.h"

#include <string.h>

#include "core/base/alloc.h"

/* Records that content from `content_off` on is at raw_off; one piece lasts as
 * long as both advance together. */
static cf_status note_piece(cf_parsed *p, size_t content_off, size_t raw_off, cf_error *err)
{
    const struct cf_parsed_piece *last = p->n_pieces > 0 ? &p->pieces[p->n_pieces - 1] : NULL;
    if (last != NULL && raw_off - last->raw_off == content_off - last->content_off) {
        return CF_OK;
    }
    if (p->n_pieces == p->cap_pieces) {
        size_t cap = p->cap_pieces == 0 ? 4 : p->cap_pieces * 2;
        void *v = cf_realloc(p->pieces, cap, sizeof *p->pieces);
        if (v == NULL) {
            return cf_oom(err);
        }
        p->pieces = v;
        p->cap_pieces = cap;
    }
    p->pieces[p->n_pieces++] = (struct cf_parsed_piece){content_off, raw_off};
    return CF_OK;
}

size_t cf_parsed_offset(const cf_parsed *p, size_t off)
{
    size_t at = off;
    for (size_t i = 0; i < p->n_pieces && p->pieces[i].content_off <= off; i++) {
        at = p->pieces[i].raw_off + (off - p->pieces[i].content_off);
    }
    return at;
}

static bool is_outside_calls(void *ud)
{
    const cf_parsed *p = ud;
    return !cf_tool_parser_in_block(p->parser);
}

static cf_status on_piece(void *ud, size_t channel, cf_str text, cf_error *err)
{
    cf_parsed *p = ud;
    if (channel < p->split.n) {
        cf_buf_add(&p->thinking, text.p, text.n);
        return cf_buf_check(&p->thinking, err);
    }
    CF_TRY(note_piece(p, p->content.n, p->split.total - p->split.held.n, err));
    cf_buf_add(&p->content, text.p, text.n);
    CF_TRY(cf_buf_check(&p->content, err));
    return cf_tool_parser_feed(p->parser, text.p, text.n, err);
}

cf_status cf_parsed_init(cf_parsed *out, cf_tool_family family, const cf_tool_set *tools,
                         cf_str prefill, cf_str raw, size_t first, size_t step, cf_error *err)
{
    memset(out, 0, sizeof *out);
    const cf_channel_set channels = cf_tool_family_channels(family);
    CF_TRY(cf_tool_parser_new(&out->parser, family, tools, NULL, NULL, err));
    cf_channel_split_init(&out->split, channels.v, channels.n, on_piece, out);
    out->split.may_open = is_outside_calls;
    out->split.n_stop = cf_tool_family_stops(family, out->split.stop);
    cf_channel_split_prompt(&out->split, prefill);
    cf_status st = CF_OK;
    for (size_t off = 0; st == CF_OK && off < raw.n;) {
        size_t n = off == 0 && first > 0 ? first : step;
        n = n > 0 && n < raw.n - off ? n : raw.n - off;
        st = cf_channel_split_add(&out->split, cf_str_make(raw.p + off, n), err);
        off += n;
    }
    CF_THEN(st, cf_channel_split_finish(&out->split, err));
    CF_THEN(st, cf_tool_parser_finish(out->parser, &out->parse, err));
    if (st != CF_OK) {
        cf_parsed_deinit(out);
    }
    return st;
}

void cf_parsed_deinit(cf_parsed *p)
{
    cf_channel_split_deinit(&p->split);
    cf_buf_deinit(&p->thinking);
    cf_buf_deinit(&p->content);
    cf_tool_parser_free(p->parser);
    cf_free(p->pieces);
    memset(p, 0, sizeof *p);
}

/* ---- JSON --------------------------------------------------------------- */

static void write_str(cf_buf *out, const char *key, cf_str v)
{
    cf_buf_addf(out, ",\"%s\":", key);
    cf_json_write_str(out, v);
}

/* The member "calls". */
static void write_calls(cf_buf *out, const cf_tool_parse *parse, bool is_full)
{
    cf_buf_adds(out, ",\"calls\":[");
    for (size_t i = 0; i < parse->n_calls; i++) {
        const cf_tool_call *c = &parse->calls[i];
        cf_buf_adds(out, i > 0 ? ",{\"name\":" : "{\"name\":");
        cf_json_write_str(out, c->name);
        cf_buf_adds(out, ",\"arguments\":");
        cf_buf_add(out, c->arguments.p, c->arguments.n);
        if (c->id.n > 0) {
            write_str(out, "id", c->id);
        }
        if (is_full) {
            cf_buf_addf(out, ",\"status\":\"%s\",\"off\":%zu,\"len\":%zu",
                        cf_tool_status_name(c->status), c->off, c->len);
        }
        cf_buf_addc(out, '}');
    }
    cf_buf_addc(out, ']');
}

static void write_findings(cf_buf *out, const cf_tool_parse *parse)
{
    if (parse->n_findings == 0) {
        return;
    }
    cf_buf_adds(out, ",\"findings\":[");
    for (size_t i = 0; i < parse->n_findings; i++) {
        const cf_tool_finding *f = &parse->findings[i];
        cf_buf_addf(out, "%s{\"status\":\"%s\"", i > 0 ? "," : "",
                    f->status == CF_TOOL_VALID ? "NOTE" : cf_tool_status_name(f->status));
        if (f->call != CF_TOOL_NO_CALL) {
            cf_buf_addf(out, ",\"call\":%zu", f->call);
        }
        write_str(out, "path", f->path);
        cf_buf_addf(out, ",\"off\":%zu,\"len\":%zu", f->off, f->len);
        write_str(out, "text", f->text);
        cf_buf_addc(out, '}');
    }
    cf_buf_addc(out, ']');
}

static void write_segments(cf_buf *out, const cf_tool_parse *parse)
{
    static const char *const kinds[] = {"text", "calls", "failed", "marker"};
    cf_buf_adds(out, ",\"segments\":[");
    for (size_t i = 0; i < parse->n_segments; i++) {
        const cf_tool_segment *s = &parse->segments[i];
        cf_buf_addf(out, "%s{\"kind\":\"%s\",\"off\":%zu,\"len\":%zu", i > 0 ? "," : "",
                    kinds[s->kind], s->off, s->len);
        if (s->kind == CF_TOOL_SEG_FAILED) {
            cf_buf_addf(out, ",\"error_off\":%zu", s->error_off);
            write_str(out, "expected", s->expected);
            if (s->repair.n > 0) {
                write_str(out, "repair", s->repair);
                write_str(out, "repair_how", s->repair_how);
            }
        }
        cf_buf_addc(out, '}');
    }
    cf_buf_addc(out, ']');
}

void cf_parsed_write(cf_buf *out, const cf_parsed *p, bool is_full)
{
    const cf_tool_parse *parse = p->parse;
    cf_buf text = CF_BUF_INIT;
    cf_tool_parse_text(parse, &text);
    cf_buf_adds(out, "\"text\":");
    cf_json_write_str(out, cf_buf_str(&text));
    out->failed = out->failed || text.failed;
    cf_buf_deinit(&text);
    if (p->thinking.n > 0) {
        write_str(out, "thinking", cf_buf_str(&p->thinking));
    }
    write_calls(out, parse, is_full);
    cf_buf_addf(out, ",\"status\":\"%s\"", cf_tool_status_name(parse->status));
    write_findings(out, parse);
    if (is_full) {
        write_segments(out, parse);
    }
}
