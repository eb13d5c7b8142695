/*
 * view_tools.c - the calls of the conversation and how far each one came.
 *
 * Above: the calls with their five stages.  Below: what the stages of the
 * call under the cursor hold - the raw bytes, the parse, the validation, the
 * result, and the result as the prompt has it.  Narrow screens, and a zoom,
 * show one stage at a time.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/app.h"
#include "tui/bench.h"
#include "tui/tool_model.h"
#include "tui/view/moves.h"
#include "tui/widget/list.h"

typedef struct tools_view {
    cf_tool_model model;
    uint64_t generation; /* of the bench, when the model was made */
    bool is_made;
    cf_list list;
    cf_stage stage; /* the focused pane */
    bool is_zoomed;
    size_t scroll[CF_STAGE_COUNT]; /* lines above each pane */
    json_t *mocks; /* {"tool name": text}, given in this session */
} tools_view;

static const char *const stage_titles[CF_STAGE_COUNT] = {
    "1 Raw reply", "2 Parsed", "3 Validation", "4 Result",
    "5 Back in the prompt"};

static tools_view *state(cf_app *app)
{
    return app->state[CF_VIEW_TOOLS];
}

static cf_status tools_open(cf_app *app, cf_error *err)
{
    tools_view *s = cf_calloc(1, sizeof *s);
    if (s == NULL) {
        return cf_fail(err, CF_ENOMEM, "out of memory");
    }
    app->state[CF_VIEW_TOOLS] = s;
    s->mocks = json_object();
    return s->mocks != NULL ? CF_OK : cf_fail(err, CF_ENOMEM, "out of memory");
}

static void tools_close(cf_app *app)
{
    tools_view *s = state(app);
    if (s != NULL) {
        cf_tool_model_deinit(&s->model);
        json_decref(s->mocks);
        cf_free(s);
        app->state[CF_VIEW_TOOLS] = NULL;
    }
}

/* The model of the path as it is now. */
static const cf_tool_model *model(cf_app *app)
{
    tools_view *s = state(app);
    uint64_t now = cf_bench_generation(app->bench);
    if (s->is_made && s->generation == now) {
        return &s->model;
    }
    const cf_bench_engine *e = cf_bench_engine_of(app->bench);
    size_t n, before = s->model.n_row;
    const cf_turn *const *path = cf_bench_path(app->bench, &n);
    cf_error err;
    cf_tool_model_deinit(&s->model);
    s->is_made = true;
    s->generation = now;
    if (cf_tool_model_build(&s->model, path, n, e->family,
                            cf_bench_tools(app->bench), e->template_source,
                            &err) != CF_OK) {
        cf_app_error(app, &err);
    }
    cf_list_set(&s->list, s->model.n_row, s->list.height);
    if (s->model.n_row > before) {
        cf_list_go(&s->list, s->model.n_row - 1);
    }
    return &s->model;
}

static void tools_enter(cf_app *app)
{
    model(app);
}

static const cf_call_row *current(cf_app *app)
{
    const cf_tool_model *m = model(app);
    size_t i = state(app)->list.cursor;
    return i < m->n_row ? &m->row[i] : NULL;
}

static const cf_turn *turn_of(cf_app *app, const cf_call_row *row)
{
    size_t n;
    const cf_turn *const *path = cf_bench_path(app->bench, &n);
    size_t i = model(app)->reply[row->reply].turn;
    return i < n ? path[i] : NULL;
}

static const cf_turn *result_of(cf_app *app, const cf_call_row *row)
{
    size_t n;
    const cf_turn *const *path = cf_bench_path(app->bench, &n);
    return row->result < n ? path[row->result] : NULL;
}

/* The called name; of a failed block what little is known: "?". */
static cf_str name_of(cf_app *app, const cf_call_row *row)
{
    const cf_tool_call *c = cf_tool_model_call(model(app), row);
    return c != NULL ? c->name : cf_str_from("?");
}

/* ---- the list ------------------------------------------------------------ */

static void draw_outcome(cf_grid *g, int x, int y, uint8_t outcome,
                         cf_style row_style)
{
    static const char *const names[] = {"-", "ok", "FAIL", "WAITS"};
    static const cf_style styles[] = {CF_STYLE_DIM, CF_STYLE_OK, CF_STYLE_ERROR,
                                      CF_STYLE_WARNING};
    cf_grid_puts(g, x, y, 6, names[outcome],
                 row_style == CF_STYLE_NORMAL ? styles[outcome] : row_style);
}

static void draw_row(cf_app *app, cf_grid *g, cf_rect r, size_t i)
{
    const cf_tool_model *m = model(app);
    const cf_call_row *row = &m->row[i];
    bool is_on = i == state(app)->list.cursor;
    cf_style style = is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
    cf_grid_fill(g, r, ' ', style);
    cf_grid_putf(g, r.x + 1, r.y, 4, style, "%3zu", i + 1);
    cf_grid_putf(g, r.x + 6, r.y, 4, style, "%02zu",
                 m->reply[row->reply].turn + 1);
    for (int s = 0; s < CF_STAGE_COUNT; s++) {
        draw_outcome(g, r.x + 10 + 6 * s, r.y, row->outcome[s], style);
    }
    int x = r.x + 41;
    x += 1 + cf_grid_put(g, x, r.y, 24, name_of(app, row), style);
    const cf_tool_call *c = cf_tool_model_call(m, row);
    cf_grid_put(g, x, r.y, r.x + r.w - x,
                c != NULL ? c->arguments : cf_str_make("", 0),
                is_on ? style : CF_STYLE_DIM);
}

static void draw_list(cf_app *app, cf_grid *g, cf_rect r)
{
    tools_view *s = state(app);
    const cf_tool_model *m = model(app);
    cf_grid_puts(g, r.x + 1, r.y, r.w - 1,
                 "  # turn raw   parse valid run   back  tool", CF_STYLE_DIM);
    cf_rect rows = {r.x, r.y + 1, r.w, r.h - 1};
    cf_list_set(&s->list, m->n_row, (size_t)(rows.h > 0 ? rows.h : 0));
    for (int y = 0; y < rows.h && s->list.top + (size_t)y < m->n_row; y++) {
        draw_row(app, g, (cf_rect){rows.x, rows.y + y, rows.w, 1},
                 s->list.top + (size_t)y);
    }
    g->cursor_x = rows.x;
    g->cursor_y = rows.y + (int)(s->list.cursor - s->list.top);
}

/* ---- panes --------------------------------------------------------------- */

/* Writes lines into a pane, of which the first `skip` are scrolled away. */
typedef struct pen {
    cf_grid *g;
    cf_rect r;
    size_t line, skip;
} pen;

static void say(pen *p, cf_style style, cf_str text)
{
    cf_wrapped lines = {0};
    if (p->r.w >= 2 && cf_wrapped_update(&lines, text, p->r.w, NULL) == CF_OK) {
        for (size_t i = 0; i < lines.n; i++, p->line++) {
            if (p->line >= p->skip && p->line - p->skip < (size_t)p->r.h) {
                cf_grid_put(
                    p->g, p->r.x, p->r.y + (int)(p->line - p->skip), p->r.w,
                    cf_str_make(text.p + lines.v[i].off, lines.v[i].len),
                    style);
            }
        }
    }
    cf_wrapped_deinit(&lines);
}

static void sayf(pen *p, cf_style style, const char *fmt, ...) CF_PRINTF(3, 4);

static void say_buf(pen *p, cf_style style, cf_buf *b)
{
    say(p, style, cf_str_make(cf_buf_cstr(b), b->n));
    cf_buf_deinit(b);
}

static void sayf(pen *p, cf_style style, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n > 0) {
        say(p, style, cf_str_from(text));
    }
}

/* Bytes with white space visible; a line ends behind each newline.  `style`
 * gives the style of a byte. */
static void say_bytes(pen *p, cf_str text,
                      cf_style (*style)(const void *ud, size_t off),
                      const void *ud)
{
    int x = 0;
    cf_cluster c;
    for (size_t at = 0;
         cf_cluster_next(&c, text.p, text.n, &at, 0, CF_SPACE_VISIBLE);) {
        if (x + c.width > p->r.w) {
            x = 0;
            p->line++;
        }
        if (p->line >= p->skip && p->line - p->skip < (size_t)p->r.h) {
            cf_grid_put_cluster(p->g, p->r.x + x,
                                p->r.y + (int)(p->line - p->skip), p->r.w - x,
                                &c, style(ud, c.off));
        }
        x += c.width;
        if (c.len == 1 && text.p[c.off] == '\n') {
            x = 0;
            p->line++;
        }
    }
    p->line += x > 0;
}

/* ---- 1 raw --------------------------------------------------------------- */

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
        return off >= s->off && off < s->off + s->len ? CF_STYLE_WARNING
                                                      : CF_STYLE_DIM;
    }
    for (size_t i = 0; m->call != NULL && i < m->parse->n_findings; i++) {
        const cf_tool_finding *f = &m->parse->findings[i];
        if (f->call == m->index && f->status != CF_TOOL_VALID &&
            off >= f->off && off < f->off + f->len) {
            return CF_STYLE_ERROR | CF_REVERSE;
        }
    }
    return m->call != NULL && off >= m->call->off &&
                   off < m->call->off + m->call->len
               ? CF_STYLE_TOOL
               : CF_STYLE_DIM;
}

/* "tokens 3..19" of a stretch of the raw reply. */
static void say_tokens(pen *p, const cf_reply *known, size_t from, size_t to)
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
        sayf(p, CF_STYLE_DIM, "tokens %zu..%zu of %zu  stop: %s", first, last,
             known->n_token,
             known->stop.reason != CF_STOP_NONE
                 ? cf_stop_reason_name(known->stop.reason)
                 : known->stop.what);
    }
}

static void draw_raw(cf_app *app, pen *p, const cf_call_row *row)
{
    const cf_tool_model *m = model(app);
    const cf_call_reply *r = &m->reply[row->reply];
    const cf_turn *turn = turn_of(app, row);
    raw_marks marks = {r->parse, cf_tool_model_segment(m, row),
                       cf_tool_model_call(m, row), row->call};
    size_t off = marks.call != NULL ? marks.call->off : marks.segment->off;
    size_t len = marks.call != NULL ? marks.call->len : marks.segment->len;
    if (r->is_rewritten) {
        say(p, CF_STYLE_WARNING,
            cf_str_from("The bytes of this reply are not known: the engine "
                        "parsed it.  Its calls, written out:"));
    } else {
        sayf(p, CF_STYLE_DIM, "bytes %zu..%zu of %zu", r->skip + off,
             r->skip + off + len, r->skip + r->text.n);
        say_tokens(p,
                   turn != NULL ? cf_bench_reply(app->bench, turn->id) : NULL,
                   r->skip + off, r->skip + off + len);
    }
    say_bytes(p, r->parse->raw, raw_style, &marks);
}

/* ---- 2 parsed ------------------------------------------------------------ */

/* The arguments, one a line. */
static void say_json(pen *p, const cf_tool_call *c)
{
    const char *key;
    json_t *v;
    if (!json_is_object(c->json)) {
        say(p, CF_STYLE_NORMAL, c->arguments);
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)c->json, key, v)
    {
        cf_buf b = CF_BUF_INIT;
        cf_buf_addf(&b, "  %s: ", key);
        cf_json_write(&b, v);
        say_buf(p, CF_STYLE_NORMAL, &b);
    }
}

static void draw_parsed(cf_app *app, pen *p, const cf_call_row *row)
{
    const cf_tool_model *m = model(app);
    const cf_call_reply *r = &m->reply[row->reply];
    const cf_tool_call *c = cf_tool_model_call(m, row);
    const cf_tool_segment *s = cf_tool_model_segment(m, row);
    cf_tool_family family = r->is_rewritten
                                ? CF_TOOLS_HERMES
                                : cf_bench_engine_of(app->bench)->family;
    cf_buf b = CF_BUF_INIT;
    if (c != NULL) {
        sayf(p, CF_STYLE_DIM, "as %s  name at %zu..%zu, arguments at %zu..%zu",
             cf_tool_family_name(family), r->skip + c->name_off,
             r->skip + c->name_off + c->name_len, r->skip + c->args_off,
             r->skip + c->args_off + c->args_len);
        say(p, CF_STYLE_TOOL, c->name);
        say_json(p, c);
        return;
    }
    sayf(p, CF_STYLE_ERROR, "broken at byte %zu (as %s)",
         r->skip + s->error_off, cf_tool_family_name(family));
    cf_buf_adds(&b, "expected: ");
    cf_buf_add(&b, s->expected.p, s->expected.n);
    say_buf(p, CF_STYLE_NORMAL, &b);
    if (s->repair.n == 0) {
        say(p, CF_STYLE_DIM, cf_str_from("no near text parses"));
        return;
    }
    cf_buf_init(&b);
    cf_buf_adds(&b, "nearest fix: ");
    cf_buf_add(&b, s->repair_how.p, s->repair_how.n);
    cf_buf_adds(&b, "  (F: a fork with it)");
    say_buf(p, CF_STYLE_OK, &b);
    say(p, CF_STYLE_DIM, s->repair);
}

/* ---- 3 validation -------------------------------------------------------- */

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

/* Whether a finding speaks of the argument `key` or of something in it. */
static bool is_found(const cf_tool_parse *parse, size_t call, const char *key)
{
    size_t n = strlen(key);
    for (size_t i = 0; i < parse->n_findings; i++) {
        const cf_tool_finding *f = &parse->findings[i];
        if (f->call == call && f->status != CF_TOOL_VALID && f->path.n >= n &&
            memcmp(f->path.p, key, n) == 0 &&
            (f->path.n == n || f->path.p[n] == '.' || f->path.p[n] == '[')) {
            return true;
        }
    }
    return false;
}

static void say_argument(pen *p, const cf_tool_parse *parse, size_t call,
                         const char *key, const json_t *type, bool required,
                         const json_t *value)
{
    cf_buf b = CF_BUF_INIT;
    bool is_bad = is_found(parse, call, key);
    const char *kind = json_is_string(json_object_get(type, "type"))
                           ? json_string_value(json_object_get(type, "type"))
                       : json_object_get(type, "enum") != NULL ? "enum"
                                                               : "";
    cf_buf_addf(&b, "%-4s $.%-14s %-8s %-8s ",
                is_bad          ? "FAIL"
                : value == NULL ? "--"
                                : "ok",
                key, kind, required ? "required" : "");
    if (value != NULL) {
        cf_json_write(&b, value);
    }
    say_buf(p, is_bad ? CF_STYLE_ERROR : CF_STYLE_NORMAL, &b);
}

static void say_arguments(pen *p, const cf_tool_parse *parse, size_t call,
                          const cf_tool *tool)
{
    const json_t *args = parse->calls[call].json;
    const json_t *properties =
        tool != NULL ? json_object_get(tool->parameters, "properties") : NULL;
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)properties, key, v)
    {
        say_argument(p, parse, call, key, v, is_required(tool->parameters, key),
                     json_object_get(args, key));
    }
    json_object_foreach((json_t *)(uintptr_t)args, key, v)
    {
        if (json_object_get(properties, key) == NULL) {
            say_argument(p, parse, call, key, NULL, false, v);
        }
    }
}

static void draw_valid(cf_app *app, pen *p, const cf_call_row *row)
{
    const cf_tool_model *m = model(app);
    const cf_tool_parse *parse = m->reply[row->reply].parse;
    const cf_tool_set *tools = cf_bench_tools(app->bench);
    const cf_tool_call *c = cf_tool_model_call(m, row);
    size_t n_tools = 0;
    if (tools != NULL) {
        cf_tool_set_items(tools, &n_tools);
    }
    if (n_tools == 0) {
        say(p, CF_STYLE_DIM,
            cf_str_from("No tools are declared: nothing to check against "
                        "(confab chat --tools FILE)."));
    }
    if (c == NULL) {
        say(p, CF_STYLE_DIM, cf_str_from("not checked: it does not parse"));
    } else {
        if (n_tools > 0) {
            sayf(p, c->status == CF_TOOL_VALID ? CF_STYLE_OK : CF_STYLE_ERROR,
                 "%s", cf_tool_status_name(c->status));
        }
        say_arguments(p, parse, row->call, cf_tool_set_find(tools, c->name));
    }
    for (size_t i = 0; i < parse->n_findings; i++) {
        const cf_tool_finding *f = &parse->findings[i];
        if (c != NULL ? f->call != row->call : f->call != CF_TOOL_NO_CALL) {
            continue;
        }
        cf_buf b = CF_BUF_INIT;
        cf_buf_adds(&b, f->status == CF_TOOL_VALID
                            ? "note"
                            : cf_tool_status_name(f->status));
        cf_buf_adds(&b, f->path.n != 0 ? " $." : "");
        cf_buf_add(&b, f->path.p, f->path.n);
        cf_buf_adds(&b, ": ");
        cf_buf_add(&b, f->text.p, f->text.n);
        say_buf(p, f->status == CF_TOOL_VALID ? CF_STYLE_DIM : CF_STYLE_ERROR,
                &b);
    }
}

/* ---- 4 result ------------------------------------------------------------ */

static const char *mock_of(cf_app *app, cf_str name)
{
    char key[256];
    snprintf(key, sizeof key, "%.*s", (int)(name.n < 255 ? name.n : 255),
             name.n != 0 ? name.p : "");
    return json_string_value(json_object_get(state(app)->mocks, key));
}

static void draw_result(cf_app *app, pen *p, const cf_call_row *row)
{
    const cf_turn *t = result_of(app, row);
    const char *mock = mock_of(app, name_of(app, row));
    if (t != NULL) {
        cf_str role = cf_json_get_str(t->message, "role");
        cf_buf text = CF_BUF_INIT;
        sayf(p, CF_STYLE_DIM, "turn %02zu, role %.*s", row->result + 1,
             (int)role.n, role.n != 0 ? role.p : "");
        cf_bench_message_text(&text, t->message);
        say_buf(p, CF_STYLE_NORMAL, &text);
    } else if (row->call == CF_TOOL_NO_CALL) {
        say(p, CF_STYLE_DIM, cf_str_from("not run: it does not parse"));
        say(p, CF_STYLE_DIM,
            cf_str_from("R asks for another reply, F for one with the fix"));
    } else {
        say(p, CF_STYLE_WARNING, cf_str_from("no result yet"));
        say(p, CF_STYLE_DIM,
            cf_str_from("I types one, m sends a mock; confab runs nothing "
                        "here by itself"));
    }
    if (mock != NULL) {
        cf_buf b = CF_BUF_INIT;
        cf_buf_addf(&b, "mock: %s", mock);
        say_buf(p, CF_STYLE_DIM, &b);
    }
}

/* ---- 5 back in the prompt ------------------------------------------------ */

static cf_style plain_style(const void *ud, size_t off)
{
    (void)ud;
    (void)off;
    return CF_STYLE_NORMAL;
}

/* The bytes of the prompt that a message wrote, by its spans. */
static bool spans_of(const cf_prompt *prompt, size_t message, uint32_t *from,
                     uint32_t *to, uint32_t *line)
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

static void draw_back(cf_app *app, pen *p, const cf_call_row *row)
{
    cf_error err = {0};
    if (row->result == SIZE_MAX) {
        say(p, CF_STYLE_DIM, cf_str_from("nothing yet: there is no result"));
        return;
    }
    const cf_prompt_model *m = cf_bench_prompt(app->bench);
    if (m == NULL) {
        cf_bench_prompt_error(app->bench, &err);
        say(p, CF_STYLE_WARNING, cf_str_from(err.text));
        return;
    }
    uint32_t from = 0, to = 0, line = 0;
    size_t n_tokens = 0, n_kept = 0;
    bool is_there = spans_of(&m->prompt, row->result, &from, &to, &line);
    for (size_t i = 0; i < m->n_part; i++) {
        const cf_prompt_part *part = &m->part[i];
        if (part->message == (int32_t)row->result && part->n_tokens > 0) {
            const cf_token_span *last =
                &m->ids[part->first + part->n_tokens - 1];
            from = n_tokens == 0 ? m->ids[part->first].off : from;
            to = last->off + last->len;
            n_tokens += part->n_tokens;
            n_kept += part->n_kept;
        }
    }
    if (!is_there) {
        say(p, CF_STYLE_ERROR,
            cf_str_from("The template writes nothing of this message: the "
                        "model does not see the result."));
        return;
    }
    sayf(p, CF_STYLE_DIM, "bytes %u..%u of %zu, template line %u",
         (unsigned)from, (unsigned)to, m->prompt.text.n, (unsigned)line);
    if (n_tokens > 0) {
        sayf(p, CF_STYLE_DIM, "%zu tokens, %zu of them in the cache", n_tokens,
             n_kept);
    }
    say_bytes(p, cf_str_make(m->prompt.text.p + from, to - from), plain_style,
              NULL);
}

/* ---- the screen ---------------------------------------------------------- */

static void draw_pane(cf_app *app, cf_grid *g, cf_rect r, cf_stage stage,
                      const cf_call_row *row)
{
    static void (*const draw[CF_STAGE_COUNT])(cf_app *, pen *,
                                              const cf_call_row *) = {
        draw_raw, draw_parsed, draw_valid, draw_result, draw_back};
    tools_view *s = state(app);
    cf_grid_box(g, r, stage_titles[stage], CF_STYLE_BORDER,
                stage == s->stage ? CF_STYLE_FOCUS : CF_STYLE_TITLE);
    pen p = {.g = g,
             .r = {r.x + 2, r.y + 1, r.w - 4, r.h - 2},
             .skip = s->scroll[stage]};
    if (p.r.w < 4 || p.r.h < 1) {
        return;
    }
    draw[stage](app, &p, row);
    if (s->scroll[stage] + 1 > p.line) { /* scrolled past the end */
        s->scroll[stage] = p.line > 0 ? p.line - 1 : 0;
    }
}

static void draw_panes(cf_app *app, cf_grid *g, cf_rect r,
                       const cf_call_row *row)
{
    int h = r.h / 3, w = r.w / 2;
    draw_pane(app, g, (cf_rect){r.x, r.y, w, r.h - 2 * h}, CF_STAGE_RAW, row);
    draw_pane(app, g, (cf_rect){r.x + w, r.y, r.w - w, r.h - 2 * h},
              CF_STAGE_PARSED, row);
    int y = r.y + r.h - 2 * h;
    draw_pane(app, g, (cf_rect){r.x, y, w, h}, CF_STAGE_VALID, row);
    draw_pane(app, g, (cf_rect){r.x + w, y, r.w - w, h}, CF_STAGE_RUN, row);
    draw_pane(app, g, (cf_rect){r.x, y + h, r.w, h}, CF_STAGE_BACK, row);
}

static void tools_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    tools_view *s = state(app);
    const cf_tool_model *m = model(app);
    const cf_bench_engine *e = cf_bench_engine_of(app->bench);
    if (m->n_row == 0) {
        cf_grid_puts(g, r.x + 2, r.y + 1, r.w - 4,
                     "No reply on this path calls a tool.", CF_STYLE_DIM);
        if (e->family == CF_TOOLS_NONE) {
            cf_grid_puts(g, r.x + 2, r.y + 2, r.w - 4,
                         "Its template has no way to write calls that is known "
                         "here.",
                         CF_STYLE_DIM);
        } else {
            cf_grid_putf(g, r.x + 2, r.y + 2, r.w - 4, CF_STYLE_DIM,
                         "Read as %s writes them; --tools FILE declares tools.",
                         cf_tool_family_name(e->family));
        }
        return;
    }
    int room = r.h >= 30 ? 8 : 4;
    int list_h = (int)(m->n_row < (size_t)room ? m->n_row : (size_t)room) + 3;
    char title[96];
    snprintf(title, sizeof title, "Calls  %zu on this path  (parser: %s)",
             m->n_row, cf_tool_family_name(e->family));
    cf_grid_box(g, (cf_rect){r.x, r.y, r.w, list_h}, title, CF_STYLE_BORDER,
                CF_STYLE_FOCUS);
    draw_list(app, g, (cf_rect){r.x + 1, r.y + 1, r.w - 2, list_h - 2});
    cf_rect below = {r.x, r.y + list_h, r.w, r.h - list_h};
    const cf_call_row *row = current(app);
    if (row == NULL) {
        return;
    }
    if (s->is_zoomed || cf_app_is_narrow(app) || app->is_maximized ||
        below.h < 15) {
        draw_pane(app, g, below, s->stage, row);
    } else {
        draw_panes(app, g, below, row);
    }
}

static void tools_status(cf_app *app, cf_buf *out)
{
    const tools_view *s = state(app);
    if (s->model.n_row != 0) {
        cf_buf_addf(out, "call %zu of %zu  %s", s->list.cursor + 1,
                    s->model.n_row, stage_titles[s->stage]);
    }
}

/* ---- moving -------------------------------------------------------------- */

static void tools_move(cf_app *app, cf_move move)
{
    tools_view *s = state(app);
    model(app);
    cf_list_move(&s->list, move);
    memset(s->scroll, 0, sizeof s->scroll);
}

CF_MOVE_COMMANDS(tools, tools_move)

static void cmd_next_stage(cf_app *app, const char *arg)
{
    (void)arg;
    tools_view *s = state(app);
    s->stage = (cf_stage)((s->stage + 1) % CF_STAGE_COUNT);
}

static void cmd_previous_stage(cf_app *app, const char *arg)
{
    (void)arg;
    tools_view *s = state(app);
    s->stage = (cf_stage)((s->stage + CF_STAGE_COUNT - 1) % CF_STAGE_COUNT);
}

static void cmd_zoom(cf_app *app, const char *arg)
{
    (void)arg;
    state(app)->is_zoomed = !state(app)->is_zoomed;
}

static void cmd_scroll_down(cf_app *app, const char *arg)
{
    (void)arg;
    state(app)->scroll[state(app)->stage]++;
}

static void cmd_scroll_up(cf_app *app, const char *arg)
{
    (void)arg;
    size_t *at = &state(app)->scroll[state(app)->stage];
    *at -= *at > 0;
}

/* ---- acting -------------------------------------------------------------- */

/* Begins a ":" line. */
static void ask(cf_app *app, const char *start)
{
    cf_edit_set(&app->command_line, cf_str_from(start));
    app->mode = CF_MODE_COMMAND;
}

/* The results of the reply's calls as messages: `text` for the row's call,
 * for the others what the path has.  Those before the first new one stay in
 * the tree: *parent is the last of them.  *is_whole: every call has one. */
static json_t *answers(cf_app *app, const cf_call_row *row, cf_str text,
                       cf_uuid *parent, bool *is_whole)
{
    const cf_tool_model *m = model(app);
    const cf_turn *turn = turn_of(app, row);
    json_t *list = json_array();
    bool ok = list != NULL;
    size_t next = m->reply[row->reply].turn + 1;
    *parent = turn->id;
    *is_whole = true;
    for (size_t i = 0; ok && i < m->n_row; i++) {
        const cf_call_row *other = &m->row[i];
        if (other->reply != row->reply || other->call == CF_TOOL_NO_CALL) {
            continue;
        }
        const cf_turn *known = result_of(app, other);
        if (other == row) {
            json_t *v =
                cf_tool_result_message(cf_tool_model_call(m, row)->name,
                                       cf_turn_call_id(turn, row->call), text);
            ok = v != NULL && json_array_append_new(list, v) == 0;
        } else if (known == NULL) {
            *is_whole = false;
        } else if (json_array_size(list) == 0 && other->result == next) {
            *parent = known->id;
            next++;
        } else {
            json_t *copy = json_deep_copy(known->message);
            ok = copy != NULL && json_array_append_new(list, copy) == 0;
        }
    }
    if (!ok) {
        json_decref(list);
        return NULL;
    }
    return list;
}

static void answer(cf_app *app, cf_str text)
{
    const cf_call_row *row = current(app);
    if (row == NULL || row->call == CF_TOOL_NO_CALL ||
        turn_of(app, row) == NULL) {
        cf_app_say(app, CF_STYLE_WARNING,
                   "no call here that could be answered");
        return;
    }
    cf_error err;
    cf_uuid parent;
    bool is_whole;
    json_t *list = answers(app, row, text, &parent, &is_whole);
    if (list == NULL) {
        cf_app_say(app, CF_STYLE_ERROR,
                   "the result is not UTF-8, or memory ran out");
        return;
    }
    if (cf_bench_add(app->bench, list, parent, is_whole, &err) != CF_OK) {
        cf_app_error(app, &err);
    } else if (!is_whole) {
        cf_app_say(app, CF_STYLE_OK, "kept; other calls of this reply wait");
    } else {
        cf_app_say(app, CF_STYLE_OK, "sent; the model goes on (1 shows it)");
    }
    json_decref(list);
}

static void cmd_result(cf_app *app, const char *arg)
{
    if (arg[0] == '\0') {
        ask(app, "result ");
        return;
    }
    answer(app, cf_str_from(arg));
}

/* "NAME=TEXT" keeps a mock; alone it sends the one of this call's tool. */
static void cmd_mock(cf_app *app, const char *arg)
{
    tools_view *s = state(app);
    const cf_call_row *row = current(app);
    const char *eq = strchr(arg, '=');
    char name[256] = "";
    if (row != NULL) {
        cf_str called = name_of(app, row);
        snprintf(name, sizeof name, "%.*s",
                 (int)(called.n < 255 ? called.n : 255), called.p);
    }
    if (arg[0] != '\0' && (eq == NULL || eq == arg || eq - arg > 255)) {
        cf_app_say(app, CF_STYLE_ERROR, "a mock is written NAME=RESULT");
        return;
    }
    if (arg[0] != '\0') {
        char key[256];
        snprintf(key, sizeof key, "%.*s", (int)(eq - arg), arg);
        if (json_object_set_new(s->mocks, key, json_string(eq + 1)) != 0) {
            cf_app_say(app, CF_STYLE_ERROR, "the mock is not UTF-8");
            return;
        }
        if (row == NULL || strcmp(key, name) != 0 || row->result != SIZE_MAX) {
            cf_app_say(app, CF_STYLE_OK, "kept; m sends it for a call of %s",
                       key);
            return;
        }
    }
    const char *text = json_string_value(json_object_get(s->mocks, name));
    if (text == NULL) {
        char start[300];
        snprintf(start, sizeof start, "mock %s=", name);
        ask(app, start);
        return;
    }
    answer(app, cf_str_from(text));
}

static void cmd_retry(cf_app *app, const char *arg)
{
    (void)arg;
    const cf_call_row *row = current(app);
    const cf_turn *turn = row != NULL ? turn_of(app, row) : NULL;
    cf_error err;
    if (turn != NULL && cf_bench_retry(app->bench, turn->id, &err) != CF_OK) {
        cf_app_error(app, &err);
    }
}

/* A reply that begins as this one did, with the broken block mended. */
static void cmd_fix(cf_app *app, const char *arg)
{
    (void)arg;
    const cf_tool_model *m = model(app);
    const cf_call_row *row = current(app);
    const cf_turn *turn = row != NULL ? turn_of(app, row) : NULL;
    const cf_tool_segment *s =
        turn != NULL ? cf_tool_model_segment(m, row) : NULL;
    if (s == NULL || s->kind != CF_TOOL_SEG_FAILED || s->repair.n == 0) {
        cf_app_say(app, CF_STYLE_WARNING, "no fix is offered for this call");
        return;
    }
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    cf_buf_add(&text, turn->raw.p, m->reply[row->reply].skip + s->off);
    cf_buf_add(&text, s->repair.p, s->repair.n);
    cf_status st = cf_buf_check(&text, &err);
    if (st == CF_OK) {
        st = cf_bench_continue(app->bench, turn->id,
                               cf_str_make(text.p, text.n), &err);
    }
    cf_buf_deinit(&text);
    if (st != CF_OK) {
        cf_app_error(app, &err);
    }
}

/* %(tool), %(arguments) and %(result) of the call under the cursor. */
static bool tools_value(cf_app *app, const char *name, cf_buf *out)
{
    const cf_call_row *row = current(app);
    const cf_tool_call *call =
        row != NULL ? cf_tool_model_call(model(app), row) : NULL;
    size_t n;
    const cf_turn *const *path = cf_bench_path(app->bench, &n);
    if (row != NULL && strcmp(name, "result") == 0 && row->result < n) {
        cf_bench_message_text(out, path[row->result]->message);
        return true;
    }
    if (call == NULL) {
        return false;
    }
    bool is_name = strcmp(name, "tool") == 0;
    if (is_name || strcmp(name, "arguments") == 0) {
        cf_str text = is_name ? call->name : call->arguments;
        cf_buf_add(out, text.p, text.n);
        return true;
    }
    return false;
}

static void cmd_yank(cf_app *app, const char *arg)
{
    (void)arg;
    const cf_call_row *row = current(app);
    if (row == NULL) {
        return;
    }
    const cf_tool_model *m = model(app);
    const cf_tool_segment *s = cf_tool_model_segment(m, row);
    cf_str text =
        cf_str_make(m->reply[row->reply].parse->raw.p + s->off, s->len);
    cf_app_copy(app, text);
}

#define HERE CF_IN(CF_VIEW_TOOLS)

static const cf_command tools_commands[] = {
    {"next-stage", HERE, "<Tab> l <Right>", "", "next stage", cmd_next_stage},
    {"previous-stage", HERE, "<S-Tab> h <Left>", "", "stage before",
     cmd_previous_stage},
    {"zoom", HERE, "<Enter>", "", "this stage alone, or all", cmd_zoom},
    {"scroll-down", HERE, "J", "", "scroll the stage down", cmd_scroll_down},
    {"scroll-up", HERE, "K", "", "scroll the stage up", cmd_scroll_up},
    {"result", HERE, "I", "TEXT", "answer the call by hand; the model goes on",
     cmd_result},
    {"mock", HERE, "m", "[NAME=TEXT]",
     "answer with the mock of this tool, or make one", cmd_mock},
    {"retry", HERE, "R", "", "another reply, as a sibling", cmd_retry},
    {"fix", HERE, "F", "", "a sibling reply with the offered fix", cmd_fix},
    {"yank", HERE, "yy", "", "copy the raw call", cmd_yank},
    CF_MOVE_ROWS(tools, HERE),
    {NULL, 0, NULL, NULL, NULL, NULL},
};

const cf_view_ops cf_view_tools = {
    .name = "tools",
    .title = "Tools",
    .commands = tools_commands,
    .footer = "next-stage zoom result mock fix retry yank scroll-down help",
    .open = tools_open,
    .close = tools_close,
    .enter = tools_enter,
    .draw = tools_draw,
    .status = tools_status,
    .value = tools_value,
};
