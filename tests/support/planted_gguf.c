/*
 * planted_gguf.c - writes the weights over those of a random model.
 *
 * The residual stream has four places: the token's class, its predecessor's,
 * the predicted one, and a constant.  RMSNorm makes each entry of it GAIN times
 * as large, the same for every token.  A head's first N_ROT dimensions are
 * rotated by position and find the predecessor; the others, one a class, are
 * not, and compare and carry contents.
 */
#include "tests/support/planted_gguf.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/gguf.h"
#include "tests/support/rand.h"
#include "tests/support/tiny_gguf.h"

enum {
    N_CLASS = 96, /* 0: all others */
    N_ROT = 32,
    HEAD = N_ROT + N_CLASS,
    TOKEN = 0,
    BEFORE = N_CLASS,
    PREDICTED = 2 * N_CLASS,
    CONSTANT = 3 * N_CLASS,
    N_EMBD = 320,
    N_VOCAB = 320
};

static const float noise = 0.01f, gain = 12.65f; /* sqrt(N_EMBD / 2) */

/* A row-major matrix in the file. */
typedef struct matrix {
    unsigned char *p;
    size_t n_col;
} matrix;

static void put(const matrix *m, size_t row, size_t col, double v)
{
    float f = (float)v;
    memcpy(m->p + (row * m->n_col + col) * sizeof f, &f, sizeof f);
}

static void stop(const char *why)
{
    fprintf(stderr, "planted_gguf: %s\n", why);
    exit(1);
}

static matrix find(const cf_gguf *g, unsigned char *file, const char *name)
{
    const cf_gguf_tensor *t = cf_gguf_find_tensor(g, name);
    if (t == NULL) {
        stop(name);
    }
    return (matrix){file + t->file_off, (size_t)t->dim[0]};
}

/* The class of the character that a token of tiny_gguf.c writes. */
static size_t class_of(size_t id)
{
    size_t c = id >= 286 && id < 312   ? 'a' + (id - 286)
               : id >= 260 && id < 286 ? 'a' + (id - 260)
               : id >= 3 && id < 259   ? id - 3
                                       : 0;
    return c > ' ' && c < 127 ? c - ' ' : 0;
}

/* Letters have tokens of their own; the bytes of the same are never used. */
static bool is_spare(size_t id)
{
    return id >= 3 + 'a' && id <= 3 + 'z';
}

static void plant_tokens(const cf_gguf *g, unsigned char *file)
{
    matrix in = find(g, file, "token_embd.weight");
    matrix out = find(g, file, "output.weight");
    for (size_t id = 0; id < N_VOCAB; id++) {
        size_t c = class_of(id);
        put(&in, id, TOKEN + c, 1);
        put(&in, id, CONSTANT, 1);
        if (c > 0 && !is_spare(id) && id < 286) {
            put(&out, id, PREDICTED + c, 1);
        }
    }
}

/* Attention to the position before: rotated by one step less than the key
 * there, the query meets it at the same angle. */
static void plant_before(const cf_gguf *g, unsigned char *file)
{
    matrix q = find(g, file, "blk.0.attn_q.weight");
    matrix k = find(g, file, "blk.0.attn_k.weight");
    matrix v = find(g, file, "blk.0.attn_v.weight");
    matrix o = find(g, file, "blk.0.attn_output.weight");
    for (size_t i = 0; i < N_ROT; i += 2) {
        double angle = pow(10000.0, -(double)i / N_ROT);
        put(&q, i, CONSTANT, 1.1 * cos(angle));
        put(&q, i + 1, CONSTANT, -1.1 * sin(angle));
        put(&k, i, CONSTANT, 1.1);
    }
    for (size_t c = 1; c < N_CLASS; c++) {
        put(&v, N_ROT + c, TOKEN + c, 1 / (double)gain);
        put(&o, BEFORE + c, N_ROT + c, 1);
    }
}

static void plant_copy(const cf_gguf *g, unsigned char *file)
{
    matrix q = find(g, file, "blk.1.attn_q.weight");
    matrix k = find(g, file, "blk.1.attn_k.weight");
    matrix v = find(g, file, "blk.1.attn_v.weight");
    matrix o = find(g, file, "blk.1.attn_output.weight");
    for (size_t c = 1; c < N_CLASS; c++) {
        put(&q, N_ROT + c, TOKEN + c, 1.2);
        put(&k, N_ROT + c, BEFORE + c, 1.2);
        put(&v, N_ROT + c, TOKEN + c, 1 / (double)gain);
        put(&o, PREDICTED + c, N_ROT + c, 4);
    }
}

static void plant_lookup(const cf_gguf *g, unsigned char *file)
{
    static const char from[] = CF_PLANT_TRIGGERS, to[] = CF_PLANT_ANSWERS;
    matrix q = find(g, file, "blk.1.attn_q.weight");
    matrix k = find(g, file, "blk.1.attn_k.weight");
    matrix v = find(g, file, "blk.1.attn_v.weight");
    matrix o = find(g, file, "blk.1.attn_output.weight");
    put(&q, N_ROT, CONSTANT, 1);
    for (size_t i = 0; i + 1 < sizeof from; i++) {
        size_t trigger = (size_t)(from[i] - ' '), answer = (size_t)(to[i] - ' ');
        put(&k, N_ROT, TOKEN + trigger, 1);
        put(&v, N_ROT + answer, TOKEN + trigger, 1 / (double)gain);
    }
    for (size_t c = 1; c < N_CLASS; c++) {
        put(&o, PREDICTED + c, N_ROT + c, 4);
    }
}

static void plant_pairs(const cf_gguf *g, unsigned char *file)
{
    static const char from[] = CF_PLANT_SETS, to[] = CF_PLANT_SET_ANSWERS;
    matrix seek = find(g, file, "blk.0.attn_q.weight");
    matrix is = find(g, file, "blk.0.attn_k.weight");
    matrix name = find(g, file, "blk.0.attn_v.weight");
    matrix flag = find(g, file, "blk.0.attn_output.weight");
    matrix q = find(g, file, "blk.1.attn_q.weight");
    matrix k = find(g, file, "blk.1.attn_k.weight");
    matrix v = find(g, file, "blk.1.attn_v.weight");
    matrix o = find(g, file, "blk.1.attn_output.weight");
    put(&seek, N_ROT, CONSTANT, 1);
    for (size_t i = 0; i + 1 < sizeof from; i++) {
        size_t set = i / 3, trigger = (size_t)(from[i] - ' '), answer = (size_t)(to[set] - ' ');
        put(&is, N_ROT, TOKEN + trigger, 1);
        put(&name, N_ROT + trigger, TOKEN + trigger, 1 / (double)gain);
        put(&flag, BEFORE + trigger, N_ROT + trigger, 1);
        put(&q, N_ROT + trigger, BEFORE + trigger, 4);
        for (size_t other = 3 * set; other < 3 * set + 3; other++) {
            put(&k, N_ROT + (size_t)(from[other] - ' '), TOKEN + trigger, other != i ? 1 : -0.5);
        }
        put(&v, N_ROT + answer, TOKEN + trigger, 1 / (double)gain);
        put(&o, PREDICTED + answer, N_ROT + answer, 4);
    }
}

/* Norms of one, and noise everywhere else. */
static void clear(const cf_gguf *g, unsigned char *file, uint64_t seed)
{
    cf_rand r = {seed};
    for (size_t i = 0; i < cf_gguf_n_tensors(g); i++) {
        const cf_gguf_tensor *t = cf_gguf_tensor_at(g, i);
        bool is_norm = t->n_dim == 1;
        for (size_t at = 0; at < t->bytes; at += sizeof(float)) {
            float f = is_norm ? 1 : noise * cf_rand_float(&r);
            memcpy(file + t->file_off + at, &f, sizeof f);
        }
    }
}

void *cf_planted_gguf(cf_plant plant, uint64_t seed, const char *chat_template, size_t *n)
{
    cf_gguf *g;
    cf_error err;
    const cf_tiny_options o = {.seed = 1,
                               .n_layer = 2,
                               .n_embd = N_EMBD,
                               .n_head = 1,
                               .n_head_kv = 1,
                               .head_size = HEAD,
                               .n_rot = N_ROT,
                               .n_ff = 32,
                               .n_vocab = N_VOCAB,
                               .n_ctx = 1024,
                               .has_output = true,
                               .chat_template = chat_template};
    unsigned char *file = cf_tiny_gguf(&o, n);
    if (cf_gguf_open_memory(&g, file, *n, &err) != CF_OK) {
        stop(err.text);
    }
    clear(g, file, seed);
    plant_tokens(g, file);
    if (plant == CF_PLANT_COPY) {
        plant_before(g, file);
        plant_copy(g, file);
    } else if (plant == CF_PLANT_PAIRS) {
        plant_pairs(g, file);
    } else {
        plant_lookup(g, file);
    }
    cf_gguf_close(g);
    return file;
}
