/*
 * inside_request.h - questions about the inside of a model as JSON, and their answers.
 *
 * Place in the flow:  JSON --> [inside_request] --> inside.h --> JSON.
 * Knows: the forms that docs/inside.md describes.  Does not know: texts, messages,
 * tools.
 *
 * Threads:  as a session.
 * Memory:   answers are appended to the caller's buffer.
 */
#ifndef CF_CORE_API_INSIDE_REQUEST_H
#define CF_CORE_API_INSIDE_REQUEST_H

#include "core/api/inside.h"
#include "core/base/buf.h"
#include "core/json/json_writer.h"

CF_BEGIN_DECLS

/*
 * Answers one request, {"op": "lens", "attention", "margin", "without", "patch" or
 * "steer", "ids": [...], "at": N, ...}, with a JSON object appended to `out`.
 * After a failure what was appended is of no use.
 *
 * CF_EINVAL names the member that is missing or wrong; else fails as inside.h says.
 * A steering file that the request names is opened: CF_ENOTFOUND, CF_EFORMAT.
 * `cancel` may be NULL.
 */
CF_MUST_USE cf_status cf_inside_request(cf_session *session, const json_t *item, cf_cancel *cancel,
                                       cf_buf *out, cf_error *err);

/* The members of a margin, in an object that is open. */
void cf_inside_json_margin(cf_jw *w, const cf_margin *m);

CF_END_DECLS

#endif
