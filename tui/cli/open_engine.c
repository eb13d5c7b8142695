/*
 * open_engine.c - the model that -m names.
 */
#include <string.h>

#include "tui/cli/cli.h"
#include "tui/cli/progress.h"

cf_status cf_cli_open_engine(cf_engine **out, const cf_cli *cli,
                             bool vocab_only, cf_error *err)
{
    const char *path = cli->model;
    if (path == NULL || path[0] == '\0') {
        return cf_fail(err, CF_EINVAL,
                       "no model was given: -m FILE.gguf (no model comes "
                       "with this build)");
    }
    if (strncmp(path, "http://", 7) == 0 || strncmp(path, "https://", 8) == 0 ||
        strncmp(path, "script:", 7) == 0) {
        return cf_fail(err, CF_EINVAL,
                       "--model: '%.60s' is no .gguf file, and this command "
                       "needs one",
                       path);
    }
    const cf_engine_options opts = {
        .n_threads = cli->n_threads,
        .is_exact = cli->is_exact,
        .vocab_only = vocab_only,
        .kernel_set = cli->kernel_set,
    };
    cf_progress progress;
    cf_progress_start(&progress, "loading the model");
    cf_progress_show(&progress, 0, 0);
    cf_status st = cf_engine_open(out, path, &opts, err);
    cf_progress_end(&progress);
    /* Errors of the system name the file already. */
    return st == CF_EFORMAT || st == CF_EUNSUPPORTED ? cf_fail_in(err, st, path)
                                                     : st;
}
