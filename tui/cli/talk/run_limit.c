/*
 * run_limit.c - makes the constraint of a reply out of options.
 */
#include "tui/cli/talk/run_limit.h"

#include <string.h>

#include "core/api/constraint_spec.h"

static cf_status choices_spec(const cf_run_limit *l, json_t **out, cf_error *err)
{
    json_t *list = json_array();
    for (size_t i = 0; i < l->choices.n; i++) {
        if (json_array_append_new(list, json_string(l->choices.v[i])) != 0) {
            json_decref(list);
            return cf_fail(err, CF_EINVAL, "--choice: the text is not UTF-8");
        }
    }
    *out = json_pack("{s:o}", "choices", list);
    return *out != NULL ? CF_OK : cf_oom(err);
}

/* The request, as the history keeps it. */
static cf_status make_spec(const cf_run_limit *l, json_t **out, cf_tool_family family,
                           cf_error *err)
{
    if (l->schema != NULL) {
        return cf_constraint_spec_file(out, "schema", l->schema, err);
    }
    if (l->grammar_path != NULL) {
        return cf_constraint_spec_file(out, "grammar", l->grammar_path, err);
    }
    if (l->choices.n > 0) {
        return choices_spec(l, out, err);
    }
    cf_buf words = CF_BUF_INIT;
    cf_buf_addf(&words, "%s %s", l->regex != NULL ? "regex" : "tools",
                l->regex != NULL ? l->regex : l->tool_mode);
    cf_status st = cf_buf_check(&words, err);
    CF_THEN(st, cf_constraint_spec_parse(out, cf_buf_cstr(&words), family, err));
    cf_buf_deinit(&words);
    return st;
}

cf_status cf_run_limit_make(cf_run_limit *l, const cf_cli *cli, const cf_conversation *conv,
                            cf_error *err)
{
    int n = (l->schema != NULL) + (l->regex != NULL) + (l->choices.n > 0) +
            (l->grammar_path != NULL) + (l->tool_mode != NULL);
    const bool is_server = strcmp(cf_backend_get_info(cli->opened.backend).kind, "openai") == 0;
    if (n == 0) {
        return CF_OK;
    }
    if (n > 1) {
        return cf_fail(err, CF_EINVAL,
                       "give one of --schema, --regex, --choice, --grammar "
                       "and --constrain-tools");
    }
    if (cli->opened.engine == NULL && !is_server) {
        return cf_fail(err, CF_EUNSUPPORTED, "only a model file or a server can be constrained");
    }
    CF_TRY(make_spec(l, &l->spec, cli->opened.family, err));
    cf_json_write(&l->constraint, l->spec);
    CF_TRY(cf_buf_check(&l->constraint, err));
    if (is_server) {
        return CF_OK; /* in the server's form, by the backend */
    }
    CF_TRY(cf_constraint_spec_compile(&l->grammar, l->spec, cf_conversation_tools(conv), err));
    return cf_constraint_vocab_from_tokenizer(&l->vocab, cf_engine_tokenizer(cli->opened.engine),
                                              err);
}

bool cf_run_limit_is_asked(const cf_run_limit *l)
{
    return l->schema != NULL || l->regex != NULL || l->choices.n > 0 || l->grammar_path != NULL ||
           l->tool_mode != NULL;
}

void cf_run_limit_deinit(cf_run_limit *l)
{
    json_decref(l->spec);
    cf_constraint_vocab_free(l->vocab);
    cf_grammar_free(l->grammar);
    cf_buf_deinit(&l->constraint);
}
