/*
 * lab.c - the workbench from its start to its end, and what its threads bring
 * back.
 */
#include "tui/lab/lab.h"

#include "core/base/alloc.h"
#include "tui/lab/prompt/prompt_impl.h"
#include "tui/lab/state/lab_marks.h"
#include "tui/lab/talk/talk_impl.h"
#include "tui/lab/tools/lab_tools.h"

cf_status cf_lab_new(cf_lab **out, const cf_lab_engine *engine, cf_store *store, cf_error *err)
{
    cf_lab *lab = cf_calloc(1, sizeof *lab);
    if (lab == NULL) {
        return cf_oom(err);
    }
    lab->engine = *engine;
    lab->store = store;
    cf_reply_settings_init(&lab->settings);
    lab->settings.chat.sampling = engine->sampling;
    lab->settings.chat.has_sampling = engine->has_sampling;
    lab->settings.chat.has_asked = true;
    lab->settings.chat.asked = engine->asked;
    lab->settings.chat.max_tokens = engine->max_tokens;
    lab->settings.chat.as_is = engine->as_is;
    cf_runner_init(&lab->work);
    cf_runner_init(&lab->reader);
    cf_runner_init(&lab->lints);
    cf_status st = cf_runner_need_thread(&lab->work, err);
    CF_THEN(st, cf_lab_talk_open(lab, err));
    CF_THEN(st, cf_lab_prompt_open(lab, err));
    CF_THEN(st, cf_lab_linter_open(lab, err));
    CF_THEN(st, cf_lab_tools_open(lab, err));
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
    cf_runner_deinit(&lab->lints);
    cf_runner_deinit(&lab->reader);
    cf_lab_tools_close(lab);
    cf_lab_linter_close(lab);
    cf_lab_prompt_close(lab);
    cf_lab_talk_close(lab);
    cf_lab_untick_all(lab);
    cf_free(lab->marks.choice);
    cf_free(lab->marks.ticked);
    cf_free(lab);
}

void cf_lab_wake_with(cf_lab *lab, int fd)
{
    cf_runner_wake_with(&lab->work, fd);
    cf_runner_wake_with(&lab->lints, fd);
    cf_runner_wake_with(&lab->reader, fd);
}

bool cf_lab_poll(cf_lab *lab, cf_error *err)
{
    cf_error ignored = {0}; /* a lint result has its own error */
    err->code = CF_OK;
    lab->late = (cf_error){0};
    bool has_changed = cf_runner_poll(&lab->lints, &ignored);
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
    cf_runner_finish(&lab->lints);
    *err = first;
}
