/*
 * os_append.h - a file that grows: a journal, a log, a list of lines.
 *
 * Place in the flow:  journals and logs --> [os_append] --> the system.
 * Knows: files.  Does not know: what is in them.
 *
 * Threads:  any; the descriptor belongs to the caller.
 * Memory:   none.
 */
#ifndef CF_BASE_OS_APPEND_H
#define CF_BASE_OS_APPEND_H

#include "core/base/status.h"

/* Opens a file for reading, and for writing at its end; makes it with mode 0600.
 * A pipe or a device is CF_EIO, and does not wait for another program; *fd is the
 * caller's to close. */
CF_MUST_USE cf_status cf_os_append_open(int *fd, const char *path, cf_error *err);

#endif
