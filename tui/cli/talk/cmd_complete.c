/*
 * cmd_complete.c - confab complete: continues a prompt as it is.
 *
 *   prompt (text or ids) -> cache -> logits -> sampler -> token -> bytes
 *
 * Text is written while it is generated.  With --json the answer is one
 * object at the end, with --trace one object a token.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/api/draft.h"
#include "core/api/loop.h"
#include "core/api/text_release.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/json/json_writer.h"
#include "tui/cli/answers/json_text.h"
#include "tui/cli/answers/trace_text.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/keep_prefix.h"
#include "tui/cli/shell/media_parts.h"
#include "tui/cli/shell/progress.h"
#include "tui/cli/shell/sampler_options.h"
#include "tui/cli/shell/shared_options.h"
#include "tui/cli/talk/complete_batch.h"
#include "tui/sys/out.h"

enum { PROMPT_MAX = 256 << 20 };

typedef struct complete {
    cf_cli *cli;
    /* options */
    const char *ids_text, *logits_path, *batch, *parts_path;
    uint32_t n_max, n_trace, n_draft;
    bool has_n_max, has_draft, has_trace, no_bos, special;
    cf_opt_list stop_list;
    cf_sampler_options sampling;
    /* the run */
    const cf_tokenizer *tok;
    cf_session *session;
    cf_keep_prefix prefix;
    cf_sampler *sampler;
    cf_draft *draft;
    cf_media_parts parts; /* likewise: the prompt */
    cf_token *ids;        /* prompt, then what was generated; [n_ctx + 1] */
    size_t n_prompt;      /* of them */
    size_t n_ids;
    cf_str stop[CF_OPT_LIST_MAX];
    cf_text_release text;
    cf_buf scratch;
    cf_os_out logits;
    size_t n_logits; /* rows written */
    cf_status logits_st;
    cf_error logits_err;
    const char *why; /* why it ended, as cf_stop_reason_name() says it */
    cf_token end;    /* the end token, when that is why */
    cf_progress progress;
    uint64_t open_us, prefill_us, generate_us;
    bool is_terminal; /* standard output */
    cf_loop_watch *loop;
    bool told_loop, stops_on_loop;
} complete;

/* ---- the prompt --------------------------------------------------------- */

static cf_status encode_text(complete *c, cf_token **out, size_t *n, cf_str text, cf_error *err)
{
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_token_list list;
    cf_token *ids = NULL;
    cf_status st = cf_tokenizer_encode(&list, c->tok, text, c->special, !c->no_bos, &arena, err);
    if (st == CF_OK) {
        ids = cf_calloc(list.n + 1, sizeof *ids);
        if (ids == NULL) {
            st = cf_oom_for(err, "the prompt");
        }
    }
    if (ids != NULL) {
        for (size_t i = 0; i < list.n; i++) {
            ids[i] = list.v[i].id;
        }
        *out = ids;
        *n = list.n;
    }
    cf_arena_deinit(&arena);
    return st;
}

/* The prompt's ids from --ids, TEXT, or standard input. */
static cf_status read_prompt(complete *c, const char *text, cf_token **out, size_t *n,
                             cf_error *err)
{
    if (c->ids_text != NULL) {
        return cf_json_text_read_ids(out, n, c->ids_text, err);
    }
    if (c->parts_path != NULL) {
        return cf_media_parts_ids(&c->parts, out, n, err);
    }
    if (text != NULL && strcmp(text, "-") != 0) {
        return encode_text(c, out, n, cf_str_from(text), err);
    }
    cf_buf input = CF_BUF_INIT;
    cf_status st = cf_os_read_file(&input, "-", PROMPT_MAX, err);
    CF_THEN(st, encode_text(c, out, n, cf_buf_str(&input), err));
    cf_buf_deinit(&input);
    return st;
}

static void warn_two_bos(const complete *c)
{
    cf_token bos = cf_tokenizer_special(c->tok).bos;
    if (bos != CF_TOKEN_NONE && c->n_prompt >= 2 && c->ids[0] == bos && c->ids[1] == bos) {
        cf_note("confab complete: the prompt begins with two BOS tokens (see "
                "--no-bos)");
    }
}

static cf_status check_prompt(const complete *c, const cf_token *prompt, size_t n, cf_error *err)
{
    size_t n_ctx = cf_session_n_ctx(c->session);
    size_t n_vocab = cf_tokenizer_n_vocab(c->tok);
    if (n == 0) {
        return cf_fail(err, CF_EINVAL, "the prompt has no token");
    }
    if (n > n_ctx) {
        return cf_fail(err, CF_ELIMIT, "the prompt has %zu tokens and the context %zu (--ctx)", n,
                       n_ctx);
    }
    for (size_t i = 0; i < n; i++) {
        bool is_row = c->parts_path != NULL && cf_token_is_row(prompt[i]);
        if (!is_row && (prompt[i] < 0 || (size_t)prompt[i] >= n_vocab)) {
            return cf_fail(err, CF_EINVAL, "token %d is outside the vocabulary of %zu",
                           (int)prompt[i], n_vocab);
        }
    }
    return CF_OK;
}

/* Moves the prompt into c->ids, which has room for a whole context. */
static cf_status set_prompt(complete *c, const char *text, cf_error *err)
{
    cf_token *prompt = NULL;
    size_t n = 0;
    CF_TRY(read_prompt(c, text, &prompt, &n, err));
    cf_status st = check_prompt(c, prompt, n, err);
    if (st == CF_OK) {
        c->ids = cf_calloc(cf_session_n_ctx(c->session) + (size_t)1, sizeof *c->ids);
        if (c->ids == NULL) {
            st = cf_oom_for(err, "token ids");
        }
    }
    if (c->ids != NULL && prompt != NULL) {
        memcpy(c->ids, prompt, n * sizeof *prompt);
        c->n_prompt = c->n_ids = n;
        warn_two_bos(c);
    }
    cf_free(prompt);
    return st;
}

/* ---- prefill ------------------------------------------------------------ */

static void on_progress(void *ud, size_t done, size_t total)
{
    complete *c = ud;
    cf_progress_show(&c->progress, done, total);
}

static void on_logits(void *ud, uint32_t pos, const float *logits)
{
    complete *c = ud;
    size_t n = cf_tokenizer_n_vocab(c->tok);
    CF_ASSERT(pos == c->n_logits); /* rows come in order */
    CF_THEN(c->logits_st, cf_os_out_put(&c->logits, logits, n * sizeof *logits, &c->logits_err));
    c->n_logits++;
}

static void on_hidden(void *ud, uint32_t pos, const float *hidden)
{
    const complete *c = ud;
    cf_draft_hidden(c->draft, pos, hidden);
}

static cf_status prefill(complete *c, cf_error *err)
{
    uint64_t started = cf_os_monotonic_us();
    cf_run run = {.cancel = cf_cli_cancel(), .progress = on_progress, .ud = c};
    CF_TRY(cf_draft_prepare(c->draft, c->session, err));
    run.hidden = cf_draft_wants_hidden(c->draft) ? on_hidden : NULL;
    if (c->logits_path != NULL) {
        CF_TRY(cf_os_out_open(&c->logits, c->logits_path, err));
        run.logits = on_logits;
    }
    cf_progress_start(&c->progress, "reading the prompt");
    cf_sync_result result;
    cf_status st =
        c->parts_path != NULL
            ? cf_session_sync_inputs(c->session, c->parts.in, c->parts.n, &run, &result, err)
            : cf_session_sync(c->session, c->ids, c->n_prompt, &run, &result, err);
    cf_progress_end(&c->progress);
    c->prefill_us = cf_os_monotonic_us() - started;
    if (c->logits_path != NULL) {
        if (st == CF_OK && c->logits_st != CF_OK) {
            st = cf_fail(err, c->logits_st, "%s", c->logits_err.text);
        }
        st = cf_os_out_close(&c->logits, st, 0644, err);
    }
    return st;
}

/* ---- generation --------------------------------------------------------- */

static bool writes_text(const complete *c)
{
    return !c->cli->is_json && !c->has_trace;
}

/* Shows text: made safe on a terminal, as it is elsewhere. */
static void show(complete *c, cf_str s)
{
    if (s.n == 0 || !writes_text(c)) {
        return;
    }
    cf_out(stdout, s, CF_OUT_TEXT);
    fflush(stdout);
}

static cf_status draw(complete *c, cf_token *id, cf_error *err)
{
    cf_draw d;
    CF_TRY(cf_sampler_draw(c->sampler, cf_draft_logits(c->draft), c->ids, c->n_ids, NULL,
                           c->n_trace, id, c->has_trace ? &d : NULL, err));
    if (c->has_trace) {
        cf_buf_reset(&c->scratch);
        cf_trace_text_json(&c->scratch, &d, c->tok, c->n_ids);
        CF_TRY(cf_buf_check(&c->scratch, err));
        cf_out(stdout, cf_buf_str(&c->scratch), CF_OUT_JSON);
        fflush(stdout);
    }
    return CF_OK;
}

/* Says once that the text repeats itself, and ends it where that is asked. */
static cf_status watch_loop(complete *c, cf_token id, cf_error *err)
{
    CF_TRY(cf_loop_watch_add(c->loop, id, err));
    cf_loop loop = cf_loop_watch_get(c->loop);
    if (loop.length == 0 || c->told_loop) {
        return CF_OK;
    }
    c->told_loop = true;
    cf_note("confab complete: the text is in a loop: from token %zu on it "
            "repeats %zu token%s, %zu times so far",
            loop.first, loop.period, loop.period == 1 ? "" : "s", loop.length / loop.period);
    if (c->stops_on_loop) {
        c->why = cf_stop_reason_name(CF_STOP_LOOP);
    }
    return CF_OK;
}

/* One token: drawn, kept, shown.  c->why is set when it was the last. */
static cf_status next_token(complete *c, cf_error *err)
{
    cf_token id;
    CF_TRY(draw(c, &id, err));
    if (cf_tokenizer_is_end(c->tok, id)) {
        c->why = "end";
        c->end = id;
        return CF_OK;
    }
    c->ids[c->n_ids++] = id;
    cf_buf_reset(&c->scratch);
    cf_tokenizer_piece(&c->scratch, c->tok, id, c->special);
    CF_TRY(cf_buf_check(&c->scratch, err));
    if (cf_text_release_add(&c->text, cf_buf_cstr(&c->scratch), c->scratch.n)) {
        c->why = "stop string";
    }
    CF_TRY(cf_buf_check(&c->text.text, err));
    show(c, cf_text_release_take(&c->text));
    if (c->why == NULL) {
        CF_TRY(watch_loop(c, id, err));
    }
    if (c->why != NULL) {
        return CF_OK;
    }
    if (c->has_n_max && c->n_ids - c->n_prompt >= c->n_max) {
        c->why = "length";
        return CF_OK;
    }
    if (c->n_ids > cf_session_n_ctx(c->session)) {
        c->why = "context";
        return CF_OK;
    }
    if (atomic_load_explicit(cf_cli_cancel(), memory_order_relaxed)) {
        return cf_fail(err, CF_ECANCELLED, "interrupted");
    }
    if (ferror(stdout)) {
        c->why = "output"; /* cf_cli_main says so */
        return CF_OK;
    }
    return cf_draft_step(c->draft, &id, 1, cf_cli_cancel(), err);
}

static cf_status generate(complete *c, cf_error *err)
{
    uint64_t started = cf_os_monotonic_us();
    cf_status st = CF_OK;
    if (c->has_n_max && c->n_max == 0) {
        c->why = "length";
    }
    CF_THEN(st, cf_loop_watch_new(&c->loop, err));
    CF_THEN(st, cf_draft_begin(c->draft, c->session, cf_cli_cancel(), err));
    while (st == CF_OK && c->why == NULL) {
        st = next_token(c, err);
    }
    cf_draft_end(c->draft);
    c->generate_us = cf_os_monotonic_us() - started;
    show(c, cf_text_release_take_all(&c->text));
    return st;
}

/* ---- the answer --------------------------------------------------------- */

static double per_second(size_t n, uint64_t us)
{
    return us == 0 ? 0 : (double)n * 1e6 / (double)us;
}

static void write_timings(const complete *c, cf_jw *w)
{
    cf_draft_counts counts = cf_draft_get_counts(c->draft);
    size_t n_new = c->n_ids - c->n_prompt;
    cf_jw_object(w, "timings");
    cf_jw_format(w, "open_ms", "%.3f", (double)c->open_us / 1e3);
    cf_jw_format(w, "prefill_ms", "%.3f", (double)c->prefill_us / 1e3);
    cf_jw_format(w, "prefill_per_second", "%.1f", per_second(c->n_prompt, c->prefill_us));
    cf_jw_format(w, "generate_ms", "%.3f", (double)c->generate_us / 1e3);
    cf_jw_format(w, "generate_per_second", "%.1f", per_second(n_new, c->generate_us));
    cf_jw_uint(w, "n_passes", counts.n_passes);
    cf_jw_uint(w, "n_drafted", counts.n_guessed);
    cf_jw_uint(w, "n_accepted", counts.n_accepted);
    cf_jw_end(w);
}

static void write_json(const complete *c, cf_buf *out)
{
    cf_buf sampler = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_int32s(&w, "prompt_ids", c->ids, c->n_prompt);
    cf_jw_int32s(&w, "ids", c->ids + c->n_prompt, c->n_ids - c->n_prompt);
    cf_jw_bytes(&w, "text", cf_buf_str(&c->text.text));
    cf_jw_text(&w, "stop", c->why);
    if (strcmp(c->why, "end") == 0) {
        cf_jw_int(&w, "end_id", c->end);
    }
    if (c->text.stopped_by < c->text.n_stop) {
        cf_jw_str(&w, "stop_text", c->stop[c->text.stopped_by]);
    }
    cf_sampler_describe(c->sampler, &sampler);
    cf_jw_buf(&w, "sampler", &sampler);
    cf_buf_deinit(&sampler);
    cf_jw_text(&w, "engine", cf_engine_get_info(c->cli->opened.engine).engine);
    write_timings(c, &w);
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
}

static int finish(complete *c)
{
    if (c->cli->is_json) {
        write_json(c, &c->cli->out);
        int status = cf_cli_print(c->cli, &c->cli->out);
        if (status != CF_EXIT_OK) {
            return status;
        }
    } else if (writes_text(c) && c->is_terminal) {
        cf_out(stdout, cf_str_from("\n"), CF_OUT_TEXT);
    }
    if (strcmp(c->why, "context") == 0) {
        cf_note("confab complete: stopped because the context of %u tokens is "
                "full (--ctx)",
                (unsigned)cf_session_n_ctx(c->session));
    }
    return strcmp(c->why, "cancelled") == 0 ? CF_EXIT_INTERRUPTED : CF_EXIT_OK;
}

/* ---- the command -------------------------------------------------------- */

/* A context longer than the model's training length is allowed, with a note. */
static void warn_long_context(const complete *c)
{
    uint32_t n_ctx = cf_session_n_ctx(c->session);
    uint32_t n_train = cf_engine_get_info(c->cli->opened.engine).n_ctx_train;
    if (n_ctx > n_train) {
        cf_note("confab complete: the context of %u tokens is longer than the "
                "%u the model was trained for",
                (unsigned)n_ctx, (unsigned)n_train);
    }
}

/* Everything but the prompt. */
static cf_status prepare(complete *c, cf_error *err)
{
    cf_chat_options chat = {.has_sampling = false};
    CF_TRY(cf_sampler_options_finish(&c->sampling, c->cli, &chat, err));
    const cf_sampling sampling = chat.sampling;
    for (size_t i = 0; i < c->stop_list.n; i++) {
        c->stop[i] = cf_str_from(c->stop_list.v[i]);
        if (c->stop[i].n == 0) {
            return cf_fail(err, CF_EINVAL, "--stop: the text is empty");
        }
    }
    cf_text_release_init(&c->text, c->stop, c->stop_list.n);
    uint64_t started = cf_os_monotonic_us();
    c->cli->open.opens_lora = true;
    CF_TRY(cf_open_engine(&c->cli->opened.engine, &c->cli->open, false, err));
    c->tok = cf_engine_tokenizer(c->cli->opened.engine);
    CF_TRY(cf_sampler_new(&c->sampler, &sampling, cf_tokenizer_n_vocab(c->tok), err));
    CF_TRY(cf_draft_new(&c->draft, c->n_draft, err));
    CF_TRY(cf_open_draft_engine(&c->cli->opened.draft, &c->cli->open, err));
    if (c->cli->opened.draft != NULL) {
        CF_TRY(cf_draft_use_model(c->draft, c->cli->opened.draft, c->cli->opened.engine, err));
    }
    cf_session_options opts = {.n_ctx = c->cli->open.n_ctx};
    if (c->parts_path != NULL) {
        CF_TRY(cf_open_media(&c->cli->opened.media, c->cli->opened.engine, &c->cli->open, err));
        if (c->cli->opened.media == NULL) {
            return cf_fail(err, CF_EINVAL, CF_OPEN_NO_MEDIA);
        }
        CF_TRY(cf_media_parts_read(&c->parts, c->cli->opened.media, c->tok, c->parts_path,
                                   cf_cli_cancel(), err));
        opts.n_batch = c->parts.n_batch;
    }
    if (c->prefix.is_wanted) {
        CF_TRY(cf_prefix_cache_new(&c->cli->opened.prefixes, c->cli->opened.engine,
                                   CF_PREFIX_BYTES_MAX, err));
        cf_keep_prefix_read(&c->prefix, c->cli, c->cli->opened.prefixes, NULL);
        opts.prefixes = c->cli->opened.prefixes;
    }
    CF_TRY(cf_session_new(&c->session, c->cli->opened.engine, &opts, err));
    CF_TRY(cf_open_use_adapters(&c->cli->opened.adapters, c->cli->opened.engine, &c->cli->open,
                                &c->session, 1, err));
    c->open_us = cf_os_monotonic_us() - started;
    warn_long_context(c);
    return CF_OK;
}

/* The one prompt of a call without --batch. */
static int answer(complete *c, const char *text)
{
    cf_error err;
    cf_status st = set_prompt(c, text, &err);
    CF_THEN(st, prefill(c, &err));
    if (st == CF_OK) {
        st = generate(c, &err);
        if (st == CF_ECANCELLED) {
            c->why = "cancelled"; /* the text so far is still the answer */
            st = CF_OK;
        }
    }
    return st == CF_OK ? finish(c) : cf_cli_fail(c->cli, &err);
}

static int run(complete *c, const char *text)
{
    cf_error err;
    int status;
    if (prepare(c, &err) != CF_OK) {
        status = cf_cli_fail(c->cli, &err);
    } else if (c->batch != NULL) {
        status = cf_complete_batch(c->cli, c->batch, c->session, c->sampler);
    } else {
        status = answer(c, text);
    }
    cf_text_release_deinit(&c->text);
    cf_buf_deinit(&c->scratch);
    cf_sampler_free(c->sampler);
    cf_draft_free(c->draft);
    cf_loop_watch_free(c->loop);
    cf_session_free(c->session);
    cf_keep_prefix_write(&c->prefix, c->cli);
    cf_media_parts_deinit(&c->parts);
    cf_free(c->ids);
    return status;
}

/* From confabrc, where no option says otherwise; 0 is no limit. */
static void take_settings(complete *c)
{
    const cf_reply_settings *from = c->cli->reply;
    if (from != NULL && !c->has_draft) {
        c->n_draft = from->draft;
    }
    if (from != NULL && !c->has_n_max && from->chat.max_tokens != 0) {
        c->n_max = from->chat.max_tokens;
        c->has_n_max = true;
    }
}

static int check_usage(const complete *c, int n_rest)
{
    if (n_rest > 1) {
        return cf_cli_usage(c->cli, "takes one TEXT; put it in quotes");
    }
    if (c->batch != NULL && (n_rest > 0 || c->ids_text != NULL || c->logits_path != NULL ||
                             c->has_trace || c->has_n_max || c->stop_list.n > 0)) {
        return cf_cli_usage(c->cli, "--batch has its prompts and numbers of "
                                    "tokens in the file");
    }
    if (n_rest == 1 && c->ids_text != NULL) {
        return cf_cli_usage(c->cli, "takes TEXT or --ids, not both");
    }
    if (c->parts_path != NULL && (n_rest > 0 || c->ids_text != NULL || c->batch != NULL)) {
        return cf_cli_usage(c->cli, "--parts is the whole prompt");
    }
    if (n_rest == 0 && c->ids_text == NULL && c->batch == NULL && c->parts_path == NULL &&
        isatty(STDIN_FILENO)) {
        return cf_cli_usage(c->cli, "no prompt: TEXT, --ids, or text on "
                                    "standard input");
    }
    if (c->n_trace > CF_TRACE_TOP_MAX) {
        return cf_cli_usage(c->cli, "--trace: at most 64 candidates");
    }
    if (c->n_draft > CF_DRAFT_MAX) {
        return cf_cli_usage(c->cli, "--draft: at most 15 tokens");
    }
    return CF_EXIT_OK;
}

static const complete initial = {.n_draft = CF_DRAFT_DEFAULT};

static const cf_opt_row options[] = {
    {"--ids", 0, CF_OPT_STR, offsetof(complete, ids_text), "LIST", "the prompt as token ids: 1,2,3",
     0},
    CF_ROW_TOKENS(offsetof(complete, n_max), offsetof(complete, has_n_max)),
    CF_ROW_STOP_ON_LOOP(offsetof(complete, stops_on_loop)),
    CF_ROW_STOP(offsetof(complete, stop_list)),
    {"--special", 0, CF_OPT_FLAG, offsetof(complete, special), NULL,
     "recognise control tokens in TEXT and show them in the output", 0},
    {"--no-bos", 0, CF_OPT_FLAG, offsetof(complete, no_bos), NULL, "do not add BOS before TEXT", 0},
    {"--logits", 0, CF_OPT_STR, offsetof(complete, logits_path), "FILE",
     "write the prompt's logits: float32 [tokens, vocabulary]", 0},
    {"--trace", 0, CF_OPT_U32, offsetof(complete, n_trace), "N",
     "print one JSON line per token, with its N best candidates, instead "
     "of the text",
     offsetof(complete, has_trace)},
    {"--batch", 0, CF_OPT_STR, offsetof(complete, batch), "FILE",
     "answer each line {\"name\",\"ids\",\"n\"} of a file, as JSON, in one "
     "session",
     0},
    CF_ROW_DRAFT(offsetof(complete, n_draft), offsetof(complete, has_draft)),
    {"--parts", 0, CF_OPT_STR, offsetof(complete, parts_path), "FILE",
     "the prompt as a JSON list of {\"ids\"}, {\"text\"} and {\"image\"}", 0},
    CF_ROW_KEEP_PREFIX(offsetof(complete, prefix.is_wanted)),
    CF_OPT_ROWS_END,
};

static size_t more(void *state, cf_opt *out)
{
    complete *c = state;
    cf_sampler_options_table(&c->sampling, out);
    out[CF_SAMPLER_OPTIONS] = (cf_opt){.name = NULL};
    return CF_SAMPLER_OPTIONS;
}

static int run_complete(cf_cli *cli, void *state)
{
    complete *c = state;
    c->cli = cli;
    c->is_terminal = isatty(STDOUT_FILENO) != 0;
    int status = check_usage(c, cli->n_args);
    take_settings(c);
    return status != CF_EXIT_OK ? status : run(c, cli->n_args == 1 ? cli->args[0] : NULL);
}

const cf_cli_command cf_cmd_complete = {
    .name = "complete",
    .arguments = "[TEXT]",
    .summary = "continue a raw prompt, TEXT or standard input",
    .options = options,
    .more = more,
    .state_bytes = sizeof(complete),
    .initial = &initial,
    .n_max = CF_ARGS_ANY,
    .run = run_complete,
};
