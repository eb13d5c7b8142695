/*
 * cmd_paths.c - confab paths: shows where files are.
 */
#include "tui/cli/shell/cli.h"
#include "tui/sys/paths.h"

static int run_paths(cf_cli *cli, void *state)
{
    (void)state;
    cf_error err;
    cf_paths paths;
    if (cf_paths_find(&paths, &err) != CF_OK) {
        return cf_cli_fail(cli, &err);
    }
    const struct {
        const char *name, *path;
    } rows[] = {
        {"config", paths.config},
        {"database", cli->open.db != NULL ? cli->open.db : paths.database},
        {"state", paths.state},
        {"cache", paths.cache},
    };
    cf_buf *out = &cli->out;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (cli->is_json) {
            cf_buf_addf(out, "%s\"%s\":", i == 0 ? "{" : ",", rows[i].name);
            cf_json_write_str(out, cf_str_from(rows[i].path));
        } else {
            cf_buf_addf(out, "%-9s %s\n", rows[i].name, rows[i].path);
        }
    }
    cf_buf_adds(out, cli->is_json ? "}\n" : "");
    cf_paths_deinit(&paths);
    return cf_cli_print(cli, out);
}

const cf_cli_command cf_cmd_paths = {
    .name = "paths",
    .arguments = "",
    .summary = "print where confab keeps its files",
    .n_max = 0,
    .run = run_paths,
};
