/*
 * lab_server.c - the prompt as the server at hand writes it: asked for by a
 * task, so that the interface waits for no network.
 */
#include "tui/lab/state/lab_task.h"

#include <string.h>

#include "core/base/alloc.h"
#include "tui/lab/prompt/diff_pair.h"
#include "tui/lab/prompt/prompt_impl.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_options.h"

typedef struct job_state {
    cf_lab *lab;
    cf_backend *backend; /* a clone */
    cf_conversation *conv;
    cf_turn_options options;
    json_t *message; /* the unsent text; NULL: none */
    json_t *vars;
    uint64_t generation;
    cf_arena arena;
    cf_prompt prompt;
    cf_token_list tokens;
    cf_buf source; /* of the template in use; empty: none */
    cf_lab_ours ours;
    json_t *slots; /* NULL: the server shows none */
    cf_send at;    /* its parent is where the prompt ends */
} job_state;

cf_lab_ours cf_lab_prompt_ours(const cf_lab *lab)
{
    return lab->prompt->is_shown && cf_lab_prompt_is_asked(lab) ? lab->prompt->ours
                                                                : CF_LAB_OURS_NONE;
}

static size_t common(cf_str a, cf_str b)
{
    size_t n = 0;
    while (n < a.n && n < b.n && a.p[n] == b.p[n]) {
        n++;
    }
    return n;
}

/* Newer servers say "is_processing", older ones "state". */
static cf_lab_slot read_slot(const cf_lab *lab, const json_t *v)
{
    const json_t *n = json_object_get(json_object_get(v, "next_token"), "n_decoded");
    cf_str held = cf_json_get_str(v, "prompt");
    return (cf_lab_slot){.is_busy = json_is_true(json_object_get(v, "is_processing")) ||
                                    json_integer_value(json_object_get(v, "state")) != 0,
                         .has_prompt = held.n > 0,
                         .n_same = common(held, lab->prompt->model.prompt.text),
                         .n_decoded = json_is_integer(n) ? json_integer_value(n) : -1};
}

size_t cf_lab_server_slots(const cf_lab *lab, cf_lab_slot *out, size_t cap)
{
    const struct cf_lab_prompt *shown = lab->prompt;
    if (!shown->is_shown || !cf_lab_prompt_is_asked(lab)) {
        return 0;
    }
    size_t n = json_array_size(shown->server_slots);
    for (size_t i = 0; i < n && i < cap; i++) {
        out[i] = read_slot(lab, json_array_get(shown->server_slots, i));
    }
    return n;
}

static void free_job(void *ud)
{
    job_state *j = ud;
    cf_backend_free(j->backend);
    cf_conversation_free(j->conv);
    json_decref(j->message);
    json_decref(j->vars);
    cf_arena_deinit(&j->arena);
    cf_buf_deinit(&j->source);
    json_decref(j->slots);
    cf_free(j);
}

/* Renders the same with the template in use. */
static void compare_ours(job_state *j, const cf_send *send)
{
    cf_diff_pair pair;
    cf_diff_renders r = {.status = {CF_OK, CF_OK}};
    cf_error ignored;
    cf_str source = cf_buf_str(&j->source);
    if (source.n == 0) {
        return;
    }
    cf_status st = cf_diff_pair_of(&pair, NULL, source, source, &ignored);
    CF_THEN(st, cf_diff_pair_one(&pair, 0, j->conv, send, &r, &j->arena, &ignored));
    bool is_same =
        st == CF_OK && r.status[0] == CF_OK && cf_str_eq(r.prompt[0].text, j->prompt.text);
    j->ours = is_same ? CF_LAB_OURS_SAME : CF_LAB_OURS_DIFFERS;
    cf_diff_pair_close(&pair);
}

static cf_status run(void *ud, cf_runner *runner, cf_error *err)
{
    job_state *j = ud;
    cf_send send = j->at;
    send.message = j->message;
    send.options = &j->options;
    send.cancel = cf_runner_cancel_flag(runner);
    CF_TRY(cf_backend_ask(j->backend, send.cancel, err));
    bool shows_tokens = cf_backend_get_info(j->backend).asks_tokens;
    CF_TRY(cf_conversation_preview(j->conv, j->backend, &send, &j->arena, &j->prompt,
                                   shows_tokens ? &j->tokens : NULL, err));
    compare_ours(j, &send);
    cf_error ignored; /* not every server has slots */
    cf_ignore(cf_backend_slots(j->backend, send.cancel, &j->slots, &ignored));
    return CF_OK;
}

/* Tokens that the server kept of the last prompt, as it said with its reply. */
static size_t n_kept(cf_lab *lab)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(lab, &n);
    while (n-- > 0) {
        const cf_reply *reply = cf_lab_reply(lab, path[n]->id);
        if (reply != NULL && reply->usage.is_known) {
            return (size_t)reply->usage.n_cached;
        }
    }
    return 0;
}

static cf_status take_prompt(job_state *j, cf_error *err)
{
    cf_lab *lab = j->lab;
    size_t n = n_kept(lab);
    n = n < j->tokens.n ? n : j->tokens.n;
    cf_token *cache = cf_arena_calloc(&j->arena, n + 1, sizeof *cache);
    if (cache == NULL) {
        return cf_oom(err);
    }
    for (size_t i = 0; i < n; i++) {
        cache[i] = j->tokens.v[i].id;
    }
    cf_prompt_model_deinit(&lab->prompt->model);
    cf_arena old = lab->prompt->arena;
    lab->prompt->arena = j->arena;
    cf_arena_init(&j->arena, 0);
    cf_arena_deinit(&old);
    return cf_prompt_model_build(&lab->prompt->model, &j->prompt, &j->tokens, cache, n, err);
}

static void on_end(void *ud, cf_status status, const cf_error *err)
{
    job_state *j = ud;
    cf_lab *lab = j->lab;
    cf_backend_learn(lab->engine.backend, j->backend);
    if (lab->generation != j->generation) {
        return; /* of another conversation by now */
    }
    lab->prompt->err = (cf_error){0};
    lab->prompt->ours = j->ours;
    json_decref(lab->prompt->server_slots);
    lab->prompt->server_slots = json_incref(j->slots);
    lab->prompt->is_fresh = true;
    lab->prompt->generation = lab->generation;
    lab->prompt->is_shown = status == CF_OK && take_prompt(j, &lab->prompt->err) == CF_OK;
    if (status != CF_OK) {
        lab->prompt->err = *err;
    }
    if (!cf_lab_prompt_is_asked(lab)) {
        cf_lab_prompt_stale(lab); /* ours: rendered here from now on */
    }
}

static cf_status make_job(job_state *j, cf_lab *lab, cf_error *err)
{
    struct cf_lab_prompt *shown = lab->prompt;
    j->lab = lab;
    j->generation = lab->generation;
    CF_TRY(cf_backend_clone(&j->backend, lab->engine.backend, err));
    CF_TRY(cf_lab_clone_conv(lab, &j->conv, err));
    (void)cf_lab_prompt_parent(lab, &j->at);
    cf_str source = lab->engine.template_source;
    cf_buf_add(&j->source, source.p, source.n);
    CF_TRY(cf_buf_check(&j->source, err));
    if (shown->unsent.n != 0) {
        j->message = json_pack("{s:s,s:s%}", "role", "user", "content", cf_buf_cstr(&shown->unsent),
                               shown->unsent.n);
        if (j->message == NULL) {
            return cf_fail(err, CF_EFORMAT, "the unsent text is not UTF-8");
        }
    }
    j->vars = cf_json_deep_copy(cf_lab_vars(lab));
    j->options.extra_context = j->vars;
    j->options.chat.thinking = lab->settings.chat.thinking;
    return j->vars != NULL ? CF_OK : cf_oom(err);
}

cf_status cf_lab_ask_prompt(cf_lab *lab, cf_error *err)
{
    CF_TRY(cf_lab_need_idle(lab, err));
    if (!cf_lab_prompt_is_asked(lab)) {
        return cf_fail(err, CF_EUNSUPPORTED, "the prompt is rendered here");
    }
    if (cf_lab_prompt__is_empty(lab)) {
        return cf_fail(err, CF_ENOTFOUND, "nothing is said yet: write a message first (i)");
    }
    job_state *j = cf_calloc(1, sizeof *j);
    if (j == NULL) {
        return cf_oom(err);
    }
    cf_arena_init(&j->arena, 0);
    cf_status st = make_job(j, lab, err);
    if (st != CF_OK) {
        free_job(j);
        return st;
    }
    const cf_task task = {.name = "asking the server for its prompt",
                          .run = run,
                          .end = on_end,
                          .drop = free_job,
                          .ud = j,
                          .gives_way = true};
    return cf_lab_start_task(lab, &task, err); /* drops j where it fails */
}
