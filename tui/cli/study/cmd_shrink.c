/*
 * cmd_shrink.c - confab shrink: the smallest conversation for which a failure
 * is still there.
 */
#include <string.h>

#include "core/base/hash.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/cli_recorded.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/cli/shell/shared_options.h"
#include "tui/study/ask/study_score.h"
#include "tui/study/shrink/shrink_files.h"

typedef struct asked {
    const char *condition, *folder, *parts, *family;
    uint32_t max_runs, max_tokens, command_ms, repeat, at_least;
    bool is_approved;
} asked;

typedef struct command {
    cf_cli *cli;
    asked a;
    cf_predicate *predicate;
    cf_study_engine engine;
    cf_study_case c;
    cf_asker asker;
    cf_shrink shrink;
    cf_status printed;
} command;

static bool looks_at(const command *c, uint32_t what)
{
    return (cf_predicate_needs(c->predicate) & what) != 0;
}

/* ---- opening ------------------------------------------------------------ */

static cf_status read_parts(const command *c, uint32_t *out, cf_error *err)
{
    static const struct {
        const char *name;
        uint32_t bits;
    } names[] = {{"context", CF_SHRINK_CONTEXT},
                 {"sentences", CF_SHRINK_SENTENCES},
                 {"template", CF_SHRINK_TEMPLATE}};
    const char *at = c->a.parts;
    if (at == NULL) {
        *out = CF_SHRINK_CONTEXT | CF_SHRINK_SENTENCES;
        if (looks_at(c, CF_SEE_RENDER | CF_SEE_CACHE)) {
            *out |= CF_SHRINK_TEMPLATE;
        }
        return CF_OK;
    }
    for (*out = 0; *at != '\0';) {
        size_t n = strcspn(at, ","), i = 0;
        while (i < 3 && !cf_str_is(cf_str_make(at, n), names[i].name)) {
            i++;
        }
        if (i == 3) {
            return cf_fail(err, CF_EINVAL, "--parts takes context, sentences, template");
        }
        *out |= names[i].bits;
        at += n + (at[n] == ',');
    }
    return CF_OK;
}

/* A model is opened where a reply is looked at, or its template is needed. */
static cf_status open_engine(command *c, const char *uuid, cf_error *err)
{
    bool needs_model = looks_at(c, CF_SEE_REPLY) ||
                       (c->cli->open.template_name == NULL && !looks_at(c, CF_SEE_COMMAND));
    CF_TRY(needs_model ? cf_cli_open_recorded(&c->cli->opened, c->cli, c->cli->store, uuid, NULL,
                                              c->a.family, &c->cli->arena, err)
                       : cf_open_without_model(&c->cli->opened, &c->cli->open, err));
    c->engine = cf_study_engine_of(&c->cli->opened);
    return CF_OK;
}

/* The conversation as it is stored, or as a template that knows other roles
 * and forms gets it. */
static cf_status load(command *c, const char *uuid, bool as_is, json_t **out, cf_error *err)
{
    cf_study_case_deinit(&c->c);
    cf_study_case_init(&c->c);
    c->engine.roles = as_is ? NULL : &c->cli->opened.roles;
    c->asker.as_is = as_is;
    CF_TRY(cf_study_case_whole(&c->c, c->cli->store, &c->engine, uuid, err));
    c->asker.was = &c->c.was;
    size_t n = json_array_size(c->c.messages);
    cf_role role = cf_role_parse(cf_json_get_str(json_array_get(c->c.messages, n - 1), "role"));
    if (looks_at(c, CF_SEE_REPLY) && n > 0 &&
        (role == CF_ROLE_ASSISTANT || role == CF_ROLE_AGENT) &&
        json_array_remove(c->c.messages, n - 1) != 0) {
        return cf_oom(err);
    }
    const cf_part_context context = cf_study_context_of(&c->c);
    *out = cf_study_context_json(&context);
    return *out != NULL ? CF_OK : cf_oom(err);
}

/* As it is first, which others can reproduce; where it does not fail then, in
 * the form that the program gives a template. */
static cf_status find_form(command *c, const char *uuid, json_t **out, cf_error *err)
{
    cf_str source = cf_buf_str(&c->cli->opened.source);
    bool holds = true;
    if (looks_at(c, CF_SEE_REPLY)) {
        return load(c, uuid, false, out, err);
    }
    CF_TRY(load(c, uuid, true, out, err));
    if (looks_at(c, CF_SEE_RENDER | CF_SEE_CACHE)) {
        CF_TRY(cf_asker_ask(&c->asker, *out, source, &holds, err));
    }
    if (!holds) {
        json_decref(*out);
        *out = NULL;
        CF_TRY(load(c, uuid, false, out, err));
    }
    return CF_OK;
}

/* What answers, and how it draws. */
static cf_status name_model(command *c, cf_error *err)
{
    cf_status st = CF_OK;
    char hash[CF_HASH_TEXT + 1] = "", setup[CF_HASH_TEXT + 1] = "";
    if (looks_at(c, CF_SEE_REPLY) && c->engine.engine != NULL) {
        cf_engine_hash(c->engine.engine, hash);
        cf_study_setup_hash(setup, cf_backend_core_session(c->engine.backend));
    }
    snprintf(c->shrink.model, sizeof c->shrink.model, "%s%s", hash, setup);
    const cf_store_run *run = c->c.was.run;
    if (run != NULL && looks_at(c, CF_SEE_REPLY)) {
        cf_buf drawn = CF_BUF_INIT;
        cf_buf_addf(&drawn, "%s %llu ", c->shrink.model, (unsigned long long)run->seed);
        cf_buf_add(&drawn, run->options.p, run->options.n);
        cf_buf_addc(&drawn, '\0');
        cf_buf_add(&drawn, run->constraint_spec.p, run->constraint_spec.n);
        st = cf_buf_check(&drawn, err);
        cf_hash_hex(c->shrink.model, cf_buf_cstr(&drawn), drawn.n);
        cf_buf_deinit(&drawn);
    }
    return st;
}

/* ---- telling ------------------------------------------------------------ */

static void on_step(void *ud, const cf_shrink *s, const char *level, size_t n_left)
{
    command *c = ud;
    cf_buf out = CF_BUF_INIT;
    if (c->cli->is_json) {
        cf_buf_addf(&out,
                    "{\"step\":\"%s\",\"left\":%zu,\"runs\":%zu,\"reused\":%zu}"
                    "\n",
                    level, n_left, s->n_runs, s->n_reused);
        (void)cf_cli_print(c->cli, &out); /* the last line reports failure */
    } else if (!c->cli->is_quiet) {
        cf_note("confab shrink: %zu %s left after %zu runs", n_left, level, s->n_runs);
    }
    cf_buf_deinit(&out);
}

static void put_result(const command *c, const cf_buf *names, cf_buf *out)
{
    const cf_shrink *s = &c->shrink;
    size_t n_messages = json_array_size(json_object_get(s->context, "messages"));
    size_t n_tools = json_array_size(json_object_get(s->context, "tools"));
    if (!c->cli->is_json && !s->holds) {
        cf_buf_addf(out,
                    "%zu messages and %zu tools are left after %zu runs, but asked again it does "
                    "not hold (%s): nothing is written%s\n",
                    n_messages, n_tools, s->n_runs, cf_buf_cstr(&c->asker.why),
                    c->asker.repeat > 1 ? ""
                                        : "; --repeat N --at-least K is for answers by chance");
        return;
    }
    if (!c->cli->is_json) {
        cf_buf_addf(out,
                    "%zu messages, %zu tools and %zu bytes of template left "
                    "after %zu runs%s:\n",
                    n_messages, n_tools, s->source.n, s->n_runs, s->is_cut ? " (the limit)" : "");
        for (size_t at = 0; at < names->n;) {
            const char *end = memchr(names->p + at, '\n', names->n - at);
            size_t n = (size_t)(end - (names->p + at));
            cf_buf_addf(out, "%s/%.*s\n", c->a.folder, (int)n, names->p + at);
            at += n + 1;
        }
        return;
    }
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_uint(&w, "runs", s->n_runs);
    cf_jw_uint(&w, "reused", s->n_reused);
    cf_jw_bool(&w, "limit", s->is_cut);
    cf_jw_uint(&w, "messages", n_messages);
    cf_jw_uint(&w, "tools", n_tools);
    cf_jw_uint(&w, "template_bytes", s->source.n);
    cf_jw_bool(&w, "holds", s->holds);
    cf_jw_buf(&w, "whole", &s->whole);
    cf_jw_buf(&w, "why", &c->asker.why);
    cf_jw_text(&w, "folder", c->a.folder);
    cf_jw_array(&w, "files");
    for (size_t at = 0; at < names->n;) {
        const char *end = memchr(names->p + at, '\n', names->n - at);
        size_t n = (size_t)(end - (names->p + at));
        cf_jw_str(&w, NULL, cf_str_make(names->p + at, n));
        at += n + 1;
    }
    cf_jw_end(&w);
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
    out->failed = out->failed || cf_jw_finish(&w, NULL) != CF_OK;
}

/* ---- the command -------------------------------------------------------- */

static cf_status open_steps(command *c, cf_error *err)
{
    cf_buf path = CF_BUF_INIT;
    cf_buf_addf(&path, "%s/steps.txt", c->a.folder);
    cf_status st = cf_buf_check(&path, err);
    CF_THEN(st, cf_os_make_dirs(c->a.folder, err));
    CF_THEN(st, cf_shrink_keep(&c->shrink, cf_buf_cstr(&path), err));
    cf_buf_deinit(&path);
    return st;
}

static cf_status make(command *c, const char *uuid, cf_error *err)
{
    json_t *context = NULL;
    cf_buf names = CF_BUF_INIT;
    uint32_t parts = 0;
    CF_TRY(read_parts(c, &parts, err));
    CF_TRY(cf_cli_open_store(&c->cli->store, c->cli, CF_STORE_READ_ONLY, err));
    CF_TRY(open_engine(c, uuid, err));
    cf_asker_init(&c->asker, &c->engine, c->predicate, cf_cli_cancel());
    c->asker.max_tokens = c->a.max_tokens;
    c->asker.command_ms = c->a.command_ms;
    c->asker.repeat = c->a.repeat;
    c->asker.at_least = c->a.at_least;
    cf_status st = find_form(c, uuid, &context, err);
    CF_THEN(st, cf_shrink_init(&c->shrink, &c->asker, context, cf_buf_str(&c->cli->opened.source),
                               err));
    json_decref(context);
    CF_TRY(st);
    if (!c->cli->is_quiet) {
        cf_note("confab shrink: asks about %s %zu; for another turn give its id in place of %s "
                "(confab history show lists them)",
                looks_at(c, CF_SEE_REPLY) ? "the reply after message" : "the prompt to message",
                json_array_size(c->c.messages), uuid);
    }
    c->shrink.parts = parts;
    c->shrink.max_runs = c->a.max_runs;
    c->shrink.step = on_step;
    c->shrink.ud = c;
    CF_TRY(name_model(c, err));
    CF_TRY(open_steps(c, err));
    CF_TRY(cf_shrink_run(&c->shrink, err));
    st = c->shrink.holds ? cf_shrink_write(&c->shrink, c->a.folder, &names, err) : CF_OK;
    if (st == CF_OK) {
        put_result(c, &names, &c->cli->out);
    }
    cf_buf_deinit(&names);
    return st;
}

#define WANT "takes a UUID, --while PREDICATE and -o DIR"

static const cf_opt_row options[] = {
    {"--while", 0, CF_OPT_STR, offsetof(command, a.condition), "PREDICATE",
     "the failure to preserve: call-invalid, parse-lost, reply:REGEX, "
     "contains:TEXT, token:ID@PLACE, cache-lost, template-error, command:CMD ...",
     0},
    {"--output", 'o', CF_OPT_STR, offsetof(command, a.folder), "DIR",
     "folder for the result and for all steps", 0},
    {"--parts", 0, CF_OPT_STR, offsetof(command, a.parts), "PARTS",
     "what to remove: context, sentences, template (default: context and "
     "sentences, and template if the predicate looks at the prompt)",
     0},
    {"--max-runs", 0, CF_OPT_U32, offsetof(command, a.max_runs), "N",
     "run the predicate at most N times (default: 1000)", 0},
    CF_ROW_REPEAT(offsetof(command, a.repeat)),
    CF_ROW_AT_LEAST(offsetof(command, a.at_least)),
    CF_ROW_MAX_TOKENS(offsetof(command, a.max_tokens)),
    {"--timeout", 0, CF_OPT_U32, offsetof(command, a.command_ms), "MS",
     "time limit for a command (default: 60000)", 0},
    CF_ROW_FAMILY(offsetof(command, a.family)),
    CF_ROW_YES(offsetof(command, a.is_approved)),
    CF_OPT_ROWS_END,
};

static int run_shrink(cf_cli *cli, void *state)
{
    command *c = state;
    cf_error err;
    c->cli = cli;
    if (c->a.condition == NULL || c->a.folder == NULL) {
        return cf_cli_usage(cli, WANT);
    }
    const char *wrong = cf_cli_wrong_repeat(c->a.repeat, c->a.at_least);
    if (wrong != NULL) {
        return cf_cli_usage(cli, wrong);
    }
    cf_study_case_init(&c->c);
    cf_status st = cf_cli_predicate(&c->predicate, c->a.condition, c->a.is_approved, &err);
    CF_THEN(st, make(c, cli->args[0], &err));
    int status = cf_cli_end(cli, st, &err);
    if (st == CF_OK && status == CF_EXIT_OK && !c->shrink.holds) {
        status = CF_EXIT_FINDING;
    }
    if (st == CF_ECANCELLED) {
        cf_note("confab shrink: run the same command again to continue");
    }
    cf_shrink_deinit(&c->shrink);
    cf_asker_deinit(&c->asker);
    cf_study_case_deinit(&c->c);
    cf_predicate_free(c->predicate);
    return status;
}

const cf_cli_command cf_cmd_shrink = {
    .name = "shrink",
    .arguments = "UUID",
    .summary = "reduce a conversation to a minimal one that still fails",
    .options = options,
    .state_bytes = sizeof(command),
    .n_min = 1,
    .n_max = 1,
    .want = WANT,
    .run = run_shrink,
};
