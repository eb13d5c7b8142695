/*
 * bisect_settings.h - the settings of a recorded reply as items that a bisection
 * compares, and how a mixture of two replies' settings is asked with.
 *
 * Place in the flow:  a case of the history --> [settings] --> bisect.h -->
 *                     settings of a version --> asker, context, engine.
 *
 * An item is NAME=VALUE: an option of the sampler or "seed" as a number,
 * "thinking" (default, on, off), "load_as", and as JSON "template" (its source),
 * "system" (the first system message; null: none), "constraint", "adapters", and
 * "variable NAME".  Items of two cases are paired by name.
 *
 * Threads:  one thread at a time.
 * Memory:   items own their text; settings own their JSON and use that of items.
 */
#ifndef CF_TUI_STUDY_SHRINK_BISECT_SETTINGS_H
#define CF_TUI_STUDY_SHRINK_BISECT_SETTINGS_H

#include "tui/study/ask/study_case.h"
#include "tui/study/shrink/bisect_items.h"

/* The settings of a case.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_bisect_settings_of(cf_bisect_items *out, const cf_study_case *c,
                                            cf_error *err);

/* Gives both lists the same names in the same order: one that a side lacks has
 * no value there.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_bisect_settings_pair(cf_bisect_items *good, cf_bisect_items *bad,
                                              cf_error *err);

typedef struct cf_bisect_settings {
    cf_recorded was;  /* how replies are drawn */
    json_t *context;  /* with its system prompt, thinking and variables */
    cf_str load_as;   /* empty: as the weights are */
    json_t *adapters; /* as in cf_run_options; NULL: none */
    json_t *source;   /* of the template, a string; NULL: the engine's */
} cf_bisect_settings;

/* What a list of items means for a conversation's messages and tools.
 * `like` is a case whose other conditions (limit, stop strings) are kept.
 * CF_EFORMAT, CF_EINVAL, CF_ENOMEM; nothing is to be released then. */
CF_MUST_USE cf_status cf_bisect_settings_read(cf_bisect_settings *out, const cf_str *v, size_t n,
                                              const cf_study_case *like, cf_error *err);
void cf_bisect_settings_deinit(cf_bisect_settings *s);

#endif
