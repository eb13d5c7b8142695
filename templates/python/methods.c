/*
 * methods.c - finding a method by name, and by the type it is called on.
 *
 * Each type has a table of names and functions.  The number of a method is
 * the table (from bit TABLE_SHIFT on) and the position of the first row with
 * its name in all tables, so that a method is one row and nothing else.
 */
#include "templates/python/methods.h"

#include "templates/language/state.h"

static const cf_tmethod_entry *const tables[] = {
    cf_t__str_methods,   cf_t__markup_methods, cf_t__bytes_methods, cf_t__list_methods,
    cf_t__tuple_methods, cf_t__dict_methods,   cf_t__int_methods,   cf_t__float_methods,
    cf_t__range_methods, cf_t__view_methods,   cf_t__char_methods,
};

enum { N_TABLES = sizeof tables / sizeof *tables, TABLE_SHIFT = 8, STR_TABLE = 0, CHAR_TABLE = 10 };

const cf_tmethod_entry *cf_t__method_table(size_t i)
{
    return i < N_TABLES ? tables[i] : NULL;
}

int cf_t__method_find(cf_str name)
{
    for (int t = 0; t < N_TABLES; t++) {
        for (int i = 0; tables[t][i].name != NULL; i++) {
            if (cf_t__is_called(name, tables[t][i].name)) {
                return t << TABLE_SHIFT | i;
            }
        }
    }
    return -1;
}

const char *cf_t__method_name(int id)
{
    return tables[id >> TABLE_SHIFT][id & ((1 << TABLE_SHIFT) - 1)].name;
}

static int table_of(cf_tv v)
{
    switch (v.k) {
    case CF_TSTR:
        return v.u.s->is_markup ? 1 : 0;
    case CF_TBYTES:
        return 2;
    case CF_TLIST:
        return 3;
    case CF_TTUPLE:
        return 4;
    case CF_TDICT:
        return 5;
    case CF_TBOOL:
    case CF_TINT:
    case CF_TBIG:
        return 6;
    case CF_TFLOAT:
        return 7;
    case CF_TRANGE:
        return 8;
    case CF_TVIEW:
        return 9;
    default:
        return -1;
    }
}

static cf_tmethod_fn find_fn(cf_tv self, int id)
{
    int t = table_of(self);
    if (t < 0 || id < 0) {
        return NULL;
    }
    int of = id >> TABLE_SHIFT;
    if (t == of || (t == STR_TABLE && of == CHAR_TABLE)) {
        t = of;
        return tables[t][id & ((1 << TABLE_SHIFT) - 1)].fn;
    }
    const char *name = cf_t__method_name(id);
    for (int i = 0; tables[t][i].name != NULL; i++) {
        if (strcmp(tables[t][i].name, name) == 0) {
            return tables[t][i].fn;
        }
    }
    /* Markup has the methods of str as well. */
    return t == 1 ? find_fn((cf_tv){.k = CF_TSTR, .u.s = &(cf_tstr){.is_markup = false}}, id)
                  : NULL;
}

bool cf_t__method_has(cf_tv self, int id)
{
    return find_fn(self, id) != NULL;
}

static bool is_one_of(int id, const char *const *names)
{
    const char *name = cf_t__method_name(id);
    for (; *names != NULL; names++) {
        if (strcmp(name, *names) == 0) {
            return true;
        }
    }
    return false;
}

/* The lists are those of jinja2 3.1.6's sandbox. */
bool cf_t__method_is_unsafe(cf_tv self, int id)
{
    static const char *const list[] = {"append", "clear",  "pop",    "reverse", "insert",
                                       "sort",   "extend", "remove", NULL};
    static const char *const dict[] = {"clear", "pop", "popitem", "setdefault", "update", NULL};
    return self.k == CF_TLIST   ? is_one_of(id, list)
           : self.k == CF_TDICT ? is_one_of(id, dict)
                                : false;
}

bool cf_t__method_mutates(int id)
{
    static const char *const names[] = {"append",  "reverse", "insert",     "sort",
                                        "extend",  "remove",  "clear",      "pop",
                                        "popitem", "update",  "setdefault", NULL};
    return id >= 0 && is_one_of(id, names);
}

cf_tv cf_t__method_call(cf_tr *r, cf_tv self, int id, const cf_targs *args)
{
    cf_tmethod_fn fn = find_fn(self, id);
    if (fn == NULL) {
        return cf_t__fail(r, "'%s' object has no attribute '%s'", cf_t__type_name(self),
                          cf_t__method_name(id));
    }
    return fn(r, self, args);
}

bool cf_t__arg_int(cf_tr *r, cf_tv v, int64_t *out)
{
    if (v.k == CF_TINT || v.k == CF_TBOOL) {
        *out = v.k == CF_TINT ? v.u.i : v.u.b;
        return true;
    }
    if (v.k == CF_TUNDEF) {
        cf_t__fail_undef(r, v);
    } else if (v.k == CF_TBIG) {
        cf_t__fail(r, "Python int too large to convert to C ssize_t");
    } else {
        cf_t__fail(r, "'%s' object cannot be interpreted as an integer", cf_t__type_name(v));
    }
    return false;
}

cf_tstr *cf_t__arg_str(cf_tr *r, cf_tv v)
{
    if (v.k == CF_TSTR) {
        return v.u.s;
    }
    cf_t__fail(r, "a string is expected, not '%s'", cf_t__type_name(v));
    return NULL;
}
