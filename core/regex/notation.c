/*
 * notation.c - reads grammars written as text (docs/constraints.md).
 *
 *   grammar  := rule+                 the first rule is the start
 *   rule     := NAME '=' choice ';'
 *   choice   := sequence ('|' sequence)*
 *   sequence := repeated*             none: the empty text
 *   repeated := item ('*' | '+' | '?' | '{' N (',' N?)? '}')*
 *   item     := STRING | '/' REGEX '/' | NAME | '(' choice ')'
 *
 * STRING is a JSON string; '#' begins a comment that runs to the line's end.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/utf8.h"
#include "core/regex/regex.h"

enum { DEPTH_MAX = 100, COUNT_MAX = 10000, BUCKETS = 4096 };

typedef enum part_kind {
    PART_TEXT,
    PART_REGEX,
    PART_RULE,
    PART_SEQUENCE,
    PART_CHOICE,
    PART_REPEAT
} part_kind;

typedef struct part {
    part_kind kind;
    cf_str text;        /* TEXT: its bytes; REGEX: pattern; RULE: name */
    size_t at;          /* offset in the source */
    struct part *first; /* SEQUENCE, CHOICE, REPEAT: children */
    struct part *next;  /* sibling */
    uint32_t min, max;  /* REPEAT; CF_RX_INF: no limit */
} part;

typedef struct rule {
    cf_str name;
    part *body;
    uint32_t id;
    struct rule *next;
    struct rule *chain; /* of its bucket */
} rule;

typedef struct reader {
    cf_gbuild *b;
    cf_rx_pool *rx;
    cf_arena arena;
    cf_str s;
    size_t i;
    unsigned depth;
    rule *rules, *last;
    rule **bucket; /* [BUCKETS] by name; in the arena */
} reader;

static void fail_at(reader *r, cf_status code, size_t at, const char *what)
{
    uint32_t line = 1;
    uint32_t col = 1;
    for (size_t i = 0; i < at && i < r->s.n; i++) {
        col = r->s.p[i] == '\n' ? 1 : col + 1;
        line += r->s.p[i] == '\n' ? 1 : 0;
    }
    if (r->b->st == CF_OK) {
        cf_gbuild_fail(r->b, code, "line %u column %u: %s", (unsigned)line, (unsigned)col, what);
        r->b->err.line = line;
        r->b->err.col = col;
        r->b->err.off = at;
    }
}

static bool is_ok(const reader *r)
{
    return r->b->st == CF_OK;
}

static int peek(reader *r)
{
    while (r->i < r->s.n) {
        char c = r->s.p[r->i];
        if (c == '#') {
            while (r->i < r->s.n && r->s.p[r->i] != '\n') {
                r->i++;
            }
        } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            r->i++;
        } else {
            return (unsigned char)c;
        }
    }
    return -1;
}

static bool take(reader *r, char c)
{
    if (peek(r) == c) {
        r->i++;
        return true;
    }
    return false;
}

static part *new_part(reader *r, part_kind kind, size_t at)
{
    part *p = cf_arena_calloc(&r->arena, 1, sizeof *p);
    if (p == NULL) {
        fail_at(r, CF_ENOMEM, at, "out of memory");
        return NULL;
    }
    p->kind = kind;
    p->at = at;
    return p;
}

static bool is_name_byte(int c, bool is_first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!is_first && ((c >= '0' && c <= '9') || c == '-'));
}

static cf_str take_name(reader *r)
{
    size_t from = r->i;
    while (r->i < r->s.n && is_name_byte((unsigned char)r->s.p[r->i], r->i == from)) {
        r->i++;
    }
    return cf_str_make(r->s.p + from, r->i - from);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hex digits at p; UINT32_MAX when they are none. */
static uint32_t hex4(const char *p, const char *end)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) {
        int d = p + i < end ? hex_value(p[i]) : -1;
        if (d < 0) {
            return UINT32_MAX;
        }
        v = v << 4 | (uint32_t)d;
    }
    return v;
}

/* Decodes the body of a JSON string into out.  Returns its length, SIZE_MAX
 * when it is malformed. */
static size_t decode(char *out, const char *p, const char *end)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    size_t n = 0;
    while (p < end) {
        if (*p != '\\') {
            out[n++] = *p++;
            continue;
        }
        const char *at = p + 1 < end && p[1] != '\0' ? strchr(from, p[1]) : NULL;
        if (at != NULL) {
            out[n++] = to[at - from];
            p += 2;
            continue;
        }
        uint32_t cp = p + 1 < end && p[1] == 'u' ? hex4(p + 2, end) : UINT32_MAX;
        p += 6;
        if (cp >= 0xD800 && cp <= 0xDBFF && p + 1 < end && p[0] == '\\' && p[1] == 'u') {
            uint32_t low = hex4(p + 2, end);
            cp = low >= 0xDC00 && low <= 0xDFFF ? 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00)
                                                : UINT32_MAX;
            p += 6;
        }
        if (cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF)) {
            return SIZE_MAX;
        }
        n += cf_utf8_encode(out + n, cp);
    }
    return n;
}

static part *take_string(reader *r)
{
    size_t from = r->i++;
    while (r->i < r->s.n && r->s.p[r->i] != '"') {
        r->i += r->s.p[r->i] == '\\' ? 2 : 1;
    }
    if (r->i >= r->s.n) {
        fail_at(r, CF_EFORMAT, from, "a string does not end");
        return NULL;
    }
    part *p = new_part(r, PART_TEXT, from);
    char *text = cf_arena_alloc(&r->arena, r->i - from);
    if (p == NULL || text == NULL) {
        fail_at(r, CF_ENOMEM, from, "out of memory");
        return NULL;
    }
    p->text.p = text;
    p->text.n = decode(text, r->s.p + from + 1, r->s.p + r->i);
    r->i++;
    if (p->text.n == SIZE_MAX) {
        fail_at(r, CF_EFORMAT, from, "not a JSON string");
        return NULL;
    }
    return p;
}

static part *take_regex(reader *r)
{
    size_t from = r->i++;
    bool in_class = false;
    while (r->i < r->s.n && r->s.p[r->i] != '\n' && (in_class || r->s.p[r->i] != '/')) {
        char c = r->s.p[r->i];
        in_class = c == '[' || (in_class && c != ']');
        r->i += c == '\\' ? 2 : 1;
    }
    if (r->i >= r->s.n || r->s.p[r->i] != '/') {
        fail_at(r, CF_EFORMAT, from, "an expression does not end");
        return NULL;
    }
    part *p = new_part(r, PART_REGEX, from);
    if (p != NULL) {
        p->text = cf_str_make(r->s.p + from + 1, r->i - from - 1);
    }
    r->i++;
    return p;
}

static part *take_choice(reader *r);

static part *take_item(reader *r)
{
    int c = peek(r);
    size_t at = r->i;
    if (c == '"') {
        return take_string(r);
    }
    if (c == '/') {
        return take_regex(r);
    }
    if (c == '(') {
        r->i++;
        part *p = take_choice(r);
        if (is_ok(r) && !take(r, ')')) {
            fail_at(r, CF_EFORMAT, at, "( without )");
        }
        return p;
    }
    part *p = new_part(r, PART_RULE, at);
    if (p != NULL) {
        p->text = take_name(r);
    }
    return p;
}

static bool take_number(reader *r, uint32_t *out)
{
    uint32_t v = 0;
    size_t from = r->i;
    while (r->i < r->s.n && r->s.p[r->i] >= '0' && r->s.p[r->i] <= '9') {
        v = v * 10 + (uint32_t)(r->s.p[r->i++] - '0');
        if (v > COUNT_MAX) {
            fail_at(r, CF_ELIMIT, from, "a count over 10000");
            return false;
        }
    }
    *out = v;
    return r->i > from;
}

static bool take_counts(reader *r, uint32_t *min, uint32_t *max)
{
    size_t at = r->i;
    *min = 0;
    *max = CF_RX_INF;
    if (take(r, '*')) {
        return true;
    }
    if (take(r, '+')) {
        *min = 1;
        return true;
    }
    if (take(r, '?')) {
        *max = 1;
        return true;
    }
    if (!take(r, '{')) {
        return false;
    }
    bool ok = take_number(r, min);
    *max = *min;
    if (ok && take(r, ',') && !take_number(r, max)) {
        *max = CF_RX_INF;
    }
    if (!ok || !take(r, '}') || *max < *min) {
        fail_at(r, CF_EFORMAT, at, "not {N}, {N,} or {N,M}");
    }
    return is_ok(r);
}

static part *take_repeated(reader *r)
{
    part *p = take_item(r);
    uint32_t min;
    uint32_t max;
    peek(r);
    while (is_ok(r) && p != NULL && take_counts(r, &min, &max)) {
        part *loop = new_part(r, PART_REPEAT, p->at);
        if (loop == NULL) {
            return NULL;
        }
        loop->first = p;
        loop->min = min;
        loop->max = max;
        p = loop;
        peek(r);
    }
    return p;
}

static part *take_sequence(reader *r)
{
    part *seq = new_part(r, PART_SEQUENCE, r->i);
    if (seq == NULL) {
        return NULL;
    }
    part **tail = &seq->first;
    while (is_ok(r)) {
        int c = peek(r);
        if (c != '"' && c != '/' && c != '(' && !is_name_byte(c, true)) {
            break;
        }
        *tail = take_repeated(r);
        if (*tail != NULL) {
            tail = &(*tail)->next;
        }
    }
    return seq;
}

static part *take_choice(reader *r)
{
    if (++r->depth > DEPTH_MAX) {
        fail_at(r, CF_ELIMIT, r->i, "groups nest too deeply");
        return NULL;
    }
    part *choice = new_part(r, PART_CHOICE, r->i);
    if (choice == NULL) {
        return NULL;
    }
    part **tail = &choice->first;
    while (is_ok(r)) {
        *tail = take_sequence(r);
        if (*tail == NULL || !take(r, '|')) {
            break;
        }
        tail = &(*tail)->next;
    }
    r->depth--;
    return choice;
}

static rule **bucket_of(const reader *r, cf_str name)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < name.n; i++) {
        h = (h ^ (unsigned char)name.p[i]) * 16777619u;
    }
    return &r->bucket[(h ^ h >> 15) % BUCKETS];
}

static rule *find_rule(const reader *r, cf_str name)
{
    rule *k = *bucket_of(r, name);
    while (k != NULL && !cf_str_eq(k->name, name)) {
        k = cf_gbuild_spend(r->b, 1) ? k->chain : NULL;
    }
    return k;
}

static void take_rule(reader *r)
{
    size_t at = r->i;
    cf_str name = take_name(r);
    if (name.n == 0 || !take(r, '=')) {
        fail_at(r, CF_EFORMAT, at, "not a rule: NAME = ... ;");
        return;
    }
    if (find_rule(r, name) != NULL) {
        fail_at(r, CF_EFORMAT, at, "the rule is there twice");
        return;
    }
    rule *k = cf_arena_calloc(&r->arena, 1, sizeof *k);
    char *copy = cf_arena_strndup(&r->arena, name.p, name.n);
    if (k == NULL || copy == NULL || !cf_gbuild_spend(r->b, 10)) {
        fail_at(r, CF_ENOMEM, at, "out of memory");
        return;
    }
    k->name = cf_str_make(copy, name.n);
    k->id = cf_g_rule(r->b, copy);
    rule **head = bucket_of(r, k->name);
    k->chain = *head;
    *head = k;
    if (r->last != NULL) {
        r->last->next = k;
    } else {
        r->rules = k;
    }
    r->last = k;
    k->body = take_choice(r);
    if (is_ok(r) && !take(r, ';')) {
        fail_at(r, CF_EFORMAT, r->i, "expected an item, | or ;");
    }
}

/* ---- emission ----------------------------------------------------------- */

static void emit(reader *r, const part *p, uint32_t from, uint32_t to);

static void emit_regex(reader *r, const part *p, uint32_t from, uint32_t to)
{
    cf_dfa d = {0};
    cf_rx e = cf_rx_parse(r->rx, p->text, false);
    if (is_ok(r)) {
        cf_rx_dfa(r->rx, e, &d);
    }
    cf_dfa_emit(r->b, &d, CF_SPELL_RAW, -1, from, to);
    cf_dfa_deinit(&d);
}

static void emit_repeat(reader *r, const part *p, uint32_t from, uint32_t to)
{
    cf_gbuild *b = r->b;
    for (uint32_t i = 0; i < p->min && is_ok(r); i++) {
        uint32_t next = cf_g_node(b);
        emit(r, p->first, from, next);
        from = next;
    }
    if (p->max == CF_RX_INF) {
        uint32_t loop = cf_g_node(b);
        uint32_t after = cf_g_node(b);
        cf_g_jump(b, from, 0, loop);
        emit(r, p->first, loop, after);
        cf_g_jump(b, after, 0, loop);
        cf_g_jump(b, loop, 0, to);
        return;
    }
    for (uint32_t i = p->min; i < p->max && is_ok(r); i++) {
        uint32_t next = cf_g_node(b);
        cf_g_jump(b, from, 0, to);
        emit(r, p->first, from, next);
        from = next;
    }
    cf_g_jump(b, from, 0, to);
}

static void emit(reader *r, const part *p, uint32_t from, uint32_t to)
{
    cf_gbuild *b = r->b;
    if (!cf_gbuild_spend(b, 1)) {
        return;
    }
    switch (p->kind) {
    case PART_TEXT:
        cf_g_jump(b, cf_g_bytes(b, from, p->text.p, p->text.n), 0, to);
        break;
    case PART_REGEX:
        emit_regex(r, p, from, to);
        break;
    case PART_RULE: {
        const rule *k = find_rule(r, p->text);
        if (k == NULL) {
            fail_at(r, CF_EFORMAT, p->at, "no such rule");
        } else {
            cf_g_call(b, from, k->id, 0, to);
        }
        break;
    }
    case PART_SEQUENCE:
        for (const part *c = p->first; c != NULL && is_ok(r); c = c->next) {
            uint32_t next = cf_g_node(b);
            emit(r, c, from, next);
            from = next;
        }
        cf_g_jump(b, from, 0, to);
        break;
    case PART_CHOICE:
        for (const part *c = p->first; c != NULL && is_ok(r); c = c->next) {
            uint32_t begin = cf_g_node(b);
            cf_g_jump(b, from, 0, begin);
            emit(r, c, begin, to);
        }
        break;
    case PART_REPEAT:
        emit_repeat(r, p, from, to);
        break;
    }
}

cf_status cf_grammar_from_text(cf_grammar **out, cf_str text, const cf_grammar_options *opts,
                               cf_error *err)
{
    cf_gbuild b;
    cf_rx_pool rx;
    cf_gbuild_init(&b, opts);
    cf_rx_init(&rx, &b);
    reader r = {.b = &b, .rx = &rx, .s = text};
    cf_arena_init(&r.arena, (size_t)64 << 20);
    r.bucket = cf_arena_calloc(&r.arena, BUCKETS, sizeof *r.bucket);
    if (r.bucket == NULL) {
        cf_gbuild_oom(&b);
    }
    while (is_ok(&r) && peek(&r) >= 0) {
        take_rule(&r);
    }
    if (is_ok(&r) && r.rules == NULL) {
        fail_at(&r, CF_EFORMAT, 0, "no rules");
    }
    for (const rule *k = r.rules; k != NULL && is_ok(&r); k = k->next) {
        b.rule = k->id;
        uint32_t end = cf_g_node(&b);
        emit(&r, k->body, cf_g_start(&b, k->id), end);
        cf_g_end(&b, end, 0);
    }
    uint32_t start = r.rules != NULL ? r.rules->id : 0;
    cf_arena_deinit(&r.arena);
    cf_rx_deinit(&rx);
    cf_status st = cf_gbuild_finish(&b, start, out, err);
    cf_gbuild_deinit(&b);
    return st;
}
