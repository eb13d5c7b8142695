/*
 * grammar.h - the automaton every kind of grammar is compiled to.
 *
 * A grammar is a set of rules; a rule is a graph of nodes.  From a node lead
 * byte edges (one byte from a range), and steps that take no byte: a jump, a
 * call of another rule, or the end of the rule.  A step may carry an
 * operation on the registers of the running rule: count, bits, keys.
 *
 * Built through a cf_gbuild, which is sticky: after a failure the calls do
 * nothing and cf_gbuild_finish() reports it.  Finishing removes what can
 * never lead to the end of its rule, so that no position is a dead end but
 * for registers, and refuses left recursion.
 *
 * Room-internal.
 */
#ifndef CF_CORE_GRAMMAR_GRAMMAR_H
#define CF_CORE_GRAMMAR_GRAMMAR_H

#include "core/api/constraint.h"
#include "core/base/status.h"

enum { CF_G_NONE = 0 }; /* no node, no rule, no label: index 0 is unused */

typedef struct cf_gedge {
    uint32_t to;
    uint32_t next; /* while building: next edge of the node */
    uint8_t lo, hi;
    bool is_fence; /* a control token may spell it */
} cf_gedge;

typedef enum cf_gstep_kind {
    CF_STEP_JUMP,
    CF_STEP_CALL, /* of `rule`, then to `to` */
    CF_STEP_END   /* of the rule */
} cf_gstep_kind;

typedef struct cf_gstep {
    uint8_t kind;   /* cf_gstep_kind */
    bool is_tail;   /* CALL: nothing but an unguarded END follows */
    uint32_t op;    /* index into ops; 0: none */
    uint32_t to;    /* JUMP, CALL */
    uint32_t rule;  /* CALL */
    uint32_t label; /* CALL: path segment of what is called; 0: none */
    uint32_t next;  /* while building */
} cf_gstep;

/* The kinds of string bodies, for which the vocabulary keeps masks ready. */
typedef enum cf_gtag {
    CF_TAG_NONE = 0,
    CF_TAG_STR_BODY, /* inside a JSON string of any content */
    CF_TAG_KEY_BODY, /* inside a key of any content, one spelling a char */
    CF_TAG_STR_COUNT /* at a character of a string with a counted length */
} cf_gtag;

typedef struct cf_gnode {
    uint32_t edge; /* first edge; while building: head of the list */
    uint32_t step;
    uint16_t n_edge;
    uint16_t n_step;
    uint32_t rule; /* whose graph it belongs to */
    uint32_t arg;  /* STR_COUNT: op of its counter */
    uint8_t tag;
} cf_gnode;

/* Registers of a running rule. */
typedef struct cf_gregs {
    uint64_t bits;  /* declared keys seen */
    uint32_t count; /* items, characters, properties */
    uint32_t keys;  /* list of free keys seen, 0: none */
    uint32_t mark;  /* offset in the text where the current key began */
} cf_gregs;

typedef enum cf_gop_kind {
    CF_OP_NONE,     /* index 0 */
    CF_OP_COUNT,    /* count < max, then count + 1 */
    CF_OP_ATLEAST,  /* count >= min */
    CF_OP_CHAR,     /* count + 1, which is at most max, and with at most `rest`
                   more reaches min */
    CF_OP_BIT,      /* declared key `bit` fits: set it, count + 1 */
    CF_OP_CLOSE,    /* what is needed is there, count >= min */
    CF_OP_MORE,     /* one of the n_alt operations from `alt` on would do */
    CF_OP_FREE,     /* a free key fits */
    CF_OP_MARK,     /* a free key begins here, after its quote */
    CF_OP_NTH,      /* declared key number `bit`, which has no bit of its own,
                      was not begun before: noted, count + 1 */
    CF_OP_DISTINCT, /* the JSON value since the mark differs from those that
                       came here before: noted */
    CF_OP_SET,      /* `also` is set; with `need` missing, count < max */
    CF_OP_HAS,      /* `need` is there */
    CF_OP_KEY       /* the key since the mark is not in the list of names at
                      `name` and was not written before: count + 1 */
} cf_gop_kind;

/* The operations on the keys of one object share `need` and the deps.  Bit 63
 * is set by the first free key where those come last. */
typedef struct cf_gop {
    uint8_t kind;
    bool is_last;              /* FREE: free keys come after all declared ones */
    uint32_t min, max;         /* of the count */
    uint32_t rest;             /* BIT, FREE: at most so many keys more can follow */
    uint64_t bit;              /* BIT; NTH: a number */
    uint64_t also;             /* BIT, FREE, SET: conditions that it meets */
    uint64_t some;             /* bits of `need` that are conditions, not keys */
    uint64_t before;           /* BIT: what may be set already */
    uint64_t later;            /* BIT: what may still follow */
    uint64_t need;             /* required keys */
    uint32_t listed, n_listed; /* CLOSE: keys of NTH that are required */
    uint32_t dep, n_dep;
    uint32_t alt, n_alt;   /* MORE, CLOSE: the BIT and FREE of the object */
    uint32_t name, n_name; /* KEY: names; CLOSE: rules of the values of
                              required keys; BIT: rule of the value; FREE:
                              for each class, rules of key and value; HAS:
                              rules of which one must be possible */
    uint32_t node;         /* COUNT of a string: after its closing quote */
} cf_gop;

#define CF_FREE_KEY_BIT (UINT64_C(1) << 63)

/* When all of `has` are seen, all of `needs` must be. */
typedef struct cf_gdep {
    uint64_t has, needs;
} cf_gdep;

/* A declared key as a JSON string without its first quote, in `text`; or the
 * rule of a required key's value, in `off`. */
typedef struct cf_gname {
    uint32_t off, len;
} cf_gname;

typedef struct cf_grule {
    uint32_t start;
    uint32_t name;    /* offset into text */
    bool is_key;      /* what may follow depends on the text: no key twice */
    bool is_compared; /* it has a DISTINCT: so does what it calls */
} cf_grule;

struct cf_grammar {
    cf_gnode *node;
    cf_gedge *edge;
    cf_gstep *step;
    cf_gop *op;
    cf_gdep *dep;
    cf_gname *name;
    cf_grule *rule;
    char *text; /* names and labels, NUL-terminated */
    size_t n_node, n_edge, n_step, n_op, n_dep, n_name, n_rule, n_text;
    size_t cap_node, cap_edge, cap_step, cap_op, cap_dep, cap_name, cap_rule, cap_text;
    uint32_t start;  /* rule */
    uint32_t *order; /* [n_rule] rank: callers before callees */
    uint64_t work;   /* steps that compiling it took */
    bool has_fences;
};

typedef struct cf_gbuild {
    cf_grammar *g;
    cf_status st;
    cf_error err;
    uint32_t max_nodes;
    uint32_t rule; /* nodes made now belong to it */
    uint64_t max_work;
    uint64_t work; /* steps left */
    bool is_fence; /* edges made now are fence text */
} cf_gbuild;

void cf_gbuild_init(cf_gbuild *b, const cf_grammar_options *opts);
/* Frees what was built when finish was not called or failed. */
void cf_gbuild_deinit(cf_gbuild *b);

/* Sets the sticky failure (the first one stays). */
void cf_gbuild_fail(cf_gbuild *b, cf_status code, const char *fmt, ...) CF_PRINTF(3, 4);
/* The failure that memory ran out. */
void cf_gbuild_oom(cf_gbuild *b);
/* Spends n steps of the work limit; false when failed. */
bool cf_gbuild_spend(cf_gbuild *b, uint64_t n);

uint32_t cf_g_rule(cf_gbuild *b, const char *name); /* makes its start node */
void cf_g_rename(cf_gbuild *b, uint32_t rule, const char *name);
uint32_t cf_g_start(const cf_gbuild *b, uint32_t rule);
uint32_t cf_g_node(cf_gbuild *b); /* in rule b->rule */
uint32_t cf_g_label(cf_gbuild *b, cf_str text);
uint32_t cf_g_op(cf_gbuild *b, const cf_gop *op);
uint32_t cf_g_dep(cf_gbuild *b, uint64_t has, uint64_t needs);
uint32_t cf_g_name(cf_gbuild *b, cf_str spelled);
/* For CLOSE: unless some text satisfies `rule` nothing can be closed. */
uint32_t cf_g_need(cf_gbuild *b, uint32_t rule);
void cf_g_byte(cf_gbuild *b, uint32_t from, uint8_t lo, uint8_t hi, uint32_t to);
void cf_g_jump(cf_gbuild *b, uint32_t from, uint32_t op, uint32_t to);
void cf_g_call(cf_gbuild *b, uint32_t from, uint32_t rule, uint32_t label, uint32_t to);
void cf_g_end(cf_gbuild *b, uint32_t from, uint32_t op);
/* Bytes in a row; returns the node after them. */
uint32_t cf_g_bytes(cf_gbuild *b, uint32_t from, const char *p, size_t n);
/* The same, ending at `to`; n >= 1. */
void cf_g_bytes_to(cf_gbuild *b, uint32_t from, const char *p, size_t n, uint32_t to);

/* Hands the grammar over, starting at `start`.  CF_EINVAL when no text at
 * all satisfies it. */
CF_MUST_USE cf_status cf_gbuild_finish(cf_gbuild *b, uint32_t start, cf_grammar **out,
                                       cf_error *err);

const char *cf_g_text(const cf_grammar *g, uint32_t offset);

/* The keys that must still come in op's object once `bits` are there. */
uint64_t cf_g_missing(const cf_grammar *g, const cf_gop *op, uint64_t bits);
unsigned cf_g_popcount(uint64_t v);

#endif
