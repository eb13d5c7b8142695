/*
 * test_forward.c - logits against an oracle: the formulas of
 * docs/models/transformer.md in double, without a cache, a batch or a kernel.
 */
#include <math.h>

#include "core/api/session.h"
#include "core/kernel/kernel.h"
#include "core/model/weights.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

enum { N = 40, N_VOCAB = 320, WIDTH = 1024 };

/* ---- the oracle --------------------------------------------------------- */

typedef struct oracle {
    cf_hparams hp;
    cf_weights w;
    double x[N][WIDTH];              /* the residual stream */
    double k[N][WIDTH], v[N][WIDTH]; /* of the layer under way */
    double q[N][WIDTH], a[N][WIDTH];
    double h[WIDTH], g[WIDTH], u[WIDTH];
} oracle;

/* y = m x + bias */
static void mul(double *y, const cf_mat *m, const float *bias, const double *x)
{
    float row[WIDTH];
    for (uint32_t r = 0; r < m->n_row; r++) {
        cf_dtype_to_f32(m->type, row,
                        (const unsigned char *)m->p + r * m->row_bytes,
                        m->n_col);
        y[r] = bias != NULL ? (double)bias[r] : 0;
        for (uint32_t c = 0; c < m->n_col; c++) {
            y[r] += (double)row[c] * x[c];
        }
    }
}

static void norm(double *out, const double *x, const float *w, uint32_t n,
                 double eps)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += x[i] * x[i];
    }
    double scale = 1 / sqrt(sum / n + eps);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = x[i] * scale * (double)w[i];
    }
}

/* The frequency of pair i, for the kinds these tests use. */
static double frequency(const oracle *o, const cf_layer_hparams *l, uint32_t i)
{
    const cf_rope_params *p = &o->hp.rope[l->rope_set];
    double f = pow(p->base, -2.0 * i / p->n_rot);
    if (l->rope_set == CF_ROPE_GLOBAL && o->w.rope_freqs != NULL) {
        f /= (double)o->w.rope_freqs[i];
    }
    return p->scaling == CF_ROPE_LINEAR ? f / p->factor : f;
}

static void rotate(const oracle *o, const cf_layer_hparams *l, double *head,
                   uint32_t pos)
{
    uint32_t n = o->hp.rope[l->rope_set].n_rot / 2;
    bool halves = o->hp.arch->rope_style == CF_ROPE_NEOX;
    for (uint32_t i = 0; l->has_rope && i < n; i++) {
        double t = pos * frequency(o, l, i);
        double *a = &head[halves ? i : 2 * i];
        double *b = &head[halves ? i + n : 2 * i + 1];
        double a0 = *a;
        *a = a0 * cos(t) - *b * sin(t);
        *b = a0 * sin(t) + *b * cos(t);
    }
}

static void project(oracle *o, uint32_t layer, uint32_t t)
{
    const cf_layer_hparams *l = &o->hp.layer[layer];
    const cf_layer_weights *w = &o->w.layer[layer];
    double eps = (double)o->hp.norm_eps;
    norm(o->h, o->x[t], w->attn_norm, o->hp.n_embd, eps);
    mul(o->q[t], &w->q, w->q_bias, o->h);
    mul(o->k[t], &w->k, w->k_bias, o->h);
    mul(o->v[t], &w->v, w->v_bias, o->h);
    for (uint32_t j = 0; j < l->n_head; j++) {
        double *head = o->q[t] + (size_t)j * l->head_size;
        if (w->q_norm != NULL) {
            norm(head, head, w->q_norm, l->head_size, eps);
        }
        rotate(o, l, head, t);
    }
    for (uint32_t j = 0; j < l->n_head_kv; j++) {
        double *head = o->k[t] + (size_t)j * l->head_size;
        if (w->k_norm != NULL) {
            norm(head, head, w->k_norm, l->head_size, eps);
        }
        rotate(o, l, head, t);
    }
}

static void attend(oracle *o, uint32_t layer, uint32_t t)
{
    const cf_layer_hparams *l = &o->hp.layer[layer];
    uint32_t first = l->window != 0 && t >= l->window ? t - l->window + 1 : 0;
    double cap = (double)o->hp.attn_soft_cap;
    for (uint32_t j = 0; j < l->n_head; j++) {
        size_t shared = j / (l->n_head / l->n_head_kv);
        double s[N];
        double sum = 0;
        for (uint32_t p = first; p <= t; p++) {
            s[p] = 0;
            for (uint32_t c = 0; c < l->head_size; c++) {
                s[p] += o->q[t][j * l->head_size + c] *
                        o->k[p][shared * l->head_size + c];
            }
            s[p] *= (double)l->attn_scale;
            s[p] = exp(cap > 0 ? cap * tanh(s[p] / cap) : s[p]);
            sum += s[p];
        }
        for (uint32_t c = 0; c < l->head_size_v; c++) {
            double y = 0;
            for (uint32_t p = first; p <= t; p++) {
                y += s[p] / sum * o->v[p][shared * l->head_size_v + c];
            }
            o->a[t][j * l->head_size_v + c] = y;
        }
    }
}

/* x += post(h) */
static void add(oracle *o, uint32_t t, const float *post)
{
    if (post != NULL) {
        norm(o->h, o->h, post, o->hp.n_embd, (double)o->hp.norm_eps);
    }
    for (uint32_t c = 0; c < o->hp.n_embd; c++) {
        o->x[t][c] += o->h[c];
    }
}

static void feed_forward(oracle *o, uint32_t layer, uint32_t t)
{
    const cf_layer_weights *w = &o->w.layer[layer];
    norm(o->h, o->x[t], w->ffn_norm, o->hp.n_embd, (double)o->hp.norm_eps);
    mul(o->g, &w->gate, w->gate_bias, o->h);
    mul(o->u, &w->up, w->up_bias, o->h);
    for (uint32_t i = 0; i < o->hp.layer[layer].n_ff; i++) {
        double g = o->g[i];
        double gelu = sqrt(2 / acos(-1.0)) * (g + 0.044715 * g * g * g);
        double act = o->hp.arch->act == CF_ACT_GELU ? g / 2 * (1 + tanh(gelu))
                                                    : g / (1 + exp(-g));
        o->g[i] = act * o->u[i];
    }
    mul(o->h, &w->down, w->down_bias, o->g);
    add(o, t, w->post_ffn_norm);
}

/* out[N, N_VOCAB] */
static void run_oracle(oracle *o, const cf_token *ids, double *out)
{
    float row[WIDTH];
    for (uint32_t t = 0; t < N; t++) {
        const cf_mat *m = &o->w.embd;
        cf_dtype_to_f32(m->type, row,
                        (const unsigned char *)m->p +
                            (size_t)ids[t] * m->row_bytes,
                        m->n_col);
        for (uint32_t c = 0; c < m->n_col; c++) {
            o->x[t][c] = (double)row[c] * (double)o->hp.embd_scale;
        }
    }
    for (uint32_t i = 0; i < o->hp.n_layer; i++) {
        const cf_layer_weights *w = &o->w.layer[i];
        for (uint32_t t = 0; t < N; t++) {
            project(o, i, t);
        }
        for (uint32_t t = 0; t < N; t++) {
            attend(o, i, t);
            mul(o->h, &w->o, w->o_bias, o->a[t]);
            add(o, t, w->post_attn_norm);
            feed_forward(o, i, t);
        }
    }
    double cap = (double)o->hp.final_soft_cap;
    for (uint32_t t = 0; t < N; t++) {
        norm(o->h, o->x[t], o->w.output_norm, o->hp.n_embd,
             (double)o->hp.norm_eps);
        double *y = out + (size_t)t * N_VOCAB;
        mul(y, &o->w.output, o->w.output_bias, o->h);
        for (uint32_t c = 0; cap > 0 && c < N_VOCAB; c++) {
            y[c] = cap * tanh(y[c] / cap);
        }
    }
}

/* ---- against the engine ------------------------------------------------- */

typedef struct comparison {
    const double *want; /* [N, N_VOCAB] */
    double error, largest;
} comparison;

static void compare(void *ud, uint32_t pos, const float *logits)
{
    comparison *c = ud;
    for (size_t i = 0; i < N_VOCAB; i++) {
        double want = c->want[pos * N_VOCAB + i];
        c->error = fmax(c->error, fabs((double)logits[i] - want));
        c->largest = fmax(c->largest, fabs(want));
    }
}

/* The largest difference over the largest logit. */
static double error_of(const void *p, size_t n, const cf_engine_options *o,
                       const cf_token *ids, const double *want)
{
    cf_error err;
    cf_engine *e = NULL;
    cf_session *s = NULL;
    comparison c = {.want = want};
    cf_run run = {.logits = compare, .ud = &c};
    cf_session_options so = {.n_ctx = N, .n_batch = 16, .cache = CF_CACHE_F32};
    T_OK(cf_engine_open_memory(&e, p, n, o, &err), err);
    T_OK(cf_session_new(&s, e, &so, &err), err);
    T_OK(cf_session_sync(s, ids, N, &run, NULL, &err), err);
    cf_session_free(s);
    cf_engine_close(e);
    return c.error / c.largest;
}

static void check(const cf_tiny_options *options)
{
    static const char *const sets[] = {"avx2", "avx512", "neon"};
    static double want[N * N_VOCAB];
    static oracle o;
    size_t n = 0;
    cf_error err;
    cf_gguf *g = NULL;
    cf_token ids[N];
    cf_rand r = {options->seed + 7};
    void *p = cf_tiny_gguf(options, &n);
    for (size_t i = 0; i < N; i++) {
        ids[i] = (cf_token)cf_rand_below(&r, N_VOCAB);
    }
    T_OK(cf_gguf_open_memory(&g, p, n, &err), err);
    T_OK(cf_hparams_init(&o.hp, g, &err), err);
    T_OK(cf_weights_init(&o.w, g, &o.hp, &err), err);
    run_oracle(&o, ids, want);
    cf_engine_options eo = {.n_threads = 1, .is_exact = true};
    double error = error_of(p, n, &eo, ids, want);
    if (!(error < 2e-5)) {
        fail_msg("%s %s exact: %g", o.hp.arch->name,
                 cf_dtype_get(options->type).name, error);
    }
    /* Fast kernels on float weights round no more than float does; eight-bit
     * activations are the kernels' tests' business. */
    for (size_t i = 0; i < 3 && options->type == CF_F32; i++) {
        if (cf_kernels_pick(sets[i]) != NULL) {
            eo = (cf_engine_options){.n_threads = 1, .kernel_set = sets[i]};
            error = error_of(p, n, &eo, ids, want);
            if (!(error < 2e-4)) {
                fail_msg("%s %s: %g", o.hp.arch->name, sets[i], error);
            }
        }
    }
    cf_weights_deinit(&o.w);
    cf_hparams_deinit(&o.hp);
    cf_gguf_close(g);
    cf_tiny_free(p);
}

static void test_forward__architectures(void **state)
{
    (void)state;
    for (size_t i = 0; cf_tiny_plain_archs[i] != NULL; i++) {
        check(&(cf_tiny_options){.arch = cf_tiny_plain_archs[i], .seed = i});
        check(&(cf_tiny_options){.arch = cf_tiny_plain_archs[i],
                                 .seed = i,
                                 .has_bias = true,
                                 .has_output = true,
                                 .n_rot = 12,
                                 .n_head = 6,
                                 .n_head_kv = 3,
                                 .head_size = 20,
                                 .head_size_v = 12,
                                 .n_embd = 48});
    }
}

static void test_forward__types(void **state)
{
    (void)state;
    for (uint32_t type = 0; type < CF_DTYPE_COUNT; type++) {
        if (cf_dtype_get(type).name != NULL) {
            check(&(cf_tiny_options){.type = (cf_dtype)type, .n_layer = 1});
        }
    }
}

static void test_forward__rope_and_layers(void **state)
{
    (void)state;
    check(&(cf_tiny_options){.has_rope_freqs = true});
    check(&(cf_tiny_options){.arch = "gemma3", .rope_scaling = "linear"});
    check(&(cf_tiny_options){.arch = "qwen3", .rope_scaling = "linear"});
    check(&(cf_tiny_options){.arch = "gemma2", .by_layer = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward__architectures),
        cmocka_unit_test(test_forward__types),
        cmocka_unit_test(test_forward__rope_and_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
