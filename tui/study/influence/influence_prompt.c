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
    if (o->budget > 0 && (o->change == CF_CHANGE_SWAP || o->keeps_positions)) {
        return cf_fail(err, CF_EINVAL, "a budget is for parts that are left out or hidden");
    }
    if (o->budget > CF_INFLUENCE_PARTS_MAX) {
        return cf_fail(err, CF_EINVAL, "a budget has at most %d passes",
                       (int)CF_INFLUENCE_PARTS_MAX);
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

/* Parts within texts change before the messages and tools that have them, and
 * later ones before earlier ones, so that each is still where it was. */
static bool goes_before(const cf_part *a, const cf_part *b)
{
    bool a_whole = a->kind == CF_PART_MESSAGE || a->kind == CF_PART_TOOL;
    bool b_whole = b->kind == CF_PART_MESSAGE || b->kind == CF_PART_TOOL;
    return a_whole != b_whole ? b_whole : a_whole ? a->index > b->index : a->off > b->off;
}

static cf_status change_one(cf_study_context *changed, const cf_study_context *context,
                            const cf_study_context *whole, const cf_influence_options *o,
                            const cf_part *p, bool empties, cf_error *err)
{
    json_t *instead = NULL;
    if (empties && p->kind == CF_PART_MESSAGE) {
        return cf_parts_empty(changed, context, p->index, err);
    }
    CF_TRY(find_instead(whole, o, p, &instead, err));
    cf_status st = cf_parts_change(changed, context, p, instead, err);
    json_decref(instead);
    return st;
}

cf_status cf_influence__context(cf_study_context *changed, const cf_influence *inf,
                                const cf_study_context *context, const cf_influence_options *o,
                                cf_influence_set set, bool empties, cf_error *err)
{
    size_t *order = cf_calloc(set.n + 1, sizeof *order);
    cf_status st = order != NULL ? CF_OK : cf_oom_for(err, "the influence");
    for (size_t i = 0; st == CF_OK && i < set.n; i++) {
        size_t at = i;
        while (at > 0 && goes_before(&inf->row[set.row[i]].part, &inf->row[order[at - 1]].part)) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = set.row[i];
    }
    cf_study_context now = {json_incref(cf_json_ref(context->messages)),
                            json_incref(cf_json_ref(context->tools)),
                            json_incref(cf_json_ref(context->extra)), context->as_is};
    for (size_t i = 0; st == CF_OK && i < set.n; i++) {
        cf_study_context next;
        st = change_one(&next, &now, context, o, &inf->row[order[i]].part, empties, err);
        if (st == CF_OK) {
            cf_parts_drop(&now);
            now = next;
        }
    }
    cf_free(order);
    if (st != CF_OK) {
        cf_parts_drop(&now);
        return st;
    }
    *changed = now;
    return CF_OK;
}

static bool has_kind(const cf_influence *inf, cf_influence_set set, cf_part_kind kind)
{
    for (size_t i = 0; i < set.n; i++) {
        if (inf->row[set.row[i]].part.kind == kind) {
            return true;
        }
    }
    return false;
}

static cf_status cut_pieces(cf_influence *out, const cf_influence_options *o, cf_influence_set set,
                            cf_prompt *prompt, cf_error *err)
{
    *prompt = out->prompt;
    for (size_t i = 0; i < set.n; i++) {
        const cf_part *p = &out->row[set.row[i]].part;
        const cf_prompt before = *prompt;
        if (o->change == CF_CHANGE_SWAP || p->kind != CF_PART_PIECE) {
            return cf_fail(err, CF_EUNSUPPORTED, "what the template writes can only be left out");
        }
        CF_TRY(cf_parts_cut_prompt(prompt, &before, p->line, p->col, &out->arena, err));
    }
    return CF_OK;
}

static cf_status render(cf_influence *out, const cf_study_engine *engine,
                        const cf_study_context *context, const cf_influence_options *o,
                        cf_influence_set set, bool empties, cf_prompt *prompt, cf_error *err)
{
    cf_study_context c;
    CF_TRY(cf_influence__context(&c, out, context, o, set, empties, err));
    cf_status st = cf_study_render(engine, &c, &out->arena, prompt, err);
    cf_parts_drop(&c);
    return st == CF_ENOMEM ? cf_oom_for(err, "the influence") : st;
}

cf_status cf_influence__prompt(cf_influence *out, const cf_study_engine *engine,
                               const cf_study_context *context, const cf_influence_options *o,
                               cf_influence_set set, bool *is_emptied, cf_prompt *prompt,
                               cf_error *err)
{
    *is_emptied = false;
    if (has_kind(out, set, CF_PART_PIECE)) {
        return cut_pieces(out, o, set, prompt, err);
    }
    cf_status st = render(out, engine, context, o, set, o->empties, prompt, err);
    bool is_lost = cf_influence__is_of_part(st) || (st == CF_OK && prompt->text.n == 0);
    if (is_lost && has_kind(out, set, CF_PART_MESSAGE) && o->change != CF_CHANGE_SWAP) {
        cf_error ignored;
        cf_status again = render(out, engine, context, o, set, true, prompt, &ignored);
        *is_emptied = again == CF_OK;
        st = again == CF_OK || again == CF_ENOMEM ? again : st;
    }
    return st == CF_ENOMEM ? cf_oom_for(err, "the influence") : st;
}
