/*
 * schema.h - JSON Schema to a grammar, by way of a disjunctive normal form.
 *
 * A "conj" is a set of schemas (each with a sign) that must all hold at one
 * place; it is what a property's or an item's value must satisfy.  Expanding
 * it gives a list of atoms of which one must hold; an atom describes values
 * of one type completely, with conjs for what is inside.  A conj becomes one
 * rule of the grammar, so recursion in the schema is recursion of rules.
 *
 * Nothing is approximated from above: what cannot be expressed fails with
 * CF_EUNSUPPORTED and the path in the schema.
 *
 * Room-internal.
 */
#ifndef CF_CORE_SCHEMA_SCHEMA_H
#define CF_CORE_SCHEMA_SCHEMA_H

#include "core/base/arena.h"
#include "core/regex/regex.h"

typedef uint32_t cf_conj; /* index; CF_CONJ_TRUE and CF_CONJ_FALSE are fixed */

enum { CF_CONJ_TRUE = 0, CF_CONJ_FALSE = 1 };

/* A decimal number, exactly. */
typedef struct cf_dec {
    bool neg;
    const char *whole; /* digits without leading zeros */
    const char *frac;  /* digits without trailing zeros */
    uint32_t n_whole, n_frac;
} cf_dec;

typedef enum cf_atom_kind {
    CF_ATOM_NULL,
    CF_ATOM_BOOL,
    CF_ATOM_NUM,
    CF_ATOM_STR,
    CF_ATOM_ARR,
    CF_ATOM_OBJ,
    CF_ATOM_LIT
} cf_atom_kind;

typedef enum cf_num_kind { CF_NUM_ANY, CF_NUM_INT, CF_NUM_NOT_INT } cf_num_kind;

typedef struct cf_prop {
    cf_str name;
    cf_conj value;
    bool is_required;
} cf_prop;

/* A class of undeclared keys, with the constraint on their values. */
typedef struct cf_key_class {
    cf_rx keys;
    cf_conj value;
} cf_key_class;

/* If the key `has` is present, the key `needs` must be too. */
typedef struct cf_dep {
    cf_str has, needs;
} cf_dep;

/* Between min and max items satisfy `value`. */
typedef struct cf_some {
    cf_conj value;
    uint32_t min, max; /* max: CF_RX_INF: no limit */
} cf_some;

typedef struct cf_atom {
    uint8_t kind;
    bool is_narrowed; /* narrower than the schema, so it must not be negated */
    uint8_t bools;    /* BOOL: 1 false, 2 true */
    /* NUM */
    uint8_t num; /* cf_num_kind */
    bool lo_open, hi_open;
    const cf_dec *lo, *hi;           /* NULL: none */
    const cf_dec *const *factor;     /* multiples of each */
    const cf_dec *const *not_factor; /* multiples of none of these */
    const cf_dec *const *except;     /* not these */
    uint32_t n_factor, n_not_factor, n_except;
    /* STR: texts; ARR: items; OBJ: keys */
    uint32_t min, max; /* CF_RX_INF: no limit */
    cf_rx text;        /* STR: all these are allowed */
    cf_rx wide;        /* STR: all others are not; the same where a format is
                          known exactly */
    /* ARR */
    const cf_conj *prefix;
    uint32_t n_prefix;
    cf_conj items; /* after the prefix */
    bool is_unique;
    const cf_some *some; /* [n_some] each must hold */
    uint32_t n_some;
    /* OBJ */
    const cf_prop *prop;
    uint32_t n_prop;
    const cf_key_class *cls;
    uint32_t n_cls;
    const cf_dep *dep;
    uint32_t n_dep;
    const cf_key_class *some_key; /* [n_some_key] of each at least one key */
    uint32_t n_some_key;
    bool is_mixed; /* properties of several schemas: their order is unknown */
    /* What has been evaluated; only where s->has_unevaluated */
    cf_rx seen_keys;          /* OBJ, LIT */
    uint32_t n_seen;          /* ARR, LIT: so many items; CF_RX_INF: all */
    const cf_conj *seen_some; /* [n_seen_some] and those that satisfy one of these */
    uint32_t n_seen_some;
    const json_t *lit; /* LIT */
} cf_atom;

typedef struct cf_dnf {
    const cf_atom **v; /* [n], in the arena */
    size_t n, cap;
} cf_dnf;

/* A schema with a URI of its own, or the root of a document. */
typedef struct cf_resource {
    const json_t *s;
    const char *uri; /* what its references are resolved against; no fragment */
    const char *at;  /* where the document was found; NULL: as uri */
    const char *id;  /* as written; NULL: none */
    uint32_t doc;    /* the resource that is the document's root */
} cf_resource;

/* A name for a schema inside a resource. */
typedef struct cf_anchor {
    const json_t *s;
    const char *name; /* "": of "$recursiveAnchor" */
    uint32_t home;    /* the resource */
    bool is_dynamic;
} cf_anchor;

/* A dynamic scope: the resources entered that define dynamic anchors not
 * defined further out.  Number 0 is empty. */
typedef struct cf_scope {
    uint32_t outer; /* the scope around it */
    uint32_t home;  /* the resource */
} cf_scope;

typedef struct cf_schema_ref {
    const json_t *s;
    uint32_t home;         /* the resource it lies in */
    uint32_t scope;        /* the dynamic scope it is read in */
    const char *path;      /* for errors; in the arena */
    const cf_conj *either; /* [n_either] made here (s is NULL): one of these holds */
    uint32_t n_either;
    const cf_atom *own[6]; /* by kind, once read */
} cf_schema_ref;

typedef struct cf_conj_info {
    uint32_t first, n; /* into list: schema << 1 | negated, sorted */
    uint32_t next;     /* hash chain */
    uint32_t rule;     /* 0: not yet */
    cf_dnf dnf;
    uint8_t state; /* 0 new, 1 being expanded, 2 done */
} cf_conj_info;

/* A rule for strings or numbers, shared by all equal ones. */
typedef struct cf_leaf {
    cf_rx text;
    uint32_t min, max;
    const cf_atom *num; /* NULL: a string */
    uint32_t rule;
} cf_leaf;

/* How values are spelled. */
typedef enum cf_dialect {
    CF_DIALECT_JSON,
    CF_DIALECT_PYTHON,    /* None, True, 'x' or "x", {"k": v} */
    CF_DIALECT_FC_ESCAPE, /* {k:<escape>x<escape>} */
    CF_DIALECT_FC_QUOTE   /* {k:<|"|>x<|"|>} */
} cf_dialect;

enum { CF_SCHEMA_HASH = 256, CF_ATOMS_MAX = 400 };

typedef struct cf_schema {
    cf_gbuild *b;
    cf_rx_pool rx;
    cf_arena arena;
    cf_grammar_options opts;
    json_t *made;          /* documents read, and schemas made for the parts of constants; owned */
    int draft;             /* 3, 4, 6, 7, 2019, 2020 */
    bool skips_validation; /* the metaschema leaves its vocabulary out */
    cf_dialect dialect;
    bool seed_order;      /* required keys first, in their order */
    bool is_tool;         /* types in capitals, "nullable", "any" are understood */
    bool has_wide;        /* a format so far is only approximated */
    bool has_unevaluated; /* some schema asks what others have evaluated */
    cf_resource *resource;
    size_t n_resource, cap_resource;
    cf_anchor *anchor;
    size_t n_anchor, cap_anchor;
    cf_scope *scope;
    size_t n_scope, cap_scope;
    cf_schema_ref *ref;
    size_t n_ref, cap_ref;
    cf_conj_info *conj;
    size_t n_conj, cap_conj;
    uint32_t *list;
    size_t n_list, cap_list;
    uint32_t conj_bucket[CF_SCHEMA_HASH];
    uint32_t ref_bucket[CF_SCHEMA_HASH];
    uint32_t *ref_next;
    size_t cap_ref_next;
    cf_leaf *leaf;
    size_t n_leaf, cap_leaf;
    cf_conj *pending; /* rules whose bodies are not made yet */
    size_t n_pending, cap_pending;
    uint32_t key_rule, string_rule;
    unsigned depth;
    const char *at; /* path of what is being expanded, for errors */
} cf_schema;

/* ---- schema.c: schemas by number, and sets ------------------------------ */

void cf_schema_init(cf_schema *s, cf_gbuild *b, const json_t *root, const cf_grammar_options *opts);
void cf_schema_deinit(cf_schema *s);

/* Fails with the path of the schema at hand before the text. */
void cf_schema_fail(cf_schema *s, const char *path, const char *fmt, ...) CF_PRINTF(3, 4);
/* The same for a limit that was exceeded: CF_ELIMIT. */
void cf_schema__exceed(cf_schema *s, const char *path, const char *fmt, ...) CF_PRINTF(3, 4);
bool cf_schema_ok(const cf_schema *s);
void *cf_schema_alloc(cf_schema *s, size_t n, size_t size);

/* The bytes of a JSON string. */
static inline cf_str cf_schema__text(const json_t *v)
{
    return cf_str_make(json_string_value(v), json_string_length(v));
}

/* The number of a schema of resource `home`, or of the resource that it is,
 * read in a dynamic scope; its path is path + "/" + key. */
uint32_t cf_schema__number(cf_schema *s, const json_t *v, uint32_t home, uint32_t scope,
                           const char *path, const char *key);
/* The number of a schema found at parent's path + "/" + key. */
uint32_t cf_schema__child(cf_schema *s, uint32_t parent, const json_t *v, const char *key);
/* The number of a schema that is a document of its own. */
uint32_t cf_schema_root(cf_schema *s, const json_t *v, const char *path);
cf_conj cf_conj_one(cf_schema *s, uint32_t ref, bool negated);
cf_conj cf_conj__and(cf_schema *s, cf_conj a, cf_conj b);
cf_conj cf_conj__or(cf_schema *s, const cf_conj *v, uint32_t n);
cf_conj cf_conj__not(cf_schema *s, cf_conj c);

/* ---- schema_ref.c: documents and the references between them ------------- */

/* Notes the resources and anchors of a document that was found at `uri`; the
 * resource that is its root. */
uint32_t cf_schema__add_document(cf_schema *s, const json_t *v, const char *uri);
/* The resource that a schema with an id is; UINT32_MAX if it is none. */
uint32_t cf_schema__resource_of(cf_schema *s, const json_t *v);
/* Reads draft and vocabularies from what "$schema" of a document names. */
void cf_schema__read_dialect(cf_schema *s, const json_t *root);
/* The scope when a resource is entered. */
uint32_t cf_schema__enter(cf_schema *s, uint32_t scope, uint32_t home);

/* The keywords that refer to other schemas, in the order they are followed. */
enum { CF_REFERENCES = 3 };
/* The schema that a reference of `from` names; 0 if `from` has none of this
 * kind, and on failure. */
uint32_t cf_schema__target(cf_schema *s, uint32_t from, int kind);
/* Whether references are all that counts: "$ref" before 2019-09. */
bool cf_schema__is_alias(const cf_schema *s, const json_t *v);

/* ---- schema_meta.c ------------------------------------------------------ */

/* Whether the URI is below json-schema.org. */
bool cf_schema__is_official(const char *uri);
/* The metaschema of this URI, for the caller to release; NULL if it is none of
 * JSON Schema's, and on failure. */
json_t *cf_schema__metaschema(cf_schema *s, const char *uri);

/* ---- schema_keywords.c -------------------------------------------------- */

/* A keyword's value; of a tool's declaration also by its name with
 * underscores. */
json_t *cf_schema__get(const cf_schema *s, const json_t *v, const char *key);
/* Fails for keywords that are asserted and not understood, and for keywords
 * of another shape than they have. */
void cf_schema__refuse(cf_schema *s, uint32_t ref);
/* The allowed types: bit k for kind k, bit 6 for integers only. */
unsigned cf_schema__types(cf_schema *s, uint32_t ref);
/* The constraints of the schema's own keywords on values of one type; NULL
 * when the type is not allowed, and on failure. */
const cf_atom *cf_schema__own(cf_schema *s, uint32_t ref, cf_atom_kind kind);

/* ---- schema_expand.c, schema_atom.c, schema_not.c ----------------------- */

const cf_dnf *cf_conj_expand(cf_schema *s, cf_conj c);
/* True if certainly no value satisfies it; false may also mean "unknown". */
bool cf_conj__is_empty(cf_schema *s, cf_conj c, unsigned depth);

void cf_dnf__add(cf_schema *s, cf_dnf *d, const cf_atom *a);
cf_dnf cf_dnf__and(cf_schema *s, const cf_dnf *x, const cf_dnf *y);
cf_dnf cf_dnf__not(cf_schema *s, const cf_dnf *x, const char *path);
cf_atom *cf_atom__new(cf_schema *s, cf_atom_kind kind);
/* The set of one schema, {"enum": [v]}. */
cf_conj cf_conj__of_constant(cf_schema *s, const json_t *v);
/* The atom that allows exactly this object or array. */
cf_atom *cf_atom__of_constant(cf_schema *s, const json_t *v);
/* Adds that both x, which is in d, and y hold, where y has evaluated more. */
void cf_dnf__add_both(cf_schema *s, cf_dnf *d, const cf_atom *x, const cf_atom *y);
/* The atoms for all values, one for each type. */
cf_dnf cf_dnf__all(cf_schema *s);
/* NULL if the intersection is empty. */
const cf_atom *cf_atom__and(cf_schema *s, const cf_atom *x, const cf_atom *y);
/* Certainly satisfied by v (validate.c). */
bool cf_atom__accepts(cf_schema *s, const cf_atom *a, const json_t *v);
bool cf_conj__accepts(cf_schema *s, cf_conj c, const json_t *v);
bool cf_atom__is_empty(cf_schema *s, const cf_atom *a, unsigned depth);
/* The constraints on a key's value in an object atom. */
cf_conj cf_atom__key(cf_schema *s, const cf_atom *a, cf_str name);
/* The regular expression of a "format", CF_RX_FAIL when JSON Schema does not
 * define it (an annotation then); *wide holds every text of the format. */
cf_rx cf_schema__format(cf_schema *s, const char *name, cf_rx *wide);

/* ---- schema_unevaluated.c ----------------------------------------------- */

/* Applies "unevaluatedProperties" and "unevaluatedItems" of a schema to the
 * values that its other keywords allow. */
cf_dnf cf_dnf__unevaluated(cf_schema *s, uint32_t ref, cf_dnf d);

/* ---- schema_num.c ------------------------------------------------------- */

const cf_dec *cf_dec__from(cf_schema *s, const json_t *v);
int cf_dec__cmp(const cf_dec *a, const cf_dec *b);
/* Rounds d up to a whole number (is_low) or down; false if d is NULL or out of range. */
bool cf_dec__to_int(const cf_dec *d, bool is_low, int64_t *out);
bool cf_dec__is_multiple(const cf_dec *v, const cf_dec *of);
/* The automaton of a number atom's texts. */
void cf_num__dfa(cf_schema *s, const cf_atom *a, cf_dfa *out);

/* ---- schema_emit.c ------------------------------------------------------ */

/* The rule of a conj; its body is made later, by cf_schema_emit_all(). */
uint32_t cf_conj__rule(cf_schema *s, cf_conj c);
void cf_schema_emit_all(cf_schema *s);
/* The rule of a schema by itself, with its body, in a grammar that is being
 * built. */
uint32_t cf_schema__rule(cf_gbuild *b, const json_t *schema, const cf_grammar_options *opts);

/* White space between tokens of JSON: nodes from `from`; where they end. */
uint32_t cf_emit_gap(cf_schema *s, uint32_t from);
uint32_t cf_emit_colon(cf_schema *s, uint32_t from);
uint32_t cf_emit_comma(cf_schema *s, uint32_t from);
uint32_t cf_key__rule(cf_schema *s);
/* schema_array.c */
void cf_emit__array(cf_schema *s, const cf_atom *a, uint32_t from, uint32_t to);
/* Adds the end (`close`, as `op` limits it) and the comma that leads back to
 * the hub, for an object or an array of different values whose members are
 * `alt` operations in a row from `hub` to `after`. */
void cf_emit__hub_end(cf_schema *s, const cf_gop *op, uint32_t alt, uint32_t n_alt, uint32_t open,
                      uint32_t hub, uint32_t after, uint32_t close);
void cf_emit_object(cf_schema *s, const cf_atom *a, uint32_t from, uint32_t to);
/* The same as arguments of a call in Python: (name=value, ...). */
void cf_emit_arguments(cf_schema *s, const cf_atom *a, uint32_t from, uint32_t to);

/* ---- schema_raw.c ------------------------------------------------------- */

/* A value between tags, from `from` to `to`: a string as its own text, without
 * any of the stops; if a string is allowed, of the other types only null is. */
void cf_emit_between_tags(cf_schema *s, cf_conj value, const cf_str *stops, size_t n_stops,
                          uint32_t from, uint32_t to);

/* ---- schema_dialect.c --------------------------------------------------- */

/* A string constant. */
uint32_t cf_emit_text(cf_schema *s, uint32_t from, cf_str text);
/* The body of a string rule in a dialect that is not JSON. */
void cf_dialect__string(cf_schema *s, uint32_t rule, const cf_dfa *d);
/* The texts of `text` that the dialect can write. */
cf_rx cf_dialect__texts(cf_schema *s, cf_rx text);
/* "null", "true", "false". */
const char *cf_dialect__word(const cf_schema *s, int which);
static inline bool cf_dialect__is_fc(const cf_schema *s)
{
    return s->dialect == CF_DIALECT_FC_ESCAPE || s->dialect == CF_DIALECT_FC_QUOTE;
}

#endif
