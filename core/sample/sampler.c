/*
 * sampler.c - draws a token: penalties, filters, temperature, choice.
 *
 * Place in the flow:  session's logits, constraint's mask --> [sampler] -->
 * the next token.
 *
 *   1. Between draws count[] and banned[] are zero.
 *   2. A draw without chain->draw never counts, ranks or explains anything:
 *      all of that is in sampler_trace.c and needs chain->draw.
 *   3. Explaining a draw never changes the choice.
 */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/sample/rng.h"
#include "core/sample/sample_filters.h"
#include "core/sample/sampler_chain.h"

/* ---- making one --------------------------------------------------------- */

static cf_status check_range(const char *name, float v, float min, float max, cf_error *err)
{
    if (isnan(v) || v < min || v > max) {
        return cf_fail(err, CF_EINVAL, "%s: %g is not in the range %g to %g", name, (double)v,
                       (double)min, (double)max);
    }
    return CF_OK;
}

static cf_status check_options(const cf_sampling *o, size_t n_vocab, cf_error *err)
{
    const float any = 1e30f;
    CF_TRY(check_range("temperature", o->temperature, 0, any, err));
    CF_TRY(check_range("top_p", o->top_p, 0, any, err));
    CF_TRY(check_range("min_p", o->min_p, 0, 1, err));
    CF_TRY(check_range("repetition_penalty", o->repetition_penalty, -any, any, err));
    CF_TRY(check_range("presence_penalty", o->presence_penalty, -any, any, err));
    CF_TRY(check_range("frequency_penalty", o->frequency_penalty, -any, any, err));
    for (size_t i = 0; i < o->n_bias; i++) {
        cf_logit_bias b = o->bias[i];
        if (b.id < 0 || (size_t)b.id >= n_vocab) {
            return cf_fail(err, CF_EINVAL, "logit bias: token %d is outside the vocabulary",
                           (int)b.id);
        }
        if (isnan(b.bias) || b.bias == INFINITY) {
            return cf_fail(err, CF_EINVAL, "logit bias: token %d: %g is not a bias", (int)b.id,
                           (double)b.bias);
        }
    }
    return CF_OK;
}

/* Copies the caller's lists, without ids outside the vocabulary. */
static bool copy_lists(cf_sampler *s)
{
    const cf_sampling *o = &s->o;
    s->bias = cf_calloc(o->n_bias, sizeof *s->bias);
    s->suppress = cf_calloc(o->n_suppress, sizeof *s->suppress);
    if (s->bias == NULL || s->suppress == NULL) {
        return false;
    }
    if (o->n_bias > 0) {
        memcpy(s->bias, o->bias, o->n_bias * sizeof *s->bias);
    }
    size_t n = 0;
    for (size_t i = 0; i < o->n_suppress; i++) {
        cf_token id = o->suppress[i];
        if (id >= 0 && (size_t)id < s->n_vocab) {
            s->suppress[n++] = id;
        }
    }
    s->o.bias = s->bias;
    s->o.suppress = s->suppress;
    s->o.n_suppress = n;
    return true;
}

static bool allocate_scratch(cf_sampler *s)
{
    bool ok = true;
    if (s->has_edits || !s->is_greedy) {
        s->post = cf_calloc(s->n_vocab, sizeof *s->post);
        ok = ok && s->post != NULL;
    }
    if (!s->is_greedy) {
        s->cap = s->o.top_k != 0 && s->o.top_k < s->n_vocab ? s->o.top_k : s->n_vocab;
        s->cand = cf_calloc(s->cap, sizeof *s->cand);
        s->weight = cf_calloc(s->cap, sizeof *s->weight);
        ok = ok && s->cand != NULL && s->weight != NULL;
    }
    if (cf_penalties_are_on(&s->penalties)) {
        s->count = cf_calloc(s->n_vocab, sizeof *s->count);
        ok = ok && s->count != NULL;
    }
    if (s->o.no_repeat_ngram != 0) {
        s->banned = cf_calloc(s->n_vocab / 32 + 1, sizeof *s->banned);
        ok = ok && s->banned != NULL;
    }
    return ok;
}

cf_sampling cf_sampling_default(void)
{
    return (cf_sampling){.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f};
}

cf_status cf_sampler_new(cf_sampler **out, const cf_sampling *options, size_t n_vocab,
                         cf_error *err)
{
    if (n_vocab == 0 || n_vocab > INT32_MAX) {
        return cf_fail(err, CF_EINVAL, "a vocabulary of %zu tokens", n_vocab);
    }
    CF_TRY(check_options(options, n_vocab, err));
    cf_sampler *s = cf_calloc(1, sizeof *s);
    if (s == NULL) {
        return cf_oom_for(err, "a sampler");
    }
    s->o = *options;
    s->n_vocab = n_vocab;
    s->penalties = (cf_penalties){
        .repetition = options->repetition_penalty > 1 ? options->repetition_penalty : 1,
        .presence = options->presence_penalty,
        .frequency = options->frequency_penalty,
        .window = options->penalty_window,
    };
    s->is_greedy = options->temperature == 0 || options->top_k == 1;
    bool ok = copy_lists(s);
    s->has_edits = s->o.n_bias > 0 || s->o.n_suppress > 0 || cf_penalties_are_on(&s->penalties) ||
                   options->no_repeat_ngram != 0;
    if (!ok || !allocate_scratch(s)) {
        cf_sampler_free(s);
        return cf_fail(err, CF_ENOMEM, "out of memory for a sampler over %zu tokens", n_vocab);
    }
    *out = s;
    return CF_OK;
}

void cf_sampler_free(cf_sampler *s)
{
    if (s == NULL) {
        return;
    }
    cf_free(s->bias);
    cf_free(s->suppress);
    cf_free(s->post);
    cf_free(s->cand);
    cf_free(s->weight);
    cf_free(s->count);
    cf_free(s->banned);
    cf_free(s);
}

void cf_sampler_seek(cf_sampler *s, uint64_t n_draw)
{
    s->n_draw = n_draw;
}

/* ---- a draw ------------------------------------------------------------- */

static void suppress(cf_sampler *s)
{
    for (size_t i = 0; i < s->o.n_bias; i++) {
        s->post[s->bias[i].id] += s->bias[i].bias;
    }
    for (size_t i = 0; i < s->o.n_suppress; i++) {
        s->post[s->suppress[i]] = -INFINITY;
    }
}

static void mask(cf_sampler *s, const uint32_t *allowed)
{
    for (size_t i = 0; i < s->n_vocab; i += 32) {
        uint32_t bits = allowed[i / 32];
        if (bits == UINT32_MAX) {
            continue;
        }
        size_t end = s->n_vocab - i < 32 ? s->n_vocab : i + 32;
        for (size_t j = i; j < end; j++, bits >>= 1) {
            if ((bits & 1) == 0) {
                s->post[j] = -INFINITY;
            }
        }
    }
}

/* The steps that work on logits in place.  A greedy choice that needs none
 * of them reads the model's logits directly. */
static void edit(cf_sampler *s, cf_chain *c, const cf_token *past, size_t n_past)
{
    if (!s->has_edits && (c->allowed == NULL || s->is_greedy)) {
        if (c->allowed != NULL) {
            cf_trace_step_count(c, s, "constraint");
        }
        return;
    }
    const uint32_t *allowed = c->allowed;
    memcpy(s->post, c->raw, s->n_vocab * sizeof *s->post);
    c->post = s->post;
    if (s->o.n_bias > 0 || s->o.n_suppress > 0) {
        suppress(s);
        c->allowed = NULL; /* not yet: the count is of this step */
        cf_trace_step_count(c, s, "suppress");
        c->allowed = allowed;
    }
    if (allowed != NULL) {
        mask(s, allowed);
        cf_trace_step_count(c, s, "constraint");
    }
    if (cf_penalties_are_on(&s->penalties)) {
        cf_penalties_apply(&s->penalties, s->post, s->n_vocab, past, n_past, s->count);
        cf_trace_step_count(c, s, "penalties");
    }
    if (s->o.no_repeat_ngram != 0) {
        cf_no_repeat_apply(s->o.no_repeat_ngram, s->o.no_repeat_window, s->post, s->n_vocab, past,
                           n_past, c->draw != NULL ? s->banned : NULL);
        cf_trace_step_count(c, s, "no-repeat");
    }
}

/* Top-p without top-k: the number of tokens it needs is not known before, so
 * ever larger heads of the order are tried. */
static void top_p_of_all(cf_sampler *s, cf_chain *c)
{
    double total = cf_filter_sum_all(c->post, s->n_vocab, c->best);
    for (size_t k = 64;; k *= 8) {
        if (k > s->cap) {
            k = s->cap;
        }
        size_t n = cf_cand_top(s->cand, k, c->post, s->n_vocab);
        bool is_enough;
        c->n_left = cf_filter_top_p(s->cand, n, s->o.top_p, total, &is_enough);
        if (is_enough || k == s->cap) {
            return;
        }
    }
}

/* Leaves the survivors of top-k, top-p and min-p in s->cand; there is at
 * least one candidate. */
static void filter(cf_sampler *s, cf_chain *c)
{
    const cf_sampling *o = &s->o;
    bool is_sorted = true;
    if (o->top_k != 0) {
        c->n_left = cf_cand_top(s->cand, s->cap, c->post, s->n_vocab);
        c->cut_k = s->cand[c->n_left - 1];
        c->has_cut_k = true;
        cf_trace_step(c, "top-k", c->n_left);
        if (cf_top_p_is_on(o)) {
            double total = cf_filter_sum(s->cand, c->n_left, c->best);
            bool is_enough;
            c->n_left = cf_filter_top_p(s->cand, c->n_left, o->top_p, total, &is_enough);
        }
    } else if (cf_top_p_is_on(o)) {
        top_p_of_all(s, c);
    } else {
        is_sorted = false;
    }
    if (cf_top_p_is_on(o)) {
        c->cut_p = s->cand[c->n_left - 1];
        c->has_cut_p = true;
        cf_trace_step(c, "top-p", c->n_left);
    }
    if (o->min_p > 0) {
        c->least = cf_filter_min_p_logit(c->best, o->min_p);
    }
    if (!is_sorted) {
        c->n_left = cf_cand_all(s->cand, c->post, s->n_vocab, c->least);
    }
    while (is_sorted && c->n_left > 1 && s->cand[c->n_left - 1].logit < c->least) {
        c->n_left--;
    }
    if (o->min_p > 0) {
        cf_trace_step(c, "min-p", c->n_left);
    }
}

static void choose(cf_sampler *s, cf_chain *c)
{
    filter(s, c);
    c->sum = cf_filter_temper(s->weight, s->cand, c->n_left, c->best, s->o.temperature);
    c->r = cf_rng_uniform(s->o.seed, s->n_draw);
    c->id = s->cand[cf_filter_pick(s->weight, c->n_left, c->sum, c->r)].id;
    if (s->o.temperature != 1.0f) {
        cf_trace_step(c, "temperature", c->n_left);
    }
}

/* Logits, past and mask have three different owners, so they stay arguments.
 * NOLINTNEXTLINE(readability-function-size) */
cf_status cf_sampler_draw(cf_sampler *s, const float *logits, const cf_token *past, size_t n_past,
                          const uint32_t *allowed, size_t n_top, cf_token *out, cf_draw *draw,
                          cf_error *err)
{
    cf_chain c = {
        .raw = logits, .post = logits, .allowed = allowed, .least = -INFINITY, .draw = draw};
    if (draw != NULL) {
        draw->n_step = 0;
        cf_trace_step_count(&(cf_chain){.post = logits, .draw = draw}, s, "vocabulary");
    }
    edit(s, &c, past, n_past);
    cf_token best = allowed != NULL && c.post == logits
                        ? cf_cand_best_masked(logits, s->n_vocab, allowed)
                        : cf_cand_best(c.post, s->n_vocab);
    if (best == CF_TOKEN_NONE) {
        if (draw != NULL && s->banned != NULL) {
            memset(s->banned, 0, (s->n_vocab / 32 + 1) * sizeof *s->banned);
        }
        return cf_fail(err, CF_ELIMIT, "no token is left to choose from");
    }
    c.best = c.post[best];
    c.id = best;
    if (!s->is_greedy) {
        choose(s, &c);
    } else {
        cf_trace_step(&c, s->o.temperature == 0 ? "temperature" : "top-k", 1);
    }
    if (draw != NULL) {
        cf_trace_finish(&c, s, n_top);
        if (s->banned != NULL) {
            memset(s->banned, 0, (s->n_vocab / 32 + 1) * sizeof *s->banned);
        }
    }
    s->n_draw++;
    *out = c.id;
    return CF_OK;
}
