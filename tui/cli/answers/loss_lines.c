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
