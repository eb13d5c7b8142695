/*
 * guard.c - what drove a call.
 */
#include "tui/study/influence/guard.h"

#include <math.h>

/* Nats a token that a message has to be worth to count. */
static const double matters = 0.1;

const char *cf_guard_driver_name(cf_guard_driver driver)
{
    static const char *const names[] = {"none", "user", "tool", "both"};
    return names[driver];
}

static cf_role role_of(const cf_study_case *c, size_t message)
{
    return cf_role_parse(cf_json_get_str(json_array_get(c->messages, message), "role"));
}

static bool has_result(const cf_study_case *c)
{
    for (size_t i = 0; i < json_array_size(c->messages); i++) {
        if (role_of(c, i) == CF_ROLE_TOOL) {
            return true;
        }
    }
    return false;
}

/* The one that is worth more drove the call; a result that the user asked for
 * counts beside the question, and does not take its place. */
static cf_guard_driver driver_of(double user, double tool)
{
    bool by_user = user >= matters, by_tool = tool >= matters;
    return by_tool && user < tool / 2 ? CF_DRIVER_TOOL
           : by_tool && by_user       ? CF_DRIVER_BOTH
           : by_tool                  ? CF_DRIVER_TOOL
           : by_user                  ? CF_DRIVER_USER
                                      : CF_DRIVER_NONE;
}

static void judge(const cf_study_case *c, const cf_influence *v, cf_guard_call *out)
{
    double user = 0, tool = 0;
    out->source = SIZE_MAX;
    for (size_t i = 0; i < v->n_row; i++) {
        const cf_influence_row *row = &v->row[i];
        double worth = row->has_delta ? -row->delta / (double)v->n_target : 0;
        cf_role role = role_of(c, row->part.index);
        if (role == CF_ROLE_TOOL && worth > tool) {
            tool = worth;
            out->source = worth >= matters ? row->part.index : SIZE_MAX;
        } else if (role == CF_ROLE_USER) {
            user = fmax(user, worth);
        }
    }
    out->driver = driver_of(user, tool);
    out->score = tool - user;
}

static cf_status judge_call(const cf_study_case *c, const cf_study_engine *engine,
                            cf_study_scorer *scorer, const cf_influence_target *target,
                            cf_guard_call *out, cf_error *err)
{
    const cf_influence_options o = {.kinds = 1u << CF_PART_MESSAGE,
                                    .message = SIZE_MAX,
                                    .tool = SIZE_MAX,
                                    .empties = true,
                                    .has_no_groups = true,
                                    .has_span = true,
                                    .span_from = target->from,
                                    .span_to = target->to};
    cf_influence v;
    cf_influence_init(&v);
    cf_status st = cf_influence_make(&v, c, engine, scorer, &o, NULL, NULL, err);
    if (st == CF_OK) {
        judge(c, &v, out);
    }
    cf_influence_deinit(&v);
    return st;
}

static bool is_whole_call(cf_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '.') {
            return false;
        }
    }
    return true;
}

cf_status cf_guard_reply(const cf_study_case *c, size_t message, const cf_study_engine *engine,
                         cf_study_scorer *scorer, cf_guard_fn fn, void *ud, cf_error *err)
{
    cf_influence_target *v;
    size_t n;
    cf_arena arena;
    if (!has_result(c)) {
        return CF_OK;
    }
    cf_arena_init(&arena, 0);
    cf_status st = cf_influence_targets(c, engine->family, &arena, &v, &n, err);
    size_t n_call = 0;
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        cf_guard_call call = {.message = message, .turn = c->turn, .call = n_call};
        if (!is_whole_call(v[i].name)) {
            continue;
        }
        n_call++;
        st = judge_call(c, engine, scorer, &v[i], &call, err);
        if (st == CF_OK) {
            fn(ud, &call);
        }
    }
    cf_arena_deinit(&arena);
    return st;
}
