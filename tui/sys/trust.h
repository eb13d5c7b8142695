/*
 * trust.h - which addresses the user named, and what an address that only a
 * file names may get.
 *
 * Plans, configurations, tests and files of tool servers may come from anybody.
 * An address in one of them is asked about, or refused; it never gets the key,
 * which goes only to the scheme, host and port of an address that the command
 * line, confabrc or the environment names.
 *
 * Place in the flow:  options, confabrc, environment --> [trust] --> whatever
 *                     reads an address from a file.
 *
 * Threads:  one at a time.
 * Memory:   borrows everything that it is made of; cf_trust_deinit().
 */
#ifndef CF_TUI_SYS_TRUST_H
#define CF_TUI_SYS_TRUST_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/status.h"

typedef struct cf_trust {
    const char *confabrc, *environment; /* models; NULL: not set */
    const char *const *named;           /* [n_named] models of the command line */
    size_t n_named;
    const char *key;             /* for the addresses among these; NULL: none */
    const char *variables;       /* that files may name, with commas between; NULL: none */
    const char *const *variable; /* [n_variable] likewise, one each */
    size_t n_variable;
    bool allows_files; /* addresses of files, without a question */
    /* Asks the user whether requests may go there; NULL: there is no way to ask. */
    bool (*ask)(void *ud, const char *file, const char *address);
    void *ud;
    cf_buf accepted; /* origins, a line each */
} cf_trust;

void cf_trust_deinit(cf_trust *t);

/* Whether the user named an address with the same scheme, host and port. */
bool cf_trust_names(const cf_trust *t, const char *address);

/* The key for an address: NULL unless the user named it. */
const char *cf_trust_key(const cf_trust *t, const char *address);

/* Whether files may name that variable of the environment. */
bool cf_trust_has_variable(const cf_trust *t, const char *name);

/* Whether requests may go to an address that `file` names, or a program may be
 * started for it ("llama:FILE"); what is neither may.  Asks once for each scheme,
 * host and port.  CF_EINVAL, which names file and address; CF_ENOMEM. */
CF_MUST_USE cf_status cf_trust_check(cf_trust *t, const char *file, const char *address,
                                     cf_error *err);

#endif
