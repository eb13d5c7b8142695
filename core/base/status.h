/*
 * status.h - what a call that can fail returns, and where it says why.
 *
 * Place in the flow:  whatever fails --> [status] --> every caller up to the
 *                     screen or the exit code.
 * Knows: codes, one line of text, a place in the input.  Does not know: who
 * shows it.
 *
 * A fallible function returns a cf_status for the program and fills the
 * caller's cf_error for the user.  The struct is plain data: it can be copied
 * between threads and needs no memory of its own, so that running out of
 * memory can be reported too.
 *
 * Threads:  no state; a cf_error belongs to the function that declared it.
 * Memory:   none; a cf_error is of fixed size.
 */
#ifndef CF_CORE_BASE_STATUS_H
#define CF_CORE_BASE_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/decls.h"

CF_BEGIN_DECLS

#if defined(__GNUC__) || defined(__clang__)
#define CF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define CF_MUST_USE          __attribute__((warn_unused_result))
#define CF_NORETURN          __attribute__((noreturn))
#else
#define CF_PRINTF(fmt, args)
#define CF_MUST_USE
#define CF_NORETURN
#endif

typedef enum cf_status {
    CF_OK = 0,
    CF_ENOMEM,       /* an allocation failed; nothing was changed */
    CF_EIO,          /* the system refused a read, write or map */
    CF_EFORMAT,      /* input bytes break the format they claim to be */
    CF_EUNSUPPORTED, /* well-formed, but confab does not implement it */
    CF_ENOTFOUND,    /* the named thing does not exist */
    CF_ELIMIT,       /* a stated limit (context, depth, size) was reached */
    CF_ECANCELLED,   /* the caller asked us to stop, and we did */
    CF_EBUSY,        /* someone else holds it; trying again may work */
    CF_EINVAL        /* an option or argument from the user is not valid */
} cf_status;

enum { CF_ERROR_TEXT_MAX = 240 };

#define CF_NO_OFFSET UINT64_MAX

typedef struct cf_error {
    cf_status code;
    uint32_t line;                /* 1-based line in the input, 0 when not about text */
    uint32_t col;                 /* 1-based byte column in that line, 0 likewise */
    uint64_t off;                 /* byte offset in the input, CF_NO_OFFSET when unknown */
    char text[CF_ERROR_TEXT_MAX]; /* UTF-8, NUL-terminated, printable */
} cf_error;

/*
 * Fills `err` (may be NULL) with `code` and the formatted text, and returns
 * `code`.  The text is safe for a terminal: what could act on it, newlines
 * too, becomes a visible escape as in safe_text.h; "..." stands for a character
 * that the caller cut in the middle ("%.20s"); an over-long text is cut at a
 * character boundary.  Line, column and offset are set to
 * "unknown"; use cf_fail_at() where one of them is known.
 */
cf_status cf_fail(cf_error *err, cf_status code, const char *fmt, ...) CF_PRINTF(3, 4);

/* The same with a byte offset in the input. */
cf_status cf_fail_at(cf_error *err, cf_status code, uint64_t off, const char *fmt, ...)
    CF_PRINTF(4, 5);

/* The same with a 1-based line and byte column in the input. */
cf_status cf_fail_line(cf_error *err, cf_status code, uint32_t line, uint32_t col, const char *fmt,
                       ...) CF_PRINTF(5, 6);

/* Puts "prefix: " before the text already in `err` (may be NULL): the one
 * thing only the caller knows, such as a file's name.  Returns err's code,
 * or `code` when err is NULL. */
cf_status cf_fail_in(cf_error *err, cf_status code, const char *prefix);

/* CF_ENOMEM with the text "out of memory", and the same "for WHAT"; both
 * return CF_ENOMEM.  `err` may be NULL. */
cf_status cf_oom(cf_error *err);
cf_status cf_oom_for(cf_error *err, const char *what);

/* For a call whose failure does not matter to the caller; without it,
 * CF_MUST_USE would warn.  A comment at the call gives the reason. */
static inline void cf_ignore(cf_status st)
{
    (void)st;
}

/* A short name for a code: "ok", "out of memory", "format" ... */
const char *cf_status_name(cf_status code);

/* Returns from the current function with the same code when `call` fails. */
#define CF_TRY(call)                       \
    do {                                   \
        cf_status cf_try_status_ = (call); \
        if (cf_try_status_ != CF_OK) {     \
            return cf_try_status_;         \
        }                                  \
    } while (0)

/* The next step of a function that has something to release: makes the call,
 * and puts its result into `st`, only while `st` is CF_OK. */
#define CF_THEN(st, call)    \
    do {                     \
        if ((st) == CF_OK) { \
            (st) = (call);   \
        }                    \
    } while (0)

/* An assertion that stays on in release builds: for an index that would
 * corrupt memory if it were wrong. */
#define CF_ASSERT(cond) ((cond) ? (void)0 : cf_assert_failed(#cond, __FILE__, __LINE__))
CF_NORETURN void cf_assert_failed(const char *cond, const char *file, int line);

CF_END_DECLS

#endif
