/*
 * tool_parse.c - parses a reply into text, calls and failed blocks while it
 * streams.
 *
 * States:  TEXT   raw[pos..) is not decided; a rule may open a block there
 *          BLOCK  raw[block.off..) is a block; tool_search.c looks for its
 *                 end
 *
 * Always true:
 *   1. Segments cover raw[0..pos) (TEXT) or raw[0..block.off) (BLOCK).
 *   2. A decision depends on bytes that can no longer change, or is made in
 *      finish(); so the cut into chunks does not matter.  Rules are asked in
 *      order, and one that needs more bytes keeps the later ones waiting.
 *   3. A block whose end never comes counts when its calls are complete,
 *      fails when a call had begun, and is text when none had; what follows
 *      the start of the text is then searched again, a bounded number of
 *      times.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/tools/tool_rules.h"

enum {
    RAW_MAX = 16 << 20, /* bytes of one reply */
    RESCANS_MAX = 64,   /* unclosed blocks searched again (rule 3) */
    REPAIRS_MAX = 16    /* failed blocks that get a repair */
};

struct cf_tool_parser {
    cf_tool_family family;
    cf_tool__rule rules[CF_TOOL_RULES_MAX];
    size_t n_rules;
    const cf_tool_set *tools;
    cf_tool_event_fn fn;
    void *ud;

    cf_buf raw;
    size_t pos;   /* rule 1 */
    size_t fresh; /* end of the last segment other than text */
    bool in_block, in_code, is_done, is_final;
    bool has_delta; /* bytes of the open block were reported */
    size_t told;    /* up to here */
    cf_tool__block block;
    cf_tool__search search;       /* for its end */
    const cf_tool__rule *section; /* the open one, or NULL */
    size_t section_at;            /* the segment of its mark */
    unsigned n_rescans, n_repairs;
    cf_status failed;

    cf_arena arena;
    cf_tool_segment *segments;
    size_t n_segments, cap_segments;
    cf_tool_call *calls;
    size_t n_calls, cap_calls;
    cf_tool__findings findings;
    cf_tool_parse parse;
    char first[256]; /* bytes that a rule starts with */
};

/* ---- results ------------------------------------------------------------ */

static void refresh(cf_tool_parser *p)
{
    p->parse.raw = cf_buf_str(&p->raw);
    p->parse.segments = p->segments;
    p->parse.n_segments = p->n_segments;
    p->parse.calls = p->calls;
    p->parse.n_calls = p->n_calls;
    p->parse.findings = p->findings.v;
    p->parse.n_findings = p->findings.n;
}

static void tell(cf_tool_parser *p, cf_tool_event_kind kind, size_t off, size_t len, size_t index)
{
    if (p->fn == NULL) {
        return;
    }
    refresh(p);
    cf_tool_event ev = {kind, off, len, index, &p->parse};
    p->fn(&ev, p->ud);
}

static void *grow(cf_tool_parser *p, void *v, size_t n, size_t *cap, size_t size)
{
    if (n < *cap) {
        return v;
    }
    size_t want = *cap == 0 ? 8 : *cap * 2;
    void *to = cf_arena_alloc(&p->arena, want * size);
    if (to == NULL) {
        p->failed = CF_ENOMEM;
        return NULL;
    }
    if (n > 0) {
        memcpy(to, v, n * size);
    }
    *cap = want;
    return to;
}

static cf_tool_segment *add_segment(cf_tool_parser *p, cf_tool_segment_kind kind, size_t off,
                                    size_t end)
{
    cf_tool_segment *v = grow(p, p->segments, p->n_segments, &p->cap_segments, sizeof *v);
    if (v == NULL) {
        return NULL;
    }
    p->segments = v;
    cf_tool_segment *s = &v[p->n_segments++];
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->off = off;
    s->len = end - off;
    s->body_off = off;
    s->first_call = p->n_calls;
    return s;
}

/* Records raw[pos..end) as text, merged with preceding text. */
static void add_text(cf_tool_parser *p, size_t end)
{
    size_t off = p->pos;
    if (end <= off) {
        return;
    }
    cf_tool_segment *last = p->n_segments > 0 ? &p->segments[p->n_segments - 1] : NULL;
    if (last != NULL && last->kind == CF_TOOL_SEG_TEXT) {
        last->len += end - off;
    } else if (add_segment(p, CF_TOOL_SEG_TEXT, off, end) == NULL) {
        return;
    }
    p->pos = end;
    tell(p, CF_TOOL_EV_TEXT, off, end - off, 0);
}

static void add_note(cf_tool_parser *p, size_t off, size_t call, const char *text)
{
    cf_tool_finding f = {
        .status = CF_TOOL_VALID, .call = call, .off = off, .text = cf_str_from(text)};
    cf_tool__finding_add(&p->findings, &f);
}

/* ---- the body of a block ------------------------------------------------ */

static bool take_calls(cf_tool_parser *p, cf_tool__emit *e)
{
    for (size_t i = 0; i < e->n_calls; i++) {
        const cf_tool__raw_call *from = &e->calls[i];
        cf_tool_call *v = grow(p, p->calls, p->n_calls, &p->cap_calls, sizeof *v);
        if (v == NULL) {
            return false;
        }
        p->calls = v;
        json_t *tree = cf_tool__tree(from->arguments);
        if (tree == NULL) {
            p->failed = CF_ENOMEM;
            return false;
        }
        v[p->n_calls] = (cf_tool_call){
            .name = from->name,
            .id = from->id,
            .arguments = from->arguments,
            .json = tree,
            .off = from->off,
            .len = from->len,
            .name_off = from->name_off,
            .name_len = from->name_len,
            .args_off = from->args_off,
            .args_len = from->args_len,
            .spans = e->spans != NULL ? e->spans + from->first_span : NULL,
            .n_spans = from->n_spans,
        };
        p->n_calls++;
    }
    return true;
}

/* Checks call `i`; the first of its findings is its status. */
static void validate(cf_tool_parser *p, size_t i)
{
    size_t before = p->findings.n;
    if (p->tools != NULL) {
        cf_tool__validate(&p->calls[i], i, p->tools, &p->findings);
    }
    if (p->findings.n > before) {
        p->calls[i].status = p->findings.v[before].status;
    }
}

static void add_calls(cf_tool_parser *p, cf_tool__emit *e, size_t body_end, size_t end)
{
    cf_tool_segment *s =
        add_segment(p, e->n_calls > 0 ? CF_TOOL_SEG_CALLS : CF_TOOL_SEG_MARKER, p->block.off, end);
    size_t first = p->n_calls;
    if (s == NULL || !take_calls(p, e)) {
        return;
    }
    s->body_off = p->block.body_off;
    s->body_len = body_end - p->block.body_off;
    s->n_calls = e->n_calls;
    for (size_t i = 0; i < e->n_notes; i++) {
        cf_tool_finding f = {.status = CF_TOOL_VALID,
                             .call = first + e->notes[i].call,
                             .off = e->notes[i].off,
                             .text = e->notes[i].text};
        cf_tool__finding_add(&p->findings, &f);
    }
    p->pos = p->fresh = end;
    for (size_t i = first; i < p->n_calls; i++) {
        validate(p, i);
    }
    for (size_t i = first; i < p->n_calls; i++) {
        tell(p, CF_TOOL_EV_CALL, p->calls[i].off, p->calls[i].len, i);
    }
}

/* A marker at raw[off..end). */
static void add_marker(cf_tool_parser *p, size_t off, size_t end)
{
    if (add_segment(p, CF_TOOL_SEG_MARKER, off, end) != NULL) {
        p->pos = p->fresh = end;
    }
}

static void add_failed(cf_tool_parser *p, size_t error_off, const char *expected, size_t body_end,
                       size_t end)
{
    cf_tool_segment *s = add_segment(p, CF_TOOL_SEG_FAILED, p->block.off, end);
    if (s == NULL) {
        return;
    }
    s->body_off = p->block.body_off;
    s->body_len = body_end - p->block.body_off;
    s->error_off = error_off;
    s->expected =
        cf_str_make(cf_arena_strndup(&p->arena, expected, strlen(expected)), strlen(expected));
    if (s->expected.p == NULL) {
        p->failed = CF_ENOMEM;
        return;
    }
    cf_str raw = cf_buf_str(&p->raw);
    bool is_cut = error_off >= p->raw.n;
    if (!p->block.is_bad && !is_cut && p->block.rule->lexer != CF_LEX_TAGS &&
        p->n_repairs++ < REPAIRS_MAX) {
        cf_tool__repair(raw, &p->block, body_end, end, p->tools, &p->arena, &s->repair,
                        &s->repair_how);
    }
    cf_tool_finding f = {
        .status = CF_TOOL_PARSE_ERROR, .call = CF_TOOL_NO_CALL, .off = error_off, .len = 0};
    cf_buf text = CF_BUF_INIT;
    cf_buf_addf(&text, "byte %zu: expected %s", error_off, expected);
    f.text = cf_str_make(cf_arena_strndup(&p->arena, cf_buf_cstr(&text), text.n), text.n);
    bool ok = !text.failed && f.text.p != NULL;
    cf_buf_deinit(&text);
    if (!ok) {
        p->failed = CF_ENOMEM;
        return;
    }
    cf_tool__finding_add(&p->findings, &f);
    p->pos = p->fresh = end;
    tell(p, CF_TOOL_EV_FAILED, s->off, s->len, p->n_segments - 1);
}

/* The open block is text up to `end`. */
static void retract(cf_tool_parser *p, size_t end)
{
    if (p->has_delta) {
        tell(p, CF_TOOL_EV_RETRACT, p->block.off, end - p->block.off, 0);
    }
    p->in_block = false;
    add_text(p, end);
}

static bool is_blank(const cf_tool_parser *p, size_t off, size_t end)
{
    while (off < end && cf_tool__is_space(p->raw.p[off])) {
        off++;
    }
    return off == end;
}

/* Whether the unclosed body could be the start of a call. */
static bool has_begun(const cf_tool_parser *p)
{
    size_t at = p->block.body_off;
    while (at < p->raw.n && cf_tool__is_space(p->raw.p[at])) {
        at++;
    }
    if (at == p->raw.n || p->block.is_named || p->block.rule->lexer == CF_LEX_TAGS) {
        return true;
    }
    char c = p->raw.p[at];
    switch (p->block.rule->lexer) {
    case CF_LEX_JSON:
        return c == '{' || c == '[';
    case CF_LEX_FC: {
        cf_str rest = cf_str_make(p->raw.p + at, p->raw.n - at);
        return cf_str_starts(rest, cf_str_from("call:")) ||
               cf_str_starts(cf_str_from("call:"), rest);
    }
    case CF_LEX_PYTHON:
    case CF_LEX_PYTHON_LINES:
        return c == '[' || cf_tool__is_name_start(c);
    case CF_LEX_TAGS:
        break;
    }
    return true;
}

/* The end of an unclosed block's body, without the start of an end literal. */
static size_t cut_body_end(const cf_tool_parser *p, size_t end)
{
    cf_str raw = cf_str_make(p->raw.p, end);
    cf_str mark = p->block.rule->end;
    size_t from = end > mark.n ? end - mark.n : 0;
    from = from > p->block.body_off ? from : p->block.body_off;
    for (size_t i = from; i < end; i++) {
        if (cf_tool__partial(raw, i, mark) > 0) {
            return i;
        }
    }
    return end;
}

/* Reads raw[block.off..end), whose end literal is there. */
static void close_block(cf_tool_parser *p, size_t body_end, size_t end)
{
    if (p->block.is_bad) {
        p->in_block = false;
        add_failed(p, p->block.err_off, p->block.expected, body_end, end);
        return;
    }
    if (is_blank(p, p->block.body_off, body_end) && p->block.rule->lexer != CF_LEX_TAGS &&
        !p->block.is_named) {
        add_note(p, p->block.off, CF_TOOL_NO_CALL, "an empty block of calls");
        if (p->block.rule->kind == CF_RULE_CODE_FENCE) { /* code, if empty */
            retract(p, end);
            return;
        }
        p->in_block = false;
        add_marker(p, p->block.off, end);
        return;
    }
    cf_tool__emit e;
    cf_tool__emit_init(&e, p->raw.p, p->block.body_off, body_end, &p->arena);
    bool ok = cf_tool__parse_body(&e, &p->block, true, p->tools);
    if (e.oom || p->arena.failed) {
        p->failed = CF_ENOMEM;
    } else if (ok) {
        p->in_block = false;
        add_calls(p, &e, body_end, end);
    } else if (e.not_calls || !p->block.is_sure) {
        retract(p, end);
    } else {
        p->in_block = false;
        add_failed(p, e.err_off, e.expected, body_end, end);
    }
    cf_tool__emit_deinit(&e);
}

/* Reads raw[block.off..end), whose end literal never came (rule 3); false:
 * it is text. */
static bool close_cut(cf_tool_parser *p, size_t end)
{
    const cf_tool__block *b = &p->block;
    size_t body_end = cut_body_end(p, end);
    bool needs_end =
        b->rule->kind == CF_RULE_CALL && b->rule->end.n > 0 && !b->rule->syntax->is_self_ended;
    if (b->is_bad) {
        p->in_block = false;
        add_failed(p, b->err_off, b->expected, end, end);
        return true;
    }
    if (!has_begun(p)) {
        return false;
    }
    cf_tool__emit e;
    cf_tool__emit_init(&e, p->raw.p, b->body_off, body_end, &p->arena);
    bool ok = cf_tool__parse_body(&e, b, false, p->tools);
    bool is_text = !ok && (e.not_calls || !b->is_sure);
    if (e.oom || p->arena.failed) {
        p->failed = CF_ENOMEM;
    } else if (ok && !needs_end && e.n_calls > 0) {
        p->in_block = false;
        add_note(p, end, p->n_calls, "the end of the block is missing");
        add_calls(p, &e, body_end, end);
    } else if (!is_text) {
        char mark[96];
        cf_str want = b->rule->end;
        snprintf(mark, sizeof mark, "'%.*s'", (int)want.n, want.p);
        p->in_block = false;
        add_failed(p, ok ? end : e.err_off,
                   !ok          ? e.expected
                   : want.n > 0 ? mark
                                : "a call",
                   end, end);
    }
    cf_tool__emit_deinit(&e);
    return !is_text;
}

/* ---- running ------------------------------------------------------------ */

static void tell_delta(cf_tool_parser *p)
{
    if (p->search.scan > p->told) {
        p->has_delta = true;
        tell(p, CF_TOOL_EV_DELTA, p->told, p->search.scan - p->told, 0);
        p->told = p->search.scan;
    }
}

/* The end of the block never came (rule 3). */
static void give_up_block(cf_tool_parser *p)
{
    size_t body_end, end;
    bool is_last = ++p->n_rescans > RESCANS_MAX;
    if (!is_last && !p->block.is_bad && !p->block.is_named && p->block.rule->lexer != CF_LEX_TAGS &&
        cf_tool__find_plain_end(&p->search, &body_end, &end)) {
        close_block(p, body_end, end);
        return;
    }
    if (!is_last && close_cut(p, p->raw.n)) {
        return;
    }
    add_note(p, p->block.off, CF_TOOL_NO_CALL,
             "a block of calls starts here and never ends; it is kept as text");
    size_t mark = p->block.rule->start.n;
    size_t resume = p->block.off + (mark > 0 ? mark : 1);
    retract(p, is_last || resume > p->raw.n ? p->raw.n : resume);
}

/* Processes the open block; false if more bytes are needed. */
static bool run_block(cf_tool_parser *p)
{
    size_t body_end = 0, end = 0;
    switch (cf_tool__find_end(&p->search, cf_buf_str(&p->raw), p->is_final, &body_end, &end)) {
    case CF_FOUND_END:
        close_block(p, body_end, end);
        return true;
    case CF_FOUND_RESTART:
        add_note(p, p->block.off, CF_TOOL_NO_CALL,
                 "a block of calls starts here and never ends; it is kept as "
                 "text");
        retract(p, p->search.scan);
        return true;
    case CF_FOUND_NOT_YET:
        break;
    }
    tell_delta(p);
    if (p->is_final) {
        give_up_block(p);
        return true;
    }
    return false;
}

/* The marks around calls of which none could be read are text as these are. */
static void end_section(cf_tool_parser *p)
{
    bool has_calls = false, has_failed = false;
    for (size_t i = p->section_at; p->section != NULL && i < p->n_segments; i++) {
        has_calls = has_calls || p->segments[i].kind == CF_TOOL_SEG_CALLS;
        has_failed = has_failed || p->segments[i].kind == CF_TOOL_SEG_FAILED;
    }
    for (size_t i = p->section_at; has_failed && !has_calls && i < p->n_segments; i++) {
        bool is_mark = p->segments[i].kind == CF_TOOL_SEG_MARKER;
        p->segments[i].kind = is_mark ? CF_TOOL_SEG_TEXT : p->segments[i].kind;
    }
    p->section = NULL;
}

/* The opening literal of a section. */
static void open_section(cf_tool_parser *p, const cf_tool__block *block)
{
    if (block->is_empty) {
        add_note(p, block->off, CF_TOOL_NO_CALL, "an empty block of calls");
        add_marker(p, block->off, block->body_off);
        return;
    }
    end_section(p);
    p->section = block->rule;
    p->section_at = p->n_segments;
    add_marker(p, block->off, block->body_off);
}

static void open_block(cf_tool_parser *p, const cf_tool__block *block)
{
    add_text(p, block->off);
    p->block = *block;
    if (block->rule->kind == CF_RULE_MARKER || block->rule->kind == CF_RULE_SEPARATOR) {
        add_marker(p, block->off, block->body_off);
        if (block->rule->is_stray) {
            end_section(p);
        }
        return;
    }
    if (block->rule->kind == CF_RULE_SECTION && !block->is_bad) {
        open_section(p, block);
        return;
    }
    p->has_delta = false;
    p->told = block->off;
    p->search = (cf_tool__search){
        .block = &p->block, .scan = block->body_off, .walk = {.at = block->body_off}};
    if (block->is_bad && block->rule->end.n == 0) {
        close_block(p, block->err_off, block->err_off);
        return;
    }
    p->in_block = true;
}

/* Markdown code that holds no call: nothing inside it starts a bare one. */
static bool skip_code(cf_tool_parser *p, size_t *i)
{
    bool has_markdown = false;
    for (size_t k = 0; k < p->n_rules; k++) {
        has_markdown = has_markdown || p->rules[k].kind == CF_RULE_MARKDOWN;
    }
    if (!has_markdown || p->raw.n - *i < 3 || memcmp(p->raw.p + *i, "```", 3) != 0) {
        return false;
    }
    p->in_code = !p->in_code;
    *i += 3;
    return true;
}

/* The first rule that opens a block at raw[i]; *needs_more when that is not
 * decided yet. */
static bool match_any(cf_tool_parser *p, size_t i, cf_tool__block *block, bool *needs_more)
{
    const cf_tool__view view = {cf_buf_str(&p->raw), p->is_final, p->fresh, p->rules,
                                p->n_rules,          p->tools};
    for (size_t k = 0; k < p->n_rules && !*needs_more; k++) {
        const cf_tool__rule *r = &p->rules[k];
        if (p->in_code && r->kind != CF_RULE_FENCE) {
            continue;
        }
        switch (cf_tool__match_rule(&view, r, i, block)) {
        case CF_MATCH_YES:
            return true;
        case CF_MATCH_MORE:
            *needs_more = true;
            break;
        case CF_MATCH_NO:
            break;
        }
    }
    return false;
}

/* At the end of the reply, after the last call of an open section: raw[i..)
 * may be the first bytes of another call, which was cut off, or of an end
 * literal, which may be dropped. */
static bool match_cut(cf_tool_parser *p, size_t i)
{
    cf_str raw = cf_buf_str(&p->raw);
    const cf_tool__rule *call = NULL;
    if (!p->is_final || p->fresh == 0 || !is_blank(p, p->fresh, i)) {
        return false;
    }
    for (size_t k = 0; k < p->n_rules; k++) {
        const cf_tool__rule *r = &p->rules[k];
        if (cf_tool__partial(raw, i, r->start) > 1) {
            if (r->is_stray) {
                add_text(p, i);
                add_marker(p, i, raw.n);
                return true;
            }
            call = r->kind == CF_RULE_CALL ? r : call;
        }
    }
    if (call == NULL || p->section == NULL) {
        return false;
    }
    add_text(p, i);
    p->block = (cf_tool__block){.rule = call, .off = i, .is_bad = true};
    char mark[96];
    snprintf(mark, sizeof mark, "'%.*s'", (int)(call->start.n < 80 ? call->start.n : 80),
             call->start.p);
    add_failed(p, raw.n, mark, raw.n, raw.n);
    return true;
}

/* Searches raw[pos..) for a block; false: more bytes are needed. */
static bool run_text(cf_tool_parser *p)
{
    cf_str raw = cf_buf_str(&p->raw);
    for (size_t i = p->pos; i < raw.n;) {
        if (p->first[(unsigned char)raw.p[i]] == 0) {
            i++;
            continue;
        }
        bool needs_more = false;
        cf_tool__block block;
        if (match_any(p, i, &block, &needs_more)) {
            open_block(p, &block);
            return true;
        }
        if (match_cut(p, i)) {
            return true;
        }
        if (needs_more || (p->in_code && raw.p[i] == '`' && raw.n - i < 3 && !p->is_final)) {
            add_text(p, i);
            return false;
        }
        if (!skip_code(p, &i)) {
            i++;
        }
    }
    add_text(p, raw.n);
    return false;
}

static cf_status run(cf_tool_parser *p, cf_error *err)
{
    bool more = true;
    while (more && p->failed == CF_OK) {
        more = p->in_block ? run_block(p) : run_text(p);
        if (p->arena.failed) {
            p->failed = CF_ENOMEM;
        }
        if (more && !p->in_block && p->pos >= p->raw.n) {
            break;
        }
    }
    return p->failed == CF_OK ? CF_OK : cf_fail(err, p->failed, "%s", "out of memory");
}

cf_status cf_tool_parser_new(cf_tool_parser **out, cf_tool_family family, const cf_tool_set *tools,
                             cf_tool_event_fn fn, void *ud, cf_error *err)
{
    cf_tool_parser *p = cf_calloc(1, sizeof *p);
    if (p == NULL) {
        return cf_oom(err);
    }
    p->family = family;
    p->n_rules = cf_tool__rules(family, p->rules);
    p->tools = tools;
    p->fn = fn;
    p->ud = ud;
    cf_arena_init(&p->arena, 0);
    p->findings.arena = &p->arena;
    for (size_t i = 0; i < p->n_rules; i++) {
        p->first[(unsigned char)p->rules[i].start.p[0]] = 1;
        bool has_name =
            p->rules[i].place == CF_PLACE_NAME || p->rules[i].kind == CF_RULE_PYTHON_LINE;
        for (int c = 0; has_name && c < 256; c++) {
            p->first[c] = (char)(p->first[c] != 0 || cf_tool__is_name_start((char)c));
        }
    }
    *out = p;
    return CF_OK;
}

void cf_tool_parser_free(cf_tool_parser *p)
{
    if (p == NULL) {
        return;
    }
    for (size_t i = 0; i < p->n_calls; i++) {
        json_t *v;
        memcpy(&v, &p->calls[i].json, sizeof v);
        json_decref(v);
    }
    cf_buf_deinit(&p->raw);
    cf_arena_deinit(&p->arena);
    cf_free(p);
}

cf_status cf_tool_parser_so_far(const cf_tool_parser *p, cf_arena *arena, cf_tool_so_far **out,
                                size_t *n, size_t *first, cf_error *err)
{
    *n = 0;
    *first = p->n_calls;
    return p->in_block
               ? cf_tool__so_far(&p->block, cf_buf_str(&p->raw), p->tools, arena, out, n, err)
               : CF_OK;
}

bool cf_tool_parser_in_block(const cf_tool_parser *p)
{
    return p->in_block;
}

cf_status cf_tool_parser_feed(cf_tool_parser *p, const char *bytes, size_t n, cf_error *err)
{
    if (n == 0) {
        return CF_OK;
    }
    if (n > RAW_MAX - p->raw.n) {
        p->failed = CF_ELIMIT;
        return cf_fail(err, CF_ELIMIT, "a reply of more than 16 MiB");
    }
    cf_buf_add(&p->raw, bytes, n);
    if (p->raw.failed) {
        p->failed = CF_ENOMEM;
    }
    return run(p, err);
}

/* The status of the whole reply: that of its first bad call or block. */
static void judge(cf_tool_parser *p)
{
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < p->findings.n; i++) {
        const cf_tool_finding *f = &p->findings.v[i];
        if (f->status == CF_TOOL_VALID) {
            continue;
        }
        size_t at = f->off;
        if (f->call != CF_TOOL_NO_CALL) {
            at = p->calls[f->call].off;
        }
        if (first == SIZE_MAX || at < first) {
            first = at;
            p->parse.status = f->status;
        }
    }
}

cf_status cf_tool_parser_finish(cf_tool_parser *p, const cf_tool_parse **out, cf_error *err)
{
    if (!p->is_done) {
        p->is_final = true;
        CF_TRY(run(p, err));
        p->is_done = true;
        end_section(p);
        judge(p);
        if (p->arena.failed) {
            p->failed = CF_ENOMEM;
            return cf_oom(err);
        }
    }
    refresh(p);
    *out = &p->parse;
    return CF_OK;
}

void cf_tool_parse_text(const cf_tool_parse *parse, cf_buf *out)
{
    for (size_t i = 0; i < parse->n_segments; i++) {
        const cf_tool_segment *s = &parse->segments[i];
        if (s->kind == CF_TOOL_SEG_TEXT || s->kind == CF_TOOL_SEG_FAILED) {
            cf_buf_add(out, parse->raw.p + s->off, s->len);
        }
    }
}
