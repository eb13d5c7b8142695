/*
 * cmd_session.c - confab session: what a coding agent did, from its own files.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/api/engine.h"
#include "core/base/os.h"
#include "tui/cli/answers/session_text.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/progress.h"

typedef struct asked {
    bool findings;
    const char *prices;
    const char *diff; /* the first of two steps; the second is an argument */
    cf_trail_prices list;
} asked;

static const cf_opt_row options[] = {
    {"--findings", 0, CF_OPT_FLAG, offsetof(asked, findings), NULL,
     "with --json: also print what is wrong with the session", 0},
    {"--diff", 0, CF_OPT_STR, offsetof(asked, diff), "A B",
     "print what changed in the context between two steps; with -m also in tokens", 0},
    {"--prices", 0, CF_OPT_STR, offsetof(asked, prices), "FILE",
     "a JSON file with prices for a million tokens of each model, for costs", 0},
    CF_OPT_ROWS_END,
};

static cf_status print_one(cf_cli *cli, const asked *a, const cf_trail *t, cf_error *err)
{
    cf_trail_findings found = {.n = 0};
    cf_trail_steps steps = {0};
    bool wants_findings = a->findings || !cli->is_json;
    cf_status st = wants_findings ? cf_trail_find(&found, t, err) : CF_OK;
    if (st == CF_OK && cli->is_json) {
        cf_trail_write(&cli->out, t, a->findings ? &found : NULL);
    } else if (st == CF_OK) {
        st = cf_trail_steps_make(&steps, t, &found, &a->list, err);
    }
    if (st == CF_OK && !cli->is_json) {
        cf_session_text(&cli->out, t, &steps, &found);
    }
    CF_THEN(st, cf_buf_check(&cli->out, err));
    cf_trail_steps_deinit(&steps);
    cf_trail_findings_deinit(&found);
    return st;
}

/* ---- difference ---------------------------------------------------------- */

static bool is_number(const char *s)
{
    return s[0] != '\0' && strspn(s, "0123456789") == strlen(s);
}

static cf_status place_of(size_t *at, const cf_trail *t, const char *n, cf_error *err)
{
    *at = cf_trail_step_at(t, (size_t)strtoull(n, NULL, 10));
    return *at != SIZE_MAX ? CF_OK
                           : cf_fail(err, CF_EINVAL, "there is no step %s: this session has %zu", n,
                                     t->n_steps);
}

static cf_status print_diff(cf_cli *cli, const cf_trail *t, const char *a, const char *b,
                            cf_error *err)
{
    cf_session_change c = {.n_same = 0};
    cf_session_how how = {.tokenizer = NULL};
    cf_buf source = CF_BUF_INIT;
    const char *from;
    size_t before, after;
    cf_status st = place_of(&before, t, a, err);
    CF_THEN(st, place_of(&after, t, b, err));
    if (st == CF_OK && cli->model.n != 0) {
        st = cf_open_engine(&cli->opened.engine, &cli->open, true, err);
        how.tokenizer = st == CF_OK ? cf_engine_tokenizer(cli->opened.engine) : NULL;
    }
    if (st == CF_OK && (cli->model.n != 0 || cli->open.template_name != NULL)) {
        st = cf_open_template_source(&source, &from, &cli->open, cli->opened.engine, err);
        how.template_source = cf_buf_str(&source);
    }
    CF_THEN(st, cf_session_change_make(&c, t, before, after, &how, err));
    if (st == CF_OK) {
        (cli->is_json ? cf_session_diff_json : cf_session_diff_text)(&cli->out, &c);
        st = cf_buf_check(&cli->out, err);
    }
    cf_session_change_deinit(&c);
    cf_buf_deinit(&source);
    return st;
}

static cf_status print_all(cf_cli *cli, const asked *a, const cf_trails *trails, const char *second,
                           cf_error *err)
{
    cf_status st = CF_OK;
    if (a->diff != NULL && trails->n != 1) {
        return cf_fail(err, CF_EINVAL, "--diff needs one session, and there are %zu here",
                       trails->n);
    }
    for (size_t i = 0; st == CF_OK && i < trails->n; i++) {
        if (i != 0 && !cli->is_json) {
            cf_buf_addc(&cli->out, '\n');
        }
        st = a->diff != NULL ? print_diff(cli, trails->v[i], a->diff, second, err)
                             : print_one(cli, a, trails->v[i], err);
    }
    return st;
}

static void show_progress(void *ud, uint64_t done, uint64_t all)
{
    cf_progress_show(ud, (size_t)done, (size_t)all);
}

static int run_session(cf_cli *cli, void *state)
{
    asked *a = state;
    cf_trails trails = {0};
    cf_error err;
    if (cli->n_args != (a->diff != NULL ? 2 : 1)) {
        return cf_cli_usage(cli, "takes one FILE or FOLDER, and with --diff two steps");
    }
    /* "--diff 12 13 FILE" and "FILE --diff 12 13" are the same. */
    bool is_first = a->diff != NULL && is_number(cli->args[0]) && !is_number(cli->args[1]);
    const char *path = cli->args[is_first ? 1 : 0];
    const char *second = a->diff != NULL ? cli->args[is_first ? 0 : 1] : NULL;
    if (a->diff != NULL && (!is_number(a->diff) || !is_number(second))) {
        return cf_cli_usage(cli, "--diff takes the numbers of two steps");
    }
    bool is_plain = a->diff == NULL && a->prices == NULL && !a->findings && !cli->is_json;
    if (is_plain && isatty(STDOUT_FILENO) != 0 && !cf_os_is_dir(path) &&
        cli->screen->check(&err) == CF_OK) {
        return cf_cli_steps(cli, path);
    }
    cf_progress progress;
    const cf_trail_options opts = {
        .cancel = cf_cli_cancel(), .progress = show_progress, .ud = &progress};
    cf_status st = cf_session_prices(&a->list, a->prices, &err);
    cf_progress_start(&progress, "reading the session");
    CF_THEN(st, cf_trails_read(&trails, path, &opts, &err));
    cf_progress_end(&progress);
    CF_THEN(st, print_all(cli, a, &trails, second, &err));
    cf_trails_deinit(&trails);
    cf_trail_prices_deinit(&a->list);
    return cf_cli_end(cli, st, &err);
}

const cf_cli_command cf_cmd_session = {
    .name = "session",
    .arguments = "FILE|FOLDER",
    .summary = "show the requests of a coding agent's session, from its own files",
    .options = options,
    .state_bytes = sizeof(asked),
    .n_min = 1,
    .n_max = 2,
    .want = "takes one FILE or FOLDER, and with --diff two steps",
    .run = run_session,
};
