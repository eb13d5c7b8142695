/*
 * cmd_report.c - confab report: one reply and everything that made it, as a
 * file for a bug report.
 */
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/cli_recorded.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/lab/reply/run_options.h"
#include "tui/lab/talk/saved.h"
#include "tui/study/report/report.h"

typedef struct report {
    cf_cli *cli;
    const char *path, *part_name;
    bool has_no_reading, has_influence, has_inside;
    cf_report_part part;
    cf_arena arena;
    cf_store *store;
    cf_store_conv about;
    cf_conversation *conv;
    cf_opened engine;
} report;

/* Loads the conversation that a UUID means; *turn is nil where it names the
 * conversation itself. */
static cf_status load(report *r, const char *name, cf_uuid *turn, cf_error *err)
{
    cf_store_ref ref;
    CF_TRY(cf_cli_open_store(&r->cli->store, r->cli, CF_STORE_READ_ONLY, err));
    CF_TRY(cf_store_find(r->cli->store, cf_str_from(name), &ref, err));
    const cf_saved_choice choice = {
        .conversation = ref.conversation, .turn = ref.turn, .has_raw = true};
    CF_TRY(cf_saved_load(&r->conv, &r->about, r->cli->store, &choice, &r->cli->arena, err));
    if (!cf_uuid_is_nil(ref.turn)) { /* with what follows it */
        cf_error ignored;
        cf_ignore(cf_conversation_set_head(r->conv, r->about.head, &ignored));
    }
    *turn = ref.turn;
    return CF_OK;
}

static cf_status write(report *r, cf_uuid turn, cf_buf *out, cf_error *err)
{
    cf_report_source from = {
        .conv = r->conv,
        .id = r->about.id,
        .title = r->about.title,
        .turn = turn,
        .backend = r->cli->opened.backend,
        .engine = r->cli->opened.engine,
        .tokenizer =
            r->cli->opened.engine != NULL ? cf_engine_tokenizer(r->cli->opened.engine) : NULL,
        .template_name = r->cli->opened.from != NULL ? r->cli->opened.from : "",
        .template_source = cf_buf_str(&r->cli->opened.source),
        .family = r->cli->opened.family,
        .store = r->cli->store,
        .reads = !r->has_no_reading,
        .influences = r->has_influence || r->part == CF_REPORT_INFLUENCE,
        .looks = r->has_inside || r->part == CF_REPORT_INSIDE,
        .roles = &r->cli->opened.roles,
        .cancel = cf_cli_cancel()};
    cf_report_facts facts;
    CF_TRY(cf_report_facts_init(&facts, &from, err));
    cf_status st = cf_report_write(out, &facts, r->part, r->path, err);
    cf_report_facts_deinit(&facts);
    return st;
}

static cf_status run(report *r, const char *name, cf_error *err)
{
    cf_uuid turn;
    cf_buf out = CF_BUF_INIT;
    cf_status st = load(r, name, &turn, err);
    if (st == CF_OK) {
        cf_open_want_model(&r->cli->open);
        st = cf_open_model(&r->cli->open) == NULL
                 ? cf_open_without_model(&r->cli->opened, &r->cli->open, err)
                 : cf_cli_open_recorded(&r->cli->opened, r->cli, r->cli->store, name, NULL, NULL,
                                        &r->cli->arena, err);
    }
    if (st == CF_OK) {
        cf_conversation_set_roles(r->conv, &r->cli->opened.roles);
        st = write(r, turn, &out, err);
    }
    if (st == CF_OK && strcmp(r->path, "-") == 0) {
        st = cf_cli_print(r->cli, &out) == CF_EXIT_OK ? CF_OK : CF_EIO;
    } else if (st == CF_OK) {
        st = cf_os_write_file(r->path, cf_buf_cstr(&out), out.n, 0644, err);
    }
    if (st == CF_OK && strcmp(r->path, "-") != 0) {
        cf_note("wrote %zu bytes to %s", out.n, r->path);
    }
    cf_buf_deinit(&out);
    return st;
}

static cf_status read_part(report *r, cf_error *err)
{
    cf_buf names = CF_BUF_INIT;
    if (r->part_name == NULL || cf_report_part_parse(&r->part, r->part_name)) {
        return CF_OK;
    }
    cf_report_part_names(&names);
    cf_fail(err, CF_EINVAL, "--part: '%.40s' is not one of %s", r->part_name, cf_buf_cstr(&names));
    cf_buf_deinit(&names);
    return CF_EINVAL;
}

static const cf_opt_row options[] = {
    {"--output", 'o', CF_OPT_STR, offsetof(report, path), "FILE",
     "output file: .html, .md (Markdown) or .svg (a picture of one part); -: "
     "HTML on standard output",
     0},
    {"--part", 0, CF_OPT_STR, offsetof(report, part_name), "PART",
     "only conversation, prompt, reply, calls, differences, influence or inside "
     "(default: all; for a picture: reply)",
     0},
    {"--influence", 0, CF_OPT_FLAG, offsetof(report, has_influence), NULL,
     "include the influence of each message, tool and sentence on the reply; "
     "stored scores are reused",
     0},
    {"--inside", 0, CF_OPT_FLAG, offsetof(report, has_inside), NULL,
     "include what the model looked at, what each layer preferred, and what flips the choice", 0},
    {"--no-reading", 0, CF_OPT_FLAG, offsetof(report, has_no_reading), NULL,
     "do not compute the probabilities of a reply that was stored without them", 0},
    CF_OPT_ROWS_END,
};

static int run_report(cf_cli *cli, void *state)
{
    report *r = state;
    r->cli = cli;
    cf_error err = {0};
    if (cli->n_args != 1 || r->path == NULL) {
        return cf_cli_usage(cli, "takes one UUID, and -o FILE");
    }
    if (read_part(r, &err) != CF_OK) {
        return cf_cli_usage(cli, err.text);
    }
    cf_status st = run(r, cli->args[0], &err);
    int status = st == CF_OK ? CF_EXIT_OK : cf_cli_fail(cli, &err);
    cf_conversation_free(r->conv);
    return status;
}

const cf_cli_command cf_cmd_report = {
    .name = "report",
    .arguments = "UUID",
    .summary = "write a reply and everything behind it as a page for a bug report",
    .options = options,
    .state_bytes = sizeof(report),
    .n_max = CF_ARGS_ANY,
    .run = run_report,
};
