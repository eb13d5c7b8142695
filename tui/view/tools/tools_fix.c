/*
 * tools_fix.c - what may have been meant by a call that failed: the nearest
 * text that parses, the end of a call that was cut off, and the names of tools
 * and arguments that are near to the ones that were written.
 *
 * A fix is only offered when the parser takes it.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/edit_distance.h"
#include "tui/lab/lab.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/tools/lab_tools.h"
#include "tui/view/tools/tools.h"

enum { DEPTH_MAX = 64, NAME_MAX_BYTES = CF_EDIT_DISTANCE_MAX + 1 };

/* ---- a call that was cut off -------------------------------------------- */

/* What a JSON text expects next, in the innermost bracket. */
typedef enum phase { KEY, COLON, VALUE, COMMA } phase;

typedef struct scan {
    char open[DEPTH_MAX]; /* '{' or '[' */
    phase phase[DEPTH_MAX];
    size_t depth;
    bool in_string, is_bad;
} scan;

static void after_value(scan *s)
{
    if (s->depth > 0) {
        phase *p = &s->phase[s->depth - 1];
        *p = *p == KEY ? COLON : COMMA;
    }
}

static void step(scan *s, char c)
{
    switch (c) {
    case '{':
    case '[':
        if (s->depth == DEPTH_MAX) {
            s->is_bad = true;
            return;
        }
        s->open[s->depth] = c;
        s->phase[s->depth++] = c == '{' ? KEY : VALUE;
        break;
    case '}':
    case ']':
        s->is_bad = s->is_bad || s->depth == 0;
        s->depth -= s->depth > 0;
        after_value(s);
        break;
    case ':':
        if (s->depth > 0) {
            s->phase[s->depth - 1] = VALUE;
        }
        break;
    case ',':
        if (s->depth > 0) {
            s->phase[s->depth - 1] = s->open[s->depth - 1] == '{' ? KEY : VALUE;
        }
        break;
    case ' ':
    case '\t':
    case '\n':
    case '\r':
        break;
    default:
        if (s->depth > 0 && s->phase[s->depth - 1] == VALUE) {
            s->phase[s->depth - 1] = COMMA; /* a number, true, null */
        }
    }
}

/* Reads text[0..n) as the beginning of JSON. */
static scan read_json(const char *text, size_t n)
{
    scan s = {.depth = 0};
    for (size_t i = 0; i < n && !s.is_bad; i++) {
        if (!s.in_string && text[i] != '"') {
            step(&s, text[i]);
        } else if (s.in_string && text[i] == '\\') {
            i++;
        } else if (text[i] == '"') {
            s.in_string = !s.in_string;
            if (!s.in_string) {
                after_value(&s);
            }
        }
    }
    return s;
}

/* Appends what ends it. */
static void close_json(scan s, cf_buf *out)
{
    if (s.in_string) {
        cf_buf_addc(out, '"');
        after_value(&s);
    }
    while (s.depth > 0) {
        size_t i = s.depth - 1;
        cf_buf_adds(out, s.open[i] == '{' && s.phase[i] == COLON   ? ": null"
                         : s.open[i] == '{' && s.phase[i] == VALUE ? "null"
                                                                   : "");
        cf_buf_addc(out, s.open[i] == '{' ? '}' : ']');
        s.depth--;
        after_value(&s);
    }
}

/* Whether a reply parses, without a block that fails and with valid calls only
 * where `must_be_valid`; `to_its_end`: nothing is after the last call. */
static bool is_taken(cf_app *app, const cf_buf *text, bool must_be_valid, bool to_its_end)
{
    cf_tool_parser *parser = NULL;
    const cf_tool_parse *parse = NULL;
    cf_error err;
    bool ok = !text->failed;
    cf_status st =
        cf_tool_parser_new(&parser, cf_lab_engine_of(app->lab)->family,
                           must_be_valid ? cf_lab_tools(app->lab) : NULL, NULL, NULL, &err);
    CF_THEN(st, cf_tool_parser_feed(parser, text->p, text->n, &err));
    CF_THEN(st, cf_tool_parser_finish(parser, &parse, &err));
    ok = ok && st == CF_OK && parse->n_calls > 0;
    for (size_t i = 0; ok && i < parse->n_segments; i++) {
        ok = parse->segments[i].kind != CF_TOOL_SEG_FAILED;
    }
    if (ok && to_its_end) {
        const cf_tool_segment *last = &parse->segments[parse->n_segments - 1];
        ok = last->kind == CF_TOOL_SEG_CALLS && last->off + last->len == text->n;
    }
    for (size_t i = 0; ok && must_be_valid && i < parse->n_calls; i++) {
        ok = parse->calls[i].status == CF_TOOL_VALID;
    }
    cf_tool_parser_free(parser);
    return ok;
}

/* A block whose JSON ends too early: with its end, and that of its family. */
static bool close_call(cf_app *app, const cf_call_reply *r, const cf_tool_segment *s,
                       cf_tools_fix *out)
{
    /* The mark of the family first: a model that goes on after a call without it
     * writes text that belongs to the call. */
    static const char *const ends[] = {
        "\n</tool_call>", "</tool_call>", "<|tool_call_end|>", "<end_function_call>", "]", ""};
    cf_str raw = r->parse->raw;
    size_t end = s->off + s->len, cut = end;
    /* A string that runs over the end of its line was cut off there. */
    if (s->error_off < end && (unsigned char)raw.p[s->error_off] < 0x20) {
        cut = s->error_off;
    }
    const char *json = memchr(raw.p + s->off, '{', cut - s->off);
    if (json == NULL) {
        return false;
    }
    scan state = read_json(json, (size_t)(raw.p + cut - json));
    while (cut > s->off && strchr(", \t\r\n", raw.p[cut - 1]) != NULL && !state.in_string) {
        cut--;
    }
    if (state.is_bad || state.depth == 0) {
        return false;
    }
    cf_buf closing = CF_BUF_INIT;
    close_json(state, &closing);
    bool found = false;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0] && !found; i++) {
        cf_buf_reset(&out->text);
        cf_buf_add(&out->text, raw.p + s->off, cut - s->off);
        cf_buf_add(&out->text, closing.p, closing.n);
        cf_buf_adds(&out->text, ends[i]);
        found = is_taken(app, &out->text, false, true);
    }
    if (found) {
        cf_buf_addf(&out->how, "it was cut off%s: close it with %s",
                    state.in_string ? " inside a string" : "", cf_buf_cstr(&closing));
    }
    cf_buf_deinit(&closing);
    return found;
}

/* ---- did you mean ------------------------------------------------------- */

/* The name of the declared tool that is nearest; false: none is near. */
static bool near_tool(const cf_tool_set *tools, const char *name, char out[NAME_MAX_BYTES])
{
    size_t n = 0, least = SIZE_MAX;
    const cf_tool *v = tools != NULL ? cf_tool_set_items(tools, &n) : NULL;
    for (size_t i = 0; i < n; i++) {
        char one[NAME_MAX_BYTES];
        size_t d;
        snprintf(one, sizeof one, "%.*s", (int)(v[i].name.n < sizeof one ? v[i].name.n : 0),
                 v[i].name.p);
        if (cf_edit_is_near(name, one, &d) && d < least) {
            least = d;
            memcpy(out, one, sizeof one);
        }
    }
    return least != SIZE_MAX;
}

/* The declared argument that is nearest to `key` and was not given. */
static const char *near_key(const json_t *properties, const json_t *given, const char *key)
{
    cf_nearest near = {.asked = key};
    const char *name;
    json_t *v;
    json_object_foreach(cf_json_ref(properties), name, v)
    {
        if (json_object_get(given, name) == NULL) {
            cf_nearest_offer(&near, name);
        }
    }
    return near.best;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* Appends bytes [from, to) of `raw` with the first `was` that is a word of its
 * own as `is`. */
static void put_replaced(cf_buf *out, cf_str raw, size_t from, size_t to, const char *was,
                         const char *is)
{
    size_t n = strlen(was);
    for (size_t i = from; i + n <= to; i++) {
        bool starts = i == from || !is_word(raw.p[i - 1]);
        bool ends = i + n == to || !is_word(raw.p[i + n]);
        if (starts && ends && memcmp(raw.p + i, was, n) == 0) {
            cf_buf_add(out, raw.p + from, i - from);
            cf_buf_adds(out, is);
            cf_buf_add(out, raw.p + i + n, to - i - n);
            return;
        }
    }
    cf_buf_add(out, raw.p + from, to - from);
}

/* One word of the block is another one: out->text is the block so far. */
static void respell(cf_tools_fix *out, const char *was, const char *is)
{
    cf_buf now = CF_BUF_INIT;
    put_replaced(&now, cf_buf_str(&out->text), 0, out->text.n, was, is);
    cf_buf_deinit(&out->text);
    out->text = now;
    cf_buf_addf(&out->how, "%sdid you mean %s?", out->how.n != 0 ? " " : "", is);
}

/* The name, then the keys. */
static bool respell_call(cf_app *app, const cf_call_reply *r, const cf_tool_segment *s,
                         const cf_tool_call *c, cf_tools_fix *out)
{
    const cf_tool_set *tools = cf_lab_tools(app->lab);
    char name[NAME_MAX_BYTES], meant[NAME_MAX_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)(c->name.n < sizeof name ? c->name.n : 0), c->name.p);
    cf_buf_add(&out->text, r->parse->raw.p + s->off, s->len);
    const cf_tool *tool = cf_tool_set_find(tools, c->name);
    if (tool == NULL && near_tool(tools, name, meant)) {
        respell(out, name, meant);
        tool = cf_tool_set_find(tools, cf_str_from(meant));
    }
    const json_t *properties =
        tool != NULL ? json_object_get(tool->parameters, "properties") : NULL;
    const char *key;
    json_t *v;
    json_object_foreach(cf_json_ref(c->json), key, v)
    {
        const char *is =
            json_object_get(properties, key) == NULL ? near_key(properties, c->json, key) : NULL;
        if (is != NULL) {
            respell(out, key, is);
        }
    }
    return out->how.n != 0 && is_taken(app, &out->text, false, false);
}

/* ---- whichever ---------------------------------------------------------- */

void cf_tools__fix_deinit(cf_tools_fix *fix)
{
    cf_buf_deinit(&fix->text);
    cf_buf_deinit(&fix->how);
}

bool cf_tools__find_fix(cf_app *app, const cf_call_row *row, cf_tools_fix *out)
{
    const cf_tool_model *m = cf_tools__model(app);
    const cf_call_reply *r = &m->reply[row->reply];
    const cf_tool_segment *s = cf_tool_model_segment(m, row);
    const cf_tool_call *c = cf_tool_model_call(m, row);
    *out = (cf_tools_fix){CF_BUF_INIT, CF_BUF_INIT};
    if (r->is_rewritten) {
        return false;
    }
    if (c != NULL) {
        return c->status != CF_TOOL_VALID && respell_call(app, r, s, c, out);
    }
    if (s->kind == CF_TOOL_SEG_FAILED && s->repair.n != 0) {
        cf_buf_add(&out->text, s->repair.p, s->repair.n);
        cf_buf_add(&out->how, s->repair_how.p, s->repair_how.n);
        return true;
    }
    return s->kind == CF_TOOL_SEG_FAILED && close_call(app, r, s, out);
}

/* A reply whose block is this text; what came after it is written again. */
void cf_tools__cmd_fix(cf_app *app)
{
    const cf_tool_model *m = cf_tools__model(app);
    const cf_call_row *row = cf_tools__current(app);
    const cf_turn *turn = row != NULL ? cf_tools__turn_of(app, row) : NULL;
    cf_tools_fix fix = {CF_BUF_INIT, CF_BUF_INIT};
    if (turn == NULL || !cf_tools__find_fix(app, row, &fix)) {
        cf_app_say(app, CF_STYLE_WARNING, "no fix is offered for this call; e edits it");
        cf_tools__fix_deinit(&fix);
        return;
    }
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    cf_buf_add(&text, turn->raw.p, m->reply[row->reply].skip + cf_tool_model_segment(m, row)->off);
    cf_buf_add(&text, fix.text.p, fix.text.n);
    cf_status st = cf_buf_check(&text, &err);
    CF_THEN(st, cf_lab_continue(app->lab, turn->id, cf_str_make(text.p, text.n), &err));
    if (st != CF_OK) {
        cf_app_error(app, &err);
    } else {
        cf_app_say(app, CF_STYLE_OK, "a sibling reply with this beginning: %s",
                   cf_buf_cstr(&fix.how));
    }
    cf_buf_deinit(&text);
    cf_tools__fix_deinit(&fix);
}
