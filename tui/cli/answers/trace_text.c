/*
 * trace_text.c - writes a draw as JSON.  Its keys are part of docs/contract.md.
 */
#include "tui/cli/answers/trace_text.h"

#include "core/json/json_writer.h"

/* The members of a candidate. */
static void put_candidate(cf_jw *w, const cf_candidate *c, const cf_tokenizer *tok)
{
    cf_buf piece = CF_BUF_INIT;
    cf_jw_int(w, "id", c->id);
    cf_tokenizer_piece(&piece, tok, c->id, true);
    cf_jw_bytes(w, "piece", cf_buf_str(&piece));
    w->out->failed = w->out->failed || piece.failed;
    cf_buf_deinit(&piece);
    cf_jw_float(w, "logit", c->logit);
    cf_jw_float(w, "p_raw", c->p_raw);
    cf_jw_float(w, "logit_post", c->logit_post);
    cf_jw_float(w, "p", c->p_post);
    cf_jw_uint(w, "rank", c->rank);
    if (c->removed_by != CF_KEPT) {
        cf_jw_text(w, "removed_by", cf_removed_by_name(c->removed_by));
    }
}

void cf_trace_text_json(cf_buf *out, const cf_draw *d, const cf_tokenizer *tok, size_t pos)
{
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_uint(&w, "pos", pos);
    put_candidate(&w, &d->chosen, tok);
    cf_jw_float(&w, "entropy_bits", d->entropy_bits);
    cf_jw_float(&w, "log_z", d->log_z);
    cf_jw_float(&w, "allowed_mass", d->allowed_mass);
    cf_jw_double(&w, "r", d->r);
    cf_jw_uint(&w, "draw", d->n_draw);
    cf_jw_array(&w, "steps");
    for (size_t i = 0; i < d->n_step; i++) {
        cf_jw_object(&w, NULL);
        cf_jw_text(&w, "name", d->step[i].name);
        cf_jw_uint(&w, "left", d->step[i].n_left);
        cf_jw_end(&w);
    }
    cf_jw_end(&w);
    cf_jw_array(&w, "top");
    for (size_t i = 0; i < d->n_top; i++) {
        cf_jw_object(&w, NULL);
        put_candidate(&w, &d->top[i], tok);
        cf_jw_end(&w);
    }
    cf_jw_end(&w);
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
}
