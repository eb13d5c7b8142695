/*
 * predicate.c - the table of kinds: how each reads its value, and its test.
 */
#include "tui/study/ask/predicate_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/api/message.h"
#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/base/os.h"
#include "tui/study/ask/predicate_command.h"

enum { COMMAND_MS = 60000 };

cf_str cf_predicate__value(const cf_predicate *p)
{
    return cf_str_make(p->value, p->n_value);
}

/* ---- calls -------------------------------------------------------------- */

static cf_status call_invalid(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                              cf_error *err)
{
    (void)p;
    (void)err;
    *out = s->calls != CF_TOOL_VALID;
    const json_t *first = json_array_get(s->findings, 0);
    cf_str text = cf_json_get_str(first, "text");
    cf_buf_adds(why, *out ? cf_tool_status_name(s->calls) : "no call is invalid");
    if (*out && text.n > 0) {
        cf_buf_adds(why, ": ");
        cf_buf_add(why, text.p, text.n);
    }
    return CF_OK;
}

static cf_status read_call_invalid(cf_predicate *p, cf_error *err)
{
    return p->n_value == 0 || cf_str_is(cf_predicate__value(p), "any")
               ? CF_OK
               : cf_fail(err, CF_EINVAL, "call-invalid takes any, or nothing");
}

static void which_invalid(const cf_predicate *p, const cf_sight *s, cf_buf *out)
{
    const json_t *first = json_array_get(s->findings, 0);
    cf_str path = cf_json_get_str(first, "path");
    if (p->n_value == 0) {
        cf_buf_addf(out, "%s %.*s", cf_tool_status_name(s->calls), (int)path.n,
                    path.n > 0 ? path.p : "");
    }
}

static cf_status calls_valid(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                             cf_error *err)
{
    (void)err;
    cf_message_call call;
    size_t n = 0;
    bool has = false;
    for (; cf_message_call_at(&call, s->message, n); n++) {
        has = has || p->n_value == 0 || cf_str_eq(call.name, cf_predicate__value(p));
    }
    *out = has && s->calls == CF_TOOL_VALID;
    if (s->calls != CF_TOOL_VALID) {
        return call_invalid(p, s, &(bool){false}, why, err);
    }
    cf_buf_addf(why, "%zu calls%s", n, n == 0 || has ? "" : ", none of that function");
    return CF_OK;
}

/* How many calls of declared functions a family finds in a reply. */
static cf_status count_calls(cf_tool_family family, const cf_sight *s, size_t *n, cf_error *err)
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

static cf_status parse_lost(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                            cf_error *err)
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
                        cf_tool_family_name((cf_tool_family)f), cf_tool_family_name(s->family));
        }
    }
    return CF_OK;
}

static void which_lost(const cf_predicate *p, const cf_sight *s, cf_buf *out)
{
    (void)p;
    cf_buf_adds(out, s->calls == CF_TOOL_PARSE_ERROR ? "does not parse" : "another family");
}

/* ---- tokens, prompts, commands ------------------------------------------ */

static cf_status read_token(cf_predicate *p, cf_error *err)
{
    char *end, *after = NULL;
    long id = strtol(p->value, &end, 10);
    long long place = *end == '@' ? strtoll(end + 1, &after, 10) : -1;
    if (end == p->value || *end != '@' || after == end + 1 || *after != '\0' || id < 0 ||
        id > INT32_MAX || place < 0 || place > UINT32_MAX) {
        return cf_fail(err, CF_EINVAL, "token takes ID@PLACE, as in token:1234@0");
    }
    p->id = (cf_token)id;
    p->place = (size_t)place;
    return CF_OK;
}

static cf_status token_holds(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                             cf_error *err)
{
    if (s->n_ids == 0 && s->raw.n != 0) {
        return cf_fail(err, CF_EUNSUPPORTED, "token: this engine does not show its tokens");
    }
    *out = p->place < s->n_ids && s->ids[p->place] == p->id;
    if (p->place >= s->n_ids) {
        cf_buf_addf(why, "the reply has %zu tokens", s->n_ids);
    } else {
        cf_buf_addf(why, "token %zu is %d", p->place, (int)s->ids[p->place]);
    }
    return CF_OK;
}

static cf_status cache_lost(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                            cf_error *err)
{
    (void)p;
    (void)err;
    *out = s->is_cache_lost;
    cf_buf_adds(why, s->cache_loss != NULL ? s->cache_loss
                     : *out                ? "an earlier prompt is not a prefix"
                                           : "earlier prompts are prefixes");
    return CF_OK;
}

static cf_status template_error(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                                cf_error *err)
{
    (void)p;
    (void)err;
    *out = s->rendered != CF_OK;
    cf_buf_adds(why, !*out ? "it renders" : s->render_error != NULL ? s->render_error : "it fails");
    return CF_OK;
}

/* The error's text without its numbers: a place in a template, or in a list,
 * differs in a smaller context. */
static void which_error(const cf_predicate *p, const cf_sight *s, cf_buf *out)
{
    (void)p;
    for (const char *c = s->render_error; c != NULL && *c != '\0'; c++) {
        if (!isdigit((unsigned char)*c)) {
            cf_buf_addc(out, *c);
        }
    }
}

static cf_status command_holds(const cf_predicate *p, const cf_sight *s, bool *out, cf_buf *why,
                               cf_error *err)
{
    cf_buf input = CF_BUF_INIT;
    int status = 0;
    cf_json_write(&input, s->context);
    cf_buf_addc(&input, '\n');
    cf_status st = cf_buf_check(&input, err);
    uint32_t ms = s->command_ms != 0 ? s->command_ms : COMMAND_MS;
    cf_buf last = CF_BUF_INIT;
    CF_THEN(st, cf_study_command(p->value, cf_buf_str(&input), ms, s->cancel, &status, &last, err));
    if (st == CF_OK && WIFEXITED(status) &&
        (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127)) {
        st = cf_fail(err, CF_EIO, "command: it cannot be run (status %d)", WEXITSTATUS(status));
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

static const cf_predicate__kind kinds[] = {
    {"call-invalid", "call-invalid", CF_SEE_REPLY, false, true, read_call_invalid, call_invalid,
     which_invalid},
    {"calls-valid", "calls-valid", CF_SEE_REPLY, false, true, NULL, calls_valid, NULL},
    {"parse-lost", "parse-lost", CF_SEE_REPLY, false, false, NULL, parse_lost, which_lost},
    {"token", "token:ID@PLACE", CF_SEE_REPLY, true, true, read_token, token_holds, NULL},
    {"cache-lost", "cache-lost", CF_SEE_CACHE, false, false, NULL, cache_lost, NULL},
    {"template-error", "template-error", CF_SEE_RENDER, false, false, NULL, template_error,
     which_error},
    {"command", "command:CMD", CF_SEE_COMMAND, true, true, NULL, command_holds, NULL},
};

enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

/* All kinds, those about texts last; NULL past the end. */
static const cf_predicate__kind *kind_at(size_t i)
{
    return i < N_KINDS ? &kinds[i] : cf_predicate__text_kind(i - N_KINDS);
}

const char *cf_predicate_kind(size_t i)
{
    const cf_predicate__kind *k = kind_at(i);
    return k != NULL ? k->form : NULL;
}

static cf_status find_kind(const cf_predicate__kind **out, cf_str name, cf_error *err)
{
    cf_buf list = CF_BUF_INIT;
    const cf_predicate__kind *k;
    for (size_t i = 0; (k = kind_at(i)) != NULL; i++) {
        if (cf_str_is(name, k->name)) {
            cf_buf_deinit(&list);
            *out = k;
            return CF_OK;
        }
        cf_buf_addf(&list, "%s%s", i > 0 ? ", " : "", k->name);
    }
    cf_fail(err, CF_EINVAL, "no predicate '%.*s': use one of %s", (int)(name.n < 20 ? name.n : 20),
            name.p != NULL ? name.p : "", cf_buf_cstr(&list));
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
    const cf_str negation = cf_str_from("not-");
    p->is_negated = cf_str_starts(name, negation);
    CF_TRY(find_kind(&p->kind,
                     p->is_negated ? cf_str_make(name.p + negation.n, name.n - negation.n) : name,
                     err));
    if (value.n == 0 ? p->kind->has_value : !p->kind->takes_value) {
        return cf_fail(err, CF_EINVAL, "%s is written %s", p->kind->name, p->kind->form);
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

cf_status cf_predicate_new(cf_predicate **out, cf_str name, cf_str value, cf_error *err)
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
    return cf_predicate_new(
        out, cf_str_make(text.p, n),
        colon != NULL ? cf_str_make(colon + 1, text.n - n - 1) : cf_str_make(NULL, 0), err);
}

void cf_predicate_free(cf_predicate *p)
{
    if (p == NULL) {
        return;
    }
    pcre2_code_free(p->code);
    json_decref(p->schema);
    json_decref(p->list);
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

/* The bytes of each file that a command names, by the words of its text. */
static void put_files(const cf_predicate *p, cf_buf *out)
{
    enum { FILE_MAX = 16 << 20 };
    static const char ends[] = " \t\n;|&<>()'\"`$=";
    for (const char *at = p->value; *at != '\0';) {
        char path[4096], hash[CF_HASH_TEXT + 1];
        size_t n = strcspn(at, ends);
        struct stat about;
        cf_buf text = CF_BUF_INIT;
        cf_error ignored;
        snprintf(path, sizeof path, "%.*s", (int)(n < sizeof path ? n : 0), at);
        if (n > 0 && stat(path, &about) == 0 && S_ISREG(about.st_mode) &&
            cf_os_read_file(&text, path, FILE_MAX, &ignored) == CF_OK) {
            cf_hash_hex(hash, cf_buf_cstr(&text), text.n);
            cf_buf_addf(out, "%s %s\n", path, hash);
        }
        cf_buf_deinit(&text);
        at += n;
        at += strspn(at, ends);
    }
}

void cf_predicate_put_identity(const cf_predicate *p, cf_buf *out)
{
    cf_buf_add(out, p->text, p->n_text);
    cf_buf_addc(out, '\0');
    if (p->schema != NULL) {
        cf_json_write(out, p->schema);
    }
    if ((p->kind->needs & CF_SEE_COMMAND) != 0) {
        put_files(p, out);
    }
}

void cf_predicate_put_failure(const cf_predicate *p, const cf_sight *sight, cf_buf *out)
{
    if (p->kind->failure != NULL && !p->is_negated) {
        p->kind->failure(p, sight, out);
    }
}

void cf_sight_response(cf_sight *s, const cf_chat_response *r, cf_tool_family family,
                       const cf_tool_set *tools)
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

cf_status cf_predicate_holds(const cf_predicate *p, const cf_sight *sight, bool *holds, cf_buf *why,
                             cf_error *err)
{
    cf_buf unused = CF_BUF_INIT;
    why = why != NULL ? why : &unused;
    *holds = false;
    if ((p->kind->needs & CF_SEE_REPLY) != 0 && !sight->has_reply) {
        return cf_fail(err, CF_EINVAL, "%s: there is no reply to look at", p->kind->name);
    }
    cf_status st = p->kind->holds(p, sight, holds, why, err);
    CF_THEN(st, cf_buf_check(why, err));
    *holds = st == CF_OK && *holds != p->is_negated;
    cf_buf_deinit(&unused);
    return st;
}
