/*
 * tool_rules.h - where a call starts and ends in a reply.
 *
 * A family's row lists rules.  A rule says how a block starts, which lexer
 * finds its end (so that an end literal inside a string does not count), and
 * with the row's syntax which grammar reads its body.
 */
#ifndef CF_CORE_TOOLS_TOOL_RULES_H
#define CF_CORE_TOOLS_TOOL_RULES_H

#include "core/tools/tool_emit.h"
#include "core/tools/tool_family.h"

enum { CF_TOOL_RULES_MAX = 32 };

/* A rule of a row with its literals, ready for use. */
typedef struct cf_tool__rule {
    cf_tool__rule_kind kind;
    cf_tool__lexer lexer;
    cf_str start, end; /* end empty: brackets in balance */
    cf_tool__place place;
    bool is_stray; /* MARKER: an end literal, nothing but space since a call */
    const cf_tool__syntax *syntax;
} cf_tool__rule;

/* The rules of a family; how many. */
size_t cf_tool__rules(cf_tool_family family, cf_tool__rule out[CF_TOOL_RULES_MAX]);

/* A block that was opened. */
typedef struct cf_tool__block {
    const cf_tool__rule *rule;
    size_t off;      /* where it starts */
    size_t body_off; /* after the start literal and the name */
    size_t name_off, name_len, id_off, id_len;
    bool is_named;  /* the name was read before the body */
    bool in_header; /* CALL: the name is still to be read */
    bool is_sure;   /* a body that does not parse is a failed block, not text */
    bool is_empty;  /* a section with nothing in it */
    bool is_bad;    /* nothing to read: */
    size_t err_off; /* what was expected, and where */
    char expected[96];
} cf_tool__block;

typedef enum cf_tool__match {
    CF_MATCH_NO,
    CF_MATCH_YES,
    CF_MATCH_MORE /* more bytes are needed to decide */
} cf_tool__match;

/* The reply as far as it is known. */
typedef struct cf_tool__view {
    cf_str raw;
    bool is_final; /* no more bytes will come */
    size_t fresh;  /* only text follows this offset: 0, or the end of a block */
    const cf_tool__rule *rules;
    size_t n_rules;
    const cf_tool_set *tools;
} cf_tool__view;

/* Whether `rule` opens a block at raw[i]. */
cf_tool__match cf_tool__match_rule(const cf_tool__view *view, const cf_tool__rule *rule, size_t i,
                                   cf_tool__block *out);

/*
 * Whether `text` is at raw[at]; *end is then after it.  White space in
 * `text` stands for any white space or none, a double quote for either quote.
 */
cf_tool__match cf_tool__literal(cf_str raw, size_t at, bool is_final, cf_str text, size_t *end);

/* raw[at..) is the beginning of `text` and no more: how many bytes, or 0. */
size_t cf_tool__partial(cf_str raw, size_t at, cf_str text);

/* Splits raw[off..end), the text between the start of a call and its
 * arguments, into name and id. */
void cf_tool__read_header(cf_str raw, size_t off, size_t end, cf_tool__block *block);

/* Reads the body of a block with its grammar.  `closed`: its end is there. */
bool cf_tool__parse_body(cf_tool__emit *e, const cf_tool__block *block, bool closed,
                         const cf_tool_set *tools);

/* ---- arguments between tags (tool_tags.c) ------------------------------- */

/* A walk over one call of CF_FORM_TAGS. */
typedef struct cf_tool__walk {
    size_t at; /* next byte to look at */
    enum {
        CF_WALK_NAME,
        CF_WALK_NEXT, /* an argument or the end of the call */
        CF_WALK_KEY,
        CF_WALK_VALUE,
        CF_WALK_DONE
    } state;
    size_t name_off, name_len;
    size_t key_off, key_len, attr_off, attr_len;
    size_t value_off, value_len;
    bool in_cdata;
    size_t depth; /* VALUE: open tags of the same name in it */
    size_t end;   /* DONE: after the closing literal */
    size_t err_off;
    char expected[96];
} cf_tool__walk;

typedef enum cf_tool__step {
    CF_STEP_ON,       /* something was read */
    CF_STEP_ARGUMENT, /* key and value are complete */
    CF_STEP_MORE,     /* more bytes are needed */
    CF_STEP_BAD       /* err_off and expected say why */
} cf_tool__step;

/* One step.  `closed`: raw ends where the call's closing literal stood. */
cf_tool__step cf_tool__walk_step(const cf_tool__syntax *y, cf_str raw, bool is_final, bool closed,
                                 cf_tool__walk *w);

/* One call from e->at on. */
bool cf_tool__tags_call(cf_tool__emit *e, const cf_tool__syntax *y, bool closed,
                        const cf_tool_set *tools);

/* The calls of a block that has not ended (tool_so_far.c); as
 * cf_tool_parser_so_far(). */
CF_MUST_USE cf_status cf_tool__so_far(const cf_tool__block *block, cf_str raw,
                                      const cf_tool_set *tools, cf_arena *arena,
                                      cf_tool_so_far **out, size_t *n, cf_error *err);

/* ---- the end of a block (tool_search.c) --------------------------------- */

/* How far the search for an open block's end has come.  It reads the header of
 * the block on its way, and marks it as bad. */
typedef struct cf_tool__search {
    cf_str raw;    /* the reply at the last look, */
    bool is_final; /* and whether all of it was there */
    cf_tool__block *block;
    size_t scan; /* the next byte to look at; body_off at first */
    struct {
        char quote;              /* of the open string, '\0' outside */
        bool is_long;            /* Python's triple quotes */
        size_t esc_off, esc_len; /* FC: the open escape marker */
        size_t depth;            /* open brackets */
        bool is_whole;           /* the last of them was closed just now */
    } lex;
    cf_tool__walk walk; /* of CF_LEX_TAGS; at body_off at first */
} cf_tool__search;

typedef enum cf_tool__found {
    CF_FOUND_NOT_YET,
    CF_FOUND_END,
    CF_FOUND_RESTART /* another start literal comes first, at `scan` */
} cf_tool__found;

/* Looks for the end from `scan` on.  *body_end and *end, which is after the
 * end literal, are set when it is there. */
cf_tool__found cf_tool__find_end(cf_tool__search *s, cf_str raw, bool is_final, size_t *body_end,
                                 size_t *end);

/* The first end literal of the reply at the last look, whether or not it seems
 * to be in a string; `scan` does not move. */
bool cf_tool__find_plain_end(cf_tool__search *s, size_t *body_end, size_t *end);

/* ---- after parsing ------------------------------------------------------ */

/* Looks for the nearest text of a failed block that parses.  Both strings
 * live in the arena and are empty when none was found. */
void cf_tool__repair(cf_str raw, const cf_tool__block *block, size_t body_end, size_t end,
                     const cf_tool_set *tools, cf_arena *arena, cf_str *repair, cf_str *how);

/* Checks one call against the declarations and adds what it finds. */
typedef struct cf_tool__findings {
    cf_tool_finding *v;
    size_t n, cap;
    cf_arena *arena;
} cf_tool__findings;
void cf_tool__finding_add(cf_tool__findings *f, const cf_tool_finding *finding);
void cf_tool__validate(const cf_tool_call *call, size_t index, const cf_tool_set *tools,
                       cf_tool__findings *out);

/* The schema of a tool's arguments as calls are checked and constrained by it:
 * objects that declare properties have no others unless they say so; with
 * `with_top` the arguments themselves too.  A new reference; NULL when memory
 * ran out. */
json_t *cf_tool__closed(const json_t *parameters, bool with_top);

/* obj[key] as a schema type in lower case ("dict" and "float" and their like
 * as JSON Schema's words). */
const char *cf_tool__schema_type(cf_str name);

#endif
