/*
 * lab_adapters.h - LoRA adapters of the conversation in the workbench.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_TALK_LAB_ADAPTERS_H
#define CF_TUI_LAB_TALK_LAB_ADAPTERS_H

#include "core/api/adapter.h"
#include "templates/open.h"
#include "tui/lab/state/lab_state.h"

/* Opens the adapters of a line, "FILE[=SCALE] ..."; "off": none.  Errors of
 * cf_open_adapters(). */
CF_MUST_USE cf_status cf_lab_open_adapters(cf_opened_adapters *out, const cf_engine *engine,
                                           const char *text, cf_error *err);
/* Appends "NAME x SCALE, ...", the names without their folders. */
void cf_adapters_label(cf_buf *out, const cf_adapter_use *v, size_t n);

/* Computes with these adapters from now on, "FILE[=SCALE] ...", with those
 * that the workbench was started with for "start", or with none for "off".
 * The model is not loaded again; the cache is computed again.  CF_EBUSY,
 * CF_EUNSUPPORTED without the built-in engine, errors of
 * cf_open_adapters(). */
CF_MUST_USE cf_status cf_lab_set_adapters(cf_lab *lab, const char *text, cf_error *err);
/* Those in use, *n of them; NULL without the built-in engine. */
const cf_adapter_use *cf_lab_adapters(const cf_lab *lab, size_t *n);
/* What steers the session; NULL: nothing. */
const cf_steering *cf_lab_steering(const cf_lab *lab);
/* Appends "FILE x SCALE, ..., steered by FILE x SCALE", or "none". */
void cf_lab_adapters_text(const cf_lab *lab, cf_buf *out);

#endif
