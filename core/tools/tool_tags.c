/*
 * tool_tags.c - reads calls whose arguments are between tags, each as raw text:
 * <parameter=KEY>VALUE</parameter>.
 *
 * A closing literal inside a value ends the value only when something that
 * may follow does follow: the next argument or the end of the
 * call.  The last value's own closing literal may be missing.
 *
 * Where a tag is named by its key, <KEY>VALUE</KEY>, the value ends at its own
 * closing tag; tags of the same name inside it count.
 */
#include "core/tools/tool_values.h"

#include <stdio.h>
#include <string.h>

enum {
    NAME_MAX_ = 256 /* bytes of a function's name */
};

static const cf_str cdata_open = {"<![CDATA[", 9};
static const cf_str cdata_close = {"]]>", 3};

/* ---- the walk ----------------------------------------------------------- */

typedef struct walker {
    const cf_tool__syntax *y;
    cf_str raw;
    bool is_final, closed;
    cf_tool__walk *w;
    bool ran_out;
} walker;

static cf_tool__step fail_at(walker *k, size_t at, const char *phrase)
{
    k->w->err_off = at;
    snprintf(k->w->expected, sizeof k->w->expected, "%s", phrase);
    return CF_STEP_BAD;
}

/* One of two literals should have stood there; `other` may be empty. */
static cf_tool__step bad(walker *k, size_t at, cf_str what, cf_str other)
{
    char text[96];
    snprintf(text, sizeof text, other.n > 0 ? "'%.*s' or '%.*s'" : "'%.*s'%.*s",
             (int)(what.n < 40 ? what.n : 40), what.p, (int)(other.n < 40 ? other.n : 40),
             other.n > 0 ? other.p : "");
    return fail_at(k, at, text);
}

static bool literal(walker *k, size_t *at, cf_str text)
{
    cf_tool__match m = cf_tool__literal(k->raw, *at, k->is_final, text, at);
    k->ran_out = k->ran_out || m == CF_MATCH_MORE;
    return m == CF_MATCH_YES;
}

static size_t skip_space(const walker *k, size_t at)
{
    while (at < k->raw.n && cf_tool__is_space(k->raw.p[at])) {
        at++;
    }
    return at;
}

/* Bytes from *at up to `end`, at most `max`; *at is then after it. */
static cf_tool__step until(walker *k, size_t *at, cf_str end, size_t max, size_t *off, size_t *len)
{
    *off = *at;
    for (size_t i = *at; i < k->raw.n && i - *at <= max; i++) {
        size_t after = i;
        if (literal(k, &after, end)) {
            *len = i - *at;
            *at = after;
            return CF_STEP_ON;
        }
        if (k->ran_out) {
            return CF_STEP_MORE;
        }
    }
    if (k->raw.n - *at <= max && !k->is_final) {
        return CF_STEP_MORE;
    }
    return bad(k, k->raw.n - *at <= max ? k->raw.n : *at, end, cf_str_make(NULL, 0));
}

static cf_tool__step read_name(walker *k)
{
    cf_tool__walk *w = k->w;
    const cf_tool__syntax *y = k->y;
    size_t at = skip_space(k, w->at);
    w->name_off = at;
    while (at < k->raw.n && at - w->name_off <= NAME_MAX_ &&
           strchr(" \t\r\n<>\"'", k->raw.p[at]) == NULL) {
        at++;
    }
    if (at == k->raw.n && !k->is_final) {
        return CF_STEP_MORE;
    }
    w->name_len = at - w->name_off;
    if (w->name_len == 0 || w->name_len > NAME_MAX_) {
        return fail_at(k, w->name_off, "a function's name");
    }
    cf_str end = cf_tool__trim(y->name_end);
    size_t after = skip_space(k, at);
    if (y->name_alone != NULL && literal(k, &after, cf_str_from(y->name_alone))) {
        w->at = w->end = after;
        w->state = CF_WALK_DONE;
        return CF_STEP_ON;
    }
    if (end.n > 0 && (k->ran_out || !literal(k, &after, end))) {
        return k->ran_out ? CF_STEP_MORE : bad(k, after, end, cf_str_make(NULL, 0));
    }
    if (y->name_again != NULL) {
        cf_tool__step s =
            until(k, &after, cf_tool__trim(y->name_again), NAME_MAX_, &w->name_off, &w->name_len);
        if (s != CF_STEP_ON) {
            return s;
        }
    }
    if (y->index_end != NULL) {
        size_t off, len;
        cf_tool__step s = until(k, &after, cf_tool__trim(y->index_end), 64, &off, &len);
        if (s != CF_STEP_ON) {
            return s;
        }
    }
    w->at = after;
    w->state = CF_WALK_NEXT;
    return CF_STEP_ON;
}

static cf_tool__step read_next(walker *k)
{
    cf_tool__walk *w = k->w;
    size_t at = skip_space(k, w->at);
    cf_str param = cf_tool__trim(k->y->param);
    cf_str close = cf_tool__trim(k->y->call_close);
    size_t after = at;
    if (k->closed && at == k->raw.n) {
        w->at = w->end = at;
        w->state = CF_WALK_DONE;
        return CF_STEP_ON;
    }
    if (literal(k, &after, close)) {
        w->at = at; /* set if the body ends before the literal */
        w->end = after;
        w->state = CF_WALK_DONE;
        return CF_STEP_ON;
    }
    if (!k->ran_out && literal(k, &after, param)) {
        w->at = after;
        w->state = CF_WALK_KEY;
        return CF_STEP_ON;
    }
    return k->ran_out ? CF_STEP_MORE : bad(k, at, param, close);
}

/* One line end belongs to the syntax where key_end is written with one. */
static bool skip_line_end(walker *k, size_t *at)
{
    size_t n = strlen(k->y->key_end);
    if (k->y->key_end[n - 1] != '\n' || k->y->value_open != NULL) {
        return true;
    }
    if (*at == k->raw.n && !k->is_final) {
        return false;
    }
    size_t i = *at;
    if (i < k->raw.n && k->raw.p[i] == '\r') {
        i++;
        if (i == k->raw.n && !k->is_final) {
            return false;
        }
    }
    if (i < k->raw.n && k->raw.p[i] == '\n') {
        *at = i + 1;
    }
    return true;
}

static cf_tool__step read_key(walker *k)
{
    cf_tool__walk *w = k->w;
    const cf_tool__syntax *y = k->y;
    size_t at = w->at;
    cf_str key_end = cf_tool__trim(y->key_end);
    cf_tool__step s = until(k, &at, key_end, CF_TOOL_KEY_MAX, &w->key_off, &w->key_len);
    if (s == CF_STEP_ON && y->attr_end != NULL) {
        s = until(k, &at, cf_tool__trim(y->attr_end), CF_TOOL_KEY_MAX, &w->attr_off, &w->attr_len);
    }
    if (s != CF_STEP_ON) {
        return s;
    }
    if (y->skipped != NULL) {
        at = skip_space(k, at);
        size_t off, len;
        if (literal(k, &at, cf_tool__trim(y->skipped))) {
            s = until(k, &at, cf_tool__trim(y->skipped_end), CF_TOOL_KEY_MAX, &off, &len);
        }
        if (s != CF_STEP_ON || k->ran_out) {
            return k->ran_out ? CF_STEP_MORE : s;
        }
    }
    if (y->value_open != NULL) {
        cf_str open = cf_tool__trim(y->value_open);
        at = skip_space(k, at);
        while (literal(k, &at, key_end)) { /* closed twice */
            at = skip_space(k, at);
        }
        if (!k->ran_out && !literal(k, &at, open)) {
            return k->ran_out ? CF_STEP_MORE : bad(k, at, open, cf_str_make(NULL, 0));
        }
    }
    if (k->ran_out || !skip_line_end(k, &at)) {
        return CF_STEP_MORE;
    }
    w->value_off = at;
    w->depth = 0;
    w->in_cdata = y->has_cdata && literal(k, &at, cdata_open);
    if (k->ran_out) {
        return CF_STEP_MORE;
    }
    w->at = at;
    w->state = CF_WALK_VALUE;
    return CF_STEP_ON;
}

/* Whether a mark or nothing follows a call's end in a section: before other text
 * the end is part of a value. */
static bool is_before_mark(walker *k, size_t at)
{
    at = skip_space(k, at);
    if (at == k->raw.n) {
        k->ran_out = k->ran_out || !k->is_final;
        return k->is_final;
    }
    return k->raw.p[at] == cf_tool__trim(k->y->call_close).p[0];
}

/* Whether this may follow a value's closing literal, or replace it. */
static bool may_follow(walker *k, size_t at, bool is_call_end)
{
    const cf_tool__syntax *y = k->y;
    const char *const after_value[] = {y->param, y->call_close};
    const char *const after_call[] = {y->close, y->call_open};
    const char *const *next = is_call_end ? after_call : after_value;
    at = skip_space(k, at);
    if (at == k->raw.n) {
        k->ran_out = k->ran_out || !k->is_final;
        return k->is_final;
    }
    for (size_t i = 0; i < 2; i++) {
        size_t after = at;
        if (next[i] != NULL && literal(k, &after, cf_tool__trim(next[i]))) {
            return is_call_end || i == 0 || y->close == NULL || is_before_mark(k, after);
        }
    }
    return false;
}

static cf_tool__step end_value(walker *k, size_t end, size_t at)
{
    cf_tool__walk *w = k->w;
    const cf_tool__syntax *y = k->y;
    w->value_len = end - w->value_off;
    if (y->value_end[0] == '\n' && w->value_len > 0 && k->raw.p[end - 1] == '\n') {
        w->value_len--;
        if (w->value_len > 0 && k->raw.p[end - 2] == '\r') {
            w->value_len--;
        }
    }
    w->at = at;
    w->state = CF_WALK_NEXT;
    return CF_STEP_ARGUMENT;
}

/* Whether a tag of the open argument's own name follows the literal `lead`. */
static bool own_tag(walker *k, size_t *at, const char *lead)
{
    cf_str key = cf_str_make(k->raw.p + k->w->key_off, k->w->key_len);
    size_t after = *at;
    if (!literal(k, &after, cf_tool__trim(lead)) || !literal(k, &after, key) ||
        !literal(k, &after, cf_tool__trim(k->y->key_end))) {
        return false;
    }
    *at = after;
    return true;
}

/* A value that ends at the closing tag of its own name. */
static cf_tool__step read_keyed_value(walker *k)
{
    cf_tool__walk *w = k->w;
    cf_str value_end = cf_tool__trim(k->y->value_end);
    while (w->at < k->raw.n) {
        size_t after = w->at, call = w->at;
        if (k->raw.p[w->at] != value_end.p[0]) {
            w->at++;
            continue;
        }
        bool is_end = own_tag(k, &after, k->y->value_end);
        bool is_start = !is_end && own_tag(k, &after, k->y->param);
        bool is_call_end = !is_end && !is_start &&
                           literal(k, &call, cf_tool__trim(k->y->call_close)) &&
                           may_follow(k, call, true);
        if (k->ran_out) {
            return CF_STEP_MORE;
        }
        if (is_call_end) {
            return bad(k, w->at, value_end, cf_str_make(NULL, 0));
        }
        if (is_end && w->depth == 0) {
            return end_value(k, w->at, after);
        }
        w->depth += is_start ? 1 : 0;
        w->depth -= is_end ? 1 : 0;
        w->at = is_end || is_start ? after : w->at + 1;
    }
    return k->is_final ? bad(k, k->raw.n, value_end, cf_str_make(NULL, 0)) : CF_STEP_MORE;
}

static cf_tool__step read_value(walker *k)
{
    cf_tool__walk *w = k->w;
    if (k->y->keys_are_tags) {
        return read_keyed_value(k);
    }
    cf_str value_end = cf_tool__trim(k->y->value_end);
    cf_str call_end = cf_tool__trim(k->y->call_close);
    for (; w->at < k->raw.n; w->at++) {
        size_t after = w->at;
        if (w->in_cdata) {
            w->in_cdata = !literal(k, &after, cdata_close);
        } else if (k->raw.p[after] == value_end.p[0] || k->raw.p[after] == call_end.p[0]) {
            if (literal(k, &after, value_end) && (may_follow(k, after, false) || k->ran_out)) {
                return k->ran_out ? CF_STEP_MORE : end_value(k, w->at, after);
            }
            after = w->at;
            if (!k->ran_out && literal(k, &after, call_end) && may_follow(k, after, true)) {
                return k->ran_out ? CF_STEP_MORE : end_value(k, w->at, w->at);
            }
        }
        if (k->ran_out) {
            return CF_STEP_MORE;
        }
    }
    if (k->closed) { /* the last value's end is missing */
        return end_value(k, k->raw.n, k->raw.n);
    }
    return k->is_final ? bad(k, k->raw.n, value_end, cf_str_make(NULL, 0)) : CF_STEP_MORE;
}

cf_tool__step cf_tool__walk_step(const cf_tool__syntax *y, cf_str raw, bool is_final, bool closed,
                                 cf_tool__walk *w)
{
    walker k = {y, raw, is_final, closed, w, false};
    switch (w->state) {
    case CF_WALK_NAME:
        return read_name(&k);
    case CF_WALK_NEXT:
        return read_next(&k);
    case CF_WALK_KEY:
        return read_key(&k);
    case CF_WALK_VALUE:
        return read_value(&k);
    case CF_WALK_DONE:
        break;
    }
    return CF_STEP_ON;
}

/* ---- one call ----------------------------------------------------------- */

/* Bytes of a name or key, its XML escapes undone where it has any. */
static cf_str plain_name(cf_tool__emit *e, const cf_tool__syntax *y, size_t off, size_t len)
{
    static const struct {
        const char *from;
        char to;
    } escapes[] = {{"&amp;", '&'}, {"&quot;", '"'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&apos;", '\''}};
    cf_str s = cf_str_make(e->p + off, len);
    if (!y->xml_attrs || memchr(s.p, '&', s.n) == NULL) {
        return s;
    }
    char *copy = cf_arena_alloc(e->arena, len + 1);
    size_t n = 0;
    if (copy == NULL) {
        e->oom = true;
        return cf_str_make("", 0);
    }
    for (size_t i = 0; i < s.n;) {
        size_t step = 1;
        char c = s.p[i];
        for (size_t k = 0; k < sizeof escapes / sizeof escapes[0]; k++) {
            size_t m = strlen(escapes[k].from);
            if (i + m <= s.n && memcmp(s.p + i, escapes[k].from, m) == 0) {
                step = m;
                c = escapes[k].to;
                break;
            }
        }
        copy[n++] = c;
        i += step;
    }
    copy[n] = '\0';
    return cf_str_make(copy, n);
}

/* "f.f" as f where only that is declared. */
static cf_str single_name(const cf_tool_set *tools, cf_str name)
{
    cf_str half = cf_str_make(name.p, name.n / 2);
    bool is_double = name.n % 2 == 1 && name.p[half.n] == '.' &&
                     cf_str_eq(half, cf_str_make(name.p + half.n + 1, half.n));
    bool is_meant = is_double && tools != NULL && cf_tool_set_find(tools, name) == NULL &&
                    cf_tool_set_find(tools, half) != NULL;
    return is_meant ? half : name;
}

static const json_t *parameters_of(const cf_tool_set *tools, cf_str name)
{
    const cf_tool *tool = tools != NULL ? cf_tool_set_find(tools, name) : NULL;
    return tool != NULL ? tool->parameters : NULL;
}

static bool put_argument(cf_tool__emit *e, const cf_tool__syntax *y, const cf_tool__walk *w,
                         cf_tool__members *m, const json_t *root)
{
    size_t which = 0;
    size_t key_off = w->key_off, key_len = w->key_len;
    while (key_len > 0 && cf_tool__is_space(e->p[key_off])) {
        key_off++;
        key_len--;
    }
    while (key_len > 0 && cf_tool__is_space(e->p[key_off + key_len - 1])) {
        key_len--;
    }
    cf_str key = plain_name(e, y, key_off, key_len);
    e->at = key_off;
    cf_tool__dup dup = cf_tool__member_begin(e, m, key, &which);
    if (dup == CF_TOOL_DUP_FAILED) {
        return false;
    }
    size_t mark = cf_tool__path_key(e, key);
    bool ok = cf_tool__text_value(e, y, w->value_off, w->value_off + w->value_len,
                                  cf_str_make(e->p + w->attr_off, w->attr_len),
                                  cf_tool__types(root, cf_tool__member_schema(root, root, key)));
    cf_tool__path_pop(e, mark);
    if (ok && dup == CF_TOOL_DUP_YES) {
        cf_tool__note_add(e, key_off, "repeated key: the last value counts");
        cf_tool__member_drop(e, m, which);
    }
    return ok && (!e->json.failed || cf_tool__oom(e));
}

/* The arguments that `w` walks over, as one object. */
static bool put_arguments(cf_tool__emit *e, const cf_tool__syntax *y, cf_tool__walk *w, bool closed,
                          const json_t *root)
{
    cf_tool__members m = {NULL, 0, 0};
    bool ok = true;
    cf_buf_addc(&e->json, '{');
    while (ok && w->state != CF_WALK_DONE) {
        cf_tool__step s = cf_tool__walk_step(y, cf_str_make(e->p, e->end), true, closed, w);
        ok = s == CF_STEP_BAD        ? cf_tool__expect(e, w->err_off, w->expected)
             : s == CF_STEP_ARGUMENT ? put_argument(e, y, w, &m, root)
                                     : true;
    }
    cf_buf_addc(&e->json, '}');
    cf_tool__members_deinit(&m);
    return ok;
}

bool cf_tool__tags_call(cf_tool__emit *e, const cf_tool__syntax *y, bool closed,
                        const cf_tool_set *tools)
{
    cf_tool__walk w = {.at = e->at};
    cf_tool__raw_call call;
    memset(&call, 0, sizeof call);
    call.off = e->at;
    call.first_span = e->n_spans;
    cf_buf_reset(&e->json);
    e->path.n = 0;
    if (cf_tool__walk_step(y, cf_str_make(e->p, e->end), true, closed, &w) == CF_STEP_BAD) {
        return cf_tool__expect(e, w.err_off, w.expected);
    }
    call.args_off = w.at;
    call.name = plain_name(e, y, w.name_off, w.name_len);
    if (y->is_doubled) {
        call.name = single_name(tools, call.name);
    }
    const json_t *root = parameters_of(tools, call.name);
    bool ok = y->keys_are_tags ? cf_tool__nested_object(e, y, &w, closed, root, root)
                               : put_arguments(e, y, &w, closed, root);
    if (!ok || e->json.failed) {
        return ok ? cf_tool__oom(e) : false;
    }
    call.name_off = w.name_off;
    call.name_len = w.name_len;
    call.args_len = w.at - call.args_off;
    call.n_spans = e->n_spans - call.first_span;
    call.has_args = true;
    call.len = e->end - call.off;
    call.arguments = cf_buf_str(&e->json);
    return !e->oom && cf_tool__call_add(e, &call);
}
