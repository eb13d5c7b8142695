/*
 * lab_template.c - another template for the conversation in the workbench.
 *
 * The backend keeps its cache, so that the prompt shows what the change costs.
 */
#include "tui/lab/talk/lab_template.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "templates/chat_template.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/talk_impl.h"

cf_tool_family cf_lab_tool_family(const cf_lab_engine *engine, cf_str source)
{
    cf_str arch = cf_str_make(NULL, 0), model = cf_str_make(NULL, 0);
    const char *why;
    if (engine->engine != NULL) {
        cf_engine_info info = cf_engine_get_info(engine->engine);
        arch = cf_str_from(info.arch);
        model = cf_str_from(info.name);
    }
    return cf_tool_family_detect(source, arch, model, &why);
}

cf_tool_family cf_lab_use_template(cf_backend *backend, const cf_lab_engine *engine,
                                   const cf_template *tpl, cf_str source)
{
    cf_prompt_renderer renderer = tpl != NULL ? cf_renderer_template(tpl) : cf_renderer_plain();
    cf_tool_family family = cf_lab_tool_family(engine, source);
    if (cf_backend_core_session(backend) != NULL) {
        cf_core_options o = {.renderer = renderer, .family = family, .session = engine->session};
        o.channels = cf_channels_detect(source, &o.n_channels);
        cf_backend_core_set(backend, &o);
    } else {
        cf_script_options o = {.renderer = renderer, .family = family};
        o.channels = cf_channels_detect(source, &o.n_channels);
        cf_backend_script_set(backend, &o);
        cf_backend_remote_set(backend, renderer);
    }
    return family;
}

cf_status cf_lab_set_template(cf_lab *lab, const char *name, cf_str source, cf_error *err)
{
    cf_buf was = CF_BUF_INIT;
    cf_str now = lab->engine.template_source;
    char was_name[sizeof lab->talk->tpl.name];
    snprintf(was_name, sizeof was_name, "%s", lab->engine.template_name);
    cf_buf_add(&was, now.p, now.n);
    bool is_other = !cf_str_eq(now, source);
    cf_status st = cf_lab__set_template(lab, name, source, err);
    if (st == CF_OK && is_other && !was.failed) {
        cf_lab_add_undo_template(lab, was_name, cf_buf_str(&was));
    }
    cf_buf_deinit(&was);
    return st;
}

cf_status cf_lab__set_template(cf_lab *lab, const char *name, cf_str source, cf_error *err)
{
    cf_lab_talk *talk = lab->talk;
    CF_TRY(cf_lab_need_idle(lab, err));
    if (!cf_lab_info(lab).shows_prompt) {
        return cf_fail(err, CF_EUNSUPPORTED, "this engine renders its prompt by itself");
    }
    cf_template *tpl = NULL;
    if (source.n != 0) {
        CF_TRY(cf_template_compile(&tpl, source, NULL, NULL, NULL, err));
    }
    cf_buf copy = CF_BUF_INIT;
    cf_buf_add(&copy, source.p, source.n);
    cf_status st = cf_buf_check(&copy, err);
    if (st != CF_OK) {
        cf_template_free(tpl);
        return st;
    }
    cf_str kept = cf_buf_str(&copy);
    lab->engine.family = cf_lab_use_template(lab->engine.backend, &lab->engine, tpl, kept);
    cf_template_free(talk->tpl.own);
    talk->tpl.own = tpl;
    snprintf(talk->tpl.name, sizeof talk->tpl.name, "%s", name);
    cf_buf_deinit(&talk->tpl.source);
    talk->tpl.source = copy;
    lab->engine.template_name = talk->tpl.name;
    lab->engine.template_source = kept;
    cf_role_map roles;
    cf_role_map_init(&roles, kept);
    cf_conversation_set_roles(talk->conv, &roles);
    lab->generation++;
    return CF_OK;
}

void cf_lab_first_template(const cf_lab *lab, const char **name, cf_str *source)
{
    *name = lab->talk->tpl.first_name;
    *source = lab->talk->tpl.first_source;
}

void cf_lab_template_line(const cf_lab *lab, uint32_t line, cf_buf *out)
{
    cf_str s = lab->engine.template_source;
    size_t at = 0;
    for (uint32_t i = 1; i < line && at < s.n; i++) {
        const char *nl = memchr(s.p + at, '\n', s.n - at);
        at = nl != NULL ? (size_t)(nl - s.p) + 1 : s.n;
    }
    if (line == 0 || at >= s.n) {
        return;
    }
    const char *nl = memchr(s.p + at, '\n', s.n - at);
    size_t end = nl != NULL ? (size_t)(nl - s.p) : s.n;
    while (at < end && (s.p[at] == ' ' || s.p[at] == '\t')) {
        at++;
    }
    cf_buf_add(out, s.p + at, end - at);
}

const char *cf_lab_template_name(const cf_lab *lab)
{
    return lab->engine.template_name;
}
