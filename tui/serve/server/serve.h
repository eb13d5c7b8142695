/*
 * serve.h - the built-in engine as a server with the interfaces of OpenAI,
 * Anthropic, Ollama and llama-server.
 *
 * Place in the flow:  http server --> [serve] --> slots of the engine -->
 *                     answers; copies --> record.
 * Knows: paths, slots and their caches, how answers are written.  Does not
 * know: sockets, the history.
 *
 * A slot is a timeline of the engine with its cache.  A request takes the free
 * slot that has most of its prompt; where a busy one has more, it begins as a
 * fork of that.  Replies of all slots are computed in common passes (joint.h).
 *
 * Threads:  requests run on their connections' threads, streamed replies on
 *           one more each.
 * Memory:   owns the slots; engine and template are borrowed.
 */
#ifndef CF_TUI_SERVE_SERVE_H
#define CF_TUI_SERVE_SERVE_H

#include "templates/open.h"
#include "tui/serve/record/record.h"

/* Interfaces, as bits. */
enum {
    CF_SERVE_OPENAI = 1,    /* chat, completions, embeddings */
    CF_SERVE_RESPONSES = 2, /* OpenAI's responses */
    CF_SERVE_ANTHROPIC = 4,
    CF_SERVE_OLLAMA = 8,
    CF_SERVE_LLAMA = 16, /* llama-server's own paths */
    CF_SERVE_ALL = 31
};

typedef struct cf_serve_options {
    const cf_opened *opened; /* its engine, template and family */
    const char *model;       /* the name that clients see */
    uint32_t n_slots;        /* 0: 4 */
    uint32_t n_ctx;          /* of a slot; 0: the model's */
    unsigned apis;           /* that it answers; 0: all */
    cf_recorder *recorder;   /* NULL: nothing is recorded */
} cf_serve_options;

typedef struct cf_serve cf_serve;

/* Reads "openai,ollama" as bits.  CF_EINVAL for a name that is none of them. */
CF_MUST_USE cf_status cf_serve_apis(unsigned *out, const char *list, cf_error *err);

CF_MUST_USE cf_status cf_serve_new(cf_serve **out, const cf_serve_options *options, cf_error *err);
/* After the server that uses its handler has ended. */
void cf_serve_free(cf_serve *s);
/* Appends what each slot does, the JSON of GET /slots.  Any thread. */
void cf_serve_slots(cf_serve *s, cf_buf *out);
cf_http_handler cf_serve_handler(cf_serve *s);

#endif
