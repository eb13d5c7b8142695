/*
 * complete_batch.c - runs confab complete --batch.
 *
 *   ids of a line -> sync of the one session -> n draws -> a line of JSON
 */
#include "tui/cli/talk/complete_batch.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/json/json_writer.h"

typedef struct batch {
    cf_session *session;
    cf_sampler *sampler;
    const cf_tokenizer *tok;
    cf_token *ids; /* of the line under way, then what follows; [n_ctx + 1] */
    float *logits; /* of what follows, likewise */
} batch;

/* The line's prompt into b->ids. */
static cf_status read_ids(const batch *b, const json_t *item, size_t *n, cf_error *err)
{
    const json_t *ids = json_object_get(item, "ids");
    size_t n_ctx = cf_session_n_ctx(b->session);
    *n = json_array_size(ids);
    if (*n == 0) {
        return cf_fail(err, CF_EINVAL, "\"ids\" is not a list of token ids");
    }
    if (*n > n_ctx) {
        return cf_fail(err, CF_ELIMIT, "the prompt has %zu tokens and the context %zu (--ctx)", *n,
                       n_ctx);
    }
    for (size_t i = 0; i < *n; i++) {
        const json_t *id = json_array_get(ids, i);
        json_int_t v = json_is_integer(id) ? json_integer_value(id) : -1;
        if (v < 0 || (size_t)v >= cf_tokenizer_n_vocab(b->tok)) {
            return cf_fail(err, CF_EINVAL, "\"ids\": item %zu is not one of the %zu tokens", i,
                           cf_tokenizer_n_vocab(b->tok));
        }
        b->ids[i] = (cf_token)v;
    }
    return CF_OK;
}

static cf_status read_n(const json_t *item, size_t *n, cf_error *err)
{
    const json_t *v = json_object_get(item, "n");
    if (!json_is_integer(v) || json_integer_value(v) < 0) {
        return cf_fail(err, CF_EINVAL, "\"n\" is not a count");
    }
    *n = (size_t)json_integer_value(v);
    return CF_OK;
}

/* Draws up to n tokens after the prompt of n_prompt; *n_ids counts both. */
static cf_status follow(const batch *b, size_t n_prompt, size_t n, size_t *n_ids, cf_error *err)
{
    const cf_run run = {.cancel = cf_cli_cancel()};
    size_t n_ctx = cf_session_n_ctx(b->session);
    *n_ids = n_prompt;
    while (*n_ids - n_prompt < n && *n_ids <= n_ctx) {
        const float *logits = cf_session_logits(b->session);
        cf_token id;
        CF_TRY(cf_sampler_draw(b->sampler, logits, b->ids, *n_ids, NULL, 0, &id, NULL, err));
        if (cf_tokenizer_is_end(b->tok, id)) {
            break;
        }
        b->logits[*n_ids] = logits[id];
        b->ids[(*n_ids)++] = id;
        if (*n_ids - n_prompt < n && *n_ids <= n_ctx) {
            CF_TRY(cf_session_step(b->session, id, &run, err));
        }
    }
    return CF_OK;
}

static cf_status answer(void *ud, const json_t *item, cf_buf *members, cf_error *err)
{
    const batch *b = ud;
    const cf_run run = {.cancel = cf_cli_cancel()};
    cf_sync_result sync = {0};
    size_t n_prompt = 0;
    size_t n = 0;
    size_t n_ids = 0;
    CF_TRY(read_ids(b, item, &n_prompt, err));
    CF_TRY(read_n(item, &n, err));
    CF_TRY(cf_session_sync(b->session, b->ids, n_prompt, &run, &sync, err));
    CF_TRY(follow(b, n_prompt, n, &n_ids, err));
    cf_buf object = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &object);
    cf_jw_object(&w, NULL);
    cf_jw_int32s(&w, "ids", b->ids + n_prompt, n_ids - n_prompt);
    cf_jw_array(&w, "logits");
    for (size_t i = n_prompt; i < n_ids; i++) {
        cf_jw_float(&w, NULL, b->logits[i]);
    }
    cf_jw_end(&w);
    cf_jw_uint(&w, "kept", sync.n_kept);
    cf_jw_uint(&w, "computed", sync.n_new);
    cf_jw_end(&w);
    cf_cli_put_members(members, &object);
    cf_buf_deinit(&object);
    return CF_OK;
}

int cf_complete_batch(const cf_cli *cli, const char *path, cf_session *session, cf_sampler *sampler)
{
    size_t n = cf_session_n_ctx(session) + (size_t)1;
    batch b = {.session = session,
               .sampler = sampler,
               .tok = cf_engine_tokenizer(cf_session_engine(session)),
               .ids = cf_calloc(n, sizeof *b.ids),
               .logits = cf_calloc(n, sizeof *b.logits)};
    cf_error err;
    int status;
    if (b.ids == NULL || b.logits == NULL) {
        cf_ignore(cf_oom_for(&err, "token ids")); /* printed next */
        status = cf_cli_fail(cli, &err);
    } else {
        status = cf_cli_batch(cli, path, answer, &b);
    }
    cf_free(b.ids);
    cf_free(b.logits);
    return status;
}
