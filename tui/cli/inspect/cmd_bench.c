/*
 * cmd_bench.c - confab bench: measures how fast this model is on this machine.
 *
 * Each repetition empties the session, computes a prompt of -p tokens in one
 * sync (prefill), draws one token (time to first token), empties it again and
 * steps -n times from a single token (decode).  One repetition before them is
 * not counted.  Tokens are pseudo-random and the same in every run; what a
 * model computes does not depend on which they are.
 *
 * With --batch N, N sessions step side by side in the decode, and the figure is
 * the sum of their tokens.  With --draft N two replies are decoded with drafts,
 * one that copies the prompt, where nearly every guess is right, and one where
 * every guess is wrong; each is compared with the same reply without drafts.
 *
 * Decoding waits for memory, so a plain read of as many bytes as a token's
 * weights take is measured too, and the speed at which weights are read is given as a
 * share of it.
 */
#include <stdlib.h>
#include <string.h>

#include "core/api/draft.h"
#include "core/api/sampling.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "tui/cli/inspect/bench_memory.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/progress.h"

enum { BATCH_MAX = 64 };

/* A reply with drafts. */
typedef struct drafted {
    double *with, *without; /* seconds, one a repetition */
    cf_draft_counts counts; /* of one repetition */
} drafted;

typedef struct bench {
    cf_cli *cli;
    uint32_t n_prompt, n_gen, n_reps, n_threads, n_batch, n_draft;
    uint32_t n_depth; /* tokens before the first that is generated */ /* of every session */
    cf_session *session;
    cf_session *side[BATCH_MAX]; /* with --batch: all of them; [0] is session */
    drafted copy, wrong;
    cf_sampler *sampler;
    cf_token *ids; /* [max(n_prompt, n_gen + 1)] */
    /* seconds, one a repetition */
    double *prefill, *first, *decode;
    double open_s, session_s;
    double memory; /* bytes per second of a plain read */
} bench;

static double now(void)
{
    return (double)cf_os_monotonic_us() * 1e-6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y ? 1 : 0;
}

typedef struct spread {
    double median, min, max;
} spread;

/* Of amount / seconds; amount 0 means of the seconds themselves. */
static spread measure(const bench *b, const double *seconds, double amount, double *scratch)
{
    size_t n = b->n_reps;
    for (size_t i = 0; i < n; i++) {
        scratch[i] = amount == 0 ? seconds[i] : amount / seconds[i];
    }
    qsort(scratch, n, sizeof *scratch, by_value);
    return (spread){
        .median = n % 2 == 1 ? scratch[n / 2] : (scratch[n / 2 - 1] + scratch[n / 2]) / 2,
        .min = scratch[0],
        .max = scratch[n - 1],
    };
}

static cf_status one_prefill(bench *b, double *prefill, double *first, cf_error *err)
{
    const cf_run run = {.cancel = cf_cli_cancel()};
    cf_sync_result result;
    cf_session_rewind(b->session, 0);
    double started = now();
    CF_TRY(cf_session_sync(b->session, b->ids, b->n_prompt, &run, &result, err));
    *prefill = now() - started;
    cf_token id;
    CF_TRY(cf_sampler_draw(b->sampler, cf_session_logits(b->session), b->ids, b->n_prompt, NULL, 0,
                           &id, NULL, err));
    *first = now() - started;
    return CF_OK;
}

/* Every session begins with tokens of its own, which are computed once for all
 * repetitions. */
static cf_status one_decode(bench *b, double *decode, cf_error *err)
{
    const cf_run run = {.cancel = cf_cli_cancel()};
    cf_token ids[BATCH_MAX];
    for (uint32_t k = 0; k < b->n_batch; k++) {
        CF_TRY(cf_session_sync(b->side[k], &b->ids[k], b->n_depth, &run, NULL, err));
    }
    double started = now();
    for (uint32_t i = 0; i < b->n_gen; i++) {
        for (uint32_t k = 0; k < b->n_batch; k++) {
            ids[k] = b->ids[b->n_depth + i + k];
        }
        CF_TRY(cf_session_step_many(b->side, ids, b->n_batch, &run, err));
    }
    *decode = now() - started;
    return CF_OK;
}

/* For each token of the reply, the tokens before it followed by a wrong one. */
static cf_status add_wrong(const bench *b, cf_draft *draft, cf_error *err)
{
    enum { GRAM = 3 };
    size_t n_vocab = cf_tokenizer_n_vocab(cf_engine_tokenizer(b->cli->opened.engine));
    for (uint32_t i = 1; i < b->n_gen; i++) {
        cf_token text[GRAM + CF_DRAFT_MAX];
        for (uint32_t k = 0; k < GRAM + CF_DRAFT_MAX; k++) {
            cf_token id = b->ids[k < GRAM ? (i - 1 + k) : i + GRAM - 1];
            text[k] = k < GRAM ? id : (cf_token)((size_t)(id + 1) % n_vocab);
        }
        CF_TRY(cf_draft_source(draft, text, GRAM + CF_DRAFT_MAX, err));
    }
    return CF_OK;
}

/* Steps through the reply: the prompt's own tokens after the prompt, or those
 * after its first. */
static cf_status one_reply(bench *b, bool is_copy, size_t n_draft, double *seconds,
                           cf_draft_counts *counts, cf_error *err)
{
    const cf_run run = {.cancel = cf_cli_cancel()};
    cf_draft *draft;
    size_t n = is_copy ? b->n_gen : 1;
    cf_session_rewind(b->session, 0);
    CF_TRY(cf_session_sync(b->session, b->ids, n, &run, NULL, err));
    CF_TRY(cf_draft_new(&draft, n_draft, err));
    cf_status st = is_copy ? CF_OK : add_wrong(b, draft, err);
    CF_THEN(st, cf_draft_begin(draft, b->session, run.cancel, err));
    double started = now();
    for (uint32_t i = 0; st == CF_OK && i < b->n_gen; i++) {
        st = cf_draft_step(draft, &b->ids[is_copy ? i : i + 1], 1, run.cancel, err);
    }
    *seconds = now() - started;
    *counts = cf_draft_get_counts(draft);
    cf_draft_free(draft);
    return st;
}

/* With and without drafts in turn, so that a change of the machine's load
 * meets both. */
static cf_status one_drafted(bench *b, drafted *d, uint32_t at, cf_error *err)
{
    cf_draft_counts unused;
    CF_TRY(one_reply(b, d == &b->copy, 0, &d->without[at], &unused, err));
    return one_reply(b, d == &b->copy, b->n_draft, &d->with[at], &d->counts, err);
}

static cf_status repeat(bench *b, cf_error *err)
{
    cf_progress progress;
    cf_progress_start(&progress, "measuring, repetition");
    cf_status st = CF_OK;
    for (uint32_t i = 0; st == CF_OK && i <= b->n_reps; i++) {
        cf_progress_show(&progress, i, b->n_reps);
        uint32_t at = i == 0 ? 0 : i - 1; /* the first is the warm-up */
        if (b->n_prompt > 0) {
            st = one_prefill(b, &b->prefill[at], &b->first[at], err);
        }
        if (st == CF_OK && b->n_gen > 0) {
            st = one_decode(b, &b->decode[at], err);
        }
        if (st == CF_OK && b->n_draft > 0) {
            st = one_drafted(b, &b->copy, at, err);
            CF_THEN(st, one_drafted(b, &b->wrong, at, err));
        }
    }
    cf_progress_end(&progress);
    cf_engine_info info = cf_engine_get_info(b->cli->opened.engine);
    if (st == CF_OK && b->n_gen > 0) {
        size_t size =
            info.step_bytes < CF_BENCH_MEMORY_MAX ? (size_t)info.step_bytes : CF_BENCH_MEMORY_MAX;
        st = cf_bench_memory(&b->memory, size, info.n_threads, b->n_reps, err);
    }
    return st;
}

static cf_status prepare(bench *b, cf_error *err)
{
    double started = now();
    b->cli->open.opens_lora = true;
    CF_TRY(cf_open_engine(&b->cli->opened.engine, &b->cli->open, false, err));
    b->open_s = now() - started;
    started = now();
    /* the last session's tokens */
    uint32_t n_gen = b->n_depth + b->n_gen + b->n_batch;
    n_gen = b->n_draft > 0 && n_gen < 2 * b->n_gen ? 2 * b->n_gen : n_gen;
    uint32_t n_ids = b->n_prompt > n_gen ? b->n_prompt : n_gen;
    const cf_session_options opts = {.n_ctx = b->cli->open.n_ctx != 0 ? b->cli->open.n_ctx : n_ids};
    for (uint32_t k = 0; k < b->n_batch; k++) {
        CF_TRY(cf_session_new(&b->side[k], b->cli->opened.engine, &opts, err));
    }
    CF_TRY(cf_open_use_adapters(&b->cli->opened.adapters, b->cli->opened.engine, &b->cli->open,
                                b->side, b->n_batch, err));
    b->session = b->side[0];
    b->session_s = now() - started;
    size_t n_vocab = cf_tokenizer_n_vocab(cf_engine_tokenizer(b->cli->opened.engine));
    const cf_sampling greedy = {0};
    CF_TRY(cf_sampler_new(&b->sampler, &greedy, n_vocab, err));
    b->ids = cf_calloc(n_ids, sizeof *b->ids);
    b->prefill = cf_calloc(b->n_reps, sizeof *b->prefill);
    b->first = cf_calloc(b->n_reps, sizeof *b->first);
    b->decode = cf_calloc(b->n_reps, sizeof *b->decode);
    b->copy.with = cf_calloc(b->n_reps, 4 * sizeof(double));
    if (b->ids == NULL || b->prefill == NULL || b->first == NULL || b->decode == NULL ||
        b->copy.with == NULL) {
        return cf_oom_for(err, "the measurements");
    }
    b->copy.without = b->copy.with + b->n_reps;
    b->wrong.with = b->copy.without + b->n_reps;
    b->wrong.without = b->wrong.with + b->n_reps;
    uint32_t x = 1;
    for (uint32_t i = 0; i < n_ids; i++) {
        x = x * 1664525u + 1013904223u;
        b->ids[i] = (cf_token)((x >> 8) % n_vocab);
    }
    return CF_OK;
}

/* ---- the answer --------------------------------------------------------- */

static void json_spread(cf_buf *out, const char *name, uint32_t n_tokens, spread s)
{
    cf_buf_addf(out,
                ",\"%s\":{\"tokens\":%u,\"per_second\":%.3f,"
                "\"min\":%.3f,\"max\":%.3f}",
                name, (unsigned)n_tokens, s.median, s.min, s.max);
}

/* How many times as fast as without, and how often guesses were right. */
static void json_drafted(const bench *b, cf_buf *out, const char *name, const drafted *d,
                         double *scratch)
{
    double with = measure(b, d->with, b->n_gen, scratch).median;
    double without = measure(b, d->without, b->n_gen, scratch).median;
    cf_buf_addf(out,
                ",\"%s\":{\"per_second\":%.3f,\"times\":%.3f,"
                "\"n_passes\":%zu,\"n_guessed\":%zu,\"n_accepted\":%zu}",
                name, with, without > 0 ? with / without : 0.0, d->counts.n_passes,
                d->counts.n_guessed, d->counts.n_accepted);
}

static void text_drafted(const bench *b, cf_buf *out, const char *name, const drafted *d,
                         double *scratch)
{
    double with = measure(b, d->with, b->n_gen, scratch).median;
    double without = measure(b, d->without, b->n_gen, scratch).median;
    cf_buf_addf(out,
                "draft %-6s %10.2f tokens/s   (%.2f times as fast as without; "
                "%zu of %zu guesses accepted, %zu passes)\n",
                name, with, without > 0 ? with / without : 0.0, d->counts.n_accepted,
                d->counts.n_guessed, d->counts.n_passes);
}

static void write_json(const bench *b, cf_buf *out, double *scratch)
{
    cf_engine_info info = cf_engine_get_info(b->cli->opened.engine);
    cf_buf_adds(out, "{\"model\":");
    cf_json_write_str(out, cf_str_from(info.path));
    cf_buf_adds(out, ",\"name\":");
    cf_json_write_str(out, cf_str_from(info.name));
    cf_buf_adds(out, ",\"engine\":");
    cf_json_write_str(out, cf_str_from(info.engine));
    cf_buf_adds(out, ",\"arch\":");
    cf_json_write_str(out, cf_str_from(info.arch));
    cf_buf_addf(out,
                ",\"file_type\":\"%s\",\"weight_bytes\":%llu,"
                "\"n_param\":%llu,\"kernel_set\":\"%s\",\"threads\":%u,"
                "\"exact\":%s,\"activations\":%u,\"reps\":%u,\"batch\":%u,"
                "\"open_ms\":%.3f,"
                "\"session_ms\":%.3f",
                info.file_type, (unsigned long long)info.weight_bytes,
                (unsigned long long)info.n_param, info.kernel_set, info.n_threads,
                info.arithmetic == CF_ARITHMETIC_EXACT ? "true" : "false",
                cf_arithmetic_bits(info.arithmetic), (unsigned)b->n_reps, (unsigned)b->n_batch,
                b->open_s * 1e3, b->session_s * 1e3);
    if (b->cli->opened.adapters.n != 0) {
        cf_buf_addf(out, ",\"adapters\":%zu", b->cli->opened.adapters.n);
    }
    if (b->n_prompt > 0) {
        json_spread(out, "prefill", b->n_prompt, measure(b, b->prefill, b->n_prompt, scratch));
        spread s = measure(b, b->first, 0, scratch);
        cf_buf_addf(out,
                    ",\"first_token_ms\":{\"median\":%.3f,\"min\":%.3f,"
                    "\"max\":%.3f}",
                    s.median * 1e3, s.min * 1e3, s.max * 1e3);
    }
    if (b->n_gen > 0) {
        spread s = measure(b, b->decode, (double)b->n_gen * b->n_batch, scratch);
        json_spread(out, "decode", b->n_gen * b->n_batch, s);
        double rate = s.median / b->n_batch * (double)info.step_bytes;
        cf_buf_addf(out,
                    ",\"weight_gb_per_second\":%.3f,"
                    "\"memory_gb_per_second\":%.3f,\"memory_share\":%.3f",
                    rate * 1e-9, b->memory * 1e-9, b->memory > 0 ? rate / b->memory : 0.0);
    }
    if (b->n_draft > 0) {
        cf_buf_addf(out, ",\"draft\":{\"max\":%u", (unsigned)b->n_draft);
        json_drafted(b, out, "copy", &b->copy, scratch);
        json_drafted(b, out, "wrong", &b->wrong, scratch);
        cf_buf_addc(out, '}');
    }
    cf_buf_adds(out, "}\n");
}

static void write_text(const bench *b, cf_buf *out, double *scratch)
{
    cf_engine_info info = cf_engine_get_info(b->cli->opened.engine);
    const char *name = info.name[0] != '\0' ? info.name : info.path;
    cf_buf_adds(out, "model        ");
    cf_safe_line(out, name, strlen(name));
    cf_buf_addf(out,
                " (%s, %s, %.1f MiB)\nkernels      %s, %s, %u thread%s\n"
                "open         %10.1f ms\nsession      %10.1f ms\n",
                info.arch, info.file_type, (double)info.weight_bytes / (1024.0 * 1024.0),
                info.kernel_set, cf_arithmetic_name(info.arithmetic), info.n_threads,
                info.n_threads == 1 ? "" : "s", b->open_s * 1e3, b->session_s * 1e3);
    for (size_t i = 0; i < b->cli->opened.adapters.n; i++) {
        cf_adapter_info a = cf_adapter_get_info(b->cli->opened.adapters.adapter[i]);
        cf_buf_adds(out, "adapter      ");
        cf_safe_line(out, a.path, strlen(a.path));
        cf_buf_addf(out, " x %g (rank %u, %zu matrices)\n",
                    (double)b->cli->opened.adapters.use[i].scale, a.rank, a.n_matrix);
    }
    if (b->n_prompt > 0) {
        spread s = measure(b, b->prefill, b->n_prompt, scratch);
        cf_buf_addf(out,
                    "prefill %-4u %10.2f tokens/s   (%.2f to %.2f, median of "
                    "%u)\n",
                    (unsigned)b->n_prompt, s.median, s.min, s.max, (unsigned)b->n_reps);
        s = measure(b, b->first, 0, scratch);
        cf_buf_addf(out, "first token  %10.1f ms         (%.1f to %.1f)\n", s.median * 1e3,
                    s.min * 1e3, s.max * 1e3);
    }
    if (b->n_gen > 0) {
        spread s = measure(b, b->decode, (double)b->n_gen * b->n_batch, scratch);
        cf_buf_addf(out, "decode  %-4u %10.2f tokens/s   (%.2f to %.2f)\n", (unsigned)b->n_gen,
                    s.median, s.min, s.max);
        if (b->n_batch > 1) {
            cf_buf_addf(out, "             of %u sequences side by side\n", (unsigned)b->n_batch);
        }
        double rate = s.median / b->n_batch * (double)info.step_bytes;
        cf_buf_addf(out,
                    "weights      %10.1f GB/s       (%.0f %% of a plain read "
                    "of memory, %.1f GB/s)\n",
                    rate * 1e-9, b->memory > 0 ? 100 * rate / b->memory : 0.0, b->memory * 1e-9);
    }
    if (b->n_draft > 0) {
        text_drafted(b, out, "right", &b->copy, scratch);
        text_drafted(b, out, "wrong", &b->wrong, scratch);
    }
}

static int print(const bench *b)
{
    cf_buf out = CF_BUF_INIT;
    double *scratch = cf_calloc(b->n_reps, sizeof *scratch);
    if (scratch == NULL) {
        out.failed = true;
    } else if (b->cli->is_json) {
        write_json(b, &out, scratch);
    } else {
        write_text(b, &out, scratch);
    }
    int status = cf_cli_print(b->cli, &out);
    cf_free(scratch);
    cf_buf_deinit(&out);
    return status;
}

static const bench initial = {
    .n_prompt = 512, .n_gen = 128, .n_reps = 5, .n_batch = 1, .n_depth = 1};

static const cf_opt_row options[] = {
    {"--prompt", 'p', CF_OPT_U32, offsetof(bench, n_prompt), "N",
     "length of the prompt in tokens; 0 skips prefill (default: 512)", 0},
    {"--tokens", 'n', CF_OPT_U32, offsetof(bench, n_gen), "N",
     "number of tokens to generate; 0 skips decode (default: 128)", 0},
    {"--with-threads", 't', CF_OPT_U32, offsetof(bench, n_threads), "N", "same as --threads", 0},
    {"--repeat", 'r', CF_OPT_U32, offsetof(bench, n_reps), "N",
     "number of measured runs, after one warm-up run (default: 5)", 0},
    {"--batch", 0, CF_OPT_U32, offsetof(bench, n_batch), "N",
     "decode N sequences in parallel and add up their tokens", 0},
    {"--depth", 0, CF_OPT_U32, offsetof(bench, n_depth), "N",
     "length of the context before the first generated token (default: 1)", 0},
    {"--draft", 0, CF_OPT_U32, offsetof(bench, n_draft), "N",
     "also measure decoding with up to N drafted tokens per pass, all right and "
     "all wrong",
     0},
    CF_OPT_ROWS_END,
};

static int run_bench(cf_cli *cli, void *state)
{
    bench *b = state;
    b->cli = cli;
    if (b->n_reps == 0 || b->n_reps > 10000) {
        return cf_cli_usage(cli, "--repeat: 1 to 10000");
    }
    if (b->n_prompt > 1u << 24 || b->n_gen > 1u << 24) {
        return cf_cli_usage(cli, "-p, -n: at most 16777216 tokens");
    }
    if (b->n_depth == 0 || b->n_depth > 1u << 24) {
        return cf_cli_usage(cli, "--depth: 1 to 16777216 tokens");
    }
    if (b->n_batch == 0 || b->n_batch > BATCH_MAX) {
        return cf_cli_usage(cli, "--batch: 1 to 64");
    }
    if (b->n_draft > CF_DRAFT_MAX || (b->n_draft > 0 && b->n_gen == 0)) {
        return cf_cli_usage(cli, "--draft: at most 15, and not with -n 0");
    }
    if (b->n_threads != 0) {
        cli->open.n_threads = b->n_threads;
    }
    cf_error err;
    cf_status st = prepare(b, &err);
    CF_THEN(st, repeat(b, &err));
    int status = st == CF_OK ? print(b) : cf_cli_fail(cli, &err);
    cf_free(b->ids);
    cf_free(b->prefill);
    cf_free(b->first);
    cf_free(b->decode);
    cf_free(b->copy.with);
    cf_sampler_free(b->sampler);
    for (uint32_t k = 0; k < b->n_batch; k++) {
        cf_session_free(b->side[k]);
    }
    return status;
}

const cf_cli_command cf_cmd_bench = {
    .name = "bench",
    .arguments = "",
    .summary = "measure prefill and decode speed",
    .options = options,
    .state_bytes = sizeof(bench),
    .initial = &initial,
    .n_max = 0,
    .run = run_bench,
};
