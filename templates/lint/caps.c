/*
 * caps.c - what a template can do, by what its renders show.
 */
#include <string.h>

#include "templates/lint/lint_impl.h"

const char *cf_cap_name(cf_cap cap)
{
    static const char *const names[] = {"no", "dropped", "merged", "yes"};
    return names[cap];
}

/* Whether `word` reaches the prompt of the conversation `letters`. */
static cf_status shows(const cf_prober *p, const char *letters, unsigned flags,
                       const char *word, cf_cap *out, cf_error *err)
{
    cf_shot s;
    CF_TRY(cf_probe(p, letters, flags, &s, err));
    *out = s.status != CF_OK       ? CF_CAP_NO
           : cf_shot_has(&s, word) ? CF_CAP_YES
                                   : CF_CAP_DROPPED;
    cf_shot_free(&s);
    return CF_OK;
}

static cf_status differ(const cf_prober *p, const char *letters, unsigned a,
                        unsigned b, bool *out, cf_error *err)
{
    cf_shot one, two;
    CF_TRY(cf_probe(p, letters, a, &one, err));
    cf_status st = cf_probe(p, letters, b, &two, err);
    if (st == CF_OK) {
        *out = one.status == CF_OK && two.status == CF_OK &&
               !cf_str_eq(one.render.prompt.text, two.render.prompt.text);
        cf_shot_free(&two);
    }
    cf_shot_free(&one);
    return st;
}

/* A system text is merged when no template text stands between it and the
 * user's words but blanks: both are in one turn. */
static cf_status system_role(const cf_prober *p, cf_cap *out, cf_error *err)
{
    cf_shot s;
    CF_TRY(shows(p, "su", CF_PROBE_GENERATE, CF_PROBE_SYSTEM, out, err));
    if (*out != CF_CAP_YES) {
        return CF_OK;
    }
    CF_TRY(cf_probe(p, "su", CF_PROBE_GENERATE, &s, err));
    size_t from = cf_shot_find(&s, CF_PROBE_SYSTEM) + strlen(CF_PROBE_SYSTEM);
    size_t to = cf_shot_find(&s, CF_PROBE_USER);
    bool is_merged = to != SIZE_MAX && from < to;
    for (size_t i = from; is_merged && i < to; i++) {
        char c = s.render.prompt.text.p[i];
        is_merged = c == ' ' || c == '\n' || c == '\t';
    }
    /* Llama 2's mark closes the system text inside the user's turn. */
    cf_str between = cf_str_make(s.render.prompt.text.p + from,
                                 to > from && to != SIZE_MAX ? to - from : 0);
    static const char mark[] = "<</SYS>>";
    for (size_t i = 0; !is_merged && i + sizeof mark - 1 <= between.n; i++) {
        is_merged = memcmp(between.p + i, mark, sizeof mark - 1) == 0;
    }
    *out = is_merged ? CF_CAP_MERGED : CF_CAP_YES;
    cf_shot_free(&s);
    return CF_OK;
}

static cf_status bos_and_blocks(const cf_prober *p, cf_template_caps *c,
                                cf_error *err)
{
    cf_shot s;
    CF_TRY(cf_probe(p, "ua", 0, &s, err));
    cf_str bos = p->options->bos.n != 0 ? p->options->bos : cf_str_from("<s>");
    c->uses_bos = s.status == CF_OK && cf_str_starts(s.render.prompt.text, bos);
    c->has_generation_blocks = s.status == CF_OK && s.render.has_generation;
    cf_shot_free(&s);
    CF_TRY(cf_probe(p, "uU", CF_PROBE_GENERATE, &s, err));
    c->needs_alternation = cf_shot_is_refused(&s);
    cf_shot_free(&s);
    return CF_OK;
}

cf_status cf_lint__caps(const cf_prober *p, cf_template_caps *c, cf_error *err)
{
    const unsigned tools = CF_PROBE_TOOLS | CF_PROBE_GENERATE;
    const unsigned gen = CF_PROBE_GENERATE;
    *c = (cf_template_caps){0};
    CF_TRY(system_role(p, &c->system, err));
    CF_TRY(shows(p, "du", gen, CF_PROBE_SYSTEM, &c->developer, err));
    CF_TRY(shows(p, "uo", gen, CF_PROBE_USER2, &c->unknown_role, err));
    CF_TRY(shows(p, "p", gen, CF_PROBE_USER, &c->typed_content, err));
    CF_TRY(shows(p, "unt", tools, CF_PROBE_ARGUMENT, &c->null_content, err));
    CF_TRY(shows(p, "u", tools, CF_PROBE_TOOL, &c->tools, err));
    CF_TRY(shows(p, "uct", tools, CF_PROBE_ARGUMENT, &c->tool_calls, err));
    CF_TRY(shows(p, "ujt", tools, CF_PROBE_ARGUMENT, &c->string_args, err));
    CF_TRY(shows(p, "uct", tools, CF_PROBE_RESULT, &c->tool_role, err));
    CF_TRY(shows(p, "umtt", tools, "Bergenprobe", &c->several_calls, err));
    CF_TRY(shows(p, "uct", tools, CF_PROBE_ID, &c->call_ids, err));
    CF_TRY(
        shows(p, "ur", CF_PROBE_THINK, CF_PROBE_THOUGHT, &c->reasoning, err));
    CF_TRY(shows(p, "urU", gen | CF_PROBE_THINK, CF_PROBE_THOUGHT,
                 &c->reasoning_history, err));
    CF_TRY(differ(p, "u", gen | CF_PROBE_THINK, gen | CF_PROBE_NO_THINK,
                  &c->thinking_switch, err));
    CF_TRY(differ(p, "u", gen, 0, &c->generation_prompt, err));
    return bos_and_blocks(p, c, err);
}

cf_status cf_template_get_caps(const cf_template *tpl, cf_arena *arena,
                               cf_template_caps *out, cf_error *err)
{
    const cf_lint_options none = {0};
    cf_prober p = {tpl, &none, arena};
    return cf_lint__caps(&p, out, err);
}
