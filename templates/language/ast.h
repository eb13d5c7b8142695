/*
 * ast.h - a compiled template: its tree, with names already resolved to
 * slots.
 *
 * A function (the template, a macro, a call block, a recursive loop) has an
 * array of slots; frames inside it (loops, with, set blocks) own some of
 * them.  Entering a frame runs its loads: look a name up in the context, copy
 * an outer slot, or empty a slot.  A name node says how many functions
 * outwards its slot lies.  These are jinja2's scoping rules (its
 * idtracking.py), with slots for Python's local variables.
 */
#ifndef CF_TEMPLATES_LANGUAGE_AST_H
#define CF_TEMPLATES_LANGUAGE_AST_H

#include <stdatomic.h>
#include <stdio.h>

#include "templates/language/call.h"
#include "templates/language/gen.h"
#include "templates/language/state.h"
#include "templates/template.h"

typedef enum cf_nkind {
    /* expressions */
    CF_N_CONST,
    CF_N_NAME,
    CF_N_GETATTR, /* a.val */
    CF_N_GETITEM, /* a[b]; b may be CF_N_SLICE */
    CF_N_SLICE,   /* a:b:c, each may be NULL */
    CF_N_CALL,    /* a(list, kw, *b, **c) */
    CF_N_FILTER,  /* list[0] | id(list[1..], kw, *b, **c) */
    CF_N_TEST,
    CF_N_NOT,
    CF_N_NEG,
    CF_N_POS,
    CF_N_ARITH,   /* a op b */
    CF_N_CONCAT,  /* list joined by ~ */
    CF_N_COMPARE, /* a, then list of CF_N_OPERAND */
    CF_N_OPERAND, /* op a */
    CF_N_AND,
    CF_N_OR,
    CF_N_COND, /* b if a else c */
    CF_N_LIST,
    CF_N_TUPLE,
    CF_N_DICT,  /* list: key, value, key, value ... */
    CF_N_NSREF, /* target ns.attr: val the attribute, slot the namespace */
    /* statements */
    CF_N_DATA,        /* val: the text */
    CF_N_PRINT,       /* list of expressions */
    CF_N_FOR,         /* a target, b iterable, c test; body, other (else) */
    CF_N_IF,          /* list: tests; bodies[i]; other (else) */
    CF_N_SET,         /* a target, b expression */
    CF_N_SETBLOCK,    /* a target, b filter chain or NULL; body */
    CF_N_MACRO,       /* val name; list params; kw defaults; body */
    CF_N_CALLBLOCK,   /* a call; list params; body */
    CF_N_FILTERBLOCK, /* a filter chain; body */
    CF_N_WITH,        /* list: target, value ...; body */
    CF_N_AUTOESCAPE,  /* a switch; body */
    CF_N_BLOCK,       /* val name; body */
    CF_N_GENERATION,  /* body */
    CF_N_BREAK,
    CF_N_CONTINUE,
    CF_N_LOADER,   /* include, import, extends, which need a loader and fail */
    CF_N_BODYVALUE /* the captured output of a filter block or set block */
} cf_nkind;

typedef enum cf_cmpop {
    CF_CMP_EQ,
    CF_CMP_NE,
    CF_CMP_LT,
    CF_CMP_LE,
    CF_CMP_GT,
    CF_CMP_GE,
    CF_CMP_IN,
    CF_CMP_NOTIN
} cf_cmpop;

typedef enum cf_load {
    CF_LOAD_PARAM,   /* set by the caller */
    CF_LOAD_RESOLVE, /* from the context */
    CF_LOAD_ALIAS,   /* copy of an outer slot */
    CF_LOAD_EMPTY
} cf_load;

typedef struct cf_tload {
    const cf_tstr *name;
    uint32_t slot;
    uint32_t outer_slot;
    uint16_t outer_hops;
    uint8_t action;
} cf_tload;

typedef struct cf_tframe {
    cf_tload *load; /* [n_load] without CF_LOAD_PARAM */
    uint32_t n_load;
} cf_tframe;

/* A function's shape. */
typedef struct cf_tfunc {
    uint32_t n_slot;
    cf_tframe frame;
    uint32_t *param; /* slots of the parameters, in order */
    bool takes_caller, takes_kwargs, takes_varargs;
    uint32_t caller_slot, kwargs_slot, varargs_slot;
} cf_tfunc;

typedef struct cf_tbody {
    cf_tnode **v;
    uint32_t n;
} cf_tbody;

typedef struct cf_tnkw {
    const cf_tstr *name;
    cf_tnode *val;
} cf_tnkw;

struct cf_tnode {
    uint8_t kind, op;
    bool flag;     /* for: recursive; test or filter: resolved; name: is a
                      target */
    bool has_loop; /* for: `loop` is used; set, macro: blocks see it */
    uint16_t hops;
    uint32_t slot;
    uint32_t pos, end; /* bytes of the (normalised) source */
    uint32_t n, n_kw;
    int id; /* filter, test or method; -1: not known */
    cf_tv val;
    cf_tnode *a, *b, *c;
    cf_tnode **list;
    cf_tnkw *kw;
    cf_tbody body, other;
    cf_tbody *bodies;  /* CF_N_IF: [n] */
    cf_tframe *frame;  /* loop body, with, set block, filter block, if any */
    cf_tframe *frame2; /* for: the test's */
    cf_tframe *frame3; /* for: the else part's */
    cf_tfunc *func;    /* macro, call block, recursive loop */
};

/* Facts about a template, computed on first use. */
typedef struct cf_template_memo {
    _Atomic(void *) caps; /* cf_template_caps; NULL: not yet */
} cf_template_memo;

struct cf_template {
    cf_template_memo *memo;
    cf_arena arena;
    cf_template_options options;
    cf_str source;  /* as given */
    cf_str text;    /* line ends are \n, the last one dropped */
    uint32_t *crlf; /* [n_crlf] offsets in `text` before which a \r was */
    uint32_t n_crlf;
    uint32_t *line; /* [n_line] offsets in `text` where lines start */
    uint32_t n_line;
    cf_tbody body;
    cf_tfunc func;
    bool has_generation, has_blocks;
    bool may_mutate; /* a method that changes lists or dicts is named */
};

/* ---- the stages --------------------------------------------------------- */

typedef enum cf_toktype {
    CF_TOK_EOF,
    CF_TOK_DATA,
    CF_TOK_VAR_BEGIN,
    CF_TOK_VAR_END,
    CF_TOK_BLOCK_BEGIN,
    CF_TOK_BLOCK_END,
    CF_TOK_NAME,
    CF_TOK_STRING,
    CF_TOK_INT,
    CF_TOK_FLOAT,
    CF_TOK_ADD,
    CF_TOK_SUB,
    CF_TOK_DIV,
    CF_TOK_FLOORDIV,
    CF_TOK_MUL,
    CF_TOK_MOD,
    CF_TOK_POW,
    CF_TOK_TILDE,
    CF_TOK_LBRACKET,
    CF_TOK_RBRACKET,
    CF_TOK_LPAREN,
    CF_TOK_RPAREN,
    CF_TOK_LBRACE,
    CF_TOK_RBRACE,
    CF_TOK_EQ,
    CF_TOK_NE,
    CF_TOK_GT,
    CF_TOK_GE,
    CF_TOK_LT,
    CF_TOK_LE,
    CF_TOK_ASSIGN,
    CF_TOK_DOT,
    CF_TOK_COLON,
    CF_TOK_PIPE,
    CF_TOK_COMMA,
    CF_TOK_SEMICOLON
} cf_toktype;

typedef struct cf_tok {
    cf_toktype type;
    uint32_t pos, end; /* of the source text */
    cf_str text;       /* data and names as written; strings unescaped */
} cf_tok;

/* Cuts the template's text into tokens (ended by CF_TOK_EOF), in the render
 * state's arena.  NULL with the error set. */
cf_tok *cf_t__lex(cf_tr *r, const cf_template *tpl);

/* Parses tpl->body into a tree; false with the error set. */
bool cf_t__parse(cf_tr *r, cf_template *tpl, const cf_tok *tokens);

/* Assigns a slot to every name; false with the error set. */
bool cf_t__resolve(cf_tr *r, cf_template *tpl);

/* The line and column, from 1, of a byte of the template's text. */
void cf_t__line_of(const cf_template *t, uint32_t off, uint32_t *line, uint32_t *col);

/* A string of the template: hashed and counted. */
cf_tstr *cf_t__const_str(cf_tr *r, cf_str s);

/* Sets where in the source the error is, when that is not known yet. */
cf_tv cf_t__fail_at(cf_tr *r, uint32_t pos, uint32_t end, const char *fmt, ...) CF_PRINTF(4, 5);

/* ---- running ------------------------------------------------------------ */

struct cf_tmacro {
    const cf_tnode *node; /* macro or call block */
    cf_tact *outer;
};

struct cf_tloop {
    cf_titer it;
    cf_tv src;
    cf_tv cur, before, after; /* CF_TMISSING if there is none */
    cf_tv changed;
    int64_t index0; /* -1 before the first item */
    int64_t length; /* -1: not known */
    uint32_t depth0;
    const cf_tnode *node; /* for loop() */
    cf_tact *outer;
};

struct cf_tcycler {
    cf_tlist *items; /* joiner: the separator */
    uint32_t pos;
    bool is_used;
};

/* Runs the whole template; false on error. */
bool cf_t__run(cf_tr *r);
cf_tv cf_t__eval(cf_tr *r, const cf_tnode *n);
/* Runs statements; false on error.  r->flow says whether break or continue
 * ended them. */
bool cf_t__exec(cf_tr *r, const cf_tbody *body);
cf_tv cf_t__macro_call(cf_tr *r, const cf_tmacro *m, const cf_targs *args, cf_tv caller);
/* loop(items), of a recursive loop */
cf_tv cf_t__loop_call(cf_tr *r, cf_tloop *loop, const cf_targs *args);
/* loop.cycle(...) and loop.changed(...) */
enum { CF_LOOP_CYCLE, CF_LOOP_CHANGED };
cf_tv cf_t__loop_method(cf_tr *r, cf_tloop *loop, int id, const cf_targs *args);
/* Runs {% call %}; `caller` is its block, as a macro. */
cf_tv cf_t__eval_call_block(cf_tr *r, const cf_tnode *n, cf_tv caller);
/* An attribute of loop; CF_TMISSING. */
cf_tv cf_t__loop_attr(cf_tr *r, cf_tloop *loop, cf_str name);
bool cf_t__assign(cf_tr *r, const cf_tnode *target, cf_tv v);
/* Slices by Python's rules; any of the bounds may be CF_TNONE. */
cf_tv cf_t__slice(cf_tr *r, cf_tv obj, cf_tv from, cf_tv to, cf_tv step);
cf_tv cf_t__binary(cf_tr *r, int op, cf_tv a, cf_tv b);
cf_tv cf_t__tilde(cf_tr *r, const cf_tv *v, uint32_t n);
bool cf_t__loop_init(cf_tr *r, cf_tloop *loop, cf_tv src);
int cf_t__loop_next(cf_tr *r, cf_tloop *loop, cf_tv *out);

#endif
