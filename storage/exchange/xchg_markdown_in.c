/*
 * xchg_markdown_in.c - conversations out of Markdown.
 *
 * confab's own (xchg_markdown.c) is read exactly: turns with their UUIDs,
 * reasoning, calls, results, pictures.  Anything else is read as people keep
 * chats: a heading, a bold name or "Name:" at the start of a line names the
 * speaker of what follows.  The first such line decides which of the three a
 * file uses; both a user and a model must speak.
 */
#include <string.h>

#include "core/base/os.h"
#include "storage/db/store_message.h"
#include "storage/exchange/xchg_markdown.h"
#include "storage/exchange/xchg_media.h"

typedef struct md {
    cf_str text;
    size_t at;
    uint64_t line;
} md;

static bool begins(cf_str s, const char *with)
{
    size_t n = strlen(with);
    return s.n >= n && memcmp(s.p, with, n) == 0;
}

static bool ends(cf_str s, const char *with)
{
    size_t n = strlen(with);
    return s.n >= n && memcmp(s.p + s.n - n, with, n) == 0;
}

static cf_str cut(cf_str s, size_t front, size_t back)
{
    return cf_str_make(s.p + front, s.n - front - back);
}

static cf_str trim(cf_str s)
{
    while (s.n != 0 && strchr(" \t\r\n", s.p[0]) != NULL) {
        s = cut(s, 1, 0);
    }
    while (s.n != 0 && strchr(" \t\r\n", s.p[s.n - 1]) != NULL) {
        s.n--;
    }
    return s;
}

/* The next line without its end; false at the end of the text. */
static bool next_line(md *m, cf_str *line)
{
    if (m->at >= m->text.n) {
        return false;
    }
    const char *from = m->text.p + m->at;
    const char *end = memchr(from, '\n', m->text.n - m->at);
    size_t n = end != NULL ? (size_t)(end - from) : m->text.n - m->at;
    m->at += n + (end != NULL);
    m->line++;
    *line = cf_str_make(from, n);
    if (n != 0 && from[n - 1] == '\r') {
        line->n--;
    }
    return true;
}

static cf_str peek_line(const md *m)
{
    md copy = *m;
    cf_str line = {NULL, 0};
    (void)next_line(&copy, &line);
    return line;
}

bool cf_md__needs_escape(cf_str line)
{
    size_t i = 0;
    while (i < line.n && line.p[i] == '\\') {
        i++;
    }
    cf_str rest = cut(line, i, 0);
    return begins(rest, "<!-- ") || begins(rest, "uuid: ");
}

/* ---- confab's own ------------------------------------------------------- */

/* "<!-- WORD ... -->"; *fields, which the caller decrefs, is the object after
 * the word, or NULL. */
static bool is_mark(cf_str line, cf_str *word, json_t **fields)
{
    cf_error ignored;
    *fields = NULL;
    if (!begins(line, "<!-- ") || !ends(line, " -->") || line.n < 10) {
        return false;
    }
    cf_str in = cut(line, 5, 4);
    const char *blank = memchr(in.p, ' ', in.n);
    *word = cf_str_make(in.p, blank != NULL ? (size_t)(blank - in.p) : in.n);
    if (blank != NULL && cf_json_read(fields, blank + 1, in.n - word->n - 1,
                                      &ignored) != CF_OK) {
        *fields = NULL;
    }
    return true;
}

static bool is_turn_mark(cf_str line, cf_uuid *id)
{
    return line.n == CF_UUID_TEXT + 9 && begins(line, "<!-- ") &&
           cf_uuid_parse(id, line.p + 5, CF_UUID_TEXT);
}

/* A heading, a blank line, a comment with a UUID. */
static bool is_turn(const md *at, cf_str line)
{
    md m = *at;
    cf_str next;
    cf_uuid id;
    return begins(line, "## ") && next_line(&m, &next) && next.n == 0 &&
           next_line(&m, &next) && is_turn_mark(next, &id);
}

static bool is_front(const md *at, cf_str line)
{
    return cf_str_is(line, "---") && begins(peek_line(at), "uuid: ");
}

/* Text up to the next line of ours, without the blank line before it. */
static json_t *take_text(md *m)
{
    cf_buf b = CF_BUF_INIT;
    cf_str line;
    for (;;) {
        md before = *m;
        if (!next_line(m, &line)) {
            break;
        }
        if (begins(line, "<!-- ") || is_turn(m, line) || is_front(m, line)) {
            *m = before;
            break;
        }
        if (begins(line, "\\") && cf_md__needs_escape(line)) {
            line = cut(line, 1, 0);
        }
        cf_buf_add(&b, line.p, line.n);
        cf_buf_addc(&b, '\n');
    }
    for (int i = 0; i < 2 && b.n != 0 && b.p[b.n - 1] == '\n'; i++) {
        b.n--;
    }
    json_t *v = b.failed ? NULL : json_stringn(b.n != 0 ? b.p : "", b.n);
    cf_buf_deinit(&b);
    return v;
}

/* Skips to the next fence and reads what is in it; *info is what follows the
 * opening marks. */
static json_t *take_fence(md *m, cf_str *info)
{
    cf_str line = {NULL, 0};
    cf_buf b = CF_BUF_INIT;
    size_t ticks = 0;
    *info = line;
    while (ticks == 0 && next_line(m, &line)) {
        while (ticks < line.n && line.p[ticks] == '`') {
            ticks++;
        }
        if (ticks < 3 && (begins(line, "<!-- ") || is_turn(m, line))) {
            break;
        }
        ticks = ticks < 3 ? 0 : ticks;
    }
    *info = ticks != 0 ? cut(line, ticks, 0) : line;
    while (ticks != 0 && next_line(m, &line)) {
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
    json_t *v = b.failed ? NULL : json_stringn(b.n != 0 ? b.p : "", b.n);
    cf_buf_deinit(&b);
    return v;
}

/* The blank line after what was read. */
static void skip_blank(md *m)
{
    while (m->at < m->text.n && peek_line(m).n == 0) {
        cf_str line;
        (void)next_line(m, &line);
    }
}

static json_t *take_json(md *m, cf_str *info)
{
    json_t *text = take_fence(m, info);
    json_t *v = NULL;
    cf_error ignored;
    cf_str s = cf_xchg__str(text);
    if (!cf_str_is(*info, "json") ||
        cf_json_read(&v, s.p != NULL ? s.p : "", s.n, &ignored) != CF_OK) {
        return text;
    }
    json_decref(text);
    return v;
}

/* "Call of NAME:", then the arguments. */
static json_t *take_call(md *m, json_t *fields)
{
    cf_str line = {NULL, 0}, info;
    while (next_line(m, &line) && line.n == 0) {
    }
    cf_str name = begins(line, "Call of ") && ends(line, ":")
                      ? cut(line, 8, 1)
                      : cf_str_make("", 0);
    json_t *args = take_json(m, &info);
    json_t *call = json_is_object(fields) ? json_copy(fields) : json_object();
    json_t *f = json_pack("{s:o,s:o}", "name", json_stringn(name.p, name.n),
                          "arguments", args);
    if (call == NULL || f == NULL ||
        json_object_set_new(call, "function", f) != 0) {
        json_decref(call);
        return NULL;
    }
    return call;
}

/* ![NAME](URL) */
static json_t *take_link(md *m, const char *kind)
{
    cf_str line = {NULL, 0};
    while (next_line(m, &line) && line.n == 0) {
    }
    const char *open = line.n != 0 ? memchr(line.p, '[', line.n) : NULL;
    size_t from = open != NULL ? (size_t)(open - line.p) + 1 : line.n;
    size_t mid = from;
    while (mid + 1 < line.n && memcmp(line.p + mid, "](", 2) != 0) {
        mid++;
    }
    if (mid + 3 > line.n || line.p[line.n - 1] != ')') {
        return json_pack("{s:s,s:s%}", "type", "text", "text",
                         line.p != NULL ? line.p : "", line.n);
    }
    return cf_xmedia__part(kind,
                           cf_str_make(line.p + mid + 2, line.n - mid - 3),
                           cf_str_make(line.p + from, mid - from));
}

typedef struct own_turn {
    json_t *m; /* the message */
    json_t *parts, *calls;
    json_t *note;
    bool has_parts;
} own_turn;

/* What one comment of ours announces. */
static bool take_segment(md *in, own_turn *t, cf_str word, json_t *fields)
{
    static const char *const kinds[] = {"image", "audio", "video", "file"};
    cf_str info;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (cf_str_is(word, kinds[i])) {
            t->has_parts = true;
            return json_array_append_new(t->parts, take_link(in, kinds[i])) ==
                   0;
        }
    }
    if (cf_str_is(word, "fields")) {
        return fields == NULL || json_object_update(t->m, fields) == 0;
    }
    if (cf_str_is(word, "reasoning")) {
        return json_object_set_new(t->m, "reasoning_content",
                                   take_fence(in, &info)) == 0;
    }
    if (cf_str_is(word, "call")) {
        return json_array_append_new(t->calls, take_call(in, fields)) == 0;
    }
    if (cf_str_is(word, "result")) {
        return json_object_set_new(t->m, "content", take_fence(in, &info)) == 0;
    }
    if (cf_str_is(word, "text") || cf_str_is(word, "part")) {
        bool is_text = cf_str_is(word, "text");
        if (is_text && peek_line(in).n == 0) {
            cf_str blank;
            (void)next_line(in, &blank);
        }
        json_t *part = is_text ? json_pack("{s:s,s:o}", "type", "text", "text",
                                           take_text(in))
                               : take_json(in, &info);
        t->has_parts = true;
        return json_array_append_new(t->parts, part) == 0;
    }
    if (cf_str_is(word, "raw")) {
        json_decref(take_fence(in, &info));
    }
    if (cf_str_is(word, "note")) {
        cf_str line = {NULL, 0};
        while (next_line(in, &line) && line.n == 0) {
        }
        line = begins(line, "> ") ? cut(line, 2, 0) : line;
        t->note = json_stringn(line.p != NULL ? line.p : "", line.n);
    }
    return true;
}

/* The segments of a turn, up to the next turn. */
static bool take_turn(md *in, own_turn *t)
{
    bool ok = true;
    cf_str line, word;
    json_t *fields;
    while (ok) {
        md before = *in;
        if (!next_line(in, &line)) {
            break;
        }
        if (is_turn(in, line) || is_front(in, line)) {
            *in = before;
            break;
        }
        if (is_mark(line, &word, &fields)) {
            cf_str blank;
            if (peek_line(in).n == 0 && !cf_str_is(word, "text")) {
                (void)next_line(in, &blank);
            }
            ok = take_segment(in, t, word, fields);
            json_decref(fields);
            if (!cf_str_is(word, "text") && !cf_str_is(word, "fields")) {
                skip_blank(in);
            }
            continue;
        }
        *in = before;
        ok = json_object_set_new(t->m, "content", take_text(in)) == 0;
    }
    if (ok && t->has_parts) {
        ok = json_object_set(t->m, "content", t->parts) == 0;
    }
    if (ok && json_array_size(t->calls) != 0) {
        ok = json_object_set(t->m, "tool_calls", t->calls) == 0;
    }
    if (ok && json_object_get(t->m, "content") == NULL) {
        ok = json_object_set_new(t->m, "content",
                                 json_array_size(t->calls) != 0
                                     ? json_null()
                                     : json_string("")) == 0;
    }
    return ok;
}

/* "## 3 assistant (stopped)": the role and the status. */
static cf_str role_of(cf_str heading, cf_turn_status *status)
{
    cf_str s = trim(cut(heading, 3, 0));
    const char *blank = memchr(s.p, ' ', s.n);
    if (blank != NULL && s.p[0] >= '0' && s.p[0] <= '9') {
        s = cut(s, (size_t)(blank - s.p) + 1, 0);
    }
    *status = CF_TURN_IMPORTED;
    size_t open = s.n;
    while (open > 0 && s.p[open - 1] != '(') {
        open--;
    }
    if (open > 1 && ends(s, ")") &&
        cf_turn_status_parse(status, cut(s, open, 1))) {
        s.n = open - 2;
    }
    if (*status == CF_TURN_STREAMING) {
        *status = CF_TURN_INTERRUPTED;
    }
    return s;
}

static cf_status read_turn(cf_import *im, md *in, cf_str heading, cf_error *err)
{
    cf_str line;
    cf_uuid id = {{0}};
    cf_turn_status status;
    (void)next_line(in, &line);
    (void)next_line(in, &line);
    (void)is_turn_mark(line, &id);
    (void)next_line(in, &line);
    cf_str role = role_of(heading, &status);
    own_turn t = {json_pack("{s:s%}", "role", role.p, role.n), json_array(),
                  json_array(), NULL, false};
    cf_store_turn *turn = NULL;
    bool ok =
        t.m != NULL && t.parts != NULL && t.calls != NULL && take_turn(in, &t);
    cf_status st = ok ? cf_build__say(im->cur, json_incref(t.m), &turn, err)
                      : cf_sql__oom(err);
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
static cf_status take_field(cf_import *im, cf_store_run *run, cf_str line,
                            cf_error *err)
{
    cf_build *b = im->cur;
    const char *colon = memchr(line.p, ':', line.n);
    if (colon == NULL) {
        return CF_OK;
    }
    cf_str key = cf_str_make(line.p, (size_t)(colon - line.p));
    cf_str value = trim(cut(line, key.n + 1, 0));
    json_t *v;
    cf_error ignored;
    if (cf_json_read(&v, value.p, value.n, &ignored) != CF_OK) {
        return CF_OK;
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
        cf_str *tags =
            cf_arena_calloc(&b->arena, json_array_size(v), sizeof *tags);
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

/* The run that the front matter tells of is that of the last reply. */
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
static cf_status read_branch(cf_import *im, md *in, cf_error *err)
{
    cf_str line;
    CF_TRY(cf_build__begin(im, in->line, err));
    im->cur->conv.source = cf_build__source(im, cf_str_make(NULL, 0));
    cf_store_run *run = cf_arena_calloc(&im->cur->arena, 1, sizeof *run);
    if (run == NULL) {
        return cf_sql__oom(err);
    }
    *run = cf_store_run_none();
    while (next_line(in, &line) && !cf_str_is(line, "---")) {
        CF_TRY(take_field(im, run, line, err));
    }
    for (;;) {
        md before = *in;
        if (!next_line(in, &line)) {
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

static cf_status read_own(cf_import *im, md *in, size_t *n, cf_error *err)
{
    cf_str line;
    while (next_line(in, &line)) {
        if (is_front(in, line)) {
            CF_TRY(read_branch(im, in, err));
            ++*n;
        }
    }
    return CF_OK;
}

/* ---- chats of any origin ------------------------------------------------ */

typedef enum style { STYLE_NONE, STYLE_HEADING, STYLE_BOLD, STYLE_PLAIN } style;

static const struct {
    const char *word, *role;
    bool is_plain; /* safe enough for "Word:" in running text */
} speakers[] = {
    {"user", "user", true},
    {"human", "user", true},
    {"you", "user", true},
    {"me", "user", false},
    {"prompt", "user", false},
    {"question", "user", false},
    {"assistant", "assistant", true},
    {"ai", "assistant", true},
    {"bot", "assistant", true},
    {"model", "assistant", false},
    {"gpt", "assistant", true},
    {"chatgpt", "assistant", true},
    {"claude", "assistant", true},
    {"gemini", "assistant", true},
    {"copilot", "assistant", true},
    {"response", "assistant", false},
    {"answer", "assistant", false},
    {"system", "system", true},
    {"tool", "tool", false},
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_letter(char c)
{
    return lower(c) >= 'a' && lower(c) <= 'z';
}

/* The role that a name stands for: its first word, and after it no words but
 * "said", a version or something in brackets.  NULL: nobody's. */
static const char *speaker_of(cf_str name, bool is_plain)
{
    while (name.n != 0 && !is_letter(name.p[0])) {
        name = cut(name, 1, 0); /* a number, a picture */
    }
    size_t n = 0;
    while (n < name.n && is_letter(name.p[n])) {
        n++;
    }
    cf_str rest = trim(cut(name, n, 0));
    if (begins(rest, "said")) {
        rest = trim(cut(rest, 4, 0));
    }
    if (rest.n > 40 || (rest.n != 0 && is_letter(rest.p[0]))) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof speakers / sizeof speakers[0]; i++) {
        size_t k = 0;
        while (k < n && lower(name.p[k]) == speakers[i].word[k]) {
            k++;
        }
        if (k == n && n != 0 && speakers[i].word[k] == '\0') {
            return is_plain && !speakers[i].is_plain ? NULL : speakers[i].role;
        }
    }
    return NULL;
}

typedef struct said {
    style style;
    size_t level; /* of a heading */
    const char *role;
    cf_str rest; /* of the line: the first words */
} said;

static said heading(cf_str line)
{
    said s = {.style = STYLE_NONE};
    size_t level = 0;
    while (level < line.n && line.p[level] == '#') {
        level++;
    }
    if (level == 0 || level > 6 || level == line.n || line.p[level] != ' ') {
        return s;
    }
    cf_str name = trim(cut(line, level, 0));
    while (name.n != 0 && strchr("*_: ", name.p[name.n - 1]) != NULL) {
        name.n--;
    }
    s.role = speaker_of(name, false);
    s.style = s.role != NULL ? STYLE_HEADING : STYLE_NONE;
    s.level = level;
    return s;
}

/* "**Name:** words", "**Name**: words" or "**Name**" alone. */
static said bold(cf_str line)
{
    said s = {.style = STYLE_NONE};
    size_t end = 2;
    if (!begins(line, "**") && !begins(line, "__")) {
        return s;
    }
    while (end + 1 < line.n && memcmp(line.p + end, line.p, 2) != 0) {
        end++;
    }
    if (end + 1 >= line.n) {
        return s;
    }
    cf_str name = trim(cf_str_make(line.p + 2, end - 2));
    cf_str rest = trim(cut(line, end + 2, 0));
    bool has_colon = ends(name, ":") || begins(rest, ":");
    name.n -= ends(name, ":");
    rest = begins(rest, ":") ? trim(cut(rest, 1, 0)) : rest;
    s.role = has_colon || rest.n == 0 ? speaker_of(name, false) : NULL;
    s.style = s.role != NULL ? STYLE_BOLD : STYLE_NONE;
    s.rest = rest;
    return s;
}

static said plain(cf_str line)
{
    said s = {.style = STYLE_NONE};
    const char *colon = line.n != 0 && is_letter(line.p[0])
                            ? memchr(line.p, ':', line.n < 40 ? line.n : 40)
                            : NULL;
    if (colon == NULL) {
        return s;
    }
    size_t n = (size_t)(colon - line.p);
    s.role = speaker_of(cf_str_make(line.p, n), true);
    s.style = s.role != NULL ? STYLE_PLAIN : STYLE_NONE;
    s.rest = trim(cut(line, n + 1, 0));
    return s;
}

static said who(cf_str line, style want)
{
    said s = want == STYLE_HEADING ? heading(line)
             : want == STYLE_BOLD  ? bold(line)
                                   : plain(line);
    return s;
}

/* Fences hide what looks like a speaker. */
static bool steps_over(cf_str line, bool *in_fence)
{
    cf_str s = trim(line);
    if (begins(s, "```") || begins(s, "~~~")) {
        *in_fence = !*in_fence;
        return true;
    }
    return *in_fence;
}

typedef struct levels {
    size_t user, assistant; /* of their first headings */
} levels;

static bool fits(const said *s, const levels *l)
{
    if (s->style != STYLE_HEADING) {
        return s->style != STYLE_NONE;
    }
    return strcmp(s->role, "user") == 0        ? s->level == l->user
           : strcmp(s->role, "assistant") == 0 ? s->level == l->assistant
                                               : true;
}

/* Where a style first names a speaker; SIZE_MAX unless both speak. */
static size_t first_of(const md *start, style want, levels *l)
{
    md m = *start;
    cf_str line;
    bool in_fence = false;
    size_t first = SIZE_MAX;
    bool has_user = false, has_assistant = false;
    *l = (levels){0, 0};
    for (size_t at = m.at; next_line(&m, &line); at = m.at) {
        if (steps_over(line, &in_fence)) {
            continue;
        }
        said s = who(line, want);
        if (s.style == STYLE_NONE) {
            continue;
        }
        first = first == SIZE_MAX ? at : first;
        if (strcmp(s.role, "user") == 0 && !has_user) {
            has_user = true;
            l->user = s.level;
        } else if (strcmp(s.role, "assistant") == 0 && !has_assistant) {
            has_assistant = true;
            l->assistant = s.level;
        }
    }
    return has_user && has_assistant ? first : SIZE_MAX;
}

static style find_style(const md *in, levels *l)
{
    style best = STYLE_NONE;
    size_t at = SIZE_MAX;
    for (int k = STYLE_HEADING; k <= STYLE_PLAIN; k++) {
        levels mine;
        size_t first = first_of(in, (style)k, &mine);
        if (first < at) {
            at = first;
            best = (style)k;
            *l = mine;
        }
    }
    return best;
}

/* Text between speakers, without a rule at its end. */
static cf_str body_of(cf_str s)
{
    static const char *const rules[] = {"\n---", "\n***", "\n___", "\n* * *"};
    s = trim(s);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (ends(s, rules[i])) {
            return trim(cut(s, 0, strlen(rules[i])));
        }
    }
    return s;
}

static cf_status say(cf_build *b, const char *role, cf_str rest, cf_str text,
                     cf_error *err)
{
    cf_buf all = CF_BUF_INIT;
    const char *from = text.p;
    text = body_of(text);
    if (rest.n != 0 && text.n != 0) { /* blank lines inside stay */
        text = cf_str_make(from, (size_t)(text.p - from) + text.n);
    }
    cf_buf_add(&all, rest.p, rest.n);
    cf_buf_adds(&all, rest.n != 0 && text.n != 0 ? "\n" : "");
    cf_buf_add(&all, text.p, text.n);
    cf_status st = cf_buf_check(&all, err);
    if (st == CF_OK && (all.n != 0 || strcmp(role, "system") != 0)) {
        st = cf_build__say(b,
                           json_pack("{s:s,s:s%}", "role", role, "content",
                                     cf_buf_cstr(&all), all.n),
                           NULL, err);
    }
    cf_buf_deinit(&all);
    return st;
}

static void take_title(cf_build *b, cf_str line)
{
    if (begins(line, "# ") && b->conv.title.n == 0) {
        b->conv.title = cf_build__str(b, trim(cut(line, 2, 0)));
    }
}

static cf_status read_chat(cf_import *im, md *in, style want, const levels *l,
                           cf_error *err)
{
    cf_str line, rest = {NULL, 0};
    bool in_fence = false;
    const char *role = NULL;
    size_t from = in->at;
    CF_TRY(cf_build__begin(im, in->line, err));
    cf_build *b = im->cur;
    b->conv.source = cf_build__source(im, cf_str_make(NULL, 0));
    for (size_t at = in->at; next_line(in, &line); at = in->at) {
        said s = {.style = STYLE_NONE};
        if (!steps_over(line, &in_fence)) {
            s = who(line, want);
        }
        if (!fits(&s, l)) {
            if (role == NULL) {
                take_title(b, line);
            }
            continue;
        }
        if (role != NULL) {
            CF_TRY(say(b, role, rest, cf_str_make(in->text.p + from, at - from),
                       err));
        }
        role = s.role;
        rest = s.rest;
        from = in->at;
    }
    CF_TRY(
        say(b, role, rest, cf_str_make(in->text.p + from, in->at - from), err));
    return cf_import__emit(im, err);
}

cf_status cf_read_markdown(cf_import *im, cf_str text, uint64_t line, size_t *n,
                           cf_error *err)
{
    md in = {text, 0, line};
    levels l = {0, 0};
    *n = 0;
    CF_TRY(read_own(im, &in, n, err));
    if (*n != 0) {
        return CF_OK;
    }
    in = (md){text, 0, line};
    style want = find_style(&in, &l);
    if (want == STYLE_NONE) {
        return CF_OK;
    }
    *n = 1;
    return read_chat(im, &in, want, &l, err);
}
