/*
 * render_ledger.c - measures a prefill.
 *
 * A first small one maps the weights; the second is timed.
 */
#include "tui/cli/inspect/render_ledger.h"

#include "core/api/session.h"
#include "core/base/os.h"
#include "templates/open.h"

enum { WARM = 8, MEASURED = 256 };

/* Seconds of one prefill from an empty cache; 0: it failed. */
static double time_sync(cf_session *s, const cf_token *ids, size_t n)
{
    const cf_run run = {.cancel = cf_cli_cancel()};
    cf_error ignored;
    cf_session_rewind(s, 0);
    uint64_t start = cf_os_monotonic_us();
    return cf_session_sync(s, ids, n, &run, NULL, &ignored) == CF_OK
               ? (double)(cf_os_monotonic_us() - start) / 1e6
               : 0;
}

double cf_ledger_speed(const cf_open_options *open, const cf_token_span *ids, size_t n)
{
    cf_token v[MEASURED];
    cf_engine *engine = NULL;
    cf_session *session = NULL;
    cf_error ignored;
    const cf_session_options options = {.n_ctx = MEASURED};
    double seconds = 0;
    n = n < MEASURED ? n : MEASURED;
    for (size_t i = 0; i < n; i++) {
        /* A row costs what a token costs. */
        v[i] = cf_token_is_row(ids[i].id) ? 0 : ids[i].id;
    }
    if (n > 0 && cf_open_engine(&engine, open, false, &ignored) == CF_OK &&
        cf_session_new(&session, engine, &options, &ignored) == CF_OK) {
        (void)time_sync(session, v, n < WARM ? n : WARM);
        seconds = time_sync(session, v, n);
    }
    cf_session_free(session);
    cf_engine_close(engine);
    return seconds > 0 ? (double)n / seconds : 0;
}
