/*
 * bisect_items.h - a conversation as a list of items that a bisection compares:
 * messages line by line, tools, variables; and back.
 *
 * Place in the flow:  messages, tools, variables --> [items] --> bisect.h -->
 *                     items of a version --> a context to ask about.
 *
 * An item is a letter and JSON: 'h' a message whose content follows as items
 * 'l', a line each; 'm' a message without a text; 't' a tool; 'v' a variable.
 *
 * Threads:  one thread at a time.
 * Memory:   items own their text.
 */
#ifndef CF_TUI_STUDY_SHRINK_BISECT_ITEMS_H
#define CF_TUI_STUDY_SHRINK_BISECT_ITEMS_H

#include "core/base/buf.h"
#include "core/json/json.h"
#include "tui/study/ask/study_case.h"

#define CF_BISECT_HEAD 'h'

typedef struct cf_bisect_items {
    cf_buf text;
    cf_str *v; /* [n] lines of it, without their ends */
    size_t n;
} cf_bisect_items;

/* Splits a text that is there into lines.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_bisect_items_split(cf_bisect_items *it, cf_error *err);
/* The items of a context.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_bisect_items_of(cf_bisect_items *out, const cf_part_context *context,
                                         cf_error *err);
void cf_bisect_items_deinit(cf_bisect_items *it);

/* The context of such items; a new reference.  CF_ENOMEM, CF_EFORMAT. */
CF_MUST_USE cf_status cf_bisect_items_context(const cf_str *v, size_t n, json_t **out,
                                              cf_error *err);

/* Where item i is: among messages, tools and variables (from 0), and in its
 * message; *is_whole: it is all of a message's text. */
typedef struct cf_bisect_place {
    size_t part, line;
    bool is_line, is_whole;
} cf_bisect_place;

cf_bisect_place cf_bisect_items_place(const cf_bisect_items *it, size_t i);

/* Appends an item as JSON: a message or part of one, a line as a string; one that
 * is a whole text, and a head, as its message. */
CF_MUST_USE cf_status cf_bisect_items_put(cf_buf *out, const cf_bisect_items *it, size_t i,
                                          cf_error *err);

#endif
