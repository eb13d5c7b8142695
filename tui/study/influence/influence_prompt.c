/*
 * influence_prompt.c - which parts there are, and the prompt without each.
 */
#include "core/base/alloc.h"
#include "tui/study/influence/influence_impl.h"
#include "tui/study/influence/parts.h"

cf_status cf_influence__check(const cf_influence_options *o, cf_error *err)
{
    if (o->keeps_positions && o->change != CF_CHANGE_LEAVE_OUT) {
        return cf_fail(err, CF_EINVAL, "positions can be kept only where a part is left out");
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

cf_status cf_influence__list(cf_influence *out, const cf_study_context *context,
                             const cf_influence_options *o, cf_error *err)
{
    cf_part_list list = {.v = NULL};
    uint32_t kinds = o->kinds != 0 ? o->kinds : 1u << CF_PART_MESSAGE | 1u << CF_PART_TOOL;
    cf_status st = CF_OK;
    for (int k = 0; st == CF_OK && k < CF_PART_KINDS; k++) {
        if ((kinds & 1u << k) != 0) {
            st = cf_parts_add(&list, (cf_part_kind)k, context, &out->prompt, o, &out->arena, err);
        }
    }
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

/* What comes in the part's place: a new reference, NULL for nothing. */
static cf_status find_instead(const cf_study_context *context, const cf_influence_options *o,
                              const cf_part *p, json_t **out, cf_error *err)
{
    const json_t *found = NULL;
    cf_buf text = CF_BUF_INIT;
    *out = NULL;
    if (o->change != CF_CHANGE_SWAP) {
        return CF_OK;
    }
    const cf_study_context other = cf_study_context_of(o->other);
    bool has = cf_parts_find(context, p, &other, &found, &text);
    if (has) {
        *out = found != NULL ? json_incref(cf_json_ref(found))
                             : json_stringn(cf_buf_cstr(&text), text.n);
    }
    cf_buf_deinit(&text);
    return *out != NULL ? CF_OK
                        : cf_fail(err, CF_ENOTFOUND, "the other conversation has no such part");
}

cf_status cf_influence__prompt(cf_influence *out, const cf_study_engine *engine,
                               const cf_study_context *context, const cf_influence_options *o,
                               cf_influence_row *row, cf_prompt *prompt, cf_error *err)
{
    const cf_part *p = &row->part;
    json_t *instead = NULL;
    cf_study_context c;
    if (p->kind == CF_PART_PIECE) {
        return o->change == CF_CHANGE_SWAP
                   ? cf_fail(err, CF_EUNSUPPORTED, "what the template writes cannot be swapped")
                   : cf_parts_cut_prompt(prompt, &out->prompt, p->line, p->col, &out->arena, err);
    }
    CF_TRY(find_instead(context, o, p, &instead, err));
    bool is_swap = instead != NULL;
    cf_status st = cf_parts_change(&c, context, p, instead, err);
    json_decref(instead);
    CF_TRY(st);
    st = cf_study_render(engine, &c, &out->arena, prompt, err);
    cf_parts_drop(&c);
    if (cf_influence__is_of_part(st) && p->kind == CF_PART_MESSAGE && !is_swap) {
        cf_error ignored;
        CF_TRY(cf_parts_empty(&c, context, p->index, err));
        cf_status again = cf_study_render(engine, &c, &out->arena, prompt, &ignored);
        cf_parts_drop(&c);
        row->is_emptied = again == CF_OK;
        st = again == CF_OK || again == CF_ENOMEM ? again : st;
    }
    return st == CF_ENOMEM ? cf_oom_for(err, "the influence") : st;
}
