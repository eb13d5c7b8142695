/*
 * reply_score.c - the reply's tokens one after the other through the model.
 *
 * A sampler that is allowed one token only draws that one, and its trace has
 * the rank, the probability and the candidates: what a reply of the model
 * itself has.
 */
#include "tui/lab/reply_score.h"

#include <string.h>

#include "core/base/alloc.h"
#include "tui/lab/lab_impl.h"
#include "tui/lab/lab_task.h"

enum { TOP = 20 };

typedef struct job {
    cf_lab *lab;
    cf_reply_scored_fn fn;
    void *ud;
    cf_uuid turn;
    cf_arena arena;
    cf_token_list list; /* prompt and reply, in the arena */
    cf_token *ids;      /* [list.n], in the arena */
    size_t first;       /* the first token that holds a byte of the reply */
    cf_str text;        /* the reply's, in the arena */
    uint32_t *mask;     /* [n_vocab / 32 + 1], in the arena */
    size_t n_vocab;
    cf_draw *draw; /* [list.n - first], in the arena */
    size_t n_done; /* of them; read when the task has ended */
    cf_session *session;
    cf_sampler *sampler;
} job;

static void free_job(void *ud)
{
    job *j = ud;
    cf_sampler_free(j->sampler);
    cf_session_free(j->session);
    cf_arena_deinit(&j->arena);
    cf_free(j);
}

/* ---- on the worker's thread --------------------------------------------- */

/* The trace of a draw that was not one: nothing was removed. */
static void as_read(cf_draw *d)
{
    d->allowed_mass = 1;
    d->n_step = 0;
    d->r = 0;
    for (size_t i = 0; i < d->n_top; i++) {
        d->top[i].removed_by = CF_KEPT;
        d->top[i].p_post = d->top[i].p_raw;
        d->top[i].logit_post = d->top[i].logit;
    }
    d->chosen.removed_by = CF_KEPT;
    d->chosen.p_post = d->chosen.p_raw;
}

static cf_status run(void *ud, cf_lab *b, cf_error *err)
{
    job *j = ud;
    const cf_run run = {.cancel = cf_lab_cancel_flag(b)};
    cf_sync_result unused;
    CF_TRY(cf_session_sync(j->session, j->ids, j->first, &run, &unused, err));
    for (size_t i = j->first; i < j->list.n; i++) {
        cf_token id = j->ids[i], drawn;
        cf_draw *d = &j->draw[i - j->first];
        j->mask[(size_t)id / 32] = UINT32_C(1) << ((unsigned)id % 32);
        cf_status st =
            cf_sampler_draw(j->sampler, cf_session_logits(j->session), j->ids,
                            0, j->mask, TOP, &drawn, d, err);
        j->mask[(size_t)id / 32] = 0;
        CF_TRY(st);
        as_read(d);
        j->n_done++;
        if (i + 1 < j->list.n) {
            CF_TRY(cf_session_step(j->session, id, &run, err));
        }
    }
    return CF_OK;
}

/* ---- on the interface thread -------------------------------------------- */

static void end(void *ud, cf_status status, const cf_error *err)
{
    job *j = ud;
    cf_error why = *err;
    cf_reply *r =
        j->n_done > 0 ? cf_lab__reply_of(j->lab, j->turn, true) : NULL;
    if (status == CF_OK && r == NULL) {
        status = cf_oom_for(&why, "the reply's tokens");
    }
    if (r != NULL) {
        const cf_reply_read read = {.prompt_ids = j->ids,
                                    .n_prompt_ids = j->first,
                                    .ids = j->ids + j->first,
                                    .draw = j->draw,
                                    .n = j->n_done,
                                    .text = j->text};
        cf_reply_take_read(r, j->lab->engine.tokenizer, &read);
        j->lab->generation++;
    }
    why.code = status;
    j->fn(j->ud, &why);
}

/* What the model would have written: the bytes as they came, or what the
 * message says. */
static cf_str written(const cf_turn *turn)
{
    return turn->raw.n != 0 ? turn->raw
                            : cf_json_get_str(turn->message, "content");
}

static const cf_turn *find_turn(const cf_lab *lab, cf_uuid id)
{
    for (size_t i = 0; i < lab->n_path; i++) {
        if (cf_uuid_eq(lab->path[i]->id, id)) {
            return lab->path[i];
        }
    }
    return NULL;
}

static cf_status prepare(job *j, const cf_turn *turn, cf_error *err)
{
    cf_lab *lab = j->lab;
    const cf_tokenizer *tok = lab->engine.tokenizer;
    cf_prompt prompt;
    cf_str text = written(turn);
    CF_TRY(cf_lab_preview(lab, turn->parent, NULL, &j->arena, &prompt, err));
    char *copy = cf_arena_strndup(&j->arena, text.p, text.n);
    j->text = cf_str_make(copy, text.n);
    j->n_vocab = cf_tokenizer_n_vocab(tok);
    j->mask = cf_arena_calloc(&j->arena, j->n_vocab / 32 + 1, sizeof *j->mask);
    if (copy == NULL || j->mask == NULL) {
        return cf_oom_for(err, "the reply's tokens");
    }
    CF_TRY(cf_prompt_tokenise(&j->list, &prompt, j->text, tok, &j->arena, err));
    j->ids = cf_arena_calloc(&j->arena, j->list.n + 1, sizeof *j->ids);
    if (j->ids == NULL) {
        return cf_oom_for(err, "the reply's tokens");
    }
    for (size_t i = 0; i < j->list.n; i++) {
        j->ids[i] = j->list.v[i].id;
    }
    while (j->first < j->list.n &&
           (size_t)j->list.v[j->first].off + j->list.v[j->first].len <=
               prompt.text.n) {
        j->first++;
    }
    if (j->first == 0 || j->first == j->list.n) {
        return cf_fail(err, CF_EUNSUPPORTED, "there is no prompt before it");
    }
    j->draw = cf_arena_calloc(&j->arena, j->list.n - j->first, sizeof *j->draw);
    if (j->draw == NULL) {
        return cf_oom_for(err, "the reply's tokens");
    }
    const cf_sampling plain = {.temperature = 1};
    CF_TRY(cf_sampler_new(&j->sampler, &plain, j->n_vocab, err));
    return cf_session_fork(&j->session,
                           cf_backend_core_session(lab->engine.backend), err);
}

cf_status cf_lab_score_reply(cf_lab *lab, cf_uuid id, cf_reply_scored_fn fn,
                             void *ud, cf_error *err)
{
    const cf_turn *turn = find_turn(lab, id);
    if (cf_backend_core_session(lab->engine.backend) == NULL ||
        lab->engine.tokenizer == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "only a model file can score a reply; this engine gives "
                       "no probabilities");
    }
    if (turn == NULL ||
        cf_role_parse(cf_json_get_str(turn->message, "role")) !=
            CF_ROLE_ASSISTANT ||
        written(turn).n == 0) {
        return cf_fail(err, CF_ENOTFOUND, "no reply with text is here");
    }
    CF_TRY(cf_lab_need_idle(lab, err));
    job *j = cf_calloc(1, sizeof *j);
    if (j == NULL) {
        return cf_oom_for(err, "the reply's tokens");
    }
    j->lab = lab;
    j->fn = fn;
    j->ud = ud;
    j->turn = id;
    cf_arena_init(&j->arena, 0);
    cf_status st = prepare(j, turn, err);
    if (st != CF_OK) {
        free_job(j);
        return st;
    }
    const cf_lab_task task = {.name = "scoring the reply",
                              .run = run,
                              .end = end,
                              .drop = free_job,
                              .ud = j,
                              .gives_way = true};
    return cf_lab_start_task(lab, &task, err); /* drops j where it fails */
}
