/*
 * tool_model.c - replies to calls, calls to their results.
 */
#include "tui/tool_model.h"

#include <string.h>

#include "core/base/alloc.h"

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
    static const char *const roles[] = {"tool", "tool_response", "function",
                                        "pcp_response", "mcp_response"};
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

/* ---- what is parsed ------------------------------------------------------ */

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
static cf_status write_calls(cf_buf *out, const json_t *calls, cf_error *err)
{
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < json_array_size(calls); i++) {
        const json_t *v = json_array_get(calls, i);
        const json_t *function = json_object_get(v, "function");
        const json_t *args = json_object_get(function, "arguments");
        cf_buf text = CF_BUF_INIT;
        cf_str spelled = cf_json_get_str(function, "arguments");
        if (spelled.p != NULL) {
            cf_buf_add(&text, spelled.p, spelled.n);
        } else if (args != NULL) {
            cf_json_write(&text, args);
        } else {
            cf_buf_adds(&text, "{}");
        }
        cf_buf_adds(out, "<tool_call>\n{\"name\":");
        cf_json_write_str(out, cf_json_get_str(function, "name"));
        cf_buf_adds(out, ",\"arguments\":");
        cf_buf_add(out, cf_buf_cstr(&text), text.n);
        cf_buf_adds(out, "}\n</tool_call>\n");
        st = cf_buf_check(&text, err);
        cf_buf_deinit(&text);
    }
    return st == CF_OK ? cf_buf_check(out, err) : st;
}

static cf_status parse(cf_call_reply *r, cf_tool_family family,
                       const cf_tool_set *tools, cf_error *err)
{
    CF_TRY(cf_buf_check(&r->text, err));
    CF_TRY(cf_tool_parser_new(&r->parser, family, tools, NULL, NULL, err));
    CF_TRY(
        cf_tool_parser_feed(r->parser, cf_buf_cstr(&r->text), r->text.n, err));
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

static cf_status parse_reply(cf_call_reply *r, const cf_turn *turn,
                             cf_tool_family family, const cf_tool_set *tools,
                             cf_str template_source, cf_error *err)
{
    const json_t *calls = json_object_get(turn->message, "tool_calls");
    r->skip = thinking_end(turn->raw, template_source);
    cf_buf_add(&r->text, turn->raw.p + (turn->raw.n != 0 ? r->skip : 0),
               turn->raw.n - r->skip);
    CF_TRY(parse(r, family, tools, err));
    if (has_calls(r->parse) || json_array_size(calls) == 0) {
        return CF_OK;
    }
    cf_tool_parser_free(r->parser);
    r->parser = NULL;
    r->parse = NULL;
    r->skip = 0;
    r->is_rewritten = true;
    cf_buf_reset(&r->text);
    CF_TRY(write_calls(&r->text, calls, err));
    return parse(r, CF_TOOLS_HERMES, tools, err);
}

/* ---- rows ---------------------------------------------------------------- */

/* The turn that answers call number `k` of a reply: the result that names its
 * id, else the one with its name (the second for the second call of a tool),
 * else the k-th of results without names. */
static size_t find_result(const cf_turn *const *path, size_t n,
                          const cf_call_reply *r, size_t k)
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
    return by_order < end &&
                   cf_json_get_str(path[by_order]->message, "name").n == 0
               ? by_order
               : SIZE_MAX;
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

static void judge(cf_call_row *row, const cf_call_reply *r,
                  const cf_tool_set *tools, bool is_last)
{
    size_t n_tools = 0;
    if (tools != NULL) {
        cf_tool_set_items(tools, &n_tools);
    }
    uint8_t *o = row->outcome;
    o[CF_STAGE_RAW] = r->is_rewritten ? CF_OUTCOME_NONE : CF_OUTCOME_OK;
    if (row->call == CF_TOOL_NO_CALL) {
        o[CF_STAGE_PARSED] = CF_OUTCOME_FAIL;
        return;
    }
    o[CF_STAGE_PARSED] = CF_OUTCOME_OK;
    if (n_tools > 0) {
        o[CF_STAGE_VALID] = r->parse->calls[row->call].status == CF_TOOL_VALID
                                ? CF_OUTCOME_OK
                                : CF_OUTCOME_FAIL;
    }
    if (row->result != SIZE_MAX) {
        o[CF_STAGE_RUN] = o[CF_STAGE_BACK] = CF_OUTCOME_OK;
    } else if (is_last) {
        o[CF_STAGE_RUN] = CF_OUTCOME_WAITS;
    }
}

static cf_status add_rows(cf_tool_model *m, const cf_turn *const *path,
                          size_t n, const cf_tool_set *tools, cf_error *err)
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
            cf_call_row row = {.reply = m->n_reply - 1,
                               .segment = i,
                               .call = CF_TOOL_NO_CALL,
                               .result = SIZE_MAX};
            if (k < s->n_calls) {
                row.call = s->first_call + k;
                row.result = find_result(path, n, r, row.call);
            }
            judge(&row, r, tools, is_last);
            if (!add_row(m, &row)) {
                return cf_fail(err, CF_ENOMEM, "out of memory for the calls");
            }
        }
    }
    return CF_OK;
}

static cf_status build(cf_tool_model *m, const cf_turn *const *path, size_t n,
                       cf_tool_family family, const cf_tool_set *tools,
                       cf_str template_source, cf_error *err)
{
    m->reply = cf_calloc(n > 0 ? n : 1, sizeof *m->reply);
    if (m->reply == NULL) {
        return cf_fail(err, CF_ENOMEM, "out of memory for the calls");
    }
    for (size_t i = 0; i < n; i++) {
        if (!cf_str_is(cf_json_get_str(path[i]->message, "role"),
                       "assistant")) {
            continue;
        }
        cf_call_reply *r = &m->reply[m->n_reply++];
        r->turn = i;
        CF_TRY(parse_reply(r, path[i], family, tools, template_source, err));
        CF_TRY(add_rows(m, path, n, tools, err));
    }
    return CF_OK;
}

cf_status cf_tool_model_build(cf_tool_model *m, const cf_turn *const *path,
                              size_t n, cf_tool_family family,
                              const cf_tool_set *tools, cf_str template_source,
                              cf_error *err)
{
    *m = (cf_tool_model){0};
    cf_status st = build(m, path, n, family, tools, template_source, err);
    if (st != CF_OK) {
        cf_tool_model_deinit(m);
    }
    return st;
}

const cf_tool_call *cf_tool_model_call(const cf_tool_model *m,
                                       const cf_call_row *row)
{
    return row->call != CF_TOOL_NO_CALL
               ? &m->reply[row->reply].parse->calls[row->call]
               : NULL;
}

const cf_tool_segment *cf_tool_model_segment(const cf_tool_model *m,
                                             const cf_call_row *row)
{
    return &m->reply[row->reply].parse->segments[row->segment];
}

json_t *cf_tool_result_message(cf_str name, cf_str id, cf_str text)
{
    json_t *m = json_pack("{s:s, s:s%, s:s%}", "role", "tool", "name",
                          name.n != 0 ? name.p : "", name.n, "content",
                          text.n != 0 ? text.p : "", text.n);
    if (m != NULL && id.n > 0 &&
        json_object_set_new(m, "tool_call_id", json_stringn(id.p, id.n)) != 0) {
        json_decref(m);
        return NULL;
    }
    return m;
}
