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
#include "core/base/arena.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "core/base/utf8.h"
#include "tui/cli/answers/json_text.h"
#include "tui/cli/shell/cli.h"
#include "tui/sys/out.h"

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

/* object[key] = the bytes in hexadecimal. */
static bool set_hex(json_t *object, const char *key, cf_str bytes)
{
    static const char digits[] = "0123456789abcdef";
    cf_buf hex = CF_BUF_INIT;
    for (size_t i = 0; i < bytes.n; i++) {
        cf_buf_addc(&hex, digits[(unsigned char)bytes.p[i] >> 4]);
        cf_buf_addc(&hex, digits[(unsigned char)bytes.p[i] & 15]);
    }
    bool ok = !hex.failed &&
              json_object_set_new(object, key, json_stringn(cf_buf_cstr(&hex), hex.n)) == 0;
    cf_buf_deinit(&hex);
    return ok;
}

static bool is_utf8(const cf_buf *b)
{
    return cf_utf8_valid_prefix(cf_buf_cstr(b), b->n) == b->n;
}

/* Sets the text, and its bytes in hex too where they are not UTF-8. */
static bool set_bytes(json_t *object, const char *key, const char *key_hex, const cf_buf *b)
{
    cf_str bytes = {cf_buf_cstr(b), b->n};
    return json_object_set_new(object, key, cf_json_str(bytes)) == 0 &&
           (is_utf8(b) || set_hex(object, key_hex, bytes));
}

/* The text, or all bytes in its stead. */
static bool set_detok(json_t *object, const cf_buf *b)
{
    cf_str bytes = {cf_buf_cstr(b), b->n};
    return is_utf8(b) ? json_object_set_new(object, "detok", cf_json_str(bytes)) == 0
                      : set_hex(object, "detok_hex", bytes);
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
            return cf_fail(err, CF_EFORMAT, "hex: no digits at byte %zu", i);
        }
        cf_buf_addc(out, (char)(hi * 16 + lo));
    }
    return cf_buf_check(out, err);
}

/* The ids as an array, and their text: with control tokens spelled out and,
 * for a model folder, without them as its own library decodes. */
static bool set_ids(json_t *answer, const cf_tokenizer *tok, const cf_token *ids, size_t n,
                    size_t from, size_t to)
{
    cf_buf text = CF_BUF_INIT;
    json_t *array = json_array();
    bool ok = array != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        ok = json_array_append_new(array, json_integer(ids[i])) == 0;
    }
    cf_tokenizer_decode(&text, tok, ids + from, to - from, true);
    ok = ok && !text.failed && json_object_set(answer, "ids", array) == 0 &&
         set_detok(answer, &text);
    if (ok && cf_tokenizer_variables(tok).p != NULL) {
        cf_buf_reset(&text);
        cf_tokenizer_decode(&text, tok, ids, n, false);
        ok = !text.failed &&
             json_object_set_new(answer, "detok_skip", cf_json_str(cf_buf_str(&text))) == 0;
    }
    json_decref(array);
    cf_buf_deinit(&text);
    return ok;
}

/* Sets "ids", "detok" and "detok_skip" of the answer.  What add_special put
 * around the text is not part of "detok". */
static cf_status answer_ids(json_t *answer, const cf_tokenizer *tok, const cf_token_list *list,
                            bool add_special, cf_error *err)
{
    cf_special_tokens named = cf_tokenizer_special(tok);
    size_t from = add_special && named.add_bos && list->n > 0;
    size_t to = list->n - (add_special && named.add_eos && list->n > from);
    cf_token *ids = cf_alloc(list->n * sizeof *ids);
    for (size_t i = 0; ids != NULL && i < list->n; i++) {
        ids[i] = list->v[i].id;
    }
    bool ok = ids != NULL && set_ids(answer, tok, ids, list->n, from, to);
    cf_free(ids);
    return ok ? CF_OK : cf_oom(err);
}

/* "offsets": begin and end of each token, as the model's library counts. */
static cf_status answer_offsets(json_t *answer, const uint32_t *offsets, size_t n, cf_error *err)
{
    if (offsets == NULL) {
        return CF_OK;
    }
    json_t *array = json_array();
    bool ok = array != NULL;
    for (size_t i = 0; ok && i < 2 * n; i++) {
        ok = json_array_append_new(array, json_integer(offsets[i])) == 0;
    }
    ok = ok && json_object_set(answer, "offsets", array) == 0;
    json_decref(array);
    return ok ? CF_OK : cf_oom(err);
}

/* A line with "ids" asks for their text; unknown ids have none. */
static cf_status batch_decode(const tokenize *t, const json_t *list, json_t *answer, cf_error *err)
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
    if (st == CF_OK && !set_ids(answer, t->tok, ids, n, 0, n)) {
        st = cf_oom(err);
    }
    cf_free(ids);
    return st;
}

static cf_status batch_item(void *ud, const json_t *item, json_t *answer, cf_error *err)
{
    const tokenize *t = ud;
    if (json_is_array(json_object_get(item, "ids"))) {
        return batch_decode(t, json_object_get(item, "ids"), answer, err);
    }
    bool add_special = json_is_true(json_object_get(item, "add_special"));
    bool parse_special = json_is_true(json_object_get(item, "parse_special"));
    cf_str text = cf_json_get_str(item, "text");
    cf_buf bytes = CF_BUF_INIT;
    cf_status st = CF_OK;
    if (text.p == NULL) {
        cf_str hex = cf_json_get_str(item, "hex");
        st = hex.p != NULL ? read_hex(&bytes, hex, err)
                           : cf_fail(err, CF_EFORMAT,
                                     "neither \"text\" nor \"hex\" nor "
                                     "\"ids\"");
        text = cf_buf_str(&bytes);
    }
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_token_list list = {NULL, 0};
    uint32_t *offsets = NULL;
    CF_THEN(st, cf_tokenizer_encode_offsets(&list, &offsets, t->tok, text, parse_special,
                                            add_special, &arena, err));
    CF_THEN(st, answer_ids(answer, t->tok, &list, add_special, err));
    CF_THEN(st, answer_offsets(answer, offsets, list.n, err));
    cf_arena_deinit(&arena);
    cf_buf_deinit(&bytes);
    return st;
}

/* One JSON object on a line, in ASCII: exact, and harmless on a terminal. */
static cf_status print_json(const json_t *object, cf_error *err)
{
    char *line = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
    if (line == NULL) {
        return cf_oom(err);
    }
    cf_out(stdout, cf_str_from(line), CF_OUT_JSON);
    cf_out(stdout, cf_str_from("\n"), CF_OUT_JSON);
    cf_free(line);
    return CF_OK;
}

static cf_status print_tokens_json(const cf_tokenizer *tok, const cf_token_list *list,
                                   cf_error *err)
{
    json_t *ids = json_array();
    json_t *tokens = json_array();
    json_t *all = json_pack("{s:O?,s:O?}", "ids", ids, "tokens", tokens);
    cf_buf piece = CF_BUF_INIT;
    bool ok = ids != NULL && tokens != NULL && all != NULL;
    for (size_t i = 0; ok && i < list->n; i++) {
        const cf_token_span *s = &list->v[i];
        cf_buf_reset(&piece);
        cf_tokenizer_piece(&piece, tok, s->id, true);
        json_t *one = json_pack("{s:i,s:s,s:I,s:I}", "id", (int)s->id, "type",
                                type_name(cf_tokenizer_type(tok, s->id)), "off", (json_int_t)s->off,
                                "len", (json_int_t)s->len);
        ok = !piece.failed && one != NULL && set_bytes(one, "piece", "piece_hex", &piece) &&
             json_array_append_new(ids, json_integer(s->id)) == 0 &&
             json_array_append(tokens, one) == 0;
        json_decref(one);
    }
    cf_status st = ok ? print_json(all, err) : cf_oom(err);
    json_decref(ids);
    json_decref(tokens);
    json_decref(all);
    cf_buf_deinit(&piece);
    return st;
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

/* The piece comes last: its width on the screen is anybody's guess. */
static cf_status print_tokens(const cf_tokenizer *tok, const cf_token_list *list, size_t text_n,
                              cf_error *err)
{
    int id_w = at_least(width_of(cf_tokenizer_n_vocab(tok)), 2);
    int off_w = at_least(width_of(text_n), 4);
    cf_buf piece = CF_BUF_INIT;
    cf_buf out = CF_BUF_INIT;
    cf_buf_addf(&out, "%*s  %*s  %*s  %-7s  piece\n", id_w, "id", off_w, "from", off_w, "to",
                "type");
    for (size_t i = 0; i < list->n && !piece.failed; i++) {
        const cf_token_span *s = &list->v[i];
        cf_buf_reset(&piece);
        cf_tokenizer_piece(&piece, tok, s->id, true);
        cf_buf_addf(&out, "%*ld  %*lu  %*lu  %-7s  '", id_w, (long)s->id, off_w,
                    (unsigned long)s->off, off_w, (unsigned long)s->off + s->len,
                    type_name(cf_tokenizer_type(tok, s->id)));
        cf_safe_line(&out, cf_buf_cstr(&piece), piece.n);
        cf_buf_adds(&out, "'\n");
    }
    cf_buf_addf(&out, "%zu tokens, %zu bytes\n", list->n, text_n);
    cf_status st = cf_buf_check(&piece, err);
    CF_THEN(st, cf_buf_check(&out, err));
    if (st == CF_OK) {
        cf_out(stdout, cf_buf_str(&out), CF_OUT_TEXT);
    }
    cf_buf_deinit(&piece);
    cf_buf_deinit(&out);
    return st;
}

static cf_status run_text(const tokenize *t, const cf_cli *cli, cf_str text, cf_error *err)
{
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_token_list list;
    cf_status st =
        cf_tokenizer_encode(&list, t->tok, text, t->parse_special, t->add_special, &arena, err);
    CF_THEN(st, cli->is_json ? print_tokens_json(t->tok, &list, err)
                             : print_tokens(t->tok, &list, text.n, err));
    cf_arena_deinit(&arena);
    return st;
}

static cf_status print_bytes(const cf_buf *text, bool as_json, cf_error *err)
{
    if (as_json) {
        json_t *all = json_object();
        cf_status st = all != NULL && set_bytes(all, "text", "text_hex", text)
                           ? print_json(all, err)
                           : cf_oom(err);
        json_decref(all);
        return st;
    }
    cf_out(stdout, cf_buf_str(text), CF_OUT_TEXT);
    if (isatty(STDOUT_FILENO)) {
        cf_out(stdout, cf_str_from("\n"), CF_OUT_TEXT);
    }
    return CF_OK;
}

static cf_status run_ids(const tokenize *t, const cf_cli *cli, cf_error *err)
{
    cf_token *ids = NULL;
    size_t n = 0;
    CF_TRY(cf_json_text_read_ids(&ids, &n, t->ids, err));
    size_t n_vocab = cf_tokenizer_n_vocab(t->tok);
    for (size_t i = 0; i < n; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= n_vocab) {
            cf_status st = cf_fail(err, CF_EINVAL, "--ids: %ld is not among the %zu tokens",
                                   (long)ids[i], n_vocab);
            cf_free(ids);
            return st;
        }
    }
    cf_buf text = CF_BUF_INIT;
    cf_tokenizer_decode(&text, t->tok, ids, n, true);
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, print_bytes(&text, cli->is_json, err));
    cf_buf_deinit(&text);
    cf_free(ids);
    return st;
}

static int run(tokenize *t, cf_cli *cli, int n_rest, char **rest)
{
    if (t->batch != NULL) {
        return cf_cli_batch(cli, t->batch, batch_item, t);
    }
    cf_error err;
    cf_status st;
    if (t->ids != NULL) {
        st = run_ids(t, cli, &err);
    } else if (n_rest == 1 && strcmp(rest[0], "-") != 0) {
        st = run_text(t, cli, cf_str_from(rest[0]), &err);
    } else {
        cf_buf text = CF_BUF_INIT;
        st = cf_os_read_file(&text, "-", TEXT_MAX, &err);
        if (st == CF_OK) {
            st = run_text(t, cli, cf_buf_str(&text), &err);
        }
        cf_buf_deinit(&text);
    }
    return st == CF_OK ? CF_EXIT_OK : cf_cli_fail(cli, &err);
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
    return run(t, cli, cli->n_args, cli->args);
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
