/*
 * safetensors.c - reads headers and checks them.
 *
 *   1. [off, off + bytes) of each tensor lies in its file's data;
 *   2. no two tensors of a file share a byte, and none has another's name;
 *   3. `bytes` is what type and shape say, where the type is known.
 */
#include "core/hub/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/os.h"
#include "core/json/json.h"
#include "core/json/json_exact.h"

enum {
    LENGTH_BYTES = 8,
    HEADER_MAX = 100 << 20, /* as the format's own reader has it */
    FILES_MAX = 1024,
    TENSORS_MAX = 1 << 20,
    INDEX_MAX = 64 << 20
};

#define INDEX_FILE  "model.safetensors.index.json"
#define SINGLE_FILE "model.safetensors"

typedef struct st_file {
    cf_os_map map; /* unused for memory */
    const unsigned char *p;
    size_t n;
    size_t data_off;
} st_file;

struct cf_safetensors {
    st_file *files;
    size_t n_files, cap_files;
    cf_safetensor *v; /* sorted by name */
    size_t n, cap;
    cf_arena arena; /* names with escapes */
};

/* ---- types --------------------------------------------------------------- */

static const struct {
    const char *name;
    cf_st_type type;
    uint32_t bits;
} types[] = {{"F32", CF_ST_F32, 32},   {"F16", CF_ST_F16, 16},      {"BF16", CF_ST_BF16, 16},
             {"U8", CF_ST_U8, 8},      {"F64", CF_ST_OTHER, 64},    {"I64", CF_ST_OTHER, 64},
             {"U64", CF_ST_OTHER, 64}, {"I32", CF_ST_OTHER, 32},    {"U32", CF_ST_OTHER, 32},
             {"I16", CF_ST_OTHER, 16}, {"U16", CF_ST_OTHER, 16},    {"I8", CF_ST_OTHER, 8},
             {"BOOL", CF_ST_OTHER, 8}, {"F8_E4M3", CF_ST_OTHER, 8}, {"F8_E5M2", CF_ST_OTHER, 8}};

size_t cf_st_type_bytes(cf_st_type type)
{
    static const size_t bytes[] = {
        [CF_ST_OTHER] = 0, [CF_ST_F32] = 4, [CF_ST_F16] = 2, [CF_ST_BF16] = 2, [CF_ST_U8] = 1};
    return bytes[type];
}

/* The length to print of a name from the file. */
static int shown(cf_str s)
{
    return s.n < 96 ? (int)s.n : 96;
}

/* ---- one tensor ---------------------------------------------------------- */

typedef struct reader {
    cf_safetensors *s;
    cf_jx jx;
    cf_error *err;
} reader;

static cf_status broken(const reader *r, cf_str name, const char *what)
{
    return cf_fail(r->err, CF_EFORMAT, "tensor %.*s: %s", shown(name), name.p, what);
}

static cf_status next(reader *r, cf_jx_event *e)
{
    return cf_jx_next(&r->jx, e, r->err);
}

/* An integer of at most 2^53, so that products are easily checked. */
static bool as_u64(const cf_jx_event *e, uint64_t *out)
{
    uint64_t v = 0;
    if (e->kind != CF_JX_INT || e->text.n == 0 || e->text.n > 16) {
        return false;
    }
    for (size_t i = 0; i < e->text.n; i++) {
        if (e->text.p[i] < '0' || e->text.p[i] > '9') {
            return false;
        }
        v = v * 10 + (uint64_t)(e->text.p[i] - '0');
    }
    *out = v;
    return v <= (uint64_t)1 << 53;
}

/* Reads the next array as whole numbers of at most `max`. */
static cf_status read_numbers(reader *r, cf_str name, uint64_t *v, uint32_t max, uint32_t *n)
{
    cf_jx_event e;
    CF_TRY(next(r, &e));
    if (e.kind != CF_JX_ARRAY) {
        return broken(r, name, "not a list of numbers");
    }
    for (*n = 0;; (*n)++) {
        CF_TRY(next(r, &e));
        if (e.kind == CF_JX_ARRAY_END) {
            return CF_OK;
        }
        if (*n == max) {
            return broken(r, name, "too many dimensions");
        }
        if (!as_u64(&e, &v[*n])) {
            return broken(r, name, "a size is not a whole number below 2^53");
        }
    }
}

static cf_status skip_value(reader *r)
{
    cf_jx_event e;
    size_t depth = r->jx.depth;
    do {
        CF_TRY(next(r, &e));
    } while (r->jx.depth > depth);
    return CF_OK;
}

static cf_status read_member(reader *r, cf_safetensor *t, cf_str key, uint64_t range[2],
                             uint32_t *n_range)
{
    cf_jx_event e;
    if (cf_str_is(key, "dtype")) {
        CF_TRY(next(r, &e));
        if (e.kind != CF_JX_STRING) {
            return broken(r, t->name, "its dtype is not a name");
        }
        t->type_name = e.text;
        return CF_OK;
    }
    if (cf_str_is(key, "shape")) {
        return read_numbers(r, t->name, t->dim, CF_ST_DIMS, &t->n_dim);
    }
    if (cf_str_is(key, "data_offsets")) {
        return read_numbers(r, t->name, range, 2, n_range);
    }
    return skip_value(r);
}

/* Fills type and n, and checks the size (rule 3). */
static cf_status check_size(const reader *r, cf_safetensor *t)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (cf_str_is(t->type_name, types[i].name)) {
            t->type = types[i].type;
            bits = types[i].bits;
        }
    }
    t->n = 1;
    for (uint32_t i = 0; i < t->n_dim; i++) {
        if (t->dim[i] != 0 && t->n > ((uint64_t)1 << 56) / t->dim[i]) {
            return broken(r, t->name, "its shape is too large");
        }
        t->n *= t->dim[i];
    }
    if (bits != 0 && t->n * (bits / 8) != t->bytes) {
        return cf_fail(r->err, CF_EFORMAT,
                       "tensor %.*s: %" PRIu64 " numbers of type %.*s in "
                       "%" PRIu64 " bytes",
                       shown(t->name), t->name.p, t->n, shown(t->type_name), t->type_name.p,
                       t->bytes);
    }
    return CF_OK;
}

static cf_status read_tensor(reader *r, uint32_t i_file, cf_str name)
{
    cf_safetensors *s = r->s;
    const st_file *f = &s->files[i_file];
    cf_safetensor t = {.name = name, .file = i_file};
    uint64_t range[2] = {0, 0};
    uint32_t n_range = 0;
    cf_jx_event e;
    CF_TRY(next(r, &e));
    if (e.kind != CF_JX_OBJECT) {
        return broken(r, name, "not described by an object");
    }
    for (;;) {
        CF_TRY(next(r, &e));
        if (e.kind == CF_JX_OBJECT_END) {
            break;
        }
        CF_TRY(read_member(r, &t, e.text, range, &n_range));
    }
    if (t.type_name.p == NULL || n_range != 2) {
        return broken(r, name, "its dtype or data_offsets are missing");
    }
    if (range[0] > range[1] || range[1] > f->n - f->data_off) {
        return cf_fail(r->err, CF_EFORMAT,
                       "tensor %.*s: its bytes %" PRIu64 " to %" PRIu64
                       " are not in the file's %zu bytes of data",
                       shown(name), name.p, range[0], range[1], f->n - f->data_off);
    }
    t.off = range[0];
    t.bytes = range[1] - range[0];
    t.p = f->p + f->data_off + t.off;
    CF_TRY(check_size(r, &t));
    if (s->n == TENSORS_MAX) {
        return cf_fail(r->err, CF_ELIMIT, "more than %d tensors", TENSORS_MAX);
    }
    if (!cf_grow(&s->v, &s->cap, s->n + 1, sizeof *s->v)) {
        return cf_oom_for(r->err, "the list of tensors");
    }
    s->v[s->n++] = t;
    return CF_OK;
}

/* ---- one file ------------------------------------------------------------ */

static cf_status read_header(cf_safetensors *s, uint32_t i_file, cf_error *err)
{
    st_file *f = &s->files[i_file];
    uint64_t n = 0;
    for (size_t i = LENGTH_BYTES; i > 0 && f->n >= LENGTH_BYTES; i--) {
        n = n << 8 | f->p[i - 1];
    }
    if (f->n < LENGTH_BYTES || n > f->n - LENGTH_BYTES || n > HEADER_MAX || n < 2) {
        return cf_fail(err, CF_EFORMAT,
                       "not a safetensors file: a header of %" PRIu64 " bytes in a file of %zu", n,
                       f->n);
    }
    f->data_off = LENGTH_BYTES + (size_t)n;
    reader r = {.s = s, .err = err};
    cf_jx_event e;
    cf_jx_init(&r.jx, cf_str_make((const char *)f->p + LENGTH_BYTES, (size_t)n), &s->arena);
    CF_TRY(next(&r, &e));
    if (e.kind != CF_JX_OBJECT) {
        return cf_fail(err, CF_EFORMAT, "the header is not a JSON object");
    }
    for (;;) {
        CF_TRY(next(&r, &e));
        if (e.kind == CF_JX_OBJECT_END) {
            return next(&r, &e); /* nothing but blanks may follow */
        }
        if (cf_str_is(e.text, "__metadata__")) {
            CF_TRY(skip_value(&r));
        } else {
            CF_TRY(read_tensor(&r, i_file, e.text));
        }
    }
}

static int compare_str(cf_str a, cf_str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int d = n != 0 ? memcmp(a.p, b.p, n) : 0;
    return d != 0 ? d : (a.n > b.n) - (a.n < b.n);
}

static int by_name(const void *a, const void *b)
{
    const cf_safetensor *x = a, *y = b;
    return compare_str(x->name, y->name);
}

static int by_place(const void *a, const void *b)
{
    const cf_safetensor *x = a, *y = b;
    if (x->file != y->file) {
        return x->file < y->file ? -1 : 1;
    }
    if (x->off != y->off) {
        return x->off < y->off ? -1 : 1;
    }
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Rule 2; leaves the tensors sorted by name. */
static cf_status check_all(cf_safetensors *s, cf_error *err)
{
    if (s->n == 0) {
        return CF_OK;
    }
    qsort(s->v, s->n, sizeof *s->v, by_place);
    for (size_t i = 1; i < s->n; i++) {
        const cf_safetensor *a = &s->v[i - 1], *b = &s->v[i];
        if (a->file == b->file && b->off < a->off + a->bytes) {
            return cf_fail(err, CF_EFORMAT,
                           "tensors %.*s and %.*s overlap at byte %" PRIu64 " of the data",
                           shown(a->name), a->name.p, shown(b->name), b->name.p, b->off);
        }
    }
    qsort(s->v, s->n, sizeof *s->v, by_name);
    for (size_t i = 1; i < s->n; i++) {
        if (cf_str_eq(s->v[i - 1].name, s->v[i].name)) {
            return cf_fail(err, CF_EFORMAT, "tensor %.*s is given twice", shown(s->v[i].name),
                           s->v[i].name.p);
        }
    }
    return CF_OK;
}

static cf_status new_set(cf_safetensors **out, cf_error *err)
{
    *out = cf_calloc(1, sizeof **out);
    if (*out == NULL) {
        return cf_oom(err);
    }
    cf_arena_init(&(*out)->arena, 0);
    return CF_OK;
}

static cf_status add_slot(cf_safetensors *s, cf_error *err)
{
    if (!cf_grow(&s->files, &s->cap_files, s->n_files + 1, sizeof *s->files)) {
        return cf_oom(err);
    }
    s->files[s->n_files++] = (st_file){.p = NULL};
    return CF_OK;
}

static cf_status add_file(cf_safetensors *s, const char *path, cf_error *err)
{
    CF_TRY(add_slot(s, err));
    st_file *f = &s->files[s->n_files - 1];
    cf_status st = cf_os_map_open(&f->map, path, err);
    if (st != CF_OK) {
        s->n_files--;
        return st;
    }
    f->p = f->map.p;
    f->n = f->map.n;
    st = read_header(s, (uint32_t)(s->n_files - 1), err);
    return st != CF_OK ? cf_fail_in(err, st, path) : CF_OK;
}

/* Hands the set to the caller, or closes it on failure. */
static cf_status finish(cf_safetensors **out, cf_safetensors *s, cf_status st, cf_error *err)
{
    CF_THEN(st, check_all(s, err));
    if (st != CF_OK) {
        cf_safetensors_close(s);
        return st;
    }
    *out = s;
    return CF_OK;
}

cf_status cf_safetensors_open(cf_safetensors **out, const char *path, cf_error *err)
{
    cf_safetensors *s = NULL;
    CF_TRY(new_set(&s, err));
    return finish(out, s, add_file(s, path, err), err);
}

cf_status cf_safetensors_open_memory(cf_safetensors **out, const void *bytes, size_t n,
                                     cf_error *err)
{
    cf_safetensors *s = NULL;
    CF_TRY(new_set(&s, err));
    cf_status st = add_slot(s, err);
    if (st == CF_OK) {
        s->files[0].p = bytes;
        s->files[0].n = n;
        st = read_header(s, 0, err);
    }
    return finish(out, s, st, err);
}

/* ---- folders ------------------------------------------------------------- */

static cf_status join(cf_buf *out, const char *folder, cf_str name, cf_error *err)
{
    cf_buf_reset(out);
    cf_buf_addf(out, "%s/", folder);
    cf_buf_add(out, name.p, name.n);
    return cf_buf_check(out, err);
}

/* A plain file name: an index comes from outside. */
static bool is_plain(cf_str s)
{
    return s.n > 0 && s.n < 256 && s.p[0] != '.' && memchr(s.p, '/', s.n) == NULL &&
           memchr(s.p, '\0', s.n) == NULL;
}

/* Opens each file that "weight_map" names, once. */
static cf_status add_listed(cf_safetensors *s, const char *folder, const json_t *map, cf_error *err)
{
    cf_buf path = CF_BUF_INIT;
    json_t *seen = json_object();
    const char *key;
    json_t *v;
    cf_status st = seen != NULL ? CF_OK : cf_oom(err);
    json_object_foreach(cf_json_ref(map), key, v)
    {
        cf_str name = {json_string_value(v), json_string_length(v)};
        if (st != CF_OK ||
            (name.p != NULL && is_plain(name) && json_object_get(seen, name.p) != NULL)) {
            continue;
        }
        if (name.p == NULL || !is_plain(name) || s->n_files == FILES_MAX) {
            st = cf_fail(err, CF_EFORMAT,
                         "%s: the file of %.80s is not a plain name, or there "
                         "are over %d",
                         INDEX_FILE, key, FILES_MAX);
            continue;
        }
        st = join(&path, folder, name, err);
        CF_THEN(st, add_file(s, cf_buf_cstr(&path), err));
        if (st == CF_OK && json_object_set_new(seen, name.p, json_true()) != 0) {
            st = cf_oom(err);
        }
    }
    json_decref(seen);
    cf_buf_deinit(&path);
    return st;
}

static cf_status add_index(cf_safetensors *s, const char *folder, cf_buf *text, cf_error *err)
{
    json_t *index = NULL;
    cf_status st = cf_json_read_doubles(&index, text->p, text->n, err);
    if (st != CF_OK) {
        return cf_fail_in(err, st, INDEX_FILE);
    }
    const json_t *map = json_object_get(index, "weight_map");
    st = json_object_size(map) != 0 ? add_listed(s, folder, map, err)
                                    : cf_fail(err, CF_EFORMAT, "%s has no weight_map", INDEX_FILE);
    json_decref(index);
    return st;
}

cf_status cf_safetensors_open_folder(cf_safetensors **out, const char *folder, cf_error *err)
{
    cf_safetensors *s = NULL;
    cf_buf path = CF_BUF_INIT, text = CF_BUF_INIT;
    CF_TRY(new_set(&s, err));
    cf_status st = join(&path, folder, cf_str_from(INDEX_FILE), err);
    CF_THEN(st, cf_os_read_file(&text, cf_buf_cstr(&path), INDEX_MAX, err));
    if (st == CF_OK) {
        st = add_index(s, folder, &text, err);
    } else if (st == CF_ENOTFOUND) {
        st = join(&path, folder, cf_str_from(SINGLE_FILE), err);
        CF_THEN(st, add_file(s, cf_buf_cstr(&path), err));
    }
    cf_buf_deinit(&text);
    cf_buf_deinit(&path);
    return finish(out, s, st, err);
}

bool cf_safetensors_is_in(const char *folder)
{
    static const char *const names[] = {INDEX_FILE, SINGLE_FILE};
    bool found = false;
    for (size_t i = 0; i < 2 && !found; i++) {
        found = cf_os_has_file(folder, names[i]);
    }
    return found;
}

void cf_safetensors_close(cf_safetensors *s)
{
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < s->n_files; i++) {
        cf_os_map_close(&s->files[i].map);
    }
    cf_free(s->files);
    cf_free(s->v);
    cf_arena_deinit(&s->arena);
    cf_free(s);
}

/* ---- looking ------------------------------------------------------------- */

size_t cf_safetensors_n(const cf_safetensors *s)
{
    return s->n;
}

const cf_safetensor *cf_safetensors_at(const cf_safetensors *s, size_t i)
{
    CF_ASSERT(i < s->n);
    return &s->v[i];
}

const cf_safetensor *cf_safetensors_find(const cf_safetensors *s, cf_str name)
{
    size_t lo = 0, hi = s->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int d = compare_str(name, s->v[mid].name);
        if (d == 0) {
            return &s->v[mid];
        }
        if (d < 0) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return NULL;
}

cf_status cf_safetensors_check(const cf_safetensors *s, cf_error *err)
{
    for (size_t i = 0; s != NULL && i < s->n_files; i++) {
        if (s->files[i].map.p != NULL) {
            CF_TRY(cf_os_map_check(&s->files[i].map, err));
        }
    }
    return CF_OK;
}

size_t cf_safetensors_n_files(const cf_safetensors *s)
{
    return s != NULL ? s->n_files : 0;
}

cf_str cf_safetensors_file(const cf_safetensors *s, size_t i, uint64_t *header_bytes)
{
    CF_ASSERT(i < s->n_files);
    *header_bytes = s->files[i].data_off;
    return cf_str_make((const char *)s->files[i].p, s->files[i].n);
}

const char *cf_safetensors_main_type(const cf_safetensors *s)
{
    uint64_t bytes[sizeof types / sizeof types[0]] = {0};
    size_t best = 0;
    for (size_t i = 0; s != NULL && i < s->n; i++) {
        for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
            bytes[k] += cf_str_is(s->v[i].type_name, types[k].name) ? s->v[i].bytes : 0;
            best = bytes[k] > bytes[best] ? k : best;
        }
    }
    return bytes[best] != 0 ? types[best].name : "";
}

void cf_safetensors_prefetch(const cf_safetensors *s)
{
    uint64_t free_bytes = cf_os_memory_available(), all = 0;
    for (size_t i = 0; i < s->n_files; i++) {
        all += s->files[i].n;
    }
    for (size_t i = 0; i < s->n_files && (free_bytes == 0 || all <= free_bytes); i++) {
        const st_file *f = &s->files[i];
        cf_os_map_prefetch(&f->map, f->data_off, f->n - f->data_off);
    }
}
