/*
 * control_vector.c - reads and writes control vector files.
 */
#include "core/inside/control_vector.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buf.h"
#include "core/base/os.h"
#include "core/kernel/dtype.h"
#include "core/model/hparams.h"

enum { ALIGNMENT = 32 };

#define PREFIX "direction."

/* ---- reading ------------------------------------------------------------ */

/* N of "direction.N"; 0 for another name. */
static uint32_t number_of(cf_str name)
{
    size_t at = strlen(PREFIX);
    uint64_t n = 0;
    if (name.n <= at || memcmp(name.p, PREFIX, at) != 0) {
        return 0;
    }
    for (; at < name.n; at++) {
        if (name.p[at] < '0' || name.p[at] > '9' || n > CF_LAYER_MAX) {
            return 0;
        }
        n = 10 * n + (uint64_t)(name.p[at] - '0');
    }
    return (uint32_t)n;
}

static cf_status check_tensor(const cf_gguf_tensor *t, uint32_t n_embd, cf_error *err)
{
    if (number_of(t->name) == 0) {
        return cf_fail(err, CF_EFORMAT, "not a control vector: it has a tensor \"%.*s\"",
                       t->name.n < 40 ? (int)t->name.n : 40, t->name.p);
    }
    if (t->type != CF_F32 || t->n_dim != 1 || t->p == NULL) {
        return cf_fail(err, CF_EFORMAT, "%.*s is not one row of F32", (int)t->name.n, t->name.p);
    }
    return t->dim[0] == n_embd
               ? CF_OK
               : cf_fail(err, CF_EFORMAT, "%.*s has %llu numbers, the model has %u", (int)t->name.n,
                         t->name.p, (unsigned long long)t->dim[0], n_embd);
}

/* The vectors with their numbers: what tells a file from others. */
static cf_status add_hash(cf_control_vector *f, uint32_t n_embd, cf_error *err)
{
    cf_buf about = CF_BUF_INIT;
    for (size_t i = 0; i < f->n; i++) {
        cf_buf_addf(&about, "%u\n", f->v[i].n);
    }
    cf_buf_add(&about, f->numbers, f->n * n_embd * sizeof(float));
    cf_status st = cf_buf_check(&about, err);
    if (st == CF_OK) {
        cf_hash_hex(f->hash, about.p, about.n);
    }
    cf_buf_deinit(&about);
    return st;
}

static cf_status read_tensors(cf_control_vector *f, const cf_gguf *g, uint32_t n_embd,
                              cf_error *err)
{
    size_t n = cf_gguf_n_tensors(g);
    if (n == 0) {
        return cf_fail(err, CF_EFORMAT, "not a control vector: it has no tensor");
    }
    for (size_t i = 0; i < n; i++) {
        CF_TRY(check_tensor(cf_gguf_tensor_at(g, i), n_embd, err));
    }
    f->v = cf_calloc(n, sizeof *f->v);
    f->numbers = cf_calloc(n, n_embd * sizeof *f->numbers);
    if (f->v == NULL || f->numbers == NULL) {
        return cf_oom_for(err, "a control vector");
    }
    for (size_t i = 0; i < n; i++) {
        const cf_gguf_tensor *t = cf_gguf_tensor_at(g, i);
        float *to = f->numbers + i * n_embd;
        cf_dtype_to_f32(CF_F32, to, t->p, n_embd);
        f->v[f->n++] = (cf_direction){number_of(t->name), to};
        for (size_t c = 0; c < n_embd; c++) {
            if (!isfinite(to[c])) {
                return cf_fail(err, CF_EFORMAT, "%.*s is not finite", (int)t->name.n, t->name.p);
            }
        }
    }
    return add_hash(f, n_embd, err);
}

cf_status cf_control_vector_read(cf_control_vector *out, const char *path, uint32_t n_embd,
                                 cf_error *err)
{
    cf_gguf *g = NULL;
    cf_control_vector f = {0};
    CF_TRY(cf_gguf_open(&g, path, err));
    cf_status st = read_tensors(&f, g, n_embd, err);
    CF_THEN(st, cf_gguf_check(g, err));
    cf_gguf_close(g);
    if (st != CF_OK) {
        cf_control_vector_close(&f);
        return st == CF_ENOMEM || st == CF_EIO ? st : cf_fail_in(err, st, path);
    }
    *out = f;
    return CF_OK;
}

void cf_control_vector_close(cf_control_vector *f)
{
    cf_free(f->v);
    cf_free(f->numbers);
    *f = (cf_control_vector){0};
}

/* ---- writing ------------------------------------------------------------ */

static void put(cf_buf *b, uint64_t v, size_t n_byte)
{
    for (size_t i = 0; i < n_byte; i++) {
        cf_buf_addc(b, (char)(unsigned char)(v >> (8 * i)));
    }
}

static void put_str(cf_buf *b, const char *s)
{
    put(b, strlen(s), 8);
    cf_buf_adds(b, s);
}

static void put_pad(cf_buf *b)
{
    while (b->n % ALIGNMENT != 0 && !b->failed) {
        cf_buf_addc(b, 0);
    }
}

static void put_header(cf_buf *b, const cf_control_vector_out *out, uint32_t n)
{
    cf_buf_adds(b, "GGUF");
    put(b, 3, 4);
    put(b, n, 8);
    put(b, 3, 8);
    put_str(b, "general.architecture");
    put(b, CF_GGUF_STRING, 4);
    put_str(b, "controlvector");
    put_str(b, "controlvector.model_hint");
    put(b, CF_GGUF_STRING, 4);
    put_str(b, out->arch);
    put_str(b, "controlvector.layer_count");
    put(b, CF_GGUF_I32, 4);
    put(b, n, 4);
}

static void put_float(cf_buf *b, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    put(b, bits, 4);
}

cf_status cf_control_vector_write(const cf_control_vector_out *out, cf_error *err)
{
    cf_buf b = CF_BUF_INIT;
    uint32_t n = 0;
    uint64_t off = 0;
    for (uint32_t l = 2; l <= out->n_layer; l++) {
        n += out->v[l] != NULL;
    }
    if (n == 0) {
        return cf_fail(err, CF_EINVAL, "there is no vector to write");
    }
    put_header(&b, out, n);
    for (uint32_t l = 2; l <= out->n_layer; l++) {
        if (out->v[l] != NULL) {
            char name[32];
            snprintf(name, sizeof name, PREFIX "%u", l - 1);
            put_str(&b, name);
            put(&b, 1, 4);
            put(&b, out->n_embd, 8);
            put(&b, CF_F32, 4);
            put(&b, off, 8);
            off += (out->n_embd * sizeof(float) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        }
    }
    put_pad(&b);
    for (uint32_t l = 2; l <= out->n_layer; l++) {
        for (size_t c = 0; out->v[l] != NULL && c < out->n_embd; c++) {
            put_float(&b, out->v[l][c]);
        }
        put_pad(&b);
    }
    cf_status st = cf_buf_check(&b, err);
    CF_THEN(st, cf_os_write_file(out->path, b.p, b.n, 0644, err));
    cf_buf_deinit(&b);
    return st;
}
