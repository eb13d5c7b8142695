/*
 * tool_emit.c - implements the shared half of the call grammars: JSON text,
 * spans, paths, repeated keys, numbers.
 */
#include "core/tools/tool_emit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

enum { DIGITS_MAX = 300 }; /* so that a double can hold its size */

void cf_tool__emit_init(cf_tool__emit *e, const char *p, size_t at, size_t end, cf_arena *arena)
{
    memset(e, 0, sizeof *e);
    e->p = p;
    e->at = at;
    e->end = end;
    e->arena = arena;
}

void cf_tool__emit_deinit(cf_tool__emit *e)
{
    cf_buf_deinit(&e->json);
    cf_buf_deinit(&e->str);
    cf_buf_deinit(&e->path);
}

bool cf_tool__expect(cf_tool__emit *e, size_t off, const char *what)
{
    e->err_off = off < e->end ? off : e->end;
    e->open_off = e->err_off;
    snprintf(e->expected, sizeof e->expected, "%s", what);
    return false;
}

bool cf_tool__oom(cf_tool__emit *e)
{
    e->oom = true;
    return false;
}

/* Makes room for one more item of `size` bytes in an arena array. */
static void *grow(cf_arena *arena, void *v, size_t n, size_t *cap, size_t size)
{
    if (n < *cap) {
        return v;
    }
    size_t want = *cap == 0 ? 8 : *cap * 2;
    void *to = cf_arena_alloc(arena, want * size);
    if (to == NULL) {
        return NULL;
    }
    if (n > 0) {
        memcpy(to, v, n * size);
    }
    *cap = want;
    return to;
}

static cf_str arena_str(cf_arena *arena, const char *p, size_t n)
{
    char *copy = cf_arena_strndup(arena, p, n);
    return cf_str_make(copy, copy != NULL ? n : 0);
}

size_t cf_tool__span_open(cf_tool__emit *e)
{
    if (e->quiet > 0 || e->n_spans >= CF_TOOL_SPANS_MAX) {
        return SIZE_MAX;
    }
    cf_tool_span *v = grow(e->arena, e->spans, e->n_spans, &e->cap_spans, sizeof *v);
    if (v == NULL) {
        e->oom = true;
        return SIZE_MAX;
    }
    e->spans = v;
    size_t n = e->path.n < CF_TOOL_PATH_MAX ? e->path.n : CF_TOOL_PATH_MAX;
    v[e->n_spans].path = arena_str(e->arena, cf_buf_cstr(&e->path), n);
    v[e->n_spans].off = e->at;
    v[e->n_spans].len = 0;
    return e->n_spans++;
}

void cf_tool__span_close(cf_tool__emit *e, size_t span)
{
    if (span != SIZE_MAX) {
        e->spans[span].len = e->at - e->spans[span].off;
    }
}

static bool is_plain_key(cf_str key)
{
    for (size_t i = 0; i < key.n; i++) {
        if (!cf_tool__is_name(key.p[i]) && key.p[i] != '-') {
            return false;
        }
    }
    return key.n > 0;
}

size_t cf_tool__path_key(cf_tool__emit *e, cf_str key)
{
    size_t mark = e->path.n;
    if (e->quiet > 0 || mark > CF_TOOL_PATH_MAX) {
        return mark;
    }
    if (is_plain_key(key)) {
        if (mark > 0) {
            cf_buf_addc(&e->path, '.');
        }
        cf_buf_add(&e->path, key.p, key.n);
    } else {
        cf_buf_addc(&e->path, '[');
        cf_json_write_str(&e->path, key);
        cf_buf_addc(&e->path, ']');
    }
    return mark;
}

size_t cf_tool__path_index(cf_tool__emit *e, size_t i)
{
    size_t mark = e->path.n;
    if (e->quiet == 0 && mark <= CF_TOOL_PATH_MAX) {
        cf_buf_addf(&e->path, "[%zu]", i);
    }
    return mark;
}

void cf_tool__path_pop(cf_tool__emit *e, size_t mark)
{
    if (mark < e->path.n) {
        e->path.n = mark;
        e->path.p[mark] = '\0';
    }
}

bool cf_tool__enter(cf_tool__emit *e)
{
    if (e->depth >= CF_TOOL_DEPTH_MAX) {
        return cf_tool__expect(e, e->at, "fewer than 64 levels of nesting");
    }
    e->depth++;
    return true;
}

void cf_tool__leave(cf_tool__emit *e)
{
    e->depth--;
}

void cf_tool__note_add(cf_tool__emit *e, size_t off, const char *text)
{
    if (e->n_notes >= CF_TOOL_CALLS_MAX) {
        return;
    }
    cf_tool__note *v = grow(e->arena, e->notes, e->n_notes, &e->cap_notes, sizeof *v);
    if (v == NULL) {
        e->oom = true;
        return;
    }
    e->notes = v;
    v[e->n_notes++] = (cf_tool__note){off, e->n_calls, cf_str_from(text)};
}

static cf_tool__dup find_member(cf_tool__emit *e, const cf_tool__members *m, const char *key,
                                size_t n, size_t *which)
{
    for (size_t i = 0; i < m->n; i++) {
        if (m->v[i].key_len == n && memcmp(e->json.p + m->v[i].off, key, n) == 0) {
            *which = i;
            return CF_TOOL_DUP_YES;
        }
    }
    return CF_TOOL_DUP_NO;
}

cf_tool__dup cf_tool__member_begin(cf_tool__emit *e, cf_tool__members *m, cf_str key, size_t *which)
{
    if (key.n > 0 && memchr(key.p, '\0', key.n) != NULL) {
        cf_tool__expect(e, e->at, "a key without NUL");
        return CF_TOOL_DUP_FAILED;
    }
    if (m->n >= CF_TOOL_MEMBERS_MAX) {
        cf_tool__expect(e, e->at, "at most 4096 members in an object");
        return CF_TOOL_DUP_FAILED;
    }
    if (m->n == m->cap) {
        size_t cap = m->cap == 0 ? 8 : m->cap * 2;
        void *v = cf_realloc(m->v, cap, sizeof *m->v);
        if (v == NULL) {
            e->oom = true;
            return CF_TOOL_DUP_FAILED;
        }
        m->v = v;
        m->cap = cap;
    }
    if (m->n > 0) {
        cf_buf_addc(&e->json, ',');
    }
    size_t off = e->json.n;
    cf_json_write_str(&e->json, key);
    if (e->json.failed) {
        e->oom = true;
        return CF_TOOL_DUP_FAILED;
    }
    size_t n = e->json.n - off;
    cf_tool__dup dup = find_member(e, m, e->json.p + off, n, which);
    m->v[m->n].off = off;
    m->v[m->n].key_len = n;
    m->n++;
    cf_buf_addc(&e->json, ':');
    return dup;
}

void cf_tool__member_drop(cf_tool__emit *e, cf_tool__members *m, size_t which)
{
    /* A later member always follows, so its comma goes with this one. */
    size_t off = m->v[which].off;
    size_t next = m->v[which + 1].off;
    if (e->json.failed || next > e->json.n) {
        return;
    }
    memmove(e->json.p + off, e->json.p + next, e->json.n - next + 1);
    e->json.n -= next - off;
    for (size_t i = which; i + 1 < m->n; i++) {
        m->v[i].off = m->v[i + 1].off - (next - off);
        m->v[i].key_len = m->v[i + 1].key_len;
    }
    m->n--;
}

void cf_tool__members_deinit(cf_tool__members *m)
{
    cf_free(m->v);
    memset(m, 0, sizeof *m);
}

bool cf_tool__number(cf_tool__emit *e, const char *p, size_t n, bool is_real)
{
    if (is_real) {
        char small[64];
        char *text = n < sizeof small ? small : cf_alloc(n + 1);
        if (text == NULL) {
            return cf_tool__oom(e);
        }
        memcpy(text, p, n);
        text[n] = '\0';
        double v = strtod(text, NULL);
        if (text != small) {
            cf_free(text);
        }
        if (!isfinite(v)) {
            return cf_tool__expect(e, e->at, "a number within double range");
        }
        cf_json_write_double(&e->json, v);
        return true;
    }
    bool is_negative = n > 0 && p[0] == '-';
    if (n > 0 && (p[0] == '-' || p[0] == '+')) {
        p++;
        n--;
    }
    while (n > 1 && p[0] == '0') {
        p++;
        n--;
    }
    if (n > DIGITS_MAX) {
        return cf_tool__expect(e, e->at, "an integer of at most 300 digits");
    }
    if (is_negative && !(n == 1 && p[0] == '0')) {
        cf_buf_addc(&e->json, '-');
    }
    cf_buf_add(&e->json, p, n);
    return true;
}

bool cf_tool__call_add(cf_tool__emit *e, const cf_tool__raw_call *call)
{
    if (e->n_calls >= CF_TOOL_CALLS_MAX) {
        return cf_tool__expect(e, call->off, "at most 4096 calls");
    }
    cf_tool__raw_call *v = grow(e->arena, e->calls, e->n_calls, &e->cap_calls, sizeof *v);
    if (v == NULL) {
        return cf_tool__oom(e);
    }
    e->calls = v;
    cf_tool__raw_call *to = &v[e->n_calls];
    *to = *call;
    to->name = arena_str(e->arena, call->name.p, call->name.n);
    to->id = arena_str(e->arena, call->id.p, call->id.n);
    to->arguments = arena_str(e->arena, call->arguments.p, call->arguments.n);
    if (e->arena->failed) {
        return cf_tool__oom(e);
    }
    e->n_calls++;
    return true;
}
