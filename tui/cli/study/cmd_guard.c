/*
 * cmd_guard.c - confab guard: which calls of saved conversations, or of a file
 * with conversations, were driven by a tool's result and not by the user.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/cli/answers/json_text.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/cli_recorded.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/cli/shell/shared_options.h"
#include "tui/study/influence/guard.h"

enum { FILE_MAX = 256 << 20, PAGE = 100 };

typedef struct command {
    cf_cli *cli;
    const char *family;
    cf_study_engine engine;
    cf_study_scorer scorer;
    const char *name; /* of the conversation at hand */
    size_t n_call, n_tool, n_skipped;
} command;

/* ---- output ------------------------------------------------------------- */

static void put_json(const command *c, const cf_guard_call *call, cf_buf *out)
{
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "conversation", c->name);
    if (cf_uuid_is_nil(call->turn)) {
        cf_jw_uint(&w, "turn", call->message);
    } else {
        cf_jw_uuid(&w, "turn", call->turn);
    }
    cf_jw_uint(&w, "call", call->call);
    cf_jw_text(&w, "driver", cf_guard_driver_name(call->driver));
    cf_jw_double(&w, "score", call->score);
    if (call->source != SIZE_MAX) {
        cf_jw_uint(&w, "source", call->source);
    } else {
        cf_jw_null(&w, "source");
    }
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
    out->failed = out->failed || cf_jw_finish(&w, NULL) != CF_OK;
}

static void on_call(void *ud, const cf_guard_call *call)
{
    command *c = ud;
    cf_buf *out = &c->cli->out;
    c->n_call++;
    c->n_tool += call->driver == CF_DRIVER_TOOL;
    if (c->cli->is_json) {
        put_json(c, call, out);
        return;
    }
    cf_buf_addf(out, "%s  message %zu, call %zu: driven by %s (%+.2f nats a token", c->name,
                call->message + 1, call->call + 1, cf_guard_driver_name(call->driver), call->score);
    if (call->source != SIZE_MAX) {
        cf_buf_addf(out, ", the result in message %zu", call->source + 1);
    }
    cf_buf_adds(out, ")\n");
}

/* ---- conversations ------------------------------------------------------ */

static bool may_call(const json_t *message)
{
    return cf_role_parse(cf_json_get_str(message, "role")) == CF_ROLE_ASSISTANT &&
           json_array_size(json_object_get(message, "tool_calls")) > 0;
}

/* What cannot be studied for reasons of its own is counted and left out. */
static cf_status pass_over(command *c, cf_status st)
{
    bool is_own = st != CF_OK && st != CF_ENOMEM && st != CF_ECANCELLED && st != CF_EIO;
    c->n_skipped += is_own;
    return is_own ? CF_OK : st;
}

static cf_status do_saved(command *c, const char *uuid, cf_error *err)
{
    cf_study_case whole;
    cf_study_case_init(&whole);
    c->name = uuid;
    cf_status st = cf_study_case_whole(&whole, c->cli->store, &c->engine, uuid, err);
    for (size_t i = 0; st == CF_OK && i < json_array_size(whole.messages); i++) {
        char at[24];
        cf_study_case one;
        if (!may_call(json_array_get(whole.messages, i))) {
            continue;
        }
        cf_study_case_init(&one);
        snprintf(at, sizeof at, "%zu", i);
        st = cf_study_case_load(&one, c->cli->store, &c->engine, uuid, at, err);
        CF_THEN(st, cf_guard_reply(&one, i, &c->engine, &c->scorer, on_call, c, err));
        cf_study_case_deinit(&one);
        st = pass_over(c, st);
    }
    cf_study_case_deinit(&whole);
    return st;
}

/* One conversation of a file: an object with messages and tools. */
static cf_status do_context(command *c, const json_t *v, cf_error *err)
{
    cf_conversation *conv = NULL;
    cf_uuid last;
    const json_t *messages = json_object_get(v, "messages");
    const cf_preface preface = {.tools = json_object_get(v, "tools")};
    cf_status st = cf_conversation_new(&conv, &preface, err);
    CF_THEN(st, cf_conversation_add_messages(conv, messages, (cf_uuid){{0}}, NULL, NULL, &last,
                                             NULL, err));
    CF_THEN(st, cf_conversation_set_head(conv, last, err));
    for (size_t i = 0; st == CF_OK && i < json_array_size(messages); i++) {
        char at[24];
        cf_study_case one;
        if (!may_call(json_array_get(messages, i))) {
            continue;
        }
        cf_study_case_init(&one);
        snprintf(at, sizeof at, "%zu", i);
        st = cf_study_case_of(&one, conv, &c->engine, at, err);
        one.turn = (cf_uuid){{0}};
        CF_THEN(st, cf_guard_reply(&one, i, &c->engine, &c->scorer, on_call, c, err));
        cf_study_case_deinit(&one);
        st = pass_over(c, st);
    }
    cf_conversation_free(conv);
    return st;
}

/* A file of JSON Lines, a conversation each. */
static cf_status do_file(command *c, const char *path, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = cf_os_read_file(&text, path, FILE_MAX, err);
    size_t line = 1;
    for (size_t at = 0; st == CF_OK && at < text.n; line++) {
        const char *end = memchr(text.p + at, '\n', text.n - at);
        size_t n = end != NULL ? (size_t)(end - (text.p + at)) : text.n - at;
        char name[32];
        json_t *v = NULL;
        snprintf(name, sizeof name, "line %zu", line);
        c->name = name;
        if (cf_str_trim(cf_str_make(text.p + at, n)).n > 0) {
            st = cf_json_read(&v, text.p + at, n, err);
            if (st == CF_OK && !json_is_array(json_object_get(v, "messages"))) {
                st = cf_fail(err, CF_EFORMAT, "no list of messages");
            }
            CF_THEN(st, do_context(c, v, err));
            json_decref(v);
        }
        if (st != CF_OK && st != CF_ENOMEM && st != CF_ECANCELLED) {
            cf_fail_in(err, st, name);
        }
        at += n + 1;
    }
    cf_buf_deinit(&text);
    return st;
}

static cf_status do_all(command *c, cf_error *err)
{
    size_t n = PAGE;
    cf_status st = CF_OK;
    for (size_t off = 0; st == CF_OK && n == PAGE; off += PAGE) {
        const cf_store_conv *rows;
        cf_arena arena;
        const cf_store_query q = {.offset = off, .limit = PAGE};
        cf_arena_init(&arena, 0);
        st = cf_store_list(c->cli->store, &q, &arena, &rows, &n, err);
        for (size_t i = 0; st == CF_OK && i < n; i++) {
            char id[CF_UUID_TEXT + 1];
            cf_uuid_format(id, rows[i].id);
            st = do_saved(c, id, err);
        }
        cf_arena_deinit(&arena);
    }
    return st;
}

/* ---- the command -------------------------------------------------------- */

static cf_status make(command *c, cf_error *err)
{
    cf_cli *cli = c->cli;
    const char *first = NULL; /* that is no file */
    for (int i = cli->n_args; i-- > 0;) {
        first = cf_os_is_readable(cli->args[i]) ? first : cli->args[i];
    }
    if (first != NULL || cli->n_args == 0) {
        CF_TRY(cf_cli_open_store(&cli->store, cli, 0, err));
    }
    CF_TRY(cf_cli_open_recorded(&cli->opened, cli, cli->store, first, NULL, c->family, &cli->arena,
                                err));
    c->engine = cf_study_engine_of(&cli->opened);
    c->engine.roles = &cli->opened.roles;
    c->engine.template_source = cf_buf_str(&cli->opened.source);
    CF_TRY(cf_study_scorer_init(&c->scorer, cli->opened.backend, cli->store, cf_cli_cancel(), err));
    cf_status st = cli->n_args == 0 ? do_all(c, err) : CF_OK;
    for (int i = 0; st == CF_OK && i < cli->n_args; i++) {
        st = cf_os_is_readable(cli->args[i]) ? do_file(c, cli->args[i], err)
                                             : do_saved(c, cli->args[i], err);
    }
    return st;
}

static const cf_opt_row options[] = {
    CF_ROW_FAMILY(offsetof(command, family)),
    CF_OPT_ROWS_END,
};

static int run_guard(cf_cli *cli, void *state)
{
    command *c = state;
    cf_error err;
    c->cli = cli;
    cf_status st = make(c, &err);
    int status = cf_cli_end(cli, st, &err);
    if (st == CF_OK && !cli->is_quiet) {
        cf_note("confab guard: %zu calls after a tool's result, %zu driven by it%s", c->n_call,
                c->n_tool, c->n_skipped > 0 ? "; some replies could not be scored" : "");
    }
    cf_study_scorer_deinit(&c->scorer);
    return status == CF_EXIT_OK && c->n_tool > 0 ? CF_EXIT_FINDING : status;
}

const cf_cli_command cf_cmd_guard = {
    .name = "guard",
    .arguments = "[FILE|UUID ...]",
    .summary = "report calls that were driven by a tool's result and not by the user",
    .options = options,
    .state_bytes = sizeof(command),
    .n_max = CF_ARGS_ANY,
    .run = run_guard,
};
