/*
 * sweep_agree.c - counts labels against a judge's answers.
 */
#include "tui/study/sweep/sweep_agree.h"

#include <strings.h>

#include "core/base/safe_text.h"

static const char *const words[] = {"no", "yes", "none"};

/* What a label says; false: nothing about this check. */
static bool read_label(const json_t *label, const char *check, size_t *out)
{
    const json_t *v = json_is_object(label) ? json_object_get(label, check) : label;
    const char *text = json_string_value(v);
    if (json_is_boolean(v)) {
        *out = json_is_true(v) ? CF_SAYS_YES : CF_SAYS_NO;
        return true;
    }
    for (size_t i = CF_SAYS_NO; text != NULL && i <= CF_SAYS_YES; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static void find_kappa(cf_sweep_agreement *a)
{
    double n = (double)a->n_answered, chance = 0;
    for (size_t i = 0; i < 2 && n > 0; i++) {
        chance += (double)(a->count[i][0] + a->count[i][1]) *
                  (double)(a->count[0][i] + a->count[1][i]) / (n * n);
    }
    a->has_kappa = n > 0 && chance < 1;
    a->kappa = a->has_kappa ? ((double)a->n_agree / n - chance) / (1 - chance) : 0;
}

bool cf_sweep_agree(const cf_sweep *s, size_t check, cf_sweep_agreement *out)
{
    bool has_label = false;
    *out = (cf_sweep_agreement){.n_agree = 0};
    for (size_t i = 0; i < s->n; i++) {
        const cf_sweep_cell *c = &s->cell[i];
        const cf_sweep_check *k = cf_sweep_plan_check(s->plan, c->item, check);
        const json_t *label = json_object_get(s->plan->item[c->item].fields, "label");
        size_t want, says = CF_SAYS_NOTHING;
        if (k == NULL || k->kind != CF_CHECK_JUDGE || c->result == NULL ||
            !read_label(label, k->name.p, &want)) {
            continue;
        }
        has_label = true;
        if (c->answer[check].is_known) {
            says = c->answer[check].passes != k->is_negated ? CF_SAYS_YES : CF_SAYS_NO;
        }
        out->count[want][says]++;
        out->n_answered += says != CF_SAYS_NOTHING;
        out->n_agree += says == want;
    }
    find_kappa(out);
    return has_label;
}

void cf_sweep_put_agreements(cf_buf *out, const cf_sweep *s)
{
    cf_sweep_agreement a;
    for (size_t k = 0; k < s->plan->n_check; k++) {
        if (!cf_sweep_agree(s, k, &a)) {
            continue;
        }
        cf_buf_adds(out, "judge ");
        cf_safe_line(out, s->plan->check[k].name.p, s->plan->check[k].name.n);
        cf_buf_addf(out, ": agrees with the label on %zu of %zu", a.n_agree, a.n_answered);
        if (a.has_kappa) {
            cf_buf_addf(out, ", kappa %.2f", a.kappa);
        }
        cf_buf_adds(out, "\n             says yes   says no  no answer\n");
        for (size_t i = 2; i-- > 0;) {
            cf_buf_addf(out, "  label %-3s  %9zu %9zu  %9zu\n", words[i], a.count[i][CF_SAYS_YES],
                        a.count[i][CF_SAYS_NO], a.count[i][CF_SAYS_NOTHING]);
        }
    }
}

static void put_json(cf_jw *w, cf_str name, const cf_sweep_agreement *a)
{
    cf_jw_object(w, NULL);
    cf_jw_str(w, "check", name);
    cf_jw_uint(w, "answered", a->n_answered);
    cf_jw_uint(w, "agree", a->n_agree);
    if (a->n_answered > 0) {
        cf_jw_double(w, "agreement", (double)a->n_agree / (double)a->n_answered);
    } else {
        cf_jw_null(w, "agreement");
    }
    if (a->has_kappa) {
        cf_jw_double(w, "kappa", a->kappa);
    } else {
        cf_jw_null(w, "kappa");
    }
    cf_jw_object(w, "table");
    for (size_t i = 2; i-- > 0;) {
        cf_jw_object(w, words[i]);
        for (size_t k = 0; k < 3; k++) {
            cf_jw_uint(w, words[k], a->count[i][k]);
        }
        cf_jw_end(w);
    }
    cf_jw_end(w);
    cf_jw_end(w);
}

void cf_sweep_put_agreements_json(cf_jw *w, const cf_sweep *s)
{
    cf_sweep_agreement a;
    bool has_one = false;
    for (size_t k = 0; k < s->plan->n_check; k++) {
        if (cf_sweep_agree(s, k, &a)) {
            if (!has_one) {
                cf_jw_array(w, "judges");
            }
            has_one = true;
            put_json(w, s->plan->check[k].name, &a);
        }
    }
    if (has_one) {
        cf_jw_end(w);
    }
}
