/*
 * prompt_part.h - the parts of a conversation and of its prompt, both without some
 * of them, and groups of parts that hide each other's effect.
 *
 * Place in the flow:  messages and tools --> [parts] --> prompts without some of
 *                     them --> a reply scored again.
 * Knows: contexts, what a template writes.  Does not know: how a reply is scored.
 *
 * Threads:  pure functions, but for what renders.
 * Memory:   lists and texts live in the arena given; JSON is a new reference.
 */
#ifndef CF_TEMPLATES_PROMPT_PART_H
#define CF_TEMPLATES_PROMPT_PART_H

#include "core/api/backend.h"
#include "core/json/json_writer.h"

CF_BEGIN_DECLS

typedef enum cf_part_kind {
    CF_PART_MESSAGE,
    CF_PART_TOOL,     /* a declaration */
    CF_PART_SENTENCE, /* of a message's content */
    CF_PART_WORD,     /* likewise */
    CF_PART_FIELD,    /* of a declaration: its description, a parameter */
    CF_PART_PIECE,    /* what one place of the template writes */
    CF_PART_KINDS
} cf_part_kind;

/* "message", "tool", "sentence", "word", "field", "template" */
const char *cf_part_kind_name(cf_part_kind kind);
/* False when there is no such kind. */
bool cf_part_kind_parse(cf_part_kind *out, cf_str name);
/* Bits by cf_part_kind of several names with commas between; "" is none.
 * CF_EINVAL, which begins with `what`. */
CF_MUST_USE cf_status cf_part_kinds_read(uint32_t *out, const char *text, const char *what,
                                         cf_error *err);

enum { CF_PARTS_MAX = 4096 };

typedef struct cf_part {
    cf_part_kind kind;
    size_t index;       /* of the message or tool; of a sentence or word in its
                       message; of a piece in the order of the prompt */
    size_t message;     /* of a sentence or word */
    size_t item;        /* of a sentence: which item of the content's list;
                       SIZE_MAX: the content is a string */
    size_t off, len;    /* of a sentence: bytes of that text; of a piece: bytes
                        of the prompt, the first that it wrote */
    uint32_t line, col; /* of a piece: in the template */
    cf_str path;        /* of a field: "description", "parameters.city" */
    cf_str text;        /* its text, or the beginning of it */
} cf_part;

/* Writes where it is as members of an object: "index", and "message", "path" or
 * "line" and "column" where its kind has them. */
void cf_part_write(const cf_part *part, cf_jw *w);

/* Whether the second part is inside the first. */
bool cf_part_contains(const cf_part *outer, const cf_part *inner);

/* Whether byte `off` of the prompt shows the part. */
bool cf_parts_has_byte(const cf_prompt *prompt, const cf_part *part, size_t off);

/* ---- contexts ----------------------------------------------------------- */

/* Messages, tools and variables of one prompt; borrowed, each but messages may
 * be NULL. */
typedef struct cf_part_context {
    const json_t *messages, *tools, *extra;
    bool as_is; /* the messages reach the template as they are */
} cf_part_context;

/* Its prompt, by the backend's own template.  `options` may be NULL. */
CF_MUST_USE cf_status cf_part_context_render(cf_backend *backend, const cf_part_context *context,
                                             const cf_chat_options *options, cf_arena *arena,
                                             cf_prompt *out, cf_error *err);

typedef struct cf_part_choice {
    uint32_t kinds; /* bits by cf_part_kind */
    size_t message; /* sentences and words of this one only; SIZE_MAX: all */
    size_t tool;    /* fields of this one only; SIZE_MAX: all */
} cf_part_choice;

typedef struct cf_part_list {
    cf_part *v;
    size_t n, cap;
} cf_part_list;

/* Appends all parts of these kinds, kind by kind; the list's array is freed with
 * cf_free(), also after a failure.  `prompt` is of the whole context; NULL has no
 * pieces.  CF_ELIMIT past CF_PARTS_MAX, CF_ENOMEM. */
CF_MUST_USE cf_status cf_parts_add(cf_part_list *out, const cf_part_choice *choice,
                                   const cf_part_context *context, const cf_prompt *prompt,
                                   cf_arena *arena, cf_error *err);

/* What is changed in a context or its prompt: parts that do not lie in each other,
 * each left out, or replaced by the same part of `other` (the same kind, number and
 * role). */
typedef struct cf_part_set {
    const cf_part **part; /* [n], sorted by the functions that take it */
    size_t n;
    const cf_part_context *other; /* NULL: they are left out */
    bool empties;                 /* messages stay, without content */
} cf_part_set;

/* A context with references of its own, released by cf_parts_drop().
 * CF_EUNSUPPORTED for what a template writes, CF_ENOTFOUND where `other` has no such part. */
CF_MUST_USE cf_status cf_parts_apply(cf_part_context *out, const cf_part_context *context,
                                     const cf_part_set *set, cf_error *err);
void cf_parts_drop(cf_part_context *changed);

/* What a prompt is rendered from and with. */
typedef struct cf_part_render {
    cf_backend *backend;
    const cf_chat_options *options; /* may be NULL */
    const cf_part_context *context;
    const cf_prompt *whole; /* of the context */
    cf_arena *arena;        /* gets the prompts */
} cf_part_render;

/*
 * The prompt with the set's change.  A template that refuses a conversation without
 * a message, or writes nothing of it, gets it without content, and *is_emptied
 * says so.  Errors of cf_parts_apply() and the template.
 */
CF_MUST_USE cf_status cf_parts_prompt(cf_prompt *out, const cf_part_render *from,
                                      const cf_part_set *set, bool *is_emptied, cf_error *err);

/* ---- groups ------------------------------------------------------------- */

/* Of a part left out alone. */
typedef struct cf_part_effect {
    const cf_part *part;
    bool is_known;
    double delta; /* of the reply's log-likelihood: below zero the part raised it */
} cf_part_effect;

/* What is lost without all of row[0..n): `with` - `without`; 0 where that cannot be
 * asked. */
typedef cf_status (*cf_part_cost_fn)(void *ud, const size_t *row, size_t n, double *cost,
                                     cf_error *err);

typedef struct cf_part_grouping {
    const cf_part_effect *effect; /* [n] */
    size_t n;
    cf_part_cost_fn fn;
    void *ud;
    cf_arena *arena; /* gets the groups' lists */
} cf_part_grouping;

typedef enum cf_part_group_kind {
    CF_GROUP_EITHER, /* each suffices: only without all of them the reply is lost */
    CF_GROUP_BOTH,   /* without either it is lost */
    CF_GROUP_SOME    /* `need` of them suffice */
} cf_part_group_kind;

/* "either", "both", "some" */
const char *cf_part_group_name(cf_part_group_kind kind);

typedef struct cf_part_group {
    cf_part_group_kind kind;
    const size_t *row; /* [n] indices of effects */
    size_t n, need;
    double delta; /* of all of them together */
} cf_part_group;

enum { CF_PART_GROUPS_MAX = 8 };

/* Finds out[0..*n_out).  Errors of `fn`; CF_ENOMEM. */
CF_MUST_USE cf_status cf_part_groups_find(cf_part_group out[CF_PART_GROUPS_MAX], size_t *n_out,
                                          const cf_part_grouping *of, cf_error *err);

CF_END_DECLS

#endif
