/*
 * reply_rule.c - what constrains a reply.
 */
#include "tui/lab/reply/reply_rule.h"

#include <stdio.h>

#include "core/api/constraint_spec.h"
#include "core/base/alloc.h"
#include "core/base/utf8.h"

void cf_lab_rule_drop(cf_lab_rule *rule)
{
    if (rule == NULL || --rule->n_users > 0) {
        return;
    }
    cf_grammar_free(rule->grammar);
    json_decref(rule->spec);
    json_decref(rule->tools);
    cf_buf_deinit(&rule->text);
    cf_free(rule);
}

cf_lab_rule *cf_lab_rule_hold(cf_lab_rule *rule)
{
    if (rule != NULL) {
        rule->n_users++;
    }
    return rule;
}

void cf_lab_rule_set_label(cf_lab_rule *rule, const cf_buf *text)
{
    size_t n = text->n < sizeof rule->label ? text->n : sizeof rule->label - 1;
    n -= cf_utf8_incomplete_tail(cf_buf_cstr(text), n);
    snprintf(rule->label, sizeof rule->label, "%.*s", (int)n, cf_buf_cstr(text));
}

/* Takes `spec` over, whatever comes of it; NULL when memory ran out. */
cf_lab_rule *cf_lab_rule_new(json_t *spec)
{
    cf_lab_rule *rule = cf_calloc(1, sizeof *rule);
    if (rule == NULL) {
        json_decref(spec);
        return NULL;
    }
    rule->n_users = 1;
    rule->spec = spec;
    return rule;
}

static json_t *stored_tools(const cf_store_run *run)
{
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && i < run->n_tools; i++) {
        json_t *tool;
        if (cf_json_read(&tool, run->tools[i].p, run->tools[i].n, NULL) != CF_OK ||
            json_array_append_new(list, tool) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

cf_lab_rule *cf_lab_rule_stored(const cf_store_run *run)
{
    json_t *spec;
    if (run->constraint_spec.n == 0 ||
        cf_json_read(&spec, run->constraint_spec.p, run->constraint_spec.n, NULL) != CF_OK) {
        return NULL;
    }
    cf_lab_rule *rule = cf_lab_rule_new(spec);
    if (rule != NULL) {
        cf_buf label = CF_BUF_INIT;
        rule->tools = stored_tools(run);
        cf_constraint_spec_label(spec, &label);
        cf_lab_rule_set_label(rule, &label);
        cf_buf_deinit(&label);
    }
    return rule;
}

cf_status cf_lab_rule_compile(cf_lab_rule *rule, cf_error *err)
{
    cf_tool_set *tools = NULL;
    if (rule->grammar != NULL) {
        return CF_OK;
    }
    cf_status st = rule->tools != NULL ? cf_tool_set_new(&tools, rule->tools, err) : CF_OK;
    CF_THEN(st, cf_constraint_spec_compile(&rule->grammar, rule->spec, tools, err));
    cf_tool_set_free(tools);
    return st;
}

const char *cf_reply_constraint(const cf_reply *reply)
{
    return reply->rule != NULL ? reply->rule->label : "";
}
