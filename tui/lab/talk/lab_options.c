/*
 * lab_options.c - the settings and variables as a send takes them.
 */
#include "tui/lab/talk/lab_options.h"

#include <stdio.h>
#include <string.h>

#include "tui/lab/talk/talk_impl.h"

cf_turn_options cf_lab_options(cf_lab *lab)
{
    cf_turn_options o = {.extra_context = lab->talk->vars};
    o.chat = lab->settings.chat;
    o.chat.n_top = lab->settings.trace ? lab->settings.trace_top : 0;
    if (lab->engine.engine == NULL && cf_reply_settings_is_default(&lab->settings, "trace") &&
        cf_reply_settings_is_default(&lab->settings, "trace_top")) {
        o.chat.n_top = 0; /* a server is asked for nothing by itself */
    }
    if (strcmp(lab->talk->vendor_text, lab->settings.extra) != 0) {
        snprintf(lab->talk->vendor_text, sizeof lab->talk->vendor_text, "%s", lab->settings.extra);
        json_decref(lab->talk->vendor);
        lab->talk->vendor = json_loads(lab->talk->vendor_text, 0, NULL);
    }
    o.chat.vendor = lab->talk->vendor;
    return o;
}

cf_status cf_lab_set_var(cf_lab *lab, const char *text, cf_error *err)
{
    const char *eq = strchr(text, '=');
    if (lab->is_writing) {
        return cf_fail(err, CF_EBUSY, "a reply is being written; Esc stops it");
    }
    if (eq == NULL || eq == text) {
        return cf_fail(err, CF_EINVAL, "a variable is set as NAME=JSON");
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(eq - text < 63 ? eq - text : 63), text);
    lab->generation++;
    if (eq[1] == '\0') {
        json_object_del(lab->talk->vars, name);
        return CF_OK;
    }
    json_t *value;
    CF_TRY(cf_json_read(&value, eq + 1, strlen(eq + 1), err));
    if (json_object_set_new(lab->talk->vars, name, value) != 0) {
        return cf_oom(err);
    }
    return CF_OK;
}

const json_t *cf_lab_vars(const cf_lab *lab)
{
    return lab->talk->vars;
}
