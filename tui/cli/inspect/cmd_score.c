/*
 * cmd_score.c - confab score: computes how likely a text is after another,
 * token by token.
 */
#include <math.h>
#include <string.h>

#include "core/api/backend.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "core/json/json_writer.h"
#include "tui/cli/shell/cli.h"
#include "tui/lab/prompt/server_prompt.h"

enum { TEXT_MAX = 64 << 20 };

/* The text itself, or with "@FILE" the file's. */
static cf_status read_text(cf_buf *out, const char *arg, cf_error *err)
{
    if (arg != NULL && arg[0] == '@') {
        return cf_os_read_file(out, arg + 1, TEXT_MAX, err);
    }
    cf_buf_adds(out, arg != NULL ? arg : "");
    return cf_buf_check(out, err);
}

/* A scored token as text: of the vocabulary (`tok`), or of a server (NULL)
 * its bytes of the text. */
static void token_text(cf_buf *piece, const cf_score *s, size_t i, const cf_tokenizer *tok,
                       cf_str text)
{
    cf_buf_reset(piece);
    if (tok != NULL) {
        cf_tokenizer_piece(piece, tok, s->v[i].id, true);
    } else {
        cf_buf_add(piece, text.p + s->v[i].off, s->v[i].len);
    }
}

static void write_json(cf_buf *out, const cf_score *s, const cf_tokenizer *tok, cf_str text)
{
    cf_buf piece = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_array(&w, "tokens");
    for (size_t i = 0; i < s->n; i++) {
        cf_jw_object(&w, NULL);
        if (s->v[i].id == CF_TOKEN_NONE) {
            cf_jw_null(&w, "id");
        } else {
            cf_jw_int(&w, "id", s->v[i].id);
        }
        token_text(&piece, s, i, tok, text);
        cf_jw_bytes(&w, "text", cf_buf_str(&piece));
        cf_jw_float(&w, "log_p", s->log_p[i]);
        cf_jw_end(&w);
    }
    cf_jw_end(&w);
    cf_jw_uint(&w, "n", s->n);
    cf_jw_double(&w, "log_p", s->sum);
    cf_jw_double(&w, "perplexity", s->n > 0 ? exp(-s->sum / (double)s->n) : NAN);
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
    out->failed = out->failed || piece.failed;
    cf_buf_deinit(&piece);
}

static void write_text(cf_buf *out, const cf_score *s, const cf_tokenizer *tok, cf_str text)
{
    cf_buf piece = CF_BUF_INIT;
    for (size_t i = 0; i < s->n; i++) {
        token_text(&piece, s, i, tok, text);
        cf_buf_addf(out, "%8.3f %6.2f%%  %6d  '", (double)s->log_p[i],
                    100 * exp((double)s->log_p[i]), (int)s->v[i].id);
        cf_safe_line(out, cf_buf_cstr(&piece), piece.n);
        cf_buf_adds(out, "'\n");
    }
    cf_buf_addf(out, "%8.3f over %zu tokens", s->sum, s->n);
    if (s->n > 0) {
        cf_buf_addf(out, ", perplexity %.3f", exp(-s->sum / (double)s->n));
    }
    cf_buf_addc(out, '\n');
    out->failed = out->failed || piece.failed;
    cf_buf_deinit(&piece);
}

/* The built-in core for an engine, or the server of -m without one. */
static cf_status open_backend(cf_backend **out, const cf_cli *cli, cf_engine *engine, cf_error *err)
{
    const cf_core_options core = {.session = {.n_ctx = cli->open.n_ctx}};
    const cf_remote_options remote = {.key = cli->open.key, .model = cli->open.server_model};
    return engine != NULL ? cf_backend_core_new(out, engine, &core, err)
                          : cf_backend_remote_new(out, cli->open.model, &remote, err);
}

static int score(cf_cli *cli, cf_engine *engine, cf_str prompt, cf_str text)
{
    cf_error err;
    cf_backend *backend = NULL;
    cf_arena arena;
    cf_score s;
    cf_arena_init(&arena, 0);
    cf_opened_adapters adapters = {.n = 0};
    cf_status st = open_backend(&backend, cli, engine, &err);
    if (st == CF_OK && engine != NULL) {
        cf_session *session = cf_backend_core_session(backend);
        st = cf_open_use_adapters(&adapters, engine, &cli->open, &session, 1, &err);
    }
    CF_THEN(st, cf_backend_score(backend, prompt, text, cf_cli_cancel(), &arena, &s, &err));
    int status = CF_EXIT_OK;
    if (st == CF_OK) {
        cf_buf out = CF_BUF_INIT;
        const cf_tokenizer *tok = engine != NULL ? cf_engine_tokenizer(engine) : NULL;
        if (cli->is_json) {
            write_json(&out, &s, tok, text);
        } else {
            write_text(&out, &s, tok, text);
        }
        status = cf_cli_print(cli, &out);
        cf_buf_deinit(&out);
    } else {
        status = cf_cli_fail(cli, &err);
    }
    cf_arena_deinit(&arena);
    cf_backend_free(backend);
    cf_opened_adapters_close(&adapters);
    return status;
}

typedef struct asked {
    const char *prompt, *text;
} asked;

static const cf_opt_row options[] = {
    {"--prompt", 0, CF_OPT_STR, offsetof(asked, prompt), "A", "text before B; @FILE reads a file",
     0},
    {"--text", 0, CF_OPT_STR, offsetof(asked, text), "B", "text to score; @FILE reads a file", 0},
    CF_OPT_ROWS_END,
};

static int run_score(cf_cli *cli, void *state)
{
    asked *a = state;
    if (a->text == NULL) {
        return cf_cli_usage(cli, "needs --text, and usually --prompt");
    }
    if (cf_server_is_address(cli->open.model) && cli->open.n_lora != 0) {
        return cf_cli_usage(cli, "--lora: adapters need the built-in engine");
    }
    if (cf_server_is_address(cli->open.model) && cli->open.n_steer != 0) {
        return cf_cli_usage(cli, "--steer: steering needs the built-in engine");
    }
    cf_error err;
    cf_buf prompt = CF_BUF_INIT, text = CF_BUF_INIT;
    cf_status st = read_text(&prompt, a->prompt, &err);
    CF_THEN(st, read_text(&text, a->text, &err));
    cli->open.opens_lora = true;
    if (!cf_server_is_address(cli->open.model)) {
        CF_THEN(st, cf_open_engine(&cli->opened.engine, &cli->open, false, &err));
    }
    int status = st == CF_OK
                     ? score(cli, cli->opened.engine, cf_buf_str(&prompt), cf_buf_str(&text))
                     : cf_cli_fail(cli, &err);
    cf_buf_deinit(&prompt);
    cf_buf_deinit(&text);
    return status;
}

const cf_cli_command cf_cmd_score = {
    .name = "score",
    .arguments = "--prompt A --text B",
    .summary = "print the log-likelihood of B after A for each token",
    .options = options,
    .state_bytes = sizeof(asked),
    .n_max = 0,
    .run = run_score,
};
