/*
 * tree_cut.h - removes units of a context level by level: messages and tools,
 * then their members, then the members of those; and sentences of its texts.
 *
 * Place in the flow:  a context --> units of one level --> [tree_cut] --> the
 *                     context without some of them.
 * The units of a level are numbered in the order of the document; the same
 * number means the same unit as long as the context is the same.
 * Knows: what must stay (roles, contents, names).  Does not know: why something
 * is removed.
 *
 * Threads:  pure functions.
 * Memory:   contexts are new references.
 */
#ifndef CF_TUI_STUDY_SHRINK_TREE_CUT_H
#define CF_TUI_STUDY_SHRINK_TREE_CUT_H

#include "core/json/json.h"

enum { CF_CUT_DEPTH_MAX = 10 }; /* levels of the tree; sentences come after */

/* The number of units of a level: depth 1 is the context's members, 2 messages
 * and tools, and so on. */
size_t cf_tree_units(const json_t *context, unsigned depth);

/* The context without the units of that level that are marked in gone[0..n).
 * NULL when memory ran out. */
json_t *cf_tree_without(const json_t *context, unsigned depth, const bool *gone);

/* The same for the sentences of all messages. */
size_t cf_sentence_units(const json_t *context);
json_t *cf_sentence_without(const json_t *context, const bool *gone);

/* The same for the lines of a text; appended to `out`. */
size_t cf_line_units(cf_str text);
void cf_line_without(cf_str text, const bool *gone, cf_buf *out);

#endif
