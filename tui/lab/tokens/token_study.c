/*
 * token_study.c - what the constraint allowed before each token.
 */
#include "tui/lab/tokens/token_study.h"

#include <string.h>

#include "core/base/alloc.h"
#include "tui/lab/reply/lab_reply.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/tokens/byte_set.h"
#include "tui/lab/tokens/token_walk.h"

enum { MUST_MAX = 64 }; /* bytes of forced text that are shown */

typedef struct job {
    cf_walk walk;
    cf_token_study *study;
    uint32_t *mask; /* [(n_vocab + 31) / 32] */
    cf_token_study_fn done;
    void *ud;
} job;

void cf_token_study_free(cf_token_study *study)
{
    if (study != NULL) {
        cf_arena_deinit(&study->arena);
        cf_free(study);
    }
}

static void free_job(void *ud)
{
    job *j = ud;
    cf_walk_deinit(&j->walk);
    cf_token_study_free(j->study);
    cf_free(j->mask);
    cf_free(j);
}

/* ---- on the worker's thread --------------------------------------------- */

/* Moves a text into the arena; empty when memory ran out. */
static cf_str keep(cf_arena *arena, cf_buf *text)
{
    char *copy = text->failed ? NULL : cf_arena_strndup(arena, cf_buf_cstr(text), text->n);
    cf_str s = cf_str_make(copy, copy != NULL ? text->n : 0);
    cf_buf_deinit(text);
    return s;
}

static bool has_bit(const uint32_t *mask, cf_token id)
{
    return (mask[id / 32] >> (id % 32) & 1) != 0;
}

static bool is_listed(const cf_token_place *p, cf_token id)
{
    for (size_t i = 0; i < p->n_listed; i++) {
        if (p->allowed[i] == id) {
            return true;
        }
    }
    return false;
}

/* Counts the allowed tokens and lists some, the likely ones first. */
static void list_allowed(cf_token_place *p, const uint32_t *mask, uint32_t n_vocab,
                         const cf_walk_token *t)
{
    for (size_t i = 0; i < t->n_likely; i++) {
        if (has_bit(mask, t->likely[i])) {
            p->allowed[p->n_listed++] = t->likely[i];
        }
    }
    for (uint32_t id = 0; id < n_vocab; id++) {
        if (!has_bit(mask, (cf_token)id)) {
            continue;
        }
        p->n_allowed++;
        if (p->n_listed < CF_PLACE_LISTED && !is_listed(p, (cf_token)id)) {
            p->allowed[p->n_listed++] = (cf_token)id;
        }
    }
}

/* How much of the refused token's text could have been taken. */
static cf_status find_refused(cf_token_place *p, cf_constraint *c, const cf_tokenizer *tok,
                              const cf_walk_token *t, cf_error *err)
{
    p->refused = t->refused;
    p->p_refused = t->p_refused;
    if (t->refused == CF_TOKEN_NONE) {
        return CF_OK;
    }
    cf_buf piece = CF_BUF_INIT;
    size_t before = cf_constraint_n_steps(c);
    cf_tokenizer_piece(&piece, tok, t->refused, true);
    cf_status st = cf_buf_check(&piece, err);
    CF_THEN(st, cf_constraint_bytes(c, cf_buf_cstr(&piece), piece.n, &p->refused_at, err));
    cf_constraint_rollback(c, cf_constraint_n_steps(c) - before);
    cf_buf_deinit(&piece);
    return st;
}

static cf_status look(job *j, size_t i, const cf_tokenizer *tok, cf_error *err)
{
    cf_token_study *s = j->study;
    cf_token_place *p = &s->place[i];
    cf_constraint *c = j->walk.c;
    const cf_walk_token *t = &j->walk.token[i];
    cf_buf path = CF_BUF_INIT, rule = CF_BUF_INIT, stack = CF_BUF_INIT;
    cf_buf next = CF_BUF_INIT, must = CF_BUF_INIT;
    uint32_t set[8];
    p->refused = CF_TOKEN_NONE;
    if (!t->is_held) {
        return CF_OK;
    }
    p->is_asked = true;
    cf_constraint_where(c, &path, &rule, &stack);
    cf_constraint_next_bytes(c, set);
    cf_byte_set_write(&next, set);
    p->may_end = cf_constraint_may_end(c);
    cf_status st = cf_constraint_forced(c, &must, MUST_MAX, err);
    p->path = keep(&s->arena, &path);
    p->rule = keep(&s->arena, &rule);
    p->stack = keep(&s->arena, &stack);
    p->next = keep(&s->arena, &next);
    p->must = keep(&s->arena, &must);
    CF_THEN(st, cf_constraint_mask(c, j->mask, err));
    if (st == CF_OK) {
        list_allowed(p, j->mask, s->n_vocab, t);
        st = find_refused(p, c, tok, t, err);
    }
    return st;
}

static cf_status run(void *ud, cf_runner *runner, cf_error *err)
{
    job *j = ud;
    CF_TRY(cf_walk_begin(&j->walk, err));
    for (size_t i = 0; i < j->walk.n; i++) {
        if (atomic_load_explicit(cf_runner_cancel_flag(runner), memory_order_relaxed)) {
            return cf_fail(err, CF_ECANCELLED, "stopped");
        }
        CF_TRY(look(j, i, cf_lab_engine_of(j->walk.lab)->tokenizer, err));
        CF_TRY(cf_walk_step(&j->walk, i, err));
    }
    return CF_OK;
}

/* ---- on the interface thread -------------------------------------------- */

static void end(void *ud, cf_status status, const cf_error *err)
{
    job *j = ud;
    cf_token_study *study = NULL;
    if (status == CF_OK) {
        study = j->study;
        j->study = NULL;
    }
    j->done(j->ud, study, err);
}

static cf_status new_study(job *j, cf_lab *lab, const cf_reply *reply, cf_error *err)
{
    j->study = cf_calloc(1, sizeof *j->study);
    if (j->study != NULL) {
        cf_token_study *s = j->study;
        cf_arena_init(&s->arena, 0);
        s->turn = reply->turn;
        s->n = reply->n_token;
        s->n_vocab = (uint32_t)cf_tokenizer_n_vocab(cf_lab_engine_of(lab)->tokenizer);
        s->place = cf_arena_calloc(&s->arena, s->n + 1, sizeof *s->place);
        j->mask = cf_calloc(s->n_vocab / 32 + 1, sizeof *j->mask);
    }
    return j->study != NULL && j->mask != NULL && j->study->place != NULL
               ? CF_OK
               : cf_oom_for(err, "the constraint");
}

cf_status cf_lab_study(cf_lab *lab, const cf_reply *reply, cf_token_study_fn done, void *ud,
                       cf_error *err)
{
    if (reply->rule == NULL || reply->n_token == 0 || cf_lab_engine_of(lab)->tokenizer == NULL) {
        return cf_fail(err, CF_ENOTFOUND, "the reply was not constrained");
    }
    job *j = cf_calloc(1, sizeof *j);
    if (j == NULL) {
        return cf_oom_for(err, "the constraint");
    }
    j->done = done;
    j->ud = ud;
    cf_status st = cf_walk_init(&j->walk, lab, reply, reply->n_token, err);
    CF_THEN(st, new_study(j, lab, reply, err));
    if (st != CF_OK) {
        free_job(j);
        return st;
    }
    const cf_task task = {.name = "reading the constraint",
                          .run = run,
                          .end = end,
                          .drop = free_job,
                          .ud = j,
                          .gives_way = true};
    return cf_lab_start_task(lab, &task, err);
}
