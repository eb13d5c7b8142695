/*
 * sampler_trace.c - explains a draw, and describes the options in words.
 */
#include <math.h>

#include "core/sample/sampler_chain.h"

const char *cf_removed_by_name(cf_removed_by why)
{
    switch (why) {
    case CF_KEPT:
        return "kept";
    case CF_REMOVED_SUPPRESS:
        return "suppress";
    case CF_REMOVED_CONSTRAINT:
        return "constraint";
    case CF_REMOVED_NGRAM:
        return "no-repeat";
    case CF_REMOVED_TOP_K:
        return "top-k";
    case CF_REMOVED_TOP_P:
        return "top-p";
    case CF_REMOVED_MIN_P:
        return "min-p";
    case CF_REMOVED_TEMPERATURE:
        return "temperature";
    }
    return "";
}

static bool has_bit(const uint32_t *set, cf_token id)
{
    return (set[id / 32] >> (id % 32) & 1) != 0;
}

void cf_trace_step(cf_chain *chain, const char *name, size_t n)
{
    if (chain->draw != NULL && chain->draw->n_step < CF_CHAIN_MAX) {
        chain->draw->step[chain->draw->n_step++] = (cf_chain_step){name, (uint32_t)n};
    }
}

void cf_trace_step_count(cf_chain *chain, const cf_sampler *s, const char *name)
{
    if (chain->draw == NULL) {
        return;
    }
    size_t n = 0;
    for (size_t i = 0; i < s->n_vocab; i++) {
        if (chain->post[i] > -INFINITY &&
            (chain->allowed == NULL || has_bit(chain->allowed, (cf_token)i))) {
            n++;
        }
    }
    cf_trace_step(chain, name, n);
}

static bool is_suppressed(const cf_sampler *s, cf_token id)
{
    for (size_t i = 0; i < s->o.n_suppress; i++) {
        if (s->suppress[i] == id) {
            return true;
        }
    }
    for (size_t i = 0; i < s->o.n_bias; i++) {
        if (s->bias[i].id == id && s->bias[i].bias == -INFINITY) {
            return true;
        }
    }
    return false;
}

/* In the order of the chain: the first step that removed it is the reason. */
static cf_removed_by reason(const cf_chain *c, const cf_sampler *s, cf_token id)
{
    if (is_suppressed(s, id)) {
        return CF_REMOVED_SUPPRESS;
    }
    if (c->allowed != NULL && !has_bit(c->allowed, id)) {
        return CF_REMOVED_CONSTRAINT;
    }
    if (s->banned != NULL && has_bit(s->banned, id)) {
        return CF_REMOVED_NGRAM;
    }
    if (s->is_greedy) {
        return id == c->id             ? CF_KEPT
               : s->o.temperature == 0 ? CF_REMOVED_TEMPERATURE
                                       : CF_REMOVED_TOP_K;
    }
    cf_cand cand = {c->post[id], id};
    if (c->has_cut_k && cf_cand_is_better(c->cut_k, cand)) {
        return CF_REMOVED_TOP_K;
    }
    if (c->has_cut_p && cf_cand_is_better(c->cut_p, cand)) {
        return CF_REMOVED_TOP_P;
    }
    return cand.logit < c->least ? CF_REMOVED_MIN_P : CF_KEPT;
}

static void describe(cf_candidate *out, const cf_chain *c, const cf_sampler *s, cf_token id,
                     float best_raw, double sum_raw)
{
    *out = (cf_candidate){
        .id = id,
        .logit = c->raw[id],
        .logit_post = c->post[id],
        .removed_by = reason(c, s, id),
        .p_raw = (float)(cf_cand_weight(c->raw[id], best_raw) / sum_raw),
    };
    if (out->removed_by == CF_REMOVED_CONSTRAINT) {
        out->logit_post = -INFINITY;
    }
    if (out->removed_by != CF_KEPT) {
        return;
    }
    if (s->is_greedy) {
        out->p_post = 1;
        return;
    }
    /* The same expression as in the draw. */
    float weight = c->post[id] == c->best ? 1.0f : expf((c->post[id] - c->best) / s->o.temperature);
    out->p_post = (float)(weight / c->sum);
}

/* Sum of the raw weights; entropy in bits and the mass that is allowed. */
static double raw_distribution(const cf_chain *c, const cf_sampler *s, float best)
{
    double sum = 0;
    double moment = 0; /* sum of weight * (logit - best) */
    double allowed = 0;
    for (size_t i = 0; i < s->n_vocab; i++) {
        double w = cf_cand_weight(c->raw[i], best);
        if (w > 0) {
            sum += w;
            moment += c->raw[i] == best ? 0 : w * ((double)c->raw[i] - best);
            if (c->allowed == NULL || has_bit(c->allowed, (cf_token)i)) {
                allowed += w;
            }
        }
    }
    const double bits_per_nat = 1.4426950408889634;
    c->draw->entropy_bits = (float)((log(sum) - moment / sum) * bits_per_nat);
    c->draw->log_z = (float)(best + log(sum));
    c->draw->allowed_mass = c->allowed == NULL ? 1 : (float)(allowed / sum);
    return sum;
}

void cf_trace_finish(const cf_chain *c, const cf_sampler *s, size_t n_top)
{
    cf_draw *d = c->draw;
    cf_cand top[CF_TRACE_TOP_MAX];
    if (n_top > CF_TRACE_TOP_MAX) {
        n_top = CF_TRACE_TOP_MAX;
    }
    float best = c->raw[cf_cand_best(c->raw, s->n_vocab)];
    double sum = raw_distribution(c, s, best);
    d->n_top = cf_cand_top(top, n_top, c->raw, s->n_vocab);
    for (size_t i = 0; i < d->n_top; i++) {
        describe(&d->top[i], c, s, top[i].id, best, sum);
        d->top[i].rank = (uint32_t)i + 1;
    }
    describe(&d->chosen, c, s, c->id, best, sum);
    d->chosen.rank =
        (uint32_t)cf_cand_n_better(c->raw, s->n_vocab, (cf_cand){c->raw[c->id], c->id}) + 1;
    d->id = c->id;
    d->r = c->r;
    d->n_draw = s->n_draw;
}

/* ---- the options in words ----------------------------------------------- */

static void describe_penalties(const cf_sampler *s, cf_buf *out)
{
    const cf_penalties *p = &s->penalties;
    if (p->repetition > 1) {
        cf_buf_addf(out, ", repetition penalty %g", (double)p->repetition);
    }
    if (p->presence != 0) {
        cf_buf_addf(out, ", presence penalty %g", (double)p->presence);
    }
    if (p->frequency != 0) {
        cf_buf_addf(out, ", frequency penalty %g", (double)p->frequency);
    }
    if (cf_penalties_are_on(p) && p->window != 0) {
        cf_buf_addf(out, " over the last %u tokens", (unsigned)p->window);
    }
    const cf_sampling *o = &s->o;
    if (o->no_repeat_ngram != 0) {
        cf_buf_addf(out, ", no repeated %u-gram", (unsigned)o->no_repeat_ngram);
        if (o->no_repeat_window != 0) {
            uint32_t w = o->no_repeat_window;
            w = w < o->no_repeat_ngram ? o->no_repeat_ngram : w;
            cf_buf_addf(out, " of the last %u tokens", (unsigned)w);
        }
    }
    if (o->n_bias != 0) {
        cf_buf_addf(out, ", bias on %zu token%s", o->n_bias, o->n_bias == 1 ? "" : "s");
    }
    if (o->n_suppress != 0) {
        cf_buf_addf(out, ", %zu token%s suppressed", o->n_suppress, o->n_suppress == 1 ? "" : "s");
    }
}

/* Lists the options that have no effect on a greedy choice. */
static void describe_unused(const cf_sampling *o, cf_buf *out)
{
    const char *join = " (no effect: ";
    if (o->temperature != 0) {
        cf_buf_addf(out, "%stemperature %g", join, (double)o->temperature);
        join = ", ";
    }
    if (o->top_k > 1) {
        cf_buf_addf(out, "%stop_k %u", join, (unsigned)o->top_k);
        join = ", ";
    }
    if (cf_top_p_is_on(o)) {
        cf_buf_addf(out, "%stop_p %g", join, (double)o->top_p);
        join = ", ";
    }
    if (o->min_p > 0) {
        cf_buf_addf(out, "%smin_p %g", join, (double)o->min_p);
        join = ", ";
    }
    if (join[0] == ',') {
        cf_buf_addc(out, ')');
    }
}

void cf_sampler_describe(const cf_sampler *s, cf_buf *out)
{
    const cf_sampling *o = &s->o;
    if (s->is_greedy) {
        cf_buf_addf(out, "greedy because %s", o->temperature == 0 ? "temperature=0" : "top_k=1");
        describe_unused(o, out);
    } else {
        cf_buf_addf(out, "temperature %g", (double)o->temperature);
        if (o->top_k != 0) {
            cf_buf_addf(out, ", top_k %u", (unsigned)o->top_k);
        }
        if (cf_top_p_is_on(o)) {
            cf_buf_addf(out, ", top_p %g", (double)o->top_p);
        }
        if (o->min_p > 0) {
            cf_buf_addf(out, ", min_p %g", (double)o->min_p);
        }
        cf_buf_addf(out, ", seed %llu", (unsigned long long)o->seed);
    }
    describe_penalties(s, out);
}
