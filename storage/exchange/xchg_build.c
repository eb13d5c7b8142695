/*
 * xchg_build.c - the conversation that a reader builds: turns, their ids and
 * their order.
 *
 * Turns whose id the file does not give have a provisional one until the
 * conversation is complete; then it is derived from the content, the same
 * every time, so that a file read again adds nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "storage/exchange/xchg.h"

enum { TURNS_MAX = 1000000 };

/* ---- building ----------------------------------------------------------- */

void cf_build__free(cf_build *b)
{
    if (b != NULL) {
        cf_arena_deinit(&b->arena);
        cf_free(b->turns);
        cf_free(b->templates);
        cf_free(b);
    }
}

void cf_build__drop(cf_import *im)
{
    cf_build__free(im->cur);
    im->cur = NULL;
}

cf_status cf_build__begin(cf_import *im, uint64_t line, cf_error *err)
{
    cf_build__drop(im);
    im->cur = cf_calloc(1, sizeof *im->cur);
    if (im->cur == NULL) {
        return cf_sql__oom(err);
    }
    cf_arena_init(&im->cur->arena, 0);
    im->cur->line = line;
    im->cur->cancel = im->opts->cancel;
    return CF_OK;
}

/* Ids of version 15, which no RFC defines, with the turn's number. */
static cf_uuid provisional_id(size_t n)
{
    cf_uuid id;
    memset(id.b, 0xFF, sizeof id.b);
    for (int i = 15; i >= 8; i--, n >>= 8) {
        id.b[i] = (uint8_t)n;
    }
    return id;
}

static bool is_provisional(cf_uuid id)
{
    static const uint8_t all[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    return memcmp(id.b, all, sizeof all) == 0;
}

/* The number in a provisional id. */
static size_t number_of(cf_uuid id)
{
    size_t n = 0;
    for (int i = 8; i < 16; i++) {
        n = n << 8 | id.b[i];
    }
    return n;
}

cf_store_turn *cf_build__add(cf_build *b)
{
    if (b->n == b->cap) {
        size_t cap = b->cap * 2 + 8;
        cf_store_turn *v = b->n < TURNS_MAX ? cf_realloc(b->turns, cap, sizeof *v) : NULL;
        if (v == NULL) {
            return NULL;
        }
        b->turns = v;
        b->cap = cap;
    }
    cf_store_turn *t = &b->turns[b->n];
    *t = (cf_store_turn){.id = provisional_id(b->n),
                         .status = CF_TURN_IMPORTED,
                         .fork_token = -1,
                         .finished_ms = -1};
    if (b->n > 0) {
        t->parent = b->turns[b->n - 1].id;
    }
    b->n++;
    return t;
}

cf_str cf_build__str(cf_build *b, cf_str s)
{
    if (s.p == NULL) {
        return s;
    }
    const char *p = cf_arena_strndup(&b->arena, s.p, s.n);
    return cf_str_make(p, p != NULL ? s.n : 0);
}

cf_str cf_build__json(cf_build *b, const json_t *v)
{
    cf_buf text = CF_BUF_INIT;
    cf_json_write(&text, v);
    b->arena.failed = b->arena.failed || text.failed || v == NULL;
    cf_str s = cf_build__str(b, cf_buf_str(&text));
    cf_buf_deinit(&text);
    return s;
}

cf_str cf_build__source_with(cf_import *im, cf_str id, const char *key, json_t *rest)
{
    cf_buf text = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &text);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "format", cf_format_name(im->format));
    if (im->opts->name != NULL) {
        const char *slash = strrchr(im->opts->name, '/');
        cf_jw_text(&w, "file", slash != NULL ? slash + 1 : im->opts->name);
    }
    if (id.n != 0) {
        cf_jw_str(&w, "id", id);
    }
    if (json_object_size(rest) != 0) {
        cf_jw_json(&w, key, rest);
    }
    text.failed = text.failed || rest == NULL;
    json_decref(rest);
    cf_jw_end(&w);
    im->cur->arena.failed = im->cur->arena.failed || text.failed;
    cf_str s = cf_build__str(im->cur, cf_buf_str(&text));
    cf_buf_deinit(&text);
    return s;
}

cf_str cf_build__source(cf_import *im, cf_str id)
{
    return cf_build__source_with(im, id, "", json_null());
}

void cf_build__remember(cf_import *im, cf_store_turn *t, cf_str id, const char *key, json_t *rest)
{
    cf_uuid same;
    cf_str other = cf_uuid_parse(&same, id.p, id.n) ? cf_str_make(NULL, 0) : id;
    if (other.n != 0 || rest == NULL || json_object_size(rest) != 0) {
        t->source = cf_build__source_with(im, other, key, rest);
    } else {
        json_decref(rest);
    }
}

json_t *cf_xchg__rest(const json_t *v, const char *const *known, size_t n)
{
    json_t *rest = json_is_object(v) ? cf_json_copy(v) : json_object();
    for (size_t i = 0; i < n; i++) {
        (void)json_object_del(rest, known[i]);
    }
    return rest;
}

json_t *cf_xchg__keep(json_t *to, const char *key, json_t *rest)
{
    bool ok = to != NULL && rest != NULL &&
              (json_object_size(rest) == 0 || json_object_set(to, key, rest) == 0);
    json_decref(rest);
    if (!ok) {
        json_decref(to);
        return NULL;
    }
    return to;
}

json_t *cf_xchg__parse(cf_str text, bool *failed)
{
    json_t *v = NULL;
    cf_error why;
    if (text.n != 0 && cf_json_read(&v, text.p, text.n, &why) == CF_ENOMEM) {
        *failed = true;
    }
    return v;
}

json_t *cf_xchg__kept(cf_str source, cf_format f, const char *key, bool *failed)
{
    json_t *v = cf_xchg__parse(source, failed);
    bool is_of = cf_str_is(cf_json_get_str(v, "format"), cf_format_name(f));
    json_t *kept = is_of ? json_incref(json_object_get(v, key)) : NULL;
    json_decref(v);
    return kept;
}

/* Version 8 (RFC 9562, 5.8): 122 bits of SHA-256. */
static cf_uuid uuid_of(const char *name, size_t n)
{
    char hex[CF_HASH_TEXT + 1];
    cf_uuid out;
    cf_hash_hex(hex, name, n);
    for (int i = 0; i < 16; i++) {
        unsigned v = 0;
        for (int k = 0; k < 2; k++) {
            char c = hex[2 * i + k];
            v = v << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
        }
        out.b[i] = (uint8_t)v;
    }
    out.b[6] = (uint8_t)(0x80 | (out.b[6] & 0x0F));
    out.b[8] = (uint8_t)(0x80 | (out.b[8] & 0x3F));
    return out;
}

cf_uuid cf_build__uuid(cf_format f, cf_str scope, cf_str id)
{
    cf_uuid out;
    if (cf_uuid_parse(&out, id.p, id.n) && !cf_uuid_is_nil(out)) {
        return out;
    }
    char all[2][CF_HASH_TEXT + 1];
    char name[2 * CF_HASH_TEXT + 64];
    cf_hash_hex(all[0], scope.p != NULL ? scope.p : "", scope.n);
    cf_hash_hex(all[1], id.p != NULL ? id.p : "", id.n);
    int n = snprintf(name, sizeof name, "confab %s %s %s", cf_format_name(f), all[0], all[1]);
    return uuid_of(name, (size_t)n);
}

cf_status cf_build__say(cf_build *b, json_t *message, cf_store_turn **out, cf_error *err)
{
    cf_store_turn *t = message != NULL ? cf_build__add(b) : NULL;
    if (t == NULL) {
        json_decref(message);
        return cf_sql__oom(err);
    }
    t->message = cf_build__json(b, message);
    json_decref(message);
    if (out != NULL) {
        *out = t;
    }
    if (b->cancel != NULL && atomic_load(b->cancel)) {
        return cf_fail(err, CF_ECANCELLED, "interrupted");
    }
    return b->arena.failed ? cf_sql__oom(err) : CF_OK;
}

/* ---- order -------------------------------------------------------------- */

typedef struct by_id {
    cf_uuid id;
    size_t at;
} by_id;

static int compare_ids(const void *a, const void *b)
{
    return memcmp(((const by_id *)a)->id.b, ((const by_id *)b)->id.b, 16);
}

static size_t find_id(const by_id *v, size_t n, cf_uuid id)
{
    by_id key = {id, 0};
    const by_id *hit = n != 0 ? bsearch(&key, v, n, sizeof *v, compare_ids) : NULL;
    return hit != NULL ? hit->at : SIZE_MAX;
}

/* By id, and by place among equal ones. */
static int compare_places(const void *a, const void *b)
{
    int c = compare_ids(a, b);
    size_t x = ((const by_id *)a)->at;
    size_t y = ((const by_id *)b)->at;
    return c != 0 ? c : (x > y) - (x < y);
}

cf_status cf_build__unique(cf_build *b, cf_error *err)
{
    static const cf_uuid nil;
    size_t n = b->n;
    if (n == 0) {
        return CF_OK;
    }
    by_id *ids = cf_alloc(n * sizeof *ids);
    bool *is_double = cf_calloc(n, sizeof *is_double);
    if (ids == NULL || is_double == NULL) {
        cf_free(ids);
        cf_free(is_double);
        return cf_sql__oom(err);
    }
    for (size_t i = 0; i < b->n; i++) {
        ids[i] = (by_id){b->turns[i].id, i};
    }
    qsort(ids, b->n, sizeof *ids, compare_places);
    for (size_t i = 1; i < b->n; i++) {
        is_double[ids[i].at] = compare_ids(&ids[i - 1], &ids[i]) == 0;
    }
    size_t kept = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (!is_double[i]) {
            b->turns[kept] = b->turns[i];
            b->turns[kept].parent = kept != 0 ? b->turns[kept - 1].id : nil;
            kept++;
        }
    }
    b->n = kept;
    cf_free(ids);
    cf_free(is_double);
    return CF_OK;
}

cf_status cf_xchg__parents(const cf_store_turn *v, size_t n, size_t *parent, cf_error *err)
{
    if (n == 0) {
        return CF_OK;
    }
    by_id *ids = cf_alloc(n * sizeof *ids);
    if (ids == NULL) {
        return cf_sql__oom(err);
    }
    for (size_t i = 0; i < n; i++) {
        ids[i] = (by_id){v[i].id, i};
    }
    qsort(ids, n, sizeof *ids, compare_ids);
    for (size_t i = 0; i < n; i++) {
        size_t at = cf_uuid_is_nil(v[i].parent) ? SIZE_MAX : find_id(ids, n, v[i].parent);
        /* A parent after its child is ignored, so that every walk up ends,
         * whatever a damaged file contains. */
        parent[i] = at < i ? at : SIZE_MAX;
    }
    cf_free(ids);
    return CF_OK;
}

typedef struct order {
    by_id *ids;
    size_t *parent, *next;
    bool *done;
    cf_store_turn *out;
} order;

/* Appends turn i after its ancestors.  The way up is kept in `next`. */
static bool place(cf_build *b, order *o, size_t i, size_t *n_out)
{
    size_t top = SIZE_MAX;
    size_t steps = 0;
    for (size_t k = i; k != SIZE_MAX && !o->done[k]; k = o->parent[k]) {
        o->next[k] = top;
        top = k;
        if (++steps > b->n) {
            return false; /* a circle */
        }
    }
    for (size_t k = top; k != SIZE_MAX; k = o->next[k]) {
        o->done[k] = true;
        o->out[(*n_out)++] = b->turns[k];
    }
    return true;
}

static cf_status order_turns(cf_build *b, order *o, cf_error *err)
{
    static const cf_uuid nil;
    for (size_t i = 0; i < b->n; i++) {
        o->ids[i] = (by_id){b->turns[i].id, i};
    }
    qsort(o->ids, b->n, sizeof *o->ids, compare_ids);
    for (size_t i = 0; i + 1 < b->n; i++) {
        if (compare_ids(&o->ids[i], &o->ids[i + 1]) == 0) {
            return cf_fail(err, CF_EFORMAT, "two turns have the same id");
        }
    }
    for (size_t i = 0; i < b->n; i++) {
        o->parent[i] = cf_uuid_is_nil(b->turns[i].parent)
                           ? SIZE_MAX
                           : find_id(o->ids, b->n, b->turns[i].parent);
        if (o->parent[i] == SIZE_MAX) {
            b->turns[i].parent = nil;
        }
    }
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (!place(b, o, i, &n)) {
            return cf_fail(err, CF_EFORMAT, "turns form a circle");
        }
    }
    memcpy(b->turns, o->out, n * sizeof *o->out);
    return CF_OK;
}

cf_status cf_build__order(cf_build *b, cf_error *err)
{
    size_t n = b->n;
    if (n == 0) {
        return CF_OK;
    }
    order o = {cf_alloc(n * sizeof *o.ids), cf_alloc(n * sizeof *o.parent),
               cf_alloc(n * sizeof *o.next), cf_calloc(n, sizeof *o.done),
               cf_alloc(n * sizeof *o.out)};
    cf_status st =
        o.ids == NULL || o.parent == NULL || o.next == NULL || o.done == NULL || o.out == NULL
            ? cf_sql__oom(err)
            : order_turns(b, &o, err);
    cf_free(o.ids);
    cf_free(o.parent);
    cf_free(o.next);
    cf_free(o.done);
    cf_free(o.out);
    return st;
}

/* ---- ids from content --------------------------------------------------- */

/* A record that a file repeats is another conversation: the second, the third
 * and so on of this content, in the order of the file. */
static cf_status count_repeat(cf_import *im, const char *hash, cf_buf *out, cf_error *err)
{
    uint32_t n;
    CF_TRY(cf_idset__count(&im->repeats, uuid_of(hash, CF_HASH_TEXT), &n, err));
    if (n > 1) {
        cf_buf_addf(out, " %u", (unsigned)n);
    }
    return CF_OK;
}

/* The scope from which ids of turns without one are derived: an id that the
 * file gives to another turn, or to the conversation, or the hash of everything
 * said. */
static cf_status put_scope(cf_import *im, const cf_build *b, cf_buf *out, cf_error *err)
{
    char text[CF_UUID_TEXT + 1], hash[CF_HASH_TEXT + 1];
    for (size_t i = 0; i < b->n; i++) {
        if (!is_provisional(b->turns[i].id)) {
            cf_uuid_format(text, b->turns[i].id);
            cf_buf_adds(out, text);
            return cf_buf_check(out, err);
        }
    }
    if (b->id.n != 0) {
        cf_hash_hex(hash, b->id.p, b->id.n);
        cf_buf_addf(out, "%s %s", cf_format_name(im->format), hash);
        return cf_buf_check(out, err);
    }
    cf_buf all = CF_BUF_INIT;
    cf_buf_add(&all, b->conv.preface.p, b->conv.preface.n);
    for (size_t i = 0; i < b->n; i++) {
        cf_buf_addc(&all, '\n');
        cf_buf_add(&all, b->turns[i].message.p, b->turns[i].message.n);
    }
    cf_hash_hex(hash, cf_buf_cstr(&all), all.n);
    cf_buf_adds(out, hash);
    cf_status st = cf_buf_check(&all, err);
    cf_buf_deinit(&all);
    CF_THEN(st, count_repeat(im, hash, out, err));
    return st == CF_OK ? cf_buf_check(out, err) : st;
}

/* The final id for an id of this build; map[k] is that of the k-th turn that
 * was added. */
static cf_uuid final_id(const cf_uuid *map, size_t n_map, cf_uuid id)
{
    size_t k = is_provisional(id) ? number_of(id) : SIZE_MAX;
    return k < n_map ? map[k] : id;
}

static cf_status derive_ids(const cf_build *b, const cf_buf *scope, cf_uuid *map, size_t n_map,
                            cf_error *err)
{
    for (size_t i = 0; i < b->n; i++) {
        cf_store_turn *t = &b->turns[i];
        t->parent = final_id(map, n_map, t->parent);
        if (!is_provisional(t->id)) {
            continue;
        }
        char parent[CF_UUID_TEXT + 1], hash[CF_HASH_TEXT + 1];
        cf_uuid_format(parent, t->parent);
        cf_hash_hex(hash, t->message.p != NULL ? t->message.p : "", t->message.n);
        cf_buf name = CF_BUF_INIT;
        cf_buf_addf(&name, "confab turn %s %s %s",
                    cf_uuid_is_nil(t->parent) ? cf_buf_cstr(scope) : "", parent, hash);
        size_t k = number_of(t->id);
        t->id = uuid_of(cf_buf_cstr(&name), name.n);
        cf_status st = cf_buf_check(&name, err);
        cf_buf_deinit(&name);
        CF_TRY(st);
        if (k < n_map) {
            map[k] = t->id;
        }
    }
    return CF_OK;
}

cf_status cf_build__settle_ids(cf_import *im, cf_build *b, cf_error *err)
{
    bool is_needed = false;
    for (size_t i = 0; i < b->n; i++) {
        is_needed = is_needed || is_provisional(b->turns[i].id);
    }
    if (!is_needed) {
        return CF_OK;
    }
    cf_buf scope = CF_BUF_INIT;
    cf_uuid *map = cf_calloc(b->cap, sizeof *map);
    cf_status st = map != NULL ? put_scope(im, b, &scope, err) : cf_sql__oom(err);
    CF_THEN(st, derive_ids(b, &scope, map, b->cap, err));
    cf_buf_deinit(&scope);
    cf_free(map);
    return st;
}
