/*
 * aligned.c - edits text and keeps its map back to the input.
 */
#include "core/token/aligned.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"

void cf_rewrite_deinit(cf_rewrite *e)
{
    cf_free(e->p);
    cf_free(e->map);
    memset(e, 0, sizeof *e);
}

void cf_rewrite_reset(cf_rewrite *e)
{
    e->n = 0;
    e->no_memory = e->too_long = false;
}

cf_status cf_rewrite_check(const cf_rewrite *e, cf_error *err)
{
    if (e->no_memory) {
        return cf_oom(err);
    }
    return e->too_long ? cf_fail(err, CF_ELIMIT,
                                 "the tokenizer's rules make the text longer "
                                 "than %zu bytes",
                                 e->limit)
                       : CF_OK;
}

static bool make_room(cf_rewrite *e, size_t n)
{
    if (e->no_memory || e->too_long) {
        return false;
    }
    if (n > e->limit - e->n) {
        e->too_long = true;
        return false;
    }
    if (!cf_grow(&e->p, &e->cap_p, e->n + n, 1) ||
        !cf_grow(&e->map, &e->cap_map, e->n + n, sizeof *e->map)) {
        e->no_memory = true;
        return false;
    }
    return true;
}

void cf_rewrite_add(cf_rewrite *e, const char *p, size_t n, cf_range r)
{
    if (n == 0 || !make_room(e, n)) {
        return;
    }
    memcpy(e->p + e->n, p, n);
    for (size_t i = 0; i < n; i++) {
        e->map[e->n + i] = r;
    }
    e->n += n;
}

void cf_rewrite_add_cp(cf_rewrite *e, uint32_t cp, cf_range r)
{
    char utf8[4];
    cf_rewrite_add(e, utf8, cf_utf8_encode(utf8, cp), r);
}

void cf_rewrite_copy(cf_rewrite *e, const cf_view *v, size_t a, size_t b)
{
    if (a == b || !make_room(e, b - a)) {
        return;
    }
    memcpy(e->p + e->n, v->p + a, b - a);
    if (v->map != NULL) {
        memcpy(e->map + e->n, v->map + a, (b - a) * sizeof *v->map);
        e->n += b - a;
        return;
    }
    while (a < b) {
        uint32_t cp;
        size_t n = cf_utf8_decode(&cp, v->p + a, b - a);
        uint32_t from = v->base + (uint32_t)a;
        for (size_t i = 0; i < n; i++) {
            e->map[e->n++] = (cf_range){from, from + (uint32_t)n};
        }
        a += n;
    }
}

cf_view cf_rewrite_view(const cf_rewrite *e)
{
    return (cf_view){e->p != NULL ? e->p : "", e->map, e->n, 0};
}

cf_view cf_view_sub(const cf_view *v, size_t a, size_t b)
{
    return (cf_view){v->p + a, v->map != NULL ? v->map + a : NULL, b - a, v->base + (uint32_t)a};
}

static bool is_tail(const cf_view *v, size_t i)
{
    return i < v->n && ((unsigned char)v->p[i] & 0xC0) == 0x80;
}

cf_range cf_view_at(const cf_view *v, size_t i)
{
    if (v->map != NULL) {
        return v->map[i];
    }
    size_t from = i;
    while (from > 0 && is_tail(v, from)) {
        from--;
    }
    size_t to = i + 1;
    while (is_tail(v, to)) {
        to++;
    }
    return (cf_range){v->base + (uint32_t)from, v->base + (uint32_t)to};
}

cf_range cf_view_range(const cf_view *v, size_t a, size_t b)
{
    if (a < b) {
        return (cf_range){cf_view_at(v, a).from, cf_view_at(v, b - 1).to};
    }
    uint32_t at = a < v->n   ? cf_view_at(v, a).from
                  : v->n > 0 ? cf_view_at(v, v->n - 1).to
                             : v->base;
    return (cf_range){at, at};
}
