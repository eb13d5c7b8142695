/*
 * parse.h - what the two halves of the parser share.
 */
#ifndef CF_TEMPLATES_LANGUAGE_PARSE_H
#define CF_TEMPLATES_LANGUAGE_PARSE_H

#include <stdio.h>

#include "templates/language/ast.h"

enum { PARSE_DEPTH = 120 };

typedef struct cf_tparser {
    cf_tr *r;
    cf_template *tpl;
    const cf_tok *t;  /* the current token */
    cf_tdict *blocks; /* names of the blocks so far; NULL: none */
    int depth;
    uint32_t tag_pos, tag_end; /* of the innermost open block's tag */
} cf_tparser;

enum {
    CF_PARSE_NO_COND = 1,       /* "a if b" is not taken */
    CF_PARSE_END_RECURSIVE = 2, /* the word "recursive" ends a tuple */
    CF_PARSE_PARENTHESES = 4    /* an empty tuple is allowed */
};

/* All return NULL or false with the error set. */
cf_tnode *cf_t__node(cf_tparser *p, cf_nkind kind, uint32_t pos);
bool cf_t__vec_add(cf_tparser *p, cf_tbody *vec, cf_tnode *n);
bool cf_t__is_name(const cf_tparser *p, const char *word);
bool cf_t__skip_name(cf_tparser *p, const char *word);
bool cf_t__skip(cf_tparser *p, cf_toktype type);
bool cf_t__expect(cf_tparser *p, cf_toktype type, const char *what);
/* "WHAT, got 'token'" */
bool cf_t__parse_fail(cf_tparser *p, const char *what);
bool cf_t__deeper(cf_tparser *p);

cf_tnode *cf_t__parse_expr(cf_tparser *p);
cf_tnode *cf_t__parse_tuple(cf_tparser *p, unsigned how);
/* Filters applied to `value`; bare: the first one has no "|" before it. */
cf_tnode *cf_t__parse_filters(cf_tparser *p, cf_tnode *value, bool bare);
/* A name, or names with commas between. Behind a last comma only the end of
 * the tag or a parenthesis may come: "for x, in y" is an error. */
cf_tnode *cf_t__parse_target(cf_tparser *p, bool with_namespace);

#endif
