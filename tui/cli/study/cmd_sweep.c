/*
 * cmd_sweep.c - confab sweep: a plan's prompts with every combination of
 * system prompts, templates, models and samplers.
 */
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/cli/shell/progress.h"
#include "tui/study/import/plan_load.h"
#include "tui/study/plan/plan_trust.h"
#include "tui/study/sweep/sweep_past.h"

typedef struct job {
    cf_cli *cli;
    const char *junit;
    uint32_t jobs;
    bool is_kept_out, shows_past;
    cf_progress progress;
    cf_sweep_versus *versus;
    size_t n_versus;
    bool is_cut; /* memory ran out for a line of the output */
} job;

static void on_cell(void *ud, const cf_sweep *s, size_t cell)
{
    job *j = ud;
    cf_buf line = CF_BUF_INIT;
    if (j->cli->is_json) {
        cf_sweep_put_cell(&line, s, cell);
        cf_progress_end(&j->progress);
        j->is_cut = j->is_cut || line.failed;
        if (!line.failed) {
            cf_out(stdout, cf_buf_str(&line), CF_OUT_JSON);
            fflush(stdout);
        }
    } else if (s->cell[cell].result == NULL) {
        cf_progress_end(&j->progress);
        cf_note_text("[failed] ", cf_str_from(s->cell[cell].error != NULL ? s->cell[cell].error
                                                                          : "out of memory"));
    }
    cf_buf_deinit(&line);
}

static void on_progress(void *ud, size_t n_done, size_t n)
{
    job *j = ud;
    if (!j->cli->is_quiet) {
        cf_progress_show(&j->progress, n_done, n);
    }
}

static cf_status write_end(job *j, const cf_sweep *s, cf_error *err)
{
    cf_buf out = CF_BUF_INIT;
    CF_TRY(cf_sweep_compare(s, &j->versus, &j->n_versus, err));
    if (j->cli->is_json) {
        cf_sweep_put_end(&out, s, j->versus, j->n_versus);
    } else {
        cf_sweep_put_table(&out, s, j->versus, j->n_versus);
    }
    cf_status st = cf_buf_check(&out, err);
    if (st == CF_OK && cf_cli_print(j->cli, &out) != CF_EXIT_OK) {
        st = cf_fail(err, CF_EIO, "standard output cannot be written");
    }
    if (st == CF_OK && j->junit != NULL) {
        cf_buf_reset(&out);
        cf_sweep_put_junit(&out, s);
        st = cf_buf_check(&out, err);
        CF_THEN(st, cf_os_write_file(j->junit, cf_buf_cstr(&out), out.n, 0644, err));
    }
    cf_buf_deinit(&out);
    return st;
}

static cf_status run(job *j, const cf_sweep_plan *plan, int *status, cf_error *err)
{
    cf_sweep s;
    const cf_sweep_options o = {.open = j->cli->open,
                                .store = j->is_kept_out ? NULL : j->cli->store,
                                .jobs = j->jobs,
                                .cancel = cf_cli_cancel(),
                                .fn = on_cell,
                                .progress = on_progress,
                                .ud = j};
    CF_TRY(cf_sweep_init(&s, plan, &o, err));
    cf_progress_start(&j->progress, "cells");
    cf_status st = cf_sweep_run(&s, err);
    cf_progress_end(&j->progress);
    CF_THEN(st, write_end(j, &s, err));
    CF_THEN(st, cf_sweep_past_add(&s, err));
    if (st == CF_OK && j->is_cut) {
        st = cf_oom_for(err, "a cell");
    }
    *status = s.n_failed > 0                ? CF_EXIT_ENGINE
              : cf_sweep_n_unpassed(&s) > 0 ? CF_EXIT_FINDING
                                            : CF_EXIT_OK;
    if (s.n_unsaved > 0) {
        cf_note("confab sweep: %zu cells are not saved: %s", s.n_unsaved, s.store_why.text);
        *status = *status == CF_EXIT_OK ? CF_EXIT_UNSAVED : *status;
    }
    cf_sweep_deinit(&s);
    return st;
}

static const cf_opt_row options[] = {
    {"--jobs", 'j', CF_OPT_U32, offsetof(job, jobs), "N",
     "number of cells to run at a time: requests over all servers, or sequences "
     "in one pass of a local model (default: 8)",
     0},
    {"--junit", 0, CF_OPT_STR, offsetof(job, junit), "FILE",
     "also write the results of the checks as JUnit XML", 0},
    {"--past", 0, CF_OPT_FLAG, offsetof(job, shows_past), NULL,
     "run nothing: show the kept sweeps of this plan by date, and whether the last differs "
     "from the one before",
     0},
    {"--no-store", 0, CF_OPT_FLAG, offsetof(job, is_kept_out), NULL,
     "neither store replies nor reuse stored ones", 0},
    CF_OPT_ROWS_END,
};

static int run_sweep(cf_cli *cli, void *state)
{
    job *j = state;
    j->cli = cli;
    cf_error err = {0};
    int status = CF_EXIT_OK;
    if (j->jobs > CF_SWEEP_JOBS_MAX) {
        return cf_cli_usage(cli, "--jobs: at most 256");
    }
    cf_sweep_plan plan = {.n_item = 0};
    cf_status st = cf_cli_open_store(&j->cli->store, cli, CF_STORE_CREATE, &err);
    if (j->shows_past) {
        CF_THEN(st, cf_sweep_past_put(&cli->out, cli->store, cli->args[0], cli->is_json, &err));
        return cf_cli_end(cli, st, &err);
    }
    const cf_sweep_saved saved = {.store = j->cli->store};
    CF_THEN(st, cf_plan_load(&plan, cli->args[0], &saved, &err));
    CF_THEN(st, cf_sweep_plan_servers(&plan, cli->model.v, cli->model.n, &err));
    CF_THEN(st, cf_sweep_plan_trust(&plan, &cli->trust, &err));
    CF_THEN(st, run(j, &plan, &status, &err));
    if (st != CF_OK) {
        status = cf_cli_fail(cli, &err);
    }
    cf_free(j->versus);
    cf_sweep_plan_deinit(&plan);
    return status;
}

const cf_cli_command cf_cmd_sweep = {
    .name = "sweep",
    .arguments = "PLAN",
    .summary = "run prompts with every combination of templates, models and system "
               "prompts, and compare the replies",
    .options = options,
    .state_bytes = sizeof(job),
    .n_min = 1,
    .n_max = 1,
    .want = "takes one PLAN",
    .run = run_sweep,
};
