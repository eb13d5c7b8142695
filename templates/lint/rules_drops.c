/*
 * rules_drops.c - E007 E008 E009 E011: parts of a conversation of which not a
 * byte reaches the prompt, without an error.
 */
#include "templates/lint/lint_impl.h"

/* Adds the finding, with the render of `letters` to show it, when `cap` says
 * dropped.  `word` is in the message that is lost; NULL: the tools are. */
static cf_status check(cf_linter *l, cf_cap cap, const char *letters, unsigned flags,
                       const char *word, const char *message, cf_error *err)
{
    cf_shot s;
    if (cap != CF_CAP_DROPPED) {
        return CF_OK;
    }
    CF_TRY(cf_probe(&l->prober, letters, flags, &s, err));
    if (word != NULL) {
        cf_lint__because_message(l, &s, cf_lint__message_with(&s, word));
    } else {
        cf_lint__because_mentions(l, &s, "tools");
    }
    cf_status st = cf_lint__add(l, &s, SIZE_MAX, err, "%s", message);
    cf_shot_free(&l->prober, &s);
    return st;
}

cf_status cf_lint__tools_dropped(cf_linter *l, cf_error *err)
{
    return check(l, l->report->caps.tools, "u", CF_PROBE_TOOLS | CF_PROBE_GENERATE, NULL,
                 "the declarations of tools are dropped: none is in the prompt", err);
}

cf_status cf_lint__calls_dropped(cf_linter *l, cf_error *err)
{
    return check(l, l->report->caps.tool_calls, "uc", CF_PROBE_TOOLS | CF_PROBE_GENERATE,
                 CF_PROBE_ARGUMENT,
                 "tool calls are dropped: the prompt does not show which tool "
                 "was called",
                 err);
}

cf_status cf_lint__results_dropped(cf_linter *l, cf_error *err)
{
    return check(l, l->report->caps.tool_role, "uct", CF_PROBE_TOOLS | CF_PROBE_GENERATE,
                 CF_PROBE_RESULT,
                 "tool results are dropped: the prompt does not show what a "
                 "tool answered",
                 err);
}

/* An answer after its thinking, where a template takes the thinking for the
 * answer: content.split('</think>')[0]. */
static cf_status answers_cut(cf_linter *l, cf_error *err)
{
    cf_shot s;
    CF_TRY(cf_probe(&l->prober, "uwU", CF_PROBE_GENERATE, &s, err));
    cf_status st = CF_OK;
    if (s.status == CF_OK && cf_shot_find(&s, CF_PROBE_ASSISTANT) == SIZE_MAX) {
        st = cf_lint__add(l, &s, SIZE_MAX, err,
                          "answers after </think> are dropped: of a reply with its thinking in "
                          "the content the prompt shows no answer");
    }
    cf_shot_free(&l->prober, &s);
    return st;
}

cf_status cf_lint__replies_dropped(cf_linter *l, cf_error *err)
{
    if (cf_cap_is_written(l->report->caps.reply)) {
        return answers_cut(l, err);
    }
    return check(l, l->report->caps.reply, "uaU", CF_PROBE_GENERATE, CF_PROBE_ASSISTANT,
                 "replies are dropped: the prompt does not show what the "
                 "assistant answered before",
                 err);
}
