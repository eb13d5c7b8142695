/*
 * session_pass.c - one pass over the weights for the next positions of one or
 * several timelines.
 *
 * A pass writes the caches after n_ready first, and the timelines move when it
 * succeeded, so a pass that fails or is cancelled has changed nothing that
 * counts (the rules are in session_impl.h).
 */
#include <assert.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/infer/plugin.h"
#include "core/infer/session_impl.h"

/* ---- rows --------------------------------------------------------------- */

cf_token cf_source_id(const cf_source *src, uint32_t pos)
{
    assert(src->in != NULL || src->ids != NULL);
    return src->in != NULL ? src->in[pos - src->first].id : src->ids[pos - src->first];
}

/* The place of the next position when it is text: one after the last. */
static cf_place next_place(const cf_session *s, uint32_t pos)
{
    cf_place p = {.at = {pos, pos, pos, pos}};
    if (s->place != NULL && pos > 0) {
        uint32_t next = s->place[pos - 1].at[0] + 1;
        p = (cf_place){.at = {next, next, next, next}};
    }
    return p;
}

cf_place cf_session__place(const cf_session *s, const cf_source *src, uint32_t pos)
{
    if (src->in == NULL) {
        return pos < s->n && s->place != NULL ? s->place[pos] : next_place(s, pos);
    }
    const cf_input *in = &src->in[pos - src->first];
    cf_place p = {.key = in->embd != NULL ? in->key : 0, .see_end = in->see_end};
    memcpy(p.at, in->at, sizeof p.at);
    return p;
}

/* The row for a position.  Places of text count on from the one before, so
 * rows of one part whose places are kept are made in order. */
static cf_status make_row(const cf_part *part, uint32_t pos, cf_row *row, cf_error *err)
{
    cf_session *s = part->s;
    cf_place p = cf_session__place(s, &part->src, pos);
    *row = (cf_row){.kv = &s->kv,
                    .pos = pos,
                    .id = cf_source_id(&part->src, pos),
                    .see_end = p.see_end,
                    .rope_variant = s->rope_variant,
                    .lora = s->lora.n != 0 ? &s->lora : NULL,
                    .probe = s->probe,
                    .before = s->states.live,
                    .after = s->states.spare};
    memcpy(row->at, p.at, sizeof row->at);
    if (part->src.in != NULL) {
        row->embd = part->src.in[pos - part->src.first].embd;
    }
    if (row->embd == NULL && p.key != 0) {
        return cf_fail(err, CF_EINVAL, "position %u needs its embeddings again", pos);
    }
    if (s->place != NULL) { /* past n it counts for nothing yet */
        s->place[pos] = p;
    }
    return CF_OK;
}

static bool wants_state(const cf_part *part, uint32_t pos)
{
    return part->s->states.n_float != 0 && (cf_states_is_fixed(&part->s->states, pos) ||
                                            pos == part->keep[0] || pos == part->keep[1]);
}

/* Where the state after row i goes: a trial state, a checkpoint, nowhere. */
static cf_status aim_state(const cf_part *part, uint32_t i, cf_row *row, cf_error *err)
{
    cf_session *s = part->s;
    uint32_t pos = s->n_ready + i + 1;
    if (part->keeps_rows && s->states.n_float != 0) {
        return cf_states_trial(&s->states, i, pos, &row->keep, err);
    }
    row->keep = wants_state(part, pos) ? cf_state_new(s->states.n_float, pos) : NULL;
    return CF_OK;
}

/* Ends a part: its checkpoints become the session's, or are dropped. */
static void finish_states(const cf_part *part, cf_row *rows, bool is_done)
{
    cf_states *states = &part->s->states;
    for (uint32_t i = 0; i < part->m && !part->keeps_rows; i++) {
        if (rows[i].keep != NULL && is_done) {
            cf_states_keep(states, rows[i].keep);
        } else {
            cf_state_drop(rows[i].keep);
        }
        rows[i].keep = NULL;
    }
    if (is_done) {
        cf_states_advance(states, part->s->n_ready + part->m);
    }
    if (is_done && part->keeps_rows) {
        cf_states_keep_trials(states);
    } else if (part->keeps_rows) {
        cf_states_settle(states);
    }
}

/* Rows for a part; on failure it has made no checkpoint. */
static cf_status make_rows(const cf_part *part, cf_row *rows, cf_error *err)
{
    cf_session *s = part->s;
    cf_status st = cf_kv_reserve(&s->kv, s->n_ready, s->n_ready + part->m, err);
    CF_THEN(st, cf_states_reserve(&s->states, err));
    for (uint32_t i = 0; st == CF_OK && i < part->m; i++) {
        st = make_row(part, s->n_ready + i, &rows[i], err);
    }
    for (uint32_t i = 0; st == CF_OK && i < part->m; i++) {
        st = aim_state(part, i, &rows[i], err);
    }
    if (st != CF_OK) {
        cf_kv_truncate(&s->kv, s->n); /* rule 3 */
    }
    return st;
}

/* ---- logits ------------------------------------------------------------- */

/* A row whose logits are wanted. */
typedef struct out_row {
    const cf_part *part;
    uint32_t i; /* of the part's rows */
} out_row;

bool cf_part_wants(const cf_part *part, uint32_t i)
{
    return part->logits != NULL || part->keeps_rows || (part->wants_last && i + 1 == part->m);
}

/* Fills out[0..cap) with the wanted rows from *at on, and moves *at. */
static size_t next_outputs(const cf_part *parts, size_t n, out_row *at, out_row *out, size_t cap)
{
    size_t found = 0;
    while (at->part < parts + n && found < cap) {
        const cf_part *p = at->part;
        if (at->i >= p->m) {
            *at = (out_row){p + 1, 0};
            continue;
        }
        if (cf_part_wants(p, at->i)) {
            out[found++] = *at;
        }
        at->i++;
    }
    return found;
}

/* Where the session wants a row's logits; NULL: nowhere. */
static float *destination(const out_row *out)
{
    const cf_part *p = out->part;
    if (p->keeps_rows) {
        return p->s->row_logits + (size_t)out->i * p->s->engine->hp.n_vocab;
    }
    return p->wants_last && out->i + 1 == p->m ? p->s->logits : NULL;
}

/* Hands on the logits of one row. */
static void deliver(const out_row *out, const float *logits)
{
    const cf_part *p = out->part;
    float *to = destination(out);
    if (to != NULL && to != logits) {
        memcpy(to, logits, p->s->engine->hp.n_vocab * sizeof *logits);
    }
    if (p->logits != NULL) {
        p->logits(p->ud, p->s->n_ready + out->i, logits);
    }
}

/* Where m rows are computed to: where they belong if that is one place, else
 * the workspace. */
static float *chunk_of(const cf_engine *e, const out_row *out, size_t m)
{
    const out_row *last = &out[m - 1];
    bool is_one_place =
        destination(out) != NULL && last->part == out->part && (m == 1 || out->part->keeps_rows);
    return is_one_place ? destination(out)
                        : (float *)(void *)(e->ws.p + e->ws.plan.off[CF_WS_LOGITS]);
}

/* Whether to stop before rows are computed: not once a session has got its
 * logits, whose old ones are those of its timeline before the pass. */
static bool stops_before(const out_row *out, size_t m, const cf_cancel *cancel, bool *is_written)
{
    for (size_t i = 0; i < m; i++) {
        *is_written = *is_written || destination(&out[i]) != NULL;
    }
    return !*is_written && cancel != NULL && atomic_load_explicit(cancel, memory_order_relaxed);
}

/* The logits of all wanted rows, a chunk at a time. */
static cf_status compute_logits(cf_engine *e, const cf_part *parts, size_t n,
                                const cf_cancel *cancel, cf_error *err)
{
    out_row out[CF_LOGIT_ROWS_MAX];
    uint32_t rows[CF_LOGIT_ROWS_MAX];
    size_t n_logit = e->ws.plan.n_logit, n_given = 0;
    out_row at = {parts, 0};
    bool is_written = false;
    size_t m = next_outputs(parts, n, &at, out, n_logit);
    for (; m > 0; m = next_outputs(parts, n, &at, out, n_logit)) {
        if (stops_before(out, m, cancel, &is_written)) {
            return cf_fail(err, CF_ECANCELLED, "cancelled");
        }
        float *to = e->plugin == NULL ? chunk_of(e, out, m) : NULL;
        const float *from = e->plugin == NULL ? to : cf_plugin_logits(e->plugin, n_given);
        for (size_t i = 0; i < m; i++) {
            rows[i] = out[i].part->row0 + out[i].i;
        }
        if (e->plugin == NULL) {
            cf_forward_logits(e, rows, m, to);
        }
        for (size_t i = 0; i < m; i++) {
            deliver(&out[i], from + i * e->hp.n_vocab);
        }
        n_given += m;
    }
    return CF_OK;
}

/* The states of the parts that want them. */
static void deliver_hidden(cf_engine *e, const cf_part *parts, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const cf_part *p = &parts[k];
        for (uint32_t i = 0; p->hidden != NULL && i < p->m; i++) {
            p->hidden(p->ud, p->s->n_ready + i, cf_forward_hidden(e, p->row0 + i));
        }
    }
}

/* ---- the pass ----------------------------------------------------------- */

/* The timeline takes over the part's positions. */
static void take_positions(const cf_part *part)
{
    cf_session *s = part->s;
    for (uint32_t pos = s->n_ready; pos < s->n_ready + part->m; pos++) {
        s->tokens[pos] = cf_source_id(&part->src, pos);
    }
    s->first_row = s->n_ready;
    s->n_row = part->keeps_rows ? part->m : 0;
    s->n_ready += part->m;
    s->n = s->n > s->n_ready ? s->n : s->n_ready;
    s->has_logits = part->wants_last;
    s->after = part->keeps_rows ? cf_session_logits_at(s, s->n - 1) : s->logits;
}

/* The first row that the last layer is needed for. */
static size_t first_output(const cf_part *parts, size_t n, size_t n_row)
{
    out_row at = {parts, 0};
    out_row out;
    size_t first = next_outputs(parts, n, &at, &out, 1) > 0 ? out.part->row0 + out.i : n_row;
    for (size_t i = 0; i < n; i++) {
        bool needs_all = parts[i].hidden != NULL || cf_probe_wants_rows(parts[i].s->probe);
        if (needs_all && parts[i].row0 < first) {
            first = parts[i].row0;
        }
    }
    return first;
}

/* The pass, with the lock held. */
static cf_status pass_locked(cf_engine *e, cf_part *parts, size_t n, const cf_pause *pause,
                             const cf_cancel *cancel, cf_error *err)
{
    size_t n_row = 0;
    size_t n_made = 0;
    cf_status st = CF_OK;
    for (size_t i = 0; i < n; i++) {
        if (parts[i].m > e->ws.plan.n_row - n_row) {
            return cf_fail(err, CF_ELIMIT,
                           "%zu sessions do not fit one pass of at most %u "
                           "rows",
                           n, e->ws.plan.n_row);
        }
        parts[i].row0 = (uint32_t)n_row;
        n_row += parts[i].m;
    }
    for (; st == CF_OK && n_made < n; n_made++) {
        cf_session *s = parts[n_made].s;
        s->n_row = 0;
        cf_states_settle(&s->states);
        st = make_rows(&parts[n_made], e->rows + parts[n_made].row0, err);
        n_made -= st != CF_OK; /* it is not among those made */
    }
    CF_THEN(st,
            e->plugin != NULL /* all of it; else up to the last layer */
                ? cf_plugin_forward(e->plugin, parts, n, cancel, err)
                : cf_forward(e, e->rows, n_row, first_output(parts, n, n_row), pause, cancel, err));
    CF_THEN(st, compute_logits(e, parts, n, cancel, err));
    if (st == CF_OK) {
        deliver_hidden(e, parts, n);
    }
    CF_THEN(st, cf_engine__check_files(e, err)); /* were its weights whole? */
    for (size_t i = 0; i < n_made; i++) {
        finish_states(&parts[i], e->rows + parts[i].row0, st == CF_OK);
        if (st == CF_OK) {
            take_positions(&parts[i]);
        } else {
            cf_kv_truncate(&parts[i].s->kv, parts[i].s->n); /* rule 3 */
        }
    }
    return st;
}

cf_status cf_session__pass(cf_part *parts, size_t n, const cf_pause *pause, const cf_cancel *cancel,
                           cf_error *err)
{
    cf_engine *e = parts[0].s->engine;
    pthread_mutex_lock(&e->pass_lock);
    pause = pause != NULL && cf_forward_spare(e) ? pause : NULL;
    cf_status st = pass_locked(e, parts, n, pause, cancel, err);
    if (pause != NULL) {
        cf_forward_end_spare(e);
    }
    pthread_mutex_unlock(&e->pass_lock);
    return st;
}

size_t cf_session__max_rows(cf_engine *e)
{
    pthread_mutex_lock(&e->pass_lock);
    size_t n = e->ws.plan.n_row;
    pthread_mutex_unlock(&e->pass_lock);
    return n;
}
