/*
 * rules_basic.c - E001 E002 E004 E005 W004 W005 W007: the start and the end of
 * a prompt, crashes, reasoning, the system role.
 */
#include <string.h>

#include "templates/lint/lint_impl.h"

cf_status cf_lint__bos_twice(cf_linter *l, cf_error *err)
{
    cf_shot s;
    cf_status st = CF_OK;
    cf_str bos = cf_probe_bos(&l->prober);
    CF_TRY(cf_probe(&l->prober, "u", CF_PROBE_GENERATE, &s, err));
    cf_str text = s.render.prompt.text;
    if (s.status == CF_OK && cf_str_starts(text, bos) &&
        cf_str_starts(cf_str_make(text.p + bos.n, text.n - bos.n), bos)) {
        st = cf_lint__add(l, &s, bos.n, err, "the prompt begins with '%.*s' twice", (int)bos.n,
                          bos.p);
    }
    cf_shot_free(&l->prober, &s);
    return st;
}

cf_status cf_lint__bos_missing(cf_linter *l, cf_error *err)
{
    cf_shot s;
    cf_status st = CF_OK;
    cf_str bos = cf_probe_bos(&l->prober);
    if (l->tokenizer == NULL || !cf_tokenizer_special(l->tokenizer).add_bos) {
        return CF_OK;
    }
    CF_TRY(cf_probe(&l->prober, "u", CF_PROBE_GENERATE, &s, err));
    if (s.status == CF_OK && !cf_str_starts(s.render.prompt.text, bos)) {
        st = cf_lint__add(l, &s, 0, err,
                          "the model wants '%.*s' first, the prompt does not "
                          "begin with it",
                          (int)bos.n, bos.p);
    }
    cf_shot_free(&l->prober, &s);
    return st;
}

static bool is_blank(cf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != ' ' && s.p[i] != '\n' && s.p[i] != '\t') {
            return false;
        }
    }
    return true;
}

/* The history up to a reply must begin with the prompt that asked for it. */
static cf_status compare_prompts(cf_linter *l, const cf_shot *without, const cf_shot *with,
                                 const cf_shot *history, cf_error *err)
{
    cf_str asks = with->render.prompt.text;
    cf_str plain = without->render.prompt.text;
    size_t reply = cf_shot_find(history, CF_PROBE_ASSISTANT);
    size_t off = cf_lint__diverge(plain, asks);
    if (off < plain.n) {
        return cf_lint__add(l, with, off < asks.n ? off : asks.n - 1, err,
                            "add_generation_prompt changes byte %zu of the "
                            "history: it is not a suffix",
                            off);
    }
    if (asks.n != plain.n || reply == SIZE_MAX || reply < asks.n) {
        return CF_OK;
    }
    cf_str head = cf_str_make(history->render.prompt.text.p + asks.n, reply - asks.n);
    if (!is_blank(head)) {
        return cf_lint__add(l, with, asks.n - 1, err,
                            "add_generation_prompt changes nothing, but "
                            "replies in the history begin with '%.*s'",
                            (int)(head.n < 40 ? head.n : 40), head.p);
    }
    return CF_OK;
}

cf_status cf_lint__generation_prompt(cf_linter *l, cf_error *err)
{
    cf_shot with, without = {0}, history = {0};
    CF_TRY(cf_probe(&l->prober, "u", CF_PROBE_GENERATE, &with, err));
    cf_status st = cf_probe(&l->prober, "u", 0, &without, err);
    CF_THEN(st, cf_probe(&l->prober, "ua", 0, &history, err));
    if (st == CF_OK && with.status == CF_OK && without.status == CF_OK && history.status == CF_OK &&
        with.render.prompt.text.n != 0) {
        st = compare_prompts(l, &without, &with, &history, err);
    }
    cf_shot_free(&l->prober, &with);
    cf_shot_free(&l->prober, &without);
    cf_shot_free(&l->prober, &history);
    return st;
}

cf_status cf_lint__last_blank(cf_linter *l, cf_error *err)
{
    cf_shot s;
    cf_status st = CF_OK;
    CF_TRY(cf_probe(&l->prober, "u", CF_PROBE_GENERATE, &s, err));
    cf_str text = s.render.prompt.text;
    char last = s.status == CF_OK && text.n != 0 ? text.p[text.n - 1] : 'x';
    if (last == ' ' || last == '\t') {
        st = cf_lint__add(l, &s, text.n - 1, err, "the prompt ends with a %s",
                          last == ' ' ? "space" : "tab");
    }
    cf_shot_free(&l->prober, &s);
    return st;
}

/* A source that does not compile, unless W009 names the reason. */
static cf_status report_broken(cf_linter *l, cf_error *err)
{
    if (cf_lint__is_left_out(l)) {
        return CF_OK;
    }
    return cf_lint__add_at(l, l->why.line, l->why.col, err, "does not compile: %s", l->why_text);
}

cf_status cf_lint__crashes(cf_linter *l, cf_error *err)
{
    if (l->prober.tpl == NULL) {
        return report_broken(l, err);
    }
    if (l->prober.is_spent) {
        const cf_error *why = &l->prober.why;
        return cf_lint__add_at(l, why->line, why->col, err,
                               "a short conversation reaches a limit, and "
                               "nothing more was tried: %.200s",
                               why->text);
    }
    static const struct {
        const char *letters, *what;
        bool needs_tools; /* applies only if the template knows tool calls */
    } cases[] = {
        {"u", "a user message", false},
        {"ua", "a reply", false},
        {"", "an empty list of messages", false},
        {"uax", "content that is null", false},
        {"un", "a tool call whose content is null", true},
        {"uk", "a tool call without content", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cf_shot s;
        if (cases[i].needs_tools && !cf_cap_is_written(l->report->caps.tool_calls)) {
            continue;
        }
        CF_TRY(cf_probe(&l->prober, cases[i].letters, CF_PROBE_TOOLS, &s, err));
        cf_status st = CF_OK;
        if (s.status != CF_OK && !cf_shot_is_refused(&s)) {
            st = cf_lint__add(l, &s, SIZE_MAX, err, "%s ends in an error: %.200s", cases[i].what,
                              s.err.text);
        }
        cf_shot_free(&l->prober, &s);
        CF_TRY(st);
    }
    return CF_OK;
}

cf_status cf_lint__system(cf_linter *l, cf_error *err)
{
    static const char *const words[] = {[CF_CAP_NO] = "refused",
                                        [CF_CAP_DROPPED] = "dropped",
                                        [CF_CAP_GARBLED] = "written as the source text of a value",
                                        [CF_CAP_MERGED] = "merged into the user's turn"};
    cf_cap cap = l->report->caps.system;
    if (cap == CF_CAP_YES) {
        return CF_OK;
    }
    cf_shot s;
    CF_TRY(cf_probe(&l->prober, "su", CF_PROBE_GENERATE, &s, err));
    cf_status st = cf_lint__add(l, &s, cf_shot_find(&s, CF_PROBE_SYSTEM), err,
                                "a system message is %s", words[cap]);
    cf_shot_free(&l->prober, &s);
    return st;
}

/* An opened and closed think block with nothing but blanks between. */
static size_t empty_think(cf_str text)
{
    static const char open[] = "<think>", close[] = "</think>";
    for (size_t i = 0; i + sizeof open - 1 <= text.n; i++) {
        if (memcmp(text.p + i, open, sizeof open - 1) != 0) {
            continue;
        }
        size_t at = i + sizeof open - 1;
        while (at < text.n && (text.p[at] == '\n' || text.p[at] == ' ')) {
            at++;
        }
        if (at + sizeof close - 1 <= text.n && memcmp(text.p + at, close, sizeof close - 1) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Reports the reasoning in `letters` as dropped. */
static cf_status report_thought(cf_linter *l, const char *letters, unsigned flags,
                                const char *message, cf_error *err)
{
    cf_shot s;
    CF_TRY(cf_probe(&l->prober, letters, flags, &s, err));
    cf_status st = CF_OK;
    if (s.status == CF_OK) {
        st = cf_lint__add(l, &s, cf_shot_find(&s, CF_PROBE_ASSISTANT), err, "%s", message);
    }
    cf_shot_free(&l->prober, &s);
    return st;
}

static cf_status check_thoughts(cf_linter *l, cf_error *err)
{
    const cf_template_caps *c = &l->report->caps;
    if (c->reasoning_field == NULL) {
        return report_thought(l, "urU", CF_PROBE_GENERATE | CF_PROBE_THINK,
                              "the reasoning of replies is dropped: no field "
                              "of a message is written as reasoning",
                              err);
    }
    if (!cf_cap_is_written(c->reasoning_calls) &&
        strcmp(c->reasoning_field, "reasoning_content") == 0 && cf_cap_is_written(c->tool_calls)) {
        CF_TRY(report_thought(l, "uCt", CF_PROBE_GENERATE | CF_PROBE_TOOLS | CF_PROBE_THINK,
                              "the reasoning before a tool call is not shown to the model", err));
    }
    if (!cf_cap_is_written(c->reasoning_history)) {
        return report_thought(l, "urU", CF_PROBE_GENERATE | CF_PROBE_THINK,
                              "the reasoning of earlier replies is not shown "
                              "to the model",
                              err);
    }
    return CF_OK;
}

cf_status cf_lint__reasoning(cf_linter *l, cf_error *err)
{
    cf_shot s;
    cf_status st = CF_OK;
    CF_TRY(check_thoughts(l, err));
    CF_TRY(cf_probe(&l->prober, "uaU", 0, &s, err));
    size_t at = s.status == CF_OK ? empty_think(s.render.prompt.text) : SIZE_MAX;
    if (at != SIZE_MAX) {
        st = cf_lint__add(l, &s, at, err, "an empty think block is left in the history");
    }
    cf_shot_free(&l->prober, &s);
    return st;
}
