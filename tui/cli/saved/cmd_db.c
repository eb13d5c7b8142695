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
    if (cf_open_store_path(&cli->open, &path, &err) != CF_OK) {
        return cf_cli_fail(cli, &err);
    }
    cf_buf out = CF_BUF_INIT;
    if (cli->is_json) {
        cf_buf_adds(&out, "{\"path\":");
        cf_json_write_str(&out, cf_str_from(path));
        cf_buf_adds(&out, "}\n");
    } else {
        cf_buf_addf(&out, "%s\n", path);
    }
    int status = cf_cli_print(cli, &out);
    cf_buf_deinit(&out);
    cf_free(path);
    return status;
}

typedef struct findings {
    cf_buf out;
    bool is_json;
} findings;

static void add_finding(void *ud, const char *line)
{
    findings *f = ud;
    if (f->is_json) {
        cf_buf text = CF_BUF_INIT;
        cf_jw w;
        cf_jw_init(&w, &text);
        cf_jw_object(&w, NULL);
        cf_jw_text(&w, "finding", line);
        cf_jw_end(&w);
        cf_cli_put_json(&f->out, &w);
        cf_buf_deinit(&text);
    } else {
        cf_cli_put_line(&f->out, cf_str_from(line));
        cf_buf_addc(&f->out, '\n');
    }
}

static int db_check(cf_cli *cli)
{
    cf_store *s;
    cf_error err;
    if (cf_cli_open_store(&s, cli, 0, &err) != CF_OK) {
        return cf_cli_fail(cli, &err);
    }
    findings f = {.out = CF_BUF_INIT, .is_json = cli->is_json};
    size_t n = 0;
    cf_store_size size = {0};
    cf_status st = cf_store_check(s, add_finding, &f, &n, &err);
    CF_THEN(st, cf_store_get_size(s, &size, &err));
    int status;
    if (st != CF_OK) {
        status = cf_cli_fail(cli, &err);
    } else {
        if (cli->is_json) {
            cf_buf_addf(&f.out,
                        "{\"findings\":%zu,\"conversations\":%llu,"
                        "\"turns\":%llu,\"bytes\":%llu}\n",
                        n, (unsigned long long)size.n_convs, (unsigned long long)size.n_turns,
                        (unsigned long long)size.file_bytes);
        } else {
            cf_buf_addf(&f.out,
                        "%zu findings in %llu conversations, %llu "
                        "turns, %.1f MB\n",
                        n, (unsigned long long)size.n_convs, (unsigned long long)size.n_turns,
                        (double)size.file_bytes / 1e6);
        }
        status = cf_cli_print(cli, &f.out);
        status = status == CF_EXIT_OK && n != 0 ? CF_EXIT_FINDING : status;
    }
    cf_buf_deinit(&f.out);
    cf_store_close(s);
    return status;
}

static int db_backup(cf_cli *cli, const char *to)
{
    cf_store *s;
    cf_error err;
    if (cf_cli_open_store(&s, cli, CF_STORE_READ_ONLY, &err) != CF_OK) {
        return cf_cli_fail(cli, &err);
    }
    cf_status st = cf_store_backup(s, to, &err);
    cf_store_close(s);
    return st == CF_OK ? CF_EXIT_OK : cf_cli_fail(cli, &err);
}

int cf_cmd_db(cf_cli *cli, int argc, char **argv)
{
    int n;
    int done = cf_cli_options(cli, NULL, argc, argv, &n);
    if (done >= 0) {
        return done;
    }
    if (n == 1 && strcmp(argv[0], "path") == 0) {
        return db_path(cli);
    }
    if (n == 1 && strcmp(argv[0], "check") == 0) {
        return db_check(cli);
    }
    if (n == 2 && strcmp(argv[0], "backup") == 0) {
        return db_backup(cli, argv[1]);
    }
    return cf_cli_usage(cli, "want check, backup FILE or path");
}
