/*
 * cmd_embed.c - confab embed: makes vectors of texts, ranks documents, and
 * finds the lines of a file that are nearest to a text.
 */
#include <stdlib.h>
#include <string.h>

#include "core/api/embed.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "core/json/json_writer.h"
#include "tui/cli/answers/json_text.h"
#include "tui/cli/shell/cli.h"
#include "tui/lab/prompt/server_prompt.h"

enum { FILE_MAX = 1 << 30, LINES_MAX = 1 << 24 };

typedef struct embed {
    const char *ids, *nearest, *query;
    cf_cli *cli;
    const cf_engine *engine;
    cf_embedder *embedder;
    size_t n_embd;
    bool is_ranker;
    float *pooled, *vector; /* [n_embd] */
    float score;
} embed;

/* ---- one vector --------------------------------------------------------- */

static cf_status run_ids(embed *e, const cf_token *ids, size_t n, cf_error *err)
{
    CF_TRY(cf_embedder_run(e->embedder, ids, n, cf_cli_cancel(), e->pooled, &e->score, err));
    memcpy(e->vector, e->pooled, e->n_embd * sizeof *e->vector);
    cf_embedding_normalise(e->vector, e->n_embd);
    return CF_OK;
}

/* A text as the model reads it, or as a document for the query. */
static cf_status run_text(embed *e, const char *query, cf_str text, cf_error *err)
{
    cf_arena arena;
    cf_token *ids = NULL;
    size_t n = 0;
    cf_token_list list = {NULL, 0};
    cf_arena_init(&arena, 0);
    cf_status st = CF_OK;
    if (query != NULL) {
        st = cf_rank_ids(&ids, &n, e->engine, cf_str_from(query), text, &arena, err);
    } else {
        st = cf_tokenizer_encode(&list, cf_engine_tokenizer(e->engine), text, false, true, &arena,
                                 err);
        n = list.n;
        ids = cf_arena_calloc(&arena, n + 1, sizeof *ids);
        st = st == CF_OK && ids == NULL ? cf_oom_for(err, "token ids") : st;
        for (size_t i = 0; st == CF_OK && i < n; i++) {
            ids[i] = list.v[i].id;
        }
    }
    CF_THEN(st, run_ids(e, ids, n, err));
    cf_arena_deinit(&arena);
    return st;
}

static void put_floats(cf_jw *w, const char *key, const float *v, size_t n)
{
    cf_jw_array(w, key);
    for (size_t i = 0; i < n; i++) {
        cf_jw_float(w, NULL, v[i]);
    }
    cf_jw_end(w);
}

/* The vector as an object, or its numbers, a ranker's score before them, in a
 * line. */
static void put_answer(const embed *e)
{
    cf_buf *out = &e->cli->out;
    if (e->cli->is_json) {
        cf_jw w;
        cf_jw_init(&w, out);
        cf_jw_object(&w, NULL);
        put_floats(&w, "embedding", e->vector, e->n_embd);
        put_floats(&w, "pooled", e->pooled, e->n_embd);
        if (e->is_ranker) {
            cf_jw_float(&w, "score", e->score);
        }
        cf_jw_end(&w);
        cf_buf_addc(out, '\n');
        return;
    }
    if (e->is_ranker) {
        cf_buf_addf(out, "%.6g\n", (double)e->score);
        return;
    }
    for (size_t i = 0; i < e->n_embd; i++) {
        cf_buf_addf(out, "%s%.9g", i == 0 ? "" : " ", (double)e->vector[i]);
    }
    cf_buf_addc(out, '\n');
}

static cf_status each_text(embed *e, cf_error *err)
{
    for (int i = 0; i < e->cli->n_args; i++) {
        CF_TRY(run_text(e, e->query, cf_str_from(e->cli->args[i]), err));
        put_answer(e);
    }
    return CF_OK;
}

static cf_status given_ids(embed *e, cf_error *err)
{
    cf_token *ids = NULL;
    size_t n = 0;
    CF_TRY(cf_json_text_read_ids(&ids, &n, e->ids, err));
    cf_status st = run_ids(e, ids, n, err);
    cf_free(ids);
    if (st == CF_OK) {
        put_answer(e);
    }
    return st;
}

/* ---- the nearest lines -------------------------------------------------- */

typedef struct line {
    cf_str text;
    size_t number;
    double score; /* of the pair, or the cosine of both vectors */
} line;

/* The better first, of equals the earlier. */
static int compare(const void *a, const void *b)
{
    const line *x = a, *y = b;
    const int order = cf_rank_compare(x->score, y->score);
    return order != 0 ? order : (x->number > y->number) - (x->number < y->number);
}

/* Lines that have a text; *v is the caller's to free. */
static cf_status split(line **v, size_t *n, cf_str file, cf_error *err)
{
    size_t cap = 0, number = 0;
    for (size_t at = 0; at < file.n;) {
        const char *end = memchr(file.p + at, '\n', file.n - at);
        size_t to = end != NULL ? (size_t)(end - file.p) : file.n;
        size_t len = to - at - (to > at && file.p[to - 1] == '\r');
        number++;
        if (len != 0) {
            if (*n == LINES_MAX) {
                return cf_fail(err, CF_ELIMIT, "more than %d lines", LINES_MAX);
            }
            if (!cf_grow(v, &cap, *n + 1, sizeof **v)) {
                return cf_oom_for(err, "the lines");
            }
            (*v)[(*n)++] = (line){{file.p + at, len}, number, 0};
        }
        at = to + 1;
    }
    return CF_OK;
}

static cf_status score_lines(embed *e, line *v, size_t n, cf_error *err)
{
    const char *text = e->cli->args[0];
    float *query = cf_calloc(e->n_embd, sizeof *query);
    cf_status st = query != NULL ? CF_OK : cf_oom_for(err, "the vector");
    if (!e->is_ranker) {
        CF_THEN(st, run_text(e, NULL, cf_str_from(text), err));
        if (st == CF_OK) {
            memcpy(query, e->vector, e->n_embd * sizeof *query);
        }
    }
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        cf_error why;
        st = run_text(e, e->is_ranker ? text : NULL, v[i].text, &why);
        if (st != CF_OK) {
            st = cf_fail(err, st, "%s, line %zu: %s", e->nearest, v[i].number, why.text);
        }
        v[i].score = (double)e->score;
        for (size_t k = 0; !e->is_ranker && k < e->n_embd; k++) {
            v[i].score += (double)query[k] * (double)e->vector[k];
        }
    }
    cf_free(query);
    return st;
}

static void put_lines(const embed *e, const line *v, size_t n)
{
    cf_buf *out = &e->cli->out;
    for (size_t i = 0; i < n; i++) {
        if (!e->cli->is_json) {
            cf_buf_addf(out, "%8.4f  %zu: ", v[i].score, v[i].number);
            cf_safe_line(out, v[i].text.p, v[i].text.n);
            cf_buf_addc(out, '\n');
            continue;
        }
        cf_jw w;
        cf_jw_init(&w, out);
        cf_jw_object(&w, NULL);
        cf_jw_uint(&w, "line", v[i].number);
        cf_jw_double(&w, e->is_ranker ? "score" : "similarity", v[i].score);
        cf_jw_bytes(&w, "text", v[i].text);
        cf_jw_end(&w);
        cf_buf_addc(out, '\n');
    }
}

static cf_status nearest(embed *e, cf_error *err)
{
    cf_buf file = CF_BUF_INIT;
    line *v = NULL;
    size_t n = 0;
    cf_status st = cf_os_read_file(&file, e->nearest, FILE_MAX, err);
    CF_THEN(st, split(&v, &n, cf_buf_str(&file), err));
    CF_THEN(st, score_lines(e, v, n, err));
    if (st == CF_OK && n != 0) {
        qsort(v, n, sizeof *v, compare);
        put_lines(e, v, n);
    }
    cf_free(v);
    cf_buf_deinit(&file);
    return st;
}

/* ---- the command -------------------------------------------------------- */

static cf_status open_embedder(embed *e, cf_error *err)
{
    cf_cli *cli = e->cli;
    CF_TRY(cf_open_engine(&cli->opened.engine, &cli->open, false, err));
    cf_engine_info info = cf_engine_get_info(cli->opened.engine);
    e->engine = cli->opened.engine;
    e->n_embd = info.n_embd;
    e->is_ranker = info.pooling == CF_POOLING_RANK;
    if (e->query != NULL && !e->is_ranker) {
        return cf_fail(err, CF_EUNSUPPORTED, "--query: the model is not a reranker");
    }
    e->pooled = cf_calloc(e->n_embd, sizeof *e->pooled);
    e->vector = cf_calloc(e->n_embd, sizeof *e->vector);
    if (e->pooled == NULL || e->vector == NULL) {
        return cf_oom_for(err, "the vector");
    }
    return cf_embedder_new(&e->embedder, cli->opened.engine, cli->open.n_ctx, err);
}

static const cf_opt_row options[] = {
    {"--ids", 0, CF_OPT_STR, offsetof(embed, ids), "1,2,3",
     "embed these ids, with nothing put around them", 0},
    {"--query", 0, CF_OPT_STR, offsetof(embed, query), "TEXT",
     "rank each argument as a document for this query, with a reranker", 0},
    {"--nearest", 0, CF_OPT_STR, offsetof(embed, nearest), "FILE",
     "print the lines of FILE by their similarity to the argument", 0},
    CF_OPT_ROWS_END,
};

static int run_embed(cf_cli *cli, void *state)
{
    embed *e = state;
    cf_error err;
    bool has_ids = e->ids != NULL;
    e->cli = cli;
    if (has_ids ? cli->n_args != 0 || e->query != NULL || e->nearest != NULL : cli->n_args == 0) {
        return cf_cli_usage(cli, "takes texts, or --ids alone");
    }
    if (e->nearest != NULL && (cli->n_args != 1 || e->query != NULL)) {
        return cf_cli_usage(cli, "--nearest takes one text");
    }
    if (cf_server_is_address(cli->open.model)) {
        return cf_cli_usage(cli, "needs the built-in engine, not a server");
    }
    cf_status st = open_embedder(e, &err);
    CF_THEN(st, has_ids              ? given_ids(e, &err)
                : e->nearest != NULL ? nearest(e, &err)
                                     : each_text(e, &err));
    cf_embedder_free(e->embedder);
    cf_free(e->pooled);
    cf_free(e->vector);
    return cf_cli_end(cli, st, &err);
}

const cf_cli_command cf_cmd_embed = {
    .name = "embed",
    .arguments = "[TEXT ...]",
    .summary = "print texts as vectors, rank documents, or find the nearest lines",
    .options = options,
    .state_bytes = sizeof(embed),
    .n_max = CF_ARGS_ANY,
    .run = run_embed,
};
