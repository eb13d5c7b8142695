/*
 * cli_store.c - opens the history database of a command.
 */
#include "tui/cli/shell/cli_store.h"

#include "core/base/alloc.h"
#include "core/base/safe_text.h"
#include "core/base/utf8.h"
#include "tui/sys/out.h"

cf_status cf_cli_open_store(cf_store **out, const cf_cli *cli, uint32_t flags, cf_error *err)
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
            cf_note("confab %s: the history can only be read: %s", cli->command->name,
                    state.why.text);
        }
    }
    return st;
}

bool cf_cli_all_saved(const cf_cli *cli, cf_store *store)
{
    enum { PATIENCE_MS = 10000, FAILING_MS = 500 };
    cf_store_state state;
    cf_error err;
    if (store == NULL) {
        return true;
    }
    cf_store_get_state(store, &state);
    cf_status st = cf_store_flush(store, state.is_failing ? FAILING_MS : PATIENCE_MS, &err);
    cf_store_get_state(store, &state); /* the flush may have lost some */
    if (st == CF_OK && state.n_lost > 0) {
        st = state.lost_why.code;
        err = state.lost_why;
    }
    if (st != CF_OK) {
        cf_note("confab %s: not saved: %s", cli->command->name, err.text);
    }
    return st == CF_OK;
}

void cf_cli_put_json(cf_buf *out, const cf_jw *w)
{
    if (cf_jw_finish(w, NULL) != CF_OK) {
        out->failed = true;
        return;
    }
    const char *p = cf_buf_cstr(w->out);
    for (size_t i = 0; i < w->out->n;) {
        uint32_t cp;
        size_t n = cf_utf8_decode(&cp, p + i, w->out->n - i);
        if (cp < 0x80) {
            cf_buf_addc(out, (char)cp);
        } else if (cp < 0x10000) {
            cf_buf_addf(out, "\\u%04X", (unsigned)cp);
        } else {
            cf_buf_addf(out, "\\u%04X\\u%04X", (unsigned)(0xD7C0 + (cp >> 10)),
                        (unsigned)(0xDC00 + (cp & 0x3FF)));
        }
        i += n;
    }
    cf_buf_addc(out, '\n');
}

void cf_cli_put_line(cf_buf *out, cf_str s)
{
    cf_safe_line(out, s.p != NULL ? s.p : "", s.n);
}
