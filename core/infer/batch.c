/*
 * batch.c - divides the rows of a pass among sessions.
 */
#include "core/api/batch.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/infer/prefix_cache.h"
#include "core/infer/session_impl.h"

enum { FEW = 16 }; /* parts that need no memory */

size_t cf_batch_rows(const cf_session *s)
{
    return cf_session__max_rows(s->engine);
}

/* ---- checks ------------------------------------------------------------- */

static cf_status check_part(const cf_advance *a, size_t n_row, cf_error *err)
{
    const cf_session *s = a->session;
    if (a->keeps_rows && (a->n > CF_KEPT_ROWS_MAX || a->n > n_row)) {
        return cf_fail(err, CF_ELIMIT, "%zu rows to keep, at most %zu fit", a->n,
                       n_row < CF_KEPT_ROWS_MAX ? n_row : CF_KEPT_ROWS_MAX);
    }
    if (a->n > s->n_ctx - s->n) {
        return cf_fail(err, CF_ELIMIT, "the context of %u tokens is full", s->n_ctx);
    }
    for (size_t i = 0; i < a->n; i++) {
        CF_TRY(cf_session__check_id(s->engine, a->ids[i], err));
    }
    return CF_OK;
}

static cf_status check_parts(const cf_advance *parts, size_t n, size_t n_row, cf_error *err)
{
    for (size_t i = 0; i < n; i++) {
        CF_ASSERT(parts[i].session->engine == parts[0].session->engine);
        for (size_t j = 0; j < i; j++) {
            CF_ASSERT(parts[j].session != parts[i].session);
        }
        CF_TRY(check_part(&parts[i], n_row, err));
    }
    return CF_OK;
}

/* ---- parts -------------------------------------------------------------- */

/* How many of a part's tokens the pass takes when `left` rows are left. */
static size_t rows_of(const cf_advance *a, size_t left)
{
    size_t m = a->n_max != 0 && a->n_max < a->n && !a->keeps_rows ? a->n_max : a->n;
    if (a->keeps_rows) {
        return m <= left ? m : 0;
    }
    return m < left ? m : left;
}

/* Room for the logits of m rows. */
static cf_status need_row_logits(cf_session *s, size_t m, cf_error *err)
{
    if (m <= s->cap_row) {
        return CF_OK;
    }
    float *p = cf_alloc_aligned(64, m * s->engine->hp.n_vocab * sizeof(float));
    if (p == NULL) {
        return cf_oom_for(err, "the logits of a draft");
    }
    if (s->has_logits && s->after != s->logits) {
        memcpy(s->logits, s->after, s->engine->hp.n_vocab * sizeof(float));
        s->after = s->logits;
    }
    cf_free_aligned(s->row_logits);
    s->row_logits = p;
    s->cap_row = (uint32_t)m;
    s->n_row = 0;
    return CF_OK;
}

static cf_status make_part(cf_part *out, cf_advance *a, size_t m, cf_cancel *cancel, cf_error *err)
{
    cf_session *s = a->session;
    CF_TRY(cf_session__catch_up(s, cancel, err));
    if (a->keeps_rows) {
        CF_TRY(need_row_logits(s, m, err));
    }
    uint32_t before_last = m == a->n && m > 1 ? s->n + (uint32_t)m - 1 : 0;
    *out = (cf_part){.s = s,
                     .src = {a->ids, NULL, s->n},
                     .m = (uint32_t)m,
                     .keep = {before_last, a->keep_at},
                     .wants_last = m == a->n,
                     .keeps_rows = a->keeps_rows,
                     .logits = a->logits,
                     .hidden = a->hidden,
                     .ud = a->ud};
    return CF_OK;
}

/* Makes the parts that get rows; *n_part of them. */
static cf_status make_parts(cf_part *out, size_t *n_part, cf_advance *parts, size_t n, size_t n_row,
                            cf_cancel *cancel, cf_error *err)
{
    *n_part = 0;
    for (size_t i = 0; i < n; i++) {
        size_t m = rows_of(&parts[i], n_row);
        if (m > 0) {
            CF_TRY(make_part(&out[*n_part], &parts[i], m, cancel, err));
            (*n_part)++;
            n_row -= m;
        }
    }
    return CF_OK;
}

cf_status cf_batch_pass_between(cf_advance *parts, size_t n, const cf_pause *pause,
                                cf_cancel *cancel, cf_error *err)
{
    cf_part few[FEW];
    cf_part *part = few;
    size_t n_part = 0;
    for (size_t i = 0; i < n; i++) {
        parts[i].n_done = 0;
    }
    if (n == 0) {
        return CF_OK;
    }
    size_t n_row = cf_batch_rows(parts[0].session);
    CF_TRY(check_parts(parts, n, n_row, err));
    if (n > FEW) {
        part = cf_calloc(n, sizeof *part);
        if (part == NULL) {
            return cf_oom_for(err, "the parts of a pass");
        }
    }
    cf_status st = make_parts(part, &n_part, parts, n, n_row, cancel, err);
    if (st == CF_OK && n_part > 0) {
        st = cf_session__pass(part, n_part, pause, cancel, err);
    }
    for (size_t i = 0, k = 0; st == CF_OK && i < n && k < n_part; i++) {
        if (part[k].s == parts[i].session) {
            parts[i].n_done = part[k++].m;
        }
    }
    if (part != few) {
        cf_free(part);
    }
    return st;
}

cf_status cf_batch_pass(cf_advance *parts, size_t n, cf_cancel *cancel, cf_error *err)
{
    return cf_batch_pass_between(parts, n, NULL, cancel, err);
}

void cf_session_offer(const cf_session *session)
{
    cf_prefix__offer(session);
}

/* ---- one token each ----------------------------------------------------- */

static cf_status step_parts(cf_advance *parts, cf_session *const *sessions, const cf_token *ids,
                            size_t n, const cf_run *run, cf_error *err)
{
    size_t n_row = cf_batch_rows(sessions[0]);
    if (n > n_row) {
        return cf_fail(err, CF_ELIMIT, "%zu sessions in one pass, at most %zu are allowed", n,
                       n_row);
    }
    for (size_t i = 0; i < n; i++) {
        parts[i] = (cf_advance){
            .session = sessions[i], .ids = &ids[i], .n = 1, .logits = run->logits, .ud = run->ud};
    }
    return cf_batch_pass(parts, n, run->cancel, err);
}

cf_status cf_session_step_many(cf_session *const *sessions, const cf_token *ids, size_t n,
                               const cf_run *run, cf_error *err)
{
    const cf_run none = {0};
    cf_advance few[FEW];
    cf_advance *parts = few;
    if (n == 0) {
        return CF_OK;
    }
    if (n > FEW) {
        parts = cf_calloc(n, sizeof *parts);
        if (parts == NULL) {
            return cf_oom_for(err, "the parts of a pass");
        }
    }
    cf_status st = step_parts(parts, sessions, ids, n, run != NULL ? run : &none, err);
    if (parts != few) {
        cf_free(parts);
    }
    return st;
}
