/*
 * influence_prompt.c - which parts there are, and the prompt without each.
 */
#include "core/base/alloc.h"
#include "tui/study/influence/influence_impl.h"

cf_status cf_influence__check(const cf_influence_options *o, cf_error *err)
{
    if (o->keeps_positions && o->change != CF_CHANGE_LEAVE_OUT) {
        return cf_fail(err, CF_EINVAL, "positions can be kept only where a part is left out");
    }
    if (o->budget > 0 && (o->change == CF_CHANGE_SWAP || o->keeps_positions)) {
        return cf_fail(err, CF_EINVAL, "a budget is for parts that are left out or hidden");
    }
    if (o->budget > CF_PARTS_MAX) {
        return cf_fail(err, CF_EINVAL, "a budget has at most %d passes", (int)CF_PARTS_MAX);
    }
    if (o->change == CF_CHANGE_SWAP && o->other == NULL) {
        return cf_fail(err, CF_EINVAL, "swapping takes another conversation");
    }
    if (o->has_span && o->span_from >= o->span_to) {
        return cf_fail(err, CF_EINVAL, "the span %zu..%zu is empty", o->span_from, o->span_to);
    }
    return CF_OK;
}

cf_status cf_influence__match(cf_influence *out, const cf_study_case *c,
                              const cf_token_list *tokens, cf_error *err)
{
    cf_buf why = CF_BUF_INIT;
    out->match = cf_study_case_match(c, &out->prompt, tokens, &why);
    char *copy = why.failed ? NULL : cf_arena_strndup(&out->arena, cf_buf_cstr(&why), why.n);
    out->match_why = cf_str_make(copy, why.n);
    cf_buf_deinit(&why);
    return copy != NULL ? CF_OK : cf_oom_for(err, "the influence");
}

double cf_influence__sum(const float *v, size_t n)
{
    double s = 0;
    for (size_t i = 0; i < n; i++) {
        s += (double)v[i];
    }
    return s;
}

bool cf_influence__is_of_part(cf_status st)
{
    return st != CF_OK && st != CF_ENOMEM && st != CF_ECANCELLED;
}

cf_status cf_influence__list(cf_influence *out, const cf_part_context *context,
                             const cf_influence_options *o, cf_error *err)
{
    cf_part_list list = {.v = NULL};
    uint32_t kinds = o->kinds != 0 ? o->kinds : 1u << CF_PART_MESSAGE | 1u << CF_PART_TOOL;
    const cf_part_choice choice = {kinds, o->message, o->tool};
    cf_status st = cf_parts_add(&list, &choice, context, &out->prompt, &out->arena, err);
    if (st == CF_OK) {
        out->row = cf_arena_calloc(&out->arena, list.n + 1, sizeof *out->row);
        st = out->row != NULL ? CF_OK : cf_oom_for(err, "the influence");
    }
    for (size_t i = 0; st == CF_OK && i < list.n; i++) {
        out->row[i].part = list.v[i];
    }
    out->n_row = st == CF_OK ? list.n : 0;
    cf_free(list.v);
    return st;
}

/* The parts of the rows, to be freed; `other` is where what replaces them comes from. */
static cf_status make_set(cf_part_set *out, const cf_influence *inf, const cf_influence_options *o,
                          cf_influence_set set, cf_part_context *other, cf_error *err)
{
    *out = (cf_part_set){cf_calloc(set.n + 1, sizeof *out->part), set.n, NULL, o->empties};
    if (o->change == CF_CHANGE_SWAP) {
        *other = cf_study_context_of(o->other);
        out->other = other;
    }
    for (size_t i = 0; out->part != NULL && i < set.n; i++) {
        out->part[i] = &inf->row[set.row[i]].part;
    }
    return out->part != NULL ? CF_OK : cf_oom_for(err, "the influence");
}

cf_status cf_influence__context(cf_part_context *changed, const cf_influence *inf,
                                const cf_part_context *context, const cf_influence_options *o,
                                cf_influence_set set, bool empties, cf_error *err)
{
    cf_part_context other;
    cf_part_set parts;
    CF_TRY(make_set(&parts, inf, o, set, &other, err));
    parts.empties = empties;
    cf_status st = cf_parts_apply(changed, context, &parts, err);
    cf_free(parts.part);
    return st;
}

cf_status cf_influence__prompt(cf_influence *out, const cf_study_engine *engine,
                               const cf_part_context *context, const cf_influence_options *o,
                               cf_influence_set set, bool *is_emptied, cf_prompt *prompt,
                               cf_error *err)
{
    const cf_part_render from = {engine->backend, NULL, context, &out->prompt, &out->arena};
    cf_part_context other;
    cf_part_set parts;
    CF_TRY(make_set(&parts, out, o, set, &other, err));
    cf_status st = cf_parts_prompt(prompt, &from, &parts, is_emptied, err);
    cf_free(parts.part);
    return st;
}
