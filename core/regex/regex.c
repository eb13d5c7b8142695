/*
 * regex.c - interns expressions and computes their derivatives.
 *
 * Invariants: children of a union or intersection are sorted by number and
 * distinct; concatenations lean to the right; a set's ranges are sorted,
 * distinct and not adjacent, and the empty set is CF_RX_NONE.
 */
#include "core/regex/regex.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "core/regex/regex_node.h"

enum { DEPTH_MAX = 2000, LIST_MAX = 4000 };

void cf_rx_init(cf_rx_pool *rx, cf_gbuild *b)
{
    memset(rx, 0, sizeof *rx);
    rx->b = b;
    rx->n_bucket = 256;
    rx->bucket = cf_calloc(rx->n_bucket, sizeof *rx->bucket);
    if (rx->bucket == NULL || !cf_grow(&rx->node, &rx->cap_node, 3, sizeof *rx->node)) {
        cf_gbuild_oom(b);
        return;
    }
    memset(rx->node, 0, 3 * sizeof *rx->node);
    rx->node[CF_RX_NONE].kind = RX_NONE;
    rx->node[CF_RX_EPS].kind = RX_EPS;
    rx->node[CF_RX_EPS].is_nullable = true;
    rx->n_node = 3;
}

void cf_rx_deinit(cf_rx_pool *rx)
{
    cf_free(rx->node);
    cf_free(rx->list);
    cf_free(rx->range);
    cf_free(rx->bucket);
    cf_free(rx->memo);
    cf_free(rx->memo_epoch);
    memset(rx, 0, sizeof *rx);
}

static bool is_ok(const cf_rx_pool *rx)
{
    return rx->b->st == CF_OK;
}

static cf_rx lacks_memory(cf_rx_pool *rx)
{
    cf_gbuild_oom(rx->b);
    return CF_RX_FAIL;
}

static uint32_t mix(uint32_t h, uint32_t v)
{
    h = (h ^ v) * UINT32_C(0x9E3779B1);
    return h ^ h >> 15;
}

static uint32_t hash_node(const cf_rx_pool *rx, const cf_rx_node *n)
{
    uint32_t h = mix(mix(mix(n->kind, n->a), n->b), n->min);
    h = mix(h, n->max);
    for (uint32_t i = 0; n->kind == RX_SET && i < n->n; i++) {
        h = mix(mix(h, rx->range[n->first + i].lo), rx->range[n->first + i].hi);
    }
    for (uint32_t i = 0; (n->kind == RX_ALT || n->kind == RX_AND) && i < n->n; i++) {
        h = mix(h, rx->list[n->first + i]);
    }
    return h;
}

static bool node_equal(const cf_rx_pool *rx, const cf_rx_node *x, const cf_rx_node *y)
{
    if (x->kind != y->kind || x->a != y->a || x->b != y->b || x->min != y->min ||
        x->max != y->max || x->n != y->n) {
        return false;
    }
    if (x->kind == RX_SET) {
        return memcmp(rx->range + x->first, rx->range + y->first, x->n * sizeof *rx->range) == 0;
    }
    if (x->kind == RX_ALT || x->kind == RX_AND) {
        return memcmp(rx->list + x->first, rx->list + y->first, x->n * sizeof *rx->list) == 0;
    }
    return true;
}

static bool rehash(cf_rx_pool *rx)
{
    size_t n = rx->n_bucket * 2;
    uint32_t *bucket = cf_calloc(n, sizeof *bucket);
    if (bucket == NULL) {
        return false;
    }
    for (uint32_t i = 3; i < rx->n_node; i++) {
        uint32_t *head = &bucket[rx->node[i].hash % n];
        rx->node[i].next = *head;
        *head = i;
    }
    cf_free(rx->bucket);
    rx->bucket = bucket;
    rx->n_bucket = n;
    return true;
}

/* The number of a node; its children or ranges are at the end of their array
 * and given back when the node was known. */
static cf_rx intern(cf_rx_pool *rx, cf_rx_node n)
{
    if (!cf_gbuild_spend(rx->b, 1 + n.n / 16)) {
        return CF_RX_FAIL;
    }
    n.hash = hash_node(rx, &n);
    for (uint32_t i = rx->bucket[n.hash % rx->n_bucket]; i != 0; i = rx->node[i].next) {
        if (!cf_gbuild_spend(rx->b, 1)) {
            return CF_RX_FAIL;
        }
        if (rx->node[i].hash == n.hash && node_equal(rx, &rx->node[i], &n)) {
            if (n.kind == RX_SET) {
                rx->n_range = n.first;
            } else if (n.kind == RX_ALT || n.kind == RX_AND) {
                rx->n_list = n.first;
            }
            return i;
        }
    }
    if (!cf_grow(&rx->node, &rx->cap_node, rx->n_node + 1, sizeof *rx->node) ||
        (rx->n_node > rx->n_bucket && !rehash(rx))) {
        return lacks_memory(rx);
    }
    uint32_t id = (uint32_t)rx->n_node++;
    uint32_t *head = &rx->bucket[n.hash % rx->n_bucket];
    n.next = *head;
    *head = id;
    rx->node[id] = n;
    return id;
}

/* ---- sets --------------------------------------------------------------- */

static bool add_range(cf_rx_pool *rx, uint32_t lo, uint32_t hi)
{
    if (!cf_grow(&rx->range, &rx->cap_range, rx->n_range + 1, sizeof *rx->range)) {
        lacks_memory(rx);
        return false;
    }
    rx->range[rx->n_range++] = (cf_cprange){lo, hi};
    return true;
}

static void sort_ranges(cf_cprange *r, size_t n)
{
    for (size_t gap = n / 2; gap > 0; gap /= 2) {
        for (size_t i = gap; i < n; i++) {
            cf_cprange x = r[i];
            size_t k = i;
            for (; k >= gap && r[k - gap].lo > x.lo; k -= gap) {
                r[k] = r[k - gap];
            }
            r[k] = x;
        }
    }
}

/* The set of the ranges from `first` on, which are put in order. */
static cf_rx close_set(cf_rx_pool *rx, size_t first)
{
    size_t n = rx->n_range - first;
    if (n == 0) {
        return CF_RX_NONE;
    }
    cf_cprange *r = rx->range + first;
    sort_ranges(r, n);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (k > 0 && r[i].lo <= r[k - 1].hi + 1) {
            if (r[i].hi > r[k - 1].hi) {
                r[k - 1].hi = r[i].hi;
            }
        } else {
            r[k++] = r[i];
        }
    }
    rx->n_range = first + k;
    if (k == 0) {
        return CF_RX_NONE;
    }
    return intern(rx, (cf_rx_node){.kind = RX_SET, .first = (uint32_t)first, .n = (uint32_t)k});
}

cf_rx cf_rx_set(cf_rx_pool *rx, const cf_cprange *ranges, size_t n)
{
    size_t first = rx->n_range;
    for (size_t i = 0; i < n; i++) {
        if (!is_ok(rx) || !add_range(rx, ranges[i].lo, ranges[i].hi)) {
            return CF_RX_FAIL;
        }
    }
    return close_set(rx, first);
}

cf_rx cf_rx_any(cf_rx_pool *rx)
{
    const cf_cprange all = {0, CF_CP_MAX};
    return cf_rx_set(rx, &all, 1);
}

cf_rx cf_rx_all(cf_rx_pool *rx)
{
    return cf_rx_loop(rx, cf_rx_any(rx), 0, CF_RX_INF);
}

bool cf_rx__set_has(const cf_rx_pool *rx, const cf_rx_node *n, uint32_t cp)
{
    size_t lo = 0;
    size_t hi = n->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        const cf_cprange *r = &rx->range[n->first + mid];
        if (cp < r->lo) {
            hi = mid;
        } else if (cp > r->hi) {
            lo = mid + 1;
        } else {
            return true;
        }
    }
    return false;
}

/* The code points in both sets. */
static cf_rx meet_sets(cf_rx_pool *rx, cf_rx x, cf_rx y)
{
    size_t first = rx->n_range;
    cf_rx_node a = rx->node[x];
    cf_rx_node b = rx->node[y];
    for (uint32_t i = 0, k = 0; i < a.n && k < b.n;) {
        cf_cprange p = rx->range[a.first + i];
        cf_cprange q = rx->range[b.first + k];
        uint32_t lo = p.lo > q.lo ? p.lo : q.lo;
        uint32_t hi = p.hi < q.hi ? p.hi : q.hi;
        if (lo <= hi && !add_range(rx, lo, hi)) {
            return CF_RX_FAIL;
        }
        if (p.hi < q.hi) {
            i++;
        } else {
            k++;
        }
    }
    return close_set(rx, first);
}

static cf_rx join_sets(cf_rx_pool *rx, cf_rx x, cf_rx y)
{
    size_t first = rx->n_range;
    cf_rx_node two[2] = {rx->node[x], rx->node[y]};
    for (int s = 0; s < 2; s++) {
        for (uint32_t i = 0; i < two[s].n; i++) {
            cf_cprange r = rx->range[two[s].first + i];
            if (!add_range(rx, r.lo, r.hi)) {
                return CF_RX_FAIL;
            }
        }
    }
    return close_set(rx, first);
}

/* ---- the operators ------------------------------------------------------ */

bool cf_rx_nullable(const cf_rx_pool *rx, cf_rx a)
{
    return rx->node[a].is_nullable;
}

static bool is_all(const cf_rx_pool *rx, cf_rx a)
{
    const cf_rx_node *n = &rx->node[a];
    if (n->kind != RX_LOOP || n->min != 0 || n->max != CF_RX_INF) {
        return n->kind == RX_NOT && n->a == CF_RX_NONE;
    }
    const cf_rx_node *s = &rx->node[n->a];
    return s->kind == RX_SET && s->n == 1 && rx->range[s->first].lo == 0 &&
           rx->range[s->first].hi == CF_CP_MAX;
}

cf_rx cf_rx_cat(cf_rx_pool *rx, cf_rx a, cf_rx b)
{
    if (!is_ok(rx) || a == CF_RX_FAIL || b == CF_RX_FAIL) {
        return CF_RX_FAIL;
    }
    if (a == CF_RX_NONE || b == CF_RX_NONE) {
        return CF_RX_NONE;
    }
    if (a == CF_RX_EPS) {
        return b;
    }
    if (b == CF_RX_EPS || (is_all(rx, a) && is_all(rx, b))) {
        return a;
    }
    /* Unwind a left concatenation without recursion. */
    if (rx->node[a].kind == RX_CAT) {
        if (++rx->depth > DEPTH_MAX) {
            cf_gbuild_fail(rx->b, CF_ELIMIT, "expression nests too deeply");
            return CF_RX_FAIL;
        }
        cf_rx tail = cf_rx_cat(rx, rx->node[a].b, b);
        rx->depth--;
        return cf_rx_cat(rx, rx->node[a].a, tail);
    }
    bool is_nullable = cf_rx_nullable(rx, a) && cf_rx_nullable(rx, b);
    return intern(rx, (cf_rx_node){.kind = RX_CAT, .a = a, .b = b, .is_nullable = is_nullable});
}

cf_rx cf_rx_text(cf_rx_pool *rx, cf_str s)
{
    /* From the back, so that each step interns one node. */
    uint32_t *cp = cf_alloc(s.n * sizeof *cp + 1);
    if (cp == NULL) {
        return lacks_memory(rx);
    }
    size_t n = 0;
    for (size_t i = 0; i < s.n;) {
        i += cf_utf8_decode(&cp[n], s.p + i, s.n - i);
        if (cp[n] == CF_UTF8_BAD) {
            cp[n] = 0xFFFD;
        }
        n++;
    }
    cf_rx out = CF_RX_EPS;
    while (n > 0) {
        n--;
        const cf_cprange one = {cp[n], cp[n]};
        out = cf_rx_cat(rx, cf_rx_set(rx, &one, 1), out);
    }
    cf_free(cp);
    return out;
}

cf_rx cf_rx_loop(cf_rx_pool *rx, cf_rx a, uint32_t min, uint32_t max)
{
    if (!is_ok(rx) || a == CF_RX_FAIL) {
        return CF_RX_FAIL;
    }
    if (max == 0 || a == CF_RX_EPS) {
        return CF_RX_EPS;
    }
    if (a == CF_RX_NONE) {
        return min == 0 ? CF_RX_EPS : CF_RX_NONE;
    }
    if (cf_rx_nullable(rx, a)) {
        min = 0;
    }
    if (min == 1 && max == 1) {
        return a;
    }
    const cf_rx_node *n = &rx->node[a];
    if (n->kind == RX_LOOP && n->min == 0 && n->max == CF_RX_INF) {
        return a;
    }
    return intern(
        rx, (cf_rx_node){.kind = RX_LOOP, .a = a, .min = min, .max = max, .is_nullable = min == 0});
}

cf_rx cf_rx_not(cf_rx_pool *rx, cf_rx a)
{
    if (!is_ok(rx) || a == CF_RX_FAIL) {
        return CF_RX_FAIL;
    }
    if (rx->node[a].kind == RX_NOT) {
        return rx->node[a].a;
    }
    if (a == CF_RX_NONE) {
        return cf_rx_all(rx);
    }
    if (is_all(rx, a)) {
        return CF_RX_NONE;
    }
    return intern(rx, (cf_rx_node){.kind = RX_NOT, .a = a, .is_nullable = !cf_rx_nullable(rx, a)});
}

static bool add_child(cf_rx_pool *rx, size_t first, cf_rx a)
{
    /* Keep the list sorted; children mostly come in order. */
    size_t k = rx->n_list;
    if (k > first && rx->list[k - 1] >= a) {
        size_t lo = first; /* those before lo are less than a */
        while (lo < k) {
            size_t mid = lo + (k - lo) / 2;
            if (rx->list[mid] < a) {
                lo = mid + 1;
            } else {
                k = mid;
            }
        }
        if (rx->list[k] == a) {
            return true;
        }
    }
    if (rx->n_list - first > LIST_MAX) {
        cf_gbuild_fail(rx->b, CF_ELIMIT, "too many alternatives");
        return false;
    }
    if (!cf_grow(&rx->list, &rx->cap_list, rx->n_list + 1, sizeof *rx->list)) {
        lacks_memory(rx);
        return false;
    }
    memmove(rx->list + k + 1, rx->list + k, (rx->n_list - k) * sizeof *rx->list);
    rx->list[k] = a;
    rx->n_list++;
    return true;
}

/* A union (is_alt) or intersection of v[0..n). */
static cf_rx combine(cf_rx_pool *rx, const cf_rx *v, size_t n, bool is_alt)
{
    const rx_kind kind = is_alt ? RX_ALT : RX_AND;
    size_t first = rx->n_list;
    cf_rx set = CF_RX_FAIL; /* all sets among them, combined */
    bool is_absorbed = false;
    for (size_t i = 0; i < n && !is_absorbed; i++) {
        if (!is_ok(rx) || v[i] == CF_RX_FAIL) {
            return CF_RX_FAIL;
        }
        cf_rx_node child = rx->node[v[i]];
        uint32_t count = child.kind == kind ? child.n : 1;
        if (!cf_gbuild_spend(rx->b, count / 64)) {
            return CF_RX_FAIL;
        }
        for (uint32_t k = 0; k < count && !is_absorbed; k++) {
            cf_rx a = child.kind == kind ? rx->list[child.first + k] : v[i];
            if (is_alt ? a == CF_RX_NONE : is_all(rx, a)) {
                continue;
            }
            if (is_alt ? is_all(rx, a) : a == CF_RX_NONE) {
                is_absorbed = true;
            } else if (rx->node[a].kind == RX_SET) {
                set = set == CF_RX_FAIL ? a
                      : is_alt          ? join_sets(rx, set, a)
                                        : meet_sets(rx, set, a);
                is_absorbed = !is_alt && set == CF_RX_NONE;
            } else if (!add_child(rx, first, a)) {
                return CF_RX_FAIL;
            }
        }
    }
    if (is_absorbed) {
        rx->n_list = first;
        return is_alt ? cf_rx_all(rx) : CF_RX_NONE;
    }
    if (!is_ok(rx) || (set != CF_RX_FAIL && !add_child(rx, first, set))) {
        return CF_RX_FAIL;
    }
    size_t m = rx->n_list - first;
    if (m <= 1) {
        cf_rx only = m == 1 ? rx->list[first] : CF_RX_FAIL;
        rx->n_list = first;
        return m == 1 ? only : is_alt ? CF_RX_NONE : cf_rx_all(rx);
    }
    bool is_nullable = !is_alt;
    for (size_t i = first; i < rx->n_list; i++) {
        bool one = cf_rx_nullable(rx, rx->list[i]);
        is_nullable = is_alt ? is_nullable || one : is_nullable && one;
    }
    return intern(rx, (cf_rx_node){.kind = (uint8_t)kind,
                                   .first = (uint32_t)first,
                                   .n = (uint32_t)m,
                                   .is_nullable = is_nullable});
}

cf_rx cf_rx_alt(cf_rx_pool *rx, const cf_rx *v, size_t n)
{
    return combine(rx, v, n, true);
}

cf_rx cf_rx_or2(cf_rx_pool *rx, cf_rx a, cf_rx b)
{
    const cf_rx v[2] = {a, b};
    return combine(rx, v, 2, true);
}

cf_rx cf_rx_and2(cf_rx_pool *rx, cf_rx a, cf_rx b)
{
    const cf_rx v[2] = {a, b};
    return combine(rx, v, 2, false);
}

/* ---- derivatives -------------------------------------------------------- */

static cf_rx derive(cf_rx_pool *rx, cf_rx id, uint32_t cp);

static cf_rx derive_list(cf_rx_pool *rx, cf_rx_node n, uint32_t cp)
{
    cf_rx small[16];
    cf_rx *v = small;
    if (n.n > 16) {
        v = cf_alloc(n.n * sizeof *v);
        if (v == NULL) {
            return lacks_memory(rx);
        }
    }
    for (uint32_t i = 0; i < n.n; i++) {
        v[i] = derive(rx, rx->list[n.first + i], cp);
    }
    cf_rx out = combine(rx, v, n.n, n.kind == RX_ALT);
    if (v != small) {
        cf_free(v);
    }
    return out;
}

static cf_rx derive_new(cf_rx_pool *rx, cf_rx id, uint32_t cp)
{
    cf_rx_node n = rx->node[id];
    switch (n.kind) {
    case RX_SET:
        return cf_rx__set_has(rx, &n, cp) ? CF_RX_EPS : CF_RX_NONE;
    case RX_CAT: {
        cf_rx head = cf_rx_cat(rx, derive(rx, n.a, cp), n.b);
        if (is_ok(rx) && cf_rx_nullable(rx, n.a)) {
            return cf_rx_or2(rx, head, derive(rx, n.b, cp));
        }
        return head;
    }
    case RX_LOOP: {
        uint32_t min = n.min > 0 ? n.min - 1 : 0;
        uint32_t max = n.max == CF_RX_INF ? CF_RX_INF : n.max - 1;
        cf_rx rest = cf_rx_loop(rx, n.a, min, max);
        return cf_rx_cat(rx, derive(rx, n.a, cp), rest);
    }
    case RX_NOT:
        return cf_rx_not(rx, derive(rx, n.a, cp));
    case RX_ALT:
    case RX_AND:
        return derive_list(rx, n, cp);
    default:
        return CF_RX_NONE;
    }
}

static cf_rx derive(cf_rx_pool *rx, cf_rx id, uint32_t cp)
{
    if (!cf_gbuild_spend(rx->b, 1) || id == CF_RX_FAIL) {
        return CF_RX_FAIL;
    }
    if (id < rx->cap_memo && rx->memo_epoch[id] == rx->epoch) {
        return rx->memo[id];
    }
    if (++rx->depth > DEPTH_MAX) {
        cf_gbuild_fail(rx->b, CF_ELIMIT, "expression nests too deeply");
        return CF_RX_FAIL;
    }
    cf_rx out = derive_new(rx, id, cp);
    rx->depth--;
    if (id < rx->cap_memo) {
        rx->memo_epoch[id] = rx->epoch;
        rx->memo[id] = out;
    }
    return out;
}

cf_rx cf_rx__derive(cf_rx_pool *rx, cf_rx id, uint32_t cp)
{
    size_t old = rx->cap_memo_epoch;
    if (!cf_grow(&rx->memo, &rx->cap_memo, rx->n_node, sizeof *rx->memo) ||
        !cf_grow(&rx->memo_epoch, &rx->cap_memo_epoch, rx->cap_memo, sizeof *rx->memo_epoch)) {
        return lacks_memory(rx);
    }
    if (rx->cap_memo_epoch > old) {
        memset(rx->memo_epoch + old, 0, (rx->cap_memo_epoch - old) * sizeof *rx->memo_epoch);
    }
    rx->epoch++;
    rx->depth = 0;
    return derive(rx, id, cp);
}

bool cf_rx_matches(cf_rx_pool *rx, cf_rx a, cf_str s)
{
    for (size_t i = 0; i < s.n && is_ok(rx) && a != CF_RX_NONE;) {
        uint32_t cp;
        i += cf_utf8_decode(&cp, s.p + i, s.n - i);
        a = cf_rx__derive(rx, a, cp == CF_UTF8_BAD ? 0xFFFD : cp);
    }
    return is_ok(rx) && a != CF_RX_FAIL && cf_rx_nullable(rx, a);
}
