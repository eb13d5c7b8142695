/*
 * loss_lines.c - losses on standard error.
 */
#include "tui/cli/answers/loss_lines.h"

#include <stdio.h>

#include "core/json/json_writer.h"
#include "tui/sys/out.h"

void cf_loss_json(cf_buf *out, const cf_loss *loss, const char *of)
{
    cf_jw w;
    cf_error ignored;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "event", "loss");
    if (of != NULL && of[0] != '\0') {
        cf_jw_text(&w, "of", of);
    }
    cf_jw_str(&w, "what", loss->what);
    cf_jw_str(&w, "path", loss->path);
    cf_jw_str(&w, "why", loss->why);
    cf_jw_end(&w);
    if (cf_jw_finish(&w, &ignored) == CF_OK) { /* else the buffer has failed */
        cf_buf_addc(out, '\n');
    }
}

void cf_loss_note(void *ud, const cf_loss *loss)
{
    const cf_loss_lines *how = ud;
    cf_buf b = CF_BUF_INIT;
    if (how->as_json) {
        cf_loss_json(&b, loss, how->of);
        cf_out(stderr, cf_buf_str(&b), CF_OUT_JSON);
    } else {
        if (how->of != NULL && how->of[0] != '\0') {
            cf_buf_addf(&b, "%s: ", how->of);
        }
        cf_buf_add(&b, loss->line.p, loss->line.n);
        cf_note_text("[prompt] ", cf_buf_str(&b));
    }
    cf_buf_deinit(&b);
}

/* "1,927" */
static void add_count(cf_buf *b, uint64_t n)
{
    if (n >= 1000) {
        add_count(b, n / 1000);
        cf_buf_addf(b, ",%03u", (unsigned)(n % 1000));
    } else {
        cf_buf_addf(b, "%u", (unsigned)n);
    }
}

void cf_loss_of_server(const cf_loss_lines *how, uint64_t n_read, uint64_t n)
{
    /* A server may count its own marks otherwise: as with its proxy's "cut". */
    enum { CUT_TOKENS = 8, CUT_SHARE = 20 };
    if (n <= n_read || n - n_read <= CUT_TOKENS + n / CUT_SHARE) {
        return;
    }
    cf_buf why = CF_BUF_INIT, line = CF_BUF_INIT;
    cf_buf_adds(&why, "the server read ");
    add_count(&why, n_read);
    cf_buf_adds(&why, " of about ");
    add_count(&why, n);
    cf_buf_adds(&why, " tokens");
    cf_buf_addf(&line, "a part of the prompt is lost: %s", cf_buf_cstr(&why));
    const cf_loss loss = {.kind = CF_LOSS_MESSAGE,
                          .what = cf_str_from("a part of the prompt"),
                          .why = cf_buf_str(&why),
                          .path = cf_str_from("messages"),
                          .line = cf_buf_str(&line)};
    cf_loss_lines own = *how;
    cf_loss_note(&own, &loss);
    cf_buf_deinit(&why);
    cf_buf_deinit(&line);
}
