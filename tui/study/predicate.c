/*
 * predicate.c - the table of kinds, how their values are read, and what each
 * looks for.
 */
#include "tui/study/predicate.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/study/predicate_command.h"

enum {
    STEPS_MAX = 5000000, /* of one search */
    HEAP_KIB = 64 << 10,
    SCHEMA_MAX = 16 << 20,
    COMMAND_MS = 60000
};

typedef struct kind kind;

struct cf_predicate {
    const kind *kind;
    char *text, *value; /* as written, NUL-terminated */
    size_t n_text, n_value;
    pcre2_code *code;
    json_t *schema;
    cf_token id;
    size_t place;
};

struct kind {
    const char *name, *form;
    uint32_t needs;
    bool has_value;                                    /* must have one */
    bool takes_value;                                  /* may have one */
    cf_status (*read)(cf_predicate *p, cf_error *err); /* NULL: nothing */
    cf_status (*holds)(const cf_predicate *p, const cf_sight *s, bool *out,
                       cf_buf *why, cf_error *err);
};

static cf_str value_of(const cf_predicate *p)
{
    return cf_str_make(p->value, p->n_value);
}

/* ---- the reply's text --------------------------------------------------- */

void cf_message_plain(const json_t *message, cf_buf *out)
{
    const json_t *content = json_object_get(message, "content");
    if (json_is_string(content)) {
        cf_buf_add(out, json_string_value(content),
                   json_string_length(content));
    }
    for (size_t i = 0; i < json_array_size(content); i++) {
        cf_str text = cf_json_get_str(json_array_get(content, i), "text");
        cf_buf_add(out, text.p, text.n);
    }
}

static bool has_text(cf_str in, cf_str what, size_t *at)
{
    for (*at = 0; what.n <= in.n && *at <= in.n - what.n; (*at)++) {
        if (what.n == 0 || memcmp(in.p + *at, what.p, what.n) == 0) {
            return true;
        }
    }
    return false;
}

/* The bytes that a text is looked for in: all that the model wrote.  The bytes
 * of a server's reply are its content alone; its thinking and calls came beside
 * them, in the message. */
static void reply_bytes(const cf_sight *s, cf_buf *out)
{
    cf_str thinking = cf_json_get_str(s->message, "reasoning_content");
    const json_t *calls = json_object_get(s->message, "tool_calls");
    size_t at;
    const json_t *first = json_object_get(json_array_get(calls, 0), "function");
    if (thinking.n > 0 && !has_text(s->raw, thinking, &at)) {
        cf_buf_add(out, thinking.p, thinking.n);
    }
    if (s->raw.n != 0) {
        cf_buf_add(out, s->raw.p, s->raw.n);
    } else {
        cf_message_plain(s->message, out);
    }
    if (json_array_size(calls) > 0 &&
        !has_text(s->raw, cf_json_get_str(first, "name"), &at)) {
        cf_json_write(out, calls);
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static cf_str trimmed(cf_str s)
{
    while (s.n > 0 && is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && is_blank(s.p[s.n - 1])) {
        s.n--;
    }
    return s;
}

/* A few words of a text, for a reason. */
static void quote(cf_buf *why, cf_str s)
{
    enum { MAX = 80 };
    size_t n = s.n;
    if (n > MAX) {
        for (n = MAX; n > 0 && ((unsigned char)s.p[n] & 0xC0) == 0x80; n--) {
        }
    }
    cf_json_write_str(why, cf_str_make(s.p, n));
    cf_buf_adds(why, n < s.n ? "..." : "");
}

/* ---- calls -------------------------------------------------------------- */

static cf_status call_invalid(const cf_predicate *p, const cf_sight *s,
                              bool *out, cf_buf *why, cf_error *err)
{
    (void)p;
    (void)err;
    *out = s->calls != CF_TOOL_VALID;
    const json_t *first = json_array_get(s->findings, 0);
    cf_str text = cf_json_get_str(first, "text");
    cf_buf_adds(why,
                *out ? cf_tool_status_name(s->calls) : "no call is invalid");
    if (*out && text.n > 0) {
        cf_buf_adds(why, ": ");
        cf_buf_add(why, text.p, text.n);
    }
    return CF_OK;
}

static cf_status calls_valid(const cf_predicate *p, const cf_sight *s,
                             bool *out, cf_buf *why, cf_error *err)
{
    (void)err;
    const json_t *calls = json_object_get(s->message, "tool_calls");
    size_t n = json_array_size(calls);
    bool has = n > 0 && p->n_value == 0;
    for (size_t i = 0; i < n && !has; i++) {
        const json_t *f = json_object_get(json_array_get(calls, i), "function");
        has = cf_str_eq(cf_json_get_str(f, "name"), value_of(p));
    }
    *out = has && s->calls == CF_TOOL_VALID;
    if (s->calls != CF_TOOL_VALID) {
        return call_invalid(p, s, &(bool){false}, why, err);
    }
    cf_buf_addf(why, "%zu calls%s", n,
                n == 0 || has ? "" : ", none of that function");
    return CF_OK;
}

/* How many calls of declared functions a family finds in a reply. */
static cf_status count_calls(cf_tool_family family, const cf_sight *s,
                             size_t *n, cf_error *err)
{
    cf_tool_parser *parser;
    const cf_tool_parse *parse;
    *n = 0;
    CF_TRY(cf_tool_parser_new(&parser, family, s->tools, NULL, NULL, err));
    cf_status st = cf_tool_parser_feed(parser, s->raw.p, s->raw.n, err);
    CF_THEN(st, cf_tool_parser_finish(parser, &parse, err));
    for (size_t i = 0; st == CF_OK && i < parse->n_calls; i++) {
        *n += cf_tool_set_find(s->tools, parse->calls[i].name) != NULL;
    }
    cf_tool_parser_free(parser);
    return st;
}

static cf_status parse_lost(const cf_predicate *p, const cf_sight *s, bool *out,
                            cf_buf *why, cf_error *err)
{
    (void)p;
    size_t n = json_array_size(json_object_get(s->message, "tool_calls"));
    *out = s->calls == CF_TOOL_PARSE_ERROR;
    cf_buf_adds(why, *out ? "a block of calls does not parse" : "");
    if (*out || s->tools == NULL || s->raw.n == 0 || n > 0) {
        return CF_OK;
    }
    for (int f = CF_TOOLS_NONE + 1; f < CF_TOOL_FAMILY_N && !*out; f++) {
        CF_TRY(count_calls((cf_tool_family)f, s, &n, err));
        if (n > 0 && (cf_tool_family)f != s->family) {
            *out = true;
            cf_buf_addf(why, "the family %s finds a call, %s does not",
                        cf_tool_family_name((cf_tool_family)f),
                        cf_tool_family_name(s->family));
        }
    }
    return CF_OK;
}

/* ---- texts -------------------------------------------------------------- */

static cf_status read_regex(cf_predicate *p, cf_error *err)
{
    int code;
    PCRE2_SIZE at;
    p->code = pcre2_compile((PCRE2_SPTR)p->value, p->n_value,
                            PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF |
                                PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                            &code, &at, NULL);
    if (p->code == NULL) {
        char text[120] = "";
        pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof text);
        return cf_fail(err, CF_EINVAL,
                       "%s: the regular expression is not valid at byte %zu: "
                       "%s",
                       p->kind->name, (size_t)at, text);
    }
    return CF_OK;
}

/* The match's begin and end; *out false: none. */
static cf_status search(const pcre2_code *code, cf_str in, bool *out,
                        size_t span[2], cf_error *err)
{
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    int n = PCRE2_ERROR_NOMEMORY;
    if (limits != NULL && data != NULL) {
        pcre2_set_match_limit(limits, STEPS_MAX);
        pcre2_set_heap_limit(limits, HEAP_KIB);
        n = pcre2_match(code, (PCRE2_SPTR)(in.p != NULL ? in.p : ""), in.n, 0,
                        0, data, limits);
    }
    if (n >= 0) {
        const PCRE2_SIZE *v = pcre2_get_ovector_pointer(data);
        span[0] = v[0];
        span[1] = v[1];
    }
    pcre2_match_data_free(data);
    pcre2_match_context_free(limits);
    *out = n >= 0;
    return n >= 0 || n == PCRE2_ERROR_NOMATCH ? CF_OK
           : n == PCRE2_ERROR_NOMEMORY
               ? cf_oom(err)
               : cf_fail(err, CF_ELIMIT,
                         "the regular expression takes too many steps");
}

static cf_status regex_holds(const cf_predicate *p, const cf_sight *s,
                             bool *out, cf_buf *why, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    size_t span[2] = {0, 0};
    reply_bytes(s, &text);
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, search(p->code, cf_buf_str(&text), out, span, err));
    if (st == CF_OK && *out) {
        cf_buf_addf(why, "found at byte %zu: ", span[0]);
        quote(why, cf_str_make(text.p + span[0],
                               span[1] > span[0] ? span[1] - span[0] : 0));
    } else if (st == CF_OK) {
        cf_buf_adds(why, "not found");
    }
    cf_buf_deinit(&text);
    return st;
}

static cf_status contains(const cf_predicate *p, const cf_sight *s, bool *out,
                          cf_buf *why, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    size_t at;
    reply_bytes(s, &text);
    cf_status st = cf_buf_check(&text, err);
    if (st == CF_OK) {
        *out = has_text(cf_buf_str(&text), value_of(p), &at);
        if (*out) {
            cf_buf_addf(why, "found at byte %zu", at);
        } else {
            cf_buf_adds(why, "not found");
        }
    }
    cf_buf_deinit(&text);
    return st;
}

/* The content alone: of a server's reply or an import there is nothing else,
 * and thinking is not the answer. */
static cf_status content_of(const cf_sight *s, cf_buf *out, cf_error *err)
{
    if (s->message != NULL) {
        cf_message_plain(s->message, out);
    } else {
        cf_buf_add(out, s->raw.p, s->raw.n);
    }
    return cf_buf_check(out, err);
}

static cf_status equals(const cf_predicate *p, const cf_sight *s, bool *out,
                        cf_buf *why, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = content_of(s, &text, err);
    if (st == CF_OK) {
        cf_str is = trimmed(cf_buf_str(&text));
        *out = cf_str_eq(is, trimmed(value_of(p)));
        if (!*out) {
            cf_buf_adds(why, "it is ");
            quote(why, is);
        }
    }
    cf_buf_deinit(&text);
    return st;
}

static cf_status read_schema(cf_predicate *p, cf_error *err)
{
    cf_str v = trimmed(value_of(p));
    cf_buf file = CF_BUF_INIT;
    cf_status st = CF_OK;
    if (v.n == 0 || v.p[0] != '{') {
        st = cf_os_read_file(&file, p->value, SCHEMA_MAX, err);
        v = cf_buf_str(&file);
    }
    CF_THEN(st, cf_json_read(&p->schema, v.p, v.n, err));
    /* A schema with a mistake would accept everything. */
    cf_grammar *grammar = NULL;
    if (st == CF_OK) {
        st = cf_grammar_from_schema(&grammar, p->schema, NULL, err);
        st = st == CF_ELIMIT ? CF_OK : st; /* sound, and too large for that */
    }
    cf_grammar_free(grammar);
    cf_buf_deinit(&file);
    return st == CF_OK ? st : cf_fail_in(err, st, "schema");
}

static cf_status schema_holds(const cf_predicate *p, const cf_sight *s,
                              bool *out, cf_buf *why, cf_error *err)
{
    cf_buf text = CF_BUF_INIT, flaws = CF_BUF_INIT;
    json_t *v = NULL;
    cf_error not_json;
    cf_status st = content_of(s, &text, err);
    cf_str t = trimmed(cf_buf_str(&text));
    bool is_json = false;
    if (st == CF_OK) {
        st = cf_json_read(&v, t.p, t.n, &not_json);
        is_json = st == CF_OK;
        st = st == CF_ENOMEM ? cf_oom(err) : CF_OK;
    }
    if (st == CF_OK && is_json) {
        st = cf_schema_explain(&flaws, p->schema, t, err);
    }
    if (st == CF_OK) {
        *out = is_json && flaws.n == 0;
        const char *end = flaws.n > 0 ? strchr(flaws.p, '\n') : NULL;
        if (!is_json) {
            cf_buf_addf(why, "not JSON: %s", not_json.text);
        } else {
            cf_buf_add(why, cf_buf_cstr(&flaws),
                       end != NULL ? (size_t)(end - flaws.p) : flaws.n);
        }
    }
    json_decref(v);
    cf_buf_deinit(&text);
    cf_buf_deinit(&flaws);
    return st;
}

/* ---- tokens, prompts, commands ------------------------------------------ */

static cf_status read_token(cf_predicate *p, cf_error *err)
{
    char *end, *after = NULL;
    long id = strtol(p->value, &end, 10);
    long long place = *end == '@' ? strtoll(end + 1, &after, 10) : -1;
    if (end == p->value || *end != '@' || after == end + 1 || *after != '\0' ||
        id < 0 || id > INT32_MAX || place < 0 || place > UINT32_MAX) {
        return cf_fail(err, CF_EINVAL,
                       "token takes ID@PLACE, as in token:1234@0");
    }
    p->id = (cf_token)id;
    p->place = (size_t)place;
    return CF_OK;
}

static cf_status token_holds(const cf_predicate *p, const cf_sight *s,
                             bool *out, cf_buf *why, cf_error *err)
{
    if (s->n_ids == 0 && s->raw.n != 0) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "token: this engine does not show its tokens");
    }
    *out = p->place < s->n_ids && s->ids[p->place] == p->id;
    if (p->place >= s->n_ids) {
        cf_buf_addf(why, "the reply has %zu tokens", s->n_ids);
    } else {
        cf_buf_addf(why, "token %zu is %d", p->place, (int)s->ids[p->place]);
    }
    return CF_OK;
}

static cf_status cache_lost(const cf_predicate *p, const cf_sight *s, bool *out,
                            cf_buf *why, cf_error *err)
{
    (void)p;
    (void)err;
    *out = s->is_cache_lost;
    cf_buf_adds(why, s->cache_loss != NULL ? s->cache_loss
                     : *out                ? "an earlier prompt is not a prefix"
                                           : "earlier prompts are prefixes");
    return CF_OK;
}

static cf_status template_error(const cf_predicate *p, const cf_sight *s,
                                bool *out, cf_buf *why, cf_error *err)
{
    (void)p;
    (void)err;
    *out = s->rendered != CF_OK;
    cf_buf_adds(why, !*out                     ? "it renders"
                     : s->render_error != NULL ? s->render_error
                                               : "it fails");
    return CF_OK;
}

static cf_status command_holds(const cf_predicate *p, const cf_sight *s,
                               bool *out, cf_buf *why, cf_error *err)
{
    cf_buf input = CF_BUF_INIT;
    int status = 0;
    cf_json_write(&input, s->context);
    cf_buf_addc(&input, '\n');
    cf_status st = cf_buf_check(&input, err);
    uint32_t ms = s->command_ms != 0 ? s->command_ms : COMMAND_MS;
    cf_buf last = CF_BUF_INIT;
    CF_THEN(st, cf_study_command(p->value, cf_buf_str(&input), ms, s->cancel,
                                 &status, &last, err));
    if (st == CF_OK && WIFEXITED(status) &&
        (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127)) {
        st = cf_fail(err, CF_EIO, "command: it cannot be run (status %d)",
                     WEXITSTATUS(status));
    }
    if (st == CF_OK) {
        *out = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        cf_buf_addf(why, WIFEXITED(status) ? "status %d" : "signal %d",
                    WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        cf_buf_adds(why, last.n > 0 ? ": " : "");
        cf_buf_add(why, last.p, last.n);
    }
    cf_buf_deinit(&last);
    cf_buf_deinit(&input);
    return st;
}

/* ---- the table ---------------------------------------------------------- */

static const kind kinds[] = {
    {"call-invalid", "call-invalid", CF_SEE_REPLY, false, false, NULL,
     call_invalid},
    {"calls-valid", "calls-valid", CF_SEE_REPLY, false, true, NULL,
     calls_valid},
    {"parse-lost", "parse-lost", CF_SEE_REPLY, false, false, NULL, parse_lost},
    {"reply", "reply:REGEX", CF_SEE_REPLY, true, true, read_regex, regex_holds},
    {"regex", "regex:REGEX", CF_SEE_REPLY, true, true, read_regex, regex_holds},
    {"contains", "contains:TEXT", CF_SEE_REPLY, true, true, NULL, contains},
    {"equals", "equals:TEXT", CF_SEE_REPLY, false, true, NULL, equals},
    {"schema", "schema:FILE", CF_SEE_REPLY, true, true, read_schema,
     schema_holds},
    {"token", "token:ID@PLACE", CF_SEE_REPLY, true, true, read_token,
     token_holds},
    {"cache-lost", "cache-lost", CF_SEE_CACHE, false, false, NULL, cache_lost},
    {"template-error", "template-error", CF_SEE_RENDER, false, false, NULL,
     template_error},
    {"command", "command:CMD", CF_SEE_COMMAND, true, true, NULL, command_holds},
};

enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

const char *cf_predicate_kind(size_t i)
{
    return i < N_KINDS ? kinds[i].form : NULL;
}

static cf_status find_kind(const kind **out, cf_str name, cf_error *err)
{
    cf_buf list = CF_BUF_INIT;
    for (size_t i = 0; i < N_KINDS; i++) {
        if (cf_str_is(name, kinds[i].name)) {
            cf_buf_deinit(&list);
            *out = &kinds[i];
            return CF_OK;
        }
        cf_buf_addf(&list, "%s%s", i > 0 ? ", " : "", kinds[i].name);
    }
    cf_fail(err, CF_EINVAL, "no predicate '%.*s': use one of %s",
            (int)(name.n < 20 ? name.n : 20), name.p != NULL ? name.p : "",
            cf_buf_cstr(&list));
    cf_buf_deinit(&list);
    return CF_EINVAL;
}

static char *copy_of(cf_str s)
{
    char *p = cf_alloc(s.n + 1);
    if (p != NULL) {
        if (s.n > 0) {
            memcpy(p, s.p, s.n);
        }
        p[s.n] = '\0';
    }
    return p;
}

static cf_status fill(cf_predicate *p, cf_str name, cf_str value, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    CF_TRY(find_kind(&p->kind, name, err));
    if (value.n == 0 ? p->kind->has_value : !p->kind->takes_value) {
        return cf_fail(err, CF_EINVAL, "%s is written %s", p->kind->name,
                       p->kind->form);
    }
    if (value.n > 0 && memchr(value.p, '\0', value.n) != NULL) {
        return cf_fail(err, CF_EINVAL, "%s: a NUL byte", p->kind->name);
    }
    cf_buf_add(&text, name.p, name.n);
    cf_buf_adds(&text, value.n > 0 ? ":" : "");
    cf_buf_add(&text, value.p, value.n);
    p->n_text = text.n;
    p->text = cf_buf_take(&text);
    p->n_value = value.n;
    p->value = copy_of(value);
    if (p->text == NULL || p->value == NULL) {
        return cf_oom_for(err, "the predicate");
    }
    return p->kind->read != NULL ? p->kind->read(p, err) : CF_OK;
}

cf_status cf_predicate_new(cf_predicate **out, cf_str name, cf_str value,
                           cf_error *err)
{
    cf_predicate *p = cf_calloc(1, sizeof *p);
    if (p == NULL) {
        return cf_oom_for(err, "the predicate");
    }
    cf_status st = fill(p, name, value, err);
    if (st != CF_OK) {
        cf_predicate_free(p);
        return st;
    }
    *out = p;
    return CF_OK;
}

cf_status cf_predicate_read(cf_predicate **out, cf_str text, cf_error *err)
{
    const char *colon = text.n > 0 ? memchr(text.p, ':', text.n) : NULL;
    size_t n = colon != NULL ? (size_t)(colon - text.p) : text.n;
    return cf_predicate_new(out, cf_str_make(text.p, n),
                            colon != NULL
                                ? cf_str_make(colon + 1, text.n - n - 1)
                                : cf_str_make(NULL, 0),
                            err);
}

void cf_predicate_free(cf_predicate *p)
{
    if (p == NULL) {
        return;
    }
    pcre2_code_free(p->code);
    json_decref(p->schema);
    cf_free(p->text);
    cf_free(p->value);
    cf_free(p);
}

uint32_t cf_predicate_needs(const cf_predicate *p)
{
    return p->kind->needs;
}

cf_str cf_predicate_text(const cf_predicate *p)
{
    return cf_str_make(p->text, p->n_text);
}

void cf_sight_response(cf_sight *s, const cf_chat_response *r,
                       cf_tool_family family, const cf_tool_set *tools)
{
    s->has_reply = r->message != NULL;
    s->raw = cf_buf_str(&r->raw);
    s->message = r->message;
    s->calls = r->status;
    s->findings = r->findings;
    s->ids = r->reply_ids;
    s->n_ids = r->n_reply_ids;
    s->family = family;
    s->tools = tools;
}

cf_status cf_predicate_holds(const cf_predicate *p, const cf_sight *sight,
                             bool *holds, cf_buf *why, cf_error *err)
{
    cf_buf unused = CF_BUF_INIT;
    *holds = false;
    if ((p->kind->needs & CF_SEE_REPLY) != 0 && !sight->has_reply) {
        return cf_fail(err, CF_EINVAL, "%s: there is no reply to look at",
                       p->kind->name);
    }
    cf_status st =
        p->kind->holds(p, sight, holds, why != NULL ? why : &unused, err);
    cf_buf_deinit(&unused);
    return st;
}
