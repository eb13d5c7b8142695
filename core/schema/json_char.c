/*
 * json_char.c - makes the characters of a JSON string a table of edges.
 */
#include "core/schema/json_char.h"

/* The nodes between the first and the last byte of a character. */
enum {
    FROM,
    TO,
    C1, /* before so many continuation bytes of UTF-8 */
    C2,
    C3,
    E0, /* after that lead byte */
    ED,
    F0,
    F4,
    SLASH,
    U,  /* after \u */
    H3, /* before so many hex digits */
    H2,
    H1,
    D, /* after \uD: a surrogate may begin */
    HIGH2,
    HIGH1,
    PAIR,   /* after a high surrogate: the low one must follow */
    PAIR_S, /* after its backslash */
    PAIR_U, /* after its \u */
    PAIR_D, /* after its \uD */
    K0,     /* keys: after \u0 */
    K00,    /* after \u00 */
    K000,   /* after \u000, \u001, \u007 */
    K001,
    K007,
    N_NODES
};

typedef struct row {
    uint8_t from, lo, hi, to;
} row;

/* Bytes that spell themselves, for texts and keys alike. */
static const row plain[] = {
    {FROM, 0x20, 0x21, TO},    {FROM, 0x23, 0x5B, TO}, {FROM, 0x5D, 0x7E, TO},
    {FROM, 0xC2, 0xDF, C1},    {FROM, 0xE0, 0xE0, E0}, {FROM, 0xE1, 0xEC, C2},
    {FROM, 0xED, 0xED, ED},    {FROM, 0xEE, 0xEF, C2}, {FROM, 0xF0, 0xF0, F0},
    {FROM, 0xF1, 0xF3, C3},    {FROM, 0xF4, 0xF4, F4}, {C1, 0x80, 0xBF, TO},
    {C2, 0x80, 0xBF, C1},      {C3, 0x80, 0xBF, C2},   {E0, 0xA0, 0xBF, C1},
    {ED, 0x80, 0x9F, C1},      {F0, 0x90, 0xBF, C2},   {F4, 0x80, 0x8F, C2},
    {FROM, '\\', '\\', SLASH}, {SLASH, '"', '"', TO},  {SLASH, '\\', '\\', TO},
    {SLASH, 'n', 'n', TO},     {SLASH, 'r', 'r', TO},  {SLASH, 't', 't', TO},
    {SLASH, 'u', 'u', U},
};

/* Escapes of texts: \u of any case, surrogates in pairs only. */
static const row text[] = {
    {FROM, 0x7F, 0x7F, TO},     {SLASH, '/', '/', TO},      {SLASH, 'b', 'b', TO},
    {SLASH, 'f', 'f', TO},      {U, '0', '9', H3},          {U, 'A', 'C', H3},
    {U, 'a', 'c', H3},          {U, 'D', 'D', D},           {U, 'd', 'd', D},
    {U, 'E', 'F', H3},          {U, 'e', 'f', H3},          {H3, '0', '9', H2},
    {H3, 'A', 'F', H2},         {H3, 'a', 'f', H2},         {H2, '0', '9', H1},
    {H2, 'A', 'F', H1},         {H2, 'a', 'f', H1},         {H1, '0', '9', TO},
    {H1, 'A', 'F', TO},         {H1, 'a', 'f', TO},         {D, '0', '7', H2},
    {D, '8', '9', HIGH2},       {D, 'A', 'B', HIGH2},       {D, 'a', 'b', HIGH2},
    {HIGH2, '0', '9', HIGH1},   {HIGH2, 'A', 'F', HIGH1},   {HIGH2, 'a', 'f', HIGH1},
    {HIGH1, '0', '9', PAIR},    {HIGH1, 'A', 'F', PAIR},    {HIGH1, 'a', 'f', PAIR},
    {PAIR, '\\', '\\', PAIR_S}, {PAIR_S, 'u', 'u', PAIR_U}, {PAIR_U, 'D', 'D', PAIR_D},
    {PAIR_U, 'd', 'd', PAIR_D}, {PAIR_D, 'C', 'F', H2},     {PAIR_D, 'c', 'f', H2},
};

/* Escapes of keys: the controls without a letter, in lower case. */
static const row key[] = {
    {U, '0', '0', K0},     {K0, '0', '0', K00},  {K00, '0', '0', K000}, {K00, '1', '1', K001},
    {K00, '7', '7', K007}, {K000, '0', '8', TO}, {K000, 'b', 'c', TO},  {K000, 'e', 'f', TO},
    {K001, '0', '9', TO},  {K001, 'a', 'f', TO}, {K007, 'f', 'f', TO},
};

static void add_rows(cf_gbuild *b, uint32_t node[N_NODES], const row *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint8_t ends[2] = {v[i].from, v[i].to};
        for (int k = 0; k < 2; k++) {
            if (node[ends[k]] == 0) {
                node[ends[k]] = cf_g_node(b);
            }
        }
        cf_g_byte(b, node[v[i].from], v[i].lo, v[i].hi, node[v[i].to]);
    }
}

void cf_json_char(cf_gbuild *b, uint32_t from, uint32_t to, bool is_key)
{
    uint32_t node[N_NODES] = {[FROM] = from, [TO] = to};
    add_rows(b, node, plain, sizeof plain / sizeof *plain);
    if (is_key) {
        add_rows(b, node, key, sizeof key / sizeof *key);
    } else {
        add_rows(b, node, text, sizeof text / sizeof *text);
    }
}

void cf_json_string(cf_gbuild *b, uint32_t rule, bool is_key)
{
    b->rule = rule;
    uint32_t body = is_key ? cf_g_start(b, rule) : cf_g_node(b);
    uint32_t end = cf_g_node(b);
    if (!is_key) { /* the object's rule takes a key's first quote */
        cf_g_byte(b, cf_g_start(b, rule), '"', '"', body);
    }
    cf_json_char(b, body, body, is_key);
    cf_g_byte(b, body, '"', '"', end);
    cf_g_end(b, end, 0);
    if (b->st == CF_OK) {
        b->g->node[body].tag = is_key ? CF_TAG_KEY_BODY : CF_TAG_STR_BODY;
        b->g->node[body].arg = end;
    }
}
