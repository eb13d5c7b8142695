/*
 * open_store.c - the history database of a command.
 */
#include "tui/lab/open_store.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/safe_text.h"
#include "tui/sys/paths.h"

cf_status cf_cli_db_path(const cf_cli *cli, char **out, cf_error *err)
{
    cf_paths paths = {0};
    const char *path = cli->db;
    if (path == NULL) {
        CF_TRY(cf_paths_find(&paths, err));
        path = paths.database;
    }
    *out = cf_strdup(path);
    cf_paths_deinit(&paths);
    return *out != NULL ? CF_OK : cf_oom(err);
}

void cf_cli_store_hint(cf_error *err)
{
    const char *hint = NULL;
    switch (err->code) {
    case CF_EFORMAT:
    case CF_EIO:
        hint = "--db names another file";
        break;
    case CF_EUNSUPPORTED:
        hint = "update confab, or name another file with --db";
        break;
    case CF_EBUSY:
        hint = "end that program, or name another file with --db";
        break;
    default:
        break;
    }
    size_t n = strlen(err->text);
    if (hint != NULL && n + strlen(hint) + 3 <= sizeof err->text) {
        snprintf(err->text + n, sizeof err->text - n, "; %s", hint);
    }
}

cf_status cf_cli_open_store(cf_store **out, const cf_cli *cli, uint32_t flags,
                            cf_error *err)
{
    char *path;
    CF_TRY(cf_cli_db_path(cli, &path, err));
    cf_store_options opts = {.flags = flags};
    cf_error why;
    cf_status st = cf_store_open(out, path, &opts, &why);
    cf_free(path);
    if (st != CF_OK) {
        cf_cli_store_hint(&why);
        *err = why;
    } else {
        cf_store_state state;
        cf_store_get_state(*out, &state);
        cf_cli_store_hint(&state.why);
        if (state.why.code != CF_OK && (flags & CF_STORE_READ_ONLY) == 0) {
            fprintf(stderr, "confab %s: %s\n", cli->command->name,
                    state.why.text);
        }
    }
    return st;
}

void cf_cli_put_json(cf_buf *out, const json_t *v)
{
    char *line = json_dumps(v, JSON_COMPACT | JSON_ENSURE_ASCII);
    if (line == NULL) {
        out->failed = true;
        return;
    }
    cf_buf_adds(out, line);
    cf_buf_addc(out, '\n');
    cf_free(line);
}

void cf_cli_put_line(cf_buf *out, cf_str s)
{
    cf_safe_line(out, s.p != NULL ? s.p : "", s.n);
}
