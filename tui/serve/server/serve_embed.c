/*
 * serve_embed.c - texts as vectors, for OpenAI's clients and Ollama's, and
 * documents by their scores for a query, beside the slots.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/embed.h"
#include "core/base/alloc.h"
#include "tui/serve/server/serve_impl.h"

enum { INPUTS_MAX = 2048 }; /* as OpenAI has it */

struct cf_serve__embedder {
    cf_engine *engine;
    uint32_t n_ctx;
    pthread_mutex_t lock;
    cf_embedder *embedder; /* guarded; made by the first request */
};

cf_status cf_serve__embedder_new(cf_serve__embedder **out, cf_engine *engine, uint32_t n_ctx,
                                 cf_error *err)
{
    cf_serve__embedder *e = cf_calloc(1, sizeof *e);
    if (e == NULL) {
        return cf_oom(err);
    }
    e->engine = engine;
    e->n_ctx = n_ctx;
    pthread_mutex_init(&e->lock, NULL);
    *out = e;
    return CF_OK;
}

void cf_serve__embedder_free(cf_serve__embedder *e)
{
    if (e != NULL) {
        cf_embedder_free(e->embedder);
        pthread_mutex_destroy(&e->lock);
        cf_free(e);
    }
}

/* One request on its way. */
typedef struct asked {
    cf_serve__embedder *e;
    cf_serve__embed_form form;
    cf_cancel *cancel;
    json_t *body;
    bool is_base64;
    size_t n_embd;
    float *vector; /* [n_embd] */
    size_t n_tokens;
    cf_arena arena; /* of one text */
    cf_jw w;
} asked;

/* ---- reading ------------------------------------------------------------ */

/* Fields by form, those that cannot change a vector or a score included. */
static cf_status check_fields(const asked *a, cf_error *err)
{
    static const char *const names[] = {
        [CF_SERVE_EMBED_OPENAI] = " model input encoding_format dimensions user ",
        [CF_SERVE_EMBED_OLLAMA] = " model input dimensions truncate options keep_alive ",
        [CF_SERVE_RERANK] = " model query documents top_n return_documents "};
    const char *key;
    json_t *value;
    if (!json_is_object(a->body)) {
        return cf_fail(err, CF_EFORMAT, "not a JSON object");
    }
    json_object_foreach(a->body, key, value)
    {
        char word[40];
        snprintf(word, sizeof word, " %.36s ", key);
        if (!json_is_null(value) &&
            (strchr(key, ' ') != NULL || strstr(names[a->form], word) == NULL)) {
            return cf_serve__refuse(err, key,
                                    "asks for what this server does not do; leave the field out");
        }
    }
    return CF_OK;
}

static cf_status check_options(asked *a, cf_error *err)
{
    const json_t *size = json_object_get(a->body, "dimensions");
    cf_str format = cf_json_get_str(a->body, "encoding_format");
    a->is_base64 = cf_str_is(format, "base64");
    const json_t *given = json_object_get(a->body, "encoding_format");
    if (given != NULL && !json_is_null(given) && !a->is_base64 && !cf_str_is(format, "float")) {
        return cf_fail(err, CF_EINVAL, "'encoding_format' is \"float\" or \"base64\"");
    }
    if (size != NULL && !json_is_null(size) && (size_t)json_integer_value(size) != a->n_embd) {
        return cf_fail(err, CF_EINVAL, "'dimensions': the model's vectors have %zu", a->n_embd);
    }
    return CF_OK;
}

/* Token ids of a list of numbers. */
static cf_status read_ids(asked *a, const json_t *list, cf_token **ids, size_t *n, cf_error *err)
{
    const cf_tokenizer *tok = cf_engine_tokenizer(a->e->engine);
    *n = json_array_size(list);
    *ids = cf_arena_calloc(&a->arena, *n + 1, sizeof **ids);
    if (*ids == NULL) {
        return cf_oom_for(err, "token ids");
    }
    for (size_t i = 0; i < *n; i++) {
        CF_TRY(cf_serve__token(&(*ids)[i], json_array_get(list, i), tok, "input", err));
    }
    return CF_OK;
}

/* A text with the special tokens that the model puts around one. */
static cf_status read_text(asked *a, const json_t *text, cf_token **ids, size_t *n, cf_error *err)
{
    cf_token_list list = {NULL, 0};
    cf_str s = cf_str_make(json_string_value(text), json_string_length(text));
    CF_TRY(cf_tokenizer_encode(&list, cf_engine_tokenizer(a->e->engine), s, false, true, &a->arena,
                               err));
    *n = list.n;
    *ids = cf_arena_calloc(&a->arena, list.n + 1, sizeof **ids);
    if (*ids == NULL) {
        return cf_oom_for(err, "token ids");
    }
    for (size_t i = 0; i < list.n; i++) {
        (*ids)[i] = list.v[i].id;
    }
    return CF_OK;
}

/* ---- one vector --------------------------------------------------------- */

static void write_numbers(asked *a, const char *key)
{
    cf_jw_array(&a->w, key);
    for (size_t k = 0; k < a->n_embd; k++) {
        cf_jw_float(&a->w, NULL, a->vector[k]);
    }
    cf_jw_end(&a->w);
}

static void write_vector(asked *a, size_t i)
{
    if (a->form == CF_SERVE_EMBED_OLLAMA) {
        write_numbers(a, NULL);
        return;
    }
    cf_jw_object(&a->w, NULL);
    cf_jw_text(&a->w, "object", "embedding");
    cf_jw_uint(&a->w, "index", i);
    if (a->is_base64) { /* float32, little-endian as on this machine */
        cf_jw_base64(&a->w, "embedding",
                     cf_str_make((const char *)a->vector, a->n_embd * sizeof *a->vector));
    } else {
        write_numbers(a, "embedding");
    }
    cf_jw_end(&a->w);
}

static cf_status one(asked *a, size_t i, const json_t *input, cf_error *err)
{
    cf_token *ids = NULL;
    size_t n = 0;
    cf_arena_reset(&a->arena);
    CF_TRY(json_is_string(input)  ? read_text(a, input, &ids, &n, err)
           : json_is_array(input) ? read_ids(a, input, &ids, &n, err)
                                  : cf_fail(err, CF_EINVAL,
                                            "'input' must be a text, tokens, "
                                            "or a list of either"));
    CF_TRY(cf_embedder_run(a->e->embedder, ids, n, a->cancel, a->vector, NULL, err));
    cf_embedding_normalise(a->vector, a->n_embd);
    a->n_tokens += n;
    write_vector(a, i);
    return CF_OK;
}

/* Every text of the input; one list of numbers is one text. */
static cf_status each(asked *a, cf_error *err)
{
    const json_t *input = json_object_get(a->body, "input");
    bool is_list = json_is_array(input) && !json_is_integer(json_array_get(input, 0));
    size_t n = is_list ? json_array_size(input) : 1;
    if (n == 0 || n > INPUTS_MAX) {
        return cf_fail(err, CF_EINVAL, "'input' is 1 to %d texts", INPUTS_MAX);
    }
    cf_jw_array(&a->w, a->form == CF_SERVE_EMBED_OLLAMA ? "embeddings" : "data");
    for (size_t i = 0; i < n; i++) {
        CF_TRY(one(a, i, is_list ? json_array_get(input, i) : input, err));
    }
    cf_jw_end(&a->w);
    return CF_OK;
}

/* ---- documents for a query ---------------------------------------------- */

typedef struct ranked {
    size_t index;
    float score;
} ranked;

/* The best first, of equal ones the earlier. */
static int by_score(const void *x, const void *y)
{
    const ranked *a = x, *b = y;
    const int order = cf_rank_compare((double)a->score, (double)b->score);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/* A document is a text, or an object with one. */
static cf_str text_of(const json_t *document)
{
    return json_is_string(document)
               ? cf_str_make(json_string_value(document), json_string_length(document))
               : cf_json_get_str(document, "text");
}

static cf_status score_each(asked *a, cf_str query, const json_t *documents, ranked *v,
                            cf_error *err)
{
    for (size_t i = 0; i < json_array_size(documents); i++) {
        const cf_str text = text_of(json_array_get(documents, i));
        cf_token *ids = NULL;
        size_t n = 0;
        cf_arena_reset(&a->arena);
        if (text.p == NULL) {
            return cf_fail(err, CF_EINVAL, "'documents[%zu]' must be a text", i);
        }
        CF_TRY(cf_rank_ids(&ids, &n, a->e->engine, query, text, &a->arena, err));
        CF_TRY(cf_embedder_run(a->e->embedder, ids, n, a->cancel, a->vector, &v[i].score, err));
        v[i].index = i;
        a->n_tokens += n;
    }
    return CF_OK;
}

static void write_ranked(asked *a, const char *model, const ranked *v, size_t n)
{
    const json_t *documents = json_object_get(a->body, "documents");
    const bool has_text = json_is_true(json_object_get(a->body, "return_documents"));
    cf_jw *w = &a->w;
    cf_jw_object(w, NULL);
    cf_jw_text(w, "model", model);
    cf_jw_text(w, "object", "list");
    cf_jw_array(w, "results");
    for (size_t i = 0; i < n; i++) {
        cf_jw_object(w, NULL);
        cf_jw_uint(w, "index", v[i].index);
        cf_jw_float(w, "relevance_score", v[i].score);
        if (has_text) {
            cf_jw_object(w, "document");
            cf_jw_str(w, "text", text_of(json_array_get(documents, v[i].index)));
            cf_jw_end(w);
        }
        cf_jw_end(w);
    }
    cf_jw_end(w);
    cf_jw_object(w, "usage");
    cf_jw_uint(w, "prompt_tokens", a->n_tokens);
    cf_jw_uint(w, "total_tokens", a->n_tokens);
    cf_jw_end(w);
    cf_jw_end(w);
}

static cf_status rank(asked *a, const char *model, cf_error *err)
{
    const json_t *documents = json_object_get(a->body, "documents");
    const json_t *top = json_object_get(a->body, "top_n");
    const json_int_t most = json_integer_value(top);
    const size_t n = json_array_size(documents);
    cf_str query = cf_json_get_str(a->body, "query");
    if (cf_engine_get_info(a->e->engine).pooling != CF_POOLING_RANK) {
        return cf_fail(err, CF_EUNSUPPORTED, "the model scores no documents: it is not a reranker");
    }
    if (query.n == 0) {
        return cf_fail(err, CF_EINVAL, "'query' must be a text");
    }
    if (n == 0 || n > INPUTS_MAX) {
        return cf_fail(err, CF_EINVAL, "'documents' is 1 to %d texts", INPUTS_MAX);
    }
    if (top != NULL && !json_is_null(top) && (!json_is_integer(top) || most < 1)) {
        return cf_fail(err, CF_EINVAL, "'top_n' must be a number from 1 on");
    }
    ranked *v = cf_calloc(n, sizeof *v);
    cf_status st = v != NULL ? score_each(a, query, documents, v, err) : cf_oom(err);
    if (st == CF_OK) {
        qsort(v, n, sizeof *v, by_score);
        write_ranked(a, model, v, most > 0 && (size_t)most < n ? (size_t)most : n);
        st = cf_jw_finish(&a->w, err);
    }
    cf_free(v);
    return st;
}

static cf_status answer(asked *a, const char *model, cf_error *err)
{
    CF_TRY(check_fields(a, err));
    if (a->form == CF_SERVE_RERANK) {
        return rank(a, model, err);
    }
    CF_TRY(check_options(a, err));
    cf_jw_object(&a->w, NULL);
    cf_jw_text(&a->w, "model", model);
    if (a->form == CF_SERVE_EMBED_OLLAMA) {
        CF_TRY(each(a, err));
        cf_jw_uint(&a->w, "prompt_eval_count", a->n_tokens);
    } else {
        cf_jw_text(&a->w, "object", "list");
        CF_TRY(each(a, err));
        cf_jw_object(&a->w, "usage");
        cf_jw_uint(&a->w, "prompt_tokens", a->n_tokens);
        cf_jw_uint(&a->w, "total_tokens", a->n_tokens);
        cf_jw_end(&a->w);
    }
    cf_jw_end(&a->w);
    return cf_jw_finish(&a->w, err);
}

cf_status cf_serve__embed(cf_serve__embedder *e, cf_str body, cf_serve__embed_form form,
                          const char *model, cf_cancel *cancel, cf_buf *out, cf_error *err)
{
    asked a = {
        .e = e, .form = form, .cancel = cancel, .n_embd = cf_engine_get_info(e->engine).n_embd};
    CF_TRY(cf_json_read(&a.body, body.p, body.n, err));
    cf_arena_init(&a.arena, 0);
    cf_jw_init(&a.w, out);
    a.vector = cf_calloc(a.n_embd, sizeof *a.vector);
    cf_status st = a.vector != NULL ? CF_OK : cf_oom_for(err, "the vector");
    pthread_mutex_lock(&e->lock);
    if (st == CF_OK && e->embedder == NULL) { /* whatever the request is */
        st = cf_embedder_new(&e->embedder, e->engine, e->n_ctx, err);
    }
    CF_THEN(st, answer(&a, model, err));
    pthread_mutex_unlock(&e->lock);
    cf_free(a.vector);
    cf_arena_deinit(&a.arena);
    json_decref(a.body);
    return st;
}
