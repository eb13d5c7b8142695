/*
 * inside_study.c - sums over the parts of a prompt.
 */
#include "tui/study/inside/inside_study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

enum { TOP = 5 };

static cf_status no_memory(cf_error *err)
{
    return cf_oom_for(err, "looking inside");
}

static uint32_t n_layer_of(const cf_inside_case *c)
{
    return cf_engine_get_info(cf_session_engine(c->session)).n_layer;
}

static size_t n_vocab_of(const cf_inside_case *c)
{
    return cf_tokenizer_n_vocab(c->engine.tok);
}

/* ---- attention ---------------------------------------------------------- */

/* What head h of a layer gives to a part. */
static double given(const cf_inside_case *c, const cf_inside_looks *l, uint32_t h,
                    const cf_inside_part *p)
{
    double sum = 0;
    for (size_t i = 0; i < p->n && p->pos[i] <= c->at; i++) {
        sum += (double)l->w[h * (c->at + (size_t)1) + p->pos[i]];
    }
    return sum;
}

static cf_status sum_part(cf_inside_look *out, cf_inside_case *c, size_t i, cf_error *err)
{
    cf_inside_share *s = &out->part[i];
    size_t n_layer = 0;
    s->by_layer = cf_arena_calloc(&c->arena, out->n_layer, sizeof *s->by_layer);
    if (s->by_layer == NULL) {
        return no_memory(err);
    }
    for (uint32_t l = 0; l < out->n_layer; l++) {
        const cf_inside_looks *looks = &out->layer[l];
        for (uint32_t h = 0; h < looks->n_head; h++) {
            double v = given(c, looks, h, &c->part[i]);
            s->by_layer[l] += v / looks->n_head;
            if (v > s->most) {
                s->most = v;
                s->layer = l;
                s->head = h;
            }
        }
        n_layer += looks->n_head != 0;
        s->share += s->by_layer[l];
    }
    s->share /= n_layer != 0 ? (double)n_layer : 1;
    return CF_OK;
}

/* What is given to positions of no part. */
static cf_status sum_rest(cf_inside_look *out, cf_inside_case *c, cf_error *err)
{
    static const cf_inside_heads all = {.is_some = false};
    bool *is_part = cf_calloc(c->n + 1, sizeof *is_part);
    if (is_part == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < c->n_part; i++) {
        for (size_t k = 0; k < c->part[i].n; k++) {
            is_part[c->part[i].pos[k]] = true;
        }
    }
    for (size_t k = 0; k <= c->at; k++) {
        out->rest += is_part[k] ? 0 : cf_inside_given(out, c, &all, k);
    }
    cf_free(is_part);
    return CF_OK;
}

cf_status cf_inside_study_look(cf_inside_look *out, cf_inside_case *c, cf_error *err)
{
    const cf_inside_ask ask = cf_inside_case_ask(c, NULL);
    *out = (cf_inside_look){.n_layer = n_layer_of(c)};
    out->part = cf_arena_calloc(&c->arena, c->n_part + 1, sizeof *out->part);
    if (out->part == NULL) {
        return no_memory(err);
    }
    CF_TRY(cf_inside_attention(c->session, &ask, &out->layer, &c->arena, err));
    for (size_t i = 0; i < c->n_part; i++) {
        CF_TRY(sum_part(out, c, i, err));
    }
    return sum_rest(out, c, err);
}

cf_status cf_inside_heads_read(cf_inside_heads *out, const cf_inside_look *look, const char *text,
                               cf_error *err)
{
    unsigned layer = 0, first = 0, last = UINT32_MAX - 1;
    int n[3] = {0, 0, 0};
    (void)sscanf(text, "%9u%n.%9u%n-%9u%n", &layer, &n[0], &first, &n[1], &last, &n[2]);
    int used = n[2] > 0 ? n[2] : n[1] > 0 ? n[1] : n[0];
    last = n[1] > 0 && n[2] == 0 ? first : last;
    if (strcmp(text, "all") == 0) {
        *out = (cf_inside_heads){.is_some = false};
        return CF_OK;
    }
    if (used == 0 || text[used] != '\0' || layer >= look->n_layer ||
        first >= look->layer[layer].n_head || last < first) {
        return cf_fail(err, CF_EINVAL,
                       "no heads '%.20s': all, LAYER, LAYER.HEAD or LAYER.FIRST-LAST of a layer "
                       "with attention",
                       text);
    }
    uint32_t end = look->layer[layer].n_head;
    *out = (cf_inside_heads){true, layer, first, last < end ? last + 1 : end};
    return CF_OK;
}

double cf_inside_given(const cf_inside_look *look, const cf_inside_case *c,
                       const cf_inside_heads *heads, size_t pos)
{
    double sum = 0;
    size_t n_layer = 0;
    for (uint32_t l = 0; pos <= c->at && l < look->n_layer; l++) {
        const cf_inside_looks *looks = &look->layer[l];
        uint32_t first = heads->is_some ? heads->first : 0;
        uint32_t end = heads->is_some ? heads->end : looks->n_head;
        bool is_in = !heads->is_some || heads->layer == l;
        n_layer += is_in && looks->n_head > 0;
        for (uint32_t h = first; is_in && h < end; h++) {
            sum += (double)looks->w[h * (c->at + (size_t)1) + pos] / (end - first);
        }
    }
    return n_layer > 0 ? sum / (double)n_layer : 0;
}

/* ---- answers ------------------------------------------------------------ */

static bool is_among(const cf_token *v, size_t n, cf_token id)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i] == id) {
            return true;
        }
    }
    return false;
}

/* exp of the logits, added up; the largest logit is in *top. */
static double sum_exp(const float *logits, size_t n, float *top)
{
    double sum = 0;
    *top = logits[0];
    for (size_t i = 1; i < n; i++) {
        *top = logits[i] > *top ? logits[i] : *top;
    }
    for (size_t i = 0; i < n; i++) {
        sum += exp((double)logits[i] - (double)*top);
    }
    return sum;
}

void cf_inside_study_read(cf_inside_answer *out, const cf_inside_case *c, const float *logits)
{
    size_t n = n_vocab_of(c);
    float top;
    double sum = sum_exp(logits, n, &top);
    *out = (cf_inside_answer){.margin = 0};
    for (size_t k = 0; k < TOP; k++) {
        out->top[k] = CF_TOKEN_NONE;
        for (size_t i = 0; i < n; i++) {
            bool is_better = out->top[k] == CF_TOKEN_NONE || logits[i] > logits[out->top[k]];
            if (is_better && !is_among(out->top, k, (cf_token)i)) {
                out->top[k] = (cf_token)i;
            }
        }
        out->p[k] =
            out->top[k] != CF_TOKEN_NONE ? exp((double)logits[out->top[k]] - (double)top) / sum : 0;
    }
    for (size_t i = 0; i < c->n_watch; i++) {
        out->logit[i] = logits[c->watch[i]];
    }
    if (c->a != CF_TOKEN_NONE) {
        out->margin = (double)logits[c->a];
        out->margin -= c->against != CF_TOKEN_NONE ? (double)logits[c->against] : 0;
    }
}

cf_status cf_inside_study_answer(cf_inside_answer *out, cf_inside_case *c,
                                 const cf_changes *changes, cf_error *err)
{
    const cf_inside_ask ask = cf_inside_case_ask(c, changes);
    float *logits = cf_calloc(n_vocab_of(c), sizeof *logits);
    cf_status st = logits != NULL ? cf_inside_run(c->session, &ask, logits, err) : no_memory(err);
    if (st == CF_OK) {
        cf_inside_study_read(out, c, logits);
    }
    cf_free(logits);
    return st;
}

/* ---- hiding ------------------------------------------------------------- */

cf_status cf_inside_study_hide(cf_inside_change **out, cf_inside_case *c,
                               const cf_position_range *range, size_t n, cf_error *err)
{
    cf_inside_change *v = cf_arena_calloc(&c->arena, n + 1, sizeof *v);
    if (v == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        v[i] = (cf_inside_change){.kind = CF_CHANGE_LOOK,
                                  .last_layer = n_layer_of(c) - 1,
                                  .from = range[n - 1].end,
                                  .at = range[i]};
    }
    *out = v;
    return CF_OK;
}

/* ---- patching ----------------------------------------------------------- */

typedef struct mapping {
    cf_inside_map *out;
    cf_inside_case *c, *from;
    size_t *end;              /* [n_row] the first pair after a row's */
    uint32_t *pos, *from_pos; /* [n_pair] */
    size_t n_pair, width;
    cf_patch *patch; /* [n_pair] */
    float *x;        /* [n_pair, width]: from's, of one layer */
} mapping;

static bool is_same_part(const cf_part *a, const cf_part *b)
{
    return a->kind == b->kind && a->index == b->index && a->message == b->message &&
           a->line == b->line && a->col == b->col;
}

/* A row for a part of both; pairs from the ends. */
static void add_row(mapping *m, size_t i, const cf_inside_part *a, const cf_inside_part *b)
{
    size_t n = a->n < b->n ? a->n : b->n;
    for (size_t k = 0; k < n; k++) {
        m->pos[m->n_pair] = a->pos[a->n - n + k];
        m->from_pos[m->n_pair++] = b->pos[b->n - n + k];
    }
    m->out->part[m->out->n_row] = i;
    m->end[m->out->n_row++] = m->n_pair;
}

static void add_rows(mapping *m)
{
    for (size_t i = 0; i < m->c->n_part; i++) {
        for (size_t k = 0; k < m->from->n_part; k++) {
            if (is_same_part(&m->c->part[i].part, &m->from->part[k].part)) {
                add_row(m, i, &m->c->part[i], &m->from->part[k]);
                break;
            }
        }
    }
    const cf_inside_part here = {.pos = &m->c->at, .n = 1}, there = {.pos = &m->from->at, .n = 1};
    add_row(m, m->c->n_part, &here, &there);
}

static cf_status make_map(mapping *m, cf_error *err)
{
    cf_arena *arena = &m->c->arena;
    size_t n = m->c->n_part + 1, n_pos = 1;
    for (size_t i = 0; i < m->c->n_part; i++) {
        n_pos += m->c->part[i].n;
    }
    m->out->part = cf_arena_calloc(arena, n, sizeof *m->out->part);
    m->end = cf_arena_calloc(arena, n, sizeof *m->end);
    m->pos = cf_arena_calloc(arena, n_pos, sizeof *m->pos);
    m->from_pos = cf_arena_calloc(arena, n_pos, sizeof *m->from_pos);
    if (arena->failed) {
        return no_memory(err);
    }
    add_rows(m);
    m->width = cf_inside_width(cf_session_engine(m->c->session));
    m->patch = cf_arena_calloc(arena, m->n_pair, sizeof *m->patch);
    m->x = cf_arena_calloc(arena, m->n_pair * m->width, sizeof *m->x);
    m->out->v = cf_arena_calloc(arena, m->out->n * m->out->n_row, sizeof *m->out->v);
    return arena->failed ? no_memory(err) : CF_OK;
}

/* One row of the map's layer l. */
static cf_status patch_row(const mapping *m, uint32_t l, size_t r, double *margin, cf_error *err)
{
    cf_inside_answer answer;
    size_t first = r > 0 ? m->end[r - 1] : 0;
    for (size_t i = first; i < m->end[r]; i++) {
        m->patch[i] = (cf_patch){l, m->pos[i], m->x + i * m->width};
    }
    const cf_changes all = {.patch = m->patch + first, .n_patch = m->end[r] - first};
    CF_TRY(cf_inside_study_answer(&answer, m->c, &all, err));
    *margin = answer.margin;
    return CF_OK;
}

static cf_status patch_layer(const mapping *m, uint32_t l, double whole, cf_inside_fn fn, void *ud,
                             cf_error *err)
{
    const cf_inside_ask from = cf_inside_case_ask(m->from, NULL);
    cf_inside_map *out = m->out;
    size_t row0 = (l - out->first) * out->n_row;
    CF_TRY(cf_inside_stream(m->from->session, &from, l, m->from_pos, m->n_pair, m->x, err));
    for (size_t r = out->n_row; r-- > 0;) {
        double margin = 0;
        CF_TRY(patch_row(m, l, r, &margin, err));
        out->v[row0 + r] = whole != 0 ? (margin - out->margin) / whole : 0;
        if (fn != NULL) {
            fn(ud, row0 + out->n_row - r, (size_t)out->n * out->n_row);
        }
    }
    return CF_OK;
}

cf_status cf_inside_study_patch(cf_inside_map *out, cf_inside_case *c, cf_inside_case *from,
                                uint32_t layer, cf_inside_fn fn, void *ud, cf_error *err)
{
    mapping m = {.out = out, .c = c, .from = from};
    cf_inside_answer answer;
    *out = (cf_inside_map){.first = layer != UINT32_MAX ? layer : 0,
                           .n = layer != UINT32_MAX ? 1 : n_layer_of(c) + 1};
    if (layer != UINT32_MAX && layer > n_layer_of(c)) {
        return cf_fail(err, CF_EINVAL, "layer %u of %u", layer, n_layer_of(c));
    }
    CF_TRY(make_map(&m, err));
    from->a = c->a;
    from->against = c->against;
    CF_TRY(cf_inside_study_answer(&answer, from, NULL, err));
    out->from_margin = answer.margin;
    CF_TRY(cf_inside_study_answer(&answer, c, NULL, err));
    out->margin = answer.margin;
    for (uint32_t l = 0; l < out->n; l++) {
        CF_TRY(patch_layer(&m, out->first + l, out->from_margin - out->margin, fn, ud, err));
    }
    return CF_OK;
}

/* ---- lens --------------------------------------------------------------- */

static cf_status add_rival(cf_inside_layers *out, cf_inside_case *c, cf_token id, const char *name,
                           size_t n, cf_error *err)
{
    cf_inside_rival *r = NULL;
    for (size_t i = 0; i < out->n_rival; i++) {
        r = out->rival[i].id == id ? &out->rival[i] : r;
    }
    if (id == CF_TOKEN_NONE || (r != NULL && r->name.n > 0)) {
        return CF_OK;
    }
    r = r != NULL ? r : &out->rival[out->n_rival++];
    *r = (cf_inside_rival){.id = id, .name = cf_str_make(name, n)};
    r->rank = cf_arena_calloc(&c->arena, out->n_layer + (size_t)1, sizeof *r->rank);
    r->p = cf_arena_calloc(&c->arena, out->n_layer + (size_t)1, sizeof *r->p);
    return r->rank != NULL && r->p != NULL ? CF_OK : no_memory(err);
}

static cf_status list_rivals(cf_inside_layers *out, cf_inside_case *c, cf_error *err)
{
    cf_special_tokens special = cf_tokenizer_special(c->engine.tok);
    out->rival = cf_arena_calloc(&c->arena, c->n_tool + 4 + c->n_watch, sizeof *out->rival);
    if (out->rival == NULL) {
        return no_memory(err);
    }
    CF_TRY(add_rival(out, c, c->a, "", 0, err));
    CF_TRY(add_rival(out, c, c->against, "", 0, err));
    for (size_t i = 0; i < c->n_watch; i++) {
        CF_TRY(add_rival(out, c, c->watch[i], "", 0, err));
    }
    for (size_t i = 0; cf_inside_case_has_call(c) && i < c->n_tool; i++) {
        const cf_inside_tool *t = &c->tool[i];
        if (t->at == c->at) {
            CF_TRY(add_rival(out, c, t->id, t->name.p, t->name.n, err));
        }
    }
    if (!cf_inside_case_has_call(c)) {
        CF_TRY(add_rival(out, c, c->call_id, "a call", 6, err));
    }
    cf_token end = special.eot != CF_TOKEN_NONE ? special.eot : special.eos;
    return add_rival(out, c, end, "end of the turn", 15, err);
}

typedef struct reading {
    cf_inside_layers *out;
    size_t n_vocab;
} reading;

static void on_layer(void *ud, uint32_t l, const float *logits)
{
    const reading *r = ud;
    cf_inside_layers *out = r->out;
    float top;
    double sum = sum_exp(logits, r->n_vocab, &top);
    for (size_t i = 0; i < r->n_vocab && logits[out->top[l]] < top; i++) {
        out->top[l] = logits[i] == top ? (cf_token)i : out->top[l];
    }
    out->p[l] = 1 / sum;
    for (size_t k = 0; k < out->n_rival; k++) {
        cf_inside_rival *v = &out->rival[k];
        v->p[l] = exp((double)logits[v->id] - (double)top) / sum;
        for (size_t i = 0; i < r->n_vocab; i++) {
            v->rank[l] += logits[i] > logits[v->id];
        }
    }
}

cf_status cf_inside_study_lens(cf_inside_layers *out, cf_inside_case *c, cf_error *err)
{
    const cf_inside_ask ask = cf_inside_case_ask(c, NULL);
    uint32_t n = n_layer_of(c);
    *out = (cf_inside_layers){.n_layer = n};
    out->top = cf_arena_calloc(&c->arena, n + (size_t)1, sizeof *out->top);
    out->p = cf_arena_calloc(&c->arena, n + (size_t)1, sizeof *out->p);
    if (out->top == NULL || out->p == NULL) {
        return no_memory(err);
    }
    CF_TRY(list_rivals(out, c, err));
    reading r = {out, n_vocab_of(c)};
    CF_TRY(cf_inside_lens(c->session, &ask, on_layer, &r, err));
    for (size_t k = 0; k < out->n_rival; k++) {
        cf_inside_rival *v = &out->rival[k];
        v->turned = UINT32_MAX;
        for (uint32_t l = n + 1; l-- > 0 && v->rank[l] == 0;) {
            v->turned = l;
        }
    }
    return CF_OK;
}
