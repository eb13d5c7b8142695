/*
 * cmd_tokenize.c - confab tokenize: converts text to ids and back.
 *
 * Pieces come from the model file and the text from anywhere: on a terminal
 * both are shown with what could steer it written out.  Only --ids to a file
 * or pipe gives the bytes as they are.
 */
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "core/base/utf8.h"
#include "tui/cli/answers/json_text.h"
#include "tui/cli/shell/cli_store.h"

enum { TEXT_MAX = 1 << 30 }; /* bytes read from standard input */

typedef struct tokenize {
    const char *batch, *ids;
    bool parse_special, add_special;
    const cf_tokenizer *tok;
} tokenize;

static const char *type_name(cf_token_type type)
{
    switch (type) {
    case CF_TOKEN_NORMAL:
        return "normal";
    case CF_TOKEN_UNKNOWN:
        return "unknown";
    case CF_TOKEN_CONTROL:
        return "control";
    case CF_TOKEN_USER_DEFINED:
        return "user";
    case CF_TOKEN_UNUSED:
        return "unused";
    case CF_TOKEN_BYTE:
        return "byte";
    }
    return "?";
}

/* The bytes in hexadecimal. */
static void put_hex(cf_jw *w, const char *key, cf_str bytes)
{
    cf_buf hex = CF_BUF_INIT;
    for (size_t i = 0; i < bytes.n; i++) {
        cf_buf_addf(&hex, "%02x", (unsigned char)bytes.p[i]);
    }
    cf_jw_buf(w, key, &hex);
    cf_buf_deinit(&hex);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static cf_status read_hex(cf_buf *out, cf_str hex, cf_error *err)
{
    if (hex.n % 2 != 0) {
        return cf_fail(err, CF_EFORMAT, "hex: an odd number of digits");
    }
    for (size_t i = 0; i < hex.n; i += 2) {
        int hi = hex_digit(hex.p[i]);
        int lo = hex_digit(hex.p[i + 1]);
        if (hi < 0 || lo < 0) {
            return cf_fail(err, CF_EFORMAT, "hex: byte %zu is not a hexadecimal digit", i);
        }
        cf_buf_addc(out, (char)(hi * 16 + lo));
    }
    return cf_buf_check(out, err);
}

/* The ids, and their text: with control tokens spelled out (as hexadecimal
 * digits where it is not UTF-8) and, for a model folder, without them as its own
 * library decodes. */
static void put_ids(cf_jw *w, const cf_tokenizer *tok, const cf_token *ids, size_t n, size_t from,
                    size_t to)
{
    cf_buf text = CF_BUF_INIT;
    cf_jw_int32s(w, "ids", ids, n);
    cf_tokenizer_decode(&text, tok, ids + from, to - from, true);
    if (cf_utf8_valid_prefix(cf_buf_cstr(&text), text.n) == text.n) {
        cf_jw_buf(w, "detok", &text);
    } else {
        put_hex(w, "detok_hex", cf_buf_str(&text));
    }
    if (cf_tokenizer_variables(tok).p != NULL) {
        cf_buf_reset(&text);
        cf_tokenizer_decode(&text, tok, ids, n, false);
        cf_jw_buf(w, "detok_skip", &text);
    }
    w->out->failed = w->out->failed || text.failed;
    cf_buf_deinit(&text);
}

/* "detok" leaves out what add_special put around the text. */
static cf_status put_list(cf_jw *w, const cf_tokenizer *tok, const cf_token_list *list,
                          bool add_special, cf_error *err)
{
    cf_special_tokens named = cf_tokenizer_special(tok);
    size_t from = add_special && named.add_bos && list->n > 0;
    size_t to = list->n - (add_special && named.add_eos && list->n > from);
    cf_token *ids = cf_alloc(list->n * sizeof *ids);
    if (ids == NULL) {
        return cf_oom(err);
    }
    for (size_t i = 0; i < list->n; i++) {
        ids[i] = list->v[i].id;
    }
    put_ids(w, tok, ids, list->n, from, to);
    cf_free(ids);
    return CF_OK;
}

/* A line with "ids" asks for their text; unknown ids have none. */
static cf_status batch_decode(const tokenize *t, const json_t *list, cf_jw *w, cf_error *err)
{
    size_t n = json_array_size(list);
    cf_token *ids = cf_alloc(n * sizeof *ids + 1);
    cf_status st = ids != NULL ? CF_OK : cf_oom(err);
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        const json_t *v = json_array_get(list, i);
        json_int_t id = json_is_integer(v) ? json_integer_value(v) : -1;
        ids[i] = id >= 0 && id <= INT32_MAX ? (cf_token)id : CF_TOKEN_NONE;
        if (!json_is_integer(v)) {
            st = cf_fail(err, CF_EFORMAT, "\"ids\" holds more than numbers");
        }
    }
    if (st == CF_OK) {
        put_ids(w, t->tok, ids, n, 0, n);
    }
    cf_free(ids);
    return st;
}

/* A line with "text", or its bytes as "hex". */
static cf_status batch_encode(const tokenize *t, const json_t *item, cf_jw *w, cf_error *err)
{
    bool add_special = json_is_true(json_object_get(item, "add_special"));
    bool parse_special = json_is_true(json_object_get(item, "parse_special"));
    cf_str text = cf_json_get_str(item, "text");
    cf_str hex = cf_json_get_str(item, "hex");
    cf_buf bytes = CF_BUF_INIT;
    cf_status st = CF_OK;
    if (text.p == NULL) {
        st = hex.p != NULL ? read_hex(&bytes, hex, err)
                           : cf_fail(err, CF_EFORMAT, "neither \"text\" nor \"hex\" nor \"ids\"");
        text = cf_buf_str(&bytes);
    }
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_token_list list = {NULL, 0};
    uint32_t *offsets = NULL;
    CF_THEN(st, cf_tokenizer_encode_offsets(&list, &offsets, t->tok, text, parse_special,
                                            add_special, &arena, err));
    CF_THEN(st, put_list(w, t->tok, &list, add_special, err));
    if (st == CF_OK && offsets != NULL) { /* as the model's library counts */
        cf_jw_array(w, "offsets");
        for (size_t i = 0; i < 2 * list.n; i++) {
            cf_jw_uint(w, NULL, offsets[i]);
        }
        cf_jw_end(w);
    }
    cf_arena_deinit(&arena);
    cf_buf_deinit(&bytes);
    return st;
}

static cf_status batch_item(void *ud, const json_t *item, cf_buf *members, cf_error *err)
{
    const json_t *ids = json_object_get(item, "ids");
    cf_buf object = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &object);
    cf_jw_object(&w, NULL);
    cf_status st =
        json_is_array(ids) ? batch_decode(ud, ids, &w, err) : batch_encode(ud, item, &w, err);
    cf_jw_end(&w);
    cf_cli_put_members(members, &object);
    cf_buf_deinit(&object);
    return st;
}

static void put_tokens_json(cf_cli *cli, const cf_tokenizer *tok, const cf_token_list *list)
{
    cf_buf line = CF_BUF_INIT, piece = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &line);
    cf_jw_object(&w, NULL);
    cf_jw_array(&w, "ids");
    for (size_t i = 0; i < list->n; i++) {
        cf_jw_int(&w, NULL, list->v[i].id);
    }
    cf_jw_end(&w);
    cf_jw_array(&w, "tokens");
    for (size_t i = 0; i < list->n; i++) {
        const cf_token_span *s = &list->v[i];
        cf_buf_reset(&piece);
        cf_tokenizer_piece(&piece, tok, s->id, true);
        cf_jw_object(&w, NULL);
        cf_jw_int(&w, "id", s->id);
        cf_jw_text(&w, "type", type_name(cf_tokenizer_type(tok, s->id)));
        cf_jw_uint(&w, "off", s->off);
        cf_jw_uint(&w, "len", s->len);
        cf_jw_bytes(&w, "piece", cf_buf_str(&piece));
        cf_jw_end(&w);
    }
    cf_jw_end(&w);
    cf_jw_end(&w);
    cf_cli_put_json(&cli->out, &w);
    cli->out.failed = cli->out.failed || piece.failed;
    cf_buf_deinit(&piece);
    cf_buf_deinit(&line);
}

static int width_of(size_t v)
{
    int w = 1;
    for (; v >= 10; v /= 10) {
        w++;
    }
    return w;
}

static int at_least(int a, int b)
{
    return a > b ? a : b;
}

/* The piece comes last: its width on the screen is not known. */
static void put_tokens(cf_buf *out, const cf_tokenizer *tok, const cf_token_list *list,
                       size_t text_n)
{
    int id_w = at_least(width_of(cf_tokenizer_n_vocab(tok)), 2);
    int off_w = at_least(width_of(text_n), 4);
    cf_buf piece = CF_BUF_INIT;
    cf_buf_addf(out, "%*s  %*s  %*s  %-7s  piece\n", id_w, "id", off_w, "from", off_w, "to",
                "type");
    for (size_t i = 0; i < list->n; i++) {
        const cf_token_span *s = &list->v[i];
        cf_buf_reset(&piece);
        cf_tokenizer_piece(&piece, tok, s->id, true);
        cf_buf_addf(out, "%*ld  %*lu  %*lu  %-7s  '", id_w, (long)s->id, off_w,
                    (unsigned long)s->off, off_w, (unsigned long)s->off + s->len,
                    type_name(cf_tokenizer_type(tok, s->id)));
        cf_safe_line(out, cf_buf_cstr(&piece), piece.n);
        cf_buf_adds(out, "'\n");
    }
    cf_buf_addf(out, "%zu tokens, %zu bytes\n", list->n, text_n);
    out->failed = out->failed || piece.failed;
    cf_buf_deinit(&piece);
}

static cf_status run_text(const tokenize *t, cf_cli *cli, cf_str text, cf_error *err)
{
    cf_token_list list;
    CF_TRY(cf_tokenizer_encode(&list, t->tok, text, t->parse_special, t->add_special, &cli->arena,
                               err));
    if (cli->is_json) {
        put_tokens_json(cli, t->tok, &list);
    } else {
        put_tokens(&cli->out, t->tok, &list, text.n);
    }
    return CF_OK;
}

static void put_text_json(cf_cli *cli, const cf_buf *text)
{
    cf_buf line = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &line);
    cf_jw_object(&w, NULL);
    cf_jw_bytes(&w, "text", cf_buf_str(text));
    cf_jw_end(&w);
    cf_cli_put_json(&cli->out, &w);
    cf_buf_deinit(&line);
}

static cf_status run_ids(const tokenize *t, cf_cli *cli, cf_error *err)
{
    cf_token *ids = NULL;
    size_t n = 0;
    cf_buf text = CF_BUF_INIT;
    CF_TRY(cf_json_text_read_ids(&ids, &n, t->ids, err));
    size_t n_vocab = cf_tokenizer_n_vocab(t->tok);
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= n_vocab) {
            st = cf_fail(err, CF_EINVAL, "--ids: %ld is not among the %zu tokens", (long)ids[i],
                         n_vocab);
        }
    }
    if (st == CF_OK) {
        cf_tokenizer_decode(&text, t->tok, ids, n, true);
        st = cf_buf_check(&text, err);
    }
    if (st == CF_OK && cli->is_json) {
        put_text_json(cli, &text);
    } else if (st == CF_OK) {
        cf_buf_add(&cli->out, text.p, text.n);
        cf_buf_adds(&cli->out, isatty(STDOUT_FILENO) ? "\n" : "");
    }
    cf_buf_deinit(&text);
    cf_free(ids);
    return st;
}

static int run(tokenize *t, cf_cli *cli)
{
    cf_error err;
    cf_status st;
    if (t->batch != NULL) {
        return cf_cli_batch(cli, t->batch, batch_item, t);
    }
    if (t->ids != NULL) {
        st = run_ids(t, cli, &err);
    } else if (cli->n_args == 1 && strcmp(cli->args[0], "-") != 0) {
        st = run_text(t, cli, cf_str_from(cli->args[0]), &err);
    } else {
        cf_buf text = CF_BUF_INIT;
        st = cf_os_read_file(&text, "-", TEXT_MAX, &err);
        CF_THEN(st, run_text(t, cli, cf_buf_str(&text), &err));
        cf_buf_deinit(&text);
    }
    return cf_cli_end(cli, st, &err);
}

static const cf_opt_row options[] = {
    {"--ids", 0, CF_OPT_STR, offsetof(tokenize, ids), "1,2,3",
     "print the text of these ids instead", 0},
    {"--special", 0, CF_OPT_FLAG, offsetof(tokenize, parse_special), NULL,
     "parse control tokens that are spelled out in the text", 0},
    {"--bos", 0, CF_OPT_FLAG, offsetof(tokenize, add_special), NULL,
     "add BOS and EOS as the model asks for", 0},
    {"--batch", 0, CF_OPT_STR, offsetof(tokenize, batch), "FILE",
     "tokenize each line of a JSON Lines file", 0},
    CF_OPT_ROWS_END,
};

static int run_tokenize(cf_cli *cli, void *state)
{
    tokenize *t = state;
    if (cli->n_args > 1 || (cli->n_args > 0 && (t->batch != NULL || t->ids != NULL))) {
        return cf_cli_usage(cli, "too many arguments");
    }
    cf_error err;
    if (cf_open_engine(&cli->opened.engine, &cli->open, true, &err) != CF_OK) {
        return cf_cli_fail(cli, &err);
    }
    t->tok = cf_engine_tokenizer(cli->opened.engine);
    return run(t, cli);
}

const cf_cli_command cf_cmd_tokenize = {
    .name = "tokenize",
    .arguments = "[TEXT]",
    .summary = "show the tokens of a text, or the text of token ids",
    .options = options,
    .state_bytes = sizeof(tokenize),
    .n_max = CF_ARGS_ANY,
    .run = run_tokenize,
};
