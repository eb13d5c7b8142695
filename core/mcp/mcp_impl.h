/*
 * mcp_impl.h - the inside of the tool servers: one struct a server, the
 * requests that wait for answers, the two transports.
 *
 * mcp.c has the loop, mcp_era.c the way from a program to a list of tools,
 * mcp_list.c that list, mcp_call.c calls, mcp_message.c what a message is,
 * mcp_stdio.c and mcp_http.c the transports; signing in is in mcp_oauth.h.
 *
 * Room-internal.
 */
#ifndef CF_CORE_MCP_MCP_IMPL_H
#define CF_CORE_MCP_MCP_IMPL_H

#include "core/api/mcp.h"
#include "core/base/process.h"

enum {
    CF_MCP__FIRST_LEGACY = 1, /* in cf_mcp_revisions */
    CF_MCP__PAGES_MAX = 1000,
    CF_MCP__TOOLS_MAX = 4096,
    CF_MCP__LISTS_MAX = 64 << 20, /* bytes between two awaited answers */
    CF_MCP__ROUNDS_MAX = 16,      /* input_required in one call */
    CF_MCP__DEPTH_MAX = 64        /* of a schema that is walked */
};

/* Codes of the protocol's own errors. */
enum {
    CF_MCP__HEADER_MISMATCH = -32020,
    CF_MCP__MISSING_CAPABILITY = -32021,
    CF_MCP__WRONG_VERSION = -32022,
    CF_MCP__NO_METHOD = -32601
};

typedef enum cf_mcp__kind {
    CF_MCP__DISCOVER,
    CF_MCP__INITIALIZE,
    CF_MCP__LIST,
    CF_MCP__CALL,
    CF_MCP__LISTEN
} cf_mcp__kind;

/* A request that waits for its answer. */
typedef struct cf_mcp__request {
    int64_t id;
    cf_mcp__kind kind;
    uint64_t deadline_us; /* 0: none */
    uint64_t call;        /* 0: none */
} cf_mcp__request;

typedef enum cf_mcp__era { CF_MCP__UNKNOWN, CF_MCP__MODERN, CF_MCP__LEGACY } cf_mcp__era;

typedef struct cf_mcp__server cf_mcp__server;

/* What a transport needs to know of a message. */
typedef struct cf_mcp__parcel {
    cf_str text; /* the message */
    const char *method;
    cf_str name;          /* of the tool; empty: none */
    const json_t *params; /* of a call: for the headers */
    int64_t id;           /* -1: it gets no answer */
} cf_mcp__parcel;

typedef struct cf_mcp__transport {
    cf_status (*start)(cf_mcp__server *s, cf_error *err);
    cf_status (*send)(cf_mcp__server *s, const cf_mcp__parcel *parcel, cf_error *err);
    /* The answer to a request is not waited for any more. */
    void (*forget)(cf_mcp__server *s, int64_t id);
    /* Ends it; grace_ms 0: at once. */
    void (*stop)(cf_mcp__server *s, uint32_t grace_ms);
    /* The protocol's own way to call off a request on this transport is to
     * close its stream (modern era only). */
    bool forgets_by_closing;
} cf_mcp__transport;

extern const cf_mcp__transport cf_mcp__stdio, cf_mcp__http;

typedef struct cf_mcp__http_state cf_mcp__http_state;

struct cf_mcp__server {
    cf_mcp *mcp;
    size_t index;
    json_t *config;
    const cf_mcp__transport *transport;

    cf_mcp_state state;
    cf_error error;
    cf_mcp__era era;
    const char *revision; /* of cf_mcp_revisions; NULL: not known */
    bool probe_was_silent; /* initialize was sent to the same program */
    bool is_second_start;  /* the beginning was answered by silence or death */
    bool was_sent_back;   /* from initialize to the modern era */
    json_t *about;        /* result of discover or initialize; NULL */

    cf_mcp__request *request;
    size_t n_request, cap_request;
    int64_t next_id;
    size_t n_bytes; /* received since the last awaited answer */

    json_t *tools;   /* never NULL */
    json_t *others;  /* object: prompts, resources, resourceTemplates; NULL */
    size_t list;     /* which list is being collected */
    json_t *pages;   /* being collected; NULL */
    json_t *cursors; /* object: those seen */
    size_t n_pages;
    bool is_stale;           /* the list changed while it was being read */
    uint64_t fresh_until_us; /* 0: no promise */

    /* stdio */
    cf_process process;
    cf_buf out, line, errors;
    size_t n_out;         /* bytes of `out` already written */
    char last_error[144]; /* a line of its standard error; "" */
    /* http */
    cf_mcp__http_state *http;
    cf_buf token;      /* of a sign-in; empty: none */
    uint64_t n_token;  /* how many it has had */
    json_t *signed_in; /* as in cf_mcp_server */
};

/* The call that cf_mcp_call() waits for. */
typedef struct cf_mcp__waiting {
    cf_mcp__server *server; /* NULL: none */
    int64_t id;
    bool is_over;
    json_t *answer; /* the message */
    long http_status;
    cf_status st;
    cf_error err;
} cf_mcp__waiting;

struct cf_mcp {
    cf_mcp_options options;
    cf_mcp__server **server;
    size_t n_server, cap_server;
    void *multi; /* CURLM */
    uint64_t n_call;
    cf_mcp__waiting waiting;
    bool is_out_of_memory;
    uint64_t asked_us; /* time that the user has taken for sign-ins */
};

/* ---- mcp_message.c ------------------------------------------------------ */

typedef enum cf_mcp__class {
    CF_MCP__STRAY, /* no message */
    CF_MCP__ANSWER,
    CF_MCP__REQUEST,
    CF_MCP__NOTIFICATION
} cf_mcp__class;

/* Reads one message; bad UTF-8 and halves of surrogate pairs become U+FFFD,
 * integers over 64 bits doubles.  CF_EFORMAT: not a JSON object or array. */
CF_MUST_USE cf_status cf_mcp__read(json_t **out, cf_str text, cf_error *err);
cf_mcp__class cf_mcp__classify(const json_t *message);
/* The number of an answer's request; -1: none of ours. */
int64_t cf_mcp__answer_id(const json_t *message);
/* The error object of an answer; NULL. */
const json_t *cf_mcp__error_of(const json_t *message);
/* "error -32601: Method not found" */
void cf_mcp__error_text(cf_buf *out, const json_t *error);

/* ---- mcp.c -------------------------------------------------------------- */

void cf_mcp__tell(cf_mcp__server *s, cf_mcp_event_kind kind, uint64_t call, cf_str text);
void cf_mcp__note(cf_mcp__server *s, const char *fmt, ...) CF_PRINTF(2, 3);
void cf_mcp__set_state(cf_mcp__server *s, cf_mcp_state state);

/*
 * Sends a request (params: taken, may be NULL for out of memory) and
 * remembers it.  Adds what every request of the era carries.  *id may be
 * NULL.  A failure of the transport fails the server.
 */
cf_status cf_mcp__ask(cf_mcp__server *s, cf_mcp__kind kind, const char *method, json_t *params,
                      uint64_t call, uint32_t limit_ms, int64_t *id, cf_error *err);
/* Sends any other message (taken). */
cf_status cf_mcp__say(cf_mcp__server *s, const char *method, json_t *message, uint64_t call,
                      cf_error *err);

/* A message that came: text as it came, on a transport. */
void cf_mcp__receive(cf_mcp__server *s, cf_str text);
/* The answer to a request will not come.  `status`: of HTTP, 0: none. */
void cf_mcp__lose(cf_mcp__server *s, int64_t id, long status, const cf_error *why);
/* The server cannot be used any more: all that waits fails with `why`. */
void cf_mcp__fail(cf_mcp__server *s, const cf_error *why, uint32_t grace_ms);
/* Counts bytes that came; false when the server has sent too much. */
bool cf_mcp__count(cf_mcp__server *s, size_t n);
/* Forgets all requests. */
void cf_mcp__forget_all(cf_mcp__server *s);
uint64_t cf_mcp__now(void);

/* ---- mcp_era.c, mcp_list.c, mcp_call.c ---------------------------------- */

void cf_mcp__start(cf_mcp__server *s);
/* An answer, a loss (`why`) or silence, for a request of the kind. */
void cf_mcp__on_start(cf_mcp__server *s, cf_mcp__kind kind, const json_t *answer, long status,
                      const cf_error *why, bool is_silent);
/* A server that ended while it was being probed is started the old way; false
 * when that is not the case. */
bool cf_mcp__start_again(cf_mcp__server *s);

void cf_mcp__list(cf_mcp__server *s);
void cf_mcp__on_list(cf_mcp__server *s, const json_t *answer, const cf_error *why);
void cf_mcp__list_changed(cf_mcp__server *s);

/* A request of the server's. */
void cf_mcp__on_request(cf_mcp__server *s, const json_t *message);

/* ---- mcp_check.c -------------------------------------------------------- */

/* Checks a value against a schema, adding findings whose path begins with
 * `root`.  *fits false where it does not; a schema that cannot be used is a
 * finding, "unchecked". */
CF_MUST_USE cf_status cf_mcp__check(const json_t *schema, const json_t *value, const char *root,
                                    json_t *findings, bool *fits, cf_error *err);

/* ---- mcp_http.c, mcp_header.c ------------------------------------------- */

CF_MUST_USE cf_status cf_mcp__http_init(cf_mcp *mcp, cf_error *err);
void cf_mcp__http_deinit(cf_mcp *mcp);
/* Waits for streams, and for `fds` (CURL's struct curl_waitfd). */
cf_status cf_mcp__http_step(cf_mcp *mcp, uint32_t timeout_ms, cf_error *err);
/* A session of the old era that the server has forgotten. */
bool cf_mcp__http_lost_session(const cf_mcp__server *s, long status);
/* Old era: opens the stream for what the server says unasked. */
void cf_mcp__http_listen(cf_mcp__server *s);

/* Reads and writes what can be; fails the server that has ended. */
void cf_mcp__stdio_serve(cf_mcp__server *s);

/* Calls fn for each argument that the schema wants as a header; false, with
 * a reason, when the schema's annotations break the rules. */
typedef void (*cf_mcp__header_fn)(void *ud, const char *name, cf_str value);
bool cf_mcp__param_headers(const json_t *schema, const json_t *arguments, cf_mcp__header_fn fn,
                           void *ud, cf_buf *why);
/* Appends a header's value, in the sentinel form where it needs one. */
void cf_mcp__header_value(cf_buf *out, cf_str value);

#endif
