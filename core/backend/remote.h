/*
 * remote.h - the parts of the engine over OpenAI's interface: the request's
 * body, and what the deltas of an answer add up to.
 */
#ifndef CF_CORE_BACKEND_REMOTE_H
#define CF_CORE_BACKEND_REMOTE_H

#include "core/backend/backend_impl.h"
#include "core/backend/reply_watch.h"
#include "core/wire/wire.h"

/* The JSON body of a request, with the options that the user set and no
 * others; a new reference.  Appends a line to `notes` for each attachment that
 * is not here.  CF_EUNSUPPORTED, naming the option that no server can do. */
CF_MUST_USE cf_status cf_remote__body(json_t **out, const char *model,
                                      const cf_chat_request *request, cf_buf *notes, cf_error *err);

/* Adds to `refused` the arguments of the body that an error's text names: a
 * key each, null or the name to use in its place.  Whether there was one. */
bool cf_remote__find_refused(const json_t *body, cf_str text, json_t *refused);
/* Takes refused arguments out of the body, or gives them their other name.
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_remote__leave_out(json_t *body, const json_t *refused, cf_error *err);

/* An answer as far as it has arrived. */
typedef struct cf_remote__answer {
    cf_chat__run *run;
    cf_chat__reply reply;
    cf_wire_reader reader;
    bool has_content; /* anything came */
    bool stopped;     /* a stop string of ours is complete, or is_endless */
    bool is_endless;  /* the watch saw it, and it is to end the reply */
    cf_reply_watch watch;
} cf_remote__answer;

void cf_remote__answer_init(cf_remote__answer *a, cf_chat__run *run);

/* Takes one event's data.  CF_EFORMAT with fault PROTOCOL, or the fault that
 * an error object inside a stream means. */
CF_MUST_USE cf_status cf_remote__event(cf_str data, void *answer, cf_error *err);

/* Finishes calls, findings and message. */
CF_MUST_USE cf_status cf_remote__finish(cf_remote__answer *a, cf_error *err);
void cf_remote__answer_deinit(cf_remote__answer *a);

/* The failure that an HTTP status and body stand for. */
cf_status cf_remote__http_error(cf_chat__run *run, long status, cf_str body, cf_error *err);

#endif
