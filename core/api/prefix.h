/*
 * prefix.h - beginnings of prompts that are already computed, shared by the
 * sessions of an engine and, on request, kept in a file.
 *
 * Place in the flow:  prompt of one conversation --> [cache] --> the same
 *                     beginning in another one, or in the next run.
 * Knows: tokens, cache blocks, recurrent states.  Does not know: text,
 * conversations, where the file is.
 *
 * A session that was made with a cache (cf_session_options.prefixes) looks
 * there when it is synced to a prompt of which it has less itself, takes whole
 * cache blocks from it without copying, and leaves its own prompt there.  The
 * least recently used prompts are dropped when the bound is reached.  Since the
 * same tokens give the same bits, only the time changes.
 *
 * The file is not trusted.  It is checked for the model's hash, its sizes and
 * a checksum; and before a beginning is used for the first time, its last
 * token is computed again from what the file says about those before it, and
 * must give the same bits; so nothing is taken from a program that computed in
 * another way.  A forged file with a valid checksum can change what a model
 * says, as a forged model file can, and nothing else.  The file can be deleted
 * at any time.  Beginnings of models with a recurrent state are kept in memory
 * only.
 *
 * Threads:  any; the cache has a lock of its own.
 * Memory:   at most the bound, counting blocks that sessions use as well.  The
 *           cache must be freed after the sessions that use it, and before the
 *           engine.
 */
#ifndef CF_CORE_API_PREFIX_H
#define CF_CORE_API_PREFIX_H

#include "core/api/session.h"

CF_BEGIN_DECLS

/* Default limits, in memory and on disk. */
#define CF_PREFIX_BYTES_MAX ((uint64_t)512 << 20)
#define CF_PREFIX_FILE_MAX  ((uint64_t)128 << 20)

/* An empty cache.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_prefix_cache_new(cf_prefix_cache **out, const cf_engine *engine,
                                          uint64_t max_bytes, cf_error *err);
void cf_prefix_cache_free(cf_prefix_cache *cache);

/* The number of prompts, and the bytes that they refer to. */
size_t cf_prefix_cache_count(cf_prefix_cache *cache, uint64_t *bytes);

/* Adds what a file has.  CF_ENOTFOUND without one; CF_EFORMAT for a file that
 * is damaged, or of another model or program, and CF_ELIMIT for one of more
 * than CF_PREFIX_FILE_MAX bytes: then nothing was added. */
CF_MUST_USE cf_status cf_prefix_cache_read(cf_prefix_cache *cache, const char *path, cf_error *err);

/* Writes the prompts used last, as many as CF_PREFIX_FILE_MAX bytes take, in
 * one step: a reader sees the old file or the new one.  CF_EUNSUPPORTED for a
 * recurrent model; CF_EIO, CF_ENOMEM. */
CF_MUST_USE cf_status cf_prefix_cache_write(cf_prefix_cache *cache, const char *path,
                                            cf_error *err);

CF_END_DECLS

#endif
