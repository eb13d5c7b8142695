/*
 * core_score.c - how likely a text is after another one, on a fork of a
 * session, whose own cache stays as it is.
 */
#include <string.h>

#include "core/backend/backend_impl.h"

static cf_status encode_pair(const cf_tokenizer *tok, cf_str context, cf_str text, cf_arena *arena,
                             cf_token_list *list, cf_error *err)
{
    cf_buf both = CF_BUF_INIT;
    cf_buf_add(&both, context.p, context.n);
    cf_buf_add(&both, text.p, text.n);
    cf_str all = cf_buf_str(&both);
    bool has_bos = false;
    cf_status st = cf_buf_check(&both, err);
    CF_THEN(st, cf_chat__starts_with_bos(&has_bos, tok, all, err));
    CF_THEN(st, cf_tokenizer_encode(list, tok, all, true, !has_bos, arena, err));
    cf_buf_deinit(&both);
    return st;
}

static cf_status run_score(const cf_session *session, const cf_token_list *list, size_t first,
                           float *log_p, cf_cancel *cancel, cf_arena *arena, cf_error *err)
{
    cf_token *ids = cf_arena_calloc(arena, list->n + 1, sizeof *ids);
    if (ids == NULL) {
        return cf_oom_for(err, "token ids");
    }
    for (size_t i = 0; i < list->n; i++) {
        ids[i] = list->v[i].id;
    }
    cf_session *fork;
    CF_TRY(cf_session_fork(&fork, session, err));
    cf_status st = cf_session_score(fork, ids, list->n, first, cancel, log_p, err);
    cf_session_free(fork);
    return st;
}

cf_status cf_backend__score_on(const cf_session *session, cf_str context, cf_str text,
                               cf_cancel *cancel, cf_arena *arena, cf_score *out, cf_error *err)
{
    const cf_tokenizer *tok = cf_engine_tokenizer(cf_session_engine(session));
    cf_token_list list = {NULL, 0};
    CF_TRY(encode_pair(tok, context, text, arena, &list, err));
    /* The first token that holds a byte of the text; the first token of all
     * has nothing before it that could predict it. */
    size_t first = 0;
    while (first < list.n && (size_t)list.v[first].off + list.v[first].len <= context.n) {
        first++;
    }
    first = first == 0 ? 1 : first;
    memset(out, 0, sizeof *out);
    if (first >= list.n) {
        return CF_OK;
    }
    cf_score result = {.v = list.v + first, .n = list.n - first};
    result.log_p = cf_arena_calloc(arena, result.n, sizeof *result.log_p);
    if (result.log_p == NULL) {
        return cf_oom_for(err, "the scores");
    }
    CF_TRY(run_score(session, &list, first, result.log_p, cancel, arena, err));
    for (size_t i = 0; i < result.n; i++) {
        result.sum += (double)result.log_p[i];
    }
    *out = result;
    return CF_OK;
}
