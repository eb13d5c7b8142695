/*
 * tools_stages.c - what the five stages of a call hold: the raw bytes, the
 * parse, the validation, the result, and the result as the prompt has it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_messages.h"
#include "tui/lab/tools/lab_tools.h"
#include "tui/view/kit/pane.h"
#include "tui/view/tools/tools.h"

enum { WRAPPED_MAX = 16 << 10 }; /* bytes broken at words; more: anywhere */

/* ---- panes -------------------------------------------------------------- */

static bool in_sight(const cf_tools_pen *p)
{
    return p->line >= p->skip && p->line - p->skip < (size_t)p->r.h;
}

/* Nothing further can be seen. */
static bool is_below(const cf_tools_pen *p)
{
    return !p->is_whole && p->line > p->skip + (size_t)p->r.h;
}

/* Text of any length, in one style, up to the end of the pane. */
static void say_long(cf_tools_pen *p, cf_style style, cf_str text)
{
    int x = 0;
    cf_cluster c;
    for (size_t at = 0;
         !is_below(p) && cf_cluster_next(&c, text.p, text.n, &at, (size_t)x, CF_SPACE_PLAIN);) {
        if (x + c.width > p->r.w) {
            x = 0;
            p->line++;
        }
        if (in_sight(p)) {
            cf_grid_put_cluster(p->g, p->r.x + x, p->r.y + (int)(p->line - p->skip), p->r.w - x, &c,
                                style);
        }
        x += c.width;
        if (c.is_newline) {
            x = 0;
            p->line++;
        }
    }
    p->line += x > 0;
}

void cf_tools__say(cf_tools_pen *p, cf_style style, cf_str text)
{
    cf_rect below = p->r;
    size_t skip = p->line < p->skip ? p->skip - p->line : 0;
    if (text.n > WRAPPED_MAX) {
        say_long(p, style, text);
        return;
    }
    if (p->line > p->skip) { /* under what has been said */
        size_t above = p->line - p->skip;
        int n = above < (size_t)p->r.h ? (int)above : p->r.h;
        below.y += n;
        below.h -= n;
    }
    p->line += cf_grid_put_wrapped(p->g, below, skip, text, style);
}

static void say_buf(cf_tools_pen *p, cf_style style, cf_buf *b)
{
    cf_tools__say(p, style, cf_buf_str(b));
    cf_buf_deinit(b);
}

void cf_tools__sayf(cf_tools_pen *p, cf_style style, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n > 0) {
        cf_tools__say(p, style, cf_str_from(text));
    }
}

/* ---- bytes -------------------------------------------------------------- */

/* How bytes are shown; all may be NULL but the style. */
typedef struct look {
    cf_style (*style)(const void *ud, size_t off);
    const void *ud;
    const uint32_t *chunks; /* [n_chunks] lengths of the pieces they came in */
    size_t n_chunks;
    size_t first; /* byte of the pieces that is byte 0 here */
    size_t mark;  /* byte whose line is noted in the pen; SIZE_MAX: none */
} look;

/* Walks over pieces: whether one begins at a byte (not the first). */
typedef struct piece_walk {
    const look *l;
    size_t i, start; /* the next piece and its first byte */
} piece_walk;

static bool begins_piece(piece_walk *w, size_t off)
{
    off += w->l->first;
    while (w->i < w->l->n_chunks && w->start < off) {
        w->start += w->l->chunks[w->i++];
    }
    return w->l->n_chunks > 0 && off > 0 && w->start == off && w->i < w->l->n_chunks;
}

static void put_mark(cf_tools_pen *p, int *x)
{
    if (*x + 1 > p->r.w) {
        *x = 0;
        p->line++;
    }
    if (in_sight(p)) {
        cf_grid_puts(p->g, p->r.x + *x, p->r.y + (int)(p->line - p->skip), 1, "|", CF_STYLE_KEY);
    }
    (*x)++;
}

/* Bytes with white space visible; a line ends after each newline. */
static void say_bytes(cf_tools_pen *p, cf_str text, const look *l)
{
    int x = 0;
    cf_cluster c;
    piece_walk w = {.l = l};
    for (size_t at = 0;
         !is_below(p) && cf_cluster_next(&c, text.p, text.n, &at, 0, CF_SPACE_VISIBLE);) {
        if (begins_piece(&w, c.off)) {
            put_mark(p, &x);
        }
        if (x + c.width > p->r.w) {
            x = 0;
            p->line++;
        }
        if (c.off <= l->mark && l->mark < at) {
            p->mark = p->line;
        }
        if (in_sight(p)) {
            cf_grid_put_cluster(p->g, p->r.x + x, p->r.y + (int)(p->line - p->skip), p->r.w - x, &c,
                                l->style(l->ud, c.off));
        }
        x += c.width;
        if (c.len == 1 && text.p[c.off] == '\n') {
            x = 0;
            p->line++;
        }
    }
    p->line += x > 0;
}

/* "0000001f  7b 22|6e 61  {\"na": offset, bytes, and what of them is ASCII. */
static void hex_row(cf_tools_pen *p, cf_str text, size_t at, size_t n, const look *l, piece_walk *w,
                    int per_row)
{
    int y = p->r.y + (int)(p->line - p->skip);
    int x = p->r.x;
    int end = p->r.x + p->r.w;
    x += cf_grid_putf(p->g, x, y, end - x, CF_STYLE_DIM, "%06zx ", l->first + at);
    for (size_t i = 0; i < n; i++) {
        bool begins = begins_piece(w, at + i);
        x += cf_grid_puts(p->g, x, y, end - x, begins ? "|" : " ",
                          begins ? CF_STYLE_KEY : CF_STYLE_NORMAL);
        x += cf_grid_putf(p->g, x, y, end - x, l->style(l->ud, at + i), "%02x",
                          (unsigned)(unsigned char)text.p[at + i]);
    }
    x = p->r.x + 7 + 3 * per_row + 2;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text.p[at + i];
        x += cf_grid_putf(p->g, x, y, end - x, l->style(l->ud, at + i), "%c",
                          c >= ' ' && c < 0x7F ? c : '.');
    }
}

static void say_hex(cf_tools_pen *p, cf_str text, const look *l)
{
    int per_row = p->r.w >= 7 + 3 * 16 + 2 + 16 ? 16 : p->r.w >= 7 + 3 * 8 + 2 + 8 ? 8 : 4;
    piece_walk w = {.l = l};
    for (size_t at = 0; at < text.n && !is_below(p); at += (size_t)per_row) {
        size_t n = text.n - at < (size_t)per_row ? text.n - at : (size_t)per_row;
        if (l->mark >= at && l->mark < at + n) {
            p->mark = p->line;
        }
        if (in_sight(p)) {
            hex_row(p, text, at, n, l, &w, per_row);
        }
        p->line++;
    }
}

/* ---- 1 raw -------------------------------------------------------------- */

typedef struct raw_marks {
    const cf_tool_parse *parse;
    const cf_tool_segment *segment;
    const cf_tool_call *call; /* NULL: a failed block */
    size_t index;             /* of the call */
} raw_marks;

static cf_style raw_style(const void *ud, size_t off)
{
    const raw_marks *m = ud;
    const cf_tool_segment *s = m->segment;
    if (s->kind == CF_TOOL_SEG_FAILED && m->call == NULL) {
        if (off == s->error_off) {
            return CF_STYLE_ERROR | CF_REVERSE;
        }
        return off >= s->off && off < s->off + s->len ? CF_STYLE_WARNING : CF_STYLE_DIM;
    }
    for (size_t i = 0; m->call != NULL && i < m->parse->n_findings; i++) {
        const cf_tool_finding *f = &m->parse->findings[i];
        if (f->call == m->index && f->status != CF_TOOL_VALID && off >= f->off &&
            off < f->off + f->len) {
            return CF_STYLE_ERROR | CF_REVERSE;
        }
    }
    return m->call != NULL && off >= m->call->off && off < m->call->off + m->call->len
               ? CF_STYLE_TOOL
               : CF_STYLE_DIM;
}

/* "tokens 3..19" of a stretch of the raw reply. */
static void say_tokens(cf_tools_pen *p, const cf_reply *known, size_t from, size_t to)
{
    size_t first = SIZE_MAX, last = 0;
    for (size_t i = 0; known != NULL && i < known->n_token; i++) {
        if (known->token[i].raw_off < to) {
            last = i;
            if (known->token[i].raw_off <= from) {
                first = i;
            }
        }
    }
    if (first != SIZE_MAX) {
        cf_tools__sayf(p, CF_STYLE_DIM, "tokens %zu..%zu of %zu  stop: %s", first, last,
                       known->n_token,
                       known->stop.reason != CF_STOP_NONE ? cf_stop_reason_name(known->stop.reason)
                                                          : known->stop.what);
    }
}

/* The pieces in which a reply came, as far as they fit its bytes. */
static size_t pieces_of(cf_app *app, const cf_turn *turn, const uint32_t **out)
{
    const cf_reply *known = turn != NULL ? cf_lab_reply(app->lab, turn->id) : NULL;
    size_t n = known != NULL ? known->chunks.n / sizeof(uint32_t) : 0;
    size_t sum = 0;
    *out = NULL;
    if (n > 0) {
        *out = (const uint32_t *)(const void *)known->chunks.p;
    }
    for (size_t i = 0; i < n; i++) {
        sum += (*out)[i];
    }
    return turn != NULL && sum == turn->raw.n ? n : 0;
}

static void say_pieces(cf_app *app, cf_tools_pen *p, size_t n)
{
    if (n == 0) {
        cf_tools__say(p, CF_STYLE_DIM, cf_str_from("how it came is not known"));
        return;
    }
    cf_tools__sayf(p, CF_STYLE_DIM, "came in %zu piece%s (| %s them)", n, n == 1 ? "" : "s",
                   cf_tools__state(app)->shows_chunks ? "hides" : "shows");
}

static void draw_raw(cf_app *app, cf_tools_pen *p, const cf_call_row *row)
{
    const cf_tools *s = cf_tools__state(app);
    const cf_tool_model *m = cf_tools__model(app);
    const cf_call_reply *r = &m->reply[row->reply];
    const cf_turn *turn = cf_tools__turn_of(app, row);
    raw_marks marks = {r->parse, cf_tool_model_segment(m, row), cf_tool_model_call(m, row),
                       row->call};
    size_t off = marks.call != NULL ? marks.call->off : marks.segment->off;
    size_t len = marks.call != NULL ? marks.call->len : marks.segment->len;
    look l = {.style = raw_style, .ud = &marks, .first = r->skip, .mark = marks.segment->off};
    if (r->is_rewritten) {
        cf_tools__say(p, CF_STYLE_WARNING,
                      cf_str_from("The bytes of this reply are not known: its "
                                  "engine parsed it, or it was edited.  Its "
                                  "calls, written out:"));
    } else {
        const uint32_t *chunks;
        size_t n = pieces_of(app, turn, &chunks);
        cf_tools__sayf(p, CF_STYLE_DIM, "bytes %zu..%zu of %zu", r->skip + off, r->skip + off + len,
                       r->skip + r->text.n);
        say_tokens(p, turn != NULL ? cf_lab_reply(app->lab, turn->id) : NULL, r->skip + off,
                   r->skip + off + len);
        say_pieces(app, p, n);
        if (s->shows_chunks) {
            l.chunks = chunks;
            l.n_chunks = n;
        }
    }
    if (s->shows_hex) {
        say_hex(p, r->parse->raw, &l);
    } else {
        say_bytes(p, r->parse->raw, &l);
    }
}

/* ---- 2 parsed ----------------------------------------------------------- */

/* The arguments, one a line. */
static void say_json(cf_tools_pen *p, const cf_tool_call *c)
{
    const char *key;
    json_t *v;
    if (!json_is_object(c->json)) {
        cf_tools__say(p, CF_STYLE_NORMAL, c->arguments);
        return;
    }
    json_object_foreach(cf_json_ref(c->json), key, v)
    {
        cf_buf b = CF_BUF_INIT;
        cf_buf_addf(&b, "  %s: ", key);
        cf_json_write(&b, v);
        say_buf(p, CF_STYLE_NORMAL, &b);
    }
}

static void draw_parsed(cf_app *app, cf_tools_pen *p, const cf_call_row *row)
{
    const cf_tool_model *m = cf_tools__model(app);
    const cf_call_reply *r = &m->reply[row->reply];
    const cf_tool_call *c = cf_tool_model_call(m, row);
    const cf_tool_segment *s = cf_tool_model_segment(m, row);
    cf_tool_family family = r->is_rewritten ? CF_TOOLS_HERMES : cf_lab_engine_of(app->lab)->family;
    cf_buf b = CF_BUF_INIT;
    if (c != NULL) {
        cf_tools__sayf(p, CF_STYLE_DIM, "as %s  name at %zu..%zu, arguments at %zu..%zu",
                       cf_tool_family_name(family), r->skip + c->name_off,
                       r->skip + c->name_off + c->name_len, r->skip + c->args_off,
                       r->skip + c->args_off + c->args_len);
        cf_tools__say(p, CF_STYLE_TOOL, c->name);
        say_json(p, c);
        return;
    }
    cf_tools__sayf(p, CF_STYLE_ERROR, "broken at byte %zu (as %s)", r->skip + s->error_off,
                   cf_tool_family_name(family));
    cf_buf_adds(&b, "expected: ");
    cf_buf_add(&b, s->expected.p, s->expected.n);
    say_buf(p, CF_STYLE_NORMAL, &b);
    cf_tools_fix fix;
    if (cf_tools__find_fix(app, row, &fix)) {
        cf_tools__sayf(p, CF_STYLE_OK, "F: %s", cf_buf_cstr(&fix.how));
        cf_tools__say(p, CF_STYLE_DIM, cf_buf_str(&fix.text));
    } else {
        cf_tools__say(p, CF_STYLE_DIM, cf_str_from("no near text parses"));
    }
    cf_tools__fix_deinit(&fix);
}

/* ---- 3 validation ------------------------------------------------------- */

static bool is_required(const json_t *schema, const char *key)
{
    const json_t *list = json_object_get(schema, "required");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name != NULL && strcmp(name, key) == 0) {
            return true;
        }
    }
    return false;
}

/* The finding that speaks of the argument `key` or of something in it. */
static const cf_tool_finding *find_about(const cf_tool_parse *parse, size_t call, const char *key)
{
    size_t n = strlen(key);
    for (size_t i = 0; i < parse->n_findings; i++) {
        const cf_tool_finding *f = &parse->findings[i];
        if (f->call == call && f->status != CF_TOOL_VALID && f->path.n >= n &&
            memcmp(f->path.p, key, n) == 0 &&
            (f->path.n == n || f->path.p[n] == '.' || f->path.p[n] == '[')) {
            return f;
        }
    }
    return NULL;
}

static void say_argument(cf_tools_pen *p, const cf_tool_parse *parse, size_t call, const char *key,
                         const json_t *type, bool required, const json_t *value)
{
    cf_buf b = CF_BUF_INIT;
    const cf_tool_finding *found = find_about(parse, call, key);
    bool is_bad = found != NULL;
    const char *kind = json_is_string(json_object_get(type, "type"))
                           ? json_string_value(json_object_get(type, "type"))
                       : json_object_get(type, "enum") != NULL ? "enum"
                                                               : "";
    cf_buf_addf(&b, "%-4s $.%-14s %-8s %-8s ",
                is_bad          ? "FAIL"
                : value == NULL ? "--"
                : type == NULL  ? "?" /* nothing is declared about it */
                                : "ok",
                key, kind, required ? "required" : "");
    if (found != NULL) { /* the reason first: a value may be long */
        b.n = 0;
        cf_buf_addf(&b, "FAIL $.%.*s: ", (int)found->path.n, found->path.p);
        cf_buf_add(&b, found->text.p, found->text.n);
        cf_buf_adds(&b, value != NULL ? "; it is " : "");
    }
    if (value != NULL) {
        cf_json_write(&b, value);
    }
    say_buf(p, is_bad ? CF_STYLE_ERROR : CF_STYLE_NORMAL, &b);
}

static void say_arguments(cf_tools_pen *p, const cf_tool_parse *parse, size_t call,
                          const cf_tool *tool)
{
    const json_t *args = parse->calls[call].json;
    const json_t *properties =
        tool != NULL ? json_object_get(tool->parameters, "properties") : NULL;
    const char *key;
    json_t *v;
    json_object_foreach(cf_json_ref(properties), key, v)
    {
        say_argument(p, parse, call, key, v, tool != NULL && is_required(tool->parameters, key),
                     json_object_get(args, key));
    }
    json_object_foreach(cf_json_ref(args), key, v)
    {
        if (json_object_get(properties, key) == NULL) {
            say_argument(p, parse, call, key, NULL, false, v);
        }
    }
}

static void draw_valid(cf_app *app, cf_tools_pen *p, const cf_call_row *row)
{
    const cf_tool_model *m = cf_tools__model(app);
    const cf_tool_parse *parse = m->reply[row->reply].parse;
    const cf_tool_set *tools = cf_lab_tools(app->lab);
    const cf_tool_call *c = cf_tool_model_call(m, row);
    size_t n_tools = 0;
    if (tools != NULL) {
        cf_tool_set_items(tools, &n_tools);
    }
    if (n_tools == 0) {
        cf_tools__say(p, CF_STYLE_DIM,
                      cf_str_from("No tools are declared: nothing to check "
                                  "against (:tools FILE)."));
    }
    if (c == NULL) {
        cf_tools__say(p, CF_STYLE_DIM, cf_str_from("not checked: it does not parse"));
    } else {
        if (n_tools > 0) {
            cf_tools__sayf(p, c->status == CF_TOOL_VALID ? CF_STYLE_OK : CF_STYLE_ERROR, "%s",
                           cf_tool_status_name(c->status));
        }
        cf_tools_fix fix;
        if (cf_tools__find_fix(app, row, &fix)) {
            cf_tools__sayf(p, CF_STYLE_OK, "F: %s", cf_buf_cstr(&fix.how));
        }
        cf_tools__fix_deinit(&fix);
        say_arguments(p, parse, row->call, cf_tool_set_find(tools, c->name));
    }
    for (size_t i = 0; i < parse->n_findings; i++) {
        const cf_tool_finding *f = &parse->findings[i];
        if (c != NULL ? f->call != row->call : f->call != CF_TOOL_NO_CALL) {
            continue;
        }
        cf_buf b = CF_BUF_INIT;
        cf_buf_adds(&b, f->status == CF_TOOL_VALID ? "note" : cf_tool_status_name(f->status));
        cf_buf_adds(&b, f->path.n != 0 ? " $." : "");
        cf_buf_add(&b, f->path.p, f->path.n);
        cf_buf_adds(&b, ": ");
        cf_buf_add(&b, f->text.p, f->text.n);
        say_buf(p, f->status == CF_TOOL_VALID ? CF_STYLE_DIM : CF_STYLE_ERROR, &b);
    }
}

static cf_style plain_style(const void *ud, size_t off)
{
    (void)ud;
    (void)off;
    return CF_STYLE_NORMAL;
}

/* ---- 4 result ----------------------------------------------------------- */

/* "ran, 12 ms, exit 0", "mock" ... */
static void say_note(cf_tools_pen *p, const cf_call_note *note)
{
    if (note == NULL || note->state[0] == '\0' || strcmp(note->state, "parsed") == 0) {
        return;
    }
    cf_buf b = CF_BUF_INIT;
    cf_buf_adds(&b, note->state);
    if (note->duration_us >= 0) {
        cf_buf_addf(&b, ", %lld ms", (long long)(note->duration_us / 1000));
    }
    if (note->exit_code >= 0) {
        cf_buf_addf(&b, ", exit %lld", (long long)note->exit_code);
    }
    say_buf(p, strcmp(note->state, "failed") == 0 ? CF_STYLE_ERROR : CF_STYLE_DIM, &b);
}

/* The newest result that the same call got before. */
static void say_earlier(cf_app *app, cf_tools_pen *p, const cf_call_row *row)
{
    const cf_tool_model *m = cf_tools__model(app);
    const cf_tool_call *c = cf_tool_model_call(m, row);
    for (const cf_call_row *other = row; other-- > m->row;) {
        const cf_tool_call *o = cf_tool_model_call(m, other);
        const cf_turn *t = cf_tools__result_of(app, other);
        if (o == NULL || t == NULL || !cf_str_eq(o->name, c->name) ||
            !cf_str_eq(o->arguments, c->arguments)) {
            continue;
        }
        cf_buf b = CF_BUF_INIT;
        cf_buf_addf(&b, "the same call in turn %02zu got: ", m->reply[other->reply].turn + 1);
        cf_lab_message_text(&b, t->message);
        say_buf(p, CF_STYLE_DIM, &b);
        return;
    }
}

/* The ways to answer a call that waits. */
static void say_ways(cf_app *app, cf_tools_pen *p, const cf_call_row *row)
{
    const cf_tool_desk *desk = cf_lab_desk(app->lab);
    cf_str name = cf_tools__name_of(app, row);
    const char *command = cf_tool_desk_command(desk, name);
    cf_tools__say(p, CF_STYLE_WARNING, cf_str_from("no result yet"));
    say_note(p, cf_tools__note_of(app, row));
    if (command != NULL) {
        cf_buf b = CF_BUF_INIT;
        cf_buf_addf(&b, "! runs (%s): %s", cf_tool_policy_name(cf_tool_desk_policy(desk, name)),
                    command);
        say_buf(p, CF_STYLE_NORMAL, &b);
    }
    cf_tools__sayf(p, CF_STYLE_DIM, "i types one, m sends a mock, %s; nothing runs by itself",
                   command != NULL                   ? "e edits the arguments"
                   : cf_tools__has_server(app, name) ? "! asks its server"
                                                     : "! runs a command");
    say_earlier(app, p, row);
}

static void draw_result(cf_app *app, cf_tools_pen *p, const cf_call_row *row)
{
    const cf_turn *t = cf_tools__result_of(app, row);
    cf_str name = cf_tools__name_of(app, row);
    const cf_tool_desk *desk = cf_lab_desk(app->lab);
    const char *mock = cf_tool_desk_mock(desk, name);
    if (cf_tools__runs(app, row)) {
        cf_tools__say(p, CF_STYLE_WARNING, cf_str_from("the command is running; Esc stops it"));
        const char *command = cf_tool_desk_command(desk, name);
        cf_tools__say(p, CF_STYLE_DIM, cf_str_from(command != NULL ? command : ""));
    } else if (t != NULL) {
        cf_str role = cf_json_get_str(t->message, "role");
        cf_buf text = CF_BUF_INIT;
        cf_tools__sayf(p, CF_STYLE_DIM, "turn %02zu, role %.*s", row->result + 1,
                       (int)(role.n < 24 ? role.n : 24), role.n != 0 ? role.p : "");
        say_note(p, cf_tools__note_of(app, row));
        cf_lab_message_text(&text, t->message);
        if (cf_tools__state(app)->shows_hex) {
            const look l = {.style = plain_style, .mark = SIZE_MAX};
            say_hex(p, cf_buf_str(&text), &l);
            cf_buf_deinit(&text);
        } else {
            say_buf(p, CF_STYLE_NORMAL, &text);
        }
    } else if (row->call == CF_TOOL_NO_CALL) {
        cf_tools__say(p, CF_STYLE_DIM, cf_str_from("not run: it does not parse"));
        cf_tools__say(p, CF_STYLE_DIM,
                      cf_str_from("r asks for another reply, F for one with "
                                  "the fix, e for one with other bytes"));
    } else {
        say_ways(app, p, row);
    }
    if (mock != NULL) {
        cf_buf b = CF_BUF_INIT;
        cf_buf_addf(&b, "mock: %s", mock);
        say_buf(p, CF_STYLE_DIM, &b);
    }
}

/* ---- 5 back in the prompt ----------------------------------------------- */

/* The bytes of the prompt that a message wrote, by its spans. */
static bool spans_of(const cf_prompt *prompt, size_t message, uint32_t *from, uint32_t *to,
                     uint32_t *line)
{
    bool is_there = false;
    for (size_t i = 0; i < prompt->n_spans; i++) {
        const cf_prompt_span *s = &prompt->spans[i];
        if (s->source == CF_SPAN_MESSAGE && s->index == message) {
            *from = is_there ? *from : s->off;
            *line = is_there ? *line : s->line;
            *to = s->off + s->len;
            is_there = true;
        }
    }
    return is_there;
}

/* The byte of a prompt after the text of message `last`. */
static size_t end_of(const cf_prompt *prompt, size_t last)
{
    size_t end = 0;
    for (size_t i = 0; i < prompt->n_spans; i++) {
        const cf_prompt_span *s = &prompt->spans[i];
        if (s->source == CF_SPAN_MESSAGE && s->index <= last) {
            end = s->off + s->len;
        }
    }
    return end;
}

/* The prompt as it would be with the failure told, made once. */
static const cf_tools_back *would_be(cf_app *app, const cf_call_row *row)
{
    cf_tools_back *b = &cf_tools__state(app)->back;
    const cf_tool_model *m = cf_tools__model(app);
    size_t at = (size_t)(row - m->row), n_path;
    const cf_turn *const *path = cf_lab_path(app->lab, &n_path);
    uint64_t now = cf_lab_generation(app->lab);
    if (b->is_made && b->generation == now && b->row == at) {
        return b;
    }
    cf_uuid parent = {{0}};
    cf_arena_reset(&b->arena);
    b->is_made = true;
    b->generation = now;
    b->row = at;
    json_t *message = cf_tools__failure_message(app, row, &parent);
    b->status = message != NULL
                    ? cf_lab_preview(app->lab, parent, message, &b->arena, &b->prompt, &b->err)
                    : cf_oom_for(&b->err, "the prompt");
    json_decref(message);
    size_t last = m->reply[row->reply].turn;
    while (last + 1 < n_path && !cf_uuid_eq(path[last]->id, parent)) {
        last++;
    }
    b->from = b->status == CF_OK ? end_of(&b->prompt, cf_lab_message_of(app->lab, last)) : 0;
    return b;
}

/* Where the declarations stand that the model was offered. */
static void say_offer(cf_app *app, cf_tools_pen *p)
{
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    for (size_t i = 0; m != NULL && i < m->n_part; i++) {
        if (m->part[i].message == CF_PART_TOOLS) {
            cf_tools__sayf(p, CF_STYLE_DIM,
                           "the tools are declared in tokens %zu..%zu (2 "
                           "shows them)",
                           m->part[i].first, m->part[i].first + m->part[i].n_tokens);
            return;
        }
    }
}

/* No result: what the model would be told, were this call given up. */
static void draw_would(cf_app *app, cf_tools_pen *p, const cf_call_row *row)
{
    cf_buf why = CF_BUF_INIT;
    cf_on_failure policy = cf_lab_desk(app->lab)->on_failure;
    bool is_failed = cf_tool_model_failure(cf_tools__model(app), row, &why);
    cf_buf_deinit(&why);
    if (!is_failed) {
        cf_tools__say(p, CF_STYLE_DIM, cf_str_from("nothing yet: there is no result"));
    }
    cf_tools__sayf(p, is_failed ? CF_STYLE_WARNING : CF_STYLE_DIM,
                   "on failure: %s, %s (gf changes it%s)", cf_on_failure_name(policy),
                   cf_on_failure_help(policy), is_failed ? ", P does it" : "");
    if (is_failed && policy == CF_FAILURE_SEND) {
        const cf_tools_back *b = would_be(app, row);
        if (b->status != CF_OK) {
            cf_tools__say(p, CF_STYLE_WARNING, cf_str_from(b->err.text));
        } else {
            const look l = {.style = plain_style, .mark = SIZE_MAX};
            cf_str text = b->prompt.text;
            say_bytes(p, cf_str_make(text.p + b->from, text.n - b->from), &l);
        }
    }
    say_offer(app, p);
}

static void draw_back(cf_app *app, cf_tools_pen *p, const cf_call_row *row)
{
    cf_error err = {0};
    if (row->result == SIZE_MAX) {
        draw_would(app, p, row);
        return;
    }
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    if (m == NULL) {
        cf_lab_prompt_error(app->lab, &err);
        cf_tools__say(p, CF_STYLE_WARNING, cf_str_from(err.text));
        return;
    }
    uint32_t from = 0, to = 0, line = 0;
    size_t n_tokens = 0, n_kept = 0;
    size_t message = cf_lab_message_of(app->lab, row->result);
    bool is_there = spans_of(&m->prompt, message, &from, &to, &line);
    for (size_t i = 0; i < m->n_part; i++) {
        const cf_prompt_part *part = &m->part[i];
        if (part->message == (int32_t)message && part->n_tokens > 0) {
            const cf_token_span *last = &m->ids[part->first + part->n_tokens - 1];
            from = n_tokens == 0 ? m->ids[part->first].off : from;
            to = last->off + last->len;
            n_tokens += part->n_tokens;
            n_kept += part->n_kept;
        }
    }
    if (!is_there) {
        cf_tools__say(p, CF_STYLE_ERROR,
                      cf_str_from("The template writes nothing of this message: the "
                                  "model does not see the result."));
        return;
    }
    cf_tools__sayf(p, CF_STYLE_DIM, "bytes %u..%u of %zu, template line %u", (unsigned)from,
                   (unsigned)to, m->prompt.text.n, (unsigned)line);
    if (n_tokens > 0) {
        cf_tools__sayf(p, CF_STYLE_DIM, "%zu tokens, %zu of them in the cache", n_tokens, n_kept);
    }
    const look l = {.style = plain_style, .mark = SIZE_MAX};
    say_bytes(p, cf_str_make(m->prompt.text.p + from, to - from), &l);
}

/* ---- the screen --------------------------------------------------------- */

void cf_tools__draw_pane(cf_app *app, cf_grid *g, cf_rect r, cf_stage stage, const cf_call_row *row)
{
    static void (*const draw[CF_STAGE_COUNT])(cf_app *, cf_tools_pen *, const cf_call_row *) = {
        draw_raw, draw_parsed, draw_valid, draw_result, draw_back};
    cf_tools *s = cf_tools__state(app);
    cf_pane(g, r, cf_stage_titles[stage], stage == s->stage);
    cf_grid_spot(g, r, CF_TOOLS_SPOT_STAGE, stage);
    cf_rect inner = {r.x + 2, r.y + 1, r.w - 4, r.h - 2};
    cf_tools_pen p = {.g = g, .r = inner, .skip = s->scroll[stage], .mark = SIZE_MAX};
    if (p.r.w < 4 || p.r.h < 1) {
        return;
    }
    if (stage == CF_STAGE_RAW && s->finds_call) {
        /* Draws nothing yet: looks where the call is. */
        cf_tools_pen look_up = {
            .g = g, .r = inner, .skip = SIZE_MAX / 2, .mark = SIZE_MAX, .is_whole = true};
        s->finds_call = false;
        draw[stage](app, &look_up, row);
        if (look_up.mark != SIZE_MAX && look_up.mark + 2 > (size_t)p.r.h) {
            p.skip = s->scroll[stage] = look_up.mark - 1;
        }
    }
    draw[stage](app, &p, row);
    if (s->scroll[stage] + 1 > p.line) { /* scrolled past the end */
        s->scroll[stage] = p.line > 0 ? p.line - 1 : 0;
    }
    if (p.line > p.skip + (size_t)inner.h && r.w > 12) {
        cf_grid_puts(g, r.x + r.w - 10, r.y + r.h - 1, 8, stage == s->stage ? " J more " : " more ",
                     CF_STYLE_DIM);
    }
}

void cf_tools__draw_panes(cf_app *app, cf_grid *g, cf_rect r, const cf_call_row *row)
{
    int h = r.h / 3, w = r.w / 2;
    cf_tools__draw_pane(app, g, (cf_rect){r.x, r.y, w, r.h - 2 * h}, CF_STAGE_RAW, row);
    cf_tools__draw_pane(app, g, (cf_rect){r.x + w, r.y, r.w - w, r.h - 2 * h}, CF_STAGE_PARSED,
                        row);
    int y = r.y + r.h - 2 * h;
    cf_tools__draw_pane(app, g, (cf_rect){r.x, y, w, h}, CF_STAGE_VALID, row);
    cf_tools__draw_pane(app, g, (cf_rect){r.x + w, y, r.w - w, h}, CF_STAGE_RUN, row);
    cf_tools__draw_pane(app, g, (cf_rect){r.x, y + h, r.w, h}, CF_STAGE_BACK, row);
}
