/*
 * replay.h - answers from the history: the same request gets the answer that
 * was recorded, so that an agent can be tested without a model.
 *
 * Place in the flow:  client --> http server --> [replay] --> the history -->
 *                     the same bytes as then.
 * Knows: exchanges.  Does not know: servers, formats of bodies.
 *
 * Threads:  any; reads only.
 * Memory:   answers live in their request's arena.
 */
#ifndef CF_TUI_SERVE_REPLAY_H
#define CF_TUI_SERVE_REPLAY_H

#include "core/net/http_server.h"
#include "storage/traffic.h"

/* A handler that answers out of `store`: the newest exchange with the same
 * method, path and body.  404 with type "not_recorded" where there is none. */
cf_http_handler cf_replay_handler(cf_store *store);

#endif
