/*
 * tool_values.h - the text between two tags as a value of the declared type.
 */
#ifndef CF_CORE_TOOLS_TOOL_VALUES_H
#define CF_CORE_TOOLS_TOOL_VALUES_H

#include "core/tools/tool_rules.h"

enum { CF_TOOL_KEY_MAX = 1024 }; /* bytes of an argument's name, or of its attribute */

/* Types of JSON Schema, as bits. */
enum {
    CF_IS_STRING = 1,
    CF_IS_INTEGER = 2,
    CF_IS_NUMBER = 4,
    CF_IS_BOOLEAN = 8,
    CF_IS_ARRAY = 16,
    CF_IS_OBJECT = 32,
    CF_IS_NULL = 64,
    CF_IS_ANY = 127
};

/* The types that `schema`, a part of `root`, allows; 0 where it does not say. */
unsigned cf_tool__types(const json_t *root, const json_t *schema);

/* The schema of a member or of the items of what `schema` describes; NULL where
 * it declares none.  Borrowed. */
const json_t *cf_tool__member_schema(const json_t *root, const json_t *schema, cf_str key);
const json_t *cf_tool__items_schema(const json_t *root, const json_t *schema);

/* Writes the value whose text is e->p[off..end).  `attr` is the attribute of its
 * tag, empty where the syntax has none; `bits` are its types, 0 if unknown. */
bool cf_tool__text_value(cf_tool__emit *e, const cf_tool__syntax *y, size_t off, size_t end,
                         cf_str attr, unsigned bits);

/* ---- values in nested tags (tool_nested.c) ------------------------------ */

/* Writes the object whose members `w` walks over, from CF_WALK_NEXT to
 * CF_WALK_DONE; each is of the type that `schema`, a part of `root`, declares. */
bool cf_tool__nested_object(cf_tool__emit *e, const cf_tool__syntax *y, cf_tool__walk *w,
                            bool closed, const json_t *root, const json_t *schema);

/* Whether `text` reads as the value `json` (canonical text) where nothing
 * declares it; *oom is set when memory runs out. */
bool cf_tool__nested_is(const cf_tool__syntax *y, cf_str text, cf_str json, bool *oom);

#endif
