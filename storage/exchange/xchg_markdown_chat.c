/*
 * xchg_markdown_chat.c - reads Markdown as people keep chats: a heading, a
 * bold name or "Name:" at the start of a line names the speaker of what
 * follows.
 *
 * The first such line decides which of the three a file uses; both a user and
 * a model must speak.
 */
#include <string.h>

#include "storage/exchange/xchg_markdown.h"

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
        name = cf_md__cut(name, 1, 0); /* a number, a picture */
    }
    size_t n = 0;
    while (n < name.n && is_letter(name.p[n])) {
        n++;
    }
    cf_str rest = cf_str_trim(cf_md__cut(name, n, 0));
    if (cf_str_begins(rest, "said")) {
        rest = cf_str_trim(cf_md__cut(rest, 4, 0));
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
    cf_str name = cf_str_trim(cf_md__cut(line, level, 0));
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
    if (!cf_str_begins(line, "**") && !cf_str_begins(line, "__")) {
        return s;
    }
    while (end + 1 < line.n && memcmp(line.p + end, line.p, 2) != 0) {
        end++;
    }
    if (end + 1 >= line.n) {
        return s;
    }
    cf_str name = cf_str_trim(cf_str_make(line.p + 2, end - 2));
    cf_str rest = cf_str_trim(cf_md__cut(line, end + 2, 0));
    bool has_colon = cf_str_ends(name, ":") || cf_str_begins(rest, ":");
    name.n -= cf_str_ends(name, ":");
    rest = cf_str_begins(rest, ":") ? cf_str_trim(cf_md__cut(rest, 1, 0)) : rest;
    s.role = has_colon || rest.n == 0 ? speaker_of(name, false) : NULL;
    s.style = s.role != NULL ? STYLE_BOLD : STYLE_NONE;
    s.rest = rest;
    return s;
}

static said plain(cf_str line)
{
    said s = {.style = STYLE_NONE};
    const char *colon =
        line.n != 0 && is_letter(line.p[0]) ? memchr(line.p, ':', line.n < 40 ? line.n : 40) : NULL;
    if (colon == NULL) {
        return s;
    }
    size_t n = (size_t)(colon - line.p);
    s.role = speaker_of(cf_str_make(line.p, n), true);
    s.style = s.role != NULL ? STYLE_PLAIN : STYLE_NONE;
    s.rest = cf_str_trim(cf_md__cut(line, n + 1, 0));
    return s;
}

static said who(cf_str line, style want)
{
    said s = want == STYLE_HEADING ? heading(line) : want == STYLE_BOLD ? bold(line) : plain(line);
    return s;
}

/* Fences hide what looks like a speaker. */
static bool steps_over(cf_str line, bool *in_fence)
{
    cf_str s = cf_str_trim(line);
    if (cf_str_begins(s, "```") || cf_str_begins(s, "~~~")) {
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

/* The offset at which a style first names a speaker; SIZE_MAX unless both
 * speak. */
static size_t first_of(const cf_md *start, style want, levels *l)
{
    cf_md m = *start;
    cf_str line;
    bool in_fence = false;
    size_t first = SIZE_MAX;
    bool has_user = false, has_assistant = false;
    *l = (levels){0, 0};
    for (size_t at = m.at; cf_md__next_line(&m, &line); at = m.at) {
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

static style find_style(const cf_md *in, levels *l)
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
    s = cf_str_trim(s);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (cf_str_ends(s, rules[i])) {
            return cf_str_trim(cf_md__cut(s, 0, strlen(rules[i])));
        }
    }
    return s;
}

static cf_status say(cf_build *b, const char *role, cf_str rest, cf_str text, cf_error *err)
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
        st = cf_build__say(
            b, json_pack("{s:s,s:s%}", "role", role, "content", cf_buf_cstr(&all), all.n), NULL,
            err);
    }
    cf_buf_deinit(&all);
    return st;
}

static void take_title(cf_build *b, cf_str line)
{
    if (cf_str_begins(line, "# ") && b->conv.title.n == 0) {
        b->conv.title = cf_build__str(b, cf_str_trim(cf_md__cut(line, 2, 0)));
    }
}

static cf_status read_as(cf_import *im, cf_md *in, style want, const levels *l, cf_error *err)
{
    cf_str line, rest = {NULL, 0};
    bool in_fence = false;
    const char *role = NULL;
    size_t from = in->at;
    CF_TRY(cf_build__begin(im, in->line, err));
    cf_build *b = im->cur;
    b->conv.source = cf_build__source(im, cf_str_make(NULL, 0));
    for (size_t at = in->at; cf_md__next_line(in, &line); at = in->at) {
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
            CF_TRY(say(b, role, rest, cf_str_make(in->text.p + from, at - from), err));
        }
        role = s.role;
        rest = s.rest;
        from = in->at;
    }
    CF_TRY(say(b, role, rest, cf_str_make(in->text.p + from, in->at - from), err));
    return cf_import__emit(im, err);
}

cf_status cf_md__read_chat(cf_import *im, cf_md *in, size_t *n, cf_error *err)
{
    levels l = {0, 0};
    style want = find_style(in, &l);
    *n = want != STYLE_NONE;
    return want != STYLE_NONE ? read_as(im, in, want, &l, err) : CF_OK;
}
