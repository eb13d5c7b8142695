/*
 * served.h - `confab serve` over a tiny random model, inside a test.
 *
 * Threads:  one thread at a time.
 * Memory:   a served owns its parts until served_teardown().
 */
#ifndef CF_TESTS_SUPPORT_SERVED_H
#define CF_TESTS_SUPPORT_SERVED_H

#include "core/base/buf.h"
#include "core/net/http_server.h"
#include "core/wire/wire.h"
#include "tui/serve/server/serve.h"

typedef struct served {
    cf_opened opened;
    cf_serve *serve;
    cf_http_server *server;
    const char *url;
} served;

/* A model of that architecture, with the calls of hermes. */
void served_setup(served *f, const char *arch);
void served_with(served *f, const char *arch, uint32_t pooling);
/* The model drafts for itself. */
void served_drafting(served *f, const char *arch);
/* A template of Gemma's, and a projector beside the model. */
void served_seeing(served *f);
/* Opens a server over the model that is there, of these interfaces. */
void served_open_apis(served *f, unsigned apis);
void served_open(served *f);
void served_teardown(served *f);

/* The reply of an answer, whole or streamed, in words. */
void served_describe(cf_buf *out, const cf_buf *answer, cf_api api);

#endif
