/*
 * xchg_markdown_in.c - reads the Markdown of xchg_markdown.c exactly: turns
 * with their UUIDs, reasoning, calls, results, pictures.  Any other Markdown is
 * for xchg_markdown_chat.c.
 */
#include <string.h>

#include "core/base/os.h"
#include "core/base/utf8.h"
#include "storage/db/store_message.h"
#include "storage/exchange/xchg_markdown.h"
#include "storage/exchange/xchg_media.h"

bool cf_md__needs_escape(cf_str line)
{
    size_t i = 0;
    while (i < line.n && line.p[i] == '\\') {
        i++;
    }
    cf_str rest = cf_md__cut(line, i, 0);
    return cf_str_begins(rest, "<!-- ") || cf_str_begins(rest, "uuid: ");
}

static bool has_mark(cf_str line)
{
    return cf_str_begins(line, "<!-- ") && cf_str_ends(line, " -->") && line.n >= 10;
}

/* "<!-- WORD ... -->"; *fields, which the caller decrefs, is the object after
 * the word, or NULL. */
static bool is_mark(cf_str line, cf_str *word, json_t **fields, bool *failed)
{
    *fields = NULL;
    if (!has_mark(line)) {
        return false;
    }
    cf_str in = cf_md__cut(line, 5, 4);
    const char *blank = memchr(in.p, ' ', in.n);
    *word = cf_str_make(in.p, blank != NULL ? (size_t)(blank - in.p) : in.n);
    if (blank != NULL) {
        *fields = cf_xchg__parse(cf_str_make(blank + 1, in.n - word->n - 1), failed);
    }
    return true;
}

static bool is_turn_mark(cf_str line, cf_uuid *id)
{
    return line.n == CF_UUID_TEXT + 9 && cf_str_begins(line, "<!-- ") &&
           cf_uuid_parse(id, line.p + 5, CF_UUID_TEXT);
}

/* A heading, a blank line, a comment with a UUID. */
static bool is_turn(const cf_md *at, cf_str line)
{
    cf_md m = *at;
    cf_str next;
    cf_uuid id;
    return cf_str_begins(line, "## ") && cf_md__next_line(&m, &next) && next.n == 0 &&
           cf_md__next_line(&m, &next) && is_turn_mark(next, &id);
}

static bool is_front(const cf_md *at, cf_str line)
{
    return cf_str_is(line, "---") && cf_str_begins(cf_md__peek_line(at), "uuid: ");
}

/* Whether `line`, after which `at` is, begins another segment, turn or conversation. */
static bool is_own(const cf_md *at, cf_str line)
{
    return has_mark(line) || is_turn(at, line) || is_front(at, line);
}

/* The next line that is not blank; an empty one where a line of ours comes first. */
static cf_str take_line(cf_md *m)
{
    cf_str line;
    for (cf_md before = *m; cf_md__next_line(m, &line); before = *m) {
        if (is_own(m, line)) {
            *m = before;
            return cf_str_make("", 0);
        }
        if (line.n != 0) {
            break;
        }
    }
    return line;
}

/* Text up to the next line of ours, without the blank line before it. */
static json_t *take_text(cf_md *m)
{
    cf_buf b = CF_BUF_INIT;
    cf_str line;
    for (cf_md before = *m; cf_md__next_line(m, &line); before = *m) {
        if (is_own(m, line)) {
            *m = before;
            break;
        }
        if (cf_str_begins(line, "\\") && cf_md__needs_escape(line)) {
            line = cf_md__cut(line, 1, 0);
        }
        cf_buf_add(&b, line.p, line.n);
        cf_buf_addc(&b, '\n');
    }
    for (int i = 0; i < 2 && b.n != 0 && b.p[b.n - 1] == '\n'; i++) {
        b.n--;
    }
    json_t *v = cf_json_buf(&b);
    cf_buf_deinit(&b);
    return v;
}

/* Skips to the next fence and reads what is in it; *info is what follows the
 * opening marks.  An empty text where a line of ours comes first. */
static json_t *take_fence(cf_md *m, cf_str *info)
{
    cf_str line;
    cf_buf b = CF_BUF_INIT;
    size_t ticks = 0;
    for (cf_md before = *m; ticks == 0 && cf_md__next_line(m, &line); before = *m) {
        if (is_own(m, line)) {
            *m = before;
            break;
        }
        while (ticks < line.n && line.p[ticks] == '`') {
            ticks++;
        }
        ticks = ticks < 3 ? 0 : ticks;
    }
    *info = ticks != 0 ? cf_md__cut(line, ticks, 0) : line;
    while (ticks != 0 && cf_md__next_line(m, &line)) {
        size_t n = 0;
        while (n < line.n && line.p[n] == '`') {
            n++;
        }
        if (n == ticks && line.n == n) {
            break;
        }
        cf_buf_add(&b, line.p, line.n);
        cf_buf_addc(&b, '\n');
    }
    b.n -= b.n != 0;
    json_t *v = cf_json_buf(&b);
    cf_buf_deinit(&b);
    return v;
}

/* The blank line after what was read. */
static void skip_blank(cf_md *m)
{
    while (m->at < m->text.n && cf_md__peek_line(m).n == 0) {
        cf_str line;
        (void)cf_md__next_line(m, &line);
    }
}

static json_t *take_json(cf_md *m, cf_str *info, bool *failed)
{
    json_t *text = take_fence(m, info);
    json_t *v = cf_str_is(*info, "json") ? cf_xchg__parse(cf_xchg__str(text), failed) : NULL;
    if (v == NULL) {
        return text;
    }
    json_decref(text);
    return v;
}

/* "Call of NAME:", then the arguments. */
static json_t *take_call(cf_md *m, const json_t *fields)
{
    cf_str line = take_line(m), info;
    cf_str name = cf_str_begins(line, "Call of ") && cf_str_ends(line, ":") ? cf_md__cut(line, 8, 1)
                                                                            : cf_str_make("", 0);
    cf_jb b = CF_JB_INIT;
    json_t *args = take_json(m, &info, &b.failed);
    cf_jb_take(&b, NULL, json_is_object(fields) ? cf_json_copy(fields) : json_object());
    cf_jb_set(&b, b.root, "function",
              json_pack("{s:o,s:o}", "name", cf_json_str(name), "arguments", args));
    return cf_jb_done(&b);
}

/* ![NAME](URL) */
static json_t *take_link(cf_md *m, const char *kind)
{
    cf_str line = take_line(m);
    const char *open = line.n != 0 ? memchr(line.p, '[', line.n) : NULL;
    size_t from = open != NULL ? (size_t)(open - line.p) + 1 : line.n;
    size_t mid = from;
    while (mid + 1 < line.n && memcmp(line.p + mid, "](", 2) != 0) {
        mid++;
    }
    if (mid + 3 > line.n || line.p[line.n - 1] != ')') {
        return json_pack("{s:s,s:s%}", "type", "text", "text", line.p, line.n);
    }
    return cf_xmedia__part(kind, cf_str_make(line.p + mid + 2, line.n - mid - 3),
                           cf_str_make(line.p + from, mid - from));
}

typedef struct own_turn {
    json_t *m; /* the message */
    json_t *parts, *calls;
    json_t *note;
    bool has_parts;
    cf_jb tree; /* changes the three above; failed: memory ran out */
} own_turn;

static json_t *take_note(cf_md *in)
{
    cf_str line = take_line(in);
    return cf_json_str(cf_str_begins(line, "> ") ? cf_md__cut(line, 2, 0) : line);
}

/* Reads the segment that one of our comments announces. */
static void take_segment(cf_md *in, own_turn *t, cf_str word, const json_t *fields)
{
    static const char *const kinds[] = {"image", "audio", "video", "file"};
    cf_str info;
    const char *key;
    json_t *v;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (cf_str_is(word, kinds[i])) {
            t->has_parts = true;
            cf_jb_append(&t->tree, t->parts, take_link(in, kinds[i]));
        }
    }
    if (cf_str_is(word, "fields")) {
        json_object_foreach(cf_json_ref(fields), key, v)
        {
            cf_jb_set(&t->tree, t->m, key, json_incref(v));
        }
    } else if (cf_str_is(word, "reasoning")) {
        cf_jb_set(&t->tree, t->m, "reasoning_content", take_fence(in, &info));
    } else if (cf_str_is(word, "call")) {
        cf_jb_append(&t->tree, t->calls, take_call(in, fields));
    } else if (cf_str_is(word, "result")) {
        cf_jb_set(&t->tree, t->m, "content", take_fence(in, &info));
    } else if (cf_str_is(word, "text")) {
        if (cf_md__peek_line(in).n == 0) {
            cf_str blank;
            (void)cf_md__next_line(in, &blank);
        }
        t->has_parts = true;
        cf_jb_append(&t->tree, t->parts,
                     json_pack("{s:s,s:o}", "type", "text", "text", take_text(in)));
    } else if (cf_str_is(word, "part")) {
        t->has_parts = true;
        cf_jb_append(&t->tree, t->parts, take_json(in, &info, &t->tree.failed));
    } else if (cf_str_is(word, "raw")) {
        json_decref(take_fence(in, &info));
    } else if (cf_str_is(word, "note")) {
        json_decref(t->note);
        t->note = take_note(in);
        t->tree.failed = t->tree.failed || t->note == NULL;
    }
}

/* The segments of a turn, up to the next turn. */
static void take_turn(cf_md *in, own_turn *t)
{
    cf_str line, word;
    json_t *fields;
    while (!t->tree.failed) {
        cf_md before = *in;
        if (!cf_md__next_line(in, &line)) {
            break;
        }
        if (is_turn(in, line) || is_front(in, line)) {
            *in = before;
            break;
        }
        if (is_mark(line, &word, &fields, &t->tree.failed)) {
            cf_str blank;
            if (cf_md__peek_line(in).n == 0 && !cf_str_is(word, "text")) {
                (void)cf_md__next_line(in, &blank);
            }
            take_segment(in, t, word, fields);
            json_decref(fields);
            if (!cf_str_is(word, "text") && !cf_str_is(word, "fields")) {
                skip_blank(in);
            }
            continue;
        }
        *in = before;
        cf_jb_set(&t->tree, t->m, "content", take_text(in));
    }
    bool has_calls = json_array_size(t->calls) != 0;
    if (t->has_parts) {
        cf_jb_set(&t->tree, t->m, "content", json_incref(t->parts));
    }
    if (has_calls) {
        cf_jb_set(&t->tree, t->m, "tool_calls", json_incref(t->calls));
    }
    if (json_object_get(t->m, "content") == NULL) {
        cf_jb_set(&t->tree, t->m, "content", has_calls ? json_null() : json_string(""));
    }
}

/* "## 3 assistant (stopped)": the role and the status. */
static cf_str role_of(cf_str heading, cf_turn_status *status)
{
    cf_str s = cf_str_trim(cf_md__cut(heading, 3, 0));
    const char *blank = memchr(s.p, ' ', s.n);
    if (blank != NULL && s.p[0] >= '0' && s.p[0] <= '9') {
        s = cf_md__cut(s, (size_t)(blank - s.p) + 1, 0);
    }
    *status = CF_TURN_IMPORTED;
    size_t open = s.n;
    while (open > 0 && s.p[open - 1] != '(') {
        open--;
    }
    if (open > 1 && cf_str_ends(s, ")") && cf_turn_status_parse(status, cf_md__cut(s, open, 1))) {
        s.n = open - 2;
    }
    if (*status == CF_TURN_STREAMING) {
        *status = CF_TURN_INTERRUPTED;
    }
    return s;
}

static cf_status read_turn(cf_import *im, cf_md *in, cf_str heading, cf_error *err)
{
    cf_str line;
    cf_uuid id = {{0}};
    cf_turn_status status;
    (void)cf_md__next_line(in, &line);
    (void)cf_md__next_line(in, &line);
    (void)is_turn_mark(line, &id);
    (void)cf_md__next_line(in, &line);
    cf_str role = role_of(heading, &status);
    own_turn t = {.m = json_pack("{s:s%}", "role", role.p, role.n),
                  .parts = json_array(),
                  .calls = json_array()};
    cf_store_turn *turn = NULL;
    take_turn(in, &t);
    cf_status st = cf_jb_check(&t.tree, err);
    CF_THEN(st, cf_build__say(im->cur, json_incref(t.m), &turn, err));
    if (st == CF_OK) {
        turn->id = id;
        turn->status = status;
        turn->note = cf_build__str(im->cur, cf_xchg__str(t.note));
    }
    json_decref(t.m);
    json_decref(t.parts);
    json_decref(t.calls);
    json_decref(t.note);
    return st;
}

/* One line of the front matter: values are JSON, but for numbers. */
static cf_status take_field(cf_import *im, cf_store_run *run, cf_str line, cf_error *err)
{
    cf_build *b = im->cur;
    const char *colon = memchr(line.p, ':', line.n);
    if (colon == NULL) {
        return CF_OK;
    }
    cf_str key = cf_str_make(line.p, (size_t)(colon - line.p));
    cf_str value = cf_str_trim(cf_md__cut(line, key.n + 1, 0));
    json_t *v = cf_xchg__parse(value, &b->arena.failed);
    if (v == NULL) {
        return b->arena.failed ? cf_sql__oom(err) : CF_OK;
    }
    cf_str s = cf_xchg__str(v);
    cf_str kept = cf_build__str(b, s);
    if (cf_str_is(key, "uuid")) {
        (void)cf_uuid_parse(&b->conv.id, s.p != NULL ? s.p : "", s.n);
    } else if (cf_str_is(key, "title")) {
        b->conv.title = kept;
    } else if (cf_str_is(key, "created")) {
        (void)(kept.n != 0 && cf_os_parse_time(&b->conv.created_ms, kept.p));
    } else if (cf_str_is(key, "model")) {
        run->model = kept;
    } else if (cf_str_is(key, "model_hash")) {
        run->model_hash = kept;
    } else if (cf_str_is(key, "options") && json_is_object(v)) {
        run->options = cf_build__str(b, value);
    } else if (cf_str_is(key, "seed") && json_is_integer(v)) {
        run->seed = (uint64_t)json_integer_value(v);
        run->has_seed = true;
    } else if (cf_str_is(key, "tags") && json_array_size(v) != 0) {
        cf_str *tags = cf_arena_calloc(&b->arena, json_array_size(v), sizeof *tags);
        for (size_t i = 0; tags != NULL && i < json_array_size(v); i++) {
            cf_str tag = cf_xchg__str(json_array_get(v, i));
            if (tag.n != 0) {
                tags[b->conv.n_tags++] = cf_build__str(b, tag);
            }
        }
        b->conv.tags = tags;
    }
    json_decref(v);
    return b->arena.failed ? cf_sql__oom(err) : CF_OK;
}

/* The run in the front matter belongs to the last reply. */
static void place_run(cf_build *b, const cf_store_run *run)
{
    bool has_any = run->model.n != 0 || run->options.n != 0 || run->has_seed;
    for (size_t i = b->n; has_any && i > 0; i--) {
        cf_store_turn *t = &b->turns[i - 1];
        if (strstr(t->message.p, "\"role\":\"assistant\"") != NULL) {
            t->run = run;
            return;
        }
    }
}

/* One branch, from its front matter to the next one. */
static cf_status read_branch(cf_import *im, cf_md *in, cf_error *err)
{
    cf_str line;
    CF_TRY(cf_build__begin(im, in->line, err));
    im->cur->conv.source = cf_build__source(im, cf_str_make(NULL, 0));
    cf_store_run *run = cf_arena_calloc(&im->cur->arena, 1, sizeof *run);
    if (run == NULL) {
        return cf_sql__oom(err);
    }
    *run = cf_store_run_none();
    while (cf_md__next_line(in, &line) && !cf_str_is(line, "---")) {
        CF_TRY(take_field(im, run, line, err));
    }
    for (;;) {
        cf_md before = *in;
        if (!cf_md__next_line(in, &line)) {
            break;
        }
        if (is_front(in, line)) {
            *in = before;
            break;
        }
        if (is_turn(in, line)) {
            CF_TRY(read_turn(im, in, line, err));
        }
    }
    place_run(im->cur, run);
    if (im->cur->n == 0) {
        cf_build__drop(im);
        return CF_OK;
    }
    CF_TRY(cf_build__unique(im->cur, err));
    CF_TRY(cf_import__emit(im, err));
    /* The next branch may be one of the same conversation. */
    return cf_import__flush(im, err);
}

static cf_status read_own(cf_import *im, cf_md *in, size_t *n, cf_error *err)
{
    cf_str line;
    while (cf_md__next_line(in, &line)) {
        if (is_front(in, line)) {
            CF_TRY(read_branch(im, in, err));
            ++*n;
        }
    }
    return CF_OK;
}

static cf_status read_text(cf_import *im, cf_str text, uint64_t line, size_t *n, cf_error *err)
{
    cf_md in = {text, 0, line};
    *n = 0;
    CF_TRY(read_own(im, &in, n, err));
    if (*n != 0) {
        return CF_OK;
    }
    in = (cf_md){text, 0, line};
    return cf_md__read_chat(im, &in, n, err);
}

static cf_status read_markdown(cf_import *im, cf_str text, uint64_t line, size_t *n, cf_error *err)
{
    if (text.n == 0 || cf_utf8_valid_prefix(text.p, text.n) == text.n) {
        return read_text(im, text, line, n, err);
    }
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_str whole = cf_sql__repaired(text.p, text.n, &arena);
    cf_status st = arena.failed ? cf_sql__oom(err) : read_text(im, whole, line, n, err);
    CF_THEN(st, cf_import__flush(im, err)); /* nothing refers to the copy */
    cf_arena_deinit(&arena);
    return st;
}

const cf_xchg_format cf_xchg_markdown = {
    .name = "markdown", .text = read_markdown, .write_branch = cf_md__write, .keeps_tree = true};
