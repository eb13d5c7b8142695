/*
 * lab_constraint.c - the constraint of the replies to come.
 *
 * A rule is shared by the workbench, by the reply that is being written, and by
 * replies that were written under it; whoever drops it last frees it.
 */
#include <stdio.h>
#include <string.h>

#include "core/api/constraint_spec.h"
#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "tui/lab/state/lab_impl.h"

void cf_lab__rule_drop(cf_lab_rule *rule)
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

cf_lab_rule *cf_lab__rule_hold(cf_lab_rule *rule)
{
    if (rule != NULL) {
        rule->n_users++;
    }
    return rule;
}

static void set_label(cf_lab_rule *rule, const cf_buf *text)
{
    size_t n = text->n < sizeof rule->label ? text->n : sizeof rule->label - 1;
    n -= cf_utf8_incomplete_tail(cf_buf_cstr(text), n);
    snprintf(rule->label, sizeof rule->label, "%.*s", (int)n, cf_buf_cstr(text));
}

/* Takes `spec` over, whatever comes of it; NULL when memory ran out. */
static cf_lab_rule *rule_of(json_t *spec)
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

static cf_status new_rule(cf_lab_rule **out, json_t *spec, const cf_tool_set *tools, cf_error *err)
{
    cf_lab_rule *rule = rule_of(spec);
    if (rule == NULL) {
        return cf_oom_for(err, "the constraint");
    }
    cf_json_write(&rule->text, spec);
    cf_status st = cf_buf_check(&rule->text, err);
    CF_THEN(st, cf_constraint_spec_compile(&rule->grammar, spec, tools, err));
    if (st != CF_OK) {
        cf_lab__rule_drop(rule);
        return st;
    }
    *out = rule;
    return CF_OK;
}

/* "schema weather.json": the words, of a path the last part. */
static void name_rule(cf_lab_rule *rule, const char *words)
{
    size_t n = strcspn(words, " ");
    const char *arg = words + n;
    bool is_file = strncmp(words, "schema ", 7) == 0 || strncmp(words, "grammar ", 8) == 0;
    const char *slash = is_file ? strrchr(arg, '/') : NULL;
    cf_buf label = CF_BUF_INIT;
    if (is_file) {
        cf_buf_add(&label, words, n);
        cf_buf_addc(&label, ' ');
        cf_buf_adds(&label, slash != NULL ? slash + 1 : arg + strspn(arg, " "));
    } else {
        cf_constraint_spec_label(rule->spec, &label);
    }
    set_label(rule, &label);
    cf_buf_deinit(&label);
}

/* ---- of stored replies -------------------------------------------------- */

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

cf_lab_rule *cf_lab__rule_stored(const cf_store_run *run)
{
    json_t *spec;
    if (run->constraint_spec.n == 0 ||
        cf_json_read(&spec, run->constraint_spec.p, run->constraint_spec.n, NULL) != CF_OK) {
        return NULL;
    }
    cf_lab_rule *rule = rule_of(spec);
    if (rule != NULL) {
        cf_buf label = CF_BUF_INIT;
        rule->tools = stored_tools(run);
        cf_constraint_spec_label(spec, &label);
        set_label(rule, &label);
        cf_buf_deinit(&label);
    }
    return rule;
}

cf_status cf_lab__rule_compile(cf_lab_rule *rule, cf_error *err)
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

/* ---- of replies to come ------------------------------------------------- */

cf_status cf_lab_constrain(cf_lab *lab, const char *words, cf_error *err)
{
    if (strcmp(words, "off") == 0) {
        cf_lab__rule_drop(lab->rule);
        lab->rule = NULL;
        return CF_OK;
    }
    const cf_backend_info info = cf_lab_info(lab);
    if (!info.can_mask && !info.can_constrain) {
        return cf_fail(err, CF_EUNSUPPORTED, "only a model file or a server can be constrained");
    }
    json_t *spec;
    cf_lab_rule *rule = NULL;
    CF_TRY(cf_constraint_spec_parse(&spec, words, lab->engine.family, err));
    CF_TRY(new_rule(&rule, spec, cf_lab_tools(lab), err));
    name_rule(rule, words);
    cf_lab__rule_drop(lab->rule);
    lab->rule = rule;
    return CF_OK;
}

const char *cf_lab_constraint(const cf_lab *lab)
{
    return lab->rule != NULL ? lab->rule->label : "";
}

/* Another template may call tools in the syntax of another family. */
static cf_status follow_family(cf_lab *lab, cf_error *err)
{
    const json_t *spec = lab->rule->spec;
    if (json_object_get(spec, "tools") == NULL ||
        cf_str_is(cf_json_get_str(spec, "family"), cf_tool_family_name(lab->engine.family))) {
        return CF_OK;
    }
    char words[64];
    cf_str mode = cf_json_get_str(spec, "tools");
    snprintf(words, sizeof words, "tools %.*s", (int)mode.n, mode.p);
    return cf_lab_constrain(lab, words, err);
}

cf_status cf_lab__use_rule(cf_lab *lab, cf_lab_job *job, cf_error *err)
{
    if (lab->rule == NULL) {
        return CF_OK;
    }
    CF_TRY(follow_family(lab, err));
    job->rule = cf_lab__rule_hold(lab->rule);
    job->options.chat.constraint = job->rule->spec;
    if (cf_lab_info(lab).can_mask) {
        job->options.chat.grammar = job->rule->grammar;
    }
    return CF_OK;
}

cf_status cf_lab__need_vocab(cf_lab *lab, cf_error *err)
{
    return lab->vocab != NULL
               ? CF_OK
               : cf_constraint_vocab_from_tokenizer(&lab->vocab, lab->engine.tokenizer, err);
}
