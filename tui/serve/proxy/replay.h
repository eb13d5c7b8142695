/*
 * replay.h - answers from the history: the same request gets the answer that
 * was recorded, so that an agent can be tested without a model.
 *
 * Place in the flow:  client --> http server --> [replay] --> the history -->
 *                     the same bytes as then.
 * Knows: exchanges, messages of requests.  Does not know: servers.
 *
 * A request is the same by its bytes, or by its messages and tools: agents put
 * ids of sessions and messages into their bodies, and these are others each
 * time.
 *
 * Threads:  any; the index of what was recorded is guarded.
 * Memory:   answers live in their request's arena; the index holds hashes of
 *           the CF_REPLAY_MAX newest exchanges.
 */
#ifndef CF_TUI_SERVE_REPLAY_H
#define CF_TUI_SERVE_REPLAY_H

#include "core/net/http_server.h"
#include "storage/traffic.h"

enum { CF_REPLAY_MAX = 2000 };

/* How a request was found. */
typedef enum cf_replay_how { CF_REPLAY_EXACT, CF_REPLAY_MESSAGES, CF_REPLAY_NONE } cf_replay_how;

/* "exact", "messages", "none": as in the header x-confab-replay. */
const char *cf_replay_name(cf_replay_how how);

typedef struct cf_replayed {
    cf_str method, path;
    cf_replay_how how;
    bool has_messages;   /* false: no conversation, as HEAD / of a client that looks around */
    cf_uuid exchange;    /* that answered, or is nearest; nil: none is recorded */
    const char *differs; /* JSON pointer of the first difference to it; "": none */
} cf_replayed;

typedef struct cf_replay_options {
    cf_store *store;
    /* Called for each request; on any thread.  May be NULL. */
    void (*told)(void *ud, const cf_replayed *r);
    void *ud;
} cf_replay_options;

typedef struct cf_replay cf_replay;

CF_MUST_USE cf_status cf_replay_new(cf_replay **out, const cf_replay_options *options,
                                    cf_error *err);
void cf_replay_free(cf_replay *r);
/* Answers with the newest exchange that is the same; 404 with type
 * "not_recorded" where there is none. */
cf_http_handler cf_replay_handler(cf_replay *r);

#endif
