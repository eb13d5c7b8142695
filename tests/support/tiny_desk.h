/*
 * tiny_desk.h - a workbench over a small random model, with or without a
 * history.
 *
 * The functions fail the test where something goes wrong.
 */
#ifndef CF_TESTS_SUPPORT_TINY_DESK_H
#define CF_TESTS_SUPPORT_TINY_DESK_H

#include "core/api/backend.h"
#include "core/api/engine.h"
#include "storage/store.h"
#include "tui/lab/lab.h"

typedef struct cf_tiny_desk {
    void *bytes; /* of the model */
    cf_engine *engine;
    cf_backend *backend;
    cf_store *store; /* NULL: no history */
    cf_lab *lab;
} cf_tiny_desk;

typedef struct cf_tiny_desk_options {
    cf_engine_options engine;
    cf_core_options core;
    cf_sampling sampling;
    uint32_t max_tokens; /* of a reply */
    const char *db;      /* a new file of store_dir.h; NULL: no history */
} cf_tiny_desk_options;

void cf_tiny_desk_open(cf_tiny_desk *d, const cf_tiny_desk_options *o);
void cf_tiny_desk_close(cf_tiny_desk *d);

/* Waits until nothing is under way. */
void cf_tiny_desk_settle(cf_tiny_desk *d);

#endif
