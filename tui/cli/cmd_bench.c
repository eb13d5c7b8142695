/*
 * cmd_bench.c - confab bench: measures how fast this model is on this machine.
 *
 * Each repetition empties the session, computes a prompt of -p tokens in one
 * sync (prefill), draws one token (time to first token), empties it again and
 * steps -n times from a single token (decode).  One repetition before them is
 * not counted.  Tokens are pseudo-random and the same in every run; what a
 * model computes does not depend on which they are.
 *
 * Decoding waits for memory, so a plain read of as many bytes as a token's
 * weights take is measured too, and the speed at which weights are read is given as a
 * share of it.
 */
#include <stdlib.h>
#include <string.h>

#include "core/api/sampling.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "tui/cli/bench_memory.h"
#include "tui/cli/cli.h"
#include "tui/cli/progress.h"

typedef struct bench {
    cf_cli *cli;
    uint32_t n_prompt, n_gen, n_reps, n_threads;
    cf_engine *engine;
    cf_session *session;
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
static spread measure(const bench *b, const double *seconds, double amount,
                      double *scratch)
{
    size_t n = b->n_reps;
    for (size_t i = 0; i < n; i++) {
        scratch[i] = amount == 0 ? seconds[i] : amount / seconds[i];
    }
    qsort(scratch, n, sizeof *scratch, by_value);
    return (spread){
        .median = n % 2 == 1 ? scratch[n / 2]
                             : (scratch[n / 2 - 1] + scratch[n / 2]) / 2,
        .min = scratch[0],
        .max = scratch[n - 1],
    };
}

static cf_status one_prefill(bench *b, double *prefill, double *first,
                             cf_error *err)
{
    const cf_run run = {.cancel = cf_cli_cancel()};
    cf_sync_result result;
    cf_session_rewind(b->session, 0);
    double started = now();
    CF_TRY(
        cf_session_sync(b->session, b->ids, b->n_prompt, &run, &result, err));
    *prefill = now() - started;
    cf_token id;
    CF_TRY(cf_sampler_draw(b->sampler, cf_session_logits(b->session), b->ids,
                           b->n_prompt, NULL, 0, &id, NULL, err));
    *first = now() - started;
    return CF_OK;
}

static cf_status one_decode(bench *b, double *decode, cf_error *err)
{
    const cf_run run = {.cancel = cf_cli_cancel()};
    cf_sync_result result;
    cf_session_rewind(b->session, 0);
    CF_TRY(cf_session_sync(b->session, b->ids, 1, &run, &result, err));
    double started = now();
    for (uint32_t i = 1; i <= b->n_gen; i++) {
        CF_TRY(cf_session_step(b->session, b->ids[i], &run, err));
    }
    *decode = now() - started;
    return CF_OK;
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
    }
    cf_progress_end(&progress);
    cf_engine_info info = cf_engine_get_info(b->engine);
    if (st == CF_OK && b->n_gen > 0) {
        size_t size = info.step_bytes < CF_BENCH_MEMORY_MAX
                          ? (size_t)info.step_bytes
                          : CF_BENCH_MEMORY_MAX;
        st = cf_bench_memory(&b->memory, size, info.n_threads, b->n_reps, err);
    }
    return st;
}

static cf_status prepare(bench *b, cf_error *err)
{
    double started = now();
    CF_TRY(cf_open_engine(&b->engine, &b->cli->open, false, err));
    b->open_s = now() - started;
    started = now();
    uint32_t n_ids = b->n_prompt > b->n_gen ? b->n_prompt : b->n_gen + 1;
    const cf_session_options opts = {
        .n_ctx = b->cli->open.n_ctx != 0 ? b->cli->open.n_ctx : n_ids};
    CF_TRY(cf_session_new(&b->session, b->engine, &opts, err));
    b->session_s = now() - started;
    size_t n_vocab = cf_tokenizer_n_vocab(cf_engine_tokenizer(b->engine));
    const cf_sampling greedy = {0};
    CF_TRY(cf_sampler_new(&b->sampler, &greedy, n_vocab, err));
    b->ids = cf_calloc(n_ids, sizeof *b->ids);
    b->prefill = cf_calloc(b->n_reps, sizeof *b->prefill);
    b->first = cf_calloc(b->n_reps, sizeof *b->first);
    b->decode = cf_calloc(b->n_reps, sizeof *b->decode);
    if (b->ids == NULL || b->prefill == NULL || b->first == NULL ||
        b->decode == NULL) {
        return cf_oom_for(err, "the measurements");
    }
    uint32_t x = 1;
    for (uint32_t i = 0; i < n_ids; i++) {
        x = x * 1664525u + 1013904223u;
        b->ids[i] = (cf_token)((x >> 8) % n_vocab);
    }
    return CF_OK;
}

/* ---- the answer --------------------------------------------------------- */

static void json_spread(cf_buf *out, const char *name, uint32_t n_tokens,
                        spread s)
{
    cf_buf_addf(out,
                ",\"%s\":{\"tokens\":%u,\"per_second\":%.3f,"
                "\"min\":%.3f,\"max\":%.3f}",
                name, (unsigned)n_tokens, s.median, s.min, s.max);
}

static void write_json(const bench *b, cf_buf *out, double *scratch)
{
    cf_engine_info info = cf_engine_get_info(b->engine);
    cf_buf_adds(out, "{\"model\":");
    cf_json_write_str(out, cf_str_from(info.path));
    cf_buf_adds(out, ",\"name\":");
    cf_json_write_str(out, cf_str_from(info.name));
    cf_buf_adds(out, ",\"arch\":");
    cf_json_write_str(out, cf_str_from(info.arch));
    cf_buf_addf(out,
                ",\"file_type\":\"%s\",\"weight_bytes\":%llu,"
                "\"n_param\":%llu,\"kernel_set\":\"%s\",\"threads\":%u,"
                "\"exact\":%s,\"reps\":%u,\"open_ms\":%.3f,"
                "\"session_ms\":%.3f",
                info.file_type, (unsigned long long)info.weight_bytes,
                (unsigned long long)info.n_param, info.kernel_set,
                info.n_threads, info.is_exact ? "true" : "false",
                (unsigned)b->n_reps, b->open_s * 1e3, b->session_s * 1e3);
    if (b->n_prompt > 0) {
        json_spread(out, "prefill", b->n_prompt,
                    measure(b, b->prefill, b->n_prompt, scratch));
        spread s = measure(b, b->first, 0, scratch);
        cf_buf_addf(out,
                    ",\"first_token_ms\":{\"median\":%.3f,\"min\":%.3f,"
                    "\"max\":%.3f}",
                    s.median * 1e3, s.min * 1e3, s.max * 1e3);
    }
    if (b->n_gen > 0) {
        spread s = measure(b, b->decode, b->n_gen, scratch);
        json_spread(out, "decode", b->n_gen, s);
        double rate = s.median * (double)info.step_bytes;
        cf_buf_addf(out,
                    ",\"weight_gb_per_second\":%.3f,"
                    "\"memory_gb_per_second\":%.3f,\"memory_share\":%.3f",
                    rate * 1e-9, b->memory * 1e-9,
                    b->memory > 0 ? rate / b->memory : 0.0);
    }
    cf_buf_adds(out, "}\n");
}

static void write_text(const bench *b, cf_buf *out, double *scratch)
{
    cf_engine_info info = cf_engine_get_info(b->engine);
    const char *name = info.name[0] != '\0' ? info.name : info.path;
    cf_buf_adds(out, "model        ");
    cf_safe_line(out, name, strlen(name));
    cf_buf_addf(out,
                " (%s, %s, %.1f MiB)\nkernels      %s%s, %u thread%s\n"
                "open         %10.1f ms\nsession      %10.1f ms\n",
                info.arch, info.file_type,
                (double)info.weight_bytes / (1024.0 * 1024.0), info.kernel_set,
                info.is_exact ? ", exact" : "", info.n_threads,
                info.n_threads == 1 ? "" : "s", b->open_s * 1e3,
                b->session_s * 1e3);
    if (b->n_prompt > 0) {
        spread s = measure(b, b->prefill, b->n_prompt, scratch);
        cf_buf_addf(out,
                    "prefill %-4u %10.2f tokens/s   (%.2f to %.2f, median of "
                    "%u)\n",
                    (unsigned)b->n_prompt, s.median, s.min, s.max,
                    (unsigned)b->n_reps);
        s = measure(b, b->first, 0, scratch);
        cf_buf_addf(out, "first token  %10.1f ms         (%.1f to %.1f)\n",
                    s.median * 1e3, s.min * 1e3, s.max * 1e3);
    }
    if (b->n_gen > 0) {
        spread s = measure(b, b->decode, b->n_gen, scratch);
        cf_buf_addf(out, "decode  %-4u %10.2f tokens/s   (%.2f to %.2f)\n",
                    (unsigned)b->n_gen, s.median, s.min, s.max);
        double rate = s.median * (double)info.step_bytes;
        cf_buf_addf(out,
                    "weights      %10.1f GB/s       (%.0f %% of a plain read "
                    "of memory, %.1f GB/s)\n",
                    rate * 1e-9, b->memory > 0 ? 100 * rate / b->memory : 0.0,
                    b->memory * 1e-9);
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

int cf_cmd_bench(cf_cli *cli, int argc, char **argv)
{
    bench b = {.cli = cli, .n_prompt = 512, .n_gen = 128, .n_reps = 5};
    const cf_opt own[] = {
        {"--prompt", 'p', CF_OPT_U32, &b.n_prompt, "N",
         "tokens of the prompt; 0 skips prefill (default 512)", NULL},
        {"--tokens", 'n', CF_OPT_U32, &b.n_gen, "N",
         "tokens to generate; 0 skips decode (default 128)", NULL},
        {"--with-threads", 't', CF_OPT_U32, &b.n_threads, "N",
         "same as --threads", NULL},
        {"--repeat", 'r', CF_OPT_U32, &b.n_reps, "N",
         "measured repetitions (default 5), after one to warm up", NULL},
        {NULL, 0, CF_OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    int n_rest;
    int done = cf_cli_options(cli, own, argc, argv, &n_rest);
    if (done >= 0) {
        return done;
    }
    if (n_rest > 0) {
        return cf_cli_usage(cli, "takes no argument");
    }
    if (b.n_reps == 0 || b.n_reps > 10000) {
        return cf_cli_usage(cli, "--repeat: 1 to 10000");
    }
    if (b.n_prompt > 1u << 24 || b.n_gen > 1u << 24) {
        return cf_cli_usage(cli, "-p, -n: at most 16777216 tokens");
    }
    if (b.n_threads != 0) {
        cli->open.n_threads = b.n_threads;
    }
    cf_error err;
    cf_status st = prepare(&b, &err);
    CF_THEN(st, repeat(&b, &err));
    int status = st == CF_OK ? print(&b) : cf_cli_fail(cli, &err);
    cf_free(b.ids);
    cf_free(b.prefill);
    cf_free(b.first);
    cf_free(b.decode);
    cf_sampler_free(b.sampler);
    cf_session_free(b.session);
    cf_engine_close(b.engine);
    return status;
}
