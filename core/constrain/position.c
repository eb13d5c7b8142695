/*
 * position.c - advances a position in a grammar.
 *
 * The position is a set of items (machine.h).  Every successful call keeps
 * the items it began with, so that rollback is a copy back.
 */
#include "core/constrain/position.h"

#include <string.h>

#include "core/base/alloc.h"

cf_status cf_constraint__fail(cf_status st, cf_error *err)
{
    return st == CF_ENOMEM ? cf_oom(err)
                           : cf_fail(err, st,
                                     "the grammar reads this text in too many "
                                     "ways at once");
}

/* The machine's result becomes the position. */
static cf_status adopt(cf_constraint *c, cf_error *err)
{
    cf_machine *m = &c->m;
    if (m->st != CF_OK) {
        return cf_constraint__fail(m->st, err);
    }
    if (!cf_grow(&c->item, &c->cap_item, m->n_out + 1, sizeof *c->item)) {
        return cf_constraint__fail(CF_ENOMEM, err);
    }
    if (m->n_out > 0) {
        memcpy(c->item, m->out, m->n_out * sizeof *c->item);
    }
    c->n_item = m->n_out;
    c->may_end = m->may_end;
    return CF_OK;
}

cf_status cf_constraint_new(cf_constraint **out, const cf_grammar *grammar,
                            const cf_constraint_vocab *vocab, cf_error *err)
{
    cf_constraint *c = cf_calloc(1, sizeof *c);
    if (c == NULL) {
        return cf_oom(err);
    }
    c->g = grammar;
    c->vocab = vocab;
    cf_status st = cf_machine_init(&c->m, grammar, err);
    if (st == CF_OK) {
        cf_machine_begin(&c->m);
        st = adopt(c, err);
    }
    CF_THEN(st, cf_constraint__mask_init(c, err));
    if (st != CF_OK) {
        cf_constraint_free(c);
        return st;
    }
    *out = c;
    return CF_OK;
}

void cf_constraint_free(cf_constraint *c)
{
    if (c == NULL) {
        return;
    }
    cf_constraint__mask_deinit(c);
    cf_machine_deinit(&c->m);
    cf_free(c->item);
    cf_free(c->step);
    cf_free(c->past);
    cf_free(c);
}

cf_status cf_constraint_copy(cf_constraint **out, const cf_constraint *c, cf_error *err)
{
    cf_constraint *n = cf_calloc(1, sizeof *n);
    if (n == NULL) {
        return cf_oom(err);
    }
    n->g = c->g;
    n->vocab = c->vocab;
    n->may_end = c->may_end;
    n->has_ended = c->has_ended;
    cf_status st = cf_machine_copy(&n->m, &c->m, err);
    CF_THEN(st, cf_constraint__mask_init(n, err));
    if (st == CF_OK && (!cf_grow(&n->item, &n->cap_item, c->n_item + 1, sizeof *n->item) ||
                        !cf_grow(&n->step, &n->cap_step, c->n_step + 1, sizeof *n->step) ||
                        !cf_grow(&n->past, &n->cap_past, c->n_past + 1, sizeof *n->past))) {
        st = cf_oom(err);
    }
    if (st != CF_OK) {
        cf_constraint_free(n);
        return st;
    }
    n->n_item = c->n_item;
    n->n_step = c->n_step;
    n->n_past = c->n_past;
    if (c->n_item > 0) {
        memcpy(n->item, c->item, c->n_item * sizeof *n->item);
    }
    if (c->n_step > 0) {
        memcpy(n->step, c->step, c->n_step * sizeof *n->step);
    }
    if (c->n_past > 0) {
        memcpy(n->past, c->past, c->n_past * sizeof *n->past);
    }
    *out = n;
    return CF_OK;
}

/* Keeps the position, to return to. */
static cf_status push_step(cf_constraint *c, cf_error *err)
{
    if (!cf_grow(&c->step, &c->cap_step, c->n_step + 1, sizeof *c->step) ||
        !cf_grow(&c->past, &c->cap_past, c->n_past + c->n_item + 1, sizeof *c->past)) {
        return cf_constraint__fail(CF_ENOMEM, err);
    }
    c->step[c->n_step++] = (cf_constraint_step){
        c->n_past, c->n_item, c->m.n_text, cf_machine_get_mark(&c->m), c->may_end, c->has_ended};
    if (c->n_item > 0) {
        memcpy(c->past + c->n_past, c->item, c->n_item * sizeof *c->past);
    }
    c->n_past += c->n_item;
    return CF_OK;
}

static void pop_step(cf_constraint *c)
{
    const cf_constraint_step *s = &c->step[--c->n_step];
    /* The item array never shrinks, so what fitted once fits again. */
    if (s->n_item > 0) {
        memcpy(c->item, c->past + s->past, s->n_item * sizeof *c->item);
    }
    c->n_item = s->n_item;
    c->n_past = s->past;
    c->m.n_text = s->n_text;
    c->may_end = s->may_end;
    c->has_ended = s->has_ended;
    cf_machine_release(&c->m, s->mark);
}

void cf_constraint_rollback(cf_constraint *c, size_t n)
{
    for (; n > 0 && c->n_step > 0; n--) {
        pop_step(c);
    }
}

size_t cf_constraint_n_steps(const cf_constraint *c)
{
    return c->n_step;
}

/* One byte; *taken is false, and nothing changed, when it is refused. */
static cf_status take_byte(cf_constraint *c, uint8_t byte, bool *taken, cf_error *err)
{
    cf_machine *m = &c->m;
    cf_machine_mark mark = cf_machine_get_mark(m);
    size_t n_text = m->n_text;
    *taken = false;
    m->st = CF_OK;
    cf_machine_put(m, byte);
    cf_status st = m->st;
    if (st == CF_OK) {
        cf_machine_step(m, c->item, c->n_item, byte);
        st = m->st;
    }
    if (st == CF_OK && (m->n_out > 0 || m->may_end)) {
        st = adopt(c, err);
        *taken = st == CF_OK;
    } else if (st != CF_OK) {
        st = cf_constraint__fail(st, err);
    }
    if (!*taken) {
        cf_machine_release(m, mark);
        m->n_text = n_text;
    }
    return st;
}

cf_status cf_constraint_bytes(cf_constraint *c, const char *p, size_t n, size_t *n_taken,
                              cf_error *err)
{
    *n_taken = 0;
    if (c->has_ended) {
        return CF_OK;
    }
    CF_TRY(push_step(c, err));
    cf_status st = CF_OK;
    bool taken = true;
    while (*n_taken < n && taken && st == CF_OK) {
        st = take_byte(c, (uint8_t)p[*n_taken], &taken, err);
        *n_taken += taken && st == CF_OK ? 1 : 0;
    }
    return st;
}

bool cf_constraint_may_end(const cf_constraint *c)
{
    return c->may_end && !c->has_ended;
}

bool cf_constraint_may_continue(const cf_constraint *c)
{
    return c->n_item > 0 && !c->has_ended;
}

bool cf_constraint__in_key(const cf_constraint *c)
{
    for (size_t i = 0; i < c->n_item; i++) {
        if (c->g->rule[c->g->node[c->item[i].node].rule].is_key) {
            return true;
        }
    }
    return false;
}

/* Whether the byte can be taken; the position stays. */
static bool can_take(cf_constraint *c, uint8_t byte)
{
    cf_machine *m = &c->m;
    cf_machine_mark mark = cf_machine_get_mark(m);
    size_t n_text = m->n_text;
    m->st = CF_OK;
    cf_machine_put(m, byte);
    bool ok = true; /* a failure is reported when the byte is taken */
    if (m->st == CF_OK) {
        cf_machine_step(m, c->item, c->n_item, byte);
        ok = m->st != CF_OK || m->n_out > 0 || m->may_end;
    }
    cf_machine_release(m, mark);
    m->n_text = n_text;
    return ok;
}

static bool is_compared(const cf_constraint *c)
{
    for (size_t i = 0; i < c->n_item; i++) {
        if (c->m.frame[c->item[i].frame].is_compared) {
            return true;
        }
    }
    return false;
}

void cf_constraint_next_bytes(cf_constraint *c, uint32_t set[8])
{
    memset(set, 0, 8 * sizeof *set);
    for (size_t i = 0; i < c->n_item && !c->has_ended; i++) {
        const cf_gnode *n = &c->g->node[c->item[i].node];
        for (uint32_t k = 0; k < n->n_edge; k++) {
            const cf_gedge *e = &c->g->edge[n->edge + k];
            for (unsigned b = e->lo; b <= e->hi; b++) {
                set[b / 32] |= UINT32_C(1) << b % 32;
            }
        }
    }
    /* A key, or an item of different ones, that was written before must not
     * end here: of a key only the quote can end it. */
    bool all = is_compared(c);
    if (c->has_ended || (!all && !cf_constraint__in_key(c))) {
        return;
    }
    for (unsigned b = all ? 0 : '"'; b < (all ? 256 : '"' + 1); b++) {
        uint32_t bit = UINT32_C(1) << b % 32;
        if ((set[b / 32] & bit) != 0 && !can_take(c, (uint8_t)b)) {
            set[b / 32] &= ~bit;
        }
    }
}

cf_status cf_constraint_forced(cf_constraint *c, cf_buf *out, size_t max_bytes, cf_error *err)
{
    size_t had = c->n_step;
    cf_status st = push_step(c, err);
    for (size_t n = 0; st == CF_OK && n < max_bytes; n++) {
        uint32_t set[8];
        int only = -1;
        if (c->may_end || c->has_ended) {
            break;
        }
        cf_constraint_next_bytes(c, set);
        for (int b = 0; b < 256; b++) {
            if ((set[b / 32] >> b % 32 & 1) != 0) {
                only = only == -1 ? b : -2;
            }
        }
        bool taken = false;
        if (only >= 0) {
            st = take_byte(c, (uint8_t)only, &taken, err);
        }
        if (!taken) {
            break;
        }
        cf_buf_addc(out, (char)only);
    }
    cf_constraint_rollback(c, c->n_step - had);
    return st == CF_OK ? cf_buf_check(out, err) : st;
}

/* ---- words for people --------------------------------------------------- */

void cf_constraint_where(const cf_constraint *c, cf_buf *path, cf_buf *rule, cf_buf *stack)
{
    enum { DEPTH = 64 };
    uint32_t frames[DEPTH];
    const cf_machine *m = &c->m;
    size_t n = 0;
    if (path != NULL) {
        cf_buf_addc(path, '$');
    }
    if (c->n_item == 0) {
        if (rule != NULL) {
            cf_buf_adds(rule, "end");
        }
        return;
    }
    const cf_item *it = &c->item[0];
    for (uint32_t f = it->frame; f != CF_FRAME_ROOT && n < DEPTH;) {
        frames[n++] = f;
        f = m->caller[m->frame[f].first].frame;
    }
    const char *root = cf_g_text(c->g, c->g->rule[c->g->start].name);
    if (stack != NULL) {
        cf_buf_adds(stack, root);
    }
    for (size_t i = n; i-- > 0;) {
        const cf_frame *f = &m->frame[frames[i]];
        if (path != NULL) {
            cf_buf_adds(path, cf_g_text(c->g, m->caller[f->first].label));
        }
        if (stack != NULL) {
            cf_buf_adds(stack, " > ");
            cf_buf_adds(stack, cf_g_text(c->g, c->g->rule[f->rule].name));
        }
    }
    if (rule != NULL) {
        uint32_t r = c->g->node[it->node].rule;
        cf_buf_adds(rule, cf_g_text(c->g, c->g->rule[r].name));
    }
}
