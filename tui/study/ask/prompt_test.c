/*
 * prompt_test.c - reads a file of tests, line by line.
 */
#include "tui/study/ask/prompt_test.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/os.h"

enum { FILE_MAX = 1 << 20, TESTS_MAX = 1000, CHECKS_MAX = 100 };

typedef struct reader {
    cf_prompt_tests *out;
    const char *path;
    size_t at;     /* the next byte */
    uint32_t line; /* of the line read last */
    cf_str text;   /* it, without blanks at its ends */
    cf_prompt_test defaults;
    cf_prompt_test *test; /* NULL: before the first */
    cf_error *err;
} reader;

static cf_status wrong(reader *r, cf_status code, const char *fmt, ...) CF_PRINTF(3, 4);

static cf_status wrong(reader *r, cf_status code, const char *fmt, ...)
{
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return cf_fail(r->err, code, "%.200s:%u: %s", r->path, (unsigned)r->line, text);
}

/* ---- lines -------------------------------------------------------------- */

/* The line at r->at, without its newline; false at the end. */
static bool peek(const reader *r, cf_str *line)
{
    const cf_buf *b = &r->out->source;
    if (r->at >= b->n) {
        return false;
    }
    const char *p = b->p + r->at;
    const char *nl = memchr(p, '\n', b->n - r->at);
    *line = cf_str_make(p, nl != NULL ? (size_t)(nl - p) : b->n - r->at);
    return true;
}

static bool next_line(reader *r)
{
    cf_str line;
    if (!peek(r, &line)) {
        return false;
    }
    r->at += line.n + 1;
    r->line++;
    r->text = cf_str_trim(line);
    return true;
}

/* Takes `word` off the front of *s. */
static bool take_word(cf_str *s, const char *word)
{
    size_t n = strlen(word);
    if (s->n < n || memcmp(s->p, word, n) != 0 || (s->n > n && !cf_is_blank(s->p[n]))) {
        return false;
    }
    *s = cf_str_trim(cf_str_make(s->p + n, s->n - n));
    return true;
}

static cf_str copy(reader *r, cf_str s)
{
    const char *p = cf_arena_strndup(&r->out->arena, s.n > 0 ? s.p : "", s.n);
    return cf_str_make(p, p != NULL ? s.n : 0);
}

/* The rest of a line: as it is, or a JSON string. */
static cf_status read_text(reader *r, cf_str s, cf_str *out)
{
    json_t *v = NULL;
    cf_error why;
    if (s.n == 0 || s.p[0] != '"') {
        *out = copy(r, s);
        return CF_OK;
    }
    cf_status st = cf_json_read(&v, s.p, s.n, &why);
    if (st != CF_OK || !json_is_string(v)) {
        st = wrong(r, CF_EFORMAT, "what begins with '\"' must be one JSON string");
    } else {
        *out = copy(r, cf_str_make(json_string_value(v), json_string_length(v)));
    }
    json_decref(v);
    return st;
}

/* The lines with '|' that follow, as text. */
static cf_status read_block(reader *r, cf_str *out, size_t *from, size_t *to)
{
    cf_buf text = CF_BUF_INIT;
    cf_str line;
    bool is_first = true;
    *from = r->at;
    while (peek(r, &line) && line.n > 0 && line.p[0] == '|') {
        size_t skip = line.n > 1 && line.p[1] == ' ' ? 2 : 1;
        cf_buf_adds(&text, is_first ? "" : "\n");
        cf_buf_add(&text, line.p + skip, line.n - skip);
        is_first = false;
        (void)next_line(r);
    }
    *to = r->at < r->out->source.n ? r->at : r->out->source.n;
    *out = copy(r, cf_buf_str(&text));
    bool failed = text.failed;
    cf_buf_deinit(&text);
    return failed ? cf_oom(r->err) : CF_OK;
}

/* ---- settings ----------------------------------------------------------- */

/* A path relative to the test file. */
static const char *path_of(reader *r, cf_str name)
{
    const char *slash = strrchr(r->path, '/');
    size_t n = name.n > 0 && name.p[0] == '/' ? 0
               : slash != NULL                ? (size_t)(slash - r->path) + 1
                                              : 0;
    char *p = cf_arena_alloc(&r->out->arena, n + name.n + 1);
    if (p != NULL) {
        memcpy(p, r->path, n);
        memcpy(p + n, name.p, name.n);
        p[n + name.n] = '\0';
    }
    return p;
}

/* The path relative to the test file if it exists, else the name itself. */
static const char *file_or_name(reader *r, cf_str name)
{
    const char *path = path_of(r, name);
    return path != NULL && access(path, R_OK) == 0 ? path : copy(r, name).p;
}

static cf_status read_var(reader *r, cf_prompt_test *t, cf_str s)
{
    const char *eq = memchr(s.p, '=', s.n);
    json_t *v = NULL;
    cf_error why;
    if (eq == NULL || eq == s.p) {
        return wrong(r, CF_EFORMAT, "var takes NAME=JSON");
    }
    cf_str name = cf_str_trim(cf_str_make(s.p, (size_t)(eq - s.p)));
    size_t n = s.n - (size_t)(eq - s.p) - 1;
    if (cf_json_read(&v, eq + 1, n, &why) != CF_OK) {
        return wrong(r, CF_EFORMAT, "the value of %.*s is not JSON",
                     (int)(name.n < 60 ? name.n : 60), name.p);
    }
    json_t *vars = t->vars != NULL ? cf_json_copy(t->vars) : json_object();
    json_decref(t->vars); /* tests share what they inherit */
    t->vars = vars;
    return vars != NULL && json_object_setn_new(vars, name.p, name.n, v) == 0 ? CF_OK
                                                                              : cf_oom(r->err);
}

/* A setting; false when the line is none. */
static bool read_setting(reader *r, cf_prompt_test *t, cf_str s, cf_status *st)
{
    *st = CF_OK;
    if (take_word(&s, "template")) {
        t->tpl = file_or_name(r, s);
    } else if (take_word(&s, "model")) {
        t->model = file_or_name(r, s);
    } else if (take_word(&s, "context")) {
        t->context = path_of(r, s);
    } else if (take_word(&s, "family")) {
        t->family = copy(r, s).p;
    } else if (take_word(&s, "var")) {
        *st = read_var(r, t, s);
        return true;
    } else {
        return false;
    }
    if (s.n == 0) {
        *st = wrong(r, CF_EFORMAT, "the value is missing");
    }
    return true;
}

/* ---- tests and checks --------------------------------------------------- */

static cf_status begin_test(reader *r, cf_str name)
{
    cf_prompt_tests *out = r->out;
    if (name.n == 0) {
        return wrong(r, CF_EFORMAT, "the test has no name");
    }
    if (out->n == TESTS_MAX) {
        return wrong(r, CF_ELIMIT, "more than %d tests", TESTS_MAX);
    }
    r->test = &out->v[out->n];
    *r->test = r->defaults;
    json_incref(r->test->vars);
    r->test->name = copy(r, name);
    r->test->line = r->line;
    r->test->check = cf_arena_calloc(&out->arena, CHECKS_MAX, sizeof *r->test->check);
    out->n++;
    return r->test->check != NULL ? CF_OK : cf_oom(r->err);
}

static cf_status add_check(reader *r, cf_check_kind kind, cf_prompt_check **out)
{
    cf_prompt_test *t = r->test;
    if (t->n == CHECKS_MAX) {
        return wrong(r, CF_ELIMIT, "more than %d checks in a test", CHECKS_MAX);
    }
    *out = &t->check[t->n++];
    (*out)->kind = kind;
    (*out)->line = r->line;
    (*out)->words = copy(r, r->text);
    return CF_OK;
}

static bool read_number(cf_str s, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9' || *out > UINT64_MAX / 10 - 1) {
            return false;
        }
        *out = *out * 10 + (uint64_t)(s.p[i] - '0');
    }
    return s.n > 0;
}

static cf_status read_prompt(reader *r, cf_str s)
{
    static const struct {
        const char *word;
        cf_check_kind kind;
    } kinds[] = {{"contains", CF_CHECK_CONTAINS}, {"lacks", CF_CHECK_LACKS},
                 {"tokens", CF_CHECK_TOKENS},     {"stable", CF_CHECK_STABLE},
                 {"fails", CF_CHECK_FAILS},       {"is", CF_CHECK_IS}};
    cf_prompt_check *c;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!take_word(&s, kinds[i].word)) {
            continue;
        }
        CF_TRY(add_check(r, kinds[i].kind, &c));
        if (c->kind == CF_CHECK_IS) {
            return read_block(r, &c->text, &c->block, &c->block_end);
        }
        if (c->kind == CF_CHECK_TOKENS) {
            return read_number(s, &c->limit) ? CF_OK
                                             : wrong(r, CF_EFORMAT, "prompt tokens takes a number");
        }
        if (s.n == 0 && c->kind <= CF_CHECK_LACKS) {
            return wrong(r, CF_EFORMAT, "the text is missing");
        }
        return read_text(r, s, &c->text);
    }
    return wrong(r, CF_EFORMAT,
                 "a prompt contains, lacks, is, fails, is "
                 "stable, or has tokens");
}

static cf_status read_made(reader *r, cf_str s)
{
    cf_prompt_test *t = r->test;
    t->is_made = true;
    t->max_tokens = 256;
    while (s.n > 0) {
        size_t n = 0;
        while (n < s.n && !cf_is_blank(s.p[n])) {
            n++;
        }
        cf_str word = cf_str_make(s.p, n);
        uint64_t v = 0;
        bool is_tokens = cf_str_starts(word, cf_str_from("tokens="));
        bool is_seed = cf_str_starts(word, cf_str_from("seed="));
        size_t skip = is_tokens ? 7 : 5;
        if ((!is_tokens && !is_seed) ||
            !read_number(cf_str_make(word.p + skip, word.n - skip), &v) ||
            (is_tokens && (v == 0 || v > UINT32_MAX))) {
            return wrong(r, CF_EFORMAT, "reply made takes tokens=N and seed=N");
        }
        t->max_tokens = is_tokens ? (uint32_t)v : t->max_tokens;
        t->seed = is_seed ? v : t->seed;
        t->has_seed = t->has_seed || is_seed;
        s = cf_str_trim(cf_str_make(s.p + n, s.n - n));
    }
    return CF_OK;
}

static cf_status read_reply(reader *r, cf_str s)
{
    cf_prompt_test *t = r->test;
    size_t from, to;
    if (t->has_reply || t->is_made) {
        return wrong(r, CF_EFORMAT, "the test has a reply already");
    }
    if (take_word(&s, "made")) {
        return read_made(r, s);
    }
    if (!take_word(&s, "is")) {
        return wrong(r, CF_EFORMAT, "a reply is given (reply is) or made");
    }
    t->has_reply = true;
    return read_block(r, &t->reply, &from, &to);
}

static cf_status read_expect(reader *r, cf_str s)
{
    cf_prompt_check *c;
    cf_error why;
    CF_TRY(add_check(r, CF_CHECK_EXPECT, &c));
    c->is_not = take_word(&s, "not");
    cf_status st = cf_predicate_read(&c->predicate, s, &why);
    return st == CF_OK       ? CF_OK
           : st == CF_ENOMEM ? cf_oom(r->err)
                             : wrong(r, CF_EFORMAT, "%.150s", why.text);
}

static cf_status read_line(reader *r)
{
    cf_str s = r->text;
    cf_status st;
    if (s.n == 0 || s.p[0] == '#') {
        return CF_OK;
    }
    if (take_word(&s, "test")) {
        return begin_test(r, s);
    }
    if (read_setting(r, r->test != NULL ? r->test : &r->defaults, s, &st)) {
        return st;
    }
    if (r->test == NULL) {
        return wrong(r, CF_EFORMAT,
                     "before the first test there are template, "
                     "model, context, family and var");
    }
    if (take_word(&s, "prompt")) {
        return read_prompt(r, s);
    }
    if (take_word(&s, "reply")) {
        return read_reply(r, s);
    }
    if (take_word(&s, "expect")) {
        return read_expect(r, s);
    }
    return wrong(r, CF_EFORMAT, "not a line of a test: %.*s", (int)(s.n < 60 ? s.n : 60), s.p);
}

cf_status cf_prompt_tests_read(cf_prompt_tests *out, const char *path, cf_error *err)
{
    reader r = {.out = out, .path = path, .err = err};
    memset(out, 0, sizeof *out);
    cf_arena_init(&out->arena, 0);
    CF_TRY(cf_os_read_file(&out->source, path, FILE_MAX, err));
    out->v = cf_arena_calloc(&out->arena, TESTS_MAX, sizeof *out->v);
    cf_status st = out->v != NULL ? CF_OK : cf_oom(err);
    while (st == CF_OK && next_line(&r)) {
        st = read_line(&r);
    }
    json_decref(r.defaults.vars);
    if (st == CF_OK && out->arena.failed) {
        st = cf_oom(err);
    }
    return st == CF_OK && out->n == 0 ? cf_fail(err, CF_EFORMAT, "%.200s: no test in it", path)
                                      : st;
}

void cf_prompt_tests_deinit(cf_prompt_tests *t)
{
    for (size_t i = 0; i < t->n; i++) {
        json_decref(t->v[i].vars);
        for (size_t k = 0; t->v[i].check != NULL && k < t->v[i].n; k++) {
            cf_predicate_free(t->v[i].check[k].predicate);
        }
    }
    cf_buf_deinit(&t->source);
    cf_arena_deinit(&t->arena);
}
