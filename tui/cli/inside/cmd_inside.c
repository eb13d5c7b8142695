/*
 * cmd_inside.c - confab inside: what a model looked at, what it preferred layer
 * by layer, and what flips it.
 */
#include <stdlib.h>
#include <string.h>

#include "core/api/inside_request.h"
#include "core/api/steer.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/cli/answers/json_text.h"
#include "tui/cli/inside/inside_output.h"
#include "tui/cli/inside/inside_steer.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/cli_recorded.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/cli/shell/progress.h"
#include "tui/cli/shell/shared_options.h"

typedef struct command {
    const char *batch, *ids, *a, *against, *by, *turn, *from, *layer, *family;
    uint32_t at;
    bool has_at;
    cf_opt_list hide, head, block, mlp, expert;
    cf_inside_steer steer;
    /* the run */
    cf_cli *cli;
    cf_session *session;      /* of the backend, or own */
    cf_session *own, *second; /* freed at the end; second: of `other` */
    cf_inside_case c, other;
    cf_progress progress;
} command;

static bool is_kind(const command *c, const char *name)
{
    return strcmp(c->cli->args[0], name) == 0;
}

static void show_progress(void *ud, size_t n_done, size_t n_all)
{
    cf_progress_show(ud, n_done, n_all);
}

/* ---- what is looked into ------------------------------------------------ */

/* A model without a template or a history. */
static cf_status open_bare(command *c, cf_error *err)
{
    cf_cli *cli = c->cli;
    const cf_session_options opts = {.n_ctx = cli->open.n_ctx};
    cf_opened *o = &cli->opened;
    cli->open.opens_lora = true;
    CF_TRY(cf_open_engine(&o->engine, &cli->open, false, err));
    CF_TRY(cf_session_new(&c->own, o->engine, &opts, err));
    c->session = c->own;
    return cf_open_use_adapters(&o->adapters, o->engine, &cli->open, &c->session, 1, err);
}

/* The model as the reply was written with it. */
static cf_status open_recorded(command *c, const char *uuid, cf_error *err)
{
    cf_cli *cli = c->cli;
    if (uuid != NULL) {
        CF_TRY(cf_cli_open_store(&cli->store, cli, 0, err));
    }
    CF_TRY(cf_cli_open_recorded(&cli->opened, cli, cli->store, uuid, c->turn, c->family,
                                &cli->arena, err));
    c->session = cf_backend_core_session(cli->opened.backend);
    return c->session != NULL
               ? CF_OK
               : cf_fail(err, CF_EUNSUPPORTED, "looking inside needs the built-in engine");
}

static void join(const command *c, cf_inside_case *to, cf_session *session)
{
    to->engine = cf_study_engine_of(&c->cli->opened);
    to->engine.roles = &c->cli->opened.roles;
    to->engine.template_source = cf_buf_str(&c->cli->opened.source);
    to->session = session;
    to->cancel = cf_cli_cancel();
}

static cf_status read_ids(command *c, cf_error *err)
{
    cf_token *ids = NULL;
    size_t n = 0;
    CF_TRY(c->from != NULL ? open_recorded(c, NULL, err) : open_bare(c, err));
    join(c, &c->c, c->session);
    CF_TRY(cf_json_text_read_ids(&ids, &n, c->ids, err));
    cf_status st = cf_inside_case_ids(&c->c, ids, n, err);
    cf_free(ids);
    return st;
}

/* A context's file, not a UUID. */
static bool is_file(const char *name)
{
    return cf_os_is_readable(name);
}

/* A saved reply or a context's file. */
static cf_status load(const command *c, cf_inside_case *to, const char *name, cf_error *err)
{
    return is_file(name) ? cf_inside_case_read(to, name, err)
                         : cf_inside_case_load(to, c->cli->store, name, c->turn, err);
}

static cf_status read_case(command *c, const char *name, cf_error *err)
{
    uint32_t kinds = 1u << CF_PART_MESSAGE | 1u << CF_PART_TOOL;
    if (c->ids != NULL) {
        CF_TRY(read_ids(c, err));
    } else {
        CF_TRY(open_recorded(c, is_file(name) ? NULL : name, err));
        join(c, &c->c, c->session);
        CF_TRY(load(c, &c->c, name, err));
    }
    if (c->by != NULL) {
        CF_TRY(cf_part_kinds_read(&kinds, c->by, "--by", err));
    }
    if (c->has_at) {
        CF_TRY(cf_inside_case_set_at(&c->c, c->at, err));
    }
    return cf_inside_case_parts(&c->c, kinds, err);
}

/* ---- questions ---------------------------------------------------------- */

static void begin_json(command *c, cf_jw *w)
{
    cf_jw_init(w, &c->cli->out);
    cf_jw_object(w, NULL);
    cf_inside_json_ask(w, &c->c);
}

static cf_status end_json(command *c, cf_jw *w, cf_error *err)
{
    cf_jw_end(w);
    cf_buf_addc(&c->cli->out, '\n');
    return cf_jw_finish(w, err);
}

static cf_status ask_lens(command *c, cf_error *err)
{
    cf_inside_layers v;
    cf_jw w;
    CF_TRY(cf_inside_case_choose(&c->c, c->a, c->against, err));
    CF_TRY(cf_inside_study_lens(&v, &c->c, err));
    if (!c->cli->is_json) {
        cf_inside_text_lens(&c->cli->out, &c->c, &v);
        return CF_OK;
    }
    begin_json(c, &w);
    cf_inside_json_lens(&w, &c->c, &v);
    return end_json(c, &w, err);
}

static cf_status ask_attention(command *c, cf_error *err)
{
    cf_inside_look v;
    cf_jw w;
    CF_TRY(cf_inside_study_look(&v, &c->c, err));
    if (!c->cli->is_json) {
        cf_inside_text_look(&c->cli->out, &c->c, &v);
        return CF_OK;
    }
    begin_json(c, &w);
    cf_inside_json_look(&w, &c->c, &v);
    return end_json(c, &w, err);
}

static cf_status ask_tools(command *c, cf_error *err)
{
    cf_inside_choice *v;
    cf_inside_answer *without;
    cf_jw w;
    if (c->c.n_tool == 0) {
        return cf_fail(err, CF_ENOTFOUND, "no reply that could have called a declared tool");
    }
    CF_TRY(cf_inside_case_choose(&c->c, NULL, NULL, err));
    cf_progress_start(&c->progress, "looking for flips");
    cf_status st =
        cf_inside_study_choices(&v, &without, &c->c, SIZE_MAX, show_progress, &c->progress, err);
    cf_progress_end(&c->progress);
    CF_TRY(st);
    if (!c->cli->is_json) {
        cf_inside_text_tools(&c->cli->out, &c->c, v);
        return CF_OK;
    }
    begin_json(c, &w);
    cf_inside_json_tools(&w, &c->c, v);
    return end_json(c, &w, err);
}

static cf_status ask_margin(command *c, cf_error *err)
{
    cf_margin v;
    cf_jw w;
    CF_TRY(cf_inside_case_choose(&c->c, c->a, c->against, err));
    const cf_inside_ask ask = cf_inside_case_ask(&c->c, NULL);
    CF_TRY(cf_inside_margin(c->session, &ask, c->c.a, c->c.against, &v, &c->c.arena, err));
    if (!c->cli->is_json) {
        cf_inside_text_margin(&c->cli->out, &c->c, &v);
        return CF_OK;
    }
    begin_json(c, &w);
    cf_inside_json_margin(&w, &v);
    return end_json(c, &w, err);
}

/* ---- without ------------------------------------------------------------ */

/* "L" or "L.N" */
static cf_status read_place(const char *text, const char *option, bool has_index,
                            cf_inside_change *out, cf_error *err)
{
    char *end = NULL;
    unsigned long long layer = strtoull(text, &end, 10), index = 0;
    bool ok = end != text;
    if (ok && has_index) {
        const char *second = end + 1;
        ok = *end == '.';
        index = ok ? strtoull(second, &end, 10) : 0;
        ok = ok && end != second;
    }
    if (!ok || *end != '\0' || layer > UINT32_MAX || index > UINT32_MAX) {
        return cf_fail(err, CF_EINVAL, "%s takes %s, not '%.20s'", option,
                       has_index ? "LAYER.NUMBER, as in 3.1" : "a layer", text);
    }
    out->layer = (uint32_t)layer;
    out->index = (uint32_t)index;
    return CF_OK;
}

/* The changes of one option. */
static cf_status add_places(const command *c, const cf_opt_list *list, const char *option,
                            cf_inside_change_kind kind, cf_inside_change *v, size_t *n,
                            cf_error *err)
{
    bool has_index = kind == CF_CHANGE_HEAD || kind == CF_CHANGE_EXPERT;
    for (size_t i = 0; i < list->n; i++) {
        v[*n] = (cf_inside_change){.kind = kind, .at = {0, (uint32_t)c->c.n}};
        CF_TRY(read_place(list->v[i], option, has_index, &v[*n], err));
        ++*n;
    }
    return CF_OK;
}

static cf_status add_hidden(command *c, cf_inside_change **v, size_t *n, cf_error *err)
{
    for (size_t i = 0; i < c->hide.n; i++) {
        cf_position_range *range;
        cf_inside_change *look;
        size_t n_range;
        CF_TRY(cf_inside_case_find(&c->c, c->hide.v[i], &range, &n_range, err));
        CF_TRY(cf_inside_study_hide(&look, &c->c, range, n_range, err));
        cf_inside_change *more = cf_arena_calloc(&c->c.arena, *n + n_range + 1, sizeof *more);
        if (more == NULL) {
            return cf_oom_for(err, "the changes");
        }
        memcpy(more, *v, *n * sizeof *more);
        memcpy(more + *n, look, n_range * sizeof *more);
        *v = more;
        *n += n_range;
    }
    return CF_OK;
}

/* All that the options take away, at once. */
static cf_status read_changes(command *c, cf_changes *out, cf_error *err)
{
    size_t n = 0;
    cf_inside_change *v = cf_arena_calloc(&c->c.arena, 4UL * CF_OPT_LIST_MAX, sizeof *v);
    if (v == NULL) {
        return cf_oom_for(err, "the changes");
    }
    CF_TRY(add_places(c, &c->head, "--head", CF_CHANGE_HEAD, v, &n, err));
    CF_TRY(add_places(c, &c->block, "--block", CF_CHANGE_LAYER, v, &n, err));
    CF_TRY(add_places(c, &c->mlp, "--mlp", CF_CHANGE_MLP, v, &n, err));
    CF_TRY(add_places(c, &c->expert, "--expert", CF_CHANGE_EXPERT, v, &n, err));
    CF_TRY(add_hidden(c, &v, &n, err));
    *out = (cf_changes){.v = v, .n = n};
    return CF_OK;
}

static cf_status put_rows(command *c, const cf_inside_row *rows, size_t n, cf_error *err)
{
    cf_jw w;
    if (!c->cli->is_json) {
        cf_inside_text_rows(&c->cli->out, &c->c, rows, n);
        return CF_OK;
    }
    begin_json(c, &w);
    cf_inside_json_rows(&w, &c->c, rows, n);
    return end_json(c, &w, err);
}

/* Each part hidden in turn. */
static cf_status each_part(command *c, const cf_inside_answer *plain, cf_error *err)
{
    cf_inside_answer *v;
    cf_inside_row *rows = cf_arena_calloc(&c->c.arena, c->c.n_part + 1, sizeof *rows);
    if (rows == NULL) {
        return cf_oom_for(err, "the rows");
    }
    cf_progress_start(&c->progress, "hiding parts");
    cf_status st = cf_inside_study_without(&v, &c->c, show_progress, &c->progress, err);
    cf_progress_end(&c->progress);
    CF_TRY(st);
    rows[0] = (cf_inside_row){cf_str_from("as it is"), *plain};
    for (size_t i = 0; i < c->c.n_part; i++) {
        rows[i + 1] = (cf_inside_row){c->c.part[i].label, v[i]};
    }
    return put_rows(c, rows, c->c.n_part + 1, err);
}

static cf_status ask_without(command *c, cf_error *err)
{
    cf_changes changes;
    cf_inside_row rows[2] = {{.name = cf_str_from("as it is")}, {.name = cf_str_from("without")}};
    CF_TRY(cf_inside_case_choose(&c->c, c->a, c->against, err));
    CF_TRY(read_changes(c, &changes, err));
    CF_TRY(cf_inside_study_answer(&rows[0].answer, &c->c, NULL, err));
    if (changes.n == 0) {
        return each_part(c, &rows[0].answer, err);
    }
    CF_TRY(cf_inside_study_answer(&rows[1].answer, &c->c, &changes, err));
    return put_rows(c, rows, 2, err);
}

/* ---- patch -------------------------------------------------------------- */

static cf_status read_layer(const command *c, uint32_t *out, cf_error *err)
{
    cf_inside_change place = {.layer = UINT32_MAX};
    if (c->layer != NULL && strcmp(c->layer, "all") != 0) {
        CF_TRY(read_place(c->layer, "--layer", false, &place, err));
    }
    *out = place.layer;
    return CF_OK;
}

/* The prompt that the streams are taken from, with the same question. */
static cf_status read_other(command *c, cf_error *err)
{
    uint32_t kinds = 1u << CF_PART_MESSAGE | 1u << CF_PART_TOOL;
    CF_TRY(cf_session_fork(&c->second, c->session, err));
    join(c, &c->other, c->second);
    if (!is_file(c->from) && c->cli->store == NULL) {
        CF_TRY(cf_cli_open_store(&c->cli->store, c->cli, 0, err));
    }
    CF_TRY(load(c, &c->other, c->from, err));
    if (c->by != NULL) {
        CF_TRY(cf_part_kinds_read(&kinds, c->by, "--by", err));
    }
    CF_TRY(cf_inside_case_parts(&c->other, kinds, err));
    if (c->has_at) { /* counted from the end of the prompt in both */
        size_t back = c->c.n_prompt > c->at ? c->c.n_prompt - c->at : 0;
        CF_TRY(cf_inside_case_set_at(
            &c->other, back > 0 && back <= c->other.n_prompt ? c->other.n_prompt - back : c->at,
            err));
    }
    return cf_inside_case_choose(&c->other, c->a, c->against, err);
}

static cf_status ask_patch(command *c, cf_error *err)
{
    cf_inside_map v;
    uint32_t layer;
    cf_jw w;
    if (c->from == NULL) {
        return cf_fail(err, CF_EINVAL, "patch needs --from UUID|CONTEXT");
    }
    CF_TRY(read_layer(c, &layer, err));
    CF_TRY(cf_inside_case_choose(&c->c, c->a, c->against, err));
    CF_TRY(read_other(c, err));
    cf_progress_start(&c->progress, "patching");
    cf_status st =
        cf_inside_study_patch(&v, &c->c, &c->other, layer, show_progress, &c->progress, err);
    cf_progress_end(&c->progress);
    CF_TRY(st);
    if (!c->cli->is_json) {
        cf_inside_text_map(&c->cli->out, &c->c, &v);
        return CF_OK;
    }
    begin_json(c, &w);
    cf_inside_json_map(&w, &c->c, &v);
    return end_json(c, &w, err);
}

/* ---- steer -------------------------------------------------------------- */

/* The alternatives with the session's steering and without it. */
static cf_status ask_steer(command *c, cf_error *err)
{
    const cf_steering *steering = cf_session_steering(c->session);
    cf_inside_row rows[2] = {{.name = cf_str_from("as it is")}, {.name = cf_str_from("steered")}};
    if (steering == NULL) {
        return cf_fail(err, CF_EINVAL, "steer needs --steer FILE, or make");
    }
    CF_TRY(cf_session_set_steering(c->session, NULL, err));
    CF_TRY(cf_inside_case_choose(&c->c, c->a, c->against, err));
    CF_TRY(cf_inside_study_answer(&rows[0].answer, &c->c, NULL, err));
    CF_TRY(cf_session_set_steering(c->session, steering, err));
    CF_TRY(cf_inside_study_answer(&rows[1].answer, &c->c, NULL, err));
    return put_rows(c, rows, 2, err);
}

static cf_status make_steering(command *c, cf_error *err)
{
    CF_TRY(open_recorded(c, NULL, err));
    join(c, &c->c, c->session);
    return cf_inside_steer_make(&c->steer, &c->c, &c->cli->out, err);
}

/* ---- the command -------------------------------------------------------- */

static const struct {
    const char *name;
    cf_status (*ask)(command *c, cf_error *err);
} kinds[] = {{"lens", ask_lens},       {"attention", ask_attention}, {"margin", ask_margin},
             {"without", ask_without}, {"patch", ask_patch},         {"steer", ask_steer},
             {"tools", ask_tools}};

static cf_status answer(command *c, cf_error *err)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (is_kind(c, kinds[i].name)) {
            CF_TRY(read_case(c, c->cli->n_args > 1 ? c->cli->args[1] : NULL, err));
            return kinds[i].ask(c, err);
        }
    }
    return cf_fail(err, CF_EINVAL,
                   "'%.20s' is not lens, attention, margin, without, patch, steer or tools",
                   c->cli->args[0]);
}

/* Whether the arguments suit each other; NULL: they do. */
static const char *check_usage(const command *c)
{
    int n = c->cli->n_args;
    if (c->batch != NULL) {
        return n == 0 ? NULL : "--batch has its questions in the file";
    }
    if (n == 0) {
        return "wants lens, attention, margin, without, patch, steer or tools, or --batch FILE";
    }
    return (n == 2) == (c->ids == NULL) ? NULL : "wants one UUID, CONTEXT or --ids LIST";
}

static const cf_opt_row options[] = {
    {"--batch", 0, CF_OPT_STR, offsetof(command, batch), "FILE",
     "answer the JSON requests in FILE, one per line", 0},
    {"--ids", 0, CF_OPT_STR, offsetof(command, ids), "LIST", "token ids instead of a reply", 0},
    {"--turn", 0, CF_OPT_STR, offsetof(command, turn), "TURN",
     "the reply: its UUID, or its message's number from 0 (default: the last)", 0},
    {"--at", 0, CF_OPT_U32, offsetof(command, at), "N",
     "the position, from 0 (default: where the called tool was chosen, else the end of the "
     "prompt)",
     offsetof(command, has_at)},
    {"--for", 0, CF_OPT_STR, offsetof(command, a), "TEXT",
     "a token that could be there (default: the one that is)", 0},
    {"--against", 0, CF_OPT_STR, offsetof(command, against), "TEXT",
     "the token to compare it with (default: the best alternative)", 0},
    {"--by", 0, CF_OPT_STR, offsetof(command, by), "KIND",
     "parts: message, tool, field, sentence, word, template, or several with commas (default: "
     "message,tool)",
     0},
    {"--hide", 0, CF_OPT_LIST, offsetof(command, hide), "PART",
     "hide a message by its number from 0, a tool by its name, or positions FROM-TO; may be "
     "repeated, like the next four",
     0},
    {"--head", 0, CF_OPT_LIST, offsetof(command, head), "L.H", "leave a head of a layer out", 0},
    {"--block", 0, CF_OPT_LIST, offsetof(command, block), "L", "leave a layer out", 0},
    {"--mlp", 0, CF_OPT_LIST, offsetof(command, mlp), "L",
     "leave the feed-forward part of a layer out", 0},
    {"--expert", 0, CF_OPT_LIST, offsetof(command, expert), "L.E", "leave an expert out", 0},
    {"--from", 0, CF_OPT_STR, offsetof(command, from), "UUID|CONTEXT",
     "patch: the prompt that the streams are taken from", 0},
    {"--layer", 0, CF_OPT_STR, offsetof(command, layer), "L|all",
     "patch: the layer whose input is replaced (default: all, one after the other)", 0},
    {"--output", 'o', CF_OPT_STR, offsetof(command, steer.output), "FILE",
     "steer make: the control vector file to write", 0},
    {"--pairs", 0, CF_OPT_STR, offsetof(command, steer.pairs), "FILE",
     "steer make: from pairs of prompts, a line {\"with\": ..., \"without\": ...} each", 0},
    {"--row", 0, CF_OPT_STR, offsetof(command, steer.row), "TOKEN",
     "steer make: the output row of a token, a text or an id", 0},
    CF_ROW_FAMILY(offsetof(command, family)),
    CF_OPT_ROWS_END,
};

/* One request of --batch. */
static cf_status batch_item(void *ud, const json_t *item, cf_buf *members, cf_error *err)
{
    cf_buf answered = CF_BUF_INIT;
    cf_status st = cf_inside_request(ud, item, cf_cli_cancel(), &answered, err);
    if (st == CF_OK) {
        cf_cli_put_members(members, &answered);
    }
    cf_buf_deinit(&answered);
    return st;
}

static int run_inside(cf_cli *cli, void *state)
{
    command *c = state;
    cf_error err;
    c->cli = cli;
    cf_inside_case_init(&c->c);
    cf_inside_case_init(&c->other);
    bool is_make = cli->n_args == 2 && is_kind(c, "steer") && strcmp(cli->args[1], "make") == 0;
    const char *wrong = check_usage(c);
    int status;
    if (wrong != NULL) {
        status = cf_cli_usage(cli, wrong);
    } else if (c->batch != NULL) {
        status = open_bare(c, &err) == CF_OK ? cf_cli_batch(cli, c->batch, batch_item, c->session)
                                             : cf_cli_fail(cli, &err);
    } else {
        cf_status st = is_make ? make_steering(c, &err) : answer(c, &err);
        status = cf_cli_end(cli, st, &err);
    }
    cf_inside_case_deinit(&c->other);
    cf_inside_case_deinit(&c->c);
    cf_session_free(c->second);
    cf_session_free(c->own);
    return status;
}

const cf_cli_command cf_cmd_inside = {
    .name = "inside",
    .arguments = "lens|attention|margin|without|patch|steer|tools UUID|CONTEXT",
    .summary = "show what a model looked at, what it preferred, and what flips it",
    .options = options,
    .state_bytes = sizeof(command),
    .n_max = 2,
    .want = "takes a question and one UUID or CONTEXT",
    .run = run_inside,
};
