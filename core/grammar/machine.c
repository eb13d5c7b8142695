/*
 * machine.c - runs a grammar: steps, closures and frames.
 *
 * A step moves every item over one byte, then follows the steps that take
 * none.  Calls are gathered first and answered in the order of the grammar's
 * ranks, so that all callers of a rule at one place are known when its frame
 * is made.  A call with nothing after it hands its callers on instead of
 * waiting itself (as Leo 1991 does for right recursion), so a list that is
 * written as "item list" needs one frame however long it is.
 *
 * 1. Items in `out` are distinct and wait for bytes; no two of the items in
 *    `seen` are equal.
 * 2. A frame never changes; two frames with equal rule and callers are one.
 * 3. Frames, callers and keys are stacks: what was made after a mark is
 *    given back by cf_machine_release(), and nothing made before it points
 *    to what was made after it.
 * 4. The heap of calls holds only rules that rank after every rule entered
 *    in this step: grammar.c refuses left recursion.
 * 5. After a failure (`st`) the items are not to be used; frames may be
 *    released.
 * 6. Every item made and every comparison adds to `work`.
 */
#include "core/grammar/machine.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/grammar/json_hash.h"

cf_status cf_machine_init(cf_machine *m, const cf_grammar *g, cf_error *err)
{
    memset(m, 0, sizeof *m);
    m->g = g;
    m->stamp = cf_calloc(g->n_node, sizeof *m->stamp);
    if (m->stamp == NULL || !cf_grow(&m->frame, &m->cap_frame, 8, sizeof *m->frame) ||
        !cf_grow(&m->key, &m->cap_key, 8, sizeof *m->key) ||
        !cf_grow(&m->text, &m->cap_text, 64, 1)) {
        cf_machine_deinit(m);
        return cf_oom(err);
    }
    memset(&m->frame[0], 0, sizeof m->frame[0]);
    memset(&m->key[0], 0, sizeof m->key[0]);
    m->frame[0].rule = g->start;
    m->frame[0].is_compared = g->rule[g->start].is_compared;
    m->n_frame = 1;
    m->n_key = 1;
    return CF_OK;
}

void cf_machine_deinit(cf_machine *m)
{
    cf_free(m->frame);
    cf_free(m->caller);
    cf_free(m->key);
    cf_free(m->text);
    cf_free(m->out);
    cf_free(m->raw);
    cf_free(m->call);
    cf_free(m->seen);
    cf_free(m->stamp);
    cf_free(m->out_index.slot);
    cf_free(m->seen_index.slot);
    cf_free(m->caller_index.slot);
    memset(m, 0, sizeof *m);
}

static bool copy_array(void *to, size_t *cap, const void *from, size_t n, size_t size)
{
    if (!cf_grow(to, cap, n, size)) {
        return false;
    }
    if (n > 0) {
        char *items;
        memcpy(&items, to, sizeof items);
        memcpy(items, from, n * size);
    }
    return true;
}

cf_status cf_machine_copy(cf_machine *to, const cf_machine *from, cf_error *err)
{
    CF_TRY(cf_machine_init(to, from->g, err));
    if (!copy_array(&to->frame, &to->cap_frame, from->frame, from->n_frame, sizeof *to->frame) ||
        !copy_array(&to->caller, &to->cap_caller, from->caller, from->n_caller,
                    sizeof *to->caller) ||
        !copy_array(&to->key, &to->cap_key, from->key, from->n_key, sizeof *to->key) ||
        !copy_array(&to->text, &to->cap_text, from->text, from->n_text, 1)) {
        cf_machine_deinit(to);
        return cf_oom(err);
    }
    to->n_frame = from->n_frame;
    to->n_caller = from->n_caller;
    to->n_key = from->n_key;
    to->n_text = from->n_text;
    memcpy(to->bucket, from->bucket, sizeof to->bucket);
    return CF_OK;
}

void cf_machine_put(cf_machine *m, uint8_t c)
{
    if (m->n_text >= UINT32_MAX / 2 || !cf_grow(&m->text, &m->cap_text, m->n_text + 1, 1)) {
        m->st = m->st != CF_OK ? m->st : CF_ENOMEM;
        return;
    }
    m->text[m->n_text++] = (char)c;
}

cf_machine_mark cf_machine_get_mark(const cf_machine *m)
{
    return (cf_machine_mark){m->n_frame, m->n_caller, m->n_key};
}

void cf_machine_release(cf_machine *m, cf_machine_mark mark)
{
    while (m->n_frame > mark.n_frame) {
        const cf_frame *f = &m->frame[--m->n_frame];
        m->bucket[f->hash % CF_HASH_SIZE] = f->next;
    }
    m->n_caller = mark.n_caller;
    m->n_key = mark.n_key;
}

static bool regs_equal(const cf_gregs *a, const cf_gregs *b)
{
    return a->bits == b->bits && a->count == b->count && a->keys == b->keys && a->mark == b->mark;
}

bool cf_item_equal(const cf_item *a, const cf_item *b)
{
    return a->node == b->node && a->frame == b->frame && regs_equal(&a->regs, &b->regs);
}

static void lacks_memory(cf_machine *m)
{
    if (m->st == CF_OK) {
        m->st = CF_ENOMEM;
    }
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h ^= v;
    h *= UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

static uint64_t hash_regs(uint64_t h, const cf_gregs *r)
{
    h = mix(h, r->bits);
    h = mix(h, (uint64_t)r->count << 32 | r->keys);
    return mix(h, r->mark);
}

static uint64_t hash_item(const cf_item *item)
{
    return hash_regs(mix(item->frame, item->node), &item->regs);
}

static uint64_t hash_caller(const cf_caller *c)
{
    return hash_regs(mix(c->frame, (uint64_t)c->node << 32 | c->label), &c->regs);
}

static uint64_t hash_callers(const cf_caller *c, size_t n, uint32_t rule)
{
    uint64_t h = rule;
    for (size_t i = 0; i < n; i++) {
        h = mix(h, hash_caller(&c[i]));
    }
    return h;
}

static bool callers_equal(const cf_caller *a, const cf_caller *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i].frame != b[i].frame || a[i].node != b[i].node || a[i].label != b[i].label ||
            !regs_equal(&a[i].regs, &b[i].regs)) {
            return false;
        }
    }
    return true;
}

/* ---- equal items -------------------------------------------------------- */

enum { INDEX_FROM = 24 }; /* shorter arrays are searched from end to end */

typedef enum array_kind { ITEMS, CALLERS } array_kind;

static uint64_t hash_at(array_kind kind, const void *v, size_t i)
{
    return kind == ITEMS ? hash_item((const cf_item *)v + i)
                         : hash_caller((const cf_caller *)v + i);
}

static bool equal_at(array_kind kind, const void *v, size_t i, const void *one)
{
    return kind == ITEMS ? cf_item_equal((const cf_item *)v + i, one)
                         : callers_equal((const cf_caller *)v + i, one, 1);
}

/* Takes everything out. */
static void index_reset(cf_index *index)
{
    index->n = 0;
    if (++index->epoch == 0 && index->cap > 0) {
        memset(index->slot, 0, index->cap * sizeof *index->slot);
    }
    index->epoch += index->epoch == 0 ? 1 : 0;
}

/* Puts v[index->n .. n) in; false without memory. */
static bool index_fill(cf_machine *m, cf_index *index, array_kind kind, const void *v, size_t n)
{
    if (2 * n >= index->cap) {
        size_t cap = index->cap == 0 ? 128 : index->cap;
        while (2 * n >= cap) {
            cap *= 2;
        }
        cf_index_slot *slot = cf_calloc(cap, sizeof *slot);
        if (slot == NULL) {
            lacks_memory(m);
            return false;
        }
        cf_free(index->slot);
        index->slot = slot;
        index->cap = cap;
        index->n = 0;
        index->epoch = 1;
    }
    for (; index->n < n; index->n++) {
        size_t at = hash_at(kind, v, index->n) & (index->cap - 1);
        while (index->slot[at].epoch == index->epoch) {
            at = (at + 1) & (index->cap - 1);
        }
        index->slot[at] = (cf_index_slot){index->epoch, (uint32_t)index->n};
        m->work++;
    }
    return true;
}

/* Whether `one` is among v[0..n). */
static bool is_among(cf_machine *m, cf_index *index, array_kind kind, const void *v, size_t n,
                     const void *one)
{
    if (n < INDEX_FROM) {
        m->work += n;
        for (size_t i = 0; i < n; i++) {
            if (equal_at(kind, v, i, one)) {
                return true;
            }
        }
        return false;
    }
    if (!index_fill(m, index, kind, v, n)) {
        return true;
    }
    size_t at = hash_at(kind, one, 0) & (index->cap - 1);
    for (; index->slot[at].epoch == index->epoch; at = (at + 1) & (index->cap - 1)) {
        m->work++;
        if (equal_at(kind, v, index->slot[at].at, one)) {
            return true;
        }
    }
    return false;
}

/* Adds an item that waits for bytes, once. */
static void emit(cf_machine *m, const cf_item *item)
{
    if (m->stamp[item->node] == m->now &&
        is_among(m, &m->out_index, ITEMS, m->out, m->n_out, item)) {
        return;
    }
    m->stamp[item->node] = m->now;
    if (m->n_out >= CF_ITEMS_MAX) {
        m->st = m->st != CF_OK ? m->st : CF_ELIMIT;
        return;
    }
    if (!cf_grow(&m->out, &m->cap_out, m->n_out + 1, sizeof *m->out)) {
        lacks_memory(m);
        return;
    }
    m->out[m->n_out++] = *item;
}

static void push_raw(cf_machine *m, const cf_item *item)
{
    if (m->n_raw >= 50 * (size_t)CF_ITEMS_MAX) {
        m->st = m->st != CF_OK ? m->st : CF_ELIMIT;
        return;
    }
    if (!cf_grow(&m->raw, &m->cap_raw, m->n_raw + 1, sizeof *m->raw)) {
        lacks_memory(m);
        return;
    }
    m->raw[m->n_raw++] = *item;
    m->work++;
}

/* Whether the key text[mark..now) is undeclared and was not yet written in
 * this object. */
static bool key_is_new(const cf_machine *m, const cf_gop *op, const cf_gregs *r)
{
    size_t len = m->n_text - r->mark;
    const char *key = m->text + r->mark;
    for (uint32_t i = 0; i < op->n_name; i++) {
        const cf_gname *n = &m->g->name[op->name + i];
        if (n->len == len && memcmp(m->g->text + n->off, key, len) == 0) {
            return false;
        }
    }
    for (uint32_t k = r->keys; k != 0; k = m->key[k].prev) {
        if (m->key[k].len == len && memcmp(m->text + m->key[k].off, key, len) == 0) {
            return false;
        }
    }
    return true;
}

/* Adds to the list of the running rule. */
static bool note(cf_machine *m, cf_gregs *r, uint32_t off, uint32_t len, uint64_t value)
{
    if (!cf_grow(&m->key, &m->cap_key, m->n_key + 1, sizeof *m->key)) {
        lacks_memory(m);
        return false;
    }
    m->key[m->n_key] = (cf_key){r->keys, off, len, value};
    r->keys = (uint32_t)m->n_key++;
    return true;
}

static bool note_text(cf_machine *m, cf_gregs *r, uint64_t value)
{
    uint32_t len = (uint32_t)(m->n_text - r->mark);
    bool ok = note(m, r, r->mark, len, value);
    r->mark = 0;
    return ok;
}

static bool was_noted(const cf_machine *m, const cf_gregs *r, uint64_t value)
{
    uint32_t k = r->keys;
    while (k != 0 && m->key[k].value != value) {
        k = m->key[k].prev;
    }
    return k != 0;
}

static bool remember_key(cf_machine *m, const cf_gop *op, cf_gregs *r)
{
    if ((!m->skips_keys && !key_is_new(m, op, r)) || !note_text(m, r, 0)) {
        return false;
    }
    r->count++;
    return true;
}

static bool remember_item(cf_machine *m, cf_gregs *r)
{
    uint64_t value = cf_json_hash(m->text + r->mark, m->n_text - r->mark);
    return !was_noted(m, r, value) && note_text(m, r, value);
}

/* Keys that must still come: at least so many. */
static uint32_t n_missing(const cf_gop *op, uint64_t missing)
{
    uint32_t n = cf_g_popcount(missing & ~op->some);
    return n == 0 && missing != 0 ? 1 : n;
}

static bool key_fits(const cf_machine *m, const cf_gop *op, cf_gregs *r)
{
    uint64_t bits = r->bits | op->bit | op->also;
    uint64_t missing = cf_g_missing(m->g, op, bits);
    uint64_t count = (uint64_t)r->count + 1;
    if ((r->bits & ~op->before) != 0 || (missing & ~op->later) != 0 ||
        count + n_missing(op, missing) > op->max) {
        return false;
    }
    uint64_t rest =
        op->rest != UINT32_MAX ? cf_g_popcount(op->later & ~bits & ~op->some) : UINT32_MAX;
    if (count + rest < op->min) {
        return false;
    }
    r->bits = bits;
    r->count++;
    return true;
}

static bool free_key_fits(const cf_machine *m, const cf_gop *op, cf_gregs *r)
{
    uint64_t missing = cf_g_missing(m->g, op, r->bits | op->also);
    if ((uint64_t)r->count + n_missing(op, missing) >= op->max ||
        (op->is_last && (missing & ~op->some) != 0)) {
        return false;
    }
    r->bits |= op->also;
    if (op->is_last) {
        r->bits |= CF_FREE_KEY_BIT;
    }
    return true;
}

static bool listed_key_fits(cf_machine *m, const cf_gop *op, cf_gregs *r)
{
    /* Free keys are noted with 0. */
    if (was_noted(m, r, op->bit + 1) || !free_key_fits(m, op, r) ||
        !note(m, r, 0, 0, op->bit + 1)) {
        return false;
    }
    r->count++;
    return true;
}

/* Whether the required keys without bits are all there. */
static bool has_listed(const cf_machine *m, const cf_gop *op, const cf_gregs *r)
{
    uint32_t n = 0;
    for (uint32_t k = r->keys; k != 0 && n < op->n_listed; k = m->key[k].prev) {
        uint64_t value = m->key[k].value;
        n += value > op->listed && value <= op->listed + op->n_listed ? 1 : 0;
    }
    return n == op->n_listed;
}

/* Applies an operation to the registers; false when it forbids the step. */
static bool apply(cf_machine *m, uint32_t index, cf_gregs *r)
{
    if (index == 0) {
        return true;
    }
    const cf_gop *op = &m->g->op[index];
    switch (op->kind) {
    case CF_OP_COUNT:
        return r->count < op->max && ++r->count != 0;
    case CF_OP_CHAR:
        r->count++;
        return r->count <= op->max &&
               (op->rest == UINT32_MAX || (uint64_t)r->count + op->rest >= op->min);
    case CF_OP_ATLEAST:
        return r->count >= op->min;
    case CF_OP_BIT:
        return key_fits(m, op, r);
    case CF_OP_CLOSE:
        return r->count >= op->min && cf_g_missing(m->g, op, r->bits) == 0 && has_listed(m, op, r);
    case CF_OP_MORE:
        for (uint32_t i = 0; i < op->n_alt; i++) {
            cf_gregs probe = *r;
            if (apply(m, op->alt + i, &probe)) {
                return true;
            }
        }
        return false;
    case CF_OP_FREE:
        return free_key_fits(m, op, r);
    case CF_OP_MARK:
        r->mark = (uint32_t)m->n_text;
        return true;
    case CF_OP_KEY:
        return remember_key(m, op, r);
    case CF_OP_NTH:
        return listed_key_fits(m, op, r);
    case CF_OP_DISTINCT:
        return remember_item(m, r);
    case CF_OP_SET:
        r->bits |= op->also;
        return (op->need & ~r->bits) == 0 || r->count < op->max;
    case CF_OP_HAS:
        return (op->need & ~r->bits) == 0;
    default:
        return false;
    }
}

static void note_call(cf_machine *m, uint32_t rule, const cf_caller *c)
{
    if (m->n_call >= 50 * (size_t)CF_ITEMS_MAX) {
        m->st = m->st != CF_OK ? m->st : CF_ELIMIT;
        return;
    }
    if (!cf_grow(&m->call, &m->cap_call, m->n_call + 1, sizeof *m->call)) {
        lacks_memory(m);
        return;
    }
    uint64_t key = (uint64_t)m->g->order[rule] << 32 | m->n_noted++;
    size_t at = m->n_call++;
    for (; at > 0 && m->call[(at - 1) / 2].key > key; at = (at - 1) / 2) {
        m->call[at] = m->call[(at - 1) / 2];
    }
    m->call[at] = (cf_pending){*c, rule, key};
    m->work++;
}

/* Takes the first call off the heap. */
static cf_pending first_call(cf_machine *m)
{
    cf_pending first = m->call[0];
    cf_pending last = m->call[--m->n_call];
    size_t at = 0;
    for (size_t child = 1; child < m->n_call; child = 2 * at + 1) {
        child += child + 1 < m->n_call && m->call[child + 1].key < m->call[child].key;
        if (m->call[child].key > last.key) {
            break;
        }
        m->call[at] = m->call[child];
        at = child;
    }
    m->call[at] = last;
    return first;
}

static void call_rule(cf_machine *m, const cf_item *item, const cf_gstep *s)
{
    if (s->is_tail && item->frame != CF_FRAME_ROOT) {
        cf_frame f = m->frame[item->frame];
        for (uint32_t i = 0; i < f.n; i++) {
            cf_caller c = m->caller[f.first + i];
            note_call(m, s->rule, &c);
        }
        return;
    }
    cf_caller c = {item->frame, s->to, s->label, item->regs};
    note_call(m, s->rule, &c);
}

static void end_rule(cf_machine *m, uint32_t frame)
{
    if (frame == CF_FRAME_ROOT) {
        m->may_end = true;
        return;
    }
    cf_frame f = m->frame[frame];
    for (uint32_t i = 0; i < f.n; i++) {
        const cf_caller *c = &m->caller[f.first + i];
        cf_item back = {c->frame, c->node, c->regs};
        push_raw(m, &back);
    }
}

/* Whether the item was closed before in this step; else notes it.  Without
 * this a cycle of jumps would never end. */
static bool was_closed(cf_machine *m, const cf_item *item)
{
    if (m->stamp[item->node] == m->now &&
        is_among(m, &m->seen_index, ITEMS, m->seen, m->n_seen, item)) {
        return true;
    }
    m->stamp[item->node] = m->now;
    if (m->n_seen >= 10 * (size_t)CF_ITEMS_MAX) {
        m->st = m->st != CF_OK ? m->st : CF_ELIMIT;
        return true;
    }
    if (!cf_grow(&m->seen, &m->cap_seen, m->n_seen + 1, sizeof *m->seen)) {
        lacks_memory(m);
        return true;
    }
    m->seen[m->n_seen++] = *item;
    return false;
}

/* Follows everything in m->raw. */
static void close_raw(cf_machine *m)
{
    while (m->n_raw > 0 && m->st == CF_OK) {
        cf_item item = m->raw[--m->n_raw];
        const cf_gnode *n = &m->g->node[item.node];
        if (n->n_step > 0 && was_closed(m, &item)) {
            continue;
        }
        if (n->n_edge > 0) {
            emit(m, &item);
        }
        for (uint32_t k = 0; k < n->n_step; k++) {
            const cf_gstep *s = &m->g->step[n->step + k];
            cf_item next = item;
            if (!apply(m, s->op, &next.regs)) {
                continue;
            }
            if (s->kind == CF_STEP_JUMP) {
                next.node = s->to;
                push_raw(m, &next);
            } else if (s->kind == CF_STEP_CALL) {
                call_rule(m, &next, s);
            } else {
                end_rule(m, next.frame);
            }
        }
    }
}

/* The frame of `rule` with the n callers at the end of m->caller, which
 * become its own or are given back. */
static uint32_t intern(cf_machine *m, uint32_t rule, size_t first)
{
    size_t n = m->n_caller - first;
    uint64_t h = hash_callers(m->caller + first, n, rule);
    uint32_t *head = &m->bucket[h % CF_HASH_SIZE];
    for (uint32_t i = *head; i != 0; i = m->frame[i].next) {
        const cf_frame *f = &m->frame[i];
        if (f->hash == h && f->rule == rule && f->n == n &&
            callers_equal(m->caller + f->first, m->caller + first, n)) {
            m->n_caller = first;
            return i;
        }
    }
    if (m->n_frame >= UINT32_MAX / 4 ||
        !cf_grow(&m->frame, &m->cap_frame, m->n_frame + 1, sizeof *m->frame)) {
        lacks_memory(m);
        m->n_caller = first;
        return 0;
    }
    uint32_t id = (uint32_t)m->n_frame++;
    bool is_compared = m->g->rule[rule].is_compared;
    for (size_t i = first; i < m->n_caller && !is_compared; i++) {
        is_compared = m->frame[m->caller[i].frame].is_compared;
    }
    m->frame[id] = (cf_frame){.first = (uint32_t)first,
                              .n = (uint32_t)n,
                              .next = *head,
                              .rule = rule,
                              .hash = h,
                              .is_compared = is_compared};
    *head = id;
    return id;
}

/* Takes all pending calls of the rule that ranks first and enters it. */
static void enter_first(cf_machine *m)
{
    uint32_t rule = m->call[0].rule;
    size_t first = m->n_caller;
    index_reset(&m->caller_index);
    while (m->n_call > 0 && m->call[0].rule == rule) {
        cf_pending p = first_call(m);
        if (m->n_caller > first && is_among(m, &m->caller_index, CALLERS, m->caller + first,
                                            m->n_caller - first, &p.caller)) {
            continue;
        }
        if (!cf_grow(&m->caller, &m->cap_caller, m->n_caller + 1, sizeof *m->caller)) {
            lacks_memory(m);
            m->n_caller = first;
            return;
        }
        m->caller[m->n_caller++] = p.caller;
    }
    uint32_t frame = intern(m, rule, first);
    if (m->st == CF_OK) {
        cf_item item = {.frame = frame, .node = m->g->rule[rule].start};
        push_raw(m, &item);
    }
}

void cf_machine_open(cf_machine *m)
{
    m->n_out = 0;
    m->n_raw = 0;
    m->n_call = 0;
    m->n_seen = 0;
    m->n_noted = 0;
    index_reset(&m->out_index);
    index_reset(&m->seen_index);
    m->may_end = false;
    m->st = CF_OK;
    if (++m->now == 0) {
        memset(m->stamp, 0, m->g->n_node * sizeof *m->stamp);
        m->now = 1;
    }
}

void cf_machine_close(cf_machine *m, const cf_item *item)
{
    push_raw(m, item);
}

void cf_machine_settle(cf_machine *m)
{
    close_raw(m);
    while (m->n_call > 0 && m->st == CF_OK) {
        enter_first(m);
        close_raw(m);
    }
}

void cf_machine_begin(cf_machine *m)
{
    cf_machine_open(m);
    cf_item item = {.frame = CF_FRAME_ROOT, .node = m->g->rule[m->g->start].start};
    push_raw(m, &item);
    cf_machine_settle(m);
}

void cf_machine_step(cf_machine *m, const cf_item *items, size_t n, uint8_t c)
{
    cf_machine_open(m);
    for (size_t i = 0; i < n; i++) {
        const cf_gnode *node = &m->g->node[items[i].node];
        const cf_gedge *e = m->g->edge + node->edge;
        for (uint32_t k = 0; k < node->n_edge && e[k].lo <= c; k++) {
            if (e[k].hi < c) {
                continue;
            }
            const cf_gnode *to = &m->g->node[e[k].to];
            cf_item next = {items[i].frame, e[k].to, items[i].regs};
            if (to->n_step == 0) {
                emit(m, &next);
            } else {
                push_raw(m, &next);
            }
        }
    }
    if (m->n_raw > 0) {
        cf_machine_settle(m);
    }
}
