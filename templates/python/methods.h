/*
 * methods.h - the tables of methods, one a type, and what methods and filters
 * share.  How the language finds and calls a method is in language/call.h.
 *
 * Threads:  the tables are constant; a render belongs to one thread.
 * Memory:   values live in the render's arena.
 */
#ifndef CF_TEMPLATES_PYTHON_METHODS_H
#define CF_TEMPLATES_PYTHON_METHODS_H

#include "templates/language/call.h"

/* ---- by type (methods_str.c, methods_obj.c) ----------------------------- */

typedef cf_tv (*cf_tmethod_fn)(cf_tr *r, cf_tv self, const cf_targs *args);

typedef struct cf_tmethod_entry {
    const char *name;
    cf_tmethod_fn fn;
} cf_tmethod_entry;

/* False, and the error set, when str.what() was given arguments. */
bool cf_t__no_str_args(cf_tr *r, const char *what, const cf_targs *args);

/* Table i: str, Markup, bytes, list, tuple, dict, int, float, range, views, and
 * the rest of str; NULL past the last. */
const cf_tmethod_entry *cf_t__method_table(size_t i);

/* Each ends with a NULL name; a method is one row. */
extern const cf_tmethod_entry cf_t__str_methods[];
extern const cf_tmethod_entry cf_t__char_methods[]; /* str, too */
extern const cf_tmethod_entry cf_t__markup_methods[];
extern const cf_tmethod_entry cf_t__bytes_methods[];
extern const cf_tmethod_entry cf_t__list_methods[];
extern const cf_tmethod_entry cf_t__tuple_methods[];
extern const cf_tmethod_entry cf_t__dict_methods[];
extern const cf_tmethod_entry cf_t__int_methods[];
extern const cf_tmethod_entry cf_t__float_methods[];
extern const cf_tmethod_entry cf_t__range_methods[];
extern const cf_tmethod_entry cf_t__view_methods[];

/* Shared by methods and filters. */
/* max_n < 0: all */
cf_tv cf_t__replace(cf_tr *r, const cf_tstr *s, const cf_tstr *old, const cf_tstr *new_,
                    int64_t max_n);
cf_tv cf_t__capitalize(cf_tr *r, const cf_tstr *s);
cf_tv cf_t__center(cf_tr *r, const cf_tstr *s, int64_t width, const cf_tstr *fill);
cf_tlist *cf_t__split_lines(cf_tr *r, const cf_tstr *s, bool keep_ends);
cf_tv cf_t__join(cf_tr *r, const cf_tstr *sep, cf_tv items, bool convert);
cf_tv cf_t__unescape(cf_tr *r, const cf_tstr *s);
cf_tv cf_t__strip_tags(cf_tr *r, const cf_tstr *s);
/* An integer argument; false with the error set. */
bool cf_t__arg_int(cf_tr *r, cf_tv v, int64_t *out);
/* A string argument; NULL with the error set. */
cf_tstr *cf_t__arg_str(cf_tr *r, cf_tv v);
/* A new sorted list (stable); keys NULL: the items themselves. */
bool cf_t__sort(cf_tr *r, cf_tlist *items, cf_tlist *keys, bool reverse);

#endif
