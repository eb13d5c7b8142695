/*
 * predicate_text.c - the kinds of predicates about the text of a reply.
 */
#include "tui/study/ask/predicate_impl.h"

#include <string.h>

#include "core/api/constraint.h"
#include "core/api/message.h"
#include "core/base/os.h"

enum {
    STEPS_MAX = 5000000, /* of one search */
    HEAP_KIB = 64 << 10,
    SCHEMA_MAX = 16 << 20,
    JSON_BYTES_MAX = 64 << 20 /* looked at for JSON in one text */
};

/* ---- bytes -------------------------------------------------------------- */

/* The bytes that a text is looked for in: all that the model wrote.  The bytes
 * of a server's reply are its content alone; its thinking and calls came beside
 * them, in the message. */
static void reply_bytes(const cf_sight *s, cf_buf *out)
{
    cf_str thinking = cf_json_get_str(s->message, "reasoning_content");
    const json_t *calls = json_object_get(s->message, "tool_calls");
    size_t at;
    const json_t *first = json_object_get(json_array_get(calls, 0), "function");
    if (thinking.n > 0 && !cf_str_find(s->raw, thinking, &at)) {
        cf_buf_add(out, thinking.p, thinking.n);
    }
    if (s->raw.n != 0) {
        cf_buf_add(out, s->raw.p, s->raw.n);
    } else {
        cf_message_text(out, s->message, "");
    }
    if (json_array_size(calls) > 0 && !cf_str_find(s->raw, cf_json_get_str(first, "name"), &at)) {
        cf_json_write(out, calls);
    }
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

/* ---- texts -------------------------------------------------------------- */

static cf_status compile(pcre2_code **out, cf_str pattern, uint32_t options, const char *what,
                         cf_error *err)
{
    int code;
    PCRE2_SIZE at;
    *out = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n,
                         PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | options, &code, &at, NULL);
    if (*out == NULL) {
        char text[120] = "";
        pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof text);
        return cf_fail(err, CF_EINVAL,
                       "%s: the regular expression is not valid at byte %zu: "
                       "%s",
                       what, (size_t)at, text);
    }
    return CF_OK;
}

static cf_status read_regex(cf_predicate *p, cf_error *err)
{
    return compile(&p->code, cf_predicate__value(p),
                   PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, p->kind->name, err);
}

/* The match's begin and end; *out false: none. */
static cf_status search(const pcre2_code *code, cf_str in, bool *out, size_t span[2], cf_error *err)
{
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    int n = PCRE2_ERROR_NOMEMORY;
    if (limits != NULL && data != NULL) {
        pcre2_set_match_limit(limits, STEPS_MAX);
        pcre2_set_heap_limit(limits, HEAP_KIB);
        n = pcre2_match(code, (PCRE2_SPTR)(in.p != NULL ? in.p : ""), in.n, 0, 0, data, limits);
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
               : cf_fail(err, CF_ELIMIT, "the regular expression takes too many steps");
}

static cf_status regex_holds(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                             cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    size_t span[2] = {0, 0};
    reply_bytes(s, &text);
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, search(p->code, cf_buf_str(&text), out, span, err));
    if (st == CF_OK && *out) {
        cf_buf_addf(why, "found at byte %zu: ", span[0]);
        quote(why, cf_str_make(text.p + span[0], span[1] > span[0] ? span[1] - span[0] : 0));
    } else if (st == CF_OK) {
        cf_buf_adds(why, "not found");
    }
    cf_buf_deinit(&text);
    return st;
}

/* Whether the text is in the reply, ignoring case if asked. */
static cf_status finds(cf_str reply, cf_str text, bool ignores_case, bool *out, size_t *at,
                       cf_error *err)
{
    size_t span[2] = {0, 0};
    pcre2_code *code = NULL;
    *at = 0;
    if (!ignores_case || text.n == 0) {
        *out = cf_str_find(reply, text, at);
        return CF_OK;
    }
    cf_status st = compile(&code, text, PCRE2_LITERAL | PCRE2_CASELESS, "the text", err);
    CF_THEN(st, search(code, reply, out, span, err));
    pcre2_code_free(code);
    *at = span[0];
    return st;
}

static cf_status has_one(const cf_predicate *p, const cf_sight *s, bool ignores_case, bool *out,
                         cf_buf *why, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    size_t at = 0;
    reply_bytes(s, &text);
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, finds(cf_buf_str(&text), cf_predicate__value(p), ignores_case, out, &at, err));
    if (st == CF_OK && *out) {
        cf_buf_addf(why, "found at byte %zu", at);
    } else if (st == CF_OK) {
        cf_buf_adds(why, "not found");
    }
    cf_buf_deinit(&text);
    return st;
}

static cf_status contains(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                          cf_error *err)
{
    return has_one(p, s, false, out, why, err);
}

static cf_status icontains(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                           cf_error *err)
{
    return has_one(p, s, true, out, why, err);
}

/* ---- lists of texts ----------------------------------------------------- */

static cf_status add_text(json_t *list, cf_str text, cf_error *err)
{
    text = cf_str_trim(text);
    return json_array_append_new(list, json_stringn(text.p, text.n)) == 0
               ? CF_OK
               : cf_fail(err, CF_EINVAL, "a text of the list is not UTF-8");
}

/* A JSON list of texts, or texts with commas between them. */
static cf_status read_list(cf_predicate *p, cf_error *err)
{
    cf_str left = cf_str_trim(cf_predicate__value(p));
    if (left.n > 0 && left.p[0] == '[') {
        CF_TRY(cf_json_read(&p->list, left.p, left.n, err));
        bool are_texts = json_array_size(p->list) > 0;
        for (size_t i = 0; i < json_array_size(p->list); i++) {
            are_texts = are_texts && json_is_string(json_array_get(p->list, i));
        }
        return are_texts ? CF_OK
                         : cf_fail(err, CF_EINVAL, "%s takes a list of texts, as in %s",
                                   p->kind->name, p->kind->form);
    }
    p->list = json_array();
    const char *comma;
    while (left.n > 0 && (comma = memchr(left.p, ',', left.n)) != NULL) {
        size_t n = (size_t)(comma - left.p);
        CF_TRY(add_text(p->list, cf_str_make(left.p, n), err));
        left = cf_str_make(comma + 1, left.n - n - 1);
    }
    return add_text(p->list, left, err);
}

/* How many texts of the list the reply has; `first` is one that tells: the
 * first that is missing where all are wanted, else the first found. */
static cf_status has_many(const cf_predicate *p, const cf_sight *s, bool wants_all,
                          bool ignores_case, bool *out, cf_buf *why, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    size_t n = json_array_size(p->list), n_found = 0, at;
    const json_t *telling = NULL;
    reply_bytes(s, &text);
    cf_status st = cf_buf_check(&text, err);
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        const json_t *v = json_array_get(p->list, i);
        bool found = false;
        st = finds(cf_buf_str(&text), cf_str_make(json_string_value(v), json_string_length(v)),
                   ignores_case, &found, &at, err);
        n_found += found;
        telling = telling == NULL && found != wants_all ? v : telling;
    }
    if (st == CF_OK) {
        *out = wants_all ? n_found == n : n_found > 0;
        cf_buf_addf(why, "%zu of %zu found", n_found, n);
        if (telling != NULL) {
            cf_buf_adds(why, wants_all ? ", not " : ": ");
            quote(why, cf_str_make(json_string_value(telling), json_string_length(telling)));
        }
    }
    cf_buf_deinit(&text);
    return st;
}

static cf_status contains_all(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                              cf_error *err)
{
    return has_many(p, s, true, false, out, why, err);
}

static cf_status contains_any(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                              cf_error *err)
{
    return has_many(p, s, false, false, out, why, err);
}

static cf_status icontains_all(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                               cf_error *err)
{
    return has_many(p, s, true, true, out, why, err);
}

static cf_status icontains_any(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                               cf_error *err)
{
    return has_many(p, s, false, true, out, why, err);
}

/* ---- the whole text ----------------------------------------------------- */

/* The content alone: of a server's reply or an import there is nothing else,
 * and thinking is not the answer. */
static cf_status content_of(const cf_sight *s, cf_buf *out, cf_error *err)
{
    if (s->message != NULL) {
        cf_message_text(out, s->message, "");
    } else {
        cf_buf_add(out, s->raw.p, s->raw.n);
    }
    return cf_buf_check(out, err);
}

static cf_status equals(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                        cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = content_of(s, &text, err);
    if (st == CF_OK) {
        cf_str is = cf_str_trim(cf_buf_str(&text));
        *out = cf_str_eq(is, cf_str_trim(cf_predicate__value(p)));
        if (!*out) {
            cf_buf_adds(why, "it is ");
            quote(why, is);
        }
    }
    cf_buf_deinit(&text);
    return st;
}

static cf_status starts_with(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                             cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = content_of(s, &text, err);
    if (st == CF_OK) {
        *out = cf_str_starts(cf_buf_str(&text), cf_predicate__value(p));
        if (!*out) {
            cf_buf_adds(why, "it starts with ");
            quote(why, cf_buf_str(&text));
        }
    }
    cf_buf_deinit(&text);
    return st;
}

/* ---- JSON --------------------------------------------------------------- */

static cf_status read_schema(cf_predicate *p, cf_error *err)
{
    cf_str v = cf_str_trim(cf_predicate__value(p));
    cf_buf file = CF_BUF_INIT;
    cf_status st = CF_OK;
    if (v.n == 0) {
        return CF_OK;
    }
    if (v.p[0] != '{') {
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

/* Whether a text is JSON and valid under the schema, if any. */
static cf_status accepts(const cf_predicate *p, cf_str text, bool *out, cf_buf *why, cf_error *err)
{
    cf_buf flaws = CF_BUF_INIT;
    json_t *v = NULL;
    cf_error not_json;
    cf_status st = cf_json_read(&v, text.p, text.n, &not_json);
    bool is_json = st == CF_OK;
    st = st == CF_ENOMEM ? cf_oom(err) : CF_OK;
    if (st == CF_OK && is_json && p->schema != NULL) {
        st = cf_schema_explain(&flaws, p->schema, NULL, text, err);
    }
    if (st == CF_OK) {
        *out = is_json && flaws.n == 0;
        const char *end = flaws.n > 0 ? strchr(flaws.p, '\n') : NULL;
        if (!is_json) {
            cf_buf_addf(why, "not JSON: %s", not_json.text);
        } else {
            cf_buf_add(why, cf_buf_cstr(&flaws), end != NULL ? (size_t)(end - flaws.p) : flaws.n);
        }
    }
    json_decref(v);
    cf_buf_deinit(&flaws);
    return st;
}

static cf_status is_json(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                         cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = content_of(s, &text, err);
    CF_THEN(st, accepts(p, cf_str_trim(cf_buf_str(&text)), out, why, err));
    cf_buf_deinit(&text);
    return st;
}

/* The length of the brackets that open at p[0], strings looked through; 0:
 * they do not close. */
static size_t brackets(const char *p, size_t n)
{
    size_t depth = 0;
    bool is_string = false;
    for (size_t i = 0; i < n; i++) {
        if (is_string) {
            if (p[i] == '\\') {
                i++; /* what it escapes */
            } else {
                is_string = p[i] != '"';
            }
        } else if (p[i] == '"') {
            is_string = true;
        } else if (p[i] == '{' || p[i] == '[') {
            depth++;
        } else if (p[i] == '}' || p[i] == ']') {
            if (--depth == 0) {
                return i + 1;
            }
        }
    }
    return 0;
}

/* The first object or list in the text that is JSON and fits; one inside
 * another that is JSON is not looked at. */
static cf_status contains_json(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                               cf_error *err)
{
    cf_buf text = CF_BUF_INIT, flaw = CF_BUF_INIT;
    cf_status st = content_of(s, &text, err);
    size_t n_looked = 0;
    *out = false;
    for (size_t i = 0; st == CF_OK && !*out && i < text.n;) {
        bool opens = text.p[i] == '{' || text.p[i] == '[';
        size_t n = opens ? brackets(text.p + i, text.n - i) : 0;
        n_looked += opens ? text.n - i : 0;
        if (n_looked > JSON_BYTES_MAX) {
            break;
        }
        if (n > 0) {
            cf_buf_restart(&flaw);
            st = accepts(p, cf_str_make(text.p + i, n), out, &flaw, err);
            CF_THEN(st, cf_buf_check(&flaw, err));
        }
        bool was_json = n > 0 && !cf_str_starts(cf_buf_str(&flaw), cf_str_from("not JSON"));
        i += was_json ? n : 1;
    }
    if (st == CF_OK && !*out) {
        cf_buf_adds(why, flaw.n > 0 ? cf_buf_cstr(&flaw) : "no JSON in it");
    }
    cf_buf_deinit(&flaw);
    cf_buf_deinit(&text);
    return st;
}

static cf_status read_json(cf_predicate *p, cf_error *err)
{
    return cf_json_read(&p->list, p->value, p->n_value, err);
}

static cf_status json_equals(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                             cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    json_t *v = NULL;
    cf_error not_json;
    cf_status st = content_of(s, &text, err);
    cf_str t = cf_str_trim(cf_buf_str(&text));
    cf_status read = st == CF_OK ? cf_json_read(&v, t.p, t.n, &not_json) : CF_OK;
    if (read == CF_ENOMEM) {
        st = cf_oom(err);
    } else if (read != CF_OK) {
        cf_buf_addf(why, "not JSON: %s", not_json.text);
    } else if (st == CF_OK) {
        *out = json_equal(v, p->list) != 0;
        cf_buf_adds(why, *out ? "" : "it is ");
        if (!*out) {
            quote(why, t);
        }
    }
    json_decref(v);
    cf_buf_deinit(&text);
    return st;
}

/* ---- the table ---------------------------------------------------------- */

static const cf_predicate__kind kinds[] = {
    {"reply", "reply:REGEX", CF_SEE_REPLY, true, true, read_regex, regex_holds, NULL},
    {"regex", "regex:REGEX", CF_SEE_REPLY, true, true, read_regex, regex_holds, NULL},
    {"contains", "contains:TEXT", CF_SEE_REPLY, true, true, NULL, contains, NULL},
    {"icontains", "icontains:TEXT", CF_SEE_REPLY, true, true, NULL, icontains, NULL},
    {"contains-all", "contains-all:[\"A\",\"B\"]", CF_SEE_REPLY, true, true, read_list,
     contains_all, NULL},
    {"contains-any", "contains-any:[\"A\",\"B\"]", CF_SEE_REPLY, true, true, read_list,
     contains_any, NULL},
    {"icontains-all", "icontains-all:[\"A\",\"B\"]", CF_SEE_REPLY, true, true, read_list,
     icontains_all, NULL},
    {"icontains-any", "icontains-any:[\"A\",\"B\"]", CF_SEE_REPLY, true, true, read_list,
     icontains_any, NULL},
    {"starts-with", "starts-with:TEXT", CF_SEE_REPLY, true, true, NULL, starts_with, NULL},
    {"equals", "equals:TEXT", CF_SEE_REPLY, false, true, NULL, equals, NULL},
    {"json-equals", "json-equals:JSON", CF_SEE_REPLY, true, true, read_json, json_equals, NULL},
    {"json", "json", CF_SEE_REPLY, false, false, NULL, is_json, NULL},
    {"schema", "schema:FILE", CF_SEE_REPLY, true, true, read_schema, is_json, NULL},
    {"contains-json", "contains-json[:SCHEMA]", CF_SEE_REPLY, false, true, read_schema,
     contains_json, NULL},
};

const cf_predicate__kind *cf_predicate__text_kind(size_t i)
{
    return i < sizeof kinds / sizeof kinds[0] ? &kinds[i] : NULL;
}
