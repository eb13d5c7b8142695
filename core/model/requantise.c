/*
 * requantise.c - converts matrices row by row, the rows divided among threads.
 */
#include "core/model/requantise.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/kernel/quantise.h"

enum { CHUNK = 4096, BLOCK = 32, ALIGN = 64 };

static const struct {
    const char *name;
    cf_dtype type;
} types[] = {{"q8_0", CF_Q8_0}, {"q4_0", CF_Q4_0}};

bool cf_requantise_type(cf_dtype *out, const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, name) == 0) {
            *out = types[i].type;
            return true;
        }
    }
    return false;
}

const char *cf_requantise_name(cf_dtype type)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].type == type) {
            return types[i].name;
        }
    }
    return NULL;
}

/* Parts of names of matrices that are small and that much depends on. */
static bool is_kept(cf_str name)
{
    static const char *const parts[] = {"ffn_gate_inp",         "conv", "altup", "laurel",
                                        "per_layer_model_proj", "_norm"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t n = strlen(parts[i]);
        for (size_t k = 0; k + n <= name.n; k++) {
            if (memcmp(name.p + k, parts[i], n) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool is_wanted(const cf_gguf_tensor *t)
{
    static const char end[] = ".weight";
    size_t n = strlen(end);
    return t->n_dim >= 2 && t->dim[0] % BLOCK == 0 && t->dim[1] > 1 &&
           (t->type == CF_F32 || t->type == CF_F16 || t->type == CF_BF16) && t->name.n > n &&
           memcmp(t->name.p + t->name.n - n, end, n) == 0 && !is_kept(t->name);
}

typedef struct job {
    const cf_gguf_tensor *t;
    unsigned char *out;
    cf_dtype type;
    uint64_t n_row;
} job;

static void convert(void *ud, unsigned i, unsigned n)
{
    const job *j = ud;
    float x[CHUNK];
    size_t from_bytes = cf_dtype_get(j->t->type).blk_bytes;
    size_t to_row = cf_dtype_row_bytes(j->type, j->t->dim[0]);
    for (uint64_t r = j->n_row * i / n; r < j->n_row * (i + 1) / n; r++) {
        const unsigned char *in = j->t->p + r * j->t->dim[0] * from_bytes;
        unsigned char *out = j->out + r * to_row;
        for (uint64_t c = 0; c < j->t->dim[0]; c += CHUNK) {
            size_t m = j->t->dim[0] - c < CHUNK ? (size_t)(j->t->dim[0] - c) : (size_t)CHUNK;
            cf_dtype_to_f32((cf_dtype)j->t->type, x, in + c * from_bytes, m);
            cf_quantise(j->type, out + cf_dtype_row_bytes(j->type, c), x, m);
        }
    }
}

cf_status cf_requantise(cf_requantised *out, cf_gguf *g, cf_dtype type, cf_pool *pool,
                        cf_error *err)
{
    CF_ASSERT(cf_quantise_can(type));
    out->copy = cf_calloc(cf_gguf_n_tensors(g) + 1, sizeof *out->copy);
    if (out->copy == NULL) {
        return cf_oom(err);
    }
    for (size_t i = 0; i < cf_gguf_n_tensors(g); i++) {
        const cf_gguf_tensor *t = cf_gguf_tensor_at(g, i);
        if (!is_wanted(t)) {
            continue;
        }
        job j = {t, NULL, type, t->dim[1] * t->dim[2] * t->dim[3]};
        uint64_t bytes = j.n_row * cf_dtype_row_bytes(type, t->dim[0]);
        j.out = cf_alloc_aligned(ALIGN, (size_t)bytes);
        if (j.out == NULL) {
            return cf_oom_for(err, "the quantised weights");
        }
        out->copy[out->n++] = j.out;
        cf_pool_run(pool, convert, &j);
        cf_gguf_point_tensor(g, i, (uint32_t)type, j.out, bytes);
    }
    return CF_OK;
}

void cf_requantised_deinit(cf_requantised *r)
{
    for (size_t i = 0; i < r->n; i++) {
        cf_free_aligned(r->copy[i]);
    }
    cf_free(r->copy);
    *r = (cf_requantised){NULL, 0};
}
