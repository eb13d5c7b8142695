/*
 * call.h - arguments of a call, and the ways to make one: filters, tests,
 * methods, globals, text of values.
 *
 * This is all that the language asks of Python's part; templates/python has
 * the code, and includes the headers here, never the other way round.
 *
 * Threads:  a render belongs to one thread.
 * Memory:   values live in the render's arena.
 */
#ifndef CF_TEMPLATES_LANGUAGE_CALL_H
#define CF_TEMPLATES_LANGUAGE_CALL_H

#include "templates/language/text.h"

typedef struct cf_tkw {
    const cf_tstr *name;
    cf_tv val;
} cf_tkw;

typedef struct cf_targs {
    cf_tv *v; /* [n]; for filters and tests v[0] is what they apply to */
    uint32_t n;
    cf_tkw *kw; /* [n_kw] */
    uint32_t n_kw;
} cf_targs;

/*
 * Sorts arguments into parameters.  `names` lists them ("old new count");
 * the first n_must have to be there.  out[i] is CF_TMISSING where none was
 * given.  what: the function's name for messages.  false with the error set.
 */
bool cf_t__bind(cf_tr *r, const char *what, const char *names, uint32_t n_must,
                const cf_targs *args, cf_tv *out);

/* The same at the beginning of a function: declares a[n_all] for them, and
 * returns from it when they do not fit. */
#define CF_TBIND(what, names, n_must, n_all)            \
    cf_tv a[n_all];                                     \
    if (!cf_t__bind(r, what, names, n_must, args, a)) { \
        return CF_TV_ERR;                               \
    }

typedef cf_tv (*cf_tfn)(cf_tr *r, const cf_targs *args);

/* Tables end with a NULL name. */
typedef struct cf_tfn_entry {
    const char *name;
    cf_tfn fn;
} cf_tfn_entry;

/* Whether `name` is `known`; most differ in their first letter. */
static inline bool cf_t__is_called(cf_str name, const char *known)
{
    return name.n != 0 && name.p[0] == known[0] && cf_str_is(name, known);
}

/* Index into the table, or -1. */
int cf_t__filter_find(cf_str name);
int cf_t__test_find(cf_str name);
cf_tv cf_t__filter_call(cf_tr *r, int id, const cf_targs *args);
/* CF_TBOOL or CF_TERR */
cf_tv cf_t__test_call(cf_tr *r, int id, const cf_targs *args);

/* By name, as map() and select() do; unknown names fail. */
cf_tv cf_t__filter_by_name(cf_tr *r, cf_tv name, const cf_targs *args);
cf_tv cf_t__test_by_name(cf_tr *r, cf_tv name, const cf_targs *args);

/* ---- methods ------------------------------------------------------------ */

/* Number of the method called `name` (of any type), -1 when there is none. */
int cf_t__method_find(cf_str name);

/* Whether values like `self` have method `id`. */
bool cf_t__method_has(cf_tv self, int id);

/* Whether it changes a list or dict and the sandbox therefore forbids it. */
bool cf_t__method_is_unsafe(cf_tv self, int id);
/* Whether it changes a list or dict at all. */
bool cf_t__method_mutates(int id);

const char *cf_t__method_name(int id);

/* self.id(args) */
cf_tv cf_t__method_call(cf_tr *r, cf_tv self, int id, const cf_targs *args);

/* str.strip(), lstrip(), rstrip(); chars NULL: blanks. */
cf_tv cf_t__strip(cf_tr *r, const cf_tstr *s, const cf_tstr *chars, bool left, bool right);
/* str.upper(), lower() ... */
cf_tv cf_t__map_str(cf_tr *r, const cf_tstr *s, cf_tcase how);

/* ---- calls and attributes ----------------------------------------------- */

/* Calls any value.  caller: CF_TMISSING or the block of {% call %}. */
cf_tv cf_t__call(cf_tr *r, cf_tv fn, const cf_targs *args);

/* obj.name (attribute first) and obj[key] (item first), as jinja2's sandbox
 * does them; undefined values where there is nothing. */
cf_tv cf_t__getattr(cf_tr *r, cf_tv obj, cf_tv name);
cf_tv cf_t__getitem(cf_tr *r, cf_tv obj, cf_tv key);
/* The same where the method called `name` was looked up before (-1: there is
 * none of that name). */
cf_tv cf_t__getattr_id(cf_tr *r, cf_tv obj, cf_tv name, int id);
cf_tv cf_t__getitem_id(cf_tr *r, cf_tv obj, cf_tv key, int id, bool has_id);
/* The attribute alone; CF_TMISSING where there is none. */
cf_tv cf_t__attribute(cf_tr *r, cf_tv obj, const cf_tstr *name);
/* getitem along "a.b.0" (numbers are indices); a number is one step. Where a
 * step gives nothing, `otherwise` (CF_TMISSING, none: nothing) takes its
 * place and the path goes on from there. */
cf_tv cf_t__path(cf_tr *r, cf_tv obj, cf_tv path, cf_tv otherwise);

/* The global called `name`; CF_TMISSING. */
cf_tv cf_t__global(cf_str name);
cf_tv cf_t__global_call(cf_tr *r, int id, const cf_targs *args);
/* Python's name of it when it is a class; NULL: it is a function. */
const char *cf_t__global_class(int id);

/* ---- values as text ----------------------------------------------------- */

/* Appends str(v) or repr(v). */
void cf_t__add_str(cf_tsb *b, cf_tv v);
void cf_t__add_repr(cf_tsb *b, cf_tv v);
/* ascii(v): repr with all beyond ASCII escaped. */
cf_tv cf_t__ascii(cf_tr *r, cf_tv v);
/* str(v), which is v itself for a string. */
cf_tv cf_t__to_str(cf_tr *r, cf_tv v);
/* As str(v), but Markup stays Markup. */
cf_tv cf_t__soft_str(cf_tr *r, cf_tv v);
/* HTML escaping of str(v), unless it is Markup; Markup. */
cf_tv cf_t__escape(cf_tr *r, cf_tv v);

/* "..." % v, "...".format(...), format(v, spec) */
cf_tv cf_t__percent(cf_tr *r, const cf_tstr *format, cf_tv arg);
cf_tv cf_t__str_format(cf_tr *r, const cf_tstr *format, const cf_targs *args);
void cf_t__add_format(cf_tsb *b, cf_tv v, const cf_tstr *spec);

/* strftime of the render's clock. */
cf_tv cf_t__strftime(cf_tr *r, const cf_tstr *format);

/* json.dumps; indent CF_TNONE: one line; separators CF_TMISSING: default. */
typedef struct cf_tjson {
    bool ensure_ascii, sort_keys;
    cf_tv indent; /* CF_TNONE, number or string */
    cf_tv item_sep, key_sep;
} cf_tjson;
cf_tv cf_t__to_json(cf_tr *r, cf_tv v, const cf_tjson *how);

#endif
