/* One vector of a text: the states pooled, however they were computed; and
 * encoders and rankers against a plain pass of their own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/embed.h"
#include "core/api/session.h"
#include "core/infer/engine_impl.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

enum { N_EMBD = 64, N_IDS = 23, N_HEAD = 4, N_HEAD_KV = 2, SIZE = 16, N_FF = 128 };

typedef struct model {
    void *bytes;
    cf_engine *engine;
    cf_embedder *embedder;
} model;

static void open_engine(model *m, const cf_tiny_options *tiny, const char *kernels, bool is_exact,
                        unsigned n_threads)
{
    cf_error err;
    size_t n;
    const cf_engine_options o = {.n_threads = n_threads,
                                 .kernel_set = kernels,
                                 .arithmetic = is_exact ? CF_ARITHMETIC_EXACT : 0};
    *m = (model){.bytes = cf_tiny_gguf(tiny, &n)};
    T_OK(cf_engine_open_memory(&m->engine, m->bytes, n, &o, &err), err);
}

static void open_model(model *m, const char *arch, uint32_t pooling)
{
    cf_error err;
    open_engine(m, &(cf_tiny_options){.arch = arch, .seed = 5, .pooling = pooling}, NULL, false, 2);
    T_OK(cf_embedder_new(&m->embedder, m->engine, 0, &err), err);
}

static void close_model(model *m)
{
    cf_embedder_free(m->embedder);
    cf_engine_close(m->engine);
    cf_tiny_free(m->bytes);
}

static void make_ids(cf_token *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ids[i] = (cf_token)(i * 7 % 250 + 1);
    }
}

/* ---- pooling ------------------------------------------------------------ */

/* Sums of the states at positions from .. to. */
typedef struct sums {
    uint32_t from, to;
    double v[N_EMBD];
    size_t n;
} sums;

static void on_hidden(void *ud, uint32_t pos, const float *h)
{
    sums *s = ud;
    s->n++;
    for (int i = 0; pos >= s->from && pos < s->to && i < N_EMBD; i++) {
        s->v[i] += (double)h[i];
    }
}

static void test_embed__pools_as_declared(void **state)
{
    (void)state;
    static const char *const archs[] = {"llama", "qwen3", "gemma3"};
    static const struct {
        cf_pooling pooling;
        uint32_t from, to;
    } rows[] = {
        {CF_POOLING_MEAN, 0, N_IDS}, {CF_POOLING_FIRST, 0, 1}, {CF_POOLING_LAST, N_IDS - 1, N_IDS}};
    cf_token ids[N_IDS];
    make_ids(ids, N_IDS);
    for (size_t i = 0; i < 9; i++) {
        model m;
        cf_error err;
        cf_session *session = NULL;
        float got[N_EMBD], score = 7;
        sums want = {.from = rows[i % 3].from, .to = rows[i % 3].to};
        const cf_run run = {.hidden = on_hidden, .ud = &want};
        double n = (double)(want.to - want.from);
        open_model(&m, archs[i / 3], (uint32_t)rows[i % 3].pooling);
        T_OK(cf_session_new(&session, m.engine, NULL, &err), err);
        T_OK(cf_session_sync(session, ids, N_IDS, &run, NULL, &err), err);
        cf_session_free(session);
        assert_int_equal(want.n, N_IDS);
        /* What is cached is computed again. */
        for (int k = 0; k < 2; k++) {
            T_OK(cf_embedder_run(m.embedder, ids, N_IDS, NULL, got, &score, &err), err);
        }
        assert_true(score == 0);
        for (int k = 0; k < N_EMBD; k++) {
            assert_true(fabs((double)got[k] - want.v[k] / n) < 1e-5);
        }
        close_model(&m);
    }
}

static void test_embed__normalises(void **state)
{
    (void)state;
    float v[] = {3, 0, -4}, none[] = {0, 0};
    cf_embedding_normalise(v, 3);
    assert_true(fabsf(v[0] - 0.6f) < 1e-7f && v[1] == 0 && fabsf(v[2] + 0.8f) < 1e-7f);
    cf_embedding_normalise(none, 2);
    assert_true(none[0] == 0 && none[1] == 0);
}

/* The better first, and last what is no number, so that sorting ends. */
static void test_embed__compares_scores(void **state)
{
    (void)state;
    static const double falling[] = {(double)INFINITY, 2, -0.5, -(double)INFINITY, (double)NAN};
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 5; k++) {
            int order = cf_rank_compare(falling[i], falling[k]);
            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
        }
    }
}

static void test_embed__refuses(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        uint32_t pooling;
    } rows[] = {{"llama", CF_POOLING_NONE}, {"llama", CF_POOLING_RANK}, {"llama", 77}};
    cf_token ids[N_IDS];
    cf_error err;
    model m;
    float out[N_EMBD];
    make_ids(ids, N_IDS);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cf_embedder *e = NULL;
        open_engine(&m, &(cf_tiny_options){.arch = rows[i].arch, .pooling = rows[i].pooling}, NULL,
                    false, 1);
        T_FAILS(cf_embedder_new(&e, m.engine, 0, &err), CF_EUNSUPPORTED);
        assert_null(e);
        close_model(&m);
    }
    for (int i = 0; i < 2; i++) {
        cf_cancel stop = true;
        open_model(&m, i == 0 ? "bert" : "llama", CF_POOLING_MEAN);
        T_FAILS(cf_embedder_run(m.embedder, ids, 0, NULL, out, NULL, &err), CF_EINVAL);
        T_FAILS(cf_embedder_run(m.embedder, ids, 513, NULL, out, NULL, &err), CF_ELIMIT);
        T_FAILS(cf_embedder_run(m.embedder, ids, N_IDS, &stop, out, NULL, &err), CF_ECANCELLED);
        ids[3] = 320;
        T_FAILS(cf_embedder_run(m.embedder, ids, N_IDS, NULL, out, NULL, &err), CF_EINVAL);
        ids[3] = 3;
        T_OK(cf_embedder_run(m.embedder, ids, N_IDS, NULL, out, NULL, &err), err);
        close_model(&m);
    }
}

static void test_embed__no_session_on_an_encoder(void **state)
{
    (void)state;
    model m;
    cf_error err;
    cf_session *s = NULL;
    open_model(&m, "bert", CF_POOLING_FIRST);
    assert_true(cf_engine_get_info(m.engine).is_encoder);
    T_FAILS(cf_session_new(&s, m.engine, NULL, &err), CF_EUNSUPPORTED);
    close_model(&m);
}

/* ---- encoders, from their description ------------------------------------ */

/* A plain pass in double over rows x[n, N_EMBD]. */
typedef struct plain {
    const cf_engine *e;
    const cf_arch *arch;
    size_t n;
    double *x, *h, *q, *k, *v, *ff;
} plain;

static double weight(const cf_mat *m, size_t r, size_t c)
{
    assert_int_equal(m->type, CF_F32);
    return (double)((const float *)m->p)[r * m->n_col + c];
}

static void times(const cf_mat *m, const float *bias, const double *in, double *out)
{
    for (size_t r = 0; r < m->n_row; r++) {
        out[r] = bias != NULL ? (double)bias[r] : 0;
        for (size_t c = 0; c < m->n_col; c++) {
            out[r] += weight(m, r, c) * in[c];
        }
    }
}

static void norm(const plain *p, double *x, size_t n, const float *w)
{
    double mean = 0, square = 0;
    for (size_t i = 0; i < n && p->arch->has_layer_norm; i++) {
        mean += x[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        square += (x[i] - mean) * (x[i] - mean) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = (x[i] - mean) / sqrt(square + 1e-5) * (double)w[i];
        x[i] += p->arch->has_norm_bias ? (double)w[n + i] : 0;
    }
}

static double gelu(double x)
{
    return x * (1 + erf(x / sqrt(2))) / 2;
}

static double act(const cf_arch *arch, double x)
{
    switch (arch->act) {
    case CF_ACT_SILU:
        return x / (1 + exp(-x));
    case CF_ACT_GELU:
        return x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) / 2;
    default:
        return gelu(x);
    }
}

static void rotate(double *head, size_t pos)
{
    for (size_t i = 0; i < SIZE / 2; i++) {
        double a = (double)pos * pow(10000, -2.0 * (double)i / SIZE);
        double x = head[i], y = head[i + SIZE / 2];
        head[i] = x * cos(a) - y * sin(a);
        head[i + SIZE / 2] = x * sin(a) + y * cos(a);
    }
}

/* Every third layer of modern-bert sees all, each sixth of gemma-embedding. */
static size_t reach_of(const plain *p, size_t layer)
{
    bool is_full =
        p->arch->window_period == 0 || (p->arch->has_full_first ? layer % 3 == 0 : layer % 6 == 5);
    return is_full ? SIZE_MAX / 2 : 6; /* half a window of 12 */
}

static void prepare_head(const plain *p, double *head, size_t pos, const float *w)
{
    if (p->arch->has_qk_norm) {
        norm(p, head, SIZE, w);
    }
    if (!p->arch->has_positions && !p->arch->has_alibi) {
        rotate(head, pos);
    }
}

static double distance(size_t a, size_t b)
{
    return a > b ? (double)(a - b) : (double)(b - a);
}

static void attend(const plain *p, size_t layer, size_t at, size_t head, double *out)
{
    double s[64], total = 0, top = -1e300;
    const double *q = p->q + (at * N_HEAD + head) * SIZE;
    size_t kv = head / (N_HEAD / N_HEAD_KV);
    double slope = p->arch->has_alibi ? pow(2, -8.0 * (double)(head + 1) / N_HEAD) : 0;
    memset(out, 0, SIZE * sizeof *out);
    for (size_t t = 0; t < p->n; t++) {
        s[t] = -slope * distance(at, t);
        for (size_t c = 0; c < SIZE; c++) {
            s[t] += q[c] * p->k[(t * N_HEAD_KV + kv) * SIZE + c] / 4;
        }
        s[t] = distance(at, t) > (double)reach_of(p, layer) ? -INFINITY : s[t];
        top = fmax(top, s[t]);
    }
    for (size_t t = 0; t < p->n; t++) {
        total += exp(s[t] - top);
    }
    for (size_t t = 0; t < p->n; t++) {
        for (size_t c = 0; c < SIZE; c++) {
            out[c] += exp(s[t] - top) / total * p->v[(t * N_HEAD_KV + kv) * SIZE + c];
        }
    }
}

/* h = attention(h) */
static void attention(plain *p, size_t layer)
{
    const cf_layer_weights *w = &p->e->w.layer[layer];
    for (size_t r = 0; r < p->n; r++) {
        const double *h = p->h + r * N_EMBD;
        double *q = p->q + r * N_HEAD * SIZE, *k = p->k + r * N_HEAD_KV * SIZE;
        times(&w->q, w->q_bias, h, q);
        times(&w->k, w->k_bias, h, k);
        times(&w->v, w->v_bias, h, p->v + r * N_HEAD_KV * SIZE);
        if (p->arch->has_row_qk_norm && w->q_norm != NULL) {
            norm(p, q, (size_t)N_HEAD * SIZE, w->q_norm);
            norm(p, k, (size_t)N_HEAD_KV * SIZE, w->k_norm);
        }
        for (size_t j = 0; j < N_HEAD; j++) {
            prepare_head(p, q + j * SIZE, r, w->q_norm);
        }
        for (size_t j = 0; j < N_HEAD_KV; j++) {
            prepare_head(p, k + j * SIZE, r, w->k_norm);
        }
    }
    for (size_t r = 0; r < p->n; r++) {
        double out[N_HEAD * SIZE];
        for (size_t j = 0; j < N_HEAD; j++) {
            attend(p, layer, r, j, out + j * SIZE);
        }
        times(&w->o, w->o_bias, out, p->h + r * N_EMBD);
    }
}

/* h = feed_forward(h) */
static void feed_forward(const plain *p, size_t layer)
{
    const cf_layer_weights *w = &p->e->w.layer[layer];
    for (size_t r = 0; r < p->n; r++) {
        double gate[N_FF], up[N_FF];
        times(&w->gate, w->gate_bias, p->h + r * N_EMBD, gate);
        if (w->up.p != NULL) {
            times(&w->up, w->up_bias, p->h + r * N_EMBD, up);
        }
        for (size_t i = 0; i < N_FF; i++) {
            gate[i] = act(p->arch, gate[i]) * (w->up.p != NULL ? up[i] : 1);
        }
        times(&w->down, w->down_bias, gate, p->h + r * N_EMBD);
    }
}

static void before(const plain *p, const float *w)
{
    memcpy(p->h, p->x, p->n * N_EMBD * sizeof *p->h);
    for (size_t r = 0; r < p->n && w != NULL; r++) {
        norm(p, p->h + r * N_EMBD, N_EMBD, w);
    }
}

/* x = norm(x + h), or x + norm(h), or x + h */
static void after(const plain *p, const float *w)
{
    for (size_t r = 0; r < p->n; r++) {
        double *x = p->x + r * N_EMBD, *h = p->h + r * N_EMBD;
        if (p->arch->has_post_norm) {
            norm(p, h, N_EMBD, w);
        }
        for (size_t c = 0; c < N_EMBD; c++) {
            x[c] += h[c];
        }
        if (p->arch->has_sum_norm) {
            norm(p, x, N_EMBD, w);
        }
    }
}

static void layers(plain *p)
{
    double *start = malloc(p->n * N_EMBD * sizeof *start);
    for (size_t i = 0; i < p->e->hp.n_layer; i++) {
        const cf_layer_weights *w = &p->e->w.layer[i];
        memcpy(start, p->x, p->n * N_EMBD * sizeof *start);
        before(p, w->attn_norm);
        attention(p, i);
        after(p, w->post_attn_norm);
        if (w->again_norm != NULL) {
            memcpy(p->h, start, p->n * N_EMBD * sizeof *start);
            after(p, w->again_norm);
        }
        before(p, w->ffn_norm);
        feed_forward(p, i);
        after(p, w->post_ffn_norm);
    }
    free(start);
}

static void embed(const plain *p, const cf_token *ids)
{
    const cf_encoder_weights *w = &p->e->w.encoder;
    for (size_t r = 0; r < p->n; r++) {
        double *x = p->x + r * N_EMBD;
        for (size_t c = 0; c < N_EMBD; c++) {
            x[c] = weight(&p->e->w.embd, (size_t)ids[r], c) * (p->arch->has_embd_scale ? 8 : 1);
            x[c] += w->type_row != NULL ? (double)w->type_row[c] : 0;
            x[c] += w->position.p != NULL ? weight(&w->position, r, c) : 0;
        }
        if (w->embd_norm != NULL) {
            norm(p, x, N_EMBD, w->embd_norm);
        }
    }
}

/* The first row, or the mean where `is_mean`; then EmbeddingGemma's matrices. */
static void pool_rows(const plain *p, bool is_mean, double *out)
{
    const cf_mat *dense = p->e->w.encoder.dense;
    memset(out, 0, N_EMBD * sizeof *out);
    for (size_t r = 0; r < (is_mean ? p->n : 1); r++) {
        double *x = p->x + r * N_EMBD;
        if (p->e->w.output_norm != NULL) {
            norm(p, x, N_EMBD, p->e->w.output_norm);
        }
        for (size_t c = 0; c < N_EMBD; c++) {
            out[c] += x[c] / (is_mean ? (double)p->n : 1);
        }
    }
    if (dense[0].p != NULL) {
        double wide[2 * N_EMBD];
        times(&dense[0], NULL, out, wide);
        times(&dense[1], NULL, wide, out);
    }
}

static double rank(const plain *p, const double *pooled)
{
    const cf_encoder_weights *w = &p->e->w.encoder;
    double v[N_EMBD], score;
    times(&w->classify, w->bias, pooled, v);
    for (size_t c = 0; c < N_EMBD; c++) {
        v[c] = p->arch->ranking == CF_RANK_MEAN_GELU ? gelu(v[c]) : tanh(v[c]);
    }
    if (p->arch->ranking == CF_RANK_MEAN_GELU) {
        norm(p, v, N_EMBD, w->norm);
    }
    times(&w->outputs, w->outputs_bias, v, &score);
    return score;
}

static void check_encoder(const cf_tiny_options *o, size_t n)
{
    model m;
    cf_error err;
    cf_token ids[64];
    float got[N_EMBD], score;
    double want[N_EMBD];
    make_ids(ids, n);
    open_engine(&m, o, NULL, true, 1);
    T_OK(cf_embedder_new(&m.embedder, m.engine, 0, &err), err);
    T_OK(cf_embedder_run(m.embedder, ids, n, NULL, got, &score, &err), err);
    double *room = calloc(n * 6 * N_FF, sizeof *room);
    const size_t step = n * N_FF;
    plain p = {.e = m.engine,
               .arch = m.engine->hp.arch,
               .n = n,
               .x = room,
               .h = room + step,
               .q = room + 2 * step,
               .k = room + 3 * step,
               .v = room + 4 * step};
    bool ranks = o->pooling == CF_POOLING_RANK;
    bool is_mean = ranks ? p.arch->ranking == CF_RANK_MEAN_GELU : o->pooling == CF_POOLING_MEAN;
    embed(&p, ids);
    layers(&p);
    pool_rows(&p, is_mean, want);
    double largest = 0, worst = 0;
    for (size_t c = 0; c < N_EMBD; c++) {
        largest = fmax(largest, fabs(want[c]));
        worst = fmax(worst, fabs(want[c] - (double)got[c]));
    }
    if (!(worst < 2e-5 * largest)) {
        fail_msg("%s, pooling %u, %zu ids: off by %g of %g", o->arch, o->pooling, n, worst,
                 largest);
    }
    assert_true(fabs((double)score - (ranks ? rank(&p, want) : 0)) < 1e-4);
    free(room);
    close_model(&m);
}

static void test_embed__encoders_as_described(void **state)
{
    (void)state;
    static const uint32_t poolings[] = {CF_POOLING_MEAN, CF_POOLING_FIRST, CF_POOLING_RANK};
    static const size_t lengths[] = {1, 2, 13, 60};
    for (size_t i = 0; i < 60; i++) {
        cf_tiny_options o = {.arch = cf_tiny_encoder_archs[i / 12],
                             .seed = i,
                             .pooling = poolings[i % 3],
                             .has_bias = i % 2 == 0};
        check_encoder(&o, lengths[i % 12 / 3]);
    }
}

/* ---- same bits ---------------------------------------------------------- */

/* With each set of kernels and number of threads; whatever came before. */
static void test_embed__same_bits_everywhere(void **state)
{
    (void)state;
    cf_token ids[300];
    make_ids(ids, 300);
    for (size_t a = 0; cf_tiny_encoder_archs[a] != NULL; a++) {
        const cf_tiny_options o = {.arch = cf_tiny_encoder_archs[a],
                                   .seed = a,
                                   .pooling = CF_POOLING_RANK,
                                   .type = CF_F16};
        float first[N_EMBD + 1];
        cf_kernels_entry set;
        size_t n_seen = 0;
        for (size_t i = 0; cf_kernels_list(i, &set); i++) {
            for (unsigned n = 1; set.is_there && strcmp(set.name, "ref") != 0 && n < 4; n += 2) {
                model m;
                cf_error err;
                float got[N_EMBD + 1];
                open_engine(&m, &o, set.name, false, n);
                T_OK(cf_embedder_new(&m.embedder, m.engine, 0, &err), err);
                T_OK(cf_embedder_run(m.embedder, ids, i % 2 + 1, NULL, got, got, &err), err);
                T_OK(cf_embedder_run(m.embedder, ids, 300, NULL, got, got + N_EMBD, &err), err);
                if (n_seen++ == 0) {
                    memcpy(first, got, sizeof got);
                }
                assert_memory_equal(got, first, sizeof got);
                close_model(&m);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embed__pools_as_declared),
        cmocka_unit_test(test_embed__normalises),
        cmocka_unit_test(test_embed__compares_scores),
        cmocka_unit_test(test_embed__refuses),
        cmocka_unit_test(test_embed__no_session_on_an_encoder),
        cmocka_unit_test(test_embed__encoders_as_described),
        cmocka_unit_test(test_embed__same_bits_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
