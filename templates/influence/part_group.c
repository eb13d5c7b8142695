/*
 * part_group.c - causes that hide each other.
 *
 * Parts that say the same are weak one by one: all weak ones are left out
 * together, and if the target is lost then, delta debugging finds a smallest
 * set that loses it.  Parts that are both needed each lose it one by one, and
 * cost together about what one of them does.  A strong part beside one that
 * hardly matters is neither.
 */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "templates/prompt_part.h"

/* Where more than a few are needed to lose it, what is missed is a prompt. */
enum { WEAK_GROUPS = 3, STRONG_MAX = 6, MEMBERS_MAX = 4 };

static const double weak_nats = 1, lost_nats = 3;

typedef struct grouping {
    const cf_part_grouping *of;
    size_t *weak; /* [n_weak] effects */
    size_t n_weak;
    size_t *scratch;      /* [of->n + 1] */
    cf_part_group *found; /* [n_found] */
    size_t n_found;
} grouping;

static cf_status no_memory(cf_error *err)
{
    return cf_oom_for(err, "the groups");
}

const char *cf_part_group_name(cf_part_group_kind kind)
{
    static const char *const names[] = {"either", "both", "some"};
    return names[kind];
}

static cf_status cost_of(const grouping *g, const size_t *row, size_t n, double *cost,
                         cf_error *err)
{
    return g->of->fn(g->of->ud, row, n, cost, err);
}

/* ---- delta debugging ---------------------------------------------------- */

typedef struct reducing {
    const grouping *g;
    const size_t *fixed; /* [n_fixed] left out in any case */
    size_t n_fixed;
    size_t *set; /* [n] what is reduced */
    size_t n;
} reducing;

/* Whether set[from, to), or all but that, is enough to lose the target; it is
 * then what is left. */
static cf_status reduce_to(reducing *r, size_t from, size_t to, bool inside, bool *did,
                           cf_error *err)
{
    size_t *all = r->g->scratch, n = 0;
    double cost;
    if (r->n_fixed != 0) {
        memcpy(all, r->fixed, r->n_fixed * sizeof *all);
    }
    size_t *mine = all + r->n_fixed;
    for (size_t i = 0; i < r->n; i++) {
        if ((i >= from && i < to) == inside) {
            mine[n++] = r->set[i];
        }
    }
    CF_TRY(cost_of(r->g, all, r->n_fixed + n, &cost, err));
    *did = cost >= lost_nats;
    if (*did) {
        memcpy(r->set, mine, n * sizeof *mine);
        r->n = n;
    }
    return CF_OK;
}

static cf_status reduce_by(reducing *r, size_t n_chunk, bool inside, bool *did, cf_error *err)
{
    *did = false;
    for (size_t k = 0; !*did && k < n_chunk; k++) {
        size_t from = r->n * k / n_chunk, to = r->n * (k + 1) / n_chunk;
        if (from < to && (to - from < r->n)) {
            CF_TRY(reduce_to(r, from, to, inside, did, err));
        }
    }
    return CF_OK;
}

/* Leaves a set of which no member can be spared. */
static cf_status reduce(reducing *r, cf_error *err)
{
    for (size_t n_chunk = 2; r->n >= 2;) {
        bool did = false;
        CF_TRY(reduce_by(r, n_chunk, true, &did, err));
        if (did) {
            n_chunk = 2;
            continue;
        }
        if (n_chunk > 2) { /* of two the other is what is left */
            CF_TRY(reduce_by(r, n_chunk, false, &did, err));
        }
        if (did) {
            n_chunk = n_chunk > 3 ? n_chunk - 1 : 2;
        } else if (n_chunk >= r->n) {
            break;
        } else {
            n_chunk = 2 * n_chunk < r->n ? 2 * n_chunk : r->n;
        }
    }
    return CF_OK;
}

/* ---- groups of weak ones ------------------------------------------------ */

static cf_status add_group(grouping *g, cf_part_group_kind kind, const size_t *row, size_t n,
                           size_t need, cf_error *err)
{
    size_t *copy = cf_arena_calloc(g->of->arena, n, sizeof *copy);
    double cost;
    if (copy == NULL) {
        return no_memory(err);
    }
    memcpy(copy, row, n * sizeof *copy);
    CF_TRY(cost_of(g, copy, n, &cost, err));
    g->found[g->n_found++] =
        (cf_part_group){.kind = kind, .row = copy, .n = n, .need = need, .delta = -cost};
    return CF_OK;
}

static bool is_among(const size_t *v, size_t n, size_t x)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i] == x) {
            return true;
        }
    }
    return false;
}

/* The weak rows that are not in a set. */
static size_t others(const grouping *g, const size_t *set, size_t n, size_t *out)
{
    size_t k = 0;
    for (size_t i = 0; i < g->n_weak; i++) {
        if (!is_among(set, n, g->weak[i])) {
            out[k++] = g->weak[i];
        }
    }
    return k;
}

/* A row that with any one of the members loses the target as two of them do;
 * SIZE_MAX: none. */
static cf_status find_like(const grouping *g, const size_t *member, size_t n, size_t *rest,
                           size_t *found, cf_error *err)
{
    reducing r = {.g = g, .fixed = member, .n_fixed = 1, .set = rest};
    double cost = 0;
    *found = SIZE_MAX;
    r.n = others(g, member, n, rest);
    g->scratch[0] = member[0];
    memcpy(g->scratch + 1, rest, r.n * sizeof *rest);
    if (r.n > 0) {
        CF_TRY(cost_of(g, g->scratch, r.n + 1, &cost, err));
    }
    if (cost < lost_nats) {
        return CF_OK;
    }
    CF_TRY(reduce(&r, err));
    for (size_t i = 1; r.n == 1 && i < n; i++) {
        const size_t pair[2] = {member[i], rest[0]};
        CF_TRY(cost_of(g, pair, 2, &cost, err));
        r.n = cost >= lost_nats ? 1 : 0;
    }
    *found = r.n == 1 ? rest[0] : SIZE_MAX;
    return CF_OK;
}

/* Where two lose it, others may be like them: then all but one are needed. */
static cf_status widen(const grouping *g, size_t *member, size_t *n, size_t *rest, cf_error *err)
{
    size_t found = 0;
    while (found != SIZE_MAX) {
        CF_TRY(find_like(g, member, *n, rest, &found, err));
        if (found != SIZE_MAX) {
            member[(*n)++] = found;
        }
    }
    return CF_OK;
}

/* Sets *n to 0 where the weak rows together lose little. */
static cf_status find_weak(grouping *g, size_t *member, size_t *n, size_t *rest, cf_error *err)
{
    double cost = 0;
    *n = 0;
    if (g->n_weak < 2) {
        return CF_OK;
    }
    CF_TRY(cost_of(g, g->weak, g->n_weak, &cost, err));
    if (cost < lost_nats) {
        return CF_OK;
    }
    reducing r = {.g = g, .set = member, .n = g->n_weak};
    memcpy(member, g->weak, g->n_weak * sizeof *member);
    CF_TRY(reduce(&r, err));
    if (r.n > MEMBERS_MAX) {
        return CF_OK;
    }
    *n = r.n;
    size_t n_least = r.n;
    if (r.n == 2) {
        CF_TRY(widen(g, member, n, rest, err));
    }
    bool is_some = *n > n_least;
    CF_TRY(add_group(g, is_some ? CF_GROUP_SOME : CF_GROUP_EITHER, member, *n, is_some ? *n - 1 : 1,
                     err));
    g->n_weak = others(g, member, *n, g->weak);
    return CF_OK;
}

static cf_status group_weak(grouping *g, cf_error *err)
{
    size_t n = 1;
    size_t *member = cf_calloc(g->of->n + 1, sizeof *member);
    size_t *rest = cf_calloc(g->of->n + 1, sizeof *rest);
    cf_status st = member != NULL && rest != NULL ? CF_OK : no_memory(err);
    for (int i = 0; st == CF_OK && i < WEAK_GROUPS && n > 0; i++) {
        st = find_weak(g, member, &n, rest, err);
    }
    cf_free(member);
    cf_free(rest);
    return st;
}

/* ---- groups of strong ones ---------------------------------------------- */

static bool overlaps(const cf_part_effect *a, const cf_part_effect *b)
{
    return cf_part_contains(a->part, b->part) || cf_part_contains(b->part, a->part);
}

/* The rows that cost most. */
static size_t list_strong(const cf_part_grouping *of, size_t out[STRONG_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < of->n; i++) {
        const cf_part_effect *row = &of->effect[i];
        if (!row->is_known || row->delta > -weak_nats) {
            continue;
        }
        size_t at = n < STRONG_MAX ? n++ : STRONG_MAX;
        while (at > 0 && row->delta < of->effect[out[at - 1]].delta) {
            if (at < STRONG_MAX) {
                out[at] = out[at - 1];
            }
            at--;
        }
        if (at < STRONG_MAX) {
            out[at] = i;
        }
    }
    return n;
}

/* Whether the target is lost without either of two rows, and hardly more so
 * without both. */
static cf_status are_both_needed(const grouping *g, size_t a, size_t b, bool *out, cf_error *err)
{
    const cf_part_effect *first = &g->of->effect[a], *second = &g->of->effect[b];
    const size_t pair[2] = {a, b};
    double cost, least = -fmax(first->delta, second->delta);
    double most = -fmin(first->delta, second->delta);
    *out = false;
    if (least < weak_nats || overlaps(first, second)) {
        return CF_OK;
    }
    CF_TRY(cost_of(g, pair, 2, &cost, err));
    *out = cost <= most + least / 2;
    return CF_OK;
}

static cf_status group_strong(grouping *g, cf_error *err)
{
    size_t strong[STRONG_MAX], member[STRONG_MAX];
    bool is_in[STRONG_MAX] = {false};
    size_t n = list_strong(g->of, strong);
    for (size_t i = 0; i < n; i++) {
        size_t k = 1;
        member[0] = strong[i];
        for (size_t j = i + 1; j < n && !is_in[i]; j++) {
            bool fits = !is_in[j];
            for (size_t m = 0; fits && m < k; m++) {
                CF_TRY(are_both_needed(g, member[m], strong[j], &fits, err));
            }
            if (fits) {
                member[k++] = strong[j];
                is_in[j] = true;
            }
        }
        if (k > 1 && g->n_found < CF_PART_GROUPS_MAX) {
            CF_TRY(add_group(g, CF_GROUP_BOTH, member, k, k, err));
        }
    }
    return CF_OK;
}

/* ---- all ---------------------------------------------------------------- */

static bool is_weak(const cf_part_effect *e)
{
    return e->is_known && fabs(e->delta) < weak_nats;
}

/* Those that lie in no other weak one. */
static void list_weak(grouping *g)
{
    const cf_part_effect *v = g->of->effect;
    for (size_t i = 0; i < g->of->n; i++) {
        bool is_listed = is_weak(&v[i]);
        for (size_t k = 0; is_listed && k < g->of->n; k++) {
            is_listed = !(is_weak(&v[k]) && cf_part_contains(v[k].part, v[i].part));
        }
        if (is_listed) {
            g->weak[g->n_weak++] = i;
        }
    }
}

cf_status cf_part_groups_find(cf_part_group out[CF_PART_GROUPS_MAX], size_t *n_out,
                              const cf_part_grouping *of, cf_error *err)
{
    size_t n = of->n + 1;
    grouping g = {.of = of, .found = out};
    g.weak = cf_calloc(n, sizeof *g.weak);
    g.scratch = cf_calloc(n + 1, sizeof *g.scratch);
    cf_status st = g.weak != NULL && g.scratch != NULL ? CF_OK : no_memory(err);
    if (st == CF_OK) {
        list_weak(&g);
        st = group_weak(&g, err);
    }
    CF_THEN(st, group_strong(&g, err));
    *n_out = st == CF_OK ? g.n_found : 0;
    cf_free(g.weak);
    cf_free(g.scratch);
    return st;
}
