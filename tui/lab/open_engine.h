/*
 * open_engine.h - the options that choose what answers and where the history
 * is, and the model file among it.
 *
 * Place in the flow:  command line --> [open] --> engine, backend, history.
 * Knows: file names, the bundled model.  Does not know: the command line,
 * screens.
 *
 * Threads:  any.
 * Memory:   texts are borrowed.
 */
#ifndef CF_TUI_LAB_OPEN_ENGINE_H
#define CF_TUI_LAB_OPEN_ENGINE_H

#include "core/api/engine.h"

typedef struct cf_open_options {
    const char *model; /* a .gguf file, an http(s) address, script:FILE or
                          "bundled"; NULL: the default one */
    const char *default_model; /* likewise; NULL: the bundled model */
    const char *template_name; /* file or built-in name; NULL: the model's */
    const char *db;            /* history; NULL: the usual place */
    uint32_t n_threads, n_ctx; /* 0: as many as the machine, the model has */
    const char *kernel_set;    /* NULL: the best */
    bool is_exact;
    bool as_is; /* messages go to the template in the form they have */
    /* Told what takes long when it begins, NULL when it is over; may be
     * NULL. */
    void (*busy)(void *ud, const char *what);
    void *ud; /* of busy */
} cf_open_options;

/* Opens the model file, or the bundled model.  CF_EINVAL when there is none
 * or `model` does not name a file; errors of cf_engine_open(), with what to
 * do about them. */
CF_MUST_USE cf_status cf_open_engine(cf_engine **out, const cf_open_options *o,
                                     bool vocab_only, cf_error *err);

/* The model that was given, else the default one; NULL: the bundled model. */
const char *cf_open_model(const cf_open_options *o);

/* Whether the options mean the bundled model.  False in a build without
 * one. */
bool cf_open_is_bundled(const cf_open_options *o);

/* For what works without a model too: names the default model, or the bundled
 * one if there is one, where no model was given. */
void cf_open_want_model(cf_open_options *o);

#endif
