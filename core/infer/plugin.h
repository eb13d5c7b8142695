/*
 * plugin.h - an engine plug-in's helper process in place of confab's arithmetic.
 *
 * The helper keeps the cache: each session that has computed has a sequence there,
 * and slots say which one and how much of the session's timeline is in it.  A
 * sequence can be taken from a session at any time, since a pass computes what is
 * missing again from the session's tokens.  The helper is started again by the
 * pass after the one that it ended in.
 *
 * Threads:  the holder of the engine's pass lock, but for open, close and info.
 *
 * Private to core/infer.
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

/* The logits after this row of the next pass will be asked for. */
void cf_plugin_want(cf_plugin *p, uint32_t row);

/*
 * Computes the next positions of parts[0..n), whose row0 are set.  Their sequences
 * are cut to what they had after a failure.  CF_ELIMIT where the cache is full,
 * CF_ECANCELLED, CF_EUNSUPPORTED for rows of embeddings and states,
 * CF_EBUSY where the helper ended.
 */
CF_MUST_USE cf_status cf_plugin_forward(cf_plugin *p, const cf_part *parts, size_t n,
                                        const cf_cancel *cancel, cf_error *err);

/* [n_vocab] after a row that was wanted, until the next pass. */
const float *cf_plugin_logits(const cf_plugin *p, uint32_t row);

/* Computes the token after those that the session has ready, and gives the stream
 * after each layer, out[n_layer, n_embd]; the session does not move.  Errors as
 * above; CF_EUNSUPPORTED where the engine does not disclose them. */
CF_MUST_USE cf_status cf_plugin_layers(cf_plugin *p, cf_session *s, cf_token id, float *out,
                                       cf_error *err);

/* Gives `to`, which has no sequence, a copy of the sequence of `from`. */
void cf_plugin_fork(cf_plugin *p, const cf_session *from, cf_session *to);
void cf_plugin_forget(cf_plugin *p, cf_session *s);

#endif
