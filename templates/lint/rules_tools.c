/*
 * rules_tools.c - E006 W003 W006: calls and results.
 */
#include <string.h>

#include "templates/lint/lint_impl.h"

/* The bytes of the reply: from the end of the prompt to the end. */
static cf_str reply_part(const cf_shot *prompt, const cf_shot *history)
{
    cf_str all = history->render.prompt.text;
    size_t from = cf_lint__diverge(prompt->render.prompt.text, all);
    /* Two marks may begin alike: "<think>", "<tool_call>". */
    size_t mark = from;
    while (mark > 0 && from - mark < 24 && all.p[mark - 1] != '>' && all.p[mark - 1] != '\n' &&
           all.p[mark - 1] != '<') {
        mark--;
    }
    if (from < all.n && mark > 0 && all.p[mark - 1] == '<') {
        from = mark - 1;
    }
    return cf_str_make(all.p + from, all.n - from);
}

/* Parses the rendered reply; *is_same says whether its one call came back. */
static cf_status parse_back(const cf_linter *l, cf_str raw, bool *is_same, cf_error *err)
{
    cf_tool_parser *parser;
    const cf_tool_parse *parse = NULL;
    CF_TRY(cf_tool_parser_new(&parser, l->report->family, NULL, NULL, NULL, err));
    cf_status st = cf_tool_parser_feed(parser, raw.p, raw.n, err);
    CF_THEN(st, cf_tool_parser_finish(parser, &parse, err));
    *is_same = false;
    if (st == CF_OK && parse->n_calls == 1) {
        cf_str city = cf_json_get_str(parse->calls[0].json, "city");
        *is_same =
            cf_str_is(parse->calls[0].name, CF_PROBE_TOOL) && cf_str_is(city, CF_PROBE_ARGUMENT);
    }
    cf_tool_parser_free(parser);
    return st;
}

cf_status cf_lint__round_trip(cf_linter *l, cf_error *err)
{
    cf_shot prompt, history = {0};
    if (!cf_cap_is_written(l->report->caps.tool_calls) || l->report->family == CF_TOOLS_NONE ||
        l->report->family == CF_TOOLS_GENERIC) {
        return CF_OK; /* the syntax of its calls is unknown */
    }
    const unsigned flags = CF_PROBE_TOOLS;
    CF_TRY(cf_probe(&l->prober, "u", flags | CF_PROBE_GENERATE, &prompt, err));
    cf_status st = cf_probe(&l->prober, "uc", flags, &history, err);
    if (st == CF_OK && prompt.status == CF_OK && history.status == CF_OK) {
        bool is_same;
        cf_str raw = reply_part(&prompt, &history);
        st = parse_back(l, raw, &is_same, err);
        if (st == CF_OK && !is_same) {
            st = cf_lint__add(l, &history, cf_shot_find(&history, CF_PROBE_ARGUMENT), err,
                              "the %s parser does not read back '%.*s'",
                              cf_tool_family_name(l->report->family),
                              (int)(raw.n < 120 ? raw.n : 120), raw.p);
        }
    }
    cf_shot_free(&l->prober, &prompt);
    cf_shot_free(&l->prober, &history);
    return st;
}

/* Whether text[from..to) holds the word `user` on its own. */
static bool has_user_word(cf_str text, size_t from, size_t to)
{
    for (size_t i = from; i + 4 <= to; i++) {
        bool begins = i == 0 || text.p[i - 1] < 'a' || text.p[i - 1] > 'z';
        bool ends = i + 4 == text.n || text.p[i + 4] < 'a' || text.p[i + 4] > 'z';
        if (begins && ends && memcmp(text.p + i, "user", 4) == 0) {
            return true;
        }
    }
    return false;
}

cf_status cf_lint__result_role(cf_linter *l, cf_error *err)
{
    cf_shot s;
    cf_status st = CF_OK;
    if (!cf_cap_is_written(l->report->caps.tool_role)) {
        return CF_OK;
    }
    CF_TRY(cf_probe(&l->prober, "uct", CF_PROBE_TOOLS, &s, err));
    if (s.status == CF_OK) {
        size_t result = cf_shot_find(&s, CF_PROBE_RESULT);
        size_t call = cf_shot_find(&s, CF_PROBE_ARGUMENT);
        if (call != SIZE_MAX && result != SIZE_MAX && call < result &&
            has_user_word(s.render.prompt.text, call, result)) {
            st = cf_lint__add(l, &s, result, err, "the result is in a turn of the user");
        }
    }
    cf_shot_free(&l->prober, &s);
    return st;
}

cf_status cf_lint__escaping(cf_linter *l, cf_error *err)
{
    cf_shot s;
    cf_status st = CF_OK;
    CF_TRY(cf_probe(&l->prober, "uct", CF_PROBE_TOOLS, &s, err));
    size_t at = cf_shot_find(&s, "\\\"" CF_PROBE_ARGUMENT);
    if (at != SIZE_MAX) {
        st = cf_lint__add(l, &s, at, err,
                          "the arguments of a call are shown as an escaped "
                          "string");
    }
    cf_shot_free(&l->prober, &s);
    return st;
}
