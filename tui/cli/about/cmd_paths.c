/*
 * cmd_paths.c - confab paths: shows where files are.
 */
#include "tui/cli/shell/cli.h"
#include "tui/sys/paths.h"

int cf_cmd_paths(cf_cli *cli, int argc, char **argv)
{
    int n_rest;
    int done = cf_cli_options(cli, NULL, argc, argv, &n_rest);
    if (done >= 0) {
        return done;
    }
    if (n_rest > 0) {
        return cf_cli_usage(cli, "takes no argument");
    }
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
    cf_buf out = CF_BUF_INIT;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (cli->is_json) {
            cf_buf_addf(&out, "%s\"%s\":", i == 0 ? "{" : ",", rows[i].name);
            cf_json_write_str(&out, cf_str_from(rows[i].path));
        } else {
            cf_buf_addf(&out, "%-9s %s\n", rows[i].name, rows[i].path);
        }
    }
    cf_buf_adds(&out, cli->is_json ? "}\n" : "");
    cf_paths_deinit(&paths);
    int status = cf_cli_print(cli, &out);
    cf_buf_deinit(&out);
    return status;
}
