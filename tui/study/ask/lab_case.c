/*
 * lab_case.c - the workbench's engine and conversation as a case.
 */
#include "tui/study/ask/lab_case.h"

#include "tui/lab/lab.h"
#include "tui/lab/talk/lab_conversation.h"

static cf_status read_case(cf_study_case *out, const cf_study_engine *engine,
                           const cf_conversation *conv, cf_store *store, cf_uuid turn,
                           cf_error *err)
{
    char id[CF_UUID_TEXT + 1] = "";
    if (!cf_uuid_is_nil(turn)) {
        cf_uuid_format(id, turn);
    }
    CF_TRY(cf_study_case_of(out, conv, engine, id, err));
    return cf_study_case_record(out, store, engine, err);
}

/* The workbench's tools, as a send has them. */
static cf_status take_tools(cf_study_case *c, const json_t *tools, cf_error *err)
{
    cf_tool_set *set = NULL;
    CF_TRY(cf_tool_set_new(&set, tools, err));
    c->tools = cf_tool_set_openai(set);
    cf_tool_set_free(set);
    return c->tools != NULL ? CF_OK : cf_oom_for(err, "the tools");
}

/* Reads the case, and once more where its run had another template, whose roles
 * and calls may have other names. */
static cf_status read_both(cf_study_case *out, cf_study_engine *engine, cf_study_own *own,
                           const cf_conversation *conv, cf_store *store, cf_uuid turn,
                           cf_error *err)
{
    CF_TRY(read_case(out, engine, conv, store, turn, err));
    CF_TRY(cf_study_own_init(own, engine, &out->was, err));
    if (own->backend == NULL) {
        return CF_OK;
    }
    cf_study_case_deinit(out);
    cf_study_case_init(out);
    CF_TRY(read_case(out, engine, conv, store, turn, err));
    engine->template_source = out->was.template_source;
    return CF_OK;
}

cf_status cf_study_case_of_lab(cf_study_case *out, cf_study_engine *engine, cf_study_own *own,
                               cf_lab *lab, cf_store *store, cf_uuid turn, cf_error *err)
{
    const cf_lab_engine *e = cf_lab_engine_of(lab);
    cf_conversation *conv = NULL;
    cf_role_map_init(&own->roles, e->template_source);
    *engine = (cf_study_engine){.backend = e->backend,
                                .tok = e->tokenizer,
                                .engine = e->engine,
                                .family = e->family,
                                .roles = &own->roles,
                                .template_source = e->template_source};
    CF_TRY(cf_lab_clone_conv(lab, &conv, err));
    cf_status st = read_both(out, engine, own, conv, store, turn, err);
    cf_conversation_free(conv);
    if (st == CF_OK && store == NULL && out->tools == NULL && e->tools != NULL) {
        st = take_tools(out, e->tools, err);
    }
    return st;
}
