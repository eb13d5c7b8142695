/*
 * bench_constrain.c - what the replies to come are held to.
 *
 * A rule is shared by the bench, by the reply that is being written, and by
 * replies that were written under it; whoever drops it last frees it.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "tui/bench_impl.h"
#include "tui/constraint_spec.h"

void cf_bench__rule_drop(cf_bench_rule *rule)
{
    if (rule == NULL || --rule->n_users > 0) {
        return;
    }
    cf_grammar_free(rule->grammar);
    json_decref(rule->spec);
    cf_buf_deinit(&rule->text);
    cf_free(rule);
}

cf_bench_rule *cf_bench__rule_hold(cf_bench_rule *rule)
{
    if (rule != NULL) {
        rule->n_users++;
    }
    return rule;
}

/* Takes `spec` over, whatever comes of it. */
static cf_status new_rule(cf_bench_rule **out, json_t *spec,
                          const cf_tool_set *tools, cf_error *err)
{
    cf_bench_rule *rule = cf_calloc(1, sizeof *rule);
    if (rule == NULL) {
        json_decref(spec);
        return cf_fail(err, CF_ENOMEM, "out of memory for the constraint");
    }
    rule->n_users = 1;
    rule->spec = spec;
    cf_json_write(&rule->text, spec);
    cf_status st = cf_buf_check(&rule->text, err);
    if (st == CF_OK) {
        st = cf_constraint_spec_compile(&rule->grammar, spec, tools, err);
    }
    if (st != CF_OK) {
        cf_bench__rule_drop(rule);
        return st;
    }
    *out = rule;
    return CF_OK;
}

/* "schema weather.json": the words, of a path the last part. */
static void name_rule(cf_bench_rule *rule, const char *words)
{
    size_t n = strcspn(words, " ");
    const char *arg = words + n;
    bool is_file =
        strncmp(words, "schema ", 7) == 0 || strncmp(words, "grammar ", 8) == 0;
    const char *slash = is_file ? strrchr(arg, '/') : NULL;
    cf_buf label = CF_BUF_INIT;
    if (is_file) {
        cf_buf_add(&label, words, n);
        cf_buf_addc(&label, ' ');
        cf_buf_adds(&label, slash != NULL ? slash + 1 : arg + strspn(arg, " "));
    } else {
        cf_constraint_spec_label(rule->spec, &label);
    }
    size_t len =
        label.n < sizeof rule->label ? label.n : sizeof rule->label - 1;
    len -= cf_utf8_incomplete_tail(cf_buf_cstr(&label), len);
    snprintf(rule->label, sizeof rule->label, "%.*s", (int)len,
             cf_buf_cstr(&label));
    cf_buf_deinit(&label);
}

cf_status cf_bench_constrain(cf_bench *bench, const char *words, cf_error *err)
{
    if (strcmp(words, "off") == 0) {
        cf_bench__rule_drop(bench->rule);
        bench->rule = NULL;
        return CF_OK;
    }
    if (!cf_bench_info(bench).can_mask) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "only a model file can be held to a constraint");
    }
    json_t *spec;
    cf_bench_rule *rule = NULL;
    CF_TRY(cf_constraint_spec_parse(&spec, words, bench->engine.family, err));
    CF_TRY(new_rule(&rule, spec, cf_bench_tools(bench), err));
    name_rule(rule, words);
    cf_bench__rule_drop(bench->rule);
    bench->rule = rule;
    return CF_OK;
}

const char *cf_bench_constraint(const cf_bench *bench)
{
    return bench->rule != NULL ? bench->rule->label : "";
}

/* A template that is written in another family calls tools in another way. */
static cf_status follow_family(cf_bench *b, cf_error *err)
{
    const json_t *spec = b->rule->spec;
    if (json_object_get(spec, "tools") == NULL ||
        cf_str_is(cf_json_get_str(spec, "family"),
                  cf_tool_family_name(b->engine.family))) {
        return CF_OK;
    }
    char words[64];
    cf_str mode = cf_json_get_str(spec, "tools");
    snprintf(words, sizeof words, "tools %.*s", (int)mode.n, mode.p);
    return cf_bench_constrain(b, words, err);
}

cf_status cf_bench__use_rule(cf_bench *b, cf_bench_job *job, cf_error *err)
{
    if (b->rule == NULL) {
        return CF_OK;
    }
    CF_TRY(follow_family(b, err));
    job->rule = cf_bench__rule_hold(b->rule);
    job->options.chat.grammar = job->rule->grammar;
    return CF_OK;
}

cf_status cf_bench__need_vocab(cf_bench *b, cf_error *err)
{
    return b->vocab != NULL ? CF_OK
                            : cf_constraint_vocab_from_tokenizer(
                                  &b->vocab, b->engine.tokenizer, err);
}
