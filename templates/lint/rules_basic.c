/*
 * rules_basic.c - E001 E002 E004 E005 W004 W005 W007: starts, ends, crashes
 * and roles.
 */
#include <string.h>

#include "templates/lint/lint_impl.h"

static cf_str bos_of(const cf_linter *l)
{
    cf_str bos = l->prober.options->bos;
    return bos.n != 0 ? bos : cf_str_from("<s>");
}

static cf_status check_bos(cf_linter *l, cf_error *err)
{
    cf_shot s;
    cf_status st = CF_OK;
    cf_str bos = bos_of(l);
    CF_TRY(cf_probe(&l->prober, "u", CF_PROBE_GENERATE, &s, err));
    if (s.status == CF_OK) {
        cf_str text = s.render.prompt.text;
        bool has = cf_str_starts(text, bos);
        cf_str rest = has ? cf_str_make(text.p + bos.n, text.n - bos.n) : text;
        if (has && cf_str_starts(rest, bos)) {
            st = cf_lint__add(l, "E001", &s, bos.n, err,
                              "the prompt begins with '%.*s' twice", (int)bos.n,
                              bos.p);
        }
        const cf_tokenizer *tok = l->prober.options->tokenizer;
        if (st == CF_OK && !has && tok != NULL &&
            cf_tokenizer_special(tok).add_bos) {
            st = cf_lint__add(l, "E002", &s, 0, err,
                              "the model wants '%.*s' first, the prompt does "
                              "not begin with it",
                              (int)bos.n, bos.p);
        }
    }
    cf_shot_free(&s);
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

/* What stands before a reply in the history must begin with the prompt that
 * asked for it. */
static cf_status compare_prompts(cf_linter *l, const cf_shot *without,
                                 const cf_shot *with, const cf_shot *history,
                                 cf_error *err)
{
    cf_str asks = with->render.prompt.text;
    cf_str plain = without->render.prompt.text;
    size_t reply = cf_shot_find(history, CF_PROBE_ASSISTANT);
    size_t off = cf_lint__diverge(plain, asks);
    if (off < plain.n) {
        return cf_lint__add(l, "E004", with, off < asks.n ? off : asks.n - 1,
                            err,
                            "add_generation_prompt changes byte %zu of what "
                            "was said: it is no suffix",
                            off);
    }
    if (asks.n != plain.n || reply == SIZE_MAX || reply < asks.n) {
        return CF_OK;
    }
    cf_str head =
        cf_str_make(history->render.prompt.text.p + asks.n, reply - asks.n);
    if (!is_blank(head)) {
        return cf_lint__add(l, "E004", with, asks.n - 1, err,
                            "add_generation_prompt changes nothing, but "
                            "replies in the history begin with '%.*s'",
                            (int)(head.n < 40 ? head.n : 40), head.p);
    }
    return CF_OK;
}

static cf_status check_generation(cf_linter *l, cf_error *err)
{
    cf_shot with, without = {0}, history = {0};
    CF_TRY(cf_probe(&l->prober, "u", CF_PROBE_GENERATE, &with, err));
    cf_status st = cf_probe(&l->prober, "u", 0, &without, err);
    CF_THEN(st, cf_probe(&l->prober, "ua", 0, &history, err));
    if (st == CF_OK && with.status == CF_OK && without.status == CF_OK &&
        history.status == CF_OK && with.render.prompt.text.n != 0) {
        st = compare_prompts(l, &without, &with, &history, err);
    }
    if (st == CF_OK && with.status == CF_OK && with.render.prompt.text.n != 0) {
        cf_str text = with.render.prompt.text;
        char last = text.p[text.n - 1];
        if (last == ' ' || last == '\t') {
            st = cf_lint__add(l, "W007", &with, text.n - 1, err,
                              "the prompt ends with a %s",
                              last == ' ' ? "space" : "tab");
        }
    }
    cf_shot_free(&with);
    cf_shot_free(&without);
    cf_shot_free(&history);
    return st;
}

static cf_status check_crashes(cf_linter *l, cf_error *err)
{
    static const struct {
        const char *letters, *what;
        bool needs_tools; /* counts only where tool calls are known at all */
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
        if (cases[i].needs_tools && l->report->caps.tool_calls != CF_CAP_YES) {
            continue;
        }
        CF_TRY(cf_probe(&l->prober, cases[i].letters, CF_PROBE_TOOLS, &s, err));
        cf_status st = CF_OK;
        if (s.status != CF_OK && !cf_shot_is_refused(&s)) {
            st = cf_lint__add(l, "E005", &s, SIZE_MAX, err,
                              "%s ends in an error: %.200s", cases[i].what,
                              s.err.text);
        }
        cf_shot_free(&s);
        CF_TRY(st);
    }
    return CF_OK;
}

static cf_status check_system(cf_linter *l, cf_error *err)
{
    static const char *const words[] = {"refused", "dropped",
                                        "merged into the user's turn"};
    cf_cap cap = l->report->caps.system;
    if (cap == CF_CAP_YES) {
        return CF_OK;
    }
    cf_shot s;
    CF_TRY(cf_probe(&l->prober, "su", CF_PROBE_GENERATE, &s, err));
    cf_status st =
        cf_lint__add(l, "W005", &s, cf_shot_find(&s, CF_PROBE_SYSTEM), err,
                     "a system message is %s", words[cap]);
    cf_shot_free(&s);
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
        if (at + sizeof close - 1 <= text.n &&
            memcmp(text.p + at, close, sizeof close - 1) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

static cf_status check_reasoning(cf_linter *l, cf_error *err)
{
    const cf_template_caps *c = &l->report->caps;
    cf_shot s;
    cf_status st = CF_OK;
    bool thinks = c->thinking_switch || c->reasoning == CF_CAP_YES;
    if (thinks && c->reasoning_history != CF_CAP_YES) {
        CF_TRY(cf_probe(&l->prober, "urU", CF_PROBE_GENERATE | CF_PROBE_THINK,
                        &s, err));
        st = cf_lint__add(l, "W004", &s, cf_shot_find(&s, CF_PROBE_ASSISTANT),
                          err,
                          "the reasoning of earlier replies is not shown to "
                          "the model");
        cf_shot_free(&s);
        CF_TRY(st);
    }
    CF_TRY(cf_probe(&l->prober, "uaU", 0, &s, err));
    if (s.status == CF_OK) {
        size_t at = empty_think(s.render.prompt.text);
        if (at != SIZE_MAX) {
            st = cf_lint__add(l, "W004", &s, at, err,
                              "an empty think block stands in the history");
        }
    }
    cf_shot_free(&s);
    return st;
}

cf_status cf_lint__basic_rules(cf_linter *l, cf_error *err)
{
    CF_TRY(check_bos(l, err));
    CF_TRY(check_generation(l, err));
    CF_TRY(check_crashes(l, err));
    CF_TRY(check_reasoning(l, err));
    return check_system(l, err);
}
