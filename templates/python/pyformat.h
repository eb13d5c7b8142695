/*
 * pyformat.h - how a value is formatted: the specification that format(),
 * str.format and % share, and the functions that follow it.
 *
 * Private to templates/python.
 *
 * Memory:   what is made lives as long as the run of the template.
 */
#ifndef CF_TEMPLATES_PYTHON_PYFORMAT_H
#define CF_TEMPLATES_PYTHON_PYFORMAT_H

#include "templates/python/methods.h"

/* The greatest width and precision of a field. */
enum { CF_TFIELD_MAX = 100000, CF_TDIGITS_MAX = 1000 };

/* [[fill]align][sign][z][#][0][width][grouping][.precision][type] */
typedef struct cf_tspec {
    char fill[4];
    uint32_t fill_n;
    char align, sign, type, group;
    bool alt, no_neg_zero;
    bool zero_align;          /* '=' because of a leading 0, not said */
    int64_t width, precision; /* -1: not given */
} cf_tspec;

/* The decimal number at s[*at], which moves past it; -1 where there is none.
 * False with the error set for one above `most`. */
bool cf_t__spec_number(cf_tr *r, const cf_tstr *s, uint32_t *at, int64_t *out, int64_t most);

/* s, padded to the width; `align` is '<', '>' or '^'. */
void cf_t__pad_str(cf_tsb *b, const cf_tspec *f, const cf_tstr *s, char align);

/* v, an integer or a boolean, by a type of b, d, o, x or X. */
void cf_t__add_int(cf_tsb *b, cf_tspec *f, cf_tv v);

/* d by a type of e, f, g, %, or none; its bytes come from `org`. */
void cf_t__add_float(cf_tsb *b, cf_tspec *f, double d, uint32_t org);

/* The character whose number is v. */
void cf_t__add_char(cf_tsb *b, cf_tspec *f, cf_tv v);

#endif
