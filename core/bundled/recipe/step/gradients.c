/*
 * gradients.c - loss and gradients of the bundled model for some tokens
 *
 * The same mathematics as model.py, forwards and backwards in one call, about
 * twice as fast as PyTorch's autograd on a processor: products go to gemm.c,
 * all else is fused, and attention looks only at what a token may see.
 * train.py compiles this file and calls it; `train.py --check` compares it
 * with autograd. It is no part of libconfab.
 *
 * Tokens lie in segments. A segment's token sees the tokens before it in its
 * segment and, if the segment has a trunk, all of the trunk: an earlier
 * segment that several share. So dialogues with the same tools pay for the
 * declarations once.
 *
 * Matrices are row-major float32. One thread; several processes may each call
 * it with gradients of their own.
 */

#include "core/bundled/recipe/step/gemm.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Logits are made for so many tokens at a time; the largest model that fits. */
enum { CHUNK = 256, LAYERS_MOST = 64, HEAD_DIM_MOST = 256 };

/* The shape of the model, as in model.py. */
struct shape {
    int32_t n_vocab, n_embd, n_layer, n_head, n_head_kv, head_dim, n_ff;
    float eps, rope_base;
};

/* What one call works on. begin, n, trunk and n_trunk hold the segments in
 * order; together they cover all tokens, and a trunk lies before its users.
 * target is read where weight is not 0. */
struct tokens {
    int32_t n, n_segment;
    const int32_t *id, *target, *position;
    const float *weight;
    const int32_t *begin, *length, *trunk, *n_trunk;
};

/* The parameters of a layer, or their gradients, in the order of model.py. */
enum { Q, K, V, O, GATE, UP, DOWN, ATTN_NORM, FFN_NORM, Q_NORM, K_NORM, N_LAYER_PARAM };
enum { EMBD, NORM, FIRST_LAYER };

/* What the forward pass of a layer leaves for the way back. */
struct layer_state {
    float *x, *x_scale;     /* input [n, embd] and its 1/rms [n] */
    float *h;               /* normalised input [n, embd] */
    float *qkv, *qk_scale;  /* [n, (head + 2 head_kv) * dim], 1/rms of each head
                              [n, head + head_kv] */
    float *rot;             /* normalised and turned queries and keys [n, (head + head_kv) *
                   dim] */
    float *p;               /* attention of all segments and heads */
    float *y;               /* what attention gathered [n, head * dim] */
    float *x2, *x2_scale;   /* after attention [n, embd] and its 1/rms [n] */
    float *h2;              /* normalised x2 [n, embd] */
    float *gate, *up, *act; /* [n, ff] each; act = silu(gate) * up */
};

struct run {
    const struct shape *s;
    const struct tokens *t;
    const float *const *w;
    float *const *g;
    int n, nq, nkv, width; /* tokens; columns of queries, of keys, of qkv */
    float *cosine, *sine;  /* [n, head_dim / 2] */
    struct layer_state *layer;
    float *dx, *dh, *dqkv, *drot, *dp, *dot, *da, *db, *dc;
};

/* Workspace: one block a process, grown when a call needs more. */
static float *g_block;
static size_t g_size, g_used;

static float *take(size_t n)
{
    float *at = g_block ? g_block + g_used : NULL;
    g_used += (n + 15) / 16 * 16;
    return at;
}

/* c [m, n] = beta c + a [m, k] b^T with b [n, k] */
static void mul_nt(int m, int n, int k, const float *a, int lda, const float *b, int ldb,
                   float beta, float *c, int ldc)
{
    gemm(m, n, k, a, lda, 1, b, 1, ldb, beta, c, ldc);
}

/* c [m, n] = beta c + a [m, k] b [k, n] */
static void mul_nn(int m, int n, int k, const float *a, int lda, const float *b, int ldb,
                   float beta, float *c, int ldc)
{
    gemm(m, n, k, a, lda, 1, b, ldb, 1, beta, c, ldc);
}

/* c [m, n] += a^T b with a [k, m], b [k, n] */
static void mul_tn(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float *c,
                   int ldc)
{
    gemm(m, n, k, a, 1, lda, b, ldb, 1, 1, c, ldc);
}

/* y = x * scale * w with scale = 1 / rms(x), which is returned */
static float norm(int d, float eps, const float *restrict x, const float *restrict w,
                  float *restrict y)
{
    float sum = 0;
    for (int i = 0; i < d; i++) {
        sum += x[i] * x[i];
    }
    float scale = 1 / sqrtf(sum / d + eps);
    for (int i = 0; i < d; i++) {
        y[i] = x[i] * scale * w[i];
    }
    return scale;
}

/* dx += the gradient of norm; dw += that of its weight times gain */
static void norm_back(int d, float scale, float gain, const float *restrict x,
                      const float *restrict w, const float *restrict dy, float *restrict dx,
                      float *restrict dw)
{
    float dot = 0;
    for (int i = 0; i < d; i++) {
        dot += dy[i] * w[i] * x[i];
    }
    dot *= gain * scale * scale / d;
    for (int i = 0; i < d; i++) {
        dx[i] += scale * (dy[i] * w[i] * gain - x[i] * dot);
        dw[i] += gain * scale * dy[i] * x[i];
    }
}

/* Normalises the heads of one token and turns them by its position. */
static void rotate(const struct run *r, int t, struct layer_state *l, const float *q_norm,
                   const float *k_norm)
{
    const struct shape *s = r->s;
    int d = s->head_dim, half = d / 2, heads = s->n_head + s->n_head_kv;
    const float *c = r->cosine + (size_t)t * half, *z = r->sine + (size_t)t * half;
    for (int h = 0; h < heads; h++) {
        const float *x = l->qkv + (size_t)t * r->width + h * d;
        float *y = l->rot + (size_t)t * (r->nq + r->nkv) + h * d;
        float n[HEAD_DIM_MOST];
        l->qk_scale[t * heads + h] = norm(d, s->eps, x, h < s->n_head ? q_norm : k_norm, n);
        float gain = h < s->n_head ? 1 / sqrtf(d) : 1;
        for (int i = 0; i < half; i++) {
            y[i] = gain * (n[i] * c[i] - n[i + half] * z[i]);
            y[i + half] = gain * (n[i + half] * c[i] + n[i] * z[i]);
        }
    }
}

static void rotate_back(const struct run *r, int t, struct layer_state *l, const float *const *w,
                        float *const *g)
{
    const struct shape *s = r->s;
    int d = s->head_dim, half = d / 2, heads = s->n_head + s->n_head_kv;
    const float *c = r->cosine + (size_t)t * half, *z = r->sine + (size_t)t * half;
    for (int h = 0; h < heads; h++) {
        const float *dy = r->drot + (size_t)t * (r->nq + r->nkv) + h * d;
        float *dx = r->dqkv + (size_t)t * r->width + h * d;
        float dn[HEAD_DIM_MOST];
        for (int i = 0; i < half; i++) {
            dn[i] = dy[i] * c[i] + dy[i + half] * z[i];
            dn[i + half] = dy[i + half] * c[i] - dy[i] * z[i];
        }
        int which = h < s->n_head ? Q_NORM : K_NORM;
        memset(dx, 0, d * sizeof *dx);
        norm_back(d, l->qk_scale[t * heads + h], h < s->n_head ? 1 / sqrtf(d) : 1,
                  l->qkv + (size_t)t * r->width + h * d, w[which], dn, dx, g[which]);
    }
}

/* Segments behind each other that share a trunk, which is seen in one product;
 * a segment without a trunk is a group by itself. */
struct group {
    int first, end;     /* segments */
    int begin, rows;    /* tokens */
    int trunk, n_trunk; /* tokens */
};

/* The group that begins with segment i. */
static struct group group_at(const struct tokens *t, int i)
{
    struct group g = {i, i + 1, t->begin[i], t->length[i], t->trunk[i], t->n_trunk[i]};
    while (g.n_trunk && g.end < t->n_segment && t->n_trunk[g.end] && t->trunk[g.end] == g.trunk) {
        g.rows += t->length[g.end++];
    }
    return g;
}

/* How many shares of attention a head has over a group: [rows, n_trunk], then
 * [n, n] for each segment. */
static size_t group_shares(const struct tokens *t, struct group g)
{
    size_t n = (size_t)g.rows * g.n_trunk;
    for (int i = g.first; i < g.end; i++) {
        n += (size_t)t->length[i] * t->length[i];
    }
    return n;
}

/* One row of attention, in place: m scores of the trunk and the first `seen` of
 * the segment's n become shares. */
static void softmax(float *restrict trunk, int m, float *restrict own, int seen, int n)
{
    float most = own[0], sum = 0;
    for (int i = 0; i < m; i++) {
        most = fmaxf(most, trunk[i]);
    }
    for (int i = 0; i < seen; i++) {
        most = fmaxf(most, own[i]);
    }
    for (int i = 0; i < m; i++) {
        trunk[i] = expf(trunk[i] - most);
        sum += trunk[i];
    }
    for (int i = 0; i < seen; i++) {
        own[i] = expf(own[i] - most);
        sum += own[i];
    }
    float scale = 1 / sum;
    for (int i = 0; i < m; i++) {
        trunk[i] *= scale;
    }
    for (int i = 0; i < seen; i++) {
        own[i] *= scale;
    }
    for (int i = seen; i < n; i++) {
        own[i] = 0;
    }
}

/* The attention of one head over one group; p is laid out as group_shares says.
 */
static void attend(const struct run *r, struct layer_state *l, struct group g, int h, float *p)
{
    int d = r->s->head_dim, kv = h / (r->s->n_head / r->s->n_head_kv), m = g.n_trunk,
        lr = r->nq + r->nkv, lv = r->width;
    const float *q = l->rot + h * d, *k = l->rot + r->nq + kv * d, *v = l->qkv + lr + kv * d;
    float *y = l->y + h * d, *own = p + (size_t)g.rows * m;
    if (m) {
        mul_nt(g.rows, m, d, q + (size_t)g.begin * lr, lr, k + (size_t)g.trunk * lr, lr, 0, p, m);
    }
    for (int i = g.first; i < g.end; i++) {
        size_t b = r->t->begin[i], n = r->t->length[i];
        mul_nt(n, n, d, q + b * lr, lr, k + b * lr, lr, 0, own, n);
        for (size_t j = 0; j < n; j++) {
            softmax(p + (b - g.begin + j) * m, m, own + j * n, j + 1, n);
        }
        mul_nn(n, d, n, own, n, v + b * lv, lv, 0, y + b * r->nq, r->nq);
        own += n * n;
    }
    if (m) {
        mul_nn(g.rows, d, m, p, m, v + (size_t)g.trunk * lv, lv, 1, y + (size_t)g.begin * r->nq,
               r->nq);
    }
}

/* ds [rows, n], the gradient of shares p, becomes that of the scores. */
static void scores_back(int rows, int n, const float *restrict p, float *restrict ds,
                        const float *restrict dot)
{
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < n; j++) {
            ds[(size_t)i * n + j] = p[(size_t)i * n + j] * (ds[(size_t)i * n + j] - dot[i]);
        }
    }
}

/* What `attend` did to rows of queries and n keys: from dy (r->dh) to drot and
 * the values' part of dqkv. */
static void product_back(const struct run *r, struct layer_state *l, int h, size_t b, int rows,
                         size_t at, int n, const float *p, const float *dot, float beta)
{
    int d = r->s->head_dim, kv = h / (r->s->n_head / r->s->n_head_kv), lr = r->nq + r->nkv,
        lv = r->width;
    const float *q = l->rot + h * d + b * lr, *k = l->rot + r->nq + kv * d + at * lr,
                *v = l->qkv + lr + kv * d + at * lv;
    const float *dy = r->dh + h * d + b * r->nq;
    mul_nt(rows, n, d, dy, r->nq, v, lv, 0, r->dp, n);
    mul_tn(n, d, rows, p, n, dy, r->nq, r->dqkv + lr + kv * d + at * lv, lv);
    scores_back(rows, n, p, r->dp, dot);
    mul_nn(rows, d, n, r->dp, n, k, lr, beta, r->drot + h * d + b * lr, lr);
    mul_tn(n, d, rows, r->dp, n, q, lr, r->drot + r->nq + kv * d + at * lr, lr);
}

static void attend_back(const struct run *r, struct layer_state *l, struct group g, int h,
                        const float *p)
{
    const float *own = p + (size_t)g.rows * g.n_trunk;
    int d = r->s->head_dim;
    for (int i = 0; i < g.rows; i++) {
        size_t at = (size_t)(g.begin + i) * r->nq + h * d;
        float dot = 0;
        for (int j = 0; j < d; j++) {
            dot += l->y[at + j] * r->dh[at + j];
        }
        r->dot[i] = dot;
    }
    for (int i = g.first; i < g.end; i++) {
        size_t b = r->t->begin[i], n = r->t->length[i];
        product_back(r, l, h, b, n, b, n, own, r->dot + (b - g.begin), 0);
        own += n * n;
    }
    if (g.n_trunk) {
        product_back(r, l, h, g.begin, g.rows, g.trunk, g.n_trunk, p, r->dot, 1);
    }
}

/* Runs a layer; its output goes to x_out [n, embd]. */
static void forward(struct run *r, struct layer_state *l, const float *const *w, float *x_out)
{
    const struct shape *s = r->s;
    int n = r->n, d = s->n_embd, f = s->n_ff;
    for (int t = 0; t < n; t++) {
        l->x_scale[t] = norm(d, s->eps, l->x + (size_t)t * d, w[ATTN_NORM], l->h + (size_t)t * d);
    }
    mul_nt(n, r->nq, d, l->h, d, w[Q], d, 0, l->qkv, r->width);
    mul_nt(n, r->nkv, d, l->h, d, w[K], d, 0, l->qkv + r->nq, r->width);
    mul_nt(n, r->nkv, d, l->h, d, w[V], d, 0, l->qkv + r->nq + r->nkv, r->width);
    for (int t = 0; t < n; t++) {
        rotate(r, t, l, w[Q_NORM], w[K_NORM]);
    }
    float *p = l->p;
    for (int i = 0; i < r->t->n_segment;) {
        struct group at = group_at(r->t, i);
        size_t size = group_shares(r->t, at);
        for (int h = 0; h < s->n_head; h++, p += size) {
            attend(r, l, at, h, p);
        }
        i = at.end;
    }
    memcpy(l->x2, l->x, (size_t)n * d * sizeof(float));
    mul_nt(n, d, r->nq, l->y, r->nq, w[O], r->nq, 1, l->x2, d);
    for (int t = 0; t < n; t++) {
        l->x2_scale[t] = norm(d, s->eps, l->x2 + (size_t)t * d, w[FFN_NORM], l->h2 + (size_t)t * d);
    }
    mul_nt(n, f, d, l->h2, d, w[GATE], d, 0, l->gate, f);
    mul_nt(n, f, d, l->h2, d, w[UP], d, 0, l->up, f);
    for (size_t i = 0; i < (size_t)n * f; i++) {
        l->act[i] = l->gate[i] / (1 + expf(-l->gate[i])) * l->up[i];
    }
    memcpy(x_out, l->x2, (size_t)n * d * sizeof(float));
    mul_nt(n, d, f, l->act, f, w[DOWN], f, 1, x_out, d);
}

/* r->dx holds the gradient of the layer's output, then that of its input. */
static void backward(struct run *r, struct layer_state *l, const float *const *w, float *const *g)
{
    const struct shape *s = r->s;
    int n = r->n, d = s->n_embd, f = s->n_ff, lr = r->nq + r->nkv;
    mul_tn(d, f, n, r->dx, d, l->act, f, g[DOWN], f);
    mul_nn(n, f, d, r->dx, d, w[DOWN], f, 0, r->da, f);
    float *restrict da = r->da, *restrict db = r->db, *restrict gate = l->gate,
                    *restrict up = l->up;
    for (size_t i = 0; i < (size_t)n * f; i++) {
        float sig = 1 / (1 + expf(-gate[i])), silu = gate[i] * sig, out = da[i];
        da[i] = out * up[i] * (sig + silu * (1 - sig));
        db[i] = out * silu;
    }
    mul_tn(f, d, n, r->da, f, l->h2, d, g[GATE], d);
    mul_tn(f, d, n, r->db, f, l->h2, d, g[UP], d);
    mul_nn(n, d, f, r->da, f, w[GATE], d, 0, r->dc, d);
    mul_nn(n, d, f, r->db, f, w[UP], d, 1, r->dc, d);
    for (int t = 0; t < n; t++) {
        size_t at = (size_t)t * d;
        norm_back(d, l->x2_scale[t], 1, l->x2 + at, w[FFN_NORM], r->dc + at, r->dx + at,
                  g[FFN_NORM]);
    }
    mul_tn(d, r->nq, n, r->dx, d, l->y, r->nq, g[O], r->nq);
    mul_nn(n, r->nq, d, r->dx, d, w[O], r->nq, 0, r->dh, r->nq);
    memset(r->drot, 0, (size_t)n * lr * sizeof(float));
    memset(r->dqkv, 0, (size_t)n * r->width * sizeof(float));
    const float *p = l->p;
    for (int i = 0; i < r->t->n_segment;) {
        struct group at = group_at(r->t, i);
        size_t size = group_shares(r->t, at);
        for (int h = 0; h < s->n_head; h++, p += size) {
            attend_back(r, l, at, h, p);
        }
        i = at.end;
    }
    for (int t = 0; t < n; t++) {
        rotate_back(r, t, l, w, g);
    }
    mul_tn(r->nq, d, n, r->dqkv, r->width, l->h, d, g[Q], d);
    mul_tn(r->nkv, d, n, r->dqkv + r->nq, r->width, l->h, d, g[K], d);
    mul_tn(r->nkv, d, n, r->dqkv + lr, r->width, l->h, d, g[V], d);
    mul_nn(n, d, r->nq, r->dqkv, r->width, w[Q], d, 0, r->dc, d);
    mul_nn(n, d, r->nkv, r->dqkv + r->nq, r->width, w[K], d, 1, r->dc, d);
    mul_nn(n, d, r->nkv, r->dqkv + lr, r->width, w[V], d, 1, r->dc, d);
    for (int t = 0; t < n; t++) {
        size_t at = (size_t)t * d;
        norm_back(d, l->x_scale[t], 1, l->x + at, w[ATTN_NORM], r->dc + at, r->dx + at,
                  g[ATTN_NORM]);
    }
}

/* One row of logits becomes its gradient; returns the loss, sets *is_right. */
static double cross_entropy(float *restrict z, int n, int target, float weight, int *is_right)
{
    float most = z[0], sum = 0, own = z[target];
    for (int i = 1; i < n; i++) {
        most = fmaxf(most, z[i]);
    }
    for (int i = 0; i < n; i++) {
        z[i] = expf(z[i] - most);
        sum += z[i];
    }
    float scale = weight / sum;
    for (int i = 0; i < n; i++) {
        z[i] *= scale;
    }
    z[target] -= weight;
    *is_right = own >= most;
    return logf(sum) + most - own;
}

/* The loss over the tokens that have a weight, by chunks; sets r->dx to the
 * gradient of x [n, embd], the output of the last layer. */
static void losses(struct run *r, const float *x, float scale, double *sums)
{
    const struct shape *s = r->s;
    int d = s->n_embd, v = s->n_vocab, row[CHUNK];
    float factor[CHUNK], *hidden = r->da, *dhidden = r->db, *logits = r->dc;
    memset(r->dx, 0, (size_t)r->n * d * sizeof(float));
    for (int t = 0; t < r->n;) {
        int n = 0;
        for (; t < r->n && n < CHUNK; t++) {
            if (r->t->weight[t] > 0) {
                factor[n] = norm(d, s->eps, x + (size_t)t * d, r->w[NORM], hidden + (size_t)n * d);
                row[n++] = t;
            }
        }
        if (n == 0) {
            return;
        }
        mul_nt(n, v, d, hidden, d, r->w[EMBD], d, 0, logits, v);
        for (int i = 0; i < n; i++) {
            float weight = r->t->weight[row[i]];
            int is_right;
            double loss = cross_entropy(logits + (size_t)i * v, v, r->t->target[row[i]],
                                        weight * scale, &is_right);
            if (weight == 1) {
                sums[0] += loss;
                sums[1] += is_right;
                sums[2]++;
            }
        }
        mul_nn(n, d, v, logits, v, r->w[EMBD], d, 0, dhidden, d);
        mul_tn(v, d, n, logits, v, hidden, d, r->g[EMBD], d);
        for (int i = 0; i < n; i++) {
            size_t at = (size_t)row[i] * d;
            norm_back(d, factor[i], 1, x + at, r->w[NORM], dhidden + (size_t)i * d, r->dx + at,
                      r->g[NORM]);
        }
    }
}

/* Lays out the workspace; returns the place of the last layer's output. */
static float *lay_out(struct run *r)
{
    const struct shape *s = r->s;
    size_t n = r->n, d = s->n_embd, f = s->n_ff, lr = r->nq + r->nkv, shares = 0, widest = 0;
    size_t chunk = CHUNK * (size_t)s->n_vocab;
    for (int i = 0; i < r->t->n_segment;) {
        struct group g = group_at(r->t, i);
        size_t size = group_shares(r->t, g);
        shares += size * s->n_head;
        widest = size > widest ? size : widest;
        i = g.end;
    }
    g_used = 0;
    r->cosine = take(n * s->head_dim / 2);
    r->sine = take(n * s->head_dim / 2);
    for (int i = 0; i < s->n_layer; i++) {
        r->layer[i] = (struct layer_state){.x = take(n * d),
                                           .x_scale = take(n),
                                           .h = take(n * d),
                                           .qkv = take(n * r->width),
                                           .qk_scale = take(n * (s->n_head + s->n_head_kv)),
                                           .rot = take(n * lr),
                                           .p = take(shares),
                                           .y = take(n * r->nq),
                                           .x2 = take(n * d),
                                           .x2_scale = take(n),
                                           .h2 = take(n * d),
                                           .gate = take(n * f),
                                           .up = take(n * f),
                                           .act = take(n * f)};
    }
    r->dx = take(n * d);
    r->dh = take(n * r->nq);
    r->dqkv = take(n * r->width);
    r->drot = take(n * lr);
    r->dp = take(widest);
    r->dot = take(n);
    r->da = take(n * f > CHUNK * d ? n * f : CHUNK * d);
    r->db = take(n * f > CHUNK * d ? n * f : CHUNK * d);
    r->dc = take(n * d > chunk ? n * d : chunk);
    return take(n * d);
}

/*
 * Adds to g the gradients of scale * sum(weight * loss) over the tokens.
 *
 * w and g point to the embedding, the last norm, and the parameters of each
 * layer. sums gets (is added to): loss, right answers and count of the tokens
 * of weight 1, and the count of all tokens. Returns 0, or -1 without memory or
 * when the model is too large.
 */
int gradients(const struct shape *s, const struct tokens *t, const float *const *w, float *const *g,
              float scale, double *sums)
{
    struct layer_state layers[LAYERS_MOST];
    if (s->n_layer > LAYERS_MOST || s->head_dim > HEAD_DIM_MOST) {
        return -1;
    }
    struct run r = {.s = s,
                    .t = t,
                    .w = w,
                    .g = g,
                    .n = t->n,
                    .nq = s->n_head * s->head_dim,
                    .nkv = s->n_head_kv * s->head_dim,
                    .layer = layers};
    r.width = r.nq + 2 * r.nkv;
    float *last = lay_out(&r);
    if (g_used > g_size || !g_block) {
        free(g_block);
        g_size = g_used;
        g_block = aligned_alloc(64, g_size * sizeof(float));
        if (!g_block) {
            g_size = 0;
            return -1;
        }
        last = lay_out(&r);
    }
    int d = s->n_embd, half = s->head_dim / 2;
    for (int i = 0; i < r.n; i++) {
        for (int j = 0; j < half; j++) {
            float angle =
                (float)t->position[i] * powf(s->rope_base, -2.0F * (float)j / (float)s->head_dim);
            r.cosine[(size_t)i * half + j] = cosf(angle);
            r.sine[(size_t)i * half + j] = sinf(angle);
        }
        memcpy(layers[0].x + (size_t)i * d, w[EMBD] + (size_t)t->id[i] * d, d * sizeof(float));
    }
    for (int i = 0; i < s->n_layer; i++) {
        forward(&r, &layers[i], w + FIRST_LAYER + i * N_LAYER_PARAM,
                i + 1 < s->n_layer ? layers[i + 1].x : last);
    }
    losses(&r, last, scale, sums);
    for (int i = s->n_layer; i-- > 0;) {
        backward(&r, &layers[i], w + FIRST_LAYER + i * N_LAYER_PARAM,
                 g + FIRST_LAYER + i * N_LAYER_PARAM);
    }
    for (int i = 0; i < r.n; i++) {
        float *to = g[EMBD] + (size_t)t->id[i] * d;
        for (int j = 0; j < d; j++) {
            to[j] += r.dx[(size_t)i * d + j];
        }
    }
    sums[3] += r.n;
    return 0;
}
