/*
 * bundled.h - the small model that comes with the program.
 *
 * Its GGUF file lies in the program itself, in read-only memory that the
 * system reads when it is touched.  A build from a tree without the file has
 * none.
 *
 * In a library the bytes are an object of their own: a static one links it
 * only where it is called, a shared one maps it and never reads it otherwise.
 *
 * Threads:  any.
 */
#ifndef CF_CORE_API_BUNDLED_H
#define CF_CORE_API_BUNDLED_H

#include <stdbool.h>
#include <stddef.h>

/* The file's bytes, aligned as cf_engine_open_memory() wants them; they stay
 * for as long as the program runs.  False, and nothing set, when this build
 * has none. */
bool cf_bundled_model(const void **bytes, size_t *n);

#endif
