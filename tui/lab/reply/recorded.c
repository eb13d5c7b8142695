/*
 * recorded.c - a run of the history as conditions for asking again.
 */
#include "tui/lab/reply/recorded.h"

#include "core/api/constraint_spec.h"
#include "core/json/json.h"

void cf_recorded_deinit(cf_recorded *r)
{
    json_decref(r->tools);
    json_decref(r->vars);
    json_decref(r->constraint);
    cf_constraint_vocab_free(r->vocab);
    cf_grammar_free(r->grammar);
    *r = (cf_recorded){.run = NULL};
}

/* ---- reading ------------------------------------------------------------ */

bool cf_recorded_has_tools(const cf_store_run *run)
{
    return run != NULL && (run->n_tools > 0 || run->options.n > 0);
}

cf_status cf_recorded_tools(json_t **out, const cf_store_run *run, cf_error *err)
{
    json_t *list = json_array();
    cf_status st = list != NULL ? CF_OK : cf_oom_for(err, "the tools");
    for (size_t i = 0; st == CF_OK && i < run->n_tools; i++) {
        json_t *tool;
        st = cf_json_read(&tool, run->tools[i].p, run->tools[i].n, err);
        if (st == CF_OK && json_array_append_new(list, tool) != 0) {
            st = cf_oom_for(err, "the tools");
        }
    }
    if (st != CF_OK) {
        json_decref(list);
        return st;
    }
    *out = list;
    return CF_OK;
}

static cf_status read_object(json_t **out, cf_str text, cf_error *err)
{
    if (text.n == 0) {
        return CF_OK;
    }
    CF_TRY(cf_json_read(out, text.p, text.n, err));
    if (!json_is_object(*out)) {
        json_decref(*out);
        *out = NULL;
        return cf_fail(err, CF_EFORMAT, "the history's record of a run is damaged");
    }
    return CF_OK;
}

static cf_status read_template(cf_recorded *r, cf_store *store, cf_arena *arena, cf_error *err)
{
    cf_store_template kept;
    if (r->run->template_hash.n == 0) {
        return CF_OK;
    }
    cf_status st = cf_store_get_template(store, r->run->template_hash, arena, &kept, err);
    if (st == CF_OK) {
        r->template_source = kept.source;
    }
    return st == CF_ENOTFOUND ? CF_OK : st;
}

static cf_status read_run(cf_recorded *r, cf_store *store, cf_arena *arena, cf_error *err)
{
    const cf_store_run *run = r->run;
    CF_TRY(cf_run_options_read(&r->options, run->options, arena, err));
    r->options.sampling.seed = run->seed;
    CF_TRY(read_object(&r->vars, run->vars, err));
    CF_TRY(read_object(&r->constraint, run->constraint_spec, err));
    if (run->n_tools > 0) {
        CF_TRY(cf_recorded_tools(&r->tools, run, err));
    }
    return read_template(r, store, arena, err);
}

cf_status cf_recorded_read(cf_recorded *out, cf_store *store, const cf_store_run *run,
                           cf_arena *arena, cf_error *err)
{
    *out = (cf_recorded){.run = run};
    cf_status st = run != NULL ? read_run(out, store, arena, err) : CF_OK;
    if (st != CF_OK) {
        cf_recorded_deinit(out);
    }
    return st;
}

cf_status cf_recorded_load(cf_recorded *out, cf_store *store, cf_uuid turn, cf_arena *arena,
                           cf_error *err)
{
    cf_store_turn stored = {.run = NULL};
    *out = (cf_recorded){.run = NULL};
    if (store == NULL || cf_uuid_is_nil(turn)) {
        return CF_OK;
    }
    cf_status st = cf_store_get_turn(store, turn, arena, &stored, err);
    return st == CF_ENOTFOUND ? CF_OK
           : st == CF_OK      ? cf_recorded_read(out, store, stored.run, arena, err)
                              : st;
}

/* ---- the constraint ----------------------------------------------------- */

static cf_status compile_grammar(cf_grammar **out, const cf_recorded *r, cf_error *err)
{
    cf_tool_set *tools = NULL;
    cf_status st = r->tools != NULL ? cf_tool_set_new(&tools, r->tools, err) : CF_OK;
    CF_THEN(st, cf_constraint_spec_compile(out, r->constraint, tools, err));
    cf_tool_set_free(tools);
    return st;
}

cf_status cf_recorded_compile(cf_recorded *r, const cf_tokenizer *tok, cf_error *err)
{
    if (r->constraint == NULL || r->vocab != NULL) {
        return CF_OK;
    }
    if (r->grammar == NULL) {
        CF_TRY(compile_grammar(&r->grammar, r, err));
    }
    return cf_constraint_vocab_from_tokenizer(&r->vocab, tok, err);
}

cf_status cf_recorded_constraint(cf_constraint **out, const cf_recorded *r, cf_error *err)
{
    size_t end = r->options.start_bytes, n = r->options.start_content, n_taken = 0;
    *out = NULL;
    if (r->constraint == NULL) {
        return CF_OK;
    }
    if (n > end || end > r->run->raw.n) {
        return cf_fail(err, CF_EFORMAT, "the turn's options do not fit it");
    }
    CF_TRY(cf_constraint_new(out, r->grammar, r->vocab, err));
    cf_status st = cf_constraint_bytes(*out, r->run->raw.p + end - n, n, &n_taken, err);
    if (st == CF_OK && n_taken != n) {
        st = cf_fail(err, CF_EFORMAT, "the constraint refuses what the reply starts with");
    }
    if (st != CF_OK) {
        cf_constraint_free(*out);
        *out = NULL;
    }
    return st;
}

/* ---- options ------------------------------------------------------------ */

cf_status cf_recorded_variables(json_t **out, const cf_recorded *r, const json_t *preface,
                                cf_error *err)
{
    cf_thinking thinking = r->options.thinking;
    *out = NULL;
    if (preface == NULL && r->vars == NULL && thinking == CF_THINKING_DEFAULT) {
        return CF_OK;
    }
    json_t *v = preface != NULL ? cf_json_deep_copy(preface) : json_object();
    bool ok = v != NULL;
    if (ok && thinking != CF_THINKING_DEFAULT) {
        ok = json_object_set_new(v, "enable_thinking", json_boolean(thinking == CF_THINKING_ON)) ==
             0;
    }
    if (ok && r->vars != NULL) {
        ok = json_object_update(v, r->vars) == 0;
    }
    if (!ok) {
        json_decref(v);
        return cf_oom_for(err, "the variables");
    }
    *out = v;
    return CF_OK;
}

void cf_recorded_chat(const cf_recorded *r, cf_chat_options *out)
{
    const cf_run_options *o = &r->options;
    if (r->run == NULL) {
        return;
    }
    if (o->has_sampling) {
        out->sampling = o->sampling;
        out->has_sampling = true;
    }
    out->max_tokens = o->max_tokens != 0 ? o->max_tokens : out->max_tokens;
    out->stop = o->stop;
    out->n_stop = o->n_stop;
    out->thinking = o->thinking;
    out->has_thinking_budget = o->has_thinking_budget;
    out->thinking_budget = o->thinking_budget;
    out->as_is = o->as_is;
    out->grammar = r->grammar;
    out->vocab = r->vocab;
    out->constraint = r->constraint;
}
