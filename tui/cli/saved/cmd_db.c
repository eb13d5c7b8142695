/*
 * cmd_db.c - confab db: checks, backs up or locates the history database.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/cli_store.h"

static int db_path(cf_cli *cli)
{
    char *path;
    cf_error err;
    cf_status st = cf_open_store_path(&cli->open, &path, &err);
    if (st == CF_OK && cli->is_json) {
        cf_buf_adds(&cli->out, "{\"path\":");
        cf_json_write_str(&cli->out, cf_str_from(path));
        cf_buf_adds(&cli->out, "}\n");
    } else if (st == CF_OK) {
        cf_buf_addf(&cli->out, "%s\n", path);
    }
    if (st == CF_OK) {
        cf_free(path);
    }
    return cf_cli_end(cli, st, &err);
}

static void add_finding(void *ud, const char *line)
{
    cf_cli *cli = ud;
    if (cli->is_json) {
        cf_buf text = CF_BUF_INIT;
        cf_jw w;
        cf_jw_init(&w, &text);
        cf_jw_object(&w, NULL);
        cf_jw_text(&w, "finding", line);
        cf_jw_end(&w);
        cf_cli_put_json(&cli->out, &w);
        cf_buf_deinit(&text);
    } else {
        cf_cli_put_line(&cli->out, cf_str_from(line));
        cf_buf_addc(&cli->out, '\n');
    }
}

static int db_check(cf_cli *cli)
{
    cf_error err;
    size_t n = 0;
    cf_store_size size = {0};
    cf_status st = cf_cli_open_store(&cli->store, cli, 0, &err);
    CF_THEN(st, cf_store_check(cli->store, add_finding, cli, &n, &err));
    CF_THEN(st, cf_store_get_size(cli->store, &size, &err));
    unsigned long long turns = (unsigned long long)size.n_turns;
    unsigned long long convs = (unsigned long long)size.n_convs;
    if (cli->is_json) {
        cf_buf_addf(&cli->out,
                    "{\"findings\":%zu,\"conversations\":%llu,\"turns\":%llu,\"bytes\":%llu}\n", n,
                    convs, turns, (unsigned long long)size.file_bytes);
    } else {
        cf_buf_addf(&cli->out, "%zu findings in %llu conversations, %llu turns, %.1f MB\n", n,
                    convs, turns, (double)size.file_bytes / 1e6);
    }
    int status = cf_cli_end(cli, st, &err);
    return status == CF_EXIT_OK && n != 0 ? CF_EXIT_FINDING : status;
}

static int db_backup(cf_cli *cli, const char *to)
{
    cf_error err;
    cf_status st = cf_cli_open_store(&cli->store, cli, CF_STORE_READ_ONLY, &err);
    CF_THEN(st, cf_store_backup(cli->store, to, &err));
    return cf_cli_end(cli, st, &err);
}

static int run_db(cf_cli *cli, void *state)
{
    (void)state;
    if (cli->n_args == 1 && strcmp(cli->args[0], "path") == 0) {
        return db_path(cli);
    }
    if (cli->n_args == 1 && strcmp(cli->args[0], "check") == 0) {
        return db_check(cli);
    }
    if (cli->n_args == 2 && strcmp(cli->args[0], "backup") == 0) {
        return db_backup(cli, cli->args[1]);
    }
    return cf_cli_usage(cli, "takes check, backup FILE or path");
}

const cf_cli_command cf_cmd_db = {
    .name = "db",
    .arguments = "check|backup FILE|path",
    .summary = "check, back up or locate the history database",
    .n_max = CF_ARGS_ANY,
    .run = run_db,
};
