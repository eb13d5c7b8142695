/*
 * steering.c - sums of vectors as a probe of a session, and how they are made.
 */
#include "core/api/steer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/inside/control_vector.h"
#include "core/inside/inside_impl.h"

struct cf_steering {
    cf_probe probe; /* constant once a session has it */
    const cf_engine *engine;
    float **v; /* [n_layer + 1]: the sum for x_l, or NULL */
    cf_steering_use use[CF_STEERING_MAX];
    char *path[CF_STEERING_MAX];
    size_t n_use;
};

static void on_stream(void *ud, uint32_t l, uint32_t pos, float *const *x, size_t n)
{
    const cf_steering *s = ud;
    (void)pos;
    for (size_t j = 0; s->v[l] != NULL && j < n; j++) {
        s->engine->k->add(x[j], s->v[l], s->engine->hp.n_embd);
    }
}

cf_status cf_steering_new(cf_steering **out, const cf_engine *engine, cf_error *err)
{
    CF_TRY(cf_engine__need_weights(engine, err));
    CF_TRY(cf_engine__need_own(engine, "--steer", err));
    cf_steering *s = cf_calloc(1, sizeof *s);
    if (s != NULL) {
        s->engine = engine;
        s->probe = (cf_probe){.ud = s, .stream = on_stream};
        s->v = cf_calloc(engine->hp.n_layer + (size_t)1, sizeof *s->v);
    }
    if (s == NULL || s->v == NULL) {
        cf_free(s);
        return cf_oom_for(err, "steering");
    }
    *out = s;
    return CF_OK;
}

void cf_steering_free(cf_steering *s)
{
    if (s == NULL) {
        return;
    }
    for (uint32_t l = 0; l <= s->engine->hp.n_layer; l++) {
        cf_free(s->v[l]);
    }
    for (size_t i = 0; i < s->n_use; i++) {
        cf_free(s->path[i]);
    }
    cf_free(s->v);
    cf_free(s);
}

/* ---- sums --------------------------------------------------------------- */

/* Room for the sum of x_l, which stays as it is. */
static cf_status need(cf_steering *s, uint32_t l, cf_error *err)
{
    if (s->v[l] == NULL) {
        s->v[l] = cf_calloc(s->engine->hp.n_embd, sizeof(float));
    }
    return s->v[l] != NULL ? CF_OK : cf_oom_for(err, "steering");
}

static void add(cf_steering *s, uint32_t l, const float *v, float scale)
{
    for (size_t c = 0; c < s->engine->hp.n_embd; c++) {
        s->v[l][c] += scale * v[c];
    }
}

cf_status cf_steering_add(cf_steering *s, uint32_t l, const float *v, float scale, cf_error *err)
{
    if (l > s->engine->hp.n_layer) {
        return cf_fail(err, CF_EINVAL, "stream %u: a model of %u layers has 0 to %u", l,
                       s->engine->hp.n_layer, s->engine->hp.n_layer);
    }
    CF_TRY(need(s, l, err));
    add(s, l, v, scale);
    return CF_OK;
}

const float *cf_steering_at(const cf_steering *s, uint32_t l)
{
    return l <= s->engine->hp.n_layer ? s->v[l] : NULL;
}

const cf_steering_use *cf_steering_uses(const cf_steering *s, size_t *n)
{
    *n = s->n_use;
    return s->use;
}

void cf_steering_normalise(cf_steering *s)
{
    for (uint32_t l = 0; l <= s->engine->hp.n_layer; l++) {
        double sum = 0;
        for (size_t c = 0; s->v[l] != NULL && c < s->engine->hp.n_embd; c++) {
            sum += (double)s->v[l][c] * (double)s->v[l][c];
        }
        for (size_t c = 0; sum > 0 && c < s->engine->hp.n_embd; c++) {
            s->v[l][c] = (float)((double)s->v[l][c] / sqrt(sum));
        }
    }
}

/* ---- files -------------------------------------------------------------- */

static bool is_wanted(uint32_t n, uint32_t first, uint32_t last, uint32_t n_layer)
{
    return n < n_layer && ((first == 0 && last == 0) || (n >= first && n <= last));
}

static cf_status add_vectors(cf_steering *s, const cf_control_vector *f, const cf_steering_use *u,
                             cf_error *err)
{
    uint32_t n_layer = s->engine->hp.n_layer;
    for (size_t i = 0; i < f->n; i++) {
        if (is_wanted(f->v[i].n, u->first, u->last, n_layer)) {
            CF_TRY(need(s, f->v[i].n + 1, err));
        }
    }
    for (size_t i = 0; i < f->n; i++) {
        if (is_wanted(f->v[i].n, u->first, u->last, n_layer)) {
            add(s, f->v[i].n + 1, f->v[i].p, u->scale);
        }
    }
    return CF_OK;
}

cf_status cf_steering_add_file(cf_steering *s, const char *path, float scale, uint32_t first,
                               uint32_t last, cf_error *err)
{
    cf_control_vector f;
    cf_steering_use u = {.scale = scale, .first = first, .last = last};
    if (s->n_use == CF_STEERING_MAX) {
        return cf_fail(err, CF_ELIMIT, "more than %d control vectors", CF_STEERING_MAX);
    }
    if (first > last) {
        return cf_fail(err, CF_EINVAL, "layers %u to %u", first, last);
    }
    CF_TRY(cf_control_vector_read(&f, path, s->engine->hp.n_embd, err));
    char *name = cf_strdup(path);
    cf_status st = name != NULL ? add_vectors(s, &f, &u, err) : cf_oom_for(err, "steering");
    if (st == CF_OK) {
        memcpy(u.hash, f.hash, sizeof u.hash);
        u.path = s->path[s->n_use] = name;
        s->use[s->n_use++] = u;
    } else {
        cf_free(name);
    }
    cf_control_vector_close(&f);
    return st;
}

cf_status cf_steering_write(const cf_steering *s, const char *path, cf_error *err)
{
    const cf_control_vector_out out = {.path = path,
                                       .arch = s->engine->arch,
                                       .n_embd = s->engine->hp.n_embd,
                                       .v = s->v,
                                       .n_layer = s->engine->hp.n_layer};
    return cf_control_vector_write(&out, err);
}

/* ---- making ------------------------------------------------------------- */

/* out[n_embd] = the mean of the streams in x. */
static void mean_stream(const cf_engine *e, const float *x, float *out)
{
    size_t n_embd = e->hp.n_embd;
    size_t n = cf_inside_width(e) / n_embd;
    for (size_t c = 0; c < n_embd; c++) {
        out[c] = 0;
        for (size_t j = 0; j < n; j++) {
            out[c] += x[j * n_embd + c] / (float)n;
        }
    }
}

/* Adds the timeline's streams at its position, times scale. */
static cf_status add_side(cf_steering *s, cf_session *session, const cf_inside_ask *ask,
                          float scale, float *x, float *mean, cf_error *err)
{
    size_t width = cf_inside_width(s->engine);
    CF_TRY(cf_inside__streams(session, ask, x, err));
    for (uint32_t l = 2; l <= s->engine->hp.n_layer; l++) {
        mean_stream(s->engine, x + l * width, mean);
        add(s, l, mean, scale);
    }
    return CF_OK;
}

cf_status cf_steering_add_pair(cf_steering *s, cf_session *session, const cf_inside_ask *with,
                               const cf_inside_ask *without, float weight, cf_error *err)
{
    uint32_t n_layer = s->engine->hp.n_layer;
    float *x = cf_calloc((n_layer + (size_t)1) * cf_inside_width(s->engine), sizeof *x);
    float *mean = cf_calloc(s->engine->hp.n_embd, sizeof *mean);
    cf_status st = x != NULL && mean != NULL ? CF_OK : cf_oom_for(err, "steering");
    for (uint32_t l = 2; l <= n_layer; l++) {
        CF_THEN(st, need(s, l, err));
    }
    CF_THEN(st, add_side(s, session, with, weight, x, mean, err));
    CF_THEN(st, add_side(s, session, without, -weight, x, mean, err));
    cf_free(x);
    cf_free(mean);
    return st;
}

cf_status cf_steering_add_row(cf_steering *s, cf_token id, float scale, cf_error *err)
{
    const cf_engine *e = s->engine;
    const cf_mat *m = &e->w.output;
    CF_TRY(cf_session__check_id(e, id, err));
    float *row = cf_calloc(e->hp.n_embd, sizeof *row);
    cf_status st = row != NULL ? CF_OK : cf_oom_for(err, "steering");
    if (row != NULL) {
        cf_dtype_to_f32(m->type, row, (const unsigned char *)m->p + (size_t)id * m->row_bytes,
                        m->n_col);
    }
    for (size_t c = 0; row != NULL && c < e->hp.n_embd; c++) {
        row[c] *= e->w.output_norm[c] * (m->by != 0 ? m->by : 1);
    }
    for (uint32_t l = 2; l <= e->hp.n_layer; l++) {
        CF_THEN(st, cf_steering_add(s, l, row, scale, err));
    }
    cf_free(row);
    return st;
}

/* ---- sessions ----------------------------------------------------------- */

cf_status cf_session_set_steering(cf_session *session, const cf_steering *s, cf_error *err)
{
    if (s != NULL && s->engine != session->engine) {
        return cf_fail(err, CF_EINVAL, "steering of another model");
    }
    const cf_probe *probe = s != NULL ? &s->probe : NULL;
    if (probe != session->probe) {
        cf_session__set_probe(session, probe, 0);
    }
    return CF_OK;
}

const cf_steering *cf_session_steering(const cf_session *session)
{
    return session->probe != NULL && session->probe->stream == on_stream ? session->probe->ud
                                                                         : NULL;
}
