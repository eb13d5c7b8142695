/*
 * trace_text.c - writes a draw as JSON.  Its keys are part of docs/contract.md.
 */
#include "tui/cli/answers/trace_text.h"

#include "tui/cli/answers/json_text.h"

static void add_number(cf_buf *out, const char *key, float v)
{
    cf_buf_addf(out, ",\"%s\":", key);
    cf_json_text_float(out, v);
}

/* The fields of a candidate, without braces. */
static void add_candidate(cf_buf *out, const cf_candidate *c, const cf_tokenizer *tok)
{
    cf_buf_addf(out, "\"id\":%d,", (int)c->id);
    cf_buf piece = CF_BUF_INIT;
    cf_tokenizer_piece(&piece, tok, c->id, true);
    cf_json_text_bytes(out, "piece", cf_buf_str(&piece));
    out->failed = out->failed || piece.failed;
    cf_buf_deinit(&piece);
    add_number(out, "logit", c->logit);
    add_number(out, "p_raw", c->p_raw);
    add_number(out, "logit_post", c->logit_post);
    add_number(out, "p", c->p_post);
    cf_buf_addf(out, ",\"rank\":%u", (unsigned)c->rank);
    if (c->removed_by != CF_KEPT) {
        cf_buf_addf(out, ",\"removed_by\":\"%s\"", cf_removed_by_name(c->removed_by));
    }
}

void cf_trace_text_json(cf_buf *out, const cf_draw *d, const cf_tokenizer *tok, size_t pos)
{
    cf_buf_addf(out, "{\"pos\":%zu,", pos);
    add_candidate(out, &d->chosen, tok);
    add_number(out, "entropy_bits", d->entropy_bits);
    add_number(out, "log_z", d->log_z);
    add_number(out, "allowed_mass", d->allowed_mass);
    cf_buf_adds(out, ",\"r\":");
    cf_json_write_double(out, d->r);
    cf_buf_addf(out, ",\"draw\":%llu,\"steps\":[", (unsigned long long)d->n_draw);
    for (size_t i = 0; i < d->n_step; i++) {
        cf_buf_addf(out, "%s{\"name\":\"%s\",\"left\":%u}", i == 0 ? "" : ",", d->step[i].name,
                    (unsigned)d->step[i].n_left);
    }
    cf_buf_adds(out, "],\"top\":[");
    for (size_t i = 0; i < d->n_top; i++) {
        cf_buf_adds(out, i == 0 ? "{" : ",{");
        add_candidate(out, &d->top[i], tok);
        cf_buf_addc(out, '}');
    }
    cf_buf_adds(out, "]}\n");
}
