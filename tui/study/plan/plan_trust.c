/*
 * plan_trust.c - the one place where a plan's models get keys of the user.
 */
#include "tui/study/plan/plan_trust.h"

#include <stdlib.h>
#include <string.h>

/* A model or a judge. */
typedef struct party {
    const char *const *address; /* [n] */
    size_t n;
    const char **key;
    const char *variable; /* NULL: none */
    bool is_service;      /* the variable is for this address */
} party;

static cf_status take_variable(cf_sweep_plan *p, const party *m, const cf_trust *trust,
                               cf_error *err)
{
    if (!m->is_service && !cf_trust_has_variable(trust, m->variable)) {
        return cf_fail(err, CF_EINVAL,
                       "%.200s: it names the variable %.60s: --allow-variable lets it be sent",
                       p->path, m->variable);
    }
    const char *value = getenv(m->variable); /* NOLINT(concurrency-mt-unsafe) */
    if (value != NULL && value[0] != '\0') {
        *m->key = cf_arena_strndup(&p->arena, value, strlen(value));
        return *m->key != NULL ? CF_OK : cf_oom_for(err, "the plan");
    }
    return m->is_service ? CF_OK
                         : cf_fail(err, CF_EINVAL, "%.200s: %.60s is not set in the environment",
                                   p->path, m->variable);
}

static cf_status trust_party(cf_sweep_plan *p, const party *m, cf_trust *trust, cf_error *err)
{
    bool is_named = m->n > 0;
    for (size_t i = 0; i < m->n; i++) {
        CF_TRY(cf_trust_check(trust, p->path, m->address[i], err));
        is_named = is_named && cf_trust_names(trust, m->address[i]);
    }
    if (m->variable != NULL) {
        CF_TRY(take_variable(p, m, trust, err));
    }
    if (*m->key == NULL && is_named) {
        *m->key = trust->key;
    }
    return CF_OK;
}

static cf_status trust_check(cf_sweep_plan *p, cf_sweep_check *c, cf_trust *trust, cf_error *err)
{
    const party m = {&c->model, c->model != NULL, &c->key, c->key_variable, c->is_service};
    return trust_party(p, &m, trust, err);
}

cf_status cf_sweep_plan_trust(cf_sweep_plan *p, cf_trust *trust, cf_error *err)
{
    for (size_t i = 0; i < p->n_model; i++) {
        cf_sweep_model *m = &p->model[i];
        const party one = {m->address, m->n_address, &m->key, m->key_variable, m->is_service};
        CF_TRY(trust_party(p, &one, trust, err));
    }
    for (size_t i = 0; i < p->n_check; i++) {
        CF_TRY(trust_check(p, &p->check[i], trust, err));
    }
    for (size_t i = 0; i < p->n_own; i++) {
        CF_TRY(trust_check(p, &p->own[i].check, trust, err));
    }
    return CF_OK;
}
