/*
 * bundled.h - the small model built into the program.
 *
 * Place in the flow:  bytes in the program --> [bundled] --> engine.
 * Knows: where the GGUF file is in memory.  Does not know: its format.
 *
 * The file is part of the program's read-only data, which the system reads
 * from disk when it is touched.  A build from a tree without the file has
 * none.
 *
 * In a library the bytes are an object of their own: a static library links
 * it only where it is called, a shared one maps it and never reads it
 * otherwise.
 *
 * Threads:  any.
 * Memory:   constant; nothing is allocated or released.
 */
#ifndef CF_CORE_API_BUNDLED_H
#define CF_CORE_API_BUNDLED_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/decls.h"

CF_BEGIN_DECLS

/* The file's bytes, aligned as cf_engine_open_memory() wants them; they stay
 * for as long as the program runs.  False, and nothing set, when this build
 * has none. */
bool cf_bundled_model(const void **bytes, size_t *n);

CF_END_DECLS

#endif
