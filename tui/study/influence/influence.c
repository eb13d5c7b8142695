/*
 * influence.c - leaves each part out, and orders what came of it.
 *
 * The target's tokens are the same in every variant: the reply's own where the
 * model wrote it, else those that its text has after the whole prompt.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "tui/study/influence/influence_impl.h"

void cf_influence_init(cf_influence *v)
{
    *v = (cf_influence){.row = NULL};
    cf_arena_init(&v->arena, 0);
}

void cf_influence_deinit(cf_influence *v)
{
    cf_arena_deinit(&v->arena);
    *v = (cf_influence){.row = NULL};
}

/* ---- rows --------------------------------------------------------------- */

static void fill_row(cf_influence *out, const cf_influence_trial *t)
{
    cf_influence_row *row = &out->row[t->set.row[0]];
    row->why = t->why;
    row->n_tokens = t->n_lost;
    row->is_emptied = t->is_emptied;
    if (!t->is_scored) {
        return;
    }
    row->has_delta = true;
    row->log_p = t->log_p;
    row->without = t->score;
    row->delta = row->without - out->with;
    row->was_known = t->was_known;
    out->n_scored++;
    out->n_known += t->was_known;
}

/* Each part alone. */
static cf_status score_rows(cf_influence_work *w, cf_error *err)
{
    cf_influence *out = w->out;
    cf_influence_trial *v = cf_calloc(out->n_row + 1, sizeof *v);
    size_t *at = cf_calloc(out->n_row + 1, sizeof *at);
    cf_status st = v != NULL && at != NULL ? CF_OK : cf_oom_for(err, "the influence");
    for (size_t i = 0; st == CF_OK && i < out->n_row; i++) {
        at[i] = i;
        v[i].set = (cf_influence_set){&at[i], 1};
    }
    w->n_all = out->n_row + 1;
    CF_THEN(st, cf_influence__try(w, v, out->n_row, err));
    for (size_t i = 0; st == CF_OK && i < out->n_row; i++) {
        fill_row(out, &v[i]);
    }
    cf_free(v);
    cf_free(at);
    return st;
}

/* ---- groups ------------------------------------------------------------- */

static cf_status cost_of(void *ud, const size_t *row, size_t n, double *cost, cf_error *err)
{
    cf_influence_work *w = ud;
    cf_influence_trial t = {.set = {row, n}};
    CF_TRY(cf_influence__try(w, &t, 1, err));
    *cost = t.is_scored ? w->out->with - t.score : 0;
    return CF_OK;
}

static cf_status find_groups(cf_influence_work *w, cf_error *err)
{
    cf_influence *out = w->out;
    cf_part_group found[CF_PART_GROUPS_MAX];
    if (w->o->has_no_groups || w->o->keeps_positions || w->o->change == CF_CHANGE_SWAP) {
        return CF_OK;
    }
    cf_part_effect *v = cf_arena_calloc(&out->arena, out->n_row + 1, sizeof *v);
    if (v == NULL) {
        return cf_oom_for(err, "the groups");
    }
    for (size_t i = 0; i < out->n_row; i++) {
        v[i] = (cf_part_effect){&out->row[i].part, out->row[i].has_delta, out->row[i].delta};
    }
    const cf_part_grouping g = {v, out->n_row, cost_of, w, &out->arena};
    CF_TRY(cf_part_groups_find(found, &out->n_group, &g, err));
    for (size_t i = 0; i < out->n_group; i++) {
        out->group[i].of = found[i];
    }
    return CF_OK;
}

static cf_status make(cf_influence_work *w, cf_error *err)
{
    cf_influence *out = w->out;
    CF_TRY(cf_part_context_render(w->engine->backend, &w->context, NULL, &out->arena, &out->prompt,
                                  err));
    CF_TRY(cf_influence__aim(w, err));
    CF_TRY(cf_influence__match(out, w->c, &out->tokens, err));
    CF_TRY(cf_influence__list(out, &w->context, w->o, err));
    CF_TRY(cf_influence__whole(w, err));
    if (w->o->budget > 0) {
        CF_TRY(cf_influence__fit(w, err));
    } else {
        CF_TRY(score_rows(w, err));
        CF_TRY(find_groups(w, err));
    }
    return w->o->instead != NULL ? cf_influence__say(w, err) : CF_OK;
}

cf_status cf_influence_make(cf_influence *out, const cf_study_case *c,
                            const cf_study_engine *engine, cf_study_scorer *scorer,
                            const cf_influence_options *options, cf_influence_fn fn, void *ud,
                            cf_error *err)
{
    cf_influence_work w = {.out = out,
                           .c = c,
                           .engine = engine,
                           .scorer = scorer,
                           .o = options,
                           .context = cf_study_context_of(c),
                           .fn = fn,
                           .ud = ud};
    if (scorer->server != NULL) {
        return cf_influence__by_server(out, c, engine, scorer, options, fn, ud, err);
    }
    if (engine->tok == NULL || (options->change == CF_CHANGE_HIDE && engine->engine == NULL)) {
        return cf_fail(err, CF_EUNSUPPORTED, "this engine shows no tokens");
    }
    CF_TRY(cf_influence__check(options, err));
    cf_text_plan_init(&w.plan);
    cf_text_plan_init(&w.other);
    cf_status st = make(&w, err);
    cf_text_plan_deinit(&w.plan);
    cf_text_plan_deinit(&w.other);
    return st;
}

/* ---- reading the result ------------------------------------------------- */

static bool is_before(const cf_influence_row *a, const cf_influence_row *b)
{
    if (!a->has_delta || !b->has_delta) {
        return a->has_delta && !b->has_delta;
    }
    return a->delta < b->delta;
}

void cf_influence_sort(const cf_influence *v, size_t *order)
{
    for (size_t i = 0; i < v->n_row; i++) {
        size_t at = i;
        while (at > 0 && is_before(&v->row[i], &v->row[order[at - 1]])) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

void cf_part_label(const cf_part *p, const cf_study_case *c, cf_buf *out)
{
    const json_t *tool = json_array_get(c->tools, p->index);
    cf_str name = cf_json_get_str(json_object_get(tool, "function"), "name");
    cf_str role = cf_json_get_str(json_array_get(c->messages, p->index), "role");
    switch (p->kind) {
    case CF_PART_MESSAGE:
        cf_buf_addf(out, "message %zu (%.*s)", 1 + p->index, (int)role.n,
                    role.p != NULL ? role.p : "");
        break;
    case CF_PART_TOOL:
        cf_buf_adds(out, "tool ");
        cf_buf_add(out, name.p, name.n);
        break;
    case CF_PART_SENTENCE:
    case CF_PART_WORD:
        cf_buf_addf(out, "%s %zu of message %zu", cf_part_kind_name(p->kind), 1 + p->index,
                    1 + p->message);
        break;
    case CF_PART_FIELD:
        cf_buf_adds(out, "tool ");
        cf_buf_add(out, name.p, name.n);
        cf_buf_adds(out, "'s ");
        cf_buf_add(out, p->path.p, p->path.n);
        break;
    case CF_PART_PIECE:
        cf_buf_addf(out, "template %u:%u", (unsigned)p->line, (unsigned)p->col);
        break;
    case CF_PART_KINDS:
        break;
    }
}

void cf_influence_group_label(const cf_influence *v, const cf_influence_group *g,
                              const cf_study_case *c, cf_buf *out)
{
    for (size_t i = 0; i < g->of.n; i++) {
        cf_buf_adds(out, i > 0 ? " + " : "");
        cf_part_label(&v->row[g->of.row[i]].part, c, out);
    }
    if (g->of.kind == CF_GROUP_SOME) {
        cf_buf_addf(out, "  %zu of these suffice", g->of.need);
    } else {
        cf_buf_adds(out, g->of.kind == CF_GROUP_EITHER ? "  either suffices" : "  both needed");
    }
}
