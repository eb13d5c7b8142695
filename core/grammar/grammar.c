/*
 * grammar.c - builds automata and makes them ready to run.
 */
#include "core/grammar/grammar.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

enum { DEFAULT_NODES = 1000000, DEFAULT_WORK = 8000000 };

void cf_gbuild_fail(cf_gbuild *b, cf_status code, const char *fmt, ...)
{
    if (b->st != CF_OK) {
        return;
    }
    char text[CF_ERROR_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    b->st = cf_fail(&b->err, code, "%s", text);
}

void cf_gbuild_oom(cf_gbuild *b)
{
    cf_gbuild_fail(b, CF_ENOMEM, "out of memory");
}

bool cf_gbuild_spend(cf_gbuild *b, uint64_t n)
{
    if (b->st != CF_OK) {
        return false;
    }
    if (b->work < n) {
        cf_gbuild_fail(b, CF_ELIMIT, "too much work to compile");
        return false;
    }
    b->work -= n;
    return true;
}

/* Appends one zeroed item to an array of the grammar; its index, 0 on
 * failure. */
static uint32_t append(cf_gbuild *b, void *p, size_t *n, size_t *cap, size_t size)
{
    if (b->st != CF_OK) {
        return 0;
    }
    if (*n >= UINT32_MAX / 2 || !cf_grow(p, cap, *n + 1, size)) {
        cf_gbuild_oom(b);
        return 0;
    }
    char *items;
    memcpy(&items, p, sizeof items);
    memset(items + *n * size, 0, size);
    return (uint32_t)(*n)++;
}

/* The arrays have different element types; all go through one grower. */
#define APPEND(b, field, count, cap) \
    ((b)->g == NULL                  \
         ? 0                         \
         : append((b), &(b)->g->field, &(b)->g->count, &(b)->g->cap, sizeof *(b)->g->field))

void cf_gbuild_init(cf_gbuild *b, const cf_grammar_options *opts)
{
    memset(b, 0, sizeof *b);
    b->max_nodes = opts != NULL && opts->max_nodes != 0 ? opts->max_nodes : DEFAULT_NODES;
    b->max_work = opts != NULL && opts->max_work != 0 ? opts->max_work : DEFAULT_WORK;
    b->work = b->max_work;
    b->g = cf_calloc(1, sizeof *b->g);
    if (b->g == NULL) {
        cf_gbuild_oom(b);
        return;
    }
    APPEND(b, node, n_node, cap_node); /* index 0 is "none" everywhere */
    APPEND(b, edge, n_edge, cap_edge);
    APPEND(b, step, n_step, cap_step);
    APPEND(b, op, n_op, cap_op);
    APPEND(b, dep, n_dep, cap_dep);
    APPEND(b, name, n_name, cap_name);
    APPEND(b, rule, n_rule, cap_rule);
    APPEND(b, text, n_text, cap_text);
}

void cf_grammar_free(cf_grammar *g)
{
    if (g == NULL) {
        return;
    }
    cf_free(g->node);
    cf_free(g->edge);
    cf_free(g->step);
    cf_free(g->op);
    cf_free(g->dep);
    cf_free(g->name);
    cf_free(g->rule);
    cf_free(g->text);
    cf_free(g->order);
    cf_free(g);
}

void cf_gbuild_deinit(cf_gbuild *b)
{
    cf_grammar_free(b->g);
    b->g = NULL;
}

const char *cf_g_text(const cf_grammar *g, uint32_t offset)
{
    return g->text + offset;
}

/* Keeps n bytes and a NUL in the grammar's text; their offset. */
static uint32_t keep_text(cf_gbuild *b, const char *p, size_t n)
{
    if (b->st != CF_OK) {
        return 0;
    }
    if (n > UINT32_MAX / 4 || b->g->n_text > UINT32_MAX / 4) {
        cf_gbuild_fail(b, CF_ELIMIT, "too much text");
        return 0;
    }
    cf_grammar *g = b->g;
    if (!cf_grow(&g->text, &g->cap_text, g->n_text + n + 1, 1)) {
        cf_gbuild_oom(b);
        return 0;
    }
    uint32_t at = (uint32_t)g->n_text;
    if (n > 0) {
        memcpy(g->text + at, p, n);
    }
    g->text[at + n] = '\0';
    g->n_text += n + 1;
    return at;
}

uint32_t cf_g_label(cf_gbuild *b, cf_str s)
{
    enum { LABEL_MAX = 60 };
    size_t n = s.n < LABEL_MAX ? s.n : LABEL_MAX;
    while (n > 0 && n < s.n && ((unsigned char)s.p[n] & 0xC0) == 0x80) {
        n--;
    }
    return keep_text(b, s.p, n);
}

uint32_t cf_g_name(cf_gbuild *b, cf_str spelled)
{
    uint32_t off = keep_text(b, spelled.p, spelled.n);
    uint32_t i = APPEND(b, name, n_name, cap_name);
    if (i != 0) {
        b->g->name[i] = (cf_gname){off, (uint32_t)spelled.n};
    }
    return i;
}

uint32_t cf_g_need(cf_gbuild *b, uint32_t rule)
{
    uint32_t i = APPEND(b, name, n_name, cap_name);
    if (i != 0) {
        b->g->name[i] = (cf_gname){rule, 0};
    }
    return i;
}

uint32_t cf_g_node(cf_gbuild *b)
{
    if (b->st == CF_OK && b->g->n_node > b->max_nodes) {
        cf_gbuild_fail(b, CF_ELIMIT, "the grammar needs over %u nodes", (unsigned)b->max_nodes);
    }
    uint32_t n = APPEND(b, node, n_node, cap_node);
    if (n != 0) {
        b->g->node[n].rule = b->rule;
    }
    return n;
}

uint32_t cf_g_rule(cf_gbuild *b, const char *name)
{
    uint32_t r = APPEND(b, rule, n_rule, cap_rule);
    uint32_t text = cf_g_label(b, cf_str_from(name));
    uint32_t was = b->rule;
    b->rule = r;
    uint32_t start = cf_g_node(b);
    b->rule = was;
    if (b->st == CF_OK) {
        b->g->rule[r].name = text;
        b->g->rule[r].start = start;
    }
    return r;
}

void cf_g_rename(cf_gbuild *b, uint32_t rule, const char *name)
{
    uint32_t text = cf_g_label(b, cf_str_from(name));
    if (b->st == CF_OK) {
        b->g->rule[rule].name = text;
    }
}

uint32_t cf_g_start(const cf_gbuild *b, uint32_t rule)
{
    return b->st == CF_OK ? b->g->rule[rule].start : 0;
}

uint32_t cf_g_op(cf_gbuild *b, const cf_gop *op)
{
    uint32_t i = APPEND(b, op, n_op, cap_op);
    if (i != 0) {
        b->g->op[i] = *op;
    }
    return i;
}

uint32_t cf_g_dep(cf_gbuild *b, uint64_t has, uint64_t needs)
{
    uint32_t i = APPEND(b, dep, n_dep, cap_dep);
    if (i != 0) {
        b->g->dep[i] = (cf_gdep){has, needs};
    }
    return i;
}

void cf_g_byte(cf_gbuild *b, uint32_t from, uint8_t lo, uint8_t hi, uint32_t to)
{
    uint32_t e = APPEND(b, edge, n_edge, cap_edge);
    if (e != 0) {
        cf_gnode *node = &b->g->node[from];
        b->g->edge[e] = (cf_gedge){to, node->edge, lo, hi, b->is_fence};
        node->edge = e;
        b->g->has_fences |= b->is_fence;
    }
}

static void add_step(cf_gbuild *b, uint32_t from, cf_gstep step)
{
    uint32_t s = APPEND(b, step, n_step, cap_step);
    if (s != 0) {
        cf_gnode *node = &b->g->node[from];
        step.next = node->step;
        b->g->step[s] = step;
        node->step = s;
    }
}

void cf_g_jump(cf_gbuild *b, uint32_t from, uint32_t op, uint32_t to)
{
    add_step(b, from, (cf_gstep){.kind = CF_STEP_JUMP, .op = op, .to = to});
}

void cf_g_call(cf_gbuild *b, uint32_t from, uint32_t rule, uint32_t label, uint32_t to)
{
    add_step(b, from, (cf_gstep){.kind = CF_STEP_CALL, .rule = rule, .label = label, .to = to});
}

void cf_g_end(cf_gbuild *b, uint32_t from, uint32_t op)
{
    add_step(b, from, (cf_gstep){.kind = CF_STEP_END, .op = op});
}

uint32_t cf_g_bytes(cf_gbuild *b, uint32_t from, const char *p, size_t n)
{
    for (size_t i = 0; i < n && b->st == CF_OK; i++) {
        uint32_t to = cf_g_node(b);
        cf_g_byte(b, from, (uint8_t)p[i], (uint8_t)p[i], to);
        from = to;
    }
    return from;
}

void cf_g_bytes_to(cf_gbuild *b, uint32_t from, const char *p, size_t n, uint32_t to)
{
    from = cf_g_bytes(b, from, p, n - 1);
    cf_g_byte(b, from, (uint8_t)p[n - 1], (uint8_t)p[n - 1], to);
}

/* ---- objects whose keys are counted ------------------------------------- */

unsigned cf_g_popcount(uint64_t v)
{
    unsigned n = 0;
    for (; v != 0; v &= v - 1) {
        n++;
    }
    return n;
}

uint64_t cf_g_missing(const cf_grammar *g, const cf_gop *op, uint64_t bits)
{
    uint64_t need = op->need;
    for (uint32_t i = 0; i < op->n_dep;) {
        const cf_gdep *d = &g->dep[op->dep + i];
        uint64_t all = bits | need;
        if ((all & d->has) == d->has && (d->needs & ~need & ~bits) != 0) {
            need |= d->needs;
            i = 0; /* what is needed now may need more */
        } else {
            i++;
        }
    }
    return need & ~bits;
}

/* Whether some text satisfies the rule that the name stands for. */
static bool rule_is_live(const cf_grammar *g, uint32_t name, const bool *live)
{
    return live[g->rule[g->name[name].off].start];
}

/* Which keys the object of a CLOSE can have, as far as live[] says: those
 * with a value, and with a value for all that they need, within the limit. */
typedef struct key_choice {
    uint64_t usable;
    bool has_free, can_close;
} key_choice;

/* Whether the keys of a BIT, or some keys of a FREE, can have a value. */
static bool alt_is_live(const cf_grammar *g, const cf_gop *op, const bool *live)
{
    bool is_free = op->kind == CF_OP_FREE;
    if (!is_free) {
        return rule_is_live(g, op->name, live);
    }
    for (uint32_t k = 0; k < op->n_name; k += 2) {
        if (rule_is_live(g, op->name + k, live) && rule_is_live(g, op->name + k + 1, live)) {
            return true;
        }
    }
    return false;
}

static key_choice choose_keys(const cf_grammar *g, const cf_gop *close, const bool *live)
{
    key_choice out = {0, false, false};
    uint64_t valued = 0;
    for (uint32_t i = 0; i < close->n_alt; i++) {
        const cf_gop *op = &g->op[close->alt + i];
        if (alt_is_live(g, op, live)) {
            valued |= op->also | (op->kind == CF_OP_BIT ? op->bit : 0);
            out.has_free |= op->kind != CF_OP_BIT;
        }
    }
    for (uint64_t rest = valued; rest != 0; rest &= rest - 1) {
        uint64_t bit = rest & (~rest + 1);
        uint64_t all = bit | cf_g_missing(g, close, bit);
        if ((all & ~valued) == 0 && cf_g_popcount(all & ~close->some) <= close->max) {
            out.usable |= bit;
        }
    }
    uint64_t least = cf_g_missing(g, close, 0);
    out.can_close = (least & ~valued) == 0 && close->min <= close->max &&
                    cf_g_popcount(least & ~close->some) <= close->max &&
                    (out.has_free || cf_g_popcount(out.usable & ~close->some) >= close->min);
    return out;
}

/* Keys that can never be there must not be counted on. */
static void drop_keys(cf_grammar *g, const bool *live)
{
    for (size_t k = 1; k < g->n_op; k++) {
        const cf_gop *close = &g->op[k];
        if (close->kind != CF_OP_CLOSE) {
            continue;
        }
        key_choice keys = choose_keys(g, close, live);
        for (uint32_t i = 0; i < close->n_alt; i++) {
            cf_gop *op = &g->op[close->alt + i];
            op->later &= keys.usable;
            op->rest = keys.has_free ? op->rest : 0;
            bool is_usable = op->kind == CF_OP_FREE || (op->bit & keys.usable) != 0;
            if (!is_usable || !alt_is_live(g, op, live)) {
                op->max = 0; /* it never fits */
            }
        }
    }
}

/* ---- finishing ---------------------------------------------------------- */

static bool step_leads_on(const cf_grammar *g, const cf_gstep *s, const bool *live)
{
    const cf_gop *op = &g->op[s->op];
    for (uint32_t i = 0; op->kind == CF_OP_CLOSE && i < op->n_name; i++) {
        if (!rule_is_live(g, op->name + i, live)) {
            return false;
        }
    }
    if (op->kind == CF_OP_HAS) {
        bool is_possible = false;
        for (uint32_t i = 0; i < op->n_name && !is_possible; i++) {
            is_possible = rule_is_live(g, op->name + i, live);
        }
        if (!is_possible) {
            return false;
        }
    }
    if (op->kind == CF_OP_CLOSE && !choose_keys(g, op, live).can_close) {
        return false;
    }
    switch (s->kind) {
    case CF_STEP_END:
        return true;
    case CF_STEP_JUMP:
        return live[s->to];
    default:
        return live[s->to] && live[g->rule[s->rule].start];
    }
}

static bool node_leads_on(const cf_grammar *g, const cf_gnode *n, const bool *live)
{
    for (uint32_t e = n->edge; e != 0; e = g->edge[e].next) {
        if (live[g->edge[e].to]) {
            return true;
        }
    }
    for (uint32_t s = n->step; s != 0; s = g->step[s].next) {
        if (step_leads_on(g, &g->step[s], live)) {
            return true;
        }
    }
    return false;
}

/*
 * Which nodes are to be looked at again when a node has become true: those
 * with an edge or a step to it, those that call the rule it starts, and those
 * whose step looks at that rule.
 */
typedef struct users {
    uint32_t *first; /* [n_node + 1] into user */
    uint32_t *user;
    uint32_t *todo; /* a stack of nodes */
    size_t n_todo;
    bool is_counting;
} users;

static void add_user(users *u, uint32_t of, uint32_t node)
{
    if (u->is_counting) {
        u->first[of + 1]++;
    } else {
        u->user[u->first[of]++] = node;
    }
}

static void add_users_of_op(const cf_grammar *g, users *u, const cf_gop *op, uint32_t node)
{
    for (uint32_t i = 0; i < op->n_name; i++) {
        add_user(u, g->rule[g->name[op->name + i].off].start, node);
    }
}

/* The users that node i makes, before and after the nodes are packed. */
static void add_users(const cf_grammar *g, users *u, uint32_t i)
{
    for (uint32_t e = g->node[i].edge; e != 0; e = g->edge[e].next) {
        add_user(u, g->edge[e].to, i);
    }
    for (uint32_t k = g->node[i].step; k != 0; k = g->step[k].next) {
        const cf_gstep *s = &g->step[k];
        const cf_gop *op = &g->op[s->op];
        if (s->kind != CF_STEP_END) {
            add_user(u, s->to, i);
        }
        if (s->kind == CF_STEP_CALL) {
            add_user(u, g->rule[s->rule].start, i);
        }
        if (op->kind == CF_OP_HAS) {
            add_users_of_op(g, u, op, i);
        }
        if (op->kind == CF_OP_CLOSE) {
            add_users_of_op(g, u, op, i);
            for (uint32_t a = 0; a < op->n_alt; a++) {
                add_users_of_op(g, u, &g->op[op->alt + a], i);
            }
        }
    }
}

static void users_deinit(users *u)
{
    cf_free(u->first);
    cf_free(u->user);
    cf_free(u->todo);
}

static bool users_make(cf_gbuild *b, users *u)
{
    const cf_grammar *g = b->g;
    memset(u, 0, sizeof *u);
    u->first = cf_calloc(g->n_node + 2, sizeof *u->first);
    u->todo = cf_calloc(g->n_node, sizeof *u->todo);
    bool ok = u->first != NULL && u->todo != NULL;
    u->is_counting = true;
    for (uint32_t i = 1; ok && i < g->n_node; i++) {
        add_users(g, u, i);
    }
    for (size_t i = 1; ok && i < g->n_node + 2; i++) {
        u->first[i] += u->first[i - 1];
    }
    size_t n = ok ? u->first[g->n_node + 1] : 0;
    u->user = cf_calloc(n + 1, sizeof *u->user);
    ok = ok && u->user != NULL;
    u->is_counting = false;
    for (uint32_t i = 1; ok && i < g->n_node; i++) {
        add_users(g, u, i);
    }
    /* Filling has moved each start to the next one's place. */
    for (size_t i = g->n_node + 1; ok && i > 0; i--) {
        u->first[i] = u->first[i - 1];
    }
    if (!ok) {
        users_deinit(u);
        cf_gbuild_oom(b);
        return false;
    }
    u->first[0] = 0;
    return cf_gbuild_spend(b, (n + g->n_node) / 8 + 1);
}

typedef bool (*node_test)(const cf_grammar *g, const cf_gnode *n, const bool *is_true);

/* The least is_true[] for which is_true[i] wherever test(node i): each node
 * is tested once, and again when one that it looks at has become true. */
static void find_least(cf_gbuild *b, users *u, node_test test, bool *is_true)
{
    const cf_grammar *g = b->g;
    for (uint32_t i = 1; i < g->n_node; i++) {
        if (!is_true[i] && test(g, &g->node[i], is_true)) {
            is_true[i] = true;
            u->todo[u->n_todo++] = i;
        }
        while (u->n_todo > 0) {
            uint32_t at = u->todo[--u->n_todo];
            for (uint32_t k = u->first[at]; k < u->first[at + 1]; k++) {
                uint32_t user = u->user[k];
                if (!cf_gbuild_spend(b, 1)) {
                    return;
                }
                if (!is_true[user] && test(g, &g->node[user], is_true)) {
                    is_true[user] = true;
                    u->todo[u->n_todo++] = user;
                }
            }
        }
    }
}

/* Puts the edges and steps of each live node side by side, in order, and
 * leaves out those that lead nowhere. */
static void pack(cf_gbuild *b, const bool *live)
{
    cf_grammar *g = b->g;
    cf_gedge *edge = cf_calloc(g->n_edge, sizeof *edge);
    cf_gstep *step = cf_calloc(g->n_step, sizeof *step);
    if (edge == NULL || step == NULL) {
        cf_free(edge);
        cf_free(step);
        cf_gbuild_oom(b);
        return;
    }
    size_t n_edge = 1;
    size_t n_step = 1;
    for (size_t i = 1; i < g->n_node; i++) {
        cf_gnode *n = &g->node[i];
        size_t first = n_edge;
        for (uint32_t e = n->edge; live[i] && e != 0; e = g->edge[e].next) {
            if (!live[g->edge[e].to]) {
                continue;
            }
            size_t k = n_edge++;
            for (; k > first && edge[k - 1].lo > g->edge[e].lo; k--) {
                edge[k] = edge[k - 1];
            }
            edge[k] = g->edge[e];
        }
        size_t first_step = n_step;
        for (uint32_t s = n->step; live[i] && s != 0; s = g->step[s].next) {
            if (step_leads_on(g, &g->step[s], live)) {
                step[n_step++] = g->step[s];
            }
        }
        n->edge = (uint32_t)first;
        n->n_edge = (uint16_t)(n_edge - first);
        n->step = (uint32_t)first_step;
        n->n_step = (uint16_t)(n_step - first_step);
        if (n_edge - first > UINT16_MAX || n_step - first_step > UINT16_MAX) {
            cf_gbuild_fail(b, CF_ELIMIT, "too many choices at one place");
        }
    }
    cf_free(g->edge);
    cf_free(g->step);
    g->edge = edge;
    g->step = step;
    g->n_edge = n_edge;
    g->n_step = n_step;
}

/* Whether nothing but the end of the rule follows the node. */
static bool only_ends(const cf_grammar *g, uint32_t node)
{
    enum { HOPS_MAX = 100 };
    for (int hops = 0; hops < HOPS_MAX; hops++) {
        const cf_gnode *n = &g->node[node];
        const cf_gstep *s = &g->step[n->step];
        if (n->n_edge != 0 || n->n_step != 1 || s->op != 0 || s->kind == CF_STEP_CALL) {
            return false;
        }
        if (s->kind == CF_STEP_END) {
            return true;
        }
        node = s->to;
    }
    return false;
}

static void mark_tails(cf_grammar *g)
{
    for (size_t i = 1; i < g->n_step; i++) {
        cf_gstep *s = &g->step[i];
        s->is_tail = s->kind == CF_STEP_CALL && only_ends(g, s->to);
    }
}

/* Whether the end of the rule can be reached from the node without a byte. */
static bool node_is_nullable(const cf_grammar *g, const cf_gnode *n, const bool *nullable)
{
    for (uint32_t k = n->step; k != 0; k = g->step[k].next) {
        const cf_gstep *s = &g->step[k];
        if (s->kind == CF_STEP_END ||
            (nullable[s->to] && (s->kind == CF_STEP_JUMP || nullable[g->rule[s->rule].start]))) {
            return true;
        }
    }
    return false;
}

/*
 * Ranks: callers before those that they call before any text.  The rules that
 * a rule begins by calling are listed for all rules, then walked depth first.
 */
typedef struct ranker {
    cf_gbuild *b;
    const bool *nullable;
    uint32_t *first; /* [n_rule + 1] into callee */
    uint32_t *callee;
    size_t n_callee, cap_callee;
    uint32_t *stamp; /* per node: rule that walked it */
    uint32_t *todo;  /* [n_node] nodes to walk */
    size_t n_todo;
    uint8_t *color; /* per rule: 0 new, 1 open, 2 done */
    uint32_t *next; /* per rule: callee to look at; with a stack */
    uint32_t *path;
} ranker;

static void push_todo(ranker *r, uint32_t node, uint32_t rule)
{
    if (r->stamp[node] != rule) {
        r->stamp[node] = rule;
        r->todo[r->n_todo++] = node;
    }
}

/* Lists the rules that `rule` can call before any text. */
static void list_callees(ranker *r, uint32_t rule)
{
    const cf_grammar *g = r->b->g;
    r->first[rule] = (uint32_t)r->n_callee;
    push_todo(r, g->rule[rule].start, rule);
    while (r->n_todo > 0 && cf_gbuild_spend(r->b, 1)) {
        const cf_gnode *n = &g->node[r->todo[--r->n_todo]];
        for (uint32_t k = 0; k < n->n_step; k++) {
            const cf_gstep *s = &g->step[n->step + k];
            if (s->kind == CF_STEP_JUMP) {
                push_todo(r, s->to, rule);
            } else if (s->kind == CF_STEP_CALL) {
                if (!cf_grow(&r->callee, &r->cap_callee, r->n_callee + 1, sizeof *r->callee)) {
                    cf_gbuild_oom(r->b);
                    return;
                }
                r->callee[r->n_callee++] = s->rule;
                if (r->nullable[g->rule[s->rule].start]) {
                    push_todo(r, s->to, rule);
                }
            }
        }
    }
}

/* Depth first from `rule`; callees finish first, so counting down puts
 * callers before them. */
static void rank_from(ranker *r, uint32_t rule, uint32_t *n_done)
{
    cf_grammar *g = r->b->g;
    size_t depth = 0;
    r->path[depth++] = rule;
    r->color[rule] = 1;
    while (depth > 0) {
        uint32_t at = r->path[depth - 1];
        if (r->next[at] == r->first[at + 1]) {
            r->color[at] = 2;
            g->order[at] = (uint32_t)g->n_rule - (*n_done)++;
            depth--;
            continue;
        }
        uint32_t to = r->callee[r->next[at]++];
        if (r->color[to] == 1) {
            cf_gbuild_fail(r->b, CF_EUNSUPPORTED,
                           "rule %s calls itself before any text "
                           "(left recursion)",
                           cf_g_text(g, g->rule[to].name));
            return;
        }
        if (r->color[to] == 0) {
            r->color[to] = 1;
            r->path[depth++] = to;
        }
    }
}

static void rank_all(ranker *r)
{
    cf_grammar *g = r->b->g;
    uint32_t n_done = 0;
    for (uint32_t i = 1; i < g->n_rule && r->b->st == CF_OK; i++) {
        list_callees(r, i);
    }
    r->first[g->n_rule] = (uint32_t)r->n_callee;
    for (uint32_t i = 1; i < g->n_rule && r->b->st == CF_OK; i++) {
        r->next[i] = r->first[i];
    }
    for (uint32_t i = 1; i < g->n_rule && r->b->st == CF_OK; i++) {
        if (r->color[i] == 0) {
            rank_from(r, i, &n_done);
        }
    }
}

static void rank_rules(cf_gbuild *b, const bool *nullable)
{
    cf_grammar *g = b->g;
    g->order = cf_calloc(g->n_rule, sizeof *g->order);
    ranker r = {.b = b,
                .nullable = nullable,
                .first = cf_calloc(g->n_rule + 1, sizeof *r.first),
                .stamp = cf_calloc(g->n_node, sizeof *r.stamp),
                .todo = cf_calloc(g->n_node, sizeof *r.todo),
                .color = cf_calloc(g->n_rule, 1),
                .next = cf_calloc(g->n_rule, sizeof *r.next),
                .path = cf_calloc(g->n_rule, sizeof *r.path)};
    if (g->order == NULL || r.first == NULL || r.stamp == NULL || r.todo == NULL ||
        r.color == NULL || r.next == NULL || r.path == NULL) {
        cf_gbuild_oom(b);
    } else {
        rank_all(&r);
    }
    cf_free(r.first);
    cf_free(r.callee);
    cf_free(r.stamp);
    cf_free(r.todo);
    cf_free(r.color);
    cf_free(r.next);
    cf_free(r.path);
}

/* The steps of finish; live and nullable: per node, all false. */
static void finish(cf_gbuild *b, uint32_t start, bool *live, bool *nullable)
{
    users u;
    if (!users_make(b, &u)) {
        return;
    }
    find_least(b, &u, node_leads_on, live);
    u.n_todo = 0;
    if (b->st == CF_OK) {
        find_least(b, &u, node_is_nullable, nullable);
    }
    users_deinit(&u);
    if (b->st == CF_OK && !live[b->g->rule[start].start]) {
        cf_gbuild_fail(b, CF_EINVAL, "no text satisfies it");
    }
    if (b->st == CF_OK) {
        drop_keys(b->g, live);
        pack(b, live);
    }
    if (b->st == CF_OK) {
        mark_tails(b->g);
        rank_rules(b, nullable);
    }
}

cf_status cf_gbuild_finish(cf_gbuild *b, uint32_t start, cf_grammar **out, cf_error *err)
{
    if (b->st == CF_OK) {
        bool *live = cf_calloc(b->g->n_node, sizeof *live);
        bool *nullable = cf_calloc(b->g->n_node, sizeof *nullable);
        if (live == NULL || nullable == NULL) {
            cf_gbuild_oom(b);
        } else {
            finish(b, start, live, nullable);
        }
        cf_free(live);
        cf_free(nullable);
    }
    if (b->st != CF_OK) {
        if (err != NULL) {
            *err = b->err;
        }
        return b->st;
    }
    b->g->start = start;
    b->g->work = b->max_work - b->work;
    *out = b->g;
    b->g = NULL;
    return CF_OK;
}
