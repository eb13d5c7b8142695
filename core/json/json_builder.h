/*
 * json_builder.h - jansson trees built one value at a time, checked once.
 *
 * Place in the flow:  what a message, a request or a record consists of -->
 *                     [builder] --> json_t trees.
 * Knows: keys, nesting, references, when memory ran out.  Does not know: what
 * the values mean, JSON text (json_writer.h writes that).
 *
 * jansson's own makers return NULL without memory, which the next maker takes
 * for an absent value: a member or an element is then missing and no caller
 * knows.  Here every value takes a key, as in cf_jw: the member's name in an
 * object, NULL in an array and at the top.
 *
 *     cf_jb b = CF_JB_INIT;
 *     cf_jb_object(&b, NULL);
 *     cf_jb_text(&b, "role", "user");
 *     cf_jb_array(&b, "content");
 *     cf_jb_pack(&b, NULL, "{s:s, s:O}", "type", "audio", "data", data);
 *     cf_jb_end(&b);
 *     cf_jb_end(&b);
 *     return cf_jb_finish(&b, &tree, err);
 *
 * A function can return a fragment with cf_jb_done(), which the caller's
 * builder takes with cf_jb_take(); or it is given the builder and adds to it.
 * cf_jb_open(), cf_jb_set() and cf_jb_append() change trees that exist.
 *
 * Sticky: after a failure (memory, more than CF_JB_DEPTH_MAX levels) every
 * call only releases what it was to take, so one check at the end is enough.
 *
 * Threads:  one thread at a time.
 * Memory:   the builder owns the tree until cf_jb_done() or cf_jb_finish()
 *           hands it over; each function says what it takes.
 */
#ifndef CF_CORE_JSON_JSON_BUILDER_H
#define CF_CORE_JSON_JSON_BUILDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/status.h"
#include "core/base/str.h"

CF_BEGIN_DECLS

enum { CF_JB_DEPTH_MAX = 64 };

typedef struct cf_jb {
    json_t *root;                  /* owned; NULL: no value yet */
    json_t *open[CF_JB_DEPTH_MAX]; /* not ended, outermost first; borrowed */
    unsigned depth;
    cf_str key; /* of cf_jb_key(), whose value is missing; p NULL: none */
    bool failed;
    bool is_too_deep; /* then it has failed, too */
} cf_jb;

#define CF_JB_INIT       \
    {                    \
        .failed = false, \
    }

/* Opens a new object or array; each needs its cf_jb_end(). */
void cf_jb_object(cf_jb *b, const char *key);
void cf_jb_array(cf_jb *b, const char *key);
void cf_jb_end(cf_jb *b);

/* Opens an object or array of the caller's (borrowed; anything else, or NULL:
 * a failure): what follows up to its cf_jb_end() is added to it, and stays. */
void cf_jb_open(cf_jb *b, json_t *container);

/* A key that is not a C string; the next value belongs to it and is given the
 * key NULL.  Borrowed until then. */
void cf_jb_key(cf_jb *b, cf_str key);

/* Values.  A second one of the same key replaces the first.  Bytes that are
 * not UTF-8 become U+FFFD, here and in keys; a number that is not finite
 * becomes null. */
void cf_jb_str(cf_jb *b, const char *key, cf_str s);        /* p NULL: "" */
void cf_jb_text(cf_jb *b, const char *key, const char *s);  /* NULL: null */
void cf_jb_buf(cf_jb *b, const char *key, const cf_buf *s); /* failed: so does b */
void cf_jb_int(cf_jb *b, const char *key, int64_t v);
void cf_jb_double(cf_jb *b, const char *key, double v);
void cf_jb_bool(cf_jb *b, const char *key, bool v);
void cf_jb_null(cf_jb *b, const char *key);

/* A tree that exists (NULL: null): another reference to it, and a deep copy. */
void cf_jb_add(cf_jb *b, const char *key, const json_t *v);
void cf_jb_copy(cf_jb *b, const char *key, const json_t *v);

/* Takes the caller's reference to `v`, whatever happens; NULL is a failure. */
void cf_jb_take(cf_jb *b, const char *key, json_t *v);

/* As json_pack(); what it returns NULL for is a failure. */
void cf_jb_pack(cf_jb *b, const char *key, const char *fmt, ...);

/* object[key] = v, and v at the end of array, of trees of the caller's
 * (borrowed; of another kind, or NULL: a failure).  They take v as
 * cf_jb_take() does. */
void cf_jb_set(cf_jb *b, json_t *object, const char *key, json_t *v);
void cf_jb_append(cf_jb *b, json_t *array, json_t *v);

/* Records a failure that the builder cannot see itself. */
void cf_jb_fail(cf_jb *b);

/* The tree becomes the caller's (json_decref); the builder is empty after.
 * Every container must be ended.  NULL after a failure, or without a value. */
json_t *cf_jb_done(cf_jb *b);

/* The same into *out, which a failure leaves alone: CF_ENOMEM, or CF_ELIMIT
 * for more than CF_JB_DEPTH_MAX levels. */
CF_MUST_USE cf_status cf_jb_finish(cf_jb *b, json_t **out, cf_error *err);

/* Whether all went well so far, with the same errors; the tree stays. */
CF_MUST_USE cf_status cf_jb_check(const cf_jb *b, cf_error *err);

/* Releases the tree; the builder is empty after. */
void cf_jb_deinit(cf_jb *b);

CF_END_DECLS

#endif
