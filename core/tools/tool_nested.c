/*
 * tool_nested.c - reads values in nested tags: <a><b>1</b></a> is {"b": 1}.
 *
 * The declared type decides: a string is the text with its tags, a list the
 * values of the tags in it, an object has a member for each tag, and a list for
 * tags of one name.  Where nothing is declared, text of nothing but tags is a
 * list when all of them are named `item`, else an object.
 */
#include "core/tools/tool_values.h"

#include <string.h>

#include "core/base/alloc.h"

typedef struct child {
    cf_str key;
    size_t off, end; /* of its text */
} child;

typedef struct children {
    child *v;
    size_t n, cap;
} children;

typedef struct reader {
    cf_tool__emit *e;
    const cf_tool__syntax *y;
    const json_t *root;
} reader;

static bool put_value(reader *r, size_t off, size_t end, const json_t *schema);

static bool add_child(cf_tool__emit *e, children *c, const cf_tool__walk *w)
{
    if (c->n >= CF_TOOL_MEMBERS_MAX) {
        return cf_tool__expect(e, w->key_off, "at most 4096 members in an object");
    }
    if (c->n == c->cap) {
        size_t cap = c->cap == 0 ? 8 : c->cap * 2;
        child *v = cf_realloc(c->v, cap, sizeof *v);
        if (v == NULL) {
            return cf_tool__oom(e);
        }
        c->v = v;
        c->cap = cap;
    }
    c->v[c->n++] = (child){.key = {e->p + w->key_off, w->key_len},
                           .off = w->value_off,
                           .end = w->value_off + w->value_len};
    return true;
}

/* The tags from `w` on; false: something else stands there, or an error. */
static bool collect(reader *r, cf_tool__walk *w, size_t end, bool closed, children *out)
{
    bool ok = true;
    while (ok && w->state != CF_WALK_DONE) {
        switch (cf_tool__walk_step(r->y, cf_str_make(r->e->p, end), true, closed, w)) {
        case CF_STEP_ARGUMENT:
            ok = add_child(r->e, out, w);
            break;
        case CF_STEP_ON:
            break;
        case CF_STEP_MORE:
        case CF_STEP_BAD:
            ok = cf_tool__expect(r->e, w->err_off, w->expected);
            break;
        }
    }
    return ok;
}

static bool put_item(reader *r, const child *c, size_t index, const json_t *schema)
{
    cf_buf_adds(&r->e->json, index > 0 ? "," : "");
    size_t mark = cf_tool__path_index(r->e, index);
    bool ok = put_value(r, c->off, c->end, schema);
    cf_tool__path_pop(r->e, mark);
    return ok;
}

static bool put_list(reader *r, const children *c, const json_t *schema)
{
    const json_t *items = cf_tool__items_schema(r->root, schema);
    bool ok = true;
    cf_buf_addc(&r->e->json, '[');
    for (size_t i = 0; ok && i < c->n; i++) {
        ok = put_item(r, &c->v[i], i, items);
    }
    cf_buf_addc(&r->e->json, ']');
    return ok;
}

/* Where the key of child `i` is next, or c->n. */
static size_t next_of(const children *c, size_t i)
{
    size_t k = i + 1;
    while (k < c->n && !cf_str_eq(c->v[k].key, c->v[i].key)) {
        k++;
    }
    return k;
}

/* The values of all tags that are named as child `first`. */
static bool put_repeated(reader *r, const children *c, size_t first, const json_t *schema)
{
    bool is_list = (cf_tool__types(r->root, schema) & CF_IS_ARRAY) != 0;
    const json_t *items = is_list ? cf_tool__items_schema(r->root, schema) : schema;
    bool ok = true;
    cf_buf_addc(&r->e->json, '[');
    for (size_t i = first, n = 0; ok && i < c->n; i = next_of(c, i)) {
        ok = put_item(r, &c->v[i], n++, items);
    }
    cf_buf_addc(&r->e->json, ']');
    return ok;
}

static bool put_member(reader *r, const children *c, size_t i, cf_tool__members *m,
                       const json_t *schema)
{
    cf_tool__emit *e = r->e;
    size_t which = 0;
    const child *own = &c->v[i];
    e->at = (size_t)(own->key.p - e->p);
    cf_tool__dup dup = cf_tool__member_begin(e, m, own->key, &which);
    if (dup == CF_TOOL_DUP_FAILED) {
        return false;
    }
    const json_t *declared = cf_tool__member_schema(r->root, schema, own->key);
    size_t mark = cf_tool__path_key(e, own->key);
    bool ok = next_of(c, i) < c->n ? put_repeated(r, c, i, declared)
                                   : put_value(r, own->off, own->end, declared);
    cf_tool__path_pop(e, mark);
    if (ok && dup == CF_TOOL_DUP_YES) { /* two keys of invalid bytes that are written alike */
        cf_tool__member_drop(e, m, which);
    }
    return ok;
}

static bool put_object(reader *r, const children *c, const json_t *schema)
{
    cf_tool__members m = {NULL, 0, 0};
    bool ok = true;
    cf_buf_addc(&r->e->json, '{');
    for (size_t i = 0; ok && i < c->n; i++) {
        bool is_first = true;
        for (size_t k = 0; is_first && k < i; k++) {
            is_first = !cf_str_eq(c->v[k].key, c->v[i].key);
        }
        ok = !is_first || put_member(r, c, i, &m, schema);
    }
    cf_buf_addc(&r->e->json, '}');
    cf_tool__members_deinit(&m);
    return ok && (!r->e->json.failed || cf_tool__oom(r->e));
}

static bool is_list(const children *c, unsigned bits)
{
    bool has_items = true;
    for (size_t i = 0; i < c->n; i++) {
        has_items = has_items && cf_str_is(c->v[i].key, "item");
    }
    bool may_be_object = bits == 0 || (bits & CF_IS_OBJECT) != 0;
    bool may_be_list = bits == 0 || (bits & CF_IS_ARRAY) != 0;
    return may_be_list && (!may_be_object || has_items);
}

static bool put_container(reader *r, const children *c, size_t off, size_t end,
                          const json_t *schema, unsigned bits)
{
    cf_tool__emit *e = r->e;
    size_t was = e->at;
    e->at = off;
    if (!cf_tool__enter(e)) {
        return false;
    }
    size_t span = cf_tool__span_open(e);
    bool ok = is_list(c, bits) ? put_list(r, c, schema) : put_object(r, c, schema);
    e->at = end;
    cf_tool__span_close(e, span);
    cf_tool__leave(e);
    e->at = was;
    return ok;
}

static bool put_value(reader *r, size_t off, size_t end, const json_t *schema)
{
    const unsigned containers = CF_IS_ARRAY | CF_IS_OBJECT;
    const unsigned bits = cf_tool__types(r->root, schema);
    children c = {NULL, 0, 0};
    bool has_tags = false;
    if (bits == 0 || ((bits & containers) != 0 && (bits & CF_IS_STRING) == 0)) {
        cf_tool__walk w = {.at = off, .state = CF_WALK_NEXT};
        bool is_empty_one = bits != 0 && (bits & ~(containers | CF_IS_NULL)) == 0;
        has_tags = collect(r, &w, end, true, &c) && (c.n > 0 || is_empty_one);
    }
    bool ok = !r->e->oom &&
              (has_tags ? put_container(r, &c, off, end, schema, bits)
                        : cf_tool__text_value(r->e, r->y, off, end, cf_str_make("", 0), bits));
    cf_free(c.v);
    return ok;
}

bool cf_tool__nested_object(cf_tool__emit *e, const cf_tool__syntax *y, cf_tool__walk *w,
                            bool closed, const json_t *root, const json_t *schema)
{
    reader r = {e, y, root};
    children c = {NULL, 0, 0};
    bool ok = collect(&r, w, e->end, closed, &c) && put_object(&r, &c, schema);
    cf_free(c.v);
    return ok;
}

bool cf_tool__nested_is(const cf_tool__syntax *y, cf_str text, cf_str json, bool *oom)
{
    cf_arena arena;
    cf_tool__emit e;
    cf_arena_init(&arena, 0);
    cf_tool__emit_init(&e, text.p, 0, text.n, &arena);
    reader r = {&e, y, NULL};
    bool ok = put_value(&r, 0, text.n, NULL);
    *oom = *oom || e.oom || e.json.failed || arena.failed;
    ok = ok && cf_str_eq(cf_buf_str(&e.json), json);
    cf_tool__emit_deinit(&e);
    cf_arena_deinit(&arena);
    return ok;
}
