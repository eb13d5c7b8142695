/*
 * lab.c - the workbench from its start to its end, and what its threads bring
 * back.
 */
#include "tui/lab/lab.h"

#include "core/base/alloc.h"
#include "tui/lab/state/lab_impl.h"

cf_status cf_lab_new(cf_lab **out, const cf_lab_engine *engine, cf_store *store, cf_error *err)
{
    cf_lab *lab = cf_calloc(1, sizeof *lab);
    if (lab == NULL) {
        return cf_oom(err);
    }
    lab->engine = *engine;
    lab->first_name = engine->template_name;
    lab->first_source = engine->template_source;
    lab->store = store;
    cf_reply_settings_init(&lab->settings);
    lab->settings.chat.sampling = engine->sampling;
    lab->settings.chat.has_sampling = engine->has_sampling;
    lab->settings.chat.has_asked = true;
    lab->settings.chat.asked = engine->asked;
    lab->settings.chat.max_tokens = engine->max_tokens;
    lab->settings.chat.as_is = engine->as_is;
    cf_arena_init(&lab->arena, 0);
    cf_arena_init(&lab->prompt_arena, 0);
    cf_arena_init(&lab->loss_arena, 0);
    lab->vars = json_object();
    cf_runner_init(&lab->work);
    cf_runner_init(&lab->reader);
    cf_lab__linter_init(lab);
    cf_status st = lab->vars != NULL ? cf_tool_desk_init(&lab->desk, err) : cf_oom(err);
    CF_THEN(st, cf_runner_need_thread(&lab->work, err));
    CF_THEN(st, cf_lab__fresh_conversation(lab, err));
    if (st != CF_OK) {
        cf_lab_free(lab);
        return st;
    }
    *out = lab;
    return CF_OK;
}

void cf_lab_free(cf_lab *lab)
{
    if (lab == NULL) {
        return;
    }
    cf_runner_deinit(&lab->work);
    cf_lab__linter_deinit(lab);
    cf_runner_deinit(&lab->reader);
    cf_lab__free_replies(lab);
    cf_free(lab->replies);
    cf_reply_deinit(&lab->live);
    cf_buf_deinit(&lab->draft);
    json_decref(lab->draft_parts);
    json_decref(lab->draft_message);
    cf_prompt_model_deinit(&lab->prompt);
    cf_media_sheet_deinit(&lab->sheet);
    cf_template_free(lab->own_tpl);
    cf_opened_adapters_close(&lab->adapters);
    cf_buf_deinit(&lab->own_source);
    cf_arena_deinit(&lab->arena);
    cf_arena_deinit(&lab->prompt_arena);
    cf_arena_deinit(&lab->loss_arena);
    cf_free(lab->loss);
    cf_conversation_free(lab->conv);
    cf_lab__rule_drop(lab->rule);
    cf_constraint_vocab_free(lab->vocab);
    json_decref(lab->vars);
    json_decref(lab->server_slots);
    json_decref(lab->vendor);
    json_decref(lab->own_tools);
    cf_tool_desk_deinit(&lab->desk);
    cf_lab__undo_deinit(lab);
    cf_free(lab->notes);
    cf_free(lab->ticked);
    cf_free(lab);
}

void cf_lab_wake_with(cf_lab *lab, int fd)
{
    cf_runner_wake_with(&lab->work, fd);
    cf_runner_wake_with(&lab->linter.runner, fd);
    cf_runner_wake_with(&lab->reader, fd);
}

bool cf_lab_poll(cf_lab *lab, cf_error *err)
{
    cf_error ignored = {0}; /* a lint result has its own error */
    err->code = CF_OK;
    lab->late = (cf_error){0};
    bool has_changed = cf_runner_poll(&lab->linter.runner, &ignored);
    has_changed = cf_runner_poll(&lab->work, err) || has_changed;
    has_changed = cf_runner_poll(&lab->reader, err) || has_changed;
    if (err->code == CF_OK && lab->late.code != CF_OK) {
        *err = lab->late;
    }
    return has_changed;
}

void cf_lab_settle(cf_lab *lab, cf_error *err)
{
    cf_error first = {0};
    while (lab->work.is_on || lab->reader.is_on) {
        cf_runner_wait(lab->work.is_on ? &lab->work : &lab->reader);
        cf_lab_poll(lab, err);
        if (err->code != CF_OK && first.code == CF_OK) {
            first = *err;
        }
    }
    cf_runner_finish(&lab->linter.runner);
    *err = first;
}

bool cf_lab_is_busy(const cf_lab *lab)
{
    return lab->job_is_on;
}

const cf_lab_engine *cf_lab_engine_of(const cf_lab *lab)
{
    return &lab->engine;
}

enum { DEFAULT_CTX = 8192 /* core/api/session.h */ };

size_t cf_lab_context_size(const cf_lab *lab)
{
    const cf_lab_engine *e = cf_lab_engine_of(lab);
    const cf_session *session = e->engine != NULL ? cf_backend_core_session(e->backend) : NULL;
    if (session != NULL) {
        return cf_session_n_ctx(session);
    }
    if (e->session.n_ctx != 0) {
        return e->session.n_ctx;
    }
    if (e->engine == NULL) {
        return cf_lab_info(lab).n_ctx; /* of a server; 0: not known */
    }
    uint32_t trained = cf_engine_get_info(e->engine).n_ctx_train;
    return trained < DEFAULT_CTX ? trained : DEFAULT_CTX;
}

cf_reply_settings *cf_lab_settings(cf_lab *lab)
{
    return &lab->settings;
}

cf_backend_info cf_lab_info(const cf_lab *lab)
{
    return cf_backend_get_info(lab->engine.backend);
}
