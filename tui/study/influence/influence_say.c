/*
 * influence_say.c - which parts turn the comparison, and what the model would
 * have said without them.
 */
#include <string.h>

#include "tui/study/ask/answer.h"
#include "tui/study/influence/influence_impl.h"

enum { SAID_MAX = 8, TOKENS = 256 };

/* Greedily, else under the conditions of the run. */
static cf_status answer(const cf_influence_work *w, const cf_part_context *context, cf_str *out,
                        cf_error *err)
{
    cf_chat_options options = {.max_tokens = TOKENS};
    cf_tool_set *tools = NULL;
    cf_chat_response r;
    cf_error why = {0};
    json_t *json = cf_study_context_json(context);
    cf_recorded_chat(&w->c->was, &options);
    options.sampling = (cf_sampling){.temperature = 0};
    options.has_sampling = true;
    options.max_tokens = options.max_tokens < TOKENS ? options.max_tokens : TOKENS;
    cf_chat_response_init(&r);
    cf_status st = json != NULL ? CF_OK : CF_ENOMEM;
    if (st == CF_OK && json_array_size(context->tools) > 0) {
        st = cf_tool_set_new(&tools, context->tools, &why);
    }
    const cf_question q = {.context = json,
                           .tools = tools,
                           .options = &options,
                           .forces_reply = true,
                           .cancel = w->scorer->cancel};
    CF_THEN(st, cf_answer(w->engine->backend, &q, &r, &why));
    if (st == CF_OK) {
        char *copy = cf_arena_strndup(&w->out->arena, cf_buf_cstr(&r.raw), r.raw.n);
        *out = cf_str_make(copy, r.raw.n);
        st = copy != NULL ? CF_OK : CF_ENOMEM;
    }
    cf_chat_response_deinit(&r);
    cf_tool_set_free(tools);
    json_decref(json);
    if (st == CF_ENOMEM) {
        return cf_oom_for(err, "the reply");
    }
    return st == CF_ECANCELLED ? cf_fail(err, st, "stopped") : CF_OK;
}

/* Leaves *out as it is where there is no such conversation to answer. */
static cf_status say(const cf_influence_work *w, cf_influence_set set, bool is_emptied, cf_str *out,
                     cf_error *err)
{
    cf_part_context c;
    cf_error why = {0};
    if (w->o->change != CF_CHANGE_LEAVE_OUT && w->o->change != CF_CHANGE_SWAP) {
        return CF_OK;
    }
    cf_status st = cf_influence__context(&c, w->out, &w->context, w->o, set, is_emptied, &why);
    if (st != CF_OK) {
        return st == CF_ENOMEM ? cf_oom_for(err, "the reply") : CF_OK;
    }
    st = answer(w, &c, out, err);
    cf_parts_drop(&c);
    return st;
}

static bool turns(const cf_influence *v, double without)
{
    return (v->with > 0 && without < 0) || (v->with < 0 && without > 0);
}

cf_status cf_influence__say(cf_influence_work *w, cf_error *err)
{
    cf_influence *v = w->out;
    size_t n_said = 0;
    for (size_t i = 0; i < v->n_row; i++) {
        cf_influence_row *row = &v->row[i];
        row->decides = row->has_delta && turns(v, row->without);
        if (row->decides && n_said++ < SAID_MAX) {
            CF_TRY(say(w, (cf_influence_set){&i, 1}, row->is_emptied, &row->would_say, err));
        }
    }
    for (size_t i = 0; i < v->n_group; i++) {
        cf_influence_group *g = &v->group[i];
        g->decides = turns(v, v->with + g->of.delta);
        if (g->decides && n_said++ < SAID_MAX) {
            CF_TRY(say(w, (cf_influence_set){g->of.row, g->of.n}, false, &g->would_say, err));
        }
    }
    return CF_OK;
}
