/*
 * lab_constraint.c - the constraint of the replies to come.
 */
#include "tui/lab/talk/lab_constraint.h"

#include <stdio.h>
#include <string.h>

#include "core/api/constraint_spec.h"
#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/talk_impl.h"

static cf_status new_rule(cf_lab_rule **out, json_t *spec, const cf_tool_set *tools, cf_error *err)
{
    cf_lab_rule *rule = cf_lab_rule_new(spec);
    if (rule == NULL) {
        return cf_oom_for(err, "the constraint");
    }
    cf_json_write(&rule->text, spec);
    cf_status st = cf_buf_check(&rule->text, err);
    CF_THEN(st, cf_constraint_spec_compile(&rule->grammar, spec, tools, err));
    if (st != CF_OK) {
        cf_lab_rule_drop(rule);
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
    cf_lab_rule_set_label(rule, &label);
    cf_buf_deinit(&label);
}

/* ---- of replies to come ------------------------------------------------- */

cf_status cf_lab_constrain(cf_lab *lab, const char *words, cf_error *err)
{
    cf_lab_talk *talk = lab->talk;
    if (strcmp(words, "off") == 0) {
        cf_lab_rule_drop(talk->rule);
        talk->rule = NULL;
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
    cf_lab_rule_drop(talk->rule);
    talk->rule = rule;
    return CF_OK;
}

const char *cf_lab_constraint(const cf_lab *lab)
{
    return lab->talk->rule != NULL ? lab->talk->rule->label : "";
}

/* Another template may call tools in the syntax of another family. */
static cf_status follow_family(cf_lab *lab, cf_error *err)
{
    const json_t *spec = lab->talk->rule->spec;
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
    if (lab->talk->rule == NULL) {
        return CF_OK;
    }
    CF_TRY(follow_family(lab, err));
    job->rule = cf_lab_rule_hold(lab->talk->rule);
    job->options.chat.constraint = job->rule->spec;
    if (cf_lab_info(lab).can_mask) {
        job->options.chat.grammar = job->rule->grammar;
    }
    return CF_OK;
}

cf_status cf_lab_vocab(cf_lab *lab, cf_constraint_vocab **out, cf_error *err)
{
    cf_constraint_vocab **v = &lab->talk->vocab;
    if (*v == NULL) {
        CF_TRY(cf_constraint_vocab_from_tokenizer(v, lab->engine.tokenizer, err));
    }
    *out = *v;
    return CF_OK;
}

cf_status cf_lab__ready_rule(cf_lab *lab, cf_lab_job *job, cf_error *err)
{
    if (job->rule == NULL || job->options.chat.grammar == NULL) {
        return CF_OK; /* a server has no vocabulary here */
    }
    cf_constraint_vocab *vocab = NULL;
    CF_TRY(cf_lab_vocab(lab, &vocab, err));
    job->options.chat.vocab = vocab;
    return CF_OK;
}
