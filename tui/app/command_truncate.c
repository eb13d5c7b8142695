/*
 * command_truncate.c - plans a truncation, lists what goes in the log, and
 * asks in the ":" line before it makes the branch.
 */
#include "tui/app/command_truncate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/lab/talk/lab_truncate.h"

/* "40", "40 turns" or "4000 tokens". */
static bool read_limit(const char *arg, size_t *n, bool *by_tokens)
{
    char *end;
    unsigned long v = strtoul(arg, &end, 10);
    end += strspn(end, " ");
    *n = v;
    *by_tokens = strcmp(end, "tokens") == 0;
    return arg[0] >= '0' && arg[0] <= '9' && v > 0 &&
           (*by_tokens || *end == '\0' || strcmp(end, "turns") == 0);
}

static cf_status plan_for(cf_app *app, const char *arg, cf_truncation *plan, cf_error *err)
{
    size_t n;
    bool by_tokens;
    if (!read_limit(arg, &n, &by_tokens)) {
        return cf_fail(err, CF_EINVAL, "truncate: takes a number of turns, or \"N tokens\"");
    }
    return cf_lab_plan_truncation(app->lab, by_tokens, n, plan, err);
}

/* "12 of 30 turns", and the tokens where they were counted. */
static void describe(char *out, size_t size, const cf_truncation *plan)
{
    size_t n = plan->first - plan->n_lead;
    int used = snprintf(out, size, "%zu of %zu turns", n, plan->n_path);
    if (plan->n_tokens_before != 0 && used > 0 && (size_t)used < size) {
        snprintf(out + used, size - (size_t)used, ", %zu tokens become %zu", plan->n_tokens_before,
                 plan->n_tokens_after);
    }
}

static void log_turns(cf_app *app, const cf_truncation *plan)
{
    cf_buf text = CF_BUF_INIT;
    cf_lab_truncation_text(app->lab, plan, &text);
    char *line = text.n != 0 ? text.p : NULL;
    while (line != NULL && *line != '\0') {
        char *end = strchr(line, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        cf_app_log(app, "would go", line);
        line = end != NULL ? end + 1 : NULL;
    }
    cf_buf_deinit(&text);
}

void cf_cmd_truncate(cf_app *app, const char *arg)
{
    cf_error err;
    cf_truncation plan;
    char line[80], what[80];
    if (arg[0] == '\0') {
        cf_edit_set(&app->command_line, cf_str_from("truncate "));
        app->mode = CF_MODE_COMMAND;
        return;
    }
    if (plan_for(app, arg, &plan, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    if (plan.first == plan.n_lead) {
        cf_app_say(app, CF_STYLE_OK, "nothing needs to be dropped");
        return;
    }
    log_turns(app, &plan);
    describe(what, sizeof what, &plan);
    snprintf(line, sizeof line, "truncate! %.60s", arg);
    cf_edit_set(&app->command_line, cf_str_from(line));
    app->mode = CF_MODE_COMMAND;
    cf_app_say(app, CF_STYLE_WARNING,
               "%s would be dropped (@ lists them): Enter makes the branch, Esc cancels", what);
}

void cf_cmd_truncate_now(cf_app *app, const char *arg)
{
    cf_error err;
    cf_truncation plan;
    char what[80];
    cf_status st = plan_for(app, arg, &plan, &err);
    CF_THEN(st, cf_lab_truncate(app->lab, &plan, &err));
    if (st != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    describe(what, sizeof what, &plan);
    cf_app_say(app, CF_STYLE_OK, "a branch without the oldest %s; [ on the first turn goes back",
               what);
}
