/*
 * mask.c - computes which tokens are allowed at a position.
 *
 * In general a walk over the trie of the vocabulary, with the machine's items
 * at each depth.  Where an item is inside a JSON string the vocabulary's
 * ready sets are used instead, and only what follows the closing quote is
 * walked.  The last masks are kept: inside a string or a repeated pattern a
 * position comes back after each token.
 *
 * 1. A token is in the mask if and only if cf_constraint_token() takes it.
 * 2. Making a mask leaves the position as it was: frames, keys and text made
 *    on the way are given back.
 * 3. level[d] holds the items after d bytes of the walk, in pool[first ..
 *    first + n), and the pool above `top` is free; m->text ends with these
 *    d bytes wherever an operation looks at the text.
 * 4. A mask is kept only for positions whose future the items decide alone:
 *    not inside a key, nor where values are compared.
 */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/constrain/position.h"
#include "core/constrain/slice.h"
#include "core/constrain/token_trie.h"

enum { CACHE_SIZE = 8, CACHE_ITEMS = 8 };

typedef struct level {
    size_t first, n; /* in pool */
    size_t top;      /* of the pool, after this level */
    cf_machine_mark mark;
    cf_item seed; /* the one item it is the closure of */
    bool has_seed;
} level;

typedef struct cached {
    cf_item item[CACHE_ITEMS];
    size_t n_item; /* 0: empty entry */
    bool may_end;
    uint64_t used;
    uint32_t *mask;
} cached;

struct cf_masker {
    cf_item *pool;
    size_t cap_pool;
    level *level;
    size_t cap_level;
    cf_item *rest; /* items without a ready set */
    size_t cap_rest;
    uint32_t *part; /* bit set of one item's endings */
    cached cache[CACHE_SIZE];
    uint64_t clock;
    uint64_t us;
    bool was_cached;
};

cf_status cf_constraint__mask_init(cf_constraint *c, cf_error *err)
{
    if (c->vocab == NULL) {
        return CF_OK;
    }
    size_t n_words = c->vocab->n_words;
    cf_masker *k = cf_calloc(1, sizeof *k);
    c->masker = k;
    if (k == NULL) {
        return cf_oom(err);
    }
    k->part = cf_calloc(n_words, sizeof *k->part);
    for (int i = 0; i < CACHE_SIZE; i++) {
        k->cache[i].mask = NULL;
    }
    if (k->part == NULL) {
        return cf_oom(err);
    }
    return CF_OK;
}

void cf_constraint__mask_deinit(cf_constraint *c)
{
    cf_masker *k = c->masker;
    if (k == NULL) {
        return;
    }
    for (int i = 0; i < CACHE_SIZE; i++) {
        cf_free(k->cache[i].mask);
    }
    cf_free(k->pool);
    cf_free(k->level);
    cf_free(k->rest);
    cf_free(k->part);
    cf_free(k);
    c->masker = NULL;
}

/* ---- the walk ----------------------------------------------------------- */

/* Only entries with n_before in [min, max] count. */
typedef struct wanted {
    uint32_t min, max;
} wanted;

static void set_entries(const cf_trie *t, uint32_t node, wanted w, uint32_t *mask)
{
    uint32_t end = node + 1 < t->n ? t->entry_at[node + 1] : (uint32_t)t->n_entry;
    for (uint32_t i = t->entry_at[node]; i < end; i++) {
        const cf_entry *e = &t->entry[i];
        if (e->n_before >= w.min && e->n_before <= w.max) {
            cf_trie__set(mask, e->id);
        }
    }
}

/* Whether byte b leads from the level to one item only, which goes on without
 * a byte; *out is that item. */
static bool only_target(const cf_constraint *c, const level *l, uint8_t b, cf_item *out)
{
    bool has_one = false;
    for (size_t i = 0; i < l->n; i++) {
        const cf_item *it = &c->masker->pool[l->first + i];
        const cf_gnode *n = &c->g->node[it->node];
        const cf_gedge *e = c->g->edge + n->edge;
        for (uint32_t k = 0; k < n->n_edge && e[k].lo <= b; k++) {
            if (e[k].hi < b) {
                continue;
            }
            if (has_one || c->g->node[e[k].to].n_step == 0) {
                return false;
            }
            has_one = true;
            *out = *it;
            out->node = e[k].to;
        }
    }
    return has_one;
}

/* The items at `from`, moved over byte b, as level `to`; false: none. */
static bool walk_step(cf_constraint *c, size_t from, uint8_t b)
{
    cf_masker *k = c->masker;
    cf_machine *m = &c->m;
    level *l = &k->level[from];
    level *next = &k->level[from + 1];
    next->first = l->top;
    next->has_seed = false;
    if (l->n == 1) {
        /* One plain item: no need for the machine. */
        cf_item one = k->pool[l->first];
        const cf_gnode *n = &c->g->node[one.node];
        const cf_gedge *e = c->g->edge + n->edge;
        const cf_gedge *end = e + n->n_edge;
        while (e < end && e->hi < b) {
            e++;
        }
        if (e == end || e->lo > b) {
            return false; /* they are sorted by lo */
        }
        if ((e + 1 == end || e[1].lo > b) && c->g->node[e->to].n_step == 0) {
            one.node = e->to;
            k->pool[next->first] = one;
            next->n = 1;
            next->top = next->first + 1;
            next->mark = l->mark;
            return true;
        }
    }
    next->has_seed = only_target(c, l, b, &next->seed);
    if (next->has_seed && l->has_seed && cf_item_equal(&next->seed, &l->seed)) {
        /* A loop, such as white space: the same items again. */
        *next = *l;
        return true;
    }
    cf_machine_release(m, l->mark);
    cf_machine_step(m, k->pool + l->first, l->n, b);
    if (m->st != CF_OK || (m->n_out == 0 && !m->may_end)) {
        return false;
    }
    next->n = m->n_out;
    next->top = next->first + next->n;
    next->mark = cf_machine_get_mark(m);
    if (!cf_grow(&k->pool, &k->cap_pool, next->first + next->n + 1, sizeof *k->pool)) {
        m->st = CF_ENOMEM;
        return false;
    }
    if (m->n_out > 0) {
        memcpy(k->pool + next->first, m->out, m->n_out * sizeof *k->pool);
    }
    return true;
}

/*
 * Walks the trie from the items in pool[0..n), which stand after `base` bytes
 * of text, and sets what can be taken.  The slice `granted` (or
 * CF_SLICE_NONE) is set already.  A failure is left in the machine.
 */
static void walk(cf_constraint *c, const cf_trie *t, size_t n, size_t base, wanted w,
                 uint32_t *mask, unsigned granted)
{
    cf_masker *k = c->masker;
    cf_machine *m = &c->m;
    m->st = CF_OK;
    if (!cf_grow(&m->text, &m->cap_text, base + t->depth_max + 1, 1) ||
        !cf_grow(&k->level, &k->cap_level, (size_t)t->depth_max + 2, sizeof *k->level) ||
        !cf_grow(&k->pool, &k->cap_pool, n + 1 + t->depth_max + 1, sizeof *k->pool)) {
        m->st = CF_ENOMEM;
        return;
    }
    k->level[0] = (level){.n = n, .top = n, .mark = cf_machine_get_mark(m)};
    for (uint32_t i = 1; i < t->n && m->st == CF_OK;) {
        if (granted != CF_SLICE_NONE && t->slice[i] <= granted) {
            i = t->end[i];
            continue;
        }
        size_t d = t->depth[i];
        m->text[base + d - 1] = (char)t->byte[i];
        m->n_text = base + d;
        if (k->cap_pool < k->level[d - 1].top + 2 &&
            !cf_grow(&k->pool, &k->cap_pool, k->level[d - 1].top + 2, sizeof *k->pool)) {
            m->st = CF_ENOMEM;
            break;
        }
        if (walk_step(c, d - 1, t->byte[i])) {
            set_entries(t, i, w, mask);
            i++;
        } else {
            i = t->end[i];
        }
    }
}

/* ---- inside strings ----------------------------------------------------- */

static void or_into(uint32_t *mask, const uint32_t *more, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mask[i] |= more[i];
    }
}

/* Sets the tokens that close a string; the machine goes on from `after`. */
static void closing(cf_constraint *c, const cf_string_tokens *s, const cf_item *after, wanted w,
                    uint32_t *mask)
{
    cf_masker *k = c->masker;
    cf_machine *m = &c->m;
    size_t base = m->n_text;
    m->st = CF_OK;
    cf_machine_put(m, '"');
    if (m->st != CF_OK) {
        return;
    }
    m->skips_keys = true;
    cf_machine_open(m);
    cf_machine_close(m, after);
    cf_machine_settle(m);
    m->skips_keys = false;
    size_t n = m->n_out;
    if (m->st != CF_OK || (n == 0 && !m->may_end)) {
        return;
    }
    if (!cf_grow(&k->pool, &k->cap_pool, n + 1, sizeof *k->pool)) {
        m->st = CF_ENOMEM;
        return;
    }
    if (n > 0) {
        memcpy(k->pool, m->out, n * sizeof *k->pool);
    }
    set_entries(&s->endings, 0, w, mask);
    walk(c, &s->endings, n, base + 1, w, mask, CF_SLICE_NONE);
}

/* Clears the tokens that would complete the key `name` from what is written
 * of it, text[mark..). */
static void strike(const cf_constraint *c, const char *name, size_t n, size_t mark, size_t n_text,
                   uint32_t *mask)
{
    const cf_trie *t = &c->vocab->all;
    size_t written = n_text - mark;
    if (n <= written || memcmp(name, c->m.text + mark, written) != 0) {
        return;
    }
    uint32_t node = c->vocab->child[(uint8_t)name[written]];
    for (size_t i = written + 1; i < n && node != 0; i++) {
        node = cf_trie__child(t, node, (uint8_t)name[i]);
    }
    if (node == 0) {
        return;
    }
    uint32_t last = t->end[node];
    uint32_t end = last < t->n ? t->entry_at[last] : (uint32_t)t->n_entry;
    for (uint32_t i = t->entry_at[node]; i < end; i++) {
        cf_trie__clear(mask, t->entry[i].id);
    }
}

static void mask_string(cf_constraint *c, const cf_item *item, uint32_t *mask)
{
    const cf_constraint_vocab *v = c->vocab;
    const wanted all = {0, UINT32_MAX};
    cf_item after = *item;
    after.node = c->g->node[item->node].arg;
    or_into(mask, v->str.inside, v->n_words - 1);
    closing(c, &v->str, &after, all, mask);
}

/* The operation that looks at a key once it is complete; NULL when the caller
 * waits for something else. */
static const cf_gop *key_op(const cf_grammar *g, const cf_caller *caller)
{
    const cf_gnode *n = &g->node[caller->node];
    if (n->n_step != 1 || n->n_edge != 0) {
        return NULL;
    }
    const cf_gop *op = &g->op[g->step[n->step].op];
    return op->kind == CF_OP_KEY ? op : NULL;
}

/* The endings of a key for one of the places that wait for it, but for the
 * keys that must not be written there. */
static void key_endings(cf_constraint *c, cf_caller caller, const cf_gop *op, size_t n_text,
                        uint32_t *mask)
{
    const cf_constraint_vocab *v = c->vocab;
    cf_masker *k = c->masker;
    cf_machine *m = &c->m;
    const wanted all = {0, UINT32_MAX};
    const cf_item after = {caller.frame, caller.node, caller.regs};
    memset(k->part, 0, v->n_words * sizeof *k->part);
    m->n_text = n_text;
    closing(c, &v->key, &after, all, k->part);
    for (uint32_t i = 0; i < op->n_name; i++) {
        const cf_gname *n = &c->g->name[op->name + i];
        strike(c, c->g->text + n->off, n->len, caller.regs.mark, n_text, k->part);
    }
    for (uint32_t i = caller.regs.keys; i != 0; i = m->key[i].prev) {
        strike(c, m->text + m->key[i].off, m->key[i].len, caller.regs.mark, n_text, k->part);
    }
    or_into(mask, k->part, v->n_words - 1);
}

/* False when the item needs the general walk. */
static bool mask_key(cf_constraint *c, const cf_item *item, uint32_t *mask)
{
    const cf_constraint_vocab *v = c->vocab;
    cf_machine *m = &c->m;
    const wanted all = {0, UINT32_MAX};
    size_t n_text = m->n_text;
    cf_frame f = m->frame[item->frame];
    if (item->frame == CF_FRAME_ROOT) {
        return false;
    }
    for (uint32_t i = 0; i < f.n; i++) {
        if (key_op(c->g, &m->caller[f.first + i]) == NULL) {
            return false;
        }
    }
    or_into(mask, v->key.inside, v->n_words - 1);
    for (uint32_t i = 0; i < f.n && m->st == CF_OK; i++) {
        cf_caller caller = m->caller[f.first + i];
        key_endings(c, caller, key_op(c->g, &caller), n_text, mask);
    }
    if (v->key.others.n > 1 && m->st == CF_OK) {
        m->n_text = n_text;
        c->masker->pool[0] = *item;
        walk(c, &v->key.others, 1, n_text, all, mask, CF_SLICE_NONE);
    }
    return true;
}

static void mask_count(cf_constraint *c, const cf_item *item, uint32_t *mask)
{
    const cf_constraint_vocab *v = c->vocab;
    const cf_gop *op = &c->g->op[c->g->node[item->node].arg];
    /* The character to come is counted already. */
    uint32_t had = item->regs.count - 1;
    uint32_t room = op->max - had;
    uint32_t limit = room < CF_CHARS_MAX ? room : CF_CHARS_MAX;
    uint32_t least = op->min > had + 1 ? op->min - had : 1;
    or_into(mask, v->str.at_most + limit * v->n_words, v->n_words - 1);
    for (size_t i = 0; room > CF_CHARS_MAX && i < v->str.n_longer; i++) {
        if (v->str.longer[i].n_before <= room) {
            cf_trie__set(mask, v->str.longer[i].id);
        }
    }
    cf_item after = *item;
    after.node = op->node;
    closing(c, &v->str, &after, (wanted){least, room}, mask);
}

/* ---- control tokens ----------------------------------------------------- */

/* Control tokens are allowed where a fence of the grammar is spelled: every
 * byte goes over edges that say so. */
static bool spells_fence(cf_constraint *c, const char *p, size_t n)
{
    cf_masker *k = c->masker;
    cf_machine *m = &c->m;
    size_t count = c->n_item;
    if (!cf_grow(&k->pool, &k->cap_pool, count + 1, sizeof *k->pool)) {
        m->st = CF_ENOMEM;
        return false;
    }
    memcpy(k->pool, c->item, count * sizeof *k->pool);
    for (size_t i = 0; i < n; i++) {
        size_t kept = 0;
        for (size_t a = 0; a < count; a++) {
            const cf_gnode *node = &c->g->node[k->pool[a].node];
            bool is_fence = false;
            for (uint32_t e = 0; e < node->n_edge; e++) {
                const cf_gedge *edge = &c->g->edge[node->edge + e];
                is_fence |=
                    edge->is_fence && edge->lo <= (uint8_t)p[i] && edge->hi >= (uint8_t)p[i];
            }
            if (is_fence) {
                k->pool[kept++] = k->pool[a];
            }
        }
        cf_machine_put(m, (uint8_t)p[i]);
        if (kept == 0 || m->st != CF_OK) {
            return false;
        }
        cf_machine_step(m, k->pool, kept, (uint8_t)p[i]);
        count = m->n_out;
        if (m->st != CF_OK || (count == 0 && !m->may_end) ||
            !cf_grow(&k->pool, &k->cap_pool, count + 1, sizeof *k->pool)) {
            return false;
        }
        memcpy(k->pool, m->out, count * sizeof *k->pool);
    }
    return true;
}

static void mask_controls(cf_constraint *c, uint32_t *mask)
{
    const cf_constraint_vocab *v = c->vocab;
    cf_machine *m = &c->m;
    uint32_t first[8] = {0};
    if (!c->g->has_fences || c->n_item == 0) {
        return;
    }
    for (size_t i = 0; i < c->n_item; i++) {
        const cf_gnode *n = &c->g->node[c->item[i].node];
        for (uint32_t e = 0; e < n->n_edge; e++) {
            const cf_gedge *edge = &c->g->edge[n->edge + e];
            if (edge->is_fence) {
                first[edge->lo / 32] |= UINT32_C(1) << edge->lo % 32;
            }
        }
    }
    for (size_t i = 0; i < v->n_controls && m->st == CF_OK; i++) {
        cf_token id = v->controls[i];
        const char *p = v->bytes + v->off[id];
        uint8_t b = (uint8_t)p[0];
        if ((first[b / 32] >> b % 32 & 1) == 0) {
            continue;
        }
        cf_machine_mark mark = cf_machine_get_mark(m);
        size_t n_text = m->n_text;
        if (spells_fence(c, p, v->off[id + 1] - v->off[id])) {
            cf_trie__set(mask, id);
        }
        cf_machine_release(m, mark);
        m->n_text = n_text;
    }
}

/* ---- the mask ----------------------------------------------------------- */

static cached *lookup(cf_constraint *c)
{
    cf_masker *k = c->masker;
    for (int i = 0; i < CACHE_SIZE; i++) {
        cached *e = &k->cache[i];
        bool is_same = e->n_item != 0 && e->n_item == c->n_item && e->may_end == c->may_end;
        for (size_t a = 0; is_same && a < c->n_item; a++) {
            is_same = cf_item_equal(&e->item[a], &c->item[a]);
        }
        if (is_same) {
            e->used = ++k->clock;
            return e;
        }
    }
    return NULL;
}

static void remember(cf_constraint *c, const uint32_t *mask)
{
    cf_masker *k = c->masker;
    cached *e = &k->cache[0];
    if (c->n_item == 0 || c->n_item > CACHE_ITEMS || cf_constraint__in_key(c)) {
        return;
    }
    for (size_t i = 0; i < c->n_item; i++) {
        if (c->m.frame[c->item[i].frame].is_compared) {
            return;
        }
    }
    for (int i = 1; i < CACHE_SIZE; i++) {
        e = k->cache[i].used < e->used ? &k->cache[i] : e;
    }
    size_t n = c->vocab->n_words - 1;
    if (e->mask == NULL) {
        e->mask = cf_calloc(n + 1, sizeof *e->mask);
        if (e->mask == NULL) {
            return; /* only slower */
        }
    }
    memcpy(e->mask, mask, n * sizeof *mask);
    memcpy(e->item, c->item, c->n_item * sizeof *c->item);
    e->n_item = c->n_item;
    e->may_end = c->may_end;
    e->used = ++k->clock;
}

static cf_status compute(cf_constraint *c, uint32_t *mask)
{
    cf_masker *k = c->masker;
    cf_machine *m = &c->m;
    const wanted all = {0, UINT32_MAX};
    size_t n_text = m->n_text;
    size_t n_rest = 0;
    cf_machine_mark mark = cf_machine_get_mark(m);
    m->st = CF_OK;
    if (!cf_grow(&k->rest, &k->cap_rest, c->n_item + 1, sizeof *k->rest) ||
        !cf_grow(&k->pool, &k->cap_pool, c->n_item + 1, sizeof *k->pool)) {
        return CF_ENOMEM;
    }
    for (size_t i = 0; i < c->n_item && m->st == CF_OK; i++) {
        cf_item item = c->item[i];
        bool is_done = true;
        bool is_compared = m->frame[item.frame].is_compared;
        switch (is_compared ? CF_TAG_NONE : c->g->node[item.node].tag) {
        case CF_TAG_STR_BODY:
            mask_string(c, &item, mask);
            break;
        case CF_TAG_KEY_BODY:
            is_done = mask_key(c, &item, mask);
            break;
        case CF_TAG_STR_COUNT:
            mask_count(c, &item, mask);
            break;
        default:
            is_done = false;
        }
        if (!is_done) {
            k->rest[n_rest++] = item;
        }
        cf_machine_release(m, mark);
        m->n_text = n_text;
    }
    if (n_rest > 0 && m->st == CF_OK) {
        memcpy(k->pool, k->rest, n_rest * sizeof *k->pool);
        unsigned granted = CF_SLICE_NONE;
        for (size_t i = 0; i < n_rest; i++) {
            unsigned one = cf_constraint__slice(c->g, k->rest[i].node);
            if (one != CF_SLICE_NONE && (granted == CF_SLICE_NONE || one > granted)) {
                granted = one;
            }
        }
        if (granted != CF_SLICE_NONE) {
            or_into(mask, c->vocab->slice[granted], c->vocab->n_words - 1);
        }
        walk(c, &c->vocab->all, n_rest, n_text, all, mask, granted);
        cf_machine_release(m, mark);
        m->n_text = n_text;
    }
    if (m->st == CF_OK) {
        mask_controls(c, mask);
    }
    cf_machine_release(m, mark);
    m->n_text = n_text;
    return m->st;
}

cf_status cf_constraint_mask(cf_constraint *c, uint32_t *mask, cf_error *err)
{
    const cf_constraint_vocab *v = c->vocab;
    cf_masker *k = c->masker;
    if (v == NULL) {
        return cf_fail(err, CF_EINVAL, "the constraint has no vocabulary");
    }
    uint64_t began = cf_os_monotonic_us();
    size_t n = (v->n + 31) / 32;
    cached *known = c->has_ended ? NULL : lookup(c);
    k->was_cached = known != NULL;
    if (known != NULL) {
        memcpy(mask, known->mask, n * sizeof *mask);
    } else {
        memset(mask, 0, n * sizeof *mask);
        cf_status st = c->has_ended ? CF_OK : compute(c, mask);
        if (st != CF_OK) {
            return cf_constraint__fail(st, err);
        }
        for (size_t i = 0; cf_constraint_may_end(c) && i < v->n_ends; i++) {
            cf_trie__set(mask, v->ends[i]);
        }
        if (!c->has_ended) {
            remember(c, mask);
        }
    }
    k->us = cf_os_monotonic_us() - began;
    return CF_OK;
}

/* ---- tokens ------------------------------------------------------------- */

cf_status cf_constraint_token(cf_constraint *c, cf_token id, cf_error *err)
{
    const cf_constraint_vocab *v = c->vocab;
    if (v == NULL || id < 0 || (size_t)id >= v->n) {
        return cf_fail(err, CF_EINVAL, "no such token");
    }
    const char *p = v->bytes + v->off[id];
    size_t n = v->off[id + 1] - v->off[id];
    size_t taken = 0;
    cf_piece_kind kind = (cf_piece_kind)v->kind[id];
    if (kind == CF_PIECE_END) {
        if (!cf_constraint_may_end(c)) {
            return cf_fail(err, CF_EINVAL, "the text may not end here");
        }
        CF_TRY(cf_constraint_bytes(c, "", 0, &taken, err));
        c->has_ended = true;
        return CF_OK;
    }
    if (kind == CF_PIECE_NONE || n == 0 || c->has_ended) {
        return cf_fail(err, CF_EINVAL, "the token is never allowed");
    }
    if (kind == CF_PIECE_CONTROL) {
        cf_machine *m = &c->m;
        cf_machine_mark mark = cf_machine_get_mark(m);
        size_t n_text = m->n_text;
        m->st = CF_OK;
        bool ok = c->n_item > 0 && spells_fence(c, p, n);
        cf_status st = m->st;
        cf_machine_release(m, mark);
        m->n_text = n_text;
        if (!ok) {
            return st != CF_OK ? cf_constraint__fail(st, err)
                               : cf_fail(err, CF_EINVAL, "a control token is not allowed here");
        }
    }
    size_t had = c->n_step;
    cf_status st = cf_constraint_bytes(c, p, n, &taken, err);
    if (st == CF_OK && taken < n) {
        st = cf_fail_at(err, CF_EINVAL, taken, "the token is refused at its byte %zu", taken);
    }
    if (st != CF_OK) {
        cf_constraint_rollback(c, c->n_step - had);
    }
    return st;
}
