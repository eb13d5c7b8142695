/*
 * trail_build.c - the trail that a reader builds, item by item.
 */
#include "storage/trail/trail_build.h"

#include <stdarg.h>
#include <string.h>

#include "core/base/alloc.h"

const char *cf_trail_role_name(cf_trail_role role)
{
    static const char *const names[] = {"system", "user", "assistant", "tool"};
    return names[role];
}

cf_status trail_begin(trail_reader *r, const char *format, const char *path, cf_error *err)
{
    *r = (trail_reader){.err = err};
    r->t = cf_calloc(1, sizeof *r->t);
    if (r->t == NULL) {
        return cf_oom(err);
    }
    cf_arena_init(&r->t->arena, 0);
    r->t->format = format;
    r->t->path = trail_copy(r, cf_str_from(path));
    return CF_OK;
}

static void free_trail(cf_trail *t)
{
    if (t != NULL) {
        cf_arena_deinit(&t->arena);
        cf_free(t->events);
        cf_free(t->left_out);
        cf_free(t);
    }
}

void trail_drop(trail_reader *r)
{
    for (size_t i = 0; i < r->n_lanes; i++) {
        cf_free(r->lanes[i]->items);
    }
    cf_free(r->lanes);
    cf_free(r->models);
    trail_index_free(&r->model_places);
    free_trail(r->t);
    *r = (trail_reader){0};
}

void cf_trails_deinit(cf_trails *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free_trail(t->v[i]);
    }
    cf_free(t->v);
    *t = (cf_trails){0};
}

/* ---- numbers ------------------------------------------------------------- */

static void number_item(cf_trail *t, const trail_lane *lane, cf_trail_event *e, size_t *last)
{
    e->is_branch = lane->is_branch;
    e->branch = lane->is_branch && lane->from != NULL ? lane->from->n : 0;
    switch (e->kind) {
    case CF_TRAIL_MESSAGE:
        *last = e->as.message->n = ++t->n_messages;
        t->n_calls += e->as.message->n_calls;
        break;
    case CF_TRAIL_STEP:
        e->as.step->n = ++t->n_steps;
        break;
    case CF_TRAIL_COMPACTION:
        e->as.compaction->before = *last;
        break;
    case CF_TRAIL_ABORTED:
        e->as.aborted = *last;
        break;
    case CF_TRAIL_AGENT:
        break;
    }
}

static void link_events(trail_reader *r)
{
    trail_index agents = {0};
    for (size_t i = r->t->n_events; i-- > 0;) {
        cf_str key = trail_agent_key(r->t->events[i].agent);
        r->t->events[i].next = trail_find(&agents, key);
        trail_put(r, &agents, key, i);
    }
    trail_index_free(&agents);
}

cf_status trail_finish(trail_reader *r, cf_trails *out, cf_error *err)
{
    cf_trail *t = r->t;
    size_t n = 0;
    for (size_t i = 0; i < r->n_lanes; i++) {
        n += r->lanes[i]->n;
    }
    t->events = cf_alloc(n * sizeof *t->events);
    cf_str *models = cf_arena_alloc(&t->arena, r->t->n_models * sizeof *models);
    if (t->events == NULL || models == NULL || r->failed || t->arena.failed ||
        !cf_grow(&out->v, &out->cap, out->n + 1, sizeof *out->v)) {
        trail_drop(r);
        return cf_oom(err);
    }
    for (size_t i = 0; i < r->n_lanes; i++) {
        trail_lane *lane = r->lanes[i];
        size_t last = lane->from != NULL ? lane->from->n : 0;
        for (size_t k = 0; k < lane->n; k++) {
            number_item(t, lane, &lane->items[k], &last);
            t->events[t->n_events++] = lane->items[k];
        }
    }
    link_events(r);
    if (r->failed) {
        trail_drop(r);
        return cf_oom(err);
    }
    if (t->n_models != 0) {
        memcpy(models, r->models, t->n_models * sizeof *models);
    }
    t->models = models;
    out->v[out->n++] = t;
    r->t = NULL;
    trail_drop(r);
    return CF_OK;
}

cf_status trail_end(trail_reader *r, cf_status st, cf_trails *out, cf_error *err)
{
    if (st == CF_OK) {
        return trail_finish(r, out, err);
    }
    trail_drop(r);
    return st;
}

/* ---- memory -------------------------------------------------------------- */

void *trail_alloc(trail_reader *r, size_t n, size_t size)
{
    return cf_arena_calloc(&r->t->arena, n, size);
}

cf_str trail_copy(trail_reader *r, cf_str s)
{
    if (s.n == 0) {
        return cf_str_make("", 0);
    }
    const char *p = cf_arena_strndup(&r->t->arena, s.p, s.n);
    return p != NULL ? cf_str_make(p, s.n) : cf_str_make("", 0);
}

cf_str trail_take(trail_reader *r, cf_buf *b)
{
    r->failed = r->failed || b->failed;
    cf_str s = b->failed ? cf_str_make("", 0) : trail_copy(r, cf_buf_str(b));
    cf_buf_deinit(b);
    return s;
}

cf_str trail_json_str(trail_reader *r, const json_t *obj, const char *key)
{
    return trail_copy(r, cf_json_get_str(obj, key));
}

cf_str trail_json(trail_reader *r, const json_t *v)
{
    cf_buf b = CF_BUF_INIT;
    if (v == NULL) {
        cf_buf_adds(&b, "null");
    } else {
        cf_json_write(&b, v);
    }
    return trail_take(r, &b);
}

/* Arguments that come as text are values where that is JSON. */
cf_str trail_arguments(trail_reader *r, const json_t *v)
{
    json_t *inner = NULL;
    if (json_is_string(v)) {
        cf_status st =
            trail_parse(&inner, cf_str_make(json_string_value(v), json_string_length(v)), NULL);
        r->failed = r->failed || st == CF_ENOMEM;
    }
    cf_str s = trail_json(r, inner != NULL ? inner : v);
    json_decref(inner);
    return s;
}

cf_str trail_value_text(trail_reader *r, const json_t *v)
{
    if (json_is_string(v)) {
        return trail_copy(r, cf_str_make(json_string_value(v), json_string_length(v)));
    }
    return v == NULL || json_is_null(v) ? cf_str_make("", 0) : trail_json(r, v);
}

void trail_join(trail_text *t, cf_str piece)
{
    if (t->has_any) {
        cf_buf_addc(&t->b, '\n');
    }
    t->has_any = true;
    cf_buf_add(&t->b, piece.p, piece.n);
}

cf_str trail_joined(trail_reader *r, trail_text *t)
{
    t->has_any = false;
    return trail_take(r, &t->b);
}

/* ---- items --------------------------------------------------------------- */

trail_lane *trail_add_lane(trail_reader *r, cf_str agent)
{
    static trail_lane nowhere; /* takes nothing: memory ran out */
    trail_lane *lane = trail_alloc(r, 1, sizeof *lane);
    if (lane == NULL || !cf_grow(&r->lanes, &r->cap_lanes, r->n_lanes + 1, sizeof *r->lanes)) {
        r->failed = true;
        return &nowhere;
    }
    lane->agent = agent;
    r->lanes[r->n_lanes++] = lane;
    return lane;
}

/* Appends the lanes that the calls of `lane` began. */
static void place_begun(trail_reader *r, const trail_index *begun, const trail_lane *lane,
                        trail_lane **out, size_t *n)
{
    for (size_t i = 0; i < lane->n; i++) {
        const cf_trail_message *m = lane->items[i].as.message;
        for (size_t k = 0; lane->items[i].kind == CF_TRAIL_MESSAGE && k < m->n_calls; k++) {
            size_t at = trail_find(begun, m->calls[k].id);
            for (; at != TRAIL_NONE && !r->lanes[at]->is_placed; at = r->lanes[at]->next) {
                r->lanes[at]->is_placed = true;
                out[(*n)++] = r->lanes[at];
            }
        }
    }
}

static void place_rest(trail_reader *r, bool is_branch, trail_lane **out, size_t *n)
{
    for (size_t i = 0; i < r->n_lanes; i++) {
        trail_lane *lane = r->lanes[i];
        if (!lane->is_placed && lane->is_branch == is_branch) {
            lane->is_placed = true;
            out[(*n)++] = lane;
        }
    }
}

void trail_order(trail_reader *r)
{
    trail_index begun = {0};
    size_t n = 0;
    trail_lane **out = cf_alloc((r->n_lanes + 1) * sizeof *out);
    if (out == NULL || r->n_lanes == 0) {
        r->failed = r->failed || out == NULL;
        cf_free(out);
        return;
    }
    for (size_t i = r->n_lanes; i-- > 1;) {
        trail_lane *lane = r->lanes[i];
        if (!lane->is_branch) {
            lane->next = trail_find(&begun, lane->parent_call);
            trail_put(r, &begun, lane->parent_call, i);
        }
    }
    r->lanes[0]->is_placed = true;
    out[n++] = r->lanes[0];
    for (size_t i = 0; i < n; i++) {
        place_begun(r, &begun, out[i], out, &n);
    }
    place_rest(r, false, out, &n);
    place_rest(r, true, out, &n);
    trail_index_free(&begun);
    cf_free(r->lanes);
    r->lanes = out;
    r->cap_lanes = r->n_lanes + 1;
}

static cf_trail_event *add_item(trail_reader *r, trail_lane *lane, cf_trail_kind kind)
{
    if (r->failed || !cf_grow(&lane->items, &lane->cap, lane->n + 1, sizeof *lane->items)) {
        r->failed = true;
        return NULL;
    }
    cf_trail_event *e = &lane->items[lane->n];
    *e = (cf_trail_event){.kind = kind, .agent = lane->agent};
    return e;
}

void trail_add_message(trail_reader *r, trail_lane *lane, cf_trail_message *m)
{
    cf_trail_event *e = add_item(r, lane, CF_TRAIL_MESSAGE);
    if (e != NULL) {
        e->as.message = m;
        lane->n++;
    }
}

/* An item of a kind with a struct of `size` bytes, which is returned. */
static void *add_with(trail_reader *r, trail_lane *lane, cf_trail_kind kind, size_t size)
{
    cf_trail_event *e = add_item(r, lane, kind);
    void *p = trail_alloc(r, 1, size);
    if (e == NULL || p == NULL) {
        r->failed = true;
        return NULL;
    }
    e->as.message = p;
    lane->n++;
    return p;
}

cf_trail_message *trail_message(trail_reader *r, trail_lane *lane, cf_trail_role role)
{
    static _Thread_local cf_trail_message spare; /* written to where memory ran out */
    cf_trail_message *m = add_with(r, lane, CF_TRAIL_MESSAGE, sizeof *m);
    if (m == NULL) {
        spare = (cf_trail_message){0};
        m = &spare;
    }
    m->role = role;
    return m;
}

cf_trail_step *trail_step(trail_reader *r, trail_lane *lane, cf_trail_message *reply)
{
    static _Thread_local cf_trail_step spare;
    cf_trail_step *s = add_with(r, lane, CF_TRAIL_STEP, sizeof *s);
    if (s == NULL) {
        spare = (cf_trail_step){0};
        s = &spare;
    }
    s->message = reply;
    s->model = reply != NULL ? reply->model : cf_str_make("", 0);
    return s;
}

cf_trail_compaction *trail_compaction(trail_reader *r, trail_lane *lane)
{
    static _Thread_local cf_trail_compaction spare;
    cf_trail_compaction *c = add_with(r, lane, CF_TRAIL_COMPACTION, sizeof *c);
    if (c == NULL) {
        spare = (cf_trail_compaction){0};
        c = &spare;
    }
    return c;
}

cf_trail_agent *trail_agent(trail_reader *r, trail_lane *lane, cf_str id)
{
    static _Thread_local cf_trail_agent spare;
    cf_trail_agent *a = add_with(r, lane, CF_TRAIL_AGENT, sizeof *a);
    if (a == NULL) {
        spare = (cf_trail_agent){0};
        a = &spare;
    }
    a->id = id;
    return a;
}

void trail_aborted(trail_reader *r, trail_lane *lane)
{
    if (add_item(r, lane, CF_TRAIL_ABORTED) != NULL) {
        lane->n++;
    }
}

/* `n` items of `size` bytes with room for one more, of arena memory that is
 * doubled at the powers of two. */
static void *one_more(trail_reader *r, const void *v, size_t n, size_t size)
{
    if (n != 0 && (n & (n - 1)) != 0) {
        union {
            const void *in;
            void *out;
        } u = {v};
        return u.out;
    }
    void *p = trail_alloc(r, n == 0 ? 1 : 2 * n, size);
    if (p != NULL && n != 0) {
        memcpy(p, v, n * size);
    }
    return p;
}

void trail_call(trail_reader *r, cf_trail_message *m, cf_str id, cf_str name, cf_str arguments)
{
    cf_trail_call *v = one_more(r, m->calls, m->n_calls, sizeof *v);
    if (v != NULL) {
        v[m->n_calls++] = (cf_trail_call){id, name, arguments};
        m->calls = v;
    }
}

bool trail_kept(trail_reader *r, cf_trail_compaction *c, cf_str text)
{
    enum { KEPT_MAX = 4000000, KEPT_BYTES_MAX = 256 << 20 };
    if (r->n_kept > KEPT_MAX) {
        return false;
    }
    if (++r->n_kept > KEPT_MAX || text.n > KEPT_BYTES_MAX - r->kept_bytes) {
        r->n_kept = KEPT_MAX + 1;
        trail_left_out(r, 0, "texts that compactions kept, over 256 MiB", cf_str_make("", 0));
        return false;
    }
    r->kept_bytes += text.n;
    cf_str *v = text.n != 0 ? one_more(r, c->kept, c->n_kept, sizeof *v) : NULL;
    if (v != NULL) {
        v[c->n_kept++] = text;
        c->kept = v;
    }
    return true;
}

void trail_left_out(trail_reader *r, uint64_t line, const char *why, cf_str what)
{
    cf_trail *t = r->t;
    if (!cf_grow(&t->left_out, &r->cap_left, t->n_left_out + 1, sizeof *t->left_out)) {
        r->failed = true;
        return;
    }
    cf_buf b = CF_BUF_INIT;
    cf_buf_adds(&b, why);
    cf_buf_add(&b, what.p, what.n < 200 ? what.n : 200);
    t->left_out[t->n_left_out++] = (cf_trail_left_out){line, trail_take(r, &b), r->file};
}

void trail_model(trail_reader *r, cf_str model)
{
    if (model.n == 0 || trail_find(&r->model_places, model) != TRAIL_NONE) {
        return;
    }
    if (!cf_grow(&r->models, &r->cap_models, r->t->n_models + 1, sizeof *r->models)) {
        r->failed = true;
        return;
    }
    trail_put(r, &r->model_places, model, r->t->n_models);
    r->models[r->t->n_models++] = model;
}

/* ---- times and fields ---------------------------------------------------- */

/* "+02:00" at the end as ms, and the length of the text before it. */
static int64_t zone_of(cf_str text, size_t *n)
{
    *n = text.n;
    if (text.n < 25 || text.p[text.n - 3] != ':' ||
        (text.p[text.n - 6] != '+' && text.p[text.n - 6] != '-')) {
        return 0;
    }
    const char *p = text.p + text.n - 6;
    int64_t minutes = ((p[1] - '0') * 10 + p[2] - '0') * 60 + (p[4] - '0') * 10 + p[5] - '0';
    *n = text.n - 6;
    return (p[0] == '-' ? -minutes : minutes) * 60000;
}

int64_t trail_time(cf_str text)
{
    char buf[48];
    size_t n;
    int64_t zone = zone_of(text, &n), ms = 0;
    if (n + 2 > sizeof buf || n < 19) {
        return 0;
    }
    memcpy(buf, text.p, n);
    if (n != text.n) {
        buf[n++] = 'Z';
    }
    buf[n] = '\0';
    return cf_os_parse_time(&ms, buf) ? ms - zone : 0;
}

void trail_seen(trail_reader *r, int64_t ms)
{
    cf_trail *t = r->t;
    if (ms != 0) {
        t->started_ms = t->started_ms == 0 || ms < t->started_ms ? ms : t->started_ms;
        t->ended_ms = ms > t->ended_ms ? ms : t->ended_ms;
    }
}

int64_t trail_int(const json_t *obj, const char *key)
{
    const json_t *v = json_object_get(obj, key);
    double d = json_is_real(v) ? json_real_value(v) : 0;
    return json_is_integer(v)          ? (int64_t)json_integer_value(v)
           : d > -9.0e15 && d < 9.0e15 ? (int64_t)d
                                       : 0;
}

const json_t *trail_get(const json_t *obj, ...)
{
    va_list keys;
    va_start(keys, obj);
    for (const char *key; (key = va_arg(keys, const char *)) != NULL;) {
        obj = json_object_get(obj, key);
    }
    va_end(keys);
    return obj;
}

bool trail_is(const json_t *obj, const char *key, const char *value)
{
    return cf_str_is(cf_json_get_str(obj, key), value);
}

bool trail_is_one_of(cf_str s, const char *const *names)
{
    while (*names != NULL && !cf_str_is(s, *names)) {
        names++;
    }
    return *names != NULL;
}

bool trail_begins_with(cf_str s, const char *const *heads)
{
    while (*heads != NULL && !cf_str_begins(s, *heads)) {
        heads++;
    }
    return *heads != NULL;
}

/* ---- names to numbers ---------------------------------------------------- */

static size_t slot_of(const trail_index *ix, cf_str key)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < key.n; i++) {
        h = (h ^ (unsigned char)key.p[i]) * UINT64_C(1099511628211);
    }
    h ^= h >> 29;
    size_t at = (size_t)h & (ix->size - 1);
    while (ix->cells[at].key.p != NULL && !cf_str_eq(ix->cells[at].key, key)) {
        at = (at + 1) & (ix->size - 1);
    }
    return at;
}

size_t trail_find(const trail_index *ix, cf_str key)
{
    if (ix->size == 0 || key.n == 0) {
        return TRAIL_NONE;
    }
    size_t at = slot_of(ix, key);
    return ix->cells[at].key.p != NULL ? ix->cells[at].value : TRAIL_NONE;
}

static bool widen(trail_index *ix)
{
    trail_index wider = {.size = ix->size == 0 ? 64 : 2 * ix->size, .used = ix->used};
    wider.cells = cf_calloc(wider.size, sizeof *wider.cells);
    if (wider.cells == NULL) {
        return false;
    }
    for (size_t i = 0; i < ix->size; i++) {
        if (ix->cells[i].key.p != NULL) {
            wider.cells[slot_of(&wider, ix->cells[i].key)] = ix->cells[i];
        }
    }
    cf_free(ix->cells);
    *ix = wider;
    return true;
}

void trail_put(trail_reader *r, trail_index *ix, cf_str key, size_t value)
{
    if (key.n == 0) {
        return;
    }
    if (2 * (ix->used + 1) > ix->size && !widen(ix)) {
        r->failed = true;
        return;
    }
    size_t at = slot_of(ix, key);
    ix->used += ix->cells[at].key.p == NULL;
    ix->cells[at] = (struct trail_index_cell){key, value};
}

void trail_index_free(trail_index *ix)
{
    cf_free(ix->cells);
    *ix = (trail_index){0};
}
