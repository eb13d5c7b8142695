/*
 * trail_build.c - the trail that a reader builds, item by item.
 */
#include "storage/trail/trail_build.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"

const char *cf_trail_role_name(cf_trail_role role)
{
    static const char *const names[] = {"system", "user", "assistant", "tool"};
    return names[role];
}

/* ---- lists --------------------------------------------------------------- */

/* A place to write to where memory ran out; the next ones are others. */
static void *spare(size_t size)
{
    enum { PLACES = 16, BYTES = 512 };
    static _Thread_local union {
        max_align_t align;
        unsigned char bytes[BYTES];
    } places[PLACES];
    static _Thread_local unsigned next;
    CF_ASSERT(size <= BYTES);
    return memset(places[next++ % PLACES].bytes, 0, size);
}

void *trail_new(cf_arena *a, size_t size)
{
    void *p = cf_arena_calloc(a, 1, size);
    return p != NULL ? p : spare(size);
}

/* Lists double at the powers of two. */
void *trail_push(cf_arena *a, void *v, size_t *n, size_t size)
{
    char *items;
    memcpy(&items, v, sizeof items);
    if ((*n & (*n - 1)) == 0) { /* also of none */
        size_t bytes;
        bool fits = *n <= SIZE_MAX / 2 && cf_mul_size(&bytes, *n == 0 ? 1 : 2 * *n, size);
        char *more = fits ? cf_arena_alloc(a, bytes) : NULL;
        if (more == NULL) {
            return spare(size);
        }
        if (*n != 0) {
            memcpy(more, items, *n * size);
        }
        memcpy(v, &more, sizeof more);
        items = more;
    }
    return a->failed ? spare(size) : memset(items + (*n)++ * size, 0, size);
}

/* ---- the trail ----------------------------------------------------------- */

cf_status trail_begin(trail_reader *r, const char *format, const char *path, cf_error *err)
{
    *r = (trail_reader){.t = cf_calloc(1, sizeof *r->t)};
    if (r->t == NULL) {
        return cf_oom(err);
    }
    r->t->format = format;
    r->t->path = trail_copy(r, cf_str_from(path));
    return CF_OK;
}

static void free_trail(cf_trail *t)
{
    if (t != NULL) {
        cf_arena_deinit(&t->arena);
        cf_free(t);
    }
}

bool trail_failed(const trail_reader *r)
{
    return r->failed || r->scratch.failed || r->t->arena.failed;
}

void trail_drop(trail_reader *r)
{
    for (size_t i = 0; i < r->n_values; i++) {
        json_decref(r->values[i]);
    }
    cf_arena_deinit(&r->scratch);
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

static void number_item(cf_trail *t, const trail_lane *lane, cf_trail_event *e, size_t *last)
{
    e->is_branch = lane->is_branch;
    e->branch = lane->is_branch && lane->from != NULL ? lane->from->n : 0;
    if (e->kind == CF_TRAIL_MESSAGE) {
        *last = e->as.message->n = ++t->n_messages;
        t->n_calls += e->as.message->n_calls;
    } else if (e->kind == CF_TRAIL_STEP) {
        e->as.step->n = ++t->n_steps;
    } else if (e->kind == CF_TRAIL_COMPACTION) {
        e->as.compaction->before = *last;
    } else if (e->kind == CF_TRAIL_ABORTED) {
        e->as.aborted = *last;
    }
}

static void put_events(trail_reader *r)
{
    cf_trail *t = r->t;
    trail_index agents = {0};
    for (size_t i = 0; i < r->n_lanes; i++) {
        trail_lane *lane = r->lanes[i];
        size_t last = lane->from != NULL ? lane->from->n : 0;
        for (size_t k = 0; k < lane->n; k++) {
            number_item(t, lane, &lane->items[k], &last);
            t->events[t->n_events++] = lane->items[k];
        }
    }
    for (size_t i = t->n_events; i-- > 0;) {
        cf_str key = trail_agent_key(t->events[i].agent);
        t->events[i].next = trail_find(&agents, key);
        trail_put(&r->scratch, &agents, key, i);
    }
}

/* A list of the reader's in the trail's memory. */
static void *keep_list(cf_trail *t, const void *v, size_t n, size_t size)
{
    void *p = cf_arena_calloc(&t->arena, n, size);
    return p != NULL && n != 0 ? memcpy(p, v, n * size) : p;
}

cf_status trail_finish(trail_reader *r, cf_status st, cf_trails *out, cf_error *err)
{
    cf_trail *t = r->t;
    size_t n = 0;
    for (size_t i = 0; i < r->n_lanes; i++) {
        n += r->lanes[i]->n;
    }
    if (st == CF_OK) {
        t->events = cf_arena_calloc(&t->arena, n, sizeof *t->events);
        t->models = keep_list(t, r->models, t->n_models = r->n_models, sizeof *r->models);
        t->left_out = keep_list(t, r->left_out, t->n_left_out = r->n_left_out, sizeof *r->left_out);
        if (t->events != NULL) {
            put_events(r);
        }
        if (trail_failed(r) || !cf_grow(&out->v, &out->cap, out->n + 1, sizeof *out->v)) {
            st = cf_oom(err);
        } else {
            out->v[out->n++] = t;
            r->t = NULL;
        }
    }
    trail_drop(r);
    return st;
}

/* ---- memory -------------------------------------------------------------- */

cf_str trail_copy(trail_reader *r, cf_str s)
{
    const char *p = s.n != 0 ? cf_arena_strndup(&r->t->arena, s.p, s.n) : NULL;
    return p != NULL ? cf_str_make(p, s.n) : cf_str_make("", 0);
}

cf_str trail_take(trail_reader *r, cf_buf *b)
{
    r->failed = r->failed || b->failed;
    cf_str s = b->failed ? cf_str_make("", 0) : trail_copy(r, cf_buf_str(b));
    cf_buf_deinit(b);
    return s;
}

cf_str trail_hash(cf_arena *a, cf_buf *b)
{
    char *hex = cf_arena_calloc(a, CF_HASH_TEXT + 1, 1);
    if (hex != NULL) {
        cf_hash_hex(hex, b->p, b->n);
    }
    a->failed = a->failed || b->failed;
    cf_buf_deinit(b);
    return cf_str_from(hex != NULL ? hex : "");
}

cf_str trail_pair(trail_reader *r, cf_str a, cf_str b)
{
    cf_buf text = CF_BUF_INIT;
    cf_buf_add(&text, a.p, a.n);
    cf_buf_addc(&text, ' ');
    cf_buf_add(&text, b.p, b.n);
    return trail_take(r, &text);
}

cf_str trail_json_str(trail_reader *r, const json_t *obj, const char *key)
{
    return trail_copy(r, cf_json_get_str(obj, key));
}

void trail_fill(trail_reader *r, cf_str *to, const json_t *obj, const char *key)
{
    *to = to->n != 0 ? *to : trail_json_str(r, obj, key);
}

const json_t *trail_hold(trail_reader *r, const json_t *v)
{
    json_t **place = trail_push(&r->scratch, &r->values, &r->n_values, sizeof *place);
    if (r->scratch.failed) { /* nobody would release it */
        return NULL;
    }
    return *place = json_incref(cf_json_ref(v));
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

/* ---- lanes --------------------------------------------------------------- */

trail_lane *trail_add_lane(trail_reader *r, cf_str agent)
{
    trail_lane *lane = trail_new(&r->scratch, sizeof *lane);
    *(trail_lane **)trail_push(&r->scratch, &r->lanes, &r->n_lanes, sizeof lane) = lane;
    lane->agent = agent;
    return lane;
}

trail_lane *trail_add_branch(trail_reader *r, cf_str agent, const cf_trail_message *from)
{
    trail_lane *lane = trail_add_lane(r, agent);
    lane->is_branch = true;
    lane->from = from;
    return lane;
}

trail_lane *trail_add_agent(trail_reader *r, cf_str id, cf_str title)
{
    trail_lane *lane = trail_add_lane(r, id);
    lane->begun = trail_agent(r, lane, id, title);
    return lane;
}

void trail_began(trail_reader *r, cf_str agent, cf_str call_id)
{
    if (trail_find(&r->begun, agent) == TRAIL_NONE) {
        trail_put(&r->scratch, &r->begun, agent, r->n_calls);
        *(cf_str *)trail_push(&r->scratch, &r->calls, &r->n_calls, sizeof call_id) = call_id;
    }
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
    trail_lane **out = cf_arena_calloc(&r->scratch, r->n_lanes + 1, sizeof *out);
    if (out == NULL || r->n_lanes == 0) {
        return;
    }
    for (size_t i = r->n_lanes; i-- > 1;) {
        cf_trail_agent *a = r->lanes[i]->begun;
        size_t at = a != NULL ? trail_find(&r->begun, a->id) : TRAIL_NONE;
        if (a != NULL) {
            a->parent_call =
                a->parent_call.n == 0 && at < r->n_calls ? r->calls[at] : a->parent_call;
            r->lanes[i]->next = trail_find(&begun, a->parent_call);
            trail_put(&r->scratch, &begun, a->parent_call, i);
        }
    }
    r->lanes[0]->is_placed = true;
    out[n++] = r->lanes[0];
    for (size_t i = 0; i < n; i++) {
        place_begun(r, &begun, out[i], out, &n);
    }
    place_rest(r, false, out, &n);
    place_rest(r, true, out, &n);
    memcpy(r->lanes, out, n * sizeof *out);
}

/* ---- items --------------------------------------------------------------- */

static cf_trail_event *add_item(trail_reader *r, trail_lane *lane, cf_trail_kind kind)
{
    cf_trail_event *e = trail_push(&r->scratch, &lane->items, &lane->n, sizeof *e);
    *e = (cf_trail_event){.kind = kind, .agent = lane->agent};
    return e;
}

void trail_add_message(trail_reader *r, trail_lane *lane, cf_trail_message *m)
{
    add_item(r, lane, CF_TRAIL_MESSAGE)->as.message = m;
}

cf_trail_message *trail_message(trail_reader *r, trail_lane *lane, cf_trail_role role)
{
    cf_trail_message *m = trail_new(&r->t->arena, sizeof *m);
    m->role = role;
    trail_add_message(r, lane, m);
    return m;
}

cf_trail_step *trail_step(trail_reader *r, trail_lane *lane, cf_trail_message *reply)
{
    cf_trail_step *s = trail_new(&r->t->arena, sizeof *s);
    s->message = reply;
    s->model = reply != NULL ? reply->model : cf_str_make("", 0);
    add_item(r, lane, CF_TRAIL_STEP)->as.step = s;
    return s;
}

cf_trail_compaction *trail_compaction(trail_reader *r, trail_lane *lane)
{
    cf_trail_compaction *c = trail_new(&r->t->arena, sizeof *c);
    add_item(r, lane, CF_TRAIL_COMPACTION)->as.compaction = c;
    return c;
}

cf_trail_agent *trail_agent(trail_reader *r, trail_lane *lane, cf_str id, cf_str title)
{
    cf_trail_agent *a = trail_new(&r->t->arena, sizeof *a);
    *a = (cf_trail_agent){.id = id, .title = title};
    add_item(r, lane, CF_TRAIL_AGENT)->as.agent = a;
    return a;
}

void trail_aborted(trail_reader *r, trail_lane *lane)
{
    (void)add_item(r, lane, CF_TRAIL_ABORTED);
}

void trail_call(trail_reader *r, cf_trail_message *m, cf_str id, cf_str name, cf_str arguments)
{
    cf_trail_call *c = trail_push(&r->t->arena, &m->calls, &m->n_calls, sizeof *c);
    *c = (cf_trail_call){id, name, arguments};
}

bool trail_kept(trail_reader *r, cf_trail_compaction *c, cf_str text)
{
    enum { KEPT_MAX = 4000000, KEPT_BYTES_MAX = 256 << 20 };
    if (r->n_kept > KEPT_MAX) {
        return false;
    }
    if (++r->n_kept > KEPT_MAX || text.n > KEPT_BYTES_MAX - r->kept_bytes) {
        r->n_kept = KEPT_MAX + 1;
        trail_left_out(r, 0, "texts that compactions kept, over 256 MiB", cf_str_make(NULL, 0));
        return false;
    }
    r->kept_bytes += text.n;
    if (text.n != 0) {
        *(cf_str *)trail_push(&r->t->arena, &c->kept, &c->n_kept, sizeof text) = text;
    }
    return true;
}

void trail_left_out(trail_reader *r, uint64_t line, const char *why, cf_str what)
{
    cf_buf b = CF_BUF_INIT;
    cf_buf_adds(&b, why);
    cf_buf_add(&b, what.p, what.n < 200 ? what.n : 200);
    cf_trail_left_out *x = trail_push(&r->scratch, &r->left_out, &r->n_left_out, sizeof *x);
    *x = (cf_trail_left_out){line, trail_take(r, &b), r->file};
}

void trail_model(trail_reader *r, cf_str model)
{
    if (model.n != 0 && trail_find(&r->model_places, model) == TRAIL_NONE) {
        trail_put(&r->scratch, &r->model_places, model, r->n_models);
        *(cf_str *)trail_push(&r->scratch, &r->models, &r->n_models, sizeof model) = model;
    }
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

int64_t trail_time(const json_t *obj, const char *key)
{
    char buf[48];
    size_t n;
    cf_str text = cf_json_get_str(obj, key);
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

/* So bounded that sums over a file, and differences of them, are numbers. */
int64_t trail_tokens(const json_t *obj, const char *key)
{
    const int64_t max = INT64_C(1) << 40, n = trail_int(obj, key);
    return n > max ? max : n < -max ? -max : n;
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

cf_trail_usage trail_usage(const json_t *u, const trail_usage_keys *k)
{
    int64_t input = trail_tokens(u, k->input);
    cf_trail_usage x = {.input = input,
                        .cache_read = trail_tokens(u, k->cache_read),
                        .cache_creation = trail_tokens(u, k->cache_creation),
                        .output = trail_tokens(u, k->output),
                        .reasoning = trail_tokens(u, k->reasoning)};
    x.input -= k->has_cache ? x.cache_read + x.cache_creation : 0;
    x.output += (k->lacks_reasoning ? x.reasoning : 0) - (k->is_total ? input : 0);
    return x;
}

/* ---- names to numbers ---------------------------------------------------- */

static uint64_t hash_of(cf_str key)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < key.n; i++) {
        h = (h ^ (unsigned char)key.p[i]) * UINT64_C(1099511628211);
    }
    return h ^ h >> 29;
}

static size_t slot_of(const trail_index *ix, cf_str key, uint64_t hash)
{
    size_t at = (size_t)hash & (ix->size - 1);
    while (ix->cells[at].key.p != NULL &&
           (ix->cells[at].hash != hash || !cf_str_eq(ix->cells[at].key, key))) {
        at = (at + 1) & (ix->size - 1);
    }
    return at;
}

size_t trail_find(const trail_index *ix, cf_str key)
{
    if (ix->size == 0 || key.n == 0) {
        return TRAIL_NONE;
    }
    size_t at = slot_of(ix, key, hash_of(key));
    return ix->cells[at].key.p != NULL ? ix->cells[at].value : TRAIL_NONE;
}

static bool widen(cf_arena *a, trail_index *ix)
{
    trail_index wider = {.size = ix->size == 0 ? 16 : 4 * ix->size, .used = ix->used};
    wider.cells = cf_arena_calloc(a, wider.size, sizeof *wider.cells);
    for (size_t i = 0; wider.cells != NULL && i < ix->size; i++) {
        const struct trail_index_cell *cell = &ix->cells[i];
        if (cell->key.p != NULL) {
            wider.cells[slot_of(&wider, cell->key, cell->hash)] = *cell;
        }
    }
    *ix = wider.cells != NULL ? wider : *ix;
    return wider.cells != NULL;
}

void trail_put(cf_arena *a, trail_index *ix, cf_str key, size_t value)
{
    if (key.n == 0 || (2 * (ix->used + 1) > ix->size && !widen(a, ix))) {
        return;
    }
    uint64_t hash = hash_of(key);
    size_t at = slot_of(ix, key, hash);
    ix->used += ix->cells[at].key.p == NULL;
    ix->cells[at] = (struct trail_index_cell){key, value, hash};
}
