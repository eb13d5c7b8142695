/*
 * sweep_output.c - writes a sweep as JSON, text and JUnit's XML.
 */
#include "tui/study/sweep/sweep_output.h"

#include <math.h>

#include "core/base/junit.h"
#include "core/base/safe_text.h"
#include "core/json/json_writer.h"
#include "tui/study/sweep/sweep_agree.h"

/* ---- JSON --------------------------------------------------------------- */

/* A name, or null for an axis that is not in the plan. */
static void put_name(cf_jw *w, const char *key, cf_str name)
{
    if (name.n > 0) {
        cf_jw_str(w, key, name);
    } else {
        cf_jw_null(w, key);
    }
}

static void put_answers(cf_jw *w, const cf_sweep *s, const cf_sweep_cell *c)
{
    bool has_value = false, has_why = false;
    cf_jw_object(w, "checks");
    for (size_t k = 0; k < s->plan->n_check; k++) {
        const cf_sweep_answer *a = &c->answer[k];
        if (a->is_absent) {
            continue;
        }
        cf_jw_key(w, s->plan->check[k].name);
        if (a->is_known) {
            cf_jw_bool(w, NULL, a->passes);
        } else {
            cf_jw_null(w, NULL);
        }
        has_value = has_value || a->has_value;
        has_why = has_why || (a->why != NULL && a->why[0] != '\0');
    }
    cf_jw_end(w);
    if (has_value) {
        cf_jw_object(w, "values");
        for (size_t k = 0; k < s->plan->n_check; k++) {
            if (c->answer[k].has_value) {
                cf_jw_key(w, s->plan->check[k].name);
                cf_jw_double(w, NULL, c->answer[k].value);
            }
        }
        cf_jw_end(w);
    }
    if (has_why) {
        cf_jw_object(w, "why");
        for (size_t k = 0; k < s->plan->n_check; k++) {
            const char *why = c->answer[k].why;
            if (why != NULL && why[0] != '\0') {
                cf_jw_key(w, s->plan->check[k].name);
                cf_jw_text(w, NULL, why);
            }
        }
        cf_jw_end(w);
    }
}

void cf_sweep_put_cell(cf_buf *out, const cf_sweep *s, size_t cell)
{
    const cf_sweep_cell *c = &s->cell[cell];
    const cf_sweep_item *item = &s->plan->item[c->item];
    cf_buf reply = CF_BUF_INIT, line = CF_BUF_INIT;
    cf_jw w;
    cf_sweep_reply(c, &reply);
    cf_jw_init(&w, &line);
    cf_jw_object(&w, NULL);
    cf_jw_str(&w, "prompt", item->name);
    put_name(&w, "system", cf_sweep_system_name(s, c));
    put_name(&w, "template", cf_sweep_template_name(s, c));
    cf_jw_str(&w, "model", cf_sweep_model_name(s, c));
    if (s->plan->n_adapter > 0) {
        put_name(&w, "adapter", cf_sweep_adapter_name(s, c));
    }
    if (s->plan->n_wording > 0) {
        put_name(&w, "wording", cf_sweep_wording_name(s, c));
    }
    cf_jw_str(&w, "sampler", cf_sweep_sampler_name(s, c));
    if (cf_sweep_sampler_of(s, c)->n_repeat > 1) {
        cf_jw_uint(&w, "repeat", c->repeat);
    }
    if (c->result != NULL) {
        cf_jw_buf(&w, "reply", &reply);
        put_name(&w, "stop", cf_json_get_str(c->result, "stop"));
        const json_t *calls = json_object_get(json_object_get(c->result, "message"), "tool_calls");
        if (json_array_size(calls) > 0) {
            cf_jw_json(&w, "tool_calls", calls);
        }
    } else {
        cf_jw_null(&w, "reply");
        cf_jw_text(&w, "error", c->error != NULL ? c->error : "out of memory");
    }
    put_answers(&w, s, c);
    cf_jw_bool(&w, "reused", c->is_reused);
    if (!cf_uuid_is_nil(item->conversation)) {
        cf_jw_uuid(&w, "conversation", item->conversation);
    }
    cf_jw_end(&w);
    out->failed = out->failed || cf_jw_finish(&w, NULL) != CF_OK;
    cf_buf_add(out, cf_buf_cstr(&line), line.n);
    cf_buf_addc(out, '\n');
    cf_buf_deinit(&line);
    cf_buf_deinit(&reply);
}

static void put_number(cf_jw *w, const char *key, double value, bool is_known)
{
    if (is_known) {
        cf_jw_double(w, key, value);
    } else {
        cf_jw_null(w, key);
    }
}

static void put_versus(cf_jw *w, const cf_sweep_versus *v)
{
    const cf_paired *f = &v->found;
    cf_jw_object(w, NULL);
    cf_jw_text(w, "axis", v->axis);
    cf_jw_str(w, "a", v->a);
    cf_jw_str(w, "b", v->b);
    cf_jw_uint(w, "prompts", f->n);
    cf_jw_uint(w, "better", f->better);
    cf_jw_uint(w, "worse", f->worse);
    cf_jw_uint(w, "same", f->same);
    put_number(w, "mean", f->mean, f->n > 0);
    put_number(w, "low", f->low, f->has_interval);
    put_number(w, "high", f->high, f->has_interval);
    put_number(w, "p", f->p, f->n > 0);
    cf_jw_text(w, "verdict", v->is_clear ? "clear" : "open");
    if (v->needed > 0) {
        cf_jw_uint(w, "needed", v->needed);
    } else {
        cf_jw_null(w, "needed");
    }
    if (v->differ != CF_SWEEP_NONE) {
        cf_jw_uint(w, "differ", v->differ);
    }
    cf_jw_uint(w, "missing", v->missing);
    cf_jw_end(w);
}

void cf_sweep_put_compare(cf_jw *w, const cf_sweep_versus *v, size_t n)
{
    cf_jw_array(w, "compare");
    for (size_t i = 0; i < n; i++) {
        put_versus(w, &v[i]);
    }
    cf_jw_end(w);
}

void cf_sweep_put_end(cf_buf *out, const cf_sweep *s, const cf_sweep_versus *v, size_t n)
{
    cf_buf line = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &line);
    cf_jw_object(&w, NULL);
    cf_sweep_put_compare(&w, v, n);
    cf_sweep_put_agreements_json(&w, s);
    cf_jw_uint(&w, "cells", s->n);
    cf_jw_uint(&w, "reused", s->n_reused);
    cf_jw_uint(&w, "failed", s->n_failed);
    cf_jw_uint(&w, "unpassed", cf_sweep_n_unpassed(s));
    cf_jw_end(&w);
    out->failed = out->failed || cf_jw_finish(&w, NULL) != CF_OK;
    cf_buf_add(out, cf_buf_cstr(&line), line.n);
    cf_buf_addc(out, '\n');
    cf_buf_deinit(&line);
}

size_t cf_sweep_n_unpassed(const cf_sweep *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        n += s->cell[i].result != NULL && !cf_sweep_passes(s, &s->cell[i]);
    }
    return n;
}

/* ---- text --------------------------------------------------------------- */

void cf_sweep_put_versus(cf_buf *out, const cf_sweep_versus *v)
{
    const cf_paired *f = &v->found;
    cf_buf_addf(out, "%s ", v->axis);
    cf_safe_line(out, v->b.p, v->b.n);
    cf_buf_adds(out, " against ");
    cf_safe_line(out, v->a.p, v->a.n);
    cf_buf_addf(out, ": better on %zu, worse on %zu, the same on %zu", f->better, f->worse,
                f->same);
    if (f->has_interval) {
        cf_buf_addf(out, " (%+.3f, 95%% from %+.3f to %+.3f)", f->mean, f->low, f->high);
    } else if (f->n > 0) {
        cf_buf_addf(out, " (%+.3f, p %.3f by the sign test)", f->mean, f->p);
    }
    if (f->n > 0) {
        cf_buf_adds(out, v->is_clear ? ", clear" : ", open");
    }
    if (v->needed > 0) {
        cf_buf_addf(out, ": about %zu prompts needed", v->needed);
    }
    if (v->differ != CF_SWEEP_NONE) {
        cf_buf_addf(out, "; %zu replies differ", v->differ);
    }
    if (v->missing > 0) {
        cf_buf_addf(out, "; %zu pairs are incomplete", v->missing);
    }
}

/* Whether a cell begins another row: cells of one row differ in prompts and
 * repeats only. */
static bool begins_row(const cf_sweep *s, size_t i)
{
    return s->cell[i].item == 0 && s->cell[i].repeat == 0;
}

size_t cf_sweep_row_length(const cf_sweep *s, size_t first)
{
    return s->plan->n_item * s->plan->sampler[s->cell[first].sampler].n_repeat;
}

void cf_sweep_put_row_name(cf_buf *out, const cf_sweep *s, const cf_sweep_cell *c)
{
    const cf_str names[] = {cf_sweep_model_name(s, c),    cf_sweep_adapter_name(s, c),
                            cf_sweep_template_name(s, c), cf_sweep_system_name(s, c),
                            cf_sweep_wording_name(s, c),  cf_sweep_sampler_name(s, c)};
    bool has_one = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].n > 0 && (i < 5 || s->plan->n_sampler > 1)) {
            cf_buf_adds(out, has_one ? ", " : "");
            cf_safe_line(out, names[i].p, names[i].n);
            has_one = true;
        }
    }
}

cf_sweep_rate cf_sweep_rate_of(const cf_sweep *s, size_t first, size_t check)
{
    cf_sweep_rate r = {.n = 0};
    const size_t n_item = s->plan->n_item, n = cf_sweep_row_length(s, first);
    for (size_t item = 0; item < n_item; item++) {
        size_t passed = 0, known = 0;
        for (size_t i = first + item; i < first + n; i += n_item) {
            const cf_sweep_answer *a = &s->cell[i].answer[check];
            passed += a->is_known && a->passes;
            known += a->is_known;
            r.sum_value += a->has_value ? a->value : 0;
            r.n_value += a->has_value;
        }
        r.passed += known > 0 ? (double)passed / (double)known : 0;
        r.n += known > 0;
    }
    return r;
}

static void put_rate(cf_buf *out, const cf_sweep *s, size_t first, size_t check)
{
    const cf_sweep_rate r = cf_sweep_rate_of(s, first, check);
    const cf_str name = s->plan->check[check].name;
    double low, high;
    cf_buf_addf(out, "  %5.6g of %zu  ", r.passed, r.n);
    cf_safe_line(out, name.p, name.n);
    if (r.n > 0) {
        cf_paired_wilson(r.passed, r.n, &low, &high);
        cf_buf_addf(out, ", 95%% from %.2f to %.2f", low, high);
    }
    if (r.n_value > 0) {
        cf_buf_addf(out, ", mean %.3f", r.sum_value / (double)r.n_value);
    }
    cf_buf_addc(out, '\n');
}

static void put_row(cf_buf *out, const cf_sweep *s, size_t first)
{
    const size_t n = cf_sweep_row_length(s, first);
    size_t n_failed = 0;
    cf_sweep_put_row_name(out, s, &s->cell[first]);
    cf_buf_addc(out, '\n');
    for (size_t k = 0; k < s->plan->n_check; k++) {
        put_rate(out, s, first, k);
    }
    for (size_t i = first; i < first + n; i++) {
        n_failed += s->cell[i].result == NULL;
    }
    if (n_failed > 0) {
        cf_buf_addf(out, "  %zu of %zu failed\n", n_failed, n);
    }
}

void cf_sweep_put_table(cf_buf *out, const cf_sweep *s, const cf_sweep_versus *v, size_t n)
{
    for (size_t i = 0; i < s->n; i++) {
        if (begins_row(s, i)) {
            put_row(out, s, i);
        }
    }
    cf_sweep_put_agreements(out, s);
    for (size_t i = 0; i < n; i++) {
        cf_sweep_put_versus(out, &v[i]);
        cf_buf_addc(out, '\n');
    }
    cf_buf_addf(out, "%zu cells, %zu of them known before, %zu failed", s->n, s->n_reused,
                s->n_failed);
    if (n > 1) {
        cf_buf_addf(out, "; %zu comparisons, clear at 5 %% for all of an axis together", n);
    }
    cf_buf_addc(out, '\n');
}

/* ---- JUnit -------------------------------------------------------------- */

/* One failure with all checks that failed. */
static void put_failure(cf_junit *j, const cf_sweep *s, const cf_sweep_cell *c)
{
    cf_buf reply = CF_BUF_INIT, message = CF_BUF_INIT;
    cf_str first = cf_str_make("", 0);
    for (size_t k = 0; k < s->plan->n_check; k++) {
        const cf_sweep_answer *a = &c->answer[k];
        cf_str check = s->plan->check[k].name;
        if (a->passes || a->is_absent) {
            continue;
        }
        first = message.n == 0 ? check : first;
        cf_buf_adds(&message, message.n == 0 ? "" : "; ");
        cf_buf_add(&message, check.p, check.n);
        cf_buf_addf(&message, ": %s", a->why != NULL ? a->why : "");
    }
    if (message.n > 0) {
        cf_sweep_reply(c, &reply);
        cf_junit_outcome(j, "failure", first, cf_buf_str(&message), cf_buf_str(&reply));
    }
    j->out->failed = j->out->failed || reply.failed || message.failed;
    cf_buf_deinit(&reply);
    cf_buf_deinit(&message);
}

static void put_case(cf_junit *j, const cf_sweep *s, const cf_sweep_cell *c, cf_str suite)
{
    const json_t *ms = json_object_get(c->result, "ms");
    const cf_str none = cf_str_make("", 0);
    cf_buf name = CF_BUF_INIT;
    cf_buf_add(&name, s->plan->item[c->item].name.p, s->plan->item[c->item].name.n);
    if (s->plan->sampler[c->sampler].n_repeat > 1) {
        cf_buf_addf(&name, " (%zu)", c->repeat + 1);
    }
    cf_junit_case(j, suite, cf_buf_str(&name), (double)json_integer_value(ms) / 1000);
    j->out->failed = j->out->failed || name.failed;
    cf_buf_deinit(&name);
    if (c->result == NULL) {
        const char *why = c->error != NULL ? c->error : "out of memory";
        cf_junit_outcome(j, "error", none, cf_str_from(why), none);
    } else {
        put_failure(j, s, c);
    }
    cf_junit_case_end(j);
}

static void put_suite(cf_junit *j, const cf_sweep *s, size_t first)
{
    cf_buf name = CF_BUF_INIT;
    const size_t n = cf_sweep_row_length(s, first);
    size_t n_failures = 0, n_errors = 0;
    for (size_t i = first; i < first + n; i++) {
        const cf_sweep_cell *c = &s->cell[i];
        n_errors += c->result == NULL;
        n_failures += c->result != NULL && !cf_sweep_passes(s, c);
    }
    cf_sweep_put_row_name(&name, s, &s->cell[first]);
    cf_junit_suite(j, cf_buf_str(&name), n, n_failures, n_errors);
    for (size_t i = first; i < first + n; i++) {
        put_case(j, s, &s->cell[i], cf_buf_str(&name));
    }
    cf_junit_suite_end(j);
    j->out->failed = j->out->failed || name.failed;
    cf_buf_deinit(&name);
}

void cf_sweep_put_junit(cf_buf *out, const cf_sweep *s)
{
    cf_junit j;
    cf_junit_begin(&j, out, "confab sweep");
    for (size_t i = 0; i < s->n; i++) {
        if (begins_row(s, i)) {
            put_suite(&j, s, i);
        }
    }
    cf_junit_end(&j);
}
