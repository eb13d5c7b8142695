/*
 * regex_emit.c - emits an automaton over code points as nodes over bytes.
 *
 * Each state becomes a node; a move over a range of code points becomes the
 * byte sequences of UTF-8, laid out as a tree by leading bytes so that the
 * result is deterministic where the automaton is.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/regex/regex.h"

typedef struct emitter {
    cf_gbuild *b;
    const cf_dfa *d;
    cf_spelling how;
    uint32_t *node;            /* per state: where a character leads to */
    uint32_t *body;            /* per state: where the next one begins */
    const cf_dfa_lengths *len; /* NULL: the texts are not counted */
    uint32_t min, max;
    uint32_t (*rest)[4];   /* per state: node before n more continuation bytes */
    const cf_dfa_state *s; /* being spelled */
    uint32_t from;
} emitter;

/* The node from which exactly n continuation bytes lead to `state`. */
static uint32_t rest_node(emitter *e, uint32_t state, unsigned n)
{
    if (n == 0) {
        return e->node[state];
    }
    if (e->rest[state][n] == 0) {
        uint32_t to = rest_node(e, state, n - 1);
        uint32_t node = cf_g_node(e->b);
        cf_g_byte(e->b, node, 0x80, 0xBF, to);
        e->rest[state][n] = node;
    }
    return e->rest[state][n];
}

#define MIXED  (UINT32_MAX - 1)
#define ABSENT UINT32_MAX

/* Where all of [lo, hi] leads: a state, ABSENT, or MIXED. */
static uint32_t target_of(const emitter *e, uint32_t lo, uint32_t hi)
{
    uint32_t a = 0;
    uint32_t z = e->s->n;
    while (a < z) { /* first move that ends at or after lo */
        uint32_t mid = (a + z) / 2;
        if (e->d->move[e->s->first + mid].hi < lo) {
            a = mid + 1;
        } else {
            z = mid;
        }
    }
    if (a == e->s->n || e->d->move[e->s->first + a].lo > hi) {
        return ABSENT;
    }
    const cf_dfa_move *v = &e->d->move[e->s->first + a];
    return v->lo <= lo && v->hi >= hi ? v->to : MIXED;
}

/*
 * Edges of `from` for the characters whose first bytes are already spelled:
 * `base` holds their bits, `n` continuation bytes follow, and [min, max] is
 * what this length may spell.
 */
static void emit_rest(emitter *e, uint32_t from, uint32_t base, unsigned n, uint32_t min,
                      uint32_t max)
{
    CF_ASSERT(n > 0); /* one character leads to one state, or to none */
    uint32_t size = UINT32_C(1) << (6 * (n - 1));
    for (uint32_t k = 0; k < 64 && e->b->st == CF_OK;) {
        uint32_t lo = base + k * size;
        uint32_t hi = lo + size - 1;
        if (hi < min || lo > max) {
            k++;
            continue;
        }
        uint32_t to = lo < min || hi > max ? MIXED : target_of(e, lo, hi);
        uint32_t k2 = k + 1;
        if (to == MIXED) {
            uint32_t sub = cf_g_node(e->b);
            cf_g_byte(e->b, from, (uint8_t)(0x80 + k), (uint8_t)(0x80 + k), sub);
            emit_rest(e, sub, lo, n - 1, min, max);
        } else if (to != ABSENT) {
            while (k2 < 64 && base + (k2 + 1) * size - 1 <= max &&
                   target_of(e, base + k2 * size, base + (k2 + 1) * size - 1) == to) {
                k2++;
            }
            cf_g_byte(e->b, from, (uint8_t)(0x80 + k), (uint8_t)(0x7F + k2),
                      rest_node(e, to, n - 1));
        }
        k = k2;
    }
}

/* Lead bytes of sequences with n continuation bytes. */
static void emit_leads(emitter *e, unsigned n, uint8_t lead, unsigned n_lead, uint32_t min,
                       uint32_t max)
{
    uint32_t size = UINT32_C(1) << (6 * n);
    for (unsigned k = 0; k < n_lead && e->b->st == CF_OK;) {
        uint32_t lo = k * size;
        uint32_t hi = lo + size - 1;
        unsigned k2 = k + 1;
        if (hi < min || lo > max) {
            k++;
            continue;
        }
        uint32_t all = target_of(e, lo < min ? min : lo, hi > max ? max : hi);
        bool is_clipped = lo < min || hi > max;
        if (all == MIXED || (is_clipped && all != ABSENT)) {
            uint32_t sub = cf_g_node(e->b);
            cf_g_byte(e->b, e->from, (uint8_t)(lead + k), (uint8_t)(lead + k), sub);
            emit_rest(e, sub, lo, n, min, max);
        } else if (all != ABSENT) {
            while (k2 < n_lead && (k2 + 1) * size - 1 <= max &&
                   target_of(e, k2 * size, (k2 + 1) * size - 1) == all) {
                k2++;
            }
            cf_g_byte(e->b, e->from, (uint8_t)(lead + k), (uint8_t)(lead + k2 - 1),
                      rest_node(e, all, n));
        }
        k = k2;
    }
}

/* \u00XX for the byte c; hex letters in either case, or lower case only. */
static void emit_hex(emitter *e, uint32_t from, uint8_t c, uint32_t to)
{
    cf_gbuild *b = e->b;
    static const char hex[] = "0123456789abcdef";
    uint32_t at = cf_g_bytes(b, from, "u00", 3);
    uint32_t last = cf_g_node(b);
    cf_g_byte(b, at, (uint8_t)hex[c >> 4], (uint8_t)hex[c >> 4], last);
    cf_g_byte(b, last, (uint8_t)hex[c & 15], (uint8_t)hex[c & 15], to);
    if (e->how != CF_SPELL_KEY && (c & 15) > 9) {
        uint8_t upper = (uint8_t)(hex[c & 15] - 'a' + 'A');
        cf_g_byte(b, last, upper, upper, to);
    }
}

static bool is_python(const emitter *e)
{
    return e->how == CF_SPELL_PYTHON1 || e->how == CF_SPELL_PYTHON2;
}

/* The quote that ends the string. */
static uint8_t quote_of(const emitter *e)
{
    return e->how == CF_SPELL_PYTHON1 ? '\'' : '"';
}

static void emit_escaped(emitter *e, uint32_t *slash, uint8_t c, uint32_t to)
{
    static const char short_of[] = "b\bf\fn\nr\rt\t";
    cf_gbuild *b = e->b;
    if (is_python(e) && c < 0x20 && c != '\n' && c != '\r' && c != '\t') {
        return;
    }
    if (*slash == 0) {
        *slash = cf_g_node(b);
        cf_g_byte(b, e->from, '\\', '\\', *slash);
    }
    if (c == quote_of(e) || c == '\\') {
        cf_g_byte(b, *slash, c, c, to);
        return;
    }
    char letter = 0;
    for (size_t i = 0; i < sizeof short_of - 1; i += 2) {
        if (short_of[i + 1] == (char)c) {
            letter = short_of[i];
        }
    }
    bool is_usual = c == '\n' || c == '\r' || c == '\t';
    bool has_one_spelling = e->how == CF_SPELL_KEY || is_python(e);
    if (letter != 0 && (!has_one_spelling || is_usual)) {
        cf_g_byte(b, *slash, (uint8_t)letter, (uint8_t)letter, to);
    }
    if (!has_one_spelling || !is_usual) {
        emit_hex(e, *slash, c, to);
    }
}

static void emit_ascii(emitter *e, uint32_t lo, uint32_t hi, uint32_t to)
{
    const uint32_t special[] = {quote_of(e), '\\', 0x7F};
    if (e->how == CF_SPELL_RAW) {
        cf_g_byte(e->b, e->from, (uint8_t)lo, (uint8_t)hi, to);
        return;
    }
    uint32_t at = lo < 0x20 ? 0x20 : lo;
    for (size_t i = 0; i <= 3; i++) {
        uint32_t stop = i < 3 ? special[i] : 0x80;
        uint32_t end = stop - 1 < hi ? stop - 1 : hi;
        if (at <= end) {
            cf_g_byte(e->b, e->from, (uint8_t)at, (uint8_t)end, to);
        }
        if (stop + 1 > at) {
            at = stop + 1;
        }
    }
    if (lo <= 0x7F && hi >= 0x7F && e->how != CF_SPELL_KEY) {
        cf_g_byte(e->b, e->from, 0x7F, 0x7F, to);
    }
}

static void emit_state(emitter *e, uint32_t state)
{
    uint32_t slash = 0;
    e->s = &e->d->state[state];
    e->from = e->body[state];
    for (uint32_t k = 0; k < e->s->n && e->b->st == CF_OK; k++) {
        const cf_dfa_move *v = &e->d->move[e->s->first + k];
        if (v->lo > 0x7F) {
            break;
        }
        uint32_t hi = v->hi < 0x7F ? v->hi : 0x7F;
        emit_ascii(e, v->lo, hi, e->node[v->to]);
        for (uint32_t c = v->lo; e->how != CF_SPELL_RAW && c <= hi; c++) {
            bool is_del = c == 0x7F && !is_python(e);
            if (c < 0x20 || c == quote_of(e) || c == '\\' || is_del) {
                emit_escaped(e, &slash, (uint8_t)c, e->node[v->to]);
            }
        }
    }
    emit_leads(e, 1, 0xC0, 32, 0x80, 0x7FF);
    /* Two clipped runs leave the surrogates out. */
    emit_leads(e, 2, 0xE0, 13, 0x800, 0xCFFF);
    emit_leads(e, 2, 0xE0, 14, 0xD000, 0xD7FF);
    emit_leads(e, 2, 0xE0, 16, 0xE000, 0xFFFF);
    emit_leads(e, 3, 0xF0, 5, 0x10000, CF_CP_MAX);
}

/* Makes the nodes of a state; with lengths the character that led there is
 * counted, and taken only when the text can still end within them. */
static void make_state(emitter *e, uint32_t i)
{
    cf_gbuild *b = e->b;
    e->node[i] = cf_g_node(b);
    e->body[i] = e->node[i];
    if (e->len == NULL) {
        return;
    }
    e->body[i] = cf_g_node(b);
    if (e->len->least[i] <= e->max) {
        cf_gop op = {.kind = CF_OP_CHAR,
                     .min = e->min,
                     .max = e->max == CF_RX_INF ? CF_RX_INF : e->max - e->len->least[i],
                     .rest = e->len->most[i]};
        cf_g_jump(b, e->node[i], cf_g_op(b, &op), e->body[i]);
    }
}

static void emit_end(emitter *e, uint32_t i, int closer, uint32_t to)
{
    cf_gbuild *b = e->b;
    uint32_t from = e->body[i];
    if (!e->d->state[i].is_final) {
        return;
    }
    if (e->len != NULL && e->min > 0) {
        cf_gop enough = {.kind = CF_OP_ATLEAST, .min = e->min};
        uint32_t next = cf_g_node(b);
        cf_g_jump(b, from, cf_g_op(b, &enough), next);
        from = next;
    }
    if (closer >= 0) {
        cf_g_byte(b, from, (uint8_t)closer, (uint8_t)closer, to);
    } else {
        cf_g_jump(b, from, 0, to);
    }
}

static void emit_states(emitter *e, int closer, uint32_t from, uint32_t to)
{
    cf_gbuild *b = e->b;
    const cf_dfa *d = e->d;
    for (uint32_t i = 0; i < d->n_state && b->st == CF_OK; i++) {
        make_state(e, i);
    }
    bool is_possible = e->len == NULL || (e->len->least[0] <= e->max && e->len->most[0] >= e->min);
    if (b->st == CF_OK && is_possible) {
        cf_g_jump(b, from, 0, e->body[0]);
    }
    for (uint32_t i = 0; i < d->n_state && b->st == CF_OK; i++) {
        emit_state(e, i);
        emit_end(e, i, closer, to);
    }
}

static void emit(emitter *e, int closer, uint32_t from, uint32_t to)
{
    const cf_dfa *d = e->d;
    if (e->b->st != CF_OK || d->n_state == 0) {
        return;
    }
    e->node = cf_calloc(d->n_state, sizeof *e->node);
    e->body = cf_calloc(d->n_state, sizeof *e->body);
    e->rest = cf_calloc(d->n_state, sizeof *e->rest);
    if (e->node == NULL || e->body == NULL || e->rest == NULL) {
        cf_gbuild_oom(e->b);
    } else {
        emit_states(e, closer, from, to);
    }
    cf_free(e->node);
    cf_free(e->body);
    cf_free(e->rest);
}

void cf_dfa_emit(cf_gbuild *b, const cf_dfa *d, cf_spelling how, int closer, uint32_t from,
                 uint32_t to)
{
    emitter e = {.b = b, .d = d, .how = how};
    emit(&e, closer, from, to);
}

void cf_dfa_emit_counted(cf_gbuild *b, const cf_dfa *d, cf_spelling how, int closer, uint32_t min,
                         uint32_t max, uint32_t from, uint32_t to)
{
    cf_dfa_lengths len = {0};
    emitter e = {.b = b, .d = d, .how = how, .len = &len, .min = min, .max = max};
    if (cf_dfa_lengths_make(b, d, &len)) {
        emit(&e, closer, from, to);
    }
    cf_dfa_lengths_deinit(&len);
}
