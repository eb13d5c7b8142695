/*
 * fault_vfs.h - a file system below SQLite whose writes fail on request.
 *
 * Threads:  counters are atomic; arm and disarm from the test's thread.
 */
#ifndef CF_TESTS_SUPPORT_FAULT_VFS_H
#define CF_TESTS_SUPPORT_FAULT_VFS_H

#include <stdbool.h>
#include <stddef.h>

enum { FAULT_WRITE = 1u << 0, FAULT_SYNC = 1u << 1, FAULT_OPEN = 1u << 2 };

/* Makes it the default of all connections opened from now on; the system's
 * own one is below it. */
void fault_vfs_install(void);

/* The nth call of these kinds from now fails with `code` (an SQLITE_ result);
 * persist: and all after it. */
void fault_vfs_arm(unsigned kinds, size_t nth, bool persist, int code);
/* Stops failing; whether a call was made to fail. */
bool fault_vfs_disarm(void);

#endif
