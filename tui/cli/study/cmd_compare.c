/*
 * cmd_compare.c - confab compare: two files of one model (another quantisation,
 * an adapter) along the saved replies of one of them.
 */
#include <string.h>

#include "core/base/safe_text.h"
#include "core/json/json_writer.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/study/shrink/beside.h"

enum { TOKENS = 256, TOKENS_MAX = 65536, PAGE = 200 };

typedef struct job {
    cf_cli *cli;
    const char *with, *load_as;
    cf_opt_list lora;
    uint32_t max_tokens;
    cf_opened opened[2];
    char hash[2][CF_HASH_TEXT + 1];
    cf_beside_side side[2];
    size_t n_replies, n_tokens, n_parts, n_with_calls, n_calls_differ, n_left_out;
    double kl_sum, kl_max;
} job;

static cf_status open_side(job *j, int i, const cf_open_options *o, cf_error *err)
{
    cf_opened *to = &j->opened[i];
    CF_TRY(cf_open_backend(to, o, NULL, err));
    if (to->engine == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "both must be local model files");
    }
    cf_engine_hash(to->engine, j->hash[i]);
    j->side[i] = (cf_beside_side){.session = cf_backend_core_session(to->backend),
                                  .tok = cf_engine_tokenizer(to->engine),
                                  .family = to->family,
                                  .n_vocab = cf_engine_get_info(to->engine).n_vocab};
    return CF_OK;
}

static cf_status open_both(job *j, cf_error *err)
{
    cf_open_options b = j->cli->open;
    CF_TRY(open_side(j, 0, &b, err));
    b.model = j->with != NULL ? j->with : b.model;
    b.load_as = j->load_as != NULL ? j->load_as : b.load_as;
    if (j->lora.n > 0) {
        b.lora = j->lora.v;
        b.n_lora = j->lora.n;
    }
    CF_TRY(open_side(j, 1, &b, err));
    return j->side[0].n_vocab == j->side[1].n_vocab
               ? CF_OK
               : cf_fail(err, CF_EINVAL, "the models have vocabularies of %zu and %zu tokens",
                         j->side[0].n_vocab, j->side[1].n_vocab);
}

/* ---- output ------------------------------------------------------------- */

static void put_choice(const job *j, cf_buf *out, cf_token id)
{
    cf_buf piece = CF_BUF_INIT;
    cf_tokenizer_piece(&piece, j->side[0].tok, id, true);
    cf_buf_addc(out, '\'');
    cf_safe_line(out, cf_buf_cstr(&piece), piece.n);
    cf_buf_addc(out, '\'');
    cf_buf_deinit(&piece);
}

static void put_text(const job *j, cf_buf *out, const char *id, const cf_beside *b)
{
    cf_buf_addf(out, "%s  %zu tokens, KL mean %.4f, largest %.3f at token %zu", id, b->n,
                b->kl_sum / (double)b->n, b->kl_max, b->kl_at);
    if (b->n_other > 0) {
        cf_buf_addf(out, "; other first choice at %zu, first at token %zu: ", b->n_other,
                    b->other_at);
        put_choice(j, out, b->choice[0]);
        cf_buf_adds(out, " -> ");
        put_choice(j, out, b->choice[1]);
    }
    cf_buf_addf(out,
                b->parts ? "; greedy replies part after %zu tokens\n"
                         : "; greedy replies are the same\n",
                b->n_same);
    if (!cf_str_eq(cf_buf_str(&b->calls[0]), cf_buf_str(&b->calls[1]))) {
        for (int i = 0; i < 2; i++) {
            cf_buf_adds(out, i == 0 ? "  - " : "  + ");
            cf_safe_line(out, cf_buf_cstr(&b->calls[i]), b->calls[i].n);
            cf_buf_adds(out, b->calls[i].n == 0 ? "no call\n" : "\n");
        }
    }
}

static void put_json(const job *j, cf_buf *out, const char *id, const cf_beside *b)
{
    static const char *const keys[2][2] = {{"reply_a", "calls_a"}, {"reply_b", "calls_b"}};
    cf_jw w;
    (void)j;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "turn", id);
    cf_jw_uint(&w, "tokens", b->n);
    cf_jw_double(&w, "kl_sum", b->kl_sum);
    cf_jw_double(&w, "kl_max", b->kl_max);
    cf_jw_uint(&w, "kl_at", b->kl_at);
    cf_jw_uint(&w, "other", b->n_other);
    if (b->n_other > 0) {
        cf_jw_uint(&w, "other_at", b->other_at);
        cf_jw_int(&w, "choice_a", b->choice[0]);
        cf_jw_int(&w, "choice_b", b->choice[1]);
    }
    cf_jw_uint(&w, "same", b->n_same);
    cf_jw_bool(&w, "parts", b->parts);
    for (int i = 0; i < 2; i++) {
        cf_jw_bytes(&w, keys[i][0], cf_buf_str(&b->reply[i]));
        cf_jw_bytes(&w, keys[i][1], cf_buf_str(&b->calls[i]));
    }
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
    out->failed = out->failed || cf_jw_finish(&w, NULL) != CF_OK;
}

static void put_end(const job *j, cf_buf *out)
{
    double mean = j->n_tokens > 0 ? j->kl_sum / (double)j->n_tokens : 0;
    if (j->cli->is_json) {
        cf_buf_addf(out,
                    "{\"replies\":%zu,\"left_out\":%zu,\"tokens\":%zu,\"kl_mean\":%.9g,"
                    "\"kl_max\":%.9g,\"part\":%zu,\"with_calls\":%zu,\"calls_differ\":%zu}\n",
                    j->n_replies, j->n_left_out, j->n_tokens, mean, j->kl_max, j->n_parts,
                    j->n_with_calls, j->n_calls_differ);
        return;
    }
    cf_buf_addf(
        out,
        "%zu replies, %zu tokens: KL mean %.4f, largest %.3f nats; %zu greedy replies part; "
        "calls differ in %zu of %zu with calls",
        j->n_replies, j->n_tokens, mean, j->kl_max, j->n_parts, j->n_calls_differ, j->n_with_calls);
    cf_buf_addf(out,
                j->n_left_out > 0
                    ? "; %zu left out, which another model wrote, which do not fit, or which have "
                      "no tokens\n"
                    : "\n",
                j->n_left_out);
}

/* ---- replies ------------------------------------------------------------ */

/* A reply whose tokens the history has, written by one of the two files. */
static bool is_usable(const job *j, const cf_store_run *run)
{
    bool has_rows = run->n_prompt_ids == 0 || run->n_reply_ids == 0;
    for (size_t i = 0; i < run->n_prompt_ids && !has_rows; i++) {
        has_rows = cf_token_is_row(run->prompt_ids[i]); /* of a picture */
    }
    return !has_rows &&
           (cf_str_is(run->model_hash, j->hash[0]) || cf_str_is(run->model_hash, j->hash[1]));
}

static cf_status one_reply(job *j, const cf_store_turn *turn, cf_error *err)
{
    const cf_store_run *run = turn->run;
    char id[CF_UUID_TEXT + 1];
    cf_beside b;
    if (run == NULL || !is_usable(j, run)) {
        j->n_left_out += run != NULL;
        return CF_OK;
    }
    const cf_beside_text t = {.prompt = run->prompt_ids,
                              .reply = run->reply_ids,
                              .n_prompt = run->n_prompt_ids,
                              .n_reply = run->n_reply_ids,
                              .max_tokens = j->max_tokens != 0 ? j->max_tokens : TOKENS,
                              .cancel = cf_cli_cancel()};
    cf_status st = cf_beside_run(&b, j->side, &t, err);
    if (st == CF_ELIMIT || st == CF_EINVAL) { /* too long, or no such tokens */
        j->n_left_out++;
        return CF_OK;
    }
    CF_TRY(st);
    j->n_replies++;
    j->n_tokens += b.n;
    j->kl_sum += b.kl_sum;
    j->kl_max = b.kl_max > j->kl_max ? b.kl_max : j->kl_max;
    j->n_parts += b.parts;
    j->n_with_calls += b.calls[0].n > 0 || b.calls[1].n > 0;
    j->n_calls_differ += !cf_str_eq(cf_buf_str(&b.calls[0]), cf_buf_str(&b.calls[1]));
    cf_uuid_format(id, turn->id);
    cf_buf out = CF_BUF_INIT;
    (j->cli->is_json ? put_json : put_text)(j, &out, id, &b);
    cf_beside_deinit(&b);
    bool is_written = cf_cli_print(j->cli, &out) == CF_EXIT_OK;
    cf_buf_deinit(&out);
    return is_written ? CF_OK : cf_fail(err, CF_EIO, "standard output cannot be written");
}

static cf_status one_conversation(job *j, cf_uuid id, cf_error *err)
{
    cf_arena arena;
    cf_store_tree tree = {.n = 0};
    cf_arena_init(&arena, 0);
    cf_status st = cf_store_get_tree(j->cli->store, id, CF_TREE_TRACE, &arena, &tree, err);
    for (size_t i = 0; st == CF_OK && i < tree.n; i++) {
        st = one_reply(j, &tree.turns[i], err);
    }
    cf_arena_deinit(&arena);
    return st;
}

static cf_status all_conversations(job *j, cf_error *err)
{
    cf_arena rows;
    cf_arena_init(&rows, 0);
    cf_store_query q = {.sort = CF_SORT_CREATED, .limit = PAGE};
    cf_status st = CF_OK;
    for (size_t n = q.limit; st == CF_OK && n == q.limit; q.offset += n) {
        const cf_store_conv *v;
        cf_arena_reset(&rows);
        st = cf_store_list(j->cli->store, &q, &rows, &v, &n, err);
        for (size_t i = 0; st == CF_OK && i < n; i++) {
            st = one_conversation(j, v[i].id, err);
        }
    }
    cf_arena_deinit(&rows);
    return st;
}

static cf_status run(job *j, cf_error *err)
{
    CF_TRY(cf_cli_open_store(&j->cli->store, j->cli, CF_STORE_READ_ONLY, err));
    CF_TRY(open_both(j, err));
    if (j->cli->n_args == 0) {
        CF_TRY(all_conversations(j, err));
    }
    for (int i = 0; i < (int)j->cli->n_args; i++) {
        cf_store_ref ref;
        CF_TRY(cf_store_find(j->cli->store, cf_str_from(j->cli->args[i]), &ref, err));
        CF_TRY(one_conversation(j, ref.conversation, err));
    }
    put_end(j, &j->cli->out);
    return CF_OK;
}

static const cf_opt_row options[] = {
    {"--with", 0, CF_OPT_STR, offsetof(job, with), "MODEL",
     "the other file of the model (default: the same)", 0},
    {"--with-load-as", 0, CF_OPT_STR, offsetof(job, load_as), "q8_0|q4_0",
     "quantise the other one while it is loaded", 0},
    {"--with-lora", 0, CF_OPT_LIST, offsetof(job, lora), "FILE[=SCALE]",
     "an adapter of the other one; may be repeated", 0},
    {"--max-tokens", 'n', CF_OPT_U32, offsetof(job, max_tokens), "N",
     "tokens of each greedy reply (default: 256)", 0},
    CF_OPT_ROWS_END,
};

static int run_compare(cf_cli *cli, void *state)
{
    job *j = state;
    cf_error err;
    j->cli = cli;
    if (j->with == NULL && j->load_as == NULL && j->lora.n == 0) {
        return cf_cli_usage(cli, "takes --with, --with-load-as or --with-lora");
    }
    if (j->max_tokens > TOKENS_MAX) {
        return cf_cli_usage(cli, "--max-tokens: at most 65536");
    }
    cf_status st = run(j, &err);
    int status = cf_cli_end(cli, st, &err);
    cf_opened_close(&j->opened[0]);
    cf_opened_close(&j->opened[1]);
    return status == CF_EXIT_OK && (j->n_parts > 0 || j->n_calls_differ > 0) ? CF_EXIT_FINDING
                                                                             : status;
}

const cf_cli_command cf_cmd_compare = {
    .name = "compare",
    .arguments = "[UUID ...]",
    .summary = "compare two files of one model on saved replies",
    .options = options,
    .state_bytes = sizeof(job),
    .n_max = CF_ARGS_ANY,
    .want = "takes UUIDs of conversations, or none for all",
    .run = run_compare,
};
