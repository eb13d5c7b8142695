/*
 * reply_reading.c - a reply's tokens one after the other through the model.
 *
 * A sampler that is allowed one token only draws that one, and its trace has
 * the rank, the probability and the candidates: what a reply of the model
 * itself has.
 */
#include "tui/lab/tokens/reply_reading.h"

#include "core/base/alloc.h"

enum { TOP = 20 };

cf_str cf_reading_written(const cf_turn *turn)
{
    return turn->raw.n != 0 ? turn->raw : cf_json_get_str(turn->message, "content");
}

void cf_reading_deinit(cf_reading *r)
{
    cf_sampler_free(r->sampler);
    cf_session_free(r->session);
    cf_arena_deinit(&r->arena);
    *r = (cf_reading){.n_done = 0};
}

/* Tokens of prompt and text, and the first one that is the text's. */
static cf_status split(cf_reading *r, const cf_prompt *prompt, const cf_tokenizer *tok,
                       cf_error *err)
{
    CF_TRY(cf_prompt_tokenise(&r->list, prompt, r->text, tok, &r->arena, err));
    r->ids = cf_arena_calloc(&r->arena, r->list.n + 1, sizeof *r->ids);
    if (r->ids == NULL) {
        return cf_oom_for(err, "the reply's tokens");
    }
    for (size_t i = 0; i < r->list.n; i++) {
        r->ids[i] = r->list.v[i].id;
    }
    while (r->first < r->list.n &&
           (size_t)r->list.v[r->first].off + r->list.v[r->first].len <= prompt->text.n) {
        r->first++;
    }
    return r->first != 0 && r->first != r->list.n
               ? CF_OK
               : cf_fail(err, CF_EUNSUPPORTED, "there is no prompt before it");
}

cf_status cf_reading_init(cf_reading *r, const cf_prompt *prompt, cf_str text,
                          const cf_tokenizer *tok, cf_session *session, cf_error *err)
{
    const cf_sampling plain = {.temperature = 1};
    const size_t n_vocab = cf_tokenizer_n_vocab(tok);
    *r = (cf_reading){.n_done = 0};
    cf_arena_init(&r->arena, 0);
    char *copy = cf_arena_strndup(&r->arena, text.p, text.n);
    r->text = cf_str_make(copy, text.n);
    r->mask = cf_arena_calloc(&r->arena, n_vocab / 32 + 1, sizeof *r->mask);
    if (copy == NULL || r->mask == NULL) {
        return cf_oom_for(err, "the reply's tokens");
    }
    CF_TRY(split(r, prompt, tok, err));
    r->draw = cf_arena_calloc(&r->arena, r->list.n - r->first, sizeof *r->draw);
    if (r->draw == NULL) {
        return cf_oom_for(err, "the reply's tokens");
    }
    CF_TRY(cf_sampler_new(&r->sampler, &plain, n_vocab, err));
    return cf_session_fork(&r->session, session, err);
}

/* The trace of a draw that was not one: nothing was removed. */
static void as_read(cf_draw *d)
{
    d->allowed_mass = 1;
    d->n_step = 0;
    d->r = 0;
    for (size_t i = 0; i < d->n_top; i++) {
        d->top[i].removed_by = CF_KEPT;
        d->top[i].p_post = d->top[i].p_raw;
        d->top[i].logit_post = d->top[i].logit;
    }
    d->chosen.removed_by = CF_KEPT;
    d->chosen.p_post = d->chosen.p_raw;
}

cf_status cf_reading_run(cf_reading *r, cf_cancel *cancel, cf_error *err)
{
    const cf_run run = {.cancel = cancel};
    cf_sync_result unused;
    CF_TRY(cf_session_sync(r->session, r->ids, r->first, &run, &unused, err));
    for (size_t i = r->first; i < r->list.n; i++) {
        cf_token id = r->ids[i], drawn;
        cf_draw *d = &r->draw[i - r->first];
        r->mask[(size_t)id / 32] = UINT32_C(1) << ((unsigned)id % 32);
        cf_status st = cf_sampler_draw(r->sampler, cf_session_logits(r->session), r->ids, 0,
                                       r->mask, TOP, &drawn, d, err);
        r->mask[(size_t)id / 32] = 0;
        CF_TRY(st);
        as_read(d);
        r->n_done++;
        if (i + 1 < r->list.n) {
            CF_TRY(cf_session_step(r->session, id, &run, err));
        }
    }
    return CF_OK;
}

cf_reply_read cf_reading_result(const cf_reading *r)
{
    return (cf_reply_read){.prompt_ids = r->ids,
                           .n_prompt_ids = r->first,
                           .ids = r->ids + r->first,
                           .draw = r->draw,
                           .n = r->n_done,
                           .text = r->text};
}
