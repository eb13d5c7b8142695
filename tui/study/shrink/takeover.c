/*
 * takeover.c - a search by halves over the beginnings of a reply.
 *
 * Always true while it searches:
 *   1. The good model's reply after `low` tokens of the bad one is good, after
 *      `high` of them bad.
 *   2. `instead` is what it wrote after `low` tokens.
 */
#include "tui/study/shrink/takeover.h"

void cf_takeover_init(cf_takeover *t)
{
    *t = (cf_takeover){.n_runs = 0};
}

void cf_takeover_deinit(cf_takeover *t)
{
    cf_buf_deinit(&t->good);
    cf_buf_deinit(&t->bad);
    cf_buf_deinit(&t->instead);
}

static cf_status ask(cf_takeover *t, cf_takeover_side side, const json_t *context, size_t n_given,
                     bool *is_bad, cf_error *err)
{
    side.asker->prefix = cf_str_make(cf_buf_cstr(&t->bad), n_given);
    t->n_runs++;
    return cf_asker_ask(side.asker, context, side.source, is_bad, err);
}

static cf_status keep(cf_buf *to, const cf_asker *a, size_t skip, cf_error *err)
{
    cf_buf_restart(to);
    if (skip < a->reply.n) {
        cf_buf_add(to, a->reply.p + skip, a->reply.n - skip);
    }
    return cf_buf_check(to, err);
}

/* Makes both replies; the predicate must hold for the bad one only. */
static cf_status ask_both(cf_takeover *t, cf_takeover_side good, cf_takeover_side bad,
                          const json_t *context, cf_error *err)
{
    bool is_bad;
    CF_TRY(ask(t, good, context, 0, &is_bad, err));
    if (is_bad) {
        return cf_fail(err, CF_EINVAL, "it holds for the good model's reply, too");
    }
    CF_TRY(keep(&t->good, good.asker, 0, err));
    CF_TRY(keep(&t->instead, good.asker, 0, err));
    CF_TRY(ask(t, bad, context, 0, &is_bad, err));
    CF_TRY(keep(&t->bad, bad.asker, 0, err));
    return is_bad ? CF_OK : cf_fail(err, CF_EINVAL, "it does not hold for the bad model's reply");
}

static cf_status search(cf_takeover *t, cf_takeover_side good, const json_t *context,
                        const cf_token_list *tokens, cf_error *err)
{
    size_t low = 0, high = tokens->n;
    bool is_bad = false;
    CF_TRY(ask(t, good, context, t->bad.n, &is_bad, err));
    if (!is_bad || high == 0) {
        return cf_fail(err, CF_EINVAL, "the good model recovers even from the whole bad reply");
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        size_t given = tokens->v[middle].off;
        CF_TRY(ask(t, good, context, given, &is_bad, err));
        if (is_bad) {
            high = middle;
        } else {
            low = middle;
            CF_TRY(keep(&t->instead, good.asker, given, err));
        }
    }
    t->token = low;
    t->off = tokens->v[low].off;
    t->len = tokens->v[low].len;
    return CF_OK;
}

cf_status cf_takeover_run(cf_takeover *t, cf_takeover_side good, cf_takeover_side bad,
                          const json_t *context, cf_error *err)
{
    const cf_tokenizer *tok = good.asker->engine->tok;
    cf_token_list tokens;
    cf_arena arena;
    if (tok == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "the good model must run here (a file, a folder, hf:, "
                       "bundled): a server does not go on from the "
                       "beginning of a reply");
    }
    CF_TRY(ask_both(t, good, bad, context, err));
    cf_arena_init(&arena, 0);
    cf_status st = cf_tokenizer_encode(&tokens, tok, cf_buf_str(&t->bad), true, false, &arena, err);
    t->n_token = st == CF_OK ? tokens.n : 0;
    CF_THEN(st, search(t, good, context, &tokens, err));
    good.asker->prefix = cf_str_make(NULL, 0);
    cf_arena_deinit(&arena);
    return st;
}
