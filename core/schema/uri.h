/*
 * uri.h - resolves the references between documents (RFC 3986).
 *
 * Threads:  any.  Memory:  results lie in the arena.
 */
#ifndef CF_CORE_SCHEMA_URI_H
#define CF_CORE_SCHEMA_URI_H

#include "core/base/arena.h"
#include "core/base/str.h"

/* `ref` without its fragment, resolved against `base` (section 5.2); NULL if
 * memory runs out.  Either may be relative. */
const char *cf_uri__resolve(cf_arena *arena, const char *base, const char *ref);

/* The path of a URI without the slash before it, its escapes decoded: what
 * follows the authority, or the scheme where there is none.  NULL if memory
 * runs out. */
const char *cf_uri__path(cf_arena *arena, const char *uri);

/* Decodes %XX in place, except for %00. */
void cf_uri__unescape(char *text);

#endif
