/*
 * inside_impl.h - a run under changes, watched by a tap.
 *
 * Private to core/inside.
 */
#ifndef CF_CORE_INSIDE_INSIDE_IMPL_H
#define CF_CORE_INSIDE_INSIDE_IMPL_H

#include "core/api/inside.h"
#include "core/infer/plugin.h"
#include "core/infer/session_impl.h"

/* Changes as a probe.  Constant while a pass runs. */
typedef struct cf_changer {
    cf_probe probe;
    const cf_engine *engine;
    const cf_changes *changes;
    cf_attn_hide *hide; /* those of all layers, one after the other */
    size_t *hide_end;   /* [n_layer]: the first after a layer's */
} cf_changer;

/* Checked changes; `c` (NULL: none) outlives the changer.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_changer_init(cf_changer *out, const cf_engine *e, const cf_changes *c,
                                      cf_error *err);
void cf_changer_deinit(cf_changer *c);

/* The first position whose row the changes can reach; UINT32_MAX: none. */
uint32_t cf_changes_first(const cf_changes *c);

/* Who looks at a run, and what comes out of it. */
typedef struct cf_inside_watch {
    cf_probe *tap;     /* or NULL */
    uint32_t from;     /* positions from here on are computed, whatever the changes */
    float *logits;     /* [n_vocab] after the last position, or NULL */
    const cf_run *run; /* its `logits` is called for positions from `from` on; or NULL */
} cf_inside_watch;

/* Computes the timeline up to ask->at on a fork of `s` under the changes. */
CF_MUST_USE cf_status cf_inside__watch(cf_session *s, const cf_inside_ask *ask,
                                       const cf_inside_watch *w, cf_error *err);

/* What an engine plug-in shows of `at`, *n numbers, which the caller frees.
 * CF_EUNSUPPORTED, and its reason, where it does not, and where *n was not 0 and they
 * are not so many. */
CF_MUST_USE cf_status cf_inside__see(cf_session *s, const cf_inside_ask *ask, cf_plugin_look what,
                                     float **out, size_t *n, cf_error *err);

/* out[n_layer + 1, width]: all x_l at `at`. */
CF_MUST_USE cf_status cf_inside__streams(cf_session *s, const cf_inside_ask *ask, float *out,
                                         cf_error *err);

#endif
