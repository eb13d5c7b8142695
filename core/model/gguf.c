/*
 * gguf.c - parses model files and checks everything before it is used.
 *
 * A part is read front to back by a cursor that cannot pass the end of the
 * bytes.  A count is accepted only when that many of the smallest possible
 * items would fit in what is left, so what is allocated is bounded by a small
 * multiple of the file's size.
 *
 * Rules that hold after open:
 *   1. every value's bytes lie inside its part, string items included;
 *   2. every tensor has 1 to 4 dimensions, none of them zero, and a product
 *      below 2^63; its data is inside its part and overlaps no other;
 *   3. keys are unique, tensor names are unique over all parts.
 */
#include "core/model/gguf_impl.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/buf.h"
#include "core/base/os.h"
#include "core/kernel/dtype.h"

enum {
    NAME_MAX_BYTES = 65535, /* the specification's limit for keys */
    ALIGN_DEFAULT = 32,
    ALIGN_MIN = 8, /* the specification asks for a multiple of 8 */
    ALIGN_MAX = 1 << 20,
    N_PARTS_MAX = 4096,
    VALUE_BYTES_MIN = 8 + 1 + 4 + 1,         /* key of one byte, type, a byte */
    TENSOR_BYTES_MIN = 8 + 1 + 4 + 8 + 4 + 8 /* one dimension */
};

/* ---- the cursor --------------------------------------------------------- */

typedef struct cursor {
    const unsigned char *p;
    uint64_t n;   /* bytes of the part */
    uint64_t off; /* next byte; never over n */
    cf_error *err;
} cursor;

static cf_status cut_short(cursor *c, const char *what)
{
    return cf_fail_at(c->err, CF_EFORMAT, c->off, "GGUF file ends inside %s at byte %" PRIu64, what,
                      c->off);
}

static cf_status read_uint(cursor *c, size_t bytes, uint64_t *out, const char *what)
{
    if (c->n - c->off < bytes) {
        return cut_short(c, what);
    }
    *out = cf_gguf__load_uint(c->p + c->off, bytes);
    c->off += bytes;
    return CF_OK;
}

static cf_status read_str(cursor *c, cf_str *out, const char *what)
{
    uint64_t at = c->off;
    uint64_t n = 0;
    CF_TRY(read_uint(c, 8, &n, what));
    if (n > c->n - c->off) {
        c->off = at;
        return cf_fail_at(c->err, CF_EFORMAT, at,
                          "%s at byte %" PRIu64 " declares %" PRIu64 " bytes, %" PRIu64 " are left",
                          what, at, n, c->n - at - 8);
    }
    *out = cf_str_make((const char *)c->p + c->off, (size_t)n);
    c->off += n;
    return CF_OK;
}

static cf_status read_name(cursor *c, cf_str *out, const char *what)
{
    uint64_t at = c->off;
    CF_TRY(read_str(c, out, what));
    if (out->n == 0 || out->n > NAME_MAX_BYTES) {
        return cf_fail_at(c->err, CF_EFORMAT, at, "%s at byte %" PRIu64 " is %zu bytes long", what,
                          at, out->n);
    }
    return CF_OK;
}

/* A count of things of at least `min` bytes each that follow. */
static cf_status read_count(cursor *c, size_t min, uint64_t *out, const char *what)
{
    uint64_t at = c->off;
    CF_TRY(read_uint(c, 8, out, what));
    if (*out > c->n / min || *out > UINT32_MAX) {
        return cf_fail_at(c->err, CF_EFORMAT, at,
                          "%s at byte %" PRIu64 " is %" PRIu64 ", more than a file of %" PRIu64
                          " bytes can hold",
                          what, at, *out, c->n);
    }
    return CF_OK;
}

/* ---- values ------------------------------------------------------------- */

static cf_status check_bools(cursor *c, const cf_gguf_value *v)
{
    for (uint64_t i = 0; i < v->n; i++) {
        if (v->p[i] > 1) {
            uint64_t at = (uint64_t)(v->p - c->p) + i;
            return cf_fail_at(c->err, CF_EFORMAT, at, "%.*s: bool at byte %" PRIu64 " is %u",
                              cf_gguf__shown(v->key), v->key.p, at, v->p[i]);
        }
    }
    return CF_OK;
}

static cf_status read_array(cursor *c, cf_gguf_value *v)
{
    uint64_t at = c->off;
    uint64_t item = 0;
    CF_TRY(read_uint(c, 4, &item, "an array's item type"));
    size_t bytes = cf_gguf__scalar_bytes((uint32_t)item);
    if (item == CF_GGUF_ARRAY) {
        return cf_fail_at(c->err, CF_EUNSUPPORTED, at,
                          "%.*s: array of arrays at byte %" PRIu64 " is not supported",
                          cf_gguf__shown(v->key), v->key.p, at);
    }
    if (bytes == 0 && item != CF_GGUF_STRING) {
        return cf_fail_at(c->err, CF_EFORMAT, at,
                          "%.*s: unknown array item type %" PRIu64 " at byte %" PRIu64,
                          cf_gguf__shown(v->key), v->key.p, item, at);
    }
    at = c->off;
    CF_TRY(read_uint(c, 8, &v->n, "an array's length"));
    v->item = (cf_gguf_type)item;
    size_t min = bytes != 0 ? bytes : 8; /* a string has at least a length */
    if (v->n > (c->n - c->off) / min) {
        return cf_fail_at(c->err, CF_EFORMAT, at,
                          "%.*s: array at byte %" PRIu64 " declares %" PRIu64 " items, %" PRIu64
                          " bytes are left",
                          cf_gguf__shown(v->key), v->key.p, at, v->n, c->n - c->off);
    }
    v->p = c->p + c->off;
    if (bytes != 0) {
        c->off += v->n * bytes;
        return item == CF_GGUF_BOOL ? check_bools(c, v) : CF_OK;
    }
    for (uint64_t i = 0; i < v->n; i++) {
        cf_str ignored;
        CF_TRY(read_str(c, &ignored, "a string of an array"));
    }
    return CF_OK;
}

static cf_status read_value(cursor *c, cf_gguf_value *v)
{
    uint64_t type = 0;
    CF_TRY(read_name(c, &v->key, "metadata key"));
    uint64_t at = c->off;
    CF_TRY(read_uint(c, 4, &type, "a value's type"));
    v->type = (cf_gguf_type)type;
    v->item = v->type;
    v->n = 1;
    v->off = c->off;
    v->p = c->p + c->off;
    size_t bytes = cf_gguf__scalar_bytes((uint32_t)type);
    if (type == CF_GGUF_ARRAY) {
        return read_array(c, v);
    }
    if (type == CF_GGUF_STRING) {
        cf_str ignored;
        return read_str(c, &ignored, "a metadata string");
    }
    if (bytes == 0) {
        return cf_fail_at(c->err, CF_EFORMAT, at,
                          "%.*s: unknown value type %" PRIu64 " at byte %" PRIu64,
                          cf_gguf__shown(v->key), v->key.p, type, at);
    }
    if (c->n - c->off < bytes) {
        return cut_short(c, "a metadata value");
    }
    c->off += bytes;
    return type == CF_GGUF_BOOL ? check_bools(c, v) : CF_OK;
}

/* ---- tensors ------------------------------------------------------------ */

static cf_status read_dims(cursor *c, cf_gguf_tensor *t)
{
    uint64_t at = c->off;
    uint64_t n = 0;
    CF_TRY(read_uint(c, 4, &n, "a tensor's dimension count"));
    if (n < 1 || n > 4) {
        return cf_fail_at(c->err, CF_EFORMAT, at,
                          "tensor %.*s has %" PRIu64 " dimensions at byte %" PRIu64
                          ", 1 to 4 are allowed",
                          cf_gguf__shown(t->name), t->name.p, n, at);
    }
    t->n_dim = (uint32_t)n;
    uint64_t total = 1;
    for (size_t i = 0; i < 4; i++) {
        t->dim[i] = 1;
        if (i >= n) {
            continue;
        }
        at = c->off;
        CF_TRY(read_uint(c, 8, &t->dim[i], "a tensor's dimensions"));
        if (t->dim[i] == 0 || t->dim[i] > (uint64_t)INT64_MAX / total) {
            return cf_fail_at(c->err, CF_EFORMAT, at,
                              "tensor %.*s: dimension %zu at byte %" PRIu64 " is %s (%" PRIu64 ")",
                              cf_gguf__shown(t->name), t->name.p, i, at,
                              t->dim[i] == 0 ? "zero" : "too large", t->dim[i]);
        }
        total *= t->dim[i];
    }
    return CF_OK;
}

/* Sets t->bytes from type and dimensions. */
static cf_status measure_tensor(cursor *c, uint64_t at, cf_gguf_tensor *t)
{
    cf_dtype_info info = cf_dtype_get(t->type);
    t->bytes = 0;
    if (info.name == NULL) {
        return CF_OK; /* refused only when it is to be computed with */
    }
    if (t->dim[0] % info.n_block != 0) {
        return cf_fail_at(
            c->err, CF_EFORMAT, at,
            "tensor %.*s: rows of %" PRIu64 " are no multiple of %s's block of %u (type at byte "
            "%" PRIu64 ")",
            cf_gguf__shown(t->name), t->name.p, t->dim[0], info.name, info.n_block, at);
    }
    uint64_t n_blocks = t->dim[0] / info.n_block;
    for (size_t i = 1; i < 4; i++) {
        n_blocks *= t->dim[i]; /* at most the product checked above */
    }
    if (n_blocks > (uint64_t)INT64_MAX / info.blk_bytes) {
        return cf_fail_at(c->err, CF_EFORMAT, at,
                          "tensor %.*s is too large (type at byte %" PRIu64 ")",
                          cf_gguf__shown(t->name), t->name.p, at);
    }
    t->bytes = n_blocks * info.blk_bytes;
    return CF_OK;
}

/* Reads one declaration; file_off is relative to the data until placed. */
static cf_status read_tensor(cursor *c, cf_gguf_tensor *t)
{
    uint64_t type = 0;
    CF_TRY(read_name(c, &t->name, "tensor name"));
    CF_TRY(read_dims(c, t));
    uint64_t at = c->off;
    CF_TRY(read_uint(c, 4, &type, "a tensor's type"));
    t->type = (uint32_t)type;
    CF_TRY(read_uint(c, 8, &t->file_off, "a tensor's offset"));
    return measure_tensor(c, at, t);
}

static cf_status place_tensor(const cf_gguf_file *pt, cf_gguf_tensor *t, uint64_t align,
                              cf_error *err)
{
    uint64_t room = pt->n > pt->data_off ? pt->n - pt->data_off : 0;
    uint64_t rel = t->file_off;
    uint64_t used = t->bytes != 0 ? t->bytes : 1;
    if (rel % align != 0) {
        return cf_fail_at(err, CF_EFORMAT, pt->data_off,
                          "tensor %.*s: offset %" PRIu64
                          " is not a multiple of the alignment %" PRIu64
                          " (data starts at byte %" PRIu64 ")",
                          cf_gguf__shown(t->name), t->name.p, rel, align, pt->data_off);
    }
    if (rel > room || used > room - rel) {
        return cf_fail_at(err, CF_EFORMAT, pt->data_off,
                          "tensor %.*s: %" PRIu64 " bytes at offset %" PRIu64
                          " lie outside the file (data starts at byte %" PRIu64 ", %" PRIu64
                          " bytes follow)",
                          cf_gguf__shown(t->name), t->name.p, used, rel, pt->data_off, room);
    }
    t->file_off = pt->data_off + rel;
    t->p = t->bytes != 0 ? pt->p + t->file_off : NULL;
    return CF_OK;
}

/* ---- one part ----------------------------------------------------------- */

static cf_status read_head(cursor *c, uint64_t *n_tensors, uint64_t *n_values)
{
    uint64_t version = 0;
    if (c->n < 4 || memcmp(c->p, "GGUF", 4) != 0) {
        return cf_fail_at(c->err, CF_EFORMAT, 0, "not a GGUF file: no \"GGUF\" at byte 0");
    }
    c->off = 4;
    CF_TRY(read_uint(c, 4, &version, "the version"));
    if (version == 0x02000000 || version == 0x03000000) {
        return cf_fail_at(c->err, CF_EUNSUPPORTED, 4,
                          "big-endian GGUF is not supported (version at byte "
                          "4)");
    }
    if (version != 2 && version != 3) {
        return cf_fail_at(c->err, CF_EUNSUPPORTED, 4,
                          "GGUF version %" PRIu64 " at byte 4 is not supported, 2 and 3 are",
                          version);
    }
    CF_TRY(read_count(c, TENSOR_BYTES_MIN, n_tensors, "tensor count"));
    return read_count(c, VALUE_BYTES_MIN, n_values, "metadata count");
}

static const cf_gguf_value *scan_values(const cf_gguf_value *v, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        if (cf_str_is(v[i].key, key)) {
            return &v[i];
        }
    }
    return NULL;
}

static cf_status get_alignment(const cf_gguf_value *v, size_t n, uint64_t *out, cf_error *err)
{
    const cf_gguf_value *a = scan_values(v, n, "general.alignment");
    *out = ALIGN_DEFAULT;
    if (a == NULL) {
        return CF_OK;
    }
    if (a->type != CF_GGUF_U32) {
        return cf_fail_at(err, CF_EFORMAT, a->off,
                          "general.alignment at byte %" PRIu64 " is %s, must be uint32", a->off,
                          cf_gguf_type_name(a->type));
    }
    *out = cf_gguf__load_uint(a->p, 4);
    if (*out < ALIGN_MIN || *out > ALIGN_MAX || (*out & (*out - 1)) != 0) {
        return cf_fail_at(err, CF_EFORMAT, a->off,
                          "general.alignment at byte %" PRIu64 " is %" PRIu64
                          ", must be a power of two from %d to %d",
                          a->off, *out, ALIGN_MIN, ALIGN_MAX);
    }
    return CF_OK;
}

/* Adds the tensors declared at the cursor to those of earlier parts. */
static cf_status read_tensors(cf_gguf *g, uint32_t i_part, cursor *c, uint64_t n, uint64_t align)
{
    cf_gguf_file *pt = &g->parts[i_part];
    size_t first = g->n_tensors;
    if (first + n > UINT32_MAX) {
        return cf_fail_at(c->err, CF_EFORMAT, 8, "too many tensors");
    }
    cf_gguf_tensor *grown = cf_realloc(g->tensors, first + n + 1, sizeof *g->tensors);
    if (grown == NULL) {
        return cf_fail(c->err, CF_ENOMEM, "out of memory for %" PRIu64 " tensors", n);
    }
    g->tensors = grown;
    for (uint64_t i = 0; i < n; i++) {
        cf_gguf_tensor *t = &g->tensors[first + i];
        t->part = i_part;
        CF_TRY(read_tensor(c, t));
    }
    pt->data_off = (c->off + align - 1) / align * align;
    for (uint64_t i = 0; i < n; i++) {
        CF_TRY(place_tensor(pt, &g->tensors[first + i], align, c->err));
    }
    if (pt->data_off > pt->n) {
        pt->data_off = pt->n; /* no tensors, no padding */
    }
    g->n_tensors = first + (size_t)n;
    return CF_OK;
}

/* Reads part i; *values is the caller's, also on failure. */
static cf_status read_part(cf_gguf *g, uint32_t i_part, cf_gguf_value **values, size_t *n_values,
                           cf_error *err)
{
    cursor c = {g->parts[i_part].p, g->parts[i_part].n, 0, err};
    uint64_t n_tensors = 0;
    uint64_t n = 0;
    uint64_t align = 0;
    CF_TRY(read_head(&c, &n_tensors, &n));
    cf_gguf_value *v = cf_calloc((size_t)n + 1, sizeof *v);
    if (v == NULL) {
        return cf_fail(err, CF_ENOMEM, "out of memory for %" PRIu64 " metadata values", n);
    }
    *values = v;
    *n_values = (size_t)n;
    for (uint64_t i = 0; i < n; i++) {
        CF_TRY(read_value(&c, &v[i]));
    }
    CF_TRY(get_alignment(v, (size_t)n, &align, err));
    return read_tensors(g, i_part, &c, n_tensors, align);
}

/* ---- split models ------------------------------------------------------- */

/* An unsigned split key below `limit`; absent gives `otherwise`. */
static cf_status split_number(const cf_gguf_value *v, size_t n, const char *key, int64_t otherwise,
                              int64_t *out, cf_error *err)
{
    const cf_gguf_value *found = scan_values(v, n, key);
    *out = otherwise;
    if (found == NULL) {
        return CF_OK;
    }
    if (!cf_gguf__value_i64(found, out) || *out < 0 || *out > UINT32_MAX) {
        return cf_fail_at(err, CF_EFORMAT, found->off, "%s at byte %" PRIu64 " is not a count", key,
                          found->off);
    }
    return CF_OK;
}

/* The name of part `i` of `n`: "x-00001-of-00003.gguf" gives "x-00002-of-...".
 * The caller frees *out. */
static cf_status part_path(char **out, const char *first, uint32_t i, uint32_t n, cf_error *err)
{
    char tail[64];
    char want[64];
    snprintf(want, sizeof want, "-%05u-of-%05u.gguf", 1u, n);
    snprintf(tail, sizeof tail, "-%05u-of-%05u.gguf", i + 1, n);
    size_t len = strlen(first);
    size_t len_tail = strlen(want);
    if (len < len_tail || strcmp(first + len - len_tail, want) != 0) {
        return cf_fail(err, CF_EFORMAT, "the first of %u parts must be named NAME%s", n, want);
    }
    cf_buf b = CF_BUF_INIT;
    cf_buf_add(&b, first, len - len_tail);
    cf_buf_adds(&b, tail);
    *out = cf_buf_take(&b);
    return *out != NULL ? CF_OK : cf_oom(err);
}

/* Maps and reads part i, and checks that it says it is that part. */
static cf_status add_part(cf_gguf *g, uint32_t i, uint32_t n, cf_error *err)
{
    char *path = NULL;
    cf_gguf_value *values = NULL;
    size_t n_values = 0;
    int64_t no = 0;
    CF_TRY(part_path(&path, g->path, i, n, err));
    cf_gguf_file *pt = &g->parts[i];
    cf_status st = cf_os_map_open(&pt->map, path, err);
    if (st == CF_OK) {
        pt->p = pt->map.p;
        pt->n = pt->map.n;
        g->n_parts = i + 1;
        st = read_part(g, i, &values, &n_values, err);
        CF_THEN(st, split_number(values, n_values, "split.no", -1, &no, err));
        if (st == CF_OK && no != (int64_t)i) {
            st = cf_fail(err, CF_EFORMAT, "split.no is not %u", i);
        }
        if (st != CF_OK) {
            st = cf_fail_in(err, st, path);
        }
    }
    cf_free(values);
    cf_free(path);
    return st;
}

static cf_status add_later_parts(cf_gguf *g, uint32_t count, cf_error *err)
{
    if (g->path == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "a split model cannot be read from memory");
    }
    cf_gguf_file *grown = cf_realloc(g->parts, count, sizeof *g->parts);
    if (grown == NULL) {
        return cf_fail(err, CF_ENOMEM, "out of memory for %u parts", count);
    }
    g->parts = grown;
    memset(g->parts + 1, 0, (size_t)(count - 1) * sizeof *g->parts);
    for (uint32_t i = 1; i < count; i++) {
        CF_TRY(add_part(g, i, count, err));
    }
    return CF_OK;
}

/* Reads the parts that part 0 announces. */
static cf_status add_parts(cf_gguf *g, cf_error *err)
{
    int64_t no = 0;
    int64_t count = 0;
    int64_t n_tensors = 0;
    CF_TRY(split_number(g->values, g->n_values, "split.no", 0, &no, err));
    CF_TRY(split_number(g->values, g->n_values, "split.count", 1, &count, err));
    CF_TRY(split_number(g->values, g->n_values, "split.tensors.count", -1, &n_tensors, err));
    if (no != 0) {
        return cf_fail(err, CF_EINVAL, "this is part %lld of a split model, open the first",
                       (long long)no + 1);
    }
    if (count > N_PARTS_MAX) {
        return cf_fail(err, CF_EFORMAT, "split.count is %lld", (long long)count);
    }
    if (count > 1) {
        CF_TRY(add_later_parts(g, (uint32_t)count, err));
    }
    if (n_tensors >= 0 && (uint64_t)n_tensors != g->n_tensors) {
        return cf_fail(err, CF_EFORMAT, "split.tensors.count is %lld, the parts hold %zu",
                       (long long)n_tensors, g->n_tensors);
    }
    return CF_OK;
}

/* ---- open and close ----------------------------------------------------- */

/* Everything after part 0's bytes are known. */
static cf_status read_all_parts(cf_gguf *g, cf_error *err)
{
    CF_TRY(read_part(g, 0, &g->values, &g->n_values, err));
    CF_TRY(cf_gguf__order_values(g, err));
    CF_TRY(add_parts(g, err));
    CF_TRY(cf_gguf__order_tensors(g, err));
    return cf_gguf__check_overlap(g, err);
}

static cf_status new_gguf(cf_gguf **out, const char *path, cf_error *err)
{
    cf_gguf *g = cf_calloc(1, sizeof *g);
    if (g != NULL) {
        g->parts = cf_calloc(1, sizeof *g->parts);
        g->path = path != NULL ? cf_strdup(path) : NULL;
    }
    if (g == NULL || g->parts == NULL || (path != NULL && g->path == NULL)) {
        cf_gguf_close(g);
        return cf_oom(err);
    }
    g->n_parts = 1;
    *out = g;
    return CF_OK;
}

/* The name of the first part where `path` names another one, else NULL.  The
 * caller frees *out. */
static cf_status first_part(char **out, const char *path, cf_error *err)
{
    static const char form[] = "-#####-of-#####.gguf";
    size_t n = strlen(path);
    *out = NULL;
    if (n < strlen(form)) {
        return CF_OK;
    }
    const char *tail = path + n - strlen(form);
    for (size_t i = 0; form[i] != '\0'; i++) {
        bool digit = tail[i] >= '0' && tail[i] <= '9';
        if (form[i] == '#' ? !digit : tail[i] != form[i]) {
            return CF_OK;
        }
    }
    *out = cf_strdup(path);
    if (*out == NULL) {
        return cf_oom(err);
    }
    memcpy(*out + n - strlen(form) + 1, "00001", 5);
    return CF_OK;
}

cf_status cf_gguf_open(cf_gguf **out, const char *path, cf_error *err)
{
    cf_gguf *g = NULL;
    char *first = NULL;
    CF_TRY(first_part(&first, path, err));
    path = first != NULL ? first : path;
    cf_status made = new_gguf(&g, path, err);
    if (made != CF_OK) {
        cf_free(first);
        return made;
    }
    assert(g != NULL);
    cf_gguf_file *pt = &g->parts[0];
    cf_status st = cf_os_map_open(&pt->map, path, err);
    if (st == CF_OK) {
        pt->p = pt->map.p;
        pt->n = pt->map.n;
        st = read_all_parts(g, err);
    }
    cf_free(first);
    if (st != CF_OK) {
        cf_gguf_close(g);
        return st;
    }
    *out = g;
    return CF_OK;
}

cf_status cf_gguf_open_memory(cf_gguf **out, const void *bytes, size_t n, cf_error *err)
{
    cf_gguf *g = NULL;
    CF_TRY(new_gguf(&g, NULL, err));
    assert(g != NULL);
    g->parts[0].p = bytes;
    g->parts[0].n = n;
    cf_status st = read_all_parts(g, err);
    if (st != CF_OK) {
        cf_gguf_close(g);
        return st;
    }
    *out = g;
    return CF_OK;
}

cf_status cf_gguf_add_tensors(cf_gguf *g, const cf_gguf_tensor *t, size_t n, cf_error *err)
{
    cf_gguf_tensor *grown = cf_realloc(g->tensors, g->n_tensors + n + 1, sizeof *g->tensors);
    if (grown == NULL) {
        return cf_oom_for(err, "the list of tensors");
    }
    g->tensors = grown;
    memcpy(g->tensors + g->n_tensors, t, n * sizeof *t);
    g->n_tensors += n;
    cf_free(g->tensor_order);
    g->tensor_order = NULL;
    return cf_gguf__order_tensors(g, err);
}

void cf_gguf_point_tensor(cf_gguf *g, size_t i, uint32_t type, const unsigned char *p,
                          uint64_t bytes)
{
    CF_ASSERT(i < g->n_tensors);
    g->tensors[i].type = type;
    g->tensors[i].p = p;
    g->tensors[i].bytes = bytes;
}

void cf_gguf_close(cf_gguf *g)
{
    if (g == NULL) {
        return;
    }
    for (uint32_t i = 0; i < g->n_parts; i++) {
        cf_os_map_close(&g->parts[i].map);
    }
    cf_free(g->parts);
    cf_free(g->values);
    cf_free(g->value_order);
    cf_free(g->tensors);
    cf_free(g->tensor_order);
    cf_free(g->path);
    cf_free(g);
}

cf_status cf_gguf_check(const cf_gguf *g, cf_error *err)
{
    for (uint32_t i = 0; g != NULL && i < g->n_parts; i++) {
        cf_status st = cf_os_map_check(&g->parts[i].map, err);
        if (st != CF_OK) {
            return cf_fail_in(err, st, g->path);
        }
    }
    return CF_OK;
}

/* ---- looking ------------------------------------------------------------ */

const char *cf_gguf_path(const cf_gguf *g)
{
    return g->path != NULL ? g->path : "";
}

uint64_t cf_gguf_file_bytes(const cf_gguf *g)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < g->n_parts; i++) {
        total += g->parts[i].n;
    }
    return total;
}

uint32_t cf_gguf_n_parts(const cf_gguf *g)
{
    return g->n_parts;
}

cf_str cf_gguf_part(const cf_gguf *g, uint32_t i, uint64_t *header_bytes)
{
    CF_ASSERT(i < g->n_parts);
    *header_bytes = g->parts[i].data_off;
    return cf_str_make((const char *)g->parts[i].p, g->parts[i].n);
}

void cf_gguf_prefetch(const cf_gguf *g)
{
    uint64_t free_bytes = cf_os_memory_available();
    if (free_bytes != 0 && cf_gguf_file_bytes(g) > free_bytes) {
        return;
    }
    for (uint32_t i = 0; i < g->n_parts; i++) {
        const cf_gguf_file *pt = &g->parts[i];
        cf_os_map_prefetch(&pt->map, (size_t)pt->data_off, pt->n - (size_t)pt->data_off);
    }
}

size_t cf_gguf_n_values(const cf_gguf *g)
{
    return g->n_values;
}

const cf_gguf_value *cf_gguf_value_at(const cf_gguf *g, size_t i)
{
    CF_ASSERT(i < g->n_values);
    return &g->values[i];
}

size_t cf_gguf_n_tensors(const cf_gguf *g)
{
    return g->n_tensors;
}

const cf_gguf_tensor *cf_gguf_tensor_at(const cf_gguf *g, size_t i)
{
    CF_ASSERT(i < g->n_tensors);
    return &g->tensors[i];
}
