/*
 * tool_model.c - replies to calls, calls to their results.
 */
#include "tui/lab/tools/tool_model.h"

#include <string.h>

#include "core/api/attachment.h"
#include "core/base/alloc.h"

const char *const cf_stage_titles[CF_STAGE_COUNT] = {"1 Raw reply", "2 Parsed", "3 Validation",
                                                     "4 Result", "5 Back in the prompt"};

void cf_tool_model_deinit(cf_tool_model *m)
{
    for (size_t i = 0; i < m->n_reply; i++) {
        cf_tool_parser_free(m->reply[i].parser);
        cf_buf_deinit(&m->reply[i].text);
    }
    cf_free(m->reply);
    cf_free(m->row);
    *m = (cf_tool_model){0};
}

bool cf_turn_is_result(const cf_turn *turn)
{
    static const char *const roles[] = {"tool", "tool_response", "function", "pcp_response",
                                        "mcp_response"};
    cf_str role = cf_json_get_str(turn->message, "role");
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        if (cf_str_is(role, roles[i])) {
            return true;
        }
    }
    return false;
}

cf_str cf_turn_call_id(const cf_turn *turn, size_t call)
{
    const json_t *calls = json_object_get(turn->message, "tool_calls");
    return cf_json_get_str(json_array_get(calls, call), "id");
}

/* ---- what is parsed ----------------------------------------------------- */

/* Bytes of a reply up to the end of its thinking. */
static size_t thinking_end(cf_str raw, cf_str template_source)
{
    size_t n;
    const cf_channel *c = cf_channels_detect(template_source, &n);
    if (n == 0) {
        c = cf_channels_detect(cf_str_from("<think>"), &n);
    }
    cf_str end = n > 0 ? c[0].end : cf_str_make(NULL, 0);
    for (size_t at = 0; end.n > 0 && at + end.n <= raw.n; at++) {
        if (memcmp(raw.p + at, end.p, end.n) == 0) {
            return at + end.n;
        }
    }
    return 0;
}

/* The message's calls as text that a parser reads back. */
static cf_status write_calls(cf_buf *out, const json_t *message, cf_error *err)
{
    cf_message_call call;
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && cf_message_call_at(&call, message, i); i++) {
        cf_buf text = CF_BUF_INIT;
        cf_message_put_arguments(&text, &call, "{}");
        cf_buf_adds(out, "<tool_call>\n{\"name\":");
        cf_json_write_str(out, call.name);
        cf_buf_adds(out, ",\"arguments\":");
        cf_buf_add(out, cf_buf_cstr(&text), text.n);
        cf_buf_adds(out, "}\n</tool_call>\n");
        st = cf_buf_check(&text, err);
        cf_buf_deinit(&text);
    }
    return st == CF_OK ? cf_buf_check(out, err) : st;
}

cf_status cf_tool_reply_text(cf_buf *out, const cf_turn *turn, cf_str template_source,
                             cf_error *err)
{
    cf_str content = cf_json_get_str(turn->message, "content");
    if (turn->raw.n != 0) {
        size_t skip = thinking_end(turn->raw, template_source);
        cf_buf_add(out, turn->raw.p + skip, turn->raw.n - skip);
        return cf_buf_check(out, err);
    }
    cf_buf_add(out, content.p, content.n);
    cf_buf_adds(out, content.n != 0 ? "\n" : "");
    return write_calls(out, turn->message, err);
}

static cf_status parse(cf_call_reply *r, cf_tool_family family, const cf_tool_set *tools,
                       cf_error *err)
{
    CF_TRY(cf_buf_check(&r->text, err));
    CF_TRY(cf_tool_parser_new(&r->parser, family, tools, NULL, NULL, err));
    CF_TRY(cf_tool_parser_feed(r->parser, cf_buf_cstr(&r->text), r->text.n, err));
    return cf_tool_parser_finish(r->parser, &r->parse, err);
}

static bool has_calls(const cf_tool_parse *p)
{
    for (size_t i = 0; i < p->n_segments; i++) {
        if (p->segments[i].kind == CF_TOOL_SEG_FAILED) {
            return true;
        }
    }
    return p->n_calls > 0;
}

static cf_status parse_reply(cf_call_reply *r, const cf_turn *turn, cf_tool_family family,
                             const cf_tool_set *tools, cf_str template_source, cf_error *err)
{
    const json_t *calls = json_object_get(turn->message, "tool_calls");
    r->skip = thinking_end(turn->raw, template_source);
    cf_buf_add(&r->text, turn->raw.p + (turn->raw.n != 0 ? r->skip : 0), turn->raw.n - r->skip);
    CF_TRY(parse(r, family, tools, err));
    /* What the user completed is in the message, and not in what came. */
    if (json_array_size(calls) <= r->parse->n_calls ||
        (has_calls(r->parse) && r->parse->n_calls == 0)) {
        return CF_OK;
    }
    cf_tool_parser_free(r->parser);
    r->parser = NULL;
    r->parse = NULL;
    r->skip = 0;
    r->is_rewritten = true;
    cf_buf_reset(&r->text);
    CF_TRY(write_calls(&r->text, turn->message, err));
    return parse(r, CF_TOOLS_HERMES, tools, err);
}

/* ---- rows --------------------------------------------------------------- */

/* The turn that answers call number `k` of a reply: the result that names its
 * id, else the one with its name (the second for the second call of a tool),
 * else the k-th of results without names. */
static size_t find_result(const cf_turn *const *path, size_t n, const cf_call_reply *r, size_t k)
{
    cf_str id = cf_turn_call_id(path[r->turn], k);
    cf_str name = r->parse->calls[k].name;
    size_t end = r->turn + 1, nth = 0;
    for (size_t i = 0; i < k; i++) {
        nth += cf_str_eq(r->parse->calls[i].name, name);
    }
    for (; end < n && cf_turn_is_result(path[end]); end++) {
        cf_str of = cf_json_get_str(path[end]->message, "tool_call_id");
        if (id.n != 0 && cf_str_eq(of, id)) {
            return end;
        }
    }
    for (size_t i = r->turn + 1; i < end; i++) {
        cf_str of = cf_json_get_str(path[i]->message, "name");
        if (of.n != 0 && cf_str_eq(of, name) && nth-- == 0) {
            return i;
        }
    }
    size_t by_order = r->turn + 1 + k;
    return by_order < end && cf_json_get_str(path[by_order]->message, "name").n == 0 ? by_order
                                                                                     : SIZE_MAX;
}

/* The turn that reports a failed block: the first result after the reply
 * that names no call. */
static size_t find_report(const cf_turn *const *path, size_t n, const cf_call_reply *r)
{
    for (size_t i = r->turn + 1; i < n && cf_turn_is_result(path[i]); i++) {
        if (cf_json_get_str(path[i]->message, "name").n == 0 &&
            cf_json_get_str(path[i]->message, "tool_call_id").n == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

static bool add_row(cf_tool_model *m, const cf_call_row *row)
{
    if (m->n_row == m->cap_row) {
        size_t cap = m->cap_row != 0 ? m->cap_row * 2 : 16;
        cf_call_row *v = cf_realloc(m->row, cap, sizeof *v);
        if (v == NULL) {
            return false;
        }
        m->row = v;
        m->cap_row = cap;
    }
    m->row[m->n_row++] = *row;
    return true;
}

static void judge(cf_call_row *row, const cf_call_reply *r, const cf_tool_set *tools, bool is_last)
{
    size_t n_tools = 0;
    if (tools != NULL) {
        cf_tool_set_items(tools, &n_tools);
    }
    uint8_t *o = row->outcome;
    o[CF_STAGE_RAW] = r->is_rewritten ? CF_OUTCOME_NONE : CF_OUTCOME_OK;
    if (row->call == CF_TOOL_NO_CALL) {
        o[CF_STAGE_PARSED] = CF_OUTCOME_FAIL;
        o[CF_STAGE_BACK] = row->result != SIZE_MAX ? CF_OUTCOME_OK : CF_OUTCOME_NONE;
        return;
    }
    o[CF_STAGE_PARSED] = CF_OUTCOME_OK;
    if (n_tools > 0) {
        o[CF_STAGE_VALID] =
            r->parse->calls[row->call].status == CF_TOOL_VALID ? CF_OUTCOME_OK : CF_OUTCOME_FAIL;
    }
    if (row->result != SIZE_MAX) {
        o[CF_STAGE_RUN] = o[CF_STAGE_BACK] = CF_OUTCOME_OK;
    } else if (is_last) {
        o[CF_STAGE_RUN] = CF_OUTCOME_WAITS;
    }
}

static cf_status add_rows(cf_tool_model *m, const cf_turn *const *path, size_t n,
                          const cf_tool_set *tools, cf_error *err)
{
    const cf_call_reply *r = &m->reply[m->n_reply - 1];
    bool is_last = true; /* only results follow */
    for (size_t i = r->turn + 1; i < n; i++) {
        is_last = is_last && cf_turn_is_result(path[i]);
    }
    for (size_t i = 0; i < r->parse->n_segments; i++) {
        const cf_tool_segment *s = &r->parse->segments[i];
        bool is_failed = s->kind == CF_TOOL_SEG_FAILED;
        size_t n_rows = s->n_calls + (is_failed ? 1 : 0);
        for (size_t k = 0; k < n_rows; k++) {
            cf_call_row row = {
                .reply = m->n_reply - 1, .segment = i, .call = CF_TOOL_NO_CALL, .result = SIZE_MAX};
            if (k < s->n_calls) {
                row.call = s->first_call + k;
                row.result = find_result(path, n, r, row.call);
            } else if (r->parse->n_calls == 0) {
                row.result = find_report(path, n, r);
            }
            judge(&row, r, tools, is_last);
            if (!add_row(m, &row)) {
                return cf_oom_for(err, "the calls");
            }
        }
    }
    return CF_OK;
}

static cf_status build(cf_tool_model *m, const cf_turn *const *path, size_t n,
                       cf_tool_family family, const cf_tool_set *tools, cf_str template_source,
                       cf_error *err)
{
    m->reply = cf_calloc(n > 0 ? n : 1, sizeof *m->reply);
    if (m->reply == NULL) {
        return cf_oom_for(err, "the calls");
    }
    for (size_t i = 0; i < n; i++) {
        if (!cf_str_is(cf_json_get_str(path[i]->message, "role"), "assistant")) {
            continue;
        }
        cf_call_reply *r = &m->reply[m->n_reply++];
        r->turn = i;
        CF_TRY(parse_reply(r, path[i], family, tools, template_source, err));
        CF_TRY(add_rows(m, path, n, tools, err));
    }
    return CF_OK;
}

cf_status cf_tool_model_build(cf_tool_model *m, const cf_turn *const *path, size_t n,
                              cf_tool_family family, const cf_tool_set *tools,
                              cf_str template_source, cf_error *err)
{
    *m = (cf_tool_model){0};
    size_t n_tools = 0;
    if (tools != NULL) {
        cf_tool_set_items(tools, &n_tools);
    }
    tools = n_tools > 0 ? tools : NULL; /* nothing declared, nothing wrong */
    cf_status st = build(m, path, n, family, tools, template_source, err);
    if (st != CF_OK) {
        cf_tool_model_deinit(m);
    }
    return st;
}

const cf_tool_call *cf_tool_model_call(const cf_tool_model *m, const cf_call_row *row)
{
    return row->call != CF_TOOL_NO_CALL ? &m->reply[row->reply].parse->calls[row->call] : NULL;
}

const cf_tool_segment *cf_tool_model_segment(const cf_tool_model *m, const cf_call_row *row)
{
    return &m->reply[row->reply].parse->segments[row->segment];
}

size_t cf_tool_model_nth(const cf_tool_model *m, const cf_call_row *row)
{
    size_t i = (size_t)(row - m->row), n = 0;
    while (i > 0 && m->row[i - 1].reply == row->reply) {
        i--;
        n++;
    }
    return n;
}

bool cf_tool_model_failure(const cf_tool_model *m, const cf_call_row *row, cf_buf *out)
{
    const cf_call_reply *r = &m->reply[row->reply];
    if (row->call == CF_TOOL_NO_CALL) {
        const cf_tool_segment *s = cf_tool_model_segment(m, row);
        cf_buf_addf(out, "the call cannot be parsed: expected %.*s at byte %zu", (int)s->expected.n,
                    s->expected.p, s->error_off - s->off);
        return true;
    }
    size_t start = out->n;
    for (size_t i = 0; i < r->parse->n_findings; i++) {
        const cf_tool_finding *f = &r->parse->findings[i];
        if (f->call != row->call || f->status == CF_TOOL_VALID) {
            continue;
        }
        cf_buf_adds(out, out->n > start ? "; " : "");
        cf_buf_adds(out, cf_tool_status_name(f->status));
        cf_buf_adds(out, f->path.n > 0 ? " at " : "");
        cf_buf_add(out, f->path.p, f->path.n);
        cf_buf_adds(out, ": ");
        cf_buf_add(out, f->text.p, f->text.n);
    }
    return out->n > start;
}

/* ---- other arguments ---------------------------------------------------- */

static cf_status read_object(json_t **out, cf_str text, cf_error *err)
{
    CF_TRY(cf_json_read(out, text.n != 0 ? text.p : "", text.n, err));
    if (!json_is_object(*out)) {
        json_decref(*out);
        return cf_fail(err, CF_EFORMAT, "arguments are a JSON object: {...}");
    }
    return CF_OK;
}

/* Puts arguments into call `k` of a message, as text where they were text. */
static cf_status set_arguments(json_t *message, size_t k, json_t *arguments, cf_error *err)
{
    json_t *f =
        json_object_get(json_array_get(json_object_get(message, "tool_calls"), k), "function");
    if (f == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "the message does not list this call: no tools were "
                       "declared when it came");
    }
    json_t *v = json_incref(arguments);
    if (json_is_string(json_object_get(f, "arguments"))) {
        cf_buf text = CF_BUF_INIT;
        json_decref(v);
        cf_json_write(&text, arguments);
        v = json_stringn(cf_buf_cstr(&text), text.n);
        cf_buf_deinit(&text);
    }
    return v != NULL && json_object_set_new(f, "arguments", v) == 0 ? CF_OK
                                                                    : cf_oom_for(err, "the call");
}

/* Writes the block of the row again and keeps the bytes around it. */
static cf_status write_block(const cf_tool_model *m, const cf_call_edit *edit, cf_str arguments,
                             cf_buf *raw, cf_error *err)
{
    const cf_call_row *row = edit->row;
    cf_str old = edit->turn->raw;
    const cf_call_reply *r = &m->reply[row->reply];
    const cf_tool_segment *s = cf_tool_model_segment(m, row);
    cf_tool_call *calls = cf_calloc(s->n_calls, sizeof *calls);
    if (calls == NULL) {
        return cf_oom_for(err, "the call");
    }
    memcpy(calls, &r->parse->calls[s->first_call], s->n_calls * sizeof *calls);
    calls[row->call - s->first_call].arguments = arguments;
    size_t from = r->skip + s->off, to = from + s->len;
    cf_buf_add(raw, old.p, from);
    cf_status st = cf_tool_format_calls(raw, edit->family, calls, s->n_calls, err);
    cf_buf_add(raw, old.p + to, old.n - to);
    cf_free(calls);
    return st;
}

cf_status cf_tool_model_edit(const cf_tool_model *m, const cf_call_edit *edit, json_t **message,
                             cf_buf *raw, cf_error *err)
{
    const cf_call_row *row = edit->row;
    json_t *args;
    cf_buf text = CF_BUF_INIT;
    CF_TRY(read_object(&args, edit->arguments, err));
    json_t *copy = cf_json_deep_copy(edit->turn->message);
    cf_status st = copy != NULL ? set_arguments(copy, row->call, args, err) : cf_oom(err);
    cf_json_write(&text, args);
    json_decref(args);
    CF_THEN(st, cf_buf_check(&text, err));
    if (st == CF_OK && !m->reply[row->reply].is_rewritten) {
        st = write_block(m, edit, cf_buf_str(&text), raw, err);
        if (st == CF_EUNSUPPORTED || st == CF_EFORMAT) {
            cf_buf_reset(raw); /* the message says it all the same */
            st = CF_OK;
        }
    }
    cf_buf_deinit(&text);
    if (st != CF_OK) {
        json_decref(copy);
        return st;
    }
    *message = copy;
    return CF_OK;
}

cf_status cf_tool_model_drop(const cf_tool_model *m, const cf_call_row *row, const cf_turn *turn,
                             json_t **message, cf_buf *raw, cf_error *err)
{
    const cf_call_reply *r = &m->reply[row->reply];
    cf_buf text = CF_BUF_INIT;
    json_t *copy = cf_json_deep_copy(turn->message);
    if (!r->is_rewritten) {
        cf_buf_add(raw, turn->raw.p, r->skip);
    }
    for (size_t i = 0; i < r->parse->n_segments; i++) {
        const cf_tool_segment *s = &r->parse->segments[i];
        if (s->kind == CF_TOOL_SEG_TEXT && !r->is_rewritten) {
            cf_buf_add(&text, r->parse->raw.p + s->off, s->len);
            cf_buf_add(raw, r->parse->raw.p + s->off, s->len);
        }
    }
    while (text.n > 0 && text.p[text.n - 1] == '\n') {
        text.n--;
    }
    size_t from = 0;
    while (from < text.n && text.p[from] == '\n') {
        from++;
    }
    bool ok = copy != NULL && !text.failed;
    if (ok && !r->is_rewritten) {
        ok = json_object_set_new(copy, "content",
                                 json_stringn(cf_buf_cstr(&text) + from, text.n - from)) == 0;
    }
    cf_buf_deinit(&text);
    if (!ok) {
        json_decref(copy);
        return cf_fail(err, CF_ENOMEM, "the text is not UTF-8, or memory ran out");
    }
    (void)json_object_del(copy, "tool_calls"); /* there may be none */
    *message = copy;
    return CF_OK;
}

cf_status cf_tool_check_arguments(const cf_tool_set *tools, cf_str name, cf_str arguments,
                                  cf_buf *findings, bool *is_valid, cf_error *err)
{
    json_t *args;
    *is_valid = false;
    CF_TRY(read_object(&args, arguments, err));
    json_t *message = json_pack("{s:[{s:s%, s:o}]}", "tool_calls", "name",
                                name.n != 0 ? name.p : "", name.n, "arguments", args);
    if (message == NULL) {
        return cf_oom_for(err, "the call");
    }
    cf_call_reply r = {0};
    cf_status st = write_calls(&r.text, message, err);
    json_decref(message);
    CF_THEN(st, parse(&r, CF_TOOLS_HERMES, tools, err));
    *is_valid = st == CF_OK && r.parse->n_calls == 1;
    for (size_t i = 0; *is_valid && i < r.parse->n_findings; i++) {
        const cf_tool_finding *f = &r.parse->findings[i];
        cf_buf_adds(findings, f->status == CF_TOOL_VALID ? "note" : cf_tool_status_name(f->status));
        cf_buf_adds(findings, f->path.n > 0 ? " $." : "");
        cf_buf_add(findings, f->path.p, f->path.n);
        cf_buf_adds(findings, ": ");
        cf_buf_add(findings, f->text.p, f->text.n);
        cf_buf_addc(findings, '\n');
    }
    size_t n_tools = 0;
    if (tools != NULL) {
        cf_tool_set_items(tools, &n_tools);
    }
    *is_valid = *is_valid && (n_tools == 0 || r.parse->calls[0].status == CF_TOOL_VALID);
    cf_tool_parser_free(r.parser);
    cf_buf_deinit(&r.text);
    return st;
}

/* Text and at least one picture or sound as JSON: those parts.  Another text:
 * itself. */
static json_t *content_of(cf_str text)
{
    json_t *v = NULL;
    cf_error ignored;
    if (text.n > 0 && text.p[0] == '[' && cf_json_read(&v, text.p, text.n, &ignored) == CF_OK &&
        cf_attachment_is_content(v)) {
        return v;
    }
    json_decref(v);
    return json_stringn(text.n != 0 ? text.p : "", text.n);
}

json_t *cf_tool_result_message(cf_str name, cf_str id, cf_str text)
{
    json_t *m = json_pack("{s:s}", "role", "tool");
    bool ok = m != NULL;
    if (ok && name.n > 0) {
        ok = json_object_set_new(m, "name", json_stringn(name.p, name.n)) == 0;
    }
    ok = ok && json_object_set_new(m, "content", content_of(text)) == 0;
    if (ok && id.n > 0) {
        ok = json_object_set_new(m, "tool_call_id", json_stringn(id.p, id.n)) == 0;
    }
    if (!ok) {
        json_decref(m);
        return NULL;
    }
    return m;
}
