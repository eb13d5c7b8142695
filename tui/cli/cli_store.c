/*
 * cli_store.c - opens the history database of a command.
 */
#include "tui/cli/cli_store.h"

#include "core/base/alloc.h"
#include "core/base/safe_text.h"

cf_status cf_cli_open_store(cf_store **out, const cf_cli *cli, uint32_t flags,
                            cf_error *err)
{
    char *path;
    CF_TRY(cf_open_store_path(&cli->open, &path, err));
    cf_store_options opts = {.flags = flags};
    cf_error why;
    cf_status st = cf_store_open(out, path, &opts, &why);
    cf_free(path);
    if (st != CF_OK) {
        cf_open_store_hint(&why);
        *err = why;
    } else {
        cf_store_state state;
        cf_store_get_state(*out, &state);
        cf_open_store_hint(&state.why);
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
