/*
 * cmd_replay.c - confab replay: draws a stored reply again from what the
 * history keeps, and compares it token by token.
 *
 * The prompt's tokens are the stored ones: nothing is rendered.  The sampler
 * gets the stored options and seed; tokens that were given or forced are put
 * there as they were and take no draw, so every draw has the number it had.
 * A constraint is compiled again from what is stored and follows the tokens
 * that it took.
 * Threads, kernel set, cache type and context are the stored ones unless the
 * command line says otherwise; anything that cannot be the same is
 * reported.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/base/safe_text.h"
#include "core/json/json_writer.h"
#include "tui/cli/saved/replay_media.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/cli_recorded.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/lab/reply/recorded.h"
#include "tui/sys/out.h"

enum { N_TOP = 5, NOTE_MAX = 6 };

typedef struct replay {
    cf_cli *cli; /* with the stored threads and kernels in it */
    uint32_t n_top;
    /* the stored reply */
    cf_store_turn turn;
    cf_recorded was;
    cf_replay_media media;
    /* the run that repeats it */
    cf_session *session;
    cf_sampler *sampler;
    cf_constraint *constraint; /* NULL: none, like the mask */
    uint32_t *mask;
    char model_hash[CF_HASH_TEXT + 1];
    bool is_same_model;
    char note[NOTE_MAX][160];
    size_t n_note;
    /* the comparison */
    cf_token *ids; /* [n_prompt + n_reply] */
    size_t n_prompt, n_reply;
    size_t n_same; /* of the reply */
    cf_token drawn;
    cf_draw draw;
} replay;

static void note(replay *r, const char *what, const char *was, const char *is)
{
    if (r->n_note < NOTE_MAX) {
        snprintf(r->note[r->n_note++], sizeof r->note[0], "%s: stored %.60s, here %.60s", what, was,
                 is);
    }
}

/* ---- reading ------------------------------------------------------------ */

/* The turn that a UUID means: of a conversation, the one shown last. */
static cf_status find_turn(cf_store *store, const char *name, cf_arena *arena, cf_uuid *out,
                           cf_error *err)
{
    cf_store_ref ref;
    cf_store_tree tree;
    CF_TRY(cf_store_find(store, cf_str_from(name), &ref, err));
    *out = ref.turn;
    if (cf_uuid_is_nil(ref.turn)) {
        CF_TRY(cf_store_get_tree(store, ref.conversation, 0, arena, &tree, err));
        *out = tree.conv.head;
    }
    return cf_uuid_is_nil(*out) ? cf_fail(err, CF_ENOTFOUND, "the conversation has no turn")
                                : CF_OK;
}

/* Reads the inputs of a replay; the error names the one that is missing. */
static cf_status check_turn(const replay *r, cf_error *err)
{
    const cf_store_run *run = r->turn.run;
    if (run == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "the turn was not written by a model: there is nothing "
                       "to run again");
    }
    if (run->model_hash.n == 0) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "the turn was written by '%.60s' (%.20s), not by a "
                       "model file: only those can be run again",
                       run->model.p != NULL ? run->model.p : "",
                       run->engine.p != NULL ? run->engine.p : "");
    }
    if (run->n_prompt_ids == 0 || run->n_reply_ids == 0) {
        return cf_fail(err, CF_EUNSUPPORTED, "the tokens of the turn's %s were not kept",
                       run->n_prompt_ids == 0 ? "prompt" : "reply");
    }
    if (!r->was.options.has_sampling) {
        return cf_fail(err, CF_EUNSUPPORTED, "the turn's sampler options were not kept");
    }
    return CF_OK;
}

static cf_status read_turn(replay *r, const char *name, cf_error *err)
{
    cf_uuid id;
    CF_TRY(cf_cli_open_store(&r->cli->store, r->cli, CF_STORE_READ_ONLY, err));
    cf_status st = find_turn(r->cli->store, name, &r->cli->arena, &id, err);
    CF_THEN(st, cf_store_get_turn(r->cli->store, id, &r->cli->arena, &r->turn, err));
    if (st == CF_OK && r->turn.run != NULL) {
        st = cf_recorded_read(&r->was, r->cli->store, r->turn.run, &r->cli->arena, err);
        CF_THEN(st, cf_replay_media_load(&r->media, r->was.options.media, r->cli->store,
                                         r->turn.parent, &r->cli->arena, err));
    }
    CF_TRY(st);
    CF_TRY(check_turn(r, err));
    const cf_store_run *run = r->turn.run;
    r->n_prompt = run->n_prompt_ids;
    r->n_reply = run->n_reply_ids;
    r->ids = cf_arena_calloc(&r->cli->arena, r->n_prompt + r->n_reply, sizeof *r->ids);
    if (r->ids == NULL) {
        return cf_oom_for(err, "the turn");
    }
    memcpy(r->ids, run->prompt_ids, r->n_prompt * sizeof *r->ids);
    memcpy(r->ids + r->n_prompt, run->reply_ids, r->n_reply * sizeof *r->ids);
    return CF_OK;
}

/* ---- the engine --------------------------------------------------------- */

/* Opens the model with the stored kernel set where this machine has it. */
static cf_status open_engine(replay *r, cf_error *err)
{
    const cf_store_run *run = r->turn.run;
    bool is_told = r->cli->open.kernel_set != NULL;
    r->cli->open.opens_lora = true;
    if (cf_open_is_plugin(cf_open_model(&r->cli->open))) {
        return cf_open_engine(&r->cli->opened.engine, &r->cli->open, false, err);
    }
    if (!is_told && run->isa.n != 0) {
        r->cli->open.kernel_set = run->isa.p;
    }
    if (r->cli->open.n_threads == 0 && run->n_threads > 0) {
        r->cli->open.n_threads = (uint32_t)run->n_threads;
    }
    if (!cf_cli_has_arithmetic(r->cli)) {
        r->cli->open.arithmetic = run->arithmetic;
    }
    if (r->cli->open.load_as == NULL && r->was.options.load_as.n != 0) {
        r->cli->open.load_as = r->was.options.load_as.p;
    }
    cf_status st = cf_open_engine(&r->cli->opened.engine, &r->cli->open, false, err);
    if (st != CF_OK && !is_told && r->cli->open.kernel_set != NULL) {
        r->cli->open.kernel_set = NULL;
        st = cf_open_engine(&r->cli->opened.engine, &r->cli->open, false, err);
    }
    return st;
}

static void compare_engine(replay *r)
{
    const cf_store_run *run = r->turn.run;
    cf_engine_info e = cf_engine_get_info(r->cli->opened.engine);
    char was[32], is[32];
    cf_engine_hash(r->cli->opened.engine, r->model_hash);
    r->is_same_model = cf_str_is(run->model_hash, r->model_hash);
    if (!r->is_same_model) {
        snprintf(was, sizeof was, "%.16s", run->model_hash.p);
        snprintf(is, sizeof is, "%.16s", r->model_hash);
        note(r, "another model", was, is);
    }
    if (run->isa.n != 0 && !cf_str_is(run->isa, e.kernel_set)) {
        note(r, "another kernel set", run->isa.p, e.kernel_set);
    }
    if (run->n_threads > 0 && (unsigned)run->n_threads != e.n_threads) {
        snprintf(was, sizeof was, "%d", run->n_threads);
        snprintf(is, sizeof is, "%u", e.n_threads);
        note(r, "another number of threads", was, is);
    }
    if (run->arithmetic != e.arithmetic) {
        note(r, "another arithmetic", cf_arithmetic_name(run->arithmetic),
             cf_arithmetic_name(e.arithmetic));
    }
}

/* The constraint after the beginning that the reply was given. */
static cf_status open_constraint(replay *r, cf_error *err)
{
    if (r->was.constraint == NULL) {
        return CF_OK;
    }
    const cf_tokenizer *tok = cf_engine_tokenizer(r->cli->opened.engine);
    CF_TRY(cf_recorded_compile(&r->was, tok, err));
    r->mask =
        cf_arena_calloc(&r->cli->arena, (cf_tokenizer_n_vocab(tok) + 31) / 32, sizeof *r->mask);
    if (r->mask == NULL) {
        return cf_oom_for(err, "the mask");
    }
    return cf_recorded_constraint(&r->constraint, &r->was, err);
}

/* ---- adapters ------------------------------------------------------------ */

/* The stored adapters as options, unless the command line names others. */
static cf_status choose_adapters(replay *r, const json_t *stored, cf_error *err)
{
    size_t n = json_array_size(stored);
    if (r->cli->open.n_lora != 0 || n == 0) {
        return CF_OK;
    }
    const char **v = cf_cli_adapter_names(stored, &r->cli->arena);
    if (v == NULL) {
        return cf_oom_for(err, "the adapters");
    }
    r->cli->open.lora = v;
    r->cli->open.n_lora = n;
    return CF_OK;
}

/* "0123456789abcdef x 0.5, ...": hashes and scales identify adapters. */
static void identify(cf_buf *out, cf_str hash, double scale)
{
    cf_buf_addf(out, "%s%.*s x %g", out->n == 0 ? "" : ", ", hash.n < 12 ? (int)hash.n : 12, hash.p,
                scale);
}

static void compare_adapters(replay *r, const json_t *stored)
{
    cf_buf was = CF_BUF_INIT, is = CF_BUF_INIT;
    for (size_t i = 0; i < json_array_size(stored); i++) {
        const json_t *one = json_array_get(stored, i);
        identify(&was, cf_json_get_str(one, "sha256"),
                 json_number_value(json_object_get(one, "scale")));
    }
    for (size_t i = 0; i < r->cli->opened.adapters.n; i++) {
        const cf_adapter_use *use = &r->cli->opened.adapters.use[i];
        if (use->scale != 0) {
            identify(&is, cf_str_from(cf_adapter_get_info(use->adapter).hash), (double)use->scale);
        }
    }
    if (!cf_str_eq(cf_buf_str(&was), cf_buf_str(&is))) {
        note(r, "other adapters", was.n != 0 ? cf_buf_cstr(&was) : "none",
             is.n != 0 ? cf_buf_cstr(&is) : "none");
    }
    cf_buf_deinit(&was);
    cf_buf_deinit(&is);
}

/* The steering that the session has now, and that of the reply. */
static cf_status compare_steering(replay *r, cf_error *err)
{
    json_t *stored = NULL;
    cf_buf was = CF_BUF_INIT, is = CF_BUF_INIT;
    size_t n = 0;
    const cf_steering *steering = cf_session_steering(r->session);
    const cf_steering_use *use = steering != NULL ? cf_steering_uses(steering, &n) : NULL;
    if (r->was.options.steering.n != 0) {
        CF_TRY(cf_json_read(&stored, r->was.options.steering.p, r->was.options.steering.n, err));
    }
    for (size_t i = 0; i < json_array_size(stored); i++) {
        const json_t *one = json_array_get(stored, i);
        identify(&was, cf_json_get_str(one, "sha256"),
                 json_number_value(json_object_get(one, "scale")));
    }
    for (size_t i = 0; i < n; i++) {
        identify(&is, cf_str_from(use[i].hash), (double)use[i].scale);
    }
    if (!cf_str_eq(cf_buf_str(&was), cf_buf_str(&is))) {
        note(r, "other steering", was.n != 0 ? cf_buf_cstr(&was) : "none",
             is.n != 0 ? cf_buf_cstr(&is) : "none");
    }
    json_decref(stored);
    cf_buf_deinit(&was);
    cf_buf_deinit(&is);
    return CF_OK;
}

/* Gives the session the adapters that the reply was written with. */
static cf_status use_adapters(replay *r, cf_error *err)
{
    json_t *stored = NULL;
    cf_str text = r->was.options.adapters;
    bool is_told = r->cli->open.n_lora != 0;
    if (text.n != 0) {
        CF_TRY(cf_json_read(&stored, text.p, text.n, err));
    }
    cf_status st = choose_adapters(r, stored, err);
    CF_THEN(st, cf_cli_take_steering(&r->cli->open, r->was.options.steering, &r->cli->arena, err));
    CF_THEN(st, cf_open_use_adapters(&r->cli->opened.adapters, r->cli->opened.engine, &r->cli->open,
                                     &r->session, 1, err));
    if (st == CF_OK) {
        compare_adapters(r, stored);
        CF_TRY(compare_steering(r, err));
    } else if (!is_told && text.n != 0) {
        cf_fail_in(err, st,
                   "the reply was written with an adapter (--lora names "
                   "another one)");
    }
    json_decref(stored);
    return st;
}

static void compare_cache(replay *r)
{
    cf_cache_type is = cf_session_cache(r->session);
    if (r->was.options.cache != CF_CACHE_DEFAULT && r->was.options.cache != is) {
        note(r, "another cache", cf_cache_name(r->was.options.cache), cf_cache_name(is));
    }
}

static cf_status open_all(replay *r, cf_error *err)
{
    CF_TRY(open_engine(r, err));
    compare_engine(r);
    uint32_t n_ctx = r->cli->open.n_ctx != 0 ? r->cli->open.n_ctx : r->was.options.n_ctx;
    cf_cache_type cache = r->cli->open.cache;
    cache = cache != CF_CACHE_DEFAULT ? cache : r->was.options.cache;
    const cf_session_options o = {.n_ctx = n_ctx, .cache = cache};
    CF_TRY(open_constraint(r, err));
    CF_TRY(cf_session_new(&r->session, r->cli->opened.engine, &o, err));
    compare_cache(r);
    CF_TRY(use_adapters(r, err));
    return cf_sampler_new(&r->sampler, &r->was.options.sampling,
                          cf_tokenizer_n_vocab(cf_engine_tokenizer(r->cli->opened.engine)), err);
}

/* ---- the comparison ----------------------------------------------------- */

static bool is_forced(const replay *r, size_t at, size_t *next)
{
    while (*next < r->was.options.n_forced && r->was.options.forced[*next] < at) {
        (*next)++;
    }
    return *next < r->was.options.n_forced && r->was.options.forced[*next] == at;
}

/* Whether the constraint took the id; *next counts stretches passed. */
static bool is_held(const replay *r, size_t at, size_t *next)
{
    const cf_run_options *o = &r->was.options;
    while (*next + 1 < o->n_held && o->held[*next + 1] <= at) {
        *next += 2;
    }
    return r->constraint != NULL && *next + 1 < o->n_held && o->held[*next] <= at;
}

static cf_status draw(replay *r, size_t n, bool held, cf_error *err)
{
    if (held) {
        CF_TRY(cf_constraint_mask(r->constraint, r->mask, err));
    }
    return cf_sampler_draw(r->sampler, cf_session_logits(r->session), r->ids, n,
                           held ? r->mask : NULL, r->n_top, &r->drawn, &r->draw, err);
}

/* Sets n_same to n_reply, or to the first token that was drawn otherwise. */
static cf_status compare(replay *r, cf_error *err)
{
    size_t start = r->was.options.n_start;
    start = start < r->n_reply ? start : r->n_reply;
    const cf_run run = {.cancel = cf_cli_cancel()};
    cf_sync_result unused;
    size_t n_given = r->n_prompt + start;
    CF_TRY(cf_replay_media_read(&r->media, r->cli->opened.engine, &r->cli->open, r->ids, n_given,
                                cf_cli_cancel(), err));
    CF_TRY(r->media.in != NULL
               ? cf_session_sync_inputs(r->session, r->media.in, n_given, &run, &unused, err)
               : cf_session_sync(r->session, r->ids, n_given, &run, &unused, err));
    size_t next = 0, next_held = 0;
    for (r->n_same = start; r->n_same < r->n_reply; r->n_same++) {
        size_t n = r->n_prompt + r->n_same;
        cf_token id = r->ids[n];
        bool held = is_held(r, r->n_same, &next_held);
        if (!is_forced(r, r->n_same, &next)) {
            CF_TRY(draw(r, n, held, err));
            if (r->drawn != id) {
                return CF_OK;
            }
        }
        if (held) {
            CF_TRY(cf_constraint_token(r->constraint, id, err));
        }
        if (r->n_same + 1 < r->n_reply) {
            CF_TRY(cf_session_step(r->session, id, &run, err));
        }
    }
    return CF_OK;
}

/* ---- telling ------------------------------------------------------------ */

static void put_piece(const replay *r, cf_buf *out, cf_token id)
{
    const cf_tokenizer *tok = cf_engine_tokenizer(r->cli->opened.engine);
    cf_buf piece = CF_BUF_INIT;
    if (id >= 0 && (size_t)id < cf_tokenizer_n_vocab(tok)) {
        cf_tokenizer_piece(&piece, tok, id, true);
    }
    cf_buf_addf(out, "%d '", (int)id);
    cf_safe_line(out, cf_buf_cstr(&piece), piece.n);
    cf_buf_addc(out, '\'');
    out->failed = out->failed || piece.failed;
    cf_buf_deinit(&piece);
}

static void put_text(const replay *r, cf_buf *out)
{
    if (r->n_same == r->n_reply) {
        const char *engine = cf_engine_get_info(r->cli->opened.engine).engine;
        bool is_own = strcmp(engine, "own") == 0;
        cf_buf_addf(out, is_own ? "identical (%zu tokens)\n" : "the same %zu tokens, by %s\n",
                    r->n_reply, engine);
        return;
    }
    cf_buf_addf(out, "token %zu of %zu differs\n  stored  ", r->n_same + 1, r->n_reply);
    put_piece(r, out, r->ids[r->n_prompt + r->n_same]);
    cf_buf_adds(out, "\n  drawn   ");
    put_piece(r, out, r->drawn);
    cf_buf_adds(out, "\n  candidates\n");
    for (size_t i = 0; i < r->draw.n_top; i++) {
        const cf_candidate *c = &r->draw.top[i];
        cf_buf_addf(out, "  %3zu  p %.6f  drawn with %.6f  ", i + 1, (double)c->p_raw,
                    (double)c->p_post);
        put_piece(r, out, c->id);
        cf_buf_addc(out, '\n');
    }
}

static void put_json_token(const replay *r, cf_jw *w, const char *key, cf_token id)
{
    const cf_tokenizer *tok = cf_engine_tokenizer(r->cli->opened.engine);
    cf_buf piece = CF_BUF_INIT;
    if (id >= 0 && (size_t)id < cf_tokenizer_n_vocab(tok)) {
        cf_tokenizer_piece(&piece, tok, id, true);
    }
    cf_jw_object(w, key);
    cf_jw_int(w, "id", id);
    cf_jw_bytes(w, "text", cf_buf_str(&piece));
    w->out->failed = w->out->failed || piece.failed;
    cf_buf_deinit(&piece);
}

static void put_difference(const replay *r, cf_jw *w)
{
    cf_jw_object(w, "first_difference");
    cf_jw_uint(w, "index", r->n_same);
    put_json_token(r, w, "stored", r->ids[r->n_prompt + r->n_same]);
    cf_jw_end(w);
    put_json_token(r, w, "drawn", r->drawn);
    cf_jw_end(w);
    cf_jw_array(w, "candidates");
    for (size_t i = 0; i < r->draw.n_top; i++) {
        put_json_token(r, w, NULL, r->draw.top[i].id);
        cf_jw_float(w, "p", r->draw.top[i].p_raw);
        cf_jw_float(w, "p_drawn", r->draw.top[i].p_post);
        cf_jw_end(w);
    }
    cf_jw_end(w);
    cf_jw_end(w);
}

static void put_json(const replay *r, cf_buf *out)
{
    cf_buf sampler = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_uuid(&w, "turn", r->turn.id);
    cf_jw_bool(&w, "identical", r->n_same == r->n_reply);
    cf_jw_uint(&w, "tokens", r->n_reply);
    cf_jw_uint(&w, "same", r->n_same);
    cf_jw_uint(&w, "given", r->was.options.n_start);
    cf_jw_bool(&w, "same_model", r->is_same_model);
    cf_jw_text(&w, "engine", cf_engine_get_info(r->cli->opened.engine).engine);
    cf_jw_object(&w, "model_hash");
    cf_jw_str(&w, "stored", r->turn.run->model_hash);
    cf_jw_text(&w, "here", r->model_hash);
    cf_jw_end(&w);
    cf_sampler_describe(r->sampler, &sampler);
    cf_jw_buf(&w, "sampler", &sampler);
    cf_buf_deinit(&sampler);
    cf_jw_array(&w, "notes");
    for (size_t i = 0; i < r->n_note; i++) {
        cf_jw_text(&w, NULL, r->note[i]);
    }
    cf_jw_end(&w);
    if (r->n_same != r->n_reply) {
        put_difference(r, &w);
    }
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
}

static int report(const replay *r)
{
    cf_buf *out = &r->cli->out;
    for (size_t i = 0; i < r->n_note && !r->cli->is_json; i++) {
        cf_note("confab replay: %s", r->note[i]);
    }
    if (r->cli->is_json) {
        put_json(r, out);
    } else {
        put_text(r, out);
    }
    int status = cf_cli_print(r->cli, out);
    return status != CF_EXIT_OK ? status : r->n_same == r->n_reply ? CF_EXIT_OK : CF_EXIT_FINDING;
}

static const replay initial = {.n_top = N_TOP};

static const cf_opt_row options[] = {
    {"--top", 0, CF_OPT_U32, offsetof(replay, n_top), "N",
     "number of candidates shown at the first difference (default: 5)", 0},
    CF_OPT_ROWS_END,
};

static int run_replay(cf_cli *cli, void *state)
{
    replay *r = state;
    if (r->n_top > CF_TRACE_TOP_MAX) {
        return cf_cli_usage(cli, "--top: at most 64 candidates");
    }
    r->cli = cli;
    cf_error err;
    cf_status st = read_turn(r, cli->args[0], &err);
    CF_THEN(st, open_all(r, &err));
    CF_THEN(st, compare(r, &err));
    int status = st == CF_OK ? report(r) : cf_cli_fail(cli, &err);
    cf_sampler_free(r->sampler);
    cf_constraint_free(r->constraint);
    cf_recorded_deinit(&r->was);
    cf_session_free(r->session);
    cf_replay_media_deinit(&r->media);
    return status;
}

const cf_cli_command cf_cmd_replay = {
    .name = "replay",
    .arguments = "UUID",
    .summary = "rerun a stored turn and report the first token that differs",
    .options = options,
    .state_bytes = sizeof(replay),
    .initial = &initial,
    .n_min = 1,
    .n_max = 1,
    .want = "takes the UUID of a turn, or of a "
            "conversation for its last turn",
    .run = run_replay,
};
