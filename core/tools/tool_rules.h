/*
 * tool_rules.h - how each family marks where a call starts and ends.
 *
 * A family is a list of rules.  A rule says how a block starts, which lexer
 * finds its end (so that an end fence inside a string does not count), and
 * which grammar reads its body.
 */
#ifndef CF_CORE_TOOLS_TOOL_RULES_H
#define CF_CORE_TOOLS_TOOL_RULES_H

#include "core/tools/tool_emit.h"

typedef enum cf_tool__rule_kind {
    CF_RULE_FENCE,       /* start and end literal */
    CF_RULE_CODE_FENCE,  /* the same, the start followed by a space */
    CF_RULE_MARKDOWN,    /* ``` or ```json around a JSON call or list */
    CF_RULE_BARE_LIST,   /* a JSON list of calls at the start of a line */
    CF_RULE_BARE_OBJECT, /* a JSON call */
    CF_RULE_BARE_PYTHON, /* [f(x=1)] at the start of a line */
    CF_RULE_MISTRAL,     /* [TOOL_CALLS] and JSON, or name and JSON */
    CF_RULE_PREFIX,      /* a literal, then a JSON list */
    CF_RULE_MARKER,      /* a control token of its own */
    CF_RULE_SEPARATOR    /* ';' between two calls */
} cf_tool__rule_kind;

typedef enum cf_tool__lexer {
    CF_LEX_JSON,
    CF_LEX_PYTHON,
    CF_LEX_FC
} cf_tool__lexer;

typedef struct cf_tool__rule {
    cf_tool__rule_kind kind;
    cf_tool__lexer lexer;
    const char *start, *end; /* literals; end NULL: brackets in balance */
} cf_tool__rule;

/* A block that was opened. */
typedef struct cf_tool__block {
    const cf_tool__rule *rule;
    size_t off;                                /* where it starts */
    size_t body_off;                           /* behind the start fence */
    size_t name_off, name_len, id_off, id_len; /* Mistral's named form */
    bool is_named;
    bool is_sure;  /* a body that does not parse is a failed block, not text */
    bool is_empty; /* nothing to read: `expected` says what was missing */
    const char *expected;
} cf_tool__block;

typedef enum cf_tool__match {
    CF_MATCH_NO,
    CF_MATCH_YES,
    CF_MATCH_MORE /* the bytes so far do not decide it */
} cf_tool__match;

/* The rules of a family, ended by a NULL start. */
const cf_tool__rule *cf_tool__rules(cf_tool_family family);

/*
 * Whether `rule` opens a block at raw[i].  `fresh` is the offset from which
 * on only text came (0, or the end of the last block): a line also starts
 * there.  With is_final, bytes that are missing will not come.
 */
cf_tool__match cf_tool__match_rule(const cf_tool__rule *rule, cf_str raw,
                                   size_t i, size_t fresh, bool is_final,
                                   const cf_tool_set *tools,
                                   cf_tool__block *out);

/* Reads the body of a block with its grammar. */
bool cf_tool__parse_body(cf_tool__emit *e, const cf_tool__block *block,
                         const cf_tool_set *tools);

/* Looks for the nearest text of a failed block that parses.  Both strings
 * live in the arena and are empty when none was found. */
void cf_tool__repair(cf_str raw, const cf_tool__block *block, size_t body_end,
                     size_t end, const cf_tool_set *tools, cf_arena *arena,
                     cf_str *repair, cf_str *how);

/* Checks one call against the declarations and adds what it finds. */
typedef struct cf_tool__findings {
    cf_tool_finding *v;
    size_t n, cap;
    cf_arena *arena;
} cf_tool__findings;
void cf_tool__finding_add(cf_tool__findings *f, const cf_tool_finding *finding);
void cf_tool__validate(const cf_tool_call *call, size_t index,
                       const cf_tool_set *tools, cf_tool__findings *out);

/* obj[key] as a schema type in lower case ("dict" and "float" and their like
 * as JSON Schema's words). */
const char *cf_tool__schema_type(cf_str name);

#endif
