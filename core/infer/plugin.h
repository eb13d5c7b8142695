/*
 * plugin.h - an engine plug-in's helper process in place of confab's arithmetic.
 *
 * The helper keeps the cache, as sequences; slots know the tokens of each.  A pass
 * takes a sequence that begins as its session does, or a copy of one, and has the
 * rest computed, so that sequences may be given up at any time.  The helper is
 * started again by the pass after the one that it ended in.
 *
 * Threads:  the holder of the engine's pass lock, but for open, close and about.
 *
 * Private to core/infer and core/inside.
 */
#ifndef CF_CORE_INFER_PLUGIN_H
#define CF_CORE_INFER_PLUGIN_H

#include "core/api/engine_plugin.h"
#include "core/infer/session_impl.h"

typedef struct cf_plugin cf_plugin;

/* Starts the program with the model.  CF_ENOTFOUND, CF_EIO; CF_EUNSUPPORTED, and
 * the engine's reason, where it refuses; CF_EBUSY where the helper ended. */
CF_MUST_USE cf_status cf_plugin_open(cf_plugin **out, const char *program, const char *model,
                                     const cf_plugin_options *o, cf_error *err);
void cf_plugin_close(cf_plugin *p);

const cf_plugin_info *cf_plugin_about(const cf_plugin *p);
/* "llama.cpp v0.5.0 (CPU)" */
const char *cf_plugin_engine(const cf_plugin *p);

/* Computes the next positions of parts[0..n).  CF_ELIMIT where the cache is full,
 * CF_ECANCELLED, CF_EUNSUPPORTED for rows of embeddings and states, CF_EBUSY where the
 * helper ended. */
CF_MUST_USE cf_status cf_plugin_forward(cf_plugin *p, const cf_part *parts, size_t n,
                                        const cf_cancel *cancel, cf_error *err);

/* [n_vocab] after the i-th row of the last pass that wanted them. */
const float *cf_plugin_logits(const cf_plugin *p, size_t i);

/* What the last of ids[0..n) shows: (*out)[*n_out], the caller frees it.  All
 * sequences are given up.  Errors as above; CF_EUNSUPPORTED, and the engine's reason,
 * where it does not disclose that. */
CF_MUST_USE cf_status cf_plugin_see(cf_plugin *p, cf_plugin_look what, const cf_token *ids,
                                    uint32_t n, float **out, size_t *n_out, const cf_cancel *cancel,
                                    cf_error *err);

/* The session ends: its sequences are the first to be given up. */
void cf_plugin_forget(cf_plugin *p, const cf_session *s);

#endif
