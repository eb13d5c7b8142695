/*
 * sweep_check.c - reads checks, and asks those that are predicates.
 */
#include "tui/study/plan/sweep_check.h"

#include <math.h>
#include <stdlib.h>

#include "tui/study/plan/sweep_words.h"

void cf_sweep_check_deinit(cf_sweep_check *c)
{
    cf_predicate_free(c->ready);
    c->ready = NULL;
}

/* ---- fields ------------------------------------------------------------- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* The bytes of a name in braces at p[0..n); 0: none. */
static size_t field_at(const char *p, size_t n)
{
    size_t k = 1;
    while (n > 0 && p[0] == '{' && k < n && is_word(p[k])) {
        k++;
    }
    return k > 1 && k < n && p[k] == '}' ? k + 1 : 0;
}

static bool has_fields(cf_str value)
{
    for (size_t i = 0; i < value.n; i++) {
        if (field_at(value.p + i, value.n - i) > 0 &&
            !(value.p[i + 1] >= '0' && value.p[i + 1] <= '9')) {
            return true;
        }
    }
    return false;
}

void cf_sweep_check_value(const cf_sweep_check *c, const json_t *fields, cf_buf *out)
{
    for (size_t i = 0; i < c->value.n;) {
        size_t n = field_at(c->value.p + i, c->value.n - i);
        const json_t *v = n > 0 ? json_object_getn(fields, c->value.p + i + 1, n - 2) : NULL;
        if (json_is_string(v)) {
            cf_buf_add(out, json_string_value(v), json_string_length(v));
        } else if (v != NULL) {
            cf_json_write(out, v);
        } else {
            cf_buf_addc(out, c->value.p[i]);
            n = 1;
        }
        i += n;
    }
}

void cf_sweep_check_key(const cf_sweep_check *c, const json_t *fields, cf_buf *out)
{
    cf_buf_addf(out, "%s:%s%s%s:", c->kind == CF_CHECK_JUDGE ? "judge" : "likelihood",
                c->model != NULL ? c->model : "", c->server_model != NULL ? " " : "",
                c->server_model != NULL ? c->server_model : "");
    cf_sweep_check_value(c, fields, out);
}

/* ---- reading ------------------------------------------------------------ */

static cf_str copy(cf_arena *arena, cf_str s)
{
    char *p = cf_arena_strndup(arena, s.p, s.n);
    return cf_str_make(p, p != NULL ? s.n : 0);
}

/* ">=X TEXT", or TEXT. */
static cf_status read_likelihood(cf_sweep_check *c, cf_str rest, cf_arena *arena, cf_error *err)
{
    c->kind = CF_CHECK_LIKELIHOOD;
    c->least = -1;
    if (rest.n > 2 && rest.p[0] == '>' && rest.p[1] == '=') {
        char number[32], *end;
        cf_str word = cf_sweep__word(&rest);
        snprintf(number, sizeof number, "%.*s", (int)(word.n - 2 < 31 ? word.n - 2 : 31),
                 word.p + 2);
        c->least = strtod(number, &end);
        if (end == number || *end != '\0' || !isfinite(c->least)) {
            return cf_fail(err, CF_EINVAL, "'%s' is not a number", number);
        }
    }
    c->value = copy(arena, rest);
    return rest.n > 0 ? CF_OK
                      : cf_fail(err, CF_EINVAL, "likelihood: the text of a reply is missing");
}

static cf_status read_judge(cf_sweep_check *c, cf_str rest, cf_arena *arena, cf_error *err)
{
    c->kind = CF_CHECK_JUDGE;
    c->model = copy(arena, cf_sweep__word(&rest)).p;
    c->value = copy(arena, rest);
    return rest.n > 0 ? CF_OK : cf_fail(err, CF_EINVAL, "judge: a model and a question are needed");
}

/* A plan may come from anybody: it names no program to run. */
static cf_status only_reply(const cf_predicate *p, const cf_sweep_check *c, cf_error *err)
{
    return (cf_predicate_needs(p) & ~(uint32_t)CF_SEE_REPLY) == 0
               ? CF_OK
               : cf_fail(err, CF_EINVAL, "'%.40s' is not about a reply: a sweep cannot check it",
                         c->predicate.p);
}

cf_status cf_sweep_check_read(cf_sweep_check *out, cf_str text, cf_arena *arena,
                              const char *(*find)(void *ud, cf_str name), void *ud, cf_error *err)
{
    cf_sweep_check c = {.kind = CF_CHECK_PREDICATE};
    cf_str rest = text;
    c.name = copy(arena, cf_sweep__word(&rest));
    cf_str kind = cf_sweep__word(&rest);
    if (c.name.n == 0 || kind.n == 0) {
        return cf_fail(err, CF_EINVAL, "check NAME KIND [VALUE]");
    }
    if (cf_str_is(kind, "likelihood")) {
        CF_TRY(read_likelihood(&c, rest, arena, err));
    } else if (cf_str_is(kind, "judge")) {
        CF_TRY(read_judge(&c, rest, arena, err));
    } else {
        c.predicate = copy(arena, kind);
        bool is_file =
            cf_str_is(kind, "schema") && rest.n > 0 && rest.p[0] != '{' && !has_fields(rest);
        c.value = is_file ? cf_str_from(find(ud, rest)) : copy(arena, rest);
    }
    if (arena->failed) {
        return cf_oom_for(err, "the plan");
    }
    if (c.kind == CF_CHECK_PREDICATE) {
        const bool has = has_fields(c.value);
        cf_status st = cf_predicate_new(&c.ready, c.predicate, c.value, err);
        const bool is_later = has && st != CF_OK && st != CF_ENOMEM; /* a field makes it whole */
        CF_THEN(st, only_reply(c.ready, &c, err));
        if (st != CF_OK || has) {
            cf_sweep_check_deinit(&c); /* with fields it is made for each prompt */
        }
        CF_TRY(is_later ? CF_OK : st);
    }
    *out = c;
    return CF_OK;
}

/* ---- asking ------------------------------------------------------------- */

cf_status cf_sweep_check_ask(const cf_sweep_check *c, const json_t *fields, const cf_sight *sight,
                             bool *holds, cf_buf *why, cf_error *err)
{
    if (c->ready != NULL) {
        return cf_predicate_holds(c->ready, sight, holds, why, err);
    }
    cf_buf value = CF_BUF_INIT;
    cf_predicate *p = NULL;
    cf_sweep_check_value(c, fields, &value);
    cf_status st = cf_buf_check(&value, err);
    CF_THEN(st, cf_predicate_new(&p, c->predicate, cf_buf_str(&value), err));
    CF_THEN(st, only_reply(p, c, err));
    CF_THEN(st, cf_predicate_holds(p, sight, holds, why, err));
    cf_predicate_free(p);
    cf_buf_deinit(&value);
    return st;
}
